//! The message that carries out a command.

use super::entity::Entity;
use serde_json::{Value, json};
use things::{Command, Kind, Verb};
use tool::{Error, Result};

/// The topic and payload of a command.
///
/// # Errors
/// `BadArgs` where the thing cannot do that.
pub(crate) fn message(entity: &Entity, command: &Command) -> Result<(String, String)> {
    let cannot = || Error::bad_args(format!("{} cannot do that", entity.name));
    let known = entity.verbs();
    let verb = match (command.verb, entity.state.active) {
        (Verb::Toggle, Some(true)) => Verb::TurnOff,
        (Verb::Toggle, _) => Verb::TurnOn,
        (verb, _) => verb,
    };
    // "Turn on" what opens is not understood here: it could unlock a door by another word.
    if !known.contains(&command.verb) && !known.contains(&verb) {
        return Err(cannot());
    }
    let words = &entity.words;
    let topic = || entity.command.clone().ok_or_else(cannot);
    match verb {
        Verb::TurnOn if command.level.is_some() && entity.level.is_some() => level(entity, command).ok_or_else(cannot),
        Verb::SetLevel => level(entity, command).ok_or_else(cannot),
        Verb::TurnOff if entity.kind == Kind::Climate => match &entity.mode {
            Some((topic, _)) => Ok((topic.clone(), "off".to_owned())),
            None => Err(cannot()),
        },
        Verb::TurnOn | Verb::Open | Verb::Unlock | Verb::Activate => Ok((topic()?, word(entity, &words.on))),
        Verb::TurnOff | Verb::Close | Verb::Lock => Ok((topic()?, word(entity, &words.off))),
        Verb::Stop => Ok((topic()?, words.stop.clone().ok_or_else(cannot)?)),
        Verb::SetTemperature => match (&entity.target, command.temperature) {
            (Some(topic), Some(wanted)) if wanted.is_finite() => Ok((topic.clone(), wanted.to_string())),
            _ => Err(Error::bad_args("say which temperature")),
        },
        Verb::SetMode => match (&entity.mode, &command.text) {
            (Some((topic, modes)), Some(mode)) => match modes.iter().find(|known| known.eq_ignore_ascii_case(mode)) {
                Some(mode) => Ok((topic.clone(), mode.clone())),
                None => Err(Error::bad_args(format!("{} has the modes {}", entity.name, modes.join(", ")))),
            },
            _ => Err(Error::bad_args("say which mode")),
        },
        _ => Err(cannot()),
    }
}

fn word(entity: &Entity, word: &str) -> String {
    if entity.json { json!({"state": word}).to_string() } else { word.to_owned() }
}

fn level(entity: &Entity, command: &Command) -> Option<(String, String)> {
    let target = entity.level.as_ref()?;
    let percent = match (command.level, command.by) {
        (Some(level), _) => i32::from(level),
        (None, Some(by)) => i32::from(entity.state.level.unwrap_or(if by < 0 { 100 } else { 0 })) + i32::from(by),
        (None, None) => return None,
    };
    let percent = percent.clamp(0, 100);
    let scaled = (f64::from(percent) / 100.0 * target.max).round();
    let text = match entity.json {
        true if scaled == 0.0 => json!({"state": entity.words.off}).to_string(),
        true => json!({"state": entity.words.on, "brightness": scaled as i64}).to_string(),
        false => target.payload(percent),
    };
    Some((target.topic.clone(), text))
}

