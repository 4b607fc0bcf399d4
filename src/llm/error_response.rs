//! Parses servers' error responses and maps them to errors.

use crate::{Endpoint, Error};
use http_client::Streaming;
use jiff::{Timestamp, fmt::rfc2822};
use serde_json::Value;
use std::time::Duration;

/// Maximum number of bytes read from an error body.
const ERROR_BODY: usize = 64 * 1024;
/// Maximum number of characters quoted from a server's message.
const MAX_QUOTE: usize = 300;

/// Kinds of server errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The key is not accepted.
    Key,
    /// The account is out of credit.
    Credit,
    /// Rate limit.
    Busy,
    /// An upstream timeout.
    Timeout,
    /// A server-side failure.
    Server,
    /// The model generated an unparsable tool call; the next attempt may succeed.
    Call,
    /// The request is rejected permanently.
    Refused,
    /// The content filter stopped the request or the answer.
    Filtered,
}

/// Words that identify each kind, most specific first: OpenAI's `invalid_api_key` comes with the type
/// `invalid_request_error`.
const WORDS: [(ErrorKind, &[&str]); 8] = [
    (
        ErrorKind::Credit,
        &[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "insufficient_balance",
            "insufficient_credits",
        ],
    ),
    (
        ErrorKind::Key,
        &[
            "invalid_api_key",
            "api_key_invalid",
            "authentication_error",
            "permission_error",
            "unauthenticated",
            "permission_denied",
        ],
    ),
    (
        ErrorKind::Busy,
        &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests", "requests", "tokens"],
    ),
    (ErrorKind::Timeout, &["timeout_error", "deadline_exceeded", "request_timeout"]),
    (
        ErrorKind::Server,
        &[
            "overloaded_error",
            "server_error",
            "api_error",
            "internal_server_error",
            "internal_error",
            "internal",
            "unavailable",
            "service_unavailable",
            "server_is_overloaded",
        ],
    ),
    (ErrorKind::Filtered, &["content_filter", "content_policy_violation"]),
    // Groq's, with the type `invalid_request_error` and status 400.
    (ErrorKind::Call, &["tool_use_failed"]),
    (
        ErrorKind::Refused,
        &[
            "invalid_request_error",
            "invalid_argument",
            "invalid_prompt",
            "not_found_error",
            "not_found",
            "model_not_found",
            "failed_precondition",
            "request_too_large",
            "context_length_exceeded",
        ],
    ),
];

/// A failure reported by a server, in an error response or in a stream event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// Its kind, if the server reports one.
    pub trouble: Option<ErrorKind>,
    /// The server's message on one line, unabridged until [`Failure::without`]; may be empty.
    pub text: String,
    /// Requested retry delay.
    pub after: Option<Duration>,
}

impl Failure {
    /// A failure detected on this side.
    pub fn new(trouble: ErrorKind, text: impl Into<String>) -> Self {
        Self { trouble: Some(trouble), text: text.into(), after: None }
    }

