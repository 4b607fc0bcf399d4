//! The rows that change while the data file is copied.

use crate::{Error, Result, overlay::Overlay};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The most bytes of noted keys; beyond that too much is being written.
const MOST: usize = 8 << 20;

/// The keys of changed rows.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    tables: BTreeMap<String, BTreeSet<Vec<u8>>>,
    bytes: usize,
}

impl Changed {
    /// How many rows changed.
    pub fn len(&self) -> usize {
        self.tables.values().map(BTreeSet::len).sum()
    }

    /// The keys by table, some rows at a time.
    pub fn in_pieces(&self, rows: usize) -> Vec<Vec<(String, Vec<Vec<u8>>)>> {
        let mut pieces = vec![];
        for (name, keys) in &self.tables {
            let keys: Vec<_> = keys.iter().cloned().collect();
            pieces.extend(keys.chunks(rows).map(|some| vec![(name.clone(), some.to_vec())]));
        }
        pieces
    }
}

/// Collects the keys of rows that are written to the data file while somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    wanted: AtomicBool,
    changed: Mutex<Changed>,
}

impl Changes {
    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins or ends to note rows.
    pub fn want(&self, wanted: bool) {
        *self.changed() = Changed::default();
        self.wanted.store(wanted, Ordering::Release);
    }

    /// To be called for all rows that are about to be written to the data file.
    pub fn note_all(&self, changes: &Overlay) {
        if self.wanted.load(Ordering::Acquire) {
            let rows = changes.tables().flat_map(|(name, rows)| rows.keys().map(move |key| (name, key)));
            rows.for_each(|(name, key)| self.note(name, key));
        }
    }

    pub(crate) fn note(&self, table: &str, key: &[u8]) {
        let mut changed = self.changed();
        // Beyond the limit the compaction gives up, and the rest is of no use.
        if changed.bytes > MOST {
            return;
        }
        if !changed.tables.contains_key(table) {
            changed.tables.insert(table.to_owned(), BTreeSet::new());
        }
        if changed.tables.get_mut(table).is_some_and(|keys| keys.insert(key.to_vec())) {
            changed.bytes += key.len() + 64;
        }
    }

    /// The rows noted since the last time.
    pub fn take(&self) -> Result<Changed> {
        let changed = std::mem::take(&mut *self.changed());
        match changed.bytes > MOST {
            true => Err(Error::Conflict("too much is being written to compact the data file now".into())),
            false => Ok(changed),
        }
    }
}
