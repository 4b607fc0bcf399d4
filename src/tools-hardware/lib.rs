//! Hardware tools: GPIO.

mod gpio;
mod names;
mod pin_use;
mod undo;

pub use gpio::family as gpio;
pub use names::watch_sensors;
pub use undo::undoer as undo_pins;
