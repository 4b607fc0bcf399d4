//! The device's self-signed certificate, sealed in the store, and its TLS acceptor.

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use std::sync::Arc;
use store::Store;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer},
        server::NoServerSessionStorage,
    },
};
use tool::{Error, Result};

/// The sealed secret that holds certificate and key.
const SECRET: &str = "device-certificate";

/// A certificate with its key.
pub struct Certificate {
    der: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// The device's certificate, made at the first start for `NAME.local`. It does not expire: clients trust its fingerprint,
    /// which stays the same when the device is renamed.
    ///
    /// # Errors
    /// `Failed` when it can neither be read nor made and stored.
    pub async fn of_device(store: &Store, name: &str) -> Result<Self> {
        if let Some(kept) = store.unseal_if_ours(SECRET)?.as_deref().and_then(Self::unpack) {
            return Ok(kept);
        }
        let made = Self::make(name).map_err(|e| Error::failed(format!("no certificate could be made: {e}")))?;
        store.seal(SECRET, &made.pack()).await?;
        Ok(made)
    }

    fn make(name: &str) -> std::result::Result<Self, rcgen::Error> {
        let names = [format!("{name}.local"), name.to_owned(), "localhost".into(), "127.0.0.1".into(), "::1".into()];
        let mut parameters = CertificateParams::new(names)?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, format!("{name}.local"));
        subject.push(DnType::OrganizationName, "Hob");
        parameters.distinguished_name = subject;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        Ok(Self { der: parameters.self_signed(&key)?.der().to_vec(), key: key.serialize_der() })
    }

    fn pack(&self) -> Vec<u8> {
        [&(self.der.len() as u32).to_le_bytes()[..], &self.der, &self.key].concat()
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (der, key) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { der: der.to_vec(), key: key.to_vec() })
    }

    /// Its SHA-256, in pairs with colons between them, as browsers show it.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        let pairs: Vec<String> = Sha256::digest(&self.der).iter().map(|b| format!("{b:02X}")).collect();
        pairs.join(":")
    }

    /// The TLS acceptor.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor> {
        let broken = |e: tokio_rustls::rustls::Error| Error::failed(format!("the certificate cannot be used: {e}"));
        let key = PrivateKeyDer::try_from(self.key.clone())
            .map_err(|e| Error::failed(format!("the certificate's key cannot be used: {e}")))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(broken)?
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(self.der.clone())], key)
            .map_err(broken)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Resumable sessions are tickets at the client, not memory here.
        config.ticketer = ring::Ticketer::new().map_err(broken)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_certificate_is_made_once() {
        let store = Store::in_memory().unwrap();
        let made = Certificate::of_device(&store, "kitchen").await.unwrap();
        let again = Certificate::of_device(&store, "other").await.unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(made.fingerprint().split(':').filter(|pair| pair.len() == 2).count(), 32);
        assert!(made.acceptor().is_ok() && again.acceptor().is_ok());
        assert!(Certificate::unpack(&[1, 2]).is_none() && Certificate::unpack(&[255; 8]).is_none());
    }
}
