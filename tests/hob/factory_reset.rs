//! Factory reset: by the command, the API, a button, and a file.

use crate::{
    harness::{Hob, Setup, hob, hob_with, until},
    http::Request,
};
use serde_json::json;
use std::{fs, path::Path};

/// What is left of the household in a data folder.
fn holds(data: &Path, word: &str) -> bool {
    fs::read_dir(data).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => holds(&path, word),
            false => fs::read(&path).is_ok_and(|bytes| bytes.windows(word.len()).any(|w| w == word.as_bytes())),
        }
    })
}

fn remember(hob: &Hob) {
    hob.result("remember", json!({"content": "the word is tarragon", "tags": ["reset"]}));
    hob.admin("POST", "/api/v1/files?name=a.txt").text("tarragon in a file").send().data(201);
}

fn unclaimed() -> Setup {
    Setup { claimed: false, ..Setup::default() }
}

#[test]
fn the_command_asks_for_the_name_and_removes_everything_of_a_stopped_hob() {
    let mut it = Hob::start();
    remember(&it);
    assert_eq!(it.stop(), Some(0));
    fs::create_dir_all(it.data().join("slots/a")).unwrap();
    fs::write(it.data().join("slots/a/hob"), "a version").unwrap();
    for wrong in ["", "\n", "kitchen\n", "yes\n"] {
        let refused = hob_with(&it.data(), &["factory-reset"], &[], wrong);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.err.contains("nothing was removed"), "{refused:?}");
        assert!(holds(&it.data(), "tarragon"));
    }
    let done = hob_with(&it.data(), &["factory-reset"], &[], "Hob\n");
    assert_eq!(done.code, Some(0), "{done:?}");
    for name in ["hob.redb", "device.key", "uploads", "hob.toml"] {
        assert!(done.out.contains(&format!("removed {name}")), "{name}: {done:?}");
    }
    let left: Vec<String> =
        fs::read_dir(it.data()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, ["slots"]);
    assert_eq!(fs::read_to_string(it.data().join("slots/a/hob")).unwrap(), "a version");
    let nothing = hob(&it.data(), &["factory-reset", "--yes"]).why(1);
    assert!(nothing.contains("no data of a Hob"), "{nothing}");
    // It starts as a new one.
    it.setup = unclaimed();
    it.start_again();
    it.request("GET", "/api/v1/session").send().refusal(403, "unclaimed");
}

#[test]
fn a_running_hob_is_reset_by_the_command_and_starts_unclaimed() {
    let mut it = Hob::start();
    remember(&it);
    let (pid, id) = (it.pid(), it.get("/api/v1/device").data(200)["id"].clone());
    let done = it.cli(&["factory-reset", "--yes"]).ok();
    assert!(done.contains("removed hob.redb") && done.contains("not claimed"), "{done}");
    assert!(!holds(&it.data(), "tarragon"));
    assert_eq!(it.pid(), pid);
    assert!(it.log().contains("factory reset"), "{}", it.log());
    // At another port, as it was started with port 0.
    let device = it.cli(&["call", "system_info"]);
    assert_eq!(device.code, Some(0), "{device:?}");
    assert!(!it.data().join("factory-reset").exists());
    it.kill();
    it.start_again();
    assert_ne!(it.get("/api/v1/device").data(200)["id"], id, "it is another device");
    assert_eq!(it.tagged("reset"), [""; 0]);
}

#[test]
fn the_api_wants_the_name_and_an_admin() {
    let mut it = Hob::start();
    remember(&it);
    let reset = "/api/v1/factory-reset";
    for body in
        [json!({}), json!({"name": ""}), json!({"name": "kitchen"}), json!({"name": 7}), json!({"name": "hob", "x": 1})]
    {
        it.post(reset, body).refusal(400, "bad_args");
    }
    let member = it.token("eve", "member");
    it.request("POST", reset).bearer(&member).json(&json!({"name": "hob"})).send().refusal(403, "denied");
    assert_eq!(it.tagged("reset").len(), 1);
    assert_eq!(it.post(reset, json!({"name": "hob"})).data(202), json!({"resetting": true}));
    until("the reset", || !it.data().join("factory-reset").exists() && !holds(&it.data(), "tarragon"));
    until("the new start", || it.cli(&["token", "list"]).code == Some(0));
    it.kill();
}

#[test]
fn a_power_cut_in_the_middle_is_completed_by_the_next_start() {
    let mut it = Hob::start();
    remember(&it);
    it.kill();
    // As it is after some of it is gone.
    fs::write(it.data().join("factory-reset"), "").unwrap();
    fs::remove_file(it.data().join("device.key")).unwrap();
    it.start_again();
    assert_eq!(it.tagged("reset"), [""; 0]);
    assert!(!it.data().join("factory-reset").exists());
    it.kill();
    it.start_again();
    it.assert_alive();
}

#[test]
fn a_file_on_the_boot_partition_resets_once() {
    let mut it = Hob::start();
    remember(&it);
    it.kill();
    let file = it.folder.path("boot-factory-reset");
    fs::write(&file, "").unwrap();
    it.setup.config = format!("[factory_reset]\nfile = {:?}\n", file.display().to_string());
    it.start_again();
    assert!(!file.exists() && !it.data().join("factory-reset").exists());
    assert_eq!(it.tagged("reset"), [""; 0]);
    it.result("remember", json!({"content": "the word is basil", "tags": ["reset"]}));
    it.kill();
    it.start_again();
    assert_eq!(it.tagged("reset").len(), 1, "once");
    // A power cut after the reset was noted, and before the file was gone.
    it.kill();
    fs::write(&file, "").unwrap();
    fs::write(it.data().join("factory-reset"), "").unwrap();
    it.start_again();
    assert_eq!(it.tagged("reset"), [""; 0]);
    assert!(!file.exists());
    it.result("remember", json!({"content": "the word is basil", "tags": ["reset"]}));
    it.kill();
    it.start_again();
    assert_eq!(it.tagged("reset").len(), 1, "once");
}

#[test]
fn a_button_that_is_held_at_the_start_resets_and_a_short_press_does_not() {
    let mut it = Hob::start();
    remember(&it);
    it.kill();
    let scenario = it.folder.path("scenario");
    let path = scenario.display().to_string();
    it.setup.config = format!("[factory_reset]\npin = 21\nhold_seconds = 1\n[sim]\nscenario = {path:?}\n");
    // Released in time, and not pressed at all.
    for (what, steps) in [("short", "low 21\nwait 600\nhigh 21\n"), ("never", "high 21\n")] {
        fs::write(&scenario, steps).unwrap();
        it.start_again();
        assert_eq!(it.tagged("reset").len(), 1, "{what}");
        it.kill();
    }
    fs::write(&scenario, "low 21\nwait 2500\nhigh 21\n").unwrap();
    it.start_again();
    assert_eq!(it.tagged("reset"), [""; 0]);
    assert!(it.log().contains("hold it to remove everything"), "{}", it.log());
    let _ = Request::new(it.port, "GET", "/healthz").send();
    it.kill();
}
