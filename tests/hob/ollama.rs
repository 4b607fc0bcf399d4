//! A client of Ollama's API.

use crate::{
    harness::{Hob, until},
    http::Reply,
    model::with_model,
    model_server::{Answer, calls, says},
};
use serde_json::{Value, json};

fn chat(hob: &Hob, more: Value) -> Reply {
    let mut body = json!({"model": "hob", "messages": [{"role": "user", "content": "hello"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hob.post("/api/chat", body)
}

fn lines(reply: &Reply) -> Vec<Value> {
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/x-ndjson")), "{}", reply.text());
    assert!(reply.text().ends_with('\n'));
    reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The sentence of a refusal in Ollama's shape.
fn refusal(reply: &Reply, status: u16) -> String {
    let answer = reply.json();
    assert_eq!((reply.status, answer.as_object().unwrap().len()), (status, 1), "{answer}");
    answer["error"].as_str().unwrap().to_owned()
}

fn turn_on() -> Value {
    let parameters = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"type": "function", "function": {"name": "HassTurnOn", "description": "On", "parameters": parameters}})
}

#[test]
fn there_is_one_model() {
    let hob = Hob::start();
    let tags = hob.get("/api/tags").json();
    let model = &tags["models"][0];
    assert_eq!((tags["models"].as_array().unwrap().len(), &model["model"]), (1, &json!("hob:latest")));
    assert_eq!(model["digest"].as_str().unwrap().len(), 64);
    assert_eq!(hob.get("/api/ps").json()["models"][0]["model"], "hob:latest");
    assert!(hob.get("/api/version").json()["version"].as_str().unwrap().split('.').count() == 3);
    for name in ["hob", "hob:latest"] {
        let shown = hob.post("/api/show", json!({"model": name})).json();
        assert!(shown["capabilities"].as_array().unwrap().contains(&json!("tools")), "{shown}");
        assert_eq!(chat(&hob, json!({"model": name, "stream": false})).json()["model"], name);
    }
    for reply in [hob.post("/api/show", json!({"model": "llama3"})), chat(&hob, json!({"model": "llama3"}))] {
        assert!(refusal(&reply, 404).contains("model 'llama3' not found"));
    }
}

#[test]
fn an_answer_comes_line_by_line_or_whole() {
    let (hob, server) = with_model("");
    server.script(vec![Answer::Says(vec!["It is ".into(), "42.".into()]), says("It is 42."), says("Briefly.")]);
    let all = lines(&chat(&hob, json!({})));
    let (last, words) = all.split_last().unwrap();
    let text: String = all.iter().map(|line| line["message"]["content"].as_str().unwrap()).collect();
    assert_eq!((text.as_str(), words.len()), ("It is 42.", 2));
    assert!(words.iter().all(|line| line["done"] == false && line.get("done_reason").is_none()));
    assert!(all.iter().all(|line| line["message"]["role"] == "assistant" && line["model"] == "hob"));
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("stop")));
    for count in ["prompt_eval_count", "eval_count", "total_duration"] {
        assert!(last[count].as_u64().unwrap() > 0, "{count}: {last}");
    }
    last["created_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();

    let system = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]);
    let options = json!({"temperature": 0.25, "num_predict": 77, "num_ctx": 8192, "top_k": 3});
    let whole = chat(
        &hob,
        json!({"stream": false, "messages": system, "options": options, "keep_alive": "-1s",
        "think": false, "format": ""}),
    );
    let answer = whole.json();
    assert_eq!((whole.header("content-type"), whole.status), (Some("application/json"), 200));
    assert_eq!((&answer["message"]["content"], &answer["done"]), (&json!("It is 42."), &json!(true)));
    let asked = server.asked().pop().unwrap();
    assert!(asked.messages("system")[0]["content"].as_str().unwrap().contains("Be brief."));
    assert_eq!((&asked.body["temperature"], &asked.body["max_tokens"]), (&json!(0.25), &json!(77)), "{}", asked.body);

    let generated =
        hob.post("/api/generate", json!({"model": "hob", "prompt": "hi", "system": "Short.", "stream": false}));
    assert_eq!((&generated.json()["response"], &generated.json()["done"]), (&json!("Briefly."), &json!(true)));
    for (keep, reason) in [(json!(0), "unload"), (json!("5m"), "load")] {
        let loaded = hob.post("/api/chat", json!({"model": "hob", "keep_alive": keep})).json();
        assert_eq!((&loaded["done"], &loaded["done_reason"]), (&json!(true), &json!(reason)));
    }
    assert_eq!(hob.get("/api/v1/conversations").data(200)["count"], 0, "the program keeps the conversation");
}

