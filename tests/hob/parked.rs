//! Suspended runs: they resume when somebody answers, whatever happened meanwhile.

use crate::{
    approvals::{answer, asked, autonomy, decide, keep, last, memories, questions, that_waits},
    harness::{Hob, until},
    model_server::{Asked, ModelServer, calls, says},
};
use serde_json::{Value, json};

/// Says something that nobody answers the question to, and gives the answer and the conversation's id.
fn say_and_rest(hob: &Hob, body: Value) -> (Value, String) {
    let rested = hob.post("/api/v1/chat", body).data(200);
    let conversation = rested["conversationId"].as_str().unwrap().to_owned();
    (rested, conversation)
}

fn forget(id: &str) -> (&'static str, Value) {
    ("forget", json!({"memoryId": id}))
}

fn messages(hob: &Hob, conversation: &str) -> Vec<Value> {
    let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
    kept["messages"].as_array().unwrap().clone()
}

/// The results of tools in a conversation, with the ids of their calls.
fn results(hob: &Hob, conversation: &str) -> Vec<(String, String)> {
    let all = messages(hob, conversation);
    let results = all.iter().flat_map(|m| m["toolResults"].as_array().cloned().unwrap_or_default());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    results.map(|r| (text(&r["toolCallId"]), text(&r["content"]))).collect()
}

/// Waits until the last message of the conversation is this one.
fn said(hob: &Hob, conversation: &str, text: &str) {
    until(text, || last(hob, conversation)["content"] == text);
}

fn next_asked(server: &ModelServer) -> Asked {
    let mut all = vec![];
    until("the model to be asked", || {
        all.extend(server.asked());
        !all.is_empty()
    });
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_run_rests_and_goes_on_with_the_answer_also_after_a_power_cut() {
    let (mut hob, server) = that_waits(1, "");
    for (cut, decision, direct) in [
        (false, "allow_once", true),
        (true, "allow_once", false),
        (false, "deny", false),
        (true, "deny", true),
        (true, "allow_always", true),
    ] {
        let id = keep(&hob, "to be forgotten");
        let by_facade = ("use_tool", json!({"tool_name": "forget", "arguments": {"memoryId": id}}));
        let call = if direct { forget(&id) } else { by_facade };
        server.script(vec![calls(&[call])]);
        let (rested, conversation) = say_and_rest(&hob, json!({"message": "forget it"}));
        let question = questions(&hob, "pending").remove(0);
        assert_eq!(rested["waiting"], json!([question["id"]]));
        let told = rested["response"].as_str().unwrap();
        assert!(told.contains("I wait for your decision about `forget`"), "{told}");
        assert_eq!((&rested["toolCalls"], &question["state"]), (&json!([]), &json!("pending")));
        assert!(memories(&hob).contains("to be forgotten"));
        let before = messages(&hob, &conversation);
        assert_eq!(before.last().unwrap()["toolCalls"][0]["name"], call_name(direct), "the call is shown");
        assert_eq!(hob.get("/api/v1/runs?state=running").data(200)["count"], 0, "a run that rests is not under way");
        server.asked();
        if cut {
            hob.kill();
            hob.start_again();
            assert_eq!(questions(&hob, "pending"), std::slice::from_ref(&question));
        }
        server.script(vec![says("so be it")]);
        decide(&hob, &question, decision);
        said(&hob, &conversation, "so be it");
        let results = results(&hob, &conversation);
        let yes = decision != "deny";
        assert_eq!((results.len(), results[0].1.contains("\"forgotten\":true")), (1, yes), "{results:?}");
        assert_eq!(memories(&hob).contains("to be forgotten"), !yes);
        // The model was shown the whole exchange, and the call made once.
        let shown = next_asked(&server);
        let results = shown.messages("tool");
        assert_eq!((results.len(), &results[0]["tool_call_id"]), (1, &before.last().unwrap()["toolCalls"][0]["id"]));
        assert!(yes || results[0]["content"].as_str().unwrap().contains("said no"), "{results:?}");
        assert_eq!(shown.messages("user").len(), 1);
        let grants = hob.get("/api/v1/grants").data(200)["count"].as_u64().unwrap();
        assert_eq!(grants, u64::from(decision == "allow_always"));
        answer(&hob, &question, json!({"decision": "allow_once"})).refusal(409, "unavailable");
        hob.result("forget", json!({"memoryId": keep(&hob, "x")}));
        if !yes {
            hob.result("forget", json!({"memoryId": id}));
        }
    }
    hob.assert_alive();
}

fn call_name(direct: bool) -> &'static str {
    if direct { "forget" } else { "use_tool" }
}

