//! Restore of a backup: the new data is made beside the old, then both exchange their names. The files of the workspace follow the data
//! ([`NewWorkspace`]).

use crate::{
    Error, FILE, FILES, FORMAT, Result,
    backup::{builder, copy_table},
    engine::Engine,
    files, folder,
    medium::{LOG, remove_log},
    meta::{self, read_meta},
    new_workspace::{NewWorkspace, WORKSPACE_PART, put_workspace_in_place},
    open,
    quietly::quietly,
    sealed_backup,
    secrets::{self, DeviceKey},
    set_aside::{PreviousData, free_number, names, numbers, remove_oldest},
    snapshot::Snapshot,
    snapshot::Table,
    tree,
};
use redb::Database;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{fs, io, os::unix::fs::MetadataExt, path::Path};
use tool::Id;

/// The new data of a restore, and its files, before they take effect.
const PART: &str = "hob.redb.part";
const FILES_PART: &str = "uploads.part";

/// Restores a backup that needs no passphrase; see [`restore_with`].
///
/// # Errors
/// As that, and `NoPassphrase` when the backup is encrypted.
pub fn restore(dir: &Path, file: &Path) -> Result<PreviousData> {
    restore_with(dir, file, None)
}

/// Replaces the data in `dir` with the backup `file`, and adds its uploaded files to those in `dir`. Where it has files of the workspace,
/// they replace those in `dir`; others stay. Secrets of this device are preserved, unless the backup has them: then it is encrypted with a
/// passphrase. The previous data remains as `hob.redb.before-restore`, `uploads.before-restore` and `workspace.before-restore`.
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
    // A damaged row of the old data must not stop a restore.
    if let Err(error) = old.read(&mut |tx| put_workspace_in_place(dir, tx)) {
        tracing::error!("{error}");
    }
    remove_cut_off(dir);
    let number = free_number(dir);
    let (part, mut before, folder, files_aside) =
        (dir.join(PART), names(dir, number), dir.join(FILES), dir.join(FILES_PART));
    let workspace = NewWorkspace::of(dir, Id::new(), number);
    let prepare = || -> Result<fs::File> {
        let known = DeviceKey::load(&key_file)?;
        let key = known.as_ref().map_or_else(DeviceKey::random, |key| Ok(DeviceKey::from_bytes(*key.bytes())))?;
        check_and_copy((file, passphrase, &key), &part, (&folder, &files_aside, &workspace), &old)?;
        let new = lock_synced(&part)?;
        workspace.get_ready(dir)?;
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
        workspace.remove();
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
    let (placed, tidied) = (workspace.put_in_place(dir), tidy(dir));
    before.problem = placed.and(tidied).err().map(|e| e.to_string());
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
    let _ = fs::remove_dir_all(dir.join(WORKSPACE_PART));
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

fn check_and_copy(
    (file, passphrase, key): (&Path, Option<&str>, &DeviceKey),
    part: &Path,
    (folder, files_aside, workspace): (&Path, &Path, &NewWorkspace),
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
    let has_workspace = tree::unpack(&db, &workspace.part)?;
    if has_workspace {
        tree::remove(&db)?;
        workspace.name_in(&db)?;
    }
    let has_files = files::unpack(&db, files_aside)?;
    if has_workspace || has_files {
        // Frees the space of the files: otherwise the data file stays that large.
        db.compact().map_err(|e| Error::Io(format!("could not make the data small again: {e}")))?;
    }
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
    use crate::{WORKSPACE, new_workspace::READY};
    use std::{collections::BTreeSet, path::PathBuf};

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
            let half = names(&dir, free_number(&dir));
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

    /// A data folder with this word in a file of the workspace.
    fn with_workspace(word: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("hob-tree-{}", tool::Id::new()));
        drop(crate::Store::open(&dir).unwrap());
        fs::create_dir_all(dir.join(WORKSPACE).join("household/deep")).unwrap();
        fs::write(dir.join(WORKSPACE).join("household/deep/word.txt"), word).unwrap();
        dir
    }

    fn word(dir: &Path) -> String {
        fs::read_to_string(dir.join("household/deep/word.txt")).unwrap_or_default()
    }

    async fn backup_of(dir: &Path, options: crate::BackupOptions) -> (PathBuf, crate::BackedUp) {
        let file = dir.join(format!("backup-{}", tool::Id::new()));
        let store = crate::Store::open(dir).unwrap();
        let made = store.backup_with(file.clone(), options).await.unwrap();
        (file, made)
    }

    #[tokio::test]
    async fn the_files_of_the_workspace_are_replaced_with_the_data_or_not_at_all() {
        let dir = with_workspace("backup");
        std::os::unix::fs::symlink("/etc", dir.join(WORKSPACE).join("link")).unwrap();
        let (file, made) = backup_of(&dir, crate::BackupOptions::default()).await;
        assert_eq!((made.workspace.files, made.workspace.bytes, made.workspace.skipped), (1, 6, 1));
        let (without, made) =
            backup_of(&dir, crate::BackupOptions { without_workspace: true, ..Default::default() }).await;
        assert_eq!(made.workspace, tree::TreeSize::default());
        fs::write(dir.join(WORKSPACE).join("household/deep/word.txt"), "now").unwrap();
        fs::write(dir.join(WORKSPACE).join("later.txt"), "later").unwrap();
        // One without them leaves them alone.
        let before = restore(&dir, &without).unwrap();
        assert!(word(&dir.join(WORKSPACE)) == "now" && !before.workspace.exists());
        let before = restore(&dir, &file).unwrap();
        assert_eq!(
            (before.problem, word(&dir.join(WORKSPACE)), word(&before.workspace)),
            (None, "backup".into(), "now".into())
        );
        assert!(!dir.join(WORKSPACE).join("later.txt").exists() && before.workspace.join("later.txt").exists());
        assert!(dir.join(WORKSPACE).join("link").symlink_metadata().is_err());
        // The data is small again, and a backup of it has them.
        let (again, made) = backup_of(&dir, crate::BackupOptions::sealed("correct horse".into())).await;
        assert_eq!((made.workspace.files, made.workspace.skipped), (1, 0));
        let other = std::env::temp_dir().join(format!("hob-tree-{}", tool::Id::new()));
        restore_with(&other, &again, Some("correct horse")).unwrap();
        assert_eq!(word(&other.join(WORKSPACE)), "backup");
        fs::remove_dir_all(other).unwrap();
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn a_restore_that_is_cut_off_is_finished_or_forgotten() {
        // After each step of a restore: what is in the folder, and which words are there after the next start.
        let dir = with_workspace("backup");
        let (file, _) = backup_of(&dir, crate::BackupOptions::default()).await;
        let ready = |dir: &Path| {
            let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
            names.filter(|path| path.to_string_lossy().contains(READY)).collect::<Vec<_>>()
        };
        fs::write(dir.join(WORKSPACE).join("household/deep/word.txt"), "now").unwrap();
        // Before the data takes effect.
        for name in [WORKSPACE_PART.to_owned(), format!("{READY}{}", tool::Id::new())] {
            fs::create_dir_all(dir.join(&name).join("household")).unwrap();
            drop(crate::Store::open(&dir).unwrap());
            assert!(word(&dir.join(WORKSPACE)) == "now" && !dir.join(name).exists());
        }
        // Afterwards: as if the files had not been moved, the old ones had been, and all had been done.
        let before = restore(&dir, &file).unwrap();
        let id = {
            let engine = Engine::open(dir.join(FILE)).unwrap();
            engine.read(|tx| NewWorkspace::named(&dir, tx)).unwrap().unwrap().id
        };
        let named = dir.join(format!("{READY}{id}"));
        for is_old_moved in [false, true] {
            fs::rename(dir.join(WORKSPACE), &named).unwrap();
            if !is_old_moved {
                fs::rename(&before.workspace, dir.join(WORKSPACE)).unwrap();
            }
            drop(crate::Store::open(&dir).unwrap());
            assert_eq!((word(&dir.join(WORKSPACE)), word(&before.workspace)), ("backup".into(), "now".into()));
            assert!(ready(&dir).is_empty());
        }
        drop(crate::Store::open(&dir).unwrap());
        assert_eq!(word(&dir.join(WORKSPACE)), "backup");
        // The next restore finishes it as well.
        fs::rename(dir.join(WORKSPACE), &named).unwrap();
        assert_eq!(word(&restore(&dir, &file).unwrap().workspace), "backup");
        fs::remove_dir_all(dir).unwrap();
    }
}
