//! A storage backend that holds writes back until the file has proven intact: opening repairs a file, and one beyond repair
//! must stay unchanged for inspection.

use crate::medium::Backend;
use redb::{BackendError, StorageBackend};
use std::{
    io,
    ops::Bound,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
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

/// The file; writes are buffered until it is trusted. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct StagedBackend(Arc<(Backend, Mutex<Option<Held>>)>, Arc<AtomicU64>);

impl StagedBackend {
    /// Wraps a file; `written` counts the bytes that go to the disk.
    pub fn new(file: Backend, written: Arc<AtomicU64>) -> io::Result<Self> {
        let held = Held { len: file.len()?, writes: vec![], syncs: vec![] };
        Ok(Self(Arc::new((file, Mutex::new(Some(held)))), written))
    }

    /// Wraps a file that need not be checked.
    pub fn trusted(file: Backend) -> Self {
        Self(Arc::new((file, Mutex::new(None))), Arc::default())
    }

    fn file(&self) -> &dyn StorageBackend {
        &*self.0.0
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file is intact: writes the buffered changes, and passes on all later ones at once.
    pub fn trust(&self) -> io::Result<()> {
        let mut slot = self.held();
        let Some(held) = &*slot else { return Ok(()) };
        // Reserve the space first: a full disk must fail before anything is written.
        if held.len > self.file().len()? {
            self.file().set_len(held.len)?;
        }
        for (at, (offset, data)) in held.writes.iter().enumerate() {
            if held.syncs.contains(&at) {
                self.file().sync_data()?;
            }
            self.file().write(*offset, data)?;
            self.1.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        if held.len != self.file().len()? {
            self.file().set_len(held.len)?;
        }
        self.file().sync_data()?;
        *slot = None;
        Ok(())
    }
}

impl StorageBackend for StagedBackend {
    fn len(&self) -> io::Result<u64> {
        self.held().as_ref().map_or_else(|| self.file().len(), |held| Ok(held.len))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let held = self.held();
        let Some(held) = &*held else { return self.file().read(offset, out) };
        let end = offset + out.len() as u64;
        if end > held.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = self.file().len()?.clamp(offset, end) - offset;
        let (on_disk, beyond) = out.split_at_mut(there as usize);
        self.file().read(offset, on_disk)?;
        beyond.fill(0);
        for (at, data) in &held.writes {
            let (from, to) = (offset.max(*at), end.min(at + data.len() as u64));
            if from < to {
                let part = &data[(from - at) as usize..(to - at) as usize];
                out[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match &mut *self.held() {
            Some(held) => {
                // Bytes beyond the new end read as zero when the file grows again.
                for (at, data) in &mut held.writes {
                    data.truncate(len.saturating_sub(*at) as usize);
                }
                if len < held.len {
                    held.writes.push((len, vec![0; (held.len - len) as usize]));
                }
                held.len = len;
                Ok(())
            }
            None => self.file().set_len(len),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match &mut *self.held() {
            Some(held) => {
                let so_far = held.writes.len();
                held.syncs.push(so_far);
                Ok(())
            }
            None => self.file().sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match &mut *self.held() {
            Some(held) => {
                held.writes.push((offset, data.to_vec()));
                Ok(())
            }
            None => {
                self.1.fetch_add(data.len() as u64, Ordering::Relaxed);
                self.file().write(offset, data)
            }
        }
    }

    fn close(&self) -> io::Result<()> {
        self.file().close()
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file().try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file().try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file().lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file().lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file().unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file().query_lock_range(start, end)
    }
}
