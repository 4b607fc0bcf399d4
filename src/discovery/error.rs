//! Why the network could not be told or asked.

/// The result of a call to this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the network could not be told or asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another program keeps the port to itself, or the system gives no sockets.
    #[error("multicast DNS cannot be used here: {0}")]
    Unusable(String),
    /// The library refused.
    #[error("the network could not be asked: {0}")]
    Failed(String),
}

impl From<mdns_sd::Error> for Error {
    fn from(error: mdns_sd::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
