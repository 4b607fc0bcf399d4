//! Restoring a backup into a running daemon.

use crate::{
    harness::{Dice, Folder, Hob, until},
    http::{PATIENCE, Reply},
};
use serde_json::json;
use std::{fs, path::Path, time::Duration};

const RESTORE: &str = "/api/v1/restore";

fn backup_of(hob: &Hob) -> Vec<u8> {
    let reply = hob.admin("POST", "/api/v1/backup").json(&json!({})).send();
    assert_eq!(reply.status, 200);
    reply.body
}

fn send(hob: &Hob, backup: &[u8]) -> Reply {
    hob.admin("POST", RESTORE).header("Content-Type", "application/octet-stream").body(backup.to_vec()).send()
}

fn started_at_now(hob: &Hob) -> Option<u64> {
    let reply = hob.admin("GET", "/api/v1/device").try_send().ok()?;
    (reply.status == 200).then(|| reply.data(200)["startedAt"].as_u64().unwrap())
}

/// Waits until another start of the daemon answers.
fn started_again(hob: &Hob, before: u64) {
    until("another start", || {
        std::thread::sleep(Duration::from_millis(20));
        started_at_now(hob).is_some_and(|at| at != before)
    });
}

fn started_at(hob: &Hob) -> u64 {
    hob.get("/api/v1/device").data(200)["startedAt"].as_u64().unwrap()
}

/// What lies in the data folder of what was sent.
fn left_behind(data: &Path) -> Vec<String> {
    let names = fs::read_dir(data).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("restore") || name.ends_with(".part")).collect()
}

fn remembers(hob: &Hob, word: &str) -> bool {
    hob.tagged("restore").iter().any(|content| content.contains(word))
}

fn remember(hob: &Hob, word: &str) {
    hob.result("remember", json!({"content": format!("the word is {word}"), "tags": ["restore"]}));
}

#[test]
fn a_backup_takes_the_place_of_the_data_and_the_daemon_goes_on() {
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    let file = hob.admin("POST", "/api/v1/files?name=a.txt").text("these are some words").send().data(201);
    let path = format!("/api/v1/files/{}", file["id"].as_str().unwrap());
    let backup = backup_of(&hob);
    remember(&hob, "saffron");
    hob.admin("DELETE", &path).send().data(200);
    let (before, pid, port) = (started_at(&hob), hob.pid(), hob.port);
    let told = send(&hob, &backup).data(202);
    assert_eq!((&told["restarting"], &told["size"]), (&json!(true), &json!(backup.len())));
    started_again(&hob, before);
    assert!(remembers(&hob, "tarragon") && !remembers(&hob, "saffron"));
    assert_eq!(hob.get(&path).text(), "these are some words");
    assert_eq!((hob.pid(), hob.port), (pid, port), "the same process at the same door");
    hob.assert_alive();
    assert!(hob.data().join("hob.redb.before-restore").exists());
    assert!(left_behind(&hob.data()).is_empty(), "{:?}", left_behind(&hob.data()));
    // What was there before can be had back, and the command line finds the same data.
    assert_eq!(hob.stop(), Some(0));
    fs::rename(hob.data().join("hob.redb.before-restore"), hob.data().join("hob.redb")).unwrap();
    hob.start_again();
    assert!(remembers(&hob, "saffron"));
    // Twice, with the secrets of this device.
    let before = started_at(&hob);
    send(&hob, &backup).data(202);
    started_again(&hob, before);
    let before = started_at(&hob);
    send(&hob, &backup).data(202);
    started_again(&hob, before);
    assert!(remembers(&hob, "tarragon") && !remembers(&hob, "saffron"));
    assert_eq!(hob.stop(), Some(0));
}

