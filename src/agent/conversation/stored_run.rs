//! The stored record of a run: its person, its progress, and the calls that have begun. With its messages it is all
//! that is needed to resume the run after a power cut.

use super::{directory::Listed, messages::json};
use crate::config::Preset;
use llm::{Content, Routing, ToolChoice, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Audience, Coded, Entry, Key, Level, Record, Stamp};
use tool::{
    AgentId, Channel, Cx, Id, Label, Peer, Principal, Scope, UserId, Via,
    prelude::{JsonSchema, schemars},
};

/// Number of interruptions at the same point after which a run is given up.
pub(crate) const KILLS: u32 = 5;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waiting until the conversation is free.
    Queued,
    /// Running, or resumes when Hob has started again.
    Running,
    /// Suspended until a person has answered.
    Waiting,
    /// Ended with an answer.
    Done,
    /// Ended without one.
    Failed,
    /// Stopped by the person.
    Cancelled,
}

impl Coded for State {
    const ALL: &'static [Self] =
        &[State::Queued, State::Running, State::Waiting, State::Done, State::Failed, State::Cancelled];
    const UNKNOWN: Self = State::Failed;
}

impl State {
    /// Whether the run has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, State::Queued | State::Running | State::Waiting)
    }
}

/// A call that has begun, and so may have been made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The model's id of the call.
    pub call: String,
    /// The tool that ran; behind a facade, the tool it called.
    pub tool: String,
    /// Whether the tool is idempotent.
    pub repeatable: bool,
    /// Whether the store marks every effect of the tool; see [`tool::Tool::is_confined`].
    #[serde(default)]
    pub confined: bool,
}

/// A stored run, under its own id. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRun {
    pub conversation: Id,
    #[serde(with = "store::coded")]
    pub state: State,
    agent: AgentId,
    #[serde(with = "store::coded")]
    pub role: tool::Role,
    /// Enums and structs are stored as JSON text, because they grow.
    channel: String,
    chat: String,
    peer: String,
    clear: bool,
    tool_choice: String,
    /// The only tools it may use, as a JSON list; empty is any.
    only: String,
    #[serde(with = "store::coded")]
    pub preset: Preset,
    /// Whether it is tainted.
    pub tainted: bool,
    pub model: String,
    /// [`llm::Provider::acts_by_word`] of the latest turn.
    pub by_word: bool,
    pub turns: u32,
    pub calls: u32,
    /// `[Begun]` of the calls of the last turn.
    begun: String,
    /// Ids of the calls that wait for a person.
    waits: String,
    /// How often it was resumed.
    pub resumed: u32,
    /// How often it was interrupted since its last progress.
    pub kills: u32,
    /// Whether a shutdown, rather than a power cut, interrupted it.
    pub interrupted_by_shutdown: bool,
    pub code: String,
    pub error: String,
    pub ended_ms: u64,
    usage: String,
    /// The message of a queued run, which is stored at its turn: [`Content`] as JSON text.
    message: String,
    /// [`Routing`] as JSON text; empty before the first turn.
    routing: String,
    /// The other members whose words it has read, as a JSON list; empty is none.
    authors: String,
}

impl Record for StoredRun {
    const NAME: &'static str = "runs";
    const WORD: &'static str = "run";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

/// The parts of a run that lists and maintenance read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts {
    pub state: State,
    pub conversation: Id,
}

impl Listed for StoredRun {
    type Facts = RunFacts;
    fn facts(&self) -> RunFacts {
        RunFacts { state: self.state, conversation: self.conversation }
    }
    /// The newest run comes first, by its id.
    fn place(_: &Entry<Self>) -> u64 {
        0
    }
    const START: u8 = 1;
    /// An unfinished run is resumed.
    fn concerns_start(&self) -> bool {
        self.state.is_open()
    }
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The stored usage of a run, with the cost in micros; the API has dollars.
#[derive(Default, Serialize, Deserialize)]
struct StoredUsage {
    #[serde(flatten)]
    usage: Usage,
    #[serde(default)]
    micros: Option<u64>,
}

impl StoredRun {
    pub fn new(cx: &Cx, conversation: Id, state: State) -> Self {
        let (via, authors) = (cx.via(), cx.authors());
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
            interrupted_by_shutdown: false,
            code: String::new(),
            error: String::new(),
            ended_ms: 0,
            usage: String::new(),
            message: String::new(),
            routing: String::new(),
            authors: if authors.is_empty() { String::new() } else { json(&authors) },
        }
    }

