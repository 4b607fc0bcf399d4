//! Long-term memory, searched by words and by meaning.
//!
//! A memory is a record of its owner with a vector beside it. [`Memories::recall`] ranks by words (BM25) and by
//! meaning (the local model) over an in-memory index, and fuses both rankings. Without the model it uses words alone
//! and reports that.

mod index;

mod view;
mod words;

pub use view::{Hit, Memory, Recalled};

use embed::{Embedder, Quantized};
use index::{Index, Row};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Audience, Coded, Collection, Entry, Key, Level, Listing, Record, Stamp, Store};
use tool::{
    Cx, Error, Id, Label, Result,
    prelude::{JsonSchema, schemars},
};
use view::visible_to;

/// The kind of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A fact.
    #[default]
    Fact,
    /// A preference.
    Preference,
    /// A past or future event.
    Event,
    /// A way to do something.
    Skill,
}

/// A stored memory. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stored {
    content: String,
    #[serde(with = "store::coded")]
    kind: Kind,
    importance: f32,
    tags: Vec<String>,
    uses: u32,
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Fact, Kind::Preference, Kind::Event, Kind::Skill];
    const UNKNOWN: Self = Kind::Fact;
}

impl Record for Stored {
    const NAME: &'static str = "memories";
    const WORD: &'static str = "memory";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, [self.kind.code()])]
    }
}

/// The vector of a memory, under the same id.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Vector {
    model: String,
    bytes: Vec<u8>,
}

impl Record for Vector {
    const NAME: &'static str = "memory-vectors";
    const WORD: &'static str = "memory vector";
    const LEVEL: Level = Level::User;
}

impl Vector {
    /// The vector, or `None` when another model produced it.
    fn read(&self) -> Option<Quantized> {
        let ours = self.model == embed::MODEL;
        ours.then(|| Quantized::from_bytes(&self.bytes).ok()).flatten()
    }
}

/// A memory to store.
#[derive(Debug, Clone, Default)]
pub struct New {
    /// The text, 1 to 8,000 characters.
    pub content: String,
    /// Its kind.
    pub kind: Kind,
    /// 0 to 1; breaks near ties in the ranking.
    pub importance: f32,
    /// Tags for filtering.
    pub tags: Vec<String>,
    /// Whether the household may recall it.
    pub shared: bool,
}

/// A patch of a memory. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// The new text, 1 to 8,000 characters.
    pub content: Option<String>,
    /// The new kind.
    pub kind: Option<Kind>,
    /// 0 to 1.
    pub importance: Option<f32>,
    /// The new tags; they replace all old ones.
    pub tags: Option<Vec<String>>,
    /// Whether the household may recall it.
    pub shared: Option<bool>,
    /// Whether a person vouches for the memory and removes its outside label.
    pub vouched: bool,
}

impl Change {
    fn apply_to(&self, stored: &mut Stored) {
        if let Some(content) = &self.content {
            stored.content.clone_from(content);
        }
        if let Some(tags) = &self.tags {
            stored.tags.clone_from(tags);
        }
        stored.kind = self.kind.unwrap_or(stored.kind);
        stored.importance = self.importance.unwrap_or(stored.importance).clamp(0.0, 1.0);
    }
}

/// A filter of memories.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only with all of these tags.
    pub tags: Vec<String>,
    /// The maximum number of results; 0 means one for a search and all for a list.
    pub limit: usize,
    /// The minimum score, 0 to 1.
    pub least: f32,
    /// Only memories without the outside label.
    pub own: bool,
}

impl Filter {
    fn matches(&self, stored: &Stored) -> bool {
        self.kind.is_none_or(|k| k == stored.kind) && self.tags.iter().all(|t| stored.tags.contains(t))
    }
}

/// Statistics about memories.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// All of this person's memories.
    pub total: usize,
    /// Memories of this kind.
    pub facts: usize,
    /// Memories of this kind.
    pub preferences: usize,
    /// Memories of this kind.
    pub events: usize,
    /// Memories of this kind.
    pub skills: usize,
    /// The mean importance, 0 to 1.
    #[serde(serialize_with = "tool::as_shortest")]
    pub average_importance: f32,
    /// Memories that can be found by meaning.
    pub with_meaning: usize,
}

/// The maximum length of a memory, in characters.
pub const LONGEST: usize = 8000;

/// The memories of the household; cheap to clone.
#[derive(Clone)]
pub struct Memories {
    records: Collection<Stored>,
    vectors: Collection<Vector>,
    embedder: Embedder,
    /// Built on first use, to keep start-up cheap.
    index: Arc<Mutex<Option<Index>>>,
}

