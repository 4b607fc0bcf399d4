//! Converts content to pieces a wire format can carry; what a model cannot take becomes a short note.

use crate::{Content, Facts, Kind, Media, Part, Source};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{borrow::Cow, sync::Arc};

/// Maximum bytes of a text file shown to a model; less for small contexts.
const LONGEST_TEXT: usize = 256 << 10;

/// Media types a wire format can carry.
pub(crate) struct SupportedMedia {
    pub images: &'static [&'static str],
    /// Maximum base64 length of an image, in bytes.
    pub largest_image: usize,
    pub audio: &'static [&'static str],
    pub files: &'static [&'static str],
}

/// One piece of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Text: of the person, of a text file, or a note about unsupported media.
    Text(Cow<'a, str>),
    /// An image, audio or file in base64.
    Data {
        kind: Kind,
        /// Such as `image/png`, without parameters.
        media_type: String,
        /// Display name; never empty.
        name: &'a str,
        base64: String,
    },
}

/// Approximate length of a note without the name, in bytes.
const NOTE: usize = 120;

/// The form in which a model gets an image, audio or file.
#[derive(Debug, PartialEq)]
pub(crate) enum MediaForm {
    /// Text, of so many bytes.
    Words(usize),
    /// The media itself.
    Itself,
}

/// Predicts what [`pieces`] makes of it. A wire format may carry less, and then a note replaces the media.
pub(crate) fn media_form(media: &Media, facts: &Facts) -> MediaForm {
    let note = NOTE + media.name.len();
    let Source::Bytes(bytes) = &media.source else { return MediaForm::Words(note) };
    let media_type = plain_type(&media.media_type);
    if is_text(&media_type) {
        return MediaForm::Words(bytes.len().min(longest_text(facts)) + note + media.name.len());
    }
    let itself = match media.kind {
        Kind::Image => facts.images,
        Kind::Audio => facts.audio,
        // No wire format carries other types.
        Kind::File => facts.files && media_type == "application/pdf",
    };
    if itself { MediaForm::Itself } else { MediaForm::Words(note) }
}

/// The pieces of a message for a model with these facts; never empty.
pub(crate) fn pieces<'a>(content: &'a Content, facts: &Facts, carries: &SupportedMedia) -> Vec<Piece<'a>> {
    let mut all: Vec<Piece<'a>> = content
        .0
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) if text.is_empty() => None,
            Part::Text(text) => Some(Piece::Text(Cow::Borrowed(text))),
            Part::Media(media) => Some(piece(media, facts, carries)),
        })
        .collect();
    if all.is_empty() {
        // Servers reject an empty message.
        all.push(Piece::Text("(nothing)".into()));
    }
    all
}

/// The pieces as a single text, if all are text.
pub(crate) fn words<'a>(pieces: &'a [Piece<'_>]) -> Option<Cow<'a, str>> {
    let texts: Option<Vec<&str>> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(text.as_ref()),
            Piece::Data { .. } => None,
        })
        .collect();
    match texts?.as_slice() {
        [one] => Some(Cow::Borrowed(*one)),
        several => Some(Cow::Owned(several.join("\n"))),
    }
}

fn piece<'a>(media: &'a Media, facts: &Facts, carries: &SupportedMedia) -> Piece<'a> {
    let name = if media.name.is_empty() { "without a name" } else { &media.name };
    let media_type = plain_type(&media.media_type);
    let what = match media.kind {
        Kind::Image => "picture",
        Kind::Audio => "sound",
        Kind::File => "file",
    };
    let note = |why: String| Piece::Text(Cow::Owned(format!("[{what} {name}: {why}]")));
    let Source::Bytes(bytes) = &media.source else {
        return note("it is not kept any more".into());
    };
    if is_text(&media_type) {
        return Piece::Text(Cow::Owned(text(name, bytes, facts)));
    }
    let (able, carried, does_not) = match media.kind {
        Kind::Image => (facts.images, carries.images, "see pictures"),
        Kind::Audio => (facts.audio, carries.audio, "hear sound"),
        Kind::File => (facts.files, carries.files, "read such files"),
    };
    if !able {
        return note(format!("this model does not {does_not}"));
    }
    if !carried.contains(&media_type.as_str()) {
        let others = if carried.is_empty() { String::new() } else { format!(", only of {}", carried.join(", ")) };
        return note(format!("this model does not {does_not} of the type {media_type}{others}"));
    }
    // An oversized image would be rejected with every message from then on.
    let most = carries.largest_image / 4 * 3;
    if media.kind == Kind::Image && bytes.len() > most {
        let most = most as f64 / f64::from(1 << 20);
        return note(format!("it is too large, for this model takes {most:.1} MB at most"));
    }
    Piece::Data { kind: media.kind, media_type, name, base64: STANDARD.encode(bytes) }
}

