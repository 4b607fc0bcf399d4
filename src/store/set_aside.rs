//! The data that restores replaced: some sets of it stay.

use crate::{FILE, FILES, WORKSPACE, medium::LOG, wipe::remove_tree};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// How many sets of replaced data are retained after restores.
const SET_ASIDE: usize = 3;

/// The paths to which a restore has moved the previous data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousData {
    /// The data file; missing when there was none.
    pub data: PathBuf,
    /// The uploaded files; missing when there were none.
    pub files: PathBuf,
    /// The files of the workspace; missing when there were none, or the backup has none.
    pub workspace: PathBuf,
    /// The log, where the data file could not be made complete without it; usually missing.
    pub log: PathBuf,
    /// A failure after the data was restored, and what to do about it.
    pub problem: Option<String>,
}

impl PreviousData {
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.files);
        let _ = remove_tree(&self.workspace);
        let _ = fs::remove_file(&self.log);
        // Last, as the set is known by it.
        let _ = fs::remove_file(&self.data);
    }
}

/// The paths of the replaced data with this number.
pub(crate) fn names(dir: &Path, n: u32) -> PreviousData {
    let end = if n == 0 { String::new() } else { format!(".{n}") };
    let name = |of: &str| dir.join(format!("{of}.before-restore{end}"));
    PreviousData { data: name(FILE), files: name(FILES), workspace: name(WORKSPACE), log: name(LOG), problem: None }
}

/// The numbers of replaced data in the folder, in order.
pub(crate) fn numbers(dir: &Path) -> BTreeSet<u32> {
    let number = |name: &str| {
        let of = [FILE, FILES, WORKSPACE, LOG].into_iter().find_map(|of| name.strip_prefix(of));
        match of?.strip_prefix(".before-restore")? {
            "" => Some(0),
            end => end.strip_prefix('.')?.parse().ok(),
        }
    };
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    all.filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// The number of the data that is replaced now; earlier sets are never overwritten.
pub(crate) fn free_number(dir: &Path) -> u32 {
    numbers(dir).last().map_or(0, |n| n.saturating_add(1))
}

/// Removes all but the newest sets of replaced data.
pub(crate) fn remove_oldest(dir: &Path) {
    for n in numbers(dir).into_iter().rev().skip(SET_ASIDE) {
        names(dir, n).remove();
    }
}
