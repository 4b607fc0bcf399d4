//! Evaluates the conditions of a rule.

use super::{
    Rules,
    live::{BUSY, Cause, Live},
};
use crate::{
    definition::{Condition, Definition, SunIs},
    matching::{at, compare},
    record::Trigger,
    rule_words::Words,
    sentences::shown,
    sun,
    values::time_of_day,
};
use futures::{FutureExt, future::BoxFuture};
use jiff::civil::Weekday;
use std::sync::Arc;
use tool::{Channel, Label, Principal, Role, Via, prelude::*};

/// The result of evaluating a condition.
pub(crate) struct Evaluation {
    pub holds: bool,
    /// Whether there was something to compare: `not` makes nothing true that is not known.
    pub known: bool,
    /// The value that was compared, for people.
    pub value: String,
}

impl Evaluation {
    fn of(holds: bool, value: impl Into<String>) -> Self {
        Self { holds, known: true, value: value.into() }
    }

    fn unknown(value: impl Into<String>) -> Self {
        Self { holds: false, known: false, value: value.into() }
    }
}

/// Evaluates the conditions of one rule at one moment.
pub(crate) struct Judge<'j> {
    pub rules: &'j Rules,
    /// The rule; its calls are authorised.
    pub rule: &'j Trigger,
    pub owner: tool::UserId,
    pub label: Label,
}

impl Rules {
    /// A cause has occurred: starts the rule where its conditions hold.
    pub(super) fn caused(&self, live: &Arc<Live>, cause: Cause) {
        if live.is_busy() {
            return live.skip(self.0.ports.clock.now(), || cause.why, BUSY, Value::Null);
        }
        if live.definition.conditions.is_empty() {
            return self.admit(live, cause);
        }
        if !live.begin_deciding() {
            return live.skip(
                self.0.ports.clock.now(),
                || cause.why,
                "too many of its starts were being decided",
                Value::Null,
            );
        }
        let (this, live) = (self.clone(), live.clone());
        let mut decision = async move {
            let (holds, found, label) = this.judged(&live).await;
            live.decided();
            if holds {
                this.admit(&live, Cause { found, label: cause.label.max(label), ..cause });
            } else {
                live.skip(this.0.ports.clock.now(), || cause.why, "its conditions did not hold", found);
            }
        }
        .boxed();
        // Without a tool it is decided here and now.
        if (&mut decision).now_or_never().is_none() {
            tokio::spawn(decision);
        }
    }

    /// Whether the conditions of an active rule hold, what they found, and the label of what was read.
    async fn judged(&self, live: &Live) -> (bool, Value, Label) {
        let judge = Judge { rules: self, rule: &live.entry.value, owner: live.owner, label: live.label };
        judge.all(&live.definition).await
    }

    /// A context that only reads, in the name of a person: for words about their rules.
    pub(crate) fn reading_cx(&self, user: tool::UserId) -> Cx {
        let principal = Principal { user, role: Role::Viewer, agent: tool::AgentId::GENERAL };
        Cx::root(self.0.ports.clone(), principal, Via::direct(Channel::Machine))
    }
}

