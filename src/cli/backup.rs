//! `hob backup` and `hob restore`.

use super::{client::Client, terminal::put};
use anyhow::{Context, Result, bail};
use futures::StreamExt;
use serde_json::Value;
use std::{
    io::{BufRead, ErrorKind, IsTerminal, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The longest passphrase file, in bytes.
const MAX_PASSPHRASE_FILE: u64 = 8192;

/// Reads a passphrase from the first line of a file, or of the input.
fn read_passphrase(file: &Path) -> Result<String> {
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().read_line(&mut text).context("could not read the passphrase from the input")?;
    } else {
        let opened = store::open_plain(file);
        let read = opened.and_then(|file| file.take(MAX_PASSPHRASE_FILE).read_to_string(&mut text));
        read.with_context(|| format!("could not read the passphrase from {}", file.display()))?;
    }
    let line = text.lines().next().unwrap_or_default();
    if line.trim().is_empty() {
        bail!("{} has no passphrase in its first line", file.display());
    }
    Ok(line.to_owned())
}

/// Asks for a passphrase at the terminal, without showing it.
fn ask_passphrase() -> Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let input = std::io::stdin();
    let before = tcgetattr(&input)?;
    let mut hidden = before.clone();
    // Ctrl-C ends the line, and not this program, which would leave the terminal without an echo.
    let interrupt = before.special_codes[SpecialCodeIndex::VINTR];
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    hidden.special_codes[SpecialCodeIndex::VEOL] = interrupt;
    eprint!("Passphrase: ");
    tcsetattr(&input, OptionalActions::Now, &hidden)?;
    let read = read_typed(&mut input.lock(), interrupt);
    let _ = tcsetattr(&input, OptionalActions::Now, &before);
    eprintln!();
    let Some(line) = read? else { bail!("nothing was restored: it was interrupted") };
    Ok(String::from_utf8(line).context("the passphrase is no text")?.trim_end_matches('\r').to_owned())
}

/// The text that is typed up to the end of the line; `None` when it ends with the byte `interrupt`. 0 is none.
fn read_typed(input: &mut impl BufRead, interrupt: u8) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = vec![];
    loop {
        let typed = match input.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            typed => typed?,
        };
        let is_end = |byte: &u8| *byte == b'\n' || interrupt != 0 && *byte == interrupt;
        let end = typed.iter().position(is_end);
        let last = end.and_then(|at| typed.get(at).copied());
        line.extend_from_slice(typed.get(..end.unwrap_or(typed.len())).unwrap_or_default());
        let length = end.map_or(typed.len(), |at| at + 1);
        input.consume(length);
        match last {
            Some(b'\n') => return Ok(Some(line)),
            Some(_) => return Ok(None),
            None if length == 0 => return Ok(Some(line)),
            None => {}
        }
    }
}

/// Writes a backup to `file`.
pub async fn backup(client: &Client, file: &Path, passphrase_file: Option<&Path>, files: bool) -> Result<()> {
    let shown = file.display();
    let passphrase = passphrase_file.map(read_passphrase).transpose()?;
    let encrypted = passphrase.is_some();
    let body = Some(serde_json::json!({"passphrase": passphrase, "files": files}));
    let contents = client.data("GET", "/api/v1/backup/size", None).await?;
    let mut out = match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists already: choose another name"),
        opened => {
            opened.with_context(|| format!("could not create {shown}: choose a folder that exists and is writable"))?
        }
    };
    let write = async {
        let mut chunks = client.stream("POST", "/api/v1/backup", body).await?.into_stream().boxed();
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
            let secrets = match encrypted {
                true => {
                    ", encrypted, with the keys of services; keep the passphrase: without it nobody can open the file"
                }
                false => "; secrets are not in it: keys, tokens and sessions stay on this device",
            };
            put(format_args!("wrote {shown} ({size} bytes){secrets}\n"))?;
            if let Some(line) = about_files(&contents, files) {
                put(format_args!("{line}\n"))?;
            }
            Ok(())
        }
        Err(error) => {
            // Half a backup is worse than none.
            let _ = std::fs::remove_file(file);
            Err(error.context(format!("{shown} was not written")))
        }
    }
}

/// The workspace's part of a backup in words; `None` where there are no files.
fn about_files(contents: &Value, included: bool) -> Option<String> {
    let count = |name: &str| contents[name].as_u64().unwrap_or_default();
    let (files, skipped) = (count("fileCount"), count("skipped"));
    let all = text_kit::counted(files, "file");
    match (files + skipped, included) {
        (0, _) => None,
        (_, false) => Some(format!("{all} of the workspace left out")),
        (_, true) if skipped == 0 => Some(format!("{all} of the workspace in it")),
        (_, true) => {
            let entries = text_kit::counted(skipped, "entry");
            Some(format!(
                "{all} of the workspace in it; {entries} left out: links, pipes and devices are in no backup, nor what cannot be read or \
                 is too deep; the log of Hob names some of them"
            ))
        }
    }
}

/// Replaces the data with a backup; no daemon may run.
pub fn restore(data: &Path, file: &Path, passphrase_file: Option<&Path>) -> Result<()> {
    let reset = data.join(crate::house::factory_reset::MARKER);
    if reset.symlink_metadata().is_ok() {
        // Finishing it here might remove the backup itself, when that is in the data folder.
        bail!(
            "nothing was restored: a factory reset was asked for, and the next start would remove what is restored: copy the backup out of {}, start Hob once, stop it, then restore; or remove {} to call the reset off",
            data.display(),
            reset.display()
        );
    }
    let encrypted = store::is_encrypted(file);
    let passphrase = match passphrase_file {
        Some(file) => Some(read_passphrase(file)?),
        None if encrypted && std::io::stdin().is_terminal() => Some(ask_passphrase()?),
        None if encrypted => bail!(
            "nothing was restored: {} is encrypted, give its passphrase with --passphrase-file FILE, or - to read it from the input",
            file.display()
        ),
        None => None,
    };
    let before = store::restore_with(data, file, passphrase.as_deref()).context("nothing was restored")?;
    // A backup uploaded to the daemon earlier must not replace this one at the next start.
    let _ = std::fs::remove_file(data.join(api::PENDING));
    let _ = std::fs::remove_file(data.join(crate::house::restart::FAILED));
    let missing = match encrypted {
        true => "with the keys of services; tokens for Hob and sessions are in no backup: sign in again",
        false => "keys, tokens and sessions are in no backup without a passphrase: enter and make them anew",
    };
    put(format_args!("restored {}; {missing}\n", file.display()))?;
    let previous = [
        ("the previous data is", before.data),
        ("its log, which could not be read, is", before.log),
        ("the previous files are", before.files),
        ("the previous files of the workspace are", before.workspace),
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
