//! Walks an index in the order of its values: by due date, by day, by name.

use crate::{
    Collection, Entry, Result,
    kind::Kind,
    record::{Key, Level, Record},
    rows::{Found, get_at, id_of, index_table, label_for, may_read, readable, record_key, scope_of},
    snapshot::{Bytes, Snapshot, View},
};
use tool::{Cx, Id, Scope};

/// A range of one index. Values are compared as bytes; see [`order`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    index: u8,
    from: Vec<u8>,
    /// The exclusive end; `None` is the end of the index.
    to: Option<Vec<u8>>,
    down: bool,
}

impl Walk {
    /// All values of an index that begin with `prefix`.
    pub fn prefix(index: u8, prefix: impl AsRef<[u8]>) -> Self {
        let prefix = prefix.as_ref();
        Self { index, from: prefix.to_vec(), to: after(prefix), down: false }
    }
    /// The values from the first that begins with `first` to the last that begins with `last`.
    pub fn between(index: u8, first: impl AsRef<[u8]>, last: impl AsRef<[u8]>) -> Self {
        Self { index, from: first.as_ref().to_vec(), to: after(last.as_ref()), down: false }
    }
    /// The same range in descending order.
    pub fn down(self) -> Self {
        Self { down: true, ..self }
    }
    /// The place of a record with this value in the order of the walk; `None` outside of it.
    pub(crate) fn place(&self, key: &Key, id: Id) -> Option<Vec<u8>> {
        let place = [&key.value[..], id.as_bytes()].concat();
        let within = self.from <= place && self.to.as_ref().is_none_or(|to| place < *to);
        (key.index == self.index && within).then_some(place)
    }
    pub(crate) fn is_down(&self) -> bool {
        self.down
    }
}

/// The exclusive end of all values that begin with `prefix`.
fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

/// Order-preserving encodings of values, to be concatenated into an index key.
pub mod order {
    /// A number.
    pub fn int(value: i64) -> [u8; 8] {
        (value ^ i64::MIN).to_be_bytes()
    }
    /// A text in lower case with a terminator, so that the bytes after it do not affect its order.
    pub fn text(value: &str) -> Vec<u8> {
        let mut bytes: Vec<u8> = value.to_lowercase().bytes().filter(|b| *b != 0).collect();
        bytes.push(0);
        bytes
    }
    /// A name whose case counts, with a terminator, so that none is the beginning of another.
    pub fn name(value: &str) -> Vec<u8> {
        [value.as_bytes(), &[0]].concat()
    }
}

/// The verdict of a walk on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Returns it.
    Yes,
    /// Skips it; the run is not tainted by it.
    No,
    /// Ends the walk without it.
    Stop,
}

impl<T: Record> Collection<T> {
    /// The records of this caller and those shared with them, in the order of an index (`keep` sees them in that order);
    /// among equal values the older first. A record with several values in the stretch comes several times.
    ///
    /// # Errors
    /// `Damaged` when the file cannot be read.
    pub fn walk(&self, cx: &Cx, walk: &Walk, keep: impl FnMut(&Entry<T>) -> Visit) -> Result<Vec<Entry<T>>> {
        self.search(cx, walk, None, keep)
    }

    /// The records of one scope in the order of an index, for code that acts for the device itself.
    ///
    /// # Errors
    /// As [`Collection::walk`].
    pub fn walk_in(&self, scope: Scope, walk: &Walk, keep: impl FnMut(&Entry<T>) -> Visit) -> Result<Vec<Entry<T>>> {
        self.visited(keep, |each| self.store.0.engine.read(|tx| walk_scope(self.kind(), tx, scope, walk, each)))
    }

    /// The records that `keep` wants of those a walk finds.
    pub(crate) fn visited(
        &self,
        mut keep: impl FnMut(&Entry<T>) -> Visit,
        walk: impl FnOnce(&mut dyn FnMut(Found) -> Result<Visit>) -> Result<()>,
    ) -> Result<Vec<Entry<T>>> {
        let mut kept = vec![];
        walk(&mut |found| {
            let found = found.typed()?;
            let visit = keep(&found);
            if visit == Visit::Yes {
                kept.push(found);
            }
            Ok(visit)
        })?;
        Ok(kept)
    }