#[test]
fn tools_of_the_program_are_handed_over_and_hob_remembers_its_own() {
    let (hob, server) = with_model("");
    let both = calls(&[("calculate", json!({"expression": "6 * 7"})), ("HassTurnOn", json!({"name": "lamp", "n": 0}))]);
    server.script(vec![both, says("It is on.")]);
    let all = lines(&chat(&hob, json!({"tools": [turn_on()]})));
    let made: Vec<&Value> =
        all.iter().flat_map(|l| l["message"]["tool_calls"].as_array().into_iter().flatten()).collect();
    assert_eq!(made.len(), 1, "{all:?}");
    let arguments = json!({"name": "lamp", "n": 0});
    assert_eq!((&made[0]["function"]["name"], &made[0]["function"]["arguments"]), (&json!("HassTurnOn"), &arguments));
    assert_eq!(all.last().unwrap()["done_reason"], "stop");

    // As Home Assistant sends it back: without ids, without what is empty, the result without the tool's name.
    let call = json!({"function": {"name": "HassTurnOn", "arguments": {"name": "lamp"}}});
    let messages = json!([
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "{\"done\": true}"},
    ]);
    let whole = chat(&hob, json!({"messages": messages, "tools": [turn_on()], "stream": false})).json();
    assert_eq!(whole["message"]["content"], "It is on.");
    let asked = server.asked().pop().unwrap();
    let results: Vec<String> = asked.messages("tool").iter().map(|m| m["content"].to_string()).collect();
    assert!(results.len() == 2 && results[0].contains("42") && results[1].contains("done"), "{results:?}");

    // The same call once more: each has what Hob did before it.
    let again = calls(&[("calculate", json!({"expression": "7 * 9"})), ("HassTurnOn", json!({"name": "lamp"}))]);
    server.script(vec![again, says("It was on.")]);
    let mut more = messages.clone();
    more.as_array_mut().unwrap().push(json!({"role": "assistant", "content": "It is on."}));
    more.as_array_mut().unwrap().push(json!({"role": "user", "content": "again"}));
    chat(&hob, json!({"messages": more, "tools": [turn_on()], "stream": false}));
    more.as_array_mut().unwrap().push(messages[1].clone());
    more.as_array_mut().unwrap().push(messages[2].clone());
    chat(&hob, json!({"messages": more, "tools": [turn_on()], "stream": false}));
    let asked = server.asked().pop().unwrap();
    let results: Vec<String> = asked.messages("tool").iter().map(|m| m["content"].to_string()).collect();
    assert!(results.len() == 4 && results[0].contains("42") && results[2].contains("63"), "{results:?}");

    // What its tools brought is from outside.
    server.script(vec![calls(&[("gpio_write", json!({"pin": 4, "high": true}))]), says("Asked.")]);
    let over = std::thread::scope(|scope| {
        let run = scope.spawn(|| chat(&hob, json!({"messages": messages, "tools": [turn_on()], "stream": false})));
        until("a question", || hob.get("/api/v1/approvals").data(200)["count"].as_u64() > Some(0));
        let asked = hob.get("/api/v1/approvals").data(200)["approvals"][0].clone();
        let decide = format!("/api/v1/approvals/{}/decide", asked["id"].as_str().unwrap());
        hob.post(&decide, json!({"decision": "deny", "nonce": asked["nonce"]})).data(200);
        run.join().unwrap()
    });
    assert_eq!((over.status, hob.result("gpio_read", json!({"pin": 4}))["high"].clone()), (200, json!(false)));
}

