//! What a thing can be told to do.

use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Turn on, start.
    TurnOn,
    /// Turn off.
    TurnOff,
    /// Turn on what is off, and off what is on.
    Toggle,
    /// Open.
    Open,
    /// Close.
    Close,
    /// Stop moving or cleaning.
    Stop,
    /// Lock.
    Lock,
    /// Unlock.
    Unlock,
    /// Arm an alarm.
    Arm,
    /// Disarm an alarm.
    Disarm,
    /// Set brightness, position, speed or volume, in percent.
    SetLevel,
    /// Set the temperature that is wanted.
    SetTemperature,
    /// Set the colour of a light, by its English name or as `#rrggbb`.
    SetColor,
    /// Set a mode: `heat`, `cool`, `auto`, `eco`.
    SetMode,
    /// Play, or continue.
    Play,
    /// Pause.
    Pause,
    /// The next track.
    Next,
    /// The previous track.
    Previous,
    /// Mute or unmute.
    Mute,
    /// Return a vacuum cleaner to its base.
    Return,
    /// Press a button, run a script, activate a scene.
    Activate,
}

/// A command: the verb, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// What to do.
    pub verb: Verb,
    /// The level in percent, for [`Verb::SetLevel`]; with [`Verb::TurnOn`] the brightness.
    pub level: Option<u8>,
    /// By how much the level changes, where it is relative: -10 is ten percent less.
    pub by: Option<i8>,
    /// The temperature, for [`Verb::SetTemperature`].
    pub temperature: Option<f64>,
    /// The colour or mode.
    pub text: Option<String>,
    /// Whether to mute; `false` unmutes.
    pub mute: Option<bool>,
}

impl Command {
    /// A verb by itself.
    pub fn new(verb: Verb) -> Self {
        Self { verb, level: None, by: None, temperature: None, text: None, mute: None }
    }
}
