//! Convert text to index terms: lower case, no stop words, light stemming. English first.

/// Stop words.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but",
    "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "know", "last", "me", "my", "no", "not", "of", "on", "or",
    "our", "out", "over", "please", "remember", "said", "say", "she", "should", "so", "some", "tell", "that", "the",
    "their", "them", "then", "there", "they", "this", "to", "up", "us", "was", "we", "were", "what", "whats", "when",
    "where", "which", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// The terms of a text, in order, with repeats.
pub(crate) fn terms(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .filter(|w| STOP_WORDS.binary_search(&w.as_str()).is_err())
        .map(|w| stem(&w).to_owned())
        .collect()
}

/// Strip the most common English endings.
fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] = &["ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"];
    if !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word;
    }
    ENDINGS.iter().find_map(|end| word.strip_suffix(end).filter(|s| s.len() >= 3)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn forms_of_a_word_meet() {
        for (a, b) in
            [("boiler", "boilers"), ("serviced", "services"), ("watering", "watered"), ("batteries", "battery")]
        {
            assert_eq!(terms(a), terms(b), "{a} {b}");
        }
        assert_eq!(terms("Who looked after the heating?"), ["look", "heat"]);
        assert_eq!(terms("E24, 192.168.1.40"), ["e24", "192", "168", "1", "40"]);
        assert_eq!(terms("what is it"), [] as [&str; 0]);
    }
}
