//! Pins and buses behind one driver trait, and the state of the machine.
//!
//! [`Board`] is the one handle to the header: it has a driver, or keeps the reason why it has none. Every call on a pin is a
//! register access or one ioctl, so it is made directly. Calls on buses wait for devices, and are made on a thread of the pool.

mod alarm;
mod buses;
mod cdev;
mod device;
mod driver;
mod edge_thread;
mod edges;
mod error;
mod header;
mod health;
mod pin;
mod pins;
mod press;
mod rate;
mod rppal;
mod serial;
mod settings;
mod sim;
#[cfg(test)]
mod tests;

pub use buses::{I2C_ADDRESSES, SpiTransfer, Thermometer};
pub use device::{Device, Disk, Memory, State, total_memory};
pub use driver::PwmSource;
pub use edges::{Edge, EdgeCount};
pub use error::{Error, Result};
pub use header::{HeaderPin, header, reserved};
pub use health::{Throttling, Wear, Wifi};
pub use pin::{Level, Pin, Wave};
pub use press::{Press, PressKind, PressTimes};
pub use rate::PinRate;
pub use serial::{BAUD_RATES, MAX_SERIAL, MAX_SERIAL_WAIT, SerialConfig, SerialTransfer};
pub use settings::{
    Direction, MAX_MS, MAX_ON_SECONDS, PinEntry, PinKind, PinSettings, PinTable, PinsConfig, Pull, Rest,
};
pub use sim::{SimConfig, Simulator};

use alarm::Alarm;
use buses::Buses;
use driver::{Driver, Sink};
use edges::Tracker;
use header::{i2c_pins, spi_pins};
use pins::Pins;
use serde::{Deserialize, Serialize};
use std::{
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::{Semaphore, broadcast};

/// How long a call waits for the buses, and for a device on them.
const BUS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long reading all 1-Wire thermometers may take: each measures for most of a second.
const ONE_WIRE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of one transfer.
pub const MAX_TRANSFER: usize = 256;

/// Which driver to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoardKind {
    /// The hardware of this machine, whatever it is.
    #[default]
    Auto,
    /// Pins in memory.
    Sim,
    /// No pins at all.
    None,
}

impl FromStr for BoardKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "sim" => Ok(Self::Sim),
            "none" => Ok(Self::None),
            _ => Err(format!("`{text}` is not a board: use auto, sim or none")),
        }
    }
}

/// The driver in use, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// `rppal`, `cdev`, `sim` or `none`.
    pub driver: &'static str,
    /// Why this driver; with `none`, what is missing and what to do about it.
    pub why: String,
    /// The pins it has.
    pub pins: Vec<Pin>,
}

/// A handle to the header pins; cheap to clone.
#[derive(Clone)]
pub struct Board(Arc<Inner>);

struct Inner {
    why: String,
    config: PinsConfig,
    serial: OnceLock<SerialConfig>,
    state: Mutex<Pins>,
    tracker: Arc<Tracker>,
    alarm: Arc<Alarm>,
    buses: Option<Arc<dyn Buses>>,
    /// One call at a time uses the buses: a device that hangs blocks one thread.
    bus_turn: Arc<Semaphore>,
    /// A slow device on a serial port does not keep the other buses waiting.
    serial_turn: Arc<Semaphore>,
    simulator: Option<Simulator>,
}

/// All boards that live, for [`fail_safe_all`].
static BOARDS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

impl Board {
    /// Finds a driver. This never fails: without a driver, each later call returns the reason.
    pub fn open(kind: BoardKind) -> Self {
        Self::with_config(kind, PinsConfig::default(), &SimConfig::default())
    }

