//! The open data file and its log: readers take snapshots of both, and the writer puts batches into them.
//!
//! A batch is durable once it is in the log. Its changes stay in memory, over the data file, until the log is nearly full; one
//! commit then writes them all into the data file in key order (a checkpoint). The same commit names the next generation of
//! the log, so that the records before it count no longer. A batch that does not fit in the log goes into the data file at
//! once, and so does every batch where there is no log.

pub(crate) use crate::snapshot::Table;
use crate::{
    Error, FORMAT, Result, Tx,
    log::{self, Appended, Log, LogContent},
    medium::{Files, Medium, Memory},
    meta::{self, LogMark, read_meta, save},
    overlay::{Batch, Overlay},
    snapshot::Snapshot,
    staged_backend::StagedBackend,
};
use redb::Database;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tool::Id;

/// Beyond this (the year 2248) the newest time is a flipped bit.
const FAR_MS: u64 = 1 << 43;
pub(crate) const CACHE_BYTES: usize = 8 << 20;
/// A checkpoint is made when the changes take this much memory, also when the log has room.
const MOST_MEMORY: usize = 6 << 20;
/// After how long a log that could not be made is tried again, and a checkpoint that failed.
const LOG_AGAIN: Duration = Duration::from_secs(600);
const CHECKPOINT_AGAIN: Duration = Duration::from_secs(30);

pub(crate) struct Engine {
    medium: Box<dyn Medium>,
    /// Held while batches are stored. Taken before `open`.
    writing: Mutex<Writing>,
    /// `None` after the disk failed, until it can be opened again.
    open: RwLock<Option<Open>>,
    device: Id,
    /// Bytes written to the disk, and commits.
    written: Arc<AtomicU64>,
    commits: AtomicU64,
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
    /// The mark of a commit whose outcome is unknown.
    attempted: Option<Option<LogMark>>,
    /// The changes in the log.
    changes: Overlay,
    content: LogContent,
    /// Before this no log is made, and no checkpoint.
    no_log_before: Option<Instant>,
    no_checkpoint_before: Option<Instant>,
}

