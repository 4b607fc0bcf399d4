//! Layer 4: the mind. A message becomes a run: prompt, model, tools, and again, until there is an answer.
//!
//! A run is a task of its own: it goes on when its listener leaves, every message of it is stored when it
//! happens, and it tells its [`Step`]s as they come.

mod calls;
mod compact;
mod complete;
mod config;
mod conversation;
mod conversation_settings;
mod export;
mod guard;
mod journal;
mod media;
mod messages;
mod one_answer;
mod own_answers;
mod preview;
mod prompt;
mod prompt_tool;
mod recovery;
mod reply;
mod resume;
mod resume_point;
mod run;
mod run_counts;
mod run_queue;
mod runs;
mod search;
mod step;
mod summary;
mod topics;
mod watch;
mod window;

pub use compact::Compacted;
pub use complete::Complete;
pub use config::{Config, Limits, Persistence, Preset};
pub use conversation::{Conversation, ConversationSummary};
pub use conversation_settings::ConversationPatch;
pub use export::{Exported, ExportedMessage, FORMAT};
pub use journal::State;
pub use messages::{StoredCall, StoredMedia, StoredMessage, StoredResult};
pub use preview::PromptPreview;
pub use prompt_tool::family;
pub use reply::RunStatus;
pub use run_counts::RunStats;
pub use runs::{CallState, RunDetails, RunError, RunShown, RunStep};
pub use step::{Answer, CallRecord, FinishReason, RunEvent};
pub use watch::Watch;

use complete::{ClientTools, ContinuationCache};
use conversation::{Conversations, Reads};
use interaction::Interactions;
use journal::{CallJournal, StoredRun};
use llm::{Content, Provider, ToolChoice};
use memory::Memories;
use own_answers::OwnAnswers;
use persona::Documents;
use registry::Registry;
use run::{Progress, Run};
use run_queue::{AdmissionPolicy, QueuedRun, RunQueue, RunSlot};
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};
use store::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{
    Cx, Error, Id, Result, Scope, UserId,
    prelude::{JsonSchema, schemars},
};
use uploads::Uploads;

/// A message of a person.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// What was said or sent.
    pub message: Content,
    /// The conversation it continues; a new one when `None`.
    pub conversation: Option<Id>,
    /// Whether tools may, must or must not be called.
    pub tool_choice: ToolChoice,
    /// The only tools and groups (`group:…`) that may be used; any where it is `None`.
    pub only: Option<Vec<String>>,
    /// What happens while the conversation is still answering.
    pub while_busy: WhileBusy,
    /// How the run goes.
    pub preset: Preset,
    /// Who watches it, and may have a word in its calls. A run that goes on after a restart is watched by nobody.
    pub watch: Option<Arc<dyn Watch>>,
}

/// What becomes of a message to a conversation that is still answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhileBusy {
    /// It is refused.
    #[default]
    Refuse,
    /// It waits for its turn.
    Queue,
}

/// A run that has begun.
pub struct RunHandle {
    /// Its id.
    pub run: Id,
    /// The conversation it is part of; `None` where the caller keeps it.
    pub conversation: Option<Id>,
    /// The model that answers, as `provider/model` or `reflex`.
    pub model: String,
    /// Whether it waits until the conversation is free.
    pub queued: bool,
    /// Who answers, and why nobody did.
    pub status: Arc<RunStatus>,
    /// What happens, as it happens; ends after `Done` or `Failed`. Dropping it leaves the run alone.
    pub steps: mpsc::UnboundedReceiver<RunEvent>,
}

/// What the agent works with.
#[derive(Clone)]
pub struct Parts {
    /// Where calls go.
    pub registry: Registry,
    /// What is remembered.
    pub memories: Memories,
    /// Who it is.
    pub documents: Documents,
    /// Asking the person.
    pub interactions: Interactions,
    /// What people sent.
    pub uploads: Uploads,
}

/// The agent; cheap to clone.
#[derive(Clone)]
pub struct Agent {
    config: Arc<Config>,
    conversations: Conversations,
    parts: Parts,
    provider: Arc<RwLock<Arc<dyn Provider>>>,
    places: RunQueue,
    /// What people may do today, once the house has told; see [`Agent::recover`].
    asides: Arc<ContinuationCache>,
    own_answers: OwnAnswers,
    counts: run_counts::RunCounts,
}

impl Agent {
    /// The agent over its parts; `provider` answers until another takes its place.
    pub fn new(config: Config, store: &Store, parts: Parts, provider: Arc<dyn Provider>) -> Self {
        let conversations = Conversations::new(store, parts.registry.clone(), config.persistence);
        let (config, provider) = (Arc::new(config), Arc::new(RwLock::new(provider)));
        let (places, asides) = (RunQueue::default(), Arc::default());
        let own_answers = OwnAnswers::new(store);
        let counts = run_counts::RunCounts::default();
        Self { config, conversations, parts, provider, places, asides, own_answers, counts }
    }

