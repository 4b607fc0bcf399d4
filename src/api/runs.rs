//! `/api/v1/runs`: list, read, cancel and resume runs.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    envelope::{Answer, Failure, PathId, ok},
    query::{Limit, Query},
};
use agent::{RunDetails, RunPage, RunShown, State as RunState};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/runs", get(list, "List the caller's runs."))
        .route("/runs/{id}", get(one, "Get a run with its steps."))
        .route("/runs/{id}/cancel", post(cancel, "Cancel a run."))
        .route("/runs/{id}/resume", post(resume, "Resume a failed or cancelled run."))
        .scope(TokenScope::Chat)
}

/// Which runs.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListQuery {
    /// Their state: `queued`, `running`, `waiting`, `done`, `failed` or `cancelled`, or several of them with commas
    /// between; any where it is left out.
    #[serde(default)]
    state: String,
    /// Of which conversation.
    conversation_id: Option<Id>,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<20>,
    /// Only those before this run: `next` of the page before. Unlike `offset` it repeats and misses none when runs begin or end
    /// meanwhile.
    before: Option<Id>,
    /// How many of the newest to pass over.
    #[serde(default)]
    offset: usize,
}

pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<ListQuery>,
) -> Answer<RunPage> {
    let states = parse_states(&which.state)?;
    let page = (which.offset, which.limit.get());
    Ok(ok(house.agent.runs(&house.cx(&caller), &states, which.conversation_id, which.before, page)?))
}

fn parse_states(text: &str) -> Result<Vec<RunState>, Failure> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let state = |word: &str| {
        serde_json::from_value(word.into()).map_err(|_| {
            let word: String = word.chars().take(40).collect();
            let text =
                format!("`state` cannot be `{word}`: a run is queued, running, waiting, done, failed or cancelled");
            Failure::new(400, "bad_args", text)
        })
    };
    words.map(state).collect()
}

pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<RunDetails> {
    Ok(ok(house.agent.run(&house.cx(&caller), id)?))
}

/// The run was cancelled.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    cancelled: bool,
}

pub(crate) async fn cancel(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Cancelled> {
    if !house.agent.stop(&house.cx(&caller), id).await? {
        return Err(Failure::new(404, "not_found", format!("no run {id} of yours is under way: it may have ended")));
    }
    Ok(ok(Cancelled { cancelled: true }))
}

pub(crate) async fn resume(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<RunShown> {
    let cx = house.cx(&caller);
    house.agent.resume(&cx, id).await?;
    Ok(ok(house.agent.run(&cx, id)?.run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_parsed() {
        assert_eq!(parse_states("").ok(), Some(vec![]));
        assert_eq!(parse_states("queued, running").ok(), Some(vec![RunState::Queued, RunState::Running]));
        assert!(parse_states("sleeping").is_err() && parse_states("0").is_err());
    }
}
