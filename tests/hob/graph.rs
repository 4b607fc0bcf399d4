//! The knowledge graph from outside: memories become facts and take them along, also through kills; facts by hand; the address.

use crate::{
    everyday::Person,
    harness::{Hob, TOKEN, until},
    http::Request,
    killed::dice,
};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU8, Ordering::SeqCst},
    thread,
    time::Duration,
};

fn search(hob: &Hob, arguments: Value) -> Value {
    hob.result("knowledge_graph_search", arguments)
}

/// The facts of a result as `Anna | sister of | me`, in alphabetical order.
fn facts(found: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{found}")).to_owned();
    let line = |fact: &Value| {
        format!("{} | {} | {}", text(&fact["subject"]["name"]), text(&fact["predicate"]), text(&fact["object"]["name"]))
    };
    let mut all: Vec<String> =
        found["facts"].as_array().unwrap_or_else(|| panic!("{found}")).iter().map(line).collect();
    all.sort();
    all
}

/// Waits until the graph has exactly these facts.
fn until_facts(hob: &Hob, wanted: &[&str]) {
    until(&format!("the facts are {wanted:?}"), || facts(&search(hob, json!({"query": "*", "limit": 50}))) == wanted);
}

#[test]
fn memories_become_facts_and_take_them_along() {
    let hob = Hob::start();
    let anna = hob.result("remember", json!({"content": "Anna is my sister. Anna works at Siemens."}));
    hob.result("remember", json!({"content": "The plumber is Mr Huber, 0170 1234567"}));
    hob.result("remember", json!({"content": "Is Tom my brother?"}));
    let of_huber = ["Mr Huber | occupation | plumber", "Mr Huber | phone | 0170 1234567"];
    let all = ["Anna | sister of | me", "Anna | works at | Siemens", of_huber[0], of_huber[1]];
    until_facts(&hob, &all);
    let found = search(&hob, json!({"query": "who is the plumber?"}));
    assert_eq!(found["entities"][0]["name"], "Mr Huber");
    assert_eq!(found["facts"][0]["source"]["quote"], "The plumber is Mr Huber, 0170 1234567");
    let path = search(&hob, json!({"query": "", "entityId": "me", "to": "Siemens"}))["path"].clone();
    assert_eq!(path.as_array().unwrap().len(), 2, "{path}");
    let graph = hob.get("/api/v1/graph?depth=1").data(200);
    assert_eq!((graph["entities"].as_array().unwrap().len(), facts(&graph).len()), (4, 4), "{graph}");
    assert_eq!(hob.get("/api/v1/graph?entity=nobody").status, 404);
    assert_eq!(hob.get("/api/v1/graph?depth=many").status, 400);
    // What a memory says now, and what an undo makes of it.
    let id = &anna["memory"]["id"];
    let id = if id.is_null() { &anna["id"] } else { id };
    hob.result("forget", json!({"memoryId": id}));
    until_facts(&hob, &of_huber);
    assert!(hob.call("undo", json!({})).data(200)["say"].as_str().unwrap().starts_with("Undone"));
    until_facts(&hob, &all);
    // Nobody else sees it.
    let ben = Person::new(&hob, "Ben", "member");
    assert_eq!(ben.result("knowledge_graph_search", json!({"query": "*"}))["count"], 0);
}

#[test]
fn kills_leave_facts_and_memories_in_step() {
    let (mut hob, mut dice, number) = (Hob::start(), dice("graph"), AtomicU8::new(0));
    for _ in 0..4 {
        let (port, begun) = (hob.port, number.load(SeqCst));
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    let n = number.fetch_add(1, SeqCst);
                    let letter = |n: u8| char::from(b'a' + n % 26);
                    let name = format!("T{}{}{}", letter(n / 26), letter(n), letter(n));
                    let memory = json!({"arguments": {"content": format!("{name} plays chess number {n}")}});
                    let remember = Request::new(port, "POST", "/api/v1/tools/remember/execute").bearer(TOKEN);
                    if n > 200 || remember.json(&memory).try_send().is_err() {
                        return;
                    }
                }
            });
            until("some memories are stored", || number.load(SeqCst) > begun + 3);
            thread::sleep(Duration::from_micros(dice.below(60_000)));
            hob.kill();
        });
        hob.start_again();
    }
    let memories = hob.result("list_memories", json!({"limit": 200}));
    let line = |memory: &Value| memory["content"].as_str().unwrap().replacen(" plays ", " | plays | ", 1);
    let mut wanted: Vec<String> = memories["memories"].as_array().unwrap().iter().map(line).collect();
    wanted.sort();
    assert!(wanted.len() >= 12, "too little to mean anything: {wanted:?}");
    let wanted = wanted.iter().map(String::as_str).collect::<Vec<_>>();
    // What the kills cut off is read again some time after the start.
    let all = || facts(&hob.get("/api/v1/graph?depth=1&limit=500").data(200));
    until("the facts are those of the memories", || all() == wanted);
}