    /// Puts another provider in the place of the one there is. It answers every run that begins from now on; those under way
    /// keep theirs.
    pub fn set_provider(&self, provider: Arc<dyn Provider>) {
        *self.provider.write().unwrap_or_else(PoisonError::into_inner) = provider;
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether what answers writes JSON when it is asked to: any model does, `reflex` alone does not.
    pub fn writes_json(&self) -> bool {
        self.provider().reads_context()
    }

    /// The model that answers, as `provider/model` or `reflex`.
    pub fn model(&self) -> String {
        self.provider().model()
    }

    /// Stores the message and begins a run that answers it. Where the conversation is busy and the message may wait, the run
    /// is queued, and its message stored when its turn comes.
    ///
    /// # Errors
    /// `BadArgs` when the message is empty, `NotFound` when the conversation or a file is not this person's, `Unavailable`
    /// while it is still answering or the disk is full.
    pub async fn chat(&self, cx: &Cx, say: ChatRequest) -> Result<RunHandle> {
        if say.message.is_empty() {
            return Err(Error::bad_args("the message is empty: write something"));
        }
        if let ToolChoice::Named { name } = &say.tool_choice
            && !self.parts.registry.get(name).is_some_and(|t| Registry::visible(cx, &t))
        {
            return Err(Error::bad_args(format!("`toolChoice` names `{name}`, and there is no such tool")));
        }
        let (agent, cx) = (self.clone(), cx.clone());
        // What is stored is also answered: whoever asked may go away at any moment.
        to_its_end(async move { agent.begin(&cx, say).await }).await
    }

    async fn begin(&self, cx: &Cx, say: ChatRequest) -> Result<RunHandle> {
        let conversation = match say.conversation {
            Some(id) => self.conversations.check(cx, id).map(|()| id)?,
            None => Id::new(),
        };
        let (run, cancel) = (Id::new(), CancellationToken::new());
        let entering = match say.while_busy {
            WhileBusy::Refuse => AdmissionPolicy::Now,
            WhileBusy::Queue => AdmissionPolicy::Behind,
        };
        let busy = self.places.enter(place(run, cx.user(), Some(conversation), cancel.clone(), true), entering)?;
        if let Some(id) = say.conversation {
            // Somebody may have deleted it this very moment.
            self.conversations.check(cx, id)?;
        }
        let message = media::keep(&self.parts.uploads, cx, say.message).await?;
        let queued = busy.waits();
        let cx = cx.in_run(run, conversation, cancel);
        let (steps, listener) = mpsc::unbounded_channel();
        let (provider, status) = (self.provider(), Arc::new(RunStatus::default()));
        let model = provider.model();
        let task = Run {
            agent: self.clone(),
            provider,
            run,
            conversation: Some(conversation),
            text: message.text().into_owned(),
            tool_choice: say.tool_choice,
            theirs: ClientTools { status: status.clone(), ..ClientTools::default() },
            only: say.only.map(|only| only.into_iter().map(Arc::from).collect()),
            preset: say.preset,
            steps,
            watch: say.watch,
            note: Some(CallJournal::new(self.conversations.clone(), cx.user(), run)),
            busy,
            cx,
        };
        if queued {
            let mut stored = StoredRun::of(&task, conversation, State::Queued);
            stored.set_message(self.conversations.without_secrets(message.clone()));
            self.conversations.add_run(task.cx.user(), run, stored).await?;
            tokio::spawn(task.when_its_turn_comes(message));
        } else {
            let history = task.store_message(&message).await?;
            tokio::spawn(task.go(history, Progress::default()));
        }
        Ok(RunHandle { run, conversation: Some(conversation), model, queued, status, steps: listener })
    }

    /// Stops every run and waits until all have said so, or `patience` is over; at shutdown. Those of stored conversations are
    /// laid down, and go on after the next start.
    pub async fn stop_all(&self, patience: Duration) {
        let all_gone = async {
            while !self.places.stop_all() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(patience, all_gone).await.is_err() {
            tracing::warn!("some runs did not stop in time");
        }
    }

    /// This person's conversations, the latest first: how many there are, and `limit` of them from the `offset`th on. With a
    /// `query`, those in whose title and messages all its words occur, in whatever case; of messages the newest 10,000 are
    /// searched.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn conversations(
        &self,
        cx: &Cx,
        query: &str,
        limit: usize,
        offset: usize,
    ) -> Result<(usize, Vec<ConversationSummary>)> {
        let all = match search::words(query) {
            words if words.is_empty() => self.conversations.list(cx)?,
            words => self.conversations.search(cx, words).await?,
        };
        // Instructions are long, and a list of conversations does not need them.
        let clean = |head| ConversationSummary { system_prompt: None, ..self.conversations.clean_head(head) };
        Ok((all.len(), all.into_iter().skip(offset).take(limit).map(clean).collect()))
    }

    /// One conversation with all its messages.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn conversation(&self, cx: &Cx, id: Id) -> Result<Conversation> {
        self.conversations.get(cx, id)
    }

