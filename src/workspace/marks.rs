//! Marks: which files have words from outside, or of another member, in them. They go with their file through every change.

use crate::{
    Shared,
    entry::version_of,
    path::RelPath,
    places::PlaceRef,
    records::{BY_PATH, MarkRecord, Spot, path_key},
    running::{Running, label_by},
};
use rustix::fs::Stat;
use std::{collections::HashMap, sync::Arc};
use store::{Collection, Stamp, Tx, Visit, Walk};
use tool::{Cx, Id, Label, Result, Scope, UserId};

/// The most marks of a place; beyond that a folder is marked as a whole.
pub(crate) const MOST: usize = 10_000;

/// The labels of what is below one folder.
pub(crate) struct FolderMarks {
    /// Of all that is not marked.
    rest: Label,
    /// By path.
    single: HashMap<String, MarkRecord>,
    /// Folders that are marked as a whole, with `/` at the end.
    whole: Vec<(String, MarkRecord)>,
    place: String,
    /// Programs that write it now.
    running: Vec<(Arc<Running>, Label)>,
}

impl FolderMarks {
    /// The label of one path for a reader, by what is there now.
    pub fn label(&self, path: &str, stat: &Stat, reader: UserId) -> Label {
        let single = self.single.get(path);
        let running = match self.running.is_empty() {
            true => Label::Own,
            false => label_by(&self.running, &self.place, path, Some(stat), Some(reader)),
        };
        if single.is_some_and(|mark| mark.label == Label::Own && mark.version == version_of(stat)) {
            return running;
        }
        let within = self.whole.iter().filter(|(folder, _)| path.starts_with(folder.as_str())).map(|(_, mark)| mark);
        within.chain(single).fold(self.rest.max(running), |label, mark| label.max(mark.label_for(reader)))
    }
}

impl Shared {
    /// The label of a file for this caller, by what is there now.
    pub(crate) fn label_of(&self, cx: &Cx, place: &PlaceRef, path: &RelPath, stat: &Stat) -> Result<Label> {
        self.label_if(cx, place, path, Some(stat))
    }

    /// The same where it may be gone meanwhile.
    pub(crate) fn label_if(&self, cx: &Cx, place: &PlaceRef, path: &RelPath, stat: Option<&Stat>) -> Result<Label> {
        let running = label_by(&self.running_in(&place.key)?, &place.key, &path.text(), stat, Some(cx.user()));
        let mut label = self.label_above(Some(cx.user()), place, path)?.max(running);
        if let Some(mark) = self.mark_at(&place.key, &path.text())? {
            if mark.label == Label::Own && stat.is_some_and(|stat| mark.version == version_of(stat)) {
                return Ok(running);
            }
            label = label.max(mark.label_for(cx.user()));
        }
        Ok(label)
    }

    /// The label of what is not marked itself, by the folders it is in; for a reader, or as it is stored.
    pub(crate) fn label_above(&self, reader: Option<UserId>, place: &PlaceRef, path: &RelPath) -> Result<Label> {
        let mut label = place.base_label();
        let mut folder = path.parent();
        while let Some(above) = folder {
            if let Some(mark) = self.mark_at(&place.key, &above.text())?.filter(|mark| mark.whole) {
                label = label.max(reader.map_or(mark.stored_label(), |reader| mark.label_for(reader)));
            }
            folder = above.parent();
        }
        Ok(label)
    }

    fn mark_at(&self, place: &str, path: &str) -> Result<Option<MarkRecord>> {
        let walk = Walk::prefix(BY_PATH, path_key(place, path, 0));
        let found = self.marks.walk_in(Scope::Household, &walk, |_| Visit::Yes)?;
        Ok(found.into_iter().next().map(|entry| entry.value))
    }

    /// The marks below a folder.
    fn marks_in(&self, place: &str, folder: &RelPath) -> Result<Vec<MarkRecord>> {
        Ok(self.marks_below(place, &folder.text())?.into_iter().map(|(_, mark)| mark).collect())
    }

