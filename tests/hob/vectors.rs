//! Vector collections from outside: filled, searched, undone, and kept through kills.
//!
//! `cargo test` kills the daemon 10 times; `VECTOR_KILLS=100` as often as given.

use crate::{
    everyday::Person,
    harness::{Dice, Hob, TOKEN},
    http::Request,
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, thread, time::Duration};

fn ids(found: &Value) -> Vec<&str> {
    found["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{found}"))
        .iter()
        .map(|hit| hit["id"].as_str().unwrap())
        .collect()
}

fn count(hob: &Hob, name: &str) -> u64 {
    let all = hob.result("list_vector_collections", json!({}));
    let found = all["collections"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("no {name}: {all}"))["count"].as_u64().unwrap()
}

#[test]
fn texts_are_stored_searched_filtered_and_deleted() {
    let mut hob = Hob::start();
    let made = hob.result("create_vector_collection", json!({"name": "manuals", "description": "Our devices"}));
    assert_eq!(
        (&made["dimensions"], &made["metric"], &made["embedsTexts"]),
        (&json!(384), &json!("cosine"), &json!(true))
    );
    let stored = hob.result(
        "upsert_vectors",
        json!({"collection": "manuals", "vectors": [
            {"id": "boiler", "text": "Press reset for five seconds when the heating is off.", "metadata": {"device": "boiler", "year": 2021}},
            {"id": "washer", "text": "Error E24: the drain hose is blocked.", "metadata": {"device": "washer", "year": 2024}},
            {"id": "oven", "text": "Preheat before baking a cake.", "metadata": {"device": "oven", "year": 2024}}]}),
    );
    assert_eq!((&stored["upserted"], &stored["added"], &stored["total"]), (&json!(3), &json!(3), &json!(3)));
    let search = |hob: &Hob, query: &str, more: Value| {
        let mut arguments = json!({"query": query, "collection": "manuals"});
        more.as_object().unwrap().iter().for_each(|(name, value)| arguments[name] = value.clone());
        hob.result("semantic_search", arguments)
    };
    let found = search(&hob, "the radiators stay cold", json!({}));
    assert_eq!((ids(&found)[0], &found["searched"], &found["metric"]), ("boiler", &json!(3), &json!("cosine")));
    assert_eq!(found["results"][0]["metadata"]["device"], "boiler");
    assert!(found["results"][0].get("vector").is_none());
    assert_eq!(ids(&search(&hob, "water does not run off", json!({"topK": 1}))), ["washer"]);
    let filter = json!({"filter": {"year": {"gte": 2022}, "device": {"ne": "washer"}}, "includeVectors": true});
    let found = search(&hob, "the radiators stay cold", filter);
    assert_eq!((ids(&found), found["results"][0]["vector"].as_array().unwrap().len()), (vec!["oven"], 384));
    assert_eq!(ids(&search(&hob, "the radiators stay cold", json!({"threshold": 0.99}))), Vec::<&str>::new());
    // More than the most becomes the most.
    assert_eq!(search(&hob, "anything", json!({"topK": 500}))["count"], 3);

    // A vector made apart finds the same.
    let made = hob.result("create_embedding", json!({"text": "Preheat before baking a cake."}));
    assert_eq!((made["embedding"].as_array().unwrap().len(), &made["dimensions"]), (384, &json!(384)));
    let found = search(&hob, "", json!({"vector": made["embedding"], "topK": 1}));
    assert_eq!(ids(&found), ["oven"]);
    assert!(found["results"][0]["score"].as_f64().unwrap() > 0.99, "{found}");
    let alike = |one: &str, other: &str| {
        hob.result("similarity_score", json!({"text1": one, "text2": other}))["score"].as_f64().unwrap()
    };
    assert!(alike("the cat sleeps", "the cat sleeps") > 0.999);
    assert!(
        alike("the heating is broken", "the radiator is cold") > alike("the heating is broken", "pasta recipes") + 0.2
    );

    // A deletion is undone.
    let gone = hob.result("delete_vectors", json!({"collection": "manuals", "ids": ["oven", "fridge"]}));
    assert_eq!((&gone["deleted"], &gone["notFound"], &gone["total"]), (&json!(1), &json!(["fridge"]), &json!(2)));
    assert!(!ids(&search(&hob, "cake", json!({}))).contains(&"oven"));
    assert!(hob.call("undo", json!({})).data(200)["say"].as_str().unwrap().starts_with("Undone"));
    assert_eq!((ids(&search(&hob, "cake", json!({})))[0], count(&hob, "manuals")), ("oven", 3));

    // Everything is there after a restart.
    hob.kill();
    hob.start_again();
    assert_eq!((ids(&search(&hob, "cake", json!({})))[0], count(&hob, "manuals")), ("oven", 3));
    let asked = hob.result("delete_vector_collection", json!({"collection": "manuals"}));
    assert_eq!((&asked["requiresConfirmation"], count(&hob, "manuals")), (&json!(true), 3));
    hob.result("delete_vector_collection", json!({"collection": "manuals", "confirm": true}));
    assert_eq!(hob.result("list_vector_collections", json!({}))["count"], 0);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let hob = Hob::start();
    hob.result("create_vector_collection", json!({"name": "points", "dimensions": 3, "metric": "l2"}));
    let zeros = json!([0, 0, 0]);
    for (tool, arguments) in [
        ("create_vector_collection", json!({"name": "points"})),
        ("create_vector_collection", json!({"name": ""})),
        ("create_vector_collection", json!({"name": "x", "dimensions": 0})),
        ("create_vector_collection", json!({"name": "x", "dimensions": 100_000})),
        ("create_vector_collection", json!({"name": "x", "metric": "manhattan"})),
        ("create_vector_collection", json!({"name": "x", "model": "ada"})),
        ("upsert_vectors", json!({"collection": "points", "vectors": []})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 2]}]})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 2, "x"]}]})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "vector": [1e300, 0, 0]}]})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "vector": zeros}]})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "text": "words"}]})),
        ("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a"}]})),
        (
            "upsert_vectors",
            json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 2, 3]}, {"id": "a", "vector": [1, 2, 3]}]}),
        ),
        (
            "upsert_vectors",
            json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 2, 3], "metadata": {"deep": {"er": 1}}}]}),
        ),
        ("semantic_search", json!({"query": "words", "collection": "points"})),
        ("semantic_search", json!({"query": "", "collection": "points"})),
        ("semantic_search", json!({"query": "", "collection": "points", "vector": [1]})),
        (
            "semantic_search",
            json!({"query": "", "collection": "points", "vector": [1, 2, 3], "filter": {"a": {"near": 1}}}),
        ),
        ("semantic_search", json!({"query": "x", "collection": "nothing"})),
        ("delete_vectors", json!({"collection": "points", "ids": []})),
        ("create_embedding", json!({"text": " "})),
        ("create_embedding", json!({"text": "word ".repeat(20_000)})),
        ("similarity_score", json!({"text1": "", "text2": "x"})),
    ] {
        let reply = hob.call(tool, arguments.clone());
        assert!((400..500).contains(&reply.status), "{tool} {arguments}: {} {}", reply.status, reply.text());
    }
    assert_eq!(count(&hob, "points"), 0);
    hob.result("upsert_vectors", json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 2, 3]}]}));
    let found = hob.result("semantic_search", json!({"query": "", "collection": "points", "vector": [1, 2, 5]}));
    assert_eq!(found["results"], json!([{"id": "a", "score": 2.0, "metadata": {}}]));
    // Nobody else finds it.
    let ben = Person::new(&hob, "Ben", "member");
    assert_eq!(ben.result("list_vector_collections", json!({}))["count"], 0);
    let search = ben.call("semantic_search", json!({"query": "", "collection": "points", "vector": [1, 2, 5]}));
    assert_eq!(search.status, 404, "{}", search.text());
}