    /// Parses an error object: `{message, type, code, status, details}`, a plain string, or any of it under `error`.
    pub fn of(value: &Value) -> Self {
        // Google wraps stream errors in a list.
        let value = value.as_array().and_then(|all| all.first()).unwrap_or(value);
        let error = Some(&value["error"]).filter(|e| e.is_object()).unwrap_or(value);
        let texts = [
            &error["message"],
            &value["error"],
            &value["message"],
            &value["detail"],
            &value["detail"][0]["msg"],
            value,
        ];
        let text = texts.into_iter().find_map(Value::as_str).map(one_line).unwrap_or_default();
        let details = error["details"].as_array();
        let words = [&error["code"], &error["type"], &error["status"]].into_iter().filter_map(Value::as_str);
        let words: Vec<String> = words
            .chain(details.into_iter().flatten().filter_map(|d| d["reason"].as_str()))
            .map(str::to_ascii_lowercase)
            .collect();
        let named = |(_, names): &&(ErrorKind, &[&str])| names.iter().any(|name| words.iter().any(|w| w == name));
        let number = || error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).and_then(by_status);
        let trouble = WORDS.iter().find(named).map(|(trouble, _)| *trouble).or_else(number);
        let delay = |d: &Value| d["retryDelay"].as_str().and_then(|s| seconds(s.trim_end_matches('s')));
        let after = details.into_iter().flatten().find_map(delay);
        Self { trouble, text, after }
    }

    /// Removes the key, which servers tend to repeat, and then truncates the message, so that no part of the key
    /// remains.
    fn without(mut self, key: Option<&str>) -> Self {
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            self.text = self.text.replace(key, "[key]");
        }
        self.text = self.text.chars().take(MAX_QUOTE).collect();
        self
    }

    /// The error of an answer that started with a success status. After the first delta a retry is unsafe: half an
    /// answer is never repeated.
    pub fn in_stream(self, who: &str, key: Option<&str>, begun: bool) -> Error {
        let Self { trouble, text, after } = self.without(key);
        let text = Some(text).filter(|t| !t.is_empty()).unwrap_or_else(|| "it does not say why".into());
        let text = format!("the model server `{who}` gave up: {text}");
        match trouble {
            _ if begun => Error::Broken(text),
            Some(ErrorKind::Busy) => Error::Busy { text, after },
            Some(ErrorKind::Timeout) => Error::Timeout(text),
            Some(ErrorKind::Key) => Error::Key(text),
            Some(ErrorKind::Credit) => Error::Credit(text),
            Some(ErrorKind::Refused) => Error::Refused(text),
            Some(ErrorKind::Filtered) => Error::Filtered(text),
            Some(ErrorKind::Server | ErrorKind::Call) | None => Error::Server { text, after },
        }
    }
}

/// The kind an HTTP status stands for.
fn by_status(status: u16) -> Option<ErrorKind> {
    match status {
        401 | 403 => Some(ErrorKind::Key),
        402 => Some(ErrorKind::Credit),
        408 => Some(ErrorKind::Timeout),
        429 => Some(ErrorKind::Busy),
        500.. => Some(ErrorKind::Server),
        400.. => Some(ErrorKind::Refused),
        _ => None,
    }
}

/// A response with an error status.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The reported failure.
    pub failure: Failure,
}

impl ErrorResponse {
    /// Reads the body of a response that is not 2xx.
    pub async fn read(answer: Streaming, key: Option<&str>) -> Self {
        let status = answer.status;
        let told = waiting(|name| answer.header(name), Timestamp::now());
        let body = answer.bytes(ERROR_BODY).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let failure = match serde_json::from_str::<Value>(&body) {
            Ok(value) => Failure::of(&value),
            Err(_) => Failure { trouble: None, text: one_line(&body), after: None },
        };
        let mut failure = failure.without(key);
        failure.after = told.or(failure.after);
        Self { status, failure }
    }

