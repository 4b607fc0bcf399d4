//! Conversations as they are stored: a head, and one record for each message in the order it happened.

use crate::{
    config::Persistence,
    conversation_settings::metadata_of,
    journal::{self, StoredRun},
    messages::{MessageRecord, Role, StoredCall, StoredMedia, StoredMessage, StoredResult, answered, json, messages},
};
use llm::{Content, Message, Part, ProviderState, ToolCall, ToolResult};
use registry::Registry;
use scrub::How;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use store::{Collection, Entry, Level, Listing, Record, Store};
use tool::{
    Channel, Cx, Error, Id, Label, Result, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// The head of a conversation. New fields go last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    pub title: String,
    pub messages: u32,
    /// The conversation it was copied from.
    pub forked_from: Option<Id>,
    /// How long it is kept.
    #[serde(with = "store::coded")]
    pub keeps: Persistence,
    /// Instructions that hold in this conversation; only people write them.
    pub system_prompt: String,
    /// An object of people's programs, as JSON text; empty for none.
    pub metadata: String,
}

impl Record for Head {
    const NAME: &'static str = "conversations";
    const WORD: &'static str = "conversation";
    const LEVEL: Level = Level::User;
}

/// A conversation in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// Its id.
    pub id: Id,
    /// The beginning of its first message, unless a person gave it another.
    pub title: String,
    /// When it began: milliseconds since 1970.
    pub created_at: u64,
    /// When it last went on: milliseconds since 1970.
    pub updated_at: u64,
    /// How many messages it has.
    pub message_count: u32,
    /// The conversation it was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Id>,
    /// About how many tokens all of it would take; only where one is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Where the words that were searched for stand, unless all of them are in the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Instructions that hold in this conversation, where a person gave some; only where one is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What a person's program keeps with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, Value>>,
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

/// How much of a conversation a run reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reads {
    /// The last exchange of words: what the person said before, and the answer.
    Exchange,
    /// So many of the newest messages; of those that begin a run only what stands behind its summary.
    Last(usize),
}

/// How many messages are read at once where it is not known how many there are.
const PAGE: usize = 64;

/// How long a title is, in characters.
const TITLE: usize = 60;

/// What an answer of the model is kept with.
#[derive(Default)]
pub(crate) struct Spoken<'a> {
    pub text: &'a str,
    pub calls: &'a [ToolCall],
    pub model: &'a str,
    pub media: &'a [StoredMedia],
    pub kept: Option<&'a ProviderState>,
}

/// A change of what is kept of a run, in the same commit as a message of it. May be made more than once.
pub(crate) type Change = Box<dyn FnMut(&mut StoredRun) + Send>;

#[derive(Clone)]
pub(crate) struct Conversations {
    pub heads: Collection<Head>,
    pub lines: Collection<MessageRecord>,
    pub runs: Collection<StoredRun>,
    /// What is kept is kept without secrets.
    pub registry: Registry,
    /// How long those are kept that begin.
    keeps: Persistence,
}

impl Conversations {
    pub fn new(store: &Store, registry: Registry, keeps: Persistence) -> Self {
        let (heads, lines, runs) = (store.collection(), store.collection(), store.collection());
        Self { heads, lines, runs, registry, keeps }
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
        let mut head = self.head(cx, id)?;
        let messages: Vec<StoredMessage> =
            self.lines(cx, id, 0)?.into_iter().map(|e| e.value.into_stored_message(e.id)).collect();
        head.tokens = Some(messages.iter().map(tokens_of).sum());
        Ok(Conversation { head, messages })
    }

    pub fn head(&self, cx: &Cx, id: Id) -> Result<ConversationSummary> {
        let head = self.heads.get(cx, id)?.map(summary).ok_or_else(|| missing(id))?;
        Ok(self.clean_head(head))
    }

    /// Stores the person's message and the run that is to answer it in one commit, and answers what the model will read, the
    /// new message last. What a summary covers, up to `after`, is not read.
    pub async fn begin(
        &self,
        cx: &Cx,
        id: Id,
        content: &Content,
        stored: StoredRun,
        reads: Reads,
        after: Option<Id>,
    ) -> Result<Vec<Message>> {
        // Reading first: what the model is shown from outside must taint this run.
        let lines = match reads {
            Reads::Exchange => self.exchange(cx, id)?,
            Reads::Last(limit) => self.lines_behind(cx, id, limit, after)?,
        };
        vouch(cx, &lines);
        if matches!(reads, Reads::Last(_)) && content.media().next().is_some() {
            // The person sends a file, and did not write it.
            cx.taint(Label::Outside);
        }
        if !is_filled(cx) {
            cx.vouch_for(&content.text());
        }
        let mut history = answered(messages(lines.into_iter().map(|e| e.value).collect()));
        let mut begun = stored;
        begun.tainted |= cx.label() == tool::Label::Outside;
        self.add(
            cx,
            MessageRecord::from_user(id, cx.run().unwrap_or_default(), &self.without_secrets(content.clone())),
            Begins::Run(Box::new(begun)),
        )
        .await?;
        history.push(Message::User(content.clone()));
        Ok(history)
    }

