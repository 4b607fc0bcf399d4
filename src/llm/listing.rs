//! Lists a server's models: for choosing one, and for validating a key.

use crate::{Endpoint, Error, Wire, ask, error_response::ErrorResponse};
use http_client::{ModelHttp, Patience};
use serde_json::Value;
use std::time::Duration;

/// Timeout.
const WAIT: Duration = Duration::from_secs(10);
/// Maximum response size in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of models per server.
const MOST: usize = 2000;

/// The names of a server's models, in its order. The endpoint's model is ignored.
///
/// # Errors
/// `Refused` if the key or the address is wrong or the response is not a list; `Network`, `Timeout`, `Busy` and
/// `Server` as with every request. The texts never contain the key.
pub async fn models_of(endpoint: &Endpoint) -> Result<Vec<String>, Error> {
    models_within(endpoint, WAIT).await
}

/// [`models_of`] with another timeout.
///
/// # Errors
/// As [`models_of`].
pub async fn models_within(endpoint: &Endpoint, wait: Duration) -> Result<Vec<String>, Error> {
    let http = ModelHttp::new(Patience { first_byte: wait, idle: wait, overall: wait });
    let listed = async {
        if let Some(gate) = gate(endpoint) {
            get(&http, endpoint, &gate).await?;
        }
        let list = get(&http, endpoint, &address(endpoint)).await?;
        let names = names(&list, endpoint.wire);
        names.ok_or_else(|| {
            Error::Refused(format!(
                "the model server `{}` answered, but with no list of models: check its address, it usually ends with /v1",
                endpoint.provider
            ))
        })
    };
    listed.await.map_err(|error| error.without(endpoint.key.as_deref()))
}

/// An address that requires a key, for servers whose model list is public.
fn gate(endpoint: &Endpoint) -> Option<String> {
    let openrouter = endpoint.url.starts_with("https://openrouter.ai/");
    (openrouter && endpoint.key.is_some()).then(|| format!("{}/key", endpoint.url.trim_end_matches('/')))
}

/// The address of the list.
fn address(endpoint: &Endpoint) -> String {
    let base = endpoint.base();
    match endpoint.wire {
        // The OpenAI-compatible API has no list; the native API has.
        Wire::OpenAi | Wire::Responses => match base.strip_suffix("/compatibility/v1") {
            Some(house) => format!("{house}/v1/models?page_size=500&endpoint=chat"),
            None => format!("{base}/models"),
        },
        Wire::Anthropic => format!("{base}/models?limit=1000"),
        Wire::Gemini => format!("{base}/models?pageSize=1000"),
    }
}

async fn get(http: &ModelHttp, endpoint: &Endpoint, url: &str) -> Result<Value, Error> {
    let who = &endpoint.provider;
    let answer = http.get(url, &endpoint.headers()).await.map_err(|e| ask::connection_error(who, e))?;
    if !(200..300).contains(&answer.status) {
        let refusal = ErrorResponse::read(answer, endpoint.key.as_deref()).await;
        let said = &refusal.failure.text;
        let said = if said.is_empty() { String::new() } else { format!(" (it says: {said})") };
        return Err(match refusal.status {
            401 | 403 if endpoint.key.is_none() => {
                Error::Key(format!("the model server `{who}` wants a key: give one{said}"))
            }
            404 | 405 => Error::Refused(format!(
                "the model server `{who}` has no list of models at this address: check it; where a server has none, just \
                 name a model{said}"
            )),
            _ => refusal.into_error(endpoint),
        });
    }
    let bytes = answer.bytes(MAX_BYTES).await.map_err(|e| ask::connection_error(who, e))?;
    serde_json::from_slice(&bytes).map_err(|_| {
        Error::Refused(format!(
            "the model server `{who}` answered with something that is not JSON: check its address, it usually ends with /v1"
        ))
    })
}

/// The names in a list: under `data`, under `models`, or the list itself.
fn names(list: &Value, wire: Wire) -> Option<Vec<String>> {
    let entries = list["data"].as_array().or_else(|| list["models"].as_array()).or_else(|| list.as_array())?;
    let answers = |entry: &&Value| {
        let methods = entry["supportedGenerationMethods"].as_array();
        wire != Wire::Gemini || methods.is_none_or(|all| all.iter().any(|method| method == "generateContent"))
    };
    let named = entries.iter().filter(answers).filter_map(|entry| {
        let name =
            ["id", "name", "model"].into_iter().find_map(|key| entry[key].as_str()).or_else(|| entry.as_str())?;
        Some(name.strip_prefix("models/").filter(|_| wire == Wire::Gemini).unwrap_or(name))
    });
    let sound = |name: &&str| !name.is_empty() && name.len() <= 200 && !name.contains(char::is_control);
    Some(named.filter(sound).take(MOST).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
