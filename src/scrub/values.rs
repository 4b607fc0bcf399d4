//! Detect registered values and their encoded forms.

use crate::{MARK, Span};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::collections::BTreeSet;

/// The minimum length of a value: shorter ones would remove ordinary words.
const MIN_LENGTH: usize = 4;
/// From this length on, a value also matches inside words.
const MIN_INSIDE_WORDS: usize = 8;
/// The length of a form inside the automaton; the rest is compared. It bounds the memory of long keys.
const AUTOMATON_PREFIX: usize = 24;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The trimmed value; `None` if it is too short, or part of its own replacement.
pub fn normalize(value: &str) -> Option<String> {
    let value = value.trim();
    (value.chars().take(MIN_LENGTH).count() == MIN_LENGTH && !MARK.contains(value)).then(|| value.to_owned())
}

/// One encoded form of a value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    text: String,
    /// Matches as a whole word only.
    word: bool,
    /// Base64: the character before contains bits of the value too.
    lead: bool,
    /// Base64: the character after contains bits of the value too, and padding follows.
    tail: bool,
}

/// Finds all forms of all values in one pass.
pub struct Finder {
    forms: Vec<Form>,
    /// `None` if there is nothing to find, or if there are too many forms for an automaton: then each form is
    /// searched for separately.
    automaton: Option<AhoCorasick>,
}

impl Finder {
    pub fn new<'a>(values: impl Iterator<Item = &'a String>) -> Self {
        let mut forms = BTreeSet::new();
        values.for_each(|value| add_forms(value, &mut forms));
        let forms: Vec<Form> = forms.into_iter().collect();
        let heads =
            forms.iter().map(|form| form.text.as_bytes().get(..AUTOMATON_PREFIX).unwrap_or(form.text.as_bytes()));
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(heads).ok();
        let automaton = automaton.filter(|_| !forms.is_empty());
        Self { forms, automaton }
    }

    /// Append every match of every form, overlapping ones too.
    pub fn find(&self, text: &str, found: &mut Vec<Span>) {
        match &self.automaton {
            Some(automaton) => {
                for hit in automaton.find_overlapping_iter(text) {
                    let form = self.forms.get(hit.pattern().as_usize());
                    let whole = form.filter(|f| {
                        text.as_bytes().get(hit.start()..).is_some_and(|t| t.starts_with(f.text.as_bytes()))
                    });
                    found.extend(whole.and_then(|form| form.at(text, hit.start())));
                }
            }
            None => {
                for form in &self.forms {
                    found.extend(text.match_indices(&form.text).filter_map(|(at, _)| form.at(text, at)));
                }
            }
        }
    }
}

impl Form {
    fn at(&self, text: &str, start: usize) -> Option<Span> {
        let mut span = start..start + self.text.len();
        let bytes = text.as_bytes();
        if self.word && (inside_word(text, span.start) || inside_word(text, span.end)) {
            return None;
        }
        let has = |at: usize| bytes.get(at).is_some_and(|b| STANDARD.contains(b) || URL_SAFE.contains(b));
        span.start -= usize::from(self.lead && span.start > 0 && has(span.start - 1));
        if self.tail {
            span.end += usize::from(has(span.end) && !self.word);
            span.end += bytes.get(span.end..).unwrap_or_default().iter().take(2).take_while(|b| **b == b'=').count();
        }
        Some(span)
    }
}

/// Whether the characters on both sides belong to one word.
fn inside_word(text: &str, at: usize) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (Some(before), Some(after)) = (text.get(..at), text.get(at..)) else { return true };
    word(before.chars().next_back()) && word(after.chars().next())
}

/// Insert all encoded forms of `value`.
fn add_forms(value: &str, forms: &mut BTreeSet<Form>) {
    let word = value.chars().take(MIN_INSIDE_WORDS).count() < MIN_INSIDE_WORDS;
    let mut insert = |text: String, lead: bool, tail: bool| {
        forms.insert(Form { text, word, lead, tail });
    };
    let hex =
        |upper: bool| value.bytes().map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect();
    // The same bytes encode differently at each of three offsets; short values are encoded at offset 0 only.
    for (table, offset) in [STANDARD, URL_SAFE].into_iter().flat_map(|table| [(table, 0), (table, 1), (table, 2)]) {
        if offset == 0 || !word {
            let text = base64(value.as_bytes(), table, offset, word);
            insert(text, offset > 0, !(offset + value.len()).is_multiple_of(3));
        }
    }
    let mut add = |text: String| insert(text, false, false);
    add(hex(false));
    add(hex(true));
    for safe in ["-._~", "-._~!'()*", "-._~:/?#[]@!$&'()*+,;="] {
        add(percent(value, safe, true, "%20"));
        add(percent(value, safe, false, "%20"));
    }
    add(percent(value, "-._*", true, "+"));
    let json = serde_json::Value::from(value).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default();
    add(json.to_owned());
    add(json.replace('/', "\\/"));
    add(ascii(json));
    let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    add(html.replace('\'', "&#39;"));
    add(html.replace('\'', "&#x27;"));
    add(value.to_owned());
}

/// Unpadded base64 of `value` after `offset` other bytes: only the characters that depend on the value alone, or all
/// of them for a `whole` match.
fn base64(value: &[u8], table: &[u8; 64], offset: usize, whole: bool) -> String {
    let bit =
        |n: usize| n.checked_sub(8 * offset).and_then(|n| Some(value.get(n / 8)? >> (7 - n % 8) & 1)).unwrap_or(0);
    let (from, to) = ((8 * offset).div_ceil(6), 8 * (offset + value.len()));
    let to = if whole { to.div_ceil(6) } else { to / 6 };
    let sign = |at: usize| (0..6).fold(0, |sum, n| sum << 1 | usize::from(bit(6 * at + n)));
    (from..to).filter_map(|at| table.get(sign(at))).map(|b| char::from(*b)).collect()
}

/// Percent-encode all but letters, digits and the `safe` characters.
fn percent(value: &str, safe: &str, upper: bool, space: &str) -> String {
    let one = |b: u8| match b {
        b' ' => space.to_owned(),
        b if b.is_ascii_alphanumeric() || safe.as_bytes().contains(&b) => char::from(b).to_string(),
        b if upper => format!("%{b:02X}"),
        b => format!("%{b:02x}"),
    };
    value.bytes().map(one).collect()
}

/// JSON with non-ASCII characters escaped, as Python writes it.
fn ascii(json: &str) -> String {
    let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect::<String>();
    json.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect()
}

#[cfg(test)]
impl Finder {
    /// Simulate too many forms for an automaton.
    pub fn forget_automaton(&mut self) {
        self.automaton = None;
    }
}
