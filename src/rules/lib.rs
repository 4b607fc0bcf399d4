//! Layer 4: what happens by itself, at a time or when something else does, as tools.
//!
//! A rule has triggers, conditions and actions; a trigger of the older tools is a rule with one cause and one action. Both are
//! the same records and run in one engine ([`Rules`]).

mod action;
mod arming;
mod causes;
mod choices;
mod definition;
mod drafts;
mod engine;
mod file;
mod home;
mod matching;
mod phrases;
mod planning;
mod reading;
mod record;
mod rule_tools;
mod rule_words;
mod schedules;
mod sentences;
mod steps;
mod sun;
mod triggers;
mod validate;
mod values;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use action::{ActionKind, ActionObject};
pub use causes::{Cause, CauseField, CauseOption};
pub use choices::{Choices, PersonChoice, PinChoice, Preview, ThingChoice, ToolChoice, TypeChoice, choices, preview};
pub use engine::Rules;
pub use home::{Home, PinNames, Place};
pub use record::COLLECTION as TRIGGERS;
pub use rule_tools::family as rules;
pub use schedules::{ScheduleTools, family as schedules};
pub use triggers::family as triggers;
