//! An embedding model that the household brings: everything is embedded again in the background, also across power cuts; a broken
//! one is reported, and memories are found by their words.

use crate::harness::{Hob, until};
use serde_json::{Value, json};
use std::fs;

// The builder of the small model, which the unit tests of `embed` use too; only a part of it is needed here.
#[allow(dead_code)]
#[path = "../../src/embed/own/tiny.rs"]
mod tiny;

/// Invented words: only this model knows that they mean the same.
const TOPICS: [&[&str]; 2] = [&["blicket", "frumple", "zorvak"], &["wubbish", "quandle"]];

fn put_model(hob: &Hob, training: &str) {
    tiny::write_folder(&hob.data().join("models/tiny"), &TOPICS, training);
}

/// The doctor's line about meaning, if there is one.
fn line(hob: &Hob) -> Option<Value> {
    let doctor = hob.get("/api/v1/doctor").data(200);
    doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "meaning").cloned()
}

fn is_embedded(hob: &Hob) -> bool {
    line(hob).is_some_and(|line| line["text"].as_str().unwrap().contains("with the model \"tiny\"."))
}

fn recall(hob: &Hob, query: &str) -> Value {
    hob.result("recall", json!({"query": query}))
}

fn first(found: &Value) -> (String, String) {
    let text = |key: &str| found["memories"][0][key].as_str().unwrap_or_default().to_owned();
    (text("content"), text("why"))
}

fn restart(hob: &mut Hob) {
    assert_eq!(hob.stop(), Some(0));
    hob.start_again();
}

#[test]
fn a_model_of_the_household_embeds_everything_again_and_a_broken_one_is_announced() {
    let mut hob = Hob::start();
    for content in ["the blicket is in the cellar", "the wubbish goes out on monday", "tea at five"] {
        hob.result("remember", json!({"content": content}));
    }
    assert_eq!(line(&hob), None, "the built-in model needs no line");
    hob.result("create_vector_collection", json!({"name": "manuals"}));
    let vectors = json!([{"id": "oil", "text": "oil the blicket"}, {"id": "bin", "text": "empty the wubbish"}]);
    hob.result("upsert_vectors", json!({"collection": "manuals", "vectors": vectors}));

    put_model(&hob, "a");
    restart(&mut hob);
    until("the memories are embedded", || is_embedded(&hob));
    assert_eq!(first(&recall(&hob, "frumple")), ("the blicket is in the cellar".into(), "similar meaning".into()));
    assert_eq!(first(&recall(&hob, "quandle")).0, "the wubbish goes out on monday");
    assert_eq!(hob.result("memory_stats", json!({}))["withMeaning"], 3);
    hob.result("remember", json!({"content": "the frumple needs oil"}));
    assert_eq!(recall(&hob, "zorvak")["count"], 2, "a new memory is embedded by this model");
    assert!(hob.log().contains("computed missing embeddings"));
    for (query, id) in [("frumple", "oil"), ("quandle", "bin")] {
        let found = hob.result("semantic_search", json!({"query": query, "collection": "manuals"}));
        assert_eq!(found["results"][0]["id"], id, "a collection takes the model over: {found}");
    }

    // A damaged file: words only, announced; the vectors stay.
    let file = hob.data().join("models/tiny/model.onnx");
    let good = fs::read(&file).unwrap();
    fs::write(&file, &good[..good.len() / 2]).unwrap();
    restart(&mut hob);
    until("the failure is reported", || line(&hob).is_some_and(|line| line["outcome"] == "wrong"));
    let broken = line(&hob).unwrap();
    let text = broken["text"].as_str().unwrap();
    assert!(text.contains("by their words only") && text.contains("\"tiny\""), "{text}");
    assert!(broken["todo"].as_str().unwrap().contains("restart Hob"), "{broken}");
    let notices = || hob.result("list_notices", json!({}))["notices"].to_string();
    until("a notice", || notices().contains("by their words only"));
    let why = hob.cli(&["doctor"]).why(1);
    assert!(why.contains("meaning"), "{why}");
    let found = recall(&hob, "blicket");
    assert_eq!(first(&found), ("the blicket is in the cellar".into(), "same words: blicket".into()));
    assert_eq!((&recall(&hob, "quandle")["count"], &found["byMeaning"]), (&json!(0), &json!(false)));
    let search = json!({"query": "frumple", "collection": "manuals"});
    let why = hob.call("semantic_search", search.clone()).refusal(409, "unavailable");
    assert!(why.contains("\"tiny\""), "{why}");
    hob.result("remember", json!({"content": "the zorvak hums"}));

    // Repaired: the old vectors are used at once, and only the new memory is embedded.
    fs::write(&file, &good).unwrap();
    let before = hob.log().len();
    restart(&mut hob);
    assert_eq!(recall(&hob, "quandle")["count"], 1, "its vector was not lost");
    assert_eq!(hob.result("semantic_search", search)["results"][0]["id"], "oil", "nor those of a collection");
    until("the rest is embedded", || is_embedded(&hob));
    assert_eq!(recall(&hob, "frumple")["count"], 3);
    assert!(hob.log()[before..].contains("count=1"), "one was missing: {}", &hob.log()[before..]);

    // Without the model: back to the built-in one.
    fs::remove_dir_all(hob.data().join("models")).unwrap();
    restart(&mut hob);
    assert_eq!(first(&recall(&hob, "tea")).0, "tea at five");
    assert!(line(&hob).is_none_or(|line| line["outcome"] == "well"));
    hob.assert_alive();
}

#[test]
fn re_embedding_continues_after_power_cuts() {
    const BATCHES: usize = 6;
    let mut hob = Hob::start();
    // Words without a meaning, so that no memory is taken for another.
    let word =
        |n: usize| [n, n / 26, n / 676, n * 7].map(|n| char::from(b'a' + (n % 26) as u8)).iter().collect::<String>();
    for batch in 0..BATCHES {
        let memories: Vec<Value> = (batch * 50..(batch + 1) * 50)
            .map(|n| json!({"content": format!("{} keeps the blicket near {}", word(n), word(n * 31 + 5))}))
            .collect();
        hob.result("batch_remember", json!({"memories": memories}));
    }
    let total = hob.result("memory_stats", json!({}))["total"].as_u64().unwrap() as usize;
    assert!(total > 200, "{total}");
    put_model(&hob, "a");
    restart(&mut hob);
    // Cut as soon as there is progress, again and again: a restart continues where the last one was.
    let mut ready = 0;
    let embedded =
        |hob: &Hob| usize::try_from(hob.result("memory_stats", json!({}))["withMeaning"].as_u64().unwrap()).unwrap();
    for _ in 0..3 {
        until("progress", || embedded(&hob) > ready || is_embedded(&hob));
        ready = embedded(&hob);
        hob.kill();
        hob.start_again();
        let now = embedded(&hob);
        assert!(now >= ready, "{now} of {ready} are left");
    }
    until("the memories are embedded", || is_embedded(&hob));
    assert_eq!(embedded(&hob), total);
    assert_eq!(recall(&hob, "frumple")["memories"][0]["why"], "similar meaning");

    // Another training of the same name is another model.
    put_model(&hob, "b");
    restart(&mut hob);
    until("the new training is used", || embedded(&hob) > 0 && is_embedded(&hob));
    assert_eq!((embedded(&hob), &recall(&hob, "zorvak")["memories"][0]["why"]), (total, &json!("similar meaning")));
    assert_eq!(hob.stop(), Some(0));
}
