//! Conversations as they are stored: a head, and one record for each message in the order it happened.

use llm::{Message, ToolCall, ToolResult};
use registry::Registry;
use scrub::How;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use store::{Coded, Collection, Key, Level, Listing, Record, Store};
use tool::{
    Cx, Error, Id, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The head of a conversation. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Head {
    title: String,
    messages: u32,
}

impl Record for Head {
    const NAME: &'static str = "conversations";
    const WORD: &'static str = "conversation";
    const LEVEL: Level = Level::User;
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
}

impl Coded for Role {
    const ALL: &'static [Self] = &[Role::User, Role::Assistant, Role::Tool];
    const UNKNOWN: Self = Role::Assistant;
}

/// One message. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub conversation: Id,
    run: Id,
    #[serde(with = "store::coded")]
    role: Role,
    pub content: String,
    /// `[StoredCall]` as JSON text: a struct inside a record could never grow.
    calls: String,
    /// A `StoredResult` as JSON text; empty is none.
    result: String,
    model: String,
}

impl Record for Line {
    const NAME: &'static str = "messages";
    const WORD: &'static str = "message";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

/// A tool call as it is stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredCall {
    /// The provider's id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them; without secrets.
    pub arguments: String,
}

/// What a call gave, as it is stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredResult {
    /// The id of the call it answers.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// What the model was told.
    pub content: String,
    /// What the person is told.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// A conversation in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// Its id.
    pub id: Id,
    /// The beginning of its first message.
    pub title: String,
    /// When it began: milliseconds since 1970.
    pub created_at: u64,
    /// When it last went on: milliseconds since 1970.
    pub updated_at: u64,
    /// How many messages it has.
    pub message_count: u32,
    /// Where the words that were searched for stand, unless all of them are in the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// One message as it is shown.
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
    /// What a call gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<StoredResult>,
    /// The model that said it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// When: milliseconds since 1970.
    pub created_at: u64,
}

/// A conversation with all its messages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Conversation {
    /// Its head.
    #[serde(flatten)]
    pub head: ConversationSummary,
    /// Its messages, the first first.
    pub messages: Vec<StoredMessage>,
}

/// What stands between two messages of the person when a run failed: some chat templates demand that they take turns.
const NO_ANSWER: &str = "(no answer was given)";

/// How much of a conversation a run reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reads {
    /// The last exchange of words: what the person said before, and the answer.
    Exchange,
    /// So many of the newest messages.
    Last(usize),
}

/// How long a title is, in characters.
const TITLE: usize = 60;

/// How a run stands that rested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Other calls of the same turn have no result yet.
    Waits,
    /// All calls have one, and nothing was said since.
    Last,
    /// All calls have one, and the conversation has gone on meanwhile.
    Overtaken,
}

#[derive(Clone)]
pub(crate) struct Conversations {
    heads: Collection<Head>,
    pub lines: Collection<Line>,
    /// What is kept is kept without secrets.
    registry: Registry,
}

impl Conversations {
    pub fn new(store: &Store, registry: Registry) -> Self {
        Self { heads: store.collection(), lines: store.collection(), registry }
    }

    /// Whether this person has that conversation.
    pub fn check(&self, cx: &Cx, id: Id) -> Result<()> {
        self.heads.get(cx, id)?.map(drop).ok_or_else(|| missing(id))
    }

    pub fn list(&self, cx: &Cx) -> Result<Vec<ConversationSummary>> {
        // The latest first is by change, not by birth; a household has few enough to sort them all.
        let mut all: Vec<_> = self.heads.list(cx, &Listing::default())?.into_iter().map(summary).collect();
        all.sort_by_key(|c| std::cmp::Reverse((c.updated_at, c.id)));
        Ok(all)
    }

    pub fn get(&self, cx: &Cx, id: Id) -> Result<Conversation> {
        let head = self.heads.get(cx, id)?.map(summary).ok_or_else(|| missing(id))?;
        let head = self.clean_head(head);
        let messages = self.lines(cx, id, 0)?.into_iter().map(shown).collect();
        Ok(Conversation { head, messages })
    }

