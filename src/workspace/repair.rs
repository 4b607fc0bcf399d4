//! After a start: steps that were under way are finished or taken back, and what belongs to nothing is removed.

use crate::{
    Shared, Workspaces,
    access::finish,
    entry::changed_ns,
    marks,
    places::{HELD_FOLDER, PlaceRef},
    program::MARKED,
    records::{MarkRecord, Spot, StepRecord},
    running::{Running, now_ns},
    step::{FoundSpot, aside, triple},
    tree,
};
use rustix::fs::{AtFlags, renameat, statat, unlinkat};
use std::{collections::HashSet, sync::Arc};
use store::{Listing, Stamp, Tx};
use tokio::sync::MutexGuard;
use tool::{Id, Label, Result, Scope};

/// Whether what was interrupted before this start is settled.
#[derive(Default)]
pub(crate) struct Repaired(bool);

impl Workspaces {
    /// Finishes or takes back what a power cut interrupted, and removes new content that never got its name; the first change
    /// does so otherwise.
    pub async fn repair(&self) {
        let shared = self.0.clone();
        let looked: Result<()> = finish(async move {
            drop(shared.changes().await);
            Ok(())
        })
        .await;
        if let Err(error) = looked {
            tracing::warn!(%error, "interrupted changes of files could not be looked through");
        }
    }
}

