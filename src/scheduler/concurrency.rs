//! Concurrency limits. Prompts take minutes and have their own limit, so that reminders never wait for them.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Maximum number of concurrent calls, besides prompts.
const CALLS: usize = 12;
/// Maximum number of concurrent prompts.
const PROMPTS: usize = 4;

/// The slots for concurrent calls.
pub(crate) struct CallSlots {
    calls: Arc<Semaphore>,
    prompts: Arc<Semaphore>,
}

impl Default for CallSlots {
    fn default() -> Self {
        Self { calls: Arc::new(Semaphore::new(CALLS)), prompts: Arc::new(Semaphore::new(PROMPTS)) }
    }
}

impl CallSlots {
    /// The slots for calls of a tool.
    pub fn of(&self, detached: bool) -> &Arc<Semaphore> {
        if detached { &self.prompts } else { &self.calls }
    }

    /// The number of free slots.
    pub fn free(&self) -> FreeSlots {
        FreeSlots { calls: self.calls.available_permits(), prompts: self.prompts.available_permits() }
    }
}

/// The number of free slots of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeSlots {
    calls: usize,
    prompts: usize,
}

impl FreeSlots {
    /// The free slots for calls of a tool.
    pub fn of(&mut self, detached: bool) -> &mut usize {
        if detached { &mut self.prompts } else { &mut self.calls }
    }
}
