//! Notices causes: edges of pins, and events of the bus.

use super::{
    Rules,
    live::{Cause, Live},
};
use crate::{
    causes::{as_name, happened},
    definition::{Edge, Press, Trigger as Waits},
    matching::{at, fits, topic_fits},
};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::{Event, Label, prelude::*};

/// The meaning of an event for one trigger.
enum Heard {
    /// It is not about it.
    Nothing,
    /// Its state is no longer what the trigger waits for.
    Over,
    /// It is what the trigger waits for; with the words for it.
    Fires(String),
}

impl Rules {
    /// A pin has changed.
    pub(crate) fn edge(&self, pin: u8, high: bool) {
        let active = self.0.live.read().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = active.by_pin.get(&pin).filter(|waiting| !waiting.is_empty()).cloned() else { return };
        drop(active);
        let now = Instant::now();
        for (live, trigger) in waiting {
            let Some(Waits::Pin { edge, lasts, .. }) = live.definition.triggers.get(trigger) else { continue };
            let fits = match edge {
                Some(Edge::Rising) => high,
                Some(Edge::Falling) => !high,
                _ => true,
            };
            self.end_hold(&live, trigger);
            if !fits || lasts.is_none() && live.is_busy() {
                if fits {
                    live.skip(self.0.ports.clock.now(), || said(pin, high), super::live::BUSY, Value::Null);
                }
                continue;
            }
            let about = json!({"topic": "pin:changed", "data": {"pin": pin, "high": high}, "at": self.0.ports.clock.now().to_string()});
            let cause =
                Cause { why: said(pin, high), about, label: Label::Own, prompt: true, at: now, found: Value::Null };
            self.begin(&live, trigger, cause, *lasts);
        }
    }

    /// Starts the rules that wait for an event; never on events of rules themselves or on a rule's own effects.
    pub(super) fn hear(&self, event: &Event) {
        if event.topic.starts_with("trigger") || event.topic.starts_with("rule:") {
            return;
        }
        let all = self.0.live.read().unwrap_or_else(PoisonError::into_inner).on_bus.clone();
        for live in all {
            if event.to.is_some_and(|to| to != live.owner) {
                continue;
            }
            for trigger in 0..live.definition.triggers.len() {
                self.hear_one(&live, trigger, event);
            }
        }
    }

    fn hear_one(&self, live: &Arc<Live>, trigger: usize, event: &Event) {
        let Some(waits) = live.definition.triggers.get(trigger) else { return };
        let heard = match waits {
            Waits::Threshold { .. } => return self.hear_number(live, trigger, waits, event),
            Waits::Event { .. } => match live.event(trigger) {
                Some((topics, conditions)) if topics.hear(&event.topic) && fits(conditions, &event.data) => {
                    Heard::Fires(happened(&event.topic, &event.data))
                }
                _ => Heard::Nothing,
            },
            Waits::Ha { .. } | Waits::Thing { .. } => match self.state_before(live, trigger, waits, event) {
                Some(before) => state_of(waits, event, &before),
                None => Heard::Nothing,
            },
            waits => state_of(waits, event, &State::before(&event.data)),
        };
        let lasts = match waits {
            Waits::Ha { lasts, .. } | Waits::Thing { lasts, .. } => *lasts,
            _ => None,
        };
        match heard {
            Heard::Nothing => {}
            Heard::Over => self.end_hold(live, trigger),
            // Its own doing does not start it again.
            Heard::Fires(_) if live.did(event.seq) => {}
            Heard::Fires(why) => {
                let about = json!({"topic": event.topic, "data": event.data, "at": event.at.to_string()});
                let prompt = waits.is_prompt();
                let cause = Cause { why, about, label: Label::Own, prompt, at: Instant::now(), found: Value::Null };
                self.begin(live, trigger, cause, lasts);
            }
        }
    }

