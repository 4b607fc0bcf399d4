//! Layer 3: tools for tasks, notes, bookmarks, the calendar, contacts, notices, memory and the Config Center.

mod bookmarks;
mod calendar;
mod config;
mod contacts;
mod memory;
mod notes;
mod notices;
mod tasks;
#[cfg(test)]
mod testing;

pub use bookmarks::family as bookmarks;
pub use calendar::family as calendar;
pub use config::family as config;
pub use contacts::family as contacts;
pub use memory::family as memory;
pub use notes::family as notes;
pub use notices::family as notices;
pub use tasks::family as tasks;
