//! Reads rules in the forms people, models and files write them, and returns the one form that is stored.

mod types;

use crate::{
    definition::{Condition, Definition, Mode, SunEvent, Trigger},
    home::Home,
    matching::check_path,
    phrases, steps, sun,
    values::{as_list, day, level, move_field, number, rename, seconds_in, text_of, time_of_day},
};
use serde_json::Map;
use tool::{Clock, Topics, prelude::*};
use types::{condition_type, form, trigger_type};

/// Maximum number of triggers, conditions (nested ones included) and actions of a rule.
const MAX_TRIGGERS: usize = 10;
const MAX_CONDITIONS: usize = 30;
const MAX_ACTIONS: usize = 30;
/// Maximum of `max`.
const MAX_RUNS: u32 = 50;
/// Runs that wait or run at once by default.
const RUNS: u32 = 10;
/// How long a state has to last at most, and how far a time can be from the sun, in minutes.
const LONGEST_FOR: u64 = 7 * 86_400;
const LONGEST_OFFSET: i32 = 12 * 60;
/// Seconds between two checks of a tool's result.
const CHECK_SECONDS: std::ops::RangeInclusive<u32> = 5..=86_400;

/// The parts of a rule as they were written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub triggers: Option<Value>,
    pub conditions: Option<Value>,
    pub actions: Option<Value>,
    pub mode: Option<Mode>,
    pub max: Option<u32>,
}

/// The context of reading a rule.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'r> {
    pub home: &'r Home,
    pub clock: &'r dyn Clock,
}

