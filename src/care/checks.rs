//! The state of the device in plain words: each line says what is well or wrong, and what to do.

use crate::{BackupView, WriteReport, writes::size};
use board::State;
use jiff::Zoned;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use tool::prelude::{JsonSchema, schemars};

/// Less free space than this is trouble soon, and trouble now.
const LOW_SPACE: u64 = 500_000_000;
const NO_SPACE: u64 = 50_000_000;
/// A Raspberry Pi slows down from 80 °C.
const WARM: f64 = 75.0;
const HOT: f64 = 80.0;
/// How far the clock may be behind what is stored, in milliseconds.
const BEHIND_MS: u64 = 120_000;
/// No clock that is right shows an earlier year.
const YEAR: i16 = 2025;
/// Below this, a Wi-Fi connection loses packets.
const WEAK_DBM: i32 = -78;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All is well.
    Well,
    /// Somebody should look at it some time.
    Careful,
    /// Something does not work, or will not for long.
    Wrong,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// A word: `clock`, `disk`.
    pub name: String,
    pub outcome: Outcome,
    /// How it is, in a sentence.
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
}

impl Check {
    pub fn well(name: &str, text: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: Outcome::Well, text: text.into(), todo: None }
    }
    pub fn careful(name: &str, text: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: Outcome::Careful, text: text.into(), todo: Some(todo.into()) }
    }
    pub fn wrong(name: &str, text: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: Outcome::Wrong, text: text.into(), todo: Some(todo.into()) }
    }
}

/// Whether the clock can be trusted.
#[derive(Debug, Clone)]
pub struct Clockwork {
    pub now: Zoned,
    /// The newest time that is stored: milliseconds since 1970.
    pub newest_ms: u64,
    /// Whether the system has set it from the network, where that is known.
    pub synchronized: Option<bool>,
}

impl Clockwork {
    /// Looks whether the system's clock has been set from the network.
    pub fn new(now: Zoned, newest_ms: u64) -> Self {
        let folder = std::path::Path::new("/run/systemd/timesync");
        let synchronized = folder.is_dir().then(|| folder.join("synchronized").exists());
        Self { now, newest_ms, synchronized }
    }
}

/// How the device is reached.
#[derive(Debug, Clone, Default)]
pub struct NetworkFacts {
    /// Whether other devices can reach it.
    pub is_open: bool,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Its name on the network, while it is announced.
    pub hostname: Option<String>,
    /// The fingerprint of its certificate; `None` without TLS.
    pub fingerprint: Option<String>,
    pub claimed: bool,
    /// Whether a daemon serves, rather than an application for one command.
    pub serves: bool,
}

/// A model that does not answer.
#[derive(Debug, Clone)]
pub struct ModelFacts {
    pub model: String,
    pub problem: String,
    pub todo: String,
}

/// Everything that the lines are about.
#[derive(Debug, Clone)]
pub struct Facts {
    pub clock: Clockwork,
    /// `None` where the system does not say.
    pub state: Option<State>,
    /// Whether the supply gives too little voltage now, where that is known.
    pub under_voltage: Option<bool>,
    pub writes: WriteReport,
    /// Where it can be read.
    pub backup: Option<BackupView>,
    pub network: NetworkFacts,
    /// The model that answers, and those of them that do not.
    pub model: String,
    pub troubles: Vec<ModelFacts>,
    /// Crashes of the last week.
    pub crashes: usize,
}

type More = Arc<dyn Fn() -> Option<Check> + Send + Sync>;

/// The checks of other parts; cheap to clone.
#[derive(Clone, Default)]
pub struct Checks(Arc<Mutex<Vec<More>>>);

impl Checks {
    /// Adds a check of another part, such as the state of an update.
    pub fn add(&self, check: impl Fn() -> Option<Check> + Send + Sync + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(check));
    }

    /// All lines, in a fixed order.
    pub fn all(&self, facts: &Facts) -> Vec<Check> {
        let mut all = vec![clock(&facts.clock)];
        all.extend(facts.state.as_ref().and_then(space));
        all.extend(card(facts));
        all.extend(facts.state.as_ref().and_then(heat));
        all.extend(power(facts));
        all.extend(network(facts));
        all.extend(claimed(&facts.network));
        all.extend(facts.backup.as_ref().map(|backup| last_backup(backup, &facts.clock.now)));
        all.extend(model(facts));
        all.extend(crashes(facts.crashes));
        let more: Vec<More> = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.extend(more.iter().filter_map(|check| check()));
        all
    }
}

