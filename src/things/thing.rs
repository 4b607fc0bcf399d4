//! A thing and its state.

use crate::Verb;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use tool::prelude::{JsonSchema, schemars};

/// What a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A lamp, dimmable or not.
    Light,
    /// A socket, relay, pump or heater that is on or off.
    Switch,
    /// A fan.
    Fan,
    /// A blind, curtain, garage door or gate.
    Cover,
    /// A thermostat, air conditioner or radiator valve.
    Climate,
    /// A speaker, television or player.
    Media,
    /// A door lock.
    Lock,
    /// An alarm panel or siren.
    Alarm,
    /// A vacuum cleaner or lawn mower.
    Vacuum,
    /// Something that is measured: temperature, power.
    Sensor,
    /// Something that is open or closed, on or off, and only read: a door contact, a motion detector.
    Contact,
    /// A button, scene or script: it is only triggered.
    Scene,
}

/// Where a thing lives, such as `pin:17`, `ha:light.hall` or `mqtt:plug`: the id of its source, and its key there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The id of its source.
    pub source: String,
    /// Its key within the source.
    pub key: String,
}

impl Address {
    /// The address of `key` in a source.
    pub fn new(source: &str, key: impl fmt::Display) -> Self {
        Self { source: source.to_owned(), key: key.to_string() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.key)
    }
}

impl FromStr for Address {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some((source, key)) if !source.is_empty() && !key.is_empty() => Ok(Self::new(source, key)),
            _ => Err(()),
        }
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The state of a thing, as far as it is known. Percentages are 0 to 100, temperatures in the unit of the thing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// In one word: `on`, `off`, `open`, `closing`, `locked`, `playing`, `heat`, `21.5`, `unavailable`.
    pub value: String,
    /// Whether it is on, open, unlocked, playing or running; `None` where that says nothing.
    pub active: Option<bool>,
    /// The number that a sensor reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// The unit of the number, or of temperatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Brightness, position, speed or volume in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// The temperature that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The temperature that is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// What is played, the mode, or another detail in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A thing of the home.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thing {
    /// Where it lives.
    pub address: Address,
    /// What people call it.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The room or floor; empty where none is known.
    pub area: String,
    /// What it is.
    pub kind: Kind,
    /// What it can be told to do; nothing where it is only read.
    pub verbs: Vec<Verb>,
    /// Its state.
    pub state: State,
    /// Whether telling it to do so would open, unlock or disarm something, so that a person is asked: doors, gates, alarms.
    pub guarded: bool,
    /// The device class of Home Assistant, within the kind: `garage`, `curtain`, `motion`, `valve`; empty where none is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class: String,
}
