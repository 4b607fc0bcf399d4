//! Recovers the calls of a resumed run's last turn, so that each gets a result. Approved calls are made, and waiting
//! ones continue to wait. For calls that had begun, the result reports their known effects.

use super::{ModelAttribution, Progress, Run, Stop, calls::CallOutcome, cancelled, resume_point::ResumePoint};
use crate::conversation::{Begun, KILLS, State, StoredRun, answered, durability::SOON};
use futures::future::join_all;
use llm::{Message, ToolCall};
use registry::Reply;
use std::time::Instant;
use store::Effect;
use tool::{Consent, Error, Id, Output};

/// The recovery of a call that has no result.
enum RecoveryAction {
    /// Wait for a person.
    Wait,
    /// Make it.
    Make(Option<Consent>),
    /// Do not make it; this is its result.
    Result(String),
    /// It was made; its result is lost.
    Made,
}

impl Run {
    /// Recovers every call of the last turn, and lets the model continue.
    pub async fn resume_run(mut self, stored: StoredRun, long_ago: bool, began: Instant) {
        match self.recover(&stored, long_ago).await {
            Err(stop) => self.end(Err(stop), began).await,
            Ok(None) => {}
            Ok(Some((point, progress))) => {
                let said = point.history.iter().rev().find_map(|m| match m {
                    Message::User(said) => Some(said.text().into_owned()),
                    _ => None,
                });
                self.text = said.unwrap_or_default();
                self.go(answered(point.history), progress).await;
            }
        }
    }

    /// `None` when there is nothing to resume: the run still waits, or has ended.
    async fn recover(&self, stored: &StoredRun, long_ago: bool) -> Result<Option<(ResumePoint, Progress)>, Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        let conversation = stored.conversation;
        let reads = self.reads_own();
        let point = conversations.resume_point(&self.cx, conversation, self.run, reads)?;
        if point.ended {
            self.end_as_done(conversation).await?;
            return Ok(None);
        }
        let act = |call| match self.action(stored, &point, call) {
            // Nobody expects it any more.
            RecoveryAction::Make(None) if long_ago && stored.state == State::Running => {
                RecoveryAction::Result(LONG_AGO.into())
            }
            act => act,
        };
        let (one_by_one, mut held) = (!self.limits().parallel, false);
        let acts = point.open.iter().map(|call| {
            // If calls are made one by one, none is made before one that waits.
            let act = if held { RecoveryAction::Wait } else { act(call) };
            held |= one_by_one && matches!(act, RecoveryAction::Wait);
            (call, act)
        });
        let acts: Vec<(&ToolCall, RecoveryAction)> = acts.collect();
        let waits =
            |acts: &[(&ToolCall, RecoveryAction)]| acts.iter().all(|(_, act)| matches!(act, RecoveryAction::Wait));
        if stored.state == State::Waiting && !acts.is_empty() && waits(&acts) {
            return Ok(None);
        }
        let killed = stored.state == State::Running && !stored.interrupted_by_shutdown;
        let taken_up = move |run: &mut StoredRun| {
            // The person may have just stopped it.
            if run.state.is_open() {
                run.state = State::Running;
            }
            (run.resumed, run.kills) = (run.resumed + 1, run.kills + u32::from(killed));
            run.interrupted_by_shutdown = false;
            run.set_waits(&[]);
        };
        // Count interruptions before the next one. A run that an answer woke is woken again.
        let within = (!killed).then_some(SOON);
        let kept = conversations.change_run_within(within, user, self.run, taken_up).await?;
        if kept.kills >= KILLS {
            return Err(Stop("failed", POISON.into()));
        }
        self.publish("run:resumed", serde_json::json!({"times": kept.resumed}));
        let by = ModelAttribution { model: stored.model.clone(), by_word: stored.by_word };
        let waits = self.recover_calls(acts, &by).await?;
        if !self.cx.cancel().is_cancelled() && !waits.is_empty() {
            let rests = move |run: &mut StoredRun| run.suspend(&waits);
            conversations.change_run(user, self.run, rests).await?;
            self.agent.counts.ended("suspended");
            self.publish("run:ended", serde_json::json!({"outcome": "ok"}));
            return Ok(None);
        }
        if self.cx.cancel().is_cancelled() {
            return Err(cancelled());
        }
        let mut point = conversations.resume_point(&self.cx, conversation, self.run, reads)?;
        // Approved calls are reported, even if the answer about them was interrupted.
        if point.overtaken && !point.late {
            return Err(Stop("failed", OVERTAKEN.into()));
        }
        let progress = Progress {
            resumed: true,
            turns: kept.turns,
            calls: kept.calls,
            usage: kept.usage(),
            guard: std::mem::take(&mut point.guard),
            ids: std::mem::take(&mut point.ids),
            done: std::mem::take(&mut point.done),
            ..Progress::default()
        };
        Ok(Some((point, progress)))
    }

    /// Ends a run whose answer is stored already.
    async fn end_as_done(&self, conversation: Id) -> Result<(), Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        conversations.change_run(user, self.run, |run| run.ends(State::Done, "", "")).await?;
        self.agent.counts.ended("ok");
        self.publish("run:ended", serde_json::json!({"outcome": "ok"}));
        Ok(self.agent.finish(user, self.run, conversation).await?)
    }

    /// Recovers calls. Returns the ids of those that wait.
    async fn recover_calls(
        &self,
        acts: Vec<(&ToolCall, RecoveryAction)>,
        by: &ModelAttribution,
    ) -> Result<Vec<String>, Stop> {
        let _watching = self.forward_questions();
        let mut waiting = vec![];
        if self.limits().parallel {
            waiting = join_all(acts.into_iter().map(|(call, act)| self.recover_call(call, act, by))).await;
        } else {
            let mut held = false;
            for (call, act) in acts {
                let one = self.recover_call(call, if held { RecoveryAction::Wait } else { act }, by).await;
                held |= matches!(one, Ok(Some(_)));
                waiting.push(one);
            }
        }
        waiting.into_iter().filter_map(Result::transpose).collect()
    }

    /// Recovers a call. Returns its id when it waits.
    async fn recover_call(
        &self,
        call: &ToolCall,
        act: RecoveryAction,
        by: &ModelAttribution,
    ) -> Result<Option<String>, Stop> {
        let waits = || Ok(Some(call.id.clone()));
        match act {
            RecoveryAction::Wait => return waits(),
            RecoveryAction::Result(text) => {
                let (record, result) = self.result(call, Err(Error::failed(text)), 0);
                self.store_result(&result, record.duration_ms).await?;
            }
            RecoveryAction::Made => {
                let (record, result) = self.result(call, Ok(Output::text(ANSWER_LOST)), 0);
                self.store_result(&result, record.duration_ms).await?;
            }
            RecoveryAction::Make(consent) => {
                if let Some(journal) = self.journal.as_ref().filter(|_| consent.is_some()) {
                    journal.ask();
                }
                if let CallOutcome::Suspended = self.make(call, by, consent).await? {
                    return waits();
                }
            }
        }
        Ok(None)
    }

    /// Decides about a call that has no result.
    fn action(&self, stored: &StoredRun, point: &ResumePoint, call: &ToolCall) -> RecoveryAction {
        let (user, after) = (self.cx.user(), point.asked_in.unwrap_or_default());
        let open = self.agent.parts.questions.of_run(user, self.run);
        if open.iter().any(|question| question.id > after && question.model_call == call.id) {
            return RecoveryAction::Wait;
        }
        let reply = self.agent.reply_to(user, self.run, &call.id, after);
        let begun: Vec<Begun> = stored.begun().into_iter().filter(|b| b.call == call.id).collect();
        let whole = !call.arguments.contains(scrub::MARK);
        if begun.iter().any(|b| !b.repeatable || !whole) {
            let effect = self.agent.conversations.lines.store().effect(store::effect_key(self.run, &call.id));
            let confined = begun.iter().all(|b| b.confined || b.repeatable);
            match effect {
                Ok(Some(effect)) if confined && effect.is_whole() => return RecoveryAction::Made,
                // It has changed nothing yet.
                Ok(None) if confined && whole => {}
                effect => return RecoveryAction::Result(uncertain(stored, &begun, effect.ok().flatten().as_ref())),
            }
        }
        match reply {
            Some(Reply::No) => RecoveryAction::Result(SAID_NO.into()),
            Some(Reply::Lapsed) => RecoveryAction::Result(LAPSED.into()),
            Some(Reply::Yes(_)) if !whole => RecoveryAction::Result(NOT_WHOLE.into()),
            Some(Reply::Yes(consent)) => RecoveryAction::Make(Some(consent)),
            _ if !whole => RecoveryAction::Result(NOT_KEPT.into()),
            _ => RecoveryAction::Make(None),
        }
    }
}

