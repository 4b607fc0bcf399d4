//! What goes wrong with a model server, as the reader has to act on it.

use std::time::Duration;

/// Why a model did not answer. Each text names the server and says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// It could not be reached, or the connection broke before anything was said.
    #[error("{0}")]
    Network(String),
    /// No connection came about in time: nothing was sent.
    #[error("{0}")]
    Unconnected(String),
    /// It said nothing for too long.
    #[error("{0}")]
    Timeout(String),
    /// It is being asked too often.
    #[error("{text}")]
    Busy {
        /// The sentence.
        text: String,
        /// How long the server asked to wait.
        after: Option<Duration>,
    },
    /// It failed on its side.
    #[error("{text}")]
    Server {
        /// The sentence.
        text: String,
        /// How long the server asked to wait.
        after: Option<Duration>,
    },
    /// The key, model name or request is not accepted; asking again cannot help.
    #[error("{0}")]
    Refused(String),
    /// The provider's content filter stopped it before anything was said.
    #[error("{0}")]
    Filtered(String),
    /// The conversation is longer than the model reads.
    #[error("{0}")]
    TooLong(String),
    /// The model does not take an option the caller asked for.
    #[error("{text}")]
    Unsupported {
        /// The option, as OpenAI's format calls it.
        option: &'static str,
        /// The sentence.
        text: String,
    },
    /// The stream ended or broke in the middle of an answer.
    #[error("{0}")]
    Broken(String),
    /// The day's budget for models is spent; asking again helps tomorrow, or once it is raised.
    #[error("{0}")]
    Spent(String),
}

impl Error {
    /// The same error without the key in its text.
    pub(crate) fn without(mut self, key: Option<&str>) -> Self {
        let Some(key) = key.filter(|k| !k.is_empty()) else { return self };
        match &mut self {
            Error::Network(text)
            | Error::Unconnected(text)
            | Error::Timeout(text)
            | Error::Busy { text, .. }
            | Error::Server { text, .. }
            | Error::Refused(text)
            | Error::Filtered(text)
            | Error::TooLong(text)
            | Error::Unsupported { text, .. }
            | Error::Broken(text)
            | Error::Spent(text) => *text = text.replace(key, "[key]"),
        }
        self
    }

    /// Whether it says something about the request, which no waiting and no other time mends.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Error::Refused(_) | Error::Filtered(_) | Error::TooLong(_) | Error::Unsupported { .. })
    }

    /// A stable word for its kind.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Network(_) => "network",
            Error::Unconnected(_) => "unconnected",
            Error::Timeout(_) => "timeout",
            Error::Busy { .. } => "busy",
            Error::Server { .. } => "server",
            Error::Refused(_) => "refused",
            Error::Filtered(_) => "content_filter",
            Error::TooLong(_) => "too_long",
            Error::Unsupported { .. } => "unsupported",
            Error::Broken(_) => "broken",
            Error::Spent(_) => "spent",
        }
    }

    /// Whether the same request may soon succeed when made again. After a time-out the person has waited long enough.
    pub fn worth_retrying(&self) -> bool {
        matches!(self, Error::Network(_) | Error::Busy { .. } | Error::Server { .. })
    }
}
