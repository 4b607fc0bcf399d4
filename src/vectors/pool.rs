//! The collections that are in memory, within a budget.

use crate::{index::Index, records::LOADED};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::{Id, Result};

/// How long a collection stays after its last use.
const IDLE: Duration = Duration::from_secs(600);

/// The collections in memory.
pub(crate) struct Pool {
    budget: usize,
    loaded: Mutex<HashMap<Id, Slot>>,
    /// Held while a collection is read: one at a time, so that two cannot take the room of both.
    reading: Mutex<()>,
}

impl Default for Pool {
    fn default() -> Self {
        Self::with_budget(LOADED)
    }
}

struct Slot {
    index: Arc<Mutex<Option<Index>>>,
    used: Instant,
    /// As of its last use or change.
    bytes: usize,
}

impl Pool {
    pub fn with_budget(budget: usize) -> Self {
        Self { budget, loaded: Mutex::default(), reading: Mutex::default() }
    }

    /// Runs `work` with a collection, which `load` reads first if it is not there; it will have about `expected` bytes. Blocks.
    pub fn with<T>(
        &self,
        collection: Id,
        expected: usize,
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
            let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            self.keep_within_budget(collection, expected);
            *index = Some(load()?);
        }
        let Some(ready) = index.as_mut() else { return Err(tool::Error::failed("the collection was not read")) };
        let result = work(ready);
        let bytes = ready.bytes();
        drop(index);
        self.keep_within_budget(collection, bytes);
        Ok(result)
    }

    /// Changes a collection if it is in memory: `change` returns false where it must be read again, as one that is worn is.
    /// Blocks.
    pub fn update(&self, collection: Id, change: impl FnOnce(&mut Index) -> bool) {
        let Some(shared) = self.lock().get(&collection).map(|slot| slot.index.clone()) else { return };
        let mut index = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if index.as_mut().is_some_and(|index| !change(index) || index.is_worn()) {
            *index = None;
        }
        let bytes = index.as_ref().map_or(0, Index::bytes);
        drop(index);
        self.keep_within_budget(collection, bytes);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        records::{Metric, VectorRecord, row_bytes},
        values::Values,
    };
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    fn index(id: Id) -> Index {
        let (mut index, values) = (Index::new(id, Metric::Dot, 2), Values::exact(&[1.0, 2.0]));
        let (key, text, metadata) = (String::new(), String::new(), String::new());
        index.put(id, &VectorRecord { collection: id, key, text, metadata, values, generation: 0 });
        index
    }

    #[test]
    fn collections_are_read_one_by_one_into_free_room() {
        // Room for two.
        let bytes = row_bytes(2);
        let (pool, reading) = (Pool::with_budget(bytes * 2), AtomicUsize::new(0));
        let read = |id: Id| {
            let load = || {
                assert_eq!(reading.fetch_add(1, SeqCst), 0, "two at once");
                let others = pool.lock().iter().filter(|(other, slot)| **other != id && slot.bytes > 0).count();
                assert!(others < 2, "there is no room");
                (0..2000).for_each(|_| std::thread::yield_now());
                reading.fetch_sub(1, SeqCst);
                Ok(index(id))
            };
            assert_eq!(pool.with(id, bytes, load, |index| index.len()).unwrap(), 1);
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| read(Id::new()))));
        });
        assert_eq!(pool.size(), (2, bytes * 2));
    }
}
