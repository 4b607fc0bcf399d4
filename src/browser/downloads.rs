//! The folder in which the downloads of a browser arrive.

use crate::{Download, Error, Result};
use process_sandbox::{Access, Mount};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// Its path inside.
pub(crate) const INSIDE: &str = "/downloads";
/// The most that is in it at once, in bytes and in files.
pub(crate) const MOST: u64 = 256 << 20;
const FILES: usize = 100;

/// The folder, which is deleted with its browser.
#[derive(Debug)]
pub(crate) struct Downloads(PathBuf);

impl Drop for Downloads {
    fn drop(&mut self) {
        // A rest is deleted at the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Downloads {
    pub fn make(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)
            .map_err(|error| Error::Failed(format!("the folder for downloads cannot be made: {error}")))?;
        Ok(Self(folder))
    }

    pub fn mount(&self) -> Result<Mount> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source = openat(CWD, &self.0, flags, Mode::empty())
            .map_err(|error| Error::Failed(format!("the folder for downloads cannot be opened: {error}")))?;
        Ok(Mount { source, target: INSIDE.into(), access: Access::ReadWrite, covered: vec![] })
    }

    /// Whether it has plain files only, and not too much in them.
    pub fn is_small(&self) -> bool {
        let Ok(entries) = fs::read_dir(&self.0) else { return true };
        let mut size = 0_u64;
        for (count, entry) in entries.flatten().enumerate() {
            // Chromium's temporary names come and go.
            let Ok(stat) = entry.metadata() else { continue };
            size = size.saturating_add(stat.len());
            if !stat.is_file() || count >= FILES {
                return false;
            }
        }
        size <= MOST
    }

    /// Opens a file and removes its name.
    pub fn open(&self, download: &Download) -> io::Result<File> {
        // Chromium names them by a number of its own; nothing else leads out of the folder.
        if !download.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') || download.id.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = self.0.join(&download.id);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        fs::remove_file(&path)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DownloadState;
    use std::io::Read;

    #[test]
    fn only_plain_files_are_taken_and_not_too_many() {
        let folder = std::env::temp_dir().join(format!("hob-downloads-{}", std::process::id()));
        let downloads = Downloads::make(folder.clone()).unwrap();
        let named = |id: &str| Download::new(id, "a", "u", DownloadState::Complete);
        fs::write(folder.join("0-a"), "text").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("1-b")).unwrap();
        let mut text = String::new();
        downloads.open(&named("0-a")).unwrap().read_to_string(&mut text).unwrap();
        assert!(text == "text" && !folder.join("0-a").exists());
        for id in ["0-a", "1-b", "", "../x", "/etc/passwd", "."] {
            assert!(downloads.open(&named(id)).is_err(), "{id}");
        }
        assert!(!downloads.is_small(), "a link is no plain file");
        fs::remove_file(folder.join("1-b")).unwrap();
        assert!(downloads.is_small());
        File::create(folder.join("large")).unwrap().set_len(MOST + 1).unwrap();
        assert!(!downloads.is_small());
        fs::remove_file(folder.join("large")).unwrap();
        (0..=FILES).for_each(|number| fs::write(folder.join(number.to_string()), "").unwrap());
        assert!(!downloads.is_small());
        drop(downloads);
        assert!(!folder.exists());
    }
}
