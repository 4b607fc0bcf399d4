//! Collections through their public interface, with the real store and the real model.

use super::*;
use crate::collections::CollectionInfo;
use serde_json::{Map, Value, json};
use std::time::Duration;
use store::Until;
use tool::{Channel, Ports, Principal, Scope, SystemClock, Via};

fn house() -> (Vectors, Cx) {
    let store = Store::in_memory().unwrap();
    (Vectors::new(&store, Embedder::new(Duration::from_secs(600))), person(UserId::OWNER))
}

pub(crate) fn person(user: UserId) -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal { user, ..Principal::owner() }, Via::direct(Channel::Api))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(crate) fn text(id: &str, text: &str, metadata: Value) -> Item {
    Item { id: Some(id.into()), text: text.into(), vector: None, metadata: object(metadata) }
}

fn numbers(id: &str, vector: &[f32]) -> Item {
    Item { id: Some(id.into()), vector: Some(vector.to_vec()), ..Item::default() }
}

async fn create(vectors: &Vectors, cx: &Cx, name: &str, dimensions: Option<usize>, metric: Metric) -> CollectionInfo {
    let new = NewCollection { name: name.into(), dimensions, metric, ..NewCollection::default() };
    vectors.create(cx, new).await.unwrap()
}

async fn ids(vectors: &Vectors, cx: &Cx, collection: &str, search: Search) -> Vec<String> {
    let found = vectors.search(cx, collection, Search { most: 3, ..search }).await.unwrap();
    found.hits.into_iter().map(|hit| hit.id).collect()
}

#[tokio::test]
async fn texts_are_found_by_meaning_and_filter() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "Notes", None, Metric::Cosine).await;
    let items = vec![
        text("boiler", "Marta serviced the boiler", json!({"year": 2024, "room": "cellar"})),
        text("wifi", "The guest wifi password is under the router", json!({"year": 2025, "room": "hall"})),
        text("cat", "The cat goes to the vet on Friday", json!({"year": 2025, "tags": ["pet", "health"]})),
    ];
    let added = vectors.upsert(&cx, "notes", items).await.unwrap();
    assert_eq!((added.added, added.replaced, added.collection.count), (3, 0, 3));
    let search = |text: &str| Search { text: text.into(), ..Search::default() };
    assert_eq!(ids(&vectors, &cx, "NOTES", search("who looked after the heating")).await[0], "boiler");
    assert_eq!(ids(&vectors, &cx, "notes", search("pet doctor")).await[0], "cat");
    for (filter, wanted) in [
        (json!({"year": 2025}), vec!["cat", "wifi"]),
        (json!({"tags": "pet"}), vec!["cat"]),
        (json!({"or": [{"room": "cellar"}, {"tags": {"in": ["health"]}}]}), vec!["boiler", "cat"]),
        (json!({"room": {"exists": true}, "year": {"lt": 2025}}), vec!["boiler"]),
        (json!({"room": "attic"}), vec![]),
    ] {
        let search = Search { filter: Some(object(filter.clone())), ..search("the house") };
        let mut found = ids(&vectors, &cx, "notes", search).await;
        found.sort();
        assert_eq!(found, wanted, "{filter}");
    }
    // Replaced, also in memory.
    let again = vectors.upsert(&cx, "notes", vec![text("cat", "Cancel the newspaper", json!({}))]).await.unwrap();
    assert_eq!((again.added, again.replaced, again.collection.count), (0, 1, 3));
    let pets = Search { filter: Some(object(json!({"tags": "pet"}))), ..search("pet doctor") };
    assert!(ids(&vectors, &cx, "notes", pets).await.is_empty());
    let hit =
        vectors.search(&cx, "notes", Search { most: 1, ..search("end the subscription of the paper") }).await.unwrap();
    assert_eq!((hit.hits[0].id.as_str(), hit.searched), ("cat", 3));
    let (gone, info) = vectors.delete(&cx, "notes", vec!["cat".into(), "dog".into()]).await.unwrap();
    assert_eq!((gone, info.count), (vec!["cat".to_owned()], 2));
    assert!(!ids(&vectors, &cx, "notes", search("newspaper")).await.contains(&"cat".to_owned()));
    assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0);
}

