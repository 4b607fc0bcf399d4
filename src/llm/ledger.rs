//! Model usage and cost by day and model, and the daily budget.
//!
//! Writes may wait up to five seconds to share a commit. Today's spending is also in memory, so the budget applies
//! immediately.

use crate::{Price, Usage};
use jiff::{ToSpan, civil::Date};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Collection, Key, Level, Record, Stamp, Store, Visit, Walk, order};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tool::{
    Clock, Id, Scope,
    prelude::{JsonSchema, schemars},
};

/// Days of history to retain.
const KEPT: i32 = 400;
/// Days in memory: today, and the dates a clock adjustment may return to.
const IN_MEMORY: usize = 4;
/// The assumed price of a model of unknown price, in US dollars per million tokens, so that a budget limits it too:
/// above most small models, below the largest.
const ASSUMED_PRICE: Price = Price::Known { input: 1.0, cached: 1.0, cache_write: 1.0, output: 5.0 };
/// How long a request waits for concurrent answers that may use up the budget.
const RESERVATION_WAIT: Duration = Duration::from_secs(30);
/// Index by day and model.
const BY_DAY: u8 = 0;

/// Usage of one model on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Spent {
    /// As `2026-11-22`, in the household's time zone.
    day: String,
    /// As `provider/model`.
    model: String,
    requests: u64,
    prompt: u64,
    cached: u64,
    completion: u64,
    /// Cost in millionths of a US dollar.
    micros: u64,
    /// Requests of unknown price.
    unpriced: u64,
    /// Requests with estimated token counts.
    estimated: u64,
    /// Assumed cost of requests of unknown price, in millionths of a US dollar.
    guessed: u64,
}

impl Record for Spent {
    const NAME: &'static str = "model-usage";
    const WORD: &'static str = "day's count of a model";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_DAY, [order::text(&self.day), order::text(&self.model)].concat())]
    }
}

impl Spent {
    fn none(day: String, model: &str) -> Self {
        let model = model.to_owned();
        Self {
            day,
            model,
            requests: 0,
            prompt: 0,
            cached: 0,
            completion: 0,
            micros: 0,
            unpriced: 0,
            estimated: 0,
            guessed: 0,
        }
    }

    /// Adds one answer.
    fn add(&mut self, usage: &Usage, cost: Option<f64>, estimated: bool) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, 1);
        add(&mut self.prompt, usage.prompt_tokens);
        add(&mut self.cached, usage.cached_tokens);
        add(&mut self.completion, usage.completion_tokens);
        add(&mut self.micros, cost.map_or(0, micros));
        add(&mut self.unpriced, cost.is_none().into());
        add(&mut self.guessed, if cost.is_none() { ASSUMED_PRICE.cost(usage).map_or(0, micros) } else { 0 });
        add(&mut self.estimated, estimated.into());
    }
}

/// Usage of one day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    /// As `2026-11-22`, in the household's time zone.
    pub date: String,
    /// Number of requests.
    pub requests: u64,
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Cached input tokens.
    pub cached_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// Known cost, in US dollars.
    pub cost: f64,
    /// Requests of unknown price.
    pub unpriced: u64,
    /// Assumed cost of these, in US dollars: counts against the budget, not included in `cost`.
    pub guessed: f64,
    /// Usage by model, most expensive first.
    pub models: Vec<ModelUse>,
}

/// Usage of one model on one day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// As `provider/model`.
    pub model: String,
    /// Number of requests.
    pub requests: u64,
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Cached input tokens.
    pub cached_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// Known cost, in US dollars.
    pub cost: f64,
    /// Requests of unknown price.
    pub unpriced: u64,
    /// Requests with estimated token counts: the provider reported none, or the answer was cut off.
    pub estimated: u64,
}

/// Tracks spending against the budget.
pub struct Ledger {
    records: Collection<Spent>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Notified when a reservation is released.
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// By day and model, with the record's id.
    counts: BTreeMap<(Date, String), (Id, Spent)>,
    /// Days loaded from the store.
    read: BTreeSet<Date>,
    /// The day of the last pruning.
    pruned: Option<Date>,
    /// In millionths of a US dollar.
    budget: Option<u64>,
    /// Reserved for answers in progress, likewise.
    held: u64,
    /// Usage by model since start-up; the day is empty.
    since_start: BTreeMap<String, Spent>,
    /// The last day on which the exhausted budget was reported.
    told: Option<Date>,
    when_spent: Option<WhenSpent>,
}

