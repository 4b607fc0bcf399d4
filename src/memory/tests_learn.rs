//! Facts that are stated twice, replaced, used and forgotten, with the real store and the real model.

use super::*;
use crate::same::{Relation, relation};
use std::time::Duration;
use tool::{Channel, Ports, Principal, SystemClock, Via};

fn embedder() -> Embedder {
    Embedder::new(Duration::from_secs(600))
}

fn owner() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
}

fn new(content: &str) -> New {
    New { content: content.into(), importance: 0.5, ..New::default() }
}

async fn learn(memories: &Memories, cx: &Cx, content: &str) -> Learned {
    memories.learn(cx, vec![new(content)]).await.unwrap().pop().unwrap()
}

fn contents(memories: &Memories, cx: &Cx) -> Vec<String> {
    memories.list(cx, &Filter::default()).unwrap().into_iter().map(|memory| memory.content).collect()
}

#[tokio::test]
async fn a_fact_is_stored_once_and_replaced_with_its_history() {
    let store = Store::in_memory().unwrap();
    let (memories, cx) = (Memories::new(&store, embedder()), owner());
    let first = learn(&memories, &cx, "The wifi password is plum-42").await;
    assert_eq!((first.outcome, &first.before), (Outcome::Added, &None));
    for (text, outcome, before) in [
        ("the wifi password is plum-42.", Outcome::Known, None),
        ("The password of the wifi is plum-42", Outcome::Known, Some("The wifi password is plum-42")),
        ("The wifi password changed to fig-77", Outcome::Replaced, Some("The password of the wifi is plum-42")),
        ("Our wifi password is kiwi-9", Outcome::Replaced, Some("The wifi password changed to fig-77")),
    ] {
        let learned = learn(&memories, &cx, text).await;
        assert_eq!((learned.outcome, learned.before.as_deref()), (outcome, before), "{text}");
        assert_eq!(learned.memory.id, first.memory.id, "{text}");
    }
    assert_eq!(contents(&memories, &cx), ["Our wifi password is kiwi-9"]);
    let now = &memories.list(&cx, &Filter::default()).unwrap()[0];
    let earlier: Vec<&str> = now.earlier.iter().map(|e| e.content.as_str()).collect();
    let expected =
        ["The wifi password is plum-42", "The password of the wifi is plum-42", "The wifi password changed to fig-77"];
    assert_eq!(earlier, expected);
    // The changed text is what is found, also by another index.
    for memories in [memories.clone(), Memories::new(&store, embedder())] {
        let asked =
            async |q: &str| memories.recall(&cx, q, Filter { limit: 3, ..Filter::default() }).await.unwrap().hits;
        assert_eq!(asked("kiwi-9").await.len(), 1);
        assert_eq!(asked("wifi password").await[0].memory.content, "Our wifi password is kiwi-9");
    }
    let dropped = Change { drop_earlier: true, ..Change::default() };
    assert!(memories.update(&cx, first.memory.id, dropped).await.unwrap().unwrap().earlier.is_empty());
}

#[tokio::test]
async fn other_facts_stay_and_where_two_could_be_meant_all_do() {
    let (memories, cx) = (Memories::new(&Store::in_memory().unwrap(), embedder()), owner());
    for text in ["Anna's birthday is on 12 March", "Ben's birthday is on 12 March", "Anna likes fish"] {
        assert_eq!(learn(&memories, &cx, text).await.outcome, Outcome::Added, "{text}");
    }
    let denied = learn(&memories, &cx, "Anna does not like fish").await;
    assert_eq!(denied.outcome, Outcome::Added);
    assert_eq!(denied.similar[0].content, "Anna likes fish", "the caller sees what it may contradict");
    // Two memories of one fact from before: a change could mean either.
    for text in ["The gate code is 11", "The code of the gate is 22"] {
        memories.remember(&cx, new(text)).await.unwrap();
    }
    let unsure = learn(&memories, &cx, "The gate code is 33").await;
    assert_eq!((unsure.outcome, unsure.similar.len()), (Outcome::Added, 2));
    assert_eq!(contents(&memories, &cx).len(), 7);
}

#[tokio::test]
async fn a_batch_is_one_write_without_repeats() {
    let (memories, cx) = (Memories::new(&Store::in_memory().unwrap(), embedder()), owner());
    learn(&memories, &cx, "The bins go out on Monday").await;
    let texts = [
        "Anna's birthday is on 12 March",
        "The bins go out on Tuesday now",
        "Anna was born on March 12",
        "The ladder is in the shed",
    ];
    let all = memories.learn(&cx, texts.map(new).to_vec()).await.unwrap();
    let outcomes: Vec<Outcome> = all.iter().map(|learned| learned.outcome).collect();
    assert_eq!(outcomes, [Outcome::Added, Outcome::Replaced, Outcome::Known, Outcome::Added]);
    assert_eq!(all[0].memory.id, all[2].memory.id);
    assert_eq!(contents(&memories, &cx).len(), 3);
    let bad = memories.learn(&cx, vec![new("The attic is cold"), new("  ")]).await;
    assert!(matches!(bad, Err(Error::BadArgs(_))), "{bad:?}");
    assert_eq!(contents(&memories, &cx).len(), 3);
}

