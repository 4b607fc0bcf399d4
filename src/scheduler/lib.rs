//! Layer 2: what is to happen when. A [`Scheduler`] keeps schedules and makes their calls at their times, each time once,
//! over restarts and jumps of the clock.
//!
//! A time is *claimed* in the store before its call is made, so that no end of the process loses it or makes it twice: what
//! was claimed and had not ended is repeated at the next start where that is harmless, else told to the person.

mod clock;
mod cron;
mod end;
mod engine;
mod keep;
mod perform;
mod plan;
mod record;
mod recover;
mod step;
mod turns;
mod when;
mod words;

#[cfg(test)]
mod tests;

pub use keep::{Change, New, Planned, Reminder};
pub use record::{Kind, Missed, Run, Schedule, Status, Who};
pub use when::{Recurrence, parse};

use plan::Plan;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Instant,
};
use store::{Collection, Store};
use tokio::sync::Notify;
use tool::{Ports, Role, UserId};
use turns::Turns;

/// What a person may do today; `None` when they are gone.
pub type People = Arc<dyn Fn(UserId) -> Option<Role> + Send + Sync>;
/// Whether a call of a tool that was cut short may be made again: it does no harm, and does not go on by itself.
pub type Repeats = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The schedules of everybody; cheap to clone.
#[derive(Clone)]
pub struct Scheduler(Arc<Inner>);

struct Inner {
    schedules: Collection<Schedule>,
    runs: Collection<Run>,
    ports: Ports,
    people: People,
    repeats: Repeats,
    /// What is due when; empty until it is started.
    plan: Mutex<Plan>,
    /// Something about the plan is new.
    changed: Notify,
    turns: Turns,
    started: AtomicBool,
    /// How many schedules a person has, once it was counted.
    counts: Mutex<HashMap<UserId, usize>>,
    /// A clock that only goes forward, whatever the one on the wall is set to.
    steady: Box<dyn Fn() -> Instant + Send + Sync>,
}

impl Scheduler {
    /// The schedules in `store`. Nothing is due before [`Scheduler::start`].
    pub fn new(store: &Store, ports: Ports, people: People, repeats: Repeats) -> Self {
        Self::with_steady(store, ports, people, repeats, Box::new(Instant::now))
    }

    fn with_steady(
        store: &Store,
        ports: Ports,
        people: People,
        repeats: Repeats,
        steady: Box<dyn Fn() -> Instant + Send + Sync>,
    ) -> Self {
        Self(Arc::new(Inner {
            schedules: store.collection(),
            runs: store.collection(),
            ports,
            people,
            repeats,
            plan: Mutex::default(),
            changed: Notify::new(),
            turns: Turns::default(),
            started: AtomicBool::new(false),
            counts: Mutex::default(),
            steady,
        }))
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
