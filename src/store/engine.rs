//! Opens and checks the redb file, and reopens it after a disk error.

use crate::{Error, FORMAT, Result, checksum, staged_backend::StagedBackend};
use redb::{Database, ReadTransaction, ReadableDatabase, TableDefinition, TableError, backends::InMemoryBackend};
use std::{
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tool::Id;

/// Every table maps bytes to bytes, so that backup and checks need not know the types.
pub(crate) type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
/// The metadata table.
pub(crate) const META: &str = "meta";
pub(crate) const META_FORMAT: &[u8] = b"format";
pub(crate) const META_DEVICE: &[u8] = b"device";
/// The newest time seen, so that ids never go back with the clock.
pub(crate) const META_LAST: &[u8] = b"last";
/// The checksum of the format and the device.
const META_SUM: &[u8] = b"sum";
/// Beyond this (the year 2248) the newest time is a flipped bit.
const FAR_MS: u64 = 1 << 43;
pub(crate) const CACHE_BYTES: usize = 8 << 20;

pub(crate) struct Engine {
    /// `None` in memory.
    path: Option<PathBuf>,
    /// `None` after the disk failed, until it can be opened again.
    db: RwLock<Option<Database>>,
    device: Id,
    /// Bytes written to the disk, and commits.
    written: Arc<AtomicU64>,
    commits: AtomicU64,
}

impl Engine {
    pub fn open(path: PathBuf) -> Result<Self> {
        refuse_newer(&path)?;
        let written = Arc::new(AtomicU64::new(0));
        let check = |db: &Database| prepare(db, &path.display().to_string());
        let (db, device) = open_file(&path, true, written.clone(), check)?;
        Ok(Self { path: Some(path), db: RwLock::new(Some(db)), device, written, commits: AtomicU64::new(0) })
    }

    pub fn in_memory() -> Result<Self> {
        let db = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(InMemoryBackend::new())
            .map_err(|e| Error::Io(e.to_string()))?;
        let device = found(&db)?;
        let (written, commits) = (Arc::default(), AtomicU64::new(0));
        Ok(Self { path: None, db: RwLock::new(Some(db)), device, written, commits })
    }

    pub fn device_id(&self) -> Id {
        self.device
    }

    pub fn folder(&self) -> Option<&std::path::Path> {
        self.path.as_deref().and_then(std::path::Path::parent)
    }

    pub fn size(&self) -> u64 {
        self.path.as_ref().and_then(|p| p.metadata().ok()).map_or(0, |m| m.len())
    }

    /// Counts a commit that every reader sees from now on.
    pub fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// Commits and bytes written since the start.
    pub fn traffic(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Acquire), self.written.load(Ordering::Relaxed))
    }

    /// Runs `f` over a snapshot.
    pub fn read<T>(&self, f: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        let (mut f, mut read) = (Some(f), None);
        self.with_snapshot(&mut |tx| f.take().map_or(Ok(()), |f| f(tx).map(|value| read = Some(value))))?;
        read.ok_or_else(|| Error::Io("nothing was read".into()))
    }

    fn with_snapshot(&self, f: &mut dyn FnMut(&ReadTransaction) -> Result<()>) -> Result<()> {
        self.with(|db| f(&db.begin_read()?))
    }

    /// Runs `f` with the open database, opening it again first if the disk had failed.
    pub fn with<T>(&self, f: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        if self.db.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.reopen()?;
        }
        match &*self.db.read().unwrap_or_else(PoisonError::into_inner) {
            // An inconsistent file breaks assertions inside redb; that must not end the writer thread.
            Some(db) => std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(db))).unwrap_or_else(|_| {
                Err(Error::Damaged(
                    "the data file could not be read, perhaps because its pages contradict each other: stop Hob and run `hob doctor`".into(),
                ))
            }),
            None => Err(redb::StorageError::PreviousIo.into()),
        }
    }

    /// Reopens the file: after an I/O error redb refuses all work until then. Committed data is intact.
    pub fn reopen(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut slot = self.db.write().unwrap_or_else(PoisonError::into_inner);
        drop(slot.take());
        let same = |db: &Database| match read_meta(db)?.device == Some(self.device) {
            true => Ok(()),
            false => {
                let text = format!("{} is not the data file this Hob began with: start Hob again", path.display());
                Err(Error::Io(text))
            }
        };
        let (db, ()) = open_file(path, false, self.written.clone(), same)?;
        *slot = Some(db);
        tracing::warn!(file = %path.display(), "the data file was opened again after the disk failed");
        Ok(())
    }
}

