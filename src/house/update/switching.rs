//! Switching between the slots: into a staged version, back by a person, back by a failed trial.

use super::{notes::mark, service::UpdateService};
use api::{Leave, Switching};
use std::sync::{Arc, PoisonError, atomic::Ordering::Relaxed};
use tool::Result;
use update::{Updater, slots::Restart as Switch};

impl UpdateService {
    /// Notes what works now, and restarts into the staged version.
    pub(super) async fn switch(&self) -> Result<()> {
        let baseline = match self.0.probe.get() {
            Some(probe) => probe.baseline().await,
            None => Default::default(),
        };
        let release = self.blocking(|updater| updater.status()).await?.release;
        let of = release.as_ref().map(mark).unwrap_or_default();
        self.0.notes.change(|content| (content.baseline, content.baseline_of) = (baseline, of));
        self.switch_by(|updater| updater.try_staged()).await
    }

    /// Decides for the other slot, and restarts into it. The restart is visible before the decision, so that nobody reads an outcome
    /// of a version that still runs.
    pub(super) async fn switch_by(
        &self,
        decide: impl FnOnce(Arc<Updater>) -> ::update::Result<Switch> + Send + 'static,
    ) -> Result<()> {
        let was = self.0.restarting.swap(true, Relaxed);
        match self.blocking(decide).await {
            Ok(switch) => self.leave(switch).await,
            Err(error) => {
                self.0.restarting.store(was, Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Restarts into the slot whose turn it is.
    pub(super) async fn leave(&self, switch: Switch) {
        *self.0.switch.lock().unwrap_or_else(PoisonError::into_inner) = switch;
        self.0.restarting.store(true, Relaxed);
        self.changed().await;
        self.0.restart.soon(Leave::Switch);
    }

    /// The command that restarts the machine into that slot, once the daemon has ended; empty where the supervisor does it.
    pub fn switch_command(&self) -> Vec<String> {
        match &*self.0.switch.lock().unwrap_or_else(PoisonError::into_inner) {
            Switch::Exit => vec![],
            Switch::Command(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    pub(super) async fn go_back(&self) -> Result<Switching> {
        let _busy = self.reserve()?;
        let status = self.blocking(|updater| updater.status()).await?;
        let version = status.other.map(|other| other.version).unwrap_or_default();
        self.switch_by(|updater| updater.rollback()).await?;
        Ok(Switching { restarting: true, version })
    }
}
