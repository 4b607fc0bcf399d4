//! A state of the store to read from: the tables of the data file with the changes over them that are only in the log.
//!
//! Use it as redb's own read transaction: [`Snapshot::open`] a table, then [`View::get`] and [`View::range`].

use crate::{
    Error, Result,
    overlay::{Changes, Overlay},
};
use redb::{
    AccessGuard, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTableMetadata, TableDefinition, TableError,
    TableHandle,
};
use std::{
    collections::BTreeSet,
    ops::{Bound, Deref, RangeBounds},
    sync::Arc,
};

/// Every table maps bytes to bytes, so that backup and checks need not know the types.
pub(crate) type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
/// A table of the data file.
pub(crate) type Stored = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A state of all tables. Later writes do not change it; clones are cheap.
#[derive(Clone)]
pub(crate) struct Snapshot {
    stored: Arc<ReadTransaction>,
    changes: Overlay,
}

impl Snapshot {
    /// The data file's state with changes over it.
    pub fn new(stored: Arc<ReadTransaction>, changes: Overlay) -> Self {
        Self { stored, changes }
    }

    /// The data file's state alone.
    pub fn stored(db: &impl ReadableDatabase) -> Result<Self> {
        Ok(Self::new(Arc::new(db.begin_read()?), Overlay::default()))
    }

    /// The changes over the data file.
    pub fn changes(&self) -> &Overlay {
        &self.changes
    }

    /// The same data file with other changes.
    pub fn with_changes(&self, changes: Overlay) -> Self {
        Self { stored: self.stored.clone(), changes }
    }

    /// The data file's state.
    pub fn data_file(&self) -> &ReadTransaction {
        &self.stored
    }

    /// One table; `None` where nothing was ever written.
    pub fn open(&self, table: &str) -> Result<Option<View>> {
        let changes = self.changes.table(table).cloned();
        let stored = open_stored(&self.stored, table)?.map(Arc::new);
        Ok((stored.is_some() || changes.is_some()).then(|| View::new(stored, changes)))
    }

    /// One value; `None` also where the table was never written.
    pub fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(view) = self.open(table)? else { return Ok(None) };
        Ok(view.get(key)?.map(|value| value.to_vec()))
    }

    /// The names of all tables, in order.
    pub fn tables(&self) -> Result<Vec<String>> {
        let mut names: BTreeSet<String> = self.stored.list_tables()?.map(|table| table.name().to_owned()).collect();
        names.extend(self.changes.tables().map(|(name, _)| name.to_string()));
        Ok(names.into_iter().collect())
    }
}

/// A table of the data file; `None` where nothing was ever written.
pub(crate) fn open_stored(stored: &ReadTransaction, table: &str) -> Result<Option<Stored>> {
    match stored.open_table(Table::new(table)) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// A table of a snapshot.
pub(crate) struct View {
    stored: Option<Arc<Stored>>,
    changes: Option<Changes>,
}

impl View {
    pub fn new(stored: Option<Arc<Stored>>, changes: Option<Changes>) -> Self {
        Self { stored, changes }
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        if let Some(changed) = self.changes.as_ref().and_then(|changes| changes.get(key)) {
            return Ok(changed.clone().map(Bytes::Changed));
        }
        let Some(stored) = &self.stored else { return Ok(None) };
        // Not the trait's `get`, whose result borrows the table.
        Ok(ReadOnlyTable::get(stored, key)?.map(Bytes::Stored))
    }

    /// The rows in a range of keys, in order from both ends.
    pub fn range<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Rows<'_>> {
        let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
        if is_empty(bounds) {
            return Ok(Rows { stored: Ends::new(None), changes: Ends::new(None) });
        }
        let stored = self.stored.as_ref().map(|stored| stored.range::<&[u8]>(bounds)).transpose()?;
        let changes = self.changes.as_ref().map(|changes| -> ChangedRows<'_> {
            // The iterator outlives the caller's bounds.
            let owned = (bounds.0.map(Arc::<[u8]>::from), bounds.1.map(Arc::<[u8]>::from));
            Box::new(changes.range::<Arc<[u8]>, _>(owned))
        });
        Ok(Rows { stored: Ends::new(stored), changes: Ends::new(changes) })
    }

    /// All rows, in order from both ends.
    pub fn iter(&self) -> Result<Rows<'_>> {
        self.range(..)
    }

    /// How many rows there are; reads the data file once for each changed row.
    pub fn len(&self) -> Result<u64> {
        let Some(stored) = &self.stored else {
            return Ok(self.changes.iter().flat_map(Changes::values).flatten().count() as u64);
        };
        let mut length = stored.len()?;
        for (key, value) in self.changes.iter().flatten() {
            match (stored.get(&**key)?.is_some(), value.is_some()) {
                (false, true) => length += 1,
                (true, false) => length = length.saturating_sub(1),
                _ => {}
            }
        }
        Ok(length)
    }

    #[allow(dead_code)]
    pub fn is_empty(&self) -> Result<bool> {
        self.iter()?.next().transpose().map(|first| first.is_none())
    }
}

/// Whether no key is in a range. Neither redb nor the overlay takes bounds in the wrong order.
fn is_empty(bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
    }
}

/// A key or a value.
pub(crate) enum Bytes {
    Stored(AccessGuard<'static, &'static [u8]>),
    Changed(Arc<[u8]>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Stored(guard) => guard.value(),
            Self::Changed(bytes) => bytes,
        }
    }
}

type ChangedRows<'v> = Box<dyn DoubleEndedIterator<Item = (&'v Arc<[u8]>, &'v Option<Arc<[u8]>>)> + 'v>;

