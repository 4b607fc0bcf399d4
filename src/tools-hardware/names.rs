//! Names and settings of pins: those of hob.toml and those the household makes, held in memory.

use crate::{
    guard::admins_part,
    record::{BY_NAME, BY_PIN, PinName},
};
use board::{Board, Level, Pin};
use records::{Undoer, publish_change, rejected, required_text};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use store::{Audience, Collection, Part, Record, Stamp, Store, Tx, Visit, Walk, order};
use tool::{Role, Scope, prelude::*};

/// The most characters of a name.
const NAME: usize = 40;
/// How often sensors are read that do not report changes by themselves; and how often is looked for such sensors.
const READ_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// The names and settings of all pins; cheap to clone.
#[derive(Clone)]
pub(crate) struct PinNames {
    records: Collection<PinName>,
    board: Board,
    /// As they hold now: hob.toml and the stored ones.
    kept: Arc<RwLock<BTreeMap<u8, PinName>>>,
    version: Arc<AtomicU64>,
}

/// A level with the name of its pin.
#[derive(Serialize)]
pub(crate) struct NamedLevel {
    #[serde(flatten)]
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensor: bool,
    /// The level that opens, unlocks or disarms something: the page asks before it.
    #[serde(rename = "opensAt", skip_serializing_if = "Option::is_none")]
    opens_at: Option<bool>,
}

impl PinNames {
    /// Reads them, and configures the board.
    pub fn open(board: &Board, store: &Store) -> Self {
        let this =
            Self { records: store.collection(), board: board.clone(), kept: Arc::default(), version: Arc::default() };
        // The log has the errors of the board.
        let _ = this.refresh();
        this
    }

    /// Reads them again after a change, and configures the board. What the board refused.
    pub fn refresh(&self) -> BTreeMap<u8, board::Error> {
        let mut refused = BTreeMap::new();
        let stored = self.records.walk_in(Scope::Household, &Walk::prefix(BY_PIN, []), |_| Visit::Yes);
        let stored = match stored {
            Ok(stored) => stored.into_iter().map(|entry| entry.value),
            Err(error) => {
                tracing::warn!(%error, "the names of pins could not be read");
                return refused;
            }
        };
        let all = self.with_file(stored);
        for pin in Pin::all() {
            let named = all.get(&pin.number());
            let settings = named.and_then(PinName::table).map(|table| table.settings()).unwrap_or_default();
            let reads = named.is_some_and(|named| named.sensor) && settings.direction.is_none();
            match self.board.configure(pin, settings) {
                Ok(()) if reads => drop(self.board.watch(pin)),
                Ok(()) | Err(board::Error::NoDriver(_)) => {}
                Err(error) => {
                    tracing::warn!(%pin, %error, "could not be configured");
                    refused.insert(pin.number(), error);
                }
            }
        }
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = all;
        self.version.fetch_add(1, Ordering::AcqRel);
        refused
    }

    /// Raised with every change.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The stored ones over those of hob.toml: a stored name holds, and settings of hob.toml hold.
    fn with_file(&self, stored: impl Iterator<Item = PinName>) -> BTreeMap<u8, PinName> {
        let of_file = |(name, entry): (&String, &board::PinEntry)| PinName::of_file(name, &entry.table);
        let mut all: BTreeMap<u8, PinName> =
            self.board.config().named.iter().map(of_file).map(|pin| (pin.pin, pin)).collect();
        for own in stored {
            let of_file = all.remove(&own.pin);
            let merged = own.over(of_file.as_ref());
            all.insert(merged.pin, merged);
        }
        all
    }

    /// The pin as hob.toml has it.
    fn of_file(&self, pin: u8) -> Option<PinName> {
        let (name, table) = self.board.config().entry(Pin::new(pin.into())?)?;
        Some(PinName::of_file(name, table))
    }

