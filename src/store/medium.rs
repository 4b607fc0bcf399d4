//! The place of the data file and the log: a folder, or memory.

use crate::{Error, Result, log_record::BLOCK};
use redb::{
    StorageBackend,
    backends::{FileBackend, InMemoryBackend},
};
use rustix::fs::OFlags;
use std::{
    fs, io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// The name of the log in the data folder.
pub(crate) const LOG: &str = "hob.wal";
/// The temporary name of a log that is being made.
pub(crate) const NEW_LOG: &str = "hob.wal.new";
/// The size of the log. Half as much would put changes into the data file twice as often; more would take longer to read at
/// a start after a power cut, and more memory.
const LOG_SIZE: u64 = 8 << 20;
/// The size of a new log. It is made larger at its first checkpoint: a start need not write that much, nor does a Hob that is
/// hardly used.
const NEW_LOG_SIZE: u64 = 1 << 20;
/// A log is made where so much is free, and made larger where so much is: it must not take the last room from the data.
const ROOM: u64 = LOG_SIZE;
const ROOM_TO_GROW: u64 = 4 * LOG_SIZE;
/// In memory a smaller one, so that every test also passes through the data file.
const LOG_SIZE_IN_MEMORY: u64 = 128 << 10;

/// A file as redb and the log use it.
pub(crate) type Backend = Box<dyn StorageBackend>;

/// The place of the two files.
pub(crate) trait Medium: Send + Sync {
    /// Opens the data file. Never creates it: when the card is gone, a new empty file must not take its place.
    fn data(&self) -> Result<Backend, redb::DatabaseError>;
    /// Opens the log; `None` when there is none.
    fn log(&self) -> io::Result<Option<Backend>>;
    /// Makes a log of zeros behind its first block, or replaces the one that is there.
    fn make_log(&self, first: &[u8]) -> io::Result<Backend>;
    /// The size of a new log; a smaller one is replaced.
    fn new_log_size(&self) -> u64;
    /// The size of a log after its next checkpoint; a larger one stays.
    fn log_size(&self) -> u64;
    /// The path of the data file; `None` in memory.
    fn path(&self) -> Option<&Path>;
}

/// The files of a data folder.
pub(crate) struct Files {
    data: PathBuf,
    /// On a read-only file system they are opened for reading and not locked: nobody can write to them.
    read_only: bool,
}

impl Files {
    /// With the path of the data file; the log is next to it.
    pub fn new(data: PathBuf) -> Self {
        Self { data, read_only: false }
    }

    /// To look at the files without a change.
    pub fn to_check(data: PathBuf) -> Self {
        let read_only = data.parent().is_some_and(is_read_only);
        Self { data, read_only }
    }

    fn folder(&self) -> &Path {
        self.data.parent().unwrap_or(Path::new("."))
    }

    /// Whether so many bytes are free; also where nobody knows.
    fn has_room(&self, bytes: u64) -> bool {
        let free = rustix::fs::statvfs(self.folder()).map(|there| there.f_bavail.saturating_mul(there.f_frsize));
        free.is_err() || free.is_ok_and(|free| free >= bytes)
    }
}

/// Whether a folder is on a read-only file system.
pub fn is_read_only(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).is_ok_and(|at| at.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// The log on disk. Nothing of it stays in the system's cache: it is read only at a start, and where the cache holds it in
/// large pieces, a small append would write a whole piece.
#[derive(Debug)]
struct LogFile {
    file: fs::File,
    /// The same file, for writes that pass the cache; `None` where the file system has no such writes.
    direct: Option<fs::File>,
    /// Whether it refused one.
    refused: AtomicBool,
}

impl LogFile {
    fn new(file: fs::File, path: &Path) -> Self {
        let flags = OFlags::DIRECT.bits() as i32;
        let direct = fs::OpenOptions::new().write(true).custom_flags(flags).open(path).ok();
        Self { file, direct, refused: AtomicBool::new(false) }
    }

    fn forget(&self) {
        // Without it the log still works.
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Writes past the cache; `false` where that is not possible.
    fn write_directly(&self, offset: u64, data: &[u8]) -> io::Result<bool> {
        let whole = offset.is_multiple_of(BLOCK as u64) && data.len().is_multiple_of(BLOCK);
        let Some(direct) = self.direct.as_ref().filter(|_| whole && !self.refused.load(Ordering::Relaxed)) else {
            return Ok(false);
        };
        let mut buffer = vec![0; data.len() + BLOCK];
        let from = buffer.as_ptr().align_offset(BLOCK);
        let Some(blocks) = buffer.get_mut(from..from.saturating_add(data.len())) else { return Ok(false) };
        blocks.copy_from_slice(data);
        match direct.write_all_at(blocks, offset) {
            // The rest of what it may have begun is written the other way.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                self.refused.store(true, Ordering::Relaxed);
                Ok(false)
            }
            written => written.map(|()| true),
        }
    }
}

impl StorageBackend for LogFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.direct.is_none() || self.refused.load(Ordering::Relaxed) {
            self.forget();
        }
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.write_directly(offset, data)? { Ok(()) } else { self.file.write_all_at(data, offset) }
    }
}

