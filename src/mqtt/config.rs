//! How to reach a broker.

use std::fmt;

/// Files in which systems keep the certificates of public authorities.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whether and how the connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tls {
    /// It is not.
    #[default]
    Off,
    /// With a certificate of an authority that the system knows.
    System,
    /// With a certificate of this authority, in PEM. A broker's self-signed certificate is its own authority.
    Authority(String),
}

/// How to reach a broker, and the topics there.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User name.
    pub username: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Encryption.
    pub tls: Tls,
    /// The id of this client: the same at each connection, and no other's.
    pub client_id: String,
    /// Where this Hob's own topics begin: `hob/kitchen`.
    pub base: String,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Config {
    /// The topic that says whether this Hob is `online` or `offline`.
    pub fn status_topic(&self) -> String {
        format!("{}/status", self.base)
    }

    /// The certificates that are trusted, in PEM; `None` without encryption.
    pub(crate) async fn authorities(&self) -> Result<Option<Vec<u8>>, String> {
        match &self.tls {
            Tls::Off => Ok(None),
            Tls::Authority(pem) => Ok(Some(pem.as_bytes().to_vec())),
            Tls::System => {
                let chosen = std::env::var("SSL_CERT_FILE").ok().filter(|file| !file.is_empty());
                let files = chosen.as_deref().into_iter().chain(SYSTEM_AUTHORITIES);
                for file in files {
                    if let Ok(pem) = tokio::fs::read(file).await {
                        return Ok(Some(pem));
                    }
                }
                Err("this system knows no certificate authorities: set the broker's certificate as `ca`".to_owned())
            }
        }
    }
}
