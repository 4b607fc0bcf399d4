//! Search in documents: all chunks of the caller's documents, and of the agent's that none of their own hides, ranked by words and by
//! meaning.

use crate::{
    VirtualFiles, VirtualPath,
    chunk::chunks,
    index::{BY_PATH, DocumentIndex, digest, query_terms},
    memory::scope_of,
    path::{ContextFile, FOLDER, Place, Versions},
};
use embed::Quantized;
use std::collections::{HashMap, HashSet};
use store::{Audience, Stamp, Tx, Visit, Walk, order};
use text_kit::{fused, relevance, truncate};
use tool::{Cx, Error, Id, Label, Result};

/// The maximum length of a snippet, in characters.
const SNIPPET: usize = 700;
/// The maximum length of a query, in characters.
const QUERY: usize = 2000;

/// A query.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// Words, or a question.
    pub text: String,
    /// The maximum number of hits.
    pub limit: usize,
    /// The minimum score, 0 to 1.
    pub least: f32,
    /// Only documents without the outside label.
    pub own: bool,
    /// Whether `MEMORY.md` is searched too.
    pub memory_file: bool,
}

/// A place in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The path of the document.
    pub path: String,
    /// Its owner.
    pub place: Place,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// The text there.
    pub snippet: String,
    /// 0 to 1.
    pub score: f32,
}

/// The hits, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResults {
    /// The hits.
    pub hits: Vec<Hit>,
    /// Whether meaning was compared, and not words alone.
    pub by_meaning: bool,
}

/// A document whose chunks are ranked.
struct Candidate {
    place: Place,
    path: String,
    digest: Vec<u8>,
    /// The text where it is known already.
    text: Option<(String, String, Label)>,
}

/// A chunk to rank.
struct Ranked {
    document: usize,
    number: usize,
    lines: (u32, u32),
    terms: Vec<u32>,
    vector: Option<Quantized>,
}

