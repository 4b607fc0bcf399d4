//! An active rule: what it waits for, what it does now, and its limits.

use crate::{
    definition::{Definition, Mode, Trigger as Waits},
    matching::{FieldCondition, Op, parse_conditions},
    record::{Config, Kind, Status, Trigger},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use store::Entry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::{Label, Topics, UserId, prelude::*};

/// How many reasons why a rule did not run are remembered.
const SKIPS: usize = 20;
/// How often a rule says in the log what it dropped.
const SAYS_EVERY: Duration = Duration::from_secs(60);
/// How many decisions about a rule may wait for the tools of its conditions.
const DECIDING: usize = 16;

/// Why a rule starts.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    /// In words: "pin 4 turned on".
    pub why: String,
    /// The data for placeholders.
    pub about: Value,
    /// The origin of that data.
    pub label: Label,
    /// Whether its actions are made before it is stored.
    pub prompt: bool,
    /// When it happened.
    pub at: Instant,
    /// The results of the conditions, as JSON.
    pub found: Value,
}

/// A start that did not lead to a run.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    pub first: Timestamp,
    pub last: Timestamp,
    pub why: String,
    pub reason: &'static str,
    pub found: Value,
    pub count: u64,
}

/// The state of one trigger.
#[derive(Default)]
pub(crate) struct Watch {
    /// When a tool is asked next.
    pub next: Option<Instant>,
    pub checking: bool,
    /// The last observation of a check; see [`Trigger::seen`].
    pub seen: Option<Value>,
    /// Whether the number was beyond the limit.
    pub beyond: Option<bool>,
    /// The last state of a thing while it could be reached.
    pub known: Option<super::hear::State>,
    /// Waits until a state has lasted.
    pub hold: Option<CancellationToken>,
    /// The next time by the sun, and the last one that fired.
    pub due: Option<Timestamp>,
    pub fired: Option<Timestamp>,
}

/// Stops a run at its next wait or action; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    token: CancellationToken,
    restarts: Arc<AtomicBool>,
}

impl Stop {
    /// Stops it for the next start of its rule.
    fn restart(&self) {
        self.restarts.store(!self.token.is_cancelled(), Ordering::Release);
        self.token.cancel();
    }

    /// Stops it, because its rule is no longer what it was.
    fn stop(&self) {
        self.token.cancel();
    }

    pub fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    pub async fn asked(&self) {
        self.token.cancelled().await;
    }

    /// How a run ends that is stopped, and in words.
    pub fn outcome(&self) -> (Status, &'static str) {
        match self.restarts.load(Ordering::Acquire) {
            true => (Status::Restarted, "Stopped, because the rule started again."),
            false => (Status::Stopped, "Stopped, because the rule was changed, paused or deleted."),
        }
    }
}

struct State {
    runs: Vec<(u64, Stop)>,
    next_run: u64,
    queue: VecDeque<Cause>,
    /// Sequence number of an event; events up to it may be the rule's own effects and are ignored.
    ignore_until: u64,
    recent: VecDeque<Timestamp>,
    watches: Vec<Watch>,
    skips: VecDeque<Skip>,
    dropped: u64,
    said: Option<Instant>,
    deciding: usize,
    /// Whether its record is being deleted, because its time is over.
    clearing: bool,
    /// Whether it was changed, switched off or deleted since: nothing starts any more.
    retired: bool,
}

impl State {
    /// Begins a run: its number, and what stops it.
    fn begin(&mut self) -> (u64, Stop) {
        let (number, stop) = (self.next_run, Stop::default());
        self.next_run += 1;
        self.runs.push((number, stop.clone()));
        (number, stop)
    }
}

/// An active rule.
pub(crate) struct Live {
    pub id: Id,
    pub owner: UserId,
    pub label: Label,
    /// The record as it was when the rule was activated.
    pub entry: Entry<Trigger>,
    pub definition: Definition,
    /// The parsed event of each trigger that is one.
    events: Vec<Option<(Topics, Vec<FieldCondition>)>>,
    cooldown: SignedDuration,
    per_hour: usize,
    state: Mutex<State>,
}

