//! The command line: output, exit codes, and one-line errors.

use crate::harness::{Folder, Hob, hob, hob_with, run, until};
use serde_json::{Value, json};

#[test]
fn a_misuse_ends_with_2_and_one_line() {
    let folder = Folder::new();
    let rows: &[(&[&str], &str)] = &[
        (&["nonsense"], "nonsense"),
        (&["call"], "TOOL"),
        (&["call", "calculate", "{"], "not JSON"),
        (&["call", "calculate", "[1]"], "must be a JSON object"),
        (&["serve", "--board", "arduino"], "auto, sim or none"),
        (&["serve", "--nonsense"], "--nonsense"),
        (&["token", "new", "x", "--role", "boss"], "boss"),
        (&["tools", "--jsn"], "--json"),
        (&["backup"], "FILE"),
        (&[], "write a command after `hob`: serve, chat,"),
        (&["chta"], "a similar subcommand exists: 'chat'; see `hob --help`"),
        (&["token"], "write a command after `hob token`: new, list, revoke; see `hob token --help`"),
        (&["chat", "--conv", "x"], "'--conversation'; see `hob chat --help`"),
        (&["token", "revoke"], "see `hob token revoke --help`"),
    ];
    for (arguments, part) in rows {
        let why = hob(&folder.path("data"), arguments).why(2);
        assert!(why.contains(part), "{arguments:?}: {why}");
    }
    assert!(!folder.path("data").exists(), "a misuse touches nothing");
    let version = hob(&folder.path("data"), &["--version"]).ok();
    assert!(version.starts_with("hob "), "{version}");
    let help = hob(&folder.path("data"), &["--help"]).ok();
    for command in ["serve", "chat", "call", "tools", "token", "doctor", "backup", "restore"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn what_cannot_be_done_ends_with_1_and_one_line() {
    let folder = Folder::new();
    let data = folder.path("data");
    let rows: &[(&[&str], &str)] = &[
        (&["call", "gpio_raed", "{}"], "did you mean `gpio_read`"),
        (&["call", "zzzzzzzz"], "search_tools"),
        (&["call", "calculate", "{\"expression\": \"1/0\"}"], "division by zero"),
        (&["call", "calculate", "{\"expression\": {}}"], "It takes expression (string)"),
        (&["chat", "--conversation", "zzz", "hi"], "is not an id"),
        (&["chat", ""], "the message is empty"),
        (&["chat", "--json", " ", ""], "the message is empty"),
        (&["tools", "zzz"], "no tool matches `zzz`: `hob tools` lists all of them"),
        (&["tools", "frget"], "no tool matches `frget`: did you mean `forget`?"),
        (&["backup", "/nonexistent/file"], "could not create /nonexistent/file"),
        (&["restore", "/nonexistent/file"], "nothing was restored"),
        (&["token", "new", ""], "1 to 64 characters"),
        (&["token", "revoke", "nobody"], "there is no token `nobody`: see `hob token list`"),
        (&["chat", "--json"], "write it after `hob chat --json`"),
        (&["serve", "--listen", "nonsense"], "write it as 127.0.0.1:4620"),
        (&["serve", "--name", "a b", "--listen", "127.0.0.1:0"], "`name` must have"),
        (&["serve", "--config", "/nonexistent.toml"], "could not read the configuration"),
    ];
    for (arguments, part) in rows {
        let mut all = arguments.to_vec();
        if arguments[0] == "serve" {
            all.extend(["--board", "sim"]);
        }
        let ran = hob_with(&data, &all, &[("HOB_LOG", "off")], "");
        let why = ran.why(1);
        assert!(why.contains(part), "{arguments:?}: {why}");
    }
}

#[test]
fn configuration_that_cannot_be_meant_is_refused_by_name() {
    let folder = Folder::new();
    let data = folder.path("data");
    let file = folder.path("hob.toml");
    let rows = [
        ("lisen = \"x\"", "`lisen`: did you mean `listen`?"),
        ("[model]\nretrys = 1", "`model.retrys`: did you mean `model.retries`?"),
        ("[agent]\nmax_turn = 1", "`agent.max_turn`: did you mean `agent.max_turns`?"),
        ("board = \"arduino\"", "arduino"),
        ("name = 7", "name"),
        ("= 1", "test.toml"),
    ];
    for (text, part) in rows {
        let file = if part == "test.toml" { folder.path("test.toml") } else { file.clone() };
        std::fs::write(&file, text).unwrap();
        let ran = hob(&data, &["--config", file.to_str().unwrap(), "doctor"]);
        assert!(ran.code == Some(1) && ran.out.is_empty() && ran.err.starts_with("hob: "), "{text}: {ran:?}");
        assert!(ran.err.contains(part) && ran.err.contains("is not usable"), "{text}: {ran:?}");
    }
    for (environment, part) in [
        (("HOB_MODEL", "gpt"), "provider/model"),
        (("HOB_MODEL", "custom/m"), "HOB_LLM_URL"),
        (("HOB_MODEL", "nobody/m"), "is not known"),
    ] {
        let why = hob_with(&data, &["doctor"], &[environment], "").why(1);
        assert!(why.contains(part), "{why}");
    }
    let serve = ["serve", "--listen", "127.0.0.1:0", "--board", "sim"];
    for (environment, part) in
        [(("HOB_TOKEN", "short"), "at least 32"), (("HOB_TOKEN_FILE", "/nonexistent"), "HOB_TOKEN_FILE")]
    {
        let why = hob_with(&data, &serve, &[environment, ("HOB_LOG", "off")], "").why(1);
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    let hob = Hob::start();
    let tools: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json"]).ok()).unwrap();
    assert!(tools.len() >= 20, "{}", tools.len());
    let risks = ["observe", "write", "actuate", "send", "execute", "destroy", "admin"];
    for tool in &tools {
        let keys: Vec<&str> = tool.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "aliases",
            "category",
            "description",
            "enabled",
            "group",
            "name",
            "parameters",
            "requiresConfirmation",
            "risk",
        ];
        assert_eq!(keys, expected, "{tool}");
        let text = |key: &str| tool[key].as_str().unwrap();
        assert!(["name", "description", "category", "group"].iter().all(|k| !text(k).is_empty()), "{tool}");
        assert!(risks.contains(&text("risk")) && tool["aliases"].is_array(), "{tool}");
        assert!(tool["enabled"].is_boolean() && tool["requiresConfirmation"].is_boolean(), "{tool}");
        assert_eq!(tool["parameters"]["type"], "object", "{tool}");
        assert!(!tool["parameters"].to_string().contains("$ref"), "inlined: {tool}");
    }
    let named = |name: &str| tools.iter().find(|t| t["name"] == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(named("remember")["aliases"], json!(["memory_store"]));
    assert_eq!(
        (&named("gpio_write")["risk"], &named("create_tool")["requiresConfirmation"]),
        (&json!("actuate"), &json!(true))
    );

    let found: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json", "pin", "level"]).ok()).unwrap();
    assert!(found.iter().any(|t| t["name"] == "gpio_read") && found.len() < tools.len(), "{found:?}");
    let none = hob.cli(&["tools", "set_tmer"]).why(1);
    assert!(none.contains("no tool matches `set_tmer`: did you mean `set_timer`"), "{none}");
    assert_eq!(hob.cli(&["tools", "--json", "zzz"]).ok().trim(), "[]");
    let similar = hob.get("/api/v1/tools?query=frget").data(200)["similar"].take();
    assert_eq!(similar, json!(["forget"]));
    let lines = hob.cli(&["tools"]).ok();
    assert_eq!(lines.lines().count(), tools.len());
    assert!(lines.lines().any(|l| l.starts_with("calculate  ")), "{lines}");

    let over_http = hob.get("/api/v1/tools?details=true").data(200);
    assert_eq!((&over_http["tools"], &over_http["count"]), (&json!(tools), &json!(tools.len())));
    let one = hob.get("/api/v1/tools/memory_store").data(200);
    assert_eq!((&one["name"], &one["help"]["name"]), (&json!("remember"), &json!("remember")));
}

#[test]
fn tools_are_called_and_answers_come_as_asked_for() {
    let hob = Hob::start();
    let json_of = |arguments: &[&str]| serde_json::from_str::<Value>(&hob.cli(arguments).ok()).unwrap();
    assert_eq!(json_of(&["call", "calculate", r#"{"expression": "6*7"}"#])["result"], 42);
    let whole = json_of(&["call", "--json", "gpio_write", r#"{"pin": 2, "high": true}"#]);
    let (tool, say, failed) = (&whole["tool"], &whole["say"], &whole["isError"]);
    assert_eq!((tool, say, failed), (&json!("gpio_write"), &json!("Pin 2 is on."), &json!(false)));
    assert!(whole["duration"].is_u64(), "{whole}");
    assert_eq!(json_of(&["call", "memory_store", r#"{"content": "an alias works"}"#])["content"], "an alias works");
    let answer = json_of(&["chat", "--json", "is pin 2 on?"]);
    assert_eq!((&answer["response"], &answer["toolCalls"][0]["name"]), (&json!("Pin 2 is on."), &json!("gpio_read")));

    let token = hob.cli(&["token", "new", "scripts"]).ok();
    assert!(token.starts_with("hob_") && token.len() >= 32 && !token.contains(char::is_whitespace), "{token}");
    assert_eq!(hob.request("GET", "/api/v1/session").bearer(&token).send().data(200)["role"], "admin");
}

#[test]
fn tokens_are_listed_without_their_secrets_and_revoked() {
    let hob = Hob::start();
    assert!(hob.cli(&["token", "list"]).ok().contains("`hob token new NAME` creates one"));
    assert_eq!(hob.cli(&["token", "list", "--json"]).ok(), "[]");
    let bell = hob.cli(&["token", "new", "bell", "--role", "member", "--scope", "chat", "--days", "30"]).ok();
    let scripts = hob.cli(&["token", "new", "scripts"]).ok();
    let session = |token: &str| hob.request("GET", "/api/v1/session").bearer(token).send();
    session(&bell).data(200);
    // The time of the last use reaches the store a little later.
    until("the use of the token", || hob.cli(&["token", "list"]).ok().matches("just now").count() == 3);
    let listed = hob.cli(&["token", "list"]).ok();
    let cells = |n: usize| -> Vec<&str> { listed.lines().nth(n).unwrap().split("  ").map(str::trim).collect() };
    let parts = |n: usize| -> Vec<&str> { cells(n).into_iter().filter(|cell| !cell.is_empty()).collect() };
    assert_eq!(parts(0), ["ID", "NAME", "ROLE", "SCOPE", "CREATED", "LAST USED", "EXPIRES"]);
    assert_eq!(parts(1)[1..], ["scripts", "admin", "everything", "just now", "never", "never"]);
    assert_eq!(parts(2)[1..], ["bell", "member", "chat", "just now", "just now", "in 29 days"]);
    for secret in [&bell, &scripts] {
        assert!(!listed.contains(secret.as_str()) && !listed.contains(&secret[4..12]), "{listed}");
    }
    let one: Vec<Value> = serde_json::from_str(&hob.cli(&["token", "list", "--json"]).ok()).unwrap();
    assert!(one.len() == 2 && one[0]["lastUsedAt"].is_null() && one[1]["lastUsedAt"].is_u64(), "{one:?}");
    // By name where one has it, else by id.
    hob.cli(&["token", "new", "scripts"]).ok();
    let why = hob.cli(&["token", "revoke", "scripts"]).why(1);
    assert!(why.contains("2 tokens are named `scripts`"), "{why}");
    hob.cli(&["token", "revoke", one[0]["id"].as_str().unwrap()]).ok();
    session(&scripts).refusal(401, "unauthorized");
    assert!(hob.cli(&["token", "revoke", "bell"]).ok().contains("`bell` is revoked"));
    session(&bell).refusal(401, "unauthorized");
    assert_eq!(hob.cli(&["token", "list"]).ok().lines().count(), 2);
}

#[test]
fn the_doctor_says_how_things_are() {
    let mut hob = Hob::start();
    let told = hob.cli(&["doctor"]).ok();
    for line in [
        "daemon   running",
        "version  ",
        "model    reflex",
        "device   ",
        "pins     All pins are off",
        "memory   I remember nothing",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert_eq!(hob.stop(), Some(0));
    assert!(hob.cli(&["doctor"]).ok().contains("daemon   not running"));
}

#[test]
fn a_daemon_ends_when_told_and_leaves_nothing_half_done() {
    let mut hob = Hob::start();
    hob.say("remember that the end was orderly");
    let listener = hob.admin("GET", "/api/v1/events").events();
    assert_eq!(hob.stop(), Some(0));
    assert_eq!(listener.filter(|(name, _)| name == "pin:changed").count(), 0);
    assert!(!hob.data().join("hob.sock").exists());
    hob.start_again();
    assert!(hob.say("was the end orderly?")["response"].as_str().unwrap().contains("orderly"));
    assert!(!hob.log().contains('\u{1b}'), "no colours where nobody sees them");
}

#[test]
fn what_is_stored_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let hob = Hob::start();
    hob.say("remember that the safe opens with 4711");
    let backup = hob.folder.path("backup.hob");
    hob.cli(&["backup", backup.to_str().unwrap()]).ok();
    // Restored from a copy that everybody may read.
    let (open, restored) = (hob.folder.path("open.hob"), hob.folder.path("restored"));
    std::fs::copy(&backup, &open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    crate::harness::hob(&restored, &["restore", open.to_str().unwrap()]).ok();
    let data = hob.data();
    for file in ["hob.redb", "hob.sock", "device.key", "hob.toml"]
        .map(|name| data.join(name))
        .into_iter()
        .chain([backup, restored.join("hob.redb")])
    {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    assert_eq!(std::fs::metadata(data).unwrap().permissions().mode() & 0o777, 0o700);
}

/// The socket's mode keeps others out; should it ever be wider, the kernel still names the peer.
#[test]
fn another_user_of_the_machine_is_refused_at_the_socket() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let hob = Hob::start();
    // Copied by somebody else: a process that another test starts meanwhile would inherit the open file, and what is being
    // written cannot be run.
    let program = hob.folder.path("hob");
    let copied = std::process::Command::new("cp").arg(crate::harness::binary()).arg(&program).status().unwrap();
    assert!(copied.success());
    let command = |as_other: bool| {
        let mut command = std::process::Command::new(&program);
        command.env_clear().arg("--data").arg(hob.data()).args(["call", "calculate", "{\"expression\": \"1+1\"}"]);
        if as_other {
            command.uid(65534);
        }
        run(command, "")
    };
    command(false).ok();
    if !rustix::process::getuid().is_root() {
        // Only root can be somebody else. The modes are what `what_is_stored_is_for_its_owner_alone` tests.
        return;
    }
    let shut = command(true);
    assert!(shut.code == Some(1), "the folder is closed: {shut:?}");
    for (path, mode) in [(hob.folder.0.clone(), 0o755), (hob.data(), 0o755), (hob.data().join("hob.sock"), 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let why = command(true).why(1);
    assert!(why.contains("only the user Hob runs as"), "{why}");
    command(false).ok();
}

/// A model that is refused does not take its key with it: the key is kept where it shows whose it is, and the report says so.
#[test]
fn the_card_says_what_became_of_the_key_of_a_refused_model() {
    let folder = Folder::new();
    let (card, out) = (folder.path("hob-settings.txt"), folder.path("out"));
    std::fs::create_dir(&out).unwrap();
    let take = |hob: &Hob, text: &str| {
        std::fs::write(&card, text).unwrap();
        hob.cli(&["first-boot", "--file", card.to_str().unwrap(), "--out", out.to_str().unwrap()]).ok();
        assert!(!std::fs::read_to_string(&card).unwrap().contains("sk-"), "the key is off the card");
        let report = std::fs::read_to_string(folder.path("hob-settings-report.txt")).unwrap();
        let providers = hob.get("/api/v1/providers").data(200);
        let with_key = providers["providers"].as_array().unwrap().iter().filter(|one| one["hasKey"] == true);
        (report, with_key.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let hob = Hob::start();
    let (report, with_key) = take(&hob, "MODEL=nobody/gpt-5\nMODEL_KEY=zz-0123456789abcdef\n");
    assert!(report.contains("Hob found no setting that it could use"), "{report}");
    assert!(report.contains("MODEL could not be used") && report.contains("MODEL_KEY was not kept"), "{report}");
    assert!(!report.contains("0123456789") && with_key.is_empty(), "{report} {with_key:?}");

    let (report, with_key) = take(&hob, "MODEL=nobody/claude\nMODEL_KEY=sk-ant-0123456789abcdef\n");
    assert!(report.contains("taken over the model's key.") && report.contains("as the one for anthropic"), "{report}");
    assert!(report.contains("MODEL could not be used"), "{report}");
    assert_eq!(with_key, ["anthropic"]);

    // The provider that the model names goes before the one whose keys begin so.
    let (report, with_key) = take(&hob, "MODEL=mistral/\nMODEL_KEY=sk-0123456789abcdef\n");
    assert!(report.contains("as the one for mistral") && !report.contains("was not kept"), "{report}");
    assert_eq!(with_key, ["anthropic", "mistral"]);
    // A server of one's own has no key without its address, and nobody else gets that key.
    let (report, with_key) = take(&hob, "MODEL=custom/\nMODEL_KEY=sk-0123456789abcdef\n");
    assert!(report.contains("MODEL_KEY was not kept"), "{report}");
    assert_eq!(with_key, ["anthropic", "mistral"]);
}
