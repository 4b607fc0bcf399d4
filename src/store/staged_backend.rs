//! A storage backend that holds writes back until the file has proven intact: opening repairs a file, and one beyond repair
//! must stay unchanged for inspection. Where the disk refuses writes, the file can be read this way too.

use crate::medium::Backend;
use redb::{BackendError, StorageBackend};
use std::{
    io,
    ops::Bound,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The writes since the file was opened.
#[derive(Debug)]
struct Held {
    len: u64,
    /// In order; later writes override earlier ones.
    writes: Vec<(u64, Vec<u8>)>,
    /// The number of writes before each requested sync: the order across syncs must be preserved.
    syncs: Vec<usize>,
}

#[derive(Debug)]
enum State {
    /// Writes are buffered.
    Held(Held),
    /// Writes are passed on.
    Trusted,
    /// The file is used by another backend now, or by nobody.
    Ended,
}

#[derive(Debug)]
struct Inner {
    file: Arc<Backend>,
    state: RwLock<State>,
    /// Whether the file could not be read: redb refuses all work from then on.
    failed: AtomicBool,
    written: Arc<AtomicU64>,
}

/// The file; writes are buffered until it is trusted. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct StagedBackend(Arc<Inner>);

impl StagedBackend {
    /// Wraps a file; `written` counts the bytes that go to the disk.
    pub fn new(file: Backend, written: Arc<AtomicU64>) -> io::Result<Self> {
        Self::held_back(Arc::new(file), written)
    }

    fn held_back(file: Arc<Backend>, written: Arc<AtomicU64>) -> io::Result<Self> {
        let held = Held { len: file.len()?, writes: vec![], syncs: vec![] };
        Ok(Self::with(file, State::Held(held), written))
    }

    /// Wraps a file that need not be checked.
    pub fn trusted(file: Backend) -> Self {
        Self::with(Arc::new(file), State::Trusted, Arc::default())
    }

    fn with(file: Arc<Backend>, state: State, written: Arc<AtomicU64>) -> Self {
        Self(Arc::new(Inner { file, state: RwLock::new(state), failed: AtomicBool::new(false), written }))
    }

    /// Ends this backend, and wraps its file again. The file stays locked.
    pub fn again(&self) -> io::Result<Self> {
        self.end();
        Self::held_back(self.0.file.clone(), self.0.written.clone())
    }

    /// Ends this backend: no operation of it is under way when this returns, and later ones fail. Its file is unlocked.
    pub fn release(&self) {
        self.end();
        let _ = self.0.file.close();
    }

    fn end(&self) {
        *self.change() = State::Ended;
    }

    /// Whether redb cannot use it any more.
    pub fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Acquire) || matches!(*self.state(), State::Ended)
    }

    pub fn is_trusted(&self) -> bool {
        matches!(*self.state(), State::Trusted)
    }

    fn file(&self) -> &dyn StorageBackend {
        &**self.0.file
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file is intact: writes the buffered changes, and passes on all later ones at once. After an error it may be called
    /// again.
    pub fn trust(&self) -> io::Result<()> {
        let mut state = self.change();
        let held = match &*state {
            State::Held(held) => held,
            State::Trusted => return Ok(()),
            State::Ended => return Err(ended()),
        };
        // Reserve the space first: a full disk must fail before anything is written.
        if held.len > self.file().len()? {
            self.file().set_len(held.len)?;
        }
        for (at, (offset, data)) in held.writes.iter().enumerate() {
            if held.syncs.contains(&at) {
                self.file().sync_data()?;
            }
            self.file().write(*offset, data)?;
            self.0.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        if held.len != self.file().len()? {
            self.file().set_len(held.len)?;
        }
        self.file().sync_data()?;
        *state = State::Trusted;
        Ok(())
    }

    /// Passes an operation on, or lets `buffer` keep it. Many are passed on at once.
    fn pass(
        &self,
        pass: impl FnOnce(&dyn StorageBackend) -> io::Result<()>,
        buffer: impl FnOnce(&mut Held),
    ) -> io::Result<()> {
        match &*self.state() {
            State::Trusted => return pass(self.file()),
            State::Ended => return Err(ended()),
            State::Held(_) => {}
        }
        match &mut *self.change() {
            State::Held(held) => buffer(held),
            State::Trusted => return pass(self.file()),
            State::Ended => return Err(ended()),
        }
        Ok(())
    }

    /// Calls a function of the file's locks, which another backend may hold by now.
    fn lock<T>(&self, call: impl FnOnce(&dyn StorageBackend) -> Result<T, BackendError>) -> Result<T, BackendError> {
        match &*self.state() {
            State::Ended => Err(ended().into()),
            _ => call(self.file()),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the data file was opened again")
}

impl Held {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = file.len()?.clamp(offset, end) - offset;
        let (on_disk, beyond) = out.split_at_mut(there as usize);
        file.read(offset, on_disk)?;
        beyond.fill(0);
        for (at, data) in &self.writes {
            let (from, to) = (offset.max(*at), end.min(at + data.len() as u64));
            if from < to {
                let part = &data[(from - at) as usize..(to - at) as usize];
                out[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        // Bytes beyond the new end read as zero when the file grows again.
        for (at, data) in &mut self.writes {
            data.truncate(len.saturating_sub(*at) as usize);
        }
        if len < self.len {
            self.writes.push((len, vec![0; (self.len - len) as usize]));
        }
        self.len = len;
    }
}

impl StorageBackend for StagedBackend {
    fn len(&self) -> io::Result<u64> {
        match &*self.state() {
            State::Held(held) => Ok(held.len),
            State::Trusted => self.file().len(),
            State::Ended => Err(ended()),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let read = match &*self.state() {
            State::Held(held) => held.read(self.file(), offset, out),
            State::Trusted => self.file().read(offset, out),
            State::Ended => Err(ended()),
        };
        read.inspect_err(|_| self.0.failed.store(true, Ordering::Release))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.pass(|file| file.set_len(len), |held| held.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.pass(|file| file.sync_data(), |held| held.syncs.push(held.writes.len()))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let pass = |file: &dyn StorageBackend| {
            self.0.written.fetch_add(data.len() as u64, Ordering::Relaxed);
            file.write(offset, data)
        };
        self.pass(pass, |held| held.writes.push((offset, data.to_vec())))
    }

    /// The locks of an ended backend are another's.
    fn close(&self) -> io::Result<()> {
        match &*self.state() {
            State::Ended => Ok(()),
            _ => self.file().close(),
        }
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.lock(|file| file.try_lock_range(start, end))
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.lock(|file| file.try_lock_shared_range(start, end))
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.lock(|file| file.lock_range(start, end))
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.lock(|file| file.lock_shared_range(start, end))
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        match &*self.state() {
            State::Ended => Ok(()),
            _ => self.file().unlock_range(start, end),
        }
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.lock(|file| file.query_lock_range(start, end))
    }
}