impl Memories {
    /// The memories in `store`.
    pub fn new(store: &Store, embedder: Embedder) -> Self {
        Self { records: store.collection(), vectors: store.collection(), embedder, index: Arc::default() }
    }

    /// Store a memory durably, with its vector if the model is available.
    ///
    /// # Errors
    /// `BadArgs` when the text is empty or too long; `Unavailable` when the disk is full.
    pub async fn remember(&self, cx: &Cx, new: New) -> Result<Memory> {
        let mut all = self.remember_all(cx, vec![new]).await?;
        all.pop().ok_or_else(|| tool::Error::failed("nothing was remembered"))
    }

    /// Store several memories in one commit: all or none.
    ///
    /// # Errors
    /// As [`Memories::remember`].
    pub async fn remember_all(&self, cx: &Cx, all: Vec<New>) -> Result<Vec<Memory>> {
        let mut rows = Vec::with_capacity(all.len());
        for new in all {
            let content = checked_text(&new.content)?;
            let vector = self.embed(&content).await;
            let stored =
                Stored { content, kind: new.kind, importance: new.importance.clamp(0.0, 1.0), tags: new.tags, uses: 0 };
            let kept = vector.as_ref().map(|v| Vector { model: embed::MODEL.into(), bytes: v.to_bytes().to_vec() });
            let stamp = self.records.stamp(cx, "remember").audience(audience(new.shared));
            rows.push((vector, (Id::new(), stamp, stored, kept)));
        }
        let (vectors, new): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let this = self.clone();
        let put = move |tx: &store::Tx| {
            let put = |(id, stamp, stored, kept): &(Id, Stamp, Stored, Option<Vector>)| {
                kept.iter().try_for_each(|vector| this.vectors.put(tx, *id, stamp, vector).map(drop))?;
                this.records.put(tx, *id, stamp, stored)
            };
            new.iter().map(put).collect::<store::Result<Vec<_>>>()
        };
        let entries = self.records.store().write(put).await?;
        if let Some(index) = &mut *self.lock_index() {
            for (entry, vector) in entries.iter().zip(vectors) {
                index.add(row(entry, vector), &entry.value.content);
            }
        }
        Ok(entries.into_iter().map(Memory::from).collect())
    }

    /// Update a memory in place and return it; `None` when this person has no memory with that id. A new text gets a
    /// new vector.
    ///
    /// # Errors
    /// `BadArgs` when the change is empty, or the text is empty or too long; `Unavailable` when the disk is full.
    pub async fn update(&self, cx: &Cx, id: Id, mut change: Change) -> Result<Option<Memory>> {
        if change == Change::default() {
            return Err(Error::bad_args("nothing to change: pass content, type, importance, tags, shared or vouched"));
        }
        change.content = change.content.as_deref().map(checked_text).transpose()?;
        let vector = match &change.content {
            Some(content) => self.embed(content).await.map(|v| v.to_bytes().to_vec()),
            None => None,
        };
        let searched = change.content.is_some() || change.shared.is_some();
        let (this, scope, label) = (self.clone(), tool::Scope::User(cx.user()), cx.label());
        let changed =
            self.records.store().write(move |tx| this.change(tx, scope, label, id, &change, vector.as_deref()));
        let Some(entry) = changed.await? else { return Ok(None) };
        if searched {
            self.refresh_index(scope, id)?;
        } else if let Some(index) = &mut *self.lock_index() {
            index.set_importance(id, entry.value.importance);
        }
        Ok(Some(entry.into()))
    }

    /// Update the record and its vector in one write. A new text without a vector drops the old vector;
    /// [`Memories::backfill_embeddings`] computes it later.
    fn change(
        &self,
        tx: &store::Tx,
        scope: tool::Scope,
        label: Label,
        id: Id,
        change: &Change,
        vector: Option<&[u8]>,
    ) -> store::Result<Option<Entry<Stored>>> {
        if self.records.read(tx, scope, id)?.is_none() {
            return Ok(None);
        }
        let mut entry = self.records.change(tx, scope, label, id, &mut |m| {
            change.apply_to(m);
            Ok(())
        })?;
        if let Some(shared) = change.shared {
            entry = self.records.share(tx, scope, id, audience(shared))?;
        }
        if change.vouched {
            entry = self.records.vouch(tx, scope, id)?;
        }
        let stamp = Stamp {
            scope,
            owner: entry.owner,
            audience: entry.audience,
            label: entry.label,
            source: entry.source.clone(),
        };
        if let Some(bytes) = vector {
            let vector = Vector { model: embed::MODEL.into(), bytes: bytes.to_vec() };
            self.vectors.put(tx, id, &stamp, &vector)?;
        } else if change.content.is_some() {
            self.vectors.remove(tx, scope, id)?;
        }
        Ok(Some(entry))
    }

