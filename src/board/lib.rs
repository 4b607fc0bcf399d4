//! Pins behind one driver trait, and the state of the machine.
//!
//! [`Board`] is the one handle to the header: it has a driver, or keeps the reason why it has none. Every call on
//! a pin is a register access or one ioctl, so it is made directly and needs no thread of its own.

mod cdev;
mod device;
mod error;
mod pin;
mod rate;
mod rppal;
mod sim;

pub use device::{Device, Disk, Memory, State, total_memory};
pub use error::{Error, Result};
pub use pin::{Level, Pin};
pub use rate::PinRate;

use rate::Rates;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};
use tokio::sync::broadcast;

/// How many pin changes a slow listener may fall behind.
const CHANGES_BUFFERED: usize = 256;

/// Drives pins. A driver is called by one thread at a time and does not block.
trait Driver: Send {
    /// Which one: `sim`, `cdev`, `rppal`.
    fn name(&self) -> &'static str;
    /// Whether the board has this pin.
    fn has(&self, pin: Pin) -> bool;
    /// The level at the pin now, without changing its direction.
    fn read(&mut self, pin: Pin) -> Result<bool>;
    /// Makes the pin an output and drives it until the next write or the end of the process.
    fn write(&mut self, pin: Pin, high: bool) -> Result<()>;
}

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
    state: Mutex<Pins>,
    changes: broadcast::Sender<(Pin, bool)>,
}

struct Pins {
    driver: Option<Box<dyn Driver>>,
    /// The last level seen at each pin.
    seen: BTreeMap<Pin, bool>,
    /// The pins that were written.
    driven: BTreeSet<Pin>,
    /// How fast they may be switched.
    rates: Rates,
}

impl Board {
    /// Finds a driver. This never fails: without a driver, each later call returns the reason.
    pub fn open(kind: BoardKind) -> Self {
        Self::with_rate(kind, PinRate::default())
    }

    /// The same, with a limit on how fast each pin may be switched.
    pub fn with_rate(kind: BoardKind, rate: PinRate) -> Self {
        let (driver, why) = match kind {
            BoardKind::Sim => (Some(Box::<sim::Sim>::default() as Box<dyn Driver>), "simulated, as asked".to_owned()),
            BoardKind::None => (None, "the board is switched off (`--board none`)".to_owned()),
            BoardKind::Auto => find(),
        };
        tracing::info!(driver = driver.as_ref().map_or("none", |d| d.name()), %why, "board");
        Self::with(driver, why, rate)
    }

    fn with(driver: Option<Box<dyn Driver>>, why: String, rate: PinRate) -> Self {
        let rates = Rates::new(rate);
        let state = Mutex::new(Pins { driver, seen: BTreeMap::new(), driven: BTreeSet::new(), rates });
        Self(Arc::new(Inner { why, state, changes: broadcast::channel(CHANGES_BUFFERED).0 }))
    }

    /// The level at a pin now. Reading changes neither direction nor function of the pin.
    ///
    /// # Errors
    /// `NoDriver`, `NoSuchPin`, `Failed`.
    pub async fn read(&self, pin: Pin) -> Result<Level> {
        self.pins().read(pin, &self.0)
    }

    /// Drives a pin; it stays driven until written again or until Hob ends.
    ///
    /// # Errors
    /// `NoDriver`, `NoSuchPin`, `TooFast`, `Failed`.
    pub async fn write(&self, pin: Pin, high: bool) -> Result<Level> {
        let mut pins = self.pins();
        // An unreadable pin is about to be switched.
        let before = pins.driver_for(pin, &self.0.why)?.read(pin).unwrap_or(!high);
        if before != high {
            pins.rates.take(pin, before, Instant::now())?;
        }
        pins.driver_for(pin, &self.0.why)?.write(pin, high)?;
        pins.driven.insert(pin);
        if pins.seen.insert(pin, high) != Some(high) {
            self.0.publish(pin, high);
        }
        Ok(Level { pin, high, driven: true })
    }

    /// The levels of all pins that can be read; pins another program holds are left out.
    ///
    /// # Errors
    /// `NoDriver`.
    pub async fn levels(&self) -> Result<Vec<Level>> {
        let mut pins = self.pins();
        if pins.driver.is_none() {
            return Err(Error::NoDriver(self.0.why.clone()));
        }
        Ok(Pin::all().filter_map(|pin| pins.read(pin, &self.0).ok()).collect())
    }

    /// Whether it can be read and switched at all.
    pub fn has_driver(&self) -> bool {
        self.pins().driver.is_some()
    }

    /// The driver in use, and why.
    pub fn describe(&self) -> Description {
        let pins = self.pins();
        let has = |pin: &Pin| pins.driver.as_ref().is_some_and(|d| d.has(*pin));
        Description {
            driver: pins.driver.as_ref().map_or("none", |d| d.name()),
            why: self.0.why.clone(),
            pins: Pin::all().filter(has).collect(),
        }
    }

    /// Changes of pins from now on, as they are written or noticed by reading: the pin and its new level.
    pub fn changes(&self) -> broadcast::Receiver<(Pin, bool)> {
        self.0.changes.subscribe()
    }

