//! Runs that go on: after a power cut or a stop in good order, when somebody has answered what a run rested on, and when a
//! person has one that failed go on. It is always the same: what is needed is in the store, and a run begins where it stands.

use crate::{
    Agent,
    calls::Made,
    complete::Theirs,
    config::Persistence,
    conversation::missing,
    journal::{Begun, KILLS, Note, State, StoredRun},
    lines::answered,
    place,
    places::{Busy, Entering},
    run::{By, Progress, Run, Stop, cancelled},
    standing::Standing,
};
use futures::future::join_all;
use llm::{Message, ToolCall};
use registry::{Reply, Resume};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tool::{Consent, Cx, Error, Id, Label, Ports, Result, Role, Scope, UserId};

/// What somebody may do today; `None` when they are gone. Where that cannot be read, a run waits for the next start.
pub type Roles = Arc<dyn Fn(UserId) -> Result<Option<Role>> + Send + Sync>;

/// How many runs are taken up at once after a start.
const AT_ONCE: usize = 4;
/// How many runs of a person are kept.
const KEPT: usize = 2000;
/// How long after the end of Hob a call is still made that had not begun.
const LONG: Duration = Duration::from_secs(24 * 3600);
/// Tools that wait for a person by themselves.
const ASKING: &[&str] = &["ask_user", "render_blocks", "render_and_wait"];

/// What comes before a run is taken up.
enum Before {
    Nothing,
    /// One of so many at once.
    Slot(Arc<Semaphore>),
    /// That it is known: it may have rested before runs were kept.
    Know(Box<Resume>),
}

