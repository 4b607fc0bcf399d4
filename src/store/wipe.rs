//! A factory reset: everything in a data folder is removed.

use crate::{Error, FILE, Result, folder::KEY};
use std::{fs, io, path::Path};

/// Something in a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name in the folder.
    pub name: String,
    /// Its size in bytes; of a folder, that of the files in it.
    pub size: u64,
}

/// Everything that [`wipe`] would remove: everything but `keep`, which are names in the folder.
///
/// # Errors
/// `Io` when the folder cannot be read.
pub fn wipeable(dir: &Path, keep: &[impl AsRef<str>]) -> Result<Vec<FolderEntry>> {
    let look = || -> io::Result<Vec<FolderEntry>> {
        let mut found = vec![];
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !keep.iter().any(|kept| kept.as_ref() == name) {
                found.push(FolderEntry { name, size: size_of(&entry.path()) });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    };
    match look() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        found => found.map_err(|e| Error::io(format!("read the folder {}", dir.display()), &e)),
    }
}

/// The size of a file, or of the files in a folder; links are not followed.
fn size_of(path: &Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_of(&entry.path())).sum()
}

/// Removes everything in a data folder but `keep`. The device key goes first: without it no stored secret can be read. After an
/// error or a power cut, calling it again removes the rest.
///
/// # Errors
/// `InUse` while a daemon runs; nothing is changed then. `Io` when something cannot be removed.
pub fn wipe(dir: &Path, keep: &[impl AsRef<str>]) -> Result<Vec<FolderEntry>> {
    let found = wipeable(dir, keep)?;
    // Held until the end: no other process begins to use the data.
    let _locked = lock(&dir.join(FILE))?;
    let mut order: Vec<&FolderEntry> = found.iter().collect();
    order.sort_by_key(|entry| entry.name != KEY);
    for entry in order {
        let path = dir.join(&entry.name);
        remove(&path).map_err(|e| Error::io(format!("remove {}", path.display()), &e))?;
    }
    let synced = fs::File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|e| Error::io(format!("sync {}", dir.display()), &e))?;
    Ok(found)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes a folder of any depth: a folder within it is first moved up, so that paths stay short.
pub(crate) fn remove_tree(top: &Path) -> io::Result<()> {
    loop {
        let mut was_empty = true;
        for entry in fs::read_dir(top)? {
            let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            was_empty = false;
            if !entry?.is_dir() {
                fs::remove_file(&path)?;
                continue;
            }
            for below in fs::read_dir(&path)? {
                let below = below?;
                if below.file_type()?.is_dir() {
                    fs::rename(below.path(), top.join(format!(".removing-{}", tool::Id::new())))?;
                } else {
                    fs::remove_file(below.path())?;
                }
            }
            fs::remove_dir(&path)?;
        }
        if was_empty {
            return fs::remove_dir(top);
        }
    }
}

/// Locks the data file, whatever is in it.
fn lock(data: &Path) -> Result<Option<fs::File>> {
    let Ok(file) = crate::open_plain(data) else { return Ok(None) };
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(Error::InUse(data.display().to_string())),
        _ => Ok(Some(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    const NONE: &[&str] = &[];

    #[test]
    fn everything_but_what_is_kept_is_removed_once_nobody_uses_it() {
        let dir = std::env::temp_dir().join(format!("hob-wipe-{}", tool::Id::new()));
        let store = Store::open(&dir).unwrap();
        fs::create_dir_all(dir.join("slots/a")).unwrap();
        fs::write(dir.join("slots/a/hob"), "binary").unwrap();
        fs::write(dir.join("hob.toml"), "name = \"x\"").unwrap();
        fs::create_dir_all(dir.join("uploads/deep")).unwrap();
        fs::write(dir.join("uploads/deep/file"), [7; 10]).unwrap();
        let mut deep = rustix::fs::open(&dir, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..1_500 {
            rustix::fs::mkdirat(&deep, "levels", rustix::fs::Mode::RWXU).unwrap();
            deep = rustix::fs::openat(&deep, "levels", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        }
        std::os::unix::fs::symlink(dir.join("slots"), dir.join("link")).unwrap();
        let before = wipeable(&dir, NONE).unwrap();
        assert!(matches!(wipe(&dir, &["slots"]), Err(Error::InUse(_))));
        assert_eq!(wipeable(&dir, NONE).unwrap(), before, "nothing is removed under a running daemon");
        drop(store);
        let removed = wipe(&dir, &["slots"]).unwrap();
        let names: Vec<&str> = removed.iter().map(|entry| entry.name.as_str()).collect();
        for name in ["hob.redb", "hob.toml", "link", KEY, "uploads"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert_eq!(removed.iter().find(|entry| entry.name == "uploads").unwrap().size, 10);
        let left = wipeable(&dir, NONE).unwrap();
        assert_eq!(left, [FolderEntry { name: "slots".into(), size: 6 }]);
        assert!(wipe(&dir, &["slots"]).unwrap().is_empty(), "twice is once");
        // A damaged file does not prevent it, and the folder is as good as new.
        fs::write(dir.join(FILE), "no database").unwrap();
        assert_eq!(wipe(&dir, &["slots"]).unwrap().len(), 1);
        drop(Store::open(&dir).unwrap());
        fs::remove_dir_all(dir).unwrap();
    }
}
