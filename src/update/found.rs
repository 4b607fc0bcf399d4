//! Bundles that are on the device: on a stick, or on the boot partition. They are verified as any other, and offered.

use crate::{
    builder::read_head,
    error::{Error, Result},
    fetch::take_file,
    install::Updater,
    upload::Plan,
};
use semver::Version;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The end of the name of a bundle.
const ENDING: &str = "hobupdate";
/// The most entries of a folder that are looked at, and the most bundles that are read.
const MAX_ENTRIES: usize = 1_000;
const MAX_BUNDLES: usize = 20;

/// A file, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was changed: Unix seconds and nanoseconds, and its number. Sticks count in steps of two seconds.
    changed: (i64, i64, u64),
}

/// A bundle that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBundle {
    /// The file.
    pub file: BundleFile,
    /// Its content, or why it cannot be installed.
    pub content: Result<Content, String>,
}

/// A bundle that this device can install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The id of an upload of it.
    pub id: String,
    /// The version.
    pub version: Version,
    /// Its serial.
    pub serial: u64,
    /// Its release notes.
    pub notes: String,
    /// Whether it is newer than the version that runs.
    pub is_newer: bool,
}

/// The files in these folders, and in the folders in them, whose names are those of bundles. Links are not followed. What is
/// missing or cannot be read is passed over: a stick comes and goes.
pub fn look(folders: &[PathBuf]) -> Vec<BundleFile> {
    let mut all = vec![];
    for folder in folders {
        let inside = entries(folder);
        all.extend(inside.iter().filter_map(|path| bundle(path)));
        let is_folder = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        inside
            .iter()
            .filter(is_folder)
            .for_each(|path| all.extend(entries(path).iter().filter_map(|path| bundle(path))));
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.truncate(MAX_BUNDLES);
    all
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(MAX_ENTRIES).map(|entry| entry.path()).collect()
}

fn bundle(path: &Path) -> Option<BundleFile> {
    // A Mac leaves files whose names begin with a dot beside each that it copies.
    let is_hidden = path.file_name()?.as_encoded_bytes().starts_with(b".");
    let is_named = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING));
    let about = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    (is_named && !is_hidden).then(|| BundleFile {
        path: path.to_owned(),
        bytes: about.len(),
        changed: (about.mtime(), about.mtime_nsec(), about.ino()),
    })
}

/// Reads and verifies the heads of files. Blocks on the disk.
///
/// # Errors
/// `Disk`, when the state of the device cannot be read.
pub fn read(updater: &Updater, files: Vec<BundleFile>) -> Result<Vec<FoundBundle>> {
    let (serial, version) = (updater.newest_serial()?, updater.newest_version()?);
    let of = |file: BundleFile| {
        let content = verified(updater, &file, serial, &version).map_err(|why| why.to_string());
        FoundBundle { file, content }
    };
    Ok(files.into_iter().map(of).collect())
}

fn verified(updater: &Updater, file: &BundleFile, newest: u64, running: &Version) -> Result<Content> {
    let head = updater.verify(&read_head(&file.path)?)?;
    let manifest = head.manifest;
    if manifest.bundle_length != file.bytes {
        return Err(Error::refused("the bundle is cut off, or bytes were added to it: copy it again"));
    }
    let (version, serial, notes) = (manifest.version, manifest.serial, manifest.notes);
    let is_newer = serial > newest && version > *running;
    Ok(Content { id: head.id, version, serial, notes, is_newer })
}

/// Takes a bundle that was found up to the point where it can be staged. Blocks on the disk.
///
/// # Errors
/// `Refused` when the file is another one by now; those of [`take_file`].
pub fn take(updater: &Updater, file: &Path, id: &str) -> Result<Plan> {
    if crate::bundle::head_id(&read_head(file)?) != id {
        return Err(Error::Refused(format!("{} was exchanged meanwhile: look again", file.display())));
    }
    let plan = take_file(updater, file)?;
    match plan.id == id {
        true => Ok(plan),
        false => Err(Error::Refused(format!("{} was exchanged meanwhile: look again", file.display()))),
    }
}
