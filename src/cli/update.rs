//! `hob update` and `hob supervise`.

use super::{
    client::Client,
    factory_reset::size,
    terminal::{plain, print, put},
};
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use serde_json::{Value, json};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{ErrorKind, IsTerminal},
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use tokio::time::{Instant, sleep};
use update::{Error as UpdateError, bundle, supervise};

/// Help of `hob supervise`.
pub const SUPERVISE: &str = "\
DIR/slots/a and DIR/slots/b hold two versions; one runs. `hob update install` writes a new version into the other and starts it on
trial. If it ends, hangs, or does not pass its checks, the previous one runs again. Arguments of `hob serve` follow after --:
  hob supervise --root /var/lib/hob-slots -- --listen 0.0.0.0:4620";

/// The paths of the API.
const UPDATE: &str = "/api/v1/update";
const UPLOADS: &str = "/api/v1/update/uploads";
/// The bytes of a piece.
const PIECE: u64 = 1 << 20;
/// How often is looked while an update is verified, started and tried.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The time for starting and stopping, besides the window of a trial.
pub const TRIAL_SPARE: Duration = Duration::from_secs(300);
/// How long Hob may be away.
const AWAY: Duration = Duration::from_secs(120);

#[derive(Subcommand)]
pub enum UpdateCommand {
    /// Print which version runs, and how far an update is.
    Status {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask the channel whether there is a new version, and look for bundles in the folder of hob.toml.
    Check,
    /// Install FILE, or what the channel or the folder offers, and wait until it is confirmed or taken back.
    Install {
        /// A file with an update; only what this device lacks of it is read.
        file: Option<PathBuf>,
        /// Return once Hob restarts.
        #[arg(long)]
        no_wait: bool,
    },
    /// Keep the version that is being tried, without waiting for its checks.
    Confirm,
    /// Go back to the other version.
    Rollback,
}

/// Runs a command about updates.
pub async fn update(client: &Client, command: Option<UpdateCommand>) -> Result<()> {
    match command.unwrap_or(UpdateCommand::Status { json: false }) {
        UpdateCommand::Status { json: true } => {
            Ok(put(format_args!("{:#}\n", client.data("GET", UPDATE, None).await?))?)
        }
        UpdateCommand::Status { .. } => status(&client.data("GET", UPDATE, None).await?),
        UpdateCommand::Check => status(&client.data("POST", "/api/v1/update/check", None).await?),
        UpdateCommand::Install { file, no_wait } => install(client, file.as_deref(), !no_wait).await,
        UpdateCommand::Confirm => {
            let kept = client.data("POST", "/api/v1/update/confirm", None).await?;
            Ok(put(format_args!("Hob {} is kept\n", text(&kept["running"]["version"])))?)
        }
        UpdateCommand::Rollback => {
            let back = client.data("POST", "/api/v1/update/rollback", None).await?;
            Ok(put(format_args!("Hob restarts into {}\n", text(&back["version"])))?)
        }
    }
}

/// The arguments of `hob serve` that name data and configuration, where they were given.
pub fn location(data: Option<PathBuf>, config: Option<PathBuf>) -> Vec<OsString> {
    let given = |flag: &str, path: Option<PathBuf>| path.map(|path| [OsString::from(flag), path.into_os_string()]);
    given("--data", data).into_iter().chain(given("--config", config)).flatten().collect()
}

/// The path that the arguments of `serve` give for a flag, such as `--config`.
pub fn given(arguments: &[OsString], flag: &str) -> Option<PathBuf> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == flag {
            return arguments.next().map(PathBuf::from);
        }
        let value = argument.as_bytes().strip_prefix(flag.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            return Some(OsStr::from_bytes(value).into());
        }
    }
    None
}

/// Runs the supervisor.
pub async fn run_supervisor(root: &Path, trial: Duration, arguments: Vec<OsString>) -> Result<ExitCode> {
    let root = std::path::absolute(root)?;
    let config = supervise::Config { trial_window: trial, ..supervise::Config::new(root, arguments) };
    supervise::run(config).await.map_err(Into::into)
}

