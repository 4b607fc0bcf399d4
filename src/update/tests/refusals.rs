//! Bundles and channels that are refused, before a byte reaches a slot, with a reason that says what to do.

use super::world::{IMAGES, KEYS, Kind, new_bundle, updater};
use crate::{
    Error,
    builder::{self, Contents},
    bundle::{self, PREFIX},
    channel::{Channel, ChannelRelease},
    digest::Digest,
    index::{Chunk, Index, Stored},
    manifest::{Image, IndexSeal, Manifest, Payload, target},
    slots::SlotName,
    testing::{self, contents, head_of, noise},
};

/// Begins with a head on a machine with floor 1, and returns the refusal; nothing may have been written.
fn refusal(head: &[u8]) -> String {
    let disk = Kind::Dir.machine();
    let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
    let before = disk.steps();
    let error = updater.begin(head).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert_eq!(disk.steps(), before, "{:?}", disk.written());
    assert_eq!(updater.status().unwrap().state, "idle");
    error.to_string()
}

fn built(change: impl FnOnce(&mut Contents)) -> Vec<u8> {
    let mut about = contents(Payload::App, 2);
    change(&mut about);
    testing::bundle(about, &[&IMAGES.hob[1]], &[], &[KEYS.signing()]).unwrap()
}

/// A bundle that `hob bundle build` would not make, correctly signed: index and stored bytes are given.
fn forged(index: &Index, stored: &[u8], length: u64, change: impl FnOnce(&mut Manifest)) -> Vec<u8> {
    let bytes = index.to_bytes().unwrap();
    let about = contents(Payload::App, 2);
    let mut manifest = Manifest {
        kind: Manifest::TYPE.into(),
        version: about.version,
        serial: 2,
        payload: Payload::App,
        targets: about.targets,
        boards: vec![],
        data_schema: about.data_schema,
        data_schema_min: 0,
        minimum_version: None,
        notes: String::new(),
        next_key: None,
        images: vec![Image { name: "hob".into(), length, sha256: Digest([7; 32]) }],
        index: IndexSeal { length: bytes.len() as u64, sha256: Digest::sha256(&bytes) },
        bundle_length: 0,
    };
    change(&mut manifest);
    let mut all = builder::head(&mut manifest, &bytes, stored.len() as u64, &[KEYS.signing()]).unwrap();
    all.extend(stored);
    all
}

#[test]
fn signatures_that_do_not_count() {
    let bundle = new_bundle(Payload::App);
    let head = head_of(bundle).unwrap();
    // A key nobody trusts.
    let (stranger, _) = testing::key().unwrap();
    let theirs = testing::app_bundle(2, &IMAGES.hob[1], stranger).unwrap();
    assert!(refusal(head_of(&theirs).unwrap()).contains("does not trust"));
    // No signature.
    let parts = bundle::parts(head).unwrap();
    let none = bundle::assemble(&bundle::Parts { signatures: b"", ..bundle::parts(head).unwrap() });
    assert!(refusal(&none).contains("is not signed"), "{}", refusal(&none));
    // A signature of something else, half a signature, too many.
    let other = built(|about| about.notes = "other".into());
    let foreign = bundle::parts(head_of(&other).unwrap()).unwrap().signatures;
    let mixed = bundle::assemble(&bundle::Parts { signatures: foreign, ..bundle::parts(head).unwrap() });
    assert!(refusal(&mixed).contains("does not match its content"));
    let half = &parts.signatures[..parts.signatures.len() / 2];
    let cut = bundle::assemble(&bundle::Parts { signatures: half, ..bundle::parts(head).unwrap() });
    assert!(refusal(&cut).contains("damaged"), "{}", refusal(&cut));
    let many = parts.signatures.repeat(5);
    let many = bundle::assemble(&bundle::Parts { signatures: &many, ..bundle::parts(head).unwrap() });
    assert!(refusal(&many).contains("more signatures"));
    // One changed letter of the manifest.
    let mut changed = head.to_vec();
    let at = PREFIX + parts.manifest.len() / 2;
    changed[at] ^= 1;
    assert!(refusal(&changed).contains("does not match its content"));
    // A signature by a stranger beside one that counts is no harm: that is how keys change.
    let (stranger, _) = testing::key().unwrap();
    let both = testing::bundle(contents(Payload::App, 2), &[&IMAGES.hob[1]], &[], &[stranger, KEYS.signing()]).unwrap();
    let disk = Kind::Dir.machine();
    updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap().begin(head_of(&both).unwrap()).unwrap();
}

#[test]
fn heads_that_are_cut_or_too_large() {
    let head = head_of(new_bundle(Payload::App)).unwrap();
    for length in [0, 3, 8, 19, PREFIX, 300, head.len() - 1] {
        let why = refusal(&head[..length]);
        assert!(why.contains("cut off") || why.contains("not an update bundle"), "{length}: {why}");
    }
    let mut longer = head.to_vec();
    longer.push(0);
    assert!(refusal(&longer).contains("bytes follow"));
    let mut huge = head.to_vec();
    huge[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refusal(&huge).contains("too large"));
    assert!(refusal(&noise(1, 5_000)).contains("not an update bundle"));
    let mut newer = head.to_vec();
    newer[6] = b'2';
    assert!(refusal(&newer).contains("newer format"));
}

