//! Typed collections: records of one type, found by id, by index or in order of time. The work is done by [`rows`], which is
//! compiled once for all types.

use crate::{
    Result, Store, Tx,
    entry::{Entry, Listing, Stamp},
    kind::{Kind, mixed_up},
    record::{Audience, Record, Tails},
    rows::{self, Found},
};
use std::{any::Any, marker::PhantomData};
use tool::{Cx, Id, Label, Scope};

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

fn typed<T: Record>(found: Vec<Found>) -> Result<Vec<Entry<T>>> {
    found.into_iter().map(Entry::typed).collect()
}

impl<T: Record> Collection<T> {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, of: PhantomData }
    }

    pub(crate) fn kind(&self) -> &'static Kind {
        Kind::of::<T>()
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The stamp of a write by this caller: owner, and the worst label of what the run has read.
    pub fn stamp(&self, cx: &Cx, source: &str) -> Stamp {
        Stamp {
            scope: rows::scope_of(self.kind(), cx),
            owner: cx.user(),
            audience: Audience::Private,
            label: cx.label(),
            source: source.into(),
        }
    }

    /// Stores a new record of this caller.
    ///
    /// # Errors
    /// `Conflict` when a unique value is taken; as [`Store::write`].
    pub async fn insert(&self, cx: &Cx, source: &str, value: T) -> Result<Entry<T>> {
        let stamp = self.stamp(cx, source);
        self.insert_as(stamp, value).await
    }

    /// Stores a new record under a given stamp.
    ///
    /// # Errors
    /// As [`Collection::insert`].
    pub async fn insert_as(&self, stamp: Stamp, value: T) -> Result<Entry<T>> {
        let (this, id) = (self.clone(), Id::new());
        self.store.write(move |tx| this.put(tx, id, &stamp, &value)).await
    }

    /// One record of this caller, or one shared with them. Reading what came from outside taints the run. The words of
    /// another member taint it for what that member may not do; the owner's do not, because the owner may do everything.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Option<Entry<T>>> {
        let found = self.peek(cx, id)?;
        found.iter().for_each(|found| cx.taint(found.label));
        Ok(found)
    }

    /// Like [`Collection::get`], but the run is not tainted: for a caller that may throw the record away, and taints the
    /// run itself when it does not.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn peek(&self, cx: &Cx, id: Id) -> Result<Option<Entry<T>>> {
        self.store.0.engine.read(|tx| rows::get_for(self.kind(), tx, cx, id))?.map(Entry::typed).transpose()
    }

    /// Whether a scope holds no record at all, readable or not.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn is_empty_in(&self, scope: Scope) -> Result<bool> {
        self.store.0.engine.read(|tx| match tx.open(T::NAME)? {
            Some(table) => Ok(rows::newest(&table, &scope.key(), None)?.next().transpose()?.is_none()),
            None => Ok(true),
        })
    }

    /// Whether every record of a scope can be read, for callers to whom a damaged record must not count as none.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn is_whole_in(&self, scope: Scope) -> Result<bool> {
        self.store.0.engine.read(|tx| {
            let Some(table) = tx.open(T::NAME)? else { return Ok(true) };
            let mut all = rows::newest(&table, &scope.key(), None)?;
            all.try_fold(true, |whole, row| {
                row.map(|(key, bytes)| whole && rows::entry(self.kind(), &key, &bytes).is_ok())
            })
        })
    }

    /// One record of a scope, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn get_in(&self, scope: Scope, id: Id) -> Result<Option<Entry<T>>> {
        self.store.0.engine.read(|tx| rows::get(self.kind(), tx, scope, id))?.map(Entry::typed).transpose()
    }

    /// The records of a scope with these ids, in their order, for code that acts for the device itself. Leaves out those that
    /// are not there or cannot be read.
    ///
    /// # Errors
    /// As every read.
    pub fn get_all_in(&self, scope: Scope, ids: &[Id]) -> Result<Vec<Entry<T>>> {
        typed(self.store.0.engine.read(|tx| rows::get_all(self.kind(), tx, scope, ids))?)
    }

    /// The records of this caller and those shared with them, newest first.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn list(&self, cx: &Cx, listing: &Listing) -> Result<Vec<Entry<T>>> {
        let found = self.store.0.engine.read(|tx| rows::list_for(self.kind(), tx, cx, listing))?;
        found.iter().for_each(|found| cx.taint(found.label));
        typed(found)
    }

    /// The records of a scope, newest first, for code that acts for the device itself.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn list_in(&self, scope: Scope, listing: &Listing) -> Result<Vec<Entry<T>>> {
        typed(self.store.0.engine.read(|tx| rows::list(self.kind(), tx, scope, listing))?)
    }

    /// Every record of the collection in every scope, in key order, without keeping them all in memory: for indexes
    /// built at start. `each` must not hand content to a caller that was not checked.
    ///
    /// # Errors
    /// `Damaged` when one cannot be read.
    pub fn scan(&self, mut each: impl FnMut(Entry<T>)) -> Result<()> {
        self.store.0.engine.read(|tx| rows::scan(self.kind(), tx, &mut |found| found.typed().map(&mut each)))
    }

    /// Changes a record of this caller; shared ones may be changed only by their owner.
    ///
    /// # Errors
    /// `Missing` when it is not there; the error of `change`; as [`Store::write`].
    pub async fn update<F>(&self, cx: &Cx, id: Id, change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> Result<()> + Send + 'static,
    {
        self.update_in(rows::scope_of(self.kind(), cx), cx.label(), id, change).await
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
        self.delete_in(rows::scope_of(self.kind(), cx), id).await
    }

    /// Deletes a record of a scope; `false` when it is not there.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn delete_in(&self, scope: Scope, id: Id) -> Result<bool> {
        let kind = self.kind();
        self.store.write(move |tx| rows::remove(kind, tx, scope, id)).await
    }

    /// Within a write: stores a record under `id`, replacing what was there, and keeps the indexes true.
    ///
    /// # Errors
    /// `Conflict` when a unique value is taken by another record.
    pub fn put(&self, tx: &Tx, id: Id, stamp: &Stamp, value: &T) -> Result<Entry<T>> {
        rows::put(self.kind(), tx, id, stamp, value, Tails::default()).map(|stored| stored.with(value.clone()))
    }

    /// Within a write: changes a record in place.
    ///
    /// # Errors
    /// `Missing` when it is not there; the error of `change`.
    pub fn change(
        &self,
        tx: &Tx,
        scope: Scope,
        label: Label,
        id: Id,
        change: &mut dyn FnMut(&mut T) -> Result<()>,
    ) -> Result<Entry<T>> {
        let change = &mut |value: &mut dyn Any| change(value.downcast_mut().ok_or_else(mixed_up)?);
        rows::change(self.kind(), tx, scope, id, change, &|stamp| stamp.label = stamp.label.max(label))?.typed()
    }

    /// Within a write: sets who can read a record.
    ///
    /// # Errors
    /// `Missing` when it is not there.
    pub fn share(&self, tx: &Tx, scope: Scope, id: Id, audience: Audience) -> Result<Entry<T>> {
        rows::change(self.kind(), tx, scope, id, &mut |_| Ok(()), &|stamp| stamp.audience = audience)?.typed()
    }

    /// Within a write: a person has looked at a record and vouches for it. The label is `Own` from then on; nothing else
    /// makes it better.
    ///
    /// # Errors
    /// `Missing` when it is not there.
    pub fn vouch(&self, tx: &Tx, scope: Scope, id: Id) -> Result<Entry<T>> {
        rows::change(self.kind(), tx, scope, id, &mut |_| Ok(()), &|stamp| stamp.label = Label::Own)?.typed()
    }

    /// Within a write: reads a record.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn read(&self, tx: &Tx, scope: Scope, id: Id) -> Result<Option<Entry<T>>> {
        rows::read(self.kind(), tx, scope, id)?.map(Entry::typed).transpose()
    }

    /// Within a write: the records of a scope that are found under a value, as they are in this write. One that cannot be
    /// read hides no others.
    ///
    /// # Errors
    /// As every read.
    pub fn find(&self, tx: &Tx, scope: Scope, index: u8, value: &[u8]) -> Result<Vec<Entry<T>>> {
        typed(rows::find(self.kind(), tx, scope, index, value)?)
    }

    /// Within a write: how many records of a scope an index has under a value. None of them is read.
    ///
    /// # Errors
    /// As every read.
    pub fn count_in(&self, tx: &Tx, scope: Scope, index: u8, value: &[u8]) -> Result<usize> {
        rows::count(self.kind(), tx, scope, index, value)
    }

    /// Within a write: removes a record; `false` when it is not there.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn remove(&self, tx: &Tx, scope: Scope, id: Id) -> Result<bool> {
        rows::remove(self.kind(), tx, scope, id)
    }
}
