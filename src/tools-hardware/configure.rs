//! Configure a pin: what is connected, its direction, and what must never happen there.

use crate::{map::warnings, names::capital, pins::Pins};
use board::{Direction, Pin, PinKind, PinTable, Pull, Rest};
use text_kit::{duration_words, join_and};
use tool::prelude::*;

/// Configure a header pin: what is connected, direction, pull, debounce, and its safety: boot and fail-safe state, maximum
/// on-time, interlock; and dimming. Fields that are left out stay as they are; `reset` takes settings back. Settings of hob.toml cannot be
/// changed here.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configure {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// Kind of thing connected. Covers, locks and alarms ask a person before they open, unlock or disarm.
    kind: Option<PinKind>,
    /// Whether it is read or driven.
    direction: Option<Direction>,
    /// Internal resistor of an input.
    pull: Option<Pull>,
    /// How many milliseconds after an edge further edges are bounce (default: 5).
    #[schemars(range(max = 10_000))]
    debounce_ms: Option<u32>,
    /// Whether it is on at a low level.
    active_low: Option<bool>,
    /// State at a start.
    boot: Option<Rest>,
    /// State at a stop, crash or update.
    fail_safe: Option<Rest>,
    /// Longest time on in seconds; then the board switches it off. 0: no limit.
    #[schemars(range(max = 604_800))]
    max_on_seconds: Option<u32>,
    /// Interlock group: of its pins, at most one is on. Empty: none.
    #[schemars(length(max = 40))]
    interlock: Option<String>,
    /// Whether the others of the group are switched off first, and not the call refused.
    interlock_switches: Option<bool>,
    /// From how many milliseconds on a press is long (default: 600).
    #[schemars(range(max = 10_000))]
    long_press_ms: Option<u32>,
    /// Within how many milliseconds a second press makes it double (default: 300). 0: never, short presses are reported at once.
    #[schemars(range(max = 10_000))]
    double_press_ms: Option<u32>,
    /// Dim it by PWM at this frequency, such as 1000, for a light or fan. 0: only on and off.
    #[schemars(range(max = 50_000))]
    pwm_hertz: Option<u32>,
    /// Settings to take back, so that their defaults hold: names of the fields above, or "all".
    #[schemars(length(max = 14))]
    reset: Option<Vec<Field>>,
}

/// A setting that can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Field {
    All,
    Kind,
    Direction,
    Pull,
    DebounceMs,
    ActiveLow,
    Boot,
    FailSafe,
    MaxOnSeconds,
    Interlock,
    InterlockSwitches,
    LongPressMs,
    DoublePressMs,
    PwmHertz,
}

/// The settings without those that are taken back.
fn without(table: PinTable, reset: &[Field]) -> PinTable {
    let has = |field: Field| !reset.contains(&field) && !reset.contains(&Field::All);
    PinTable {
        kind: table.kind.filter(|_| has(Field::Kind)),
        direction: table.direction.filter(|_| has(Field::Direction)),
        pull: table.pull.filter(|_| has(Field::Pull)),
        debounce_ms: table.debounce_ms.filter(|_| has(Field::DebounceMs)),
        active_low: table.active_low.filter(|_| has(Field::ActiveLow)),
        boot: table.boot.filter(|_| has(Field::Boot)),
        fail_safe: table.fail_safe.filter(|_| has(Field::FailSafe)),
        max_on_seconds: table.max_on_seconds.filter(|_| has(Field::MaxOnSeconds)),
        interlock: table.interlock.filter(|_| has(Field::Interlock)),
        interlock_switches: table.interlock_switches.filter(|_| has(Field::InterlockSwitches)),
        long_press_ms: table.long_press_ms.filter(|_| has(Field::LongPressMs)),
        double_press_ms: table.double_press_ms.filter(|_| has(Field::DoublePressMs)),
        pwm_hertz: table.pwm_hertz.filter(|_| has(Field::PwmHertz)),
        ..table
    }
}

impl Configure {
    fn table(&self) -> PinTable {
        PinTable {
            kind: self.kind,
            direction: self.direction,
            pull: self.pull,
            debounce_ms: self.debounce_ms,
            active_low: self.active_low,
            boot: self.boot,
            fail_safe: self.fail_safe,
            max_on_seconds: self.max_on_seconds,
            interlock: self.interlock.as_ref().map(|group| group.trim().to_owned()),
            interlock_switches: self.interlock_switches,
            long_press_ms: self.long_press_ms,
            double_press_ms: self.double_press_ms,
            pwm_hertz: self.pwm_hertz,
            ..PinTable::new(self.pin)
        }
    }
}

/// Whether a call takes the guard from a door, lock or alarm, or sets a state that opens one.
pub(crate) fn opens(pins: &Pins, args: &Value) -> bool {
    let Ok(args) = serde_json::from_value::<Configure>(args.clone()) else { return false };
    let becomes = args.kind.is_some_and(|kind| kind.opens_at().is_some());
    pins.opens(Some(args.pin), None) || becomes && (args.boot.is_some() || args.fail_safe.is_some())
}

