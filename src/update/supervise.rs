//! The supervisor of `dir` slots: runs the active slot's `hob serve`, tries another slot once, and falls back.
//!
//! The trial flag is cleared on the disk before the attempt. So a version that does not start, exits, hangs, or takes the power
//! with it is tried once, and the next start is that of the active slot.

use crate::{
    POWER_OFF_CODE, RESTART_CODE, SLOT_VARIABLE, SLOTS_VARIABLE,
    disk::{Disk, Mode, RealDisk},
    error::{Error, Result},
    journal::{JournalFile, Phase},
    recover,
    slots::{
        SlotManifest, SlotName, TrialReport,
        dir::{Root, Selector},
    },
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use semver::Version;
use std::{
    ffi::OsString,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    time,
};

/// A version that ran this long has started well: the next restart does not wait.
const STEADY: Duration = Duration::from_secs(60);
/// How long another supervisor may take to be gone.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The settings of the supervisor.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder with `slots/`, the selector and the journal.
    pub root: PathBuf,
    /// The arguments of `hob serve`.
    pub arguments: Vec<OsString>,
    /// The program that fills the first slot, and the other one when it is newer: this one.
    pub program: PathBuf,
    /// Its version.
    pub version: Version,
    /// How long a trial may take until its version is committed.
    pub trial_window: Duration,
    /// The wait before the first restart of a version that ended; doubles up to `backoff_max`.
    pub backoff_min: Duration,
    /// The longest wait.
    pub backoff_max: Duration,
    /// How long a version may take to stop before it is killed.
    pub stop_grace: Duration,
}

impl Config {
    /// The settings of a device, with this program for the first slot.
    pub fn new(root: PathBuf, arguments: Vec<OsString>) -> Self {
        Self {
            root,
            arguments,
            program: "/proc/self/exe".into(),
            version: env!("CARGO_PKG_VERSION").parse().unwrap_or(Version::new(0, 0, 0)),
            // The health window of `serve`, a minute to start and a minute to spare.
            trial_window: Duration::from_secs(7 * 60),
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
            stop_grace: Duration::from_secs(20),
        }
    }
}

/// The end of an attempt.
enum End {
    /// The supervisor got a signal to stop, and the program ended so.
    Stopped(ExitStatus),
    /// The program could not be started.
    NotStarted(String),
    /// The program ended.
    Exited(ExitStatus),
    /// The trial took too long, and the program was stopped.
    TimedOut,
}

