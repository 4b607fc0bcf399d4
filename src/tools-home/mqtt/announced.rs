//! Devices that announce themselves in Home Assistant's discovery format: Tasmota, ESPHome, Zigbee2MQTT and others.
//!
//! One component (`homeassistant/light/NODE/OBJECT/config`), or a whole device (`homeassistant/device/OBJECT/config`). Everything in
//! it comes from outside: names are cut, topics are checked, and what is not understood is left out.

use super::{
    entity::{Entity, Input, LevelTopic, Part, short},
    template::{NumberTemplate, Template},
};
use mqtt::{is_topic, topic_word};
use serde_json::{Map, Value};
use things::Kind;

/// The most components of one device.
const COMPONENTS: usize = 100;
/// The most modes of a thermostat.
const MODES: usize = 12;

/// Abbreviations of the keys that are read.
const SHORT: &[(&str, &str)] = &[
    ("avty", "availability"),
    ("avty_t", "availability_topic"),
    ("avty_tpl", "availability_template"),
    ("bri_cmd_t", "brightness_command_topic"),
    ("bri_cmd_tpl", "brightness_command_template"),
    ("bri_scl", "brightness_scale"),
    ("bri_stat_t", "brightness_state_topic"),
    ("bri_val_tpl", "brightness_value_template"),
    ("cmd_t", "command_topic"),
    ("cmps", "components"),
    ("curr_temp_t", "current_temperature_topic"),
    ("curr_temp_tpl", "current_temperature_template"),
    ("dev", "device"),
    ("dev_cla", "device_class"),
    ("mode_cmd_t", "mode_command_topic"),
    ("mode_stat_t", "mode_state_topic"),
    ("mode_stat_tpl", "mode_state_template"),
    ("o", "origin"),
    ("p", "platform"),
    ("pct_cmd_t", "percentage_command_topic"),
    ("pct_cmd_tpl", "percentage_command_template"),
    ("pct_stat_t", "percentage_state_topic"),
    ("pct_val_tpl", "percentage_value_template"),
    ("pl_avail", "payload_available"),
    ("pl_cls", "payload_close"),
    ("pl_lock", "payload_lock"),
    ("pl_not_avail", "payload_not_available"),
    ("pl_off", "payload_off"),
    ("pl_on", "payload_on"),
    ("pl_open", "payload_open"),
    ("pl_prs", "payload_press"),
    ("pl_stop", "payload_stop"),
    ("pl_unlk", "payload_unlock"),
    ("pos_clsd", "position_closed"),
    ("pos_open", "position_open"),
    ("pos_t", "position_topic"),
    ("pos_tpl", "position_template"),
    ("ret", "retain"),
    ("schema", "schema"),
    ("set_pos_t", "set_position_topic"),
    ("set_pos_tpl", "set_position_template"),
    ("stat_clsd", "state_closed"),
    ("stat_closing", "state_closing"),
    ("stat_locked", "state_locked"),
    ("stat_off", "state_off"),
    ("stat_on", "state_on"),
    ("stat_open", "state_open"),
    ("stat_opening", "state_opening"),
    ("stat_stopped", "state_stopped"),
    ("stat_t", "state_topic"),
    ("stat_unlocked", "state_unlocked"),
    ("stat_val_tpl", "state_value_template"),
    ("t", "topic"),
    ("temp_cmd_t", "temperature_command_topic"),
    ("temp_stat_t", "temperature_state_topic"),
    ("temp_stat_tpl", "temperature_state_template"),
    ("temp_unit", "temperature_unit"),
    ("uniq_id", "unique_id"),
    ("unit_of_meas", "unit_of_measurement"),
    ("val_tpl", "value_template"),
    ("sa", "suggested_area"),
];

