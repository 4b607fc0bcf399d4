//! A run that goes on finds a result for every call of its last turn: one that was answered is made, one that waits goes on
//! waiting, and of one that had begun the model hears what is known.

use super::{ModelAttribution, Progress, Run, Stop, calls::CallOutcome, cancelled, resume_point::ResumePoint};
use crate::conversation::{Begun, KILLS, State, StoredRun, answered};
use futures::future::join_all;
use llm::{Message, ToolCall};
use registry::Reply;
use std::time::Instant;
use store::Effect;
use tool::{Consent, Error, Id, Output};

/// Tools that wait for a person by themselves.
const ASKING: &[&str] = &["ask_user", "render_blocks", "render_and_wait"];

/// What becomes of a call that has no result.
enum RecoveryAction {
    /// It waits for a person.
    Waits,
    /// It is made.
    Make(Option<Consent>),
    /// It is not made, and this is its result.
    Give(String),
    /// It was made; its answer is lost.
    Made,
}

impl Run {
    /// Finds a result for every call of its last turn, and lets the model go on.
    pub async fn resume_run(mut self, stored: StoredRun, long_ago: bool, began: Instant) {
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
    async fn settled(&self, stored: &StoredRun, long_ago: bool) -> Result<Option<(ResumePoint, Progress)>, Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        let conversation = stored.conversation;
        let reads = self.reads_own();
        let standing = conversations.resume_point(&self.cx, conversation, self.run, reads)?;
        if standing.ended {
            self.is_done(conversation).await?;
            return Ok(None);
        }
        let act = |call| match self.act(stored, &standing, call) {
            // Nobody expects it any more.
            RecoveryAction::Make(None) if long_ago && stored.state == State::Running => {
                RecoveryAction::Give(LONG_AGO.into())
            }
            act => act,
        };
        let (one_by_one, mut held) = (!self.limits().parallel, false);
        let acts = standing.open.iter().map(|call| {
            // Where one call is made after the other, none is made before one that waits.
            let act = if held { RecoveryAction::Waits } else { act(call) };
            held |= one_by_one && matches!(act, RecoveryAction::Waits);
            (call, act)
        });
        let acts: Vec<(&ToolCall, RecoveryAction)> = acts.collect();
        let waits =
            |acts: &[(&ToolCall, RecoveryAction)]| acts.iter().all(|(_, act)| matches!(act, RecoveryAction::Waits));
        if stored.state == State::Waiting && !acts.is_empty() && waits(&acts) {
            return Ok(None);
        }
        let killed = stored.state == State::Running && !stored.interrupted_by_shutdown;
        let taken_up = move |run: &mut StoredRun| {
            // The person may have stopped it this very moment.
            if run.state.is_open() {
                run.state = State::Running;
            }
            (run.resumed, run.kills) = (run.resumed + 1, run.kills + u32::from(killed));
            run.interrupted_by_shutdown = false;
            run.set_waits(&[]);
        };
        let kept = conversations.change_run(user, self.run, taken_up).await?;
        if kept.kills >= KILLS {
            return Err(Stop("failed", POISON.into()));
        }
        self.publish("run:resumed", serde_json::json!({"times": kept.resumed}));
        let by = ModelAttribution { model: stored.model.clone(), by_word: stored.by_word };
        let waits = self.settle_all(acts, &by).await?;
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
        let mut standing = conversations.resume_point(&self.cx, conversation, self.run, reads)?;
        // What was done on the person's word is told, also where the answer to it was cut short before.
        if standing.overtaken && !standing.late {
            return Err(Stop("failed", OVERTAKEN.into()));
        }
        let progress = Progress {
            resumed: true,
            turns: kept.turns,
            calls: kept.calls,
            usage: kept.usage(),
            guard: std::mem::take(&mut standing.guard),
            ids: std::mem::take(&mut standing.ids),
            done: std::mem::take(&mut standing.done),
            ..Progress::default()
        };
        Ok(Some((standing, progress)))
    }