impl Reader<'_> {
    /// Reads a whole rule; parts that are left out are those of `before`.
    ///
    /// # Errors
    /// `BadArgs` that names the part and shows how to write it.
    pub fn definition(&self, written: Written, before: &Definition) -> Result<Definition> {
        let mut definition = before.clone();
        if let Some(triggers) = &written.triggers {
            let all = as_list(triggers);
            if all.is_empty() {
                return Err(Error::bad_args(
                    "a rule needs a trigger: `\"triggers\": [{\"type\": \"pin\", \"pin\": 17, \"press\": \"short\"}]`",
                ));
            }
            limit("triggers", all.len(), MAX_TRIGGERS)?;
            definition.triggers = each("trigger", &all, |one| self.trigger(one))?;
        }
        if let Some(conditions) = &written.conditions {
            definition.conditions = each("condition", &as_list(conditions), |one| self.condition(one, 0))?;
            let count = definition.conditions.iter().map(count).sum();
            limit("conditions", count, MAX_CONDITIONS)?;
        }
        if let Some(actions) = &written.actions {
            let all = as_list(actions);
            if all.is_empty() {
                return Err(Error::bad_args(
                    "a rule needs an action: `\"actions\": [{\"type\": \"thing\", \"thing\": \"hall lamp\", \"action\": \"turn_on\"}]`",
                ));
            }
            limit("actions", all.len(), MAX_ACTIONS)?;
            definition.actions = each("action", &all, |one| steps::read(self.home, one))?;
        }
        definition.mode = written.mode.unwrap_or(definition.mode);
        definition.max = written.max.unwrap_or(if definition.max == 0 { RUNS } else { definition.max });
        if !(1..=MAX_RUNS).contains(&definition.max) {
            return Err(Error::bad_args(format!("`max` is {}: give 1 to {MAX_RUNS}", definition.max)));
        }
        if definition.triggers.is_empty() {
            return Err(Error::bad_args("a rule needs at least one trigger"));
        }
        if definition.actions.is_empty() {
            return Err(Error::bad_args("a rule needs at least one action"));
        }
        Ok(definition)
    }

    /// Reads one trigger: an object, or words such as "sunset-00:15" and "bell pressed twice".
    pub fn trigger(&self, written: &Value) -> Result<Trigger> {
        let mut fields = match written {
            Value::String(text) => phrases::trigger(self.home, text)?,
            Value::Object(fields) => flattened(fields),
            other => return Err(Error::bad_args(format!("`{other}` is no trigger: write an object or words"))),
        };
        tidy(&mut fields);
        rename(
            &mut fields,
            &[
                ("entity_id", "entity"),
                ("entityId", "entity"),
                ("cron", "schedule"),
                ("time_zone", "timezone"),
                ("timeZone", "timezone"),
                ("offset_minutes", "offsetMinutes"),
                ("every_seconds", "everySeconds"),
                ("args", "arguments"),
                ("presses", "press"),
                ("kind", "press"),
            ],
        );
        let kind = trigger_type(&fields)?;
        match kind {
            "pin" => self.pin_trigger(&mut fields)?,
            "schedule" => {
                if let Some(at) = fields.remove("at") {
                    fields.entry("schedule").or_insert(match at.as_str() {
                        Some(text) if time_of_day(text).is_ok() => format!("every day at {text}").into(),
                        _ => at,
                    });
                }
            }
            "sun" => self.sun_trigger(&mut fields)?,
            "thing" => {
                let which = text_of(&fields, "thing")?;
                fields.insert("thing".into(), self.home.thing(&which)?.0.into());
                state_words(&mut fields);
            }
            "ha" => state_words(&mut fields),
            "mqtt" => {}
            "threshold" => {
                if let Some(which) = fields.get("thing").and_then(Value::as_str) {
                    let address = self.home.thing(which)?.0;
                    fields.insert("thing".into(), address.into());
                }
                for name in ["above", "below", "hysteresis"] {
                    number(&mut fields, name)?;
                }
            }
            _ => {}
        }
        if matches!(kind, "pin" | "ha" | "thing" | "threshold") {
            seconds_in(&mut fields, "for")?;
        }
        fields.insert("type".into(), kind.into());
        let trigger: Trigger = serde_json::from_value(fields.into()).map_err(|e| {
            Error::bad_args(format!("a trigger of type {kind} does not fit ({e}): write it as {}", form(kind)))
        })?;
        self.check(&trigger)?;
        Ok(trigger)
    }

    fn pin_trigger(&self, fields: &mut Map<String, Value>) -> Result<()> {
        let pin = self.home.pin(fields.get("pin").unwrap_or(&Value::Null))?;
        fields.insert("pin".into(), pin.into());
        if let Some(high) = fields.remove("high") {
            fields.entry("edge").or_insert(if high == Value::Bool(true) { "rising" } else { "falling" }.into());
        }
        for (name, words) in [("edge", phrases::EDGES), ("press", phrases::PRESSES)] {
            let Some(written) = fields.get(name).filter(|v| !v.is_null()) else { continue };
            let word = written.as_str().map_or_else(|| written.to_string(), str::to_lowercase);
            let Some((_, known)) = words.iter().find(|(said, _)| *said == word) else {
                let all: Vec<&str> = words.iter().map(|(_, known)| *known).collect();
                return Err(Error::bad_args(format!(
                    "`{word}` is no {name} of a pin: use one of {}",
                    deduped(all).join(", ")
                )));
            };
            fields.insert(name.into(), (*known).into());
        }
        let has = |name: &str| fields.get(name).is_some_and(|v| !v.is_null());
        if has("edge") && has("press") {
            return Err(Error::bad_args("a pin trigger has either an `edge` or a `press`, not both"));
        }
        if has("press") && has("for") {
            return Err(Error::bad_args("a press is over at once: leave out `for`, or use an `edge`"));
        }
        if !has("edge") && !has("press") {
            fields.insert("edge".into(), "both".into());
        }
        Ok(())
    }

    fn sun_trigger(&self, fields: &mut Map<String, Value>) -> Result<()> {
        for word in ["sunset", "sunrise"] {
            if let Some(offset) = fields.remove(word) {
                fields.insert("event".into(), word.into());
                fields.entry("offset").or_insert(offset);
            }
        }
        move_field(fields, "sun", "event");
        if let Some(offset) = fields.remove("offset") {
            let minutes = match &offset {
                Value::String(text) => phrases::offset(text)?,
                other => other.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or_default(),
            };
            fields.entry("offsetMinutes").or_insert(minutes.into());
        }
        let once = fields.remove("once").is_some_and(|once| once == true);
        if once {
            fields.entry("date").or_insert("next".into());
        }
        let today = self.clock.local().date();
        let day = match fields.get("date").and_then(Value::as_str).map(str::trim) {
            Some("today" | "tonight") => Some(today),
            Some("tomorrow") => today.tomorrow().ok(),
            Some("next" | "once") => {
                let place = (self.home.place)().ok_or_else(|| Error::unavailable(things::NO_PLACE))?;
                let event = match fields.get("event").and_then(Value::as_str) {
                    Some("sunrise") => SunEvent::Sunrise,
                    _ => SunEvent::Sunset,
                };
                let offset = fields.get("offsetMinutes").and_then(Value::as_i64).unwrap_or_default();
                let offset = i32::try_from(offset).unwrap_or(i32::MAX).clamp(-LONGEST_OFFSET, LONGEST_OFFSET);
                sun::next_day(place, event, offset, self.clock.now(), &self.clock.zone())
            }
            _ => None,
        };
        if let Some(day) = day {
            fields.insert("date".into(), day.to_string().into());
        }
        Ok(())
    }

    /// Checks what the shape of a trigger does not.
    fn check(&self, trigger: &Trigger) -> Result<()> {
        match trigger {
            Trigger::Schedule { schedule, timezone } => {
                scheduler::parse(schedule, timezone.as_deref(), self.clock).map(drop)
            }
            Trigger::Sun { event, offset_minutes, date } => {
                if offset_minutes.abs() > LONGEST_OFFSET {
                    return Err(Error::bad_args("the offset from the sun is more than 12 hours: use a time of day"));
                }
                let place = (self.home.place)().ok_or_else(|| Error::unavailable(things::NO_PLACE))?;
                let Some(day) = date else { return Ok(()) };
                match sun::on_date(place, *event, *offset_minutes, *day) {
                    Some(at) if at > self.clock.now() => Ok(()),
                    Some(_) => Err(Error::bad_args(format!(
                        "that time by the sun on {day} has passed: give a later date, or \"next\" for the next one"
                    ))),
                    None => Err(Error::bad_args(format!("the sun does not do that on {day}: give another date"))),
                }
            }
            Trigger::Mqtt { topic, path, .. } => {
                check_topic(topic)?;
                check_path(path)
            }
            Trigger::Ha { entity, lasts, .. } => {
                check_entity(entity)?;
                check_for(*lasts)
            }
            Trigger::Pin { lasts, .. } | Trigger::Thing { lasts, .. } => check_for(*lasts),
            Trigger::Event { topic, fields } => {
                if topic.trim().is_empty() || topic.split(',').any(|t| t.trim() == "*") {
                    return Err(Error::bad_args(
                        "the topic matches everything: name the event to wait for, such as `tasks:changed`",
                    ));
                }
                Topics::parse(topic)?;
                crate::matching::parse_conditions(fields).map(drop)
            }
            Trigger::Threshold {
                thing,
                entity,
                topic,
                tool,
                path,
                above,
                below,
                hysteresis,
                lasts,
                every_seconds,
                ..
            } => {
                let sources = [thing, entity, topic, tool].iter().filter(|source| source.is_some()).count();
                if sources != 1 {
                    return Err(Error::bad_args(
                        "a threshold reads exactly one of `thing`, `entity`, `topic` and `tool`",
                    ));
                }
                if let Some(topic) = topic {
                    check_topic(topic)?;
                }
                if let Some(entity) = entity {
                    check_entity(entity)?;
                }
                check_path(path)?;
                match (above, below) {
                    (None, None) => return Err(Error::bad_args("a threshold needs `above` or `below`")),
                    (Some(above), Some(below)) if above >= below => {
                        return Err(Error::bad_args(format!(
                            "nothing is above {above} and below {below}: give a range, or only one of the two"
                        )));
                    }
                    _ => {}
                }
                if hysteresis.is_some_and(|h| h < 0.0) {
                    return Err(Error::bad_args("`hysteresis` is negative: give how far the number has to come back"));
                }
                check_every(*every_seconds)?;
                check_for(*lasts)
            }
            Trigger::Check { path, op, value, every_seconds, .. } => {
                check_path(path)?;
                if *op != crate::matching::Op::Changed && value.is_null() {
                    return Err(Error::bad_args(
                        "the check needs a `value` to compare with, or the operator `changed`",
                    ));
                }
                check_every(*every_seconds)
            }
        }
    }

    /// Reads one condition: an object, or words such as "after 22:00" and "it is dark".
    pub fn condition(&self, written: &Value, depth: usize) -> Result<Condition> {
        if depth > 5 {
            return Err(Error::bad_args("conditions are nested more than five levels deep: write them flatter"));
        }
        let mut fields = match written {
            Value::String(text) => phrases::condition(self.home, text)?,
            Value::Object(fields) => flattened(fields),
            Value::Array(all) => Map::from_iter([("all".to_owned(), Value::Array(all.clone()))]),
            other => return Err(Error::bad_args(format!("`{other}` is no condition: write an object or words"))),
        };
        tidy(&mut fields);
        for (word, kind) in [("and", "all"), ("or", "any"), ("all", "all"), ("any", "any")] {
            if let Some(inner) = fields.remove(word) {
                fields.insert("type".into(), kind.into());
                fields.insert("conditions".into(), inner);
            }
        }
        for word in ["not", "unless"] {
            if let Some(inner) = fields.remove(word) {
                fields.insert("type".into(), "not".into());
                fields.insert("condition".into(), inner);
            }
        }
        rename(&mut fields, &[("state", "is"), ("args", "arguments"), ("weekdays", "days"), ("weekday", "days")]);
        let kind = condition_type(&fields)?;
        let inner = |value: &Value| each("condition", &as_list(value), |one| self.condition(one, depth + 1));
        match kind {
            "all" | "any" => {
                let conditions = inner(fields.get("conditions").unwrap_or(&Value::Null))?;
                if conditions.is_empty() {
                    return Err(Error::bad_args(format!("`{kind}` is empty: name the conditions")));
                }
                return Ok(if kind == "all" { Condition::All { conditions } } else { Condition::Any { conditions } });
            }
            "not" => {
                let written = fields.get("condition").or_else(|| fields.get("conditions")).unwrap_or(&Value::Null);
                let mut conditions = inner(written)?;
                let condition = match conditions.len() {
                    1 => conditions.remove(0),
                    0 => return Err(Error::bad_args("`not` is empty: name the condition")),
                    _ => Condition::All { conditions },
                };
                return Ok(Condition::Not { condition: Box::new(condition) });
            }
            "time" => {
                for name in ["after", "before"] {
                    if let Some(text) = fields.get(name).and_then(Value::as_str) {
                        let time = time_of_day(text)?;
                        fields.insert(name.into(), time.strftime("%H:%M").to_string().into());
                    }
                }
                if fields.get("after") == fields.get("before") {
                    return Err(Error::bad_args(
                        "a time window needs `after`, `before` or both, and they differ: {\"type\": \"time\", \"after\": \"22:00\", \"before\": \"06:00\"}",
                    ));
                }
            }
            "days" => {
                let mut days = vec![];
                for one in as_list(fields.get("days").unwrap_or(&Value::Null)) {
                    day(one.as_str().unwrap_or_default())?.iter().for_each(|d| {
                        if !days.contains(d) {
                            days.push(*d);
                        }
                    });
                }
                if days.is_empty() {
                    return Err(Error::bad_args("name the days: {\"type\": \"days\", \"days\": [\"mon\", \"tue\"]}"));
                }
                fields.insert("days".into(), json!(days));
            }
            "sun" => {
                let is = text_of(&fields, "is").unwrap_or_else(|_| "down".into()).to_lowercase();
                let is = if ["up", "day", "light", "above", "above_horizon", "risen"].contains(&&*is) {
                    "up"
                } else {
                    "down"
                };
                fields.insert("is".into(), is.into());
                if (self.home.place)().is_none() {
                    return Err(Error::unavailable(things::NO_PLACE));
                }
            }
            "pin" => {
                let pin = self.home.pin(fields.get("pin").unwrap_or(&Value::Null))?;
                fields.insert("pin".into(), pin.into());
                if let Some(is) = fields.remove("is") {
                    let high = match &is {
                        Value::Bool(high) => *high,
                        other => level(&other.as_str().map_or_else(|| other.to_string(), str::to_owned))?,
                    };
                    fields.entry("high").or_insert(high.into());
                }
            }
            "thing" => {
                let which = text_of(&fields, "thing")?;
                fields.insert("thing".into(), self.home.thing(&which)?.0.into());
                if let Some(is) = fields.get("is").and_then(Value::as_bool) {
                    fields.insert("is".into(), if is { "on" } else { "off" }.into());
                }
                number(&mut fields, "above")?;
                number(&mut fields, "below")?;
                if ["is", "above", "below"].iter().all(|name| fields.get(*name).is_none_or(Value::is_null)) {
                    return Err(Error::bad_args("say how the thing has to be: `is`, `above` or `below`"));
                }
            }
            _ => {}
        }
        fields.insert("type".into(), kind.into());
        let condition: Condition = serde_json::from_value(fields.into())
            .map_err(|e| Error::bad_args(format!("a condition of type {kind} does not fit ({e})")))?;
        if let Condition::Tool { path, op, value, .. } = &condition {
            check_path(path)?;
            if *op == crate::matching::Op::Changed || value.is_null() {
                return Err(Error::bad_args(
                    "a condition on a tool compares with a `value`: eq, ne, gt, gte, lt, lte or contains",
                ));
            }
        }
        Ok(condition)
    }
}

