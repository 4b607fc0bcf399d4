//! Questions, forms and displays: in a run, across a power cut, from a schedule, and at the terminal.

use crate::{
    approvals::that_waits,
    harness::{Hob, binary, hob_with, run, until},
    http::Reply,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{process::Command, thread};

/// The owner's pending interactions, newest first.
fn waiting(hob: &Hob) -> Vec<Value> {
    let listed = hob.get("/api/v1/interactions").data(200);
    let all = listed["interactions"].as_array().unwrap().clone();
    assert_eq!(listed["count"], all.len());
    all
}

/// Waits until so many are open.
pub fn open(hob: &Hob, count: usize) -> Vec<Value> {
    let mut open = vec![];
    until("the question", || {
        open = waiting(hob);
        open.len() == count
    });
    open
}

fn at(one: &Value, what: &str) -> String {
    format!("/api/v1/interactions/{}{what}", one["id"].as_str().unwrap())
}

fn respond(hob: &Hob, one: &Value, answer: Value) -> Reply {
    hob.post(&at(one, "/respond"), answer)
}

/// Calls a tool that waits for a person, and answers for them.
pub fn call_and_answer(hob: &Hob, tool: &str, arguments: Value, answer: Value) -> Reply {
    thread::scope(|scope| {
        let called = scope.spawn(|| hob.call(tool, arguments));
        respond(hob, &open(hob, 1)[0], answer).data(200);
        called.join().unwrap()
    })
}

fn ask(text: &str, options: &[&str]) -> (&'static str, Value) {
    ("ask_user", json!({"question": text, "options": options}))
}

/// Waits until the last message of a conversation is this one.
fn said(hob: &Hob, conversation: &str, text: &str) {
    until(text, || {
        let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
        kept["messages"].as_array().unwrap().last().is_some_and(|m| m["content"] == text)
    });
}

/// The tool results in the model's last request.
fn told(server: &ModelServer) -> Vec<Value> {
    let results = server.asked().pop().expect("a request").messages("tool");
    results
        .iter()
        .map(|r| serde_json::from_str(r["content"].as_str().unwrap()).unwrap_or(r["content"].clone()))
        .collect()
}

fn form() -> Value {
    json!([
        {"type": "markdown", "content": "# Party"},
        {"type": "table", "columns": [{"key": "who", "label": "Who"}, {"key": "n", "label": "N"}], "data": [{"who": "Nora", "n": 2}]},
        {"type": "form", "submitLabel": "Send", "fields": [
            {"name": "guests", "label": "How many guests?", "type": "number", "required": true},
            {"name": "when", "label": "When?", "type": "date", "default": "2026-12-24"},
            {"name": "food", "label": "Food", "type": "select", "options": ["Soup", "Stew"]},
            {"name": "music", "label": "Music?", "type": "checkbox"},
        ]},
    ])
}

#[test]
fn a_run_asks_and_goes_on_with_the_answer() {
    let (mut hob, server) = that_waits(60, "");
    let message = ("send_message", json!({"text": "one moment"}));
    server.script(vec![calls(&[message, ask("Which room?", &["Kitchen", "Workshop"])]), says("the kitchen, then")]);
    let mut events = hob.stream(json!({"message": "light, please"}));
    let run = events.next().unwrap().1;
    let mut heard = vec![];
    let asked = loop {
        let (name, data) = events.next().expect("a question");
        match name.as_str() {
            "ask" => break data,
            "message" => heard.push(data["text"].clone()),
            _ => {}
        }
    };
    assert_eq!(heard, ["one moment"]);
    assert_eq!((&asked["question"], &asked["options"]), (&json!("Which room?"), &json!(["Kitchen", "Workshop"])));
    let shown = waiting(&hob).remove(0);
    for (field, expected) in [
        ("id", &asked["id"]),
        ("kind", &json!("ask")),
        ("state", &json!("pending")),
        ("runId", &run["runId"]),
        ("conversationId", &run["conversationId"]),
        ("question", &json!("Which room?")),
        ("blocks", &json!([])),
        ("code", &Value::Null),
        ("answer", &Value::Null),
        ("answeredAt", &Value::Null),
        ("expiresAt", &asked["expiresAt"]),
    ] {
        assert_eq!(&shown[field], expected, "{field}: {shown}");
    }
    assert_eq!((shown["expiresAt"].as_u64().unwrap() - shown["createdAt"].as_u64().unwrap()) / 3_600_000, 24);
    assert_eq!(hob.get(&at(&shown, "")).data(200), shown);
    // Only its person answers, and only what was asked.
    let ben = hob.token("ben", "admin");
    for (method, what) in [("GET", ""), ("POST", "/respond"), ("POST", "/dismiss")] {
        let request = hob.request(method, &at(&shown, what));
        request.bearer(&ben).json(&json!({"answer": "Kitchen"})).send().refusal(404, "not_found");
    }
    hob.request("GET", "/api/v1/interactions").send().refusal(401, "unauthorized");
    for (answer, status, code) in [
        (json!({"answer": "Attic"}), 422, "failed"),
        (json!({"answer": ""}), 422, "failed"),
        (json!({"answer": 1}), 400, "bad_args"),
        (json!({}), 400, "bad_args"),
        (json!({"answer": "Kitchen", "action": "submit"}), 400, "bad_args"),
        (json!("Kitchen"), 400, "bad_args"),
    ] {
        respond(&hob, &shown, answer).refusal(status, code);
    }
    let ended = respond(&hob, &shown, json!({"answer": "Kitchen"})).data(200);
    assert_eq!((&ended["state"], &ended["answer"]), (&json!("answered"), &json!({"answer": "Kitchen"})));
    respond(&hob, &shown, json!({"answer": "Workshop"})).refusal(409, "unavailable");
    hob.post(&at(&shown, "/dismiss"), json!({})).refusal(409, "unavailable");
    let end = events.last().unwrap();
    assert_eq!((end.0.as_str(), &end.1["response"]), ("done", &json!("the kitchen, then")), "{end:?}");
    assert_eq!(told(&server), [json!({"ok": true}), json!({"answer": "Kitchen"})]);
    let over = hob.get("/api/v1/interactions?state=answered").data(200);
    assert_eq!((&over["interactions"][0], waiting(&hob).len()), (&ended, 0));
    hob.get("/api/v1/interactions?state=never").refusal(400, "bad_args");
    hob.get("/api/v1/interactions/0192aaaa-0000-7000-8000-000000000000").refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn a_power_cut_while_it_asks_loses_neither_question_nor_answer() {
    let (mut hob, server) = that_waits(60, "");
    for (dismiss, twice) in [(false, false), (true, false), (false, true)] {
        server.script(vec![calls(&[ask("Which?", &[])]), says("so be it"), says("never said")]);
        let mut events = hob.stream(json!({"message": "do it"}));
        let conversation = events.next().unwrap().1["conversationId"].as_str().unwrap().to_owned();
        let asked = events.find(|(name, _)| name == "ask").unwrap().1;
        drop(events);
        hob.kill();
        hob.start_again();
        if twice {
            hob.kill();
            hob.start_again();
        }
        let shown = open(&hob, 1).remove(0);
        assert_eq!(shown["id"], asked["id"], "the same question, and no other");
        server.asked();
        match dismiss {
            true => hob.post(&at(&shown, "/dismiss"), json!({})).data(200),
            false => respond(&hob, &shown, json!({"answer": "the left one"})).data(200),
        };
        said(&hob, &conversation, "so be it");
        assert_eq!(server.left(), 1, "the model was asked once");
        let results = told(&server);
        match dismiss {
            true => {
                assert!(results.len() == 1 && results[0].to_string().contains("put the question aside"), "{results:?}")
            }
            false => assert_eq!(results, [json!({"answer": "the left one"})]),
        }
        assert!(waiting(&hob).is_empty());
    }
    hob.assert_alive();
}

#[test]
fn a_run_that_nobody_answers_rests_and_goes_on_also_after_a_restart() {
    let (mut hob, server) = that_waits(1, "");
    for (cut, stop) in [(false, false), (true, false), (true, true)] {
        let blocks = ("render_blocks", json!({"blocks": form()}));
        let by_facade = ("use_tool", json!({"tool_name": blocks.0, "arguments": blocks.1}));
        let form = if stop { by_facade } else { blocks };
        server.script(vec![calls(&[ask("Which?", &[]), form])]);
        let rested = hob.say("do it");
        let shown = open(&hob, 2);
        // In pages too.
        let first = hob.get("/api/v1/interactions?limit=1").data(200);
        let rest = hob.get(&format!("/api/v1/interactions?before={}", first["next"].as_str().unwrap())).data(200);
        assert_eq!((&first["interactions"][0], &rest["interactions"][0]), (&shown[0], &shown[1]));
        assert_eq!((&rest["count"], &rest["next"]), (&json!(1), &Value::Null));
        let mut ids: Vec<&str> = rested["waiting"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        let mut asked: Vec<&str> = shown.iter().map(|s| s["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        asked.sort_unstable();
        assert_eq!(ids, asked, "{rested}");
        let conversation = rested["conversationId"].as_str().unwrap();
        if cut {
            match stop {
                true => assert_eq!(hob.stop(), Some(0)),
                false => hob.kill(),
            }
            hob.start_again();
        }
        assert_eq!(open(&hob, 2), shown);
        server.asked();
        server.script(vec![says("both are in")]);
        let of = |kind: &str| shown.iter().find(|s| s["kind"] == kind).unwrap();
        respond(&hob, of("ask"), json!({"answer": "this"})).data(200);
        assert_eq!(server.left(), 1, "the form is not there yet");
        let data = json!({"guests": 4, "food": "Stew"});
        respond(&hob, of("blocks"), json!({"action": "submit", "data": data})).data(200);
        said(&hob, conversation, "both are in");
        let submitted = json!({"action": "submit", "data": {"guests": 4, "food": "Stew", "music": false}});
        assert_eq!(told(&server), [json!({"answer": "this"}), submitted]);
        assert_eq!(server.left(), 0);
    }
    // A run that is stopped takes its question along; so does a conversation that is deleted.
    for delete in [false, true] {
        server.script(vec![calls(&[ask("Which?", &[])])]);
        let rested = hob.say("do it");
        let shown = open(&hob, 1).remove(0);
        match delete {
            true => {
                let path = format!("/api/v1/conversations/{}", rested["conversationId"].as_str().unwrap());
                hob.admin("DELETE", &path).send().data(200);
            }
            false => drop(
                hob.post(&format!("/api/v1/runs/{}/cancel", rested["runId"].as_str().unwrap()), json!({})).data(200),
            ),
        }
        assert!(waiting(&hob).is_empty());
        let (status, code) = if delete { (404, "not_found") } else { (409, "unavailable") };
        respond(&hob, &shown, json!({"answer": "late"})).refusal(status, code);
        match delete {
            true => drop(hob.get(&at(&shown, "")).refusal(404, "not_found")),
            false => assert_eq!(hob.get(&at(&shown, "")).data(200)["state"], "expired"),
        }
    }
    hob.assert_alive();
}

#[test]
fn forms_and_components_are_answered_as_they_ask() {
    let (mut hob, server) = that_waits(60, "");
    let code = "function Component({ callTool }) { return h('button', { onClick: () => callTool('ok', {}) }); }";
    let component = ("render_and_wait", json!({"code": code, "props": {"n": 1}, "title": "Press"}));
    server.script(vec![
        calls(&[("render_blocks", json!({"blocks": form(), "title": "Party"}))]),
        calls(&[component]),
        says("fine"),
    ]);
    let mut events = hob.stream(json!({"message": "plan it"}));
    let ui = events.find(|(name, _)| name == "ui").unwrap().1;
    assert_eq!((&ui["kind"], &ui["title"], &ui["blocks"]), (&json!("blocks"), &json!("Party"), &form()));
    for (answer, status, part) in [
        (json!({"action": "submit", "data": {}}), 422, "`guests`: this has to be filled in"),
        (json!({"action": "submit", "data": {"guests": "four"}}), 422, "`guests`: expected a number"),
        (json!({"action": "submit", "data": {"guests": 4, "when": "24.12."}}), 422, "`when`: expected a day"),
        (json!({"action": "submit", "data": {"guests": 4, "food": "Cake"}}), 422, "`food`: expected one of Soup, Stew"),
        (json!({"action": "submit", "data": {"guests": 4, "more": 1}}), 422, "`more`: the form has no such field"),
        (json!({"action": "submit", "data": [4]}), 400, "the answer is"),
        (json!({"answer": "4"}), 400, "the answer is"),
    ] {
        let code = if status == 422 { "failed" } else { "bad_args" };
        let why = respond(&hob, &ui, answer.clone()).refusal(status, code);
        assert!(why.contains(part), "{answer}: {why}");
    }
    respond(&hob, &ui, json!({"action": "submit", "data": {"guests": 4, "music": true}})).data(200);
    let ui = events.find(|(name, _)| name == "ui").unwrap().1;
    assert_eq!((&ui["kind"], &ui["code"], &ui["props"]), (&json!("component"), &json!(code), &json!({"n": 1})));
    respond(&hob, &ui, json!({"n": 1})).refusal(400, "bad_args");
    respond(&hob, &ui, json!({"action": "pressed", "times": 3})).data(200);
    assert_eq!(events.last().unwrap().1["response"], "fine");
    let filled = json!({"action": "submit", "data": {"guests": 4, "music": true}});
    assert_eq!(told(&server), [filled, json!({"action": "pressed", "times": 3})]);
    // What cannot be shown is refused by the place that is wrong.
    let field = |field: Value| json!([{"type": "json", "data": 1}, {"type": "json", "data": 1}, {"type": "form", "submitLabel": "x", "fields": [field]}]);
    for (blocks, part) in [
        (
            field(json!({"name": "a", "label": "A", "type": "colour"})),
            "`blocks[2].fields[0].type`: expected one of text|number",
        ),
        (field(json!({"name": "a", "type": "text"})), "`blocks[2].fields[0]`: `label` is missing"),
        (field(json!({"name": "a", "label": "A", "type": "select"})), "`blocks[2].fields[0].options`"),
        (json!([{"type": "tabel"}]), "`blocks[0].type`: expected one of markdown|table"),
        (json!([{"type": "table", "columns": []}]), "`blocks[0]`: `data` is missing"),
        (json!([{"type": "image", "url": "javascript:alert(1)"}]), "`blocks[0].url`"),
        (json!([{"type": "markdown", "content": "x".repeat(66_000)}]), "at most 65536"),
        (json!([]), "`blocks`"),
    ] {
        let why = hob.call("render_blocks", json!({"blocks": blocks})).refusal(400, "bad_args");
        assert!(why.contains(part), "{why}");
    }
    hob.call("render_and_wait", json!({"component": "clock"})).refusal(404, "not_found");
    hob.call("render_and_wait", json!({"component": "clock", "code": code})).refusal(400, "bad_args");
    hob.call("ask_user", json!({"question": ""})).refusal(400, "bad_args");
    hob.call("send_message", json!({"text": "x".repeat(20_000)})).refusal(400, "bad_args");
    hob.assert_alive();
}

#[test]
fn tools_ask_without_a_run_too() {
    let (mut hob, _server) = that_waits(1, "");
    let question = json!({"question": "Which?"});
    let answered = call_and_answer(&hob, "ask_user", question.clone(), json!({"answer": "that"})).data(200);
    assert_eq!(answered["result"], json!({"answer": "that"}));
    let why = hob.call("ask_user", question.clone()).refusal(409, "unavailable");
    assert!(why.contains("nobody answered within 1 s") && waiting(&hob).is_empty(), "{why}");
    hob.result("send_message", json!({"text": "hello"}));
    // By a custom tool, and in a batch.
    let code = "return await utils.callTool('ask_user', {question: 'Sure?', options: ['yes', 'no']});";
    let tool = json!({"name": "sure", "description": "Asks.", "parameters": {"type": "object", "properties": {}}, "code": code});
    hob.post("/api/v1/custom-tools", tool).json();
    let answered = call_and_answer(&hob, "sure", json!({}), json!({"answer": "yes"})).data(200);
    assert!(answered["result"].to_string().contains("yes"), "{answered}");
    let batch = json!({"operations": [{"tool": "ask_user", "args": question}]});
    let answered = call_and_answer(&hob, "batch_use_tool", batch, json!({"answer": "both"})).data(200);
    assert!(answered["result"].to_string().contains("both"), "{answered}");
    // A schedule leaves a notice, and its run rests.
    hob.assert_alive();
}

#[test]
fn a_schedule_asks_whoever_comes_by() {
    let (mut hob, server) = that_waits(60, "");
    server.script(vec![calls(&[ask("Water the ficus?", &["yes", "no"])])]);
    let made = hob.result(
        "create_scheduled_task",
        json!({"name": "Ficus", "schedule": "0 6 * * *", "prompt": "see to the ficus"}),
    );
    hob.result("trigger_task", json!({"taskId": made["id"]}));
    let shown = open(&hob, 1).remove(0);
    until("a notice", || hob.result("list_notices", json!({}))["notices"].to_string().contains("Water the ficus?"));
    until("its rest", || hob.get("/api/v1/runs?state=running").data(200)["count"] == 0);
    hob.kill();
    hob.start_again();
    server.script(vec![says("it is watered")]);
    respond(&hob, &shown, json!({"answer": "yes"})).data(200);
    said(&hob, shown["conversationId"].as_str().unwrap(), "it is watered");
    hob.assert_alive();
}

#[test]
fn the_command_line_shows_and_answers() {
    let (hob, server) = that_waits(60, "");
    assert_eq!(hob.cli(&["interactions"]).ok(), "nothing waits for an answer");
    let blocks = |blocks: Value| ("render_blocks", json!({"blocks": blocks}));
    for (call, answer, listed, hint, told_model) in [
        (
            ask("Which?", &["Red", "Blue"]),
            &["2"][..],
            "Which?\n  1. Red\n  2. Blue",
            "hob answer",
            json!({"answer": "Blue"}),
        ),
        (ask("Why?", &[]), &["just", "so"], "Why?", "hob answer", json!({"answer": "just so"})),
        (
            blocks(form()),
            &[r#"{"guests": 3}"#],
            "a form: guests (number), when (date), food (select), music (checkbox)",
            "fill in guests, when, food, music with `hob answer",
            json!({"action": "submit", "data": {"guests": 3, "music": false}}),
        ),
        (
            ("render_and_wait", json!({"code": "x", "title": "Draw"})),
            &[r#"{"action": "drawn"}"#],
            "Draw something for the page",
            "? Draw: open Hob's page",
            json!({"action": "drawn"}),
        ),
    ] {
        server.script(vec![calls(&[call]), says("as you wish")]);
        let data = hob.data();
        let talk = thread::spawn(move || hob_with(&data, &["chat", "do it"], &[], ""));
        let id = open(&hob, 1)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(hob.cli(&["interactions"]).ok(), format!("{id}  {listed}"));
        assert_eq!(serde_json::from_str::<Value>(&hob.cli(&["interactions", "--json"]).ok()).unwrap()[0]["id"], *id);
        let all: Vec<&str> = ["answer", &id].into_iter().chain(answer.iter().copied()).collect();
        assert!(hob.cli(&all).ok().starts_with("answered"));
        let talk = talk.join().unwrap();
        assert!(talk.err.contains(hint), "{talk:?}");
        assert!(talk.ok().ends_with("as you wish"));
        assert_eq!(told(&server), [told_model]);
        assert!(hob.cli(&all).why(1).contains("answered already"));
    }
    // What only shows is shown and put aside; a message is a line.
    let picture = json!([{"type": "alert", "variant": "warning", "content": "It rains."},
        {"type": "chart", "chartType": "bar", "data": {"labels": ["Mon"], "datasets": [{"label": "mm", "data": [3]}]}}]);
    server.script(vec![
        calls(&[("send_message", json!({"text": "a moment"})), blocks(picture)]),
        says("take an umbrella"),
    ]);
    let out = hob.cli(&["chat", "weather"]).ok();
    assert!(out.contains("a moment\n") && out.contains("Warning: It rains.\n\nmm\nMon  ███"), "{out}");
    assert!(out.ends_with("take an umbrella"), "{out}");
    assert_eq!(told(&server)[1], json!({"action": "dismiss"}));
    hob.cli(&["answer"]).why(2);
    assert!(hob.cli(&["answer", "0192aaaa-0000-7000-8000-000000000000", "x"]).why(1).contains("no question"));
}

/// Python has a terminal to offer; it types one line after the other, each when it is asked for, and gives back what was
/// written. The prompts that are waited for come first, then the lines.
const TERMINAL: &str = r#"
import json, os, pty, signal, sys
steps = json.loads(sys.argv[1])
pid, line = pty.fork()
if pid == 0:
    os.execve(sys.argv[2], sys.argv[2:], {"PATH": "/usr/bin:/bin"})
# What was written is told also when it does not go on.
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(20)
seen, at = b"", 0
while True:
    try:
        piece = os.read(line, 4096)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    while steps and steps[0][0].encode() in seen[at:]:
        prompt, typed = steps.pop(0)
        at = seen.index(prompt.encode(), at) + len(prompt.encode())
        os.write(line, typed.encode() + b"\n")
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn whoever_talks_at_a_terminal_answers_there() {
    let (hob, server) = that_waits(60, "");
    let talk = |steps: Value| {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, &steps.to_string()]).arg(binary()).arg("--data").arg(hob.data());
        command.args(["chat", "do", "it"]);
        run(command, "").ok()
    };
    let form = ("render_blocks", json!({"blocks": form()}));
    for (call, steps, answer) in [
        (ask("Which?", &["Red", "Blue"]), json!([["1 to 2", "green"], ["1 to 2", "1"]]), json!({"answer": "Red"})),
        (ask("Why?", &[]), json!([["your answer", "just so"]]), json!({"answer": "just so"})),
        (
            form.clone(),
            json!([
                ["guests? (a number): ", ""],
                ["guests? (a number): ", "many"],
                ["guests? (a number): ", "4"],
                ["[2026-12-24]: ", ""],
                ["(its number): ", "2"],
                ["(y or n): ", "y"],
                ["ut it aside: ", "y"],
            ]),
            json!({"action": "submit", "data": {"guests": 4, "when": "2026-12-24", "food": "Stew", "music": true}}),
        ),
        (
            form.clone(),
            json!([
                ["guests? (a number): ", "4"],
                ["[2026-12-24]: ", "tomorrow"],
                ["(its number): ", ""],
                ["(y or n): ", ""],
                ["ut it aside: ", ""],
                ["`when`: expected a day", ""],
                ["[tomorrow]: ", "2026-12-31"],
                ["(its number): ", ""],
                ["(y or n): ", ""],
                ["ut it aside: ", "yes"],
            ]),
            json!({"action": "submit", "data": {"guests": 4, "when": "2026-12-31", "music": false}}),
        ),
        (
            form,
            json!([
                ["guests? (a number): ", "4"],
                ["[2026-12-24]: ", ""],
                ["(its number): ", ""],
                ["(y or n): ", ""],
                ["ut it aside: ", "p"]
            ]),
            json!({"action": "dismiss"}),
        ),
    ] {
        server.script(vec![calls(&[call]), says("as you wish")]);
        let seen = talk(steps);
        assert!(seen.contains("as you wish"), "{seen}");
        assert_eq!(told(&server), [answer], "{seen}");
    }
    assert!(waiting(&hob).is_empty());
}
