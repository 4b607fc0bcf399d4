//! From a path to a file by handle: each name is opened in the folder before it, links are followed by hand and only within
//! the place, and the data folder does not exist wherever it is mounted.

use crate::{
    entry::file_type,
    path::{DeniedNames, RelPath, disk_name, text_of},
};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
};
use std::{
    collections::{HashSet, VecDeque},
    ffi::CString,
    fs::File,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};
use tool::{Error, Result};

/// The most links that one path may lead through.
const LINKS: usize = 40;
/// Kinds of file systems in which nothing is a file of a person: proc, sysfs, devpts, debugfs, tracefs, securityfs, cgroup, cgroup 2,
/// bpf, efivarfs, configfs, mqueue.
const NO_FILES: [i64; 12] = [
    0x9fa0,
    0x6265_6572,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0xde5e_81e4,
    0x6265_6570,
    0x1980_0202,
];

/// A file or folder whatever it is called: device and inode.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// What no path leads to: the data folder and what is directly in it, known by identity.
#[derive(Clone)]
pub(crate) struct Guard(Arc<Guarded>);

struct Guarded {
    /// The data folder by handle: folders above it may get other names at any time.
    data: OwnedFd,
    /// The folder in it that paths do lead to.
    except: &'static str,
    seen: RwLock<DataFolder>,
}

/// What is in the data folder, and when that changed last: seconds and nanoseconds.
#[derive(Default)]
struct DataFolder {
    found: HashSet<Identity>,
    changed: Option<(i64, i64)>,
}

/// The folders that lead from a place to the data folder, which comes last.
pub(crate) type WayToData = Vec<(CString, OwnedFd)>;

impl Guard {
    /// Guards the data folder, without the folder in it that is named.
    pub fn new(data: &Path, except: &'static str) -> Result<Self, Errno> {
        let data = open_host_folder(data)?;
        let found = [identity(&fstat(&data)?)].into();
        let seen = RwLock::new(DataFolder { found, changed: None });
        let guard = Self(Arc::new(Guarded { data, except, seen }));
        guard.look();
        Ok(guard)
    }

    /// The data folder itself.
    pub fn data(&self) -> Result<OwnedFd, Errno> {
        again(&self.0.data)
    }

    /// Looks again at what is in the data folder, if something was made, replaced or removed there.
    pub fn refresh(&self) {
        let changed = self.changed();
        if changed.is_none() || changed != self.0.seen.read().unwrap_or_else(PoisonError::into_inner).changed {
            self.look();
        }
    }

    /// Whether this is of the data folder.
    pub fn has(&self, stat: &Stat) -> bool {
        // A number that was that of a replaced file may be one of the workspace by now.
        self.has_seen(stat) && {
            self.look();
            self.has_seen(stat)
        }
    }

    /// Whether the data folder is somewhere in this folder.
    pub fn is_below(&self, stat: &Stat) -> bool {
        file_type(stat) == FileType::Directory && self.above().iter().any(|(above, _)| *above == identity(stat))
    }

    /// The way from a folder to the data folder; none where that is not in it.
    pub fn way_from(&self, root: &OwnedFd) -> Result<Option<WayToData>, Errno> {
        let top = identity(&fstat(root)?);
        let above = self.above();
        let Some(levels) = above.iter().position(|(above, _)| *above == top) else { return Ok(None) };
        let data = identity(&fstat(&self.0.data)?);
        let mut down: Vec<Identity> = above[..levels].iter().rev().map(|(above, _)| *above).collect();
        down.push(data);
        let (mut way, mut at) = (WayToData::new(), again(root)?);
        for step in down {
            let is_step = |name: &CString| {
                statat(&at, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| identity(&stat) == step)
            };
            let name = names(&at)?.into_iter().find(is_step).ok_or(Errno::STALE)?;
            at = open_folder_in(&at, &name)?;
            way.push((name, again(&at)?));
        }
        Ok(Some(way))
    }

