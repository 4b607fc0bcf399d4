//! The two places a version can be in, and the switch between them.

pub mod detect;
pub mod dir;
pub mod partitions;
pub mod pi_tryboot;
pub mod uboot;

pub use detect::find;

use crate::{
    disk::{Disk, DiskFile},
    error::{Error, Result},
    manifest::{Manifest, Payload},
};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Slot A or B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotName {
    /// Slot A.
    A,
    /// Slot B.
    B,
}

impl SlotName {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// `a` or `b`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// Reads `a` or `b`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|slot| slot.letter() == text)
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letter())
    }
}

/// How the slots of this machine work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotKind {
    /// Folders under a supervisor.
    Dir,
    /// Partitions chosen by U-Boot.
    Uboot,
    /// Partitions chosen by the Raspberry Pi firmware.
    PiTryboot,
}

impl SlotKind {
    /// The name in API answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dir => "dir",
            Self::Uboot => "uboot",
            Self::PiTryboot => "pi-tryboot",
        }
    }
}

/// The slot that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The slot.
    pub slot: SlotName,
    /// Whether this start is a trial, which ends with a fallback unless the slot is committed.
    pub trial: bool,
}

/// The description of a slot's content, stored beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotManifest {
    /// The version.
    pub version: Version,
    /// The serial; 0 for a version that no bundle brought.
    pub serial: u64,
    /// The id of the bundle's head; empty for a version that no bundle brought.
    #[serde(default)]
    pub id: String,
    /// The manifest of the bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Manifest>,
}

impl SlotManifest {
    /// The description of a version that no bundle brought.
    pub fn of_version(version: Version) -> Self {
        Self { version, serial: 0, id: String::new(), bundle: None }
    }
}

/// The way the machine gets into the chosen slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// The process exits with [`crate::RESTART_CODE`]: the supervisor starts the chosen slot, or the image's init reboots.
    Exit,
    /// The machine reboots by this command and its arguments.
    Command(&'static [&'static str]),
}

/// The end of a trial that did not commit, as the supervisor recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialReport {
    /// The slot that was tried.
    pub slot: SlotName,
    /// The reason in a sentence.
    pub why: String,
    /// Unix seconds.
    pub at: i64,
    /// Whether a person stopped Hob meanwhile, which says nothing about the version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// The slots of a machine. Implementations make each change in one atomic step.
pub trait Slots: Send + Sync + fmt::Debug {
    /// How they work.
    fn kind(&self) -> SlotKind;

    /// The payload they take.
    fn payload(&self) -> Payload;

    /// The slot that runs, and whether as a trial.
    ///
    /// # Errors
    /// `Disk` when it cannot be determined.
    fn running(&self) -> Result<Running>;

    /// The slot that starts by default.
    ///
    /// # Errors
    /// `Disk`.
    fn active(&self) -> Result<SlotName>;

    /// The slot that the next start tries once.
    ///
    /// # Errors
    /// `Disk`.
    fn next_trial(&self) -> Result<Option<SlotName>>;

    /// The content of a slot; `None` when it has no complete version.
    ///
    /// # Errors
    /// `Disk`.
    fn manifest(&self, slot: SlotName) -> Result<Option<SlotManifest>>;

    /// Opens an image of a slot for reading; `None` when it is missing or may not be read.
    ///
    /// # Errors
    /// `Disk`.
    fn open(&self, slot: SlotName, image: &str) -> Result<Option<Box<dyn DiskFile>>>;

    /// Whether an image of a slot stays readable while [`Slots::writer`] writes its successor.
    fn keeps_old_image(&self) -> bool;

    /// Marks a slot as incomplete, durably, before the first byte is written to it.
    ///
    /// # Errors
    /// `Disk`.
    fn invalidate(&self, slot: SlotName) -> Result<()>;

    /// Opens an image of the slot that does not run for writing `length` bytes. Bytes written before stay.
    ///
    /// # Errors
    /// `Refused` when it does not fit, `Disk`.
    fn writer(&self, slot: SlotName, image: &str, length: u64) -> Result<Box<dyn DiskFile>>;

    /// Declares a slot complete: its images were written and synced.
    ///
    /// # Errors
    /// `Disk`.
    fn finish(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()>;

    /// Replaces the description of a slot whose content stays.
    ///
    /// # Errors
    /// `Disk`.
    fn describe(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()>;

    /// Removes a half-written version, and with `complete` also one that was declared complete.
    ///
    /// # Errors
    /// `Disk`.
    fn discard(&self, slot: SlotName, complete: bool) -> Result<()>;

    /// Makes the next start try a slot once; `None` clears that.
    ///
    /// # Errors
    /// `Disk`.
    fn set_trial(&self, slot: Option<SlotName>) -> Result<()>;

    /// Makes a slot the one that starts by default.
    ///
    /// # Errors
    /// `Disk`.
    fn commit(&self, slot: SlotName) -> Result<()>;

    /// The end of the last trial that did not commit, where something records it.
    ///
    /// # Errors
    /// `Disk`.
    fn trial_report(&self) -> Result<Option<TrialReport>>;

    /// Whether the boot loader started this slot, a confirmed one, because the active one does not start: what it found, which is
    /// empty where it left no note.
    ///
    /// # Errors
    /// `Disk`.
    fn stands_in(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The folder for the journal, where the kind of slots has one.
    fn state_folder(&self) -> Option<PathBuf>;

    /// The way into the chosen slot; `trial` when it is to be tried.
    fn restart(&self, trial: bool) -> Restart;
}

/// The largest description of a slot.
const MAX_SLOT_MANIFEST: u64 = 128 * 1024;

/// Reads the description of a slot. One that cannot be read counts as missing: its slot is not used.
fn read_manifest(disk: &dyn Disk, path: &Path) -> Result<Option<SlotManifest>> {
    let bytes = match disk.read(path, MAX_SLOT_MANIFEST) {
        Err(why) if why.kind() == std::io::ErrorKind::FileTooLarge => None,
        read => read.map_err(|why| Error::disk(format!("{} cannot be read", path.display()), &why))?,
    };
    Ok(bytes.and_then(|bytes| {
        let read = serde_json::from_slice(&bytes);
        read.inspect_err(|why| tracing::error!(%why, path = %path.display(), "a slot's manifest is damaged")).ok()
    }))
}
