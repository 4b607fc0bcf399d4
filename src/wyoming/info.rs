//! The programs of a server, from its answer to `describe`.

use serde::Deserialize;

/// The programs of a server, by what they do. Unknown fields are ignored, and missing ones are empty.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Info {
    /// Speech to text.
    pub asr: Vec<Program>,
    /// Text to speech.
    pub tts: Vec<Program>,
}

/// A program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Whether it can be used now.
    pub installed: bool,
    /// Its models.
    pub models: Vec<Model>,
    /// Its voices, for text to speech.
    pub voices: Vec<Model>,
}

/// A model or voice.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Whether it can be used now.
    pub installed: bool,
    /// The languages it knows, such as `en` or `en_GB`.
    pub languages: Vec<String>,
}

impl Info {
    /// Whether it turns speech into text.
    pub fn hears(&self) -> bool {
        self.asr.iter().any(|program| program.installed)
    }
    /// Whether it turns text into speech.
    pub fn speaks(&self) -> bool {
        self.tts.iter().any(|program| program.installed)
    }
    /// The installed voices.
    pub fn voices(&self) -> impl Iterator<Item = &Model> {
        self.tts.iter().filter(|program| program.installed).flat_map(|program| &program.voices).filter(|m| m.installed)
    }
}
