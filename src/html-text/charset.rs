//! The text of bytes whose encoding is stated, marked or guessed.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much is searched for a statement of the encoding, in bytes.
const HEAD: usize = 4096;
/// How much is read for a guess, in bytes.
const GUESS: usize = 256 * 1024;

/// A decoded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text; bytes that are none are replaced.
    pub text: String,
    /// The name of the encoding, such as `UTF-8` or `windows-1252`.
    pub encoding: &'static str,
}

/// Decodes bytes by their byte order mark, the charset of the content type, a `<meta>` or XML declaration at their beginning, or
/// else a guess.
pub fn decode(bytes: &[u8], content_type: Option<&str>) -> Decoded {
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => content_type
            .and_then(charset_of)
            .and_then(|label| Encoding::for_label(label.as_bytes()))
            .or_else(|| declared(bytes))
            .unwrap_or_else(|| guessed(bytes)),
    };
    let (text, encoding, _) = encoding.decode(bytes);
    Decoded { text: text.into_owned(), encoding: encoding.name() }
}

/// The charset parameter of a content type.
fn charset_of(content_type: &str) -> Option<&str> {
    let value = content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Some(value.trim().trim_matches(['"', '\'']))
}

/// The encoding that the document states in ASCII at its beginning.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes[..bytes.len().min(HEAD)].iter().map(|b| char::from(b.to_ascii_lowercase())).collect();
    let label = |after: &str| {
        let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(value.len());
        Encoding::for_label(value[..end].as_bytes())
    };
    let xml = head.trim_start().strip_prefix("<?xml").and_then(|xml| xml.split_once("?>")).and_then(|(xml, _)| {
        let (_, after) = xml.split_once("encoding")?;
        label(after)
    });
    let meta = || {
        let metas = head.match_indices("<meta").map(|(at, _)| head[at..].split('>').next().unwrap_or_default());
        metas.filter_map(|meta| label(meta.split_once("charset")?.1)).next()
    };
    // A statement that could be read is not in UTF-16.
    let found = xml.or_else(meta)?;
    Some(if found == UTF_16BE || found == UTF_16LE { UTF_8 } else { found })
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(GUESS)];
    if let Some(wide) = wide(head) {
        return wide;
    }
    // ISO-2022-JP is ASCII with escapes.
    if head.is_ascii() && !head.contains(&0x1b) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// UTF-16 without a mark: every other byte of its beginning is zero.
fn wide(head: &[u8]) -> Option<&'static Encoding> {
    let head = &head[..head.len().min(64) & !1];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count() * 2;
    match (zeros(0), zeros(1)) {
        _ if head.len() < 8 => None,
        (0, odd) if odd * 2 > head.len() => Some(UTF_16LE),
        (even, 0) if even * 2 > head.len() => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(bytes: &[u8], content_type: Option<&str>, text: &str, encoding: &str) {
        let decoded = decode(bytes, content_type);
        assert_eq!((&*decoded.text, decoded.encoding), (text, encoding), "{bytes:?} {content_type:?}");
    }

    fn encoded(label: &str, text: &str) -> Vec<u8> {
        Encoding::for_label(label.as_bytes()).unwrap().encode(text).0.into_owned()
    }

    #[test]
    fn the_encoding_is_stated_or_guessed() {
        is("größer".as_bytes(), None, "größer", "UTF-8");
        is(b"gr\xf6\xdfer", Some("text/html; Charset=\"ISO-8859-1\""), "größer", "windows-1252");
        is(b"\xef\xbb\xbfx\xc3\xb6", Some("text/html; charset=latin1"), "xö", "UTF-8");
        is(b"\xff\xfex\0y\0", None, "xy", "UTF-16LE");
        is(b"<\0p\0>\0h\0i\0", None, "<p>hi", "UTF-16LE");
        is(b"\0<\0p\0>\0h\0i", None, "<p>hi", "UTF-16BE");
        let meta = [b"<head><meta charset=shift_jis>".to_vec(), encoded("shift_jis", "日本語")].concat();
        is(&meta, Some("text/html"), "<head><meta charset=shift_jis>日本語", "Shift_JIS");
        let old = "<META http-equiv='Content-Type' content=\"text/html; charset=koi8-r\">";
        is(&[old.as_bytes(), &encoded("koi8-r", "привет")].concat(), None, &format!("{old}привет"), "KOI8-R");
        let xml = "<?xml version='1.0' encoding='euc-kr'?>";
        is(&[xml.as_bytes(), &encoded("euc-kr", "안녕")].concat(), None, &format!("{xml}안녕"), "EUC-KR");
        is(b"<meta charset=utf-16>x", None, "<meta charset=utf-16>x", "UTF-8");
        is(b"x", Some("text/html; charset=no-such"), "x", "UTF-8");
        is(b"", None, "", "UTF-8");
    }

    #[test]
    fn long_texts_without_a_statement_are_guessed() {
        for (label, text) in [
            ("windows-1251", "Съешь же ещё этих мягких французских булок, да выпей чаю. "),
            ("euc-jp", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
            ("gbk", "床前明月光，疑是地上霜。举头望明月，低头思故乡。"),
            ("windows-1252", "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. "),
        ] {
            let text = text.repeat(8);
            assert_eq!(decode(&encoded(label, &text), None).text, text, "{label}");
        }
    }
}
