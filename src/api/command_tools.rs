//! `/api/v1/command-tools`: tools that are a command with places for parameters.

use crate::{
    AppState, Caller,
    authored_tools::{
        Family, approve, authorize, create, delete, describe_unnamed, disable, enable, execute, no_arguments, one,
        reject, tried, unnamed, update,
    },
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Json, ok},
    query::Query,
    tools::Ran,
};
use ::command_tools::{Author, CommandTool, CommandTools, Created, Draft, Status};
use axum::{
    Extension,
    extract::{FromRef, State},
};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;
use tool::prelude::{JsonSchema, schemars};

impl FromRef<AppState> for CommandTools {
    fn from_ref(house: &AppState) -> Self {
        house.command_tools.clone()
    }
}

impl Family for CommandTools {
    const DECIDED_BY: [&'static str; 3] = ["create_command_tool", "create_command_tool", "delete_command_tool"];
}

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/",
            get(list, "List command tools.")
                .post(create::<CommandTools>, "Create a command tool: a command with parameters.")
                .secret(),
        )
        .route("/try", post(test, "Run a draft once, without saving it.").secret().also(limited))
        .route(
            "/{id}",
            get(one::<CommandTools>, "Get a command tool.")
                .patch(update::<CommandTools>, "Change a command tool.")
                .secret()
                .delete(delete::<CommandTools>, "Delete a command tool."),
        )
        .route("/{id}/enable", post(enable::<CommandTools>, "Turn a command tool on."))
        .route("/{id}/disable", post(disable::<CommandTools>, "Turn a command tool off."))
        .route(
            "/{id}/approve",
            post(approve::<CommandTools>, "Approve a tool that waits for approval or was rejected.").admin(),
        )
        .route("/{id}/reject", post(reject::<CommandTools>, "Reject a tool that waits for approval.").admin())
        .route("/{id}/execute", post(execute::<CommandTools>, "Run a command tool.").also(limited))
        .scope(TokenScope::Tools)
}

/// Command tools.
#[derive(Serialize, JsonSchema)]
struct Tools {
    count: usize,
    tools: Vec<CommandTool>,
}

/// Which command tools.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Filter {
    status: Option<Status>,
    created_by: Option<Created>,
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<Filter>,
) -> Answer<Tools> {
    let mut tools = house.command_tools.list(&house.cx(&caller))?;
    tools
        .retain(|t| filter.status.is_none_or(|s| t.status == s) && filter.created_by.is_none_or(|c| t.created_by == c));
    Ok(ok(Tools { count: tools.len(), tools }))
}

/// A draft to be tried out without keeping it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = describe_unnamed)]
struct Test {
    #[serde(flatten, deserialize_with = "unnamed")]
    draft: Draft,
    /// The arguments to try it with.
    #[serde(default = "no_arguments", alias = "testArguments")]
    arguments: Value,
}

async fn test(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Test>,
) -> Answer<Ran> {
    authorize(&house, &caller, "create_command_tool")?;
    let (name, began) = (body.draft.name.clone(), Instant::now());
    let result = house.command_tools.test(&house.cx(&caller), body.draft, body.arguments).await;
    tried(&name, result, began)
}
