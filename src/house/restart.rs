//! Restart of the process, and the pending restore before the application is built.

use anyhow::{Context, Result, anyhow};
use care::{Check, Checks, Telling};
use serde::{Deserialize, Serialize};
use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    time::Duration,
};
use tool::Id;

/// The file that says which restore failed last, in the data folder.
pub const FAILED: &str = "restore.failed";
/// How long it is reported, in milliseconds.
const REPORTED_MS: u64 = 7 * 24 * 3_600_000;
/// The pause before a notice that could not be stored is tried again, and how often.
const AGAIN: Duration = Duration::from_secs(60);
const TRIES: u32 = 60;

/// A restore that failed at a start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailedRestore {
    /// Milliseconds since 1970.
    at_ms: u64,
    why: String,
    /// Whether the file that was uploaded could be deleted.
    deleted: bool,
}

/// Addresses the daemon listened on, to listen on again after a restart.
#[derive(Debug, Clone, Copy)]
pub struct Listened {
    pub listen: SocketAddr,
    pub tls: Option<SocketAddr>,
}

/// Restores a backup that was uploaded to the running daemon. A backup that cannot be restored leaves the data unchanged. After
/// a power cut the next start repeats it with the same outcome. Returns that it failed.
pub fn finish_restore(data: &Path) -> Option<FailedRestore> {
    let pending = data.join(api::PENDING);
    if pending.symlink_metadata().is_err() {
        return None;
    }
    let why = match store::restore(data, &pending) {
        Ok(before) => {
            tracing::info!(before = %before.data.display(), "the backup is restored; the previous data is kept");
            if let Some(problem) = before.problem {
                tracing::error!(%problem, "the backup is restored, but not all went well");
            }
            None
        }
        // Another process uses the data, so this start fails anyway.
        Err(store::Error::InUse(_)) => return None,
        Err(error) => {
            tracing::error!(%error, "the backup was not restored; the data is unchanged");
            Some(error.to_string())
        }
    };
    let deleted = std::fs::remove_file(&pending)
        .inspect_err(|error| {
            tracing::error!(%error, file = %pending.display(), "could not delete the restored backup: delete it");
        })
        .is_ok();
    let note = data.join(FAILED);
    let Some(why) = why else {
        let _ = std::fs::remove_file(note);
        return None;
    };
    let failed = FailedRestore { at_ms: Id::now_ms(), why, deleted };
    // There is room for it now, also on a disk that was full.
    let text = serde_json::to_string(&failed).unwrap_or_default();
    if let Err(error) = std::fs::write(&note, text) {
        tracing::warn!(%error, "that the backup was not restored is told of until the next start only");
    }
    Some(failed)
}

impl FailedRestore {
    /// The last one; an old one is none.
    fn last(data: &Path) -> Option<Self> {
        let text = std::fs::read(data.join(FAILED)).ok()?;
        let failed: Self = serde_json::from_slice(&text).ok()?;
        (Id::now_ms().saturating_sub(failed.at_ms) < REPORTED_MS).then_some(failed)
    }

    fn text(&self) -> String {
        let why = self.why.trim_end_matches('.');
        let file = if self.deleted {
            "The file that was uploaded is deleted"
        } else {
            "The file that was uploaded is still there"
        };
        format!("The backup that was uploaded was not restored: {why}. All data is as it was before. {file}.")
    }
}

/// Reports a restore that failed: a notice once, and a line of the doctor until another one works.
pub fn tell_failed(failed: Option<FailedRestore>, data: &Path, checks: &Checks, tell: Telling) {
    let (known, folder) = (failed.clone(), data.to_path_buf());
    checks.add(move || {
        // The file could not be written on a disk that was full.
        let failed = FailedRestore::last(&folder).or_else(|| known.clone())?;
        Some(Check::wrong("restore", failed.text(), "mend what the reason says, then upload the backup again"))
    });
    let Some(failed) = failed else { return };
    tokio::spawn(async move {
        for _ in 0..TRIES {
            match tell("The backup was not restored".to_owned(), failed.text()).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "nobody could be told that the backup was not restored"),
            }
            tokio::time::sleep(AGAIN).await;
        }
    });
}

/// Replaces this process by a new one of the same program with the same arguments, and the same addresses where they are given.
/// Returns only when that fails; the process then ends with an error, and its supervisor starts it again.
pub fn start_again(addresses: Option<Listened>) -> Result<()> {
    let mut given = std::env::args_os();
    let name = given.next().unwrap_or_else(|| "hob".into());
    // Falls back to procfs when the file was removed.
    let program = std::env::current_exe().ok().filter(|file| file.exists()).unwrap_or_else(|| "/proc/self/exe".into());
    let given = match addresses {
        Some(addresses) => arguments(given, addresses),
        None => given.collect(),
    };
    let error = Command::new(program).arg0(name).args(given).exec();
    Err(anyhow!(error)).context("could not restart: start Hob, which then continues where it stopped")
}

/// The arguments of `serve`, with the actual addresses instead of the configured ones.
fn arguments(given: impl Iterator<Item = OsString>, addresses: Listened) -> Vec<OsString> {
    let mut all = vec![];
    let mut given = given.peekable();
    while let Some(argument) = given.next() {
        let is = |flag: &str| argument == OsStr::new(flag);
        let begins = |flag: &str| argument.to_string_lossy().starts_with(flag);
        if is("--listen") || is("--tls") {
            given.next();
        } else if !begins("--listen=") && !begins("--tls=") {
            all.push(argument);
        }
    }
    let tls = addresses.tls.map_or_else(|| "off".to_owned(), |at| at.to_string());
    all.extend(["--listen".into(), addresses.listen.to_string().into(), "--tls".into(), tls.into()]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_keeps_the_addresses() {
        let given = ["--data", "x", "serve", "--listen", "127.0.0.1:0", "--board=sim", "--tls=off", "--no-mdns"];
        let addresses = Listened { listen: ([127, 0, 0, 1], 4711).into(), tls: None };
        let actual = arguments(given.into_iter().map(OsString::from), addresses);
        let kept = ["--data", "x", "serve", "--board=sim", "--no-mdns", "--listen", "127.0.0.1:4711", "--tls", "off"];
        assert_eq!(actual, kept.map(OsString::from));
        let addresses = Listened { tls: Some(([127, 0, 0, 1], 4712).into()), ..addresses };
        let actual = arguments(["serve"].into_iter().map(OsString::from), addresses);
        assert_eq!(actual.last(), Some(&OsString::from("127.0.0.1:4712")));
    }
}
