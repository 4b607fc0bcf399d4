//! A provider without a model: sentences to tool calls, results to sentences. It emits calls and never runs them.
//!
//! A person's message becomes one tool call or one answer; the results of that call become a sentence. The stages, in
//! the order of trust: a **template** that fits the whole sentence; else its **words** near those of an example; else
//! words and **meaning** together; else a question goes to **memory** (`recall`); else it says that it did not
//! understand. Whatever changes something ([`tool::Risk`] above `Observe`) is called only from a template, and from a
//! question ("turn on pin 17?") only where that is a request ("could you turn on pin 17?"). Nothing is remembered that
//! says nothing ("remember that"), and days are told without a tool ("what date is next tuesday").
//!
//! # Phrase files
//! Each family writes the sentences for its tools beside them, one file per language (`memory.en`), and hands them on
//! through [`tool::Family::phrases`]. Lines:
//!
//! ```text
//! # memory.en: a comment; one that begins with a file name and a colon names the file in errors
//! = remember type="fact"                      a heading: the tool, and fixed arguments as key=JSON
//! (remember|note) [that] {content:dated}      a template: it must fit the whole sentence
//! ~ my shoe size you should know              an example for words and meaning only, never a template
//! > remember that the spare key is at Ana's   a sentence that help shows; it must be one a template fits
//! = /help                                     a name with / is answered by reflex itself (`reflex.en`)
//! ```
//! In a template: `(a|b c)` one of these, `[x]` or `[x|y]` may be left out, `{name:kind}` a slot that becomes the
//! argument `name`, `{_:kind}` one that becomes none, `name=(…)` or `name:dated=(…)` the text that these parts span.
//! No punctuation, no politeness and no capitals: they are set aside before matching, contractions opened ("what's" is
//! "what is"). Kinds: `text` (any words as written; the default), `dated` (the same, "tomorrow" followed by its date),
//! `quoted`, `word`, `number` (also "a", "half a"), `int`, `pin` ("pin 17", "gpio seventeen"; 0 to 27), `when` (ISO date or
//! date-time), `date`, `duration` (ISO 8601), `expr` (arithmetic), `unit`, `zone` (a place as IANA time zone), `onoff`
//! (boolean). Where several templates fit, the one with the most definite words wins, then the first.

mod days;
mod error;
mod guess;
mod hollow;
mod own;
mod pattern;
mod phrases;
mod place;
mod reply;
mod sentence;
mod slots;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use place::{Placed, Stage};

use embed::Quantized;
use futures::{StreamExt, stream, stream::BoxStream};
use guess::{Embed, Examples};
use llm::{Delta, Message, Provider, Request, ToolCall, ToolChoice, Usage};
use phrases::Intent;
use place::Places;
use std::sync::Arc;
use tool::{Clock, Risk};

/// Its own sentences: help, courtesy, what it will not do.
const OWN: &str = include_str!("reflex.en");

/// The risk of a tool that exists and is on.
type RiskOf = Box<dyn Fn(&str) -> Option<Risk> + Send + Sync>;

/// The built-in provider; cheap to clone.
#[derive(Clone)]
pub struct Reflex(Arc<Inner>);

struct Inner {
    intents: Vec<Intent>,
    examples: Examples,
    risk: RiskOf,
    clock: Arc<dyn Clock>,
}

impl Reflex {
    /// A provider over the families' phrase files. `risk` tells the risk of a tool that exists and is on, and is asked
    /// at every sentence: phrases of other tools are passed over. Nothing is embedded before the first sentence that
    /// needs it.
    ///
    /// # Errors
    /// The first line of a phrase file that is not in the notation.
    pub fn new(
        phrases: &[&str],
        risk: impl Fn(&str) -> Option<Risk> + Send + Sync + 'static,
        embedder: embed::Embedder,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let embed: Embed = Arc::new(move |text| {
            let embedder = embedder.clone();
            Box::pin(async move { embedder.embed(&text).await.map_err(|e| e.to_string()) })
        });
        Self::with(phrases, Box::new(risk), embed, clock)
    }

