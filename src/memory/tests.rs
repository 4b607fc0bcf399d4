//! Memory through its public API, with the real store and the real model.

use super::*;
use std::time::Duration;
use tool::{Channel, Ports, Principal, SystemClock, UserId, Via};

fn house() -> (Memories, Cx) {
    let store = Store::in_memory().unwrap();
    (Memories::new(&store, Embedder::new(Duration::from_secs(600))), person(UserId::OWNER))
}

fn person(user: UserId) -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal { user, ..Principal::owner() }, Via::direct(Channel::Api))
}

fn new(content: &str) -> New {
    New { content: content.into(), importance: 0.5, ..New::default() }
}

const HOUSEHOLD: &[&str] = &[
    "Marta serviced the boiler on 3 October",
    "The guest wifi password is taped under the router",
    "Grandma's birthday is on the 4th of July and she likes orchids",
    "The garage light is controlled by pin 17 through a relay",
    "Our internet contract ends in March, cancel three months before",
    "The cat goes to the vet on Friday at four",
    "The dishwasher shows E24 when the drain hose is blocked",
    "Nuts make Ben ill",
];

#[tokio::test]
async fn found_by_meaning_and_by_words() {
    let (memories, cx) = house();
    for text in HOUSEHOLD {
        memories.remember(&cx, new(text)).await.unwrap();
    }
    let rows = [
        ("who looked after the heating?", 0),
        ("where can visitors find the wireless key?", 1),
        ("present ideas for my grandmother", 2),
        ("which pin drives the lamp in the garage", 3),
        ("when can we change the provider", 4),
        ("pet doctor appointment", 5),
        ("E24", 6),
        ("food allergies", 7),
    ];
    for (question, expected) in rows {
        let recalled = memories.recall(&cx, question, Filter { limit: 3, ..Filter::default() }).await.unwrap();
        assert!(recalled.by_meaning);
        let first = recalled.hits.first().map(|h| (h.memory.content.as_str(), h.score, h.why.as_str()));
        assert_eq!(first.map(|f| f.0), Some(HOUSEHOLD[expected]), "{question}: {first:?}");
    }
    let nothing = memories.recall(&cx, "quantum chromodynamics lecture notes", Filter::default()).await.unwrap();
    assert!(nothing.hits.is_empty(), "{:?}", nothing.hits);
}

#[tokio::test]
async fn filters_boosts_counts_and_forgets() {
    let (memories, cx) = house();
    let tea = New { kind: Kind::Preference, tags: vec!["drinks".into()], ..new("Anna likes green tea") };
    let tea = memories.remember(&cx, tea).await.unwrap();
    memories.remember(&cx, new("Green paint is in the cellar")).await.unwrap();
    let only = Filter { kind: Some(Kind::Preference), limit: 5, ..Filter::default() };
    assert_eq!(memories.recall(&cx, "green", only.clone()).await.unwrap().hits.len(), 1);
    assert_eq!(memories.list(&cx, &only).unwrap()[0].id, tea.id);
    let tagged = Filter { tags: vec!["drinks".into()], ..Filter::default() };
    assert_eq!(memories.list(&cx, &tagged).unwrap().len(), 1);
    assert_eq!(memories.boost(&cx, tea.id, 0.9).await.unwrap().importance, 1.0);
    let stats = memories.stats(&cx).await.unwrap();
    assert_eq!((stats.total, stats.preferences, stats.with_meaning), (2, 1, 2));
    assert!(memories.forget(&cx, tea.id, false).await.unwrap());
    assert!(!memories.forget(&cx, tea.id, false).await.unwrap());
    assert!(memories.recall(&cx, "green tea", Filter { limit: 5, ..only }).await.unwrap().hits.is_empty());
    for bad in ["", "   ", &"x".repeat(LONGEST + 1)] {
        assert!(memories.remember(&cx, new(bad)).await.is_err());
    }
}

#[tokio::test]
async fn one_person_does_not_recall_anothers_unless_shared() {
    let (memories, anna) = house();
    let ben = person(UserId(Id::new()));
    memories.remember(&anna, new("The diary is behind the books")).await.unwrap();
    memories.remember(&anna, New { shared: true, ..new("The bins go out on Monday") }).await.unwrap();
    let asked = |q: &'static str| memories.recall(&ben, q, Filter { limit: 9, ..Filter::default() });
    assert!(asked("diary books").await.unwrap().hits.is_empty());
    assert_eq!(asked("bins monday").await.unwrap().hits.len(), 1);
    assert_eq!(memories.stats(&ben).await.unwrap().total, 1);
}

#[tokio::test]
async fn a_restart_builds_the_same_index_and_missing_meanings_are_mended() {
    let store = Store::in_memory().unwrap();
    let cx = person(UserId::OWNER);
    let embedder = Embedder::new(Duration::from_secs(600));
    let memories = Memories::new(&store, embedder.clone());
    let kept = memories.remember(&cx, new(HOUSEHOLD[0])).await.unwrap();
    memories.vectors.delete(&cx, kept.id).await.unwrap();

    let again = Memories::new(&store, embedder);
    let ask = || again.recall(&cx, "who looked after the heating?", Filter { limit: 1, ..Filter::default() });
    assert!(ask().await.unwrap().hits.is_empty(), "without its vector there is no meaning to find it by");
    assert_eq!(again.backfill_embeddings().await.unwrap(), 1);
    assert_eq!(ask().await.unwrap().hits[0].memory.id, kept.id);
    assert_eq!(again.backfill_embeddings().await.unwrap(), 0);
}

