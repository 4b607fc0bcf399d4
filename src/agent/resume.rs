//! Runs that go on: after a power cut or a stop in good order, when somebody has answered what a run rested on, and when a
//! person has one that failed go on. It is always the same: what is needed is in the store, and a run begins where it stands.

use crate::{
    agent::{Agent, Roles, to_completion},
    config::Persistence,
    conversation::{Role as Speaker, State, StoredRun, missing},
    queue::{AdmissionPolicy, QueuedRun, RunSlot},
    run::{CallJournal, ClientTools, Run, Stop, cancelled},
};
use registry::{Reply, Resume};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Label, Ports, Result, Role, Scope, UserId};

/// How many runs are taken up at once after a start.
const AT_ONCE: usize = 4;
/// How many runs of a person are kept.
const KEPT: usize = 2000;
/// How long after the end of Hob a call is still made that had not begun.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// What comes before a run is taken up.
enum ResumeTrigger {
    Nothing,
    /// One of so many at once.
    Slot(Arc<Semaphore>),
    /// That it is known: it may have rested before runs were kept.
    Know(Box<Resume>),
}

impl Agent {
    /// Takes up every run that was under way when Hob ended, in the background; at start, before anybody can say anything. What
    /// rests on a person goes on resting, unless they have answered. From here on the rights of runs that go on are looked up
    /// by `roles`.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn recover(&self, ports: &Ports, roles: Roles) -> Result<()> {
        let _ = self.roles.set(roles);
        let (mut open, mut over) = (vec![], vec![]);
        self.conversations.runs.scan(|e| match e.value.state {
            state if state.is_open() => open.push((state, e.id, e.owner, e.value.conversation)),
            State::Failed | State::Cancelled => over.push((e.owner, e.id)),
            _ => {}
        })?;
        // The power may have gone when a run had ended, and what it rested on had not.
        for (user, run) in over {
            self.end_questions_of(user, run);
        }
        // What was under way comes before what was woken, and that before what waits for its turn.
        let order = |state: State| match state {
            State::Running => 0,
            State::Waiting => 1,
            _ => 2,
        };
        open.sort_by_key(|(state, id, ..)| (order(*state), *id));
        let unfinished: Vec<Id> = open.iter().map(|(.., conversation)| *conversation).collect();
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        for (state, run, user, conversation) in open {
            if state == State::Waiting && !self.has_heard(user, run) {
                continue;
            }
            self.spawn(ports, user, run, conversation, ResumeTrigger::Slot(slots.clone()));
        }
        self.put_away_sessions(&unfinished)?;
        self.tidy(ports)
    }

    /// Goes on with a run that rested on a question, in the background: makes its call when the answer was yes, tells the model
    /// no otherwise, and lets it answer unless other calls of the same turn still wait.
    pub fn go_on(&self, ports: &Ports, resume: Resume) {
        let (user, run, conversation) = (resume.principal.user, resume.run, resume.conversation);
        self.spawn(ports, user, run, conversation, ResumeTrigger::Know(Box::new(resume)));
    }

    /// Somebody answered what a call of a run of `user` waited for: goes on with the run in the background, where nothing else
    /// of it still waits. A run that is over is left alone; one that is under way is looked at again when it rests.
    pub fn wake(&self, ports: &Ports, user: UserId, run: Id) {
        tracing::debug!(%run, "woken");
        match self.conversations.runs.get_in(Scope::User(user), run) {
            Ok(Some(found)) if found.value.state.is_open() => {
                self.spawn(ports, user, run, found.value.conversation, ResumeTrigger::Nothing);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%run, %error, "a run that rested could not be read"),
        }
    }

    /// Has a run go on that failed or was stopped, from its last step, with fresh limits.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` when it is under way, done, or its conversation has gone on.
    pub async fn resume(&self, cx: &Cx, run: Id) -> Result<()> {
        let stored = self.stored_run(cx, run)?;
        match stored.state {
            State::Failed | State::Cancelled => {}
            State::Done => return Err(Error::unavailable("this run has given its answer: say something new")),
            _ => return Err(Error::unavailable("this run is under way: wait for it, or stop it")),
        }
        let (agent, cx) = (self.clone(), cx.clone());
        // That it goes on is written, so it does: whoever asked may go away at any moment.
        to_completion(async move { agent.begin_again(&cx, run, stored.conversation).await }).await
    }

    async fn begin_again(&self, cx: &Cx, run: Id, conversation: Id) -> Result<()> {
        let (user, cancel) = (cx.user(), CancellationToken::new());
        let busy = self
            .queue
            .enter(QueuedRun::new(run, user, Some(conversation), cancel.clone(), true), AdmissionPolicy::Now)?;
        let lines = self.conversations.all(cx, conversation)?;
        let last = lines.last().ok_or_else(|| missing(conversation))?;
        if last.value.run != run {
            return Err(Error::unavailable("the conversation has gone on since: say it again there"));
        }
        // What it had half said is said anew.
        let half = Some(last.id).filter(|_| last.value.role == Speaker::Assistant && last.value.calls().is_empty());
        self.conversations.begin_again(user, run, conversation, half).await?;
        let (agent, ports) = (self.clone(), cx.ports().clone());
        tokio::spawn(async move { agent.taken_up(&ports, user, run, busy, cancel).await });
        Ok(())
    }

    /// Stops a run of this person that is under way or queued; `false` when none of that id is.
    pub fn cancel(&self, cx: &Cx, run: Id) -> bool {
        self.queue.stop(cx.user(), run)
    }

    /// Stops every run of a person that is under way or queued: somebody who has left has nothing done any more.
    pub fn cancel_all_of(&self, user: UserId) {
        for (run, ..) in self.queue.runs_of(user) {
            self.queue.stop(user, run);
        }
    }

    /// Stops a run of this person for good, also one that waits; `false` when there is none of that id that is not over.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn stop(&self, cx: &Cx, run: Id) -> Result<bool> {
        let (agent, cx) = (self.clone(), cx.clone());
        to_completion(async move { agent.stop_for_good(&cx, run).await }).await
    }

    async fn stop_for_good(&self, cx: &Cx, run: Id) -> Result<bool> {
        let user = cx.user();
        let under_way = self.queue.stop(user, run);
        let found = self.conversations.runs.get_in(Scope::User(user), run)?.filter(|e| e.value.state.is_open());
        let conversation = found.map(|e| e.value.conversation);
        let open = conversation.is_some();
        if open {
            // Also when the power goes this very moment it does not go on.
            let ended = |run: &mut StoredRun| {
                if run.state.is_open() {
                    run.ends(State::Cancelled, "cancelled", &cancelled().1);
                }
            };
            self.conversations.change_run(user, run, ended).await?;
        }
        let asked = self.end_questions_of(user, run);
        if !under_way && (open || asked) {
            self.tell_stopped(cx.ports(), user, run, conversation).await;
        }
        Ok(under_way || open || asked)
    }

    /// The end of a run that was stopped before it was taken up.
    async fn tell_stopped(&self, ports: &Ports, user: UserId, run: Id, conversation: Option<Id>) {
        let told = conversation.map(|id| id.to_string());
        let data = serde_json::json!({"outcome": "cancelled", "runId": run.to_string(), "conversationId": told});
        self.counts.ended("cancelled");
        ports.bus.publish("run:ended", Some(user), data);
        if let Some(conversation) = conversation
            && let Err(error) = self.finish(user, run, conversation).await
        {
            tracing::warn!(%run, %error, "a conversation that was not to be kept is still there");
        }
    }

    /// Ends what people are asked for a run; `false` where there is nothing.
    pub(crate) fn end_questions_of(&self, user: UserId, run: Id) -> bool {
        let asked = self.parts.registry.approvals().is_some_and(|approvals| approvals.end_run(user, run));
        self.parts.interactions.end_run(user, run) || asked
    }

    /// Whether something a resting run waited for is settled.
    fn has_heard(&self, user: UserId, run: Id) -> bool {
        self.waiting_on(user, run).is_empty()
            || {
                let waits = match self.conversations.runs.get_in(Scope::User(user), run) {
                    Ok(Some(found)) => found.value.waits(),
                    _ => return true,
                };
                let unheard = self.parts.interactions.unheard(user, run);
                let settled = |call: &String| {
                    unheard.iter().any(|w| w.model_call == *call)
                        || matches!(self.reply_to(user, run, call, None), Some(verdict) if !matches!(verdict, Reply::Pending))
                };
                waits.iter().any(settled)
            }
    }

    /// What was said about a call.
    pub(crate) fn reply_to(&self, user: UserId, run: Id, call: &str, after: Option<Id>) -> Option<Reply> {
        let approvals = self.parts.registry.approvals()?;
        approvals.reply_to(user, run, call, after.unwrap_or_default()).unwrap_or_else(|error| {
            tracing::warn!(%run, %error, "what was asked could not be read");
            Some(Reply::Lapsed)
        })
    }

    /// Keeps a run that rested before runs were kept; `false` where what it had said is gone, and nothing is to go on.
    async fn know(&self, ports: &Ports, resume: &Resume) -> Result<bool> {
        let (user, run) = (resume.principal.user, resume.run);
        let mut known = self.conversations.runs.get_in(Scope::User(user), run)?.is_some();
        if !known && self.conversations.has_said(user, resume.conversation, run)? {
            let cx = Cx::root(ports.clone(), resume.principal.clone(), resume.via.clone());
            cx.taint(resume.label);
            let mut stored = StoredRun::new(&cx, resume.conversation, State::Waiting);
            stored.set_only(resume.only.as_ref());
            stored.model = self.provider().model();
            stored.turns = 1;
            self.conversations.add_run(user, run, stored).await?;
            known = true;
        }
        if let Some(approvals) = self.parts.registry.approvals() {
            let begun = approvals.begun(user, resume.approval).await;
            // With its conversation the question may be gone too.
            if known { begun? } else { drop(begun) }
        }
        Ok(known)
    }

    /// Takes a run up behind whoever is in its conversation. From here on it counts as under way.
    fn spawn(&self, ports: &Ports, user: UserId, run: Id, conversation: Id, before: ResumeTrigger) {
        let cancel = CancellationToken::new();
        let entered = self
            .queue
            .enter(QueuedRun::new(run, user, Some(conversation), cancel.clone(), true), AdmissionPolicy::Resume);
        // It is refused only where the house closes, and then goes on after the next start.
        let Ok(busy) = entered else { return };
        let (agent, ports) = (self.clone(), ports.clone());
        tokio::spawn(async move {
            if !busy.turn().await {
                if busy.stopped() {
                    agent.tell_stopped(&ports, user, run, Some(conversation)).await;
                }
                return;
            }
            // When its turn has come: a conversation that is being deleted is gone then.
            if let ResumeTrigger::Know(resume) = &before {
                match agent.know(&ports, resume).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::warn!(%run, approval = %resume.approval, %error, "a run that rested could not go on");
                        return;
                    }
                }
            }
            let _slot = match &before {
                ResumeTrigger::Slot(slots) => slots.acquire().await.ok(),
                _ => None,
            };
            agent.taken_up(&ports, user, run, busy, cancel).await;
        });
    }

    async fn taken_up(&self, ports: &Ports, user: UserId, run: Id, busy: RunSlot, cancel: CancellationToken) {
        if let Err(error) = self.take_up(ports, user, run, busy, cancel).await {
            tracing::warn!(%run, %error, "a run could not be gone on with");
        }
    }

    async fn take_up(
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
                self.tell_stopped(ports, user, run, Some(stored.conversation)).await;
            }
            return Ok(());
        }
        let role = match self.roles.get() {
            Some(roles) => roles(user)?,
            None => Some(stored.role),
        };
        // Who was given less meanwhile has no more than that.
        stored.role = stored.role.min(role.unwrap_or(Role::Viewer));
        let cx = Cx::root(ports.clone(), stored.principal(user), stored.via());
        let cx = cx.in_run(run, stored.conversation, cancel);
        if stored.tainted {
            cx.taint(Label::Outside);
        }
        // Nobody listens any more.
        let (events, _) = mpsc::unbounded_channel();
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
            events,
            watch: None,
            journal: Some(CallJournal::new(self.conversations.clone(), user, run)),
            slot: busy,
        };
        if role.is_none() {
            task.end(Err(Stop("denied", GONE.into())), began).await;
        } else if stored.state == State::Queued {
            // Its message had waited for its turn when Hob ended.
            let message = stored.message();
            task.text = message.text().into_owned();
            task.start_queued(message, began).await;
        } else {
            task.resume_run(stored, is_long_ago(changed, Id::new().millis()), began).await;
        }
        Ok(())
    }

    /// Deletes conversations that were not to outlive the last session, but those in which something is unfinished.
    fn put_away_sessions(&self, unfinished: &[Id]) -> Result<()> {
        let mut old = vec![];
        self.conversations.heads.scan(|e| {
            if e.value.keeps != Persistence::Persistent && !unfinished.contains(&e.id) {
                old.push((e.owner, e.id));
            }
        })?;
        // Nobody says anything there any more.
        let kept_free = |(user, conversation): (UserId, Id)| {
            let busy = self.enter(Id::new(), user, Some(conversation), CancellationToken::new(), false).ok()?;
            Some((user, conversation, busy))
        };
        let (agent, old) = (self.clone(), old.into_iter().filter_map(kept_free).collect::<Vec<_>>());
        tokio::spawn(async move {
            for (user, conversation, busy) in old {
                if let Err(error) = agent.forget(user, conversation, true, busy).await {
                    tracing::warn!(%error, "a conversation of the last session is still there");
                }
            }
        });
        Ok(())
    }

    /// Forgets the oldest runs that are over, and goes on with those whose questions nobody answered; now and then.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn tidy(&self, ports: &Ports) -> Result<()> {
        let (mut over, mut waiting) = (HashMap::<UserId, Vec<Id>>::new(), vec![]);
        self.conversations.runs.scan(|e| match e.value.state {
            State::Waiting => waiting.push((e.owner, e.id)),
            state if state.is_open() => {}
            _ => over.entry(e.owner).or_default().push(e.id),
        })?;
        for (user, mut ids) in over.into_iter().filter(|(_, ids)| ids.len() > KEPT) {
            ids.sort();
            let (old, runs) = (ids[..ids.len() - KEPT].to_vec(), self.conversations.runs.clone());
            runs.clone()
                .store()
                .write_later(move |tx| old.iter().try_for_each(|id| runs.remove(tx, Scope::User(user), *id).map(drop)));
        }
        for (user, run) in waiting {
            if self.waiting_on(user, run).is_empty() {
                self.wake(ports, user, run);
            }
        }
        Ok(())
    }
}

/// Whether what was last heard of a run is so old that what it was about to do is not done as a surprise.
fn is_long_ago(changed_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(changed_ms) > LONG.as_millis() as u64
}

const GONE: &str = "whoever asked for this is no longer one of the household, so it was not gone on with";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_long() {
        let day = LONG.as_millis() as u64;
        for (changed, now, is) in [(5, 5, false), (5, 5 + day, false), (5, 6 + day, true), (9, 5, false)] {
            assert_eq!(is_long_ago(changed, now), is, "{changed} {now}");
        }
    }
}
