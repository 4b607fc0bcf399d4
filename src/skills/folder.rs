//! The folder of one scope: each skill a folder, with the versions it had. An installed version is complete on the disk before it takes the
//! place of the one before, in one step.

use crate::{
    manifest::is_slug,
    package::{FILES, MANIFEST, Package, read_file},
};
use rustix::fs::{RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Earlier versions, and skills that are being written.
const VERSIONS: &str = ".versions";
const STAGING: &str = ".staging";
/// Facts about an installed version, in its folder. A skill that a person put there by hand has none.
const FACTS: &str = ".hob.json";
/// How many earlier versions of a skill are stored, and of how many deleted ones.
const KEPT: usize = 10;
/// The maximum size of a person's skills, and of the household's, their earlier versions included.
const MOST_BYTES: u64 = 64 << 20;
/// How many entries of a folder are compared; a skill with more has no copy.
const COMPARED: usize = 10 * FILES;

/// Facts about an installed version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Counts from 1.
    pub version: u32,
    /// Whether its text may be a stranger's, and nobody has vouched for it.
    pub outside: bool,
    /// Its origin: `upload`, `text`, `workspace`, `restore` or `folder`.
    pub source: String,
    /// When it was installed: milliseconds since 1970.
    pub at: u64,
}

/// Changes whenever the `SKILL.md` or the facts of a skill may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(u64, i64, i64, u64, i64, i64);

/// The skills of a person, or of the household.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SkillFolder(pub PathBuf);

fn io_text(doing: &str) -> impl Fn(io::Error) -> String {
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full: free some space and try again".into()
        }
        _ => format!("could not {doing} ({error})"),
    }
}

impl SkillFolder {
    fn path(&self, slug: &str) -> PathBuf {
        self.0.join(slug)
    }

