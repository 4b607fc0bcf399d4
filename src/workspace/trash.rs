//! The trash: deleted files and folders for 30 days, and earlier contents for undoing.

use crate::{
    Located, RelPath, Shared, Workspaces,
    access::{finish, require_writable},
    entry::{Entry, EntryKind, version_of},
    journal::Before,
    places::PlaceRef,
    records::{BY_PLACE, HeldKind, HeldRecord, Spot, path_key},
    resolve::{error, missing},
    staging::held_name,
    step::Plan,
    tree,
};
use rustix::fs::Stat;
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use store::{Tx, Visit, Walk};
use tool::{
    Cx, Error, Id, Label, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// How long something stays in the trash, and an earlier content.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// The most things of a place that are held.
const MOST: usize = 5_000;
/// The most bytes of earlier contents of a place; beyond that the oldest go.
pub(crate) const VERSIONS: u64 = 512 << 20;

/// Something in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrashEntry {
    pub id: Id,
    /// The id of its place.
    pub place: String,
    /// Where it was.
    pub path: String,
    pub name: String,
    pub kind: EntryKind,
    /// Its bytes, with all that is in it.
    pub size: u64,
    /// When it was deleted: milliseconds since 1970.
    pub deleted_at: u64,
}

impl Workspaces {
    /// Deletes a file or folder: it goes into the trash.
    ///
    /// # Errors
    /// `NotFound`; `Denied`; `BadArgs` for a place itself.
    pub async fn delete(&self, cx: &Cx, located: &Located) -> Result<TrashEntry> {
        require_writable(cx, located)?;
        let (shared, cx, asked) = (self.0.clone(), cx.clone(), located.clone());
        finish(async move {
            let _changing = shared.changes().await;
            let (located, there) = shared.look(&asked, false).await?;
            let Some(stat) = there else { return Err(missing(&asked.display())) };
            if located.path.is_root() {
                return Err(Error::bad_args("a place itself cannot be deleted: name something in it"));
            }
            let (id, record) = shared.put_away(&cx, &located, &stat, HeldKind::Trash).await?;
            shared.announce(&cx, &asked, "deleted");
            Ok(TrashEntry::of(&located.place, id, &record))
        })
        .await
    }

