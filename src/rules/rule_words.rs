//! A rule as a sentence: "When the bell is pressed twice, turn on the hall lamp for 5 minutes, unless it is day."

use crate::{
    causes::{comparison, in_words},
    definition::{Condition, Definition, Edge, Press, SunEvent, SunIs, Trigger},
    home::Home,
    record::Kind,
    sentences::{action_words, capital, on_or_off, shown, spaced, uncapital},
    steps::{Step, step},
    values::time_of_day,
};
use jiff::{SignedDuration, civil::Date};
use records::Addressee;
use registry::Registry;
use text_kit::{capitalized, clock_words, duration_words, join_and, one_line, truncate};
use tool::{PreauthorizedCall, prelude::*};

/// Maximum length of a text within a sentence, in characters.
const LONGEST: usize = 80;
/// The days of the week, as conditions name them.
const DAYS: [(&str, &str); 7] = [
    ("mon", "Monday"),
    ("tue", "Tuesday"),
    ("wed", "Wednesday"),
    ("thu", "Thursday"),
    ("fri", "Friday"),
    ("sat", "Saturday"),
    ("sun", "Sunday"),
];

/// The context of sentences about rules.
#[derive(Clone, Copy)]
pub(crate) struct Words<'w> {
    pub cx: &'w Cx,
    pub registry: &'w Registry,
    pub home: &'w Home,
}

