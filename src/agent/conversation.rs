//! Stored conversations: a head, one record for each message in order, and the runs that answer them. Below runs and prompts:
//! nothing here knows them.

mod continuation;
mod directory;
pub(crate) mod durability;
mod export;
mod messages;
mod own_answers;
mod pages;
mod search;
mod settings;
mod start_marks;
mod stored_run;
mod summary;
mod titles;

pub(crate) use continuation::ContinuationCache;
use directory::{Directory, Listed};
pub(crate) use messages::{MessageRecord, NO_ANSWER, Role, answered, kind_of, messages};
pub(crate) use own_answers::OwnAnswers;
pub(crate) use search::words;
pub(crate) use stored_run::{Begun, KILLS, RunFacts, StoredRun, run_stamp};
pub(crate) use summary::Summary;
pub use {
    export::{Exported, ExportedMessage, FORMAT},
    messages::{StoredCall, StoredMedia, StoredMessage, StoredResult},
    pages::{Conversation, ConversationPage, Cursor, MessagePage},
    settings::ConversationPatch,
    stored_run::State,
};

use crate::config::Persistence;
use llm::{Content, Message, Part, ProviderState, ToolCall, ToolResult};
use messages::json;
use registry::Registry;
use scrub::How;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::metadata_of;
use std::{borrow::Cow, time::Duration};
use store::{Collection, Entry, Level, Listing, Record, Store, Visit, Walk};
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
    /// How long the conversation is stored.
    #[serde(with = "store::coded")]
    pub keeps: Persistence,
    /// Instructions for this conversation; only people write them.
    pub system_prompt: String,
    /// Metadata of people's programs: an object as JSON text; empty for none.
    pub metadata: String,
}

impl Record for Head {
    const NAME: &'static str = "conversations";
    const WORD: &'static str = "conversation";
    const LEVEL: Level = Level::User;
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        self.title.clone()
    }
}

impl Listed for Head {
    type Facts = Persistence;
    fn facts(&self) -> Persistence {
        self.keeps
    }
    /// The latest change comes first.
    fn place(entry: &Entry<Self>) -> u64 {
        entry.updated_ms
    }
    const START: u8 = 2;
    /// A temporary conversation ends with its session.
    fn concerns_start(&self) -> bool {
        self.keeps != Persistence::Persistent
    }
}

/// A conversation without its messages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// Its id.
    pub id: Id,
    /// The beginning of its first message, or a title a person set.
    pub title: String,
    /// Time of creation: milliseconds since 1970.
    pub created_at: u64,
    /// Time of the last change: milliseconds since 1970.
    pub updated_at: u64,
    /// Number of messages.
    pub message_count: u32,
    /// The conversation it was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Id>,
    /// Approximate number of tokens of all messages, projected from those that are returned; only in the view of one
    /// conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Text around the words that were searched for, unless all of them are in the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Instructions for this conversation; only in the view of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Metadata of people's programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// How much of a conversation a run reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reads {
    /// The last exchange: the person's message, calls and results that are not from outside, and the answer.
    Exchange,
    /// This many of the newest messages; a run that begins reads only those after the summary.
    Last(usize),
}

/// Maximum length of a title, in characters.
const TITLE: usize = 60;

/// An answer of the model to be stored.
#[derive(Default)]
pub(crate) struct Spoken<'a> {
    pub text: &'a str,
    pub calls: &'a [ToolCall],
    pub model: &'a str,
    pub media: &'a [StoredMedia],
    pub kept: Option<&'a ProviderState>,
}

/// A change of a stored run, in the same commit as one of its messages. May be applied more than once.
pub(crate) type Change = Box<dyn FnMut(&mut StoredRun) + Send>;

/// The store of conversations; cheap to clone.
#[derive(Clone)]
pub(crate) struct Conversations {
    pub heads: Directory<Head>,
    pub lines: Collection<MessageRecord>,
    pub runs: Directory<StoredRun>,
    /// Knows the secrets to remove before storing.
    pub registry: Registry,
    /// How long new conversations are stored.
    keeps: Persistence,
}

impl Conversations {
    pub fn new(store: &Store, registry: Registry, keeps: Persistence) -> Self {
        let (heads, runs) = (Directory::new(store.collection()), Directory::new(store.collection()));
        let lines = store.collection();
        Self { heads, lines, runs, registry, keeps }
    }

