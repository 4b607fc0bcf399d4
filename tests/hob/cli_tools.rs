//! Command-line tools: which are installed, which may run and who is asked, and installing one from a package registry.

use crate::{
    approvals::{asked, decide, questions, that_waits},
    frame::{root, sources},
    harness::{Hob, Setup},
    hijack::Page,
    http::Reply,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::Command,
    thread,
};

const AT: &str = "/api/v1/cli-tools";

fn set(hob: &Hob, name: &str, settings: Value) -> Reply {
    hob.admin("PUT", &format!("{AT}/{name}")).json(&settings).send()
}

fn tool(hob: &Hob, name: &str) -> Value {
    let listed = hob.get(AT).data(200);
    let all = listed["tools"].as_array().unwrap();
    all.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed")).clone()
}

#[test]
fn tools_are_listed_with_what_is_known_of_them() {
    let hob = Hob::start();
    let listed = hob.result("list_cli_tools", json!({}));
    let all = listed["tools"].as_array().unwrap();
    assert!(all.len() >= 40 && listed["count"] == all.len());
    let tar = tool(&hob, "tar");
    assert_eq!(
        (&tar["installed"], &tar["source"], &tar["category"], &tar["riskLevel"], &tar["policy"]),
        (&json!(true), &json!("system"), &json!("archives"), &json!("medium"), &json!("prompt"))
    );
    assert!(tar["version"].as_str().unwrap().starts_with("1."), "{tar}");
    let prettier = tool(&hob, "prettier");
    assert_eq!((&prettier["npxPackage"], &prettier["version"]), (&json!("prettier"), &Value::Null));
    let linters = hob.result("list_cli_tools", json!({"category": "linters", "installed": false, "query": "css"}));
    assert_eq!((&linters["count"], &linters["tools"][0]["name"]), (&json!(1), &json!("stylelint")));
}

#[test]
fn a_tool_runs_in_the_workspace_without_a_shell() {
    let mut hob = Hob::start();
    set(&hob, "say", json!({"program": "sh", "riskLevel": "low", "about": "Say something."})).data(200);
    let run = |args: Value| hob.call("run_cli_tool", args);
    let told =
        run(json!({"name": "say", "args": ["-c", "echo one two > x; mkdir in; cd in; pwd; echo oh >&2; exit 3"]}));
    let told = told.data(200)["result"].take();
    assert_eq!((&told["exitCode"], &told["success"]), (&json!(3), &json!(false)), "{told}");
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("/workspace/in\n"), &json!("oh\n")));
    assert_eq!((&told["name"], &told["riskLevel"]), (&json!("say"), &json!("low")));
    let read = hob.result("run_cli_tool", json!({"tool": "say", "args": ["-c", "cat ../x"], "cwd": "in"}));
    assert_eq!(read["stdout"], "one two\n");
    // A list is passed as it is: nothing expands it.
    let hob_says = |args: Value| hob.result("run_cli_tool", json!({"name": "say", "args": args}))["stdout"].clone();
    assert_eq!(hob_says(json!(["-c", "echo \"$1\"", "x", "$HOME; *"])), "$HOME; *\n");
    // It has no network, and not more time than it is given.
    let closed =
        run(json!({"name": "say", "args": ["-c", "ls /sys/class/net 2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/1"]}));
    assert_ne!(closed.data(200)["result"]["exitCode"], 0);
    let begun = std::time::Instant::now();
    let slow =
        hob.result("run_cli_tool", json!({"name": "say", "args": ["-c", "echo begun; sleep 60"], "timeout": 500}));
    assert!(begun.elapsed().as_secs() < 20);
    assert_eq!((&slow["exitCode"], &slow["stdout"]), (&Value::Null, &json!("begun\n")), "{slow}");
    // What is wrong is said.
    for (args, status, why) in [
        (json!({"name": "nothing"}), 404, "no command-line tool"),
        (json!({"name": "say", "args": ["a\u{0}b"]}), 400, "zero bytes"),
        (json!({"name": "say", "args": {"x": 1}}), 400, ""),
        (json!({"args": ["x"]}), 400, "name"),
        (json!({"name": "jest"}), 409, "install_cli_tool"),
        (json!({"name": "docker"}), 403, "blocked"),
    ] {
        let refused = run(args.clone());
        let text = refused.text();
        assert!(refused.status == status && text.contains(why), "{args}: {text}");
    }
    for cwd in ["/etc", "../..", "nowhere:/else"] {
        let refused = run(json!({"name": "say", "args": ["-c", "pwd"], "cwd": cwd}));
        assert!((400..500).contains(&refused.status), "{cwd}: {}", refused.text());
    }
    hob.assert_alive();
}

