//! Command tools: what values of every type can and cannot do, sealed variables, live changes, and who may use them.

use crate::{
    harness::{Hob, TOKEN},
    http::Reply,
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Map, Value, json};

const TOOLS: &str = "/api/v1/command-tools";

fn draft(name: &str, command: &str, properties: Value) -> Value {
    json!({"name": name, "description": "For a test.", "command": command,
           "parameters": {"type": "object", "properties": properties}})
}

fn create(hob: &Hob, draft: Value) -> Value {
    hob.post(TOOLS, draft).data(201)
}

fn path(tool: &Value, action: &str) -> String {
    format!("{TOOLS}/{}{action}", tool["id"].as_str().unwrap())
}

fn patch(hob: &Hob, tool: &Value, body: Value) -> Reply {
    hob.admin("PATCH", &path(tool, "")).json(&body).send()
}

/// Values that would run something if they became text of a command.
const ATTACKS: &[&str] = &[
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "| touch pwned",
    "&& touch pwned",
    "\ntouch pwned\n",
    "' ; touch pwned ; '",
    "\" ; touch pwned ; \"",
    "'; touch pwned #",
    "\\'; touch pwned; \\'",
    "${IFS}touch${IFS}pwned",
    "$(touch${IFS}pwned)",
    "a[$(touch pwned)]",
    "{{other}}",
    "${HOB_ARG_1}",
    ">pwned",
    ">>pwned",
    "<(touch pwned)",
    "*",
    "~",
    "!!",
    "%s%n",
    "\u{2028}touch pwned",
    "x\\",
    "x\\\"",
    "$'touch pwned'",
    "pwned\u{0009}pwned",
    "'\"'\"'; touch pwned; '\"'\"'",
    "\r\ntouch pwned",
];

#[test]
fn no_value_of_any_type_runs_anything() {
    let hob = Hob::start();
    let properties = json!({
        "text": {"type": "string"},
        "choice": {"type": "string", "enum": ["A", "MX"]},
        "pattern": {"type": "string", "pattern": "^[a-z]+$"},
        "number": {"type": "number"},
        "whole": {"type": "integer"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object"},
        "any": {},
    });
    let places = "printf '[%s]' -- {{text}} \"{{text}}\" '{{text}}' a{{text}} {{choice}} {{pattern}} {{number}} {{whole}} {{flag}} {{list}} \
                  \"{{list}}\" {{object}} {{any}}";
    let tool = create(&hob, draft("show", places, properties));
    for attack in ATTACKS.iter().copied() {
        let arguments = json!({
            "text": attack, "number": 1.5, "whole": -7, "flag": true, "list": [attack, "b c", attack], "object": {"k": attack, (*attack): 1},
            "any": [attack, {"deep": attack}],
        });
        let ran = hob.post(&path(&tool, "/execute"), json!({"arguments": arguments})).data(200);
        let out = ran["result"]["stdout"].as_str().unwrap_or_else(|| panic!("{attack:?}: {ran}"));
        let shown = attack.replace('\r', "");
        if !attack.contains('\r') {
            let expected = format!("[--][{shown}][{shown}][{shown}][a{shown}]");
            assert!(out.starts_with(&expected), "{attack:?}: {out}");
            assert!(
                out.contains(&format!("[1.5][-7][true][{shown}][b c][{shown}][{shown} b c {shown}]")),
                "{attack:?}: {out}"
            );
        }
        // The other types refuse text that is none of theirs.
        for (name, value) in [
            ("choice", json!(attack)),
            ("pattern", json!(attack)),
            ("number", json!(attack)),
            ("whole", json!(attack)),
            ("flag", json!(attack)),
        ] {
            let refused = hob.post(&path(&tool, "/execute"), json!({"arguments": {name: value}}));
            assert_eq!(refused.status, 400, "{name} {attack:?}: {}", refused.text());
        }
    }
    // What a shell would have made is not there.
    let list = create(&hob, draft("list_all", "ls -A", json!({})));
    let files = hob.post(&path(&list, "/execute"), json!({"arguments": {}})).data(200)["result"]["stdout"].clone();
    assert!(!files.as_str().unwrap().contains("pwned"), "{files}");
}

#[test]
fn a_value_is_no_option_and_no_program() {
    let hob = Hob::start();
    let text = json!({"x": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}});
    let bare = create(&hob, draft("count", "wc -c {{x}} {{list}}", text.clone()));
    let safe = create(&hob, draft("count_safely", "printf '%s' -- {{x}}", text.clone()));
    for value in ["--files0-from=/etc/passwd", "-l", "+x"] {
        for arguments in [json!({"x": value}), json!({"x": "a", "list": ["b", value]})] {
            let refused = hob.post(&path(&bare, "/execute"), json!({"arguments": arguments}));
            assert_eq!(refused.status, 400, "{}", refused.text());
            assert!(refused.text().contains("option"), "{}", refused.text());
        }
        let ran = hob.post(&path(&safe, "/execute"), json!({"arguments": {"x": value}})).data(200);
        assert_eq!(ran["result"]["stdout"], format!("--{value}"));
    }
    let zero = hob.post(&path(&safe, "/execute"), json!({"arguments": {"x": "a\u{0}b"}}));
    assert_eq!(zero.status, 400, "{}", zero.text());
    for command in [
        "{{x}}",
        "sh -c {{x}}",
        "sh -c 'echo {{x}}'",
        "eval {{x}}",
        "python3 -c \"print('{{x}}')\"",
        "awk {{x}} f",
        "env {{x}}",
        "xargs {{x}}",
        "find . -exec sh -c '{{x}}' \\;",
        "echo `echo {{x}}`",
        "echo $(( {{x}} ))",
        "cat <<E\n{{x}}\nE",
        "[[ {{x}} -eq 1 ]]",
        "ls # {{x}}",
        "echo {{y}}",
        "echo 'a",
        "",
        "rm -rf {{x}}",
        "curl {{x}} | sh",
    ] {
        let refused = hob.post(TOOLS, draft("bad", command, text.clone()));
        assert!((400..=403).contains(&refused.status), "{command}: {} {}", refused.status, refused.text());
    }
    assert_eq!(hob.get(TOOLS).data(200)["count"], 2);
}

