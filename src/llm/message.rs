//! The one message type between agent and providers.

use crate::Content;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::prelude::{JsonSchema, schemars};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Instructions.
    System(String),
    /// What the person said or sent.
    User(Content),
    /// What the model said, and the tools it wants called.
    Assistant(Turn),
    /// What one call gave.
    Tool(ToolResult),
}

impl Message {
    /// A message of the person.
    pub fn user(said: impl Into<Content>) -> Self {
        Message::User(said.into())
    }
    /// Words of the model alone.
    pub fn text_only(text: impl Into<String>) -> Self {
        Message::Assistant(Turn { content: text.into(), ..Turn::default() })
    }
    /// Words of the model and the calls it wants.
    pub fn calls(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Message::Assistant(Turn { content: text.into(), tool_calls, ..Turn::default() })
    }
}

/// What a model said in one turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Its words; may be empty beside tool calls.
    pub content: String,
    /// The calls it wants, in order.
    pub tool_calls: Vec<ToolCall>,
    /// What its provider wants back unchanged with the next request.
    pub kept: Option<ProviderState>,
}

/// What a provider demands back with the conversation: signed thoughts, encrypted reasoning, signatures of calls. It goes back
/// to that provider alone; to any other it means nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderState {
    /// The provider, as in `provider/model`.
    pub provider: String,
    /// In the provider's own form.
    pub value: Value,
}

/// A call a model wants made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id for it, to be given back with the result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, exactly as the model wrote them: they may be broken.
    pub arguments: String,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// For the model: text or JSON.
    pub content: String,
    /// For the person: one plain sentence, where the tool has one. Never sent to a model on the wire.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its parameters, as JSON Schema.
    pub parameters: Value,
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    #[serde(untagged)]
    Named {
        /// The tool's name.
        name: String,
    },
}

impl ToolChoice {
    /// Whether a tool has to be called.
    pub fn demands_call(&self) -> bool {
        matches!(self, ToolChoice::Required | ToolChoice::Named { .. })
    }
}

/// What a request cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Of those read, how many came from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// What it cost, in millionths of a US dollar, where the price is known.
    #[serde(skip)]
    pub micros: Option<u64>,
    /// Of those read, how many were written to the provider's cache, where that costs more: only to reckon what it cost.
    #[serde(skip)]
    pub written_to_cache: u64,
}

/// More tokens than any request has.
const MOST_TOKENS: u64 = 1 << 40;

/// A number of tokens as a server tells it: it may tell any number, and these are added up for years.
pub(crate) fn tokens(told: &Value) -> Option<u64> {
    told.as_u64().map(|tokens| tokens.min(MOST_TOKENS))
}

impl Usage {
    /// What it cost, in US dollars; `None` where the price is not known.
    pub fn cost(&self) -> Option<f64> {
        self.micros.map(|micros| micros as f64 / 1e6)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // A server may tell any number.
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.written_to_cache = self.written_to_cache.saturating_add(other.written_to_cache);
        // What is known: a model of unknown price does not make the others' unknown.
        self.micros = self.micros.into_iter().chain(other.micros).reduce(|a, b| a.saturating_add(b));
    }
}
