//! The header pins as tools.

mod gpio;

pub use gpio::family as gpio;
