//! Which services, scripts and scenes open, unlock or disarm something.

use crate::{Entity, domain_of};
use serde_json::Value;
use text_kit::names_a_door;

/// Whether a service opens something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    No,
    Yes,
    /// Only if the entity is a door, a gate or the like.
    IfGuarded,
}

/// Whether a service opens, unlocks or disarms something.
pub(crate) fn of_service(domain: &str, service: &str) -> Opening {
    match (domain, service) {
        ("lock", "unlock" | "open" | "toggle") | ("alarm_control_panel", "alarm_disarm") => Opening::Yes,
        ("cover", "close_cover" | "stop_cover" | "close_cover_tilt" | "stop_cover_tilt") => Opening::No,
        ("valve", "close_valve" | "stop_valve") => Opening::No,
        ("cover" | "valve", _) => Opening::IfGuarded,
        ("button" | "input_button" | "switch" | "input_boolean", "press" | "turn_on" | "toggle") => Opening::IfGuarded,
        // They set any states of any entities.
        ("scene", "apply" | "create") | ("automation", "trigger") => Opening::Yes,
        // It does what the domain of each entity does.
        ("homeassistant", "turn_on" | "turn_off" | "toggle") => Opening::Yes,
        _ => Opening::No,
    }
}

/// Whether opening this would let somebody in, or let water or gas out.
pub(crate) fn is_guarded(entity: &Entity) -> bool {
    match entity.domain() {
        "lock" | "alarm_control_panel" | "valve" => true,
        "cover" => match entity.class() {
            Some("garage" | "gate" | "door") => true,
            Some("awning" | "blind" | "curtain" | "shade" | "shutter" | "damper") => false,
            _ => {
                let name = format!("{} {}", entity.id, entity.name()).to_lowercase();
                ["garage", "gate", "door"].iter().any(|word| name.contains(word))
            }
        },
        "button" | "input_button" | "switch" | "input_boolean" => {
            let name = format!("{} {}", entity.id, entity.name()).to_lowercase();
            let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
            // Without the domain: a button that is called after a door is not only a button near it.
            let object = entity.id.split_once('.').map_or(&*entity.id, |(_, object)| object);
            has(&["unlock", "buzzer"])
                || has(&["open"]) && has(&["door", "gate", "garage", "lock"])
                || names_a_door(&format!("{object} {}", entity.name()))
        }
        _ => false,
    }
}

/// The domains of switches and buttons, whose names say whether they open something.
pub(crate) fn is_switch(domain: &str) -> bool {
    matches!(domain, "button" | "input_button" | "switch" | "input_boolean")
}

/// Whether a text is the id of one.
fn is_switch_id(text: &str) -> bool {
    text.trim().split_once('.').is_some_and(|(domain, name)| is_switch(domain) && !name.contains(char::is_whitespace))
}

/// Whether an entity may have members that do what it does.
pub(crate) fn is_group(entity: &Entity) -> bool {
    matches!(entity.domain(), "cover" | "valve" | "switch")
}

/// The steps of a script: whether one opens something, the switches and buttons it presses, whether it does so in ways that
/// name none of them, and the scripts and scenes it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    pub opens: bool,
    pub touches: Vec<String>,
    pub wide: bool,
    pub starts: Vec<String>,
}

/// Domains whose services may do anything: run a program, send a message to a device.
const ANYTHING: &[&str] = &[
    "automation",
    "python_script",
    "pyscript",
    "conversation",
    "shell_command",
    "command_line",
    "rest_command",
    "mqtt",
    "zha",
    "zwave_js",
    "esphome",
    "knx",
    "modbus",
];
/// The most entities that a script may name, and their longest id.
const NAMED: usize = 500;
const LONGEST: usize = 255;
/// Keys of targets that are more than one entity.
const WIDE: &[&str] = &["area_id", "floor_id", "label_id", "device_id"];

/// Reads the steps of a script's configuration. A service that is only known when it runs counts as one that opens.
pub(crate) fn of_script(config: &Value) -> Steps {
    let mut steps = Steps::default();
    walk(config, &mut steps, 0);
    let known = |ids: &[String]| ids.len() <= NAMED && ids.iter().all(|id| id.len() <= LONGEST);
    match known(&steps.touches) && known(&steps.starts) {
        true => steps,
        false => Steps { opens: true, ..Steps::default() },
    }
}

