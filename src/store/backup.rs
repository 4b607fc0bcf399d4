//! Online backup to a file.

use crate::{
    Error, FILES, Result, WORKSPACE, compact,
    engine::Engine,
    files, meta,
    open::CACHE_BYTES,
    sealed_backup,
    secrets::{self, DeviceKey},
    snapshot::Snapshot,
    snapshot::Table,
    tree::{self, TreeSize},
};
use redb::Database;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The most rows in one commit of a backup: it bounds the memory.
const ROWS: usize = 4096;
/// The part of a backup's size that encryption adds at most, and the bytes it adds to any.
const SEALED_SHARE: u64 = 1024;
const SEALED_MORE: u64 = 4096;
/// How often a backup is begun at most, when the disk fails meanwhile.
const TRIES: u32 = 3;
/// The marks of files of the workspace that have words from outside, and their index. A backup has those from before and from after it
/// read the files: one that was moved or written meanwhile is marked, too.
const MARKS: [&str; 2] = ["workspace-marks", "workspace-marks.index"];

/// Tables that only backups have, or that a backup has no use for.
const OF_BACKUPS: [&str; 4] = [files::TABLE, files::RELEASED, tree::TABLE, tree::PIECES];

/// The parts that a backup leaves out.
pub(crate) struct Without {
    /// Tables that stay on this device.
    pub tables: BTreeSet<String>,
    /// Whether the files of the workspace are left out.
    pub workspace: bool,
}

/// How a backup is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// Encrypts it; it has all secrets then.
    pub passphrase: Option<String>,
    /// Whether the files of the workspace are left out.
    pub without_workspace: bool,
}

impl BackupOptions {
    /// Encrypted, with all files.
    pub fn sealed(passphrase: String) -> Self {
        Self { passphrase: Some(passphrase), ..Self::default() }
    }
}

/// A backup that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackedUp {
    /// Its size in bytes.
    pub size: u64,
    /// The files of the workspace in it.
    pub workspace: TreeSize,
}

/// Copies a snapshot into a new file next to `file`, then renames it to `file`.
pub(crate) fn backup(engine: &Engine, file: &Path, without: &Without) -> Result<BackedUp> {
    let part = begin(engine, file, without)?;
    finish(copy(engine, &part, without), &part, file)
}

/// The same with all secrets, encrypted with the passphrase. What is not encrypted yet is only ever in the data folder.
pub(crate) fn sealed(
    engine: &Engine,
    file: &Path,
    without: &Without,
    (passphrase, key): (&str, &DeviceKey),
) -> Result<BackedUp> {
    let part = begin(engine, file, without)?;
    let plain = engine.folder().map_or_else(std::env::temp_dir, Path::to_path_buf);
    // Removed at the next start, if a power cut leaves it behind.
    let plain = plain.join(format!("backup-{}.tmp", tool::Id::new()));
    let tables = without.tables.iter().filter(|name| *name != secrets::TABLE).cloned().collect();
    let without = Without { tables, workspace: without.workspace };
    let made = begin(engine, &plain, &without).and_then(|_| copy(engine, &plain, &without)).and_then(|workspace| {
        let _ = fs::remove_file(&part);
        // Both are there for a while, perhaps on one disk.
        let size = plain.metadata().map_err(|e| Error::io("look at the backup", &e))?.len();
        has_room(&part, size + size / SEALED_SHARE + SEALED_MORE)?;
        sealed_backup::seal(&plain, &part, passphrase, key)?;
        Ok(workspace)
    });
    let _ = fs::remove_file(&plain);
    finish(made, &part, file)
}

/// Refuses what cannot work; returns the temporary name of the file.
fn begin(engine: &Engine, file: &Path, without: &Without) -> Result<PathBuf> {
    if file.exists() {
        return Err(Error::Io(format!("{} exists already: choose another name, or delete it first", file.display())));
    }
    if let Some(folder) = engine.folder() {
        let workspace = match without.workspace {
            true => 0,
            false => tree::tree_size(&folder.join(WORKSPACE))?.bytes,
        };
        let files = files::size(&folder.join(FILES))? + workspace;
        // A file of pages grows in steps and is larger than its content.
        let data = engine.path().and_then(|path| compact::on_disk(path).ok()).unwrap_or_else(|| engine.size());
        has_room(file, files + files / 4 + data)?;
    }
    Ok(part_path(file))
}