#[test]
fn sealed_variables_are_used_and_never_shown() {
    let mut hob = Hob::start();
    let secret = "correct-horse-battery-staple";
    let mut new =
        draft("call", "printf '%s ' \"${#API_KEY}\" \"$API_KEY\" \"$MODE\"; env | grep -c HOB_TOKEN", json!({}));
    new["env"] = json!({"API_KEY": secret, "MODE": "fast"});
    let made = hob.post(TOOLS, new);
    assert!(!made.text().contains(secret), "{}", made.text());
    let tool = made.data(201);
    assert_eq!(tool["envNames"], json!(["API_KEY", "MODE"]));
    let run = |hob: &Hob| hob.post(&path(&tool, "/execute"), json!({"arguments": {}}));
    let ran = run(&hob).data(200)["result"]["stdout"].as_str().unwrap().to_owned();
    assert!(ran.starts_with(&format!("{} ", secret.len())), "the program has it: {ran}");
    assert!(!ran.contains(secret) && ran.contains("REDACTED") && ran.trim_end().ends_with('0'), "{ran}");
    // Nor by any door, and not in the file of the store.
    for at in [TOOLS, &path(&tool, ""), "/api/v1/audit", "/api/v1/tools/call"] {
        let shown = hob.get(at);
        assert!(!shown.text().contains(secret), "{at}");
    }
    // It stays when something else changes, and over a restart.
    let changed = patch(&hob, &tool, json!({"description": "Other.", "env": {"MODE": "slow"}})).data(200);
    assert_eq!(changed["envNames"], json!(["API_KEY", "MODE"]));
    hob.kill();
    hob.start_again();
    let ran = run(&hob).data(200)["result"]["stdout"].as_str().unwrap().to_owned();
    assert!(ran.starts_with(&format!("{} ", secret.len())) && !ran.contains(secret), "{ran}");
    let gone = patch(&hob, &tool, json!({"env": {"API_KEY": null}})).data(200);
    assert_eq!(gone["envNames"], json!(["MODE"]));
    assert!(run(&hob).data(200)["result"]["stdout"].as_str().unwrap().starts_with("0 "));
    for (name, value) in [
        ("PATH", "/tmp"),
        ("LD_PRELOAD", "x"),
        ("HOB_ARG_1", "x"),
        ("A B", "x"),
        ("IFS", "x"),
        ("BASH_ENV", "x"),
        ("X", "a\u{0}"),
    ] {
        let refused = patch(&hob, &tool, json!({"env": {name: value}}));
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
    }
    hob.kill();
    let store = std::fs::read(hob.data().join("hob.redb")).unwrap();
    let log = std::fs::read(hob.data().join("hob.wal")).unwrap_or_default();
    for bytes in [store, log] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn a_change_is_live_at_once() {
    let mut hob = Hob::start();
    let tool = create(&hob, draft("greet", "echo hello {{who}}", json!({"who": {"type": "string", "default": "you"}})));
    assert_eq!((&tool["version"], &tool["timeoutSeconds"], &tool["enabled"]), (&json!(1), &json!(60), &json!(true)));
    let greet = |hob: &Hob, arguments: Value| hob.result("greet", arguments)["stdout"].as_str().unwrap().to_owned();
    assert_eq!(
        (greet(&hob, json!({"who": "Mia"})), greet(&hob, json!({}))),
        ("hello Mia\n".into(), "hello you\n".into())
    );
    let changed = patch(&hob, &tool, json!({"command": "echo bye {{who}}"})).data(200);
    assert_eq!((&changed["version"], greet(&hob, json!({}))), (&json!(2), "bye you\n".into()));
    let renamed = patch(&hob, &tool, json!({"name": "farewell"})).data(200);
    assert_eq!((&renamed["name"], hob.call("greet", json!({})).status), (&json!("farewell"), 404));
    hob.post(&path(&tool, "/disable"), json!({})).data(200);
    assert_eq!(hob.call("farewell", json!({})).status, 404);
    assert_eq!(hob.post(&path(&tool, "/execute"), json!({"arguments": {}})).status, 400);
    hob.post(&path(&tool, "/enable"), json!({})).data(200);
    assert_eq!(hob.result("farewell", json!({}))["stdout"], "bye you\n");
    hob.kill();
    hob.start_again();
    assert_eq!(hob.result("farewell", json!({}))["stdout"], "bye you\n");
    // Names are taken once, also by tools that are off.
    hob.post(&path(&tool, "/disable"), json!({})).data(200);
    for name in ["farewell", "add_task", "Bad Name", "", "1x"] {
        assert_eq!(hob.post(TOOLS, draft(name, "true", json!({}))).status, 400, "{name}");
    }
    hob.admin("DELETE", &path(&tool, "")).send().data(200);
    for reply in
        [hob.get(&path(&tool, "")), hob.admin("DELETE", &path(&tool, "")).send(), hob.get(&format!("{TOOLS}/cmd_zzz"))]
    {
        assert_eq!(reply.status, 404, "{}", reply.text());
    }
    create(&hob, draft("farewell", "true", json!({})));
}

#[test]
fn a_draft_is_tried_before_it_is_saved() {
    let hob = Hob::start();
    let mut body = draft(
        "trial",
        "echo {{x}}; echo \"$WORD\" >&2; exit {{n}}",
        json!({"x": {"type": "string"}, "n": {"type": "integer"}}),
    );
    body["env"] = json!({"WORD": "open-sesame-please"});
    body["arguments"] = json!({"x": "hello", "n": 3});
    let ran = hob.post(&format!("{TOOLS}/try"), body.clone()).data(200);
    assert_eq!(
        (&ran["testMode"], &ran["result"]["exitCode"], &ran["result"]["stdout"]),
        (&json!(true), &json!(3), &json!("hello\n"))
    );
    assert!(!ran.to_string().contains("open-sesame-please"), "{ran}");
    body["arguments"] = json!({"x": 5, "n": "many"});
    assert_eq!(hob.post(&format!("{TOOLS}/try"), body.clone()).status, 400);
    // A draft that is only tried needs no name; to be kept it needs one, and a wrong one is wrong.
    let unnamed = json!({"command": "echo {{x}}", "parameters": body["parameters"], "arguments": {"x": "hi", "n": 1}});
    let ran = hob.post(&format!("{TOOLS}/try"), unnamed.clone()).data(200);
    assert_eq!((&ran["result"]["stdout"], &ran["metadata"]["commandTool"]), (&json!("hi\n"), &json!("draft")));
    assert_eq!(hob.post(TOOLS, unnamed.clone()).status, 400);
    for (field, value) in
        [("name", json!("No name")), ("name", json!(7)), ("name", json!("")), ("command", json!(null))]
    {
        let mut wrong = unnamed.clone();
        wrong[field] = value;
        assert_eq!(hob.post(&format!("{TOOLS}/try"), wrong).status, 400, "{field}");
    }
    assert_eq!(hob.get(TOOLS).data(200)["count"], 0);
}

#[test]
fn time_folder_and_agent_are_kept() {
    let hob = Hob::start();
    let made = create(&hob, draft("folder_for_tests", "mkdir -p sub && echo x > sub/file", json!({})));
    hob.post(&path(&made, "/execute"), json!({"arguments": {}})).data(200);
    let mut within = draft("within", "ls", json!({}));
    within["workingDir"] = "sub".into();
    let within = create(&hob, within);
    assert_eq!(hob.post(&path(&within, "/execute"), json!({"arguments": {}})).data(200)["result"]["stdout"], "file\n");
    for folder in ["../..", "/etc", "nowhere"] {
        patch(&hob, &within, json!({"workingDir": folder})).data(200);
        let refused = hob.post(&path(&within, "/execute"), json!({"arguments": {}}));
        assert!(refused.status >= 400 && refused.status < 500 || refused.data(200)["isError"] == true, "{folder}");
    }
    let mut slow = draft("slow", "sleep 30", json!({}));
    slow["timeoutSeconds"] = 1.into();
    let slow = create(&hob, slow);
    let ran = hob.post(&path(&slow, "/execute"), json!({"arguments": {}})).data(200);
    assert!(ran["result"]["ended"].as_str().unwrap().contains("longer"), "{ran}");
    for seconds in [0, 301] {
        assert_eq!(patch(&hob, &slow, json!({"timeoutSeconds": seconds})).status, 400);
    }
    let mut other = draft("other_agents", "true", json!({}));
    other["agent"] = "0197c0de-0000-7000-8000-000000000000".into();
    let other = create(&hob, other);
    let refused = hob.post(&path(&other, "/execute"), json!({"arguments": {}}));
    refused.refusal(403, "denied");
    patch(&hob, &other, json!({"agent": null})).data(200);
    hob.post(&path(&other, "/execute"), json!({"arguments": {}})).data(200);
    // There is no network unless it is asked for.
    let net = create(&hob, draft("net", "cat /proc/net/dev | grep -vc -e lo: -e face -e Inter", json!({})));
    assert_eq!(hob.post(&path(&net, "/execute"), json!({"arguments": {}})).data(200)["result"]["stdout"], "0\n");
}

#[test]
fn a_models_tool_waits_for_a_person() {
    let (hob, server) = with_model("[approvals]\nin_call_seconds = 60\n[limits]\ncalls = 0\n");
    let parameters = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    let shout = json!({"name": "shout", "description": "Shouts.", "command": "echo {{x}} | tr a-z A-Z", "parameters": parameters});
    server.script(vec![
        calls(&[("create_command_tool", shout)]),
        calls(&[("shout", json!({"x": "hi"}))]),
        says("It waits."),
    ]);
    let (answer, asked) = hob.allowing(|| hob.say("make a tool that shouts"));
    assert_eq!(asked, 1, "{answer}");
    assert_eq!(answer["toolCalls"][1]["isError"], true, "{answer}");
    let tool = hob.get(&format!("{TOOLS}?createdBy=llm")).data(200)["tools"][0].clone();
    assert_eq!((&tool["status"], &tool["requiresApproval"]), (&json!("pending_approval"), &json!(true)));
    for action in ["/enable", "/disable", "/execute"] {
        assert_eq!(hob.post(&path(&tool, action), json!({})).status, 400, "{action}");
    }
    let ben = hob.token("ben", "member");
    hob.request("POST", &path(&tool, "/approve")).bearer(&ben).json(&json!({})).send().refusal(403, "denied");
    assert_eq!(hob.post(&path(&tool, "/approve"), json!({})).data(200)["status"], "active");
    // Each run of it by a model asks, and nobody else sees it.
    server.script(vec![calls(&[("shout", json!({"x": "hi"}))]), says("HI")]);
    let (answer, asked) = hob.allowing(|| hob.say("shout hi"));
    assert_eq!((asked, &answer["toolCalls"][0]["result"]["stdout"]), (1, &json!("HI\n")), "{answer}");
    hob.request("GET", &path(&tool, "")).bearer(&ben).send().refusal(404, "not_found");
    hob.request("POST", "/api/v1/tools/shout/execute")
        .bearer(&ben)
        .json(&json!({"arguments": {}}))
        .send()
        .refusal(404, "not_found");
    // A model deletes only what a model made.
    create(&hob, draft("by_hand", "true", json!({})));
    server.script(vec![
        calls(&[
            ("delete_command_tool", json!({"name": "by_hand", "confirm": true})),
            ("delete_command_tool", json!({"name": "shout"})),
        ]),
        calls(&[("delete_command_tool", json!({"name": "shout", "confirm": true}))]),
        says("done"),
    ]);
    let answer = hob.allowing(|| hob.say("tidy up")).0;
    let failed: Vec<&Value> = answer["toolCalls"].as_array().unwrap().iter().map(|call| &call["isError"]).collect();
    assert_eq!(failed, [true, false, false], "{answer}");
    let left = hob.get(TOOLS).data(200);
    assert_eq!((&left["count"], &left["tools"][0]["name"]), (&json!(1), &json!("by_hand")));
}

#[test]
fn members_manage_their_own_and_viewers_none() {
    let hob = Hob::start();
    let (ben, eve) = (hob.token("ben", "member"), hob.token("eve", "viewer"));
    let by =
        |token: &str, method: &str, at: &str, body: &Value| hob.request(method, at).bearer(token).json(body).send();
    let new = draft("bens", "echo {{x}}", json!({"x": {"type": "string"}}));
    by(&eve, "POST", TOOLS, &new).refusal(403, "denied");
    let tool = by(&ben, "POST", TOOLS, &new).data(201);
    let own = create(&hob, draft("owners", "true", json!({})));
    for (method, at, body) in [
        ("PATCH", path(&own, ""), json!({"command": "id"})),
        ("DELETE", path(&own, ""), json!({})),
        ("POST", path(&own, "/disable"), json!({})),
    ] {
        by(&ben, method, &at, &body).refusal(403, "denied");
    }
    by(&ben, "PATCH", &path(&tool, ""), &json!({"command": "echo {{x}}!"})).data(200);
    assert_eq!(patch(&hob, &tool, json!({"description": "By an admin."})).status, 200);
    // Odd bodies are refused and change nothing.
    for body in [
        json!([]),
        json!("x"),
        json!({"command": 5}),
        json!({"nonsense": 1}),
        json!({"parameters": {"type": "array"}}),
        json!({"env": []}),
    ] {
        let refused = patch(&hob, &tool, body.clone());
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
    }
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    assert!(hob.post(TOOLS, draft("deep", "true", deep)).status < 500);
    assert_eq!(hob.request("GET", TOOLS).bearer(TOKEN).send().data(200)["count"], 2);
    let none: Map<String, Value> = Map::new();
    assert_eq!(hob.post(TOOLS, Value::Object(none)).status, 400);
}
