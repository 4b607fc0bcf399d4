//! A board in memory: the simulated twin that tests and `make run` use, with what is connected to it.

mod devices;
mod scenario;
mod serial;

use crate::{
    Error, Pin, Result,
    buses::{Buses, SpiTransfer, Thermometer},
    driver::{Driver, PwmSource, Sink},
    edges::{RawEdge, now_ns},
    pin::Wave,
    serial::SerialTransfer,
    settings::{Direction, Pull},
};
use devices::Devices;
use serde::{Deserialize, Serialize};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The section `[sim]` of hob.toml.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimConfig {
    /// A file with what happens at the pins, or a named pipe that it is written to. Empty: nothing happens.
    pub scenario: String,
}

/// A pin and what is connected to it.
#[derive(Clone, Copy, Default)]
struct Line {
    /// The level that Hob drives, if it does.
    driven: Option<bool>,
    wave: Option<Wave>,
    /// The level that the connected part drives.
    outside: Option<bool>,
    pull: Option<Pull>,
    watched: bool,
}

impl Line {
    fn level(self) -> bool {
        let by_pull = || self.pull == Some(Pull::Up);
        let by_wave = self.wave.map(|wave| wave.on_ns > 0);
        by_wave.or(self.driven).or(self.outside).unwrap_or_else(by_pull)
    }
}

struct World {
    lines: Mutex<Vec<Line>>,
    devices: Mutex<Devices>,
    under_voltage: AtomicBool,
    sink: Sink,
}

/// The world around the simulated board, for tests and scenarios; cheap to clone.
#[derive(Clone)]
pub struct Simulator(Arc<World>);

/// The driver over it.
pub(crate) struct Sim(Simulator);

impl Sim {
    pub fn new(sink: Sink, config: &SimConfig) -> Self {
        let lines = Mutex::new(Pin::all().map(|_| Line::default()).collect());
        let world = Arc::new(World { lines, devices: Mutex::default(), under_voltage: AtomicBool::new(false), sink });
        scenario::follow(Arc::downgrade(&world), &config.scenario);
        Self(Simulator(world))
    }

    /// A driver over a world that is there.
    #[cfg(test)]
    pub fn over(simulator: Simulator) -> Self {
        Self(simulator)
    }

    pub fn simulator(&self) -> Simulator {
        self.0.clone()
    }
}

impl Simulator {
    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn devices(&self) -> MutexGuard<'_, Devices> {
        self.0.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a line; what then is another level at an input is an edge.
    fn change(&self, pin: Pin, change: impl FnOnce(&mut Line)) {
        let edge = {
            let mut lines = self.lines();
            let Some(line) = lines.get_mut(usize::from(pin.number())) else { return };
            let before = line.level();
            change(line);
            let reported = line.watched && line.driven.is_none() && line.wave.is_none();
            (reported && line.level() != before).then(|| line.level())
        };
        if let Some(high) = edge {
            (self.0.sink)(RawEdge { pin, high, at_ns: now_ns(), lost: 0 });
        }
    }

    fn line(&self, pin: Pin) -> Line {
        self.lines().get(usize::from(pin.number())).copied().unwrap_or_default()
    }

    /// Drives a pin from outside.
    pub fn set(&self, pin: Pin, high: bool) {
        self.change(pin, |line| line.outside = Some(high));
    }

    /// Presses a button at a pin and holds it: it connects the pin to the level that the pull is not.
    pub fn press(&self, pin: Pin, hold: Duration) {
        let down = self.line(pin).pull != Some(Pull::Up);
        self.set(pin, down);
        std::thread::sleep(hold);
        self.set(pin, !down);
    }

    /// A contact that bounces so often before it settles at a level.
    pub fn bounce(&self, pin: Pin, high: bool, times: u32) {
        for _ in 0..times {
            self.set(pin, high);
            self.set(pin, !high);
        }
        self.set(pin, high);
    }

