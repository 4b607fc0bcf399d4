//! A channel: a signed list of releases at a URL, with an expiry and a serial.

use crate::{
    bundle::Head,
    digest::Digest,
    error::{Error, Result},
    keys::{Keyring, Signer, SigningKey},
    manifest::{Device, Payload},
};
use semver::Version;
use serde::{Deserialize, Serialize};

/// The longest channel file.
pub const MAX_CHANNEL: usize = 256 * 1024;

/// How many seconds a device's clock may be behind.
const CLOCK_TOLERANCE: i64 = 24 * 3600;

/// A channel file, `stable.json`; its minisign signature is at the same URL with `.minisig` appended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Channel {
    /// Always `hob-channel`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name, such as `stable`.
    pub channel: String,
    /// Rises with each change of the file; a device takes no lower one than it has seen.
    pub serial: u64,
    /// When it was signed: RFC 3339.
    pub issued: String,
    /// When it ends to count: RFC 3339.
    pub expires: String,
    /// The releases it offers.
    pub releases: Vec<ChannelRelease>,
}

/// A release in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelRelease {
    /// The version.
    pub version: Version,
    /// Its serial.
    pub serial: u64,
    /// The payload.
    pub payload: Payload,
    /// Machines, as in the manifest.
    pub targets: Vec<String>,
    /// Boards, as in the manifest.
    #[serde(default)]
    pub boards: Vec<String>,
    /// The oldest version that may install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_version: Option<Version>,
    /// Release notes.
    #[serde(default)]
    pub notes: String,
    /// The URL of the bundle, absolute or relative to that of the channel.
    pub url: String,
    /// Bytes of the bundle.
    pub bytes: u64,
    /// Bytes of its head.
    pub head_length: u64,
    /// SHA-256 of its head: the channel names exactly one bundle.
    pub head_sha256: Digest,
}

impl ChannelRelease {
    /// The entry for a bundle with this head, at `url`.
    pub fn of(head: &Head, bytes: &[u8], url: String) -> Self {
        let manifest = head.manifest.clone();
        Self {
            version: manifest.version,
            serial: manifest.serial,
            payload: manifest.payload,
            targets: manifest.targets,
            boards: manifest.boards,
            minimum_version: manifest.minimum_version,
            notes: manifest.notes,
            url,
            bytes: manifest.bundle_length,
            head_length: bytes.len() as u64,
            head_sha256: Digest::sha256(bytes),
        }
    }
}

/// A time of a channel in Unix seconds.
fn second(text: &str, name: &str) -> Result<i64> {
    let at: Result<jiff::Timestamp, _> = text.parse();
    Ok(at.map_err(|_| Error::Refused(format!("the update channel has no valid time in `{name}`")))?.as_second())
}

impl Channel {
    /// A channel file that is issued now and expires after some days.
    pub fn new(channel: String, serial: u64, days: u32, releases: Vec<ChannelRelease>) -> Self {
        let now = jiff::Timestamp::now();
        let lasts = jiff::SignedDuration::from_hours(24 * i64::from(days));
        let expires = now.checked_add(lasts).unwrap_or(jiff::Timestamp::MAX);
        let text = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { kind: Self::TYPE.into(), channel, serial, issued: text(now), expires: text(expires), releases }
    }

    /// The `type` of a channel file.
    pub const TYPE: &'static str = "hob-channel";

    /// Reads and verifies a channel file. `now` is Unix seconds, `seen` the highest serial known of this channel.
    ///
    /// # Errors
    /// `Refused`, with the reason.
    pub fn read(bytes: &[u8], signature: &[u8], keys: &Keyring, now: i64, seen: u64) -> Result<(Self, Signer)> {
        if bytes.len() > MAX_CHANNEL {
            return Err(Error::refused("the update channel's file is too large: check the channel's address"));
        }
        let signer = keys.verify("the update channel", bytes, signature)?;
        Ok((Self::parse(bytes, now, seen)?, signer))
    }

    /// Reads a channel file whose signature was checked.
    ///
    /// # Errors
    /// As [`Channel::read`].
    pub fn parse(bytes: &[u8], now: i64, seen: u64) -> Result<Self> {
        let channel: Self = serde_json::from_slice(bytes).map_err(|why| {
            Error::refused(format!("the update channel cannot be read ({why}): a newer version may be needed first"))
        })?;
        if channel.kind != Self::TYPE {
            return Err(Error::refused("this signed document is not an update channel: check the channel's address"));
        }
        let (issued, expires) = (second(&channel.issued, "issued")?, channel.expires_at()?);
        if now < issued - CLOCK_TOLERANCE {
            return Err(Error::Refused(format!(
                "the update channel was signed on {}, which is in the future of this device: set its clock",
                channel.issued
            )));
        }
        if now >= expires {
            return Err(Error::Refused(format!(
                "the update channel expired on {}, so somebody may be holding back newer versions: check the device's clock, or get \
                 the bundle by hand",
                channel.expires
            )));
        }
        if channel.serial < seen {
            return Err(Error::Refused(format!(
                "the update channel has serial {}, and {seen} was seen before: an old copy of it is being served; try again later",
                channel.serial
            )));
        }
        Ok(channel)
    }

    /// When it ends to count: Unix seconds.
    ///
    /// # Errors
    /// `Refused` when it does not say.
    pub fn expires_at(&self) -> Result<i64> {
        second(&self.expires, "expires")
    }

    /// The newest release for a device that is above `serial`, and above the version `running`, which may have no serial.
    pub fn newest(&self, device: &Device, payload: Payload, serial: u64, running: &Version) -> Option<&ChannelRelease> {
        let fits = self.releases.iter().filter(|release| {
            release.payload == payload
                && release.serial > serial
                && release.version > *running
                && release.targets.contains(&device.target)
                && (release.boards.is_empty() || release.boards.contains(&device.board))
                && release.minimum_version.as_ref().is_none_or(|minimum| device.version >= *minimum)
        });
        fits.max_by_key(|release| release.serial)
    }

    /// The bytes of a channel file, and its signature.
    ///
    /// # Errors
    /// As [`SigningKey::sign`].
    pub fn sign(&self, key: &SigningKey) -> Result<(Vec<u8>, String)> {
        let text = serde_json::to_vec_pretty(self).map_err(|why| Error::BadRequest(why.to_string()))?;
        let signature = key.sign(&text, &format!("hob channel {} serial {}", self.channel, self.serial))?;
        Ok((text, signature))
    }
}
