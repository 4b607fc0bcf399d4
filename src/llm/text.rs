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

use crate::{Delta, Error, Facts, Provider, Request, Surety, ToolChoice};
use fit::fit;
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use known::Known;
use reader::Reader;
use std::{collections::VecDeque, sync::Arc};

/// The same provider, who is asked no more than fits its context, who is told of tools in words where it knows no other way,
/// and whose calls are then read from its text; with `reads_text` also where it knows another way, see
/// [`crate::Preset::reads_text_at`]. A provider that reads no context needs none of that.
pub fn fitted(inner: Arc<dyn Provider>, reads_text: bool) -> Arc<dyn Provider> {
    if inner.reads_context() { Arc::new(Fitted { inner, reads_text }) } else { inner }
}

struct Fitted {
    inner: Arc<dyn Provider>,
    reads_text: bool,
}

impl Provider for Fitted {
    fn model(&self) -> String {
        self.inner.model()
    }
    fn reads_context(&self) -> bool {
        self.inner.reads_context()
    }
    fn acts_by_word(&self) -> bool {
        self.inner.acts_by_word()
    }
    fn facts(&self) -> Facts {
        self.inner.facts()
    }
    fn would_answer(&self, request: &Request, surety: Surety) -> BoxFuture<'static, bool> {
        self.inner.would_answer(request, surety)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let facts = self.inner.facts();
        let request = match fit(request, &facts) {
            Ok(request) => request,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        if facts.tools && !self.reads_text {
            return self.inner.stream(request);
        }
        let tools = if request.tool_choice == ToolChoice::None { vec![] } else { request.tools.clone() };
        let reader = Reader::new(Known(tools), !facts.tools);
        let request = if facts.tools { request } else { driven::in_words(request) };
        let answer = Answer { inner: self.inner.stream(request), reader, next: VecDeque::new(), over: false };
        stream::unfold(answer, |mut answer| async { answer.next().await.map(|delta| (delta, answer)) }).boxed()
    }
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
