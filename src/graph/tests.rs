//! Graphs through their public interface, with the real store and the real model.

use super::*;
use crate::records::FactRecord;
use std::{sync::Arc, time::Duration};
use tool::{Channel, Id, Label, Ports, Principal, SystemClock, UserId, Via};

pub(crate) fn house() -> (Graph, Cx) {
    let store = Store::in_memory().unwrap();
    (Graph::new(&store, Embedder::new(Duration::from_secs(600))), person(UserId::OWNER))
}

fn person(user: UserId) -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal { user, ..Principal::owner() }, Via::direct(Channel::Api))
}

/// A memory of the owner at a time.
pub(crate) async fn memory(graph: &Graph, text: &str, at_ms: u64) -> Id {
    let (id, content) = (Id::new(), MemoryText { text: text.into(), label: Label::Own, at_ms });
    graph.read_memory(UserId::OWNER, id, Some(content)).await.unwrap();
    id
}

pub(crate) fn search(query: &str) -> Search {
    Search { query: query.into(), depth: 1, at: "2026-11-27".into(), most: 20, ..Search::default() }
}

pub(crate) fn words(facts: &[FactView]) -> Vec<String> {
    facts.iter().map(FactView::words).collect()
}

fn names(found: &SearchResults) -> Vec<&str> {
    found.entities.iter().map(|entity| entity.name.as_str()).collect()
}

fn counts(graph: &Graph) -> (usize, usize) {
    let (mut entities, mut facts) = (0, 0);
    graph.entities.scan(|_| entities += 1).unwrap();
    graph.facts.scan(|_| facts += 1).unwrap();
    (entities, facts)
}

#[tokio::test]
async fn memories_become_facts_and_take_them_along() {
    let (graph, cx) = house();
    let anna = memory(&graph, "Anna is my sister. Anna works at Siemens.", 1).await;
    let tom = memory(&graph, "Tom works at Siemens", 2).await;
    memory(&graph, "The plumber is Mr Huber, 0170 1234567", 3).await;
    memory(&graph, "The wifi password is on the router", 4).await;
    assert_eq!(counts(&graph), (5, 5));
    let found = graph.search(&cx, &search("what does Anna do?")).await.unwrap();
    assert_eq!(names(&found), ["Anna", "me", "Siemens"]);
    assert_eq!(words(&found.facts), ["Anna is your sister", "Anna works at Siemens"]);
    let source = &found.facts[0].source;
    assert_eq!(
        (source.origin, source.id, source.quote.as_str()),
        (FactOrigin::Memory, Some(anna), "Anna is my sister")
    );
    // By words of a fact, and by meaning.
    assert_eq!(names(&graph.search(&cx, &search("who is the plumber")).await.unwrap()), ["Mr Huber"]);
    let found = graph.search(&cx, &search("whom do I call for a leaking tap?")).await.unwrap();
    assert_eq!(found.entities[0].name, "Mr Huber", "{found:?}");
    // The way from one to the other.
    let found =
        graph.search(&cx, &Search { entity: Some("me".into()), to: Some("Tom".into()), ..search("") }).await.unwrap();
    assert_eq!(words(&found.path.unwrap()), ["Anna is your sister", "Anna works at Siemens", "Tom works at Siemens"]);
    // Read again, nothing changes; changed, the facts do.
    let again = MemoryText { text: "Tom works at Siemens".into(), label: Label::Own, at_ms: 9 };
    assert!(!graph.compare_memory(UserId::OWNER, tom, Some(again)).await.unwrap());
    let changed = MemoryText { text: "Tom works at Bosch".into(), label: Label::Own, at_ms: 10 };
    assert!(graph.read_memory(UserId::OWNER, tom, Some(changed)).await.unwrap());
    assert_eq!(words(&graph.search(&cx, &search("Tom")).await.unwrap().facts), ["Tom works at Bosch"]);
    assert_eq!(graph.sources().unwrap().len(), 3);
    // Forgotten, they are gone with whom nothing else is known about.
    for id in [tom, anna] {
        graph.read_memory(UserId::OWNER, id, None).await.unwrap();
    }
    assert_eq!(counts(&graph), (1, 2));
    let all = graph.search(&cx, &search("*")).await.unwrap();
    assert_eq!(names(&all), ["Mr Huber"]);
    // Nobody else has a part in it.
    assert!(graph.search(&person(UserId(Id::new())), &search("*")).await.unwrap().entities.is_empty());
}

