//! Follows the clock: asks tools when a check is due, and starts rules by the sun.

use super::{
    Rules,
    live::{Cause, Live},
};
use crate::{
    definition::Trigger as Waits,
    matching::{Op, at, compare},
    planning::forget_schedules,
    record::{BY_TRIGGER, Kind, Trigger},
    sun,
};
use jiff::{SignedDuration, Timestamp, ToSpan};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};
use store::{Visit, Walk};
use tokio::time::Instant;
use tool::{Label, Scope, prelude::*};

/// The longest sleep: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);
/// How late a time by the sun may be noticed and still count: after a pause of the machine or a change of the clock.
const LATE: SignedDuration = SignedDuration::from_mins(10);
/// A time by the sun further away than this was computed for another clock; near the poles it may be right all the same.
const FAR: SignedDuration = SignedDuration::from_hours(25);

impl Rules {
    /// Asks tools and watches the sun, whenever due.
    pub(super) async fn look(&self) {
        loop {
            let (now, wall) = (Instant::now(), self.0.ports.clock.now());
            let mut next = now + LONGEST_SLEEP;
            for live in self.all_live() {
                self.clear_if_over(&live);
                for (trigger, waits) in live.definition.triggers.iter().enumerate() {
                    match waits {
                        Waits::Sun { .. } => {
                            if let Some(due) = self.look_at_sun(&live, trigger, waits, wall) {
                                let left = due.duration_since(wall).max(SignedDuration::ZERO);
                                next = next
                                    .min(now + Duration::try_from(left).unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP));
                            }
                        }
                        waits if waits.tool().is_some() => {
                            next = next.min(self.check_when_due(&live, trigger, waits, now));
                        }
                        _ => {}
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = self.0.changed.notified() => {}
            }
        }
    }

    /// Deletes a rule for one day, with its log, once that day and the next have passed: nobody has to tidy up after "at sunset".
    pub(super) fn clear_if_over(&self, live: &Arc<Live>) {
        let Some(last) = live.definition.last_day() else { return };
        let over = last.checked_add(1.day()).is_ok_and(|shown| shown < self.0.ports.clock.local().date());
        // The record of one that still runs is needed.
        if !over || live.entry.value.in_file || live.running() != (0, 0) || !live.begin_clearing() {
            return;
        }
        let (this, live) = (self.clone(), live.clone());
        tokio::spawn(async move {
            if let Err(error) = this.clear(&live).await {
                tracing::warn!(rule = %live.id, %error, "a rule whose time is over could not be deleted");
                live.end_clearing();
            }
        });
    }

    async fn clear(&self, live: &Live) -> Result<()> {
        let (scope, id) = (Scope::User(live.owner), live.id);
        let logged = self.0.firings.walk_in(scope, &Walk::prefix(BY_TRIGGER, id.as_bytes()), |_| Visit::Yes)?;
        let (records, firings) = (self.0.shelf.records().clone(), self.0.firings.clone());
        let (scheduler, entry) = (self.0.scheduler.clone(), live.entry.clone());
        let cleared = self.0.shelf.records().store().write(move |tx| {
            logged.iter().try_for_each(|firing| firings.remove(tx, scope, firing.id).map(drop))?;
            forget_schedules(&scheduler, tx, &entry)?;
            records.remove(tx, scope, id)
        });
        cleared.await?;
        self.drop_live(id);
        Ok(())
    }

    /// Starts a check that is due, and returns when it is due next.
    fn check_when_due(&self, live: &Arc<Live>, trigger: usize, waits: &Waits, now: Instant) -> Instant {
        let every = match waits {
            Waits::Check { every_seconds, .. } | Waits::Threshold { every_seconds, .. } => *every_seconds,
            _ => 60,
        };
        let every = Duration::from_secs(every.max(1).into());
        let (starts, next) = live
            .watch(trigger, |watch| {
                let due = watch.next.is_none_or(|next| next <= now);
                if due {
                    watch.next = Some(now + every);
                }
                // A slow check is not started again while it runs.
                let starts = due && !watch.checking;
                watch.checking |= due;
                (starts, watch.next.unwrap_or(now + every))
            })
            .unwrap_or((false, now + every));
        if starts {
            let (this, live) = (self.clone(), live.clone());
            tokio::spawn(async move {
                this.check_one(&live, trigger).await;
                live.watch(trigger, |watch| watch.checking = false);
            });
        }
        next
    }

    /// Asks the tools of every rule now.
    #[cfg(test)]
    pub(crate) async fn check_now(&self) {
        for live in self.all_live() {
            for trigger in 0..live.definition.triggers.len() {
                self.check_one(&live, trigger).await;
            }
        }
    }

    /// One check: fires if it became true. The first check only notes the observation.
    async fn check_one(&self, live: &Arc<Live>, trigger: usize) {
        let Some(waits) = live.definition.triggers.get(trigger).filter(|waits| waits.tool().is_some()) else { return };
        let rule = &live.entry.value;
        let before = live.definition.triggers[..trigger].iter().filter(|one| one.tool().is_some()).count();
        let call = if rule.kind == Kind::Rule { rule.asks.get(before) } else { rule.check.as_ref() };
        let Some(call) = call else { return };
        let answer = match self.perform(live.owner, &call.armed(), live.label, None).await {
            Ok(answer) => answer,
            Err(error) => return tracing::warn!(rule = %live.id, %error, "a condition could not be checked"),
        };
        let clock = &self.0.ports.clock;
        match waits {
            Waits::Threshold { path, .. } => {
                let value = at(&answer.content, path).cloned().unwrap_or(Value::Null);
                let number =
                    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|n: &f64| n.is_finite());
                if let Some(number) = number {
                    let about = json!({"value": number, "at": clock.now().to_string()});
                    self.observe(live, trigger, number, about, answer.label);
                }
            }
            Waits::Check { path, op, value: wanted, .. } => {
                let value = at(&answer.content, path).cloned().unwrap_or(Value::Null);
                // Keep only what the next check needs: writing a changing value each time would wear out the SD card.
                let sees = match op {
                    Op::Changed => shortened(&value),
                    op => Value::Bool(compare(&value, *op, wanted)),
                };
                let before = live.watch(trigger, |watch| watch.seen.replace(sees.clone())).flatten();
                if before.as_ref() == Some(&sees) {
                    return;
                }
                if rule.kind == Kind::Condition {
                    self.remember(live, &sees);
                }
                if before.is_some() && (*op == Op::Changed || sees == Value::Bool(true)) {
                    let shown: String = value.to_string().chars().take(80).collect();
                    let about = json!({"value": value, "at": clock.now().to_string()});
                    let why = format!("it is {shown} now");
                    let cause = Cause {
                        why,
                        about,
                        label: answer.label,
                        prompt: false,
                        at: Instant::now(),
                        found: Value::Null,
                    };
                    self.caused(live, cause);
                }
            }
            _ => {}
        }
    }

