//! Undoing changes of files: what brings each back.

use crate::{
    Located, RelPath, Shared, Workspaces,
    access::{finish, require_writable},
    entry::version_of,
    journal::{Before, EMPTY, spot},
    places::PlaceRef,
    records::{HeldKind, HeldRecord, Spot},
    step::Plan,
};
use rustix::fs::Stat;
use std::sync::Arc;
use store::Part;
use tool::{Cx, Error, Id, Result, Scope};

impl Workspaces {
    /// Undoes one part of a change, if the file is still as the change left it; `false` otherwise.
    ///
    /// # Errors
    /// `Denied` where the caller may not change the file; as every change.
    pub async fn undo(&self, cx: &Cx, part: &Part) -> Result<bool> {
        let (shared, cx, part) = (self.0.clone(), cx.clone(), part.clone());
        finish(async move { shared.undo(&cx, &part).await }).await
    }

    /// Why a part cannot be undone, where that is not because it was changed since; without the end of the sentence.
    pub fn why_kept(&self, part: &Part) -> Option<String> {
        let before = part.before.as_deref().map(postcard::from_bytes::<Before>);
        matches!(before, Some(Ok(Before::Lost))).then(|| {
            format!("`{}` cannot be brought back: a program wrote into it or deleted it, and Hob keeps no copy of very large files, of large ones that are written into, and of folders such as `.git`", part.title)
        })
    }

    /// Whether the file of a part is in a repository of git, whose commits no undo takes back.
    pub async fn is_in_repository(&self, cx: &Cx, part: &Part) -> bool {
        let Some((key, path)) = spot(part) else { return false };
        let place = self.0.visible(cx).into_iter().find(|place| place.key == key);
        let (Some(place), Ok(path)) = (place, RelPath::parse(path)) else { return false };
        let look = move |shared: &Arc<Shared>| {
            let root = shared.root(&place)?;
            let mut folder = path.parent();
            while let Some(at) = folder {
                if root.resolve(&at.join(".git"), false).is_ok_and(|found| found.stat.is_some()) {
                    return Ok(true);
                }
                folder = at.parent();
            }
            Ok(false)
        };
        self.0.on_disk(look).await.unwrap_or(false)
    }

    /// The state after a part was undone, without the end of the sentence.
    pub fn undone_words(&self, part: &Part) -> String {
        let name = &part.title;
        match (part.before.as_deref().map(postcard::from_bytes::<Before>), part.after.is_empty()) {
            (None, _) => format!("`{name}` is gone again"),
            (Some(Ok(Before::Moved { path, .. })), _) => format!("`{name}` is at `{path}` again"),
            (Some(_), true) => format!("`{name}` is back"),
            (Some(_), false) => format!("`{name}` is as it was before"),
        }
    }
}

impl Shared {
    async fn undo(self: &Arc<Self>, cx: &Cx, part: &Part) -> Result<bool> {
        let Some((key, path)) = spot(part) else { return Ok(false) };
        let Some(place) = self.visible(cx).into_iter().find(|place| place.key == key) else {
            return Err(Error::denied("the file is in a place that you cannot reach any more"));
        };
        let located = Located { place, path: RelPath::parse(path)?, first: false };
        require_writable(cx, &located)?;
        let _changing = self.changes().await;
        let there = match self.look(&located, false).await {
            // A path that leads through a link now is another one.
            Ok((found, there)) if found.path == located.path => there,
            Ok(_) | Err(Error::NotFound(_)) => None,
            Err(e) => return Err(e),
        };
        let (after, made_empty) = match part.after.strip_prefix(EMPTY) {
            Some(after) => (after, true),
            None => (part.after.as_slice(), false),
        };
        let is_as_left = match &there {
            Some(stat) => version_of(stat).as_bytes() == after,
            None => part.after.is_empty(),
        };
        if !is_as_left {
            return Ok(false);
        }
        let before = match &part.before {
            None => None,
            Some(bytes) => match postcard::from_bytes::<Before>(bytes) {
                Ok(before) => Some(before),
                Err(_) => return Ok(false),
            },
        };
        let undone = match (before, there) {
            (None, Some(stat)) => self.undo_added(cx, &located, &stat, made_empty).await,
            (Some(Before::Held(id)), None) => self.undo_deleted(cx, &located, id).await,
            (Some(Before::Held(id)), Some(stat)) => self.undo_changed(cx, &located, id, &stat).await,
            (Some(Before::Moved { place, path }), Some(_)) => self.undo_moved(cx, &located, &place, &path).await,
            (Some(Before::Lost), _) | (None | Some(Before::Moved { .. }), None) => Ok(false),
        }?;
        if undone {
            self.announce(cx, &located, "changed");
        }
        Ok(undone)
    }

