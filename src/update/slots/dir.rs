//! Folders under a supervisor: `ROOT/slots/{a,b}/` with `hob` and `manifest.json`, and the selector `ROOT/slots/selector.json`.

use crate::{disk::Disk, error::Result};
use std::{path::PathBuf, sync::Arc};

/// The slots below a folder.
#[derive(Debug, Clone)]
pub struct DirSlots {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

impl DirSlots {
    /// The slots of the supervisor whose root is `root` (from [`crate::SLOTS_VARIABLE`]).
    ///
    /// # Errors
    /// `Disk`.
    pub fn open(disk: Arc<dyn Disk>, root: PathBuf) -> Result<Self> {
        todo!()
    }
}
