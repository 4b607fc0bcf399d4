//! The stored form of a memory, and the arguments and results of [`crate::Memories`].

use embed::{Embedder, Quantized};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Coded, Key, Level, Record};
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub content: String,
    #[serde(with = "store::coded")]
    pub kind: Kind,
    pub importance: f32,
    pub tags: Vec<String>,
    pub uses: u32,
    /// When it was last recalled, in milliseconds since 1970; 0 before.
    pub used_ms: u64,
    /// The texts it had before, the oldest first.
    pub earlier: Vec<Earlier>,
    /// When its text was changed, in milliseconds since 1970; 0 before.
    pub changed_ms: u64,
}

/// A text that a memory had before. Its fields never change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    /// The text.
    pub content: String,
    /// Until when it was the text, in milliseconds since 1970.
    pub until_ms: u64,
}

/// The most earlier texts of a memory, and their most bytes: older ones are dropped first.
const EARLIER: usize = 10;
const EARLIER_BYTES: usize = 16 * 1024;

impl Stored {
    /// When a memory that was created at `created_ms` got its text.
    pub fn written_ms(&self, created_ms: u64) -> u64 {
        self.changed_ms.max(created_ms)
    }

    /// Puts another text in place of this one, which stays as an earlier one.
    pub fn replace_content(&mut self, content: &str, now_ms: u64) {
        if self.content == content {
            return;
        }
        let content = std::mem::replace(&mut self.content, content.to_owned());
        self.earlier.push(Earlier { content, until_ms: now_ms });
        self.changed_ms = now_ms;
        let bytes = |earlier: &[Earlier]| earlier.iter().map(|e| e.content.len()).sum::<usize>();
        while self.earlier.len() > EARLIER || bytes(&self.earlier) > EARLIER_BYTES {
            self.earlier.remove(0);
        }
    }
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Fact, Kind::Preference, Kind::Event, Kind::Skill];
    const UNKNOWN: Self = Kind::Fact;
}

/// The collection of memories.
pub const COLLECTION: &str = "memories";

impl Record for Stored {
    const NAME: &'static str = COLLECTION;
    const WORD: &'static str = "memory";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.content.clone()
    }
    fn settle(&mut self) {
        (self.uses, self.used_ms) = (0, 0);
    }
    fn revive(&mut self, now: Option<&Self>) {
        (self.uses, self.used_ms) = now.map_or((self.uses, self.used_ms), |now| (now.uses, now.used_ms));
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, [self.kind.code()])]
    }
}

/// The vector of a memory, under the same id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Vector {
    model: String,
    bytes: Vec<u8>,
}

impl Record for Vector {
    const NAME: &'static str = "memory-vectors";
    const WORD: &'static str = "memory vector";
    const LEVEL: Level = Level::User;
}

impl Vector {
    pub fn of(vector: &Quantized, by: &Model) -> Self {
        Self { model: by.name.to_string(), bytes: vector.to_bytes() }
    }

    /// The vector, or `None` when another model than `by` produced it.
    pub fn read(&self, by: &Model) -> Option<Quantized> {
        let ours = *self.model == *by.name && self.bytes.len() == Quantized::bytes(by.dimensions);
        ours.then(|| Quantized::from_bytes(&self.bytes).ok()).flatten()
    }
}

/// The model that makes the vectors. Those of another are not compared with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub name: Arc<str>,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

impl Model {
    pub fn of(embedder: &Embedder) -> Self {
        Self { name: embedder.model().into(), dimensions: embedder.dimensions() }
    }

    /// The model inside the program.
    #[cfg(test)]
    pub fn built_in() -> Self {
        Self { name: embed::MODEL.into(), dimensions: embed::DIM }
    }
}

/// A memory to store.
#[derive(Debug, Clone, Default)]
pub struct New {
    /// The text, 1 to 8,000 characters.
    pub content: String,
    /// Its kind.
    pub kind: Kind,
    /// 0 to 1; breaks near ties in the ranking, and resists decay.
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
    /// Whether its earlier texts are dropped.
    pub drop_earlier: bool,
}

impl Change {
    pub(crate) fn apply_to(&self, stored: &mut Stored) {
        if let Some(content) = &self.content {
            stored.replace_content(content, Id::now_ms());
        }
        if self.drop_earlier {
            stored.earlier.clear();
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
    /// Whether the search is no use of what it finds.
    pub uncounted: bool,
}

impl Filter {
    pub(crate) fn matches(&self, stored: &Stored) -> bool {
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

/// The most memories of a person.
pub const MOST: usize = 200_000;

/// The maximum length of a memory, in characters.
pub const LONGEST: usize = 8000;
