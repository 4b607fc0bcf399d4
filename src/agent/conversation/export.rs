//! Copies, exports and imports of conversations.

use super::{
    ConversationSummary, Conversations, Head,
    messages::{MessageRecord, Role, StoredCall, StoredMessage, StoredResult, json},
    summary,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use store::{Audience, Stamp};
use text_kit::{one_line, prefix};
use tool::{
    Cx, Error, Id, Label, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The format name of an exported conversation.
pub const FORMAT: &str = "hob-conversation";
/// The version of the format.
const VERSION: u32 = 1;
/// Limits of an import: messages, and bytes of text in all.
const MESSAGES: usize = 10_000;
const BYTES: usize = 5 << 20;
/// Maximum length of an imported title, in characters.
const TITLE: usize = 200;

/// An exported conversation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exported {
    /// `hob-conversation`.
    pub format: String,
    /// 1.
    pub version: u32,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Time of creation: milliseconds since 1970.
    #[serde(default)]
    pub created_at: u64,
    /// The conversation it was copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Id>,
    /// Its instructions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// Metadata of people's programs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Its messages in order.
    pub messages: Vec<ExportedMessage>,
}

/// An exported message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportedMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// The text.
    #[serde(default)]
    pub content: String,
    /// The calls the model asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<StoredCall>,
    /// Results of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<StoredResult>,
    /// Names of its pictures, sounds and files, which are not exported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<String>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Time of creation: milliseconds since 1970.
    #[serde(default)]
    pub created_at: u64,
}

impl From<StoredMessage> for ExportedMessage {
    fn from(m: StoredMessage) -> Self {
        Self {
            role: m.role.into(),
            content: m.content,
            tool_calls: m.tool_calls,
            tool_results: m.tool_results,
            media: m.media.into_iter().map(|m| m.name).collect(),
            model: m.model,
            created_at: m.created_at,
        }
    }
}

impl Conversations {
    /// Copies a conversation, up to and including the message `until`.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's, or has no such message.
    pub async fn fork(&self, cx: &Cx, id: Id, until: Option<Id>) -> Result<ConversationSummary> {
        let head = self.head(cx, id)?;
        let mut lines = self.all(cx, id)?;
        if let Some(until) = until {
            let at = lines.iter().position(|e| e.id == until).ok_or_else(|| {
                Error::not_found(format!("the conversation has no message {until}: look at it again"))
            })?;
            lines.truncate(at + 1);
        }
        // The copied messages get new run ids, the same for messages of the same run.
        let (copy, mut runs) = (Id::new(), HashMap::new());
        let mut own = |run: Id| *runs.entry(run).or_insert_with(Id::new);
        let copied = lines.into_iter().map(|e| {
            let line = MessageRecord { conversation: copy, run: own(e.value.run), ..e.value };
            (Id::new(), self.stamp(cx, e.label, &e.source), line)
        });
        let copied: Vec<_> = copied.collect();
        let keeps = self.keeps(cx.user(), id);
        let head = Head {
            title: head.title,
            messages: copied.len() as u32,
            forked_from: Some(id),
            keeps,
            system_prompt: head.system_prompt.unwrap_or_default(),
            metadata: self.checked_metadata(head.metadata.unwrap_or_default())?,
        };
        self.put(cx, copy, head, copied).await
    }

