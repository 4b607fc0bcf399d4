//! Arbitrary and nearly right bytes as head, manifest, index, delta and channel: refused or read, never a panic or a large
//! allocation. `tests/fuzz` runs the same with cargo-fuzz.

use super::world::{KEYS, Kind, new_bundle, updater};
use crate::{
    bundle::{self, Head},
    channel::Channel,
    delta,
    index::Index,
    manifest::{Manifest, Payload},
    slots::SlotName,
    testing::{Memory, head_of},
};
use proptest::{collection::vec, prelude::*};

/// Bytes with a few changes: set, removed, inserted.
fn damage(bytes: &[u8], changes: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, kind, value) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match kind % 3 {
            0 => bytes[at] = *value,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, *value),
        }
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    vec((0..100_000usize, any::<u8>(), any::<u8>()), 1..4)
}

proptest! {
    #[test]
    fn any_head(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(Head::read(&bytes, &KEYS.ring()).is_err());
        let with_magic = [&bundle::MAGIC[..], &bytes].concat();
        prop_assert!(Head::read(&with_magic, &KEYS.ring()).is_err());
    }

    #[test]
    fn a_damaged_head(changes in changes()) {
        let head = head_of(new_bundle(Payload::App)).unwrap();
        let damaged = damage(head, &changes);
        // Only comments that no signature covers may differ.
        if let Ok(read) = Head::read(&damaged, &KEYS.ring()) {
            prop_assert_eq!(read.manifest, Head::read(head, &KEYS.ring()).unwrap().manifest);
        }
    }

    #[test]
    fn a_damaged_manifest_and_index(changes in changes()) {
        let parts = bundle::parts(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
        let whole = Manifest::read(parts.manifest).unwrap();
        if let Ok(manifest) = Manifest::read(&damage(parts.manifest, &changes)) {
            prop_assert!(manifest.check().is_ok());
        }
        if let Ok(index) = Index::read(&damage(parts.index, &changes))
            && let Ok(layout) = index.layout(&whole, 1_000)
        {
            let length: usize = layout.chunks.iter().map(|chunk| chunk.length).sum();
            prop_assert_eq!(length as u64, whole.images[0].length);
        }
    }

    #[test]
    fn any_index(bytes in vec(any::<u8>(), 0..300)) {
        let parts = bundle::parts(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
        let whole = Manifest::read(parts.manifest).unwrap();
        if let Ok(index) = Index::read(&bytes) {
            prop_assert!(index.layout(&whole, 1_000).is_err());
        }
    }

    #[test]
    fn any_delta(bytes in vec(any::<u8>(), 0..200), length in 0..300usize) {
        let base = Memory::of(&[7; 100]);
        if let Ok(out) = delta::decode(&bytes, &base, 100, length) {
            prop_assert_eq!(out.len(), length);
        }
    }

    #[test]
    fn any_bytes_in_place_of_chunks(bytes in vec(any::<u8>(), 1..3_000), at in 0..3_000u64) {
        let disk = Kind::Dir.machine();
        let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
        let plan = updater.begin(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
        let steps = disk.steps();
        let written = updater.status().unwrap().progress.unwrap().written;
        let _ = updater.put(&plan.id, plan.needed[0].offset + at, &bytes);
        prop_assert_eq!(updater.status().unwrap().progress.unwrap().written, written);
        prop_assert_eq!(disk.steps(), steps, "nothing reached the slot");
    }

    #[test]
    fn any_channel(text in "\\{[ -~]{0,200}\\}", signature in "[ -~\n]{0,300}") {
        prop_assert!(Channel::read(text.as_bytes(), signature.as_bytes(), &KEYS.ring(), 0, 0).is_err());
    }

    #[test]
    fn a_channel_of_any_text(text in "\\{(\"(type|serial|issued|expires|releases)\":(1|\"hob-channel\"|\\[\\]),?){0,5}\\}") {
        prop_assert!(Channel::parse(text.as_bytes(), 0, 0).is_err());
    }
}
