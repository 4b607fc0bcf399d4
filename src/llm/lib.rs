//! Model providers behind one trait: messages in, a stream of deltas out.
//!
//! A provider turns a [`Request`] into [`Delta`]s and nothing else: it never runs a tool and keeps no state
//! between requests. [`OpenAi`] speaks the wire format most servers share; `reflex` implements the same trait.

mod error;
mod message;
mod openai;
mod retry;
mod sse;
mod wire;

pub use error::Error;
pub use http_client::Patience;
pub use message::{Message, ToolCall, ToolChoice, ToolDefinition, ToolResult, Usage};
pub use openai::{OpenAi, OpenAiConfig};
pub use retry::Retrying;

use futures::stream::BoxStream;

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The conversation, the system prompt first.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
}

/// What a provider says next.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More of the answer.
    Text(String),
    /// More of its reasoning, where it shows that.
    Thinking(String),
    /// A whole tool call, all fragments joined.
    ToolCall(ToolCall),
    /// The end; nothing follows.
    Done {
        /// Whether the answer was cut short by a length limit.
        cut: bool,
        /// What it cost, where the provider says.
        usage: Usage,
    },
}

/// A model that can be asked.
pub trait Provider: Send + Sync + 'static {
    /// The provider and model, as `provider/model`; `reflex` for the built-in one.
    fn model(&self) -> String;
    /// Whether it reads the prompt, memories and what was said before; a provider that reads the last message alone needs
    /// none of them, and nothing in them can mislead it.
    fn reads_context(&self) -> bool {
        true
    }
    /// Whether it calls only what the person said word by word, so that their words are their yes.
    fn acts_by_word(&self) -> bool {
        false
    }
    /// Asks; the stream ends with [`Delta::Done`] or an error, and dropping it aborts the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>>;
}
