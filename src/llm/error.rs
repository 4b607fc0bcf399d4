//! Errors of model servers, by what the caller can do about them.

use std::time::Duration;

/// Why a model did not answer. Each text names the server and says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Unreachable, or the connection broke before the first delta.
    #[error("{0}")]
    Network(String),
    /// No connection within the timeout: nothing was sent.
    #[error("{0}")]
    Unconnected(String),
    /// No response within the timeout.
    #[error("{0}")]
    Timeout(String),
    /// Rate-limited.
    #[error("{text}")]
    Busy {
        /// The message.
        text: String,
        /// Retry-After, if given.
        after: Option<Duration>,
    },
    /// A server-side failure.
    #[error("{text}")]
    Server {
        /// The message.
        text: String,
        /// Retry-After, if given.
        after: Option<Duration>,
    },
    /// The key is missing or rejected.
    #[error("{0}")]
    Key(String),
    /// The account has no credit left.
    #[error("{0}")]
    Credit(String),
    /// The model name or request is rejected; retrying cannot help.
    #[error("{0}")]
    Refused(String),
    /// Stopped by the provider's content filter before the first delta.
    #[error("{0}")]
    Filtered(String),
    /// The conversation exceeds the model's context size.
    #[error("{0}")]
    TooLong(String),
    /// The model does not support an option the caller requested.
    #[error("{text}")]
    Unsupported {
        /// The option, by its OpenAI name.
        option: &'static str,
        /// The message.
        text: String,
    },
    /// The stream ended or broke within an answer.
    #[error("{0}")]
    Broken(String),
    /// The daily budget is exhausted; retrying helps tomorrow, or after it was raised.
    #[error("{0}")]
    Spent(String),
}

impl Error {
    /// The same error with the key removed from its text.
    pub(crate) fn without(mut self, key: Option<&str>) -> Self {
        let Some(key) = key.filter(|k| !k.is_empty()) else { return self };
        match &mut self {
            Error::Network(text)
            | Error::Unconnected(text)
            | Error::Timeout(text)
            | Error::Busy { text, .. }
            | Error::Server { text, .. }
            | Error::Key(text)
            | Error::Credit(text)
            | Error::Refused(text)
            | Error::Filtered(text)
            | Error::TooLong(text)
            | Error::Unsupported { text, .. }
            | Error::Broken(text)
            | Error::Spent(text) => *text = text.replace(key, "[key]"),
        }
        self
    }

    /// Whether the request itself is at fault, so that waiting cannot help.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Error::Key(_)
                | Error::Credit(_)
                | Error::Refused(_)
                | Error::Filtered(_)
                | Error::TooLong(_)
                | Error::Unsupported { .. }
        )
    }

    /// A stable code for its kind.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Network(_) => "network",
            Error::Unconnected(_) => "unconnected",
            Error::Timeout(_) => "timeout",
            Error::Busy { .. } => "busy",
            Error::Server { .. } => "server",
            Error::Key(_) | Error::Credit(_) | Error::Refused(_) => "refused",
            Error::Filtered(_) => "content_filter",
            Error::TooLong(_) => "too_long",
            Error::Unsupported { .. } => "unsupported",
            Error::Broken(_) => "broken",
            Error::Spent(_) => "spent",
        }
    }

    /// Whether an immediate retry may succeed. After a timeout the person has waited long enough.
    pub fn worth_retrying(&self) -> bool {
        matches!(self, Error::Network(_) | Error::Busy { .. } | Error::Server { .. })
    }
}
