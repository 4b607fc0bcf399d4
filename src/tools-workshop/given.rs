//! Files of this device that Hob gives to a program, beside the system's folders and the workspace.

use process_sandbox::{Access, Mount};
use rustix::fs::{Mode, OFlags, open};
use std::path::{Path, PathBuf};
use tool::{Error, Result};

/// The folder inside with what Hob gives.
pub(crate) const GIVEN: &str = "/run/hob";
/// The system's folders, which every program sees.
const BASE: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"];

/// A file, read-only.
///
/// # Errors
/// `Unavailable` where it cannot be opened.
pub(crate) fn file(file: &Path, target: PathBuf) -> Result<Mount> {
    mount(file, target, OFlags::empty(), Access::ReadOnly)
}

/// A folder.
///
/// # Errors
/// `Unavailable` where it cannot be opened.
pub(crate) fn folder(folder: &Path, target: PathBuf, access: Access) -> Result<Mount> {
    mount(folder, target, OFlags::DIRECTORY, access)
}

/// A program by its path: as it is in the system's folders, and alone where it is elsewhere. Returns its path inside.
///
/// # Errors
/// `Unavailable` where it cannot be opened.
pub(crate) fn program(path: &Path, name: &str) -> Result<(PathBuf, Option<Mount>)> {
    if BASE.iter().any(|base| path.starts_with(base)) {
        return Ok((path.to_owned(), None));
    }
    let inside = Path::new(GIVEN).join("bin").join(name);
    Ok((inside.clone(), Some(file(path, inside)?)))
}

fn mount(path: &Path, target: PathBuf, kind: OFlags, access: Access) -> Result<Mount> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    let source = open(path, flags, Mode::empty())
        .map_err(|error| Error::unavailable(format!("{} cannot be opened: {error}", path.display())))?;
    Ok(Mount { source, target, access, covered: vec![] })
}
