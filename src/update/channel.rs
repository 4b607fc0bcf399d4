//! A channel: a signed list of releases at a URL, with an expiry and a serial.

use crate::{
    digest::Digest,
    error::{Error, Result},
    keys::{Keyring, Signer},
    manifest::{Device, Payload},
};
use semver::Version;
use serde::{Deserialize, Serialize};

/// The longest channel file.
pub const MAX_CHANNEL: usize = 256 * 1024;

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