fn limit(what: &str, count: usize, most: usize) -> Result<()> {
    if count > most {
        return Err(Error::bad_args(format!("a rule has {most} {what} at most, and this one has {count}")));
    }
    Ok(())
}

fn count(condition: &Condition) -> usize {
    match condition {
        Condition::All { conditions } | Condition::Any { conditions } => {
            1 + conditions.iter().map(count).sum::<usize>()
        }
        Condition::Not { condition } => 1 + count(condition),
        _ => 1,
    }
}

/// Reads each of a list, and names the one that is wrong.
fn each<T>(what: &str, all: &[Value], mut read: impl FnMut(&Value) -> Result<T>) -> Result<Vec<T>> {
    let named = |at: usize, error: Error| match all.len() {
        1 => error,
        _ => {
            let text = format!("{what} {}: {}", at + 1, error.message());
            error.with_message(text)
        }
    };
    all.iter().enumerate().map(|(at, one)| read(one).map_err(|error| named(at, error))).collect()
}

/// An object with the fields of its `config` beside its own.
fn flattened(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut all = fields.clone();
    if let Some(Value::Object(config)) = all.remove("config") {
        for (name, value) in config {
            match (&*name, value) {
                ("check", Value::Object(check)) => all.extend(check),
                (_, value) => drop(all.entry(name).or_insert(value)),
            }
        }
    }
    all
}

