//! Reasons to refuse a sign-in, or a change to people and keys.

/// The kind decides the status code of the HTTP API; the text is for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The token is unknown, or was revoked a moment ago.
    #[error("{0}")]
    Unauthorized(&'static str),
    #[error("{0}")]
    WrongPassword(&'static str),
    #[error("that is not the code: it is in the link on Hob's console")]
    WrongCode,
    #[error("that code has expired: a fresh one is on Hob's console, and in its data folder")]
    CodeExpired,
    #[error("this invitation was used, has expired, or was replaced: ask for a new link")]
    NoInvitation,
    #[error("this Hob is claimed already: sign in with a password or a token")]
    AlreadyClaimed,
    /// Too many attempts, or too many people sign in at once.
    #[error("{message}")]
    TooManyAttempts { message: String, retry_after_seconds: u64 },
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Other(#[from] tool::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn bad_args(text: impl Into<String>) -> Self {
        tool::Error::bad_args(text).into()
    }

    pub(crate) fn denied(text: impl Into<String>) -> Self {
        tool::Error::denied(text).into()
    }

    pub(crate) fn failed(text: impl Into<String>) -> Self {
        tool::Error::failed(text).into()
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        tool::Error::not_found(text).into()
    }
}
