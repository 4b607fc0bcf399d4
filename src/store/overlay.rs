//! The changes that are durable in the log but not yet in the data file, in memory and in key order. A clone is cheap: it
//! shares what does not change.

use rpds::RedBlackTreeMapSync;
use std::{collections::BTreeMap, sync::Arc};

/// The new value of a row; `None` when it was removed.
pub(crate) type Value = Option<Arc<[u8]>>;
/// The changed rows of one table.
pub(crate) type Changes = RedBlackTreeMapSync<Arc<[u8]>, Value>;
/// The rows that one job or one batch changed, by table.
pub(crate) type Batch = BTreeMap<Arc<str>, BTreeMap<Arc<[u8]>, Value>>;

/// Adds later changes to a batch.
pub(crate) fn merge(batch: &mut Batch, later: Batch) {
    for (table, rows) in later {
        batch.entry(table).or_default().extend(rows);
    }
}

/// The memory of one row besides its bytes, roughly: two nodes of the tree and two counted slices.
const ROW: usize = 160;

/// The changed rows of all tables.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    tables: RedBlackTreeMapSync<Arc<str>, Changes>,
    bytes: usize,
}

impl Overlay {
    pub fn table(&self, name: &str) -> Option<&Changes> {
        self.tables.get(name)
    }

    /// The tables with changes, in order.
    pub fn tables(&self) -> impl Iterator<Item = (&Arc<str>, &Changes)> {
        self.tables.iter()
    }

    /// Sets a row, or removes it with `None`.
    pub fn set(&mut self, table: &Arc<str>, key: Arc<[u8]>, value: Value) {
        let size = |value: &Value| value.as_ref().map_or(0, |value| value.len());
        self.bytes += ROW + key.len() + size(&value);
        if let Some(rows) = self.tables.get_mut(&**table) {
            if let Some(old) = rows.get(&*key) {
                self.bytes = self.bytes.saturating_sub(ROW + key.len() + size(old));
            }
            return rows.insert_mut(key, value);
        }
        let mut rows = Changes::new_sync();
        rows.insert_mut(key, value);
        self.tables.insert_mut(table.clone(), rows);
    }

    /// Sets all rows of a batch.
    pub fn set_all(&mut self, batch: &Batch) {
        for (table, rows) in batch {
            rows.iter().for_each(|(key, value)| self.set(table, key.clone(), value.clone()));
        }
    }

    /// The memory it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
