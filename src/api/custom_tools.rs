//! `/api/v1/custom-tools`: the custom tools of the household.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathText, ok},
    query::Query,
    tools::Ran,
};
use axum::{Extension, extract::State};
use custom::{Change, Created, CustomTool, Draft, Patch, Stats, Status};
use identity::TokenScope;
use registry::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{num::NonZeroUsize, time::Instant};
use tool::{
    Error, Output,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "Find or list custom tools.").post(create, "Create a custom tool."))
        .route("/stats", get(stats, "Count custom tools."))
        .route("/pending", get(pending, "List custom tools that wait for approval."))
        .route("/active/definitions", get(definitions, "Get the definitions of active custom tools."))
        .route("/test", post(test, "Run a draft once, without saving it.").also(limited))
        .route(
            "/{id}",
            get(one, "Get a custom tool.")
                .patch(update, "Change a custom tool.")
                .delete(delete, "Delete a custom tool."),
        )
        .route("/{id}/enable", post(enable, "Turn a custom tool on."))
        .route("/{id}/disable", post(disable, "Turn a custom tool off."))
        .route("/{id}/approve", post(approve, "Approve a tool that waits for approval or was rejected.").admin())
        .route("/{id}/reject", post(reject, "Reject a tool that waits for approval.").admin())
        .route("/{id}/execute", post(execute, "Run a custom tool.").also(limited))
        .scope(TokenScope::Tools)
}

/// Custom tools.
#[derive(Serialize, JsonSchema)]
struct Tools {
    /// How many are in this answer.
    count: usize,
    /// How many there are in all, with this filter.
    total: usize,
    tools: Vec<CustomTool>,
}

/// Which custom tools.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Filter {
    status: Option<Status>,
    category: Option<String>,
    created_by: Option<Created>,
    /// How many at most; all where it is left out.
    limit: Option<NonZeroUsize>,
    /// How many to pass over.
    #[serde(default)]
    offset: usize,
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<Filter>,
) -> Answer<Tools> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| {
        filter.status.is_none_or(|s| t.status == s)
            && filter.created_by.is_none_or(|c| t.created_by == c)
            && filter.category.as_ref().is_none_or(|c| t.category.as_ref() == Some(c))
    });
    let (total, limit) = (tools.len(), filter.limit.map_or(usize::MAX, NonZeroUsize::get));
    let page: Vec<CustomTool> = tools.into_iter().skip(filter.offset).take(limit).collect();
    Ok(ok(Tools { count: page.len(), total, tools: page }))
}

async fn pending(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Tools> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| t.status == Status::PendingApproval);
    Ok(ok(Tools { count: tools.len(), total: tools.len(), tools }))
}

async fn stats(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Stats> {
    Ok(ok(house.custom.stats(&house.cx(&caller))?))
}

/// A custom tool as a model would be shown it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Definition {
    name: String,
    description: String,
    /// The parameters, as JSON Schema.
    parameters: Value,
    category: Option<String>,
    requires_confirmation: bool,
}

/// The active custom tools as a model would be shown them.
#[derive(Serialize, JsonSchema)]
struct Definitions {
    count: usize,
    tools: Vec<Definition>,
}

async fn definitions(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Definitions> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| t.status == Status::Active);
    let shown: Vec<Definition> = tools
        .into_iter()
        .map(|t| Definition {
            name: t.name,
            description: t.description,
            parameters: t.parameters,
            category: t.category,
            requires_confirmation: t.requires_approval,
        })
        .collect();
    Ok(ok(Definitions { count: shown.len(), tools: shown }))
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    Ok(ok(house.custom.get(&house.cx(&caller), &id)?))
}

/// A draft with who it is by, as the reference sends it.
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
) -> Result<New<CustomTool>, Failure> {
    authorize(&house, &caller, "create_tool")?;
    let made = house.custom.create(&house.cx(&caller), body.draft, body.created_by).await?;
    Ok(New(made))
}

async fn update(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(patch): Json<Patch>,
) -> Answer<CustomTool> {
    authorize(&house, &caller, "create_tool")?;
    Ok(ok(house.custom.update(&house.cx(&caller), &id, patch).await?))
}

async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Deleted> {
    authorize(&house, &caller, "delete_custom_tool")?;
    house.custom.delete(&house.cx(&caller), &id).await?;
    Ok(ok(Deleted::yes()))
}

/// Decides a request like a call of the tool that does the same. Approval is not needed: the person acts themselves.
pub(crate) fn authorize(house: &AppState, caller: &Caller, tool: &str) -> Result<(), Failure> {
    let gone = || Error::unavailable(format!("`{tool}` is not there: this Hob is shutting down"));
    let tool = house.registry.get(tool).ok_or_else(gone)?;
    let (decision, _) = house.registry.explain(&house.cx(caller), &tool, &json!({}));
    match (decision.verdict, decision.rule) {
        (Verdict::Deny, "group-off") => Err(Error::unavailable(decision.reason).into()),
        (Verdict::Deny, _) => Err(Error::denied(decision.reason).into()),
        _ => Ok(()),
    }
}

async fn enable(
    State(h): State<AppState>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    authorize(&h, &c, "toggle_custom_tool")?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Enable).await?))
}

async fn disable(
    State(h): State<AppState>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    authorize(&h, &c, "toggle_custom_tool")?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Disable).await?))
}

async fn approve(
    State(h): State<AppState>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Approve).await?))
}

async fn reject(
    State(h): State<AppState>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Reject).await?))
}

async fn execute(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(body): Json<crate::tools::Execute>,
) -> Answer<Ran> {
    let tool = house.custom.get(&house.cx(&caller), &id)?;
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
    #[serde(default = "no_arguments")]
    test_arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

async fn test(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Test>,
) -> Answer<Ran> {
    authorize(&house, &caller, "create_tool")?;
    let (name, began) = (body.draft.name.clone(), Instant::now());
    let result = house.custom.test(&house.cx(&caller), body.draft, body.test_arguments).await;
    let mut ran = call_response(&name, result, began)?;
    ran.test_mode = Some(true);
    Ok(ok(ran))
}

/// The result of a call; failed code is a result too.
pub(crate) fn call_response(name: &str, result: Result<Output, Error>, began: Instant) -> Result<Ran, Failure> {
    let (output, is_error) = match result {
        Ok(output) => (output, false),
        Err(Error::Failed(text)) => (Output::text(text), true),
        Err(other) => return Err(other.into()),
    };
    let mut ran = Ran::new(name, output, began);
    ran.is_error = is_error;
    ran.metadata.entry("dynamicTool").or_insert_with(|| name.into());
    Ok(ran)
}
