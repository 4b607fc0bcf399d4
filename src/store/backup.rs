//! Online backup to a file, and restore from one.

use crate::{
    Error, FILE, FILES, FORMAT, Result,
    engine::{self, CACHE_BYTES, Engine, Table, get_raw, read_meta},
    files, folder, open_plain, secrets,
};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableHandle};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Rows a commit of a backup holds at most, so that memory stays small on a small board.
const ROWS: usize = 4096;
/// How many sets of what restores set aside are kept.
const SET_ASIDE: usize = 3;

/// Copies a snapshot into a fresh file beside `file`, then puts it in place; answers its size in bytes.
pub(crate) fn backup(engine: &Engine, file: &Path, without: &BTreeSet<String>) -> Result<u64> {
    if file.exists() {
        return Err(Error::Io(format!("{} exists already: choose another name, or delete it first", file.display())));
    }
    let (aside, files) = (aside(file), engine.folder().map(|folder| folder.join(FILES)));
    if let Some(files) = &files {
        has_room(file, files::size(files)?, engine.size())?;
    }
    let copy = |tx: &ReadTransaction| copy_all(tx, &aside, without, files.as_deref());
    let made = engine.read(copy).and_then(|()| put_in_place(&aside, file));
    if made.is_err() {
        let _ = fs::remove_file(&aside);
    }
    made?;
    file.metadata().map(|m| m.len()).map_err(|e| Error::io("look at the backup", &e))
}

/// What nobody would keep is not begun: a disk that is full for a while refuses what people say meanwhile.
fn has_room(file: &Path, files: u64, data: u64) -> Result<()> {
    // A file of pages grows in steps, and is larger than what is in it.
    let needed = files + files / 4 + data;
    let free = rustix::fs::statvfs(folder_of(file)).map(|there| there.f_bavail.saturating_mul(there.f_frsize));
    match free {
        Ok(free) if files > 0 && free < needed => {
            let mb = |bytes: u64| bytes.div_ceil(1 << 20);
            let text = format!("a backup needs {} MB for a while, and {} MB are free", mb(needed), mb(free));
            Err(Error::Io(format!("{text}: delete something first")))
        }
        _ => Ok(()),
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        fs::File::open(folder_of(file))?.sync_all()
    };
    put().map_err(|e| Error::io(format!("put {} in place", file.display()), &e))
}

/// All tables but those that stay, in order, which makes the copy smaller than the original; then the files.
fn copy_all(from: &ReadTransaction, to: &Path, without: &BTreeSet<String>, files: Option<&Path>) -> Result<()> {
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
        // Data that was put in its place by hand may still have the files of the backup it was.
        if !without.contains(handle.name()) && ![files::TABLE, files::RELEASED].contains(&handle.name()) {
            copy_table(from, handle.name(), &db)?;
        }
    }
    files.map_or(Ok(()), |folder| files::pack(from, folder, &db))
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

/// Where what was there before a restore has been set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousData {
    /// The data; not there when there was none.
    pub data: PathBuf,
    /// The files people had sent; not there when there were none.
    pub files: PathBuf,
}

/// Puts the backup `file` in the place of the data in `dir`, and its files beside those that are there. Secrets of this
/// device are kept; what was there before stays beside it as `hob.redb.before-restore` and `uploads.before-restore`.
///
/// # Errors
/// `InUse` while a daemon runs; `Newer`, `Damaged`, `Full` or `Io` when the backup cannot be used. Nothing is changed then.
pub fn restore(dir: &Path, file: &Path) -> Result<PreviousData> {
    folder::prepare(dir)?;
    let (data, aside, before) = (dir.join(FILE), dir.join("hob.redb.part"), free_names(dir));
    let (folder, files_aside) = (dir.join(FILES), dir.join(format!("{FILES}.part")));
    let old = match fs::metadata(&data).is_ok_and(|about| about.is_file()).then(|| engine::open_any(&data)) {
        Some(Ok(db)) => Some(db),
        Some(Err(Error::InUse(file))) => return Err(Error::InUse(file)),
        // Missing or damaged: there is nothing to keep, and that may be why one restores.
        _ => None,
    };
    let _ = fs::remove_dir_all(&files_aside);
    let made = check_and_copy(file, &aside, (&folder, &files_aside), old.as_ref());
    drop(old);
    let swap = || -> Result<()> {
        made?;
        // The files first: whenever the power goes, each is there that the data knows, be it the old or the new.
        files::set_aside(&folder, &before.files)?;
        files::add(&files_aside, &folder)?;
        // A second name for the old data, so that there is no moment without any; where the disk cannot do that, another.
        if data.symlink_metadata().is_ok() {
            let kept = fs::hard_link(&data, &before.data).or_else(|_| fs::rename(&data, &before.data));
            kept.map_err(|e| Error::io("set the old data aside", &e))?;
        }
        put_in_place(&aside, &data).inspect_err(|_| match data.symlink_metadata().is_ok() {
            true => drop(fs::remove_file(&before.data)),
            false => drop(fs::rename(&before.data, &data)),
        })
    };
    let swapped = swap();
    let _ = fs::remove_dir_all(&files_aside);
    if swapped.is_err() {
        let _ = fs::remove_file(&aside);
        let _ = fs::remove_dir_all(&before.files);
    }
    swapped.map(|()| {
        remove_oldest(dir);
        before
    })
}

