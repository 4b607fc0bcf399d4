//! The announcement of this Hob in Home Assistant's format for whole devices.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use things::{Kind, Thing, Verb};
use tools_home::mqtt::{MqttSettings, object_id};

/// What is announced.
pub(super) struct Announcement<'a> {
    pub pins: &'a [Thing],
    pub rules: &'a [Rule],
    pub name: &'a str,
    pub version: &'a str,
    pub device: tool::Id,
}

/// A rule of the household.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub id: String,
    pub name: String,
    pub enabled: bool,
}

/// A reading of the device.
pub(super) struct Reading {
    pub id: &'static str,
    name: &'static str,
    unit: &'static str,
    class: Option<&'static str>,
    /// The number in the state of the device.
    pub read: fn(&board::State) -> Option<f64>,
}

pub(super) const READINGS: [Reading; 3] = [
    Reading {
        id: "cpu_temperature",
        name: "CPU temperature",
        unit: "°C",
        class: Some("temperature"),
        read: |state| state.temperature,
    },
    Reading {
        id: "memory_available",
        name: "Memory available",
        unit: "MB",
        class: Some("data_size"),
        read: |state| Some(state.memory.available as f64 * 1e-6),
    },
    Reading {
        id: "disk_free",
        name: "Disk free",
        unit: "GB",
        class: Some("data_size"),
        read: |state| state.disk.as_ref().map(|disk| disk.free as f64 * 1e-9),
    },
];

/// Whether a pin obeys messages: it is switched, and opens nothing.
pub(super) fn obeys(pin: &Thing) -> bool {
    !pin.guarded
        && matches!(pin.kind, Kind::Light | Kind::Switch | Kind::Fan)
        && pin.verbs.contains(&Verb::TurnOn)
        && pin.verbs.contains(&Verb::TurnOff)
}

/// The longest announcement: a message has 64 KB at most. Rules that find no place are not announced.
const LONGEST: usize = 60 * 1024;
/// How a run of a rule ends; see `rule:fired`.
const OUTCOMES: [&str; 5] = ["ok", "failed", "interrupted", "restarted", "stopped"];

/// The announcement. Its entities have ids that stay when the device or a pin gets another name.
pub(super) fn announcement(all: &Announcement, settings: &MqttSettings) -> Value {
    let (id, base) = (object_id(all.device), &settings.config.base);
    let mut components = Map::new();
    let mut add = |key: String, platform: &str, mut component: Value| {
        component["p"] = platform.into();
        component["uniq_id"] = format!("{id}_{key}").into();
        components.insert(key, component);
    };
    for pin in all.pins {
        let n = &pin.address.key;
        let state = format!("{base}/pin/{n}/state");
        let obeys = settings.control && obeys(pin);
        let named = json!({"name": pin.name, "stat_t": state});
        match pin.kind {
            Kind::Light | Kind::Switch | Kind::Fan if obeys => {
                let platform = match pin.kind {
                    Kind::Light => "light",
                    Kind::Fan => "fan",
                    _ => "switch",
                };
                let mut component = named;
                component["cmd_t"] = format!("{base}/pin/{n}/set").into();
                add(format!("pin_{n}"), platform, component);
            }
            // What does not obey is only seen.
            _ => add(format!("pin_{n}"), "binary_sensor", named),
        }
        if pin.kind == Kind::Contact {
            let press = json!({"name": format!("{} pressed", pin.name), "stat_t": format!("{base}/pin/{n}/press"),
                               "evt_typ": ["short", "long", "double"]});
            add(format!("press_{n}"), "event", press);
        }
    }
    for reading in &READINGS {
        let mut component = json!({"name": reading.name, "stat_t": format!("{base}/sensor/{}", reading.id),
                                   "unit_of_meas": reading.unit, "stat_cla": "measurement", "ent_cat": "diagnostic"});
        if let Some(class) = reading.class {
            component["dev_cla"] = class.into();
        }
        add(reading.id.to_owned(), "sensor", component);
    }
    let fired = json!({"name": "Rule fired", "stat_t": format!("{base}/rule/fired"), "evt_typ": OUTCOMES});
    add("rule_fired".to_owned(), "event", fired);
    add(
        "update".to_owned(),
        "update",
        json!({"name": "Update", "stat_t": format!("{base}/update"), "ent_cat": "diagnostic"}),
    );
    let mut left = LONGEST.saturating_sub(Value::Object(components.clone()).to_string().len());
    for (at, rule) in all.rules.iter().enumerate().filter(|_| settings.control) {
        let two = rule_components(rule, &id, base);
        let size: usize = two.iter().map(|(key, component)| key.len() + component.to_string().len() + 4).sum();
        let Some(rest) = left.checked_sub(size) else {
            tracing::warn!(announced = at, rules = all.rules.len(), "not all rules find a place in Home Assistant");
            break;
        };
        left = rest;
        components.extend(two);
    }
    json!({
        "dev": {"ids": [id], "name": all.name, "mf": "Hob", "mdl": "Hob", "sw": all.version},
        "o": {"name": "Hob", "sw": all.version},
        "avty_t": settings.config.status_topic(),
        "cmps": components,
    })
}

/// A button that runs a rule, and a switch that arms it.
fn rule_components(rule: &Rule, id: &str, base: &str) -> [(String, Value); 2] {
    let (at, key) = (format!("{base}/rule/{}", rule.id), format!("rule_{}", rule.id));
    let run_key = format!("{key}_run");
    let run = json!({"p": "button", "uniq_id": format!("{id}_{run_key}"), "name": format!("Run {}", rule.name),
                     "cmd_t": format!("{at}/run")});
    let armed = json!({"p": "switch", "uniq_id": format!("{id}_{key}"), "name": rule.name, "ent_cat": "config",
                       "stat_t": format!("{at}/state"), "cmd_t": format!("{at}/set")});
    [(run_key, run), (key, armed)]
}

