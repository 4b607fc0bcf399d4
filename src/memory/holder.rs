//! Holds the search index: built or read on first use, updated after each write, saved and unloaded when idle.
//!
//! Everything that takes time runs on blocking threads under one lock, so that callers that need the index wait for the
//! same build.

use crate::{
    file,
    index::{Columns, Facts, Index},
    journal::{Journal, Marks},
    postings::Builder,
    records::{Model, Stored, Vector},
    vectors::Vectors,
};
use embed::Quantized;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use store::{Audience, Coded, Collection, Entry, Error, Result, Store};
use tool::{Id, Label, Scope, UserId};

/// When an index is saved to its file and unloaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saving {
    /// Fewer memories are built within a moment, and not saved.
    pub least: usize,
    /// How long nobody has used the index.
    pub idle: Duration,
    /// At least this long between two files: each wears the card.
    pub pause: Duration,
    /// After a removal, the next file is written at the latest then: the old one still holds the words.
    pub removals: Duration,
    /// More changes than this, and than a twentieth of all memories, are worth a new file.
    pub changes: usize,
}

impl Default for Saving {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            least: 4096,
            idle: Duration::from_secs(60),
            pause: DAY,
            removals: Duration::from_secs(7 * 24 * 3600),
            changes: 1000,
        }
    }
}

/// After this time without use an index that has a file is unloaded.
const UNLOADED_AFTER: Duration = Duration::from_secs(600);

struct Loaded {
    index: Index,
    /// Whether it was read from the file; where not, there is none that can be used.
    from_file: bool,
    /// The changes that are not in the file, and whether one of them removed something.
    changes: usize,
    removed: bool,
    since: Instant,
    used: Instant,
}

impl Loaded {
    fn new(index: Index, from_file: bool) -> Self {
        let now = Instant::now();
        Self { index, from_file, changes: 0, removed: false, since: now, used: now }
    }
}

/// A changed memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Changed {
    pub owner: UserId,
    pub id: Id,
    /// Whether its text or its vector may have changed.
    pub content: bool,
}

pub(crate) struct IndexHolder {
    records: Collection<Stored>,
    vectors: Collection<Vector>,
    pub journal: Journal,
    model: Model,
    saving: Saving,
    loaded: Mutex<Option<Loaded>>,
    /// Writes whose changes are not in the index yet.
    pending: AtomicUsize,
    /// Memories that undoing may have put back, and how often, before the index takes that over. The writes are of others, so
    /// these may also be some whose write failed.
    put_back: Mutex<HashMap<(UserId, Id), usize>>,
}

/// A write whose changes are not in the index yet.
pub(crate) struct Pending(Arc<IndexHolder>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::SeqCst);
    }
}

impl IndexHolder {
    pub fn new(store: &Store, model: Model, saving: Saving) -> Self {
        Self {
            records: store.collection(),
            vectors: store.collection(),
            journal: Journal::new(store),
            model,
            saving,
            loaded: Mutex::default(),
            pending: AtomicUsize::new(0),
            put_back: Mutex::default(),
        }
    }

    /// To be held from before a write until its changes have been applied.
    pub fn pending(self: &Arc<Self>) -> Pending {
        self.pending.fetch_add(1, Ordering::SeqCst);
        Pending(self.clone())
    }

    /// Within a write that puts a memory back.
    pub fn begin_put_back(&self, owner: UserId, id: Id) {
        *self.put_back.lock().unwrap_or_else(PoisonError::into_inner).entry((owner, id)).or_default() += 1;
    }

