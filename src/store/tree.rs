//! The files of the workspace in a backup, and back from it: first all folders and files in the order of a walk, then the bytes of
//! each file in pieces.
//!
//! A walk goes by handle, never through a link, and only so deep. Links, pipes, sockets and devices are no content: they are counted and
//! left out.

use crate::{
    Error, Result,
    error::unusable,
    folder::{make_private_dir, regain},
    snapshot::{Snapshot, Table, View},
};
use redb::Database;
use rustix::{
    fs::{self as sys, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps},
    io::Errno,
};
use std::{
    ffi::{CStr, CString},
    fs, io,
    io::{Read, Write},
    ops::Bound,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

/// The tables of a backup: folders and files by number, and pieces by number and place. A data file has neither.
pub(crate) const TABLE: &str = "backup-tree";
pub(crate) const PIECES: &str = "backup-tree-pieces";
/// The size of a piece in bytes: with its key it just fills a page.
const PIECE: usize = (64 << 10) - 64;
/// The most bytes and rows in one commit of a backup: they bound the memory.
const BYTES: usize = 4 << 20;
const ROWS: usize = 2048;
/// The most folders within one another, each of which is open during a walk: more than the workspace itself makes.
const DEEPEST: usize = 300;
/// How many names of what was left out are in the log.
const NAMED: usize = 10;
/// The bytes of a row before the name.
const FIXED: usize = 8 + 1 + 2 + 8 + 4 + 8;

const FOLDER: u8 = 0;
const FILE: u8 = 1;

/// The files of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeSize {
    /// How many files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many entries backups leave out: links, pipes, sockets, devices, other disks, what is too deep or cannot be read.
    pub skipped: u64,
}

/// An entry that a walk found.
struct TreeEntry<'w> {
    /// From 1 on, and the number of the folder it is in; 0 is the root.
    number: u64,
    parent: u64,
    dir: BorrowedFd<'w>,
    name: &'w CStr,
    about: &'w Stat,
    is_folder: bool,
}

/// An open folder of a walk.
struct Level {
    number: u64,
    dir: Dir,
}

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_folder(at: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    sys::openat(at, name, FOLDER_FLAGS, Mode::empty())
}

/// Opens what a program took the rights to from its owner; an error where it is not what was looked at.
fn open_again(at: BorrowedFd, name: &CStr, about: &Stat, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let found = sys::openat(at, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let now = sys::fstat(&found)?;
    if (now.st_dev, now.st_ino) != (about.st_dev, about.st_ino) || !regain(&found, &now) {
        return Err(Errno::ACCESS);
    }
    sys::openat(at, name, flags, Mode::empty())
}

fn failed(root: &Path) -> impl Fn(Errno) -> Error {
    move |error| Error::io(format!("look into {}", root.display()), &error.into())
}

/// Calls `each` with what is below a folder, a folder before its content. `each` returns whether a file could be read. Returns how
/// many entries were left out.
fn walk(root: &Path, each: &mut dyn FnMut(&TreeEntry) -> Result<bool>) -> Result<u64> {
    let top = match open_folder(CWD, root) {
        // A link in its place leads elsewhere: it is no workspace.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(0),
        opened => opened.map_err(failed(root))?,
    };
    let disk = sys::fstat(&top).map_err(failed(root))?.st_dev;
    let mut levels = vec![Level { number: 0, dir: Dir::new(top).map_err(failed(root))? }];
    let (mut number, mut skipped) = (0, 0);
    let mut skip = |name: &CStr, why: &str| {
        skipped += 1;
        if skipped <= NAMED as u64 {
            tracing::warn!(name = %name.to_string_lossy(), why, "an entry of the workspace is in no backup");
        }
    };
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { break };
        let entry = match level.dir.read() {
            None => {
                levels.pop();
                continue;
            }
            Some(entry) => entry.map_err(failed(root))?,
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let (parent, dir) = (level.number, level.dir.fd().map_err(failed(root))?);
        let about = match sys::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            // Removed meanwhile.
            Err(Errno::NOENT) => continue,
            Err(_) => {
                skip(name, "it cannot be read");
                continue;
            }
        };
        let is_folder = match FileType::from_raw_mode(about.st_mode) {
            _ if about.st_dev != disk => {
                skip(name, "it is on another disk");
                continue;
            }
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => {
                skip(name, "it is neither a file nor a folder");
                continue;
            }
        };
        number += 1;
        let found = TreeEntry { number, parent, dir, name, about: &about, is_folder };
        if !is_folder {
            if !each(&found)? {
                skip(name, "it cannot be read");
            }
            continue;
        }
        // One whose names can be read, and nothing in it, is as closed.
        let opened = match about.st_mode & 0o500 {
            0o500 => open_folder(dir, name),
            _ => open_again(dir, name, &about, FOLDER_FLAGS).or_else(|_| open_folder(dir, name)),
        };
        let below = opened.and_then(|fd| {
            // Not what has taken its place meanwhile.
            let same = sys::fstat(&fd).is_ok_and(|now| (now.st_dev, now.st_ino) == (about.st_dev, about.st_ino));
            if same { Dir::new(fd) } else { Err(Errno::NOENT) }
        });
        match below {
            Ok(_) if depth >= DEEPEST => skip(name, "it is too deep"),
            Ok(below) => {
                each(&found)?;
                levels.push(Level { number, dir: below });
            }
            Err(Errno::NOENT) => {}
            Err(_) => skip(name, "it cannot be read"),
        }
    }
    Ok(skipped)
}

