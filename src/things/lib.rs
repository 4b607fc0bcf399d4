//! What is in the home: lamps, switches, sensors, covers, climate, media and locks, each with a name, aliases and an area,
//! wherever it lives (a pin, a Home Assistant entity, an MQTT topic).
//!
//! A [`Source`] lists the things it knows with their current states, and says which tool call carries out a [`Command`]. It
//! never acts: the caller makes the call by name, so that each one is decided, limited and recorded like any other.

mod command;
mod source;
mod thing;

pub use command::{Command, Verb};
pub use source::{PlannedCall, Source, Things};
pub use thing::{Address, Kind, State, Thing};