    /// Stores the person's message and answers what the model will read, the new message last.
    pub async fn begin(&self, cx: &Cx, id: Id, run: Id, text: &str, reads: Reads) -> Result<Vec<Message>> {
        // Reading first: what the model is shown from outside must taint this run.
        let lines = match reads {
            Reads::Exchange => self.exchange(cx, id)?,
            Reads::Last(limit) => self.lines(cx, id, limit)?,
        };
        let mut history = answered(lines.into_iter().map(|(_, line)| line.into()).collect());
        self.add(cx, Line::new(id, run, Role::User, text)).await?;
        if matches!(history.last(), Some(Message::User(_))) {
            history.push(Message::Assistant { content: NO_ANSWER.into(), tool_calls: vec![] });
        }
        history.push(Message::User(text.to_owned()));
        Ok(history)
    }

    /// What the person said last and the words it was answered with, where nothing was called in between. It taints nothing:
    /// who reads no more than this only looks whether the answer is a question of their own to those words.
    fn exchange(&self, cx: &Cx, id: Id) -> Result<Vec<(Id, Line)>> {
        let by = Some((1, id.as_bytes().to_vec()));
        let mut lines = self.lines.list_in(Scope::User(cx.user()), &Listing { by, limit: 2, before: None })?;
        lines.reverse();
        let lines: Vec<_> = lines.into_iter().map(|e| (e.id, self.clean(e.value))).collect();
        Ok(match &lines[..] {
            [(_, said), (_, answer)]
                if said.role == Role::User && answer.role == Role::Assistant && answer.calls().is_empty() =>
            {
                lines
            }
            _ => vec![],
        })
    }

    /// Stores what the model said.
    pub async fn add_answer(&self, cx: &Cx, run: Id, text: &str, calls: &[ToolCall], model: &str) -> Result<()> {
        let mut line = Line::new(cx.conversation().unwrap_or_default(), run, Role::Assistant, text);
        let stored = |c: &ToolCall| StoredCall { id: c.id.clone(), name: c.name.clone(), arguments: self.kept(c) };
        line.calls = json(&calls.iter().map(stored).collect::<Vec<_>>());
        line.model = model.to_owned();
        self.add(cx, line).await
    }

    /// The arguments of a call as they are kept: as the model wrote them where there is nothing to take out.
    fn kept(&self, call: &ToolCall) -> String {
        let parsed: Result<Value, _> = serde_json::from_str(&call.arguments);
        let text = match parsed.map(|args| self.registry.masked(&call.name, &args)) {
            Ok((masked, true)) => masked.to_string(),
            Ok((_, false)) => call.arguments.clone(),
            Err(_) => match self.registry.masked(&call.name, &Value::String(call.arguments.clone())).0 {
                Value::String(text) => text,
                other => other.to_string(),
            },
        };
        self.registry.scrubber().text(&text, How::All).into_owned()
    }

    /// Stores what a call gave.
    pub async fn add_result(&self, cx: &Cx, run: Id, result: &ToolResult, duration_ms: u64) -> Result<()> {
        let mut line = Line::new(cx.conversation().unwrap_or_default(), run, Role::Tool, "");
        let r = result.clone();
        line.result = json(&StoredResult {
            tool_call_id: r.call_id,
            name: r.name,
            content: r.content,
            say: r.say,
            is_error: r.is_error,
            duration_ms,
        });
        self.add(cx, line).await
    }

