//! Requests to end the daemon: what happens after that.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The time for the response to be sent before shutdown.
const RESPONSE_TIME: Duration = Duration::from_millis(300);

/// The step after the daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The same program starts again, at the same addresses.
    Again,
    /// The same program starts again as it was started the first time: a factory reset forgets the addresses, too.
    Anew,
    /// The supervisor starts the program that is to run now: an update is tried, or taken back.
    Switch,
}

/// Requests a restart; cheap to clone.
#[derive(Clone, Default)]
pub struct Restart {
    asked: CancellationToken,
    how: Arc<OnceLock<Leave>>,
    /// Held while something prepares a restart: one at a time.
    busy: Arc<tokio::sync::Mutex<()>>,
}

impl Restart {
    /// Waits for a request.
    pub async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// The step that was requested.
    pub fn leave(&self) -> Option<Leave> {
        self.how.get().copied().filter(|_| self.asked.is_cancelled())
    }

    /// The right to prepare a restart; `None` while somebody else has it, and once a restart is requested.
    pub fn reserve(&self) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        self.busy.clone().try_lock_owned().ok().filter(|_| self.how.get().is_none())
    }

    /// Requests it now. The first request decides.
    pub fn now(&self, how: Leave) {
        let _ = self.how.set(how);
        self.asked.cancel();
    }

    /// Requests it once the response is sent.
    pub fn soon(&self, how: Leave) {
        let _ = self.how.set(how);
        let asked = self.asked.clone();
        tokio::spawn(async move {
            tokio::time::sleep(RESPONSE_TIME).await;
            asked.cancel();
        });
    }
}
