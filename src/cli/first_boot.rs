//! `hob first-boot`: takes over the settings that a person wrote on the card of the firmware image, and removes them from it.
//!
//! Settings of Hob itself are stored as if an admin had entered them. Settings of the network are written to small files, one
//! value each, which the scripts of the image read. Only then is the settings file emptied, so a power cut repeats the whole.

mod settings_file;

use super::client::Client;
use anyhow::{Context, Result};
use rustix::fs::OFlags;
use serde_json::{Value, json};
use settings_file::{Key, MAX_BYTES, Settings, TEMPLATE, provider_of};
use std::{
    fs,
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use text_kit::percent_encode;

/// The report, beside the settings file.
const REPORT: &str = "hob-settings-report.txt";

/// Takes over the settings of `file`. `connect` is called only when there is one to store.
pub async fn first_boot<F>(file: &Path, out: &Path, connect: impl FnOnce() -> F) -> Result<()>
where
    F: Future<Output = Result<Client>>,
{
    let shown = file.display();
    let mut settings = read(file).with_context(|| format!("could not read {shown}"))?;
    if settings == Settings::default() {
        return Ok(());
    }
    write_network(&settings, out).with_context(|| format!("could not write to {}", out.display()))?;
    let requests = requests(&settings);
    if !requests.is_empty() {
        match connect().await {
            Ok(client) => {
                for (key, method, path, body) in requests {
                    let Err(error) = client.data(method, &path, Some(body)).await else { continue };
                    let refused = settings.values.remove(&key);
                    settings.report(format!("{} could not be used: {error}.", key.name()));
                    if let Some(model) = refused.filter(|_| key == Key::Model) {
                        store_key_alone(&client, &mut settings, &model).await;
                    }
                }
                client.close().await;
            }
            Err(error) => {
                let of_hob = [Key::Name, Key::TimeZone, Key::Model, Key::Secret];
                let lost = of_hob.into_iter().filter(|key| settings.values.remove(key).is_some());
                let lost: Vec<&str> = lost.map(Key::name).collect();
                settings.report(format!(
                    "{} could not be stored, because Hob's data could not be opened: {error:#}.",
                    lost.join(", ")
                ));
            }
        }
    }
    empty(file).with_context(|| format!("the settings were taken over, but {shown} could not be emptied"))?;
    let report = report(&settings);
    eprint!("{}", report.replace('\r', ""));
    write_report(&file.with_file_name(REPORT), &report).context("could not write the report about the settings")
}

/// Stores the key of a model that was refused: with the provider that the model names, else with the one whose keys begin so.
async fn store_key_alone(client: &Client, settings: &mut Settings, model: &str) {
    let Some(key) = settings.get(Key::Secret).map(str::to_owned) else { return };
    let named = model.split_once('/').map(|(provider, _)| provider.trim());
    let all = client.data("GET", "/api/v1/providers", None).await.unwrap_or_default();
    let is_known = |id: &&str| all["providers"].as_array().is_some_and(|all| all.iter().any(|one| one["id"] == **id));
    let mut why = "it does not show whose key it is".to_owned();
    // A key of a provider that is named is never given to another one.
    if let Some(provider) = named.filter(is_known).or_else(|| provider_of(&key)) {
        let path = format!("/api/v1/providers/{}", percent_encode(provider));
        match client.data("PUT", &path, Some(json!({"key": key}))).await {
            Ok(_) => return settings.note(format!("The model's key was kept, as the one for {provider}.")),
            Err(error) => why = error.to_string(),
        }
    }
    settings.values.remove(&Key::Secret);
    settings.report(format!(
        "MODEL_KEY was not kept, and it was removed from this card: {why}. Enter it again together with a model."
    ));
}

/// Opens a plain file. A link is not followed: it would be read and emptied where it leads.
fn open(path: &Path, options: &mut fs::OpenOptions) -> Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match options.custom_flags(flags.bits() as i32).open(path) {
        Err(_) if path.is_symlink() => {
            anyhow::bail!("it is a link, and only a plain file is used: put the file itself there")
        }
        opened => opened?,
    };
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a plain file");
    Ok(file)
}