type WhenSpent = Arc<dyn Fn(f64, f64) + Send + Sync>;

impl Ledger {
    /// Opens the ledger of a store. Open it once: two ledgers would not see each other's counts.
    ///
    /// # Errors
    /// `Damaged` if today's counts cannot be read.
    pub fn open(store: &Store, clock: Arc<dyn Clock>) -> store::Result<Self> {
        let ledger = Self { records: store.collection(), clock, state: Mutex::default(), freed: Notify::new() };
        let today = ledger.today();
        ledger.read_day(&mut ledger.lock(), today)?;
        Ok(ledger)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn today(&self) -> Date {
        self.clock.local().date()
    }

    /// Loads a day into memory and evicts the oldest ones.
    fn read_day(&self, state: &mut State, day: Date) -> store::Result<()> {
        if state.read.contains(&day) {
            return Ok(());
        }
        let found = self.records.walk_in(Scope::Household, &on(day), |_| Visit::Yes)?;
        for entry in found {
            state.counts.entry((day, entry.value.model.clone())).or_insert((entry.id, entry.value));
        }
        state.read.insert(day);
        while state.read.len() > IN_MEMORY
            && let Some(oldest) = state.read.iter().find(|other| **other != day).copied()
        {
            state.read.remove(&oldest);
            state.counts.retain(|(counted, _), _| *counted != oldest);
        }
        Ok(())
    }

    /// Counts an answer; `cost` is in US dollars, `None` if the price is unknown.
    pub(crate) fn record(&self, model: &str, usage: &Usage, cost: Option<f64>) {
        self.count(model, usage, cost, false);
    }

    /// Counts an answer with estimated token counts.
    pub(crate) fn record_estimate(&self, model: &str, usage: &Usage, cost: Option<f64>) {
        self.count(model, usage, cost, true);
    }

    /// Counts a request that was no chat: a picture, speech, a video.
    pub fn record_media(&self, model: &str, usage: &Usage, cost: Option<f64>) {
        self.count(model, usage, cost, false);
    }

    fn count(&self, model: &str, usage: &Usage, cost: Option<f64>, estimated: bool) {
        let today = self.today();
        let mut state = self.lock();
        let first_of_the_day = state.pruned.replace(today) != Some(today);
        if let Err(error) = self.read_day(&mut state, today) {
            // Counted in a separate record.
            tracing::warn!(%error, "what was counted of models today cannot be read");
        }
        let since_start =
            state.since_start.entry(model.to_owned()).or_insert_with(|| Spent::none(String::new(), model));
        since_start.add(usage, cost, estimated);
        let (id, spent) = state
            .counts
            .entry((today, model.to_owned()))
            .or_insert_with(|| (Id::new(), Spent::none(today.to_string(), model)));
        spent.add(usage, cost, estimated);
        // Writes the total, so that repeated or lost writes are harmless. Sent while the lock is held, so that writes
        // stay in order.
        let (id, spent, records) = (*id, spent.clone(), self.records.clone());
        self.records.store().write_later(move |tx| records.put(tx, id, &Stamp::household("models"), &spent).map(drop));
        if first_of_the_day {
            self.prune(today);
        }
        let told = self.spent_now(&mut state, today);
        drop(state);
        if let Some((hear, spent, budget)) = told {
            hear(spent, budget);
        }
    }

    /// The callback and amounts to report an exhausted budget, once a day.
    fn spent_now(&self, state: &mut State, today: Date) -> Option<(WhenSpent, f64, f64)> {
        let (spent, budget) = (spent_on(state, today), state.budget?);
        if spent < budget || state.told == Some(today) {
            return None;
        }
        state.told = Some(today);
        state.when_spent.clone().map(|hear| (hear, dollars(spent), dollars(budget)))
    }

    /// Deletes counts older than 400 days.
    fn prune(&self, today: Date) {
        let Ok(first) = today.checked_sub(KEPT.days()) else { return };
        let (records, first) = (self.records.clone(), first.to_string());
        let old = records.walk_in(Scope::Household, &Walk::prefix(BY_DAY, ""), |entry| {
            if entry.value.day < first { Visit::Yes } else { Visit::Stop }
        });
        let ids: Vec<Id> = match old {
            Ok(old) => old.iter().map(|entry| entry.id).collect(),
            Err(error) => return tracing::warn!(%error, "old counts of models cannot be read"),
        };
        if !ids.is_empty() {
            self.records.store().write_later(move |tx| {
                ids.iter().try_for_each(|id| records.remove(tx, Scope::Household, *id).map(drop))
            });
        }
    }

    /// Usage by model since start-up.
    pub fn since_start(&self) -> Vec<ModelUse> {
        let counts: Vec<Spent> = self.lock().since_start.values().cloned().collect();
        day(String::new(), counts.into_iter()).models
    }

    /// Days with usage among the last `n`, latest first.
    ///
    /// # Errors
    /// `Damaged` if the counts cannot be read.
    pub fn days(&self, n: u16) -> store::Result<Vec<Day>> {
        let today = self.today();
        let first = today.checked_sub((i32::from(n.max(1)) - 1).min(KEPT).days()).unwrap_or(today);
        let state = self.lock();
        let stretch = Walk::between(BY_DAY, order::text(&first.to_string()), order::text(&today.to_string()));
        let stored = self.records.walk_in(Scope::Household, &stretch, |_| Visit::Yes)?;
        let mut by_day: BTreeMap<String, BTreeMap<Id, Spent>> = BTreeMap::new();
        for entry in stored {
            by_day.entry(entry.value.day.clone()).or_default().insert(entry.id, entry.value);
        }
        // Counts in memory are newer.
        for (id, spent) in state.counts.range((first, String::new())..).map(|(_, count)| count) {
            if spent.day <= today.to_string() {
                by_day.entry(spent.day.clone()).or_default().insert(*id, spent.clone());
            }
        }
        drop(state);
        Ok(by_day.into_iter().rev().map(|(date, counts)| day(date, counts.into_values())).collect())
    }

    /// Today's usage so far.
    ///
    /// # Errors
    /// As [`Ledger::days`].
    pub fn this_day(&self) -> store::Result<Day> {
        let date = self.today().to_string();
        Ok(self.days(1)?.into_iter().find(|day| day.date == date).unwrap_or(Day { date, ..Day::default() }))
    }

    /// Today's spending including assumed costs, in millionths of a US dollar.
    fn spent_micros(&self) -> u64 {
        let (today, mut state) = (self.today(), self.lock());
        if let Err(error) = self.read_day(&mut state, today) {
            tracing::warn!(%error, "what was counted of models today cannot be read");
        }
        spent_on(&state, today)
    }

    /// Sets the daily budget in US dollars; `None` is unlimited, an invalid amount counts as zero.
    pub fn set_budget(&self, budget: Option<f64>) {
        let mut state = self.lock();
        state.budget = budget.map(micros);
        state.told = None;
    }

    /// The daily budget in US dollars.
    pub fn budget(&self) -> Option<f64> {
        self.lock().budget.map(dollars)
    }

    /// The rest of today's budget, in US dollars; `None` if unlimited. Includes assumed costs, see [`Day::guessed`].
    pub fn left(&self) -> Option<f64> {
        let budget = self.lock().budget?;
        Some(dollars(budget.saturating_sub(self.spent_micros())))
    }

    /// Sets a callback for the first time each day the budget is exhausted, with the amounts spent and allowed in US
    /// dollars. It must not block.
    pub fn when_spent(&self, hear: impl Fn(f64, f64) + Send + Sync + 'static) {
        self.lock().when_spent = Some(Arc::new(hear));
    }

    /// Reserves the expected cost of a request, so that concurrent requests cannot each spend the rest of the budget.
    /// If answers in progress may use up the rest, waits for them: most cost less than reserved.
    ///
    /// # Errors
    /// A sentence that says why no paid request is allowed now.
    pub(crate) async fn hold(self: &Arc<Self>, price: Price, expected: &Usage) -> Result<Hold, String> {
        let expected = price.cost(expected).or_else(|| ASSUMED_PRICE.cost(expected)).unwrap_or_default();
        self.reserve(expected).await
    }

    /// The same for a cost in US dollars.
    ///
    /// # Errors
    /// A sentence that says why no paid request is allowed now.
    pub async fn reserve(self: &Arc<Self>, dollars: f64) -> Result<Hold, String> {
        let until = Instant::now() + RESERVATION_WAIT;
        loop {
            let mut freed = pin!(self.freed.notified());
            // Registers before checking, so that no release is missed.
            freed.as_mut().enable();
            match self.hold_now(dollars) {
                Err(full) if full.passes && timeout_at(until, freed).await.is_ok() => {}
                Err(full) => return Err(full.sentence),
                Ok(hold) => return Ok(hold),
            }
        }
    }

    fn hold_now(self: &Arc<Self>, dollars_expected: f64) -> Result<Hold, Full> {
        let spent = self.spent_micros();
        let mut state = self.lock();
        let held = state.held;
        if let Some(budget) = state.budget.filter(|budget| spent.saturating_add(held) >= *budget) {
            let passes = spent < budget;
            let [budget, spent, under_way] = [budget, spent, held].map(format_cost);
            let sentence = match passes {
                false => format!(
                    "today's budget of {budget} for models is spent ({spent}): raise it in the Device room under Models, or \
                     wait until tomorrow"
                ),
                true => format!(
                    "the answers under way may use up today's budget of {budget} for models ({spent} spent, about \
                     {under_way} under way): ask again when they are there, or raise it in the Device room under Models"
                ),
            };
            return Err(Full { sentence, passes });
        }
        let micros = micros(dollars_expected);
        state.held = held.saturating_add(micros);
        drop(state);
        Ok(Hold { ledger: self.clone(), micros })
    }
}

/// Why nothing was reserved.
struct Full {
    sentence: String,
    /// Whether answers in progress hold the rest, so that waiting may help.
    passes: bool,
}

/// A reservation for one answer, released on drop.
pub struct Hold {
    ledger: Arc<Ledger>,
    micros: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.ledger.lock();
        state.held = state.held.saturating_sub(self.micros);
        drop(state);
        self.ledger.freed.notify_waiters();
    }
}

