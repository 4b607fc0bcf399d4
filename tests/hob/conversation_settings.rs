//! Settings of a conversation: title, instructions, metadata.

use crate::{harness::Hob, model::with_model, model_server::says};
use serde_json::{Value, json};

fn path(id: &str) -> String {
    format!("/api/v1/conversations/{id}")
}

fn change(hob: &Hob, id: &str, body: Value) -> crate::http::Reply {
    hob.admin("PATCH", &path(id)).json(&body).send()
}

fn id_of(answer: &Value) -> String {
    answer["conversationId"].as_str().unwrap().to_owned()
}

#[test]
fn a_conversation_has_instructions_of_its_own() {
    let (mut hob, server) = with_model("");
    server.script(vec![says("Hello."), says("Ahoy!"), says("Aye."), says("Hi.")]);
    let id = id_of(&hob.say("hello"));
    let told = |server: &crate::model_server::ModelServer| {
        server.asked().last().unwrap().messages("system")[0]["content"].as_str().unwrap().to_owned()
    };
    assert!(!told(&server).contains("pirate"));
    let changed = change(&hob, &id, json!({"systemPrompt": "  Talk like a pirate.  "})).data(200);
    assert_eq!((&changed["systemPrompt"], &changed["title"]), (&json!("Talk like a pirate."), &json!("hello")));
    hob.post("/api/v1/chat", json!({"message": "and now?", "conversationId": id})).data(200);
    let prompt = told(&server);
    assert!(prompt.contains("The person's instructions for this conversation:\nTalk like a pirate."), "{prompt}");

    // After a power cut too, and once all that was said is deleted; in no other conversation.
    hob.kill();
    hob.start_again();
    let reset = hob.post(&format!("{}/reset", path(&id)), json!({})).data(200);
    assert_eq!((&reset["systemPrompt"], &reset["messageCount"]), (&json!("Talk like a pirate."), &json!(0)));
    hob.post("/api/v1/chat", json!({"message": "still?", "conversationId": id})).data(200);
    assert!(told(&server).contains("pirate"));
    hob.say("hello there");
    assert!(!told(&server).contains("pirate"));

    // Told where it is looked at, and not in a list.
    assert_eq!(hob.get(&path(&id)).data(200)["systemPrompt"], "Talk like a pirate.");
    let listed = hob.get("/api/v1/conversations").data(200);
    assert!(listed["conversations"].as_array().unwrap().iter().all(|c| c.get("systemPrompt").is_none()), "{listed}");
    for none in [json!(null), json!("")] {
        change(&hob, &id, json!({"systemPrompt": "x"})).data(200);
        assert!(change(&hob, &id, json!({"systemPrompt": none})).data(200).get("systemPrompt").is_none());
    }
    let audit = hob.get("/api/v1/audit?tool=change_conversation").data(200);
    assert_eq!((audit["entries"].as_array().unwrap().len(), &audit["entries"][0]["outcome"]), (5, &json!("ok")));
}

#[test]
fn titles_and_metadata_are_changed_and_go_along() {
    let hob = Hob::start();
    let id = id_of(&hob.say("ping"));
    let set = json!({"title": " Garden \n talk ", "metadata": {"topic": "roses", "n": 7, "deep": {"a": [1]}},
        "systemPrompt": "Know roses."});
    let changed = change(&hob, &id, set).data(200);
    let metadata = json!({"topic": "roses", "n": 7, "deep": {"a": [1]}});
    assert_eq!((&changed["title"], &changed["metadata"]), (&json!("Garden talk"), &metadata));
    // What is named changes, and the rest stays.
    let changed = change(&hob, &id, json!({"metadata": {"n": null, "more": true}})).data(200);
    let metadata = json!({"topic": "roses", "deep": {"a": [1]}, "more": true});
    assert_eq!((&changed["title"], &changed["metadata"]), (&json!("Garden talk"), &metadata));
    hob.post("/api/v1/chat", json!({"message": "ping", "conversationId": id})).data(200);
    let listed = hob.get("/api/v1/conversations?query=garden").data(200)["conversations"][0].clone();
    assert_eq!(
        (&listed["title"], &listed["metadata"]),
        (&json!("Garden talk"), &metadata),
        "a message changes neither"
    );

    let copy = hob.post(&format!("{}/fork", path(&id)), json!({})).data(200);
    let exported = hob.get(&format!("{}/export", path(&id))).data(200);
    let imported = hob.post("/api/v1/conversations/import", exported.clone()).data(200);
    for other in [&copy, &imported] {
        let other = hob.get(&path(other["id"].as_str().unwrap())).data(200);
        assert_eq!(
            (&other["title"], &other["metadata"], &other["systemPrompt"]),
            (&json!("Garden talk"), &metadata, &json!("Know roses.")),
        );
    }
    // What was exported before there was any of this is still taken.
    let mut old = exported;
    old.as_object_mut().unwrap().retain(|name, _| name != "metadata" && name != "systemPrompt");
    assert!(hob.post("/api/v1/conversations/import", old).data(200).get("metadata").is_none());
    assert!(change(&hob, &id, json!({"metadata": null})).data(200).get("metadata").is_none());
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let hob = Hob::start();
    let id = id_of(&hob.say("ping"));
    change(&hob, &id, json!({"metadata": {"a": "x".repeat(3000)}, "title": "T"})).data(200);
    let deep = (0..9).fold(json!(1), |inner, _| json!([inner]));
    for (body, part) in [
        (json!({}), "nothing to change"),
        (json!({"title": "  "}), "`title` is empty"),
        (json!({"title": null}), "nothing to change"),
        (json!({"title": "x".repeat(201)}), "200 is the most"),
        (json!({"systemPrompt": "x".repeat(8001)}), "8000 is the most"),
        (json!({"systemPrompt": 7}), "not what this address takes"),
        (json!({"metadata": [1]}), "not what this address takes"),
        (json!({"metadata": {"b": "x".repeat(2000)}}), "4096 is the most"),
        (json!({"metadata": {"b": deep}}), "deeper"),
        (json!({"titel": "x"}), "unknown field"),
    ] {
        let why = change(&hob, &id, body.clone()).refusal(400, "bad_args");
        assert!(why.contains(part), "{body}: {why}");
    }
    let kept = hob.get(&path(&id)).data(200);
    assert_eq!((&kept["title"], kept["metadata"].as_object().unwrap().len()), (&json!("T"), 1));

    // Another's conversation and none at all look the same; a program may do this with the scope `chat` alone.
    let other = hob.token("eve", "member");
    let none = "01234567-89ab-7def-8123-456789abcdef";
    for (token, id) in [(other.as_str(), id.as_str()), (crate::harness::TOKEN, none)] {
        let request = hob.request("PATCH", &path(id)).bearer(token);
        request.json(&json!({"title": "mine"})).send().refusal(404, "not_found");
    }
    for (scope, status) in [("chat", 200), ("tools", 403)] {
        let token = hob.cli(&["token", "new", "owner", "--scope", scope]).ok();
        let reply = hob.request("PATCH", &path(&id)).bearer(&token).json(&json!({"title": "mine"})).send();
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}
