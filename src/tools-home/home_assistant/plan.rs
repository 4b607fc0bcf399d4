//! The service call that carries out a command for an entity.

use home_assistant::{Entity, domain_of};
use serde_json::{Value, json};
use things::{Command, State, Verb};
use tool::{Error, Result};

/// Colours by name that Home Assistant knows too are passed on; `#rrggbb` becomes numbers.
fn color(text: &str) -> Value {
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii());
    let part = |at: usize| hex.and_then(|hex| u8::from_str_radix(&hex[at..at + 2], 16).ok());
    match (part(0), part(2), part(4)) {
        (Some(r), Some(g), Some(b)) => json!({"rgb_color": [r, g, b]}),
        _ => json!({"color_name": text.to_lowercase().replace(' ', "")}),
    }
}

/// Plans a call: domain, service and data.
pub(super) fn service_for(entity: &Entity, state: &State, command: &Command) -> Result<(String, String, Value)> {
    use Verb::*;
    let domain = domain_of(&entity.id);
    let name = entity.name();
    let cannot = || Error::bad_args(format!("{name} (`{}`) cannot do that", entity.id));
    let needs = |what: &str| Error::bad_args(format!("{name} needs {what}"));
    let level = || -> Result<u8> {
        match (command.level, command.by, state.level) {
            (Some(level), ..) => Ok(level.min(100)),
            (None, Some(by), Some(now)) => Ok((i16::from(now) + i16::from(by)).clamp(0, 100) as u8),
            (None, Some(_), None) => Err(needs("a level: the one it has now is not known")),
            (None, None, _) => Err(needs("a level from 0 to 100")),
        }
    };
    let text = || command.text.as_deref().map(str::trim).filter(|t| !t.is_empty()).ok_or_else(|| needs("a text"));
    let none = json!({});
    let (service, data) = match (domain, command.verb) {
        ("light", TurnOn) => match command.level {
            Some(level) => ("turn_on", json!({"brightness_pct": level.min(100)})),
            None => ("turn_on", none),
        },
        ("light", SetLevel) => match (command.level, command.by) {
            (None, Some(by)) => ("turn_on", json!({"brightness_step_pct": by})),
            _ => ("turn_on", json!({"brightness_pct": level()?})),
        },
        ("light", SetColor) => ("turn_on", color(text()?)),
        ("fan", TurnOn) if command.level.is_some() => ("turn_on", json!({"percentage": level()?})),
        ("fan", SetLevel) => ("set_percentage", json!({"percentage": level()?})),
        ("fan", SetMode) => ("set_preset_mode", json!({"preset_mode": text()?})),
        ("humidifier", SetLevel) => ("set_humidity", json!({"humidity": level()?})),
        ("humidifier", SetMode) => ("set_mode", json!({"mode": text()?})),
        ("cover", Open) => ("open_cover", none),
        ("cover", Close) => ("close_cover", none),
        ("cover", Stop) => ("stop_cover", none),
        ("cover", SetLevel) => ("set_cover_position", json!({"position": level()?})),
        ("valve", Open) => ("open_valve", none),
        ("valve", Close) => ("close_valve", none),
        ("valve", Stop) => ("stop_valve", none),
        ("valve", SetLevel) => ("set_valve_position", json!({"position": level()?})),
        ("climate" | "water_heater", SetTemperature) => {
            let temperature = match (command.temperature, command.by, state.target) {
                (Some(temperature), ..) => temperature,
                (None, Some(by), Some(now)) => now + f64::from(by),
                _ => return Err(needs("a temperature")),
            };
            ("set_temperature", json!({"temperature": temperature}))
        }
        ("climate", SetMode) => {
            let mode = text()?.to_lowercase().replace(' ', "_");
            let has = |list: &str| entity.attributes.list(list).any(|m| m == mode);
            match (has("hvac_modes"), has("preset_modes")) {
                (true, _) => ("set_hvac_mode", json!({"hvac_mode": mode})),
                (_, true) => ("set_preset_mode", json!({"preset_mode": mode})),
                _ => {
                    let modes: Vec<_> =
                        ["hvac_modes", "preset_modes"].iter().flat_map(|l| entity.attributes.list(l)).collect();
                    return Err(Error::bad_args(format!("{name} has no mode `{mode}`; it has {}", modes.join(", "))));
                }
            }
        }
        // Older integrations have no bit for turning on and off.
        ("climate", TurnOff) if !entity.supports(128) => ("set_hvac_mode", json!({"hvac_mode": "off"})),
        ("climate", TurnOn) if !entity.supports(256) => ("set_hvac_mode", json!({"hvac_mode": "heat"})),
        ("water_heater", SetMode) => ("set_operation_mode", json!({"operation_mode": text()?})),
        ("media_player", Play) => ("media_play", none),
        ("media_player", Pause) => ("media_pause", none),
        ("media_player", Stop) => ("media_stop", none),
        ("media_player", Next) => ("media_next_track", none),
        ("media_player", Previous) => ("media_previous_track", none),
        ("media_player", SetLevel) => ("volume_set", json!({"volume_level": f64::from(level()?) / 100.0})),
        ("media_player", Mute) => ("volume_mute", json!({"is_volume_muted": command.mute.unwrap_or(true)})),
        ("lock", Lock) => ("lock", none),
        ("lock", Unlock) => ("unlock", none),
        ("lock", Open) => ("open", none),
        ("alarm_control_panel", Disarm) => ("alarm_disarm", none),
        ("alarm_control_panel", Arm) => {
            let modes = [("away", 2), ("home", 1), ("night", 4)];
            let wanted = command.text.as_deref().map(str::to_lowercase);
            let fits =
                |mode: &&(&str, u64)| entity.supports(mode.1) && wanted.as_ref().is_none_or(|w| w.contains(mode.0));
            let (mode, _) = modes.iter().find(fits).ok_or_else(cannot)?;
            return Ok((domain.into(), format!("alarm_arm_{mode}"), none));
        }
        ("vacuum", TurnOn) if entity.supports(8192) => ("start", none),
        ("vacuum", Pause) => ("pause", none),
        ("vacuum", Stop) => ("stop", none),
        ("vacuum", Return) => ("return_to_base", none),
        ("lawn_mower", TurnOn) => ("start_mowing", none),
        ("lawn_mower", Pause) => ("pause", none),
        ("lawn_mower", Return) => ("dock", none),
        ("scene" | "script", Activate) => ("turn_on", none),
        ("button" | "input_button", Activate) => ("press", none),
        ("script", TurnOff) => ("turn_off", none),
        (
            "light" | "switch" | "input_boolean" | "fan" | "humidifier" | "remote" | "siren" | "climate"
            | "water_heater" | "media_player" | "vacuum",
            TurnOn | TurnOff,
        ) => (if command.verb == TurnOn { "turn_on" } else { "turn_off" }, none),
        ("light" | "switch" | "input_boolean" | "fan" | "humidifier", Toggle) => ("toggle", none),
        _ => return Err(cannot()),
    };
    Ok((domain.to_owned(), service.to_owned(), data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home_assistant::{kinds::state_of, tests::entity};

    #[test]
    fn commands_become_service_calls() {
        let by = |verb, by| Command { by: Some(by), ..Command::new(verb) };
        let level = |verb, level| Command { level: Some(level), ..Command::new(verb) };
        let text = |verb, text: &str| Command { text: Some(text.into()), ..Command::new(verb) };
        let warm = Command { temperature: Some(21.5), ..Command::new(Verb::SetTemperature) };
        let climate = json!({"hvac_modes": ["heat", "off"], "preset_modes": ["eco"], "temperature": 20.0, "supported_features": 1});
        for (id, attributes, command, expected) in [
            ("light.a", json!({}), Command::new(Verb::TurnOn), ("turn_on", json!({}))),
            ("light.a", json!({}), level(Verb::TurnOn, 30), ("turn_on", json!({"brightness_pct": 30}))),
            ("light.a", json!({}), by(Verb::SetLevel, -10), ("turn_on", json!({"brightness_step_pct": -10}))),
            ("light.a", json!({}), text(Verb::SetColor, "Dark Red"), ("turn_on", json!({"color_name": "darkred"}))),
            ("light.a", json!({}), text(Verb::SetColor, "#ff8000"), ("turn_on", json!({"rgb_color": [255, 128, 0]}))),
            ("light.a", json!({}), text(Verb::SetColor, "#é€"), ("turn_on", json!({"color_name": "#é€"}))),
            (
                "cover.a",
                json!({"current_position": 70}),
                by(Verb::SetLevel, 50),
                ("set_cover_position", json!({"position": 100})),
            ),
            (
                "media_player.a",
                json!({"volume_level": 0.5}),
                by(Verb::SetLevel, -20),
                ("volume_set", json!({"volume_level": 0.3})),
            ),
            (
                "media_player.a",
                json!({}),
                Command { mute: Some(false), ..Command::new(Verb::Mute) },
                ("volume_mute", json!({"is_volume_muted": false})),
            ),
            ("climate.a", climate.clone(), warm, ("set_temperature", json!({"temperature": 21.5}))),
            (
                "climate.a",
                climate.clone(),
                by(Verb::SetTemperature, -2),
                ("set_temperature", json!({"temperature": 18.0})),
            ),
            (
                "climate.a",
                climate.clone(),
                text(Verb::SetMode, "eco"),
                ("set_preset_mode", json!({"preset_mode": "eco"})),
            ),
            ("climate.a", climate.clone(), Command::new(Verb::TurnOff), ("set_hvac_mode", json!({"hvac_mode": "off"}))),
            (
                "alarm_control_panel.a",
                json!({"supported_features": 3}),
                Command::new(Verb::Arm),
                ("alarm_arm_away", json!({})),
            ),
            (
                "alarm_control_panel.a",
                json!({"supported_features": 3}),
                text(Verb::Arm, "home"),
                ("alarm_arm_home", json!({})),
            ),
            ("vacuum.a", json!({"supported_features": 8192}), Command::new(Verb::TurnOn), ("start", json!({}))),
            ("scene.a", json!({}), Command::new(Verb::Activate), ("turn_on", json!({}))),
            ("button.a", json!({}), Command::new(Verb::Activate), ("press", json!({}))),
        ] {
            let entity = entity(id, "on", attributes);
            let (domain, service, data) = service_for(&entity, &state_of(&entity, ""), &command).unwrap();
            assert_eq!(
                (domain.as_str(), service.as_str(), data),
                (entity.domain(), expected.0, expected.1),
                "{id} {command:?}"
            );
        }
        for (id, attributes, command, says) in [
            ("light.a", json!({}), Command::new(Verb::Open), "cannot do that"),
            ("cover.a", json!({}), by(Verb::SetLevel, 5), "is not known"),
            ("climate.a", climate, text(Verb::SetMode, "party"), "it has heat, off, eco"),
            ("sensor.a", json!({}), Command::new(Verb::TurnOn), "cannot do that"),
            ("climate.a", json!({}), Command::new(Verb::SetTemperature), "needs a temperature"),
        ] {
            let entity = entity(id, "on", attributes);
            let error = service_for(&entity, &state_of(&entity, ""), &command).unwrap_err();
            assert!(matches!(&error, Error::BadArgs(said) if said.contains(says)), "{id}: {error}");
        }
    }
}
