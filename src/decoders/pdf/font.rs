//! Fonts of a PDF file, as far as text needs them: which text each code is, and how wide it is.

use super::{
    cmap::{self, Cmap},
    names::{self, Base},
};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream};
use std::collections::HashMap;

/// The most widths of a font.
const WIDTHS: usize = 100_000;
/// Widths of the letters from 32 on, in fonts that every reader has: files leave them out.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];
const TIMES: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500,
    500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889,
    722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500,
    444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480,
    200, 480, 541,
];

/// A font.
#[derive(Debug, Default)]
pub(super) struct Font {
    /// How codes are cut off strings; none for fonts with codes of one byte.
    codes: Option<Cmap>,
    /// Whether codes are UTF-16 themselves.
    is_utf16: bool,
    text: HashMap<u32, String>,
    widths: HashMap<u32, f32>,
    default_width: f32,
    /// From units of the font to those of text.
    scale: f32,
    pub is_bold: bool,
}

/// A code of a string.
#[derive(Debug, PartialEq)]
pub(super) struct Code<'a> {
    /// Empty where it is not known.
    pub text: std::borrow::Cow<'a, str>,
    /// In units of text, for a size of 1.
    pub width: f32,
    /// Whether it is the byte 32, at which words are spaced.
    pub is_space: bool,
}

impl Font {
    pub fn new(dict: &Dict<'_>) -> Self {
        let mut font = match dict.get::<Name<'_>>("Subtype").as_ref().map(Name::as_str) {
            Some("Type0") => Self::composite(dict),
            subtype => Self::simple(dict, subtype == Some("Type3")),
        };
        if let Some(stream) = dict.get::<Stream<'_>>("ToUnicode")
            && let Ok(bytes) = stream.decoded_data()
        {
            let cmap = Cmap::parse(&bytes);
            font.text.extend(cmap.text);
            // Some files have no other list of the lengths of codes.
            if let Some(codes) = font.codes.as_mut().filter(|codes| codes.spaces.is_empty()) {
                codes.spaces = cmap.spaces;
            }
        }
        font
    }

    fn simple(dict: &Dict<'_>, is_drawn: bool) -> Self {
        let name = dict.get::<Name<'_>>("BaseFont").map(|name| name.as_str().to_owned()).unwrap_or_default();
        let descriptor = dict.get::<Dict<'_>>("FontDescriptor");
        let flags = descriptor.as_ref().and_then(|d| d.get::<i32>("Flags")).unwrap_or(0);
        let is_true_type = dict.get::<Name<'_>>("Subtype").is_some_and(|subtype| subtype.as_str() == "TrueType");
        let usual = match () {
            () if name.contains("Dingbats") => Base::Signs,
            () if is_true_type && flags & 4 != 0 => Base::Windows,
            () => Base::Standard,
        };
        let mut text = HashMap::new();
        let encoding = dict.get::<Object<'_>>("Encoding");
        let (base, differences) = match encoding {
            Some(Object::Name(name)) => (base(name.as_str()), None),
            Some(Object::Dict(encoding)) => (
                encoding.get::<Name<'_>>("BaseEncoding").and_then(|name| base(name.as_str())),
                encoding.get::<Array<'_>>("Differences"),
            ),
            _ => (None, None),
        };
        let base = base.unwrap_or(usual);
        for code in 0..=u8::MAX {
            if let Some(c) = base.character(code) {
                text.insert(code.into(), expanded(c));
            }
        }
        if let Some(differences) = differences {
            differences_of(&differences, &mut text);
        }
        let mut widths = HashMap::new();
        let first = dict.get::<u32>("FirstChar").unwrap_or(0);
        match dict.get::<Array<'_>>("Widths") {
            Some(array) => {
                let found = array.iter::<f32>().take(256).zip(first..);
                widths.extend(found.map(|(width, code)| (code, width)));
            }
            None if name.contains("Courier") => {}
            None => {
                let known = if name.contains("Times") { &TIMES } else { &HELVETICA };
                widths.extend(known.iter().zip(32..).map(|(width, code)| (code, f32::from(*width))));
            }
        }
        let missing = descriptor.as_ref().and_then(|d| d.get::<f32>("MissingWidth")).filter(|width| *width > 0.0);
        let matrix = dict.get::<Array<'_>>("FontMatrix").and_then(|matrix| matrix.iter::<f32>().next());
        let scale = matrix.filter(|scale| is_drawn && *scale != 0.0).unwrap_or(0.001);
        Self {
            text,
            widths,
            default_width: missing.unwrap_or(if name.contains("Courier") { 600.0 } else { 500.0 }),
            scale,
            is_bold: is_bold(&name, flags),
            ..Self::default()
        }
    }

    fn composite(dict: &Dict<'_>) -> Self {
        let mut font = Self { default_width: 1000.0, scale: 0.001, ..Self::default() };
        let mut codes = Cmap::default();
        match dict.get::<Object<'_>>("Encoding") {
            Some(Object::Stream(stream)) => {
                if let Ok(bytes) = stream.decoded_data() {
                    codes = Cmap::parse(&bytes);
                }
            }
            Some(Object::Name(name)) => {
                font.is_utf16 = name.as_str().contains("UCS2") || name.as_str().contains("UTF16");
                codes.spaces.push((2, 0, 0xFFFF));
            }
            _ => {}
        }
        font.codes = Some(codes);
        let Some(descendant) = dict.get::<Array<'_>>("DescendantFonts").and_then(|all| all.iter::<Dict<'_>>().next())
        else {
            return font;
        };
        font.default_width = descendant.get::<f32>("DW").unwrap_or(1000.0);
        if let Some(widths) = descendant.get::<Array<'_>>("W") {
            composite_widths(&widths, &mut font.widths);
        }
        let name = dict.get::<Name<'_>>("BaseFont").map(|name| name.as_str().to_owned()).unwrap_or_default();
        let flags = descendant.get::<Dict<'_>>("FontDescriptor").and_then(|d| d.get::<i32>("Flags")).unwrap_or(0);
        font.is_bold = is_bold(&name, flags);
        font
    }

    /// The next code of a string, and how many bytes it has. The string is not empty.
    pub fn next<'a>(&'a self, bytes: &[u8]) -> (Code<'a>, usize) {
        let (code, length) = match &self.codes {
            None => (bytes.first().copied().unwrap_or_default().into(), 1),
            Some(codes) => codes.next_code(bytes),
        };
        let glyph = self.codes.as_ref().and_then(|codes| codes.glyph(code)).unwrap_or(code);
        let width = self.widths.get(&glyph).copied().unwrap_or(self.default_width) * self.scale;
        let text = match self.text.get(&code) {
            Some(text) => text.as_str().into(),
            None if self.is_utf16 => cmap::utf16(&bytes[..length.min(bytes.len())]).into(),
            None => "".into(),
        };
        (Code { text, width, is_space: length == 1 && code == 32 }, length)
    }
}

