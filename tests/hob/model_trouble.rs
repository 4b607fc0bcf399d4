//! Models that do not answer, and what to begin with: a test with a real answer, servers that are found, the doctor, and the
//! recovery by itself. And what the page reads to show it, which is not in the audit log.

use crate::{
    harness::{Hob, Setup, until},
    model::with_model,
    model_server::{Answer, ModelServer, says},
    models::down,
    visitor::Visitor,
};
use serde_json::{Value, json};

const QUICK: &str = "[model]\nretries = 0\nrecheck_seconds = 1\n";

fn refused(status: u16, error: Value) -> Answer {
    Answer::Status(status, String::new(), json!({"error": error}).to_string())
}

/// A house with Ollama at this server.
fn at_home(server: &ModelServer) -> Hob {
    let hob = Hob::with(Setup { config: QUICK.into(), ..Setup::default() });
    let choice = json!({"model": "ollama/test-model", "url": server.url()});
    hob.admin("PUT", "/api/v1/model").json(&choice).send().data(200);
    hob
}

fn troubles(hob: &Hob) -> Vec<Value> {
    hob.get("/api/v1/model").data(200)["trouble"].as_array().unwrap().clone()
}

#[test]
fn a_key_is_tried_with_a_real_answer_and_the_outcome_is_one_of_few() {
    let (server, hob) = (ModelServer::start(), Hob::start());
    let attempt = |body: Value| hob.post("/api/v1/providers/groq/try", body).data(200);
    let with = |key: &str, model: &str| json!({"url": server.url(), "key": key, "model": model});
    let problem = |tried: &Value| tried["problem"].as_str().unwrap_or("none").to_owned();

    server.script(vec![says("Hello.")]);
    let tried = attempt(with("gsk_right", ""));
    assert_eq!((&tried["ok"], &tried["answered"]), (&json!(true), &json!("test-model")), "{tried}");
    let asked = server.asked();
    assert_eq!((asked.len(), &asked[0].body["model"]), (1, &json!("test-model")));
    assert!(asked[0].head.contains("gsk_right"), "with the key that is tried");
    server.script(vec![says("Hello.")]);
    assert_eq!(attempt(with("gsk_right", "other"))["answered"], "other");
    let listed = hob.get("/api/v1/providers").data(200);
    let groq = listed["providers"].as_array().unwrap().iter().find(|p| p["id"] == "groq").unwrap().clone();
    assert_eq!((&groq["hasKey"], &groq["keyPrefixes"]), (&json!(false), &json!(["gsk_"])), "nothing is stored");

    server.lists(Some(refused(401, json!({"message": "no such key gsk_wrong", "code": "invalid_api_key"}))));
    let tried = attempt(with("gsk_wrong", ""));
    assert_eq!((&tried["ok"], problem(&tried)), (&json!(false), "key".to_owned()), "{tried}");
    assert!(!tried.to_string().contains("gsk_wrong"), "{tried}");
    server.lists(None);
    for (answer, expected) in [
        (refused(402, json!({"message": "pay"})), "credit"),
        (refused(400, json!({"message": "Your credit balance is too low"})), "credit"),
        (refused(429, json!({"message": "slow down"})), "busy"),
        (refused(404, json!({"message": "no such model"})), "refused"),
        (down(), "server"),
    ] {
        server.always(answer);
        let tried = attempt(with("gsk_right", ""));
        assert_eq!((&tried["ok"], problem(&tried)), (&json!(false), expected.to_owned()), "{tried}");
        assert_eq!((&tried["suggested"], &tried["answered"]), (&json!("test-model"), &Value::Null), "{tried}");
    }
    let tried = attempt(json!({"url": "http://127.0.0.1:1/v1", "key": "k", "model": ""}));
    assert_eq!((&tried["ok"], problem(&tried)), (&json!(false), "network".to_owned()), "{tried}");
    let tried = hob.post("/api/v1/providers/groq/try", json!({"model": ""})).data(200);
    assert_eq!(problem(&tried), "key", "{tried}");
    for wrong in [json!({"modle": ""}), json!({"url": "ftp://x", "key": "k"}), json!({"key": "two words"})] {
        hob.post("/api/v1/providers/groq/try", wrong).refusal(400, "bad_args");
    }
}

