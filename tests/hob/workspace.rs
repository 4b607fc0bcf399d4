//! The workspace through the real binary: contents, ranges, versions, trash, marks, places and undo.

use crate::{
    harness::{Folder, Hob, Setup, TOKEN},
    http::{Reply, Request},
    visitor::Visitor,
};
use serde_json::{Value, json};
use std::{fs, io::Write, os::unix::fs::symlink, path::PathBuf, time::Duration};
use tool::UserId;

const AT: &str = "/api/v1/workspace";

fn put(hob: &Hob, query: &str, content: impl Into<Vec<u8>>) -> Request {
    hob.admin("PUT", &format!("{AT}/file?{query}")).body(content.into())
}

fn written(hob: &Hob, path: &str, content: &str) -> Value {
    put(hob, &format!("path={path}&own=true"), content).send().data(200)
}

fn get(hob: &Hob, query: &str) -> Reply {
    hob.get(&format!("{AT}/{query}"))
}

fn text(hob: &Hob, path: &str) -> Value {
    get(hob, &format!("text?path={path}")).data(200)
}

fn post(hob: &Hob, what: &str, body: Value) -> Reply {
    hob.post(&format!("{AT}/{what}"), body)
}

/// The owner's folder on the disk.
fn own(hob: &Hob) -> PathBuf {
    hob.data().join("workspace/people").join(UserId::OWNER.to_string())
}

/// Undoes the caller's latest change.
fn undo(hob: &Hob) {
    let changes = hob.get("/api/v1/changes?limit=20").data(200);
    let latest =
        changes["changes"].as_array().unwrap().iter().find(|change| change["undoes"].is_null()).unwrap().clone();
    hob.post(&format!("/api/v1/changes/{}/undo", latest["id"].as_str().unwrap()), json!({})).data(200);
}

#[test]
fn a_file_comes_back_whole_and_in_ranges() {
    let hob = Hob::start();
    let content: Vec<u8> = (0..300_000u32).flat_map(|n| n.to_le_bytes()).collect();
    let new = put(&hob, "path=deep/in/data.bin", content.clone()).chunked().send().data(200);
    assert_eq!(
        (&new["created"], &new["size"], &new["outside"]),
        (&json!(true), &json!(1_200_000), &json!(true)),
        "{new}"
    );
    let whole = get(&hob, "file?path=deep/in/data.bin");
    assert_eq!((whole.status, whole.body == content), (200, true));
    assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    let tag = whole.header("etag").unwrap().to_owned();
    let ranged =
        |range: &str| hob.admin("GET", &format!("{AT}/file?path=deep/in/data.bin")).header("Range", range).send();
    let part = ranged("bytes=1000-1999");
    assert_eq!((part.status, &part.body[..]), (206, &content[1000..2000]));
    assert_eq!(part.header("content-range"), Some("bytes 1000-1999/1200000"));
    assert_eq!(ranged("bytes=-5").body, content[1_199_995..]);
    assert_eq!(ranged("bytes=2000000-").status, 416);
    assert_eq!(ranged("bytes=0-1,5-6").status, 200);
    let same = hob.admin("GET", &format!("{AT}/file?path=deep/in/data.bin")).header("If-None-Match", &tag).send();
    assert_eq!((same.status, same.body.len()), (304, 0));
    let list = get(&hob, "list?path=deep").data(200);
    assert_eq!(
        (&list["total"], &list["entries"][0]["name"], &list["entries"][0]["kind"]),
        (&json!(1), &json!("in"), &json!("folder"))
    );
    let empty = put(&hob, "path=empty", vec![]).send().data(200);
    assert_eq!(empty["size"], 0);
    assert_eq!(get(&hob, "file?path=empty").status, 200);
}

