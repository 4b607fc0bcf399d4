//! When a call has to end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// When a call has to end.
#[derive(Clone)]
pub(crate) struct Deadline {
    pub at: Instant,
    /// Set when nobody waits for the result any more.
    pub gone: Arc<AtomicBool>,
}

impl Deadline {
    pub fn is_over(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || Instant::now() >= self.at
    }
}
