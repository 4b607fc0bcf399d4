//! Detect the media type of a file from its content.

/// Text formats that only their sender or their extension distinguishes.
const TEXTS: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];
/// Signatures of document formats that consist of text characters but are not text for readers.
const DOCUMENTS: &[&[u8]] = &[b"%PDF-", b"%!PS", b"{\\rtf"];
/// The number of leading bytes that must look like text.
const SAMPLE: usize = 64 * 1024;

/// The media type of a file by its signature. For text, the declared type or the extension decides; for anything else
/// they are ignored, so that a page cannot pass as a picture.
pub fn media_type(bytes: &[u8], declared: &str, name: &str) -> String {
    if is_text(bytes) {
        let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let known = |t: &str| t.starts_with("text/") || TEXTS.iter().any(|(_, known)| *known == t);
        if known(&declared) && declared.bytes().all(|b| b.is_ascii_alphanumeric() || b"/+-.".contains(&b)) {
            return declared;
        }
        let ending = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
        let by_name = TEXTS.iter().find(|(e, _)| *e == ending).map(|(_, t)| *t);
        return by_name.unwrap_or("text/plain").to_owned();
    }
    let other = if is_mp3(bytes) { "audio/mpeg" } else { "application/octet-stream" };
    infer::get(bytes).map_or(other, |t| t.mime_type()).to_owned()
}

/// Whether it begins with the head of a frame of MPEG audio, layer III, of any version and rate: `infer` knows those of one kind.
fn is_mp3(bytes: &[u8]) -> bool {
    let [0xff, version, rate, ..] = bytes else { return false };
    version & 0xe6 == 0xe2 && version & 0x18 != 0x08 && !matches!(rate >> 4, 0 | 15) && rate & 0x0c != 0x0c
}

fn is_text(bytes: &[u8]) -> bool {
    let looked_at = &bytes[..bytes.len().min(SAMPLE)];
    let whole = match std::str::from_utf8(looked_at) {
        Ok(_) => true,
        // A character cut off at the end of the sample.
        Err(e) => e.error_len().is_none() && bytes.len() > SAMPLE,
    };
    let control = |b: &u8| *b < 9 || ((14..32).contains(b) && *b != 27);
    // Other signatures do not count: "GIF", "BM", "MZ" and "ID3" are words too, and real files of these types contain
    // zero bytes.
    whole && !looked_at.iter().any(control) && !DOCUMENTS.iter().any(|start| bytes.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_it_counts_and_not_what_is_said_of_it() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (bytes, declared, name, expected) in [
            (&png[..], "text/html", "a.html", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "", "", "image/jpeg"),
            (b"%PDF-1.7\n", "text/plain", "", "application/pdf"),
            (b"<html><script>", "image/png", "x.png", "text/plain"),
            (b"hello", "image/png", "x.png", "text/plain"),
            (b"a,b\n1,2", "text/csv; charset=utf-8", "", "text/csv"),
            (b"{\"a\":1}", "", "x.JSON", "application/json"),
            (b"hi", "text/ht\"ml", "", "text/plain"),
            ("gr\u{fc}ezi".as_bytes(), "", "", "text/plain"),
            (&[0, 1, 2, 3], "text/plain", "", "application/octet-stream"),
            (b"", "", "", "text/plain"),
            // Text that begins like a file signature.
            (b"GIF formats compared", "", "", "text/plain"),
            (b"BMI log\n81.5", "image/bmp", "", "text/plain"),
            (b"MZ is who made it", "", "notes.md", "text/markdown"),
            (b"ID3,artist\n1,Nora", "", "tags.csv", "text/csv"),
            (b"%!TEX root = main.tex", "", "", "text/plain"),
            (b"-----BEGIN CERTIFICATE-----\nMIIB", "", "", "text/plain"),
            // Document formats written in text characters, and text that begins with their signatures.
            (b"%!PS-Adobe-3.0\n", "text/plain", "", "application/postscript"),
            (b"{\\rtf1 hello}", "text/plain", "", "application/rtf"),
            (b"GIF89a\x01\0\x01\0\x80\0\0", "text/plain", "", "image/gif"),
            (b"BM\x46\0\0\0\0\0\0\0", "", "", "image/bmp"),
            (b"MZ\x90\0\x03\0", "", "", "application/vnd.microsoft.portable-executable"),
            (b"ID3\x03\0\0\0\0\x01", "", "", "audio/mpeg"),
            // MP3 without tags: MPEG 1, 2 and 2.5; and no head of a frame.
            (b"\xff\xfb\x90\0", "", "", "audio/mpeg"),
            (b"\xff\xf3\x64\xc4", "", "", "audio/mpeg"),
            (b"\xff\xe2\x64\xc4", "", "", "audio/mpeg"),
            (b"\xff\xf3\xf4\xc4", "", "", "application/octet-stream"),
            (b"\xff\xeb\x64\xc4", "", "", "application/octet-stream"),
            (b"\xff\xfeh\0", "", "", "application/octet-stream"),
            // Text formats keep their declared type.
            (b"<svg xmlns=\"a\"/>", "", "a.svg", "image/svg+xml"),
            (b"<?xml version=\"1.0\"?><a/>", "application/xml", "", "application/xml"),
            (b"<!DOCTYPE html><p>", "text/html", "", "text/html"),
            (b"#!/bin/sh\n", "", "", "text/plain"),
        ] {
            assert_eq!(media_type(bytes, declared, name), expected, "{name} {declared}");
        }
        let long = "ü".repeat(SAMPLE);
        assert_eq!(media_type(&long.as_bytes()[..SAMPLE + 1], "", ""), "text/plain", "cut in the middle of a letter");
    }
}