/// Writes the report: a file or link that had its name is replaced and not written to.
fn write_report(path: &Path, report: &str) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(report.as_bytes())?;
    file.sync_all()
}

/// Reads and parses the file. One that is too large is not parsed, and stays as it is.
fn read(file: &Path) -> Result<Settings> {
    let mut bytes = vec![];
    open(file, fs::OpenOptions::new().read(true))?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    anyhow::ensure!(bytes.len() as u64 <= MAX_BYTES, "it is larger than {} KB", MAX_BYTES / 1024);
    Ok(Settings::parse(&bytes))
}

/// A request that stores a setting: its key, method, path and body.
type Request = (Key, &'static str, String, Value);

/// The requests that store the settings that concern Hob itself.
fn requests(settings: &Settings) -> Vec<Request> {
    let mut requests: Vec<Request> = vec![];
    if let Some(name) = settings.get(Key::Name) {
        requests.push((Key::Name, "PATCH", "/api/v1/device".into(), json!({"name": name})));
    }
    if let Some(zone) = settings.get(Key::TimeZone) {
        requests.push((Key::TimeZone, "PATCH", "/api/v1/home".into(), json!({"timeZone": zone})));
    }
    match (settings.get(Key::Model), settings.get(Key::Secret)) {
        (Some(model), key) => {
            let body = match key {
                Some(key) => json!({"model": model, "key": key}),
                None => json!({"model": model}),
            };
            requests.push((Key::Model, "PUT", "/api/v1/model".into(), body));
        }
        (None, Some(key)) => {
            if let Some(provider) = provider_of(key) {
                let path = format!("/api/v1/providers/{}", percent_encode(provider));
                requests.push((Key::Secret, "PUT", path, json!({"key": key})));
            }
        }
        (None, None) => {}
    }
    requests
}

/// Writes the values that the scripts of the image read. The name of a Wi-Fi is any bytes, so it is written in hexadecimal.
fn write_network(settings: &Settings, out: &Path) -> Result<()> {
    let wifi = settings.get(Key::WifiName);
    let hex = wifi.map(|name| name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());
    if wifi.is_some() {
        // The other values belong to the network before.
        for old in ["wifi-password", "wifi-country"] {
            let _ = fs::remove_file(out.join(old));
        }
    }
    for (name, value) in [
        ("wifi-password", settings.get(Key::WifiPassword)),
        ("wifi-country", settings.get(Key::WifiCountry)),
        ("wifi-ssid", hex.as_deref()),
        ("name", settings.get(Key::Name)),
        ("claim-code", settings.get(Key::ClaimCode)),
    ] {
        let Some(value) = value else { continue };
        let new = out.join(format!("{name}.new"));
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(format!("{value}\n").as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, out.join(name))?;
    }
    Ok(fs::File::open(out)?.sync_all()?)
}

/// Overwrites the file with blanks, in place, and then with the empty template.
fn empty(file: &Path) -> Result<()> {
    let mut file = open(file, fs::OpenOptions::new().write(true))?;
    let length = usize::try_from(file.metadata()?.len())?;
    for text in [vec![b' '; length], TEMPLATE.replace('\n', "\r\n").into_bytes()] {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&text)?;
        file.sync_all()?;
    }
    file.set_len(TEMPLATE.replace('\n', "\r\n").len() as u64)?;
    Ok(file.sync_all()?)
}

