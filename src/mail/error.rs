//! Why something with mail failed, and what to do about it.

/// The result of work with mail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why it failed. The text says what to do; what a server wrote is in it shortened, on one line and in quotation marks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The caller can correct it.
    #[error("{0}")]
    BadArgs(String),
    /// There is no such mail, folder or account.
    #[error("{0}")]
    NotFound(String),
    /// The server refuses the user name or the password.
    #[error("{0}")]
    Login(String),
    /// The server cannot be reached, or does not answer as it should.
    #[error("{0}")]
    Unavailable(String),
    /// The server refuses what was asked of it: a recipient, a mail that is too large, a full mailbox.
    #[error("{0}")]
    Refused(String),
}

impl From<http_client::Error> for Error {
    fn from(error: http_client::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::BadArgs(text) => Self::bad_args(text),
            Error::NotFound(text) => Self::not_found(text),
            Error::Login(text) | Error::Unavailable(text) => Self::unavailable(text),
            Error::Refused(text) => Self::failed(text),
        }
    }
}

/// What a server wrote, fit for an error: one line, without signs that steer a terminal, at most 160 characters.
pub(crate) fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(1000)]);
    text_kit::plain_name(&text, 160)
}
