//! Transfer encodings and charsets of parts of messages. Nothing fails: what cannot be decoded is skipped or left as it is.

use mail_parser::decoders::charsets::map::charset_decoder;

/// How the bytes of a part are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Base64,
    QuotedPrintable,
}

impl Encoding {
    pub fn named(name: &str) -> Self {
        match name.trim().to_ascii_lowercase().as_str() {
            "base64" => Self::Base64,
            "quoted-printable" => Self::QuotedPrintable,
            _ => Self::Plain,
        }
    }
}

/// Decodes a part piece by piece.
pub(crate) struct Decoder {
    encoding: Encoding,
    /// Base64: bits that do not fill a byte yet, and how many.
    bits: (u32, u8),
    /// Quoted-printable: what began with `=` and goes on in the next piece.
    held: Vec<u8>,
}

impl Decoder {
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, bits: (0, 0), held: vec![] }
    }

    /// The bytes of the next piece.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        match self.encoding {
            Encoding::Plain => piece.to_vec(),
            Encoding::Base64 => self.base64(piece),
            Encoding::QuotedPrintable => self.quoted_printable(piece),
        }
    }

    /// What is left at the end.
    pub fn finish(self) -> Vec<u8> {
        self.held
    }

    fn base64(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(piece.len() / 4 * 3 + 3);
        let (mut bits, mut count) = self.bits;
        for byte in piece {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                b'=' => {
                    // The next begins anew: some programs join encoded texts.
                    (bits, count) = (0, 0);
                    continue;
                }
                _ => continue,
            };
            bits = bits << 6 | u32::from(value);
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count & 0xff) as u8);
                bits &= (1 << count) - 1;
            }
        }
        self.bits = (bits, count);
        bytes
    }

    fn quoted_printable(&mut self, piece: &[u8]) -> Vec<u8> {
        let joined = [std::mem::take(&mut self.held).as_slice(), piece].concat();
        let mut bytes = Vec::with_capacity(joined.len());
        let mut at = 0;
        while let Some(byte) = joined.get(at) {
            if *byte != b'=' {
                bytes.push(*byte);
                at += 1;
                continue;
            }
            let rest = &joined[at + 1..];
            let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
            match rest {
                [b'\n', ..] => at += 2,
                [b'\r', b'\n', ..] => at += 3,
                [high, low, ..] => match (digit(*high), digit(*low)) {
                    (Some(high), Some(low)) => {
                        bytes.push(high << 4 | low);
                        at += 3;
                    }
                    _ => {
                        bytes.push(b'=');
                        at += 1;
                    }
                },
                _ => {
                    self.held = joined[at..].to_vec();
                    break;
                }
            }
        }
        bytes
    }
}

/// All bytes of a part.
pub(crate) fn decoded(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::new(encoding);
    let mut bytes = decoder.push(body);
    bytes.extend(decoder.finish());
    bytes
}

/// The text of a part by the charset it names; by what its bytes look like where it names none that is known.
pub(crate) fn text(bytes: &[u8], charset: Option<&str>, is_html: bool) -> String {
    let named = charset.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("us-ascii"));
    match named.and_then(|name| charset_decoder(name.as_bytes())) {
        Some(decode) => decode(bytes),
        None => html_text::decode(bytes, Some(if is_html { "text/html" } else { "text/plain" })).text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(encoding: Encoding, body: &[u8], size: usize) -> Vec<u8> {
        let mut decoder = Decoder::new(encoding);
        let mut all: Vec<u8> = body.chunks(size).flat_map(|piece| decoder.push(piece)).collect();
        all.extend(decoder.finish());
        all
    }

    #[test]
    fn pieces_of_any_size_decode_alike() {
        let bodies = [
            (Encoding::Base64, &b"R3LD\r\nvMOf ZQ==\r\nSGk="[..], "Grüße!".replace('!', "Hi")),
            (Encoding::QuotedPrintable, b"Gr=C3=BC=\r\n=C3=9Fe=\n = =3D =zz", "Grüße = = =zz".to_owned()),
            (Encoding::Plain, b"as it is", "as it is".to_owned()),
        ];
        for (encoding, body, expected) in bodies {
            for size in 1..=body.len() {
                let text = String::from_utf8(in_pieces(encoding, body, size)).unwrap();
                assert_eq!(text, expected, "{encoding:?} {size}");
            }
        }
        assert_eq!(in_pieces(Encoding::QuotedPrintable, b"a=", 1), b"a=");
        assert!(in_pieces(Encoding::Base64, b"\xff!*%=====", 2).is_empty());
    }

    #[test]
    fn charsets_are_those_named_else_guessed() {
        for (bytes, charset, expected) in [
            (&b"Gr\xfc\xdfe"[..], Some("iso-8859-1"), "Grüße"),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", Some("windows-1251"), "Привет"),
            ("Grüße".as_bytes(), Some("x-unknown"), "Grüße"),
            ("Grüße".as_bytes(), None, "Grüße"),
            (b"\x93\xfa\x96{", Some("Shift_JIS"), "日本"),
            (b"plain", Some(""), "plain"),
        ] {
            assert_eq!(text(bytes, charset, false), expected);
        }
    }
}
