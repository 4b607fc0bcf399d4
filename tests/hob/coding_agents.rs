//! Coding agents: a scripted program in their place. Its terminal is watched and typed into, its result outlives a restart, its key
//! is in its environment only, and members use it only if an admin says so.

use crate::{
    approvals::{asked, decide, that_waits},
    harness::{Hob, until},
    http::Reply,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, thread};

const AT: &str = "/api/v1/coding-agents";
const KEY: &str = "sk-agent-Qm81xZk29fLwTt77RrBb04Nn";

/// A coding agent that does what its prompt says.
const AGENT: &str = r#"#!/bin/sh
printf '\033[1mworking on:\033[0m %s (%s, %s turns, %s USD)\n' "$1" "$2" "$3" "$4"
tty >/dev/null && echo "terminal: yes"
echo "key: $MY_AGENT_KEY ${#MY_AGENT_KEY}"
case "$1" in
*ask*) printf 'Which file? '; read -r name; echo "got $name"; echo asked > "$name" ;;
*slow*) while :; do echo tick; sleep 0.1; done ;;
*fail*) echo 'it cannot be done'; exit 7 ;;
*error*) echo '{"type":"result","is_error":true}'; exit 0 ;;
*) echo 'def total(items): return sum(items)' > sums.py ;;
esac
echo '{"type":"result","total_cost_usd":0.0421,"is_error":false}'
"#;

fn set(hob: &Hob, name: &str, settings: Value) -> Reply {
    hob.admin("PUT", &format!("{AT}/{name}")).json(&settings).send()
}