/// The fields that a call sets and hob.toml sets, too.
fn in_file(file: &PinTable, given: &PinTable) -> Vec<&'static str> {
    let both = [
        ("kind", file.kind.is_some() && given.kind.is_some_and(|kind| file.kind != Some(kind))),
        ("direction", differs(file.direction, given.direction)),
        ("pull", differs(file.pull, given.pull)),
        ("debounce_ms", differs(file.debounce_ms, given.debounce_ms)),
        ("active_low", differs(file.active_low, given.active_low)),
        ("boot", differs(file.boot, given.boot)),
        ("fail_safe", differs(file.fail_safe, given.fail_safe)),
        ("max_on_seconds", differs(file.max_on_seconds, given.max_on_seconds)),
        ("interlock", differs(file.interlock.as_ref(), given.interlock.as_ref())),
        ("interlock_switches", differs(file.interlock_switches, given.interlock_switches)),
        ("long_press_ms", differs(file.long_press_ms, given.long_press_ms)),
        ("double_press_ms", differs(file.double_press_ms, given.double_press_ms)),
        ("pwm_hertz", differs(file.pwm_hertz, given.pwm_hertz)),
    ];
    both.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
}

fn differs<T: PartialEq>(file: Option<T>, given: Option<T>) -> bool {
    file.is_some() && given.is_some() && file != given
}

pub(crate) async fn configure(pins: Pins, cx: Cx, args: Configure) -> Result<Output> {
    let (pin, given) = (args.pin, args.table());
    let config = pins.board.config();
    let file = config.entry(pin).map(|(_, table)| table.clone());
    if let Some(set) = file.as_ref().map(|file| in_file(file, &given)).filter(|set| !set.is_empty()) {
        let names: Vec<String> = set.iter().map(|name| format!("`{name}`")).collect();
        return Err(Error::denied(format!("hob.toml sets {} of pin {pin}: change it there", join_and(&names))));
    }
    let drives = given.direction == Some(Direction::Output) || given.kind.is_some_and(|kind| !kind.is_input());
    if drives && !config.allows(pin) {
        return Err(Error::denied(format!(
            "pin {pin} may not be driven: it is not in `pins.allow` of hob.toml. Use another pin, or add it there"
        )));
    }
    let (base, asked, reset) = (file.clone(), given.clone(), args.reset.unwrap_or_default());
    if let Some(file) = &file {
        // All that can be taken back are those of the file, too.
        let named: Vec<Field> = reset.iter().copied().filter(|field| *field != Field::All).collect();
        if without(file.clone(), &named) != *file {
            return Err(Error::denied(format!("hob.toml sets some of these of pin {pin}: change it there")));
        }
    }
    pins.names
        .change(&cx, "configure_pin", pin.number(), move |old| {
            let before = old.table().unwrap_or_else(|| PinTable::new(pin));
            let reads = |table: &PinTable| table.settings().direction == Some(Direction::Input);
            let left = without(before.clone(), &reset);
            // If its kind or direction made it a sensor, it is none without.
            let old = if reads(&before) && !reads(&left) { old.driven() } else { old };
            let before = left;
            // A kind of the other direction, or a direction of the other kind, is replaced.
            let before = match (asked.kind.map(PinKind::is_input), asked.direction) {
                (Some(_), None) => PinTable { direction: None, ..before },
                (None, Some(_)) => PinTable { kind: None, ..before },
                _ => before,
            };
            let next = asked.clone().or(before);
            let effective = base.clone().map_or_else(|| next.clone(), |file| file.or(next.clone()));
            effective.check().map_err(|why| Error::bad_args(capital(&why)))?;
            let next = PinTable { interlock: next.interlock.filter(|group| !group.is_empty()), ..next };
            Ok(old.with(&next))
        })
        .await?;
    let now = pins.names.now().remove(&pin.number()).unwrap_or_default();
    let table = now.table().filter(|table| table.pin == pin).unwrap_or_else(|| PinTable::new(pin));
    let warnings = warnings(&pins, pin, Some(&table), true);
    let name = if now.name.is_empty() { format!("Pin {pin}") } else { capital(&now.name) };
    let mut sentence = format!("{name} is {}.", words(&table));
    for warning in &warnings {
        sentence = format!("{sentence} {warning}");
    }
    Ok(Output::json(json!({"settings": table, "warnings": warnings}))?.say(sentence))
}

/// "an input with a pull-up", "a light, on for at most 20 seconds, off at a stop".
fn words(table: &PinTable) -> String {
    let settings = table.settings();
    let mut parts = vec![match (table.kind, settings.direction) {
        (Some(kind), _) => of_kind(kind).to_owned(),
        (None, Some(Direction::Input)) => "an input".to_owned(),
        (None, Some(Direction::Output)) => "an output".to_owned(),
        (None, None) => "a plain pin".to_owned(),
    }];
    match table.pull {
        Some(Pull::Up) => parts[0].push_str(" with a pull-up"),
        Some(Pull::Down) => parts[0].push_str(" with a pull-down"),
        Some(Pull::Off) | None => {}
    }
    if table.dims().is_some() {
        parts.push("dimmed by PWM".into());
    }
    if settings.active_low {
        parts.push("on at a low level".into());
    }
    if let Some(most) = settings.max_on {
        parts.push(format!("on for at most {}", duration_words(i64::try_from(most.as_secs()).unwrap_or(i64::MAX))));
    }
    for (rest, when) in [(settings.rest_at_boot(), "a start"), (settings.rest_at_stop(), "a stop")] {
        match rest {
            Rest::Keep => {}
            Rest::Off => parts.push(format!("off at {when}")),
            Rest::On => parts.push(format!("on at {when}")),
        }
    }
    if !settings.interlock.is_empty() {
        parts.push(format!("never on together with others of `{}`", settings.interlock));
    }
    parts.join(", ")
}

fn of_kind(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Light => "a light",
        PinKind::Switch => "a switch",
        PinKind::Fan => "a fan",
        PinKind::Cover => "a cover",
        PinKind::Lock => "a lock",
        PinKind::Alarm => "an alarm",
        PinKind::Contact => "a contact",
        PinKind::Sensor => "a sensor",
        PinKind::Button => "a button",
    }
}
