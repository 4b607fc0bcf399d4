//! The open data file and its log: readers take snapshots of both, and the writer puts batches into them.
//!
//! A batch is durable once it is in the log. Its changes stay in memory, over the data file, until much of the log is used; one
//! commit then writes them all into the data file in key order (a checkpoint, in `engine/checkpoint.rs`). The same commit names
//! the first record that is not in it, so that those before count no longer. A batch that does not fit in the log goes into
//! the data file at once, and so does every batch where there is no log.

use crate::{
    Error, Result, Tx,
    changes::Changes,
    log::{Appended, Log, LogContent, LogMark},
    medium::{Files, Medium, Memory},
    meta::{self, read_meta},
    open::{CACHE_BYTES, Checked, open_file, prepare, refuse_newer, shown},
    overlay::{self, Batch, Overlay},
    snapshot::Snapshot,
    staged_backend::StagedBackend,
};
use redb::Database;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tool::Id;

mod checkpoint;

use checkpoint::{Attempt, Checkpoint};

/// A checkpoint is made when the changes take this much memory, also when the log has room. While one is made, writes wait
/// when the changes since then take as much.
const MOST_MEMORY: usize = 6 << 20;
/// After how long a log that could not be made is tried again.
const LOG_AGAIN: Duration = Duration::from_secs(600);
/// How long a moment without reads is waited for while writes wait too, and how often.
const MOMENT: Duration = Duration::from_millis(200);
const MOMENTS: usize = 30;

pub(crate) struct Engine {
    medium: Box<dyn Medium>,
    /// Held while batches are stored. Taken before `open`.
    writing: Mutex<Writing>,
    /// Notified when a checkpoint has ended.
    ended: Condvar,
    /// `None` after the disk failed, until it can be opened again.
    open: RwLock<Option<Open>>,
    device: Id,
    lineage: Id,
    /// Bytes written to the disk, and commits.
    written: Arc<AtomicU64>,
    commits: AtomicU64,
    /// How often what readers see has changed.
    version: AtomicU64,
    /// The rows that change while the data file is compacted.
    changes: Changes,
}

/// The open data file. The snapshot is dropped first.
struct Open {
    now: Mutex<Snapshot>,
    db: Database,
}

impl Open {
    fn new(db: Database, changes: Overlay) -> Result<Self> {
        let stored = Arc::new(redb::ReadableDatabase::begin_read(&db)?);
        Ok(Self { now: Mutex::new(Snapshot::new(stored, changes)), db })
    }

    fn now(&self) -> MutexGuard<'_, Snapshot> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that only the storing of batches needs.
struct Writing {
    /// `None` when there is none (yet), or when it failed.
    log: Option<Log>,
    /// The mark in the data file.
    mark: Option<LogMark>,
    /// A commit of the data file whose outcome is unknown.
    attempted: Option<Attempt>,
    /// The checkpoint that is being made, and how many there were.
    checkpoint: Option<Checkpoint>,
    checkpoints: u64,
    /// How often the data file under the changes was replaced by a newer state.
    bases: u64,
    /// The changes over the data file: those in the log, and those that are only visible.
    changes: Overlay,
    /// The changes that are only visible: the next durable batch includes them.
    pending: Batch,
    content: LogContent,
    /// Before this no log is made, and no checkpoint.
    no_log_before: Option<Instant>,
    no_checkpoint_before: Option<Instant>,
}

impl Engine {
    pub fn open(path: PathBuf) -> Result<Self> {
        refuse_newer(&path)?;
        Self::on(Box::new(Files::new(path)))
    }

    /// Opens the files of a medium.
    pub fn on(medium: Box<dyn Medium>) -> Result<Self> {
        let written = Arc::new(AtomicU64::new(0));
        let (db, found) = open_file(&*medium, true, written.clone(), |db| prepare(db, &*medium, &written))?;
        let Checked { device, lineage, mark, log, changes, content } = found;
        Self::start(medium, written, (db, device, lineage), |writing| {
            *writing = Writing { log, mark, changes, content, ..Writing::new() };
        })
    }