/// The rows of a range: those of the data file and the changes, merged.
pub(crate) struct Rows<'v> {
    stored: Ends<redb::Range<'static, &'static [u8], &'static [u8]>>,
    changes: Ends<ChangedRows<'v>>,
}

impl Rows<'_> {
    /// The next row from one end.
    fn take(&mut self, end: End) -> Option<Result<(Bytes, Bytes)>> {
        loop {
            let (change, stored) = (self.changes.peek(end), self.stored.peek(end));
            let order = match (change, stored) {
                (None, None) => return None,
                // An error of the data file must not be passed over.
                (_, Some(Err(_))) | (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(_), None) => std::cmp::Ordering::Less,
                (Some((key, _)), Some(Ok((stored, _)))) => match end {
                    End::Front => (***key).cmp(stored.value()),
                    End::Back => stored.value().cmp(key),
                },
            };
            if order.is_gt() {
                let row = self.stored.take(end)?;
                return Some(row.map(|(k, v)| (Bytes::Stored(k), Bytes::Stored(v))).map_err(Error::from));
            }
            if order.is_eq() {
                self.stored.take(end);
            }
            if let (key, Some(value)) = self.changes.take(end)? {
                return Some(Ok((Bytes::Changed(key.clone()), Bytes::Changed(value.clone()))));
            }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(Bytes, Bytes)>;
    fn next(&mut self) -> Option<Self::Item> {
        self.take(End::Front)
    }
}

impl DoubleEndedIterator for Rows<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(End::Back)
    }
}

#[derive(Clone, Copy)]
enum End {
    Front,
    Back,
}

/// An iterator with a look at the next item of each end.
struct Ends<I: DoubleEndedIterator> {
    rest: Option<I>,
    front: Option<I::Item>,
    back: Option<I::Item>,
}

impl<I: DoubleEndedIterator> Ends<I> {
    fn new(rest: Option<I>) -> Self {
        Self { rest, front: None, back: None }
    }

    fn peek(&mut self, end: End) -> Option<&I::Item> {
        let Self { rest, front, back } = self;
        match end {
            End::Front => {
                if front.is_none() {
                    *front = rest.as_mut().and_then(Iterator::next).or_else(|| back.take());
                }
                front.as_ref()
            }
            End::Back => {
                if back.is_none() {
                    *back = rest.as_mut().and_then(DoubleEndedIterator::next_back).or_else(|| front.take());
                }
                back.as_ref()
            }
        }
    }

    fn take(&mut self, end: End) -> Option<I::Item> {
        self.peek(end);
        match end {
            End::Front => self.front.take(),
            End::Back => self.back.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::{Database, backends::InMemoryBackend};
    use std::collections::BTreeMap;

    /// Random numbers from a seed.
    struct Dice(u64);
    impl Dice {
        fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % sides
        }
    }

    #[test]
    fn a_view_is_the_stored_rows_with_the_changes_over_them() {
        let mut dice = Dice(7);
        for round in 0..60 {
            let db = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
            let (mut model, mut changes, name) = (BTreeMap::new(), Overlay::default(), Arc::<str>::from("t"));
            let key = |dice: &mut Dice| {
                vec![b'k'; dice.roll(2) as usize + 1].into_iter().chain([dice.roll(20) as u8]).collect::<Vec<u8>>()
            };
            let tx = db.begin_write().unwrap();
            for n in 0..round % 20 {
                let (key, value) = (key(&mut dice), vec![n as u8]);
                tx.open_table(Table::new("t")).unwrap().insert(&key[..], &value[..]).unwrap();
                model.insert(key, value);
            }
            tx.commit().unwrap();
            for n in 0..round % 30 {
                let (key, value) = (key(&mut dice), (dice.roll(3) > 0).then(|| vec![100 + n as u8]));
                changes.set(&name, key.as_slice().into(), value.clone().map(Into::into));
                match value {
                    Some(value) => drop(model.insert(key, value)),
                    None => drop(model.remove(&key)),
                }
            }
            let snapshot = Snapshot::new(Arc::new(db.begin_read().unwrap()), changes);
            let Some(view) = snapshot.open("t").unwrap() else { continue };
            assert_eq!((view.len().unwrap(), view.is_empty().unwrap()), (model.len() as u64, model.is_empty()));
            for _ in 0..40 {
                let (from, to) = (key(&mut dice), key(&mut dice));
                assert_eq!(view.get(&from).unwrap().map(|v| v.to_vec()), model.get(&from).cloned());
                let bound = |key, dice: &mut Dice| match dice.roll(3) {
                    0 => Bound::Included(key),
                    1 => Bound::Excluded(key),
                    _ => Bound::Unbounded,
                };
                let bounds = (bound(&from[..], &mut dice), bound(&to[..], &mut dice));
                let mut rest = view.range(bounds).unwrap();
                let mut expected: Vec<_> = match is_empty(bounds) {
                    true => vec![],
                    false => model.range::<[u8], _>(bounds).map(|(k, v)| (k.clone(), v.clone())).collect(),
                };
                // From both ends, in any mixture, until they meet.
                loop {
                    let front = dice.roll(2) == 0;
                    let row = if front { rest.next() } else { rest.next_back() };
                    let row = row.map(|row| row.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap());
                    let next = (!expected.is_empty())
                        .then(|| if front { expected.remove(0) } else { expected.pop().unwrap() });
                    assert_eq!(row, next, "round {round}");
                    if next.is_none() {
                        break;
                    }
                }
            }
        }
        let snapshot = Snapshot::stored(&Database::builder().create_with_backend(InMemoryBackend::new()).unwrap());
        assert!(snapshot.unwrap().open("t").unwrap().is_none());
    }
}
