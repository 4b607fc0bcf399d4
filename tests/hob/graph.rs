//! The knowledge graph from outside: memories become facts and take them along, also through kills; facts by hand; the address.

use crate::{
    everyday::Person,
    harness::{Hob, until},
};
use serde_json::{Value, json};

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
    let mut hob = Hob::start();
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
    hob.kill();
    hob.start_again();
    until_facts(&hob, &all);
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
