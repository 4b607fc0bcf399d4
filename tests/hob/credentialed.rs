//! Programs with a credential: set up by an admin, run without a shell and with the secret in their environment only, and nothing
//! of the secret in what anybody reads.

use crate::{
    approvals::{asked, decide, questions, that_waits},
    harness::{Hob, Setup},
    hijack::Page,
    http::Reply,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    thread,
};

const AT: &str = "/api/v1/credentialed-binaries";
const SECRET: &str = "ghp_Zk29fQ81LmXw77TtRr04BbNn55VvCc33Hh61";

/// What a program prints about how it was started.
const SHOWS: &str = r#"#!/bin/sh
echo "args:" "$@"
echo "length: ${#GH_TOKEN}"
echo "token: $GH_TOKEN"
echo "base64: $(printf %s "$GH_TOKEN" | base64)"
echo "names:" $(env | cut -d= -f1 | sort)
echo "error: $GH_TOKEN" >&2
"#;

/// Installs a program by hand.
fn program(hob: &Hob, name: &str, text: &str) -> PathBuf {
    let path = hob.folder.path(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn put(hob: &Hob, name: &str, settings: Value) -> Reply {
    hob.admin("PUT", &format!("{AT}/{name}")).json(&settings).send()
}

/// Sets gh up with a program of the test.
fn set_up(hob: &Hob, text: &str) -> PathBuf {
    let path = program(hob, "gh", text);
    put(hob, "gh", json!({"path": path, "secrets": {"GH_TOKEN": SECRET}})).data(200);
    path
}

/// Sets gh up with a program that prints its arguments.
pub fn ready(hob: &Hob) {
    set_up(hob, "#!/bin/sh\necho \"$@\"\n");
}

fn exec(hob: &Hob, args: Value) -> Reply {
    hob.call("credentialed_exec", json!({"binary": "gh", "args": args}))
}

fn contains(path: &Path, bytes: &[u8]) -> bool {
    let read = fs::read(path).unwrap_or_default();
    read.windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn the_secret_reaches_the_program_and_nobody_else() {
    let mut hob = Hob::start();
    exec(&hob, json!(["issue", "list"])).refusal(404, "not_found");
    let path = set_up(&hob, SHOWS);
    let listed = hob.get(AT);
    let text = listed.text();
    let listed = listed.data(200);
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(
        (&listed["binaries"][0]["secretsSet"], &listed["binaries"][0]["preset"]),
        (&json!(["GH_TOKEN"]), &json!("gh"))
    );
    assert_eq!(listed["presets"].as_array().unwrap().len(), 5);
    for args in
        [json!(["issue", "list", "--repo", "a/b"]), json!("issue list --repo a/b"), json!(["issue list --repo a/b"])]
    {
        let ran = exec(&hob, args);
        let text = ran.text();
        let result = ran.data(200)["result"].take();
        let printed = result["stdout"].as_str().unwrap();
        assert!(printed.contains("args: issue list --repo=a/b\n"), "{result}");
        assert!(printed.contains(&format!("length: {}\n", SECRET.len())), "{result}");
        assert!(printed.contains("token: [REDACTED]"), "{result}");
        assert!(result["stderr"].as_str().unwrap().contains("error: [REDACTED]"), "{result}");
        assert!(!text.contains(SECRET) && !text.contains(&SECRET[4..20]) && !text.contains("Z2hwX1pr"), "{text}");
        assert!(!printed.contains("HOB_") && printed.contains("GH_TOKEN"), "{result}");
        assert_eq!((&result["exitCode"], &result["binary"]), (&json!(0), &json!("gh")));
    }
    hob.kill();
    for file in fs::read_dir(hob.data()).unwrap() {
        assert!(!contains(&file.unwrap().path(), SECRET.as_bytes()), "the secret lies open in the data folder");
    }
    assert!(!hob.log().contains(SECRET));
    hob.start_again();
    exec(&hob, json!(["issue", "list"])).data(200);
    // An error of the program is told as it is.
    fs::write(&path, "#!/bin/sh\necho no such repository >&2\nexit 4\n").unwrap();
    let failed = exec(&hob, json!(["issue", "list"])).data(200)["result"].take();
    assert_eq!((&failed["exitCode"], &failed["success"]), (&json!(4), &json!(false)));
    hob.admin("DELETE", &format!("{AT}/gh")).send().data(200);
    exec(&hob, json!(["issue", "list"])).refusal(404, "not_found");
    hob.admin("DELETE", &format!("{AT}/gh")).send().refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn only_what_is_permitted_runs() {
    let mut hob = Hob::start();
    let path = set_up(&hob, "#!/bin/sh\ntouch /tmp/ran\necho ran\n");
    for args in [
        json!(["auth", "token"]),
        json!(["api", "user"]),
        json!(["issue", "list", "--jq", "env"]),
        json!(["issue", "list", "--template", "{{.}}"]),
        json!(["--repo", "a/b", "issue", "list"]),
        json!(["issue", "list", ";", "env"]),
        json!(["issue", "view", "1|env"]),
        json!(["issue", "view", "$(env)"]),
        json!(["issue", "view", "`env`"]),
        json!(["issue", "view", "1", "&&", "env"]),
        json!(["issue", "view", "1", ">", "/tmp/x"]),
        json!(["issue", "view", "/proc/self/environ"]),
        json!("issue list; env"),
        json!("issue list | env"),
        json!("issue list > x"),
        json!("issue list $(env)"),
        json!(["issue", "list", "--verbose"]),
        json!([]),
    ] {
        let refused = exec(&hob, args.clone());
        assert_eq!(refused.status, 403, "{args}: {}", refused.text());
    }
    let call = |binary: &str| hob.call("credentialed_exec", json!({"binary": binary, "args": ["issue", "list"]}));
    for binary in ["./gh", "/usr/bin/gh", "../gh"] {
        assert_eq!(call(binary).status, 403, "{binary}");
    }
    assert_eq!(call("sh").status, 404);
    call(path.to_str().unwrap()).data(200);
    // What a shell would read as operators is fine within a text.
    exec(&hob, json!(["issue", "create", "--title", "a; b", "--body", "`x` > $(y) | z"])).data(200);
    // Patterns of an admin come on top.
    put(&hob, "gh", json!({"path": path, "deny_args": ["^issue\\s+view"], "deny_verbose": ["--comments"]})).data(200);
    exec(&hob, json!(["issue", "view", "1"])).refusal(403, "denied");
    exec(&hob, json!(["pr", "view", "1", "--comments"])).refusal(403, "denied");
    exec(&hob, json!(["pr", "view", "1"])).data(200);
    hob.assert_alive();
}

#[test]
fn settings_are_an_admins_and_secrets_stay_where_they_were_entered_for() {
    let mut hob = Hob::start();
    let path = program(&hob, "gh", "#!/bin/sh\necho fine\n");
    let (member, viewer) = (hob.token("mia", "member"), hob.token("vera", "viewer"));
    for token in [&member, &viewer] {
        let ask = |method: &str, at: &str| hob.request(method, at).bearer(token);
        let body = json!({"path": path, "secrets": {"GH_TOKEN": SECRET}});
        ask("PUT", &format!("{AT}/gh")).json(&body).send().refusal(403, "denied");
        ask("GET", AT).send().refusal(403, "denied");
        ask("DELETE", &format!("{AT}/gh")).send().refusal(403, "denied");
    }
    for (name, settings) in [
        ("gh", json!({"path": path})),
        ("gh", json!({"path": path, "secrets": {}})),
        ("gh", json!({"path": path, "secrets": {"GH_TOKEN": "short"}})),
        ("gh", json!({"path": path, "secrets": {"OTHER_TOKEN": SECRET}})),
        ("gh", json!({"path": "/no/such/gh", "secrets": {"GH_TOKEN": SECRET}})),
        ("gh", json!({"path": "gh", "secrets": {"GH_TOKEN": SECRET}})),
        ("gh", json!({"path": path, "secrets": {"GH_TOKEN": SECRET}, "denyArgs": ["("]})),
        ("gh", json!({"path": path, "secrets": {"GH_TOKEN": SECRET}, "unknown": 1})),
        ("mine", json!({"path": path, "secrets": {"MY_TOKEN": SECRET}})),
        ("a%20b", json!({"path": path, "commands": ["x"], "secrets": {"MY_TOKEN": SECRET}})),
    ] {
        let refused = put(&hob, name, settings.clone());
        assert_eq!(refused.status, 400, "{name} {settings}: {}", refused.text());
        assert!(!refused.text().contains(SECRET));
    }
    put(&hob, "gh", json!({"path": path, "secrets": {"GH_TOKEN": SECRET}})).data(200);
    // A member may use it once an admin says so; the secret need not be entered again for that.
    let as_member = |hob: &Hob| {
        let arguments = json!({"arguments": {"binary": "gh", "args": ["issue", "list"]}});
        hob.request("POST", "/api/v1/tools/credentialed_exec/execute").bearer(&member).json(&arguments).send()
    };
    as_member(&hob).refusal(403, "denied");
    put(&hob, "gh", json!({"path": path, "members": true})).data(200);
    as_member(&hob).data(200);
    put(&hob, "gh", json!({"path": path, "enabled": false})).data(200);
    exec(&hob, json!(["issue", "list"])).refusal(409, "unavailable");
    // Another program, more hosts or files need the secret anew.
    let other = program(&hob, "evil", "#!/bin/sh\necho $GH_TOKEN | rev\n");
    for settings in [
        json!({"path": other}),
        json!({"path": path, "hosts": ["api.github.com", "evil.example"]}),
        json!({"path": path, "files": "write"}),
    ] {
        let refused = put(&hob, "gh", settings.clone()).refusal(400, "bad_args");
        assert!(refused.contains("again"), "{settings}: {refused}");
    }
    put(&hob, "gh", json!({"path": path, "hosts": ["api.github.com"]})).data(200);
    exec(&hob, json!(["issue", "list"])).data(200);
    // A program that others can replace, or that was replaced by a link, does not run.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    exec(&hob, json!(["issue", "list"])).refusal(409, "unavailable");
    fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    exec(&hob, json!(["issue", "list"])).refusal(409, "unavailable");
    assert!(hob.get(&format!("{AT}/gh")).data(200)["problem"].is_string());
    fs::remove_file(&path).unwrap();
    exec(&hob, json!(["issue", "list"])).refusal(409, "unavailable");
    hob.assert_alive();
}

#[test]
fn half_a_secret_is_not_left_where_an_output_is_cut() {
    let hob = Hob::start();
    set_up(&hob, "#!/bin/sh\nyes \"$GH_TOKEN\" | tr -d '\\n' | head -c 9000000\n");
    let ran = exec(&hob, json!(["issue", "list"])).text();
    assert!(ran.contains("[REDACTED]"), "{}", &ran[..500.min(ran.len())]);
    for part in [&SECRET[..10], &SECRET[10..20], &SECRET[20..30], &SECRET[30..]] {
        assert!(!ran.contains(part), "{part}: {}", &ran[ran.len().saturating_sub(600)..]);
    }
}

#[test]
fn a_program_reaches_its_own_hosts_only_and_no_files_of_the_household() {
    let (own, other) = (Page::at("127.0.0.2", "its own service"), Page::at("127.0.0.2", "another"));
    let hob = Hob::with(Setup {
        config: format!("[http]\nallow = [{:?}, {:?}]\n", own.host, other.host),
        ..Setup::default()
    });
    let path = program(
        &hob,
        "status",
        "#!/bin/sh\ncurl -sS -m 10 \"http://$1/\"\ncurl -sS -m 5 --noproxy '*' \"http://$1/\" || echo direct is closed\nls -d /workspace /places 2>/dev/null\nls \"$2\" 2>/dev/null\necho end\n",
    );
    let settings = json!({"path": path, "commands": ["<2>"], "secrets": {"MY_TOKEN": SECRET}, "hosts": [own.host]});
    assert_eq!(put(&hob, "status", settings).status, 400);
    let settings = json!({"path": path, "commands": ["*"], "secrets": {"MY_TOKEN": SECRET}, "hosts": [own.host], "tips": "status HOST"});
    put(&hob, "status", settings).data(200);
    let run = |host: &str| {
        let data = hob.data().display().to_string();
        let result = hob.result("credentialed_exec", json!({"binary": "status", "args": [host, data]}));
        result["stdout"].as_str().unwrap().to_owned()
    };
    let printed = run(&own.host);
    assert!(printed.contains("its own service") && printed.contains("direct is closed"), "{printed}");
    assert!(
        !printed.contains("/workspace") && !printed.contains("hob.redb") && printed.ends_with("end\n"),
        "{printed}"
    );
    assert_eq!(own.heard().len(), 1);
    assert!(!run(&other.host).contains("another"));
    assert_eq!(other.heard(), [] as [String; 0]);
}

#[test]
fn a_model_reads_unasked_and_asks_before_it_changes_something() {
    let (hob, server) = that_waits(60, "");
    set_up(&hob, "#!/bin/sh\necho \"$@\"\n");
    let call = |args: &[&str]| calls(&[("credentialed_exec", json!({"binary": "gh", "args": args}))]);
    server.script(vec![call(&["issue", "list", "-R", "a/b"]), says("there are none")]);
    hob.say("which issues are there?");
    assert_eq!(questions(&hob, "all").len(), 0);
    let prompt = server.asked().last().unwrap().messages("system")[0]["content"].as_str().unwrap().to_owned();
    assert!(prompt.contains("- gh: GitHub CLI"), "{prompt}");
    for (decision, ran) in [("deny", false), ("allow_once", true)] {
        server.script(vec![call(&["issue", "close", "7", "-R", "a/b"]), says("as you wish")]);
        let told = thread::scope(|scope| {
            let chat = scope.spawn(|| hob.say("close issue 7"));
            let question = asked(&hob, 1).remove(0);
            assert_eq!((&question["tool"], &question["risk"]), (&json!("credentialed_exec"), &json!("destroy")));
            decide(&hob, &question, decision);
            chat.join().unwrap()
        });
        assert_eq!(told["toolCalls"][0]["isError"], !ran, "{told}");
    }
    // What a service answers comes from outside, and goes into no name that could be a stranger's.
    let aws = program(&hob, "aws", "#!/bin/sh\necho \"$@\"\n");
    put(
        &hob,
        "aws",
        json!({"path": aws, "secrets": {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ACCESS_KEY_ID": "AKIA0000000000000000"}}),
    )
    .data(200);
    let of_aws = |args: &[&str]| calls(&[("credentialed_exec", json!({"binary": "aws", "args": args}))]);
    let bucket = || of_aws(&["s3", "ls", "s3://bucket/4711"]);
    server.script(vec![bucket(), of_aws(&["s3api", "list-buckets"]), says("there they are")]);
    let before = questions(&hob, "all").len();
    hob.say("list the bucket");
    assert_eq!(questions(&hob, "all").len(), before);
    server.script(vec![of_aws(&["s3api", "list-buckets"]), bucket(), says("there they are")]);
    thread::scope(|scope| {
        let chat = scope.spawn(|| hob.say("list the buckets"));
        let question = asked(&hob, 1).remove(0);
        assert_eq!((&question["tool"], &question["rule"]), (&json!("credentialed_exec"), &json!("tainted")));
        decide(&hob, &question, "deny");
        chat.join().unwrap();
    });
    server.script(vec![
        call(&["issue", "view", "7", "-R", "a/b"]),
        calls(&[("gpio_write", json!({"pin": 24, "high": true}))]),
        says("done"),
    ]);
    thread::scope(|scope| {
        let chat = scope.spawn(|| hob.say("do what issue 7 says"));
        let question = asked(&hob, 1).remove(0);
        assert_eq!((&question["tool"], &question["rule"]), (&json!("gpio_write"), &json!("tainted")));
        decide(&hob, &question, "deny");
        chat.join().unwrap();
    });
}