    fn pins(&self) -> MutexGuard<'_, Pins> {
        self.0.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Pins {
    fn driver_for(&mut self, pin: Pin, why: &str) -> Result<&mut dyn Driver> {
        let driver = self.driver.as_mut().ok_or_else(|| Error::NoDriver(why.to_owned()))?;
        if !driver.has(pin) {
            return Err(Error::NoSuchPin(pin));
        }
        Ok(driver.as_mut())
    }

    fn read(&mut self, pin: Pin, board: &Inner) -> Result<Level> {
        let high = self.driver_for(pin, &board.why)?.read(pin)?;
        // The first sight of a pin is no change.
        if self.seen.insert(pin, high) == Some(!high) {
            board.publish(pin, high);
        }
        Ok(Level { pin, high, driven: self.driven.contains(&pin) })
    }
}

impl Inner {
    fn publish(&self, pin: Pin, high: bool) {
        // An error only means that there is no receiver.
        let _ = self.changes.send((pin, high));
    }
}

/// The driver this machine calls for, or none; and why.
fn find() -> (Option<Box<dyn Driver>>, String) {
    let mut failed = String::new();
    if let Some(model) = device::board_model().filter(|model| model.starts_with("Raspberry Pi")) {
        match rppal::Rppal::open() {
            Ok(driver) => return (Some(Box::new(driver)), format!("this is a {model}")),
            Err(why) => failed = format!("this is a {model}, but rppal could not open it ({why}); "),
        }
    }
    match cdev::Cdev::open() {
        Ok((driver, chip)) => (Some(Box::new(driver)), format!("{failed}using the GPIO chip {chip}")),
        Err(why) => (None, format!("{failed}{why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast::error::TryRecvError;

    fn pin(n: u8) -> Pin {
        Pin::try_from(i64::from(n)).unwrap()
    }

    #[tokio::test]
    async fn a_written_pin_stays_driven_and_unset_pins_read_low() {
        let board = Board::open(BoardKind::Sim);
        assert_eq!(board.read(pin(17)).await.unwrap(), Level { pin: pin(17), high: false, driven: false });
        assert_eq!(board.write(pin(17), true).await.unwrap(), Level { pin: pin(17), high: true, driven: true });
        let other = board.clone();
        assert_eq!(other.read(pin(17)).await.unwrap(), Level { pin: pin(17), high: true, driven: true });
        let levels = other.levels().await.unwrap();
        assert_eq!(levels.len(), 28);
        assert_eq!(levels.iter().filter(|l| l.high).map(|l| l.pin).collect::<Vec<_>>(), [pin(17)]);
        assert_eq!(board.describe().driver, "sim");
        assert_eq!(board.describe().pins.len(), 28);
    }

    #[tokio::test]
    async fn only_changes_are_told() {
        let board = Board::open(BoardKind::Sim);
        let mut changes = board.changes();
        board.levels().await.unwrap();
        for high in [false, true, true, false] {
            board.write(pin(4), high).await.unwrap();
            board.read(pin(4)).await.unwrap();
        }
        assert_eq!(changes.try_recv(), Ok((pin(4), true)));
        assert_eq!(changes.try_recv(), Ok((pin(4), false)));
        assert_eq!(changes.try_recv(), Err(TryRecvError::Empty));
    }

    #[tokio::test]
    async fn without_a_driver_calls_say_why() {
        let board = Board::open(BoardKind::None);
        for error in [
            board.read(pin(1)).await.unwrap_err(),
            board.write(pin(1), true).await.unwrap_err(),
            board.levels().await.unwrap_err(),
        ] {
            assert!(matches!(&error, Error::NoDriver(why) if why.contains("--board none")), "{error}");
        }
        assert_eq!(board.describe().driver, "none");
        assert!(board.describe().pins.is_empty());
    }

    #[tokio::test]
    async fn any_machine_opens() {
        let board = Board::open(BoardKind::Auto);
        let described = board.describe();
        assert!(!described.why.is_empty());
        assert_eq!(described.driver == "none", board.levels().await.is_err());
    }

    /// A driver whose second write fails and whose pin 5 belongs to somebody else.
    struct Flaky(u8);
    impl Driver for Flaky {
        fn name(&self) -> &'static str {
            "flaky"
        }
        fn has(&self, pin: Pin) -> bool {
            pin.number() < 8
        }
        fn read(&mut self, pin: Pin) -> Result<bool> {
            if pin.number() == 5 { Err(Error::Failed { pin, what: "busy".into() }) } else { Ok(true) }
        }
        fn write(&mut self, pin: Pin, _: bool) -> Result<()> {
            self.0 += 1;
            if self.0 == 2 { Err(Error::Failed { pin, what: "gone".into() }) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn what_fails_is_not_remembered_as_done() {
        let board = Board::with(Some(Box::new(Flaky(0))), "test".into(), PinRate::default());
        let mut changes = board.changes();
        board.write(pin(1), true).await.unwrap();
        assert!(matches!(board.write(pin(2), true).await, Err(Error::Failed { .. })));
        assert_eq!(changes.try_recv(), Ok((pin(1), true)));
        assert_eq!(changes.try_recv(), Err(TryRecvError::Empty));
        assert!(matches!(board.write(pin(8), true).await, Err(Error::NoSuchPin(_))));
        let levels = board.levels().await.unwrap();
        assert_eq!(levels.iter().map(|l| l.pin.number()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(levels.iter().filter(|l| l.driven).map(|l| l.pin.number()).collect::<Vec<_>>(), [1]);
    }
}