    /// One commit for the message and the head that counts it; a first message makes the head.
    async fn add(&self, cx: &Cx, mut line: Line) -> Result<()> {
        if let Cow::Owned(clean) = self.registry.scrubber().text(&line.content, How::All) {
            line.content = clean;
        }
        let (this, conversation, id) = (self.clone(), line.conversation, Id::new());
        let (stamp, head_stamp) = (self.lines.stamp(cx, "chat"), self.heads.stamp(cx, "chat"));
        let scope = head_stamp.scope;
        self.heads
            .store()
            .write(move |tx| {
                let mut head = match this.heads.read(tx, scope, conversation)? {
                    Some(found) => found.value,
                    None => Head { title: title(&line.content), messages: 0 },
                };
                head.messages += 1;
                this.heads.put(tx, conversation, &head_stamp, &head)?;
                this.lines.put(tx, id, &stamp, &line).map(drop)
            })
            .await
            .map_err(Error::from)
    }

    /// The messages of a run's conversation as they are stored; the call of the run that waits; and how the run
    /// stands.
    pub fn resting(
        &self,
        cx: &Cx,
        id: Id,
        run: Id,
        call: &str,
        limit: usize,
    ) -> Result<(Vec<Message>, ToolCall, Standing)> {
        self.check(cx, id)?;
        let lines = self.lines(cx, id, limit)?;
        let waits = |line: &Line| line.run == run && line.calls().iter().any(|c| c.id == call);
        let at = lines.iter().rposition(|(_, line)| waits(line)).ok_or_else(|| missing(id))?;
        let given: Vec<String> =
            lines[at + 1..].iter().filter_map(|(_, l)| l.result().map(|r| r.tool_call_id)).collect();
        let last = lines[at + 1..].iter().all(|(_, line)| line.role == Role::Tool && line.run == run);
        let standing = match lines[at].1.calls().iter().all(|c| given.contains(&c.id)) {
            false => Standing::Waits,
            true if last => Standing::Last,
            true => Standing::Overtaken,
        };
        let stored = lines[at].1.calls().into_iter().find(|c| c.id == call).ok_or_else(|| missing(id))?;
        let call = ToolCall { id: stored.id, name: stored.name, arguments: stored.arguments };
        Ok((lines.into_iter().map(|(_, line)| line.into()).collect(), call, standing))
    }

    pub async fn delete(&self, cx: &Cx, id: Id) -> Result<()> {
        self.check(cx, id)?;
        let lines: Vec<Id> = self.lines(cx, id, 0)?.into_iter().map(|(id, _)| id).collect();
        let (this, scope) = (self.clone(), Scope::User(cx.user()));
        let delete = move |tx: &store::Tx| {
            for line in &lines {
                this.lines.remove(tx, scope, *line)?;
            }
            this.heads.remove(tx, scope, id).map(drop)
        };
        self.heads.store().write(delete).await.map_err(Error::from)
    }

    /// The messages in order, each with its id.
    fn lines(&self, cx: &Cx, id: Id, limit: usize) -> Result<Vec<(Id, Line)>> {
        let by = Some((1, id.as_bytes().to_vec()));
        let mut lines = self.lines.list(cx, &Listing { by, limit, before: None })?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| (e.id, self.clean(e.value))).collect())
    }

    /// A message without secrets: one may have become known as a secret since it was kept. Long hex was judged when the tool
    /// that gave it was known.
    fn clean(&self, mut line: Line) -> Line {
        for text in [&mut line.content, &mut line.calls, &mut line.result] {
            if let Cow::Owned(clean) = self.registry.scrubber().text(text, How::Digests) {
                *text = clean;
            }
        }
        line
    }

    /// The head of a conversation, likewise.
    pub fn clean_head(&self, mut head: ConversationSummary) -> ConversationSummary {
        for text in std::iter::once(&mut head.title).chain(&mut head.excerpt) {
            if let Cow::Owned(clean) = self.registry.scrubber().text(text, How::Digests) {
                *text = clean;
            }
        }
        head
    }
}

impl Line {
    fn new(conversation: Id, run: Id, role: Role, content: &str) -> Self {
        let content = content.to_owned();
        Self { conversation, run, role, content, calls: String::new(), result: String::new(), model: String::new() }
    }
    fn calls(&self) -> Vec<StoredCall> {
        serde_json::from_str(&self.calls).unwrap_or_default()
    }
    fn result(&self) -> Option<StoredResult> {
        serde_json::from_str(&self.result).ok()
    }
}