/// The result of a call that may have been made, or made in part.
fn uncertain(stored: &StoredRun, begun: &[Begun], effect: Option<&Effect>) -> String {
    let names: Vec<String> = begun.iter().map(|b| format!("`{}`", b.tool)).collect();
    let how = if stored.interrupted_by_shutdown { "it was cut short" } else { "the device lost power" };
    let done = effect.map(Effect::done).filter(|done| !done.is_empty());
    let done = done.map(|done| format!(" ({done} changed something before that)")).unwrap_or_default();
    format!(
        "{how} while {} ran{done}: it is not known whether it was done; look before doing it again",
        names.join(", ")
    )
}

const ANSWER_LOST: &str = "this was done right before Hob was interrupted, so its answer is lost: do not do it again; look if \
                           you need what it gave";
const LONG_AGO: &str = "this was about to be made more than a day ago, when Hob ended: it was not made; ask the person whether \
                        they still want it";
const OVERTAKEN: &str = "the conversation had gone on before this could be answered: say it again";
const POISON: &str = "this run was cut short five times at the same place, so it is not tried again by itself: the log may tell why; \
                      have it go on, or ask for it in another way";
const SAID_NO: &str = "the person was asked and said no: do not try again, and go on without it";
const LAPSED: &str = "the person was being asked whether it may be made, and did not answer in time: it was not made";
const NOT_WHOLE: &str = "the person said yes, but there was a secret in this call, which is not kept while they are asked: it \
                         was not made; they can do it themselves, or have it done again and answer at once";
const NOT_KEPT: &str = "Hob was started again before this was made, and there was a secret in it, which is not kept: it was not \
                        made; ask the person for it again";
