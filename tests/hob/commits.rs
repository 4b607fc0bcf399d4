//! Durable commits: steps that belong together are one, and nothing that anybody was shown is lost.

use crate::{
    approvals::{asked, autonomy, decide, keep, that_waits},
    harness::{Hob, until},
    hijack::make,
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

/// Longer than anything waits for a commit to share.
const QUIET: Duration = Duration::from_millis(5600);
/// How often each thing is done.
const TIMES: u64 = 3;

/// Durable commits since the start.
fn commits(hob: &Hob) -> u64 {
    let text = hob.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix("hob_store_commits_total ")).unwrap();
    line.parse().unwrap()
}

/// The commits after which nothing waits for one.
fn settled(hob: &Hob) -> u64 {
    let (mut last, mut since) = (commits(hob), Instant::now());
    while since.elapsed() < QUIET {
        sleep(Duration::from_millis(200));
        let now = commits(hob);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

/// The commits of some work, with all that it leaves to be written later. Tried again when it was more than `most`: on a
/// busy machine steps may take longer than they wait for one another.
fn counted(hob: &Hob, most: u64, mut work: impl FnMut()) -> u64 {
    let (mut all, mut before) = (vec![], settled(hob));
    loop {
        work();
        let after = settled(hob);
        all.push(after - before);
        if after - before <= most || all.len() == 4 {
            println!("{all:?} commits");
            return after - before;
        }
        before = after;
    }
}

fn chat(hob: &Hob, stream: bool) {
    let message = "what do you think of baroque music";
    match stream {
        false => drop(hob.say(message)),
        true => assert_eq!(hob.stream(json!({"message": message})).last().unwrap().0, "done"),
    }
}

/// So many turns of a model that makes this call and then answers.
fn turns(hob: &Hob, server: &ModelServer, call: impl Fn(u64) -> (&'static str, Value)) {
    for n in 0..TIMES {
        server.script(vec![calls(&[call(n)]), says("done")]);
        let answer = hob.say(&format!("do it, the {n}th time"));
        assert_eq!(
            (&answer["response"], &answer["toolCalls"][0]["isError"]),
            (&json!("done"), &json!(false)),
            "{answer}"
        );
    }
}

#[test]
fn a_plain_turn_is_one_commit() {
    let hob = Hob::start();
    assert_eq!(counted(&hob, TIMES, || (0..TIMES).for_each(|_| drop(hob.say("hello")))), TIMES, "without a model");
    let stream = || assert_eq!(hob.stream(json!({"message": "hello"})).last().unwrap().0, "done");
    assert_eq!(counted(&hob, TIMES, || (0..TIMES).for_each(|_| stream())), TIMES, "streamed");
}

#[test]
fn a_turn_of_a_model_is_one_commit_and_two_where_the_ids_are_told_first() {
    let (hob, server) = with_model("");
    server.always(says("it is fine"));
    assert_eq!(counted(&hob, TIMES, || (0..TIMES).for_each(|_| chat(&hob, false))), TIMES);
    let streamed = counted(&hob, 2 * TIMES, || (0..TIMES).for_each(|_| chat(&hob, true)));
    assert!((TIMES..=2 * TIMES).contains(&streamed), "{streamed}");
}

#[test]
fn a_turn_with_a_call_is_two_commits_at_most() {
    let (hob, server) = with_model("");
    let sum = |n: u64| ("calculate", json!({"expression": format!("6 * {n}")}));
    assert_eq!(counted(&hob, TIMES, || turns(&hob, &server, sum)), TIMES, "nothing was changed");
    let fact = |n: u64| ("remember", json!({"content": format!("fact {n}")}));
    let changes = counted(&hob, 2 * TIMES, || turns(&hob, &server, fact));
    assert!(changes <= 2 * TIMES, "{changes}");
}

#[test]
fn a_tick_is_one_commit() {
    let hob = Hob::start();
    // And one to write the schedule, one to delete it, and at most one for the audit log.
    let most = TIMES + 3;
    for task in [
        json!({"tool": "add_note", "arguments": {"title": "tick", "content": "tock"}}),
        json!({"message": "tick"}),
        json!({"tool": "list_notes", "arguments": {}}),
    ] {
        let commits = counted(&hob, most, || {
            let mut task = task.clone();
            (task["name"], task["schedule"], task["maxRuns"]) = (json!("Tick"), json!("every 2 seconds"), json!(TIMES));
            hob.call("create_scheduled_task", task).data(200);
            // An answer shows only data that are on disk, so nobody asks meanwhile.
            sleep(Duration::from_secs(2 * TIMES + 2));
            let ran = hob.result("get_task_history", json!({"taskId": "Tick"})).to_string().matches("\"ok\"").count();
            assert_eq!(ran, TIMES as usize);
            hob.call("delete_scheduled_task", json!({"taskId": "Tick"})).data(200);
        });
        assert!(commits <= most, "{commits} for {task}");
    }
}

#[test]
fn an_approved_call_is_four_commits() {
    let (hob, server) = that_waits(60, "");
    // And one to store the memory. The others are the question, its answer, the effect, and the end.
    let most = 5;
    let commits = counted(&hob, most, || {
        let id = keep(&hob, "to be forgotten");
        server.script(vec![calls(&[("forget", json!({"memoryId": id}))]), says("as you wish")]);
        std::thread::scope(|scope| {
            let turn = scope.spawn(|| hob.say("forget it"));
            sleep(Duration::from_secs(1));
            let question = asked(&hob, 1).remove(0);
            decide(&hob, &question, "allow_once");
            assert_eq!(turn.join().unwrap()["response"], "as you wish");
        });
    });
    assert!(commits <= most, "{commits}");
}

#[test]
fn a_scheduled_prompt_is_three_commits() {
    let (hob, server) = with_model("");
    autonomy(&hob, "high");
    server.always(says("good morning"));
    // And one to write the schedule, and one to delete it. The others are the answer, the notice, and the end.
    let most = 5;
    let commits = counted(&hob, most, || {
        let task = json!({"name": "Morning", "schedule": "in 1 second", "prompt": "Say good morning."});
        hob.call("create_scheduled_task", task).data(200);
        sleep(Duration::from_secs(4));
        let history = hob.result("get_task_history", json!({"taskId": "Morning"})).to_string();
        assert!(history.contains("\"ok\""), "{history}");
        hob.call("delete_scheduled_task", json!({"taskId": "Morning"})).data(200);
    });
    assert!(commits <= most, "{commits}");
}

#[test]
fn what_was_shown_survives_a_cut_at_once() {
    let (mut hob, server) = with_model("");
    for round in 0..3 {
        server.always(Answer::Hangs);
        let text = format!("remember round {round}");
        let ids = hob.stream(json!({"message": text})).next().unwrap().1;
        hob.kill();
        server.always(says("back again"));
        hob.start_again();
        let path = format!("/api/v1/conversations/{}", ids["conversationId"].as_str().unwrap());
        let messages = || hob.get(&path).data(200)["messages"].as_array().unwrap().clone();
        assert_eq!(messages()[0]["content"], text);
        until("the answer", || messages().last().unwrap()["content"] == "back again");
        assert_eq!(messages().len(), 2);
    }
    // An answer that was given stands, with its message, and with all its calls did.
    for round in 0..3 {
        let fact = format!("the {round}th lamp is green");
        server.script(vec![calls(&[("remember", json!({"content": fact}))]), says("I know it now")]);
        let answer = hob.say("remember it");
        hob.kill();
        hob.start_again();
        let path = format!("/api/v1/conversations/{}", answer["conversationId"].as_str().unwrap());
        let messages = hob.get(&path).data(200)["messages"].as_array().unwrap().clone();
        let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
        assert!(crate::approvals::memories(&hob).contains(&fact));
    }
}

#[test]
fn a_change_is_in_the_audit_log_also_after_a_cut() {
    let mut hob = Hob::start();
    // It writes, and then goes on for as long as it may.
    let code = "await utils.callTool('add_note', {title: 'half', content: 'kept'}); \
                const end = Date.now() + 4000; while (Date.now() < end) {} return 1;";
    make(&hob, "write_and_wait", code, &[]);
    let logged = |hob: &Hob, tool: &str| -> Vec<String> {
        let page = hob.get(&format!("/api/v1/audit?tool={tool}")).data(200);
        let outcome = |entry: &Value| entry["outcome"].as_str().unwrap().to_owned();
        page["entries"].as_array().unwrap().iter().map(outcome).collect()
    };
    std::thread::scope(|scope| {
        let request = hob.admin("POST", "/api/v1/tools/write_and_wait/execute").json(&json!({"arguments": {}}));
        let told = scope.spawn(move || request.events().count());
        let notes = || hob.result("list_notes", json!({"search": "half"}))["notes"].as_array().unwrap().len();
        until("it has written", || notes() == 1);
        assert_eq!(logged(&hob, "write_and_wait"), Vec::<String>::new(), "it has not ended");
        hob.kill();
        let _ = told.join();
    });
    for _ in 0..2 {
        hob.start_again();
        assert_eq!(logged(&hob, "write_and_wait"), ["interrupted"]);
        hob.stop();
    }
    hob.start_again();
    // What was acknowledged is there, whatever its outcome was on disk at that moment.
    hob.result("add_note", json!({"title": "whole", "content": "kept"}));
    hob.kill();
    hob.start_again();
    let all = logged(&hob, "add_note");
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn a_message_that_a_model_thinks_about_survives_a_cut() {
    let (mut hob, server) = with_model("");
    server.always(Answer::Hangs);
    std::thread::scope(|scope| {
        let request = hob.admin("POST", "/api/v1/chat").json(&json!({"message": "are you there?"}));
        let told = scope.spawn(move || request.events().count());
        until("the model is asked", || !server.asked().is_empty());
        // Nobody was told anything, so it is on disk a moment later.
        sleep(Duration::from_millis(600));
        server.always(says("I am"));
        hob.kill();
        let _ = told.join();
    });
    hob.start_again();
    until("the answer", || {
        hob.get("/api/v1/runs?state=done").data(200)["runs"].as_array().is_some_and(|r| r.len() == 1)
    });
}

#[test]
fn a_batch_of_memories_is_one_commit() {
    let hob = Hob::start();
    // And at most one for the audit log, and one for the embeddings that are computed afterwards.
    let mut round = 0;
    let commits = counted(&hob, 3, || {
        round += 1;
        let all: Vec<Value> = (0..30).map(|n| json!({"content": format!("Box {round}-{n} holds nails")})).collect();
        hob.call("batch_remember", json!({"memories": all})).data(200);
    });
    assert!(commits <= 3, "{commits}");
}
