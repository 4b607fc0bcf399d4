//! The profile of a person from outside: learned from conversations, edited, undone, private, and in the prompt.

use crate::{
    approvals::{asked, decide},
    harness::Hob,
    hijack::{read as read_page, with_a_page},
    model::with_model,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};

fn profile(hob: &Hob) -> Value {
    hob.get("/api/v1/profile").data(200)
}

fn patch(hob: &Hob, body: Value) -> Value {
    hob.admin("PATCH", "/api/v1/profile").json(&body).send().data(200)
}

fn values(profile: &Value, section: &str) -> Vec<String> {
    profile[section].as_array().unwrap().iter().map(|entry| entry["value"].as_str().unwrap().to_owned()).collect()
}

/// The system prompt of the last request.
fn told(server: &ModelServer) -> String {
    server.asked().last().unwrap().messages("system")[0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_edits_their_profile_and_the_next_prompt_has_it() {
    let (mut hob, server) = with_model("");
    let fresh = profile(&hob);
    assert_eq!((&fresh["identity"], &fresh["instructions"]), (&json!([]), &json!([])));
    assert_eq!((&fresh["autonomy"]["level"], &fresh["autonomy"]["name"]), (&json!(2), &json!("medium")));
    let written = patch(
        &hob,
        json!({
            "set": {"preferredName": "Sam", "answerLength": "short"},
            "add": [{"section": "facts", "value": "vegetarian"}, {"section": "instructions", "value": "Use metric units."}],
        }),
    );
    let name = &written["identity"][0];
    assert_eq!(
        (&name["key"], &name["source"], &name["confidence"]),
        (&json!("preferredName"), &json!("person"), &json!(1.0))
    );
    server.script(vec![says("hello"), says("hello"), says("hello")]);
    hob.say("hi");
    let prompt = told(&server);
    let parts: Vec<&str> = prompt.split("\n\n---\n\n").collect();
    assert!(
        parts[1].starts_with(
            "About the person you speak with:\n- preferred name: Sam\n- length of answers: short\n- facts: vegetarian"
        ),
        "{prompt}"
    );
    assert!(parts[2].starts_with("The person's own instructions for every answer:\n- Use metric units."), "{prompt}");

    let fact = written["facts"][0]["id"].clone();
    let changed =
        patch(&hob, json!({"change": [{"id": fact, "value": "vegan"}], "remove": [written["instructions"][0]["id"]]}));
    assert_eq!((values(&changed, "facts"), values(&changed, "instructions")), (vec!["vegan".to_owned()], vec![]));
    hob.say("hi");
    assert!(told(&server).contains("- facts: vegan") && !told(&server).contains("metric units"));
    // A change is undone as a whole.
    let change = hob.get("/api/v1/changes").data(200)["changes"][0]["id"].as_str().unwrap().to_owned();
    hob.post(&format!("/api/v1/changes/{change}/undo"), json!({})).data(200);
    assert_eq!(
        (values(&profile(&hob), "facts"), values(&profile(&hob), "instructions").len()),
        (vec!["vegetarian".to_owned()], 1)
    );
    patch(&hob, json!({"set": {"preferredName": "", "answerLength": ""}}));
    hob.stop();
    hob.start_again();
    assert_eq!((&profile(&hob)["identity"], values(&profile(&hob), "facts").len()), (&json!([]), 1));
}

#[test]
fn bad_changes_are_refused_and_change_nothing() {
    let hob = Hob::start();
    patch(&hob, json!({"set": {"name": "Sam Weber"}}));
    let before = profile(&hob);
    for (body, why) in [
        (json!({}), "nothing to change"),
        (json!({"set": {"shoe": "43"}}), "no `shoe`"),
        (json!({"set": {"name": "x".repeat(101)}}), "longer than 100"),
        (json!({"add": [{"section": "identity", "value": "Sam"}]}), "pass it in `set`"),
        (json!({"add": [{"section": "secrets", "value": "Sam"}]}), ""),
        (json!({"add": [{"section": "facts", "value": "  "}]}), "empty"),
        (json!({"add": [{"section": "facts", "value": "x".repeat(301)}], "set": {"name": "Max"}}), "longer than 300"),
        (json!({"autonomy": "total"}), ""),
        (json!({"unknown": 1}), ""),
    ] {
        let said = hob.admin("PATCH", "/api/v1/profile").json(&body).send().refusal(400, "bad_args");
        assert!(said.contains(why), "{body}: {said}");
    }
    let gone = json!({"remove": ["01890000-0000-7000-8000-000000000000"]});
    hob.admin("PATCH", "/api/v1/profile").json(&gone).send().refusal(404, "not_found");
    // A program does not choose how much Hob does unasked.
    hob.admin("PATCH", "/api/v1/profile").json(&json!({"autonomy": "full"})).send().refusal(403, "denied");
    let viewer = hob.token("vera", "viewer");
    let refused =
        hob.request("PATCH", "/api/v1/profile").bearer(&viewer).json(&json!({"set": {"name": "Vera"}})).send();
    refused.refusal(403, "denied");
    assert_eq!(profile(&hob), before);
}

#[test]
fn each_person_has_their_own() {
    let hob = Hob::start();
    patch(&hob, json!({"set": {"preferredName": "Sam"}}));
    let mia = hob.token("mia", "member");
    let of_mia = || hob.request("GET", "/api/v1/profile").bearer(&mia).send().data(200);
    assert_eq!(of_mia()["identity"], json!([]));
    let entry = profile(&hob)["identity"][0]["id"].clone();
    let change = |body: Value| hob.request("PATCH", "/api/v1/profile").bearer(&mia).json(&body).send();
    change(json!({"change": [{"id": entry, "value": "Max"}]})).refusal(404, "not_found");
    change(json!({"set": {"preferredName": "Mia"}})).data(200);
    assert_eq!(
        (values(&of_mia(), "identity"), values(&profile(&hob), "identity")),
        (vec!["Mia".to_owned()], vec!["Sam".to_owned()])
    );
}

#[test]
fn statements_in_a_conversation_are_learned_with_their_source() {
    let (hob, server) = with_model("");
    server.script(vec![says("Hello Sam."), says("Gut."), says("It is."), says("ok")]);
    let answer = hob.say("Call me Sam. I'm vegetarian. What's the weather like?");
    let prompt = told(&server);
    assert!(prompt.contains("- preferred name: Sam") && prompt.contains("- facts: I am vegetarian"), "{prompt}");
    let learned = profile(&hob);
    let name = &learned["identity"][0];
    assert_eq!(
        (&name["value"], &name["source"], &name["quote"]),
        (&json!("Sam"), &json!("conversation"), &json!("Call me Sam I'm vegetarian"))
    );
    assert_eq!(name["conversationId"], answer["conversationId"]);
    hob.say("Antworte bitte auf Deutsch");
    hob.say("he said: \"call me Max\" and then he left. Is my name Max?");
    assert_eq!(values(&profile(&hob), "identity"), ["Sam"], "quotes and questions teach nothing");
    hob.say("Antworte auf Deutsch");
    let learned = profile(&hob);
    assert_eq!(values(&learned, "identity"), ["Sam", "German"], "{learned}");
    // What was learned is a change like any other.
    let changes = hob.get("/api/v1/changes").data(200)["changes"].take();
    assert_eq!(changes[0]["tool"], "update_profile", "{changes}");
    let id = changes[0]["id"].as_str().unwrap();
    hob.post(&format!("/api/v1/changes/{id}/undo"), json!({})).data(200);
    assert_eq!(values(&profile(&hob), "identity"), ["Sam"]);
}

#[test]
fn reflex_learns_without_a_model() {
    let hob = Hob::start();
    let said = |text: &str| hob.say(text)["response"].as_str().unwrap().to_owned();
    assert_eq!(said("call me Sam"), "I will call you Sam.");
    assert_eq!(said("please call me Sam"), "I know that already.");
    assert!(said("I prefer short answers").contains("short"));
    said("I am vegetarian");
    said("call me back later");
    let learned = profile(&hob);
    let all = ["identity", "style", "facts"].map(|section| values(&learned, section).join(", "));
    assert_eq!(all, ["Sam", "short", "I am vegetarian"], "{learned}");
    assert_eq!(learned["identity"][0]["source"], "conversation");
}

#[test]
fn a_model_learns_as_a_model_and_from_outside_only_with_consent() {
    let (hob, server, page) = with_a_page(60);
    server.script(vec![
        calls(&[(
            "update_profile",
            json!({"interests": ["sailing"], "confidence": 1.0, "quote": "we sailed all day"}),
        )]),
        says("Noted."),
    ]);
    hob.say("we sailed all day, as always");
    let interest = profile(&hob)["interests"][0].clone();
    assert_eq!((&interest["source"], &interest["confidence"]), (&json!("model"), &json!(0.95)), "{interest}");

    server.script(vec![read_page(&page), calls(&[("update_profile", json!({"preferredName": "Eve"}))]), says("Done.")]);
    let talk = std::thread::scope(|scope| {
        let talk = scope.spawn(|| hob.say("read the page"));
        let question = asked(&hob, 1).remove(0);
        assert_eq!(question["tool"], "update_profile", "{question}");
        decide(&hob, &question, "deny");
        talk.join().unwrap()
    });
    assert!(profile(&hob)["identity"].as_array().unwrap().is_empty(), "{talk}");
}