/// The outcome of a start.
pub(crate) enum Admission {
    /// It runs now, under this number, until cancelled.
    Run(u64, Stop),
    /// It runs after the one that runs.
    Queued,
    Skipped(&'static str),
}

pub(crate) const BUSY: &str = "it was still running";
pub(crate) const RETIRED: &str = "it was changed or switched off meanwhile";

impl Live {
    /// Activates a stored rule; `None` if it is off or cannot be read. `before` is the same rule until now.
    pub fn new(entry: &Entry<Trigger>, before: Option<&Live>) -> Option<Self> {
        let rule = &entry.value;
        let definition = definition_of(rule).filter(|_| rule.enabled)?;
        let events = definition.triggers.iter().map(|one| match one {
            Waits::Event { topic, fields } => Some((Topics::parse(topic).ok()?, parse_conditions(fields).ok()?)),
            _ => None,
        });
        let events = events.collect();
        let watches = definition.triggers.iter().map(|_| Watch { next: Some(Instant::now()), ..Watch::default() });
        let mut watches: Vec<Watch> = watches.collect();
        if rule.kind == Kind::Condition {
            watches.iter_mut().for_each(|watch| watch.seen = serde_json::from_str(&rule.seen).ok());
        }
        // Recent runs still count after a change.
        let kept = |live: &Live| {
            let state = live.state();
            (state.recent.clone(), state.skips.clone())
        };
        let (recent, skips) = before.map(kept).unwrap_or_default();
        let state = State {
            runs: vec![],
            next_run: 0,
            queue: VecDeque::new(),
            ignore_until: 0,
            recent,
            watches,
            skips,
            dropped: 0,
            said: None,
            deciding: 0,
            clearing: false,
            retired: false,
        };
        Some(Self {
            id: entry.id,
            owner: entry.owner,
            label: entry.label,
            entry: entry.clone(),
            definition,
            events,
            cooldown: SignedDuration::from_secs(rule.cooldown_s.into()),
            per_hour: rule.per_hour as usize,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The event a trigger waits for.
    pub fn event(&self, trigger: usize) -> Option<&(Topics, Vec<FieldCondition>)> {
        self.events.get(trigger)?.as_ref()
    }

    /// The pins whose changes it waits for, by number.
    pub fn awaited_pins(&self) -> BTreeSet<i64> {
        let mut pins = BTreeSet::new();
        for (at, trigger) in self.definition.triggers.iter().enumerate() {
            match trigger {
                Waits::Pin { pin, .. } => drop(pins.insert(i64::from(*pin))),
                Waits::Thing { thing, .. } => {
                    pins.extend(thing.strip_prefix("pin:").and_then(|pin| pin.parse::<i64>().ok()));
                }
                _ => {}
            }
            if let Some((topics, conditions)) = self.event(at)
                && topics.hear("pin:changed")
            {
                let pin = conditions.iter().find(|one| one.path == "pin" && one.op == Op::Eq);
                pins.extend(pin.and_then(|pin| pin.value.as_i64()));
            }
        }
        pins
    }

    /// Changes the state of a trigger.
    pub fn watch<T>(&self, trigger: usize, change: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        self.state().watches.get_mut(trigger).map(change)
    }

    /// Whether it cannot start now, whatever the reason of the start.
    pub fn is_busy(&self) -> bool {
        self.definition.mode == Mode::Single && !self.state().runs.is_empty()
    }

    /// Whether an event may be its own doing.
    pub fn did(&self, seq: u64) -> bool {
        seq <= self.state().ignore_until
    }

    /// Whether another decision may begin that waits for tools; it is ended by [`Live::decided`].
    pub fn begin_deciding(&self) -> bool {
        let mut state = self.state();
        let room = state.deciding < DECIDING;
        state.deciding += usize::from(room);
        room
    }

    /// Ends what [`Live::begin_deciding`] began.
    pub fn decided(&self) {
        let mut state = self.state();
        state.deciding = state.deciding.saturating_sub(1);
    }

    /// Whether deleting its record begins with this call.
    pub fn begin_clearing(&self) -> bool {
        !std::mem::replace(&mut self.state().clearing, true)
    }

    /// Deleting its record has failed: it is tried again.
    pub fn end_clearing(&self) {
        self.state().clearing = false;
    }

    /// Admits a start, if its limits and its mode allow one now.
    pub fn admit(&self, now: Timestamp, cause: &Cause) -> Admission {
        let mut state = self.state();
        if state.retired {
            return Admission::Skipped(RETIRED);
        }
        let hour = SignedDuration::from_hours(1);
        while state.recent.front().is_some_and(|first| now.duration_since(*first) >= hour) {
            state.recent.pop_front();
        }
        // A clock that was set back must not block it.
        state.recent.retain(|at| *at <= now);
        if state.recent.back().is_some_and(|last| now.duration_since(*last) < self.cooldown) {
            return Admission::Skipped("it ran a moment ago");
        }
        if state.recent.len() >= self.per_hour {
            return Admission::Skipped("it has run as often as it may in an hour");
        }
        let most = usize::try_from(self.definition.max).unwrap_or(1).max(1);
        match self.definition.mode {
            Mode::Single if !state.runs.is_empty() => return Admission::Skipped(BUSY),
            Mode::Parallel if state.runs.len() >= most => {
                return Admission::Skipped("too many of its runs were going on");
            }
            Mode::Queued if !state.runs.is_empty() => {
                if state.queue.len() >= most {
                    return Admission::Skipped("too many of its runs were waiting");
                }
                state.recent.push_back(now);
                state.queue.push_back(cause.clone());
                return Admission::Queued;
            }
            Mode::Restart => state.runs.iter().for_each(|(_, run)| run.restart()),
            _ => {}
        }
        state.recent.push_back(now);
        let (number, stop) = state.begin();
        Admission::Run(number, stop)
    }

    /// Marks it as running without counting, while an interrupted run is resumed.
    pub fn occupy(&self) -> (u64, Stop) {
        let mut state = self.state();
        let run = state.begin();
        if state.retired {
            run.1.stop();
        }
        run
    }

    /// The start that waits behind a run. If there is none the run ends in the same moment, so that no start is queued behind
    /// a run that looks for none any more; `newest` is as for [`Live::finish`].
    pub fn next_queued(&self, run: u64, newest: u64) -> Option<Cause> {
        let mut state = self.state();
        // The last one of several takes what waits.
        let next = if state.runs.len() > 1 { None } else { state.queue.pop_front() };
        if next.is_none() {
            self.end(&mut state, run, newest);
        }
        next
    }

    /// Ends a run; `newest` is the number of the newest event, which may be its own doing.
    pub fn finish(&self, run: u64, newest: u64) {
        self.end(&mut self.state(), run, newest);
    }

    fn end(&self, state: &mut State, run: u64, newest: u64) {
        let running = state.runs.len();
        state.runs.retain(|(number, _)| *number != run);
        if self.definition.mode == Mode::Single && state.runs.len() < running {
            state.ignore_until = newest;
        }
    }

    /// How many runs go on, and how many wait.
    pub fn running(&self) -> (usize, usize) {
        let state = self.state();
        (state.runs.len(), state.queue.len())
    }

    /// Stops everything it waits for, and runs that have not begun.
    pub fn retire(&self) {
        let mut state = self.state();
        state.retired = true;
        state.queue.clear();
        state.watches.iter().filter_map(|watch| watch.hold.as_ref()).for_each(CancellationToken::cancel);
        // Calls in progress end; what waits does not go on.
        state.runs.iter().for_each(|(_, run)| run.stop());
    }

    /// Remembers a start that did not lead to a run; the same reason again only counts.
    pub fn skip(&self, now: Timestamp, why: impl FnOnce() -> String, reason: &'static str, found: Value) {
        let mut state = self.state();
        state.dropped += 1;
        match state.skips.back_mut() {
            Some(last) if last.reason == reason && last.found == found => {
                (last.last, last.count) = (now, last.count.saturating_add(1));
            }
            _ => {
                if state.skips.len() == SKIPS {
                    state.skips.pop_front();
                }
                let skip = Skip { first: now, last: now, why: why(), reason, found, count: 1 };
                state.skips.push_back(skip);
            }
        }
        if state.said.is_none_or(|said| said.elapsed() >= SAYS_EVERY) {
            tracing::info!(rule = %self.id, name = %self.entry.value.name, reason, starts = state.dropped, "did not run");
            (state.said, state.dropped) = (Some(Instant::now()), 0);
        }
    }

    /// Why it did not run, newest first.
    pub fn skips(&self) -> Vec<Skip> {
        self.state().skips.iter().rev().cloned().collect()
    }
}

/// The definition of a stored rule; a trigger is a rule with one trigger and one action.
pub(crate) fn definition_of(rule: &Trigger) -> Option<Definition> {
    if rule.kind == Kind::Rule {
        return serde_json::from_str(&rule.definition).ok();
    }
    let config: Value = serde_json::from_str(&rule.config).ok()?;
    let trigger = match Config::read(rule.kind, &config).ok()? {
        Config::Schedule { schedule, timezone } => Waits::Schedule { schedule, timezone },
        Config::Event { .. } => Waits::Event {
            topic: config["topic"].as_str().unwrap_or_default().to_owned(),
            fields: config["match"].as_object().cloned().unwrap_or_default(),
        },
        Config::Condition { check, every } => Waits::Check {
            tool: check.tool,
            arguments: check.arguments,
            path: check.path,
            op: check.op,
            value: check.value,
            every_seconds: u32::try_from(every.as_secs()).unwrap_or(60),
        },
    };
    let call = rule.action.armed();
    let action = match &*call.tool {
        crate::action::PROMPT if call.args["prompt"].is_string() => {
            json!({"type": "prompt", "prompt": call.args["prompt"]})
        }
        crate::action::NOTIFY if call.args["text"].is_string() => {
            let mut message = json!({"type": "message", "message": call.args["text"]});
            if call.args["person"].is_string() {
                message["person"] = call.args["person"].clone();
            }
            message
        }
        _ => json!({"type": "tool", "tool": call.tool, "arguments": call.args}),
    };
    Some(Definition { triggers: vec![trigger], actions: vec![action], max: 1, ..Definition::default() })
}