    /// Deletes a conversation with all its messages and runs, and what was asked in it. Files that were sent stay, for another
    /// conversation may name them too.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` while it is answering.
    pub async fn delete_conversation(&self, cx: &Cx, id: Id) -> Result<()> {
        self.conversations.check(cx, id)?;
        let busy = self.enter(Id::new(), cx.user(), Some(id), CancellationToken::new(), false)?;
        self.forget(cx.user(), id, true, busy).await
    }

    /// Deletes what was said in a conversation whose place is held, with its runs and what was asked and shown in it, and on
    /// demand its head too; to its end.
    async fn forget(&self, user: UserId, id: Id, head_too: bool, busy: RunSlot) -> Result<()> {
        let agent = self.clone();
        to_its_end(async move {
            let _busy = busy;
            agent.forget_all(user, id, head_too).await
        })
        .await
    }

    async fn forget_all(&self, user: UserId, id: Id, head_too: bool) -> Result<()> {
        // What was asked goes first. When the power goes in between, the run that rests on it asks again; the other way
        // round a question would be left that nothing comes of.
        if let Some(approvals) = self.parts.registry.approvals() {
            approvals.forget_conversation(user, id).await?;
        }
        self.parts.interactions.forget_conversation(user, id).await?;
        self.conversations.empty(user, id, head_too).await
    }

    /// A run is over: its conversation goes with it where it is kept no longer than that, and nothing else waits for it.
    async fn finish(&self, user: UserId, run: Id, conversation: Id) -> Result<()> {
        let all = self.places.runs_of(user);
        let alone = !all.iter().any(|(other, of, _)| *other != run && *of == Some(conversation));
        if alone
            && self.conversations.keeps(user, conversation) == Persistence::None
            // One that rests has no place.
            && !self.conversations.is_waited_for(user, conversation, run)?
        {
            self.forget_all(user, conversation, true).await?;
        }
        Ok(())
    }

    /// Marks a conversation as busy until the guard is dropped: two runs would mix their messages.
    fn enter(
        &self,
        run: Id,
        user: UserId,
        conversation: Option<Id>,
        cancel: CancellationToken,
        is_run: bool,
    ) -> Result<RunSlot> {
        self.places.enter(place(run, user, conversation, cancel, is_run), AdmissionPolicy::Now)
    }
}

/// Carries something out to its end, also when whoever asked for it goes away meanwhile.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let work = tokio::spawn(store::inherit_effect(work));
    work.await.map_err(|e| Error::failed(format!("this broke off: {e}")))?
}

fn place(run: Id, user: UserId, conversation: Option<Id>, cancel: CancellationToken, is_run: bool) -> QueuedRun {
    QueuedRun { run, user, conversation, cancel, is_run, waits: false, stopped: false }
}

impl Run {
    /// Stores the person's message and answers what the model will read.
    async fn store_message(&self, message: &Content) -> Result<Vec<llm::Message>> {
        let conversation = self.conversation.unwrap_or_default();
        let stored = StoredRun::of(self, conversation, State::Running);
        let conversations = &self.agent.conversations;
        let after = self.agent.summarised_until(&self.cx, conversation)?;
        conversations.begin(&self.cx, conversation, message, stored, self.reads(), after).await
    }

    /// How much of its conversation it reads: more than will be shown, for a long exchange is shown in short, and its
    /// beginning must be found.
    fn reads(&self) -> Reads {
        match self.provider.reads_context() {
            true => Reads::Last(self.agent.config.max_messages * 4),
            false => Reads::Exchange,
        }
    }

    /// The same for a run that goes on: all that it has said and done besides.
    fn reads_own(&self) -> Reads {
        match self.reads() {
            Reads::Last(most) => Reads::Last(most + 2 * self.agent.config.max_tool_calls as usize),
            Reads::Exchange => Reads::Exchange,
        }
    }

    /// Waits for its turn, and goes on from there as any other.
    async fn when_its_turn_comes(mut self, message: Content) {
        let began = Instant::now();
        if !self.busy.turn().await {
            return self.end(Err(run::cancelled()), began).await;
        }
        self.provider = self.agent.provider();
        self.begins_late(message, began).await;
    }

    /// Whether it is written that somebody stopped it.
    fn was_stopped(&self) -> bool {
        let found = self.agent.conversations.runs.get_in(Scope::User(self.cx.user()), self.run);
        found.is_ok_and(|found| found.is_some_and(|e| e.value.state == State::Cancelled))
    }

    /// Begins when the conversation is free, unless it was deleted or the run stopped meanwhile.
    async fn begins_late(self, message: Content, began: Instant) {
        let there = self.agent.conversations.check(&self.cx, self.conversation.unwrap_or_default());
        let stored = match there {
            Ok(()) => self.store_message(&message).await,
            gone => gone.map(|()| vec![]),
        };
        match stored {
            Ok(history) => self.go(history, Progress::default()).await,
            Err(_) if self.was_stopped() => self.end(Err(run::cancelled()), began).await,
            Err(error) => self.end(Err(error.into()), began).await,
        }
    }
}

#[cfg(test)]
mod tests;
