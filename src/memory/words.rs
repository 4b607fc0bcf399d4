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

/// More words of English questions that say nothing about what is asked.
const ASKING: &[&str] = &[
    "any", "been", "being", "did", "does", "doing", "done", "ever", "get", "go", "goes", "going", "got", "kind",
    "like", "many", "more", "most", "much", "new", "often", "one", "other", "really", "thing", "things", "type",
    "very",
];
/// Interrogatives of Spanish and French that the lists of stop words lack.
const INTERROGATIVES: &[&str] = &[
    "adónde", "combien", "comment", "cuál", "cuáles", "cuándo", "cuánta", "cuánto", "cómo", "dónde", "pourquoi", "qué",
    "quand", "quién", "quiénes",
];
/// The rest of English words after an apostrophe: "what's", "don't", "we'll".
const CONTRACTED: &[&str] = &["d", "ll", "m", "re", "s", "t", "ve"];
/// The languages whose stop words are left out of questions.
const LANGUAGES: &[&str] = &["de", "es", "fr", "it", "nl", "pt"];

/// The different terms of a question, sorted, without the stop words of its language; all of them if nothing else is left.
pub(crate) fn query_terms(query: &str) -> Vec<String> {
    let words: Vec<String> = without_contractions(query).map(str::to_lowercase).collect();
    let count = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
    let english = words.iter().filter(|w| STOP_WORDS.binary_search(&w.as_str()).is_ok() || is_asking(w)).count();
    let others = LANGUAGES.iter().filter_map(|code| stop_words::lookup(code));
    let best = others.map(|list| (count(list), list)).max_by_key(|(count, _)| *count);
    let list = best.filter(|(count, _)| *count > english).map(|(_, list)| list).unwrap_or_default();
    let says_nothing = |word: &&str| list.contains(word) || is_asking(word) || INTERROGATIVES.contains(word);
    let left: Vec<&str> = words.iter().map(String::as_str).filter(|word| !says_nothing(word)).collect();
    let terms = distinct_terms(&left.join(" "));
    if terms.is_empty() { distinct_terms(query) } else { terms }
}

/// The words of a text, without what follows an apostrophe in "what's" and "Anna's".
fn without_contractions(text: &str) -> impl Iterator<Item = &str> {
    let mut before = None;
    let parts = text.split_inclusive(|c: char| !c.is_alphanumeric());
    parts.filter_map(move |part| {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let follows = matches!(before, Some('\'' | '’'));
        // The mark belongs to a word before it, not to a quotation.
        before = part.chars().last().filter(|_| !word.is_empty());
        let contracted = follows && CONTRACTED.iter().any(|end| word.eq_ignore_ascii_case(end));
        (!word.is_empty() && !contracted).then_some(word)
    })
}

fn is_asking(word: &str) -> bool {
    ASKING.binary_search(&word).is_ok()
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
        assert!(STOP_WORDS.is_sorted() && ASKING.is_sorted());
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

    #[test]
    fn a_question_is_left_without_the_stop_words_of_its_language() {
        for (question, terms) in [
            ("What kind of tea does Anna like?", &["anna", "tea"][..]),
            ("Wo ist der Autoschlüssel?", &["autoschlüssel"]),
            ("¿Dónde está la llave de paso?", &["llav", "paso"]),
            ("Quand passent les poubelles jaunes ?", &["jaun", "passent", "poubell"]),
            ("What's wrong with Anna’s boat?", &["anna", "boat", "wrong"]),
            ("rock 're' volt", &["re", "rock", "volt"]),
            ("die", &["die"]),
            ("what is it", &[]),
        ] {
            assert_eq!(query_terms(question), terms, "{question}");
        }
    }
}
