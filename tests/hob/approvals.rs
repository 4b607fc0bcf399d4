//! Approvals: the question in the stream, answers through every door, and what a standing approval covers.

use crate::{
    harness::{Hob, Setup, hob_with, until},
    hijack::Page,
    http::{Events, Reply},
    model::with_model,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{collections::HashSet, thread};

/// A daemon with a scripted model that waits so many seconds for an answer within the call.
pub fn that_waits(seconds: u32, more: &str) -> (Hob, ModelServer) {
    with_model(&format!("[approvals]\nin_call_seconds = {seconds}\n[limits]\ncalls = 0\n{more}"))
}

/// The owner's questions in this state, newest first.
pub fn questions(hob: &Hob, state: &str) -> Vec<Value> {
    let listed = hob.get(&format!("/api/v1/approvals?state={state}&limit=200")).data(200);
    let all = listed["approvals"].as_array().unwrap().clone();
    assert_eq!(listed["count"], all.len());
    all
}

/// Waits until so many questions are open.
pub fn asked(hob: &Hob, count: usize) -> Vec<Value> {
    let mut open = vec![];
    until("the question", || {
        open = questions(hob, "pending");
        open.len() == count
    });
    open
}

pub fn answer(hob: &Hob, question: &Value, body: Value) -> Reply {
    hob.post(&format!("/api/v1/approvals/{}/decide", question["id"].as_str().unwrap()), body)
}

pub fn decide(hob: &Hob, question: &Value, decision: &str) -> Value {
    answer(hob, question, json!({"decision": decision})).data(200)
}

/// Sets the autonomy level.
pub fn autonomy(hob: &Hob, level: &str) {
    hob.admin("PUT", "/api/v1/autonomy").json(&json!({"level": level})).send().data(200);
}

/// Stores a memory and returns its id.
pub fn keep(hob: &Hob, content: &str) -> String {
    hob.result("remember", json!({"content": content}))["id"].as_str().unwrap().to_owned()
}

/// All memories.
pub fn memories(hob: &Hob) -> HashSet<String> {
    let listed = hob.result("list_memories", json!({"limit": 50}));
    listed["memories"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

/// Reads the stream up to the question, its last event.
fn until_asked(events: &mut Events) -> Value {
    events.find(|(name, _)| name == "approval").expect("a question").1
}

fn done(events: Events) -> Value {
    events.last().filter(|(name, _)| name == "done").expect("an answer").1
}

fn forget(id: &str) -> (&'static str, Value) {
    ("forget", json!({"memoryId": id}))
}

#[test]
fn a_question_is_told_in_full_and_the_answer_is_obeyed() {
    let (hob, server) = that_waits(60, "");
    for (decision, kept, state) in [("allow_once", false, "approved"), ("deny", true, "denied")] {
        let id = keep(&hob, decision);
        server.script(vec![calls(&[forget(&id)]), says("as you wish")]);
        let mut events = hob.stream(json!({"message": "forget it"}));
        let run = events.next().unwrap().1;
        let question = until_asked(&mut events);
        let told = |name: &str| question[name].as_str().unwrap_or_default().to_owned();
        for (field, expected) in [
            ("tool", "forget"),
            ("risk", "destroy"),
            ("rule", "autonomy"),
            ("state", "pending"),
            ("channel", "api"),
            ("toolCallId", "call_0_forget"),
            ("runId", run["runId"].as_str().unwrap()),
            ("conversationId", run["conversationId"].as_str().unwrap()),
        ] {
            assert_eq!(told(field), expected, "{field}: {question}");
        }
        assert_eq!(
            (&question["arguments"], &question["pattern"]),
            (&json!({"memoryId": id}), &json!({"memoryId": id}))
        );
        assert_eq!((&question["tainted"], &question["version"]), (&json!(false), &json!(0)));
        assert!(told("about").contains("Forget one memory") && told("reason").contains("autonomy is medium"));
        let at = |name: &str| question[name].as_u64().unwrap();
        // It is asked a moment after its time has begun.
        assert!((59..=60).contains(&((at("waitsUntil") - at("askedAt")) / 1000)), "{question}");
        assert_eq!((at("expiresAt") - at("askedAt")) / 3_600_000, 24);
        assert_eq!(questions(&hob, "pending"), std::slice::from_ref(&question));
        assert_eq!(hob.get(&format!("/api/v1/approvals/{}", told("id"))).data(200), question);

        let settled = answer(&hob, &question, json!({"decision": decision, "nonce": question["nonce"]})).data(200);
        assert_eq!((&settled["state"], &settled["decision"]), (&json!(state), &json!(decision)), "{settled}");
        assert!(settled["decidedAt"].as_u64().unwrap() >= at("askedAt") && settled["decidedBy"] == question["userId"]);
        let end = done(events);
        assert_eq!((&end["response"], end.get("waiting")), (&json!("as you wish"), None), "{end}");
        assert_eq!((memories(&hob).contains(decision), &end["toolCalls"][0]["isError"]), (kept, &json!(kept)));
        if kept {
            let why = end["toolCalls"][0]["result"].as_str().unwrap();
            assert!(why.contains("said no to `forget`") && why.contains("do not try again"), "{why}");
        }
        assert!(questions(&hob, "pending").is_empty() && questions(&hob, "settled")[0] == settled);
        answer(&hob, &question, json!({"decision": "allow_once"})).refusal(409, "unavailable");
    }
    // In pages: the count is the page's, and `next` says whether there are more.
    let page = |query: &str| hob.get(&format!("/api/v1/approvals?state=all&{query}")).data(200);
    let first = page("limit=1");
    let second = page(&format!("limit=1&before={}", first["next"].as_str().unwrap()));
    assert_eq!((&first["count"], &first["approvals"][0]["state"]), (&json!(1), &json!("denied")));
    assert_eq!((&second["next"], &second["approvals"][0]["state"]), (&Value::Null, &json!("approved")));
    assert_eq!((&page("limit=2")["next"], &page("limit=2")["count"]), (&Value::Null, &json!(2)));
    let rest = page(&format!("before={}", second["approvals"][0]["id"].as_str().unwrap()));
    assert_eq!((&rest["approvals"], &rest["next"]), (&json!([]), &Value::Null));
}

#[test]
fn a_standing_yes_covers_what_it_says_until_it_is_taken_back() {
    let (mut hob, server) = that_waits(60, "");
    // The first is asked about and answered; then whether each of the others is asked about again.
    let rows = [
        (Value::Null, "a", [("a", false), ("b", true)]),
        (json!({"memoryId": "b*"}), "b", [("b2", false), ("a", true)]),
        (json!("*"), "c", [("c", false), ("d", false)]),
    ];
    for (pattern, first, others) in rows {
        server.script(vec![calls(&[forget(first)]), says("ok")]);
        let mut events = hob.stream(json!({"message": "forget it"}));
        let question = until_asked(&mut events);
        let mut body = json!({"decision": "allow_always"});
        if !pattern.is_null() {
            body["pattern"] = pattern.clone();
        }
        answer(&hob, &question, body).data(200);
        done(events);
        let grants = hob.get("/api/v1/grants").data(200);
        let grant = &grants["grants"][0];
        let covers = if pattern.is_null() { json!({"memoryId": first}) } else { pattern };
        assert_eq!((&grants["count"], &grant["tool"], &grant["pattern"]), (&json!(1), &json!("forget"), &covers));
        hob.kill();
        hob.start_again();
        for (id, again) in others {
            let before = questions(&hob, "all").len();
            server.script(vec![calls(&[forget(id)]), says("ok")]);
            let mut events = hob.stream(json!({"message": "forget another"}));
            match again {
                true => {
                    decide(&hob, &until_asked(&mut events), "deny");
                    // Its run has taken all of its script: none is left for the next.
                    done(events);
                }
                false => assert!(events.by_ref().all(|(name, _)| name != "approval"), "{id} is covered"),
            }
            assert_eq!(questions(&hob, "all").len(), before + usize::from(again), "{id}");
        }
        // Said another way it is the same call.
        server.script(vec![
            calls(&[("use_tool", json!({"tool_name": "forget", "arguments": {"memoryId": others[0].0}}))]),
            says("ok"),
        ]);
        assert!(hob.stream(json!({"message": "again"})).all(|(name, _)| name != "approval"));
        let at = format!("/api/v1/grants/{}", grant["id"].as_str().unwrap());
        assert_eq!(hob.admin("DELETE", &at).send().data(200), json!({"deleted": true}));
        hob.admin("DELETE", &at).send().refusal(404, "not_found");
        assert_eq!(hob.get("/api/v1/grants").data(200)["count"], 0);
        server.script(vec![calls(&[forget(first)]), says("ok")]);
        let mut events = hob.stream(json!({"message": "and again"}));
        decide(&hob, &until_asked(&mut events), "deny");
        done(events);
    }
}

#[test]
fn answers_that_make_no_sense_change_nothing() {
    let (mut hob, server) = that_waits(60, "");
    let id = keep(&hob, "to be kept");
    server.script(vec![calls(&[forget(&id)]), says("ok")]);
    let mut events = hob.stream(json!({"message": "forget it"}));
    let question = until_asked(&mut events);
    for (body, status, code, part) in [
        (json!({}), 400, "bad_args", "missing field `decision`"),
        (json!({"decision": "maybe"}), 400, "bad_args", "allow_once"),
        (json!({"decision": "allow_once", "pattern": "*"}), 400, "bad_args", "`allow_always` alone"),
        (json!({"decision": "deny", "pattern": {}}), 400, "bad_args", "`allow_always` alone"),
        (json!({"decision": "allow_always", "pattern": 1}), 400, "bad_args", "a pattern is"),
        (json!({"decision": "allow_always", "pattern": "a*"}), 400, "bad_args", "a pattern is"),
        (json!({"decision": "allow_once", "colour": 1}), 400, "bad_args", "unknown field `colour`"),
        (json!({"decision": "allow_once", "nonce": "0000000000000000"}), 409, "unavailable", "nonce"),
        (json!(["allow_once"]), 400, "bad_args", "must be an object"),
    ] {
        let why = answer(&hob, &question, body.clone()).refusal(status, code);
        assert!(why.contains(part), "{body}: {why}");
    }
    let nobody = json!({"id": "0192aaaa-0000-7000-8000-000000000000"});
    answer(&hob, &nobody, json!({"decision": "deny"})).refusal(404, "not_found");
    answer(&hob, &json!({"id": "nonsense"}), json!({"decision": "deny"})).refusal(400, "bad_args");
    hob.get("/api/v1/approvals?state=open").refusal(400, "bad_args");
    hob.get("/api/v1/approvals?before=nonsense").refusal(400, "bad_args");
    hob.admin("DELETE", "/api/v1/grants/nonsense").send().refusal(400, "bad_args");
    assert_eq!(questions(&hob, "pending"), std::slice::from_ref(&question));
    // Of many who answer at once one is heard, and the call is made once or not at all.
    let path = format!("/api/v1/approvals/{}/decide", question["id"].as_str().unwrap());
    let request = hob.admin("POST", &path).json(&json!({"decision": "allow_once"}));
    let all: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn({
                let request = request.clone();
                move || request.send().status
            })
        })
        .collect();
    let mut heard: Vec<u16> = all.into_iter().map(|one| one.join().unwrap()).collect();
    heard.sort_unstable();
    assert_eq!(heard, [200, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(done(events)["toolCalls"][0]["isError"], false);
    assert!(memories(&hob).is_empty());
    hob.assert_alive();
}

#[test]
fn the_command_line_shows_and_answers() {
    let (hob, server) = that_waits(60, "");
    assert_eq!(hob.cli(&["approvals"]).ok(), "nothing waits for an answer");
    assert_eq!(hob.cli(&["approvals", "--json"]).ok(), "[]");
    for (arguments, told, kept, grants) in [
        (&["deny"][..], "forget is not called", true, 0),
        (&["approve"], "forget is allowed", false, 0),
        (&["approve", "--always"], "forget is allowed", false, 1),
    ] {
        let id = keep(&hob, &arguments.concat());
        server.script(vec![calls(&[forget(&id)]), says("as you wish")]);
        let data = hob.data();
        let talk = thread::spawn(move || hob_with(&data, &["chat", "forget it"], &[], ""));
        let question = asked(&hob, 1)[0].clone();
        let question = question["id"].as_str().unwrap();
        let shown = hob.cli(&["approvals"]).ok();
        assert!(shown.starts_with(&format!("{question}  forget {{\"memoryId\":\"{id}\"}}")), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&hob.cli(&["approvals", "--json"]).ok()).unwrap()[0]["id"], question);
        let (verb, flags) = arguments.split_first().unwrap();
        let all: Vec<&str> = [*verb, question].into_iter().chain(flags.iter().copied()).collect();
        assert_eq!(hob.cli(&all).ok(), told);
        let talk = talk.join().unwrap();
        assert!(
            talk.err.contains(&format!("answer with `hob approve {question}` or `hob deny {question}`")),
            "{talk:?}"
        );
        assert_eq!(talk.ok(), "as you wish");
        assert_eq!(memories(&hob).contains(&arguments.concat()), kept);
        assert_eq!(hob.get("/api/v1/grants").data(200)["count"], grants);
        assert!(hob.cli(&all).why(1).contains("answered already"));
    }
    assert!(hob.cli(&["approve", "0192aaaa-0000-7000-8000-000000000000"]).why(1).contains("no question"));
    hob.cli(&["deny"]).why(2);
}

/// Python has a terminal to offer; it types what it is told when it is asked, and gives back what was written.
const TERMINAL: &str = r#"
import os, pty, sys
pid, line = pty.fork()
if pid == 0:
    os.execve(sys.argv[2], sys.argv[2:], {"PATH": "/usr/bin:/bin"})
seen, typed = b"", False
while True:
    try:
        piece = os.read(line, 4096)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if not typed and b"[n]o: " in seen:
        typed = True
        os.write(line, sys.argv[1].encode() + b"\n")
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn whoever_talks_at_a_terminal_is_asked_there() {
    let (hob, server) = that_waits(30, "");
    for (typed, kept, grants) in [("y", false, 0), ("n", true, 0), ("perhaps\na", false, 1)] {
        let id = keep(&hob, typed);
        server.script(vec![calls(&[forget(&id)]), says("as you wish")]);
        let mut command = std::process::Command::new("python3");
        command.args(["-c", TERMINAL, typed]).arg(crate::harness::binary()).arg("--data").arg(hob.data());
        let seen = {
            command.args(["chat", "forget", "it"]);
            crate::harness::run(command, "")
        }
        .ok();
        assert!(seen.contains("? forget {\"memoryId\":") && seen.contains("as you wish"), "{seen}");
        assert_eq!(memories(&hob).contains(typed), kept, "{seen}");
        assert_eq!(hob.get("/api/v1/grants").data(200)["count"], grants, "{seen}");
        if grants > 0 {
            // Just these values, whatever stars and strokes are in them.
            let grant = hob.get("/api/v1/grants").data(200)["grants"][0].take();
            assert_eq!(grant["pattern"], json!({"memoryId": id}));
        }
    }
}

#[test]
fn only_whom_it_concerns_is_asked_and_answers() {
    let (hob, server) = that_waits(60, "");
    let (ben, eve) = (hob.token("ben", "member"), hob.token("eve", "member"));
    let as_ben = |method: &str, path: &str| hob.request(method, path).bearer(&ben);
    server.script(vec![calls(&[forget("0192aaaa-0000-7000-8000-000000000000")]), says("ok")]);
    let mut bens = as_ben("POST", "/api/v1/chat").json(&json!({"message": "x", "stream": true})).events();
    let question = until_asked(&mut bens);
    let at = format!("/api/v1/approvals/{}", question["id"].as_str().unwrap());
    let yes = json!({"decision": "allow_once"});
    let as_eve = |method: &str, path: &str| hob.request(method, path).bearer(&eve);
    as_eve("GET", &at).send().refusal(404, "not_found");
    as_eve("POST", &format!("{at}/decide")).json(&yes).send().refusal(404, "not_found");
    as_eve("GET", "/api/v1/approvals?everybody=true").send().refusal(403, "denied");
    as_eve("GET", "/api/v1/grants?everybody=true").send().refusal(403, "denied");
    for state in ["pending", "all"] {
        let listed = as_eve("GET", &format!("/api/v1/approvals?state={state}")).send().data(200);
        assert_eq!(listed["count"], 0);
    }
    hob.request("GET", "/api/v1/approvals").send().refusal(401, "unauthorized");
    // An admin sees it when asked for, and may answer.
    assert!(questions(&hob, "pending").is_empty());
    let all = hob.get("/api/v1/approvals?everybody=true").data(200);
    assert_eq!((&all["count"], &all["approvals"][0]), (&json!(1), &question));
    assert_eq!(hob.get(&at).data(200), question);
    // A key for talking alone answers nothing; one for answering alone does nothing else.
    let key = |scope: &str| {
        let made = hob.post("/api/v1/tokens", json!({"name": "ben", "role": "member", "scope": [scope]})).data(201);
        made["token"].as_str().unwrap().to_owned()
    };
    let (talks, answers) = (key("chat"), key("approvals"));
    let with = |key: &str, method: &str, path: &str| hob.request(method, path).bearer(key);
    for path in ["/api/v1/approvals", "/api/v1/grants", &at] {
        with(&talks, "GET", path).send().refusal(403, "out_of_scope");
    }
    with(&talks, "POST", &format!("{at}/decide")).json(&yes).send().refusal(403, "out_of_scope");
    with(&answers, "POST", "/api/v1/chat").json(&json!({"message": "x"})).send().refusal(403, "out_of_scope");
    with(&answers, "PUT", "/api/v1/autonomy").json(&json!({"level": "full"})).send().refusal(403, "out_of_scope");
    let always = json!({"decision": "allow_always"});
    let settled = with(&answers, "POST", &format!("{at}/decide")).json(&always).send().data(200);
    assert_eq!(settled["state"], "approved");
    done(bens);
    assert_eq!(hob.get("/api/v1/grants").data(200)["count"], 0);
    let grants = as_ben("GET", "/api/v1/grants").send().data(200);
    let grant = format!("/api/v1/grants/{}", grants["grants"][0]["id"].as_str().unwrap());
    as_eve("DELETE", &grant).send().refusal(404, "not_found");
    // What one said yes to, another is asked about.
    server.script(vec![calls(&[forget("0192aaaa-0000-7000-8000-000000000000")]), says("ok")]);
    let mut eves = as_eve("POST", "/api/v1/chat").json(&json!({"message": "x", "stream": true})).events();
    let question = until_asked(&mut eves);
    decide(&hob, &question, "deny");
    done(eves);
    hob.admin("DELETE", &grant).send().data(200);
    assert_eq!(as_ben("GET", "/api/v1/grants").send().data(200)["count"], 0);
}

#[test]
fn who_leaves_can_answer_later_and_who_stops_is_not_asked_any_more() {
    let (mut hob, server) = that_waits(60, "");
    let id = keep(&hob, "left alone");
    server.script(vec![calls(&[forget(&id)]), says("forgotten")]);
    let mut events = hob.stream(json!({"message": "forget it"}));
    let conversation = events.next().unwrap().1["conversationId"].as_str().unwrap().to_owned();
    let question = until_asked(&mut events);
    drop(events);
    decide(&hob, &question, "allow_once");
    until("the answer", || last(&hob, &conversation)["content"] == "forgotten");
    assert!(memories(&hob).is_empty());

    let id = keep(&hob, "stopped");
    server.script(vec![calls(&[forget(&id)]), says("never said")]);
    let mut events = hob.stream(json!({"message": "forget it"}));
    let run = events.next().unwrap().1;
    let question = until_asked(&mut events);
    hob.post(&format!("/api/v1/runs/{}/cancel", run["runId"].as_str().unwrap()), json!({})).data(200);
    let (name, end) = events.last().unwrap();
    assert_eq!((name.as_str(), &end["code"]), ("error", &json!("cancelled")));
    until("the end of the question", || questions(&hob, "pending").is_empty());
    answer(&hob, &question, json!({"decision": "allow_once"})).refusal(409, "unavailable");
    assert_eq!((questions(&hob, "settled")[0]["state"].as_str(), server.left()), (Some("expired"), 1));
    assert!(memories(&hob).contains("stopped"));
    hob.assert_alive();
}

/// The last message of a conversation.
pub fn last(hob: &Hob, conversation: &str) -> Value {
    let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
    kept["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn a_person_is_not_asked_about_what_they_do_themselves() {
    let hob = Hob::with(Setup { config: "[approvals]\nin_call_seconds = 1".into(), ..Setup::default() });
    autonomy(&hob, "none");
    let id = keep(&hob, "by hand");
    hob.result("gpio_write", json!({"pin": 2, "high": true}));
    hob.result("forget", json!({"memoryId": id}));
    hob.result("use_tool", json!({"tool_name": "gpio_write", "arguments": {"pin": 2, "high": false}}));
    // And reflex does as it is told, word by word.
    assert_eq!(hob.say("turn on pin 3")["response"], "Pin 3 is on.");
    assert!(questions(&hob, "all").is_empty());
}

#[test]
fn a_model_s_tool_asks_about_every_new_host() {
    let (one, two) = (Page::at("127.0.0.1", "one"), Page::at("127.0.0.2", "two"));
    let (mut hob, _server) = that_waits(20, &format!("[http]\nallow = [\"{}\", \"{}\"]", one.host, two.host));
    let code = "return await (await fetch(args.url)).text();";
    let parameters = json!({"type": "object", "properties": {"url": {"type": "string"}}});
    let draft = json!({"name": "look", "description": "x", "parameters": parameters, "code": code, "createdBy": "llm",
                       "permissions": ["network"]});
    let tool = hob.post("/api/v1/custom-tools", draft).data(201);
    // Who calls it waits while they are asked, here at another door.
    let look = |hob: &Hob, page: &Page, decision: Option<&str>| {
        let call = hob.admin("POST", "/api/v1/tools/look/execute").json(&json!({"arguments": {"url": page.url()}}));
        let call = thread::spawn(move || call.send());
        if let Some(decision) = decision {
            let question = asked(hob, 1).remove(0);
            let host = page.host.split(':').next().unwrap();
            assert_eq!((&question["tool"], &question["rule"]), (&json!("look#fetch"), &json!("consult")), "{question}");
            assert_eq!((&question["arguments"], &question["risk"]), (&json!({"host": host}), &json!("send")));
            decide(hob, &question, decision);
        }
        let reply = call.join().unwrap();
        assert!(questions(hob, "pending").is_empty());
        reply
    };
    let ran = |reply: Reply| reply.data(200)["result"].clone();
    assert!(look(&hob, &one, Some("deny")).refusal(422, "failed").contains("said no"));
    assert_eq!((one.heard().len(), two.heard().len()), (0, 0), "nothing went out");
    assert_eq!(ran(look(&hob, &one, Some("allow_once"))), "one");
    assert_eq!(ran(look(&hob, &one, Some("allow_always"))), "one");
    assert_eq!(ran(look(&hob, &one, None)), "one");
    assert_eq!(ran(look(&hob, &two, Some("allow_once"))), "two", "another host is another question");
    hob.kill();
    hob.start_again();
    assert_eq!(ran(look(&hob, &one, None)), "one");
    // Another code is another tool: what was said yes to was the old one.
    let changed = json!({"code": format!("{code} //")});
    let at = format!("/api/v1/custom-tools/{}", tool["id"].as_str().unwrap());
    assert_eq!(hob.admin("PATCH", &at).json(&changed).send().data(200)["version"], 2);
    assert_eq!(ran(look(&hob, &one, Some("allow_once"))), "one");
    hob.assert_alive();
}

#[test]
fn a_model_s_tool_is_asked_about_each_time_until_always_and_for_that_version() {
    let (hob, server) = that_waits(20, "");
    let draft = json!({"name": "seven", "description": "x", "parameters": {"type": "object"}, "code": "return 7;",
                       "createdBy": "llm"});
    let tool = hob.post("/api/v1/custom-tools", draft).data(201);
    let run = |decision: Option<&str>| {
        server.script(vec![calls(&[("seven", json!({}))]), says("ok")]);
        let mut events = hob.stream(json!({"message": "x"}));
        let (name, told) = events.find(|(name, _)| name == "approval" || name == "tool_end").unwrap();
        assert_eq!(name == "approval", decision.is_some(), "{told}");
        if let Some(decision) = decision {
            assert_eq!((&told["rule"], &told["pattern"]), (&json!("model-made"), &json!("*")));
            decide(&hob, &told, decision);
        }
        assert_eq!(events.last().unwrap().1["toolCalls"].as_array().map(Vec::len).unwrap_or(1), 1);
    };
    run(Some("allow_once"));
    run(Some("allow_always"));
    run(None);
    let at = format!("/api/v1/custom-tools/{}", tool["id"].as_str().unwrap());
    hob.admin("PATCH", &at).json(&json!({"description": "another description"})).send().data(200);
    run(None);
    hob.admin("PATCH", &at).json(&json!({"code": "return 8;"})).send().data(200);
    run(Some("allow_once"));
}

/// What a model wrote must not move the cursor over the question.
#[test]
fn a_question_cannot_dress_up_at_the_terminal() {
    let (hob, server) = that_waits(20, "");
    let tricky = "Looks harmless.\u{1b}[2K\u{1b}[1A\r\u{9b}2J\u{202e}";
    let draft = json!({"name": "seven", "description": tricky, "parameters": {"type": "object"}, "code": "return 7;",
                       "createdBy": "llm"});
    hob.post("/api/v1/custom-tools", draft).data(201);
    let arguments = json!({"text": tricky});
    server.script(vec![calls(&[("seven", arguments)]), says("ok")]);
    let mut events = hob.stream(json!({"message": "x"}));
    let question = until_asked(&mut events);
    let shown = hob.cli(&["approvals"]).ok();
    let odd: Vec<char> = shown.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(odd.is_empty(), "{odd:?} in {shown:?}");
    decide(&hob, &question, "deny");
    done(events);
}
