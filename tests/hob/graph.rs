//! The knowledge graph from outside: memories become facts and take them along, also through kills; facts by hand; the address.

use crate::{
    everyday::Person,
    harness::{Hob, until},
    http::Request,
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
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

/// What somebody has stored while the daemon was killed: the ids of the memories, and which one is being forgotten.
#[derive(Default)]
struct Writer {
    kept: BTreeMap<String, String>,
    forgetting: Option<String>,
}

impl Writer {
    /// Remembers and forgets until the daemon is gone.
    fn work(&mut self, (port, token): (u16, &str), number: &AtomicU32) {
        let execute = |tool: &str, arguments: Value| {
            let path = format!("/api/v1/tools/{tool}/execute");
            Request::new(port, "POST", &path).bearer(token).json(&json!({"arguments": arguments})).try_send()
        };
        loop {
            let n = number.fetch_add(1, SeqCst);
            let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
            let name = format!("T{}{}{}", letter(n / 676), letter(n / 26), letter(n));
            let content = format!("{name} plays chess number {n}");
            let Ok(reply) = execute("remember", json!({"content": content})) else { return };
            let id = reply.data(200)["result"]["id"].as_str().unwrap().to_owned();
            self.kept.insert(id, content);
            if n % 3 == 2 {
                let id = self.kept.keys().nth(self.kept.len() / 2).cloned().unwrap();
                self.forgetting = Some(id.clone());
                if execute("forget", json!({"memoryId": id})).is_err() {
                    return;
                }
                self.kept.remove(&id);
                self.forgetting = None;
            }
        }
    }

    /// Nothing that was acknowledged is gone, or back. Returns the memories as facts.
    fn check(&mut self, person: &Person) -> Vec<String> {
        let listed = person.result("list_memories", json!({"limit": 200}));
        let stored = |memory: &Value| {
            (memory["id"].as_str().unwrap().to_owned(), memory["content"].as_str().unwrap().to_owned())
        };
        let stored: BTreeMap<String, String> = listed["memories"].as_array().unwrap().iter().map(stored).collect();
        assert!(stored.len() < 200, "more than are listed");
        if let Some(id) = self.forgetting.take_if(|id| !stored.contains_key(id)) {
            self.kept.remove(&id);
        }
        // One may have been stored without an answer.
        let more = stored.iter().filter(|(id, _)| !self.kept.contains_key(*id)).count();
        assert!(more <= 1 && self.kept.iter().all(|(id, text)| stored.get(id) == Some(text)), "{stored:?}");
        self.forgetting = None;
        self.kept = stored;
        let mut lines: Vec<String> =
            self.kept.values().map(|content| content.replacen(" plays ", " | plays | ", 1)).collect();
        lines.sort();
        lines
    }
}

/// `GRAPH_KILLS=100` kills as often as given.
#[test]
fn kills_leave_facts_and_memories_in_step() {
    const TOGETHER: u64 = 8;
    let (mut hob, mut dice, next) = (Hob::start(), dice("graph"), AtomicU32::new(0));
    let kills = number("GRAPH_KILLS").unwrap_or(4);
    let (mut token, mut writer, mut all) = (String::new(), Writer::default(), 0);
    for round in 0..kills {
        if round % TOGETHER == 0 {
            (token, writer) = (hob.token(&format!("Writer{round}"), "member"), Writer::default());
        }
        let (port, begun) = (hob.port, next.load(SeqCst));
        thread::scope(|scope| {
            scope.spawn(|| writer.work((port, &token), &next));
            until("some memories are stored", || next.load(SeqCst) > begun + 3);
            thread::sleep(Duration::from_micros(dice.below(60_000)));
            hob.kill();
        });
        hob.assert_sound();
        hob.start_again();
        hob.assert_agrees();
        let person = Person::with(&hob, &token);
        let wanted = writer.check(&person);
        if round % TOGETHER == TOGETHER - 1 || round == kills - 1 {
            assert!(wanted.len() >= 6, "too little to mean anything: {wanted:?}");
            all += wanted.len();
            // What the kills cut off is read again some time after the start.
            let path = "/api/v1/graph?depth=1&limit=500";
            let now = || facts(&hob.request("GET", path).bearer(&token).send().data(200));
            until("the facts are those of the memories", || now() == wanted);
        }
    }
    println!("{all} memories and facts are in step after {kills} kills");
    hob.assert_alive();
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