    /// Refresh the index from the stored state of `id`. Two concurrent updates may arrive here in the wrong order.
    fn refresh_index(&self, scope: tool::Scope, id: Id) -> Result<()> {
        let mut slot = self.lock_index();
        let Some(index) = &mut *slot else { return Ok(()) };
        match self.records.get_in(scope, id)? {
            Some(entry) => {
                let vector = self.vectors.get_in(scope, id)?.and_then(|e| e.value.read());
                index.add(row(&entry, vector), &entry.value.content);
            }
            None => index.remove(id),
        }
        Ok(())
    }

    /// Search memories by words and by meaning, best first. Unrelated memories are left out.
    ///
    /// # Errors
    /// `BadArgs` when the query is empty; `Failed` when the data cannot be read.
    pub async fn recall(&self, cx: &Cx, query: &str, filter: Filter) -> Result<Recalled> {
        if query.trim().is_empty() {
            return Err(Error::bad_args("the query is empty: pass words to search for"));
        }
        // Skip embedding the query when no memory has a vector yet.
        let none = self.with_index(|index| index.with_meaning(cx.user()) == 0)?;
        let meaning = if none { None } else { self.embed(query).await };
        let ranked = self.with_index(|index| index.search(cx.user(), query, meaning.as_ref()))?;
        let nothing = ranked.is_empty();
        let mut hits = vec![];
        for found in ranked {
            if hits.len() == filter.limit.max(1) {
                break;
            }
            if found.score < filter.least {
                continue;
            }
            // Read through the collection, which checks access. Only returned memories taint the run.
            let fits = |e: &Entry<Stored>| filter.matches(&e.value) && !(filter.own && e.label == Label::Outside);
            if let Some(entry) = self.records.peek(cx, found.id)?.filter(fits) {
                cx.taint(entry.label);
                hits.push(Hit { memory: visible_to(cx, entry), score: found.score, why: found.why });
            }
        }
        self.count_uses(cx, &hits);
        Ok(Recalled { hits, by_meaning: meaning.is_some() || (none && nothing) })
    }