impl From<Line> for Message {
    fn from(line: Line) -> Self {
        match (line.role, line.result()) {
            (Role::User, _) => Message::User(line.content),
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
                Message::Assistant { content: line.content, tool_calls }
            }
        }
    }
}

/// JSON text of what cannot fail to have it.
fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Every call gets an answer: a run that was cut (power, a limit, a stop) leaves calls without one, and servers refuse
/// such a history. Answers to calls that are not shown are left out for the same reason.
pub(crate) fn answered(lines: Vec<Message>) -> Vec<Message> {
    let mut whole = Vec::with_capacity(lines.len());
    let mut late = late_results(&lines);
    let mut lines = lines.into_iter().peekable();
    while let Some(message) = lines.next() {
        let calls = match &message {
            Message::Tool(_) => continue,
            Message::Assistant { tool_calls, .. } => tool_calls.clone(),
            _ => vec![],
        };
        if matches!((&message, whole.last()), (Message::User(_), Some(Message::User(_)))) {
            whole.push(Message::Assistant { content: NO_ANSWER.into(), tool_calls: vec![] });
        }
        // Two answers in a row, of which one was late, are one to servers that want turns.
        if let Message::Assistant { content, tool_calls } = &message
            && tool_calls.is_empty()
            && let Some(Message::Assistant { content: before, tool_calls: none }) = whole.last_mut()
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

/// Results that do not stand under their call: of calls that waited for a person while the conversation went on.
fn late_results(lines: &[Message]) -> Vec<ToolResult> {
    let mut late = vec![];
    let mut open: Vec<&str> = vec![];
    for message in lines {
        match message {
            Message::Tool(result) => match open.iter().position(|id| *id == result.call_id) {
                Some(at) => drop(open.remove(at)),
                None => late.push(result.clone()),
            },
            Message::Assistant { tool_calls, .. } => open = tool_calls.iter().map(|c| c.id.as_str()).collect(),
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

fn summary(entry: store::Entry<Head>) -> ConversationSummary {
    ConversationSummary {
        id: entry.id,
        title: entry.value.title,
        created_at: entry.id.millis(),
        updated_at: entry.updated_ms,
        message_count: entry.value.messages,
        excerpt: None,
    }
}

fn shown((id, line): (Id, Line)) -> StoredMessage {
    StoredMessage {
        id,
        run_id: line.run,
        role: match line.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        },
        tool_calls: line.calls(),
        tool_results: line.result().into_iter().collect(),
        content: line.content,
        model: line.model,
        created_at: id.millis(),
    }
}

fn title(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no conversation {id} of yours: leave conversationId out to begin a new one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall { id: id.to_string(), name: "t".into(), arguments: "{}".into() };
        Message::Assistant { content: "".into(), tool_calls: ids.iter().map(call).collect() }
    }
    fn gave(id: &str) -> Message {
        let content = "ok".into();
        Message::Tool(ToolResult { call_id: id.into(), name: "t".into(), content, say: None, is_error: false })
    }

    #[test]
    fn every_call_is_answered_and_every_answer_was_asked_for() {
        let said = || Message::User("next".into());
        let history =
            vec![gave("lost"), asked(&["a", "b"]), gave("b"), said(), asked(&["a"]), gave("a"), asked(&["c"])];
        let shown: Vec<String> = answered(history)
            .iter()
            .map(|m| match m {
                Message::Tool(r) => format!("{}{}", r.call_id, if r.is_error { "!" } else { "" }),
                Message::Assistant { .. } => "asked".into(),
                _ => "said".into(),
            })
            .collect();
        assert_eq!(shown, ["asked", "a!", "b", "said", "asked", "a", "asked", "c!"]);
    }
}
