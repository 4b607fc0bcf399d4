//! Things that people describe by their topics.

use super::{
    entity::{Entity, Input, LevelTopic, Part, Words, short},
    template::Template,
};
use mqtt::{is_topic, topic_word};
use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, order};
use things::Kind;
use tool::{Error, Result, prelude::*};

const BY_NAME: u8 = 1;
const NAME: usize = 40;

/// A kind of thing, stored by its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoredKind(pub Kind);

const KINDS: &[StoredKind] = &[
    StoredKind(Kind::Switch),
    StoredKind(Kind::Light),
    StoredKind(Kind::Fan),
    StoredKind(Kind::Cover),
    StoredKind(Kind::Lock),
    StoredKind(Kind::Sensor),
    StoredKind(Kind::Contact),
    StoredKind(Kind::Scene),
];

impl Coded for StoredKind {
    const ALL: &'static [Self] = KINDS;
    /// Read only.
    const UNKNOWN: Self = StoredKind(Kind::Sensor);
}

/// A thing at MQTT topics. New fields go last; an empty text means that it was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MqttThing {
    pub name: String,
    #[serde(with = "store::coded")]
    pub kind: StoredKind,
    pub area: String,
    pub command_topic: String,
    pub state_topic: String,
    pub payload_on: String,
    pub payload_off: String,
    pub state_on: String,
    pub state_off: String,
    pub level_topic: String,
    pub level_state_topic: String,
    pub level_max: u32,
    pub value_path: String,
    pub level_path: String,
    pub unit: String,
    pub guarded: bool,
    pub retain: bool,
}

impl Record for MqttThing {
    const NAME: &'static str = "mqtt-things";
    const WORD: &'static str = "MQTT thing";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.name.clone()
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_NAME, order::text(&self.name))]
    }
}

/// Add a thing that is reached through MQTT topics, such as a Tasmota plug or an ESPHome sensor that does not announce itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AddThing {
    /// What people call it, such as Desk lamp.
    #[schemars(length(min = 1, max = 40))]
    name: String,
    /// light, switch, fan, cover, lock, sensor, contact or scene.
    kind: Kind,
    /// The room.
    area: Option<String>,
    /// The topic that takes commands.
    command_topic: Option<String>,
    /// The topic that gives the state.
    state_topic: Option<String>,
    /// The payload that turns on, opens, unlocks or triggers (default ON, OPEN, UNLOCK, PRESS).
    payload_on: Option<String>,
    /// The payload that turns off, closes or locks (default OFF, CLOSE, LOCK).
    payload_off: Option<String>,
    /// The state that means on, open or unlocked, where it is not payloadOn.
    state_on: Option<String>,
    /// The state that means off, closed or locked, where it is not payloadOff.
    state_off: Option<String>,
    /// The topic that takes a brightness, speed or position.
    level_topic: Option<String>,
    /// The topic that gives it.
    level_state_topic: Option<String>,
    /// The number that means 100 % (default 100).
    #[schemars(range(min = 1, max = 65535))]
    level_max: Option<u32>,
    /// The path of the state in a JSON payload, such as `POWER` or `ENERGY.Power`.
    value_path: Option<String>,
    /// The path of the level in a JSON payload.
    level_path: Option<String>,
    /// The unit of a sensor, such as °C.
    unit: Option<String>,
    /// Whether turning it on opens or unlocks something, so that a person is asked.
    guarded: Option<bool>,
    /// Whether commands are retained by the broker.
    retain: Option<bool>,
}