/// The files of a folder, and what backups leave out; nothing where there is no such folder.
///
/// # Errors
/// `Io` when the folder cannot be read.
pub fn tree_size(root: &Path) -> Result<TreeSize> {
    let mut size = TreeSize::default();
    size.skipped = walk(root, &mut |found| {
        if !found.is_folder {
            size.files += 1;
            size.bytes += u64::try_from(found.about.st_size).unwrap_or_default();
        }
        Ok(true)
    })?;
    Ok(size)
}

/// A folder or file in a backup.
struct Entry<'e> {
    parent: u64,
    kind: u8,
    mode: u16,
    modified: (i64, u32),
    size: u64,
    name: &'e [u8],
}

impl<'e> Entry<'e> {
    fn bytes(&self) -> Vec<u8> {
        let (seconds, nanos) = self.modified;
        let mut bytes = Vec::with_capacity(FIXED + self.name.len());
        bytes.extend(self.parent.to_le_bytes());
        bytes.push(self.kind);
        bytes.extend(self.mode.to_le_bytes());
        bytes.extend(seconds.to_le_bytes());
        bytes.extend(nanos.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.name);
        bytes
    }

    /// `None` where the row cannot be one, or its name leads elsewhere.
    fn read(row: &'e [u8]) -> Option<Self> {
        let (parent, row) = row.split_first_chunk::<8>()?;
        let (kind, row) = row.split_first()?;
        let (mode, row) = row.split_first_chunk::<2>()?;
        let (seconds, row) = row.split_first_chunk::<8>()?;
        let (nanos, row) = row.split_first_chunk::<4>()?;
        let (size, name) = row.split_first_chunk::<8>()?;
        let is_name = !name.is_empty() && name.len() <= 255 && !name.contains(&b'/') && !name.contains(&0);
        if !is_name || name == b"." || name == b".." || ![FOLDER, FILE].contains(kind) {
            return None;
        }
        Some(Self {
            parent: u64::from_le_bytes(*parent),
            kind: *kind,
            mode: u16::from_le_bytes(*mode),
            modified: (i64::from_le_bytes(*seconds), u32::from_le_bytes(*nanos)),
            size: u64::from_le_bytes(*size),
            name,
        })
    }
}

fn key(number: u64, piece: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&piece.to_be_bytes());
    key
}

/// The open write of a backup.
struct Writer<'d> {
    db: &'d Database,
    /// The next one begins only after this one has ended.
    tx: Option<redb::WriteTransaction>,
    rows: usize,
    bytes: usize,
}

impl Writer<'_> {
    fn put(&mut self, table: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let tx = match self.tx.take() {
            Some(tx) => tx,
            None => self.db.begin_write()?,
        };
        tx.open_table(Table::new(table))?.insert(key, value)?;
        self.rows += 1;
        self.bytes += value.len();
        if self.rows < ROWS && self.bytes < BYTES {
            self.tx = Some(tx);
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        Ok(tx.commit()?)
    }

    fn finish(self) -> Result<()> {
        Ok(self.tx.map_or(Ok(()), redb::WriteTransaction::commit)?)
    }
}

/// Copies the files of the workspace into a backup.
pub(crate) fn pack(root: &Path, db: &Database) -> Result<TreeSize> {
    let mut packed = TreeSize::default();
    if !root.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return Ok(packed);
    }
    let tx = db.begin_write()?;
    // An empty workspace is one, too.
    tx.open_table(Table::new(TABLE))?;
    let mut out = Writer { db, tx: Some(tx), rows: 0, bytes: 0 };
    packed.skipped = walk(root, &mut |found| {
        let size = match found.is_folder {
            true => Some(0),
            false => pack_file(found, &mut out)?,
        };
        let Some(size) = size else { return Ok(false) };
        let entry = Entry {
            parent: found.parent,
            kind: if found.is_folder { FOLDER } else { FILE },
            mode: (found.about.st_mode & 0o700) as u16,
            modified: (found.about.st_mtime, found.about.st_mtime_nsec as u32),
            size,
            name: found.name.to_bytes(),
        };
        out.put(TABLE, &found.number.to_be_bytes(), &entry.bytes())?;
        packed.files += u64::from(!found.is_folder);
        packed.bytes += size;
        Ok(true)
    })?;
    out.finish()?;
    Ok(packed)
}

