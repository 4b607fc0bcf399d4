//! Searches: the walk of a list, or the newest records first, over those records only that may contain words.

use super::{
    find::{Candidates, Newest},
    state::is_complete,
    table::IndexTable,
    text::Words,
};
use crate::{
    Collection, Entry, Error, Listing, Record, Result, Visit, Walk,
    kind::Kind,
    record::Level,
    rows::{self, Found, get_at, index_table, list_for, may_read, readable, scope_of, shared_scope},
    snapshot::{Snapshot, View},
    walk::{visit, walk_rows},
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tool::{Cx, Id, Scope};

/// The most candidates that are read to bring them into the order of a walk. With more, the walk skips all other rows.
const READ: usize = 512;
/// How many records are read at once where there is no index.
const PAGE: usize = 500;

/// Called with a record that may contain the words.
type Each<'e> = &'e mut dyn FnMut(Found) -> Result<Visit>;

impl<T: Record> Collection<T> {
    /// Like [`Collection::walk`], but with `words` over fewer records: `keep` sees every record that contains them, and some
    /// that do not, so it checks the text itself.
    ///
    /// # Errors
    /// As [`Collection::walk`].
    pub fn search(
        &self,
        cx: &Cx,
        walk: &Walk,
        words: Option<&Words>,
        keep: impl FnMut(&Entry<T>) -> Visit,
    ) -> Result<Vec<Entry<T>>> {
        self.searched(cx, words, keep, |search, each| search.walk(walk, each))
    }

    /// Like [`Collection::search`] in the order of creation, the newest first.
    ///
    /// # Errors
    /// As [`Collection::walk`].
    pub fn search_newest(&self, cx: &Cx, words: &Words, keep: impl FnMut(&Entry<T>) -> Visit) -> Result<Vec<Entry<T>>> {
        self.searched(cx, Some(words), keep, |search, each| search.newest(each))
    }

    /// Runs several searches for the same words in one state. `f` must not read the store in other ways meanwhile.
    ///
    /// # Errors
    /// As [`Collection::walk`], and those of `f`.
    pub fn searching<R>(&self, cx: &Cx, words: &Words, f: impl FnOnce(&Searching<T>) -> Result<R>) -> Result<R> {
        let kind = self.kind();
        let distrust = || self.store.0.words.distrust(kind.name);
        self.store.0.engine.read(|tx| {
            let table = IndexTable::open(tx, kind.name)?;
            let found = candidates(kind, tx, &table, cx, words, &distrust);
            f(&Searching { records: self, search: Search { kind, tx, cx, found, distrust: &distrust } })
        })
    }

    fn searched(
        &self,
        cx: &Cx,
        words: Option<&Words>,
        keep: impl FnMut(&Entry<T>) -> Visit,
        search: impl FnOnce(&Search, Each) -> Result<()>,
    ) -> Result<Vec<Entry<T>>> {
        let kind = self.kind();
        let distrust = || self.store.0.words.distrust(kind.name);
        let kept = self.visited(keep, |each| {
            self.store.0.engine.read(|tx| {
                let table = IndexTable::open(tx, kind.name)?;
                let found = words.and_then(|words| candidates(kind, tx, &table, cx, words, &distrust));
                search(&Search { kind, tx, cx, found, distrust: &distrust }, each)
            })
        })?;
        kept.iter().for_each(|found| cx.taint(found.label));
        Ok(kept)
    }
}

/// Searches for the same words in one state.
pub struct Searching<'s, T: Record> {
    records: &'s Collection<T>,
    search: Search<'s>,
}

impl<T: Record> Searching<'_, T> {
    /// How many records may contain the words, at most; `None` when every record has to be read.
    pub fn candidates(&self) -> Option<usize> {
        self.search.found.as_ref().map(|(mine, shared)| mine.count() + shared.count())
    }

    /// As [`Collection::search`], for a walk over few records.
    ///
    /// # Errors
    /// As [`Collection::walk`].
    pub fn walk(&self, walk: &Walk, keep: impl FnMut(&Entry<T>) -> Visit) -> Result<Vec<Entry<T>>> {
        let kept = self.records.visited(keep, |each| self.search.walk_candidates(walk, each))?;
        kept.iter().for_each(|found| self.search.cx.taint(found.label));
        Ok(kept)
    }
}

