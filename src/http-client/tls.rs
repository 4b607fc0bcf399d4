//! TLS over a connection that somebody else made, to a server that people set up: a mail server, say. Its certificate is checked
//! against the authorities of the system, an authority of the household, or one confirmed fingerprint.

use crate::{Error, Fingerprint, Result, pinned::Pin};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// An encrypted connection.
pub type TlsStream = tokio_rustls::client::TlsStream<TcpStream>;

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Those that an authority known to the system signed.
    #[default]
    System,
    /// Those that this authority of the household signed, in PEM. A self-signed certificate is its own authority.
    Authority(String),
    /// The one with this fingerprint, whatever name and dates are in it.
    Pinned(Fingerprint),
}

/// Encrypts a connection to `host`.
///
/// # Errors
/// `UnknownCertificate` or `ChangedCertificate` where the certificate is not accepted; `Setup` where the authority is unusable;
/// `Broken` where the server does not speak TLS.
pub async fn start_tls(stream: TcpStream, host: &str, trust: &Trust) -> Result<TlsStream> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| Error::BadRequest(format!("`{host}` is not the name of a server")))?;
    let broken = |error: std::io::Error| Error::Broken { host: host.to_owned(), why: error.to_string() };
    let no_cryptography = || Error::Setup("this device has no usable cryptography".to_owned());
    if let Trust::Pinned(wanted) = trust {
        let pin = Pin::new(Some(*wanted));
        let config = pin.clone().config().ok_or_else(no_cryptography)?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        return connected.map_err(|error| match pin.take_refused() {
            Some(fingerprint) => Error::ChangedCertificate { host: host.to_owned(), fingerprint },
            None => broken(error),
        });
    }
    // Reading the system's certificates blocks on the disk.
    let trust = trust.clone();
    let checked = tokio::task::spawn_blocking(move || Checked::new(&trust)).await;
    let checked = Arc::new(checked.map_err(|error| Error::Setup(error.to_string()))??);
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|_| no_cryptography())?;
    let config = builder.dangerous().with_custom_certificate_verifier(checked.clone()).with_no_client_auth();
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    connected.map_err(|error| match checked.take_refused() {
        Some((fingerprint, why)) => Error::UnknownCertificate { host: host.to_owned(), why, fingerprint },
        None => broken(error),
    })
}

/// Checks certificates by their authorities, and notes which one was refused.
#[derive(Debug)]
struct Checked {
    by: Arc<dyn ServerCertVerifier>,
    refused: Mutex<Option<(Fingerprint, String)>>,
}

impl Checked {
    fn new(trust: &Trust) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let by: Arc<dyn ServerCertVerifier> = match trust {
            Trust::Authority(pem) => {
                let unusable =
                    |why: String| Error::Setup(format!("the certificate in the settings is unusable ({why})"));
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let certificate = certificate.map_err(|why| unusable(why.to_string()))?;
                    roots.add(certificate).map_err(|why| unusable(why.to_string()))?;
                }
                let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
                built.map_err(|_| unusable("it has no certificate in PEM in it".to_owned()))?
            }
            Trust::System | Trust::Pinned(_) => {
                let verifier = rustls_platform_verifier::Verifier::new(provider);
                Arc::new(verifier.map_err(|why| Error::Setup(format!("no authorities are known here ({why})")))?)
            }
        };
        Ok(Self { by, refused: Mutex::default() })
    }

    fn take_refused(&self) -> Option<(Fingerprint, String)> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.by.verify_server_cert(certificate, intermediates, name, ocsp, now).inspect_err(|error| {
            let why = match error {
                rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                    "no authority that is known here signed it".to_owned()
                }
                other => other.to_string(),
            };
            let shown = (Fingerprint::of(certificate), why);
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by.supported_verify_schemes()
    }
}
