//! Typed collections: records of one type, found by id, by index or in order of time.

use crate::{
    Error, Result, Store, Tx,
    engine::Table,
    record::{Audience, Header, Key, Level, Record, Tails, decode, encode},
};
use redb::{ReadTransaction, ReadableTable, TableError};
use std::marker::PhantomData;
use tool::{Cx, Id, Label, Scope, UserId};

/// The index under which shared records are found by everybody; its value is the owner's scope.
const SHARED: u8 = 255;

/// A record with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<T> {
    /// Its id; ids grow with time.
    pub id: Id,
    /// Whose it is.
    pub owner: UserId,
    /// Who else may read it.
    pub audience: Audience,
    /// Where its content came from, for whoever reads it.
    pub label: Label,
    /// What made it: `chat`, `api`, a tool's name.
    pub source: String,
    /// When it was last changed: milliseconds since 1970.
    pub updated_ms: u64,
    /// The [`Record::VERSION`] it was written under.
    pub version: u8,
    /// The record.
    pub value: T,
    tails: Tails,
}

impl<T> Entry<T> {
    /// The label of this record once this caller has changed it. Its owner stays who they are, and somebody else's words
    /// under their name would pass for theirs.
    pub fn label_after(&self, cx: &Cx) -> Label {
        if self.owner == cx.user() { cx.label() } else { Label::Outside }
    }
}

/// What a write is stamped with.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// Where the record is kept.
    pub scope: Scope,
    /// Whose it is.
    pub owner: UserId,
    /// Who else may read it.
    pub audience: Audience,
    /// Where its content came from.
    pub label: Label,
    /// What made it.
    pub source: String,
}

impl Stamp {
    /// For what Hob itself keeps for the household.
    pub fn household(source: &str) -> Self {
        Self {
            scope: Scope::Household,
            owner: UserId::OWNER,
            audience: Audience::Household,
            label: Label::Own,
            source: source.into(),
        }
    }
    /// The same stamp with another audience.
    pub fn audience(mut self, audience: Audience) -> Self {
        self.audience = audience;
        self
    }
}

/// Which records, and how many.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Only those found under this index value.
    pub by: Option<(u8, Vec<u8>)>,
    /// Only those older than this one (paging, newest first).
    pub before: Option<Id>,
    /// At most this many; 0 means all.
    pub limit: usize,
}

/// The records of one type.
pub struct Collection<T> {
    pub(crate) store: Store,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), of: PhantomData }
    }
}

