//! Why a request failed, and what to do about it.

use crate::Fingerprint;
use std::{error::Error as StdError, time::Duration};

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request failed. Hosts are named, whole URLs never: a query may hold a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The URL, method or a header is invalid; the caller can correct it.
    #[error("{0}")]
    BadRequest(String),
    /// The guard forbids the address.
    #[error(
        "`{host}` {why}; a person can allow it by adding `{host}` to the hosts tools may reach (`allow` under `[http]` in hob.toml)"
    )]
    Blocked {
        /// The name or address, as in the URL.
        host: String,
        /// The reason: "is an address inside the house".
        why: &'static str,
    },
    /// The server sends one elsewhere and the request may not follow.
    #[error("{0}")]
    Redirected(String),
    /// The answer is larger than the cap.
    #[error("the answer of `{host}` is larger than {} MB: ask for a smaller part of it", .limit / 1_048_576)]
    TooLarge {
        /// The server that answered.
        host: String,
        /// The cap in bytes.
        limit: usize,
    },
    /// Nothing came for too long.
    #[error("`{host}` {what} within {} s: it may be busy or down; try again later", .after.as_secs())]
    TimedOut {
        /// The server.
        host: String,
        /// The failure: "did not answer".
        what: &'static str,
        /// How long it was waited.
        after: Duration,
    },
    /// No connection came about: no such name, refused, no network, a bad certificate.
    #[error("`{host}` cannot be reached ({why}): check the address and the network")]
    Unreachable {
        /// The server.
        host: String,
        /// The system's error.
        why: String,
    },
    /// No authority that this device knows has signed the certificate, and no person has confirmed it.
    #[error(
        "the certificate of `{host}` is not trusted ({why}); its SHA-256 fingerprint is {fingerprint}. If the server itself \
         shows the same one, enter it in the settings"
    )]
    UnknownCertificate {
        /// The server.
        host: String,
        /// Why it is not trusted.
        why: String,
        /// The fingerprint of the certificate.
        fingerprint: Fingerprint,
    },
    /// The server shows another certificate than the one that a person confirmed.
    #[error(
        "`{host}` shows another certificate than the confirmed one, so nothing was sent to it. The fingerprint is now \
         {fingerprint}: if the certificate was renewed on purpose, an admin can enter this one in the settings"
    )]
    ChangedCertificate {
        /// The server.
        host: String,
        /// The fingerprint of the certificate that it shows.
        fingerprint: Fingerprint,
    },
    /// The connection broke in the middle.
    #[error("the connection to `{host}` broke ({why}): try again")]
    Broken {
        /// The server.
        host: String,
        /// The system's error.
        why: String,
    },
    /// The server answered a WebSocket's handshake like any request.
    #[error("`{host}` does not speak WebSocket there: it answered {status} where a WebSocket was expected")]
    NotWebSocket {
        /// The server.
        host: String,
        /// The HTTP status.
        status: u16,
        /// Its `Date` header.
        date: Option<String>,
    },
    /// The client itself could not be made.
    #[error("HTTP cannot be used on this device: {0}")]
    Setup(String),
}

impl Error {
    /// The fingerprint of a certificate that was refused.
    pub fn refused_certificate(&self) -> Option<Fingerprint> {
        match self {
            Self::UnknownCertificate { fingerprint, .. } | Self::ChangedCertificate { fingerprint, .. } => {
                Some(*fingerprint)
            }
            _ => None,
        }
    }
    /// Maps reqwest's error to ours; errors of our own resolver pass unchanged.
    pub(crate) fn of(host: &str, why: &reqwest::Error) -> Self {
        let mut link: Option<&(dyn StdError + 'static)> = Some(why);
        while let Some(error) = link {
            if let Some(ours) = error.downcast_ref::<Error>() {
                return ours.clone();
            }
            link = error.source();
        }
        let (host, text) = (host.to_owned(), root_cause(why));
        if why.is_builder() {
            Self::BadRequest(format!("the request to `{host}` cannot be made: {text}"))
        } else if why.is_connect() && why.is_timeout() {
            Self::TimedOut { host, what: "could not be connected to", after: crate::CONNECT }
        } else if why.is_connect() {
            Self::Unreachable { host, why: text }
        } else {
            Self::Broken { host, why: text }
        }
    }
}

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::BadRequest(_) => Self::BadArgs(text.into()),
            Error::Blocked { .. } => Self::Denied(text.into()),
            Error::TimedOut { .. }
            | Error::Unreachable { .. }
            | Error::UnknownCertificate { .. }
            | Error::ChangedCertificate { .. }
            | Error::Setup(_) => Self::Unavailable(text.into()),
            Error::Redirected(_) | Error::TooLarge { .. } | Error::Broken { .. } | Error::NotWebSocket { .. } => {
                Self::Failed(text.into())
            }
        }
    }
}

/// The innermost reason of an error: the layers above only say that something below failed.
pub(crate) fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
