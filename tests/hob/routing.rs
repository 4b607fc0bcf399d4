//! Routing reports, cost estimates, and the content of model requests.

use crate::{
    harness::{Hob, Setup},
    hijack::make,
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
    models::{HASTY, down},
};
use serde_json::{Value, json};

/// An answer that ends for this reason.
fn ends(words: &str, reason: &str) -> Answer {
    let delta = if words.is_empty() { json!({}) } else { json!({"content": words}) };
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    Answer::Raw(format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

/// A house with the keys of two providers in its environment, at these servers, and nothing chosen.
fn with_keys(first: &ModelServer, second: &ModelServer, config: &str) -> Hob {
    let (openai, groq) = (first.url(), second.url());
    let environment = [
        ("GROQ_API_KEY", "gsk-of-the-environment"),
        ("GROQ_BASE_URL", &groq),
        ("OPENAI_API_KEY", "sk-of-the-environment"),
        ("OPENAI_BASE_URL", &openai),
        ("HOB_LOG", "info,llm=debug"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Hob::with(Setup { config: config.into(), environment, ..Setup::default() })
}

/// Each attempt as `model outcome code`.
fn attempts(routing: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let attempts = routing["attempts"].as_array().unwrap().iter();
    attempts.map(|a| format!("{} {} {}", word(&a["model"]), word(&a["outcome"]), word(&a["code"]))).collect()
}

#[test]
fn keys_in_the_environment_answer_and_stand_in_by_themselves() {
    let (openai, groq) = (ModelServer::start(), ModelServer::start());
    let hob = with_keys(&openai, &groq, HASTY);
    let model = hob.get("/api/v1/model").data(200);
    assert_eq!(
        (&model["from"], &model["automaticFallback"], &model["changeable"]),
        (&json!("key"), &json!(true), &json!(true))
    );
    let (first, second) = (model["model"].as_str().unwrap(), model["fallback"][0].as_str().unwrap());
    assert!(first.starts_with("openai/") && second.starts_with("groq/"), "{model}");
    assert_eq!(model["fallback"].as_array().unwrap().len(), 1);

    openai.script(vec![says("from the first")]);
    let answer = hob.say("tell me of the sea");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("from the first"), &json!(first)));
    assert!(openai.asked()[0].head.contains("sk-of-the-environment"));
    openai.script(vec![down()]);
    groq.script(vec![says("from the second")]);
    let answer = hob.say("tell me of the sea");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("from the second"), &json!(second)));
    assert!(groq.asked()[0].head.contains("gsk-of-the-environment"));

    let well = hob.cli(&["doctor"]).ok();
    assert!(well.contains(first) && well.contains("its key is in the environment"), "{well}");
    assert!(well.contains(&format!("fallback {second}, whose keys are in the environment")), "{well}");
    assert!(!well.contains("of-the-environment"), "{well}");

    // What somebody chooses holds: an empty list is none, and null leaves it to the keys again.
    let adjust = |terms: Value| hob.admin("PATCH", "/api/v1/model").json(&terms).send().data(200);
    let none = adjust(json!({"fallback": []}));
    assert_eq!((&none["fallback"], &none["automaticFallback"]), (&json!([]), &json!(false)));
    openai.script(vec![down()]);
    let why = hob.post("/api/v1/chat", json!({"message": "what do you think of baroque music"})).refusal(424, "model");
    assert!(why.contains("openai"), "{why}");
    assert_eq!(adjust(json!({"fallback": null}))["fallback"], json!([second]));
    hob.admin("PUT", "/api/v1/model").json(&json!({"model": "reflex"})).send().data(200);
    assert_eq!(hob.say("turn on pin 17")["model"], "reflex");
    assert_eq!(hob.get("/api/v1/model").data(200)["fallback"], json!([]), "a chosen reflex is alone");
}

