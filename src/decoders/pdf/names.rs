//! Characters of simple fonts: by the names of their glyphs, and by the encodings that PDF defines.

use crate::text::windows;
use std::{collections::HashMap, sync::OnceLock};

/// Names and code points, from Adobe's list of glyph names: Latin, Greek, punctuation and mathematics.
const GLYPHS: &str = include_str!("glyphs.txt");

/// The upper half of Adobe's standard encoding, from A1 on.
const STANDARD: &str = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\u{fffd}–†‡·\u{fffd}¶•‚„”»…‰\u{fffd}¿\u{fffd}`´ˆ˜¯˘˙¨\u{fffd}˚¸\u{fffd}˝˛ˇ—\
\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
Æ\u{fffd}ª\u{fffd}\u{fffd}\u{fffd}\u{fffd}ŁØŒº\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}æ\u{fffd}\u{fffd}\u{fffd}ı\u{fffd}\u{fffd}łøœß";
/// The upper half of that of the Macintosh, from 80 on.
const MACINTOSH: &str = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\
\u{fffd}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";

/// An encoding that PDF defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Standard,
    Windows,
    Macintosh,
    /// Signs in place of letters: all that is known of them is that they are signs.
    Signs,
}

impl Base {
    /// The character of a code; nothing for codes without one.
    pub fn character(self, code: u8) -> Option<char> {
        let found = match (self, code) {
            (Self::Signs, 0x21..) => Some('•'),
            (Self::Standard, 0x27) => Some('’'),
            (Self::Standard, 0x60) => Some('‘'),
            (_, 0x20..=0x7E) => Some(char::from(code)),
            (Self::Standard, 0xA1..) => STANDARD.chars().nth(usize::from(code) - 0xA1),
            (Self::Windows, code) => Some(windows(code)),
            (Self::Macintosh, 0x80..) => MACINTOSH.chars().nth(usize::from(code) - 0x80),
            _ => None,
        };
        found.filter(|c| *c != '\u{fffd}' && !c.is_control())
    }
}

/// The text of a glyph by its name: `Adieresis`, `uni0416`, `u1F600`, `f_i`, `a.alt`.
pub(super) fn of_glyph(name: &str) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    if name.contains('_') {
        return name.split('_').take(8).map(of_glyph).collect();
    }
    if let Some(c) = glyphs().get(name) {
        // The letters, and not the units and signs that look like them.
        return Some(String::from(match c {
            '\u{2126}' => 'Ω',
            '\u{2206}' => 'Δ',
            c => *c,
        }));
    }
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    if let Some(digits) = name.strip_prefix("uni")
        && digits.len() >= 4
        && digits.is_ascii()
    {
        return digits.as_bytes().chunks_exact(4).map(|four| str::from_utf8(four).ok().and_then(hex)).collect();
    }
    if let Some(digits) = name.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len())) {
        return hex(digits).map(String::from);
    }
    name.strip_prefix("afii100").and_then(|digits| digits.parse().ok()).and_then(cyrillic).map(String::from)
}

/// Letters that were numbered in the order of their alphabet.
fn cyrillic(number: u32) -> Option<char> {
    let letter = |first: u32, at: u32| match at {
        0..=5 => char::from_u32(first + at),
        6 => Some(if first == 0x410 { 'Ё' } else { 'ё' }),
        7..=32 => char::from_u32(first + at - 1),
        _ => None,
    };
    match number {
        17..=49 => letter(0x410, number - 17),
        65..=97 => letter(0x430, number - 65),
        _ => None,
    }
}

fn glyphs() -> &'static HashMap<&'static str, char> {
    static ALL: OnceLock<HashMap<&'static str, char>> = OnceLock::new();
    ALL.get_or_init(|| {
        let pairs = GLYPHS.lines().flat_map(|line| line.split("; ")).filter_map(|pair| pair.split_once(' '));
        pairs.filter_map(|(name, hex)| Some((name, char::from_u32(u32::from_str_radix(hex, 16).ok()?)?))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_have_their_characters() {
        for (name, expected) in [
            ("Adieresis", Some("Ä")),
            ("ogonek", Some("˛")),
            ("Omega", Some("Ω")),
            ("uni0416", Some("Ж")),
            ("uni00660069", Some("fi")),
            ("u1F600", Some("😀")),
            ("f_i.liga", Some("fi")),
            ("afii10023", Some("Ё")),
            ("afii10097", Some("я")),
            ("g123", None),
            ("", None),
            ("uniD800", None),
        ] {
            assert_eq!(of_glyph(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn encodings_have_their_characters() {
        for (base, code, expected) in [
            (Base::Standard, 0xFB, Some('ß')),
            (Base::Standard, 0xAE, Some('ﬁ')),
            (Base::Standard, 0xE1, Some('Æ')),
            (Base::Windows, 0x80, Some('€')),
            (Base::Windows, 0xFC, Some('ü')),
            (Base::Macintosh, 0x9F, Some('ü')),
            (Base::Macintosh, 0xFF, Some('ˇ')),
            (Base::Macintosh, 0xF0, None),
            (Base::Standard, 0x80, None),
        ] {
            assert_eq!(base.character(code), expected, "{base:?} {code:x}");
        }
    }
}