/// The findings of the check of a file before anything is written to it.
struct Checked {
    device: Id,
    mark: Option<LogMark>,
    log: Option<Log>,
    changes: Overlay,
    content: LogContent,
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
        let Checked { device, mark, log, changes, content } = found;
        if let Some(log) = &log {
            // The next power cut must not take back anything that readers see now.
            log.sync().map_err(|e| Error::io("sync the log", &e))?;
        }
        Self::start(medium, written, (db, device), |writing| {
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
        Self::start(Box::new(medium), Arc::default(), (db, device), |_| {})
    }

    fn start(
        medium: Box<dyn Medium>,
        written: Arc<AtomicU64>,
        (db, device): (Database, Id),
        with: impl FnOnce(&mut Writing),
    ) -> Result<Self> {
        let mut writing = Writing::new();
        with(&mut writing);
        let open = Open::new(db, writing.changes.clone())?;
        let (writing, open, commits) = (Mutex::new(writing), RwLock::new(Some(open)), AtomicU64::new(0));
        Ok(Self { medium, writing, open, device, written, commits })
    }

    pub fn device_id(&self) -> Id {
        self.device
    }

    pub fn folder(&self) -> Option<&Path> {
        self.medium.path().and_then(Path::parent)
    }

    pub fn size(&self) -> u64 {
        self.medium.path().and_then(|p| p.metadata().ok()).map_or(0, |m| m.len())
    }

    /// Commits and bytes written since the start.
    pub fn traffic(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }

    /// The content of the log.
    pub fn log_content(&self) -> LogContent {
        self.writing().content
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Runs jobs over the newest state and stores what they change durably. `run` fails when the data file could not be read.
    pub fn commit(&self, run: &mut dyn FnMut(&Tx) -> Result<()>) -> Result<()> {
        let mut changed = None;
        let ran = self.with_snapshot(&mut |now| {
            let tx = Tx::new(now);
            run(&tx)?;
            changed = Some(tx.finish());
            Ok(())
        });
        let mut writing = self.writing();
        let stored = ran.and_then(|()| match changed {
            Some((batch, changes)) if !batch.is_empty() => self.store(&mut writing, &batch, changes),
            _ => Ok(()),
        });
        if let Err(error) = &stored {
            tracing::error!(%error, "a commit failed");
            self.try_reopen(&mut writing);
        }
        stored
    }

    /// Makes a batch durable: in the log, or with everything else in the data file. `changes` includes it.
    fn store(&self, writing: &mut Writing, batch: &Batch, changes: Overlay) -> Result<()> {
        let newest_ms = Id::latest_ms();
        if let (Some(log), Some(_)) = (&mut writing.log, writing.mark) {
            match log.append(batch, newest_ms) {
                Ok(Appended::Durable) => {
                    writing.content = LogContent { commits: writing.content.commits + 1, bytes: log.used(), newest_ms };
                    writing.changes = changes.clone();
                    self.commits.fetch_add(1, Ordering::Relaxed);
                    return self.with(|open| {
                        let mut now = open.now();
                        *now = now.with_changes(changes);
                        Ok(())
                    });
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
        self.write_through(writing, &changes, false)?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes all changes into the data file, and begins a new generation of the log; with `complete` the file needs no log
    /// after it.
    fn write_through(&self, writing: &mut Writing, changes: &Overlay, complete: bool) -> Result<()> {
        let mark = if complete { None } else { self.next_mark(writing) };
        writing.attempted = Some(mark);
        self.with(|open| {
            save(&open.db, changes, self.device, mark)?;
            let stored = Snapshot::stored(&open.db)?;
            *open.now() = stored;
            Ok(())
        })?;
        writing.saved(mark);
        Ok(())
    }

    /// The mark of a new generation; `None` when there is no log.
    fn next_mark(&self, writing: &mut Writing) -> Option<LogMark> {
        if writing.log.is_none() && writing.no_log_before.is_none_or(|at| at <= Instant::now()) {
            match self.open_log(writing.mark.is_none()) {
                Ok(log) => writing.log = Some(log),
                Err(error) => {
                    tracing::warn!(%error, "there is no room for the log, or it cannot be used: every write goes into the data file, which wears the disk more");
                    writing.no_log_before = Some(Instant::now() + LOG_AGAIN);
                }
            }
        }
        let log = writing.log.as_ref()?;
        let mut generation = [0; 16];
        getrandom::fill(&mut generation).ok()?;
        Some(LogMark { generation, before: log.first() })
    }

    /// Opens the log, or makes it where that loses nothing.
    fn open_log(&self, may_make: bool) -> std::io::Result<Log> {
        let there = self.medium.log()?;
        let log = match there.map(|disk| Log::empty(disk, self.written.clone())).transpose()? {
            Some(log) if log.size() >= self.medium.log_size() => log,
            _ if may_make => {
                self.written.fetch_add(self.medium.log_size(), Ordering::Relaxed);
                Log::empty(self.medium.make_log()?, self.written.clone())?
            }
            _ => return Err(std::io::Error::other("the log is not whole")),
        };
        Ok(log)
    }

    /// Makes a checkpoint when it is time for one: when the log is nearly full, or half full and nobody writes (`idle`).
    pub fn tidy(&self, idle: bool) {
        let mut writing = self.writing();
        let (Some(log), Some(_)) = (&writing.log, writing.mark) else { return };
        let limit = if idle { log.size() / 2 } else { log.size() / 4 * 3 };
        let wanted = log.used() >= limit || writing.changes.bytes() >= MOST_MEMORY;
        if !wanted || writing.no_checkpoint_before.is_some_and(|at| at > Instant::now()) {
            return;
        }
        let changes = writing.changes.clone();
        if let Err(error) = self.write_through(&mut writing, &changes, false) {
            tracing::warn!(%error, "the log could not be put into the data file yet; nothing in it is lost");
            writing.no_checkpoint_before = Some(Instant::now() + CHECKPOINT_AGAIN);
            self.try_reopen(&mut writing);
        }
    }

    /// Whether [`Engine::tidy`] has something to do once nobody writes.
    pub fn wants_idle(&self) -> bool {
        let writing = self.writing();
        writing.mark.is_some() && writing.log.as_ref().is_some_and(|log| log.used() >= log.size() / 2)
    }

    /// Makes the data file complete without its log, so that an older Hob can read it too.
    pub fn complete(&self) -> Result<()> {
        let mut writing = self.writing();
        if writing.mark.is_none() || self.medium.path().is_none() {
            return Ok(());
        }
        let changes = writing.changes.clone();
        let done = self.write_through(&mut writing, &changes, true);
        if done.is_err() {
            self.try_reopen(&mut writing);
        }
        done
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
        let same = |db: &Database| {
            let meta = read_meta(db)?;
            if meta.device == Some(self.device) { Ok(meta.log) } else { Err(other()) }
        };
        let (db, mark) = open_file(&*self.medium, false, self.written.clone(), same)?;
        if mark != writing.mark {
            // The commit that seemed to fail is on the disk, with all changes.
            if writing.attempted != Some(mark) {
                return Err(other());
            }
            writing.saved(mark);
        }
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
            changes: Overlay::default(),
            content: LogContent::default(),
            no_log_before: None,
            no_checkpoint_before: None,
        }
    }

    /// The data file has all changes now, and this mark.
    fn saved(&mut self, mark: Option<LogMark>) {
        (self.mark, self.attempted) = (mark, None);
        (self.changes, self.content) = (Overlay::default(), LogContent::default());
        self.no_checkpoint_before = None;
        if let (Some(log), Some(mark)) = (&mut self.log, mark) {
            log.begin(mark.generation);
        }
    }
}

/// Checks the format read-only: opening for writing would already change a file of a newer Hob. A file that cannot be read
/// this way (new, in use, in need of repair) is checked when it is opened.
fn refuse_newer(path: &Path) -> Result<()> {
    let Ok(db) = Database::builder().set_cache_size(CACHE_BYTES).open_read_only(path) else { return Ok(()) };
    match read_meta(&db)?.format {
        Some(found) if found > FORMAT => Err(Error::Newer { file: path.display().to_string(), found, ours: FORMAT }),
        _ => Ok(()),
    }
}

/// Opens a file and writes to it only after `check` has passed, which also adds missing metadata.
fn open_file<T>(
    medium: &dyn Medium,
    starting: bool,
    written: Arc<AtomicU64>,
    check: impl FnOnce(&Database) -> Result<T>,
) -> Result<(Database, T)> {
    let shown = shown(medium);
    let damaged = |what: String| {
        Error::Damaged(format!(
            "{shown} is damaged or not a Hob data file ({what}): restore a backup with `hob restore FILE`; the damaged file is left as it is"
        ))
    };
    let io = |e: std::io::Error| Error::io(format!("open {shown}"), &e);
    let told = |e: redb::DatabaseError| match e {
        redb::DatabaseError::DatabaseAlreadyOpen => Error::InUse(shown.clone()),
        redb::DatabaseError::UpgradeRequired(v) => damaged(format!("file format {v}")),
        redb::DatabaseError::RepairAborted => damaged("repair failed".into()),
        redb::DatabaseError::Storage(redb::StorageError::Corrupted(what)) => damaged(what),
        redb::DatabaseError::Storage(redb::StorageError::Io(e))
            if matches!(e.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            damaged(e.to_string())
        }
        redb::DatabaseError::Storage(redb::StorageError::Io(e)) => io(e),
        other => Error::Io(format!("could not open {shown}: {other}")),
    };
    let file = medium.data().map_err(told)?;
    let careful = StagedBackend::new(file, written).map_err(io)?;
    let backend = careful.clone();
    let open = move || {
        let db = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend).map_err(told)?;
        let found = check(&db)?;
        Ok::<_, Error>((db, found))
    };
    // An inconsistent file breaks assertions inside redb: that is damage, not a bug of Hob. The panic hook may be silenced only
    // at the start, when no other thread can panic.
    let opened = match starting {
        true => quietly(open),
        false => std::panic::catch_unwind(std::panic::AssertUnwindSafe(open)).ok(),
    };
    let opened = opened.ok_or_else(|| damaged("its pages contradict each other".into()))??;
    careful.trust().map_err(io)?;
    Ok(opened)
}

fn shown(medium: &dyn Medium) -> String {
    medium.path().map_or_else(|| "the data in memory".into(), |path| path.display().to_string())
}

/// Runs code that may panic on a damaged file, without printing the panic; `None` when it panicked.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    done.ok()
}

/// Opens an existing file without checking its content.
pub(crate) fn open_any(path: &Path) -> Result<Database> {
    open_file(&Files::new(path.to_path_buf()), true, Arc::default(), |_| Ok(())).map(|(db, ())| db)
}

/// Checks a file's metadata and reads its log.
fn prepare(db: &Database, medium: &dyn Medium, written: &Arc<AtomicU64>) -> Result<Checked> {
    let meta = read_meta(db)?;
    let device = meta::device_of(&meta, &shown(medium))?;
    let mut found =
        Checked { device, mark: meta.log, log: None, changes: Overlay::default(), content: LogContent::default() };
    if let Some(mark) = meta.log {
        let disk = medium.log().map_err(|e| Error::io("read the log", &e))?.ok_or_else(log::missing)?;
        let (log, changes, content) = Log::replay(disk, mark.generation, mark.before, written.clone())?;
        (found.log, found.changes, found.content) = (Some(log), changes, content);
    }
    for last_ms in [meta.last_ms, found.content.newest_ms] {
        if last_ms < FAR_MS {
            Id::raise_floor(last_ms);
        } else {
            tracing::warn!(last = last_ms, "the newest time in the data file cannot be right, and is not used");
        }
    }
    meta::add_sum(db, &meta)?;
    Ok(found)
}