    /// The same, with the limits and pins of hob.toml.
    pub fn with_config(kind: BoardKind, config: PinsConfig, sim: &SimConfig) -> Self {
        let alarm = Arc::<Alarm>::default();
        let tracker = Arc::new(Tracker::new(alarm.clone()));
        let reported = Arc::downgrade(&tracker);
        let sink: Sink = Arc::new(move |edge| {
            if let Some(tracker) = reported.upgrade() {
                tracker.edge(edge);
            }
        });
        let mut simulator = None;
        let (driver, why) = match kind {
            BoardKind::Sim => {
                let driver = sim::Sim::new(sink, sim);
                simulator = Some(driver.simulator());
                (Some(Box::new(driver) as Box<dyn Driver>), "simulated, as asked".to_owned())
            }
            BoardKind::None => (None, "the board is switched off (`--board none`)".to_owned()),
            BoardKind::Auto => find(sink),
        };
        tracing::info!(driver = driver.as_ref().map_or("none", |d| d.name()), %why, "board");
        Self::assemble(driver, why, config, (alarm, tracker), simulator)
    }

    fn assemble(
        driver: Option<Box<dyn Driver>>,
        why: String,
        config: PinsConfig,
        (alarm, tracker): (Arc<Alarm>, Arc<Tracker>),
        simulator: Option<Simulator>,
    ) -> Self {
        let buses = driver.as_ref().map(|driver| driver.buses());
        let state = Mutex::new(Pins::new(driver, why.clone(), &config, tracker.clone(), alarm.clone()));
        let (bus_turn, serial_turn) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let inner = Arc::new(Inner {
            why,
            config,
            serial: OnceLock::new(),
            state,
            tracker,
            alarm,
            buses,
            bus_turn,
            serial_turn,
            simulator,
        });
        let due = Arc::downgrade(&inner);
        inner.alarm.on_due(move || due.upgrade()?.due());
        let mut boards = BOARDS.lock().unwrap_or_else(PoisonError::into_inner);
        boards.retain(|board| board.strong_count() > 0);
        boards.push(Arc::downgrade(&inner));
        Self(inner)
    }

    /// The level at a pin now. Reading changes neither direction nor function of the pin.
    ///
    /// # Errors
    /// `NoDriver`, `NoSuchPin`, `Failed`.
    pub async fn read(&self, pin: Pin) -> Result<Level> {
        self.pins().read(pin)
    }

    /// Drives a pin; it stays driven until written again or until Hob ends.
    ///
    /// # Errors
    /// `NoDriver`, `NoSuchPin`, `Refused`, `TooFast`, `Failed`.
    pub async fn write(&self, pin: Pin, high: bool) -> Result<Level> {
        self.pins().write(pin, high)
    }

    /// Switches a pin on for a time. The board switches it off by itself, whatever becomes of the caller.
    ///
    /// # Errors
    /// Those of `write`.
    pub async fn pulse(&self, pin: Pin, lasts: Duration) -> Result<Level> {
        self.pins().pulse(pin, lasts)
    }

    /// Drives a pin with a signal that is high for a part of each period, and says how the signal is made.
    ///
    /// # Errors
    /// Those of `write`, and `Unsupported`.
    pub async fn pwm(&self, pin: Pin, wave: Wave) -> Result<(Level, PwmSource)> {
        self.pins().pwm(pin, wave)
    }

    /// The levels of all pins that can be read; pins another program holds are left out.
    ///
    /// # Errors
    /// `NoDriver`.
    pub async fn levels(&self) -> Result<Vec<Level>> {
        let mut pins = self.pins();
        if !pins.has_driver() {
            return Err(Error::NoDriver(self.0.why.clone()));
        }
        Ok(Pin::all().filter_map(|pin| pins.read(pin).ok()).collect())
    }

    /// Configures a pin. An input is watched from then on, where the driver can.
    ///
    /// # Errors
    /// `NoSuchPin`, `Failed`. The settings hold all the same.
    pub fn configure(&self, pin: Pin, settings: PinSettings) -> Result<()> {
        self.pins().configure(pin, settings)
    }

    /// The settings of a pin.
    pub fn settings(&self, pin: Pin) -> PinSettings {
        self.pins().settings(pin)
    }

