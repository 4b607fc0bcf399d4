//! The stored summary of the beginning of a conversation.

use serde::{Deserialize, Serialize};
use store::{Level, Record};
use tool::Id;

/// The summary of a conversation's older messages, under the conversation's id. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub text: String,
    /// The last message it covers.
    pub until: Id,
    /// How many messages it covers.
    pub messages: u32,
}

impl Record for Summary {
    const NAME: &'static str = "summaries";
    const WORD: &'static str = "summary";
    const LEVEL: Level = Level::User;
}