    /// The folders above the data folder as they are called now, the nearest first.
    fn above(&self) -> Vec<(Identity, OwnedFd)> {
        let mut found: Vec<(Identity, OwnedFd)> = vec![];
        let mut last = fstat(&self.0.data).map(|stat| identity(&stat)).ok();
        loop {
            let at = found.last().map_or(&self.0.data, |(_, at)| at);
            let Ok(next) = openat(at, "..", FOLDER, Mode::empty()) else { break };
            let Ok(stat) = fstat(&next) else { break };
            if last == Some(identity(&stat)) {
                break;
            }
            last = Some(identity(&stat));
            found.push((identity(&stat), next));
        }
        found
    }

    fn has_seen(&self, stat: &Stat) -> bool {
        self.0.seen.read().unwrap_or_else(PoisonError::into_inner).found.contains(&identity(stat))
    }

    fn changed(&self) -> Option<(i64, i64)> {
        fstat(&self.0.data).ok().map(|stat| (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)))
    }

    /// Where something cannot be looked at, what was known stays known.
    fn look(&self) {
        let changed = self.changed();
        let Ok(names) = names(&self.0.data) else { return };
        let Ok(data) = fstat(&self.0.data) else { return };
        let mut found = HashSet::from([identity(&data)]);
        for name in names.iter().filter(|name| name.to_bytes() != self.0.except.as_bytes()) {
            match statat(&self.0.data, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => drop(found.insert(identity(&stat))),
                Err(Errno::NOENT) => {}
                Err(_) => return,
            }
        }
        // Two changes within one tick of the clock look like one: what changed just now is looked at again.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let settled = changed.filter(|(seconds, _)| now.as_secs().cast_signed() > seconds + 1);
        *self.0.seen.write().unwrap_or_else(PoisonError::into_inner) = DataFolder { found, changed: settled };
    }
}

/// The folder of a place, and what does not exist in it.
pub(crate) struct Root {
    pub fd: OwnedFd,
    pub guard: Guard,
    pub denied: Arc<DeniedNames>,
    pub regains: Regains,
}

/// The folders of which Hob takes back the rights where a program took them from it.
pub(crate) enum Regains {
    /// None: others decide about them.
    None,
    /// All: the place is Hob's own.
    All,
    /// Those that it could read before.
    Before(Box<dyn Fn(&RelPath) -> bool + Send + Sync>),
}

/// Whether its owner cannot list a folder, or not reach what is in it.
fn is_closed(stat: &Stat) -> bool {
    file_type(stat) == FileType::Directory && stat.st_mode & 0o500 != 0o500
}

/// Where a path leads.
pub(crate) struct Resolved {
    /// The folder it is in; of the place itself that folder.
    pub folder: OwnedFd,
    /// Its name in that folder; `.` for the place itself.
    pub name: CString,
    /// What is there; a link only where links are not followed at the end.
    pub stat: Option<Stat>,
    /// Its path without links.
    pub path: RelPath,
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a folder by its host path, whose names must not be links.
pub(crate) fn open_host_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let mut at = rustix::fs::open("/", FOLDER, Mode::empty())?;
    for name in path.components() {
        let std::path::Component::Normal(name) = name else { continue };
        at = openat(&at, name, FOLDER, Mode::empty())?;
    }
    Ok(at)
}

/// Whether files of people can be in this folder.
pub(crate) fn has_files(fd: impl AsFd) -> bool {
    rustix::fs::fstatfs(fd).is_ok_and(|about| !NO_FILES.contains(&(about.f_type)))
}

/// A second handle.
pub(crate) fn again(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0)
}

/// Opens one folder in another.
pub(crate) fn open_folder_in(folder: impl AsFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, FOLDER, Mode::empty())
}

/// A folder that was opened as a path, opened for reading and for `fsync`.
pub(crate) fn readable(folder: impl AsFd) -> Result<OwnedFd, Errno> {
    openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The names in a folder.
pub(crate) fn names(folder: impl AsFd) -> Result<Vec<CString>, Errno> {
    let mut found = vec![];
    for entry in Dir::new(readable(folder)?)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            found.push(entry.file_name().to_owned());
        }
    }
    Ok(found)
}

impl Root {
    /// Opens a closed folder of its owner again, where that is Hob's to do.
    pub fn regain(&self, folder: impl AsFd, stat: &Stat, path: &RelPath) {
        let may = match &self.regains {
            Regains::None => false,
            Regains::All => true,
            Regains::Before(was_open) => was_open(path),
        };
        if may && is_closed(stat) {
            store::regain(folder, stat);
        }
    }

