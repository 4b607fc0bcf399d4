//! Tools for what is in the home.

mod things;

pub use self::things::{family as things, publish_changes, undoer as undo_things};
