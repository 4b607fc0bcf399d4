//! The manifest of a bundle: what it holds, and for which devices.

use crate::{
    digest::Digest,
    error::{Error, Result},
};
use semver::Version;
use serde::{Deserialize, Serialize};

/// The longest manifest.
pub const MAX_MANIFEST: usize = 64 * 1024;
/// The longest release notes.
pub const MAX_NOTES: usize = 16 * 1024;
/// The largest image of a payload.
pub const MAX_IMAGE: u64 = 1 << 30;

/// The payload of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The binary `hob` alone, for `dir` slots.
    App,
    /// The images `boot` and `root`, for `uboot` and `pi-tryboot` slots.
    System,
}

impl Payload {
    /// The names of its images, in their order in the bundle.
    pub fn images(self) -> &'static [&'static str] {
        match self {
            Self::App => &["hob"],
            Self::System => &["boot", "root"],
        }
    }

    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::App => "the program `hob` alone",
            Self::System => "a whole system",
        }
    }
}

/// One image of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// `hob`, `boot` or `root`.
    pub name: String,
    /// Bytes of the image once installed.
    pub length: u64,
    /// SHA-256 of these bytes.
    pub sha256: Digest,
}

/// The chunk index that follows the signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexSeal {
    /// Bytes of the index.
    pub length: u64,
    /// SHA-256 of these bytes: by it the signature of the manifest covers the index, and by that every chunk.
    pub sha256: Digest,
}

/// The signed description of a bundle, stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Always `hob-bundle`, so that no other signed document passes as a manifest.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version people read.
    pub version: Version,
    /// Rises with each release; a device never installs a serial below its floor.
    pub serial: u64,
    /// The payload.
    pub payload: Payload,
    /// Machines the programs run on, such as `aarch64-linux`.
    pub targets: Vec<String>,
    /// Boards of a whole system, such as `rpi`; empty for all.
    #[serde(default)]
    pub boards: Vec<String>,
    /// The schema of the data that this version writes.
    pub data_schema: u32,
    /// The oldest schema of data that this version reads.
    #[serde(default)]
    pub data_schema_min: u32,
    /// The oldest version that may install this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_version: Option<Version>,
    /// Release notes for people, plain text.
    #[serde(default)]
    pub notes: String,
    /// The public key (base64) that may sign after the current one; trusted once this bundle is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_key: Option<String>,
    /// Images in their order in the index.
    pub images: Vec<Image>,
    /// The chunk index.
    pub index: IndexSeal,
    /// Bytes of the whole bundle.
    pub bundle_length: u64,
}

/// The device, as compatibility is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The running version.
    pub version: Version,
    /// Its machine: [`target`].
    pub target: String,
    /// The board, such as `rpi` or `qemu-virt`; `generic` for other machines.
    pub board: String,
    /// The schema of the stored data.
    pub data_schema: u32,
}

impl Device {
    /// This device, running `version`: the board is that of `hob.board=` on the kernel's command line.
    ///
    /// # Errors
    /// `BadRequest` when `version` is none.
    pub fn this(version: &str) -> Result<Self> {
        let version =
            version.parse().map_err(|_| Error::BadRequest(format!("`{version}` is not a version: write 1.2.3")))?;
        let text = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
        let board = text.split_whitespace().find_map(|word| word.strip_prefix("hob.board="));
        Ok(Self {
            version,
            target: target(),
            board: board.unwrap_or("generic").into(),
            data_schema: crate::DATA_SCHEMA,
        })
    }
}

/// The machine this program was built for: `x86_64-linux`, `aarch64-linux`.
pub fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

impl Manifest {
    /// The `type` of a manifest.
    pub const TYPE: &'static str = "hob-bundle";

    /// Reads a manifest whose signature was checked.
    ///
    /// # Errors
    /// `Refused` when a field is missing, unknown or out of bounds.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(|why| {
            Error::refused(format!(
                "the manifest of this bundle cannot be read ({why}): a newer version may be needed first"
            ))
        })?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// `Refused`.
    pub fn check(&self) -> Result<()> {
        let wrong = |why: &str| Err(Error::refused(format!("the manifest of this bundle is wrong: {why}")));
        if self.kind != Self::TYPE {
            return wrong("it is the signed document of something else");
        }
        let names: Vec<&str> = self.images.iter().map(|image| image.name.as_str()).collect();
        if names != self.payload.images() {
            return wrong("the images are not those of its payload");
        }
        if self.images.iter().any(|image| image.length == 0 || image.length > MAX_IMAGE) {
            return wrong("an image is empty or larger than 1 GB");
        }
        if self.notes.len() > MAX_NOTES {
            return wrong("its notes are too long");
        }
        if self.targets.is_empty() || self.targets.len() > 16 || self.boards.len() > 64 {
            return wrong("it names no machine, or too many");
        }
        if self.serial == 0 {
            return wrong("its serial is 0");
        }
        Ok(())
    }

    /// Whether this device may install the bundle, with slots that take `payload` and a floor.
    ///
    /// # Errors
    /// `Refused` with the first reason against it.
    pub fn check_device(&self, device: &Device, payload: Payload, floor: u64) -> Result<()> {
        let no = |why: String| Err(Error::Refused(why));
        let version = &self.version;
        if self.payload != payload {
            return no(format!(
                "this bundle has {}, and this device takes {}: get the other bundle of version {version}",
                self.payload.words(),
                payload.words()
            ));
        }
        if !self.targets.contains(&device.target) {
            let (targets, own) = (self.targets.join(", "), &device.target);
            return no(format!("this bundle is for {targets}, and this machine is {own}: get the bundle for {own}"));
        }
        if !self.boards.is_empty() && !self.boards.contains(&device.board) {
            let (boards, own) = (self.boards.join(", "), &device.board);
            return no(format!(
                "this bundle is for the boards {boards}, and this one is {own}: get the bundle for {own}"
            ));
        }
        if self.serial < floor {
            return no(format!(
                "version {version} (serial {}) is older than one that was confirmed here (serial {floor}): get a newer bundle; to go \
                 back to the version before, use rollback",
                self.serial
            ));
        }
        if let Some(minimum) = self.minimum_version.as_ref().filter(|minimum| device.version < **minimum) {
            return no(format!(
                "version {version} can be installed from {minimum} on, and this is {}: install {minimum} first",
                device.version
            ));
        }
        if !(self.data_schema_min..=self.data_schema).contains(&device.data_schema) {
            return no(format!(
                "version {version} cannot read the data of this device (schema {}, and it reads {} to {}): get another version",
                device.data_schema, self.data_schema_min, self.data_schema
            ));
        }
        Ok(())
    }
}
