//! The bundle file: `magic | manifest | minisign signatures | chunk index | zstd chunks`.
//!
//! The first 20 bytes are the magic and three lengths (manifest, signatures, index; 32 bits, little end first). The signatures are
//! minisign signatures of the manifest, one after the other as text. The manifest has the SHA-256 of the index, and the index the
//! hash of every chunk, both compressed and not. So a signature covers each byte that is decompressed or installed.

use crate::{
    digest::Digest,
    error::{Error, Result},
    index::{Index, Layout},
    keys::{Keyring, MAX_SIGNATURES, Origin, Signer},
    manifest::{MAX_MANIFEST, Manifest},
};

/// The first bytes of a bundle; the last two are the version of the format and a line end.
pub const MAGIC: [u8; 8] = *b"HOBUPD1\n";
/// Bytes of the magic and the lengths.
pub const PREFIX: usize = 20;
/// The longest head.
pub const MAX_HEAD: usize = 4 << 20;

/// The verified head of a bundle: all before the chunks.
#[derive(Debug, Clone)]
pub struct Head {
    /// The manifest.
    pub manifest: Manifest,
    /// The signature that was accepted.
    pub signer: Signer,
    /// Bytes of the head.
    pub length: u64,
    /// The first half of its SHA-256: the id of an upload of this bundle.
    pub id: String,
    /// The places of the chunks.
    pub layout: Layout,
}

/// The parts of a head that was not verified.
pub struct Parts<'a> {
    /// The signed bytes: the manifest as JSON.
    pub manifest: &'a [u8],
    /// One to four minisign signatures.
    pub signatures: &'a [u8],
    /// The chunk index.
    pub index: &'a [u8],
}

/// The lengths of manifest, signatures and index.
fn lengths(prefix: &[u8]) -> Result<[usize; 3]> {
    let rest = prefix.strip_prefix(&MAGIC).ok_or_else(|| {
        let newer = prefix.starts_with(&MAGIC[..6]);
        Error::refused(match newer {
            true => "this bundle has a newer format: install a version in between first",
            false => "this is not an update bundle of Hob: choose a file that ends in .hobupdate",
        })
    })?;
    let mut all = [0; 3];
    for (length, bytes) in all.iter_mut().zip(rest.chunks_exact(4)) {
        *length = u32::from_le_bytes(bytes.try_into().unwrap_or_default()) as usize;
    }
    let [manifest, signatures, index] = all;
    let total = PREFIX.saturating_add(manifest).saturating_add(signatures).saturating_add(index);
    if rest.len() < PREFIX - MAGIC.len() {
        return Err(cut_off());
    }
    if manifest > MAX_MANIFEST || signatures > MAX_SIGNATURES || total > MAX_HEAD {
        return Err(Error::refused(
            "this bundle announces a head that is too large: it is damaged or no bundle of Hob",
        ));
    }
    Ok(all)
}

fn cut_off() -> Error {
    Error::refused("the bundle is cut off: get it again")
}

/// The length of the head of a bundle, from its first [`PREFIX`] bytes.
///
/// # Errors
/// `Refused` when they are no bundle's or announce a head that is too long.
pub fn head_length(prefix: &[u8]) -> Result<usize> {
    Ok(PREFIX + lengths(prefix)?.iter().sum::<usize>())
}

/// Splits a head without verifying it.
///
/// # Errors
/// `Refused` when it is no head, or longer or shorter than it announces.
pub fn parts(head: &[u8]) -> Result<Parts<'_>> {
    let [manifest, signatures, index] = lengths(head)?;
    let rest = head.get(PREFIX..).ok_or_else(cut_off)?;
    let (manifest, rest) = rest.split_at_checked(manifest).ok_or_else(cut_off)?;
    let (signatures, rest) = rest.split_at_checked(signatures).ok_or_else(cut_off)?;
    let (index, rest) = rest.split_at_checked(index).ok_or_else(cut_off)?;
    match rest.is_empty() {
        true => Ok(Parts { manifest, signatures, index }),
        false => Err(Error::refused("bytes follow the head of the bundle: send the head alone")),
    }
}

/// Puts a head together.
pub(crate) fn assemble(parts: &Parts<'_>) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    for part in [parts.manifest, parts.signatures, parts.index] {
        head.extend((part.len() as u32).to_le_bytes());
    }
    for part in [parts.manifest, parts.signatures, parts.index] {
        head.extend(part);
    }
    head
}

impl Head {
    /// Reads and verifies a whole head: nothing of it is parsed before the signature was checked.
    ///
    /// # Errors
    /// `Refused`, with the reason.
    pub fn read(head: &[u8], keys: &Keyring) -> Result<Self> {
        let parts = parts(head)?;
        let signer = keys.verify("this bundle", parts.manifest, parts.signatures)?;
        Self::read_parts(head, &parts, signer)
    }

    /// Reads a head whose signature does not matter: to print it, or to take its images as a base for deltas.
    ///
    /// # Errors
    /// `Refused`, with the reason.
    pub fn read_unsigned(head: &[u8]) -> Result<Self> {
        let signer = Signer { key_id: String::new(), origin: Origin::Configured, comment: "not checked".into() };
        Self::read_parts(head, &parts(head)?, signer)
    }

    fn read_parts(head: &[u8], parts: &Parts<'_>, signer: Signer) -> Result<Self> {
        let manifest = Manifest::read(parts.manifest)?;
        let seal = &manifest.index;
        if parts.index.len() as u64 != seal.length || Digest::sha256(parts.index) != seal.sha256 {
            return Err(Error::refused(
                "the chunk index does not belong to the manifest: parts of two bundles were mixed, or it is damaged; get it again",
            ));
        }
        let layout = Index::read(parts.index)?.layout(&manifest, head.len() as u64)?;
        Ok(Self { manifest, signer, length: head.len() as u64, id: head_id(head), layout })
    }
}

/// The id of an upload: the first half of the SHA-256 of the head.
pub fn head_id(head: &[u8]) -> String {
    let mut id = Digest::sha256(head).to_string();
    id.truncate(32);
    id
}

/// Decompresses a chunk or delta whose hash was checked, to at most `limit` bytes.
///
/// # Errors
/// `Refused` when it is no zstd frame, or longer.
pub(crate) fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
    zstd::bulk::decompress(bytes, limit).map_err(|_| {
        Error::refused(
            "a chunk of the bundle decompresses to more than it declares, or not at all: do not use this bundle",
        )
    })
}
