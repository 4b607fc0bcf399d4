//! The page, embedded in the binary.

use crate::envelope::Failure;
use axum::{
    http::{Method, Uri, header},
    response::{IntoResponse, Response},
};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

/// Serves a file of the page. Files under `assets/` carry a hash in their name and never change.
pub(crate) async fn serve(method: Method, uri: Uri) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    if method != Method::GET && method != Method::HEAD {
        let refused = Failure::new(405, "method_not_allowed", "this address does not take that method");
        return ([(header::ALLOW, "GET, HEAD")], refused).into_response();
    }
    let Some(file) = Files::get(path) else {
        return Failure::new(404, "not_found", "there is nothing at this address: the page is at /").into_response();
    };
    let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    ([(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, keep)], file.data).into_response()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