    /// What the person said last and the words it was answered with, where nothing was called in between. It taints nothing:
    /// who reads no more than this only looks whether the answer is a question of their own to those words.
    fn exchange(&self, cx: &Cx, id: Id) -> Result<Vec<Entry<MessageRecord>>> {
        let by = Some((1, id.as_bytes().to_vec()));
        let mut lines = self.lines.list_in(Scope::User(cx.user()), &Listing { by, limit: 2, before: None })?;
        lines.reverse();
        let lines: Vec<_> = lines.into_iter().map(|e| self.clean(e)).collect();
        Ok(if is_exchange(&lines) { lines } else { vec![] })
    }

    /// Stores what the model said, and what comes of it for the run.
    pub async fn add_answer(&self, cx: &Cx, run: Id, spoken: &Spoken<'_>, change: Change) -> Result<()> {
        let mut line = MessageRecord::new(cx.conversation().unwrap_or_default(), run, Role::Assistant, spoken.text);
        let stored =
            |c: &ToolCall| StoredCall { id: c.id.clone(), name: c.name.clone(), arguments: self.stored_arguments(c) };
        line.calls = json(&spoken.calls.iter().map(stored).collect::<Vec<_>>());
        line.model = spoken.model.to_owned();
        if !spoken.media.is_empty() {
            line.parts = json(&spoken.media);
        }
        // What was changed is of no use to the provider.
        let whole = |kept: &String| matches!(self.registry.scrubber().text(kept, How::Digests), Cow::Borrowed(_));
        line.kept = spoken.kept.map(json).filter(whole).unwrap_or_default();
        self.add(cx, line, Begins::Change(change)).await
    }

    /// The arguments of a call as they are kept: as the model wrote them where there is nothing to take out.
    fn stored_arguments(&self, call: &ToolCall) -> String {
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
        let mut line = MessageRecord::new(cx.conversation().unwrap_or_default(), run, Role::Tool, "");
        let r = result.clone();
        line.result = json(&StoredResult {
            tool_call_id: r.call_id,
            name: r.name,
            content: r.content,
            say: r.say,
            is_error: r.is_error,
            duration_ms,
        });
        self.add(cx, line, Begins::Change(Box::new(StoredRun::comes_further))).await
    }

    /// One commit for the message, the head that counts it and what is kept of the run; a first message makes the head.
    async fn add(&self, cx: &Cx, mut line: MessageRecord, mut begins: Begins) -> Result<()> {
        if let Cow::Owned(clean) = self.registry.scrubber().text(&line.content, How::All) {
            line.content = clean;
        }
        if let Cow::Owned(clean) = self.registry.scrubber().text(&line.parts, How::Digests) {
            line.parts = clean;
        }
        let (this, conversation, id) = (self.clone(), line.conversation, Id::new());
        // With its result it is known that a call was made.
        let made = line.result().map(|result| store::effect_key(line.run, &result.tool_call_id));
        let (mut stamp, head_stamp) =
            (self.lines.stamp(cx, if is_filled(cx) { FILLED } else { CHAT }), self.heads.stamp(cx, "chat"));
        let (scope, run_stamp, tainted) =
            (head_stamp.scope, journal::stamp(cx.user()), stamp.label == tool::Label::Outside);
        stamp.label = stamp.label.max(label_of(&line));
        self.heads
            .store()
            .write(move |tx| {
                let mut head = match this.heads.read(tx, scope, conversation)? {
                    Some(found) => found.value,
                    None => Head { title: title(&line), keeps: this.keeps, ..Head::default() },
                };
                head.messages += 1;
                this.heads.put(tx, conversation, &head_stamp, &head)?;
                match &mut begins {
                    Begins::Run(run) => {
                        // Whoever stopped it as its turn came has stopped it.
                        if this.runs.read(tx, scope, line.run)?.is_some_and(|e| !e.value.state.is_open()) {
                            return Err(store::Error::Missing("this run is over".into()));
                        }
                        this.runs.put(tx, line.run, &run_stamp, run).map(drop)?;
                    }
                    Begins::Change(change) => this.change_in(tx, scope, line.run, &mut |run| {
                        change(run);
                        run.tainted |= tainted;
                    })?,
                }
                if let Some(key) = made {
                    this.lines.store().forget_effect(tx, key)?;
                }
                this.lines.put(tx, id, &stamp, &line).map(drop)
            })
            .await
            .map_err(Error::from)
    }

