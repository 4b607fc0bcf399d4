//! How common a word is in English: the vocabulary lists words by frequency.

use std::collections::HashMap;

const VOCABULARY: &str = include_str!("../../models/vocab.txt");

/// The line of the first word; before it are special tokens, signs and single characters.
const FIRST: usize = 1996;
/// Words after this many are all equally rare.
const MOST: usize = 10_000;

/// The rank of each of these lower-case words among English words, 0 for the most frequent; words that are missing
/// from the result are rare.
pub fn word_ranks<'a>(words: impl IntoIterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut ranks: HashMap<&str, usize> = words.into_iter().map(|word| (word, usize::MAX)).collect();
    for (rank, word) in VOCABULARY.lines().skip(FIRST).take(MOST).enumerate() {
        if let Some(found) = ranks.get_mut(word) {
            *found = rank;
        }
    }
    ranks.retain(|_, rank| *rank != usize::MAX);
    ranks
}

/// Whether it is one of the English words, names and abbreviations that are common enough for the vocabulary.
pub fn is_word(word: &str) -> bool {
    VOCABULARY.lines().skip(FIRST).any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_rank_before_rare_ones() {
        let ranks = word_ranks(["the", "number", "key", "boiler", "grandfather", "ersatzschlüssel"]);
        assert_eq!(ranks.get("the"), Some(&0));
        assert!(ranks["number"] < ranks["key"] && ranks["key"] < ranks["grandfather"], "{ranks:?}");
        assert!(is_word("oven") && is_word("boiler") && !is_word("remnid") && !is_word("shoping"));
        assert!(!ranks.contains_key("ersatzschlüssel") && !ranks.contains_key("boiler"), "{ranks:?}");
    }
}
