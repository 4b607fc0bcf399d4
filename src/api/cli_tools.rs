//! `/api/v1/cli-tools`: command-line tools, their policies, and tools that an admin adds.

use crate::{
    AppState, Caller,
    describe::{Routes, delete, get, put},
    envelope::{Answer, Deleted, Json, PathText, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};
use tools_workshop::{CliToolSettings, CliToolView};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "List command-line tools, installed or not.").scope(TokenScope::Tools))
        .route(
            "/{name}",
            put(set, "Set the policy of a command-line tool, or add one.")
                .admin()
                .delete(unset, "Take back what was set for a command-line tool; one that was added is gone then.")
                .admin(),
        )
        .route("/{name}/installation", delete(uninstall, "Remove a command-line tool that Hob installed.").admin())
        .scope(TokenScope::Admin)
}

/// The command-line tools.
#[derive(Serialize, JsonSchema)]
struct CliToolList {
    count: usize,
    tools: Vec<CliToolView>,
}

async fn list(State(house): State<AppState>) -> Answer<CliToolList> {
    let tools = house.cli_tools.list().await?;
    Ok(ok(CliToolList { count: tools.len(), tools }))
}

async fn set(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(settings): Json<CliToolSettings>,
) -> Answer<CliToolView> {
    Ok(ok(house.cli_tools.set(&house.cx(&caller), &name, settings).await?))
}

async fn unset(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Deleted> {
    house.cli_tools.unset(&house.cx(&caller), &name).await?;
    Ok(ok(Deleted::yes()))
}

async fn uninstall(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Deleted> {
    house.cli_tools.uninstall(&house.cx(&caller), &name).await?;
    Ok(ok(Deleted::yes()))
}
