//! Sealed secrets: XChaCha20-Poly1305 with a key in a file that only the daemon may read.
//!
//! A stolen card holds both file and key and so reveals the secrets; a copied data file alone does not.

use crate::{Error, Result, open_plain};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// The table of sealed secrets; backups leave it out.
pub(crate) const TABLE: &str = "secrets";
const NONCE: usize = 24;

/// The key of this device.
pub(crate) struct DeviceKey([u8; 32]);

impl DeviceKey {
    /// A key for a store in memory.
    pub fn random() -> Result<Self> {
        let mut key = [0; 32];
        fill(&mut key)?;
        Ok(Self(key))
    }

    /// A known key.
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The key itself, for a backup that is encrypted.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the key, `None` where there is none yet; refuses a key that others may read.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let shown = path.display();
        let mut file = match open_plain(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(format!("read {shown}"), &e)),
        };
        let mode = file.metadata().map_err(|e| Error::io(format!("look at {shown}"), &e))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::Io(format!("others may read {shown}: run `chmod 600 {shown}` and start again")));
        }
        let mut key = [0; 32];
        file.read_exact(&mut key).map_err(|_| {
            Error::Damaged(format!(
                "{shown} is too short to be a device key: restore it, or delete it and enter all secrets again"
            ))
        })?;
        Ok(Some(Self(key)))
    }

    /// Creates the key of a device that has none.
    pub fn make(path: &Path) -> Result<Self> {
        let key = Self::random()?;
        key.save(path).map_err(|e| Error::io(format!("make {}", path.display()), &e))?;
        Ok(key)
    }

    /// Written to a temporary file and renamed: a power cut leaves a complete key or none.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let part = path.with_extension("new");
        let _ = fs::remove_file(&part);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(&self.0)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        if let Some(dir) = path.parent() {
            fs::File::open(dir)?.sync_all()?;
        }
        Ok(())
    }

    /// Nonce and ciphertext; the name is authenticated, so that one secret cannot stand in for another.
    pub fn seal(&self, name: &str, secret: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        fill(&mut nonce)?;
        let sealed = XChaCha20Poly1305::new(&self.0.into())
            .encrypt(&XNonce::from(nonce), Payload { msg: secret, aad: name.as_bytes() })
            .map_err(|_| Error::Io("a secret could not be sealed: it is too long".into()))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Decrypts a secret.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let damaged = || Error::Damaged(format!("the secret `{name}` was sealed by another device: enter it again"));
        let (nonce, text) = sealed.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        XChaCha20Poly1305::new(&self.0.into())
            .decrypt(&XNonce::from(*nonce), Payload { msg: text, aad: name.as_bytes() })
            .map_err(|_| damaged())
    }
}

fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|e| Error::Io(format!("the system has no randomness to give: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_under_name_and_device() {
        let (ours, theirs) = (DeviceKey::random().unwrap(), DeviceKey::random().unwrap());
        let sealed = ours.seal("key", b"hunter2").unwrap();
        assert!(!sealed.windows(7).any(|w| w == b"hunter2"));
        assert_eq!(ours.open("key", &sealed).unwrap(), b"hunter2");
        let mut bent = sealed.clone();
        *bent.last_mut().unwrap() ^= 1;
        for (device, name, bytes) in [(&ours, "other", &sealed), (&theirs, "key", &sealed), (&ours, "key", &bent)] {
            assert!(matches!(device.open(name, bytes), Err(Error::Damaged(_))));
        }
        assert!(ours.open("key", b"short").is_err());
    }

    #[test]
    fn the_key_file_is_private_and_checked() {
        let dir = std::env::temp_dir().join(format!("hob-key-{}", tool::Id::new()));
        fs::create_dir(&dir).unwrap();
        let path = dir.join("device.key");
        assert!(DeviceKey::load(&path).unwrap().is_none());
        let sealed = DeviceKey::make(&path).unwrap().seal("a", b"b").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(DeviceKey::load(&path).unwrap().unwrap().open("a", &sealed).unwrap(), b"b");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(DeviceKey::load(&path).is_err_and(|e| e.to_string().contains("chmod 600")));
        fs::remove_dir_all(&dir).unwrap();
    }
}
