//! Tells other parts of changed memories, and reads these for them.

use crate::{
    Memories,
    holder::{Changed, unless_damaged},
};
use std::sync::{Arc, PoisonError, RwLock};
use tool::{Id, Label, Result, Scope, UserId};

type Observer = Arc<dyn Fn(UserId, Id) + Send + Sync>;

/// The functions that are called after changes.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<RwLock<Vec<Observer>>>);

impl Observers {
    pub fn tell(&self, changed: &[Changed]) {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        for Changed { owner, id, .. } in changed.iter().filter(|changed| changed.content) {
            all.iter().for_each(|observer| observer(*owner, *id));
        }
    }
}

impl Memories {
    /// Calls `observer` with the owner and the id of each memory that may have a new text or be gone, once that can be read. It
    /// must not block.
    pub fn observe(&self, observer: impl Fn(UserId, Id) + Send + Sync + 'static) {
        self.observers.0.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(observer));
    }

    /// The text of a memory, its label and when it was changed, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn text_of(&self, owner: UserId, id: Id) -> Result<Option<(String, Label, u64)>> {
        let entry = unless_damaged(self.records.get_in(Scope::User(owner), id))?;
        Ok(entry.map(|entry| (entry.value.content, entry.label, entry.updated_ms)))
    }

    /// Calls `each` with the owner and the id of every memory, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn each_id(&self, mut each: impl FnMut(UserId, Id)) -> Result<()> {
        Ok(self.records.scan(|entry| each(entry.owner, entry.id))?)
    }
}
