//! The Wyoming protocol: the messages of voice programs, and a client for speech-to-text and text-to-speech.
//!
//! An [`Event`] is a line of JSON with a `type`, then data in JSON and a binary payload, both of the lengths that the line
//! gives. Older programs write the data into the line. There is no authentication in it, so every length has a limit.

mod client;
mod error;
mod event;
mod info;

pub use client::{Audio, Format, MAX_AUDIO, describe, synthesize, transcribe};
pub use error::{Error, Result};
pub use event::{Event, EventReader, Limits, write};
pub use info::{Info, Model, Program};
