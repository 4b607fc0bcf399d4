//! Layer 4: the mind. A message becomes a run: prompt, model, tools, and again, until there is an answer.
//!
//! A run is a task of its own: it goes on when its listener leaves, every message of it is stored when it
//! happens, and it tells its [`Step`]s as they come.

mod conversation;
mod guard;
mod prompt;
mod run;
mod window;

pub use conversation::{Conversation, ConversationSummary, StoredCall, StoredMessage, StoredResult};
pub use run::{Answer, CallRecord, Step};

use conversation::{Conversations, Reads};
use llm::{Provider, ToolChoice};
use memory::Memories;
use registry::Registry;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Result, UserId};

/// How far a run may go. The preset `agent` of the reference; ends with an error at the limit.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How often the model may be asked in one run.
    pub max_turns: u32,
    /// How many tools it may call in one run.
    pub max_tool_calls: u32,
    /// How many messages of a conversation the model is shown at most.
    pub max_messages: usize,
    /// How many tokens of a conversation the model is shown at most (a token is taken as four characters).
    pub max_tokens: usize,
    /// Who the agent is: the first words of its instructions; Hob's own when empty.
    pub prompt: String,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_turns: 50, max_tool_calls: 200, max_messages: 100, max_tokens: 100_000, prompt: String::new() }
    }
}

/// A message of a person.
#[derive(Debug, Clone, Default)]
pub struct Say {
    /// The text.
    pub message: String,
    /// The conversation it continues; a new one when `None`.
    pub conversation: Option<Id>,
    /// Whether tools may, must or must not be called.
    pub tool_choice: ToolChoice,
}

/// A run that has begun.
pub struct Running {
    /// Its id.
    pub run: Id,
    /// The conversation it is part of.
    pub conversation: Id,
    /// The model that answers, as `provider/model` or `reflex`.
    pub model: String,
    /// What happens, as it happens; ends after `Done` or `Failed`. Dropping it leaves the run alone.
    pub steps: mpsc::UnboundedReceiver<Step>,
}

/// Runs under way: whose, in which conversation, and how to stop them.
type Runs = Arc<Mutex<HashMap<Id, (UserId, Id, CancellationToken)>>>;

/// The agent; cheap to clone.
#[derive(Clone)]
pub struct Agent {
    config: Arc<Config>,
    conversations: Conversations,
    memories: Memories,
    registry: Registry,
    provider: Arc<dyn Provider>,
    runs: Runs,
}

impl Agent {
    /// The agent over its parts; `provider` answers every run.
    pub fn new(
        config: Config,
        store: &Store,
        registry: Registry,
        memories: Memories,
        provider: Arc<dyn Provider>,
    ) -> Self {
        let conversations = Conversations::new(store);
        Self { config: Arc::new(config), conversations, memories, registry, provider, runs: Runs::default() }
    }

    /// The model that answers, as `provider/model` or `reflex`.
    pub fn model(&self) -> String {
        self.provider.model()
    }

    /// Stores the message and begins a run that answers it.
    ///
    /// # Errors
    /// `BadArgs` when the message is empty, `NotFound` when the conversation is not this person's, `Unavailable`
    /// while it is still answering or the disk is full.
    pub async fn chat(&self, cx: &Cx, say: Say) -> Result<Running> {
        if say.message.trim().is_empty() {
            return Err(Error::bad_args("the message is empty: write something"));
        }
        if let ToolChoice::Named { name } = &say.tool_choice
            && !self.registry.get(name).is_some_and(|t| Registry::visible(cx, &t))
        {
            return Err(Error::bad_args(format!("`toolChoice` names `{name}`, and there is no such tool")));
        }
        let conversation = match say.conversation {
            Some(id) => self.conversations.check(cx, id).map(|()| id)?,
            None => Id::new(),
        };
        let (run, cancel) = (Id::new(), CancellationToken::new());
        let busy = self.enter(run, cx.user(), conversation, cancel.clone())?;
        let cx = cx.in_run(run, conversation, cancel);
        // More than will be shown: a long exchange is shown in short, and its beginning must be found.
        let most = Reads::Last(self.config.max_messages * 4);
        let reads = if self.provider.reads_context() { most } else { Reads::Nothing };
        let history = self.conversations.begin(&cx, conversation, run, &say.message, reads).await?;
        let (steps, listener) = mpsc::unbounded_channel();
        let task = run::Run {
            agent: self.clone(),
            cx,
            run,
            conversation,
            text: say.message,
            tool_choice: say.tool_choice,
            steps,
            _busy: busy,
        };
        let model = self.provider.model();
        tokio::spawn(task.go(history));
        Ok(Running { run, conversation, model, steps: listener })
    }

    /// Stops a run of this person; `false` when there is none of that id under way.
    pub fn cancel(&self, cx: &Cx, run: Id) -> bool {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = runs.get(&run).filter(|(user, ..)| *user == cx.user());
        found.inspect(|(.., cancel)| cancel.cancel()).is_some()
    }

    /// Stops every run and waits until all have said so, or `patience` is over; at shutdown.
    pub async fn stop_all(&self, patience: Duration) {
        let all_gone = async {
            loop {
                {
                    let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.values().for_each(|(.., cancel)| cancel.cancel());
                    if runs.is_empty() {
                        return;
                    }
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(patience, all_gone).await.is_err() {
            tracing::warn!("some runs did not stop in time");
        }
    }

    /// This person's conversations, the latest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn conversations(&self, cx: &Cx) -> Result<Vec<ConversationSummary>> {
        self.conversations.list(cx)
    }

    /// One conversation with all its messages.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn conversation(&self, cx: &Cx, id: Id) -> Result<Conversation> {
        self.conversations.get(cx, id)
    }

    /// Deletes a conversation with all its messages.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` while it is answering.
    pub async fn delete_conversation(&self, cx: &Cx, id: Id) -> Result<()> {
        let _busy = self.enter(Id::new(), cx.user(), id, CancellationToken::new())?;
        self.conversations.delete(cx, id).await
    }

    /// Marks a conversation as busy until the guard is dropped: two runs would mix their messages.
    fn enter(&self, run: Id, user: UserId, conversation: Id, cancel: CancellationToken) -> Result<Busy> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.values().any(|(_, busy, _)| *busy == conversation) {
            return Err(Error::unavailable(
                "this conversation is still answering: wait for it, stop it, or begin another one",
            ));
        }
        runs.insert(run, (user, conversation, cancel));
        Ok(Busy(self.runs.clone(), run))
    }
}

/// Lets go of a conversation when dropped.
pub(crate) struct Busy(Runs, Id);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

#[cfg(test)]
mod tests;
