//! Views of runs for people: lists, details with steps, and pending questions.

use crate::{
    agent::Agent,
    conversation::{MessageRecord, Role, RunFacts, State, StoredRun},
};
use llm::{Routing, Usage};
use serde::Serialize;
use serde_json::Value;
use store::Entry;
use text_kit::{one_line, truncate};
use tool::{
    Channel, Cx, Error, Id, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The error of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunError {
    /// A stable code.
    pub code: String,
    /// The error and how to resolve it.
    pub message: String,
}

/// A run in the API.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunShown {
    /// Its id.
    pub id: Id,
    /// Its conversation; null when a client keeps the conversation.
    pub conversation_id: Option<Id>,
    /// Its state.
    pub state: State,
    /// Time of the request: milliseconds since 1970.
    pub started_at: u64,
    /// Time of the end.
    pub ended_at: Option<u64>,
    /// The model that answered last.
    pub model: String,
    /// The channel it came through.
    pub channel: Channel,
    /// Number of model turns.
    pub turns: u32,
    /// Number of requested calls.
    pub tool_calls: u32,
    /// Usage in tokens.
    pub usage: Usage,
    /// Cost in US dollars; null when it is unknown.
    pub cost: Option<f64>,
    /// The error, if it failed or was stopped.
    pub error: Option<RunError>,
    /// How often it was resumed.
    pub resumed: u32,
    /// The beginning of the request; empty when a client keeps the conversation, or it was without words.
    pub asked: String,
}

/// Some runs, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunPage {
    /// How many there are in all.
    pub count: usize,
    /// The runs.
    pub runs: Vec<RunShown>,
    /// The start of the next page, for `before`. Null at the end.
    pub next: Option<Id>,
}

/// A run with its steps.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunDetails {
    /// The run.
    #[serde(flatten)]
    pub run: RunShown,
    /// The models tried, and why the last one answered; null before the first answer.
    pub routing: Option<Routing>,
    /// Its steps in order.
    pub steps: Vec<RunStep>,
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// Requested by the model.
    Wanted,
    /// Begun.
    Begun,
    /// Has a result.
    Done,
    /// Begun when its run was interrupted; it is unknown whether it was completed.
    Unknown,
    /// Waits for a person.
    Waiting,
}

/// A step of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum RunStep {
    /// A message of the person.
    Message {
        /// Time: milliseconds since 1970.
        at: u64,
        /// The text.
        text: String,
    },
    /// An answer of the model.
    Answer {
        /// Time: milliseconds since 1970.
        at: u64,
        /// The text; may be empty beside calls.
        text: String,
        /// The model.
        model: String,
    },
    /// A call the model requested.
    Call {
        /// Time: milliseconds since 1970.
        at: u64,
        /// The model's id of it.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments: JSON, or the text when it is not JSON.
        arguments: Value,
        /// Its state.
        state: CallState,
    },
    /// The result of a call.
    Result {
        /// Time: milliseconds since 1970.
        at: u64,
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The result for the model.
        content: String,
        /// Whether it failed.
        is_error: bool,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
}

/// How much of a request a list shows, in characters.
const ASKED: usize = 160;

/// The state of a stored run: a woken one is running before that is stored.
fn state_now(id: Id, stored: State, under_way: &[(Id, Option<Id>, bool)]) -> State {
    let woken = stored == State::Waiting && under_way.iter().any(|(run, ..)| *run == id);
    if woken { State::Running } else { stored }
}

fn run_view(entry: Entry<StoredRun>, under_way: &[(Id, Option<Id>, bool)]) -> RunShown {
    let (id, run) = (entry.id, entry.value);
    let over = matches!(run.state, State::Failed | State::Cancelled);
    RunShown {
        id,
        conversation_id: Some(run.conversation),
        state: state_now(id, run.state, under_way),
        started_at: id.millis(),
        ended_at: Some(run.ended_ms).filter(|at| *at > 0),
        channel: run.channel(),
        turns: run.turns,
        tool_calls: run.calls,
        usage: run.usage(),
        cost: run.usage().cost(),
        error: over.then(|| RunError { code: run.code.clone(), message: run.error.clone() }),
        resumed: run.resumed,
        model: run.model,
        asked: String::new(),
    }
}

