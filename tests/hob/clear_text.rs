//! No secret is accepted without TLS: daemon and clients in a network namespace with a non-loopback address.

use crate::harness::{Folder, Hob, TOKEN, binary, run};
use serde_json::{Value, json};
use std::process::Command;

/// Starts the daemon at an address of another network and sends each request of `$1`, a file of `METHOD PATH BODY`
/// lines.
const SCRIPT: &str = r#"
ip link set lo up && ip addr add 10.9.9.9/8 dev lo || exit 9
"$3" serve --data "$2/data" --board sim --listen 10.9.9.9:4999 --no-mdns >"$2/out" 2>"$2/err" &
hob=$!
for _ in $(seq 300); do grep -q '^hob ready' "$2/out" && break; sleep 0.1; done
while read -r method path body; do
    exec 3<>/dev/tcp/10.9.9.9/4999
    printf '%s %s HTTP/1.1\r\nhost: 10.9.9.9:4999\r\nauthorization: Bearer %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' \
        "$method" "$path" "$HOB_TOKEN" "${#body}" "$body" >&3
    cat <&3 | tail -n 1
    echo
done <"$1"
kill $hob
"#;

/// The answers to unencrypted requests from another machine; `None` where network namespaces are unavailable.
fn asked(requests: &[(&str, &str, Value)]) -> Option<Vec<Value>> {
    let unshared = |more: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-rn"]).args(more).env("HOB_TOKEN", TOKEN);
        command
    };
    if !unshared(&["true"]).status().is_ok_and(|status| status.success()) {
        return None;
    }
    let folder = Folder::new();
    let lines: String = requests.iter().map(|(method, path, body)| format!("{method} {path} {body}\n")).collect();
    std::fs::write(folder.path("requests"), lines).unwrap();
    let (file, hob) = (folder.path("requests"), binary());
    let arguments = [file.to_str().unwrap(), folder.0.to_str().unwrap(), hob.to_str().unwrap()];
    let out = run(unshared(&[&["bash", "-c", SCRIPT, "bash"], &arguments[..]].concat()), "").ok();
    let answers: Vec<Value> =
        out.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), requests.len(), "{out}");
    Some(answers)
}

#[test]
fn no_secret_is_taken_or_told_in_clear_text_from_another_machine() {
    const KEY: &str = "sk-0123456789abcdefghij";
    let entry = json!({"service": "weather", "fields": {"api_key": KEY}, "create": true});
    let execute = |args: Value| json!({"arguments": args});
    let refused = [
        ("PUT", "/api/v1/providers/openai", json!({"key": KEY})),
        ("POST", "/api/v1/providers/openai/try", json!({"key": KEY})),
        ("PUT", "/api/v1/model", json!({"model": "x", "key": KEY})),
        ("POST", "/api/v1/session", json!({"token": KEY})),
        ("POST", "/api/v1/people", json!({"name": "Eve", "role": "member", "password": KEY})),
        ("POST", "/api/v1/tokens", json!({"name": "x", "role": "viewer"})),
        ("POST", "/api/v1/backup", json!({})),
        ("POST", "/api/v1/config-services/weather/entries", json!({"fields": {"api_key": KEY}})),
        ("POST", "/api/v1/tools/config_set_entry/execute", execute(entry.clone())),
        (
            "POST",
            "/api/v1/tools/use_tool/execute",
            execute(json!({"tool_name": "config_set_entry", "arguments": entry})),
        ),
        (
            "POST",
            "/api/v1/tools/batch_use_tool/execute",
            execute(json!({"operations": [{"tool": "config_set_entry", "args": entry}]})),
        ),
        ("POST", "/api/v1/tools/generate_password/execute", execute(json!({}))),
    ];
    let open = [
        ("GET", "/api/v1/session", json!({})),
        ("GET", "/api/v1/providers", json!({})),
        ("GET", "/api/v1/config-services", json!({})),
        ("POST", "/api/v1/tools/add_task/execute", execute(json!({"title": "water the plants"}))),
    ];
    let Some(answers) = asked(&[&refused[..], &open[..]].concat()) else {
        eprintln!("skipped: this machine does not let a test make a network");
        return;
    };
    for ((method, path, _), answer) in refused.iter().zip(&answers) {
        let text = answer.to_string();
        assert!(text.contains("others can read along"), "{method} {path}: {text}");
    }
    for ((method, path, _), answer) in open.iter().zip(&answers[refused.len()..]) {
        assert_eq!(answer["success"], true, "{method} {path}: {answer}");
    }
    let services = answers[refused.len() + 2]["data"]["services"].as_array().unwrap();
    assert!(services.iter().all(|service| service["entries"] == json!([])), "no service was set up: {services:?}");
}

#[test]
fn a_schedule_or_trigger_returns_no_secret() {
    let execute = |args: Value| json!({"arguments": args});
    let armed = |name: &str, tool: &str| json!({"name": name, "schedule": "every day at 07:00", "tool": tool});
    let parameters = json!({"type": "object", "properties": {}});
    let code = "return await utils.callTool('generate_password', {});";
    let wrapped = json!({"name": "wrapped", "description": "x", "parameters": parameters, "code": code});
    let check = json!({"tool": "generate_password", "path": "password", "op": "changed"});
    let event = json!({"name": "t", "type": "event", "config": {"topic": "pin:changed"}, "tool": "generate_password"});
    let looks = json!({"name": "c", "type": "condition", "config": {"check": check}, "message": "look"});
    let job = json!({"action": "add", "name": "p", "schedule": "0 7 * * *", "tool": "generate_password"});
    let requests = [
        ("create_scheduled_task", armed("p", "generate_password"), "returns a secret"),
        ("create_scheduled_task", armed("p", "use_tool"), "tool_name"),
        ("cron", job, "returns a secret"),
        ("create_trigger", event, "returns a secret"),
        ("create_trigger", looks, "returns a secret"),
        // A tool around it can be armed, and fails then: by hand where others read along, and at its time.
        ("create_scheduled_task", armed("w", "wrapped"), ""),
        ("trigger_task", json!({"taskId": "w"}), "handles secrets, and others can read along"),
        ("cron", json!({"action": "run", "jobId": "w"}), "handles secrets, and others can read along"),
        ("get_task_history", json!({"taskId": "w"}), "handles secrets, and others can read along"),
    ];
    let path = |tool: &str| format!("/api/v1/tools/{tool}/execute");
    let hob = Hob::start();
    hob.post("/api/v1/custom-tools", wrapped.clone()).data(201);
    for (tool, args, expected) in &requests[..6] {
        let text = hob.post(&path(tool), execute(args.clone())).text();
        assert!(text.contains(expected), "{tool} {args}: {text}");
    }
    let told = hob.post(&path("trigger_task"), execute(json!({"taskId": "w"}))).text();
    assert!(told.contains("results of schedules and triggers are stored"), "{told}");
    hob.result("generate_password", json!({}));

    let paths = requests.each_ref().map(|(tool, ..)| path(tool));
    let mut all = vec![("POST", "/api/v1/custom-tools", wrapped)];
    all.extend(requests.iter().zip(&paths).map(|((_, args, _), path)| ("POST", path.as_str(), execute(args.clone()))));
    let Some(answers) = asked(&all) else {
        eprintln!("skipped: this machine does not let a test make a network");
        return;
    };
    for ((tool, args, expected), answer) in requests.iter().zip(&answers[1..]) {
        let text = answer.to_string();
        assert!(text.contains(expected) && !text.contains("\"password\""), "{tool} {args}: {text}");
    }
}
