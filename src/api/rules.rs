//! `/api/v1/rules`: rules by their tools, so that each call is decided, limited and recorded like any other.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::limited,
    envelope::{Answer, Json, PathText, ok},
    query::Query,
    tools::Ran,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/rules", get(list, "List rules; triggers are rules too.").post(create, "Create a rule."))
        .route("/rules/validate", post(validate, "Check a rule without storing it."))
        .route("/rules/dry-run", post(dry_run, "See what a rule would do now, without doing it."))
        .route("/rules/export", get(export, "Get the rules as TOML."))
        .route("/rules/{id}", get(one, "Get a rule.").patch(update, "Change a rule.").delete(delete, "Delete a rule."))
        .route("/rules/{id}/dry-run", post(dry_run_one, "See what a stored rule would do now, without doing it."))
        .route("/rules/{id}/run", post(run, "Run the actions of a rule now.").also(limited))
        .route("/rules/{id}/log", get(log, "See why a rule ran or did not."))
        .scope(TokenScope::Tools)
}

/// A rule; the tool `create_rule` documents the forms of triggers, conditions and actions.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RuleBody {
    /// Its name. Default: its sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Short description.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Its triggers.
    #[serde(skip_serializing_if = "Option::is_none")]
    triggers: Option<Value>,
    /// Its conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Value>,
    /// Its actions, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<Value>,
    /// `single`, `restart`, `queued` or `parallel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// How many of its runs wait (`queued`) or run at once (`parallel`).
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
    /// Whether it is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// Seconds between two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    cooldown_seconds: Option<u32>,
    /// Runs per hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_hour: Option<u32>,
}

impl RuleBody {
    /// As arguments of a tool.
    fn arguments(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// As arguments of a tool that stores nothing, and so takes no limits.
    fn definition(&self) -> Value {
        let mut arguments = self.arguments();
        if let Some(fields) = arguments.as_object_mut() {
            for limit in ["description", "enabled", "cooldownSeconds", "maxPerHour"] {
                fields.remove(limit);
            }
        }
        arguments
    }
}

/// Which rules.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Filter {
    /// True for active rules only, false for paused ones only.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// Only rules with these words in name or description.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    /// How many to pass over.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
}

/// How many entries of a log.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct LogPage {
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
}

async fn call(house: &AppState, caller: &Caller, tool: &str, arguments: Value) -> Answer<Ran> {
    let began = Instant::now();
    let output = house.cx(caller).call(tool, arguments).await?;
    Ok(ok(Ran::new(tool, output, began)))
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<Filter>,
) -> Answer<Ran> {
    call(&house, &caller, "list_rules", serde_json::to_value(filter).unwrap_or_default()).await
}

async fn create(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<RuleBody>,
) -> Answer<Ran> {
    call(&house, &caller, "create_rule", rule.arguments()).await
}

async fn validate(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<RuleBody>,
) -> Answer<Ran> {
    call(&house, &caller, "validate_rule", rule.definition()).await
}

async fn dry_run(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<RuleBody>,
) -> Answer<Ran> {
    call(&house, &caller, "dry_run_rule", rule.definition()).await
}

async fn export(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Ran> {
    call(&house, &caller, "export_rules", json!({})).await
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Ran> {
    call(&house, &caller, "get_rule", json!({"ruleId": id})).await
}

async fn update(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(rule): Json<RuleBody>,
) -> Answer<Ran> {
    let mut arguments = rule.arguments();
    arguments["ruleId"] = id.into();
    call(&house, &caller, "update_rule", arguments).await
}

async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Ran> {
    call(&house, &caller, "delete_rule", json!({"ruleId": id})).await
}

async fn dry_run_one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Ran> {
    call(&house, &caller, "dry_run_rule", json!({"ruleId": id})).await
}

async fn run(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Ran> {
    call(&house, &caller, "run_rule", json!({"ruleId": id})).await
}

async fn log(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Query(page): Query<LogPage>,
) -> Answer<Ran> {
    let mut arguments = serde_json::to_value(page).unwrap_or_default();
    arguments["ruleId"] = id.into();
    call(&house, &caller, "rule_log", arguments).await
}