/// The candidates among a caller's own records, and among those that others share.
type Both<'t> = (Candidates<'t>, Candidates<'t>);

/// `None` when every record has to be read.
fn candidates<'t>(
    kind: &Kind,
    tx: &Snapshot,
    table: &'t IndexTable,
    cx: &Cx,
    words: &Words,
    distrust: &dyn Fn(),
) -> Option<Both<'t>> {
    let find = || {
        if kind.words_version == 0 || words.fits_any() || !is_complete(kind, tx, table)? {
            return Ok(None);
        }
        let own = Candidates::find(table, &scope_of(kind, cx).key(), words)?;
        let shared = match kind.level {
            Level::User => Candidates::find(table, &Scope::Household.key(), words)?,
            _ => Some(Candidates::none()),
        };
        Ok::<_, Error>(own.zip(shared))
    };
    // Inconsistent pages break assertions inside redb. Without the index the search still finds everything.
    match catch_unwind(AssertUnwindSafe(find)) {
        Ok(Ok(found)) => found,
        Ok(Err(_)) | Err(_) => {
            distrust();
            None
        }
    }
}

/// A search in a snapshot.
struct Search<'s> {
    kind: &'s Kind,
    tx: &'s Snapshot,
    cx: &'s Cx,
    found: Option<Both<'s>>,
    /// Has the index rebuilt.
    distrust: &'s dyn Fn(),
}

