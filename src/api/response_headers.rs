//! The outermost middleware: adds the security headers to every response, turns a panic into one, and announces the end of a
//! connection whose request was not read to its end.

use crate::{envelope::Failure, page};
use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt;
use hyper::body::{Frame, SizeHint};
use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

const POLICY: &str = "content-security-policy";
/// The security headers of every response: browsers may only show it on our own page.
const SECURITY: &[(&str, &str)] = &[
    (
        POLICY,
        "default-src 'self'; object-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
         manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    // No DNS lookup for links that a model wrote, before a person follows them.
    ("x-dns-prefetch-control", "off"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(self), payment=(), usb=()"),
];

/// The frame for components written by a model; only our own page may embed it. Its policy is [`page::frame_policy`].
const FRAME: &str = "/frame.html";

/// A PDF is shown in a frame of our own page, by the browser's own reader; it loads nothing.
const PDF_POLICY: &str = "default-src 'none'; frame-ancestors 'self'";

/// Turns a panic into a response, and adds the security headers to every response.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let framed = request.uri().path() == FRAME;
    let is_read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
    let request = request.map(|body| Body::new(Watched { body, is_read: is_read.clone() }));
    let mut response = AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a request broke inside");
        Failure::new(500, "broken", "this broke inside Hob and is a fault of ours: the log has more").into_response()
    });
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        // An uploaded file has a stricter policy of its own.
        if *name != POLICY || !headers.contains_key(POLICY) {
            headers.insert(*name, HeaderValue::from_static(value));
        }
    }
    if framed {
        headers.remove("x-frame-options");
        headers.insert(POLICY, page::frame_policy());
    }
    if is_pdf(headers) {
        headers.insert("x-frame-options", HeaderValue::from_static("SAMEORIGIN"));
        headers.insert(POLICY, HeaderValue::from_static(PDF_POLICY));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // A refusal does not wait for the body. The rest of it would be read as the next request, so the connection ends; without this
    // header a program sends its next request into the closed connection.
    if !is_read.load(Ordering::Relaxed) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn is_pdf(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/pdf")
}

/// The body of a request, which records that it was read to its end.
struct Watched {
    body: Body,
    is_read: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.is_read.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
