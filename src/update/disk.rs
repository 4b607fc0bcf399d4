//! The disk as updates see it: a trait, so that tests can cut the power at every write.

use std::{
    fmt, fs,
    io::{self, Seek, SeekFrom},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// An open file or block device. Positions are explicit, so that one handle serves several readers.
pub trait DiskFile: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; 0 at the end.
    ///
    /// # Errors
    /// Those of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Those of the file.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Sets the length; does nothing on a device.
    ///
    /// # Errors
    /// Those of the file.
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// The length of the file, or the size of the device.
    ///
    /// # Errors
    /// Those of the file.
    fn length(&self) -> io::Result<u64>;
    /// Waits until everything written is on the disk.
    ///
    /// # Errors
    /// Those of the file.
    fn sync(&self) -> io::Result<()>;

    /// Lets the system forget what it has in memory of the file, so that the next read comes from the disk.
    fn drop_cache(&self) {}

    /// Reads exactly `buffer.len()` bytes.
    ///
    /// # Errors
    /// `UnexpectedEof` past the end.
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(offset, buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

/// The way a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// An existing file, for reading.
    Read,
    /// An existing file or device, for reading and writing.
    Write,
    /// As `Write`; created when missing, readable by the owner.
    Create,
    /// As `Create`, and executable.
    CreateProgram,
}

/// Files and folders.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound` when it is missing and not to be created.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file over another, atomically.
    ///
    /// # Errors
    /// Those of the file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file; one that is missing is no error.
    ///
    /// # Errors
    /// Those of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder and its parents.
    ///
    /// # Errors
    /// Those of the file system.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Waits until names created, renamed or removed in a folder are on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Bytes that can still be written to the file system of a folder.
    ///
    /// # Errors
    /// Those of the file system.
    fn free_space(&self, folder: &Path) -> io::Result<u64>;

    /// The whole content of a file of at most `limit` bytes; `None` when it is missing.
    ///
    /// # Errors
    /// `FileTooLarge` beyond the limit.
    fn read(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open(path, Mode::Read) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why),
        };
        let length = file.length()?;
        if length > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(0, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Replaces a file: after a power cut it has the old content or the new one.
    ///
    /// # Errors
    /// Those of the file system.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let new = path.with_extension("new");
        let file = self.open(&new, Mode::Create)?;
        file.set_length(0)?;
        file.write_at(0, bytes)?;
        file.sync()?;
        self.rename(&new, path)?;
        self.sync_folder(folder)
    }
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

struct RealFile(fs::File);

impl DiskFile for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        match self.0.metadata()?.is_file() {
            true => self.0.set_len(length),
            false => Ok(()),
        }
    }

    fn length(&self) -> io::Result<u64> {
        let about = self.0.metadata()?;
        match about.is_file() {
            true => Ok(about.len()),
            false => (&self.0).seek(SeekFrom::End(0)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn drop_cache(&self) {
        // Advice only.
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let permissions = if mode == Mode::CreateProgram { 0o755 } else { 0o600 };
        let file = fs::OpenOptions::new()
            .read(true)
            .write(mode != Mode::Read)
            .create(matches!(mode, Mode::Create | Mode::CreateProgram))
            .truncate(false)
            .mode(permissions)
            .open(path)?;
        if mode == Mode::CreateProgram {
            // The umask of the process may have taken bits away.
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn free_space(&self, folder: &Path) -> io::Result<u64> {
        let about = rustix::fs::statvfs(folder)?;
        Ok(about.f_bavail.saturating_mul(about.f_frsize))
    }
}
