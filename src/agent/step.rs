//! What a run tells of itself, and what it ends with.

use crate::messages::StoredMedia;
use llm::{Routing, ToolCall, Usage};
use registry::Approval;
use serde::Serialize;
use serde_json::Value;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// Something that happens in a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The model thinks aloud.
    Thinking {
        /// More of its thoughts.
        text: String,
    },
    /// The model says more of its answer.
    Text {
        /// The next words.
        delta: String,
    },
    /// A tool begins.
    ToolStart {
        /// The provider's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments: an object, or the text as the model broke it.
        arguments: Value,
    },
    /// A tool ended.
    ToolEnd {
        /// The provider's id of the call.
        call_id: String,
        /// What it gave.
        #[serde(flatten)]
        record: CallRecord,
    },
    /// A person is asked whether a call may be made.
    Approval {
        /// The question.
        #[serde(flatten)]
        approval: Box<Approval>,
    },
    /// A tool asks the person something.
    Ask {
        /// The interaction, by which it is answered.
        id: Id,
        /// What is asked.
        question: String,
        /// Answers to choose from; any answer fits where there are none.
        options: Vec<String>,
        /// Until when it can be answered: milliseconds since 1970.
        expires_at: u64,
    },
    /// A tool shows something, and waits until the person has done with it.
    Ui {
        /// The interaction, by which it is answered.
        id: Id,
        /// `blocks` or `component`.
        kind: String,
        /// What it is about.
        title: String,
        /// What is shown: `blocks`, or `code`, `props` and `component`.
        #[serde(flatten)]
        shown: serde_json::Map<String, Value>,
        /// Until when it can be answered: milliseconds since 1970.
        expires_at: u64,
    },
    /// A tool tells the person something, before the answer.
    Message {
        /// What it tells.
        text: String,
    },
    /// The model made a picture or sound, which is kept as a file.
    Media {
        /// The file.
        #[serde(flatten)]
        media: StoredMedia,
    },
    /// Older messages were summarised, so that the conversation fits the model.
    Compacted {
        /// How many.
        messages: usize,
        /// How long what stands for them is, in characters.
        summary_length: usize,
    },
    /// The answer; nothing follows.
    Done(Answer),
    /// There is no answer; nothing follows.
    Error {
        /// A stable word: `cancelled`, `closing`, `model`, `content_filter`, `limit` or the code of a tool error.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
}

/// One call that was made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// What it gave: JSON, or text.
    pub result: Value,
    /// A sentence for the person, where the tool has one.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model had finished.
    Stop,
    /// A length limit of the model, or the last turn of an orchestrator, cut it short.
    Length,
    /// Calls wait: for a person, or for the program to make them.
    ToolCalls,
    /// The provider's content filter stopped it.
    ContentFilter,
    /// There is no answer; only in the details of an error.
    Error,
}

/// The end of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The final text.
    pub response: String,
    /// The conversation, to go on with. `None` only where the caller keeps it, whose answers are never shown in this shape.
    #[schemars(with = "Id")]
    pub conversation_id: Option<Id>,
    /// This run.
    pub run_id: Id,
    /// Every call that was made, in order.
    pub tool_calls: Vec<CallRecord>,
    /// What it cost, in tokens.
    pub usage: Usage,
    /// What it cost, in US dollars; null where the price is not known.
    pub cost: Option<f64>,
    /// The model that answered.
    pub model: String,
    /// Whether the model's length limit cut the final text short.
    pub cut: bool,
    /// Why the answer ends here.
    pub finish_reason: FinishReason,
    /// Which models were tried, and why this one answered.
    pub routing: Routing,
    /// Pictures and sounds the model made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<StoredMedia>,
    /// The questions this run rests on: it goes on by itself when they are answered. Empty for a run that is over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Id>,
    /// The model's refusal to answer, where its server marks it as one; only where the caller keeps the conversation. In others
    /// it is the text.
    #[serde(skip)]
    pub refusal: Option<Box<str>>,
    /// Calls of the caller's own tools, which the caller has to make; see [`crate::Complete`].
    #[serde(skip)]
    pub handed_over: Vec<ToolCall>,
}
