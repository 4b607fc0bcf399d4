//! The tool `http_request`, and what of its calls sends data out.

use crate::{
    content::{Content, size_words},
    web::{WebTools, body, may_send, slice, with_scheme},
};
use http_client::Fetch;
use std::{collections::BTreeMap, time::Duration};
use tool::prelude::*;

/// The characters of a body by default and at most.
pub(crate) const CHARS: usize = 20_000;
pub(crate) const MOST_CHARS: usize = 100_000;
/// The most headers of a request.
const HEADERS: usize = 50;
/// The longest a request may take, in seconds.
const SECONDS: u32 = 30;

/// Send an HTTP request and return {status, ok, headers, body}. Answers of 5 MB at most, within 30 s. Addresses in the home are
/// refused unless an admin allowed them. To read an article or a page, fetch_web_page returns its text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct HttpRequest {
    /// http or https URL.
    url: String,
    /// GET (default), POST, PUT, PATCH, DELETE, HEAD or OPTIONS.
    #[serde(default)]
    method: Option<Method>,
    /// Request headers by name.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Request body: text, or an object, which is sent as JSON.
    #[serde(default)]
    body: Value,
    /// Seconds to wait, 30 at most.
    #[serde(default)]
    timeout: Option<u32>,
    /// Characters of the body to return (default 20000, at most 100000).
    #[serde(default)]
    max_chars: Option<usize>,
    /// Characters of the body to skip, to read on.
    #[serde(default)]
    offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
    Options,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }
}

/// Whether a request sends more than its address: by its method, a body, or headers that could carry anything.
pub(crate) fn sends(fetch: &Fetch) -> bool {
    let looks = matches!(&*fetch.method, "GET" | "HEAD" | "OPTIONS");
    !looks || fetch.body.is_some() || !fetch.headers.iter().all(|(name, value)| says_nothing(name, value))
}

/// Whether a header is one of the usual ones with a usual value.
fn says_nothing(name: &str, value: &str) -> bool {
    const TYPES: &[&str] = &[
        "*/*",
        "application/json",
        "application/xml",
        "application/xhtml+xml",
        "application/rss+xml",
        "text/html",
        "text/plain",
        "text/*",
        "text/xml",
        "text/csv",
        "text/markdown",
    ];
    let value = value.trim();
    match &*name.trim().to_ascii_lowercase() {
        "accept" => value.split(',').all(|one| TYPES.contains(&one.trim())) && value.len() <= 100,
        "accept-language" => value.len() <= 5 && value.chars().all(|c| c.is_ascii_alphabetic() || c == '-'),
        "cache-control" | "pragma" => value.eq_ignore_ascii_case("no-cache"),
        _ => false,
    }
}

/// A request of these parts; a body that is no text is JSON.
pub(crate) fn fetch(
    url: &str,
    method: Option<Method>,
    headers: BTreeMap<String, String>,
    body: Value,
) -> Result<Fetch> {
    if headers.len() > HEADERS {
        return Err(Error::bad_args(format!("there are more than {HEADERS} headers: leave some out")));
    }
    let mut headers: Vec<(String, String)> = headers.into_iter().collect();
    let has_type = headers.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case("content-type"));
    let (body, is_json) = match body {
        Value::Null => (None, false),
        Value::String(text) if text.is_empty() => (None, false),
        Value::String(text) => (Some(text), false),
        other => (Some(other.to_string()), true),
    };
    if is_json && !has_type {
        headers.push(("content-type".into(), "application/json".into()));
    }
    let method = method.map_or(if body.is_some() { "POST" } else { "GET" }, Method::name);
    if body.is_some() && matches!(method, "GET" | "HEAD") {
        return Err(Error::bad_args(format!("{method} has no body: use POST, PUT or PATCH, or leave `body` out")));
    }
    Ok(Fetch { url: with_scheme(url), method: method.to_owned(), headers, body })
}

