//! The data folder: private to its owner, and created in an order in which a power cut never looks like damage.
//!
//! The first start writes the data file under a temporary name and renames it; the device key follows. So a
//! key, an uploaded file or replaced data without a data file, or with an empty one, means damage.

use crate::{
    Error, FILE, FILES, Result,
    medium::{LOG, NEW_LOG, is_read_only},
    meta,
    open::CACHE_BYTES,
};
use redb::Database;
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};
use tool::Id;

/// The file of the device key.
pub(crate) const KEY: &str = "device.key";
/// The prefix of a data file's temporary name.
const NEW: &str = "hob.redb.new-";
/// Files that only a Hob data folder has.
const OWN: [&str; 5] = [FILE, LOG, KEY, "hob.toml", "hob.sock"];
/// Prefixes of the other names in it.
const ALSO: [&str; 9] = [
    "hob.redb.",
    "hob.wal.",
    FILES,
    crate::WORKSPACE,
    "crash",
    "claim-code",
    "backup-",
    "device.new",
    crate::MEMORY_INDEX,
];

/// Opens a regular file for reading. A pipe, a device or a folder is an error; it does not block.
///
/// # Errors
/// `InvalidInput` when it is not a regular file; the error of opening it.
pub fn open_plain(path: &Path) -> io::Result<fs::File> {
    let plain = |about: fs::Metadata| match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")),
    };
    plain(fs::metadata(path)?)?;
    let file = fs::OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    plain(file.metadata()?)?;
    Ok(file)
}

/// Gives the owner back the rights to a folder or plain file that a program took: all of them to a folder, reading and writing to a file.
/// Where it belongs to somebody else, nothing is changed. Returns whether it was changed.
pub fn regain(it: impl AsFd, about: &Stat) -> bool {
    let wanted = match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => Mode::RWXU,
        FileType::RegularFile => Mode::RUSR | Mode::WUSR,
        _ => return false,
    };
    let mode = Mode::from_raw_mode(about.st_mode);
    if mode.contains(wanted) || about.st_uid != rustix::process::geteuid().as_raw() {
        return false;
    }
    // By handle, also one that may do nothing but name it: a link in its place is not followed.
    let done = rustix::fs::chmod(format!("/proc/self/fd/{}", it.as_fd().as_raw_fd()), mode | wanted);
    match done {
        Ok(()) => tracing::info!(
            mode = format!("{:o}", mode.bits()),
            "Hob took back the rights to a file or folder of its own"
        ),
        Err(error) => tracing::warn!(%error, "Hob could not take back the rights to a file or folder of its own"),
    }
    done.is_ok()
}

/// A folder only its owner may enter.
pub(crate) fn make_private_dir(dir: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| Error::io(format!("make the data folder {}", dir.display()), &e))
}

/// Creates the data folder. Closes an existing one that is open to other users, with its content.
pub(crate) fn prepare(dir: &Path) -> Result<()> {
    if is_read_only(dir) {
        return Err(Error::Io(format!(
            "the data folder {} is on a read-only file system: make that writable, or copy the folder elsewhere and name the copy with --data DIR; `hob doctor` examines it as it is",
            dir.display()
        )));
    }
    make_private_dir(dir)?;
    let shown = dir.display();
    let failed = |e: io::Error| Error::io(format!("look at the data folder {shown}"), &e);
    let about = fs::metadata(dir).map_err(failed)?;
    if about.mode() & 0o077 != 0 {
        let uid = rustix::process::geteuid().as_raw();
        let open = format!("the data folder {shown} is open to other users (mode {:o})", about.mode() & 0o7777);
        if about.uid() != uid {
            let text = format!("{open} and belongs to another user (uid {})", about.uid());
            return Err(Error::Io(format!("{text}: give it to uid {uid}, or choose another with --data DIR")));
        }
        if about.mode() & 0o1000 != 0 || !is_ours(dir).map_err(failed)? {
            let text = format!("{open} and holds other things than Hob's");
            return Err(Error::Io(format!(
                "{text}: choose an empty folder with --data DIR, or close this one with `chmod 700 {shown}`"
            )));
        }
        tracing::warn!("{open}: it is closed to them now");
    }
    close_to_others(dir, &about).map_err(|e| Error::io(format!("close the data folder {shown} to other users"), &e))
}

/// Whether a folder is empty, or a data folder.
fn is_ours(dir: &Path) -> io::Result<bool> {
    let mut all = true;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if OWN.contains(&&*name) {
            return Ok(true);
        }
        all &= ALSO.iter().any(|start| name.starts_with(start));
    }
    Ok(all)
}