/// The things that a config message announces, under the topic below the discovery prefix; `None` for a topic that announces
/// nothing. An empty payload announces that they are gone: an empty list.
pub(crate) fn read(rest: &str, payload: &str) -> Option<Vec<Entity>> {
    let levels: Vec<&str> = rest.strip_suffix("/config")?.split('/').collect();
    let (component, id) = match levels[..] {
        [component, object] => (component, object.to_owned()),
        [component, node, object] => (component, format!("{node}_{object}")),
        _ => return None,
    };
    if payload.trim().is_empty() {
        return Some(vec![]);
    }
    let Ok(Value::Object(config)) = serde_json::from_str(payload) else { return Some(vec![]) };
    let config = expanded(config);
    let device = config.get("device").and_then(Value::as_object).cloned().map(expanded).unwrap_or_default();
    if component != "device" {
        return Some(entity(component, &id, &config, &device).into_iter().collect());
    }
    let Some(components) = config.get("components").and_then(Value::as_object) else { return Some(vec![]) };
    let shared = [
        "availability",
        "availability_topic",
        "availability_template",
        "payload_available",
        "~",
        "payload_not_available",
        "state_topic",
        "command_topic",
    ];
    let is_hob = config.get("origin").and_then(|origin| origin.get("name")).and_then(Value::as_str) == Some("Hob");
    let hob = Reader(&device).text("name").filter(|_| is_hob);
    let all = components.iter().take(COMPONENTS).filter_map(|(name, own)| {
        let mut own = expanded(own.as_object()?.clone());
        for key in shared {
            if let (None, Some(value)) = (own.get(key), config.get(key)) {
                own.insert(key.to_owned(), value.clone());
            }
        }
        let platform = own.get("platform")?.as_str()?.to_owned();
        entity(&platform, &format!("{id}_{name}"), &own, &device).map(|made| Entity { hob: hob.clone(), ..made })
    });
    Some(all.collect())
}

/// Full names in place of abbreviations, also within lists.
fn expanded(map: Map<String, Value>) -> Map<String, Value> {
    let full = |key: String| match SHORT.iter().find(|(short, _)| *short == key) {
        Some((_, full)) => (*full).to_owned(),
        None => key,
    };
    let inner = |value: Value| match value {
        Value::Array(all) => {
            let all =
                all.into_iter().map(|v| if let Value::Object(map) = v { Value::Object(expanded(map)) } else { v });
            Value::Array(all.collect())
        }
        other => other,
    };
    map.into_iter().map(|(key, value)| (full(key), inner(value))).collect()
}

struct Reader<'a>(&'a Map<String, Value>);

impl Reader<'_> {
    /// A payload or word: Jinja and JSON write booleans and numbers each in their way.
    fn word(&self, key: &str, usual: &str) -> String {
        match self.0.get(key) {
            Some(Value::String(text)) => text.chars().take(200).collect(),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
            _ => usual.to_owned(),
        }
    }
    fn topic(&self, key: &str) -> Option<String> {
        let text = self.0.get(key)?.as_str()?;
        let base = self.0.get("~").and_then(Value::as_str).unwrap_or_default();
        let topic = match (text.strip_prefix('~'), text.strip_suffix('~')) {
            (Some(rest), _) => format!("{base}{rest}"),
            (None, Some(rest)) => format!("{rest}{base}"),
            (None, None) => text.to_owned(),
        };
        is_topic(&topic).then_some(topic)
    }
    fn template(&self, key: &str) -> Template {
        self.0.get(key).and_then(Value::as_str).map_or(Template::Whole, Template::jinja)
    }
    fn number(&self, key: &str, usual: f64) -> f64 {
        self.0.get(key).and_then(Value::as_f64).filter(|n| *n >= 1.0 && *n <= 65_535.0).unwrap_or(usual)
    }
    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(short).filter(|text| !text.is_empty())
    }
    fn input(&self, topic: &str, template: &str, part: Part) -> Option<Input> {
        Some(Input { topic: self.topic(topic)?, template: self.template(template), part })
    }
}