/// The report, for any editor.
fn report(settings: &Settings) -> String {
    let used: Vec<&str> = settings.values.keys().map(|key| key.in_words()).collect();
    let mut lines = match used.is_empty() {
        true => vec!["Hob found no setting that it could use.".to_owned()],
        false => vec![format!("Hob has taken over {}. They are not on this card any more.", used.join(", "))],
    };
    lines.extend(settings.notes.iter().cloned());
    if !settings.problems.is_empty() {
        lines.push("These could not be used; write them into hob-settings.txt again:".into());
        lines.extend(settings.problems.iter().map(|problem| format!("- {problem}")));
    }
    lines.iter().map(|line| format!("{line}\r\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("hob-first-boot-{}", tool::Id::new()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    async fn take(file: &Path, out: &Path) -> Result<()> {
        first_boot(file, out, || async { anyhow::bail!("no data here") }).await
    }

    #[tokio::test]
    async fn the_network_is_taken_over_and_the_card_emptied() {
        let folder = folder();
        let file = folder.join("hob-settings.txt");
        fs::write(&file, "WIFI_NAME=Café\r\nWIFI_PASSWORD=correct horse\r\nWIFI_COUNTRY=at\r\nhunter2\r\n").unwrap();
        fs::write(folder.join("wifi-country"), "DE\n").unwrap();
        take(&file, &folder).await.unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(
            ["wifi-ssid", "wifi-password", "wifi-country"].map(read),
            ["436166c3a9\n", "correct horse\n", "AT\n"]
        );
        assert_eq!(read("hob-settings.txt"), TEMPLATE.replace('\n', "\r\n"));
        let report = read(REPORT);
        assert!(report.contains("the Wi-Fi, the Wi-Fi password, the country"), "{report}");
        assert!(report.contains("Line 4: this is no setting") && !report.contains("hunter2"), "{report}");
        // An open network after one with a password.
        fs::write(&file, "WIFI_NAME=Guests").unwrap();
        take(&file, &folder).await.unwrap();
        assert!(!folder.join("wifi-password").exists() && !folder.join("wifi-country").exists());
        // An emptied file changes nothing.
        fs::remove_file(folder.join(REPORT)).unwrap();
        take(&file, &folder).await.unwrap();
        assert!(!folder.join(REPORT).exists());
        fs::remove_dir_all(folder).unwrap();
    }

    /// Nothing behind a link is read or overwritten, neither for the settings nor for the report.
    #[tokio::test]
    async fn links_are_not_followed() {
        let folder = folder();
        let (file, behind) = (folder.join("hob-settings.txt"), folder.join("behind"));
        let is_behind = |text: &str| assert_eq!(fs::read_to_string(&behind).unwrap(), text);
        fs::write(&behind, "WIFI_NAME=Guests\n").unwrap();
        std::os::unix::fs::symlink(&behind, &file).unwrap();
        let why = format!("{:#}", take(&file, &folder).await.unwrap_err());
        assert!(why.contains("hob-settings.txt: it is a link"), "{why}");
        is_behind("WIFI_NAME=Guests\n");
        assert!(!folder.join("wifi-ssid").exists() && !folder.join(REPORT).exists());
        fs::remove_file(&file).unwrap();
        fs::write(&file, "WIFI_NAME=Guests\n").unwrap();
        std::os::unix::fs::symlink(&behind, folder.join(REPORT)).unwrap();
        take(&file, &folder).await.unwrap();
        is_behind("WIFI_NAME=Guests\n");
        assert!(fs::read_to_string(folder.join(REPORT)).unwrap().contains("has taken over the Wi-Fi"));
        assert!(!folder.join(REPORT).is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_setting_that_cannot_be_stored_is_reported_and_a_huge_file_left_alone() {
        let folder = folder();
        let file = folder.join("hob-settings.txt");
        fs::write(&file, "NAME=kitchen\nMODEL_KEY=sk-0123456789").unwrap();
        take(&file, &folder).await.unwrap();
        let report = fs::read_to_string(folder.join(REPORT)).unwrap();
        assert!(report.contains("no setting that it could use") && report.contains("no data here"), "{report}");
        assert!(report.contains("NAME, MODEL_KEY could not be stored"), "{report}");
        // A model does not take its key with it into what was taken over.
        fs::write(&file, "MODEL=openai/gpt-5\nMODEL_KEY=sk-0123456789").unwrap();
        take(&file, &folder).await.unwrap();
        let report = fs::read_to_string(folder.join(REPORT)).unwrap();
        assert!(report.contains("no setting that it could use") && report.contains("MODEL, MODEL_KEY"), "{report}");
        assert!(!fs::read_to_string(&file).unwrap().contains("sk-0"));
        let huge = "NAME=kitchen\n".repeat(10_000);
        fs::write(&file, &huge).unwrap();
        assert!(format!("{:#}", take(&file, &folder).await.unwrap_err()).contains("larger than 64 KB"));
        assert_eq!(fs::read_to_string(&file).unwrap(), huge);
        assert!(take(&folder, &folder).await.is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
