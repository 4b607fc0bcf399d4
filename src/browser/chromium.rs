//! Finds Chromium on this device, and starts it in the sandbox.

use crate::{Browser, Error, Result, downloads::Downloads};
use process_sandbox::{Gate, Job, Limits, Network, ProcessSandbox, Stdin};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// The binaries behind the scripts of distributions, which read files that are not in the sandbox.
const BINARIES: [&str; 4] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
];
/// Names of the program.
const NAMES: [&str; 6] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "chromium-headless-shell"];

/// Writes the profile's settings, and puts input and output to where `--remote-debugging-pipe` expects them. A thread's stack counts
/// as memory, and Chromium's need less than the usual 8 MB. A file that is too large is an error of the write, and no end of Chromium.
const START: &str = r#"mkdir -p /tmp/profile/Default && printf %s "$PREFERENCES" > /tmp/profile/Default/Preferences || exit 1
unset PREFERENCES; ulimit -S -s 2048; trap '' XFSZ
exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// What is off in the profile: guesses of addresses, sign-in, reports, translation; a PDF is saved instead of shown.
const PREFERENCES: &str = r#"{"net":{"network_prediction_options":2},"search":{"suggest_enabled":false},"safebrowsing":{"enabled":false},
"signin":{"allowed":false},"translate":{"enabled":false},"plugins":{"always_open_pdf_externally":true},
"credentials_enable_service":false,"autofill":{"profile_enabled":false,"credit_card_enabled":false},
"alternate_error_pages":{"enabled":false},"spellcheck":{"use_spelling_service":false}}"#;

/// How it is started. Its own sandbox needs namespaces, which no program in Hob's gets: Hob's is the one that holds. What it would
/// send to its maker by itself is off; the gate refuses those hosts besides.
const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-zygote",
    "--in-process-gpu",
    "--disable-gpu",
    "--disable-software-rasterizer",
    // Shared memory is in `/tmp`, which holds more than `/dev/shm`.
    "--disable-dev-shm-usage",
    "--user-data-dir=/tmp/profile",
    "--disk-cache-size=16777216",
    "--media-cache-size=4194304",
    "--js-flags=--max-old-space-size=256",
    "--window-size=1280,800",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-startup-window",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    // Nothing listens there: what Chromium asks its maker by itself ends here. Pages are in a context with a proxy of its own.
    "--proxy-server=http://127.0.0.1:1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--deny-permission-prompts",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-notifications",
    "--disable-sync",
    "--metrics-recording-only",
    // Also its own tries of https for http addresses, which would be told as connections of the page.
    "--disable-features=AimEnabled,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,\
     HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,HttpsUpgrades,InterestFeedContentSuggestions,LoadingPredictorPrefetch,MediaRouter,NavigationPredictor,NetworkTimeServiceQuerying,\
     OptimizationGuideModelDownloading,OptimizationHints,PreconnectToSearch,PreconnectToSearchNonGoogle,SegmentationPlatform,\
     SpareRendererForSitePerProcess,Translate",
];

/// The section `[browser]` of hob.toml.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The program, by name or path; found by the usual names where empty.
    pub program: String,
    /// How much memory a browser may use, in MB.
    pub memory_mb: u64,
    /// How many may be open at once, one for each conversation.
    pub at_once: usize,
    /// After how many seconds without use one is closed.
    pub idle_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { program: String::new(), memory_mb: 512, at_once: 2, idle_seconds: 300 }
    }
}

impl Config {
    /// # Errors
    /// With a sentence about what cannot be used.
    pub fn check(&self) -> std::result::Result<(), String> {
        if !(128..=16_384).contains(&self.memory_mb) {
            return Err("`browser.memory_mb` is no size for a browser: use 128 to 16384".into());
        }
        if !(1..=16).contains(&self.at_once) {
            return Err("`browser.at_once` is no number of browsers: use 1 to 16".into());
        }
        if !(1..=86_400).contains(&self.idle_seconds) {
            return Err("`browser.idle_seconds` is no time for a browser: use 1 to 86400".into());
        }
        Ok(())
    }
}

/// Starts browsers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Chromium(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sandbox: ProcessSandbox,
    config: Config,
    folder: PathBuf,
    count: AtomicU32,
}

