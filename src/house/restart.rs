//! Restart of the process, and the pending restore before the application is built.

use anyhow::{Context, Result, anyhow};
use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

/// Addresses the daemon listened on, to listen on again after a restart.
#[derive(Debug, Clone, Copy)]
pub struct Listened {
    pub listen: SocketAddr,
    pub tls: Option<SocketAddr>,
}

/// Restores a backup that was uploaded to the running daemon. A backup that cannot be restored leaves the data unchanged. After
/// a power cut the next start repeats it with the same outcome.
pub fn finish_restore(data: &Path) {
    let pending = data.join(api::PENDING);
    if pending.symlink_metadata().is_err() {
        return;
    }
    match store::restore(data, &pending) {
        Ok(before) => {
            tracing::info!(before = %before.data.display(), "the backup is restored; the previous data is kept");
            if let Some(problem) = before.problem {
                tracing::error!(%problem, "the backup is restored, but not all went well");
            }
        }
        // Another process uses the data, so this start fails anyway.
        Err(store::Error::InUse(_)) => return,
        Err(error) => tracing::error!(%error, "the backup was not restored; the data is unchanged"),
    }
    if let Err(error) = std::fs::remove_file(&pending) {
        tracing::error!(%error, file = %pending.display(), "could not delete the restored backup: delete it");
    }
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
