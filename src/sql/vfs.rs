//! The bridge between SQLite's C interface for files (a VFS) and [`PageFile`]. All unsafe code of this crate is here.
//!
//! SQLite calls the methods of one open file from one thread at a time: a connection stays on the thread that runs its call.
//! No panic passes into C: each method catches it and returns an I/O error.
#![allow(unsafe_code)]

use crate::page_file::{PAGE, PageFile};
use rusqlite::ffi;
use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The name under which SQLite knows the VFS.
pub(crate) const NAME: &CStr = c"hob-pages";

/// Files that were announced by a name and are not open yet.
static ANNOUNCED: Mutex<BTreeMap<u64, PageFile>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

fn announced() -> MutexGuard<'static, BTreeMap<u64, PageFile>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name under which SQLite opens a file, once. A file that was not opened is dropped with it.
pub(crate) struct Announced(u64);

impl Announced {
    pub fn new(file: PageFile) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        announced().insert(number, file);
        Self(number)
    }

    pub fn name(&self) -> String {
        self.0.to_string()
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let unopened = announced().remove(&self.0);
        drop(unopened);
    }
}

/// Makes the VFS known to SQLite; returns SQLite's result code.
pub(crate) fn register() -> c_int {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        // SAFETY: both are plain C structures, for which all zeros are valid: null pointers, no functions, zero numbers.
        let (mut methods, mut vfs) =
            unsafe { (std::mem::zeroed::<ffi::sqlite3_io_methods>(), std::mem::zeroed::<ffi::sqlite3_vfs>()) };
        // Version 1 has no shared memory and no mapping: SQLite never uses a write-ahead log of its own here.
        methods.iVersion = 1;
        methods.xClose = Some(close);
        methods.xRead = Some(read);
        methods.xWrite = Some(write);
        methods.xTruncate = Some(truncate);
        methods.xSync = Some(sync);
        methods.xFileSize = Some(file_size);
        methods.xLock = Some(lock);
        methods.xUnlock = Some(unlock);
        methods.xCheckReservedLock = Some(check_reserved_lock);
        methods.xFileControl = Some(file_control);
        methods.xSectorSize = Some(sector_size);
        methods.xDeviceCharacteristics = Some(device_characteristics);
        // SAFETY: finds the system's VFS, which SQLite never removes; `find` also initialises SQLite.
        let Some(system) = (unsafe { ffi::sqlite3_vfs_find(ptr::null()).as_ref() }) else { return ffi::SQLITE_ERROR };
        vfs.iVersion = 2;
        vfs.szOsFile = size_of::<OpenFile>() as c_int;
        vfs.mxPathname = 64;
        vfs.zName = NAME.as_ptr();
        vfs.pAppData = Box::into_raw(Box::new(methods)).cast();
        vfs.xOpen = Some(open);
        vfs.xDelete = Some(delete);
        vfs.xAccess = Some(access);
        vfs.xFullPathname = Some(full_pathname);
        // These use neither files nor the structure they are called with.
        vfs.xRandomness = system.xRandomness;
        vfs.xSleep = system.xSleep;
        vfs.xCurrentTime = system.xCurrentTime;
        vfs.xCurrentTimeInt64 = system.xCurrentTimeInt64;
        // SAFETY: the structure, its name and its methods live as long as the process, as SQLite demands.
        unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0) }
    })
}

/// SQLite allocates one for each open file, of `szOsFile` bytes, and sees its first field.
#[repr(C)]
struct OpenFile {
    base: ffi::sqlite3_file,
    /// Owned; null before [`open`] and after [`close`].
    file: *mut PageFile,
}

