//! A board in memory: the simulated twin that tests and `make run` use.

use crate::{Driver, Pin, Result};

/// All header pins, low until written.
#[derive(Default)]
pub(crate) struct Sim {
    high: [bool; Pin::MAX as usize + 1],
}

impl Driver for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }
    fn has(&self, _: Pin) -> bool {
        true
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        Ok(self.high[usize::from(pin.number())])
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.high[usize::from(pin.number())] = high;
        Ok(())
    }
}
