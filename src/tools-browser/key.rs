//! Whose browser it is.

use std::sync::Arc;
use tool::{Channel, Cx, Id, UserId};

/// Whose browser it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub user: UserId,
    part: Part,
}

/// What of a person's doings has a browser of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Conversation(Id),
    /// A run without a conversation, such as a question of a program over the API.
    Run(Id),
    /// One time that a schedule, a rule or a trigger makes a call.
    Once(Id),
    /// Calls by hand, through a door: at the page, or by a program with a token of this name.
    Hand {
        channel: Channel,
        chat: Option<Arc<str>>,
        token: Option<Arc<str>>,
    },
}

impl Key {
    pub fn of(cx: &Cx) -> Self {
        let via = cx.via();
        let part = match (cx.conversation(), cx.run()) {
            (Some(conversation), _) => Part::Conversation(conversation),
            (None, Some(run)) => Part::Run(run),
            // Without an occasion that its calls share, each call is alone.
            (None, None) if via.channel == Channel::Machine => Part::Once(cx.bounds().effect.unwrap_or(cx.call_id())),
            (None, None) => Part::Hand { channel: via.channel, chat: via.chat.clone(), token: via.token.clone() },
        };
        Self { user: cx.user(), part }
    }

    pub fn of_conversation(user: UserId, conversation: Id) -> Self {
        Self { user, part: Part::Conversation(conversation) }
    }
}
