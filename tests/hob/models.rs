//! Model selection: choice, fallback, budget; and reflex, which is always available.

use crate::{
    harness::{Hob, Setup},
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};

/// A model that fails is not asked again for long.
pub const HASTY: &str = "[model]\nretries = 0\nretry_delay_ms = 10\nfirst_word_seconds = 2\nsilence_seconds = 2\n";

pub fn down() -> Answer {
    Answer::Status(503, String::new(), "{\"error\":{\"message\":\"overloaded\"}}".into())
}

/// A house whose page chose `custom/test-model` at this server.
fn chosen(server: &ModelServer, config: &str) -> Hob {
    let hob = Hob::with(Setup { config: config.into(), ..Setup::default() });
    let choice = json!({"model": "custom/test-model", "url": server.url(), "key": "sk-of-the-page"});
    let told = hob.admin("PUT", "/api/v1/model").json(&choice).send().data(200);
    assert_eq!(
        (&told["model"], &told["hasKey"], &told["from"]),
        (&json!("custom/test-model"), &json!(true), &json!("page"))
    );
    hob
}

fn adjust(hob: &Hob, terms: Value) -> Value {
    hob.admin("PATCH", "/api/v1/model").json(&terms).send().data(200)
}

#[test]
fn a_provider_is_tried_before_it_is_chosen_and_its_key_is_never_told() {
    let (server, hob) = (ModelServer::start(), Hob::start());
    let listed = hob.get("/api/v1/providers").data(200);
    let ids: Vec<&str> = listed["providers"].as_array().unwrap().iter().map(|p| p["id"].as_str().unwrap()).collect();
    for id in [
        "openai",
        "anthropic",
        "google",
        "deepseek",
        "groq",
        "mistral",
        "zhipu",
        "cohere",
        "together",
        "fireworks",
        "perplexity",
        "openrouter",
        "xai",
        "ollama",
        "llamacpp",
        "lmstudio",
        "custom",
    ] {
        assert!(ids.contains(&id), "{id} is not among {ids:?}");
    }
    let tried = hob.post("/api/v1/providers/custom/try", json!({"url": server.url(), "key": "sk-one"})).data(200);
    assert_eq!((&tried["ok"], &tried["models"]), (&json!(true), &json!(["test-model", "other"])), "{tried}");
    let tried = hob.post("/api/v1/providers/custom/try", json!({"url": "http://127.0.0.1:1/v1"})).data(200);
    assert_eq!(tried["ok"], false, "{tried}");
    let tried = hob.post("/api/v1/providers/anthropic/try", json!({})).data(200);
    assert!(tried["ok"] == false && tried["message"].as_str().unwrap().contains("without a key"), "{tried}");
    hob.post("/api/v1/providers/nobody/try", json!({})).refusal(404, "not_found");

    let set = json!({"url": server.url(), "key": "sk-secret-of-mine-123456"});
    let told = hob.admin("PUT", "/api/v1/providers/custom").json(&set).send().data(200);
    assert_eq!((&told["hasKey"], &told["keyFrom"]), (&json!(true), &json!("page")));
    for path in ["/api/v1/providers", "/api/v1/model", "/api/v1/models"] {
        assert!(!hob.get(path).text().contains("sk-secret-of-mine"), "{path}");
    }
    server.script(vec![says("hello")]);
    hob.admin("PUT", "/api/v1/model").json(&json!({"model": "custom/test-model"})).send().data(200);
    assert_eq!(hob.say("what a day")["response"], "hello");
    assert!(server.asked()[0].head.contains("sk-secret-of-mine-123456"), "the provider's key and address are used");
    for (method, path, body) in [
        ("PUT", "/api/v1/providers/custom", json!({"url": "ftp://x"})),
        ("PUT", "/api/v1/model", json!({"model": "nobody/x"})),
        ("PATCH", "/api/v1/model", json!({"fallback": ["nobody/x"]})),
        ("PATCH", "/api/v1/model", json!({"strategy": "luckiest"})),
        ("PATCH", "/api/v1/model", json!({"dailyBudget": -1})),
        ("PATCH", "/api/v1/model", json!({"dayly": 1})),
        ("POST", "/api/v1/models/refresh", json!({"catalogue": {"no": "catalogue"}})),
    ] {
        hob.admin(method, path).json(&body).send().refusal(400, "bad_args");
    }
}

#[test]
fn another_model_stands_in_and_reflex_is_always_there() {
    let server = ModelServer::start();
    let hob = chosen(&server, HASTY);
    let told = adjust(&hob, json!({"fallback": ["custom/other"]}));
    assert_eq!((&told["fallback"], &told["strategy"]), (&json!(["custom/other"]), &json!("fallback")));
    server.script(vec![down(), says("from the other")]);
    let answer = hob.say("what a day it was");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("from the other"), &json!("custom/other")));
    let models: Vec<String> = server.asked().iter().map(|a| a.body["model"].as_str().unwrap().into()).collect();
    assert_eq!(models, ["test-model", "other"]);

    // Nobody there at all: what reflex understands is done, and of the rest the person hears why.
    server.always(down());
    let answer = hob.say("turn on pin 17");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("Pin 17 is on."), &json!("reflex")));
    let why = hob.post("/api/v1/chat", json!({"message": "what do you think of baroque music"})).refusal(424, "model");
    assert!(why.contains("custom") && why.contains("503"), "{why}");

    // What is refused is the person's to mend, and nobody hides it.
    server.always(Answer::Status(401, String::new(), "{\"error\":{\"message\":\"bad key\"}}".into()));
    let why = hob.post("/api/v1/chat", json!({"message": "turn on pin 17"})).refusal(424, "model");
    assert!(why.contains("key"), "{why}");
}