impl Chromium {
    /// `folder` is where downloads arrive, a folder for each browser; the sandbox must be allowed to mount it. What an earlier run
    /// left there is deleted.
    pub fn new(sandbox: ProcessSandbox, config: Config, folder: PathBuf) -> Self {
        if let Err(error) = fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "old downloads of the browser could not be deleted");
        }
        Self(Arc::new(Inner { sandbox, config, folder, count: AtomicU32::new(0) }))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Where the program is.
    ///
    /// # Errors
    /// `Unavailable` where there is none, with how to add it; where nothing can be run, with the reason. The first call may block
    /// for some milliseconds.
    pub fn find(&self) -> Result<PathBuf> {
        if let Some(why) = self.0.sandbox.refusal() {
            let why = format!("a browser runs only in a sandbox, and this device cannot make one: {why}");
            return Err(Error::Unavailable(why));
        }
        let name = self.0.config.program.as_str();
        let found = match name {
            "" => {
                let binary = BINARIES.iter().map(PathBuf::from).find(|path| path.is_file());
                binary.or_else(|| NAMES.iter().find_map(|name| self.0.sandbox.find(name)))
            }
            path if path.starts_with('/') => Some(PathBuf::from(path)).filter(|path| path.is_file()),
            name => self.0.sandbox.find(name),
        };
        found.ok_or_else(|| {
            let what = if name.is_empty() { "Chromium" } else { name };
            Error::Unavailable(format!(
                "there is no {what} on this device, which pages are opened with: an admin can install it (Debian: apt-get install \
                 chromium) or name another in `[browser] program` of hob.toml. Hob's own small image has none"
            ))
        })
    }

    /// Starts a browser, whose every connection is made by the gate.
    ///
    /// # Errors
    /// `Unavailable` as [`Chromium::find`]; `Ended` where it does not start.
    pub async fn start(&self, gate: Arc<dyn Gate>) -> Result<Browser> {
        let this = self.clone();
        let looked = tokio::task::spawn_blocking(move || Ok((this.find()?, this.folder()?))).await;
        let (program, downloads) = looked.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))?;
        let mut job = Job::new("/bin/sh").args(["-c", START]).args([program]).args(FLAGS.iter().copied());
        job.env.push(("PREFERENCES".into(), PREFERENCES.replace('\n', "")));
        job.mounts.push(downloads.mount()?);
        job.network = Network::Guarded(gate);
        job.stdin = Stdin::Open;
        job.limits = Limits {
            wall: Duration::from_secs(24 * 3600),
            cpu: Duration::from_secs(3600),
            memory: self.0.config.memory_mb << 20,
            processes: 512,
            // What it says on the pipe is bounded message by message.
            output: u64::MAX,
            // A download is cancelled long before.
            file_size: crate::downloads::MOST + (64 << 20),
            open_files: 2048,
            // Looked after by the size of the folder: others write to the disk too.
            disk: u64::MAX,
        };
        let process = self.0.sandbox.start(job).await.map_err(|error| Error::Unavailable(error.to_string()))?;
        Browser::over(process, downloads, self.0.config.memory_mb).await
    }

    fn folder(&self) -> Result<Downloads> {
        let number = self.0.count.fetch_add(1, Ordering::Relaxed);
        Downloads::make(self.0.folder.join(number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_and_preferences_are_json() {
        assert_eq!(Config::default().check(), Ok(()));
        for config in [
            Config { memory_mb: 64, ..Config::default() },
            Config { at_once: 0, ..Config::default() },
            Config { idle_seconds: 0, ..Config::default() },
        ] {
            assert!(config.check().is_err(), "{config:?}");
        }
        let preferences: serde_json::Value = serde_json::from_str(&PREFERENCES.replace('\n', "")).unwrap();
        assert_eq!(preferences["signin"]["allowed"], false);
        assert!(FLAGS.iter().all(|flag| flag.starts_with("--") && !flag.contains(' ')));
    }

    #[test]
    fn where_there_is_no_chromium_it_says_how_to_add_it() {
        let folder = std::env::temp_dir().join(format!("hob-browser-{}", std::process::id()));
        let sandbox = ProcessSandbox::probe(process_sandbox::Config::default());
        let named = |program: &str| {
            Chromium::new(sandbox.clone(), Config { program: program.into(), ..Config::default() }, folder.clone())
        };
        for program in ["no-such-browser", "/no/such/browser"] {
            let why = named(program).find().unwrap_err().to_string();
            assert!(why.contains(program) && why.contains("apt-get install chromium"), "{why}");
        }
        assert!(named("sh").find().is_ok());
    }
}
