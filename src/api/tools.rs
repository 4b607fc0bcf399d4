//! `/api/v1/tools`: list, describe and execute tools.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Failure, Json, PathText, ok},
    query::Query,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use registry::{Listed, MatchedBy, Registry};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Instant;
use text_kit::first_sentence;
use tool::{
    Bounds, Channel, Output, Risk, Tool,
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
    /// Whether to add parameters, whole descriptions and what else `GET /tools/{name}` has.
    #[serde(default)]
    details: bool,
}

/// The tools that match, best first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tools {
    count: usize,
    tools: Vec<Matched>,
    /// Tools with similar names, where none matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar: Vec<String>,
}

/// A tool in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matched {
    /// The canonical name.
    name: String,
    /// The first sentence of its description; with details all of it.
    description: String,
    /// Its heading in lists.
    category: String,
    /// The group that switches it.
    group: String,
    /// The worst it can do.
    risk: Risk,
    /// Whether it can be called.
    enabled: bool,
    /// Its other names; left out where there are none, unless there are details.
    #[serde(skip_serializing_if = "Option::is_none")]
    aliases: Option<Vec<String>>,
    /// Whether a person should be asked first; with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    requires_confirmation: Option<bool>,
    /// The parameters, as JSON Schema; with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    /// How it was found. Present if there was a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<MatchedBy>,
}

impl Matched {
    fn new(tool: &Tool, details: bool, by: Option<MatchedBy>) -> Self {
        let aliases: Vec<String> = tool.aliases.iter().map(|alias| alias.name.to_string()).collect();
        Self {
            name: tool.name.to_string(),
            description: if details { tool.description() } else { first_sentence(tool.description()) }.to_owned(),
            category: tool.category.to_string(),
            group: tool.group.to_string(),
            risk: tool.risk,
            enabled: tool.enabled,
            aliases: Some(aliases).filter(|aliases| details || !aliases.is_empty()),
            requires_confirmation: details.then_some(tool.requires_confirmation),
            parameters: details.then(|| tool.parameters().clone()),
            by,
        }
    }
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
    let matched = found.iter().map(|m| Matched::new(&m.tool, search.details, is_search.then_some(m.by)));
    let tools: Vec<Matched> = matched.collect();
    let similar = if tools.is_empty() { house.registry.similar_names(&cx, &search.query) } else { vec![] };
    let similar = similar.into_iter().map(|name| name.to_string()).collect();
    Ok(ok(Tools { count: tools.len(), tools, similar }))
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
    /// Whether the page only reads this to show it. With the page's own session such a call is not in the audit log, if it
    /// observes and succeeds.
    #[serde(default)]
    pub display: bool,
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
    let mut cx = house.cx(&caller);
    if body.display && cx.channel() == Channel::Page {
        cx = cx.bounded(Bounds { for_display: true, ..Bounds::default() });
    }
    let output = cx.call(&name, body.arguments).await?;
    Ok(ok(Ran::new(&name, output, began)))
}
