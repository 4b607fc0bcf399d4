//! The trial of a new version: its window, the commit or the way back, and the notice that follows.

use super::{
    channel::tell,
    health::{Probe, window},
    service::UpdateService,
};
use std::sync::atomic::Ordering::Relaxed;
use tool::Ports;
use update::{Release, slots::Restart as Switch};

impl UpdateService {
    /// Once the daemon answers: proves a version on trial, and notifies the owner of how the last update ended.
    pub async fn prove(self, probe: Probe, ports: Ports) {
        let _ = self.0.probe.set(probe.clone());
        if let Ok(Some(switch)) = self.blocking(|updater| updater.pending_fallback()).await {
            // The trial has failed already, and this start should not be.
            return self.leave(switch).await;
        }
        match self.blocking(|updater| updater.status()).await {
            Ok(status) if status.trial => self.run_trial(&probe, status.release).await,
            // The baseline of an earlier trial says nothing about a later one.
            Ok(_) => self.0.notes.change(|content| content.baseline_of.clear()),
            Err(_) => return,
        }
        self.tell_of_outcome(&ports).await;
    }

    async fn run_trial(&self, probe: &Probe, release: Option<Release>) {
        let (length, baseline) = (self.0.config.window(), self.0.notes.get().baseline_for(release.as_ref()));
        tracing::info!(seconds = length.as_secs(), "a new version is tried");
        self.changed().await;
        let passed = |pass| {
            self.0.passed.store(pass, Relaxed);
            self.0.bus.publish("update:progress", None, serde_json::json!({"passed": pass}));
        };
        let checked = window(length, async || probe.check(&baseline).await, passed).await;
        // A person may have decided meanwhile.
        let is_open = self
            .blocking(|updater| updater.status())
            .await
            .is_ok_and(|status| status.trial && status.state == "trying");
        if !is_open || self.0.restarting.load(Relaxed) {
            return;
        }
        // At the same moment, too: what follows is refused then.
        let is_kept = async || {
            let status = self.blocking(|updater| updater.status()).await;
            self.0.restarting.load(Relaxed) || status.is_ok_and(|status| status.state == "committed")
        };
        let committed = match checked {
            Ok(()) => {
                self.blocking(|updater| updater.confirm().map(drop)).await.map_err(|error| error.message().to_owned())
            }
            Err(why) => Err(why),
        };
        match committed {
            Ok(()) => {
                tracing::info!("the new version passed its checks and is kept");
                self.changed().await;
            }
            Err(_) if is_kept().await => {}
            Err(why) => {
                tracing::error!(%why, "the new version is taken back");
                match self.switch_by(move |updater| updater.fail(&why)).await {
                    Ok(()) => {}
                    Err(_) if is_kept().await => {}
                    Err(error) => {
                        // The trial ends all the same: it was cleared before it began.
                        tracing::warn!(%error, "the reason could not be noted");
                        self.leave(Switch::Exit).await;
                    }
                }
            }
        }
    }

    /// A notice for the owner, once for each outcome.
    async fn tell_of_outcome(&self, ports: &Ports) {
        let Ok(status) = self.blocking(|updater| updater.status()).await else { return };
        let told = self.0.notes.get();
        let is_new = |of: &update::Outcome| (of.at, &of.version) != (told.told_outcome, &told.told_outcome_version);
        let Some(outcome) = status.last_outcome.filter(is_new) else { return };
        let (version, why) = (&outcome.version, &outcome.why);
        let text = match outcome.what.as_str() {
            "committed" => format!("Hob {version} is installed."),
            "failed" => format!("Hob {version} was taken back: {why}"),
            // A person did it.
            _ => String::new(),
        };
        if text.is_empty() || tell(ports, "Update", &text).await {
            self.0.notes.change(|content| {
                content.told_outcome = outcome.at;
                content.told_outcome_version = outcome.version.clone();
            });
        }
        self.0.bus.publish(
            format!("update:{}", outcome.what),
            None,
            serde_json::json!({"version": version, "why": why}),
        );
    }
}
