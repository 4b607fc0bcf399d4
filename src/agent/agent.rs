//! The agent: its parts, and the conversations it shows to people.

use crate::{
    config::{Config, Persistence},
    conversation::{
        ContinuationCache, Conversation, ConversationPage, ConversationPatch, ConversationSummary, Conversations,
        Cursor, Exported, MessagePage, OwnAnswers, words,
    },
    offered_tools::OfferedTools,
    queue::{AdmissionPolicy, QueuedRun, RunCounts, RunQueue, RunSlot, RunStats},
};
use documents::VirtualFiles;
use interaction::Interactions;
use llm::{Provider, Tools};
use memory::Memories;
use persona::Documents;
use questions::Questions;
use registry::Registry;
use serde_json::json;
use skills::Skills;
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Result, Tool, UserId};
use uploads::Uploads;
use workspace::Workspaces;

/// The services an agent uses.
#[derive(Clone)]
pub struct Parts {
    /// Dispatches calls.
    pub registry: Registry,
    /// The memories of people.
    pub memories: Memories,
    /// Identity and instructions.
    pub documents: Documents,
    /// Memory documents.
    pub files: VirtualFiles,
    /// Skills.
    pub skills: Skills,
    /// Questions and forms of tools.
    pub interactions: Interactions,
    /// The questions on which runs wait.
    pub questions: Questions,
    /// Files that people sent.
    pub uploads: Uploads,
    /// Files of the household, its people and agents.
    pub workspaces: Workspaces,
}

/// The agent; cheap to clone.
#[derive(Clone)]
pub struct Agent {
    pub(crate) config: Arc<Config>,
    pub(crate) conversations: Conversations,
    pub(crate) parts: Parts,
    provider: Arc<RwLock<Arc<dyn Provider>>>,
    pub(crate) queue: RunQueue,
    pub(crate) continuations: Arc<ContinuationCache>,
    pub(crate) own_answers: OwnAnswers,
    pub(crate) counts: RunCounts,
    offered: Arc<OfferedTools>,
    /// How to use the programs that a caller has with a credential, for the prompt.
    pub(crate) program_tips: ProgramTips,
    /// Called with each conversation whose messages were deleted.
    forgotten: Forgotten,
}

/// How to use the programs that a caller has with a credential, a line each.
pub type ProgramTips = Arc<dyn Fn(&Cx) -> String + Send + Sync>;

/// Called with a conversation whose messages were deleted.
pub type Forgotten = Arc<dyn Fn(UserId, Id) + Send + Sync>;

impl Agent {
    /// The same caller, with the folder where relative paths begin.
    pub(crate) fn in_workspace(&self, cx: &Cx) -> Cx {
        match self.parts.workspaces.folders(cx).into_iter().next() {
            Some(first) => cx.in_workspace(first.inside),
            None => cx.clone(),
        }
    }

    /// An agent whose runs `provider` answers until [`Agent::set_provider`].
    pub fn new(config: Config, store: &Store, parts: Parts, provider: Arc<dyn Provider>) -> Self {
        Self {
            conversations: Conversations::new(store, parts.registry.clone(), config.persistence),
            config: Arc::new(config),
            parts,
            provider: Arc::new(RwLock::new(provider)),
            queue: RunQueue::default(),
            continuations: Arc::default(),
            own_answers: OwnAnswers::new(store),
            counts: RunCounts::default(),
            offered: Arc::default(),
            program_tips: Arc::new(|_| String::new()),
            forgotten: Arc::new(|_, _| ()),
        }
    }

    /// The same agent, whose prompts say how to use programs with a credential.
    #[must_use]
    pub fn with_program_tips(self, program_tips: ProgramTips) -> Self {
        Self { program_tips, ..self }
    }

    /// The same agent, which calls `forgotten` with each conversation whose messages were deleted.
    #[must_use]
    pub fn when_forgotten(self, forgotten: Forgotten) -> Self {
        Self { forgotten, ..self }
    }