    /// Within a write: changes what is kept of a run, where something is.
    fn change_in(
        &self,
        tx: &store::Tx,
        scope: Scope,
        run: Id,
        change: &mut dyn FnMut(&mut StoredRun),
    ) -> store::Result<()> {
        let changed = self.runs.change(tx, scope, tool::Label::Own, run, &mut |stored: &mut StoredRun| {
            change(stored);
            Ok(())
        });
        match changed {
            Err(store::Error::Missing(_)) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Changes what is kept of a run.
    ///
    /// # Errors
    /// `NotFound` when nothing is; `Unavailable` when the disk is full.
    pub async fn change_run(
        &self,
        user: UserId,
        run: Id,
        mut change: impl FnMut(&mut StoredRun) + Send + 'static,
    ) -> Result<StoredRun> {
        let changed = self.runs.update_in(Scope::User(user), tool::Label::Own, run, move |stored| {
            change(stored);
            Ok(())
        });
        Ok(changed.await?.value)
    }

    /// Keeps that a run begins again where it ended, without what it had half said.
    pub async fn begin_again(&self, user: UserId, run: Id, conversation: Id, half: Option<Id>) -> Result<()> {
        let (this, scope) = (self.clone(), Scope::User(user));
        let write = move |tx: &store::Tx| {
            if let Some(half) = half
                && this.lines.remove(tx, scope, half)?
            {
                this.heads.change(tx, scope, tool::Label::Own, conversation, &mut |head: &mut Head| {
                    head.messages = head.messages.saturating_sub(1);
                    Ok(())
                })?;
            }
            this.change_in(tx, scope, run, &mut StoredRun::begins_again)
        };
        self.runs.store().write(write).await.map_err(Error::from)
    }

    /// Keeps a run whose message waits.
    pub async fn add_run(&self, user: UserId, run: Id, stored: StoredRun) -> Result<()> {
        let (this, stamp) = (self.clone(), journal::stamp(user));
        let write = move |tx: &store::Tx| this.runs.put(tx, run, &stamp, &stored).map(drop);
        self.runs.store().write(write).await.map_err(Error::from)
    }

    /// How long a conversation is kept.
    pub fn keeps(&self, user: UserId, id: Id) -> Persistence {
        let head = self.heads.get_in(Scope::User(user), id).ok().flatten();
        head.map_or(Persistence::Persistent, |head| head.value.keeps)
    }

    /// Whether a run of a conversation is not over, but for `run` itself.
    pub fn is_waited_for(&self, user: UserId, id: Id, run: Id) -> Result<bool> {
        let by = Some((1, id.as_bytes().to_vec()));
        let runs = self.runs.list_in(Scope::User(user), &Listing { by, limit: 0, before: None })?;
        Ok(runs.iter().any(|e| e.id != run && e.value.state.is_open()))
    }

    /// Deletes the messages and runs of a conversation, and on demand its head too.
    pub async fn empty(&self, user: UserId, id: Id, head_too: bool) -> Result<()> {
        let (this, scope) = (self.clone(), Scope::User(user));
        let delete = move |tx: &store::Tx| {
            for line in this.lines.find(tx, scope, 1, id.as_bytes())? {
                this.lines.remove(tx, scope, line.id)?;
            }
            for run in this.runs.find(tx, scope, 1, id.as_bytes())? {
                this.runs.remove(tx, scope, run.id)?;
            }
            crate::compact::forget(this.lines.store(), tx, scope, id)?;
            if head_too {
                return this.heads.remove(tx, scope, id).map(drop);
            }
            let emptied = this.heads.change(tx, scope, tool::Label::Own, id, &mut |head: &mut Head| {
                head.messages = 0;
                Ok(())
            });
            emptied.map(drop)
        };
        self.heads.store().write(delete).await.map_err(Error::from)
    }

    /// The messages in order.
    pub fn lines(&self, cx: &Cx, id: Id, limit: usize) -> Result<Vec<Entry<MessageRecord>>> {
        let by = Some((1, id.as_bytes().to_vec()));
        let mut lines = self.lines.list(cx, &Listing { by, limit, before: None })?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| self.clean(e)).collect())
    }

    /// Of the newest messages those behind one, in order, and no more than `limit`.
    fn lines_behind(&self, cx: &Cx, id: Id, limit: usize, after: Option<Id>) -> Result<Vec<Entry<MessageRecord>>> {
        let Some(after) = after else { return self.lines(cx, id, limit) };
        let (by, mut lines, mut before) = (Some((1, id.as_bytes().to_vec())), vec![], None);
        while lines.len() < limit {
            let page =
                self.lines.list(cx, &Listing { by: by.clone(), limit: PAGE.min(limit - lines.len()), before })?;
            before = page.last().map(|line| line.id);
            lines.extend(page.into_iter().take_while(|line| line.id > after).map(|e| self.clean(e)));
            if before.is_none_or(|oldest| oldest <= after) {
                break;
            }
        }
        lines.reverse();
        Ok(lines)
    }