impl<T: Record> Collection<T> {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, of: PhantomData }
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The stamp of a write by this caller: owner, and the worst of what the run has read.
    pub fn stamp(&self, cx: &Cx, source: &str) -> Stamp {
        Stamp {
            scope: scope_of::<T>(cx),
            owner: cx.user(),
            audience: Audience::Private,
            label: cx.label(),
            source: source.into(),
        }
    }

    /// Keeps a new record of this caller.
    ///
    /// # Errors
    /// `Conflict` when a unique value is taken; as [`Store::write`].
    pub async fn insert(&self, cx: &Cx, source: &str, value: T) -> Result<Entry<T>> {
        let stamp = self.stamp(cx, source);
        self.insert_as(stamp, value).await
    }

    /// Keeps a new record under a given stamp.
    ///
    /// # Errors
    /// As [`Collection::insert`].
    pub async fn insert_as(&self, stamp: Stamp, value: T) -> Result<Entry<T>> {
        let (this, id) = (self.clone(), Id::new());
        self.store.write(move |tx| this.put(tx, id, &stamp, &value)).await
    }

    /// One record of this caller, or one shared with them. Reading what came from outside taints the run. The words of
    /// another member count as from outside, because they may ask for more than that member may do; the owner's do not,
    /// because the owner may do everything.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Option<Entry<T>>> {
        let scope = scope_of::<T>(cx);
        let found = self.store.0.engine.read(|tx| match get::<T>(tx, scope, id)? {
            None if T::LEVEL == Level::User => get_shared::<T>(tx, id),
            found => Ok(found),
        })?;
        let found = found.filter(|e| may_read(cx, e)).map(|e| as_read_by(cx, e));
        found.iter().for_each(|e| cx.taint(e.label));
        Ok(found)
    }

    /// Like [`Collection::get`], but the run is not tainted: for a caller that may throw the record away, and taints the
    /// run itself when it does not.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn peek(&self, cx: &Cx, id: Id) -> Result<Option<Entry<T>>> {
        let clean = Cx::root(cx.ports().clone(), cx.principal().clone(), cx.via().clone());
        self.get(&clean, id)
    }

    /// Whether a scope holds anything at all, readable or not.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn is_empty_in(&self, scope: Scope) -> Result<bool> {
        self.store.0.engine.read(|tx| match open(tx, T::NAME)? {
            Some(table) => Ok(newest(&table, &scope.key(), None)?.next().transpose()?.is_none()),
            None => Ok(true),
        })
    }

    /// Whether every record of a scope can be read: where one that is damaged must not count as none.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn is_whole_in(&self, scope: Scope) -> Result<bool> {
        self.store.0.engine.read(|tx| {
            let Some(table) = open(tx, T::NAME)? else { return Ok(true) };
            let mut rows = newest(&table, &scope.key(), None)?;
            rows.try_fold(true, |whole, row| row.map(|(key, bytes)| whole && entry::<T>(&key, &bytes).is_ok()))
        })
    }

    /// One record of a scope, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn get_in(&self, scope: Scope, id: Id) -> Result<Option<Entry<T>>> {
        self.store.0.engine.read(|tx| get::<T>(tx, scope, id))
    }

    /// The records of this caller and those shared with them, newest first.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn list(&self, cx: &Cx, listing: &Listing) -> Result<Vec<Entry<T>>> {
        let scope = scope_of::<T>(cx);
        let entries = self.store.0.engine.read(|tx| {
            let mut entries = list::<T>(tx, scope, listing)?;
            if T::LEVEL == Level::User {
                entries.extend(list_shared::<T>(tx, scope, listing)?);
                entries.sort_by_key(|e| std::cmp::Reverse(e.id));
                if listing.limit > 0 {
                    entries.truncate(listing.limit);
                }
            }
            entries.retain(|e| may_read(cx, e));
            Ok(entries.into_iter().map(|e| as_read_by(cx, e)).collect::<Vec<_>>())
        })?;
        entries.iter().for_each(|e| cx.taint(e.label));
        Ok(entries)
    }

    /// The records of a scope, newest first, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn list_in(&self, scope: Scope, listing: &Listing) -> Result<Vec<Entry<T>>> {
        self.store.0.engine.read(|tx| list::<T>(tx, scope, listing))
    }

    /// Every record of the collection in every scope, in key order, without keeping them all in memory: for indexes
    /// built at start. `each` must not hand content to a caller that was not checked.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn scan(&self, mut each: impl FnMut(Entry<T>)) -> Result<()> {
        self.store.0.engine.read(|tx| {
            let Some(table) = open(tx, T::NAME)? else { return Ok(()) };
            for row in table.iter()? {
                let (key, value) = row?;
                readable(entry(key.value(), value.value()))?.into_iter().for_each(&mut each);
            }
            Ok(())
        })
    }

    /// Changes a record of this caller; shared ones may be changed only by their owner.
    ///
    /// # Errors
    /// `Missing` when it is not there; what `change` answers; as [`Store::write`].
    pub async fn update<F>(&self, cx: &Cx, id: Id, change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> Result<()> + Send + 'static,
    {
        self.update_in(scope_of::<T>(cx), cx.label(), id, change).await
    }

    /// Changes a record of a scope; the label can only get worse.
    ///
    /// # Errors
    /// As [`Collection::update`].
    pub async fn update_in<F>(&self, scope: Scope, label: Label, id: Id, mut change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> Result<()> + Send + 'static,
    {
        let this = self.clone();
        self.store.write(move |tx| this.change(tx, scope, label, id, &mut change)).await
    }

    /// Deletes a record of this caller; `false` when it is not there.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn delete(&self, cx: &Cx, id: Id) -> Result<bool> {
        self.delete_in(scope_of::<T>(cx), id).await
    }

    /// Deletes a record of a scope; `false` when it is not there.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn delete_in(&self, scope: Scope, id: Id) -> Result<bool> {
        let this = self.clone();
        self.store.write(move |tx| this.remove(tx, scope, id)).await
    }

    /// Within a write: stores a record under `id`, replacing what was there, and keeps the indexes true.
    ///
    /// # Errors
    /// `Conflict` when a unique value is taken by another record.
    pub fn put(&self, tx: &Tx, id: Id, stamp: &Stamp, value: &T) -> Result<Entry<T>> {
        self.put_with(tx, id, stamp, value, Tails::default())
    }

    fn put_with(&self, tx: &Tx, id: Id, stamp: &Stamp, value: &T, tails: Tails) -> Result<Entry<T>> {
        self.unindex(tx, stamp.scope, id)?;
        for key in value.keys() {
            let prefix = index_prefix(stamp.scope, &key);
            if key.unique && self.taken(tx, stamp.scope, &prefix)? {
                let what = String::from_utf8_lossy(&key.value);
                return Err(Error::Conflict(format!(
                    "there is already a {} called `{what}`: choose another name",
                    T::WORD
                )));
            }
            tx.put_raw(&index_table(T::NAME), &[&prefix[..], id.as_bytes()].concat(), &[])?;
        }
        if stamp.audience == Audience::Household && T::LEVEL == Level::User {
            for key in shared_rows(value, id) {
                tx.put_raw(&index_table(T::NAME), &key, &stamp.scope.key())?;
            }
        }
        let header = Header {
            version: T::VERSION,
            owner: stamp.owner,
            audience: stamp.audience,
            label: stamp.label,
            source: stamp.source.clone(),
            updated_ms: Id::new().millis(),
            sum: Default::default(),
        };
        let key = record_key(stamp.scope, id);
        tx.put_raw(T::NAME, &key, &encode(&key, &header, value, &tails)?)?;
        Ok(with_header(id, header, value.clone(), tails))
    }

    /// Whether another record has this unique value. Rows whose record is gone do not count: code that did not know the
    /// index may have deleted it.
    fn taken(&self, tx: &Tx, scope: Scope, prefix: &[u8]) -> Result<bool> {
        for key in tx.keys_raw(&index_table(T::NAME), prefix)? {
            if key.len() == prefix.len() + 16 && tx.get_raw(T::NAME, &record_key(scope, id_of(&key)?))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Within a write: changes a record in place.
    ///
    /// # Errors
    /// `Missing` when it is not there; what `change` answers.
    pub fn change(
        &self,
        tx: &Tx,
        scope: Scope,
        label: Label,
        id: Id,
        change: &mut dyn FnMut(&mut T) -> Result<()>,
    ) -> Result<Entry<T>> {
        let Some(found) = self.read(tx, scope, id)? else {
            return Err(Error::Missing(format!("there is no {} with the id {id}", T::WORD)));
        };
        let mut value = found.value;
        change(&mut value)?;
        let label = found.label.max(label);
        let stamp = Stamp { scope, owner: found.owner, audience: found.audience, label, source: found.source };
        self.put_with(tx, id, &stamp, &value, found.tails)
    }

    /// Within a write: lets others read a record, or no longer.
    ///
    /// # Errors
    /// `Missing` when it is not there.
    pub fn share(&self, tx: &Tx, scope: Scope, id: Id, audience: Audience) -> Result<Entry<T>> {
        let Some(found) = self.read(tx, scope, id)? else {
            return Err(Error::Missing(format!("there is no {} with the id {id}", T::WORD)));
        };
        let stamp = Stamp { scope, owner: found.owner, audience, label: found.label, source: found.source };
        self.put_with(tx, id, &stamp, &found.value, found.tails)
    }

    /// Within a write: a person has looked at a record and vouches for it. The label is `Own` from then on; nothing else
    /// makes it better.
    ///
    /// # Errors
    /// `Missing` when it is not there.
    pub fn vouch(&self, tx: &Tx, scope: Scope, id: Id) -> Result<Entry<T>> {
        let Some(found) = self.read(tx, scope, id)? else {
            return Err(Error::Missing(format!("there is no {} with the id {id}", T::WORD)));
        };
        let (owner, audience, source) = (found.owner, found.audience, found.source);
        let stamp = Stamp { scope, owner, audience, label: Label::Own, source };
        self.put_with(tx, id, &stamp, &found.value, found.tails)
    }

    /// Within a write: reads a record.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn read(&self, tx: &Tx, scope: Scope, id: Id) -> Result<Option<Entry<T>>> {
        let key = record_key(scope, id);
        tx.get_raw(T::NAME, &key)?.map(|bytes| entry(&key, &bytes)).transpose()
    }

    /// Within a write: the records of a scope that are found under a value, as they are in this write. One that cannot be
    /// read hides no others.
    ///
    /// # Errors
    /// As every read.
    pub fn find(&self, tx: &Tx, scope: Scope, index: u8, value: &[u8]) -> Result<Vec<Entry<T>>> {
        let prefix = index_prefix(scope, &Key::many(index, value));
        let keys = tx.keys_raw(&index_table(T::NAME), &prefix)?;
        let ids = keys.iter().filter(|k| k.len() == prefix.len() + 16).map(|k| id_of(k));
        ids.filter_map(|id| id.and_then(|id| Ok(readable(self.read(tx, scope, id))?.flatten())).transpose()).collect()
    }

    /// Within a write: removes a record; `false` when it is not there.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn remove(&self, tx: &Tx, scope: Scope, id: Id) -> Result<bool> {
        self.unindex(tx, scope, id)?;
        tx.remove_raw(T::NAME, &record_key(scope, id))
    }

    fn unindex(&self, tx: &Tx, scope: Scope, id: Id) -> Result<()> {
        // One that cannot be read can still be deleted or replaced.
        let Some(old) = readable(self.read(tx, scope, id))?.flatten() else { return Ok(()) };
        for key in old.value.keys() {
            tx.remove_raw(&index_table(T::NAME), &[&index_prefix(scope, &key)[..], id.as_bytes()].concat())?;
        }
        if T::LEVEL == Level::User && old.audience == Audience::Household {
            for key in shared_rows(&old.value, id) {
                tx.remove_raw(&index_table(T::NAME), &key)?;
            }
        }
        Ok(())
    }
}