fn entity(component: &str, id: &str, config: &Map<String, Value>, device: &Map<String, Value>) -> Option<Entity> {
    let kind = match component {
        "light" => Kind::Light,
        "switch" => Kind::Switch,
        "fan" => Kind::Fan,
        "cover" => Kind::Cover,
        "lock" => Kind::Lock,
        "climate" => Kind::Climate,
        "sensor" => Kind::Sensor,
        "binary_sensor" => Kind::Contact,
        "button" | "scene" => Kind::Scene,
        _ => return None,
    };
    let it = Reader(config);
    let key = topic_word(&it.word("unique_id", id));
    let class = it.word("device_class", "");
    let of_device = Reader(device).text("name");
    let name = match (it.text("name"), &of_device) {
        (Some(own), Some(device)) if !own.to_lowercase().starts_with(&device.to_lowercase()) => {
            format!("{device} {own}")
        }
        (Some(own), _) => own,
        (None, Some(device)) if kind == Kind::Sensor && !class.is_empty() => format!("{device} {}", short(&class)),
        (None, Some(device)) => device.clone(),
        (None, None) => short(id),
    };
    let mut made = Entity::new(&key, &name, kind);
    made.area = Reader(device).text("suggested_area").unwrap_or_default();
    made.retain = config.get("retain").and_then(Value::as_bool).unwrap_or_default();
    made.command = it.topic("command_topic");
    made.json = config.get("schema").and_then(Value::as_str) == Some("json");
    made.opens = ["door", "garage_door", "window", "opening"].contains(&class.as_str());
    made.guarded |= is_guarded(kind, &class, &made.name);
    made.class = class;
    made.unit = it.text("unit_of_measurement");
    words(&mut made, &it);
    let (mut inputs, mut state) = (vec![], None);
    let values = if kind == Kind::Light && config.contains_key("state_value_template") {
        "state_value_template"
    } else {
        "value_template"
    };
    match kind {
        Kind::Climate => climate(&mut made, &it, &mut inputs),
        Kind::Light if made.json => {
            let topic = it.topic("state_topic");
            let json = |path: &str, part| {
                topic.clone().map(|topic| Input { topic, template: Template::path(path).unwrap_or_default(), part })
            };
            inputs.push(json("state", Part::State));
            if config.get("brightness").and_then(Value::as_bool) == Some(true)
                || config.contains_key("supported_color_modes")
            {
                inputs.push(json("brightness", Part::Level));
                let max = it.number("brightness_scale", 255.0);
                made.level = made.command.clone().map(|topic| LevelTopic::plain(topic, max));
            }
        }
        // Its position says what a template that is not understood would.
        Kind::Cover if it.template(values) == Template::Unknown => {}
        // After the position: a cover that was stopped is where that is.
        Kind::Cover => state = it.input("state_topic", values, Part::State),
        _ => inputs.push(it.input("state_topic", values, Part::State)),
    }
    let level = match kind {
        Kind::Light if !made.json => Some(("brightness", "value_template", it.number("brightness_scale", 255.0))),
        Kind::Fan => Some(("percentage", "value_template", it.number("speed_range_max", 100.0))),
        // With 0 for open, "0 %" would open what it is to close.
        Kind::Cover if is_inverted(config) => None,
        Kind::Cover => Some(("position", "template", it.number("position_open", 100.0))),
        _ => None,
    };
    if let Some((name, template, max)) = level {
        let [reads, commands, sends] = match name {
            "position" => ["position_topic", "set_position_topic", "set_position_template"].map(str::to_owned),
            name => ["state_topic", "command_topic", "command_template"].map(|end| format!("{name}_{end}")),
        };
        let mut value = format!("{name}_{template}");
        // Zigbee2MQTT before 1.17.
        if kind == Kind::Cover && state.is_none() && !config.contains_key(&value) {
            value = "value_template".into();
        }
        inputs.push(it.input(&reads, &value, Part::Level));
        let template = config.get(&sends).map(|template| template.as_str().and_then(NumberTemplate::jinja));
        made.level = match template {
            // A template that is not understood: it takes no plain number either.
            Some(None) => None,
            template => it.topic(&commands).map(|topic| LevelTopic { topic, max, template: template.flatten() }),
        };
    }
    inputs.push(state);
    inputs.extend(availability(&it));
    made.inputs.extend(inputs.into_iter().flatten());
    // It can neither be read nor commanded.
    let commands = made.command.is_some() || made.level.is_some() || made.target.is_some() || made.mode.is_some();
    let useful = commands || made.inputs.iter().any(|input| input.part != Part::Availability);
    useful.then_some(made)
}

