//! How pins are configured: the section `[pins]` of hob.toml, and the settings of one pin.

use crate::{Pin, PinRate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{collections::BTreeMap, fmt, time::Duration};
use tool::prelude::{JsonSchema, schemars};

/// The longest maximum on-time, in seconds: a week.
pub const MAX_ON_SECONDS: u32 = 7 * 24 * 3600;
/// The fastest PWM signal of a pin that is dimmed.
pub const MAX_PWM_HERTZ: u32 = 50_000;
/// The longest debounce and press times, in milliseconds.
pub const MAX_MS: u32 = 10_000;
/// The most characters of the name of a pin or an interlock group.
const NAME: usize = 40;

/// The direction of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It is only read.
    Input,
    /// It is driven.
    Output,
}

/// The internal resistor of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// None.
    Off,
    /// To 3.3 V.
    Up,
    /// To ground.
    Down,
}

/// The state of an output that nobody switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// As it is.
    Keep,
    /// Off.
    Off,
    /// On.
    On,
}

/// The kind of thing connected to a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PinKind {
    /// A lamp.
    Light,
    /// A relay, pump, heater or socket.
    Switch,
    /// A fan.
    Fan,
    /// A garage door, gate or blind: on opens it.
    Cover,
    /// A door lock: on unlocks it.
    Lock,
    /// A siren or alarm: on arms it.
    Alarm,
    /// A door or window contact: on is open.
    Contact,
    /// Another sensor, such as a motion detector.
    Sensor,
    /// A push button.
    Button,
}

impl PinKind {
    /// Whether it is only read.
    pub fn is_input(self) -> bool {
        matches!(self, Self::Contact | Self::Sensor | Self::Button)
    }
    /// The level that opens, unlocks or disarms something; `None` where neither does.
    pub fn opens_at(self) -> Option<bool> {
        match self {
            Self::Cover | Self::Lock => Some(true),
            Self::Alarm => Some(false),
            _ => None,
        }
    }
}

/// The settings of a pin. `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinSettings {
    /// Whether it is read or driven.
    pub direction: Option<Direction>,
    /// The internal resistor.
    pub pull: Option<Pull>,
    /// How long further edges are taken for bounce of the first.
    pub debounce: Option<Duration>,
    /// Whether the pin is on at a low level. `high` then means on.
    pub active_low: bool,
    /// The state at a start.
    pub boot: Option<Rest>,
    /// The state at a stop, crash or update.
    pub fail_safe: Option<Rest>,
    /// The longest time it may be on.
    pub max_on: Option<Duration>,
    /// Of the pins of one interlock group, at most one is on. Empty: no group.
    pub interlock: String,
    /// Whether the others of its group are switched off first, and not the call refused.
    pub interlock_switches: bool,
}

impl PinSettings {
    /// The state at a start: what has a time limit or a fail-safe state is never left on by a restart.
    pub fn rest_at_boot(&self) -> Rest {
        self.boot.unwrap_or_else(|| self.rest_at_stop())
    }
    /// The state at a stop.
    pub fn rest_at_stop(&self) -> Rest {
        self.fail_safe.unwrap_or(if self.max_on.is_some() { Rest::Off } else { Rest::Keep })
    }
}

/// One pin of hob.toml: its number, or a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinEntry {
    /// Its settings as written.
    pub table: PinTable,
    /// Whether only a number was written.
    bare: bool,
}

/// The table of one pin in hob.toml.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinTable {
    /// BCM number.
    pub pin: Pin,
    /// The kind of thing connected to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PinKind>,
    /// Whether it is read or driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The internal resistor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    /// Debounce in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_ms: Option<u32>,
    /// Whether it is on at a low level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_low: Option<bool>,
    /// The state at a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Rest>,
    /// The state at a stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_safe: Option<Rest>,
    /// The longest time on, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_on_seconds: Option<u32>,
    /// The interlock group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interlock: Option<String>,
    /// Whether the others of the group are switched off first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interlock_switches: Option<bool>,
    /// From when a press is long, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_press_ms: Option<u32>,
    /// How soon a second press makes it double, in milliseconds; 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub double_press_ms: Option<u32>,
    /// Whether it is dimmed by PWM, and at how many hertz; 0: it is only on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pwm_hertz: Option<u32>,
}

