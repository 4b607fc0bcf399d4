//! A clean end before the power is gone: by a button, by a pin of a battery board, and a warning when the voltage is too low.

use crate::{Check, Telling, shutdown, tell_household};
use board::{Board, Direction, Pin, PinSettings, Pull};
use serde::{Deserialize, Serialize};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use store::Store;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tool::{Ports, prelude::json};

/// How often a pin is read.
const POLL: Duration = Duration::from_millis(100);
/// How often the household is told of too little voltage at most.
const TELL_EVERY: Duration = Duration::from_secs(24 * 3600);
/// How much less often the voltage is read where it is unknown.
const UNKNOWN_TIMES: u32 = 10;
/// The longest times that are configured, in seconds.
const MAX_HOLD: u32 = 60;
const MAX_CHECK: u32 = 3600;

/// The section `[power]` of hob.toml.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PowerConfig {
    /// A button to ground: held so long, the device is switched off. 0: none.
    pub shutdown_pin: u8,
    pub hold_seconds: u32,
    /// A pin of a battery board that says that the mains are gone; at this level, for so long. 0: none.
    pub fail_pin: u8,
    pub fail_level: String,
    pub fail_seconds: u32,
    /// Switches the device off. Empty: the kernel does, if Hob runs as root.
    pub off_command: String,
    /// How often the voltage is looked at.
    pub check_seconds: u32,
}

impl Default for PowerConfig {
    fn default() -> Self {
        Self {
            shutdown_pin: 0,
            hold_seconds: 3,
            fail_pin: 0,
            fail_level: "low".into(),
            fail_seconds: 10,
            off_command: String::new(),
            check_seconds: 30,
        }
    }
}

impl PowerConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn check(&self) -> Result<(), String> {
        for (key, pin) in [("shutdown_pin", self.shutdown_pin), ("fail_pin", self.fail_pin)] {
            if pin > Pin::MAX {
                return Err(format!(
                    "`power.{key}`: {pin} is not a pin; use the BCM number, up to {}, or 0 for none",
                    Pin::MAX
                ));
            }
        }
        if self.shutdown_pin == self.fail_pin && self.fail_pin != 0 {
            return Err("`power.shutdown_pin` and `power.fail_pin` are the same pin".into());
        }
        if !["low", "high"].contains(&self.fail_level.as_str()) {
            return Err("`power.fail_level` must be \"low\" or \"high\"".into());
        }
        for (key, seconds, most) in [
            ("hold_seconds", self.hold_seconds, MAX_HOLD),
            ("fail_seconds", self.fail_seconds, MAX_HOLD),
            ("check_seconds", self.check_seconds, MAX_CHECK),
        ] {
            if !(1..=most).contains(&seconds) {
                return Err(format!("`power.{key}` must be 1 to {most}"));
            }
        }
        Ok(())
    }

    /// What is said where a button or the mains end Hob, and nothing lets it switch the device off; `allowed`: it may ask the kernel,
    /// or the image's init does it.
    pub fn stays_on(&self, allowed: bool) -> Option<Check> {
        let may = allowed || !self.off_command.is_empty();
        (self.pins().next().is_some() && !may).then(|| {
            Check::careful(
                "off",
                "The shutdown button and missing mains end Hob in order, but the device stays on: Hob may not switch it off.",
                "set `power.off_command = \"systemctl poweroff\"` in hob.toml, and let Hob's user do that: the action \
                 org.freedesktop.login1.power-off of polkit",
            )
        })
    }

    /// The pins it uses.
    pub fn pins(&self) -> impl Iterator<Item = u8> {
        [self.shutdown_pin, self.fail_pin].into_iter().filter(|pin| *pin != 0)
    }
}

/// The supply of power, and the end of the device; cheap to clone.
#[derive(Clone)]
pub struct Power(Arc<Inner>);

struct Inner {
    config: PowerConfig,
    board: Board,
    store: Store,
    ports: Ports,
    tell: Telling,
    /// Cancelled when the device should be switched off.
    asked: CancellationToken,
    is_low: AtomicBool,
}

/// What a pin does.
#[derive(Clone, Copy)]
struct Watched {
    pin: Pin,
    /// Whether it counts at 0 V.
    low: bool,
    lasts: Duration,
    what: &'static str,
}