/// What is set aside under a number.
fn names(dir: &Path, n: u32) -> PreviousData {
    let end = if n == 0 { String::new() } else { format!(".{n}") };
    let name = |of: &str| dir.join(format!("{of}.before-restore{end}"));
    PreviousData { data: name(FILE), files: name(FILES) }
}

/// The numbers under which something is set aside, in order.
fn numbers(dir: &Path) -> BTreeSet<u32> {
    let number = |name: &str| {
        let of = [FILE, FILES].into_iter().find_map(|of| name.strip_prefix(of));
        match of?.strip_prefix(".before-restore")? {
            "" => Some(0),
            end => end.strip_prefix('.')?.parse().ok(),
        }
    };
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    all.filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// Where the present data is set aside: after what earlier restores set aside, which is never written over.
fn free_names(dir: &Path) -> PreviousData {
    names(dir, numbers(dir).last().map_or(0, |n| n.saturating_add(1)))
}

/// Of what restores set aside, the newest stay.
fn remove_oldest(dir: &Path) {
    for n in numbers(dir).into_iter().rev().skip(SET_ASIDE) {
        let old = names(dir, n);
        let _ = fs::remove_file(old.data);
        let _ = fs::remove_dir_all(old.files);
    }
}

/// redb's own default would let the cache grow to a gigabyte.
fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn check_and_copy(file: &Path, aside: &Path, files: (&Path, &Path), old: Option<&Database>) -> Result<()> {
    let shown = file.display();
    let _ = fs::remove_file(aside);
    let mut from = open_plain(file).map_err(|e| Error::io(format!("read {shown}"), &e))?;
    // A download may be readable for everybody; the data is not.
    let to = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(aside);
    to.and_then(|mut to| std::io::copy(&mut from, &mut to))
        .map_err(|e| Error::io(format!("copy {shown} to {}", aside.display()), &e))?;
    let unusable =
        |what: String| Error::Damaged(format!("{shown} is not a usable backup ({what}): nothing was changed"));
    let opened = engine::quietly(|| {
        let mut db = builder().open(aside).map_err(|e| unusable(e.to_string()))?;
        match db.check_integrity().map_err(|e| unusable(e.to_string()))? {
            true => Ok(db),
            false => Err(unusable("its checksums do not match".into())),
        }
    });
    let mut db = opened.ok_or_else(|| unusable("its pages contradict each other".into()))??;
    let meta = read_meta(&db)?;
    match meta.format {
        None => return Err(unusable("it is not a Hob data file".into())),
        Some(found) if found > FORMAT => return Err(Error::Newer { file: shown.to_string(), found, ours: FORMAT }),
        Some(_) => meta.check().map_err(|()| unusable("what it says about itself does not match".into()))?,
    }
    let (folder, files_aside) = files;
    files::unpack(&mut db, files_aside)?;
    files::release_unknown(folder, &db)?;
    if let Some(old) = old {
        let kept = engine::quietly(|| keep_of_device(old, &db));
        // Damaged data is why one restores: what cannot be had of it must not be in the way.
        match kept.unwrap_or_else(|| Err(Error::Damaged("its pages contradict each other".into()))) {
            Err(Error::Damaged(why)) => {
                tracing::error!("the secrets of the data that was here could not all be kept ({why}): enter them again")
            }
            kept => kept?,
        }
    }
    Ok(())
}

/// Copies what is this device's and in no backup: its secrets, and the newest time it has seen.
fn keep_of_device(old: &Database, db: &Database) -> Result<()> {
    let from = old.begin_read()?;
    if from.list_tables()?.any(|t| t.name() == secrets::TABLE) {
        copy_table(&from, secrets::TABLE, db)?;
    }
    if let Some(last) = get_raw(&from, engine::META, engine::META_LAST)? {
        let tx = db.begin_write()?;
        tx.open_table(Table::new(engine::META))?.insert(engine::META_LAST, last.as_slice())?;
        tx.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_of_what_restores_set_aside_stay() {
        let dir = std::env::temp_dir().join(format!("hob-aside-{}", tool::Id::new()));
        let store = crate::Store::open(&dir).unwrap();
        let file = dir.join("copy.hob");
        store.backup(file.clone()).await.unwrap();
        drop(store);
        for n in 0..5 {
            fs::create_dir_all(dir.join(FILES)).unwrap();
            fs::write(dir.join(FILES).join(format!("{n}")), "x").unwrap();
            let before = restore(&dir, &file).unwrap();
            assert!(before.data.exists(), "{}", before.data.display());
        }
        assert_eq!(numbers(&dir), BTreeSet::from([2, 3, 4]));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_backup_that_has_no_room_is_not_begun() {
        let file = std::env::temp_dir().join("hob-room.hob");
        let told = has_room(&file, 1 << 50, 0).unwrap_err().to_string();
        assert!(told.contains("needs 1342177280 MB") && told.contains("delete something"), "{told}");
        // Data alone goes through the same checks as before: the disk says when it is full.
        assert!(has_room(&file, 0, 1 << 50).is_ok() && has_room(&file, 1, 0).is_ok());
    }
}