    /// Resolves a path. Its last name need not exist; the folders before it must.
    pub fn resolve(&self, path: &RelPath, follow_last: bool) -> Result<Resolved> {
        self.resolve_as(path, follow_last, &path.text())
    }

    fn resolve_as(&self, path: &RelPath, follow_last: bool, shown: &str) -> Result<Resolved> {
        let (mut links, mut done) = (0, Vec::<String>::new());
        let mut folder = again(&self.fd).map_err(|e| error(e, shown))?;
        let mut device = fstat(&folder).map_err(|e| error(e, shown))?.st_dev;
        let mut todo: VecDeque<String> = path.names().iter().cloned().collect();
        while let Some(name) = todo.pop_front() {
            let is_last = todo.is_empty();
            if self.denied.has(&name) {
                return Err(missing(shown));
            }
            let on_disk = disk_name(&name)?;
            let stat = match statat(&folder, &on_disk, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if self.guard.has(&stat) => return Err(missing(shown)),
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(e) => return Err(error(e, shown)),
            };
            let is_link = stat.as_ref().is_some_and(|stat| file_type(stat) == FileType::Symlink);
            if is_link && (!is_last || follow_last) {
                links += 1;
                if links > LINKS {
                    return Err(error(Errno::LOOP, shown));
                }
                let to = readlinkat(&folder, &on_disk, vec![]).map_err(|e| error(e, shown))?;
                todo = leads_to(&done, &text_of(to.as_bytes()), todo).ok_or_else(|| leads_out(shown))?;
                done.clear();
                folder = again(&self.fd).map_err(|e| error(e, shown))?;
                continue;
            }
            if let Some(stat) = stat.as_ref().filter(|stat| is_closed(stat) && stat.st_dev == device) {
                let path = RelPath::from_names([&done[..], std::slice::from_ref(&name)].concat());
                let closed = open_folder_in(&folder, &on_disk).and_then(|closed| Ok((fstat(&closed)?, closed)));
                if let Ok((now, closed)) = closed
                    && identity(&now) == identity(stat)
                {
                    self.regain(&closed, &now, &path);
                }
            }
            if is_last {
                done.push(name.clone());
                return Ok(Resolved { folder, name: on_disk, stat, path: RelPath::from_names(done) });
            }
            let Some(_) = stat else { return Err(no_folder(shown, &name)) };
            folder = openat(&folder, &on_disk, FOLDER, Mode::empty()).map_err(|e| match e {
                Errno::NOTDIR => Error::bad_args(format!("in `{shown}`, `{name}` is a file and no folder")),
                e => error(e, shown),
            })?;
            let stat = fstat(&folder).map_err(|e| error(e, shown))?;
            if self.guard.has(&stat) || (stat.st_dev != device && !has_files(&folder)) {
                return Err(missing(shown));
            }
            device = stat.st_dev;
            done.push(name);
        }
        let stat = fstat(&folder).map_err(|e| error(e, shown))?;
        Ok(Resolved { folder, name: c".".to_owned(), stat: Some(stat), path: RelPath::default() })
    }

    /// The folder at a path, for reading names in it.
    pub fn open_folder(&self, path: &RelPath) -> Result<OwnedFd> {
        self.resolve(path, true)?.open_folder(&path.text())
    }
}

impl Resolved {
    /// Opens it as a folder.
    pub fn open_folder(&self, shown: &str) -> Result<OwnedFd> {
        let Some(stat) = &self.stat else { return Err(missing(shown)) };
        if file_type(stat) != FileType::Directory {
            return Err(Error::bad_args(format!("`{shown}` is no folder: name the folder it is in")));
        }
        if self.path.is_root() {
            return again(&self.folder).map_err(|e| error(e, shown));
        }
        let opened = openat(&self.folder, &self.name, FOLDER, Mode::empty()).map_err(|e| error(e, shown))?;
        self.is_same(&opened, shown)?;
        Ok(opened)
    }