fn clock(clock: &Clockwork) -> Check {
    let shown = clock.now.strftime("%-d %B %Y, %H:%M");
    let now_ms = u64::try_from(clock.now.timestamp().as_millisecond()).unwrap_or(0);
    let todo = "connect the device to the internet, which sets it, or set it with `date`";
    if clock.now.year() < YEAR || now_ms.saturating_add(BEHIND_MS) < clock.newest_ms {
        return Check::wrong("clock", format!("The clock shows {shown}, which is in the past."), todo);
    }
    if clock.synchronized == Some(false) {
        return Check::careful(
            "clock",
            format!("The clock shows {shown}, and was not set from the network yet."),
            todo,
        );
    }
    let zone = clock.now.time_zone().iana_name().unwrap_or("the system's zone").to_owned();
    Check::well("clock", format!("It is {shown} ({zone})."))
}

fn space(state: &State) -> Option<Check> {
    let disk = state.disk.as_ref()?;
    let text = format!("{} of {} are free.", size(disk.free), size(disk.total));
    let todo = "delete files, old backups or conversations, or move the data to a larger disk";
    Some(match disk.free {
        0..NO_SPACE => Check::wrong("disk", format!("The disk is full: {text}"), todo),
        NO_SPACE..LOW_SPACE => Check::careful("disk", format!("The disk is nearly full: {text}"), todo),
        _ => Check::well("disk", text),
    })
}

fn card(facts: &Facts) -> Option<Check> {
    let writes = &facts.writes;
    if let Some(errors) = writes.errors.filter(|errors| *errors > 0) {
        let text = format!("The file system has recorded {}.", text_kit::counted(errors, "error"));
        let todo = "make a backup now, check the disk with fsck, and replace the card if more come";
        return Some(Check::wrong("card", text, todo));
    }
    let wear = facts.state.as_ref().and_then(|state| state.wear.as_ref());
    if let Some(wear) = wear.filter(|wear| wear.used_percent >= 90 || wear.near_end) {
        let text = format!("{} of the life of the storage ({}) are used.", percent(wear.used_percent), wear.device);
        return Some(Check::wrong("card", text, "make a backup now, and replace it"));
    }
    let worn = wear.map(|wear| format!(" {} of its life are used.", percent(wear.used_percent))).unwrap_or_default();
    let say = format!("{}{worn}", writes.say);
    Some(match writes.exceeded {
        true => {
            Check::careful("card", say, "see what writes so much, for example with `iotop`; Hob's own part is named")
        }
        false => Check::well("card", say),
    })
}

fn percent(used: u8) -> String {
    format!("up to {used} %")
}

fn heat(state: &State) -> Option<Check> {
    let celsius = state.temperature?;
    let text = format!("The processor is at {celsius:.0} °C");
    let todo = "give it air or a heat sink";
    Some(match celsius {
        c if c >= HOT => Check::careful("heat", format!("{text} and slows down."), todo),
        c if c >= WARM => Check::careful("heat", format!("{text}, and slows down from {HOT:.0} °C."), todo),
        _ => Check::well("heat", format!("{text}.")),
    })
}

fn power(facts: &Facts) -> Option<Check> {
    let throttling = facts.state.as_ref().and_then(|state| state.throttling);
    let now = facts.under_voltage.unwrap_or(false) || throttling.is_some_and(|t| t.under_voltage);
    let todo = "use a supply and a cable made for this board: too little voltage damages files";
    if now {
        return Some(Check::wrong("power", "The power supply gives too little voltage.", todo));
    }
    if throttling.is_some_and(|t| t.under_voltage_since_boot) {
        let text = "The power supply gave too little voltage at some time since the start.";
        return Some(Check::careful("power", text, todo));
    }
    if throttling.is_some_and(|t| t.throttled) {
        return Some(Check::careful("power", "The processor is slowed down.", "see whether it is too hot"));
    }
    (facts.under_voltage.is_some() || throttling.is_some()).then(|| Check::well("power", "The voltage is right."))
}

