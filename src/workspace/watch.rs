//! A place as it was before a program ran, with the contents of small files.

use crate::{
    Shared,
    entry::{EntryKind, changed_ns, file_type, kind_of, modified_ns, size_of, version_of_parts},
    path::{RelPath, text_of},
    places::PlaceRef,
    resolve::{Resolved, Root, error, has_files, open_folder_in},
};
use rustix::{
    fs::{AtFlags, FileType, Stat, fstat, statat},
    process::{Resource, getrlimit},
};
use std::{
    collections::HashMap,
    ffi::{CStr, CString},
    fs::File,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio_util::sync::CancellationToken;
use tool::{Error, Result};

/// The most names of one place that are watched.
pub(crate) const WATCHED: usize = 200_000;
/// The most levels below a place that are watched.
pub(crate) const DEEPEST: usize = 200;
/// The largest file whose content can be brought back after a program changed it.
const CONTENT: u64 = 256 << 10;
/// The most bytes of contents for one program, and for all at once.
const CONTENTS: u64 = 8 << 20;
const ALL_CONTENTS: u64 = 24 << 20;
/// The most contents for one program, and for all at once.
const FILES: u64 = 20_000;
const ALL_FILES: u64 = 60_000;
/// The most larger files that are held open for one program, and the part of the files this process may open for all at once: what is
/// deleted or replaced is still there as long as it is open.
const OPEN: u64 = 500;
const PART_OF_OPEN: u64 = 4;

/// Folders of programs: nobody undoes single files of them.
pub(crate) const MACHINERY: [&str; 6] = [".git", "node_modules", "target", "__pycache__", ".venv", ".cache"];

/// Contents that are held in memory while programs run, shared by programs that watch the same files.
#[derive(Default)]
pub(crate) struct WatchedMemory {
    known: Mutex<Known>,
    held: Arc<Held>,
}

/// Contents by device, inode, time of the last change, and size.
#[derive(Default)]
struct Known {
    contents: HashMap<(u64, u64, i64, u64), Weak<Content>>,
    /// How many there may be before those that are gone are looked for.
    most: usize,
}

/// What is held in memory of all programs.
#[derive(Default)]
struct Held {
    bytes: AtomicU64,
    files: AtomicU64,
    open: AtomicU64,
    /// Steps that were made over what is known.
    steps: AtomicU64,
}

/// The content of a file, which counts as long as it is held.
pub(crate) struct Content {
    pub bytes: Box<[u8]>,
    held: Arc<Held>,
}

impl Drop for Content {
    fn drop(&mut self) {
        self.held.give_back(self.bytes.len() as u64);
    }
}

/// A larger file as it was, as long as nobody writes into it.
pub(crate) struct OpenBefore {
    pub file: File,
    held: Arc<Held>,
}

impl Drop for OpenBefore {
    fn drop(&mut self) {
        self.held.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Held {
    /// Takes room for an open file, where there is some.
    fn take_open(&self) -> bool {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(1024) / PART_OF_OPEN;
        let fits = self.open.fetch_add(1, Ordering::AcqRel) < most;
        if !fits {
            self.open.fetch_sub(1, Ordering::AcqRel);
        }
        fits
    }

    /// Takes room for a content, where there is some.
    fn take(&self, size: u64) -> bool {
        let fits = self.bytes.fetch_add(size, Ordering::AcqRel) + size <= ALL_CONTENTS;
        let fits = self.files.fetch_add(1, Ordering::AcqRel) < ALL_FILES && fits;
        if !fits {
            self.give_back(size);
        }
        fits
    }

    fn give_back(&self, size: u64) {
        self.bytes.fetch_sub(size, Ordering::AcqRel);
        self.files.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What one program may still hold.
pub(crate) struct Room {
    bytes: u64,
    files: u64,
    open: u64,
}

impl Room {
    pub fn new() -> Self {
        Self { bytes: CONTENTS, files: FILES, open: OPEN }
    }
}

/// A file as it was before a program ran.
#[derive(Clone)]
pub(crate) struct Was {
    pub ino: u64,
    changed: (i64, i64),
    pub size: u64,
    pub kind: EntryKind,
    pub mode: u32,
    pub content: Option<Arc<Content>>,
    /// A file whose content is not held.
    pub open: Option<Arc<OpenBefore>>,
}

impl Was {
    pub fn of(stat: &Stat, content: Option<Arc<Content>>) -> Self {
        Self {
            ino: stat.st_ino,
            changed: (modified_ns(stat), changed_ns(stat)),
            size: size_of(stat),
            kind: kind_of(stat),
            mode: stat.st_mode,
            content,
            open: None,
        }
    }

    pub fn modified_ns(&self) -> i64 {
        self.changed.0
    }

    /// Whether it is another file by now, or has another content. A folder is what it is.
    pub fn is_changed(&self, now: &Was) -> bool {
        if (self.kind, now.kind) == (EntryKind::Folder, EntryKind::Folder) {
            return false;
        }
        (self.ino, self.changed, self.size, self.kind) != (now.ino, now.changed, now.size, now.kind)
    }

    /// When anything of it changed last.
    pub fn changed_ns(&self) -> i64 {
        self.changed.1
    }

    pub fn version(&self) -> String {
        version_of_parts(self.ino, self.kind, self.changed.0, self.size)
    }
}

/// One place as it was.
pub(crate) struct Snapshot {
    pub place: Arc<PlaceRef>,
    pub first: bool,
    pub files: HashMap<String, Was>,
    pub truncated: bool,
    /// The permissions of the place itself.
    pub mode: u32,
}

impl Snapshot {
    /// Whether Hob could list this folder, and reach what is in it.
    pub fn was_open(&self, path: &RelPath) -> bool {
        let mode = match path.is_root() {
            true => Some(self.mode),
            false => self.files.get(&path.text()).filter(|was| was.kind == EntryKind::Folder).map(|was| was.mode),
        };
        mode.is_some_and(|mode| mode & 0o500 == 0o500)
    }
}

impl WatchedMemory {
    /// The content of a small file, where it fits into what is left.
    fn hold(&self, root: &Root, folder: &OwnedFd, name: &CStr, stat: &Stat, room: &mut Room) -> Option<Arc<Content>> {
        let size = size_of(stat);
        if size > CONTENT || size > room.bytes || room.files == 0 || stat.st_nlink > 1 {
            return None;
        }
        let key = (stat.st_dev, stat.st_ino, modified_ns(stat), size);
        let there =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).contents.get(&key).and_then(Weak::upgrade);
        let content = match there {
            Some(content) => content,
            None => self.read(root, folder, name, stat, key)?,
        };
        room.bytes -= size;
        room.files -= 1;
        Some(content)
    }

    /// Holds a larger file open, where there is room.
    fn hold_open(
        &self,
        root: &Root,
        folder: &OwnedFd,
        name: &CStr,
        stat: &Stat,
        room: &mut Room,
    ) -> Option<Arc<OpenBefore>> {
        if room.open == 0 || !self.held.take_open() {
            return None;
        }
        let held = self.held.clone();
        let open = || {
            let folder = crate::resolve::again(folder).ok()?;
            let found = Resolved { folder, name: name.to_owned(), stat: Some(*stat), path: RelPath::default() };
            let file = found.open_file("").ok()?;
            let about = fstat(&file).ok()?;
            (about.st_ino == stat.st_ino && !root.guard.has(&about)).then_some(file)
        };
        let Some(file) = open() else {
            held.open.fetch_sub(1, Ordering::AcqRel);
            return None;
        };
        room.open -= 1;
        Some(Arc::new(OpenBefore { file, held }))
    }

    fn read(
        &self,
        root: &Root,
        folder: &OwnedFd,
        name: &CStr,
        stat: &Stat,
        key: (u64, u64, i64, u64),
    ) -> Option<Arc<Content>> {
        let size = key.3;
        let folder = crate::resolve::again(folder).ok()?;
        let found = Resolved { folder, name: name.to_owned(), stat: Some(*stat), path: RelPath::default() };
        if !self.held.take(size) {
            return None;
        }
        let read = || {
            let mut file = found.open_file("").ok()?;
            let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
            std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, size + 1), &mut bytes).ok()?;
            (bytes.len() as u64 == size && !root.guard.has(stat)).then_some(bytes)
        };
        let Some(bytes) = read() else {
            self.held.give_back(size);
            return None;
        };
        let content = Arc::new(Content { bytes: bytes.into(), held: self.held.clone() });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contents.len() >= known.most.max(1024) {
            // Each time there may be twice as many: all of these looks together are no more than the contents.
            self.held.steps.fetch_add(known.contents.len() as u64, Ordering::Relaxed);
            known.contents.retain(|_, content| content.strong_count() > 0);
            known.most = known.contents.len() * 2;
        }
        known.contents.insert(key, Arc::downgrade(&content));
        Some(content)
    }

    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Acquire);
        (of(&self.held.bytes), of(&self.held.files), of(&self.held.steps))
    }
}