impl Shared {
    /// Waits until nothing else changes its name, so that versions, marks and files agree. What a power cut interrupted is
    /// settled before anything is changed: its names may be taken again afterwards.
    pub(crate) async fn changes(self: &Arc<Self>) -> MutexGuard<'_, Repaired> {
        let mut repaired = self.changing.lock().await;
        if !repaired.0 {
            match self.repair_all().await {
                Ok(()) => repaired.0 = true,
                Err(error) => tracing::warn!(%error, "interrupted changes of files could not be looked through"),
            }
        }
        self.remember_labels().await;
        repaired
    }

    async fn repair_all(self: &Arc<Self>) -> Result<()> {
        for entry in self.steps.list_in(Scope::Household, &Listing::default())? {
            if entry.id < self.started
                && let Err(error) = self.repair_step(entry.id, entry.value).await
            {
                tracing::warn!(%error, "an interrupted change of a file waits for its disk");
            }
        }
        self.repair_programs().await?;
        self.sweep().await
    }

    /// Marks what programs wrote that ran when Hob ended: what changed since each began, or the whole place.
    pub(crate) async fn repair_programs(self: &Arc<Self>) -> Result<()> {
        for entry in self.runs.list_in(Scope::Household, &Listing::default())? {
            if entry.id >= self.started {
                continue;
            }
            let running = Arc::new(Running::stored(entry.id, &entry.value));
            let label = self.label_now(&running)?;
            for key in entry.value.writes.iter().filter(|_| label != Label::Own) {
                let Some(place) = self.place_by_key(key) else { continue };
                let (looked, of) = (running.clone(), place.clone());
                let written = self.on_disk(move |shared| shared.written_since(&of, &looked)).await;
                let paths = written.unwrap_or_default();
                let marks: Vec<MarkRecord> = match paths {
                    Some(paths) => paths.iter().map(|path| MarkRecord::new(key, path, label)).collect(),
                    None => vec![MarkRecord { whole: true, ..MarkRecord::new(key, "", label) }],
                };
                let shared = self.clone();
                let mark = move |tx: &Tx| marks.iter().try_for_each(|mark| marks::add(&shared.marks, tx, mark));
                store::without_change(self.store.write(mark)).await?;
            }
            self.end(entry.id).await?;
        }
        Ok(())
    }

    /// The paths that changed since a program began; `None` where that cannot be said.
    fn written_since(&self, place: &Arc<PlaceRef>, running: &Running) -> Result<Option<Vec<String>>> {
        // A clock that was set back says nothing.
        if now_ns() < running.since_ns {
            return Ok(None);
        }
        let root = self.root(place)?;
        let mut found = vec![];
        let whole = self.each(&root, None, |path, _, _, stat| {
            if root.denied.has(path.name().unwrap_or_default()) || root.guard.has(stat) {
                return false;
            }
            if running.was_after(changed_ns(stat)) && found.len() <= MARKED {
                found.push(path.text());
            }
            true
        })?;
        Ok((whole && found.len() <= MARKED).then_some(found))
    }

    async fn repair_step(self: &Arc<Self>, id: Id, step: StepRecord) -> Result<()> {
        let places = (self.place_by_key(&step.from.place), self.place_by_key(&step.to.place));
        let made = match places {
            (Some(from), Some(to)) => {
                let looked = step.clone();
                self.on_disk(move |shared| shared.was_made(&looked, (&from, &to))).await?
            }
            // Its folder was removed from the workspace.
            _ => false,
        };
        let gone = match (made, step.exchange) {
            (true, false) => &step.from,
            (false, false) => &step.to,
            // Both keep the marks of both: rather too many than too few.
            (true, true) => &Spot { path: String::new(), ..step.from.clone() },
            (false, true) => &step.from,
        };
        let stale = if gone.path.is_empty() { vec![] } else { self.mark_tree(&gone.marks_place(), &gone.path)? };
        let shared = self.clone();
        let settle = move |tx: &Tx| {
            crate::marks::remove(&shared.marks, tx, &stale)?;
            if made {
                if let Some(released) = step.released {
                    shared.held.remove(tx, Scope::Household, released)?;
                }
                if let Some((held, record)) = &step.held {
                    shared.held.put(tx, *held, &Stamp::household("workspace"), record)?;
                }
            }
            shared.steps.remove(tx, Scope::Household, id).map(drop)
        };
        Ok(self.store.write(settle).await?)
    }

    /// Whether a rename was made; one that was half made by other names is finished.
    fn was_made(&self, step: &StepRecord, (from, to): (&PlaceRef, &PlaceRef)) -> Result<bool> {
        let found = |place, spot| match self.find_spot(place, spot) {
            Err(tool::Error::NotFound(_)) => Ok(None),
            found => found.map(Some),
        };
        let (source, target) = (found(from, &step.from)?, found(to, &step.to)?);
        let Some(mut target) = target else { return Ok(false) };
        let Some(source) = source else { return Ok(is_moved(&target, step)) };
        let look = |at: &FoundSpot, name: &std::ffi::CStr| statat(&at.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if step.exchange {
            let aside = aside(&source.name);
            if look(&source, &aside).is_some() {
                if target.stat.is_none() && source.stat.is_some() {
                    let _ = renameat(&source.folder, source.name.as_c_str(), &target.folder, target.name.as_c_str());
                }
                if look(&source, &source.name).is_none() {
                    let _ = renameat(&source.folder, aside.as_c_str(), &source.folder, source.name.as_c_str());
                }
                target.stat = look(&target, &target.name);
            }
            return Ok(is_moved(&target, step));
        }
        match (&source.stat, &target.stat) {
            (None, Some(_)) => Ok(is_moved(&target, step)),
            // A link was made and the first name not yet removed.
            (Some(a), Some(b)) if a.st_ino == b.st_ino && a.st_dev == b.st_dev => {
                Ok(unlinkat(&source.folder, source.name.as_c_str(), AtFlags::empty()).is_ok())
            }
            _ => Ok(false),
        }
    }

    /// Removes files that are held for nothing: new content of changes that were not made.
    async fn sweep(self: &Arc<Self>) -> Result<()> {
        let mut known = HashSet::new();
        self.held.scan(|entry| {
            known.insert(entry.id);
        })?;
        for entry in self.steps.list_in(Scope::Household, &Listing::default())? {
            for spot in [&entry.value.from, &entry.value.to].into_iter().filter(|spot| spot.held) {
                known.extend(spot.path.parse::<Id>().ok());
            }
        }
        self.on_disk(move |shared| {
            let own = shared.own_folder(std::path::Path::new(HELD_FOLDER));
            let keys = own.and_then(crate::resolve::names).unwrap_or_default();
            let keys = keys.iter().filter_map(|name| name.to_str().ok()).map(|name| name.replacen('-', "/", 1));
            let mut places: Vec<Arc<PlaceRef>> = keys.filter_map(|key| shared.place_by_key(&key)).collect();
            let added = shared.added.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            places.extend(added.into_iter().filter(|place| !place.read_only));
            for place in places {
                let Ok(Some(folder)) = shared.held_folder_if(&place, false) else { continue };
                for name in crate::resolve::names(&folder).unwrap_or_default() {
                    let id = name.to_str().ok().and_then(|name| name.parse::<Id>().ok());
                    if id.is_some_and(|id| id < shared.started && !known.contains(&id)) {
                        let _ = tree::remove(&folder, &name);
                    }
                }
            }
            Ok(())
        })
        .await
    }
}

/// Whether what is at the target is what was to be moved there. A file system without lasting inodes has the time and the size.
fn is_moved(target: &FoundSpot, step: &StepRecord) -> bool {
    let Some(stat) = &target.stat else { return false };
    let (ino, at, size) = triple(stat);
    ino == step.moved.0 || (at, size) == (step.moved.1, step.moved.2)
}
