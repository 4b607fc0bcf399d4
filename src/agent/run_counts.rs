//! How many runs there are, and how those ended that are over: for whoever measures the house.

use crate::Agent;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Runs since the start.
#[derive(Debug, Clone, Default)]
pub struct RunStats {
    /// Under way now.
    pub running: u64,
    /// Waiting for their conversation to be free.
    pub queued: u64,
    /// Those that ended, by outcome: `ok`, `suspended`, or the code of the error.
    pub ended: BTreeMap<&'static str, u64>,
}

/// Counts how runs end.
#[derive(Clone, Default)]
pub(crate) struct RunCounts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl RunCounts {
    pub fn ended(&self, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome).or_default() += 1;
    }
}

impl Agent {
    /// How many runs there are, and how those of this start ended.
    pub fn run_stats(&self) -> RunStats {
        let (running, queued) = self.places.counts();
        RunStats { running, queued, ended: self.counts.0.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }
}
