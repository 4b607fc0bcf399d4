//! Factory reset: everything stored is removed at a start, before the application is built, and the device is unclaimed again.
//!
//! It is asked for by a file named [`MARKER`] in the data folder, which the page and the command write, by the same file on the boot
//! partition, or by a button that is held while Hob starts. The marker stays until everything is gone: a reset that a power cut
//! interrupts is completed by the next start.
//!
//! On the image, the start of the machine removes the rest: the Wi-Fi password, the name and the claim code that are beside the data
//! folder. It is asked for by a file on the boot partition (see `firmware-image/initramfs/init`), and the machine restarts.

use crate::config::{Config, FactoryReset};
use anyhow::{Context, Result, bail};
use board::{Board, Direction, Pin, PinSettings, Pull};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use store::FolderEntry;

/// The file in the data folder that asks for a reset.
pub const MARKER: &str = api::FACTORY_RESET;
/// Names in the data folder that a reset keeps: the marker, the slots of updates and their journal where they share the folder, and
/// what belongs to the file system.
const KEPT: [&str; 8] =
    [MARKER, "slots", "selector.json", "supervise.lock", "state.json", "incoming.head", "update", "lost+found"];
/// The image's boot partition, the file on it that shows that it is one, the one that asks for a reset, and the data folder there.
const BOOT: &str = "/boot";
const SLOT_FILE: &str = "slot.env";
const BOOT_MARKER: &str = "factory-reset";
const IMAGE_DATA: &str = "/data/hob";
/// How long an input settles, and how often the button is read.
const SETTLES: Duration = Duration::from_millis(300);
const READ_EVERY: Duration = Duration::from_millis(50);

/// The names in this folder that a reset keeps, with the folder of the slots if it is in there.
fn kept(data: &Path) -> Vec<String> {
    let slots = std::env::var_os(::update::SLOTS_VARIABLE).map(PathBuf::from);
    let first = slots.as_deref().and_then(|slots| slots.strip_prefix(data).ok()?.iter().next());
    let inside = first.map(|name| name.to_string_lossy().into_owned());
    KEPT.iter().map(|name| (*name).to_owned()).chain(inside).collect()
}

/// Everything that a reset of this folder removes.
///
/// # Errors
/// When the folder cannot be read.
pub fn would_remove(data: &Path) -> Result<Vec<FolderEntry>> {
    Ok(store::wipeable(data, &kept(data))?)
}

/// Asks for a reset at the next start.
///
/// # Errors
/// When the file cannot be written.
pub fn ask(data: &Path) -> Result<()> {
    api::ask_for_factory_reset(data)
        .with_context(|| format!("could not write {}: make the data folder writable", data.join(MARKER).display()))
}

/// The reset of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtStart {
    /// None was asked for.
    None,
    /// Everything is removed.
    Done,
    /// The machine must restart, which removes what is beside the data folder.
    Restart,
}

/// Whether this is the image, and its data.
pub fn is_image(data: &Path) -> bool {
    data == Path::new(IMAGE_DATA) && Path::new(BOOT).join(SLOT_FILE).exists()
}

/// As [`finish`], for the daemon: on the image it also asks for the reset of the whole machine. That comes first, so that a power
/// cut leads there, too; the marker is gone before the machine restarts, so that this happens once.
///
/// # Errors
/// As [`finish`].
pub fn finish_at_start(data: &Path) -> Result<AtStart> {
    let is_asked = data.join(MARKER).symlink_metadata().is_ok();
    let restart = is_asked && is_image(data) && ask_machine(Path::new(BOOT));
    Ok(match finish(data)? {
        _ if restart => AtStart::Restart,
        Some(_) => AtStart::Done,
        None => AtStart::None,
    })
}

/// Removes everything while no daemon runs: `true` when the machine must restart, which removes what is beside the data folder.
///
/// # Errors
/// As [`finish`]; on the image also when the rest cannot be asked for: then nothing is removed.
pub fn without_daemon(data: &Path) -> Result<bool> {
    let image = is_image(data);
    reset_all(data, image.then(|| Path::new(BOOT)))?;
    Ok(image)
}

