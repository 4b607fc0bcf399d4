//! The collections that are in memory, within a budget.

use crate::index::Index;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::{Id, Result};

/// The most bytes of all collections in memory. The one that is searched stays, whatever its size.
const BUDGET: usize = 96 << 20;
/// How long a collection stays after its last use.
const IDLE: Duration = Duration::from_secs(600);

/// The collections in memory.
pub(crate) struct Pool {
    budget: usize,
    loaded: Mutex<HashMap<Id, Slot>>,
}

impl Default for Pool {
    fn default() -> Self {
        Self::with_budget(BUDGET)
    }
}

struct Slot {
    index: Arc<Mutex<Option<Index>>>,
    used: Instant,
    /// As of its last use.
    bytes: usize,
}

impl Pool {
    pub fn with_budget(budget: usize) -> Self {
        Self { budget, loaded: Mutex::default() }
    }

    /// Runs `work` with a collection, which `load` reads first if it is not there. Blocks.
    pub fn with<T>(
        &self,
        collection: Id,
        load: impl FnOnce() -> Result<Index>,
        work: impl FnOnce(&mut Index) -> T,
    ) -> Result<T> {
        let shared = {
            let mut loaded = self.lock();
            let slot = loaded.entry(collection).or_insert_with(|| Slot {
                index: Arc::default(),
                used: Instant::now(),
                bytes: 0,
            });
            slot.used = Instant::now();
            slot.index.clone()
        };
        // One that panicked half-way is read again.
        let mut index = shared.lock().unwrap_or_else(|poisoned| {
            let mut index = poisoned.into_inner();
            *index = None;
            shared.clear_poison();
            index
        });
        if index.as_ref().is_none_or(Index::is_worn) {
            *index = None;
            *index = Some(load()?);
        }
        let Some(ready) = index.as_mut() else { return Err(tool::Error::failed("the collection was not read")) };
        let result = work(ready);
        let bytes = ready.bytes();
        drop(index);
        self.keep_within_budget(collection, bytes);
        Ok(result)
    }

    /// Changes a collection if it is in memory: `change` returns false where it must be read again. Blocks.
    pub fn update(&self, collection: Id, change: impl FnOnce(&mut Index) -> bool) {
        let Some(shared) = self.lock().get(&collection).map(|slot| slot.index.clone()) else { return };
        let mut index = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if index.as_mut().is_some_and(|index| !change(index)) {
            *index = None;
        }
    }

    /// Drops a collection.
    pub fn drop_one(&self, collection: Id) {
        self.lock().remove(&collection);
    }

    /// Drops those that were not used for a while.
    pub fn drop_idle(&self) {
        self.lock().retain(|_, slot| slot.used.elapsed() < IDLE);
    }

    /// Drops those that were not used the longest, until the rest fits.
    fn keep_within_budget(&self, used: Id, bytes: usize) {
        let mut loaded = self.lock();
        if let Some(slot) = loaded.get_mut(&used) {
            slot.bytes = bytes;
        }
        while loaded.values().map(|slot| slot.bytes).sum::<usize>() > self.budget {
            let others = loaded.iter().filter(|(id, slot)| **id != used && slot.bytes > 0);
            let Some(oldest) = others.min_by_key(|(_, slot)| slot.used).map(|(id, _)| *id) else { break };
            loaded.remove(&oldest);
        }
    }

    /// How many collections are in memory, and their bytes.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        let loaded = self.lock();
        (loaded.values().filter(|slot| slot.bytes > 0).count(), loaded.values().map(|slot| slot.bytes).sum())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Slot>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
