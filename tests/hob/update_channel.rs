//! The update channel end to end: what is offered, fetched, tried and kept; and what is refused, with the reason and nothing written.

use crate::{
    harness::until,
    http::Reply,
    supervised::{Signer, Start, Supervised, UPDATE, program},
    update_source::{Answer, Broker, CHANNEL, Server},
};
use serde_json::{Value, json};
use update::channel::Channel;

const CHECK: &str = "/api/v1/update/check";

/// The program that runs, with one other line.
fn near(version: &str) -> Vec<u8> {
    let running = String::from_utf8(program("0.1.0")).unwrap();
    running.replacen("# hob 0.1.0", &format!("# hob {version}"), 1).into_bytes()
}

fn check(it: &Supervised) -> Reply {
    it.post(CHECK, json!({}))
}

#[test]
fn a_version_of_the_channel_is_offered_fetched_tried_and_kept() {
    let (signer, server) = (Signer::new(), Server::start());
    let config = format!("{}check_hours = 0\n", server.setting());
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    let before = it.view();
    assert_eq!(
        before["channel"],
        json!({"url": server.url(CHANNEL), "checkedAt": null, "problem": null, "available": null})
    );
    let bundle =
        signer.bundle_with("0.1.1", 2, &near("0.1.1"), &|bundle| bundle.notes = "Quicker lamps.\nQuieter fans.".into());
    // Bundles are often behind a redirect.
    server.publish(&signer, 1, std::slice::from_ref(&bundle));
    server.put("/elsewhere", Answer::Bytes(bundle.clone()));
    server.put("/hob/hob-0.1.1.hobupdate", Answer::Redirect(server.url("/elsewhere")));
    let slots = it.slots();
    let view = check(&it).data(200);
    let offered = json!({"version": "0.1.1", "notes": "Quicker lamps.\nQuieter fans.", "bytes": bundle.len()});
    assert_eq!(view["channel"]["available"], offered, "{view}");
    assert!(view["channel"]["checkedAt"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{view}");
    assert_eq!(it.view()["channel"], view["channel"]);
    assert!(it.slots() == slots && server.sent("/elsewhere") == 0, "a check fetches nothing");
    let said = it.cli(&["update"]).ok();
    for part in [
        "running    0.1.0 in slot a\n",
        "available  0.1.1, ",
        " kB\n",
        "           Quicker lamps.\n           Quieter fans.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }

    // Without an upload it is what the channel offers. Only the chunks that differ travel.
    let switching = it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    assert_eq!(switching, json!({"restarting": true, "version": "0.1.1"}));
    let kept = it.wait_outcome("0.1.1");
    assert_eq!(
        (&kept["lastOutcome"]["what"], &kept["running"]["version"]),
        (&json!("committed"), &json!("0.1.1")),
        "{kept}"
    );
    assert_eq!(kept["floor"], 2);
    let (sent, whole) = (server.sent("/elsewhere"), bundle.len() as u64);
    assert!(sent > 0 && sent < whole / 2, "{sent} of {whole}");
    assert_eq!(std::fs::read(it.root().join("slots/b/hob")).unwrap(), near("0.1.1"));
    let view = check(&it).data(200);
    assert_eq!(view["channel"]["available"], Value::Null, "{view}");
    assert!(it.cli(&["update", "check"]).ok().contains("available  nothing newer"));
    let told = it.post(&format!("{UPDATE}/install"), json!({})).refusal(409, "unavailable");
    assert!(told.contains("anything newer"), "{told}");

    // The command does all of it. Of several releases it is the newest that fits.
    let other = signer.bundle_with("0.9.0", 9, b"x", &|bundle| bundle.boards = vec!["toaster".into()]);
    let later = signer.bundle_with("0.8.0", 8, b"x", &|bundle| bundle.minimum_version = Some("7.0.0".parse().unwrap()));
    server.publish(&signer, 2, &[signer.good("0.2.0", 3), signer.good("0.3.0", 4), other, later]);
    let said = it.cli(&["update", "install"]).ok();
    assert!(said.ends_with("Hob 0.3.0 is installed"), "{said}");
    assert_eq!(it.view()["running"]["version"], "0.3.0");
    assert_eq!(it.stop(), Some(0));
}

#[test]
fn a_channel_is_asked_by_itself_and_what_it_offers_is_told_once() {
    let (signer, server, broker) = (Signer::new(), Server::start(), Broker::start());
    server.publish(
        &signer,
        1,
        &[signer.bundle_with("0.2.0", 2, &program("0.2.0"), &|b| b.notes = "Quicker lamps.".into())],
    );
    let config = format!(
        "{}check_hours = 24\nfirst_check_seconds = 0\n[services.mqtt]\nhost = \"127.0.0.1\"\nport = {}\n",
        server.setting(),
        broker.port
    );
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    // The first check, at once as configured here; then once a day (house/update/channel.rs has the waits, and their test).
    it.wait_view("the check", |view| view["channel"]["available"]["version"] == "0.2.0");
    let told = "Hob 0.2.0 is available. Install it under Device, Updates.";
    let notices = |it: &Supervised| it.call("list_notices", json!({})).to_string().matches(told).count();
    until("the notice", || notices(&it) == 1);
    // Home Assistant's update entity.
    let entity = |field: &str, value: Value| {
        until(&format!("{field} {value} in Home Assistant"), || {
            let last = broker.heard("/update").pop().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            last.is_some_and(|last| last[field] == value)
        });
    };
    entity("latest_version", json!("0.2.0"));
    entity("installed_version", json!("0.1.0"));
    entity("release_summary", json!("Quicker lamps."));
    // Asked again after a start, it is not told again.
    let asked = server.sent(CHANNEL);
    it.cut_power();
    it.start_again();
    it.wait_view("the next check", |view| view["channel"]["available"]["version"] == "0.2.0");
    assert!(server.sent(CHANNEL) > asked);
    assert_eq!(notices(&it), 1);
    // During the trial, and after it.
    it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    it.wait_outcome("0.2.0");
    entity("installed_version", json!("0.2.0"));
    let heard: Vec<Value> = broker.heard("/update").iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    assert!(
        heard.iter().any(|update| update["in_progress"] == true && update["latest_version"] == "0.2.0"),
        "{heard:#?}"
    );
    // One that fails says why there, too.
    server.publish(&signer, 2, &[signer.bundle("0.3.0", 3, &crate::supervised::script("0.3.0", "exit 3"))]);
    check(&it).data(200);
    entity("latest_version", json!("0.3.0"));
    it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    it.wait_outcome("0.3.0");
    until("the reason in Home Assistant", || {
        broker
            .heard("/update")
            .last()
            .is_some_and(|text| text.contains("Version 0.3.0 was taken back: ") && text.contains("exit code 3"))
    });
}

/// Serves something, and says whose fault it is.
type Arrange<'a> = Box<dyn Fn() + 'a>;

#[test]
fn a_channel_that_is_not_to_be_trusted_offers_nothing_and_says_why() {
    let (signer, stranger, server) = (Signer::new(), Signer::new(), Server::start());
    let config = format!("{}check_hours = 0\n", server.setting());
    let it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    let bundle = signer.good("0.2.0", 2);
    let signature = format!("{CHANNEL}.minisig");
    let with = |change: &dyn Fn(&mut Channel)| {
        let mut channel = server.channel(7, std::slice::from_ref(&bundle));
        change(&mut channel);
        server.serve(&channel, &signer);
    };
    let good = || with(&|_| {});
    good();
    assert_eq!(check(&it).data(200)["channel"]["available"]["version"], "0.2.0");
    let (slots, journal) = (it.slots(), it.file_in_root("state.json"));
    let text = || server.channel(8, std::slice::from_ref(&bundle)).sign(&signer.key).unwrap();
    let rows: Vec<(&str, Arrange<'_>, &str)> = vec![
        ("404", Box::new(|| server.remove(CHANNEL)), "answers 404"),
        ("no signature", Box::new(|| server.remove(&signature)), "answers 404"),
        (
            "a page",
            Box::new(|| server.put(CHANNEL, Answer::Bytes(b"<html>not found</html>".to_vec()))),
            "does not match",
        ),
        ("empty", Box::new(|| server.put(CHANNEL, Answer::Bytes(vec![]))), "does not match"),
        (
            "another's key",
            Box::new(|| server.serve(&server.channel(8, std::slice::from_ref(&bundle)), &stranger)),
            "does not trust",
        ),
        (
            "another's signature",
            Box::new(|| server.put(&signature, Answer::Bytes(text().1.into_bytes()))),
            "does not match",
        ),
        ("an empty signature", Box::new(|| server.put(&signature, Answer::Bytes(vec![]))), "is not signed"),
        (
            "expired",
            Box::new(|| with(&|channel| channel.expires = "2024-02-01T00:00:00Z".into())),
            "expired on 2024-02-01",
        ),
        (
            "of the future",
            Box::new(|| with(&|channel| channel.issued = "2990-01-01T00:00:00Z".into())),
            "in the future",
        ),
        ("an old copy", Box::new(|| with(&|channel| channel.serial = 6)), "an old copy of it is being served"),
        ("another document", Box::new(|| with(&|channel| channel.kind = "hob-bundle".into())), "not an update channel"),
        (
            "an odd address",
            Box::new(|| with(&|channel| channel.releases[0].url = "file:///etc/passwd".into())),
            "unusable address",
        ),
        ("too large", Box::new(|| server.put(CHANNEL, Answer::Bytes(vec![b' '; 300 << 10]))), "larger than"),
        ("a circle", Box::new(|| server.put(CHANNEL, Answer::Redirect(server.url(CHANNEL)))), "in a circle"),
        ("cut", Box::new(|| server.put(CHANNEL, Answer::Cut(text().0, 100))), "broke"),
    ];
    for (what, arrange, part) in &rows {
        good();
        arrange();
        let told = check(&it).refusal(422, "failed");
        assert!(told.contains(part), "{what}: {told}");
        let view = it.view();
        let problem = view["channel"]["problem"].as_str().unwrap();
        assert!(problem.contains(part), "{what}: {view}");
        // A server that fails may have offered something before; a channel that is not trusted offers nothing.
        let trouble = ["answers 404", "larger than", "in a circle", "broke"].contains(part);
        assert_eq!(view["channel"]["available"].is_null(), !trouble, "{what}: {view}");
        assert!(it.slots() == slots && it.file_in_root("state.json") == journal, "{what} wrote something");
        good();
        assert_eq!(check(&it).data(200)["channel"]["problem"], Value::Null, "{what}");
    }
    let why = {
        server.remove(CHANNEL);
        it.cli(&["update", "check"]).why(1)
    };
    assert!(why.contains("answers 404"), "{why}");
    let why = it.cli(&["update", "install"]).why(1);
    assert!(why.contains("answers 404"), "{why}");
    assert!(it.cli(&["update"]).ok().contains("channel    could not be read: "));
    assert_eq!(it.view()["state"], "idle");
}

#[test]
fn a_bundle_that_is_not_the_one_of_the_channel_is_not_installed() {
    let (signer, server) = (Signer::new(), Server::start());
    let config = format!("{}check_hours = 0\n", server.setting());
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    let (bundle, path) = (signer.good("0.2.0", 2), "/hob/hob-0.2.0.hobupdate");
    server.publish(&signer, 1, std::slice::from_ref(&bundle));
    check(&it).data(200);
    let head = update::bundle::head_length(&bundle).unwrap();
    let slots = it.slots();
    let other = signer.bundle_with("0.2.0", 2, &program("0.2.0"), &|bundle| bundle.notes = "Other notes.".into());
    let mut damaged = bundle.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let (far, half) = (vec![0; bundle.len()], bundle.len() / 2);
    assert!(half > head, "the head comes whole");
    for (what, answer, part, writes) in [
        ("another bundle", Answer::Bytes(other), "not the one that the update channel names", false),
        ("zeros", Answer::Bytes(far), "not the one that the update channel names", false),
        ("a circle", Answer::Redirect(server.url(path)), "in a circle", false),
        ("a head that is cut", Answer::Cut(bundle.clone(), head / 2), "broke", false),
        ("half a bundle", Answer::Cut(bundle.clone(), half), "broke", true),
        ("a damaged chunk", Answer::Bytes(damaged), "damaged or exchanged", true),
    ] {
        server.put(path, answer);
        it.post(&format!("{UPDATE}/install"), json!({})).data(202);
        let view = it.wait_view(what, |view| view["preparing"] == false && view["problem"].is_string());
        assert!(view["problem"].as_str().unwrap().contains(part), "{what}: {view}");
        assert_eq!((&view["running"]["version"], &view["floor"]), (&json!("0.1.0"), &json!(0)), "{what}: {view}");
        // What was verified may be there already, beside the slot's program; that is untouched.
        assert_eq!(it.slots() == slots, !writes, "{what}");
        let of =
            |slots: &[(std::path::PathBuf, Vec<u8>)]| slots.iter().filter(|(path, _)| path.ends_with("hob")).count();
        assert_eq!(of(&it.slots()), 1, "{what}");
    }
    server.remove(path);
    it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    let view = it.wait_view("404", |view| view["problem"].as_str().is_some_and(|why| why.contains("answers 404")));
    assert_eq!(view["canInstall"], true);

    // While a server keeps Hob waiting, all else goes on; when it gives up, that is said. Then it resumes with what is missing.
    let (bundle, path) = (signer.good("0.3.0", 3), "/hob/hob-0.3.0.hobupdate");
    let head = update::bundle::head_length(&bundle).unwrap();
    server.publish(&signer, 2, std::slice::from_ref(&bundle));
    check(&it).data(200);
    server.put(path, Answer::Stall(bundle.clone(), bundle.len() / 2));
    it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    let arrived = |view: &Value| view["upload"]["version"] == "0.3.0" && view["progress"]["done"].as_u64() > Some(0);
    let view = it.wait_view("the wait", |view| view["preparing"] == true && arrived(view));
    assert!(bundle.len() / 2 > head);
    assert!(view["whyNot"].as_str().unwrap().contains("being prepared"), "{view}");
    for path in [format!("{UPDATE}/install"), format!("{UPDATE}/rollback")] {
        it.post(&path, json!({})).refusal(409, "unavailable");
    }
    it.begin(&bundle).refusal(409, "unavailable");
    it.remember("tarragon");
    server.put(path, Answer::Bytes(bundle.clone()));
    it.wait_view("the end of the wait", |view| view["problem"].as_str().is_some_and(|why| why.contains("broke")));
    let before = server.sent(path);
    it.post(&format!("{UPDATE}/install"), json!({})).data(202);
    assert_eq!(it.wait_outcome("0.3.0")["lastOutcome"]["what"], "committed");
    let rest = server.sent(path) - before;
    assert!(rest < bundle.len() as u64 * 3 / 4, "{rest} of {}", bundle.len());
    assert_eq!(it.remembered(), ["tarragon"]);
}