impl Power {
    pub fn new(config: PowerConfig, board: Board, store: &Store, ports: Ports, tell: Telling) -> Self {
        let asked = CancellationToken::new();
        Self(Arc::new(Inner {
            config,
            board,
            store: store.clone(),
            ports,
            tell,
            asked,
            is_low: AtomicBool::new(false),
        }))
    }

    /// Waits until the device should be switched off.
    pub async fn asked(&self) {
        self.0.asked.cancelled().await;
    }

    /// Whether the device should be switched off.
    pub fn is_asked(&self) -> bool {
        self.0.asked.is_cancelled()
    }

    /// Whether the supply gives too little voltage, where that is known.
    pub fn under_voltage(&self) -> Option<bool> {
        self.0.board.under_voltage()
    }

    /// Switches the device off if that was asked for; `false` when it is still to be switched off. To be called once everything is
    /// closed.
    pub fn finish(&self) -> bool {
        if !self.is_asked() {
            return true;
        }
        match shutdown::off(&self.0.config.off_command, self.0.board.simulator().is_some()) {
            Ok(()) => {
                tracing::info!("the device is switched off");
                true
            }
            Err(why) => {
                tracing::error!("{why}");
                false
            }
        }
    }

    /// Watches the pins and the voltage until `closing`.
    pub async fn watch(self, closing: CancellationToken) {
        let config = &self.0.config;
        let seconds = |n: u32| Duration::from_secs(n.into());
        let pins = [
            (config.shutdown_pin, true, config.hold_seconds, "the shutdown button was held"),
            (config.fail_pin, config.fail_level == "low", config.fail_seconds, "the mains are gone"),
        ];
        let pins = pins.into_iter().filter(|(pin, ..)| *pin != 0).filter_map(|(pin, low, lasts, what)| {
            Some(Watched { pin: Pin::new(pin.into())?, low, lasts: seconds(lasts), what })
        });
        let pins: Vec<_> = pins.map(|watched| self.watch_pin(watched)).collect();
        let work = futures::future::join(futures::future::join_all(pins), self.watch_voltage(|| self.under_voltage()));
        let _ = closing.run_until_cancelled(work).await;
    }

    /// Ends once the pin has been at its level for long enough.
    async fn watch_pin(&self, watched: Watched) {
        let Watched { pin, low, lasts, what } = watched;
        let pull = if low { Pull::Up } else { Pull::Down };
        let settings = PinSettings {
            direction: Some(Direction::Input),
            pull: Some(pull),
            active_low: low,
            ..PinSettings::default()
        };
        if let Err(error) = self.0.board.configure(pin, settings) {
            return tracing::error!(%error, pin = pin.number(), "a pin of `[power]` cannot be used");
        }
        // A pin that is never at rest is wired wrongly, or set to the wrong level: acting on it would make every start the last.
        self.wait_for(pin, false).await;
        loop {
            self.wait_for(pin, true).await;
            let began = Instant::now();
            if timeout(lasts, self.wait_for(pin, false)).await.is_err() {
                break;
            }
            tracing::info!(
                pin = pin.number(),
                ms = began.elapsed().as_millis() as u64,
                "released too early to switch off"
            );
        }
        tracing::warn!("{what}: everything is stored, and the device is switched off");
        self.0.ports.bus.publish("power:off", None, json!({"why": what}));
        self.0.asked.cancel();
    }

    /// Waits until the pin is on or off. It is read and not watched: what flaps for a moment is no wish.
    async fn wait_for(&self, pin: Pin, on: bool) {
        while !self.0.board.read(pin).await.is_ok_and(|level| level.high == on) {
            tokio::time::sleep(POLL).await;
        }
    }

