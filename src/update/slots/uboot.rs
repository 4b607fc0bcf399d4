//! Partitions chosen by U-Boot: `slot.env` on the selector partition has `active=`, `try=` and `fallback=`.
//!
//! The boot script clears `try` before it attempts that slot, so that an attempt that ends in any way falls back to `active`. Where
//! `active` itself does not start, only `fallback` is started in its place: a slot that was confirmed and not written since. Why, the
//! initramfs writes into `slot.why`. `slot.bak` is the copy that the boot script reads while `slot.env` is unreadable.

use super::{
    Restart, Running, SlotKind, SlotManifest, SlotName, Slots, TrialReport,
    partitions::{Partitions, read_text, rewrite},
};
use crate::{
    disk::DiskFile,
    error::{Error, Result},
    manifest::Payload,
    recover,
};
use std::path::PathBuf;

/// The copy of `slot.env`, and the note that says which slot does not start and why, beside it.
const COPY: &str = "slot.bak";
const NOTE: &str = "slot.why";

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

/// The content of `slot.env`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Selector {
    active: SlotName,
    trial: Option<SlotName>,
    /// The slot that starts when `active` does not.
    fallback: Option<SlotName>,
}

impl Selector {
    /// Reads it. U-Boot writes the file with a zero byte at its end, and takes A when it cannot read it.
    fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let mut lines = text.split(['\n', '\r', '\0']);
            lines
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .and_then(|value| SlotName::parse(value.trim()))
        };
        match value("active") {
            Some(active) => Self { active, trial: value("try"), fallback: value("fallback") },
            None => Self { active: SlotName::A, trial: None, fallback: None },
        }
    }

    fn text(self) -> String {
        let letter = |slot: Option<SlotName>| slot.map_or("", SlotName::letter);
        format!("active={}\ntry={}\nfallback={}\n", self.active, letter(self.trial), letter(self.fallback))
    }
}

impl UbootSlots {
    /// Slots whose switch is the file `selector`; the machine runs from slot `running`.
    pub fn new(partitions: Partitions, selector: PathBuf, running: SlotName) -> Self {
        Self { partitions, selector, running }
    }

    fn selector(&self) -> Result<Selector> {
        Ok(Selector::parse(&read_text(&*self.partitions.disk, &self.selector)?))
    }

    fn set(&self, selector: Selector) -> Result<()> {
        rewrite(&*self.partitions.disk, &self.selector, &selector.text())?;
        if self.selector()? != selector {
            return Err(Error::Disk(format!("{} does not read back as it was written", self.selector.display())));
        }
        // After the original, so that one of the two is whole whenever the power fails. Nothing is tried because of a copy.
        let copy = Selector { trial: None, ..selector };
        if let Err(error) = rewrite(&*self.partitions.disk, &self.selector.with_file_name(COPY), &copy.text()) {
            tracing::warn!(%error, "the copy of slot.env is an old one until the next start");
        }
        Ok(())
    }

    /// What the initramfs noted about a slot that does not start.
    fn note(&self, slot: SlotName) -> Result<Option<String>> {
        let note = read_text(&*self.partitions.disk, &self.selector.with_file_name(NOTE))?;
        let why = note.strip_prefix(slot.letter()).and_then(|rest| rest.strip_prefix(' ')).map(str::trim);
        Ok(why.filter(|why| !why.contains(|letter: char| letter.is_control())).map(str::to_owned))
    }

    /// A slot that is about to be written is no fallback any more.
    fn give_up(&self, slot: SlotName) -> Result<()> {
        let selector = self.selector()?;
        match selector.fallback == Some(slot) {
            true => self.set(Selector { fallback: None, ..selector }),
            false => Ok(()),
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
        Ok(Running { slot: self.running, trial: self.selector()?.active != self.running })
    }

    fn active(&self) -> Result<SlotName> {
        Ok(self.selector()?.active)
    }

    fn next_trial(&self) -> Result<Option<SlotName>> {
        Ok(self.selector()?.trial)
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
        self.give_up(slot)?;
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
        self.give_up(slot)?;
        self.partitions.invalidate(slot)
    }

    fn set_trial(&self, slot: Option<SlotName>) -> Result<()> {
        if slot.is_some() {
            // What was noted about an attempt before is not the reason of this one.
            let failed = |why: std::io::Error| Error::disk("the note about an earlier attempt cannot be removed", &why);
            self.partitions.disk.remove(&self.selector.with_file_name(NOTE)).map_err(failed)?;
        }
        self.set(Selector { trial: slot, ..self.selector()? })
    }

    fn commit(&self, slot: SlotName) -> Result<()> {
        let before = self.selector()?;
        let fallback = if before.active == slot { before.fallback } else { Some(before.active) };
        self.set(Selector { active: slot, trial: None, fallback })
    }

    fn trial_report(&self) -> Result<Option<TrialReport>> {
        // The note of an attempt that the initramfs gave up.
        let slot = self.running.other();
        let why = self.note(slot)?.filter(|why| !why.is_empty());
        let why = why.map(|why| format!("The new version did not start ({why}). It was tried once."));
        Ok(why.map(|why| TrialReport { slot, why, at: recover::now(), stopped: false }))
    }

    fn stands_in(&self) -> Result<Option<String>> {
        let selector = self.selector()?;
        // A slot that was written since, as for an update, is no fallback.
        if selector.active == self.running || selector.fallback != Some(self.running) {
            return Ok(None);
        }
        Ok(Some(self.note(selector.active)?.unwrap_or_default()))
    }

    fn state_folder(&self) -> Option<PathBuf> {
        Some(self.partitions.state().to_owned())
    }

    fn restart(&self, _trial: bool) -> Restart {
        Restart::Exit
    }
}
