//! The 40-pin header: which pin is where, what it is for, and how it is.

use crate::pins::Pins;
use board::{Direction, EdgeCount, Level, Pin, PinKind, PinTable, header, reserved};
use std::collections::BTreeMap;
use text_kit::{counted, join_and};
use tool::prelude::*;

/// The header, and the driver behind it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PinMap {
    /// `rppal`, `cdev`, `sim` or `none`.
    pub driver: &'static str,
    /// Why this driver; with `none`, what is missing and what to do about it.
    pub why: String,
    /// The 40 pins in order.
    pub pins: Vec<MapPin>,
}

/// A pin of the header.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapPin {
    /// Its number on the header, 1 to 40.
    pub physical: u8,
    /// Its BCM number; absent for power and ground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<u8>,
    /// `3.3 V`, `5 V`, `Ground`, or another function that it has; empty for a plain pin.
    pub function: &'static str,
    /// The name of the thing connected to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kind of what is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PinKind>,
    /// Whether it is on; absent where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<bool>,
    /// Whether Hob drives it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub driven: bool,
    /// Its direction, where that is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Whether its changes are reported at once, and not seen by reading it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
    /// The PWM signal that it is driven with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pwm: Option<PwmSignal>,
    /// The longest time it may be on, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_on_seconds: Option<u32>,
    /// Its interlock group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interlock: Option<String>,
    /// Changes since the start that were reported, and edges that were coalesced into them: many of a loose contact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Its settings as `configure_pin` takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub settings: Option<PinTable>,
    /// Reasons not to use it, or faults of its use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A PWM signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PwmSignal {
    /// Its frequency.
    pub hertz: f64,
    /// How much of each period it is on.
    pub percent: f64,
}

/// Changes of a pin since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changes {
    /// Those that were reported.
    pub reported: u64,
    /// Edges that were coalesced: bounce, or a flapping line.
    pub coalesced: u64,
}

/// Show the 40-pin header: for each pin its physical number, BCM number, function, name, state and warnings.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Map {}

pub(crate) async fn map(pins: Pins, cx: Cx, Map {}: Map) -> Result<Output> {
    let map = pin_map(&pins, &cx).await?;
    let named: Vec<String> = map
        .pins
        .iter()
        .filter_map(|pin| Some(format!("{} at physical pin {}", pin.name.as_ref()?, pin.physical)))
        .collect();
    let warned = map.pins.iter().filter(|pin| !pin.warnings.is_empty() && pin.name.is_some()).count();
    let mut sentence = match named.as_slice() {
        [] => "No pin has a name yet.".to_owned(),
        some => format!("{}.", join_and(some)),
    };
    if warned > 0 {
        sentence = format!("{sentence} {} in use with a warning.", counted(warned, "pin"));
    }
    Ok(Output::json(map)?.say(sentence))
}

/// The header as it is now. Without a driver there are no states.
///
/// # Errors
/// `Failed` when names cannot be read.
pub async fn pin_map(pins: &Pins, cx: &Cx) -> Result<PinMap> {
    let described = pins.board.describe();
    let names = pins.names.all(cx)?;
    let all = pins.names.now();
    let levels: BTreeMap<Pin, Level> =
        pins.board.levels().await.unwrap_or_default().into_iter().map(|level| (level.pin, level)).collect();
    let of = |pin: board::HeaderPin| {
        let plain = MapPin::new(&pin);
        let Some(gpio) = pin.gpio else { return plain };
        let level = levels.get(&gpio);
        let name = names.get(&gpio.number()).map(|named| named.name.clone());
        let table = all.get(&gpio.number()).and_then(|named| named.table());
        let in_use = name.is_some() || level.is_some_and(|level| level.driven);
        let EdgeCount { reported, coalesced } = pins.board.edge_count(gpio);
        MapPin {
            pin: Some(gpio.number()),
            name,
            kind: table.as_ref().and_then(|table| table.kind),
            high: level.map(|level| level.high),
            driven: level.is_some_and(|level| level.driven),
            direction: table.as_ref().and_then(|table| table.settings().direction),
            watched: !level.is_some_and(|level| level.driven) && pins.board.is_watched(gpio),
            pwm: level
                .and_then(|level| level.pwm)
                .map(|wave| PwmSignal { hertz: (1e9 / f64::from(wave.period_ns)).round(), percent: wave.percent() }),
            max_on_seconds: table.as_ref().and_then(|table| table.max_on_seconds),
            interlock: table.as_ref().and_then(|table| table.interlock.clone()),
            changes: (reported > 0).then_some(Changes { reported, coalesced }),
            warnings: warnings(pins, gpio, table.as_ref(), in_use),
            settings: table,
            ..plain
        }
    };
    Ok(PinMap { driver: described.driver, why: described.why, pins: header().map(of).collect() })
}

impl MapPin {
    fn new(pin: &board::HeaderPin) -> Self {
        Self {
            physical: pin.physical,
            pin: None,
            function: pin.function,
            name: None,
            kind: None,
            high: None,
            driven: false,
            direction: None,
            watched: false,
            pwm: None,
            max_on_seconds: None,
            interlock: None,
            changes: None,
            settings: None,
            warnings: vec![],
        }
    }
}

/// Reasons not to use a pin as it is used.
pub(crate) fn warnings(pins: &Pins, pin: Pin, table: Option<&PinTable>, in_use: bool) -> Vec<String> {
    let mut all = vec![];
    if let Some(why) = reserved(pin) {
        all.push(capital_sentence(why));
    }
    let drives = table.is_some_and(|table| {
        table.direction == Some(Direction::Output) || table.kind.is_some_and(|kind| !kind.is_input())
    });
    if !pins.board.config().allows(pin) && (drives || in_use) {
        all.push("It may not be driven: `pins.allow` of hob.toml does not have it.".to_owned());
    }
    all
}

fn capital_sentence(text: &str) -> String {
    format!("{}.", crate::names::capital(text))
}
