//! Opens a data file and its log: checks them first, and writes only once they are found intact.

use crate::{
    Error, FORMAT, Result,
    log::{self, Log, LogContent},
    medium::{Files, Medium},
    meta::{self, Saved, read_meta},
    overlay::Overlay,
    quietly::quietly,
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
    pub saved: Saved,
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

/// Opens a file and writes to it only after `check` has passed, which also adds missing metadata. Waits a moment while another
/// process holds the file: after a process was killed, the system takes some time to release its files.
pub(crate) fn open_file<T>(
    medium: &dyn Medium,
    written: Arc<AtomicU64>,
    check: impl Fn(&Database) -> Result<T>,
) -> Result<(Database, StagedBackend, T)> {
    let end = Instant::now() + RELEASE_TIMEOUT;
    let (file, (db, found)) = loop {
        // Opened again each time: the other process may have changed its length.
        let file = data_file(medium, written.clone())?;
        match open_staged(medium, &file, &check) {
            Err(Error::InUse(_)) if Instant::now() < end => std::thread::sleep(RETRY),
            opened => break (file, opened?),
        }
    };
    file.trust().map_err(|e| Error::io(format!("open {}", shown(medium)), &e))?;
    Ok((db, file, found))
}

/// Opens the data file of a medium; nothing is written to it yet.
pub(crate) fn data_file(medium: &dyn Medium, written: Arc<AtomicU64>) -> Result<StagedBackend> {
    let file = medium.data().map_err(|e| unopened(medium, e))?;
    StagedBackend::new(file, written).map_err(|e| Error::io(format!("open {}", shown(medium)), &e))
}

fn damaged(medium: &dyn Medium, what: &str) -> Error {
    let shown = shown(medium);
    Error::Damaged(format!(
        "{shown} is damaged or not a Hob data file ({what}): restore a backup with `hob restore FILE`; the damaged file is left as it is"
    ))
}

fn unopened(medium: &dyn Medium, e: redb::DatabaseError) -> Error {
    let shown = shown(medium);
    match e {
        redb::DatabaseError::DatabaseAlreadyOpen => Error::InUse(shown),
        redb::DatabaseError::UpgradeRequired(v) => damaged(medium, &format!("file format {v}")),
        redb::DatabaseError::RepairAborted => damaged(medium, "repair failed"),
        redb::DatabaseError::Storage(redb::StorageError::Corrupted(what)) => damaged(medium, &what),
        redb::DatabaseError::Storage(redb::StorageError::Io(e))
            if matches!(e.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            damaged(medium, &e.to_string())
        }
        redb::DatabaseError::Storage(redb::StorageError::Io(e)) => Error::io(format!("open {shown}"), &e),
        other => Error::Io(format!("could not open {shown}: {other}")),
    }
}

/// Opens a file and checks it; nothing is written to it yet.
pub(crate) fn open_staged<T>(
    medium: &dyn Medium,
    file: &StagedBackend,
    check: impl FnOnce(&Database) -> Result<T>,
) -> Result<(Database, T)> {
    let backend = file.clone();
    let open = move || {
        let db = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend);
        let db = db.map_err(|e| unopened(medium, e))?;
        // Between its opening and its locking another Hob may have put a file in its place.
        if !medium.is_in_place() {
            return Err(Error::InUse(shown(medium)));
        }
        let found = check(&db)?;
        Ok::<_, Error>((db, found))
    };
    quietly(open).ok_or_else(|| damaged(medium, "its pages contradict each other"))?
}

pub(crate) fn shown(medium: &dyn Medium) -> String {
    medium.path().map_or_else(|| "the data in memory".into(), |path| path.display().to_string())
}

/// Opens an existing file without checking its content.
pub(crate) fn open_any(path: &Path) -> Result<Database> {
    open_file(&Files::new(path.to_path_buf()), Arc::default(), |_| Ok(())).map(|(db, ..)| db)
}

/// Checks a file's metadata and reads its log.
pub(crate) fn prepare(db: &Database, medium: &dyn Medium, written: &Arc<AtomicU64>) -> Result<Checked> {
    let meta = read_meta(db)?;
    let device = meta::device_of(&meta, &shown(medium))?;
    let (changes, content) = (Overlay::default(), LogContent::default());
    let mut found = Checked { device, lineage: Id::NIL, saved: meta.saved(), log: None, changes, content };
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
