//! Why announcing or browsing failed.

/// The result of a call to this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why announcing or browsing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another program holds the port exclusively, or the system grants no sockets.
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