    async fn watch_voltage(&self, read: impl Fn() -> Option<bool>) {
        let every = Duration::from_secs(self.0.config.check_seconds.into());
        let mut told: Option<Instant> = None;
        loop {
            let Some(low) = read() else {
                // Most boards never know; on others a driver may come late, or fail for a moment.
                tokio::time::sleep(every * UNKNOWN_TIMES).await;
                continue;
            };
            let was_low = self.0.is_low.swap(low, Ordering::Relaxed);
            if low && !was_low {
                tracing::warn!("the power supply gives too little voltage");
                // What waits for a shared commit is stored now: the power may go at any moment.
                if let Err(error) = self.0.store.flush().await {
                    tracing::warn!(%error, "what was waiting could not be stored");
                }
                self.0.ports.bus.publish("power:low", None, json!({"low": true}));
                if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
                    told = Some(Instant::now());
                    let text = "The power supply of this device gives too little voltage, which damages files and slows it down. \
                                Use a supply and a cable made for the board.";
                    tell_household(&self.0.tell, "Too little voltage", text).await;
                }
            } else if was_low && !low {
                tracing::info!("the voltage is right again");
                self.0.ports.bus.publish("power:low", None, json!({"low": false}));
            }
            tokio::time::sleep(every).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::BoardKind;
    use tool::SystemClock;

    #[test]
    fn what_cannot_work_is_refused() {
        let config = PowerConfig::default;
        assert_eq!(config().check(), Ok(()));
        for (odd, part) in [
            (PowerConfig { shutdown_pin: 28, ..config() }, "28 is not a pin"),
            (PowerConfig { shutdown_pin: 3, fail_pin: 3, ..config() }, "the same pin"),
            (PowerConfig { fail_level: "down".into(), ..config() }, "\"low\" or \"high\""),
            (PowerConfig { hold_seconds: 0, ..config() }, "1 to 60"),
            (PowerConfig { check_seconds: 9999, ..config() }, "1 to 3600"),
        ] {
            assert!(odd.check().unwrap_err().contains(part), "{odd:?}");
        }
    }

    #[test]
    fn a_device_that_stays_on_is_said() {
        let with = |pin, command: &str| PowerConfig {
            shutdown_pin: pin,
            off_command: command.into(),
            ..PowerConfig::default()
        };
        assert_eq!(with(0, "").stays_on(false), None, "there is no button");
        assert_eq!(with(3, "systemctl poweroff").stays_on(false), None);
        assert_eq!(with(3, "").stays_on(true), None);
        let said = with(3, "").stays_on(false).unwrap();
        assert!(said.text.contains("the device stays on") && said.todo.unwrap().contains("power.off_command"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_voltage_that_is_unknown_for_a_moment_is_looked_at_again() {
        let board = Board::open(BoardKind::Sim);
        let ports = Ports::unconnected(Arc::new(SystemClock::new(Some("UTC")).unwrap()));
        let told = Arc::new(tokio::sync::Notify::new());
        let heard = told.clone();
        let tell: Telling = Arc::new(move |_, _| {
            heard.notify_one();
            Box::pin(async { Ok(()) })
        });
        let power = Power::new(PowerConfig::default(), board, &Store::in_memory().unwrap(), ports, tell);
        let left = std::sync::Mutex::new([None, Some(false), None, Some(true)].into_iter());
        let looking = power.watch_voltage(|| left.lock().unwrap().next().unwrap_or(Some(false)));
        tokio::select! {
            () = looking => panic!("it ended"),
            () = told.notified() => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_button_that_is_held_and_mains_that_stay_away_end_it() {
        for (button, fail_level) in [(true, "low"), (false, "high")] {
            let board = Board::open(BoardKind::Sim);
            let pins = if button { (3, 0) } else { (0, 4) };
            let config = PowerConfig {
                shutdown_pin: pins.0,
                fail_pin: pins.1,
                fail_level: fail_level.into(),
                off_command: "true".into(),
                ..PowerConfig::default()
            };
            let ports = Ports::unconnected(Arc::new(SystemClock::new(Some("UTC")).unwrap()));
            let tell: Telling = Arc::new(|_, _| Box::pin(async { Ok(()) }));
            let power = Power::new(config, board.clone(), &Store::in_memory().unwrap(), ports, tell);
            let (sim, pin) = (board.simulator().unwrap(), Pin::new(if button { 3 } else { 4 }).unwrap());
            let closing = CancellationToken::new();
            let watching = tokio::spawn(power.clone().watch(closing.clone()));
            let press = |down: bool| sim.set(pin, down != button);
            press(false);
            let wait = |ms: u64| tokio::time::sleep(Duration::from_millis(ms));
            wait(500).await;
            press(true);
            wait(1500).await;
            press(false);
            wait(20_000).await;
            assert!(!power.0.asked.is_cancelled(), "too short");
            press(true);
            timeout(Duration::from_secs(30), power.asked()).await.unwrap();
            closing.cancel();
            watching.await.unwrap();
            power.finish();
        }
    }
}
