//! `/api/v1/files`: upload, download and delete files for messages and tools.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::FileResponse,
    envelope::{Answer, Created as New, Deleted, Failure, PathId, Raw, ok},
    query::Query,
};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, header},
    response::IntoResponse,
};
use identity::TokenScope;
use serde::Deserialize;
use text_kit::{percent_decode, percent_encode};
use tool::prelude::{JsonSchema, schemars};
use uploads::Upload;

/// Types that a browser shows without running anything in them. Texts are shown as plain text; anything else is a download.
const INLINE: &[&str] =
    &["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "application/pdf"];

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/files", post(add, "Upload a file.").max_body(uploads::LARGEST))
        .route("/files/{id}", get(load, "Download a file.").delete(delete, "Delete a file."))
        .scope(TokenScope::Chat)
}

/// The name of a file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Named {
    /// Its name. The header `X-File-Name` (percent-encoded) says the same.
    name: Option<String>,
}

/// Stores a file; the body is the file.
pub(crate) async fn add(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(named): Query<Named>,
    headers: HeaderMap,
    Raw(bytes): Raw,
) -> Result<New<Upload>, Failure> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let name = named.name.unwrap_or_else(|| percent_decode(text("x-file-name")));
    Ok(New(house.uploads.put(&house.cx(&caller), &name, text("content-type"), bytes).await?))
}

/// How a browser gets content of a media type that was found in it: type, disposition and content policy.
pub(crate) fn shown_as(kind: &str) -> (&str, &'static str, &'static str) {
    let (kind, how) = match kind {
        kind if INLINE.contains(&kind) || kind.starts_with("audio/") || kind.starts_with("video/") => (kind, "inline"),
        // An uploaded page is shown as text and not run.
        kind if kind.starts_with("text/") || kind.ends_with("json") => ("text/plain; charset=utf-8", "inline"),
        _ => ("application/octet-stream", "attachment"),
    };
    // A browser's PDF reader does not run in a sandbox.
    (kind, how, if kind == "application/pdf" { "default-src 'none'" } else { "default-src 'none'; sandbox" })
}

/// Downloads a file.
pub(crate) async fn load(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Result<FileResponse, Failure> {
    let (upload, bytes) = house.uploads.load(&house.cx(&caller), id).await?;
    let (kind, how, policy) = shown_as(&upload.media_type);
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("{how}; filename*=UTF-8''{}", percent_encode(&upload.name))),
        // Immutable under its id; cached by its person's browser only.
        (header::CACHE_CONTROL, "private, max-age=86400, immutable".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy.to_owned()),
    ];
    Ok(FileResponse((headers, Body::from(Bytes::from_owner(bytes))).into_response()))
}

/// Deletes a file.
pub(crate) async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    house.uploads.delete(&house.cx(&caller), id).await?;
    Ok(ok(Deleted::yes()))
}
