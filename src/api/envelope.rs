//! The envelope of every response, refusals, and the extractors of requests.

use crate::describe::RouteFacts;
use axum::{
    body::{Body, HttpBody},
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tool::{
    Error, Id,
    prelude::{JsonSchema, schemars},
};

/// The longest refusal that is rewritten, in bytes.
const REFUSAL: usize = 64 * 1024;
/// The largest body without a credential, in bytes.
const SHORT: usize = 16 * 1024;
/// How much of a larger body is read and discarded, so that the client gets a response instead of a broken connection.
const DRAINED: usize = 64 << 20;
/// Codes of requests whose body was not read to its end.
const TOO_LARGE: &str = "too_large";
pub(crate) const TOO_SLOW: &str = "too_slow";
/// Timeouts for the next piece of a body, and for the whole.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(20);
const UPLOAD: std::time::Duration = std::time::Duration::from_secs(60);

/// Metadata of every answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    /// Names this answer, in reports and logs.
    request_id: Id,
    /// When it was given, in RFC 3339.
    timestamp: String,
}

impl Meta {
    fn now() -> Self {
        Self { request_id: Id::new(), timestamp: jiff::Timestamp::now().to_string() }
    }
}

/// A good answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Good<T> {
    /// True.
    success: bool,
    /// The result.
    data: T,
    meta: Meta,
}

/// A refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailureResponse {
    /// False.
    success: bool,
    error: FailureDetails,
    meta: Meta,
}

/// Why a request was refused.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailureDetails {
    /// A stable word for programs.
    code: String,
    /// A sentence for people: what to do.
    message: String,
    /// Details for programs; their form depends on the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// Status 200 with `{"success":true,"data":…,"meta":…}`.
pub(crate) struct Data<T>(pub T);

/// Status 201 with the same: something was created.
pub(crate) struct Created<T>(pub T);

/// Status 202 with the same: the work happens after this response.
pub(crate) struct Accepted<T>(pub T);

/// A response with status 200.
pub(crate) fn ok<T: Serialize>(data: T) -> Data<T> {
    Data(data)
}

impl<T: Serialize> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        axum::Json(Good { success: true, data: self.0, meta: Meta::now() }).into_response()
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Data(self.0)).into_response()
    }
}

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Data(self.0)).into_response()
    }
}

/// That something is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// True.
    deleted: bool,
}

impl Deleted {
    pub fn yes() -> Self {
        Self { deleted: true }
    }
}

/// `{"success":false,"error":{"code","message"},"meta":…}`.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: StatusCode,
    pub code: String,
    pub message: String,
    pub retry_after: Option<u64>,
    details: Option<Value>,
}

impl Failure {
    /// A restore is in progress.
    pub fn restoring() -> Self {
        Self::new(409, "closing", store::Error::Restoring.to_string())
    }

    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        Self { status, code: code.into(), message: message.into(), retry_after: None, details: None }
    }

    /// Sets `Retry-After`.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds details for programs.
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        let status = match &e {
            Error::BadArgs(_) => 400,
            Error::Denied(_) => 403,
            Error::NotFound(_) => 404,
            // Not possible in the current state.
            Error::Unavailable(_) => 409,
            Error::Failed(_) => 422,
            Error::RateLimited(_) => 429,
            Error::Parked(_) => 409,
        };
        let failure = Self::new(status, e.code(), e.message());
        match e.retry_after() {
            Some(seconds) => failure.retry_after(seconds),
            None => failure,
        }
    }
}

impl From<store::Error> for Failure {
    fn from(e: store::Error) -> Self {
        match e {
            store::Error::Restoring => Self::restoring(),
            store::Error::NoPassphrase => Self::new(422, "passphrase_needed", e.to_string()),
            store::Error::WrongPassphrase => Self::new(422, "wrong_passphrase", e.to_string()),
            e => Error::from(e).into(),
        }
    }
}

impl From<identity::Error> for Failure {
    fn from(error: identity::Error) -> Self {
        use identity::Error as E;
        let message = error.to_string();
        match error {
            E::Unauthorized(_) => Self::new(401, "unauthorized", message),
            E::WrongPassword(_) => Self::new(401, "wrong_password", message),
            E::WrongCode => Self::new(401, "wrong_code", message),
            E::CodeExpired => Self::new(401, "code_expired", message),
            E::NoInvitation => Self::new(404, "no_invitation", message),
            E::AlreadyClaimed => Self::new(409, "already_claimed", message),
            E::TooManyAttempts { retry_after_seconds, .. } => {
                Self::new(429, "too_many_tries", message).retry_after(retry_after_seconds)
            }
            E::Store(error) => error.into(),
            E::Other(error) => error.into(),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let is_unread = self.code == TOO_LARGE || self.code == TOO_SLOW;
        let error = FailureDetails { code: self.code, message: self.message, details: self.details };
        let mut response =
            (self.status, axum::Json(FailureResponse { success: false, error, meta: Meta::now() })).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        // The rest of its body was not read: the connection ends with this response, and clients are to know.
        if is_unread {
            response.headers_mut().insert(header::CONNECTION, axum::http::HeaderValue::from_static("close"));
        }
        response
    }
}

pub(crate) type Answer<T> = Result<Data<T>, Failure>;

/// A JSON body of a known shape.
pub(crate) struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        json(request).await.map(Json)
    }
}

/// A JSON body of a known shape, or none: the defaults.
pub(crate) struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        if !request.headers().contains_key(header::CONTENT_TYPE) && request.body().size_hint().exact() == Some(0) {
            return Ok(Self(T::default()));
        }
        json(request).await.map(Self)
    }
}

