//! Where the file systems are mounted: by that, a folder is found under every path it has.

use super::{Named, Step};
use rustix::{
    fd::AsFd,
    fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statx},
};
use std::{
    ffi::OsString,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use crate::wire::{Identity, Problem, Source};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    pub id: u64,
    pub parent: u64,
    /// Names the file system: the same for all its mounts.
    pub device: String,
    /// What of the file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
}

/// A place in a file system, whatever paths lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub device: String,
    pub path: PathBuf,
    pub identity: Identity,
    pub is_folder: bool,
}

impl Location {
    /// Whether this is at or within `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.device == other.device && self.path.starts_with(&other.path)
    }
}

/// All mounts of this namespace.
pub fn read() -> io::Result<Vec<MountEntry>> {
    Ok(fs::read("/proc/self/mountinfo")?.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

fn parse(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    Some(MountEntry {
        id: number(fields.next()?)?,
        parent: number(fields.next()?)?,
        device: String::from_utf8(fields.next()?.to_vec()).ok()?,
        root: unescape(fields.next()?),
        point: unescape(fields.next()?),
    })
}

/// Spaces and the like are three octal digits after a backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let (mut out, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[3..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(out).into()
}

/// Opens a path of the host without following a link at its end, and checks that it leads to what Hob has a handle of.
pub fn open(source: &Source) -> Step<OwnedFd> {
    let path = Path::new(std::ffi::OsStr::from_bytes(&source.path));
    let changed = || Problem::Job(format!("{} was replaced or cannot be reached", path.display()));
    let handle =
        openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).map_err(|_| changed())?;
    match identity(&handle).map_err(|_| changed())? {
        found if found == source.identity => Ok(handle),
        _ => Err(changed()),
    }
}

pub fn identity(handle: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(handle)?;
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
}

/// The number of the mount in which a handle is.
pub fn mount_id(handle: impl AsFd) -> io::Result<u64> {
    let stat = statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    Ok(stat.stx_mnt_id)
}

/// Where in its file system the source is.
pub fn locate(source: &Source, mounts: &[MountEntry]) -> Step<Location> {
    let handle = open(source)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(&source.path));
    let id = mount_id(&handle).named("find the mount of a folder")?;
    let stat = rustix::fs::fstat(&handle).named("look at a folder")?;
    let unknown = || Problem::Job(format!("the mount of {} is not known", path.display()));
    let mount = mounts.iter().find(|mount| mount.id == id).ok_or_else(unknown)?;
    let below = path.strip_prefix(&mount.point).map_err(|_| unknown())?;
    Ok(Location {
        device: mount.device.clone(),
        path: if below.as_os_str().is_empty() { mount.root.clone() } else { mount.root.join(below) },
        identity: source.identity,
        is_folder: rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_spaces_in_paths() {
        let line = br"36 35 98:0 /a\040b /mnt\134c rw,noatime master:1 - ext3 /dev/root rw";
        let entry = parse(line).unwrap();
        assert_eq!((entry.id, entry.parent, entry.device.as_str()), (36, 35, "98:0"));
        assert_eq!((entry.root, entry.point), (PathBuf::from("/a b"), PathBuf::from(r"/mnt\c")));
        assert_eq!(parse(b""), None);
        assert!(read().unwrap().iter().any(|mount| mount.point == Path::new("/proc")));
    }
}
