//! What an attacker tried against the workspace, through the real binary: the data folder, marks while programs run, and bounds.

use crate::{
    exec::{switch_on, with_code},
    harness::{Folder, Hob, Setup, TOKEN, until},
    http::raw,
    policy::{person, set},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread,
    time::Duration,
};

const AT: &str = "/api/v1/workspace";

fn exec(hob: &Hob, command: &str) -> Value {
    hob.result("exec", json!({"command": command}))
}

#[test]
fn the_data_folder_stays_shut_whatever_is_renamed_above_it() {
    let outer = Folder::new();
    fs::create_dir_all(outer.path("a/b")).unwrap();
    fs::write(outer.path("a/beside.txt"), "beside").unwrap();
    let hob = Hob::over(Folder(outer.path("a/b")), Setup::default());
    switch_on(&hob);
    hob.post(&format!("{AT}/places"), json!({"name": "outer", "path": outer.0, "trusted": true})).data(201);
    for (tool, arguments) in [
        ("move_file", json!({"source": "outer:/a", "destination": "outer:/c"})),
        ("move_file", json!({"source": "outer:/a/b", "destination": "outer:/c"})),
        ("delete_file", json!({"path": "outer:/a", "recursive": true})),
    ] {
        let why = hob.call(tool, arguments).refusal(403, "denied");
        assert!(why.contains("data folder of Hob"), "{why}");
    }
    let tried = exec(&hob, "cd /places/outer; mv a c; mv a/b b; rm -r a/b; mv a/beside.txt near.txt && ls");
    let why = tried["stderr"].as_str().unwrap();
    // `mv` copies what it cannot rename, and finds nothing in the data folder.
    assert!(why.matches("busy").count() >= 2 && tried["stdout"] == "a\nb\nnear.txt\n", "{tried}");
    assert_eq!(exec(&hob, "ls -A /places/outer/b/data")["stdout"], "");
    assert!(hob.data().join("device.key").exists(), "{tried}");
    assert!(!tried["changedFiles"].to_string().contains("a/b/data"), "{tried}");
    // Even where a person renames a folder above it on the machine itself.
    fs::rename(outer.path("a"), outer.path("c")).unwrap();
    hob.call("read_file", json!({"path": "outer:/c/b/data/hob.toml"})).refusal(404, "not_found");
    hob.get(&format!("{AT}/file?place=outer&path=c/b/data/device.key")).refusal(404, "not_found");
    let list = hob.get(&format!("{AT}/list?place=outer&path=c/b")).data(200);
    assert!(!list["entries"].to_string().contains("data"), "{list}");
    fs::rename(outer.path("c"), outer.path("a")).unwrap();
    hob.call("read_file", json!({"path": "outer:/a/b/data/hob.toml"})).refusal(404, "not_found");
}

fn put(hob: &Hob, query: &str, content: &str) -> crate::http::Request {
    hob.admin("PUT", &format!("{AT}/file?{query}")).body(content.into())
}

fn is_outside(hob: &Hob, path: &str) -> bool {
    hob.get(&format!("{AT}/text?place=mine&path={path}")).data(200)["outside"] == true
}

fn exists(hob: &Hob, path: &str) -> bool {
    hob.get(&format!("{AT}/text?place=mine&path={path}")).status == 200
}

#[test]
fn what_a_program_writes_is_from_outside_while_it_runs_and_after_a_crash() {
    let mut hob = with_code("");
    put(&hob, "path=outside.txt", "ignore all").send().data(200);
    put(&hob, "path=own.txt&own=true", "own").send().data(200);
    let command = "cat outside.txt > copy.txt; sleep 100";
    hob.result("exec", json!({"command": command, "background": true}));
    until("the copy", || exists(&hob, "copy.txt"));
    assert!(is_outside(&hob, "copy.txt") && !is_outside(&hob, "own.txt"));
    hob.post(&format!("{AT}/copy"), json!({"place": "mine", "path": "copy.txt", "toPath": "copy2.txt"})).data(200);
    assert!(is_outside(&hob, "copy2.txt"));
    hob.kill();
    hob.start_again();
    assert!(is_outside(&hob, "copy.txt") && is_outside(&hob, "copy2.txt") && !is_outside(&hob, "own.txt"));
    put(&hob, "path=later.txt&own=true", "later").send().data(200);
    assert!(is_outside(&hob, "copy.txt") && !is_outside(&hob, "later.txt"));
}

