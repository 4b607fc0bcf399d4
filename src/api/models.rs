//! `/api/v1/model`, `/models`, `/providers` and `/usage`: which model answers, its fallbacks, providers and spending.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    describe::{Routes, get, post, put},
    envelope::{Answer, Json, PathText, ok},
    query::{Limit, Query},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use models::{
    CatalogueUpdate, FoundServers, KnownModels, ModelCheck, ModelChoice, ModelInUse, ModelSettingsPatch, ProviderPatch,
    ProviderTest, ProviderTrial, ProviderView, Spending,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    let reads = Routes::new()
        .route("/model", get(in_use, "Get which model answers."))
        .route("/models", get(known, "List the known models."))
        .route("/usage", get(spent, "Get the spending on models, by day.").admin())
        .scope(TokenScope::Device);
    Routes::new()
        .route(
            "/model",
            put(choose, "Choose the model that answers.")
                .admin()
                .secret()
                .patch(adjust, "Set fallbacks, strategy and budget.")
                .admin()
                .secret(),
        )
        .route("/model/check", post(check, "Check whether the servers of the models answer.").admin())
        .route(
            "/model-servers/find",
            post(find, "Look for model servers on this device and the household's machines.").admin(),
        )
        .route("/models/refresh", post(refresh, "Update the catalogue of models and prices.").admin())
        .route("/providers", get(providers, "List the providers of models.").admin())
        .route("/providers/{id}", put(change, "Set the address or key of a provider.").admin().secret())
        .route(
            "/providers/{id}/try",
            post(attempt, "Test a provider by asking for its models, or for an answer.").admin().secret(),
        )
        .scope(TokenScope::Admin)
        .merge(reads)
}

pub(crate) async fn in_use(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<ModelInUse> {
    let mut model = house.models.in_use();
    if must_be_admin(&caller).is_err() {
        // Only admins see the addresses of servers.
        model.url.clear();
        for trouble in &mut model.trouble {
            // The error names the address too.
            trouble.url.clear();
            trouble.message.clear();
        }
    }
    Ok(ok(model))
}

pub(crate) async fn choose(State(house): State<AppState>, Json(choice): Json<ModelChoice>) -> Answer<ModelInUse> {
    let chosen = house.models.choose(choice).await?;
    publish_change(&house);
    Ok(ok(chosen))
}

pub(crate) async fn adjust(State(house): State<AppState>, Json(patch): Json<ModelSettingsPatch>) -> Answer<ModelInUse> {
    let chosen = house.models.change_settings(patch).await?;
    publish_change(&house);
    Ok(ok(chosen))
}

fn publish_change(house: &AppState) {
    house.ports.bus.publish("model:changed", None, json!({"model": house.agent.model()}));
}

/// Those who offer models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Providers {
    providers: Vec<ProviderView>,
}

pub(crate) async fn providers(State(house): State<AppState>) -> Answer<Providers> {
    Ok(ok(Providers { providers: house.models.providers() }))
}

pub(crate) async fn change(
    State(house): State<AppState>,
    PathText(id): PathText,
    Json(patch): Json<ProviderPatch>,
) -> Answer<ProviderView> {
    let changed = house.models.change_provider(&id, patch).await?;
    publish_change(&house);
    Ok(ok(changed))
}

pub(crate) async fn attempt(
    State(house): State<AppState>,
    PathText(id): PathText,
    Json(trial): Json<ProviderTrial>,
) -> Answer<ProviderTest> {
    Ok(ok(house.models.test_provider(&id, trial).await?))
}

/// The models that are asked, in order.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked {
    models: Vec<ModelCheck>,
}

pub(crate) async fn check(State(house): State<AppState>) -> Answer<Checked> {
    Ok(ok(Checked { models: house.models.check().await }))
}

pub(crate) async fn find(State(house): State<AppState>) -> Answer<FoundServers> {
    Ok(ok(house.models.find_servers().await))
}

/// Which models.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ModelsQuery {
    /// Those of one provider; all when left out.
    provider: Option<String>,
}

pub(crate) async fn known(State(house): State<AppState>, Query(whose): Query<ModelsQuery>) -> Answer<KnownModels> {
    Ok(ok(house.models.known(whose.provider.as_deref())))
}

/// The new catalogue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Refreshed {
    /// How many models are known now.
    models: usize,
    source: String,
}

pub(crate) async fn refresh(State(house): State<AppState>, Json(update): Json<CatalogueUpdate>) -> Answer<Refreshed> {
    let known = house.models.update_catalogue(update).await?;
    Ok(ok(Refreshed { models: known.models.len(), source: known.source }))
}

/// Which days.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct UsageQuery {
    /// How many days back, up to 400.
    #[serde(default)]
    days: Limit<30, 400>,
}

pub(crate) async fn spent(State(house): State<AppState>, Query(since): Query<UsageQuery>) -> Answer<Spending> {
    Ok(ok(house.models.spending(since.days.get() as u16)?))
}
