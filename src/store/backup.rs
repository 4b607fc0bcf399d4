//! Online backup to a file, and restore from it.

use crate::{
    Error, FILE, FILES, FORMAT, Result, compact,
    engine::Engine,
    files, folder,
    medium::{LOG, remove_log},
    meta::{self, read_meta},
    open::{self, CACHE_BYTES},
    quietly::quietly,
    sealed_backup,
    secrets::{self, DeviceKey},
    snapshot::Snapshot,
    snapshot::Table,
};
use redb::Database;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The most rows in one commit of a backup: it bounds the memory.
const ROWS: usize = 4096;
/// The new data of a restore, and its files, before they take effect.
const PART: &str = "hob.redb.part";
const FILES_PART: &str = "uploads.part";
/// The part of a backup's size that encryption adds at most, and the bytes it adds to any.
const SEALED_SHARE: u64 = 1024;
const SEALED_MORE: u64 = 4096;
/// How often a backup is begun at most, when the disk fails meanwhile.
const TRIES: u32 = 3;
/// How many sets of replaced data are retained after restores.
const SET_ASIDE: usize = 3;

/// Copies a snapshot into a new file next to `file`, then renames it to `file`; returns its size in bytes.
pub(crate) fn backup(engine: &Engine, file: &Path, without: &BTreeSet<String>) -> Result<u64> {
    let part = begin(engine, file)?;
    finish(copy(engine, &part, without), &part, file)
}

/// The same with all secrets, encrypted with the passphrase. What is not encrypted yet is only ever in the data folder.
pub(crate) fn sealed(
    engine: &Engine,
    file: &Path,
    without: &BTreeSet<String>,
    (passphrase, key): (&str, &DeviceKey),
) -> Result<u64> {
    let part = begin(engine, file)?;
    let plain = engine.folder().map_or_else(std::env::temp_dir, Path::to_path_buf);
    // Removed at the next start, if a power cut leaves it behind.
    let plain = plain.join(format!("backup-{}.tmp", tool::Id::new()));
    let without = without.iter().filter(|name| *name != secrets::TABLE).cloned().collect();
    let made = begin(engine, &plain).and_then(|_| copy(engine, &plain, &without)).and_then(|()| {
        let _ = fs::remove_file(&part);
        // Both are there for a while, perhaps on one disk.
        let size = plain.metadata().map_err(|e| Error::io("look at the backup", &e))?.len();
        has_room(&part, size + size / SEALED_SHARE + SEALED_MORE)?;
        sealed_backup::seal(&plain, &part, passphrase, key)
    });
    let _ = fs::remove_file(&plain);
    finish(made, &part, file)
}

/// Refuses what cannot work; returns the temporary name of the file.
fn begin(engine: &Engine, file: &Path) -> Result<PathBuf> {
    if file.exists() {
        return Err(Error::Io(format!("{} exists already: choose another name, or delete it first", file.display())));
    }
    if let Some(folder) = engine.folder() {
        let files = files::size(&folder.join(FILES))?;
        // A file of pages grows in steps and is larger than its content.
        let data = engine.path().and_then(|path| compact::on_disk(path).ok()).unwrap_or_else(|| engine.size());
        has_room(file, files + files / 4 + data)?;
    }
    Ok(part_path(file))
}

fn copy(engine: &Engine, to: &Path, without: &BTreeSet<String>) -> Result<()> {
    let files = engine.folder().map(|folder| folder.join(FILES));
    engine.read_again(TRIES, |tx| copy_all(tx, to, without, files.as_deref()))
}

fn finish(made: Result<()>, part: &Path, file: &Path) -> Result<u64> {
    let made = made.and_then(|()| put_in_place(part, file));
    if made.is_err() {
        let _ = fs::remove_file(part);
    }
    made?;
    file.metadata().map(|m| m.len()).map_err(|e| Error::io("look at the backup", &e))
}

