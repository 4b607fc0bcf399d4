//! A tree that is searched by handle, on several threads: what a search needs to know beside the names it reads.

use crate::{
    Located, RelPath, Workspaces,
    resolve::{Root, has_files},
};
use rustix::fs::{Stat, fstat};
use std::{os::fd::OwnedFd, path::PathBuf};
use tool::{Cx, Error, Label, Result};

/// The folder of a place, opened, and where in it a search begins.
pub struct SearchRoot {
    workspaces: Workspaces,
    root: Root,
    located: Located,
    start: String,
    device: u64,
    /// The folder of its place for reading; handles of paths cannot be read.
    handle: OwnedFd,
}

/// A folder that a caller sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The id with which paths in it begin.
    pub id: String,
    /// Its path for programs.
    pub inside: PathBuf,
}

impl Workspaces {
    /// Prepares a search in a folder. Blocks on the disk.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where it is no folder.
    pub fn search_root(&self, located: &Located) -> Result<SearchRoot> {
        let root = self.0.root(&located.place)?;
        let resolved = root.resolve(&located.path, true)?;
        let folder = resolved.open_folder(&located.display())?;
        let failed = |e| crate::resolve::error(e, &located.display());
        let device = fstat(&folder).map_err(failed)?.st_dev;
        let handle = crate::resolve::again(&root.fd).map_err(failed)?;
        let start = resolved.path.text();
        Ok(SearchRoot { workspaces: self.clone(), root, located: located.clone(), start, device, handle })
    }

    /// The folders that this caller sees, without a look at the disk. Relative paths begin in the first.
    pub fn folders(&self, cx: &Cx) -> Vec<Folder> {
        let visible = self.0.visible(cx);
        let of = |(at, place): (usize, &std::sync::Arc<crate::places::PlaceRef>)| Folder {
            id: place.id.clone(),
            inside: crate::places::inside(&place.id, at == 0),
        };
        visible.iter().enumerate().map(of).collect()
    }

    /// Whether nothing is at a path, so that a file there would be new. Blocks on the disk.
    pub fn is_free(&self, located: &Located) -> bool {
        let found = self.0.root(&located.place).and_then(|root| root.resolve(&located.path, true));
        match found {
            Ok(found) => found.stat.is_none(),
            Err(error) => matches!(error, Error::NotFound(_)),
        }
    }
}

impl SearchRoot {
    /// The folder of the place, at which paths begin.
    pub fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// The path of the folder that is searched, without links.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// Whether a name does not exist here.
    pub fn hides(&self, name: &str) -> bool {
        self.root.denied.has(name)
    }

    /// Whether a folder that was opened does not exist here: it is the data folder, or holds no files of people.
    pub fn guards(&self, folder: &OwnedFd, stat: &Stat) -> bool {
        self.root.guard.has(stat) || (stat.st_dev != self.device && !has_files(folder))
    }

    /// The label of a file that was found, for this caller.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn label(&self, cx: &Cx, path: &str) -> Result<Label> {
        let path = RelPath::parse(path)?;
        let stat = self.root.resolve(&path, false).ok().and_then(|found| found.stat);
        self.workspaces.0.label_if(cx, &self.located.place, &path, stat.as_ref())
    }

    /// A path as the caller writes it.
    pub fn display(&self, path: &str) -> String {
        RelPath::parse(path).map_or_else(|_| path.to_owned(), |path| self.located.at(path).display())
    }
}
