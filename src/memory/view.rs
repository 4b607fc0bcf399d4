//! The views of memories that callers get.

use crate::records::{Kind, Stored};
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
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// 0 to 1.
    #[serde(serialize_with = "tool::as_shortest")]
    pub importance: f32,
    /// For filtering.
    pub tags: Vec<String>,
    /// Creation time in milliseconds since 1970.
    pub created_ms: u64,
    /// The number of recalls.
    pub uses: u32,
    /// Whether the household may recall it.
    pub shared: bool,
    /// Whether it came from outside and taints its readers until its owner vouches for it. Another member's memory
    /// always taints.
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

/// The memory as this caller may see it. `from_outside` is shown to the owner alone, who can vouch for the memory.
pub(crate) fn visible_to(cx: &Cx, entry: Entry<Stored>) -> Memory {
    let own = entry.owner == cx.user();
    let memory = Memory::from(entry);
    Memory { from_outside: memory.from_outside && own, ..memory }
}

/// A found memory and the reason.
#[derive(Debug, Clone, Serialize)]
pub struct Hit {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// The score, 0 to 1: the cosine of the vectors, raised by shared words.
    #[serde(serialize_with = "tool::as_shortest")]
    pub score: f32,
    /// The reason, such as `same words: boiler` or `similar meaning`.
    pub why: String,
}

/// The result of a search.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recalled {
    /// Best first.
    pub hits: Vec<Hit>,
    /// False when the model was not available and words alone decided.
    pub by_meaning: bool,
}
