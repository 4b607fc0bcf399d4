//! The state of the tools, and a request that is judged at each host it reaches.

use crate::{cache::Cache, found::SearchState, inflate::inflate, read_page::ReadPage};
use http_client::{Fetch, Guarded, LIMIT, MAX_REDIRECTS, Streamed, Streaming, TIMEOUT};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use text_kit::truncate;
use tool::{Consult, Label, Role, prelude::*};
use url::Url;

/// How many characters of an address and a body a person is shown before they are sent.
const SHOWN: usize = 4_000;

/// The tools' state; cheap to clone.
#[derive(Clone)]
pub struct WebTools(Arc<Inner>);

struct Inner {
    web: Guarded,
    pages: Cache<ReadPage>,
    search: SearchState,
}

/// An answer that has begun, after redirects.
pub(crate) struct Reached {
    pub answer: Streaming,
    /// The URL that answers.
    pub url: String,
    /// All hosts that were reached.
    pub hosts: Vec<String>,
}

impl WebTools {
    /// The tools over this client.
    pub fn new(web: Guarded) -> Self {
        Self(Arc::new(Inner { web, pages: Cache::default(), search: SearchState::default() }))
    }

    pub(crate) fn web(&self) -> &Guarded {
        &self.0.web
    }

    pub(crate) fn pages(&self) -> &Cache<ReadPage> {
        &self.0.pages
    }

    pub(crate) fn search(&self) -> &SearchState {
        &self.0.search
    }

    /// Sends a request and follows redirects; each host is judged by the guard and by the rules for the person.
    ///
    /// # Errors
    /// Those of the client; `Denied` by a rule; `Unavailable` when the call is cancelled.
    pub(crate) async fn reach(&self, cx: &Cx, tool: &str, mut fetch: Fetch, within: Duration) -> Result<Reached> {
        let (began, mut hosts) = (Instant::now(), vec![]);
        let within = within.min(TIMEOUT);
        for _ in 0..=MAX_REDIRECTS {
            let host = self.0.web.check(&fetch.url)?;
            may_reach(cx, tool, &host).await?;
            if !hosts.contains(&host) {
                hosts.push(host);
            }
            // Whatever comes from here on, even an error, is a stranger's word.
            cx.taint(Label::Outside);
            let left = within.saturating_sub(began.elapsed());
            let step = tokio::select! {
                () = cx.cancel().cancelled() => return Err(Error::unavailable("the request was cancelled")),
                step = self.0.web.stream_once(fetch.clone(), left) => step?,
            };
            match step {
                Streamed::Done(answer) => return Ok(Reached { answer, url: fetch.url, hosts }),
                Streamed::Redirect { status, location } => {
                    let next = fetch.redirected(status, &location)?;
                    if next.crosses_origin && !matches!(&*next.fetch.method, "GET" | "HEAD" | "OPTIONS") {
                        let (method, to) = (&next.fetch.method, host_of(&next.fetch.url));
                        return Err(Error::failed(format!(
                            "the server sends this {method} on to `{to}`, which nobody approved: ask that host directly"
                        )));
                    }
                    fetch = next.fetch;
                }
            }
        }
        Err(http_client::Error::too_many_redirects(&fetch).into())
    }
}

/// Asks the rules for this person about a host.
pub(crate) async fn may_reach(cx: &Cx, tool: &str, host: &str) -> Result<()> {
    let consult = Consult {
        tool: tool.to_owned(),
        version: 0,
        action: "fetch",
        details: json!({"host": host}),
        risk: Risk::Send,
        ask: false,
        about: format!("Reach {host}."),
        reason: String::new(),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

/// Lets a request send more than an address: a person who makes the call by hand may, and otherwise one is asked.
///
/// # Errors
/// `Denied` to viewers, by a rule, or by the person.
pub(crate) async fn may_send(cx: &Cx, tool: &str, fetch: &Fetch) -> Result<()> {
    if cx.principal().role < Role::Member {
        return Err(Error::denied("sending needs the role Member: ask an admin of this Hob, or read without sending"));
    }
    let host = host_of(&fetch.url);
    let names: Vec<&str> = fetch.headers.iter().map(|(name, _)| name.as_str()).collect();
    let body = fetch.body.as_deref().unwrap_or_default();
    let consult = Consult {
        tool: tool.to_owned(),
        version: 0,
        action: "send",
        // A standing approval covers these values: all of a longer body is none that a person saw.
        details: json!({
            "host": host,
            "method": fetch.method,
            "url": truncate(&fetch.url, SHOWN),
            "headers": names,
            "body": truncate(body, SHOWN),
            "length": body.len(),
        }),
        risk: Risk::Send,
        ask: !(cx.is_in_person() && cx.label() == Label::Own),
        about: format!("Send a {} request to {host}: {}", fetch.method, truncate(&text_kit::one_line(body), 200)),
        reason: format!("`{tool}` would send data to {host}, which needs a person's approval"),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

/// The host of a URL, with its port where it names one.
fn host_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// The whole body, inflated; at most [`LIMIT`] bytes.
pub(crate) async fn body(cx: &Cx, answer: Streaming) -> Result<Vec<u8>> {
    let encoding = answer.header("content-encoding").unwrap_or_default().to_owned();
    let body = tokio::select! {
        () = cx.cancel().cancelled() => return Err(Error::unavailable("the request was cancelled")),
        body = answer.bytes(LIMIT) => body?,
    };
    if encoding.is_empty() {
        return Ok(body);
    }
    tool::blocking("inflating the answer", move || inflate(body, &encoding, LIMIT)).await
}

/// An address with a scheme; one without gets `https://`.
pub(crate) fn with_scheme(url: &str) -> String {
    let url = url.trim();
    if url.contains("://") { url.to_owned() } else { format!("https://{url}") }
}

/// The first characters from `offset` on, and whether more follow.
pub(crate) fn slice(text: &str, offset: usize, most: usize) -> (&str, bool) {
    let rest = text.char_indices().nth(offset).map_or("", |(at, _)| &text[at..]);
    let part = text_kit::prefix(rest, most);
    (part, part.len() < rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sliced_by_characters() {
        for (offset, most, expected) in [
            (0, 3, ("äbc", true)),
            (3, 3, ("d", false)),
            (4, 3, ("", false)),
            (9, 3, ("", false)),
            (0, 4, ("äbcd", false)),
        ] {
            assert_eq!(slice("äbcd", offset, most), expected, "{offset} {most}");
        }
        assert_eq!((&*with_scheme(" a.org/x "), &*with_scheme("http://a.org")), ("https://a.org/x", "http://a.org"));
    }
}