/// Runs `f` over an open file; a panic becomes `code`.
///
/// # Safety
/// `file` must point to an [`OpenFile`] that [`open`] filled and [`close`] has not seen, and that nobody else uses now.
unsafe fn with(file: *mut ffi::sqlite3_file, code: c_int, f: impl FnOnce(&mut PageFile) -> c_int) -> c_int {
    // SAFETY: SQLite passes the structure it gave to `open`, and uses one file on one thread at a time.
    let file = unsafe { (*file.cast::<OpenFile>()).file.as_mut() };
    match file {
        Some(file) => catch_unwind(AssertUnwindSafe(|| f(file))).unwrap_or(code),
        None => code,
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes `szOsFile` writable bytes; without methods it will not call `close` for a file that failed to open.
    unsafe { (*file).pMethods = ptr::null() };
    // Journals and temporary files are in memory: only databases are opened here.
    if name.is_null() || flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: `name` is a C string that `full_pathname` wrote.
    let number = unsafe { CStr::from_ptr(name) }.to_str().ok().and_then(|name| name.parse::<u64>().ok());
    let Some(opened) = number.and_then(|number| announced().remove(&number)) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: `file` has room for an `OpenFile`; `vfs` is the registered one, whose data are the methods.
    unsafe {
        (*file.cast::<OpenFile>()).file = Box::into_raw(Box::new(opened));
        (*file).pMethods = (*vfs).pAppData.cast::<ffi::sqlite3_io_methods>();
        if !out.is_null() {
            *out = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and uses it no more; the pointer came from `Box::into_raw` in `open`.
    let closed = unsafe {
        let file = file.cast::<OpenFile>();
        let closed = std::mem::replace(&mut (*file).file, ptr::null_mut());
        (!closed.is_null()).then(|| Box::from_raw(closed))
    };
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(closed)));
    if dropped.is_ok() { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_CLOSE }
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, length: c_int, offset: i64) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: SQLite passes a buffer of `length` bytes, which nobody else uses during the call.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), length) };
    // SAFETY: as `with` demands.
    unsafe {
        with(file, ffi::SQLITE_IOERR_READ, |file| match file.read(to, offset) {
            Some(true) => ffi::SQLITE_OK,
            Some(false) => ffi::SQLITE_IOERR_SHORT_READ,
            None => ffi::SQLITE_IOERR_READ,
        })
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, length: c_int, offset: i64) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: SQLite passes a buffer of `length` bytes, which nobody changes during the call.
    let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) };
    // SAFETY: as `with` demands.
    unsafe {
        with(file, ffi::SQLITE_IOERR_WRITE, |file| match file.write(from, offset) {
            Some(true) => ffi::SQLITE_OK,
            Some(false) => ffi::SQLITE_FULL,
            None => ffi::SQLITE_IOERR_WRITE,
        })
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let Ok(size) = u64::try_from(size) else { return ffi::SQLITE_IOERR_TRUNCATE };
    // SAFETY: as `with` demands.
    unsafe {
        with(file, ffi::SQLITE_IOERR_TRUNCATE, |file| {
            file.truncate(size);
            ffi::SQLITE_OK
        })
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: as `with` demands.
    unsafe { with(file, ffi::SQLITE_IOERR_FSYNC, |file| done(file.sync(), ffi::SQLITE_IOERR_FSYNC)) }
}

fn done(ok: bool, code: c_int) -> c_int {
    if ok { ffi::SQLITE_OK } else { code }
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: as `with` demands; SQLite passes a place for the result.
    unsafe {
        with(file, ffi::SQLITE_IOERR_FSTAT, |file| match file.size().and_then(|size| i64::try_from(size).ok()) {
            Some(size) => {
                *out = size;
                ffi::SQLITE_OK
            }
            None => ffi::SQLITE_IOERR_FSTAT,
        })
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: as `with` demands.
    unsafe { with(file, ffi::SQLITE_IOERR_LOCK, |file| done(file.lock(), ffi::SQLITE_IOERR_LOCK)) }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: as `with` demands.
    unsafe {
        with(file, ffi::SQLITE_IOERR_UNLOCK, |file| {
            file.unlock(level == ffi::SQLITE_LOCK_NONE);
            ffi::SQLITE_OK
        })
    }
}

unsafe extern "C" fn check_reserved_lock(_: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a place for the result. One connection at a time uses a database.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, operation: c_int, _: *mut c_void) -> c_int {
    if operation != ffi::SQLITE_FCNTL_COMMIT_PHASETWO {
        return ffi::SQLITE_NOTFOUND;
    }
    // A file that became shorter is cut after the sync of its commit.
    // SAFETY: as `with` demands.
    unsafe { with(file, ffi::SQLITE_IOERR_FSYNC, |file| done(file.sync(), ffi::SQLITE_IOERR_FSYNC)) }
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    PAGE as c_int
}

unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

/// No other file exists: there is no journal to roll back.
unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a place for the result.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: `name` is a C string, and `out` has room for `length` bytes apart from it.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if usize::try_from(length).is_ok_and(|room| name.len() <= room) {
            ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
            return ffi::SQLITE_OK;
        }
    }
    ffi::SQLITE_CANTOPEN
}