    /// The state that a change is compared with; `None` where it is none. A thing that cannot be reached for a while is in no
    /// other state: what came before and what comes after are compared, and its first state after a start is no change.
    fn state_before(&self, live: &Live, trigger: usize, waits: &Waits, event: &Event) -> Option<State> {
        let data = &event.data;
        let (now, from, to) = match (&*event.topic, waits) {
            ("thing:changed", Waits::Thing { thing, from, to, .. }) if data["thing"] == **thing => {
                (&data["value"], from, to)
            }
            ("ha:state", Waits::Ha { entity, from, to, .. }) if data["entity"] == **entity => {
                (&data["state"], from, to)
            }
            _ => return None,
        };
        let before = State::before(data);
        if [from, to].into_iter().flatten().any(|named| is_absent(&json!(named))) {
            return Some(before);
        }
        let (away, was_away) = (is_absent(now), is_absent(&before.value));
        let now = State { value: now.clone(), active: data["active"].as_bool() };
        let known = live.watch(trigger, |watch| match (away, was_away) {
            (true, true) => None,
            (true, false) => watch.known.replace(before.clone()),
            (false, true) => watch.known.replace(now.clone()),
            (false, false) => {
                watch.known = Some(now.clone());
                Some(before.clone())
            }
        });
        known.flatten().filter(|_| !away)
    }

    /// Starts a rule, at once or once its state has lasted.
    pub(super) fn begin(&self, live: &Arc<Live>, trigger: usize, cause: Cause, lasts: Option<u64>) {
        let Some(seconds) = lasts else { return self.caused(live, cause) };
        let token = CancellationToken::new();
        let begun = live.watch(trigger, |watch| {
            let goes_on = watch.hold.as_ref().is_some_and(|hold| !hold.is_cancelled());
            if !goes_on {
                watch.hold = Some(token.clone());
            }
            !goes_on
        });
        if begun != Some(true) {
            return;
        }
        let (this, live, closing) = (self.clone(), live.clone(), self.closing());
        tokio::spawn(async move {
            tokio::select! {
                () = token.cancelled() => {}
                () = closing.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(seconds)) => {
                    // It fires again only after the state was left.
                    let why = format!("{}, and it lasted", cause.why);
                    this.caused(&live, Cause { why, at: Instant::now(), ..cause });
                    token.cancelled().await;
                }
            }
        });
    }

    /// Its state has ended before it lasted long enough.
    pub(super) fn end_hold(&self, live: &Live, trigger: usize) {
        live.watch(trigger, |watch| {
            if let Some(hold) = watch.hold.take() {
                hold.cancel();
            }
        });
    }

    /// A number that may go beyond a limit.
    fn hear_number(&self, live: &Arc<Live>, trigger: usize, waits: &Waits, event: &Event) {
        let Waits::Threshold { thing, entity, topic, path, .. } = waits else { return };
        let data = &event.data;
        let value = match (&*event.topic, thing, entity, topic) {
            ("thing:changed", Some(thing), ..) if data["thing"] == **thing => match path.is_empty() {
                true => numeric(&data["number"]).or_else(|| numeric(&data["value"])),
                false => at(data, path).and_then(numeric),
            },
            ("ha:state", _, Some(entity), _) if data["entity"] == **entity => match path.is_empty() {
                true => numeric(&data["state"]),
                false => at(data, path).or_else(|| at(&data["attributes"], path)).and_then(numeric),
            },
            ("mqtt:message", .., Some(pattern)) if topic_fits(pattern, data["topic"].as_str().unwrap_or_default()) => {
                payload_at(&data["payload"], path).as_ref().and_then(numeric)
            }
            _ => None,
        };
        if let Some(value) = value {
            let about = json!({"topic": event.topic, "data": data, "value": value, "at": event.at.to_string()});
            self.observe(live, trigger, value, about, Label::Own);
        }
    }

    /// Compares a number with the limits of a trigger; it fires when the number goes beyond them, and again only after it came
    /// back by the hysteresis. The first number only says where it is.
    pub(super) fn observe(&self, live: &Arc<Live>, trigger: usize, value: f64, about: Value, label: Label) {
        let Some(Waits::Threshold { above, below, hysteresis, lasts, thing, .. }) =
            live.definition.triggers.get(trigger)
        else {
            return;
        };
        let back = hysteresis.unwrap_or_default();
        let beyond = above.is_none_or(|limit| value > limit) && below.is_none_or(|limit| value < limit);
        let stays = above.is_none_or(|limit| value > limit - back) && below.is_none_or(|limit| value < limit + back);
        let change = live.watch(trigger, |watch| {
            let now = if watch.beyond == Some(true) { stays } else { beyond };
            let before = watch.beyond.replace(now);
            (before, now)
        });
        match change {
            Some((Some(false), true)) => {
                let why = format!("it is {value} now");
                let prompt = thing.as_ref().is_some_and(|thing| thing.starts_with("pin:"));
                let cause = Cause { why, about, label, prompt, at: Instant::now(), found: Value::Null };
                self.begin(live, trigger, cause, *lasts);
            }
            Some((_, false)) => self.end_hold(live, trigger),
            _ => {}
        }
    }
}