#[test]
fn commands_go_to_reflex_first_where_the_person_says_so() {
    let server = ModelServer::start();
    let hob = chosen(&server, HASTY);
    adjust(&hob, json!({"preferReflex": true}));
    let answer = hob.say("turn on pin 17");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("Pin 17 is on."), &json!("reflex")));
    assert!(server.asked().is_empty(), "no model was asked");
    server.script(vec![says("Lovely.")]);
    assert_eq!(hob.say("what do you think of baroque music")["response"], "Lovely.");
    // The model reads of it afterwards.
    server.script(vec![says("Pin 17.")]);
    let first = hob.say("turn off pin 17");
    let next = json!({"message": "which one was that, in your own words", "conversationId": first["conversationId"]});
    hob.post("/api/v1/chat", next).data(200);
    assert!(server.asked().last().unwrap().body.to_string().contains("turn off pin 17"));
}

#[test]
fn what_is_spent_is_counted_and_a_budget_stops_it_with_a_clear_word() {
    let (hob, server) = with_model(HASTY);
    server.always(says("well"));
    hob.say("tell me of the sea");
    let spent = hob.get("/api/v1/usage?days=7").data(200);
    assert_eq!((&spent["today"]["requests"], &spent["today"]["tokens"]), (&json!(1), &json!(18)), "{spent}");
    assert_eq!(spent["days"][0]["models"][0]["model"], "custom/test-model");
    assert_eq!(spent["today"]["budget"], Value::Null);
    // A price for it, and a budget that one answer spends.
    let known = json!({"models": [{"model": "groq/priced", "name": "priced", "inputPrice": 9000.0, "outputPrice": 1.0,
                                   "tools": true, "context": 100_000}]});
    assert!(hob.post("/api/v1/models/refresh", json!({"catalogue": known})).data(200)["models"].as_u64().unwrap() > 1);
    let listed = hob.get("/api/v1/models?provider=groq").data(200);
    assert!(listed["models"].as_array().unwrap().iter().any(|m| m["model"] == "groq/priced"), "{listed}");
    assert_eq!(listed["source"], "given");

    let free = Hob::with(Setup { config: HASTY.into(), ..Setup::default() });
    free.post("/api/v1/models/refresh", json!({"catalogue": known})).data(200);
    free.admin("PUT", "/api/v1/model")
        .json(&json!({"model": "groq/priced", "url": server.url(), "key": "k"}))
        .send()
        .data(200);
    adjust(&free, json!({"dailyBudget": 0.05}));
    let answer = free.say("tell me of the sea");
    assert_eq!(answer["cost"].as_f64(), Some(0.099007), "{answer}");
    let why = free.post("/api/v1/chat", json!({"message": "tell me of the sea"}));
    assert!(why.text().contains("budget of $0.05") && why.status == 424, "{}", why.text());
    let spent = free.get("/api/v1/usage").data(200);
    assert_eq!((&spent["today"]["budget"], &spent["today"]["left"]), (&json!(0.05), &json!(0.0)));
    assert_eq!(free.say("turn on pin 17")["model"], "reflex", "what costs nothing still answers");
    adjust(&free, json!({"dailyBudget": null}));
    assert_eq!(free.say("tell me of the sea")["response"], "well");
}

#[test]
fn calls_written_as_text_are_made() {
    let (hob, server) = with_model("");
    let written = "<tool_call>\n{\"name\": \"gpio_write\", \"arguments\": {\"pin\": 17, \"high\": true}}\n</tool_call>";
    server.script(vec![says(written), says("Done."), calls(&[("gpio_read", json!({"pin": 17}))]), says("It is on.")]);
    let answer = hob.say("switch the lamp on, please");
    assert_eq!((&answer["response"], &answer["toolCalls"][0]["name"]), (&json!("Done."), &json!("gpio_write")));
    let answer = hob.say("is it on?");
    assert_eq!(answer["toolCalls"][0]["result"]["high"], true, "{answer}");
}

#[test]
fn a_model_of_four_thousand_tokens_is_never_asked_more() {
    let (hob, server) = with_model("[model]\ncontext = 4096\n");
    let mut conversation = Value::Null;
    for n in 0..12 {
        server.always(says(&format!("{n} {}", "and so on ".repeat(150))));
        let message = format!("{n} tell me {}", "much more ".repeat(150));
        let answer = hob.post("/api/v1/chat", json!({"message": message, "conversationId": conversation})).data(200);
        conversation = answer["conversationId"].clone();
    }
    let all = server.asked();
    for asked in &all {
        assert!(asked.body_bytes < 4096 * 4, "{} bytes", asked.body_bytes);
        // What has no tools is a summary of what was before.
        let system = asked.messages("system")[0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains("You are Hob") || asked.tools().is_empty(), "{system}");
    }
    let last = all.last().unwrap().body.to_string();
    assert!(last.contains("11 tell me"), "what was asked is always there");
}
