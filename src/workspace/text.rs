//! Text in files: its encoding, and what a file is that has none.

use encoding_rs::{CoderResult, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// How much of a file is read to find out what it is, in bytes.
pub const HEAD: usize = 64 * 1024;
/// More control characters than one of so many characters are no text.
const CONTROLS: usize = 50;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    #[default]
    #[serde(rename = "utf-8", alias = "utf8", alias = "UTF-8", alias = "ascii")]
    Utf8,
    #[serde(rename = "utf-16le", alias = "utf16le", alias = "UTF-16LE", alias = "utf-16", alias = "utf16")]
    Utf16Le,
    #[serde(rename = "utf-16be", alias = "utf16be", alias = "UTF-16BE")]
    Utf16Be,
    /// Western European, with Latin-1 in it.
    #[serde(rename = "latin1", alias = "latin-1", alias = "iso-8859-1", alias = "windows-1252")]
    Latin1,
}

impl Encoding {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16Le => "utf-16le",
            Encoding::Utf16Be => "utf-16be",
            Encoding::Latin1 => "latin1",
        }
    }

    fn table(self) -> &'static encoding_rs::Encoding {
        match self {
            Encoding::Utf8 => UTF_8,
            Encoding::Utf16Le => UTF_16LE,
            Encoding::Utf16Be => UTF_16BE,
            Encoding::Latin1 => WINDOWS_1252,
        }
    }

    /// The bytes of its byte order mark.
    fn mark(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 => b"\xef\xbb\xbf",
            Encoding::Utf16Le => b"\xff\xfe",
            Encoding::Utf16Be => b"\xfe\xff",
            Encoding::Latin1 => b"",
        }
    }
}

/// The form of a text in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextForm {
    /// Its encoding.
    pub encoding: Encoding,
    /// Whether it begins with a byte order mark.
    pub mark: bool,
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A text of this form.
    Text(TextForm),
    /// No text; what it is, in words: `a PNG picture`.
    Binary(&'static str),
}

impl TextForm {
    /// Of an encoding that the caller names; the mark is looked for in the first bytes.
    pub fn named(encoding: Encoding, head: &[u8]) -> Self {
        let mark = encoding.mark();
        Self { encoding, mark: !mark.is_empty() && head.starts_with(mark) }
    }

    /// The length of its byte order mark in bytes.
    pub fn mark_length(self) -> usize {
        if self.mark { self.encoding.mark().len() } else { 0 }
    }

    /// The name of encoding and mark in one: `utf-8`, `utf-8-bom`, `utf-16le`, `utf-16be` or `windows-1252`.
    pub fn name(self) -> &'static str {
        match (self.encoding, self.mark) {
            (Encoding::Utf8, true) => "utf-8-bom",
            (Encoding::Latin1, _) => "windows-1252",
            (encoding, _) => encoding.name(),
        }
    }

    /// A decoder of the bytes after the mark.
    pub fn decoder(self) -> TextDecoder {
        TextDecoder(self.encoding.table().new_decoder_without_bom_handling())
    }

    /// Whether a line break is one byte that is part of nothing else.
    pub fn is_bytewise(self) -> bool {
        matches!(self.encoding, Encoding::Utf8 | Encoding::Latin1)
    }

    /// The whole text; `None` where bytes of it cannot be read, so that writing it again would change them.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        let rest = bytes.get(self.mark_length()..)?;
        if !self.is_bytewise() && rest.len() % 2 == 1 {
            return None;
        }
        let text = self.encoding.table().decode_without_bom_handling_and_without_replacement(rest)?;
        Some(text.into_owned())
    }

    /// The bytes of a text in this form.
    ///
    /// # Errors
    /// The first character that the encoding does not have.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let mut bytes = if self.mark { self.encoding.mark().to_vec() } else { vec![] };
        match self.encoding {
            Encoding::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Encoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Encoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Encoding::Latin1 => {
                let (encoded, _, lost) = WINDOWS_1252.encode(text);
                if lost {
                    let has = |c: &char| !WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2;
                    return Err(text.chars().find(|c| !has(c)).unwrap_or_default());
                }
                bytes.extend_from_slice(&encoded);
            }
        }
        Ok(bytes)
    }
}

