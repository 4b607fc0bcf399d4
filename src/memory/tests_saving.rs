//! The index file: after any changes, restarts and restores a search finds what it would without the file.

use crate::{
    Change, Filter, Memories, New,
    holder::Saving,
    journal::IndexState,
    records::{Stored, Vector},
};
use embed::Embedder;
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Channel, Cx, Id, Ports, Principal, Scope, SystemClock, UserId, Via};

/// Saved whenever it is asked.
const ALWAYS: Saving =
    Saving { least: 1, idle: Duration::ZERO, pause: Duration::ZERO, removals: Duration::ZERO, changes: 0 };

/// A data folder that is removed with it.
pub(crate) struct Dir(pub PathBuf);

impl Dir {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("hob-recall-{}", Id::new())))
    }
    fn index(&self) -> PathBuf {
        self.0.join(store::MEMORY_INDEX)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Home {
    pub dir: Dir,
    embedder: Embedder,
    pub anna: Cx,
    ben: Cx,
}

impl Home {
    pub fn new() -> Self {
        Self::at(Dir::new())
    }
    pub fn at(dir: Dir) -> Self {
        let embedder = Embedder::new(Duration::from_secs(600));
        Self { dir, embedder, anna: person(UserId::OWNER), ben: person(UserId(Id::new())) }
    }
    pub fn open(&self) -> Memories {
        self.over(&Store::open(&self.dir.0).unwrap())
    }
    pub fn over(&self, store: &Store) -> Memories {
        Memories::saving(store, self.embedder.clone(), ALWAYS)
    }
    /// The hits of both.
    pub async fn found(&self, memories: &Memories) -> Vec<String> {
        let mut all = vec![];
        for cx in [&self.anna, &self.ben] {
            for query in ["boiler", "every", "who looked after the heating?", "pet doctor", "number7 number9"] {
                let found = memories.recall(cx, query, Filter { limit: 99, ..Filter::default() }).await.unwrap();
                let hits = found.hits.iter().map(|h| format!("{} {} {}", h.memory.content, h.score, h.why));
                all.extend(hits);
            }
            all.push(format!("{:?}", memories.stats(cx).await.unwrap()));
        }
        all
    }
    /// Finds the same as an index that is built from the memories.
    pub async fn check(&self, memories: &Memories) {
        let found = self.found(memories).await;
        let file = fs::read(self.dir.index()).ok();
        let _ = fs::remove_file(self.dir.index());
        let built = self.over(memories.records.store());
        assert_eq!(found, self.found(&built).await);
        file.into_iter().for_each(|bytes| fs::write(self.dir.index(), bytes).unwrap());
    }
}

/// Closes the store: counts of uses that wait for a commit hold it open.
pub(crate) async fn close(memories: Memories) {
    memories.records.store().flush().await.unwrap();
}

pub(crate) fn person(user: UserId) -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal { user, ..Principal::owner() }, Via::direct(Channel::Api))
}

pub(crate) fn new(content: &str) -> New {
    New { content: content.into(), importance: 0.5, ..New::default() }
}

