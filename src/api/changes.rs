//! `/api/v1/changes`: the caller's latest changes, and undoing one.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    envelope::{Answer, PathText, ok},
    query::{Limit, Query},
    tools::Ran,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use records::{iso, undo::changed_words};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Instant;
use store::Change;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/changes", get(list, "List the caller's latest changes, newest first."))
        .route("/changes/{id}/undo", post(undo, "Undo a change."))
        .scope(TokenScope::Tools)
}

/// Which changes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Which {
    /// How many changes, 100 at most.
    #[serde(default)]
    limit: Limit<20, 100>,
}

/// The latest changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Changes {
    changes: Vec<ChangeView>,
}

/// A change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeView {
    id: Id,
    /// When it was made.
    at: String,
    /// Its effect, as a sentence.
    text: String,
    /// The tool that made it.
    tool: String,
    /// The conversation it was made in.
    conversation_id: Option<Id>,
    /// Whether it can still be undone, as long as nobody changes its records.
    reversible: bool,
    /// Whether it was undone.
    undone: bool,
    /// The change that it undid.
    undoes: Option<Id>,
    /// Whether a schedule or a trigger made it.
    unattended: bool,
}

/// The caller's latest changes.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Which>,
) -> Answer<Changes> {
    let cx = house.cx(&caller);
    let zone = cx.ports().clock.zone();
    let found = house.store.changes(cx.user(), which.limit.get(), |_| true).map_err(tool::Error::from)?;
    // As from any tool.
    let without_secrets = |text: String| house.registry.scrubber().text(&text, scrub::How::All).into_owned();
    let view = |change: Change| ChangeView {
        id: change.id,
        at: iso(i64::try_from(change.id.millis()).unwrap_or_default(), &zone),
        text: without_secrets(changed_words(&house.store, &change)),
        reversible: change.is_reversible(),
        tool: change.tool,
        conversation_id: change.conversation,
        undone: change.undone,
        undoes: change.undoes,
        unattended: change.unattended,
    };
    Ok(ok(Changes { changes: found.into_iter().map(view).collect() }))
}

/// Undoes a change, as the tool `undo` does.
pub(crate) async fn undo(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Ran> {
    let began = Instant::now();
    let output = house.cx(&caller).call("undo", json!({"changeId": id})).await?;
    Ok(ok(Ran::new("undo", output, began)))
}
