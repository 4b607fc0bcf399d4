//! Layer 2: pending questions. A call that needs a person's answer stores its question, waits, and is suspended or refused when
//! nobody answers in time. Approvals and interactions are kinds of question; so are whatever plans, channels and agents ask.
//!
//! A kind implements [`Question`] for its stored record. [`Questions::kind`] opens it; then [`QuestionKind::ask`] stores and
//! announces a question, [`PendingQuestion::answer`] waits for the answer, and [`QuestionKind::settle`] stores one. Waiters, limits,
//! suspension, expiry and events are the same for every kind.

mod ask;
mod kind;
mod listeners;
mod open;
mod stored_kind;
#[cfg(test)]
mod tests;

pub use ask::PendingQuestion;
pub use kind::{Question, QuestionKind};
pub use listeners::{Listeners, Listening};

use open::Open;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use store::Store;
use stored_kind::StoredKind;
use tokio_util::sync::CancellationToken;
use tool::{Bus, Cx, Id, Result, UserId};

/// How long an answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// By the call itself.
    pub in_call_seconds: u64,
    /// By a suspended run.
    pub parked_hours: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { in_call_seconds: 120, parked_hours: 24 }
    }
}

impl Timeouts {
    /// How long a call waits.
    pub fn in_call(&self) -> Duration {
        Duration::from_secs(self.in_call_seconds)
    }
    /// How long a suspended run waits, in milliseconds.
    pub fn parked_ms(&self) -> u64 {
        self.parked_hours.saturating_mul(3_600_000)
    }
}

/// The state of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can be answered.
    Pending,
    /// It was answered, refused or dismissed.
    Settled,
    /// Nobody answered in time, or its call ended.
    Expired,
}

/// The fields that all kinds share, as a stored question carries them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The run that asks.
    pub run: Option<Id>,
    /// Its conversation.
    pub conversation: Option<Id>,
    /// The model's id of the call that asks; empty without one.
    pub model_call: String,
    /// Whether the run is suspended when nobody answers in the call; otherwise the question ends with the call.
    pub suspends: bool,
    /// When it can no longer be answered: milliseconds since 1970.
    pub expires_ms: u64,
    /// Its state.
    pub state: State,
}

impl Header {
    /// The header of a new question of this call, created at the time of its id. `suspends` holds only if a
    /// conversation stores the model's call, so that the run can make it again.
    pub fn new(cx: &Cx, suspends: bool, timeouts: Timeouts, id: Id) -> Self {
        let model_call = cx.bounds().model_call.as_deref().unwrap_or_default().to_owned();
        let suspends = suspends && cx.run().is_some() && cx.conversation().is_some() && !model_call.is_empty();
        let lasts = if suspends { timeouts.parked_ms() } else { timeouts.in_call().as_millis() as u64 };
        Self {
            run: cx.run(),
            conversation: cx.conversation(),
            model_call,
            suspends,
            expires_ms: id.millis().saturating_add(lasts),
            state: State::Pending,
        }
    }
}

/// A suspended run whose question has ended, so that it can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuspendedRun {
    /// The person whose run it is.
    pub user: UserId,
    /// The run.
    pub run: Id,
}

/// A question that can still be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its id.
    pub id: Id,
    /// Its subject, in a few words; may be empty. See [`Question::label`].
    pub label: String,
    /// The model's id of the call that asks.
    pub model_call: String,
}

/// The open questions of the household, of every kind. Cheap to clone.
#[derive(Clone)]
pub struct Questions(Arc<Inner>);

struct Inner {
    store: Store,
    timeouts: Timeouts,
    kinds: Mutex<Vec<Arc<dyn StoredKind>>>,
    open: Mutex<HashMap<Id, Open>>,
    /// Held while an answer is written: a call that gives up at that moment gets the answer.
    settling: tokio::sync::Mutex<()>,
    /// Cancelled when Hob shuts down: waiting runs are suspended at once, and their questions survive the restart.
    closing: CancellationToken,
    /// Known from the first question on.
    bus: OnceLock<Bus>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    Id::now_ms()
}

