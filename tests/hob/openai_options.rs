//! Options of OpenAI's API: honoured or refused, never dropped; errors as documented by OpenAI.

use crate::{
    harness::{Hob, Setup},
    http::Reply,
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

const COMPLETIONS: &str = "/v1/chat/completions";

fn asked(more: Value) -> Value {
    let mut body = json!({"model": "hob", "messages": [{"role": "user", "content": "hi"}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn content(reply: &Reply) -> (String, String) {
    let answer = reply.json();
    assert_eq!(reply.status, 200, "{answer}");
    let choice = &answer["choices"][0];
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    (text(&choice["message"]["content"]), text(&choice["finish_reason"]))
}

/// Status, type, code, param and message of a refusal.
fn refusal(reply: &Reply) -> (u16, String, String, String, String) {
    let error = reply.json()["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (reply.status, text("type"), text("code"), text("param"), text("message"))
}

fn assert_refused(reply: &Reply, status: u16, kind: &str, code: &str, param: &str) -> String {
    let refused = refusal(reply);
    assert_eq!((refused.0, &*refused.1, &*refused.2, &*refused.3), (status, kind, code, param), "{}", reply.text());
    refused.4
}

/// A daemon with a model at a server that speaks another format than chat completions.
fn with_wire(model: &str, place: &str) -> (Hob, ModelServer) {
    let server = ModelServer::start();
    let name = place.split('_').next().unwrap();
    let environment =
        [("HOB_MODEL", model.to_owned()), (place, server.url()), (&*format!("{name}_API_KEY"), "sk-test".to_owned())];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
    (Hob::with(Setup { environment, ..Setup::default() }), server)
}

fn person() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false});
    json!({"type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": true}})
}

#[test]
fn sampling_options_reach_the_model() {
    let (hob, server) = with_model("[model]\nmax_tokens = 900");
    let tuned = json!({"temperature": 0.2, "top_p": 0.5, "max_completion_tokens": 33, "max_tokens": 7, "stop": ["END"],
        "seed": 42, "presence_penalty": 0.5, "frequency_penalty": -0.5, "top_k": 9, "user": "eve", "metadata": {"a": "b"},
        "store": false, "n": 1, "logprobs": false, "logit_bias": {}, "response_format": {"type": "text"}});
    server.script(vec![calls(&[("calculate", json!({"expression": "6*7"}))]), says("42"), says("no options")]);
    assert_eq!(content(&hob.post(COMPLETIONS, asked(tuned))).0, "42");
    for request in &server.asked() {
        let sent = |name: &str| request.body[name].clone();
        assert_eq!((sent("temperature"), sent("top_p"), sent("max_tokens")), (json!(0.2), json!(0.5), json!(33)));
        assert_eq!((sent("stop"), sent("seed"), sent("top_k")), (json!(["END"]), json!(42), json!(9)));
        assert_eq!((sent("presence_penalty"), sent("frequency_penalty")), (json!(0.5), json!(-0.5)));
        assert_eq!(request.body.get("response_format"), None);
    }
    hob.post(COMPLETIONS, asked(json!({})));
    let plain = server.asked().remove(0).body;
    for option in ["top_p", "stop", "seed", "top_k", "presence_penalty", "frequency_penalty", "response_format"] {
        assert_eq!(plain.get(option), None, "{option}");
    }
}

#[test]
fn options_that_cannot_be_honoured_are_refused_by_name() {
    let (hob, server) = with_model("[model]\nretries = 0");
    server.always(says("x"));
    let (wrong, unsupported) = ("invalid_value", "unsupported_parameter");
    for (more, param, code) in [
        (json!({"n": 2}), "n", "unsupported_value"),
        (json!({"logprobs": true}), "logprobs", unsupported),
        (json!({"top_logprobs": 2}), "top_logprobs", unsupported),
        (json!({"logit_bias": {"50256": -100}}), "logit_bias", unsupported),
        (json!({"store": true}), "store", unsupported),
        (json!({"modalities": ["text", "audio"]}), "modalities", "unsupported_value"),
        (json!({"functions": []}), "functions", unsupported),
        (json!({"min_p": 0.1}), "min_p", "unknown_parameter"),
        (json!({"reasoning_effort": "high"}), "reasoning_effort", "unknown_parameter"),
        (json!({"temperature": 2.5}), "temperature", wrong),
        (json!({"top_p": -0.1}), "top_p", wrong),
        (json!({"presence_penalty": 3}), "presence_penalty", wrong),
        (json!({"max_tokens": 0}), "max_tokens", wrong),
        (json!({"max_completion_tokens": 0}), "max_completion_tokens", wrong),
        (json!({"stop": ["a", ""]}), "stop", wrong),
        (json!({"stop": 5}), "stop", wrong),
        (json!({"response_format": {"type": "xml"}}), "response_format", wrong),
        (json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}), "response_format", wrong),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "objekt"}}}}),
            "response_format",
            wrong,
        ),
    ] {
        let why = assert_refused(&hob.post(COMPLETIONS, asked(more)), 400, "invalid_request_error", code, param);
        assert!(why.split(' ').count() > 4, "{why}");
    }
    assert_eq!(server.asked().len(), 0);
    // What only the model's server knows: it is asked once, and its refusal is the program's to mend.
    let refused = "{\"error\":{\"message\":\"Unsupported parameter: 'seed' is not supported with this model.\"}}";
    server.always(Answer::Status(400, String::new(), refused.into()));
    for stream in [false, true] {
        let reply = hob.post(COMPLETIONS, asked(json!({"seed": 1, "stream": stream})));
        let why = assert_refused(&reply, 400, "invalid_request_error", unsupported, "seed");
        assert!(why.contains("test-model"), "{why}");
    }
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_format_without_seed_refuses_it() {
    let (hob, server) = with_wire("anthropic/claude-test", "ANTHROPIC_BASE_URL");
    for (more, param) in [
        (json!({"seed": 1}), "seed"),
        (json!({"frequency_penalty": 0.5}), "frequency_penalty"),
        (json!({"temperature": 1.5}), "temperature"),
    ] {
        let reply = hob.post(COMPLETIONS, asked(more));
        assert_refused(&reply, 400, "invalid_request_error", "unsupported_parameter", param);
    }
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn an_answer_ends_before_a_stop_sequence() {
    let (hob, server) = with_model("");
    let parts = |parts: &[&str]| Answer::Says(parts.iter().map(|p| p.to_string()).collect());
    for stop in [json!("END"), json!(["zzz", "END"])] {
        // A server that does not know `stop` goes on.
        server.script(vec![parts(&["one E", "N", "D two"]), parts(&["one E", "N", "D two"]), parts(&["one EN"])]);
        let reply = hob.post(COMPLETIONS, asked(json!({"stop": stop})));
        assert_eq!(content(&reply), ("one ".into(), "stop".into()));
        assert_eq!(reply.json()["usage"]["total_tokens"], 18, "what it cost is known all the same");
        let request = hob.admin("POST", COMPLETIONS).json(&asked(json!({"stop": stop, "stream": true})));
        let events: Vec<Value> = request.events().map(|(_, data)| data).collect();
        let words: String = events.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!((&*words, events.last().unwrap()), ("one ", &json!("[DONE]")));
        assert_eq!(content(&hob.post(COMPLETIONS, asked(json!({"stop": stop})))).0, "one EN");
    }
    // Where the server refuses it, Hob stops by itself, and asks no more for it.
    let refused = "{\"error\":{\"message\":\"Unsupported parameter: 'stop' is not supported with this model.\"}}";
    server.asked();
    server.script(vec![Answer::Status(400, String::new(), refused.into()), says("a END b"), says("c END d")]);
    for expected in ["a ", "c "] {
        assert_eq!(content(&hob.post(COMPLETIONS, asked(json!({"stop": "END"})))).0, expected);
    }
    let sent: Vec<bool> = server.asked().iter().map(|a| a.body.get("stop").is_some()).collect();
    assert_eq!(sent, [true, false, false]);

    let reflex = Hob::start();
    let turn = |more: Value| {
        let mut body = asked(more);
        body["messages"] = json!([{"role": "user", "content": "turn on pin 5"}]);
        content(&reflex.post(COMPLETIONS, body))
    };
    assert_eq!(turn(json!({"stop": " is"})), ("Pin 5".into(), "stop".into()));
    assert_eq!(turn(json!({"max_tokens": 1})), ("Pin ".into(), "length".into()));
    assert_eq!(turn(json!({"max_tokens": 50, "seed": 1, "temperature": 0.0})).0, "Pin 5 is on.");
}

#[test]
fn json_that_fits_its_schema() {
    let (hob, server) = with_model("");
    let right = "{\"name\": \"Eve\", \"age\": 7}";
    server.script(vec![
        Answer::Calls("Let me see.".into(), vec![("calculate".into(), "{\"expression\": \"3+4\"}".into())]),
        says(&format!("Here you are:\n```json\n{right}\n```")),
    ]);
    let reply = hob.post(COMPLETIONS, asked(json!({"response_format": person()})));
    assert_eq!(content(&reply), (right.into(), "stop".into()));
    assert_eq!(server.asked()[0].body["response_format"], person());

    // One correction, and what was wrong is heard by nobody but the model.
    server.script(vec![says("{\"name\": \"Eve\"}"), says(right)]);
    let request = asked(json!({"response_format": person(), "stream": true}));
    let events: Vec<Value> = hob.admin("POST", COMPLETIONS).json(&request).events().map(|(_, data)| data).collect();
    let words: String = events.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(words, right);
    let told = server.asked().pop().unwrap().messages("user").pop().unwrap()["content"].to_string();
    assert!(told.contains("`age` is missing"), "{told}");

    server.script(vec![says("I would rather not."), says("No.")]);
    let reply = hob.post(COMPLETIONS, asked(json!({"response_format": person()})));
    let why = assert_refused(&reply, 424, "server_error", "model", "");
    assert!(why.contains("not JSON"), "{why}");

    let object = json!({"response_format": {"type": "json_object"}});
    server.script(vec![says("[1]"), says("{\"a\": [1]}")]);
    assert_eq!(content(&hob.post(COMPLETIONS, asked(object.clone()))).0, "{\"a\": [1]}");
    // Half of it says that it is half.
    let cut = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    server.script(vec![Answer::Raw(cut.into())]);
    assert_eq!(content(&hob.post(COMPLETIONS, asked(object))), ("{\"a\":".into(), "length".into()));
}

#[test]
fn a_strict_function_is_called_as_its_schema_says() {
    let (hob, server) = with_model("");
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = |strict: bool| {
        let function = json!({"name": "get_weather", "parameters": parameters, "strict": strict});
        json!({"tools": [{"type": "function", "function": function}]})
    };
    let (wrong, right) =
        (calls(&[("get_weather", json!({"town": 5}))]), calls(&[("get_weather", json!({"city": "Graz"}))]));
    let arguments = |reply: Reply| {
        assert_eq!(content(&reply).1, "tool_calls");
        reply.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned()
    };
    server.script(vec![wrong.clone(), wrong.clone(), right, wrong.clone(), wrong]);
    assert_eq!(arguments(hob.post(COMPLETIONS, asked(tool(false)))), "{\"town\":5}");
    assert_eq!(arguments(hob.post(COMPLETIONS, asked(tool(true)))), "{\"city\":\"Graz\"}");
    let told = server.asked().pop().unwrap().messages("tool")[0]["content"].to_string();
    assert!(told.contains("`city` is missing"), "{told}");
    assert_refused(&hob.post(COMPLETIONS, asked(tool(true))), 424, "server_error", "model", "");
}

#[test]
fn where_a_server_enforces_no_format_the_model_is_told() {
    let (hob, server) = with_model("[model]\nretries = 0");
    let right = "{\"name\": \"Eve\", \"age\": 7}";
    let refused = "{\"error\":{\"message\":\"Cannot use custom grammar constraints with tools.\"}}";
    server.script(vec![Answer::Status(400, String::new(), refused.into()), says(right), says(right)]);
    for _ in 0..2 {
        assert_eq!(content(&hob.post(COMPLETIONS, asked(json!({"response_format": person()})))).0, right);
    }
    let sent = server.asked();
    let native: Vec<bool> = sent.iter().map(|a| a.body.get("response_format").is_some()).collect();
    assert_eq!(native, [true, false, false]);
    assert!(sent[1].messages("system")[0]["content"].as_str().unwrap().contains("additionalProperties"));

    let reflex = Hob::start();
    for stream in [false, true] {
        let reply = reflex.post(COMPLETIONS, asked(json!({"response_format": person(), "stream": stream})));
        assert_refused(&reply, 400, "invalid_request_error", "unsupported_value", "response_format");
    }
}

#[test]
fn reflex_does_not_stand_in_with_a_sentence_where_json_is_asked_for() {
    let (hob, server) = with_model("[model]\nretries = 0");
    server.always(Answer::Status(503, String::new(), "{}".into()));
    let mut body = asked(json!({"response_format": person()}));
    body["messages"] = json!([{"role": "user", "content": "turn on pin 5"}]);
    assert_eq!(hob.post(COMPLETIONS, body.clone()).status, 424);
    assert_eq!(hob.result("gpio_read", json!({"pin": 5}))["high"], false);
    // Otherwise it does, and its name is told.
    body.as_object_mut().unwrap().remove("response_format");
    let answer = hob.post(COMPLETIONS, body.clone()).json();
    assert_eq!(
        (&answer["model"], &answer["choices"][0]["message"]["content"]),
        (&json!("reflex"), &json!("Pin 5 is on."))
    );
    body["stream"] = true.into();
    let events = hob.admin("POST", COMPLETIONS).json(&body).events();
    let models: Vec<Value> = events.map(|(_, data)| data["model"].clone()).filter(|m| !m.is_null()).collect();
    assert!(models.len() > 2 && models.iter().all(|m| m == "reflex"), "{models:?}");
}

#[test]
fn what_goes_wrong_at_the_model_is_told_as_openai_tells_it() {
    let (hob, server) = with_model("[model]\nretries = 0\n");
    let ask = |stream: bool| {
        let mut body = asked(json!({"stream": stream}));
        body["messages"] = json!([{"role": "user", "content": "what do you think of baroque music"}]);
        hob.post(COMPLETIONS, body)
    };
    for stream in [false, true] {
        server.always(Answer::Status(429, "retry-after: 60\r\n".into(), "{\"error\":\"slow down\"}".into()));
        let reply = ask(stream);
        assert_refused(&reply, 429, "rate_limit_error", "rate_limit_exceeded", "");
        assert_eq!(reply.header("retry-after"), Some("60"));
    }
    let long = "{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens\"}}";
    server.always(Answer::Status(400, String::new(), long.into()));
    let mut body = asked(json!({}));
    body["messages"] = json!([{"role": "user", "content": "word ".repeat(9000)}]);
    let why = assert_refused(
        &hob.post(COMPLETIONS, body),
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "messages",
    );
    assert!(why.contains("longer than the model's context length"), "{why}");
    let stranger = hob.request("GET", "/v1/models").bearer("sk-wrong").send();
    assert_refused(&stranger, 401, "authentication_error", "invalid_api_key", "");
}

#[test]
fn instructions_alone_are_answered() {
    let (hob, server) = with_model("");
    server.script(vec![says("Hello!")]);
    let messages =
        json!([{"role": "system", "content": "You are a pirate."}, {"role": "system", "content": "Greet the crew."}]);
    let reply = hob.post(COMPLETIONS, json!({"model": "hob", "messages": messages}));
    assert_eq!(content(&reply).0, "Hello!");
    let sent = &server.asked()[0];
    assert!(sent.messages("system")[0]["content"].as_str().unwrap().contains("You are a pirate."));
    assert_eq!(sent.messages("user")[0]["content"], "Greet the crew.");
}

const DOT: &[u8] =
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89";

/// A web server with a picture, a page, and a redirect into the house.
fn web() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 2048];
            let read = socket.read(&mut head).unwrap_or(0);
            let (status, more, body) = match String::from_utf8_lossy(&head[..read]).split(' ').nth(1).unwrap_or("") {
                "/dot.png" => ("200 OK", "", DOT),
                "/page.png" => ("200 OK", "content-type: image/png\r\n", &b"<html>ignore all</html>"[..]),
                "/away.png" => ("302 Found", "location: http://169.254.169.254/dot.png\r\n", &b""[..]),
                _ => ("404 Not Found", "", &b"no"[..]),
            };
            let head =
                format!("HTTP/1.1 {status}\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
        }
    });
    port
}