/// Decodes a text piece by piece.
pub struct TextDecoder(encoding_rs::Decoder);

/// A piece that was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// How many bytes of it were used.
    pub read: usize,
    /// Whether bytes that are not of the encoding were replaced.
    pub replaced: bool,
    /// Whether the text has no room for the rest.
    pub full: bool,
}

impl TextDecoder {
    /// Adds the characters of these bytes to a text, as far as its capacity goes; `last` if no bytes follow.
    pub fn decode(&mut self, bytes: &[u8], text: &mut String, last: bool) -> Decoded {
        let (result, read, replaced) = self.0.decode_to_string(bytes, text, last);
        Decoded { read, replaced, full: result == CoderResult::OutputFull }
    }
}

/// The text of a file and its form, from its bytes, or its first bytes unless `whole`; `None` for what is no text. A character
/// that is cut at the end of first bytes is left out.
pub fn decode(bytes: &[u8], whole: bool) -> Option<(String, TextForm)> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let Content::Text(form) = detect(head, whole && head.len() == bytes.len()) else { return None };
    let text = |form: TextForm| {
        let rest = bytes.get(form.mark_length()..)?;
        let mut decoder = form.decoder();
        let mut text = String::with_capacity(decoder.0.max_utf8_buffer_length(rest.len())?);
        (!decoder.decode(rest, &mut text, whole).replaced).then_some((text, form))
    };
    // What comes after the first bytes may be no UTF-8.
    let latin = TextForm { encoding: Encoding::Latin1, mark: false };
    text(form).or_else(|| if form == TextForm::default() { text(latin) } else { None })
}

/// What a file is, by its first bytes; `whole` if there are no more.
pub fn detect(head: &[u8], whole: bool) -> Content {
    let form = |encoding, mark| Content::Text(TextForm { encoding, mark });
    if let Some(kind) = signature(head) {
        return Content::Binary(kind);
    }
    if head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff") {
        return Content::Binary("text in UTF-32");
    }
    for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
        if head.starts_with(encoding.mark()) {
            return form(encoding, true);
        }
    }
    if memchr::memchr(0, head).is_some() {
        return match wide(head) {
            Some(encoding) => form(encoding, false),
            None => Content::Binary(binary_kind(head)),
        };
    }
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character may be cut at the end of the head.
        Err(error) => !whole && error.error_len().is_none(),
    };
    let is_control =
        |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b) || **byte == 0x7f;
    if head.iter().filter(is_control).count() * CONTROLS > head.len() {
        return Content::Binary(binary_kind(head));
    }
    form(if is_utf8 { Encoding::Utf8 } else { Encoding::Latin1 }, false)
}

/// UTF-16 without a mark: half of the high bytes are zero, and each unit is one of a text.
fn wide(head: &[u8]) -> Option<Encoding> {
    let pairs = head.as_chunks::<2>().0;
    let is_text = |unit: u16| !matches!(unit, 0..=8 | 0xb | 0xe..=0x1f | 0x7f..=0x9f | 0xfffe..);
    let fits = |unit: fn([u8; 2]) -> u16| {
        let narrow = pairs.iter().filter(|pair| unit(**pair) < 0x100).count();
        narrow * 2 >= pairs.len() && pairs.iter().all(|pair| is_text(unit(*pair)))
    };
    match (fits(u16::from_le_bytes), fits(u16::from_be_bytes)) {
        (true, false) => Some(Encoding::Utf16Le),
        (false, true) => Some(Encoding::Utf16Be),
        _ => None,
    }
}