#[test]
fn policies_are_an_admins_and_prompt_asks() {
    let (hob, server) = that_waits(60, "");
    let member = hob.token("mia", "member");
    let theirs = |method: &str, path: &str| hob.request(method, path).bearer(&member);
    theirs("PUT", &format!("{AT}/tar")).json(&json!({"policy": "allowed"})).send().refusal(403, "denied");
    theirs("DELETE", &format!("{AT}/tar")).send().refusal(403, "denied");
    theirs("GET", AT).send().data(200);
    for (name, settings) in [
        ("tar", json!({"program": "sh"})),
        ("tar", json!({"policy": "maybe"})),
        ("mine", json!({"program": "/bin/sh"})),
        ("mine", json!({"package": "git+https://evil.example/x"})),
        ("a%2Fb", json!({"program": "sh"})),
    ] {
        assert_eq!(set(&hob, name, settings.clone()).status, 400, "{name} {settings}");
    }
    let call = || calls(&[("run_cli_tool", json!({"name": "tar", "args": ["--version"]}))]);
    // By hand nobody is asked; a model asks as the policy says.
    hob.result("run_cli_tool", json!({"name": "tar", "args": ["--version"]}));
    for (decision, is_error) in [("deny", true), ("allow_once", false)] {
        server.script(vec![call(), says("done")]);
        let told = thread::scope(|scope| {
            let chat = scope.spawn(|| hob.say("which tar is it?"));
            let question = asked(&hob, 1).remove(0);
            assert!(question["about"].as_str().unwrap().contains("tar --version"), "{question}");
            decide(&hob, &question, decision);
            chat.join().unwrap()
        });
        assert_eq!(told["toolCalls"][0]["isError"], is_error, "{told}");
    }
    let before = questions(&hob, "all").len();
    assert_eq!(set(&hob, "tar", json!({"policy": "allowed"})).data(200)["policy"], "allowed");
    server.script(vec![call(), says("done")]);
    assert_eq!(hob.say("which tar is it?")["toolCalls"][0]["isError"], false);
    assert_eq!(set(&hob, "tar", json!({"policy": "blocked"})).data(200)["policy"], "blocked");
    server.script(vec![call(), says("no")]);
    assert_eq!(hob.say("which tar is it?")["toolCalls"][0]["isError"], true);
    hob.call("run_cli_tool", json!({"name": "tar"})).refusal(403, "denied");
    assert_eq!(questions(&hob, "all").len(), before);
    hob.admin("DELETE", &format!("{AT}/tar")).send().data(200);
    assert_eq!(tool(&hob, "tar")["policy"], "prompt");
    hob.admin("DELETE", &format!("{AT}/none")).send().refusal(404, "not_found");
}

/// A package registry on loopback with one package, whose archive is made by `tar`.
struct Registry {
    host: String,
}