impl PinTable {
    /// A pin without settings.
    pub fn new(pin: Pin) -> Self {
        Self {
            pin,
            kind: None,
            direction: None,
            pull: None,
            debounce_ms: None,
            active_low: None,
            boot: None,
            fail_safe: None,
            max_on_seconds: None,
            interlock: None,
            interlock_switches: None,
            long_press_ms: None,
            double_press_ms: None,
            pwm_hertz: None,
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// A sentence about the first field that cannot be.
    pub fn check(&self) -> Result<(), String> {
        for (field, value, most) in [
            ("debounce_ms", self.debounce_ms, MAX_MS),
            ("long_press_ms", self.long_press_ms, MAX_MS),
            ("double_press_ms", self.double_press_ms, MAX_MS),
            ("max_on_seconds", self.max_on_seconds, MAX_ON_SECONDS),
            ("pwm_hertz", self.pwm_hertz, MAX_PWM_HERTZ),
        ] {
            if value.is_some_and(|value| value > most) {
                return Err(format!("`{field}` of pin {} is more than {most}: choose a smaller number", self.pin));
            }
        }
        if self.interlock.as_ref().is_some_and(|group| group.chars().count() > NAME) {
            return Err(format!("the interlock group of pin {} is longer than {NAME} characters", self.pin));
        }
        let reads = self.direction == Some(Direction::Input) || self.kind.is_some_and(PinKind::is_input);
        let drives = self.direction == Some(Direction::Output) || self.kind.is_some_and(|kind| !kind.is_input());
        if reads && drives {
            return Err(format!("pin {} cannot be both read and driven: change its direction or its kind", self.pin));
        }
        if reads && self.dims().is_some() {
            return Err(format!("pin {} is an input, so it cannot be dimmed", self.pin));
        }
        if reads && [self.boot, self.fail_safe].iter().flatten().any(|rest| *rest != Rest::Keep) {
            return Err(format!("pin {} is an input, so it has no boot or fail-safe state to drive", self.pin));
        }
        Ok(())
    }

    /// Each field of `self`, else that of `other`.
    pub fn or(self, other: Self) -> Self {
        Self {
            pin: self.pin,
            kind: self.kind.or(other.kind),
            direction: self.direction.or(other.direction),
            pull: self.pull.or(other.pull),
            debounce_ms: self.debounce_ms.or(other.debounce_ms),
            active_low: self.active_low.or(other.active_low),
            boot: self.boot.or(other.boot),
            fail_safe: self.fail_safe.or(other.fail_safe),
            max_on_seconds: self.max_on_seconds.or(other.max_on_seconds),
            interlock: self.interlock.or(other.interlock),
            interlock_switches: self.interlock_switches.or(other.interlock_switches),
            long_press_ms: self.long_press_ms.or(other.long_press_ms),
            double_press_ms: self.double_press_ms.or(other.double_press_ms),
            pwm_hertz: self.pwm_hertz.or(other.pwm_hertz),
        }
    }

    /// At how many hertz it is dimmed, if it is.
    pub fn dims(&self) -> Option<u32> {
        self.pwm_hertz.filter(|hertz| *hertz > 0)
    }

    /// The settings the board needs.
    pub fn settings(&self) -> PinSettings {
        let by_kind = self.kind.filter(|kind| kind.is_input()).map(|_| Direction::Input);
        PinSettings {
            direction: self.direction.or(by_kind),
            pull: self.pull,
            debounce: self.debounce_ms.map(|ms| Duration::from_millis(ms.into())),
            active_low: self.active_low.unwrap_or_default(),
            boot: self.boot,
            fail_safe: self.fail_safe,
            max_on: self.max_on_seconds.filter(|s| *s > 0).map(|s| Duration::from_secs(s.into())),
            interlock: self.interlock.clone().unwrap_or_default(),
            interlock_switches: self.interlock_switches.unwrap_or_default(),
        }
    }
}

impl Serialize for PinEntry {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.bare { self.table.pin.serialize(s) } else { self.table.serialize(s) }
    }
}

impl<'de> Deserialize<'de> for PinEntry {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Entry;
        impl<'de> de::Visitor<'de> for Entry {
            type Value = PinEntry;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the BCM number of a pin, as `door = 17`, or a table with `pin = 17`")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PinEntry, E> {
                let pin = Pin::try_from(number).map_err(E::custom)?;
                Ok(PinEntry { table: PinTable::new(pin), bare: true })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<PinEntry, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<PinEntry, A::Error> {
                let table = PinTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(PinEntry { table, bare: false })
            }
        }
        d.deserialize_any(Entry)
    }
}

