//! Reads and writes the records of a kind and the rows of its index.
//!
//! The key of a record is its scope and its id. The key of an index row is scope, index, value and id; for shared
//! records the same rows are also in the household's scope, with the owner's scope as value.

use crate::{
    Error, Result, Tx,
    codec::{decode, encode},
    entry::{Entry, Listing, Stamp},
    kind::{Erased, Kind},
    record::{Audience, Header, Key, Level, Tails},
    snapshot::{Snapshot, View},
    word_rows,
};
use std::{any::Any, ops::Bound};
use tool::{Cx, Id, Label, Scope, UserId};

/// The index under which shared records are found by everybody; its value is the owner's scope.
const SHARED: u8 = 255;

pub(crate) type Found = Entry<Erased>;

/// Whether this caller may read a record that was found for them: private records in a scope of several people are their
/// owner's alone.
pub(crate) fn may_read<T>(cx: &Cx, entry: &Entry<T>) -> bool {
    entry.audience == Audience::Household || entry.owner == cx.user()
}

/// Labels a record for this caller with the member whose words it has. The stored label, which applies to its author,
/// stays.
pub(crate) fn label_for(kind: &Kind, cx: &Cx, entry: &mut Found) {
    if kind.by_members && entry.owner != cx.user() && entry.owner != UserId::OWNER {
        entry.label = entry.label.max(Label::Member(entry.owner));
    }
}

/// The scope a caller's records of this kind are in.
pub(crate) fn scope_of(kind: &Kind, cx: &Cx) -> Scope {
    match kind.level {
        Level::Household => Scope::Household,
        Level::User => Scope::User(cx.user()),
        Level::Agent => Scope::Agent(cx.agent()),
        Level::AgentUser => Scope::AgentUser(cx.agent(), cx.user()),
    }
}

pub(crate) fn index_table(name: &str) -> String {
    format!("{name}.index")
}

pub(crate) fn record_key(scope: Scope, id: Id) -> Vec<u8> {
    let mut key = scope.key();
    key.extend(id.as_bytes());
    key
}

/// Scope, index, value; the record's id follows.
fn index_prefix(scope: &[u8], key: &Key) -> Vec<u8> {
    [scope, &[key.index], &key.value].concat()
}

/// The id is the last 16 bytes of a key.
pub(crate) fn id_of(key: &[u8]) -> Result<Id> {
    let tail = key.last_chunk::<16>().ok_or_else(|| Error::Damaged("a stored key is too short".into()))?;
    Ok(Id::from_bytes(*tail))
}

pub(crate) fn entry(kind: &Kind, key: &[u8], bytes: &[u8]) -> Result<Found> {
    let (header, value, tails) = decode(kind, key, bytes)?;
    Ok(Entry::new(id_of(key)?, header, value, tails))
}