    fn with(phrases: &[&str], risk: RiskOf, embed: Embed, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let mut intents = vec![];
        for (i, text) in phrases.iter().chain(std::iter::once(&OWN)).enumerate() {
            intents.extend(phrases::read(text, i + 1)?);
        }
        let examples = Examples::new(&intents, embed);
        Ok(Self(Arc::new(Inner { intents, examples, risk, clock })))
    }

    /// Where a sentence belongs, and why: what the provider does, without doing it.
    pub async fn place(&self, text: &str) -> Placed {
        let now = self.0.clock.local();
        let inner = &*self.0;
        let places = Places { intents: &inner.intents, examples: &inner.examples, risk: &*inner.risk, now: &now };
        places.place(text).await
    }

    /// Embeds the examples, some seconds of work on a small board, and answers the vectors to be kept for the next start.
    /// Until they are there, sentences are placed by templates and words. `None` where the model does not answer.
    pub async fn warm(&self) -> Option<Vec<u8>> {
        let vectors = self.0.examples.vectors().await?;
        Some(vectors.iter().flat_map(Quantized::to_bytes).collect())
    }

    /// Takes what [`Reflex::warm`] answered under the same [`Reflex::fingerprint`]; `false` when it does not fit.
    pub fn give(&self, kept: &[u8]) -> bool {
        let vectors: Result<Vec<_>, _> = kept.chunks(Quantized::BYTES).map(Quantized::from_bytes).collect();
        vectors.is_ok_and(|vectors| self.0.examples.take(vectors))
    }

    /// Tells phrases and model from others: vectors fit only those they were computed for.
    pub fn fingerprint(&self) -> u64 {
        self.0.examples.fingerprint()
    }

    /// The answer to a request, as the deltas of a stream.
    async fn answer(&self, request: Request) -> Vec<Delta> {
        let results = reply::pending(&request.messages);
        let first = if !results.is_empty() {
            Delta::Text(reply::sentence(&results))
        } else {
            let said = request.messages.iter().rev().find_map(|m| match m {
                Message::User(text) => Some(text.as_str()),
                _ => None,
            });
            let placed = self.place(said.unwrap_or("")).await;
            tracing::debug!(stage = ?placed.stage, tool = placed.tool.as_deref(), why = placed.why, "placed");
            delta(placed, &request)
        };
        vec![first, Delta::Done { cut: false, usage: Usage::default() }]
    }
}

/// A placed sentence as what the provider says: a call where calls are allowed.
fn delta(placed: Placed, request: &Request) -> Delta {
    let Some(name) = placed.tool else { return Delta::Text(placed.say.unwrap_or_default()) };
    let allowed = match &request.tool_choice {
        ToolChoice::None => false,
        ToolChoice::Auto | ToolChoice::Required => !request.tools.is_empty(),
        ToolChoice::Named { name: only } => *only == name,
    };
    if !allowed {
        return Delta::Text(format!("That would need the tool `{name}`, which I may not use here."));
    }
    // Numbered within the conversation, so that no two calls in it share an id.
    let made = request.messages.iter().map(|m| match m {
        Message::Assistant { tool_calls, .. } => tool_calls.iter().filter(|c| c.id.starts_with("reflex-")).count(),
        _ => 0,
    });
    let id = format!("reflex-{}", made.sum::<usize>() + 1);
    Delta::ToolCall(ToolCall { id, name, arguments: placed.arguments.to_string() })
}

impl Provider for Reflex {
    fn model(&self) -> String {
        "reflex".to_owned()
    }

    fn acts_by_word(&self) -> bool {
        true
    }
    fn reads_context(&self) -> bool {
        false
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, llm::Error>> {
        let reflex = self.clone();
        stream::once(async move { reflex.answer(request).await })
            .flat_map(|deltas| stream::iter(deltas.into_iter().map(Ok)))
            .boxed()
    }
}
