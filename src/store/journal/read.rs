//! Reading the journal: the changes of a person, and what they deleted.

use super::{DELETED, Did, Part, Segment};
use crate::{
    Entry, Listing, Result, Store,
    kind::Kind,
    rows::{self, Found},
};
use std::{
    collections::{HashMap, HashSet},
    sync::PoisonError,
};
use tool::{Id, Label, Scope, UserId};

/// How many segments are read at a time.
const PIECE: usize = 50;

/// A change of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id, which has its time.
    pub id: Id,
    /// The person it was made for.
    pub user: UserId,
    /// The outermost changing tool.
    pub tool: String,
    /// The conversation it was made in.
    pub conversation: Option<Id>,
    /// The run it was part of.
    pub run: Option<Id>,
    /// Whether a schedule or a trigger made it.
    pub unattended: bool,
    /// The change that it undid.
    pub undoes: Option<Id>,
    /// Whether it was undone.
    pub undone: bool,
    /// Whether it was too large to be undone.
    pub too_large: bool,
    /// The worst label of its records.
    pub label: Label,
    /// Its records.
    pub parts: Vec<Part>,
}

impl Change {
    /// Whether it can be undone as far as its own data say.
    pub fn is_reversible(&self) -> bool {
        !self.undone && !self.too_large && !self.parts.is_empty()
    }
}

/// A deleted record.
#[derive(Debug, Clone, PartialEq)]
pub struct BinItem {
    /// The change that deleted it.
    pub change: Id,
    /// When: milliseconds since 1970.
    pub at_ms: u64,
    /// Its label.
    pub label: Label,
    /// The record.
    pub part: Part,
}

/// The segments of a change as one, the oldest first.
fn merged(head: Id, user: UserId, segments: Vec<Entry<Segment>>) -> Option<Change> {
    let first = segments.first()?;
    let mut change = Change {
        id: head,
        user,
        tool: first.source.clone(),
        conversation: first.value.conversation,
        run: first.value.run,
        unattended: first.value.unattended,
        undoes: first.value.undoes,
        undone: first.value.undone,
        too_large: false,
        label: Label::Own,
        parts: vec![],
    };
    let mut at: HashMap<(String, Vec<u8>), usize> = HashMap::new();
    for segment in segments {
        change.too_large |= segment.value.too_large;
        change.label = change.label.max(segment.label);
        for part in segment.value.parts {
            let place = (part.table.clone(), part.key.clone());
            match at.get(&place).and_then(|at| change.parts.get_mut(*at)) {
                Some(earlier) => *earlier = Part { before: earlier.before.take(), ..part },
                None => {
                    at.insert(place, change.parts.len());
                    change.parts.push(part);
                }
            }
        }
    }
    // Added and deleted again within the change.
    change.parts.retain(|part| part.before.is_some() || !part.after.is_empty());
    Some(change)
}

impl Store {
    pub(crate) fn kind_of(&self, table: &str) -> Option<&'static Kind> {
        self.0.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(table).copied()
    }

    /// The word for a record of a collection.
    pub fn word_of(&self, table: &str) -> Option<&'static str> {
        self.kind_of(table).map(|kind| kind.word)
    }

    /// Whether records of a collection are parts of others; see [`Record::PART`](crate::Record::PART).
    pub fn is_part(&self, table: &str) -> bool {
        self.kind_of(table).and_then(|kind| kind.undo.as_ref()).is_some_and(|undo| undo.part)
    }

    /// The changes of a person, the newest first, until `wanted` of them pass `wants`.
    ///
    /// # Errors
    /// As every read.
    pub fn changes(&self, user: UserId, wanted: usize, mut wants: impl FnMut(&Change) -> bool) -> Result<Vec<Change>> {
        let (mut open, mut found) = (HashMap::<Id, Vec<Entry<Segment>>>::new(), vec![]);
        let mut before = None;
        loop {
            let listing = Listing { before, limit: PIECE, ..Listing::default() };
            let piece = self.collection::<Segment>().list_in(Scope::User(user), &listing)?;
            before = piece.last().map(|last| last.id);
            let last = piece.len() < PIECE;
            for segment in piece {
                let (id, head) = (segment.id, segment.value.change);
                open.entry(head).or_default().insert(0, segment);
                if id == head {
                    let change = open.remove(&head).and_then(|segments| merged(head, user, segments));
                    found.extend(change.filter(&mut wants));
                }
                if found.len() == wanted {
                    return Ok(found);
                }
            }
            if last {
                return Ok(found);
            }
        }
    }

    /// One change of a person.
    ///
    /// # Errors
    /// As every read.
    pub fn change(&self, user: UserId, id: Id) -> Result<Option<Change>> {
        if self.collection::<Segment>().get_in(Scope::User(user), id)?.is_none() {
            return Ok(None);
        }
        Ok(self.changes(user, 1, |change| change.id == id)?.pop())
    }

    /// The records that a person deleted, the newest first.
    ///
    /// # Errors
    /// As every read.
    pub fn bin(&self, user: UserId) -> Result<Vec<BinItem>> {
        let listing = Listing { by: Some((DELETED, vec![])), ..Listing::default() };
        let (mut seen, mut all) = (HashSet::new(), vec![]);
        for segment in self.collection::<Segment>().list_in(Scope::User(user), &listing)? {
            let (change, at_ms) = (segment.value.change, segment.id.millis());
            for part in segment.value.parts.into_iter().filter(|part| part.did() == Did::Deleted) {
                if seen.insert((part.table.clone(), part.key.clone())) {
                    all.push(BinItem { change, at_ms, label: segment.label, part });
                }
            }
        }
        Ok(all)
    }

    /// A record as a part of a change stores it; `None` where it cannot be read.
    pub(crate) fn stored_part(&self, part: &Part) -> Result<Option<(&'static Kind, Option<Found>)>> {
        let Some(kind) = self.kind_of(&part.table).filter(|kind| kind.undo.is_some()) else { return Ok(None) };
        let found = part.before.as_ref().map(|bytes| rows::entry(kind, &part.key, bytes)).transpose()?;
        Ok(Some((kind, found)))
    }
}
