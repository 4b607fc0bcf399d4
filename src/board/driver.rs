//! The trait of drivers.

use crate::{
    Error, Pin, Result,
    buses::Buses,
    edges::RawEdge,
    pin::Wave,
    settings::{Direction, Pull},
};
use std::sync::Arc;

/// Takes the edges of a driver; it does not block.
pub(crate) type Sink = Arc<dyn Fn(RawEdge) + Send + Sync>;

/// How a pulse width is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PwmSource {
    /// By the PWM peripheral: exact.
    Hardware,
    /// By a thread: it jitters under load, which a servo shows and a lamp does not.
    Software,
    /// In memory.
    Simulated,
}

/// Drives pins, at electrical levels. A driver is called by one thread at a time and does not block. Dropping it releases all
/// pins.
pub(crate) trait Driver: Send {
    /// Which one: `sim`, `cdev`, `rppal`.
    fn name(&self) -> &'static str;
    /// Whether the board has this pin.
    fn has(&self, pin: Pin) -> bool;
    /// The level at the pin now, without changing its direction.
    fn read(&mut self, pin: Pin) -> Result<bool>;
    /// Makes the pin an output and drives it until the next write or the end of the process.
    fn write(&mut self, pin: Pin, high: bool) -> Result<()>;
    /// Makes the pin an input. Whether its edges are reported from now on; else it has to be read.
    fn input(&mut self, pin: Pin, pull: Option<Pull>) -> Result<bool>;
    /// The direction of the pin, where the system knows it and no other program uses the pin.
    fn direction(&mut self, pin: Pin) -> Option<Direction>;
    /// The inputs whose edges are no longer reported, although they were to be; each once.
    fn lost(&mut self) -> Vec<Pin> {
        vec![]
    }
    /// Drives a level that stays after the end of the process, where the system allows that.
    fn hold(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.write(pin, high)
    }
    /// Drives a signal until the next write.
    fn pwm(&mut self, pin: Pin, _: Wave) -> Result<PwmSource> {
        Err(Error::Unsupported(format!(
            "pin {pin} cannot make a PWM signal: the driver `{}` only switches lines on and off. A Raspberry Pi can, with \
             its own driver",
            self.name()
        )))
    }
    /// The buses of the board.
    fn buses(&self) -> Arc<dyn Buses>;
}
