//! Walking over a tree of folders by handle: iterative, bounded, and never through a link.

use crate::{
    Located, Workspaces,
    entry::{Entry, file_type},
    marks::FolderMarks,
    path::{RelPath, disk_name, text_of},
    resolve::{Guard, Resolved, error, has_files, open_folder_in, readable},
};
use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, statat};
use std::{ffi::CString, fs::File, os::fd::OwnedFd, sync::Arc};
use tool::{Cx, Label, Result, UserId};

/// Bounds of a walk.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The most levels below the folder.
    pub depth: usize,
    /// The most names that are looked at.
    pub most: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { depth: 128, most: 500_000 }
    }
}

/// Something a walk came by.
#[derive(Debug)]
pub struct Walked {
    /// Its path from the folder on where the walk began.
    pub path: RelPath,
    /// What it is.
    pub entry: Entry,
    /// The origin of its content. Does not taint the run until the caller passes it on.
    pub label: Label,
    folder: Arc<OwnedFd>,
    name: CString,
    stat: Stat,
}

impl Walked {
    /// Opens it as a plain file, by the handle of its folder.
    ///
    /// # Errors
    /// As [`Workspaces::open_file`].
    pub fn open(&self) -> Result<File> {
        let found = Resolved {
            folder: crate::resolve::again(&*self.folder).map_err(|e| error(e, &self.entry.path))?,
            name: self.name.clone(),
            stat: Some(self.stat),
            path: self.path.clone(),
        };
        found.open_file(&self.entry.path)
    }
}

/// A walk over a tree; an iterator that blocks on the disk. Folders come before what is in them, each folder's names in order.
pub struct Walker {
    reader: UserId,
    located: Located,
    guard: Guard,
    marks: FolderMarks,
    options: WalkOptions,
    /// Folders that are open on the way down: each with the names that are left in it, the next last.
    open: Vec<Level>,
    seen: usize,
    /// The folder that came last, to be entered next.
    enter: Option<RelPath>,
    truncated: bool,
}

struct Level {
    folder: Arc<OwnedFd>,
    path: RelPath,
    names: Vec<CString>,
    device: u64,
}

/// How many names of one folder are held at once.
const NAMES: usize = 50_000;

impl Workspaces {
    /// Walks over what is in a folder. Blocks on the disk.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where it is no folder.
    pub fn walk(&self, cx: &Cx, located: &Located, options: WalkOptions) -> Result<Walker> {
        let root = self.0.root(&located.place)?;
        let resolved = root.resolve(&located.path, true)?;
        let folder = resolved.open_folder(&located.display())?;
        let at = Located { path: resolved.path, ..located.clone() };
        let mut walker = Walker {
            reader: cx.user(),
            marks: self.0.folder_marks(cx, &at.place, &at.path)?,
            guard: root.guard.clone(),
            options,
            open: vec![],
            seen: 0,
            enter: None,
            truncated: false,
            located: at,
        };
        walker.push(Arc::new(folder), RelPath::default())?;
        Ok(walker)
    }
}

impl Walker {
    /// Whether its bounds left something out.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Leaves out what is in the folder that came last.
    pub fn skip_folder(&mut self) {
        self.enter = None;
    }

    fn push(&mut self, folder: Arc<OwnedFd>, path: RelPath) -> Result<()> {
        let shown = &self.located.path.text();
        let device = fstat(&*folder).map_err(|e| error(e, shown))?.st_dev;
        let open = readable(&*folder).map_err(|e| error(e, shown))?;
        let mut names = vec![];
        for entry in Dir::new(open).map_err(|e| error(e, shown))? {
            let Ok(entry) = entry else { break };
            if names.len() >= NAMES {
                self.truncated = true;
                break;
            }
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        self.open.push(Level { folder, path, names, device });
        Ok(())
    }

    /// Enters the folder that came last, if it is still one and of people's files.
    fn enter(&mut self) {
        let Some(path) = self.enter.take() else { return };
        let (Some(level), Some(name)) = (self.open.last(), path.name()) else { return };
        if path.names().len() >= self.options.depth {
            self.truncated = true;
            return;
        }
        let Ok(name) = disk_name(name) else { return };
        let Ok(folder) = open_folder_in(&*level.folder, &name) else { return };
        let Ok(stat) = fstat(&folder) else { return };
        if self.guard.has(&stat) || (stat.st_dev != level.device && !has_files(&folder)) {
            return;
        }
        if self.located.place.is_counted() && stat.st_mode & 0o500 != 0o500 {
            store::regain(&folder, &stat);
        }
        if self.push(Arc::new(folder), path).is_err() {
            self.truncated = true;
        }
    }
}

impl Iterator for Walker {
    type Item = Walked;

    fn next(&mut self) -> Option<Walked> {
        self.enter();
        loop {
            let level = self.open.last_mut()?;
            let Some(name) = level.names.pop() else {
                self.open.pop();
                continue;
            };
            let text = text_of(name.to_bytes());
            if self.located.place.denied.has(&text) {
                continue;
            }
            if self.seen >= self.options.most {
                self.truncated = true;
                return None;
            }
            self.seen += 1;
            let Ok(stat) = statat(&*level.folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if self.guard.has(&stat) {
                continue;
            }
            let (path, folder) = (level.path.join(&text), level.folder.clone());
            let full = RelPath::from_names([self.located.path.names(), path.names()].concat()).text();
            let label = self.marks.label(&full, &stat, self.reader);
            if file_type(&stat) == FileType::Directory {
                self.enter = Some(path.clone());
            }
            let entry = Entry::new(&text, full, &stat, label == Label::Outside);
            return Some(Walked { path, entry, label, folder, name, stat });
        }
    }
}
