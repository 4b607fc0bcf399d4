//! Updates that must not stay: each falls back to the version before, and says why. Only an admin updates.

use crate::{
    harness::{TOKEN, until},
    http::Request,
    supervised::{Signer, Start, Supervised, UPDATE, UPLOADS, script},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

/// Installs a program, and returns the view once it was taken back.
fn taken_back(it: &mut Supervised, bundle: &[u8], version: &str) -> Value {
    let starts = it.starts();
    it.install(bundle);
    let view = it.wait_outcome(version);
    it.wait_starts(starts + 1);
    assert_eq!(view["running"]["version"], "0.1.0", "{view}");
    assert_eq!((&view["state"], &view["lastOutcome"]["what"]), (&json!("failed"), &json!("failed")), "{view}");
    assert_eq!((&view["floor"], &view["canInstall"]), (&json!(0), &json!(true)), "{view}");
    view
}

fn why(view: &Value) -> String {
    view["lastOutcome"]["why"].as_str().unwrap().to_owned()
}

#[test]
fn a_version_that_ends_hangs_or_cannot_run_is_taken_back() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], try_seconds: 3, ..Start::default() });
    it.remember("tarragon");
    let rows: [(&str, Vec<u8>, &[&str]); 4] = [
        ("0.2.1", script("0.2.1", "exit 3"), &["3"]),
        ("0.2.2", script("0.2.2", "kill -9 $$"), &["signal 9", "SIGKILL"]),
        ("0.2.3", script("0.2.3", "exec sleep 1000"), &["3 s", "time", "window"]),
        ("0.2.4", b"\x7fELF but not really a program".to_vec(), &["start", "run", "exec"]),
    ];
    for (serial, (version, program, parts)) in rows.into_iter().enumerate() {
        let view = taken_back(&mut it, &signer.bundle(version, 10 + serial as u64, &program), version);
        let why = why(&view);
        assert!(parts.iter().any(|part| why.contains(part)), "{version}: {why}");
        assert_eq!(it.remembered(), ["tarragon"], "{version}");
        let notice = format!("{version} was taken back");
        until("a notice", || it.call("list_notices", json!({})).to_string().contains(&notice));
    }
    // Nothing stands in the way of a good one.
    it.install(&signer.good("0.3.0", 20));
    assert_eq!(it.wait_outcome("0.3.0")["lastOutcome"]["what"], "committed");
}

#[test]
fn a_version_that_fails_its_checks_is_taken_back_with_the_reason() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], window: 2, ..Start::default() });
    it.call("name_pin", json!({"pin": 17, "name": "hall lamp"}));
    assert_eq!(it.call("gpio_read", json!({"pin": 17}))["pin"], 17);
    // The same Hob, but without pins: what worked before does not work.
    let hob = crate::harness::binary();
    let arguments = format!("exec {} \"$@\" --board none", hob.display());
    let blind = script(
        "0.2.0",
        &arguments.replace("\"$@\" --board none", "$(echo \"$@\" | sed 's/--board sim/--board none/')"),
    );
    let view = taken_back(&mut it, &signer.bundle("0.2.0", 2, &blind), "0.2.0");
    assert!(why(&view).contains("17"), "{view}");
    // A page that does not answer: the program listens nowhere that its window looks at.
    let dead = "exec HOB $(echo \"$@\" | sed 's#--config [^ ]*#--config /nowhere.toml#')";
    let dead = script("0.2.1", &dead.replace("HOB", &hob.display().to_string()));
    let view = taken_back(&mut it, &signer.bundle("0.2.1", 3, &dead), "0.2.1");
    assert!(why(&view).contains("/nowhere.toml"), "it says what it said at its end: {view}");
}