/// Refuses a backup that will not fit: a disk that is full for a while would refuse other writes meanwhile.
fn has_room(file: &Path, needed: u64) -> Result<()> {
    let free = rustix::fs::statvfs(folder_of(file)).map(|there| there.f_bavail.saturating_mul(there.f_frsize));
    match free {
        Ok(free) if free < needed => {
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
fn copy_all(from: &Snapshot, to: &Path, without: &BTreeSet<String>, files: Option<&Path>) -> Result<()> {
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
        if !without.contains(name) && ![files::TABLE, files::RELEASED].contains(&name.as_str()) {
            copy_table(from, name, &db)?;
        }
    }
    meta::forget_log(&db)?;
    files.map_or(Ok(()), |folder| files::pack(from, folder, &db))
}

fn copy_table(from: &Snapshot, name: &str, db: &Database) -> Result<()> {
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

/// The paths to which a restore has moved the previous data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousData {
    /// The data file; missing when there was none.
    pub data: PathBuf,
    /// The uploaded files; missing when there were none.
    pub files: PathBuf,
    /// The log, where the data file could not be made complete without it; usually missing.
    pub log: PathBuf,
    /// A failure after the data was restored, and what to do about it.
    pub problem: Option<String>,
}

impl PreviousData {
    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.files);
        let _ = fs::remove_file(&self.log);
        // Last, as the set is known by it.
        let _ = fs::remove_file(&self.data);
    }
}

/// Restores a backup that needs no passphrase; see [`restore_with`].
///
/// # Errors
/// As that, and `NoPassphrase` when the backup is encrypted.
pub fn restore(dir: &Path, file: &Path) -> Result<PreviousData> {
    restore_with(dir, file, None)
}

/// Replaces the data in `dir` with the backup `file`, and adds its files to those in `dir`. Secrets of this device
/// are preserved, unless the backup has them: then it is encrypted with a passphrase. The previous data remains as
/// `hob.redb.before-restore` and `uploads.before-restore`.
///
/// # Errors
/// `InUse` while a daemon runs; `NoPassphrase`, `WrongPassphrase`, `Newer`, `Damaged`, `Full` or `Io` when the backup
/// cannot be used. Nothing is changed then.
pub fn restore_with(dir: &Path, file: &Path, passphrase: Option<&str>) -> Result<PreviousData> {
    folder::prepare(dir)?;
    let data = dir.join(FILE);
    let key_file = dir.join(folder::KEY);
    // Locked until the end, as the new data is: a Hob that starts meanwhile would write to files that lose their names.
    let old = PreviousState::open(&data)?;
    remove_cut_off(dir);
    let (part, mut before, folder, files_aside) =
        (dir.join(PART), free_names(dir), dir.join(FILES), dir.join(FILES_PART));
    let prepare = || -> Result<fs::File> {
        let known = DeviceKey::load(&key_file)?;
        let key = known.as_ref().map_or_else(DeviceKey::random, |key| Ok(DeviceKey::from_bytes(*key.bytes())))?;
        check_and_copy((file, passphrase, &key), &part, (&folder, &files_aside), &old)?;
        let new = lock_synced(&part)?;
        // Before the data: secrets without their key would be lost, and a key without data is noticed.
        if known.is_none() {
            key.save(&key_file).map_err(|e| Error::io(format!("make {}", key_file.display()), &e))?;
        }
        // Files first: after a power cut at any point, every file that the data refers to exists.
        files::set_aside(&folder, &before.files)?;
        files::add(&files_aside, &folder)?;
        // The log of data that could not be read stays with it. A copy: the next Hob writes to the other.
        if !matches!(old, PreviousState::Complete(_)) && dir.join(LOG).exists() {
            let copied = fs::copy(dir.join(LOG), &before.log).and_then(|_| fs::File::open(&before.log)?.sync_all());
            copied.map_err(|e| Error::io("set the old log aside", &e))?;
        }
        exchange(&part, &data, &before.data)?;
        Ok(new)
    };
    let swapped = prepare();
    let _ = fs::remove_dir_all(&files_aside);
    if swapped.is_err() {
        let _ = fs::remove_file(&part);
        if data.symlink_metadata().is_err() {
            let _ = fs::rename(&before.data, &data);
        }
        // Never the last name of the old data.
        if data.symlink_metadata().is_ok() {
            before.remove();
        }
    }
    let new = swapped?;
    // The new data is in its place: nothing is undone any more.
    before.problem = tidy(dir).err().map(|e| e.to_string());
    drop((new, old));
    Ok(before)
}