#[test]
fn servers_are_found_by_admins_where_they_were_set_up() {
    // Nobody else's machines are asked in a test.
    let quiet = Setup { config: "[network]\nannounce = false\n".into(), ..Setup::default() };
    let (server, hob) = (ModelServer::start(), Hob::with(quiet));
    hob.admin("PUT", "/api/v1/providers/ollama").json(&json!({"url": server.url()})).send().data(200);
    let found = hob.post("/api/v1/model-servers/find", json!({})).data(200);
    let ours = |found: &Value| found["servers"].as_array().unwrap().iter().find(|s| s["url"] == server.url()).cloned();
    let one = ours(&found).unwrap_or_else(|| panic!("{found}"));
    let expected = json!({
        "provider": "ollama", "name": "Ollama", "host": "", "url": server.url(), "models": ["test-model", "other"],
        "suggested": "test-model",
    });
    assert_eq!((&one, &found["machines"]), (&expected, &json!(1)), "without discovery only this machine is asked");
    assert!(server.asked().is_empty(), "no model was asked");
    let member = hob.token("ben", "member");
    hob.request("POST", "/api/v1/model-servers/find").bearer(&member).json(&json!({})).send().refusal(403, "denied");
    drop(server);
    let found = hob.post("/api/v1/model-servers/find", json!({})).data(200);
    assert_eq!(found["servers"].as_array().unwrap().iter().filter(|s| s["provider"] == "ollama").count(), 0, "{found}");
}

#[test]
fn a_server_that_is_gone_is_named_until_it_is_back() {
    let server = ModelServer::start();
    let (port, hob) = (server.port, at_home(&server));
    server.script(vec![says("hello")]);
    hob.say("what a day");
    assert_eq!((troubles(&hob), server.listed()), (vec![], 0), "while it answers nothing is looked at");
    assert!(hob.cli(&["doctor"]).ok().contains("model    ollama/test-model\n"));

    drop(server);
    let answer = hob.say("turn on pin 17");
    assert_eq!((&answer["response"], &answer["model"]), (&json!("Pin 17 is on."), &json!("reflex")));
    let all = troubles(&hob);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(
        (&one["model"], &one["provider"], &one["local"], &one["problem"]),
        (&json!("ollama/test-model"), &json!("Ollama"), &json!(true), &json!("network"))
    );
    assert_eq!(one["url"], format!("http://127.0.0.1:{port}/v1"));
    let since = one["since"].as_u64().unwrap();
    hob.say("turn off pin 17");
    assert_eq!(troubles(&hob)[0]["since"], since, "the first failure counts");

    let ran = hob.cli(&["doctor"]);
    let told = ran.out.clone();
    assert!(ran.why(1).contains("problems found: see model"), "{told}");
    assert!(told.contains("ollama/test-model does not answer: the model server"), "{told}");
    assert!(told.contains(&format!("start Ollama at http://127.0.0.1:{port}/v1, or choose another model")), "{told}");

    let member = hob.token("ben", "member");
    let seen = hob.request("GET", "/api/v1/model").bearer(&member).send().data(200);
    assert_eq!(seen["trouble"][0]["provider"], "Ollama");
    assert!(!seen.to_string().contains(&port.to_string()), "addresses are for admins: {seen}");

    let server = ModelServer::start_at(port);
    until("the model is well again", || troubles(&hob).is_empty());
    assert!(server.asked().is_empty() && server.listed() > 0, "the list was enough");
    let looks = server.listed();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(server.listed(), looks, "nothing is looked at any more");
    assert!(hob.cli(&["doctor"]).ok().contains("model    ollama/test-model\n"));
}

