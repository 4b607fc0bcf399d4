//! Backups that are made by themselves into a folder: when they are due, how many stay, and what is said when one fails.

use crate::{
    Telling,
    plan::{BackupPlan, Every, PlanChange, PlanView, believable, check_passphrase},
    tell_household,
};
use futures::future::BoxFuture;
use scrub::Scrubber;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{BackedUp, BackupOptions, Collection, Level, Record, Stamp, Store};
use tokio_util::sync::CancellationToken;
use tool::{
    Error, Id, Ports, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The ids of the only records.
const PLAN: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 8]);
const STATE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 9]);
/// The sealed passphrase of backups that are made by themselves.
const PASSPHRASE: &str = "backup-passphrase";
/// Delay after a start before the first look, and how often is looked.
const FIRST: Duration = Duration::from_secs(120);
const EVERY: Duration = Duration::from_secs(60);
/// How long after a failure another attempt is made, and how often the household is told.
const AGAIN_MS: u64 = 3_600_000;
const TELL_MS: u64 = 24 * 3_600_000;
/// From when on the last backup counts as old, where they are made by themselves.
const OLD_DAYS: [(Every, u64); 2] = [(Every::Day, 3), (Every::Week, 15)];
/// How many files of a folder are looked at.
const FILES: usize = 10_000;

/// Copies the data into a new file.
pub type Copying = Arc<dyn Fn(PathBuf, BackupOptions) -> BoxFuture<'static, store::Result<BackedUp>> + Send + Sync>;

/// What became of the last backups. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct BackupState {
    /// The last one that was made, also by download: milliseconds since 1970, bytes, its path, whether it is encrypted.
    made_ms: u64,
    size: u64,
    path: String,
    encrypted: bool,
    /// The last attempt that was made by itself, and why it failed.
    tried_ms: u64,
    problem: String,
    told_ms: u64,
    /// How many files of the workspace are in it, and how many entries there were left out.
    files: u64,
    skipped: u64,
}

impl BackupState {
    fn note(&mut self, made: BackedUp, made_ms: u64, encrypted: bool) {
        (self.made_ms, self.size, self.encrypted) = (made_ms, made.size, encrypted);
        (self.files, self.skipped) = (made.workspace.files, made.workspace.skipped);
    }
}

impl Record for BackupState {
    const NAME: &'static str = "backup-state";
    const WORD: &'static str = "state of backups";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// The last backup.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastBackup {
    /// Milliseconds since 1970.
    pub at: u64,
    /// Bytes.
    pub size: u64,
    /// The file; empty when it was downloaded.
    pub path: String,
    /// Whether it is encrypted, and contains keys and passwords.
    pub encrypted: bool,
    /// How many files of the workspace it contains.
    pub files: u64,
    /// How many entries of the workspace it leaves out, because they are links, pipes or devices, or cannot be read.
    pub skipped: u64,
}

/// The state of backups.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupView {
    pub plan: PlanView,
    /// When the next one is made by itself: milliseconds since 1970.
    pub next: Option<u64>,
    /// Null when there was none on this device.
    pub last: Option<LastBackup>,
    /// Why the last attempt failed, and what to do.
    pub problem: Option<String>,
    /// Whether there is no recent one although they are made by themselves.
    #[serde(skip)]
    pub is_old: bool,
}

/// Backups that are made by themselves; cheap to clone.
#[derive(Clone)]
pub struct Backups(Arc<Inner>);

struct Inner {
    plans: Collection<BackupPlan>,
    states: Collection<BackupState>,
    store: Store,
    ports: Ports,
    copy: Copying,
    tell: Telling,
    /// Learns the passphrase.
    scrubber: Scrubber,
    /// One at a time.
    busy: tokio::sync::Mutex<()>,
    /// The state that could not be stored: without it, a disk that takes no writes would make every look the first.
    unstored: Mutex<Option<BackupState>>,
}

/// A backup that was made.
struct Made {
    file: PathBuf,
    made: BackedUp,
    encrypted: bool,
    /// The begin of the names of this device's backups, and how many stay.
    start: String,
    keep: usize,
}

impl Backups {
    pub fn new(store: &Store, ports: Ports, copy: Copying, tell: Telling, scrubber: Scrubber) -> Self {
        let (plans, states, store) = (store.collection(), store.collection(), store.clone());
        let (busy, unstored) = Default::default();
        let this = Self(Arc::new(Inner { plans, states, store, ports, copy, tell, scrubber, busy, unstored }));
        this.learn();
        this
    }

