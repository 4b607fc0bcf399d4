//! Trees of any depth: sizes, copies and removal, without recursion and with at most two folders open.

use crate::{
    entry::{file_type, size_of},
    resolve::{Guard, has_files, names, open_folder_in, readable},
};
use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, renameat_with, statat, symlinkat,
        unlinkat,
    },
    io::Errno,
};
use std::{
    ffi::{CStr, CString},
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
};
use tokio_util::sync::CancellationToken;

/// The most files of one tree that is copied.
pub(crate) const MOST_COPIED: usize = 100_000;
/// The levels that a size is counted through before deeper ones count as none.
const DEEPEST: usize = 4096;

/// The bytes of a file, or of all files in a folder, and how many there are. Goes down by handles and up by `..`, so that a
/// tree of any depth takes two handles; a folder that is moved meanwhile ends the count early.
pub(crate) fn size(folder: impl AsFd, name: &CStr) -> Result<(u64, u64), Errno> {
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if file_type(&stat) != FileType::Directory {
        return Ok((size_of(&stat), 1));
    }
    let (mut bytes, mut count) = (0u64, 1u64);
    let mut at = open_folder_in(&folder, name)?;
    let device = fstat(&at)?.st_dev;
    let mut left: Vec<(Vec<CString>, u64)> = vec![(names(&at)?, fstat(&at)?.st_ino)];
    while let Some((todo, _)) = left.last_mut() {
        let Some(name) = todo.pop() else {
            left.pop();
            let Some((_, ino)) = left.last() else { break };
            at = openat(&at, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            if fstat(&at)?.st_ino != *ino {
                break;
            }
            continue;
        };
        let Ok(stat) = statat(&at, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        bytes = bytes.saturating_add(size_of(&stat));
        count += 1;
        if file_type(&stat) == FileType::Directory && stat.st_dev == device && left.len() < DEEPEST {
            let Ok(next) = open_folder_in(&at, &name) else { continue };
            left.push((names(&next)?, fstat(&next)?.st_ino));
            at = next;
        }
    }
    Ok((bytes, count))
}

/// Removes a file, or a folder with all that is in it, which nobody else changes. A folder within it is first moved up, so that a
/// tree of any depth takes one handle and short paths.
pub(crate) fn remove(folder: impl AsFd, name: &CStr) -> Result<(), Errno> {
    match unlinkat(&folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        done => return done,
    }
    let top = open_folder_in(&folder, name)?;
    if fstat(&top)?.st_mode & 0o700 != 0o700 {
        rustix::fs::chmodat(&folder, name, Mode::RWXU, AtFlags::empty())?;
    }
    let mut moved = 0u64;
    loop {
        let all = names(&top)?;
        if all.is_empty() {
            break;
        }
        for name in all {
            match unlinkat(&top, &name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {}
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(e) => return Err(e),
            }
            let inner = open_folder_in(&top, &name)?;
            if fstat(&inner)?.st_mode & 0o700 != 0o700 {
                rustix::fs::chmodat(&top, &name, Mode::RWXU, AtFlags::empty())?;
            }
            for below in names(&inner)? {
                match unlinkat(&inner, &below, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => {
                        moved += 1;
                        let up = CString::new(format!(".hob-removing-{moved}")).map_err(|_| Errno::INVAL)?;
                        match renameat_with(&inner, &below, &top, &up, rustix::fs::RenameFlags::NOREPLACE) {
                            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&inner, &below, &top, &up)?,
                            done => done?,
                        }
                    }
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(e) => return Err(e),
                }
            }
            unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
    unlinkat(&folder, name, AtFlags::REMOVEDIR)
}

/// What a copy leaves out, and when it ends.
pub(crate) struct Copying<'a> {
    pub denied: &'a crate::path::DeniedNames,
    pub guard: &'a Guard,
    pub cancel: &'a CancellationToken,
    /// The most bytes.
    pub most: u64,
}

/// Why a tree was not copied.
#[derive(Debug)]
pub(crate) enum NotCopied {
    Failed(Errno),
    TooLarge,
    TooMany,
    /// More folders within one another than a path leads through.
    TooDeep,
    /// A file that has another name, perhaps of another owner.
    Linked(String),
    Cancelled,
}

impl From<Errno> for NotCopied {
    fn from(e: Errno) -> Self {
        Self::Failed(e)
    }
}

/// Copies a file, or a folder with all that is in it; returns its bytes. Pipes, sockets and devices are left out, links are copied
/// as links. What could not be read is an error: a copy is whole.
pub(crate) fn copy(
    from: impl AsFd,
    name: &CStr,
    to: impl AsFd,
    new: &CStr,
    how: &Copying<'_>,
) -> Result<u64, NotCopied> {
    let stat = statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let (mut bytes, mut count) = (0u64, 0usize);
    if file_type(&stat) != FileType::Directory {
        copy_one(from.as_fd(), name, &stat, to.as_fd(), new, how, &mut bytes)?;
        return Ok(bytes);
    }
    mkdirat(&to, new, Mode::from_raw_mode(0o755))?;
    let (mut source, mut target) = (open_folder_in(&from, name)?, open_folder_in(&to, new)?);
    let mut left: Vec<(Vec<CString>, u64)> = vec![(names(&source)?, fstat(&source)?.st_ino)];
    while let Some((todo, _)) = left.last_mut() {
        if how.cancel.is_cancelled() {
            return Err(NotCopied::Cancelled);
        }
        let Some(name) = todo.pop() else {
            rustix::fs::fsync(readable(&target)?)?;
            left.pop();
            let Some((_, ino)) = left.last() else { break };
            let up = |at: &OwnedFd| openat(at, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            (source, target) = (up(&source)?, up(&target)?);
            if fstat(&source)?.st_ino != *ino {
                return Err(NotCopied::Failed(Errno::STALE));
            }
            continue;
        };
        if how.denied.has(&crate::path::text_of(name.to_bytes())) {
            continue;
        }
        let stat = match statat(&source, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if how.guard.has(&stat) => continue,
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(e.into()),
        };
        count += 1;
        if count > MOST_COPIED {
            return Err(NotCopied::TooMany);
        }
        if file_type(&stat) == FileType::Directory {
            if left.len() >= crate::path::DEEPEST {
                return Err(NotCopied::TooDeep);
            }
            let next = open_folder_in(&source, &name)?;
            let about = fstat(&next)?;
            if about.st_dev != stat.st_dev || !has_files(&next) || how.guard.has(&about) {
                continue;
            }
            mkdirat(&target, &name, Mode::from_raw_mode(0o755))?;
            target = open_folder_in(&target, &name)?;
            left.push((names(&next)?, about.st_ino));
            source = next;
        } else {
            copy_one(source.as_fd(), &name, &stat, target.as_fd(), &name, how, &mut bytes)?;
        }
    }
    Ok(bytes)
}

fn copy_one(
    from: std::os::fd::BorrowedFd<'_>,
    name: &CStr,
    stat: &Stat,
    to: std::os::fd::BorrowedFd<'_>,
    new: &CStr,
    how: &Copying<'_>,
    bytes: &mut u64,
) -> Result<(), NotCopied> {
    match file_type(stat) {
        FileType::Symlink => {
            let target = readlinkat(from, name, vec![])?;
            Ok(symlinkat(&*target, to, new)?)
        }
        FileType::RegularFile if stat.st_nlink == 1 => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut source: File = openat(from, name, flags, Mode::empty())?.into();
            let about = fstat(&source)?;
            if about.st_ino != stat.st_ino || file_type(&about) != FileType::RegularFile {
                return Err(NotCopied::Failed(Errno::STALE));
            }
            let mode = Mode::from_raw_mode(stat.st_mode & 0o777 | 0o600);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut target: File = openat(to, new, flags, mode)?.into();
            copy_bytes(&mut source, &mut target, how, bytes)?;
            rustix::fs::fsync(&target)?;
            Ok(())
        }
        FileType::RegularFile => Err(NotCopied::Linked(crate::path::text_of(name.to_bytes()))),
        _ => Ok(()),
    }
}

/// Copies the bytes of a file; shares them where the file system can.
fn copy_bytes(source: &mut File, target: &mut File, how: &Copying<'_>, bytes: &mut u64) -> Result<(), NotCopied> {
    let size = fstat(&*source)?.st_size;
    if bytes.saturating_add(u64::try_from(size).unwrap_or(0)) > how.most {
        return Err(NotCopied::TooLarge);
    }
    if rustix::fs::ioctl_ficlone(&*target, &*source).is_ok() {
        *bytes += u64::try_from(size).unwrap_or(0);
        return Ok(());
    }
    let mut buffer = vec![0; 128 * 1024];
    loop {
        if how.cancel.is_cancelled() {
            return Err(NotCopied::Cancelled);
        }
        let n = source.read(&mut buffer).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        if n == 0 {
            return Ok(());
        }
        *bytes += n as u64;
        if *bytes > how.most {
            return Err(NotCopied::TooLarge);
        }
        target.write_all(&buffer[..n]).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    }
}