#[test]
fn pictures_are_taken_and_what_cannot_be_had_is_refused_in_its_shape() {
    let (hob, server) = with_model("");
    server.always(says("A dot."));
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let with =
        |images: Value| chat(&hob, json!({"messages": [{"role": "user", "content": "what?", "images": images}]}));
    assert_eq!(lines(&with(json!([png]))).last().unwrap()["done"], true);
    assert!(refusal(&with(json!(["!!"])), 400).contains("messages[0].images[0]"));
    assert!(refusal(&with(json!(["aGVsbG8="])), 400).contains("not an image"));
    let orphan = json!([{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]);
    for (more, part) in [
        (json!({"format": "yaml"}), "`format`"),
        (json!({"format": {"type": "nonsense"}}), "schema"),
        (json!({"logprobs": true}), "`logprobs`"),
        (json!({"options": {"temperature": 9}}), "temperature"),
        (json!({"options": {"num_predict": 0}}), "num_predict"),
        (json!({"options": {"stop": [1]}}), "`stop`"),
        (json!({"messages": orphan}), "messages[1]"),
        (json!({"messages": [{"role": "robot", "content": "a"}]}), "unknown variant"),
        (json!({"messages": [{"role": "system", "content": " "}]}), "message"),
        (json!({"tools": [{"function": {}}]}), "tools[0]"),
        (json!({"think": 5}), "`think`"),
        (json!({"options": {"presence_penalty": 3}}), "presence_penalty"),
        (json!({"tools": [turn_on(), turn_on()]}), "two tools"),
    ] {
        let why = refusal(&chat(&hob, more.clone()), 400);
        assert!(why.contains(part), "{more}: {why}");
    }
    for (more, part) in [(json!({"suffix": "x"}), "`suffix`"), (json!({"raw": true}), "`raw`")] {
        let mut body = json!({"model": "hob", "prompt": "x"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert!(refusal(&hob.post("/api/generate", body), 400).contains(part));
    }
    // Also what is refused before it comes here.
    refusal(&hob.request("GET", "/api/tags").send(), 401);
    refusal(&hob.admin("GET", "/api/tags").header("Origin", "http://evil").send(), 403);
    refusal(&hob.admin("GET", "/api/chat").send(), 405);
    for (method, path) in
        [("GET", "/api/pull"), ("POST", "/api/pull"), ("POST", "/api/embed"), ("DELETE", "/api/delete")]
    {
        refusal(&hob.admin(method, path).send(), 404);
    }
    for (scope, status) in [("chat", 200), ("tools", 403)] {
        let token = hob.cli(&["token", "new", "owner", "--scope", scope]).ok();
        assert_eq!(hob.request("GET", "/api/tags").bearer(&token).send().status, status);
    }
    // A model that fails is an error, and within the stream a line.
    server.always(Answer::Status(400, String::new(), "{\"error\": {\"message\": \"no\"}}".into()));
    assert!(!refusal(&chat(&hob, json!({})), 424).is_empty());
    server.always(Answer::Fails("half ".into(), "{\"message\": \"it broke\"}".into()));
    let all = lines(&chat(&hob, json!({})));
    assert!(all.last().unwrap()["error"].as_str().is_some_and(|why| why.len() > 10), "{all:?}");
}

#[test]
fn formats_and_stop_sequences_are_honoured() {
    let (hob, server) = with_model("");
    let content = |more: Value| {
        let mut body = json!({"stream": false});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chat(&hob, body).json()["message"]["content"].as_str().map(str::to_owned)
    };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for (script, more, expected) in [
        (vec![says("{\"a\": 1}")], json!({"format": "json"}), Some("{\"a\":1}")),
        (vec![says("n is 2"), says("{\"n\": 2}")], json!({"format": schema}), Some("{\"n\":2}")),
        (vec![says("n is 2"), says("two")], json!({"format": schema}), None),
        (vec![says("one two three")], json!({"options": {"stop": ["two"]}}), Some("one")),
    ] {
        server.script(script);
        let found = content(more.clone()).map(|text| text.replace(' ', ""));
        assert_eq!(found.as_deref(), expected, "{more}");
    }
}

#[test]
fn without_a_model_sentences_are_answered() {
    let hob = Hob::start();
    let answer =
        chat(&hob, json!({"messages": [{"role": "user", "content": "turn on pin 5"}], "stream": false})).json();
    assert_eq!(answer["message"]["content"], "Pin 5 is on.");
    assert_eq!(hob.result("gpio_read", json!({"pin": 5}))["high"], true);
}

#[test]
fn a_body_of_any_type_is_read_as_json_and_options_reach_the_model() {
    let (hob, server) = with_model("");
    server.always(says("Hello."));
    let options = json!({"presence_penalty": 0.5, "frequency_penalty": -0.5, "seed": 0});
    let messages = json!([{"role": "user", "content": "hi"}]);
    let body = json!({"model": "hob", "messages": messages, "stream": false, "options": options, "think": "low"});
    let bytes = body.to_string().into_bytes();
    for kind in [None, Some("application/x-www-form-urlencoded"), Some("text/plain")] {
        let request = hob.admin("POST", "/api/chat");
        let request = kind.into_iter().fold(request, |request, kind| request.header("Content-Type", kind));
        let reply = request.body(bytes.clone()).send();
        assert_eq!((reply.status, &reply.json()["message"]["content"]), (200, &json!("Hello.")), "{kind:?}");
    }
    let sent = server.asked().pop().unwrap().body;
    assert_eq!((&sent["presence_penalty"], &sent["frequency_penalty"]), (&json!(0.5), &json!(-0.5)));
    assert_eq!(sent["seed"], 0);
    let form = hob.request("POST", "/api/chat").header("Content-Type", "text/plain").body(bytes).send();
    assert!(form.status >= 400, "nothing is done for a page of another site");
}
