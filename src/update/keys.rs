//! The keys that may sign bundles and channels: minisign public keys, and making and using secret ones.

use crate::error::{Error, Result};
use minisign::{KeyPair, SecretKeyBox};
use minisign_verify::{PublicKey, Signature};
use std::io::Cursor;

/// The longest signature section: four signatures.
pub const MAX_SIGNATURES: usize = 4 * 1024;
/// The most signatures of one document.
const MAX_SIGNATURE_COUNT: usize = 4;
/// The lines of a minisign signature.
const SIGNATURE_LINES: usize = 4;
/// Public keys of the official releases, current and next.
const BUILT_IN: [(&str, &str); 2] =
    [("current", include_str!("keys/current.pub")), ("next", include_str!("keys/next.pub"))];

/// The source of a trusted key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Part of this program.
    BuiltIn,
    /// Added by a person in hob.toml.
    Configured,
    /// Announced by the bundle that was committed last.
    Announced,
}

impl Origin {
    /// The origin for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::BuiltIn => "a key of the official releases",
            Self::Configured => "a key added in hob.toml",
            Self::Announced => "a key announced by the installed version",
        }
    }
}

#[derive(Clone)]
struct Trusted {
    key: PublicKey,
    /// The key as base64, by which its id is read.
    text: String,
    origin: Origin,
}

/// The public keys a device trusts.
#[derive(Clone, Default)]
pub struct Keyring(Vec<Trusted>);

/// The signature that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The id minisign prints, such as `3C4F5D6E7A8B9C0D`.
    pub key_id: String,
    /// The source of the trust in this key.
    pub origin: Origin,
    /// The comment that the signature covers.
    pub comment: String,
}

impl Keyring {
    /// The keys of the official releases.
    pub fn built_in() -> Self {
        let mut ring = Self::default();
        for (name, text) in BUILT_IN {
            if let Err(why) = ring.add(text, Origin::BuiltIn) {
                tracing::error!(name, %why, "a built-in update key is unusable");
            }
        }
        ring
    }

    /// Adds a key: the text of a minisign `.pub` file, or its second line alone.
    ///
    /// # Errors
    /// `BadRequest` when it is no minisign public key.
    pub fn add(&mut self, text: &str, origin: Origin) -> Result<()> {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let key = PublicKey::from_base64(line).map_err(|_| {
            Error::BadRequest(format!(
                "`{line}` is not a minisign public key: write the second line of a .pub file, which begins with RW"
            ))
        })?;
        if !self.0.iter().any(|trusted| trusted.text == line) {
            self.0.push(Trusted { key, text: line.to_owned(), origin });
        }
        Ok(())
    }

    /// The same keys and one that the installed version announced.
    #[must_use]
    pub fn with_announced(&self, key: Option<&str>) -> Self {
        let mut ring = self.clone();
        if let Some(Err(why)) = key.map(|key| ring.add(key, Origin::Announced)) {
            tracing::warn!(%why, "the announced update key is unusable");
        }
        ring
    }

    /// Checks `signatures` (one to four minisign signatures, one after the other) over `signed`; one by a trusted key suffices.
    /// `what` names the document, such as "this bundle".
    ///
    /// # Errors
    /// `Refused` with the reason.
    pub fn verify(&self, what: &str, signed: &[u8], signatures: &[u8]) -> Result<Signer> {
        let text = std::str::from_utf8(signatures).unwrap_or("?");
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return Err(Error::Refused(format!("{what} is not signed: get it again from its source")));
        }
        if signatures.len() > MAX_SIGNATURES || lines.len() > SIGNATURE_LINES * MAX_SIGNATURE_COUNT {
            return Err(Error::Refused(format!("{what} has more signatures than the {MAX_SIGNATURE_COUNT} allowed")));
        }
        let mut ids = vec![];
        let mut damaged = !lines.len().is_multiple_of(SIGNATURE_LINES);
        for four in lines.chunks_exact(SIGNATURE_LINES) {
            let Ok(signature) = Signature::decode(&four.join("\n")) else {
                damaged = true;
                continue;
            };
            let id = four.get(1).and_then(|line| key_id(line)).unwrap_or_default();
            if let Some(trusted) = self.0.iter().find(|trusted| key_id(&trusted.text).as_ref() == Some(&id)) {
                return match trusted.key.verify(signed, &signature, false) {
                    Ok(()) => Ok(Signer {
                        key_id: id,
                        origin: trusted.origin,
                        comment: signature.trusted_comment().to_owned(),
                    }),
                    Err(_) => Err(Error::Refused(format!(
                        "the signature of {what} does not match its content: it was changed or damaged on the way, so get it again"
                    ))),
                };
            }
            ids.push(id);
        }
        Err(Error::Refused(match damaged {
            true => format!("the signature of {what} is damaged: get it again from its source"),
            false => format!(
                "{what} is signed with the key {}, which this device does not trust: get an official bundle, or add \
                 the public key of your own builds as update.keys in hob.toml",
                ids.join(", ")
            ),
        }))
    }
}

