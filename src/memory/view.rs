//! The views of memories that callers get.

use crate::{
    answer::Commonness,
    records::{Kind, Stored},
};
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
    /// The name of the person who shared it, where that is not the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
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
            shared_by: None,
        }
    }
}

/// The memory as this caller may see it. `from_outside` is shown to the owner alone, who can vouch for the memory.
pub(crate) fn visible_to(cx: &Cx, entry: Entry<Stored>) -> Memory {
    let own = entry.owner == cx.user();
    let name = || cx.ports().people.name_of(entry.owner).unwrap_or_else(|| "somebody else".to_owned());
    let shared_by = (!own).then(name);
    let memory = Memory::from(entry);
    Memory { from_outside: memory.from_outside && own, shared_by, ..memory }
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

/// A memory that may answer a question.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The memory.
    pub memory: Memory,
    /// Its similarity to the question in meaning; `None` without the model.
    pub similarity: Option<f32>,
    /// The label that telling it taints the run with.
    pub label: Label,
}

/// The memories that may answer a question.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// The likeliest first.
    pub found: Vec<Candidate>,
    /// How common the question's words are among all memories.
    pub commonness: Commonness,
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
