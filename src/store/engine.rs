//! The open data file and its log: readers take snapshots of both, and the writer puts batches into them.
//!
//! A batch is durable once it is in the log. Its changes stay in memory, over the data file, until much of the log is used; one
//! commit then writes them all into the data file in key order (a checkpoint, in `engine/checkpoint.rs`). The same commit names
//! the first record that is not in it, so that those before count no longer. A batch that does not fit in the log goes into
//! the data file at once, and so does every batch where there is no log.

use crate::{
    Error, Result, Tx,
    changes::Changes,
    log::{Appended, Log, LogContent},
    medium::{Files, Medium, Memory},
    meta::{self, Saved, read_meta},
    open::{CACHE_BYTES, Checked, data_file, open_file, open_staged, prepare, refuse_newer, shown},
    overlay::{self, Batch, Overlay},
    snapshot::Snapshot,
    staged_backend::StagedBackend,
};
use redb::Database;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock,
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

pub(crate) struct Engine {
    medium: Box<dyn Medium>,
    /// Held while batches are stored. Taken before `open`.
    writing: Mutex<Writing>,
    /// Notified when a checkpoint has ended.
    ended: Condvar,
    /// Readers keep the one they began with.
    open: RwLock<Arc<Open>>,
    device: Id,
    lineage: Id,
    /// Bytes written to the disk, and commits.
    written: Arc<AtomicU64>,
    commits: AtomicU64,
    /// How often what readers see has changed. It is not raised while a job has run and its changes are not shown yet.
    version: AtomicU64,
    /// The rows that change while the data file is compacted.
    changes: Changes,
}

/// The open data file. The snapshot is dropped first.
struct Open {
    now: Mutex<Snapshot>,
    db: Database,
    file: StagedBackend,
    /// The state it had when it was opened.
    found: Saved,
}

impl Open {
    fn new(db: Database, file: StagedBackend, found: Saved, changes: Overlay) -> Result<Self> {
        let stored = Arc::new(redb::ReadableDatabase::begin_read(&db)?);
        Ok(Self { now: Mutex::new(Snapshot::new(stored, changes)), db, file, found })
    }

    fn now(&self) -> MutexGuard<'_, Snapshot> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that only the storing of batches needs.
struct Writing {
    /// `None` when there is none (yet), or when it failed.
    log: Option<Log>,
    /// The state of the data file.
    saved: Saved,
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
        // The process before may have ended because the disk failed.
        medium.forget_cached();
        let (db, file, found) = open_file(&*medium, written.clone(), |db| prepare(db, &*medium, &written))?;
        let Checked { device, lineage, saved, log, changes, content } = found;
        let writing = Writing { log, changes, content, ..Writing::new(saved) };
        Self::start(medium, written, (db, file), (device, lineage), writing)
    }

    pub fn in_memory() -> Result<Self> {
        let medium = Memory;
        let backend = medium.data().map_err(|e| Error::Io(e.to_string()))?;
        let file = StagedBackend::trusted(backend);
        let db = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(file.clone())
            .map_err(|e| Error::Io(e.to_string()))?;
        let device = meta::found(&db)?;
        let writing = Writing::new(read_meta(&db)?.saved());
        Self::start(Box::new(medium), Arc::default(), (db, file), (device, Id::NIL), writing)
    }

