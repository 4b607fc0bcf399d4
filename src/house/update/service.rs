//! [`api::Updates`] over the updater: uploads, installation and going back, and the state that page, command and Home Assistant show.

use super::{
    channel::ChannelState,
    found::FoundState,
    health::{PASSES, Probe},
    notes::Notes,
};
use crate::config;
use api::{
    BundleUpload, ByteRange, InstallSource, OpenUpload, PieceTaken, Restart, Switching, UpdateOutcome, UpdateProgress,
    UpdateSlot, UpdateView, Updates,
};
use futures::{FutureExt, future::BoxFuture};
use home::mqtt::UpdateState;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::task::spawn_blocking;
use tool::{Bus, Error, Id, Result};
use update::{
    Plan, SlotStatus, Status, Updater,
    disk::RealDisk,
    fetch::Offer,
    keys::{Keyring, Origin},
    manifest::Device,
    slots::{self, Restart as Switch},
};

/// The least time between two events about the progress of an upload.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// The folder of the journal, in the data folder, where the slots are partitions.
const STATE: &str = "update";
/// An upload that nobody continues for so long is given up, and how often is looked.
const ABANDONED_MS: u64 = 7 * 24 * 3600 * 1000;
const SWEEP_EVERY: Duration = Duration::from_secs(6 * 3600);
/// For so long after a piece of an upload came, the update counts as in progress.
const ARRIVES: Duration = Duration::from_secs(300);

/// Updates of this device; cheap to clone.
#[derive(Clone)]
pub struct UpdateService(pub(super) Arc<Inner>);

pub(super) struct Inner {
    /// The updater, or why there is none.
    pub updater: Result<Arc<Updater>, String>,
    pub config: config::Update,
    pub bus: Bus,
    pub notes: Notes,
    pub restart: Restart,
    pub probe: OnceLock<Probe>,
    /// Checks that passed, of the version on trial.
    pub passed: AtomicU32,
    /// Whether Hob is about to restart into another version.
    pub restarting: AtomicBool,
    /// Whether an update is being prepared, and what went wrong with the last installation.
    pub job: Mutex<Job>,
    pub channel: Mutex<ChannelState>,
    pub found: Mutex<FoundState>,
    /// The way into the slot whose turn it is.
    pub switch: Mutex<Switch>,
    progressed: Mutex<Option<Instant>>,
    /// When an upload was begun or a piece of it came.
    arrived: Mutex<Option<Instant>>,
}

/// The source of a version.
enum Source {
    /// A complete upload.
    Upload(String),
    /// The release that the channel offers.
    Channel,
    /// A file, and the id of the bundle in it.
    Found(PathBuf, String),
}

#[derive(Default, Clone)]
pub(super) struct Job {
    pub runs: bool,
    pub problem: Option<String>,
}

/// The keys that are built in, and those of hob.toml.
fn keyring(config: &config::Update) -> Result<Keyring, ::update::Error> {
    let mut keys = Keyring::built_in();
    for key in &config.keys {
        keys.add(key, Origin::Configured)?;
    }
    Ok(keys)
}

