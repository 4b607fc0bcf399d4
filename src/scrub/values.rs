//! Secrets one knows by value: what is registered, and the other forms it is written in.

use crate::{MARK, Span};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::collections::BTreeSet;

/// A value of fewer characters is no secret anybody keeps; it would take ordinary words with it.
const LEAST: usize = 4;
/// From so many characters on, a value counts inside of words too.
const ANYWHERE: usize = 8;
/// How much of a form the automaton knows; the rest is compared. It keeps the memory of long keys small.
const HEAD: usize = 24;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The value as it is kept; none if it is too short, or if it is a piece of what replaces it.
pub fn fit(value: &str) -> Option<String> {
    let value = value.trim();
    (value.chars().take(LEAST).count() == LEAST && !MARK.contains(value)).then(|| value.to_owned())
}

/// One way a value is written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    text: String,
    /// Only as a word of its own.
    word: bool,
    /// Base64: the character before holds bits of the value too.
    lead: bool,
    /// The same of the character after it, and the padding follows.
    tail: bool,
}

/// Finds all forms of all values in one pass.
pub struct Finder {
    forms: Vec<Form>,
    /// None if there is nothing to find, or if there are more forms than an automaton can hold: then each is looked
    /// for by itself.
    automaton: Option<AhoCorasick>,
}

impl Finder {
    pub fn new<'a>(values: impl Iterator<Item = &'a String>) -> Self {
        let mut forms = BTreeSet::new();
        values.for_each(|value| write(value, &mut forms));
        let forms: Vec<Form> = forms.into_iter().collect();
        let heads = forms.iter().map(|form| form.text.as_bytes().get(..HEAD).unwrap_or(form.text.as_bytes()));
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(heads).ok();
        let automaton = automaton.filter(|_| !forms.is_empty());
        Self { forms, automaton }
    }

    /// Every place of every form, overlapping ones too.
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

/// All ways to write `value`.
fn write(value: &str, forms: &mut BTreeSet<Form>) {
    let word = value.chars().take(ANYWHERE).count() < ANYWHERE;
    let mut insert = |text: String, lead: bool, tail: bool| {
        forms.insert(Form { text, word, lead, tail });
    };
    let hex =
        |upper: bool| value.bytes().map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect();
    // The same bytes look different at each of three offsets; short values are looked for by themselves only.
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

/// Base64 without padding of `value` after `offset` other bytes: only the characters that the value decides alone,
/// unless it is to be found `whole`.
fn base64(value: &[u8], table: &[u8; 64], offset: usize, whole: bool) -> String {
    let bit =
        |n: usize| n.checked_sub(8 * offset).and_then(|n| Some(value.get(n / 8)? >> (7 - n % 8) & 1)).unwrap_or(0);
    let (from, to) = ((8 * offset).div_ceil(6), 8 * (offset + value.len()));
    let to = if whole { to.div_ceil(6) } else { to / 6 };
    let sign = |at: usize| (0..6).fold(0, |sum, n| sum << 1 | usize::from(bit(6 * at + n)));
    (from..to).filter_map(|at| table.get(sign(at))).map(|b| char::from(*b)).collect()
}

/// Percent-encoded, but for letters, digits and what is `safe`.
fn percent(value: &str, safe: &str, upper: bool, space: &str) -> String {
    let one = |b: u8| match b {
        b' ' => space.to_owned(),
        b if b.is_ascii_alphanumeric() || safe.as_bytes().contains(&b) => char::from(b).to_string(),
        b if upper => format!("%{b:02X}"),
        b => format!("%{b:02x}"),
    };
    value.bytes().map(one).collect()
}

/// JSON with every character beyond ASCII escaped, as Python writes it.
fn ascii(json: &str) -> String {
    let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect::<String>();
    json.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect()
}

#[cfg(test)]
impl Finder {
    /// As if there were too many forms for an automaton.
    pub fn forget_automaton(&mut self) {
        self.automaton = None;
    }
}
