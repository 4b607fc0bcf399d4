//! Counts of runs, for metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Numbers of runs since the start.
#[derive(Debug, Clone, Default)]
pub struct RunStats {
    /// Running now.
    pub running: u64,
    /// Waiting until their conversation is free.
    pub queued: u64,
    /// Ended, by outcome: `ok`, `suspended`, or the code of the error.
    pub ended: BTreeMap<&'static str, u64>,
}

/// Counts ended runs by outcome.
#[derive(Clone, Default)]
pub(crate) struct RunCounts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl RunCounts {
    pub fn ended(&self, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome).or_default() += 1;
    }

    pub fn by_outcome(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