impl Words<'_> {
    /// The whole rule.
    pub fn sentence(&self, rule: &Definition) -> String {
        let when = self.when(rule);
        let actions: Vec<String> = rule.actions.iter().map(|one| self.action(one)).collect();
        let conditions = self.conditions(&rule.conditions);
        let mut text = format!("{}, {}", capital(&when), in_order(&actions));
        for part in conditions {
            text.push_str(", ");
            text.push_str(&part);
        }
        if !text.ends_with(['.', '!', '?', '…']) {
            text.push('.');
        }
        text
    }

    /// All of its triggers: "when the bell is pressed or every day at 07:00".
    pub fn when(&self, rule: &Definition) -> String {
        let mut all: Vec<String> = vec![];
        for one in &rule.triggers {
            let text = self.trigger(one);
            // Triggers in a row share one "when".
            let short = text.strip_prefix("when ").filter(|_| all.last().is_some_and(|last| last.starts_with("when ")));
            all.push(short.map_or(text.clone(), |short| short.to_owned()));
        }
        all.join(" or ")
    }

    fn conditions(&self, all: &[Condition]) -> Vec<String> {
        let (mut only, mut unless) = (vec![], vec![]);
        for one in all {
            match one {
                Condition::Not { condition } => unless.push(self.condition(condition)),
                one => only.push(self.condition(one)),
            }
        }
        let mut parts = vec![];
        if !only.is_empty() {
            parts.push(format!("if {}", only.join(" and ")));
        }
        if !unless.is_empty() {
            parts.push(format!("unless {}", unless.join(" or ")));
        }
        parts
    }

    /// One trigger: "when the bell is pressed twice", "at sunset".
    pub fn trigger(&self, trigger: &Trigger) -> String {
        let lasting = |lasts: &Option<u64>| match lasts {
            Some(seconds) => format!(" for {}", duration_words(i64::try_from(*seconds).unwrap_or(i64::MAX))),
            None => String::new(),
        };
        match trigger {
            Trigger::Pin { pin, press: Some(press), .. } => {
                let how = match press {
                    Press::Short => "pressed",
                    Press::Long => "pressed long",
                    Press::Double => "pressed twice",
                    Press::Any => "pressed in any way",
                };
                format!("when {} is {how}", self.pin(*pin))
            }
            Trigger::Pin { pin, edge, lasts, .. } => {
                let does = match (edge, lasts) {
                    (Some(Edge::Rising), None) => "turns on",
                    (Some(Edge::Falling), None) => "turns off",
                    (Some(Edge::Rising), _) => "has been on",
                    (Some(Edge::Falling), _) => "has been off",
                    (_, None) => "turns on or off",
                    _ => "has not changed",
                };
                format!("when {} {does}{}", self.pin(*pin), lasting(lasts))
            }
            Trigger::Schedule { schedule, timezone } => {
                let config = json!({"schedule": schedule, "timezone": timezone});
                in_words(self.cx, self.registry, Kind::Schedule, &config)
            }
            Trigger::Sun { event, offset_minutes, date } => {
                let event = match event {
                    SunEvent::Sunrise => "sunrise",
                    SunEvent::Sunset => "sunset",
                };
                let span = duration_words(i64::from(offset_minutes.abs()) * 60);
                let when = match offset_minutes {
                    0 => format!("at {event}"),
                    minutes if *minutes < 0 => format!("{span} before {event}"),
                    _ => format!("{span} after {event}"),
                };
                match date {
                    Some(day) => format!("once {when} {}", self.on_day(*day)),
                    None => format!("every day {when}"),
                }
            }
            Trigger::Mqtt { topic, payload, path } => {
                let part = if path.is_empty() { String::new() } else { format!(" with {}", spaced(path)) };
                match payload {
                    Some(value) if part.is_empty() => format!("when “{}” arrives on MQTT topic {topic}", shown(value)),
                    Some(value) => format!("when a message{part} {} arrives on MQTT topic {topic}", shown(value)),
                    None => format!("when a message arrives on MQTT topic {topic}"),
                }
            }
            Trigger::Ha { entity, from, to, lasts } => {
                format!("when {entity} {}{}", changed(from, to, lasts), lasting(lasts))
            }
            Trigger::Thing { thing, from, to, lasts } => {
                format!("when {} {}{}", self.thing(thing), changed(from, to, lasts), lasting(lasts))
            }
            Trigger::Event { topic, fields } => {
                let config = json!({"topic": topic, "match": fields});
                in_words(self.cx, self.registry, Kind::Event, &config)
            }
            Trigger::Threshold { thing, entity, topic, tool, path, above, below, lasts, .. } => {
                let what = match (thing, entity, topic, tool) {
                    (Some(thing), ..) => self.thing(thing),
                    (_, Some(entity), ..) => entity.clone(),
                    (_, _, Some(topic), _) => format!("MQTT topic {topic}"),
                    (.., tool) => tool.as_deref().map(spaced).unwrap_or_default(),
                };
                let part = if path.is_empty() { String::new() } else { format!(" ({})", spaced(path)) };
                let goes = match (above, below) {
                    (Some(above), Some(below)) => format!("comes between {above} and {below}"),
                    (Some(above), None) => format!("goes above {above}"),
                    (None, Some(below)) => format!("falls below {below}"),
                    (None, None) => "changes".to_owned(),
                };
                format!("when {what}{part} {goes}{}", lasting(lasts))
            }
            Trigger::Check { tool, arguments, path, op, value, .. } => {
                let check =
                    json!({"check": {"tool": tool, "arguments": arguments, "path": path, "op": op, "value": value}});
                in_words(self.cx, self.registry, Kind::Condition, &check)
            }
        }
    }

    /// One condition: "it is after 22:00", "the hall lamp is off".
    pub fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::Time { after, before } => {
                let words = |text: &String| time_of_day(text).map_or_else(|_| text.clone(), clock_words);
                match (after.as_ref().map(words), before.as_ref().map(words)) {
                    (Some(after), Some(before)) => format!("it is between {after} and {before}"),
                    (Some(after), None) => format!("it is after {after}"),
                    (None, Some(before)) => format!("it is before {before}"),
                    (None, None) => "it is any time".to_owned(),
                }
            }
            Condition::Days { days } => {
                let named = |day: &str| DAYS.iter().find(|(short, _)| *short == day).map_or("a day", |(_, name)| name);
                match &days.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["mon", "tue", "wed", "thu", "fri"] => "it is a weekday".to_owned(),
                    ["sat", "sun"] => "it is the weekend".to_owned(),
                    days => format!("it is {}", days.iter().map(|day| named(day)).collect::<Vec<_>>().join(" or ")),
                }
            }
            Condition::Sun { is: SunIs::Up } => "it is day".to_owned(),
            Condition::Sun { is: SunIs::Down } => "it is dark".to_owned(),
            Condition::Pin { pin, high } => format!("{} is {}", self.pin(*pin), if *high { "on" } else { "off" }),
            Condition::Thing { thing, is, above, below } => {
                let name = self.thing(thing);
                let mut parts = vec![];
                parts.extend(is.as_ref().map(|is| format!("is {is}")));
                parts.extend(above.map(|limit| format!("is above {limit}")));
                parts.extend(below.map(|limit| format!("is below {limit}")));
                format!("{name} {}", join_and(&parts))
            }
            Condition::Tool { tool, path, op, value, .. } => {
                let part = if path.is_empty() { String::new() } else { format!(" ({})", spaced(path)) };
                format!("{}{part} is {}{}", spaced(tool), comparison(*op), shown(value))
            }
            Condition::All { conditions } => format!("({})", self.several(conditions, " and ")),
            Condition::Any { conditions } => format!("({})", self.several(conditions, " or ")),
            Condition::Not { condition } => format!("not ({})", self.condition(condition)),
        }
    }

    fn several(&self, all: &[Condition], word: &str) -> String {
        all.iter().map(|one| self.condition(one)).collect::<Vec<_>>().join(word)
    }

    /// One action: "turn on the hall lamp for 5 minutes", "tell you “ding”".
    pub fn action(&self, action: &Value) -> String {
        let text = |name: &str| action[name].as_str().map(|text| truncate(&one_line(text), LONGEST));
        let lasting = || match action["for"].as_str().and_then(|span| span.parse::<SignedDuration>().ok()) {
            Some(span) => format!(" for {}", duration_words(span.as_secs())),
            None => String::new(),
        };
        match action["type"].as_str().unwrap_or_default() {
            "thing" => format!("{}{}", self.control(action), lasting()),
            "pin" => {
                let pin = action["pin"].as_u64().and_then(|pin| u8::try_from(pin).ok()).unwrap_or_default();
                match action["toggle"] == true {
                    true => format!("toggle {}", self.pin(pin)),
                    false => format!("turn {} {}{}", on_or_off(&action["high"]), self.pin(pin), lasting()),
                }
            }
            "pulse" => {
                let pin = action["pin"].as_u64().and_then(|pin| u8::try_from(pin).ok()).unwrap_or_default();
                format!("pulse {}", self.pin(pin))
            }
            "ha" => {
                let service = format!("{}.{}", text("domain").unwrap_or_default(), text("service").unwrap_or_default());
                let entity = text("entity").map(|entity| format!(" for {entity}")).unwrap_or_default();
                format!("call {service} of Home Assistant{entity}")
            }
            "mqtt" => {
                let topic = text("topic").unwrap_or_default();
                format!("publish “{}” to MQTT topic {topic}", shown(&action["payload"]))
            }
            "wait" => {
                let seconds = action["seconds"].as_i64().unwrap_or_default();
                format!("wait {}", duration_words(seconds))
            }
            "message" => {
                let whom = text("person").map_or_else(
                    || "you".to_owned(),
                    |person| match person.parse::<Id>() {
                        Ok(_) => Addressee::shown(self.cx, &person),
                        Err(_) => person,
                    },
                );
                format!("tell {whom} “{}”", text("message").unwrap_or_default())
            }
            "prompt" => format!("ask Hob “{}”", text("prompt").unwrap_or_default()),
            _ => match step(action, true) {
                Ok(Step::Call(crate::action::Action::Tool { name, arguments })) => {
                    let call = PreauthorizedCall {
                        tool: name,
                        version: 0,
                        args: arguments,
                        digest: [0; 32],
                        consented: false,
                    };
                    uncapital(&action_words(self.cx, self.registry, &call))
                }
                _ => "do nothing".to_owned(),
            },
        }
    }

    fn control(&self, action: &Value) -> String {
        let verb = action["action"].as_str().unwrap_or_default();
        let several: Vec<String> = action["things"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|t| self.thing(t))
            .collect();
        let what = match (action["thing"].as_str(), action["area"].as_str()) {
            (Some(thing), _) => self.thing(thing),
            (None, Some(area)) => {
                let kind =
                    action["kind"].as_str().map_or("everything".to_owned(), |kind| format!("every {}", spaced(kind)));
                format!("{kind} in {area}")
            }
            (None, None) => join_and(&several),
        };
        let level = action["level"].as_f64().map(|level| format!(" to {level} %")).unwrap_or_default();
        match verb {
            "set_level" => match action["by"].as_f64() {
                Some(by) if by < 0.0 => format!("dim {what} by {} %", -by),
                Some(by) => format!("raise {what} by {by} %"),
                None => format!("set {what}{level}"),
            },
            "set_temperature" => {
                let unit = action["unit"].as_str().map(|unit| format!(" {}", capitalized(unit))).unwrap_or_default();
                match action["by"].as_f64() {
                    Some(by) => format!("change {what} by {by} degrees{unit}"),
                    None => format!("set {what} to {} degrees{unit}", shown(&action["temperature"])),
                }
            }
            "set_color" | "set_mode" => format!("set {what} to {}", shown(&action["text"])),
            "mute" if action["mute"] == false => format!("unmute {what}"),
            verb => format!("{} {what}{level}", spaced(verb)),
        }
    }

    /// "today", "tomorrow", "on Friday 27 November".
    fn on_day(&self, day: Date) -> String {
        let today = self.cx.ports().clock.local().date();
        match day {
            day if day == today => "today".to_owned(),
            day if today.tomorrow().is_ok_and(|next| next == day) => "tomorrow".to_owned(),
            day if day.year() == today.year() => day.strftime("on %A %-d %B").to_string(),
            day => day.strftime("on %A %-d %B %Y").to_string(),
        }
    }

    fn pin(&self, pin: u8) -> String {
        named(&self.home.pin_name(pin))
    }

    fn thing(&self, address: &str) -> String {
        named(&self.home.thing_name(address))
    }
}

