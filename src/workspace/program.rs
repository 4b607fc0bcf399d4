//! Programs in the workspace: which folders they see, and what they changed.

use crate::{
    Located, RelPath, Shared, Workspaces,
    access::finish,
    diff::{ChangedFiles, Diff},
    entry::{EntryKind, file_type},
    marks::{self, MOST as MOST_MARKS},
    path::text_of,
    places::{PlaceRef, Source, inside},
    records::MarkRecord,
    resolve::{Regains, Root, WayToData, error},
    running::{Running, now_ns},
    watch::{DEEPEST, Room, Snapshot, WATCHED},
};
use rustix::fs::{AtFlags, FileType, statat};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::PathBuf,
    sync::Arc,
};
use store::{Stamp, Tx};
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Label, Result, Role};

/// The most files of one run that are marked one by one.
pub(crate) const MARKED: usize = 500;

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

/// What the workspace was like before a program ran. Dropped without [`Workspaces::after_program`], it is over where nothing was
/// changed; otherwise a start marks what was.
pub struct ProgramWatch {
    cx: Cx,
    shared: Arc<Shared>,
    running: Arc<Running>,
    readable: Label,
    is_over: bool,
}

impl Drop for ProgramWatch {
    fn drop(&mut self) {
        if !self.is_over && self.shared.is_unchanged(&self.running) {
            self.shared.end_later(self.running.id);
        }
    }
}