fn text(value: &Value) -> String {
    plain(value.as_str().unwrap_or_default())
}

/// One fact a line.
fn status(view: &Value) -> Result<()> {
    let running = &view["running"];
    let slot = running["slot"].as_str().map(|slot| format!(" in slot {}", plain(slot))).unwrap_or_default();
    put(format_args!("running    {}{slot}\n", text(&running["version"])))?;
    if !view["other"].is_null() {
        put(format_args!("other      {} in slot {}\n", text(&view["other"]["version"]), text(&view["other"]["slot"])))?;
    }
    put(format_args!("state      {}\n", state(view)))?;
    let outcome = &view["lastOutcome"];
    if !outcome.is_null() {
        put(format_args!("last       {}: {}\n", ended(outcome), text(&outcome["why"])))?;
    }
    let channel = &view["channel"];
    if let Some(problem) = channel["problem"].as_str() {
        put(format_args!("channel    could not be read: {}\n", plain(problem)))?;
    }
    match (&channel["available"], channel["checkedAt"].is_null()) {
        (Value::Object(available), _) => {
            let (version, notes) = (available["version"].clone(), available["notes"].clone());
            let bytes = available["bytes"].as_u64().unwrap_or_default();
            put(format_args!("available  {}, {}\n", text(&version), size(bytes)))?;
            lines(&text(&notes))?;
        }
        (_, false) if channel["problem"].is_null() => put(format_args!("available  nothing newer\n"))?,
        _ => {}
    }
    for found in view["found"].as_array().into_iter().flatten() {
        let (path, bytes) = (text(&found["path"]), found["bytes"].as_u64().unwrap_or_default());
        match (found["problem"].as_str(), found["newer"] == true) {
            (Some(problem), _) => put(format_args!("file       {path}: {}\n", plain(problem)))?,
            (None, false) => put(format_args!("file       {path}: {}, not newer\n", text(&found["version"])))?,
            (None, true) => {
                put(format_args!("available  {}, {}, in {path}\n", text(&found["version"]), size(bytes)))?;
                lines(&text(&found["notes"]))?;
            }
        }
    }
    for key in ["whyNot", "problem"] {
        if let Some(why) = view[key].as_str() {
            put(format_args!("note       {}\n", plain(why)))?;
        }
    }
    Ok(())
}

/// Release notes, below a fact.
fn lines(notes: &str) -> Result<()> {
    for line in notes.lines() {
        put(format_args!("           {line}\n"))?;
    }
    Ok(())
}

/// "trying 0.2.0: 1 of 3 checks passed".
fn state(view: &Value) -> String {
    let (state, version) = (text(&view["state"]), text(&view["version"]));
    let (done, total) = (view["progress"]["done"].as_u64().unwrap_or_default(), view["progress"]["total"].as_u64());
    let total = total.unwrap_or_default();
    match state.as_str() {
        "trying" => format!("trying {version}: {done} of {total} checks passed"),
        "writing" if total > 0 => format!("writing {version}: {} %", 100 * done / total),
        "idle" => state,
        _ => format!("{state} {version}"),
    }
}

fn ended(outcome: &Value) -> String {
    let version = text(&outcome["version"]);
    match outcome["what"].as_str() {
        Some("committed") => format!("{version} was installed"),
        Some("failed") => format!("{version} was taken back"),
        Some("rolled_back") => format!("back to {version}"),
        _ => format!("{version} was cancelled"),
    }
}

async fn install(client: &Client, file: Option<&Path>, wait: bool) -> Result<()> {
    let body = match file {
        Some(file) => json!({"uploadId": send(client, file).await?}),
        None => {
            client.data("POST", "/api/v1/update/check", None).await?;
            json!({})
        }
    };
    let before = client.data("GET", UPDATE, None).await?["lastOutcome"].clone();
    let switching = client.data("POST", "/api/v1/update/install", Some(body)).await?;
    let version = text(&switching["version"]);
    match wait {
        true => follow(client, &version, &before).await,
        false => Ok(put(format_args!("Hob restarts into {version} once it is verified\n"))?),
    }
}

