//! Layer 2: the scheduler. A [`Scheduler`] stores schedules and runs their calls when due, exactly once, across
//! restarts and clock changes.
//!
//! A due time is *claimed* in the store before its call runs, so a crash never loses it. The run's id is the call's
//! idempotency key ([`store::with_effect`]), so a crash never repeats it. At the next start a call without effects is
//! made again, a completed one counts as done, and an uncertain one is reported to the person.

mod clock;
mod completion;
mod concurrency;
mod cron;
mod crud;
mod engine;
mod perform;
mod plan;
mod record;
mod recover;
mod transitions;
mod when;
mod words;

#[cfg(test)]
mod tests;

pub use crud::{Change, New, Planned, Reminder};
pub use record::{Kind, Missed, Run, Schedule, Status, Who};
pub use when::{Recurrence, parse};

use concurrency::CallSlots;
use plan::Plan;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Instant,
};
use store::{Collection, Store};
use tokio::sync::Notify;
use tool::{Ports, Role, UserId};

/// Looks up a person's current role; `None` if the person was removed.
pub type People = Arc<dyn Fn(UserId) -> Option<Role> + Send + Sync>;
/// Whether a tool is idempotent. Only consulted for runs started by older versions, which stored no effect marks.
pub type IsIdempotent = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Everybody's schedules; cheap to clone.
#[derive(Clone)]
pub struct Scheduler(Arc<Inner>);

struct Inner {
    schedules: Collection<Schedule>,
    runs: Collection<Run>,
    ports: Ports,
    people: People,
    is_idempotent: IsIdempotent,
    /// In-memory due times; empty until started.
    plan: Mutex<Plan>,
    /// Notified when the plan changes.
    changed: Notify,
    turns: CallSlots,
    started: AtomicBool,
    /// Cached number of schedules per person.
    counts: Mutex<HashMap<UserId, usize>>,
    /// A monotonic clock, independent of the wall clock.
    steady: Box<dyn Fn() -> Instant + Send + Sync>,
}

impl Scheduler {
    /// Opens the schedules in `store`. Nothing runs before [`Scheduler::start`].
    pub fn new(store: &Store, ports: Ports, people: People, is_idempotent: IsIdempotent) -> Self {
        Self::with_steady(store, ports, people, is_idempotent, Box::new(Instant::now))
    }

    fn with_steady(
        store: &Store,
        ports: Ports,
        people: People,
        is_idempotent: IsIdempotent,
        steady: Box<dyn Fn() -> Instant + Send + Sync>,
    ) -> Self {
        Self(Arc::new(Inner {
            schedules: store.collection(),
            runs: store.collection(),
            ports,
            people,
            is_idempotent,
            plan: Mutex::default(),
            changed: Notify::new(),
            turns: CallSlots::default(),
            started: AtomicBool::new(false),
            counts: Mutex::default(),
            steady,
        }))
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
