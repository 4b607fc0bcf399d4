//! Marks of the records that a start looks at: unfinished runs and temporary conversations. With them a start reads these alone,
//! however many others there are.
//!
//! A write of such a record sets or removes its mark in the same commit. [`Marked`] names the lineage of the data in which every
//! record is marked; in another one (a Hob without marks wrote, or a backup was restored) a start reads all records, and marks
//! them again. A mark may be stale, so the record itself decides.

use serde::{Deserialize, Serialize};
use store::{Audience, Collection, Error, Level, Listing, Record, Result, Stamp, Store, Tx};
use tool::{Id, Label, Scope, UserId};

/// That all records of a kind are marked, under the id of the kind. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Marked {
    /// The lineage of the data.
    lineage: Id,
}

impl Record for Marked {
    const NAME: &'static str = "start-marked";
    const WORD: &'static str = "state of the marks for a start";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// A mark, under the id of its record. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mark {
    /// The kind of the record.
    kind: u8,
    /// The person whose record it is.
    user: UserId,
}

impl Record for Mark {
    const NAME: &'static str = "start-marks";
    const WORD: &'static str = "mark for a start";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// The marks of one kind of records.
#[derive(Clone)]
pub(crate) struct StartMarks {
    kind: u8,
    marked: Collection<Marked>,
    marks: Collection<Mark>,
}

impl StartMarks {
    /// The marks of a kind; its number is part of the stored form.
    pub fn new(store: &Store, kind: u8) -> Self {
        Self { kind, marked: store.collection(), marks: store.collection() }
    }

    fn state_id(&self) -> Id {
        Id::from_bytes([self.kind; 16])
    }

    /// Within a write: marks a record of a person, or removes its mark.
    pub fn set(&self, tx: &Tx, scope: Scope, id: Id, marked: bool) -> Result<()> {
        let Scope::User(user) = scope else { return Ok(()) };
        let is_marked = match self.marks.read(tx, Scope::Household, id) {
            Ok(mark) => mark.is_some(),
            // A damaged mark must not stop a write.
            Err(Error::Damaged(_)) => !marked,
            Err(error) => return Err(error),
        };
        match (is_marked, marked) {
            (false, true) => {
                let mark = Mark { kind: self.kind, user };
                self.marks.put(tx, id, &stamp(user), &mark).map(drop)
            }
            (true, false) => self.marks.remove(tx, Scope::Household, id).map(drop),
            _ => Ok(()),
        }
    }

    /// The marked records; `None` where not every record is marked, or a mark cannot be read.
    pub fn all(&self) -> Result<Option<Vec<(UserId, Id)>>> {
        let lineage = self.marked.store().lineage();
        let state = match self.marked.get_in(Scope::Household, self.state_id()) {
            Err(Error::Damaged(_)) => None,
            state => state?,
        };
        if state.is_none_or(|state| state.value.lineage != lineage) || !self.marks.is_whole_in(Scope::Household)? {
            return Ok(None);
        }
        let marks = self.marks.list_in(Scope::Household, &Listing::default())?;
        let own = marks.into_iter().filter(|mark| mark.value.kind == self.kind);
        Ok(Some(own.map(|mark| (mark.value.user, mark.id)).collect()))
    }

    /// Within a write: notes that every record is marked.
    pub fn finish(&self, tx: &Tx) -> Result<()> {
        let state = Marked { lineage: self.marked.store().lineage() };
        self.marked.put(tx, self.state_id(), &Stamp::household("start"), &state).map(drop)
    }
}

fn stamp(owner: UserId) -> Stamp {
    let (scope, audience) = (Scope::Household, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: String::new() }
}
