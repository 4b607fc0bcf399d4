//! The folder of one scope: each skill a folder, with the versions it had. An installed version is complete on the disk before it takes the
//! place of the one before, in one step.

use crate::{
    manifest::is_slug,
    package::{MANIFEST, Package, read_file},
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

/// Changes whenever the files of a skill may have changed.
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
    pub fn scan(&self, most: usize) -> Vec<(String, Fingerprint)> {
        let Ok(entries) = fs::read_dir(&self.0) else { return vec![] };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_slug(name)).collect();
        names.sort();
        names.truncate(most);
        names.into_iter().filter_map(|name| self.fingerprint(&name).map(|print| (name, print))).collect()
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

    /// Reads the text of a skill's `SKILL.md`, and its facts.
    ///
    /// # Errors
    /// A sentence with the reason why it cannot be read.
    pub fn read(&self, slug: &str) -> Result<(String, Option<Facts>), String> {
        let folder = self.path(slug);
        let text = read_file(&folder.join(MANIFEST), crate::manifest::LONGEST)?;
        let text = String::from_utf8(text).map_err(|_| "SKILL.md is not UTF-8: save it in that encoding")?;
        Ok((text, facts_of(&folder)?))
    }

    /// All files of a skill.
    ///
    /// # Errors
    /// As [`SkillFolder::read`].
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

    /// Installs a version. The one before is stored with the earlier versions first.
    ///
    /// # Errors
    /// A sentence with the reason; the version before is still there then.
    pub fn install(&self, slug: &str, package: &Package, mut facts: Facts) -> Result<Facts, String> {
        let failed = io_text("write the skill");
        facts.version = self.versions(slug).last().copied().unwrap_or(0) + 1;
        let current = self.path(slug);
        let exists = fs::symlink_metadata(&current).is_ok();
        if exists {
            facts.version = facts.version.max(facts_of(&current).ok().flatten().map_or(1, |facts| facts.version) + 1);
            self.store_version(slug)?;
        }
        let staged = self.stage(slug, package, &facts)?;
        if exists {
            swap(&staged, &current).map_err(&failed)?;
        } else {
            fs::rename(&staged, &current).map_err(&failed)?;
        }
        sync(&self.0).map_err(&failed)?;
        let _ = fs::remove_dir_all(&staged);
        Ok(facts)
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

    /// Copies the current version to the earlier ones.
    fn store_version(&self, slug: &str) -> Result<(), String> {
        let failed = io_text("store the version before");
        // One that cannot be read, such as a broken one that somebody put there, is not worth storing.
        let Ok(package) = self.package(slug) else { return Ok(()) };
        let facts = facts_of(&self.path(slug))?.unwrap_or(Facts {
            version: self.versions(slug).last().copied().unwrap_or(0) + 1,
            outside: false,
            source: "folder".into(),
            at: 0,
        });
        let target = self.0.join(VERSIONS).join(slug).join(facts.version.to_string());
        if target.exists() {
            return Ok(());
        }
        let staged = self.stage(slug, &package, &facts)?;
        target.parent().map_or(Ok(()), create).map_err(&failed)?;
        fs::rename(&staged, &target).map_err(&failed)?;
        target.parent().map_or(Ok(()), sync).map_err(&failed)?;
        let all = self.versions(slug);
        for old in all.iter().rev().skip(KEPT) {
            let _ = fs::remove_dir_all(self.0.join(VERSIONS).join(slug).join(old.to_string()));
        }
        Ok(())
    }

    /// The numbers of the earlier versions, ascending.
    pub fn versions(&self, slug: &str) -> Vec<u32> {
        let entries = fs::read_dir(self.0.join(VERSIONS).join(slug)).into_iter().flatten().flatten();
        let mut all: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    /// An earlier version and its facts.
    ///
    /// # Errors
    /// A sentence when it is not stored.
    pub fn version(&self, slug: &str, version: u32) -> Result<(Package, Option<Facts>), String> {
        let folder = self.0.join(VERSIONS).join(slug).join(version.to_string());
        let facts = facts_of(&folder)?;
        Package::from_folder(&folder).map(|package| (package, facts)).map_err(|_| {
            let all: Vec<String> = self.versions(slug).iter().map(u32::to_string).collect();
            format!(
                "version {version} of `{slug}` is not stored: there are {}",
                if all.is_empty() { "none".into() } else { all.join(", ") }
            )
        })
    }

    /// Deletes a skill; its last version is stored with the earlier ones.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn remove(&self, slug: &str) -> Result<(), String> {
        let failed = io_text("delete the skill");
        self.store_version(slug)?;
        let staged = self.0.join(STAGING).join(slug);
        let _ = fs::remove_dir_all(&staged);
        staged.parent().map_or(Ok(()), create).map_err(&failed)?;
        fs::rename(self.path(slug), &staged).map_err(&failed)?;
        sync(&self.0).map_err(&failed)?;
        let _ = fs::remove_dir_all(&staged);
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
        let facts = facts_of(&folder)?;
        let none = Facts { version: 1, outside, source: "folder".into(), at: 0 };
        let facts =
            serde_json::to_vec(&Facts { outside, ..facts.unwrap_or(none) }).map_err(|error| error.to_string())?;
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

fn facts_of(folder: &Path) -> Result<Option<Facts>, String> {
    let path = folder.join(FACTS);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(None);
    }
    // Unreadable facts count as the cautious ones.
    let cautious = || Facts { version: 1, outside: true, source: "unknown".into(), at: 0 };
    let bytes = read_file(&path, 4096)?;
    Ok(Some(serde_json::from_slice(&bytes).unwrap_or_else(|_| cautious())))
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

/// Puts a folder in the place of another in one step, where the file system can.
fn swap(new: &Path, old: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    match renameat_with(here, new, here, old, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            // The version before is stored already; a power cut in between leaves it there.
            fs::remove_dir_all(old)?;
            fs::rename(new, old)
        }
        Err(error) => Err(error.into()),
    }
}