#[tokio::test]
async fn numbers_of_a_caller_are_compared_exactly() {
    let (vectors, cx) = house();
    for (name, metric, query, wanted) in [
        (
            "by direction",
            Metric::Cosine,
            [2.0, 0.1],
            [("east", 0.998_752_3), ("far", 0.741_535_8), ("north", 0.049_937_6)],
        ),
        ("by product", Metric::Dot, [2.0, 0.1], [("far", 210.0), ("east", 2.0), ("north", 0.1)]),
        ("by distance", Metric::L2, [1.0, 0.5], [("east", 0.5), ("north", 1.118_034), ("far", 140.361_1)]),
    ] {
        create(&vectors, &cx, name, Some(2), metric).await;
        let items = vec![numbers("east", &[1.0, 0.0]), numbers("north", &[0.0, 1.0]), numbers("far", &[100.0, 100.0])];
        vectors.upsert(&cx, name, items).await.unwrap();
        let search = Search { vector: Some(query.to_vec()), most: 3, ..Search::default() };
        let found = vectors.search(&cx, name, search.clone()).await.unwrap();
        assert_eq!(found.hits.len(), wanted.len(), "{name}");
        for (hit, (id, score)) in found.hits.iter().zip(wanted) {
            assert!(hit.id == id && (hit.score - score).abs() < score.abs() * 1e-5, "{name}: {} {}", hit.id, hit.score);
        }
        let near = if metric == Metric::L2 { 1.0 } else { 0.9 };
        let found = vectors.search(&cx, name, Search { threshold: Some(near), ..search }).await.unwrap();
        assert_eq!(found.hits.len(), if metric == Metric::Dot { 2 } else { 1 }, "{name}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "three", Some(3), Metric::Cosine).await;
    create(&vectors, &cx, "texts", None, Metric::Cosine).await;
    let refused = |error: Error, part: &str| assert!(error.message().contains(part), "{error} | {part}");
    for (items, part) in [
        (vec![], "1 to 100"),
        (vec![numbers("a", &[1.0, 2.0])], "has 2 numbers"),
        (vec![numbers("a", &[1.0, f32::NAN, 1.0])], "not finite"),
        (vec![numbers("a", &[0.0; 3])], "all zeros"),
        (vec![numbers(" ", &[1.0; 3])], "1 to 100 characters"),
        (vec![numbers("a", &[1.0; 3]), numbers("a ", &[1.0; 3])], "the id of another"),
        (vec![text("a", "words", json!({}))], "pass `vector`"),
        (vec![text("a", "", json!({}))], "neither"),
        (vec![Item { metadata: object(json!({"a": {}})), ..numbers("a", &[1.0; 3]) }], "cannot be filtered"),
        ((0..101).map(|n| numbers(&n.to_string(), &[1.0; 3])).collect(), "1 to 100"),
    ] {
        refused(vectors.upsert(&cx, "three", items).await.unwrap_err(), part);
    }
    assert_eq!(vectors.info(&cx, "three").unwrap().count, 0);
    for (search, part) in [
        (Search { text: "words".into(), ..Search::default() }, "pass `vector`"),
        (Search { vector: Some(vec![1.0; 4]), ..Search::default() }, "has 4 numbers"),
        (Search { vector: Some(vec![f32::INFINITY; 3]), ..Search::default() }, "not finite"),
    ] {
        refused(vectors.search(&cx, "three", search).await.unwrap_err(), part);
    }
    refused(
        vectors.search(&cx, "texts", Search { text: " ".into(), ..Search::default() }).await.unwrap_err(),
        "nothing to embed",
    );
    refused(vectors.search(&cx, "four", Search::default()).await.unwrap_err(), "`texts`, `three`");
    for (new, part) in [
        (NewCollection { name: "Three".into(), ..NewCollection::default() }, "already"),
        (NewCollection { name: " ".into(), ..NewCollection::default() }, "1 to 100 characters"),
        (NewCollection { name: "x".into(), dimensions: Some(0), ..NewCollection::default() }, "1 to 4096"),
        (NewCollection { name: "x".into(), dimensions: Some(4097), ..NewCollection::default() }, "1 to 4096"),
        (
            NewCollection { name: "x".into(), model: Some("ada".into()), ..NewCollection::default() },
            "`dimensions` is missing",
        ),
    ] {
        refused(vectors.create(&cx, new).await.unwrap_err(), part);
    }
}

#[tokio::test]
async fn others_read_what_is_shared_and_change_nothing() {
    let (vectors, owner) = house();
    let member = person(UserId(Id::from_bytes([2; 16])));
    create(&vectors, &owner, "private", Some(2), Metric::Cosine).await;
    let shared = NewCollection { name: "ours".into(), dimensions: Some(2), shared: true, ..NewCollection::default() };
    assert!(vectors.create(&owner, shared).await.unwrap().shared);
    vectors.upsert(&owner, "ours", vec![numbers("a", &[1.0, 0.0])]).await.unwrap();
    let search = || Search { vector: Some(vec![1.0, 0.0]), most: 1, ..Search::default() };
    assert_eq!(vectors.search(&member, "private", search()).await.unwrap_err().code(), "not_found");
    assert_eq!(vectors.search(&member, "ours", search()).await.unwrap().hits[0].id, "a");
    let names: Vec<String> = vectors.list(&member).unwrap().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["ours"]);
    let denied = vectors.upsert(&member, "ours", vec![numbers("b", &[1.0, 0.0])]).await.unwrap_err();
    assert_eq!(denied.code(), "denied");
    assert_eq!(vectors.delete(&member, "ours", vec!["a".into()]).await.unwrap_err().code(), "denied");
    assert_eq!(vectors.delete_collection(&member, "ours").await.unwrap_err().code(), "denied");
    // Words of a member that are read by another one are labelled.
    let theirs = NewCollection { name: "theirs".into(), dimensions: Some(2), shared: true, ..NewCollection::default() };
    vectors.create(&member, theirs).await.unwrap();
    vectors.upsert(&member, "theirs", vec![numbers("a", &[1.0, 0.0])]).await.unwrap();
    vectors.search(&owner, "theirs", search()).await.unwrap();
    assert_eq!(owner.label(), Label::Member(member.user()));
}

#[tokio::test]
async fn a_deleted_collection_is_gone_with_its_vectors() {
    let (vectors, cx) = house();
    for name in ["one", "two"] {
        create(&vectors, &cx, name, Some(2), Metric::Cosine).await;
        for part in 0..6 {
            let items = (0..100).map(|n| numbers(&format!("{part}/{n}"), &[1.0, n as f32])).collect();
            vectors.upsert(&cx, name, items).await.unwrap();
        }
    }
    vectors.delete_collection(&cx, "one").await.unwrap();
    let mut left = 0;
    vectors.vectors.scan(|_| left += 1).unwrap();
    assert_eq!((left, vectors.list(&cx).unwrap().len()), (600, 1));
    create(&vectors, &cx, "one", Some(2), Metric::Cosine).await;
    assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0);
}