    /// Counts the records of this caller, and shared with them, in a range without reading them.
    ///
    /// # Errors
    /// As [`Collection::walk`].
    pub fn count(&self, cx: &Cx, walk: &Walk) -> Result<usize> {
        let (kind, mut count) = (self.kind(), 0);
        self.store.0.engine.read(|tx| {
            walk_rows(kind, tx, scope_of(kind, cx), walk, &mut |_, _| {
                count += 1;
                Ok(true)
            })
        })?;
        Ok(count)
    }
}

fn walk_scope(
    kind: &Kind,
    tx: &Snapshot,
    scope: Scope,
    walk: &Walk,
    each: &mut dyn FnMut(Found) -> Result<Visit>,
) -> Result<()> {
    let (Some(table), Some(index)) = (tx.open(kind.name)?, tx.open(&index_table(kind.name))?) else { return Ok(()) };
    for row in stretch(&index, &scope.key(), walk)? {
        if !visit(kind, &table, &record_key(scope, id_of(&row?.0)?), None, each)? {
            break;
        }
    }
    Ok(())
}

/// Calls `each` with a record that this caller may read; `false` ends the walk.
pub(crate) fn visit(
    kind: &Kind,
    table: &View,
    key: &[u8],
    cx: Option<&Cx>,
    each: &mut dyn FnMut(Found) -> Result<Visit>,
) -> Result<bool> {
    let found = readable(get_at(kind, table, key))?.flatten();
    let Some(mut found) = found.filter(|found| cx.is_none_or(|cx| may_read(cx, found))) else { return Ok(true) };
    cx.iter().for_each(|cx| label_for(kind, cx, &mut found));
    Ok(each(found)? != Visit::Stop)
}

/// A row's key after the scope and the index, and its value.
type Row = (Vec<u8>, Vec<u8>);

/// The rows of a walk in one scope.
fn stretch<'t>(table: &'t View, scope: &[u8], walk: &Walk) -> Result<Box<dyn Iterator<Item = Result<Row>> + 't>> {
    let prefix = [scope, &[walk.index]].concat();
    let from = [&prefix[..], &walk.from].concat();
    let to = match &walk.to {
        Some(to) => [&prefix[..], to].concat(),
        None => after(&prefix).unwrap_or_else(|| vec![u8::MAX; prefix.len() + 1]),
    };
    if from > to {
        return Ok(Box::new(std::iter::empty()));
    }
    let length = prefix.len();
    let row = move |row: Result<(Bytes, Bytes)>| {
        let (key, value) = row?;
        Ok((key[length..].to_vec(), value.to_vec()))
    };
    let rows = table.range(from.as_slice()..to.as_slice())?;
    Ok(if walk.down { Box::new(rows.rev().map(row)) } else { Box::new(rows.map(row)) })
}

