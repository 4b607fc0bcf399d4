//! Models that write calls as text, and models with small contexts.
//!
//! Many local models are trained to write calls as text, in a form of their family, and their servers pass that on.
//! [`fitted`] wraps a provider with three layers, each where needed: requests are fitted to the model's context; a
//! model without native tool calls gets tools and results as text; and calls written as text are parsed and hidden,
//! for such models and for servers known to leave calls in the text. Elsewhere a call in the text is a quotation and
//! stays visible.
//!
//! Marks of a family count anywhere, if the named tool is in the request. Unmarked JSON counts only if it is the
//! whole answer, or the only fenced block after at most a sentence: else it may be an example.

mod bare;
mod driven;
mod fit;
mod forms;
mod input;
mod known;
mod loose;
mod pythonic;
mod reader;
mod tags;
#[cfg(test)]
mod tests;

use crate::{Delta, Error, Message, Provider, Request, ToolChoice, ToolDefinition};
use fit::fit;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use known::KnownTools;
use reader::Reader;
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc};

/// Wraps a provider: fits requests to its context, presents tools as text if it has no native calls, and parses its
/// calls from text; with `reads_text` also if it has native calls, see [`crate::Preset::reads_text_at`]. Providers
/// that read no context are returned unchanged.
pub fn fitted(inner: Arc<dyn Provider>, reads_text: bool) -> Arc<dyn Provider> {
    if inner.reads_context() { Arc::new(Fitted { inner, reads_text }) } else { inner }
}

/// How often a request is rebuilt after a rejection taught something about the model.
const MAX_LEARNED: usize = 3;

struct Fitted {
    inner: Arc<dyn Provider>,
    reads_text: bool,
}

impl Provider for Fitted {
    about!(self => self.inner);

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (inner, reads_text) = (self.inner.clone(), self.reads_text);
        let first = async move {
            for _ in 0..MAX_LEARNED {
                let facts = inner.facts();
                let mut answer = stream_for_model(&inner, reads_text, request.clone());
                match answer.next().await {
                    // Its server just reported missing tool support or a smaller context: it may accept another form.
                    Some(Err(Error::Refused(_) | Error::TooLong(_))) if inner.facts() != facts => {}
                    Some(said) => return stream::iter([said]).chain(answer).boxed(),
                    None => return stream::empty().boxed(),
                }
            }
            stream_for_model(&inner, reads_text, request)
        };
        stream::once(first).flatten().boxed()
    }
}

/// Sends the request in the form for the currently known facts.
fn stream_for_model(
    inner: &Arc<dyn Provider>,
    reads_text: bool,
    request: Request,
) -> BoxStream<'static, Result<Delta, Error>> {
    let facts = inner.facts();
    let request = match fit(request, &facts, &inner.model()) {
        Ok(request) => request,
        Err(error) => return stream::iter([Err(error)]).boxed(),
    };
    if facts.tools && !reads_text {
        return inner.stream(request);
    }
    let known = match request.tool_choice {
        ToolChoice::None => KnownTools::default(),
        _ => KnownTools { tools: request.tools.clone(), found: found(&request.messages) },
    };
    let reader = Reader::new(known, !facts.tools);
    let request = if facts.tools { request } else { driven::in_words(request) };
    let answer = Answer { inner: inner.stream(request), reader, next: VecDeque::new(), over: false };
    stream::unfold(answer, |mut answer| async { answer.next().await.map(|delta| (delta, answer)) }).boxed()
}

/// The tools by which a model finds others.
const FINDERS: [&str; 2] = ["search_tools", "get_tool_help"];

/// Tools found earlier in this conversation: a model that writes calls as text may call them by name.
fn found(messages: &[Message]) -> Vec<ToolDefinition> {
    let told = messages.iter().filter_map(|message| match message {
        Message::Tool(result) if FINDERS.contains(&&*result.name) => {
            serde_json::from_str::<Value>(&result.content).ok()
        }
        _ => None,
    });
    let tools = told.flat_map(|told| match told["tools"].as_array() {
        Some(found) => found.clone(),
        None => vec![told],
    });
    let tool = |tool: Value| {
        let name = tool["name"].as_str()?.to_owned();
        Some(ToolDefinition { name, description: String::new(), parameters: tool["parameters"].clone() })
    };
    tools.filter_map(tool).collect()
}

/// An answer being read.
struct Answer {
    inner: BoxStream<'static, Result<Delta, Error>>,
    reader: Reader,
    /// Deltas to emit before more is read.
    next: VecDeque<Result<Delta, Error>>,
    over: bool,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Delta, Error>> {
        loop {
            if let Some(next) = self.next.pop_front() {
                return Some(next);
            }
            if self.over {
                return None;
            }
            let delta = self.inner.next().await;
            match delta {
                Some(Ok(Delta::Text(text))) => self.say(|reader| reader.take(&text)),
                Some(Ok(Delta::ToolCall(call))) if self.reader.has(&call) => {}
                Some(Ok(Delta::Done { cut, usage })) => {
                    self.say(|reader| reader.end(cut));
                    self.next.push_back(Ok(Delta::Done { cut, usage }));
                }
                Some(Ok(other)) => self.next.push_back(Ok(other)),
                // Text held back is emitted before the error; no call of a failed answer is made.
                Some(Err(error)) => {
                    self.say(|reader| reader.end(true));
                    self.next.retain(|delta| !matches!(delta, Ok(Delta::ToolCall(_))));
                    self.next.push_back(Err(error));
                    self.over = true;
                }
                None => {
                    self.say(|reader| reader.end(true));
                    self.over = true;
                }
            }
        }
    }

    fn say(&mut self, read: impl FnOnce(&mut Reader) -> Vec<Delta>) {
        self.next.extend(read(&mut self.reader).into_iter().map(Ok));
    }
}