/// One caller with a collection of its own: the versions that were acknowledged, and the call that nobody answered.
struct Caller {
    name: String,
    dice: Dice,
    known: BTreeMap<String, u64>,
    open: Vec<(String, u64)>,
    version: u64,
}

impl Caller {
    /// Stores and deletes vectors in some calls, or until the daemon is gone; a call changes several.
    fn work(&mut self, port: u16, calls: usize) {
        for _ in 0..calls {
            self.version += 1;
            let keys: Vec<String> = (0..8).filter(|_| self.dice.below(3) == 0).map(|n| n.to_string()).collect();
            if keys.is_empty() {
                continue;
            }
            let version = if self.dice.below(4) == 0 { 0 } else { self.version };
            let (tool, arguments) = if version == 0 {
                ("delete_vectors", json!({"collection": self.name, "ids": keys}))
            } else {
                let vector = [1.0, version as f64, 0.5];
                let item = |key: &String| json!({"id": key, "vector": vector, "metadata": {"version": version}});
                (
                    "upsert_vectors",
                    json!({"collection": self.name, "vectors": keys.iter().map(item).collect::<Vec<_>>()}),
                )
            };
            self.open = keys.iter().map(|key| (key.clone(), version)).collect();
            let path = format!("/api/v1/tools/{tool}/execute");
            let request = Request::new(port, "POST", &path).bearer(TOKEN).json(&json!({"arguments": arguments}));
            match request.try_send() {
                Ok(reply) if reply.status == 200 => {
                    for (key, version) in std::mem::take(&mut self.open) {
                        if version == 0 {
                            self.known.remove(&key)
                        } else {
                            self.known.insert(key, version)
                        };
                    }
                }
                Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
                Err(_) => return,
            }
        }
    }

