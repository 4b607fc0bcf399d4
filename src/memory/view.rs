//! The views of memories that callers get.

use crate::{
    answer::Commonness,
    records::{Earlier, Kind, Stored},
};
use serde::{Serialize, Serializer};
use store::{Audience, Entry};
use tool::{Cx, Id, Label};

/// From this importance on it is a reason, from this many uses, and below this presence.
const IMPORTANT: f32 = 0.8;
const OFTEN: u32 = 3;
const FADED: f32 = 0.25;

/// A memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// The texts it had before, the oldest first; its owner alone sees them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
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
            earlier: e.value.earlier,
        }
    }
}

/// The memory as this caller may see it. `from_outside` is shown to the owner alone, who can vouch for the memory.
pub(crate) fn visible_to(cx: &Cx, entry: Entry<Stored>) -> Memory {
    let own = entry.owner == cx.user();
    let name = || cx.ports().people.name_of(entry.owner).unwrap_or_else(|| "somebody else".to_owned());
    let shared_by = (!own).then(name);
    let mut memory = Memory::from(entry);
    if !own {
        memory.earlier.clear();
    }
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
    /// Other reasons: `important`, `often recalled`, `long not needed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<&'static str>,
    /// Its similarity in meaning, 0 to 1; absent where it was found by its words alone.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shortest_of")]
    pub meaning: Option<f32>,
    /// How present it is, 0 to 1: it fades with age and lack of use, the less the more important it is.
    #[serde(serialize_with = "tool::as_shortest")]
    pub presence: f32,
}

fn shortest_of<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(tool::shortest).serialize(serializer)
}

/// Reasons for or against a memory besides its words and its meaning.
pub(crate) fn besides(memory: &Memory, presence: f32) -> Vec<&'static str> {
    let all = [
        (memory.importance >= IMPORTANT, "important"),
        (memory.uses >= OFTEN, "often recalled"),
        (presence < FADED, "long not needed"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, reason)| reason).collect()
}

/// The outcome of remembering a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is a new memory.
    Added,
    /// It was known already, perhaps in other words.
    Known,
    /// It took the place of an older one.
    Replaced,
}

/// A fact that was to be remembered, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Learned {
    /// The memory as it is now.
    #[serde(flatten)]
    pub memory: Memory,
    /// The outcome.
    pub outcome: Outcome,
    /// The text that the memory had before, where it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Older memories that it may repeat or contradict; not sure, so all stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<Memory>,
}

impl Learned {
    pub(crate) fn new(memory: Memory, outcome: Outcome) -> Self {
        Self { memory, outcome, before: None, similar: vec![] }
    }
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