/// A folder on the way: its handle, what is left in it, and its path.
type Level = (Arc<OwnedFd>, Vec<CString>, RelPath);

impl Shared {
    /// Visits all names below a folder; `visit` says whether to go into a folder. `false` where bounds left something out.
    pub(crate) fn each(
        &self,
        root: &Root,
        cancel: Option<&CancellationToken>,
        mut visit: impl FnMut(&RelPath, &Arc<OwnedFd>, &CString, &Stat) -> bool,
    ) -> Result<bool> {
        let top = Arc::new(crate::resolve::again(&root.fd).map_err(|e| error(e, "."))?);
        let about = fstat(&*top).map_err(|e| error(e, "."))?;
        root.regain(&*top, &about, &RelPath::default());
        let device = about.st_dev;
        let (mut seen, mut whole) = (0, true);
        let mut open: Vec<Level> =
            vec![(top.clone(), crate::resolve::names(&*top).map_err(|e| error(e, "."))?, RelPath::default())];
        while let Some((folder, names, path)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            if cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(Error::failed("the call was cancelled before its program began"));
            }
            seen += 1;
            if seen > WATCHED {
                return Ok(false);
            }
            let Ok(stat) = statat(&**folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let (folder, below) = (folder.clone(), path.join(&text_of(name.to_bytes())));
            let enters = visit(&below, &folder, &name, &stat) && file_type(&stat) == FileType::Directory;
            if !enters || root.guard.has(&stat) {
                continue;
            }
            if open.len() >= DEEPEST {
                whole = false;
                continue;
            }
            let Ok(next) = open_folder_in(&*folder, &name) else { continue };
            let Ok(about) = fstat(&next) else { continue };
            if root.guard.has(&about) || (about.st_dev != device && !has_files(&next)) {
                continue;
            }
            root.regain(&next, &about, &below);
            let names = crate::resolve::names(&next).unwrap_or_default();
            open.push((Arc::new(next), names, below));
        }
        Ok(whole)
    }