/// A MIME type without parameters, in the common spelling.
fn plain_type(media_type: &str) -> String {
    let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match plain.as_str() {
        "image/jpg" => "image/jpeg".into(),
        "audio/mp3" => "audio/mpeg".into(),
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav".into(),
        "audio/x-flac" => "audio/flac".into(),
        "audio/x-aiff" => "audio/aiff".into(),
        _ => plain,
    }
}

/// Whether a file of that type is text.
fn is_text(media_type: &str) -> bool {
    const TEXTS: [&str; 12] = [
        "application/json",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/x-javascript",
        "application/x-sh",
        "application/sql",
        "application/csv",
        "image/svg+xml",
    ];
    media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
        || TEXTS.contains(&media_type)
}

/// Maximum bytes of a text file: two per token leave about half of the context for the rest.
fn longest_text(facts: &Facts) -> usize {
    match facts.context {
        0 => LONGEST_TEXT,
        context => LONGEST_TEXT.min(context as usize * 2),
    }
}

/// A text file as text.
fn text(name: &str, bytes: &[u8], facts: &Facts) -> String {
    let limit = longest_text(facts);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(limit)]);
    let cut = if bytes.len() > limit {
        format!("\n[cut here: {} of {} bytes are shown]", limit, bytes.len())
    } else {
        String::new()
    };
    // Drop a character split at the cut.
    let shown = if cut.is_empty() { &shown } else { shown.trim_end_matches('\u{fffd}') };
    format!("[file {name}]\n{}{cut}\n[end of file {name}]", shown.trim_end())
}

/// An image or audio generated by a model; `None` if the base64 is invalid.
pub(crate) fn decode_media(media_type: &str, base64: &str) -> Option<Media> {
    let media_type = plain_type(media_type);
    let kind = match media_type.split('/').next() {
        Some("image") => Kind::Image,
        Some("audio") => Kind::Audio,
        _ => Kind::File,
    };
    let bytes: Arc<[u8]> = STANDARD.decode(base64.trim()).ok()?.into();
    let name = match kind {
        Kind::Image => "picture",
        Kind::Audio => "sound",
        Kind::File => "file",
    };
    let ending = media_type.split('/').nth(1).map(|sub| sub.split('+').next().unwrap_or(sub)).unwrap_or("bin");
    let ending = if ending == "jpeg" { "jpg" } else { ending };
    Some(Media { kind, name: format!("{name}.{ending}"), media_type, source: Source::Bytes(bytes) })
}