#[tokio::test]
async fn another_model_takes_over_where_there_are_texts() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "notes", None, Metric::Cosine).await;
    let items = (0..40).map(|n| text(&n.to_string(), &format!("number {n} is here"), json!({}))).collect();
    vectors.upsert(&cx, "notes", items).await.unwrap();
    let entry = vectors.find(&cx, "notes").unwrap();
    // As if an earlier model had made them.
    let age = || {
        let (this, id) = (vectors.clone(), entry.id);
        let job = move |tx: &store::Tx<'_>| {
            this.collections.change(tx, Scope::User(UserId::OWNER), Label::Own, id, &mut |it| {
                it.model = "an earlier model".into();
                Ok(())
            })
        };
        vectors.collections.store().write(job)
    };
    age().await.unwrap();
    let search = || Search { text: "number 7 is here".into(), most: 1, ..Search::default() };
    let found = vectors.search(&cx, "notes", search()).await.unwrap();
    assert_eq!((found.hits[0].id.as_str(), found.searched), ("7", 40));
    let now = vectors.find(&cx, "notes").unwrap().value;
    assert_eq!((now.model.as_str(), now.generation, now.behind), (embed::MODEL, 1, false));
    // Without a text there is nothing to embed: nothing is compared.
    let (vector, _) = vectors.embed("a vector alone").await.unwrap();
    vectors.upsert(&cx, "notes", vec![numbers("alone", &vector)]).await.unwrap();
    age().await.unwrap();
    let error = vectors.search(&cx, "notes", search()).await.unwrap_err();
    assert!(error.code() == "unavailable" && error.message().contains("an earlier model"), "{error}");
    vectors.delete(&cx, "notes", vec!["alone".into()]).await.unwrap();
    assert_eq!(vectors.search(&cx, "notes", search()).await.unwrap().searched, 40);
}

