//! The supervisor of `dir` slots: runs the active slot's `hob serve`, tries another slot once, and falls back.

use crate::error::Result;
use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

/// The settings of the supervisor.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder with `slots/` and the selector.
    pub root: PathBuf,
    /// Arguments of `hob serve`.
    pub arguments: Vec<OsString>,
    /// How long a trial may take until its version is committed.
    pub trial_window: Duration,
    /// The wait before the first restart of a version that ended; doubles up to `backoff_max`.
    pub backoff_min: Duration,
    /// The longest wait.
    pub backoff_max: Duration,
    /// How long a version may take to stop before it is killed.
    pub stop_grace: Duration,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// `Disk` when the root cannot be used, or another supervisor uses it.
pub async fn run(config: Config) -> Result<ExitCode> {
    todo!()
}

impl Config { pub fn new(_: PathBuf, _: Vec<OsString>) -> Self { todo!() } }
