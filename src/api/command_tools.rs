//! `/api/v1/command-tools`: tools that are a command with places for parameters.

use crate::{
    AppState, Caller,
    custom_tools::{authorize, call_response},
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathText, ok},
    query::Query,
    tools::{Execute, Ran},
};
use ::command_tools::{Change, CommandTool, Created, Draft, Patch, Status};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/",
            get(list, "List command tools.").post(create, "Create a command tool: a command with parameters.").secret(),
        )
        .route("/try", post(test, "Run a draft once, without saving it.").secret().also(limited))
        .route(
            "/{id}",
            get(one, "Get a command tool.")
                .patch(update, "Change a command tool.")
                .secret()
                .delete(delete, "Delete a command tool."),
        )
        .route("/{id}/enable", post(enable, "Turn a command tool on."))
        .route("/{id}/disable", post(disable, "Turn a command tool off."))
        .route("/{id}/approve", post(approve, "Approve a tool that waits for approval or was rejected.").admin())
        .route("/{id}/reject", post(reject, "Reject a tool that waits for approval.").admin())
        .route("/{id}/execute", post(execute, "Run a command tool.").also(limited))
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

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CommandTool> {
    Ok(ok(house.command_tools.get(&house.cx(&caller), &id)?))
}

/// A draft with who it is by.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Create {
    #[serde(flatten)]
    draft: Draft,
    #[serde(default)]
    created_by: Created,
}

async fn create(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Create>,
) -> Result<New<CommandTool>, Failure> {
    authorize(&house, &caller, "create_command_tool")?;
    let made = house.command_tools.create(&house.cx(&caller), body.draft, body.created_by).await?;
    Ok(New(made))
}

async fn update(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(patch): Json<Patch>,
) -> Answer<CommandTool> {
    authorize(&house, &caller, "create_command_tool")?;
    Ok(ok(house.command_tools.update(&house.cx(&caller), &id, patch).await?))
}

async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Deleted> {
    authorize(&house, &caller, "delete_command_tool")?;
    house.command_tools.delete(&house.cx(&caller), &id).await?;
    Ok(ok(Deleted::yes()))
}

async fn enable(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CommandTool> {
    authorize(&house, &caller, "create_command_tool")?;
    Ok(ok(house.command_tools.set_status(&house.cx(&caller), &id, Change::Enable).await?))
}

async fn disable(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CommandTool> {
    authorize(&house, &caller, "create_command_tool")?;
    Ok(ok(house.command_tools.set_status(&house.cx(&caller), &id, Change::Disable).await?))
}

async fn approve(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CommandTool> {
    Ok(ok(house.command_tools.set_status(&house.cx(&caller), &id, Change::Approve).await?))
}

async fn reject(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CommandTool> {
    Ok(ok(house.command_tools.set_status(&house.cx(&caller), &id, Change::Reject).await?))
}

async fn execute(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(body): Json<Execute>,
) -> Answer<Ran> {
    let tool = house.command_tools.get(&house.cx(&caller), &id)?;
    if tool.status != Status::Active {
        let text = format!("`{}` is not active: enable or approve it first", tool.name);
        return Err(Failure::new(400, "not_active", text));
    }
    let began = Instant::now();
    let result = house.cx(&caller).call(&tool.name, body.arguments).await;
    call_response(&tool.name, result, began).map(ok)
}

/// A draft to be tried out without keeping it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(flatten)]
    draft: Draft,
    /// The arguments to try it with.
    #[serde(default = "no_arguments", alias = "testArguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

async fn test(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Test>,
) -> Answer<Ran> {
    authorize(&house, &caller, "create_command_tool")?;
    let (name, began) = (body.draft.name.clone(), Instant::now());
    let result = house.command_tools.test(&house.cx(&caller), body.draft, body.arguments).await;
    let mut ran = call_response(&name, result, began)?;
    ran.test_mode = Some(true);
    Ok(ok(ran))
}