    /// It has nothing more to say.
    async fn is_done(&self, conversation: Id) -> Result<(), Stop> {
        let (conversations, user) = (&self.agent.conversations, self.cx.user());
        conversations.change_run(user, self.run, |run| run.ends(State::Done, "", "")).await?;
        self.agent.counts.ended("ok");
        self.publish("run:ended", serde_json::json!({"outcome": "ok"}));
        Ok(self.agent.finish(user, self.run, conversation).await?)
    }

    /// Makes what is to be made. The ids of what waits.
    async fn settle_all(
        &self,
        acts: Vec<(&ToolCall, RecoveryAction)>,
        by: &ModelAttribution,
    ) -> Result<Vec<String>, Stop> {
        let _watching = self.forward_questions();
        let mut settled = vec![];
        if self.limits().parallel {
            settled = join_all(acts.into_iter().map(|(call, act)| self.settle(call, act, by))).await;
        } else {
            let mut held = false;
            for (call, act) in acts {
                let one = self.settle(call, if held { RecoveryAction::Waits } else { act }, by).await;
                held |= matches!(one, Ok(Some(_)));
                settled.push(one);
            }
        }
        settled.into_iter().filter_map(Result::transpose).collect()
    }

    /// The id of a call where it waits.
    async fn settle(
        &self,
        call: &ToolCall,
        act: RecoveryAction,
        by: &ModelAttribution,
    ) -> Result<Option<String>, Stop> {
        let waits = || Ok(Some(call.id.clone()));
        match act {
            RecoveryAction::Waits => return waits(),
            RecoveryAction::Give(text) => {
                let (record, result) = self.result(call, Err(Error::failed(text)), 0);
                self.store_result(&result, record.duration_ms).await?;
            }
            RecoveryAction::Made => {
                let (record, result) = self.result(call, Ok(Output::text(ANSWER_LOST)), 0);
                self.store_result(&result, record.duration_ms).await?;
            }
            RecoveryAction::Make(consent) => {
                if let CallOutcome::Suspended = self.make(call, by, consent).await? {
                    return waits();
                }
            }
        }
        Ok(None)
    }

    /// What becomes of a call without a result.
    fn act(&self, stored: &StoredRun, standing: &ResumePoint, call: &ToolCall) -> RecoveryAction {
        let user = self.cx.user();
        let verdict = self.agent.reply_to(user, self.run, &call.id, standing.asked_in);
        if matches!(verdict, Some(Reply::Pending)) || self.waits_for_answer(stored, call) {
            return RecoveryAction::Waits;
        }
        let begun: Vec<Begun> = stored.begun().into_iter().filter(|b| b.call == call.id).collect();
        let whole = !call.arguments.contains(scrub::MARK);
        if begun.iter().any(|b| !b.repeatable || !whole) {
            let effect = self.agent.conversations.lines.store().effect(store::effect_key(self.run, &call.id));
            let confined = begun.iter().all(|b| b.confined || b.repeatable);
            match effect {
                Ok(Some(effect)) if confined && effect.is_whole() => return RecoveryAction::Made,
                // It has changed nothing yet.
                Ok(None) if confined && whole => {}
                effect => return RecoveryAction::Give(not_known(stored, &begun, effect.ok().flatten().as_ref())),
            }
        }
        match verdict {
            Some(Reply::No) => RecoveryAction::Give(SAID_NO.into()),
            Some(Reply::Lapsed) => RecoveryAction::Give(LAPSED.into()),
            Some(Reply::Yes(_)) if !whole => RecoveryAction::Give(NOT_WHOLE.into()),
            Some(Reply::Yes(consent)) => RecoveryAction::Make(Some(consent)),
            _ if !whole => RecoveryAction::Give(NOT_KEPT.into()),
            _ => RecoveryAction::Make(None),
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

/// What the model is told of a call that may have been made, or partly.
fn not_known(stored: &StoredRun, begun: &[Begun], effect: Option<&Effect>) -> String {
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