    /// Drives the boot states of all configured pins. A daemon does this once, after its configuration is known.
    pub fn boot(&self) {
        self.pins().boot();
    }

    /// Drives the fail-safe states of all pins that Hob drives: before a stop, an update, or after a crash. Also ends PWM there.
    pub fn fail_safe(&self) {
        self.pins().fail_safe();
    }

    /// Watches a pin, so that its edges are reported without reading it. `false` where it has to be read: the driver has no edges,
    /// or the pin is an output or reserved for something else.
    pub fn watch(&self, pin: Pin) -> bool {
        self.pins().watch(pin)
    }

    /// Whether the changes of a pin are reported without reading it.
    pub fn is_watched(&self, pin: Pin) -> bool {
        self.pins().is_watched(pin)
    }

    /// Edges from now on, debounced: what is written, noticed by reading, or reported by the driver.
    pub fn edges(&self) -> broadcast::Receiver<Edge> {
        self.0.tracker.subscribe()
    }

    /// The edges of a pin since the start.
    pub fn edge_count(&self, pin: Pin) -> EdgeCount {
        self.0.tracker.count(pin)
    }

    /// The level of a pin as it was last reported, without looking.
    pub fn last_level(&self, pin: Pin) -> Option<bool> {
        self.0.tracker.level(pin)
    }

    /// A number that is raised with every change of a level.
    pub fn version(&self) -> u64 {
        self.0.tracker.version()
    }

    /// The section `[pins]` of hob.toml.
    pub fn config(&self) -> &PinsConfig {
        &self.0.config
    }

    /// Whether it can be read and switched at all.
    pub fn has_driver(&self) -> bool {
        self.pins().has_driver()
    }

    /// The driver in use, and why.
    pub fn describe(&self) -> Description {
        let pins = self.pins();
        Description { driver: pins.driver_name(), why: self.0.why.clone(), pins: pins.all() }
    }

    /// Whether the supply of the device gives too little voltage now; `None` where nobody measures it.
    pub fn under_voltage(&self) -> Option<bool> {
        match &self.0.simulator {
            Some(simulator) => Some(simulator.under_voltage()),
            None => health::under_voltage(std::path::Path::new("/sys")),
        }
    }

    /// The world around a simulated board; `None` for others.
    pub fn simulator(&self) -> Option<Simulator> {
        self.0.simulator.clone()
    }

    /// The addresses that answer on an I2C bus.
    ///
    /// # Errors
    /// `NoDriver`, `Unsupported`, `Bus`.
    pub async fn i2c_scan(&self, bus: u8) -> Result<Vec<u8>> {
        self.on_bus(BUS_TIMEOUT, move |buses| buses.i2c_scan(bus)).await
    }

    /// Writes to a device on I2C and then reads from it; either may be empty.
    ///
    /// # Errors
    /// `NoDriver`, `Refused`, `Unsupported`, `Bus`.
    pub async fn i2c(&self, bus: u8, address: u8, write: Vec<u8>, read: usize) -> Result<Vec<u8>> {
        self.allowed(i2c_pins(bus))?;
        let mut back = vec![0; read.min(MAX_TRANSFER)];
        self.on_bus(BUS_TIMEOUT, move |buses| buses.i2c(bus, address, &write, &mut back).map(|()| back)).await
    }

    /// Sends bytes on SPI, and returns those that came back.
    ///
    /// # Errors
    /// `NoDriver`, `Refused`, `Unsupported`, `Bus`.
    pub async fn spi(&self, transfer: SpiTransfer) -> Result<Vec<u8>> {
        self.allowed(spi_pins(transfer.bus))?;
        self.on_bus(BUS_TIMEOUT, move |buses| buses.spi(&transfer)).await
    }

    /// All 1-Wire thermometers.
    ///
    /// # Errors
    /// `NoDriver`, `Unsupported`, `Bus`.
    pub async fn thermometers(&self) -> Result<Vec<Thermometer>> {
        self.on_bus(ONE_WIRE_TIMEOUT, |buses| buses.thermometers()).await
    }