#[test]
fn a_power_cut_while_a_person_is_asked_loses_no_question_but_moves_no_pin_later() {
    let (mut hob, server) = that_waits(60, "");
    autonomy(&hob, "low");
    let id = keep(&hob, "asked about");
    let pin = ("gpio_write", json!({"pin": 7, "high": true}));
    server.script(vec![calls(&[forget(&id), pin])]);
    let mut events = hob.stream(json!({"message": "both"}));
    let conversation = events.next().unwrap().1["conversationId"].as_str().unwrap().to_owned();
    assert_eq!(events.by_ref().filter(|(name, _)| name == "approval").take(2).count(), 2);
    let both = questions(&hob, "pending");
    let of = |tool: &str| both.iter().find(|q| q["tool"] == tool).unwrap();
    // A pin is not moved a day later.
    assert_eq!(of("gpio_write")["expiresAt"], of("gpio_write")["waitsUntil"]);
    drop(events);
    hob.kill();
    hob.start_again();
    assert_eq!(questions(&hob, "pending"), [of("forget").clone()]);
    answer(&hob, of("gpio_write"), json!({"decision": "allow_once"})).refusal(409, "unavailable");
    server.asked();
    server.script(vec![says("the pin stays as it is")]);
    decide(&hob, of("forget"), "allow_once");
    said(&hob, &conversation, "the pin stays as it is");
    assert!(memories(&hob).is_empty());
    assert_eq!(hob.result("gpio_read", json!({"pin": 7}))["high"], false);
    // Both calls have a result, one what happened and one that nothing did.
    let shown = next_asked(&server).messages("tool");
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0]["content"].as_str().unwrap().contains("forgotten"), "{shown:?}");
    assert!(shown[1]["content"].as_str().unwrap().contains("did not answer in time"), "{shown:?}");
    // A stop in good order loses no more than a power cut.
    let id = keep(&hob, "asked again");
    server.script(vec![calls(&[forget(&id)])]);
    let mut events = hob.stream(json!({"message": "forget it"}));
    let question = events.find(|(name, _)| name == "approval").unwrap().1;
    let end = std::thread::spawn(move || events.last().unwrap());
    assert_eq!(hob.stop(), Some(0));
    let (name, end) = end.join().unwrap();
    assert_eq!((name.as_str(), &end["waiting"]), ("done", &json!([question["id"]])), "{end}");
    hob.start_again();
    assert_eq!(questions(&hob, "pending"), std::slice::from_ref(&question));
    server.script(vec![says("done")]);
    decide(&hob, &question, "allow_once");
    said(&hob, question["conversationId"].as_str().unwrap(), "done");
    assert_eq!((memories(&hob).len(), results(&hob, question["conversationId"].as_str().unwrap()).len()), (0, 1));
    hob.assert_alive();
}

