//! A database as SQLite sees it, a file of pages: reads come from one state of the store, and each commit of SQLite is one
//! write to the store.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use store::{PAGE_BYTES, Pages, Store};
use tool::Id;

/// The size of a page for SQLite.
pub(crate) const PAGE: usize = 4096;
/// The bytes at the end of each page that SQLite leaves unused, so that a page with its key fills one page of the store.
pub(crate) const RESERVED: usize = PAGE - PAGE_BYTES;
/// The most pages that one transaction changes (32 MB): they are in memory until it commits.
pub(crate) const CHANGED_PAGES: usize = 8192;

/// The pages that a transaction changed.
#[derive(Clone, Default)]
pub(crate) struct PageChanges {
    pub pages: BTreeMap<u32, Arc<[u8]>>,
    /// The pages from this number on are gone; done before the others are stored.
    pub cut: Option<u32>,
}

impl PageChanges {
    fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.cut.is_none()
    }
}

/// Stores changed pages durably.
pub(crate) type Commit = Box<dyn FnMut(PageChanges) -> store::Result<()> + Send>;

/// The first failure of the store, for the answer, and how often it was written to.
#[derive(Clone, Default)]
pub(crate) struct Traffic(Arc<Mutex<(Option<store::Error>, u32)>>);

impl Traffic {
    fn fail(&self, error: store::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get_or_insert(error);
    }
    pub fn failure(&self) -> Option<store::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
    pub fn commits(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// An open database.
pub(crate) struct PageFile {
    store: Store,
    database: Id,
    /// The state it reads while SQLite holds a lock.
    state: Option<Pages>,
    /// The number of pages, with the changes.
    count: u32,
    changes: PageChanges,
    commit: Commit,
    traffic: Traffic,
}

impl PageFile {
    pub fn new(store: &Store, database: Id, commit: Commit) -> Self {
        let (store, changes, traffic) = (store.clone(), PageChanges::default(), Traffic::default());
        Self { store, database, state: None, count: 0, changes, commit, traffic }
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }

    fn noted<T>(&self, result: store::Result<T>) -> Option<T> {
        result.map_err(|error| self.traffic.fail(error)).ok()
    }

    /// Takes the newest state of the store.
    fn refresh(&mut self) -> bool {
        let Some(state) = self.noted(self.store.pages(self.database)) else { return false };
        self.count = state.count();
        self.state = Some(state);
        true
    }

    /// Fills `to` from an offset; the rest with zeros. Returns whether the offset is within the file, `None` after a failure.
    pub fn read(&mut self, to: &mut [u8], offset: u64) -> Option<bool> {
        to.fill(0);
        if self.state.is_none() && !self.refresh() {
            return None;
        }
        let (page, start) = (u32::try_from(offset / PAGE as u64).ok()?, (offset % PAGE as u64) as usize);
        // SQLite reads a page, or a part of one.
        if page >= self.count || start + to.len() > PAGE {
            return Some(false);
        }
        let stored;
        let data: &[u8] = match (self.changes.pages.get(&page), self.changes.cut) {
            (Some(changed), _) => changed,
            (None, Some(cut)) if page >= cut => &[],
            _ => {
                stored = self.noted(self.state.as_ref()?.read(page))?.unwrap_or_default();
                &stored
            }
        };
        let data = data.get(start..).unwrap_or_default();
        let length = data.len().min(to.len());
        to[..length].copy_from_slice(&data[..length]);
        Some(true)
    }

    /// Changes a page; `Some(false)` when the transaction has changed too many, `None` when it is no whole page.
    pub fn write(&mut self, from: &[u8], offset: u64) -> Option<bool> {
        let page = u32::try_from(offset / PAGE as u64).ok()?;
        let data = from.get(..PAGE_BYTES).filter(|_| from.len() == PAGE && offset.is_multiple_of(PAGE as u64))?;
        let pages = &mut self.changes.pages;
        if pages.len() >= CHANGED_PAGES && !pages.contains_key(&page) {
            return Some(false);
        }
        pages.insert(page, data.into());
        self.count = self.count.max(page.checked_add(1)?);
        Some(true)
    }

    /// Makes the file shorter.
    pub fn truncate(&mut self, size: u64) {
        let count = u32::try_from(size.div_ceil(PAGE as u64)).unwrap_or(u32::MAX);
        if count < self.count {
            self.changes.pages.split_off(&count);
            self.changes.cut = Some(self.changes.cut.map_or(count, |cut| cut.min(count)));
            self.count = count;
        }
    }

    /// Stores the changes in one write; after a failure they are gone, and SQLite rolls back.
    pub fn sync(&mut self) -> bool {
        if self.changes.is_empty() {
            return true;
        }
        let changes = std::mem::take(&mut self.changes);
        let committed = (self.commit)(changes);
        let stored = self.noted(committed).is_some();
        if stored {
            self.traffic.0.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
        }
        self.refresh() && stored
    }

    /// The size in bytes; `None` after a failure.
    pub fn size(&mut self) -> Option<u64> {
        if self.state.is_none() && !self.refresh() {
            return None;
        }
        Some(u64::from(self.count) * PAGE as u64)
    }

    /// SQLite begins to read: from now on one state.
    pub fn lock(&mut self) -> bool {
        self.state.is_some() || self.refresh()
    }

    /// SQLite ends a transaction, and with `all` its reads. Changes that were not synced were rolled back.
    pub fn unlock(&mut self, all: bool) {
        if !self.changes.is_empty() {
            self.changes = PageChanges::default();
            self.count = self.state.as_ref().map_or(0, Pages::count);
        }
        if all {
            self.state = None;
        }
    }
}
