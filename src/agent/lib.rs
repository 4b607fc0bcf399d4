//! Layer 4: the mind. A message becomes a run: prompt, model, tools, and again, until there is an answer.
//!
//! A run is a task of its own: it goes on when its listener leaves, every message of it is stored when it
//! happens, and it tells its [`Step`]s as they come.

mod complete;
mod conversation;
mod guard;
mod prompt;
mod prompt_tool;
mod resume;
mod run;
mod search;
mod window;

pub use complete::Complete;
pub use conversation::{Conversation, ConversationSummary, StoredCall, StoredMessage, StoredResult};
pub use prompt_tool::family;
pub use run::{Answer, CallRecord, Step};

use complete::{Asides, Theirs};
use conversation::{Conversations, Reads};
use llm::{Provider, ToolChoice};
use memory::Memories;
use registry::Registry;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};
use store::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{
    Cx, Error, Id, Result, UserId,
    prelude::{JsonSchema, schemars},
};

/// How many runs one person may have under way.
const AT_ONCE: usize = 16;

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
    /// The only tools and groups (`group:…`) that may be used; any where it is `None`.
    pub only: Option<Vec<String>>,
}

/// A run that has begun.
pub struct Running {
    /// Its id.
    pub run: Id,
    /// The conversation it is part of; `None` where the caller keeps it.
    pub conversation: Option<Id>,
    /// The model that answers, as `provider/model` or `reflex`.
    pub model: String,
    /// What happens, as it happens; ends after `Done` or `Failed`. Dropping it leaves the run alone.
    pub steps: mpsc::UnboundedReceiver<Step>,
}

/// A run that is under way.
#[derive(Debug, Clone, serde::Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnderWay {
    /// Its id.
    #[serde(rename = "id")]
    pub run: Id,
    /// The conversation it is part of; null where a program keeps the conversation itself.
    #[serde(rename = "conversationId")]
    pub conversation: Option<Id>,
    /// When it began: milliseconds since 1970.
    #[serde(rename = "startedAt")]
    pub started_ms: u64,
}

/// Somebody at work in a conversation.
struct Place {
    user: UserId,
    conversation: Option<Id>,
    cancel: CancellationToken,
    /// Whether it is a run: a deletion keeps a conversation to itself too.
    is_run: bool,
}

/// Who is at work, by run.
type Runs = Arc<Mutex<HashMap<Id, Place>>>;

/// The agent; cheap to clone.
#[derive(Clone)]
pub struct Agent {
    config: Arc<Config>,
    conversations: Conversations,
    memories: Memories,
    registry: Registry,
    provider: Arc<RwLock<Arc<dyn Provider>>>,
    runs: Runs,
    asides: Arc<Asides>,
}

impl Agent {
    /// The agent over its parts; `provider` answers until another takes its place.
    pub fn new(
        config: Config,
        store: &Store,
        registry: Registry,
        memories: Memories,
        provider: Arc<dyn Provider>,
    ) -> Self {
        let conversations = Conversations::new(store, registry.clone());
        let (config, provider) = (Arc::new(config), Arc::new(RwLock::new(provider)));
        let (runs, asides) = (Runs::default(), Arc::default());
        Self { config, conversations, memories, registry, provider, runs, asides }
    }

    /// Puts another provider in the place of the one there is. It answers every run that begins from now on; those under way
    /// keep theirs.
    pub fn set_provider(&self, provider: Arc<dyn Provider>) {
        *self.provider.write().unwrap_or_else(PoisonError::into_inner) = provider;
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.provider.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model that answers, as `provider/model` or `reflex`.
    pub fn model(&self) -> String {
        self.provider().model()
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
        let busy = self.enter(run, cx.user(), Some(conversation), cancel.clone(), true)?;
        let cx = cx.in_run(run, conversation, cancel);
        let provider = self.provider();
        // More than will be shown: a long exchange is shown in short, and its beginning must be found.
        let most = Reads::Last(self.config.max_messages * 4);
        let reads = if provider.reads_context() { most } else { Reads::Exchange };
        let history = self.conversations.begin(&cx, conversation, run, &say.message, reads).await?;
        let (steps, listener) = mpsc::unbounded_channel();
        let model = provider.model();
        let task = run::Run {
            agent: self.clone(),
            provider,
            cx,
            run,
            conversation: Some(conversation),
            text: say.message,
            tool_choice: say.tool_choice,
            theirs: Theirs::default(),
            only: say.only.map(|only| only.into_iter().map(Arc::from).collect()),
            steps,
            _busy: busy,
        };
        tokio::spawn(task.go(history));
        Ok(Running { run, conversation: Some(conversation), model, steps: listener })
    }

    /// Stops a run of this person; one that rests ends with its questions. `false` when there is none
    /// of that id under way.
    pub fn cancel(&self, cx: &Cx, run: Id) -> bool {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = runs.get(&run).filter(|place| place.user == cx.user());
        if found.inspect(|place| place.cancel.cancel()).is_some() {
            return true;
        }
        drop(runs);
        // One that rests ends with its questions.
        self.registry.approvals().is_some_and(|approvals| approvals.end_run(cx.user(), run))
    }

    /// The runs of this person that are under way, the first first.
    pub fn runs(&self, cx: &Cx) -> Vec<UnderWay> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let own = runs.iter().filter(|(_, place)| place.user == cx.user() && place.is_run);
        let shown = |(run, place): (&Id, &Place)| UnderWay {
            run: *run,
            conversation: place.conversation,
            started_ms: run.millis(),
        };
        let mut all: Vec<UnderWay> = own.map(shown).collect();
        all.sort_by_key(|r| r.run);
        all
    }

    /// Stops every run and waits until all have said so, or `patience` is over; at shutdown.
    pub async fn stop_all(&self, patience: Duration) {
        let all_gone = async {
            loop {
                {
                    let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.values().for_each(|place| place.cancel.cancel());
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
        let clean = |head| self.conversations.clean_head(head);
        Ok((all.len(), all.into_iter().skip(offset).take(limit).map(clean).collect()))
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
        let _busy = self.enter(Id::new(), cx.user(), Some(id), CancellationToken::new(), false)?;
        self.conversations.delete(cx, id).await?;
        if let Some(approvals) = self.registry.approvals() {
            approvals.end_conversation(cx.user(), id);
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
    ) -> Result<Busy> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if conversation.is_some() && runs.values().any(|place| place.conversation == conversation) {
            return Err(Error::unavailable(
                "this conversation is still answering: wait for it, stop it, or begin another one",
            ));
        }
        if is_run && runs.values().filter(|place| place.is_run && place.user == user).count() >= AT_ONCE {
            return Err(Error::unavailable(format!(
                "{AT_ONCE} answers of yours are under way: wait for one of them, or stop it"
            )));
        }
        runs.insert(run, Place { user, conversation, cancel, is_run });
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