#[test]
fn a_budget_holds_for_models_that_nobody_named() {
    let (openai, groq) = (ModelServer::start(), ModelServer::start());
    let hob = with_keys(&openai, &groq, &format!("{HASTY}daily_budget = 0.0000001\n"));
    openai.always(says("well"));
    groq.always(says("well"));
    // The first may be let through, for nothing was spent yet.
    for _ in 0..2 {
        hob.post("/api/v1/chat", json!({"message": "tell me of the sea"}));
    }
    let told = hob.post("/api/v1/chat", json!({"message": "tell me of the sea"}));
    assert!(told.status == 424 && told.text().contains("budget"), "{}", told.text());
    assert!(openai.asked().len() + groq.asked().len() <= 2, "nobody is asked for money that is not there");
    let answer = hob.say("turn on pin 17");
    assert_eq!(answer["model"], "reflex");
    let tried: Vec<String> = attempts(&answer["routing"]);
    assert!(tried[0].ends_with("failed spent") && tried[1].ends_with("failed spent"), "{tried:?}");
    assert_eq!(tried[2], "reflex answered -");
}

#[test]
fn an_answer_tells_which_models_were_tried_and_why() {
    let (openai, groq) = (ModelServer::start(), ModelServer::start());
    let hob = with_keys(&openai, &groq, HASTY);
    make(&hob, "nothing", "return {};", &[]);
    let model = hob.get("/api/v1/model").data(200);
    let (first, second) = (model["model"].as_str().unwrap(), model["fallback"][0].as_str().unwrap());
    // The first calls a tool and fails in the next turn, where the second goes on.
    openai.script(vec![calls(&[("use_tool", json!({"tool_name": "nothing", "arguments": {}}))]), down()]);
    groq.script(vec![says("Done.")]);
    let answer = hob.say("do nothing, please");
    let routing = &answer["routing"];
    assert_eq!((&routing["model"], &routing["strategy"]), (&json!(second), &json!("fallback")), "{routing}");
    assert_eq!(routing["reason"], "the one before it did not answer");
    assert_eq!(attempts(routing), [format!("{first} failed server"), format!("{second} answered -")]);
    assert!(routing["attempts"][0]["error"].as_str().unwrap().contains("503"), "{routing}");
    let run = hob.get(&format!("/api/v1/runs/{}", answer["runId"].as_str().unwrap())).data(200);
    assert_eq!(&run["routing"], routing, "it is stored with the run");

    // As events too; and of a run without an answer it is known who was tried.
    openai.script(vec![says("Hello.")]);
    let events: Vec<(String, Value)> = hob.stream(json!({"message": "hello there, my friend"})).collect();
    let (name, done) = events.last().unwrap();
    assert_eq!((name.as_str(), attempts(&done["routing"])), ("done", vec![format!("{first} answered -")]));
    assert_eq!(done["routing"]["reason"], "it is the first in order");
    openai.script(vec![down()]);
    groq.script(vec![down()]);
    let failed = hob.post("/api/v1/chat", json!({"message": "what do you think of baroque music"}));
    let details = failed.json()["error"]["details"].clone();
    assert_eq!((failed.status, &details["finishReason"]), (424, &json!("error")), "{details}");
    let run = hob.get(&format!("/api/v1/runs/{}", details["runId"].as_str().unwrap())).data(200);
    assert_eq!(attempts(&run["routing"]), [format!("{first} failed server"), format!("{second} failed server")]);
    // A house with nothing to choose tells so.
    let reflex = Hob::start().say("turn on pin 17");
    assert_eq!(
        (attempts(&reflex["routing"]), &reflex["routing"]["strategy"]),
        (vec!["reflex answered -".into()], &Value::Null)
    );
}

#[test]
fn an_answer_tells_why_it_ends() {
    let (hob, server) = with_model("");
    let filtered = "\n\n[The provider stopped the answer here";
    for (answer, reason) in
        [(says("well"), "stop"), (ends("well", "length"), "length"), (ends("well", "content_filter"), "content_filter")]
    {
        server.script(vec![answer]);
        let told = hob.say("tell me of the sea");
        assert_eq!(told["finishReason"], reason, "{told}");
        assert_eq!(told["response"].as_str().unwrap().contains(filtered), reason == "content_filter", "{told}");
    }
    server.script(vec![ends("", "content_filter")]);
    let refused = hob.post("/api/v1/chat", json!({"message": "tell me of the sea"}));
    let error = refused.json()["error"].clone();
    assert_eq!((refused.status, &error["code"]), (424, &json!("content_filter")), "{error}");
    assert_eq!(error["details"]["finishReason"], "content_filter");
}

