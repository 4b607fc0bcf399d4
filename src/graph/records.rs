//! Stored forms: entities, facts and the vectors of entities.

use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, coded, order};
use tool::{Id, prelude::JsonSchema, prelude::schemars};

/// The most entities and facts of a person.
pub const ENTITIES: usize = 20_000;
pub const FACTS: usize = 50_000;
/// The most characters of a name, a type, a predicate, a value and a summary; the most aliases of an entity.
pub(crate) const NAME: usize = 120;
pub(crate) const KIND: usize = 40;
pub(crate) const VALUE: usize = 300;
pub(crate) const SUMMARY: usize = 1000;
pub(crate) const ALIASES: usize = 20;

/// A person, place, organisation or thing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct EntityRecord {
    pub name: String,
    /// `person`, `place`, `organisation`, `animal`, `thing`, or another word.
    pub kind: String,
    pub aliases: Vec<String>,
    pub summary: String,
    /// Whether a person made or changed it: it stays when its last fact is gone.
    pub by_hand: bool,
}

pub(crate) const BY_NAME: u8 = 1;
pub(crate) const ALL: u8 = 2;

impl EntityRecord {
    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }
}

impl Record for EntityRecord {
    const NAME: &'static str = "graph-entities";
    const WORD: &'static str = "entity";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;

    fn title(&self) -> String {
        self.name.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        format!("{}\n{}\n{}", self.name, self.aliases.join("\n"), self.summary)
    }
    fn keys(&self) -> Vec<Key> {
        let mut names: Vec<Vec<u8>> = self.names().map(|name| order::text(name)).collect();
        names.sort();
        names.dedup();
        let by_name = names.into_iter().map(|name| Key::many(BY_NAME, name));
        by_name.chain([Key::many(ALL, [])]).collect()
    }
}

/// The origin of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FactOrigin {
    /// A person or their model stated it.
    #[default]
    Hand,
    /// Read in a memory by rules.
    Memory,
    /// Read in a memory by a model.
    Model,
}

impl Coded for FactOrigin {
    const ALL: &'static [Self] = &[Self::Hand, Self::Memory, Self::Model];
    const UNKNOWN: Self = Self::Memory;
}

/// Subject, predicate, object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FactRecord {
    pub subject: Id,
    pub predicate: String,
    /// [`Id::NIL`] where the object is a value.
    pub object: Id,
    pub value: String,
    pub confidence: f32,
    #[serde(with = "coded")]
    pub origin: FactOrigin,
    /// The memory it was read in; [`Id::NIL`] for none.
    pub source: Id,
    /// When its source was written: milliseconds since 1970.
    pub at_ms: u64,
    /// The sentence it was read from.
    pub quote: String,
    /// Dates between which it holds: `2020`, `2020-05` or `2020-05-31`; empty for no bound.
    pub from: String,
    pub to: String,
    /// A person deleted it, and its source would state it again.
    pub retracted: bool,
}

pub(crate) const BY_SUBJECT: u8 = 1;
pub(crate) const BY_OBJECT: u8 = 2;
pub(crate) const BY_SOURCE: u8 = 3;
pub(crate) const ALL_FACTS: u8 = 4;

impl Record for FactRecord {
    const NAME: &'static str = "graph-facts";
    const WORD: &'static str = "fact";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;

    fn title(&self) -> String {
        self.predicate.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        if self.retracted { String::new() } else { format!("{}\n{}\n{}", self.predicate, self.value, self.quote) }
    }
    fn keys(&self) -> Vec<Key> {
        let mut keys = vec![];
        if self.source != Id::NIL {
            keys.push(Key::many(BY_SOURCE, self.source.as_bytes()));
        }
        if !self.retracted {
            keys.push(Key::many(BY_SUBJECT, self.subject.as_bytes()));
            keys.push(Key::many(ALL_FACTS, []));
            if self.object != Id::NIL {
                keys.push(Key::many(BY_OBJECT, self.object.as_bytes()));
            }
        }
        keys
    }
}

/// The vector of an entity, under its id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VectorRecord {
    pub model: String,
    pub bytes: Vec<u8>,
}

impl Record for VectorRecord {
    const NAME: &'static str = "graph-vectors";
    const WORD: &'static str = "vector of an entity";
    const LEVEL: Level = Level::User;
}

/// The id of a fact that was read in a memory: the same whenever that memory is read again.
pub(crate) fn fact_id(source: Id, fact: &str) -> Id {
    let mut hasher = blake3::Hasher::new();
    hasher.update(source.as_bytes()).update(fact.as_bytes());
    let mut bytes = *source.as_bytes();
    // The first bytes are the time of the memory.
    bytes[8..].copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    Id::from_bytes(bytes)
}
