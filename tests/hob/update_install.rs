//! Updates under `hob supervise`: from one version to the next, and back.

use crate::{
    harness::{Hob, binary},
    supervised::{Signer, Start, Supervised, UPDATE, UPLOADS, program, ranges, script},
};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
};

#[test]
fn a_new_version_is_uploaded_tried_and_kept() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    it.remember("tarragon");
    let before = it.view();
    assert_eq!(
        (&before["state"], &before["kind"], &before["canInstall"]),
        (&json!("idle"), &json!("dir"), &json!(true))
    );
    assert_eq!(before["running"], json!({"slot": "a", "version": "0.1.0", "system": false}));
    assert_eq!((&before["floor"], &before["other"]), (&json!(0), &json!(null)));
    let bundle = signer.bundle_with("0.2.0", 2, &program("0.2.0"), &|bundle| bundle.notes = "Quicker lamps.".into());

    let upload = it.begin(&bundle).data(201);
    assert_eq!((&upload["version"], &upload["notes"]), (&json!("0.2.0"), &json!("Quicker lamps.")));
    assert_eq!(upload["totalBytes"], bundle.len());
    let needed: u64 = ranges(&upload).iter().map(|(_, length)| length).sum();
    assert_eq!(upload["neededBytes"], needed);
    let id = upload["id"].as_str().unwrap();
    // Nothing is installed that is not whole.
    let told = it.post(&format!("{UPDATE}/install"), json!({"uploadId": id})).refusal(409, "unavailable");
    assert!(told.contains("missing"), "{told}");
    assert_eq!(it.view()["state"], "writing");

    it.install(&bundle);
    it.wait_starts(2);
    let trying = it.wait_view("the trial", |view| view["running"]["version"] == "0.2.0");
    assert!(["trying", "committed"].contains(&trying["state"].as_str().unwrap()), "{trying}");
    let kept = it.wait_outcome("0.2.0");
    assert_eq!((&kept["state"], &kept["lastOutcome"]["what"]), (&json!("committed"), &json!("committed")), "{kept}");
    assert_eq!(kept["running"], json!({"slot": "b", "version": "0.2.0", "system": false}));
    assert_eq!(kept["floor"], 2, "the floor rises with the commit");
    assert_eq!((&kept["other"]["version"], &kept["canRollBack"]), (&json!("0.1.0"), &json!(true)));
    assert_eq!(it.remembered(), ["tarragon"]);

    // It stays when everything starts again, and one can go back by hand, once.
    assert_eq!(it.stop(), Some(0));
    it.start_again();
    assert_eq!(it.view()["running"]["version"], "0.2.0");
    let starts = it.starts();
    let back = it.post(&format!("{UPDATE}/rollback"), json!({})).data(202);
    assert_eq!(back, json!({"restarting": true, "version": "0.1.0"}));
    it.wait_starts(starts + 1);
    let view = it.wait_view("the way back", |view| view["running"]["version"] == "0.1.0");
    assert_eq!(view["lastOutcome"]["what"], "rolled_back", "{view}");
    assert_eq!(it.remembered(), ["tarragon"]);
    assert_eq!(it.stop(), Some(0));
}

#[test]
fn only_what_is_missing_travels_and_an_upload_resumes() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    // The program that runs, with one other line.
    let running = String::from_utf8(program("0.1.0")).unwrap();
    let near = signer.bundle("0.1.1", 2, running.replacen("# hob 0.1.0", "# hob 0.1.1", 1).as_bytes());
    let upload = it.begin(&near).data(201);
    let (needed, total) = (upload["neededBytes"].as_u64().unwrap(), upload["totalBytes"].as_u64().unwrap());
    assert!(needed > 0 && needed < total / 2, "{needed} of {total}");

    // Another one takes its place, and is interrupted by a power cut.
    let other = signer.good("0.3.0", 3);
    let upload = it.begin(&other).data(201);
    let id = upload["id"].as_str().unwrap().to_owned();
    let (offset, length) = ranges(&upload)[0];
    let half = length / 2;
    it.put(&id, offset, &other[offset as usize..(offset + half) as usize]).data(200);
    it.cut_power();
    it.start_again();
    let open = it.view();
    assert_eq!((&open["state"], &open["upload"]["id"]), (&json!("writing"), &json!(id)), "{open}");
    let again = it.begin(&other).data(201);
    let (before, now) = (upload["neededBytes"].as_u64().unwrap(), again["neededBytes"].as_u64().unwrap());
    assert!(now < before && now >= before - half, "{now} of {before} after {half}");
    assert_eq!(it.admin("GET", &format!("{UPLOADS}/{id}")).send().data(200)["needed"], again["needed"]);
    it.install(&other);
    assert_eq!(it.wait_outcome("0.3.0")["lastOutcome"]["what"], "committed");
    // What runs already is not installed again.
    let why = it.begin(&other).refusal(422, "failed");
    assert!(why.contains("running already"), "{why}");
}

