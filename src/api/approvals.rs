//! What Hob asks people, what they answer, and the answers that stand.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    envelope::{Answer, Deleted, Failure, Json, PathId, Query, ok},
};
use axum::{Extension, extract::State};
use registry::{Approval, Approvals, GrantShown, Resume, State as Standing};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tool::{
    Id, Role, UserId,
    prelude::{JsonSchema, schemars},
};

/// Which questions.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// `pending` (the default), `settled` or `all`.
    #[serde(default)]
    state: StateFilter,
    /// How many at most, up to 200.
    #[serde(default = "fifty")]
    limit: usize,
    /// Only those asked before this one.
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

fn fifty() -> usize {
    50
}

/// Questions, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    count: usize,
    approvals: Vec<Approval>,
}

fn desk(house: &AppState) -> Result<&Arc<Approvals>, Failure> {
    house.registry.approvals().ok_or_else(|| Failure::new(409, "unavailable", "nobody can be asked here"))
}

/// The questions of the caller.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<ListQuery>,
) -> Answer<Listed> {
    if which.everybody {
        must_be_admin(&caller)?;
    }
    let user = (!which.everybody).then_some(caller.principal.user);
    let fits = |state: Standing| match which.state {
        StateFilter::Pending => state == Standing::Pending,
        StateFilter::Settled => state != Standing::Pending,
        StateFilter::All => true,
    };
    let approvals = desk(&house)?.list(user, fits, which.before, which.limit.clamp(1, 200))?;
    Ok(ok(Listed { count: approvals.len(), approvals }))
}

/// One question.
pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Approval> {
    Ok(ok(desk(&house)?.get(&house.cx(&caller), id)?))
}

/// Answers a question. Where its run rested, it goes on.
pub(crate) async fn decide(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(answer): Json<registry::Answer>,
) -> Answer<Approval> {
    let cx = house.cx(&caller);
    // Goes on to its end also when whoever answered is gone: an answer that was written is acted on.
    let settled = tokio::spawn(async move {
        let (approval, resume) = house.registry.settle(&cx, id, answer).await?;
        if let Some(resume) = resume.filter(|_| house.lasting) {
            go_on(&house, resume);
        }
        Ok::<_, tool::Error>(approval)
    });
    let broken = |_| Failure::new(422, "failed", "the answer broke off: look at the question again");
    Ok(ok(settled.await.map_err(broken)??))
}

fn go_on(house: &AppState, mut resume: Resume) {
    // Who was given less meanwhile, or is gone, has no more than that.
    let role = &mut resume.principal.role;
    *role = most_now(house, resume.principal.user).min(*role);
    house.agent.go_on(&house.ports, resume);
}

/// Goes on with the runs whose question was answered before the last end, and that had not gone on yet; at start.
pub fn go_on_with_answered(house: &AppState) {
    let answered = house.registry.approvals().map(|approvals| approvals.answered());
    answered.into_iter().flatten().for_each(|resume| go_on(house, resume));
}

/// The most somebody may do today; to look, when that cannot be found out.
fn most_now(house: &AppState, user: UserId) -> Role {
    house.identity.highest_role(user)
}

/// Standing answers, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Grants {
    count: usize,
    grants: Vec<GrantShown>,
}

/// Whose standing answers.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Whose {
    /// Everybody's; for admins.
    #[serde(default)]
    everybody: bool,
}

/// What the caller said `always` to.
pub(crate) async fn grants(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(whose): Query<Whose>,
) -> Answer<Grants> {
    if whose.everybody {
        must_be_admin(&caller)?;
    }
    let grants = desk(&house)?.grants((!whose.everybody).then_some(caller.principal.user));
    Ok(ok(Grants { count: grants.len(), grants }))
}

/// Takes a standing answer back.
pub(crate) async fn take_back(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    house.registry.take_back(&house.cx(&caller), id).await?;
    Ok(ok(Deleted::yes()))
}