impl Registry {
    fn start(hob: &crate::harness::Folder, scripts: &str) -> Self {
        let folder = hob.path("package");
        fs::create_dir_all(&folder).unwrap();
        let about =
            format!(r#"{{"name": "greet", "version": "1.2.3", "bin": {{"greet": "greet.js"}}, "scripts": {scripts}}}"#);
        fs::write(folder.join("package.json"), about).unwrap();
        let program = "#!/usr/bin/env node\nconst word = process.argv[2];\nconsole.log(word === '--version' ? 'greet 1.2.3' : 'hello ' + word);\n";
        fs::write(folder.join("greet.js"), program).unwrap();
        let archive = hob.path("greet.tgz");
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&archive).arg("-C").arg(folder.parent().unwrap()).arg("package");
        assert!(tar.status().unwrap().success());
        let archive = fs::read(archive).unwrap();
        let listener = TcpListener::bind(("127.0.0.2", 0)).unwrap();
        let host = format!("127.0.0.2:{}", listener.local_addr().unwrap().port());
        let packument = json!({
            "name": "greet",
            "dist-tags": {"latest": "1.2.3"},
            "versions": {"1.2.3": {
                "name": "greet", "version": "1.2.3", "bin": {"greet": "greet.js"},
                "dist": {"tarball": format!("http://{host}/greet.tgz")},
            }},
        })
        .to_string();
        // Ends with the process: nothing of it outlives the tests.
        thread::spawn(move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                let (packument, archive) = (packument.clone(), archive.clone());
                thread::spawn(move || {
                    let (mut head, mut byte) = (vec![], [0]);
                    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) > 0 {
                        head.push(byte[0]);
                    }
                    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
                    let (status, kind, body) = match line.split(' ').nth(1).unwrap_or_default() {
                        "/greet" => ("200 OK", "application/json", packument.into_bytes()),
                        "/greet.tgz" => ("200 OK", "application/octet-stream", archive),
                        _ => ("404 Not Found", "application/json", b"{}".to_vec()),
                    };
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = socket.write_all(&[head.as_bytes(), &body].concat());
                });
            }
        });
        Self { host }
    }
}

/// The host of a registry for the tool `greet`.
pub fn registry(folder: &crate::harness::Folder) -> String {
    Registry::start(folder, "{}").host
}

/// Adds the tool `greet`, which can be installed from this registry.
pub fn ready(hob: &Hob, host: &str) {
    let settings = json!({"package": "greet", "registry": format!("http://{host}/"), "riskLevel": "low"});
    set(hob, "greet", settings).data(200);
}