    /// The serial ports that may be used: none before this, and it is said once.
    pub fn allow_serial(&self, config: SerialConfig) {
        let _ = self.0.serial.set(config);
    }

    /// Sends bytes on a serial port, and returns those that came back.
    ///
    /// # Errors
    /// `NoDriver`, `Refused`, `Unsupported`, `Bus`.
    pub async fn serial(&self, transfer: SerialTransfer) -> Result<Vec<u8>> {
        self.0.serial.get_or_init(SerialConfig::default).allows(&transfer.port)?;
        let wait = transfer.wait.min(MAX_SERIAL_WAIT) + BUS_TIMEOUT;
        self.in_turn(&self.0.serial_turn, wait, move |buses| buses.serial(&transfer)).await
    }

    fn allowed(&self, pins: &[u8]) -> Result<()> {
        let refused = pins.iter().filter_map(|n| Pin::new((*n).into())).find(|pin| !self.0.config.allows(*pin));
        refused.map_or(Ok(()), |pin| Err(pins::not_allowed(pin)))
    }

    async fn on_bus<T: Send + 'static>(
        &self,
        timeout: Duration,
        call: impl FnOnce(&dyn Buses) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_turn(&self.0.bus_turn, timeout, call).await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        turn: &Arc<Semaphore>,
        timeout: Duration,
        call: impl FnOnce(&dyn Buses) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let buses = self.0.buses.clone().ok_or_else(|| Error::NoDriver(self.0.why.clone()))?;
        let busy =
            || Error::Bus("the buses are busy, a device does not answer: look at its wires and try again".into());
        let turn = tokio::time::timeout(BUS_TIMEOUT, turn.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        let called = tokio::task::spawn_blocking(move || {
            // The turn ends with the call, even if nobody waits for it any more.
            let _turn = turn;
            call(buses.as_ref())
        });
        match tokio::time::timeout(timeout, called).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::Bus(format!("the call on the bus broke: {error}"))),
            Err(_) => Err(busy()),
        }
    }

    fn pins(&self) -> MutexGuard<'_, Pins> {
        self.0.pins()
    }
}

impl Inner {
    fn pins(&self) -> MutexGuard<'_, Pins> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At a deadline: settles bounces, and switches off what has been on for long enough.
    fn due(&self) -> Option<Instant> {
        let bounce = self.tracker.due();
        let on = self.pins().switch_off_due(Instant::now());
        bounce.into_iter().chain(on).min()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.alarm.close();
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).fail_safe();
    }
}

/// Drives the fail-safe states of all boards of this process, as far as they are not in use at this moment: for a crash.
pub fn fail_safe_all() {
    let boards = BOARDS.try_lock().map(|boards| boards.clone()).unwrap_or_default();
    for board in boards.iter().filter_map(Weak::upgrade) {
        if let Ok(mut pins) = board.state.try_lock() {
            pins.fail_safe();
        }
    }
}

/// The monotonic clock of [`Edge::at_ns`].
pub fn monotonic() -> Duration {
    Duration::from_nanos(edges::now_ns())
}

/// The driver this machine calls for, or none; and why.
fn find(sink: Sink) -> (Option<Box<dyn Driver>>, String) {
    let mut failed = String::new();
    if let Some(model) = device::board_model().filter(|model| model.starts_with("Raspberry Pi")) {
        let lines = cdev::Cdev::open(sink.clone()).map(|(lines, _)| lines).ok();
        match rppal::Rppal::open(&model, lines) {
            Ok(driver) => return (Some(Box::new(driver)), format!("this is a {model}")),
            Err(why) => failed = format!("this is a {model}, but rppal could not open it ({why}); "),
        }
    }
    match cdev::Cdev::open(sink) {
        Ok((driver, chip)) => (Some(Box::new(driver)), format!("{failed}using the GPIO chip {chip}")),
        Err(why) => (None, format!("{failed}{why}")),
    }
}
