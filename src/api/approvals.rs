//! Approvals and standing grants: list, read, answer, revoke. Also how an answer to any question resumes its run.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    envelope::{Answer, Deleted, Failure, Json, PathId, ok},
    query::{Limit, Query, page_of},
};
use axum::{Extension, extract::State};
use questions::SuspendedRun;
use registry::{Approval, Approvals, GrantShown, State as ApprovalState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// Which approvals.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// `pending` (the default), `settled` or `all`.
    #[serde(default)]
    state: StateFilter,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<50>,
    /// Only those asked before this one: `next` of the page before.
    before: Option<Id>,
    /// Everybody's; for admins.
    #[serde(default)]
    everybody: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateFilter {
    #[default]
    Pending,
    Settled,
    All,
}

/// Approvals, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// How many are on this page.
    count: usize,
    approvals: Vec<Approval>,
    /// The start of the next page, for `before`. Null at the end.
    next: Option<Id>,
}

fn approvals(house: &AppState) -> Result<&Arc<Approvals>, Failure> {
    house.registry.approvals().ok_or_else(|| Failure::new(409, "unavailable", "nobody can be asked here"))
}

/// The approvals of the caller.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<ListQuery>,
) -> Answer<Listed> {
    if which.everybody {
        must_be_admin(&caller)?;
    }
    let user = (!which.everybody).then_some(caller.principal.user);
    let (all, limit) = (approvals(&house)?, which.limit.get());
    let approvals = match which.state {
        StateFilter::Pending => all.pending(user, which.before, limit + 1),
        StateFilter::Settled => all.list(user, |state| state != ApprovalState::Pending, which.before, limit + 1),
        StateFilter::All => all.list(user, |_| true, which.before, limit + 1),
    }?;
    let (approvals, next) = page_of(approvals, limit, |approval| approval.id);
    Ok(ok(Listed { count: approvals.len(), approvals, next }))
}

/// One approval.
pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Approval> {
    Ok(ok(approvals(&house)?.get(&house.cx(&caller), id)?))
}

/// Answers an approval, and resumes the run that was suspended on it.
pub(crate) async fn decide(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(answer): Json<registry::Answer>,
) -> Answer<Approval> {
    let (cx, registry) = (house.cx(&caller), house.registry.clone());
    settle(house, async move { registry.settle(&cx, id, answer).await }).await
}

/// Settles a question of any kind, and resumes the run that was suspended on it. Runs to completion even if the
/// client disconnects: a stored answer takes effect.
pub(crate) async fn settle<T: Serialize + Send + 'static>(
    house: AppState,
    settle: impl Future<Output = tool::Result<(T, Option<SuspendedRun>)>> + Send + 'static,
) -> Answer<T> {
    let settled = tokio::spawn(async move {
        let (view, suspended) = settle.await?;
        if let Some(suspended) = suspended.filter(|_| house.lasting) {
            house.agent.wake(&house.ports, suspended);
        }
        Ok::<_, tool::Error>(view)
    });
    let broken = |_| Failure::new(422, "failed", "the answer broke off: look at the question again");
    Ok(ok(settled.await.map_err(broken)??))
}

/// Standing grants, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Grants {
    count: usize,
    grants: Vec<GrantShown>,
}

/// The person whose grants are listed.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Whose {
    /// Everybody's; for admins.
    #[serde(default)]
    everybody: bool,
}

/// The standing grants of the caller.
pub(crate) async fn grants(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(whose): Query<Whose>,
) -> Answer<Grants> {
    if whose.everybody {
        must_be_admin(&caller)?;
    }
    let grants = approvals(&house)?.grants((!whose.everybody).then_some(caller.principal.user));
    Ok(ok(Grants { count: grants.len(), grants }))
}

/// Revokes a grant.
pub(crate) async fn take_back(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    house.registry.take_back(&house.cx(&caller), id).await?;
    Ok(ok(Deleted::yes()))
}
