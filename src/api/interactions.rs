//! Interactions: questions, blocks and components that wait for the caller; list, read, answer, dismiss.

use crate::{
    AppState, Caller,
    approvals::settle,
    envelope::{Answer, Json, PathId, ok},
    query::{Limit, Query, page_of},
};
use axum::{Extension, extract::State};
use interaction::{Interaction, ListFilter, State as InteractionState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// Which interactions.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// `pending` (the default), `answered`, `expired` or `all`.
    #[serde(default)]
    state: StateFilter,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<50>,
    /// Only those asked before this one: `next` of the page before.
    before: Option<Id>,
}

#[derive(Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateFilter {
    #[default]
    Pending,
    /// Dismissed ones too.
    Answered,
    Expired,
    All,
}

/// Interactions, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// How many are on this page.
    count: usize,
    interactions: Vec<Interaction>,
    /// The start of the next page, for `before`. Null at the end.
    next: Option<Id>,
}

/// An answer: `{answer}` to a question, `{action: "submit", data}` or `{action: "dismiss"}` to blocks, `{action, …}` of a
/// component.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Response(#[schemars(with = "serde_json::Map<String, Value>")] Value);

/// The interactions of the caller.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<ListQuery>,
) -> Answer<Listed> {
    let which = match asked.state {
        StateFilter::Pending => ListFilter::In(InteractionState::Pending),
        StateFilter::Answered => ListFilter::Answered,
        StateFilter::Expired => ListFilter::In(InteractionState::Expired),
        StateFilter::All => ListFilter::All,
    };
    let limit = asked.limit.get();
    let interactions = house.interactions.list(&house.cx(&caller), which, asked.before, limit + 1)?;
    let (interactions, next) = page_of(interactions, limit, |interaction| interaction.id);
    Ok(ok(Listed { count: interactions.len(), interactions, next }))
}

/// One interaction.
pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Interaction> {
    Ok(ok(house.interactions.get(&house.cx(&caller), id)?))
}

/// Answers an interaction, and resumes the run that was suspended on it.
pub(crate) async fn respond(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(Response(answer)): Json<Response>,
) -> Answer<Interaction> {
    let (cx, interactions) = (house.cx(&caller), house.interactions.clone());
    settle(house, async move { interactions.respond(&cx, id, answer).await }).await
}

/// Dismisses an interaction, and resumes the run that was suspended on it.
pub(crate) async fn dismiss(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Interaction> {
    let (cx, interactions) = (house.cx(&caller), house.interactions.clone());
    settle(house, async move { interactions.dismiss(&cx, id).await }).await
}
