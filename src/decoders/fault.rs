//! Why a decoder gives no answer.

use serde::{Deserialize, Serialize};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// The file is damaged, or not what it says.
    #[error("{0}")]
    Broken(String),
    /// It is more than is decoded.
    #[error("{0}")]
    TooLarge(String),
    /// It is encrypted, and the password is missing.
    #[error("the document is encrypted: pass its `password`")]
    NeedsPassword,
    #[error("the password does not open the document: pass the right `password`")]
    WrongPassword,
    /// It is of a kind that is not decoded.
    #[error("{0}")]
    Unsupported(String),
    /// The question does not fit the document.
    #[error("{0}")]
    BadArgs(String),
    /// Nothing is decoded on this machine, or not now.
    #[error("{0}")]
    Unavailable(String),
}

/// The result of a decoder.
pub type Result<T> = std::result::Result<T, Fault>;

pub(crate) fn broken<T>(text: impl Into<String>) -> Result<T> {
    Err(Fault::Broken(text.into()))
}