/// Syncs a data file that only this process knows, and locks it.
fn lock_synced(part: &Path) -> Result<fs::File> {
    let lock = || -> io::Result<fs::File> {
        let file = fs::OpenOptions::new().read(true).write(true).open(part)?;
        file.sync_all()?;
        file.lock()?;
        Ok(file)
    };
    lock().map_err(|e| Error::io(format!("lock {}", part.display()), &e))
}

/// Puts `part` in the place of the data file, which becomes `before`. No name ever leads to a file that is in use under another
/// one, and there is a data file at all times where the disk can exchange two names. Nothing has changed after an error.
fn exchange(part: &Path, data: &Path, before: &Path) -> Result<()> {
    let failed = |e: io::Error| Error::io(format!("put {} in place", data.display()), &e);
    if data.symlink_metadata().is_err() {
        return match renameat_with(CWD, part, CWD, data, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Err(Error::InUse(data.display().to_string())),
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(part, data).map_err(failed),
            renamed => renamed.map_err(|e| failed(e.into())),
        };
    }
    fs::rename(part, before).map_err(failed)?;
    let exchanged = match renameat_with(CWD, before, CWD, data, RenameFlags::EXCHANGE) {
        // The disk cannot exchange names.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::rename(before, part).map_err(failed)?;
            fs::rename(data, before).map_err(failed)?;
            return fs::rename(part, data).inspect_err(|_| drop(fs::rename(before, data))).map_err(failed);
        }
        exchanged => exchanged,
    };
    exchanged.inspect_err(|_| drop(fs::rename(before, part))).map_err(|e| failed(e.into()))
}

/// After a restore: removes what belongs to the replaced data.
fn tidy(dir: &Path) -> Result<()> {
    let synced = fs::File::open(dir).and_then(|dir| dir.sync_all());
    // It would not be used, and holds words of the data that was replaced.
    let _ = fs::remove_file(dir.join(crate::MEMORY_INDEX));
    synced.map_err(|e| {
        let shown = dir.display();
        Error::Io(format!(
            "{shown} could not be synced ({e}): check the disk, a power cut may bring the previous data back"
        ))
    })?;
    remove_oldest(dir);
    remove_log(dir).map_err(|e| Error::Io(format!("{e}: delete {}, it is not used any more", dir.join(LOG).display())))
}

/// Removes the files of a restore that was cut off before it took effect: the new data, and a set of old data that is still the
/// data. The caller holds the data file.
pub(crate) fn remove_cut_off(dir: &Path) {
    let _ = fs::remove_file(dir.join(PART));
    let _ = fs::remove_dir_all(dir.join(FILES_PART));
    let inode = |path: &Path| path.symlink_metadata().map(|about| (about.dev(), about.ino())).ok();
    let data = inode(&dir.join(FILE));
    let sets = numbers(dir).into_iter().map(|n| names(dir, n));
    sets.filter(|set| data.is_some() && inode(&set.data) == data).for_each(|set| set.remove());
}

/// The data that a restore replaces; it stays locked while this is held.
enum PreviousState {
    /// It has everything that was in its log.
    Complete(Box<Engine>),
    /// Its log, or what it says about itself, cannot be read.
    Incomplete(Database),
    /// It is damaged: often the reason for a restore.
    Damaged { _locked: Option<fs::File> },
    /// There is none.
    None,
}

impl PreviousState {
    fn open(data: &Path) -> Result<Self> {
        if !fs::metadata(data).is_ok_and(|about| about.is_file()) {
            return Ok(Self::None);
        }
        match Engine::open(data.to_path_buf()).and_then(|engine| engine.complete().map(|()| engine)) {
            Ok(engine) => return Ok(Self::Complete(Box::new(engine))),
            Err(Error::InUse(file)) => return Err(Error::InUse(file)),
            Err(_) => {}
        }
        match open::open_any(data) {
            Ok(db) => return Ok(Self::Incomplete(db)),
            Err(Error::InUse(file)) => return Err(Error::InUse(file)),
            Err(_) => {}
        }
        let Ok(file) = fs::File::open(data) else { return Ok(Self::Damaged { _locked: None }) };
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(Error::InUse(data.display().to_string())),
            _ => Ok(Self::Damaged { _locked: Some(file) }),
        }
    }

    fn read(&self, read: &mut dyn FnMut(&Snapshot) -> Result<()>) -> Result<()> {
        match self {
            Self::Complete(engine) => engine.read(read),
            Self::Incomplete(db) => read(&Snapshot::stored(db)?),
            Self::Damaged { .. } | Self::None => Ok(()),
        }
    }
}