    /// The passphrase of backups that are made by themselves.
    fn passphrase(&self) -> Option<String> {
        let sealed = self.0.store.unseal_if_ours(PASSPHRASE).ok().flatten();
        sealed.and_then(|bytes| String::from_utf8(bytes).ok())
    }

    fn learn(&self) {
        self.0.scrubber.set("backup", self.passphrase());
    }

    fn plan(&self) -> Result<BackupPlan> {
        Ok(self.0.plans.get_in(Scope::Household, PLAN)?.map(|entry| entry.value).unwrap_or_default())
    }

    fn state(&self) -> Result<BackupState> {
        if let Some(state) = self.unstored().clone() {
            return Ok(state);
        }
        Ok(self.0.states.get_in(Scope::Household, STATE)?.map(|entry| entry.value).unwrap_or_default())
    }

    fn unstored(&self) -> MutexGuard<'_, Option<BackupState>> {
        self.0.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state; in memory where it cannot be stored.
    async fn change_state(&self, change: impl Fn(&mut BackupState) + Send + Sync + 'static) -> Result<()> {
        let (states, change) = (self.0.states.clone(), Arc::new(change));
        let (known, changed) = (self.unstored().clone(), change.clone());
        let write = move |tx: &store::Tx| {
            let stored = || Ok::<_, store::Error>(states.read(tx, Scope::Household, STATE)?.map(|entry| entry.value));
            let mut state = if known.is_some() { known.clone() } else { stored()? }.unwrap_or_default();
            changed(&mut state);
            states.put(tx, STATE, &Stamp::household("care"), &state).map(drop)
        };
        let written = self.0.store.write(write).await;
        let state = match &written {
            Ok(()) => None,
            Err(_) => {
                let mut state = self.state().unwrap_or_default();
                change(&mut state);
                Some(state)
            }
        };
        *self.unstored() = state;
        Ok(written?)
    }

    /// The plan, and what became of the last backups.
    ///
    /// # Errors
    /// As every read.
    pub fn view(&self) -> Result<BackupView> {
        let (plan, state, now) = (self.plan()?, self.state()?, self.0.ports.clock.local());
        let BackupState { made_ms, size, path, encrypted, problem, files, skipped, .. } = state;
        let now_ms = u64::try_from(now.timestamp().as_millisecond()).unwrap_or(0);
        let days = OLD_DAYS.iter().find(|(every, _)| *every == plan.every).map(|(_, days)| *days);
        let age_ms = now_ms.saturating_sub(believable(made_ms, now_ms).max(believable(plan.since_ms, now_ms)));
        Ok(BackupView {
            next: plan.next_ms(&now),
            last: (made_ms > 0).then_some(LastBackup { at: made_ms, size, path, encrypted, files, skipped }),
            problem: (!problem.is_empty()).then_some(problem),
            is_old: days.is_some_and(|days| age_ms > days * 24 * 3_600_000),
            plan: plan.view(),
        })
    }

    /// Refuses a passphrase that is no protection.
    ///
    /// # Errors
    /// `BadArgs`.
    pub fn check_passphrase(&self, passphrase: &str) -> Result<()> {
        check_passphrase(passphrase)
    }

    /// Stores a new plan, and its passphrase.
    ///
    /// # Errors
    /// `BadArgs` when it cannot work, such as a folder that does not exist.
    pub async fn set(&self, change: PlanChange) -> Result<BackupView> {
        let mut plan = self.plan()?.changed(&change, self.now_ms())?;
        if plan.encrypted && change.passphrase.is_none() && self.passphrase().is_none() {
            return Err(Error::bad_args("the passphrase of the backups is not here any more: enter it again"));
        }
        if plan.every != Every::Off
            && let Some(data) = self.0.store.folder()
        {
            let folder = plan.folder(data);
            make_folder(&plan, &folder)?;
            plan.other_disk = is_other_disk(&folder, data);
            is_writable(&folder)?;
        }
        let (plans, this) = (self.0.plans.clone(), self.clone());
        let write = move |tx: &store::Tx| {
            match change.passphrase.as_deref() {
                None => {}
                Some("") => this.0.store.seal_in(tx, PASSPHRASE, None)?,
                Some(passphrase) => this.0.store.seal_in(tx, PASSPHRASE, Some(passphrase.as_bytes()))?,
            }
            plans.put(tx, PLAN, &Stamp::household("care"), &plan).map(drop)
        };
        self.0.store.write(write).await?;
        self.learn();
        // What failed before was another plan.
        self.change_state(|state| state.problem.clear()).await?;
        self.view()
    }

