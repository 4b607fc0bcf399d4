//! What every job of a sandbox has in common, and how folders of the host are named to the process inside.

use crate::{
    Error, Result,
    wire::{Identity, Source},
};
use rustix::fs::fstat;
use std::{
    fs,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

/// What every job has in common, at this moment.
#[derive(Debug, Default)]
pub struct Frame {
    pub base: Vec<Vec<u8>>,
    pub protected: Vec<Source>,
    pub mountable: Vec<Source>,
    /// The default of `PATH`.
    pub path: String,
}

/// The path of a handle now, and its identity. `None` if it was deleted.
pub fn source(handle: &OwnedFd) -> Result<Option<Source>> {
    let failed = |error: std::io::Error| Error::Failed(format!("a folder cannot be looked at: {error}"));
    let stat = fstat(handle).map_err(|error| failed(error.into()))?;
    let path = fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(failed)?;
    let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
    let path = path.as_os_str().as_bytes().to_vec();
    Ok((stat.st_nlink > 0 && path.starts_with(b"/")).then_some(Source { path, identity }))
}
