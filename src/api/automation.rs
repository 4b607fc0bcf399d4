//! `/api/v1/automation`: what one chooses from to make a schedule or trigger, and how a choice reads.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, ok},
    query::Query,
};
use ::rules::{Choices, Preview};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::Deserialize;
use serde_json::Value;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/automation/choices", get(choices, "What one chooses from: causes, people, tools, things."))
        .route("/automation/preview", get(preview, "A schedule in words, with its next times."))
        .scope(TokenScope::Tools)
}

/// The choices for a schedule or trigger.
async fn choices(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Choices> {
    Ok(ok(::rules::choices(&house.cx(&caller), &house.registry, &house.rule_home)?))
}

/// A schedule that is not stored.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScheduleText {
    /// When, as for create_scheduled_task: a cron pattern, words or a date-time.
    schedule: String,
    /// An IANA time zone. Default: the household's.
    timezone: Option<String>,
}

/// How a schedule reads, and when it is due next.
async fn preview(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<ScheduleText>,
) -> Answer<Preview> {
    let zone = wanted.timezone.as_deref().filter(|zone| !zone.trim().is_empty());
    Ok(ok(::rules::preview(&house.cx(&caller), &Value::String(wanted.schedule), zone)?))
}