    /// Checks within a write that undoes something that it takes the guard from no pin: nobody was asked about that.
    ///
    /// # Errors
    /// `Conflict` where it does.
    pub fn keeps_guards(&self, tx: &Tx) -> store::Result<()> {
        let kept = self.now();
        for pin in Pin::all().map(Pin::number) {
            let stored = self.records.find(tx, Scope::Household, BY_PIN, &[pin])?.pop();
            let own = stored.map_or_else(|| PinName::new(pin, "", false), |stored| stored.value);
            let after = own.over(self.of_file(pin).as_ref());
            let before = kept.get(&pin).cloned().unwrap_or_else(|| PinName::new(pin, "", false));
            if let Some(part) = admins_part(&before, &after, |group| Self::disarms(&kept, pin, group)) {
                return Err(rejected(format!(
                    "nothing was undone, because pin {pin} would then open, unlock or disarm something unasked: an admin \
                     has to {part}, with `name_pin` or `configure_pin`"
                )));
            }
        }
        Ok(())
    }

    /// Whether an interlock group has a pin, beside this one, that opens, unlocks or disarms something when it goes off.
    fn disarms(kept: &BTreeMap<u8, PinName>, pin: u8, group: &str) -> bool {
        let is_in = |other: &PinName| other.table().is_some_and(|table| table.interlock.as_deref() == Some(group));
        kept.values().any(|other| other.pin != pin && other.opens_at() == Some(false) && is_in(other))
    }

    /// Whether switching a pin on switches another off by their interlock, which opens, unlocks or disarms something.
    pub fn switches_guarded_off(&self, pin: u8) -> bool {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let Some(settings) = kept.get(&pin).and_then(PinName::table).map(|table| table.settings()) else {
            return false;
        };
        settings.interlock_switches && !settings.interlock.is_empty() && Self::disarms(&kept, pin, &settings.interlock)
    }

    /// All that have a name, by pin. Names by other members taint the run.
    pub fn all(&self, cx: &Cx) -> Result<BTreeMap<u8, PinName>> {
        let found = self.records.walk(cx, &Walk::prefix(BY_PIN, []), |_| Visit::Yes)?;
        let mut all = self.with_file(found.into_iter().map(|entry| entry.value));
        all.retain(|_, named| !named.name.is_empty());
        Ok(all)
    }

