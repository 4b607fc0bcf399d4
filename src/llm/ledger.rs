//! What was asked of models and what it cost, by day and model, and the budget of a day.
//!
//! What is recorded may wait up to five seconds to share a commit; what was spent today is in memory too, so the budget
//! holds at once.

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

/// How many days are kept.
const KEPT: i32 = 400;
/// How many days are in memory: today, and what a clock that is set anew may come back to.
const IN_MEMORY: usize = 4;
/// What a model of unknown price is taken to cost, so that a budget stops it too: more than most small models cost, and less
/// than the largest. In US dollars for a million tokens.
const GUESS: Price = Price::Known { input: 1.0, cached: 1.0, cache_write: 1.0, output: 5.0 };
/// How long it is waited for answers under way that may use up the budget.
const OTHERS: Duration = Duration::from_secs(30);
/// The index by day and model.
const BY_DAY: u8 = 0;

/// What one model was asked on one day.
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
    /// In millionths of a US dollar.
    micros: u64,
    /// Requests whose price nobody knew.
    unpriced: u64,
    /// Requests whose tokens nobody told.
    estimated: u64,
    /// What the requests of unknown price are taken to have cost, in millionths of a US dollar.
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

    /// Counts one answer.
    fn add(&mut self, usage: &Usage, cost: Option<f64>, estimated: bool) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, 1);
        add(&mut self.prompt, usage.prompt_tokens);
        add(&mut self.cached, usage.cached_tokens);
        add(&mut self.completion, usage.completion_tokens);
        add(&mut self.micros, cost.map_or(0, micros));
        add(&mut self.unpriced, cost.is_none().into());
        add(&mut self.guessed, if cost.is_none() { GUESS.cost(usage).map_or(0, micros) } else { 0 });
        add(&mut self.estimated, estimated.into());
    }
}

/// What was asked of models on one day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    /// As `2026-11-22`, in the household's time zone.
    pub date: String,
    /// How often a model was asked.
    pub requests: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Of those, from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// In US dollars, as far as prices are known.
    pub cost: f64,
    /// Requests whose price is not known.
    pub unpriced: u64,
    /// What these are taken to have cost, in US dollars: it counts against the budget, and is not in `cost`.
    pub guessed: f64,
    /// The same by model, the dearest first.
    pub models: Vec<ModelUse>,
}

/// What one model was asked on one day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// As `provider/model`.
    pub model: String,
    /// How often it was asked.
    pub requests: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Of those, from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// In US dollars, as far as its price is known.
    pub cost: f64,
    /// Requests whose price is not known.
    pub unpriced: u64,
    /// Requests whose tokens are an estimate: the provider told none, or the answer was broken off.
    pub estimated: u64,
}

/// What was spent, and what may be.
pub struct Ledger {
    records: Collection<Spent>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Told when what was set aside is free again.
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// By day and model, with the id it is stored under.
    counts: BTreeMap<(Date, String), (Id, Spent)>,
    /// The days that were read from the store.
    read: BTreeSet<Date>,
    /// The day on which old counts were last forgotten.
    pruned: Option<Date>,
    /// In millionths of a US dollar.
    budget: Option<u64>,
    /// What the answers under way are expected to cost, likewise.
    held: u64,
    /// What each model was asked since the start; its day is empty.
    since_start: BTreeMap<String, Spent>,
    /// The day for which it was told that the budget is spent.
    told: Option<Date>,
    when_spent: Option<WhenSpent>,
}

type WhenSpent = Arc<dyn Fn(f64, f64) + Send + Sync>;

impl Ledger {
    /// The ledger in a store. One for a house: two would not know of each other's counts.
    ///
    /// # Errors
    /// `Damaged` when what was counted today cannot be read.
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

    /// Brings a day into memory; those longest ago leave it.
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

    /// Counts an answer of a model; `cost` is in US dollars, `None` where nobody knows the price.
    pub(crate) fn record(&self, model: &str, usage: &Usage, cost: Option<f64>) {
        self.count(model, usage, cost, false);
    }

    /// The same where the tokens are an estimate.
    pub(crate) fn record_estimate(&self, model: &str, usage: &Usage, cost: Option<f64>) {
        self.count(model, usage, cost, true);
    }

