//! What an IMAP server answers: tokens of a response, in a flat list.

use std::borrow::Cow;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Open,
    Close,
    /// A word, such as `FETCH`, `12` or `BODY[HEADER.FIELDS (FROM)]`.
    Atom(String),
    /// A quoted text or a literal.
    Text(Vec<u8>),
}

impl Token {
    /// The text of a word, quoted text or literal.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Token::Atom(word) => Cow::Borrowed(word),
            Token::Text(bytes) => String::from_utf8_lossy(bytes),
            Token::Open | Token::Close => Cow::Borrowed(""),
        }
    }

    pub fn is(&self, word: &str) -> bool {
        matches!(self, Token::Atom(atom) if atom.eq_ignore_ascii_case(word))
    }

    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Token::Atom(word) => word.parse().ok(),
            _ => None,
        }
    }
}

/// The tokens of a response. `pieces` are its lines, each followed by the literal that it announces, except the last.
pub(crate) fn tokens(pieces: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Vec<Token> {
    let mut all = vec![];
    for (line, literal) in pieces {
        let end = literal.as_ref().and_then(|_| announcement(&line)).map_or(line.len(), |found| found.0);
        words(&line[..end], &mut all);
        all.extend(literal.map(Token::Text));
    }
    all
}

/// Where the announcement of a literal begins at the end of a line, and its size: `… {42}`.
pub(crate) fn announcement(line: &[u8]) -> Option<(usize, u64)> {
    let inner = line.strip_suffix(b"}")?;
    let open = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&inner[open + 1..]).ok()?;
    let digits = digits.strip_suffix('+').unwrap_or(digits);
    let fits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // A number too large for any type is more than may come, too.
    fits.then(|| (open, digits.parse().unwrap_or(u64::MAX)))
}

fn words(line: &[u8], all: &mut Vec<Token>) {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' => at += 1,
            b'(' => {
                all.push(Token::Open);
                at += 1;
            }
            b')' => {
                all.push(Token::Close);
                at += 1;
            }
            b'"' => {
                let mut text = vec![];
                at += 1;
                while let Some(byte) = line.get(at).filter(|byte| **byte != b'"') {
                    let escaped = *byte == b'\\' && at + 1 < line.len();
                    text.push(line[at + usize::from(escaped)]);
                    at += 1 + usize::from(escaped);
                }
                at += 1;
                all.push(Token::Text(text));
            }
            _ => {
                let start = at;
                let mut inside = false;
                while let Some(byte) = line.get(at) {
                    match byte {
                        b'[' => inside = true,
                        b']' => inside = false,
                        b' ' | b'(' | b')' | b'"' if !inside => break,
                        _ => {}
                    }
                    at += 1;
                }
                all.push(Token::Atom(String::from_utf8_lossy(&line[start..at]).into_owned()));
            }
        }
    }
}

/// A message as FETCH describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// Its number in its folder, which never changes.
    pub uid: u32,
    /// Whether it was read.
    pub seen: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Its bytes, or those of its headers.
    pub bytes: Vec<u8>,
}

