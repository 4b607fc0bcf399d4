//! Undoing changes, and removing old ones from the journal.

use super::{Part, Segment, digest};
use crate::{Listing, Result, Stamp, Store, Tx, rows};
use std::collections::HashMap;
use tool::{Id, Scope, UserId};

/// How many changes of a person are journaled, and their bytes.
const MOST: usize = 2000;
const BYTES: usize = 4 << 20;
/// The size of a part besides its record, roughly.
const PART: usize = 160;
/// How many segments one commit removes.
const REMOVED: usize = 500;

/// The outcome of undoing one part of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutBack {
    /// The record is as it was before the change, or gone if there was none.
    Done,
    /// It was changed since, and left alone.
    ChangedSince,
    /// Records of this kind are not in the store.
    NotStored,
}

impl Store {
    /// Within a write: makes a record what it was before a change, if it still is as the change left it. It keeps its label.
    ///
    /// # Errors
    /// `Conflict` when a unique value is taken by now; as every write.
    pub fn put_back(&self, tx: &Tx, part: &Part) -> Result<PutBack> {
        let Some((kind, before)) = self.stored_part(part)? else { return Ok(PutBack::NotStored) };
        let (Some(scope), id) = (part.scope(), rows::id_of(&part.key)?) else { return Ok(PutBack::NotStored) };
        let now = rows::read(kind, tx, scope, id)?;
        if before.is_none() && now.is_none() {
            // A reminder that has fired is gone already, for example.
            return Ok(PutBack::Done);
        }
        let state = match &now {
            Some(now) => digest(kind, &*now.value, now.audience)?,
            None => vec![],
        };
        if state != part.after {
            return Ok(PutBack::ChangedSince);
        }
        let Some(before) = before else {
            rows::remove(kind, tx, scope, id)?;
            return Ok(PutBack::Done);
        };
        let (mut value, rest) = before.split();
        if let Some(undo) = &kind.undo {
            (undo.revive)(&mut *value, now.as_ref().map(|now| &*now.value as &dyn std::any::Any));
        }
        let stamp = Stamp { scope, owner: rest.owner, audience: rest.audience, label: rest.label, source: rest.source };
        rows::put(kind, tx, id, &stamp, &*value, rest.tails)?;
        Ok(PutBack::Done)
    }

    /// Within a write: drops the records of a change and marks it as undone.
    ///
    /// # Errors
    /// As every write.
    pub fn close_change(&self, tx: &Tx, user: UserId, change: Id) -> Result<()> {
        self.edit_segments(tx, user, Some(change), |segment| {
            let concerned = segment.change == change && !segment.undone;
            if concerned {
                segment.undone = true;
                segment.parts.iter_mut().for_each(|part| part.before = None);
                // Without its record, a deletion has no use; the rest says what the change was.
                segment.parts.retain(|part| !part.after.is_empty());
            }
            concerned
        })
        .map(drop)
    }

    /// Within a write: removes the parts that `erase` accepts from the changes of a person.
    ///
    /// # Errors
    /// As every write.
    pub fn erase_copies(&self, tx: &Tx, user: UserId, mut erase: impl FnMut(&Part) -> bool) -> Result<usize> {
        self.edit_segments(tx, user, None, |segment| {
            let before = segment.parts.len();
            segment.parts.retain(|part| !erase(part));
            segment.parts.len() != before
        })
    }

    /// Changes the segments of a person for which `edit` returns true, from `since` on. One without parts is removed.
    fn edit_segments(
        &self,
        tx: &Tx,
        user: UserId,
        since: Option<Id>,
        mut edit: impl FnMut(&mut Segment) -> bool,
    ) -> Result<usize> {
        let (segments, scope, mut edited) = (self.collection::<Segment>(), Scope::User(user), 0);
        for entry in segments.list_in(scope, &Listing::default())? {
            if since.is_some_and(|since| entry.id < since) {
                break;
            }
            // As this transaction sees it.
            let Some(mut now) = segments.read(tx, scope, entry.id)? else { continue };
            if !edit(&mut now.value) {
                continue;
            }
            edited += 1;
            match now.value.parts.is_empty() && !now.value.undone {
                true => drop(segments.remove(tx, scope, now.id)?),
                false => super::put(tx, user, now.id, &now.value, now.label, &now.source)?,
            }
        }
        Ok(edited)
    }

    /// Removes changes older than `before_ms`, and of each person the oldest beyond the limits. Returns their number.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn prune_changes(&self, before_ms: u64) -> Result<usize> {
        let mut all: HashMap<UserId, Vec<(Id, usize)>> = HashMap::new();
        self.collection::<Segment>().scan(|entry| {
            let size = entry.value.parts.iter().map(|part| PART + part.before.as_ref().map_or(0, Vec::len)).sum();
            all.entry(entry.owner).or_default().push((entry.id, size));
        })?;
        let mut old = vec![];
        for (user, mut segments) in all {
            segments.sort_unstable_by(|a, b| b.cmp(a));
            let (mut count, mut bytes) = (0, 0);
            for (id, size) in segments {
                (count, bytes) = (count + 1, bytes + size);
                if id.millis() < before_ms || count > MOST || bytes > BYTES {
                    old.push((user, id));
                }
            }
        }
        for some in old.chunks(REMOVED) {
            let (segments, some) = (self.collection::<Segment>(), some.to_vec());
            let remove = move |tx: &Tx| {
                some.iter().try_for_each(|(user, id)| segments.remove(tx, Scope::User(*user), *id).map(drop))
            };
            self.write(remove).await?;
        }
        Ok(old.len())
    }

    /// Stores that a call changed something outside the store, such as a pin: visible at once, durable with the next commit.
    ///
    /// # Errors
    /// As [`Store::write_soon`].
    pub async fn note_outside(&self, part: Part) -> Result<()> {
        if super::source().is_none() {
            return Ok(());
        }
        self.write_soon(std::time::Duration::from_secs(2), move |tx| {
            tx.note_outside(part.clone());
            Ok(())
        })
        .await
    }
}
