//! A client of OpenAI's chat completions: what it may send, what it receives, and what stays hidden.

use crate::{
    harness::{Hob, until},
    http::{Reply, Request},
    model::with_model,
    model_server::{Answer, calls, says},
};
use serde_json::{Value, json};

const COMPLETIONS: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn body(messages: Value) -> Value {
    json!({"model": "hob", "messages": messages})
}

fn with(mut body: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn ask(hob: &Hob, body: Value) -> Reply {
    hob.post(COMPLETIONS, body)
}

/// The one choice of an answer, once everything around it is as OpenAI has it.
fn choice(reply: &Reply) -> Value {
    let answer = reply.json();
    assert_eq!((reply.status, &answer["object"]), (200, &json!("chat.completion")), "{answer}");
    assert!(
        answer["id"].as_str().unwrap().starts_with("chatcmpl-") && answer["created"].as_u64().unwrap() > 1_700_000_000
    );
    assert_eq!(answer["choices"].as_array().unwrap().len(), 1);
    let choice = &answer["choices"][0];
    assert_eq!((&choice["index"], &choice["message"]["role"]), (&json!(0), &json!("assistant")));
    assert_eq!((choice.get("logprobs"), choice["message"].get("refusal")), (Some(&Value::Null), Some(&Value::Null)));
    choice.clone()
}

/// The sentence of a refusal in OpenAI's shape, once status, sort, code and part are right.
fn refusal(reply: &Reply, status: u16, kind: &str, code: &str, param: Option<&str>) -> String {
    let answer = reply.json();
    let error = &answer["error"];
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    assert_eq!((reply.status, &error["type"], &error["code"]), (status, &json!(kind), &json!(code)), "{answer}");
    assert_eq!(error["param"], json!(param), "{answer}");
    let message = error["message"].as_str().unwrap().to_owned();
    assert!(message.split(' ').count() >= 4, "`{message}` is no sentence");
    message
}

fn weather() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": "get-weather", "description": "The weather", "parameters": parameters}})
}

fn kept(hob: &Hob) -> Value {
    hob.get("/api/v1/conversations").data(200)["count"].clone()
}

#[test]
fn the_models_that_can_be_asked_for() {
    let (hob, server) = with_model("");
    server.script(vec![says("a"), says("b")]);
    let listed = hob.get("/v1/models").json();
    let ids: Vec<&Value> = listed["data"].as_array().unwrap().iter().map(|m| &m["id"]).collect();
    assert_eq!(
        (&listed["object"], ids),
        (&json!("list"), vec![&json!("hob"), &json!("custom/test-model"), &json!("all-MiniLM-L6-v2")])
    );
    for (path, id) in
        [("hob", "hob"), ("custom/test-model", "custom/test-model"), ("custom%2Ftest-model", "custom/test-model")]
    {
        let one = hob.get(&format!("/v1/models/{path}")).json();
        assert_eq!((&one["id"], &one["object"], &one["owned_by"]), (&json!(id), &json!("model"), &json!("hob")));
    }
    for id in ["hob", "custom/test-model"] {
        let answer = ask(&hob, with(body(user("hi")), json!({"model": id}))).json();
        assert_eq!(answer["model"], "custom/test-model");
    }
    for reply in [hob.get("/v1/models/gpt-9"), ask(&hob, with(body(user("hi")), json!({"model": "test-model"})))] {
        let why = refusal(&reply, 404, "invalid_request_error", "model_not_found", Some("model"));
        assert!(why.contains("`hob`") && why.contains("`custom/test-model`"), "{why}");
    }
}

