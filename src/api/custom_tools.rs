//! `/api/v1/custom-tools`: the custom tools of the household.

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
use axum::{
    Extension,
    extract::{FromRef, State},
};
use custom::{Author, Created, CustomTool, CustomTools, Draft, Stats, Status};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{num::NonZeroUsize, time::Instant};
use tool::prelude::{JsonSchema, schemars};

impl FromRef<AppState> for CustomTools {
    fn from_ref(house: &AppState) -> Self {
        house.custom.clone()
    }
}

impl Family for CustomTools {
    const DECIDED_BY: [&'static str; 3] = ["create_tool", "toggle_custom_tool", "delete_custom_tool"];
}

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "Find or list custom tools.").post(create::<CustomTools>, "Create a custom tool."))
        .route("/stats", get(stats, "Count custom tools."))
        .route("/pending", get(pending, "List custom tools that wait for approval."))
        .route("/active/definitions", get(definitions, "Get the definitions of active custom tools."))
        .route("/test", post(test, "Run a draft once, without saving it.").also(limited))
        .route(
            "/{id}",
            get(one::<CustomTools>, "Get a custom tool.")
                .patch(update::<CustomTools>, "Change a custom tool.")
                .delete(delete::<CustomTools>, "Delete a custom tool."),
        )
        .route("/{id}/enable", post(enable::<CustomTools>, "Turn a custom tool on."))
        .route("/{id}/disable", post(disable::<CustomTools>, "Turn a custom tool off."))
        .route(
            "/{id}/approve",
            post(approve::<CustomTools>, "Approve a tool that waits for approval or was rejected.").admin(),
        )
        .route("/{id}/reject", post(reject::<CustomTools>, "Reject a tool that waits for approval.").admin())
        .route("/{id}/execute", post(execute::<CustomTools>, "Run a custom tool.").also(limited))
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

/// A draft to be tried out without keeping it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = describe_unnamed)]
struct Test {
    #[serde(flatten, deserialize_with = "unnamed")]
    draft: Draft,
    #[serde(default = "no_arguments")]
    test_arguments: Value,
}

async fn test(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Test>,
) -> Answer<Ran> {
    authorize(&house, &caller, "create_tool")?;
    let (name, began) = (body.draft.name.clone(), Instant::now());
    let result = house.custom.test(&house.cx(&caller), body.draft, body.test_arguments).await;
    tried(&name, result, began)
}
