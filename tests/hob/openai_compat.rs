//! Calls of servers that speak OpenAI's format: only the addresses that were entered, with their keys, which nobody sees.

use crate::{
    approvals::that_waits,
    harness::{Hob, Setup},
    model_server::{calls, says},
    world::{Heard, World},
};
use serde_json::{Value, json};

const KEY: &str = "sk-compat-0123456789abcdef";

/// The lines of hob.toml that name this server.
pub fn config(world: &World) -> String {
    format!("[services.openai_compatible]\nbase_url = \"{}\"\napi_key = \"{KEY}\"\n", world.url("/ai/v1"))
}

/// What the server answers where all is well.
pub fn answer(heard: &Heard) -> Option<(u16, String)> {
    let text = match heard.line.as_str() {
        "GET /ai/v1/models" => json!({"object": "list", "data": [{"id": "tiny", "object": "model"}]}),
        "POST /ai/v1/chat/completions" => json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "tiny",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "At noon."}, "finish_reason": "stop"}]}),
        "POST /ai/v1/embeddings" => {
            json!({"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1]}]})
        }
        _ => return None,
    };
    Some((200, text.to_string()))
}

#[test]
fn a_server_is_called_with_its_key_and_a_body_of_any_form() {
    let world = crate::world::kind();
    let hob = Hob::with(Setup { config: config(&world), ..Setup::default() });
    let body =
        json!({"model": "tiny", "messages": [{"role": "user", "content": "when?"}], "stream": true, "own": {"x": [1]}});
    let answer = hob.call("openai_compat_call", json!({"endpoint": "/chat/completions", "body": body})).data(200);
    let result = &answer["result"];
    assert_eq!((&answer["say"], &result["status"]), (&json!("At noon."), &json!(200)));
    assert_eq!(result["response"]["choices"][0]["message"]["content"], "At noon.");
    assert!(result["notes"][0].as_str().unwrap().contains("`stream`"), "{result}");
    let heard = world.heard();
    assert!(heard[0].head.to_lowercase().contains(&format!("authorization: bearer {KEY}")), "{}", heard[0].head);
    let sent = heard[0].json();
    assert_eq!((&sent["own"], &sent["stream"]), (&json!({"x": [1]}), &json!(false)));
    assert!(!answer.to_string().contains(KEY));
    let models = hob.result("openai_compat_call", json!({"endpoint": "models"}));
    assert_eq!(models["response"]["data"][0]["id"], "tiny");
    let url = json!({"url": world.url("/ai/v1/embeddings"), "payload": {"input": "x"}});
    assert_eq!(hob.result("openai_compat_call", url)["endpoint"], "embeddings");
    world.heard();

    for endpoint in [
        "http://169.254.169.254/ai/v1/models",
        "../admin",
        &world.url("/admin"),
        "http://example.org/ai/v1/models",
        "%2e%2e/x",
        "/ai/v1///evil.example.org/x",
        "",
    ] {
        let refused = hob.call("openai_compat_call", json!({"endpoint": endpoint}));
        refused.refusal(400, "bad_args");
    }
    let large = json!({"endpoint": "/embeddings", "body": {"input": "x".repeat(300_000)}});
    hob.call("openai_compat_call", large).refusal(400, "bad_args");
    let refused =
        hob.call("openai_compat_call", json!({"endpoint": "/models", "service": "other"})).refusal(404, "not_found");
    assert!(refused.contains("`default`"), "{refused}");
    assert!(world.heard().is_empty(), "nothing was sent");
    // What looks like the address of somebody else is a path of this server.
    hob.call("openai_compat_call", json!({"endpoint": "https:evil.example.org/x"}));
    assert!(world.heard()[0].line.starts_with("GET /ai/v1/https:evil.example.org/x"), "the key went elsewhere");
}

#[test]
fn without_a_server_the_answer_says_how_to_add_one() {
    let refused = Hob::start().call("openai_compat_call", json!({"endpoint": "/models"})).refusal(409, "unavailable");
    assert!(refused.contains("`openai_compatible` of the Config Center"), "{refused}");
}

#[test]
fn hostile_servers_get_a_clear_error() {
    for (status, body, code, expected) in [
        (200, "x".repeat(1_200_000), "unavailable", "larger than 1 MB"),
        (302, "http://127.0.0.1:1/".to_owned(), "unavailable", "not followed"),
        (401, format!("{{\"error\": {{\"message\": \"Incorrect API key {KEY}\"}}}}"), "failed", "status 401"),
        (500, "<b>\u{202e}no".to_owned(), "failed", "status 500: bno"),
    ] {
        let world = World::start(move |_| (status, body.clone()));
        let mut hob = Hob::with(Setup { config: config(&world), ..Setup::default() });
        let reply = hob.call("openai_compat_call", json!({"endpoint": "/models"})).json();
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert!(message.contains(expected) && !message.contains(KEY) && message.len() < 1000, "{expected}: {message}");
        hob.assert_alive();
    }
    // A long answer is cut, and one that repeats the key does not show it.
    let long = format!("{{\"key\": \"{KEY}\", \"text\": \"{}\"}}", "y".repeat(200_000));
    let world = World::start(move |_| (200, long.clone()));
    let hob = Hob::with(Setup { config: config(&world), ..Setup::default() });
    let result: Value = hob.result("openai_compat_call", json!({"endpoint": "/models"}));
    assert!(result["response"].as_str().unwrap().len() <= 48 * 1024, "cut");
    assert!(!result.to_string().contains(KEY) && result["notes"][0].as_str().unwrap().contains("48 KB"));
}

#[test]
fn a_run_that_read_from_outside_asks_before_it_sends_and_answers_taint() {
    let world = crate::world::kind();
    let (hob, server) = that_waits(1, &config(&world));
    crate::approvals::autonomy(&hob, "full");
    let call = || ("openai_compat_call", json!({"endpoint": "/chat/completions", "body": {"messages": []}}));
    let pin = ("gpio_write", json!({"pin": 24, "high": true}));
    server.script(vec![calls(&[call()]), calls(&[pin]), calls(&[call()]), says("done")]);
    hob.say("ask the other server");
    assert_eq!(world.heard().len(), 1, "the first call was made unasked, the second was not");
    assert_eq!(hob.result("gpio_read", json!({"pin": 24}))["high"], false);
    let asked = crate::approvals::questions(&hob, "all");
    assert!(asked.len() == 2 && asked.iter().all(|question| question["rule"] == "tainted"), "{asked:?}");
}