impl AddThing {
    pub fn record(self) -> Result<MqttThing> {
        let text = |text: Option<String>, what: &str, most: usize| -> Result<String> {
            let text = text.unwrap_or_default().trim().to_owned();
            match text.chars().count() > most || text.chars().any(char::is_control) {
                true => Err(Error::bad_args(format!("`{what}` may have {most} characters, without line breaks"))),
                false => Ok(text),
            }
        };
        let topic = |topic: Option<String>, what: &str| {
            let topic = text(topic, what, mqtt::MAX_TOPIC)?;
            match topic.is_empty() || is_topic(&topic) {
                true => Ok(topic),
                false => Err(Error::bad_args(format!(
                    "`{what}` is not a topic: write it as `home/lamp/state`, without + and #"
                ))),
            }
        };
        let path = |path: Option<String>, what: &str| {
            let path = text(path, what, 100)?;
            match Template::path(&path) {
                Some(_) => Ok(path),
                None => {
                    Err(Error::bad_args(format!("`{what}` is not a path: write it as `ENERGY.Power`, or leave it out")))
                }
            }
        };
        let kind = StoredKind(self.kind);
        if !KINDS.contains(&kind) {
            return Err(Error::bad_args(
                "`kind` must be light, switch, fan, cover, lock, sensor, contact or scene; others are added when they announce \
                 themselves",
            ));
        }
        let made = MqttThing {
            name: records::required_text("name", &self.name, NAME)?,
            kind,
            area: text(self.area, "area", 40)?,
            command_topic: topic(self.command_topic, "commandTopic")?,
            state_topic: topic(self.state_topic, "stateTopic")?,
            payload_on: text(self.payload_on, "payloadOn", 200)?,
            payload_off: text(self.payload_off, "payloadOff", 200)?,
            state_on: text(self.state_on, "stateOn", 200)?,
            state_off: text(self.state_off, "stateOff", 200)?,
            level_topic: topic(self.level_topic, "levelTopic")?,
            level_state_topic: topic(self.level_state_topic, "levelStateTopic")?,
            level_max: self.level_max.unwrap_or(100).clamp(1, 65_535),
            value_path: path(self.value_path, "valuePath")?,
            level_path: path(self.level_path, "levelPath")?,
            unit: text(self.unit, "unit", 16)?,
            guarded: self.guarded.unwrap_or_default(),
            retain: self.retain.unwrap_or_default(),
        };
        let read_only = matches!(self.kind, Kind::Sensor | Kind::Contact);
        match (read_only, made.command_topic.is_empty(), made.state_topic.is_empty()) {
            (true, _, true) => Err(Error::bad_args("a sensor needs its `stateTopic`")),
            (true, false, _) => {
                Err(Error::bad_args("a sensor is only read: leave out `commandTopic`, or choose another kind"))
            }
            (false, true, _) => Err(Error::bad_args("it needs the `commandTopic` that switches it")),
            _ => Ok(made),
        }
    }
}

impl MqttThing {
    /// The key of its address: the same as long as its name.
    pub fn key(&self) -> String {
        format!("own-{}", topic_word(&self.name))
    }

    pub fn entity(&self) -> Entity {
        let kind = self.kind.0;
        let mut made = Entity::new(&self.key(), &self.name, kind);
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        made.area.clone_from(&self.area);
        made.guarded |= self.guarded;
        made.retain = self.retain;
        made.unit = given(&self.unit).map(|unit| short(&unit));
        made.command = given(&self.command_topic);
        let usual = Words::of(kind);
        let follows = !matches!(kind, Kind::Cover | Kind::Lock);
        made.words.on = given(&self.payload_on).unwrap_or(usual.on);
        made.words.off = given(&self.payload_off).unwrap_or(usual.off);
        made.words.is_on = given(&self.state_on).unwrap_or(if follows { made.words.on.clone() } else { usual.is_on });
        made.words.is_off =
            given(&self.state_off).unwrap_or(if follows { made.words.off.clone() } else { usual.is_off });
        let input = |topic: &String, path: &str, part| {
            given(topic).map(|topic| Input { topic, template: Template::path(path).unwrap_or_default(), part })
        };
        made.inputs.extend(input(&self.state_topic, &self.value_path, Part::State));
        made.inputs.extend(input(&self.level_state_topic, &self.level_path, Part::Level));
        made.level = given(&self.level_topic).map(|topic| LevelTopic::plain(topic, f64::from(self.level_max.max(1))));
        made
    }
}