    /// Notes one that somebody downloaded.
    pub async fn downloaded(&self, made: BackedUp, encrypted: bool) {
        let made_ms = self.now_ms();
        let noted = self.change_state(move |state| {
            state.note(made, made_ms, encrypted);
            state.path.clear();
        });
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the time of the backup was not stored");
        }
    }

    /// Makes one now, as planned.
    ///
    /// # Errors
    /// `Unavailable` and `Failed`, with what to do. The failure is also stored.
    pub async fn run(&self) -> Result<BackupView> {
        let this = self.clone();
        // Runs to completion even if nobody waits any more.
        let made = tokio::spawn(async move {
            let _busy = this.0.busy.lock().await;
            let (made, now_ms) = (this.make().await, this.now_ms());
            let change: Box<dyn Fn(&mut BackupState) + Send + Sync> = match &made {
                Ok(Made { file, made, encrypted, .. }) => {
                    let (path, made, encrypted) = (file.display().to_string(), *made, *encrypted);
                    tracing::info!(size = made.size, files = made.workspace.files, "made a backup");
                    Box::new(move |state: &mut BackupState| {
                        state.note(made, now_ms, encrypted);
                        state.path.clone_from(&path);
                        (state.tried_ms, state.told_ms) = (now_ms, 0);
                        state.problem.clear();
                    })
                }
                Err(error) => {
                    let problem = error.message().to_owned();
                    tracing::error!(%problem, "no backup was made");
                    Box::new(move |state: &mut BackupState| {
                        state.tried_ms = now_ms;
                        state.problem.clone_from(&problem);
                    })
                }
            };
            let noted = this.change_state(change).await;
            let Made { file, start, keep, .. } = made?;
            noted.map_err(|error| {
                let shown = file.display();
                Error::failed(format!(
                    "the backup {shown} was made, but that could not be stored, so no older one is removed: {error}"
                ))
            })?;
            // Not before: whoever forgets that one was made makes the next one soon, and the older ones would be gone.
            if let Some(folder) = file.parent() {
                remove_old(folder, &start, &file, keep);
            }
            Ok(())
        });
        made.await.unwrap_or_else(|e| Err(Error::failed(format!("the backup broke off: {e}"))))?;
        self.view()
    }

    async fn make(&self) -> Result<Made> {
        let plan = self.plan()?;
        let Some(data) = self.0.store.folder().map(Path::to_path_buf) else {
            return Err(Error::unavailable("the data is in memory only: there is nothing to back up"));
        };
        let passphrase = match plan.encrypted {
            false => None,
            true => Some(self.passphrase().ok_or_else(|| {
                let text =
                    "the passphrase of the backups is not here any more: enter it again on the page, at Device, Backup";
                Error::unavailable(text)
            })?),
        };
        let folder = plan.folder(&data);
        make_folder(&plan, &folder)?;
        if plan.other_disk && !is_other_disk(&folder, &data) {
            return Err(Error::unavailable(format!(
                "the disk of {} is not connected: plug it in, or choose another folder on the page, at Device, Backup",
                folder.display()
            )));
        }
        is_writable(&folder)?;
        let start = format!("hob-backup-{}-", short(self.0.store.device_id()));
        let now = self.0.ports.clock.local();
        let end = if passphrase.is_some() { "hob.age" } else { "hob" };
        let file = folder.join(format!("{start}{}.{end}", now.strftime("%Y%m%d-%H%M%S")));
        let encrypted = passphrase.is_some();
        remove_parts(&folder, &start);
        let options = BackupOptions { passphrase, without_workspace: plan.without_files };
        let made = (self.0.copy)(file.clone(), options).await?;
        let keep = usize::try_from(plan.keep).unwrap_or(1).max(1);
        Ok(Made { file, made, encrypted, start, keep })
    }

    /// Makes backups when they are due, until `closing`.
    pub async fn watch(self, closing: CancellationToken) {
        let work = async {
            tokio::time::sleep(FIRST).await;
            loop {
                if let Err(error) = self.look().await {
                    tracing::warn!(%error, "the plan of backups cannot be read");
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        let _ = closing.run_until_cancelled(work).await;
    }

    async fn look(&self) -> Result<()> {
        let (plan, state, now) = (self.plan()?, self.state()?, self.0.ports.clock.local());
        let since = |ms| self.now_ms().saturating_sub(believable(ms, self.now_ms()));
        let failed = !state.problem.is_empty() && since(state.tried_ms) >= AGAIN_MS;
        if plan.every == Every::Off || !(failed || plan.is_due(&now, state.tried_ms)) {
            return Ok(());
        }
        let Err(error) = self.run().await else { return Ok(()) };
        if since(state.told_ms) >= TELL_MS {
            let why = error.message().trim_end_matches('.');
            let (title, text) = match self.state()?.problem.is_empty() {
                true => ("Trouble with backups", format!("After the backup: {why}. Look at the disk of the data.")),
                false => ("No backup", format!("The backup failed: {why}. Hob tries again every hour.")),
            };
            tell_household(&self.0.tell, title, &text).await;
            let now_ms = self.now_ms();
            // In memory at least.
            self.change_state(move |state| state.told_ms = now_ms).await?;
        }
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.ports.clock.now().as_millisecond()).unwrap_or(0)
    }
}

/// The end of a device's id, in names of files: several Hobs may share a stick.
fn short(device: Id) -> String {
    let text = device.to_string();
    text[text.len().saturating_sub(8)..].to_owned()
}

/// Makes the folder in the data folder; any other one must exist.
fn make_folder(plan: &BackupPlan, folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let shown = folder.display();
    if !plan.folder.is_empty() {
        return Err(Error::unavailable(format!(
            "there is no folder {shown}: plug the disk in, or create the folder, or choose another one"
        )));
    }
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|e| Error::unavailable(format!("could not create {shown}: {e}")))
}

