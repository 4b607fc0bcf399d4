//! The message type shared by agent and providers.

use crate::Content;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::prelude::{JsonSchema, schemars};

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Instructions.
    System(String),
    /// A message of the person.
    User(Content),
    /// Text and tool calls of the model.
    Assistant(Turn),
    /// The result of a call.
    Tool(ToolResult),
}

impl Message {
    /// A message of the person.
    pub fn user(said: impl Into<Content>) -> Self {
        Message::User(said.into())
    }
    /// A model turn with text only.
    pub fn text_only(text: impl Into<String>) -> Self {
        Message::Assistant(Turn { content: text.into(), ..Turn::default() })
    }
    /// A model turn with text and calls.
    pub fn calls(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Message::Assistant(Turn { content: text.into(), tool_calls, ..Turn::default() })
    }
}

/// A model turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Its text; may be empty beside tool calls.
    pub content: String,
    /// Its tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Provider state to send back unchanged with the next request.
    pub kept: Option<ProviderState>,
}

/// State a provider requires back with the conversation: signed or encrypted reasoning, call signatures. Sent to that
/// provider only; meaningless to any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderState {
    /// The provider, as in `provider/model`.
    pub provider: String,
    /// In the provider's own format.
    pub value: Value,
}

/// A tool call requested by a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id for it, to be sent back with the result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, exactly as the model wrote them: may be invalid.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// For the model: text or JSON.
    pub content: String,
    /// For the person: one sentence, if the tool has one. Never sent to a model.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool as presented to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// Its description, for the model.
    pub description: String,
    /// Its parameters, as JSON Schema.
    pub parameters: Value,
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call a tool.
    Required,
    /// It must call this tool.
    #[serde(untagged)]
    Named {
        /// The tool's name.
        name: String,
    },
}

impl ToolChoice {
    /// Whether a call is required.
    pub fn demands_call(&self) -> bool {
        matches!(self, ToolChoice::Required | ToolChoice::Named { .. })
    }
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// Sum of both.
    pub total_tokens: u64,
    /// Cached input tokens.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Cost in millionths of a US dollar, if the price is known.
    #[serde(skip)]
    pub micros: Option<u64>,
    /// Input tokens written to the provider's cache where that costs extra; only for computing the cost.
    #[serde(skip)]
    pub written_to_cache: u64,
}

/// Plausibility limit for token counts.
const MOST_TOKENS: u64 = 1 << 40;

/// A token count from a server, limited to a plausible value since counts are summed for years.
pub(crate) fn tokens(told: &Value) -> Option<u64> {
    told.as_u64().map(|tokens| tokens.min(MOST_TOKENS))
}

impl Usage {
    /// Cost in US dollars; `None` if the price is unknown.
    pub fn cost(&self) -> Option<f64> {
        self.micros.map(|micros| micros as f64 / 1e6)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // A server may report any number.
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.written_to_cache = self.written_to_cache.saturating_add(other.written_to_cache);
        // Known costs add up; an unknown one does not hide them.
        self.micros = self.micros.into_iter().chain(other.micros).reduce(|a, b| a.saturating_add(b));
    }
}
