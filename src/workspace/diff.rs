//! What a program changed in one place, and what of it can be undone.

use crate::{
    Located, RelPath, Shared,
    entry::{EntryKind, modified_ns, size_of},
    journal::Before,
    moves::Moves,
    places::PlaceRef,
    records::{HeldKind, HeldRecord},
    resolve::error,
    running::{Running, is_later},
    staging::held_name,
    trash::VERSIONS,
    watch::{MACHINERY, Snapshot, Was, is_machinery},
};
use rustix::fs::{Mode, OFlags, Stat, fstat, fstatvfs, openat};
use std::{
    collections::HashMap,
    io::{Read, Seek},
    os::fd::OwnedFd,
    sync::Arc,
};
use store::Part;
use tool::{Error, Id, Label, Result, UserId};

/// The most files of one run that can be undone.
const UNDONE: usize = 500;
/// What stays free on the disk where larger files are kept.
const SPARE: u64 = 256 << 20;
/// The most paths that are named of each kind.
const NAMED: usize = 200;

/// What a program changed. Paths as the caller writes them, at most 200 of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub deleted: Vec<String>,
    /// How many there were of all kinds.
    pub count: usize,
    /// How many of them cannot be brought back by an undo.
    pub not_undoable: usize,
    /// Some of those that cannot be brought back, at most 200.
    pub lost: Vec<String>,
    /// The worst label of anything the program could read until its end: that of what it wrote, and of what it printed.
    pub label: Label,
    /// The place whose quota is exceeded now.
    pub full: Option<String>,
}

/// What is different in one place.
#[derive(Default)]
pub(crate) struct Diff {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub deleted: Vec<String>,
    /// What Hob itself changed meanwhile, for other calls. The program may have written in it before.
    pub others: Vec<String>,
    pub first: bool,
    pub truncated: bool,
    pub place: Option<Arc<PlaceRef>>,
    pub versions: HashMap<String, Is>,
    moves: Moves,
    pub held: Vec<(Id, HeldRecord)>,
    pub parts: Vec<Part>,
    not_undoable: usize,
    lost: Vec<String>,
}

/// A path as it is after the program.
pub(crate) struct Is {
    pub version: String,
    pub kind: EntryKind,
    ino: u64,
}

impl Diff {
    pub fn between(before: &Snapshot, now: &Snapshot, running: &Running) -> Self {
        let mut diff = Diff {
            first: before.first,
            truncated: before.truncated || now.truncated,
            place: Some(before.place.clone()),
            ..Diff::default()
        };
        let touched = |path: &str| running.touched(&before.place.key, path);
        for (path, is) in &now.files {
            let was = before.files.get(path);
            if was.is_some_and(|was| !was.is_changed(is)) {
                continue;
            }
            let is_same = |at| is.kind == EntryKind::Folder || !is_later(is.changed_ns(), at);
            let by_others = touched(path).is_some_and(is_same);
            let list = match was {
                _ if by_others => &mut diff.others,
                None => &mut diff.added,
                Some(_) => &mut diff.changed,
            };
            list.push(path.clone());
            diff.versions.insert(path.clone(), Is { version: is.version(), kind: is.kind, ino: is.ino });
        }
        if !now.truncated {
            let gone = before.files.keys().filter(|path| !now.files.contains_key(*path) && touched(path).is_none());
            diff.deleted = gone.cloned().collect();
        }
        for list in [&mut diff.added, &mut diff.changed, &mut diff.deleted, &mut diff.others] {
            list.sort();
        }
        if !diff.deleted.is_empty() {
            diff.moves = Moves::between(before, now, &diff.deleted, &diff.added);
        }
        diff
    }

    pub fn is_empty(&self) -> bool {
        self.is_only_of_others() && self.others.is_empty()
    }

    /// Whether the program itself changed nothing.
    pub fn is_only_of_others(&self) -> bool {
        [&self.added, &self.changed, &self.deleted].iter().all(|list| list.is_empty()) && !self.truncated
    }

