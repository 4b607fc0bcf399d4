//! Events of a run, and its answer.

use crate::conversation::StoredMedia;
use llm::{Routing, ToolCall, Usage};
use registry::Approval;
use serde::Serialize;
use serde_json::Value;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// An event of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// More of the model's thoughts.
    Thinking {
        /// The next part.
        text: String,
    },
    /// More text of the answer.
    Text {
        /// The next part.
        delta: String,
    },
    /// A call begins.
    ToolStart {
        /// The provider's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments: an object, or the text when it is not JSON.
        arguments: Value,
    },
    /// A call has ended.
    ToolEnd {
        /// The provider's id of the call.
        call_id: String,
        /// Its result.
        #[serde(flatten)]
        record: CallRecord,
    },
    /// A call needs a person's approval.
    Approval {
        /// The approval.
        #[serde(flatten)]
        approval: Box<Approval>,
    },
    /// A tool asks the person something.
    Ask {
        /// The interaction, by which it is answered.
        id: Id,
        /// The question.
        question: String,
        /// Answers to choose from; empty for a free answer.
        options: Vec<String>,
        /// Until when it can be answered: milliseconds since 1970.
        expires_at: u64,
    },
    /// A tool shows something, and waits for the person.
    Ui {
        /// The interaction, by which it is answered.
        id: Id,
        /// `blocks` or `component`.
        kind: String,
        /// Title for the person.
        title: String,
        /// The content: `blocks`, or `code`, `props` and `component`.
        #[serde(flatten)]
        shown: serde_json::Map<String, Value>,
        /// Until when it can be answered: milliseconds since 1970.
        expires_at: u64,
    },
    /// A message of a tool to the person, before the answer.
    Message {
        /// The text.
        text: String,
    },
    /// The model made a picture or sound, which is stored as a file.
    Media {
        /// The file.
        #[serde(flatten)]
        media: StoredMedia,
    },
    /// Older messages were summarised to fit the model's context.
    Compacted {
        /// Number of messages.
        messages: usize,
        /// Length of the summary, in characters.
        summary_length: usize,
    },
    /// The answer; the last event.
    Done(Answer),
    /// The run failed; the last event.
    Error {
        /// A stable word: `cancelled`, `closing`, `model`, `content_filter`, `limit` or the code of a tool error.
        code: &'static str,
        /// The error and how to resolve it.
        message: String,
    },
}

/// A call with its result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// The result: JSON, or text.
    pub result: Value,
    /// A sentence for the person, if the tool has one.
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
    /// The model finished.
    Stop,
    /// A length limit of the model, or the last turn of an orchestrator.
    Length,
    /// Calls wait for a person, or for the client to make them.
    ToolCalls,
    /// The provider's content filter stopped it.
    ContentFilter,
    /// There is no answer; only in error details.
    Error,
}

/// The answer of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The final text.
    pub response: String,
    /// The conversation, to continue it. `None` only when the client keeps it; such answers are never serialised in this shape.
    #[schemars(with = "Id")]
    pub conversation_id: Option<Id>,
    /// This run.
    pub run_id: Id,
    /// All calls, in order.
    pub tool_calls: Vec<CallRecord>,
    /// Usage in tokens.
    pub usage: Usage,
    /// Cost in US dollars; null when the price is unknown.
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
    /// Questions the suspended run waits for; it resumes when they are answered. Empty for a run that has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Id>,
    /// The model's refusal, when its server marks it as one and the client keeps the conversation; else it is part of the text.
    #[serde(skip)]
    pub refusal: Option<Box<str>>,
    /// Calls of the client's tools, for the client to make; see [`crate::Complete`].
    #[serde(skip)]
    pub handed_over: Vec<ToolCall>,
}
