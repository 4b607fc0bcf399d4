//! What is kept of a run beside its messages, so that it goes on where it stood when the device loses power: on whose behalf,
//! how far it has come, and which calls have begun.

use crate::{
    config::Preset,
    conversation::Conversations,
    messages::json,
    run::{ModelAttribution, Run},
};
use futures::future::BoxFuture;
use llm::{Content, Routing, ToolChoice, Usage};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};
use store::{Audience, Coded, Key, Level, Record, Stamp};
use tool::{
    AgentId, Begins, Channel, Cx, Error, Id, Label, Peer, Principal, Result, Scope, Tool, UserId, Via,
    prelude::{JsonSchema, schemars},
};

/// How often a run may be cut short at the same place before it is given up.
pub(crate) const KILLS: u32 = 5;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its message waits for the conversation.
    Queued,
    /// It is under way, or goes on when Hob has started again.
    Running,
    /// It rests until a person has answered.
    Waiting,
    /// It has given its answer.
    Done,
    /// It ended without one.
    Failed,
    /// The person stopped it.
    Cancelled,
}

impl Coded for State {
    const ALL: &'static [Self] =
        &[State::Queued, State::Running, State::Waiting, State::Done, State::Failed, State::Cancelled];
    const UNKNOWN: Self = State::Failed;
}

impl State {
    /// Whether it is not over.
    pub fn is_open(self) -> bool {
        matches!(self, State::Queued | State::Running | State::Waiting)
    }
}

/// A call that has begun: it may have been made, whatever came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The model's id of its call.
    pub call: String,
    /// What ran; with a facade, what it called.
    pub tool: String,
    /// Whether running it twice does no harm.
    pub repeatable: bool,
    /// Whether the store would hold a mark of anything it has changed; see [`tool::Tool::is_confined`].
    #[serde(default)]
    pub confined: bool,
}

/// A run as it is stored, under its own id. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRun {
    pub conversation: Id,
    #[serde(with = "store::coded")]
    pub state: State,
    agent: AgentId,
    #[serde(with = "store::coded")]
    pub role: tool::Role,
    /// Words of enums and whatever has a shape as JSON text: they grow.
    channel: String,
    chat: String,
    peer: String,
    clear: bool,
    tool_choice: String,
    /// JSON list of the only tools it may use; empty is any.
    only: String,
    #[serde(with = "store::coded")]
    pub preset: Preset,
    /// Whether it had read from outside.
    pub tainted: bool,
    pub model: String,
    /// See [`llm::Provider::acts_by_word`]: of the turn whose calls are being made.
    pub by_word: bool,
    pub turns: u32,
    pub calls: u32,
    /// `[Begun]` of the calls of the last turn.
    begun: String,
    /// The model's ids of those that wait for a person.
    waits: String,
    /// How often it was taken up again.
    pub resumed: u32,
    /// How often it was cut short since it last came further.
    pub kills: u32,
    /// Whether it was laid down in good order.
    pub laid_down: bool,
    pub code: String,
    pub error: String,
    pub ended_ms: u64,
    usage: String,
    /// The message of a run that is queued, which is stored when its turn comes: [`Content`] as JSON text.
    message: String,
    /// [`Routing`] as JSON text; empty where nothing was asked yet.
    routing: String,
}

impl Record for StoredRun {
    const NAME: &'static str = "runs";
    const WORD: &'static str = "run";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// What a run cost, as it is kept: to others it is told in dollars.
#[derive(Default, Serialize, Deserialize)]
struct StoredUsage {
    #[serde(flatten)]
    usage: Usage,
    #[serde(default)]
    micros: Option<u64>,
}

impl StoredRun {
    pub fn new(cx: &Cx, conversation: Id, state: State) -> Self {
        let via = cx.via();
        Self {
            conversation,
            state,
            agent: cx.agent(),
            role: cx.principal().role,
            channel: json(&via.channel),
            chat: via.chat.as_deref().unwrap_or_default().to_owned(),
            peer: json(&via.peer),
            clear: via.clear,
            tool_choice: String::new(),
            only: String::new(),
            preset: Preset::Agent,
            tainted: cx.label() == Label::Outside,
            model: String::new(),
            by_word: false,
            turns: 0,
            calls: 0,
            begun: String::new(),
            waits: String::new(),
            resumed: 0,
            kills: 0,
            laid_down: false,
            code: String::new(),
            error: String::new(),
            ended_ms: 0,
            usage: String::new(),
            message: String::new(),
            routing: String::new(),
        }
    }

    /// A run with what it is bound by.
    pub fn of(run: &Run, conversation: Id, state: State) -> Self {
        let mut stored = Self::new(&run.cx, conversation, state);
        stored.tool_choice = json(&run.tool_choice);
        stored.only =
            run.only.as_ref().map(|only| json(&only.iter().map(|o| &**o).collect::<Vec<_>>())).unwrap_or_default();
        stored.preset = run.preset;
        stored.model = run.provider.model();
        stored
    }

