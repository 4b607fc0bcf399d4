//! Online backup to a file, and restore from one.

use crate::{
    Error, FILE, FORMAT, Result,
    engine::{CACHE_BYTES, Engine, Table, get_raw, read_meta},
    secrets,
};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableHandle};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Rows a commit of a backup holds at most, so that memory stays small on a small board.
const ROWS: usize = 4096;

/// A folder only its owner may enter.
pub(crate) fn make_private_dir(dir: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| Error::io(format!("make the data folder {}", dir.display()), &e))
}

/// Copies a snapshot into a fresh file beside `file`, then puts it in place; answers its size in bytes.
pub(crate) fn backup(engine: &Engine, file: &Path, without: &BTreeSet<String>) -> Result<u64> {
    if file.exists() {
        return Err(Error::Io(format!("{} exists already: choose another name, or delete it first", file.display())));
    }
    let aside = aside(file);
    let made = engine.read(|tx| copy_all(tx, &aside, without)).and_then(|()| put_in_place(&aside, file));
    if made.is_err() {
        let _ = fs::remove_file(&aside);
    }
    made?;
    file.metadata().map(|m| m.len()).map_err(|e| Error::io("look at the backup", &e))
}

fn aside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    file.with_file_name(name)
}

fn put_in_place(aside: &Path, file: &Path) -> Result<()> {
    let put = || -> std::io::Result<()> {
        fs::File::open(aside)?.sync_all()?;
        fs::rename(aside, file)?;
        let dir = file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(dir)?.sync_all()
    };
    put().map_err(|e| Error::io(format!("put {} in place", file.display()), &e))
}

/// All tables but those that stay, in order, which makes the copy smaller than the original.
fn copy_all(from: &ReadTransaction, to: &Path, without: &BTreeSet<String>) -> Result<()> {
    let _ = fs::remove_file(to);
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(|e| Error::io(format!("make {}", to.display()), &e))?;
    let db = builder().create_file(file).map_err(|e| match e {
        redb::DatabaseError::Storage(e) => e.into(),
        other => Error::Io(format!("could not make the backup: {other}")),
    })?;
    for handle in from.list_tables()? {
        if !without.contains(handle.name()) {
            copy_table(from, handle.name(), &db)?;
        }
    }
    Ok(())
}

fn copy_table(from: &ReadTransaction, name: &str, db: &Database) -> Result<()> {
    let source = from.open_table(Table::new(name))?;
    let mut rows = source.iter()?.peekable();
    loop {
        let tx = db.begin_write()?;
        {
            let mut table = tx.open_table(Table::new(name))?;
            for row in rows.by_ref().take(ROWS) {
                let (key, value) = row?;
                table.insert(key.value(), value.value())?;
            }
        }
        tx.commit()?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}

/// Puts the backup `file` in the place of the data in `dir`. Secrets of this device are kept; what was there
/// before stays beside it as `hob.redb.before-restore`.
///
/// # Errors
/// `InUse` while a daemon runs; `Newer`, `Damaged` or `Io` when the backup cannot be used. Nothing is changed then.
pub fn restore(dir: &Path, file: &Path) -> Result<PathBuf> {
    make_private_dir(dir)?;
    let (data, aside, before) = (dir.join(FILE), dir.join("hob.redb.part"), free_name(dir));
    let old = match builder().open(&data) {
        Ok(db) => Some(db),
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => return Err(Error::InUse(data.display().to_string())),
        // Missing or damaged: there is nothing to keep, and that may be why one restores.
        Err(_) => None,
    };
    let made = check_and_copy(file, &aside, old.as_ref());
    drop(old);
    let swap = || -> Result<()> {
        made?;
        if data.exists() {
            fs::rename(&data, &before).map_err(|e| Error::io("set the old data aside", &e))?;
        }
        put_in_place(&aside, &data).inspect_err(|_| drop(fs::rename(&before, &data)))
    };
    let swapped = swap();
    if swapped.is_err() {
        let _ = fs::remove_file(&aside);
    }
    swapped.map(|()| before)
}

/// Where the present data is set aside: what an earlier restore set aside is never written over.
fn free_name(dir: &Path) -> PathBuf {
    let name = |n: u32| match n {
        0 => dir.join("hob.redb.before-restore"),
        n => dir.join(format!("hob.redb.before-restore.{n}")),
    };
    (0..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
}

/// redb's own default would let the cache grow to a gigabyte.
fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn check_and_copy(file: &Path, aside: &Path, old: Option<&Database>) -> Result<()> {
    let shown = file.display();
    let _ = fs::remove_file(aside);
    fs::copy(file, aside).map_err(|e| Error::io(format!("read {shown}"), &e))?;
    // A download may be readable for everybody; the data is not.
    fs::set_permissions(aside, fs::Permissions::from_mode(0o600))
        .map_err(|e| Error::io("close the copy to others", &e))?;
    let unusable =
        |what: String| Error::Damaged(format!("{shown} is not a usable backup ({what}): nothing was changed"));
    let mut db = builder().open(aside).map_err(|e| unusable(e.to_string()))?;
    if !db.check_integrity().map_err(|e| unusable(e.to_string()))? {
        return Err(unusable("its checksums do not match".into()));
    }
    match read_meta(&db)?.format {
        None => return Err(unusable("it is not a Hob data file".into())),
        Some(found) if found > FORMAT => return Err(Error::Newer { file: shown.to_string(), found, ours: FORMAT }),
        Some(_) => {}
    }
    if let Some(old) = old {
        let from = old.begin_read()?;
        if from.list_tables()?.any(|t| t.name() == secrets::TABLE) {
            copy_table(&from, secrets::TABLE, &db)?;
        }
        let last = get_raw(&from, crate::engine::META, crate::engine::META_LAST)?;
        if let Some(last) = last {
            let tx = db.begin_write()?;
            tx.open_table(Table::new(crate::engine::META))?.insert(crate::engine::META_LAST, last.as_slice())?;
            tx.commit()?;
        }
    }
    Ok(())
}