#[test]
fn a_wrong_key_and_an_empty_account_last_until_they_are_mended() {
    let (hob, server) = with_model(QUICK);
    let problem = || troubles(&hob).first().map(|one| one["problem"].clone()).unwrap_or_default();
    let say = |text: &str| hob.post("/api/v1/chat", json!({"message": text}));
    server.always(refused(402, json!({"message": "pay"})));
    say("what is baroque music").refusal(424, "model");
    assert_eq!(problem(), "credit");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!((problem(), server.listed()), (json!("credit"), 0), "a list would say nothing about it");
    let checked = hob.post("/api/v1/model/check", json!({})).data(200);
    assert_eq!(checked["models"][0]["ok"], false, "{checked}");
    server.script(vec![says("An era.")]);
    assert_eq!(hob.say("what is baroque music")["response"], "An era.");
    assert_eq!(problem(), Value::Null);
    // Too many requests are no trouble of the server, nor is what nobody could answer.
    for answer in [refused(429, json!({"message": "slow down"})), refused(400, json!({"message": "odd request"}))] {
        server.always(answer);
        assert!(say("what is baroque music").status >= 400);
        assert_eq!(problem(), Value::Null);
    }
}

#[test]
fn what_the_page_reads_to_show_is_not_in_the_audit_log_and_all_else_is() {
    let hob = Hob::with(Setup { claimed: false, ..Setup::default() });
    let owner = Visitor::owner(&hob);
    let run = |tool: &str, arguments: Value, display: bool| {
        let path = format!("/tools/{tool}/execute");
        owner.send("POST", &path, json!({"arguments": arguments, "display": display}))
    };
    let logged = |tool: &str| {
        let page = owner.get(&format!("/audit?everybody=true&tool={tool}")).data(200);
        let outcome = |e: &Value| e["outcome"].as_str().unwrap().to_owned();
        page["entries"].as_array().unwrap().iter().map(outcome).collect::<Vec<_>>()
    };
    run("gpio_list", json!({}), true).data(200);
    assert_eq!(logged("gpio_list"), Vec::<String>::new());
    run("gpio_list", json!({}), false).data(200);
    assert_eq!(logged("gpio_list"), ["ok"], "a person ran it");
    run("gpio_write", json!({"pin": 17, "high": true}), true).data(200);
    assert_eq!(logged("gpio_write"), ["ok"], "a change is always there");
    run("gpio_read", json!({"pin": 99}), true).refusal(400, "bad_args");
    assert_eq!(logged("gpio_read"), ["bad_args"], "so is what failed");
    // A program cannot hide what it reads.
    let token = owner.send("POST", "/tokens", json!({"name": "script", "role": "admin"})).data(201);
    let token = token["token"].as_str().unwrap().to_owned();
    let body = json!({"arguments": {"pin": 2}, "display": true});
    hob.request("POST", "/api/v1/tools/gpio_read/execute").bearer(&token).json(&body).send().data(200);
    assert_eq!(logged("gpio_read"), ["ok", "bad_args"]);
}

#[test]
fn runs_show_what_was_asked() {
    let (hob, server) = with_model("");
    server.always(says("Fine."));
    let long = format!("tell me about {}", "the weather and the sea, ".repeat(20));
    for message in ["what  a\nday", &long] {
        hob.say(message);
    }
    let runs = hob.get("/api/v1/runs").data(200)["runs"].take();
    assert_eq!(runs[1]["asked"], "what a day");
    let asked = runs[0]["asked"].as_str().unwrap();
    assert!(asked.starts_with("tell me about the weather") && asked.chars().count() <= 161, "{asked}");
    let one = hob.get(&format!("/api/v1/runs/{}", runs[1]["id"].as_str().unwrap())).data(200);
    assert_eq!(one["asked"], "what a day");
}
