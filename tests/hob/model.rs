//! Chat through a model: runs from outside, and failures of model servers.

use crate::{
    harness::{Hob, Setup},
    http::Reply,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};

/// Short timeouts, so that a hanging server does not hang the test.
const HASTY: &str = "
[model]
retries = 1
retry_delay_ms = 10
first_word_seconds = 2
silence_seconds = 2
answer_seconds = 20
[agent]
max_turns = 6
max_tool_calls = 20
";

/// A message reflex cannot answer.
const BAROQUE: &str = "what do you think of baroque music";

/// What a model is shown: the meta-tools and a handful of everyday ones; the rest is found with `search_tools`.
const SHOWN: [&str; 5] = ["search_tools", "use_tool", "remember", "recall", "calculate"];

/// A daemon that asks the scripted server.
pub fn with_model(config: &str) -> (Hob, ModelServer) {
    let server = ModelServer::start();
    let environment = [("HOB_MODEL", "custom/test-model"), ("HOB_LLM_URL", &server.url()), ("HOB_LLM_KEY", "sk-test")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    (Hob::with(Setup { config: config.into(), environment, ..Setup::default() }), server)
}

fn texts(parts: &[&str]) -> Answer {
    Answer::Says(parts.iter().map(|p| (*p).to_owned()).collect())
}

fn chat(hob: &Hob, body: Value) -> Reply {
    hob.post("/api/v1/chat", body)
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn the_first_request_is_small_and_shows_everyday_tools_only() {
    let (hob, server) = with_model("");
    server.script(vec![says("pong")]);
    assert_eq!(hob.cli(&["chat", "ping"]).ok(), "pong");
    let asked = &server.asked()[0];
    let all = asked.head_bytes + asked.body_bytes;
    println!("the first request for \"ping\": {all} bytes in all, {} of them body", asked.body_bytes);
    assert!(all <= 6144, "{all} bytes");
    assert_eq!(asked.tools(), SHOWN);
    assert!(asked.head.to_lowercase().contains("authorization: bearer sk-test\r\n"), "{}", asked.head);
    let (model, stream) = (&asked.body["model"], &asked.body["stream"]);
    assert_eq!((model, stream), (&json!("test-model"), &json!(true)));
    assert_eq!(asked.messages("user"), [json!({"role": "user", "content": "ping"})]);
    for part in ["You are Hob", "search_tools", "It is "] {
        assert!(asked.messages("system")[0]["content"].as_str().unwrap().contains(part), "{part}");
    }
}

#[test]
fn words_are_passed_on_as_they_come() {
    let (hob, server) = with_model("");
    server.script(vec![texts(&["Good", " mor", "ning, ü漢🙂"]), Answer::Thinks("hm".into(), "Yes.".into())]);
    let events: Vec<_> = hob.stream(json!({"message": "hi"})).collect();
    assert_eq!(names(&events), ["run", "text", "text", "text", "done"]);
    let deltas: Vec<&Value> = events[1..4].iter().map(|(_, data)| &data["delta"]).collect();
    assert_eq!(deltas, ["Good", " mor", "ning, ü漢🙂"]);
    let (run, done) = (&events[0].1, &events[4].1);
    assert_eq!(done["response"], "Good morning, ü漢🙂");
    assert_eq!((&run["model"], &done["model"]), (&json!("custom/test-model"), &json!("custom/test-model")));
    assert_eq!(done["usage"], json!({"promptTokens": 11, "completionTokens": 7, "totalTokens": 18, "cachedTokens": 0}));
    assert_eq!(done["toolCalls"], json!([]));

    let id = done["conversationId"].clone();
    let events: Vec<_> = hob.stream(json!({"message": "sure?", "conversationId": id})).collect();
    assert_eq!(names(&events), ["run", "thinking", "text", "done"]);
    let asked = server.asked();
    let said: Vec<&str> =
        asked[1].body["messages"].as_array().unwrap()[1..].iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["hi", "Good morning, ü漢🙂", "sure?"]);
}

#[test]
fn parallel_calls_and_several_turns_come_to_an_answer() {
    let (hob, server) = with_model("");
    let first = [("calculate", json!({"expression": "6 * 7"})), ("gpio_write", json!({"pin": 4, "high": true}))];
    let Answer::Calls(_, first) = calls(&first) else { unreachable!() };
    server.script(vec![
        Answer::Calls("Let me see.".into(), first),
        calls(&[(
            "use_tool",
            json!({"tool_name": "convert_units", "arguments": {"value": 5, "from": "miles", "to": "km"}}),
        )]),
        texts(&["It is ", "42."]),
    ]);
    let events: Vec<_> = hob.stream(json!({"message": "what is six times seven?"})).collect();
    let mut seen = names(&events);
    // Two calls run at the same time: one may end before the other starts.
    let mut after = seen.split_off(2);
    let rest = after.split_off(4);
    assert_eq!(after[0], "tool_start");
    after.sort_unstable();
    assert_eq!(after, ["tool_end", "tool_end", "tool_start", "tool_start"]);
    assert_eq!(rest, ["tool_start", "tool_end", "text", "text", "done"]);
    assert_eq!(seen, ["run", "text"]);
    let done = &events.last().unwrap().1;
    let made: Vec<(&str, bool)> = done["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["name"].as_str().unwrap(), c["isError"].as_bool().unwrap()))
        .collect();
    assert_eq!(made, [("calculate", false), ("gpio_write", false), ("use_tool", false)]);
    assert_eq!((&done["response"], &done["usage"]["totalTokens"]), (&json!("It is 42."), &json!(54)));
    assert_eq!(hob.result("gpio_read", json!({"pin": 4}))["high"], true);

    let asked = server.asked();
    let told: Vec<String> = asked[2].messages("tool").iter().map(|m| m.to_string()).collect();
    let results = [("call_0_calculate", "42"), ("call_1_gpio_write", "high"), ("call_0_use_tool", "8.04")];
    assert_eq!(told.len(), 3);
    for (told, (id, part)) in told.iter().zip(results) {
        assert!(told.contains(id) && told.contains(part), "{told}");
    }
    let spoken = asked[1].messages("assistant");
    let (text, wanted) = (&spoken[0]["content"], &spoken[0]["tool_calls"]);
    assert_eq!((text, wanted.as_array().unwrap().len()), (&json!("Let me see."), 2));
    assert_eq!(wanted[0]["function"]["arguments"], json!(r#"{"expression":"6 * 7"}"#));
}

#[test]
fn the_choice_of_tools_reaches_the_server() {
    let (hob, server) = with_model("");
    let ask = |choice: Value, script| {
        server.script(script);
        chat(&hob, json!({"message": "hi", "toolChoice": choice})).data(200);
        server.asked().iter().map(|a| (a.tools().len(), a.body["tool_choice"].clone())).collect::<Vec<_>>()
    };
    let call = || calls(&[("calculate", json!({"expression": "1+1"}))]);
    let all = SHOWN.len();
    assert_eq!(ask(json!("auto"), vec![says("a")]), [(all, Value::Null)]);
    assert_eq!(ask(json!("none"), vec![says("a")]), [(0, Value::Null)]);
    // Only the first turn is bound to call: else a run would never end.
    assert_eq!(ask(json!("required"), vec![call(), says("a")]), [(all, json!("required")), (all, Value::Null)]);
    let named = json!({"type": "function", "function": {"name": "calculate"}});
    assert_eq!(ask(json!({"name": "calculate"}), vec![call(), says("a")])[0].1, named);
    let why = chat(&hob, json!({"message": "hi", "toolChoice": 7})).refusal(400, "bad_args");
    assert!(why.contains("\"required\""), "{why}");
}

#[test]
fn a_run_is_stopped_and_keeps_what_was_said() {
    let (hob, server) = with_model("");
    server.script(vec![Answer::HangsAfter("Once upon".into())]);
    let mut events = hob.stream(json!({"message": "tell me a story"}));
    let (_, run) = events.next().unwrap();
    assert_eq!(events.next().unwrap(), ("text".into(), json!({"delta": "Once upon"})));

    let id = &run["conversationId"];
    let busy = chat(&hob, json!({"message": "hello?", "conversationId": id})).refusal(409, "unavailable");
    assert!(busy.contains("still answering"), "{busy}");
    let path = format!("/api/v1/runs/{}/cancel", run["runId"].as_str().unwrap());
    let stranger = hob.token("ben", "admin");
    hob.request("POST", &path).bearer(&stranger).json(&json!({})).send().refusal(404, "not_found");
    assert_eq!(hob.post(&path, json!({})).data(200), json!({"cancelled": true}));
    let (name, end) = events.next().unwrap();
    assert_eq!((name.as_str(), &end["code"]), ("error", &json!("cancelled")));
    assert!(events.next().is_none());
    hob.post(&path, json!({})).refusal(404, "not_found");

    server.script(vec![says("The end.")]);
    server.asked();
    assert_eq!(chat(&hob, json!({"message": "go on", "conversationId": id})).data(200)["response"], "The end.");
    assert_eq!(server.asked()[0].messages("assistant")[0]["content"], "Once upon");
}

#[test]
fn what_is_remembered_is_told_to_the_model() {
    let (hob, server) = with_model("");
    // What has nothing to do with the message is not told: a prompt is dear.
    hob.result("remember", json!({"content": "The ladder was lent to Tom in spring"}));
    hob.result("remember", json!({"content": "Marta serviced the boiler on 3 October"}));
    server.script(vec![says("Marta did.")]);
    hob.say("who was it that serviced our boiler?");
    let prompt = server.asked()[0].messages("system")[0]["content"].to_string();
    assert!(prompt.contains("Marta serviced the boiler on 3 October") && !prompt.contains("ladder"), "{prompt}");
}

fn status(code: u16, headers: &str, says: &str) -> Answer {
    Answer::Status(
        code,
        format!("content-type: application/json\r\n{headers}"),
        json!({"error": {"message": says}}).to_string(),
    )
}

/// What a server does, the status and code of the refusal, and a part of its sentence.
fn misbehaviours() -> Vec<(&'static str, Answer, u16, &'static str, &'static str)> {
    let same = || calls(&[("calculate", json!({"expression": "1+1"}))]);
    let raw = |text: &str| Answer::Raw(text.into());
    vec![
        ("hangs", Answer::Hangs, 424, "model", "did not begin to answer within 2 s"),
        ("falls silent", Answer::HangsAfter("half an".into()), 424, "model", "within 2 s"),
        ("drops", Answer::DropsAfter("half an".into()), 424, "model", "try again"),
        (
            "ends early",
            raw("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"),
            424,
            "model",
            "stopped in the middle",
        ),
        ("is busy", status(429, "retry-after: 0\r\n", "slow down"), 424, "model", "asked too often"),
        ("fails", status(500, "", "boom"), 424, "model", "failed (status 500)"),
        ("wants a key", status(401, "", "bad key"), 424, "model", "does not accept the key"),
        ("has no such model", status(404, "", "no model"), 424, "model", "no model `test-model`"),
        ("refuses", status(400, "", "too long"), 424, "model", "it says: too long"),
        (
            "sends away",
            Answer::Status(302, "location: http://127.0.0.1:1/\r\n".into(), String::new()),
            424,
            "model",
            "sends requests on",
        ),
        ("gives up", Answer::Fails("half".into(), "overloaded".into()), 424, "model", "gave up: overloaded"),
        ("sends no JSON", raw("data: {\"choices\":[{\n\n"), 424, "model", "not JSON"),
        ("says nothing", texts(&[]), 424, "model", "said nothing at all"),
        (
            "is a web page",
            Answer::Status(200, "content-type: text/html\r\n".into(), "<html>".into()),
            424,
            "model",
            "model server",
        ),
        ("repeats one call", same(), 422, "limit", "4 times"),
        (
            "wants too much",
            calls(&vec![("calculate", json!({"expression": "1+1"})); 21]),
            422,
            "limit",
            "more than 20 tool calls",
        ),
    ]
}

#[test]
fn whatever_a_server_does_ends_in_a_sentence_and_the_next_message_works() {
    let (mut hob, server) = with_model(HASTY);
    hob.result("remember", json!({"content": "the key is under the mat", "tags": ["kept"]}));
    let rows = misbehaviours();
    for (what, answer, code, error, part) in &rows {
        server.always(answer.clone());
        let why = chat(&hob, json!({"message": BAROQUE})).refusal(*code, error);
        assert!(why.contains(part), "{what}: {why}");

        let events: Vec<_> = hob.stream(json!({"message": format!("a server that {what}")})).collect();
        let (name, end) = events.last().unwrap();
        assert_eq!((name.as_str(), &end["code"]), ("error", &json!(error)), "{what}: {events:?}");
        assert!(end["message"].as_str().unwrap().contains(part), "{what}: {end}");
        assert!(names(&events).iter().filter(|n| **n == "error" || **n == "done").count() == 1, "{what}");

        server.script(vec![says("fine again")]);
        let id = &events[0].1["conversationId"];
        let next = chat(&hob, json!({"message": "and now?", "conversationId": id})).data(200);
        assert_eq!(next["response"], "fine again", "{what}");
    }
    assert_eq!(hob.tagged("kept"), ["the key is under the mat"]);
    let kept = hob.get("/api/v1/conversations?limit=200").data(200);
    assert_eq!(kept["count"], rows.len() * 2);
    hob.assert_alive();
}

#[test]
fn what_passes_is_asked_again() {
    let (hob, server) = with_model(HASTY);
    let late = || status(429, "retry-after: 1\r\n", "slow down");
    for (what, first) in [("is busy", late()), ("fails", status(503, "", "starting"))] {
        server.script(vec![first, says("now")]);
        assert_eq!(hob.say(BAROQUE)["response"], "now", "{what}");
        assert_eq!(server.asked().len(), 2, "{what}");
    }
    // A wrong key stays wrong, half an answer is not asked for twice, and after a hung server nobody wants to wait again.
    for first in [status(401, "", "no"), Answer::DropsAfter("half".into()), Answer::Hangs] {
        server.script(vec![first, says("never")]);
        chat(&hob, json!({"message": BAROQUE})).refusal(424, "model");
        assert_eq!((server.asked().len(), server.left()), (1, 1));
    }
    server.script(vec![Answer::Whole("in one piece".into())]);
    let answer = hob.say(BAROQUE);
    assert_eq!((&answer["response"], &answer["usage"]["totalTokens"]), (&json!("in one piece"), &json!(18)));
}

#[test]
fn a_model_is_told_what_was_wrong_with_its_calls() {
    let (hob, server) = with_model(HASTY);
    let broken = [
        ("calculate", json!("{\"expression\": \"1+")),
        ("calculate", json!({"expresion": "1+1"})),
        ("gpio_raed", json!({"pin": 1})),
        ("gpio_write", json!({"pin": 99, "high": true})),
    ];
    server.script(vec![calls(&broken), says("I am sorry.")]);
    let answer = hob.say("work it out");
    assert_eq!(answer["response"], "I am sorry.");
    let failed: Vec<&Value> = answer["toolCalls"].as_array().unwrap().iter().map(|c| &c["isError"]).collect();
    assert_eq!(failed, [true; 4]);
    let told = server.asked()[1].messages("tool");
    for (told, part) in told.iter().zip(["not valid JSON", "It takes expression", "did you mean `gpio_read`", "99"]) {
        let told = told["content"].as_str().unwrap();
        assert!(told.starts_with("Error: ") && told.contains(part), "{told}");
    }
    // The history it is shown next time holds only arguments that are JSON: servers refuse anything else.
    server.script(vec![says("yes")]);
    chat(&hob, json!({"message": "again", "conversationId": answer["conversationId"]})).data(200);
    for call in server.asked()[0].messages("assistant")[0]["tool_calls"].as_array().unwrap() {
        serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap()).unwrap();
    }
}

#[test]
fn a_run_that_goes_on_for_ever_is_ended() {
    let (hob, server) = with_model(HASTY);
    let each = |n: usize| calls(&[("calculate", json!({"expression": format!("{n}+1")}))]);
    server.script((0..20).map(each).collect());
    let why = chat(&hob, json!({"message": "count"})).refusal(422, "limit");
    assert!(why.contains("within 6 turns") && why.contains("Done before that: `calculate` 6 times"), "{why}");
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let (hob, server) = with_model(HASTY);
    let at = format!("{}", server.port);
    drop(server);
    let why = chat(&hob, json!({"message": BAROQUE})).refusal(424, "model");
    assert!(why.contains("cannot be reached"), "{why}");
    let why = hob.cli(&["chat", BAROQUE]).why(1);
    assert!(why.contains("cannot be reached") && !why.contains("sk-test"), "{why} at {at}");
    assert_eq!(hob.result("calculate", json!({"expression": "2+2"}))["result"], 4);
}
