//! Runs from outside: resumed after power cuts and stops, queued, listed, cancelled; conversations are forked, reset,
//! exported and imported.

use crate::{
    approvals::{asked, autonomy, decide, keep, memories, questions, that_waits},
    harness::{Hob, until},
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn run(hob: &Hob, id: &str) -> Value {
    hob.get(&format!("/api/v1/runs/{id}")).data(200)
}

fn comes_to(hob: &Hob, id: &str, state: &str) -> Value {
    let mut found = Value::Null;
    until(state, || {
        found = run(hob, id);
        found["state"] == state
    });
    found
}

/// What was said and done in a conversation: words, the names of called tools, and results.
fn said(hob: &Hob, conversation: &str) -> Vec<String> {
    let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
    let told = |m: &Value| match (m["toolResults"].as_array(), m["toolCalls"].as_array()) {
        (Some(results), _) => text(&results[0]["content"]),
        (None, Some(calls)) => calls.iter().map(|c| text(&c["name"])).collect::<Vec<_>>().join("+"),
        _ => text(&m["content"]),
    };
    kept["messages"].as_array().unwrap().iter().map(told).collect()
}

/// Says something whose answer does not end, up to its first words.
fn half_said(hob: &Hob, server: &ModelServer, body: Value) -> (String, String, crate::http::Events) {
    server.script(vec![Answer::HangsAfter("Once upon".into())]);
    let mut events = hob.stream(body);
    let head = events.next().unwrap().1;
    assert_eq!(events.next().unwrap().0, "text");
    (text(&head["runId"]), text(&head["conversationId"]), events)
}

#[test]
fn an_answer_half_said_when_the_power_goes_is_said_anew() {
    let (mut hob, server) = with_model("");
    let (id, conversation, events) = half_said(&hob, &server, json!({"message": "a story"}));
    assert_eq!(run(&hob, &id)["state"], "running");
    hob.kill();
    drop(events);
    server.asked();
    server.script(vec![says("The whole story.")]);
    hob.start_again();
    let done = comes_to(&hob, &id, "done");
    assert_eq!((&done["resumed"], &done["turns"], &done["error"]), (&json!(1), &json!(1), &Value::Null));
    assert_eq!(said(&hob, &conversation), ["a story", "The whole story."]);
    assert_eq!(server.asked().len(), 1);
    let steps: Vec<&str> = done["steps"].as_array().unwrap().iter().map(|s| s["kind"].as_str().unwrap()).collect();
    assert_eq!(steps, ["message", "answer"]);
    // A stop in good order is told, and goes on likewise.
    let (id, conversation, events) = half_said(&hob, &server, json!({"message": "another"}));
    let end = std::thread::spawn(move || events.last().unwrap());
    assert_eq!(hob.stop(), Some(0));
    let (name, end) = end.join().unwrap();
    assert_eq!((name.as_str(), &end["code"]), ("error", &json!("closing")), "{end}");
    server.script(vec![says("The other story.")]);
    hob.start_again();
    comes_to(&hob, &id, "done");
    assert_eq!(said(&hob, &conversation), ["another", "The other story."]);
    hob.assert_alive();
}

#[test]
fn a_call_that_had_begun_when_the_power_went_is_not_made_again() {
    for in_good_order in [false, true] {
        let (mut hob, server) = with_model("");
        autonomy(&hob, "full");
        let code = "await utils.callTool('remember', {content: 'begun'}); const end = Date.now() + 20000; while (Date.now() < end) {}";
        let draft = json!({"name": "long_work", "description": "Works long.", "code": code, "createdBy": "user",
                           "parameters": {"type": "object", "properties": {}}});
        hob.post("/api/v1/custom-tools", draft).data(201);
        server.script(vec![calls(&[("remember", json!({"content": "first"})), ("long_work", json!({}))])]);
        let mut events = hob.stream(json!({"message": "work"}));
        let id = text(&events.next().unwrap().1["runId"]);
        until("the work", || memories(&hob).len() == 2);
        until("its first result", || run(&hob, &id)["steps"].as_array().unwrap().len() == 5);
        let states: Vec<Value> =
            run(&hob, &id)["steps"].as_array().unwrap().iter().map(|s| s["state"].clone()).collect();
        assert_eq!(states[2..4], ["done", "begun"]);
        if in_good_order {
            hob.stop();
        } else {
            hob.kill();
        }
        drop(events);
        server.asked();
        server.script(vec![says("I will look")]);
        hob.start_again();
        comes_to(&hob, &id, "done");
        let shown = server.asked().remove(0).messages("tool");
        let told = |n: usize| text(&shown[n]["content"]);
        assert!(told(0).contains("first") || told(0).contains("id"), "{shown:?}");
        let how = if in_good_order { "cut short while" } else { "lost power while" };
        assert!(told(1).contains(how) && told(1).contains("`long_work`"), "{shown:?}");
        assert!(told(1).contains("not known whether it was done"), "{shown:?}");
        assert_eq!(memories(&hob).len(), 2, "nothing was done twice");
        hob.assert_alive();
    }
}

#[test]
fn what_a_person_was_being_asked_is_not_asked_again() {
    let (mut hob, server) = that_waits(60, "");
    for decision in ["allow_once", "deny"] {
        let id = keep(&hob, "asked about");
        server.script(vec![calls(&[("forget", json!({"memoryId": id}))])]);
        let mut events = hob.stream(json!({"message": "forget it"}));
        let head = events.next().unwrap().1;
        let (id, conversation) = (text(&head["runId"]), text(&head["conversationId"]));
        events.find(|(name, _)| name == "approval").unwrap();
        drop(events);
        for _ in 0..2 {
            hob.kill();
            hob.start_again();
            comes_to(&hob, &id, "waiting");
            assert_eq!(questions(&hob, "pending").len(), 1);
        }
        server.asked();
        server.script(vec![says("well")]);
        decide(&hob, &asked(&hob, 1)[0], decision);
        comes_to(&hob, &id, "done");
        assert_eq!(server.asked().len(), 1);
        assert_eq!(said(&hob, &conversation).last().unwrap(), "well");
        assert_eq!(memories(&hob).len(), usize::from(decision == "deny"));
        assert!(questions(&hob, "pending").is_empty());
    }
    // One that rests can be stopped.
    let id = keep(&hob, "another");
    server.script(vec![calls(&[("forget", json!({"memoryId": id}))])]);
    let mut events = hob.stream(json!({"message": "forget it"}));
    let id = text(&events.next().unwrap().1["runId"]);
    events.find(|(name, _)| name == "approval").unwrap();
    drop(events);
    hob.kill();
    hob.start_again();
    comes_to(&hob, &id, "waiting");
    hob.post(&format!("/api/v1/runs/{id}/cancel"), json!({})).data(200);
    assert_eq!(run(&hob, &id)["state"], "cancelled");
    assert!(questions(&hob, "pending").is_empty());
    hob.assert_alive();
}

#[test]
fn messages_wait_for_their_turn_and_failed_runs_go_on() {
    let (mut hob, server) = with_model("[model]\nretries = 0\n");
    let (first, conversation, events) = half_said(&hob, &server, json!({"message": "1"}));
    let on = |text: &str, busy: &str| json!({"message": text, "conversationId": conversation, "whileBusy": busy});
    hob.post("/api/v1/chat", on("2", "refuse")).refusal(409, "unavailable");
    hob.post("/api/v1/chat", on("2", "hurry")).refusal(400, "bad_args");
    let mut second = hob.stream(on("2", "queue"));
    let head = second.next().unwrap().1;
    assert_eq!(head["queued"], true);
    let listed = hob.get(&format!("/api/v1/runs?state=queued,running&conversationId={conversation}")).data(200);
    let states: Vec<&Value> = listed["runs"].as_array().unwrap().iter().map(|r| &r["state"]).collect();
    assert_eq!((&listed["count"], states), (&json!(2), vec![&json!("queued"), &json!("running")]));
    server.script(vec![Answer::Status(500, String::new(), "{}".into())]);
    hob.post(&format!("/api/v1/runs/{first}/cancel"), json!({})).data(200);
    assert_eq!(events.last().unwrap().1["code"], "cancelled");
    assert_eq!(second.last().unwrap().1["code"], "model");
    let id = text(&head["runId"]);
    let failed = run(&hob, &id);
    assert_eq!((&failed["state"], &failed["error"]["code"]), (&json!("failed"), &json!("model")));
    server.script(vec![says("zwei")]);
    hob.post(&format!("/api/v1/runs/{id}/resume"), json!({})).data(200);
    comes_to(&hob, &id, "done");
    assert_eq!(said(&hob, &conversation), ["1", "Once upon", "2", "zwei"]);
    hob.post(&format!("/api/v1/runs/{id}/resume"), json!({})).refusal(409, "unavailable");
    hob.post(&format!("/api/v1/runs/{first}/resume"), json!({})).refusal(409, "unavailable");
    hob.get("/api/v1/runs?state=asleep").refusal(400, "bad_args");
    let stranger = hob.token("ben", "member");
    hob.request("GET", &format!("/api/v1/runs/{id}")).bearer(&stranger).send().refusal(404, "not_found");
    assert_eq!(hob.request("GET", "/api/v1/runs").bearer(&stranger).send().data(200)["count"], 0);
    hob.admin("DELETE", &format!("/api/v1/conversations/{conversation}")).send().data(200);
    hob.get(&format!("/api/v1/runs/{id}")).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn conversations_are_copied_emptied_taken_along_and_brought_in() {
    let (mut hob, server) = with_model("");
    server.script(vec![says("one"), says("two")]);
    let first = hob.say("1");
    let conversation = text(&first["conversationId"]);
    hob.post("/api/v1/chat", json!({"message": "2", "conversationId": conversation})).data(200);
    let at = |id: &str, what: &str| format!("/api/v1/conversations/{id}/{what}");
    let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
    assert!(kept["tokens"].as_u64().unwrap() > 0);
    let copy = hob.post(&at(&conversation, "fork"), json!({"messageId": kept["messages"][1]["id"]})).data(200);
    assert_eq!((&copy["forkedFrom"], &copy["messageCount"]), (&json!(conversation), &json!(2)));
    assert_eq!(said(&hob, &text(&copy["id"])), ["1", "one"]);
    hob.post(&at(&conversation, "fork"), json!({"messageId": first["runId"]})).refusal(404, "not_found");
    let document = hob.get(&at(&conversation, "export")).data(200);
    assert_eq!((&document["format"], document["messages"].as_array().unwrap().len()), (&json!("hob-conversation"), 4));
    let brought = hob.post("/api/v1/conversations/import", document.clone()).data(200);
    assert_eq!(said(&hob, &text(&brought["id"])), ["1", "one", "2", "two"]);
    let mut long = document;
    long["messages"][0]["content"] = "x".repeat(3 << 20).into();
    hob.post("/api/v1/conversations/import", long.clone()).data(200);
    long["messages"][0]["content"] = "x".repeat(6 << 20).into();
    hob.post("/api/v1/conversations/import", long.clone()).refusal(400, "bad_args");
    long["messages"][0]["content"] = "x".repeat(9 << 20).into();
    hob.post("/api/v1/conversations/import", long).refusal(413, "too_large");
    for bad in
        [json!({}), json!({"format": "hob-conversation", "version": 1, "messages": [{"role": "system"}]}), json!([])]
    {
        hob.post("/api/v1/conversations/import", bad).refusal(400, "bad_args");
    }
    let emptied = hob.post(&at(&conversation, "reset"), json!({})).data(200);
    assert_eq!((&emptied["messageCount"], &emptied["title"]), (&json!(0), &json!("1")));
    let stranger = hob.token("ben", "admin");
    for (method, what) in [("POST", "fork"), ("POST", "reset"), ("GET", "export")] {
        let request = hob.request(method, &at(&conversation, what)).bearer(&stranger);
        let request = if method == "POST" { request.json(&json!({})) } else { request };
        request.send().refusal(404, "not_found");
    }
    hob.assert_alive();
}

#[test]
fn pictures_go_with_a_message() {
    let (mut hob, server) = with_model("");
    server.script(vec![says("a dot"), says("the same dot")]);
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let url = format!("data:image/png;base64,{dot}");
    let parts = json!([{"type": "text", "text": "what is it?"}, {"type": "image", "url": url}]);
    let answer = hob.post("/api/v1/chat", json!({"message": parts})).data(200);
    let conversation = text(&answer["conversationId"]);
    let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
    let media = &kept["messages"][0]["media"][0];
    assert_eq!(media["mediaType"], "image/png");
    assert!(server.asked()[0].body.to_string().contains(dot));
    hob.post("/api/v1/chat", json!({"message": "and now?", "conversationId": conversation})).data(200);
    assert!(server.asked()[0].body.to_string().contains(dot), "it is brought again");
    hob.admin("DELETE", &format!("/api/v1/files/{}", text(&media["id"]))).send().data(200);
    server.script(vec![says("I cannot see it any more")]);
    hob.post("/api/v1/chat", json!({"message": "look again", "conversationId": conversation})).data(200);
    let shown = server.asked().remove(0).body.to_string();
    assert!(!shown.contains(dot) && shown.contains("[picture "), "{shown}");
    let gone = json!([{"type": "image", "file": media["id"]}]);
    hob.post("/api/v1/chat", json!({"message": gone})).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn an_orchestrator_ends_with_what_was_said_last() {
    let (mut hob, server) = with_model("");
    let turn = |n: usize| {
        let call = |with: usize| ("calculate".to_owned(), json!({"expression": format!("{n} + {with}")}).to_string());
        Answer::Calls(format!("That was step {n}."), vec![call(1), call(2)])
    };
    server.script((1..=12).map(turn).collect());
    let done = hob.post("/api/v1/chat", json!({"message": "go on and on", "preset": "orchestrator"})).data(200);
    assert_eq!((done["response"].as_str(), server.asked().len()), (Some("That was step 10."), 10));
    let of_run = run(&hob, &text(&done["runId"]));
    assert_eq!((&of_run["state"], &of_run["turns"]), (&json!("done"), &json!(10)));
    let unknown = hob.post("/api/v1/chat", json!({"message": "go", "preset": "swarm"})).refusal(400, "bad_args");
    assert!(unknown.contains("orchestrator"), "{unknown}");
    hob.assert_alive();
}

#[test]
fn who_leaves_the_household_has_nothing_done_any_more() {
    let (mut hob, server) = with_model("");
    let ben = hob.token("ben", "member");
    server.script(vec![Answer::HangsAfter("I begin".into()), says("and I go on")]);
    let mut events =
        hob.request("POST", "/api/v1/chat").bearer(&ben).json(&json!({"message": "go", "stream": true})).events();
    while events.next().unwrap().0 != "text" {}
    let people = hob.get("/api/v1/people").data(200)["people"].take();
    let ben = people.as_array().unwrap().iter().find(|p| p["name"] == "ben").unwrap()["id"].clone();
    hob.admin("DELETE", &format!("/api/v1/people/{}", text(&ben))).send().data(200);
    let (name, end) = events.last().unwrap();
    assert_eq!((name.as_str(), &end["code"]), ("error", &json!("cancelled")), "{end}");
    hob.assert_alive();
}

#[test]
fn a_model_that_fails_in_the_middle_of_its_work_is_told_and_its_run_named() {
    let (mut hob, server) = with_model("[model]\nretries = 0");
    let broken = || Answer::Status(500, String::new(), "{\"error\":{\"message\":\"out of order\"}}".into());
    server.script(vec![calls(&[("add_task", json!({"title": "Milk"}))]), broken()]);
    let answer = hob.post("/api/v1/chat", json!({"message": "add milk to my tasks, then bread"}));
    let why: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!((answer.status, &why["error"]["code"]), (424, &json!("model")), "{why}");
    let id = text(&why["error"]["details"]["runId"]);
    let failed = run(&hob, &id);
    assert_eq!(
        (&failed["state"], &failed["conversationId"]),
        (&json!("failed"), &why["error"]["details"]["conversationId"])
    );
    // What was done is done, and it goes on from there.
    server.script(vec![says("Milk is there; bread is not.")]);
    hob.post(&format!("/api/v1/runs/{id}/resume"), json!({})).data(200);
    comes_to(&hob, &id, "done");
    assert_eq!(hob.result("list_tasks", json!({}))["count"], 1);
    hob.assert_alive();
}
