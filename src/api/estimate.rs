//! `/api/v1/providers/estimate`: estimates the cost of a request to a model.

use crate::{
    AppState, Caller,
    describe::{Routes, post},
    envelope::{Answer, Failure, Json, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use llm::Price;
use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// The assumed length of an answer, in tokens.
const DEFAULT_OUTPUT: u64 = 1_000;
/// The most tokens of an estimate.
const MAX_TOKENS: u64 = 1_000_000_000;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/providers/estimate", post(estimate, "Estimate what a request to a model would cost."))
        .scope(TokenScope::Chat)
}

/// A request that is not made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Estimate {
    /// As `provider/model`, or `reflex`; the model that answers where it is left out.
    model: Option<String>,
    /// The message: what Hob sends with it (the prompt and the everyday tools) is counted too. Give this or `inputTokens`.
    message: Option<String>,
    /// How many tokens the model would read in all.
    input_tokens: Option<u64>,
    /// How many tokens it would write; 1000 where it is left out.
    output_tokens: Option<u64>,
}

/// The estimated cost.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Estimated {
    /// As `provider/model`, or `reflex`.
    model: String,
    /// How many tokens the model would read, about.
    input_tokens: u64,
    /// How many tokens it would write.
    output_tokens: u64,
    /// The cost; 0 for a free or local model, null if the price is unknown.
    cost: Option<f64>,
    /// Always `USD`.
    currency: &'static str,
    /// The price; null where it is not known.
    price: Option<PerMillion>,
}

/// A price for a million tokens.
#[derive(Serialize, JsonSchema)]
struct PerMillion {
    /// Read.
    input: f64,
    /// Written.
    output: f64,
}

/// Estimates what a request would cost, without making it.
pub(crate) async fn estimate(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(asked): Json<Estimate>,
) -> Answer<Estimated> {
    let wrong = |text: &str| Failure::new(400, "bad_args", text);
    let input_tokens = match (asked.message, asked.input_tokens) {
        (Some(message), None) => house.agent.request_tokens(&house.cx(&caller), &message).await?,
        (None, Some(tokens)) => tokens,
        _ => return Err(wrong("give either `message` or `inputTokens`")),
    };
    let output_tokens = asked.output_tokens.unwrap_or(DEFAULT_OUTPUT);
    if input_tokens.max(output_tokens) > MAX_TOKENS {
        return Err(wrong("`inputTokens` and `outputTokens` are 1,000,000,000 at most"));
    }
    let (model, price) = house.models.price(asked.model.as_deref())?;
    let cost = price.estimate(input_tokens, output_tokens);
    let price = match price {
        Price::Free => Some(PerMillion { input: 0.0, output: 0.0 }),
        Price::Known { input, output, .. } => Some(PerMillion { input, output }),
        Price::Unknown => None,
    };
    Ok(ok(Estimated { model, input_tokens, output_tokens, cost, currency: "USD", price }))
}
