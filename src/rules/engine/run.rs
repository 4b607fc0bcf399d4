//! Runs a rule: its calls in order, with its waits, and the record of it.

use super::{
    Fired, FiredBy, Rules,
    live::{Admission, Cause, Live, Stop, definition_of},
};
use crate::{
    action::PROMPT,
    arming::CONTROL,
    matching::fill_placeholders,
    record::{Kind, Status, Trigger},
    rule_words::Words,
    steps::{Step, step},
};
use scheduler::Who;
use std::{sync::Arc, time::Duration};
use store::Entry;
use text_kit::{join_and, truncate};
use tokio::time::Instant;
use tool::{AgentId, Label, PreauthorizedCall, Scope, UserId, prelude::*};

/// Maximum length of the outcome of one action in the record, in characters.
const LONGEST: usize = 200;

/// One action that was made.
pub(crate) struct Did {
    pub text: String,
    pub ms: u64,
    pub result: Result<Output>,
    /// Whether the run was stopped here: it is not made, or a wait that was cut short.
    pub stopped: bool,
}

/// How a run goes on.
pub(crate) struct Course<'c> {
    pub about: &'c Value,
    pub by: FiredBy<'c>,
    /// The id of its record.
    pub firing: Id,
    /// Whether its calls have idempotency keys.
    pub keyed: bool,
    /// The first action to make.
    pub from: usize,
    /// How much of its waits has passed already, in seconds.
    pub waited: u64,
    pub prompt: bool,
    pub stop: Stop,
}

/// Ends a run also where it panics.
pub(super) struct Running<'r>(pub &'r Rules, pub Arc<Live>, pub u64);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.1.finish(self.2, self.0.0.ports.bus.newest());
    }
}

impl Running<'_> {
    /// The start that waits behind this run; without one the run has ended.
    fn next(&self) -> Option<Cause> {
        self.1.next_queued(self.2, self.0.0.ports.bus.newest())
    }

    /// Makes the runs that wait behind this one, and ends it.
    pub async fn drain(self, stop: &Stop) {
        while let Some(cause) = self.next() {
            self.0.run_live(&self.1, cause, stop).await;
        }
    }
}

impl Rules {
    /// Starts a rule whose conditions hold, where its limits allow it.
    pub(super) fn admit(&self, live: &Arc<Live>, cause: Cause) {
        let now = self.0.ports.clock.now();
        match live.admit(now, &cause) {
            Admission::Run(number, stop) => {
                let (this, live) = (self.clone(), live.clone());
                tokio::spawn(async move {
                    let running = Running(&this, live.clone(), number);
                    this.run_live(&live, cause, &stop).await;
                    running.drain(&stop).await;
                });
            }
            Admission::Queued => {}
            Admission::Skipped(reason) => live.skip(now, || cause.why, reason, cause.found),
        }
    }

    async fn run_live(&self, live: &Arc<Live>, cause: Cause, stop: &Stop) {
        // A rule that a pin starts does not even read.
        let entry = match cause.prompt {
            true => Ok(Some(live.entry.clone())),
            false => self.0.shelf.records().get_in(Scope::User(live.owner), live.id),
        };
        match entry {
            Ok(Some(entry)) => drop(self.fire(&entry, &cause, FiredBy::Agreed(cause.label), stop).await),
            Ok(None) => {}
            Err(error) => tracing::warn!(rule = %live.id, %error, "a rule could not be read"),
        }
    }

    /// Runs a rule whose time has come.
    ///
    /// # Errors
    /// `Denied` if it is paused, busy, or over its hourly limit.
    pub(crate) async fn fire_on_schedule(&self, entry: &Entry<Trigger>, about: &Value, label: Label) -> Result<Fired> {
        let refused = || {
            let name = &entry.value.name;
            Error::denied(format!("the trigger `{name}` is paused, busy, or over its hourly limit"))
        };
        let live = self.live(entry.id).ok_or_else(refused)?;
        let cause = Cause {
            why: "it was time".into(),
            about: about.clone(),
            label,
            prompt: false,
            at: Instant::now(),
            found: Value::Null,
        };
        if entry.value.kind == Kind::Rule {
            // The scheduler waits for no rule.
            self.caused(&live, cause);
            return Ok(Fired { status: Status::Ok, result: Ok(Output::text("started")) });
        }
        let Admission::Run(number, stop) = live.admit(self.0.ports.clock.now(), &cause) else { return Err(refused()) };
        let _running = Running(self, live.clone(), number);
        Ok(self.fire(entry, &cause, FiredBy::Agreed(label), &stop).await)
    }