    /// What is in the trash of the places that this caller sees, the latest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn trash(&self, cx: &Cx) -> Result<Vec<TrashEntry>> {
        let mut found = vec![];
        for place in self.0.visible(cx) {
            for (id, record) in self.0.held_for(&place)? {
                if record.kind == HeldKind::Trash {
                    found.push(TrashEntry::of(&place, id, &record));
                }
            }
        }
        found.sort_by_key(|entry| std::cmp::Reverse(entry.deleted_at));
        Ok(found)
    }

    /// Brings something back from the trash: where it was, or under a free name beside that.
    ///
    /// # Errors
    /// `NotFound` where it is not in the trash; `Denied`.
    pub async fn restore(&self, cx: &Cx, id: Id) -> Result<(String, Entry)> {
        let (place, record) = self.0.held_visible(cx, id)?;
        let located = Located { path: RelPath::parse(&record.path)?, first: false, place };
        require_writable(cx, &located)?;
        let (shared, cx) = (self.0.clone(), cx.clone());
        finish(async move {
            let _changing = shared.changes().await;
            let target = shared.free_name(&located).await?;
            let stat = shared.bring_back(&cx, &target, id).await?;
            shared.announce(&cx, &target, "added");
            let outside = shared.label_of(&cx, &target.place, &target.path, &stat)? == Label::Outside;
            let entry = Entry::new(target.name().unwrap_or_default(), target.path.text(), &stat, outside);
            Ok((target.place.id.clone(), entry))
        })
        .await
    }

    /// Removes what is in the trash for good: of one place, or of all that the caller may change. Returns how many.
    ///
    /// # Errors
    /// `NotFound` for a place that the caller does not see; `Denied`.
    pub async fn empty_trash(&self, cx: &Cx, place: Option<&str>) -> Result<usize> {
        let mut places = self.0.visible(cx);
        if let Some(id) = place {
            let located = self.locate_in(cx, id, "")?;
            require_writable(cx, &located)?;
            places.retain(|place| place.id == id);
        }
        places.retain(|place| {
            require_writable(cx, &Located { place: place.clone(), path: RelPath::default(), first: false }).is_ok()
        });
        let shared = self.0.clone();
        finish(async move {
            let _changing = shared.changes().await;
            let mut count = 0;
            for place in places {
                let held = shared.held_for(&place)?;
                let gone: Vec<_> = held.into_iter().filter(|(_, record)| record.kind == HeldKind::Trash).collect();
                count += gone.len();
                shared.drop_held(&place, gone).await?;
            }
            Ok(count)
        })
        .await
    }

    /// Removes what is held for longer than 30 days, or beyond the bounds. Called now and then.
    pub async fn prune(&self) {
        let before = Id::now_ms().saturating_sub(KEPT.as_millis() as u64);
        let shared = self.0.clone();
        let pruned: Result<()> = finish(async move {
            let _changing = shared.changes().await;
            let mut places: Vec<String> = vec![];
            shared.held.scan(|entry| {
                if !places.contains(&entry.value.place) {
                    places.push(entry.value.place);
                }
            })?;
            for place in places.iter().filter_map(|key| shared.place_by_key(key)) {
                let held = shared.held_for(&place)?;
                let (mut bytes, count) = (0u64, held.len());
                let gone: Vec<(Id, HeldRecord)> = held
                    .into_iter()
                    .rev()
                    .enumerate()
                    .filter(|(at, (_, record))| {
                        let versions = record.kind == HeldKind::Version;
                        bytes = bytes.saturating_add(if versions { record.size } else { 0 });
                        record.at_ms < before || *at >= MOST || versions && bytes > VERSIONS
                    })
                    .map(|(_, held)| held)
                    .collect();
                tracing::debug!(place = place.id, count, gone = gone.len(), "looked through what is held");
                shared.drop_held(&place, gone).await?;
            }
            Ok(())
        })
        .await;
        if let Err(error) = pruned {
            tracing::warn!(%error, "old files in the trash could not be removed");
        }
    }
}

impl Workspaces {
    /// This path, or one with a number where something is there: `bill (2).pdf`.
    ///
    /// # Errors
    /// `BadArgs` where a thousand are taken; `Unavailable` where the place cannot be reached.
    pub async fn free_name(&self, located: &Located) -> Result<Located> {
        self.0.free_name(located).await
    }
}

impl TrashEntry {
    fn of(place: &PlaceRef, id: Id, record: &HeldRecord) -> Self {
        let name = record.path.rsplit('/').next().unwrap_or_default().to_owned();
        Self {
            id,
            place: place.id.clone(),
            path: record.path.clone(),
            name,
            kind: if record.is_folder { EntryKind::Folder } else { EntryKind::File },
            size: record.size,
            deleted_at: record.at_ms,
        }
    }
}

impl Shared {
    /// What is held for a place, the oldest first.
    pub(crate) fn held_for(&self, place: &PlaceRef) -> Result<Vec<(Id, HeldRecord)>> {
        let walk = Walk::prefix(BY_PLACE, path_key(&place.key, "", 0));
        let found = self.held.walk_in(Scope::Household, &walk, |_| Visit::Yes)?;
        let mut held: Vec<_> = found.into_iter().map(|entry| (entry.id, entry.value)).collect();
        held.sort_by_key(|(id, record)| (record.at_ms, *id));
        Ok(held)
    }

    fn held_visible(&self, cx: &Cx, id: Id) -> Result<(Arc<PlaceRef>, HeldRecord)> {
        let found = self.held.get_in(Scope::Household, id)?.map(|entry| entry.value);
        let place = |record: &HeldRecord| self.visible(cx).into_iter().find(|place| place.key == record.place);
        let both =
            found.filter(|record| record.kind == HeldKind::Trash).and_then(|record| Some((place(&record)?, record)));
        both.ok_or_else(|| Error::not_found("it is not in the trash any more: list the trash"))
    }

