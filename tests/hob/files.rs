//! Uploaded files: private, typed by content, and shown to models that support them.

use crate::{
    harness::{Folder, Hob, Setup, hob},
    model::with_model,
    model_server::says,
    visitor::Visitor,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

fn send(hob: &Hob, name: &str, kind: &str, bytes: &[u8]) -> Value {
    let request = hob.admin("POST", "/api/v1/files").header("content-type", kind).header("x-file-name", name);
    request.body(bytes.to_vec()).send().data(201)
}

#[test]
fn a_file_comes_back_as_it_was_and_runs_nothing() {
    let hob = Hob::start();
    let picture = send(&hob, "K%C3%BCche.png", "text/html", PNG);
    assert_eq!((&picture["name"], &picture["mediaType"]), (&json!("Küche.png"), &json!("image/png")));
    let path = format!("/api/v1/files/{}", picture["id"].as_str().unwrap());
    let shown = hob.get(&path);
    assert_eq!((shown.status, shown.header("content-type"), &shown.body[..]), (200, Some("image/png"), PNG));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));

    let page = send(&hob, "page.html", "text/html", b"<script>alert(1)</script>");
    let shown = hob.get(&format!("/api/v1/files/{}", page["id"].as_str().unwrap()));
    assert!(shown.header("content-type").unwrap().starts_with("text/plain"), "read, and not run");

    hob.admin("DELETE", &path).send().data(200);
    hob.get(&path).refusal(404, "not_found");
    hob.admin("DELETE", &path).send().refusal(404, "not_found");
}

#[test]
fn what_cannot_be_kept_is_refused_and_nobody_sees_what_is_anothers() {
    let hob = Hob::start();
    hob.admin("POST", "/api/v1/files").body(vec![]).send().refusal(400, "bad_args");
    hob.admin("POST", "/api/v1/files").body(vec![7; (20 << 20) + 1]).send().refusal(413, "too_large");
    hob.get("/api/v1/files/nonsense").refusal(400, "bad_args");
    let mine = send(&hob, "mine.txt", "text/plain", b"a secret plan");
    let path = format!("/api/v1/files/{}", mine["id"].as_str().unwrap());
    let person = json!({"name": "Ben", "role": "member", "password": "correct horse battery"});
    hob.post("/api/v1/people", person).data(201);
    let mut ben = Visitor::new(&hob);
    ben.sign_in(&json!({"person": "ben", "password": "correct horse battery"})).data(200);
    ben.get(path.strip_prefix("/api/v1").unwrap()).refusal(404, "not_found");
    ben.send("DELETE", path.strip_prefix("/api/v1").unwrap(), json!({})).refusal(404, "not_found");
    assert_eq!(hob.get(&path).text(), "a secret plan");
}

#[test]
fn a_model_that_sees_is_shown_the_picture_and_reads_the_text() {
    let (hob, server) = with_model("");
    server.script(vec![says("A cat."), says("Yes.")]);
    let (picture, text) = (send(&hob, "cat.png", "", PNG), send(&hob, "list.txt", "text/plain", b"buy milk"));
    let message = json!([
        {"type": "text", "text": "what is this?"},
        {"type": "image", "file": picture["id"]},
        {"type": "file", "file": text["id"]},
    ]);
    let answer = hob.post("/api/v1/chat", json!({"message": message})).data(200);
    assert_eq!(answer["response"], "A cat.");
    let said = &server.asked()[0].messages("user")[0]["content"];
    assert_eq!(said[0], json!({"type": "text", "text": "what is this?"}), "{said}");
    assert!(said[1]["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"), "{said}");
    assert!(said[2]["text"].as_str().unwrap().contains("buy milk"), "{said}");

    // It is there in the conversation, and for the next message.
    let kept = hob.get(&format!("/api/v1/conversations/{}", answer["conversationId"].as_str().unwrap())).data(200);
    assert!(kept["messages"][0].to_string().contains(picture["id"].as_str().unwrap()), "{kept}");
    let next = json!({"message": "sure?", "conversationId": answer["conversationId"]});
    assert_eq!(hob.post("/api/v1/chat", next).data(200)["response"], "Yes.");
    assert!(server.asked()[0].body.to_string().contains("data:image/png;base64,"));

    for (wrong, part) in [
        (json!([{"type": "image", "file": "0192-nothing"}]), ""),
        (json!([{"type": "image", "file": tool_id()}]), "no file"),
        (json!([{"type": "hologram", "file": picture["id"]}]), "hologram"),
        (json!([{"type": "image"}]), ""),
        (json!([]), ""),
    ] {
        let reply = hob.post("/api/v1/chat", json!({"message": wrong}));
        assert!([400, 404].contains(&reply.status) && reply.text().contains(part), "{wrong}: {}", reply.text());
    }
}

