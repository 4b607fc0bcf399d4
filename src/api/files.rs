//! `/api/v1/files`: upload, download and delete files for messages and tools.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::FileResponse,
    envelope::{Answer, Created as New, Deleted, Failure, PathId, Query, Raw, ok},
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

/// Downloads a file.
pub(crate) async fn load(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Result<FileResponse, Failure> {
    let (upload, bytes) = house.uploads.load(&house.cx(&caller), id).await?;
    let kind = upload.media_type.as_str();
    let (kind, how) = match kind {
        kind if INLINE.contains(&kind) || kind.starts_with("audio/") || kind.starts_with("video/") => (kind, "inline"),
        // An uploaded page is shown as text and not run.
        kind if kind.starts_with("text/") || kind.ends_with("json") => ("text/plain; charset=utf-8", "inline"),
        _ => ("application/octet-stream", "attachment"),
    };
    // A browser's PDF reader does not run in a sandbox.
    let policy = if kind == "application/pdf" { "default-src 'none'" } else { "default-src 'none'; sandbox" };
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

/// Decodes a percent-encoded name; anything else stays as it is.
fn percent_decode(name: &str) -> String {
    let (mut bytes, mut rest) = (vec![], name.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|b| char::from(*b).to_digit(16));
        let code = (*first == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn percent_encode(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_header() {
        for name in ["cat.png", "Küche & Bad 100%.pdf", "a/b\\c\"d\n", ""] {
            assert_eq!(percent_decode(&percent_encode(name)), name);
        }
        for (odd, read) in [("100%", "100%"), ("%zz", "%zz"), ("%C3", "\u{fffd}"), ("%+1", "%+1")] {
            assert_eq!(percent_decode(odd), read);
        }
    }
}
