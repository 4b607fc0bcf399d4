//! Programs in the workspace: which folders they see, and what they changed.

use crate::{
    Located, RelPath, Shared, Workspaces,
    access::finish,
    entry::{EntryKind, changed_ns, kind_of, modified_ns, size_of, version_of},
    journal::Before,
    marks::{self, MOST as MOST_MARKS},
    places::{PlaceRef, Source, inside},
    records::{HeldKind, HeldRecord, MarkRecord},
    resolve::{Resolved, Root, error, file_type, has_files, open_folder_in},
    staging::held_name,
    tree,
};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use std::{
    collections::{HashMap, HashSet},
    ffi::CString,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use store::{Part, Stamp, Tx};
use tool::{Cx, Error, Id, Label, Result, Role, UserId};

/// The most names of one place that are watched.
const WATCHED: usize = 200_000;
/// The most levels below a place that are watched.
const DEEPEST: usize = 200;
/// The largest file whose content can be brought back after a program changed it.
const CONTENT: u64 = 256 << 10;
/// The most bytes of contents for one program, and for all at once.
const CONTENTS: u64 = 8 << 20;
const ALL_CONTENTS: u64 = 24 << 20;
/// The most files of one run that can be undone, and that are marked one by one.
const UNDONE: usize = 500;
const MARKED: usize = 500;
/// The most paths that are named of each kind.
const NAMED: usize = 200;
/// Folders of programs: nobody undoes single files of them.
const MACHINERY: [&str; 6] = [".git", "node_modules", "target", "__pycache__", ".venv", ".cache"];

/// What programs may do in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Look.
    ReadOnly,
    /// Change what the caller may change.
    ReadWrite,
}

/// A folder for programs.
#[derive(Debug)]
pub struct WorkspaceMount {
    /// The folder, by handle.
    pub source: OwnedFd,
    /// Its path inside.
    pub target: PathBuf,
    pub read_only: bool,
    /// Paths below it that do not exist inside.
    pub covered: Vec<PathBuf>,
    /// The id of its place.
    pub place: String,
}

/// Contents that are held in memory while programs run, shared by programs that watch the same files.
#[derive(Default)]
pub(crate) struct WatchedMemory(Mutex<Contents>);

/// Contents by device, inode, time of the last change, and size.
type Contents = HashMap<(u64, u64, i64, u64), Weak<[u8]>>;

/// A file as it was before a program ran.
#[derive(Clone)]
struct Was {
    ino: u64,
    changed: (i64, i64),
    size: u64,
    kind: EntryKind,
    version: String,
    stat: Stat,
    content: Option<Arc<[u8]>>,
}

/// One place as it was.
struct Snapshot {
    place: Arc<PlaceRef>,
    first: bool,
    files: HashMap<String, Was>,
    truncated: bool,
}

/// What the workspace was like before a program ran.
pub struct ProgramWatch {
    cx: Cx,
    snapshots: Vec<Snapshot>,
    readable: Label,
}

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
    /// The label that what it wrote has now.
    pub label: Label,
    /// The place whose quota is exceeded now.
    pub full: Option<String>,
}

impl ProgramWatch {
    /// The worst label of anything the program could read: its output has it, and what it writes.
    pub fn readable(&self) -> Label {
        self.readable
    }
}

impl Workspaces {
    /// The folders that programs of this caller see; those that cannot be reached are left out. Blocks on the disk.
    ///
    /// # Errors
    /// `Unavailable` where a place is too large to find the names in it that are denied.
    pub fn mounts(&self, cx: &Cx, access: WorkspaceAccess) -> Result<Vec<WorkspaceMount>> {
        self.mounts_of(cx, access, |_| true)
    }

