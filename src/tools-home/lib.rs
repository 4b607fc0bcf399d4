//! Tools for what is in the home.

mod home_assistant;
mod things;

pub use self::home_assistant::{
    Finder, FoundHomeAssistant, add_home_assistant, family as home_assistant, home_assistant_settings,
};
pub use self::things::{family as things, publish_changes, undoer as undo_things};
pub mod mqtt;
