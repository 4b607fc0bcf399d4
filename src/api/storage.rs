//! `/api/v1/storage`: the size of the data file and of the workspace's files, and the compaction of the data file.

use crate::{
    AppState,
    describe::{Routes, get, post},
    envelope::{Answer, ok},
};
use axum::extract::State;
use identity::TokenScope;
use serde::Serialize;
use store::Compaction;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    let reads = Routes::new()
        .route("/storage", get(storage, "Get the size of the data file and the state of its compaction."))
        .scope(TokenScope::Device);
    let acts = Routes::new()
        .route("/storage/compact", post(compact, "Compact the data file now; it stays in use.").admin())
        .scope(TokenScope::Admin);
    reads.merge(acts)
}

/// The data file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Storage {
    /// Bytes of the data file.
    size: u64,
    /// Bytes of it that hold no data, as last measured. Null before the first time.
    free: Option<u64>,
    /// Whether words are being indexed, as after a large import or an update: until then searches take longer.
    indexing: bool,
    /// The progress of the compaction under way, in percent. Null when there is none.
    compacting: Option<u8>,
    /// The last compaction that was completed.
    compacted: Option<Compacted>,
    /// Why the last attempt was not completed.
    problem: Option<String>,
    /// The files of the workspace, and their bytes.
    files: u64,
    file_bytes: u64,
}

/// A completed compaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compacted {
    /// When it ended: milliseconds since 1970.
    at: u64,
    /// Bytes of the data file before.
    before: u64,
    /// Bytes of the data file after.
    after: u64,
    /// How long requests waited at its end, in milliseconds.
    blocked_ms: u64,
}

impl From<store::Compacted> for Compacted {
    fn from(done: store::Compacted) -> Self {
        Self { at: done.at_ms, before: done.before, after: done.after, blocked_ms: done.blocked_ms }
    }
}

async fn storage(State(house): State<AppState>) -> Answer<Storage> {
    let Compaction { running, last, problem, space } = house.store.compaction()?;
    let store = house.store.clone();
    let files = tool::blocking("the look at the files", move || Ok(store.recent_workspace_size()?)).await?;
    Ok(ok(Storage {
        size: house.store.size_on_disk(),
        free: space.map(|space| space.free),
        indexing: house.store.is_indexing_words()?,
        compacting: running,
        compacted: last.map(Compacted::from),
        problem,
        files: files.files,
        file_bytes: files.bytes,
    }))
}

/// Compacts the data file, whether that pays off or not.
async fn compact(State(house): State<AppState>) -> Answer<Storage> {
    let closing = house.closing.clone();
    house.store.compact(move || !closing.is_cancelled()).await?;
    storage(State(house)).await
}
