//! Records the usage of every request in the ledger, and rejects requests beyond the daily budget.

use crate::{Delta, Error, Ledger, Price, Provider, Request, Usage, ledger::Hold, payload, router};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{sync::Arc, task::ready, time::Instant};

/// Expected length of an answer, in tokens.
const ANSWER: u64 = 1_000;

/// A provider with accounting: rejects paid requests when the daily budget is exhausted, and records the cost of
/// every answer. Free usage is recorded too, and never rejected.
pub struct Metered {
    inner: Arc<dyn Provider>,
    ledger: Arc<Ledger>,
    price: Price,
}

impl Metered {
    /// Wraps `inner` with the price of its tokens.
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
            let mut tally = UsageMeter {
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

/// The expected usage of a request with so many input tokens: most answers are shorter.
fn expected(read: u64, most: Option<u32>) -> Usage {
    usage(read, most.map_or(ANSWER, |most| ANSWER.min(most.into())))
}

fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
    let total_tokens = prompt_tokens.saturating_add(completion_tokens);
    Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0, micros: None, written_to_cache: 0 }
}

/// Usage of one answer so far. An answer aborted by the person or the network costs money too, and so does the prompt
/// of one abandoned before its first delta: these are recorded as estimates.
struct UsageMeter {
    ledger: Arc<Ledger>,
    model: String,
    price: Price,
    read: u64,
    /// In bytes.
    written: u64,
    at: At,
    /// The reservation, until the usage is recorded.
    hold: Option<Hold>,
    asked: Instant,
}

/// The progress of an answer.
#[derive(PartialEq)]
enum At {
    /// Not polled yet, so nothing was sent.
    Unsent,
    Sent,
    Said,
    /// Recorded, or free.
    Closed,
}

impl UsageMeter {
    fn send(&mut self) {
        if self.at == At::Unsent {
            self.at = At::Sent;
        }
    }

    /// Handles a failure. Without any delta nothing is charged, except after a timeout or a broken connection: the
    /// server may have reasoned, and received the whole input.
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

    /// Counts a delta; adds the cost to the final one.
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

    /// Records the usage and returns its cost in US dollars.
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

impl Drop for UsageMeter {
    fn drop(&mut self) {
        if matches!(self.at, At::Sent | At::Said) {
            self.close(None);
        }
    }
}

#[cfg(test)]
mod tests;