/// Reads and parses a JSON body within the limit of its route.
pub(crate) async fn json<T: DeserializeOwned>(request: Request) -> Result<T, Failure> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    // Also protects against other sites: no browser sends this type across sites without a preflight.
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return Err(Failure::new(
            415,
            "not_json",
            "send the header `Content-Type: application/json`, and JSON as the body",
        ));
    }
    let bytes = read_limited(request).await?;
    // Serde would read a list as the fields in order: `[]` would be a policy without rules.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let text = "the body is not what this address takes: it is a list, and must be an object with named fields";
        return Err(Failure::new(400, "bad_args", text));
    }
    serde_json::from_slice(&bytes).map_err(|e| {
        Failure::new(400, "bad_args", format!("the body is not what this address takes: {}", without_type_names(&e)))
    })
}

/// A body of any bytes.
pub(crate) struct Raw(pub Vec<u8>);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_limited(request).await.map(Raw)
    }
}

/// An error of serde without the names of our types.
fn without_type_names(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (mut words, mut out) = (text.split(' ').peekable(), vec![]);
    while let Some(word) = words.next() {
        out.push(match word {
            "struct" => {
                // "struct Name", perhaps "with 3 elements".
                words.next();
                if words.peek() == Some(&"with") {
                    words.nth(2);
                }
                "an object"
            }
            "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
            word => word,
        });
    }
    out.join(" ")
}

/// Limits the body of a request, also for routes that read none: an unread body would break the connection before the
/// response is read. Routes with a larger limit than usual read the body themselves.
pub(crate) async fn bounded(request: Request, facts: RouteFacts) -> Result<Request, Failure> {
    let Some(limit) = facts.max_body.filter(|limit| *limit <= RouteFacts::NO_ROUTE.body_limit()) else {
        return Ok(request);
    };
    if request.body().size_hint().upper().is_some_and(|most| most <= limit as u64) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    Ok(Request::from_parts(parts, read(body, limit, DRAINED).await?.into()))
}

/// Limits the body of a request without a credential.
pub(crate) async fn brief(request: Request) -> Result<Request, Failure> {
    let (parts, body) = request.into_parts();
    Ok(Request::from_parts(parts, read(body, SHORT, RouteFacts::NO_ROUTE.body_limit()).await?.into()))
}

/// Reads the body within the limit of its route.
async fn read_limited(request: Request) -> Result<Vec<u8>, Failure> {
    let facts = request.extensions().get().copied().unwrap_or(RouteFacts::NO_ROUTE);
    read(request.into_body(), facts.body_limit(), DRAINED).await
}

/// Reads a body of up to `largest` bytes, and discards a larger one of up to `drained`.
async fn read(body: Body, largest: usize, drained: usize) -> Result<Vec<u8>, Failure> {
    let large = || {
        let text = format!("the body is larger than {} KB: send less at once", largest >> 10);
        Failure::new(413, TOO_LARGE, text)
    };
    let slow = || Failure::new(408, TOO_SLOW, "the body did not come: send it without pauses");
    if body.size_hint().lower() > drained as u64 {
        return Err(large());
    }
    let end = tokio::time::Instant::now() + UPLOAD;
    let (mut bytes, mut length) = (vec![], 0);
    let mut pieces = body.into_data_stream();
    loop {
        let next = end.min(tokio::time::Instant::now() + SILENCE);
        let Some(piece) = tokio::time::timeout_at(next, pieces.next()).await.map_err(|_| slow())? else { break };
        let piece = piece.map_err(|_| Failure::new(400, "bad_args", "the body broke off: send it again"))?;
        length += piece.len();
        if length > drained {
            return Err(large());
        }
        if length <= largest {
            bytes.extend_from_slice(&piece);
        }
    }
    if length > largest { Err(large()) } else { Ok(bytes) }
}

/// Rewrites a failure into the format of another API: `say` gets its status, code and message. Other responses stay as they are.
pub(crate) async fn reworded(response: Response, say: impl FnOnce(StatusCode, &str, &str) -> Value) -> Response {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, REFUSAL).await.unwrap_or_default();
    let failure: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match (failure.get("success"), failure["error"]["message"].as_str(), failure["error"]["code"].as_str()) {
        (Some(_), Some(message), Some(code)) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            (parts, axum::Json(say(status, code, message))).into_response()
        }
        _ => Response::from_parts(parts, bytes.into()),
    }
}

/// A path parameter as text.
pub(crate) struct PathText(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        path.map(|p| Self(p.0)).map_err(|_| {
            Failure::new(400, "bad_args", "the name in the address is not readable text: write it in UTF-8")
        })
    }
}

/// A path parameter as an id.
pub(crate) struct PathId(pub Id);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        Ok(Self(text.parse::<Id>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Body {
        days: u32,
        name: String,
    }

    #[test]
    fn errors_do_not_name_our_types() {
        let rows = [
            ("[]", "invalid length 0, expected an object at line 1 column 2"),
            ("7", "invalid type: integer `7`, expected an object at line 1 column 1"),
            ("{\"days\": -1}", "invalid value: integer `-1`, expected a whole number at line 1 column 11"),
            ("{\"days\": 1}", "missing field `name` at line 1 column 11"),
        ];
        for (json, said) in rows {
            assert_eq!(without_type_names(&serde_json::from_str::<Body>(json).unwrap_err()), said);
        }
    }
}
