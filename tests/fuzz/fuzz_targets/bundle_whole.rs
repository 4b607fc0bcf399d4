//! Any bytes as the chunks of a bundle whose head is right: nothing but the real chunks reaches a slot.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};
use update::{
    Config, Updater,
    disk::RealDisk,
    keys::{Keyring, Origin},
    manifest::Device,
    slots::{SlotName, dir::DirSlots},
    testing::{Folder, app_bundle, head_of, key, noise},
};

/// A bundle, and a machine on which its upload has begun.
struct Begun {
    _folder: Folder,
    updater: Updater,
    id: String,
    at: u64,
    stored: Vec<u8>,
}

static BEGUN: LazyLock<Begun> = LazyLock::new(|| {
    let (secret, public) = key().unwrap();
    let bundle = app_bundle(2, &noise(1, 20_000), secret).unwrap();
    let folder = Folder::new("fuzz").unwrap();
    std::fs::create_dir_all(folder.0.join("slots/a")).unwrap();
    std::fs::write(folder.0.join("slots/a/hob"), "x").unwrap();
    let slots = Arc::new(DirSlots::new(Arc::new(RealDisk), folder.0.clone(), SlotName::A));
    let mut keys = Keyring::default();
    keys.add(&public, Origin::Configured).unwrap();
    let config = Config { state: folder.0.clone(), keys, device: Device::this("1.0.0").unwrap() };
    let updater = Updater::open(Arc::new(RealDisk), slots, config).unwrap();
    let plan = updater.begin(head_of(&bundle).unwrap()).unwrap();
    let range = plan.needed[0];
    let stored = bundle[range.offset as usize..(range.offset + range.length) as usize].to_vec();
    Begun { _folder: folder, updater, id: plan.id, at: range.offset, stored }
});

fuzz_target!(|bytes: &[u8]| {
    let begun = &*BEGUN;
    if bytes.len() <= begun.stored.len() && !begun.stored.starts_with(bytes) {
        let _ = begun.updater.put(&begun.id, begun.at, bytes);
        assert_eq!(begun.updater.status().unwrap().progress.unwrap().written, 0);
    }
});