#[tokio::test]
async fn a_tainted_run_changes_nothing_and_words_from_outside_stay_apart() {
    let (memories, cx) = (Memories::new(&Store::in_memory().unwrap(), embedder()), owner());
    let own = learn(&memories, &cx, "The shop opens at nine").await.memory;
    let tainted = owner();
    tainted.taint(Label::Outside);
    let known = learn(&memories, &tainted, "The shop opens at 9").await;
    assert_eq!((known.outcome, known.before, known.memory.id), (Outcome::Known, None, own.id));
    assert_eq!(contents(&memories, &cx), ["The shop opens at nine"]);
    let added = learn(&memories, &tainted, "The shop now opens at eight").await;
    assert_eq!((added.outcome, added.memory.from_outside), (Outcome::Added, true));
    // The person's own words are not merged into words from outside.
    let said = learn(&memories, &owner(), "The shop now opens at eight").await;
    assert_eq!((said.outcome, said.memory.id, said.memory.from_outside), (Outcome::Replaced, own.id, false));
    // Nor into what another person shares.
    let ben = Cx::root(
        owner().ports().clone(),
        Principal { user: UserId(Id::new()), ..Principal::owner() },
        Via::direct(Channel::Api),
    );
    let shared = New { shared: true, ..new("The ladder is in the shed") };
    memories.learn(&ben, vec![shared]).await.unwrap();
    assert_eq!(learn(&memories, &owner(), "The ladder is in the shed").await.outcome, Outcome::Added);
}

#[tokio::test]
async fn uses_are_counted_in_memory_and_written_together() {
    let store = Store::in_memory().unwrap();
    let (memories, cx) = (Memories::new(&store, embedder()), owner());
    learn(&memories, &cx, "The ladder is in the shed").await;
    let find =
        async || memories.recall(&cx, "ladder", Filter { limit: 1, ..Filter::default() }).await.unwrap().hits.remove(0);
    assert_eq!(find().await.memory.uses, 0);
    let (second, third, fourth) = (find().await, find().await, find().await);
    assert_eq!((second.memory.uses, third.memory.uses, fourth.memory.uses), (1, 2, 3));
    assert_eq!((third.besides, fourth.besides.clone()), (vec![], vec!["often recalled"]));
    assert!(fourth.meaning.is_some_and(|meaning| meaning > 0.3) && fourth.presence > 0.99, "{fourth:?}");
    let stored = || memories.records.get_in(Scope::User(UserId::OWNER), second.memory.id).unwrap().unwrap().value;
    assert_eq!((stored().uses, stored().used_ms), (0, 0), "searching wrote nothing");
    memories.write_uses();
    store.sync().await.unwrap();
    // A later durable write carries the waiting ones with it.
    learn(&memories, &cx, "The attic is cold").await;
    assert_eq!(stored().uses, 4);
    assert!(stored().used_ms > second.memory.created_ms.saturating_sub(1));
    assert_eq!(Memories::new(&store, embedder()).list(&cx, &Filter::default()).unwrap()[1].uses, 4);
}

#[tokio::test]
async fn only_a_full_memory_forgets_and_the_least_valuable_first() {
    let store = Store::in_memory().unwrap();
    let (mut memories, cx) = (Memories::new(&store, embedder()), owner());
    memories.most = Some(4);
    let important = |content: &str, importance| New { importance, ..new(content) };
    let all = [
        ("The attic is cold", 0.1),
        ("Ben is allergic to nuts", 1.0),
        ("A blue cup broke", 0.0),
        ("The vet is Dr Novak", 0.7),
    ];
    memories.learn(&cx, all.map(|(text, importance)| important(text, importance)).to_vec()).await.unwrap();
    assert_eq!(memories.maintain().await.unwrap(), []);
    assert_eq!(contents(&memories, &cx).len(), 4);
    memories.recall(&cx, "cold attic", Filter { limit: 1, ..Filter::default() }).await.unwrap();
    memories.learn(&cx, vec![important("The stopcock is under the sink", 0.5)]).await.unwrap();
    assert_eq!(memories.maintain().await.unwrap(), [(UserId::OWNER, 1)]);
    let left = contents(&memories, &cx);
    assert!(left.len() == 4 && !left.contains(&"A blue cup broke".to_owned()), "{left:?}");
    assert!(memories.recall(&cx, "blue cup", Filter { limit: 1, ..Filter::default() }).await.unwrap().hits.is_empty());
    // It is in the bin.
    let changes = store.changes(UserId::OWNER, 1, |_| true).unwrap();
    assert!(changes[0].is_reversible() && changes[0].unattended, "{changes:?}");
    assert_eq!(memories.maintain().await.unwrap(), []);
}

/// Households that were written for other tests: none of their facts is taken for another one.
#[test]
fn memories_of_other_tests_are_all_different_facts() {
    const HOUSEHOLDS: [&str; 4] = [
        include_str!("answer/development/family.txt"),
        include_str!("answer/development/workshop.txt"),
        include_str!("answer/development/german.txt"),
        include_str!("answer/development/couple.txt"),
    ];
    let (mut compared, mut merged) = (0, vec![]);
    for household in HOUSEHOLDS {
        let all: Vec<&str> = household.lines().filter_map(|line| line.strip_prefix("+ ")).collect();
        for old in &all {
            for new in all.iter().filter(|new| *new != old) {
                compared += 1;
                if relation(old, new) != Relation::Different {
                    merged.push(format!("{old} | {new}"));
                }
            }
        }
    }
    println!("{compared} pairs");
    assert!(compared > 2000 && merged.is_empty(), "{compared} {merged:#?}");
}
