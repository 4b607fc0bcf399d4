//! Simulated machines with two slots, and what their boot loaders do.

use crate::{
    Config, MAX_PIECE, Updater,
    disk::{Disk, Mode},
    error::Result,
    keys::{Keyring, Origin, SigningKey},
    manifest::{Device, Payload, target},
    sim_disk::SimDisk,
    slots::{
        SlotManifest, SlotName, Slots,
        dir::{DirSlots, Root},
        partitions::Partitions,
        pi_tryboot::PiTrybootSlots,
        uboot::UbootSlots,
    },
    testing::{self, noise},
};
use semver::Version;
use std::{
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The way a simulated machine boots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Dir,
    Uboot,
    PiTryboot,
}

pub const KINDS: [Kind; 3] = [Kind::Dir, Kind::Uboot, Kind::PiTryboot];

/// One key for all tests: making one takes time.
pub struct TestKeys {
    secret: String,
    pub public: String,
}

pub static KEYS: LazyLock<TestKeys> = LazyLock::new(|| {
    let keys = crate::keys::generate(crate::keys::Protection::None).unwrap();
    TestKeys { secret: keys.secret, public: keys.public }
});

impl TestKeys {
    pub fn signing(&self) -> SigningKey {
        SigningKey::read(&self.secret, None).unwrap()
    }

    pub fn ring(&self) -> Keyring {
        let mut ring = Keyring::default();
        ring.add(&self.public, Origin::Configured).unwrap();
        ring
    }
}

/// The images of the versions 1.0.1 (installed) and 1.0.2.
pub struct Images {
    pub hob: [Vec<u8>; 2],
    pub boot: [Vec<u8>; 2],
}

pub static IMAGES: LazyLock<Images> = LazyLock::new(|| {
    let old = noise(1, 200_000);
    // Moved, changed here and there, and with new parts.
    let mut new = [&old[..90_000], &noise(2, 700)[..], &old[90_000..], &noise(3, 20_000)[..], &old[..70_000]].concat();
    for at in (30_000..60_000).step_by(97) {
        new[at] = new[at].wrapping_add(3);
    }
    Images { hob: [old, new], boot: [noise(4, 40_000), noise(5, 40_000)] }
});

pub fn images(payload: Payload, version: usize) -> Vec<&'static [u8]> {
    match payload {
        Payload::App => vec![IMAGES.hob[version].as_slice()],
        Payload::System => vec![IMAGES.boot[version].as_slice(), IMAGES.hob[version].as_slice()],
    }
}

/// Version 1.0.2, with deltas to 1.0.1.
pub fn new_bundle(payload: Payload) -> &'static [u8] {
    static APP: LazyLock<Vec<u8>> = LazyLock::new(|| make(Payload::App));
    static SYSTEM: LazyLock<Vec<u8>> = LazyLock::new(|| make(Payload::System));
    fn make(payload: Payload) -> Vec<u8> {
        let about = testing::contents(payload, 2);
        testing::bundle(about, &images(payload, 1), &images(payload, 0), &[KEYS.signing()]).unwrap()
    }
    match payload {
        Payload::App => &APP,
        Payload::System => &SYSTEM,
    }
}

impl Kind {
    pub fn payload(self) -> Payload {
        if self == Self::Dir { Payload::App } else { Payload::System }
    }

