//! Long-term memory, searched by words and by meaning.
//!
//! A memory is a record of its owner with a vector beside it. [`Memories::recall`] ranks by words (BM25) and by
//! meaning (the local model) over an in-memory index, and fuses both rankings. Without the model it uses words alone
//! and reports that.

mod answer;
mod bound;
mod check;
mod decay;
mod file;
mod holder;
mod index;
mod journal;
mod learn;
mod observe;
mod postings;
mod rank;
mod records;
mod reembed;
mod same;
mod scan;
mod uses;
mod vectors;
mod view;
mod words;

pub use answer::{Commonness, Decision, Fact, Question, masked};
pub use records::{COLLECTION, Change, Earlier, Filter, Kind, LONGEST, MOST, New, Stats};
pub use reembed::Embedding;
pub use same::{Relation, relation};
pub use view::{Candidate, Candidates, Hit, Learned, Memory, Outcome, Recalled};

use embed::{Embedder, Quantized};
use holder::{Changed, IndexHolder, Saving, unless_damaged};
use index::{Fetch, Index, IndexHit};
use rank::{SECOND_PASS, SecondPass};
use records::{Model, Stored, Vector};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use store::{Audience, Coded, Collection, Entry, Listing, Part, Record, Stamp, Store, Tx};
use tool::{Cx, Error, Id, Label, Result, Scope, UserId};
use uses::Uses;
use view::{besides, visible_to};

/// How long a search waits for a model of the household, which a thread loads and runs.
const QUERY_PATIENCE: Duration = Duration::from_secs(10);
/// How many memories are considered as answers to a question.
const CONSIDERED: usize = 24;

/// A hit, and its memory if it was read; `None` inside where the caller may not read it.
type Read = (IndexHit, Option<Option<Entry<Stored>>>);

/// The memories of the household; cheap to clone.
#[derive(Clone)]
pub struct Memories {
    records: Collection<Stored>,
    vectors: Collection<Vector>,
    embedder: Embedder,
    model: Model,
    /// How far the embedding of all memories is.
    embedding: Arc<Mutex<Embedding>>,
    /// Built on first use, to keep start-up cheap.
    index: Arc<IndexHolder>,
    observers: observe::Observers,
    uses: Uses,
    /// The most memories of a person, where it is not [`MOST`].
    most: Option<usize>,
}

impl Memories {
    /// The memories in `store`.
    pub fn new(store: &Store, embedder: Embedder) -> Self {
        Self::saving(store, embedder, Saving::default())
    }

    fn saving(store: &Store, embedder: Embedder, saving: Saving) -> Self {
        let model = Model::of(&embedder);
        let index = Arc::new(IndexHolder::new(store, model.clone(), saving));
        Self {
            records: store.collection(),
            vectors: store.collection(),
            embedder,
            model,
            embedding: Arc::default(),
            index,
            observers: observe::Observers::default(),
            uses: Uses::default(),
            most: None,
        }
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
        // All texts are checked before the first is embedded.
        let texts = all.iter().map(|new| checked_text(&new.content)).collect::<Result<Vec<_>>>()?;
        let mut new = Vec::with_capacity(all.len());
        for (given, content) in all.into_iter().zip(texts) {
            let vector = self.embed(&content).await.as_ref().map(|vector| self.vector_of(vector));
            let importance = given.importance.clamp(0.0, 1.0);
            let stored = Stored { content, kind: given.kind, importance, tags: given.tags, ..Stored::default() };
            let stamp = self.records.stamp(cx, "remember").audience(audience(given.shared));
            new.push((Id::new(), stamp, stored, vector));
        }
        let owner = cx.user();
        let changed = new.iter().map(|(id, ..)| Changed { owner, id: *id, content: true }).collect();
        let this = self.clone();
        let put = move |tx: &Tx| {
            let put = |(id, stamp, stored, vector): &(Id, Stamp, Stored, Option<Vector>)| {
                vector.iter().try_for_each(|vector| this.vectors.put(tx, *id, stamp, vector).map(drop))?;
                this.index.journal.mark(tx, owner, *id)?;
                this.records.put(tx, *id, stamp, stored)
            };
            new.iter().map(put).collect::<store::Result<Vec<_>>>()
        };
        let entries = self.write(changed, put).await?;
        Ok(entries.into_iter().map(Memory::from).collect())
    }

