//! What a file is, by what is in it.

/// Texts that are told apart only by who sends them, and by their names.
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
/// How documents begin that are written in letters and yet are text to nobody.
const DOCUMENTS: &[&[u8]] = &[b"%PDF-", b"%!PS", b"{\\rtf"];
/// How much of a file has to look like text.
const LOOKED_AT: usize = 64 * 1024;

/// The type of a file: by its first bytes; among texts by what its sender says or its name ends in. What its sender says of
/// anything else does not count: a page must not come in as a picture.
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
    infer::get(bytes).map_or("application/octet-stream", |t| t.mime_type()).to_owned()
}

fn is_text(bytes: &[u8]) -> bool {
    let looked_at = &bytes[..bytes.len().min(LOOKED_AT)];
    let whole = match std::str::from_utf8(looked_at) {
        Ok(_) => true,
        // A letter cut by the end of what is looked at.
        Err(e) => e.error_len().is_none() && bytes.len() > LOOKED_AT,
    };
    let control = |b: &u8| *b < 9 || ((14..32).contains(b) && *b != 27);
    // No other beginning counts: "GIF", "BM", "MZ" and "ID3" are words too, and what really is such a file has zeros in it.
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
            // Words that begin like files.
            (b"GIF formats compared", "", "", "text/plain"),
            (b"BMI log\n81.5", "image/bmp", "", "text/plain"),
            (b"MZ is who made it", "", "notes.md", "text/markdown"),
            (b"ID3,artist\n1,Nora", "", "tags.csv", "text/csv"),
            (b"%!TEX root = main.tex", "", "", "text/plain"),
            (b"-----BEGIN CERTIFICATE-----\nMIIB", "", "", "text/plain"),
            // Files that are written in letters, and files that begin with them.
            (b"%!PS-Adobe-3.0\n", "text/plain", "", "application/postscript"),
            (b"{\\rtf1 hello}", "text/plain", "", "application/rtf"),
            (b"GIF89a\x01\0\x01\0\x80\0\0", "text/plain", "", "image/gif"),
            (b"BM\x46\0\0\0\0\0\0\0", "", "", "image/bmp"),
            (b"MZ\x90\0\x03\0", "", "", "application/vnd.microsoft.portable-executable"),
            (b"ID3\x03\0\0\0\0\x01", "", "", "audio/mpeg"),
            // Texts that look alike keep what their sender says.
            (b"<svg xmlns=\"a\"/>", "", "a.svg", "image/svg+xml"),
            (b"<?xml version=\"1.0\"?><a/>", "application/xml", "", "application/xml"),
            (b"<!DOCTYPE html><p>", "text/html", "", "text/html"),
            (b"#!/bin/sh\n", "", "", "text/plain"),
        ] {
            assert_eq!(media_type(bytes, declared, name), expected, "{name} {declared}");
        }
        let long = "ü".repeat(LOOKED_AT);
        assert_eq!(
            media_type(&long.as_bytes()[..LOOKED_AT + 1], "", ""),
            "text/plain",
            "cut in the middle of a letter"
        );
    }
}
