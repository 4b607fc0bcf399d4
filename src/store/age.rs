//! Files encrypted with a passphrase, in the format of `age` (<https://age-encryption.org/v1>): also the program `age` reads
//! them. Of its recipients only the passphrase is here.
//!
//! A header holds the file key, wrapped under a key that scrypt derives from the passphrase, and a checksum of itself under the
//! file key. The content follows in chunks of 64 KiB, each authenticated with its number and whether it is the last one: a
//! changed, missing or repeated chunk is noticed, and so is an end that is missing.

use crate::{Error, Result};
use base64::{Engine, alphabet::STANDARD, engine::general_purpose::NO_PAD};
use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit,
    aead::{Aead, Nonce},
};
use hkdf::Hkdf;
use scrypt::Params;
use sha2::Sha256;
use std::io::{self, BufRead, Read, Write};

/// The first line of the header.
const VERSION: &str = "age-encryption.org/v1";
/// With it begin files of every version.
const BEGIN: &[u8] = b"age-encryption.org/";
/// Precedes the salt of scrypt.
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
/// log2 of scrypt's cost: 64 MB of memory, and half a second on a Raspberry Pi 4.
const COST: u8 = if cfg!(test) { 10 } else { 16 };
/// The most that is accepted, as `age` itself writes: a file could ask for any amount of memory.
const MAX_COST: u8 = 18;
/// The size of a chunk, and of what authenticates it.
const CHUNK: usize = 64 << 10;
const TAG: usize = 16;
/// The longest line of a header.
const LINE: u64 = 200;

const CODEC: base64::engine::GeneralPurpose = base64::engine::GeneralPurpose::new(&STANDARD, NO_PAD);

/// The first bytes decide whether a file is encrypted.
pub(crate) fn is_encrypted(start: &[u8]) -> bool {
    start.starts_with(BEGIN)
}

/// Encrypts everything from `from`.
pub(crate) fn encrypt(passphrase: &str, from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    let (salt, file_key, nonce): ([u8; 16], [u8; 16], [u8; 16]) = (random()?, random()?, random()?);
    let wrapping = derive(passphrase, &salt, COST)?;
    let wrapped = cipher(&wrapping).encrypt(&Nonce::<ChaCha20Poly1305>::default(), &file_key[..]);
    let wrapped = wrapped.map_err(|_| failed())?;
    let stanza = format!("-> scrypt {} {COST}\n{}\n", CODEC.encode(salt), CODEC.encode(wrapped));
    let header = format!("{VERSION}\n{stanza}---");
    let write = |e| Error::io("write the backup", &e);
    writeln!(to, "{header} {}", CODEC.encode(mac(&file_key, header.as_bytes())?)).map_err(write)?;
    to.write_all(&nonce).map_err(write)?;
    let cipher = cipher(&expand(&file_key, &nonce, b"payload")?);
    let mut chunk = read_chunk(from, CHUNK)?;
    for n in 0u64.. {
        let next = if chunk.len() == CHUNK { read_chunk(from, CHUNK)? } else { vec![] };
        let is_last = next.is_empty();
        let sealed = cipher.encrypt(&chunk_nonce(n, is_last), &chunk[..]).map_err(|_| failed())?;
        to.write_all(&sealed).map_err(write)?;
        if is_last {
            break;
        }
        chunk = next;
    }
    Ok(())
}

