//! Layer 3: what happens by itself, at a time or when something else does, as tools.

mod action;
mod schedules;
mod triggers;

#[cfg(test)]
mod testing;

pub use action::{ActionKind, ActionObject};
pub use schedules::{ScheduleTools, family as schedules};
pub use triggers::{Triggers, family as triggers};