fn network(facts: &Facts) -> Vec<Check> {
    let network = &facts.network;
    if !network.serves {
        return vec![];
    }
    let mut all = vec![];
    let wifi = facts.state.as_ref().and_then(|state| state.wifi.as_ref());
    all.push(match (network.is_open, &network.addresses[..]) {
        (false, _) => Check::well("network", "Only this device reaches Hob: it listens on 127.0.0.1."),
        (true, []) => {
            let todo = "plug the cable in, or see whether the Wi-Fi is there and its password right";
            Check::wrong("network", "The device has no address on a network.", todo)
        }
        (true, addresses) => {
            let name = network.hostname.as_deref().map(|name| format!("{name}, ")).unwrap_or_default();
            let text = format!("Hob is reached at {name}{}.", addresses.join(", "));
            match wifi.filter(|wifi| wifi.signal_dbm < WEAK_DBM) {
                Some(wifi) => {
                    let text = format!("{text} The Wi-Fi signal is weak ({} dBm).", wifi.signal_dbm);
                    Check::careful("network", text, "move the device or the access point, or use a cable")
                }
                None => Check::well("network", text),
            }
        }
    });
    all.push(match &network.fingerprint {
        Some(print) => Check::well("secure", format!("The encrypted address has the certificate {print}.")),
        None if network.is_open => {
            let todo = "remove `tls = \"off\"` from hob.toml: passwords are not accepted in clear text";
            Check::careful("secure", "There is no encrypted address.", todo)
        }
        None => Check::well("secure", "There is no encrypted address, and nobody else reaches Hob."),
    });
    all
}

fn claimed(network: &NetworkFacts) -> Option<Check> {
    let todo = "open the link that Hob printed at its start, and enter the code";
    match (network.claimed, network.serves) {
        (true, _) => Some(Check::well("claimed", "The device has an owner.")),
        (false, true) => Some(Check::careful("claimed", "The device has no owner yet.", todo)),
        (false, false) => None,
    }
}

fn last_backup(backup: &BackupView, now: &Zoned) -> Check {
    let todo = "download one on the page, at Device, Backup, or plan them there";
    let when = backup.last.as_ref().map(|last| {
        let at = i64::try_from(last.at).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = at.map(|at| text_kit::moment_words(&at.to_zoned(now.time_zone().clone()), now)).unwrap_or_default();
        let what = if last.encrypted { "encrypted" } else { "without keys" };
        format!("The last backup was made {at} ({}, {what}).", size(last.size))
    });
    match (&backup.problem, when) {
        (Some(problem), when) => {
            let text = format!("The last backup failed. {}", when.unwrap_or_default());
            Check::wrong("backup", text.trim(), problem.clone())
        }
        (None, None) => Check::careful("backup", "There is no backup yet.", todo),
        (None, Some(when)) if backup.is_old => Check::careful("backup", when, todo),
        (None, Some(when)) => Check::well("backup", when),
    }
}

fn model(facts: &Facts) -> Vec<Check> {
    let wrong = |trouble: &ModelFacts| {
        let text = format!("{} does not answer: {}", trouble.model, trouble.problem);
        Check::wrong("answers", text, trouble.todo.clone())
    };
    match &facts.troubles[..] {
        [] if facts.model == "reflex" => {
            vec![Check::well("answers", "Hob answers by itself, without a model: it understands plain sentences.")]
        }
        // No call is made only to find out.
        [] => vec![Check::well("answers", format!("{} is in use; its last call did not fail.", facts.model))],
        troubles => troubles.iter().map(wrong).collect(),
    }
}

fn crashes(count: usize) -> Option<Check> {
    let text = format!("A part of Hob failed {} in the last week.", text_kit::counted(count, "time"));
    let todo = "send a support bundle (`hob support FILE`) to the people who make Hob";
    (count > 0).then(|| Check::careful("crashes", text, todo))
}

#[cfg(test)]
mod tests;
