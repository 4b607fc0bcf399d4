//! The models: which one answers, in what order others stand in, whose keys are kept, and what was spent.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    envelope::{Answer, Json, PathText, Query, ok},
};
use axum::{Extension, extract::State};
use futures::future::BoxFuture;
use llm::{Strategy, Wire};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{
    Result,
    prelude::{JsonSchema, schemars},
};

/// Where the choice of the model was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// The environment: only a restart changes it.
    Environment,
    /// The page or the API.
    Page,
    /// hob.toml.
    File,
    /// Nobody chose: the first provider whose key is in the environment.
    Key,
    /// Nobody chose, and there is no key: reflex.
    BuiltIn,
}

/// Which model answers, and what stands in for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInUse {
    /// As `provider/model`, or `reflex`.
    pub model: String,
    /// The server's address; empty for reflex.
    pub url: String,
    /// Whether a key is kept for it.
    pub has_key: bool,
    /// Where that was decided.
    pub from: From,
    /// Whether it can be chosen here.
    pub changeable: bool,
    /// Which models stand in when it does not answer, the first first. Reflex always comes last and is not named.
    pub fallback: Vec<String>,
    /// Whether nobody chose those: they are the other providers whose keys are in the environment.
    pub automatic_fallback: bool,
    /// How one of them is chosen for a message.
    pub strategy: Strategy,
    /// Whether commands that reflex is sure of go to no model.
    pub prefer_reflex: bool,
    /// How much may be spent on models in a day, in US dollars; null is any amount.
    pub daily_budget: Option<f64>,
}

/// Which model is to answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// `reflex`, `provider/model` such as `openai/gpt-5-mini`, or `custom/MODEL` with a `url`; empty for what hob.toml says.
    pub model: String,
    /// The server's address, such as `http://192.168.1.5:8080/v1`. Left out it stays as it is, as long as the provider does.
    pub url: Option<String>,
    /// The server's key. Left out it stays as it is, as long as the server stays the same; empty it is removed.
    pub key: Option<String>,
}

/// How models are chosen; what is left out stays as it is.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelTerms {
    /// Which models stand in, as `provider/model`, the first first; at most 8, none where the list is empty. Null: what
    /// hob.toml says, else the other providers whose keys are in the environment.
    #[serde(deserialize_with = "double_option")]
    #[schemars(with = "Option<Vec<String>>")]
    pub fallback: Option<Option<Vec<String>>>,
    /// How one of them is chosen for a message.
    pub strategy: Option<Strategy>,
    /// Whether commands that reflex is sure of go to no model.
    pub prefer_reflex: Option<bool>,
    /// How much may be spent on models in a day, in US dollars; null is any amount.
    #[serde(deserialize_with = "double_option")]
    #[schemars(with = "Option<f64>")]
    pub daily_budget: Option<Option<f64>>,
}

/// Tells null from nothing.
fn double_option<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Somebody who offers models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// As in `provider/model`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// How it is spoken to: `openai`, `responses`, `anthropic` or `gemini`.
    #[schemars(with = "String")]
    pub wire: Wire,
    /// Where it is; empty where nobody said yet.
    pub url: String,
    /// Where it is unless somebody says otherwise; empty where there is no such place.
    pub default_url: String,
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// Whether a key is there.
    pub has_key: bool,
    /// Where the key is from: `environment` or `page`.
    pub key_from: Option<&'static str>,
    /// Where to get one, in a sentence.
    pub key_hint: String,
    /// Whether it is a server of one's own, which costs nothing.
    pub local: bool,
}

/// What is to be different at a provider.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderChange {
    /// Where it is; empty for the usual place. A key goes to no other address than the one it was given for.
    pub url: Option<String>,
    /// Its key; empty to forget it. Left out it stays, as long as the address does.
    pub key: Option<String>,
}

/// What came of asking a provider for its models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tried {
    /// Whether it answered, and took the key.
    pub ok: bool,
    /// The models it offers, by its names for them.
    pub models: Vec<String>,
    /// What happened, in a sentence.
    pub message: String,
}

/// What is known of models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// The models, by provider and name.
    pub models: Vec<llm::Model>,
    /// Where that is from: `built-in`, or where it was fetched.
    pub source: String,
    /// When it was fetched: milliseconds since 1970.
    pub updated_at: Option<u64>,
}

/// Fresh facts about models.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fresh {
    /// The document itself; else it is fetched.
    pub catalogue: Option<Value>,
    /// Where to fetch it, in place of the usual address.
    pub url: Option<String>,
}

/// What was spent on models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Spent {
    /// Today so far.
    pub today: Today,
    /// The days on which a model was asked, the latest first.
    pub days: Vec<llm::Day>,
}

/// What was spent today.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Today {
    /// In US dollars, as far as prices are known.
    pub cost: f64,
    /// Tokens read and written.
    pub tokens: u64,
    /// How often a model was asked.
    pub requests: u64,
    /// How much may be spent in a day, in US dollars.
    pub budget: Option<f64>,
    /// How much of it is left.
    pub left: Option<f64>,
}