    fn marks_below(&self, place: &str, path: &str) -> Result<Vec<(Id, MarkRecord)>> {
        let prefix = if path.is_empty() { [place.as_bytes(), &[0]].concat() } else { path_key(place, path, b'/') };
        let found = self.marks.walk_in(Scope::Household, &Walk::prefix(BY_PATH, prefix), |_| Visit::Yes)?;
        Ok(found.into_iter().map(|entry| (entry.id, entry.value)).collect())
    }

    /// The marks of a path and of all below it. They change only while `changing` is held.
    pub(crate) fn mark_tree(&self, place: &str, path: &str) -> Result<Vec<(Id, MarkRecord)>> {
        let mut found = self.marks_below(place, path)?;
        if !path.is_empty() {
            let walk = Walk::prefix(BY_PATH, path_key(place, path, 0));
            let own = self.marks.walk_in(Scope::Household, &walk, |_| Visit::Yes)?;
            found.extend(own.into_iter().map(|entry| (entry.id, entry.value)));
        }
        Ok(found)
    }

    /// The labels of what is below a folder, for a list of it or a walk.
    pub(crate) fn folder_marks(&self, cx: &Cx, place: &PlaceRef, folder: &RelPath) -> Result<FolderMarks> {
        let rest = self.label_above(Some(cx.user()), place, &folder.join("_"))?;
        let marks = self.marks_in(&place.key, folder)?;
        let whole =
            marks.iter().filter(|mark| mark.whole).map(|mark| (format!("{}/", mark.path), mark.clone())).collect();
        let single = marks.into_iter().map(|mark| (mark.path.clone(), mark)).collect();
        Ok(FolderMarks { rest, whole, single, place: place.key.clone(), running: self.running_in(&place.key)? })
    }

    /// The worst label of anything in a folder, for what reads all of it: also what programs write into its place now.
    pub(crate) fn worst_in(&self, reader: UserId, place: &PlaceRef, folder: &RelPath) -> Result<Label> {
        let running = label_by(&self.running_in(&place.key)?, &place.key, "", None, Some(reader));
        Ok(self.worst_marked(reader, place, folder)?.max(running))
    }

    /// The worst label of anything in a folder by its marks.
    pub(crate) fn worst_marked(&self, reader: UserId, place: &PlaceRef, folder: &RelPath) -> Result<Label> {
        let mut label = self.label_above(Some(reader), place, &folder.join("_"))?;
        for mark in self.marks_in(&place.key, folder)? {
            label = label.max(mark.label_for(reader));
        }
        Ok(label)
    }

    /// The label that something gets by being moved or copied by this caller, beside its own marks.
    pub(crate) fn moved_label(&self, cx: &Cx, from: &PlaceRef, to: &PlaceRef) -> Label {
        if from.shared { cx.label() } else { self.written_label(cx, to) }
    }

    /// The label of what this caller writes into a place: words of a member count as theirs where others read them.
    pub(crate) fn written_label(&self, cx: &Cx, place: &PlaceRef) -> Label {
        let own = cx.user() == UserId::OWNER || !place.shared;
        cx.label().max(if own { Label::Own } else { Label::Member(cx.user()) })
    }
}

impl crate::Workspaces {
    /// The worst label of anything in those places of this caller that are wanted, by their ids.
    ///
    /// # Errors
    /// As every read.
    pub fn worst_of(&self, cx: &Cx, wanted: impl Fn(&str) -> bool) -> Result<Label> {
        let seen = self.0.visible(cx).into_iter().filter(|place| wanted(&place.id));
        seen.map(|place| self.0.worst_in(cx.user(), &place, &RelPath::default()))
            .try_fold(Label::Own, |a, b| Ok(a.max(b?)))
    }
}