/// The rows under which everybody finds a shared record: all of them, and by each of its values.
pub(crate) fn shared_rows<T: Record>(value: &T, id: Id) -> Vec<Vec<u8>> {
    let keys = value.keys().into_iter().chain([Key::many(SHARED, [])]);
    keys.map(|key| [&index_prefix(Scope::Household, &key)[..], id.as_bytes()].concat()).collect()
}

/// The scope a caller's records of this type are in.
pub(crate) fn scope_of<T: Record>(cx: &Cx) -> Scope {
    match T::LEVEL {
        Level::Household => Scope::Household,
        Level::User => Scope::User(cx.user()),
        Level::Agent => Scope::Agent(cx.agent()),
        Level::AgentUser => Scope::AgentUser(cx.agent(), cx.user()),
    }
}

/// Whether this caller may read a record that was found for them: what a scope of several people keeps privately is its
/// owner's alone.
pub(crate) fn may_read<T>(cx: &Cx, entry: &Entry<T>) -> bool {
    entry.audience == Audience::Household || entry.owner == cx.user()
}

/// The record as this caller reads it: the words of another member are from outside for them. What is stored keeps its own
/// label, which holds for whoever wrote it.
pub(crate) fn as_read_by<T: Record>(cx: &Cx, mut entry: Entry<T>) -> Entry<T> {
    if T::BY_MEMBERS && entry.owner != cx.user() && entry.owner != UserId::OWNER {
        entry.label = Label::Outside;
    }
    entry
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
fn index_prefix(scope: Scope, key: &Key) -> Vec<u8> {
    let mut prefix = scope.key();
    prefix.push(key.index);
    prefix.extend(&key.value);
    prefix
}

fn with_header<T>(id: Id, h: Header, value: T, tails: Tails) -> Entry<T> {
    let Header { version, owner, audience, label, source, updated_ms, sum: _ } = h;
    Entry { id, owner, audience, label, source, updated_ms, version, value, tails }
}

/// The id is the last 16 bytes of a key.
pub(crate) fn id_of(key: &[u8]) -> Result<Id> {
    let tail = key.last_chunk::<16>().ok_or_else(|| Error::Damaged("a stored key is too short".into()))?;
    Ok(Id::from_bytes(*tail))
}

pub(crate) fn entry<T: Record>(key: &[u8], bytes: &[u8]) -> Result<Entry<T>> {
    let (header, value, tails) = decode(key, bytes)?;
    Ok(with_header(id_of(key)?, header, value, tails))
}

/// One record that cannot be read (a newer Hob wrote it, or the disk bent it) must not hide all the others from a
/// list: it is left out and logged. Asked for by its id, it is an error.
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

pub(crate) type OpenTable = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

/// `None` where nothing was ever written.
pub(crate) fn open(tx: &ReadTransaction, name: &str) -> Result<Option<OpenTable>> {
    match tx.open_table(Table::new(name)) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn get<T: Record>(tx: &ReadTransaction, scope: Scope, id: Id) -> Result<Option<Entry<T>>> {
    let Some(table) = open(tx, T::NAME)? else { return Ok(None) };
    let key = record_key(scope, id);
    let value = ReadableTable::get(&table, key.as_slice())?;
    value.map(|v| entry(&key, v.value())).transpose()
}

fn get_shared<T: Record>(tx: &ReadTransaction, id: Id) -> Result<Option<Entry<T>>> {
    let (Some(index), Some(table)) = (open(tx, &index_table(T::NAME))?, open(tx, T::NAME)?) else { return Ok(None) };
    let key = [&index_prefix(Scope::Household, &Key::many(SHARED, []))[..], id.as_bytes()].concat();
    let Some(scope) = ReadableTable::get(&index, key.as_slice())? else { return Ok(None) };
    let key = [scope.value(), &id.as_bytes()[..]].concat();
    let value = ReadableTable::get(&table, key.as_slice())?;
    value.map(|v| entry(&key, v.value())).transpose()
}

/// The keys between `prefix`+`id` bounds, newest first, that have exactly an id after the prefix.
fn newest<'t>(
    table: &'t OpenTable,
    prefix: &[u8],
    before: Option<Id>,
) -> Result<impl Iterator<Item = Result<(Vec<u8>, Vec<u8>)>> + 't> {
    let from = prefix.to_vec();
    let to = [prefix, &before.map_or([0xff; 16], |id| *id.as_bytes())[..]].concat();
    let length = prefix.len() + 16;
    let rows = table.range::<&[u8]>(from.as_slice()..to.as_slice())?;
    Ok(rows.rev().filter_map(move |row| match row {
        Ok((k, v)) if k.value().len() == length => Some(Ok((k.value().to_vec(), v.value().to_vec()))),
        Ok(_) => None,
        Err(e) => Some(Err(e.into())),
    }))
}

