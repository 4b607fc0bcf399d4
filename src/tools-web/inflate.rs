//! Bodies that a server compressed in a way that was not asked for, inflated within a bound.

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use std::io::Read;
use tool::{Error, Result};

/// Inflates a body by its `content-encoding`, to at most `limit` bytes.
///
/// # Errors
/// `Failed` for another encoding, broken data, or more than that.
pub(crate) fn inflate(body: Vec<u8>, encoding: &str, limit: usize) -> Result<Vec<u8>> {
    let mut body = body;
    // Applied in the order of the list.
    for encoding in encoding.split(',').rev().map(|name| name.trim().to_ascii_lowercase()) {
        body = match &*encoding {
            "" | "identity" => body,
            "gzip" | "x-gzip" => all(GzDecoder::new(&*body), limit)?,
            "deflate" if is_zlib(&body) => all(ZlibDecoder::new(&*body), limit)?,
            "deflate" => all(DeflateDecoder::new(&*body), limit)?,
            "br" => all(Decompressor::new(&*body, 4096), limit)?,
            other => {
                let other = text_kit::truncate(other, 40);
                return Err(Error::failed(format!(
                    "the answer is compressed as `{other}`, which cannot be read here: ask another server"
                )));
            }
        };
    }
    Ok(body)
}

/// Whether a body has the head of zlib; some servers leave it out.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [first, second, ..] if first & 15 == 8 && (u32::from(*first) * 256 + u32::from(*second)) % 31 == 0)
}

fn all(reader: impl Read, limit: usize) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    let read = reader.take(limit as u64 + 1).read_to_end(&mut found);
    if found.len() > limit {
        return Err(Error::failed(format!(
            "the answer is larger than {} MB: ask for a smaller part of it",
            limit / 1_048_576
        )));
    }
    match read {
        Ok(_) => Ok(found),
        Err(error) => Err(Error::failed(format!("the compressed answer is broken ({error}): try again"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };
    use std::io::Write;

    const LIMIT: usize = 1 << 20;

    #[test]
    fn compressed_bodies_are_inflated_within_the_bound() {
        let text = b"hello hello hello".repeat(100);
        let packed = |text: &[u8], which: &str| {
            let level = Compression::best();
            match which {
                "gzip" => {
                    let mut out = GzEncoder::new(vec![], level);
                    out.write_all(text).unwrap();
                    out.finish().unwrap()
                }
                "zlib" => {
                    let mut out = ZlibEncoder::new(vec![], level);
                    out.write_all(text).unwrap();
                    out.finish().unwrap()
                }
                _ => {
                    let mut out = DeflateEncoder::new(vec![], level);
                    out.write_all(text).unwrap();
                    out.finish().unwrap()
                }
            }
        };
        // An uncompressed meta-block with "hi", as RFC 7932 has it.
        let brotli = vec![0x8b, 0x00, 0x80, b'h', b'i', 0x03];
        assert_eq!(inflate(brotli, "br", LIMIT).unwrap(), b"hi");
        for (which, name) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "Deflate"), ("gzip", "identity, x-gzip")] {
            assert_eq!(inflate(packed(&text, which), name, LIMIT).unwrap(), text, "{which} {name}");
        }
        let bomb = packed(&vec![0; 64 << 20], "gzip");
        for (body, name, says) in [
            (bomb.clone(), "gzip", "larger than 1 MB"),
            (packed(&bomb, "gzip"), "gzip, gzip", "larger than 1 MB"),
            (b"nothing".to_vec(), "gzip", "broken"),
            (b"nothing".to_vec(), "br", "broken"),
            (b"x".to_vec(), "zstd", "compressed as `zstd`"),
        ] {
            let error = inflate(body, name, LIMIT).unwrap_err();
            assert!(error.message().contains(says), "{name}: {error}");
        }
    }
}
