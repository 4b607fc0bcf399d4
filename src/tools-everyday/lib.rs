//! Layer 3: tools for tasks, notes, bookmarks, the calendar, contacts, notices, timers, memory and the Config Center.

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
mod timers;
mod undo;

pub use bookmarks::{PageTitles, family as bookmarks};
pub use calendar::{NextEvent, NextEvents, family as calendar, next_events};
pub use config::family as config;
pub use contacts::{contact_names, family as contacts};
pub use memory::family as memory;
pub use notes::family as notes;
pub use notices::family as notices;
pub use tasks::{DueTasks, OpenList, OpenLists, OpenTask, due_tasks, family as tasks, lists, open_lists};
pub use timers::family as timers;
pub use undo::family as undo;