#[test]
fn a_request_is_estimated_without_being_made() {
    let (hob, server) = with_model("");
    let estimate = |body: Value| hob.post("/api/v1/providers/estimate", body).data(200);
    let known = json!({"model": "openai/gpt-4o", "inputTokens": 1_000_000, "outputTokens": 100_000});
    let told = estimate(known);
    assert_eq!(
        (&told["cost"], &told["currency"], &told["model"]),
        (&json!(3.5), &json!("USD"), &json!("openai/gpt-4o"))
    );
    assert_eq!(told["price"], json!({"input": 2.5, "output": 10.0}));
    // The model that answers is one in the house, and free.
    let own = estimate(json!({"message": "tell me of the sea"}));
    assert_eq!((&own["model"], &own["cost"]), (&json!("custom/test-model"), &json!(0.0)), "{own}");
    let tokens = own["inputTokens"].as_u64().unwrap();
    server.script(vec![says("blue")]);
    hob.say("tell me of the sea");
    let asked = server.asked();
    let sent = asked[0].body_bytes as u64 / 4;
    assert!(tokens.abs_diff(sent) < sent / 4, "{tokens} for {sent}");
    assert_eq!(asked.len(), 1, "nobody is asked for an estimate");
    let long = estimate(json!({"message": "tell me of the sea ".repeat(100)}));
    assert!(long["inputTokens"].as_u64().unwrap() > tokens + 400, "{long}");
    let reflex = estimate(json!({"model": "reflex", "inputTokens": 10}));
    assert_eq!((&reflex["cost"], &reflex["outputTokens"]), (&json!(0.0), &json!(1000)));
    let unknown = estimate(json!({"model": "openai/nobody-knows", "inputTokens": 10}));
    assert_eq!((&unknown["cost"], &unknown["price"]), (&Value::Null, &Value::Null));
    for wrong in [
        json!({}),
        json!({"message": "a", "inputTokens": 1}),
        json!({"model": "gpt", "inputTokens": 1}),
        json!({"model": "nobody/x", "inputTokens": 1}),
        json!({"inputTokens": -1}),
        json!({"inputTokens": 2_000_000_000}),
        json!({"tokens": 1}),
    ] {
        hob.post("/api/v1/providers/estimate", wrong).refusal(400, "bad_args");
    }
}

#[test]
fn the_sampling_of_the_configuration_is_carried_by_every_request() {
    let (hob, server) = with_model("[agent]\ntemperature = 0.3\nanswer_tokens = 321\n");
    server.script(vec![says("well")]);
    hob.say("tell me of the sea");
    let body = &server.asked()[0].body;
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0.3), &json!(321)), "{body}");
    // A model that takes no temperature goes without, and is not asked with one again.
    let refusal =
        json!({"error": {"message": "Unsupported value: 'temperature' does not support 0.3 with this model."}});
    server.script(vec![Answer::Status(400, String::new(), refusal.to_string()), says("without"), says("again")]);
    assert_eq!(hob.say("tell me of the sea")["response"], "without");
    assert_eq!(hob.say("tell me of the sea")["response"], "again");
    let carried: Vec<bool> = server.asked().iter().map(|a| a.body.get("temperature").is_some()).collect();
    assert_eq!(carried, [true, false, false]);
    // Left alone, nothing is carried.
    let (plain, server) = with_model("");
    server.script(vec![says("well")]);
    plain.say("tell me of the sea");
    let body = &server.asked()[0].body;
    assert!(body.get("temperature").is_none() && body.get("max_tokens").is_none(), "{body}");
}

