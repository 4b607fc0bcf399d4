//! The one message type between agent and providers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::prelude::{JsonSchema, schemars};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Instructions.
    System(String),
    /// What the person said.
    User(String),
    /// What the model said, and the tools it wants called.
    Assistant {
        /// Its words; may be empty beside tool calls.
        content: String,
        /// The calls it wants, in order.
        tool_calls: Vec<ToolCall>,
    },
    /// What one call gave.
    Tool(ToolResult),
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
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.total_tokens += other.total_tokens;
        self.cached_tokens += other.cached_tokens;
    }
}