    /// Write, and update the index, also when the caller stops waiting.
    async fn write<T, F>(&self, changed: Vec<Changed>, job: F) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> store::Result<T> + Send + 'static,
    {
        let this = self.clone();
        let pending = self.index.pending();
        let work = async move {
            let written = this.records.store().write(job).await;
            // After a failure too: the commit may be on disk all the same.
            let noted = changed.clone();
            this.index.apply(changed).await;
            drop(pending);
            this.observers.tell(&noted);
            written
        };
        let ended = tokio::spawn(store::inherit_effect(work)).await;
        ended.unwrap_or_else(|error| Err(store::Error::Io(format!("the write of a memory stopped: {error}"))))
    }

    /// Update a memory in place and return it; `None` when this person has no memory with that id. A new text gets a
    /// new vector.
    ///
    /// # Errors
    /// `BadArgs` when the change is empty, or the text is empty or too long; `Unavailable` when the disk is full.
    pub async fn update(&self, cx: &Cx, id: Id, mut change: Change) -> Result<Option<Memory>> {
        if change == Change::default() {
            return Err(Error::bad_args(
                "nothing to change: pass content, type, importance, tags, shared, vouched or forgetEarlier",
            ));
        }
        change.content = change.content.as_deref().map(checked_text).transpose()?;
        let vector = match &change.content {
            Some(content) => self.embed(content).await.as_ref().map(|vector| self.vector_of(vector)),
            None => None,
        };
        let (this, owner, label) = (self.clone(), cx.user(), cx.label());
        let changed = Changed { owner, id, content: change.content.is_some() || change.vouched };
        let job = move |tx: &Tx| this.change(tx, (owner, id), label, &change, vector.as_ref());
        Ok(self.write(vec![changed], job).await?.map(Memory::from))
    }

    /// Update the record and its vector in one write. A new text without a vector drops the old vector;
    /// [`Memories::backfill_embeddings`] computes it later.
    fn change(
        &self,
        tx: &Tx,
        (owner, id): (UserId, Id),
        label: Label,
        change: &Change,
        vector: Option<&Vector>,
    ) -> store::Result<Option<Entry<Stored>>> {
        let scope = Scope::User(owner);
        if self.records.read(tx, scope, id)?.is_none() {
            return Ok(None);
        }
        self.index.journal.mark(tx, owner, id)?;
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
        if let Some(vector) = vector {
            self.vectors.put(tx, id, &stamp_of(&entry), vector)?;
        } else if change.content.is_some() {
            self.vectors.remove(tx, scope, id)?;
        }
        Ok(Some(entry))
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
        let user = cx.user();
        let none = self.index.with(move |index, _| index.with_meaning(user) == 0).await?;
        let meaning = if none { None } else { self.embed_query(query).await };
        let (text, by_meaning) = (query.to_owned(), meaning.is_some());
        let search = move |index: &mut Index, fetch: Fetch| {
            let pass = SecondPass::new(&text, |term| index.rarity_of(term));
            (index.search(user, &text, meaning.as_ref(), fetch), pass)
        };
        let (ranked, pass) = self.index.with(search).await?;
        let nothing = ranked.is_empty();
        let mut hits = vec![];
        for (found, read) in self.second_pass(cx, &pass, ranked)? {
            if hits.len() == filter.limit.max(1) + decay::CONSIDERED {
                break;
            }
            if found.score < filter.least {
                continue;
            }
            // Read through the collection, which checks access. Only returned memories taint the run.
            let fits = |e: &Entry<Stored>| filter.matches(&e.value) && !(filter.own && e.label != Label::Own);
            let read = match read {
                Some(read) => read,
                None => unless_damaged(self.records.peek(cx, found.id))?,
            };
            if let Some(entry) = read.filter(fits) {
                hits.push((found.rank, entry.label, self.hit(cx, entry, found)));
            }
        }
        decay::prefer_present(&mut hits, |(relevance, _, hit)| (*relevance, hit.presence));
        hits.truncate(filter.limit.max(1));
        hits.iter().for_each(|(_, label, _)| cx.taint(*label));
        let hits: Vec<Hit> = hits.into_iter().map(|(.., hit)| hit).collect();
        if !filter.uncounted {
            self.count_uses(cx, &hits);
        }
        Ok(Recalled { hits, by_meaning: by_meaning || (none && nothing && self.embedder.problem().is_none()) })
    }