/// The signals that end the supervisor.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let of = |kind| signal(kind).map_err(|why| Error::disk("signals cannot be received", &why));
        Ok(Self { terminate: of(SignalKind::terminate())?, interrupt: of(SignalKind::interrupt())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Lets this process end with its supervisor, also when that is killed. `hob serve` calls it when [`SLOTS_VARIABLE`] is set.
pub fn end_with_supervisor() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
}

/// Runs until SIGTERM or SIGINT, which the running program gets too, or until the device is to be switched off.
///
/// # Errors
/// `Disk` when the root cannot be used, `Busy` when another supervisor uses it.
pub async fn run(config: Config) -> Result<ExitCode> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let root = Root::new(disk.clone(), config.root.clone());
    root.create()?;
    let _lock = lock(&config.root).await?;
    let mut selector = prepare(&config, &root, &*disk)?;
    let mut signals = Signals::new()?;
    let mut wait = config.backoff_min;
    loop {
        let mut trial = selector.trial.take();
        if let Some(slot) = trial {
            // Noted before the attempt, as one that takes the power with it leaves no other trace. A commit removes it.
            let why = "The device lost its power or was reset before the new version was confirmed.".into();
            selector.report = Some(TrialReport { slot, why, at: recover::now(), stopped: false });
            if let Err(error) = root.set_selector(&selector) {
                // A flag that cannot be cleared would be tried for ever.
                tracing::warn!(%error, "the new version cannot be tried; the one that is there goes on");
                trial = None;
            }
        }
        let slot = trial.unwrap_or(selector.active);
        tracing::info!(%slot, trial = trial.is_some(), "starting");
        let begun = Instant::now();
        let end = attempt(&config, &root, slot, trial.is_some(), &mut signals).await?;
        if let End::Stopped(status) = end {
            if trial.is_some() {
                report(&root, slot, "Hob was stopped before the new version was confirmed.".into(), true)?;
            }
            return Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_default()));
        }
        if matches!(&end, End::Exited(status) if status.code() == Some(i32::from(POWER_OFF_CODE))) {
            if trial.is_some() {
                report(&root, slot, "The device was switched off before the new version was confirmed.".into(), true)?;
            }
            tracing::warn!(%slot, "the device is to be switched off, so nothing is started again");
            return Ok(ExitCode::from(POWER_OFF_CODE));
        }
        let why = describe(&end, config.trial_window);
        let steady = begun.elapsed() >= STEADY;
        selector = root.selector()?.unwrap_or(Selector { active: selector.active, trial: None, report: None });
        if trial.is_some() && selector.active != slot {
            tracing::error!(%slot, why, "the new version failed; the version before starts again");
            match report(&root, slot, format!("The new version {why} before it was confirmed."), false) {
                Ok(noted) => selector = noted,
                // Another report is there since before the attempt.
                Err(error) => tracing::warn!(%error, "the reason could not be noted"),
            }
            continue;
        }
        let asked = matches!(&end, End::Exited(status) if status.code() == Some(i32::from(RESTART_CODE)));
        if asked && (selector.trial.is_some() || selector.active != slot || steady) {
            wait = config.backoff_min;
            continue;
        }
        let other = slot.other();
        if matches!(end, End::NotStarted(_)) && trial.is_none() && can_take_over(&config, &root, &disk, other)? {
            tracing::error!(%slot, why, "the active version cannot be started; the other slot takes over");
            let why = format!("The active version {why}, so the version of the other slot took over.");
            let report = Some(TrialReport { slot, why, at: recover::now(), stopped: false });
            selector = Selector { active: other, trial: None, report };
            root.set_selector(&selector)?;
            // If the other cannot be started either, they alternate, each after a wait.
        }
        wait = if steady { config.backoff_min } else { wait };
        tracing::warn!(%slot, why, wait = ?wait, "starting again after a wait");
        tokio::select! {
            () = time::sleep(wait) => {}
            () = signals.received() => return Ok(ExitCode::SUCCESS),
        }
        wait = (wait * 2).min(config.backoff_max);
    }
}

/// Whether the version of a slot may become the active one without a trial: it is complete, and not one that was written, staged
/// or tried and never confirmed.
fn can_take_over(config: &Config, root: &Root, disk: &Arc<dyn Disk>, slot: SlotName) -> Result<bool> {
    let Some(about) = root.manifest(slot)? else { return Ok(false) };
    let journal = JournalFile::new(disk.clone(), &config.root)?.load().ok().flatten().unwrap_or_default();
    let is_committed = matches!(journal.phase, Phase::Committed(_));
    let is_open = journal.phase.release().is_some_and(|release| release.slot == slot && release.id == about.id);
    Ok(is_committed || !is_open)
}

/// Makes sure that one supervisor uses the root. The lock ends with the process; a program that it was just starting when it was
/// killed may hold it for a moment longer.
async fn lock(root: &Path) -> Result<fs::File> {
    let path = root.join("supervise.lock");
    let failed = |why: std::io::Error| Error::disk(format!("{} cannot be used", path.display()), &why);
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    let begun = Instant::now();
    while rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        if begun.elapsed() >= LOCK_WAIT {
            return Err(Error::Busy(format!("another supervisor runs the slots of {}: stop it first", root.display())));
        }
        time::sleep(Duration::from_millis(20)).await;
    }
    Ok(file)
}

/// Fills the first slot when there is none, and offers this program as a trial when it is newer than the active one.
fn prepare(config: &Config, root: &Root, disk: &dyn Disk) -> Result<Selector> {
    let complete = |slot| root.manifest(slot).map(|about| about.is_some());
    let known = root.selector()?;
    let mut selector = match known.clone() {
        Some(selector) => selector,
        None => {
            let active = if !complete(SlotName::A)? && complete(SlotName::B)? { SlotName::B } else { SlotName::A };
            Selector { active, trial: None, report: None }
        }
    };
    let about = root.manifest(selector.active)?;
    if about.is_none() && !complete(selector.active.other())? {
        fill(config, root, disk, selector.active)?;
    } else if about.is_some_and(|about| about.version < config.version) && selector.trial.is_none() {
        // A package brought a newer version than the slots have. It is tried like any other, and once.
        let other = selector.active.other();
        let own = SlotManifest::of_version(config.version.clone());
        let failed_before = selector.report.as_ref().is_some_and(|report| report.slot == other && !report.stopped);
        if !(failed_before && root.manifest(other)? == Some(own)) {
            match fill(config, root, disk, other) {
                Ok(()) => {
                    selector.trial = Some(other);
                    selector.report = None;
                }
                Err(error) => {
                    let version = &config.version;
                    tracing::warn!(%error, %version, "the newer version cannot be tried; the one that is there goes on");
                }
            }
        }
    }
    if known.as_ref() != Some(&selector) {
        root.set_selector(&selector)?;
    }
    Ok(selector)
}