/// Reads `12 FETCH (UID 5 FLAGS (\Seen) …)`; `None` for anything else, and for notes about flags without a UID.
pub(crate) fn fetched(tokens: &mut [Token]) -> Option<Fetched> {
    if !tokens.get(1)?.is("FETCH") || tokens.get(2)? != &Token::Open {
        return None;
    }
    let (mut found, mut has_uid, mut at) = (Fetched::default(), false, 3);
    while let Some(Token::Atom(key)) = tokens.get(at) {
        let key = key.to_ascii_uppercase();
        at += 1;
        let start = at;
        let mut depth = 0usize;
        loop {
            match tokens.get(at)? {
                Token::Open => depth += 1,
                Token::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        match key.as_str() {
            "UID" => {
                found.uid = tokens[start].number()?;
                has_uid = true;
            }
            "RFC822.SIZE" => found.size = tokens[start].number().unwrap_or_default(),
            "FLAGS" => found.seen = tokens[start..at].iter().any(|flag| flag.is("\\Seen")),
            key if key.starts_with("BODY[") => {
                if let Token::Text(bytes) = &mut tokens[start] {
                    found.bytes = std::mem::take(bytes);
                }
            }
            _ => {}
        }
    }
    has_uid.then_some(found)
}

/// The value of a response code in a text: `UIDVALIDITY` of `[UIDVALIDITY 17] UIDs valid`.
pub(crate) fn code<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (inner, _) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let (word, value) = inner.split_once(' ').unwrap_or((inner, ""));
    word.eq_ignore_ascii_case(name).then_some(value)
}

/// The largest numbers in `* SEARCH 3 5 8`, at most `most`, the largest first.
pub(crate) fn largest(line: &[u8], most: usize) -> (Vec<u32>, usize) {
    let numbers =
        line.split(|byte| *byte == b' ').filter_map(|word| std::str::from_utf8(word).ok()?.parse::<u32>().ok());
    let mut smallest_first = std::collections::BinaryHeap::new();
    let mut count = 0;
    for number in numbers {
        count += 1;
        smallest_first.push(std::cmp::Reverse(number));
        if smallest_first.len() > most {
            smallest_first.pop();
        }
    }
    let mut numbers: Vec<u32> = smallest_first.into_iter().map(|number| number.0).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.dedup();
    (numbers, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[(&str, Option<&str>)]) -> Vec<Token> {
        let bytes = |text: &str| text.as_bytes().to_vec();
        tokens(pieces.iter().map(|(line, literal)| (bytes(line), literal.map(bytes))).collect())
    }

    #[test]
    fn a_message_is_read() {
        let mut all = of(&[
            (
                "3 FETCH (UID 17 FLAGS (\\Seen $Junk) RFC822.SIZE 44 BODY[HEADER.FIELDS (FROM TO)]<0> {9}",
                Some("From: a\r\n"),
            ),
            (" INTERNALDATE \"17-Jul-1996 02:44:25 -0700\")", None),
        ]);
        let expected = Fetched { uid: 17, seen: true, size: 44, bytes: b"From: a\r\n".to_vec() };
        assert_eq!(fetched(&mut all), Some(expected));
        let mut quoted = of(&[("1 FETCH (BODY[] \"a\\\"b\" UID 2)", None)]);
        assert_eq!(fetched(&mut quoted).unwrap().bytes, b"a\"b");
    }

    #[test]
    fn odd_answers_are_no_message() {
        for line in [
            "3 FETCH (FLAGS (\\Seen))",
            "3 FETCH (UID x)",
            "3 FETCH (UID",
            "3 FETCH (FLAGS ((((",
            "3 FETCH (FLAGS )))",
            "3 EXISTS",
            "",
            "3 FETCH UID 3",
        ] {
            assert_eq!(fetched(&mut of(&[(line, None)])), None, "{line}");
        }
        let deep = format!("3 FETCH (X {}", "(".repeat(50_000));
        assert_eq!(fetched(&mut of(&[(&deep, None)])), None);
    }

    #[test]
    fn literals_are_announced_at_the_end() {
        for (line, expected) in [
            (&b"BODY[] {12}"[..], Some((7, 12))),
            (b"{3+}", Some((0, 3))),
            (b"x {99999999999999999999999}", Some((2, u64::MAX))),
            (b"x {}", None),
            (b"x {-1}", None),
            (b"x {1} ", None),
        ] {
            assert_eq!(announcement(line), expected, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn the_newest_hits_remain() {
        assert_eq!(largest(b"* SEARCH 3 900 5 5 12", 3), (vec![900, 12, 5], 5));
        assert_eq!(largest(b"* SEARCH", 3), (vec![], 0));
        assert_eq!(code("[UIDVALIDITY 17] ok", "uidvalidity"), Some("17"));
        assert_eq!(code("no code", "UIDVALIDITY"), None);
    }
}