#[tokio::test]
async fn a_model_that_cannot_be_used_takes_nothing_over() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "notes", None, Metric::Cosine).await;
    vectors.upsert(&cx, "notes", vec![text("boiler", "the boiler is old", json!({}))]).await.unwrap();
    let (vector, _) = vectors.embed("an old boiler").await.unwrap();
    let id = vectors.find(&cx, "notes").unwrap().id;
    let store = vectors.collections.store().clone();
    let broken =
        Vectors::new(&store, Embedder::chosen(Duration::from_secs(600), std::path::Path::new("/nowhere"), "e5"));
    let by_text = || Search { text: "heating".into(), most: 1, ..Search::default() };
    let by_vector = || Search { vector: Some(vector.clone()), most: 1, ..Search::default() };
    let refused = |error: Error| assert!(error.code() == "unavailable" && error.message().contains("e5"), "{error}");
    refused(broken.search(&cx, "notes", by_text()).await.unwrap_err());
    refused(broken.create(&cx, NewCollection { name: "new".into(), ..NewCollection::default() }).await.unwrap_err());
    assert_eq!(broken.search(&cx, "notes", by_vector()).await.unwrap().hits[0].id, "boiler");
    // A part of the vectors is of another model: they are not compared.
    let this = broken.clone();
    let job = move |tx: &store::Tx<'_>| {
        this.collections.change(tx, Scope::User(UserId::OWNER), Label::Own, id, &mut |it| {
            it.behind = true;
            Ok(())
        })
    };
    store.write(job).await.unwrap();
    refused(broken.search(&cx, "notes", by_vector()).await.unwrap_err());
    assert_eq!(broken.find(&cx, "notes").unwrap().value.model, embed::MODEL);
    // The usable model embeds the texts again.
    assert_eq!(vectors.search(&cx, "notes", by_text()).await.unwrap().hits[0].id, "boiler");
}

#[tokio::test]
async fn disagreements_are_found_and_repaired() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "one", Some(2), Metric::Cosine).await;
    vectors.upsert(&cx, "one", vec![numbers("a", &[1.0, 0.0]), numbers("b", &[0.0, 1.0])]).await.unwrap();
    let search = Search { vector: Some(vec![1.0, 0.0]), most: 1, ..Search::default() };
    vectors.search(&cx, "one", search).await.unwrap();
    // Behind the back of the count and of memory.
    let (entry, scope) = (vectors.find(&cx, "one").unwrap(), Scope::User(UserId::OWNER));
    vectors.vectors.delete_in(scope, records::vector_id(entry.id, "b")).await.unwrap();
    let stray = VectorRecord {
        collection: Id::new(),
        key: "stray".into(),
        text: String::new(),
        metadata: String::new(),
        values: values::Values::exact(&[1.0]),
        generation: 0,
    };
    vectors.vectors.insert(&cx, "test", stray).await.unwrap();
    assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 3);
    vectors.repair().await.unwrap();
    vectors.pool.drop_one(entry.id);
    assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0);
    assert_eq!(vectors.info(&cx, "one").unwrap().count, 1);
}