#[test]
fn two_calls_of_one_turn_are_answered_in_either_order() {
    let (mut hob, server) = that_waits(1, "");
    for (first, cut) in [(0, false), (1, false), (1, true)] {
        let ids = [keep(&hob, "one"), keep(&hob, "two")];
        let time = ("get_current_datetime", json!({}));
        server.script(vec![calls(&[forget(&ids[0]), time, forget(&ids[1])])]);
        let (rested, conversation) = say_and_rest(&hob, json!({"message": "forget both"}));
        assert_eq!(rested["toolCalls"].as_array().unwrap().len(), 1, "what needs no yes was done: {rested}");
        let open = questions(&hob, "pending");
        let of = |id: &str| open.iter().find(|q| q["arguments"]["memoryId"] == id).unwrap();
        let mut waiting: Vec<&str> =
            rested["waiting"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        let mut asked: Vec<&str> = open.iter().map(|q| q["id"].as_str().unwrap()).collect();
        waiting.sort_unstable();
        asked.sort_unstable();
        assert_eq!((waiting, open.len()), (asked, 2));
        server.asked();
        // No word of the model before the second answer.
        server.script(vec![says("both are settled")]);
        decide(&hob, of(&ids[first]), "allow_once");
        until("the first call", || memories(&hob).len() == 1);
        until("its result", || results(&hob, &conversation).len() == 2);
        assert_eq!(server.left(), 1);
        if cut {
            hob.kill();
            hob.start_again();
        }
        decide(&hob, of(&ids[1 - first]), "deny");
        said(&hob, &conversation, "both are settled");
        let shown = next_asked(&server).messages("tool");
        let order: Vec<&str> = shown.iter().map(|r| r["tool_call_id"].as_str().unwrap()).collect();
        assert_eq!(order, ["call_0_forget", "call_1_get_current_datetime", "call_2_forget"]);
        let yes: Vec<bool> = shown.iter().map(|r| r["content"].as_str().unwrap().contains("forgotten")).collect();
        assert_eq!((yes[0], yes[2]), (first == 0, first == 1), "{shown:?}");
        assert_eq!(memories(&hob).len(), 1);
        hob.result("forget", json!({"memoryId": ids[1 - first]}));
    }
    // Both at the same time.
    let ids = [keep(&hob, "one"), keep(&hob, "two")];
    server.script(vec![calls(&[forget(&ids[0]), forget(&ids[1])])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget both"}));
    let open = questions(&hob, "pending");
    server.script(vec![says("once and for all"), says("twice")]);
    std::thread::scope(|scope| {
        for question in &open {
            scope.spawn(|| decide(&hob, question, "allow_once"));
        }
    });
    said(&hob, &conversation, "once and for all");
    assert_eq!((memories(&hob).len(), server.left()), (0, 1), "the model was asked once");
    hob.assert_alive();
}

#[test]
fn a_conversation_that_went_on_hears_of_it_late() {
    let (mut hob, server) = that_waits(1, "");
    let id = keep(&hob, "late");
    server.script(vec![calls(&[forget(&id)])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget it"}));
    let on = |text: &str| json!({"message": text, "conversationId": conversation});
    server.asked();
    server.script(vec![says("it waits for you")]);
    hob.post("/api/v1/chat", on("what is it waiting for?")).data(200);
    let shown = server.asked().remove(0);
    assert!(shown.messages("tool")[0]["content"].as_str().unwrap().contains("a person has not answered yet"));
    // What came of a late answer is told.
    server.script(vec![says("now it is forgotten")]);
    decide(&hob, &questions(&hob, "pending")[0], "allow_once");
    let told = |text: &str| messages(&hob, &conversation).last().is_some_and(|m| m["content"] == text);
    until("a word about it", || told("now it is forgotten"));
    assert!(memories(&hob).is_empty() && results(&hob, &conversation).len() == 1);
    let kept = messages(&hob, &conversation);
    let roles: Vec<&str> = kept.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "tool", "assistant"]);
    server.asked();
    server.script(vec![says("as I said")]);
    hob.post("/api/v1/chat", on("and now?")).data(200);
    let shown = server.asked().remove(0);
    let order: Vec<&str> =
        shown.body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    // Many servers take no message of the person straight after a result.
    assert_eq!(order, ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"]);
    assert!(shown.messages("tool")[0]["content"].as_str().unwrap().contains("forgotten"));

    // While it is speaking the call waits for its turn.
    let id = keep(&hob, "busy");
    server.script(vec![calls(&[forget(&id)])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget it"}));
    let question = questions(&hob, "pending").remove(0);
    let told = |text: &str| messages(&hob, &conversation).last().is_some_and(|m| m["content"] == text);
    let busy = keep(&hob, "in the way");
    server.script(vec![calls(&[forget(&busy)])]);
    let mut events = hob.stream(json!({"message": "forget the other", "conversationId": conversation}));
    events.find(|(name, _)| name == "approval").unwrap();
    server.script(vec![says("the first is forgotten")]);
    decide(&hob, &question, "allow_once");
    let end = events.last().unwrap().1;
    assert_eq!(end["waiting"].as_array().unwrap().len(), 1, "{end}");
    until("a word about it", || told("the first is forgotten"));
    assert!(!memories(&hob).contains("busy") && memories(&hob).contains("in the way"));
    // Deleted meanwhile, its question is over too.
    let question = asked(&hob, 1).remove(0);
    until("the end of the run", || hob.get("/api/v1/runs?state=running").data(200)["count"] == 0);
    hob.admin("DELETE", &format!("/api/v1/conversations/{conversation}")).send().data(200);
    assert!(questions(&hob, "pending").is_empty());
    // It is over at once, and forgotten a moment later.
    let late = answer(&hob, &question, json!({"decision": "allow_once"}));
    assert!([404, 409].contains(&late.status), "{}", late.text());
    assert!(memories(&hob).contains("in the way"));
    hob.get(&format!("/api/v1/conversations/{conversation}")).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn a_run_may_rest_again_and_again() {
    let (mut hob, server) = that_waits(1, "");
    let ids = [keep(&hob, "first"), keep(&hob, "second"), keep(&hob, "third")];
    server.script(vec![calls(&[forget(&ids[0])])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget all"}));
    for (at, id) in ids[1..].iter().enumerate() {
        server.script(vec![calls(&[forget(id)])]);
        decide(&hob, &asked(&hob, 1)[0], "allow_once");
        until("the call", || memories(&hob).len() == 2 - at);
        until("the next question", || {
            let open = questions(&hob, "pending");
            open.len() == 1 && open[0]["arguments"]["memoryId"] == *id
        });
        // The next answer comes when the run rests.
        until("its rest", || hob.get("/api/v1/runs?state=running").data(200)["count"] == 0);
        hob.kill();
        hob.start_again();
    }
    server.script(vec![says("all are gone")]);
    decide(&hob, &asked(&hob, 1)[0], "allow_once");
    said(&hob, &conversation, "all are gone");
    assert!(memories(&hob).is_empty());
    assert_eq!(results(&hob, &conversation).len(), 3);
}

#[test]
fn what_cannot_be_taken_up_again_is_refused_when_nobody_answers() {
    let (hob, server) = that_waits(1, "");
    autonomy(&hob, "low");
    let id = keep(&hob, "kept");
    let batch = json!({"operations": [{"tool": "forget", "args": {"memoryId": id}}, {"tool": "calculate", "args": {"expression": "6*7"}}]});
    for (tool, arguments, part) in [
        ("gpio_write", json!({"pin": 5, "high": true}), "nobody answered within 1 s"),
        ("batch_use_tool", batch, "nobody answered within 1 s"),
    ] {
        server.script(vec![calls(&[(tool, arguments)]), says("I could not")]);
        let end = hob.say("do it");
        assert_eq!((end.get("waiting"), &end["response"]), (None, &json!("I could not")), "{end}");
        let told = end["toolCalls"][0]["result"].to_string();
        assert!(told.contains(part), "{told}");
        assert!(tool != "batch_use_tool" || told.contains("42"), "{told}");
        let question = questions(&hob, "settled").remove(0);
        assert_eq!(question["state"], "expired");
        answer(&hob, &question, json!({"decision": "allow_once"})).refusal(409, "unavailable");
    }
    assert_eq!(hob.result("gpio_read", json!({"pin": 5}))["high"], false);
    assert!(memories(&hob).contains("kept"));
    assert!(questions(&hob, "pending").is_empty());
    // A program that keeps its conversation itself cannot be gone on with either.
    server.script(vec![calls(&[forget(&id)]), says("I could not")]);
    let told =
        hob.post("/v1/chat/completions", json!({"model": "hob", "messages": [{"role": "user", "content": "x"}]}));
    assert_eq!(told.json()["choices"][0]["message"]["content"], "I could not", "{}", told.text());
    assert!(memories(&hob).contains("kept"));
}

#[test]
fn the_rights_of_now_count_when_it_goes_on() {
    let (hob, server) = that_waits(1, "");
    let id = keep(&hob, "kept");
    server.script(vec![calls(&[forget(&id)])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget it", "allowTools": ["forget"]}));
    hob.admin("PUT", "/api/v1/policy").json(&json!({"deny": ["forget"]})).send().data(200);
    server.script(vec![says("so I may not")]);
    decide(&hob, &questions(&hob, "pending")[0], "allow_once");
    said(&hob, &conversation, "so I may not");
    let results = results(&hob, &conversation);
    assert!(results[0].1.contains("nobody may use `forget`"), "{results:?}");
    assert!(memories(&hob).contains("kept"));
    // What the request was bound to holds for what comes after.
    hob.admin("PUT", "/api/v1/policy").json(&json!({})).send().data(200);
    server.script(vec![calls(&[forget(&id)])]);
    let (_, conversation) = say_and_rest(&hob, json!({"message": "forget it", "allowTools": ["forget"]}));
    server.script(vec![calls(&[("remember", json!({"content": "not asked for"}))]), says("done")]);
    decide(&hob, &questions(&hob, "pending")[0], "allow_once");
    said(&hob, &conversation, "done");
    assert!(memories(&hob).is_empty(), "{:?}", memories(&hob));
}

#[test]
fn who_has_lost_a_right_meanwhile_does_not_use_it_any_more() {
    let (hob, server) = that_waits(1, "");
    for gone in [false, true] {
        let token = hob.token("ben", "member");
        let as_ben = |method: &str, path: &str| hob.request(method, path).bearer(&token);
        let kept = as_ben("POST", "/api/v1/tools/remember/execute")
            .json(&json!({"arguments": {"content": "of Ben", "shared": true}}));
        let id = kept.send().data(200)["result"]["id"].as_str().unwrap().to_owned();
        server.script(vec![calls(&[forget(&id)])]);
        as_ben("POST", "/api/v1/chat").json(&json!({"message": "forget it"})).send().data(200);
        let people = hob.get("/api/v1/people").data(200)["people"].take();
        let ben = people.as_array().unwrap().iter().find(|p| p["name"] == "ben").unwrap()["id"].clone();
        let at = format!("/api/v1/people/{}", ben.as_str().unwrap());
        match gone {
            true => hob.admin("DELETE", &at).send(),
            false => hob.admin("PATCH", &at).json(&json!({"role": "viewer"})).send(),
        }
        .data(200);
        let question = hob.get("/api/v1/approvals?everybody=true").data(200)["approvals"][0].take();
        server.script(vec![says("then not")]);
        decide(&hob, &question, "allow_once");
        match gone {
            // What somebody asked for who is gone is not gone on with.
            true => until("the end", || hob.log().contains("run ended") && hob.log().contains("outcome=\"denied\"")),
            false => until("the end", || server.left() == 0),
        }
        assert!(memories(&hob).contains("of Ben"), "gone: {gone}");
        if !gone {
            hob.admin("DELETE", &at).send().data(200);
        }
    }
}