    /// Exports a conversation without secrets and files.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn export(&self, cx: &Cx, id: Id) -> Result<Exported> {
        let found = self.whole(cx, id)?;
        Ok(Exported {
            format: FORMAT.into(),
            version: VERSION,
            title: found.head.title,
            created_at: found.head.created_at,
            forked_from: found.head.forked_from,
            system_prompt: found.head.system_prompt.unwrap_or_default(),
            metadata: found.head.metadata.unwrap_or_default(),
            messages: found.messages.into_iter().map(ExportedMessage::from).collect(),
        })
    }

    /// Imports a conversation. Its author is unknown, so it counts as from outside.
    ///
    /// # Errors
    /// `BadArgs` when the document is invalid or too long.
    pub async fn import(&self, cx: &Cx, document: Exported) -> Result<ConversationSummary> {
        checked(&document)?;
        // The instructions are from outside too, and taint each run that reads them.
        let system_prompt = self.checked_prompt(&document.system_prompt)?;
        let metadata = self.checked_metadata(document.metadata)?;
        let (id, mut run, mut pending) = (Id::new(), Id::new(), PendingCalls::default());
        let mut lines = vec![];
        let mut add = |line: MessageRecord| lines.push((Id::new(), self.stamp(cx, Label::Outside, "import"), line));
        for message in document.messages {
            let role = role_of(&message.role).unwrap_or(Role::Assistant);
            if role == Role::User {
                run = Id::new();
            }
            let mut line = MessageRecord::new(id, run, role, &self.scrubbed(&message.content));
            line.model = prefix(&message.model, TITLE).to_owned();
            if !message.tool_calls.is_empty() {
                line.calls = self.scrubbed(&json(&message.tool_calls));
                pending.add(run, &message.tool_calls);
            }
            if role != Role::Tool {
                add(line);
                continue;
            }
            // One record for each result.
            for result in &message.tool_results {
                let run = pending.take(result).unwrap_or(run);
                add(MessageRecord { run, result: self.scrubbed(&json(result)), ..line.clone() });
            }
        }
        let title = match one_line(&document.title) {
            title if title.is_empty() => "Imported conversation".to_owned(),
            title => prefix(&self.scrubbed(&title), TITLE).to_owned(),
        };
        let keeps = self.keeps;
        let head = Head { title, messages: lines.len() as u32, forked_from: None, keeps, system_prompt, metadata };
        self.put(cx, id, head, lines).await
    }

    fn scrubbed(&self, text: &str) -> String {
        self.registry.scrubber().text(text, scrub::How::Digests).into_owned()
    }

    fn stamp(&self, cx: &Cx, label: Label, source: &str) -> Stamp {
        let (owner, scope, audience) = (cx.user(), Scope::User(cx.user()), Audience::Private);
        Stamp { scope, owner, audience, label: label.max(cx.label()), source: source.into() }
    }

    async fn put(
        &self,
        cx: &Cx,
        id: Id,
        head: Head,
        lines: Vec<(Id, Stamp, MessageRecord)>,
    ) -> Result<ConversationSummary> {
        let label = lines.iter().map(|(_, stamp, _)| stamp.label).fold(Label::Own, Label::max);
        let (this, stamp) = (self.clone(), self.stamp(cx, label, "chat"));
        let entry = self
            .heads
            .store()
            .write(move |tx| {
                for (id, stamp, line) in &lines {
                    this.lines.put(tx, *id, stamp, line)?;
                }
                this.heads.put(tx, id, &stamp, &head)
            })
            .await?;
        Ok(self.clean_head(summary(entry)))
    }
}

/// Runs of an imported conversation by their calls without a result: a call may wait while the conversation continues, and its
/// result comes among the messages of another run.
#[derive(Default)]
struct PendingCalls(HashMap<(String, String), Vec<Id>>);

impl PendingCalls {
    fn add(&mut self, run: Id, calls: &[StoredCall]) {
        for call in calls {
            self.0.entry((call.id.clone(), call.name.clone())).or_default().push(run);
        }
    }

    /// Takes the run of a result's call; the last one of several with the same id, because the others wait.
    fn take(&mut self, result: &StoredResult) -> Option<Id> {
        self.0.get_mut(&(result.tool_call_id.clone(), result.name.clone()))?.pop()
    }
}

fn role_of(word: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::Tool].into_iter().find(|role| role.word() == word)
}

