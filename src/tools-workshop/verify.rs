//! The path of a program that an admin names: an installed program, and never a file that somebody else can replace.

use rustix::process::geteuid;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use tool::{Error, Result};

/// The bits with which a group or everybody may write, and that of a folder whose files only their owners replace.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const EXECUTABLE: u32 = 0o111;

/// The real path of a program, if it is one that only the system or Hob's own user can replace.
///
/// # Errors
/// `BadArgs` with what is wrong.
pub(crate) fn program(path: &str) -> Result<PathBuf> {
    let shown = text_kit::truncate(path, 120);
    let bad = |why: &str| Error::bad_args(format!("`{shown}` {why}"));
    if !path.starts_with('/') || path.len() > 1000 || path.chars().any(char::is_control) {
        return Err(bad("is not an absolute path: write it from the root, such as /usr/bin/gh"));
    }
    let real = fs::canonicalize(path).map_err(|_| bad("is not there: install the program, or correct the path"))?;
    let facts = fs::metadata(&real).map_err(|_| bad("cannot be read: check its rights"))?;
    if !facts.is_file() || facts.mode() & EXECUTABLE == 0 {
        return Err(bad("is not a program: name an executable file"));
    }
    for at in real.ancestors() {
        let facts = fs::metadata(at).map_err(|_| bad("cannot be read: check the rights of its folders"))?;
        let shared_folder = facts.is_dir() && facts.mode() & STICKY != 0 && facts.uid() == 0;
        if (facts.mode() & OTHERS_WRITE != 0 && !shared_folder) || !is_trusted(facts.uid()) {
            return Err(Error::bad_args(format!(
                "`{shown}` can be replaced by other users, because of the rights of {}: take these away (chmod go-w), or install the \
                 program for the system",
                at.display()
            )));
        }
    }
    Ok(real)
}

/// Whether files of this user count as installed: the system's, and those of the user Hob runs as.
fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// Whether a call may name the program so: by its name, or by the very path that was set up.
pub(crate) fn names(binary: &str, name: &str, path: &Path) -> bool {
    binary == name || (binary.starts_with('/') && Path::new(binary) == path)
}

/// Whether a text names a variable that an admin may set for a program: none that decides which code it loads, or where its
/// connections lead.
pub(crate) fn is_variable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lower = name.to_lowercase();
    let ours = ["path", "home", "ifs", "bash_env", "env", "shell", "pwd", "user"].contains(&lower.as_str())
        || lower.starts_with("ld_")
        || lower.ends_with("_proxy");
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(fits)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_program_is_one_that_nobody_else_can_replace() {
        let folder = std::env::temp_dir().join(format!("hob-verify-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("prog");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&folder, 0o755);
        let verdict = |path: &Path| program(path.to_str().unwrap()).map_err(|error| error.to_string());
        mode(&file, 0o644);
        assert!(verdict(&file).unwrap_err().contains("not a program"));
        mode(&file, 0o755);
        assert_eq!(verdict(&file), Ok(file.canonicalize().unwrap()));
        let link = folder.join("link");
        symlink(&file, &link).unwrap();
        assert_eq!(verdict(&link), Ok(file.canonicalize().unwrap()));
        mode(&file, 0o777);
        assert!(verdict(&file).unwrap_err().contains("can be replaced"));
        mode(&file, 0o755);
        mode(&folder, 0o777);
        assert!(verdict(&file).unwrap_err().contains("can be replaced"));
        mode(&folder, 0o755);
        assert!(verdict(&folder).unwrap_err().contains("not a program"));
        assert!(verdict(Path::new("prog")).is_err() && verdict(&folder.join("none")).is_err());
        assert!(names("prog", "prog", &file) && names(file.to_str().unwrap(), "prog", &file));
        assert!(!names("./prog", "prog", &file) && !names("/tmp/prog", "prog", &file));
        fs::remove_dir_all(&folder).unwrap();
    }
}
