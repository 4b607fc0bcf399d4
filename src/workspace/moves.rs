//! Which of what a program deleted is elsewhere by now: an undo moves it back, and its content is needed nowhere.

use crate::{
    entry::EntryKind,
    watch::{Snapshot, Was, is_machinery},
};
use std::collections::{HashMap, HashSet};

/// What moved, and what goes along with it.
#[derive(Default)]
pub(crate) struct Moves {
    /// Old and new paths: files, and folders that are as they were.
    pub pairs: Vec<(String, String)>,
    left: HashSet<String>,
    arrived: HashSet<String>,
}

impl Moves {
    /// `deleted` and `added` are sorted.
    pub fn between(before: &Snapshot, now: &Snapshot, deleted: &[String], added: &[String]) -> Self {
        let mut by_inode: HashMap<(u64, EntryKind), Option<&str>> = HashMap::new();
        for path in added {
            let Some(is) = now.files.get(path) else { continue };
            // Of a file with two names nobody knows which is the one that moved.
            by_inode.entry((is.ino, is.kind)).and_modify(|path| *path = None).or_insert(Some(path));
        }
        let twin = |path: &str| -> Option<&str> {
            let was = before.files.get(path)?;
            let to = by_inode.get(&(was.ino, was.kind)).copied().flatten()?;
            now.files.get(to).filter(|is| was.has_content_of(is)).map(|_| to)
        };
        let mut moves = Self::default();
        for path in deleted {
            let Some(was) = before.files.get(path) else { continue };
            if moves.takes_along(&moves.left, path) {
                continue;
            }
            let Some(to) =
                twin(path).filter(|to| was.kind != EntryKind::Folder || is_same(path, to, &twin, deleted, added))
            else {
                continue;
            };
            moves.left.insert(path.clone());
            moves.arrived.insert(to.to_owned());
            moves.pairs.push((path.clone(), to.to_owned()));
        }
        moves
    }

    /// Whether a path that is gone is elsewhere.
    pub fn has_left(&self, path: &str) -> bool {
        self.left.contains(path) || self.takes_along(&self.left, path)
    }

    /// Whether what is at a path came from elsewhere.
    pub fn has_arrived(&self, path: &str) -> bool {
        self.arrived.contains(path) || self.takes_along(&self.arrived, path)
    }

    fn takes_along(&self, folders: &HashSet<String>, path: &str) -> bool {
        if folders.is_empty() {
            return false;
        }
        path.match_indices('/').any(|(at, _)| folders.contains(&path[..at]))
    }
}

/// Whether all that was in a folder is at the same paths of another one, and nothing else is there. What programs keep for themselves
/// goes along unseen.
fn is_same<'a>(
    from: &str,
    to: &str,
    twin: &impl Fn(&str) -> Option<&'a str>,
    deleted: &[String],
    added: &[String],
) -> bool {
    let old = below(deleted, from);
    let seen =
        |paths: &[String], folder: &str| paths.iter().filter(|path| !is_hidden(&path[folder.len() + 1..])).count();
    seen(old, from) == seen(below(added, to), to)
        && old.iter().all(|path| {
            let rest = &path[from.len()..];
            is_hidden(&rest[1..]) || twin(path).and_then(|there| there.strip_prefix(to)) == Some(rest)
        })
}

fn is_hidden(path: &str) -> bool {
    crate::RelPath::parse(path).is_ok_and(|path| is_machinery(&path))
}

/// The paths below a folder.
fn below<'a>(sorted: &'a [String], folder: &str) -> &'a [String] {
    // `0` follows `/`.
    let (first, end) = (format!("{folder}/"), format!("{folder}0"));
    let at = |text: &str| sorted.partition_point(|path| path.as_str() < text);
    &sorted[at(&first)..at(&end)]
}

impl Was {
    /// Whether the same file has the same content by now, as far as its facts tell. A move changes the time of its last change.
    fn has_content_of(&self, now: &Was) -> bool {
        self.kind == EntryKind::Folder || (self.modified_ns(), self.size) == (now.modified_ns(), now.size)
    }
}
