//! Shared budgets: memory of sandboxed tools, and open questions per run and conversation.

use crate::{
    approvals::{asked, decide, keep, memories, questions, that_waits},
    harness::{Hob, Setup, until},
    interactions::open,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::thread;

/// A daemon that loads no embedding model, so that its memory is that of the tools.
fn bare() -> Hob {
    let environment = [("HOB_MODEL", "custom/none"), ("HOB_LLM_URL", "http://127.0.0.1:9/v1")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Hob::with(Setup { environment, ..Setup::default() })
}

/// Peak resident memory in MiB.
fn peak(hob: &Hob) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hob.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
}

fn draft(name: &str, code: &str) -> Value {
    json!({"name": name, "description": "For a test.", "parameters": {"type": "object", "properties": {}}, "code": code})
}

/// Runs so many copies of this code as trials at once; returns the texts of their answers.
fn trials(hob: &Hob, count: usize, code: &str) -> Vec<String> {
    let body = draft("trial", code);
    let trial = || hob.post("/api/v1/custom-tools/test", body.clone()).text();
    thread::scope(|scope| {
        let running: Vec<_> = (0..count).map(|_| scope.spawn(trial)).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// How many answers contain this text.
fn with(answers: &[String], text: &str) -> usize {
    answers.iter().filter(|answer| answer.contains(text)).count()
}

#[test]
fn forty_tools_at_once_stay_within_one_memory_budget() {
    let mut hob = bare();
    assert_eq!(with(&trials(&hob, 1, "return 'warm' + 1;"), "warm1"), 1);
    let before = peak(&hob);
    // Each fills 40 of the 50 MB it may have, and keeps them for a while.
    let code =
        "const a = new Uint8Array(40 * 1024 * 1024).fill(7); await utils.sleep(700); return 'filled' + a.length;";
    let answers = trials(&hob, 40, code);
    let (done, refused) = (with(&answers, "filled41943040"), with(&answers, "try again in a moment"));
    assert_eq!(done + refused, 40, "{answers:?}");
    assert!(done >= 8, "{done} ran: they take turns");
    let grown = peak(&hob) - before;
    // 256 MB for all instances, and the rest for what each takes beside its memory.
    assert!(grown < 320, "{grown} MB more than before");
    // What was held is free again, and tools that only wait are many at once.
    let answers = trials(&hob, 24, "await utils.sleep(400); return 'waited' + 1;");
    assert_eq!(with(&answers, "waited1"), 24, "{answers:?}");
    hob.assert_alive();
}

#[test]
fn tools_that_call_tools_do_not_wait_for_each_other_for_ever() {
    let mut hob = bare();
    let heavy = "const a = new Uint8Array(40 * 1024 * 1024).fill(7); ";
    hob.post("/api/v1/custom-tools", draft("heavy", &format!("{heavy} return 'inner' + a.length;"))).data(201);
    let code = format!(
        "{heavy} let said; try {{ said = JSON.stringify(await utils.callTool('heavy', {{}})); }} \
         catch (error) {{ said = 'caught ' + error.message; }} return 'outer' + a.length + said;"
    );
    let (answers, _) = hob.allowing(|| trials(&hob, 8, &code));
    let busy = with(&answers, "try again in a moment");
    assert!(with(&answers, "outer41943040") + busy >= 8, "{answers:?}");
    assert!(with(&answers, "inner41943040") >= 1, "{answers:?}");
    assert_eq!(with(&trials(&hob, 1, "return 'after' + 1;"), "after1"), 1);
    hob.assert_alive();
}

/// A model that calls these in the conversation whose message names them, and is then done.
fn mind(server: &ModelServer, first: Answer, second: Answer) {
    server.thinks(move |asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        match last["content"].as_str().unwrap_or_default() {
            _ if last["role"] == "tool" => says("done"),
            text if text.contains("number one") => first.clone(),
            _ => second.clone(),
        }
    });
}

/// The results of the calls in the conversations so far.
fn results(server: &ModelServer) -> String {
    server.asked().iter().flat_map(|asked| asked.messages("tool")).map(|message| message.to_string()).collect()
}

#[test]
fn one_run_cannot_fill_a_person_s_questions() {
    let (hob, server) = that_waits(60, "");
    let ids: Vec<String> = (0..9).map(|n| keep(&hob, &format!("the shelf {n} is full"))).collect();
    let forget = |id: &String| json!({"tool": "forget", "args": {"memoryId": id}});
    let many: Vec<Value> = ids[..8].iter().map(forget).collect();
    mind(
        &server,
        calls(&[("batch_use_tool", json!({"operations": many}))]),
        calls(&[("use_tool", json!({"tool_name": "forget", "arguments": {"memoryId": ids[8]}}))]),
    );
    thread::scope(|scope| {
        let hijacked = scope.spawn(|| hob.say("conversation number one"));
        asked(&hob, 5);
        let other = scope.spawn(|| hob.say("another conversation"));
        let open = asked(&hob, 6);
        let of = |question: &Value| question["arguments"]["memoryId"].as_str().unwrap().to_owned();
        for question in &open {
            decide(&hob, question, if of(question) == ids[8] { "allow_once" } else { "deny" });
        }
        assert_eq!(hijacked.join().unwrap()["response"], "done");
        assert_eq!(other.join().unwrap()["response"], "done");
    });
    assert!(questions(&hob, "pending").is_empty());
    let told = results(&server);
    assert_eq!(told.matches("5 questions of this run wait for the person already").count(), 3, "{told}");
    assert_eq!(memories(&hob).len(), 8, "the one that was allowed is gone");
}

#[test]
fn one_run_cannot_fill_a_person_s_screen() {
    let (hob, server) = that_waits(60, "");
    let ask = |n: usize| json!({"tool": "ask_user", "args": {"question": format!("question {n}?")}});
    mind(
        &server,
        calls(&[("batch_use_tool", json!({"operations": (0..8).map(ask).collect::<Vec<_>>()}))]),
        calls(&[("use_tool", json!({"tool_name": "ask_user", "arguments": {"question": "me too?"}}))]),
    );
    thread::scope(|scope| {
        let hijacked = scope.spawn(|| hob.say("conversation number one"));
        open(&hob, 5);
        let other = scope.spawn(|| hob.say("another conversation"));
        for one in open(&hob, 6) {
            let at = format!("/api/v1/interactions/{}/respond", one["id"].as_str().unwrap());
            hob.post(&at, json!({"answer": "yes"})).data(200);
        }
        assert_eq!(hijacked.join().unwrap()["response"], "done");
        assert_eq!(other.join().unwrap()["response"], "done");
    });
    until("all answers", || hob.get("/api/v1/interactions").data(200)["count"] == 0);
    let told = results(&server);
    assert_eq!(told.matches("5 questions of this run wait for the person already").count(), 3, "{told}");
}