/// Copies this program into a slot.
fn fill(config: &Config, root: &Root, disk: &dyn Disk, slot: SlotName) -> Result<()> {
    let failed = |why: std::io::Error| Error::disk(format!("slot {slot} cannot be filled"), &why);
    let from = disk.open(&config.program, Mode::Read).map_err(failed)?;
    let length = from.length().map_err(failed)?;
    let to = root.writer(slot, length)?;
    let (mut buffer, mut at) = (vec![0; 256 << 10], 0);
    while at < length {
        let read = from.read_at(at, &mut buffer).map_err(failed)?;
        let piece = buffer.get(..read).filter(|piece| !piece.is_empty());
        let piece = piece.ok_or_else(|| failed(std::io::ErrorKind::UnexpectedEof.into()))?;
        to.write_at(at, piece).map_err(failed)?;
        at += read as u64;
    }
    to.set_length(length).map_err(failed)?;
    to.sync().map_err(failed)?;
    drop(to);
    tracing::info!(%slot, version = %config.version, "the slot is filled with this program");
    root.finish(slot, &SlotManifest::of_version(config.version.clone()))
}

/// Records the end of a trial; `stopped` when a person ended it.
fn report(root: &Root, slot: SlotName, why: String, stopped: bool) -> Result<Selector> {
    let mut selector = root.selector()?.unwrap_or(Selector { active: slot.other(), trial: None, report: None });
    if selector.active != slot {
        selector.report = Some(TrialReport { slot, why, at: recover::now(), stopped });
        selector.trial = None;
        root.set_selector(&selector)?;
    }
    Ok(selector)
}

fn describe(end: &End, window: Duration) -> String {
    match end {
        End::NotStarted(why) => format!("cannot be started ({why})"),
        End::TimedOut => format!("was not healthy within {} seconds", window.as_secs().max(1)),
        End::Stopped(status) | End::Exited(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".into(),
        },
    }
}

/// Runs the program of a slot until it ends, the supervisor is to stop, or its trial takes too long.
async fn attempt(config: &Config, root: &Root, slot: SlotName, trial: bool, signals: &mut Signals) -> Result<End> {
    let mut command = Command::new(root.program(slot));
    command.arg("serve").args(&config.arguments).env(SLOTS_VARIABLE, &config.root).env(SLOT_VARIABLE, slot.letter());
    let mut child = match command.process_group(0).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(why) => return Ok(End::NotStarted(why.to_string())),
    };
    let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let mut left = trial.then(|| time::Instant::now() + config.trial_window);
    let beat = (config.trial_window / 50).clamp(Duration::from_millis(20), Duration::from_secs(1));
    loop {
        let tick = async {
            match left {
                Some(_) => time::sleep(beat).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|why| Error::disk("the program cannot be waited for", &why))?;
                kill_rest(group);
                return Ok(End::Exited(status));
            }
            () = signals.received() => return Ok(End::Stopped(stop(&mut child, config.stop_grace).await?)),
            () = tick => {}
        }
        if root.selector()?.is_some_and(|selector| selector.active == slot) {
            left = None;
        }
        if left.is_some_and(|left| time::Instant::now() >= left) {
            stop(&mut child, config.stop_grace).await?;
            return Ok(End::TimedOut);
        }
    }
}

/// Kills the processes that a program started and left.
fn kill_rest(group: Option<Pid>) {
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Asks a program to end, and kills it with all it started when it takes too long.
async fn stop(child: &mut Child, grace: Duration) -> Result<ExitStatus> {
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::TERM);
    }
    let ended = match time::timeout(grace, child.wait()).await {
        Ok(ended) => ended,
        Err(_) => {
            kill_rest(pid);
            child.wait().await
        }
    };
    kill_rest(pid);
    ended.map_err(|why| Error::disk("the program cannot be waited for", &why))
}
