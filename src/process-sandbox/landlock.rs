//! Landlock: a second judge of what is written where, should a mount be writable by a mistake.

use crate::sys::{self, LandlockRuleset};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{ffi::CStr, io, os::fd::AsFd};

const EXECUTE: u64 = 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
const WRITE_FILE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_REQUEST: u64 = 1 << 15;
/// All rights of a file; a folder has more.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_REQUEST;
/// Abstract sockets and signals reach nothing outside of the domain.
const SCOPED: u64 = 0b11;

/// The rights that a version knows.
fn known(version: i32) -> u64 {
    match version {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

/// Restricts this process to reading everything and writing beneath `writable`, by path and whether it is a folder.
pub fn restrict(writable: &[(&CStr, bool)]) -> io::Result<()> {
    let version = sys::landlock_version();
    if version < 1 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let all = known(version);
    let ruleset = LandlockRuleset { files: all, network: 0, scoped: if version >= 6 { SCOPED } else { 0 } };
    let size = if version >= 6 { 24 } else { 8 };
    let ruleset = sys::landlock_ruleset(&ruleset, size)?;
    let allow = |path: &CStr, rights: u64| {
        let handle = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        sys::landlock_allow(ruleset.as_fd(), &handle, rights & all)
    };
    allow(c"/", EXECUTE | READ_FILE | READ_FOLDER)?;
    for (path, is_folder) in writable {
        allow(path, if *is_folder { u64::MAX } else { OF_FILES })?;
    }
    sys::landlock_restrict(ruleset.as_fd())
}
