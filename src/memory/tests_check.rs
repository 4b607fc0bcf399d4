//! Broken indexes and vectors are found and repaired; sound ones are left alone.

use crate::{
    Change, Memories,
    index::Facts,
    tests_saving::{Home, new},
};
use store::{Compared, Tx, Until};
use tool::{Id, Scope, UserId};

async fn check(memories: &Memories) -> Compared {
    let memories = memories.clone();
    tokio::task::spawn_blocking(move || memories.check(Until::DONE).unwrap()).await.unwrap()
}

async fn filled(home: &Home) -> (Memories, Vec<Id>) {
    let memories = home.open();
    let mut ids = vec![];
    for n in 0..7 {
        let text = format!("Marta serviced the boiler, number{n} of number{n} boilers");
        ids.push(memories.remember(&home.anna, new(&text)).await.unwrap().id);
    }
    memories.forget(&home.anna, ids.remove(0), false).await.unwrap();
    let change = Change { content: Some("The cat goes to the vet".into()), shared: Some(true), ..Change::default() };
    memories.update(&home.anna, ids[0], change).await.unwrap();
    memories.boost(&home.anna, ids[1], 0.3).await.unwrap();
    (memories, ids)
}

async fn is_sound(memories: &Memories, wrong: u64) {
    let found = check(memories).await;
    assert_eq!((found.wrong, found.cut_short), (wrong, false), "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_broken_part_is_found_and_repaired() {
    const OTHER: &str = "another text altogether";
    type Break = fn(&mut crate::index::Index, Facts);
    let breaks: [(&str, u64, Break); 6] = [
        ("a row is missing", 1, |index, facts| {
            index.remove(facts.id);
        }),
        ("other words", 1, |index, facts| {
            index.put(&facts, OTHER, None);
        }),
        ("other facts", 1, |index, facts| {
            index.touch(&Facts { importance: 0.9, ..facts });
        }),
        ("shared with the household", 1, |index, facts| {
            index.touch(&Facts { shared: true, ..facts });
        }),
        ("a memory that is none", 1, |index, facts| {
            index.put(&Facts { id: Id::new(), ..facts }, OTHER, None);
        }),
        ("more words than terms", 1, |index, facts| index.add_words(facts.id, OTHER)),
    ];
    let home = Home::new();
    let (memories, ids) = filled(&home).await;
    is_sound(&memories, 0).await;
    for (name, wrong, break_it) in breaks {
        let entry = memories.records.get_in(Scope::User(UserId::OWNER), ids[3]).unwrap().unwrap();
        memories.index.with(move |index, _| break_it(index, crate::holder::facts(&entry))).await.unwrap();
        let found = check(&memories).await;
        assert_eq!(found.wrong, wrong, "{name}: {found:?}");
        assert_eq!(memories.repair().await.unwrap().wrong, wrong, "{name}");
        is_sound(&memories, 0).await;
        home.check(&memories).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_file_is_dropped_and_vectors_without_a_memory_are_removed() {
    let home = Home::new();
    let (memories, ids) = filled(&home).await;
    // The index that is saved lacks a memory.
    let gone = ids[4];
    memories.index.with(move |index, _| index.remove(gone)).await.unwrap();
    memories.maintain().await.unwrap();
    assert!(memories.index.has_file().await);
    is_sound(&memories, 1).await;
    let reopened = home.over(memories.records.store());
    is_sound(&reopened, 1).await;
    assert_eq!(reopened.repair().await.unwrap().wrong, 1);
    assert!(!reopened.index.has_file().await);
    is_sound(&reopened, 0).await;
    drop(memories);
    let memories = reopened;
    // A vector that is missing is computed again, and nobody's is removed.
    let (this, scope) = (memories.clone(), Scope::User(UserId::OWNER));
    let spoil = move |tx: &Tx| {
        let vector = this.vectors.read(tx, scope, ids[1])?.unwrap();
        let stamp = store::Stamp { scope, ..store::Stamp::household("t") };
        this.vectors.put(tx, Id::new(), &stamp, &vector.value)?;
        this.vectors.remove(tx, scope, ids[2]).map(drop)
    };
    memories.records.store().write(spoil).await.unwrap();
    let found = check(&memories).await;
    assert_eq!((found.wrong, found.pending), (2, 1), "{found:?}");
    memories.repair().await.unwrap();
    let found = check(&memories).await;
    assert_eq!((found.wrong, found.pending), (0, 1), "{found:?}");
    assert_eq!(memories.backfill_embeddings().await.unwrap(), 1);
    let found = check(&memories).await;
    assert_eq!((found.wrong, found.pending, found.compared), (0, 0, 12), "{found:?}");
    assert!(memories.check(Until::within(std::time::Duration::ZERO)).unwrap().cut_short);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_meanwhile_are_no_disagreement() {
    let home = Home::new();
    let (memories, _) = filled(&home).await;
    let (writing, cx) = (memories.clone(), home.anna.clone());
    let writes = tokio::spawn(async move {
        for n in 0..60 {
            let id = writing.remember(&cx, new(&format!("number{n} is in the cellar"))).await.unwrap().id;
            if n % 3 == 0 {
                writing.forget(&cx, id, true).await.unwrap();
            }
        }
    });
    while !writes.is_finished() {
        assert_eq!(check(&memories).await.wrong, 0);
    }
    writes.await.unwrap();
    is_sound(&memories, 0).await;
}
