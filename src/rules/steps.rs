//! The actions of a rule: what each looks like, and the tool call that carries it out.

use crate::{
    action::{Action, LONGEST_ARGUMENTS},
    home::Home,
    phrases,
    values::{seconds, seconds_in},
};
use serde_json::Map;
use text_kit::truncate;
use tool::prelude::*;

/// The longest wait, in seconds.
const LONGEST_WAIT: u64 = 24 * 3600;
/// Kinds of action.
const KINDS: &str = "thing, pin, pulse, ha, mqtt, message, prompt, tool or wait";

/// An action to carry out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// A call of a tool, a prompt or a message.
    Call(Action),
    /// A pause before the next action, in seconds.
    Wait(u64),
}

/// Reads one action: an object, or words such as "turn on the hall lamp for 5 minutes".
///
/// # Errors
/// `BadArgs` that shows how to write it.
pub(crate) fn read(home: &Home, written: &Value) -> Result<Value> {
    let mut fields = match written {
        Value::String(text) => phrases::action(text)?,
        Value::Object(fields) => fields.clone(),
        other => return Err(Error::bad_args(format!("`{other}` is no action: write an object or words"))),
    };
    fields.remove("words");
    fields.retain(|_, value| !value.is_null());
    let kind = kind_of(&fields)?;
    shape(home, kind, &mut fields)?;
    fields.insert("type".into(), kind.into());
    let action = Value::Object(fields);
    if action.to_string().len() > LONGEST_ARGUMENTS {
        return Err(Error::bad_args("the action is longer than 64 KB: shorten it"));
    }
    step(&action, true).map(|_| action)
}