/// The components of an announcement with their platforms.
pub(super) fn components(config: &Value) -> BTreeMap<String, String> {
    let all = config["cmps"].as_object().into_iter().flatten();
    all.filter_map(|(key, component)| Some((key.clone(), component["p"].as_str()?.to_owned()))).collect()
}

/// The rules in the result of `list_rules`.
pub(super) fn rules(content: &Value, most: usize) -> Vec<Rule> {
    let list = content.as_array().or_else(|| content["rules"].as_array());
    let read = |rule: &Value| {
        let id = rule["id"].as_str().filter(|id| ::mqtt::is_topic(id) && !id.contains('/'))?.to_owned();
        let name = rule["name"].as_str().unwrap_or(&id).to_owned();
        Some(Rule { id, name, enabled: rule["enabled"].as_bool().unwrap_or_default() })
    };
    list.into_iter().flatten().filter_map(read).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use things::{Address, State};
    use tools_home::mqtt::MqttSettings;

    fn settings(control: bool) -> MqttSettings {
        MqttSettings {
            config: ::mqtt::Config {
                host: "b".into(),
                port: 1883,
                username: None,
                password: None,
                tls: ::mqtt::Tls::Off,
                client_id: "hob-1".into(),
                base: "hob/kitchen".into(),
            },
            discovery: "homeassistant".into(),
            announce: true,
            control,
            adopt: true,
            private_rules: false,
            allowed: vec![],
            guarded: vec![],
        }
    }
    fn pin(n: u8, name: &str, kind: Kind, guarded: bool) -> Thing {
        let verbs = if kind == Kind::Contact { vec![] } else { vec![Verb::TurnOn, Verb::TurnOff, Verb::Toggle] };
        let (name, area) = (name.to_owned(), String::new());
        Thing {
            address: Address::new("pin", n),
            name,
            aliases: vec![],
            area,
            kind,
            verbs,
            state: State::default(),
            guarded,
            class: String::new(),
        }
    }

    #[test]
    fn pins_rules_and_readings_are_announced() {
        let pins = [
            pin(17, "Hall lamp", Kind::Light, false),
            pin(4, "Door", Kind::Contact, false),
            pin(22, "Gate", Kind::Switch, true),
        ];
        let rules = [Rule { id: "01X".into(), name: "Evening".into(), enabled: true }];
        let device = tool::Id::from_bytes([7; 16]);
        let all = Announcement { pins: &pins, rules: &rules, name: "Kitchen", version: "1.2.3", device };
        let made = announcement(&all, &settings(true));
        let lamp = &made["cmps"]["pin_17"];
        let id = object_id(device);
        assert_eq!(lamp["uniq_id"], format!("{id}_pin_17"));
        assert_eq!((&lamp["p"], &lamp["cmd_t"]), (&json!("light"), &json!("hob/kitchen/pin/17/set")));
        let platforms = components(&made);
        let has: Vec<_> = platforms.iter().map(|(k, p)| (k.as_str(), p.as_str())).collect();
        assert_eq!(
            has,
            [
                ("cpu_temperature", "sensor"),
                ("disk_free", "sensor"),
                ("memory_available", "sensor"),
                ("pin_17", "light"),
                ("pin_22", "binary_sensor"),
                ("pin_4", "binary_sensor"),
                ("press_4", "event"),
                ("rule_01X", "switch"),
                ("rule_01X_run", "button"),
                ("rule_fired", "event"),
                ("update", "update"),
            ],
            "a guarded pin is only seen"
        );
        let seen = announcement(&all, &settings(false));
        assert!(!seen.to_string().contains("cmd_t"), "without permission nothing is offered: {seen}");
    }

    #[test]
    fn rules_that_find_no_place_are_left_out() {
        let rules: Vec<Rule> =
            (0..200).map(|n| Rule { id: format!("{n:026}"), name: "long name ".repeat(20), enabled: true }).collect();
        let device = tool::Id::from_bytes([7; 16]);
        let pins = [pin(17, "Hall lamp", Kind::Light, false)];
        let all = Announcement { pins: &pins, rules: &rules, name: "Kitchen", version: "1.2.3", device };
        let made = announcement(&all, &settings(true));
        let platforms = components(&made);
        let buttons = platforms.values().filter(|platform| *platform == "button").count();
        let switches = platforms.values().filter(|platform| *platform == "switch").count();
        assert!((40..200).contains(&buttons) && buttons == switches, "{buttons} {switches}");
        assert!(made.to_string().len() <= ::mqtt::MAX_PAYLOAD, "it can be published");
        assert!(platforms.contains_key("pin_17") && platforms.contains_key("update"));
    }

    #[test]
    fn rules_are_read_with_care() {
        let list =
            json!({"rules": [{"id": "a", "name": "A", "enabled": true}, {"id": "b/+"}, 7, {"name": "x"}, {"id": "c"}]});
        let read: Vec<_> = rules(&list, 9).into_iter().map(|r| (r.id, r.name, r.enabled)).collect();
        assert_eq!(read, [("a".into(), "A".into(), true), ("c".into(), "c".to_owned(), false)]);
        assert!(rules(&json!("x"), 9).is_empty() && rules(&list, 1).len() == 1);
    }
}
