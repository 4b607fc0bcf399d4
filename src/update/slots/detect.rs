//! Finding out how the slots of this machine work.

use super::{
    SlotName, Slots,
    dir::DirSlots,
    partitions::Partitions,
    pi_tryboot::{PiTrybootSlots, slot_of_partition},
    uboot::{UbootSlots, slot_of_command_line},
};
use crate::disk::Disk;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The places where a machine says how it was started.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The supervisor's root and the slot, from the environment ([`crate::SLOTS_VARIABLE`], [`crate::SLOT_VARIABLE`]).
    pub supervisor: Option<(PathBuf, SlotName)>,
    /// `/proc`.
    pub proc: PathBuf,
    /// The mounted selector partition: `/boot`.
    pub selector: PathBuf,
    /// A folder on the data partition for the journal and the descriptions of slots.
    pub state: PathBuf,
}

/// The slots of a machine and the folder of their journal.
#[derive(Debug, Clone)]
pub struct Detected {
    /// The slots.
    pub slots: Arc<dyn Slots>,
    /// The folder for [`crate::Config::state`].
    pub state: PathBuf,
}

impl Machine {
    /// This machine; `state` is used where no supervisor has a root.
    pub fn this(state: PathBuf) -> Self {
        let variable = |name| std::env::var_os(name);
        let slot = variable(crate::SLOT_VARIABLE).and_then(|slot| SlotName::parse(slot.to_str()?));
        let supervisor = variable(crate::SLOTS_VARIABLE).map(PathBuf::from).zip(slot);
        Self { supervisor, proc: "/proc".into(), selector: "/boot".into(), state }
    }

    /// The slots; `None` when the machine has none, and updates come by other means.
    pub fn detect(&self, disk: Arc<dyn Disk>) -> Option<Detected> {
        if let Some((root, running)) = &self.supervisor {
            let slots = Arc::new(DirSlots::new(disk, root.clone(), *running));
            return Some(Detected { slots, state: root.clone() });
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let mounts = text(&self.proc.join("mounts"));
        let partitions = || Partitions::beside(disk.clone(), &self.selector, &mounts, self.state.clone());
        if let Some(running) = slot_of_command_line(&text(&self.proc.join("cmdline"))) {
            let slots = Arc::new(UbootSlots::new(partitions()?, self.selector.join("slot.env"), running));
            return Some(Detected { slots, state: self.state.clone() });
        }
        let autoboot = self.selector.join("autoboot.txt");
        if text(&autoboot).contains("tryboot_a_b=1") {
            let number = fs::read(self.proc.join("device-tree/chosen/bootloader/partition")).ok()?;
            let running = slot_of_partition(&number)?;
            let boot_id = text(&self.proc.join("sys/kernel/random/boot_id")).trim().to_owned();
            let slots = Arc::new(PiTrybootSlots::new(partitions()?, autoboot, &self.state, boot_id, running));
            return Some(Detected { slots, state: self.state.clone() });
        }
        None
    }
}