    /// Puts something into the trash, or away as an earlier content. The caller holds `changing`.
    pub(crate) async fn put_away(
        self: &Arc<Self>,
        cx: &Cx,
        located: &Located,
        stat: &Stat,
        kind: HeldKind,
    ) -> Result<(Id, HeldRecord)> {
        let (id, counted) = (Id::new(), located.clone());
        let size = self.on_disk(move |shared| {
            let found = shared.root(&counted.place)?.resolve(&counted.path, false)?;
            tree::size(&found.folder, &found.name).map_err(|e| error(e, &counted.display()))
        });
        let record = self.held_record(cx, located, kind, stat, size.await?.0);
        let plan = Plan {
            held: Some((id, record.clone())),
            ..Plan::of(
                (located.place.clone(), Spot::at(&located.place, &located.path)),
                (located.place.clone(), Spot::held(&located.place, id)),
            )
        };
        let part = located.clone();
        self.apply(plan, move |_| vec![Before::deleted(&part, id)]).await?;
        Ok((id, record))
    }

    /// Gives something held a name that is free. The caller holds `changing`.
    pub(crate) async fn bring_back(self: &Arc<Self>, cx: &Cx, target: &Located, id: Id) -> Result<Stat> {
        if let Some(parent) = target.parent() {
            self.make_folders(cx, &parent).await?;
        }
        let plan = Plan {
            released: Some(id),
            ..Plan::of(
                (target.place.clone(), Spot::held(&target.place, id)),
                (target.place.clone(), Spot::at(&target.place, &target.path)),
            )
        };
        let part = target.clone();
        self.apply(plan, move |stat| vec![Before::part(&part, None, &version_of(stat))]).await
    }

    /// The path, or one with a number where it is taken.
    async fn free_name(self: &Arc<Self>, located: &Located) -> Result<Located> {
        let name = located.name().unwrap_or_default().to_owned();
        let (stem, end) = match name.rsplit_once('.') {
            Some((stem, end)) if !stem.is_empty() => (stem.to_owned(), format!(".{end}")),
            _ => (name.clone(), String::new()),
        };
        let folder = located.parent().unwrap_or_else(|| located.at(RelPath::default()));
        for number in 1..1000 {
            let name = if number == 1 { name.clone() } else { format!("{stem} ({number}){end}") };
            let at = folder.join(&name);
            match self.look(&at, false).await {
                Ok((_, None)) | Err(Error::NotFound(_)) => return Ok(at),
                Ok(_) => {}
                Err(e) => return Err(e),
            }
        }
        Err(Error::bad_args(format!("there are too many files called `{name}`: rename some")))
    }

    /// Removes what is held: first the record, then the file, which a start removes otherwise. The caller holds `changing`.
    async fn drop_held(self: &Arc<Self>, place: &Arc<PlaceRef>, gone: Vec<(Id, HeldRecord)>) -> Result<()> {
        for some in gone.chunks(200) {
            let mut marks = vec![];
            for (id, _) in some {
                let spot = Spot::held(place, *id);
                marks.extend(self.mark_tree(&spot.marks_place(), &spot.path)?);
            }
            let (shared, ids): (Arc<Self>, Vec<Id>) = (self.clone(), some.iter().map(|(id, _)| *id).collect());
            let remove = move |tx: &Tx| {
                crate::marks::remove(&shared.marks, tx, &marks)?;
                ids.iter().try_for_each(|id| shared.held.remove(tx, Scope::Household, *id).map(drop))
            };
            store::without_change(self.store.write(remove)).await?;
            let (place, some) = (place.clone(), some.to_vec());
            let removed = self.on_disk(move |shared| {
                let folder = shared.held_folder(&place)?;
                for (id, record) in &some {
                    match tree::remove(&folder, &held_name(*id)) {
                        Ok(()) => shared.usage.add(&place.key, -i64::try_from(record.size).unwrap_or(i64::MAX)),
                        Err(e) => {
                            tracing::warn!(%e, "a file in the trash could not be removed: the next start tries again")
                        }
                    }
                }
                Ok(())
            });
            // A disk that is away takes its trash along; what is on it goes when it is there at a start.
            if let Err(error) = removed.await {
                tracing::warn!(%error, "the trash could not be reached");
            }
        }
        Ok(())
    }
}