/// The section `[pins]`: limits, the pins that may be driven, and pins by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PinsConfig {
    /// How fast each pin may be switched.
    #[serde(flatten)]
    pub rate: PinRate,
    /// The pins that may be driven; empty: all.
    pub allow: Vec<Pin>,
    /// Pins by name.
    #[serde(flatten)]
    pub named: BTreeMap<String, PinEntry>,
}

impl PinsConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn check(&self) -> Result<(), String> {
        let mut seen = BTreeMap::new();
        for (name, entry) in &self.named {
            let length = name.trim().chars().count();
            if length == 0 || length > NAME {
                return Err(format!("`pins.{name}` is not a name: use 1 to {NAME} characters"));
            }
            if let Some(other) = seen.insert(entry.table.pin, name) {
                return Err(format!("`pins.{other}` and `pins.{name}` are both pin {}", entry.table.pin));
            }
            entry.table.check().map_err(|why| format!("`pins.{name}`: {why}"))?;
        }
        Ok(())
    }

    /// Whether a pin may be driven.
    pub fn allows(&self, pin: Pin) -> bool {
        self.allow.is_empty() || self.allow.contains(&pin)
    }

    /// The name and table of a pin.
    pub fn entry(&self, pin: Pin) -> Option<(&str, &PinTable)> {
        let (name, entry) = self.named.iter().find(|(_, entry)| entry.table.pin == pin)?;
        Some((name, &entry.table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(n: i64) -> Pin {
        Pin::new(n).unwrap()
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_sentence() {
        let table = || PinTable::new(pin(4));
        for (table, part) in [
            (PinTable { max_on_seconds: Some(MAX_ON_SECONDS + 1), ..table() }, "max_on_seconds"),
            (PinTable { debounce_ms: Some(60_000), ..table() }, "debounce_ms"),
            (PinTable { interlock: Some("x".repeat(41)), ..table() }, "interlock group"),
            (PinTable { kind: Some(PinKind::Button), direction: Some(Direction::Output), ..table() }, "both"),
            (PinTable { kind: Some(PinKind::Button), pwm_hertz: Some(1000), ..table() }, "cannot be dimmed"),
            (PinTable { pwm_hertz: Some(50_001), ..table() }, "pwm_hertz"),
            (PinTable { kind: Some(PinKind::Contact), boot: Some(Rest::On), ..table() }, "is an input"),
        ] {
            assert!(table.check().unwrap_err().contains(part), "{table:?}");
        }
        table().check().unwrap();
    }

    #[test]
    fn a_time_limit_means_off_after_a_restart_unless_said_otherwise() {
        let limited = PinSettings { max_on: Some(Duration::from_secs(9)), ..PinSettings::default() };
        let rests = |settings: &PinSettings| (settings.rest_at_boot(), settings.rest_at_stop());
        assert_eq!(rests(&PinSettings::default()), (Rest::Keep, Rest::Keep));
        assert_eq!(rests(&limited), (Rest::Off, Rest::Off));
        assert_eq!(rests(&PinSettings { fail_safe: Some(Rest::On), ..limited.clone() }), (Rest::On, Rest::On));
        assert_eq!(rests(&PinSettings { boot: Some(Rest::Keep), ..limited }), (Rest::Keep, Rest::Off));
    }

    #[test]
    fn an_empty_allow_list_allows_all() {
        let config =
            |allow: &[i64]| PinsConfig { allow: allow.iter().map(|n| pin(*n)).collect(), ..Default::default() };
        assert!(config(&[]).allows(pin(3)) && config(&[3]).allows(pin(3)) && !config(&[3]).allows(pin(4)));
    }
}