#[test]
fn changes_are_undone_as_a_whole() {
    let hob = Hob::start();
    let undo = || hob.call("undo", json!({}));
    let all = || facts(&search(&hob, json!({"query": "*", "limit": 50})));
    let add = |subject: &str, object: &str| {
        hob.result("add_knowledge_fact", json!({"subject": subject, "predicate": "works at", "object": object}))
    };
    let known = || search(&hob, json!({"query": "*"}))["count"].clone();
    add("Tom", "Siemens");
    assert_eq!(undo().data(200)["say"].as_str().map(|say| say.starts_with("Undone")), Some(true));
    assert_eq!(known(), 0);
    // Other facts need the entity by now.
    add("Tom", "Bosch");
    hob.result("remember", json!({"content": "Tom lives in Graz"}));
    until_facts(&hob, &["Tom | lives in | Graz", "Tom | works at | Bosch"]);
    let changes = hob.get("/api/v1/changes").data(200);
    let added = |change: &&Value| change["tool"] == "add_knowledge_fact" && change["undone"] == false;
    let found = changes["changes"].as_array().unwrap().iter().find(added);
    let id = found.unwrap_or_else(|| panic!("{changes}"))["id"].clone();
    let refused = hob.call("undo", json!({"changeId": id}));
    assert!((400..500).contains(&refused.status), "{}", refused.text());
    assert_eq!(all(), ["Tom | lives in | Graz", "Tom | works at | Bosch"]);
    // A deleted entity comes back with its facts, and is found by its meaning.
    hob.result("delete_knowledge", json!({"entity": "Tom"}));
    assert_eq!(all(), Vec::<String>::new());
    let bin = hob.result("list_deleted", json!({"limit": 50}));
    let kinds: Vec<&Value> = bin["deleted"].as_array().into_iter().flatten().map(|item| &item["kind"]).collect();
    assert!(!kinds.contains(&&json!("fact")), "{bin}");
    assert!(undo().data(200)["say"].as_str().unwrap().starts_with("Undone"));
    assert_eq!(all(), ["Tom | lives in | Graz", "Tom | works at | Bosch"]);
    let found = search(&hob, json!({"query": "whose employer makes power tools?"}));
    assert!(found["count"].as_u64().unwrap() > 0, "{found}");
}

#[test]
fn facts_are_corrected_by_hand() {
    let hob = Hob::start();
    let fact = hob.result("add_knowledge_fact", json!({"subject": "Tom", "predicate": "works at", "object": "Simens"}));
    let corrected =
        hob.result("update_knowledge_fact", json!({"factId": fact["id"], "object": "Siemens", "validFrom": "2019"}));
    assert_eq!((&corrected["object"]["name"], &corrected["validFrom"]), (&json!("Siemens"), &json!("2019")));
    hob.result(
        "add_knowledge_fact",
        json!({"subject": "Thomas Berger", "predicate": "plays", "object": "chess", "objectType": "value"}),
    );
    hob.result("update_knowledge_entity", json!({"entity": "Tom", "mergeWith": "Thomas Berger", "type": "person"}));
    let found = search(&hob, json!({"query": "thomas berger"}));
    assert_eq!(found["entities"][0]["name"], "Tom");
    assert_eq!(facts(&found), ["Tom | plays | chess", "Tom | works at | Siemens"]);
    assert!(hob.call("undo", json!({})).data(200)["say"].as_str().unwrap().starts_with("Undone"));
    assert_eq!(facts(&search(&hob, json!({"query": "thomas berger"}))), ["Thomas Berger | plays | chess"]);
    hob.result("delete_knowledge", json!({"entity": "Tom"}));
    assert_eq!(facts(&search(&hob, json!({"query": "Tom"}))), Vec::<String>::new());
    for (tool, arguments) in [
        ("knowledge_graph_search", json!({"query": ""})),
        ("knowledge_graph_search", json!({"query": "x", "entityId": "Nobody"})),
        ("knowledge_graph_search", json!({"query": "*", "at": "31.1.2026"})),
        ("add_knowledge_fact", json!({"subject": "", "predicate": "likes", "object": "x"})),
        ("add_knowledge_fact", json!({"subject": "x", "predicate": "likes", "object": "X"})),
        ("add_knowledge_fact", json!({"subject": "x", "predicate": "likes", "object": "y", "validFrom": "soon"})),
        ("update_knowledge_fact", json!({"factId": fact["id"]})),
        ("update_knowledge_fact", json!({"factId": "0197f3a2-0000-7000-8000-000000000000", "object": "x"})),
        ("update_knowledge_entity", json!({"entity": "Nobody", "name": "Somebody"})),
        ("delete_knowledge", json!({})),
    ] {
        let reply = hob.call(tool, arguments.clone());
        assert!((400..500).contains(&reply.status), "{tool} {arguments}: {} {}", reply.status, reply.text());
    }
}
