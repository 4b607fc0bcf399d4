//! Hardware tools: GPIO.

mod gpio;
mod pin_use;

pub use gpio::family as gpio;
