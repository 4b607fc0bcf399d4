//! Stored messages, one record each, and their conversion to a model's messages.

use llm::{Content, Kind, Media, Message, ProviderState, Source, ToolCall, ToolResult, Turn};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Coded, Key, Level, Record};
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    Tool,
}

impl Coded for Role {
    const ALL: &'static [Self] = &[Role::User, Role::Assistant, Role::Tool];
    const UNKNOWN: Self = Role::Assistant;
}

impl Role {
    /// The name in the API.
    pub fn word(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// A stored message. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MessageRecord {
    pub conversation: Id,
    pub run: Id,
    #[serde(with = "store::coded")]
    pub role: Role,
    pub content: String,
    /// `[StoredCall]` as JSON text: a struct inside a record could never grow.
    pub calls: String,
    /// A `StoredResult` as JSON text; empty is none.
    pub result: String,
    pub model: String,
    /// Content besides text, as JSON text: the [`Content`] of a person, `[StoredMedia]` of a model.
    pub parts: String,
    /// The [`ProviderState`] as JSON text; empty is none.
    pub kept: String,
}

impl Record for MessageRecord {
    const NAME: &'static str = "messages";
    const WORD: &'static str = "message";
    const LEVEL: Level = Level::User;
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        self.content.clone()
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

/// A tool call, stored and in the API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredCall {
    /// The provider's id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as JSON text as the model wrote them, without secrets.
    pub arguments: String,
}

/// The result of a call, stored and in the API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredResult {
    /// The id of the call it answers.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// The result for the model.
    pub content: String,
    /// A sentence for the person.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// A picture, sound or file that belongs to a message; its bytes are at `GET /api/v1/files/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredMedia {
    /// The id of the file.
    pub id: Id,
    /// Its type, such as `image/png`.
    pub media_type: String,
    /// Its name.
    pub name: String,
}

/// A message in the API.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    /// Its id.
    pub id: Id,
    /// The run it is part of.
    pub run_id: Id,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// The text.
    pub content: String,
    /// The calls the model asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<StoredCall>,
    /// Results of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<StoredResult>,
    /// Pictures, sounds and files that were sent or made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<StoredMedia>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Time of creation: milliseconds since 1970.
    pub created_at: u64,
}

impl MessageRecord {
    pub fn new(conversation: Id, run: Id, role: Role, content: &str) -> Self {
        Self {
            conversation,
            run,
            role,
            content: content.to_owned(),
            calls: String::new(),
            result: String::new(),
            model: String::new(),
            parts: String::new(),
            kept: String::new(),
        }
    }

    /// A message of a person.
    pub fn from_user(conversation: Id, run: Id, content: &Content) -> Self {
        let mut line = Self::new(conversation, run, Role::User, &content.text());
        if content.media().next().is_some() {
            line.parts = json(content);
        }
        line
    }

    pub fn calls(&self) -> Vec<StoredCall> {
        // Most messages have none.
        if matches!(&*self.calls, "" | "[]") {
            return vec![];
        }
        serde_json::from_str(&self.calls).unwrap_or_default()
    }
    pub fn result(&self) -> Option<StoredResult> {
        serde_json::from_str(&self.result).ok()
    }

    /// Its media.
    pub fn media(&self) -> Vec<StoredMedia> {
        let shown = |media: &Media| match media.source {
            Source::Stored(id) => {
                Some(StoredMedia { id, media_type: media.media_type.clone(), name: media.name.clone() })
            }
            Source::Bytes(_) => None,
        };
        match self.role {
            Role::User => {
                let content: Content = serde_json::from_str(&self.parts).unwrap_or_default();
                content.media().filter_map(shown).collect()
            }
            _ => serde_json::from_str(&self.parts).unwrap_or_default(),
        }
    }

    pub fn into_stored_message(self, id: Id) -> StoredMessage {
        StoredMessage {
            id,
            run_id: self.run,
            role: self.role.word(),
            tool_calls: self.calls(),
            tool_results: self.result().into_iter().collect(),
            media: self.media(),
            content: self.content,
            model: self.model,
            created_at: id.millis(),
        }
    }
}

impl From<MessageRecord> for Message {
    fn from(line: MessageRecord) -> Self {
        match (line.role, line.result()) {
            (Role::User, _) => match serde_json::from_str::<Content>(&line.parts) {
                Ok(content) => Message::User(content),
                Err(_) => Message::user(line.content),
            },
            (Role::Tool, Some(r)) => Message::Tool(ToolResult {
                call_id: r.tool_call_id,
                name: r.name,
                content: r.content,
                say: r.say,
                is_error: r.is_error,
            }),
            (Role::Assistant | Role::Tool, _) => {
                let call = |c: StoredCall| ToolCall { id: c.id, name: c.name, arguments: c.arguments };
                let tool_calls = line.calls().into_iter().map(call).collect();
                let kept: Option<ProviderState> = serde_json::from_str(&line.kept).ok();
                Message::Assistant(Turn { content: line.content, tool_calls, kept })
            }
        }
    }
}

