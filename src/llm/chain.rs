//! A chain of models: when the first does not answer, the next does, with reflex last.
//!
//! The chain falls back on failures unrelated to the request: no connection, a timeout, rate limits, a server error,
//! an exhausted budget. A rejection by the first model (of the key, the model name, the request) is reported: the
//! person chose it and has to know. Rejections by fallback models are not. After the first delta there is no
//! fallback: no model continues another's half answer.

use crate::{
    Confidence, Delta, Error, Health, Link, Message, Provider, Request, Routing, Strategy, ToolChoice,
    router::{self, Needs},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// [`crate::Kept::provider`] of reflex turns.
const REFLEX: &str = "reflex";

/// The configured models, the chosen one first, and reflex.
#[derive(Clone)]
pub struct Chain {
    links: Arc<[Link]>,
    reflex: Arc<dyn Provider>,
    prefer_reflex: bool,
    strategy: Strategy,
    health: Arc<Health>,
}

impl Chain {
    /// A chain that asks the links in order, and reflex last; with `prefer_reflex` reflex comes first where it is
    /// sure. Without links it is reflex alone.
    pub fn new(links: Vec<Link>, reflex: Arc<dyn Provider>, prefer_reflex: bool) -> Self {
        Self { links: links.into(), reflex, prefer_reflex, strategy: Strategy::Fallback, health: Arc::default() }
    }

    /// Sets the routing strategy.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// Shares another chain's health records.
    pub fn health(self, health: Arc<Health>) -> Self {
        Self { health, ..self }
    }

    /// The chosen model.
    fn first(&self) -> &dyn Provider {
        self.links.first().map_or(&*self.reflex, |link| &*link.provider)
    }

    /// The links in order of attempt; recently failed ones come last.
    fn order(&self, request: &Request) -> Vec<usize> {
        let order = router::order(self.strategy, &Needs::of(request), &self.links, &self.health);
        let (is_cooling_down, ready): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|at| self.health.is_cooling_down(&self.links[*at].provider.model()));
        ready.into_iter().chain(is_cooling_down).collect()
    }

    async fn answer(self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let mut routing = Routing::default();
        if self.links.is_empty() {
            routing.answered(REFLEX, "no other model is chosen", Duration::ZERO);
            return self.by(&self.reflex, self.reflex.stream(request), routing);
        }
        routing.strategy = (self.links.len() > 1).then_some(self.strategy);
        let goes_on = self.reflex_goes_on(&request);
        if goes_on || self.reflex_is_sure(&request).await {
            let asked = Instant::now();
            match begin(&self.reflex, request.clone()).await {
                Ok(answer) => {
                    let reason = if goes_on { "it began this answer" } else { "it is sure what was meant" };
                    routing.answered(REFLEX, reason, asked.elapsed());
                    return self.by(&self.reflex, answer, routing);
                }
                Err(error) => {
                    routing.failed(REFLEX, &error, asked.elapsed());
                    tracing::warn!(%error, "reflex did not answer; a model is asked");
                }
            }
        }
        // The chosen model's error; those of fallback models are not reported.
        let mut failed: Option<Error> = None;
        for at in self.order(&request) {
            let provider = &self.links[at].provider;
            let (model, asked) = (provider.model(), Instant::now());
            let error = match begin(provider, request.clone()).await {
                Ok(answer) => {
                    self.health.answered(&model, asked.elapsed());
                    let reason = self.reason(&routing);
                    routing.answered(&model, &reason, asked.elapsed());
                    return self.by(provider, answer, routing);
                }
                Err(error) => error,
            };
            if matches!(error, Error::Network(_) | Error::Unconnected(_) | Error::Timeout(_)) {
                self.health.failed(&model);
            }
            self.health.unavailable(&model, &error);
            tracing::warn!(%error, model, "a model did not answer");
            routing.failed(&model, &error, asked.elapsed());
            if at == 0 {
                let final_word = error.is_final();
                failed = Some(error);
                if final_word {
                    break;
                }
            }
        }
        match failed {
            Some(error) if !self.reflex_stands_in(&request, &error).await => {
                stream::iter([Ok(Delta::Routing(Box::new(routing))), Err(error)]).boxed()
            }
            _ => {
                routing.answered(REFLEX, "no model answered", Duration::ZERO);
                self.by(&self.reflex, self.reflex.stream(request), routing)
            }
        }
    }

    /// Why the next model is tried.
    fn reason(&self, routing: &Routing) -> String {
        let chosen = match (self.links.len(), self.strategy) {
            (1, _) => "it is the only one",
            (_, Strategy::Fallback) => "it is the first in order",
            (_, Strategy::Cheapest) => "it is the cheapest that can do this",
            (_, Strategy::Fastest) => "it is the fastest that can do this",
            (_, Strategy::Smartest) => "it is the smartest that can do this",
            (_, Strategy::Balanced) => "it balances quality, price and speed best",
        };
        match routing.attempts.len() {
            0 => chosen.to_owned(),
            1 => "the one before it did not answer".to_owned(),
            n => format!("the {n} before it did not answer"),
        }
    }

    /// Whether reflex made the last calls: it also phrases their results.
    fn reflex_goes_on(&self, request: &Request) -> bool {
        let since = request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
        let mut turns = since.filter_map(|message| match message {
            Message::Assistant(turn) => Some(turn),
            _ => None,
        });
        turns.next().is_some_and(|turn| turn.kept.as_ref().is_some_and(|kept| kept.provider == REFLEX))
    }

    async fn reflex_is_sure(&self, request: &Request) -> bool {
        let fresh = matches!(request.messages.last(), Some(Message::User(said)) if said.media().next().is_none());
        // A request without tools is not a command but, for example, a summary.
        let free = request.tool_choice == ToolChoice::Auto && !request.tools.is_empty() && !request.format.is_json();
        self.prefer_reflex && fresh && free && self.reflex.would_answer(request, Confidence::Sure).await
    }

    /// Whether reflex can answer better than with the models' error. Not if the chosen model rejected the request,
    /// nor if no tools were offered (a summary by reflex would be none), nor in the middle of a model's work: reflex
    /// would present the calls so far as the whole answer.
    async fn reflex_stands_in(&self, request: &Request, error: &Error) -> bool {
        !error.is_final()
            && !request.format.is_json()
            && !request.tools.is_empty()
            && !request.tool_choice.demands_call()
            && matches!(request.messages.last(), Some(Message::User(_)))
            && self.reflex.would_answer(request, Confidence::Understood).await
    }

    /// Tags the stream with the answering model unless it is the chosen one.
    fn by(
        &self,
        provider: &Arc<dyn Provider>,
        answer: BoxStream<'static, Result<Delta, Error>>,
        routing: Routing,
    ) -> BoxStream<'static, Result<Delta, Error>> {
        let answer = stream::once(async { Ok(Delta::Routing(Box::new(routing))) }).chain(answer).boxed();
        let model = provider.model();
        if model == self.first().model() {
            return answer;
        }
        let by = Delta::By { model, by_word: provider.acts_by_word() };
        stream::once(async { Ok(by) }).chain(answer).boxed()
    }
}

/// Starts a request and waits for the first delta or an error.
async fn begin(
    provider: &Arc<dyn Provider>,
    request: Request,
) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    let mut answer = provider.stream(request);
    let mut begun = vec![];
    loop {
        match answer.next().await {
            Some(Ok(delta)) => {
                let silent = match &delta {
                    Delta::Text(text) | Delta::Refusal(text) | Delta::Thinking(text) => text.is_empty(),
                    Delta::Keep(_) | Delta::By { .. } | Delta::Routing(_) => true,
                    _ => false,
                };
                begun.push(Ok(delta));
                if !silent {
                    return Ok(stream::iter(begun).chain(answer).boxed());
                }
            }
            Some(Err(error)) => return Err(error),
            None => {
                let model = provider.model();
                return Err(Error::Broken(format!("the model `{model}` ended without a word: ask again")));
            }
        }
    }
}

impl Provider for Chain {
    about!(self => self.first());
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        stream::once(self.clone().answer(request)).flatten().boxed()
    }
}

#[cfg(test)]
mod tests;
