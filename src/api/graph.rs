//! `/api/v1/graph`: the caller's knowledge graph, for a picture of it.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, ok},
    query::Query,
};
use ::graph::{EntityView, FactView, Found, Search};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// The most entities of a picture, by default and at all, and steps around one.
const ENTITIES: (u32, u32) = (150, 500);
const DEPTH: (u32, u32) = (2, 3);

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new().route("/graph", get(read, "Get entities and the facts between them.")).scope(TokenScope::Tools)
}

/// Which part of the graph.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GraphPart {
    /// A question, a name or words. Default: everything.
    query: Option<String>,
    /// Begin at this entity: an id or a name.
    entity: Option<String>,
    /// How many steps around the entities that are found: 0 to 3. Default: 2.
    depth: Option<u32>,
    /// The most entities. Default: 150, at most 500.
    limit: Option<u32>,
}

/// Entities and the facts between them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GraphView {
    entities: Vec<EntityView>,
    facts: Vec<FactView>,
}

async fn read(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(part): Query<GraphPart>,
) -> Answer<GraphView> {
    let cx = house.cx(&caller);
    let search = Search {
        query: part.query.filter(|query| !query.trim().is_empty()).unwrap_or_else(|| "*".into()),
        entity: part.entity,
        depth: part.depth.unwrap_or(DEPTH.0).min(DEPTH.1),
        at: cx.ports().clock.local().date().to_string(),
        most: part.limit.unwrap_or(ENTITIES.0).clamp(1, ENTITIES.1) as usize,
        ..Search::default()
    };
    let Found { entities, facts, .. } = house.graph.search(&cx, &search).await?;
    Ok(ok(GraphView { entities, facts }))
}
