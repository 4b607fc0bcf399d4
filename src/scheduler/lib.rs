//! Layer 2: the scheduler. A [`Scheduler`] stores schedules and runs their calls when due, exactly once, across
//! restarts and clock changes.
//!
//! A due time is *claimed* in the store before its call runs, so a crash never loses it. The run's id is the call's
//! idempotency key ([`store::with_effect`]), so a crash never repeats it. At the next start a call without effects is
//! made again, a completed one counts as done, and an uncertain one is reported to the person.
//!
//! [`Timers`] are countdowns in the same engine: no call, but a state that the store holds.

mod claimed;
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
mod timers;
mod transitions;
mod upcoming;
mod when;

#[cfg(test)]
mod tests;

pub use crud::{Change, New, Planned, Reminder};
pub use record::{Kind, Missed, Run, Schedule, Status, Who};
pub use timers::{Timer, TimerState, Timers};
pub use upcoming::Upcoming;
pub use when::{Choice, Recurrence, parse, pattern_in_words};

use concurrency::CallSlots;
use plan::Plan;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Instant,
};
use store::{Collection, Store};
use tokio::sync::Notify;
use tool::{Ports, UserId};

/// Looks up the facts of a tool by name.
pub type LookUpTool = Arc<dyn Fn(&str) -> ToolFacts + Send + Sync>;

/// The facts of a tool that its scheduled calls depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts {
    /// Only consulted for runs started by older versions, which stored no effect marks.
    pub idempotent: bool,
    /// Whether a call starts work that continues after it returns, as a prompt does.
    pub detached: bool,
}

/// Everybody's schedules; cheap to clone.
#[derive(Clone)]
pub struct Scheduler(Arc<Inner>);

struct Inner {
    schedules: Collection<Schedule>,
    runs: Collection<Run>,
    timers: Collection<Timer>,
    /// When a timer has to ring, or to stop ringing.
    timers_due: Mutex<Option<i64>>,
    ports: Ports,
    tools: LookUpTool,
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
    pub fn new(store: &Store, ports: Ports, tools: LookUpTool) -> Self {
        Self::with_steady(store, ports, tools, Box::new(Instant::now))
    }

    fn with_steady(
        store: &Store,
        ports: Ports,
        tools: LookUpTool,
        steady: Box<dyn Fn() -> Instant + Send + Sync>,
    ) -> Self {
        Self(Arc::new(Inner {
            schedules: store.collection(),
            runs: store.collection(),
            timers: store.collection(),
            timers_due: Mutex::default(),
            ports,
            tools,
            plan: Mutex::default(),
            changed: Notify::new(),
            turns: CallSlots::default(),
            started: AtomicBool::new(false),
            counts: Mutex::default(),
            steady,
        }))
    }

    fn is_detached(&self, tool: &str) -> bool {
        (self.0.tools)(tool).detached
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