impl VirtualFiles {
    /// Searches memory documents and `MEMORY.md`. Documents from outside that are returned taint the run.
    ///
    /// # Errors
    /// `BadArgs` when the query is empty or too long; `Failed` when the data cannot be read.
    pub async fn search(&self, cx: &Cx, query: SearchQuery) -> Result<SearchResults> {
        let text = query.text.trim().to_owned();
        if text.is_empty() {
            return Err(Error::bad_args("the query is empty: pass words to search for"));
        }
        if text.chars().count() > QUERY {
            return Err(Error::bad_args(format!("the query has more than {QUERY} characters: shorten it")));
        }
        let (this, caller) = (self.clone(), cx.clone());
        let (query_words, memory_file) = (query_terms(&text), query.memory_file);
        let gathered = tokio::task::spawn_blocking(move || {
            let (documents, ranked) = this.gather(&caller, memory_file)?;
            let terms: Vec<&[u32]> = ranked.iter().map(|chunk| &chunk.terms[..]).collect();
            let words = relevance(&query_words, &terms);
            Ok::<_, Error>((documents, ranked, words))
        });
        let stopped = |error| Error::failed(format!("the search stopped: {error}"));
        let (documents, ranked, words) = gathered.await.map_err(stopped)??;
        if ranked.is_empty() {
            return Ok(SearchResults { hits: vec![], by_meaning: true });
        }
        let meaning = match ranked.iter().any(|chunk| chunk.vector.is_some()) {
            true => self.meaning(&text).await,
            false => None,
        };
        let score = |(chunk, words): (&Ranked, f32)| {
            let meaning = meaning.as_ref().map(|query| chunk.vector.as_ref().map_or(0.0, |vector| vector.dot(query)));
            fused(words, meaning)
        };
        let scores: Vec<f32> = ranked.iter().zip(words).map(score).collect();
        let mut order: Vec<usize> =
            (0..ranked.len()).filter(|at| scores[*at] > 0.0 && scores[*at] >= query.least).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let mut texts = HashMap::new();
        let mut hits = vec![];
        for at in order {
            if hits.len() >= query.limit.max(1) {
                break;
            }
            let (chunk, score) = (&ranked[at], scores[at]);
            let document = &documents[chunk.document];
            let text = match texts.entry(chunk.document) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => new.insert(self.text_of(cx, document)?),
            };
            let Some((path, text, label)) = text.as_ref().filter(|(.., label)| !query.own || *label == Label::Own)
            else {
                continue;
            };
            let Some(snippet) = chunks(text).get(chunk.number).map(|chunk| truncate(chunk.text, SNIPPET)) else {
                continue;
            };
            cx.taint(*label);
            hits.push(Hit { path: path.clone(), place: document.place, lines: chunk.lines, snippet, score });
        }
        Ok(SearchResults { hits, by_meaning: meaning.is_some() })
    }

    async fn meaning(&self, query: &str) -> Option<Quantized> {
        let vector = self.memory.embedder.embed_query_quantized(query).await;
        vector.inspect_err(|error| tracing::warn!(%error, "documents are searched by words alone")).ok()
    }

    /// The path as it was written, the text and the label of a document that is still as it was indexed.
    fn text_of(&self, cx: &Cx, document: &Candidate) -> Result<Option<(String, String, Label)>> {
        if document.text.is_some() {
            return Ok(document.text.clone());
        }
        let walk = Walk::prefix(BY_PATH, order::name(&document.path));
        let found = self.memory.records.walk_in(scope_of(cx, document.place), &walk, |_| Visit::Yes)?.pop();
        let fitting = found.filter(|entry| digest(&entry.value.text) == document.digest);
        Ok(fitting.map(|entry| (entry.value.path, entry.value.text, entry.label)))
    }

    /// All chunks of this caller.
    fn gather(&self, cx: &Cx, memory_file: bool) -> Result<(Vec<Candidate>, Vec<Ranked>)> {
        let (mut documents, mut ranked, mut known) = (vec![], vec![], HashSet::new());
        let mut add = |index: &DocumentIndex, place: Place, text| {
            let document = documents.len();
            let (path, digest) = (index.path.clone(), index.digest().to_vec());
            documents.push(Candidate { place, path, digest, text });
            ranked.extend(index.chunks(&self.memory.embedder).map(|chunk| Ranked {
                document,
                number: chunk.number,
                lines: (chunk.first, chunk.last),
                terms: chunk.terms,
                vector: chunk.vector,
            }));
        };
        let file = match memory_file {
            true => self.peek_context(cx, ContextFile::Memory, Versions::OwnThenAgents)?,
            false => None,
        };
        if let Some(file) = file {
            let index = self.context_index(cx, file.place, &file.text)?;
            add(&index, file.place, Some((file.path, file.text, file.label)));
        } else if memory_file {
            self.forget_context_index(cx)?;
        }
        for place in [Place::Own, Place::Agents] {
            self.memory.indexes.walk_in(scope_of(cx, place), &Walk::prefix(BY_PATH, FOLDER), |entry| {
                if entry.value.is_current() && known.insert(entry.value.path.clone()) {
                    add(&entry.value, place, None);
                }
                Visit::No
            })?;
        }
        Ok((documents, ranked))
    }

    /// The index of `MEMORY.md`, which `persona` stores: the one from the last search, or one without vectors, which are computed
    /// in the background for the next.
    fn context_index(&self, cx: &Cx, place: Place, text: &str) -> Result<DocumentIndex> {
        let (scope, path) = (scope_of(cx, place), VirtualPath::parse(ContextFile::Memory.path())?.folded());
        let key = order::name(&path);
        let stored = self.memory.indexes.walk_in(scope, &Walk::prefix(BY_PATH, &key), |_| Visit::Yes)?.pop();
        if let Some(stored) =
            stored.filter(|stored| stored.value.fits(text) && stored.value.has_vectors(&self.memory.embedder))
        {
            return Ok(stored.value);
        }
        let index = DocumentIndex::of(path, (cx.agent(), place == Place::Agents), text);
        let stamp = Stamp {
            scope,
            owner: cx.user(),
            audience: if place == Place::Agents { Audience::Household } else { Audience::Private },
            label: Label::Own,
            source: "index".into(),
        };
        let (this, caller, mut whole, text) = (self.clone(), cx.clone(), index.clone(), text.to_owned());
        tokio::spawn(async move {
            let _one = this.memory.embedding.lock().await;
            // Another search may have done it in the meantime.
            let indexes = this.memory.indexes.clone();
            let known =
                indexes.walk_in(scope, &Walk::prefix(BY_PATH, &key), |_| Visit::Yes).ok().and_then(|mut all| all.pop());
            let is_known =
                known.is_some_and(|known| known.value.fits(&text) && known.value.has_vectors(&this.memory.embedder));
            if is_known || !whole.embed(&this.memory.embedder, &text).await {
                return;
            }
            let now = this.peek_context(&caller, ContextFile::Memory, Versions::OwnThenAgents);
            if !now.is_ok_and(|now| now.is_some_and(|now| now.place == place && now.text == text)) {
                return;
            }
            let put = move |tx: &Tx| {
                let old = indexes.find(tx, scope, BY_PATH, &key)?.pop();
                indexes.put(tx, old.map_or_else(Id::new, |old| old.id), &stamp, &whole).map(drop)
            };
            if let Err(error) = this.memory.indexes.store().write(put).await {
                tracing::warn!(%error, "MEMORY.md is found by words alone");
            }
        });
        Ok(index)
    }

    /// Removes, in the background, the index of a `MEMORY.md` that is no longer there.
    fn forget_context_index(&self, cx: &Cx) -> Result<()> {
        let key = order::name(&VirtualPath::parse(ContextFile::Memory.path())?.folded());
        for scope in [scope_of(cx, Place::Own), scope_of(cx, Place::Agents)] {
            let (this, caller, key) = (self.clone(), cx.clone(), key.clone());
            if this.memory.indexes.walk_in(scope, &Walk::prefix(BY_PATH, &key), |_| Visit::Yes)?.is_empty() {
                continue;
            }
            tokio::spawn(async move {
                let _one = this.memory.embedding.lock().await;
                if !matches!(this.peek_context(&caller, ContextFile::Memory, Versions::OwnThenAgents), Ok(None)) {
                    return;
                }
                let indexes = this.memory.indexes.clone();
                let remove = move |tx: &Tx| {
                    let old = indexes.find(tx, scope, BY_PATH, &key)?;
                    old.into_iter().try_for_each(|old| indexes.remove(tx, scope, old.id).map(drop))
                };
                if let Err(error) = this.memory.indexes.store().write(remove).await {
                    tracing::warn!(%error, "the index of a deleted MEMORY.md stays");
                }
            });
        }
        Ok(())
    }
}