#[tokio::test]
async fn the_newest_of_what_holds_once_is_current() {
    let (graph, cx) = house();
    memory(&graph, "Tom lives in Graz", 1).await;
    memory(&graph, "Tom lives in Linz", 2).await;
    memory(&graph, "Tom works at Bosch until 2020", 3).await;
    let found = graph.search(&cx, &search("Tom")).await.unwrap();
    let current: Vec<(String, bool)> = found.facts.iter().map(|fact| (fact.words(), fact.current)).collect();
    let holds = |text: &str| current.iter().find(|(words, _)| words == text).unwrap().1;
    assert!(holds("Tom lives in Linz") && !holds("Tom lives in Graz") && !holds("Tom works at Bosch"), "{current:?}");
    let before = Search { at: "2020-06-01".into(), ..search("Tom") };
    let found = graph.search(&cx, &before).await.unwrap();
    assert!(found.facts.iter().any(|fact| fact.words() == "Tom works at Bosch" && fact.current));
    // Also where the newer one is not in the result.
    let graz = graph.search(&cx, &Search { entity: Some("Graz".into()), ..search("") }).await.unwrap();
    assert_eq!((words(&graz.facts), graz.facts[0].current), (vec!["Tom lives in Graz".to_owned()], false));
}

#[tokio::test]
async fn facts_follow_the_label_and_the_time_of_their_memory() {
    let (graph, _) = house();
    let read = |text: &str, label, at_ms| Some(MemoryText { text: text.into(), label, at_ms });
    let (id, text) = (Id::new(), "Tom lives in Graz");
    graph.read_memory(UserId::OWNER, id, read(text, Label::Outside, 1)).await.unwrap();
    memory(&graph, "Tom lives in Linz", 2).await;
    let seen = async || {
        let cx = person(UserId::OWNER);
        let found = graph.search(&cx, &search("Tom")).await.unwrap();
        (found.facts[0].words(), cx.label())
    };
    assert_eq!(seen().await, ("Tom lives in Linz".into(), Label::Outside));
    // Somebody vouches for it: it is as old as before.
    assert!(graph.read_memory(UserId::OWNER, id, read(text, Label::Own, 3)).await.unwrap());
    assert_eq!(seen().await, ("Tom lives in Linz".into(), Label::Own));
    // Compared after a start, or edited.
    assert!(!graph.compare_memory(UserId::OWNER, id, read(text, Label::Own, 4)).await.unwrap());
    assert_eq!(seen().await.0, "Tom lives in Linz");
    let edited = read("Tom lives in Graz. He has a garden", Label::Own, 5);
    assert!(graph.read_memory(UserId::OWNER, id, edited).await.unwrap());
    assert_eq!(seen().await.0, "Tom lives in Graz");
    agree(&graph);
}

#[tokio::test]
async fn what_came_from_outside_stays_so_when_it_is_corrected() {
    let (graph, _) = house();
    let content = MemoryText { text: "Tom works at Simens".into(), label: Label::Outside, at_ms: 1 };
    graph.read_memory(UserId::OWNER, Id::new(), Some(content)).await.unwrap();
    let mut facts = vec![];
    graph.facts.scan(|fact| facts.push(fact.id)).unwrap();
    let cx = person(UserId::OWNER);
    let change = FactChange { confidence: Some(1.0), ..FactChange::default() };
    let changed = graph.change_fact(&cx, facts[0], change).await.unwrap();
    assert_eq!((changed.source.origin, cx.label()), (FactOrigin::Hand, Label::Outside));
    graph.facts.scan(|fact| assert_eq!(fact.label, Label::Outside)).unwrap();
    // Names are read, too.
    let fact =
        NewFact { subject: "Tom".into(), predicate: "likes".into(), object: "jazz".into(), ..NewFact::default() };
    let cx = person(UserId::OWNER);
    graph.add_fact(&cx, fact).await.unwrap();
    assert_eq!(cx.label(), Label::Outside);
    let cx = person(UserId::OWNER);
    let change = EntityChange { kind: Some("person".into()), ..EntityChange::default() };
    graph.change_entity(&cx, "Tom", change).await.unwrap();
    assert_eq!(cx.label(), Label::Outside);
}