    /// The error, with a message that says what to do.
    pub fn into_error(self, endpoint: &Endpoint) -> Error {
        let (who, model, status) = (&endpoint.provider, &endpoint.model, self.status);
        let Failure { trouble, text, after } = self.failure;
        let said = if text.is_empty() { text } else { format!(" (it says: {text})") };
        // The status decides, except for what some servers only put into words: Google answers 400 to a wrong key,
        // Groq to a malformed call of its model.
        let trouble = match (trouble, by_status(status)) {
            (Some(telling @ (ErrorKind::Key | ErrorKind::Credit | ErrorKind::Call | ErrorKind::Filtered)), _) => {
                telling
            }
            // Anthropic answers 400 to an empty account.
            (_, Some(ErrorKind::Refused)) if is_about_credit(&said) => ErrorKind::Credit,
            (_, Some(status)) => status,
            (told, None) => told.unwrap_or(ErrorKind::Refused),
        };
        match (trouble, status) {
            (ErrorKind::Key, _) => {
                Error::Key(format!("the model server `{who}` does not accept the key: set the right one{said}"))
            }
            (ErrorKind::Credit, _) => Error::Credit(format!(
                "the account at the model server `{who}` has no credit left: add some there, or choose another model{said}"
            )),
            (ErrorKind::Busy, _) => Error::Busy {
                text: format!(
                    "the model server `{who}` is asked too often: wait {} and ask again{said}",
                    wait_text(after)
                ),
                after,
            },
            (ErrorKind::Filtered, _) => Error::Filtered(format!(
                "the content filter of the model server `{who}` stopped this: say it in another way, or ask another model{said}"
            )),
            (ErrorKind::Timeout, _) => Error::Timeout(format!("the model server `{who}` gave up waiting{said}")),
            (ErrorKind::Server, _) => Error::Server {
                text: format!("the model server `{who}` failed (status {status}): try again later{said}"),
                after,
            },
            (ErrorKind::Call, _) => Error::Server {
                text: format!(
                    "the model `{model}` of `{who}` wrote a call of a tool that cannot be read: ask again{said}"
                ),
                after,
            },
            (ErrorKind::Refused, 404) => Error::Refused(format!(
                "the model server `{who}` has no model `{model}` at this address: check both{said}"
            )),
            (ErrorKind::Refused, 413) => Error::TooLong(format!(
                "the request is too large for the model server `{who}`: send less at once, or begin a new conversation{said}"
            )),
            (ErrorKind::Refused, 400 | 422) if is_about_length(&said) => Error::TooLong(format!(
                "this is too long for the model `{model}` of `{who}`: send less at once, or begin a new conversation{said}"
            )),
            (ErrorKind::Refused, 300..400) => Error::Refused(format!(
                "the model server `{who}` sends elsewhere (status {status}), which a key must not follow: check its address{said}"
            )),
            (ErrorKind::Refused, _) => {
                Error::Refused(format!("the model server `{who}` refused the request (status {status}){said}"))
            }
        }
    }
}

/// Whether the server says that the account is empty.
fn is_about_credit(says: &str) -> bool {
    let says = says.to_lowercase();
    ["credit balance", "insufficient balance", "insufficient credit", "insufficient funds"]
        .iter()
        .any(|words| says.contains(words))
}

/// Whether the server says that the request exceeds the context size.
fn is_about_length(says: &str) -> bool {
    const LENGTH: [&str; 6] = [
        "context length",
        "context_length",
        "context window",
        "context size",
        "prompt is too long",
        "number of tokens",
    ];
    let says = says.to_lowercase();
    LENGTH.iter().any(|word| says.contains(word))
}

