//! Layer 3: tools for goals, expenses, custom tables and state.

mod finance;
mod goals;
mod json_text;
mod state;
mod tables;
#[cfg(test)]
mod testing;

pub use finance::family as finance;
pub use goals::{ActiveGoal, active as active_goals, family as goals};
pub use state::family as state;
pub use tables::{ReadableKind, ReadableTable, TableReader, family as tables, undoer as undo_tables};
