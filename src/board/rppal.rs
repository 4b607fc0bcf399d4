//! Raspberry Pi pins through rppal, which maps the GPIO registers.

use crate::{Driver, Error, Pin, Result};
use rppal::gpio::{Error as RppalError, Gpio, Level, OutputPin};
use std::collections::BTreeMap;

/// The header of a Raspberry Pi.
pub(crate) struct Rppal {
    gpio: Gpio,
    /// Dropping an output resets its pin, so outputs live as long as the board.
    outputs: BTreeMap<Pin, OutputPin>,
}

impl Rppal {
    /// Opens the registers, or says in words why not.
    pub(crate) fn open() -> Result<Self, String> {
        match Gpio::new() {
            Ok(gpio) => Ok(Self { gpio, outputs: BTreeMap::new() }),
            Err(RppalError::PermissionDenied(path)) => {
                Err(format!("no permission for {path}: {}", crate::cdev::JOIN_GROUP))
            }
            Err(why) => Err(why.to_string()),
        }
    }
}

fn failed(pin: Pin) -> impl Fn(RppalError) -> Error {
    move |why| Error::Failed { pin, what: why.to_string() }
}

impl Driver for Rppal {
    fn name(&self) -> &'static str {
        "rppal"
    }
    fn has(&self, _: Pin) -> bool {
        true
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        let high = match self.outputs.get(&pin) {
            // The level at the pin, not the level that was set: this shows a short to ground.
            Some(output) => output.is_set_high(),
            None => self.gpio.get(pin.number()).map_err(failed(pin))?.read() == Level::High,
        };
        Ok(high)
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        if let Some(output) = self.outputs.get_mut(&pin) {
            output.write(Level::from(high));
            return Ok(());
        }
        let free = self.gpio.get(pin.number()).map_err(failed(pin))?;
        // The level is set before the direction, so that a relay does not click on the way.
        let output = if high { free.into_output_high() } else { free.into_output_low() };
        self.outputs.insert(pin, output);
        Ok(())
    }
}