    /// Describes the tools of a request: those of `candidates` that are due and those of `more`. Models know the names of the
    /// other candidates.
    pub(crate) fn offer(&self, candidates: Vec<Arc<Tool>>, more: Option<Arc<Tool>>) -> (Vec<Arc<Tool>>, Tools) {
        let has_section = |section: &str| self.config.sections.has(section);
        let (mut due, mut known): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|t| t.offer.is_due(has_section));
        if let Some(more) = more.filter(|more| !due.iter().any(|t| t.name == more.name)) {
            known.retain(|t| t.name != more.name);
            due.push(more);
        }
        let tools = self.offered.describe(&due, &known);
        (due, tools)
    }

    /// Replaces the provider for runs that begin from now on.
    pub fn set_provider(&self, provider: Arc<dyn Provider>) {
        *self.provider.write().unwrap_or_else(PoisonError::into_inner) = provider;
    }

    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        self.provider.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the provider writes JSON on request: true for any model, false for `reflex`.
    pub fn writes_json(&self) -> bool {
        self.provider().reads_context()
    }

    /// The current model, as `provider/model` or `reflex`.
    pub fn model(&self) -> String {
        self.provider().model()
    }

    /// Numbers of runs, and their outcomes since the start.
    pub fn run_stats(&self) -> RunStats {
        let (running, queued) = self.queue.counts();
        RunStats { running, queued, ended: self.counts.by_outcome() }
    }

    /// Stops every run, and waits until all have ended or `timeout` is over; at shutdown. Runs of stored conversations continue
    /// after the next start.
    pub async fn stop_all(&self, timeout: Duration) {
        let all_ended = async {
            while !self.queue.stop_all() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(timeout, all_ended).await.is_err() {
            tracing::warn!("some runs did not stop in time");
        }
    }

    /// Lists this person's conversations, the latest first: those after `before`, without the first `offset`, `limit` at most.
    /// With a `query`, only those whose title and messages contain all its words and quoted phrases, in any case; where very
    /// many messages have them, only those of the page are counted, and one more where there are others.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn conversations(
        &self,
        cx: &Cx,
        query: &str,
        before: Option<Cursor>,
        offset: usize,
        limit: usize,
    ) -> Result<ConversationPage> {
        let mut page = match words(query) {
            words if words.is_empty() => self.conversations.list_page(cx, before, offset, limit)?,
            words => {
                let wanted = offset.saturating_add(limit).saturating_add(1);
                page_of(self.conversations.search(cx, words, before, wanted).await?, before, offset, limit)
            }
        };
        // A list omits instructions, which are long.
        let clean = |head| ConversationSummary { system_prompt: None, ..self.conversations.clean_head(head) };
        page.conversations = page.conversations.into_iter().map(clean).collect();
        Ok(page)
    }

    /// Returns a conversation with its newest messages, 200 at most.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn conversation(&self, cx: &Cx, id: Id) -> Result<Conversation> {
        self.conversation_end(cx, id, usize::MAX)
    }

    /// Returns a conversation with its newest messages, `limit` at most, and never more than 200.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn conversation_end(&self, cx: &Cx, id: Id, limit: usize) -> Result<Conversation> {
        self.conversations.get(cx, id, limit)
    }

    /// Returns the newest messages of a conversation, or the newest before one, `limit` at most.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn messages(&self, cx: &Cx, id: Id, before: Option<Id>, limit: usize) -> Result<MessagePage> {
        self.conversations.messages(cx, id, before, limit)
    }

    /// Changes title, instructions or metadata of a conversation, from the next run on. For people only: no tool calls this.
    ///
    /// # Errors
    /// `BadArgs` when the patch is empty or a field is too long; `NotFound` when the conversation is not this person's.
    pub async fn change_conversation(&self, cx: &Cx, id: Id, patch: ConversationPatch) -> Result<ConversationSummary> {
        self.conversations.check(cx, id)?;
        let patch = self.conversations.checked_patch(patch)?;
        let audited = json!({"conversationId": id, "title": patch.title, "systemPrompt": patch.system_prompt,
            "metadata": patch.metadata});
        let changed = self.conversations.change(cx, id, patch).await?;
        self.parts.registry.audit_change(cx, "change_conversation", &audited);
        cx.ports().bus.publish("conversation:changed", Some(cx.user()), json!({"conversationId": id}));
        Ok(changed)
    }

    /// Copies a conversation, up to and including the message `until`.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's, or has no such message; `Unavailable` while it is busy.
    pub async fn fork(&self, cx: &Cx, id: Id, until: Option<Id>) -> Result<ConversationSummary> {
        let _slot = self.exclusive(cx, id)?;
        self.conversations.fork(cx, id, until).await
    }

    /// Deletes the messages of a conversation, but not the conversation.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` while it is busy.
    pub async fn reset(&self, cx: &Cx, id: Id) -> Result<ConversationSummary> {
        let slot = self.exclusive(cx, id)?;
        self.forget(cx.user(), id, false, slot).await?;
        self.conversations.head(cx, id)
    }

    /// Deletes a conversation with its messages, runs and questions. Files stay: other conversations may refer to them.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` while it is busy.
    pub async fn delete_conversation(&self, cx: &Cx, id: Id) -> Result<()> {
        let slot = self.exclusive(cx, id)?;
        self.forget(cx.user(), id, true, slot).await
    }

    /// Exports a conversation without secrets and files.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub fn export(&self, cx: &Cx, id: Id) -> Result<Exported> {
        self.conversations.export(cx, id)
    }

    /// Imports a conversation. Its author is unknown, so it counts as from outside.
    ///
    /// # Errors
    /// `BadArgs` when the document is invalid or too long.
    pub async fn import(&self, cx: &Cx, document: Exported) -> Result<ConversationSummary> {
        self.conversations.import(cx, document).await
    }

    /// Reserves a conversation of this person for a change that is no run.
    pub(crate) fn exclusive(&self, cx: &Cx, id: Id) -> Result<RunSlot> {
        self.conversations.check(cx, id)?;
        self.enter(Id::new(), cx.user(), Some(id), CancellationToken::new(), false)
    }

    /// Deletes the messages, runs and questions of a reserved conversation, and on demand its head. Runs to
    /// completion even if the caller is dropped.
    pub(crate) async fn forget(&self, user: UserId, id: Id, head_too: bool, slot: RunSlot) -> Result<()> {
        let agent = self.clone();
        to_completion(async move {
            let _slot = slot;
            agent.forget_all(user, id, head_too).await
        })
        .await
    }

    async fn forget_all(&self, user: UserId, id: Id, head_too: bool) -> Result<()> {
        // Delete questions first: after a power cut in between, the suspended run asks again. In the other order a
        // question would be left whose answer has no effect.
        self.parts.questions.forget_conversation(user, id).await?;
        self.conversations.empty(user, id, head_too).await?;
        (self.forgotten)(user, id);
        Ok(())
    }

    /// Deletes the conversation of a run that has ended, when it is not to be stored and no other run needs it.
    pub(crate) async fn finish(&self, user: UserId, run: Id, conversation: Id) -> Result<()> {
        let all = self.queue.runs_of(user);
        let alone = !all.iter().any(|(other, of, _)| *other != run && *of == Some(conversation));
        if alone
            && self.conversations.keeps(user, conversation) == Persistence::None
            // Suspended runs are not in the queue.
            && !self.conversations.is_waited_for(user, conversation, run)?
        {
            self.forget_all(user, conversation, true).await?;
        }
        Ok(())
    }

    /// Reserves a conversation until the slot is dropped: two runs would mix their messages.
    pub(crate) fn enter(
        &self,
        run: Id,
        user: UserId,
        conversation: Option<Id>,
        cancel: CancellationToken,
        is_run: bool,
    ) -> Result<RunSlot> {
        self.queue.enter(QueuedRun::new(run, user, conversation, cancel, is_run), AdmissionPolicy::Now)
    }
}

/// A page of conversations that were found, the latest first.
fn page_of(found: Vec<ConversationSummary>, before: Option<Cursor>, offset: usize, limit: usize) -> ConversationPage {
    let place = |found: &ConversationSummary| Cursor((found.updated_at, found.id));
    let count = found.len();
    let below = found.into_iter().filter(|found| before.is_none_or(|before| place(found).0 < before.0));
    let mut conversations: Vec<_> = below.skip(offset).take(limit.saturating_add(1)).collect();
    let more = conversations.len() > limit;
    conversations.truncate(limit);
    let next = conversations.last().filter(|_| more).map(place);
    ConversationPage { count, conversations, next }
}

/// Runs a task to completion even if the caller is dropped.
pub(crate) async fn to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let work = tokio::spawn(store::inherit_effect(work));
    work.await.map_err(|e| Error::failed(format!("an internal task failed: {e}")))?
}
