//! Layer 2: what is to happen when. A [`Scheduler`] keeps schedules and makes their calls at their times, each time once,
//! over restarts and jumps of the clock.
//!
//! A time is *claimed* in the store before its call is made, so that no end of the process loses it. The id of the run is the
//! idempotency key of the call ([`store::with_effect`]), so that none makes it twice: at the next start a call that has
//! changed nothing is made, one that was made counts as done, and what nobody can know is told to the person.

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
mod transitions;
mod when;

#[cfg(test)]
mod tests;

pub use crud::{Change, New, Planned, Reminder};
pub use record::{Kind, Missed, Run, Schedule, Status, Who};
pub use when::{Recurrence, parse};

use concurrency::Turns;
use plan::Plan;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Instant,
};
use store::{Collection, Store};
use tokio::sync::Notify;
use tool::{Ports, Role, UserId};

/// What a person may do today; `None` when they are gone.
pub type People = Arc<dyn Fn(UserId) -> Option<Role> + Send + Sync>;
/// Whether calling a tool twice is as good as once. It decides about runs that an older Hob had begun, which kept no marks.
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
