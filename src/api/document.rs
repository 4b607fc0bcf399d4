//! `GET /api/v1/openapi.json`: the OpenAPI document, made from the types of the handlers.

use crate::{
    AppState,
    auth_middleware::{COOKIE, SECURE_COOKIE},
    describe::{DescribeInput, DescribeOutput, Operation, Routes, Schemas, event, get},
    envelope::{Accepted, Created, Data, Failure, FailureResponse, Json, Meta, OptionalJson, PathId, PathText, Raw},
    query::Query,
};
use axum::{
    http::{HeaderValue, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use identity::TokenScope;
use serde_json::{Value, json};
use std::{marker::PhantomData, sync::OnceLock};
use tool::{Id, prelude::JsonSchema};

/// Describes failures with these statuses.
pub(crate) fn refused(schemas: &mut Schemas, operation: &mut Operation, codes: &[(u16, &str)]) {
    for (code, about) in codes {
        let schema = schemas.output_schema::<FailureResponse>();
        operation.answer(*code, about, "application/json", schema);
    }
}

const BAD: (u16, &str) = (400, "The request is invalid.");
const MANY: (u16, &str) = (429, "Too many attempts: `Retry-After` says how many seconds to wait.");

/// Describes the failures of the middleware.
pub(crate) fn middleware_failures(schemas: &mut Schemas, operation: &mut Operation) {
    let codes = &[
        BAD,
        (401, "Not authenticated: send a token or a session cookie."),
        (403, "Not allowed: by role, scope, CSRF token, origin, or for lack of TLS."),
        (408, "The body did not arrive in time."),
        (413, "The body is too large."),
        (421, "The `Host` is not one of this Hob's names."),
    ];
    refused(schemas, operation, codes);
}

/// Describes the failures of another API, in its format.
pub(crate) fn refused_in_shape<T: JsonSchema>(schemas: &mut Schemas, operation: &mut Operation) {
    let codes = [
        BAD,
        (401, "Not authenticated: send a token."),
        (403, "Not allowed."),
        (404, "There is no such model."),
        (408, "The body did not arrive in time."),
        (409, "Not possible in the current state."),
        (413, "The body is too large."),
        (415, "The body is not JSON."),
        (421, "The `Host` is not one of this Hob's names."),
        (422, "Failed."),
        (424, "The model did not answer."),
        (429, "Too many requests, or the daily budget is spent: wait."),
    ];
    for (code, about) in codes {
        let schema = schemas.output_schema::<T>();
        operation.answer(code, about, "application/json", schema);
    }
}

/// Describes the failure of too many attempts.
pub(crate) fn limited(schemas: &mut Schemas, operation: &mut Operation) {
    refused(schemas, operation, &[MANY]);
}

/// Describes the failure of the model.
pub(crate) fn asks_a_model(schemas: &mut Schemas, operation: &mut Operation) {
    refused(schemas, operation, &[(424, "The model did not answer.")]);
}

impl<T: JsonSchema> DescribeInput for Json<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let body = schemas.input_schema::<T>();
        operation.takes(body);
        let codes = &[
            BAD,
            (408, "The body did not arrive in time."),
            (413, "The body is too large."),
            (415, "The body is not JSON."),
        ];
        refused(schemas, operation, codes);
    }
}

impl<T: JsonSchema> DescribeInput for OptionalJson<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        Json::<T>::describe(schemas, operation);
    }
}

impl DescribeInput for Raw {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        operation.takes_bytes();
        refused(schemas, operation, &[BAD, (408, "The body did not arrive in time."), (413, "The body is too large.")]);
    }
}

impl<T: JsonSchema> DescribeInput for Query<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let object = schemas.input_schema::<T>();
        operation.asks(&object);
        refused(schemas, operation, &[BAD]);
    }
}

impl DescribeInput for PathId {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        operation.in_path = Some(schemas.input_schema::<Id>());
    }
}

impl DescribeInput for PathText {
    fn describe(_: &mut Schemas, operation: &mut Operation) {
        operation.in_path = Some(json!({"type": "string", "minLength": 1}));
    }
}

/// Describes data in our envelope.
pub(crate) fn good<T: JsonSchema>(schemas: &mut Schemas, operation: &mut Operation, status: u16) {
    let (data, meta, about) = (schemas.output_schema::<T>(), schemas.output_schema::<Meta>(), schemas.about::<T>());
    // Inlined: as a type it would need a name for each kind of data.
    let properties = json!({"success": {"const": true}, "data": data, "meta": meta});
    let schema = json!({"type": "object", "required": ["success", "data", "meta"], "properties": properties});
    operation.answer(status, &about, "application/json", schema);
}

impl<T: JsonSchema> DescribeOutput for Data<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<T>(schemas, operation, 200);
    }
}

impl<T: JsonSchema> DescribeOutput for Accepted<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<T>(schemas, operation, 202);
    }
}

