//! The checksum of a record: over its table, its key and its bytes, so that neither a flipped bit nor a row that is found
//! under another key is taken for what was written.
//!
//! A bit of the version says that the checksum counts. Code from before there were checksums keeps the bytes of one it does
//! not know but writes the version anew, without the bit: what it changed is read without a checksum, and not taken for
//! damaged. A flipped version bit alone leaves the rest of the record as it was.

/// The bit of the version that says that the checksum counts.
pub(crate) const SUMMED: u8 = 0x80;
/// The bytes of a checksum.
pub(crate) const LENGTH: usize = 8;

/// A checksum over the table, the key, the header around the checksum itself, and the body.
pub(crate) fn of(table: &str, key: &[u8], before: &[u8], after: &[u8], body: &[u8]) -> [u8; LENGTH] {
    let mut hasher = blake3::Hasher::new();
    for part in [table.as_bytes(), key, before, after, body] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut sum = [0; LENGTH];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..LENGTH]);
    sum
}

/// The header and the body of a record's bytes.
pub(crate) fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_le_bytes(*length).into())
}

/// What the checksum of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    /// It has none that counts.
    Unsummed,
    Damaged,
}
