//! Names of pins: what the household calls the thing at a pin, and whether it is switched or only read.

use board::{Board, Level, Pin};
use records::{publish_change, rejected, required_text};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use store::{Audience, Collection, Key, Level as Reach, Record, Stamp, Store, Visit, Walk, order};
use tool::{Scope, prelude::*};

/// The most characters of a name.
const NAME: usize = 40;
const BY_PIN: u8 = 1;
const BY_NAME: u8 = 2;
/// How often sensors are read; and how often is looked for sensors where there are none.
const READ_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// The name of the thing at a pin. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PinName {
    pub pin: u8,
    pub name: String,
    /// Whether it is only read, such as a door contact.
    pub sensor: bool,
}

impl Record for PinName {
    const NAME: &'static str = "pin-names";
    const WORD: &'static str = "pin name";
    const LEVEL: Reach = Reach::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        format!("{} (pin {})", self.name, self.pin)
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_PIN, [self.pin]), Key::unique(BY_NAME, order::text(&self.name))]
    }
}

/// The names of all pins; cheap to clone.
#[derive(Clone)]
pub(crate) struct PinNames(Collection<PinName>);

/// A level with the name of its pin.
#[derive(Serialize)]
pub(crate) struct NamedLevel {
    #[serde(flatten)]
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensor: bool,
}

impl PinNames {
    pub fn new(store: &Store) -> Self {
        Self(store.collection())
    }

    /// All of them, by pin. Names by other members taint the run.
    pub fn all(&self, cx: &Cx) -> Result<BTreeMap<u8, PinName>> {
        let found = self.0.walk(cx, &Walk::prefix(BY_PIN, []), |_| Visit::Yes)?;
        Ok(found.into_iter().map(|entry| (entry.value.pin, entry.value)).collect())
    }

    /// A level with the name of its pin.
    pub fn named(names: &BTreeMap<u8, PinName>, level: Level) -> NamedLevel {
        let named = names.get(&level.pin.number());
        let sensor = named.is_some_and(|named| named.sensor);
        NamedLevel { level, name: named.map(|named| named.name.clone()), sensor }
    }

    fn sensors(&self) -> Vec<Pin> {
        let found = self.0.walk_in(Scope::Household, &Walk::prefix(BY_PIN, []), |entry| {
            if entry.value.sensor { Visit::Yes } else { Visit::No }
        });
        found.unwrap_or_default().into_iter().filter_map(|entry| Pin::new(entry.value.pin.into())).collect()
    }
}

/// Everything that has a name: its pin, its name, and whether it is only read. Nothing where it cannot be read.
pub fn devices(store: &Store) -> Vec<(u8, String, bool)> {
    let all = PinNames::new(store).0.walk_in(Scope::Household, &Walk::prefix(BY_PIN, []), |_| Visit::Yes);
    let parts = |entry: store::Entry<PinName>| (entry.value.pin, entry.value.name, entry.value.sensor);
    all.unwrap_or_default().into_iter().map(parts).collect()
}

/// The name of a pin in a sentence: `Lamp`, `pin 17`.
pub(crate) fn called(names: &BTreeMap<u8, PinName>, pin: Pin) -> String {
    names.get(&pin.number()).map_or_else(|| format!("pin {pin}"), |named| named.name.clone())
}

/// Name a header pin after what is connected to it, such as Lamp: it then has a card on the page. An empty name removes it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Name {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// The thing connected to it, such as Lamp; empty for no name.
    #[schemars(length(max = 40))]
    name: String,
    /// Whether it is only read, such as a door contact, and not switched.
    sensor: Option<bool>,
}

pub(crate) async fn name(names: PinNames, cx: Cx, args: Name) -> Result<Output> {
    let pin = args.pin.number();
    if args.name.trim().is_empty() {
        return unname(&names, &cx, pin).await;
    }
    let name = required_text("name", &args.name, NAME)?;
    let (records, sensor, label) = (names.0.clone(), args.sensor, cx.label());
    let stamp = Stamp { audience: Audience::Household, ..names.0.stamp(&cx, "name_pin") };
    let stored = names.0.store().write(move |tx| {
        let taken = records.find(tx, Scope::Household, BY_NAME, &order::text(&name))?;
        if let Some(other) = taken.iter().find(|other| other.value.pin != pin) {
            let other = &other.value;
            return Err(rejected(format!("pin {} is called {} already: choose another name", other.pin, other.name)));
        }
        match records.find(tx, Scope::Household, BY_PIN, &[pin])?.pop() {
            Some(old) => records.change(tx, Scope::Household, label, old.id, &mut |named| {
                named.name.clone_from(&name);
                named.sensor = sensor.unwrap_or(named.sensor);
                Ok(())
            }),
            None => {
                let named = PinName { pin, name: name.clone(), sensor: sensor.unwrap_or_default() };
                records.put(tx, Id::new(), &stamp, &named)
            }
        }
    });
    let stored = stored.await?;
    publish_change(&cx, &stored, "changed");
    let PinName { name, sensor, .. } = stored.value;
    let sort = if sensor { ", a sensor" } else { "" };
    Ok(Output::json(json!({"pin": pin, "name": name, "sensor": sensor}))?
        .say(format!("Pin {pin} is now {name}{sort}.")))
}

async fn unname(names: &PinNames, cx: &Cx, pin: u8) -> Result<Output> {
    let records = names.0.clone();
    let gone = names.0.store().write(move |tx| {
        let old = records.find(tx, Scope::Household, BY_PIN, &[pin])?.pop();
        if let Some(old) = &old {
            records.remove(tx, Scope::Household, old.id)?;
        }
        Ok(old)
    });
    let gone = gone.await?;
    gone.iter().for_each(|old| publish_change(cx, old, "deleted"));
    let sentence = match gone {
        Some(old) => format!("Pin {pin} is no longer called {}.", old.value.name),
        None => format!("Pin {pin} has no name."),
    };
    Ok(Output::json(json!({"pin": pin, "name": null, "sensor": false}))?.say(sentence))
}

/// Reads sensors now and then: a board says by itself when Hob switches a pin, and not when something else does.
pub async fn watch_sensors(board: Board, store: Store) {
    let names = PinNames::new(&store);
    loop {
        let sensors = names.sensors();
        tokio::time::sleep(if sensors.is_empty() { LOOK_EVERY } else { READ_EVERY }).await;
        for pin in sensors {
            // Reading publishes a change. Whoever asks for the pin gets the error, if there is one.
            let _ = board.read(pin).await;
        }
    }
}
