//! Layer 4: what happens by itself, at a time or when something else does, as tools.

mod action;
mod choices;
mod schedules;
mod sentences;
mod triggers;

#[cfg(test)]
mod testing;

pub use action::{ActionKind, ActionObject};
pub use choices::{Choices, PersonChoice, Preview, ToolChoice, choices, preview};
pub use schedules::{ScheduleTools, family as schedules};
pub use triggers::{COLLECTION as TRIGGERS, Cause, CauseField, CauseOption, Triggers, family as triggers};