    pub fn principal(&self, user: UserId) -> Principal {
        Principal { user, role: self.role, agent: self.agent }
    }
    pub fn via(&self) -> Via {
        let chat = Some(self.chat.as_str()).filter(|c| !c.is_empty()).map(Arc::from);
        Via {
            channel: parsed(&self.channel).unwrap_or(Channel::Machine),
            chat,
            peer: parsed(&self.peer).unwrap_or(Peer::Direct),
            clear: self.clear,
        }
    }
    pub fn tool_choice(&self) -> ToolChoice {
        parsed(&self.tool_choice).unwrap_or_default()
    }
    pub fn only(&self) -> Option<Arc<[Arc<str>]>> {
        // A list that cannot be read allows nothing.
        let only = |text: &str| parsed::<Vec<Arc<str>>>(text).unwrap_or_default().into();
        Some(self.only.as_str()).filter(|o| !o.is_empty()).map(only)
    }
    pub fn channel(&self) -> Channel {
        self.via().channel
    }
    pub fn usage(&self) -> Usage {
        let kept: StoredUsage = parsed(&self.usage).unwrap_or_default();
        Usage { micros: kept.micros, ..kept.usage }
    }
    pub fn routing(&self) -> Option<Routing> {
        parsed(&self.routing)
    }
    /// Which models were tried so far; what was known stays where nothing new is.
    pub fn set_routing(&mut self, routing: Option<&Routing>) {
        if let Some(routing) = routing {
            self.routing = json(routing);
        }
    }
    pub fn message(&self) -> Content {
        parsed(&self.message).unwrap_or_default()
    }
    /// What was said, without secrets: it waits in the store.
    pub fn set_message(&mut self, message: Content) {
        self.message = json(&message);
    }
    pub fn begun(&self) -> Vec<Begun> {
        parsed(&self.begun).unwrap_or_default()
    }
    fn begins(&mut self, begun: &Begun) {
        let mut all = self.begun();
        if !all.contains(begun) {
            all.push(begun.clone());
            self.begun = json(&all);
        }
    }
    pub fn waits(&self) -> Vec<String> {
        parsed(&self.waits).unwrap_or_default()
    }
    pub fn set_waits(&mut self, waits: &[String]) {
        self.waits = if waits.is_empty() { String::new() } else { json(&waits) };
    }

    /// It rests until a person has answered these calls; unless they stopped it this very moment.
    pub fn suspend(&mut self, waits: &[String]) {
        if self.state.is_open() {
            self.state = State::Waiting;
            self.set_waits(waits);
        }
    }

    /// It has come further: an answer or a result was stored.
    pub fn comes_further(&mut self) {
        (self.kills, self.laid_down) = (0, false);
    }

    /// A turn of the model was stored; what had begun was of the turn before.
    pub fn turned(&mut self, turns: u32, calls: u32, usage: &Usage, by: &ModelAttribution) {
        self.comes_further();
        (self.turns, self.calls) = (turns, calls);
        self.costs(turns, usage);
        (self.model, self.by_word) = (by.model.clone(), by.by_word);
        (self.begun, self.waits) = (String::new(), String::new());
    }

    /// What it has cost so far, and in how many turns.
    pub fn costs(&mut self, turns: u32, usage: &Usage) {
        self.turns = self.turns.max(turns);
        self.usage = json(&StoredUsage { usage: *usage, micros: usage.micros });
    }

    /// It is over.
    pub fn ends(&mut self, state: State, code: &str, error: &str) {
        // Who stopped it stopped it, whatever it was about to end with.
        if self.state == State::Cancelled && state == State::Failed {
            return;
        }
        (self.state, self.ended_ms) = (state, Id::new().millis());
        (self.code, self.error, self.message) = (code.to_owned(), error.to_owned(), String::new());
        self.laid_down = false;
    }

    /// A person has it go on: with fresh counts, or it would end where it ended.
    pub fn begins_again(&mut self) {
        (self.state, self.ended_ms, self.kills, self.turns, self.calls) = (State::Running, 0, 0, 0, 0);
        (self.code, self.error, self.laid_down) = (String::new(), String::new(), true);
    }
}

/// The stamp of what is kept of a run: it tells nobody but its person anything, and is no content.
pub(crate) fn stamp(user: UserId) -> Stamp {
    let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: "run".into() }
}

/// Keeps note of the calls of one run that begin.
pub(crate) struct CallJournal {
    conversations: Conversations,
    user: UserId,
    run: Id,
    /// What is kept already, of the calls of this turn.
    kept: Mutex<HashSet<(String, String)>>,
}

impl CallJournal {
    pub fn new(conversations: Conversations, user: UserId, run: Id) -> Arc<Self> {
        Arc::new(Self { conversations, user, run, kept: Mutex::default() })
    }

    /// The next turn begins: its calls may have the ids of others before.
    pub fn turn(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A handle that dispatch can keep.
pub(crate) struct JournalHandle(pub Arc<CallJournal>);

impl Begins for JournalHandle {
    fn begins(&self, model_call: &str, tool: &Tool) -> BoxFuture<'static, Result<()>> {
        let note = self.0.clone();
        let (call, tool, repeatable, confined) =
            (model_call.to_owned(), tool.name.to_string(), tool.idempotent, tool.is_confined());
        let begun = Begun { call, tool, repeatable, confined };
        Box::pin(async move {
            let key = (begun.call.clone(), begun.tool.clone());
            if note.kept.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
                return Ok(());
            }
            let kept = note.conversations.change_run(note.user, note.run, move |run| run.begins(&begun)).await;
            kept.map_err(|e| Error::unavailable(format!("that it begins could not be kept, so it was not made: {e}")))?;
            note.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
            Ok(())
        })
    }
}
