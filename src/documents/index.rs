//! The index of a document: of each chunk its lines, the hashes of its terms, and its vector. It follows from the text, is written in
//! the same commit, and is computed again whenever it does not fit the text.

use crate::chunk::{CHUNKER, Chunk, chunks};
use embed::{Embedder, Quantized};
use serde::{Deserialize, Serialize};
use store::{Key, Level, Record, order};
use tool::{AgentId, Scope, UserId};

/// The bytes of a hash of a term, and of the digest of a text.
const TERM: usize = 4;
const DIGEST: usize = 16;

/// The index of one document. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentIndex {
    /// The path in lower case.
    pub path: String,
    pub agent: AgentId,
    /// Whether it is in the agent's scope.
    pub agents: bool,
    /// The digest of the text.
    digest: Vec<u8>,
    chunker: u8,
    /// First and last line of each chunk, and how many terms it has.
    spans: Vec<(u32, u32, u32)>,
    /// The terms of all chunks, [`TERM`] bytes each.
    terms: Vec<u8>,
    /// The model that made the vectors; empty while there are none.
    model: String,
    /// One vector for each chunk; zeros where the model has none.
    vectors: Vec<u8>,
}

/// Indexes, by path.
pub(crate) const BY_PATH: u8 = 1;

impl Record for DocumentIndex {
    const NAME: &'static str = "memory-document-indexes";
    const WORD: &'static str = "index of a document";
    const LEVEL: Level = Level::AgentUser;
    /// Computed again after a restore.
    const STAYS: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_PATH, order::name(&self.path))]
    }
}

/// The digest of a text.
pub(crate) fn digest(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes()[..DIGEST].to_vec()
}

/// The hash of a term.
fn hash(term: &str) -> [u8; TERM] {
    let mut short = [0; TERM];
    short.copy_from_slice(&blake3::hash(term.as_bytes()).as_bytes()[..TERM]);
    short
}

/// The terms of a query, as the index compares them.
pub(crate) fn query_terms(query: &str) -> Vec<u32> {
    text_kit::terms(query).iter().map(|term| u32::from_le_bytes(hash(term))).collect()
}

/// The text of a chunk with its headings, as terms and the model see it.
fn in_context(chunk: &Chunk) -> String {
    match chunk.heading.as_str() {
        "" => chunk.text.to_owned(),
        heading => format!("{heading}\n{}", chunk.text),
    }
}

impl DocumentIndex {
    /// The scope of an index with this owner.
    pub fn scope(&self, owner: UserId) -> Scope {
        if self.agents { Scope::Agent(self.agent) } else { Scope::AgentUser(self.agent, owner) }
    }

    /// Without vectors.
    pub fn of(path: String, (agent, agents): (AgentId, bool), text: &str) -> Self {
        let (mut spans, mut terms) = (vec![], vec![]);
        for chunk in chunks(text) {
            let own = text_kit::terms(&in_context(&chunk));
            spans.push((chunk.first, chunk.last, own.len() as u32));
            own.iter().for_each(|term| terms.extend(hash(term)));
        }
        let (model, vectors) = (String::new(), vec![]);
        Self { path, agent, agents, digest: digest(text), chunker: CHUNKER, spans, terms, model, vectors }
    }

    /// Whether its chunks are those that this code makes.
    pub fn is_current(&self) -> bool {
        self.chunker == CHUNKER
    }

    /// Whether it is the index of this text.
    pub fn fits(&self, text: &str) -> bool {
        self.is_current() && self.digest == digest(text)
    }

    /// Whether it has the same words of the same chunks as another one, whatever their vectors.
    pub fn has_words_of(&self, other: &Self) -> bool {
        (&self.digest, self.chunker, &self.spans, &self.terms)
            == (&other.digest, other.chunker, &other.spans, &other.terms)
    }

    /// The digest of its text.
    pub fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// How many chunks the document has.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// Whether it has the vectors of the model that the embedder uses.
    pub fn has_vectors(&self, embedder: &Embedder) -> bool {
        let size = Quantized::bytes(embedder.dimensions());
        self.model == embedder.model() && self.vectors.len() == self.spans.len() * size
    }

    /// Adds the vectors of the chunks of `text`, which it fits; `false` without the model.
    pub async fn embed(&mut self, embedder: &Embedder, text: &str) -> bool {
        let texts: Vec<String> = chunks(text).iter().map(in_context).collect();
        let size = Quantized::bytes(embedder.dimensions());
        let mut vectors = Vec::with_capacity(texts.len() * size);
        for text in texts {
            match embedder.embed_quantized(&text).await {
                Ok(vector) => vectors.extend(vector.to_bytes()),
                Err(embed::Error::Empty | embed::Error::NotAVector(_)) => {
                    vectors.resize(vectors.len() + size, 0);
                }
                Err(error) => {
                    tracing::warn!(%error, "a document is found by words alone until the model is back");
                    return false;
                }
            }
        }
        (self.model, self.vectors) = (embedder.model().into(), vectors);
        true
    }

    /// The chunks: first and last line, terms, and the vector of the model that the embedder uses.
    pub fn chunks(&self, embedder: &Embedder) -> impl Iterator<Item = IndexedChunk> {
        let mut terms = self.terms.as_chunks::<TERM>().0.iter();
        let (has_vectors, size) = (self.has_vectors(embedder), Quantized::bytes(embedder.dimensions()));
        self.spans.iter().enumerate().map(move |(n, (first, last, count))| IndexedChunk {
            number: n,
            first: *first,
            last: *last,
            terms: terms.by_ref().take(*count as usize).map(|term| u32::from_le_bytes(*term)).collect(),
            vector: match self.vectors.get(n * size..(n + 1) * size) {
                Some(bytes) if has_vectors => Quantized::from_bytes(bytes).ok(),
                _ => None,
            },
        })
    }
}

/// A chunk in an index.
pub(crate) struct IndexedChunk {
    pub number: usize,
    pub first: u32,
    pub last: u32,
    pub terms: Vec<u32>,
    pub vector: Option<Quantized>,
}