pub(crate) async fn http_request(tools: WebTools, cx: Cx, args: HttpRequest) -> Result<Output> {
    let fetch = fetch(&args.url, args.method, args.headers, args.body)?;
    let within = Duration::from_secs(u64::from(args.timeout.unwrap_or(SECONDS).clamp(1, SECONDS)));
    let is_head = fetch.method == "HEAD";
    if sends(&fetch) {
        tools.web().check(&fetch.url)?;
        may_send(&cx, "http_request", &fetch).await?;
    }
    let reached = tools.reach(&cx, "http_request", fetch, within).await?;
    let answer = reached.answer;
    let (status, ok) = (answer.status, answer.is_success());
    let content_type = answer.header("content-type").map(str::to_owned);
    let length = answer.header("content-length").and_then(|length| length.parse().ok());
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in answer.headers() {
        // As HTTP joins them.
        headers.entry(name).and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
    }
    let mut content = json!({"status": status, "ok": ok, "headers": headers, "url": reached.url});
    let kind = Content::of(content_type.as_deref());
    if is_head {
        content["body"] = "".into();
        return finish(content, status);
    }
    if let Content::Other(what) = &kind {
        content["body"] = "".into();
        content["note"] = binary(what, length).into();
        return finish(content, status);
    }
    let bytes = body(&cx, answer).await?;
    let size = bytes.len() as u64;
    if let Content::Other(what) = kind.or_by(&bytes) {
        content["body"] = "".into();
        content["note"] = binary(&what, Some(size)).into();
        return finish(content, status);
    }
    let text = html_text::decode(&bytes, content_type.as_deref()).text;
    let most = args.max_chars.unwrap_or(CHARS).clamp(1, MOST_CHARS);
    let (part, more) = slice(&text, args.offset, most);
    content["body"] = part.into();
    if more {
        content["nextOffset"] = (args.offset + most).into();
    }
    finish(content, status)
}

fn finish(content: Value, status: u16) -> Result<Output> {
    Ok(Output::json(content)?.say(format!("The server answered {status}.")).from_outside())
}

/// A sentence about an answer that is no text.
pub(crate) fn binary(what: &str, size: Option<u64>) -> String {
    let size = size.map(|size| format!(" of {}", size_words(size))).unwrap_or_default();
    format!("The answer is {what}{size}: download_file saves it to the workspace, where other tools read it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sends_is_more_than_a_look() {
        use Method::*;
        for (method, header, body, expected) in [
            (None, ("accept", "*/*"), json!(null), false),
            (Some(Get), ("Accept", "application/json, text/*"), json!(""), false),
            (Some(Head), ("accept-language", "de-AT"), json!(null), false),
            (Some(Options), ("cache-control", "no-cache"), json!(null), false),
            (Some(Post), ("accept", "*/*"), json!(null), true),
            (Some(Delete), ("accept", "*/*"), json!(null), true),
            (None, ("accept", "*/*"), json!("x"), true),
            (None, ("accept", "*/*"), json!({"a": 1}), true),
            (None, ("accept", "*/*"), json!(0), true),
            (None, ("authorization", "Bearer x"), json!(null), true),
            (None, ("accept", "text/secret"), json!(null), true),
            (None, ("accept-language", "1234"), json!(null), true),
            (None, ("range", "bytes=1234-"), json!(null), true),
        ] {
            let headers = BTreeMap::from([(header.0.to_owned(), header.1.to_owned())]);
            let made = fetch("a.org", method, headers, body.clone()).unwrap();
            assert_eq!(sends(&made), expected, "{method:?} {header:?} {body}");
        }
    }

    #[test]
    fn bodies_that_are_no_text_are_json() {
        let made = |method, body| fetch("a.org", method, BTreeMap::new(), body);
        let post = made(None, json!({"a": 1})).unwrap();
        assert_eq!((&*post.url, &*post.method, post.body.as_deref()), ("https://a.org", "POST", Some("{\"a\":1}")));
        assert_eq!(post.headers, [("content-type".to_owned(), "application/json".to_owned())]);
        assert_eq!(made(Some(Method::Put), json!("x")).unwrap().headers, []);
        assert_eq!(made(None, Value::Null).unwrap().method, "GET");
        assert!(made(Some(Method::Get), json!("x")).is_err());
    }
}