/// Leaves out and logs a record that cannot be read (newer or damaged), so that it does not hide the others from a
/// list. A lookup by id returns the error.
pub(crate) fn readable<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Error::Damaged(text)) => {
            tracing::warn!("{text}");
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

pub(crate) fn get_at(kind: &Kind, table: &View, key: &[u8]) -> Result<Option<Found>> {
    table.get(key)?.map(|value| entry(kind, key, &value)).transpose()
}

pub(crate) fn get(kind: &Kind, tx: &Snapshot, scope: Scope, id: Id) -> Result<Option<Found>> {
    let Some(table) = tx.open(kind.name)? else { return Ok(None) };
    get_at(kind, &table, &record_key(scope, id))
}

/// The records of a scope with these ids that can be read.
pub(crate) fn get_all(kind: &Kind, tx: &Snapshot, scope: Scope, ids: &[Id]) -> Result<Vec<Found>> {
    let Some(table) = tx.open(kind.name)? else { return Ok(vec![]) };
    let get = |id: &Id| readable(get_at(kind, &table, &record_key(scope, *id))).map(Option::flatten).transpose();
    ids.iter().filter_map(get).collect()
}

/// One record of this caller, or one shared with them.
pub(crate) fn get_for(kind: &Kind, tx: &Snapshot, cx: &Cx, id: Id) -> Result<Option<Found>> {
    let found = match get(kind, tx, scope_of(kind, cx), id)? {
        None if kind.level == Level::User => get_shared(kind, tx, id)?,
        found => found,
    };
    Ok(found.filter(|found| may_read(cx, found)).map(|mut found| {
        label_for(kind, cx, &mut found);
        found
    }))
}

fn get_shared(kind: &Kind, tx: &Snapshot, id: Id) -> Result<Option<Found>> {
    let (Some(index), Some(table)) = (tx.open(&index_table(kind.name))?, tx.open(kind.name)?) else {
        return Ok(None);
    };
    let Some(scope) = shared_scope(&index, id)? else { return Ok(None) };
    get_at(kind, &table, &[&scope[..], id.as_bytes()].concat())
}

/// The owner's scope of a record that is shared with the household.
pub(crate) fn shared_scope(index: &View, id: Id) -> Result<Option<Vec<u8>>> {
    Ok(index.get(&shared_row(&Key::many(SHARED, []), id))?.map(|scope| scope.to_vec()))
}

/// A row of a table: its key and its value.
type Row = (Vec<u8>, Vec<u8>);

/// The rows between `prefix`+`id` bounds, newest first, that have exactly an id after the prefix.
pub(crate) fn newest<'t>(
    table: &'t View,
    prefix: &[u8],
    before: Option<Id>,
) -> Result<impl Iterator<Item = Result<Row>> + 't> {
    let from = prefix.to_vec();
    let to = [prefix, &before.map_or([0xff; 16], |id| *id.as_bytes())[..]].concat();
    let length = prefix.len() + 16;
    let rows = table.range(from.as_slice()..to.as_slice())?;
    Ok(rows.rev().filter_map(move |row| match row {
        Ok((key, value)) if key.len() == length => Some(Ok((key.to_vec(), value.to_vec()))),
        Ok(_) => None,
        Err(e) => Some(Err(e)),
    }))
}

/// The records of a scope, newest first.
pub(crate) fn list(kind: &Kind, tx: &Snapshot, scope: Scope, listing: &Listing) -> Result<Vec<Found>> {
    let Some(table) = tx.open(kind.name)? else { return Ok(vec![]) };
    let limit = if listing.limit == 0 { usize::MAX } else { listing.limit };
    let scope = scope.key();
    let Some((index, value)) = &listing.by else {
        return newest(&table, &scope, listing.before)?
            .filter_map(|row| row.and_then(|(key, bytes)| readable(entry(kind, &key, &bytes))).transpose())
            .take(limit)
            .collect();
    };
    let Some(by) = tx.open(&index_table(kind.name))? else { return Ok(vec![]) };
    let mut found = vec![];
    for row in newest(&by, &index_prefix(&scope, &Key::many(*index, value)), listing.before)? {
        if found.len() == limit {
            break;
        }
        let key = [&scope[..], id_of(&row?.0)?.as_bytes()].concat();
        found.extend(readable(get_at(kind, &table, &key))?.flatten());
    }
    Ok(found)
}

/// The records of this caller and those shared with them, newest first.
pub(crate) fn list_for(kind: &Kind, tx: &Snapshot, cx: &Cx, listing: &Listing) -> Result<Vec<Found>> {
    let scope = scope_of(kind, cx);
    let mut entries = list(kind, tx, scope, listing)?;
    if kind.level == Level::User {
        entries.extend(list_shared(kind, tx, scope, listing)?);
        entries.sort_by_key(|e| std::cmp::Reverse(e.id));
        if listing.limit > 0 {
            entries.truncate(listing.limit);
        }
    }
    entries.retain(|e| may_read(cx, e));
    entries.iter_mut().for_each(|e| label_for(kind, cx, e));
    Ok(entries)
}

/// The records that others share with the household.
fn list_shared(kind: &Kind, tx: &Snapshot, own: Scope, listing: &Listing) -> Result<Vec<Found>> {
    let (Some(index), Some(table)) = (tx.open(&index_table(kind.name))?, tx.open(kind.name)?) else {
        return Ok(vec![]);
    };
    let mut found = vec![];
    let prefix = index_prefix(&Scope::Household.key(), &Key::many(SHARED, []));
    for row in newest(&index, &prefix, listing.before)? {
        let (key, scope) = row?;
        if scope == own.key() {
            continue;
        }
        let key = [&scope[..], id_of(&key)?.as_bytes()].concat();
        let Some(entry) = readable(get_at(kind, &table, &key))?.flatten() else { continue };
        let wanted = |(index, value): &(u8, Vec<u8>)| {
            (kind.keys)(&*entry.value).iter().any(|k| k.index == *index && k.value == *value)
        };
        if listing.by.as_ref().is_none_or(wanted) {
            found.push(entry);
        }
        if listing.limit > 0 && found.len() == listing.limit {
            break;
        }
    }
    Ok(found)
}

