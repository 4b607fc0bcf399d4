//! `/api/v1/search`: one search over what the caller may see: the tool `search_everything`.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, ok},
    query::Query,
    tools::Ran,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::Deserialize;
use serde_json::json;
use std::time::Instant;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/search", get(search, "Search memories, records of all kinds and files, best match first."))
        .scope(TokenScope::Tools)
}

/// The words to search for.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Asked {
    /// Words to look for, or a question.
    #[serde(default)]
    q: String,
    /// Only these kinds, with commas: memory, contact, event, task, note, expense, bookmark, record, file.
    kinds: Option<String>,
    /// Only results dated at or after this date or time.
    since: Option<String>,
    /// Only results dated before the end of this date, or at or before this time.
    until: Option<String>,
    /// How many at most, up to 50.
    limit: Option<u32>,
}

async fn search(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Answer<Ran> {
    let began = Instant::now();
    let kinds = asked.kinds.as_deref().unwrap_or_default().split(',').map(str::trim);
    let kinds: Vec<&str> = kinds.filter(|kind| !kind.is_empty()).collect();
    let mut arguments = json!({"query": asked.q, "kinds": kinds});
    for (name, value) in [("since", asked.since), ("until", asked.until)] {
        if let Some(value) = value {
            arguments[name] = json!(value);
        }
    }
    if let Some(limit) = asked.limit {
        arguments["limit"] = json!(limit);
    }
    let output = house.cx(&caller).call("search_everything", arguments).await?;
    Ok(ok(Ran::new("search_everything", output, began)))
}
