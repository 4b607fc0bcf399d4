//! Updates: signed bundles, A/B slots, the journal of an installation, the channel and the supervisor.
//!
//! A bundle is `magic | manifest | minisign signatures | chunk index | zstd chunks`. Its head, all before the chunks, is verified
//! whole before a byte reaches a slot ([`bundle::Head`]). The [`Updater`] then says which ranges of the file the device lacks,
//! verifies each chunk as it arrives, and reads the finished slot back. [`Slots`] is the switch between two slots; the trial flag is
//! cleared before the attempt, by the boot loader or by [`supervise`], so that an attempt that ends in any way falls back.

pub mod builder;
pub mod bundle;
pub mod channel;
pub mod chunks;
mod delta;
pub mod digest;
pub mod disk;
mod error;
pub mod fetch;
pub mod found;
mod index;
mod install;
mod journal;
pub mod keys;
pub mod manifest;
mod recover;
#[cfg(test)]
mod sim_disk;
pub mod slots;
pub mod supervise;
pub mod testing;
#[cfg(test)]
mod tests;
mod upload;

pub use error::{Error, Result};
pub use install::{Config, SlotStatus, Status, Updater};
pub use journal::{Journal, JournalFile, Outcome, Phase, Previous, Release};
pub use slots::Slots;
pub use upload::{MAX_PIECE, Plan, Progress, Range};

/// The exit code by which `hob serve` asks the supervisor to start the chosen slot.
pub const RESTART_CODE: u8 = 75;
/// The exit code by which `hob serve` says that the device is switched off, or is to be: nothing starts it again. The supervisor
/// ends with it too.
pub const POWER_OFF_CODE: u8 = 76;
/// The environment variable by which `hob serve` knows its supervisor's root.
pub const SLOTS_VARIABLE: &str = "HOB_SLOTS";
/// The environment variable with the slot, `a` or `b`, that `hob serve` runs from.
pub const SLOT_VARIABLE: &str = "HOB_SLOT";
/// The schema of the data this version writes. Raise it when an older version could not read them any more.
pub const DATA_SCHEMA: u32 = 1;
