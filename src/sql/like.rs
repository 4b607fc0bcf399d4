//! LIKE and GLOB as SQLite has them, in a form that the deadline stops: on a text of megabytes one call takes seconds.

use memchr::memchr2;

/// The longest pattern, in bytes: the time grows with the product of the lengths of text and pattern.
const PATTERN_BYTES: usize = 256;
/// After how many steps the time is looked at.
const STEPS: usize = 1 << 16;

enum Token {
    /// Any characters, or none.
    Many,
    /// Any one character.
    One,
    Char(char),
    /// One character that is in one of the ranges, or with `false` in none.
    Set(bool, Vec<(char, char)>),
    Never,
}

/// A pattern of LIKE or of GLOB.
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    any_case: bool,
}

impl Pattern {
    /// `None` when it is too long.
    pub fn like(pattern: &str, escape: Option<char>) -> Option<Self> {
        let (mut rest, mut tokens) = (before_nul(pattern).chars(), vec![]);
        while let Some(c) = rest.next() {
            tokens.push(match c {
                c if Some(c) == escape => rest.next().map_or(Token::Never, Token::Char),
                '%' => Token::Many,
                '_' => Token::One,
                c => Token::Char(c),
            });
        }
        (pattern.len() <= PATTERN_BYTES).then_some(Self { tokens, any_case: true })
    }

    /// `None` when it is too long.
    pub fn glob(pattern: &str) -> Option<Self> {
        let (mut rest, mut tokens) = (before_nul(pattern).chars(), vec![]);
        while let Some(c) = rest.next() {
            tokens.push(match c {
                '*' => Token::Many,
                '?' => Token::One,
                '[' => set(&mut rest),
                c => Token::Char(c),
            });
        }
        (pattern.len() <= PATTERN_BYTES).then_some(Self { tokens, any_case: false })
    }

    /// Whether all of a text fits; `None` when `is_over` said so first.
    pub fn fits(&self, text: &str, is_over: impl Fn() -> bool) -> Option<bool> {
        let text = before_nul(text);
        let (mut token, mut at, mut steps) = (0, 0, 0);
        // The token after the last `Many`, and where the text that it takes began.
        let mut many: Option<(usize, usize)> = None;
        loop {
            steps += 1;
            if steps % STEPS == 0 && is_over() {
                return None;
            }
            let c = text[at..].chars().next();
            match (self.tokens.get(token), c) {
                (Some(Token::Many), _) => {
                    token += 1;
                    let Some(from) = self.seek(token, text, at) else { return Some(false) };
                    (at, many) = (from, Some((token, from)));
                }
                (None, None) => return Some(true),
                // A later beginning leaves even less of the text.
                (Some(_), None) => return Some(false),
                (Some(wanted), Some(c)) if self.takes(wanted, c) => (token, at) = (token + 1, at + c.len_utf8()),
                _ => {
                    let Some((after, from)) = many else { return Some(false) };
                    // Nothing after it: the rest is taken.
                    if after == self.tokens.len() {
                        return Some(true);
                    }
                    let from = from + text[from..].chars().next().map_or(0, char::len_utf8);
                    let Some(from) = self.seek(after, text, from) else { return Some(false) };
                    (token, at, many) = (after, from, Some((after, from)));
                }
            }
        }
    }

    /// Where the text may go on with a token, from `at` on.
    fn seek(&self, token: usize, text: &str, at: usize) -> Option<usize> {
        match self.tokens.get(token) {
            Some(Token::Char(c)) if c.is_ascii() => {
                let both = if self.any_case { [c.to_ascii_lowercase(), c.to_ascii_uppercase()] } else { [*c; 2] };
                memchr2(both[0] as u8, both[1] as u8, &text.as_bytes()[at..]).map(|found| at + found)
            }
            _ => Some(at),
        }
    }

    fn takes(&self, token: &Token, c: char) -> bool {
        match token {
            Token::Many | Token::Never => false,
            Token::One => true,
            Token::Char(own) if self.any_case => own.eq_ignore_ascii_case(&c),
            Token::Char(own) => *own == c,
            Token::Set(within, ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) == *within,
        }
    }
}

/// SQLite compares up to the first NUL.
fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// What follows `[` in a pattern of GLOB, up to `]`.
fn set(rest: &mut std::str::Chars) -> Token {
    let (mut ranges, mut before) = (vec![], None);
    let mut next = rest.next();
    let within = next != Some('^');
    if !within {
        next = rest.next();
    }
    if next == Some(']') {
        ranges.push((']', ']'));
        next = rest.next();
    }
    loop {
        match (next, before) {
            (None, _) => return Token::Never,
            (Some(']'), _) => return Token::Set(within, ranges),
            (Some('-'), Some(from)) if !rest.as_str().is_empty() && !rest.as_str().starts_with(']') => {
                ranges.extend(rest.next().map(|to| (from, to)));
                before = None;
            }
            (Some(c), _) => {
                ranges.push((c, c));
                before = Some(c);
            }
        }
        next = rest.next();
    }
}