/// Whether an index is built from the file alone, and not from the memories.
async fn is_read_from_file(memories: &Memories) -> bool {
    memories.index.has_file().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_changes_and_restarts_it_finds_what_is_stored() {
    let home = Home::new();
    let mut memories = home.open();
    let mut state = 7_u64;
    let mut dice = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    const ABOUT: &[&str] =
        &["Marta serviced the boiler", "The cat goes to the vet", "The bins go out", "Nuts make Ben ill"];
    let mut ids: Vec<(bool, Id)> = vec![];
    for n in 0..150 {
        let text = format!("{} every number{}", ABOUT[dice(4) as usize], dice(12));
        let whose = dice(2) == 0;
        let at = (!ids.is_empty()).then(|| dice(ids.len() as u64) as usize);
        match (dice(10), at) {
            (0..4, _) | (_, None) => {
                let cx = if whose { &home.anna } else { &home.ben };
                let memory = New { shared: dice(3) == 0, ..new(&text) };
                ids.push((whose, memories.remember(cx, memory).await.unwrap().id));
            }
            (4, Some(at)) => {
                let (whose, id) = ids.swap_remove(at);
                assert!(memories.forget(if whose { &home.anna } else { &home.ben }, id, false).await.unwrap());
            }
            (5 | 6, Some(at)) => {
                let (whose, id) = ids[at];
                let change = Change {
                    content: (dice(2) == 0).then_some(text),
                    shared: Some(dice(2) == 0),
                    importance: Some(dice(10) as f32 / 10.0),
                    ..Change::default()
                };
                let cx = if whose { &home.anna } else { &home.ben };
                memories.update(cx, id, change).await.unwrap().unwrap();
            }
            (7, Some(at)) => {
                let (whose, id) = ids[at];
                memories.boost(if whose { &home.anna } else { &home.ben }, id, 0.1).await.unwrap();
            }
            (8, Some(_)) => drop(memories.maintain().await.unwrap()),
            _ => {
                close(memories).await;
                memories = home.open();
            }
        }
        if n % 25 == 24 {
            home.check(&memories).await;
        }
    }
    home.found(&memories).await;
    memories.maintain().await.unwrap();
    assert!(!memories.index.is_loaded(), "the next search reads the file");
    home.found(&memories).await;
    assert!(is_read_from_file(&memories).await);
    home.check(&memories).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_of_this_data_is_not_used() {
    let home = Home::new();
    let memories = home.open();
    let boiler = memories.remember(&home.anna, new("Marta serviced the boiler")).await.unwrap().id;
    home.found(&memories).await;
    memories.maintain().await.unwrap();
    home.found(&memories).await;
    assert!(is_read_from_file(&memories).await);
    let early = home.dir.0.join("early.hob");
    memories.records.store().backup(early.clone()).await.unwrap();

    // A power cut between the file and the commit that names it: the file is newer than the data says.
    memories.remember(&home.anna, new("The cat goes to the vet every Friday")).await.unwrap();
    let named = fs::read(home.dir.index()).unwrap();
    assert!(memories.index.save_only().await, "no write is pending");
    memories.remember(&home.anna, new("number7")).await.unwrap();
    close(memories).await;
    let memories = home.open();
    home.check(&memories).await;
    assert!(!is_read_from_file(&memories).await);
    // The named one again: changes since are marked.
    close(memories).await;
    fs::write(home.dir.index(), named).unwrap();
    let memories = home.open();
    home.check(&memories).await;
    assert!(is_read_from_file(&memories).await);

    // A Hob that marks nothing has changed a memory; the next one finds another lineage.
    let store = memories.records.store().clone();
    let (records, vectors): (Collection<Stored>, Collection<Vector>) = (store.collection(), store.collection());
    let states = store.collection::<IndexState>();
    let scope = Scope::User(UserId::OWNER);
    let change = move |tx: &store::Tx| {
        let state = states.read(tx, Scope::Household, Id::NIL)?.unwrap().value;
        states.put(tx, Id::NIL, &Stamp::household(""), &IndexState { lineage: Id::new(), ..state })?;
        vectors.remove(tx, scope, boiler)?;
        let renamed = &mut |m: &mut Stored| {
            m.content = "nothing of the kind".into();
            Ok(())
        };
        records.change(tx, scope, tool::Label::Own, boiler, renamed).map(drop)
    };
    store.write(change).await.unwrap();
    drop(store);
    close(memories).await;
    let memories = home.open();
    home.check(&memories).await;
    assert!(!is_read_from_file(&memories).await);
    memories.maintain().await.unwrap();
    home.found(&memories).await;
    assert!(is_read_from_file(&memories).await, "it was written again");
    home.check(&memories).await;

    // A restore brings older data, and removes the file.
    close(memories).await;
    store::restore(&home.dir.0, &early).unwrap();
    assert!(!home.dir.index().exists());
    let memories = home.open();
    home.check(&memories).await;
    assert!(home.found(&memories).await.iter().any(|hit| hit.contains("boiler")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_saved_while_a_write_is_not_in_the_index() {
    let home = Home::new();
    let memories = home.open();
    memories.remember(&home.anna, new("Marta serviced the boiler")).await.unwrap();
    memories.maintain().await.unwrap();
    assert!(!home.dir.index().exists(), "nobody has searched yet");
    home.found(&memories).await;
    let pending = memories.index.pending();
    memories.maintain().await.unwrap();
    assert!(!home.dir.index().exists());
    drop(pending);
    memories.maintain().await.unwrap();
    assert!(home.dir.index().exists());
    // A file that was deleted is written again.
    fs::remove_file(home.dir.index()).unwrap();
    home.found(&memories).await;
    memories.maintain().await.unwrap();
    assert!(home.dir.index().exists());
    // A small index is not worth a file.
    fs::remove_file(home.dir.index()).unwrap();
    let few = Memories::new(memories.records.store(), home.embedder.clone());
    home.found(&few).await;
    few.maintain().await.unwrap();
    assert!(!home.dir.index().exists() && few.index.is_loaded());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_stops_waiting_leaves_the_index_true() {
    let home = Home::new();
    let memories = home.open();
    memories.remember(&home.anna, new("Marta serviced the boiler")).await.unwrap();
    home.found(&memories).await;
    let adding = memories.remember(&home.anna, new("The bins go out every Monday"));
    // Its text is embedded by then, and the write has begun.
    let _ = tokio::time::timeout(Duration::from_millis(1), adding).await;
    let mut seen = false;
    for _ in 0..200 {
        let store = memories.records.store();
        let stored = store.collection::<Stored>().list(&home.anna, &store::Listing::default()).unwrap().len();
        let found = memories.recall(&home.anna, "bins", Filter::default()).await.unwrap().hits.len();
        seen = stored == 1 || found == 1;
        if seen {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(seen, "it is stored, and never found");
    home.check(&memories).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_one_commit_and_a_long_text_in_it_stores_none() {
    let home = Home::new();
    let memories = home.open();
    let store = memories.records.store();
    let before = store.stats().unwrap().commits;
    let all = (0..20).map(|n| new(&format!("Memory number{n}"))).collect();
    assert_eq!(memories.remember_all(&home.anna, all).await.unwrap().len(), 20);
    assert_eq!(store.stats().unwrap().commits, before + 1);
    let long = "x".repeat(crate::LONGEST + 1);
    assert!(memories.remember_all(&home.anna, vec![new("short"), new(&long)]).await.is_err());
    assert_eq!(memories.stats(&home.anna).await.unwrap().total, 20);
    // Those without a vector get one together.
    let vectors = memories.vectors.clone();
    for memory in memories.list(&home.anna, &Filter { limit: 10, ..Filter::default() }).unwrap() {
        vectors.delete(&home.anna, memory.id).await.unwrap();
    }
    let again = home.over(store);
    let before = store.stats().unwrap().commits;
    assert_eq!(again.backfill_embeddings().await.unwrap(), 10);
    assert_eq!(store.stats().unwrap().commits, before + 1);
    home.check(&again).await;
}

/// A record that cannot be read as a memory: its text has no end.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Bent(u64);

impl Record for Bent {
    const NAME: &'static str = "memories";
    const WORD: &'static str = "memory";
    const LEVEL: Level = Level::User;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_memory_hides_no_others() {
    let home = Home::new();
    let memories = home.open();
    let broken = memories.remember(&home.anna, new("The boiler makes noises")).await.unwrap().id;
    memories.remember(&home.anna, new("Marta serviced the boiler")).await.unwrap();
    assert_eq!(
        memories.recall(&home.anna, "boiler", Filter { limit: 9, ..Filter::default() }).await.unwrap().hits.len(),
        2
    );
    let bent = memories.records.store().collection::<Bent>();
    let stamp = bent.stamp(&home.anna, "t");
    let put = move |tx: &store::Tx| bent.put(tx, broken, &stamp, &Bent(u64::MAX)).map(drop);
    memories.records.store().write(put).await.unwrap();
    let found = memories.recall(&home.anna, "boiler", Filter { limit: 9, ..Filter::default() }).await.unwrap().hits;
    assert_eq!(found.len(), 1, "{found:?}");
    home.check(&home.over(memories.records.store())).await;
}