fn checked(document: &Exported) -> Result<()> {
    let wrong = |text: String| Err(Error::bad_args(text));
    if document.format != FORMAT || document.version != VERSION {
        return wrong(format!(
            "this is no conversation Hob can read: `format` must be \"{FORMAT}\" and `version` {VERSION}"
        ));
    }
    if document.messages.is_empty() {
        return wrong("the conversation has no messages: export one that has some".into());
    }
    let count: usize = document.messages.iter().map(|m| m.tool_results.len().max(1)).sum();
    if count > MESSAGES {
        return wrong(format!("there are {count} messages, and {MESSAGES} is the most: leave the oldest out"));
    }
    let mut bytes = 0;
    for (n, message) in document.messages.iter().enumerate() {
        let Some(role) = role_of(&message.role) else {
            let text =
                format!("messages[{n}].role is `{}`: it must be user, assistant or tool", prefix(&message.role, TITLE));
            return wrong(text);
        };
        if (role == Role::Tool) == message.tool_results.is_empty() {
            return wrong(format!(
                "messages[{n}]: toolResults belong to messages of the role tool, which have one at least"
            ));
        }
        // It would be stored once for each result.
        if role == Role::Tool && !message.content.is_empty() {
            return wrong(format!("messages[{n}].content must be empty: results belong in toolResults"));
        }
        if role != Role::Assistant && !message.tool_calls.is_empty() {
            return wrong(format!("messages[{n}]: toolCalls belong to messages of the role assistant"));
        }
        bytes += message.content.len() + message.model.len();
        bytes += message.tool_calls.iter().map(|c| c.id.len() + c.name.len() + c.arguments.len()).sum::<usize>();
        let said = |r: &StoredResult| r.say.as_ref().map_or(0, String::len);
        let results = message.tool_results.iter();
        bytes += results.map(|r| r.tool_call_id.len() + r.name.len() + r.content.len() + said(r)).sum::<usize>();
    }
    if bytes > BYTES {
        return wrong(format!("the conversation has {bytes} bytes of text, and {} MB is the most", BYTES >> 20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conversations_are_brought_in() {
        let message = |role: &str| ExportedMessage {
            role: role.into(),
            content: "x".into(),
            tool_calls: vec![],
            tool_results: vec![],
            media: vec![],
            model: String::new(),
            created_at: 0,
        };
        let document = |messages: Vec<ExportedMessage>| Exported {
            format: FORMAT.into(),
            version: 1,
            title: String::new(),
            created_at: 0,
            forked_from: None,
            system_prompt: String::new(),
            metadata: Map::new(),
            messages,
        };
        let call = || StoredCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
        let result = || StoredResult {
            tool_call_id: "c".into(),
            name: "t".into(),
            content: "x".into(),
            say: Some("x".repeat(BYTES)),
            is_error: false,
            duration_ms: 1,
        };
        assert!(checked(&document(vec![message("user"), message("assistant")])).is_ok());
        let spoken = ExportedMessage { content: String::new(), tool_results: vec![result()], ..message("tool") };
        let long = ExportedMessage { content: "x".repeat(BYTES + 1), ..message("user") };
        let rows = [
            (Exported { format: "other".into(), ..document(vec![message("user")]) }, "`format`"),
            (Exported { version: 2, ..document(vec![message("user")]) }, "`version`"),
            (document(vec![]), "no messages"),
            (document(vec![message("system")]), "messages[0].role"),
            (document(vec![message("user"), message("tool")]), "messages[1]: toolResults"),
            (document(vec![ExportedMessage { tool_results: vec![result()], ..message("tool") }]), "must be empty"),
            (document(vec![ExportedMessage { tool_calls: vec![call()], ..message("user") }]), "toolCalls"),
            (document(vec![message("user"); MESSAGES + 1]), "10000 is the most"),
            (document(vec![long]), "5 MB"),
            (document(vec![spoken]), "5 MB"),
        ];
        for (document, part) in rows {
            let why = checked(&document).unwrap_err();
            assert!(why.message().contains(part), "{why}");
        }
    }
}