    pub fn in_memory() -> Result<Self> {
        let medium = Memory;
        let backend = medium.data().map_err(|e| Error::Io(e.to_string()))?;
        let db = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(StagedBackend::trusted(backend))
            .map_err(|e| Error::Io(e.to_string()))?;
        let device = meta::found(&db)?;
        Self::start(Box::new(medium), Arc::default(), (db, device, Id::NIL), |_| {})
    }

    fn start(
        medium: Box<dyn Medium>,
        written: Arc<AtomicU64>,
        (db, device, lineage): (Database, Id, Id),
        with: impl FnOnce(&mut Writing),
    ) -> Result<Self> {
        let mut writing = Writing::new();
        with(&mut writing);
        let open = Open::new(db, writing.changes.clone())?;
        let (writing, open) = (Mutex::new(writing), RwLock::new(Some(open)));
        let (commits, version) = (AtomicU64::new(0), AtomicU64::new(0));
        let (ended, changes) = (Condvar::new(), Changes::default());
        Ok(Self { medium, writing, ended, open, device, lineage, written, commits, version, changes })
    }

    pub fn device_id(&self) -> Id {
        self.device
    }

    pub fn lineage(&self) -> Id {
        self.lineage
    }

    pub fn folder(&self) -> Option<&Path> {
        self.medium.path().and_then(Path::parent)
    }

    /// The path of the data file; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.medium.path()
    }

    /// The counter of bytes written to the disk.
    pub fn written(&self) -> Arc<AtomicU64> {
        self.written.clone()
    }

    /// The rows of the data file that change while somebody wants to know.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Runs `f` with the data file alone, without the changes that are only in the log.
    pub fn with_data_file<T>(&self, f: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        self.with(|open| f(&open.db))
    }

    /// Runs `f` while nothing is written to the data file.
    pub fn between_writes<T>(&self, f: impl FnOnce() -> T) -> T {
        let _writing = self.quiet();
        f()
    }

    /// While nobody reads or writes: replaces the open data file by one of the same content, which `prepare` returns and
    /// `publish` puts in its place on the disk. Long reads are not waited for while others wait.
    pub fn replace(
        &self,
        prepare: impl FnOnce(&Database) -> Result<Database>,
        publish: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        for _ in 0..MOMENTS {
            let (mut writing, began) = (self.quiet(), Instant::now());
            while began.elapsed() < MOMENT {
                let mut slot = match self.open.try_write() {
                    Ok(slot) => slot,
                    Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
                    Err(TryLockError::WouldBlock) => {
                        std::thread::sleep(Duration::from_millis(2));
                        continue;
                    }
                };
                let Some(open) = slot.as_ref() else { return Err(redb::StorageError::PreviousIo.into()) };
                let new = Open::new(prepare(&open.db)?, writing.changes.clone())?;
                // From here on nothing fails: writes to a file that has lost its name would be lost.
                publish()?;
                let old = slot.replace(new);
                writing.bases += 1;
                drop((slot, writing));
                // Closing it takes a while.
                drop(old);
                return Ok(());
            }
            drop(writing);
            std::thread::sleep(MOMENT);
        }
        Err(Error::Conflict("the data file is in use all the time: try again later".into()))
    }

    /// Whether a file is the one this Hob began with.
    fn check_own(&self, db: &Database) -> Result<Option<LogMark>> {
        let meta = read_meta(db)?;
        if meta.device == Some(self.device) {
            return Ok(meta.log);
        }
        let shown = shown(&*self.medium);
        Err(Error::Io(format!("{shown} is not the data file this Hob began with: start Hob again")))
    }

