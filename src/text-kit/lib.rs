//! Small text functions that several crates need: truncate, join, count, percent-encode, check an email address, read a search and a number with its unit;
//! and the words people read: days, times, lengths of time, money, lists.

mod doors;
mod email;
mod listing;
mod measures;
mod money;
mod names;
mod relevance;
mod search;
mod times;

pub use doors::names_a_door;
pub use email::{check_email, check_host};
pub use listing::{More, listing};
pub use measures::measure;
pub use money::{CURRENCY_SIGNS, money_words};
pub use names::{plain_name, reads_as_name};
pub use relevance::{fused, relevance, terms};
pub use search::{find_part, search_parts};
pub use times::{
    clock_words, date_words, day_name, day_words, days_words, duration_words, moment_words, rough_duration_words,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt::Display;

/// The first `max` characters.
pub fn prefix(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// The first `max` characters, with `…` where more follow.
pub fn truncate(text: &str, max: usize) -> String {
    truncate_with(text, max, "…")
}

/// The first `max` characters, with `mark` where more follow. White space before the mark is dropped.
pub fn truncate_with(text: &str, max: usize, mark: &str) -> String {
    match prefix(text, max) {
        whole if whole.len() == text.len() => text.to_owned(),
        start => format!("{}{mark}", start.trim_end()),
    }
}

/// A text up to the end of its first sentence or line.
pub fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let ends = |at: usize| !line[at + 2..].starts_with(|next: char| next.is_lowercase());
    line.match_indices(". ").map(|(at, _)| at).find(|at| ends(*at)).map_or(line, |at| &line[..=at])
}

/// The text on one line, with single spaces between words.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The trimmed text with a full stop, unless it ends with a mark already.
pub fn end_sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// A text that begins with a capital, unless its first word is written in its own way, as `iPhone` and `http://…` are.
pub fn capitalized(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches(['.', ':']);
    let is_plain = word.chars().skip(1).all(|c| !c.is_uppercase() && !"/@:.".contains(c));
    let mut rest = text.chars();
    match rest.next() {
        Some(first) if is_plain => first.to_uppercase().chain(rest).collect(),
        _ => text.to_owned(),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn join_and<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}

/// Which of several is meant: `Which timer: pizza or tea?`
pub fn which_one<T: AsRef<str>>(noun: &str, items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("Which {noun}: {} or {last}?", rest.join(", ")),
        _ => format!("Which {noun}?"),
    }
}

/// `1 step`, `3 steps`, `2 matches`.
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    if n == N::from(1) { format!("1 {noun}") } else { format!("{n} {}", plural(noun)) }
}

/// Like [`counted`], with the number one in letters: `one task`, `3 tasks`.
pub fn counted_one<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    if n == N::from(1) { format!("one {noun}") } else { counted(n, noun) }
}

/// The plural of an English noun: its last word in the plural.
pub fn plural(noun: &str) -> String {
    let before = |ending: &str| noun.strip_suffix(ending);
    match noun {
        "person" => "people".to_owned(),
        _ if noun.ends_with("ch") || noun.ends_with('x') || noun.ends_with("sh") || noun.ends_with("ss") => {
            format!("{noun}es")
        }
        _ => match before("y").filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
            Some(stem) => format!("{stem}ies"),
            None => format!("{noun}s"),
        },
    }
}

/// Percent-encode everything but the unreserved characters of RFC 3986.
pub fn percent_encode(text: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Percent-decode. A `%` without two hex digits stays, and bytes that are not UTF-8 become `U+FFFD`.
pub fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_counts_characters() {
        assert_eq!((truncate("äöü", 2), truncate("äöü", 3)), ("äö…".into(), "äöü".into()));
        assert_eq!((truncate("ab cd", 3), truncate("", 0)), ("ab…".into(), String::new()));
        assert_eq!(truncate_with("abc", 1, " […]"), "a […]");
        assert_eq!((prefix("äöü", 2), prefix("a", 9)), ("äö", "a"));
    }

    #[test]
    fn words_become_sentences() {
        for (items, joined) in
            [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a and b"), (&["a", "b", "c"], "a, b and c")]
        {
            assert_eq!(join_and(items), joined);
        }
        assert_eq!(
            (counted(1, "match"), counted(2, "match"), counted(0_u64, "step")),
            ("1 match".into(), "2 matches".into(), "0 steps".into())
        );
        assert_eq!((counted_one(1, "task"), counted_one(2, "task")), ("one task".into(), "2 tasks".into()));
        assert_eq!(which_one("timer", &["pizza", "tea"]), "Which timer: pizza or tea?");
        assert_eq!(which_one("timer", &["a", "b", "c"]), "Which timer: a, b or c?");
        assert_eq!(which_one::<&str>("timer", &[]), "Which timer?");
        assert_eq!((end_sentence(" Done "), end_sentence("Done!")), ("Done.".into(), "Done!".into()));
        assert_eq!(one_line(" a \n b\tc "), "a b c");
    }

    #[test]
    fn sentences_begin_with_a_capital() {
        for (text, capital) in [
            ("buy milk", "Buy milk"),
            ("“a” is done", "“a” is done"),
            ("éclair", "Éclair"),
            ("iPhone case", "iPhone case"),
            ("http://a.org is slow", "http://a.org is slow"),
            ("rust-lang.org", "rust-lang.org"),
            ("ana@example.com", "ana@example.com"),
            ("pizza: ready", "Pizza: ready"),
            ("done.", "Done."),
            ("", ""),
        ] {
            assert_eq!(capitalized(text), capital);
        }
        for (noun, many) in [("entry", "entries"), ("day", "days"), ("match", "matches"), ("box", "boxes")] {
            assert_eq!(plural(noun), many);
        }
    }

    #[test]
    fn percent_encoding_round_trips() {
        for name in ["cat.png", "Küche & Bad 100%.pdf", "a/b\\c\"d\n", ""] {
            assert_eq!(percent_decode(&percent_encode(name)), name);
        }
        assert_eq!(percent_encode("a b~ü"), "a%20b~%C3%BC");
        for (odd, decoded) in [("100%", "100%"), ("%zz", "%zz"), ("%C3", "\u{fffd}"), ("%+1", "%+1")] {
            assert_eq!(percent_decode(odd), decoded);
        }
    }

    #[test]
    fn a_list_shows_the_first_sentence() {
        for (text, first) in [
            ("Add a task.", "Add a task."),
            ("Add a task. Not a note.", "Add a task."),
            ("Round to a number, e.g. of 2. Or more.", "Round to a number, e.g. of 2."),
            ("Two lines\nof text", "Two lines"),
            ("Take 3.5 of it", "Take 3.5 of it"),
            ("", ""),
            (". ", "."),
        ] {
            assert_eq!(first_sentence(text), first);
        }
    }
}
