//! Layer 3: asking and showing. Tools that ask a person a question, show blocks or a component, and wait for the answer.

mod asks;
mod blocks;
mod form;
mod interactions;
mod record;
#[cfg(test)]
mod tests;
mod tools;

pub use asks::Asks;
pub use blocks::{Block, ChartType, Column, Variant};
pub use form::{Field, FieldType};
pub use interactions::{InteractionEvent, Interactions, ListFilter};
pub use record::{Interaction, Kind, Request, State};
pub use tools::family;
