//! What is in the home: lamps, switches, sensors, covers, climate, media and locks, each with a name, aliases and an area,
//! wherever it lives (a pin, a Home Assistant entity, an MQTT topic).
//!
//! A [`Source`] lists the things it knows with their current states, and says which tool call carries out a [`Command`]. It
//! never acts: the caller makes the call by name, so that each one is decided, limited and recorded like any other.
//!
//! [`Things`] holds all sources. Its [`Things::home`] is a snapshot with the household's own names and areas over what the
//! sources list ([`notes`]), and with an index by which words find things ([`Home::resolve`], [`Home::scan`]).

// The demo home of the tests is shared with other crates.
#[cfg(test)]
extern crate self as things;

mod all_sources;
mod changes;
mod command;
#[cfg(test)]
#[allow(dead_code)]
mod demo;
mod home;
pub mod lasting;
pub mod notes;
mod scale;
mod source;
mod state_words;
mod thing;

/// What is said where the position of the home is needed and unknown, and what to do.
pub const NO_PLACE: &str =
    "Hob does not know where the home is: set `latitude` and `longitude` in hob.toml, and restart Hob";

pub use all_sources::Things;
pub use changes::{Change, Watcher};
pub use command::{Command, Verb};
pub use home::{
    Home, Known,
    areas::Area,
    resolve::{NotResolved, Target},
    scan::{Skip, Span, What},
    vocabulary::{KindWord, kind_word},
};
pub use scale::Scale;
pub use source::{AreaOfSource, PlannedCall, Source};
pub use state_words::{StateWords, state_words};
pub use thing::{Address, Kind, State, Thing};