    /// Stores that a rule runs, makes its calls, and stores the result. A rule that a pin starts is stored while it runs.
    pub(crate) async fn fire(&self, entry: &Entry<Trigger>, cause: &Cause, by: FiredBy<'_>, stop: &Stop) -> Fired {
        let label = match by {
            FiredBy::Agreed(label) => label,
            FiredBy::Caller(cx) => cx.label(),
        };
        let unattended = matches!(by, FiredBy::Agreed(_));
        let resumable = unattended && !cause.prompt;
        let firing = Id::new();
        let course = Course {
            about: &cause.about,
            by,
            firing,
            keyed: resumable,
            from: 0,
            waited: 0,
            prompt: cause.prompt,
            stop: stop.clone(),
        };
        if cause.prompt {
            self.note_later(entry, firing, cause, label);
            return self.go(entry, course, cause).await;
        }
        let noted = self.note(entry, firing, cause, label, resumable);
        let noted = match resumable {
            true => noted.await,
            // Not resumable, so storing it does not count as an effect of the call that fires it.
            false => store::with_effect(None, noted).await,
        };
        match noted {
            Ok(()) => self.go(entry, course, cause).await,
            Err(error) => self.fired(entry, Status::Failed, Err(error)),
        }
    }

    /// Makes the calls of a stored run, and stores its result.
    pub(super) async fn go(&self, entry: &Entry<Trigger>, course: Course<'_>, cause: &Cause) -> Fired {
        let began = Instant::now();
        let delay = began.duration_since(cause.at);
        let made = self.make_calls(entry, &course).await;
        let cut = |did: &Did| did.stopped || matches!(did.result, Err(Error::Unavailable(_)));
        if course.keyed && self.closing().is_cancelled() && made.last().is_none_or(cut) {
            // The next start recovers it.
            let result = Err(Error::unavailable("Hob is closing"));
            return Fired { status: Status::Interrupted, result };
        }
        let ending = course.stop.outcome();
        let log = json!({
            "conditions": cause.found, "delayMs": millis(delay), "ms": millis(began.elapsed()),
            "actions": made.iter().map(|did| {
                let error = did.result.as_ref().err().filter(|_| !did.stopped);
                let error = error.map(|error| truncate(error.message(), LONGEST));
                let outcome = if did.stopped { json!(ending.0) } else { did.result.as_ref().map_or_else(Error::code, |_| "ok").into() };
                json!({"text": did.text, "outcome": outcome, "ms": did.ms, "error": error})
            }).collect::<Vec<_>>(),
        });
        // What failed before it was stopped has failed all the same.
        let stopped = made.iter().any(|did| did.stopped) && made.iter().all(|did| did.stopped || did.result.is_ok());
        let (status, result) = match summed(made, entry.value.kind == Kind::Rule) {
            _ if stopped => (ending.0, Ok(Output::text(ending.1))),
            result => (if result.is_ok() { Status::Ok } else { Status::Failed }, result),
        };
        self.note_end(entry, course.firing, status, &result, Some(&log), course.prompt).await;
        self.fired(entry, status, result)
    }

    pub(super) fn fired(&self, entry: &Entry<Trigger>, status: Status, result: Result<Output>) -> Fired {
        let topic = if entry.value.kind == Kind::Rule { "rule:fired" } else { "trigger:fired" };
        let data = json!({"id": entry.id, "name": entry.value.name, "status": status});
        self.0.ports.bus.publish(topic, Some(entry.owner), data);
        Fired { status, result }
    }

    /// The authorised calls of a rule; an empty one is a wait.
    pub(super) fn calls_of(rule: &Trigger) -> Vec<crate::record::Call> {
        if rule.kind == Kind::Rule { rule.calls.clone() } else { vec![rule.action.clone()] }
    }

    /// The idempotency key of an action.
    pub(super) fn key_of(rule: &Trigger, firing: Id, action: usize) -> Id {
        if rule.kind == Kind::Rule { store::effect_key(firing, &action.to_string()) } else { firing }
    }

