//! Text of files: which encoding it is in, and what is no text.

/// How much of a file is looked at.
const LOOKED: usize = 64 * 1024;

/// The text of a file, or of its beginning, and its encoding: `utf-8`, `utf-8-bom`, `utf-16le`, `utf-16be` or `windows-1252`.
/// `None` for what is no text. A character that is cut at the end is left out.
pub fn decode(bytes: &[u8]) -> Option<(String, &'static str)> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return utf8(rest).map(|text| (text, "utf-8-bom"));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes).map(|text| (text, "utf-16le"));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes).map(|text| (text, "utf-16be"));
    }
    if is_binary(bytes) {
        return None;
    }
    if let Some(text) = utf8(bytes) {
        return Some((text, "utf-8"));
    }
    // Texts of old programs; what decodes to control characters is none.
    let text: Option<String> = bytes.iter().map(|byte| windows_1252(*byte)).collect();
    text.map(|text| (text, "windows-1252"))
}

/// A text in an encoding of [`decode`]; `None` where it has characters that the encoding lacks.
pub fn encode(text: &str, encoding: &str) -> Option<Vec<u8>> {
    Some(match encoding {
        "utf-8-bom" => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        "utf-16le" => [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect(),
        "windows-1252" => {
            let byte = |c| (0..=u8::MAX).find(|byte| windows_1252(*byte) == Some(c));
            text.chars().map(byte).collect::<Option<Vec<u8>>>()?
        }
        _ => text.as_bytes().to_vec(),
    })
}

fn is_binary(bytes: &[u8]) -> bool {
    let looked = &bytes[..bytes.len().min(LOOKED)];
    let odd = |byte: &u8| *byte < 7 || ((14..32).contains(byte) && *byte != 27);
    looked.iter().any(odd) || [&b"%PDF-"[..], b"\x7fELF", b"PK\x03\x04"].iter().any(|start| bytes.starts_with(start))
}

fn utf8(bytes: &[u8]) -> Option<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok().map(str::to_owned),
        Err(_) => None,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let mut units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
    if units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
        units.pop();
    }
    String::from_utf16(&units).ok()
}

/// The characters of 0x80 to 0x9f; zero for none.
const UPPER: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> Option<char> {
    match byte {
        0x80..=0x9f => Some(UPPER[usize::from(byte - 0x80)]).filter(|c| *c != '\0'),
        _ => Some(char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_recognised_and_written_back() {
        for (bytes, text, encoding) in [
            (&b"gr\xc3\xbcn"[..], "grün", "utf-8"),
            (b"\xef\xbb\xbfgr\xc3\xbcn", "grün", "utf-8-bom"),
            (b"\xff\xfeg\0r\0\xfc\0n\0", "grün", "utf-16le"),
            (b"\xfe\xff\0g\0r\0\xfc\0n", "grün", "utf-16be"),
            (b"gr\xfcn \x80", "grün €", "windows-1252"),
            (b"", "", "utf-8"),
        ] {
            assert_eq!(decode(bytes), Some((text.to_owned(), encoding)));
            assert_eq!(encode(text, encoding).unwrap(), bytes, "{encoding}");
        }
        for bytes in [&b"\x89PNG\r\n\x1a\n\0"[..], b"%PDF-1.7", b"a\0b", b"\x7fELF\x02", b"a\x81b\xff"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
        // A character that the end cut.
        assert_eq!(decode(b"gr\xc3").unwrap().0, "gr");
        assert_eq!(encode("日", "windows-1252"), None);
    }
}
