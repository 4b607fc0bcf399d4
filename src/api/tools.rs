//! The catalogue over HTTP: list, look at, call.

use crate::{
    Caller, House,
    envelope::{Answer, Failure, Json, PathText, Query, ok},
};
use axum::{Extension, extract::State};
use registry::{Listed, Registry};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Instant;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    query: String,
    category: Option<String>,
}

pub(crate) async fn list(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Query(search): Query<Search>,
) -> Answer<Value> {
    let cx = house.cx(&caller);
    let found = house.registry.search(&search.query, search.category.as_deref());
    let tools: Vec<Listed> =
        found.iter().filter(|t| Registry::visible(&cx, t)).map(|t| Listed::from(t.as_ref())).collect();
    Ok(ok(json!({"count": tools.len(), "tools": tools})))
}

pub(crate) async fn one(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Value> {
    let cx = house.cx(&caller);
    let found = house.registry.get(&name).filter(|t| Registry::visible(&cx, t));
    let tool = found.ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        Failure::new(404, "not_found", format!("there is no tool called `{name}`: see GET /api/v1/tools"))
    })?;
    let mut data = serde_json::to_value(Listed::from(tool.as_ref())).unwrap_or_default();
    data["help"] = registry::help(&tool);
    Ok(ok(data))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Execute {
    #[serde(default)]
    arguments: Value,
}

pub(crate) async fn execute(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(body): Json<Execute>,
) -> Answer<Value> {
    let began = Instant::now();
    let output = house.cx(&caller).call(&name, body.arguments).await?;
    Ok(ok(json!({
        "tool": name,
        "result": output.content,
        "say": output.say,
        "isError": false,
        "duration": began.elapsed().as_millis() as u64,
        "metadata": output.meta,
    })))
}
