//! Folders under a supervisor: `ROOT/slots/{a,b}/` with `hob` and `manifest.json`, and the switch `ROOT/selector.json`.

use super::{Restart, Running, SlotKind, SlotManifest, SlotName, Slots, TrialReport, read_manifest};
use crate::{
    disk::{Disk, DiskFile, Mode},
    error::{Error, Result},
    manifest::Payload,
};
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The largest selector file.
const MAX_SELECTOR: u64 = 16 * 1024;
/// Bytes that stay free on the disk.
const SPARE: u64 = 4 << 20;

/// The switch of `dir` slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// The slot that starts by default.
    pub active: SlotName,
    /// The slot that the next start tries once.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub trial: Option<SlotName>,
    /// The end of the last trial that did not commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<TrialReport>,
}

/// The files below a root.
#[derive(Debug, Clone)]
pub struct Root {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Root {
    /// The files below `path`.
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path }
    }

    /// The folder of a slot.
    pub fn folder(&self, slot: SlotName) -> PathBuf {
        self.path.join("slots").join(slot.letter())
    }

    /// The program of a slot.
    pub fn program(&self, slot: SlotName) -> PathBuf {
        self.folder(slot).join("hob")
    }

    fn new_program(&self, slot: SlotName) -> PathBuf {
        self.folder(slot).join("hob.new")
    }

    fn manifest_file(&self, slot: SlotName) -> PathBuf {
        self.folder(slot).join("manifest.json")
    }

    /// The switch; `None` when there is none, or none that can be read.
    ///
    /// # Errors
    /// `Disk`.
    pub fn selector(&self) -> Result<Option<Selector>> {
        let path = self.path.join("selector.json");
        let bytes = match self.disk.read(&path, MAX_SELECTOR) {
            Err(why) if why.kind() == io::ErrorKind::FileTooLarge => None,
            read => read.map_err(|why| Error::disk(format!("{} cannot be read", path.display()), &why))?,
        };
        Ok(bytes.and_then(|bytes| {
            let read = serde_json::from_slice(&bytes);
            read.inspect_err(|why| tracing::error!(%why, "the selector is damaged")).ok()
        }))
    }

    /// Replaces the switch; durable on return.
    ///
    /// # Errors
    /// `Disk`.
    pub fn set_selector(&self, selector: &Selector) -> Result<()> {
        let failed = |why: &io::Error| Error::disk("the selector of the slots cannot be written", why);
        let text = serde_json::to_vec_pretty(selector).map_err(|why| failed(&io::Error::other(why)))?;
        self.disk.replace(&self.path.join("selector.json"), &text).map_err(|why| failed(&why))
    }

    /// Creates the folders.
    ///
    /// # Errors
    /// `Disk`.
    pub fn create(&self) -> Result<()> {
        for slot in SlotName::ALL {
            let folder = self.folder(slot);
            let created = self.disk.create_folder(&folder);
            created.map_err(|why| Error::disk(format!("{} cannot be created", folder.display()), &why))?;
        }
        Ok(())
    }

    /// The description of a slot; `None` when it is not complete.
    ///
    /// # Errors
    /// `Disk`.
    pub fn manifest(&self, slot: SlotName) -> Result<Option<SlotManifest>> {
        read_manifest(&*self.disk, &self.manifest_file(slot))
    }

    /// Opens the successor of a slot's program for writing.
    ///
    /// # Errors
    /// `Refused` when the disk is too full, `Disk`.
    pub fn writer(&self, slot: SlotName, length: u64) -> Result<Box<dyn DiskFile>> {
        let (folder, path) = (self.folder(slot), self.new_program(slot));
        let failed = |why: io::Error| Error::disk(format!("{} cannot be written", path.display()), &why);
        let present = match self.disk.open(&path, Mode::Read) {
            Ok(file) => file.length().map_err(failed)?,
            Err(_) => 0,
        };
        let free = self.disk.free_space(&folder).map_err(failed)?;
        let needed = length.saturating_sub(present).saturating_add(SPARE);
        if free < needed {
            let missing = (needed - free).div_ceil(1_000_000);
            return Err(Error::Refused(format!(
                "the disk is too full for the new version: free {missing} MB and try again"
            )));
        }
        self.disk.open(&path, Mode::CreateProgram).map_err(failed)
    }

    /// Puts a written program in place. A cut leaves the slot with its old content, without any, or with the new one.
    ///
    /// # Errors
    /// `Disk`.
    pub fn finish(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        let failed = |why: io::Error| Error::disk(format!("slot {slot} cannot be completed"), &why);
        let folder = self.folder(slot);
        // Without a manifest the slot counts as incomplete, so no manifest ever describes another program.
        self.disk.remove(&self.manifest_file(slot)).map_err(failed)?;
        self.disk.sync_folder(&folder).map_err(failed)?;
        match self.disk.rename(&self.new_program(slot), &self.program(slot)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound && self.is_there(&self.program(slot)) => {}
            renamed => renamed.map_err(failed)?,
        }
        self.disk.sync_folder(&folder).map_err(failed)?;
        self.describe(slot, manifest)
    }

    fn describe(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        let failed = |why: io::Error| Error::disk(format!("slot {slot} cannot be described"), &why);
        let text = serde_json::to_vec_pretty(manifest).map_err(|why| failed(io::Error::other(why)))?;
        self.disk.replace(&self.manifest_file(slot), &text).map_err(failed)
    }

    fn discard(&self, slot: SlotName, complete: bool) -> Result<()> {
        let failed = |why: io::Error| Error::disk(format!("slot {slot} cannot be cleared"), &why);
        if complete {
            self.disk.remove(&self.manifest_file(slot)).map_err(failed)?;
        }
        self.disk.remove(&self.new_program(slot)).map_err(failed)?;
        self.disk.sync_folder(&self.folder(slot)).map_err(failed)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.disk.open(path, Mode::Read).is_ok()
    }
}