    /// A line that flaps, with so many periods a second; how often its level changed.
    pub fn flap(&self, pin: Pin, hertz: u32, lasts: Duration) -> u64 {
        let half = Duration::from_secs_f64(0.5 / f64::from(hertz.clamp(1, 1_000_000)));
        let began = std::time::Instant::now();
        let (mut high, mut changes) = (self.line(pin).level(), 0_u32);
        while began.elapsed() < lasts {
            // As many edges as there would have been by now, however late this thread wakes.
            while half * changes < began.elapsed() {
                high = !high;
                changes += 1;
                self.set(pin, high);
            }
            std::thread::sleep(half);
        }
        changes.into()
    }

    /// The signal at a pin.
    pub fn wave(&self, pin: Pin) -> Option<Wave> {
        self.line(pin).wave
    }

    /// Whether the supply gives too little voltage.
    pub fn under_voltage(&self) -> bool {
        self.0.under_voltage.load(Ordering::Relaxed)
    }

    /// Weakens the supply, or makes it right again.
    pub fn set_under_voltage(&self, low: bool) {
        self.0.under_voltage.store(low, Ordering::Relaxed);
    }

    /// Warms or cools a thermometer: the one on I2C, or those on 1-Wire with this id. Whether there is such a one.
    pub fn temperature(&self, id: &str, celsius: f64) -> bool {
        self.devices().set_temperature(id, celsius)
    }
}

impl Driver for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }
    fn has(&self, _: Pin) -> bool {
        true
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        Ok(self.0.line(pin).level())
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.0.change(pin, |line| (line.driven, line.wave, line.watched) = (Some(high), None, false));
        Ok(())
    }
    fn input(&mut self, pin: Pin, pull: Option<Pull>) -> Result<bool> {
        self.0.change(pin, |line| {
            *line = Line { outside: line.outside, pull, ..Line::default() };
        });
        self.0.change(pin, |line| line.watched = true);
        Ok(true)
    }
    fn direction(&mut self, pin: Pin) -> Option<Direction> {
        let line = self.0.line(pin);
        let driven = line.driven.is_some() || line.wave.is_some();
        Some(if driven { Direction::Output } else { Direction::Input })
    }
    fn pwm(&mut self, pin: Pin, wave: Wave) -> Result<PwmSource> {
        self.0.change(pin, |line| (line.driven, line.wave, line.watched) = (Some(false), Some(wave), false));
        Ok(PwmSource::Simulated)
    }
    fn buses(&self) -> Arc<dyn Buses> {
        Arc::new(self.0.clone())
    }
}

/// The one bus that is simulated, on the pins that carry it on a Raspberry Pi.
const I2C_BUS: u8 = 1;
/// The one serial port that is simulated.
const SIM_PORT: &str = "/dev/ttySIM0";

fn check_bus(bus: u8) -> Result<()> {
    let none = || Error::Unsupported(format!("there is no I2C bus {bus} here: the simulated board has bus {I2C_BUS}"));
    (bus == I2C_BUS).then_some(()).ok_or_else(none)
}

impl Buses for Simulator {
    fn i2c_scan(&self, bus: u8) -> Result<Vec<u8>> {
        check_bus(bus)?;
        Ok(Devices::ADDRESSES.to_vec())
    }
    fn i2c(&self, bus: u8, address: u8, write: &[u8], read: &mut [u8]) -> Result<()> {
        check_bus(bus)?;
        let found = self.devices().i2c(address, write, read);
        found.ok_or_else(|| {
            let at = format!("no device answers on I2C bus {bus}, address {address:#04x}");
            Error::Bus(format!("{at}: `i2c_scan` shows those that do"))
        })
    }
    fn spi(&self, transfer: &SpiTransfer) -> Result<Vec<u8>> {
        // MOSI is wired to MISO.
        Ok(transfer.data.clone())
    }
    fn serial(&self, asked: &SerialTransfer) -> Result<Vec<u8>> {
        self.on_serial(asked)
    }
    fn thermometers(&self) -> Result<Vec<Thermometer>> {
        Ok(self.devices().thermometers())
    }
}