#[test]
fn a_package_is_not_held_against_what_worked_at_an_earlier_update() {
    let folder = crate::harness::Folder::new();
    let slot = folder.path("root/slots/a");
    fs::create_dir_all(&slot).unwrap();
    fs::write(slot.join("hob"), program("0.0.9")).unwrap();
    fs::set_permissions(slot.join("hob"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(slot.join("manifest.json"), json!({"version": "0.0.9", "serial": 0}).to_string()).unwrap();
    // At an update months ago there were Home Assistant and a broker.
    let data = folder.path("data");
    fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    let notes = json!({"baseline": {"network": false, "homeAssistant": true, "mqtt": true, "pins": []}});
    fs::write(data.join("update.json"), notes.to_string()).unwrap();
    let mut it = Supervised::over(folder, &Start::default());
    let version = env!("CARGO_PKG_VERSION");
    let kept = it.wait_outcome(version);
    assert_eq!((&kept["state"], &kept["lastOutcome"]["what"]), (&json!("committed"), &json!("committed")), "{kept}");
    assert_eq!(kept["running"], json!({"slot": "b", "version": version, "system": false}));
    assert_eq!(it.stop(), Some(0));
}

#[test]
fn the_command_installs_a_file_and_follows_it() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let good = it.file("good.hobupdate", &signer.good("0.2.0", 2));
    let said = it.cli(&["update", "install", &good]).ok();
    assert!(said.contains("version 0.2.0") && said.ends_with("Hob 0.2.0 is installed"), "{said}");
    let status = it.cli(&["update", "status"]).ok();
    assert!(status.contains("running    0.2.0 in slot b") && status.contains("0.2.0 was installed"), "{status}");
    let said = it.cli(&["update", "rollback"]).ok();
    assert!(said.contains("0.1.0"), "{said}");
    it.wait_view("the way back", |view| view["running"]["version"] == "0.1.0");
    let bad = it.file("bad.hobupdate", &signer.bundle("0.3.0", 3, &script("0.3.0", "exit 3")));
    let why = it.cli(&["update", "install", &bad]);
    assert_eq!(why.code, Some(1), "{why:?}");
    assert!(why.err.contains("0.3.0 was taken back"), "{why:?}");
    let junk = it.file("junk.hobupdate", b"this is no bundle at all, but a text");
    it.cli(&["update", "install", &junk]).why(1);
    it.cli(&["update", "install", "/nowhere/at-all"]).why(1);
    // The version that never proved itself is none to go back to.
    assert!(it.cli(&["update", "rollback"]).why(1).contains("never confirmed"));
    let why = it.cli(&["update", "check"]).why(1);
    assert!(why.contains("update.channel"), "{why}");
    it.cli(&["update", "confirm"]).why(1);
}

#[test]
fn the_first_start_fills_the_root_from_the_program_itself() {
    let folder = crate::harness::Folder::new();
    let mut it = Supervised::over(folder, &Start::default());
    let slot = it.root().join("slots/a/hob");
    assert_eq!(fs::metadata(&slot).unwrap().len(), fs::metadata(binary()).unwrap().len());
    let view = it.view();
    assert_eq!(view["running"], json!({"slot": "a", "version": env!("CARGO_PKG_VERSION"), "system": false}));
    assert_eq!(it.stop(), Some(0));
}

#[test]
fn without_a_supervisor_hob_says_how_to_get_updates() {
    let mut hob = Hob::start();
    let view = hob.get(UPDATE).data(200);
    assert_eq!((&view["kind"], &view["canInstall"]), (&json!("none"), &json!(false)));
    assert!(view["whyNot"].as_str().unwrap().contains("hob supervise"), "{view}");
    let told = hob.admin("POST", UPLOADS).body(b"x".to_vec()).send().refusal(409, "unavailable");
    assert!(told.contains("hob supervise"), "{told}");
    for path in ["install", "confirm", "rollback"] {
        hob.post(&format!("{UPDATE}/{path}"), json!({})).refusal(409, "unavailable");
    }
    hob.assert_alive();
}