/// Whether a message to this entity opens or unlocks it: everything but the words that close and stop, and a lower position.
pub(crate) fn opens(entity: &Entity, topic: &str, payload: &str) -> bool {
    let commands = [entity.command.as_deref(), entity.level.as_ref().map(|level| level.topic.as_str())];
    // A topic below it may set one of its properties.
    let is_at = |own: &str| topic.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if !entity.guarded || !commands.into_iter().flatten().any(is_at) {
        return false;
    }
    // Beside its state, an object may set other properties, such as a position.
    let json =
        serde_json::from_str::<Value>(payload).ok().filter(|json| json.as_object().is_some_and(|all| all.len() == 1));
    let named = json.and_then(|json| Some(json.get("state")?.as_str()?.to_owned()));
    let said = named.as_deref().unwrap_or(payload).trim();
    let harmless = said == entity.words.off || entity.words.stop.as_deref() == Some(said);
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let closes =
        entity.level.as_ref().filter(|level| level.topic == topic).is_some_and(|level| match &level.template {
            Some(_) => bare(payload) == bare(&level.payload(0)),
            None => said.parse::<f64>() == Ok(0.0),
        });
    !(harmless || closes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mqtt::{announced, entity::Entity};

    fn entity(rest: &str, config: Value) -> Entity {
        announced::read(rest, &config.to_string()).unwrap().remove(0)
    }
    fn zigbee(name: &str, class: &str) -> Value {
        let topic = format!("zigbee2mqtt/{name}");
        json!({"name": name, "device_class": class, "command_topic": format!("{topic}/set"), "position_topic": topic, "state_topic": topic,
            "set_position_topic": format!("{topic}/set"), "set_position_template": r#"{ "position": {{ position }} }"#,
            "position_template": "{{ value_json.position }}", "value_template": "{{ value_json.state }}"})
    }
    fn command(verb: Verb) -> Command {
        Command::new(verb)
    }

    #[test]
    fn commands_become_messages() {
        let plug = entity(
            "switch/a/config",
            json!({"name": "Plug", "cmd_t": "p/set", "stat_t": "p", "pl_on": "1", "pl_off": "0"}),
        );
        let lamp = entity(
            "light/a/config",
            json!({"name": "L", "cmd_t": "l/set", "schema": "json", "brightness": true, "bri_scl": 254}),
        );
        let cover =
            entity("cover/a/config", json!({"name": "C", "cmd_t": "c/set", "set_pos_t": "c/pos", "pos_t": "c"}));
        let blind = entity("cover/b/config", zigbee("B", ""));
        let heat = entity(
            "climate/a/config",
            json!({"name": "H", "modes": ["off", "heat"], "mode_cmd_t": "h/m", "temp_cmd_t": "h/t"}),
        );
        let level = |level| Command { level: Some(level), ..command(Verb::SetLevel) };
        for (entity, command, sent) in [
            (&plug, command(Verb::TurnOn), Some(("p/set", "1"))),
            (&plug, command(Verb::Toggle), Some(("p/set", "1"))),
            (&plug, command(Verb::Unlock), None),
            (&plug, level(30), None),
            (&lamp, command(Verb::TurnOff), Some(("l/set", r#"{"state":"OFF"}"#))),
            (&lamp, level(50), Some(("l/set", r#"{"brightness":127,"state":"ON"}"#))),
            (&lamp, level(0), Some(("l/set", r#"{"state":"OFF"}"#))),
            (
                &lamp,
                Command { level: Some(10), ..command(Verb::TurnOn) },
                Some(("l/set", r#"{"brightness":25,"state":"ON"}"#)),
            ),
            (&cover, command(Verb::Open), Some(("c/set", "OPEN"))),
            (&cover, command(Verb::TurnOn), None),
            (&cover, level(40), Some(("c/pos", "40"))),
            (&cover, Command { by: Some(-30), ..command(Verb::SetLevel) }, Some(("c/pos", "70"))),
            (&blind, level(40), Some(("zigbee2mqtt/B/set", r#"{ "position": 40 }"#))),
            (&blind, level(0), Some(("zigbee2mqtt/B/set", r#"{ "position": 0 }"#))),
            (&blind, command(Verb::Stop), Some(("zigbee2mqtt/B/set", "STOP"))),
            (&blind, command(Verb::Close), Some(("zigbee2mqtt/B/set", "CLOSE"))),
            (&heat, Command { temperature: Some(21.5), ..command(Verb::SetTemperature) }, Some(("h/t", "21.5"))),
            (&heat, Command { text: Some("HEAT".into()), ..command(Verb::SetMode) }, Some(("h/m", "heat"))),
            (&heat, Command { text: Some("eco".into()), ..command(Verb::SetMode) }, None),
            (&heat, command(Verb::TurnOff), Some(("h/m", "off"))),
        ] {
            let made = message(entity, &command);
            assert_eq!(made.as_ref().ok().map(|(t, p)| (t.as_str(), p.as_str())), sent, "{} {command:?}", entity.name);
        }
    }

    #[test]
    fn what_opens_is_known_by_its_payload() {
        let lock = entity("lock/a/config", json!({"name": "Door", "cmd_t": "d/set", "stat_t": "d"}));
        let gate = entity(
            "cover/a/config",
            json!({"name": "Gate", "dev_cla": "gate", "cmd_t": "g/set", "set_pos_t": "g/pos", "pos_t": "g"}),
        );
        let door = entity("cover/d/config", zigbee("D", "garage"));
        let inverted = json!({"name": "Gate", "dev_cla": "gate", "cmd_t": "g/set", "set_pos_t": "g/pos", "pos_t": "g",
            "pos_open": 0, "pos_clsd": 100});
        assert!(entity("cover/b/config", inverted).level.is_none(), "its 0 % would open it");
        for (kind, config, guarded) in [
            ("cover", json!({"name": "Garage", "cmd_t": "x"}), true),
            ("cover", json!({"name": "Garage blind", "dev_cla": "blind", "cmd_t": "x"}), false),
            ("switch", json!({"name": "Gate opener", "cmd_t": "x"}), true),
            ("button", json!({"name": "Unlock front door", "cmd_t": "x"}), true),
            ("switch", json!({"name": "Open sign", "cmd_t": "x"}), false),
        ] {
            assert_eq!(entity(&format!("{kind}/c/config"), config.clone()).guarded, guarded, "{config}");
        }
        for (entity, topic, payload, asks) in [
            (&lock, "d/set", "UNLOCK", true),
            (&lock, "d/set", "LOCK", false),
            (&lock, "d/set", "unlock ", true),
            (&lock, "d/set", r#"{"state":"UNLOCK"}"#, true),
            (&lock, "d/set/state", "UNLOCK", true),
            (&lock, "d/settings", "UNLOCK", false),
            (&lock, "other", "UNLOCK", false),
            (&gate, "g/set", r#"{"state":"CLOSE"}"#, false),
            (&gate, "g/set", r#"{"state":"CLOSE","position":100}"#, true),
            (&gate, "g/set", "OPEN", true),
            (&gate, "g/set", "STOP", false),
            (&gate, "g/pos", "0", false),
            (&gate, "g/pos", "1", true),
            (&door, "zigbee2mqtt/D/set", r#"{"position":0}"#, false),
            (&door, "zigbee2mqtt/D/set", r#"{ "position": 0 }"#, false),
            (&door, "zigbee2mqtt/D/set", r#"{"position":0,"position":100}"#, true),
            (&door, "zigbee2mqtt/D/set", r#"{"position":10}"#, true),
            (&door, "zigbee2mqtt/D/set", "0", true),
            (&door, "zigbee2mqtt/D/set", "CLOSE", false),
            (&door, "zigbee2mqtt/D/set", r#"{"state":"OPEN"}"#, true),
        ] {
            assert_eq!(opens(entity, topic, payload), asks, "{topic} {payload}");
        }
    }
}
