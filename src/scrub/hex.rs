//! Detect long hex strings: 64 digits or more may be a key, unless the text labels them as a digest.

use crate::{Span, tokens::starts_word};

/// The length of a 256-bit key.
const LONG: usize = 64;
/// The maximum distance of a label before the digits.
const LABEL: usize = 160;

/// Labels of digests, as the end of a name (`file_sha256`, `contentHash`), in lower case.
const LABELS: &[&str] = &[
    "sha256",
    "sha2256",
    "sha384",
    "sha512",
    "sha2512",
    "sha224",
    "sha3",
    "sha3256",
    "sha3512",
    "blake2b",
    "blake2s",
    "blake3",
    "checksum",
    "checksums",
    "digest",
    "hash",
    "integrity",
    "fingerprint",
    "etag",
    "oid",
];

pub fn find(bytes: &[u8], found: &mut Vec<Span>) {
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    // A run of 64 covers one of every 64 bytes, so only those are inspected.
    let (mut at, mut floor) = (LONG - 1, 0);
    while at < bytes.len() {
        if !is_hex(at) {
            at += LONG;
            continue;
        }
        let (mut start, mut end) = (at, at + 1);
        while start > floor && is_hex(start - 1) {
            start -= 1;
        }
        while is_hex(end) {
            end += 1;
        }
        if let Some(span) = key(bytes, start, end) {
            found.push(span);
        }
        floor = end;
        at = end + LONG;
    }
}

fn key(bytes: &[u8], mut start: usize, end: usize) -> Option<Span> {
    let before = bytes.get(..start)?;
    // The `b` or `f` of an escape such as `\f` is not a digit.
    if before.ends_with(b"\\") && bytes.get(start).is_some_and(|b| b"bf".contains(b)) {
        start += 1;
    }
    let run = bytes.get(start..end)?;
    let alone = starts_word(bytes, start) || before.ends_with(b"0x") || before.ends_with(b"0X");
    let ends = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    if run.len() < LONG || !alone || !ends || !varied(run) || labelled(before) {
        return None;
    }
    Some(start..end)
}

/// Digits of π, rows of zeros and counting patterns are not keys.
fn varied(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    run.iter().for_each(|b| seen[usize::from(b.to_ascii_lowercase())] = true);
    let of = |digits: &[u8]| digits.iter().filter(|b| seen[usize::from(**b)]).count();
    let (digits, letters) = (of(b"0123456789"), of(b"abcdef"));
    digits > 0 && letters > 0 && digits + letters >= 8
}

/// Whether a field of this name holds a digest: `sha256`, `file_checksum`, `etag`.
pub fn is_label(name: &str) -> bool {
    labelled(name.as_bytes())
}

/// Matches `sha256:`, `"checksum": "`, `SHA256 (file) = ` and similar labels.
fn labelled(before: &[u8]) -> bool {
    let from = before.len().saturating_sub(LABEL);
    let Some(line) = before.get(from..).and_then(|b| b.rsplit(|b| *b == b'\n').next()) else { return false };
    let mut line = line.trim_suffix_of(b" \t\"'`\\:=>-@/");
    if let Some(open) = line.strip_suffix(b")").and_then(|l| l.iter().rposition(|b| *b == b'(')) {
        line = line.get(..open).unwrap_or_default().trim_suffix_of(b" ");
    }
    let word: Vec<u8> = line
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    // A password hash is as sensitive as a password.
    let word = String::from_utf8(word.into_iter().rev().collect()).unwrap_or_default();
    !word.contains("pass") && LABELS.iter().any(|label| word.ends_with(label))
}

trait TrimSuffix {
    fn trim_suffix_of(&self, of: &[u8]) -> &[u8];
}

impl TrimSuffix for [u8] {
    fn trim_suffix_of(&self, of: &[u8]) -> &[u8] {
        let end = self.iter().rposition(|b| !of.contains(b)).map_or(0, |last| last + 1);
        self.get(..end).unwrap_or_default()
    }
}
