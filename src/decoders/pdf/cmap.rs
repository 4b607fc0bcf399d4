//! CMaps: which codes a font has, and what text or glyph each of them is.

use std::collections::HashMap;

/// The most entries, and the most of one range.
const ENTRIES: usize = 100_000;
const RANGE: u32 = 0xFFFF;
/// The longest text of one code, in bytes of UTF-16.
const LONGEST: usize = 64;

/// What a CMap says.
#[derive(Debug, Default)]
pub(super) struct Cmap {
    /// Texts of codes.
    pub text: HashMap<u32, String>,
    /// Glyphs: the first and last code, and the glyph of the first.
    pub glyphs: Vec<(u32, u32, u32)>,
    /// Bytes of a code, with the first and last code of that length.
    pub spaces: Vec<(usize, u32, u32)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    Hex(Vec<u8>),
    Number(i64),
    Open,
    Close,
    Word(&'a [u8]),
}

impl Cmap {
    /// Reads what can be read.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut cmap = Self::default();
        let mut operands: Vec<Token> = vec![];
        for token in (Tokens { bytes, at: 0 }) {
            if let Token::Word(word) = token {
                match word {
                    b"endcodespacerange" => cmap.space(&operands),
                    b"endbfchar" => cmap.characters(&operands),
                    b"endbfrange" => cmap.ranges(&operands),
                    b"endcidchar" => cmap.glyph_characters(&operands),
                    b"endcidrange" => cmap.glyph_ranges(&operands),
                    _ => {}
                }
                operands.clear();
            } else if operands.len() < ENTRIES {
                operands.push(token);
            }
        }
        cmap
    }

    /// The glyph of a code.
    pub fn glyph(&self, code: u32) -> Option<u32> {
        let range = self.glyphs.iter().find(|(first, last, _)| (*first..=*last).contains(&code));
        range.and_then(|(first, _, glyph)| glyph.checked_add(code - first))
    }

    /// Takes the next code off the front of a string: its value and length. The string is not empty.
    pub fn next_code(&self, bytes: &[u8]) -> (u32, usize) {
        for length in 1..=4.min(bytes.len()) {
            let code = number(&bytes[..length]);
            if self.spaces.iter().any(|(size, first, last)| *size == length && (*first..=*last).contains(&code)) {
                return (code, length);
            }
        }
        let length = self.spaces.iter().map(|space| space.0).min().unwrap_or(2).clamp(1, bytes.len().max(1));
        (number(&bytes[..length.min(bytes.len())]), length)
    }

    fn space(&mut self, operands: &[Token]) {
        for pair in operands.chunks_exact(2) {
            if let [Token::Hex(first), Token::Hex(last)] = pair
                && (1..=4).contains(&first.len())
                && self.spaces.len() < 100
            {
                self.spaces.push((first.len(), number(first), number(last)));
            }
        }
    }

    fn add(&mut self, code: u32, text: String) {
        if self.text.len() < ENTRIES && !text.is_empty() {
            self.text.insert(code, text);
        }
    }

    fn characters(&mut self, operands: &[Token]) {
        for pair in operands.chunks_exact(2) {
            if let [Token::Hex(code), Token::Hex(text)] = pair {
                self.add(number(code), utf16(text));
            }
        }
    }

    fn ranges(&mut self, operands: &[Token]) {
        let mut rest = operands;
        while let [Token::Hex(first), Token::Hex(last), target, tail @ ..] = rest {
            let (first, last) = (number(first), number(last));
            rest = tail;
            if *target == Token::Open {
                let mut code = first;
                while let [token, tail @ ..] = rest {
                    rest = tail;
                    match token {
                        Token::Hex(text) if code <= last => self.add(code, utf16(text)),
                        Token::Close => break,
                        _ => {}
                    }
                    code = code.saturating_add(1);
                }
            } else if let Token::Hex(text) = target {
                let mut text = text.clone();
                for code in first..=last.min(first.saturating_add(RANGE)) {
                    if self.text.len() >= ENTRIES {
                        break;
                    }
                    self.add(code, utf16(&text));
                    increment(&mut text);
                }
            }
        }
    }

    fn glyph_characters(&mut self, operands: &[Token]) {
        for pair in operands.chunks_exact(2) {
            if let [Token::Hex(code), Token::Number(glyph)] = pair {
                let code = number(code);
                self.add_glyphs(code, code, *glyph);
            }
        }
    }