fn said(pin: u8, high: bool) -> String {
    format!("pin {pin} turned {}", if high { "on" } else { "off" })
}

/// The meaning of an event for a state: of a button, a thing, an entity, a topic.
fn state_of(waits: &Waits, event: &Event, before: &State) -> Heard {
    let data = &event.data;
    match (&*event.topic, waits) {
        ("pin:press", Waits::Pin { pin, press: Some(press), .. }) if data["pin"] == *pin => {
            let kind = data["kind"].as_str().unwrap_or_default();
            let fits = match press {
                Press::Any => true,
                Press::Short => kind == "short",
                Press::Long => kind == "long",
                Press::Double => kind == "double",
            };
            if fits { Heard::Fires(format!("pin {pin} was pressed ({kind})")) } else { Heard::Nothing }
        }
        ("thing:changed", Waits::Thing { thing, from, to, .. }) if data["thing"] == **thing => {
            let name = data["name"].as_str().and_then(as_name);
            let name = name.as_deref().unwrap_or(thing);
            let now = State { value: data["value"].clone(), active: data["active"].as_bool() };
            changed(name, &now, before, from, to)
        }
        ("ha:state", Waits::Ha { entity, from, to, .. }) if data["entity"] == **entity => {
            changed(entity, &State { value: data["state"].clone(), active: None }, before, from, to)
        }
        ("mqtt:message", Waits::Mqtt { topic, payload, path }) => {
            let arrived = data["topic"].as_str().unwrap_or_default();
            // The broker repeats a retained message at each connection: it is no news.
            if data["retained"] == true || !topic_fits(topic, arrived) {
                return Heard::Nothing;
            }
            let value = payload_at(&data["payload"], path);
            let fits = match payload {
                None => path.is_empty() || value.is_some(),
                Some(wanted) => value.is_some_and(|value| same(&value, wanted)),
            };
            let on = as_name(arrived).unwrap_or_else(|| topic.clone());
            if fits { Heard::Fires(format!("a message arrived on {on}")) } else { Heard::Nothing }
        }
        _ => Heard::Nothing,
    }
}

/// A state of a thing or an entity, and whether it was active in it, where that is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    value: Value,
    active: Option<bool>,
}

impl State {
    fn before(data: &Value) -> Self {
        Self { value: data["before"].clone(), active: data["activeBefore"].as_bool() }
    }

    /// Whether it is what a rule names. A cover that closes is active, and not open.
    fn is(&self, wanted: &str) -> bool {
        let text = self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned);
        let by_activity = match wanted.to_lowercase().as_str() {
            "open" if text.eq_ignore_ascii_case("closing") => false,
            "on" | "open" | "active" => self.active == Some(true),
            "off" | "closed" | "inactive" => self.active == Some(false),
            _ => false,
        };
        text.eq_ignore_ascii_case(wanted) || by_activity
    }
}