    /// All of them as they hold now, also those without a name.
    pub fn now(&self) -> BTreeMap<u8, PinName> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The level of a pin that opens, unlocks or disarms something.
    pub fn opens_at(&self, pin: u8) -> Option<bool> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&pin).and_then(PinName::opens_at)
    }

    /// Whether another name takes the guard from a pin: its name alone says that it is a door.
    pub fn unguards(&self, args: &Value) -> bool {
        let Ok(Name { pin, name, sensor }) = serde_json::from_value(args.clone()) else { return false };
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let Some(now) = kept.get(&pin.number()).filter(|now| now.opens_at().is_some()) else { return false };
        now.clone().renamed(&name, sensor.unwrap_or(now.sensor)).opens_at().is_none()
    }

    /// A level with the name of its pin.
    pub fn named(names: &BTreeMap<u8, PinName>, level: Level) -> NamedLevel {
        let named = names.get(&level.pin.number());
        let sensor = named.is_some_and(|named| named.sensor);
        let opens_at = named.and_then(PinName::opens_at);
        NamedLevel { level, name: named.map(|named| named.name.clone()), sensor, opens_at }
    }

    /// Changes the record of a pin, or makes it; a change that leaves nothing removes it. The name must be free. Returns what the
    /// board says against it, which is stored all the same.
    ///
    /// # Errors
    /// `Denied` where the change takes the guard from something that opens, or the name that hob.toml gives, and the caller is
    /// no admin.
    pub async fn change(
        &self,
        cx: &Cx,
        tool: &str,
        pin: u8,
        change: impl Fn(PinName) -> Result<PinName> + Send + 'static,
    ) -> Result<Option<String>> {
        let (records, label, store) = (self.records.clone(), cx.label(), self.records.store());
        let stamp = Stamp { audience: Audience::Household, ..records.stamp(cx, tool) };
        let taken: Vec<(u8, String)> =
            self.board.config().named.iter().map(|(name, entry)| (entry.table.pin.number(), name.clone())).collect();
        let file = self.of_file(pin);
        let (is_admin, kept) = (cx.principal().role >= Role::Admin, self.kept.clone());
        // Its error has a kind, which errors of the store do not have.
        let refused = Arc::new(Mutex::new(None));
        let refusal = refused.clone();
        let refuse = move |error: Error| {
            let text = error.message().to_owned();
            *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            rejected(text)
        };
        let stored = store.write(move |tx| {
            let old = records.find(tx, Scope::Household, BY_PIN, &[pin])?.pop();
            let before = old.as_ref().map_or_else(|| PinName::new(pin, "", false), |old| old.value.clone());
            let next = change(before.clone()).map_err(&refuse)?;
            if !is_admin {
                let kept = kept.read().unwrap_or_else(PoisonError::into_inner);
                let disarms = |group: &str| Self::disarms(&kept, pin, group);
                may_change(&before, &next, file.as_ref(), disarms).map_err(&refuse)?;
            }
            let own = order::text(&next.name);
            let in_file = taken.iter().find(|(other, name)| *other != pin && order::text(name) == own);
            let others =
                if next.name.is_empty() { vec![] } else { records.find(tx, Scope::Household, BY_NAME, &own)? };
            let stored =
                others.iter().map(|other| (other.value.pin, &other.value.name)).find(|(other, _)| *other != pin);
            if let Some((other, name)) = stored.or(in_file.map(|(other, name)| (*other, name))) {
                return Err(rejected(format!("pin {other} is called {name} already: choose another name")));
            }
            let is_empty = next.name.is_empty() && !next.has_settings();
            Ok(match old {
                Some(old) if is_empty => {
                    records.remove(tx, Scope::Household, old.id)?;
                    Some((old, true))
                }
                None if is_empty => None,
                Some(old) => {
                    let changed = records.change(tx, Scope::Household, label, old.id, &mut |named| {
                        *named = next.clone();
                        Ok(())
                    })?;
                    Some((changed, false))
                }
                None => Some((records.put(tx, Id::new(), &stamp, &next)?, false)),
            })
        });
        let stored = stored.await.map_err(|error| {
            let refused = refused.lock().unwrap_or_else(PoisonError::into_inner).take();
            refused.unwrap_or_else(|| error.into())
        })?;
        let against = self.refresh().remove(&pin);
        if let Some((entry, is_gone)) = stored {
            publish_change(cx, &entry, if is_gone { "deleted" } else { "changed" });
        }
        Ok(against
            .map(|error| format!("It is stored, but the board refused it: {error}. Saying it again tries again.")))
    }
}

/// Whether somebody who is no admin may change the record of a pin in this way.
fn may_change(before: &PinName, next: &PinName, file: Option<&PinName>, disarms: impl Fn(&str) -> bool) -> Result<()> {
    let pin = before.pin;
    if let Some(file) = file.filter(|file| next.name != before.name && !next.name.is_empty() && next.name != file.name)
    {
        return Err(Error::denied(format!(
            "pin {pin} is called {} in hob.toml: an admin has to call it something else",
            file.name
        )));
    }
    let (before, after) = (before.clone().over(file), next.clone().over(file));
    admins_part(&before, &after, disarms).map_or(Ok(()), |part| {
        let name = if before.name.is_empty() {
            format!("Pin {pin}")
        } else {
            format!("{} (pin {pin})", capital(&before.name))
        };
        Err(Error::denied(match before.opens_at() {
            Some(_) => format!("{name} asks a person before it opens, unlocks or disarms: an admin has to {part}"),
            None => format!("{name} is not changed like that: an admin has to {part}"),
        }))
    })
}

