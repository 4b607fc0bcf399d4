//! Resumes runs: after a power cut or a shutdown, after a person has answered the question on which a run is
//! suspended, and when a person resumes one that failed. In each case the store has everything that is needed, and
//! the run begins at its resume point.

use crate::{
    agent::{Agent, to_completion},
    conversation::{Role as Speaker, State, StoredRun, missing},
    queue::{AdmissionPolicy, QueuedRun, RunSlot},
    run::{CallJournal, ClientTools, Outbox, Run, Stop, cancelled},
};
use questions::SuspendedRun;
use registry::Reply;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Ports, Result, Role, Scope, UserId};

/// How many runs are resumed at once after a start.
const CONCURRENT: usize = 4;
/// How many finished runs of a person are stored.
const FINISHED: usize = 2000;
/// The most of them that one maintenance deletes for a person; the next deletes what is left.
const DELETED: usize = 500;
/// How long after a shutdown a call that had not begun is still made.
const CALLS_STALE_AFTER: Duration = Duration::from_secs(24 * 3600);

impl Agent {
    /// Resumes every run that was interrupted when Hob ended, in the background. Called at start, before any message
    /// can arrive. Runs that are suspended on a person stay suspended, unless the person has answered.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn recover(&self, ports: &Ports) -> Result<()> {
        let found = self.conversations.runs.for_start()?;
        let mut open: Vec<_> =
            found.into_iter().map(|(user, id, run)| (run.state, id, user, run.conversation)).collect();
        // A power cut may have come after a run had ended, and before its questions had.
        for SuspendedRun { user, run } in self.parts.questions.suspended_runs() {
            let stored = self.conversations.runs.get_all_in(Scope::User(user), &[run])?.pop();
            if stored.is_some_and(|run| matches!(run.value.state, State::Failed | State::Cancelled)) {
                self.end_questions_of(user, run);
            }
        }
        // Running ones come first, then suspended ones, then queued ones.
        let order = |state: State| match state {
            State::Running => 0,
            State::Waiting => 1,
            _ => 2,
        };
        open.sort_by_key(|(state, id, ..)| (order(*state), *id));
        let waiting: Vec<_> = open.iter().filter(|(state, ..)| *state == State::Waiting).map(|o| (o.2, o.1)).collect();
        let unfinished: Vec<Id> = open.iter().map(|(.., conversation)| *conversation).collect();
        let slots = Arc::new(Semaphore::new(CONCURRENT));
        for (state, run, user, conversation) in open {
            if state == State::Waiting && !self.is_ready_to_resume(user, run) {
                continue;
            }
            self.spawn(ports, user, run, conversation, Some(slots.clone()));
        }
        self.delete_session_conversations(&unfinished)?;
        self.wake_after_questions(ports, waiting)
    }

    /// Resumes a run in the background after a question on which it is suspended has ended. Calls whose question is
    /// still open continue to wait. A run that has ended is ignored; one that is running is checked again when it is
    /// suspended.
    pub fn wake(&self, ports: &Ports, suspended: SuspendedRun) {
        let SuspendedRun { user, run } = suspended;
        tracing::debug!(%run, "woken");
        match self.conversations.runs.get_in(Scope::User(user), run) {
            Ok(Some(found)) if found.value.state.is_open() => {
                self.spawn(ports, user, run, found.value.conversation, None);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%run, %error, "a suspended run could not be read"),
        }
    }

    /// Resumes a run that failed or was stopped, from its last step, with fresh limits.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` when it is running, done, or its conversation has
    /// continued.
    pub async fn resume(&self, cx: &Cx, run: Id) -> Result<()> {
        let stored = self.stored_run(cx, run)?;
        match stored.state {
            State::Failed | State::Cancelled => {}
            State::Done => return Err(Error::unavailable("this run has given its answer: say something new")),
            _ => return Err(Error::unavailable("this run is under way: wait for it, or stop it")),
        }
        let (agent, cx) = (self.clone(), cx.clone());
        // The store records that it is resumed, so it is, even if the caller is dropped.
        to_completion(async move { agent.reopen_and_resume(&cx, run, stored.conversation).await }).await
    }

    async fn reopen_and_resume(&self, cx: &Cx, run: Id, conversation: Id) -> Result<()> {
        let (user, cancel) = (cx.user(), CancellationToken::new());
        let busy = self
            .queue
            .enter(QueuedRun::new(run, user, Some(conversation), cancel.clone(), true), AdmissionPolicy::Now)?;
        let lines = self.conversations.all(cx, conversation)?;
        let last = lines.last().ok_or_else(|| missing(conversation))?;
        if last.value.run != run {
            return Err(Error::unavailable("the conversation has gone on since: say it again there"));
        }
        // A partial answer is started again.
        let half = Some(last.id).filter(|_| last.value.role == Speaker::Assistant && last.value.calls().is_empty());
        self.conversations.reopen_run(user, run, conversation, half).await?;
        let (agent, ports) = (self.clone(), cx.ports().clone());
        tokio::spawn(async move { agent.resume_stored_or_warn(&ports, user, run, busy, cancel).await });
        Ok(())
    }

    /// Stops a run of this person that is running or queued; `false` when there is no such run.
    pub fn cancel(&self, cx: &Cx, run: Id) -> bool {
        self.queue.stop(cx.user(), run)
    }

    /// Stops every running or queued run of a person who has left.
    pub fn cancel_all_of(&self, user: UserId) {
        for (run, ..) in self.queue.runs_of(user) {
            self.queue.stop(user, run);
        }
    }

    /// Stops a run of this person, also a suspended one; `false` when there is no such run, or it has ended.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn stop(&self, cx: &Cx, run: Id) -> Result<bool> {
        let (agent, cx) = (self.clone(), cx.clone());
        to_completion(async move { agent.cancel_and_store(&cx, run).await }).await
    }

    async fn cancel_and_store(&self, cx: &Cx, run: Id) -> Result<bool> {
        let user = cx.user();
        let under_way = self.queue.stop(user, run);
        let found = self.conversations.runs.get_in(Scope::User(user), run)?.filter(|e| e.value.state.is_open());
        let conversation = found.map(|e| e.value.conversation);
        let open = conversation.is_some();
        if open {
            // From here on a power cut does not resume it either.
            let ended = |run: &mut StoredRun| {
                if run.state.is_open() {
                    run.ends(State::Cancelled, "cancelled", &cancelled().1);
                }
            };
            self.conversations.change_run(user, run, ended).await?;
        }
        let asked = self.end_questions_of(user, run);
        if !under_way && (open || asked) {
            self.finish_stopped_run(cx.ports(), user, run, conversation).await;
        }
        Ok(under_way || open || asked)
    }

    /// Announces the end of a run that was stopped before it was resumed.
    async fn finish_stopped_run(&self, ports: &Ports, user: UserId, run: Id, conversation: Option<Id>) {
        let told = conversation.map(|id| id.to_string());
        let data = serde_json::json!({"outcome": "cancelled", "runId": run.to_string(), "conversationId": told});
        self.counts.ended("cancelled");
        ports.bus.publish("run:ended", Some(user), data);
        if let Some(conversation) = conversation
            && let Err(error) = self.finish(user, run, conversation).await
        {
            tracing::warn!(%run, %error, "a temporary conversation could not be deleted");
        }
    }

    /// Ends the questions on which a run is suspended; `false` when there are none.
    pub(crate) fn end_questions_of(&self, user: UserId, run: Id) -> bool {
        self.parts.questions.end_run(user, run)
    }

    /// Whether a question on which a suspended run waited has ended.
    fn is_ready_to_resume(&self, user: UserId, run: Id) -> bool {
        let open = self.parts.questions.of_run(user, run);
        let waits = match self.conversations.runs.get_in(Scope::User(user), run) {
            Ok(Some(found)) => found.value.waits(),
            _ => return true,
        };
        open.is_empty() || waits.iter().any(|call| open.iter().all(|question| question.model_call != *call))
    }

    /// The answer to the approval of a call; `None` when nobody was asked.
    pub(crate) fn reply_to(&self, user: UserId, run: Id, call: &str, after: Id) -> Option<Reply> {
        let approvals = self.parts.registry.approvals()?;
        approvals.reply_to(user, run, call, after).unwrap_or_else(|error| {
            tracing::warn!(%run, %error, "an approval could not be read");
            Some(Reply::Lapsed)
        })
    }

    /// Resumes a run at its turn in the conversation, and once there is a slot. From here on it counts as running.
    fn spawn(&self, ports: &Ports, user: UserId, run: Id, conversation: Id, slots: Option<Arc<Semaphore>>) {
        let cancel = CancellationToken::new();
        let entered = self
            .queue
            .enter(QueuedRun::new(run, user, Some(conversation), cancel.clone(), true), AdmissionPolicy::Resume);
        // It is refused only at shutdown, and then resumes after the next start.
        let Ok(busy) = entered else { return };
        let (agent, ports) = (self.clone(), ports.clone());
        tokio::spawn(async move {
            if !busy.turn().await {
                if busy.stopped() {
                    agent.finish_stopped_run(&ports, user, run, Some(conversation)).await;
                }
                return;
            }
            let _slot = match &slots {
                Some(slots) => slots.acquire().await.ok(),
                None => None,
            };
            agent.resume_stored_or_warn(&ports, user, run, busy, cancel).await;
        });
    }

    async fn resume_stored_or_warn(
        &self,
        ports: &Ports,
        user: UserId,
        run: Id,
        busy: RunSlot,
        cancel: CancellationToken,
    ) {
        if let Err(error) = self.resume_stored(ports, user, run, busy, cancel).await {
            tracing::warn!(%run, %error, "a run could not be resumed");
        }
    }

    async fn resume_stored(
        &self,
        ports: &Ports,
        user: UserId,
        run: Id,
        busy: RunSlot,
        cancel: CancellationToken,
    ) -> Result<()> {
        let began = Instant::now();
        let found = self.conversations.runs.get_in(Scope::User(user), run)?;
        let Some((mut stored, changed)) = found.map(|e| (e.value, e.updated_ms)) else { return Ok(()) };
        if !stored.state.is_open() {
            if busy.stopped() {
                self.finish_stopped_run(ports, user, run, Some(stored.conversation)).await;
            }
            return Ok(());
        }
        // An error leaves the run for the next start.
        let role = ports.people.role_of(user)?;
        // A role that was lowered meanwhile counts.
        stored.role = stored.role.min(role.unwrap_or(Role::Viewer));
        let cx = Cx::root(ports.clone(), stored.principal(user), stored.via());
        let cx = self.in_workspace(&cx.in_run(run, stored.conversation, cancel));
        stored.taints(&cx);
        // No listener is left for its steps.
        let (events, _) = Outbox::open();
        let mut task = Run {
            agent: self.clone(),
            provider: self.provider(),
            cx,
            run,
            conversation: Some(stored.conversation),
            text: String::new(),
            tool_choice: stored.tool_choice(),
            client: ClientTools::default(),
            only: stored.only(),
            preset: stored.preset,
            events: Arc::new(events),
            watch: None,
            journal: Some(CallJournal::new(self.conversations.clone(), user, run)),
            slot: busy,
        };
        if role.is_none() {
            task.end(Err(Stop("denied", GONE.into())), began).await;
        } else if stored.state == State::Queued {
            // Its message was queued when Hob ended.
            let message = stored.message();
            task.text = message.text().into_owned();
            task.start_queued(message, began).await;
        } else {
            task.resume_run(stored, is_long_ago(changed, Id::now_ms()), began).await;
        }
        Ok(())
    }

    /// Deletes the temporary conversations of the last session, except those with an unfinished run.
    fn delete_session_conversations(&self, unfinished: &[Id]) -> Result<()> {
        let temporary = self.conversations.heads.for_start()?;
        let old = temporary.into_iter().filter(|(_, id, _)| !unfinished.contains(id)).map(|(user, id, _)| (user, id));
        // No new message can arrive there any more.
        let kept_free = |(user, conversation): (UserId, Id)| {
            let busy = self.enter(Id::new(), user, Some(conversation), CancellationToken::new(), false).ok()?;
            Some((user, conversation, busy))
        };
        let (agent, old) = (self.clone(), old.filter_map(kept_free).collect::<Vec<_>>());
        tokio::spawn(async move {
            for (user, conversation, busy) in old {
                if let Err(error) = agent.forget(user, conversation, true, busy).await {
                    tracing::warn!(%error, "a conversation of the last session could not be deleted");
                }
            }
        });
        Ok(())
    }

    /// Deletes the oldest finished runs, expires unanswered questions, and resumes the runs that waited for them.
    /// Called regularly.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn maintain(&self, ports: &Ports) -> Result<()> {
        let mut over = HashMap::<UserId, Vec<Id>>::new();
        for (user, id, _) in self.conversations.runs.everybody(|run| !run.state.is_open())? {
            over.entry(user).or_default().push(id);
        }
        for (user, mut ids) in over.into_iter().filter(|(_, ids)| ids.len() > FINISHED) {
            ids.sort();
            let (old, runs) = (ids[..(ids.len() - FINISHED).min(DELETED)].to_vec(), self.conversations.runs.clone());
            runs.clone()
                .store()
                .write_later(move |tx| old.iter().try_for_each(|id| runs.remove(tx, Scope::User(user), *id).map(drop)));
        }
        let unfinished = self.conversations.runs.for_start()?.into_iter();
        let waiting = unfinished.filter(|(.., run)| run.state == State::Waiting).map(|(user, id, _)| (user, id));
        self.wake_after_questions(ports, waiting.collect())
    }

    /// Expires unanswered questions, and resumes the runs that waited for them.
    fn wake_after_questions(&self, ports: &Ports, waiting: Vec<(UserId, Id)>) -> Result<()> {
        let late = self.parts.questions.sweep()?;
        late.into_iter().for_each(|suspended| self.wake(ports, suspended));
        for (user, run) in waiting {
            if self.parts.questions.of_run(user, run).is_empty() {
                self.wake(ports, SuspendedRun { user, run });
            }
        }
        Ok(())
    }
}

/// Whether a run last changed so long ago that its next call would come as a surprise.
fn is_long_ago(changed_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(changed_ms) > CALLS_STALE_AFTER.as_millis() as u64
}

const GONE: &str = "the person who started this run was removed, so it was not resumed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_long() {
        let day = CALLS_STALE_AFTER.as_millis() as u64;
        for (changed, now, is) in [(5, 5, false), (5, 5 + day, false), (5, 6 + day, true), (9, 5, false)] {
            assert_eq!(is_long_ago(changed, now), is, "{changed} {now}");
        }
    }
}