#[test]
fn a_tool_is_installed_from_a_registry_once_a_person_agrees() {
    let folder = crate::harness::Folder::new();
    let registry =
        Registry::start(&folder, r#"{"preinstall": "touch /tmp/ran", "postinstall": "echo evil > greet.js"}"#);
    let mut hob =
        Hob::over(folder, Setup { config: format!("[http]\nallow = [{:?}]\n", registry.host), ..Setup::default() });
    let address = format!("http://{}/", registry.host);
    let settings = json!({"package": "greet", "registry": address, "riskLevel": "low", "policy": "allowed"});
    set(&hob, "greet", settings).data(200);
    hob.call("run_cli_tool", json!({"name": "greet", "args": ["you"]})).refusal(409, "unavailable");
    // Only an admin installs.
    let member = hob.token("mia", "member");
    let theirs = hob.request("POST", "/api/v1/tools/install_cli_tool/execute").bearer(&member);
    theirs.json(&json!({"arguments": {"name": "greet"}})).send().refusal(403, "denied");
    let installed = hob.result("install_cli_tool", json!({"name": "greet"}));
    assert_eq!(
        (&installed["installed"], &installed["version"], &installed["source"]),
        (&json!(true), &json!("1.2.3"), &json!("hob")),
        "{installed}"
    );
    let told = hob.result("run_cli_tool", json!({"name": "greet", "args": ["you"]}));
    assert_eq!(told["stdout"], "hello you\n", "what the package brings to run at its installation did not run: {told}");
    // It cannot be changed by what runs.
    set(&hob, "say", json!({"program": "sh", "riskLevel": "low"})).data(200);
    let spoil = "echo evil > $(ls -d /run/hob/tools/*/node_modules/greet 2>/dev/null || echo /run/hob)/greet.js";
    assert_ne!(hob.result("run_cli_tool", json!({"name": "say", "args": ["-c", spoil]}))["exitCode"], 0);
    hob.kill();
    hob.start_again();
    assert_eq!(hob.result("run_cli_tool", json!({"name": "greet", "args": ["again"]}))["stdout"], "hello again\n");
    // A failure leaves what is there.
    let wrong = json!({"package": "nothing-here", "registry": address, "riskLevel": "low", "policy": "allowed"});
    set(&hob, "nothing", wrong).data(200);
    let failed = hob.call("install_cli_tool", json!({"name": "nothing"}));
    assert!(failed.text().contains("npm could not install `nothing-here`"), "{}", failed.text());
    hob.call("install_cli_tool", json!({"name": "tar"})).refusal(400, "bad_args");
    hob.call("install_cli_tool", json!({"name": "unknown"})).refusal(404, "not_found");
    let left: Vec<_> = fs::read_dir(hob.data().join("tools")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["greet"]);
    hob.admin("DELETE", &format!("{AT}/greet/installation")).send().data(200);
    hob.admin("DELETE", &format!("{AT}/greet/installation")).send().refusal(404, "not_found");
    assert_eq!(tool(&hob, "greet")["installed"], false);
    hob.assert_alive();
}

#[test]
fn package_managers_reach_the_registries_that_they_name_and_no_others() {
    let other = Page::at("127.0.0.2", "{}");
    let config = format!("[limits]\ncalls = 0\n[http]\nallow = [{:?}]\n", other.host);
    let hob = Hob::with(Setup { config, ..Setup::default() });
    crate::exec::switch_on(&hob);
    let mut npm = Command::new("npm");
    npm.args(["config", "get", "registry"]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    let address = String::from_utf8(npm.output().unwrap().stdout).unwrap();
    let host = address.trim().trim_start_matches("https://").trim_end_matches('/');
    assert!(host.contains('.'), "{address}");
    for name in ["npm", "ncu"] {
        let tool = tool(&hob, name);
        let expected = if tool["installed"] == true { json!([format!("{host}:443")]) } else { json!([]) };
        assert_eq!(tool["hosts"], expected, "{tool}");
    }
    assert_eq!(tool(&hob, "npm")["installed"], true);
    // Nothing of the product names them.
    let mut pip = Command::new("/usr/bin/python3");
    pip.args(["-c", "from pip._internal.models.index import PyPI as p; print(p.netloc, p.file_storage_domain)"]);
    let hosts = String::from_utf8(pip.output().unwrap().stdout).unwrap();
    let hosts: Vec<&str> = hosts.split_whitespace().chain([host]).collect();
    let mut files = vec![];
    for folder in ["src", "tests", "web/src", "firmware-image", "cross"] {
        sources(
            &root().join(folder),
            &[".rs", ".toml", ".txt", ".md", ".ts", ".tsx", ".mjs", ".py", ".sh"],
            &mut files,
        );
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        assert!(!hosts.iter().any(|host| text.contains(host)), "{} names a registry of packages", file.display());
    }
    // Files of the workspace name another place, which a command with any network reaches.
    let written = format!("@mine:registry=http://{}/\n", other.host);
    hob.result("write_file", json!({"path": ".npmrc", "content": written}));
    let written = format!("--index-url http://{}/simple\nhob-thing\n", other.host);
    hob.result("write_file", json!({"path": "wanted.txt", "content": written}));
    for command in ["npm view @mine/thing --fetch-retries=0", "pip download -r wanted.txt --retries 0"] {
        let direct = command.replace("pip ", "python3 -m pip ");
        hob.result("exec", json!({"command": direct, "network": true, "timeout": 60}));
        assert!(!other.heard().is_empty(), "{command}");
        let refused = hob.result("package_manager", json!({"command": command, "timeout": 60}));
        assert_eq!(refused["success"], false, "{refused}");
        assert_eq!(other.heard(), Vec::<String>::new(), "{command}: {refused}");
    }
}

#[test]
fn a_model_asks_before_it_installs_something() {
    let (hob, server) = that_waits(60, "");
    server.script(vec![calls(&[("install_cli_tool", json!({"name": "prettier"}))]), says("as you wish")]);
    let told = thread::scope(|scope| {
        let chat = scope.spawn(|| hob.say("install prettier"));
        let question = asked(&hob, 1).remove(0);
        assert_eq!((&question["tool"], &question["risk"]), (&json!("install_cli_tool"), &json!("admin")));
        decide(&hob, &question, "deny");
        chat.join().unwrap()
    });
    assert_eq!(told["toolCalls"][0]["isError"], true);
    assert!(!hob.data().join("tools/prettier").exists());
}