    /// Opens a copy of the data file.
    pub fn open_copy(&self, path: &Path) -> Result<Database> {
        let medium = Files::new(path.to_path_buf());
        open_file(&medium, false, self.written(), |db| self.check_own(db)).map(|(db, _)| db)
    }

    pub fn size(&self) -> u64 {
        self.medium.path().and_then(|p| p.metadata().ok()).map_or(0, |m| m.len())
    }

    /// Commits and bytes written since the start.
    pub fn traffic(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }

    /// How often what readers see has changed since the start: a write is counted once every reader sees it.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The content of the log.
    pub fn log_content(&self) -> LogContent {
        self.writing().content
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same while no checkpoint is being made.
    fn quiet(&self) -> MutexGuard<'_, Writing> {
        let mut writing = self.writing();
        while writing.checkpoint.is_some() {
            writing = self.wait(writing);
        }
        writing
    }

    /// Waits for the end of a checkpoint.
    fn wait<'w>(&self, writing: MutexGuard<'w, Writing>) -> MutexGuard<'w, Writing> {
        self.ended.wait(writing).unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` over a snapshot.
    pub fn read<T>(&self, f: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        let (mut f, mut read) = (Some(f), None);
        self.with_snapshot(&mut |now| f.take().map_or(Ok(()), |f| f(now).map(|value| read = Some(value))))?;
        read.ok_or_else(|| Error::Io("nothing was read".into()))
    }

    fn with_snapshot(&self, f: &mut dyn FnMut(&Snapshot) -> Result<()>) -> Result<()> {
        if self.is_closed() {
            let mut writing = self.writing();
            // Another thread may have opened it meanwhile.
            if self.is_closed() {
                self.reopen(&mut writing)?;
            }
        }
        self.with(|open| {
            let now = open.now().clone();
            f(&now)
        })
    }

    fn is_closed(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Runs `f` with the open data file.
    fn with<T>(&self, f: impl FnOnce(&Open) -> Result<T>) -> Result<T> {
        match &*self.open.read().unwrap_or_else(PoisonError::into_inner) {
            // An inconsistent file breaks assertions inside redb; that must not end the writer thread.
            Some(open) => std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(open))).unwrap_or_else(|_| {
                Err(Error::Damaged(
                    "the data file could not be read, perhaps because its pages contradict each other: stop Hob and run `hob doctor`".into(),
                ))
            }),
            None => Err(redb::StorageError::PreviousIo.into()),
        }
    }

    /// Runs jobs over the newest state and stores what they change: durably, together with all that is only visible, or
    /// only visibly. `run` fails when the data file could not be read. After an error nothing of the jobs is stored, and
    /// what was visible before still is.
    pub fn commit(&self, durable: bool, run: &mut dyn FnMut(&Tx) -> Result<()>) -> Result<()> {
        let base = self.writing().bases;
        let mut changed = None;
        let ran = self.with_snapshot(&mut |now| {
            let tx = Tx::new(now);
            run(&tx)?;
            changed = Some(tx.finish());
            Ok(())
        });
        let (batch, changes) = changed.unwrap_or_default();
        let (mut writing, stored) = match ran {
            Ok(()) => self.store(self.writing(), durable, batch, (base, changes)),
            Err(error) => (self.writing(), Err(error)),
        };
        if let Err(error) = &stored {
            tracing::error!(%error, "a commit failed");
            self.try_reopen(&mut writing);
        }
        stored
    }

    /// Makes a batch visible; durable, together with all that is only visible: in the log, or with everything else in the data
    /// file. `changes` are those over the data file with this batch, as they were when that was `base`.
    fn store<'w>(
        &self,
        mut writing: MutexGuard<'w, Writing>,
        durable: bool,
        batch: Batch,
        (mut base, mut changes): (u64, Overlay),
    ) -> (MutexGuard<'w, Writing>, Result<()>) {
        let mut pending = writing.pending.clone();
        overlay::merge(&mut pending, batch);
        if durable && pending.is_empty() {
            return (writing, Ok(()));
        }
        let newest_ms = Id::now_ms();
        loop {
            // A checkpoint has put a part of the changes into the data file meanwhile.
            if base != writing.bases {
                (base, changes) = (writing.bases, writing.changes.clone());
                changes.set_all(&pending);
            }
            if !durable {
                (writing.pending, writing.changes) = (pending, changes.clone());
                return (writing, self.show(changes));
            }
            let later = writing.checkpoint.as_ref().map(|under_way| under_way.bytes_since(&changes));
            if later.is_none_or(|bytes| bytes < MOST_MEMORY) {
                match writing.append(&pending, newest_ms) {
                    Ok(Appended::Durable) => {
                        (writing.pending, writing.changes) = (Batch::new(), changes.clone());
                        if let Some(under_way) = &mut writing.checkpoint {
                            under_way.add(pending);
                        }
                        self.commits.fetch_add(1, Ordering::Relaxed);
                        return (writing, self.show(changes));
                    }
                    Ok(Appended::NoRoom) => {}
                    // Nobody knows what the disk has of it. The records before it are safe until the next commit of the data file.
                    Err(error) => {
                        tracing::warn!(%error, "the log could not be written: the data file is written directly");
                        writing.log = None;
                        writing.no_log_before = Some(Instant::now() + LOG_AGAIN);
                    }
                }
            }
            if later.is_none() {
                break;
            }
            // It makes room.
            writing = self.wait(writing);
        }
        let stored = self.write_through(&mut writing, &changes, false);
        if stored.is_ok() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        (writing, stored)
    }

    /// Lets readers see changes over the data file.
    fn show(&self, changes: Overlay) -> Result<()> {
        self.with(|open| {
            let mut now = open.now();
            *now = now.with_changes(changes);
            Ok(())
        })?;
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn try_reopen(&self, writing: &mut Writing) {
        if let Err(e) = self.reopen(writing) {
            tracing::error!(error = %e, "the data file could not be opened again yet");
        }
    }

    /// Reopens the file: after an I/O error redb refuses all work until then. Committed data is intact.
    fn reopen(&self, writing: &mut Writing) -> Result<()> {
        let Some(path) = self.medium.path() else { return Ok(()) };
        let mut slot = self.open.write().unwrap_or_else(PoisonError::into_inner);
        drop(slot.take());
        let other =
            || Error::Io(format!("{} is not the data file this Hob began with: start Hob again", path.display()));
        let (db, mark) = open_file(&*self.medium, false, self.written.clone(), |db| self.check_own(db))?;
        if mark != writing.mark {
            // The commit that seemed to fail is on the disk.
            match writing.attempted {
                Some(attempt) if attempt.mark == mark => writing.settle(attempt),
                _ => return Err(other()),
            }
            self.ended.notify_all();
        }
        writing.bases += 1;
        *slot = Some(Open::new(db, writing.changes.clone())?);
        tracing::warn!(file = %path.display(), "the data file was opened again after the disk failed");
        Ok(())
    }
}

impl Writing {
    fn new() -> Self {
        Self {
            log: None,
            mark: None,
            attempted: None,
            checkpoint: None,
            checkpoints: 0,
            bases: 0,
            changes: Overlay::default(),
            pending: Batch::new(),
            content: LogContent::default(),
            no_log_before: None,
            no_checkpoint_before: None,
        }
    }

    /// Appends to the log; `NoRoom` where there is none.
    fn append(&mut self, batch: &Batch, newest_ms: u64) -> std::io::Result<Appended> {
        let (Some(log), Some(_)) = (&mut self.log, self.mark) else { return Ok(Appended::NoRoom) };
        let appended = log.append(batch, newest_ms)?;
        if appended == Appended::Durable {
            self.content.newest_ms = newest_ms;
            self.count();
        }
        Ok(appended)
    }
}
