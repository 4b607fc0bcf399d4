//! Bundles that must not be taken: each is refused before a byte reaches a slot, with the reason in plain words.

use crate::{
    harness::{Dice, Ran},
    supervised::{Signer, Start, Supervised, UPDATE, UPLOADS, ranges},
};
use serde_json::json;
use update::{
    builder::Contents,
    bundle::{MAGIC, head_length},
    manifest::Payload,
    testing,
};

fn head(bundle: &[u8]) -> &[u8] {
    &bundle[..head_length(bundle).unwrap()]
}

fn contents(version: &str, serial: u64) -> Contents {
    Contents { version: version.parse().unwrap(), ..testing::contents(Payload::App, serial) }
}

/// Each by upload over HTTP, by the command, and from a folder.
#[test]
fn what_is_no_good_bundle_is_refused_before_a_byte_reaches_a_slot() {
    let (signer, stranger) = (Signer::new(), Signer::new());
    let stick = crate::harness::Folder::new();
    let config = format!("folder = {:?}\n", stick.path(""));
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    it.install(&signer.good("0.5.0", 5));
    it.wait_outcome("0.5.0");
    let (before, journal) = (it.slots(), it.file_in_root("state.json"));
    let good = signer.good("0.6.0", 6);
    let other = signer.bundle_with("0.6.0", 6, b"other", &|bundle| bundle.notes = "Other notes.".into());
    let for_something = |change: &dyn Fn(&mut Contents)| signer.bundle_with("0.6.0", 6, b"x", change);
    // A head that announces more than a head may have: the lengths are the three numbers after the magic.
    let announces = |manifest: u32, signatures: u32, index: u32| {
        let mut bent = good.clone();
        for (at, length) in [manifest, signatures, index].into_iter().enumerate() {
            bent[MAGIC.len() + 4 * at..][..4].copy_from_slice(&length.to_le_bytes());
        }
        bent
    };
    let theirs = stranger.good("0.6.0", 6);
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("wrong key", theirs.clone(), "which this device does not trust"),
        ("no signature", testing::unsigned(head(&good)).unwrap(), "is not signed"),
        ("another's signature", testing::mixed(head(&good), head(&theirs), head(&good)).unwrap(), "does not trust"),
        (
            "a signature of another bundle",
            testing::mixed(head(&good), head(&other), head(&good)).unwrap(),
            "does not match",
        ),
        (
            "mixed parts",
            testing::mixed(head(&good), head(&good), head(&other)).unwrap(),
            "parts of two bundles were mixed",
        ),
        ("truncated", head(&good)[..head(&good).len() / 2].to_vec(), "is cut off"),
        ("truncated after its magic", good[..MAGIC.len()].to_vec(), "is cut off"),
        ("oversized", announces(u32::MAX, u32::MAX, u32::MAX), "announces a head that is too large"),
        ("oversized manifest", announces(1 << 21, 300, 300), "announces a head that is too large"),
        ("replayed old", signer.good("0.4.0", 4), "is older than one that was confirmed here (serial 5)"),
        ("wrong board", for_something(&|bundle| bundle.boards = vec!["toaster".into()]), "for the boards toaster"),
        (
            "wrong machine",
            for_something(&|bundle| bundle.targets = vec!["riscv64-linux".into()]),
            "is for riscv64-linux",
        ),
        (
            "too new for this version",
            for_something(&|b| b.minimum_version = Some("7.0.0".parse().unwrap())),
            "install 7.0.0 first",
        ),
        (
            "another data schema",
            for_something(&|b| (b.data_schema, b.data_schema_min) = (9, 9)),
            "cannot read the data",
        ),
        ("a whole system", system(&signer), "this device takes the program `hob` alone"),
        ("an image of a gigabyte that is not there", giant(&signer), "chunk index of this bundle is wrong"),
        ("a newer format", [&b"HOBUPD9\n"[..], &good[8..]].concat(), "newer format"),
        ("nothing", vec![], "not an update bundle"),
        ("a page", b"<html>not found</html>".repeat(4), "not an update bundle"),
    ];
    for (what, bundle, part) in &rows {
        let reply = it.begin(bundle);
        assert!([400, 422].contains(&reply.status), "{what}: {}", reply.text());
        let told = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.contains(part), "{what}: {told}");
        let file = it.file("x.hobupdate", bundle);
        let ran: Ran = it.cli(&["update", "install", &file]);
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        // The command sees for itself that a file is too short.
        let short = bundle.len() < 20 || *part == "is cut off";
        assert!(ran.err.contains(part) || short && ran.err.contains("not a bundle, or only a part"), "{what}: {ran:?}");
        std::fs::write(stick.path("x.hobupdate"), bundle).unwrap();
        let found = it.post(&format!("{UPDATE}/check"), json!({})).data(200)["found"].clone();
        let problem = found[0]["problem"].as_str().unwrap_or_else(|| panic!("{what}: {found}"));
        assert!(problem.contains(part), "{what}: {problem}");
        assert!(it.slots() == before && it.file_in_root("state.json") == journal, "{what} wrote something");
        let view = it.view();
        assert_eq!((&view["state"], &view["floor"]), (&json!("committed"), &json!(5)), "{what}: {view}");
    }
    // A bit anywhere in the head: magic, lengths, manifest, signature, index. The first line of a signature is a comment that
    // nobody signs.
    let comment = good.windows(17).position(|text| text == b"untrusted comment").unwrap();
    let end = comment + good[comment..].iter().position(|byte| *byte == b'\n').unwrap();
    let mut dice = Dice::fresh();
    let places = (0..60).map(|_| dice.below(head(&good).len() as u64) as usize);
    for at in places.filter(|at| !(comment..=end).contains(at) && good[*at] != b'\n') {
        let mut bent = good.clone();
        bent[at] ^= 1;
        let reply = it.begin(&bent);
        assert!((400..500).contains(&reply.status), "bit {at}: {}", reply.text());
        assert!(it.slots() == before, "bit {at} changed a slot");
    }
}

