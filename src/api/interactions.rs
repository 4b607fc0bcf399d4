//! What waits for the caller: questions, blocks and components; what they answer, and the runs that go on with it.

use crate::{
    AppState, Caller,
    envelope::{Answer, Failure, Json, PathId, Query, ok},
};
use axum::{Extension, extract::State};
use interaction::{Interaction, ListFilter, State as Standing, Wake};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// Which of them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// `pending` (the default), `answered`, `expired` or `all`.
    #[serde(default)]
    state: StateFilter,
    /// How many at most, up to 200.
    #[serde(default = "fifty")]
    limit: usize,
}

#[derive(Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateFilter {
    #[default]
    Pending,
    /// Those that were put aside too.
    Answered,
    Expired,
    All,
}

fn fifty() -> usize {
    50
}

/// What waits or waited, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    count: usize,
    interactions: Vec<Interaction>,
}

/// An answer: `{answer}` to a question, `{action: "submit", data}` or `{action: "dismiss"}` to blocks, `{action, …}` of a
/// component.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Response(#[schemars(with = "serde_json::Map<String, Value>")] Value);

/// What waits for the caller.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<ListQuery>,
) -> Answer<Listed> {
    let which = match asked.state {
        StateFilter::Pending => ListFilter::In(Standing::Pending),
        StateFilter::Answered => ListFilter::Answered,
        StateFilter::Expired => ListFilter::In(Standing::Expired),
        StateFilter::All => ListFilter::All,
    };
    let interactions = house.interactions.list(&house.cx(&caller), which, asked.limit.clamp(1, 200))?;
    Ok(ok(Listed { count: interactions.len(), interactions }))
}

/// One of them.
pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Interaction> {
    Ok(ok(house.interactions.get(&house.cx(&caller), id)?))
}

/// Takes an answer. Where its run rested, it goes on.
pub(crate) async fn respond(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(Response(answer)): Json<Response>,
) -> Answer<Interaction> {
    ended(house, caller, id, Some(answer)).await
}

/// Puts it aside. Where its run rested, it goes on.
pub(crate) async fn dismiss(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Interaction> {
    ended(house, caller, id, None).await
}

async fn ended(house: AppState, caller: Caller, id: Id, answer: Option<Value>) -> Answer<Interaction> {
    let cx = house.cx(&caller);
    // Goes on to its end also when whoever answered is gone: an answer that was written is acted on.
    let settled = tokio::spawn(async move {
        let (shown, wake) = match answer {
            Some(answer) => house.interactions.respond(&cx, id, answer).await?,
            None => house.interactions.dismiss(&cx, id).await?,
        };
        if let Some(Wake { user, run, .. }) = wake.filter(|_| house.lasting) {
            house.agent.wake(&house.ports, user, run);
        }
        Ok::<_, tool::Error>(shown)
    });
    let broken = |_| Failure::new(422, "failed", "the answer broke off: look at it again");
    Ok(ok(settled.await.map_err(broken)??))
}