    async fn make_calls(&self, entry: &Entry<Trigger>, course: &Course<'_>) -> Vec<Did> {
        let rule = &entry.value;
        let definition = definition_of(rule).unwrap_or_default();
        let cx = self.reading_cx(entry.owner);
        let words = Words { cx: &cx, registry: &self.0.registry, home: &self.0.home };
        let controls = self.0.registry.get(CONTROL).is_some();
        let (mut made, mut waited, closing) = (vec![], course.waited, self.closing());
        for (at, call) in Self::calls_of(rule).iter().enumerate().skip(course.from) {
            let action = definition.actions.get(at).unwrap_or(&Value::Null);
            if course.stop.is_asked() {
                let result = Err(Error::failed("the run was stopped before it"));
                made.push(Did { text: words.action(action), ms: 0, result, stopped: true });
                break;
            }
            let (began, mut stopped) = (Instant::now(), false);
            let result = match step(action, controls) {
                Ok(Step::Wait(seconds)) if call.is_empty() => {
                    let left = seconds.saturating_sub(waited);
                    waited = waited.saturating_sub(seconds);
                    let ended = tokio::select! {
                        () = tokio::time::sleep(Duration::from_secs(left)) => true,
                        () = course.stop.asked() => {
                            stopped = true;
                            false
                        }
                        () = closing.cancelled() => false,
                    };
                    if ended {
                        Ok(Output::text("waited"))
                    } else {
                        Err(Error::unavailable("the run was stopped while it waited"))
                    }
                }
                _ => self.make_call(entry, call.armed(), at, course).await,
            };
            let ends = stopped || closing.is_cancelled() && matches!(result, Err(Error::Unavailable(_)));
            made.push(Did { text: words.action(action), ms: millis(began.elapsed()), result, stopped });
            if ends {
                break;
            }
        }
        made
    }

    async fn make_call(
        &self,
        entry: &Entry<Trigger>,
        mut armed: PreauthorizedCall,
        at: usize,
        course: &Course<'_>,
    ) -> Result<Output> {
        let (args, brought) = fill_placeholders(&armed.args, course.about);
        armed.args = args;
        if armed.tool == PROMPT && !armed.consented && !entry.value.conversation.is_empty() {
            armed.args["conversationId"] = json!(entry.value.conversation);
        }
        let result = match course.by {
            FiredBy::Caller(cx) => cx.call(&armed.tool, armed.args.clone()).await,
            FiredBy::Agreed(label) => {
                // A text from an event may come from a stranger.
                let label = if brought { Label::Outside } else { label.max(entry.label) };
                let key = course.keyed.then(|| Self::key_of(&entry.value, course.firing, at));
                let slots = if course.prompt { &self.0.pin_calls } else { &self.0.calls };
                // A prompt takes minutes, and the agent has slots of its own.
                let _slot = match armed.tool == PROMPT {
                    true => None,
                    false => slots.acquire().await.ok(),
                };
                self.perform(entry.owner, &armed, label, key).await
            }
        };
        if let (true, Ok(answer)) = (armed.tool == PROMPT, &result)
            && let Some(id) = answer.content["conversationId"].as_str().map(str::to_owned)
            && id != entry.value.conversation
        {
            let records = self.0.shelf.records();
            let kept = records.update_in(Scope::User(entry.owner), Label::Own, entry.id, move |t| {
                t.conversation.clone_from(&id);
                Ok(())
            });
            if let Err(error) = kept.await {
                tracing::warn!(%error, "a rule's conversation could not be stored");
            }
        }
        result
    }

    pub(super) async fn perform(
        &self,
        user: UserId,
        armed: &PreauthorizedCall,
        label: Label,
        effect: Option<Id>,
    ) -> Result<Output> {
        let who = Who { user, agent: AgentId::GENERAL, clear: false };
        self.0.scheduler.perform(&who, armed, label, &self.closing(), effect).await
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The result of a run: that of its one call, or of all of them.
fn summed(mut made: Vec<Did>, rule: bool) -> Result<Output> {
    if !rule {
        return made.pop().map_or_else(|| Err(Error::failed("nothing was done")), |did| did.result);
    }
    let failed: Vec<&Did> = made.iter().filter(|did| did.result.is_err()).collect();
    if let Some(first) = failed.first() {
        let why = first.result.as_ref().err().map(|error| error.message().to_owned()).unwrap_or_default();
        let text = format!("{} of {} actions failed; “{}”: {why}", failed.len(), made.len(), first.text);
        return Err(Error::failed(text));
    }
    let label = made.iter().filter_map(|did| did.result.as_ref().ok()).map(|output| output.label).reduce(Label::max);
    let texts: Vec<String> = made.iter().map(|did| did.text.clone()).collect();
    let mut output = Output::json(json!({"actions": texts}))?.say(format!("Done: {}.", join_and(&texts)));
    output.label = label.unwrap_or_default();
    Ok(output)
}
