//! Recovery of interrupted runs: a call without effects is made after the next start, and none is made twice.
//!
//! A run that a pin started has no keys and is not resumed: an old edge moves nothing. Of a rule with several actions, those
//! after the last one that began are made if repeating them is harmless; otherwise its log names the rest.

use super::{
    FiredBy, Rules,
    live::{Cause, Stop, definition_of},
    run::{Course, Running},
};
use crate::{
    action::PROMPT,
    record::{Firing, Kind, Status, Trigger},
};
use std::time::Duration;
use store::Entry;
use tokio::time::Instant;
use tool::{Label, Scope, prelude::*};

/// Maximum age of a run that is resumed.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How often a run is resumed: it may be what crashes Hob.
const MAX_RESUMES: u32 = 5;

/// How far an interrupted run came.
enum Reached {
    /// Its only call is complete.
    Done,
    /// The actions from this one on can be made.
    From(usize),
    /// It is not known, or the rest must not be made.
    Told(String),
}

impl Rules {
    /// Resumes interrupted runs in the background.
    ///
    /// # Errors
    /// `Failed` if they cannot be read.
    pub(super) fn recover(&self) -> Result<()> {
        let mut open = vec![];
        let mut cut = vec![];
        self.parts().firings.scan(|firing| {
            if firing.value.status != Status::Interrupted || firing.value.finished_ms > 0 {
                return;
            }
            if firing.value.resumable { open.push(firing) } else { cut.push(firing) }
        })?;
        for firing in open {
            let Some(rule) = self.rule_of(&firing)? else { continue };
            let occupied = self.live(rule.id).map(|live| (live.occupy(), live));
            let this = self.clone();
            tokio::spawn(async move {
                // Without an active rule nothing is made that a change could stop.
                let (running, stop) = match occupied {
                    Some(((run, stop), live)) => (Some(Running(&this, live, run)), stop),
                    None => (None, Stop::default()),
                };
                if let Err(error) = this.resume(&rule, &firing, &stop).await {
                    tracing::warn!(rule = %rule.id, %error, "an interrupted run could not be resumed");
                }
                if let Some(running) = running {
                    running.drain(&stop).await;
                }
            });
        }
        for firing in cut {
            let Some(rule) = self.rule_of(&firing)?.filter(|rule| rule.value.kind == Kind::Rule) else { continue };
            let this = self.clone();
            tokio::spawn(async move {
                let why = "Hob was interrupted while it ran; the rest was not done later: please check";
                this.note_end(&rule, firing.id, Status::Interrupted, &Err(Error::failed(why)), None, false).await;
            });
        }
        Ok(())
    }

    fn rule_of(&self, firing: &Entry<Firing>) -> Result<Option<Entry<Trigger>>> {
        Ok(self.parts().shelf.records().get_in(Scope::User(firing.owner), firing.value.trigger)?)
    }

    async fn resume(&self, rule: &Entry<Trigger>, firing: &Entry<Firing>, stop: &Stop) -> Result<()> {
        let age = Id::new().millis().saturating_sub(firing.id.millis());
        let old = !rule.value.enabled || firing.value.resumed >= MAX_RESUMES || age > LONGEST.as_millis() as u64;
        let (status, result) = match self.reached(rule, firing, old)? {
            Reached::Done => {
                let text = "Completed, but Hob was interrupted right after it and the answer was lost.";
                (Status::Ok, Ok(Output::text(text)))
            }
            Reached::Told(why) => (Status::Interrupted, Err(Error::failed(why))),
            Reached::From(from) => {
                let count = |firing: &mut Firing| {
                    firing.resumed += 1;
                    Ok(())
                };
                let scope = Scope::User(firing.owner);
                self.parts().firings.update_in(scope, Label::Own, firing.id, count).await?;
                let about = serde_json::from_str(&firing.value.about).unwrap_or_default();
                let log: Value = serde_json::from_str(&firing.value.log).unwrap_or_default();
                let cause = Cause {
                    why: firing.value.why.clone(),
                    about,
                    label: firing.label,
                    prompt: false,
                    at: Instant::now(),
                    found: log["conditions"].clone(),
                };
                // Time that has passed counts for the waits that are left.
                let actions = definition_of(&rule.value).unwrap_or_default().actions;
                let over: u64 = actions.iter().take(from).filter_map(|action| action["seconds"].as_u64()).sum();
                let course = Course {
                    about: &cause.about,
                    by: FiredBy::Agreed(firing.label),
                    firing: firing.id,
                    keyed: true,
                    from,
                    waited: (age / 1000).saturating_sub(over),
                    prompt: false,
                    stop: stop.clone(),
                };
                self.go(rule, course, &cause).await;
                return Ok(());
            }
        };
        self.note_end(rule, firing.id, status, &result, None, false).await;
        self.fired(rule, status, result);
        Ok(())
    }

    fn reached(&self, rule: &Entry<Trigger>, firing: &Entry<Firing>, old: bool) -> Result<Reached> {
        let calls = Self::calls_of(&rule.value);
        let mut last = None;
        for at in 0..calls.len() {
            let effect = self.parts().firings.store().effect(Self::key_of(&rule.value, firing.id, at))?;
            last = effect.map(|effect| (at, effect)).or(last);
        }
        let Some((at, effect)) = last else {
            return Ok(match old {
                true => Reached::Told("Hob was interrupted before it ran, and did not run it later".into()),
                false => Reached::From(0),
            });
        };
        let prompt = calls.get(at).is_some_and(|call| call.armed().tool == PROMPT);
        if prompt {
            let text = "Hob was interrupted; the prompt continues in its conversation: please check";
            return Ok(Reached::Told(text.into()));
        }
        let rest: Vec<String> =
            calls[at + 1..].iter().filter(|call| !call.is_empty()).map(|call| call.armed().tool).collect();
        let harmless = !old && rest.iter().all(|tool| self.parts().registry.is_idempotent(tool));
        Ok(match (effect.is_whole(), rest.is_empty()) {
            (true, true) => Reached::Done,
            (true, false) if harmless => Reached::From(at + 1),
            (true, false) => Reached::Told(format!("Hob was interrupted; not done: {}: please check", quoted(&rest))),
            (false, true) => Reached::Told(format!(
                "Hob was interrupted during it (started or completed: {}): please check",
                effect.done()
            )),
            // Switching off what may be on is harmless, and leaving it on may not be.
            (false, false) if harmless => Reached::From(at + 1),
            (false, false) => Reached::Told(format!(
                "Hob was interrupted during it (started or completed: {}; not done: {}): please check",
                effect.done(),
                quoted(&rest)
            )),
        })
    }
}

fn quoted(tools: &[String]) -> String {
    tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
}
