//! Parsing of text that may be incomplete.

use super::{
    known::{Call, KnownTools},
    loose::{self, Fault},
};

/// Maximum length of a tool name, tag or token.
const LONGEST_NAME: usize = 100;
/// Maximum number of closing marks tried as the end of broken JSON.
const MOST_CLOSES: usize = 16;

/// Why parsing stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// No match, whatever follows.
    No,
    /// Undecided: more input is needed.
    Maybe,
}

pub(super) type Taken<T> = Result<T, Stop>;

/// The remaining text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'t> {
    pub text: &'t str,
    /// Whether the text is complete.
    pub ended: bool,
    /// Whether it was cut off at a length limit; then open forms must not be closed by guessing.
    pub cut: bool,
}

impl<'t> Input<'t> {
    /// Needs more input; no match if there is none.
    pub fn wait<T>(&self) -> Taken<T> {
        Err(if self.ended { Stop::No } else { Stop::Maybe })
    }

    /// Skips so many bytes.
    pub fn skip(&mut self, bytes: usize) {
        self.text = self.text.get(bytes..).unwrap_or_default();
    }

    /// Matches exactly this text.
    pub fn lit(&mut self, lit: &str) -> Taken<()> {
        match self.text.strip_prefix(lit) {
            Some(rest) => {
                self.text = rest;
                Ok(())
            }
            None if lit.starts_with(self.text) => self.wait(),
            None => Err(Stop::No),
        }
    }

    /// Matches this text if present; undecided while it may still follow.
    pub fn opt(&mut self, lit: &str) -> Taken<bool> {
        match self.lit(lit) {
            Ok(()) => Ok(true),
            Err(Stop::No) => Ok(false),
            Err(Stop::Maybe) => Err(Stop::Maybe),
        }
    }

    /// Skips whitespace.
    pub fn space(&mut self) {
        self.text = self.text.trim_start();
    }

    /// The next character, not consumed.
    pub fn peek(&self) -> Taken<char> {
        self.text.chars().next().map_or_else(|| self.wait(), Ok)
    }

    /// The text before `lit`, which is consumed too; within `most` bytes.
    pub fn until(&mut self, lit: &str, most: usize) -> Taken<&'t str> {
        match self.text.find(lit) {
            Some(at) if at <= most => {
                let before = &self.text[..at];
                self.skip(at + lit.len());
                Ok(before)
            }
            None if self.text.len() <= most + lit.len() => self.wait(),
            _ => Err(Stop::No),
        }
    }

    /// A name: letters, digits and `_ . : -`.
    pub fn name(&mut self) -> Taken<&'t str> {
        let text = self.text;
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | ':' | '-' | '/'));
        match end.unwrap_or(text.len()) {
            0 if !text.is_empty() => Err(Stop::No),
            end if end > LONGEST_NAME => Err(Stop::No),
            end if end == text.len() && !self.ended => Err(Stop::Maybe),
            0 => Err(Stop::No),
            end => {
                self.skip(end);
                Ok(&text[..end])
            }
        }
    }

    /// A special token such as `<|python_tag|>` or `<｜tool▁sep｜>`, normalized to lower-case ASCII.
    pub fn token(&mut self) -> Taken<String> {
        self.lit("<")?;
        if !["|", "｜"].iter().any(|bar| self.text.starts_with(bar)) {
            return if self.text.is_empty() { self.wait() } else { Err(Stop::No) };
        }
        let text = self.text;
        let inner = text.trim_start_matches(['|', '｜']);
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '▁' | '/' | ' '));
        match end {
            None if inner.len() > LONGEST_NAME => Err(Stop::No),
            None => self.wait(),
            Some(end) => {
                let mut rest = Input { text: &inner[end..], ..*self };
                if !["|", "｜"].iter().any(|bar| rest.text.starts_with(bar)) {
                    return Err(Stop::No);
                }
                rest.text = rest.text.trim_start_matches(['|', '｜']);
                rest.lit(">")?;
                self.text = rest.text;
                Ok(inner[..end].to_ascii_lowercase().replace(['▁', ' '], "_"))
            }
        }
    }

    /// The next special token and the text before it.
    pub fn until_token(&mut self, most: usize) -> Taken<(&'t str, String)> {
        let text = self.text;
        for (at, _) in text.match_indices('<') {
            if at > most {
                return Err(Stop::No);
            }
            let mut here = Input { text: &text[at..], ..*self };
            match here.token() {
                Ok(token) => {
                    self.text = here.text;
                    return Ok((&text[..at], token));
                }
                Err(Stop::Maybe) => return Err(Stop::Maybe),
                Err(Stop::No) => {}
            }
        }
        if text.len() > most { Err(Stop::No) } else { self.wait() }
    }

    /// JSON arguments; broken JSON ends at one of `closes`. Arguments beyond repair are returned as written.
    pub fn arguments(&mut self, known: &KnownTools, name: &str, closes: &[&str]) -> Taken<Call> {
        match loose::value(self.text) {
            Ok((value, len)) => {
                self.skip(len);
                self.over()?;
                Ok(known.call(name, value))
            }
            Err(_) => {
                let body = self.broken(closes)?;
                let mended = loose::closed(body).filter(|_| !(self.cut && self.text.is_empty()));
                Ok(mended.map_or_else(
                    || Call { name: name.to_owned(), arguments: body.trim().to_owned() },
                    |value| known.call(name, value),
                ))
            }
        }
    }

    /// Skips surplus brackets: one too many is as common as one too few.
    pub fn over(&mut self) -> Taken<()> {
        self.text = self.text.trim_start_matches('}');
        if self.text.is_empty() && !self.ended { Err(Stop::Maybe) } else { Ok(()) }
    }

    /// The text of broken JSON: up to the first of `closes` outside its strings, which is not consumed; or all of it
    /// if the text is complete.
    pub fn broken(&mut self, closes: &[&str]) -> Taken<&'t str> {
        let text = self.text;
        let mut ends: Vec<usize> =
            closes.iter().flat_map(|close| text.match_indices(close)).map(|(at, _)| at).collect();
        ends.sort_unstable();
        let amid_string = |at: usize| loose::value(&text[..at]) == Err(Fault::Short { in_string: true });
        let end = ends.iter().copied().take(MOST_CLOSES).find(|at| !amid_string(*at));
        // A missing quotation mark makes a string of everything after it.
        let end = end.or_else(|| ends.first().copied().filter(|_| self.ended));
        match end {
            Some(end) => {
                self.skip(end);
                Ok(&text[..end])
            }
            None if self.ended => {
                self.text = "";
                Ok(text)
            }
            None => Err(Stop::Maybe),
        }
    }
}