fn reset_all(data: &Path, boot: Option<&Path>) -> Result<()> {
    if let Some(boot) = boot
        && !ask_machine(boot)
    {
        bail!(
            "nothing was removed: Wi-Fi and the claim code could not be reset as well. Take the card out, put an empty file called \
             {BOOT_MARKER} on its first partition, and start the device"
        );
    }
    ask(data)?;
    finish(data).map(drop)
}

/// Asks the next start of the machine for a reset, durably; `false` where the partition cannot be written.
fn ask_machine(boot: &Path) -> bool {
    let asked = fs::File::create(boot.join(BOOT_MARKER))
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::File::open(boot)?.sync_all());
    if let Err(error) = &asked {
        tracing::error!(%error, "the boot partition cannot be written: Wi-Fi and the claim code are not reset");
    }
    asked.is_ok()
}

/// Removes everything, if that was asked for, and returns what was removed. Nobody may use the data.
///
/// # Errors
/// When something cannot be removed; the reset is then completed by the next start.
pub fn finish(data: &Path) -> Result<Option<Vec<FolderEntry>>> {
    let marker = data.join(MARKER);
    if marker.symlink_metadata().is_err() {
        return Ok(None);
    }
    // One process at a time, until the end. Whatever else has this name is not locked.
    let held = store::open_plain(&marker).ok();
    if let Some(held) = &held {
        held.lock().with_context(|| format!("could not lock {}", marker.display()))?;
    }
    if marker.symlink_metadata().is_err() {
        // Another process has finished it meanwhile.
        return Ok(None);
    }
    let removed = match store::wipe(data, &kept(data)) {
        Ok(removed) => removed,
        Err(error @ store::Error::InUse(_)) => return Err(error.into()),
        Err(error) => {
            return Err(error).context(
                "the factory reset is not complete, so Hob does not start: remove what is named here, then start it again",
            );
        }
    };
    fs::remove_file(&marker).and_then(|()| fs::File::open(data)?.sync_all()).with_context(|| {
        format!("everything is removed, but not {}: remove it, or the next start resets again", marker.display())
    })?;
    let names: Vec<String> = removed.iter().map(|entry| entry.name.clone()).collect();
    tracing::warn!(removed = names.join(", "), "factory reset: everything stored is removed, and Hob is unclaimed");
    Ok(Some(removed))
}

/// Writes the marker if the boot partition or the button asks for a reset.
///
/// # Errors
/// When the marker cannot be written, or the file on the boot partition cannot be removed: it would reset at every start.
pub async fn asked_at_start(config: &Config, data: &Path) -> Result<bool> {
    let settings = &config.factory_reset;
    let by_file = !settings.file.is_empty() && Path::new(&settings.file).symlink_metadata().is_ok();
    if !by_file && !is_button_held(config, settings).await {
        return Ok(false);
    }
    fs::create_dir_all(data).with_context(|| format!("could not make the data folder {}", data.display()))?;
    ask(data)?;
    if by_file && let Err(error) = use_once(Path::new(&settings.file)) {
        let _ = fs::remove_file(data.join(MARKER));
        bail!("{} asks for a factory reset, but cannot be removed ({error}): nothing is reset", settings.file);
    }
    Ok(true)
}

/// Removes the configured file after a reset, which a power cut may have completed before the file was gone: it would reset again.
pub fn use_up_file(config: &Config) {
    let file = Path::new(&config.factory_reset.file);
    if let Err(error) = use_once(file)
        && !matches!(error.kind(), ErrorKind::NotFound)
    {
        tracing::error!(%error, file = %file.display(), "it asks for a factory reset and cannot be removed: remove it");
    }
}

