//! The shapes of requests and responses about models.

use llm::{Problem, Strategy, Wire};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tool::prelude::{JsonSchema, schemars};

/// The origin of the first model's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChosenBy {
    /// The environment: only a restart changes it.
    Environment,
    /// The page or the API.
    Page,
    /// hob.toml.
    File,
    /// Not chosen: the first provider whose key is in the environment.
    Key,
    /// Not chosen, and there is no key: reflex.
    BuiltIn,
}

/// The first model and its fallbacks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInUse {
    /// As `provider/model`, or `reflex`.
    pub model: String,
    /// The server's address; empty for reflex.
    pub url: String,
    /// Whether a key is stored for it.
    pub has_key: bool,
    /// The origin of the choice.
    pub from: ChosenBy,
    /// Whether it can be chosen here.
    pub changeable: bool,
    /// The models that answer when it does not, in order. Reflex always comes last and is not named.
    pub fallback: Vec<String>,
    /// Whether nobody chose those: they are the other providers whose keys are in the environment.
    pub automatic_fallback: bool,
    /// How one of them is chosen for a message.
    pub strategy: Strategy,
    /// Whether commands that reflex is sure of go to no model.
    pub prefer_reflex: bool,
    /// How much may be spent on models in a day, in US dollars; null is any amount.
    pub daily_budget: Option<f64>,
    /// Those of them that do not answer, in order.
    pub trouble: Vec<ModelTrouble>,
}

/// A model that does not answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelTrouble {
    /// As `provider/model`.
    pub model: String,
    /// The provider's display name.
    pub provider: String,
    /// The server's address.
    pub url: String,
    /// Whether it is a local server.
    pub local: bool,
    /// The reason.
    pub problem: Problem,
    /// The last error, in a sentence.
    pub message: String,
    /// When it first did not answer: milliseconds since 1970.
    pub since: u64,
}

/// The model to use.
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

/// Changes of how models are chosen; what is left out stays.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelSettingsPatch {
    /// The fallbacks, as `provider/model`, the first first; at most 8, none where the list is empty. Null: what
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

/// Distinguishes null from absent.
fn double_option<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// As in `provider/model`.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// Its wire format: `openai`, `responses`, `anthropic` or `gemini`.
    #[schemars(with = "String")]
    pub wire: Wire,
    /// Its address; empty if there is none yet.
    pub url: String,
    /// Its default address; empty if there is none.
    pub default_url: String,
    /// Whether it needs a key.
    pub needs_key: bool,
    /// Whether it has a key.
    pub has_key: bool,
    /// The origin of the key: `environment` or `page`.
    pub key_from: Option<&'static str>,
    /// A sentence that says where to get one.
    pub key_hint: String,
    /// How its keys begin; empty if they have no form of their own.
    pub key_prefixes: Vec<&'static str>,
    /// Whether it is a local server, which costs nothing.
    pub local: bool,
}

/// Changes of a provider.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderPatch {
    /// Its address; empty for the default. A key is sent only to the address it was given for.
    pub url: Option<String>,
    /// Its key; empty to forget it. Left out it stays, as long as the address does.
    pub key: Option<String>,
}

/// An address and a key to try, which are not stored.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTrial {
    /// Its address; empty for the default. Left out: the stored one.
    pub url: Option<String>,
    /// Its key; left out: the stored one.
    pub key: Option<String>,
    /// A model to ask for a short answer as well, which may cost a little; empty for the one Hob suggests.
    pub model: Option<String>,
}

/// The result of asking a provider for its models, and one of them for an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ProviderTest {
    /// Whether it answered, and took the key.
    pub ok: bool,
    /// The models it offers, by its names for them.
    pub models: Vec<String>,
    /// The outcome, in a sentence.
    pub message: String,
    /// The reason why it did not answer; null if it did.
    pub problem: Option<Problem>,
    /// The model to begin with.
    pub suggested: Option<String>,
    /// The model that answered; null if none was asked.
    pub answered: Option<String>,
}

/// The known models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownModels {
    /// The models, by provider and name.
    pub models: Vec<llm::Model>,
    /// Its origin: `built-in`, or the address it was fetched from.
    pub source: String,
    /// When it was fetched: milliseconds since 1970.
    pub updated_at: Option<u64>,
}

/// A newer catalogue.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueUpdate {
    /// The document itself; else it is fetched.
    pub catalogue: Option<Value>,
    /// The address to fetch it from, instead of the default one.
    pub url: Option<String>,
}

/// Spending on models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Spending {
    /// SpendingToday so far.
    pub today: SpendingToday,
    /// The days on which a model was asked, the latest first.
    pub days: Vec<llm::Day>,
}

/// Today's spending.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpendingToday {
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