/// Every record in key order; a record that cannot be read is left out.
pub(crate) fn scan(kind: &Kind, tx: &Snapshot, each: &mut dyn FnMut(Found) -> Result<()>) -> Result<()> {
    let Some(table) = tx.open(kind.name)? else { return Ok(()) };
    for row in table.iter()? {
        let (key, value) = row?;
        if let Some(found) = readable(entry(kind, &key, &value))? {
            each(found)?;
        }
    }
    Ok(())
}

/// Up to `most` rows after a key, in key order, and the last of their keys when there may be more. A record that cannot be read is left
/// out.
pub(crate) fn page(
    kind: &Kind,
    tx: &Snapshot,
    after: Option<&[u8]>,
    most: usize,
) -> Result<(Vec<Found>, Option<Vec<u8>>)> {
    let Some(table) = tx.open(kind.name)? else { return Ok((vec![], None)) };
    let (mut found, mut rows, mut last) = (vec![], 0, None);
    for row in table.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))?.take(most) {
        let (key, value) = row?;
        found.extend(readable(entry(kind, &key, &value))?);
        rows += 1;
        last = Some(key.to_vec());
    }
    Ok((found, last.filter(|_| rows == most)))
}

fn shared_row(key: &Key, id: Id) -> Vec<u8> {
    [&index_prefix(&Scope::Household.key(), key)[..], id.as_bytes()].concat()
}

/// The rows of the index that a record has in its scope, and where it is shared, in the household's.
pub(crate) fn index_rows(kind: &Kind, scope: &[u8], id: Id, audience: Audience, keys: &[Key]) -> Vec<Row> {
    let own = |key: &Key| ([&index_prefix(scope, key)[..], id.as_bytes()].concat(), vec![]);
    let mut rows: Vec<Row> = keys.iter().map(own).collect();
    if kind.level == Level::User && audience == Audience::Household {
        let all = Key::many(SHARED, []);
        rows.extend(keys.iter().chain([&all]).map(|key| (shared_row(key, id), scope.to_vec())));
    }
    rows
}

/// Within a write: reads a record.
pub(crate) fn read(kind: &Kind, tx: &Tx, scope: Scope, id: Id) -> Result<Option<Found>> {
    let key = record_key(scope, id);
    tx.get_raw(kind.name, &key)?.map(|bytes| entry(kind, &key, &bytes)).transpose()
}

/// Within a write: the records of a scope that are found under a value.
pub(crate) fn find(kind: &Kind, tx: &Tx, scope: Scope, index: u8, value: &[u8]) -> Result<Vec<Found>> {
    let prefix = index_prefix(&scope.key(), &Key::many(index, value));
    let mut found = vec![];
    for key in tx.keys_raw(&index_table(kind.name), &prefix)?.iter().filter(|k| k.len() == prefix.len() + 16) {
        found.extend(readable(read(kind, tx, scope, id_of(key)?))?.flatten());
    }
    Ok(found)
}

/// Within a write: how many rows an index has under a value.
pub(crate) fn count(kind: &Kind, tx: &Tx, scope: Scope, index: u8, value: &[u8]) -> Result<usize> {
    let prefix = index_prefix(&scope.key(), &Key::many(index, value));
    let keys = tx.keys_raw(&index_table(kind.name), &prefix)?;
    Ok(keys.iter().filter(|key| key.len() == prefix.len() + 16).count())
}