#[tokio::test]
async fn memory_has_a_budget() {
    let (mut vectors, cx) = house();
    vectors.pool = Arc::new(Pool::with_budget(40_000));
    for n in 0..6 {
        let name = format!("c{n}");
        create(&vectors, &cx, &name, Some(64), Metric::Dot).await;
        let items = (0..80).map(|n| numbers(&n.to_string(), &[n as f32 + 1.0; 64])).collect();
        vectors.upsert(&cx, &name, items).await.unwrap();
        let search = Search { vector: Some(vec![1.0; 64]), most: 1, ..Search::default() };
        let found = vectors.search(&cx, &name, search).await.unwrap();
        assert_eq!((found.hits[0].id.as_str(), found.searched), ("79", 80));
    }
    let (count, bytes) = vectors.pool.size();
    assert!((2..6).contains(&count) && bytes <= 40_000, "{count} {bytes}");
    // One that was dropped is read again.
    let search = Search { vector: Some(vec![1.0; 64]), most: 1, ..Search::default() };
    assert_eq!(vectors.search(&cx, "c0", search).await.unwrap().hits[0].id, "79");
    assert!(vectors.pool.size().1 <= 40_000);
}

#[tokio::test]
async fn metadata_counts_as_memory() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "one", Some(2), Metric::Dot).await;
    let item = |n: usize| {
        let lists = (0..8).map(|field| (format!("f{field}"), (0..60).map(|i| n * 1000 + field * 60 + i).collect()));
        Item { metadata: lists.collect(), ..numbers(&n.to_string(), &[1.0, n as f32]) }
    };
    vectors.upsert(&cx, "one", (0..20).map(item).collect()).await.unwrap();
    let counted = vectors.find(&cx, "one").unwrap().value;
    let memory = vectors.load(&vectors.find(&cx, "one").unwrap()).unwrap().bytes();
    let most = records::collection_bytes(&counted);
    assert!(memory > 20 * 480 * 72 && most + 1000 >= memory && most < memory * 2, "{memory} {most}");
    // Replaced, deleted and restored to nothing, it counts nothing.
    vectors.upsert(&cx, "one", (0..10).map(|n| numbers(&n.to_string(), &[1.0, 1.0])).collect()).await.unwrap();
    assert_eq!(vectors.find(&cx, "one").unwrap().value.metadata, counted.metadata / 2);
    vectors.delete(&cx, "one", (10..20).map(|n| n.to_string()).collect()).await.unwrap();
    assert_eq!(vectors.find(&cx, "one").unwrap().value.metadata, 0);
    assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0);
    // What does not fit any more is refused as a whole.
    let (this, scope, id) = (vectors.clone(), Scope::User(UserId::OWNER), vectors.find(&cx, "one").unwrap().id);
    let nearly = records::COLLECTION_MEMORY as u64 - 2000;
    vectors.collections.store().write(move |tx| this.count_in(tx, scope, id, (10, nearly))).await.unwrap();
    let error = vectors.upsert(&cx, "one", vec![item(1)]).await.unwrap_err();
    assert!(error.message().contains("is full"), "{error}");
    vectors.upsert(&cx, "one", vec![numbers("1", &[2.0, 2.0])]).await.unwrap();
    vectors.repair().await.unwrap();
    assert_eq!(vectors.find(&cx, "one").unwrap().value.metadata, 0);
}

#[tokio::test]
async fn changes_alone_do_not_let_memory_grow() {
    let (vectors, cx) = house();
    create(&vectors, &cx, "one", Some(2), Metric::Dot).await;
    let fill = |round: usize| (0..100).map(|n| numbers(&n.to_string(), &[1.0, (n + round) as f32])).collect();
    vectors.upsert(&cx, "one", fill(0)).await.unwrap();
    let search = Search { vector: Some(vec![1.0, 1.0]), most: 1, ..Search::default() };
    vectors.search(&cx, "one", search.clone()).await.unwrap();
    let (first, mut largest) = (vectors.pool.size().1, 0);
    for round in 0..30 {
        vectors.upsert(&cx, "one", fill(round)).await.unwrap();
        largest = largest.max(vectors.pool.size().1);
    }
    assert!(largest > first * 9 && largest <= first * 13, "{first} {largest}");
    assert_eq!(vectors.search(&cx, "one", search).await.unwrap().searched, 100);
}