impl Judge<'_> {
    /// Evaluates all conditions of a rule.
    pub async fn all(&self, definition: &Definition) -> (bool, Value, Label) {
        let parts = self.rules.parts();
        let cx = self.rules.reading_cx(self.owner);
        let words = Words { cx: &cx, registry: &parts.registry, home: &parts.home };
        let mut ask = definition.triggers.iter().filter(|one| one.tool().is_some()).count();
        let (mut holds, mut all, mut label) = (true, vec![], Label::Own);
        for condition in &definition.conditions {
            let found = self.one(condition, &mut ask, &mut label).await;
            holds &= found.holds;
            all.push(json!({"text": words.condition(condition), "value": found.value, "holds": found.holds}));
        }
        (holds, Value::Array(all), label)
    }

    fn one<'a>(
        &'a self,
        condition: &'a Condition,
        ask: &'a mut usize,
        label: &'a mut Label,
    ) -> BoxFuture<'a, Evaluation> {
        async move {
            let parts = self.rules.parts();
            let clock = &parts.ports.clock;
            match condition {
                Condition::Time { after, before } => {
                    let now = clock.local().time();
                    let limit = |text: &Option<String>| text.as_deref().and_then(|text| time_of_day(text).ok());
                    let holds = match (limit(after), limit(before)) {
                        (Some(after), Some(before)) if after <= before => (after..before).contains(&now),
                        // The window crosses midnight.
                        (Some(after), Some(before)) => now >= after || now < before,
                        (Some(after), None) => now >= after,
                        (None, Some(before)) => now < before,
                        (None, None) => true,
                    };
                    Evaluation::of(holds, now.strftime("%H:%M").to_string())
                }
                Condition::Days { days } => {
                    let today = match clock.local().weekday() {
                        Weekday::Monday => "mon",
                        Weekday::Tuesday => "tue",
                        Weekday::Wednesday => "wed",
                        Weekday::Thursday => "thu",
                        Weekday::Friday => "fri",
                        Weekday::Saturday => "sat",
                        Weekday::Sunday => "sun",
                    };
                    Evaluation::of(days.iter().any(|day| day == today), today)
                }
                Condition::Sun { is } => match (parts.home.place)() {
                    Some(place) => {
                        let up = sun::is_up(place, clock.now(), &clock.zone());
                        Evaluation::of(up == (*is == SunIs::Up), if up { "day" } else { "dark" })
                    }
                    None => Evaluation::unknown("the position of the home is not known"),
                },
                Condition::Pin { pin, high } => match parts.home.level(*pin) {
                    Some(level) => Evaluation::of(level == *high, if level { "on" } else { "off" }),
                    None => Evaluation::unknown("it cannot be read"),
                },
                Condition::Thing { thing, is, above, below } => self.thing(thing, is, *above, *below),
                Condition::Tool { path, op, value, .. } => {
                    let at_ask = *ask;
                    *ask += 1;
                    let Some(call) = self.rule.asks.get(at_ask) else {
                        return Evaluation::unknown("its call was not authorised");
                    };
                    match self.rules.perform(self.owner, &call.armed(), self.label, None).await {
                        Ok(answer) => {
                            *label = (*label).max(answer.label);
                            let found = at(&answer.content, path).cloned().unwrap_or(Value::Null);
                            let holds = compare(&found, *op, value);
                            Evaluation { holds, known: holds || is_known(&found), value: shown(&found) }
                        }
                        Err(error) => Evaluation::unknown(text_kit::truncate(error.message(), 120)),
                    }
                }
                Condition::All { conditions } => self.several(conditions, true, ask, label).await,
                Condition::Any { conditions } => self.several(conditions, false, ask, label).await,
                Condition::Not { condition } => {
                    let found = self.one(condition, ask, label).await;
                    Evaluation { holds: found.known && !found.holds, ..found }
                }
            }
        }
        .boxed()
    }

    /// Evaluates all of the conditions, for `all` of them or for any. It is known where one decides, or where each is known.
    async fn several(&self, conditions: &[Condition], all: bool, ask: &mut usize, label: &mut Label) -> Evaluation {
        let (mut holds, mut known, mut decided, mut values) = (all, true, false, vec![]);
        for one in conditions {
            let found = self.one(one, ask, label).await;
            holds = if all { holds && found.holds } else { holds || found.holds };
            known &= found.known;
            decided |= found.known && found.holds != all;
            values.push(found.value);
        }
        Evaluation { holds, known: known || decided, value: values.join(", ") }
    }

    fn thing(&self, address: &str, is: &Option<String>, above: Option<f64>, below: Option<f64>) -> Evaluation {
        let home = &self.rules.parts().home;
        let known = address.parse().ok().and_then(|address| home.things.get(&address));
        let (value, active, number) = match (&known, address.strip_prefix("pin:").and_then(|pin| pin.parse().ok())) {
            (Some(thing), _) => (thing.state.value.clone(), thing.state.active, thing.state.number),
            (None, Some(pin)) => match home.level(pin) {
                Some(high) => (if high { "on" } else { "off" }.to_owned(), Some(high), None),
                None => ("unknown".to_owned(), None, None),
            },
            (None, None) => ("unknown".to_owned(), None, None),
        };
        let number = number.or_else(|| value.trim().parse().ok());
        let fits = is.as_deref().is_none_or(|wanted| {
            let by_activity = match &*wanted.to_lowercase() {
                "on" | "open" | "active" => active == Some(true),
                "off" | "closed" | "inactive" => active == Some(false),
                _ => false,
            };
            value.eq_ignore_ascii_case(wanted) || by_activity
        });
        let beyond = |limit: Option<f64>, fits: fn(f64, f64) -> bool| {
            limit.is_none_or(|limit| number.is_some_and(|number| fits(number, limit)))
        };
        let holds = fits && beyond(above, |n, limit| n > limit) && beyond(below, |n, limit| n < limit);
        let limited = above.is_some() || below.is_some();
        let known = holds || (is_known_state(&value) && (number.is_some() || !limited));
        Evaluation { holds, known, value }
    }
}

/// Whether a state says something: a thing that cannot be reached may be in any.
fn is_known_state(value: &str) -> bool {
    let value = value.trim();
    !["", "unknown", "unavailable"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn is_known(found: &Value) -> bool {
    !found.is_null() && found.as_str().is_none_or(is_known_state)
}
