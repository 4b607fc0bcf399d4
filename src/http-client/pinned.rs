//! Servers in the home whose certificate no authority signed: a person confirms its fingerprint, and no other certificate is
//! accepted.

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

/// The SHA-256 of a certificate. It is written in pairs with colons between them, as browsers and openssl show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate.as_ref()).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, byte)| {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")
        })
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is the SHA-256 of a certificate: 64 hexadecimal digits, such as AB:01:…")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    /// Reads 64 hexadecimal digits, with or without colons or spaces, and as openssl prints them: `sha256 Fingerprint=AB:…`.
    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let digits = text.rsplit('=').next().unwrap_or_default();
        let digits: Vec<u32> = digits
            .chars()
            .filter(|c| !c.is_whitespace() && *c != ':')
            .map(|c| c.to_digit(16))
            .collect::<Option<_>>()
            .ok_or(InvalidFingerprint)?;
        let (pairs, []) = digits.as_chunks::<2>() else { return Err(InvalidFingerprint) };
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| (high * 16 + low) as u8).collect();
        Ok(Self(bytes.try_into().map_err(|_| InvalidFingerprint)?))
    }
}

/// Accepts the certificate with one fingerprint, whatever name and dates are in it; without a fingerprint none at all.
pub(crate) struct Pin {
    wanted: Option<Fingerprint>,
    refused: Mutex<Option<Fingerprint>>,
    provider: CryptoProvider,
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Pin {
    pub fn new(wanted: Option<Fingerprint>) -> Arc<Self> {
        Arc::new(Self { wanted, refused: Mutex::default(), provider: ring::default_provider() })
    }

    /// Takes the fingerprint that was refused last.
    pub fn take_refused(&self) -> Option<Fingerprint> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The settings of a client that accepts nothing else; `None` where this device has no usable cryptography.
    pub fn config(self: Arc<Self>) -> Option<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().ok()?;
        Some(builder.dangerous().with_custom_certificate_verifier(self).with_no_client_auth())
    }
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Fingerprint::of(certificate);
        if self.wanted == Some(shown) {
            return Ok(ServerCertVerified::assertion());
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Error, ServiceHttp,
        testing::{Secure, answer},
    };

    #[test]
    fn fingerprints_are_read_as_people_copy_them() {
        let plain = "00ff".repeat(16);
        let pairs = format!("{}00:FF", "00:FF:".repeat(15));
        for text in [plain.clone(), pairs.clone(), format!(" sha256 Fingerprint={pairs}\n"), plain.to_uppercase()] {
            assert_eq!(text.parse::<Fingerprint>().unwrap().to_string(), pairs, "{text}");
        }
        for wrong in ["", "AB", &plain[1..], &format!("{plain}00"), &"0é".repeat(32), &"+1".repeat(32)] {
            assert!(wrong.parse::<Fingerprint>() == Err(InvalidFingerprint), "{wrong}");
        }
    }

    #[tokio::test]
    async fn only_the_confirmed_certificate_is_accepted() {
        let server = Secure::start(|request| {
            assert!(request.contains("authorization: Bearer t0ken"), "{request}");
            answer("200 OK", "", "yes")
        })
        .await;
        let get = async |http: &ServiceHttp| http.request("GET", &server.url("/api/"), "t0ken", None).await;
        // Nobody has confirmed it: its fingerprint is shown, and the token does not leave.
        let Err(Error::UnknownCertificate { fingerprint, .. }) = get(&ServiceHttp::default()).await else {
            panic!("an unknown certificate was accepted")
        };
        assert_eq!((fingerprint.to_string(), server.hits()), (server.fingerprint(), 0));
        let pinned = ServiceHttp::pinned(fingerprint);
        assert_eq!(get(&pinned).await.unwrap().text(10).await.unwrap(), "yes");
        // Another one at the same address, which presents itself in between.
        let other = server.replaced().await;
        let http = ServiceHttp::pinned(fingerprint);
        let error = http.request("GET", &other.url("/api/"), "t0ken", None).await.err().unwrap();
        let Error::ChangedCertificate { fingerprint: changed, .. } = &error else { panic!("{error}") };
        assert_eq!((changed.to_string(), other.hits()), (other.fingerprint(), 0));
        assert!(error.to_string().contains("another certificate"), "{error}");
        let socket = http.web_socket(&other.url("/api/websocket"), 1_000).await.err().unwrap();
        assert!(matches!(socket, Error::ChangedCertificate { .. }), "{socket}");
        // Away is away, and not a changed certificate.
        let away = other.stop().await;
        let error = http.request("GET", &away, "t0ken", None).await.err().unwrap();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    }
}
