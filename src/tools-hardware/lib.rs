//! Hardware tools: GPIO.

mod gpio;

pub use gpio::family as gpio;
