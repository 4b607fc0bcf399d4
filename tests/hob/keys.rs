//! Lifetime of keys: restored copies, and many event streams.

use crate::{
    harness::{Folder, Hob, Setup, hob},
    http::read_status,
    visitor::{Visitor, code},
};
use serde_json::json;

const PASSWORD: &str = "correct horse battery";

fn unclaimed(folder: Folder) -> Hob {
    Hob::over(folder, Setup { claimed: false, ..Setup::default() })
}

/// A device in the state of a backup, in a folder of its own.
fn restored(backup: &std::path::Path) -> Hob {
    let folder = Folder::new();
    hob(&folder.path("data"), &["restore", backup.to_str().unwrap()]).ok();
    unclaimed(folder)
}

#[test]
fn a_restored_copy_opens_no_door_that_was_shut() {
    let first = unclaimed(Folder::new());
    let mut anna = Visitor::new(&first);
    anna.claim(&json!({"code": code(&first), "person": "Anna", "password": PASSWORD})).data(200);
    let token = first.token("bell", "member");
    anna.send("POST", "/chat", json!({"message": "remember that the copy is whole"})).data(200);
    let backup = first.folder.path("backup.hob");
    first.cli(&["backup", backup.to_str().unwrap()]).ok();

    let copy = restored(&backup);
    copy.request("GET", "/api/v1/session").bearer(&token).send().refusal(401, "unauthorized");
    let stale = Visitor { port: copy.port, ..anna.clone() };
    stale.get("/session").refusal(401, "unauthorized");
    let mut again = Visitor::new(&copy);
    again.sign_in(&json!({"person": "anna", "password": PASSWORD})).data(200);
    let told = again.send("POST", "/chat", json!({"message": "what is whole?"})).data(200);
    assert!(told["response"].as_str().unwrap().contains("The copy is whole"), "{told}");
    let bytes = std::fs::read(&backup).unwrap();
    assert!(!bytes.windows(token.len()).any(|w| w == token.as_bytes()));
}

#[test]
fn a_restored_copy_that_nobody_could_enter_is_claimed_anew() {
    let first = unclaimed(Folder::new());
    let owner = Visitor::owner(&first);
    owner.send("POST", "/chat", json!({"message": "remember that this was kept"})).data(200);
    let backup = first.folder.path("backup.hob");
    first.cli(&["backup", backup.to_str().unwrap()]).ok();
    // The owner had no password, and sessions stay where they were.
    let copy = restored(&backup);
    owner.get("/session").data(200);
    let told = Visitor::owner(&copy).send("POST", "/chat", json!({"message": "what was kept?"})).data(200);
    assert!(told["response"].as_str().unwrap().contains("This was kept"), "{told}");
}

#[test]
fn one_person_s_streams_keep_nobody_out() {
    let mut hob = Hob::start();
    let vera = hob.token("vera", "viewer");
    let listen = |token: &str| hob.request("GET", "/api/v1/events").bearer(token).open();
    let mut open: Vec<_> = (0..32).map(|_| listen(&vera)).collect();
    assert!(open.iter_mut().all(|line| read_status(line) == 200));
    assert_eq!(read_status(&mut listen(&vera)), 409);
    // Others are not kept from listening, nor from anything else.
    let max = hob.token("max", "viewer");
    assert_eq!(read_status(&mut listen(&max)), 200);
    hob.get("/api/v1/session").data(200);
    drop(open);
    crate::harness::until("a place for another", || read_status(&mut listen(&vera)) == 200);
    hob.assert_alive();
}

#[test]
fn a_stream_ends_with_its_key() {
    let hob = Hob::start();
    let made = hob.post("/api/v1/tokens", json!({"name": "ear", "role": "viewer"})).data(201);
    let mut stream = hob.request("GET", "/api/v1/events").bearer(made["token"].as_str().unwrap()).events();
    hob.call("gpio_write", json!({"pin": 4, "high": true})).data(200);
    assert!(stream.any(|(name, _)| name == "pin:changed"));
    hob.admin("DELETE", &format!("/api/v1/tokens/{}", made["id"].as_str().unwrap())).send().data(200);
    assert!(stream.all(|(name, _)| name != "never"), "the stream has an end");
}