fn shape(home: &Home, kind: &str, fields: &mut Map<String, Value>) -> Result<()> {
    let text = |fields: &Map<String, Value>, name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    match kind {
        "thing" => {
            for (from, to) in [("verb", "action"), ("duration", "for"), ("brightness", "level"), ("position", "level")]
            {
                if let Some(value) = fields.remove(from) {
                    fields.entry(to).or_insert(value);
                }
            }
            if let Some(which) = text(fields, "thing") {
                fields.insert("thing".into(), home.thing(&which)?.0.into());
            }
            if let Some(Value::Array(all)) = fields.get("things").cloned() {
                let address =
                    |one: &Value| home.thing(one.as_str().unwrap_or_default()).map(|found| Value::from(found.0));
                fields.insert("things".into(), all.iter().map(address).collect::<Result<Vec<_>>>()?.into());
            }
            if !["thing", "things", "area"].iter().any(|name| fields.contains_key(*name)) {
                return Err(Error::bad_args("say what to control: `thing`, `things` or `area`"));
            }
            let Some(action) = text(fields, "action") else {
                return Err(Error::bad_args("say what the thing shall do: `\"action\": \"turn_on\"`"));
            };
            let action = action.trim().to_lowercase().replace([' ', '-'], "_");
            let action = match &*action {
                "on" => "turn_on",
                "off" => "turn_off",
                other => other,
            };
            if serde_json::from_value::<things::Verb>(action.into()).is_err() {
                return Err(Error::bad_args(format!(
                    "`{}` is nothing a thing can do: use turn_on, turn_off, toggle, open, close, set_level, set_temperature …",
                    truncate(action, 40)
                )));
            }
            fields.insert("action".into(), action.into());
            iso_for(fields)
        }
        "pin" => {
            fields.insert("pin".into(), home.pin(fields.get("pin").unwrap_or(&Value::Null))?.into());
            let word = text(fields, "action").or_else(|| text(fields, "high")).map(|word| word.to_lowercase());
            match word.as_deref() {
                Some("on" | "high" | "turn_on" | "true") => drop(fields.insert("high".into(), true.into())),
                Some("off" | "low" | "turn_off" | "false") => drop(fields.insert("high".into(), false.into())),
                Some("toggle") => drop(fields.insert("toggle".into(), true.into())),
                _ => {}
            }
            fields.remove("action");
            if fields.get("toggle") == Some(&true.into()) {
                fields.remove("high");
            } else if !fields.get("high").is_some_and(Value::is_boolean) {
                return Err(Error::bad_args("say what the pin shall be: `\"high\": true`, or `\"toggle\": true`"));
            }
            iso_for(fields)
        }
        "pulse" => {
            fields.insert("pin".into(), home.pin(fields.get("pin").unwrap_or(&Value::Null))?.into());
            Ok(())
        }
        "ha" => {
            if let Some(value) = fields.remove("entity_id").or_else(|| fields.remove("entityId")) {
                fields.entry("entity").or_insert(value);
            }
            if let Some((domain, service)) = text(fields, "service").as_deref().and_then(|s| s.split_once('.')) {
                fields.entry("domain").or_insert(domain.into());
                fields.insert("service".into(), service.into());
            }
            match ["domain", "service"].iter().all(|name| fields.get(*name).is_some_and(Value::is_string)) {
                true => Ok(()),
                false => Err(Error::bad_args("name the service of Home Assistant: `\"service\": \"light.turn_on\"`")),
            }
        }
        "mqtt" => {
            if text(fields, "topic").is_none_or(|topic| topic.is_empty() || topic.contains(['+', '#', '\0'])) {
                return Err(Error::bad_args(
                    "name the topic to publish to, without `+` and `#`: `\"topic\": \"home/lamp/set\"`",
                ));
            }
            fields.entry("payload").or_insert("".into());
            Ok(())
        }
        "wait" => {
            for name in ["delay", "for", "wait", "duration"] {
                if let Some(value) = fields.remove(name) {
                    fields.entry("seconds").or_insert(value);
                }
            }
            seconds_in(fields, "seconds")?;
            let seconds = fields.get("seconds").and_then(Value::as_u64).unwrap_or_default();
            if !(1..=LONGEST_WAIT).contains(&seconds) {
                return Err(Error::bad_args(
                    "a wait takes one second to a day: `{\"type\": \"wait\", \"seconds\": 10}`",
                ));
            }
            Ok(())
        }
        "message" => {
            if let Some(value) = fields.remove("text") {
                fields.entry("message").or_insert(value);
            }
            if let Some(value) = fields.remove("for").or_else(|| fields.remove("to")) {
                fields.entry("person").or_insert(value);
            }
            Ok(())
        }
        "tool" => {
            for (from, to) in
                [("name", "tool"), ("toolName", "tool"), ("args", "arguments"), ("parameters", "arguments")]
            {
                if let Some(value) = fields.remove(from) {
                    fields.entry(to).or_insert(value);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Writes `for` as `PT5M`.
fn iso_for(fields: &mut Map<String, Value>) -> Result<()> {
    if let Some(lasts) = fields.remove("for") {
        let length = seconds(&lasts)?;
        let (hours, minutes, rest) = (length / 3600, length / 60 % 60, length % 60);
        let part = |n: u64, unit: &str| if n > 0 { format!("{n}{unit}") } else { String::new() };
        let text = format!("PT{}{}{}", part(hours, "H"), part(minutes, "M"), part(rest, "S"));
        if length > 0 {
            fields.insert("for".into(), text.into());
        }
    }
    Ok(())
}

fn kind_of(fields: &Map<String, Value>) -> Result<&'static str> {
    let has = |name: &str| fields.contains_key(name);
    if let Some(written) = fields.get("type").and_then(Value::as_str) {
        return Ok(match &*written.to_lowercase() {
            "thing" | "device" | "control" => "thing",
            "pin" | "gpio" => "pin",
            "pulse" => "pulse",
            "ha" | "service" | "home_assistant" => "ha",
            "mqtt" => "mqtt",
            "message" | "notify" | "notification" => "message",
            "prompt" | "agent" => "prompt",
            "tool" | "call" => "tool",
            "wait" | "delay" => "wait",
            other => {
                return Err(Error::bad_args(format!("`{}` is no type of action: use {KINDS}", truncate(other, 40))));
            }
        });
    }
    Ok(match () {
        () if has("tool") || has("toolName") => "tool",
        () if has("thing") || has("things") || has("area") => "thing",
        () if has("milliseconds") && has("pin") => "pulse",
        () if has("pin") => "pin",
        () if has("service") => "ha",
        () if has("topic") => "mqtt",
        () if has("prompt") => "prompt",
        () if has("message") => "message",
        () if has("wait") || has("delay") || has("seconds") => "wait",
        () => return Err(Error::bad_args(format!("the action has no `type`: use {KINDS}"))),
    })
}

/// The step of an action in its stored form. `controls` is whether the tool `control_thing` is here; without it, pins are switched
/// directly.
///
/// # Errors
/// `BadArgs` where fields are missing.
pub(crate) fn step(action: &Value, controls: bool) -> Result<Step> {
    let without = |names: &[&str]| {
        let mut fields = action.as_object().cloned().unwrap_or_default();
        fields.retain(|name, _| name != "type" && !names.contains(&&**name));
        Value::Object(fields)
    };
    let text = |name: &str| action[name].as_str().unwrap_or_default().to_owned();
    let tool = |name: &str, arguments: Value| Step::Call(Action::Tool { name: name.into(), arguments });
    let step = match action["type"].as_str().unwrap_or_default() {
        "thing" => {
            let pin = action["thing"]
                .as_str()
                .and_then(|thing| thing.strip_prefix("pin:"))
                .and_then(|pin| pin.parse::<u8>().ok());
            match (controls, pin, action["action"].as_str()) {
                (false, Some(pin), Some(verb @ ("turn_on" | "turn_off"))) => {
                    let mut arguments = json!({"pin": pin, "high": verb == "turn_on"});
                    if let Some(lasts) = action.get("for") {
                        arguments["for"] = lasts.clone();
                    }
                    tool("gpio_write", arguments)
                }
                _ => tool("control_thing", without(&[])),
            }
        }
        "pin" if action["toggle"] == true => tool("gpio_toggle", without(&["toggle"])),
        "pin" => tool("gpio_write", without(&["toggle"])),
        "pulse" => tool("gpio_pulse", without(&[])),
        "ha" => tool("ha_call_service", without(&[])),
        "mqtt" => tool("mqtt_publish", without(&[])),
        "wait" => Step::Wait(action["seconds"].as_u64().unwrap_or_default()),
        "message" => {
            let person = action["person"].as_str().map(str::to_owned);
            Step::Call(Action::Notify { text: text("message"), person }.checked()?)
        }
        "prompt" => {
            let conversation = action["conversationId"].as_str().and_then(|id| id.parse().ok());
            Step::Call(Action::Prompt { text: text("prompt"), conversation }.checked()?)
        }
        _ => {
            let arguments = action.get("arguments").cloned().unwrap_or_else(|| json!({}));
            Step::Call(Action::Tool { name: text("tool"), arguments }.checked()?)
        }
    };
    Ok(step)
}
