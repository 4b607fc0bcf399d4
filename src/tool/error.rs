//! The error of a call: a kind for policy, and a text that says what to do next.

use serde::{Deserialize, Serialize};
use std::{fmt, ops::Deref};

/// The text of an error: for the model or program that made the call, and perhaps another for the person.
///
/// The first may name tools, parameters and ids, so that the caller knows what to do next. Read as a string it is the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ErrorText {
    text: String,
    say: Option<Box<str>>,
}

impl Deref for ErrorText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for ErrorText {
    fn from(text: String) -> Self {
        Self { text, say: None }
    }
}

impl From<&str> for ErrorText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<ErrorText> for String {
    fn from(text: ErrorText) -> Self {
        text.text
    }
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. The kind is for policy and status codes; the text reaches the model or the person unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", content = "message", rename_all = "snake_case")]
pub enum Error {
    /// The arguments are invalid; the caller can correct them.
    #[error("{0}")]
    BadArgs(ErrorText),
    /// It does not exist, or not for this caller.
    #[error("{0}")]
    NotFound(ErrorText),
    /// A rule forbids it.
    #[error("{0}")]
    Denied(ErrorText),
    /// It is not available now or here (no driver, no key, device away, disk full); a later attempt may succeed.
    #[error("{0}")]
    Unavailable(ErrorText),
    /// It was attempted and failed.
    #[error("{0}")]
    Failed(ErrorText),
    /// Too many calls in a short time; the text ends with the time to wait: `in 12 s`.
    #[error("{0}")]
    RateLimited(ErrorText),
    /// A person has not approved or denied it yet; the run is suspended until they do.
    #[error("{0}")]
    Parked(ErrorText),
}

impl Error {
    /// The arguments are invalid.
    pub fn bad_args(text: impl Into<String>) -> Self {
        Self::BadArgs(text.into().into())
    }
    /// It does not exist, or not for this caller.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self::NotFound(text.into().into())
    }
    /// A rule forbids it.
    pub fn denied(text: impl Into<String>) -> Self {
        Self::Denied(text.into().into())
    }
    /// It is not available now or here.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self::Unavailable(text.into().into())
    }
    /// It was attempted and failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into().into())
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
    /// The same error with another text for the caller.
    pub fn with_message(mut self, text: String) -> Self {
        self.text_mut().text = text;
        self
    }
    /// The same error with a sentence for the person: a question such as "Which timer: pizza or tea?", or what they can do.
    pub fn say(mut self, sentence: impl Into<String>) -> Self {
        self.text_mut().say = Some(sentence.into().into());
        self
    }
    /// The sentence for the person, if it has one.
    pub fn said(&self) -> Option<&str> {
        self.text().say.as_deref()
    }
    /// Adapts the sentence for the person, if it has one.
    pub fn map_said(mut self, map: impl FnOnce(&str) -> String) -> Self {
        if let Some(said) = self.said().map(map) {
            self.text_mut().say = Some(said.into());
        }
        self
    }
    /// The seconds to wait before a retry, where they are known.
    pub fn retry_after(&self) -> Option<u64> {
        let Self::RateLimited(text) = self else { return None };
        text.strip_suffix(" s")?.rsplit_once("in ")?.1.parse().ok()
    }
    /// The text for the caller alone.
    pub fn message(&self) -> &str {
        self.text()
    }
    fn text(&self) -> &ErrorText {
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
    fn text_mut(&mut self) -> &mut ErrorText {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_hears_another_text_than_the_caller() {
        let error = Error::bad_args("2 timers fit; give an id").say("Which timer: pizza or tea?");
        assert_eq!((error.message(), error.said()), ("2 timers fit; give an id", Some("Which timer: pizza or tea?")));
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json, serde_json::json!({"code": "bad_args", "message": "2 timers fit; give an id"}));
        assert_eq!(serde_json::from_value::<Error>(json).unwrap().said(), None);
        let reworded = error.with_message("no".to_owned());
        assert_eq!((reworded.message(), reworded.said()), ("no", Some("Which timer: pizza or tea?")));
    }
}