/// Removes a file durably.
fn use_once(file: &Path) -> std::io::Result<()> {
    fs::remove_file(file)?;
    match file.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Whether the button is held from now on for as long as the settings say.
async fn is_button_held(config: &Config, settings: &FactoryReset) -> bool {
    let Some(pin) = Pin::new(settings.pin) else { return false };
    let board = Board::with_config(config.board, config.pins.clone(), &config.sim);
    let mut wiring = board.settings(pin);
    if wiring == PinSettings::default() {
        // A button to ground.
        wiring = PinSettings {
            direction: Some(Direction::Input),
            pull: Some(Pull::Up),
            active_low: true,
            ..PinSettings::default()
        };
    }
    if wiring.direction == Some(Direction::Output) {
        tracing::warn!(%pin, "the pin of the factory reset is an output, so it is not read");
        return false;
    }
    if let Err(error) = board.configure(pin, wiring) {
        tracing::warn!(%pin, %error, "the button of the factory reset cannot be read");
        return false;
    }
    let is_pressed = || async { board.read(pin).await.is_ok_and(|level| level.high) };
    let begun = Instant::now();
    while !is_pressed().await {
        if begun.elapsed() >= SETTLES {
            return false;
        }
        tokio::time::sleep(READ_EVERY).await;
    }
    let (pressed, hold) = (Instant::now(), Duration::from_secs(settings.hold_seconds));
    tracing::warn!(%pin, seconds = settings.hold_seconds, "the button of the factory reset is pressed: hold it to remove everything");
    while pressed.elapsed() < hold {
        tokio::time::sleep(READ_EVERY).await;
        if !is_pressed().await {
            tracing::info!("the button was released: nothing is reset");
            return false;
        }
    }
    true
}

/// Whether a file is there that only a Hob's folder has, so that a wrong `--data` removes nothing.
///
/// # Errors
/// When it is not, with what to do.
pub fn check_folder(data: &Path) -> Result<()> {
    let is_there = |name: &str| match data.join(name).symlink_metadata() {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    if [store::FILE, "device.key", "hob.wal"].iter().any(|name| is_there(name)) {
        return Ok(());
    }
    bail!("{} holds no data of a Hob, so there is nothing to reset: name its folder with --data DIR", data.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_of_slots_stays_and_whoever_waited_for_a_reset_does_not_repeat_it() {
        let dir = std::env::temp_dir().join(format!("hob-reset-{}", tool::Id::new()));
        fs::create_dir_all(&dir).unwrap();
        let stays = ["selector.json", "supervise.lock", "state.json", "incoming.head"];
        stays.iter().chain(&["hob.toml"]).for_each(|name| fs::write(dir.join(name), "").unwrap());
        ask(&dir).unwrap();
        let removed = finish(&dir).unwrap().unwrap();
        assert_eq!(removed.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["hob.toml"]);
        assert!(stays.iter().all(|name| dir.join(name).exists()));
        assert_eq!(finish_at_start(&dir).unwrap(), AtStart::None);
        // Another process is at it, and finishes.
        ask(&dir).unwrap();
        let held = fs::File::open(dir.join(MARKER)).unwrap();
        held.lock().unwrap();
        let waiting = std::thread::spawn({
            let dir = dir.clone();
            move || finish(&dir).unwrap()
        });
        std::thread::sleep(Duration::from_millis(100));
        fs::write(dir.join("hob.toml"), "name = \"new\"").unwrap();
        fs::remove_file(dir.join(MARKER)).unwrap();
        drop(held);
        assert_eq!(waiting.join().unwrap(), None);
        assert!(dir.join("hob.toml").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn the_machine_is_asked_by_a_file_on_its_boot_partition() {
        let boot = std::env::temp_dir().join(format!("hob-boot-{}", tool::Id::new()));
        assert!(!ask_machine(&boot), "there is no such partition");
        fs::create_dir_all(&boot).unwrap();
        assert!(ask_machine(&boot) && boot.join(BOOT_MARKER).exists());
        assert!(!is_image(&boot));
        // The command, without a daemon: all or nothing.
        let data = boot.join("data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("hob.toml"), "").unwrap();
        let why = reset_all(&data, Some(&boot.join("missing"))).unwrap_err().to_string();
        assert!(why.contains("nothing was removed") && why.contains("factory-reset on its first partition"), "{why}");
        assert!(data.join("hob.toml").exists() && !data.join(MARKER).exists());
        fs::remove_file(boot.join(BOOT_MARKER)).unwrap();
        reset_all(&data, Some(&boot)).unwrap();
        assert!(boot.join(BOOT_MARKER).exists() && !data.join("hob.toml").exists());
        fs::remove_dir_all(boot).unwrap();
    }
}
