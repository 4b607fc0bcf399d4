//! Routing: orders models by the request's needs and the person's strategy.

use crate::{
    Catalogue, Error, Facts, Kind, Message, Outage, Price, Provider, Request, outage::Outages, provider_state,
};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tool::prelude::{JsonSchema, schemars};

/// How a model is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Lowest price.
    Cheapest,
    /// Shortest time to the first token.
    Fastest,
    /// Highest quality.
    Smartest,
    /// A balance of quality, price and speed.
    #[default]
    Balanced,
    /// The first; the others in order, if it fails.
    Fallback,
}

/// Minimum number of answers for a measurement.
const MIN_SAMPLES: u32 = 3;
/// Weight of the latest measurement.
const LATEST_WEIGHT: f64 = 0.3;
/// How long an unreachable model is tried last.
const COOLDOWN: Duration = Duration::from_secs(30);
/// Assumed tokens of an answer.
const ANSWER: u64 = 500;
/// Assumed tokens of an image, a minute of audio or a file.
const MEDIA: u64 = 1000;
/// The price of an answer, in US dollars, that halves the price score.
const HALF: f64 = 0.01;

/// One of several models.
#[derive(Clone)]
pub struct Link {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Its price.
    pub price: Price,
    /// Quality, 0 to 100; see [`crate::Model`].
    pub quality: Option<u8>,
    /// Speed, 0 to 100.
    pub speed: Option<u8>,
}

impl Link {
    /// A model with the catalogue's facts.
    pub fn new(provider: Arc<dyn Provider>, catalogue: &Catalogue) -> Self {
        let name = provider.model();
        let known = catalogue.get(&name);
        let (quality, speed) = (known.and_then(|m| m.quality), known.and_then(|m| m.speed));
        Self { provider, price: catalogue.price(&name), quality, speed }
    }

    /// Overrides the price: local servers are free, see [`crate::Preset::free_at`].
    pub fn at(self, price: Price) -> Self {
        Self { price, ..self }
    }
}

/// The capabilities that a request needs of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// Tool calls.
    pub tools: bool,
    /// Images.
    pub images: bool,
    /// Audio.
    pub audio: bool,
    /// Files other than text.
    pub files: bool,
    /// Approximate number of input tokens.
    pub tokens: u64,
}

impl Needs {
    /// The needs of a request for any model, without provider state.
    pub fn of(request: &Request) -> Self {
        let mut needs = Needs { tools: !request.tools.is_empty(), tokens: tokens(request, ""), ..Needs::default() };
        for message in request.messages.iter() {
            let Message::User(said) = message else { continue };
            for media in said.media() {
                match media.kind {
                    Kind::Image => needs.images = true,
                    Kind::Audio => needs.audio = true,
                    // Text files are sent as text.
                    Kind::File => needs.files |= media.media_type == "application/pdf",
                }
            }
        }
        needs
    }

    /// How many needs a model does not meet; unknown abilities count as met.
    fn unmet(&self, facts: Facts) -> usize {
        let narrow = facts.context > 0 && self.tokens > u64::from(facts.context);
        let lacks = [
            self.tools && !facts.tools,
            self.images && !facts.images,
            self.audio && !facts.audio,
            self.files && !facts.files,
            narrow,
        ];
        lacks.into_iter().filter(|lack| *lack).count()
    }
}

/// Approximate input tokens for a model named `provider/model`: four characters each.
pub(crate) fn tokens(request: &Request, model: &str) -> u64 {
    let message = |message: &Message| match message {
        Message::System(text) => text.len() as u64 / 4,
        Message::User(said) => said.text().len() as u64 / 4 + said.media().count() as u64 * MEDIA,
        Message::Assistant(turn) => {
            let calls: usize = turn.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            ((turn.content.len() + calls) / 4 + provider_state::tokens(turn, model)) as u64
        }
        Message::Tool(result) => result.content.len() as u64 / 4,
    };
    let said: u64 = request.messages.iter().map(|m| message(m) + 4).sum();
    let tools = request.tools.sizes().iter().map(|size| size / 4);
    said + tools.sum::<usize>() as u64
}

/// Observed latency and availability of models, in memory. Share one between chains, so that a change of settings
/// preserves it.
#[derive(Default)]
pub struct Health {
    observed: Mutex<HashMap<String, ObservedModel>>,
    outages: Outages,
}