#[tokio::test]
async fn no_fact_is_about_one_thing_twice() {
    let (graph, cx) = house();
    let text = "Ben is Anna's son. Ben lives in Graz";
    let id = memory(&graph, text, 1).await;
    let merge = EntityChange { merge: Some("Ben".into()), ..EntityChange::default() };
    graph.change_entity(&cx, "Anna", merge).await.unwrap();
    let again = || Some(MemoryText { text: text.into(), label: Label::Own, at_ms: 1 });
    graph.read_memory(UserId::OWNER, id, again()).await.unwrap();
    agree(&graph);
    assert_eq!(words(&graph.search(&cx, &search("Anna")).await.unwrap().facts), ["Anna lives in Graz"]);
    // Two names of one, in a memory that is read later.
    memory(&graph, "Anna is married to Ben", 2).await;
    agree(&graph);
    assert_eq!(graph.search(&cx, &search("Anna")).await.unwrap().facts.len(), 1);
}

#[tokio::test]
async fn a_models_facts_go_when_their_text_changes() {
    let (graph, cx) = house();
    let (id, text) = (Id::new(), "On Fridays Tom goes to the rehearsals of his band");
    let content = |text: &str| MemoryText { text: text.into(), label: Label::Own, at_ms: 1 };
    let answer =
        "[{\"subject\": \"Tom\", \"predicate\": \"plays in\", \"object\": \"a band\", \"objectType\": \"value\"}]";
    assert!(graph.wants_model(UserId::OWNER, id).unwrap());
    graph.add_from_model(UserId::OWNER, id, &content(text), model_statements(text, answer)).await.unwrap();
    graph.read_memory(UserId::OWNER, id, Some(content(text))).await.unwrap();
    assert_eq!(graph.search(&cx, &search("Tom")).await.unwrap().facts.len(), 1);
    assert!(!graph.wants_model(UserId::OWNER, id).unwrap());
    graph.read_memory(UserId::OWNER, id, Some(content(&format!("{text}, which he left")))).await.unwrap();
    assert_eq!(counts(&graph), (0, 0));
}

#[tokio::test]
async fn a_cut_result_says_so_and_missing_vectors_are_made() {
    let (graph, cx) = house();
    let fact = |n: usize| {
        format!("{{\"subject\": \"Tom\", \"predicate\": \"has\", \"object\": \"{n}\", \"objectType\": \"value\"}}")
    };
    for part in 0..21 {
        let content = MemoryText { text: format!("text {part}"), label: Label::Own, at_ms: 1 };
        let answer = format!("[{}]", (0..10).map(|n| fact(part * 10 + n)).collect::<Vec<_>>().join(","));
        let stated = model_statements(&content.text, &answer);
        graph.add_from_model(UserId::OWNER, Id::new(), &content, stated).await.unwrap();
        let found = graph.search(&cx, &search("Tom")).await.unwrap();
        assert_eq!((found.facts.len(), found.truncated), ((part * 10 + 10).min(200), part == 20));
    }
    let entity = graph.search(&cx, &search("Tom")).await.unwrap().entities[0].id;
    graph.vectors.delete_in(Scope::User(UserId::OWNER), entity).await.unwrap();
    let lonely = records::EntityRecord { name: "Nobody".into(), ..records::EntityRecord::default() };
    graph.entities.insert(&cx, "test", lonely).await.unwrap();
    graph.complete_entities().await.unwrap();
    agree(&graph);
}

