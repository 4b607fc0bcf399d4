//! Layer 3: schedules and triggers, as tools.

mod action;
mod schedules;
mod triggers;

#[cfg(test)]
mod testing;

pub use action::{ActionKind, ActionObject};
pub use schedules::{ScheduleTools, family as schedules};
pub use triggers::{Triggers, family as triggers};
