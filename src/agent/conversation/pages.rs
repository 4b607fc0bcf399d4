//! Pages of conversations and of messages, the newest first.

use super::{
    ConversationSummary, Conversations, MessageRecord, Role, StoredMessage, directory::Position, of_conversation,
    summary,
};
use serde::Serialize;
use std::{fmt, str::FromStr};
use store::{Entry, Listing};
use tool::{
    Cx, Error, Id, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The most messages of a page.
pub(crate) const MESSAGES: usize = 200;

/// A conversation with its newest messages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Conversation {
    /// The conversation.
    #[serde(flatten)]
    pub head: ConversationSummary,
    /// Its newest messages in order: all of them, unless `next` is set.
    pub messages: Vec<StoredMessage>,
    /// The start of the older messages, for `before` of `GET /conversations/{id}/messages`. Null when there are none.
    pub next: Option<Id>,
}

/// Some messages of a conversation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MessagePage {
    /// The newest of those asked for, in order.
    pub messages: Vec<StoredMessage>,
    /// The start of the older messages, for `before`. Null when there are none.
    pub next: Option<Id>,
}

/// Some conversations, the latest first.
#[derive(Debug, Clone)]
pub struct ConversationPage {
    /// How many there are in all.
    pub count: usize,
    /// The conversations.
    pub conversations: Vec<ConversationSummary>,
    /// The start of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

/// A position in a list of conversations: those after it changed earlier. It stays valid when its conversation changes or is
/// deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub(crate) Position);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (changed, id) = self.0;
        write!(f, "{changed}-{id}")
    }
}

impl FromStr for Cursor {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('-').and_then(|(changed, id)| Some((changed.parse().ok()?, id.parse().ok()?)));
        parts.map(Self).ok_or_else(|| {
            Error::bad_args("`before` is not the `next` of a page: leave it out to begin with the latest conversation")
        })
    }
}

impl Conversations {
    /// A page of the conversations, the latest first.
    pub fn list_page(&self, cx: &Cx, before: Option<Cursor>, offset: usize, limit: usize) -> Result<ConversationPage> {
        let before = before.map(|cursor| cursor.0);
        let (count, mut page) = self.heads.page(cx.user(), |_, _| true, before, (offset, limit.saturating_add(1)))?;
        let more = page.len() > limit;
        page.truncate(limit);
        let next = page.last().filter(|_| more).map(|last| Cursor(*last));
        Ok(ConversationPage { count, conversations: self.summaries(cx, &page)?, next })
    }

    fn summaries(&self, cx: &Cx, page: &[Position]) -> Result<Vec<ConversationSummary>> {
        let ids: Vec<Id> = page.iter().map(|(_, id)| *id).collect();
        let found = self.heads.get_all_in(Scope::User(cx.user()), &ids)?;
        found.iter().for_each(|entry| cx.taint(entry.label));
        Ok(found.into_iter().map(summary).collect())
    }

    /// A conversation with all its messages.
    pub fn whole(&self, cx: &Cx, id: Id) -> Result<Conversation> {
        let head = self.head(cx, id)?;
        let messages = self.lines(cx, id, 0)?.into_iter().map(shown).collect();
        Ok(Conversation { head, messages, next: None })
    }

    /// A conversation with its newest messages.
    pub fn get(&self, cx: &Cx, id: Id, limit: usize) -> Result<Conversation> {
        let mut head = self.head(cx, id)?;
        let MessagePage { messages, next } = self.message_page(cx, id, None, limit)?;
        let tokens: u64 = messages.iter().map(tokens_of).sum();
        head.tokens = Some(match next {
            None => tokens,
            Some(_) => tokens * u64::from(head.message_count).max(1) / messages.len().max(1) as u64,
        });
        Ok(Conversation { head, messages, next })
    }