/// MIME type and base64 of a `data:` URL.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUPPORTED_MEDIA: SupportedMedia = SupportedMedia {
        images: &["image/png", "image/jpeg"],
        largest_image: usize::MAX,
        audio: &["audio/flac", "audio/aiff"],
        files: &["application/pdf"],
    };

    fn media(kind: Kind, media_type: &str, name: &str, bytes: &[u8]) -> Part {
        let source = Source::Bytes(bytes.into());
        Part::Media(Media { kind, media_type: media_type.into(), name: name.into(), source })
    }

    #[test]
    fn what_a_model_does_not_take_is_told_in_words() {
        let blind = Facts { images: false, audio: true, files: false, ..Facts::default() };
        let sees = Facts { images: true, audio: true, files: true, ..Facts::default() };
        let picture = || media(Kind::Image, "image/JPG; q=1", "cat.jpg", b"123");
        let stored = Part::Media(Media {
            kind: Kind::File,
            media_type: "text/plain".into(),
            name: "old".into(),
            source: Source::Stored(tool::Id::new()),
        });
        let rows = [
            (blind, picture(), "[picture cat.jpg: this model does not see pictures]"),
            (sees, picture(), "image/jpeg MTIz"),
            (
                sees,
                media(Kind::Image, "image/bmp", "", b"1"),
                "[picture without a name: this model does not see pictures of the type image/bmp, only of image/png, image/jpeg]",
            ),
            (
                sees,
                media(Kind::Audio, "audio/wav", "a", b"1"),
                "[sound a: this model does not hear sound of the type audio/wav, only of audio/flac, audio/aiff]",
            ),
            (
                blind,
                media(Kind::File, "application/pdf", "a.pdf", b"1"),
                "[file a.pdf: this model does not read such files]",
            ),
            (sees, media(Kind::File, "application/pdf", "a.pdf", b"1"), "application/pdf MQ=="),
            (sees, media(Kind::Audio, "audio/x-flac", "a", b"1"), "audio/flac MQ=="),
            (sees, media(Kind::Audio, "audio/x-aiff", "a", b"1"), "audio/aiff MQ=="),
            (
                blind,
                media(Kind::File, "text/csv; charset=utf-8", "a.csv", "\u{feff}ä,b\n".as_bytes()),
                "[file a.csv]\nä,b\n[end of file a.csv]",
            ),
            (blind, media(Kind::File, "application/ld+json", "a", b"{}"), "[file a]\n{}\n[end of file a]"),
            (blind, stored, "[file old: it is not kept any more]"),
            (blind, Part::Text("".into()), "(nothing)"),
        ];
        for (facts, part, expected) in rows {
            let content = Content(vec![part]);
            let shown = pieces(&content, &facts, &SUPPORTED_MEDIA);
            let shown: Vec<String> = shown
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.to_string(),
                    Piece::Data { media_type, base64, .. } => format!("{media_type} {base64}"),
                })
                .collect();
            assert_eq!(shown, [expected]);
        }
    }

    #[test]
    fn a_long_text_is_cut_to_what_the_model_reads() {
        let content = Content(vec![media(Kind::File, "text/plain", "a", &b"x".repeat(LONGEST_TEXT + 9))]);
        let length = |context| {
            let shown = pieces(&content, &Facts { context, ..Facts::default() }, &SUPPORTED_MEDIA);
            words(&shown).unwrap().matches('x').count()
        };
        let umlauts = Content(vec![media(Kind::File, "text/plain", "a", "ä".repeat(9).as_bytes())]);
        let odd = Content(vec![media(Kind::File, "text/plain", "a", format!("x{}", "ä".repeat(9)).as_bytes())]);
        let facts = Facts { context: 2, ..Facts::default() };
        for (content, expected) in [(umlauts, "ää\n[cut here: 4 of 18 bytes"), (odd, "xä\n[cut here: 4 of 19 bytes")]
        {
            let cut = pieces(&content, &facts, &SUPPORTED_MEDIA);
            assert!(words(&cut).unwrap().starts_with(&format!("[file a]\n{expected}")), "{cut:?}");
        }
        assert_eq!((length(0), length(4000), length(u32::MAX)), (LONGEST_TEXT, 8000, LONGEST_TEXT));
    }

    #[test]
    fn what_a_model_made() {
        let made = |t, b| decode_media(t, b).map(|m| (m.kind, m.name));
        assert_eq!(made("image/jpeg", "MTIz"), Some((Kind::Image, "picture.jpg".into())));
        assert_eq!(made("audio/wav", "MTIz\n"), Some((Kind::Audio, "sound.wav".into())));
        assert_eq!(made("image/png", "no base64!"), None);
        assert_eq!(data_url("data:image/png;base64,MTIz"), Some(("image/png", "MTIz")));
        assert_eq!(data_url("https://x.org/a.png"), None);
    }
}
