//! BERT's uncased WordPiece: text to the token ids the model was trained on.
//!
//! Produces the ids of Hugging Face's tokenizer, with one intended difference: `[SEP]`, `[MASK]` and
//! the like are ordinary characters in a text, so that a text cannot speak for the tokenizer.

use std::collections::HashMap;

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// The model's longest input, with the tokens that open and close it; longer inputs are truncated.
pub const MAX_TOKENS: usize = 256;

const UNKNOWN: i64 = 100;
const OPEN: i64 = 101;
const CLOSE: i64 = 102;

/// A longer word is unknown as a whole.
const MAX_WORD: usize = 100;

pub struct WordPiece {
    ids: HashMap<&'static str, i64>,
}

impl WordPiece {
    /// From the vocabulary's text: one token a line, whose id is the line's number from 0.
    pub fn new(vocabulary: &'static str) -> Self {
        Self { ids: vocabulary.lines().zip(0..).collect() }
    }

    /// The ids of `text` between the opening and the closing token, at most [`MAX_TOKENS`]; an
    /// empty list when the text has no token at all.
    ///
    /// Reads no further than it must, so the length of a text costs neither time nor memory.
    pub fn encode(&self, text: &str) -> Vec<i64> {
        let mut ids = self.pieces(text, MAX_TOKENS - 1);
        if ids.is_empty() {
            return ids;
        }
        ids.truncate(MAX_TOKENS - 2);
        enclosed(&ids)
    }

    /// The ids of all of `text` as inputs of the model, one after another, the opening and closing tokens around each. `None`
    /// when the text has more than `most` tokens.
    pub fn encode_whole(&self, text: &str, most: usize) -> Option<Vec<Vec<i64>>> {
        let ids = self.pieces(text, most + 1);
        (ids.len() <= most).then(|| ids.chunks(MAX_TOKENS - 2).map(enclosed).collect())
    }

    /// The ids of `text`, of which no more are read once there are `most`.
    fn pieces(&self, text: &str, most: usize) -> Vec<i64> {
        let mut ids = vec![];
        let mut word = Vec::new();
        for c in normalize(text).chain([' ']) {
            let sign = is_punctuation(c);
            if sign || c.is_whitespace() {
                self.push_word(&word, &mut ids);
                word.clear();
                if sign {
                    self.push_word(&[c], &mut ids);
                }
                if ids.len() >= most {
                    break;
                }
            } else if word.len() <= MAX_WORD {
                // One character too many is enough to know that the word is too long.
                word.push(c);
            }
        }
        ids
    }

    /// Adds the pieces of one word: always the longest that the vocabulary has, and a single
    /// unknown token when the word cannot be cut so.
    fn push_word(&self, word: &[char], ids: &mut Vec<i64>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let mut rest = word;
        while !rest.is_empty() && word.len() <= MAX_WORD {
            let Some((id, length)) = self.longest_piece(rest, rest.len() < word.len()) else { break };
            ids.push(id);
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            ids.truncate(before);
            ids.push(UNKNOWN);
        }
    }

    /// The longest token that `rest` begins with, and its number of characters. A piece inside a
    /// word is written `##piece` in the vocabulary.
    fn longest_piece(&self, rest: &[char], inside: bool) -> Option<(i64, usize)> {
        let prefix = if inside { "##" } else { "" };
        let mut piece = String::from(prefix);
        piece.extend(rest);
        for length in (1..=rest.len()).rev() {
            if let Some(&id) = self.ids.get(piece.as_str()) {
                return Some((id, length));
            }
            piece.pop();
        }
        None
    }
}

/// With the opening and the closing token.
fn enclosed(ids: &[i64]) -> Vec<i64> {
    [&[OPEN][..], ids, &[CLOSE]].concat()
}

/// Lower case without accents or control characters, each Chinese character its own word.
fn normalize(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|&c| c != '\0' && c != char::REPLACEMENT_CHARACTER && !is_control(c))
        .flat_map(|c| {
            let apart = is_chinese(c).then_some(' ');
            apart.into_iter().chain([c]).chain(apart)
        })
        .nfd()
        .filter(|&c| c.is_ascii() || get_general_category(c) != Category::NonspacingMark)
        .flat_map(char::to_lowercase)
}

/// Control and format characters, except the three that count as white space.
fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r')
        && matches!(get_general_category(c), Category::Control | Category::Format | Category::PrivateUse)
}

/// Punctuation in the sense of BERT, to which every ASCII sign belongs, even `$` and `+`.
fn is_punctuation(c: char) -> bool {
    use Category::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation, OpenPunctuation,
        OtherPunctuation,
    };
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        get_general_category(c),
        ConnectorPunctuation
            | DashPunctuation
            | OpenPunctuation
            | ClosePunctuation
            | InitialPunctuation
            | FinalPunctuation
            | OtherPunctuation
    )
}

/// The CJK ideograph blocks, as the reference has them.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B73F}' | '\u{2B740}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOCABULARY: &str = include_str!("../../models/vocab.txt");

    #[test]
    fn the_special_tokens_are_where_the_vocabulary_has_them() {
        let words = WordPiece::new(VOCABULARY);
        for (token, id) in [("[UNK]", UNKNOWN), ("[CLS]", OPEN), ("[SEP]", CLOSE), ("##\u{ff5e}", 30521)] {
            assert_eq!(words.ids.get(token), Some(&id), "{token}");
        }
        assert_eq!(words.ids.len(), 30522);
    }

    #[test]
    fn encodes_as_the_reference_does() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/wordpiece.json")).unwrap();
        let words = WordPiece::new(VOCABULARY);
        let cases = golden["cases"].as_array().unwrap();
        assert!(cases.len() >= 40);
        for case in cases {
            let text = case["text"].as_str().unwrap();
            let mut expected: Vec<i64> =
                case["ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
            // The reference opens and closes even nothing; here nothing is an empty list.
            if expected == [OPEN, CLOSE] {
                expected.clear();
            }
            assert_eq!(words.encode(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_of_special_tokens_are_ordinary_text() {
        let words = WordPiece::new(VOCABULARY);
        for text in ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "a [SEP] b"] {
            let ids = words.encode(text);
            let inner = &ids[1..ids.len() - 1];
            assert!(inner.iter().all(|id| ![0, UNKNOWN, OPEN, CLOSE, 103].contains(id)), "{text}: {ids:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_not_read_to_its_end() {
        let words = WordPiece::new(VOCABULARY);
        for text in ["lamp ".repeat(1_000_000), "?".repeat(5_000_000), "lamps".repeat(50) + &"! x".repeat(500)] {
            let ids = words.encode(&text);
            assert_eq!(ids.len(), MAX_TOKENS);
            assert_eq!(ids.last(), Some(&CLOSE));
        }
        assert_eq!(words.encode(&"lamps".repeat(1_000_000)), [OPEN, UNKNOWN, CLOSE]);
    }
}