#[test]
fn without_a_model_sentences_are_answered_as_in_chat() {
    let hob = Hob::start();
    let history = json!([
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "turn on pin 9"},
        {"role": "assistant", "content": "Aye."},
        {"role": "user", "content": [{"type": "text", "text": "turn on"}, {"type": "text", "text": "pin 5"}]},
    ]);
    // The program's tools cannot be called, and who demands that is told so.
    let named = json!({"type": "function", "function": {"name": "get-weather"}});
    for choice in [json!("required"), named] {
        let more = json!({"tools": [weather()], "tool_choice": choice});
        let reply = ask(&hob, with(body(history.clone()), more));
        assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("tool_choice")), "{}", reply.text());
    }
    for more in [json!({}), json!({"tools": [weather()]})] {
        let reply = ask(&hob, with(body(history.clone()), more));
        let choice = choice(&reply);
        assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("Pin 5 is on."), &json!("stop")));
        assert_eq!((&reply.json()["model"], &reply.json()["usage"]["total_tokens"]), (&json!("reflex"), &json!(0)));
    }
    assert_eq!(hob.result("gpio_read", json!({"pin": 5}))["high"], true);
    assert_eq!(hob.result("gpio_read", json!({"pin": 9}))["high"], false, "what was said before is not done again");
    let replaced = with(weather(), json!({"function": {"name": "gpio_write"}}));
    let reply = ask(&hob, with(body(user("turn off pin 5")), json!({"tools": [replaced]})));
    assert_eq!(choice(&reply)["message"]["content"], "Pin 5 is off.");
    let quiet = ask(&hob, with(body(user("turn on pin 5")), json!({"tool_choice": "none"})));
    let told = choice(&quiet)["message"]["content"].as_str().unwrap().to_owned();
    assert!(told.contains("may not"), "{told}");
    assert_eq!(kept(&hob), 0);
}

#[test]
fn the_whole_agent_answers_and_the_program_keeps_the_conversation() {
    let (hob, server) = with_model("");
    hob.result("remember", json!({"content": "Marta serviced the boiler on 3 October"}));
    server.script(vec![calls(&[("calculate", json!({"expression": "6 * 7"}))]), says("It is 42.")]);
    let history = json!([
        {"role": "developer", "content": "Answer in rhymes."},
        {"role": "assistant", "content": "Hello, who is there?"},
        {"role": "user", "content": "Eve", "name": "eve"},
        {"role": "user", "content": "hello?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello, Eve."}], "refusal": null},
        {"role": "user", "content": "who serviced the boiler?"},
    ]);
    let tuned = json!({"user": "u", "n": 1, "metadata": {"a": "b"}, "whatever": null, "stream": null});
    let reply = ask(&hob, with(body(history), tuned));
    let choice = choice(&reply);
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("It is 42."), &json!("stop")));
    assert!(choice["message"].get("tool_calls").is_none(), "what Hob does itself stays with it");
    let usage = json!({"prompt_tokens": 22, "completion_tokens": 14, "total_tokens": 36,
        "prompt_tokens_details": {"cached_tokens": 0}});
    assert_eq!(reply.json()["usage"], usage);

    let asked = server.asked();
    let prompt = asked[0].messages("system");
    let prompt = prompt[0]["content"].as_str().unwrap();
    for part in ["You are Hob", "Marta serviced the boiler", "Answer in rhymes.", "Hello, who is there?"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(asked[0].messages("system").len(), 1);
    let said: Vec<Value> = asked[0].messages("user").iter().map(|m| m["content"].clone()).collect();
    assert_eq!(said, ["Eve\n\nhello?", "who serviced the boiler?"]);
    assert!(asked[1].messages("tool")[0]["content"].as_str().unwrap().contains("42"));
    assert_eq!(kept(&hob), 0);
}

