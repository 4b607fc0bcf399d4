//! `/api/v1/coding-agents`: coding agents of other makers, who may use them, and those that an admin adds. Their tasks are
//! processes: see `processes.rs`.

use crate::{
    AppState, Caller,
    describe::{Routes, get, put},
    envelope::{Answer, Deleted, Json, PathText, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};
use tools_workshop::{AgentSettings, CodingAgentView};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "List coding agents, and whether each can be used.").scope(TokenScope::Tools))
        .route(
            "/{name}",
            put(set, "Set who may use a coding agent and where its program is, or add one.")
                .admin()
                .secret()
                .delete(unset, "Take back what was set for a coding agent; one that was added is gone then.")
                .admin(),
        )
        // Names, not values.
        .harmless(&["keyField", "keyVariables"])
        .scope(TokenScope::Admin)
}

/// The coding agents.
#[derive(Serialize, JsonSchema)]
struct CodingAgentList {
    count: usize,
    agents: Vec<CodingAgentView>,
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<CodingAgentList> {
    let agents = house.coding_agents.list_settings(&house.cx(&caller)).await?;
    Ok(ok(CodingAgentList { count: agents.len(), agents }))
}

async fn set(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(settings): Json<AgentSettings>,
) -> Answer<CodingAgentView> {
    Ok(ok(house.coding_agents.set(&house.cx(&caller), &name, settings).await?))
}

async fn unset(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Deleted> {
    house.coding_agents.unset(&house.cx(&caller), &name).await?;
    Ok(ok(Deleted::yes()))
}
