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

/// Calls `each` with the terms of a text, in order, with repeats. `lower` is a buffer that callers reuse.
pub(crate) fn each_term(text: &str, lower: &mut String, mut each: impl FnMut(&str)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            // The lower case of a letter may depend on its neighbours.
            lower.push_str(&word.to_lowercase());
        }
        if STOP_WORDS.binary_search(&lower.as_str()).is_err() {
            each(stem(lower));
        }
    }
}

/// The different terms of a text, sorted.
pub(crate) fn distinct_terms(text: &str) -> Vec<String> {
    let mut all = vec![];
    each_term(text, &mut String::new(), |term| all.push(term.to_owned()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Strip the most common English endings.
pub(crate) fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] = &["ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"];
    if !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word;
    }
    ENDINGS.iter().find_map(|end| word.strip_suffix(end).filter(|s| s.len() >= 3)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut all = vec![];
        each_term(text, &mut String::new(), |term| all.push(term.to_owned()));
        all
    }

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
        assert_eq!(terms("ΟΔΥΣΣΕΥΣ Über"), ["οδυσσευς", "über"]);
        assert_eq!(distinct_terms("bins, Bins and a cat"), ["bin", "cat"]);
    }
}