/// Sends what the device lacks of a file, and returns the id of the upload.
async fn send(client: &Client, path: &Path) -> Result<String> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("could not read {shown}"))?;
    let mut prefix = [0; bundle::PREFIX];
    let short = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => anyhow::anyhow!("{shown} is not a bundle, or only a part of one: get it again"),
        _ => anyhow::Error::new(error).context(format!("could not read {shown}")),
    };
    file.read_exact_at(&mut prefix, 0).map_err(short)?;
    let length = bundle::head_length(&prefix).map_err(|error: UpdateError| anyhow::anyhow!("{shown}: {error}"))?;
    let mut head = vec![0; length];
    file.read_exact_at(&mut head, 0).map_err(short)?;
    let upload = client.send("POST", UPLOADS, head).await?;
    let (id, needed) = (text(&upload["id"]), upload["neededBytes"].as_u64().unwrap_or_default());
    let total = upload["totalBytes"].as_u64().unwrap_or_default();
    put(format_args!("version {}: {} of {} are needed\n", text(&upload["version"]), size(needed), size(total)))?;
    let shows = std::io::stderr().is_terminal();
    let mut sent = 0;
    for range in upload["needed"].as_array().into_iter().flatten() {
        let (mut at, mut left) =
            (range["offset"].as_u64().unwrap_or_default(), range["length"].as_u64().unwrap_or_default());
        while left > 0 {
            let mut piece = vec![0; usize::try_from(left.min(PIECE))?];
            file.read_exact_at(&mut piece, at).map_err(short)?;
            let count = piece.len() as u64;
            client.send("PUT", &format!("{UPLOADS}/{id}?offset={at}"), piece).await?;
            (at, left, sent) = (at + count, left - count, sent + count);
            if shows {
                print(format_args!("\rsent {} of {}   ", size(sent), size(needed)));
            }
        }
    }
    if shows && needed > 0 {
        print(format_args!("\n"));
    }
    Ok(id)
}

/// Prints each step until the version is confirmed or taken back.
async fn follow(client: &Client, version: &str, before: &Value) -> Result<()> {
    let (mut shown, mut answered) = (String::new(), Instant::now());
    loop {
        sleep(LOOK_EVERY).await;
        let Ok(view) = client.data("GET", UPDATE, None).await else {
            if answered.elapsed() > AWAY {
                bail!("Hob does not answer any more: look at its log, and at `hob update status` once it runs");
            }
            continue;
        };
        answered = Instant::now();
        if let Some(problem) = view["problem"].as_str() {
            bail!("{version} was not installed: {}", plain(problem));
        }
        let outcome = &view["lastOutcome"];
        let now = match (view["restarting"] == true, view["preparing"] == true) {
            (true, _) => "restarting".to_owned(),
            (_, true) => "verifying".to_owned(),
            _ => state(&view),
        };
        if outcome != before && outcome["version"] == version && view["state"] != "trying" {
            return match outcome["what"].as_str() {
                Some("committed") => Ok(put(format_args!("Hob {version} is installed\n"))?),
                _ => bail!("{}: {}", ended(outcome), text(&outcome["why"])),
            };
        }
        if now != shown {
            put(format_args!("{now}\n"))?;
            shown = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supervisor_finds_the_configuration_of_its_hob() {
        let of = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, expected) in [
            ("--config /etc/hob/hob.toml", Some("/etc/hob/hob.toml")),
            ("--listen 0.0.0.0:4620 --config=/etc/hob.toml", Some("/etc/hob.toml")),
            ("--configuration x", None),
            ("--config", None),
            ("", None),
        ] {
            assert_eq!(given(&of(line), "--config"), expected.map(PathBuf::from), "{line}");
        }
    }
}
