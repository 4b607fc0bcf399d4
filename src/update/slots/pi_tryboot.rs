//! Partitions chosen by the Raspberry Pi firmware: `autoboot.txt` on partition 1, and a reboot with the argument `0 tryboot`.
//!
//! The firmware forgets the argument with the next reset, so a trial that ends in any way falls back to the partition of `[all]`.

use super::{
    Restart, Running, SlotKind, SlotManifest, SlotName, Slots, TrialReport,
    partitions::{Partitions, read_text, rewrite},
};
use crate::{
    disk::DiskFile,
    error::{Error, Result},
    manifest::Payload,
};
use std::path::{Path, PathBuf};

/// The numbers of the boot partitions.
const BOOT: [(SlotName, &str); 2] = [(SlotName::A, "2"), (SlotName::B, "3")];

/// Slots that the firmware boots.
#[derive(Debug, Clone)]
pub struct PiTrybootSlots {
    partitions: Partitions,
    /// `autoboot.txt`.
    selector: PathBuf,
    /// The note that a reboot into a trial was asked for, with the id of the boot that did.
    request: PathBuf,
    /// This boot, from `/proc/sys/kernel/random/boot_id`.
    boot_id: String,
    running: SlotName,
}

/// The slot of a boot partition, from `/proc/device-tree/chosen/bootloader/partition` (32 bits, big end first).
pub fn slot_of_partition(bytes: &[u8]) -> Option<SlotName> {
    let number = u32::from_be_bytes(bytes.try_into().ok()?).to_string();
    BOOT.iter().find(|(_, boot)| *boot == number).map(|(slot, _)| *slot)
}

fn partition(slot: SlotName) -> &'static str {
    BOOT.iter().find(|(of, _)| *of == slot).map_or("2", |(_, number)| number)
}

/// The file for an active slot; always of the same length.
fn text_of(active: SlotName) -> String {
    let (all, trial) = (partition(active), partition(active.other()));
    format!("[all]\ntryboot_a_b=1\nboot_partition={all}\n[tryboot]\nboot_partition={trial}\n")
}

/// The slot of `boot_partition` in the section `[all]`.
fn parse(text: &str) -> Option<SlotName> {
    let mut section = "[all]";
    let mut active = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some(number) = line.strip_prefix("boot_partition=").filter(|_| section == "[all]") {
            active = BOOT.iter().find(|(_, boot)| *boot == number.trim()).map(|(slot, _)| *slot);
        }
    }
    active
}

impl PiTrybootSlots {
    /// Slots whose switch is the file `selector`; `state` is a folder on the data partition.
    pub fn new(partitions: Partitions, selector: PathBuf, state: &Path, boot_id: String, running: SlotName) -> Self {
        Self { partitions, selector, request: state.join("tryboot"), boot_id, running }
    }

    fn set_active(&self, slot: SlotName) -> Result<()> {
        rewrite(&*self.partitions.disk, &self.selector, &text_of(slot))?;
        match self.active()? == slot {
            true => Ok(()),
            false => Err(Error::Disk(format!("{} does not read back as it was written", self.selector.display()))),
        }
    }
}

impl Slots for PiTrybootSlots {
    fn kind(&self) -> SlotKind {
        SlotKind::PiTryboot
    }

    fn payload(&self) -> Payload {
        Payload::System
    }

    fn running(&self) -> Result<Running> {
        Ok(Running { slot: self.running, trial: self.active()? != self.running })
    }

    fn active(&self) -> Result<SlotName> {
        Ok(parse(&read_text(&*self.partitions.disk, &self.selector)?).unwrap_or(SlotName::A))
    }

    fn next_trial(&self) -> Result<Option<SlotName>> {
        let request = read_text(&*self.partitions.disk, &self.request)?;
        let (slot, boot) = request.split_once(' ').unwrap_or_default();
        Ok(SlotName::parse(slot).filter(|_| boot == self.boot_id))
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
        let failed = |why: std::io::Error| Error::disk("the request for a trial cannot be written", &why);
        let Some(slot) = slot else { return self.partitions.disk.remove(&self.request).map_err(failed) };
        // The section [tryboot] has to name the slot before the firmware is asked to use it.
        self.set_active(slot.other())?;
        self.partitions.disk.replace(&self.request, format!("{slot} {}", self.boot_id).as_bytes()).map_err(failed)
    }

    fn commit(&self, slot: SlotName) -> Result<()> {
        self.set_active(slot)
    }

    fn trial_report(&self) -> Result<Option<TrialReport>> {
        Ok(None)
    }

    fn state_folder(&self) -> Option<PathBuf> {
        Some(self.partitions.state().to_owned())
    }

    fn restart(&self, trial: bool) -> Restart {
        Restart::Command(if trial { &["reboot", "0 tryboot"] } else { &["reboot"] })
    }
}