#[test]
fn pictures_on_the_web_are_fetched_through_the_guard() {
    let port = web();
    let (hob, server) =
        with_model(&format!("[http]\nallow = [\"127.0.0.1:{port}\"]\n[approvals]\nin_call_seconds = 1\n"));
    let ask = |url: &str| {
        let parts = json!([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]);
        hob.post(COMPLETIONS, json!({"model": "hob", "messages": [{"role": "user", "content": parts}]}))
    };
    let at = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    server.script(vec![says("a dot"), calls(&[("gpio_write", json!({"pin": 5, "high": true}))]), says("done")]);
    assert_eq!(content(&ask(&at("dot.png"))).0, "a dot");
    let sent = server.asked()[0].messages("user")[0]["content"].to_string();
    assert!(sent.contains("data:image/png;base64,iVBORw0KGgo"), "{sent}");
    // It is from outside: what it may have asked for is not done unasked.
    ask(&at("dot.png"));
    assert_eq!(hob.result("gpio_read", json!({"pin": 5}))["high"], false);

    server.asked();
    for (url, part) in [
        (at("page.png"), "text/plain"),
        (at("none.png"), "404"),
        (at("away.png"), "169.254.169.254"),
        ("http://127.0.0.1:9/x.png".to_owned(), "this device itself"),
        ("https://localhost/x.png".to_owned(), "localhost"),
    ] {
        let why = assert_refused(&ask(&url), 400, "invalid_request_error", "invalid_image_url", "messages[0].content");
        assert!(why.contains(part), "{url}: {why}");
    }
    let many: Vec<Value> = (0..9).map(|_| json!({"type": "image_url", "image_url": {"url": at("dot.png")}})).collect();
    let reply = hob.post(COMPLETIONS, json!({"model": "hob", "messages": [{"role": "user", "content": many}]}));
    assert_refused(&reply, 400, "invalid_request_error", "invalid_value", "messages");
    assert_eq!(server.asked().len(), 0);
}