    /// Checks that the conversation exists and is this person's.
    pub fn check(&self, cx: &Cx, id: Id) -> Result<()> {
        self.heads.get(cx, id)?.map(drop).ok_or_else(|| missing(id))
    }

    pub fn head(&self, cx: &Cx, id: Id) -> Result<ConversationSummary> {
        let head = self.heads.get(cx, id)?.map(summary).ok_or_else(|| missing(id))?;
        Ok(self.clean_head(head))
    }

    /// Stores the person's message and its run in one commit. Returns the history for the model with the new message last, from
    /// `after` on, where the summary ends.
    pub async fn begin(
        &self,
        cx: &Cx,
        id: Id,
        content: &Content,
        stored: StoredRun,
        reads: Reads,
        after: Option<Id>,
    ) -> Result<Vec<Message>> {
        // Read first: messages from outside must taint this run.
        let lines = match reads {
            Reads::Exchange => self.exchange(cx, id)?,
            Reads::Last(limit) => self.lines_after(cx, id, limit, after)?,
        };
        vouch(cx, &lines);
        if matches!(reads, Reads::Last(_)) && content.media().next().is_some() {
            // The person did not write the file.
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
            RunChange::Begin(Box::new(begun)),
            Some(durability::SOON),
        )
        .await?;
        history.push(Message::User(content.clone()));
        Ok(history)
    }

    /// The person's last messages with the calls made for them and the answers. Does not taint: `reflex`, which reads only this,
    /// checks whether the answer is its own question, and finds what "it" means among results that are not from outside.
    fn exchange(&self, cx: &Cx, id: Id) -> Result<Vec<Entry<MessageRecord>>> {
        let mut lines = self.lines.list_in(Scope::User(cx.user()), &of_conversation(id, EXCHANGE))?;
        lines.reverse();
        let lines: Vec<_> = lines.into_iter().map(|e| self.clean(e)).collect();
        let from = last_exchange(&lines);
        Ok(lines.into_iter().skip(from).collect())
    }

    /// Stores an answer of the model with the change of its run. On disk before this returns, or `within` a time.
    pub async fn add_answer(
        &self,
        cx: &Cx,
        run: Id,
        spoken: &Spoken<'_>,
        change: Change,
        within: Option<Duration>,
    ) -> Result<()> {
        let mut line = MessageRecord::new(cx.conversation().unwrap_or_default(), run, Role::Assistant, spoken.text);
        let stored =
            |c: &ToolCall| StoredCall { id: c.id.clone(), name: c.name.clone(), arguments: self.stored_arguments(c) };
        line.calls = json(&spoken.calls.iter().map(stored).collect::<Vec<_>>());
        line.model = spoken.model.to_owned();
        if !spoken.media.is_empty() {
            line.parts = json(&spoken.media);
        }
        // A provider cannot use a redacted state.
        let whole = |kept: &String| matches!(self.registry.scrubber().text(kept, How::Digests), Cow::Borrowed(_));
        line.kept = spoken.kept.map(json).filter(whole).unwrap_or_default();
        self.add(cx, line, RunChange::Update(change), within).await
    }

    /// The arguments of a call without secrets; unchanged when there are none.
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

    /// Stores the result of a call. On disk before this returns, or `within` a time.
    pub async fn add_result(
        &self,
        cx: &Cx,
        run: Id,
        result: &ToolResult,
        duration_ms: u64,
        within: Option<Duration>,
    ) -> Result<()> {
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
        self.add(cx, line, RunChange::Update(Box::new(StoredRun::made_progress)), within).await
    }