/// Removes other users' rights from a folder, its files and the folders in it. Links are not
/// followed. The device key is checked when it is read: a key that others could read is no longer secret.
fn close_to_others(dir: &Path, about: &fs::Metadata) -> io::Result<()> {
    let close = |path: &Path, about: &fs::Metadata| match about.mode() & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(path, fs::Permissions::from_mode(about.mode() & 0o700)),
    };
    close(dir, about)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let about = match path.symlink_metadata() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            about => about?,
        };
        if about.mode() & 0o077 == 0 || name == KEY {
            continue;
        }
        let closed = match about.file_type() {
            kind if kind.is_dir() => close_to_others(&path, &about),
            kind if kind.is_file() => close(&path, &about),
            _ => Ok(()),
        };
        // It belongs to another user; no third user can reach it now.
        if let Err(error) = closed {
            tracing::warn!(%error, file = %path.display(), "it is open to other users and could not be closed");
        }
    }
    Ok(())
}

/// Creates the data file in a new folder; in a used folder a missing or empty file is damage.
pub(crate) fn begin(dir: &Path) -> Result<()> {
    let path = dir.join(FILE);
    let shown = path.display();
    let lost = |what: &str| {
        let anew = format!("to start anew without what was stored, move the folder {} away", dir.display());
        Err(Error::Damaged(format!(
            "{shown} {what}, although a Hob has lived here: restore a backup with `hob restore FILE`, or put the file back; {anew}. Nothing was changed"
        )))
    };
    match (fs::metadata(&path), path.symlink_metadata()) {
        (Ok(about), _) if !about.is_file() => Err(Error::Io(format!("{shown} is not a plain file: move it away"))),
        (Ok(about), _) if about.len() == 0 => lost("is empty"),
        (Ok(_), _) => Ok(()),
        (Err(e), _) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(format!("look at {shown}"), &e)),
        (Err(_), Ok(_)) => lost("leads to a file that is not there"),
        (Err(_), Err(_)) if has_traces(dir)? => lost("is missing"),
        (Err(_), Err(_)) => make(dir, &path),
    }
}

/// Whether a folder was used before: it has a key, a log, uploads, or replaced data.
fn has_traces(dir: &Path) -> Result<bool> {
    let look = || -> io::Result<bool> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let files = name == FILES && fs::read_dir(entry.path()).is_ok_and(|mut files| files.next().is_some());
            if name == KEY || name == LOG || files || name.contains(".before-restore") {
                return Ok(true);
            }
        }
        Ok(false)
    };
    look().map_err(|e| Error::io(format!("look into {}", dir.display()), &e))
}

/// The temporary name of a new data file. Files of such names are removed at the next start.
pub(crate) fn new_data_file(path: &Path) -> PathBuf {
    path.with_file_name(format!("{NEW}{}", Id::new()))
}

/// Creates a data file atomically.
fn make(dir: &Path, path: &Path) -> Result<()> {
    let part = new_data_file(path);
    let failed = |e: io::Error| Error::io(format!("make {}", path.display()), &e);
    let made = || -> Result<()> {
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&part).map_err(failed)?;
        let opened = Database::builder().set_cache_size(CACHE_BYTES).create_file(file);
        let db = opened.map_err(|e| match e {
            redb::DatabaseError::Storage(e) => e.into(),
            other => Error::Io(format!("could not make {}: {other}", path.display())),
        })?;
        meta::found(&db)?;
        drop(db);
        let put = || -> io::Result<()> {
            fs::File::open(&part)?.sync_all()?;
            match rustix::fs::renameat_with(CWD, &part, CWD, path, RenameFlags::NOREPLACE) {
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !path.exists() => fs::rename(&part, path)?,
                renamed => renamed?,
            }
            fs::File::open(dir)?.sync_all()
        };
        put().map_err(failed)
    };
    let made = made();
    if made.is_err() {
        let _ = fs::remove_file(&part);
        // Another process created it first; the file lock decides which of the two continues.
        if path.exists() {
            return Ok(());
        }
    }
    made
}

/// Removes temporary files that a power cut left while the data file or its log was made; the caller holds the data file.
pub(crate) fn remove_half_made(dir: &Path) {
    let half = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.starts_with(NEW) || name == NEW_LOG) && path.symlink_metadata().is_ok_and(|m| m.is_file())
    };
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|f| f.path());
    files.filter(half).for_each(|path| drop(fs::remove_file(path)));
}