    /// A machine that runs version 1.0.1 from slot A.
    pub fn machine(self) -> SimDisk {
        let about = SlotManifest { serial: 1, ..SlotManifest::of_version(Version::new(1, 0, 1)) };
        let about = serde_json::to_vec(&about).unwrap();
        let state = br#"{"phase":"idle","floor":1}"#;
        let empty = vec![0; 400_000];
        let mut files: Vec<(&str, &[u8])> = vec![("/root/state.json", &state[..])];
        let mut boot = empty[..60_000].to_vec();
        boot[..40_000].copy_from_slice(&IMAGES.boot[0]);
        let mut root = empty.clone();
        root[..200_000].copy_from_slice(&IMAGES.hob[0]);
        match self {
            Self::Dir => files.extend([
                ("/root/selector.json", &br#"{"active":"a"}"#[..]),
                ("/root/slots/a/hob", &IMAGES.hob[0][..]),
                ("/root/slots/a/manifest.json", &about[..]),
            ]),
            Self::Uboot | Self::PiTryboot => files.extend([
                ("/dev/x2", &boot[..]),
                ("/dev/x5", &root[..]),
                ("/dev/x3", &empty[..60_000]),
                ("/dev/x6", &empty[..]),
                ("/root/slot-a.json", &about[..]),
            ]),
        }
        match self {
            Self::Uboot => files.push(("/boot/slot.env", b"active=a\ntry=\nfallback=b\n")),
            Self::PiTryboot => files
                .push(("/boot/autoboot.txt", b"[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n")),
            Self::Dir => {}
        }
        SimDisk::with(&files)
    }

    pub fn slots(self, disk: &SimDisk, running: SlotName, boot_id: u64) -> Arc<dyn Slots> {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let partitions = || {
            let devices = [["/dev/x2".into(), "/dev/x5".into()], ["/dev/x3".into(), "/dev/x6".into()]];
            Partitions::new(disk.clone(), devices, "/root".into())
        };
        match self {
            Self::Dir => Arc::new(DirSlots::new(disk, "/root".into(), running)),
            Self::Uboot => Arc::new(UbootSlots::new(partitions(), "/boot/slot.env".into(), running)),
            Self::PiTryboot => {
                let file = "/boot/autoboot.txt".into();
                Arc::new(PiTrybootSlots::new(partitions(), file, Path::new("/root"), boot_id.to_string(), running))
            }
        }
    }

    /// Does as supervisor, boot script or firmware: returns the slot that starts. `tryboot` is the firmware's flag.
    pub fn boot(self, disk: &SimDisk, tryboot: bool) -> Result<SlotName> {
        match self {
            Self::Dir => {
                let root = Root::new(Arc::new(disk.clone()), "/root".into());
                let mut selector = root.selector()?.unwrap();
                let trial = selector.trial.take();
                if trial.is_some() {
                    root.set_selector(&selector)?;
                }
                Ok(trial.unwrap_or(selector.active))
            }
            Self::Uboot => {
                let text = String::from_utf8(disk.content("/boot/slot.env").unwrap()).unwrap();
                let value = |name: &str| {
                    let mut lines = text.split(['\n', '\0']);
                    lines.find_map(|line| line.strip_prefix(name)).and_then(SlotName::parse)
                };
                let active = value("active=").unwrap_or(SlotName::A);
                let fallback = value("fallback=").map_or("", SlotName::letter);
                let Some(trial) = value("try=") else { return Ok(active) };
                // As `env export` writes it.
                let file = disk.open(Path::new("/boot/slot.env"), Mode::Write)?;
                let text = format!("active={active}\nfallback={fallback}\n\0");
                file.write_at(0, text.as_bytes())?;
                file.set_length(text.len() as u64)?;
                file.sync()?;
                Ok(trial)
            }
            Self::PiTryboot => {
                let text = String::from_utf8(disk.content("/boot/autoboot.txt").unwrap()).unwrap();
                let (all, trial) = text.split_once("[tryboot]").unwrap();
                let section = if tryboot { trial } else { all };
                Ok(if section.contains("boot_partition=2") { SlotName::A } else { SlotName::B })
            }
        }
    }

    /// The images of a slot, each as long as that of `version`.
    pub fn content(self, disk: &SimDisk, slot: SlotName, version: usize) -> Vec<Vec<u8>> {
        let names: Vec<String> = match (self, slot) {
            (Self::Dir, _) => vec![format!("/root/slots/{slot}/hob")],
            (_, SlotName::A) => vec!["/dev/x2".into(), "/dev/x5".into()],
            (_, SlotName::B) => vec!["/dev/x3".into(), "/dev/x6".into()],
        };
        let of = names.iter().zip(images(self.payload(), version));
        of.map(|(name, image)| {
            let mut bytes = disk.content(name).unwrap_or_default();
            if self != Self::Dir {
                bytes.truncate(image.len());
            }
            bytes
        })
        .collect()
    }
}

pub fn device(version: u64) -> Device {
    Device {
        version: Version::new(1, 0, version),
        target: target(),
        board: "test".into(),
        data_schema: crate::DATA_SCHEMA,
    }
}

/// The updater of a start of its own.
pub fn updater(disk: &SimDisk, slots: Arc<dyn Slots>) -> Result<Updater> {
    static STARTS: AtomicU64 = AtomicU64::new(0);
    updater_in(disk, slots, &format!("start {}", STARTS.fetch_add(1, Ordering::Relaxed)))
}

/// The updater in a start of this name.
pub fn updater_in(disk: &SimDisk, slots: Arc<dyn Slots>, attempt: &str) -> Result<Updater> {
    let config = Config { state: "/root".into(), keys: KEYS.ring(), device: device(1) };
    Updater::open_in(Arc::new(disk.clone()), slots, config, attempt.to_owned())
}

/// Sends what is needed, in pieces of an odd length.
pub fn send(updater: &Updater, bundle: &[u8], piece: usize) -> Result<String> {
    let plan = updater.begin(testing::head_of(bundle)?)?;
    for range in &plan.needed {
        let bytes = &bundle[range.offset as usize..(range.offset + range.length) as usize];
        let mut at = range.offset;
        for piece in bytes.chunks(piece.min(MAX_PIECE)) {
            updater.put(&plan.id, at, piece)?;
            at += piece.len() as u64;
        }
    }
    Ok(plan.id)
}