    /// Stores a message, the head that counts it, and the change of its run, in one commit. The first message creates the head.
    async fn add(
        &self,
        cx: &Cx,
        mut line: MessageRecord,
        mut run_change: RunChange,
        within: Option<Duration>,
    ) -> Result<()> {
        if let Cow::Owned(clean) = self.registry.scrubber().text(&line.content, How::All) {
            line.content = clean;
        }
        if let Cow::Owned(clean) = self.registry.scrubber().text(&line.parts, How::Digests) {
            line.parts = clean;
        }
        let (this, conversation, id) = (self.clone(), line.conversation, Id::new());
        // The result replaces the mark of the call's effect.
        let made = line.result().map(|result| store::effect_key(line.run, &result.tool_call_id));
        let (mut stamp, head_stamp) =
            (self.lines.stamp(cx, if is_filled(cx) { FILLED } else { CHAT }), self.heads.stamp(cx, "chat"));
        let (scope, run_stamp, tainted) = (head_stamp.scope, run_stamp(cx.user()), stamp.label == tool::Label::Outside);
        stamp.label = stamp.label.max(label_of(&line));
        let title = self.title_for(cx.user(), &line)?;
        let write = move |tx: &store::Tx| {
            let mut head = match this.heads.read(tx, scope, conversation)? {
                Some(found) => found.value,
                None => Head { title: title.clone().unwrap_or_default(), keeps: this.keeps, ..Head::default() },
            };
            head.messages += 1;
            this.heads.put(tx, conversation, &head_stamp, &head)?;
            match &mut run_change {
                RunChange::Begin(run) => {
                    // The person may have stopped it just before its turn.
                    if this.runs.read(tx, scope, line.run)?.is_some_and(|e| !e.value.state.is_open()) {
                        return Err(store::Error::Missing("this run is over".into()));
                    }
                    this.runs.put(tx, line.run, &run_stamp, run).map(drop)?;
                }
                RunChange::Update(change) => this.change_in(tx, scope, line.run, &mut |run| {
                    change(run);
                    run.tainted |= tainted;
                })?,
            }
            if let Some(key) = made {
                this.lines.store().forget_effect(tx, key)?;
            }
            this.lines.put(tx, id, &stamp, &line).map(drop)
        };
        self.write(within, write).await
    }

    async fn write<T: Send + 'static>(
        &self,
        within: Option<Duration>,
        write: impl FnMut(&store::Tx) -> store::Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.heads.store();
        let written = match within {
            Some(within) => store.write_soon(within, write).await,
            None => store.write(write).await,
        };
        written.map_err(Error::from)
    }

    /// Within a write: changes a stored run, if there is one.
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

    /// Changes a stored run.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Unavailable` when the disk is full.
    pub async fn change_run(
        &self,
        user: UserId,
        run: Id,
        change: impl FnMut(&mut StoredRun) + Send + 'static,
    ) -> Result<StoredRun> {
        self.change_run_within(None, user, run, change).await
    }

    /// The same; on disk before this returns, or `within` a time.
    pub async fn change_run_within(
        &self,
        within: Option<Duration>,
        user: UserId,
        run: Id,
        mut change: impl FnMut(&mut StoredRun) + Send + 'static,
    ) -> Result<StoredRun> {
        let runs = self.runs.clone();
        let write = move |tx: &store::Tx| {
            let change = &mut |stored: &mut StoredRun| {
                change(stored);
                Ok(())
            };
            runs.change(tx, Scope::User(user), tool::Label::Own, run, change)
        };
        Ok(self.write(within, write).await?.value)
    }

    /// Stores that a run restarts where it ended, and deletes its partial answer `half`.
    pub async fn reopen_run(&self, user: UserId, run: Id, conversation: Id, half: Option<Id>) -> Result<()> {
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
            this.change_in(tx, scope, run, &mut StoredRun::reopen)
        };
        self.runs.store().write(write).await.map_err(Error::from)
    }

    /// Stores a queued run.
    pub async fn add_run(&self, user: UserId, run: Id, stored: StoredRun) -> Result<()> {
        let (this, stamp) = (self.clone(), run_stamp(user));
        let write = move |tx: &store::Tx| this.runs.put(tx, run, &stamp, &stored).map(drop);
        self.runs.store().write(write).await.map_err(Error::from)
    }

    /// How long a conversation is stored.
    pub fn keeps(&self, user: UserId, id: Id) -> Persistence {
        let head = self.heads.get_in(Scope::User(user), id).ok().flatten();
        head.map_or(Persistence::Persistent, |head| head.value.keeps)
    }

    /// Whether another run of a conversation has not ended.
    pub fn is_waited_for(&self, user: UserId, id: Id, run: Id) -> Result<bool> {
        let runs = self.runs.list_in(Scope::User(user), &of_conversation(id, 0))?;
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
            this.lines.store().collection::<Summary>().remove(tx, scope, id)?;
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
        let mut lines = self.lines.list(cx, &of_conversation(id, limit))?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| self.clean(e)).collect())
    }

    /// All messages in order; taints nothing.
    pub fn all(&self, cx: &Cx, id: Id) -> Result<Vec<Entry<MessageRecord>>> {
        self.newest(cx, id, 0)
    }

    pub fn newest(&self, cx: &Cx, id: Id, limit: usize) -> Result<Vec<Entry<MessageRecord>>> {
        let mut lines = self.lines.list_in(Scope::User(cx.user()), &of_conversation(id, limit))?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| self.clean(e)).collect())
    }

    /// The newest messages after one, in order, at most `limit`: one walk from the end of the conversation.
    fn lines_after(&self, cx: &Cx, id: Id, limit: usize, after: Option<Id>) -> Result<Vec<Entry<MessageRecord>>> {
        let mut found = 0;
        let mut lines = self.lines.walk(cx, &Walk::prefix(1, id.as_bytes()).down(), |line| {
            found += 1;
            match found > limit || after.is_some_and(|after| line.id <= after) {
                true => Visit::Stop,
                false => Visit::Yes,
            }
        })?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| self.clean(e)).collect())
    }

    /// Removes secrets that became known after a message was stored. Long hex was judged when it was stored, with its tool
    /// known.
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
        // Old records of messages with files have the label `Own`.
        entry.label = entry.label.max(label_of(&entry.value));
        entry
    }

    /// Removes secrets from a person's message.
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

    /// Removes secrets from a conversation's summary.
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

