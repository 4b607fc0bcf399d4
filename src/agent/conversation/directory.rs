//! The order of people's records in memory, so that a page of a list reads only the records of that page.
//!
//! It is built by one pass when it is first needed, and nothing is written for it: an older Hob that changes the file in between
//! cannot make it wrong. A write only notes which record it touches. The next list reads the noted records again, and forgets a
//! note once the commit of its write has ended; so the order is always that of the stored records, also after a failed commit.

use super::start_marks::StartMarks;
use std::{
    collections::{BTreeMap, HashMap},
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{Collection, Entry, Record, Stamp, Tx};
use tool::{Id, Label, Result, Scope, UserId};

/// How many notes wait for the next list. Beyond that the order is built again.
const NOTES: usize = 4096;

/// Records that are listed in an order, the highest place first.
pub(crate) trait Listed: Record {
    /// The parts of a record that filters read.
    type Facts: Copy + Send + 'static;
    /// Its facts.
    fn facts(&self) -> Self::Facts;
    /// Its place; equal places are ordered by id.
    fn place(entry: &Entry<Self>) -> u64;
    /// The number of its marks for a start; see [`StartMarks`].
    const START: u8;
    /// Whether a start looks at the record.
    fn concerns_start(&self) -> bool;
}

/// The position of a record in its list.
pub(crate) type Position = (u64, Id);

/// A collection of people's records with their order. Its own methods that write hide those of the collection: a record must not
/// be written in another way.
pub(crate) struct Directory<T: Listed> {
    records: Collection<T>,
    order: Arc<Order<T::Facts>>,
    marks: StartMarks,
}

struct Order<F> {
    rows: Mutex<Rows<F>>,
    /// Held while records are read for the rows. Writes never take it: they must not wait for a reader.
    reading: Mutex<()>,
}

struct Rows<F> {
    /// `None` until it is first needed.
    people: Option<HashMap<UserId, Person<F>>>,
    /// Whether it is being built: a pass that has begun does not see what is committed from now on.
    building: bool,
    /// Records that were written since they were read, and how many commits there were at the time of the write.
    notes: HashMap<(UserId, Id), u64>,
}

/// The records of one person.
struct Person<F> {
    places: HashMap<Id, u64>,
    order: BTreeMap<Position, F>,
}

impl<F> Default for Person<F> {
    fn default() -> Self {
        Self { places: HashMap::new(), order: BTreeMap::new() }
    }
}

impl<F> Person<F> {
    fn set(&mut self, id: Id, row: Option<(u64, F)>) {
        if let Some(place) = self.places.remove(&id) {
            self.order.remove(&(place, id));
        }
        if let Some((place, facts)) = row {
            self.places.insert(id, place);
            self.order.insert((place, id), facts);
        }
    }
}

impl<T: Listed> Clone for Directory<T> {
    fn clone(&self) -> Self {
        Self { records: self.records.clone(), order: self.order.clone(), marks: self.marks.clone() }
    }
}

impl<T: Listed> Deref for Directory<T> {
    type Target = Collection<T>;
    fn deref(&self) -> &Collection<T> {
        &self.records
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Listed> Directory<T> {
    pub fn new(records: Collection<T>) -> Self {
        let rows = Rows { people: None, building: false, notes: HashMap::new() };
        let marks = StartMarks::new(records.store(), T::START);
        Self { records, order: Arc::new(Order { rows: Mutex::new(rows), reading: Mutex::default() }), marks }
    }

    /// Within a write: stores a record.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn put(&self, tx: &Tx, id: Id, stamp: &Stamp, value: &T) -> store::Result<Entry<T>> {
        self.note(stamp.scope, id);
        self.marks.set(tx, stamp.scope, id, value.concerns_start())?;
        self.records.put(tx, id, stamp, value)
    }

    /// Within a write: changes a record in place.
    ///
    /// # Errors
    /// As [`Collection::change`].
    pub fn change(
        &self,
        tx: &Tx,
        scope: Scope,
        label: Label,
        id: Id,
        change: &mut dyn FnMut(&mut T) -> store::Result<()>,
    ) -> store::Result<Entry<T>> {
        self.note(scope, id);
        let changed = self.records.change(tx, scope, label, id, change)?;
        self.marks.set(tx, scope, id, changed.value.concerns_start())?;
        Ok(changed)
    }

    /// Within a write: removes a record; `false` when it is not there.
    ///
    /// # Errors
    /// As [`Collection::remove`].
    pub fn remove(&self, tx: &Tx, scope: Scope, id: Id) -> store::Result<bool> {
        self.note(scope, id);
        self.marks.set(tx, scope, id, false)?;
        self.records.remove(tx, scope, id)
    }

    /// Changes a record of a scope; the label can only get worse.
    ///
    /// # Errors
    /// As [`Collection::update_in`].
    pub async fn update_in<F>(&self, scope: Scope, label: Label, id: Id, mut change: F) -> store::Result<Entry<T>>
    where
        F: FnMut(&mut T) -> store::Result<()> + Send + 'static,
    {
        let this = self.clone();
        self.records.store().write(move |tx| this.change(tx, scope, label, id, &mut change)).await
    }

    /// Notes a record that is about to be written.
    fn note(&self, scope: Scope, id: Id) {
        let Scope::User(user) = scope else { return };
        let commits = self.records.store().version();
        let mut rows = lock(&self.order.rows);
        if rows.people.is_some() && rows.notes.len() >= NOTES {
            rows.people = None;
        }
        if rows.people.is_none() && !rows.building {
            // The pass that will build the order sees what was committed before.
            rows.notes.retain(|_, at| *at >= commits);
        }
        rows.notes.insert((user, id), commits);
    }

    /// Brings the order up to date with the stored records.
    fn refresh(&self) -> Result<()> {
        let store = self.records.store();
        loop {
            // Read before the records: what these commits wrote is seen.
            let commits = store.version();
            let (is_built, notes) = {
                let mut rows = lock(&self.order.rows);
                rows.building = rows.people.is_none();
                (!rows.building, rows.notes.clone())
            };
            let built = (!is_built).then(|| self.build()).transpose();
            lock(&self.order.rows).building &= built.is_ok();
            let built = built?;
            let mut read = Vec::with_capacity(notes.len());
            for ((user, id), at) in notes {
                // A record that cannot be read is in no list; looking it up says why.
                let found = self.records.get_all_in(Scope::User(user), &[id])?.pop();
                read.push((user, id, at, found.map(|found| (T::place(&found), found.value.facts()))));
            }
            let mut rows = lock(&self.order.rows);
            if let Some(built) = built {
                (rows.people, rows.building) = (Some(built), false);
            }
            let Some(people) = &mut rows.people else { continue };
            let mut over = vec![];
            for (user, id, at, row) in read {
                if row.is_some() || people.contains_key(&user) {
                    people.entry(user).or_default().set(id, row);
                }
                if at < commits {
                    over.push((user, id, at));
                }
            }
            // It may have been written once more meanwhile.
            for (user, id, at) in over {
                if rows.notes.get(&(user, id)) == Some(&at) {
                    rows.notes.remove(&(user, id));
                }
            }
            return Ok(());
        }
    }

    fn build(&self) -> Result<HashMap<UserId, Person<T::Facts>>> {
        let mut people = HashMap::<UserId, Person<T::Facts>>::new();
        self.records.scan(|entry| {
            let row = (T::place(&entry), entry.value.facts());
            people.entry(entry.owner).or_default().set(entry.id, Some(row));
        })?;
        Ok(people)
    }

    /// The records of a person that fit: how many there are, and the positions of a page of them, the highest first: those
    /// below `before`, without the first `offset`, `limit` at most.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn page(
        &self,
        user: UserId,
        fits: impl Fn(Id, T::Facts) -> bool,
        before: Option<Position>,
        (offset, limit): (usize, usize),
    ) -> Result<(usize, Vec<Position>)> {
        let _reading = lock(&self.order.reading);
        self.refresh()?;
        let rows = lock(&self.order.rows);
        let Some(person) = rows.people.as_ref().and_then(|people| people.get(&user)) else { return Ok((0, vec![])) };
        let all =
            person.order.iter().rev().filter(|((_, id), facts)| fits(*id, **facts)).map(|(position, _)| *position);
        let (mut count, mut skipped, mut page) = (0, 0, vec![]);
        for position in all {
            count += 1;
            if before.is_some_and(|before| position >= before) || page.len() == limit {
                continue;
            }
            if skipped < offset {
                skipped += 1;
            } else {
                page.push(position);
            }
        }
        Ok((count, page))
    }

    /// Everybody's records that a start looks at, found by their marks. Where those are not complete, all records are read, and
    /// marked.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn for_start(&self) -> Result<Vec<(UserId, Id, T::Facts)>> {
        let mut found = vec![];
        if let Some(marked) = self.marks.all()? {
            for (user, id) in marked {
                let read = self.records.get_all_in(Scope::User(user), &[id])?.pop();
                let read = read.filter(|entry| entry.value.concerns_start());
                found.extend(read.map(|entry| (user, id, entry.value.facts())));
            }
            return Ok(found);
        }
        self.records.scan(|entry| {
            if entry.value.concerns_start() {
                found.push((entry.owner, entry.id, entry.value.facts()));
            }
        })?;
        let (this, all) = (self.clone(), found.clone());
        self.records.store().write_later(move |tx| {
            for (user, id, _) in &all {
                // It may have been written meanwhile.
                let is_marked = this.records.read(tx, Scope::User(*user), *id)?;
                let is_marked = is_marked.is_some_and(|entry| entry.value.concerns_start());
                this.marks.set(tx, Scope::User(*user), *id, is_marked)?;
            }
            this.marks.finish(tx)
        });
        Ok(found)
    }

    /// Everybody's records that fit, the highest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn everybody(&self, fits: impl Fn(T::Facts) -> bool) -> Result<Vec<(UserId, Id, T::Facts)>> {
        let _reading = lock(&self.order.reading);
        self.refresh()?;
        let rows = lock(&self.order.rows);
        let people = rows.people.iter().flatten();
        let all =
            people.flat_map(|(user, person)| person.order.iter().rev().map(|((_, id), facts)| (*user, *id, *facts)));
        Ok(all.filter(|(.., facts)| fits(*facts)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use store::{Audience, Error, Level, Store};

    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Letter {
        weight: u64,
        sealed: bool,
    }
    impl Record for Letter {
        const NAME: &'static str = "letters";
        const WORD: &'static str = "letter";
        const LEVEL: Level = Level::User;
    }
    impl Listed for Letter {
        type Facts = bool;
        fn facts(&self) -> bool {
            self.sealed
        }
        fn place(entry: &Entry<Self>) -> u64 {
            entry.value.weight
        }
        const START: u8 = 9;
        fn concerns_start(&self) -> bool {
            self.sealed
        }
    }

    const ANNA: UserId = UserId(Id::from_bytes([1; 16]));
    const BEN: UserId = UserId(Id::from_bytes([2; 16]));

    fn letters() -> Directory<Letter> {
        Directory::new(Store::in_memory().unwrap().collection())
    }

    fn stamp(owner: UserId) -> Stamp {
        let (scope, audience) = (Scope::User(owner), Audience::Private);
        Stamp { scope, owner, audience, label: Label::Own, source: "test".into() }
    }

    async fn add(letters: &Directory<Letter>, owner: UserId, weight: u64) -> Id {
        let (id, all) = (Id::new(), letters.clone());
        let put = move |tx: &Tx| {
            all.put(tx, id, &stamp(owner), &Letter { weight, sealed: weight.is_multiple_of(2) }).map(drop)
        };
        letters.store().write(put).await.unwrap();
        id
    }

    fn weights(letters: &Directory<Letter>, owner: UserId) -> Vec<u64> {
        let (count, page) = letters.page(owner, |_, _| true, None, (0, usize::MAX)).unwrap();
        assert_eq!(count, page.len());
        page.into_iter().map(|(weight, _)| weight).collect()
    }

    #[tokio::test]
    async fn a_list_is_in_the_order_of_the_stored_records() {
        let letters = letters();
        let [heavy, light] = [add(&letters, ANNA, 90).await, add(&letters, ANNA, 10).await];
        add(&letters, BEN, 50).await;
        assert_eq!((weights(&letters, ANNA), weights(&letters, BEN)), (vec![90, 10], vec![50]));
        add(&letters, ANNA, 30).await;
        let weigh = |letter: &mut Letter| {
            letter.weight = 70;
            Ok(())
        };
        letters.update_in(Scope::User(ANNA), Label::Own, light, weigh).await.unwrap();
        assert_eq!(weights(&letters, ANNA), [90, 70, 30]);
        let all = letters.clone();
        letters.store().write(move |tx| all.remove(tx, Scope::User(ANNA), heavy)).await.unwrap();
        assert_eq!(weights(&letters, ANNA), [70, 30]);
        // Another Hob finds the same.
        assert_eq!(weights(&Directory::new(letters.store().collection()), ANNA), [70, 30]);
        let everybody = letters.everybody(|sealed| sealed).unwrap();
        assert_eq!(everybody.len(), 3);
        assert!(letters.everybody(|sealed| !sealed).unwrap().is_empty());
    }

    #[tokio::test]
    async fn pages_continue_below_a_position() {
        let letters = letters();
        for weight in [5, 1, 4, 2, 3, 3] {
            add(&letters, ANNA, weight).await;
        }
        let page = |before, offset, limit| letters.page(ANNA, |_, _| true, before, (offset, limit)).unwrap();
        let of =
            |(count, page): (usize, Vec<Position>)| (count, page.iter().map(|(weight, _)| *weight).collect::<Vec<_>>());
        let (_, first) = page(None, 0, 3);
        assert_eq!(of((0, first.clone())).1, [5, 4, 3]);
        assert_eq!(of(page(first.last().copied(), 0, 2)), (6, vec![3, 2]));
        assert_eq!(of(page(first.last().copied(), 1, 9)), (6, vec![2, 1]));
        assert_eq!(of(page(None, 9, 9)), (6, vec![]));
        let sealed = letters.page(ANNA, |_, sealed| sealed, None, (0, 9)).unwrap();
        assert_eq!(of(sealed), (2, vec![4, 2]));
    }

    #[tokio::test]
    async fn a_list_shows_what_is_committed_and_nothing_else() {
        for is_built in [false, true] {
            let letters = letters();
            add(&letters, ANNA, 1).await;
            if is_built {
                assert_eq!(weights(&letters, ANNA), [1]);
            }
            // A list while a write is under way, and after it.
            let (all, letter) = (letters.clone(), Letter { weight: 2, sealed: false });
            let during = letters.store().write(move |tx| {
                all.put(tx, Id::new(), &stamp(ANNA), &letter)?;
                Ok(weights(&all, ANNA))
            });
            assert_eq!(during.await.unwrap(), [1]);
            assert_eq!(weights(&letters, ANNA), [2, 1]);
            // A write that fails.
            let (all, letter) = (letters.clone(), Letter { weight: 3, sealed: false });
            let failed = letters.store().write(move |tx| {
                all.put(tx, Id::new(), &stamp(ANNA), &letter)?;
                Err::<(), _>(Error::Conflict("no".into()))
            });
            failed.await.unwrap_err();
            assert_eq!(weights(&letters, ANNA), [2, 1]);
            add(&letters, ANNA, 4).await;
            assert_eq!(weights(&letters, ANNA), [4, 2, 1]);
            assert!(lock(&letters.order.rows).notes.is_empty());
        }
    }

    #[tokio::test]
    async fn a_start_finds_by_marks_what_it_would_find_among_all() {
        let letters = letters();
        let [sealed, open] = [add(&letters, ANNA, 2).await, add(&letters, BEN, 3).await];
        // Of a Hob that sets no marks.
        let (all, old) = (letters.records.clone(), Id::new());
        let put = move |tx: &Tx| all.put(tx, old, &stamp(BEN), &Letter { weight: 4, sealed: true }).map(drop);
        letters.store().write(put).await.unwrap();
        let found = |letters: &Directory<Letter>| {
            let mut found: Vec<_> = letters.for_start().unwrap().into_iter().map(|(user, id, _)| (user, id)).collect();
            found.sort();
            found
        };
        assert_eq!(letters.marks.all().unwrap(), None);
        assert_eq!(found(&letters), [(ANNA, sealed), (BEN, old)], "all are read");
        letters.store().flush().await.unwrap();
        let mut marked = letters.marks.all().unwrap().unwrap();
        marked.sort();
        assert_eq!(marked, [(ANNA, sealed), (BEN, old)]);
        // Each kind of write keeps the marks.
        let seal = |sealed| {
            move |letter: &mut Letter| {
                letter.sealed = sealed;
                Ok(())
            }
        };
        letters.update_in(Scope::User(BEN), Label::Own, open, seal(true)).await.unwrap();
        letters.update_in(Scope::User(ANNA), Label::Own, sealed, seal(false)).await.unwrap();
        let all = letters.clone();
        letters.store().write(move |tx| all.remove(tx, Scope::User(BEN), old)).await.unwrap();
        let later = add(&letters, ANNA, 6).await;
        let mut expected = vec![(BEN, open), (ANNA, later)];
        expected.sort();
        assert_eq!(found(&letters), expected);
        let mut marked = letters.marks.all().unwrap().unwrap();
        marked.sort();
        assert_eq!(marked, expected, "there is none too many");
        // A mark that outlived its record counts for nothing.
        let all = letters.records.clone();
        letters.store().write(move |tx| all.remove(tx, Scope::User(ANNA), later)).await.unwrap();
        assert_eq!(found(&letters), [(BEN, open)]);
    }

    #[tokio::test]
    async fn many_writes_without_a_list_take_no_memory() {
        let letters = letters();
        assert!(weights(&letters, ANNA).is_empty());
        let all = letters.clone();
        let put = move |tx: &Tx| {
            for weight in 0..NOTES as u64 + 10 {
                all.put(tx, Id::new(), &stamp(ANNA), &Letter { weight, sealed: false })?;
            }
            Ok(())
        };
        letters.store().write(put).await.unwrap();
        add(&letters, ANNA, 99_999).await;
        assert_eq!(lock(&letters.order.rows).notes.len(), 1);
        assert_eq!(weights(&letters, ANNA).len(), NOTES + 11);
    }
}