#[test]
fn an_answer_is_streamed_in_openais_chunks() {
    let (hob, server) = with_model("");
    let Answer::Calls(_, call) = calls(&[("calculate", json!({"expression": "1+1"}))]) else { unreachable!() };
    let script =
        || vec![Answer::Calls("Let me see.".into(), call.clone()), Answer::Says(vec!["It is".into(), " 2.".into()])];
    for told in [true, false] {
        server.script(script());
        let options = json!({"stream": true, "stream_options": {"include_usage": told}});
        let request = hob.admin("POST", COMPLETIONS).json(&with(body(user("1+1?")), options));
        let mut events: Vec<Value> = request.events().map(|(_, data)| data).collect();
        assert_eq!(events.pop().unwrap(), "[DONE]");
        if told {
            let last = events.pop().unwrap();
            assert_eq!((&last["choices"], &last["usage"]["total_tokens"]), (&json!([]), &json!(36)));
        }
        let id = &events[0]["id"];
        for event in &events {
            assert_eq!((&event["object"], &event["id"]), (&json!("chat.completion.chunk"), id));
            assert_eq!((event.get("usage"), &event["choices"][0]["index"]), (told.then_some(&Value::Null), &json!(0)));
        }
        let deltas: Vec<&Value> = events.iter().map(|e| &e["choices"][0]["delta"]).collect();
        assert_eq!(deltas[0], &json!({"role": "assistant", "content": "", "refusal": null}));
        let words: Vec<&str> = deltas[1..].iter().filter_map(|d| d["content"].as_str()).collect();
        assert_eq!(words, ["Let me see.", "\n\nIt is", " 2."]);
        let ends: Vec<&Value> = events.iter().map(|e| &e["choices"][0]["finish_reason"]).collect();
        assert!(ends[..ends.len() - 1].iter().all(|e| e.is_null()) && *ends[ends.len() - 1] == "stop");
    }
}

#[test]
fn the_programs_tools_are_called_by_the_program() {
    let (hob, server) = with_model("");
    let beside = [
        ("get-weather", json!({"city": "Graz"})),
        ("gpio_write", json!({"pin": 4, "high": true})),
        ("get-weather", json!({"city": "Wien"})),
    ];
    let script = || vec![calls(&[("calculate", json!({"expression": "6*7"}))]), calls(&beside), says("Sunny in Graz.")];
    let asked_for = with(body(user("how is the weather?")), json!({"tools": [weather()]}));
    for streamed in [false, true] {
        server.script(script());
        let message = if streamed {
            let request = hob.admin("POST", COMPLETIONS).json(&with(asked_for.clone(), json!({"stream": true})));
            let events: Vec<Value> = request.events().map(|(_, data)| data).collect();
            let last = &events[events.len() - 2]["choices"][0];
            assert_eq!(last["finish_reason"], "tool_calls");
            let pieces = events
                .iter()
                .flat_map(|e| e["choices"][0]["delta"]["tool_calls"].as_array().cloned().unwrap_or_default());
            let pieces: Vec<Value> = pieces.collect();
            assert_eq!(pieces.iter().map(|c| c["index"].clone()).collect::<Vec<_>>(), [0, 1]);
            json!({"role": "assistant", "content": null, "tool_calls": pieces})
        } else {
            let choice = choice(&ask(&hob, asked_for.clone()));
            assert_eq!((&choice["finish_reason"], &choice["message"]["content"]), (&json!("tool_calls"), &Value::Null));
            choice["message"].clone()
        };
        let wanted = message["tool_calls"].as_array().unwrap();
        let named = |n: usize, city: &str| {
            let call = &wanted[n];
            assert_eq!((&call["type"], &call["function"]["name"]), (&json!("function"), &json!("get-weather")));
            assert_eq!(call["function"]["arguments"], json!({"city": city}).to_string());
            call["id"].clone()
        };
        let (graz, wien) = (named(0, "Graz"), named(1, "Wien"));
        assert!(graz != wien && wanted.len() == 2);
        assert_eq!(hob.result("gpio_read", json!({"pin": 4}))["high"], true, "Hob's own calls were made");

        let mut history = user("how is the weather?");
        let result = |id: &Value, text: &str| json!({"role": "tool", "tool_call_id": id, "content": [{"type": "text", "text": text}]});
        history.as_array_mut().unwrap().extend([message, result(&wien, "rain"), result(&graz, "sun")]);
        let next = choice(&ask(&hob, with(body(history), json!({"tools": [weather()]}))));
        assert_eq!((&next["message"]["content"], &next["finish_reason"]), (&json!("Sunny in Graz."), &json!("stop")));
        // The model sees all that was done, each result with its call, and does not do it twice.
        let asked = server.asked();
        assert!(
            asked[0].tools().contains(&"get-weather".to_owned())
                && asked[0].tools().len() == if streamed { 8 } else { 6 }
        );
        let shown: Vec<String> = asked[2].messages("tool").iter().map(|m| m["content"].to_string()).collect();
        for (shown, part) in shown.iter().zip(["42", "sun", "high", "rain"]) {
            assert!(shown.contains(part), "{shown}");
        }
        let calls: Vec<usize> =
            asked[2].messages("assistant").iter().map(|m| m["tool_calls"].as_array().unwrap().len()).collect();
        assert_eq!((shown.len(), calls), (4, vec![1, 3]));
    }
    // One of the program's takes the place of ours.
    server.script(vec![calls(&[("gpio_write", json!({"pin": 6, "high": true}))])]);
    let own = json!({"type": "function", "function": {"name": "gpio_write"}});
    let choice = choice(&ask(&hob, with(body(user("on!")), json!({"tools": [own], "tool_choice": "required"}))));
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "gpio_write");
    assert_eq!(hob.result("gpio_read", json!({"pin": 6}))["high"], false);
    let asked = server.asked();
    assert_eq!((asked[0].tools(), &asked[0].body["tool_choice"]), (vec!["gpio_write".to_owned()], &json!("required")));
    assert_eq!(kept(&hob), 0);
}