/// The newest records of a conversation, at most `limit`; 0 is all.
pub(crate) fn of_conversation(id: Id, limit: usize) -> Listing {
    Listing { by: Some((1, id.as_bytes().to_vec())), limit, before: None }
}

/// The change of a run that is stored with a message.
enum RunChange {
    /// The run begins.
    Begin(Box<StoredRun>),
    /// The run changes.
    Update(Change),
}

/// Sources of messages: a person's message and its answers, or a trigger's message and its answers.
const CHAT: &str = "chat";
const FILLED: &str = "filled";

/// The label of a message: nobody here wrote the files in it.
fn label_of(line: &MessageRecord) -> Label {
    if line.role == Role::User && !line.parts.is_empty() { Label::Outside } else { Label::Own }
}

/// Whether a trigger filled in the message from outside.
fn is_filled(cx: &Cx) -> bool {
    cx.via().channel == Channel::Machine && cx.label() != Label::Own
}

/// Vouches for addresses in messages that a person here wrote, unlike imported or filled-in ones.
pub(crate) fn vouch(cx: &Cx, lines: &[Entry<MessageRecord>]) {
    if !is_filled(cx) {
        let said = lines.iter().filter(|e| e.value.role == Role::User && e.source == CHAT);
        said.for_each(|e| cx.vouch_for(&e.value.content));
    }
}

/// Longest exchange with calls that `reflex` reads, in messages.
const EXCHANGE: usize = 24;

/// How many exchanges it reads: "the second one" is meant of what was shown before a question about it, too.
const EXCHANGES: usize = 6;

/// Beginning of the last exchanges: message, calls with results, and answer. One without an answer, or from outside, ends them.
pub(crate) fn last_exchange(lines: &[Entry<MessageRecord>]) -> usize {
    let earlier = |from: &usize| exchange_at_end(&lines[..*from]);
    std::iter::successors(Some(lines.len()), earlier).take(EXCHANGES + 1).last().unwrap_or(lines.len())
}

fn exchange_at_end(lines: &[Entry<MessageRecord>]) -> Option<usize> {
    let from = lines.iter().rposition(|e| e.value.role == Role::User)?;
    let answered = |e: &Entry<MessageRecord>| e.value.role == Role::Assistant && e.value.calls().is_empty();
    let exchange = &lines[from..];
    let own = exchange.len() <= 2 || exchange.iter().all(|e| e.label != tool::Label::Outside);
    (own && exchange.last().is_some_and(answered)).then_some(from)
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

pub(crate) fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no conversation {id} of yours: leave conversationId out to begin a new one"))
}
