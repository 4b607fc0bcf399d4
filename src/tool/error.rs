//! The error of a call: a kind for policy, and a text that says what to do next.

use serde::{Deserialize, Serialize};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. The kind is for policy and status codes; the text reaches the model or the person unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", content = "message", rename_all = "snake_case")]
pub enum Error {
    /// The arguments are invalid; the caller can correct them.
    #[error("{0}")]
    BadArgs(String),
    /// It does not exist, or not for this caller.
    #[error("{0}")]
    NotFound(String),
    /// A rule forbids it.
    #[error("{0}")]
    Denied(String),
    /// It is not available now or here (no driver, no key, device away, disk full); a later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// It was attempted and failed.
    #[error("{0}")]
    Failed(String),
    /// Too many calls in a short time; the text ends with the time to wait: `in 12 s`.
    #[error("{0}")]
    RateLimited(String),
    /// A person has not approved or denied it yet; the run is suspended until they do.
    #[error("{0}")]
    Parked(String),
}

impl Error {
    /// The arguments are invalid.
    pub fn bad_args(text: impl Into<String>) -> Self {
        Self::BadArgs(text.into())
    }
    /// It does not exist, or not for this caller.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self::NotFound(text.into())
    }
    /// A rule forbids it.
    pub fn denied(text: impl Into<String>) -> Self {
        Self::Denied(text.into())
    }
    /// It is not available now or here.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self::Unavailable(text.into())
    }
    /// It was attempted and failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
    /// The kind as a stable word: `bad_args`, `not_found`, `denied`, `unavailable`, `failed`, `rate_limited` or `parked`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadArgs(_) => "bad_args",
            Self::NotFound(_) => "not_found",
            Self::Denied(_) => "denied",
            Self::Unavailable(_) => "unavailable",
            Self::Failed(_) => "failed",
            Self::RateLimited(_) => "rate_limited",
            Self::Parked(_) => "parked",
        }
    }
    /// The same kind with another text.
    pub fn with_message(self, text: String) -> Self {
        match self {
            Self::BadArgs(_) => Self::BadArgs(text),
            Self::NotFound(_) => Self::NotFound(text),
            Self::Denied(_) => Self::Denied(text),
            Self::Unavailable(_) => Self::Unavailable(text),
            Self::Failed(_) => Self::Failed(text),
            Self::RateLimited(_) => Self::RateLimited(text),
            Self::Parked(_) => Self::Parked(text),
        }
    }
    /// The seconds to wait before a retry, where they are known.
    pub fn retry_after(&self) -> Option<u64> {
        let Self::RateLimited(text) = self else { return None };
        text.strip_suffix(" s")?.rsplit_once("in ")?.1.parse().ok()
    }
    /// The text alone.
    pub fn message(&self) -> &str {
        match self {
            Self::BadArgs(t)
            | Self::NotFound(t)
            | Self::Denied(t)
            | Self::Unavailable(t)
            | Self::Failed(t)
            | Self::RateLimited(t)
            | Self::Parked(t) => t,
        }
    }
}