#[derive(Debug, Clone, Copy, Default)]
struct ObservedModel {
    is_cooling_down: Option<Instant>,
    first_delta: f64,
    times: u32,
}

impl Health {
    fn with<T>(&self, model: &str, f: impl FnOnce(&mut ObservedModel) -> T) -> T {
        let mut all = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        f(all.entry(model.to_owned()).or_default())
    }

    /// Sets the receiver of the name of each model whose outage begins, changes or ends.
    pub fn on_change(&self, receive: impl Fn(&str) + Send + Sync + 'static) {
        self.outages.on_change(Box::new(receive));
    }

    /// The outage of a model that does not answer.
    pub fn outage(&self, model: &str) -> Option<Outage> {
        self.outages.get(model)
    }

    /// Records a failed request or check.
    pub fn unavailable(&self, model: &str, error: &Error) {
        self.outages.failed(model, error);
    }

    /// Records that a model is well: it answered, passed a check, or its settings changed.
    pub fn recovered(&self, model: &str) {
        self.outages.ended(model);
    }

    /// Records the time to the first delta.
    pub(crate) fn answered(&self, model: &str, after: Duration) {
        self.with(model, |seen| {
            let after = after.as_secs_f64();
            seen.first_delta =
                if seen.times == 0 { after } else { seen.first_delta + LATEST_WEIGHT * (after - seen.first_delta) };
            seen.times = seen.times.saturating_add(1);
            seen.is_cooling_down = None;
        });
        self.recovered(model);
    }

    /// Records that a model was unreachable or timed out.
    pub(crate) fn failed(&self, model: &str) {
        self.with(model, |seen| seen.is_cooling_down = Some(Instant::now() + COOLDOWN));
    }

    /// Whether a model failed recently.
    pub(crate) fn is_cooling_down(&self, model: &str) -> bool {
        self.with(model, |seen| seen.is_cooling_down.is_some_and(|until| Instant::now() < until))
    }

    /// Measured time to the first delta, once there are enough measurements.
    pub(crate) fn first_delta(&self, model: &str) -> Option<Duration> {
        self.with(model, |seen| (seen.times >= MIN_SAMPLES).then(|| Duration::from_secs_f64(seen.first_delta)))
    }
}

/// The order of attempts, as indices of `links`: models that meet all needs by strategy, then the others by number of
/// unmet needs.
pub(crate) fn order(strategy: Strategy, needs: &Needs, links: &[Link], health: &Health) -> Vec<usize> {
    let ranks: Vec<(usize, Option<f64>)> =
        links.iter().map(|link| (needs.unmet(link.provider.facts()), rank(strategy, needs, link, health))).collect();
    let mut order: Vec<usize> = (0..links.len()).collect();
    // The sort is stable, so ties keep the configured order.
    order.sort_by(|a, b| ranks[*a].0.cmp(&ranks[*b].0).then_with(|| known_first(ranks[*a].1, ranks[*b].1)));
    order
}

fn known_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// The sort key of a model, lowest first; `None` if too little is known.
fn rank(strategy: Strategy, needs: &Needs, link: &Link, health: &Health) -> Option<f64> {
    let cost = || link.price.estimate(needs.tokens, ANSWER);
    let wait = || {
        let measured = health.first_delta(&link.provider.model()).map(|wait| wait.as_secs_f64());
        measured.or_else(|| link.speed.map(assumed_latency))
    };
    match strategy {
        Strategy::Fallback => Some(0.0),
        Strategy::Cheapest => cost(),
        Strategy::Fastest => wait(),
        Strategy::Smartest => link.quality.map(|quality| -f64::from(quality)),
        Strategy::Balanced => {
            let thrift = 100.0 * HALF / (HALF + cost()?);
            let haste = wait().map_or(50.0, |wait| 100.0 / (1.0 + wait));
            Some(-(0.6 * f64::from(link.quality?) + 0.25 * thrift + 0.15 * haste))
        }
    }
}

/// Assumed seconds to the first token for a speed score: 6 for the slowest, a fifth for the fastest.
fn assumed_latency(speed: u8) -> f64 {
    6.0 - 0.058 * f64::from(speed.min(100))
}

#[cfg(test)]
mod tests;