impl Search<'_> {
    /// In the order of an index.
    fn walk(&self, walk: &Walk, each: Each) -> Result<()> {
        let own = scope_of(self.kind, self.cx);
        let Some((mine, shared)) = &self.found else {
            return self.walk_candidates(walk, each);
        };
        let count = mine.count() + shared.count();
        let mut rows = 0;
        if count <= READ {
            walk_rows(self.kind, self.tx, own, walk, &mut |_, _| {
                rows += 1;
                Ok(rows <= count)
            })?;
        }
        // Few candidates in a long list are read and sorted; else the rows of the list are in order already.
        if rows > count
            && let Some(keys) = self.sorted(walk, (mine, shared))
        {
            return self.visit_all(keys.iter().map(|key| &key[..]), each);
        }
        self.walk_candidates(walk, each)
    }

    /// Visits the candidates of a walk, or all its records without an index.
    fn walk_candidates(&self, walk: &Walk, each: Each) -> Result<()> {
        let Some((mine, shared)) = &self.found else {
            return self.walk_some(walk, each, |_, _| true);
        };
        let own = scope_of(self.kind, self.cx).key();
        self.walk_some(walk, each, |scope, id| {
            let candidates = if scope == own { mine } else { shared };
            candidates.contains(id).unwrap_or_else(|_| {
                (self.distrust)();
                true
            })
        })
    }

    /// Visits the records of a walk that `wanted` accepts by scope and id.
    fn walk_some(&self, walk: &Walk, each: Each, wanted: impl Fn(&[u8], Id) -> bool) -> Result<()> {
        let Some(table) = self.tx.open(self.kind.name)? else { return Ok(()) };
        walk_rows(self.kind, self.tx, scope_of(self.kind, self.cx), walk, &mut |scope, id| {
            let wanted = wanted(scope, id);
            Ok(!wanted || visit(self.kind, &table, &[scope, id.as_bytes()].concat(), Some(self.cx), each)?)
        })
    }

    /// Visits records by their keys.
    fn visit_all<'k>(&self, keys: impl Iterator<Item = &'k [u8]>, each: Each) -> Result<()> {
        let Some(table) = self.tx.open(self.kind.name)? else { return Ok(()) };
        for key in keys {
            if !visit(self.kind, &table, key, Some(self.cx), each)? {
                break;
            }
        }
        Ok(())
    }

    /// The keys of the candidates that a walk finds, in its order; `None` when the index cannot be read.
    fn sorted(&self, walk: &Walk, (mine, shared): (&Candidates, &Candidates)) -> Option<Vec<Vec<u8>>> {
        let sorted = || {
            let mut found = vec![];
            let mut of = Keys::new(self, mine, shared)?;
            let Some(table) = self.tx.open(self.kind.name)? else { return Ok(vec![]) };
            while let Some(key) = of.next()? {
                let Some(entry) = readable(get_at(self.kind, &table, &key))?.flatten() else { continue };
                let values =
                    (self.kind.keys)(&*entry.value).into_iter().filter_map(|value| walk.place(&value, entry.id));
                found.extend(values.filter(|_| may_read(self.cx, &entry)).map(|place| (place, key.clone())));
            }
            found.sort();
            found.dedup();
            if walk.is_down() {
                found.reverse();
            }
            Ok::<_, Error>(found.into_iter().map(|(_, key)| key).collect())
        };
        sorted().inspect_err(|_| (self.distrust)()).ok()
    }

    /// The newest first.
    fn newest(&self, each: Each) -> Result<()> {
        let Some((mine, shared)) = &self.found else { return self.newest_of_all(None, each) };
        let (Some(table), mut keys) = (self.tx.open(self.kind.name)?, Keys::new(self, mine, shared)?) else {
            return Ok(());
        };
        let mut last = None;
        loop {
            match keys.next() {
                Ok(None) => return Ok(()),
                Ok(Some(key)) => {
                    last = Some(rows::id_of(&key)?);
                    if !visit(self.kind, &table, &key, Some(self.cx), each)? {
                        return Ok(());
                    }
                }
                Err(_) => {
                    (self.distrust)();
                    return self.newest_of_all(last, each);
                }
            }
        }
    }

    /// All records before one, the newest first.
    fn newest_of_all(&self, mut before: Option<Id>, each: Each) -> Result<()> {
        loop {
            let page = list_for(self.kind, self.tx, self.cx, &Listing { by: None, limit: PAGE, before })?;
            let Some(last) = page.last() else { return Ok(()) };
            before = Some(last.id);
            for found in page {
                if each(found)? == Visit::Stop {
                    return Ok(());
                }
            }
        }
    }
}

/// The keys of candidates, the newest first.
struct Keys<'a, 't> {
    index: Option<View>,
    own: Vec<u8>,
    mine: Newest<'a, 't>,
    shared: Newest<'a, 't>,
    /// The next of each.
    next: (Option<Id>, Option<Id>),
}

impl<'a, 't> Keys<'a, 't> {
    fn new(search: &Search, mine: &'a Candidates<'t>, shared: &'a Candidates<'t>) -> Result<Self> {
        let (mut mine, mut shared) = (mine.newest()?, shared.newest()?);
        let next = (mine.next()?, shared.next()?);
        let index = search.tx.open(&index_table(search.kind.name))?;
        Ok(Self { index, own: scope_of(search.kind, search.cx).key(), mine, shared, next })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            match self.next {
                (None, None) => return Ok(None),
                (Some(id), shared) if shared.is_none_or(|shared| id >= shared) => {
                    self.next.0 = self.mine.next()?;
                    return Ok(Some([&self.own[..], id.as_bytes()].concat()));
                }
                (_, Some(id)) => {
                    self.next.1 = self.shared.next()?;
                    let scope = self.index.as_ref().map(|index| shared_scope(index, id)).transpose()?.flatten();
                    // One's own shared records are among one's own; one that is no longer shared is nobody's here.
                    if let Some(scope) = scope.filter(|scope| *scope != self.own) {
                        return Ok(Some([&scope[..], id.as_bytes()].concat()));
                    }
                }
                (Some(_), None) => return Ok(None),
            }
        }
    }
}
