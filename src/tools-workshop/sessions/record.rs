//! The stored form of programs that run apart from the call that started them.

use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, coded};
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// How a program is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It runs.
    Running,
    /// It ended by itself; its exit code says how.
    Exited,
    /// A signal ended it.
    Killed,
    /// It took too long.
    TimedOut,
    /// It used too much memory.
    OutOfMemory,
    /// It printed too much.
    OutputLimit,
    /// Somebody stopped it.
    Stopped,
    /// It ended with Hob, and how is not known.
    Lost,
    /// It wrote too much to the disk.
    DiskFull,
}

impl Coded for Status {
    const ALL: &'static [Self] = &[
        Self::Running,
        Self::Exited,
        Self::Killed,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::OutputLimit,
        Self::Stopped,
        Self::Lost,
        Self::DiskFull,
    ];
    const UNKNOWN: Self = Self::Lost;
}

pub(super) const ALL: u8 = 1;

/// A program, without its output. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionRecord {
    pub kind: String,
    pub title: String,
    pub command: String,
    pub folder: String,
    #[serde(with = "coded")]
    pub status: Status,
    pub code: Option<i32>,
    /// Milliseconds since 1970.
    pub started: u64,
    pub ended: Option<u64>,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// Further facts that its family stores, as a JSON object.
    pub details: String,
    pub conversation: Option<Id>,
    pub run: Option<Id>,
}

impl Record for SessionRecord {
    const NAME: &'static str = "processes";
    const WORD: &'static str = "program";
    const LEVEL: Level = Level::User;

    fn keys(&self) -> Vec<Key> {
        vec![Key::many(ALL, [])]
    }
}

/// The end of its output, under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OutputRecord {
    pub text: String,
    /// The offset of the first byte.
    pub start: u64,
}

impl Record for OutputRecord {
    const NAME: &'static str = "process-outputs";
    const WORD: &'static str = "output of a program";
    const LEVEL: Level = Level::User;
}