    /// A message without secrets: one may have become known as a secret since it was kept. Long hex was judged when the tool
    /// that gave it was known.
    pub fn clean(&self, mut entry: Entry<MessageRecord>) -> Entry<MessageRecord> {
        let line = &mut entry.value;
        for text in [&mut line.content, &mut line.calls, &mut line.result, &mut line.parts] {
            if let Cow::Owned(clean) = self.registry.scrubber().text(text, How::Digests) {
                *text = clean;
            }
        }
        if let Cow::Owned(_) = self.registry.scrubber().text(&line.kept, How::Digests) {
            line.kept.clear();
        }
        // Before files counted as from outside, such a message was stored as the person's own.
        entry.label = entry.label.max(label_of(&entry.value));
        entry
    }

    /// What a person says, likewise.
    pub fn without_secrets(&self, mut said: Content) -> Content {
        for part in &mut said.0 {
            if let Part::Text(text) = part
                && let Cow::Owned(clean) = self.registry.scrubber().text(text, How::All)
            {
                *text = clean;
            }
        }
        said
    }

    /// The head of a conversation, likewise.
    pub fn clean_head(&self, mut head: ConversationSummary) -> ConversationSummary {
        for text in std::iter::once(&mut head.title).chain(&mut head.excerpt) {
            if let Cow::Owned(clean) = self.registry.scrubber().text(text, How::Digests) {
                *text = clean;
            }
        }
        self.clean_settings(&mut head);
        head
    }
}

/// What a message does to its run.
enum Begins {
    /// It begins it.
    Run(Box<StoredRun>),
    /// It changes it.
    Change(Change),
}

/// What made a message: a person's words and what followed, or what a trigger filled in and what followed.
const CHAT: &str = "chat";
const FILLED: &str = "filled";

/// Where what stands in a message comes from: of files that a person sends, nobody here wrote what is in them.
fn label_of(line: &MessageRecord) -> Label {
    if line.role == Role::User && !line.parts.is_empty() { Label::Outside } else { Label::Own }
}

/// Whether what is said was filled in from outside, and nobody wrote it.
fn is_filled(cx: &Cx) -> bool {
    cx.via().channel == Channel::Machine && cx.label() == Label::Outside
}

/// Addresses the person wrote were not made up by a model. What was brought in or filled in, nobody here wrote.
pub(crate) fn vouch(cx: &Cx, lines: &[Entry<MessageRecord>]) {
    if !is_filled(cx) {
        let said = lines.iter().filter(|e| e.value.role == Role::User && e.source == CHAT);
        said.for_each(|e| cx.vouch_for(&e.value.content));
    }
}

/// Whether these are words and their answer in words.
pub(crate) fn is_exchange(lines: &[Entry<MessageRecord>]) -> bool {
    match lines {
        [said, answer] => {
            said.value.role == Role::User && answer.value.role == Role::Assistant && answer.value.calls().is_empty()
        }
        _ => false,
    }
}

pub(crate) fn summary(entry: Entry<Head>) -> ConversationSummary {
    ConversationSummary {
        id: entry.id,
        title: entry.value.title,
        created_at: entry.id.millis(),
        updated_at: entry.updated_ms,
        message_count: entry.value.messages,
        forked_from: entry.value.forked_from,
        tokens: None,
        excerpt: None,
        system_prompt: Some(entry.value.system_prompt).filter(|prompt| !prompt.is_empty()),
        metadata: Some(metadata_of(&entry.value.metadata)).filter(|metadata| !metadata.is_empty()),
    }
}

/// Four characters a token, fifty characters for each call and result, and a picture for fifteen hundred tokens.
fn tokens_of(message: &StoredMessage) -> u64 {
    let calls: usize = message.tool_calls.iter().map(|c| c.arguments.len() + 50).sum();
    let results: usize = message.tool_results.iter().map(|r| r.content.len() + 50).sum();
    ((message.content.len() + calls + results) / 4 + message.media.len() * 1500) as u64 + 1
}

fn title(line: &MessageRecord) -> String {
    let words = line.content.split_whitespace().collect::<Vec<_>>().join(" ");
    let line =
        if words.is_empty() { line.media().into_iter().map(|m| m.name).collect::<Vec<_>>().join(", ") } else { words };
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

pub(crate) fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no conversation {id} of yours: leave conversationId out to begin a new one"))
}