    /// Opens it as a plain file for reading. Never waits: pipes and devices are refused before they are opened.
    pub fn open_file(&self, shown: &str) -> Result<File> {
        let Some(stat) = &self.stat else { return Err(missing(shown)) };
        refuse_odd(stat, shown)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat(&self.folder, &self.name, flags, Mode::empty()).map_err(|e| error(e, shown))?;
        let now = self.is_same(&opened, shown)?;
        refuse_odd(&now, shown)?;
        Ok(opened.into())
    }

    /// Whether the handle is of what was looked at.
    fn is_same(&self, opened: &OwnedFd, shown: &str) -> Result<Stat> {
        let now = fstat(opened).map_err(|e| error(e, shown))?;
        match &self.stat {
            Some(stat) if identity(stat) == identity(&now) => Ok(now),
            _ => Err(Error::unavailable(format!("`{shown}` was replaced just now: try again"))),
        }
    }
}

/// Only plain files with one name are read: a second name may be one of another owner.
fn refuse_odd(stat: &Stat, shown: &str) -> Result<()> {
    let odd = match file_type(stat) {
        FileType::RegularFile if stat.st_nlink > 1 => {
            return Err(Error::denied(format!(
                "`{shown}` is a hard link, and its other names may be files of others: make a copy with a program, and read that"
            )));
        }
        FileType::RegularFile => return Ok(()),
        FileType::Directory => {
            return Err(Error::bad_args(format!("`{shown}` is a folder: list it, or name a file in it")));
        }
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(Error::bad_args(format!("`{shown}` is {odd} and no file: it cannot be read")))
}

/// The names that remain after a link, from the place on; `None` where it leads out.
fn leads_to(done: &[String], to: &str, rest: VecDeque<String>) -> Option<VecDeque<String>> {
    if to.starts_with('/') {
        return None;
    }
    let mut names = done.to_vec();
    for name in to.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name.to_owned()),
        }
    }
    names.extend(rest);
    (names.len() <= crate::path::DEEPEST).then(|| names.into())
}

fn leads_out(shown: &str) -> Error {
    Error::denied(format!("`{shown}` is a link that leads out of its place: only files in the workspace are reached"))
}

pub(crate) fn missing(shown: &str) -> Error {
    let shown = if shown.is_empty() { "." } else { shown };
    Error::not_found(format!("there is no `{}`: list the folder to see its names", text_kit::truncate(shown, 200)))
}

fn no_folder(shown: &str, name: &str) -> Error {
    let (shown, name) = (text_kit::truncate(shown, 200), text_kit::truncate(name, 80));
    Error::not_found(format!("there is no `{shown}`: its folder `{name}` does not exist"))
}

/// An error of the system about a path, and what to do.
pub(crate) fn error(e: Errno, shown: &str) -> Error {
    let shown = text_kit::truncate(if shown.is_empty() { "." } else { shown }, 200);
    match e {
        Errno::NOENT => missing(&shown),
        Errno::ACCESS | Errno::PERM => {
            Error::denied(format!("`{shown}` cannot be reached: the system denies Hob access to it"))
        }
        Errno::NOSPC | Errno::DQUOT => Error::unavailable("the disk is full: delete something, and empty the trash"),
        Errno::ROFS => Error::denied(format!("`{shown}` is on a disk that is read-only")),
        Errno::LOOP => Error::bad_args(format!("`{shown}` leads through too many links")),
        Errno::NOTDIR => Error::bad_args(format!("in `{shown}`, a file stands where a folder is needed")),
        Errno::NAMETOOLONG => Error::bad_args(format!("a name in `{shown}` is too long: shorten it")),
        Errno::EXIST => Error::bad_args(format!("`{shown}` exists already: pass `overwrite`, or choose another name")),
        Errno::INVAL => Error::bad_args(format!("the disk accepts no name such as `{shown}`: choose another")),
        Errno::FBIG => Error::bad_args(format!("`{shown}` is larger than its disk accepts")),
        Errno::IO | Errno::NXIO | Errno::NODEV | Errno::STALE | Errno::TIMEDOUT => {
            Error::unavailable(format!("the disk of `{shown}` does not answer ({e}): look whether it is connected"))
        }
        e => Error::failed(format!("`{shown}` could not be reached: {e}")),
    }
}