#[test]
fn the_prompt_tells_topics_the_task_and_the_categories_of_tools() {
    let (hob, server) = with_model("");
    server.always(says("Gladly."));
    let first = hob.say("Plan the garden party for Saturday");
    let system = server.asked()[0].messages("system")[0]["content"].as_str().unwrap().to_owned();
    let next = |text: &str| {
        let body = json!({"message": text, "conversationId": first["conversationId"]});
        hob.post("/api/v1/chat", body).data(200);
        let asked = server.asked();
        asked.last().unwrap().messages("system")[0]["content"].as_str().unwrap().to_owned()
    };
    let second = next("Who comes to the party in the garden?");
    assert!(second.contains("It is about garden, party."), "{second}");
    assert!(second.contains("in the person's words: \"Who comes to the party in the garden?\""), "{second}");
    let third = next("yes, ok");
    assert!(third.contains("in the person's words: \"Who comes to the party in the garden?\""), "{third}");

    assert!(!system.contains("The current task") && !system.contains("It is about"), "{system}");
    let line = system.lines().find(|line| line.starts_with("Tool categories: ")).unwrap();
    assert!(line.len() <= 120, "{line}");
    let stats = hob.get("/api/v1/tool-stats").data(200);
    let categories = stats["byCategory"].as_object().unwrap();
    let named: Vec<&str> =
        line["Tool categories: ".len()..].trim_end_matches('.').split(" and ").next().unwrap().split(", ").collect();
    assert!(named.len() > 3 && named.iter().all(|name| categories.contains_key(*name)), "{named:?} of {categories:?}");
}

#[test]
fn the_category_of_a_custom_tool_is_no_part_of_the_prompt() {
    let (hob, server) = with_model("");
    for n in 0..40 {
        let draft = json!({"name": format!("odd_{n}"), "description": "For a test.", "code": "return {};", "permissions": [],
                           "parameters": {"type": "object", "properties": {}}, "category": "Obey this"});
        hob.post("/api/v1/custom-tools", draft).data(201);
    }
    server.script(vec![says("pong")]);
    hob.say("ping");
    let system = server.asked()[0].messages("system")[0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("Tool categories: ") && !system.contains("Obey this"), "{system}");
}

#[test]
fn the_prompt_is_counted() {
    let (hob, server) = with_model("");
    let before = hob.get("/api/v1/prompt").data(200);
    server.script(vec![says("pong")]);
    hob.say("ping");
    assert_eq!(before["toolCount"].as_u64().unwrap() as usize, server.asked()[0].tools().len(), "{before}");
    assert_eq!((&before["instructionCount"], &before["hasTimeContext"]), (&json!(0), &json!(true)));
    for name in ["SOUL.md", "system_prompt"] {
        hob.admin("PUT", &format!("/api/v1/documents/{name}")).json(&json!({"text": "Be a pirate."})).send().data(200);
    }
    assert_eq!(hob.get("/api/v1/prompt").data(200)["instructionCount"], 2);
    let (timeless, _server) = with_model("[agent.sections]\ntime = false\n");
    assert_eq!(timeless.get("/api/v1/prompt").data(200)["hasTimeContext"], false);
}

#[test]
fn requests_are_logged_by_size_and_never_by_content() {
    let (openai, groq) = (ModelServer::start(), ModelServer::start());
    let hob = with_keys(&openai, &groq, HASTY);
    openai.script(vec![says("the answer is marzipan"), down()]);
    groq.script(vec![says("the answer is marzipan")]);
    hob.say("a question about gooseberries");
    hob.say("a question about gooseberries");
    let log = hob.log();
    let line = log
        .lines()
        .find(|line| line.contains("model request") && line.contains("system="))
        .unwrap_or_else(|| panic!("{log}"));
    for field in ["messages=2", "user=29", "tools=", "tool_results=0", "tokens="] {
        assert!(line.contains(field), "{field} is not in {line}");
    }
    assert!(log.lines().any(|line| line.contains("model response") && line.contains("completion_tokens=")), "{log}");
    assert!(log.lines().any(|line| line.contains("model request failed") && line.contains("server")), "{log}");
    assert!(!log.contains("gooseberries") && !log.contains("marzipan") && !log.contains("of-the-environment"), "{log}");
}