#[tokio::test]
async fn facts_are_added_corrected_and_deleted_by_hand() {
    let (graph, cx) = house();
    let fact = |subject: &str, predicate: &str, object: &str| NewFact {
        subject: subject.into(),
        predicate: predicate.into(),
        object: object.into(),
        ..NewFact::default()
    };
    let added = graph.add_fact(&cx, fact("Tom", "works at", "Simens")).await.unwrap();
    assert_eq!(graph.add_fact(&cx, fact("tom", "Works at", "simens")).await.unwrap().id, added.id, "once");
    let value = NewFact { object_kind: Some("value".into()), ..fact("Tom", "shoe size", "43") };
    graph.add_fact(&cx, value).await.unwrap();
    let corrected = FactChange { object: Some("Siemens".into()), from: Some("2019".into()), ..FactChange::default() };
    let changed = graph.change_fact(&cx, added.id, corrected).await.unwrap();
    assert_eq!(
        (changed.words().as_str(), changed.valid_from.as_str(), changed.id, changed.current),
        ("Tom works at Siemens", "2019", added.id, true)
    );
    let later = NewFact { from: Some("2990-01".into()), ..fact("I", "lives in", "Vienna") };
    let later = graph.add_fact(&cx, later).await.unwrap();
    assert_eq!((later.words().as_str(), later.current), ("you live in Vienna", false));
    graph.delete_entity(&cx, "Vienna").await.unwrap();
    graph.delete_entity(&cx, "me").await.unwrap();
    // An alias that is the name of another entity makes one of the two.
    graph.add_fact(&cx, fact("Thomas Berger", "likes", "Jazz")).await.unwrap();
    let change = EntityChange {
        aliases: Some(vec!["Thomas Berger".into()]),
        kind: Some("Person".into()),
        ..EntityChange::default()
    };
    let tom = graph.change_entity(&cx, "Tom", change).await.unwrap();
    assert_eq!((tom.kind.as_str(), tom.aliases.as_slice()), ("person", &["Thomas Berger".to_owned()][..]));
    let found = graph.search(&cx, &search("thomas berger")).await.unwrap();
    assert_eq!((found.entities[0].name.as_str(), found.facts.len()), ("Tom", 3));
    // Renamed, it is found by its earlier name.
    let renamed = EntityChange { name: Some("Tom Berger".into()), ..EntityChange::default() };
    graph.change_entity(&cx, "Tom", renamed).await.unwrap();
    memory(&graph, "Tom lives in Graz", 5).await;
    let found = graph.search(&cx, &search("Tom")).await.unwrap();
    assert_eq!((found.entities[0].name.as_str(), found.facts.len()), ("Tom Berger", 4));
    // A fact that a memory states stays deleted.
    let lives = found.facts.iter().find(|fact| fact.predicate == "lives in").unwrap();
    let source = lives.source.id.unwrap();
    graph.delete_fact(&cx, lives.id).await.unwrap();
    let again = MemoryText { text: "Tom lives in Graz".into(), label: Label::Own, at_ms: 5 };
    graph.read_memory(UserId::OWNER, source, Some(again)).await.unwrap();
    assert_eq!(graph.search(&cx, &search("Tom")).await.unwrap().facts.len(), 3);
    assert!(graph.search(&cx, &search("Graz")).await.unwrap().entities.is_empty());
    let (gone, count) = graph.delete_entity(&cx, "tom berger").await.unwrap();
    assert_eq!((gone.name.as_str(), count), ("Tom Berger", 3));
    assert_eq!(graph.search(&cx, &search("Tom")).await.unwrap().facts.len(), 0);
    for (new, part) in [
        (fact("", "likes", "x"), "`subject`"),
        (fact("x", " ", "y"), "`predicate`"),
        (fact("x", "likes", "X"), "the same"),
        (NewFact { from: Some("soon".into()), ..fact("x", "likes", "y") }, "`validFrom`"),
        (NewFact { from: Some("2024-+1".into()), ..fact("x", "likes", "y") }, "`validFrom`"),
        (NewFact { to: Some("2024-02-31".into()), ..fact("x", "likes", "y") }, "`validTo`"),
        (NewFact { to: Some("2024-13".into()), ..fact("x", "likes", "y") }, "`validTo`"),
        (
            NewFact { from: Some("2021".into()), to: Some("2020-05".into()), ..fact("x", "likes", "y") },
            "before it begins",
        ),
        (NewFact { confidence: Some(1.5), ..fact("x", "likes", "y") }, "`confidence`"),
        (fact("x", "likes", &"y".repeat(500)), "`object`"),
    ] {
        let error = graph.add_fact(&cx, new).await.unwrap_err();
        assert!(error.code() == "bad_args" && error.message().contains(part), "{error} {part}");
    }
    assert_eq!(graph.delete_fact(&cx, Id::new()).await.unwrap_err().code(), "not_found");
    assert_eq!(
        graph.search(&cx, &Search { entity: Some("Nobody".into()), ..search("") }).await.unwrap_err().code(),
        "not_found"
    );
    assert_eq!(graph.search(&cx, &search("  ")).await.unwrap_err().code(), "bad_args");
    for at in ["soon", "31.1.2026", "2026", "2026-02-31"] {
        let error = graph.search(&cx, &Search { at: at.into(), ..search("x") }).await.unwrap_err();
        assert!(error.code() == "bad_args" && error.message().contains("`at`"), "{error}");
    }
}

