//! Causes and effects of rules: pins, things, MQTT topics.

use crate::{
    action::Action,
    definition::{Definition, Edge, Trigger as Waits},
    steps::{Step, step},
};
use tool::prelude::*;

/// A thing whose state is watched or changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resource {
    /// A thing by its address; pins are `pin:17`.
    Thing(String),
    /// An MQTT topic, or a pattern of topics.
    Topic(String),
}

/// A cause: a resource comes to a value, or changes in any way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cause {
    pub resource: Resource,
    pub value: Option<bool>,
}

/// An effect: a resource is set on or off, or changes in a way that is not known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub resource: Resource,
    pub value: Option<bool>,
    /// Whether it changes although it may be at that value already, as with a pulse, a message or the way back after a time.
    pub flips: bool,
    /// Its resource in words.
    pub what: String,
}

fn pin(number: impl std::fmt::Display) -> Resource {
    Resource::Thing(format!("pin:{number}"))
}

/// Words for states as on or off; others are not known.
fn on(state: &str) -> Option<bool> {
    match &*state.to_lowercase() {
        "on" | "open" | "active" | "unlocked" | "playing" => Some(true),
        "off" | "closed" | "inactive" | "locked" | "paused" => Some(false),
        _ => None,
    }
}

/// The cause that a trigger waits for.
pub(super) fn causes_of(trigger: &Waits) -> Option<Cause> {
    Some(match trigger {
        Waits::Pin { pin: number, press: Some(_), .. } => Cause { resource: pin(number), value: Some(true) },
        Waits::Pin { pin: number, edge, .. } => {
            let value = match edge {
                Some(Edge::Rising) => Some(true),
                Some(Edge::Falling) => Some(false),
                _ => None,
            };
            Cause { resource: pin(number), value }
        }
        Waits::Thing { thing, to, .. } => {
            Cause { resource: Resource::Thing(thing.clone()), value: to.as_deref().and_then(on) }
        }
        Waits::Ha { entity, to, .. } => {
            Cause { resource: Resource::Thing(format!("ha:{entity}")), value: to.as_deref().and_then(on) }
        }
        Waits::Mqtt { topic, .. } => Cause { resource: Resource::Topic(topic.clone()), value: None },
        Waits::Event { topic, fields } if topic == "pin:changed" => {
            Cause { resource: pin(fields.get("pin")?.as_u64()?), value: fields.get("high").and_then(Value::as_bool) }
        }
        _ => return None,
    })
}

/// The effects of the actions of a rule.
pub(super) fn effects_of(definition: &Definition) -> Vec<Effect> {
    let mut all: Vec<Effect> = vec![];
    for action in &definition.actions {
        if let Ok(Step::Call(Action::Tool { name, arguments })) = step(action, true) {
            all.extend(effects_of_call(&name, &arguments));
        }
    }
    // After another value it changes for certain.
    let changes = |(at, one): (usize, &Effect)| {
        all.iter().take(at).any(|before| one.resource == before.resource && one.value != before.value)
    };
    let changes: Vec<bool> = all.iter().enumerate().map(changes).collect();
    all.iter_mut().zip(changes).for_each(|(effect, changes)| effect.flips |= changes);
    all
}

fn effects_of_call(tool: &str, args: &Value) -> Vec<Effect> {
    let effect = |resource: Resource, value: Option<bool>, flips: bool| {
        let what = match &resource {
            Resource::Thing(address) => {
                address.strip_prefix("pin:").map_or_else(|| address.clone(), |pin| format!("pin {pin}"))
            }
            Resource::Topic(topic) => format!("the topic {topic}"),
        };
        Effect { resource, value, flips, what }
    };
    // After a time it goes back.
    let lasting = |resource: Resource, value: Option<bool>| {
        let mut both = vec![effect(resource.clone(), value, false)];
        if args.get("for").is_some_and(|lasts| !lasts.is_null()) {
            both.push(effect(resource, value.map(|on| !on), true));
        }
        both
    };
    match tool {
        "gpio_write" => lasting(pin(&args["pin"]), args["high"].as_bool()),
        "gpio_toggle" | "gpio_pulse" | "blink_pin" | "pwm_write" => vec![effect(pin(&args["pin"]), None, true)],
        "control_thing" => {
            let value = match args["action"].as_str().unwrap_or_default() {
                "turn_on" | "open" | "unlock" | "play" => Some(true),
                "turn_off" | "close" | "lock" | "pause" => Some(false),
                "set_level" | "set_temperature" | "set_color" | "set_mode" | "arm" | "disarm" => return vec![],
                _ => None,
            };
            let one = args["thing"].as_str().into_iter();
            let several = args["things"].as_array().into_iter().flatten().filter_map(Value::as_str);
            one.chain(several).flat_map(|thing| lasting(Resource::Thing(thing.to_owned()), value)).collect()
        }
        "ha_call_service" => {
            let Some(entity) = args["entity"].as_str() else { return vec![] };
            let value = match args["service"].as_str().unwrap_or_default() {
                service if service.contains("turn_on") || service.contains("open") => Some(true),
                service if service.contains("turn_off") || service.contains("close") => Some(false),
                "toggle" => None,
                _ => return vec![],
            };
            vec![effect(Resource::Thing(format!("ha:{entity}")), value, false)]
        }
        "mqtt_publish" => args["topic"]
            .as_str()
            .map(|topic| effect(Resource::Topic(topic.to_owned()), None, true))
            .into_iter()
            .collect(),
        _ => vec![],
    }
}

/// Whether an effect is what a trigger waits for.
pub(super) fn matches(effect: &Effect, cause: &Cause) -> bool {
    let same = match (&effect.resource, &cause.resource) {
        (Resource::Topic(topic), Resource::Topic(pattern)) => crate::matching::topic_fits(pattern, topic),
        (one, other) => one == other,
    };
    same && effect.value.zip(cause.value).is_none_or(|(does, wanted)| does == wanted)
}

/// Whether two effects are opposite.
pub(super) fn is_opposite(one: &Effect, other: &Effect) -> bool {
    !one.flips
        && !other.flips
        && one.resource == other.resource
        && one.value.zip(other.value).is_some_and(|(one, other)| one != other)
}
