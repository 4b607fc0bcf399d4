//! Which services, scripts and scenes open, unlock or disarm something.

use crate::{Entity, domain_of};
use serde_json::Value;

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
            has(&["unlock", "buzzer"]) || has(&["open"]) && has(&["door", "gate", "garage", "lock"])
        }
        _ => false,
    }
}

/// The steps of a script: whether one opens something, and the scripts and scenes it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    pub opens: bool,
    pub starts: Vec<String>,
}

/// Reads the steps of a script's configuration. A service that is only known when it runs counts as one that opens.
pub(crate) fn of_script(config: &Value) -> Steps {
    let mut steps = Steps::default();
    walk(config, &mut steps, 0);
    steps
}

fn walk(value: &Value, steps: &mut Steps, depth: u8) {
    if depth > 60 {
        steps.opens = true;
        return;
    }
    match value {
        Value::Array(all) => all.iter().for_each(|v| walk(v, steps, depth + 1)),
        Value::Object(all) => {
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
                        steps.opens |= name.contains('{') || opens;
                        if domain == "script" && !matches!(service, "turn_on" | "turn_off" | "toggle" | "reload") {
                            steps.starts.push(name.clone());
                        }
                        // Each runs something that is not visible here: an automation, Python code, a sentence.
                        steps.opens |= matches!(domain, "automation" | "python_script" | "pyscript" | "conversation");
                    }
                    // The action of a device.
                    ("type", Value::String(kind)) => {
                        steps.opens |= matches!(kind.as_str(), "unlock" | "open" | "disarm")
                    }
                    _ => walk(value, steps, depth + 1),
                }
            }
        }
        Value::String(text) if matches!(domain_of(text), "script" | "scene") => steps.starts.push(text.clone()),
        Value::String(text) if text.contains("{{") && (text.contains("script.") || text.contains("scene.")) => {
            steps.opens = true;
        }
        _ => {}
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
            assert_eq!(
                (steps.opens, steps.starts),
                (opens, starts.into_iter().map(str::to_owned).collect()),
                "{config}"
            );
        }
    }
}