#[test]
fn what_comes_while_a_program_runs_is_in_what_it_writes() {
    let hob = with_code("");
    thread::scope(|scope| {
        let wait = "echo begun > begun.txt; until [ -e late.txt ]; do sleep 0.1; done; cp late.txt late-copy.txt; rm begun.txt";
        let ran = scope.spawn(|| exec(&hob, wait));
        until("the program", || exists(&hob, "begun.txt"));
        put(&hob, "path=late.txt", "ignore all").send().data(200);
        let ran = ran.join().unwrap();
        assert_eq!(ran["changedFiles"], json!(["late-copy.txt"]), "{ran}");
    });
    assert!(is_outside(&hob, "late-copy.txt"));
}

#[test]
fn a_denied_name_stays_denied_below_a_name_that_is_no_text() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("sub/Private")).unwrap();
    fs::write(folder.path("sub/Private/s.txt"), "secret").unwrap();
    let hob = with_code("");
    let place = json!({"name": "odd", "path": folder.0, "trusted": true, "deny": ["private"]});
    hob.post(&format!("{AT}/places"), place).data(201);
    exec(&hob, "cd /places/odd; mv sub \"$(printf '\\377z')\"");
    let read = exec(&hob, "cd /places/odd; cat */Private/s.txt; ls");
    assert!(!read["stdout"].to_string().contains("secret"), "{read}");
    let list = hob.get(&format!("{AT}/list?place=odd")).data(200);
    assert_eq!(list["entries"][0]["name"], "\\xffz", "{list}");
    hob.result("move_file", json!({"source": "odd:/\\xffz", "destination": "odd:/sub"}));
    assert!(folder.path("sub").is_dir());
}

#[test]
fn an_undo_names_what_cannot_be_brought_back() {
    let hob = with_code("");
    put(&hob, "path=w/big.bin&own=true", &"x".repeat(300 << 10)).send().data(200);
    put(&hob, "path=older.txt&own=true", "older").send().data(200);
    exec(&hob, "truncate --size 100 w/big.bin");
    let why = hob.call("undo", json!({})).refusal(400, "bad_args");
    assert!(why.contains("`w/big.bin` cannot be brought back"), "{why}");
    assert!(exists(&hob, "older.txt"), "an older change stays");
}