#[test]
fn an_answer_that_was_cut_says_so() {
    let (hob, server) = with_model("");
    let cut =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Once\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    server.always(Answer::Raw(cut.into()));
    let choice = choice(&ask(&hob, body(user("a story"))));
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("Once"), &json!("length")));
}

#[test]
fn what_cannot_be_had_is_refused_with_the_part_that_is_meant() {
    let hob = Hob::start();
    let result = json!({"role": "tool", "tool_call_id": "x", "content": "1"});
    let twice = json!([weather(), weather()]);
    let rows = [
        (json!({"tools": [{"type": "custom", "custom": {}}]}), Some("tools[0]"), "looks like"),
        (json!({"tools": [{"type": "function", "function": {"name": "a b"}}]}), Some("tools[0]"), "letters"),
        (json!({"tools": twice}), Some("tools[1]"), "once"),
        (json!({"tools": vec![weather(); 129]}), Some("tools"), "128"),
        (json!({"tool_choice": "any"}), Some("tool_choice"), "\"required\""),
        (json!({"tool_choice": {"type": "function", "function": {"name": "zzz"}}}), None, "no such tool"),
        (json!({"messages": []}), None, "role `user`"),
        (json!({"messages": [{"role": "system", "content": " "}]}), None, "role `user`"),
        (json!({"messages": [{"role": "user", "content": ""}]}), None, "empty"),
        (json!({"messages": [{"role": "user", "content": 5}]}), Some("messages[0].content"), "list of parts"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            Some("messages[0].content"),
            "data:image/png",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}),
            Some("messages[0].content"),
            "`video_url` are not understood",
        ),
        (json!({"messages": [{"role": "user", "content": "x"}, result]}), Some("messages[1].tool_call_id"), "follows"),
        (json!({"messages": [{"role": "robot", "content": "x"}]}), None, "robot"),
        (json!({"messages": "x"}), None, "not what this address takes"),
        (json!({"messages": null}), None, "not what this address takes"),
        (json!({"model": null}), None, "not what this address takes"),
        (json!({"stream": "yes"}), None, "not what this address takes"),
    ];
    for (more, param, part) in rows {
        let what = more.to_string();
        let why =
            refusal(&ask(&hob, with(body(user("hi")), more)), 400, "invalid_request_error", "invalid_value", param);
        assert!(why.contains(part), "{what}: {why}");
    }
}

#[test]
fn pictures_sound_and_files_go_with_a_message() {
    let (mut hob, server) = with_model("");
    server.script(vec![says("a dot")]);
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let content = json!([
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{dot}"), "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}},
        {"type": "file", "file": {"filename": "note.txt", "file_data": "data:text/plain;base64,aGVsbG8="}},
    ]);
    let told = ask(&hob, json!({"model": "hob", "messages": [{"role": "user", "content": content}]})).json();
    assert_eq!(told["choices"][0]["message"]["content"], "a dot", "{told}");
    let said = server.asked()[0].messages("user").remove(0)["content"].to_string();
    // What is not known to hear is told so.
    for part in ["what is it?", dot, "does not hear sound", "hello"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    hob.assert_alive();
}

