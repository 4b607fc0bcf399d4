//! Looking at files: lists, facts, and content in ranges.

use crate::{
    Located, Workspaces,
    entry::{Entry, EntryKind, kind_of},
    resolve::{Resolved, error, missing, readable},
};
use rustix::{
    fs::{AtFlags, Dir, statat},
    io::Errno,
};
use serde::Serialize;
use std::{fs::File, os::unix::fs::FileExt};
use tool::{
    Cx, Error, Label, Result,
    prelude::{JsonSchema, schemars},
};

/// The most names that are read of one folder.
const NAMES: usize = 20_000;

/// Some of what is in a folder: folders first, each by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// How many there are in all.
    pub total: usize,
    /// Whether the folder has more than are read.
    pub truncated: bool,
}

/// A plain file that was opened for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// What it is.
    pub entry: Entry,
    /// The origin of its content. The run is tainted by it already.
    pub label: Label,
    file: File,
}

impl OpenFile {
    /// Reads up to `most` bytes from an offset; fewer only at its end. Blocks on the disk.
    ///
    /// # Errors
    /// `Unavailable` where the disk fails.
    pub fn read_at(&self, offset: u64, most: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; most.min(usize::try_from(self.entry.size.saturating_sub(offset)).unwrap_or(most))];
        let mut have = 0;
        while have < bytes.len() {
            match self.file.read_at(&mut bytes[have..], offset + have as u64) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(error(Errno::from_io_error(&e).unwrap_or(Errno::IO), &self.entry.path)),
            }
        }
        bytes.truncate(have);
        Ok(bytes)
    }

    /// The file itself, at its beginning.
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Workspaces {
    /// Runs work on the disk, which may take its time.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&crate::Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|e| Err(Error::failed(format!("the disk could not be used: {e}"))))
    }

    /// The folder of a path by handle. Links are followed within its place.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where it is no folder.
    pub fn open_dir(&self, located: &Located) -> Result<std::os::fd::OwnedFd> {
        self.0.root(&located.place)?.open_folder(&located.path)
    }

    /// The facts of a file or folder; a link is described itself. Does not taint the run.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    pub async fn stat(&self, cx: &Cx, located: &Located) -> Result<Entry> {
        let (cx, located) = (cx.clone(), located.clone());
        self.blocking(move |shared| shared.stat(&cx, &located)).await
    }

    /// What is at a path, a link itself; `None` for nothing. Blocks on the disk.
    ///
    /// # Errors
    /// Where it cannot be looked at.
    pub fn kind_of(&self, located: &Located) -> Result<Option<EntryKind>> {
        let found = self.0.root(&located.place).and_then(|root| root.resolve(&located.path, false));
        match found {
            Ok(found) => Ok(found.stat.as_ref().map(kind_of)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether something is there.
    ///
    /// # Errors
    /// As [`Workspaces::stat`], except for `NotFound`.
    pub async fn exists(&self, cx: &Cx, located: &Located) -> Result<bool> {
        match self.stat(cx, located).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// What is in a folder. Denied names are left out. Taints the run where something in it is from outside.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where it is no folder.
    pub async fn list(&self, cx: &Cx, located: &Located, offset: usize, limit: usize) -> Result<Listing> {
        let (cx, located) = (cx.clone(), located.clone());
        self.blocking(move |shared| shared.list(&cx, &located, offset, limit)).await
    }

    /// Opens a plain file, and taints the run by its label. Never waits for a pipe or device.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` for what is no plain file; `Denied` for hard links and links that lead out.
    pub async fn open_file(&self, cx: &Cx, located: &Located) -> Result<OpenFile> {
        let (cx, located) = (cx.clone(), located.clone());
        self.blocking(move |shared| shared.open_file(&cx, &located)).await
    }

    /// The whole content of a file of at most `most` bytes, and what it is. Taints the run by its label.
    ///
    /// # Errors
    /// As [`Workspaces::open_file`]; `BadArgs` where it is larger.
    pub async fn read(&self, cx: &Cx, located: &Located, most: u64) -> Result<(Entry, Vec<u8>)> {
        let (cx, located) = (cx.clone(), located.clone());
        let read = move |shared: &crate::Shared| {
            let file = shared.open_file(&cx, &located)?;
            let size = file.entry.size;
            if size > most {
                let text = format!(
                    "`{}` has {size} bytes, more than the {most} that are read at once: read a part of it",
                    located.display()
                );
                return Err(Error::bad_args(text));
            }
            let bytes = file.read_at(0, usize::try_from(most).unwrap_or(usize::MAX))?;
            // A program may have written it while it was read.
            let found = shared.root(&located.place)?.resolve(&located.path, true)?;
            let stat = rustix::fs::fstat(&file.file).map_err(|e| error(e, &located.display()))?;
            cx.taint(shared.label_of(&cx, &located.place, &found.path, &stat)?);
            Ok((file.entry, bytes))
        };
        self.blocking(read).await
    }
}

impl crate::Shared {
    pub(crate) fn stat(&self, cx: &Cx, located: &Located) -> Result<Entry> {
        let resolved = self.root(&located.place)?.resolve(&located.path, false)?;
        self.entry(cx, located, &resolved)
    }

    /// What was found, as the caller sees it.
    fn entry(&self, cx: &Cx, located: &Located, found: &Resolved) -> Result<Entry> {
        let Some(stat) = &found.stat else { return Err(missing(&located.display())) };
        let label = self.label_of(cx, &located.place, &found.path, stat)?;
        let name = located.name().unwrap_or_default();
        Ok(Entry::new(name, located.path.text(), stat, label == Label::Outside))
    }

    pub(crate) fn open_file(&self, cx: &Cx, located: &Located) -> Result<OpenFile> {
        let shown = located.display();
        let resolved = self.root(&located.place)?.resolve(&located.path, true)?;
        let file = resolved.open_file(&shown)?;
        let stat = rustix::fs::fstat(&file).map_err(|e| error(e, &shown))?;
        let label = self.label_of(cx, &located.place, &resolved.path, &stat)?;
        cx.taint(label);
        let name = located.name().unwrap_or_default();
        Ok(OpenFile { entry: Entry::new(name, located.path.text(), &stat, label == Label::Outside), label, file })
    }

    fn list(&self, cx: &Cx, located: &Located, offset: usize, limit: usize) -> Result<Listing> {
        let shown = located.display();
        let root = self.root(&located.place)?;
        let resolved = root.resolve(&located.path, true)?;
        let folder = resolved.open_folder(&shown)?;
        let marks = self.folder_marks(cx, &located.place, &resolved.path)?;
        let (mut found, mut truncated) = (vec![], false);
        let open = readable(&folder).map_err(|e| error(e, &shown))?;
        for entry in Dir::new(open).map_err(|e| error(e, &shown))? {
            let entry = entry.map_err(|e| error(e, &shown))?;
            let name = entry.file_name();
            let text = crate::path::text_of(name.to_bytes());
            if matches!(text.as_str(), "." | "..") || root.denied.has(&text) {
                continue;
            }
            if found.len() >= NAMES {
                truncated = true;
                break;
            }
            // A name that is gone meanwhile is no error of the list.
            let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if root.guard.has(&stat) {
                continue;
            }
            let path = resolved.path.join(&text).text();
            let label = marks.label(&path, &stat, cx.user());
            let shown = located.path.join(&text).text();
            found.push((label, Entry::new(&text, shown, &stat, label == Label::Outside)));
        }
        found.sort_by_cached_key(|(_, entry)| {
            (entry.kind != EntryKind::Folder, entry.name.to_lowercase(), entry.name.clone())
        });
        let total = found.len();
        let page: Vec<(Label, Entry)> = found.into_iter().skip(offset).take(limit).collect();
        page.iter().for_each(|(label, _)| cx.taint(*label));
        Ok(Listing { entries: page.into_iter().map(|(_, entry)| entry).collect(), total, truncated })
    }
}