    /// The newest messages of a conversation, or the newest before one.
    pub fn messages(&self, cx: &Cx, id: Id, before: Option<Id>, limit: usize) -> Result<MessagePage> {
        self.check(cx, id)?;
        self.message_page(cx, id, before, limit)
    }

    fn message_page(&self, cx: &Cx, id: Id, before: Option<Id>, limit: usize) -> Result<MessagePage> {
        let limit = limit.clamp(1, MESSAGES);
        // One more than the page shows whether there are others.
        let mut lines = self.lines.list(cx, &Listing { before, ..of_conversation(id, limit + 1) })?;
        let more = lines.len() > limit;
        lines.truncate(limit);
        let next = lines.last().filter(|_| more).map(|oldest| oldest.id);
        Ok(MessagePage { messages: lines.into_iter().rev().map(|e| shown(self.clean(e))).collect(), next })
    }

    /// The messages of a run in order, as far as its conversation has them; taints nothing.
    pub fn of_run(
        &self,
        cx: &Cx,
        conversation: Id,
        run: Id,
        ended_ms: Option<u64>,
    ) -> Result<Vec<Entry<MessageRecord>>> {
        let (mut lines, mut before) = (vec![], ended_ms.map(|ended| first_id_at(ended.saturating_add(LATE_MS))));
        loop {
            let listing = Listing { before, ..of_conversation(conversation, LINES) };
            let page = self.lines.list_in(Scope::User(cx.user()), &listing)?;
            before = page.last().map(|oldest| oldest.id);
            lines.extend(page.into_iter().filter(|e| e.value.run == run).map(|e| self.clean(e)));
            // The run has its id before its first message.
            if before.is_none_or(|oldest| oldest < run) {
                break;
            }
        }
        lines.reverse();
        Ok(lines)
    }
}

impl Conversations {
    /// The text of the message that a run answers; empty when it cannot be found quickly: a run that waited in the queue
    /// may have stored it long after its id.
    pub fn request_of(&self, cx: &Cx, conversation: Id, run: Id) -> Result<String> {
        for (wait_ms, lines) in [(SOON_MS, FEW), (SOON_MS, LINES), (LATE_MS, LINES)] {
            let before = Some(first_id_at(run.millis().saturating_add(wait_ms)));
            let listing = Listing { before, ..of_conversation(conversation, lines) };
            let page = self.lines.list_in(Scope::User(cx.user()), &listing)?;
            let found = page.into_iter().rev().find(|e| e.value.run == run && e.value.role == Role::User);
            if let Some(entry) = found {
                return Ok(self.clean(entry).value.content);
            }
        }
        Ok(String::new())
    }
}

/// A run stores its message at once, unless it has to wait for its turn.
const SOON_MS: u64 = 2_000;
/// How many messages are read at first: mostly, the message of a run is among them.
const FEW: usize = 8;
/// How many messages are read at a time while those of a run are looked for.
const LINES: usize = 64;
/// A run that was stopped may store its last message a little after its end.
const LATE_MS: u64 = 3_600_000;

/// The lowest id of a time.
fn first_id_at(ms: u64) -> Id {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
    Id::from_bytes(bytes)
}

fn shown(entry: Entry<MessageRecord>) -> StoredMessage {
    entry.value.into_stored_message(entry.id)
}

/// Estimates tokens: four characters a token, fifty characters for each call and result, 1500 tokens for a picture.
fn tokens_of(message: &StoredMessage) -> u64 {
    let calls: usize = message.tool_calls.iter().map(|c| c.arguments.len() + 50).sum();
    let results: usize = message.tool_results.iter().map(|r| r.content.len() + 50).sum();
    ((message.content.len() + calls + results) / 4 + message.media.len() * 1500) as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_are_written() {
        let cursor = Cursor((1_763_856_000_123, Id::new()));
        assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        for bad in
            ["", "7", "-", "x-0197f3a2-0000-7000-8000-000000000000", "0197f3a2-0000-7000-8000-000000000000", "-1-2"]
        {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