    /// The same for some places, by their ids.
    ///
    /// # Errors
    /// As [`Workspaces::mounts`].
    pub fn mounts_of(
        &self,
        cx: &Cx,
        access: WorkspaceAccess,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<WorkspaceMount>> {
        let mut mounts = vec![];
        for (at, place) in self.0.visible(cx).iter().enumerate().filter(|(_, place)| wanted(&place.id)) {
            let root = match self.0.root(place) {
                Ok(root) => root,
                Err(why) if at == 0 => return Err(why),
                Err(_) => continue,
            };
            let read_only =
                access == WorkspaceAccess::ReadOnly || place.read_only || cx.principal().role == Role::Viewer;
            let covered = self.0.covered(&root, place)?;
            let (target, place) = (inside(&place.id, at == 0), place.id.clone());
            mounts.push(WorkspaceMount { source: root.fd, target, read_only, covered, place });
        }
        Ok(mounts)
    }

    /// The worst label of anything in a folder, for what is read of all of it. Blocks on the disk.
    ///
    /// # Errors
    /// `Failed` where the data cannot be read.
    pub fn label_below(&self, cx: &Cx, folder: &Located) -> Result<Label> {
        self.0.worst_in(cx.user(), &folder.place, &folder.path)
    }

    /// Looks at what a program may change. Blocks on the disk.
    ///
    /// # Errors
    /// `Unavailable` where the disk fails.
    pub fn before_program(&self, cx: &Cx, access: WorkspaceAccess) -> Result<ProgramWatch> {
        self.before_program_of(cx, access, |_| true)
    }

    /// The same for a program that sees some places only, by their ids.
    ///
    /// # Errors
    /// As [`Workspaces::before_program`].
    pub fn before_program_of(
        &self,
        cx: &Cx,
        access: WorkspaceAccess,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<ProgramWatch> {
        let (mut snapshots, mut readable) = (vec![], Label::Own);
        let mut left = CONTENTS;
        for (at, place) in self.0.visible(cx).into_iter().enumerate().filter(|(_, place)| wanted(&place.id)) {
            let Ok(root) = self.0.root(&place) else { continue };
            readable = readable.max(self.0.worst_in(cx.user(), &place, &RelPath::default())?);
            let writes =
                access == WorkspaceAccess::ReadWrite && !place.read_only && cx.principal().role != Role::Viewer;
            if writes {
                snapshots.push(self.0.snapshot(&root, place, at == 0, Some(&mut left)));
            }
        }
        Ok(ProgramWatch { cx: cx.clone(), snapshots, readable })
    }

    /// Finds what a program changed: marks it with `label` and with what the program could read, and records what can be undone.
    ///
    /// # Errors
    /// As every change.
    pub async fn after_program(&self, watch: ProgramWatch, label: Label) -> Result<ChangedFiles> {
        let shared = self.0.clone();
        finish(async move { shared.after_program(watch, label).await }).await
    }
}

impl WatchedMemory {
    fn bytes(found: &Contents) -> u64 {
        found.iter().filter(|(_, content)| content.strong_count() > 0).map(|((.., size), _)| *size).sum()
    }

    /// The content of a small file, where it fits into what is left.
    fn hold(&self, root: &Root, folder: &OwnedFd, name: &str, stat: &Stat, left: &mut u64) -> Option<Arc<[u8]>> {
        let size = size_of(stat);
        if size > CONTENT || size > *left || stat.st_nlink > 1 {
            return None;
        }
        let key = (stat.st_dev, stat.st_ino, modified_ns(stat), size);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = known.get(&key).and_then(Weak::upgrade);
        let content = match there {
            Some(content) => content,
            None => {
                if Self::bytes(&known) + size > ALL_CONTENTS {
                    known.retain(|_, content| content.strong_count() > 0);
                    if Self::bytes(&known) + size > ALL_CONTENTS {
                        return None;
                    }
                }
                let folder = crate::resolve::again(folder).ok()?;
                let found = Resolved { folder, name: name.to_owned(), stat: Some(*stat), path: RelPath::default() };
                let mut file = found.open_file(name).ok()?;
                let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
                std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, size + 1), &mut bytes).ok()?;
                if bytes.len() as u64 != size || root.guard.has(stat) {
                    return None;
                }
                let content: Arc<[u8]> = bytes.into();
                known.insert(key, Arc::downgrade(&content));
                content
            }
        };
        *left -= size;
        Some(content)
    }
}

/// A folder on the way: its handle, what is left in it, and its path.
type Level = (Arc<OwnedFd>, Vec<CString>, RelPath);

