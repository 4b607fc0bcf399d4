//! Compute hashes of text.

use crate::{bounds::short, words::words};
use sha1::Digest;
use std::fmt::Write;
use tool::prelude::*;

words! {
    /// A hash algorithm.
    Algorithm {
        Md5 = "md5",
        Sha1 = "sha1",
        Sha256 = "sha256",
        Sha512 = "sha512",
        Blake3 = "blake3",
    }
}

/// Compute a hash of a text, as hex. MD5 and SHA-1 are for checksums only: they can be forged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hash {
    /// Text, encoded as UTF-8.
    text: String,
    /// Hash algorithm (default: sha256).
    algorithm: Option<Algorithm>,
}

pub(crate) async fn hash(_: (), _: Cx, Hash { text, algorithm }: Hash) -> Result<Output> {
    short("text", &text)?;
    let algorithm = algorithm.unwrap_or(Algorithm::Sha256);
    let hash = match algorithm {
        Algorithm::Md5 => hex(&md5::Md5::digest(&text)),
        Algorithm::Sha1 => hex(&sha1::Sha1::digest(&text)),
        Algorithm::Sha256 => hex(&sha2::Sha256::digest(&text)),
        Algorithm::Sha512 => hex(&sha2::Sha512::digest(&text)),
        Algorithm::Blake3 => blake3::hash(text.as_bytes()).to_string(),
    };
    let sentence = format!("The {} digest is {hash}.", algorithm.word());
    let answer = json!({"hash": hash, "algorithm": algorithm.word(), "bits": hash.len() * 4, "bytes": text.len()});
    Ok(Output::json(answer)?.say(sentence))
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    #[tokio::test]
    async fn digests_are_those_of_the_standards() {
        let rows = [
            ("md5", "900150983cd24fb0d6963f7d28e17f72"),
            ("SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "sha512",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            ("blake3", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
        ];
        for (algorithm, wanted) in rows {
            let args = json!({"text": "abc", "algorithm": algorithm});
            let answer = call(crate::text(), &cx(), "hash_text", args).await.unwrap().content;
            assert_eq!((&answer["hash"], &answer["bits"]), (&json!(wanted), &json!(wanted.len() * 4)), "{algorithm}");
        }
        let plain = call(crate::text(), &cx(), "hash_text", json!({"text": "abc"})).await.unwrap();
        assert_eq!(plain.content["algorithm"], "sha256");
        let long = json!({"text": "x".repeat((1 << 20) + 1)});
        assert!(matches!(call(crate::text(), &cx(), "hash_text", long).await, Err(Error::BadArgs(_))));
    }
}
