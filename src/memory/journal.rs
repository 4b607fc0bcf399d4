//! Decides whether the index file may be used, and which memories changed since it was written.
//!
//! Once a file exists or is about to, every write that changes what the index holds leaves a [`Mark`] in the same commit.
//! The [`IndexState`] names the generation of the file; it is written after the file, in the commit that begins to remove
//! the marks the file includes. So data that names a generation holds a mark for each change since. A restored backup
//! names none, and after a Hob that writes no marks the lineage differs: the index is built from the memories then.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Audience, Collection, Entry, Error, Level, Record, Result, Stamp, Store, Tx};
use tool::{Id, Label, Scope, UserId};

/// How many marks one commit removes.
const REMOVED: usize = 2000;

/// The index file. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexState {
    /// The generation of the file; the nil id before the first.
    pub generation: Id,
    /// The lineage of the data in which all changes since are marked.
    pub lineage: Id,
}

impl Record for IndexState {
    const NAME: &'static str = "memory-index";
    const WORD: &'static str = "state of the memory index";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// A change of the memory with the same id. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mark {
    /// Differs for each change, so that a later one is not removed with this one.
    change: Id,
}

impl Record for Mark {
    const NAME: &'static str = "memory-index-marks";
    const WORD: &'static str = "mark of a changed memory";
    const LEVEL: Level = Level::User;
    const STAYS: bool = true;
}

/// The marks that a file includes: the changes by owner and memory.
pub(crate) type Marks = HashMap<(UserId, Id), Id>;

#[derive(Clone)]
pub(crate) struct Journal {
    states: Collection<IndexState>,
    marks: Collection<Mark>,
}

impl Journal {
    pub fn new(store: &Store) -> Self {
        Self { states: store.collection(), marks: store.collection() }
    }

    /// The state, and when it was written; `None` where changes are not marked.
    pub fn state(&self) -> Result<Option<Entry<IndexState>>> {
        let state = match self.states.get_in(Scope::Household, Id::NIL) {
            Err(Error::Damaged(_)) => None,
            state => state?,
        };
        Ok(state.filter(|state| state.value.lineage == self.states.store().lineage()))
    }

    /// Within a write that changes what the index holds of a memory.
    pub fn mark(&self, tx: &Tx, owner: UserId, memory: Id) -> Result<()> {
        match self.states.read(tx, Scope::Household, Id::NIL) {
            Ok(None) => return Ok(()),
            // A damaged state must not stop a write.
            Ok(Some(_)) | Err(Error::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
        let stamp = Stamp {
            scope: Scope::User(owner),
            owner,
            audience: Audience::Private,
            label: Label::Own,
            source: String::new(),
        };
        self.marks.put(tx, memory, &stamp, &Mark { change: Id::new() }).map(drop)
    }

    /// All marks; `None` when one of them cannot be read.
    pub fn marks(&self) -> Result<Option<Marks>> {
        let stored = self.marks.store().stats()?.records.get(Mark::NAME).copied().unwrap_or_default();
        let mut all = Marks::new();
        self.marks.scan(|mark| all.extend([((mark.owner, mark.id), mark.value.change)]))?;
        Ok((all.len() as u64 >= stored).then_some(all))
    }

    /// Marks changes from now on.
    pub async fn begin(&self) -> Result<()> {
        self.name(Id::NIL).await
    }

    /// Names the generation of the file that includes `marks`, and removes these.
    pub async fn advance(&self, generation: Id, marks: Marks) -> Result<()> {
        self.name(generation).await?;
        let marks: Vec<_> = marks.into_iter().collect();
        for some in marks.chunks(REMOVED) {
            let (all, some) = (self.marks.clone(), some.to_vec());
            let remove = move |tx: &Tx| {
                for ((owner, memory), change) in &some {
                    let scope = Scope::User(*owner);
                    if all.read(tx, scope, *memory)?.is_some_and(|mark| mark.value.change == *change) {
                        all.remove(tx, scope, *memory)?;
                    }
                }
                Ok(())
            };
            self.marks.store().write(remove).await?;
        }
        Ok(())
    }

    async fn name(&self, generation: Id) -> Result<()> {
        let state = IndexState { generation, lineage: self.states.store().lineage() };
        let (states, stamp) = (self.states.clone(), Stamp::household("memory"));
        let put = move |tx: &Tx| states.put(tx, Id::NIL, &stamp, &state).map(drop);
        self.states.store().write(put).await
    }
}