fn copy(engine: &Engine, to: &Path, without: &Without) -> Result<TreeSize> {
    let files = engine.folder().map(|folder| folder.join(FILES));
    let db = engine.read_again(TRIES, |tx| copy_all(tx, to, &without.tables, files.as_deref()))?;
    // Not under the same snapshot: large files take a while, and the data file grows meanwhile.
    let Some(folder) = engine.folder().filter(|_| !without.workspace) else { return Ok(TreeSize::default()) };
    let packed = tree::pack(&folder.join(WORKSPACE), &db)?;
    if packed.files > 0 {
        engine.read_again(TRIES, |tx| MARKS.iter().try_for_each(|name| copy_table(tx, name, &db)))?;
    }
    Ok(packed)
}

fn finish(made: Result<TreeSize>, part: &Path, file: &Path) -> Result<BackedUp> {
    let made = made.and_then(|workspace| put_in_place(part, file).map(|()| workspace));
    if made.is_err() {
        let _ = fs::remove_file(part);
    }
    let workspace = made?;
    let size = file.metadata().map_err(|e| Error::io("look at the backup", &e))?.len();
    Ok(BackedUp { size, workspace })
}

/// Refuses a backup that will not fit: a disk that is full for a while would refuse other writes meanwhile.
fn has_room(file: &Path, needed: u64) -> Result<()> {
    let free = rustix::fs::statvfs(folder_of(file)).map(|there| there.f_bavail.saturating_mul(there.f_frsize));
    match free {
        Ok(free) if free < needed => {
            let mb = |bytes: u64| bytes.div_ceil(1 << 20);
            let text = format!("a backup needs {} MB for a while, and {} MB are free", mb(needed), mb(free));
            Err(Error::Io(format!("{text}: delete something first, or leave out the files of the workspace")))
        }
        _ => Ok(()),
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn part_path(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    file.with_file_name(name)
}

fn put_in_place(part: &Path, file: &Path) -> Result<()> {
    let put = || -> std::io::Result<()> {
        fs::File::open(part)?.sync_all()?;
        fs::rename(part, file)?;
        fs::File::open(folder_of(file))?.sync_all()
    };
    put().map_err(|e| Error::io(format!("put {} in place", file.display()), &e))
}

/// Copies all tables except the excluded ones in key order, which makes the copy smaller than the original; then the files.
fn copy_all(from: &Snapshot, to: &Path, without: &BTreeSet<String>, files: Option<&Path>) -> Result<Database> {
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
    for name in &from.tables()? {
        // Data that was copied here by hand from a backup may still contain the backup's files.
        if !without.contains(name) && !OF_BACKUPS.contains(&name.as_str()) {
            copy_table(from, name, &db)?;
        }
    }
    meta::forget_log(&db)?;
    files.map_or(Ok(()), |folder| files::pack(from, folder, &db))?;
    Ok(db)
}

pub(crate) fn copy_table(from: &Snapshot, name: &str, db: &Database) -> Result<()> {
    let Some(source) = from.open(name)? else { return Ok(()) };
    let mut rows = source.iter()?.peekable();
    loop {
        let tx = db.begin_write()?;
        {
            let mut table = tx.open_table(Table::new(name))?;
            for row in rows.by_ref().take(ROWS) {
                let (key, value) = row?;
                table.insert(&*key, &*value)?;
            }
        }
        tx.commit()?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}

/// redb's default cache may grow to a gigabyte.
pub(crate) fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_has_no_room_is_not_begun() {
        let file = std::env::temp_dir().join("hob-room.hob");
        let told = has_room(&file, 1 << 50).unwrap_err().to_string();
        assert!(told.contains("needs 1073741824 MB") && told.contains("delete something"), "{told}");
        assert!(has_room(&file, 1).is_ok());
    }
}
