//! The state of the connection.

use serde::Serialize;

/// The state of the connection to Home Assistant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Connection {
    /// The service is not set up.
    #[default]
    Off,
    /// The first connection is being made, or entities are being received.
    Connecting,
    /// Entities are live.
    Connected,
    /// The connection is lost, and is tried again.
    Lost {
        /// The reason.
        why: String,
    },
    /// Home Assistant does not accept the token: nothing is tried until the settings change, or an hour has passed.
    TokenRefused {
        /// The answer of Home Assistant.
        why: String,
    },
    /// Nobody has confirmed its certificate, or it shows another one than the confirmed one. It is tried again.
    CertificateRefused {
        /// The reason, and what a person can do.
        why: String,
        /// The fingerprint of the certificate.
        fingerprint: String,
    },
    /// The settings are unusable.
    Misconfigured {
        /// The reason.
        why: String,
    },
}

impl Connection {
    /// The state as one word, as on the bus.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Lost { .. } => "lost",
            Self::TokenRefused { .. } => "token_refused",
            Self::CertificateRefused { .. } => "certificate_refused",
            Self::Misconfigured { .. } => "misconfigured",
        }
    }
    /// Why it is not connected, where there is a reason.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Lost { why }
            | Self::TokenRefused { why }
            | Self::CertificateRefused { why, .. }
            | Self::Misconfigured { why } => Some(why),
            _ => None,
        }
    }
    /// The state and the next step, in a sentence for people and models.
    pub fn sentence(&self) -> String {
        match self {
            Self::Off => {
                "Home Assistant is not set up: an admin can add its address and a token in the Config Center".into()
            }
            Self::Connecting => "Hob is connecting to Home Assistant: try again in a moment".into(),
            Self::Connected => "Home Assistant is connected".into(),
            Self::Lost { why } => format!("Home Assistant cannot be reached ({why}): Hob keeps trying"),
            Self::TokenRefused { why } => {
                format!("Home Assistant refuses the token ({why}): an admin must enter a new one in the Config Center")
            }
            Self::CertificateRefused { why, .. } => format!("Home Assistant is not connected: {why}"),
            Self::Misconfigured { why } => format!("Home Assistant is not set up right: {why}"),
        }
    }
}