/// Decrypts everything from `from`. What was written to `to` before an error must not be used.
///
/// # Errors
/// `WrongPassphrase`, `Damaged` when the file was changed or has no end, `Newer` when its format is not known.
pub(crate) fn decrypt(passphrase: &str, from: &mut impl BufRead, to: &mut impl Write) -> Result<()> {
    let (header, stanza, given) = read_header(from)?;
    let wrapping = derive(passphrase, &stanza.salt, stanza.cost)?;
    let unwrapped = cipher(&wrapping).decrypt(&Nonce::<ChaCha20Poly1305>::default(), &stanza.wrapped[..]);
    let file_key: [u8; 16] = unwrapped.map_err(|_| Error::WrongPassphrase)?.try_into().map_err(|_| changed())?;
    // A copy of the wrapped key in another header is no secret, so comparing need not take constant time.
    if mac(&file_key, &header)?[..] != given[..] {
        return Err(changed());
    }
    let mut nonce = [0; 16];
    from.read_exact(&mut nonce).map_err(|_| cut_off())?;
    let cipher = cipher(&expand(&file_key, &nonce, b"payload")?);
    let mut chunk = read_chunk(from, CHUNK + TAG)?;
    for n in 0u64.. {
        let next = if chunk.len() == CHUNK + TAG { read_chunk(from, CHUNK + TAG)? } else { vec![] };
        let is_last = next.is_empty();
        let opened = cipher.decrypt(&chunk_nonce(n, is_last), &chunk[..]);
        // The same chunk as one that is not the last: the rest is missing.
        let opened =
            opened.map_err(|_| match is_last && cipher.decrypt(&chunk_nonce(n, false), &chunk[..]).is_ok() {
                true => cut_off(),
                false => changed(),
            })?;
        // Only an empty file ends with an empty chunk.
        if opened.is_empty() && n > 0 {
            return Err(changed());
        }
        to.write_all(&opened).map_err(|e| Error::io("write the decrypted backup", &e))?;
        if is_last {
            break;
        }
        chunk = next;
    }
    Ok(())
}

/// The part of a header that holds the file key.
struct Stanza {
    salt: [u8; 16],
    cost: u8,
    wrapped: Vec<u8>,
}

/// Reads the header: what its checksum covers, the stanza, and the checksum.
fn read_header(from: &mut impl BufRead) -> Result<(Vec<u8>, Stanza, Vec<u8>)> {
    let mut header = vec![];
    let mut line = |header: &mut Vec<u8>| -> Result<String> {
        let start = header.len();
        let read = from.by_ref().take(LINE).read_until(b'\n', header);
        read.map_err(|e| Error::io("read the backup", &e))?;
        let line = header[start..].strip_suffix(b"\n").ok_or_else(cut_off)?;
        String::from_utf8(line.to_vec()).map_err(|_| changed())
    };
    if line(&mut header)? != VERSION {
        return Err(unknown());
    }
    let first = line(&mut header)?;
    let words: Vec<&str> = first.split(' ').collect();
    let ["->", "scrypt", salt, cost] = words[..] else { return Err(unknown()) };
    // One way to write a number: no sign and no zeros before it.
    let known = cost.parse::<u8>().ok().filter(|n| n.to_string() == cost && *n > 0).ok_or_else(changed)?;
    if known > MAX_COST {
        return Err(Error::Damaged(format!(
            "this backup asks for 2^{known} steps of scrypt, which needs too much memory: encrypt it again with `hob backup`. Nothing was changed"
        )));
    }
    let salt = decode(salt)?.try_into().map_err(|_| changed())?;
    let wrapped = decode(&line(&mut header)?)?;
    if wrapped.len() != 16 + TAG {
        return Err(changed());
    }
    let last = line(&mut header)?;
    let given = decode(last.strip_prefix("--- ").ok_or_else(unknown)?)?;
    header.truncate(header.len() - last.len() - 1 + "---".len());
    Ok((header, Stanza { salt, cost: known, wrapped }, given))
}

fn decode(text: &str) -> Result<Vec<u8>> {
    CODEC.decode(text).map_err(|_| changed())
}

/// The key that a passphrase gives.
fn derive(passphrase: &str, salt: &[u8; 16], cost: u8) -> Result<[u8; 32]> {
    let mut key = [0; 32];
    let params = Params::new(cost, 8, 1).map_err(|_| changed())?;
    scrypt::scrypt(passphrase.as_bytes(), &[LABEL, salt].concat(), &params, &mut key).map_err(|_| failed())?;
    Ok(key)
}

fn expand(file_key: &[u8; 16], salt: &[u8], info: &[u8]) -> Result<[u8; 32]> {
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(Some(salt), file_key).expand(info, &mut key).map_err(|_| failed())?;
    Ok(key)
}

/// HMAC-SHA-256 of the header under the file key.
fn mac(file_key: &[u8; 16], header: &[u8]) -> Result<[u8; 32]> {
    let key = expand(file_key, &[], b"header")?;
    // HKDF's first half is exactly that: HMAC with the salt as key.
    let (mac, _) = Hkdf::<Sha256>::extract(Some(&key), header);
    Ok(mac.into())
}

fn cipher(key: &[u8; 32]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(&(*key).into())
}