    /// Taints a context as the run was tainted.
    pub fn taints(&self, cx: &Cx) {
        if self.tainted {
            cx.taint(Label::Outside);
        }
        if self.authors.is_empty() {
            return;
        }
        // An unreadable list is of somebody.
        let authors = parsed::<Vec<UserId>>(&self.authors).unwrap_or_else(|| vec![UserId::SOMEBODY]);
        authors.into_iter().for_each(|author| cx.taint(Label::Member(author)));
    }

    /// Adds the limits of the request, and the model that answers it.
    pub fn with_request(
        self,
        tool_choice: &ToolChoice,
        only: Option<&Arc<[Arc<str>]>>,
        preset: Preset,
        model: String,
    ) -> Self {
        let only = only.map(|only| json(&only.iter().map(|o| &**o).collect::<Vec<_>>())).unwrap_or_default();
        Self { tool_choice: json(tool_choice), only, preset, model, ..self }
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
            token: None,
        }
    }
    pub fn tool_choice(&self) -> ToolChoice {
        parsed(&self.tool_choice).unwrap_or_default()
    }
    pub fn only(&self) -> Option<Arc<[Arc<str>]>> {
        // An unreadable list allows nothing.
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
    /// Sets the routing; `None` leaves it.
    pub fn set_routing(&mut self, routing: Option<&Routing>) {
        if let Some(routing) = routing {
            self.routing = json(routing);
        }
    }
    pub fn message(&self) -> Content {
        parsed(&self.message).unwrap_or_default()
    }
    /// Sets the message of a queued run, which has no secrets.
    pub fn set_message(&mut self, message: Content) {
        self.message = json(&message);
    }
    pub fn begun(&self) -> Vec<Begun> {
        parsed(&self.begun).unwrap_or_default()
    }
    pub fn begins(&mut self, begun: &Begun) {
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

    /// Suspends the run until a person has answered these calls, unless it has ended.
    pub fn suspend(&mut self, waits: &[String]) {
        if self.state.is_open() {
            self.state = State::Waiting;
            self.set_waits(waits);
        }
    }

    /// Resets the count of interruptions: an answer or a result was stored.
    pub fn made_progress(&mut self) {
        (self.kills, self.interrupted_by_shutdown) = (0, false);
    }

    /// Adds a stored turn; the calls that had begun were of the turn before.
    pub fn add_turn(&mut self, turns: u32, calls: u32, usage: &Usage, model: &str, by_word: bool) {
        self.made_progress();
        (self.turns, self.calls) = (turns, calls);
        self.set_cost(turns, usage);
        (self.model, self.by_word) = (model.to_owned(), by_word);
        (self.begun, self.waits) = (String::new(), String::new());
    }

    /// Sets the cost so far, and the number of turns.
    pub fn set_cost(&mut self, turns: u32, usage: &Usage) {
        self.turns = self.turns.max(turns);
        self.usage = json(&StoredUsage { usage: *usage, micros: usage.micros });
    }

    /// Ends the run.
    pub fn ends(&mut self, state: State, code: &str, error: &str) {
        // A stop by the person wins over a failure.
        if self.state == State::Cancelled && state == State::Failed {
            return;
        }
        (self.state, self.ended_ms) = (state, Id::now_ms());
        (self.code, self.error, self.message) = (code.to_owned(), error.to_owned(), String::new());
        self.interrupted_by_shutdown = false;
    }

    /// Resets a run that a person resumes, with fresh counts: with the old ones it would end at once.
    pub fn reopen(&mut self) {
        (self.state, self.ended_ms, self.kills, self.turns, self.calls) = (State::Running, 0, 0, 0, 0);
        (self.code, self.error, self.interrupted_by_shutdown) = (String::new(), String::new(), true);
    }
}

/// The stamp of a stored run: private to its person, and never tainted.
pub(crate) fn run_stamp(user: UserId) -> Stamp {
    let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: "run".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::{FixedClock, Ports};

    fn cx() -> Cx {
        let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
        Cx::root(Ports::unconnected(clock), Principal::owner(), Via::direct(Channel::Api))
    }

    #[test]
    fn a_run_that_waits_over_a_restart_keeps_whose_words_it_read() {
        let (mia, run) = (UserId(Id::new()), cx());
        run.taint(Label::Member(mia));
        let stored = StoredRun::new(&run, Id::new(), State::Queued);
        let again = cx();
        stored.taints(&again);
        assert_eq!(again.label(), Label::Member(mia));

        let nobodys = StoredRun::new(&cx(), Id::new(), State::Queued);
        let again = cx();
        nobodys.taints(&again);
        assert_eq!(again.label(), Label::Own);

        let damaged = StoredRun { authors: "?".to_owned(), ..nobodys };
        damaged.taints(&again);
        assert_eq!(again.label(), Label::Member(UserId::SOMEBODY));
    }
}
