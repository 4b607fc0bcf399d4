//! Journaling and undoing with the real store in memory.

use super::*;
use crate::{Collection, Store, with_soon};
use tool::{Channel, Cx, Ports, Principal, SystemClock, Via};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Thing {
    name: String,
    uses: u32,
}

impl Record for Thing {
    const NAME: &'static str = "things";
    const WORD: &'static str = "thing";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) {
        self.uses = 0;
    }
    fn revive(&mut self, now: Option<&Self>) {
        self.uses = now.map_or(self.uses, |now| now.uses);
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}

struct World {
    store: Store,
    things: Collection<Thing>,
    cx: Cx,
}

fn thing(name: &str) -> Thing {
    Thing { name: name.into(), uses: 0 }
}

impl World {
    fn new() -> Self {
        let ports = Ports::unconnected(Arc::new(SystemClock::new(Some("UTC")).unwrap()));
        let store = Store::in_memory().unwrap();
        let things = store.collection();
        Self { store, things, cx: Cx::root(ports, Principal::owner(), Via::direct(Channel::Api)) }
    }

    fn source(&self) -> ChangeSource {
        ChangeSource {
            id: Id::new(),
            user: self.cx.user(),
            tool: "test".into(),
            conversation: None,
            run: None,
            unattended: false,
            undoes: None,
        }
    }

    /// Runs `work` as one change, and returns it.
    async fn change<F: Future>(&self, work: F) -> (Option<Change>, F::Output) {
        let source = self.source();
        let id = source.id;
        let output = with_change(Some(source), work).await;
        (self.store.change(self.cx.user(), id).unwrap(), output)
    }

    async fn undo(&self, change: &Change) -> Result<Vec<PutBack>> {
        let (store, change) = (self.store.clone(), change.clone());
        let undone = self.store.write(move |tx| {
            let all = change.parts.iter().rev().map(|part| store.put_back(tx, part)).collect::<Result<Vec<_>>>()?;
            store.close_change(tx, change.user, change.id)?;
            Ok(all)
        });
        undone.await
    }

    fn get(&self, id: Id) -> Option<Thing> {
        self.things.get(&self.cx, id).unwrap().map(|entry| entry.value)
    }
}

#[tokio::test]
async fn additions_changes_and_deletions_are_undone_with_their_labels() {
    let w = World::new();
    let (added, milk) = w.change(w.things.insert(&w.cx, "t", thing("milk"))).await;
    let (added, milk) = (added.unwrap(), milk.unwrap());
    assert_eq!((added.parts.len(), added.parts[0].did(), &added.parts[0].title[..]), (1, Did::Added, "milk"));

    let rename = |to: &'static str| {
        w.things.update(&w.cx, milk.id, move |thing| {
            thing.name = to.into();
            Ok(())
        })
    };
    let (changed, _) = w.change(rename("oat milk")).await;
    let changed = changed.unwrap();
    assert_eq!(changed.parts[0].did(), Did::Changed);
    // The earlier change cannot be undone while the later one stands.
    assert_eq!(w.undo(&added).await.unwrap(), [PutBack::ChangedSince]);
    assert_eq!(w.undo(&changed).await.unwrap(), [PutBack::Done]);
    assert_eq!(w.get(milk.id).unwrap().name, "milk");

    w.cx.taint(Label::Outside);
    let (marked, _) = w.change(rename("milk from outside")).await;
    assert_eq!(marked.unwrap().label, Label::Outside);
    let (gone, _) = w.change(w.things.delete(&w.cx, milk.id)).await;
    let gone = gone.unwrap();
    assert_eq!((gone.parts[0].did(), gone.label), (Did::Deleted, Label::Outside));
    assert_eq!(w.store.bin(w.cx.user()).unwrap().len(), 1);
    assert_eq!(w.undo(&gone).await.unwrap(), [PutBack::Done]);
    let back = w.things.get(&w.cx, milk.id).unwrap().unwrap();
    assert_eq!((&back.value.name[..], back.label), ("milk from outside", Label::Outside));
    assert!(w.store.bin(w.cx.user()).unwrap().is_empty());
    // An undone change holds no copies any more.
    let closed = w.store.change(w.cx.user(), gone.id).unwrap().unwrap();
    assert!(closed.undone && closed.parts.is_empty());
}

#[tokio::test]
async fn what_hob_changes_by_itself_does_not_stand_in_the_way() {
    let w = World::new();
    let (_, milk) = w.change(w.things.insert(&w.cx, "t", thing("milk"))).await;
    let id = milk.unwrap().id;
    let (changed, _) = w
        .change(w.things.update(&w.cx, id, |thing| {
            thing.name = "tea".into();
            Ok(())
        }))
        .await;
    let count = |thing: &mut Thing| {
        thing.uses += 1;
        Ok(())
    };
    w.things.update(&w.cx, id, count).await.unwrap();
    assert_eq!(w.undo(&changed.unwrap()).await.unwrap(), [PutBack::Done]);
    assert_eq!(w.get(id).unwrap(), Thing { name: "milk".into(), uses: 1 });
    // Only uses changed: that is no change of a person.
    assert_eq!(w.change(w.things.update(&w.cx, id, count)).await.0, None);
}

