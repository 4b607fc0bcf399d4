//! Reads the rows of an index of words from a snapshot.

use crate::{
    Result,
    snapshot::{Snapshot, View},
    word_rows::index_table,
};
use std::ops::Bound;

/// Called with the key and the value of a row; false ends the scan.
type EachRow<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> Result<bool>;

/// A table in a snapshot.
pub(super) struct IndexTable(Option<View>);

impl IndexTable {
    pub fn open(tx: &Snapshot, kind: &str) -> Result<Self> {
        tx.open(&index_table(kind)).map(Self)
    }

    /// Calls `read` with the value of a row.
    pub fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> Result<R>) -> Result<Option<R>> {
        let Some(table) = &self.0 else { return Ok(None) };
        table.get(key)?.map(|value| read(&value)).transpose()
    }

    /// Calls `each` with the rows under a prefix that come after `after`, in order, until it returns false.
    pub fn scan(&self, prefix: &[u8], after: Option<&[u8]>, each: EachRow) -> Result<()> {
        let Some(table) = &self.0 else { return Ok(()) };
        let from = after.map_or(Bound::Included(prefix), Bound::Excluded);
        for row in table.range((from, Bound::Unbounded))? {
            let (key, value) = row?;
            if !key.starts_with(prefix) || !each(&key, &value)? {
                break;
            }
        }
        Ok(())
    }
}
