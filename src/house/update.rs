//! Updates of this Hob: the doors' side of the crate `update`. It installs what a person asks for, proves a new version in its
//! window, reads the channel, and notifies people.

mod channel;
mod found;
mod health;
mod notes;
mod service;
mod switching;
mod trial;

pub use health::Probe;
pub use service::{UpdateService, open_updater};

use anyhow::Result;
use std::{path::Path, process::ExitCode};

/// The exit code by which the supervisor starts the slot whose turn it is.
pub const SWITCH: u8 = ::update::RESTART_CODE;

/// Runs `serve`. Where a version on trial cannot even start, its reason is noted for the version that runs next.
///
/// # Errors
/// Those of `serve`.
pub async fn reported(data: &Path, serve: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let ended = serve.await;
    if let Err(error) = &ended
        && let Ok(updater) = open_updater(&crate::config::Update::default(), data)
        && updater.status().is_ok_and(|status| status.trial)
        && let Err(unnoted) = updater.fail(&format!("it could not start: {error:#}"))
    {
        tracing::warn!(error = %unnoted, "the reason could not be noted");
    }
    ended
}
