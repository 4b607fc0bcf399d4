//! In what order models are asked: by what the request needs, and by what a person cares for.

use crate::{Catalogue, Facts, Kind, Message, Price, Provider, Request, provider_state};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tool::prelude::{JsonSchema, schemars};

/// How one of several models is chosen for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// The one that costs least.
    Cheapest,
    /// The one that begins to answer soonest.
    Fastest,
    /// The one with the best answers.
    Smartest,
    /// Good answers for little money, and soon.
    #[default]
    Balanced,
    /// The first; the others, in their order, where it fails.
    Fallback,
}

/// How many answers make a measurement.
const ENOUGH: u32 = 3;
/// How much the newest measurement counts.
const NEWEST: f64 = 0.3;
/// How long a model that could not be reached is left alone.
const REST: Duration = Duration::from_secs(30);
/// How many tokens an answer is taken to have.
const ANSWER: u64 = 500;
/// How many tokens a picture, a minute of sound or a file is taken to have.
const MEDIA: u64 = 1000;
/// At what price of one answer, in US dollars, thrift counts half.
const HALF: f64 = 0.01;

/// One of several models.
#[derive(Clone)]
pub struct Link {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// What it costs.
    pub price: Price,
    /// How good its answers are, 0 to 100; see [`crate::Model`].
    pub quality: Option<u8>,
    /// How soon and fast it answers, 0 to 100.
    pub speed: Option<u8>,
}

impl Link {
    /// A model with what the catalogue knows of it.
    pub fn new(provider: Arc<dyn Provider>, catalogue: &Catalogue) -> Self {
        let name = provider.model();
        let known = catalogue.get(&name);
        let (quality, speed) = (known.and_then(|m| m.quality), known.and_then(|m| m.speed));
        Self { provider, price: catalogue.price(&name), quality, speed }
    }

    /// The same at another price: what stands in the house costs nothing, see [`crate::Preset::free_at`].
    pub fn at(self, price: Price) -> Self {
        Self { price, ..self }
    }
}

/// What a request asks of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// It is to call tools.
    pub tools: bool,
    /// It is shown pictures.
    pub images: bool,
    /// It is played sound.
    pub audio: bool,
    /// It is given files that are no text.
    pub files: bool,
    /// How many tokens it has to read, roughly.
    pub tokens: u64,
}

impl Needs {
    /// The needs of a request, whoever is asked: what was kept for one model is not counted.
    pub fn of(request: &Request) -> Self {
        let mut needs = Needs { tools: !request.tools.is_empty(), tokens: tokens(request, ""), ..Needs::default() };
        for message in &request.messages {
            let Message::User(said) = message else { continue };
            for media in said.media() {
                match media.kind {
                    Kind::Image => needs.images = true,
                    Kind::Audio => needs.audio = true,
                    // Text goes in as words.
                    Kind::File => needs.files |= media.media_type == "application/pdf",
                }
            }
        }
        needs
    }

    /// How many of them a model does not meet. What is not known of it is taken for met.
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

/// How many tokens a request has for a model, named as `provider/model`, roughly: four characters each.
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
    let tools = request.tools.iter().map(|t| (t.name.len() + t.description.len() + t.parameters.to_string().len()) / 4);
    said + tools.sum::<usize>() as u64
}

/// What was seen of models while they were asked: how soon they answer, and which could not be reached. Kept in memory alone;
/// share one between the chains of a house, so that a change of settings forgets nothing.
#[derive(Default)]
pub struct Health(Mutex<HashMap<String, ObservedModel>>);

#[derive(Debug, Clone, Copy, Default)]
struct ObservedModel {
    resting: Option<Instant>,
    first_word: f64,
    times: u32,
}

impl Health {
    fn with<T>(&self, model: &str, f: impl FnOnce(&mut ObservedModel) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f(all.entry(model.to_owned()).or_default())
    }

    /// A model began to answer after that long.
    pub(crate) fn answered(&self, model: &str, after: Duration) {
        self.with(model, |seen| {
            let after = after.as_secs_f64();
            seen.first_word =
                if seen.times == 0 { after } else { seen.first_word + NEWEST * (after - seen.first_word) };
            seen.times = seen.times.saturating_add(1);
            seen.resting = None;
        });
    }

    /// A model could not be reached, or said nothing in time.
    pub(crate) fn failed(&self, model: &str) {
        self.with(model, |seen| seen.resting = Some(Instant::now() + REST));
    }

    /// Whether a model failed a moment ago.
    pub(crate) fn resting(&self, model: &str) -> bool {
        self.with(model, |seen| seen.resting.is_some_and(|until| Instant::now() < until))
    }

    /// How soon a model answers, once that was seen often enough.
    pub(crate) fn first_word(&self, model: &str) -> Option<Duration> {
        self.with(model, |seen| (seen.times >= ENOUGH).then(|| Duration::from_secs_f64(seen.first_word)))
    }
}

/// The order in which models are asked, as places in `links`: those that have what is needed by the strategy, then those that
/// lack something, the least first.
pub(crate) fn order(strategy: Strategy, needs: &Needs, links: &[Link], health: &Health) -> Vec<usize> {
    let ranks: Vec<(usize, Option<f64>)> =
        links.iter().map(|link| (needs.unmet(link.provider.facts()), rank(strategy, needs, link, health))).collect();
    let mut order: Vec<usize> = (0..links.len()).collect();
    // A stable sort: what is equal stays as the person put it.
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

/// Where a model stands, the least first; `None` where too little is known of it.
fn rank(strategy: Strategy, needs: &Needs, link: &Link, health: &Health) -> Option<f64> {
    let cost = || link.price.estimate(needs.tokens, ANSWER);
    let wait = || {
        let measured = health.first_word(&link.provider.model()).map(|wait| wait.as_secs_f64());
        measured.or_else(|| link.speed.map(usual_wait))
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

/// How many seconds a model of that speed is taken to think before its first word: 6 of the slowest, a fifth of the fastest.
fn usual_wait(speed: u8) -> f64 {
    6.0 - 0.058 * f64::from(speed.min(100))
}

#[cfg(test)]
mod tests;
