//! Bundles in a folder, as on a USB stick: found, verified, offered like those of the channel, and installed by a person.

use crate::{
    harness::until,
    supervised::{Signer, Start, Supervised, UPDATE, program},
    update_source::Server,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

fn look(it: &Supervised) -> Value {
    it.post(&format!("{UPDATE}/check"), json!({})).data(200)
}

#[test]
fn a_bundle_on_a_stick_is_found_verified_offered_and_installed() {
    let (signer, stranger) = (Signer::new(), Signer::new());
    let media = crate::harness::Folder::new();
    let config = format!("folder = {:?}\n", media.path("media"));
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    it.remember("tarragon");
    assert_eq!(it.view()["found"], json!([]), "there is no stick");
    assert_eq!(look(&it)["found"], json!([]));
    // A stick is plugged in, with bundles that are good, bad and none.
    let stick = media.path("media/usb");
    fs::create_dir_all(stick.join("deeper")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(stick.join(name), bytes).unwrap();
    let good = signer.bundle_with("0.2.0", 2, &program("0.2.0"), &|bundle| bundle.notes = "Quicker lamps.".into());
    write("cut.hobupdate", &good[..good.len() - 1000]);
    write("good.HOBUPDATE", &good);
    write("stranger.hobupdate", &stranger.good("0.3.0", 3));
    write("text.hobupdate", b"this is no bundle at all, but a text");
    write("empty.hobupdate", b"");
    write("._good.hobupdate", b"what a Mac leaves");
    write("photo.jpg", &good);
    write("deeper/good.hobupdate", &good);
    symlink("/etc/passwd", stick.join("link.hobupdate")).unwrap();
    let slots = it.slots();
    let view = look(&it);
    let found = view["found"].as_array().unwrap();
    let name = |found: &Value| found["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let names: Vec<String> = found.iter().map(name).collect();
    assert_eq!(names, ["cut.hobupdate", "empty.hobupdate", "good.HOBUPDATE", "stranger.hobupdate", "text.hobupdate"]);
    for (at, part) in [(0, "cut off"), (1, "not an update bundle"), (3, "does not trust"), (4, "not an update bundle")]
    {
        let one = &found[at];
        assert!(one["problem"].as_str().unwrap().contains(part), "{one}");
        assert_eq!((&one["id"], &one["version"], &one["newer"]), (&Value::Null, &Value::Null, &json!(false)), "{one}");
    }
    let offered = &found[2];
    assert_eq!((&offered["version"], &offered["notes"]), (&json!("0.2.0"), &json!("Quicker lamps.")), "{offered}");
    assert_eq!((&offered["newer"], &offered["problem"]), (&json!(true), &Value::Null), "{offered}");
    assert_eq!(offered["bytes"], good.len());
    assert!(it.slots() == slots && it.view()["state"] == "idle", "looking writes nothing");
    let said = it.cli(&["update"]).ok();
    assert!(
        said.contains("available  0.2.0, ") && said.contains("good.HOBUPDATE\n           Quicker lamps.\n"),
        "{said}"
    );
    assert!(said.contains("stranger.hobupdate: "), "{said}");
    // It is told once, without being asked.
    let notices = || it.call("list_notices", json!({})).to_string().matches("Hob 0.2.0 is in ").count();
    until("the notice", || notices() == 1);

    let install = format!("{UPDATE}/install");
    it.post(&install, json!({"foundId": "nothing"})).refusal(404, "not_found");
    it.post(&install, json!({"foundId": offered["id"], "uploadId": "x"})).refusal(400, "bad_args");
    // What was exchanged since it was looked at is not installed.
    write("good.HOBUPDATE", &signer.good("0.4.0", 4));
    it.post(&install, json!({"foundId": offered["id"]})).data(202);
    let view = it.wait_view("the refusal", |view| view["problem"].is_string() && view["preparing"] == false);
    assert!(view["problem"].as_str().unwrap().contains("exchanged"), "{view}");
    assert!(it.slots() == slots);
    write("good.HOBUPDATE", &good);
    let id = look(&it)["found"][2]["id"].clone();
    it.post(&install, json!({"foundId": id})).data(202);
    let kept = it.wait_outcome("0.2.0");
    assert_eq!((&kept["lastOutcome"]["what"], &kept["floor"]), (&json!("committed"), &json!(2)), "{kept}");
    // It runs now, so the same bundle is nothing new.
    let view = look(&it);
    assert!(view["found"][2]["problem"].as_str().unwrap().contains("running already"), "{view}");
    assert_eq!(it.remembered(), ["tarragon"]);
    assert_eq!(notices_of(&it, "0.2.0"), 1);
    // The command takes what is offered, and the stick may be gone.
    write("good.HOBUPDATE", &signer.good("0.5.0", 5));
    assert!(it.cli(&["update", "install"]).ok().ends_with("Hob 0.5.0 is installed"));
    fs::remove_dir_all(media.path("media")).unwrap();
    assert_eq!(look(&it)["found"], json!([]));
    let told = it.post(&install, json!({})).refusal(409, "unavailable");
    assert!(told.contains("anything newer"), "{told}");
}

fn notices_of(it: &Supervised, version: &str) -> usize {
    it.call("list_notices", json!({})).to_string().matches(&format!("Hob {version} is in ")).count()
}

#[test]
fn a_stick_helps_where_the_channel_cannot_be_read() {
    let (signer, server) = (Signer::new(), Server::start());
    let media = crate::harness::Folder::new();
    let config = format!("{}check_hours = 0\nfolder = {:?}\n", server.setting(), media.path(""));
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    fs::write(media.path("hob.hobupdate"), signer.good("0.2.0", 2)).unwrap();
    let view = look(&it);
    assert!(view["channel"]["problem"].as_str().unwrap().contains("404"), "{view}");
    assert_eq!(view["found"][0]["version"], "0.2.0");
    assert!(it.cli(&["update", "install"]).ok().ends_with("Hob 0.2.0 is installed"));
    assert_eq!(it.wait_outcome("0.2.0")["lastOutcome"]["what"], "committed");
}