impl Questions {
    /// The service over `store`, without any kind yet.
    pub fn new(store: &Store, timeouts: Timeouts) -> Self {
        Self(Arc::new(Inner {
            store: store.clone(),
            timeouts,
            kinds: Mutex::default(),
            open: Mutex::default(),
            settling: tokio::sync::Mutex::default(),
            closing: CancellationToken::new(),
            bus: OnceLock::new(),
        }))
    }

    /// How long answers are awaited.
    pub fn timeouts(&self) -> Timeouts {
        self.0.timeouts
    }

    /// Suspends every waiting run that can be suspended; before runs are stopped at shutdown.
    pub fn suspend_all(&self) {
        self.0.closing.cancel();
    }

    /// The open questions of a person's run, the oldest first.
    pub fn of_run(&self, user: UserId, run: Id) -> Vec<OpenQuestion> {
        let open = lock(&self.0.open);
        let own = open.iter().filter(|(_, o)| o.user == user && o.header.run == Some(run) && !o.is_late());
        let mut all: Vec<OpenQuestion> = own
            .map(|(id, o)| OpenQuestion { id: *id, label: o.label.clone(), model_call: o.header.model_call.clone() })
            .collect();
        all.sort_by_key(|o| o.id);
        all
    }

    /// The runs with an open question on which no call waits; some twice.
    pub fn suspended_runs(&self) -> Vec<SuspendedRun> {
        let run = |open: &Open| Some(SuspendedRun { user: open.user, run: open.header.run? });
        lock(&self.0.open).values().filter(|open| open.waiters == 0).filter_map(run).collect()
    }

    /// Expires the questions on which a person's run is suspended; `false` when there are none.
    pub fn end_run(&self, user: UserId, run: Id) -> bool {
        !self.expire_all(|o| o.user == user && o.header.run == Some(run) && o.waiters == 0).is_empty()
    }

    /// Deletes the questions of a conversation, open or not, because the conversation is deleted.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when the disk is full.
    pub async fn forget_conversation(&self, user: UserId, conversation: Id) -> Result<()> {
        let kinds = lock(&self.0.kinds).clone();
        let mut removals = kinds.iter().map(|k| k.removal(user, conversation)).collect::<Result<Vec<_>>>()?;
        let is_its = |o: &Open| o.user == user && o.header.conversation == Some(conversation);
        let open: Vec<_> =
            lock(&self.0.open).iter().filter(|(_, o)| is_its(o)).map(|(id, o)| (*id, o.kind.clone())).collect();
        let events: Vec<_> = open.iter().filter_map(|(id, kind)| kind.expiry_event(user, *id)).collect();
        self.0.store.write(move |tx| removals.iter_mut().try_for_each(|remove| remove(tx))).await?;
        lock(&self.0.open).retain(|_, o| !is_its(o));
        events.into_iter().for_each(|(topic, data)| self.publish(topic, user, data));
        Ok(())
    }

    /// Expires the questions that nobody answered in time, and deletes the oldest settled ones; to be called now and then.
    /// Returns the runs that were suspended on an expired question.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn sweep(&self) -> Result<Vec<SuspendedRun>> {
        let late = self.expire_all(Open::is_late);
        let kinds = lock(&self.0.kinds).clone();
        kinds.iter().try_for_each(|k| k.prune())?;
        Ok(late.iter().filter_map(Open::suspended_run).collect())
    }

    fn expire_all(&self, which: impl Fn(&Open) -> bool) -> Vec<Open> {
        let gone: Vec<(Id, Open)> = lock(&self.0.open).extract_if(|_, o| which(o)).collect();
        gone.into_iter().map(|(id, open)| self.expire(id, open)).collect()
    }

    /// Ends a question that was taken out of the table without an answer.
    fn expire(&self, id: Id, open: Open) -> Open {
        if let Some((topic, data)) = open.kind.expiry_event(open.user, id) {
            self.publish(topic, open.user, data);
        }
        open.kind.expire_later(open.user, id);
        open
    }

    fn publish(&self, topic: &str, user: UserId, data: serde_json::Value) {
        if let Some(bus) = self.0.bus.get() {
            bus.publish(topic, Some(user), data);
        }
    }
}
