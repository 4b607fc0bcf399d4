//! Removes what is personal from texts that leave the house: names, quoted words, addresses of people and homes.
//!
//! The scrubber removes secrets; this removes the rest that a stranger should not read. It removes too much rather than too
//! little: a log is read for its shape and its numbers.

use std::collections::BTreeSet;

/// The replacement of a name, and of a quotation.
const NAME: &str = "[name]";
const QUOTED: &str = "…";
/// A quotation that is longer is none, but two marks.
const QUOTATION: usize = 400;
/// Shorter names would remove half of every text.
const SHORTEST: usize = 3;

/// The words to remove; made once for a whole bundle.
pub(crate) struct Mask {
    /// In lower case, the longest first.
    names: Vec<String>,
}

impl Mask {
    /// Removes these names, and each longer word of them.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut all = BTreeSet::new();
        for name in names {
            let lower = lower(&name);
            all.extend(words(&lower).into_iter().filter(|word| word.chars().count() > SHORTEST).map(str::to_owned));
            all.insert(lower.trim().to_owned());
        }
        all.retain(|name| name.chars().count() >= SHORTEST && !COMMON.contains(&name.as_str()));
        let mut names: Vec<String> = all.into_iter().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Self { names }
    }

    /// A line of the log, or of another text that other programs or people may have had a part in.
    pub fn line(&self, line: &str) -> String {
        self.names(&emails(&homes(&quotations(line))))
    }

    /// Replaces names as whole words, whatever their case.
    pub fn names(&self, text: &str) -> String {
        let lower = lower(text);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        'text: while at < text.len() {
            let begins = !is_word(lower[..at].chars().next_back());
            for name in self.names.iter().filter(|_| begins) {
                if lower[at..].starts_with(name.as_str()) && !is_word(lower[at + name.len()..].chars().next()) {
                    out.push_str(NAME);
                    at += name.len();
                    continue 'text;
                }
            }
            let Some(c) = text[at..].chars().next() else { break };
            out.push(c);
            at += c.len_utf8();
        }
        out
    }
}

/// The text in lower case, with every letter at its place: one whose lower case is longer or shorter stays as it is.
fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let length = out.len();
        // A sigma at the end of a word is the same letter.
        out.extend(c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c }));
        if out.len() - length != c.len_utf8() {
            out.truncate(length);
            out.push(c);
        }
    }
    out
}

/// Words of names that say nothing about anybody.
const COMMON: [&str; 22] = [
    "hob", "home", "the", "and", "lamp", "light", "door", "switch", "sensor", "kitchen", "living", "room", "hall",
    "bedroom", "garage", "garden", "owner", "admin", "member", "viewer", "none", "auto",
];

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Empties quotations: texts of people and other programs stand in them.
fn quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    'text: while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let end = match c {
            '"' | '`' => Some(c),
            '“' => Some('”'),
            '„' => Some('“'),
            '«' => Some('»'),
            _ => None,
        };
        if let Some(end) = end
            && let Some(length) = after.find(end).filter(|length| *length <= QUOTATION)
        {
            out.push(c);
            out.push_str(QUOTED);
            out.push(end);
            rest = &after[length + end.len_utf8()..];
            continue 'text;
        }
        out.push(c);
        rest = after;
    }
    out
}

/// Removes the names of people from paths.
fn homes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/home/") {
        out.push_str(before);
        out.push_str("/home/");
        out.push_str(QUOTED);
        rest = &after[after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len())..];
    }
    out.push_str(rest);
    out
}

/// Removes e-mail addresses, and telephone numbers with a country code.
fn emails(text: &str) -> String {
    let parts = text.split_inclusive(char::is_whitespace).map(|part| {
        let word = part.trim_end();
        let is_email = word.split_once('@').is_some_and(|(a, b)| !a.is_empty() && b.contains('.'));
        let bare = word.trim_start_matches(['(', '=']);
        let digits = bare.chars().filter(char::is_ascii_digit).count();
        let is_phone = bare.starts_with('+') && digits >= 7;
        if is_email || is_phone { format!("{NAME}{}", &part[word.len()..]) } else { part.to_owned() }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_personal_goes_and_the_rest_stays() {
        let mask = Mask::new(["Annika Öberg", "The Old Mill", "bo", "Kitchen lamp"].map(str::to_owned));
        for (line, expected) in [
            ("INFO hob: ready data=/home/annika/.hob tools=130", "INFO hob: ready data=/home/…/.hob tools=130"),
            ("ANNIKA's phone", "[name]'s phone"),
            ("at the old mill, near Millbrook", "at [name], near Millbrook"),
            ("öberg wrote", "[name] wrote"),
            ("the board about bo", "the board about bo"),
            ("the contact `Zoe` and \"a note\" of it", "the contact `…` and \"…\" of it"),
            ("write to a.b@example.org or +43 660", "write to [name] or +43 660"),
            ("call +436601234567 now", "call [name] now"),
            ("the kitchen lamp is on pin 17", "the [name] is on pin 17"),
            ("a lone \" mark", "a lone \" mark"),
        ] {
            assert_eq!(mask.line(line), expected);
        }
        // Letters whose lower case is longer do not shift anything.
        for (line, expected) in [
            ("İİİ ANNIKA", "İİİ [name]"),
            ("İẞ", "İẞ"),
            ("İẞ Öberg ẞİ", "İẞ [name] ẞİ"),
            ("ΟΔΟΣ annika ΟΔΟΣ", "[name] [name] [name]"),
            ("der Weißdorn von İnci", "der Weißdorn von [name]"),
        ] {
            assert_eq!(Mask::new(["annika öberg", "İnci", "Οδος"].map(str::to_owned)).line(line), expected);
        }
    }
}
