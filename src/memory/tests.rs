//! Memory as its users see it, with the real store and the real model.

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
    let stats = memories.stats(&cx).unwrap();
    assert_eq!((stats.total, stats.preferences, stats.with_meaning), (2, 1, 2));
    assert!(memories.forget(&cx, tea.id).await.unwrap());
    assert!(!memories.forget(&cx, tea.id).await.unwrap());
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
    assert_eq!(memories.stats(&ben).unwrap().total, 1);
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
    assert_eq!(again.mend().await.unwrap(), 1);
    assert_eq!(ask().await.unwrap().hits[0].memory.id, kept.id);
    assert_eq!(again.mend().await.unwrap(), 0);
}
