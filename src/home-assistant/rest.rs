//! Home Assistant's REST API.

use crate::Settings;
use http_client::ServiceHttp;
use serde_json::Value;
use tool::{Error, Result};

/// The largest answer that is read.
const LIMIT: usize = 4 * 1024 * 1024;

/// Sends one request and returns its JSON.
///
/// # Errors
/// `Unavailable` when it cannot be reached or refuses the token, `BadArgs` for arguments it refuses, `NotFound`, `Failed`.
pub(crate) async fn request(
    http: &ServiceHttp,
    settings: &Settings,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Value> {
    let url = format!("{}/api/{path}", settings.url);
    let answer = http.request(method, &url, &settings.token, body.map(Value::to_string)).await?;
    let status = answer.status;
    let text = answer.text(LIMIT).await?;
    let json: Option<Value> = serde_json::from_str(&text).ok();
    if (200..300).contains(&status) {
        return json.ok_or_else(|| {
            Error::failed(
                "the address of Home Assistant answered with something that is not its API: check the address",
            )
        });
    }
    let said = json.as_ref().and_then(|json| json["message"].as_str()).unwrap_or(text.trim());
    let said = text_kit::truncate(&text_kit::one_line(said), 300);
    let with = |what: &str| if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") };
    Err(match status {
        401 => {
            Error::unavailable("Home Assistant refuses the token: an admin must enter a new one in the Config Center")
        }
        403 => Error::denied(with("Home Assistant does not let the owner of the token do that")),
        404 => Error::not_found(with("Home Assistant does not know that")),
        400 | 405 | 422 => Error::bad_args(with("Home Assistant refused the call")),
        500.. => Error::failed(with(&format!("Home Assistant failed with {status}"))),
        _ => Error::failed(with(&format!("Home Assistant answered {status}"))),
    })
}