    /// Delete a memory; `false` when this person has no memory with that id.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn forget(&self, cx: &Cx, id: Id) -> Result<bool> {
        let (this, scope) = (self.clone(), tool::Scope::User(cx.user()));
        let gone = self
            .records
            .store()
            .write(move |tx| {
                this.vectors.remove(tx, scope, id)?;
                this.records.remove(tx, scope, id)
            })
            .await?;
        if let Some(index) = self.lock_index().as_mut().filter(|_| gone) {
            index.remove(id);
        }
        Ok(gone)
    }

    /// List the newest memories of this person and those shared with them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx, filter: &Filter) -> Result<Vec<Memory>> {
        let by = filter.kind.map(|k| (1, vec![k.code()]));
        let limit = if filter.tags.is_empty() { filter.limit } else { 0 };
        let all = self.records.list(cx, &Listing { by, limit, ..Listing::default() })?;
        let wanted = all.into_iter().filter(|e| filter.matches(&e.value)).map(|e| visible_to(cx, e));
        Ok(if filter.limit == 0 { wanted.collect() } else { wanted.take(filter.limit).collect() })
    }

    /// Raise a memory's importance by `amount`, clamped to 0 to 1.
    ///
    /// # Errors
    /// `NotFound` when this person has no memory with that id.
    pub async fn boost(&self, cx: &Cx, id: Id, amount: f32) -> Result<Memory> {
        let boosted = self
            .records
            .update(cx, id, move |m| {
                m.importance = (tool::shortest(m.importance) + tool::shortest(amount)).clamp(0.0, 1.0) as f32;
                Ok(())
            })
            .await?;
        if let Some(index) = &mut *self.lock_index() {
            index.set_importance(id, boosted.value.importance);
        }
        Ok(boosted.into())
    }

    /// Count this person's memories.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn stats(&self, cx: &Cx) -> Result<Stats> {
        let all = self.records.list(cx, &Listing::default())?;
        let count = |kind| all.iter().filter(|e| e.value.kind == kind).count();
        // Sum in double precision, so that the mean of equal numbers is that number.
        let importance: f64 = all.iter().map(|e| tool::shortest(e.value.importance)).sum();
        Ok(Stats {
            total: all.len(),
            facts: count(Kind::Fact),
            preferences: count(Kind::Preference),
            events: count(Kind::Event),
            skills: count(Kind::Skill),
            average_importance: (importance / all.len().max(1) as f64) as f32,
            with_meaning: self.with_index(|index| index.with_meaning(cx.user()))?,
        })
    }

    /// Compute missing vectors: of memories stored without the model, or with another model. Returns their number.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read or written.
    pub async fn backfill_embeddings(&self) -> Result<usize> {
        let mut without = vec![];
        let have = self.load_vectors()?;
        self.records.scan(|e| {
            if !have.contains_key(&e.id) {
                without.push(e);
            }
        })?;
        let mut mended = 0;
        for entry in without {
            let Some(vector) = self.embed(&entry.value.content).await else { break };
            let stamp = Stamp {
                scope: tool::Scope::User(entry.owner),
                owner: entry.owner,
                audience: entry.audience,
                label: entry.label,
                source: entry.source.clone(),
            };
            let (records, vectors, bytes) = (self.records.clone(), self.vectors.clone(), vector.to_bytes().to_vec());
            self.records
                .store()
                .write(move |tx| {
                    // Deleted in the meantime.
                    if records.read(tx, stamp.scope, entry.id)?.is_none() {
                        return Ok(());
                    }
                    let vector = Vector { model: embed::MODEL.into(), bytes: bytes.clone() };
                    vectors.put(tx, entry.id, &stamp, &vector).map(drop)
                })
                .await?;
            if let Some(index) = &mut *self.lock_index() {
                index.set_vector(entry.id, vector);
            }
            mended += 1;
        }
        Ok(mended)
    }

    /// The vector of a text; `None`, with a log line, when the model is not available.
    async fn embed(&self, text: &str) -> Option<Quantized> {
        match self.embedder.embed(text).await.and_then(|v| Quantized::quantize(&v)) {
            Ok(vector) => Some(vector),
            Err(error) => {
                tracing::warn!(%error, "no embedding for this text; searching by words alone");
                None
            }
        }
    }

    fn count_uses(&self, cx: &Cx, hits: &[Hit]) {
        // The page searches on every keystroke; such searches do not count as uses.
        if cx.channel() == tool::Channel::Page && cx.run().is_none() {
            return;
        }
        let ids: Vec<Id> = hits.iter().map(|h| h.memory.id).collect();
        let (records, scope) = (self.records.clone(), tool::Scope::User(cx.user()));
        self.records.store().write_later(move |tx| {
            for id in &ids {
                // Count uses only for the caller's own memories; shared ones belong to another scope.
                if records.read(tx, scope, *id)?.is_some() {
                    records.change(tx, scope, tool::Label::Own, *id, &mut |m| {
                        m.uses = m.uses.saturating_add(1);
                        Ok(())
                    })?;
                }
            }
            Ok(())
        });
    }

    fn lock_index(&self) -> MutexGuard<'_, Option<Index>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Run `f` with the index, which is built on first use.
    fn with_index<T>(&self, f: impl FnOnce(&mut Index) -> T) -> Result<T> {
        let mut slot = self.lock_index();
        if let Some(index) = &mut *slot {
            return Ok(f(index));
        }
        let mut vectors = self.load_vectors()?;
        let mut index = Index::default();
        self.records.scan(|e| index.add(row(&e, vectors.remove(&e.id)), &e.value.content))?;
        Ok(f(slot.insert(index)))
    }

    fn load_vectors(&self) -> Result<std::collections::HashMap<Id, Quantized>> {
        let mut vectors = std::collections::HashMap::new();
        self.vectors.scan(|e| {
            if let Some(vector) = e.value.read() {
                vectors.insert(e.id, vector);
            }
        })?;
        Ok(vectors)
    }
}

/// The trimmed text, if it is neither empty nor too long.
fn checked_text(content: &str) -> Result<String> {
    let content = content.trim();
    if content.is_empty() {
        return Err(Error::bad_args("there is nothing to remember: pass the text in `content`"));
    }
    if content.chars().count() > LONGEST {
        return Err(Error::bad_args(format!("a memory has at most {LONGEST} characters: split the text")));
    }
    Ok(content.to_owned())
}

fn audience(shared: bool) -> Audience {
    if shared { Audience::Household } else { Audience::Private }
}

fn row(entry: &Entry<Stored>, vector: Option<Quantized>) -> Row {
    let shared = entry.audience == Audience::Household;
    Row::new(entry.id, entry.owner, shared, entry.value.importance, vector)
}

#[cfg(test)]
mod tests;
