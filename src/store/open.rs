//! Opens a data file and its log: checks them first, and writes only once they are found intact.

use crate::{
    Error, FORMAT, Result,
    log::{self, Log, LogContent, LogMark},
    medium::{Files, Medium},
    meta::{self, read_meta},
    overlay::Overlay,
    staged_backend::StagedBackend,
};
use redb::Database;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};
use tool::Id;

/// Beyond this (the year 2248) the newest time is a flipped bit.
const FAR_MS: u64 = 1 << 43;
/// How long a data file in use is waited for, and how often it is tried.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(600);
const RETRY: Duration = Duration::from_millis(5);
pub(crate) const CACHE_BYTES: usize = 8 << 20;

/// The findings of the check of a file before anything is written to it.
pub(crate) struct Checked {
    pub device: Id,
    pub lineage: Id,
    pub mark: Option<LogMark>,
    pub log: Option<Log>,
    pub changes: Overlay,
    pub content: LogContent,
}

/// Checks the format read-only: opening for writing would already change a file of a newer Hob. A file that cannot be read
/// this way (new, in use, in need of repair) is checked when it is opened.
pub(crate) fn refuse_newer(path: &Path) -> Result<()> {
    let Ok(db) = Database::builder().set_cache_size(CACHE_BYTES).open_read_only(path) else { return Ok(()) };
    match read_meta(&db)?.format {
        Some(found) if found > FORMAT => Err(Error::Newer { file: path.display().to_string(), found, ours: FORMAT }),
        _ => Ok(()),
    }
}

/// Opens a file and writes to it only after `check` has passed, which also adds missing metadata.
pub(crate) fn open_file<T>(
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
        let db = when_free(|| Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend.clone()));
        let db = db.map_err(told)?;
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

/// Waits a moment while another process holds the data file: after a process was killed, the system takes some time to release
/// its files.
fn when_free(open: impl Fn() -> Result<Database, redb::DatabaseError>) -> Result<Database, redb::DatabaseError> {
    let end = Instant::now() + RELEASE_TIMEOUT;
    loop {
        match open() {
            Err(redb::DatabaseError::DatabaseAlreadyOpen) if Instant::now() < end => std::thread::sleep(RETRY),
            opened => return opened,
        }
    }
}

pub(crate) fn shown(medium: &dyn Medium) -> String {
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
pub(crate) fn prepare(db: &Database, medium: &dyn Medium, written: &Arc<AtomicU64>) -> Result<Checked> {
    let meta = read_meta(db)?;
    let device = meta::device_of(&meta, &shown(medium))?;
    let (mark, changes, content) = (meta.log, Overlay::default(), LogContent::default());
    let mut found = Checked { device, lineage: Id::NIL, mark, log: None, changes, content };
    if let Some(mark) = meta.log {
        let disk = medium.log().map_err(|e| Error::io("read the log", &e))?.ok_or_else(log::missing)?;
        let (log, changes, content) = Log::replay(disk, &mark, written.clone())?;
        // The next power cut must not take back anything that readers see now.
        log.sync().map_err(|e| Error::io("sync the log", &e))?;
        // A log without a header is read, and not continued.
        (found.log, found.changes, found.content) = (mark.before.is_none().then_some(log), changes, content);
    }
    for last_ms in [meta.last_ms, found.content.newest_ms] {
        if last_ms < FAR_MS {
            Id::raise_floor(last_ms);
        } else {
            tracing::warn!(last = last_ms, "the newest time in the data file cannot be right, and is not used");
        }
    }
    meta::add_sum(db, &meta)?;
    found.lineage = meta::lineage_of(db)?;
    Ok(found)
}