    /// Compares the collection with what was acknowledged: the last call is there as a whole or not at all.
    fn check(&mut self, hob: &Hob, round: u64) {
        let search = json!({"query": "", "collection": self.name, "vector": [1, 2, 3], "topK": 50});
        let found = hob.result("semantic_search", search);
        let version = |hit: &Value| hit["metadata"]["version"].as_u64().unwrap();
        let stored: BTreeMap<String, u64> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| (hit["id"].as_str().unwrap().to_owned(), version(hit)))
            .collect();
        let mut with_open = self.known.clone();
        for (key, version) in std::mem::take(&mut self.open) {
            if version == 0 {
                with_open.remove(&key)
            } else {
                with_open.insert(key, version)
            };
        }
        assert!(
            stored == self.known || stored == with_open,
            "round {round}: {stored:?}, known {:?} or {with_open:?}",
            self.known
        );
        assert_eq!(count(hob, &self.name), stored.len() as u64, "round {round}: the count of {}", self.name);
        assert_eq!(found["searched"], stored.len(), "round {round}: what is in memory");
        self.known = stored;
    }
}

#[test]
fn no_kill_loses_vectors_or_their_count() {
    let (kills, mut hob, mut dice) = (number("VECTOR_KILLS").unwrap_or(10), Hob::start(), dice("vectors"));
    let seed = dice.below(1 << 30);
    let caller = |n: u64| Caller {
        name: format!("collection{n}"),
        dice: Dice(seed ^ (n + 1)),
        known: BTreeMap::new(),
        open: vec![],
        version: 0,
    };
    let mut callers: Vec<Caller> = (0..3).map(caller).collect();
    for caller in &callers {
        hob.result("create_vector_collection", json!({"name": caller.name, "dimensions": 3}));
    }
    for round in 0..kills {
        let (port, pause) = (hob.port, Duration::from_micros(dice.below(80_000)));
        // The last check has read the collections into memory, where changes alone keep them true.
        thread::scope(|scope| {
            callers.iter_mut().for_each(|caller| drop(scope.spawn(move || caller.work(port, 10))));
        });
        callers.iter_mut().for_each(|caller| caller.check(&hob, round));
        thread::scope(|scope| {
            for caller in &mut callers {
                scope.spawn(move || caller.work(port, usize::MAX));
            }
            thread::sleep(pause);
            hob.kill();
        });
        hob.assert_sound();
        hob.start_again();
        callers.iter_mut().for_each(|caller| caller.check(&hob, round));
        // Now with those in memory, which the checks have read.
        hob.assert_agrees();
    }
    let writes: u64 = callers.iter().map(|caller| caller.version).sum();
    assert!(writes > kills * 4, "too little to mean anything: {writes} writes");
    hob.assert_alive();
}