#[test]
fn a_version_that_cannot_read_the_data_is_taken_back_and_says_so() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    it.remember("tarragon");
    let hob = crate::harness::binary();
    let elsewhere = it.folder.path("broken");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("device.key"), "key").unwrap();
    fs::set_permissions(elsewhere.join("device.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let does = format!("exec {} $(echo \"$@\" | sed 's#--data [^ ]*#--data {}#')", hob.display(), elsewhere.display());
    let view = taken_back(&mut it, &signer.bundle("0.2.0", 2, &script("0.2.0", &does)), "0.2.0");
    let why = why(&view);
    assert!(why.contains("could not start") && why.contains("device key"), "{why}");
    assert_eq!(it.remembered(), ["tarragon"]);
}

#[test]
fn while_one_is_tried_no_other_begins_and_a_person_can_decide() {
    let signer = Signer::new();
    let mut it =
        Supervised::start(&Start { keys: &[&signer.public], window: 600, try_seconds: 900, ..Start::default() });
    it.install(&signer.good("0.2.0", 2));
    it.wait_view("the trial", |view| view["running"]["version"] == "0.2.0" && view["state"] == "trying");
    let next = signer.good("0.3.0", 3);
    let told = it.begin(&next).refusal(409, "unavailable");
    assert!(told.contains("tried") || told.contains("trial"), "{told}");
    it.post(&format!("{UPDATE}/install"), json!({})).refusal(409, "unavailable");
    it.post("/api/v1/factory-reset", json!({"name": "hob"})).refusal(409, "unavailable");
    assert_eq!(it.view()["floor"], 0);
    // No, back.
    it.post(&format!("{UPDATE}/rollback"), json!({})).data(202);
    let view = it.wait_view("the way back", |view| view["running"]["version"] == "0.1.0");
    assert_eq!((&view["lastOutcome"]["what"], &view["floor"]), (&json!("failed"), &json!(0)), "{view}");
    assert!(why(&view).contains("person went back"), "{view}");
    // Once more, and yes.
    it.install(&signer.good("0.2.0", 2));
    it.wait_view("the trial", |view| view["running"]["version"] == "0.2.0" && view["state"] == "trying");
    let kept = it.post(&format!("{UPDATE}/confirm"), json!({})).data(200);
    assert_eq!((&kept["state"], &kept["floor"]), (&json!("committed"), &json!(2)), "{kept}");
    it.post(&format!("{UPDATE}/confirm"), json!({})).refusal(409, "unavailable");
    // A stop during a trial is its end, too.
    it.install(&signer.good("0.4.0", 4));
    it.wait_view("the trial", |view| view["running"]["version"] == "0.4.0" && view["state"] == "trying");
    assert_eq!(it.stop(), Some(0));
    it.start_again();
    let view = it.view();
    assert_eq!(
        (&view["running"]["version"], &view["lastOutcome"]["version"]),
        (&json!("0.2.0"), &json!("0.4.0")),
        "{view}"
    );
    assert_eq!(view["lastOutcome"]["what"], "failed", "{view}");
}

#[test]
fn only_an_admin_updates_and_never_a_model() {
    let signer = Signer::new();
    let it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let bundle = signer.good("0.2.0", 2);
    let head = update::bundle::head_length(&bundle).unwrap();
    let token = |arguments: &[&str]| it.cli(&[&["token", "new"], arguments].concat()).ok();
    let tokens = [
        ("a member", token(&["eve", "--role", "member"]), "denied"),
        ("a viewer", token(&["tab", "--role", "viewer"]), "denied"),
        ("a token for tools", token(&["owner", "--scope", "tools", "--scope", "chat"]), "out_of_scope"),
        ("a token for the device", token(&["owner", "--scope", "device"]), "out_of_scope"),
        ("nobody", String::new(), "unauthorized"),
    ];
    let before = it.slots();
    for (who, token, code) in &tokens {
        let status = if *code == "unauthorized" { 401 } else { 403 };
        let send = |method: &str, path: &str, body: Vec<u8>| {
            Request::new(it.port(), method, path)
                .bearer(token)
                .header("Content-Type", "application/json")
                .body(body)
                .send()
        };
        send("POST", UPLOADS, bundle[..head].to_vec()).refusal(status, code);
        for path in ["install", "confirm", "rollback", "check"] {
            send("POST", &format!("{UPDATE}/{path}"), b"{}".to_vec()).refusal(status, code);
        }
        send("PUT", &format!("{UPLOADS}/x?offset=0"), vec![1]).refusal(status, code);
        send("DELETE", &format!("{UPLOADS}/x"), vec![]).refusal(status, code);
        send("POST", "/api/v1/factory-reset", br#"{"name": "hob"}"#.to_vec()).refusal(status, code);
        assert!(it.slots() == before, "{who}");
    }
    // No tool reaches it: a model has only tools.
    let tools = Request::new(it.port(), "GET", "/api/v1/tools").bearer(TOKEN).send().data(200);
    for tool in tools["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(!["update_hob", "install_update", "factory_reset"].contains(&name), "{name}");
        let about = tool["description"].as_str().unwrap().to_lowercase();
        assert!(!about.contains("firmware") && !about.contains("factory reset"), "{name}: {about}");
    }
}
