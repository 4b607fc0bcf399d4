//! Stored forms: collections and their vectors.

use crate::values::Values;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Coded, Key, Level, Record, coded, order};
use tool::{Id, prelude::JsonSchema, prelude::schemars};

/// The most collections of a person, and vectors of a collection.
pub const COLLECTIONS: usize = 100;
/// The most vectors of a collection; fewer where they are long, see [`most_vectors`].
pub const VECTORS: usize = 200_000;
/// The most bytes of a collection in memory.
pub const COLLECTION_MEMORY: usize = 64 << 20;
/// The most dimensions of a vector.
pub const DIMENSIONS: usize = 4096;
/// The most bytes of a vector's metadata as JSON, and of its text.
pub const METADATA: usize = 8 * 1024;
/// The most bytes of a text that is stored and embedded.
pub const TEXT: usize = 32 * 1024;
/// The most characters of the name of a collection, a vector and a field.
pub const NAME: usize = 100;

/// How two vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Cosine similarity: by direction.
    #[default]
    Cosine,
    /// Dot product: by direction and length.
    Dot,
    /// Euclidean distance.
    L2,
}

impl Coded for Metric {
    const ALL: &'static [Self] = &[Self::Cosine, Self::Dot, Self::L2];
    const UNKNOWN: Self = Self::Cosine;
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CollectionRecord {
    pub name: String,
    pub description: String,
    pub dimensions: u32,
    #[serde(with = "coded")]
    pub metric: Metric,
    /// The name of the model that makes the vectors: Hob's own, or another one's.
    pub model: String,
    /// Whether Hob embeds its texts; otherwise callers supply every vector.
    pub embeds: bool,
    /// The number of its vectors.
    pub count: u64,
    /// Raised when another model takes over; vectors of an earlier generation are never compared.
    pub generation: u32,
    /// Whether it was deleted and its vectors are still to be removed.
    pub gone: bool,
    /// Whether vectors of an earlier generation are still to be embedded again.
    pub behind: bool,
}

pub(crate) const BY_NAME: u8 = 1;
pub(crate) const THERE: u8 = 2;
pub(crate) const GONE: u8 = 3;

impl Record for CollectionRecord {
    const NAME: &'static str = "vector-collections";
    const WORD: &'static str = "vector collection";
    const LEVEL: Level = Level::User;

    fn keys(&self) -> Vec<Key> {
        if self.gone {
            return vec![Key::many(GONE, [])];
        }
        vec![Key::unique(BY_NAME, order::text(&self.name)), Key::many(THERE, [])]
    }
}

/// A vector of a collection. Its id is made of those of the collection and of the caller: see [`vector_id`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VectorRecord {
    pub collection: Id,
    /// The caller's id.
    pub key: String,
    /// The text it was made from; empty where the caller supplied the vector alone.
    pub text: String,
    /// A JSON object.
    pub metadata: String,
    pub values: Values,
    pub generation: u32,
}

/// The collection of vectors in the store, for undoing.
pub const TABLE: &str = VectorRecord::NAME;

impl Record for VectorRecord {
    const NAME: &'static str = "vectors";
    const WORD: &'static str = "vector";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;

    fn title(&self) -> String {
        self.key.clone()
    }
}

impl VectorRecord {
    /// The metadata as it was given; what cannot be read counts as none.
    pub fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(&self.metadata).unwrap_or_default()
    }
}

/// The bytes that the ids of all vectors of a collection begin with, so that they are one range of the table.
pub(crate) const PREFIX: usize = 8;

/// The id of a vector: the beginning of its collection's id, which contains the time, and a hash of the caller's id.
pub(crate) fn vector_id(collection: Id, key: &str) -> Id {
    let mut hasher = blake3::Hasher::new();
    hasher.update(collection.as_bytes()).update(key.as_bytes());
    let mut bytes = *collection.as_bytes();
    bytes[PREFIX..].copy_from_slice(&hasher.finalize().as_bytes()[..16 - PREFIX]);
    Id::from_bytes(bytes)
}

/// How many vectors of these dimensions a collection may have: what fits into [`COLLECTION_MEMORY`].
pub(crate) fn most_vectors(dimensions: usize) -> usize {
    (COLLECTION_MEMORY / row_bytes(dimensions)).min(VECTORS)
}

/// The bytes in memory of a vector, without its metadata.
pub(crate) fn row_bytes(dimensions: usize) -> usize {
    dimensions.div_ceil(16) * 16 + dimensions.div_ceil(64) * 8 + 36
}