    fn remember(&self, live: &Live, sees: &Value) {
        let (seen, records) = (sees.to_string(), self.0.shelf.records().clone());
        let (scope, id) = (Scope::User(live.owner), live.id);
        self.0.shelf.records().store().write_later(move |tx| {
            if records.read(tx, scope, id)?.is_none() {
                return Ok(());
            }
            let change = &mut |t: &mut Trigger| {
                t.seen.clone_from(&seen);
                Ok(())
            };
            records.change(tx, scope, Label::Own, id, change).map(drop)
        });
    }

    /// Fires when a time by the sun has come, and returns the next one. What passed while Hob was off, or while the clock was
    /// set forward by more than some minutes, is not made up for; a clock that is set back repeats nothing.
    pub(super) fn look_at_sun(
        &self,
        live: &Arc<Live>,
        trigger: usize,
        waits: &Waits,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Waits::Sun { event, offset_minutes, date } = waits else { return None };
        let place = (self.0.home.place)()?;
        let zone = self.0.ports.clock.zone();
        let next = |after: Timestamp| match date {
            Some(day) => sun::on_date(place, *event, *offset_minutes, *day).filter(|at| *at > after),
            None => sun::next(place, *event, *offset_minutes, after, &zone),
        };
        let (fires, due) = live.watch(trigger, |watch| {
            let due = watch.due.filter(|due| due.duration_since(now) < FAR);
            let come = due.filter(|due| *due <= now);
            // Half a day apart is not the same sunset, whatever minute it is computed for.
            let again = |due: Timestamp| {
                watch.fired.is_some_and(|fired| due.duration_since(fired) < SignedDuration::from_hours(12))
            };
            let fires = come.filter(|due| now.duration_since(*due) <= LATE && !again(*due));
            if fires.is_some() {
                watch.fired = fires;
            }
            if come.is_some() || due.is_none() {
                watch.due = next(now);
            }
            (fires, watch.due)
        })?;
        if let Some(due) = fires {
            let about = json!({"topic": "sun", "data": {"event": event}, "at": due.to_string()});
            let why =
                format!("it was {}", if *offset_minutes == 0 { "time by the sun" } else { "the time from the sun" });
            let cause = Cause { why, about, label: Label::Own, prompt: false, at: Instant::now(), found: Value::Null };
            self.caused(live, cause);
        }
        due
    }
}

/// A value as it is stored: a long one as a hash.
fn shortened(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= 200 {
        return value.clone();
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    json!({"bytes": text.len(), "hash": hasher.finish()})
}
