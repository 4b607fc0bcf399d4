//! Errors of updates: each text says what happened and what to do.

/// The result of an update step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a step of an update was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bundle, channel or signature is not acceptable on this device. Nothing was written to a slot.
    #[error("{0}")]
    Refused(String),
    /// The request does not fit the state of the updater: something else is in progress, or nothing is.
    #[error("{0}")]
    Busy(String),
    /// The request itself is wrong: an offset outside the needed ranges, say.
    #[error("{0}")]
    BadRequest(String),
    /// There is no such upload, slot or release.
    #[error("{0}")]
    NotFound(String),
    /// Reading or writing failed.
    #[error("{0}")]
    Disk(String),
    /// The channel or the bundle could not be fetched.
    #[error("{0}")]
    Network(String),
}

impl Error {
    /// A disk error with what was being done.
    pub(crate) fn disk(what: impl std::fmt::Display, why: &std::io::Error) -> Self {
        let hint = match why.kind() {
            std::io::ErrorKind::StorageFull => ": free some space and try again",
            _ => "",
        };
        Self::Disk(format!("{what}: {why}{hint}"))
    }

    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

impl From<std::io::Error> for Error {
    fn from(why: std::io::Error) -> Self {
        Self::disk("reading failed", &why)
    }
}