/// The records of one day.
fn on(day: Date) -> Walk {
    Walk::prefix(BY_DAY, order::text(&day.to_string()))
}

fn spent_on(state: &State, day: Date) -> u64 {
    let of_day = state.counts.range((day, String::new())..).take_while(|((counted, _), _)| *counted == day);
    of_day.fold(0, |sum, (_, (_, spent))| sum.saturating_add(spent.micros).saturating_add(spent.guessed))
}

/// US dollars to millionths; negative and invalid amounts become zero.
fn micros(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// An amount for people; with more digits below ten cents.
fn format_cost(micros: u64) -> String {
    let digits = if (1..100_000).contains(&micros) { 4 } else { 2 };
    format!("${:.digits$}", dollars(micros))
}

fn day(date: String, counts: impl Iterator<Item = Spent>) -> Day {
    // A model may appear twice: counted in another record while the store could not be read.
    let mut models: BTreeMap<String, (u64, ModelUse)> = BTreeMap::new();
    let mut guessed: u64 = 0;
    for spent in counts {
        guessed = guessed.saturating_add(spent.guessed);
        let (sum, model) = models.entry(spent.model.clone()).or_default();
        *sum = sum.saturating_add(spent.micros);
        model.model = spent.model;
        model.requests += spent.requests;
        model.prompt_tokens += spent.prompt;
        model.cached_tokens += spent.cached;
        model.completion_tokens += spent.completion;
        model.unpriced += spent.unpriced;
        model.estimated += spent.estimated;
        model.cost = dollars(*sum);
    }
    let sum = |of: fn(&ModelUse) -> u64| models.values().map(|(_, model)| of(model)).sum();
    let mut day = Day {
        date,
        requests: sum(|m| m.requests),
        prompt_tokens: sum(|m| m.prompt_tokens),
        cached_tokens: sum(|m| m.cached_tokens),
        completion_tokens: sum(|m| m.completion_tokens),
        cost: dollars(models.values().map(|(micros, _)| micros).sum()),
        unpriced: sum(|m| m.unpriced),
        guessed: dollars(guessed),
        models: vec![],
    };
    day.models = models.into_values().map(|(_, model)| model).collect();
    day.models.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    day
}

#[cfg(test)]
mod tests;
