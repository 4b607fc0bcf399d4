//! Model providers behind one trait: messages in, a stream of deltas out.
//!
//! A provider turns a [`Request`] into [`Delta`]s and nothing else: it never runs a tool and keeps no state
//! between requests. [`connect`] makes one of an [`Endpoint`], in the wire format its server speaks; `reflex` implements the
//! same trait.

/// What a provider around another tells of itself: what that one tells. A question that is left to the trait's default would be
/// answered as if nothing were known.
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
            surety: $crate::Confidence,
        ) -> futures::future::BoxFuture<'static, bool> {
            $inner.would_answer(request, surety)
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
mod metered;
mod openai;
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
mod turns;
mod wire;

pub use catalogue::{Catalogue, Model, Price};
pub use chain::Chain;
pub use content::{Content, Kind, Media, Part, Source};
pub use endpoint::{Endpoint, Quirks, Wire};
pub use error::Error;
pub use http_client::Patience;
pub use ledger::{Day, Ledger, ModelUse};
pub use listing::models_of;
pub use message::{Message, ProviderState, ToolCall, ToolChoice, ToolDefinition, ToolResult, Turn, Usage};
pub use metered::Metered;
pub use presets::{FROM_ENVIRONMENT, PRESETS, Preset, preset};
pub use router::{Health, Link, Strategy};
pub use routing::{Attempt, Outcome, Routing};
pub use sampling::{ResponseFormat, Sampling};
pub use stop::{End, StopFilter};

use futures::{future::BoxFuture, stream::BoxStream};
use std::sync::Arc;

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The conversation, the system prompt first.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
    /// The most tokens the answer may have by default; the provider's own limit when `None`.
    pub max_tokens: Option<u32>,
    /// How freely it chooses its words by default, 0 to 2; the provider's own when `None`.
    pub temperature: Option<f32>,
    /// What the caller asks for beyond these defaults: honoured, or the request is refused.
    pub sampling: Sampling,
    /// The format of the final answer.
    pub format: ResponseFormat,
    /// For whom this is asked: what is spent is counted for them.
    pub user: Option<tool::UserId>,
}

impl Request {
    /// The most tokens the answer may have: what the caller asks for, else the default.
    pub fn most_tokens(&self) -> Option<u32> {
        self.sampling.max_tokens.or(self.max_tokens)
    }
}

/// What a provider says next.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Who answers, where that is not what [`Provider::model`] says: one of several. Comes first.
    By {
        /// As `provider/model`, or `reflex`.
        model: String,
        /// See [`Provider::acts_by_word`].
        by_word: bool,
    },
    /// Which models were tried, and why. Comes before what is said, or before the error where none answered.
    Routing(Box<Routing>),
    /// More of the answer.
    Text(String),
    /// More of the model's refusal to answer, where its server marks it as one.
    Refusal(String),
    /// More of its reasoning, where it shows that.
    Thinking(String),
    /// A whole tool call, all fragments joined.
    ToolCall(ToolCall),
    /// A picture or sound the model made.
    Media(Media),
    /// What the provider wants back with the next request of this conversation.
    Keep(ProviderState),
    /// The provider's content filter stopped the answer here; the text before it stays. With a sentence for people.
    Filtered(String),
    /// The end; nothing follows.
    Done {
        /// Whether the answer was cut short by a length limit.
        cut: bool,
        /// What it cost, where the provider says.
        usage: Usage,
    },
}

/// What is known of a model. Nothing is known of a model nobody described: then all is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Facts {
    /// How many tokens it reads and writes in all; 0 is not known.
    pub context: u32,
    /// How many tokens one answer may have; 0 is not known.
    pub output: u32,
    /// Whether it calls tools in its provider's format. A model that does not is driven through text.
    pub tools: bool,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether it hears sound.
    pub audio: bool,
    /// Whether it reads files such as PDF.
    pub files: bool,
}

impl Default for Facts {
    fn default() -> Self {
        Self { context: 0, output: 0, tools: true, images: true, audio: false, files: false }
    }
}

/// How sure a provider has to be of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// It knows just what was meant.
    Sure,
    /// It has something better to say than that it did not understand.
    Understood,
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
    /// What is known of it.
    fn facts(&self) -> Facts {
        Facts::default()
    }
    /// Whether it has an answer of that surety to this request. Models answer anything.
    fn would_answer(&self, _request: &Request, _surety: Confidence) -> BoxFuture<'static, bool> {
        Box::pin(async { true })
    }
    /// Asks; the stream ends with [`Delta::Done`] or an error, and dropping it aborts the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>>;
}

/// The provider of an endpoint: it asks again after failures that pass.
pub fn connect(endpoint: Endpoint) -> Arc<dyn Provider> {
    let (retries, delay) = (endpoint.retries, endpoint.retry_delay);
    Arc::new(retry::Retrying::new(ask::Model::new(endpoint), retries, delay))
}
