//! Layer 3: asking and showing. A question, blocks or a component is stored before anybody sees it, any door may answer it,
//! and the call that waits for it goes on, also after a restart.

mod asks;
mod blocks;
mod desk;
mod form;
mod record;
#[cfg(test)]
mod tests;
mod tools;

pub use asks::Asks;
pub use blocks::{Block, ChartType, Column, Variant};
pub use desk::{InteractionEvent, Interactions, ListFilter, Waits, Wake, Watching};
pub use form::{Field, FieldType};
pub use record::{Interaction, Kind, Request, State};
pub use tools::family;
