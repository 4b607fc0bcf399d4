//! What an answer holds, by its content type and first bytes.

use text_kit::truncate;

/// The content of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Html,
    Json,
    Text,
    /// No text; what it is in words: `a PDF`.
    Other(String),
    /// Its first bytes decide.
    Unknown,
}

impl Content {
    /// By the content type.
    pub fn of(content_type: Option<&str>) -> Self {
        let kind = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (major, minor) = kind.split_once('/').unwrap_or((&kind, ""));
        match (major, minor) {
            ("text", "html") | ("application", "xhtml+xml") => Self::Html,
            (_, "json") => Self::Json,
            (_, minor) if minor.ends_with("+json") => Self::Json,
            ("application", "octet-stream" | "unknown") | ("", _) => Self::Unknown,
            ("text", _) => Self::Text,
            ("application", "xml" | "javascript" | "ecmascript" | "yaml" | "x-yaml" | "toml" | "x-ndjson" | "x-sh") => {
                Self::Text
            }
            (_, minor) if minor.ends_with("+xml") && major != "image" => Self::Text,
            ("application", "pdf") => Self::Other("a PDF".into()),
            ("image", _) => Self::Other("a picture".into()),
            ("audio", _) => Self::Other("a sound".into()),
            ("video", _) => Self::Other("a video".into()),
            ("font", _) => Self::Other("a font".into()),
            ("application", "zip" | "gzip" | "x-tar" | "x-7z-compressed") => Self::Other("an archive".into()),
            ("application", "msword") => Self::Other("a document".into()),
            ("application", minor) if minor.contains("officedocument") || minor.contains("opendocument") => {
                Self::Other("a document".into())
            }
            _ => Self::Other(format!("a file of the type `{}`", truncate(&kind, 60))),
        }
    }

    /// The same where the type does not say, by the first bytes.
    pub fn or_by(self, body: &[u8]) -> Self {
        if self != Self::Unknown {
            return self;
        }
        let start = body.trim_ascii_start();
        let begins = |mark: &[u8]| start.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark));
        if begins(b"%PDF-") {
            Self::Other("a PDF".into())
        } else if body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff") {
            Self::Text
        } else if body.iter().take(1024).any(|b| *b == 0) {
            Self::Other("a file that is no text".into())
        } else if begins(b"<!doctype html") || begins(b"<html") || begins(b"<head") || begins(b"<body") {
            Self::Html
        } else {
            Self::Text
        }
    }
}

/// A size in words.
pub(crate) fn size_words(bytes: u64) -> String {
    match bytes {
        0..1024 => text_kit::counted(bytes, "byte"),
        1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => format!("{} MB", bytes.div_ceil(1_048_576)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_by_type_or_bytes() {
        let other = |text: &str| Content::Other(text.into());
        for (content_type, body, expected) in [
            (Some("text/html; charset=x"), "", Content::Html),
            (Some("TEXT/HTML"), "%PDF-1.7", Content::Html),
            (Some("application/problem+json"), "", Content::Json),
            (Some("text/plain"), "<html>", Content::Text),
            (Some("application/rss+xml"), "", Content::Text),
            (Some("image/svg+xml"), "", other("a picture")),
            (Some("application/pdf"), "", other("a PDF")),
            (Some("application/octet-stream"), "%PDF-1.7", other("a PDF")),
            (None, " <!DOCTYPE HTML><p>", Content::Html),
            (None, "hello", Content::Text),
            (None, "a\0b", other("a file that is no text")),
            (Some("application/x-odd"), "", other("a file of the type `application/x-odd`")),
            (Some("nonsense"), "", other("a file of the type `nonsense`")),
        ] {
            assert_eq!(Content::of(content_type).or_by(body.as_bytes()), expected, "{content_type:?} {body:?}");
        }
        assert_eq!(
            (size_words(3), size_words(1025), size_words(5 << 20)),
            ("3 bytes".into(), "2 KB".into(), "5 MB".into())
        );
    }
}
