//! The redb file: opened, checked, and opened again after the disk failed.

use crate::{Error, FORMAT, Result, careful::Careful};
use redb::{Database, ReadTransaction, ReadableDatabase, TableDefinition, TableError, backends::InMemoryBackend};
use std::{
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tool::Id;

/// Every table maps bytes to bytes, so that backup and checks need not know the types.
pub(crate) type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
/// What the file says about itself.
pub(crate) const META: &str = "meta";
pub(crate) const META_FORMAT: &[u8] = b"format";
pub(crate) const META_DEVICE: &[u8] = b"device";
/// The newest time seen, so that ids never go back with the clock.
pub(crate) const META_LAST: &[u8] = b"last";
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
        let device = prepare(&db, "memory")?;
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

    /// Notes a commit.
    pub fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Commits and bytes written since the start.
    pub fn traffic(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }

    /// Runs `f` over a snapshot.
    pub fn read<T>(&self, f: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        self.with(|db| f(&db.begin_read()?))
    }

    /// Runs `f` with the open database, opening it again first if the disk had failed.
    pub fn with<T>(&self, f: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        if self.db.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.reopen()?;
        }
        match &*self.db.read().unwrap_or_else(PoisonError::into_inner) {
            Some(db) => f(db),
            None => Err(redb::StorageError::PreviousIo.into()),
        }
    }

    /// After an I/O error redb refuses all work until the file is opened anew; what was committed is intact.
    pub fn reopen(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut slot = self.db.write().unwrap_or_else(PoisonError::into_inner);
        drop(slot.take());
        // Opened, never made: with the card gone there must not be a new, empty file in its place.
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

/// Looks without touching: opening to write would already change a file that a newer Hob has to read again. A file that
/// cannot be looked at so (new, in use, in need of repair) is judged when it is opened.
fn refuse_newer(path: &std::path::Path) -> Result<()> {
    let Ok(db) = Database::builder().set_cache_size(CACHE_BYTES).open_read_only(path) else { return Ok(()) };
    match read_meta(&db)?.format {
        Some(found) if found > FORMAT => Err(Error::Newer { file: path.display().to_string(), found, ours: FORMAT }),
        _ => Ok(()),
    }
}

/// Opens a file, which is written only once it has proven whole: `check` looks at what is in it, and makes what is missing.
fn open_file<T>(
    path: &std::path::Path,
    make: bool,
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
    // A new file is for its owner alone.
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(make).truncate(false).mode(0o600).open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 && !make {
        return Err(damaged("it is empty".into()));
    }
    let careful = Careful::new(file, written).map_err(told)?;
    let backend = careful.clone();
    let open = move || {
        let db = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend).map_err(told)?;
        let found = check(&db)?;
        Ok::<_, Error>((db, found))
    };
    // What contradicts itself breaks assertions inside redb: that is a damaged file, and no fault of Hob.
    // At the start there is nobody else whose panic would go unheard.
    let hook = make.then(std::panic::take_hook);
    if make {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open));
    if let Some(hook) = hook {
        std::panic::set_hook(hook);
    }
    let opened = opened.map_err(|_| damaged("its pages contradict each other".into()))??;
    careful.trust().map_err(io)?;
    Ok(opened)
}

/// Checks the format, makes what a new file lacks, and answers the device id.
fn prepare(db: &Database, shown: &str) -> Result<Id> {
    let meta = read_meta(db)?;
    if let Some(found) = meta.format
        && found > FORMAT
    {
        return Err(Error::Newer { file: shown.into(), found, ours: FORMAT });
    }
    Id::raise_floor(meta.last_ms);
    if let (Some(_), Some(device)) = (meta.format, meta.device) {
        return Ok(device);
    }
    let device = Id::new();
    let tx = db.begin_write()?;
    {
        let mut table = tx.open_table(Table::new(META))?;
        table.insert(META_FORMAT, &FORMAT.to_le_bytes()[..])?;
        table.insert(META_DEVICE, &device.as_bytes()[..])?;
    }
    tx.commit()?;
    Ok(device)
}

/// What a file says about itself.
#[derive(Default)]
pub(crate) struct Meta {
    pub format: Option<u32>,
    pub device: Option<Id>,
    pub last_ms: u64,
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