impl Shared {
    /// Visits all names below a folder; `visit` says whether to go into a folder. `false` where bounds left something out.
    fn each(
        &self,
        root: &Root,
        mut visit: impl FnMut(&RelPath, &Arc<OwnedFd>, &CString, &Stat) -> bool,
    ) -> Result<bool> {
        let top = Arc::new(crate::resolve::again(&root.fd).map_err(|e| error(e, "."))?);
        let device = fstat(&*top).map_err(|e| error(e, "."))?.st_dev;
        let (mut seen, mut whole) = (0, true);
        let mut open: Vec<Level> =
            vec![(top.clone(), tree::names(&*top).map_err(|e| error(e, "."))?, RelPath::default())];
        while let Some((folder, names, path)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            seen += 1;
            if seen > WATCHED {
                return Ok(false);
            }
            let Ok(stat) = statat(&**folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let (folder, below) = (folder.clone(), path.join(&name.to_string_lossy()));
            let enters = visit(&below, &folder, &name, &stat) && file_type(&stat) == FileType::Directory;
            if !enters || root.guard.has(&stat) {
                continue;
            }
            if open.len() >= DEEPEST {
                whole = false;
                continue;
            }
            let Ok(next) = open_folder_in(&*folder, &name) else { continue };
            let Ok(about) = fstat(&next) else { continue };
            if root.guard.has(&about) || (about.st_dev != device && !has_files(&next)) {
                continue;
            }
            let names = tree::names(&next).unwrap_or_default();
            open.push((Arc::new(next), names, below));
        }
        Ok(whole)
    }

    /// The paths of a place that programs must not see.
    fn covered(&self, root: &Root, place: &PlaceRef) -> Result<Vec<PathBuf>> {
        let mut covered: Vec<PathBuf> = vec![];
        if let Source::Host(host) = &place.source {
            covered.extend(self.data.strip_prefix(host).ok().map(PathBuf::from));
            covered.extend(self.folder.strip_prefix(host).ok().map(PathBuf::from));
        }
        if place.denied.is_plain() {
            let held = statat(&root.fd, crate::path::HELD, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            covered.extend(held.then(|| PathBuf::from(crate::path::HELD)));
            return Ok(covered);
        }
        let whole = self.each(root, |path, _, _, stat| {
            let denied = root.denied.has(path.name().unwrap_or_default()) || root.guard.has(stat);
            if denied {
                covered.push(path.text().into());
            }
            !denied
        })?;
        if !whole {
            let text = format!(
                "the folder `{}` has too many files or levels to find the names in it that are denied: programs cannot use it",
                place.id
            );
            return Err(Error::unavailable(text));
        }
        covered.sort();
        covered.dedup();
        Ok(covered)
    }

    fn snapshot(&self, root: &Root, place: Arc<PlaceRef>, first: bool, mut left: Option<&mut u64>) -> Snapshot {
        let mut files = HashMap::new();
        let whole = self.each(root, |path, folder, name, stat| {
            if root.denied.has(path.name().unwrap_or_default()) || root.guard.has(stat) {
                return false;
            }
            let kind = kind_of(stat);
            let content = match (&mut left, kind, name.to_str()) {
                (Some(left), EntryKind::File, Ok(name)) if !is_machinery(path) => {
                    self.watched.hold(root, folder, name, stat, left)
                }
                _ => None,
            };
            let changed = (modified_ns(stat), changed_ns(stat));
            let was = Was {
                ino: stat.st_ino,
                changed,
                size: size_of(stat),
                kind,
                version: version_of(stat),
                stat: *stat,
                content,
            };
            files.insert(path.text(), was);
            true
        });
        Snapshot { place, first, files, truncated: !whole.unwrap_or(false) }
    }

    async fn after_program(self: &Arc<Self>, watch: ProgramWatch, label: Label) -> Result<ChangedFiles> {
        let _changing = self.changes().await;
        let ProgramWatch { cx, snapshots, readable } = watch;
        let mut all = ChangedFiles { label: label.max(readable).max(cx.label()), ..ChangedFiles::default() };
        for before in snapshots {
            let label = all.label.max(self.written_label(&cx, &before.place));
            self.settle_program(&cx, before, label, &mut all).await?;
        }
        Ok(all)
    }

    async fn settle_program(
        self: &Arc<Self>,
        cx: &Cx,
        before: Snapshot,
        label: Label,
        all: &mut ChangedFiles,
    ) -> Result<()> {
        let (place, user) = (before.place.clone(), cx.user());
        let diff = self.on_disk(move |shared| {
            let root = shared.root(&before.place)?;
            let now = shared.snapshot(&root, before.place.clone(), before.first, None);
            let mut diff = Diff::between(&before, &now);
            diff.hold(shared, &before, user)?;
            shared.usage.forget(&before.place.key);
            if before.place.is_counted() && !now.truncated {
                shared.counted(&before.place, now.files.values().map(|file| file.size).sum())?;
            }
            let is_over = shared.room(&before.place)?.is_some_and(|room| room == 0);
            Ok((diff, is_over))
        });
        let (diff, is_over) = diff.await?;
        if diff.is_empty() {
            return Ok(());
        }
        all.full = all.full.take().or(is_over.then(|| place.id.clone()));
        diff.report(all);
        let located = Located { place: place.clone(), path: RelPath::default(), first: diff.first };
        self.announce(cx, &located, "changed");
        let fresh = self.program_marks(&place, &diff, label)?;
        let deleted: HashSet<&String> = diff.deleted.iter().collect();
        let mut stale = self.mark_tree(&place.key, "")?;
        stale.retain(|(_, mark)| deleted.contains(&mark.path));
        let (shared, held, parts) = (self.clone(), diff.held, diff.parts);
        let note = move |tx: &Tx| {
            marks::remove(&shared.marks, tx, &stale)?;
            for mark in &fresh {
                let there = marks::read(&shared.marks, tx, &mark.place, &mark.path)?;
                let whole = mark.whole || there.as_ref().is_some_and(|(_, old)| old.whole);
                let label =
                    there.as_ref().map_or(mark.stored_label(), |(_, old)| old.stored_label().max(mark.stored_label()));
                let mark = MarkRecord { whole, ..MarkRecord::new(&mark.place, &mark.path, label) };
                marks::put(&shared.marks, tx, there.map(|(id, _)| id), &mark)?;
            }
            for (id, record) in &held {
                shared.held.put(tx, *id, &Stamp::household("workspace"), record)?;
            }
            parts.iter().for_each(|part| tx.note_outside(part.clone()));
            Ok(())
        };
        Ok(self.store.write(note).await?)
    }

    /// The marks of what a program wrote: one by one; of many, those of new folders as a whole; or of the folder that all is in.
    fn program_marks(&self, place: &PlaceRef, diff: &Diff, label: Label) -> Result<Vec<MarkRecord>> {
        let written: Vec<&String> = diff.added.iter().chain(&diff.changed).collect();
        if label == Label::Own || written.is_empty() && !diff.truncated {
            return Ok(vec![]);
        }
        let there = self.mark_tree(&place.key, "")?.len();
        let whole = |path: &str| MarkRecord { whole: true, ..MarkRecord::new(&place.key, path, label) };
        let fits = |count: usize| !diff.truncated && count <= MARKED && there + count <= MOST_MARKS;
        if fits(written.len()) {
            return Ok(written.iter().map(|path| MarkRecord::new(&place.key, path, label)).collect());
        }
        if diff.truncated || there >= MOST_MARKS {
            return Ok(vec![whole("")]);
        }
        let is_new_folder = |path: &RelPath| {
            let text = path.text();
            diff.added.binary_search(&text).is_ok()
                && diff.versions.get(&text).is_some_and(|(_, kind)| *kind == EntryKind::Folder)
        };
        let mut roots = vec![];
        for path in &written {
            let parent = RelPath::parse(path)?.parent();
            if !parent.as_ref().is_some_and(is_new_folder) {
                roots.push(path.as_str());
            }
        }
        if fits(roots.len()) {
            return Ok(roots.into_iter().map(whole).collect());
        }
        let mut common: Option<RelPath> = None;
        for path in roots {
            let folder = RelPath::parse(path)?.parent().unwrap_or_default();
            common = Some(match common {
                None => folder,
                Some(common) => {
                    let same = common.names().iter().zip(folder.names()).take_while(|(a, b)| a == b).count();
                    RelPath::from_names(common.names()[..same].to_vec())
                }
            });
        }
        Ok(vec![whole(&common.unwrap_or_default().text())])
    }
}

fn is_machinery(path: &RelPath) -> bool {
    path.names().iter().any(|name| MACHINERY.contains(&name.as_str()))
}

/// What is different in one place.
#[derive(Default)]
struct Diff {
    added: Vec<String>,
    changed: Vec<String>,
    deleted: Vec<String>,
    first: bool,
    truncated: bool,
    place: Option<Arc<PlaceRef>>,
    versions: HashMap<String, (String, EntryKind)>,
    held: Vec<(Id, HeldRecord)>,
    parts: Vec<Part>,
    not_undoable: usize,
}

impl Diff {
    fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let mut diff = Diff {
            first: before.first,
            truncated: before.truncated || now.truncated,
            place: Some(before.place.clone()),
            ..Diff::default()
        };
        for (path, is) in &now.files {
            let list = match before.files.get(path) {
                None => &mut diff.added,
                Some(was) if was.kind == EntryKind::Folder && is.kind == EntryKind::Folder => continue,
                Some(was) if (was.ino, was.changed, was.size, was.kind) == (is.ino, is.changed, is.size, is.kind) => {
                    continue;
                }
                Some(_) => &mut diff.changed,
            };
            list.push(path.clone());
            diff.versions.insert(path.clone(), (is.version.clone(), is.kind));
        }
        if !now.truncated {
            diff.deleted = before.files.keys().filter(|path| !now.files.contains_key(*path)).cloned().collect();
        }
        diff.added.sort();
        diff.changed.sort();
        diff.deleted.sort();
        diff
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.deleted.is_empty() && !self.truncated
    }

    /// Stores earlier contents, and describes what can be undone. Blocks on the disk.
    fn hold(&mut self, shared: &Shared, before: &Snapshot, by: UserId) -> Result<()> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        let at = |path: &str| {
            Ok::<_, Error>(Located { place: place.clone(), path: RelPath::parse(path)?, first: self.first })
        };
        let count = self.added.len() + self.changed.len() + self.deleted.len();
        if count == 0 {
            return Ok(());
        }
        let mut folder: Option<OwnedFd> = None;
        let (mut parts, mut held, mut skipped) = (vec![], vec![], 0);
        for path in self.added.iter().chain(&self.changed).chain(&self.deleted) {
            let Ok(located) = at(path) else { continue };
            let is_machinery = is_machinery(&located.path);
            let now = self.versions.get(path);
            let was = before.files.get(path);
            if is_machinery || parts.len() >= UNDONE {
                skipped += 1;
                continue;
            }
            match (was, now) {
                (None, Some((version, EntryKind::Folder))) => parts.push(Before::made_folder(&located, version)),
                (None, Some((version, _))) => parts.push(Before::part(&located, None, version)),
                (Some(Was { kind: EntryKind::Folder, .. }), None) => {}
                (Some(Was { content: Some(content), stat, .. }), now) => {
                    let id = Id::new();
                    if folder.is_none() {
                        folder = Some(shared.held_folder(&place)?);
                    }
                    let Some(folder) = &folder else { continue };
                    write_held(folder, id, content, stat.st_mode)?;
                    let record = HeldRecord {
                        place: place.key.clone(),
                        path: path.clone(),
                        kind: HeldKind::Version,
                        is_folder: false,
                        size: content.len() as u64,
                        at_ms: Id::now_ms(),
                        by,
                    };
                    held.push((id, record));
                    parts.push(match now {
                        Some((version, _)) => Before::part(&located, Some(Before::Held(id)), version),
                        None => Before::deleted(&located, id),
                    });
                }
                _ => skipped += 1,
            }
        }
        if let Some(folder) = &folder {
            crate::staging::sync_folder(folder).map_err(|e| error(e, &place.id))?;
        }
        (self.parts, self.held, self.not_undoable) = (parts, held, skipped);
        Ok(())
    }

    fn report(&self, all: &mut ChangedFiles) {
        let place = self.place.clone();
        let shown = |path: &String| {
            let path = RelPath::parse(path).unwrap_or_default();
            place.clone().map_or_else(String::new, |place| Located { place, path, first: self.first }.display())
        };
        for (from, to) in
            [(&self.added, &mut all.added), (&self.changed, &mut all.changed), (&self.deleted, &mut all.deleted)]
        {
            all.count += from.len();
            let room = NAMED.saturating_sub(to.len());
            to.extend(from.iter().take(room).map(shown));
        }
        all.not_undoable += self.not_undoable;
    }
}

fn write_held(folder: &OwnedFd, id: Id, content: &[u8], mode: u32) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = held_name(id);
    let file =
        openat(folder, name.as_c_str(), flags, Mode::from_raw_mode(mode & 0o777 | 0o600)).map_err(|e| error(e, "."))?;
    let mut file = std::fs::File::from(file);
    let written = std::io::Write::write_all(&mut file, content).and_then(|()| file.sync_data());
    written.map_err(|e| error(rustix::io::Errno::from_io_error(&e).unwrap_or(rustix::io::Errno::IO), "."))
}
