//! Runs that answer a message in a stored conversation.

use crate::{
    agent::{Agent, to_completion},
    config::Preset,
    context::store_media,
    conversation::State,
    queue::{AdmissionPolicy, QueuedRun},
    run::{CallJournal, ClientTools, Outbox, Progress, Run, RunHandle, RunStatus},
    watch::Watch,
};
use llm::{Content, ToolChoice};
use registry::Registry;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tool::{
    Cx, Error, Id, Result,
    prelude::{JsonSchema, schemars},
};

/// A message of a person.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Text and files.
    pub message: Content,
    /// The conversation to continue; a new one when `None`.
    pub conversation: Option<Id>,
    /// Whether tools may, must or must not be called.
    pub tool_choice: ToolChoice,
    /// The only tools and groups (`group:…`) that may be used; any when `None`.
    pub only: Option<Vec<String>>,
    /// The policy for a busy conversation.
    pub while_busy: WhileBusy,
    /// The limits of the run.
    pub preset: Preset,
    /// Callbacks, which may veto calls. A run that resumes after a restart has none.
    pub watch: Option<Arc<dyn Watch>>,
}

/// The policy for a message to a busy conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhileBusy {
    /// It is refused.
    #[default]
    Refuse,
    /// It waits for its turn.
    Queue,
}

impl Agent {
    /// Stores the message and starts a run that answers it. When the conversation is busy and the message may wait, the run is
    /// queued, and its message is stored at its turn.
    ///
    /// # Errors
    /// `BadArgs` when the message is empty, `NotFound` when the conversation or a file is not this person's, `Unavailable`
    /// when the conversation is busy or the disk is full.
    pub async fn chat(&self, cx: &Cx, request: ChatRequest) -> Result<RunHandle> {
        if request.message.is_empty() {
            return Err(Error::bad_args("the message is empty: write something"));
        }
        if let ToolChoice::Named { name } = &request.tool_choice
            && !self.parts.registry.get(name).is_some_and(|t| Registry::visible(cx, &t))
        {
            return Err(Error::bad_args(format!("`toolChoice` names `{name}`, and there is no such tool")));
        }
        let (agent, cx) = (self.clone(), cx.clone());
        // A stored message is answered even if the caller is dropped.
        to_completion(async move { agent.start_chat(&cx, request).await }).await
    }

    async fn start_chat(&self, cx: &Cx, request: ChatRequest) -> Result<RunHandle> {
        let conversation = match request.conversation {
            Some(id) => self.conversations.check(cx, id).map(|()| id)?,
            None => Id::new(),
        };
        let (run, cancel) = (Id::new(), CancellationToken::new());
        let policy = match request.while_busy {
            WhileBusy::Refuse => AdmissionPolicy::Now,
            WhileBusy::Queue => AdmissionPolicy::Wait,
        };
        let slot =
            self.queue.enter(QueuedRun::new(run, cx.user(), Some(conversation), cancel.clone(), true), policy)?;
        if let Some(id) = request.conversation {
            // It may have been deleted meanwhile.
            self.conversations.check(cx, id)?;
        }
        let message = store_media(&self.parts.uploads, cx, request.message).await?;
        let queued = slot.waits();
        let cx = self.in_workspace(&cx.in_run(run, conversation, cancel));
        let (events, steps) = Outbox::holding();
        let stored = Some((events.released(), self.conversations.lines.store().clone()));
        let (provider, status) = (self.provider(), Arc::new(RunStatus::default()));
        let model = provider.model();
        let task = Run {
            agent: self.clone(),
            provider,
            run,
            conversation: Some(conversation),
            text: message.text().into_owned(),
            tool_choice: request.tool_choice,
            client: ClientTools { status: status.clone(), ..ClientTools::default() },
            only: request.only.map(|only| only.into_iter().map(Arc::from).collect()),
            preset: request.preset,
            events: Arc::new(events),
            watch: request.watch,
            journal: Some(CallJournal::new(self.conversations.clone(), cx.user(), run)),
            slot,
            cx,
        };
        if queued {
            let mut stored = task.stored(conversation, State::Queued);
            stored.set_message(self.conversations.without_secrets(message.clone()));
            self.conversations.add_run(task.cx.user(), run, stored).await?;
            tokio::spawn(task.start_at_turn(message));
        } else {
            let history = task.store_message(&message).await?;
            tokio::spawn(task.go(history, Progress::default()));
        }
        Ok(RunHandle { run, conversation: Some(conversation), model, queued, status, steps, message: stored })
    }
}
