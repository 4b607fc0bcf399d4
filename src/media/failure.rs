//! Why a provider did not do a job: the kind decides whether the next one is tried.

use serde_json::Value;
use text_kit::{one_line, truncate};

/// The longest message of a provider that is repeated, in characters.
const MESSAGE: usize = 240;

/// Why a provider did not do a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// It refuses the content: another provider is not tried instead.
    Refused(String),
    /// The key is not accepted.
    Key(String),
    /// The account's credit or limit is used up.
    Quota(String),
    /// Too many requests at once, or out of order for now.
    Busy(String),
    /// It does not accept the job as it is.
    Rejected(String),
    /// No answer came, or none in time; whether it was charged is not known.
    Silent(String),
    /// The answer cannot be read.
    Odd(String),
    /// It cannot do this job; nothing was sent.
    Unable(String),
    /// Nothing is there that could be asked.
    Absent(tool::Error),
    /// A server in the home, or the model that answers, could not do it.
    Own(tool::Error),
    /// The budget of the day is spent.
    Spent(String),
    /// A long job is not done yet: `provider/id`.
    Unfinished(String),
}

impl Failure {
    /// What happened, as the rest of a sentence that begins with the provider's name.
    pub fn words(&self) -> String {
        let with = |what: &str, message: &str| match message {
            "" => what.to_owned(),
            message => format!("{what} ({message})"),
        };
        match self {
            Self::Refused(m) => with("refuses this content", m),
            Self::Key(m) => with("does not accept the key", m),
            Self::Quota(m) => with("has no credit left, or its limit is reached", m),
            Self::Busy(m) => with("is busy or out of order", m),
            Self::Rejected(m) => with("does not accept this request", m),
            Self::Silent(m) | Self::Odd(m) | Self::Unable(m) | Self::Spent(m) => m.clone(),
            Self::Absent(error) | Self::Own(error) => error.message().to_owned(),
            Self::Unfinished(_) => "is not done yet".to_owned(),
        }
    }

    /// Whether words of the provider are in it.
    pub fn quotes(&self) -> bool {
        !matches!(self, Self::Unable(_) | Self::Absent(_) | Self::Own(_) | Self::Spent(_) | Self::Unfinished(_))
    }

    /// Whether the request may have been charged.
    pub fn may_cost(&self) -> bool {
        matches!(self, Self::Silent(_) | Self::Odd(_) | Self::Unfinished(_))
    }
}

impl From<http_client::Error> for Failure {
    fn from(error: http_client::Error) -> Self {
        use http_client::Error as Http;
        let text = error.to_string();
        match error {
            Http::BadRequest(_) | Http::Blocked { .. } | Http::Redirected(_) | Http::Setup(_) => {
                Self::Unable(format!("could not be asked ({text})"))
            }
            Http::TooLarge { .. } | Http::NotWebSocket { .. } => {
                Self::Odd(format!("answered something unusable ({text})"))
            }
            Http::Unreachable { .. } | Http::UnknownCertificate { .. } | Http::ChangedCertificate { .. } => {
                Self::Busy(text)
            }
            Http::TimedOut { .. } | Http::Broken { .. } => Self::Silent(format!("did not answer to the end ({text})")),
        }
    }
}

/// The failure that an answer with an error's status stands for. The providers put message and code in different places.
pub(crate) fn of_status(status: u16, body: &Value) -> Failure {
    let (message, code) = told(body);
    by_code(&code, &message).unwrap_or(match status {
        401 | 403 => Failure::Key(message),
        402 => Failure::Quota(message),
        400 | 404 | 409 | 413 | 415 | 422 => Failure::Rejected(message),
        408 | 429 | 500.. => Failure::Busy(message),
        _ => Failure::Odd(format!("answered with the status {status}")),
    })
}

/// The failure by the provider's own word for it.
pub(crate) fn by_code(code: &str, message: &str) -> Option<Failure> {
    let code = code.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    let message = message.to_owned();
    if has(&["moderation", "content_policy", "content_filter", "safety", "datainspection", "sensitive", "prohibited"]) {
        return Some(Failure::Refused(message));
    }
    if has(&["insufficient_quota", "quota_exceeded", "billing", "arrearage", "insufficient_balance", "payment"]) {
        return Some(Failure::Quota(message));
    }
    if has(&["invalid_api_key", "invalidapikey", "api_key_invalid", "authentication", "permission_denied"]) {
        return Some(Failure::Key(message));
    }
    // Gemini answers 400 to a wrong key.
    if message.contains("API key not valid") {
        return Some(Failure::Key(message));
    }
    has(&["rate_limit", "resource_exhausted", "throttling", "overloaded", "unavailable"])
        .then_some(Failure::Busy(message))
}

/// The message and the code in the body of an error.
fn told(body: &Value) -> (String, String) {
    let texts = |paths: &[&str]| -> Vec<String> {
        let found = paths.iter().filter_map(|path| body.pointer(path));
        found.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let message = texts(&["/error/message", "/detail/message", "/message", "/msg", "/base_resp/status_msg", "/detail"]);
    let code = texts(&["/error/code", "/error/type", "/error/status", "/detail/status", "/detail/code", "/code"]);
    (short(message.first().map_or("", String::as_str)), code.join(" "))
}

/// A provider's message in one short line.
pub(crate) fn short(message: &str) -> String {
    let plain: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(4 * MESSAGE).collect();
    truncate(&one_line(&plain), MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_told_apart_as_each_provider_writes_them() {
        type Kind = fn(String) -> Failure;
        let rows: &[(u16, Value, Kind, &str)] = &[
            (
                401,
                json!({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}),
                Failure::Key,
                "Incorrect API key",
            ),
            (429, json!({"error": {"message": "no", "type": "insufficient_quota"}}), Failure::Quota, "no"),
            (
                429,
                json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
                Failure::Busy,
                "slow down",
            ),
            (400, json!({"error": {"message": "no", "code": "moderation_blocked"}}), Failure::Refused, "no"),
            (400, json!({"error": {"message": "bad size", "code": null}}), Failure::Rejected, "bad size"),
            (
                400,
                json!({"error": {"message": "API key not valid. Please", "status": "INVALID_ARGUMENT"}}),
                Failure::Key,
                "API key not valid. Please",
            ),
            (429, json!({"error": {"message": "q", "status": "RESOURCE_EXHAUSTED", "code": 429}}), Failure::Busy, "q"),
            (401, json!({"detail": {"status": "quota_exceeded", "message": "0 left"}}), Failure::Quota, "0 left"),
            (401, json!({"detail": {"status": "invalid_api_key", "message": "x"}}), Failure::Key, "x"),
            (400, json!({"code": "DataInspectionFailed", "message": "x"}), Failure::Refused, "x"),
            (400, json!({"code": "Arrearage", "message": "x"}), Failure::Quota, "x"),
            (529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}), Failure::Busy, "x"),
            (402, json!({"error": {"message": "credits"}}), Failure::Quota, "credits"),
            (500, Value::Null, Failure::Busy, ""),
            (404, json!({"detail": "Not Found"}), Failure::Rejected, "Not Found"),
        ];
        for (status, body, kind, message) in rows {
            assert_eq!(of_status(*status, body), kind((*message).to_owned()), "{status} {body}");
        }
        assert_eq!(of_status(302, &Value::Null), Failure::Odd("answered with the status 302".into()));
        assert!(short(&"a\n\u{1b}[0m".repeat(500)).chars().count() <= MESSAGE + 1);
    }
}