/// The number of a chunk, and whether it is the last.
fn chunk_nonce(n: u64, is_last: bool) -> Nonce<ChaCha20Poly1305> {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&n.to_be_bytes());
    nonce[11] = is_last.into();
    nonce.into()
}

/// Reads until the chunk is full or nothing is left.
fn read_chunk(from: &mut impl Read, size: usize) -> Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(size);
    let read = from.by_ref().take(size as u64).read_to_end(&mut chunk);
    read.map_err(|e: io::Error| Error::io("read the backup", &e))?;
    Ok(chunk)
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::Io(format!("the system has no randomness to give: {e}")))?;
    Ok(bytes)
}

fn changed() -> Error {
    Error::Damaged("this backup was changed or damaged after it was made: use another copy. Nothing was changed".into())
}

fn cut_off() -> Error {
    Error::Damaged("the end of this backup is missing: copy the file again, or use another. Nothing was changed".into())
}

fn unknown() -> Error {
    Error::Damaged(
        "this file is encrypted in a way that this Hob does not know: use a file that `hob backup` wrote, or update Hob. Nothing was changed".into(),
    )
}

fn failed() -> Error {
    Error::Io("the backup could not be encrypted".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encrypted(passphrase: &str, content: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        encrypt(passphrase, &mut &content[..], &mut out).unwrap();
        out
    }

    fn decrypted(passphrase: &str, file: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![];
        decrypt(passphrase, &mut &file[..], &mut out).map(|()| out)
    }

    #[test]
    fn what_goes_in_comes_out_and_nothing_else_does() {
        for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let content: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
            let file = encrypted("correct horse", &content);
            assert!(is_encrypted(&file) && decrypted("correct horse", &file).unwrap() == content, "{size}");
        }
        let content = vec![7; CHUNK + 100];
        let file = encrypted("correct horse", &content);
        assert_eq!(decrypted("correct hors", &file), Err(Error::WrongPassphrase));
        let header = file.windows(4).position(|w| w == b"\n---").unwrap() + 50;
        // Cut off: in the header, the nonce, a chunk, at its end, in the tag of the last one.
        for end in [10, header - 30, header + 5, header + 1000, file.len() - 100 - TAG, file.len() - 1] {
            let why = decrypted("correct horse", &file[..end]).unwrap_err();
            assert!(matches!(&why, Error::Damaged(text) if text.ends_with("Nothing was changed")), "{end}: {why}");
        }
        // Without the last chunk the file is recognized as cut off.
        let why = decrypted("correct horse", &file[..file.len() - 100 - TAG]).unwrap_err().to_string();
        assert!(why.contains("the end of this backup is missing"), "{why}");
        for at in [header - 10, header + 20, header + 1000, file.len() - 1] {
            let mut bent = file.clone();
            bent[at] ^= 1;
            assert!(matches!(decrypted("correct horse", &bent), Err(Error::Damaged(_))), "{at}");
        }
        let longer = [&file[..], b"x"].concat();
        assert!(matches!(decrypted("correct horse", &longer), Err(Error::Damaged(_))));
    }

    #[test]
    fn headers_that_are_odd_are_refused_before_any_work() {
        let file = encrypted("x", b"content");
        let text = String::from_utf8_lossy(&file).into_owned();
        let salt = text.split(' ').nth(2).unwrap().to_owned();
        for (from, to, part) in [
            ("age-encryption.org/v1", "age-encryption.org/v9", "does not know"),
            ("-> scrypt", "-> X25519", "does not know"),
            (" 10\n", " 30\n", "too much memory"),
            (" 10\n", " 010\n", "changed or damaged"),
            (" 10\n", " 0\n", "changed or damaged"),
            (&salt, "AAAA", "changed or damaged"),
        ] {
            let at = file.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
            let odd = [&file[..at], to.as_bytes(), &file[at + from.len()..]].concat();
            let why = decrypted("x", &odd).unwrap_err().to_string();
            assert!(why.contains(part), "{to}: {why}");
        }
        assert!(decrypted("x", &vec![b'a'; 1 << 20]).is_err() && decrypted("x", b"").is_err());
    }

    #[test]
    fn a_file_that_age_wrote_is_read() {
        // By `age -p` 1.1.1.
        let file = base64::engine::general_purpose::STANDARD.decode(include_str!("age_sample.b64").trim()).unwrap();
        assert_eq!(decrypted("correct horse", &file).unwrap(), b"what age wrote");
    }
}