    /// What was added goes into the trash; a folder only while it is empty.
    async fn undo_added(self: &Arc<Self>, cx: &Cx, located: &Located, stat: &Stat, made_empty: bool) -> Result<bool> {
        if made_empty && self.has_entries(located).await? {
            return Ok(false);
        }
        self.put_away(cx, located, stat, HeldKind::Trash).await?;
        Ok(true)
    }

    async fn has_entries(self: &Arc<Self>, located: &Located) -> Result<bool> {
        let located = located.clone();
        self.on_disk(move |shared| {
            let folder = shared.root(&located.place)?.open_folder(&located.path)?;
            let names = crate::resolve::names(folder).map_err(|e| crate::resolve::error(e, &located.display()))?;
            Ok(!names.is_empty())
        })
        .await
    }

    fn held_of(&self, place: &PlaceRef, id: Id) -> Result<Option<HeldRecord>> {
        let found = self.held.get_in(Scope::Household, id)?.map(|entry| entry.value);
        Ok(found.filter(|record| record.place == place.key))
    }

    async fn undo_deleted(self: &Arc<Self>, cx: &Cx, located: &Located, id: Id) -> Result<bool> {
        if self.held_of(&located.place, id)?.is_none() {
            return Ok(false);
        }
        self.bring_back(cx, located, id).await?;
        Ok(true)
    }

    async fn undo_changed(self: &Arc<Self>, cx: &Cx, located: &Located, id: Id, stat: &Stat) -> Result<bool> {
        if self.held_of(&located.place, id)?.is_none() {
            return Ok(false);
        }
        let record = self.held_record(cx, located, HeldKind::Version, stat, crate::entry::size_of(stat));
        let plan = Plan {
            exchange: true,
            held: Some((id, record)),
            ..Plan::of(
                (located.place.clone(), Spot::held(&located.place, id)),
                (located.place.clone(), Spot::at(&located.place, &located.path)),
            )
        };
        let part = located.clone();
        self.apply(plan, move |stat| vec![Before::part(&part, Some(Before::Held(id)), &version_of(stat))]).await?;
        Ok(true)
    }

    async fn undo_moved(self: &Arc<Self>, cx: &Cx, located: &Located, place: &str, path: &str) -> Result<bool> {
        let Some(place) = self.visible(cx).into_iter().find(|other| other.key == place) else { return Ok(false) };
        let target = Located { place, path: RelPath::parse(path)?, first: false };
        require_writable(cx, &target)?;
        if let Some(parent) = target.parent() {
            self.make_folders(cx, &parent).await?;
        }
        if !matches!(self.look(&target, false).await?, (_, None)) {
            return Ok(false);
        }
        let plan = Plan::of(
            (located.place.clone(), Spot::at(&located.place, &located.path)),
            (target.place.clone(), Spot::at(&target.place, &target.path)),
        );
        let before = Before::Moved { place: located.place.key.clone(), path: located.path.text() };
        self.apply(plan, move |stat| vec![Before::part(&target, Some(before), &version_of(stat))]).await?;
        Ok(true)
    }
}