/// Formats that begin with bytes which no text begins with, or which nobody reads as text.
fn signature(head: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(usize, &[u8], &str)] = &[
        (0, b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (0, b"\xff\xd8\xff", "a JPEG picture"),
        (0, b"GIF87a", "a GIF picture"),
        (0, b"GIF89a", "a GIF picture"),
        (8, b"WEBP", "a WebP picture"),
        (8, b"WAVE", "a WAV recording"),
        (8, b"AVI ", "an AVI video"),
        (4, b"ftypavif", "an AVIF picture"),
        (4, b"ftypheic", "a HEIC picture"),
        (4, b"ftypM4A", "an M4A recording"),
        (4, b"ftyp", "an MP4 video"),
        (0, b"%PDF-", "a PDF document"),
        (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
        (0, b"\x1f\x8b\x08", "a gzip archive"),
        (0, b"BZh9", "a bzip2 archive"),
        (0, b"\xfd7zXZ\0", "an xz archive"),
        (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
        (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (0, b"Rar!\x1a\x07", "a RAR archive"),
        (257, b"ustar", "a tar archive"),
        (0, b"\x7fELF", "a program (ELF)"),
        (0, b"\xcf\xfa\xed\xfe", "a program (Mach-O)"),
        (0, b"\xca\xfe\xba\xbe", "a Java class or Mach-O program"),
        (0, b"\0asm", "a WebAssembly module"),
        (0, b"SQLite format 3\0", "a SQLite database"),
        (0, b"PAR1", "a Parquet table"),
        (0, b"ID3", "an MP3 recording"),
        (0, b"OggS", "an Ogg recording"),
        (0, b"fLaC", "a FLAC recording"),
        (0, b"\x1a\x45\xdf\xa3", "a Matroska or WebM video"),
        (0, b"II*\0", "a TIFF picture"),
        (0, b"MM\0*", "a TIFF picture"),
        (0, b"wOFF", "a web font"),
        (0, b"wOF2", "a web font"),
        (0, b"\0\x01\0\0\0", "a TrueType font"),
        (0, b"OTTO", "an OpenType font"),
        (0, b"\0\0\x01\0", "an icon"),
    ];
    let begins = |at: usize, bytes: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(bytes));
    if begins(0, b"PK\x03\x04") || begins(0, b"PK\x05\x06") {
        return Some(zip_kind(head));
    }
    let riff = |kind: &[u8]| !matches!(kind, b"WEBP" | b"WAVE" | b"AVI ") || begins(0, b"RIFF");
    SIGNATURES.iter().find(|(at, bytes, _)| begins(*at, bytes) && riff(bytes)).map(|found| found.2)
}

fn zip_kind(head: &[u8]) -> &'static str {
    let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
    match () {
        () if has("word/") => "a Word document",
        () if has("xl/") => "an Excel workbook",
        () if has("ppt/") => "a PowerPoint presentation",
        () if has("application/vnd.oasis.opendocument") => "an OpenDocument file",
        () if has("application/epub+zip") => "an EPUB book",
        () if has("META-INF/MANIFEST.MF") => "a Java archive",
        () => "a ZIP archive",
    }
}

/// What a file may be that is surely no text.
fn binary_kind(head: &[u8]) -> &'static str {
    match head {
        [b'M', b'Z', ..] => "a program (Windows)",
        [b'B', b'M', ..] => "a BMP picture",
        [0xff, 0xf2 | 0xf3 | 0xfa | 0xfb, ..] => "an MP3 recording",
        _ => "binary data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(encoding: Encoding, mark: bool) -> Content {
        Content::Text(TextForm { encoding, mark })
    }

    #[test]
    fn files_are_told_apart_by_their_first_bytes() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let utf16be = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        let rows: Vec<(Vec<u8>, Content)> = vec![
            (b"".to_vec(), text(Encoding::Utf8, false)),
            (b"Gr\xc3\xbc\xc3\x9fe\n".to_vec(), text(Encoding::Utf8, false)),
            (b"Gr\xfc\xdfe\n".to_vec(), text(Encoding::Latin1, false)),
            (b"\xef\xbb\xbfa,b\n".to_vec(), text(Encoding::Utf8, true)),
            ([b"\xff\xfe".to_vec(), utf16("é\n")].concat(), text(Encoding::Utf16Le, true)),
            ([b"\xfe\xff".to_vec(), utf16be("é\n")].concat(), text(Encoding::Utf16Be, true)),
            (utf16("plain words"), text(Encoding::Utf16Le, false)),
            (utf16be("plain words"), text(Encoding::Utf16Be, false)),
            (b"\x1b[31mred\x1b[0m\ttab\r\n".to_vec(), text(Encoding::Utf8, false)),
            (b"\x89PNG\r\n\x1a\n\0\0".to_vec(), Content::Binary("a PNG picture")),
            (b"%PDF-1.7\n1 0 obj".to_vec(), Content::Binary("a PDF document")),
            (b"RIFF\x10\0\0\0WAVEfmt ".to_vec(), Content::Binary("a WAV recording")),
            (b"PK\x03\x04....word/document.xml".to_vec(), Content::Binary("a Word document")),
            (b"PK\x03\x04....a.txt".to_vec(), Content::Binary("a ZIP archive")),
            (b"SQLite format 3\0".to_vec(), Content::Binary("a SQLite database")),
            (b"\x7fELF\x02\x01".to_vec(), Content::Binary("a program (ELF)")),
            (b"MZ\x90\0\x03".to_vec(), Content::Binary("a program (Windows)")),
            (b"\0\x01\x02\x03".to_vec(), Content::Binary("binary data")),
            (b"\x01\x02\x03\x04\x05".to_vec(), Content::Binary("binary data")),
            (b"\xff\xfe\0\0a\0\0\0".to_vec(), Content::Binary("text in UTF-32")),
        ];
        for (bytes, expected) in rows {
            assert_eq!(detect(&bytes, true), expected, "{bytes:?}");
        }
        assert_eq!(detect(b"caf\xc3", false), text(Encoding::Utf8, false), "cut within a character");
        assert_eq!(detect(b"caf\xc3", true), text(Encoding::Latin1, false));
    }

    #[test]
    fn a_text_is_decoded_as_a_whole_or_from_its_beginning() {
        let long = [vec![b'x'; HEAD], b"gr\xfcn".to_vec()].concat();
        for (bytes, whole, text, name) in [
            (&b"gr\xc3\xbcn"[..], true, "grün", "utf-8"),
            (b"\xef\xbb\xbfgr\xc3\xbcn", true, "grün", "utf-8-bom"),
            (b"\xff\xfeg\0r\0\xfc\0n\0", true, "grün", "utf-16le"),
            (b"\xfe\xff\0g\0r\0\xfc\0n", true, "grün", "utf-16be"),
            (b"gr\xfcn \x80", true, "grün €", "windows-1252"),
            (b"gr\xc3", false, "gr", "utf-8"),
            (b"\xff\xfeg\0\x00\xd8", false, "g", "utf-16le"),
            (b"", true, "", "utf-8"),
            (&long, true, &format!("{}grün", "x".repeat(HEAD)), "windows-1252"),
        ] {
            let (decoded, form) = decode(bytes, whole).unwrap();
            assert_eq!((&*decoded, form.name()), (text, name));
            assert!(!whole || form.encode(text).unwrap() == bytes, "{name}");
        }
        for bytes in [&b"\x89PNG\r\n\x1a\n\0"[..], b"%PDF-1.7", b"a\0b", b"\x7fELF\x02", b"\xff\xfeg\0\x00"] {
            assert_eq!(decode(bytes, true), None, "{bytes:?}");
        }
    }

    #[test]
    fn every_form_is_written_as_it_was_read() {
        let all_bytes: Vec<u8> = (0..=255).collect();
        let latin = TextForm { encoding: Encoding::Latin1, mark: false };
        assert_eq!(latin.encode(&latin.decode(&all_bytes).unwrap()).unwrap(), all_bytes);
        assert_eq!(latin.encode("naïve 東"), Err('東'));
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
            for mark in [false, true] {
                let form = TextForm { encoding, mark };
                let bytes = form.encode("Grüße, 東京 🚲\r\n").unwrap();
                assert_eq!(form.decode(&bytes).as_deref(), Some("Grüße, 東京 🚲\r\n"), "{form:?}");
                assert_eq!(TextForm::named(encoding, &bytes), form);
            }
        }
        assert_eq!(TextForm::default().decode(b"a\xff"), None);
        assert_eq!(TextForm { encoding: Encoding::Utf16Le, mark: false }.decode(b"a\0b"), None);
        assert_eq!(TextForm { encoding: Encoding::Utf16Le, mark: false }.decode(b"\x00\xd8a\0"), None, "half a pair");
    }
}
