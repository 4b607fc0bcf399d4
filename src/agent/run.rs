//! One run: ask the model, make the calls it wants, and again, until it answers.
//!
//! A run starts in `start`, or in `recovery` after an interruption (at its `resume_point`). `turns` is its loop, which builds a
//! `request`, reads the `reply`, makes `calls` and ends in `end`.

mod about_person;
mod call_summary;
mod calls;
mod client_tools;
mod end;
mod journal;
mod loop_guard;
mod outbox;
mod questions;
mod recovery;
mod reply;
mod request;
mod resume_point;
mod start;
mod turns;

pub(crate) use client_tools::ClientTools;
pub(crate) use journal::CallJournal;
pub(crate) use outbox::Outbox;
pub(crate) use questions::notify;
pub use reply::RunStatus;

use crate::{
    agent::Agent,
    config::{Limits, Preset},
    conversation::{State, StoredMedia, StoredRun},
    events::{CallRecord, RunEvent},
    queue::RunSlot,
    watch::Watch,
};
use call_summary::CallSummary;
use llm::{Provider, Routing, ToolChoice, Usage};
use loop_guard::LoopGuard;
use serde_json::Value;
use std::{collections::HashSet, sync::Arc, time::Duration};
use store::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id};

/// A run that has started, for its caller.
pub struct RunHandle {
    /// Its id.
    pub run: Id,
    /// Its conversation; `None` when the client keeps it.
    pub conversation: Option<Id>,
    /// The model that answers, as `provider/model` or `reflex`.
    pub model: String,
    /// Whether it waits until the conversation is free.
    pub queued: bool,
    /// The current model, and why none answered.
    pub status: Arc<RunStatus>,
    /// Events as they occur, up to `Done` or `Error`. Dropping the receiver does not stop the run.
    pub steps: mpsc::UnboundedReceiver<RunEvent>,
    /// Of a stored message: cancelled when the first event is there, and the store.
    pub(crate) message: Option<(CancellationToken, Store)>,
}

/// How long a client that gets the ids before the end waits for the first event: an answer that takes no longer is
/// stored with its message.
const FIRST_EVENT: Duration = Duration::from_millis(50);

impl RunHandle {
    /// Waits until the message and its run are on disk. For a door that gives out their ids before the run has ended.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn stored(&self) -> Result<(), Error> {
        let Some((released, store)) = &self.message else { return Ok(()) };
        let _ = tokio::time::timeout(FIRST_EVENT, released.cancelled()).await;
        Ok(store.sync().await?)
    }
}

/// The task of one run.
pub(crate) struct Run {
    pub agent: Agent,
    /// The provider of all turns, even when the agent's provider is replaced meanwhile.
    pub provider: Arc<dyn Provider>,
    pub cx: Cx,
    pub run: Id,
    /// The stored conversation; `None` when the client keeps it.
    pub conversation: Option<Id>,
    pub text: String,
    pub tool_choice: ToolChoice,
    pub client: ClientTools,
    /// The only tools this request may use.
    pub only: Option<Arc<[Arc<str>]>>,
    pub preset: Preset,
    pub events: Arc<Outbox>,
    pub watch: Option<Arc<dyn Watch>>,
    /// Notes the calls that begin; `None` when the run is not stored.
    pub journal: Option<Arc<CallJournal>>,
    pub slot: RunSlot,
}

/// The progress of a run.
#[derive(Default)]
pub(crate) struct Progress {
    /// Whether the run continues after an interruption.
    pub resumed: bool,
    pub turns: u32,
    /// Number of calls the model requested.
    pub calls: u32,
    pub usage: Usage,
    pub guard: LoopGuard,
    pub records: Vec<CallRecord>,
    /// Every call so far and its outcome, including those before an interruption.
    pub done: Vec<CallSummary>,
    /// Ids of the requested calls: some servers repeat ids in every turn.
    pub ids: HashSet<String>,
    pub media: Vec<StoredMedia>,
    /// The text of all turns, as a streaming client received it.
    pub spoken: String,
    /// The models tried so far; `None` before the first turn, and with a provider that has no choice.
    pub routing: Option<Routing>,
    /// Whether the model was asked to correct the format of its answer.
    pub corrected: bool,
}

impl Progress {
    /// Adds the routing of a turn.
    fn add_routing(&mut self, turn: Routing) {
        self.routing = Some(self.routing.take().unwrap_or_default().then(turn));
    }
}

/// The model that requests a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelAttribution {
    /// The model, as `provider/model`.
    pub model: String,
    /// Whether it only makes calls that the person requested literally.
    pub by_word: bool,
}

/// Why a run ended without an answer: a stable code, and a sentence for the person.
pub(crate) struct Stop(pub &'static str, pub String);

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Stop(e.code(), e.message().to_owned())
    }
}

pub(crate) fn cancelled() -> Stop {
    Stop("cancelled", "stopped, as you asked".into())
}

impl Run {
    pub fn limits(&self) -> Limits {
        self.preset.limits(&self.agent.config)
    }

    /// The stored record of this run.
    pub fn stored(&self, conversation: Id, state: State) -> StoredRun {
        let stored = StoredRun::new(&self.cx, conversation, state);
        stored.with_request(&self.tool_choice, self.only.as_ref(), self.preset, self.provider.model())
    }

    /// The model of the next turn, unless the provider announces another.
    fn attribution(&self) -> ModelAttribution {
        ModelAttribution { model: self.provider.model(), by_word: self.provider.acts_by_word() }
    }

    /// Whether the run is interrupted by the shutdown, and resumes after the next start.
    fn interrupted_by_shutdown(&self) -> bool {
        let is_closing = self.cx.cancel().is_cancelled() && self.agent.queue.closing.is_cancelled();
        is_closing && !self.slot.stopped()
    }

    /// Sends an event to the watcher and the listener.
    fn send(&self, event: RunEvent) {
        if let Some(watch) = &self.watch {
            watch.on_step(&event);
        }
        self.events.send(event);
    }

    /// Publishes an event about this run on the bus.
    pub fn publish(&self, topic: &str, mut data: Value) {
        data["runId"] = self.run.to_string().into();
        data["conversationId"] = self.conversation.map(|id| id.to_string()).into();
        self.cx.ports().bus.publish(topic, Some(self.cx.user()), data);
    }
}
