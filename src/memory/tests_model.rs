//! Another embedding model: its vectors replace the old ones step by step, and are never compared with them.

use crate::{Filter, Memories, New, holder::Saving};
use embed::Embedder;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::Store;
use tool::{Channel, Cx, Id, Ports, Principal, SystemClock, Via};

// The builder of a small model, which the unit tests of `embed` use too; only a part of it is needed here.
#[allow(dead_code)]
#[path = "../embed/own/tiny.rs"]
mod tiny;

const ALWAYS: Saving =
    Saving { least: 1, idle: Duration::ZERO, pause: Duration::ZERO, removals: Duration::ZERO, changes: 0 };
/// Invented words: only the small model knows that they mean the same.
const TOPICS: [&[&str]; 2] = [&["blicket", "frumple"], &["wubbish", "quandle"]];
const TEXTS: [&str; 4] =
    ["the blicket is in the cellar", "the wubbish goes out on monday", "tea at five", "nuts make Ben ill"];

/// A folder that is removed with it.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("hob-model-{}", Id::new())))
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn anna() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
}

fn built_in() -> Embedder {
    Embedder::new(Duration::from_secs(600))
}

fn own(models: &Path) -> Embedder {
    Embedder::chosen(Duration::from_secs(600), models, "")
}

async fn recall(memories: &Memories, query: &str) -> Vec<(String, String)> {
    let found = memories.recall(&anna(), query, Filter { limit: 9, ..Filter::default() }).await.unwrap();
    found.hits.into_iter().map(|hit| (hit.memory.content, hit.why)).collect()
}

async fn with_meaning(memories: &Memories) -> usize {
    memories.stats(&anna()).await.unwrap().with_meaning
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_embeds_everything_again_and_the_old_one_comes_back() {
    let dir = Dir::new();
    tiny::write_folder(&dir.path("models/tiny"), &TOPICS, "a");
    let store = Store::open(&dir.path("data")).unwrap();
    let memories = Memories::saving(&store, built_in(), ALWAYS);
    for content in TEXTS {
        memories.remember(&anna(), New { content: content.into(), ..New::default() }).await.unwrap();
    }
    memories.maintain().await.unwrap();
    drop(memories);

    let memories = Memories::saving(&store, own(&dir.path("models")), ALWAYS);
    assert_eq!(with_meaning(&memories).await, 0, "no vector of the old model, also not from its index file");
    let by_words = recall(&memories, "blicket").await;
    assert_eq!(by_words, [(TEXTS[0].to_owned(), "same words: blicket".to_owned())]);
    assert_eq!(memories.embedding().missing, 0);
    assert_eq!(memories.backfill_embeddings().await.unwrap(), 4);
    assert_eq!(with_meaning(&memories).await, 4);
    let found = recall(&memories, "frumple").await;
    assert_eq!(found, [(TEXTS[0].to_owned(), "similar meaning".to_owned())]);
    let embedding = memories.embedding();
    assert_eq!((embedding.total, embedding.missing, embedding.problem), (4, 0, None));
    // Vectors of another length, through the index file.
    memories.maintain().await.unwrap();
    assert_eq!(recall(&memories, "quandle").await[0].0, TEXTS[1]);
    assert!(memories.index.has_file().await);
    drop(memories);

    let memories = Memories::saving(&store, built_in(), ALWAYS);
    assert_eq!(with_meaning(&memories).await, 0);
    assert_eq!(memories.backfill_embeddings().await.unwrap(), 4);
    assert_eq!(recall(&memories, "food allergies").await[0].0, TEXTS[3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_model_is_reported_and_the_vectors_stay() {
    let dir = Dir::new();
    tiny::write_folder(&dir.path("models/tiny"), &TOPICS, "a");
    let store = Store::open(&dir.path("data")).unwrap();
    let memories = Memories::new(&store, own(&dir.path("models")));
    for content in TEXTS {
        memories.remember(&anna(), New { content: content.into(), ..New::default() }).await.unwrap();
    }
    drop(memories);
    let file = dir.path("models/tiny/model.onnx");
    let good = fs::read(&file).unwrap();
    for broken in [&good[..good.len() / 3], b"no model", b""] {
        fs::write(&file, broken).unwrap();
        let memories = Memories::new(&store, own(&dir.path("models")));
        let why = memories.backfill_embeddings().await.unwrap_err().to_string();
        assert!(why.contains("\"tiny\" cannot be used"), "{why}");
        assert!(memories.embedding().problem.unwrap().contains("\"tiny\""));
        assert_eq!(recall(&memories, "blicket").await.len(), 1);
        let nothing = memories.recall(&anna(), "frumple", Filter::default()).await.unwrap();
        assert!(nothing.hits.is_empty() && !nothing.by_meaning, "searched by words only");
    }
    fs::remove_file(dir.path("models/tiny/tokenizer.json")).unwrap();
    let memories = Memories::new(&store, own(&dir.path("models")));
    assert!(memories.embedding().problem.unwrap().contains("no tokenizer.json"), "before anything is embedded");
    drop(memories);

    tiny::write_folder(&dir.path("models/tiny"), &TOPICS, "a");
    let memories = Memories::new(&store, own(&dir.path("models")));
    assert_eq!(with_meaning(&memories).await, 4, "nothing was lost");
    assert_eq!(recall(&memories, "frumple").await[0].0, TEXTS[0]);
}
