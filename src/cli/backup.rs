//! `hob backup` and `hob restore`.

use super::{client::Client, terminal::put};
use anyhow::{Context, Result, bail};
use futures::StreamExt;
use std::{
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Writes a backup to `file`.
pub async fn backup(client: &Client, file: &Path) -> Result<()> {
    let shown = file.display();
    let mut out = match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists already: choose another name"),
        opened => {
            opened.with_context(|| format!("could not create {shown}: choose a folder that exists and is writable"))?
        }
    };
    let write = async {
        let mut chunks = client.stream("POST", "/api/v1/backup", None).await?.into_stream().boxed();
        let mut size = 0;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            size += chunk.len();
            out.write_all(&chunk)?;
        }
        out.sync_all()?;
        anyhow::Ok(size)
    };
    match write.await {
        Ok(size) => {
            put(format_args!(
                "wrote {shown} ({size} bytes); secrets are not in it: keys, tokens and sessions stay on this device\n"
            ))?;
            Ok(())
        }
        Err(error) => {
            // Half a backup is worse than none.
            let _ = std::fs::remove_file(file);
            Err(error.context(format!("{shown} was not written")))
        }
    }
}

/// Replaces the data with a backup; no daemon may run.
pub fn restore(data: &Path, file: &Path) -> Result<()> {
    let before = store::restore(data, file).context("nothing was restored")?;
    // A backup uploaded to the daemon earlier must not replace this one at the next start.
    let _ = std::fs::remove_file(data.join(api::PENDING));
    put(format_args!(
        "restored {}; keys, tokens and sessions are in no backup: enter and make them anew\n",
        file.display()
    ))?;
    let previous = [
        ("the previous data is", before.data),
        ("its log, which could not be read, is", before.log),
        ("the previous files are", before.files),
    ];
    for (what, path) in previous {
        if path.exists() {
            put(format_args!("{what} in {}\n", path.display()))?;
        }
    }
    if let Some(problem) = before.problem {
        eprintln!("hob: the backup is restored, but {problem}");
    }
    Ok(())
}