/// A bundle of a whole system.
fn system(signer: &Signer) -> Vec<u8> {
    signer.bundle_with("0.6.0", 6, b"x", &|bundle| {
        bundle.payload = Payload::System;
        bundle.images = vec![bundle.images[0].clone(), bundle.images[0].clone()];
    })
}

/// A bundle whose manifest declares an image of nearly a gigabyte, while its index has one chunk of it.
fn giant(signer: &Signer) -> Vec<u8> {
    let key = update::keys::SigningKey::read(&signer.secret, None).unwrap();
    testing::forged(contents("0.6.0", 6), &[7; 100], 999_999_999, key).unwrap()
}

#[test]
fn chunks_that_are_not_those_of_the_bundle_get_no_further() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let before = it.slots();
    let program = |slots: &[(std::path::PathBuf, Vec<u8>)]| -> Vec<_> {
        slots
            .iter()
            .filter(|(path, bytes)| path.extension().is_none_or(|e| e != "new") || bytes.iter().any(|b| *b != 0))
            .cloned()
            .collect()
    };
    // A zip bomb, correctly signed: 30 MB out of a few KB, while it declares 5,000 bytes.
    let key = update::keys::SigningKey::read(&signer.secret, None).unwrap();
    let bomb = testing::bomb(contents("0.6.0", 6), key).unwrap();
    let upload = it.begin(&bomb).data(201);
    let id = upload["id"].as_str().unwrap().to_owned();
    let (offset, length) = ranges(&upload)[0];
    let told = it.put(&id, offset, &bomb[offset as usize..(offset + length) as usize]).refusal(422, "failed");
    assert!(told.contains("decompresses to more than it declares"), "{told}");
    assert!(program(&it.slots()) == before, "nothing of it was written");
    let file = it.file("bomb.hobupdate", &bomb);
    let why = it.cli(&["update", "install", &file]).why(1);
    assert!(why.contains("decompresses to more than it declares"), "{why}");
    it.post(&format!("{UPDATE}/install"), json!({"uploadId": id})).refusal(409, "unavailable");

    // Swapped and damaged chunks.
    let good = signer.good("0.6.0", 6);
    let upload = it.begin(&good).data(201);
    let id = upload["id"].as_str().unwrap().to_owned();
    let (offset, length) = ranges(&upload)[0];
    let mut swapped = good[offset as usize..(offset + length) as usize].to_vec();
    swapped.rotate_left(9_000);
    let told = it.put(&id, offset, &swapped).refusal(422, "failed");
    assert!(told.contains("damaged or exchanged"), "{told}");
    assert!(program(&it.slots()) == before, "nothing of it was written");
    for (what, offset, bytes) in
        [("before the range", 0, 10), ("far away", 1 << 50, 10), ("too long", offset, (1 << 20) + 1)]
    {
        let reply = it.put(&id, offset, &vec![0; bytes]);
        assert!((400..500).contains(&reply.status), "{what}: {}", reply.text());
    }
    for offset in ["", "x", "-1", "18446744073709551616"] {
        let reply = it.admin("PUT", &format!("{UPLOADS}/{id}?offset={offset}")).body(vec![1]).send();
        reply.refusal(400, "bad_args");
    }
    it.put("no-such-upload", offset, b"x").refusal(404, "not_found");
    it.admin("GET", &format!("{UPLOADS}/%00")).send().refusal(404, "not_found");
    let large = it.admin("POST", UPLOADS).body(vec![0; (8 << 20) + 1]).send();
    assert_eq!(large.status, 413);
    // A file that ends in the middle.
    let cut = it.file("cut.hobupdate", &good[..good.len() - 20_000]);
    let why = it.cli(&["update", "install", &cut]).why(1);
    assert!(why.contains("only a part"), "{why}");
    // All the same it can be completed.
    it.install(&good);
    assert_eq!(it.wait_outcome("0.6.0")["lastOutcome"]["what"], "committed");
}