    fn count(&self, model: &str, usage: &Usage, cost: Option<f64>, estimated: bool) {
        let today = self.today();
        let mut state = self.lock();
        let first_of_the_day = state.pruned.replace(today) != Some(today);
        if let Err(error) = self.read_day(&mut state, today) {
            // Counted all the same, beside what cannot be read.
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
        // The whole count, so that writing it twice, or after one that was lost, is right as well. It is sent while the state is
        // held: a later count never overtakes.
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

    /// Whom to tell, once a day, that the budget is spent.
    fn spent_now(&self, state: &mut State, today: Date) -> Option<(WhenSpent, f64, f64)> {
        let (spent, budget) = (spent_on(state, today), state.budget?);
        if spent < budget || state.told == Some(today) {
            return None;
        }
        state.told = Some(today);
        state.when_spent.clone().map(|hear| (hear, dollars(spent), dollars(budget)))
    }

    /// Forgets what is older than 400 days.
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

    /// What each model was asked since the start.
    pub fn since_start(&self) -> Vec<ModelUse> {
        let counts: Vec<Spent> = self.lock().since_start.values().cloned().collect();
        day(String::new(), counts.into_iter()).models
    }

    /// The days of the last `n` on which a model was asked, the latest first.
    ///
    /// # Errors
    /// `Damaged` when what was counted cannot be read.
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
        // What is in memory is newer.
        for (id, spent) in state.counts.range((first, String::new())..).map(|(_, count)| count) {
            if spent.day <= today.to_string() {
                by_day.entry(spent.day.clone()).or_default().insert(*id, spent.clone());
            }
        }
        drop(state);
        Ok(by_day.into_iter().rev().map(|(date, counts)| day(date, counts.into_values())).collect())
    }

    /// Today so far; nothing counted where no model was asked yet.
    ///
    /// # Errors
    /// As [`Ledger::days`].
    pub fn this_day(&self) -> store::Result<Day> {
        let date = self.today().to_string();
        Ok(self.days(1)?.into_iter().find(|day| day.date == date).unwrap_or(Day { date, ..Day::default() }))
    }

    /// What was spent today, in millionths of a US dollar, with a guess for what nobody knows the price of.
    fn spent_micros(&self) -> u64 {
        let (today, mut state) = (self.today(), self.lock());
        if let Err(error) = self.read_day(&mut state, today) {
            tracing::warn!(%error, "what was counted of models today cannot be read");
        }
        spent_on(&state, today)
    }

    /// How much may be spent in a day, in US dollars; `None` is any amount. What is no amount counts as nothing.
    pub fn set_budget(&self, budget: Option<f64>) {
        let mut state = self.lock();
        state.budget = budget.map(micros);
        state.told = None;
    }

    /// How much may be spent in a day, in US dollars.
    pub fn budget(&self) -> Option<f64> {
        self.lock().budget.map(dollars)
    }

    /// How much of today's budget is left, in US dollars; `None` where there is none. What is of unknown price counts with a
    /// guess, see [`Day::guessed`].
    pub fn left(&self) -> Option<f64> {
        let budget = self.lock().budget?;
        Some(dollars(budget.saturating_sub(self.spent_micros())))
    }

    /// Hears, once a day, that the budget is spent: what was spent and what was allowed, in US dollars. Called by whoever
    /// recorded the last of it, so it must not wait.
    pub fn when_spent(&self, hear: impl Fn(f64, f64) + Send + Sync + 'static) {
        self.lock().when_spent = Some(Arc::new(hear));
    }

    /// Sets aside what a question is expected to cost, so that many at once do not each spend what is left of the day. Where
    /// answers under way may take all of it, they are waited for: most cost less than was thought.
    ///
    /// # Errors
    /// Why nothing more may be asked now that costs money, in a sentence.
    pub(crate) async fn hold(self: &Arc<Self>, price: Price, expected: &Usage) -> Result<Hold, String> {
        let until = Instant::now() + OTHERS;
        loop {
            let mut freed = pin!(self.freed.notified());
            // From here on nothing is freed unheard.
            freed.as_mut().enable();
            match self.hold_now(price, expected) {
                Err(full) if full.passes && timeout_at(until, freed).await.is_ok() => {}
                Err(full) => return Err(full.sentence),
                Ok(hold) => return Ok(hold),
            }
        }
    }

    fn hold_now(self: &Arc<Self>, price: Price, expected: &Usage) -> Result<Hold, Full> {
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
        let micros = price.cost(expected).or_else(|| GUESS.cost(expected)).map_or(0, micros);
        state.held = held.saturating_add(micros);
        drop(state);
        Ok(Hold { ledger: self.clone(), micros })
    }
}

/// Why nothing was set aside.
struct Full {
    sentence: String,
    /// Whether it may pass, for it is answers under way that take the rest.
    passes: bool,
}

/// What was set aside for one answer, until this is dropped.
pub(crate) struct Hold {
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

/// The counts of one day.
fn on(day: Date) -> Walk {
    Walk::prefix(BY_DAY, order::text(&day.to_string()))
}

fn spent_on(state: &State, day: Date) -> u64 {
    let of_day = state.counts.range((day, String::new())..).take_while(|((counted, _), _)| *counted == day);
    of_day.fold(0, |sum, (_, (_, spent))| sum.saturating_add(spent.micros).saturating_add(spent.guessed))
}

/// US dollars in millionths. Less than nothing, and what is no number, is nothing.
fn micros(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// An amount for people; of less than ten cents its parts too.
fn format_cost(micros: u64) -> String {
    let digits = if (1..100_000).contains(&micros) { 4 } else { 2 };
    format!("${:.digits$}", dollars(micros))
}

fn day(date: String, counts: impl Iterator<Item = Spent>) -> Day {
    // A model may be there twice: counted under another id while the store could not be read.
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
