//! Hardware tools: GPIO.

mod blink;
mod gpio;
mod lasting;
mod names;
mod pin_use;
mod pins;
mod undo;

pub use gpio::family as gpio;
pub use names::{devices, watch_sensors};
pub use undo::undoer as undo_pins;