fn base(name: &str) -> Option<Base> {
    match name {
        "WinAnsiEncoding" => Some(Base::Windows),
        "MacRomanEncoding" => Some(Base::Macintosh),
        "StandardEncoding" => Some(Base::Standard),
        _ => None,
    }
}

fn is_bold(name: &str, flags: i32) -> bool {
    let name = name.to_lowercase();
    name.contains("bold") || name.contains("black") || name.contains("heavy") || flags & 0x4_0000 != 0
}

/// A character, with ligatures as the letters they stand for.
fn expanded(c: char) -> String {
    match c {
        'ﬀ' => "ff".into(),
        'ﬁ' => "fi".into(),
        'ﬂ' => "fl".into(),
        'ﬃ' => "ffi".into(),
        'ﬄ' => "ffl".into(),
        '\u{a0}' | '\u{ad}' => {
            if c == '\u{a0}' {
                " ".into()
            } else {
                "-".into()
            }
        }
        c => c.into(),
    }
}

fn differences_of(array: &Array<'_>, text: &mut HashMap<u32, String>) {
    let mut code = 0_u32;
    for item in array.iter::<Object<'_>>().take(2000) {
        match item {
            Object::Name(name) => {
                match names::of_glyph(name.as_str()) {
                    Some(found) => text.insert(code, found.chars().map(expanded).collect()),
                    None => text.remove(&code),
                };
                code = code.saturating_add(1);
            }
            Object::Number(number) => code = u32::try_from(number.as_i64()).unwrap_or(0),
            _ => {}
        }
    }
}

/// `5 [500 600]` for single ones, `7 9 500` for several of one width.
fn composite_widths(array: &Array<'_>, widths: &mut HashMap<u32, f32>) {
    let mut items = array.iter::<Object<'_>>();
    while let Some(first) = items.next().and_then(Object::into_number) {
        let Ok(first) = u32::try_from(first.as_i64()) else { return };
        match items.next() {
            Some(Object::Array(list)) => {
                widths.extend(list.iter::<f32>().take(WIDTHS).zip(first..).map(|(width, glyph)| (glyph, width)));
            }
            Some(Object::Number(last)) => {
                let Some(width) = items.next().and_then(Object::into_f32) else { return };
                let last = u32::try_from(last.as_i64()).unwrap_or(0).min(first.saturating_add(0xFFFF));
                widths.extend((first..=last).map(|glyph| (glyph, width)));
            }
            _ => return,
        }
        if widths.len() > WIDTHS {
            return;
        }
    }
}
