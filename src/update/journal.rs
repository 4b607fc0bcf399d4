//! The journal of an installation: one file that says how far an update has come, and survives power cuts.

use crate::{
    disk::Disk,
    error::{Error, Result},
    slots::{SlotManifest, SlotName},
};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// The largest journal file.
const MAX_JOURNAL: u64 = 256 * 1024;
/// The file in the state folder.
const FILE: &str = "state.json";

/// The phase of an installation. Written before the step it names takes effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing is in progress and nothing was.
    #[default]
    Idle,
    /// Bytes of a bundle arrive in the other slot, which is not bootable meanwhile.
    Writing(Release),
    /// The other slot holds a complete, verified version that was not started yet.
    Staged(Release),
    /// The next start, or this one, is a trial of the other slot.
    Trying(Release),
    /// The version is the active one.
    Committed(Release),
    /// The installation ended without a change; `Outcome` has the reason.
    Failed(Release),
}

impl Phase {
    /// The name in API answers: `idle`, `writing`, `staged`, `trying`, `committed`, `failed`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Writing(_) => "writing",
            Self::Staged(_) => "staged",
            Self::Trying(_) => "trying",
            Self::Committed(_) => "committed",
            Self::Failed(_) => "failed",
        }
    }

    /// The release it is about.
    pub fn release(&self) -> Option<&Release> {
        match self {
            Self::Idle => None,
            Self::Writing(release)
            | Self::Staged(release)
            | Self::Trying(release)
            | Self::Committed(release)
            | Self::Failed(release) => Some(release),
        }
    }
}

/// A version that is being installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The id of the upload: the first half of the SHA-256 of its head.
    pub id: String,
    /// The version.
    pub version: Version,
    /// Its serial.
    pub serial: u64,
    /// The slot it goes to.
    pub slot: SlotName,
    /// The key it announces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_key: Option<String>,
    /// Whether it is signed by the key that an earlier version announced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_announced: bool,
}

impl Release {
    /// Whether a slot has this release.
    pub fn is_in(&self, about: &SlotManifest) -> bool {
        (&self.id, &self.version) == (&about.id, &about.version)
    }
}

/// The end of the last installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// `committed`, `failed`, `rolled_back` or `cancelled`.
    pub what: String,
    /// The reason in a sentence.
    pub why: String,
    /// Unix seconds.
    pub at: i64,
    /// The version it was about.
    pub version: String,
    /// Whether the version was started, as far as is known.
    #[serde(default)]
    pub tried: bool,
}

/// A version that was confirmed once, in the slot that does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previous {
    /// The id of its bundle.
    pub id: String,
    /// The version.
    pub version: Version,
}

/// The content of the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Journal {
    /// The phase.
    #[serde(flatten)]
    pub phase: Phase,
    /// The lowest serial that may be installed; rises only on commit.
    pub floor: u64,
    /// The highest version that was committed without a serial, because a package brought it: nothing older may be installed.
    pub floor_version: Option<Version>,
    /// The key announced by the version that was committed last, or by the one before it.
    pub announced_key: Option<String>,
    /// The highest serial seen of each channel, by URL.
    pub channel_serials: std::collections::BTreeMap<String, u64>,
    /// The confirmed version before the one that was committed last: the way back.
    pub previous: Option<Previous>,
    /// The end of the last installation.
    pub outcome: Option<Outcome>,
    /// The attempt that noted `Phase::Failed` about itself; empty when that was noted afterwards.
    pub failed_in: String,
    /// Whether a person is going back to the version before: noted before the slots change.
    pub going_back: bool,
    /// The active version that does not start, while the confirmed one of the other slot is tried in its place. `outcome` says why.
    pub replaced: Option<Release>,
    /// When the version that is tried noted that it runs, in Unix seconds; 0 until it does.
    pub trial_began: i64,
}

/// The journal on its disk.
#[derive(Debug, Clone)]
pub struct JournalFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl JournalFile {
    /// The journal in a folder, which is created when missing.
    ///
    /// # Errors
    /// `Disk`.
    pub fn new(disk: Arc<dyn Disk>, folder: &std::path::Path) -> Result<Self> {
        disk.create_folder(folder)
            .map_err(|why| Error::disk(format!("{} cannot be created", folder.display()), &why))?;
        Ok(Self { disk, path: folder.join(FILE) })
    }

    /// Reads it; `None` when there is none, or none that can be read.
    ///
    /// # Errors
    /// `Disk` when the disk fails.
    pub fn load(&self) -> Result<Option<Journal>> {
        let shown = self.path.display();
        let bytes = match self.disk.read(&self.path, MAX_JOURNAL) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == std::io::ErrorKind::FileTooLarge => Some(vec![]),
            Err(why) => return Err(Error::disk(format!("{shown} cannot be read"), &why)),
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let journal = serde_json::from_slice(&bytes);
        Ok(journal.inspect_err(|why| tracing::error!(%why, "the update journal is damaged and starts again")).ok())
    }

    /// Replaces it; durable on return.
    ///
    /// # Errors
    /// `Disk`.
    pub fn save(&self, journal: &Journal) -> Result<()> {
        let failed = |why: &std::io::Error| Error::disk("the update journal cannot be written", why);
        let text = serde_json::to_vec_pretty(journal).map_err(|why| failed(&std::io::Error::other(why)))?;
        self.disk.replace(&self.path, &text).map_err(|why| failed(&why))
    }
}