/// What becomes of a call that has no result.
enum Act {
    /// It waits for a person.
    Waits,
    /// It is made.
    Make(Option<Consent>),
    /// It is not made, and this is its result.
    Give(String),
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
        let mut open = vec![];
        self.conversations.runs.scan(|e| {
            if e.value.state.is_open() {
                open.push((e.value.state, e.id, e.owner, e.value.conversation));
            }
        })?;
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
            self.spawn(ports, user, run, conversation, Before::Slot(slots.clone()));
        }
        self.put_away_sessions(&unfinished)?;
        self.tidy(ports)
    }

    /// Goes on with a run that rested on a question, in the background: makes its call when the answer was yes, tells the model
    /// no otherwise, and lets it answer unless other calls of the same turn still wait.
    pub fn go_on(&self, ports: &Ports, resume: Resume) {
        let (user, run, conversation) = (resume.principal.user, resume.run, resume.conversation);
        self.spawn(ports, user, run, conversation, Before::Know(Box::new(resume)));
    }

    /// Somebody answered what a call of a run of `user` waited for: goes on with the run in the background, where nothing else
    /// of it still waits. A run that is over is left alone; one that is under way is looked at again when it rests.
    pub fn wake(&self, ports: &Ports, user: UserId, run: Id) {
        tracing::debug!(%run, "woken");
        match self.conversations.runs.get_in(Scope::User(user), run) {
            Ok(Some(found)) if found.value.state.is_open() => {
                self.spawn(ports, user, run, found.value.conversation, Before::Nothing);
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
        let user = cx.user();
        let stored = self.stored_run(cx, run)?;
        match stored.state {
            State::Failed | State::Cancelled => {}
            State::Done => return Err(Error::unavailable("this run has given its answer: say something new")),
            _ => return Err(Error::unavailable("this run is under way: wait for it, or stop it")),
        }
        let conversation = stored.conversation;
        let cancel = CancellationToken::new();
        let busy = self.places.enter(place(run, user, Some(conversation), cancel.clone(), true), Entering::Now)?;
        let lines = self.conversations.all(cx, conversation)?;
        let last = lines.last().ok_or_else(|| missing(conversation))?;
        if last.value.run != run {
            return Err(Error::unavailable("the conversation has gone on since: say it again there"));
        }
        // What it had half said is said anew.
        let half =
            Some(last.id).filter(|_| last.value.role == crate::lines::Role::Assistant && last.value.calls().is_empty());
        self.conversations.begin_again(user, run, conversation, half).await?;
        let (agent, ports) = (self.clone(), cx.ports().clone());
        tokio::spawn(async move { agent.taken_up(&ports, user, run, busy, cancel).await });
        Ok(())
    }

    /// Stops a run of this person that is under way or queued; `false` when none of that id is.
    pub fn cancel(&self, cx: &Cx, run: Id) -> bool {
        self.places.stop(cx.user(), run)
    }

    /// Stops a run of this person for good, also one that waits; `false` when there is none of that id that is not over.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn stop(&self, cx: &Cx, run: Id) -> Result<bool> {
        let user = cx.user();
        let under_way = self.places.stop(user, run);
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
    fn reply_to(&self, user: UserId, run: Id, call: &str, after: Option<Id>) -> Option<Reply> {
        let approvals = self.parts.registry.approvals()?;
        approvals.reply_to(user, run, call, after.unwrap_or_default()).unwrap_or_else(|error| {
            tracing::warn!(%run, %error, "what was asked could not be read");
            Some(Reply::Lapsed)
        })
    }

    /// Keeps a run that rested before runs were kept.
    async fn know(&self, ports: &Ports, resume: &Resume) -> Result<()> {
        let user = resume.principal.user;
        if self.conversations.runs.get_in(Scope::User(user), resume.run)?.is_none() {
            let cx = Cx::root(ports.clone(), resume.principal.clone(), resume.via.clone());
            cx.taint(resume.label);
            let mut stored = StoredRun::new(&cx, resume.conversation, State::Waiting);
            stored.set_only(resume.only.as_ref());
            stored.model = self.provider().model();
            stored.turns = 1;
            self.conversations.add_run(user, resume.run, stored).await?;
        }
        if let Some(approvals) = self.parts.registry.approvals() {
            approvals.begun(user, resume.approval).await?;
        }
        Ok(())
    }

    /// Takes a run up behind whoever is in its conversation. From here on it counts as under way.
    fn spawn(&self, ports: &Ports, user: UserId, run: Id, conversation: Id, before: Before) {
        let cancel = CancellationToken::new();
        let entered = self.places.enter(place(run, user, Some(conversation), cancel.clone(), true), Entering::GoesOn);
        // It is refused only where the house closes, and then goes on after the next start.
        let Ok(busy) = entered else { return };
        let (agent, ports) = (self.clone(), ports.clone());
        tokio::spawn(async move {
            if let Before::Know(resume) = &before
                && let Err(error) = agent.know(&ports, resume).await
            {
                tracing::warn!(%run, approval = %resume.approval, %error, "a run that rested could not go on");
                return;
            }
            if !busy.turn().await {
                if busy.stopped() {
                    agent.tell_stopped(&ports, user, run, Some(conversation)).await;
                }
                return;
            }
            let _slot = match &before {
                Before::Slot(slots) => slots.acquire().await.ok(),
                _ => None,
            };
            agent.taken_up(&ports, user, run, busy, cancel).await;
        });
    }

    async fn taken_up(&self, ports: &Ports, user: UserId, run: Id, busy: Busy, cancel: CancellationToken) {
        if let Err(error) = self.take_up(ports, user, run, busy, cancel).await {
            tracing::warn!(%run, %error, "a run could not be gone on with");
        }
    }

    async fn take_up(&self, ports: &Ports, user: UserId, run: Id, busy: Busy, cancel: CancellationToken) -> Result<()> {
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
        let (steps, _) = mpsc::unbounded_channel();
        let mut task = Run {
            agent: self.clone(),
            provider: self.provider(),
            cx,
            run,
            conversation: Some(stored.conversation),
            text: String::new(),
            tool_choice: stored.tool_choice(),
            theirs: Theirs::default(),
            only: stored.only(),
            preset: stored.preset,
            steps,
            watch: None,
            note: Some(Note::new(self.conversations.clone(), user, run)),
            busy,
        };
        if role.is_none() {
            task.end(Err(Stop("denied", GONE.into())), began).await;
        } else if stored.state == State::Queued {
            // Its message had waited for its turn when Hob ended.
            let message = stored.message();
            task.text = message.text().into_owned();
            task.begins_late(message, began).await;
        } else {
            task.goes_on(stored, is_long_ago(changed, Id::new().millis()), began).await;
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
            for (user, conversation, _busy) in old {
                if let Err(error) = agent.conversations.delete(user, conversation).await {
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

impl Run {
    /// Finds a result for every call of its last turn, and lets the model go on.
    async fn goes_on(mut self, stored: StoredRun, long_ago: bool, began: Instant) {
        match self.settled(&stored, long_ago).await {
            Err(stop) => self.end(Err(stop), began).await,
            Ok(None) => {}
            Ok(Some((standing, progress))) => {
                let said = standing.history.iter().rev().find_map(|m| match m {
                    Message::User(said) => Some(said.text().into_owned()),
                    _ => None,
                });
                self.text = said.unwrap_or_default();
                self.go(answered(standing.history), progress).await;
            }
        }
    }

    /// `None` where there is nothing to go on with: it still waits, or is over.
    async fn settled(&self, stored: &StoredRun, long_ago: bool) -> Result<Option<(Standing, Progress)>, Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        let conversation = stored.conversation;
        let reads = self.reads_own();
        let standing = conversations.standing(&self.cx, conversation, self.run, reads)?;
        if standing.ended {
            self.is_done(conversation).await?;
            return Ok(None);
        }
        let act = |call| match self.act(stored, &standing, call) {
            // Nobody expects it any more.
            Act::Make(None) if long_ago && stored.state == State::Running => Act::Give(LONG_AGO.into()),
            act => act,
        };
        let acts: Vec<(&ToolCall, Act)> = standing.open.iter().map(|call| (call, act(call))).collect();
        let waits = |acts: &[(&ToolCall, Act)]| acts.iter().all(|(_, act)| matches!(act, Act::Waits));
        if stored.state == State::Waiting && !acts.is_empty() && waits(&acts) {
            return Ok(None);
        }
        let killed = stored.state == State::Running && !stored.laid_down;
        let taken_up = move |run: &mut StoredRun| {
            // The person may have stopped it this very moment.
            if run.state.is_open() {
                run.state = State::Running;
            }
            (run.resumed, run.kills) = (run.resumed + 1, run.kills + u32::from(killed));
            run.laid_down = false;
            run.set_waits(&[]);
        };
        let kept = conversations.change_run(user, self.run, taken_up).await?;
        if kept.kills >= KILLS {
            return Err(Stop("failed", POISON.into()));
        }
        self.publish("run:resumed", serde_json::json!({"times": kept.resumed}));
        let by = By { model: stored.model.clone(), by_word: stored.by_word };
        let (names, waits) = self.settle_all(acts, &by).await?;
        if !self.cx.cancel().is_cancelled() && !waits.is_empty() {
            let rests = move |run: &mut StoredRun| run.rests(&waits);
            conversations.change_run(user, self.run, rests).await?;
            self.publish("run:ended", serde_json::json!({"outcome": "ok"}));
            return Ok(None);
        }
        if self.cx.cancel().is_cancelled() {
            return Err(cancelled());
        }
        let overtaken = standing.overtaken;
        let mut standing = conversations.standing(&self.cx, conversation, self.run, reads)?;
        if overtaken && names.is_empty() {
            return Err(Stop("failed", OVERTAKEN.into()));
        }
        if overtaken {
            // What reads sentences would take the news for one.
            if self.provider.acts_by_word() || !self.provider.reads_context() {
                self.is_done(conversation).await?;
                return Ok(None);
            }
            // The model hears of it as of news, or nobody would tell the person what came of their answer.
            standing.history.push(Message::user(news(&names)));
        }
        let progress = Progress {
            goes_on: true,
            turns: kept.turns,
            calls: kept.calls,
            usage: kept.usage(),
            guard: std::mem::take(&mut standing.guard),
            ids: std::mem::take(&mut standing.ids),
            ..Progress::default()
        };
        Ok(Some((standing, progress)))
    }

    /// It has nothing more to say.
    async fn is_done(&self, conversation: Id) -> Result<(), Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        conversations.change_run(user, self.run, |run| run.ends(State::Done, "", "")).await?;
        self.publish("run:ended", serde_json::json!({"outcome": "ok"}));
        Ok(self.agent.finish(user, self.run, conversation).await?)
    }

    /// Makes what is to be made. The names of what has a result now, and the ids of what waits.
    async fn settle_all(&self, acts: Vec<(&ToolCall, Act)>, by: &By) -> Result<(Vec<String>, Vec<String>), Stop> {
        let _watching = self.hear_questions();
        let mut settled = vec![];
        if self.limits().parallel {
            settled = join_all(acts.into_iter().map(|(call, act)| self.settle(call, act, by))).await;
        } else {
            for (call, act) in acts {
                settled.push(self.settle(call, act, by).await);
            }
        }
        let (mut names, mut waits) = (vec![], vec![]);
        for one in settled {
            match one? {
                (name, None) => names.push(name),
                (_, Some(id)) => waits.push(id),
            }
        }
        Ok((names, waits))
    }

    /// The name of a call, and its id where it waits.
    async fn settle(&self, call: &ToolCall, act: Act, by: &By) -> Result<(String, Option<String>), Stop> {
        let waits = || Ok((call.name.clone(), Some(call.id.clone())));
        match act {
            Act::Waits => return waits(),
            Act::Give(text) => {
                let (record, result) = self.result(call, Err(Error::failed(text)), 0);
                self.keep_result(&result, record.duration_ms).await?;
            }
            Act::Make(consent) => {
                if let Made::Parked = self.make(call, by, consent).await? {
                    return waits();
                }
            }
        }
        Ok((call.name.clone(), None))
    }

    /// What becomes of a call without a result.
    fn act(&self, stored: &StoredRun, standing: &Standing, call: &ToolCall) -> Act {
        let user = self.cx.user();
        let verdict = self.agent.reply_to(user, self.run, &call.id, standing.asked_in);
        if matches!(verdict, Some(Reply::Pending)) || self.waits_for_answer(stored, call) {
            return Act::Waits;
        }
        let begun: Vec<Begun> = stored.begun().into_iter().filter(|b| b.call == call.id).collect();
        let whole = !call.arguments.contains(scrub::MARK);
        if begun.iter().any(|b| !b.repeatable || !whole) {
            let names: Vec<String> = begun.iter().map(|b| format!("`{}`", b.tool)).collect();
            let how = if stored.laid_down { "it was cut short" } else { "the device lost power" };
            return Act::Give(format!(
                "{how} while {} ran: it is not known whether it was done; look before doing it again",
                names.join(", ")
            ));
        }
        match verdict {
            Some(Reply::No) => Act::Give(SAID_NO.into()),
            Some(Reply::Lapsed) => Act::Give(LAPSED.into()),
            Some(Reply::Yes(_)) if !whole => Act::Give(NOT_WHOLE.into()),
            Some(Reply::Yes(consent)) => Act::Make(Some(consent)),
            _ if !whole => Act::Give(NOT_KEPT.into()),
            _ => Act::Make(None),
        }
    }

    /// Whether a call rests on a question of its own that nobody has answered yet.
    fn waits_for_answer(&self, stored: &StoredRun, call: &ToolCall) -> bool {
        let (interactions, user) = (&self.agent.parts.interactions, self.cx.user());
        let asks = stored.waits().contains(&call.id)
            || ASKING.iter().any(|name| call.name == *name || call.arguments.contains(&format!("\"{name}\"")));
        let knows = || self.agent.reply_to(user, self.run, &call.id, None).is_some();
        asks && !knows()
            && !interactions.waiting(user, self.run).is_empty()
            && !interactions.unheard(user, self.run).iter().any(|wake| wake.model_call == call.id)
    }
}

/// Whether what was last heard of a run is so old that what it was about to do is not done as a surprise.
fn is_long_ago(changed_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(changed_ms) > LONG.as_millis() as u64
}

const LONG_AGO: &str = "this was about to be made more than a day ago, when Hob ended: it was not made; ask the person whether \
                        they still want it";
const GONE: &str = "whoever asked for this is no longer one of the household, so it was not gone on with";
const OVERTAKEN: &str = "the conversation had gone on before this could be answered: say it again";
const POISON: &str = "this run was cut short five times at the same place, so it is not tried again by itself: the log may tell why; \
                      have it go on, or ask for it in another way";
const SAID_NO: &str = "the person was asked and said no: do not try again, and go on without it";
const LAPSED: &str = "the person was being asked whether it may be made, and did not answer in time: it was not made";
const NOT_WHOLE: &str = "the person said yes, but there was a secret in this call, which is not kept while they are asked: it \
                         was not made; they can do it themselves, or have it done again and answer at once";
const NOT_KEPT: &str = "Hob was started again before this was made, and there was a secret in it, which is not kept: it was not \
                        made; ask the person for it again";

/// What the model is told of calls that were settled after the conversation had gone on.
fn news(tools: &[String]) -> String {
    let named: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    // Without the result: what stands in a message of the person counts as their word.
    format!(
        "(Meanwhile the person answered about the call of {} that had waited for them; its result stands with the call. \
         Tell them in a sentence what came of it.)",
        named.join(", ")
    )
}

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
