//! Memories from outside: stored once, replaced with their history, undone, explained, and counted without wear.

use crate::{
    harness::Hob,
    hijack::{read as read_page, with_a_page},
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};

fn remembered(hob: &Hob) -> Vec<String> {
    let all = hob.result("list_memories", json!({"limit": 50}));
    all["memories"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_fact_is_stored_once_replaced_and_undone() {
    let mut hob = Hob::start();
    let first = hob.result("remember", json!({"content": "The wifi password is plum-42"}));
    assert_eq!(first["outcome"], "added", "{first}");
    let again = hob.result("remember", json!({"content": "The password of the wifi is plum-42", "tags": ["home"]}));
    assert_eq!((&again["outcome"], &again["id"]), (&json!("known"), &first["id"]), "{again}");
    let changed = hob.result("remember", json!({"content": "The wifi password changed to fig-77"}));
    assert_eq!((&changed["outcome"], &changed["id"]), (&json!("replaced"), &first["id"]), "{changed}");
    assert_eq!(
        (&changed["before"], &changed["tags"]),
        (&json!("The password of the wifi is plum-42"), &json!(["home"]))
    );
    assert_eq!(remembered(&hob), ["The wifi password changed to fig-77"]);
    let earlier = changed["earlier"].as_array().unwrap();
    assert_eq!((earlier.len(), &earlier[0]["content"]), (2, &json!("The wifi password is plum-42")));
    assert!(earlier[1]["untilMs"].as_u64().unwrap() >= earlier[0]["untilMs"].as_u64().unwrap());
    // A restart keeps the history; undoing brings the older fact back, and finds it by its own words.
    hob.stop();
    hob.start_again();
    hob.result("undo", json!({}));
    assert_eq!(remembered(&hob), ["The password of the wifi is plum-42"]);
    let found = hob.result("recall", json!({"query": "plum-42"}));
    assert_eq!(found["memories"][0]["earlier"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(
        hob.result("recall", json!({"query": "fig-77"}))["memories"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|m| m["content"].as_str().unwrap().contains("fig"))
            .count(),
        0
    );
    hob.result("update_memory", json!({"memoryId": first["id"], "forgetEarlier": true}));
    assert_eq!(hob.result("list_memories", json!({}))["memories"][0].get("earlier"), None);
}

#[test]
fn facts_that_look_alike_all_stay_and_a_hit_is_explained() {
    let mut hob = Hob::start();
    let alike = [
        "Anna's birthday is on 12 March",
        "Ben's birthday is on 12 March",
        "The lamp in the kitchen is broken",
        "The lamp in the bathroom is broken",
        "Anna likes fish",
        "Anna does not like fish",
    ];
    let batch: Vec<Value> = alike.iter().map(|content| json!({"content": content})).collect();
    assert_eq!(hob.result("batch_remember", json!({"memories": batch}))["count"], 6);
    let again: Vec<Value> = alike.iter().map(|content| json!({"content": content, "importance": 0.9})).collect();
    let known = hob.result("batch_remember", json!({"memories": again}));
    assert!(known["memories"].as_array().unwrap().iter().all(|m| m["outcome"] == "known"), "{known}");
    assert_eq!(remembered(&hob).len(), 6);
    let corrected = hob.result("remember", json!({"content": "Anna's birthday is 13 March, not 12"}));
    assert_eq!(corrected["before"], "Anna's birthday is on 12 March", "{corrected}");
    assert!(remembered(&hob).contains(&"Ben's birthday is on 12 March".to_owned()));
    let hit = |hob: &Hob| hob.result("recall", json!({"query": "Ben's birthday", "limit": 1}))["memories"][0].take();
    for _ in 0..3 {
        hit(&hob);
    }
    let found = hit(&hob);
    assert!(found["why"].as_str().unwrap().contains("same words: "), "{found}");
    assert_eq!(found["besides"], json!(["important", "often recalled"]), "{found}");
    assert!(found["meaning"].as_f64().unwrap() > 0.5 && found["presence"].as_f64().unwrap() > 0.99, "{found}");
    // The counts are in memory, and on disk after a clean stop.
    let uses = found["uses"].as_u64().unwrap();
    hob.stop();
    hob.start_again();
    assert!(hit(&hob)["uses"].as_u64().unwrap() >= uses, "{found}");
}

#[test]
fn reflex_answers_what_it_knows_already() {
    let hob = Hob::start();
    let said = |hob: &Hob, text: &str| hob.say(text)["response"].as_str().unwrap().to_owned();
    assert!(said(&hob, "remember that the spare key is at Ana's").starts_with("I will remember"));
    assert!(said(&hob, "remember that the spare key is kept at Ana's").starts_with("I know that already"));
    let moved = said(&hob, "remember that the spare key is now at Ben's");
    assert!(moved.starts_with("I have changed what I remember"), "{moved}");
    assert_eq!(remembered(&hob).len(), 1);
    hob.say("undo that");
}

#[test]
fn a_tainted_run_replaces_no_memory() {
    let (hob, server, page) = with_a_page(1);
    hob.result("remember", json!({"content": "The wifi password is plum-42"}));
    server.script(vec![
        read_page(&page),
        calls(&[("remember", json!({"content": "The wifi password changed to evil-1"}))]),
        says("Done."),
    ]);
    hob.say("read the page");
    let all = remembered(&hob);
    assert!(all.contains(&"The wifi password is plum-42".to_owned()), "{all:?}");
}

#[test]
fn a_model_sees_what_a_new_fact_may_contradict() {
    let (hob, server) = with_model("");
    hob.result("remember", json!({"content": "Anna likes fish"}));
    server.script(vec![calls(&[("remember", json!({"content": "Anna does not like fish"}))]), says("Noted.")]);
    let answer = hob.say("Anna doesn't like fish, you know");
    let result = &answer["toolCalls"][0]["result"];
    assert_eq!(
        (&result["outcome"], &result["similar"][0]["content"]),
        (&json!("added"), &json!("Anna likes fish")),
        "{answer}"
    );
}
