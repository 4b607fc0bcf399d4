//! The pins of a board: levels, settings, and what must never happen whoever calls: interlocks, time limits, pins that may not
//! be driven.

use crate::{
    Error, Level, Pin, Result,
    alarm::Alarm,
    driver::{Driver, PwmSource},
    edges::Tracker,
    header::reserved,
    pin::Wave,
    rate::Rates,
    settings::{Direction, PinSettings, PinsConfig, Rest},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// When switching off is tried again after it failed.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Pins {
    driver: Option<Box<dyn Driver>>,
    why: String,
    /// The pins that may be driven; empty: all.
    allow: Vec<Pin>,
    tracker: Arc<Tracker>,
    alarm: Arc<Alarm>,
    settings: BTreeMap<Pin, PinSettings>,
    /// The pins that were written.
    driven: BTreeSet<Pin>,
    waves: BTreeMap<Pin, Wave>,
    /// The inputs whose edges the driver reports.
    watched: BTreeSet<Pin>,
    /// The inputs that were to be watched and have to be read.
    unwatchable: BTreeSet<Pin>,
    /// Until when pins may be on.
    on_until: BTreeMap<Pin, Instant>,
    /// When pulses end.
    pulses: BTreeMap<Pin, Instant>,
    /// How fast they may be switched.
    rates: Rates,
}

/// The error for a pin that the allow-list does not have.
pub(crate) fn not_allowed(pin: Pin) -> Error {
    Error::Refused(format!(
        "pin {pin} may not be driven: it is not in `pins.allow` of hob.toml. Use another pin, or add it there"
    ))
}

impl Pins {
    pub fn new(
        driver: Option<Box<dyn Driver>>,
        why: String,
        config: &PinsConfig,
        tracker: Arc<Tracker>,
        alarm: Arc<Alarm>,
    ) -> Self {
        Self {
            driver,
            why,
            allow: config.allow.clone(),
            tracker,
            alarm,
            settings: BTreeMap::new(),
            driven: BTreeSet::new(),
            waves: BTreeMap::new(),
            watched: BTreeSet::new(),
            unwatchable: BTreeSet::new(),
            on_until: BTreeMap::new(),
            pulses: BTreeMap::new(),
            rates: Rates::new(config.rate),
        }
    }

    pub fn has_driver(&self) -> bool {
        self.driver.is_some()
    }