#[tokio::test]
async fn a_call_is_one_change_and_unjournaled_work_leaves_none() {
    let w = World::new();
    let (change, ids) = w
        .change(async {
            let a = w.things.insert(&w.cx, "t", thing("a")).await.unwrap().id;
            let b = w.things.insert(&w.cx, "t", thing("b")).await.unwrap().id;
            let add = |thing: &mut Thing| {
                thing.name.push('!');
                Ok(())
            };
            w.things.update(&w.cx, a, add).await.unwrap();
            let c = with_change(Some(w.source()), w.things.insert(&w.cx, "t", thing("c"))).await.unwrap().id;
            let d = w.things.insert(&w.cx, "t", thing("d")).await.unwrap().id;
            w.things.delete(&w.cx, d).await.unwrap();
            [a, b, c]
        })
        .await;
    let change = change.unwrap();
    let titles: Vec<&str> = change.parts.iter().map(|part| &part.title[..]).collect();
    assert_eq!(titles, ["a!", "b", "c"]);
    assert_eq!(w.store.changes(w.cx.user(), 10, |_| true).unwrap().len(), 1);
    assert_eq!(w.undo(&change).await.unwrap(), [PutBack::Done; 3]);
    assert!(ids.iter().all(|id| w.get(*id).is_none()));

    let (none, _) = w.change(without_change(w.things.insert(&w.cx, "t", thing("x")))).await;
    assert_eq!(none, None);
    // Nor does a write that nobody made as a call, one that failed, or one that changed nothing.
    w.things.insert(&w.cx, "t", thing("y")).await.unwrap();
    assert_eq!(w.change(w.things.insert(&w.cx, "t", thing("y"))).await.0, None);
    let spawned = w.change(async {
        let (things, cx) = (w.things.clone(), w.cx.clone());
        tokio::spawn(crate::inherit_effect(async move { things.insert(&cx, "t", thing("z")).await })).await
    });
    assert_eq!(spawned.await.0.unwrap().parts[0].title, "z");
}

#[tokio::test]
async fn an_undo_fails_whole_where_a_unique_value_is_taken() {
    let w = World::new();
    let (_, milk) = w.change(w.things.insert(&w.cx, "t", thing("milk"))).await;
    let (gone, _) = w.change(w.things.delete(&w.cx, milk.unwrap().id)).await;
    w.things.insert(&w.cx, "t", thing("milk")).await.unwrap();
    let gone = gone.unwrap();
    assert!(matches!(w.undo(&gone).await, Err(crate::Error::Conflict(_))));
    assert!(!w.store.change(w.cx.user(), gone.id).unwrap().unwrap().undone, "it can be tried again");
}

#[tokio::test]
async fn the_journal_is_bounded_and_copies_can_be_erased() {
    let w = World::new();
    let (large, _) = w.change(w.things.insert(&w.cx, "t", thing(&"x".repeat(LARGEST + 1)))).await;
    let id = large.unwrap().parts[0].id().unwrap();
    let (gone, _) = w.change(w.things.delete(&w.cx, id)).await;
    let gone = gone.unwrap();
    assert!(gone.too_large && !gone.is_reversible() && w.store.bin(w.cx.user()).unwrap().is_empty());

    let (_, milk) = w.change(w.things.insert(&w.cx, "t", thing("milk"))).await;
    let id = milk.unwrap().id;
    let (gone, _) = w.change(w.things.delete(&w.cx, id)).await;
    let (store, user) = (w.store.clone(), w.cx.user());
    let erased = w.store.write(move |tx| store.erase_copies(tx, user, |part| part.id() == Some(id))).await.unwrap();
    assert_eq!((erased, w.store.change(user, gone.unwrap().id).unwrap()), (2, None));

    assert_eq!(w.store.prune_changes(0).await.unwrap(), 0);
    let all = w.store.changes(user, 99, |_| true).unwrap().len();
    assert_eq!(w.store.prune_changes(Id::now_ms() + 1).await.unwrap(), all);
    assert!(w.store.changes(user, 99, |_| true).unwrap().is_empty());
}

#[tokio::test]
async fn the_change_is_in_the_commit_of_the_write() {
    let w = World::new();
    let before = w.store.stats().unwrap().commits;
    w.change(w.things.insert(&w.cx, "t", thing("milk"))).await.1.unwrap();
    assert_eq!(w.store.stats().unwrap().commits, before + 1);
    // Something outside the store waits for a commit to share.
    let part = Part {
        table: "pins".into(),
        key: b"17".to_vec(),
        before: Some(vec![0]),
        after: vec![1],
        title: "pin 17".into(),
        list: String::new(),
        shared: true,
    };
    let (change, noted) = with_soon(None, w.change(w.store.note_outside(part.clone()))).await;
    noted.unwrap();
    assert_eq!((change.unwrap().parts, part.id(), part.did()), (vec![part], None, Did::Changed));
    assert_eq!(w.store.stats().unwrap().commits, before + 1);
}