/// Removes what Hob shows beside the fields, and fields without a value.
fn tidy(fields: &mut Map<String, Value>) {
    fields.remove("words");
    fields.remove("id");
    fields.retain(|_, value| !value.is_null());
}

fn state_words(fields: &mut Map<String, Value>) {
    move_field(fields, "state", "to");
    move_field(fields, "is", "to");
    for name in ["from", "to"] {
        match fields.get(name) {
            Some(Value::Bool(on)) => drop(fields.insert(name.into(), if *on { "on" } else { "off" }.into())),
            Some(Value::Number(n)) => drop(fields.insert(name.into(), n.to_string().into())),
            _ => {}
        }
    }
}

fn deduped(mut words: Vec<&str>) -> Vec<&str> {
    words.sort_unstable();
    words.dedup();
    words
}

fn check_for(lasts: Option<u64>) -> Result<()> {
    match lasts {
        Some(seconds) if seconds > LONGEST_FOR => Err(Error::bad_args("`for` is longer than a week")),
        _ => Ok(()),
    }
}

fn check_every(seconds: u32) -> Result<()> {
    if CHECK_SECONDS.contains(&seconds) {
        return Ok(());
    }
    let (least, most) = (CHECK_SECONDS.start(), CHECK_SECONDS.end());
    Err(Error::bad_args(format!("`everySeconds` is {seconds}: give {least} to {most}")))
}

fn check_topic(topic: &str) -> Result<()> {
    let levels: Vec<&str> = topic.split('/').collect();
    let lonely = |level: &&str| (level.contains('+') || level.contains('#')) && level.len() > 1;
    let early = levels.iter().rev().skip(1).any(|level| *level == "#");
    if topic.is_empty() || topic.len() > 512 || topic.contains('\0') || early || levels.iter().any(lonely) {
        let shown = text_kit::truncate(topic, 60);
        return Err(Error::bad_args(format!(
            "`{shown}` is no MQTT topic: write it as `home/door`; `+` stands for one level and `#` at the end for all"
        )));
    }
    if topic == "#" {
        return Err(Error::bad_args("the topic matches everything: name the messages to wait for"));
    }
    Ok(())
}

fn check_entity(entity: &str) -> Result<()> {
    let fits = entity.split_once('.').is_some_and(|(domain, name)| {
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        plain(domain) && plain(name)
    });
    if fits && entity.len() <= 255 {
        return Ok(());
    }
    let shown = text_kit::truncate(entity, 60);
    Err(Error::bad_args(format!("`{shown}` is no entity of Home Assistant: write it as `light.hall`")))
}
