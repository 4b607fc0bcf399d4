//! Images in partitions, shared by the two kinds of slots that boot a whole system.

use super::{SlotManifest, SlotName, read_manifest};
use crate::{
    disk::{Disk, DiskFile, Mode},
    error::{Error, Result},
    manifest::Payload,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The numbers of the partitions `boot` and `root` of slots A and B.
const NUMBERS: [[u8; 2]; 2] = [[2, 5], [3, 6]];

/// The devices (or files) of both slots, and the folder that says what is in them.
#[derive(Debug, Clone)]
pub struct Partitions {
    pub(super) disk: Arc<dyn Disk>,
    /// Devices of A and B, in the order of [`Payload::images`].
    devices: [[PathBuf; 2]; 2],
    /// The folder of the descriptions, on the data partition.
    state: PathBuf,
}

impl Partitions {
    /// Partitions by their paths.
    pub fn new(disk: Arc<dyn Disk>, devices: [[PathBuf; 2]; 2], state: PathBuf) -> Self {
        Self { disk, devices, state }
    }

    /// The partitions beside the one mounted at `selector`, which is number 1: boot A and B are 2 and 3, root A and B 5 and 6.
    /// `mounts` is the content of `/proc/mounts`.
    pub fn beside(disk: Arc<dyn Disk>, selector: &Path, mounts: &str, state: PathBuf) -> Option<Self> {
        let mut rows = mounts.lines().map(|line| line.split(' '));
        let row = rows.find_map(|mut row| {
            let device = row.next()?;
            (Path::new(row.next()?) == selector).then_some(device)
        })?;
        let stem = row.strip_prefix("/dev/").and_then(|_| row.strip_suffix('1'))?;
        let devices = NUMBERS.map(|numbers| numbers.map(|number| PathBuf::from(format!("{stem}{number}"))));
        Some(Self::new(disk, devices, state))
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    fn device(&self, slot: SlotName, image: &str) -> Result<&Path> {
        let place = Payload::System.images().iter().position(|name| *name == image);
        let [a, b] = &self.devices;
        let of_slot = if slot == SlotName::A { a } else { b };
        let path = place.and_then(|place| of_slot.get(place));
        path.map(PathBuf::as_path).ok_or_else(|| Error::BadRequest(format!("a slot has no image `{image}`")))
    }

    fn manifest_file(&self, slot: SlotName) -> PathBuf {
        self.state.join(format!("slot-{slot}.json"))
    }

    pub(super) fn manifest(&self, slot: SlotName) -> Result<Option<SlotManifest>> {
        read_manifest(&*self.disk, &self.manifest_file(slot))
    }

    pub(super) fn open(&self, slot: SlotName, image: &str) -> Result<Option<Box<dyn DiskFile>>> {
        let path = self.device(slot, image)?;
        let opened = self.disk.open(path, Mode::Read);
        Ok(opened.inspect_err(|why| tracing::warn!(%why, path = %path.display(), "a slot cannot be read")).ok())
    }

    pub(super) fn writer(&self, slot: SlotName, image: &str, length: u64) -> Result<Box<dyn DiskFile>> {
        let path = self.device(slot, image)?;
        let failed = |why: io::Error| Error::disk(format!("{} cannot be written", path.display()), &why);
        let device = self.disk.open(path, Mode::Write).map_err(failed)?;
        let room = device.length().map_err(failed)?;
        match room < length {
            true => Err(Error::Refused(format!(
                "the image `{image}` has {length} bytes, and its partition {room}: flash the new version to the card instead"
            ))),
            false => Ok(Box::new(FixedLength(device))),
        }
    }

    pub(super) fn invalidate(&self, slot: SlotName) -> Result<()> {
        let failed = |why: io::Error| Error::disk(format!("slot {slot} cannot be opened for writing"), &why);
        self.disk.create_folder(&self.state).map_err(failed)?;
        self.disk.remove(&self.manifest_file(slot)).map_err(failed)?;
        self.disk.sync_folder(&self.state).map_err(failed)
    }

    pub(super) fn finish(&self, slot: SlotName, manifest: &SlotManifest) -> Result<()> {
        let failed = |why: io::Error| Error::disk(format!("slot {slot} cannot be described"), &why);
        self.disk.create_folder(&self.state).map_err(failed)?;
        let text = serde_json::to_vec_pretty(manifest).map_err(|why| failed(io::Error::other(why)))?;
        self.disk.replace(&self.manifest_file(slot), &text).map_err(failed)
    }
}

/// A partition, or a file in its place, which keeps its length.
struct FixedLength(Box<dyn DiskFile>);

impl DiskFile for FixedLength {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn set_length(&self, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn drop_cache(&self) {
        self.0.drop_cache();
    }
}

/// Rewrites a file of less than a sector in place. The file system's own records stay as they are where the length does not
/// change, and a cut leaves the old sector or the new one. A rename on FAT changes several.
pub(super) fn rewrite(disk: &dyn Disk, path: &Path, text: &str) -> Result<()> {
    let failed = |why: io::Error| Error::disk(format!("{} cannot be written", path.display()), &why);
    let file = disk.open(path, Mode::Create).map_err(failed)?;
    file.write_at(0, text.as_bytes()).map_err(failed)?;
    if file.length().map_err(failed)? != text.len() as u64 {
        file.set_length(text.len() as u64).map_err(failed)?;
    }
    file.sync().map_err(failed)
}

/// Reads a small text file; a missing one is empty.
pub(super) fn read_text(disk: &dyn Disk, path: &Path) -> Result<String> {
    match disk.read(path, 4096) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()),
        Err(why) if why.kind() == io::ErrorKind::FileTooLarge => Ok(String::new()),
        Err(why) => Err(Error::disk(format!("{} cannot be read", path.display()), &why)),
    }
}
