//! Starting again in the same process, and what a start does before the house is built.

use anyhow::{Context, Result, anyhow};
use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

/// Where the daemon listened, to be had again.
#[derive(Debug, Clone, Copy)]
pub struct Doors {
    pub listen: SocketAddr,
    pub tls: Option<SocketAddr>,
}

/// Restores the backup that was sent to a running daemon, if there is one. When it cannot be restored the data stays as it is.
/// The power may go at any moment: it is done again then, with the same outcome.
pub fn finish_restore(data: &Path) {
    let pending = data.join(api::PENDING);
    if pending.symlink_metadata().is_err() {
        return;
    }
    match store::restore(data, &pending) {
        Ok(before) => {
            tracing::info!(before = %before.data.display(), "the backup is restored; what was there before is kept");
        }
        // Another process has the data, and so this start will not come far.
        Err(store::Error::InUse(_)) => return,
        Err(error) => tracing::error!(%error, "the backup was not restored, and the data is as it was"),
    }
    if let Err(error) = std::fs::remove_file(&pending) {
        tracing::error!(%error, file = %pending.display(), "a restored backup is still there: delete it");
    }
}

/// Becomes a fresh process of the same program with the same arguments, at the same doors. Answers only when that fails; then
/// the process ends with an error, and whoever supervises it starts it again.
pub fn start_again(doors: Doors) -> Result<()> {
    let mut given = std::env::args_os();
    let name = given.next().unwrap_or_else(|| "hob".into());
    // Also when the file has been removed meanwhile.
    let program = std::env::current_exe().ok().filter(|file| file.exists()).unwrap_or_else(|| "/proc/self/exe".into());
    let error = Command::new(program).arg0(name).args(arguments(given, doors)).exec();
    Err(anyhow!(error)).context("could not start again: start Hob, which then goes on with the restored data")
}

/// The arguments of `serve`, with the addresses that were chosen in the place of those that were asked for.
fn arguments(given: impl Iterator<Item = OsString>, doors: Doors) -> Vec<OsString> {
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
    let tls = doors.tls.map_or_else(|| "off".to_owned(), |at| at.to_string());
    all.extend(["--listen".into(), doors.listen.to_string().into(), "--tls".into(), tls.into()]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doors_stay_where_they_are() {
        let given = ["--data", "x", "serve", "--listen", "127.0.0.1:0", "--board=sim", "--tls=off", "--no-mdns"];
        let doors = Doors { listen: ([127, 0, 0, 1], 4711).into(), tls: None };
        let told = arguments(given.into_iter().map(OsString::from), doors);
        let kept = ["--data", "x", "serve", "--board=sim", "--no-mdns", "--listen", "127.0.0.1:4711", "--tls", "off"];
        assert_eq!(told, kept.map(OsString::from));
        let doors = Doors { tls: Some(([127, 0, 0, 1], 4712).into()), ..doors };
        let told = arguments(["serve"].into_iter().map(OsString::from), doors);
        assert_eq!(told.last(), Some(&OsString::from("127.0.0.1:4712")));
    }
}