/// Sets up the scripted agent as `custom:script`, with a service that holds its key.
pub fn ready(hob: &Hob) {
    let path = hob.folder.path("agent");
    fs::write(&path, AGENT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    hob.admin("PUT", "/api/v1/config-services/my-agent").json(&json!({})).send().data(200);
    hob.post("/api/v1/config-services/my-agent/entries", json!({"fields": {"api_key": KEY}})).data(201);
    let settings = json!({
        "title": "Script",
        "path": path,
        "args": ["{prompt}", "no model", "{max_turns}", "{max_budget_usd}"],
        "service": "my-agent",
        "keyVariables": ["MY_AGENT_KEY"],
    });
    set(hob, "script", settings).data(200);
}

fn task(prompt: &str, more: Value) -> Value {
    let mut call = json!({"provider": "custom:script", "prompt": prompt});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn run(hob: &Hob, prompt: &str, more: Value) -> Value {
    hob.result("run_coding_task", task(prompt, more))
}

fn result(hob: &Hob, id: &Value) -> Value {
    hob.result("get_task_result", json!({"resultId": id}))
}

fn output(result: &Value) -> &str {
    result["output"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn a_task_is_done_in_the_workspace_and_its_result_outlives_a_restart() {
    let mut hob = Hob::start();
    ready(&hob);
    let reply = hob.call("run_coding_task", task("write the sum", json!({"max_turns": 4, "max_budget_usd": 0.5})));
    assert!(!reply.text().contains(KEY), "{}", reply.text());
    let done = reply.data(200)["result"].take();
    assert_eq!(
        (&done["success"], &done["status"], &done["exitCode"], &done["costUsd"]),
        (&json!(true), &json!("exited"), &json!(0), &json!(0.0421)),
        "{done}"
    );
    assert_eq!((&done["provider"], &done["prompt"]), (&json!("custom:script"), &json!("write the sum")));
    assert!(done["durationMs"].is_u64());
    let printed = output(&done);
    assert!(printed.contains("working on: write the sum (no model, 4 turns, 0.50 USD)"), "{printed}");
    assert!(printed.contains("terminal: yes"), "{printed}");
    assert!(printed.contains(&format!("key: [REDACTED] {}", KEY.len())), "{printed}");
    let file = hob.result("exec", json!({"command": "cat sums.py"}));
    assert!(file["stdout"].as_str().unwrap().starts_with("def total"), "{file}");
    for (prompt, code) in [("fail please", 7), ("an error", 0)] {
        let failed = run(&hob, prompt, json!({}));
        assert_eq!((&failed["success"], &failed["exitCode"]), (&json!(false), &json!(code)), "{failed}");
    }
    hob.kill();
    hob.start_again();
    let again = result(&hob, &done["resultId"]);
    assert_eq!((output(&again), &again["costUsd"]), (printed, &done["costUsd"]));
    let listed = hob.result("list_task_results", json!({"limit": 2, "provider": "custom:script"}));
    assert_eq!((&listed["count"], &listed["hasMore"]), (&json!(2), &json!(true)), "{listed}");
    assert_eq!(listed["results"][0]["prompt"], "an error");
    hob.call("get_task_result", json!({"resultId": "0197c0de-0000-7000-8000-000000000000"})).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn a_task_is_watched_steered_stopped_and_ends_in_time() {
    let mut hob = Hob::start();
    ready(&hob);
    let started = run(&hob, "ask me", json!({"wait": false}));
    assert_eq!((&started["status"], &started["success"]), (&json!("running"), &json!(false)));
    let at = format!("/api/v1/processes/{}", started["sessionId"].as_str().unwrap());
    until("the question", || hob.get(&at).data(200)["output"].as_str().unwrap().contains("Which file?"));
    let session = hob.get(&at).data(200);
    assert_eq!((&session["kind"], &session["terminal"]), (&json!("coding"), &json!(true)), "{session}");
    hob.post(&format!("{at}/input"), json!({"text": "answer.txt\n"})).data(200);
    until("the end", || result(&hob, &started["resultId"])["status"] != "running");
    let done = result(&hob, &started["resultId"]);
    assert!(output(&done).contains("got answer.txt") && done["success"] == true, "{done}");
    // Stopped by a person.
    let slow = run(&hob, "be slow", json!({"wait": false}));
    let at = format!("/api/v1/processes/{}", slow["sessionId"].as_str().unwrap());
    until("output", || hob.get(&at).data(200)["output"].as_str().unwrap().contains("tick"));
    hob.post(&format!("{at}/stop"), json!({})).data(200);
    let stopped = result(&hob, &slow["resultId"]);
    assert_eq!((&stopped["status"], &stopped["success"]), (&json!("stopped"), &json!(false)));
    // Its time is up.
    let late = run(&hob, "be slow", json!({"timeout_seconds": 5}));
    assert_eq!((&late["status"], &late["success"]), (&json!("timed-out"), &json!(false)), "{late}");
    // Hob is killed meanwhile.
    let lost = run(&hob, "be slow", json!({"wait": false}));
    hob.kill();
    hob.start_again();
    let lost = result(&hob, &lost["resultId"]);
    assert_eq!((&lost["status"], &lost["success"]), (&json!("lost"), &json!(false)), "{lost}");
    hob.assert_alive();
}

#[test]
fn a_run_that_is_cancelled_ends_its_task() {
    let (hob, server) = that_waits(60, "");
    ready(&hob);
    server.script(vec![calls(&[("run_coding_task", task("be slow", json!({})))]), says("done")]);
    thread::scope(|scope| {
        let chat = scope.spawn(|| hob.post("/api/v1/chat", json!({"message": "let the script do it"})));
        // It asks first: it costs money, and changes files.
        let question = asked(&hob, 1).remove(0);
        assert_eq!(question["tool"], "run_coding_task");
        decide(&hob, &question, "allow_once");
        let running = || hob.get("/api/v1/processes?kind=coding").data(200)["processes"].clone();
        until("the task", || running()[0]["status"] == "running");
        let id = question["runId"].as_str().unwrap();
        hob.post(&format!("/api/v1/runs/{id}/cancel"), json!({})).data(200);
        until("its end", || running()[0]["status"] == "stopped");
        let _ = chat.join().unwrap();
    });
}

#[test]
fn who_may_use_an_agent_is_an_admins_choice() {
    let mut hob = Hob::start();
    ready(&hob);
    let (member, viewer) = (hob.token("mia", "member"), hob.token("vera", "viewer"));
    let as_one = |token: &str| {
        let body = json!({"arguments": task("write the sum", json!({}))});
        hob.request("POST", "/api/v1/tools/run_coding_task/execute").bearer(token).json(&body).send()
    };
    as_one(&member).refusal(403, "denied");
    let path = hob.folder.path("agent");
    let theirs =
        hob.request("PUT", &format!("{AT}/script")).bearer(&member).json(&json!({"members": true, "path": path}));
    theirs.send().refusal(403, "denied");
    let listed = hob.request("GET", AT).bearer(&member).send().data(200);
    let script = |listed: &Value| listed["agents"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&script(&listed)["available"], &script(&listed)["installed"]),
        (&json!(false), &json!(true)),
        "{listed}"
    );
    let open = json!({
        "title": "Script", "path": path, "args": ["{prompt}"], "members": true,
        "service": "my-agent", "keyVariables": ["MY_AGENT_KEY"],
    });
    set(&hob, "script", open.clone()).data(200);
    let done = as_one(&member).data(200)["result"].take();
    assert_eq!(done["success"], true);
    as_one(&viewer).refusal(403, "denied");
    // Results are their owner's.
    assert_eq!(hob.result("list_task_results", json!({}))["count"], 0);
    hob.call("get_task_result", json!({"resultId": done["resultId"]})).refusal(404, "not_found");
    let mut off = open;
    off["enabled"] = false.into();
    set(&hob, "script", off).data(200);
    hob.call("run_coding_task", task("write the sum", json!({}))).refusal(409, "unavailable");
    hob.admin("DELETE", &format!("{AT}/custom:script")).send().data(200);
    hob.call("run_coding_task", task("write the sum", json!({}))).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn an_admin_sees_what_is_set_and_variables_stay_until_they_are_replaced() {
    let mut hob = Hob::start();
    ready(&hob);
    let path = hob.folder.path("agent");
    let settings = |more: Value| {
        let mut settings = json!({"path": path, "args": ["{prompt}", "$X"], "hosts": ["packages.example.org"]});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    set(&hob, "script", settings(json!({"env": {"REGION": "eu-1-unseen", "SHADE": "x"}}))).data(200);
    let script = |reply: Reply| reply.data(200)["agents"].as_array().unwrap().last().unwrap().clone();
    for (given, expected) in [
        (json!({}), json!(["REGION", "SHADE"])),
        (json!({"env": {"SHADE": "y"}}), json!(["SHADE"])),
        (json!({"env": {}}), json!([])),
    ] {
        set(&hob, "script", settings(given)).data(200);
        let seen = script(hob.admin("GET", AT).send());
        assert_eq!((&seen["custom"], &seen["settings"]["envSet"]), (&json!(true), &expected), "{seen}");
        assert_eq!(seen["settings"]["hosts"], json!(["packages.example.org"]));
        assert!(!seen.to_string().contains("unseen"));
    }
    let codex = |hob: &Hob| hob.admin("GET", AT).send().data(200)["agents"][1].take();
    assert_eq!(codex(&hob)["settings"], Value::Null, "nothing was set");
    set(&hob, "codex", json!({"members": true})).data(200);
    assert_eq!((&codex(&hob)["settings"]["path"], &codex(&hob)["custom"]), (&json!(""), &json!(false)));
    // Neither a member nor a tool sees it.
    let member = hob.token("mia", "member");
    assert!(script(hob.request("GET", AT).bearer(&member).send()).get("settings").is_none());
    assert!(hob.result("list_coding_agents", json!({}))["agents"][4].get("settings").is_none());
    hob.assert_alive();
}

#[test]
fn what_cannot_run_says_why() {
    let mut hob = Hob::start();
    ready(&hob);
    let listed = hob.result("list_coding_agents", json!({}));
    let agents = listed["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["provider"].as_str().unwrap()).collect();
    assert_eq!(names, ["claude-code", "codex", "gemini-cli", "aider", "custom:script"]);
    let script = agents.last().unwrap();
    assert_eq!(
        (&script["installed"], &script["configured"], &script["available"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert!(agents[0]["problem"].is_string() && agents[0]["service"] == "anthropic", "{listed}");
    for (call, status, why) in [
        (json!({"provider": "claude-code", "prompt": "x"}), 409, ""),
        (json!({"provider": "nobody", "prompt": "x"}), 404, "claude-code"),
        (json!({"provider": "custom:nobody", "prompt": "x"}), 404, "custom:script"),
        (task(" ", json!({})), 400, "prompt"),
        (task("x", json!({"model": "--evil"})), 400, "model"),
        (task("x", json!({"max_budget_usd": -1})), 400, "max_budget_usd"),
        (task("x", json!({"max_turns": 0})), 400, "max_turns"),
    ] {
        let refused = hob.call("run_coding_task", call.clone());
        let text = refused.text();
        assert!(refused.status == status && text.contains(why), "{call}: {text}");
    }
    for (name, settings) in [
        ("mine", json!({})),
        ("mine", json!({"path": "/no/such/agent"})),
        ("mine", json!({"path": "/bin/sh", "args": ["no prompt"]})),
        ("mine", json!({"path": "/bin/sh", "env": {"LD_PRELOAD": "x"}})),
        ("codex", json!({"args": ["{prompt}"]})),
    ] {
        assert_eq!(set(&hob, name, settings.clone()).status, 400, "{name} {settings}");
    }
    // Without its key it does not run.
    hob.admin("DELETE", "/api/v1/config-services/my-agent").send().data(200);
    let refused = hob.call("run_coding_task", task("x", json!({}))).refusal(409, "unavailable");
    assert!(refused.contains("my-agent"), "{refused}");
    hob.assert_alive();
}