impl ProgramWatch {
    /// The worst label of anything the program can read as it begins; see [`ChangedFiles::label`] for that at its end.
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
            let mut way = self.0.guard.way_from(&root.fd).map_err(|e| error(e, &place.id))?.unwrap_or_default();
            let covered = self.0.covered(&root, place, &way, cx.cancel())?;
            let (target, id) = (inside(&place.id, at == 0), place.id.clone());
            way.pop();
            mounts.push(WorkspaceMount { source: root.fd, target: target.clone(), read_only, covered, place: id });
            // A folder above the data folder is a mount of its own: the system renames and removes no mount.
            let mut above = target;
            for (name, source) in way {
                above.push(OsStr::from_bytes(name.as_bytes()));
                let (target, place) = (above.clone(), place.id.clone());
                mounts.push(WorkspaceMount { source, target, read_only, covered: vec![], place });
            }
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
        self.before_program_with(cx, access, Label::Own, wanted)
    }

    /// The same for a program that also reads what has this label: that of a network.
    ///
    /// # Errors
    /// As [`Workspaces::before_program`].
    pub fn before_program_with(
        &self,
        cx: &Cx,
        access: WorkspaceAccess,
        label: Label,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<ProgramWatch> {
        let (mut snapshots, mut reads) = (vec![], vec![]);
        // What is changed while it is looked at counts as changed by the program.
        let (mut room, since_ns) = (Room::new(), now_ns());
        for (at, place) in self.0.visible(cx).into_iter().enumerate().filter(|(_, place)| wanted(&place.id)) {
            let Ok(root) = self.0.root(&place) else { continue };
            reads.push(place.key.clone());
            let writes =
                access == WorkspaceAccess::ReadWrite && !place.read_only && cx.principal().role != Role::Viewer;
            if writes {
                let before = self.0.snapshot(&root, place, at == 0, Some(cx.cancel()), Some(&mut room))?;
                snapshots.push(Arc::new(before));
            }
        }
        let running = Arc::new(Running::new(cx.user(), reads, snapshots, since_ns));
        let readable = self.0.begin(&running, label.max(cx.label()))?;
        Ok(ProgramWatch { cx: cx.clone(), shared: self.0.clone(), running, readable, is_over: false })
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

impl Shared {
    /// The paths of a place that programs must not see.
    fn covered(
        &self,
        root: &Root,
        place: &PlaceRef,
        way: &WayToData,
        cancel: &CancellationToken,
    ) -> Result<Vec<PathBuf>> {
        let mut covered: Vec<PathBuf> = vec![];
        if !way.is_empty() {
            covered.push(way.iter().map(|(name, _)| OsStr::from_bytes(name.as_bytes())).collect());
        }
        if let Source::Host(host) = &place.source {
            covered.extend(self.folder.strip_prefix(host).ok().map(PathBuf::from));
        }
        if place.denied.is_plain() {
            let held = statat(&root.fd, crate::path::HELD, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            covered.extend(held.then(|| PathBuf::from(crate::path::HELD)));
            return Ok(covered);
        }
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut deep = vec![];
        let whole = self.each(root, Some(cancel), |path, _, name, stat| {
            let top = path.names().first().cloned().unwrap_or_default();
            *counts.entry(top).or_default() += 1;
            let denied = root.denied.has(&text_of(name.to_bytes())) || root.guard.has(stat);
            // Nobody looks for denied names any deeper.
            let is_deep = path.names().len() >= DEEPEST && file_type(stat) == FileType::Directory;
            if is_deep {
                deep.push(path.on_disk());
            }
            if denied {
                covered.push(path.on_disk());
            }
            !denied && !is_deep
        })?;
        if !whole {
            let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name).unwrap_or_default();
            let text = format!(
                "programs cannot use the folder `{0}`: it has more than {WATCHED} files, too many to find the names in it that are denied. Most of them are in `{0}:/{most}`: delete that, or move it to another place",
                place.id
            );
            return Err(Error::unavailable(text));
        }
        covered.extend(deep);
        covered.sort();
        covered.dedup();
        Ok(covered)
    }

    async fn after_program(self: &Arc<Self>, mut watch: ProgramWatch, label: Label) -> Result<ChangedFiles> {
        let _changing = self.changes().await;
        // Where this fails, what was written keeps the label of a program that runs.
        watch.is_over = true;
        let (cx, running) = (watch.cx.clone(), watch.running.clone());
        let readable = self.label_now(&running)?;
        let mut all = ChangedFiles { label: label.max(readable).max(cx.label()), ..ChangedFiles::default() };
        let mut failed = None;
        for before in running.writes.iter().filter_map(|(_, before)| before.clone()) {
            let (place, label) = (before.place.clone(), all.label.max(self.written_label(&cx, &before.place)));
            if let Err(error) = self.settle_program(&cx, before, &running, label, &mut all).await {
                // What it wrote there cannot be told from the rest.
                let (shared, mark) =
                    (self.clone(), MarkRecord { whole: true, ..MarkRecord::new(&place.key, "", label) });
                if label != Label::Own {
                    self.store.write(move |tx: &Tx| marks::add(&shared.marks, tx, &mark)).await?;
                }
                failed = Some(error);
            }
        }
        match all.label {
            // Nothing depends on its record.
            Label::Own => self.end_later(running.id),
            _ => self.end(running.id).await?,
        }
        failed.map_or(Ok(all), Err)
    }

    /// Whether a program that was broken off has changed nothing, or nothing that matters. Blocks on the disk.
    fn is_unchanged(&self, running: &Running) -> bool {
        if matches!(self.label_now(running), Ok(Label::Own)) {
            return true;
        }
        running.writes.iter().filter_map(|(_, before)| before.as_ref()).all(|before| {
            let now = self
                .root(&before.place)
                .and_then(|root| self.snapshot(&root, before.place.clone(), before.first, None, None));
            now.is_ok_and(|now| Diff::between(before, &now, running).is_only_of_others())
        })
    }

    async fn settle_program(
        self: &Arc<Self>,
        cx: &Cx,
        before: Arc<Snapshot>,
        running: &Arc<Running>,
        label: Label,
        all: &mut ChangedFiles,
    ) -> Result<()> {
        let (place, user, running) = (before.place.clone(), cx.user(), running.clone());
        let diff = self.on_disk(move |shared| {
            let mut root = shared.root(&before.place)?;
            if let Regains::None = root.regains {
                let before = before.clone();
                root.regains = Regains::Before(Box::new(move |path| before.was_open(path)));
            }
            let now = shared.snapshot(&root, before.place.clone(), before.first, None, None)?;
            let mut diff = Diff::between(&before, &now, &running);
            shared.usage.forget(&before.place.key);
            if before.place.is_counted() && !now.truncated {
                shared.counted(&before.place, now.files.values().map(|file| file.size).sum())?;
            }
            diff.hold(shared, &before, &running, user)?;
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
            fresh.iter().try_for_each(|mark| marks::add(&shared.marks, tx, mark))?;
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
        let written: Vec<&String> = diff.added.iter().chain(&diff.changed).chain(&diff.others).collect();
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
                && diff.versions.get(&text).is_some_and(|is| is.kind == EntryKind::Folder)
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
