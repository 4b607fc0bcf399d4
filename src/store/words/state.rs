//! The state of an index of words: whether it is complete, and its segments.

use super::table::IndexTable;
use crate::{
    Result, Store,
    kind::Kind,
    meta::{META, META_LINEAGE},
    snapshot::Snapshot,
    word_rows::{META_WORDS, STATE, checked_body, damaged, scope_row, with_sum},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Raised when the terms or the rows change.
const FORMAT: u16 = 1;

/// The state of an index. It counts only when everything but the position is as this code would write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexState {
    format: u16,
    /// The tables by which letters are folded.
    unicode: (u8, u8, u8),
    words: u8,
    /// Whether it contains all records.
    pub complete: bool,
    /// Until then: the key of the last record that it contains.
    pub position: Vec<u8>,
}

impl IndexState {
    pub fn new(kind: &Kind) -> Self {
        let (format, unicode) = (FORMAT, char::UNICODE_VERSION);
        Self { format, unicode, words: kind.words_version, complete: false, position: vec![] }
    }

    /// The state of an index of a kind without records.
    pub fn of_none(kind: &Kind) -> Self {
        Self { complete: true, ..Self::new(kind) }
    }

    /// `None` when there is none, or one of another version.
    pub fn read(kind: &Kind, table: &IndexTable) -> Result<Option<Self>> {
        let found: Option<Self> = read(table, STATE)?;
        let new = Self::new(kind);
        Ok(found.filter(|it| (it.format, it.unicode, it.words) == (new.format, new.unicode, new.words)))
    }

    pub fn row(&self) -> Vec<u8> {
        with_sum(STATE, bytes(self))
    }
}

/// A segment of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentInfo {
    pub number: u64,
    /// How many records it mentions, and how many of them were removed.
    pub records: u32,
    pub removed: u32,
}

/// The segments of a scope, the oldest first. For a record in several, the latest counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ScopeState {
    pub segments: Vec<SegmentInfo>,
}

impl ScopeState {
    pub fn read(table: &IndexTable, scope: &[u8]) -> Result<Self> {
        Ok(read(table, &scope_row(scope))?.unwrap_or_default())
    }

    pub fn parse(key: &[u8], value: &[u8]) -> Result<Self> {
        postcard::from_bytes(checked_body(key, value)?).map_err(|_| damaged())
    }

    pub fn row(&self, scope: &[u8]) -> Vec<u8> {
        with_sum(&scope_row(scope), bytes(self))
    }
}

fn read<T: DeserializeOwned>(table: &IndexTable, key: &[u8]) -> Result<Option<T>> {
    table.get(key, |value| postcard::from_bytes(checked_body(key, value)?).map_err(|_| damaged()))
}

pub(super) fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Numbers and bytes always have a form.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// Whether every commit in the file updated the indexes.
pub(super) fn is_in_step(tx: &Snapshot) -> Result<bool> {
    Ok(tx.get(META, META_LINEAGE)? == tx.get(META, META_WORDS)?)
}

impl Store {
    /// Whether an index of words is not complete yet: until then, searches of that kind read every record.
    ///
    /// # Errors
    /// `Damaged` when the file cannot be read.
    pub fn is_indexing_words(&self) -> Result<bool> {
        self.0.engine.read(|tx| {
            let kinds = self.kinds().into_values().filter(|kind| kind.words_version > 0);
            for kind in kinds {
                if !is_complete(kind, tx, &IndexTable::open(tx, kind.name)?)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

/// Whether the index of a kind contains all its records.
pub(super) fn is_complete(kind: &Kind, tx: &Snapshot, table: &IndexTable) -> Result<bool> {
    Ok(is_in_step(tx)? && IndexState::read(kind, table)?.is_some_and(|state| state.complete))
}