/// Calls `each` with the scope and the id of every row until it returns false: the caller's own rows, and those others share,
/// merged.
pub(crate) fn walk_rows(
    kind: &Kind,
    tx: &Snapshot,
    own: Scope,
    walk: &Walk,
    each: &mut dyn FnMut(&[u8], Id) -> Result<bool>,
) -> Result<()> {
    let Some(index) = tx.open(&index_table(kind.name))? else { return Ok(()) };
    let mine = own.key();
    let mut owned = stretch(&index, &mine, walk)?.peekable();
    let shared: Box<dyn Iterator<Item = Result<Row>>> = match kind.level {
        Level::User => stretch(&index, &Scope::Household.key(), walk)?,
        _ => Box::new(std::iter::empty()),
    };
    let mut shared =
        shared.filter(|row| row.as_ref().is_ok_and(|(_, scope)| *scope != mine) || row.is_err()).peekable();
    loop {
        let first = match (owned.peek(), shared.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(Ok(a)), Some(Ok(b))) => (a.0 <= b.0) != walk.down,
            (Some(_), Some(_)) => true,
        };
        let row = if first { owned.next() } else { shared.next() };
        let Some(row) = row else { return Ok(()) };
        let (key, scope) = row?;
        let scope = if first { &mine } else { &scope };
        if !each(scope, id_of(&key)?)? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Audience, Key, Store};
    use serde::{Deserialize, Serialize};
    use std::sync::Arc;
    use tool::{AgentId, Channel, FixedClock, Ports, Principal, Role, UserId, Via};

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Day {
        name: String,
        at: i64,
    }
    impl Record for Day {
        const NAME: &'static str = "days";
        const WORD: &'static str = "day";
        const LEVEL: Level = Level::User;
        fn keys(&self) -> Vec<Key> {
            vec![
                Key::many(1, order::int(self.at)),
                Key::many(2, [order::text(&self.name), order::int(self.at).to_vec()].concat()),
            ]
        }
    }

    fn cx(user: UserId) -> Cx {
        let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
        let principal = Principal { user, role: Role::Member, agent: AgentId::GENERAL };
        Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Api))
    }

    fn names(entries: Vec<Entry<Day>>) -> String {
        entries.into_iter().map(|e| e.value.name).collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn a_walk_goes_in_order_over_own_and_shared_records() {
        let store = Store::in_memory().unwrap();
        let days = store.collection::<Day>();
        let (anna, ben) = (cx(UserId(Id::new())), cx(UserId(Id::new())));
        let add = async |cx: &Cx, name: &str, at: i64, audience| {
            let stamp = days.stamp(cx, "t").audience(audience);
            days.insert_as(stamp, Day { name: name.into(), at }).await.unwrap()
        };
        for (name, at) in [("c", 30), ("a", -5), ("d", i64::MAX), ("b", 7)] {
            add(&anna, name, at, Audience::Private).await;
        }
        let theirs = add(&ben, "shared", 8, Audience::Household).await;
        add(&ben, "hidden", 9, Audience::Private).await;
        let all = Walk::prefix(1, []);
        assert_eq!(names(days.walk(&anna, &all, |_| Visit::Yes).unwrap()), "a b shared c d");
        assert_eq!(names(days.walk(&anna, &all.clone().down(), |_| Visit::Yes).unwrap()), "d c shared b a");
        assert_eq!(names(days.walk(&ben, &all, |_| Visit::Yes).unwrap()), "shared hidden");
        assert_eq!((days.count(&anna, &all).unwrap(), days.count(&ben, &all).unwrap()), (5, 2));
        let some = Walk::between(1, order::int(7), order::int(30));
        assert_eq!(names(days.walk(&anna, &some, |_| Visit::Yes).unwrap()), "b shared c");
        let none = Walk::between(1, order::int(30), order::int(7));
        assert_eq!(names(days.walk(&anna, &none, |_| Visit::Yes).unwrap()), "");
        assert_eq!(names(days.walk(&anna, &Walk::prefix(2, order::text("B")), |_| Visit::Yes).unwrap()), "b");
        let mut seen = 0;
        let odd = days.walk(&anna, &all, |_| {
            seen += 1;
            match seen {
                4.. => Visit::Stop,
                n if n % 2 == 1 => Visit::Yes,
                _ => Visit::No,
            }
        });
        assert_eq!(names(odd.unwrap()), "a shared");

        // A changed record moves; an unshared or deleted one disappears.
        let scope = Scope::User(ben.user());
        let moved = days.update(&ben, theirs.id, |d| {
            d.at = 1;
            Ok(())
        });
        moved.await.unwrap();
        assert_eq!(names(days.walk(&anna, &all, |_| Visit::Yes).unwrap()), "a shared b c d");
        let (keeper, id) = (days.clone(), theirs.id);
        store.write(move |tx| keeper.share(tx, scope, id, Audience::Private).map(drop)).await.unwrap();
        assert_eq!(names(days.walk(&anna, &all, |_| Visit::Yes).unwrap()), "a b c d");
        days.delete(&ben, id).await.unwrap();
        assert_eq!(names(days.walk_in(scope, &all, |_| Visit::Yes).unwrap()), "hidden");
    }

    #[test]
    fn bytes_compare_as_values_do() {
        let numbers = [i64::MIN, -300, -1, 0, 1, 255, 256, i64::MAX];
        assert!(numbers.is_sorted_by_key(|n| order::int(*n)));
        assert!(["", "a", "A b", "ab", "b"].is_sorted_by_key(|t| order::text(t)));
        assert_eq!(after(&[1, 255, 255]), Some(vec![2]));
        assert_eq!(after(&[255]), None);
    }
}