#[test]
fn uploads_at_once_fit_into_the_quota_together() {
    let config = "[workspace]\nquota_mb = 3\n".to_owned();
    let hob = Hob::with(Setup { config, ..Setup::default() });
    let content = "x".repeat(1536 << 10);
    let done: Vec<u16> = thread::scope(|scope| {
        let sent: Vec<_> = (0..6)
            .map(|n| {
                scope.spawn({
                    let (hob, content) = (&hob, &content);
                    move || put(hob, &format!("path={n}"), content).send().status
                })
            })
            .collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let stored = done.iter().filter(|status| **status == 200).count();
    assert!((1..=2).contains(&stored), "{done:?}");
    let used = hob.get(&format!("{AT}/places")).data(200)["places"][0]["usedBytes"].as_u64().unwrap();
    assert!(used <= 3 << 20, "{used}");
}

#[test]
fn odd_requests_are_refused_with_what_to_write() {
    let hob = Hob::start();
    put(&hob, "path=a.txt&own=true", "one").send().data(200);
    put(&hob, "path=a.txt&own=true", "two").header("if-match", "*").send().data(200);
    put(&hob, "path=none.txt&own=true", "x").header("if-match", "*").send().refusal(412, "changed");
    let why = put(&hob, "path=mine:/own.txt", "x").send().refusal(400, "bad_args");
    assert!(why.contains("place=mine"), "{why}");
    put(&hob, "path=household:own.txt", "x").send().refusal(400, "bad_args");
    put(&hob, "path=12:30.txt", "x").send().data(200);
    let why = put(&hob, "path=%ff%fe", "x").send().refusal(400, "bad_args");
    assert!(why.contains("UTF-8"), "{why}");
    let head = format!(
        "PUT {AT}/file?path=huge HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 99000000000000\r\n\r\n"
    );
    let answer = String::from_utf8_lossy(&raw(hob.port, head.as_bytes(), Duration::from_secs(10))).into_owned();
    assert!(answer.starts_with("HTTP/1.1 409") && answer.contains("full"), "{answer}");
}

/// What a person may not do by a tool is not to be had through the page's routes.
#[test]
fn the_routes_obey_the_rules_of_a_person() {
    let hob = Hob::start();
    let (id, ben) = (person(&hob, "ben", "member"), hob.token("ben", "member"));
    let ask = |method: &str, path: &str| hob.request(method, &format!("{AT}/{path}")).bearer(&ben);
    for path in ["letters/a.md", "b.md"] {
        ask("PUT", &format!("file?path={path}&own=true")).body("words".into()).send().data(200);
    }
    let gone = ask("POST", "delete").json(&json!({"path": "b.md"})).send().data(200)["id"].clone();
    ask("PUT", "file?path=b.md&own=true").body("words".into()).send().data(200);
    let b = json!({"path": "b.md"});
    let outcomes = || {
        [
            ask("GET", "file?path=b.md").send().status,
            ask("GET", "text?path=b.md").send().status,
            ask("GET", "list").send().status,
            ask("GET", "search?query=b").send().status,
            ask("GET", "trash").send().status,
            ask("POST", "vouch").json(&b).send().status,
            ask("POST", &format!("trash/{}/restore", gone.as_str().unwrap())).send().status,
        ]
    };
    let refused = 403;
    for (rules, expected) in [
        (json!({"allowedPaths": ["letters"]}), [refused; 7]),
        (json!({"level": "none"}), [refused; 7]),
        (json!({"areas": []}), [refused; 7]),
        (json!({"deniedTools": ["read_file"]}), [refused, refused, 200, 200, 200, 200, 409]),
    ] {
        set(&hob, json!({"users": {id.as_str(): rules}}));
        let found = outcomes();
        // A name that is taken again, or another kind of refusal of the last: only its 403 counts here.
        let same = found[..6] == expected[..6] && (found[6] == refused) == (expected[6] == refused);
        assert!(same, "{rules}: {found:?}");
    }
    set(&hob, json!({"users": {id.as_str(): {"allowedPaths": ["."]}}}));
    ask("GET", "trash").send().data(200);
    set(&hob, json!({"users": {id.as_str(): {"allowedPaths": ["letters"]}}}));
    assert_eq!(ask("GET", "text?path=letters/a.md").send().data(200)["text"], "words");
    assert_eq!(ask("GET", "list?path=letters").send().data(200)["entries"].as_array().unwrap().len(), 1);
}

/// Hob takes back the rights to its folders, because nobody else can.
#[test]
fn a_program_locks_nobody_out_of_their_files() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in")).unwrap();
    let hob = with_code("");
    hob.post(&format!("{AT}/places"), json!({"name": "odd", "path": folder.0, "trusted": true})).data(201);
    put(&hob, "path=d/e/f.txt&own=true", "kept").send().data(200);
    let mine = fs::read_dir(hob.data().join("workspace/people")).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o700;
    exec(&hob, "chmod 0 d/e d /places/odd/in; chmod 0 /places/odd .");
    for path in [&mine, &mine.join("d"), &mine.join("d/e"), &folder.0, &folder.path("in")] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    let ran = exec(&hob, "cat d/e/f.txt; ls /places/odd");
    assert_eq!(ran["stdout"], "keptin\n", "{ran}");
    // Closed while Hob does not look, and in a place of others before a program ran.
    for path in [&mine.join("d/e"), &mine, &folder.path("in")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
    }
    assert_eq!(hob.result("list_files", json!({"path": "d/e"}))["total"], 1);
    exec(&hob, "true");
    assert_eq!((mode(&mine), mode(&mine.join("d/e")), mode(&folder.path("in"))), (0o700, 0o700, 0));
}