    /// The hits in the order of both passes. The best are read for that; the others keep their order after them.
    fn second_pass(&self, cx: &Cx, pass: &SecondPass, ranked: Vec<IndexHit>) -> Result<Vec<Read>> {
        let mut all = Vec::with_capacity(ranked.len());
        for (n, mut hit) in ranked.into_iter().enumerate() {
            let mut read = None;
            if n < SECOND_PASS {
                let entry = unless_damaged(self.records.peek(cx, hit.id))?;
                hit.rank += entry.as_ref().map_or(0.0, |entry| pass.gain(&entry.value.content));
                read = Some(entry);
            }
            all.push((hit, read));
        }
        let read = SECOND_PASS.min(all.len());
        if let Some(best) = all.get_mut(..read) {
            best.sort_by(|a, b| b.0.rank.total_cmp(&a.0.rank));
        }
        Ok(all)
    }

    /// The memories that may answer a question, the likeliest first. They do not taint the run: the caller does that
    /// with the label of the one that it shows.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn candidates(&self, cx: &Cx, text: &str, question: &Question) -> Result<Candidates> {
        self.candidates_of(cx, (text, question), CONSIDERED, |_| true).await
    }

    /// As [`Memories::candidates`]: up to `most`, and [`CONSIDERED`] at least, of those that were created at a time which `when`
    /// accepts, in milliseconds since 1970.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn candidates_of(
        &self,
        cx: &Cx,
        (text, question): (&str, &Question),
        most: usize,
        when: impl Fn(u64) -> bool + Send + 'static,
    ) -> Result<Candidates> {
        let user = cx.user();
        let (none, count) = self.index.with(move |index, _| (index.with_meaning(user) == 0, index.len())).await?;
        let meaning = if none { None } else { self.embed_query(text).await };
        let (widened, stems, searched) = (question.widened(), question.stems(), meaning.clone());
        let search = move |index: &mut Index, fetch: Fetch| {
            let with: HashMap<String, usize> =
                stems.into_iter().map(|s| (index.count_with(&s), s)).map(|(n, s)| (s, n)).collect();
            let mut ranked = index.search(user, &widened, searched.as_ref(), fetch);
            ranked.retain(|hit| when(hit.id.millis()));
            let cut = ranked.len() > most.max(CONSIDERED);
            ranked.truncate(most.max(CONSIDERED));
            (ranked, with, cut)
        };
        let (ranked, with, cut) = self.index.with(search).await?;
        let mut found = vec![];
        for hit in ranked {
            if let Some(entry) = unless_damaged(self.records.peek(cx, hit.id))? {
                let (label, similarity) = (entry.label, meaning.is_some().then_some(hit.cosine));
                found.push(Candidate { memory: visible_to(cx, entry), similarity, label });
            }
        }
        Ok(Candidates { found, cut, commonness: Commonness { with, memories: count } })
    }

    /// The similarity of each text to a question, in meaning; `None` without the model.
    pub async fn similarities(&self, question: &str, texts: &[&str]) -> Vec<Option<f32>> {
        let Some(question) = self.embed_query(question).await else { return vec![None; texts.len()] };
        let mut all = vec![];
        for text in texts {
            all.push(self.embed(text).await.map(|vector| vector.dot(&question)));
        }
        all
    }

    /// Delete a memory; `false` when this person has no memory with that id. `for_good` leaves no copy for undoing, also none
    /// of earlier changes.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn forget(&self, cx: &Cx, id: Id, for_good: bool) -> Result<bool> {
        let (this, owner, scope) = (self.clone(), cx.user(), Scope::User(cx.user()));
        let changed = Changed { owner, id, content: true };
        let job = move |tx: &Tx| {
            this.vectors.remove(tx, scope, id)?;
            let mut gone = this.records.remove(tx, scope, id)?;
            if gone {
                this.index.journal.mark(tx, owner, id)?;
            }
            if for_good {
                let of_this = |part: &Part| part.table == Stored::NAME && part.id() == Some(id);
                gone |= this.records.store().erase_copies(tx, owner, of_this)? > 0;
            }
            Ok(gone)
        };
        let written = self.write(vec![changed], job);
        Ok(if for_good { store::without_change(written).await? } else { written.await? })
    }

    /// Within the write that makes a memory what it was before a change, or removes it. Its vector is computed again in
    /// [`Memories::was_put_back`], or at the next start.
    ///
    /// # Errors
    /// As every write.
    pub fn put_back_in(&self, tx: &Tx, owner: UserId, id: Id) -> store::Result<()> {
        self.index.begin_put_back(owner, id);
        self.vectors.remove(tx, Scope::User(owner), id)?;
        self.index.journal.mark(tx, owner, id)
    }

    /// After such a write.
    pub async fn was_put_back(&self, owner: UserId, id: Id) {
        self.index.apply_put_back(owner, id).await;
        self.observers.tell(&[Changed { owner, id, content: true }]);
        let Ok(Some(entry)) = unless_damaged(self.records.get_in(Scope::User(owner), id)) else { return };
        let Some(vector) = self.embed(&entry.value.content).await else { return };
        if let Err(error) = self.add_vectors(vec![(entry, self.vector_of(&vector))]).await {
            tracing::warn!(%error, "a restored memory is found by words alone until the next start");
        }
    }

    /// List the newest memories of this person and those shared with them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx, filter: &Filter) -> Result<Vec<Memory>> {
        let by = filter.kind.map(|k| (1, vec![k.code()]));
        let limit = if filter.tags.is_empty() { filter.limit } else { 0 };
        let all = self.records.list(cx, &Listing { by, limit, ..Listing::default() })?;
        let counted = |mut e: Entry<Stored>| {
            self.uses.of(e.owner, e.id).add_to(&mut e.value);
            visible_to(cx, e)
        };
        let wanted = all.into_iter().filter(|e| filter.matches(&e.value)).map(counted);
        Ok(if filter.limit == 0 { wanted.collect() } else { wanted.take(filter.limit).collect() })
    }

    /// Raise a memory's importance by `amount`, clamped to 0 to 1.
    ///
    /// # Errors
    /// `NotFound` when this person has no memory with that id.
    pub async fn boost(&self, cx: &Cx, id: Id, amount: f32) -> Result<Memory> {
        let (this, owner, scope, label) = (self.clone(), cx.user(), Scope::User(cx.user()), cx.label());
        let changed = Changed { owner, id, content: false };
        let job = move |tx: &Tx| {
            let entry = this.records.change(tx, scope, label, id, &mut |m| {
                m.importance = (tool::shortest(m.importance) + tool::shortest(amount)).clamp(0.0, 1.0) as f32;
                Ok(())
            })?;
            this.index.journal.mark(tx, owner, id)?;
            Ok(entry)
        };
        Ok(self.write(vec![changed], job).await?.into())
    }

    /// Count this person's memories and those shared with them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn stats(&self, cx: &Cx) -> Result<Stats> {
        let user = cx.user();
        let counts = self.index.with(move |index, _| index.counts(user)).await?;
        if counts.outside {
            cx.taint(Label::Outside);
        }
        let total: usize = counts.kinds.values().sum();
        let count = |kind: Kind| {
            let codes = counts.kinds.iter().filter(|(code, _)| Kind::of(**code) == kind);
            codes.map(|(_, count)| count).sum()
        };
        Ok(Stats {
            total,
            facts: count(Kind::Fact),
            preferences: count(Kind::Preference),
            events: count(Kind::Event),
            skills: count(Kind::Skill),
            average_importance: (counts.importance / total.max(1) as f64) as f32,
            with_meaning: counts.with_vector,
        })
    }

    /// Store vectors in one commit, except those of memories that were changed or deleted in the meantime.
    async fn add_vectors(&self, found: Vec<(Entry<Stored>, Vector)>) -> Result<usize> {
        if found.is_empty() {
            return Ok(0);
        }
        let changed = found.iter().map(|(e, _)| Changed { owner: e.owner, id: e.id, content: true }).collect();
        let this = self.clone();
        let job = move |tx: &Tx| {
            let mut count = 0;
            for (entry, vector) in &found {
                let now = unless_damaged(this.records.read(tx, Scope::User(entry.owner), entry.id))?;
                if let Some(now) = now.filter(|now| now.value.content == entry.value.content) {
                    this.vectors.put(tx, entry.id, &stamp_of(&now), vector)?;
                    this.index.journal.mark(tx, now.owner, now.id)?;
                    count += 1;
                }
            }
            Ok(count)
        };
        Ok(self.write(changed, job).await?)
    }

    /// Write the counts of uses, save the index to its file when that is due, and free its memory when nobody uses it. To be
    /// called every few minutes. Returns how many memories of whom were forgotten because they had too many.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full; `Failed` when the file cannot be written.
    pub async fn maintain(&self) -> Result<Vec<(UserId, usize)>> {
        self.write_uses();
        let forgotten = self.forget_excess().await?;
        self.index.maintain().await?;
        Ok(forgotten)
    }

    /// Write the counts of uses that wait: before the store is closed.
    pub fn write_uses(&self) {
        self.uses.write(&self.records);
    }

    /// The vector of a memory's text; `None`, with a log line, when the model is not available.
    async fn embed(&self, text: &str) -> Option<Quantized> {
        usable(self.embedder.embed_quantized(text).await)
    }

    /// The vector of a text that is searched for, likewise.
    async fn embed_query(&self, text: &str) -> Option<Quantized> {
        if self.embedder.is_built_in() {
            return usable(self.embedder.embed_query_quantized(text).await);
        }
        // A large model may still be loading: then this search is by words.
        let embedded = tokio::time::timeout(QUERY_PATIENCE, self.embedder.embed_query_quantized(text)).await;
        usable(embedded.unwrap_or_else(|_| Err(embed::Error::Unavailable("the model is still loading".into()))))
    }

    fn vector_of(&self, vector: &Quantized) -> Vector {
        Vector::of(vector, &self.model)
    }

    fn count_uses(&self, cx: &Cx, hits: &[Hit]) {
        // The page searches on every keystroke; such searches do not count as uses.
        if hits.is_empty() || (cx.channel() == tool::Channel::Page && cx.run().is_none()) {
            return;
        }
        // Only the caller's own memories: shared ones belong to another scope.
        let own = hits.iter().filter(|hit| hit.memory.shared_by.is_none()).map(|hit| hit.memory.id);
        if self.uses.count(cx.user(), own, Id::now_ms()) {
            self.write_uses();
        }
    }

    /// A hit as its caller may see it.
    fn hit(&self, cx: &Cx, mut entry: Entry<Stored>, found: IndexHit) -> Hit {
        self.uses.of(entry.owner, entry.id).add_to(&mut entry.value);
        let presence = decay::presence_of(&entry.value, entry.id.millis(), Id::now_ms());
        let memory = visible_to(cx, entry);
        let rounded = |value: f32| (value * 100.0).round() / 100.0;
        let (meaning, besides) = ((found.cosine > 0.0).then(|| rounded(found.cosine)), besides(&memory, presence));
        let presence = rounded(presence);
        Hit { memory, score: found.score, why: found.why, besides, meaning, presence }
    }

    /// A memory as its owner sees it.
    fn own_view(&self, mut entry: Entry<Stored>) -> Memory {
        self.uses.of(entry.owner, entry.id).add_to(&mut entry.value);
        entry.into()
    }
}

fn usable(embedded: std::result::Result<Quantized, embed::Error>) -> Option<Quantized> {
    embedded.inspect_err(|error| tracing::warn!(%error, "no embedding for this text; searching by words alone")).ok()
}

/// The stamp of an entry, for its vector.
fn stamp_of(entry: &Entry<Stored>) -> Stamp {
    Stamp {
        scope: Scope::User(entry.owner),
        owner: entry.owner,
        audience: entry.audience,
        label: entry.label,
        source: entry.source.clone(),
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

#[cfg(test)]
mod plain;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_check;
#[cfg(test)]
mod tests_index;
#[cfg(test)]
mod tests_kills;
#[cfg(test)]
mod tests_learn;
#[cfg(test)]
mod tests_model;
#[cfg(test)]
mod tests_saving;