#[tokio::test]
async fn a_changed_memory_is_found_by_what_it_says_now() {
    let store = Store::in_memory().unwrap();
    let cx = person(UserId::OWNER);
    let embedder = Embedder::new(Duration::from_secs(600));
    let memories = Memories::new(&store, embedder.clone());
    let old = New { tags: vec!["house".into()], ..new(HOUSEHOLD[0]) };
    let id = memories.remember(&cx, old).await.unwrap().id;
    memories.remember(&cx, new(HOUSEHOLD[6])).await.unwrap();
    let content = Some("  The cat goes to the vet on Friday  ".to_owned());
    let now = memories.update(&cx, id, Change { content, ..Change::default() }).await.unwrap().unwrap();
    assert_eq!((now.content.as_str(), now.tags.len(), now.importance), ("The cat goes to the vet on Friday", 1, 0.5));
    // Compare the updated index with a rebuilt one.
    for memories in [memories.clone(), Memories::new(&store, embedder)] {
        for (question, found) in
            [("pet doctor appointment", true), ("vet friday", true), ("boiler Marta heating", false)]
        {
            let hits = memories.recall(&cx, question, Filter { limit: 5, ..Filter::default() }).await.unwrap().hits;
            assert_eq!(hits.iter().any(|h| h.memory.id == id), found, "{question}: {hits:?}");
        }
    }
    assert_eq!(memories.stats(&cx).await.unwrap().with_meaning, 2);
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_obeys_the_same_rules() {
    let (memories, anna) = house();
    let ben = person(UserId(Id::new()));
    let id = memories.remember(&anna, new("The bins go out on Monday")).await.unwrap().id;
    let all = Change {
        kind: Some(Kind::Event),
        importance: Some(7.0),
        tags: Some(vec!["bins".into()]),
        shared: Some(true),
        ..Change::default()
    };
    let changed = memories.update(&anna, id, all).await.unwrap().unwrap();
    let told = (changed.content.as_str(), changed.kind, changed.importance, changed.shared);
    assert_eq!(told, ("The bins go out on Monday", Kind::Event, 1.0, true));
    let events = Filter { kind: Some(Kind::Event), tags: vec!["bins".into()], ..Filter::default() };
    assert_eq!(memories.list(&anna, &events).unwrap(), [changed]);

    // Ben can read it while it is shared, and can never change it.
    let sees =
        async || memories.recall(&ben, "bins", Filter { limit: 1, ..Filter::default() }).await.unwrap().hits.len();
    let shared = |shared| Change { shared: Some(shared), ..Change::default() };
    assert_eq!(sees().await, 1);
    assert_eq!(memories.update(&ben, id, shared(false)).await.unwrap(), None);
    assert!(!memories.update(&anna, id, shared(false)).await.unwrap().unwrap().shared);
    assert_eq!((sees().await, memories.list(&ben, &Filter::default()).unwrap().len()), (0, 0));

    let content = |text: &str| Change { content: Some(text.into()), ..Change::default() };
    for bad in [Change::default(), content("  "), content(&"x".repeat(LONGEST + 1))] {
        let refused = memories.update(&anna, id, bad).await;
        assert!(matches!(refused, Err(Error::BadArgs(_))), "{refused:?}");
    }
    assert!(memories.forget(&anna, id, false).await.unwrap());
    assert_eq!(memories.update(&anna, id, content("again")).await.unwrap(), None);
}

#[tokio::test]
async fn what_a_tainted_run_changes_counts_as_from_outside() {
    let (memories, cx) = house();
    let id = memories.remember(&cx, new("The shop opens at nine")).await.unwrap().id;
    let tainted = person(UserId::OWNER);
    tainted.taint(Label::Outside);
    let content = Some("The shop opens at eight".to_owned());
    memories.update(&tainted, id, Change { content, ..Change::default() }).await.unwrap().unwrap();
    let own = Filter { limit: 5, own: true, ..Filter::default() };
    assert!(memories.recall(&cx, "shop opens", own).await.unwrap().hits.is_empty());
    // A clean update does not remove the label.
    memories.update(&person(UserId::OWNER), id, Change { importance: Some(1.0), ..Change::default() }).await.unwrap();
    let own = || Filter { limit: 5, own: true, ..Filter::default() };
    assert!(memories.recall(&cx, "shop opens", own()).await.unwrap().hits.is_empty());
    // A person who vouches for it does.
    let vouched = Change { vouched: true, ..Change::default() };
    assert!(!memories.update(&person(UserId::OWNER), id, vouched).await.unwrap().unwrap().from_outside);
    let found = memories.recall(&cx, "shop opens", own()).await.unwrap().hits;
    assert_eq!((found.len(), cx.label()), (1, Label::Own));
}