#[test]
fn bundles_for_something_else() {
    type Change = fn(&mut Contents);
    let cases: [(Change, &str); 5] = [
        (|about| about.targets = vec!["riscv64-linux".into()], "get the bundle for"),
        (|about| about.boards = vec!["rpi".into()], "this one is test"),
        (|about| about.minimum_version = Some("1.0.2".parse().unwrap()), "install 1.0.2 first"),
        (|about| (about.data_schema, about.data_schema_min) = (9, 9), "cannot read the data"),
        (|about| about.data_schema = 0, "cannot read the data"),
    ];
    for (change, expected) in cases {
        let why = refusal(head_of(&built(change)).unwrap());
        assert!(why.contains(expected), "{why}");
    }
    let why = refusal(head_of(new_bundle(Payload::System)).unwrap());
    assert!(why.contains("this bundle has a whole system, and this device takes the program"), "{why}");
}

#[test]
fn old_bundles_stay_out_once_a_newer_one_was_committed() {
    let disk = Kind::Dir.machine();
    disk.put("/root/state.json", br#"{"phase":"idle","floor":3}"#);
    let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
    let error = updater.begin(head_of(new_bundle(Payload::App)).unwrap()).unwrap_err();
    assert!(error.to_string().contains("older than one that was confirmed here (serial 3)"), "{error}");
    assert!(disk.content("/root/slots/b/hob.new").is_none());
}

#[test]
fn parts_of_two_bundles_do_not_mix() {
    let (one, two) = (built(|_| {}), built(|about| about.notes = "other".into()));
    let index = noise(1, 400);
    let parts = bundle::parts(head_of(&one).unwrap()).unwrap();
    let mixed = bundle::assemble(&bundle::Parts { index: &index, ..parts });
    assert!(refusal(&mixed).contains("parts of two bundles were mixed"));
    let manifest = bundle::parts(head_of(&two).unwrap()).unwrap().manifest;
    let mixed = bundle::assemble(&bundle::Parts { manifest, ..bundle::parts(head_of(&one).unwrap()).unwrap() });
    assert!(refusal(&mixed).contains("does not match its content"));
}

#[test]
fn a_signed_document_of_another_kind_is_no_manifest() {
    let chunk = Chunk { hash: [0; 32], length: 10, stored: Some(Stored { length: 20, hash: [0; 16] }) };
    let index = Index { chunks: vec![chunk], bases: vec![] };
    let kind = |manifest: &mut Manifest| manifest.kind = "hob-channel".into();
    let bytes = index.to_bytes().unwrap();
    let made = std::panic::catch_unwind(|| forged(&index, &[0; 20], 10, kind));
    assert!(made.is_err(), "the builder refuses it as well");
    let text = br#"{"type":"hob-channel","channel":"stable"}"#;
    let signature = KEYS.signing().sign(text, "x").unwrap();
    let head = bundle::assemble(&bundle::Parts { manifest: text, signatures: signature.as_bytes(), index: &bytes });
    assert!(refusal(&head).contains("cannot be read"));
}

#[test]
fn an_index_that_does_not_add_up() {
    let stored = Stored { length: 20, hash: [0; 16] };
    let chunk = |length, stored| Chunk { hash: [length as u8; 32], length, stored };
    let of = |chunks| Index { chunks, bases: vec![] };
    for (index, length, stored) in [
        (of(vec![]), 10, 0),
        (of(vec![chunk(9, Some(stored))]), 10, 20),
        (of(vec![chunk(11, Some(stored))]), 10, 20),
        (of(vec![chunk(10, Some(stored)), chunk(1, Some(stored))]), 10, 40),
        (of(vec![chunk(10, None)]), 10, 0),
        (of(vec![chunk(0, Some(stored))]), 10, 20),
        (of(vec![chunk(1 << 20, Some(stored))]), 1 << 20, 20),
        (of(vec![chunk(10, Some(Stored { length: 1 << 30, ..stored }))]), 10, 1 << 30),
        (of(vec![chunk(10, Some(Stored { length: 0, ..stored }))]), 10, 0),
        (of(vec![chunk(10, Some(stored))]), 10, 19),
    ] {
        let bundle = forged(&index, &vec![0; stored as usize % 1_000], length, |_| {});
        let (manifest, head) = (bundle.len(), bundle::head_length(&bundle).unwrap());
        assert!(manifest >= head);
        let why = refusal(&bundle[..head]);
        // The builder states the length of what it was given.
        assert!(why.contains("chunk index of this bundle is wrong"), "{index:?}: {why}");
    }
}

#[test]
fn chunks_that_are_bombs_or_not_what_they_declare() {
    let bomb = zstd::bulk::compress(&vec![0; 30 << 20], 1).unwrap();
    let short = zstd::bulk::compress(b"short", 1).unwrap();
    let junk = noise(1, 50);
    for stored in [bomb, short, junk] {
        let chunk = Chunk { hash: [1; 32], length: 5_000, stored: Some(Stored::of(&stored)) };
        let index = Index { chunks: vec![chunk], bases: vec![] };
        let bundle = forged(&index, &stored, 5_000, |_| {});
        let disk = Kind::Dir.machine();
        let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
        let plan = updater.begin(head_of(&bundle).unwrap()).unwrap();
        let steps = disk.steps();
        let error = updater.put(&plan.id, plan.needed[0].offset, &stored).unwrap_err();
        assert!(matches!(&error, Error::Refused(why) if why.contains("declare")), "{error}");
        assert_eq!(disk.steps(), steps);
        assert!(matches!(updater.stage(&plan.id), Err(Error::Busy(_))));
    }
}

#[test]
fn swapped_chunks_are_refused_as_they_arrive() {
    let bundle = built(|_| {});
    let disk = Kind::Dir.machine();
    let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
    let plan = updater.begin(head_of(&bundle).unwrap()).unwrap();
    let steps = disk.steps();
    let range = plan.needed[0];
    // The bytes of this bundle, begun a little later: chunks at each other's places.
    let mut swapped = bundle[range.offset as usize..][..range.length as usize].to_vec();
    swapped.rotate_left(9_000);
    let error = updater.put(&plan.id, range.offset, &swapped).unwrap_err();
    assert!(error.to_string().contains("damaged or exchanged"), "{error}");
    assert_eq!(disk.steps(), steps, "nothing was written");
}

fn channel(serial: u64) -> Channel {
    let release = ChannelRelease {
        version: "1.0.2".parse().unwrap(),
        serial: 2,
        payload: Payload::App,
        targets: vec![target()],
        boards: vec![],
        minimum_version: None,
        notes: String::new(),
        url: "b".into(),
        bytes: 1,
        head_length: 100,
        head_sha256: Digest([0; 32]),
    };
    Channel {
        kind: Channel::TYPE.into(),
        channel: "stable".into(),
        serial,
        issued: "2026-01-01T00:00:00Z".into(),
        expires: "2026-03-01T00:00:00Z".into(),
        releases: vec![release],
    }
}

#[test]
fn channels_that_expired_or_are_old() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
    let (february, ring) = (at("2026-02-01T00:00:00Z"), KEYS.ring());
    let (bytes, signature) = channel(5).sign(&KEYS.signing()).unwrap();
    let read = |bytes: &[u8], signature: &str, now, seen| {
        Channel::read(bytes, signature.as_bytes(), &ring, now, seen)
            .map(|(channel, _)| channel)
            .map_err(|e| e.to_string())
    };
    assert_eq!(read(&bytes, &signature, february, 5).unwrap(), channel(5));
    for (now, seen, expected) in [
        (at("2026-03-01T00:00:00Z"), 0, "expired on 2026-03-01"),
        (at("2025-12-01T00:00:00Z"), 0, "set its clock"),
        (february, 6, "an old copy of it is being served"),
    ] {
        let why = read(&bytes, &signature, now, seen).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
    let mut changed = bytes.clone();
    changed[40] ^= 1;
    assert!(read(&changed, &signature, february, 0).unwrap_err().contains("does not match"));
    assert!(read(&bytes, "", february, 0).unwrap_err().contains("is not signed"));
    let (stranger, _) = testing::key().unwrap();
    let (theirs, signed) = channel(5).sign(&stranger).unwrap();
    assert!(read(&theirs, &signed, february, 0).unwrap_err().contains("does not trust"));
    assert!(read(&vec![b' '; 1 << 20], &signature, february, 0).unwrap_err().contains("too large"));
    // A manifest is no channel.
    let manifest = bundle::parts(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
    let signature = String::from_utf8(manifest.signatures.to_vec()).unwrap();
    assert!(read(manifest.manifest, &signature, february, 0).unwrap_err().contains("cannot be read"));
}

#[test]
fn the_newest_release_that_fits_is_offered() {
    let mut channel = channel(1);
    let of = |serial, change: &dyn Fn(&mut ChannelRelease)| {
        let mut release = channel.releases[0].clone();
        release.serial = serial;
        change(&mut release);
        release
    };
    let releases = vec![
        of(3, &|_| {}),
        of(5, &|_| {}),
        of(9, &|release| release.payload = Payload::System),
        of(8, &|release| release.targets = vec!["riscv64-linux".into()]),
        of(7, &|release| release.boards = vec!["rpi".into()]),
        of(6, &|release| release.minimum_version = Some("2.0.0".parse().unwrap())),
    ];
    channel.releases = releases;
    let newest = |version: &str, serial| {
        let (device, version) = (super::world::device(1), version.parse().unwrap());
        channel.newest(&device, Payload::App, serial, &version).map(|release| release.serial)
    };
    assert_eq!((newest("1.0.1", 1), newest("1.0.1", 4), newest("1.0.1", 5)), (Some(5), Some(5), None));
    // Without a serial, what runs already or something older is no news.
    assert_eq!((newest("1.0.1", 0), newest("1.0.2", 0), newest("1.1.0", 0)), (Some(5), None, None));
}
