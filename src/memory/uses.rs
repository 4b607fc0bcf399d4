//! Counts how often memories are recalled. A search stores nothing: the counts wait in memory and are written together, every
//! ten minutes or when there are many, because each write wears an SD card. A power cut loses them.

use crate::records::Stored;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use store::{Collection, Tx};
use tool::{Id, Label, Scope, UserId};

/// So many memories with new counts are written at once, also between two maintenances.
const MANY: usize = 512;

/// The new uses of a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub count: u32,
    pub last_ms: u64,
}

impl Use {
    /// Adds them to what is stored.
    pub fn add_to(self, stored: &mut Stored) {
        stored.uses = stored.uses.saturating_add(self.count);
        stored.used_ms = stored.used_ms.max(self.last_ms);
    }
}

/// The uses that are not written yet; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Uses(Arc<Mutex<HashMap<(UserId, Id), Use>>>);

impl Uses {
    /// Counts a use of each memory; returns whether it is time to write.
    pub fn count(&self, owner: UserId, ids: impl Iterator<Item = Id>, now_ms: u64) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            let it = waiting.entry((owner, id)).or_default();
            it.count = it.count.saturating_add(1);
            it.last_ms = it.last_ms.max(now_ms);
        }
        waiting.len() >= MANY
    }

    /// The uses of a memory that are not written yet.
    pub fn of(&self, owner: UserId, id: Id) -> Use {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(owner, id)).copied().unwrap_or_default()
    }

    /// Writes them in one commit, which may wait for another.
    pub fn write(&self, records: &Collection<Stored>) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if all.is_empty() {
            return;
        }
        let written = records.clone();
        records.store().write_later(move |tx: &Tx| {
            for ((owner, id), uses) in &all {
                let scope = Scope::User(*owner);
                // Forgotten, or damaged: neither keeps the others from being written.
                if !matches!(written.read(tx, scope, *id), Ok(Some(_))) {
                    continue;
                }
                written.change(tx, scope, Label::Own, *id, &mut |stored| {
                    uses.add_to(stored);
                    Ok(())
                })?;
            }
            Ok(())
        });
    }
}