fn walk(value: &Value, steps: &mut Steps, depth: u8) {
    if depth > 60 {
        steps.opens = true;
        return;
    }
    match value {
        Value::Array(all) => all.iter().for_each(|v| walk(v, steps, depth + 1)),
        Value::Object(all) => {
            let text = |key: &str| all.get(key).and_then(Value::as_str).unwrap_or_default();
            // The action of a device, whose entity has another kind of id here.
            let waits = ["platform", "trigger", "condition"].iter().any(|key| all.contains_key(*key));
            match (text("domain"), text("type")) {
                _ if waits => {}
                ("cover" | "valve", kind) => steps.opens |= !matches!(kind, "" | "close" | "close_tilt" | "stop"),
                (domain, kind) => steps.wide |= is_switch(domain) && !matches!(kind, "" | "turn_off"),
            }
            // An event that is fired here, and not one that is waited for, may start an automation.
            steps.opens |= !waits && !text("event").is_empty();
            for (key, value) in all {
                match (key.as_str(), value) {
                    ("action" | "service" | "service_template", Value::String(name)) => {
                        let (domain, service) = name.split_once('.').unwrap_or((name, ""));
                        // Which cover it is may be written in many ways; for others the names of their entities are all there is.
                        let opens = match of_service(domain, service) {
                            Opening::No => false,
                            Opening::Yes => true,
                            Opening::IfGuarded => matches!(domain, "cover" | "valve"),
                        };
                        if is_switch(domain) && of_service(domain, service) == Opening::IfGuarded {
                            steps.wide |= ["target", "data", "data_template", "entity_id"]
                                .iter()
                                .filter_map(|key| all.get(*key))
                                .any(is_wide)
                                || WIDE.iter().any(|key| all.contains_key(*key));
                        }
                        steps.opens |= name.contains('{') || opens;
                        if domain == "script" && !matches!(service, "turn_on" | "turn_off" | "toggle" | "reload") {
                            steps.starts.push(name.clone());
                        }
                        // Each runs something that is not visible here: an automation, Python code, a sentence.
                        steps.opens |= ANYTHING.contains(&domain);
                    }
                    // The action of a device.
                    ("type", Value::String(kind)) => {
                        steps.opens |= matches!(kind.as_str(), "unlock" | "open" | "disarm")
                    }
                    _ => walk(value, steps, depth + 1),
                }
            }
        }
        Value::String(text) if text.split(',').any(is_switch_id) => {
            steps.touches.extend(text.split(',').filter(|id| is_switch_id(id)).map(|id| id.trim().to_owned()));
        }
        Value::String(text) if matches!(domain_of(text), "script" | "scene") => steps.starts.push(text.clone()),
        Value::String(text) if text.contains("{{") && (text.contains("script.") || text.contains("scene.")) => {
            steps.opens = true;
        }
        _ => {}
    }
}

