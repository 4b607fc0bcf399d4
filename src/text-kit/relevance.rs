//! Relevance of short texts to a query by their words: BM25, scaled so that 1 is a text with all of them.

use std::collections::HashMap;

/// The parameters of BM25: how soon repeats stop counting, and how much length counts.
const K1: f32 = 1.2;
const B: f32 = 0.6;

/// Words that say little in English, German, French and Spanish, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "al", "all", "als", "am", "an", "and", "any", "are", "as", "at", "au", "auf", "aus", "aux", "avec",
    "be", "bei", "by", "can", "ce", "con", "cual", "da", "dans", "das", "de", "del", "dem", "den", "der", "des", "did",
    "die", "do", "does", "donde", "du", "ein", "eine", "einen", "einer", "el", "elle", "en", "er", "es", "est", "et",
    "for", "from", "für", "had", "has", "hat", "have", "how", "i", "ich", "il", "im", "in", "is", "ist", "it", "its",
    "je", "la", "las", "le", "les", "lo", "los", "me", "mi", "mit", "mon", "my", "nicht", "no", "not", "of", "on",
    "or", "ou", "où", "our", "para", "pas", "please", "por", "pour", "quand", "que", "quel", "qui", "que", "se",
    "sein", "sich", "sie", "so", "sont", "su", "sur", "tell", "that", "the", "their", "them", "there", "they", "this",
    "to", "um", "un", "una", "und", "une", "us", "von", "wann", "war", "was", "we", "wer", "were", "what", "when",
    "where", "which", "who", "why", "wie", "will", "wir", "with", "wo", "y", "you", "your", "zu", "zum", "zur", "à",
];

/// English endings that forms of a word differ in.
const ENDINGS: &[&str] = &["ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"];

/// The terms of a text in order, with repeats: lower case, without stop words and common endings.
pub fn terms(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase).filter(|word| !STOP_WORDS.contains(&word.as_str()));
    words.map(|word| stem(&word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word;
    }
    ENDINGS.iter().find_map(|end| word.strip_suffix(end).filter(|s| s.len() >= 3)).unwrap_or(word)
}

/// How well each text fits a query, 0 to 1. Terms are compared by value, so they may be words or hashes of words.
pub fn relevance<T: std::hash::Hash + Eq>(query: &[T], texts: &[&[T]]) -> Vec<f32> {
    let mut wanted: HashMap<&T, usize> = HashMap::new();
    for term in query {
        let next = wanted.len();
        wanted.entry(term).or_insert(next);
    }
    // Counts of each wanted term in each text.
    let counts: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| {
            let mut counts = vec![0; wanted.len()];
            for term in *text {
                if let Some(at) = wanted.get(term) {
                    counts[*at] += 1;
                }
            }
            counts
        })
        .collect();
    let all = texts.len() as f32;
    let average = texts.iter().map(|text| text.len()).sum::<usize>() as f32 / all.max(1.0);
    let rarity: Vec<f32> = (0..wanted.len())
        .map(|at| {
            let with = counts.iter().filter(|counts| counts[at] > 0).count() as f32;
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        })
        .collect();
    // A text of average length with each word once.
    let best: f32 = rarity.iter().sum();
    let score = |(counts, text): (&Vec<u32>, &&[T])| {
        let length = 1.0 - B + B * text.len() as f32 / average.max(1.0);
        let score: f32 = counts
            .iter()
            .zip(&rarity)
            .map(|(n, rarity)| rarity * *n as f32 * (K1 + 1.0) / (*n as f32 + K1 * length))
            .sum();
        if best > 0.0 { (score / best).min(1.0) } else { 0.0 }
    };
    counts.iter().zip(texts).map(score).collect()
}

/// One score, 0 to 1, from the relevance of words and the similarity in meaning where there is one: each alone is
/// enough, and both together are better.
pub fn fused(words: f32, meaning: Option<f32>) -> f32 {
    match meaning {
        Some(meaning) => 1.0 - (1.0 - meaning.clamp(0.0, 1.0)) * (1.0 - 0.7 * words.clamp(0.0, 1.0)),
        None => words.clamp(0.0, 1.0).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term() {
        assert_eq!(terms("The boiler was serviced, twice!"), ["boiler", "servic", "twic"]);
        assert_eq!(terms("Boilers' services"), ["boiler", "servic"]);
        assert_eq!(terms("Wo ist der Schlüssel?"), ["schlüssel"]);
        assert_eq!(terms(" the of "), [] as [&str; 0]);
    }

    #[test]
    fn rare_words_and_more_of_them_count_more() {
        let texts = ["boat engine oil", "engine room", "boat boat boat", "garden hose"].map(terms);
        let texts: Vec<&[String]> = texts.iter().map(Vec::as_slice).collect();
        let scores = relevance(&terms("boat engine oil"), &texts);
        assert!(scores[0] > 0.9 && scores[0] > scores[1] && scores[0] > scores[2] && scores[3] == 0.0, "{scores:?}");
        // A word that is nowhere lowers the score of what has the others.
        let less = relevance(&terms("boat engine oil submarine"), &texts)[0];
        assert!(less < scores[0] && less > 0.4, "{less}");
        assert_eq!(relevance(&terms("the"), &texts), [0.0; 4]);
        assert_eq!(relevance::<String>(&terms("boat"), &[]), [] as [f32; 0]);
        assert!(relevance(&terms("x"), &[&[]])[0].abs() < f32::EPSILON);
    }

    #[test]
    fn either_is_enough_and_both_are_better() {
        assert!(fused(0.8, Some(0.0)) > 0.5 && fused(0.0, Some(0.6)) > 0.55);
        assert!(fused(0.5, Some(0.5)) > fused(0.5, Some(0.2)) && fused(0.0, Some(-0.3)) == 0.0);
        assert!(fused(0.25, None) == 0.5 && fused(0.0, None) == 0.0);
    }
}
