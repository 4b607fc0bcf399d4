//! Models that call tools in text, and models with little room.
//!
//! Many a model on the own network was trained to write its calls as text, in a form of its family, and its server passes
//! them on as words. [`fitted`] puts three things around a provider, each where it is needed: what is asked is made to fit
//! the model's context; a model that calls no tools is told of them in its prompt, and given results in words;
//! and calls that are written as text are read, and not shown: of a model that calls no tools in another way, and of servers
//! that pass on as words what their models write. Elsewhere a call in the text is a quotation, and is shown.
//!
//! Marks of a family count wherever they stand, where the tool they name is in the request. JSON without marks counts only
//! where it is the whole answer, or the only fenced block after at most a sentence: else it may be an example.

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

/// The same provider, who is asked no more than fits its context, who is told of tools in words where it knows no other way,
/// and whose calls are then read from its text; with `reads_text` also where it knows another way, see
/// [`crate::Preset::reads_text_at`]. A provider that reads no context needs none of that.
pub fn fitted(inner: Arc<dyn Provider>, reads_text: bool) -> Arc<dyn Provider> {
    if inner.reads_context() { Arc::new(Fitted { inner, reads_text }) } else { inner }
}

/// How often a request is made anew because its refusal has taught something of the model.
const LESSONS: usize = 3;

struct Fitted {
    inner: Arc<dyn Provider>,
    reads_text: bool,
}

impl Provider for Fitted {
    about!(self => self.inner);

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (inner, reads_text) = (self.inner.clone(), self.reads_text);
        let first = async move {
            for _ in 0..LESSONS {
                let facts = inner.facts();
                let mut answer = stream_for_model(&inner, reads_text, request.clone());
                match answer.next().await {
                    // Its server said just now that it calls no tools, or reads less: in another form it may answer.
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

/// Asks, in the form for what is known of the model by now.
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
    let tools = match request.tool_choice {
        ToolChoice::None => vec![],
        _ => request.tools.iter().cloned().chain(found(&request.messages)).collect(),
    };
    let reader = Reader::new(KnownTools(tools), !facts.tools);
    let request = if facts.tools { request } else { driven::in_words(request) };
    let answer = Answer { inner: inner.stream(request), reader, next: VecDeque::new(), over: false };
    stream::unfold(answer, |mut answer| async { answer.next().await.map(|delta| (delta, answer)) }).boxed()
}

/// The tools by which a model finds others.
const FINDERS: [&str; 2] = ["search_tools", "get_tool_help"];

/// Tools that were found in this conversation: a model that calls in words calls them as those it was shown.
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

/// An answer that is being read.
struct Answer {
    inner: BoxStream<'static, Result<Delta, Error>>,
    reader: Reader,
    /// What is to be said before more is read.
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
                // What was held back is said before the error: nothing is called in an answer that broke.
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