/// Whether opening it lets somebody in: by its class, or by its name where it has none.
fn is_guarded(kind: Kind, class: &str, name: &str) -> bool {
    const DOORS: [&str; 3] = ["door", "garage", "gate"];
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match kind {
        Kind::Cover => DOORS.contains(&class) || class.is_empty() && has(&DOORS),
        Kind::Switch | Kind::Scene => has(&["unlock", "buzzer"]) || has(&["open"]) && (has(&DOORS) || has(&["lock"])),
        _ => false,
    }
}

/// Whether a cover counts its position from open to closed.
fn is_inverted(config: &Map<String, Value>) -> bool {
    let position = |key: &str, usual: f64| config.get(key).and_then(Value::as_f64).unwrap_or(usual);
    position("position_open", 100.0) <= position("position_closed", 0.0)
}

fn words(made: &mut Entity, it: &Reader) {
    let words = &mut made.words;
    let [on, off] = match made.kind {
        Kind::Cover => [("payload_open", "state_open"), ("payload_close", "state_closed")],
        Kind::Lock => [("payload_unlock", "state_unlocked"), ("payload_lock", "state_locked")],
        Kind::Scene => [("payload_press", ""), ("", "")],
        _ => [("payload_on", "state_on"), ("payload_off", "state_off")],
    };
    words.on =
        it.word(on.0, if it.0.contains_key("payload_on") && made.kind == Kind::Scene { "ON" } else { &words.on });
    words.off = it.word(off.0, &words.off);
    // The state of a switch is the word that switches it, unless it reports another.
    let follows = !matches!(made.kind, Kind::Cover | Kind::Lock);
    words.is_on = it.word(on.1, if follows { &words.on } else { &words.is_on });
    words.is_off = it.word(off.1, if follows { &words.off } else { &words.is_off });
    if made.kind == Kind::Cover {
        words.is_opening = it.word("state_opening", &words.is_opening);
        words.is_closing = it.word("state_closing", &words.is_closing);
        words.is_stopped = it.word("state_stopped", &words.is_stopped);
        words.stop = match it.0.get("payload_stop") {
            Some(Value::Null) => None,
            _ => Some(it.word("payload_stop", "STOP")),
        };
    }
    words.online = it.word("payload_available", "online");
    words.offline = it.word("payload_not_available", "offline");
}

fn climate(made: &mut Entity, it: &Reader, inputs: &mut Vec<Option<Input>>) {
    made.command = None;
    inputs.push(it.input("mode_state_topic", "mode_state_template", Part::Mode));
    inputs.push(it.input("current_temperature_topic", "current_temperature_template", Part::Temperature));
    inputs.push(it.input("temperature_state_topic", "temperature_state_template", Part::Target));
    made.target = it.topic("temperature_command_topic");
    let modes = it.0.get("modes").and_then(Value::as_array);
    let modes = modes.map(|all| all.iter().filter_map(Value::as_str).map(short).take(MODES).collect());
    let modes = modes.unwrap_or_else(|| ["auto", "off", "cool", "heat", "dry", "fan_only"].map(str::to_owned).into());
    made.mode = it.topic("mode_command_topic").map(|topic| (topic, modes));
    made.state.unit = Some(if it.word("temperature_unit", "C").starts_with('F') { "°F" } else { "°C" }.to_owned());
}

fn availability(it: &Reader) -> Vec<Option<Input>> {
    let one = it.input("availability_topic", "availability_template", Part::Availability);
    let many = it.0.get("availability").and_then(Value::as_array).into_iter().flatten().take(4).map(|entry| {
        let mut entry = entry.as_object()?.clone();
        if let Some(base) = it.0.get("~") {
            entry.insert("~".to_owned(), base.clone());
        }
        let entry = Reader(&entry);
        entry.input("topic", "value_template", Part::Availability)
    });
    std::iter::once(one).chain(many).collect()
}

#[cfg(test)]
mod tests;