fn list<T: Record>(tx: &ReadTransaction, scope: Scope, listing: &Listing) -> Result<Vec<Entry<T>>> {
    let Some(table) = open(tx, T::NAME)? else { return Ok(vec![]) };
    let limit = if listing.limit == 0 { usize::MAX } else { listing.limit };
    let Some((index, value)) = &listing.by else {
        return newest(&table, &scope.key(), listing.before)?
            .filter_map(|row| row.and_then(|(key, bytes)| readable(entry(&key, &bytes))).transpose())
            .take(limit)
            .collect();
    };
    let Some(by) = open(tx, &index_table(T::NAME))? else { return Ok(vec![]) };
    let mut found = vec![];
    for row in newest(&by, &index_prefix(scope, &Key::many(*index, value)), listing.before)? {
        if found.len() == limit {
            break;
        }
        found.extend(readable(get(tx, scope, id_of(&row?.0)?))?.flatten());
    }
    Ok(found)
}

/// What others share with the household.
fn list_shared<T: Record>(tx: &ReadTransaction, own: Scope, listing: &Listing) -> Result<Vec<Entry<T>>> {
    let (Some(index), Some(table)) = (open(tx, &index_table(T::NAME))?, open(tx, T::NAME)?) else { return Ok(vec![]) };
    let mut found = vec![];
    for row in newest(&index, &index_prefix(Scope::Household, &Key::many(SHARED, [])), listing.before)? {
        let (key, scope) = row?;
        if scope == own.key() {
            continue;
        }
        let key = [&scope[..], id_of(&key)?.as_bytes()].concat();
        let Some(value) = ReadableTable::get(&table, key.as_slice())? else { continue };
        let Some(entry) = readable(entry::<T>(&key, value.value()))? else { continue };
        let wanted =
            |(index, value): &(u8, Vec<u8>)| entry.value.keys().iter().any(|k| k.index == *index && k.value == *value);
        if listing.by.as_ref().is_none_or(wanted) {
            found.push(entry);
        }
        if listing.limit > 0 && found.len() == listing.limit {
            break;
        }
    }
    Ok(found)
}