/// The slots below a folder, as the program in one of them sees them.
#[derive(Debug, Clone)]
pub struct DirSlots {
    root: Root,
    running: SlotName,
}

impl DirSlots {
    /// The slots of the supervisor whose root is `root`; this process runs in slot `running`.
    pub fn new(disk: Arc<dyn Disk>, root: PathBuf, running: SlotName) -> Self {
        Self { root: Root::new(disk, root), running }
    }

    fn selector(&self) -> Result<Selector> {
        let none = Selector { active: self.running, trial: None, report: None };
        Ok(self.root.selector()?.unwrap_or(none))
    }
}

impl Slots for DirSlots {
    fn kind(&self) -> SlotKind {
        SlotKind::Dir
    }

    fn payload(&self) -> Payload {
        Payload::App
    }

    fn running(&self) -> Result<Running> {
        Ok(Running { slot: self.running, trial: self.selector()?.active != self.running })
    }

    fn active(&self) -> Result<SlotName> {
        Ok(self.selector()?.active)
    }

    fn next_trial(&self) -> Result<Option<SlotName>> {
        Ok(self.selector()?.trial)
    }

    fn manifest(&self, slot: SlotName) -> Result<Option<SlotManifest>> {
        self.root.manifest(slot)
    }

    fn open(&self, slot: SlotName, _image: &str) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(self.root.disk.open(&self.root.program(slot), Mode::Read).ok())
    }

    fn keeps_old_image(&self) -> bool {
        true
    }

    fn invalidate(&self, slot: SlotName) -> Result<()> {
        // The new program is a file of its own until it is finished: the old one stays whole.
        let folder = self.root.folder(slot);
        let created = self.root.disk.create_folder(&folder);
        created.map_err(|why| Error::disk(format!("{} cannot be created", folder.display()), &why))
    }

    fn writer(&self, slot: SlotName, _image: &str, length: u64) -> Result<Box<dyn DiskFile>> {
        self.root.writer(slot, length)
    }

    fn finish(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        self.root.finish(slot, manifest)
    }

    fn describe(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        self.root.describe(slot, manifest)
    }

    fn discard(&self, slot: SlotName, complete: bool) -> Result<()> {
        self.root.discard(slot, complete)
    }

    fn set_trial(&self, slot: Option<SlotName>) -> Result<()> {
        let selector = self.selector()?;
        // A new trial begins without the report of the last.
        let report = if slot.is_some() { None } else { selector.report };
        self.root.set_selector(&Selector { active: selector.active, trial: slot, report })
    }

    fn commit(&self, slot: SlotName) -> Result<()> {
        self.root.set_selector(&Selector { active: slot, trial: None, report: None })
    }

    fn trial_report(&self) -> Result<Option<TrialReport>> {
        Ok(self.selector()?.report)
    }

    fn state_folder(&self) -> Option<PathBuf> {
        Some(self.root.path.clone())
    }

    fn restart(&self, _trial: bool) -> Restart {
        Restart::Exit
    }
}
