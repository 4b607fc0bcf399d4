//! Memories as callers see them.

use crate::{Kind, Stored};
use serde::Serialize;
use store::{Audience, Entry};
use tool::{Cx, Id, Label};

/// A memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Its id.
    pub id: Id,
    /// The text.
    pub content: String,
    /// What sort of thing it is.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// 0 to 1.
    #[serde(serialize_with = "tool::as_shortest")]
    pub importance: f32,
    /// For filtering.
    pub tags: Vec<String>,
    /// When it was remembered: milliseconds since 1970.
    pub created_ms: u64,
    /// How often it was recalled.
    pub uses: u32,
    /// Whether the household may recall it.
    pub shared: bool,
    /// Whether it came from outside, and taints whoever is told it until its owner vouches for it. Somebody else's taints
    /// whatever this says: their words are theirs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
}

impl From<Entry<Stored>> for Memory {
    fn from(e: Entry<Stored>) -> Self {
        Self {
            id: e.id,
            content: e.value.content,
            kind: e.value.kind,
            importance: e.value.importance,
            tags: e.value.tags,
            created_ms: e.id.millis(),
            uses: e.value.uses,
            shared: e.audience == Audience::Household,
            from_outside: e.label == Label::Outside,
        }
    }
}

/// A memory as this caller sees it. Only the owner can vouch for one, so `from_outside` is shown to them alone.
pub(crate) fn seen_by(cx: &Cx, entry: Entry<Stored>) -> Memory {
    let own = entry.owner == cx.user();
    let memory = Memory::from(entry);
    Memory { from_outside: memory.from_outside && own, ..memory }
}

/// A memory that was found, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Hit {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// How well it fits, 0 to 1: the cosine of the meanings, raised by shared words.
    #[serde(serialize_with = "tool::as_shortest")]
    pub score: f32,
    /// Why it was found: `same words: boiler` or `similar meaning`.
    pub why: String,
}

/// What a search gave.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recalled {
    /// Best first.
    pub hits: Vec<Hit>,
    /// False when the model could not be had and words alone decided.
    pub by_meaning: bool,
}
