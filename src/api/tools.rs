//! `/api/v1/tools`: list, describe and execute tools.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Failure, Json, PathText, Query, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use registry::{Listed, MatchedBy, Registry};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Instant;
use tool::{
    Output, Tool,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/tools", get(list, "Find or list tools."))
        .route("/tools/{name}", get(one, "Get a tool and its help.").one_tool())
        .route("/tools/{name}/execute", post(execute, "Run a tool.").one_tool().also(limited))
        .scope(TokenScope::Tools)
}

/// Which tools.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Search {
    /// Words that must all match; where few tools have them all, those that mean something near follow. `all` or nothing
    /// matches everything.
    #[serde(default)]
    query: String,
    /// Only of this category or group.
    category: Option<String>,
}

/// The tools that match, best first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tools {
    count: usize,
    tools: Vec<Matched>,
}

/// A tool, and how it was found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Matched {
    #[serde(flatten)]
    tool: Listed,
    /// Present if there was a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<MatchedBy>,
}

/// The tools this caller may see.
pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(search): Query<Search>,
) -> Answer<Tools> {
    let cx = house.cx(&caller);
    let visible = |tool: &Tool| Registry::visible(&cx, tool);
    let found = house.registry.search_by_meaning(&search.query, search.category.as_deref(), visible).await;
    let is_search = !matches!(search.query.trim(), "" | "all");
    let tools: Vec<Matched> =
        found.iter().map(|m| Matched { tool: Listed::from(m.tool.as_ref()), by: is_search.then_some(m.by) }).collect();
    Ok(ok(Tools { count: tools.len(), tools }))
}

/// A tool with its help.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Helped {
    #[serde(flatten)]
    tool: Listed,
    /// How it is called, with examples and limits.
    help: Value,
}

/// One tool, by its name or an alias.
pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Helped> {
    let cx = house.cx(&caller);
    let found = house.registry.get(&name).filter(|t| Registry::visible(&cx, t));
    let tool = found.ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        Failure::new(404, "not_found", format!("there is no tool called `{name}`: see GET /api/v1/tools"))
    })?;
    Ok(ok(Helped { tool: Listed::from(tool.as_ref()), help: registry::help(&tool) }))
}

/// With what a tool is to be called.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Execute {
    /// An object that fits the tool's parameters.
    #[serde(default)]
    pub arguments: Value,
}

/// The result of a call.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ran {
    pub tool: String,
    /// JSON, or text.
    pub result: Value,
    /// A sentence for people, where the tool has one.
    pub say: Option<String>,
    /// Whether the tool ran and failed.
    pub is_error: bool,
    /// Milliseconds.
    pub duration: u64,
    pub metadata: Map<String, Value>,
    /// Whether it was only tried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_mode: Option<bool>,
}

impl Ran {
    pub fn new(name: &str, output: Output, began: Instant) -> Self {
        Self {
            tool: name.to_owned(),
            result: output.content,
            say: output.say,
            is_error: false,
            duration: began.elapsed().as_millis() as u64,
            metadata: output.meta,
            test_mode: None,
        }
    }
}

/// Calls a tool.
pub(crate) async fn execute(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(body): Json<Execute>,
) -> Answer<Ran> {
    let began = Instant::now();
    let output = house.cx(&caller).call(&name, body.arguments).await?;
    Ok(ok(Ran::new(&name, output, began)))
}