fn is_writable(folder: &Path) -> Result<()> {
    let probe = folder.join(format!(".hob-{}", Id::new()));
    let write = fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
    let by_systemd = std::env::var_os("INVOCATION_ID").is_some();
    write.map_err(|e| Error::unavailable(unwritable(folder, &e, by_systemd)))
}

/// Why a folder cannot be written, and what to do. A service of systemd writes only where its unit lets it, whoever owns the folder.
fn unwritable(folder: &Path, error: &std::io::Error, by_systemd: bool) -> String {
    let shown = folder.display();
    let refused = matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied);
    let todo = match by_systemd && refused {
        true => format!(
            "run `systemctl edit hob`, write `[Service]` and below it `ReadWritePaths=-{shown}`, restart Hob, and let the user hob \
             write there; or choose another folder"
        ),
        false => "choose another folder, or change its owner".to_owned(),
    };
    format!("Hob cannot write to {shown} ({error}): {todo}")
}

fn is_other_disk(folder: &Path, data: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|about| about.dev());
    matches!((device(folder), device(data)), (Ok(a), Ok(b)) if a != b)
}

/// Removes all but the newest backups of this device. Their names begin with `start`, and then with the time. The one that was
/// just `made` stays whatever its name says: the clock may have been wrong before, or be wrong now.
fn remove_old(folder: &Path, start: &str, made: &Path, keep: usize) {
    let mut names = names_of_ours(folder, start, "");
    names.retain(|name| made.file_name().is_none_or(|made| *made != **name));
    names.sort();
    for name in names.iter().rev().skip(keep.saturating_sub(1)) {
        remove_backup(folder, name);
    }
}

/// Removes what power cuts left of unfinished backups of this device. None is being made.
fn remove_parts(folder: &Path, start: &str) {
    for name in names_of_ours(folder, start, ".part") {
        remove_backup(folder, &name);
    }
}

fn remove_backup(folder: &Path, name: &str) {
    if let Err(error) = fs::remove_file(folder.join(name)) {
        tracing::warn!(%error, %name, "an old backup could not be removed");
    }
}

/// The names of this device's backups in a folder, with `after` at their end.
fn names_of_ours(folder: &Path, start: &str, after: &str) -> Vec<String> {
    let of_ours = |name: &str| {
        let rest = name.strip_prefix(start)?.strip_suffix(after)?;
        let (time, end) = rest.split_once('.')?;
        let is_time = time.len() == 15 && time.chars().all(|c| c.is_ascii_digit() || c == '-');
        (is_time && ["hob", "hob.age"].contains(&end)).then(|| name.to_owned())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FILES);
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    plain.filter_map(|entry| of_ours(entry.file_name().to_str()?)).collect()
}

#[cfg(test)]
mod tests;