    /// After such a write: takes it over.
    pub async fn apply_put_back(self: &Arc<Self>, owner: UserId, id: Id) {
        self.apply(vec![Changed { owner, id, content: true }]).await;
        let mut all = self.put_back.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&(owner, id)) {
            *count -= 1;
            if *count == 0 {
                all.remove(&(owner, id));
            }
        }
    }

    /// Runs `f` with the index on a blocking thread; builds it first if need be.
    pub async fn with<T, F>(self: &Arc<Self>, f: F) -> tool::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Index, &dyn Fn(UserId, Id) -> Option<Quantized>) -> T + Send + 'static,
    {
        let this = self.clone();
        blocking(move || {
            let mut slot = this.lock();
            let loaded = match &mut *slot {
                Some(loaded) => loaded,
                none => none.insert(this.load()?),
            };
            loaded.used = Instant::now();
            Ok(f(&mut loaded.index, &|owner, id| this.vector(owner, id)))
        })
        .await
    }

    /// Runs `look` with the index while no write is under way, so that what it reads is what the index has to agree with. `None` when
    /// one was. Blocks; builds the index first if need be.
    pub fn compare<T>(&self, look: impl FnOnce(&Index) -> Result<T>) -> Result<Option<T>> {
        let mut slot = self.lock();
        if self.pending.load(Ordering::SeqCst) > 0 {
            return Ok(None);
        }
        let loaded = match &mut *slot {
            Some(loaded) => loaded,
            none => none.insert(self.load()?),
        };
        let found = look(&loaded.index)?;
        Ok(Some(found).filter(|_| self.pending.load(Ordering::SeqCst) == 0))
    }

    /// Whether undoing may have put a memory back that the index has not taken over.
    pub fn is_being_put_back(&self, owner: UserId, id: Id) -> bool {
        self.put_back.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&(owner, id))
    }

    /// Drops the index and its file: the next search builds it from the memories. Blocks.
    pub fn discard(&self) {
        let mut slot = self.lock();
        self.path().into_iter().for_each(|path| drop(std::fs::remove_file(path)));
        *slot = None;
    }

    /// Takes the stored state of changed memories over, if there is an index. Concurrent changes may arrive in any order.
    pub async fn apply(self: &Arc<Self>, changed: Vec<Changed>) {
        match self.loaded.try_lock() {
            Ok(mut slot) => return self.apply_to(&mut slot, &changed),
            // The lock is given back before the next await.
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => {}
        }
        let this = self.clone();
        let applied = blocking(move || {
            this.apply_to(&mut this.lock(), &changed);
            Ok(())
        });
        if let Err(error) = applied.await {
            tracing::error!(%error, "the memory index could not be updated");
        }
    }

    fn apply_to(&self, slot: &mut Option<Loaded>, changed: &[Changed]) {
        let Some(loaded) = slot else { return };
        let applied = changed.iter().try_for_each(|changed| self.apply_one(loaded, changed));
        if let Err(error) = applied {
            tracing::warn!(%error, "a changed memory could not be read: the memory index is built again");
            *slot = None;
        }
    }

    fn apply_one(&self, loaded: &mut Loaded, changed: &Changed) -> Result<()> {
        let Changed { owner, id, content } = *changed;
        loaded.changes += 1;
        match unless_damaged(self.records.get_in(Scope::User(owner), id))? {
            Some(entry) if !content && loaded.index.touch(&facts(&entry)) => {}
            Some(entry) => {
                let vector = self.vector(owner, id);
                loaded.removed |= loaded.index.put(&facts(&entry), &entry.value.content, vector.as_ref());
            }
            None => loaded.removed |= loaded.index.remove(id),
        }
        Ok(())
    }

    /// The stored vector of a memory.
    pub fn vector(&self, owner: UserId, id: Id) -> Option<Quantized> {
        match self.vectors.get_in(Scope::User(owner), id) {
            Ok(vector) => vector?.value.read(&self.model),
            Err(error) => {
                tracing::warn!(%error, "a memory's vector could not be read");
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.loaded.lock().unwrap_or_else(|poisoned| {
            // A panic may have left an index half changed.
            let mut slot = poisoned.into_inner();
            *slot = None;
            self.loaded.clear_poison();
            slot
        })
    }

    fn path(&self) -> Option<PathBuf> {
        self.records.store().folder().map(|folder| folder.join(store::MEMORY_INDEX))
    }

    fn maker(&self, generation: Id) -> file::Maker<'_> {
        file::Maker { generation, device: self.records.store().device_id(), model: &self.model }
    }

    fn load(&self) -> Result<Loaded> {
        match self.load_file()? {
            Some(loaded) => Ok(loaded),
            None => Ok(Loaded::new(self.build()?, false)),
        }
    }

    /// The index of the file, with the changes since; `None` without a file that can be trusted.
    fn load_file(&self) -> Result<Option<Loaded>> {
        let (Some(path), Some(state)) = (self.path(), self.journal.state()?) else { return Ok(None) };
        let generation = state.value.generation;
        if generation == Id::NIL {
            return Ok(None);
        }
        let Some(index) = file::load(&path, self.maker(generation)) else { return Ok(None) };
        let Some(marks) = self.journal.marks()? else { return Ok(None) };
        let mut loaded = Loaded::new(index, true);
        for (owner, id) in marks.into_keys() {
            self.apply_one(&mut loaded, &Changed { owner, id, content: true })?;
        }
        Ok(Some(loaded))
    }

    /// Builds the index from the memories. Changes since then are applied afterwards: their writes wait for the lock.
    fn build(&self) -> Result<Index> {
        let (mut found, mut words) = (Columns::default(), Builder::default());
        self.records.scan(|entry| {
            let length = words.add(&entry.value.content);
            found.push(&facts(&entry), length);
        })?;
        let mut order: Vec<u32> = (0..found.ids.len() as u32).collect();
        order.sort_unstable_by_key(|row| found.ids.get(*row as usize));
        let mut rows = found.reordered(&order);
        drop(found);
        let words = words.finish(&order);
        let mut vectors = Vectors::default();
        self.vectors.scan(|entry| {
            if let (Ok(row), Some(vector)) = (rows.ids.binary_search(&entry.id), entry.value.read(&self.model)) {
                if let Some(sketch) = rows.sketches.get_mut(row) {
                    *sketch = vector.signature().0;
                }
                rows.with_vector.set(row, true);
                vectors.put(row, vector);
            }
        })?;
        Ok(Index::new(rows, words, vectors))
    }

    /// Saves the index when that is due, and unloads it when nobody uses it. To be called now and then.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn maintain(self: &Arc<Self>) -> tool::Result<()> {
        let this = self.clone();
        if !blocking(move || this.is_due()).await? {
            return Ok(());
        }
        if self.journal.state()?.is_none() {
            self.journal.begin().await?;
        }
        let this = self.clone();
        let Some((generation, marks)) = blocking(move || this.save()).await? else { return Ok(()) };
        self.journal.advance(generation, marks).await?;
        // The next search reads the file: it holds the vectors that were in memory.
        let this = self.clone();
        blocking(move || {
            *this.lock() = None;
            Ok(())
        })
        .await
    }

    /// Whether the index should be saved. Unloads one that has a file and is not in use.
    fn is_due(&self) -> Result<bool> {
        let mut slot = self.lock();
        let Some(loaded) = &*slot else { return Ok(false) };
        let count = loaded.index.len();
        if self.path().is_none() || count < self.saving.least || loaded.used.elapsed() < self.saving.idle {
            return Ok(false);
        }
        let Some(state) = self.journal.state()?.filter(|_| loaded.from_file) else { return Ok(true) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = now.saturating_sub(Duration::from_millis(state.updated_ms));
        // The clock may have gone back.
        let age = age.max(loaded.since.elapsed());
        let many = loaded.changes > self.saving.changes.max(count / 20);
        let due = (many && age >= self.saving.pause) || (loaded.removed && age >= self.saving.removals);
        if !due && loaded.used.elapsed() >= UNLOADED_AFTER {
            *slot = None;
        }
        Ok(due)
    }

    /// Writes the file; returns its generation and the marks that it includes. `None` when a write is not applied yet.
    fn save(&self) -> Result<Option<(Id, Marks)>> {
        let mut slot = self.lock();
        let (Some(loaded), Some(path)) = (&mut *slot, self.path()) else { return Ok(None) };
        // The marks first: each was made by a write that has been applied if none is pending afterwards.
        let marks = self.journal.marks()?.unwrap_or_default();
        if self.pending.load(Ordering::SeqCst) > 0 {
            return Ok(None);
        }
        let put_back: Vec<_> = self.put_back.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect();
        for (owner, id) in put_back {
            self.apply_one(loaded, &Changed { owner, id, content: true })?;
        }
        let generation = Id::new();
        let failed = |e| Error::Io(format!("could not write {}: {e}", path.display()));
        let fetch = |owner: UserId, id: Id| self.vector(owner, id);
        let written = file::write(&path, self.maker(generation), &loaded.index, &fetch).map_err(failed)?;
        // A slow card must not keep searches waiting.
        drop(slot);
        written.put_in_place().map_err(failed)?;
        Ok(Some((generation, marks)))
    }

    #[cfg(test)]
    pub fn is_loaded(&self) -> bool {
        self.lock().is_some()
    }

    /// Whether the index was read from its file.
    #[cfg(test)]
    pub async fn has_file(self: &Arc<Self>) -> bool {
        self.with(|index, _| index.has_file()).await.unwrap_or_default()
    }

    /// Writes the file and names it nowhere, as a power cut in between would.
    #[cfg(test)]
    pub async fn save_only(self: &Arc<Self>) -> bool {
        let this = self.clone();
        blocking(move || this.save()).await.is_ok_and(|saved| saved.is_some())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> tool::Result<T> {
    tool::blocking("the search in memories", move || work().map_err(Into::into)).await
}

pub(crate) fn facts(entry: &Entry<Stored>) -> Facts {
    Facts {
        id: entry.id,
        owner: entry.owner,
        shared: entry.audience == Audience::Household,
        outside: entry.label == Label::Outside,
        importance: entry.value.importance,
        kind: entry.value.kind.code(),
    }
}

/// A damaged record counts as none: it must not hide the others.
pub(crate) fn unless_damaged<T>(read: Result<Option<T>>) -> Result<Option<T>> {
    match read {
        Err(Error::Damaged(text)) => {
            tracing::warn!("{text}");
            Ok(None)
        }
        read => read,
    }
}