/// The updater of this device.
///
/// # Errors
/// Why there is none, as a sentence.
pub fn open_updater(config: &config::Update, data: &Path) -> Result<Updater, String> {
    let disk = Arc::new(RealDisk);
    let Some(slots) = slots::find(disk.clone()).map_err(|error| error.to_string())? else {
        return Err("this Hob runs without a second copy to update: start it with `hob supervise --root DIR`".into());
    };
    let state = slots.state_folder().unwrap_or_else(|| data.join(STATE));
    let device = Device::this(env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?;
    let keys = keyring(config).map_err(|error| error.to_string())?;
    Updater::open(disk, slots, ::update::Config { state, keys, device }).map_err(|error| error.to_string())
}

/// An error of the updater for doors.
pub(super) fn door_error(error: ::update::Error) -> Error {
    use ::update::Error as E;
    let text = error.to_string();
    match error {
        E::Refused(_) | E::Disk(_) | E::Network(_) => Error::failed(text),
        E::Busy(_) => Error::unavailable(text),
        E::BadRequest(_) => Error::bad_args(text),
        E::NotFound(_) => Error::NotFound(text.into()),
    }
}

impl UpdateService {
    /// Updates over the slots of this machine, if there are any.
    pub fn open(config: config::Update, data: &Path, bus: Bus, restart: Restart) -> Self {
        let updater = open_updater(&config, data).map(Arc::new);
        if let Err(why) = &updater {
            tracing::debug!(%why, "no updates");
        }
        Self(Arc::new(Inner {
            updater,
            config,
            bus,
            notes: Notes::open(Some(data)),
            restart,
            probe: OnceLock::new(),
            passed: AtomicU32::new(0),
            restarting: AtomicBool::new(false),
            job: Mutex::default(),
            channel: Mutex::default(),
            found: Mutex::default(),
            switch: Mutex::new(Switch::Exit),
            progressed: Mutex::default(),
            arrived: Mutex::default(),
        }))
    }

    pub(super) fn updater(&self) -> Result<Arc<Updater>> {
        self.0.updater.clone().map_err(Error::unavailable)
    }

    /// Runs what blocks on the disk.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Updater>) -> ::update::Result<T> + Send + 'static,
    ) -> Result<T> {
        let updater = self.updater()?;
        let done = spawn_blocking(move || work(updater)).await;
        done.map_err(|_| Error::failed("the update broke off: the log has more"))?.map_err(door_error)
    }

    /// Publishes the state.
    pub(super) async fn changed(&self) {
        let Ok(status) = self.blocking(|updater| updater.status()).await else { return };
        let version = status.release.as_ref().map(|release| release.version.to_string());
        let data = serde_json::json!({"state": status.state, "version": version, "running": status.running.version});
        self.0.bus.publish("update:state", None, data);
    }

    fn job(&self) -> Job {
        self.0.job.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_job(&self, runs: bool, problem: Option<String>) {
        *self.0.job.lock().unwrap_or_else(PoisonError::into_inner) = Job { runs, problem };
    }

    /// The state of Home Assistant's update entity.
    pub fn for_home_assistant(&self) -> UpdateState {
        let of_channel = self.offered().map(|Offer { release, .. }| (release.serial, release.version, release.notes));
        let of_folder = self.newest_found().map(|(_, content)| (content.serial, content.version, content.notes));
        let newest = of_channel.into_iter().chain(of_folder).max_by_key(|(serial, ..)| *serial);
        let offered = newest.map(|(_, version, notes)| (version.to_string(), notes));
        let Ok(Ok(status)) = self.updater().map(|updater| updater.status()) else { return UpdateState::default() };
        let arrived = self.arrived().map(|at| at.elapsed());
        let in_progress = is_in_progress(status.state, self.job().runs, arrived);
        let about = status.release.as_ref().map(|release| release.version.to_string()).filter(|_| in_progress);
        let failed = status.last_outcome.as_ref().filter(|outcome| outcome.what == "failed");
        let failed = failed.map(|outcome| format!("Version {} was taken back: {}", outcome.version, outcome.why));
        let notes = offered.as_ref().map(|(_, notes)| notes.clone()).filter(|notes| !notes.is_empty());
        let summary = failed.into_iter().chain(notes).collect::<Vec<_>>().join(" ");
        let running = status.running.version;
        let latest = about.or(offered.map(|(version, _)| version)).filter(|latest| *latest != running);
        UpdateState { installed: running, latest, in_progress, summary }
    }

    fn arrived(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn state(&self) -> Result<UpdateView> {
        let channel = self.channel_view();
        let updater = match &self.0.updater {
            Ok(_) => self.blocking(|updater| Ok((updater.status()?, updater.can_install()))).await?,
            Err(why) => return Ok(without_slots(why.clone(), channel)),
        };
        let (status, can_install) = updater;
        let job = self.job();
        let upload = match &status.release {
            Some(release) if ["writing", "staged"].contains(&status.state) => {
                let of_progress = |p: ::update::Progress| (Some(p.needed.saturating_sub(p.received)), Some(p.needed));
                let (needed_bytes, total_bytes) = match status.state {
                    "staged" => (Some(0), status.progress.map(|p| p.needed)),
                    // After a restart that is known once somebody continues.
                    _ => status.progress.map_or((None, None), of_progress),
                };
                Some(OpenUpload {
                    id: release.id.clone(),
                    version: release.version.to_string(),
                    needed_bytes,
                    total_bytes,
                })
            }
            _ => None,
        };
        let progress = match status.state {
            "trying" => Some(UpdateProgress { done: self.0.passed.load(Relaxed).into(), total: PASSES.into() }),
            _ => status.progress.map(|p| UpdateProgress { done: p.written, total: p.total }),
        };
        let why_not = match (can_install.err(), job.runs) {
            (Some(why), _) => Some(why.to_string()),
            (None, true) => Some("an update is being prepared: wait for it".to_owned()),
            (None, false) => None,
        };
        Ok(UpdateView {
            state: status.state.to_owned(),
            version: status.release.as_ref().map(|release| release.version.to_string()),
            can_roll_back: !job.runs && can_roll_back(&status),
            running: slot(&status.running),
            other: status.other.as_ref().map(slot),
            kind: status.kind.name().to_owned(),
            board: status.board.clone(),
            floor: status.floor,
            progress,
            upload,
            last_outcome: outcome(&status),
            channel,
            found: self.found_view(),
            can_install: why_not.is_none(),
            why_not,
            preparing: job.runs,
            problem: job.problem,
            restarting: self.0.restarting.load(Relaxed),
        })
    }

    /// Installs in the background: reading a slot back takes its time on a slow card.
    async fn prepare(self, source: Source) -> Result<()> {
        let id = match source {
            Source::Upload(id) => id,
            Source::Channel => self.download().await?,
            Source::Found(path, id) => self.take_found(path, id).await?,
        };
        self.blocking(move |updater| match updater.status()? {
            Status { state: "staged", release: Some(release), .. } if release.id == id => Ok(release),
            _ => updater.stage(&id),
        })
        .await?;
        self.changed().await;
        self.switch().await
    }

    /// The source of the version to install, and which it is.
    async fn source(&self, chosen: Option<InstallSource>) -> Result<(Source, String)> {
        let found = |id: String| self.found(&id).map(|(path, version)| (Source::Found(path, id), version));
        match chosen {
            Some(InstallSource::Upload(id)) => Ok((Source::Upload(id.clone()), self.complete(id).await?)),
            Some(InstallSource::Found(id)) => found(id),
            None => match (self.offered(), self.newest_found()) {
                (Some(offer), _) => Ok((Source::Channel, offer.release.version.to_string())),
                (None, Some((_, content))) => found(content.id),
                (None, None) => Err(Error::unavailable(
                    "neither the channel nor a folder offers anything newer: check first, or upload a file",
                )),
            },
        }
    }

    async fn start_install(&self, chosen: Option<InstallSource>) -> Result<Switching> {
        let busy = self.reserve()?;
        let (source, version) = self.source(chosen).await?;
        self.blocking(|updater| updater.can_install()).await?;
        self.set_job(true, None);
        let preparing = self.clone();
        tokio::spawn(async move {
            let problem = preparing.clone().prepare(source).await.err();
            let problem = problem.map(|error| preparing.without_secrets(error.message()));
            if let Some(problem) = &problem {
                tracing::warn!(%problem, "the update was not installed");
            }
            {
                // Together: who sees that it has ended may begin again.
                let mut job = preparing.0.job.lock().unwrap_or_else(PoisonError::into_inner);
                *job = Job { runs: false, problem };
                drop(busy);
            }
            preparing.changed().await;
        });
        Ok(Switching { restarting: true, version })
    }

    /// The version of an upload that needs nothing more.
    async fn complete(&self, id: String) -> Result<String> {
        let (status, plan) = self
            .blocking(move |updater| {
                let status = updater.status()?;
                let is_staged = status.state == "staged" && status.release.as_ref().is_some_and(|r| r.id == id);
                let plan = if is_staged { None } else { Some(updater.plan(&id)?) };
                Ok((status, plan))
            })
            .await?;
        match plan {
            Some(plan) if plan.needed_bytes > 0 => Err(Error::unavailable(format!(
                "{} bytes of version {} are missing: upload them first",
                plan.needed_bytes, plan.version
            ))),
            Some(plan) => Ok(plan.version),
            None => Ok(status.release.map(|release| release.version.to_string()).unwrap_or_default()),
        }
    }

    /// Notes when an upload was last begun or resumed.
    fn note_upload(&self, id: &str) {
        let (id, now) = (id.to_owned(), Id::new().millis());
        self.0.notes.change(|content| (content.upload, content.upload_at) = (id, now));
    }

    /// Gives up uploads that nobody continues, for as long as it is polled.
    pub async fn sweep(self) {
        if self.0.updater.is_err() {
            return;
        }
        loop {
            if let Err(error) = self.give_up_abandoned().await {
                tracing::warn!(%error, "an abandoned upload could not be given up");
            }
            tokio::time::sleep(SWEEP_EVERY).await;
        }
    }

    async fn give_up_abandoned(&self) -> Result<()> {
        let status = self.blocking(|updater| updater.status()).await?;
        let (notes, Some(release)) = (self.0.notes.get(), status.release.filter(|_| status.state == "writing")) else {
            return Ok(());
        };
        if notes.upload != release.id {
            // Its begin was not noted; its time counts from now.
            self.note_upload(&release.id);
            return Ok(());
        }
        if self.job().runs || Id::new().millis().saturating_sub(notes.upload_at) < ABANDONED_MS {
            return Ok(());
        }
        tracing::info!(version = %release.version, "the upload was abandoned and is given up");
        self.blocking(move |updater| updater.discard(&release.id)).await?;
        self.changed().await;
        Ok(())
    }

    pub(super) fn reserve(&self) -> Result<tokio::sync::OwnedMutexGuard<()>> {
        self.0.restart.reserve().ok_or_else(|| {
            Error::unavailable("Hob is about to restart, installs an update or receives a backup: try again then")
        })
    }

    /// Publishes the progress of an upload, now and then.
    fn progressed(&self, progress: ::update::Progress) {
        let mut last = self.0.progressed.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| at.elapsed() < PROGRESS_EVERY) && progress.received < progress.needed {
            return;
        }
        *last = Some(Instant::now());
        let data = serde_json::json!({"received": progress.received, "needed": progress.needed});
        self.0.bus.publish("update:progress", None, data);
    }
}

/// Whether an update goes on: one that waits for a person, or that nobody continues, does not.
fn is_in_progress(state: &str, prepares: bool, arrived: Option<Duration>) -> bool {
    match state {
        "trying" => true,
        "writing" | "staged" => prepares || arrived.is_some_and(|ago| ago < ARRIVES),
        _ => false,
    }
}

fn slot(status: &SlotStatus) -> UpdateSlot {
    UpdateSlot { slot: Some(status.slot.letter().to_owned()), version: status.version.clone(), system: status.system }
}

/// Whether the other slot has a version that was confirmed once.
fn can_roll_back(status: &Status) -> bool {
    let Some(other) = &status.other else { return false };
    let is_about_it = status.release.as_ref().is_some_and(|release| release.slot == other.slot);
    !(is_about_it && matches!(status.state, "writing" | "staged" | "trying" | "failed"))
}

fn outcome(status: &Status) -> Option<UpdateOutcome> {
    let outcome = status.last_outcome.clone()?;
    let at = outcome.at.saturating_mul(1000);
    Some(UpdateOutcome { what: outcome.what, why: outcome.why, at, version: outcome.version })
}

fn without_slots(why: String, channel: Option<api::UpdateChannel>) -> UpdateView {
    UpdateView {
        state: "idle".into(),
        version: None,
        running: UpdateSlot { slot: None, version: env!("CARGO_PKG_VERSION").into(), system: false },
        other: None,
        kind: "none".into(),
        board: "generic".into(),
        floor: 0,
        progress: None,
        upload: None,
        last_outcome: None,
        channel,
        found: vec![],
        can_install: false,
        why_not: Some(why),
        can_roll_back: false,
        preparing: false,
        problem: None,
        restarting: false,
    }
}

fn upload(plan: Plan) -> BundleUpload {
    BundleUpload {
        id: plan.id,
        version: plan.version,
        notes: plan.notes,
        needed: plan.needed.iter().map(|range| ByteRange { offset: range.offset, length: range.length }).collect(),
        needed_bytes: plan.needed_bytes,
        total_bytes: plan.total_bytes,
    }
}

impl Updates for UpdateService {
    fn view(&self) -> BoxFuture<'_, Result<UpdateView>> {
        self.state().boxed()
    }

    fn is_trying(&self) -> bool {
        self.updater().is_ok_and(|updater| updater.status().is_ok_and(|status| status.state == "trying"))
    }

    fn begin(&self, head: Vec<u8>) -> BoxFuture<'_, Result<BundleUpload>> {
        let begin = async move {
            if self.job().runs {
                return Err(Error::unavailable("an update is being prepared: wait for it"));
            }
            let plan = self.blocking(move |updater| updater.begin(&head)).await?;
            self.note_upload(&plan.id);
            *self.arrived() = Some(Instant::now());
            // An installation may have begun meanwhile: whether one runs is not this call's to say.
            self.0.job.lock().unwrap_or_else(PoisonError::into_inner).problem = None;
            self.changed().await;
            Ok(upload(plan))
        };
        begin.boxed()
    }

    fn upload(&self, id: String) -> BoxFuture<'_, Result<BundleUpload>> {
        self.blocking(move |updater| updater.plan(&id)).map(|plan| plan.map(upload)).boxed()
    }

    fn put(&self, id: String, offset: u64, bytes: Vec<u8>) -> BoxFuture<'_, Result<PieceTaken>> {
        let put = async move {
            let progress = self.blocking(move |updater| updater.put(&id, offset, &bytes)).await?;
            *self.arrived() = Some(Instant::now());
            self.progressed(progress);
            Ok(PieceTaken { needed_bytes: progress.needed.saturating_sub(progress.received) })
        };
        put.boxed()
    }

    fn discard(&self, id: String) -> BoxFuture<'_, Result<()>> {
        let discard = async move {
            if self.job().runs {
                return Err(Error::unavailable("this update is being installed: wait for it"));
            }
            self.blocking(move |updater| updater.discard(&id)).await?;
            self.changed().await;
            Ok(())
        };
        discard.boxed()
    }

    fn install(&self, chosen: Option<InstallSource>) -> BoxFuture<'_, Result<Switching>> {
        self.start_install(chosen).boxed()
    }

    fn confirm(&self) -> BoxFuture<'_, Result<()>> {
        let confirm = async {
            self.blocking(|updater| updater.confirm().map(drop)).await?;
            self.changed().await;
            Ok(())
        };
        confirm.boxed()
    }

    fn rollback(&self) -> BoxFuture<'_, Result<Switching>> {
        self.go_back().boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<()>> {
        let check = async {
            if self.looks_for_files() {
                self.look_for_files(true).await?;
                if self.0.config.channel.is_empty() {
                    return Ok(());
                }
            }
            match self.check_channel().await {
                // The view has the problem; there is something to install all the same.
                Err(_) if self.newest_found().is_some() => Ok(()),
                checked => checked,
            }
        };
        check.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_that_nobody_continues_is_not_in_progress() {
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        for (state, prepares, arrived, expected) in [
            ("trying", false, None, true),
            ("writing", false, minutes(1), true),
            ("writing", false, minutes(6), false),
            ("writing", true, minutes(600), true),
            ("staged", false, None, false),
            ("staged", true, None, true),
            ("failed", true, minutes(1), false),
        ] {
            assert_eq!(is_in_progress(state, prepares, arrived), expected, "{state} {prepares} {arrived:?}");
        }
    }
}