impl Medium for Files {
    fn data(&self) -> Result<Backend, redb::DatabaseError> {
        let io = |e| redb::DatabaseError::Storage(redb::StorageError::Io(e));
        let file = fs::OpenOptions::new().read(true).write(!self.read_only).open(&self.data).map_err(io)?;
        if file.metadata().map_err(io)?.len() == 0 {
            return Err(io(io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty")));
        }
        if self.read_only {
            return Ok(Box::new(LogFile { file, direct: None, refused: AtomicBool::new(false) }));
        }
        Ok(Box::new(FileBackend::new(file)?))
    }

    fn log(&self) -> io::Result<Option<Backend>> {
        match fs::OpenOptions::new().read(true).write(!self.read_only).open(self.folder().join(LOG)) {
            Ok(file) if file.metadata()?.is_file() => {
                // Reads only what is asked for.
                let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
                Ok(Some(Box::new(LogFile::new(file, &self.folder().join(LOG)))))
            }
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn make_log(&self, first: &[u8]) -> io::Result<Backend> {
        if !self.has_room(ROOM) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let (part, path) = (self.folder().join(NEW_LOG), self.folder().join(LOG));
        let make = || -> io::Result<fs::File> {
            let _ = fs::remove_file(&part);
            let mut options = fs::OpenOptions::new();
            let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&part)?;
            // Real zeros: an append into a hole or beyond the end would also write the file system's tables.
            let mut bytes = first.to_vec();
            bytes.resize(NEW_LOG_SIZE as usize, 0);
            io::Write::write_all(&mut file, &bytes)?;
            file.sync_all()?;
            fs::rename(&part, &path)?;
            fs::File::open(self.folder())?.sync_all()?;
            Ok(file)
        };
        let log = LogFile::new(make().inspect_err(|_| drop(fs::remove_file(&part)))?, &path);
        log.forget();
        Ok(Box::new(log))
    }

    fn new_log_size(&self) -> u64 {
        NEW_LOG_SIZE
    }

    fn log_size(&self) -> u64 {
        if self.has_room(ROOM_TO_GROW) { LOG_SIZE } else { NEW_LOG_SIZE }
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.data)
    }
}

/// Both files in memory.
pub(crate) struct Memory;

impl Medium for Memory {
    fn data(&self) -> Result<Backend, redb::DatabaseError> {
        Ok(Box::new(InMemoryBackend::new()))
    }
    fn log(&self) -> io::Result<Option<Backend>> {
        Ok(None)
    }
    fn make_log(&self, first: &[u8]) -> io::Result<Backend> {
        let log = InMemoryBackend::new();
        log.set_len(LOG_SIZE_IN_MEMORY)?;
        log.write(0, first)?;
        Ok(Box::new(log))
    }
    fn new_log_size(&self) -> u64 {
        LOG_SIZE_IN_MEMORY
    }
    fn log_size(&self) -> u64 {
        LOG_SIZE_IN_MEMORY
    }
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// Removes the log of a data folder. The data file must not need it any more.
pub(crate) fn remove_log(dir: &Path) -> Result<()> {
    match fs::remove_file(dir.join(LOG)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove the old log", &e)),
        _ => Ok(()),
    }
}