/// Within a write: the mark of a path, if it has one.
pub(crate) fn read(
    marks: &Collection<MarkRecord>,
    tx: &Tx,
    place: &str,
    path: &str,
) -> store::Result<Option<(Id, MarkRecord)>> {
    let found = marks.find(tx, Scope::Household, BY_PATH, &path_key(place, path, 0))?;
    Ok(found.into_iter().next().map(|entry| (entry.id, entry.value)))
}

/// Within a write: makes the mark of a path worse, if `label` is.
pub(crate) fn worsen(
    marks: &Collection<MarkRecord>,
    tx: &Tx,
    place: &str,
    path: &str,
    label: Label,
) -> store::Result<()> {
    if label == Label::Own {
        return Ok(());
    }
    let there = read(marks, tx, place, path)?;
    let before = there.as_ref().map_or(Label::Own, |(_, mark)| mark.stored_label());
    let whole = there.as_ref().is_some_and(|(_, mark)| mark.whole);
    let mark = MarkRecord { whole, ..MarkRecord::new(place, path, before.max(label)) };
    put(marks, tx, there.map(|(id, _)| id), &mark)
}

/// Within a write: adds a mark to what is marked there; of two labels the worse one counts.
pub(crate) fn add(marks: &Collection<MarkRecord>, tx: &Tx, mark: &MarkRecord) -> store::Result<()> {
    let there = read(marks, tx, &mark.place, &mark.path)?;
    let whole = mark.whole || there.as_ref().is_some_and(|(_, old)| old.whole);
    let label = there.as_ref().map_or(mark.stored_label(), |(_, old)| old.stored_label().max(mark.stored_label()));
    let mark = MarkRecord { whole, ..MarkRecord::new(&mark.place, &mark.path, label) };
    put(marks, tx, there.map(|(id, _)| id), &mark)
}

pub(crate) fn put(marks: &Collection<MarkRecord>, tx: &Tx, id: Option<Id>, mark: &MarkRecord) -> store::Result<()> {
    let new = Id::new();
    marks.put(tx, id.unwrap_or(new), &Stamp::household("workspace"), mark).map(drop)
}

/// Within a write: removes these marks.
pub(crate) fn remove(marks: &Collection<MarkRecord>, tx: &Tx, which: &[(Id, MarkRecord)]) -> store::Result<()> {
    which.iter().try_for_each(|(id, _)| marks.remove(tx, Scope::Household, *id).map(drop))
}

/// Within a write: gives another path these marks of a path and of what is below it. `rest` is the label of what is not marked
/// itself: what has it from a folder above, or from its place, has it itself elsewhere.
pub(crate) fn copy(
    marks: &Collection<MarkRecord>,
    tx: &Tx,
    which: &[(Id, MarkRecord)],
    (from, to): (&Spot, &Spot),
    rest: Label,
) -> store::Result<()> {
    let place = to.marks_place();
    for (_, mark) in which {
        let path = format!("{}{}", to.path, mark.path.get(from.path.len()..).unwrap_or_default());
        let there = read(marks, tx, &place, &path)?;
        let mut mark = MarkRecord { place: place.clone(), path, ..mark.clone() };
        if let Some((_, old)) = &there {
            // Of two marks, the worse one counts.
            let both = MarkRecord::new(&mark.place, &mark.path, old.stored_label().max(mark.stored_label()));
            mark = MarkRecord { whole: mark.whole || old.whole, ..both };
        }
        put(marks, tx, there.map(|(id, _)| id), &mark)?;
    }
    if rest != Label::Own {
        let there = read(marks, tx, &place, &to.path)?;
        let label = there.as_ref().map_or(Label::Own, |(_, mark)| mark.stored_label()).max(rest);
        let mark = MarkRecord { whole: true, ..MarkRecord::new(&place, &to.path, label) };
        put(marks, tx, there.map(|(id, _)| id), &mark)?;
    }
    Ok(())
}