    /// A place as it is. With room for them it holds the contents of small files.
    pub(crate) fn snapshot(
        &self,
        root: &Root,
        place: Arc<PlaceRef>,
        first: bool,
        cancel: Option<&CancellationToken>,
        mut room: Option<&mut Room>,
    ) -> Result<Snapshot> {
        let mut files = HashMap::new();
        let mode = fstat(&root.fd).map_err(|e| error(e, "."))?.st_mode;
        let whole = self.each(root, cancel, |path, folder, name, stat| {
            if root.denied.has(path.name().unwrap_or_default()) || root.guard.has(stat) {
                return false;
            }
            let mut was = Was::of(stat, None);
            if let Some(room) = &mut room
                && was.kind == EntryKind::File
                && !is_machinery(path)
            {
                was.content = self.watched.hold(root, folder, name, stat, room);
                if was.content.is_none() {
                    was.open = self.watched.hold_open(root, folder, name, stat, room);
                }
            }
            files.insert(path.text(), was);
            true
        });
        match whole {
            Err(why) if cancel.is_some_and(CancellationToken::is_cancelled) => Err(why),
            whole => Ok(Snapshot { place, first, files, truncated: !whole.unwrap_or(false), mode }),
        }
    }
}

pub(crate) fn is_machinery(path: &RelPath) -> bool {
    path.names().iter().any(|name| MACHINERY.contains(&name.as_str()))
}
