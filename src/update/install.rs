//! The engine of installations: receives a bundle, fills the other slot, tries it, and commits or falls back.

use crate::{
    bundle::Head,
    disk::Disk,
    error::{Error, Result},
    journal::{Journal, JournalFile, Outcome, Phase, Release},
    keys::Keyring,
    manifest::Device,
    slots::{Restart, SlotKind, SlotManifest, SlotName, Slots},
};
use serde::Serialize;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

/// The settings of an updater.
#[derive(Clone)]
pub struct Config {
    /// The folder of the journal and of the head of an upload.
    pub state: PathBuf,
    /// The trusted keys, but for an announced one, which the journal has.
    pub keys: Keyring,
    /// This device.
    pub device: Device,
}

/// A range of the bundle file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// What a device lacks of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The id of the upload; the same for the same bundle.
    pub id: String,
    /// The version.
    pub version: String,
    /// Its release notes.
    pub notes: String,
    /// The ranges of the bundle file that are needed, in their order.
    pub needed: Vec<Range>,
    /// Their bytes.
    pub needed_bytes: u64,
    /// Bytes of the whole bundle.
    pub total_bytes: u64,
}

/// A slot for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotStatus {
    /// The slot.
    pub slot: SlotName,
    /// Its version.
    pub version: String,
    /// Its serial.
    pub serial: u64,
    /// Whether it is a whole system.
    pub system: bool,
}

/// How far an installation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Bytes that arrived of those that were needed.
    pub received: u64,
    /// Bytes that were needed.
    pub needed: u64,
    /// Bytes that are in the slot.
    pub written: u64,
    /// Bytes of the finished slot.
    pub total: u64,
}

/// The state of the updater.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `idle`, `writing`, `staged`, `trying`, `committed` or `failed`.
    pub state: &'static str,
    /// The release that state is about.
    pub release: Option<Release>,
    /// The version that runs.
    pub running: SlotStatus,
    /// Whether this start is a trial that waits for `confirm`.
    pub trial: bool,
    /// The complete version in the other slot.
    pub other: Option<SlotStatus>,
    /// How the slots work.
    pub kind: SlotKind,
    /// The board.
    pub board: String,
    /// The lowest serial that may be installed.
    pub floor: u64,
    /// How far the upload has come, while one is open.
    pub progress: Option<Progress>,
    /// The end of the last installation.
    pub last_outcome: Option<Outcome>,
}

/// Installs bundles. All methods block on the disk: call them on a blocking thread.
pub struct Updater {
    slots: Arc<dyn Slots>,
    disk: Arc<dyn Disk>,
    config: Config,
}

impl Updater {
    /// Opens the journal and brings it in line with the slots: after a fallback it says why, after a cut commit it says committed.
    ///
    /// # Errors
    /// `Disk`.
    pub fn open(disk: Arc<dyn Disk>, slots: Arc<dyn Slots>, config: Config) -> Result<Self> {
        todo!()
    }

    /// The state for people and programs.
    ///
    /// # Errors
    /// `Disk`.
    pub fn status(&self) -> Result<Status> {
        todo!()
    }

    /// Whether the phase lets a new installation begin; else the reason in a sentence (a trial runs).
    pub fn can_install(&self) -> Result<()> {
        todo!()
    }

    /// Verifies the head of a bundle and answers what is needed of it. Begun again with the same head it resumes, also after a
    /// restart; another head replaces an unfinished upload. Reads the whole running slot.
    ///
    /// # Errors
    /// `Refused` before anything is written; `Busy` while a version is being tried.
    pub fn begin(&self, head: &[u8]) -> Result<Plan> {
        todo!()
    }

    /// The upload that is open, and what it still needs.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn plan(&self, id: &str) -> Result<Plan> {
        todo!()
    }

    /// Takes bytes of a needed range, from its begin or where the last piece ended; verifies each chunk and writes it.
    ///
    /// # Errors
    /// `BadRequest` at a wrong offset or beyond what is needed, `Refused` for wrong bytes, `NotFound`, `Disk`.
    pub fn put(&self, id: &str, offset: u64, bytes: &[u8]) -> Result<Progress> {
        todo!()
    }

    /// Gives up an upload or a staged version.
    ///
    /// # Errors
    /// `NotFound`; `Busy` while it is being tried.
    pub fn discard(&self, id: &str) -> Result<()> {
        todo!()
    }

    /// Copies what is on the device already, reads the slot back, and declares it complete.
    ///
    /// # Errors
    /// `Busy` while bytes are missing; `Refused` when the slot reads back wrong; `Disk`.
    pub fn stage(&self, id: &str) -> Result<Release> {
        todo!()
    }

    /// Makes the next start try the staged version. The caller then restarts as returned.
    ///
    /// # Errors
    /// `Busy` when nothing is staged.
    pub fn try_staged(&self) -> Result<Restart> {
        todo!()
    }

    /// Commits the version on trial: it starts by default from now on, and the floor rises to its serial.
    ///
    /// # Errors
    /// `Busy` when no trial runs.
    pub fn confirm(&self) -> Result<Release> {
        todo!()
    }

    /// Ends the trial that runs with a reason. The caller then restarts as returned, into the old version.
    ///
    /// # Errors
    /// `Busy` when no trial runs.
    pub fn fail(&self, why: &str) -> Result<Restart> {
        todo!()
    }

    /// Goes back by hand: ends a trial, or makes the other slot's complete version the active one.
    ///
    /// # Errors
    /// `NotFound` when the other slot has no complete version.
    pub fn rollback(&self) -> Result<Restart> {
        todo!()
    }
}