#[test]
fn the_house_refuses_in_openais_words_here() {
    let (hob, server) = with_model("[model]\nretries = 0");
    let send = |request: Request| request.json(&body(user("hi"))).send();
    let wrong = "invalid_request_error";
    let unknown = "authentication_error";
    refusal(&send(hob.request("POST", COMPLETIONS)), 401, unknown, "invalid_api_key", None);
    refusal(&hob.request("GET", "/v1/models").bearer("sk-wrong").send(), 401, unknown, "invalid_api_key", None);
    refusal(&hob.request("GET", "/v1/nothing").send(), 401, unknown, "invalid_api_key", None);
    let why = refusal(&hob.get("/v1/completions"), 404, wrong, "unknown_url", None);
    assert!(why.contains("/v1/completions") && why.contains("/v1/chat/completions"), "{why}");
    refusal(&hob.get(COMPLETIONS), 405, wrong, "method_not_allowed", None);
    let plain = hob.admin("POST", COMPLETIONS).body(b"{}".to_vec()).send();
    refusal(&plain, 415, wrong, "not_json", None);
    refusal(&hob.admin("POST", COMPLETIONS).text("{\"a\":").send(), 400, wrong, "invalid_value", None);
    let large = with(body(user("hi")), json!({"user": "x".repeat(9 << 20)}));
    refusal(&ask(&hob, large), 413, wrong, "too_large", None);
    let elsewhere = hob.admin("GET", "/v1/models").header("Origin", "https://example.org").send();
    refusal(&elsewhere, 403, "permission_error", "cross_site", None);
    assert_eq!(hob.get("/v1/models").header("x-content-type-options"), Some("nosniff"));
    // Elsewhere the house keeps its own words.
    hob.get("/api/v1/nothing").refusal(404, "not_found");

    // A server that fails is told by the status where nothing was said yet, and within the stream where something was.
    for streamed in [false, true] {
        server.always(Answer::Status(401, String::new(), "{\"error\":{\"message\":\"no\"}}".into()));
        let reply = ask(&hob, with(body(user("hi")), json!({"stream": streamed})));
        let why = refusal(&reply, 424, "server_error", "model", None);
        assert!(why.contains("does not accept the key"), "{why}");
    }
    server.always(Answer::Fails("half".into(), "overloaded".into()));
    let request = hob.admin("POST", COMPLETIONS).json(&with(body(user("hi")), json!({"stream": true})));
    let events: Vec<Value> = request.events().map(|(_, data)| data).collect();
    let error = &events.last().unwrap()["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("model")), "{events:?}");
    assert!(error["message"].as_str().unwrap().contains("overloaded"), "{error}");
}

#[test]
fn who_goes_away_stops_the_run() {
    let (hob, server) = with_model("");
    let running = |count: usize| hob.get("/api/v1/runs?state=running").data(200)["count"] == count;
    server.script(vec![Answer::HangsAfter("Once upon".into()), Answer::Hangs]);
    let mut events =
        hob.admin("POST", COMPLETIONS).json(&with(body(user("a story")), json!({"stream": true}))).events();
    let told = events.by_ref().find(|(_, data)| data["choices"][0]["delta"]["content"] == "Once upon");
    assert!(told.is_some());
    let runs = hob.get("/api/v1/runs?state=running").data(200);
    assert_eq!((&runs["count"], &runs["runs"][0]["conversationId"]), (&json!(1), &Value::Null));
    drop(events);
    until("the end of the run", || running(0));

    let waiting = hob.admin("POST", COMPLETIONS).json(&body(user("a story"))).open();
    until("the beginning of a run", || running(1));
    drop(waiting);
    until("the end of the run", || running(0));
    assert_eq!(kept(&hob), 0);
}