/// A stream of these deltas, which ends for this reason.
fn ends(deltas: &[Value], reason: &str) -> Answer {
    let chunk = |delta: &Value, reason: Value| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let words: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    Answer::Raw(words + &chunk(&json!({}), json!(reason)) + "data: [DONE]\n\n")
}

/// The chunks of a streamed answer.
fn chunks(hob: &Hob, mut body: Value) -> Vec<Value> {
    body["stream"] = true.into();
    hob.admin("POST", COMPLETIONS).json(&body).events().map(|(_, data)| data).collect()
}

#[test]
fn a_filtered_answer_says_so_and_has_the_words_of_the_model_alone() {
    let (hob, server) = with_model("");
    let half = json!({"content": "{\"name\": \"E"});
    for more in [json!({}), json!({"response_format": person()})] {
        server.always(ends(std::slice::from_ref(&half), "content_filter"));
        let expected = ("{\"name\": \"E".to_owned(), "content_filter".to_owned());
        assert_eq!(content(&hob.post(COMPLETIONS, asked(more.clone()))), expected);
        assert_eq!(server.asked().len(), 1, "{more}");
        let all = chunks(&hob, asked(more));
        let words: String = all.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
        let reasons: Vec<&str> = all.iter().filter_map(|e| e["choices"][0]["finish_reason"].as_str()).collect();
        assert_eq!((words, reasons), (expected.0, vec!["content_filter"]));
        server.asked();
    }
    let told = hob.post("/v1/responses", json!({"model": "hob", "input": "hi"})).json();
    assert_eq!(
        (&told["status"], &told["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("content_filter"))
    );
    assert_eq!(told["output"][0]["content"][0]["text"], "{\"name\": \"E");
    // People read why it ends.
    let told = hob.post("/api/v1/chat", json!({"message": "hi"})).data(200);
    assert!(told["response"].as_str().unwrap().contains("[The provider stopped the answer here"), "{told}");
}

#[test]
fn a_refusal_of_the_model_is_a_refusal() {
    let (hob, server) = with_model("");
    let sorry = "I cannot help with that.";
    server.always(ends(&[json!({"refusal": "I cannot "}), json!({"refusal": "help with that."})], "stop"));
    for more in [json!({}), json!({"response_format": person()})] {
        let reply = hob.post(COMPLETIONS, asked(more.clone())).json();
        let message = &reply["choices"][0]["message"];
        assert_eq!((&message["refusal"], &message["content"]), (&json!(sorry), &Value::Null), "{reply}");
        assert_eq!(server.asked().len(), 1, "{more}");
        let all = chunks(&hob, asked(more));
        let of =
            |name: &str| -> String { all.iter().filter_map(|e| e["choices"][0]["delta"][name].as_str()).collect() };
        assert_eq!((of("refusal"), of("content")), (sorry.to_owned(), String::new()));
        server.asked();
    }
    let body = json!({"model": "hob", "input": "hi"});
    let told = hob.post("/v1/responses", body.clone()).json();
    let part = json!([{"type": "refusal", "refusal": sorry}]);
    assert_eq!((&told["status"], &told["output"][0]["content"]), (&json!("completed"), &part));
    let mut streamed = body;
    streamed["stream"] = true.into();
    let events: Vec<(String, Value)> = hob.admin("POST", "/v1/responses").json(&streamed).events().collect();
    let names: Vec<&str> = events.iter().skip(2).map(|(name, _)| name.trim_start_matches("response.")).collect();
    let expected = [
        "output_item.added",
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!((names, &events[7].1["item"]["content"]), (expected.to_vec(), &part));
    let ollama = json!({"model": "hob", "messages": [{"role": "user", "content": "hi"}], "stream": false});
    assert_eq!(hob.post("/api/chat", ollama).json()["message"]["content"], sorry);
    assert_eq!(hob.post("/api/v1/chat", json!({"message": "hi"})).data(200)["response"], sorry);
}

#[test]
fn a_demanded_call_is_made_or_the_answer_is_an_error() {
    let (hob, server) = with_model("");
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let right = calls(&[("get_weather", json!({}))]);
    for choice in [json!("required"), tool("get_weather")] {
        let body = asked(json!({"tools": [tool("get_weather"), tool("other")], "tool_choice": choice}));
        server.script(vec![says("It is sunny."), right.clone()]);
        let reply = hob.post(COMPLETIONS, body.clone());
        assert_eq!(content(&reply), (String::new(), "tool_calls".into()));
        let told = server.asked().pop().unwrap().messages("user").pop().unwrap()["content"].to_string();
        assert!(told.contains("called"), "{told}");
        server.script(vec![says("It is sunny."), right.clone()]);
        let words: String =
            chunks(&hob, body.clone()).iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(words, "", "nobody hears the answer that does not count");
        server.always(says("It is sunny."));
        assert_refused(&hob.post(COMPLETIONS, body), 424, "server_error", "model", "");
        server.asked();
    }
    let other = calls(&[("other", json!({}))]);
    server.script(vec![other, right]);
    let body = asked(json!({"tools": [tool("get_weather"), tool("other")], "tool_choice": tool("get_weather")}));
    let message = hob.post(COMPLETIONS, body).json()["choices"][0]["message"].clone();
    assert_eq!(message["tool_calls"][0]["function"]["name"], "get_weather", "{message}");
}

#[test]
fn a_schema_that_the_server_refuses_is_refused_with_its_reason() {
    let (hob, server) = with_model("[model]\nretries = 0");
    for why in ["Invalid schema for response_format 'person': 'oneOf' is not permitted.", "Invalid schema: no 'oneOf'"]
    {
        let refused = json!({"error": {"message": why, "param": "response_format"}}).to_string();
        server.always(Answer::Status(400, String::new(), refused));
        let reply = hob.post(COMPLETIONS, asked(json!({"response_format": person()})));
        let told = assert_refused(&reply, 400, "invalid_request_error", "invalid_value", "response_format");
        assert!(told.contains(why), "{told}");
        assert_eq!(server.asked().len(), 1);
    }
    let format = json!({"type": "json_schema", "name": "person", "schema": person()["json_schema"]["schema"]});
    let reply = hob.post("/v1/responses", json!({"model": "hob", "input": "hi", "text": {"format": format}}));
    assert_refused(&reply, 400, "invalid_request_error", "invalid_value", "text.format");
}

#[test]
fn reflex_that_stands_in_keeps_to_the_most_tokens() {
    let (hob, server) = with_model("[model]\nretries = 0");
    server.always(Answer::Status(503, String::new(), "{}".into()));
    let mut body = asked(json!({"max_tokens": 2}));
    body["messages"] = json!([{"role": "user", "content": "turn on pin 5"}]);
    assert_eq!(content(&hob.post(COMPLETIONS, body)), ("Pin 5 is".into(), "length".into()));
}

#[test]
fn a_picture_that_is_none_is_refused() {
    let (hob, server) = with_model("");
    server.always(says("I see."));
    for data in ["aGVsbG8gd29ybGQ=", "AAECAwQFBgcICQ=="] {
        let url = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
        let mut body = asked(json!({}));
        body["messages"] = json!([{"role": "user", "content": [url]}]);
        let reply = hob.post(COMPLETIONS, body);
        assert_refused(&reply, 400, "invalid_request_error", "invalid_value", "messages[0].content");
    }
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_schema_that_takes_for_ever_to_check_is_refused() {
    let (mut hob, server) = with_model("[model]\nretries = 0");
    server.always(says("{}"));
    let schema = crate::hostile::endless_schema();
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": true}});
    let tool = json!({"type": "function", "function": {"name": "x", "parameters": schema, "strict": true}});
    for (more, param) in
        [(json!({"response_format": format}), "response_format"), (json!({"tools": [tool]}), "tools[0]")]
    {
        let reply = hob.post(COMPLETIONS, asked(more));
        assert_eq!((reply.status, refusal(&reply).3.as_str()), (400, param), "{}", reply.text());
        assert!(refusal(&reply).4.contains("simplify the schema"), "{}", reply.text());
    }
    let reply = hob
        .post("/api/chat", json!({"model": "hob", "messages": [{"role": "user", "content": "hi"}], "format": schema}));
    assert!(reply.status == 400 && reply.text().contains("simplify the schema"), "{}", reply.text());
    let draft = json!({"name": "endless", "description": "x", "parameters": schema, "code": "return 1;"});
    let told = hob.post("/api/v1/custom-tools", draft).refusal(400, "bad_args");
    assert!(told.contains("simplify the schema"), "{told}");
    assert_eq!(hob.get("/healthz").status, 200);
    hob.assert_alive();
}