/// Configures the board again when a change of names or settings is undone.
pub(crate) struct UndoesNames(pub PinNames);

impl Undoer for UndoesNames {
    fn within(&self, tx: &Tx, _: &Part, _: Option<Id>) -> store::Result<()> {
        self.0.keeps_guards(tx)
    }
    fn after<'a>(&'a self, _: &'a Cx, _: &'a Part) -> futures::future::BoxFuture<'a, ()> {
        // The log has the errors of the board.
        let _ = self.0.refresh();
        Box::pin(std::future::ready(()))
    }
}

/// The collection whose changes that undoes.
pub(crate) const COLLECTION: &str = PinName::NAME;

/// The name of a pin in a sentence: `Lamp`, `pin 17`.
pub(crate) fn called(names: &BTreeMap<u8, PinName>, pin: Pin) -> String {
    names.get(&pin.number()).map_or_else(|| format!("pin {pin}"), |named| named.name.clone())
}

/// A sentence begins with a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The level of a pin, by its name where it has one.
pub(crate) fn answer(names: &BTreeMap<u8, PinName>, level: Level) -> Result<Output> {
    let sentence = format!("{} is {}.", capital(&called(names, level.pin)), if level.high { "on" } else { "off" });
    Ok(Output::json(PinNames::named(names, level))?.say(sentence))
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
    let (name, sensor) = (required_text("name", &args.name, NAME)?, args.sensor);
    let against = names
        .change(&cx, "name_pin", pin, move |old| {
            let sensor = sensor.unwrap_or(old.sensor);
            Ok(old.renamed(&name, sensor))
        })
        .await?;
    let named = names.now().remove(&pin).unwrap_or_default();
    let sort = if named.sensor { ", a sensor" } else { "" };
    // People would be surprised by either: that it asks, or that it does not.
    let guarded = match (named.kind(), named.opens_at()) {
        (None, Some(_)) => " It sounds like something that opens, so switching it on asks a person first.",
        _ => "",
    };
    let against = against.map(|why| format!(" {why}")).unwrap_or_default();
    Ok(Output::json(json!({"pin": pin, "name": named.name, "sensor": named.sensor}))?
        .say(format!("Pin {pin} is now {}{sort}.{guarded}{against}", named.name)))
}

async fn unname(names: &PinNames, cx: &Cx, pin: u8) -> Result<Output> {
    let before = names.now().remove(&pin).map(|named| named.name).unwrap_or_default();
    let of_file = Pin::new(pin.into()).and_then(|pin| names.board.config().entry(pin)).map(|(name, _)| name.to_owned());
    if of_file.as_ref().is_some_and(|name| *name == before) {
        return Err(Error::bad_args(format!("pin {pin} is called {before} in hob.toml: rename it there")));
    }
    names.change(cx, "name_pin", pin, |old| Ok(old.renamed("", false))).await?;
    let sentence = match (before.as_str(), of_file) {
        ("", _) => format!("Pin {pin} has no name."),
        (_, Some(name)) => format!("Pin {pin} is called {name} again, as in hob.toml."),
        (before, None) => format!("Pin {pin} is no longer called {before}."),
    };
    Ok(Output::json(json!({"pin": pin, "name": null, "sensor": false}))?.say(sentence))
}

/// Reads the sensors now and then whose changes the board does not report by itself.
pub(crate) async fn watch_sensors(board: Board, names: PinNames) {
    loop {
        let sensors: Vec<Pin> = names
            .now()
            .values()
            .filter(|named| named.sensor)
            .filter_map(|named| Pin::new(named.pin.into()))
            .filter(|pin| !board.is_watched(*pin))
            .collect();
        tokio::time::sleep(if sensors.is_empty() { LOOK_EVERY } else { READ_EVERY }).await;
        for pin in sensors {
            // Reading publishes a change. Whoever asks for the pin gets the error, if there is one.
            let _ = board.read(pin).await;
        }
    }
}
