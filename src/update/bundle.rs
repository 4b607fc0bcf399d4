//! The bundle file: `magic | manifest | minisign signatures | chunk index | zstd chunks`.

use crate::{
    error::Result,
    keys::{Keyring, Signer},
    manifest::Manifest,
};

/// The first bytes of a bundle.
pub const MAGIC: [u8; 8] = *b"HOBUPD\x01\n";
/// The longest head.
pub const MAX_HEAD: usize = 8 << 20;
pub const PREFIX: usize = 20;

/// The verified head of a bundle: all before the chunks.
#[derive(Debug, Clone)]
pub struct Head {
    /// The manifest.
    pub manifest: Manifest,
    /// The signature that was accepted.
    pub signer: Signer,
    /// Bytes of the head.
    pub length: u64,
}

/// The length of the head of a bundle, from its first [`bundle::PREFIX`] bytes.
///
/// # Errors
/// `Refused` when they are no bundle's or announce a head that is too long.
pub fn head_length(prefix: &[u8]) -> Result<usize> {
    todo!()
}

impl Head {
    /// Reads and verifies a whole head.
    ///
    /// # Errors
    /// `Refused`.
    pub fn read(head: &[u8], keys: &Keyring) -> Result<Self> {
        todo!()
    }
}