#[test]
fn a_restore_that_fails_at_the_restart_is_told() {
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    let backup = backup_of(&hob);
    assert_eq!(hob.stop(), Some(0));
    // What was accepted cannot be put in place, as on a disk that is full by then.
    fs::write(hob.data().join("restore.pending"), &backup[..backup.len() / 2]).unwrap();
    let told = |hob: &Hob| {
        let checks = hob.get("/api/v1/doctor").data(200)["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "restore")
    };
    hob.start_again();
    assert!(remembers(&hob, "tarragon") && !hob.data().join("restore.pending").exists());
    for _ in 0..2 {
        let check = told(&hob).unwrap();
        let text = check["text"].as_str().unwrap();
        assert!(text.contains("was not restored: ") && text.contains("is deleted"), "{check}");
        assert!(check["todo"].as_str().unwrap().contains("upload the backup again"), "{check}");
        until("the notice", || {
            hob.result("list_notices", json!({})).to_string().contains("All data is as it was before")
        });
        assert_eq!(hob.stop(), Some(0));
        hob.start_again();
    }
    let notices = hob.result("list_notices", json!({}))["notices"].as_array().unwrap().clone();
    assert_eq!(
        notices.iter().filter(|one| one.to_string().contains("as it was before")).count(),
        1,
        "once: {notices:?}"
    );
    let before = started_at(&hob);
    send(&hob, &backup).data(202);
    started_again(&hob, before);
    assert_eq!(told(&hob), None);
}

#[test]
fn nothing_is_acknowledged_once_a_restore_is_accepted() {
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    let backup = backup_of(&hob);
    let before = started_at(&hob);
    send(&hob, &backup).data(202);
    let mut refused = 0;
    for n in 0.. {
        let body = json!({"arguments": {"content": format!("the word is saffron{n}"), "tags": ["restore"]}});
        let Ok(reply) = hob.admin("POST", "/api/v1/tools/remember/execute").json(&body).try_send() else { break };
        if started_at_now(&hob).is_none_or(|at| at != before) {
            break;
        }
        let told = reply.refusal(409, "closing");
        assert!(told.contains("restoring a backup"), "{told}");
        refused += 1;
    }
    assert!(refused > 0, "it was over at once");
    started_again(&hob, before);
    assert!(remembers(&hob, "tarragon"));
    remember(&hob, "basil");
    assert_eq!(hob.stop(), Some(0));
}

#[test]
fn what_is_no_backup_changes_nothing() {
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    let long = vec![b'x'; 300_000];
    hob.admin("POST", "/api/v1/files?name=a.txt").body(long).header("Content-Type", "text/plain").send().data(201);
    let backup = backup_of(&hob);
    let before = started_at(&hob);
    let mut bent = backup.clone();
    // In the middle of the file that was sent: its checksum is off.
    let at = backup.windows(64).position(|w| w.iter().all(|b| *b == b'x')).unwrap();
    bent[at] ^= 1;
    let foreign = {
        let folder = Folder::new();
        let db = redb::Database::create(folder.path("db")).unwrap();
        drop(db);
        fs::read(folder.path("db")).unwrap()
    };
    let rows: [(&str, &[u8], u16); 7] = [
        ("empty", b"", 400),
        ("junk", b"junk", 422),
        ("a page", b"<html></html>", 422),
        ("half", &backup[..backup.len() / 2], 422),
        ("all but the end", &backup[..backup.len() - 100], 422),
        ("bent", &bent, 422),
        ("foreign", &foreign, 422),
    ];
    for (what, body, status) in rows {
        let reply = send(&hob, body);
        assert_eq!(reply.status, status, "{what}: {}", reply.text());
        assert!(left_behind(&hob.data()).is_empty(), "{what}: {:?}", left_behind(&hob.data()));
    }
    let mut dice = Dice::fresh();
    for _ in 0..20 {
        let mut odd = backup.clone();
        for _ in 0..1 + dice.below(20) {
            let at = dice.below(odd.len() as u64) as usize;
            odd[at] ^= 1 + dice.below(255) as u8;
        }
        let reply = send(&hob, &odd);
        assert!([202, 422].contains(&reply.status), "{}", reply.text());
        if reply.status == 202 {
            // It hit nothing that counts.
            started_again(&hob, before);
            assert!(remembers(&hob, "tarragon"));
            hob.assert_alive();
            return;
        }
    }
    // Who hangs up in the middle.
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
    let head = format!(
        "POST {RESTORE} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        crate::harness::TOKEN,
        backup.len()
    );
    std::io::Write::write_all(&mut socket, head.as_bytes()).unwrap();
    std::io::Write::write_all(&mut socket, &backup[..backup.len() / 2]).unwrap();
    until("a half upload", || !left_behind(&hob.data()).is_empty());
    // Only one at a time.
    send(&hob, &backup).refusal(409, "unavailable");
    drop(socket);
    until("the half to be gone", || left_behind(&hob.data()).is_empty());
    assert_eq!(started_at(&hob), before);
    assert!(remembers(&hob, "tarragon"));
    hob.assert_alive();
}

#[test]
fn who_is_told_to_stop_meanwhile_stops_and_the_next_start_restores() {
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    let backup = backup_of(&hob);
    for wait in [0, 150, 310] {
        remember(&hob, "saffron");
        send(&hob, &backup).data(202);
        std::thread::sleep(Duration::from_millis(wait));
        // On a slow machine the last one may come before the new start hears signals, and end it at once.
        let told = std::time::Instant::now();
        let code = hob.stop();
        assert!(code == Some(0) || wait == 310 && told.elapsed() < PATIENCE / 2, "after {wait} ms: {code:?}");
        hob.start_again();
        assert!(remembers(&hob, "tarragon") && !remembers(&hob, "saffron"), "after {wait} ms");
    }
}

#[test]
fn only_an_admin_restores() {
    let hob = Hob::start();
    let backup = backup_of(&hob);
    for (arguments, code) in [
        (vec!["eve", "--role", "member"], "denied"),
        (vec!["owner", "--scope", "device"], "out_of_scope"),
        (vec!["owner", "--scope", "chat"], "out_of_scope"),
    ] {
        let token = hob.cli(&[&["token", "new"], &arguments[..]].concat()).ok();
        let reply = hob.request("POST", RESTORE).bearer(&token).body(backup.clone()).send();
        reply.refusal(403, code);
    }
    hob.request("POST", RESTORE).body(backup).send().refusal(401, "unauthorized");
    assert!(left_behind(&hob.data()).is_empty());
}

#[test]
fn whenever_the_power_goes_the_old_or_the_new_data_is_whole() {
    let mut dice = Dice::fresh();
    eprintln!("dice {}", dice.0);
    let mut hob = Hob::start();
    remember(&hob, "tarragon");
    (0..40).for_each(|n| remember(&hob, &format!("filling{n}")));
    let text = "x".repeat(200_000);
    let file = hob.admin("POST", "/api/v1/files?name=a.txt").text(&text).send().data(201);
    let path = format!("/api/v1/files/{}", file["id"].as_str().unwrap());
    let backup = backup_of(&hob);
    let (mut old, mut new) = (0, 0);
    for round in 0..12 {
        remember(&hob, "saffron");
        // From the first byte to the new start.
        let wait = Duration::from_millis(if round < 6 { dice.below(60) } else { dice.below(700) });
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let request = hob.admin("POST", RESTORE).body(backup.clone());
                request.try_send().map(|reply| reply.status)
            });
            std::thread::sleep(wait);
            let pid = rustix::process::Pid::from_raw(hob.pid() as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            let _ = sending.join().unwrap();
        });
        hob.kill();
        hob.start_again();
        assert!(remembers(&hob, "tarragon"), "round {round}: {}", hob.log());
        assert_eq!(hob.get(&path).text(), text, "round {round}");
        let all = hob.tagged("restore").len();
        if remembers(&hob, "saffron") {
            old += 1;
            assert!(all >= 42, "{all}");
        } else {
            new += 1;
            assert_eq!(all, 41);
        }
        assert!(left_behind(&hob.data()).is_empty(), "{:?}", left_behind(&hob.data()));
    }
    eprintln!("old {old}, new {new} of 12");
}