/// What an admin may change about the models while the house is open, as the assembly offers it.
pub trait Models: Send + Sync + 'static {
    /// Which model answers.
    fn in_use(&self) -> ModelInUse;
    /// Chooses the model. `BadArgs` when the choice makes no sense, `Denied` when the environment has decided.
    fn choose(self: Arc<Self>, choice: ModelChoice) -> BoxFuture<'static, Result<ModelInUse>>;
    /// Changes how models are chosen. `BadArgs` when it makes no sense.
    fn adjust(self: Arc<Self>, terms: ModelTerms) -> BoxFuture<'static, Result<ModelInUse>>;
    /// The price of a model, the one that answers where none is named, and its full name. `BadArgs` when it cannot be asked.
    fn price(&self, model: Option<&str>) -> Result<(String, llm::Price)>;
    /// Who offers models.
    fn providers(&self) -> Vec<Provider>;
    /// Changes where one is, or its key. `NotFound` when there is none of that name.
    fn change(self: Arc<Self>, id: String, change: ProviderChange) -> BoxFuture<'static, Result<Provider>>;
    /// Asks one for its models, with what would be changed.
    fn attempt(self: Arc<Self>, id: String, change: ProviderChange) -> BoxFuture<'static, Result<Tried>>;
    /// What is known of models, of one provider or all.
    fn known(&self, provider: Option<&str>) -> Known;
    /// Takes fresh facts in. `BadArgs` when the document is none, `Unavailable` when it could not be fetched.
    fn refresh(self: Arc<Self>, fresh: Fresh) -> BoxFuture<'static, Result<Known>>;
    /// What was spent in so many days.
    fn spent(&self, days: u16) -> Result<Spent>;
    /// What each model was asked since the start.
    fn since_start(&self) -> Vec<llm::ModelUse>;
}

/// Which model answers, and where that was decided.
pub(crate) async fn in_use(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<ModelInUse> {
    let mut model = house.models.in_use();
    if must_be_admin(&caller).is_err() {
        // Where the household's servers are is not everybody's affair.
        model.url.clear();
    }
    Ok(ok(model))
}

/// Chooses the model that answers from now on.
pub(crate) async fn choose(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(choice): Json<ModelChoice>,
) -> Answer<ModelInUse> {
    must_be_admin(&caller)?;
    let chosen = house.models.clone().choose(choice).await?;
    tell(&house);
    Ok(ok(chosen))
}

/// Changes what stands in for it, and what may be spent.
pub(crate) async fn adjust(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(terms): Json<ModelTerms>,
) -> Answer<ModelInUse> {
    must_be_admin(&caller)?;
    let chosen = house.models.clone().adjust(terms).await?;
    tell(&house);
    Ok(ok(chosen))
}

fn tell(house: &AppState) {
    house.ports.bus.publish("model:changed", None, json!({"model": house.agent.model()}));
}

/// Those who offer models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Providers {
    providers: Vec<Provider>,
}

pub(crate) async fn providers(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Answer<Providers> {
    must_be_admin(&caller)?;
    Ok(ok(Providers { providers: house.models.providers() }))
}

/// Changes where a provider is, or its key.
pub(crate) async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(change): Json<ProviderChange>,
) -> Answer<Provider> {
    must_be_admin(&caller)?;
    let changed = house.models.clone().change(id, change).await?;
    tell(&house);
    Ok(ok(changed))
}

/// Asks a provider for its models, without keeping anything.
pub(crate) async fn attempt(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(change): Json<ProviderChange>,
) -> Answer<Tried> {
    must_be_admin(&caller)?;
    Ok(ok(house.models.clone().attempt(id, change).await?))
}

/// Which models.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Whose {
    /// Those of one provider; all when left out.
    provider: Option<String>,
}

/// What is known of models.
pub(crate) async fn known(State(house): State<AppState>, Query(whose): Query<Whose>) -> Answer<Known> {
    Ok(ok(house.models.known(whose.provider.as_deref())))
}

/// Fresh facts were taken in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Refreshed {
    /// How many models are known now.
    models: usize,
    source: String,
}

pub(crate) async fn refresh(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(fresh): Json<Fresh>,
) -> Answer<Refreshed> {
    must_be_admin(&caller)?;
    let known = house.models.clone().refresh(fresh).await?;
    Ok(ok(Refreshed { models: known.models.len(), source: known.source }))
}

/// Which days.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Since {
    /// How many days back, up to 400.
    #[serde(default = "month")]
    days: u16,
}

fn month() -> u16 {
    30
}

/// What was spent on models, by day.
pub(crate) async fn spent(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(since): Query<Since>,
) -> Answer<Spent> {
    must_be_admin(&caller)?;
    Ok(ok(house.models.spent(since.days.clamp(1, 400))?))
}