    pub fn driver_name(&self) -> &'static str {
        self.driver.as_ref().map_or("none", |driver| driver.name())
    }

    /// The pins the driver has.
    pub fn all(&self) -> Vec<Pin> {
        Pin::all().filter(|pin| self.driver.as_ref().is_some_and(|driver| driver.has(*pin))).collect()
    }

    pub fn settings(&self, pin: Pin) -> PinSettings {
        self.settings.get(&pin).cloned().unwrap_or_default()
    }

    fn driver_for(&mut self, pin: Pin) -> Result<&mut dyn Driver> {
        let driver = self.driver.as_mut().ok_or_else(|| Error::NoDriver(self.why.clone()))?;
        if !driver.has(pin) {
            return Err(Error::NoSuchPin(pin));
        }
        Ok(driver.as_mut())
    }

    fn active_low(&self, pin: Pin) -> bool {
        self.settings.get(&pin).is_some_and(|settings| settings.active_low)
    }

    /// Whether the pin is on, whatever level that is.
    fn is_on(&mut self, pin: Pin) -> Result<bool> {
        if let Some(wave) = self.waves.get(&pin) {
            return Ok(wave.on_ns > 0);
        }
        let low = self.active_low(pin);
        Ok(self.driver_for(pin)?.read(pin)? != low)
    }

    fn level(&self, pin: Pin, high: bool) -> Level {
        Level { pin, high, driven: self.driven.contains(&pin), pwm: self.waves.get(&pin).copied() }
    }

    pub fn read(&mut self, pin: Pin) -> Result<Level> {
        let high = self.is_on(pin)?;
        // The edges of a watched pin come by themselves, and debounced. The first sight of it is none.
        if !self.watched.contains(&pin) || self.tracker.level(pin).is_none() {
            self.tracker.seen(pin, high, self.driven.contains(&pin));
        }
        Ok(self.level(pin, high))
    }

    /// Whether a rule forbids driving the pin at all.
    fn check_output(&mut self, pin: Pin) -> Result<()> {
        self.driver_for(pin)?;
        if !self.allow.is_empty() && !self.allow.contains(&pin) {
            return Err(not_allowed(pin));
        }
        if self.settings.get(&pin).is_some_and(|settings| settings.direction == Some(Direction::Input)) {
            return Err(Error::Refused(format!(
                "pin {pin} is an input, and driving it could damage what is connected: `configure_pin` makes it an output"
            )));
        }
        Ok(())
    }

    /// The pins of its interlock group that are on and are switched off first.
    ///
    /// # Errors
    /// `Refused` where they are not switched off for this pin, or may not be driven.
    fn interlocked(&mut self, pin: Pin) -> Result<Vec<Pin>> {
        let own = self.settings(pin);
        let mut on = vec![];
        if own.interlock.is_empty() {
            return Ok(on);
        }
        let group = |settings: &PinSettings| settings.interlock == own.interlock;
        let others: Vec<Pin> =
            self.settings.iter().filter(|(other, s)| **other != pin && group(s)).map(|(other, _)| *other).collect();
        for other in others {
            // A pin that cannot be read might be on.
            if !self.is_on(other)? {
                continue;
            }
            if !own.interlock_switches {
                return Err(Error::Refused(format!(
                    "pin {pin} is not switched on, because pin {other} is on and they must never be on together \
                     (interlock `{}`): switch pin {other} off first",
                    own.interlock
                )));
            }
            self.check_output(other)?;
            on.push(other);
        }
        Ok(on)
    }

    fn switch_off(&mut self, pins: Vec<Pin>) -> Result<()> {
        pins.into_iter().try_for_each(|pin| self.drive(pin, false))
    }

    pub fn write(&mut self, pin: Pin, high: bool) -> Result<Level> {
        self.check_output(pin)?;
        // An unreadable pin is about to be switched.
        let before = self.is_on(pin).unwrap_or(!high);
        let others = if high { self.interlocked(pin)? } else { vec![] };
        // Before anything is switched: a refused call changes nothing.
        if before != high {
            self.rates.take(pin, before, Instant::now())?;
        }
        self.switch_off(others)?;
        self.drive(pin, high)?;
        Ok(self.level(pin, high))
    }

    /// Drives a pin without asking whether it may be.
    fn drive(&mut self, pin: Pin, high: bool) -> Result<()> {
        let low = self.active_low(pin);
        self.driver_for(pin)?.write(pin, high != low)?;
        if self.waves.remove(&pin).is_some() {
            self.tracker.touch();
        }
        self.is_driven(pin, high);
        Ok(())
    }

    /// Switches a pin on, and off by itself after a time: nobody has to wait for that.
    pub fn pulse(&mut self, pin: Pin, lasts: Duration) -> Result<Level> {
        let level = self.write(pin, true)?;
        let end = Instant::now() + lasts;
        self.pulses.insert(pin, end);
        self.alarm.set(end);
        Ok(level)
    }

    fn is_driven(&mut self, pin: Pin, on: bool) {
        self.pulses.remove(&pin);
        self.driven.insert(pin);
        self.watched.remove(&pin);
        self.limit(pin, on);
        self.tracker.seen(pin, on, true);
    }

    /// Begins or ends the time a pin may be on. Switching on what is on does not prolong it.
    fn limit(&mut self, pin: Pin, on: bool) {
        match self.settings.get(&pin).and_then(|settings| settings.max_on).filter(|_| on) {
            None => drop(self.on_until.remove(&pin)),
            Some(most) => {
                let until = *self.on_until.entry(pin).or_insert_with(|| Instant::now() + most);
                self.alarm.set(until);
            }
        }
    }

    pub fn pwm(&mut self, pin: Pin, wave: Wave) -> Result<(Level, PwmSource)> {
        self.check_output(pin)?;
        let on = wave.on_ns > 0;
        let before = self.is_on(pin).unwrap_or(!on);
        let others = if on { self.interlocked(pin)? } else { vec![] };
        // Another brightness is no switch, and on and off by signals are.
        if before != on {
            self.rates.take(pin, before, Instant::now())?;
        }
        self.switch_off(others)?;
        // With `active_low`, it is on in the low part of each period.
        let signal = match self.active_low(pin) {
            true => Wave { on_ns: wave.period_ns.saturating_sub(wave.on_ns), ..wave },
            false => wave,
        };
        let source = self.driver_for(pin)?.pwm(pin, signal)?;
        let brightness = self.waves.insert(pin, wave);
        self.is_driven(pin, on);
        if brightness != Some(wave) {
            self.tracker.touch();
        }
        Ok((self.level(pin, on), source))
    }

    /// Switches off what has been on for as long as it may; when the next time is over.
    pub fn switch_off_due(&mut self, now: Instant) -> Option<Instant> {
        let over = |times: &BTreeMap<Pin, Instant>| -> BTreeSet<Pin> {
            times.iter().filter(|(_, until)| **until <= now).map(|(pin, _)| *pin).collect()
        };
        let (limited, pulsed) = (over(&self.on_until), over(&self.pulses));
        for pin in limited.union(&pulsed).copied() {
            match self.drive(pin, false) {
                Ok(()) if pulsed.contains(&pin) => {}
                Ok(()) => tracing::warn!(%pin, "switched off: it was on for as long as it may be"),
                Err(error) => {
                    tracing::error!(%pin, %error, "could not be switched off at the end of its time; trying again");
                    self.pulses.remove(&pin);
                    self.on_until.insert(pin, now + AGAIN);
                }
            }
        }
        self.on_until.values().chain(self.pulses.values()).min().copied()
    }

    pub fn configure(&mut self, pin: Pin, settings: PinSettings) -> Result<()> {
        let before = self.settings.insert(pin, settings.clone()).unwrap_or_default();
        if before == settings {
            return Ok(());
        }
        self.unwatchable.remove(&pin);
        self.tracker.set(pin, settings.debounce, settings.active_low);
        if before.max_on != settings.max_on {
            self.on_until.remove(&pin);
        }
        self.driver_for(pin)?;
        match settings.direction {
            Some(Direction::Input) if (before.direction, before.pull) != (settings.direction, settings.pull) => {
                self.watch_as_input(pin)?;
            }
            Some(Direction::Input) => {}
            // A pin that is on already is limited from now on.
            Some(Direction::Output) | None => {
                if self.driven.contains(&pin) && settings.max_on.is_some() {
                    let on = self.is_on(pin)?;
                    self.limit(pin, on);
                }
                let regrouped = before.interlock != settings.interlock || before.active_low != settings.active_low;
                if regrouped && self.driven.contains(&pin) && self.is_on(pin)? {
                    self.join_on(pin)?;
                }
            }
        }
        Ok(())
    }

    /// A pin that is on has come into an interlock group: where another is on, it is switched off.
    fn join_on(&mut self, pin: Pin) -> Result<()> {
        if let Some(other) = self.on_beside(pin)? {
            tracing::warn!(%pin, %other, "switched off: the other one of its interlock group is on");
            self.drive(pin, false)?;
        }
        Ok(())
    }

    /// Another pin of its interlock group that is on.
    fn on_beside(&mut self, pin: Pin) -> Result<Option<Pin>> {
        let own = self.settings(pin).interlock;
        if own.is_empty() {
            return Ok(None);
        }
        let others: Vec<Pin> = self
            .settings
            .iter()
            .filter(|(other, s)| **other != pin && s.interlock == own)
            .map(|(other, _)| *other)
            .collect();
        for other in others {
            if self.is_on(other)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    fn watch_as_input(&mut self, pin: Pin) -> Result<bool> {
        let pull = self.settings(pin).pull;
        let watched = self.driver_for(pin)?.input(pin, pull)?;
        self.driven.remove(&pin);
        self.waves.remove(&pin);
        self.on_until.remove(&pin);
        self.pulses.remove(&pin);
        if watched {
            self.watched.insert(pin);
        }
        let high = self.is_on(pin)?;
        self.tracker.seen(pin, high, false);
        Ok(watched)
    }

    pub fn is_watched(&self, pin: Pin) -> bool {
        self.watched.contains(&pin) || self.driven.contains(&pin)
    }

    pub fn watch(&mut self, pin: Pin) -> bool {
        if self.is_watched(pin) {
            return true;
        }
        if self.unwatchable.contains(&pin) {
            return false;
        }
        // Requesting a line makes it an input: what is an output, or something else, is only read.
        let is_input = self.driver_for(pin).is_ok_and(|driver| driver.direction(pin) == Some(Direction::Input));
        let settings = self.settings(pin);
        let free = settings.direction != Some(Direction::Output) && reserved(pin).is_none();
        let watched = is_input && free && self.watch_as_input(pin).unwrap_or(false);
        if is_input && !watched {
            // It is not requested again and again.
            self.unwatchable.insert(pin);
        }
        watched
    }

    pub fn boot(&mut self) {
        let rests: Vec<(Pin, Rest)> =
            self.settings.iter().map(|(pin, settings)| (*pin, settings.rest_at_boot())).collect();
        for (pin, rest) in rests {
            let high = match rest {
                Rest::Keep => continue,
                Rest::Off => false,
                Rest::On => true,
            };
            let others = self.check_output(pin).and_then(|()| if high { self.interlocked(pin) } else { Ok(vec![]) });
            let driven = others.and_then(|others| self.switch_off(others));
            if let Err(error) = driven.and_then(|()| self.drive(pin, high)) {
                tracing::warn!(%pin, %error, "its boot state could not be driven");
            }
        }
    }

    pub fn fail_safe(&mut self) {
        let mut states: Vec<(Pin, bool)> = vec![];
        for pin in self.driven.clone() {
            let high = match self.settings(pin).rest_at_stop() {
                // A signal without a program behind it is no state.
                Rest::Keep if self.waves.contains_key(&pin) => false,
                Rest::Keep => continue,
                Rest::Off => false,
                Rest::On => true,
            };
            states.push((pin, high));
        }
        // First off, so that what goes on finds its interlock group free.
        states.sort_by_key(|(_, high)| *high);
        for (pin, high) in states {
            // A pin that cannot be read might be on.
            let high = high && matches!(self.on_beside(pin), Ok(None));
            let low = self.active_low(pin);
            let held = self.driver_for(pin).and_then(|driver| driver.hold(pin, high != low));
            match held {
                Ok(()) => {
                    self.waves.remove(&pin);
                    self.limit(pin, high);
                    self.tracker.seen(pin, high, true);
                }
                Err(error) => tracing::warn!(%pin, %error, "its fail-safe state could not be driven"),
            }
        }
    }
}