/// Copies the bytes that a file has now, also while somebody appends to it; returns how many. `None` where it cannot be read.
fn pack_file(found: &TreeEntry, out: &mut Writer) -> Result<Option<u64>> {
    // A pipe in its place meanwhile would keep an ordinary opening waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match sys::openat(found.dir, found.name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => open_again(found.dir, found.name, found.about, flags),
        opened => opened,
    };
    let Ok(fd) = opened else { return Ok(None) };
    let Ok(about) = sys::fstat(&fd) else { return Ok(None) };
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut left = fs::File::from(fd).take(u64::try_from(about.st_size).unwrap_or_default());
    let (mut size, mut piece) = (0, Vec::with_capacity(PIECE));
    for n in 0_u32.. {
        piece.clear();
        let read = Read::by_ref(&mut left).take(PIECE as u64).read_to_end(&mut piece);
        read.map_err(|e| Error::io(format!("read the file {}", found.name.to_string_lossy()), &e))?;
        if piece.is_empty() {
            break;
        }
        out.put(PIECES, &key(found.number, n), &piece)?;
        size += piece.len() as u64;
    }
    Ok(Some(size))
}

fn incomplete() -> Error {
    unusable("a file of the workspace in it is not whole")
}

/// Calls `each` with the pieces of a file, in order, and checks that they are all there.
fn each_piece(
    pieces: Option<&View>,
    number: u64,
    size: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<()> {
    let mut read = 0;
    if let Some(pieces) = pieces {
        let (from, to) = (key(number, 0), key(number, u32::MAX));
        for (n, row) in (0_u32..).zip(pieces.range((Bound::Included(&from[..]), Bound::Included(&to[..])))?) {
            let (place, piece) = row?;
            if *place != key(number, n) {
                return Err(incomplete());
            }
            read += piece.len() as u64;
            each(&piece).map_err(|e| Error::io("write a file of the workspace", &e))?;
        }
    }
    if read == size { Ok(()) } else { Err(incomplete()) }
}

/// Whether the files of the workspace in a backup are whole; one without any is.
pub(crate) fn is_whole(db: &Database) -> Result<bool> {
    let tx = Snapshot::stored(db)?;
    let Some(table) = tx.open(TABLE)? else { return Ok(true) };
    let pieces = tx.open(PIECES)?;
    for row in table.iter()? {
        let (number, row) = row?;
        let (Some(number), Some(entry)) = (number_of(&number), Entry::read(&row)) else { return Ok(false) };
        match each_piece(pieces.as_ref(), number, entry.size, |_| Ok(())) {
            Err(Error::Damaged(_)) => return Ok(false),
            read => read?,
        }
    }
    Ok(true)
}

fn number_of(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

/// An open folder of a restore.
struct Target {
    number: u64,
    fd: OwnedFd,
}

/// Writes the files of a backup into a new folder, durably; returns whether there are any. Their tables stay.
pub(crate) fn unpack(db: &Database, into: &Path) -> Result<bool> {
    let tx = Snapshot::stored(db)?;
    let Some(table) = tx.open(TABLE)? else { return Ok(false) };
    let pieces = tx.open(PIECES)?;
    make_private_dir(into)?;
    let failed = |error: Errno| Error::io(format!("write {}", into.display()), &error.into());
    let mut targets = vec![Target { number: 0, fd: open_folder(CWD, into).map_err(failed)? }];
    for row in table.iter()? {
        let (number, row) = row?;
        let (number, entry) = number_of(&number).zip(Entry::read(&row)).ok_or_else(incomplete)?;
        // A folder comes before its content, and the next one after it.
        while targets.last().is_some_and(|target| target.number != entry.parent) {
            targets.pop();
        }
        let dir = &targets.last().ok_or_else(incomplete)?.fd;
        let name = CString::new(entry.name).map_err(|_| incomplete())?;
        if entry.kind == FOLDER {
            sys::mkdirat(dir, &name, Mode::RWXU).map_err(failed)?;
            let fd = open_folder(dir, &name).map_err(failed)?;
            targets.push(Target { number, fd });
            if targets.len() > DEEPEST {
                return Err(incomplete());
            }
            continue;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = fs::File::from(sys::openat(dir, &name, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?);
        each_piece(pieces.as_ref(), number, entry.size, |piece| file.write_all(piece))?;
        // Readable by Hob whatever it was.
        let mode = Mode::from_raw_mode(u32::from(entry.mode & 0o700)) | Mode::RUSR | Mode::WUSR;
        sys::fchmod(&file, mode).map_err(failed)?;
        let time = Timespec { tv_sec: entry.modified.0, tv_nsec: i64::from(entry.modified.1.min(999_999_999)) };
        // A time that the disk cannot store is no reason to lose the file.
        let _ = sys::futimens(&file, &Timestamps { last_access: time, last_modification: time });
    }
    if let Some(root) = targets.first() {
        // All of them at once.
        sys::syncfs(&root.fd).map_err(failed)?;
    }
    Ok(true)
}

/// Removes the files of the workspace from data that came out of a backup.
pub(crate) fn remove(db: &Database) -> Result<()> {
    let tx = db.begin_write()?;
    for table in [TABLE, PIECES] {
        tx.delete_table(Table::new(table))?;
    }
    Ok(tx.commit()?)
}

#[cfg(test)]
#[path = "tests_tree.rs"]
mod tests;