/// How long to wait, in words.
fn wait_text(after: Option<Duration>) -> String {
    match after.map_or(0, |after| after.as_secs()) {
        0..=5 => "a little".to_owned(),
        seconds @ 6..=119 => format!("{seconds} s"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The retry delay from the headers: milliseconds, seconds, or a date. A date is compared with the server's own clock
/// if it sends one, since a device without a battery may be years off.
fn waiting<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Duration> {
    if let Some(milliseconds) = header("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok()) {
        return seconds_of(milliseconds / 1000.0);
    }
    let after = header("retry-after")?.trim();
    let date = |text: &str| rfc2822::parse(text.trim()).ok().map(|at| at.timestamp());
    seconds(after).or_else(|| {
        let from = header("date").and_then(date).unwrap_or(now);
        let until = date(after)?;
        Some(Duration::try_from(until.duration_since(from)).unwrap_or_default())
    })
}

fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().and_then(seconds_of)
}

fn seconds_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_servers_say_of_themselves() {
        use ErrorKind::*;
        for (body, trouble, text) in [
            (
                json!({"error": {"message": "bad  key", "type": "invalid_request_error", "code": "invalid_api_key"}}),
                Some(Key),
                "bad key",
            ),
            (json!({"error": {"message": "gone", "type": "insufficient_quota"}}), Some(Credit), "gone"),
            (json!({"error": "plain"}), None, "plain"),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                Some(Server),
                "Overloaded",
            ),
            (json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}), Some(Server), "m"),
            (json!([{"error": {"code": 429, "message": "m"}}]), Some(Busy), "m"),
            (
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "m", "details": [{"reason": "API_KEY_INVALID"}]}}),
                Some(Key),
                "m",
            ),
            (json!({"message": "overloaded", "code": 529}), Some(Server), "overloaded"),
            (json!({"detail": [{"msg": "field required"}]}), None, "field required"),
            (json!("words"), None, "words"),
            (json!(null), None, ""),
        ] {
            let failure = Failure::of(&body);
            assert_eq!((failure.trouble, failure.text.as_str()), (trouble, text), "{body}");
        }
        let told =
            json!({"error": {"code": 429, "details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "13.5s"}]}});
        assert_eq!(Failure::of(&told).after, Some(Duration::from_millis(13_500)));
    }

    #[test]
    fn how_long_to_wait() {
        let now: Timestamp = "2026-01-30T10:00:00Z".parse().unwrap();
        let date = "Fri, 30 Jan 2026 10:00:20 GMT";
        for (headers, expected) in [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "0.5")], Some(500)),
            (vec![("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
            (vec![("retry-after", date)], Some(20_000)),
            (vec![("retry-after", date), ("date", "Fri, 30 Jan 2026 10:00:15 GMT")], Some(5_000)),
            (vec![("retry-after", date), ("date", "Fri, 30 Jan 2026 11:00:00 GMT")], Some(0)),
            (vec![("retry-after", "-3")], None),
            (vec![("retry-after", "soon")], None),
            (vec![], None),
        ] {
            let header = |name: &str| headers.iter().find(|h| h.0 == name).map(|h| h.1);
            assert_eq!(waiting(header, now), expected.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn how_long_to_wait_is_said_in_words() {
        for (seconds, words) in
            [(None, "a little"), (Some(3), "a little"), (Some(20), "20 s"), (Some(3_601), "61 minutes")]
        {
            assert_eq!(wait_text(seconds.map(Duration::from_secs)), words);
        }
    }

    #[test]
    fn statuses_and_what_is_told_beside_them() {
        let endpoint = Endpoint { provider: "p".into(), model: "m".into(), ..Endpoint::default() };
        let row = |status, told: Value| ErrorResponse { status, failure: Failure::of(&told) }.into_error(&endpoint);
        let is = |error: Error| match error {
            Error::Key(text) => ("key", text),
            Error::Credit(text) => ("credit", text),
            Error::Refused(text) => ("refused", text),
            Error::TooLong(text) => ("too long", text),
            Error::Busy { text, .. } => ("busy", text),
            Error::Server { text, .. } => ("server", text),
            Error::Timeout(text) => ("timeout", text),
            other => ("?", other.to_string()),
        };
        let quota = json!({"error": {"message": "quota", "code": "insufficient_quota"}});
        let key = json!({"error": {"message": "k", "details": [{"reason": "API_KEY_INVALID"}]}});
        for (status, told, kind, part) in [
            (401, json!({}), "key", "key"),
            (403, json!({}), "key", "key"),
            (400, key, "key", "does not accept the key"),
            (429, quota, "credit", "no credit left"),
            (402, json!({}), "credit", "no credit left"),
            (400, json!({"error": {"message": "Your credit balance is too low"}}), "credit", "no credit left"),
            (429, json!({"error": "slow"}), "busy", "it says: slow"),
            (404, json!({}), "refused", "no model `m`"),
            (413, json!({}), "too long", "too large"),
            (400, json!({"error": "exceeds the context length"}), "too long", "send less"),
            (408, json!({}), "timeout", "gave up waiting"),
            (500, json!({}), "server", "status 500"),
            (
                400,
                json!({"error": {"type": "invalid_request_error", "code": "tool_use_failed", "message": "m"}}),
                "server",
                "cannot be read",
            ),
            (504, json!({}), "server", "status 504"),
            (529, json!({"error": {"type": "overloaded_error"}}), "server", "status 529"),
            (400, json!({"error": {"message": "too long", "type": "api_error"}}), "refused", "it says: too long"),
            (302, json!({}), "refused", "check its address"),
        ] {
            let (got, text) = is(row(status, told));
            assert!(got == kind && text.contains(part), "{status}: {got}, {text}");
        }
    }
}