fn changed(name: &str, now: &State, before: &State, from: &Option<String>, to: &Option<String>) -> Heard {
    if now.value == before.value {
        // Only its attributes have changed.
        return Heard::Nothing;
    }
    if let Some(to) = to {
        // A state that has to last ends with the first other value.
        if !now.is(to) {
            return Heard::Over;
        }
        // It was so already under another name: opening becomes open, heating becomes cooling.
        if before.is(to) {
            return Heard::Nothing;
        }
    }
    let was = from.as_ref().is_none_or(|from| before.is(from));
    let left = from.as_ref().is_none_or(|from| to.is_some() || !now.is(from));
    if was && left {
        Heard::Fires(match as_name(&crate::sentences::shown(&now.value)) {
            Some(value) => format!("{name} is {value} now"),
            None => format!("{name} has changed"),
        })
    } else {
        Heard::Nothing
    }
}

/// Whether a state only says that the thing cannot be reached, or was not seen yet.
fn is_absent(state: &Value) -> bool {
    let absent = |text: &str| ["", "unavailable", "unknown"].iter().any(|word| text.eq_ignore_ascii_case(word));
    state.is_null() || state.as_str().is_some_and(absent)
}

/// A number, also as a text.
fn numeric(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// The part of a payload at a path; a text with JSON in it counts as that.
fn payload_at(payload: &Value, path: &str) -> Option<Value> {
    let parsed = match payload {
        Value::String(text) if !path.is_empty() => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    at(&parsed, path).cloned()
}

/// Whether payloads are the same: texts by their letters, numbers by their value, objects by their JSON.
fn same(value: &Value, wanted: &Value) -> bool {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    value == wanted
        || text(value).eq_ignore_ascii_case(&text(wanted))
        || numeric(value).zip(numeric(wanted)).is_some_and(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_fires_once_while_it_goes_on_under_other_names() {
        let at = |value: &str, active: bool| State { value: json!(value), active: Some(active) };
        let cover = ["closed", "opening", "open", "closing", "closed"].map(|word| at(word, word != "closed"));
        let fires = |states: &[State], to: &str| -> Vec<bool> {
            let to = Some(to.to_owned());
            states
                .windows(2)
                .map(|pair| matches!(changed("it", &pair[1], &pair[0], &None, &to), Heard::Fires(_)))
                .collect()
        };
        assert_eq!(fires(&cover, "open"), [true, false, false, false]);
        assert_eq!(fires(&cover, "closed"), [false, false, false, true]);
        let climate = [at("off", false), at("heat", true), at("cool", true), at("off", false)];
        assert_eq!(fires(&climate, "on"), [true, false, false]);
        assert_eq!(fires(&climate, "off"), [false, false, true]);
        // Its state before is known, and not guessed: it was on.
        let (from, to) = (Some("off".to_owned()), Some("cool".to_owned()));
        assert!(matches!(changed("it", &climate[2], &climate[1], &from, &to), Heard::Nothing));
        // A door that begins to close is not open for long.
        let open = Some("open".to_owned());
        assert!(matches!(changed("it", &cover[3], &cover[2], &None, &open), Heard::Over));
    }

    #[test]
    fn topics_match_by_level() {
        for (pattern, topic, wanted) in [
            ("home/door", "home/door", true),
            ("home/+", "home/door", true),
            ("home/+", "home/door/state", false),
            ("home/#", "home/door/state", true),
            ("home/#", "home", true),
            ("+/door", "home/door", true),
            ("home/door", "home", false),
            ("home", "home/door", false),
        ] {
            assert_eq!(topic_fits(pattern, topic), wanted, "{pattern} {topic}");
        }
        assert!(same(&json!("ON"), &json!("on")) && same(&json!("3"), &json!(3)) && !same(&json!("x"), &json!(1)));
        assert_eq!(payload_at(&json!(r#"{"a": {"b": 2}}"#), "a.b"), Some(json!(2)));
        assert_eq!(payload_at(&json!("nothing"), "a"), None);
    }
}