/// The id of a key or signature as minisign prints it: bytes 2 to 10 of the base64 line, little end first.
pub(crate) fn key_id(line: &str) -> Option<String> {
    let mut bits = 0u32;
    let (mut filled, mut bytes) = (0u32, vec![]);
    for c in line.trim().bytes().take(16) {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled) as u8);
        }
    }
    let id: [u8; 8] = bytes.get(2..10)?.try_into().ok()?;
    Some(format!("{:016X}", u64::from_le_bytes(id)))
}

/// A new pair of keys, as the texts of two minisign files.
#[derive(Clone)]
pub struct NewKeys {
    /// The content of the `.pub` file.
    pub public: String,
    /// The content of the secret key file.
    pub secret: String,
    /// The id of the key.
    pub key_id: String,
}

/// The protection of a secret key file.
#[derive(Debug, Clone, Copy)]
pub enum Protection<'a> {
    /// None: who reads the file can sign.
    None,
    /// A password.
    Password(&'a str),
    /// A password that is asked for at the terminal.
    Ask,
}

/// Makes a pair of keys.
///
/// # Errors
/// `Disk` when the system gives no random numbers or too little memory.
pub fn generate(protection: Protection<'_>) -> Result<NewKeys> {
    let failed = |why: minisign::PError| Error::Disk(format!("the keys could not be made: {why}"));
    let pair = match protection {
        Protection::Password(password) => KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
        Protection::Ask => KeyPair::generate_encrypted_keypair(None),
        Protection::None => KeyPair::generate_unencrypted_keypair(),
    }
    .map_err(failed)?;
    let public = pair.pk.to_box().map_err(failed)?.into_string();
    let secret = pair.sk.to_box(Some("hob update secret key")).map_err(failed)?.into_string();
    let key_id = public.lines().last().and_then(key_id).unwrap_or_default();
    Ok(NewKeys { public, secret, key_id })
}

/// A secret key that signs.
pub struct SigningKey(minisign::SecretKey);

impl SigningKey {
    /// Reads a minisign secret key file. `password` is that of an encrypted key; without it, it is asked for at the terminal.
    ///
    /// # Errors
    /// `BadRequest` when it is no key, or the password is wrong or missing.
    pub fn read(text: &str, password: Option<&str>) -> Result<Self> {
        let stored = SecretKeyBox::from_string(text).map_err(|why| Error::BadRequest(why.to_string()))?;
        if let Ok(key) = stored.clone().into_unencrypted_secret_key() {
            return Ok(Self(key));
        }
        let key = stored.into_secret_key(password.map(str::to_owned));
        key.map(Self).map_err(|why| {
            Error::BadRequest(format!("the secret key cannot be used: {why}; check the file and its password"))
        })
    }

    /// The matching public key, base64.
    ///
    /// # Errors
    /// `BadRequest` for a damaged key.
    pub fn public(&self) -> Result<String> {
        let key = minisign::PublicKey::from_secret_key(&self.0);
        Ok(key.map_err(|why| Error::BadRequest(why.to_string()))?.to_base64())
    }

    /// Signs `bytes` and returns the text of a minisign signature.
    ///
    /// # Errors
    /// `Disk` when the system gives no random numbers.
    pub fn sign(&self, bytes: &[u8], comment: &str) -> Result<String> {
        let signature = minisign::sign(None, &self.0, Cursor::new(bytes), Some(comment), Some("signature of Hob"));
        let signature = signature.map_err(|why| Error::Disk(format!("signing failed: {why}")))?;
        let mut text = signature.into_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_minisign_files_with_and_without_a_password() {
        let plain = generate(Protection::None).unwrap();
        let lines: Vec<&str> = plain.public.lines().collect();
        assert!(lines.len() == 2 && lines[1].starts_with("RW"), "{lines:?}");
        assert!(lines[0].contains(&plain.key_id), "minisign prints the same id: {lines:?} {}", plain.key_id);
        let locked = generate(Protection::Password("correct horse")).unwrap();
        assert!(SigningKey::read(&locked.secret, Some("wrong")).is_err());
        let key = SigningKey::read(&locked.secret, Some("correct horse")).unwrap();
        assert_eq!(Some(key.public().unwrap().as_str()), locked.public.lines().last());
        let text = key.sign(b"text", "a comment").unwrap();
        assert_eq!(text.lines().count(), SIGNATURE_LINES, "{text}");
        let mut ring = Keyring::default();
        ring.add(&locked.public, Origin::Configured).unwrap();
        let signer = ring.verify("this", b"text", text.as_bytes()).unwrap();
        assert_eq!((signer.comment.as_str(), &signer.key_id), ("a comment", &locked.key_id));
        assert!(ring.verify("this", b"texd", text.as_bytes()).is_err());
        for junk in ["", "x", "untrusted comment: x\nRW"] {
            assert!(SigningKey::read(junk, Some("x")).is_err(), "{junk}");
            assert!(ring.add(junk, Origin::Configured).is_err(), "{junk}");
        }
    }

    #[test]
    fn the_built_in_keys_are_readable() {
        let mut ids = vec![];
        for (name, text) in BUILT_IN {
            Keyring::default().add(text, Origin::BuiltIn).unwrap_or_else(|why| panic!("{name}: {why}"));
            ids.push(text.lines().last().and_then(key_id));
        }
        assert!(ids[0].is_some() && ids[0] != ids[1]);
        assert_eq!(Keyring::built_in().0.len(), 2);
    }
}