    /// Stores earlier contents, and describes what can be undone and what cannot. Blocks on the disk.
    pub fn hold(&mut self, shared: &Shared, before: &Snapshot, running: &Running, by: UserId) -> Result<()> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        let at = |path: &str| {
            Ok::<_, Error>(Located { place: place.clone(), path: RelPath::parse(path)?, first: self.first })
        };
        let mut folder: Option<OwnedFd> = None;
        let (mut parts, mut held, mut skipped, mut lost) = (vec![], vec![], 0, vec![]);
        // An undo of a large file leaves room for what is written next.
        let mut left = shared.room(&place)?.map_or(VERSIONS, |room| VERSIONS.min(room / 2));
        // What was there before counts first: what was added is still there.
        for path in self.deleted.iter().chain(&self.changed).chain(&self.added) {
            let Ok(located) = at(path) else { continue };
            let (was, now) = (before.files.get(path), self.versions.get(path));
            // It moves back.
            if self.moves.has_left(path) || self.moves.has_arrived(path) {
                continue;
            }
            let after = now.map_or("", |is| is.version.as_str());
            if is_machinery(&located.path) {
                skipped += 1;
                // What is in it nobody undoes one by one; that it is gone as a whole is no small thing.
                let (names, is_gone) = (located.path.names(), now.is_none() && was.is_some());
                let is_whole = names.split_last().is_some_and(|(last, above)| {
                    MACHINERY.contains(&last.as_str()) && !above.iter().any(|name| MACHINERY.contains(&name.as_str()))
                });
                if is_gone && is_whole && parts.len() < UNDONE {
                    parts.push(Before::part(&located, Some(Before::Lost), after));
                    lost.push(path.clone());
                }
                continue;
            }
            if parts.len() >= UNDONE {
                skipped += 1;
                lost.push(path.clone());
                continue;
            }
            match (was, now) {
                (None, Some(Is { kind: EntryKind::Folder, .. })) => parts.push(Before::made_folder(&located, after)),
                (None, Some(_)) => parts.push(Before::part(&located, None, after)),
                (Some(Was { kind: EntryKind::Folder, .. }), None) => {}
                (Some(was), now) => {
                    let id = Id::new();
                    // A content from before another change is not what was there.
                    let can_be = running.touched(&place.key, path).is_none()
                        && was.can_be_kept(now.is_some_and(|is| is.ino == was.ino), left);
                    if can_be && folder.is_none() {
                        folder = Some(shared.held_folder(&place)?);
                    }
                    let is_kept = match folder.as_ref().filter(|_| can_be) {
                        Some(folder) => keep(folder, id, was)?,
                        None => false,
                    };
                    if !is_kept {
                        skipped += 1;
                        lost.push(path.clone());
                        parts.push(Before::part(&located, Some(Before::Lost), after));
                        continue;
                    }
                    left = left.saturating_sub(was.size);
                    shared.usage.add(&place.key, i64::try_from(was.size).unwrap_or(i64::MAX));
                    let record = HeldRecord {
                        place: place.key.clone(),
                        path: path.clone(),
                        kind: HeldKind::Version,
                        is_folder: false,
                        size: was.size,
                        at_ms: Id::now_ms(),
                        by,
                    };
                    held.push((id, record));
                    parts.push(match now {
                        Some(_) => Before::part(&located, Some(Before::Held(id)), after),
                        None => Before::deleted(&located, id),
                    });
                }
                (None, None) => {}
            }
        }
        for (from, to) in &self.moves.pairs {
            let (Ok(located), Some(is)) = (at(to), self.versions.get(to)) else { continue };
            if parts.len() >= UNDONE {
                skipped += 1;
                lost.push(from.clone());
                continue;
            }
            let back = Before::Moved { place: place.key.clone(), path: from.clone() };
            parts.push(Before::part(&located, Some(back), &is.version));
        }
        if let Some(folder) = &folder {
            crate::staging::sync_folder(folder).map_err(|e| error(e, &place.id))?;
        }
        // An undo goes from the last one to the first: what was added goes before what was deleted comes back.
        (self.parts, self.held, self.not_undoable, self.lost) = (parts, held, skipped, lost);
        Ok(())
    }

    pub fn report(&self, all: &mut ChangedFiles) {
        let place = self.place.clone();
        let shown = |path: &String| {
            let path = RelPath::parse(path).unwrap_or_default();
            place.clone().map_or_else(String::new, |place| Located { place, path, first: self.first }.display())
        };
        for (from, to, counts) in [
            (&self.added, &mut all.added, true),
            (&self.changed, &mut all.changed, true),
            (&self.deleted, &mut all.deleted, true),
            (&self.lost, &mut all.lost, false),
        ] {
            all.count += if counts { from.len() } else { 0 };
            let room = NAMED.saturating_sub(to.len());
            to.extend(from.iter().take(room).map(shown));
        }
        all.not_undoable += self.not_undoable;
    }
}

impl Was {
    /// Whether its content may still be had. `is_written`: it is where it was, and another content is in it.
    fn can_be_kept(&self, is_written: bool, left: u64) -> bool {
        self.content.is_some() || self.open.is_some() && !is_written && self.size <= left
    }
}

/// Keeps the earlier content of a file; `false` where it is not there any more, or the disk is nearly full.
fn keep(folder: &OwnedFd, id: Id, was: &Was) -> Result<bool> {
    if let Some(content) = &was.content {
        return write_held(folder, id, &mut &*content.bytes, was.mode).map(|()| true);
    }
    let Some(mut file) = was.open.as_ref().map(|open| &open.file) else { return Ok(false) };
    let is_as_it_was = |stat: &Stat| (size_of(stat), modified_ns(stat)) == (was.size, was.modified_ns());
    let has_room = fstatvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= was.size.saturating_add(SPARE));
    if !has_room || !fstat(file).is_ok_and(|stat| is_as_it_was(&stat)) || file.rewind().is_err() {
        return Ok(false);
    }
    write_held(folder, id, &mut file, was.mode).map(|()| true)
}

fn write_held(folder: &OwnedFd, id: Id, content: &mut impl Read, mode: u32) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = held_name(id);
    let file =
        openat(folder, name.as_c_str(), flags, Mode::from_raw_mode(mode & 0o777 | 0o600)).map_err(|e| error(e, "."))?;
    let mut file = std::fs::File::from(file);
    let written = std::io::copy(content, &mut file).and_then(|_| file.sync_data());
    written.map_err(|e| error(rustix::io::Errno::from_io_error(&e).unwrap_or(rustix::io::Errno::IO), "."))
}
