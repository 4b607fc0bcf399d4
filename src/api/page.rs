//! The page, embedded in the binary.

use crate::{AppState, envelope::Failure, host_check::encrypted_url};
use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Redirect, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

/// Serves a file of the page. Files under `assets/` carry a hash in their name and never change. A request in clear text from
/// another machine is redirected to https: a person types secrets here.
pub(crate) async fn serve(State(house): State<AppState>, request: Request) -> Response {
    let method = request.method();
    let path = match request.uri().path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    if path.starts_with("api/") {
        let text = "there is nothing at this address: Hob takes /api/chat, /api/generate, /api/tags, /api/ps, /api/show and \
                    /api/version of Ollama's API; its own begins with /api/v1";
        return Failure::new(404, "not_found", text).into_response();
    }
    if *method != Method::GET && *method != Method::HEAD {
        let refused = Failure::new(405, "method_not_allowed", "this address does not take that method");
        return ([(header::ALLOW, "GET, HEAD")], refused).into_response();
    }
    if let Some(url) = encrypted_url(&house, &request) {
        return Redirect::temporary(&url).into_response();
    }
    let Some(file) = Files::get(path) else {
        return Failure::new(404, "not_found", "there is nothing at this address: the page is at /").into_response();
    };
    let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    ([(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, keep)], file.data).into_response()
}

/// The policy of `frame.html`, which shows components that a model wrote. Only the script of that file runs in the document,
/// named by its hash; the component's code runs in a worker made by that script, which inherits the policy. No request of any
/// kind is allowed. A worker has no WebRTC, links, forms or navigation: no policy could forbid those to a document.
pub(crate) fn frame_policy() -> HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    let make = || {
        let file =
            Files::get("frame.html").map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
        let script = file.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>"));
        let hash = STANDARD.encode(Sha256::digest(script.map(|(script, _)| script).unwrap_or_default()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{hash}' 'unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; \
             img-src data:; connect-src 'none'; frame-src 'none'; form-action 'none'; base-uri 'none'; \
             sandbox allow-scripts; frame-ancestors 'self'"
        );
        HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'; sandbox"))
    };
    POLICY.get_or_init(make).clone()
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
