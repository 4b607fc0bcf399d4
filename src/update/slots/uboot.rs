//! Partitions chosen by U-Boot: `slot.env` on the selector partition has `active=` and `try=`.
//!
//! The boot script clears `try` before it attempts that slot, so that an attempt that ends in any way falls back to `active`.

use super::{
    Restart, Running, SlotKind, SlotManifest, SlotName, Slots, TrialReport,
    partitions::{Partitions, read_text, rewrite},
};
use crate::{
    disk::DiskFile,
    error::{Error, Result},
    manifest::Payload,
};
use std::path::PathBuf;

/// Slots that U-Boot boots.
#[derive(Debug, Clone)]
pub struct UbootSlots {
    partitions: Partitions,
    /// `slot.env`.
    selector: PathBuf,
    running: SlotName,
}

/// The value of `hob.slot` on the kernel's command line.
pub fn slot_of_command_line(text: &str) -> Option<SlotName> {
    text.split_whitespace().find_map(|word| word.strip_prefix("hob.slot=")).and_then(SlotName::parse)
}

/// The values of `active` and `try`. U-Boot writes the file with a zero byte at its end.
fn parse(text: &str) -> (Option<SlotName>, Option<SlotName>) {
    let value = |name: &str| {
        let mut lines = text.split(['\n', '\r', '\0']);
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .and_then(|value| SlotName::parse(value.trim()))
    };
    (value("active"), value("try"))
}

impl UbootSlots {
    /// Slots whose switch is the file `selector`; the machine runs from slot `running`.
    pub fn new(partitions: Partitions, selector: PathBuf, running: SlotName) -> Self {
        Self { partitions, selector, running }
    }

    fn selector(&self) -> Result<(SlotName, Option<SlotName>)> {
        let (active, trial) = parse(&read_text(&*self.partitions.disk, &self.selector)?);
        // The boot script takes A when it cannot read the file.
        Ok((active.unwrap_or(SlotName::A), trial.filter(|_| active.is_some())))
    }

    fn set(&self, active: SlotName, trial: Option<SlotName>) -> Result<()> {
        let text = format!("active={active}\ntry={}\n", trial.map_or("", SlotName::letter));
        rewrite(&*self.partitions.disk, &self.selector, &text)?;
        match self.selector()? == (active, trial) {
            true => Ok(()),
            false => Err(Error::Disk(format!("{} does not read back as it was written", self.selector.display()))),
        }
    }
}

impl Slots for UbootSlots {
    fn kind(&self) -> SlotKind {
        SlotKind::Uboot
    }

    fn payload(&self) -> Payload {
        Payload::System
    }

    fn running(&self) -> Result<Running> {
        Ok(Running { slot: self.running, trial: self.selector()?.0 != self.running })
    }

    fn active(&self) -> Result<SlotName> {
        Ok(self.selector()?.0)
    }

    fn next_trial(&self) -> Result<Option<SlotName>> {
        Ok(self.selector()?.1)
    }

    fn manifest(&self, slot: SlotName) -> Result<Option<SlotManifest>> {
        self.partitions.manifest(slot)
    }

    fn open(&self, slot: SlotName, image: &str) -> Result<Option<Box<dyn DiskFile>>> {
        self.partitions.open(slot, image)
    }

    fn keeps_old_image(&self) -> bool {
        false
    }

    fn invalidate(&self, slot: SlotName) -> Result<()> {
        self.partitions.invalidate(slot)
    }

    fn writer(&self, slot: SlotName, image: &str, length: u64) -> Result<Box<dyn DiskFile>> {
        self.partitions.writer(slot, image, length)
    }

    fn finish(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        self.partitions.finish(slot, manifest)
    }

    fn describe(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        self.partitions.finish(slot, manifest)
    }

    fn discard(&self, slot: SlotName, _complete: bool) -> Result<()> {
        self.partitions.invalidate(slot)
    }

    fn set_trial(&self, slot: Option<SlotName>) -> Result<()> {
        self.set(self.selector()?.0, slot)
    }

    fn commit(&self, slot: SlotName) -> Result<()> {
        self.set(slot, None)
    }

    fn trial_report(&self) -> Result<Option<TrialReport>> {
        Ok(None)
    }

    fn state_folder(&self) -> Option<PathBuf> {
        Some(self.partitions.state().to_owned())
    }

    fn restart(&self, _trial: bool) -> Restart {
        Restart::Exit
    }
}