/// The files in a folder.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn files_are_in_a_backup_and_one_that_breaks_off_restores_nothing() {
    let mut first = Hob::start();
    let backup = |hob: &Hob, name: &str| {
        let file = hob.folder.path(name);
        hob.cli(&["backup", file.to_str().unwrap()]).ok();
        file
    };
    let none = backup(&first, "none.hob");
    let long: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mark = b"these very words stand in the backup";
    let sent: Vec<(String, Vec<u8>)> = [PNG, &long, mark]
        .into_iter()
        .map(|bytes| {
            let path = format!("/api/v1/files/{}", send(&first, "a", "", bytes)["id"].as_str().unwrap());
            (path, bytes.to_vec())
        })
        .collect();
    let all_there = |hob: &Hob| {
        for (path, bytes) in &sent {
            let shown = hob.get(path);
            assert!(shown.status == 200 && shown.body == *bytes, "{path}: {}", shown.status);
        }
    };
    let file = backup(&first, "files.hob");

    // Into a fresh house, and from there into another.
    let fresh = Folder::new();
    hob(&fresh.path("data"), &["restore", file.to_str().unwrap()]).ok();
    let second = Hob::over(fresh, Setup::default());
    all_there(&second);
    let again = Folder::new();
    hob(&again.path("data"), &["restore", backup(&second, "again.hob").to_str().unwrap()]).ok();
    all_there(&Hob::over(again, Setup::default()));

    // What broke off or was bent restores nothing.
    let whole = fs::read(&file).unwrap();
    let mut bent = whole.clone();
    let at = whole.windows(mark.len()).position(|w| w == mark).unwrap();
    bent[at] ^= 1;
    for broken in [&whole[..whole.len() - 200_000], &whole[..whole.len() / 2], &bent] {
        let (folder, path) = (Folder::new(), first.folder.path("broken.hob"));
        fs::write(&path, broken).unwrap();
        let why = hob(&folder.path("data"), &["restore", path.to_str().unwrap()]).why(1);
        assert!(why.contains("nothing was changed"), "{why}");
        assert_eq!(count(&folder.path("data")), 0);
    }

    // One without files, over data that has some: they stay beside it.
    assert_eq!(first.stop(), Some(0));
    let told = first.cli(&["restore", none.to_str().unwrap()]).ok();
    assert!(told.contains("uploads.before-restore"), "{told}");
    // What a power cut left of a copy that was being made.
    let left =
        [format!("backup-{}.tmp", tool_id()), format!("backup-{}.tmp.part", tool_id()), "backup-mine.tmp".into()];
    for left in &left {
        fs::write(first.data().join(left), "half").unwrap();
    }
    first.start_again();
    first.get(&sent[0].0).refusal(404, "not_found");
    let at = |name: &str| first.data().join(name);
    assert_eq!((count(&at("uploads")), count(&at("uploads.before-restore"))), (0, 3));
    assert_eq!([0, 1, 2].map(|n| at(&left[n]).exists()), [false, false, true], "only what Hob left goes");

    // And back again, with the files over those that are there.
    send(&first, "b", "", b"of the time between");
    assert_eq!(first.stop(), Some(0));
    first.cli(&["restore", file.to_str().unwrap()]).ok();
    first.start_again();
    all_there(&first);
    let at = |name: &str| first.data().join(name);
    assert_eq!((count(&at("uploads")), count(&at("uploads.before-restore.1"))), (3, 1));
}

/// The id of a file nobody has.
fn tool_id() -> &'static str {
    "0199b6a0-0000-7000-8000-000000000000"
}