/// The paths of the replaced data with this number.
fn names(dir: &Path, n: u32) -> PreviousData {
    let end = if n == 0 { String::new() } else { format!(".{n}") };
    let name = |of: &str| dir.join(format!("{of}.before-restore{end}"));
    PreviousData { data: name(FILE), files: name(FILES), log: name(LOG), problem: None }
}

/// The numbers of replaced data in the folder, in order.
fn numbers(dir: &Path) -> BTreeSet<u32> {
    let number = |name: &str| {
        let of = [FILE, FILES, LOG].into_iter().find_map(|of| name.strip_prefix(of));
        match of?.strip_prefix(".before-restore")? {
            "" => Some(0),
            end => end.strip_prefix('.')?.parse().ok(),
        }
    };
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    all.filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// Free paths for the data that is replaced now; earlier sets are never overwritten.
fn free_names(dir: &Path) -> PreviousData {
    names(dir, numbers(dir).last().map_or(0, |n| n.saturating_add(1)))
}

/// Removes all but the newest sets of replaced data.
fn remove_oldest(dir: &Path) {
    for n in numbers(dir).into_iter().rev().skip(SET_ASIDE) {
        names(dir, n).remove();
    }
}

/// redb's default cache may grow to a gigabyte.
fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn check_and_copy(
    (file, passphrase, key): (&Path, Option<&str>, &DeviceKey),
    part: &Path,
    files: (&Path, &Path),
    old: &PreviousState,
) -> Result<()> {
    let shown = file.display();
    let _ = fs::remove_file(part);
    let theirs = sealed_backup::open(file, part, passphrase)?;
    let unusable =
        |what: String| Error::Damaged(format!("{shown} is not a usable backup ({what}): nothing was changed"));
    let opened = quietly(|| {
        let mut db = builder().open(part).map_err(|e| unusable(e.to_string()))?;
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
    // A copy of a data file that was in use: its log is not in it.
    meta::forget_log(&db)?;
    meta::end_lineage(&db)?;
    theirs.map_or(Ok(()), |theirs| sealed_backup::seal_anew(&db, &theirs, key))?;
    let (folder, files_aside) = files;
    files::unpack(&mut db, files_aside)?;
    files::release_unknown(folder, &db)?;
    let kept = quietly(|| old.read(&mut |old| copy_device_data(old, &db)));
    // Damaged data is often the reason for a restore: parts that cannot be read must not stop it.
    match kept.unwrap_or_else(|| Err(Error::Damaged("its pages contradict each other".into()))) {
        Err(Error::Damaged(why)) => {
            tracing::error!("the secrets of the data that was here could not all be kept ({why}): enter them again");
        }
        kept => kept?,
    }
    // Nothing was there before, or nothing that could be read.
    if sealed_backup::has_incoming(&db)? { sealed_backup::take_incoming(&db, |_| Ok(None)) } else { Ok(()) }
}

/// Copies what belongs to this device and is in no backup: its secrets and the newest time it has seen.
fn copy_device_data(from: &Snapshot, db: &Database) -> Result<()> {
    if sealed_backup::has_incoming(db)? {
        sealed_backup::take_incoming(db, |name| from.get(secrets::TABLE, name.as_bytes()))?;
    } else {
        copy_table(from, secrets::TABLE, db)?;
    }
    if let Some(last) = from.get(meta::META, meta::META_LAST)? {
        let tx = db.begin_write()?;
        tx.open_table(Table::new(meta::META))?.insert(meta::META_LAST, last.as_slice())?;
        tx.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[tokio::test]
    async fn the_newest_of_what_restores_set_aside_stay() {
        let dir = std::env::temp_dir().join(format!("hob-part-{}", tool::Id::new()));
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

    #[tokio::test]
    async fn what_a_restore_that_was_cut_off_left_is_removed() {
        let dir = std::env::temp_dir().join(format!("hob-cut-{}", tool::Id::new()));
        let store = crate::Store::open(&dir).unwrap();
        let file = dir.join("copy.hob");
        store.backup(file.clone()).await.unwrap();
        drop(store);
        let upload = dir.join(FILES).join(tool::Id::new().to_string());
        fs::create_dir_all(dir.join(FILES)).unwrap();
        fs::write(&upload, "x").unwrap();
        let earlier = restore(&dir, &file).unwrap();
        for again in [false, true] {
            // As far as a restore comes before its last rename.
            fs::copy(&file, dir.join(PART)).unwrap();
            fs::create_dir_all(dir.join(FILES_PART)).unwrap();
            fs::write(dir.join(FILES_PART).join("one"), "x").unwrap();
            let half = free_names(&dir);
            fs::hard_link(dir.join(FILE), &half.data).unwrap();
            fs::write(&half.log, "x").unwrap();
            files::set_aside(&dir.join(FILES), &half.files).unwrap();
            match again {
                true => assert_eq!(restore(&dir, &file).unwrap().data, half.data, "its names are free again"),
                false => drop(crate::Store::open(&dir).unwrap()),
            }
            assert!(!dir.join(PART).exists() && !dir.join(FILES_PART).exists() && !half.log.exists());
            assert_eq!((half.data.exists(), earlier.data.exists()), (again, true));
            assert!(dir.join(FILE).exists() && earlier.files.exists());
        }
        drop(crate::Store::open(&dir).unwrap());
        assert_eq!(numbers(&dir), BTreeSet::from([0, 1]), "complete sets stay");
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn nothing_is_undone_once_the_data_is_restored() {
        let dir = std::env::temp_dir().join(format!("hob-undone-{}", tool::Id::new()));
        let store = crate::Store::open(&dir).unwrap();
        let file = dir.join("copy.hob");
        store.backup(file.clone()).await.unwrap();
        drop(store);
        let old = fs::read(dir.join(FILE)).unwrap();
        // It cannot be removed.
        fs::create_dir_all(dir.join(LOG)).unwrap();
        let before = restore(&dir, &file).unwrap();
        assert!(before.problem.is_some_and(|problem| problem.contains("delete") && problem.contains(LOG)));
        assert!(fs::read(dir.join(FILE)).unwrap() != old && before.data.exists());
        assert_eq!(fs::metadata(&before.data).unwrap().nlink(), 1, "no other name leads to it");
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn no_hob_starts_while_data_is_restored() {
        let dir = std::env::temp_dir().join(format!("hob-locked-{}", tool::Id::new()));
        drop(crate::Store::open(&dir).unwrap());
        // The new data is locked before it has its name, and the previous data until it has lost it.
        let (part, data, before) = (dir.join("part"), dir.join(FILE), dir.join("before"));
        fs::copy(&data, &part).unwrap();
        let held = (lock_synced(&part).unwrap(), PreviousState::open(&data).unwrap());
        let is_refused = || matches!(crate::Store::open(&dir), Err(Error::InUse(_)));
        assert!(is_refused() && matches!(restore(&dir, &part), Err(Error::InUse(_))));
        exchange(&part, &data, &before).unwrap();
        assert!(is_refused() && before.exists() && !part.exists());
        drop(held);
        drop(crate::Store::open(&dir).unwrap());
        // Also where there was none, and where another has made one meanwhile.
        fs::rename(&data, &part).unwrap();
        exchange(&part, &data, &before).unwrap();
        assert!(data.exists() && exchange(&dir.join("none"), &data, &before).is_err() && data.exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_backup_that_has_no_room_is_not_begun() {
        let file = std::env::temp_dir().join("hob-room.hob");
        let told = has_room(&file, 1 << 50).unwrap_err().to_string();
        assert!(told.contains("needs 1073741824 MB") && told.contains("delete something"), "{told}");
        assert!(has_room(&file, 1).is_ok());
    }
}
