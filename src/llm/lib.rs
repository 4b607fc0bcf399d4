//! Layer 2: model providers behind one trait. Messages in, a stream of deltas out.
//!
//! A provider turns a [`Request`] into [`Delta`]s and nothing else: it never runs a tool and keeps no state between
//! requests. [`connect`] creates one from an [`Endpoint`]; `reflex` implements the same trait.

/// Forwards metadata to the inner provider. Without it a wrapper would answer with the trait's defaults.
macro_rules! about {
    ($self:ident => $inner:expr) => {
        fn model(&$self) -> String {
            $inner.model()
        }
        fn reads_context(&$self) -> bool {
            $inner.reads_context()
        }
        fn acts_by_word(&$self) -> bool {
            $inner.acts_by_word()
        }
        fn facts(&$self) -> $crate::Facts {
            $inner.facts()
        }
        fn would_answer(
            &$self,
            request: &$crate::Request,
            confidence: $crate::Confidence,
        ) -> futures::future::BoxFuture<'static, bool> {
            $inner.would_answer(request, confidence)
        }
    };
}

mod anthropic;
mod ask;
mod calls;
mod catalogue;
mod chain;
mod content;
mod endpoint;
mod error;
mod error_response;
mod gemini;
mod learned_limits;
mod ledger;
mod listing;
mod message;
mod messages;
mod metered;
mod openai;
mod outage;
mod parts;
mod payload;
mod presets;
mod provider_state;
mod reader;
mod responses;
mod retry;
mod router;
mod routing;
mod sampling;
mod schema;
#[cfg(test)]
mod scripted;
mod sse;
mod stop;
mod surrogate_pairs;
#[cfg(test)]
mod testing;
pub mod text;
mod tools;
mod turns;
mod wire;

pub use catalogue::{Catalogue, Model, Price};
pub use chain::Chain;
pub use content::{Content, Kind, Media, Part, Source};
pub use endpoint::{Endpoint, Quirks, Wire};
pub use error::Error;
pub use http_client::Patience;
pub use ledger::{Day, Hold, Ledger, ModelUse};
pub use listing::{models_of, models_within};
pub use message::{Message, ProviderState, ToolCall, ToolChoice, ToolDefinition, ToolResult, Turn, Usage};
pub use messages::Messages;
pub use metered::Metered;
pub use outage::{Outage, Problem};
pub use presets::{FROM_ENVIRONMENT, PRESETS, Preset, preset};
pub use router::{Health, Link, Strategy};
pub use routing::{Attempt, Outcome, Routing};
pub use sampling::{ResponseFormat, Sampling};
pub use stop::{End, StopFilter};
pub use tools::Tools;

use futures::{future::BoxFuture, stream::BoxStream};
use std::sync::Arc;

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The conversation, starting with the system prompt.
    pub messages: Messages,
    /// The tools the model may call.
    pub tools: Tools,
    /// Whether it may, must or must not call a tool.
    pub tool_choice: ToolChoice,
    /// Default maximum of output tokens; the provider's limit if `None`.
    pub max_tokens: Option<u32>,
    /// Default temperature, 0 to 2; the provider's default if `None`.
    pub temperature: Option<f32>,
    /// Options the caller requested: honoured, or the request is rejected.
    pub sampling: Sampling,
    /// The format of the final answer.
    pub format: ResponseFormat,
    /// The person whose usage this is.
    pub user: Option<tool::UserId>,
}

impl Request {
    /// Maximum output tokens: the caller's, else the default.
    pub fn most_tokens(&self) -> Option<u32> {
        self.sampling.max_tokens.or(self.max_tokens)
    }
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// The answering model, if it is not [`Provider::model`]. Comes first.
    By {
        /// As `provider/model`, or `reflex`.
        model: String,
        /// See [`Provider::acts_by_word`].
        by_word: bool,
    },
    /// Which models were tried and why. Comes before the text, or before the error if none answered.
    Routing(Box<Routing>),
    /// Answer text.
    Text(String),
    /// Refusal text, if the server marks it.
    Refusal(String),
    /// Reasoning text, if the model shows it.
    Thinking(String),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// An image or audio the model generated.
    Media(Media),
    /// Provider state to send back with the next request of this conversation.
    Keep(ProviderState),
    /// The content filter stopped the answer here; the text before it stays. SupportedMedia a sentence for people.
    Filtered(String),
    /// The end; nothing follows.
    Done {
        /// Whether the answer was cut off by a length limit.
        cut: bool,
        /// Token usage, if reported.
        usage: Usage,
    },
}

/// Limits and abilities of a model. Unknown models keep the defaults, so everything is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Facts {
    /// Context size in tokens, input and output together; 0 if unknown.
    pub context: u32,
    /// Maximum output in tokens; 0 if unknown.
    pub output: u32,
    /// Whether it supports native tool calls. Other models get tools as text.
    pub tools: bool,
    /// Whether it accepts images.
    pub images: bool,
    /// Whether it accepts audio.
    pub audio: bool,
    /// Whether it accepts files such as PDF.
    pub files: bool,
}

impl Default for Facts {
    fn default() -> Self {
        Self { context: 0, output: 0, tools: true, images: true, audio: false, files: false }
    }
}

/// How confident a provider must be to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// It is certain what was meant.
    Sure,
    /// It has a better answer than "I did not understand".
    Understood,
}

/// A model.
pub trait Provider: Send + Sync + 'static {
    /// The provider and model, as `provider/model`; `reflex` for the built-in one.
    fn model(&self) -> String;
    /// Whether it reads the prompt, memories and history. A provider that reads only the last message needs none of
    /// them, and cannot be misled by them.
    fn reads_context(&self) -> bool {
        true
    }
    /// Whether it only makes calls the person requested literally, so that the request counts as approval.
    fn acts_by_word(&self) -> bool {
        false
    }
    /// Its limits and abilities.
    fn facts(&self) -> Facts {
        Facts::default()
    }
    /// Whether it can answer this request with that confidence. Models answer anything.
    fn would_answer(&self, _request: &Request, _surety: Confidence) -> BoxFuture<'static, bool> {
        Box::pin(async { true })
    }
    /// Sends a request; the stream ends with [`Delta::Done`] or an error, and dropping it aborts the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>>;
}

/// The provider of an endpoint: it asks again after failures that pass.
pub fn connect(endpoint: Endpoint) -> Arc<dyn Provider> {
    let (retries, delay) = (endpoint.retries, endpoint.retry_delay);
    Arc::new(retry::Retrying::new(ask::Model::new(endpoint), retries, delay))
}