/// Checks the format read-only: opening for writing would already change a file of a newer Hob. A file that cannot be read
/// this way (new, in use, in need of repair) is checked when it is opened.
fn refuse_newer(path: &std::path::Path) -> Result<()> {
    let Ok(db) = Database::builder().set_cache_size(CACHE_BYTES).open_read_only(path) else { return Ok(()) };
    match read_meta(&db)?.format {
        Some(found) if found > FORMAT => Err(Error::Newer { file: path.display().to_string(), found, ours: FORMAT }),
        _ => Ok(()),
    }
}

/// Opens a file and writes to it only after `check` has passed, which also adds missing metadata.
fn open_file<T>(
    path: &std::path::Path,
    starting: bool,
    written: Arc<AtomicU64>,
    check: impl FnOnce(&Database) -> Result<T>,
) -> Result<(Database, T)> {
    let shown = path.display().to_string();
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
    // Never creates the file: when the card is gone, a new empty file must not take its place.
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Err(damaged("it is empty".into()));
    }
    let careful = StagedBackend::new(file, written).map_err(told)?;
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

/// Runs code that may panic on a damaged file, without printing the panic; `None` when it panicked.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    done.ok()
}

/// Opens an existing file without checking its content.
pub(crate) fn open_any(path: &std::path::Path) -> Result<Database> {
    open_file(path, true, Arc::default(), |_| Ok(())).map(|(db, ())| db)
}

/// Checks a file's metadata and returns the device id.
fn prepare(db: &Database, shown: &str) -> Result<Id> {
    let meta = read_meta(db)?;
    if let Some(found) = meta.format
        && found > FORMAT
    {
        return Err(Error::Newer { file: shown.into(), found, ours: FORMAT });
    }
    let (Some(_), Some(device), Ok(())) = (meta.format, meta.device, meta.check()) else {
        return Err(Error::Damaged(format!(
            "{shown} is damaged or not a Hob data file (what it says about itself does not match): restore a backup with `hob restore FILE`; the damaged file is left as it is"
        )));
    };
    if meta.last_ms < FAR_MS {
        Id::raise_floor(meta.last_ms);
    } else {
        tracing::warn!(last = meta.last_ms, "the newest time in the data file cannot be right, and is not used");
    }
    if meta.sum.is_none() {
        // The file is from before there were checksums.
        write_meta(db, &[(META_SUM, &meta.expected_sum())])?;
    }
    Ok(device)
}

/// Writes the metadata of a new data file; returns the device id.
pub(crate) fn found(db: &Database) -> Result<Id> {
    let device = Id::new();
    let meta = Meta { format: Some(FORMAT), device: Some(device), ..Meta::default() };
    let format = FORMAT.to_le_bytes();
    write_meta(db, &[(META_FORMAT, &format), (META_DEVICE, device.as_bytes()), (META_SUM, &meta.expected_sum())])?;
    Ok(device)
}

fn write_meta(db: &Database, rows: &[(&[u8], &[u8])]) -> Result<()> {
    let tx = db.begin_write()?;
    {
        let mut table = tx.open_table(Table::new(META))?;
        for (key, value) in rows {
            table.insert(*key, *value)?;
        }
    }
    Ok(tx.commit()?)
}

/// A file's metadata.
#[derive(Default)]
pub(crate) struct Meta {
    pub format: Option<u32>,
    pub device: Option<Id>,
    pub last_ms: u64,
    sum: Option<Vec<u8>>,
}

impl Meta {
    fn expected_sum(&self) -> [u8; checksum::LENGTH] {
        let format = self.format.unwrap_or_default().to_le_bytes();
        checksum::of(META, META_SUM, &format, self.device.as_ref().map_or(&[], |id| &id.as_bytes()[..]), &[])
    }

    /// Checks the checksum; older files have none and always pass.
    pub fn check(&self) -> Result<(), ()> {
        match &self.sum {
            Some(sum) if *sum != self.expected_sum() => Err(()),
            _ => Ok(()),
        }
    }
}

pub(crate) fn read_meta(db: &impl ReadableDatabase) -> Result<Meta> {
    let tx = db.begin_read()?;
    let fixed = |bytes: Option<Vec<u8>>| bytes.unwrap_or_default();
    let (format, device, last) =
        (get_raw(&tx, META, META_FORMAT)?, get_raw(&tx, META, META_DEVICE)?, get_raw(&tx, META, META_LAST)?);
    Ok(Meta {
        format: fixed(format).try_into().ok().map(u32::from_le_bytes),
        device: fixed(device).try_into().ok().map(Id::from_bytes),
        last_ms: fixed(last).try_into().map_or(0, u64::from_le_bytes),
        sum: get_raw(&tx, META, META_SUM)?,
    })
}

/// One value; `None` also where the table was never written.
pub(crate) fn get_raw(tx: &ReadTransaction, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
    match tx.open_table(Table::new(table)) {
        Ok(table) => Ok(redb::ReadableTable::get(&table, key)?.map(|v| v.value().to_vec())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}