    fn glyph_ranges(&mut self, operands: &[Token]) {
        for three in operands.chunks_exact(3) {
            if let [Token::Hex(first), Token::Hex(last), Token::Number(glyph)] = three {
                self.add_glyphs(number(first), number(last), *glyph);
            }
        }
    }

    fn add_glyphs(&mut self, first: u32, last: u32, glyph: i64) {
        if let Ok(glyph) = u32::try_from(glyph)
            && self.glyphs.len() < 10_000
        {
            self.glyphs.push((first, last, glyph));
        }
    }
}

/// The next of a text, in its last character.
fn increment(text: &mut [u8]) {
    for byte in text.iter_mut().rev().take(2) {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
}

/// A code of at most four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

pub(super) fn utf16(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    if let [byte] = bytes {
        return char::from(*byte).to_string();
    }
    let units = bytes.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    char::decode_utf16(units).flatten().filter(|c| *c != '\0').collect()
}

struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            let from = self.at;
            self.at += 1;
            match byte {
                b'%' => self.skip(|byte| !matches!(byte, b'\n' | b'\r')),
                b'[' => return Some(Token::Open),
                b']' => return Some(Token::Close),
                b'<' if self.bytes.get(self.at) == Some(&b'<') => self.at += 1,
                b'<' => {
                    self.skip(|byte| byte != b'>');
                    let digits = self.bytes[from + 1..self.at].iter().filter_map(|byte| char::from(*byte).to_digit(16));
                    let digits: Vec<u8> = digits.filter_map(|digit| u8::try_from(digit).ok()).collect();
                    self.at += 1;
                    return Some(Token::Hex(
                        digits.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)).collect(),
                    ));
                }
                byte if byte.is_ascii_digit() || matches!(byte, b'-' | b'+') => {
                    self.skip(|byte| byte.is_ascii_digit() || byte == b'.');
                    let text = str::from_utf8(&self.bytes[from..self.at]).unwrap_or_default();
                    return Some(Token::Number(text.parse().unwrap_or_default()));
                }
                byte if byte.is_ascii_alphabetic() => {
                    self.skip(|byte| byte.is_ascii_alphanumeric());
                    return Some(Token::Word(&self.bytes[from..self.at]));
                }
                // Names and strings are not needed; white space is skipped.
                b'/' => self.skip(|byte| !byte.is_ascii_whitespace() && !b"/<>[]()".contains(&byte)),
                _ => {}
            }
        }
    }
}

impl Tokens<'_> {
    fn skip(&mut self, holds: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|byte| holds(*byte)) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_glyphs_are_read() {
        let cmap = Cmap::parse(
            b"/CIDInit /ProcSet findresource begin\n1 begincodespacerange <00> <7F> <8000> <FFFF> endcodespacerange\n\
            2 beginbfchar <01> <0041> <8002> <00660069> endbfchar\n\
            2 beginbfrange <10> <12> <0061> <20> <21> [<0031> <0032>] endbfrange\n\
            1 begincidrange <8000> <8010> 5 endcidrange 1 begincidchar <9000> 77 endcidchar",
        );
        let text = |code| cmap.text.get(&code).map(String::as_str);
        assert_eq!(
            [text(1), text(0x8002), text(0x12), text(0x21), text(9)],
            [Some("A"), Some("fi"), Some("c"), Some("2"), None]
        );
        assert_eq!([cmap.glyph(0x8003), cmap.glyph(0x9000), cmap.glyph(1)], [Some(8), Some(77), None]);
        assert_eq!([cmap.next_code(b"\x01\x02"), cmap.next_code(b"\x80\x02")], [(1, 1), (0x8002, 2)]);
    }

    #[test]
    fn hostile_ranges_end() {
        let wide = "<00000000> <FFFFFFFF> <0041> ".repeat(50);
        let cmap = Cmap::parse(format!("1 beginbfrange {wide} endbfrange").as_bytes());
        assert!(cmap.text.len() <= ENTRIES);
        for odd in [&b"<"[..], b"1 beginbfrange <00> endbfrange", b"[[[", b"<zz> <1> endbfchar", b"endcidrange"] {
            let _ = Cmap::parse(odd);
        }
        assert_eq!(Cmap::default().next_code(b"\x01"), (1, 1));
    }
}