impl Agent {
    /// Lists this person's runs, the newest first, of these states (all when empty) and this conversation: those before one,
    /// without the first `offset`, `limit` at most. Includes active runs over conversations that a client keeps.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn runs(
        &self,
        cx: &Cx,
        states: &[State],
        conversation: Option<Id>,
        before: Option<Id>,
        (offset, limit): (usize, usize),
    ) -> Result<RunPage> {
        let under_way = self.queue.runs_of(cx.user());
        let has_state = |state: State| states.is_empty() || states.contains(&state);
        let fits = |id: Id, run: RunFacts| {
            conversation.is_none_or(|of| run.conversation == of) && has_state(state_now(id, run.state, &under_way))
        };
        let reach = offset.saturating_add(limit).saturating_add(1);
        let from = before.map(|id| (0, id));
        let (stored, page) = self.conversations.runs.page(cx.user(), fits, from, (0, reach))?;
        let unstored = under_way.iter().filter(|(_, of, _)| of.is_none() && conversation.is_none());
        let unstored: Vec<Id> = unstored.map(|(run, ..)| *run).filter(|_| has_state(State::Running)).collect();
        let mut ids: Vec<Id> = page.into_iter().map(|(_, id)| id).collect();
        ids.extend(unstored.iter().filter(|id| before.is_none_or(|before| **id < before)));
        ids.sort_by_key(|id| std::cmp::Reverse(*id));
        let mut ids: Vec<Id> = ids.into_iter().skip(offset).take(limit.saturating_add(1)).collect();
        let more = ids.len() > limit;
        ids.truncate(limit);
        let next = ids.last().copied().filter(|_| more);
        let found = self.conversations.runs.get_all_in(Scope::User(cx.user()), &ids)?;
        let shown = |entry: Entry<StoredRun>| {
            let asked = self.asked(cx, &entry)?;
            Ok(RunShown { asked, ..run_view(entry, &under_way) })
        };
        let mut runs = found.into_iter().map(shown).collect::<Result<Vec<RunShown>>>()?;
        runs.extend(unstored.iter().filter(|id| ids.contains(id)).map(|id| self.unstored_run(cx, *id)));
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(RunPage { count: stored + unstored.len(), runs, next })
    }

    /// The beginning of a run's request, on one line.
    fn asked(&self, cx: &Cx, entry: &Entry<StoredRun>) -> Result<String> {
        // A queued run has its message until its turn.
        let queued = entry.value.message().text().into_owned();
        let words = match queued.trim() {
            "" => self.conversations.request_of(cx, entry.value.conversation, entry.id)?,
            _ => queued,
        };
        Ok(truncate(&one_line(&words), ASKED))
    }

    fn unstored_run(&self, cx: &Cx, run: Id) -> RunShown {
        RunShown {
            id: run,
            conversation_id: None,
            state: State::Running,
            started_at: run.millis(),
            ended_at: None,
            model: self.model(),
            channel: cx.channel(),
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            cost: None,
            error: None,
            resumed: 0,
            asked: String::new(),
        }
    }

    /// Returns a run of this person with its steps.
    ///
    /// # Errors
    /// `NotFound` when it is not theirs.
    pub fn run(&self, cx: &Cx, id: Id) -> Result<RunDetails> {
        let entry = self.conversations.runs.get_in(Scope::User(cx.user()), id)?.ok_or_else(|| no_run(id))?;
        let asked = self.asked(cx, &entry)?;
        let (stored, view) = (entry.value.clone(), run_view(entry, &self.queue.runs_of(cx.user())));
        let run = RunShown { asked, ..view };
        let own = self.conversations.of_run(cx, stored.conversation, id, run.ended_at)?;
        let mut steps = vec![];
        for (n, line) in own.iter().enumerate() {
            let later = || own[n + 1..].iter();
            let given = |call: &str| later().filter_map(|e| e.value.result()).any(|r| r.tool_call_id == call);
            let is_last = !later().any(|e| e.value.role == Role::Assistant);
            steps.extend(steps_of(line, |call| match given(call) {
                true => CallState::Done,
                false if is_last => state_of(&stored, call),
                false => CallState::Wanted,
            }));
        }
        Ok(RunDetails { run, routing: stored.routing(), steps })
    }

    pub(crate) fn stored_run(&self, cx: &Cx, id: Id) -> Result<StoredRun> {
        let found = self.conversations.runs.get_in(Scope::User(cx.user()), id)?;
        found.map(|e| e.value).ok_or_else(|| no_run(id))
    }
}

fn state_of(stored: &StoredRun, call: &str) -> CallState {
    match stored.begun().iter().any(|b| b.call == call) {
        _ if stored.waits().iter().any(|id| id == call) => CallState::Waiting,
        true if stored.state.is_open() => CallState::Begun,
        true => CallState::Unknown,
        false => CallState::Wanted,
    }
}

fn steps_of(line: &Entry<MessageRecord>, state: impl Fn(&str) -> CallState) -> Vec<RunStep> {
    let (at, line) = (line.id.millis(), &line.value);
    match (line.role, line.result()) {
        (Role::User, _) => vec![RunStep::Message { at, text: line.content.clone() }],
        (Role::Tool, Some(r)) => vec![RunStep::Result {
            at,
            call_id: r.tool_call_id,
            name: r.name,
            content: r.content,
            is_error: r.is_error,
            duration_ms: r.duration_ms,
        }],
        (Role::Tool, None) => vec![],
        (Role::Assistant, _) => {
            let answer = RunStep::Answer { at, text: line.content.clone(), model: line.model.clone() };
            let calls = line.calls().into_iter().map(|c| RunStep::Call {
                at,
                state: state(&c.id),
                arguments: serde_json::from_str(&c.arguments).unwrap_or(Value::String(c.arguments)),
                call_id: c.id,
                name: c.name,
            });
            std::iter::once(answer).chain(calls).collect()
        }
    }
}

fn no_run(id: Id) -> Error {
    Error::not_found(format!("there is no run {id} of yours"))
}