    fn start(
        medium: Box<dyn Medium>,
        written: Arc<AtomicU64>,
        (db, file): (Database, StagedBackend),
        (device, lineage): (Id, Id),
        writing: Writing,
    ) -> Result<Self> {
        let open = Open::new(db, file, writing.saved, writing.changes.clone())?;
        let (writing, open) = (Mutex::new(writing), RwLock::new(Arc::new(open)));
        let [commits, version] = [0; 2].map(AtomicU64::new);
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

    /// While nobody writes: replaces the open data file by one of the same content, which `prepare` returns and `publish` puts
    /// in its place on the disk. Readers keep the old one until they end.
    pub fn replace(
        &self,
        prepare: impl FnOnce(&Database) -> Result<(Database, StagedBackend)>,
        publish: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut writing = self.quiet();
        self.make_writable(&mut writing)?;
        let (db, file) = prepare(&self.opened().db)?;
        let new = Arc::new(Open::new(db, file, writing.saved, writing.changes.clone())?);
        // From here on nothing fails: writes to a file that has lost its name would be lost.
        publish()?;
        let old = std::mem::replace(&mut *self.open.write().unwrap_or_else(PoisonError::into_inner), new);
        writing.bases += 1;
        drop(writing);
        // Closing it takes a while.
        drop(old);
        Ok(())
    }

    /// The state of a file, which must be the one this Hob began with.
    fn check_own(&self, db: &Database) -> Result<Saved> {
        let meta = read_meta(db)?;
        if meta.device == Some(self.device) { Ok(meta.saved()) } else { Err(self.other()) }
    }

    fn other(&self) -> Error {
        let shown = shown(&*self.medium);
        Error::Io(format!("{shown} is not the data file this Hob began with: start Hob again"))
    }

    /// Opens a copy of the data file.
    pub fn open_copy(&self, path: &Path) -> Result<(Database, StagedBackend)> {
        let medium = Files::new(path.to_path_buf());
        open_file(&medium, self.written(), |db| self.check_own(db)).map(|(db, file, _)| (db, file))
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

    /// Leaves the data file as an I/O error of a read does.
    #[cfg(test)]
    pub fn fail_for_a_test(&self) {
        drop(self.opened().file.again());
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

    /// Like [`Engine::read`], and runs `f` again where the disk failed meanwhile: the data file it was reading is then closed.
    pub fn read_again<T>(&self, mut tries: u32, mut f: impl FnMut(&Snapshot) -> Result<T>) -> Result<T> {
        loop {
            let open = self.opened();
            let read = self.read(&mut f);
            tries = tries.saturating_sub(1);
            if read.is_ok() || tries == 0 || !open.file.has_failed() {
                return read;
            }
        }
    }

    fn with_snapshot(&self, f: &mut dyn FnMut(&Snapshot) -> Result<()>) -> Result<()> {
        if self.opened().file.has_failed() {
            let mut writing = self.writing();
            // Another thread may have opened it meanwhile.
            if self.opened().file.has_failed() {
                self.reopen(&mut writing)?;
            }
        }
        self.with(|open| {
            let now = open.now().clone();
            f(&now)
        })
    }

    fn opened(&self) -> Arc<Open> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs `f` with the open data file, which others may replace meanwhile.
    fn with<T>(&self, f: impl FnOnce(&Open) -> Result<T>) -> Result<T> {
        let open = self.opened();
        caught(|| f(&open))
    }

    /// Runs jobs over the newest state and stores what they change: durably, together with all that is only visible, or
    /// only visibly. `run` fails when the data file could not be read. After an error nothing of the jobs is stored, and
    /// what was visible before still is.
    pub fn commit(&self, durable: bool, run: &mut dyn FnMut(&Tx) -> Result<()>) -> Result<()> {
        let base = {
            let mut writing = self.writing();
            // Jobs must not run before it is known what they would see.
            if writing.is_unclear() {
                self.make_writable(&mut writing).inspect_err(|error| tracing::error!(%error, "a commit failed"))?;
            }
            writing.bases
        };
        let mut changed = None;
        let ran = self.with_snapshot(&mut |now| {
            let tx = Tx::new(now);
            run(&tx)?;
            changed = Some(tx.finish());
            Ok(())
        });
        let (batch, changes) = changed.unwrap_or_default();
        let stored = ran.and_then(|()| self.store(self.writing(), durable, batch, (base, changes)));
        stored.inspect_err(|error| tracing::error!(%error, "a commit failed"))
    }

    /// Makes a batch visible; durable, together with all that is only visible: in the log, or with everything else in the data
    /// file. `changes` are those over the data file with this batch, as they were when that was `base`.
    fn store(
        &self,
        mut writing: MutexGuard<'_, Writing>,
        durable: bool,
        batch: Batch,
        (mut base, mut changes): (u64, Overlay),
    ) -> Result<()> {
        if writing.is_unclear() {
            return Err(redb::StorageError::PreviousIo.into());
        }
        let mut pending = writing.pending.clone();
        overlay::merge(&mut pending, batch);
        if durable && pending.is_empty() {
            return Ok(());
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
                return self.show(changes);
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
                        return self.show(changes);
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
        self.write_through(&mut writing, &changes, false)?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
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

    /// Finds out what became of a commit of the data file that failed; returns whether it is on the disk all the same.
    fn find_out(&self, writing: &mut Writing, attempt: Attempt) -> bool {
        if let Err(e) = self.reopen(writing) {
            tracing::error!(error = %e, "the data file could not be opened again yet");
        }
        writing.attempted.is_none() && writing.saved == attempt.saved
    }

    /// Makes sure that the data file may be written to.
    fn make_writable(&self, writing: &mut Writing) -> Result<()> {
        let open = self.opened();
        if open.file.has_failed() || (writing.is_unclear() && open.file.is_trusted()) {
            return self.reopen(writing).and_then(|()| self.trust(writing));
        }
        self.trust(writing)
    }

    /// Reopens the file: after an I/O error redb refuses all work until then. Committed data is intact. A disk that takes no
    /// writes can still be read afterwards.
    fn reopen(&self, writing: &mut Writing) -> Result<()> {
        let Some(path) = self.medium.path() else {
            writing.attempted = None;
            return Ok(());
        };
        self.medium.forget_cached();
        let (db, file, found) = self.open_again()?;
        let attempt = writing.attempted.filter(|attempt| attempt.saved == found);
        if attempt.is_none() && found != writing.saved {
            file.release();
            return Err(self.other());
        }
        // A commit that seemed to fail, and is in the file, may have more than the changes that are known.
        let has_more = attempt.is_some_and(|attempt| attempt.all);
        let changes = if has_more { Overlay::default() } else { writing.changes.clone() };
        let new = Arc::new(Open::new(db, file, found, changes)?);
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = new;
        writing.bases += 1;
        if has_more {
            self.version.fetch_add(1, Ordering::Release);
        }
        tracing::warn!(file = %path.display(), "the data file was opened again after the disk failed");
        if let Err(error) = self.trust(writing) {
            tracing::error!(%error, "the data file can be read, and not be written to yet");
        }
        Ok(())
    }

    /// Opens the data file of the medium, or else reads on in the one that is open. Ends that one.
    fn open_again(&self) -> Result<(Database, StagedBackend, Saved)> {
        let old = self.opened();
        let staged = |file: StagedBackend| {
            let (db, found) = open_staged(&*self.medium, &file, |db| self.check_own(db))?;
            Ok((db, file, found))
        };
        let fresh = data_file(&*self.medium, self.written()).and_then(|file| {
            // Only one of the two can have the lock.
            old.file.release();
            staged(file)
        });
        fresh.or_else(|error| match error {
            Error::InUse(_) => Err(error),
            _ => {
                let file = old.file.again().map_err(|_| error.clone())?;
                staged(file).map_err(|_| error)
            }
        })
    }

    /// Writes what was held back since the data file was opened again.
    fn trust(&self, writing: &mut Writing) -> Result<()> {
        let open = self.opened();
        if open.file.is_trusted() {
            return Ok(());
        }
        open.file.trust().map_err(|e| Error::io("write the data file", &e))?;
        // Now it is known what is on the disk.
        if let Some(attempt) = writing.attempted.take().filter(|attempt| attempt.saved == open.found) {
            writing.settle(attempt);
            let changes = writing.changes.clone();
            let mut now = open.now();
            *now = now.with_changes(changes);
            writing.bases += 1;
            self.ended.notify_all();
        }
        Ok(())
    }
}

/// Runs code over the data file. An inconsistent file breaks assertions inside redb; that must not end the writer thread.
fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|_| {
        Err(Error::Damaged(
            "the data file could not be read, perhaps because its pages contradict each other: stop Hob and run `hob doctor`".into(),
        ))
    })
}

impl Writing {
    fn new(saved: Saved) -> Self {
        Self {
            log: None,
            saved,
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

    /// Whether nobody knows if the changes of a failed commit are in the data file.
    fn is_unclear(&self) -> bool {
        self.attempted.is_some_and(|attempt| attempt.all)
    }

    /// Appends to the log; `NoRoom` where there is none.
    fn append(&mut self, batch: &Batch, newest_ms: u64) -> std::io::Result<Appended> {
        let (Some(log), Some(_)) = (&mut self.log, self.saved.mark) else { return Ok(Appended::NoRoom) };
        let appended = log.append(batch, newest_ms)?;
        if appended == Appended::Durable {
            self.content.newest_ms = newest_ms;
            self.count();
        }
        Ok(appended)
    }
}
