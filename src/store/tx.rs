//! An open write, as jobs see it: the changes of the job over those of the batch over a snapshot.

use crate::{
    Error, Result,
    kind::Kind,
    overlay::{Batch, Overlay, Value},
    part::{Noted, Part},
    snapshot::{Snapshot, Stored, View, open_stored},
};
use redb::ReadTransaction;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap, HashSet},
    ops::Bound,
    sync::Arc,
};

/// An open write. Jobs of one batch see the changes of those before them.
pub struct Tx<'a> {
    stored: &'a ReadTransaction,
    state: RefCell<State>,
    /// Whether the data file could not be read: then the job's own error says nothing about the job.
    unreadable: Cell<bool>,
    /// The records the running job has written, where it is journaled.
    journal: RefCell<Option<Journal>>,
}

#[derive(Default)]
struct Journal {
    seen: HashSet<(&'static str, Vec<u8>)>,
    noted: Vec<Noted>,
    outside: Vec<Part>,
}

struct State {
    /// The changes that are only in the log, and those of this batch.
    overlay: Overlay,
    /// The tables of the data file that were used.
    open: HashMap<String, Open>,
    /// The changes of all jobs that succeeded.
    batch: Batch,
    /// The changes of the running job.
    job: Batch,
}

#[derive(Clone)]
struct Open {
    name: Arc<str>,
    stored: Option<Arc<Stored>>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let overlay = snapshot.changes().clone();
        let state = State { overlay, open: HashMap::new(), batch: Batch::new(), job: Batch::new() };
        Self {
            stored: snapshot.data_file(),
            state: RefCell::new(state),
            unreadable: Cell::new(false),
            journal: RefCell::default(),
        }
    }

    /// Keeps the changes of the job that just ran.
    pub(crate) fn keep(&self) {
        let mut state = self.state.borrow_mut();
        for (table, rows) in std::mem::take(&mut state.job) {
            for (key, value) in rows {
                state.overlay.set(&table, key.clone(), value.clone());
                state.batch.entry(table.clone()).or_default().insert(key, value);
            }
        }
    }

    /// Drops the changes of the job that just ran.
    pub(crate) fn undo(&self) {
        self.state.borrow_mut().job.clear();
    }

    /// Whether the data file could not be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.unreadable.get()
    }

    /// The changes of the batch, and the overlay with them.
    pub(crate) fn finish(self) -> (Batch, Overlay) {
        let state = self.state.into_inner();
        (state.batch, state.overlay)
    }

    /// Begins a job, whose writes are journaled or not.
    pub(crate) fn begin(&self, journaling: bool) {
        *self.journal.borrow_mut() = journaling.then(Journal::default);
    }

    /// Notes the record under a key as it is before the running job first writes it, where that is journaled.
    pub(crate) fn note_before(&self, kind: &'static Kind, key: &[u8]) -> Result<()> {
        let first = |journal: &mut Journal| journal.seen.insert((kind.name, key.to_vec()));
        if kind.undo.is_none() || !self.journal.borrow_mut().as_mut().is_some_and(first) {
            return Ok(());
        }
        let before = self.get_raw(kind.name, key)?;
        if let Some(journal) = &mut *self.journal.borrow_mut() {
            journal.noted.push(Noted { kind, key: key.to_vec(), before });
        }
        Ok(())
    }

    /// Notes a change of something outside the store, for the journal: in the commit of this job.
    pub fn note_outside(&self, part: Part) {
        if let Some(journal) = &mut *self.journal.borrow_mut() {
            journal.outside.push(part);
        }
    }

    /// Ends journaling, and returns the records and the rest that changed.
    pub(crate) fn take_journal(&self) -> (Vec<Noted>, Vec<Part>) {
        let Journal { noted, outside, .. } = self.journal.borrow_mut().take().unwrap_or_default();
        (noted, outside)
    }

    /// The names and the stored part of a table.
    fn open(&self, table: &str) -> Result<Open> {
        if let Some(open) = self.state.borrow().open.get(table) {
            return Ok(open.clone());
        }
        let stored = self.noticed(open_stored(self.stored, table))?.map(Arc::new);
        let open = Open { name: table.into(), stored };
        self.state.borrow_mut().open.insert(table.to_owned(), open.clone());
        Ok(open)
    }

    fn noticed<T>(&self, read: Result<T>) -> Result<T> {
        read.inspect_err(|error| {
            self.unreadable.set(self.unreadable.get() || matches!(error, Error::Io(_) | Error::Full))
        })
    }

    pub(crate) fn get_raw(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let open = self.open(table)?;
        let state = self.state.borrow();
        let changed = state.job.get(table).and_then(|rows| rows.get(key));
        let changed = changed.or_else(|| state.overlay.table(table)?.get(key));
        if let Some(changed) = changed {
            return Ok(changed.as_ref().map(|value| value.to_vec()));
        }
        drop(state);
        let Some(stored) = &open.stored else { return Ok(None) };
        let found = self.noticed(stored.get(key).map_err(Error::from))?;
        Ok(found.map(|value| value.value().to_vec()))
    }

    fn set(&self, table: &str, key: &[u8], value: Value) -> Result<()> {
        let open = self.open(table)?;
        self.state.borrow_mut().job.entry(open.name).or_default().insert(key.into(), value);
        Ok(())
    }

    pub(crate) fn put_raw(&self, table: &str, key: &[u8], value: &[u8]) -> Result<()> {
        self.set(table, key, Some(value.into()))
    }

    pub(crate) fn remove_raw(&self, table: &str, key: &[u8]) -> Result<bool> {
        let there = self.get_raw(table, key)?.is_some();
        if there {
            self.set(table, key, None)?;
        }
        Ok(there)
    }

    /// The keys that begin with `prefix`, in order.
    pub(crate) fn keys_raw(&self, table: &str, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let open = self.open(table)?;
        let state = self.state.borrow();
        let view = View::new(open.stored, state.overlay.table(table).cloned());
        let mut keys = BTreeSet::new();
        for row in self.noticed(view.range(prefix..))? {
            let (key, _) = self.noticed(row)?;
            if !key.starts_with(prefix) {
                break;
            }
            keys.insert(key.to_vec());
        }
        let changed =
            state.job.get(table).map(|rows| rows.range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded)));
        let changed = changed.into_iter().flatten().take_while(|(key, _)| key.starts_with(prefix));
        for (key, value) in changed {
            match value {
                Some(_) => keys.insert(key.to_vec()),
                None => keys.remove(&key[..]),
            };
        }
        Ok(keys.into_iter().collect())
    }
}