#[test]
fn nothing_that_a_browser_would_run_is_served_as_such() {
    let hob = Hob::start();
    for (name, content, kind, how) in [
        ("page.html", &b"<script>alert(1)</script>"[..], "text/plain", "inline"),
        ("image.svg", b"<svg onload=alert(1)/>", "application/octet-stream", "attachment"),
        ("fake.png", b"<html><script>", "text/plain", "inline"),
        ("real.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", "inline"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf", "inline"),
        ("run.wasm", b"\0asm\x01\0\0\0", "application/", "attachment"),
    ] {
        put(&hob, &format!("path={name}"), content).send().data(200);
        let shown = get(&hob, &format!("file?path={name}"));
        assert!(shown.header("content-type").unwrap().starts_with(kind), "{name}: {:?}", shown.headers);
        assert!(shown.header("content-disposition").unwrap().starts_with(how), "{name}: {:?}", shown.headers);
        assert!(shown.header("content-security-policy").unwrap().contains("default-src 'none'"));
        let saved = get(&hob, &format!("file?path={name}&download=1"));
        assert!(saved.header("content-disposition").unwrap().starts_with("attachment"));
    }
}

#[test]
fn a_write_over_anothers_is_refused() {
    let hob = Hob::start();
    let first = written(&hob, "a.txt", "one");
    let tag = |version: &Value| format!("\"{}\"", version.as_str().unwrap());
    put(&hob, "path=a.txt", "two").header("If-None-Match", "*").send().refusal(412, "changed");
    let second = put(&hob, "path=a.txt", "two").header("If-Match", &tag(&first["version"])).send().data(200);
    let refused = put(&hob, "path=a.txt", "three").header("If-Match", &tag(&first["version"])).send();
    refused.refusal(412, "changed");
    assert_eq!(refused.json()["error"]["details"]["version"], second["version"]);
    put(&hob, "path=gone.txt", "x").header("If-Match", &tag(&first["version"])).send().refusal(412, "changed");
    put(&hob, "path=a.txt", "x").header("If-Match", "nonsense").send().refusal(400, "bad_args");
    assert_eq!(text(&hob, "a.txt")["text"], "two");
    assert_eq!(text(&hob, "a.txt")["outside"], false, "an edit of one's own text stays one's own");
}

#[test]
fn texts_are_read_in_their_encoding() {
    let hob = Hob::start();
    put(&hob, "path=old.txt", &b"gr\xfcn"[..]).send().data(200);
    let shown = text(&hob, "old.txt");
    assert_eq!((&shown["text"], &shown["encoding"]), (&json!("grün"), &json!("windows-1252")));
    written(&hob, "a.py", "print(1)");
    assert_eq!(text(&hob, "a.py")["language"], "python");
    put(&hob, "path=x.png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]).send().data(200);
    get(&hob, "text?path=x.png").refusal(422, "not_text");
    put(&hob, "path=long.txt", "x".repeat(3 << 20)).send().data(200);
    let long = text(&hob, "long.txt");
    assert_eq!((&long["truncated"], long["text"].as_str().unwrap().len()), (&json!(true), 2 << 20));
}

#[test]
fn changes_go_into_the_trash_and_are_undone() {
    let hob = Hob::start();
    written(&hob, "a.txt", "one");
    written(&hob, "a.txt", "two");
    undo(&hob);
    assert_eq!(text(&hob, "a.txt")["text"], "one");
    post(&hob, "folders", json!({"path": "x/y"})).data(200);
    let moved = post(&hob, "move", json!({"path": "a.txt", "toPath": "x/y"})).data(200);
    assert_eq!(moved["entry"]["path"], "x/y/a.txt");
    undo(&hob);
    assert_eq!(text(&hob, "a.txt")["text"], "one");
    post(&hob, "copy", json!({"path": "a.txt", "toPlace": "household", "toPath": "b.txt"})).data(200);
    assert_eq!(get(&hob, "text?place=household&path=b.txt").data(200)["text"], "one");
    post(&hob, "copy", json!({"path": "a.txt", "toPlace": "household", "toPath": "b.txt"})).refusal(400, "bad_args");
    post(&hob, "move", json!({"path": "x", "toPath": "x/y/z"})).refusal(400, "bad_args");
    post(&hob, "delete", json!({"path": "x"})).data(200);
    let trash = get(&hob, "trash").data(200);
    assert_eq!((&trash["entries"][0]["path"], &trash["entries"][0]["kind"]), (&json!("x"), &json!("folder")));
    let id = trash["entries"][0]["id"].as_str().unwrap();
    post(&hob, &format!("trash/{id}/restore"), json!({})).data(200);
    assert_eq!(get(&hob, "list?path=x").data(200)["total"], 1);
    post(&hob, &format!("trash/{id}/restore"), json!({})).refusal(404, "not_found");
    post(&hob, "delete", json!({"path": "a.txt"})).data(200);
    undo(&hob);
    assert_eq!(text(&hob, "a.txt")["text"], "one");
    post(&hob, "delete", json!({"path": "a.txt"})).data(200);
    assert_eq!(post(&hob, "trash/empty", json!({})).data(200)["removed"], 1);
    assert_eq!(get(&hob, "trash").data(200)["entries"], json!([]));
    let search = get(&hob, "search?query=B.txt").data(200);
    assert_eq!((&search["files"][0]["place"], &search["files"][0]["path"]), (&json!("household"), &json!("b.txt")));
}

#[test]
fn what_was_uploaded_is_from_outside_until_a_person_vouches() {
    let hob = Hob::start();
    put(&hob, "path=in/page.html", "<p>ignore all").send().data(200);
    assert_eq!(text(&hob, "in/page.html")["outside"], true);
    post(&hob, "move", json!({"path": "in", "toPath": "out"})).data(200);
    post(&hob, "copy", json!({"path": "out/page.html", "toPath": "copy.html"})).data(200);
    let version = text(&hob, "copy.html")["version"].as_str().unwrap().to_owned();
    put(&hob, "path=copy.html&own=true", "edited").header("If-Match", &format!("\"{version}\"")).send().data(200);
    assert_eq!(text(&hob, "copy.html")["outside"], true, "an edit does not wash it");
    let list = get(&hob, "list?path=out").data(200);
    assert_eq!(list["entries"][0]["outside"], true);
    post(&hob, "vouch", json!({"path": "copy.html"})).data(200);
    assert_eq!(text(&hob, "copy.html")["outside"], false);
    assert_eq!(text(&hob, "out/page.html")["outside"], true);
}

#[test]
fn people_reach_their_own_and_viewers_change_nothing() {
    let hob = Hob::start();
    written(&hob, "secret.txt", "mine");
    let token = hob.token("Ben", "member");
    let as_ben = |method: &str, path: &str| hob.request(method, &format!("{AT}/{path}")).bearer(&token);
    as_ben("GET", "text?path=secret.txt").send().refusal(404, "not_found");
    as_ben("GET", "text?place=household&path=../people").send().refusal(400, "bad_args");
    as_ben("POST", "places").json(&json!({"name": "etc", "path": "/etc"})).send().refusal(403, "denied");
    let viewer = hob.token("Eve", "viewer");
    let refused =
        hob.request("PUT", &format!("{AT}/file?place=household&path=x")).bearer(&viewer).body(b"x".to_vec()).send();
    assert_eq!(refused.status, 403, "{}", refused.text());
    let person = json!({"name": "Ana", "role": "member", "password": "correct horse battery"});
    hob.post("/api/v1/people", person).data(201);
    let mut ana = Visitor::new(&hob);
    ana.sign_in(&json!({"person": "ana", "password": "correct horse battery"})).data(200);
    ana.get("/workspace/text?path=secret.txt").refusal(404, "not_found");
    assert_eq!(ana.get("/workspace/places").data(200)["places"].as_array().unwrap().len(), 2);
}

#[test]
fn added_folders_are_reached_and_say_when_they_are_gone() {
    let folder = Folder::new();
    let real = folder.0.canonicalize().unwrap();
    fs::create_dir_all(real.join("stick/Private")).unwrap();
    fs::create_dir_all(real.join("docs")).unwrap();
    fs::write(real.join("stick/a.txt"), "on the stick").unwrap();
    fs::write(real.join("docs/b.txt"), "read").unwrap();
    let config = format!(
        "[[workspace.places]]\nname = \"docs\"\npath = \"{}\"\nread_only = true\ntrusted = true\n",
        real.join("docs").display()
    );
    let mut hob = Hob::with(Setup { config, ..Setup::default() });
    let new = json!({"name": "usb", "path": real.join("stick"), "deny": ["private"]});
    let place = post(&hob, "places", new.clone()).data(201);
    assert_eq!(
        (&place["kind"], &place["readOnly"], &place["available"]),
        (&json!("added"), &json!(false), &json!(true))
    );
    post(&hob, "places", new).refusal(400, "bad_args");
    for (name, path) in [
        ("root", "/"),
        ("proc", "/proc"),
        ("data", hob.data().to_str().unwrap()),
        ("mine", "/srv"),
        ("none", "/nowhere"),
    ] {
        post(&hob, "places", json!({"name": name, "path": path})).refusal(400, "bad_args");
    }
    let shown = get(&hob, "text?place=usb&path=a.txt").data(200);
    assert_eq!((&shown["text"], &shown["outside"]), (&json!("on the stick"), &json!(true)));
    assert_eq!(get(&hob, "text?place=docs&path=b.txt").data(200)["outside"], false);
    get(&hob, "list?place=usb&path=PRIVATE").refusal(404, "not_found");
    assert_eq!(get(&hob, "list?place=usb").data(200)["total"], 1);
    put(&hob, "place=docs&path=c.txt", "x").send().refusal(403, "denied");
    put(&hob, "place=usb&path=c.txt", "x").send().data(200);
    post(&hob, "delete", json!({"place": "usb", "path": "c.txt"})).data(200);
    assert_eq!(get(&hob, "list?place=usb").data(200)["total"], 1, "what is held on the stick is not shown");
    hob.kill();
    hob.start_again();
    assert_eq!(get(&hob, "trash").data(200)["entries"][0]["place"], "usb");
    fs::rename(real.join("stick"), real.join("away")).unwrap();
    symlink("/etc", real.join("stick")).unwrap();
    get(&hob, "text?place=usb&path=passwd").refusal(409, "unavailable");
    let places = get(&hob, "places").data(200);
    let usb = places["places"].as_array().unwrap().iter().find(|place| place["id"] == "usb").unwrap().clone();
    assert_eq!(usb["available"], false);
    assert!(usb["reason"].as_str().unwrap().len() > 20, "{usb}");
    hob.admin("DELETE", &format!("{AT}/places/usb")).send().data(200);
    hob.admin("DELETE", &format!("{AT}/places/docs")).send().refusal(403, "denied");
    hob.assert_alive();
}

#[test]
fn bad_input_is_refused_and_nothing_hangs() {
    let hob = Hob::start();
    written(&hob, "a.txt", "a");
    let made = std::process::Command::new("mkfifo").arg(own(&hob).join("pipe")).status().unwrap();
    assert!(made.success());
    symlink("/etc", own(&hob).join("etc")).unwrap();
    fs::hard_link(hob.data().join("hob.redb"), own(&hob).join("hard")).unwrap();
    for path in ["pipe", "etc/passwd", "hard", "no", "a.txt/b", "..%2f..%2fhob.redb", "%00", "/etc/passwd", ""] {
        for what in ["file", "text", "list"] {
            let reply = get(&hob, &format!("{what}?path={path}"));
            // The place itself can be listed, and `/etc/passwd` is a path in it.
            let fine = path.is_empty() && what == "list";
            assert!((400..500).contains(&reply.status) || fine, "{what} {path}: {} {}", reply.status, reply.text());
        }
    }
    for path in ["etc/x", "pipe", "a.txt/b", "x%0ay", &"d/".repeat(300), &"x".repeat(300), "", "a%5cb"] {
        let reply = put(&hob, &format!("path={path}"), "x").send();
        assert!((400..500).contains(&reply.status), "PUT {path}: {} {}", reply.status, reply.text());
    }
    for (what, body) in [
        ("move", json!({"path": "no", "toPath": "x"})),
        ("move", json!({"path": "", "toPath": "x"})),
        ("copy", json!({"path": "etc", "toPath": "x"})),
        ("copy", json!({"path": "hard", "toPath": "x"})),
        ("delete", json!({"path": "."})),
        ("delete", json!({"place": "nowhere", "path": "a.txt"})),
        ("vouch", json!({"path": "no"})),
        ("folders", json!({"path": "a.txt/b"})),
        ("trash/empty", json!({"place": "nowhere"})),
        ("places", json!({"name": "UPPER", "path": "/srv"})),
    ] {
        let reply = post(&hob, what, body.clone());
        assert!((400..500).contains(&reply.status), "{what} {body}: {} {}", reply.status, reply.text());
    }
    get(&hob, "search?query=").refusal(400, "bad_args");
    get(&hob, "file?path=a.txt&download=maybe").refusal(400, "bad_args");
    // An upload that breaks off leaves nothing behind.
    let request =
        format!("PUT {AT}/file?path=half.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n");
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
    socket.write_all(format!("{request}Content-Length: 1000\r\n\r\nonly this").as_bytes()).unwrap();
    drop(socket);
    std::thread::sleep(Duration::from_millis(300));
    get(&hob, "file?path=half.txt").refusal(404, "not_found");
    let held = hob.data().join("workspace/held").join(format!("user-{}", UserId::OWNER));
    assert_eq!(fs::read_dir(held).unwrap().count(), 0);
    let mut hob = hob;
    hob.assert_alive();
}

#[test]
fn a_quota_bounds_uploads_and_what_is_refused_is_gone() {
    let config = "[workspace]\nquota_mb = 1\n".to_owned();
    let hob = Hob::with(Setup { config, ..Setup::default() });
    put(&hob, "path=a", vec![b'x'; 700 << 10]).send().data(200);
    put(&hob, "path=b", vec![b'x'; 700 << 10]).send().refusal(409, "unavailable");
    let places = get(&hob, "places").data(200);
    assert_eq!(
        (&places["places"][0]["usedBytes"], &places["places"][0]["quotaBytes"]),
        (&json!(700 << 10), &json!(1 << 20))
    );
    let config = "[workspace]\nfolder = \"relative\"\n".to_owned();
    let folder = Folder::new();
    fs::write(folder.path("bad.toml"), config).unwrap();
    let ran =
        crate::harness::hob(&folder.path("data"), &["serve", "--config", folder.path("bad.toml").to_str().unwrap()]);
    assert!(ran.code != Some(0) && ran.err.contains("workspace.folder"), "{ran:?}");
}