    /// The names of the skills, sorted, and their fingerprints. Without the folder there are none.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn scan(&self, most: usize) -> io::Result<Vec<(String, Fingerprint)>> {
        let mut names = names_in(&self.0)?;
        names.retain(|name| is_slug(name));
        names.sort();
        let skills = names.into_iter().filter_map(|name| self.fingerprint(&name).map(|print| (name, print)));
        Ok(skills.take(most).collect())
    }

    /// Whether there is nothing of that name.
    pub fn is_gone(&self, slug: &str) -> bool {
        fs::symlink_metadata(self.path(slug)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Changes whenever any file of a skill may have changed.
    ///
    /// # Errors
    /// When a folder in it cannot be read.
    pub fn print(&self, slug: &str) -> io::Result<blake3::Hash> {
        fn add(folder: &Path, seen: &mut usize, hash: &mut blake3::Hasher) -> io::Result<()> {
            let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                *seen += 1;
                if *seen > COMPARED {
                    return Ok(());
                }
                let meta = entry.metadata()?;
                hash.update(entry.path().as_os_str().as_encoded_bytes()).update(&[0]);
                for number in [meta.size(), meta.ino(), stamp(&meta).cast_unsigned()] {
                    hash.update(&number.to_le_bytes());
                }
                if meta.is_dir() {
                    add(&entry.path(), seen, hash)?;
                }
            }
            Ok(())
        }
        let mut hash = blake3::Hasher::new();
        add(&self.path(slug), &mut 0, &mut hash)?;
        Ok(hash.finalize())
    }

    fn fingerprint(&self, slug: &str) -> Option<Fingerprint> {
        let folder = self.path(slug);
        let meta = fs::symlink_metadata(&folder).ok().filter(fs::Metadata::is_dir)?;
        let text = fs::symlink_metadata(folder.join(MANIFEST)).ok();
        let facts = fs::symlink_metadata(folder.join(FACTS)).ok();
        let of = |meta: &Option<fs::Metadata>| meta.as_ref().map_or((0, 0), |meta| (meta.size(), stamp(meta)));
        let ((size, changed), (_, facts)) = (of(&text), of(&facts));
        Some(Fingerprint(meta.ino(), stamp(&meta), changed, size, facts, text.map_or(0, |meta| meta.ino() as i64)))
    }

    /// Reads the text of a skill's `SKILL.md`.
    ///
    /// # Errors
    /// A sentence with the reason why it cannot be read.
    pub fn text(&self, slug: &str) -> Result<String, String> {
        let text = read_file(&self.path(slug).join(MANIFEST), crate::manifest::LONGEST)?;
        String::from_utf8(text).map_err(|_| "SKILL.md is not UTF-8: save it in that encoding".into())
    }

    /// Facts about the installed version; none for one that a person put there by hand.
    pub fn facts(&self, slug: &str) -> Option<Facts> {
        facts_of(&self.path(slug))
    }

    /// All files of a skill.
    ///
    /// # Errors
    /// As [`SkillFolder::text`].
    pub fn package(&self, slug: &str) -> Result<Package, String> {
        Package::from_folder(&self.path(slug))
    }

    /// The files of a skill by path, and their sizes.
    pub fn files(&self, slug: &str) -> BTreeMap<String, u64> {
        fn add(folder: &Path, prefix: &str, level: usize, found: &mut BTreeMap<String, u64>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let Ok(meta) = entry.metadata() else { continue };
                if name.starts_with('.') || found.len() >= crate::package::FILES || level > 6 {
                    continue;
                }
                let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                if meta.is_dir() {
                    add(&entry.path(), &path, level + 1, found);
                } else if meta.is_file() {
                    found.insert(path, meta.len());
                }
            }
        }
        let mut found = BTreeMap::new();
        add(&self.path(slug), "", 1, &mut found);
        found
    }

    /// One file of a skill. No part of its path is a link.
    ///
    /// # Errors
    /// A sentence with the reason why it cannot be read.
    pub fn file(&self, slug: &str, path: &str, room: usize) -> Result<Vec<u8>, String> {
        let path = crate::package::check_path(path)?;
        if !self.files(slug).contains_key(&path) {
            return Err(format!("the skill has no file `{path}`: its list names those that it has"));
        }
        read_file(&self.path(slug).join(path), room)
    }

    /// Installs a version. The one before becomes an earlier version, in the same step.
    ///
    /// # Errors
    /// A sentence with the reason; the version before is still there then.
    pub fn install(&self, slug: &str, package: &Package, mut facts: Facts) -> Result<Facts, String> {
        let failed = io_text("write the skill");
        self.make_room(package.files.values().map(|bytes| bytes.len() as u64).sum())?;
        let (current, last) = (self.path(slug), self.versions(slug).last().copied());
        let before = fs::symlink_metadata(&current).is_ok().then(|| self.number(slug));
        facts.version = before.max(last).unwrap_or(0).saturating_add(1);
        let staged = self.stage(slug, package, &facts)?;
        match before {
            Some(before) => {
                let earlier = self.make_version_path(slug, before).map_err(&failed)?;
                fs::rename(&staged, &earlier).map_err(&failed)?;
                if let Err(error) = swap(&earlier, &current, &staged) {
                    // Nothing but the new version may be there then.
                    if !self.is_gone(slug) {
                        let _ = fs::remove_dir_all(&earlier);
                    }
                    return Err(failed(error));
                }
                earlier.parent().map_or(Ok(()), sync).map_err(&failed)?;
            }
            None => fs::rename(&staged, &current).map_err(&failed)?,
        }
        sync(&self.0).map_err(&failed)?;
        self.forget_old(slug);
        Ok(facts)
    }

    /// Removes the oldest earlier versions, those of deleted skills first, until there is room for so many bytes more.
    fn make_room(&self, more: u64) -> Result<(), String> {
        let mut excess = (size_of(&self.0) + more).saturating_sub(MOST_BYTES);
        if excess == 0 {
            return Ok(());
        }
        let mut earlier = vec![];
        for slug in names_in(&self.0.join(VERSIONS)).map_err(io_text("make room for the skill"))? {
            for version in self.versions(&slug) {
                let path = self.version_path(&slug, version);
                let changed = fs::symlink_metadata(&path).map_or(0, |meta| stamp(&meta));
                earlier.push((!self.is_gone(&slug), changed, size_of(&path), path));
            }
        }
        if earlier.iter().map(|(.., size, _)| size).sum::<u64>() < excess {
            return Err(format!("skills have at most {} MB together: delete one first", MOST_BYTES >> 20));
        }
        earlier.sort_unstable();
        for (.., size, path) in earlier {
            if excess == 0 {
                break;
            }
            fs::remove_dir_all(path).map_err(io_text("make room for the skill"))?;
            excess = excess.saturating_sub(size);
        }
        Ok(())
    }

    /// Writes a version beside the skills, complete and on the disk.
    fn stage(&self, slug: &str, package: &Package, facts: &Facts) -> Result<PathBuf, String> {
        let failed = io_text("write the skill");
        let staged = self.0.join(STAGING).join(slug);
        let _ = fs::remove_dir_all(&staged);
        create(&staged).map_err(&failed)?;
        for (path, bytes) in &package.files {
            let target = staged.join(path);
            if let Some(parent) = target.parent() {
                create(parent).map_err(&failed)?;
            }
            write(&target, bytes).map_err(&failed)?;
        }
        let facts = serde_json::to_vec(facts).map_err(|error| error.to_string())?;
        write(&staged.join(FACTS), &facts).map_err(&failed)?;
        sync_all(&staged).map_err(&failed)?;
        Ok(staged)
    }

    fn version_path(&self, slug: &str, version: u32) -> PathBuf {
        self.0.join(VERSIONS).join(slug).join(version.to_string())
    }

    /// The place of an earlier version, with the folders above it.
    fn make_version_path(&self, slug: &str, version: u32) -> io::Result<PathBuf> {
        let path = self.version_path(slug, version);
        path.parent().map_or(Ok(()), create)?;
        Ok(path)
    }

    /// The number of the version that is there: of its facts, or the next that no earlier version has.
    pub fn number(&self, slug: &str) -> u32 {
        let earlier = self.versions(slug);
        let own = self.facts(slug).map(|facts| facts.version).filter(|own| !earlier.contains(own));
        own.unwrap_or_else(|| earlier.last().copied().unwrap_or(0).saturating_add(1))
    }

    fn forget_old(&self, slug: &str) {
        for old in self.versions(slug).into_iter().rev().skip(KEPT) {
            let _ = fs::remove_dir_all(self.version_path(slug, old));
        }
    }

    /// The numbers of the earlier versions, ascending.
    pub fn versions(&self, slug: &str) -> Vec<u32> {
        let entries = fs::read_dir(self.0.join(VERSIONS).join(slug)).into_iter().flatten().flatten();
        let mut all: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    /// An earlier version and its facts; one that was put there by hand has none.
    ///
    /// # Errors
    /// A sentence when it is not stored, or cannot be read.
    pub fn version(&self, slug: &str, version: u32) -> Result<(Package, Option<Facts>), String> {
        let folder = self.version_path(slug, version);
        if !fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) {
            let all: Vec<String> = self.versions(slug).iter().map(u32::to_string).collect();
            let all = if all.is_empty() { "none".into() } else { all.join(", ") };
            return Err(format!("version {version} of `{slug}` is not stored: there are {all}"));
        }
        let package = Package::from_folder(&folder);
        let package =
            package.map_err(|why| format!("version {version} of `{slug}` cannot be installed again: {why}"))?;
        Ok((package, facts_of(&folder)))
    }

    /// Deletes a skill; its last version becomes an earlier one.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn remove(&self, slug: &str) -> Result<(), String> {
        let failed = io_text("delete the skill");
        let earlier = self.make_version_path(slug, self.number(slug)).map_err(&failed)?;
        fs::rename(self.path(slug), &earlier).map_err(&failed)?;
        earlier.parent().map_or(Ok(()), sync).map_err(&failed)?;
        sync(&self.0).map_err(&failed)?;
        self.forget_old(slug);
        self.forget_deleted();
        Ok(())
    }

    /// Removes the versions of the skills that were deleted longest ago, beyond the limit.
    fn forget_deleted(&self) {
        let entries = fs::read_dir(self.0.join(VERSIONS)).into_iter().flatten().flatten();
        let deleted = entries.filter(|entry| !self.0.join(entry.file_name()).exists());
        let mut deleted: Vec<(i64, PathBuf)> =
            deleted.filter_map(|entry| Some((stamp(&entry.metadata().ok()?), entry.path()))).collect();
        deleted.sort_unstable_by(|a, b| b.cmp(a));
        for (_, path) in deleted.into_iter().skip(KEPT) {
            let _ = fs::remove_dir_all(path);
        }
    }

    /// Somebody vouches for a skill, or no longer does.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn set_outside(&self, slug: &str, outside: bool) -> Result<(), String> {
        let failed = io_text("write the skill");
        let folder = self.path(slug);
        let none = || Facts { version: self.number(slug), outside, source: "folder".into(), at: 0 };
        let facts = Facts { outside, ..self.facts(slug).unwrap_or_else(none) };
        let facts = serde_json::to_vec(&facts).map_err(|error| error.to_string())?;
        let new = folder.join(format!("{FACTS}.new"));
        write(&new, &facts).map_err(&failed)?;
        fs::rename(&new, folder.join(FACTS)).map_err(&failed)?;
        sync(&folder).map_err(&failed)
    }

    /// Removes what an interrupted write left.
    pub fn tidy(&self) {
        let _ = fs::remove_dir_all(self.0.join(STAGING));
    }
}

/// Unreadable facts count as the cautious ones.
fn facts_of(folder: &Path) -> Option<Facts> {
    let path = folder.join(FACTS);
    if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return None;
    }
    let read = read_file(&path, 4096).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Some(read.unwrap_or_else(|| Facts { version: 1, outside: true, source: "unknown".into(), at: 0 }))
}

/// The names in a folder; without the folder there are none.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(io::Result::transpose).collect()
}

/// The bytes of the files in a folder. What cannot be read counts nothing.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn stamp(meta: &fs::Metadata) -> i64 {
    meta.ctime().wrapping_mul(1_000_000_000).wrapping_add(meta.ctime_nsec())
}

fn create(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Syncs a folder and those in it.
fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        }
    }
    sync(folder)
}

/// Exchanges two folders in one step, where the file system can; elsewhere by way of `aside`.
fn swap(new: &Path, old: &Path, aside: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    match renameat_with(here, new, here, old, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            // After a power cut in between, the version before can be restored.
            fs::rename(new, aside)?;
            fs::rename(old, new)?;
            fs::rename(aside, old).inspect_err(|_| drop(fs::rename(new, old)))
        }
        Err(error) => Err(error.into()),
    }
}