/// "the hall lamp", but "pin 17", "Anna’s lamp" and "ha:light.hall".
fn named(name: &str) -> String {
    let name = truncate(&one_line(name), LONGEST);
    let plain = name.starts_with("pin ") || name.contains(':') || name.contains(['’', '\'']);
    let lower = name.to_lowercase();
    let has = ["the ", "my ", "our ", "all "].iter().any(|lead| lower.starts_with(lead));
    if plain || has { name } else { format!("the {}", uncapital(&name)) }
}

/// "turns on", "changes from closed to open", "has been open".
fn changed(from: &Option<String>, to: &Option<String>, lasts: &Option<u64>) -> String {
    match (from.as_deref(), to.as_deref()) {
        (None, Some(to)) if lasts.is_some() => format!("has been {to}"),
        (None, Some("on")) => "turns on".to_owned(),
        (None, Some("off")) => "turns off".to_owned(),
        (None, Some("open")) => "opens".to_owned(),
        (None, Some("closed")) => "closes".to_owned(),
        (None, Some(to)) => format!("becomes {to}"),
        (Some(from), Some(to)) => format!("changes from {from} to {to}"),
        (Some(from), None) => format!("is no longer {from}"),
        (None, None) if lasts.is_some() => "has not changed".to_owned(),
        (None, None) => "changes".to_owned(),
    }
}

/// "a", "a and b", "a, wait 5 seconds, then b".
fn in_order(all: &[String]) -> String {
    match all {
        [] => "do nothing".to_owned(),
        [one] => one.clone(),
        [first, second] => format!("{first}, then {second}"),
        [some @ .., last] => format!("{}, then {last}", some.join(", ")),
    }
}
