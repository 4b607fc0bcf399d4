//! Finding out how the slots of this machine work.

use super::{
    SlotName, Slots,
    dir::DirSlots,
    partitions::Partitions,
    pi_tryboot::{PiTrybootSlots, slot_of_partition},
    uboot::{UbootSlots, slot_of_command_line},
};
use crate::{
    disk::Disk,
    error::{Error, Result},
};
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

/// The folder on the data partition of the image for the journal and the descriptions of slots.
const STATE: &str = "/data/hob/update";

/// The slots of this machine; `None` when it has none, and updates come by other means.
///
/// # Errors
/// `Disk` when the machine has slots and they cannot be used.
pub fn find(disk: Arc<dyn Disk>) -> Result<Option<Arc<dyn Slots>>> {
    let variable = |name| std::env::var_os(name);
    let slot = variable(crate::SLOT_VARIABLE).and_then(|slot| SlotName::parse(slot.to_str()?));
    let supervisor = variable(crate::SLOTS_VARIABLE).map(PathBuf::from).zip(slot);
    let machine = Machine { supervisor, proc: "/proc".into(), selector: "/boot".into(), state: STATE.into() };
    machine.detect(disk)
}

impl Machine {
    /// The slots; `None` when the machine has none.
    ///
    /// # Errors
    /// `Disk` when the machine has slots and they cannot be used.
    pub fn detect(&self, disk: Arc<dyn Disk>) -> Result<Option<Arc<dyn Slots>>> {
        if let Some((root, running)) = &self.supervisor {
            return Ok(Some(Arc::new(DirSlots::new(disk, root.clone(), *running))));
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let mounts = text(&self.proc.join("mounts"));
        let selector = self.selector.display();
        let partitions = || {
            let found = Partitions::beside(disk.clone(), &self.selector, &mounts, self.state.clone());
            found.ok_or_else(|| {
                Error::Disk(format!("the partition with the switch of the slots is not mounted at {selector}"))
            })
        };
        if let Some(running) = slot_of_command_line(&text(&self.proc.join("cmdline"))) {
            let file = self.selector.join("slot.env");
            return Ok(Some(Arc::new(UbootSlots::new(partitions()?, file, running))));
        }
        let autoboot = self.selector.join("autoboot.txt");
        let number = fs::read(self.proc.join("device-tree/chosen/bootloader/partition")).unwrap_or_default();
        if text(&autoboot).contains("tryboot_a_b=1")
            && let Some(running) = slot_of_partition(&number)
        {
            let boot_id = text(&self.proc.join("sys/kernel/random/boot_id")).trim().to_owned();
            return Ok(Some(Arc::new(PiTrybootSlots::new(partitions()?, autoboot, &self.state, boot_id, running))));
        }
        Ok(None)
    }
}
