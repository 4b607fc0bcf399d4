//! The rows of the indexes of words: their keys and checksums, and what each write of a record adds to them. See [`words`].
//!
//! [`words`]: crate::words

use crate::{
    Error, Result, Tx, checksum,
    entry::Entry,
    kind::{Erased, Kind},
    record::{Audience, Level},
};
use std::any::Any;
use tool::{Id, Scope};

/// The end of the name of every such table. Older code takes it for the index of a kind that it does not know.
pub(crate) const TABLE_END: &str = ".words.index";

/// The state of the whole index.
pub(crate) const STATE: &[u8] = &[0];
/// The segments of a scope: the scope follows.
pub(crate) const SCOPES: u8 = 1;
/// Records to index again: their keys follow.
pub(crate) const TAIL: u8 = 2;
/// The rows of segments: the number of the segment, the part and a number follow.
pub(crate) const SEGMENTS: u8 = 3;

/// The parts of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Meta,
    Ids,
    Terms,
    Postings,
}

pub(crate) fn index_table(kind: &str) -> String {
    format!("{kind}{TABLE_END}")
}

pub(crate) fn scope_row(scope: &[u8]) -> Vec<u8> {
    [&[SCOPES], scope].concat()
}

pub(crate) fn tail_prefix(scope: &[u8]) -> Vec<u8> {
    [&[TAIL], scope].concat()
}

pub(crate) fn tail_row(scope: &[u8], id: Id) -> Vec<u8> {
    [&[TAIL], scope, id.as_bytes()].concat()
}

/// The prefix of all rows of a segment.
pub(crate) fn segment_prefix(segment: u64) -> Vec<u8> {
    [&[SEGMENTS][..], &segment.to_be_bytes()].concat()
}

pub(crate) fn part_prefix(segment: u64, part: Part) -> Vec<u8> {
    [&[SEGMENTS][..], &segment.to_be_bytes(), &[part as u8]].concat()
}

pub(crate) fn part_row(segment: u64, part: Part, n: u32) -> Vec<u8> {
    [&[SEGMENTS][..], &segment.to_be_bytes(), &[part as u8], &n.to_be_bytes()].concat()
}

/// The number of the segment that a row belongs to.
pub(crate) fn segment_of(key: &[u8]) -> Option<u64> {
    key.get(1..)?.first_chunk::<8>().map(|number| u64::from_be_bytes(*number))
}

fn sum(key: &[u8], body: &[u8]) -> [u8; checksum::LENGTH] {
    checksum::of(TABLE_END, key, &[], &[], body)
}

/// The value of a row: its content and a checksum.
pub(crate) fn with_sum(key: &[u8], mut body: Vec<u8>) -> Vec<u8> {
    body.extend(sum(key, &body));
    body
}

/// The content of a row, unchecked: for rows that a search only scans, and that the slow check verifies.
pub(crate) fn body(value: &[u8]) -> Result<&[u8]> {
    value.split_last_chunk::<{ checksum::LENGTH }>().map(|(body, _)| body).ok_or_else(damaged)
}

/// The content of a row whose checksum matches.
pub(crate) fn checked_body<'v>(key: &[u8], value: &'v [u8]) -> Result<&'v [u8]> {
    let body = body(value)?;
    if value.ends_with(&sum(key, body)) { Ok(body) } else { Err(damaged()) }
}

/// Whether a row of an index is as it was written.
pub(crate) fn is_sound(key: &[u8], value: &[u8]) -> bool {
    match key.first() {
        // A wrong row of the tail names no record, or one too many.
        Some(&TAIL) => matches!(value.len(), 0 | checksum::LENGTH),
        _ => checked_body(key, value).is_ok(),
    }
}

/// Within a write: has an index rebuilt; returns whether it counted until now.
pub(crate) fn distrust(tx: &Tx, table: &str) -> Result<bool> {
    tx.remove_raw(table, STATE)
}

pub(crate) fn damaged() -> Error {
    Error::Damaged("the index of words is damaged: it is rebuilt by itself".into())
}

/// The lineage in which every commit updated the indexes; see [`crate::Store::lineage`].
pub(crate) const META_WORDS: &[u8] = b"words";

/// Within a write: notes in the tail that the text of a record changed, or its readers. `new` is `None` when it is removed.
pub(crate) fn note(
    kind: &Kind,
    tx: &Tx,
    (scope, id): (Scope, Id),
    old: Option<&Entry<Erased>>,
    new: Option<(&dyn Any, Audience)>,
) -> Result<()> {
    if kind.words_version == 0 {
        return Ok(());
    }
    let shared = |audience| kind.level == Level::User && audience == Audience::Household;
    let (before, after) = (old.map(|old| (kind.words)(&*old.value)), new.map(|(value, _)| (kind.words)(value)));
    let changed = before != after && (before.is_some() || after.as_ref().is_none_or(|text| !text.is_empty()));
    let was_shared = old.is_some_and(|old| shared(old.audience));
    let is_shared = new.is_some_and(|(_, audience)| shared(audience));
    let holds = after.map(|text| text_sum(&text).to_vec()).unwrap_or_default();
    let table = index_table(kind.name);
    if changed || old.is_none() && new.is_none() {
        tx.put_raw(&table, &tail_row(&scope.key(), id), &holds)?;
    }
    if is_shared && (changed || !was_shared) || was_shared && !is_shared {
        let holds = if is_shared { &holds[..] } else { &[] };
        tx.put_raw(&table, &tail_row(&Scope::Household.key(), id), holds)?;
    }
    Ok(())
}

/// Identifies a text: a tail row with the sum of another text is of a later change.
fn text_sum(text: &str) -> [u8; checksum::LENGTH] {
    checksum::of("words", &[], &[], &[], text.as_bytes())
}
