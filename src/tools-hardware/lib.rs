//! Hardware tools: pins, PWM, buses.

mod blink;
mod buses;
mod configure;
mod drive;
mod gpio;
mod map;
mod names;
mod pin_use;
mod pins;
mod presses;
mod pwm;
mod record;
mod serial;
mod things_source;
mod undo;

pub use gpio::family as gpio;
pub use map::{MapPin, PinMap, PwmSignal, pin_map};
pub use pins::Pins;
pub use presses::publish_presses;
pub use things_source::pin_source;
pub use undo::undoer as undo_pins;