impl<T: JsonSchema> DescribeOutput for Created<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<T>(schemas, operation, 201);
    }
}

impl DescribeOutput for Failure {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let codes = &[
            BAD,
            (403, "Not allowed."),
            (404, "Not found."),
            (409, "Not possible in the current state."),
            (422, "Failed."),
        ];
        refused(schemas, operation, codes);
    }
}

/// A response that is a `T` or a stream of events.
pub(crate) struct Streamable<T>(Response, PhantomData<T>);

impl<T> Streamable<T> {
    pub fn new(answer: impl IntoResponse) -> Self {
        Self(answer.into_response(), PhantomData)
    }
}

impl<T> IntoResponse for Streamable<T> {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<T: DescribeOutput> DescribeOutput for Streamable<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        T::describe(schemas, operation);
        operation.answer(200, "", "text/event-stream", event());
    }
}

/// What is downloaded: its content type, as described and as sent.
pub(crate) trait Media {
    const TYPE: &'static str;
    const HEADER: &'static str = Self::TYPE;
    const ABOUT: &'static str;

    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// Bytes of any kind.
pub(crate) struct Bytes;

impl Media for Bytes {
    const TYPE: &'static str = "application/octet-stream";
    const ABOUT: &'static str = "A download.";

    fn schema() -> Value {
        json!({"type": "string", "contentMediaType": Self::TYPE})
    }
}

/// A text.
pub(crate) struct Text;

impl Media for Text {
    const TYPE: &'static str = "text/plain";
    const HEADER: &'static str = "text/plain; charset=utf-8";
    const ABOUT: &'static str = "A text to download.";
}

/// The OpenAPI document.
pub(crate) struct OpenApi;

impl Media for OpenApi {
    const TYPE: &'static str = "application/json";
    const ABOUT: &'static str = "The document.";

    fn schema() -> Value {
        json!({"type": "object"})
    }
}

/// A download with the content type of `M`.
pub(crate) struct Download<M = Bytes>(Response, PhantomData<M>);

impl<M: Media> Download<M> {
    pub fn new(answer: impl IntoResponse) -> Self {
        let mut response = answer.into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(M::HEADER));
        Self(response, PhantomData)
    }
}

impl<M> IntoResponse for Download<M> {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<M: Media> DescribeOutput for Download<M> {
    fn describe(_: &mut Schemas, operation: &mut Operation) {
        operation.answer(200, M::ABOUT, M::TYPE, M::schema());
    }
}

/// An uploaded file of any type.
pub(crate) struct FileResponse(pub Response);

impl IntoResponse for FileResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl DescribeOutput for FileResponse {
    fn describe(_: &mut Schemas, operation: &mut Operation) {
        operation.answer(200, "The file.", "*/*", json!({}));
    }
}

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new().route("/openapi.json", get(serve, "Get this document.")).scope(TokenScope::Any)
}

/// The document as text, made on first use.
async fn serve() -> Download<OpenApi> {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| crate::routes().document(frame()).to_string());
    Download::new(document.as_str())
}

fn frame() -> Value {
    let cookie = |name: &str| json!({"type": "apiKey", "in": "cookie", "name": name});
    json!({
        "info": {
            "title": "Hob",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An always-on agent for a home or workshop. Requests of a session that change something need the header \
                            `X-CSRF-Token` with what `GET /api/v1/session` tells; requests with a token do not.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "security": [{"token": []}, {"session": []}, {"sessionOverTls": []}],
        "components": {"securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "session": cookie(COOKIE),
            "sessionOverTls": cookie(SECURE_COOKIE),
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn a_download_is_sent_as_it_is_described() {
        fn sent<M: Media>() -> String {
            Download::<M>::new("x").into_response().headers()[CONTENT_TYPE].to_str().unwrap().to_owned()
        }
        assert_eq!(sent::<Bytes>(), "application/octet-stream");
        assert_eq!(sent::<Text>(), "text/plain; charset=utf-8");
        let document = crate::routes().document(frame());
        let described = &document["paths"]["/api/v1/openapi.json"]["get"]["responses"]["200"]["content"];
        assert_eq!(described[sent::<OpenApi>()]["schema"]["type"], "object");
    }

    /// The API as programs see it. After an intended change: `UPDATE_GOLDEN=1 make check`, and review the diff.
    #[test]
    fn the_document_is_golden() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/openapi.json");
        let document = format!("{:#}\n", crate::routes().document(frame()));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, &document).unwrap();
        }
        let golden = fs::read_to_string(&file).unwrap_or_default();
        let differs = document.lines().zip(golden.lines()).position(|(a, b)| a != b);
        assert!(
            document == golden,
            "line {differs:?} of openapi.json is another: if that is meant, UPDATE_GOLDEN=1 make check"
        );
    }
}
