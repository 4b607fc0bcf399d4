//! The disk under the data folder: its size, what was written to it, and its errors, from /sys.

use rustix::fs::{major, minor};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The size of a sector in the kernel's counts, whatever the disk's own is.
const SECTOR: u64 = 512;

/// The disk of the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskIo {
    /// Its name: `mmcblk0`.
    pub device: String,
    /// "SD card", "eMMC", "USB disk" or "disk".
    pub kind: &'static str,
    /// Whether it wears out soon enough to care: cards, eMMC and USB sticks.
    pub wears: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes written to it since the machine started, by all programs.
    pub written: u64,
    /// Errors that its file system has recorded, where it says so.
    pub errors: Option<u64>,
}

impl DiskIo {
    /// The disk under a folder; `None` in a container or on a network disk.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        let about = rustix::fs::stat(folder).ok()?;
        Self::of_device(Path::new("/sys"), major(about.st_dev), minor(about.st_dev))
    }

    fn of_device(sys: &Path, major: u32, minor: u32) -> Option<Self> {
        let partition = fs::canonicalize(sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        let errors = number(&sys.join("fs/ext4").join(partition.file_name()?).join("errors_count"));
        let disk = whole(partition)?;
        let device = disk.file_name()?.to_str()?.to_owned();
        let stat = fs::read_to_string(disk.join("stat")).ok()?;
        // Reads, merged, sectors, time; then the same of writes.
        let written: u64 = stat.split_whitespace().nth(6)?.parse().ok()?;
        let size = number(&disk.join("size"))?.saturating_mul(SECTOR);
        let is_usb = disk.components().any(|part| part.as_os_str().to_string_lossy().starts_with("usb"));
        let (kind, wears) = match fs::read_to_string(disk.join("device/type")).unwrap_or_default().trim() {
            "SD" => ("SD card", true),
            "MMC" => ("eMMC", true),
            _ if is_usb => ("USB disk", true),
            _ => ("disk", false),
        };
        Some(Self { device, kind, wears, size, written: written.saturating_mul(SECTOR), errors })
    }
}

/// The disk that a partition, or an encrypted or checked volume on it, is on.
fn whole(mut at: PathBuf) -> Option<PathBuf> {
    // Volumes on volumes are few.
    for _ in 0..8 {
        if at.join("partition").exists() {
            at = at.parent()?.to_owned();
        }
        let mut below = fs::read_dir(at.join("slaves")).into_iter().flatten().flatten();
        match below.next() {
            Some(one) => at = fs::canonicalize(one.path()).ok()?,
            None => break,
        }
    }
    Some(at)
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_under_a_partition_is_found() {
        let root = std::env::temp_dir().join(format!("hob-disk-{}", tool::Id::new()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |from: &str, to: &str| {
            fs::create_dir_all(root.join(from).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(root.join(to), root.join(from)).unwrap();
        };
        let card = "devices/mmc0/block/mmcblk0";
        write(&format!("{card}/stat"), "  1 2 3 4 500 6 2000 8 0 9 10\n");
        write(&format!("{card}/size"), "62333952\n");
        write(&format!("{card}/device/type"), "SD\n");
        write(&format!("{card}/mmcblk0p4/partition"), "4\n");
        write("fs/ext4/mmcblk0p4/errors_count", "3\n");
        link("dev/block/179:4", &format!("{card}/mmcblk0p4"));
        let found = DiskIo::of_device(&root, 179, 4).unwrap();
        let expected = DiskIo {
            device: "mmcblk0".into(),
            kind: "SD card",
            wears: true,
            size: 62_333_952 * 512,
            written: 2000 * 512,
            errors: Some(3),
        };
        assert_eq!(found, expected);
        // A volume over the partition is the same card.
        fs::create_dir_all(root.join("devices/virtual/block/dm-0/slaves")).unwrap();
        link("devices/virtual/block/dm-0/slaves/mmcblk0p4", &format!("{card}/mmcblk0p4"));
        link("dev/block/253:0", "devices/virtual/block/dm-0");
        let over = DiskIo::of_device(&root, 253, 0).unwrap();
        assert_eq!((over.device.as_str(), over.errors), ("mmcblk0", None));
        assert_eq!(DiskIo::of_device(&root, 0, 30), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