#[tokio::test]
async fn walks_end_and_are_shortest() {
    let (graph, cx) = house();
    let link = |a: usize, b: usize| NewFact {
        subject: format!("n{a}"),
        predicate: "near".into(),
        object: format!("n{b}"),
        ..NewFact::default()
    };
    // A ring of ten, with a chord.
    for n in 0..10 {
        graph.add_fact(&cx, link(n, (n + 1) % 10)).await.unwrap();
    }
    let way = |to: &str| Search { entity: Some("n0".into()), to: Some(to.into()), depth: 0, ..search("") };
    let length = |found: SearchResults| found.path.map(|path| path.len());
    assert_eq!(length(graph.search(&cx, &way("n5")).await.unwrap()), Some(5));
    assert_eq!(length(graph.search(&cx, &way("n9")).await.unwrap()), Some(1));
    assert_eq!(length(graph.search(&cx, &way("n0")).await.unwrap()), Some(0));
    graph.add_fact(&cx, link(0, 4)).await.unwrap();
    assert_eq!(length(graph.search(&cx, &way("n5")).await.unwrap()), Some(2));
    graph.add_fact(&cx, link(98, 99)).await.unwrap();
    assert_eq!(length(graph.search(&cx, &way("n99")).await.unwrap()), None);
    let around = Search { depth: 2, ..way("n0") };
    let found = graph.search(&cx, &Search { to: None, ..around }).await.unwrap();
    assert_eq!(found.entities.len(), 8, "{:?}", names(&found));
    assert!(found.entities.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
}

/// Every fact has two ends, every entity that nobody made by hand a fact, and every entity its vector.
fn agree(graph: &Graph) {
    let (mut entities, mut facts) = (vec![], vec![]);
    graph.entities.scan(|entry| entities.push(entry)).unwrap();
    graph.facts.scan(|entry| facts.push(entry)).unwrap();
    let there = |id: &Id| entities.iter().any(|entry| entry.id == *id);
    let live: Vec<&FactRecord> = facts.iter().map(|fact| &fact.value).filter(|fact| !fact.retracted).collect();
    assert!(live.iter().all(|fact| there(&fact.subject) && (fact.object == Id::NIL || there(&fact.object))));
    for entry in entities.iter().filter(|entry| !entry.value.by_hand) {
        assert!(
            live.iter().any(|fact| fact.subject == entry.id || fact.object == entry.id),
            "{} is lonely",
            entry.value.name
        );
    }
    assert!(live.iter().all(|fact| fact.subject != fact.object));
    let mut vectors = vec![];
    graph.vectors.scan(|vector| vectors.push(vector.id)).unwrap();
    assert!(vectors.iter().all(there) && vectors.len() == entities.len(), "{} of {}", vectors.len(), entities.len());
}

#[tokio::test]
async fn records_agree_whatever_is_changed() {
    let (graph, cx) = house();
    let texts = [
        "Anna is my sister",
        "Tom works at Siemens",
        "Anna works at Siemens",
        "Tom lives in Graz",
        "Ben is Anna's son",
        "nothing plain",
    ];
    let ids: Vec<Id> = (0..6).map(|_| Id::new()).collect();
    let mut dice = 12_345_u64;
    for round in 0..120 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (a, b, what) = ((dice >> 33) as usize % 6, (dice >> 40) as usize % 6, (dice >> 50) % 8);
        match what {
            0 => drop(graph.read_memory(UserId::OWNER, ids[a], None).await.unwrap()),
            1..5 => {
                let content = MemoryText { text: texts[b].into(), label: Label::Own, at_ms: round };
                graph.read_memory(UserId::OWNER, ids[a], Some(content)).await.unwrap();
            }
            5 => {
                let found = graph.search(&cx, &search("*")).await.unwrap();
                if let Some(fact) = found.facts.get(a) {
                    graph.delete_fact(&cx, fact.id).await.unwrap();
                }
            }
            6 => {
                let found = graph.search(&cx, &search("*")).await.unwrap();
                if let Some(entity) = found.entities.get(b) {
                    graph.delete_entity(&cx, &entity.id.to_string()).await.unwrap();
                }
            }
            _ => {
                let found = graph.search(&cx, &search("*")).await.unwrap();
                if let [one, .., other] = found.entities.as_slice() {
                    let change = EntityChange { merge: Some(other.id.to_string()), ..EntityChange::default() };
                    graph.change_entity(&cx, &one.id.to_string(), change).await.unwrap();
                }
            }
        }
        agree(&graph);
    }
}