/// Within a write: stores a record and keeps the index true.
///
/// # Errors
/// `Conflict` when a unique value is taken by another record.
pub(crate) fn put(
    kind: &'static Kind,
    tx: &Tx,
    id: Id,
    stamp: &Stamp,
    value: &dyn Any,
    tails: Tails,
) -> Result<Entry<()>> {
    tx.note_before(kind, &record_key(stamp.scope, id))?;
    let (scope, keys, index) = (stamp.scope.key(), (kind.keys)(value), index_table(kind.name));
    let (old, before) = stored(kind, tx, stamp.scope, id)?;
    let after = index_rows(kind, &scope, id, stamp.audience, &keys);
    for (row, _) in before.iter().filter(|row| !after.contains(row)) {
        tx.remove_raw(&index, row)?;
    }
    for key in keys.iter().filter(|key| key.unique) {
        if is_taken(kind, tx, stamp.scope, &index_prefix(&scope, key), id)? {
            let what = String::from_utf8_lossy(&key.value);
            let text = format!("there is already a {} called `{what}`: choose another name", kind.word);
            return Err(Error::Conflict(text));
        }
    }
    // Most changes leave the index as it is. A row may be missing all the same: of an index that is new, or of a damaged file.
    for (row, holds) in &after {
        if tx.get_raw(&index, row)?.as_ref() != Some(holds) {
            tx.put_raw(&index, row, holds)?;
        }
    }
    let header = Header {
        version: kind.version,
        owner: stamp.owner,
        audience: stamp.audience,
        label: stamp.label,
        source: stamp.source.clone(),
        updated_ms: Id::now_ms(),
        sum: Default::default(),
    };
    let key = record_key(stamp.scope, id);
    tx.put_raw(kind.name, &key, &encode(kind, &key, &header, value, &tails)?)?;
    word_rows::note(kind, tx, (stamp.scope, id), old.as_ref(), Some((value, stamp.audience)))?;
    Ok(Entry::new(id, header, (), tails))
}

/// Within a write: changes a record in place, and its stamp.
pub(crate) fn change(
    kind: &'static Kind,
    tx: &Tx,
    scope: Scope,
    id: Id,
    change: &mut dyn FnMut(&mut dyn Any) -> Result<()>,
    restamp: &dyn Fn(&mut Stamp),
) -> Result<Found> {
    let found = read(kind, tx, scope, id)?;
    let found = found.ok_or_else(|| Error::Missing(format!("there is no {} with the id {id}", kind.word)))?;
    let (mut value, rest) = found.split();
    change(&mut *value)?;
    let mut stamp = Stamp { scope, owner: rest.owner, audience: rest.audience, label: rest.label, source: rest.source };
    restamp(&mut stamp);
    put(kind, tx, id, &stamp, &*value, rest.tails).map(|stored| stored.with(value))
}

/// Whether another record has this unique value. Rows whose record is gone do not count: code that did not know the
/// index may have deleted it.
fn is_taken(kind: &Kind, tx: &Tx, scope: Scope, prefix: &[u8], own: Id) -> Result<bool> {
    for key in tx.keys_raw(&index_table(kind.name), prefix)?.iter().filter(|key| key.len() == prefix.len() + 16) {
        let id = id_of(key)?;
        if id != own && tx.get_raw(kind.name, &record_key(scope, id))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Within a write: removes a record; `false` when it is not there.
pub(crate) fn remove(kind: &'static Kind, tx: &Tx, scope: Scope, id: Id) -> Result<bool> {
    tx.note_before(kind, &record_key(scope, id))?;
    let old = unindex(kind, tx, scope, id)?;
    word_rows::note(kind, tx, (scope, id), old.as_ref(), None)?;
    tx.remove_raw(kind.name, &record_key(scope, id))
}

/// Removes the index rows of a record, and returns it.
fn unindex(kind: &Kind, tx: &Tx, scope: Scope, id: Id) -> Result<Option<Found>> {
    let (old, rows) = stored(kind, tx, scope, id)?;
    let index = index_table(kind.name);
    for (row, _) in rows {
        tx.remove_raw(&index, &row)?;
    }
    Ok(old)
}

/// A record as it is stored, and its index rows. One that cannot be read has none, and can still be deleted or replaced.
fn stored(kind: &Kind, tx: &Tx, scope: Scope, id: Id) -> Result<(Option<Found>, Vec<Row>)> {
    let old = readable(read(kind, tx, scope, id))?.flatten();
    let rows = old.as_ref().map(|old| index_rows(kind, &scope.key(), id, old.audience, &(kind.keys)(&*old.value)));
    Ok((old, rows.unwrap_or_default()))
}
