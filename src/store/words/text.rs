//! Splits texts into terms, and searches into pieces of which each must occur within a term.
//!
//! Searches compare as [`str::to_lowercase`] folds and look for words within the text. A text that contains a word contains all
//! pieces of that word within its terms, so looking for pieces misses nothing.

use std::collections::BTreeSet;
use text_kit::search_parts;

/// The longest term in characters. A longer run of letters becomes overlapping terms.
const TERM: usize = 32;
/// The longest piece, and the distance of overlapping terms: any piece is within one of them.
const PIECE: usize = 16;
/// The most pieces of a search that are looked up; the caller checks all of it.
const PIECES: usize = 16;

/// Words to find in the texts of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// One of these sets of pieces must occur.
    pub(super) any: Vec<Vec<String>>,
}

impl Words {
    /// Texts that contain all words and phrases of a search; see [`text_kit::search_parts`].
    pub fn all(search: &str) -> Self {
        Self { any: vec![pieces(&search_parts(search).join("\n"))] }
    }

    /// Texts that contain one of several parts of a search: words or phrases.
    pub fn one_of<W: AsRef<str>>(parts: &[W]) -> Self {
        Self { any: parts.iter().map(|part| pieces(&part.as_ref().to_lowercase())).collect() }
    }

    /// Also texts that contain all words of another search.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.any.extend(other.any);
        self
    }

    /// Whether any text may fit: a set is empty, as that of punctuation.
    pub(super) fn fits_any(&self) -> bool {
        self.any.iter().any(Vec::is_empty)
    }
}

/// The parts of a text by the way they are split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    /// Scripts without spaces between words.
    Unspaced,
    Letter,
}

fn class(c: char) -> Class {
    match c {
        '\u{0}'..='\u{7f}' if c.is_ascii_alphanumeric() => Class::Letter,
        '\u{0}'..='\u{a0}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => Class::Separator,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Class::Unspaced,
        c if c.is_whitespace() => Class::Separator,
        _ => Class::Letter,
    }
}

/// The runs of letters of one class.
fn runs(text: &str) -> impl Iterator<Item = (Class, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next().map(class)?;
        let end = rest.char_indices().find(|(_, c)| class(*c) != first).map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        rest = after;
        Some((first, run))
    })
    .filter(|(class, _)| *class != Class::Separator)
}

/// The bytes at which the characters of a text begin, and its end.
fn starts(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

/// The windows of `size` characters, `step` apart; a shorter text is one window.
fn windows(run: &str, size: usize, step: usize, each: &mut dyn FnMut(&str)) {
    if run.len() <= size {
        return each(run);
    }
    let starts = starts(run);
    let length = starts.len() - 1;
    let mut from = 0;
    loop {
        let to = (from + size).min(length);
        each(&run[starts[from]..starts[to]]);
        if to == length {
            return;
        }
        from += step;
    }
}

/// Calls `each` with every term of a text in lower case; a term may come several times.
pub(super) fn terms(lower: &str, each: &mut dyn FnMut(&str)) {
    for (class, run) in runs(lower) {
        match class {
            Class::Unspaced => windows(run, 2, 1, each),
            _ => windows(run, TERM, PIECE, each),
        }
    }
}

/// The pieces of a search in lower case.
fn pieces(lower: &str) -> Vec<String> {
    let mut pieces = BTreeSet::new();
    for (class, run) in runs(lower) {
        let size = if class == Class::Unspaced { 2 } else { PIECE };
        let step = if class == Class::Unspaced { 1 } else { PIECE };
        windows(run, size, step, &mut |piece| {
            pieces.insert(piece.to_owned());
        });
    }
    let mut pieces: Vec<String> = pieces.into_iter().collect();
    // Long pieces are in the fewest terms.
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    pieces.truncate(PIECES);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_terms(text: &str) -> Vec<String> {
        let mut all = vec![];
        terms(&text.to_lowercase(), &mut |term| all.push(term.to_owned()));
        all
    }

    #[test]
    fn texts_are_split_at_spaces_and_punctuation() {
        for (text, wanted) in [
            ("Buy oat-milk, 2 l!", "buy oat milk 2 l"),
            ("", ""),
            (" ?! ", ""),
            ("今天天气x好", "今天 天天 天气 x 好"),
            ("❤️milk", "❤️milk"),
            ("İstanbul", "i\u{307}stanbul"),
            ("ΟΔΟΣ", "οδος"),
        ] {
            assert_eq!(all_terms(text).join(" "), wanted, "{text}");
        }
        let long = "0123456789".repeat(7);
        assert_eq!(all_terms(&long), [&long[..32], &long[16..48], &long[32..64], &long[48..]]);
    }

    /// The property that the index relies on.
    #[test]
    fn the_pieces_of_a_word_are_within_the_terms_of_every_text_that_contains_it() {
        let texts = [
            "Joanna's oat-milk; donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrik",
            "今天天气很好 iPhone手机壳 ภาษาไทยไม่มีช่องว่าง x",
            "a\u{301}é İİİ ΟΔΟΣ ΣΑΣ ❤️👨‍👩‍👧 «quoted» 1,234.50 +43 664/123",
        ];
        for text in texts {
            let lower = text.to_lowercase();
            let terms = all_terms(text);
            for word in lower.split_whitespace() {
                let starts = starts(word);
                for (n, from) in starts.iter().enumerate() {
                    for to in &starts[n + 1..] {
                        for piece in pieces(&word[*from..*to]) {
                            assert!(terms.iter().any(|term| term.contains(&piece)), "{piece} of {word}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn punctuation_alone_fits_any_text() {
        assert!(Words::all("-- ?").fits_any() && Words::all(" ").fits_any() && !Words::all("x ?").fits_any());
        assert!(Words::all("x").or(Words::all("!")).fits_any());
        assert!(!Words::one_of::<&str>(&[]).fits_any());
    }
}
