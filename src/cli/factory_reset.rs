//! `hob factory-reset`: removes everything that is stored.

use super::{
    client::Client,
    terminal::{plain, print, put},
};
use crate::{
    config::Config,
    house::{factory_reset, serve},
};
use anyhow::{Result, bail};
use http_client::Local;
use scrub::Scrubber;
use serde_json::{Value, json};
use std::{io::BufRead, path::Path, time::Duration};
use store::FolderEntry;
use tokio::time::{Instant, sleep};

/// How long a daemon may take to stop and remove everything, and how often is looked.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The largest answer of `/healthz`, in bytes.
const HEALTH: usize = 4096;

/// Removes everything, after the device's name was typed, unless `yes`.
pub async fn factory_reset(
    data: &Path,
    config: impl FnOnce() -> Result<Config>,
    scrubber: Scrubber,
    yes: bool,
) -> Result<()> {
    factory_reset::check_folder(data)?;
    let running = running(data).await;
    // A configuration that cannot be read goes, too.
    let name = running.clone().unwrap_or_else(|| config().unwrap_or_default().name);
    let all = factory_reset::would_remove(data)?;
    let bytes: u64 = all.iter().map(|entry| entry.size).sum();
    let what = format!("{} in {}", size(bytes), data.display());
    if !yes {
        print(format_args!(
            "This removes everything that this Hob stores: people, conversations, memories, keys and settings.\n\
             It is {what}. Updates stay installed, and backups elsewhere stay. It cannot be undone.\n\
             Type the name of this Hob, {}, to go on: ",
            plain(&name)
        ));
        let mut typed = String::new();
        std::io::stdin().lock().read_line(&mut typed)?;
        if !typed.trim().eq_ignore_ascii_case(&name) {
            bail!("that is not its name: nothing was removed");
        }
    }
    match running {
        Some(name) => {
            let client = Client::connect(data, || Ok(Config::default()), scrubber).await?;
            client.data("POST", "/api/v1/factory-reset", Some(json!({"name": name}))).await?;
            wait(data).await?;
        }
        None => {
            if factory_reset::without_daemon(data)? {
                put(format_args!(
                    "Wi-Fi, name and claim code are removed when the device restarts: restart it now.\n"
                ))?;
            }
        }
    }
    report(&all)
}

/// The name of the Hob that runs with this data.
async fn running(data: &Path) -> Option<String> {
    let answer = Local::new(data.join(serve::SOCKET)).request("GET", "/healthz", None).await.ok()?;
    let health: Value = serde_json::from_slice(&answer.bytes(HEALTH).await.ok()?).ok()?;
    health["name"].as_str().map(str::to_owned)
}

/// Waits until the daemon has removed everything and is back.
async fn wait(data: &Path) -> Result<()> {
    let begun = Instant::now();
    let marker = data.join(factory_reset::MARKER);
    while marker.exists() || running(data).await.is_none() {
        if begun.elapsed() > PATIENCE {
            bail!("Hob has not started again: its log says why. Whatever is left is removed at its next start");
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn report(removed: &[FolderEntry]) -> Result<()> {
    for entry in removed {
        put(format_args!("removed {:<28} {}\n", plain(&entry.name), size(entry.size)))?;
    }
    put(format_args!("This Hob is not claimed now: start it, and open the link it prints.\n"))?;
    Ok(())
}

/// "12.3 MB".
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 * 1e-3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 * 1e-6),
        _ => format!("{:.1} GB", bytes as f64 * 1e-9),
    }
}
