//! What a model is asked goes into the ledger, and no more is asked than the day's budget has.

use crate::{Delta, Error, Ledger, Price, Provider, Request, Usage, ledger::Hold, payload, router};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{sync::Arc, task::ready, time::Instant};

/// How long an answer is expected to be, in tokens, while nobody has said it.
const ANSWER: u64 = 1_000;

/// A model that is paid for: refuses when the day's budget is spent, and writes down what every answer cost. What costs
/// nothing is written down too, and never refused.
pub struct Metered {
    inner: Arc<dyn Provider>,
    ledger: Arc<Ledger>,
    price: Price,
}

impl Metered {
    /// Wraps `inner`, whose tokens cost `price`.
    pub fn new(inner: Arc<dyn Provider>, ledger: Arc<Ledger>, price: Price) -> Self {
        Self { inner, ledger, price }
    }
}

impl Provider for Metered {
    about!(self => self.inner);

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (inner, ledger, price) = (self.inner.clone(), self.ledger.clone(), self.price);
        let read = router::tokens(&request, &inner.model());
        payload::log(&inner.model(), &request, read);
        let begun = async move {
            let hold = match price {
                Price::Free => None,
                price => match ledger.hold(price, &expected(read, request.most_tokens())).await {
                    Ok(hold) => Some(hold),
                    Err(sentence) => return stream::once(async { Err(Error::Spent(sentence)) }).boxed(),
                },
            };
            let mut tally = Tally {
                model: inner.model(),
                ledger,
                price,
                read,
                written: 0,
                at: At::Unsent,
                hold,
                asked: Instant::now(),
            };
            let mut answer = inner.stream(request);
            stream::poll_fn(move |cx| {
                tally.send();
                let mut said = ready!(answer.poll_next_unpin(cx));
                match &mut said {
                    Some(Ok(delta)) => tally.hear(delta),
                    Some(Err(error)) => tally.fail(error),
                    None => {}
                }
                said.into()
            })
            .boxed()
        };
        stream::once(begun).flatten().boxed()
    }
}

/// What an answer to so many tokens is expected to take: most are shorter than this.
fn expected(read: u64, most: Option<u32>) -> Usage {
    usage(read, most.map_or(ANSWER, |most| ANSWER.min(most.into())))
}

fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
    let total_tokens = prompt_tokens.saturating_add(completion_tokens);
    Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0, micros: None, written_to_cache: 0 }
}

/// What one answer has cost so far. An answer that is broken off, by the person or the line, was paid for as well, and so was
/// the prompt of one that was given up before its first word: then what is written down is an estimate.
struct Tally {
    ledger: Arc<Ledger>,
    model: String,
    price: Price,
    read: u64,
    /// In bytes.
    written: u64,
    at: At,
    /// What is set aside for it, until it is written down.
    hold: Option<Hold>,
    asked: Instant,
}

/// How far an answer is.
#[derive(PartialEq)]
enum At {
    /// Nobody wanted to hear it yet, so nothing was sent.
    Unsent,
    Sent,
    Said,
    /// It is written down, or cost nothing.
    Closed,
}

impl Tally {
    fn send(&mut self) {
        if self.at == At::Unsent {
            self.at = At::Sent;
        }
    }

    /// Takes note of a failure: where nothing was said, nothing is paid; but what was silent for too long, or broke off, may
    /// have thought, and was sent all there is to read.
    fn fail(&mut self, error: &Error) {
        let ms = self.asked.elapsed().as_millis() as u64;
        tracing::debug!(model = self.model, ms, bytes = self.written, code = error.code(), "model request failed");
        match (&self.at, error) {
            (At::Sent, Error::Timeout(_) | Error::Broken(_)) => {
                self.close(None);
            }
            (At::Sent, _) => {
                self.at = At::Closed;
                self.hold = None;
            }
            _ => {}
        }
    }

    /// Takes note of what is said; the end is told what all of it cost.
    fn hear(&mut self, delta: &mut Delta) {
        match delta {
            Delta::Text(text) | Delta::Refusal(text) | Delta::Thinking(text) => self.more(text.len()),
            Delta::ToolCall(call) => self.more(call.name.len() + call.arguments.len()),
            Delta::Media(_) => self.more(0),
            Delta::Keep(_) | Delta::By { .. } | Delta::Routing(_) | Delta::Filtered(_) => {}
            Delta::Done { usage, cut } => {
                tracing::debug!(
                    model = self.model,
                    ms = self.asked.elapsed().as_millis() as u64,
                    bytes = self.written,
                    prompt_tokens = usage.prompt_tokens,
                    completion_tokens = usage.completion_tokens,
                    cut,
                    "model response"
                );
                let cost = self.close(Some(*usage).filter(|usage| *usage != Usage::default()));
                usage.micros = cost.map(|cost| (cost * 1e6).round() as u64);
            }
        }
    }

    fn more(&mut self, bytes: usize) {
        self.at = At::Said;
        self.written += bytes as u64;
    }

    /// Writes down what was used and answers what it cost, in US dollars.
    fn close(&mut self, told: Option<Usage>) -> Option<f64> {
        self.at = At::Closed;
        let usage = told.unwrap_or_else(|| usage(self.read, self.written.div_ceil(4)));
        let cost = self.price.cost(&usage);
        if told.is_some() {
            self.ledger.record(&self.model, &usage, cost);
        } else {
            self.ledger.record_estimate(&self.model, &usage, cost);
        }
        self.hold = None;
        cost
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if matches!(self.at, At::Sent | At::Said) {
            self.close(None);
        }
    }
}

#[cfg(test)]
mod tests;