/// Whether a target is an area, a device or a label, or is only known when it runs.
fn is_wide(target: &Value) -> bool {
    match target {
        Value::String(text) => text.contains("{{") || text.contains("{%"),
        Value::Array(all) => all.iter().any(is_wide),
        Value::Object(all) => {
            WIDE.iter().any(|key| all.contains_key(*key)) || all.get("entity_id").is_some_and(is_wide)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attributes;
    use serde_json::json;

    fn entity(id: &str, attributes: Value) -> Entity {
        let attributes: Attributes = serde_json::from_value(attributes).unwrap();
        Entity { id: id.into(), state: "closed".into(), attributes, changed: 0.0, updated: 0.0 }
    }

    #[test]
    fn doors_are_guarded_and_blinds_are_not() {
        for (id, attributes, guarded) in [
            ("lock.a", json!({}), true),
            ("alarm_control_panel.a", json!({}), true),
            ("valve.gas", json!({}), true),
            ("cover.a", json!({"device_class": "garage"}), true),
            ("cover.a", json!({"device_class": "gate"}), true),
            ("cover.door_blind", json!({"device_class": "blind"}), false),
            ("cover.a", json!({}), false),
            ("cover.garage", json!({}), true),
            ("cover.a", json!({"friendly_name": "Front Gate"}), true),
            ("light.garage", json!({}), false),
            ("switch.garage_socket", json!({}), false),
            ("switch.relay_1", json!({"friendly_name": "Garage door opener"}), true),
            ("button.front_door_unlock", json!({}), true),
            ("button.hoftor", json!({}), true),
            ("switch.relay_2", json!({"friendly_name": "Gas valve"}), true),
            ("switch.washer_child_lock", json!({}), false),
            ("switch.garage_lights", json!({}), false),
        ] {
            assert_eq!(is_guarded(&entity(id, attributes.clone())), guarded, "{id} {attributes}");
        }
    }

    #[test]
    fn the_steps_of_scripts_are_read() {
        for (config, opens, starts) in [
            (json!({"sequence": [{"action": "light.turn_on"}]}), false, vec![]),
            (json!({"sequence": [{"service": "lock.unlock"}]}), true, vec![]),
            (json!({"sequence": [{"choose": [{"sequence": [{"action": "cover.open_cover"}]}]}]}), true, vec![]),
            (json!({"sequence": [{"action": "cover.close_cover"}]}), false, vec![]),
            (json!({"sequence": [{"action": "switch.turn_on"}, {"action": "scene.apply"}]}), true, vec![]),
            (json!({"sequence": [{"action": "switch.turn_on"}]}), false, vec![]),
            (json!({"sequence": [{"action": "shell_command.open_gate"}]}), true, vec![]),
            (json!({"sequence": [{"action": "mqtt.publish", "data": {"topic": "lock/set"}}]}), true, vec![]),
            (json!({"sequence": [{"event": "open_the_gate"}]}), true, vec![]),
            (json!({"sequence": [{"wait_for_trigger": [{"trigger": "sun", "event": "sunset"}]}]}), false, vec![]),
            (
                json!({"sequence": [{"device_id": "x", "domain": "cover", "type": "set_position", "position": 100}]}),
                true,
                vec![],
            ),
            (json!({"sequence": [{"device_id": "x", "domain": "cover", "type": "close"}]}), false, vec![]),
            (json!({"sequence": [{"action": "alarm_control_panel.alarm_disarm"}]}), true, vec![]),
            (json!({"sequence": [{"device_id": "x", "domain": "lock", "type": "unlock"}]}), true, vec![]),
            (json!({"sequence": [{"action": "{{ what }}"}]}), true, vec![]),
            (json!({"sequence": [{"action": "script.other"}]}), false, vec!["script.other"]),
            (
                json!({"sequence": [{"action": "script.turn_on", "target": {"entity_id": "script.b"}}]}),
                false,
                vec!["script.b"],
            ),
            (json!({"sequence": [{"scene": "scene.c"}]}), false, vec!["scene.c"]),
            (
                json!({"sequence": [{"action": "homeassistant.turn_on", "target": {"entity_id": "lock.a"}}]}),
                true,
                vec![],
            ),
            (json!({"sequence": [{"action": "conversation.process", "data": {"text": "unlock"}}]}), true, vec![]),
        ] {
            let steps = of_script(&config);
            assert!(steps.touches.is_empty(), "{config}");
            assert_eq!(
                (steps.opens, steps.starts),
                (opens, starts.into_iter().map(str::to_owned).collect()),
                "{config}"
            );
        }
    }

    #[test]
    fn the_buttons_that_a_script_presses_are_read() {
        for (config, touches, wide) in [
            (
                json!({"action": "button.press", "target": {"entity_id": "button.front_door_unlock"}}),
                &["button.front_door_unlock"][..],
                false,
            ),
            (json!({"service": "switch.turn_on", "entity_id": "switch.a, switch.b"}), &["switch.a", "switch.b"], false),
            (json!({"action": "switch.turn_on", "target": {"area_id": "garage"}}), &[], true),
            (json!({"action": "switch.turn_on", "data": {"entity_id": "{{ which }}"}}), &[], true),
            (json!({"action": "light.turn_on", "target": {"area_id": "garage"}}), &[], false),
            (json!({"action": "switch.turn_off", "target": {"area_id": "garage"}}), &[], false),
            (json!({"device_id": "x", "domain": "switch", "type": "toggle"}), &[], true),
            (json!({"condition": "device", "domain": "cover", "type": "is_open"}), &[], false),
        ] {
            let steps = of_script(&json!({"sequence": [config.clone()]}));
            assert_eq!(
                (steps.touches, steps.wide),
                (touches.iter().map(|t| (*t).to_owned()).collect(), wide),
                "{config}"
            );
            assert!(!steps.opens, "{config}");
        }
    }
}
