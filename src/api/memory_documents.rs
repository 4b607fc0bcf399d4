//! `/api/v1/memory-documents`: the virtual files of a person: memory documents, and the context files by path.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, Deleted, Failure, Json, PathText, ok},
    query::Query,
};
use ::documents::{FileLine, Place, VirtualFile};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use tool::{
    Error, Role,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "List memory documents and context files."))
        .route(
            "/{*path}",
            get(one, "Get a memory document or context file.")
                .put(write, "Write a memory document or context file.")
                .scope(TokenScope::Admin)
                .delete(delete, "Delete a memory document or context file.")
                .scope(TokenScope::Admin),
        )
        .scope(TokenScope::Chat)
}

/// Which documents.
#[derive(Deserialize, JsonSchema)]
struct Under {
    /// Only those whose path begins with this.
    #[serde(default)]
    under: String,
}

/// Documents, by path.
#[derive(Serialize, JsonSchema)]
struct MemoryDocumentList {
    documents: Vec<MemoryDocumentLine>,
}

/// Metadata of a memory document.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemoryDocumentLine {
    /// Its path.
    path: String,
    /// Its length in bytes.
    size: usize,
    /// Counts up from 1; 0 where the caller reads everybody's.
    version: u32,
    /// When it was written: milliseconds since 1970.
    updated_at: Option<u64>,
    /// Whether it is everybody's, and not the caller's own.
    shared: bool,
}

/// A memory document with its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemoryDocumentView {
    /// Its path.
    path: String,
    /// Its text.
    text: String,
    /// Counts up from 1; 0 where the caller reads everybody's.
    version: u32,
    /// When it was written: milliseconds since 1970.
    updated_at: Option<u64>,
    /// Whether it is everybody's, and not the caller's own.
    shared: bool,
}

impl MemoryDocumentView {
    fn of(file: VirtualFile) -> Self {
        let VirtualFile { path, text, version, updated_ms, place, .. } = file;
        Self { path, text, version, updated_at: updated_ms, shared: place == Place::Agents }
    }
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Under>,
) -> Answer<MemoryDocumentList> {
    let line = |line: FileLine| {
        let FileLine { path, size, version, updated_ms, place } = line;
        MemoryDocumentLine { path, size, version, updated_at: updated_ms, shared: place == Place::Agents }
    };
    let documents = house.files.list(&house.cx(&caller), &which.under)?;
    Ok(ok(MemoryDocumentList { documents: documents.into_iter().map(line).collect() }))
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(path): PathText,
) -> Answer<MemoryDocumentView> {
    Ok(ok(MemoryDocumentView::of(house.files.read(&house.cx(&caller), &path)?)))
}

/// The text of a document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewText {
    /// The text, 128 KB at most (64 KB for context files).
    text: String,
    /// The version it was made from: refused where another is there meanwhile. 0: there is none yet.
    version: Option<u32>,
    /// Write everybody's memory document, and not the caller's own. Only an admin may.
    #[serde(default)]
    shared: bool,
}

async fn write(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(path): PathText,
    Json(body): Json<NewText>,
) -> Answer<MemoryDocumentView> {
    may_write(&caller)?;
    if body.text.trim().is_empty() {
        return Err(Failure::new(400, "bad_args", "the text is empty: write something, or delete the document"));
    }
    let target = (place(body.shared), body.version);
    let written = house.files.write(&house.cx(&caller), &path, &body.text, target).await?;
    let file = written.ok_or_else(|| Error::failed("the document was deleted at the same moment: try again"))?;
    Ok(ok(MemoryDocumentView::of(file)))
}

/// Which version of it.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// Delete everybody's memory document, and not the caller's own. Only an admin may.
    #[serde(default)]
    shared: bool,
}

async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(path): PathText,
    Query(which): Query<Which>,
) -> Answer<Deleted> {
    may_write(&caller)?;
    house.files.delete(&house.cx(&caller), &path, place(which.shared)).await?;
    Ok(ok(Deleted::yes()))
}

fn place(shared: bool) -> Place {
    // Context files have one place for each caller.
    if shared { Place::Agents } else { Place::Own }
}

fn may_write(caller: &Caller) -> Result<(), Failure> {
    match caller.principal.role {
        Role::Viewer => Err(Failure::new(403, "denied", "a viewer may read this, and not change it: ask an admin")),
        Role::Member | Role::Admin => Ok(()),
    }
}