/// Converts records to a model's messages, with each result after its call. Call ids recur between runs, so a result belongs to
/// a call of its own run; results without a call are left out.
pub(crate) fn messages(lines: Vec<MessageRecord>) -> Vec<Message> {
    let mut at = HashMap::<(Id, String), usize>::new();
    let mut placed: Vec<(MessageRecord, Vec<MessageRecord>)> = vec![];
    for line in lines {
        if line.role == Role::Tool {
            let result = line.result().and_then(|r| at.get(&(line.run, r.tool_call_id)).copied());
            if let Some((_, results)) = result.and_then(|n| placed.get_mut(n)) {
                results.push(line);
            }
            continue;
        }
        at.extend(line.calls().into_iter().map(|call| ((line.run, call.id), placed.len())));
        placed.push((line, vec![]));
    }
    placed.into_iter().flat_map(|(line, results)| std::iter::once(line).chain(results)).map(Message::from).collect()
}

/// The kind of a media type.
pub(crate) fn kind_of(media_type: &str) -> Kind {
    match media_type.split('/').next() {
        Some("image") => Kind::Image,
        Some("audio") => Kind::Audio,
        _ => Kind::File,
    }
}

/// Serialises values that always have a JSON form.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Replaces the answer of a run that ended without one.
pub(crate) const NO_ANSWER: &str = "(no answer was given)";

/// Gives every call a result, and drops results without a call: servers refuse other histories. An interrupted run leaves calls
/// without a result.
pub(crate) fn answered(lines: Vec<Message>) -> Vec<Message> {
    let mut whole = Vec::with_capacity(lines.len());
    let mut late = late_results(&lines);
    let mut lines = lines.into_iter().peekable();
    while let Some(message) = lines.next() {
        let calls = match &message {
            Message::Tool(_) => continue,
            Message::Assistant(Turn { tool_calls, .. }) => tool_calls.clone(),
            _ => vec![],
        };
        // Servers that require turns get two answers in a row as one.
        if let Message::Assistant(Turn { content, tool_calls, .. }) = &message
            && tool_calls.is_empty()
            && let Some(Message::Assistant(Turn { content: before, tool_calls: none, .. })) = whole.last_mut()
            && none.is_empty()
        {
            *before = format!("{before}\n\n{content}");
            continue;
        }
        whole.push(message);
        let mut answers = vec![];
        while let Some(Message::Tool(result)) = lines.next_if(|m| matches!(m, Message::Tool(_))) {
            answers.push(result);
        }
        for call in calls {
            let given = answers.iter().position(|a| a.call_id == call.id).map(|n| answers.remove(n));
            let given = given.or_else(|| {
                let at = late.iter().position(|a| a.call_id == call.id && a.name == call.name)?;
                Some(late.remove(at))
            });
            whole.push(Message::Tool(given.unwrap_or_else(|| unanswered(call))));
        }
    }
    whole
}

/// Results that do not follow their call, because it waited for a person while the conversation continued.
fn late_results(lines: &[Message]) -> Vec<ToolResult> {
    let mut late = vec![];
    let mut open: Vec<&str> = vec![];
    for message in lines {
        match message {
            Message::Tool(result) => match open.iter().position(|id| *id == result.call_id) {
                Some(at) => drop(open.remove(at)),
                None => late.push(result.clone()),
            },
            Message::Assistant(Turn { tool_calls, .. }) => open = tool_calls.iter().map(|c| c.id.as_str()).collect(),
            _ => open.clear(),
        }
    }
    late
}

fn unanswered(call: ToolCall) -> ToolResult {
    let content =
        "Error: this call has no result: the run was cut short, or a person has not answered yet whether it may be made".into();
    ToolResult { call_id: call.id, name: call.name, content, say: None, is_error: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall { id: id.to_string(), name: "t".into(), arguments: "{}".into() };
        Message::calls("", ids.iter().map(call).collect())
    }
    fn gave(id: &str) -> Message {
        let content = "ok".into();
        Message::Tool(ToolResult { call_id: id.into(), name: "t".into(), content, say: None, is_error: false })
    }

    #[test]
    fn every_call_is_answered_and_every_answer_was_asked_for() {
        let said = || Message::user("next");
        let history =
            vec![gave("lost"), asked(&["a", "b"]), gave("b"), said(), asked(&["a"]), gave("a"), asked(&["c"])];
        let shown: Vec<String> = answered(history)
            .iter()
            .map(|m| match m {
                Message::Tool(r) => format!("{}{}", r.call_id, if r.is_error { "!" } else { "" }),
                Message::Assistant(_) => "asked".into(),
                _ => "said".into(),
            })
            .collect();
        assert_eq!(shown, ["asked", "a!", "b", "said", "asked", "a", "asked", "c!"]);
    }
}
