//! The sections `[update]` and `[factory_reset]` of hob.toml.

use ::update::keys::{Keyring, Origin};
use anyhow::{Context, Result, bail};
use board::Pin;
use serde::{Deserialize, Serialize};
use std::{path::Path, time::Duration};

/// The longest window in which a new version is tried, in seconds: an hour.
const WINDOW: u64 = 3600;
/// The longest time between two checks of the channel, in hours: four weeks.
const HOURS: u64 = 24 * 28;
/// The longest wait before the first check, in seconds: an hour.
const FIRST: u64 = 3600;
/// The longest time a button is held, in seconds.
const HOLD: u64 = 120;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Update {
    pub channel: String,
    pub check_hours: u64,
    pub first_check_seconds: u64,
    /// Empty: the places of the image, or none elsewhere.
    pub folder: String,
    pub keys: Vec<String>,
    pub window_seconds: u64,
}

impl Default for Update {
    fn default() -> Self {
        Self {
            channel: String::new(),
            check_hours: 24,
            first_check_seconds: 120,
            folder: String::new(),
            keys: vec![],
            window_seconds: 300,
        }
    }
}

impl Update {
    pub fn check(&self) -> Result<()> {
        if !self.channel.is_empty() && !["https://", "http://"].iter().any(|scheme| self.channel.starts_with(scheme)) {
            bail!("`update.channel` is not an address: write it as https://example.org/hob/stable.json");
        }
        if self.check_hours > HOURS {
            bail!("`update.check_hours` is more than {HOURS}: use a smaller number, or 0 to check only when asked");
        }
        if self.first_check_seconds > FIRST {
            bail!("`update.first_check_seconds` is more than {FIRST}: the default is 120");
        }
        if !(self.folder.is_empty() || Path::new(&self.folder).is_absolute()) {
            bail!("`update.folder` is not an absolute path: write it as /media");
        }
        if !(1..=WINDOW).contains(&self.window_seconds) {
            bail!("`update.window_seconds` is not from 1 to {WINDOW}: the default is 300");
        }
        let mut keys = Keyring::default();
        for key in &self.keys {
            keys.add(key, Origin::Configured).context("`update.keys` has a text that is no key")?;
        }
        Ok(())
    }

    /// The time in which a new version has to prove itself.
    pub fn window(&self) -> Duration {
        Duration::from_secs(self.window_seconds)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactoryReset {
    /// A BCM number; negative for none.
    pub pin: i64,
    pub hold_seconds: u64,
    pub file: String,
}

impl Default for FactoryReset {
    fn default() -> Self {
        Self { pin: -1, hold_seconds: 10, file: String::new() }
    }
}

impl FactoryReset {
    pub fn check(&self) -> Result<()> {
        if self.pin >= 0 && Pin::new(self.pin).is_none() {
            bail!(
                "`factory_reset.pin` is {}, which is not a pin: use a BCM number from 0 to 27, or -1 for none",
                self.pin
            );
        }
        if !(1..=HOLD).contains(&self.hold_seconds) {
            bail!("`factory_reset.hold_seconds` is not from 1 to {HOLD}: the default is 10");
        }
        Ok(())
    }
}
