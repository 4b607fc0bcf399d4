//! Reads what somebody searches for: words, and phrases in quotes.

/// The quotes that begin a phrase, and those that end it.
const OPENING: &[char] = &['"', '“', '”', '„', '«', '»'];
const CLOSING: &[char] = &['"', '“', '”', '«', '»'];

/// The parts of a search in lower case, which a text must contain: words, and phrases. The words of a phrase have one space
/// between them.
///
/// A phrase begins with a quote at the start of a word, and ends with one at the end of a word. Other quotes, such as that of
/// `5"`, are part of their word.
pub fn search_parts(search: &str) -> Vec<String> {
    let (lower, mut parts) = (search.to_lowercase(), vec![]);
    let mut rest = lower.trim_start();
    while !rest.is_empty() {
        let (part, after) = match phrase(rest) {
            Some((phrase, after)) => (phrase.split_whitespace().collect::<Vec<_>>().join(" "), after),
            None => {
                let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
                (word.to_owned(), after)
            }
        };
        parts.push(part);
        rest = after.trim_start();
    }
    parts
}

/// The phrase at the start of a search, without its quotes, and what follows it.
fn phrase(search: &str) -> Option<(&str, &str)> {
    let inside = search.strip_prefix(OPENING)?;
    let ends = |(at, quote): &(usize, &str)| inside[at + quote.len()..].chars().next().is_none_or(char::is_whitespace);
    let (at, quote) = inside.match_indices(CLOSING).find(ends)?;
    let phrase = &inside[..at];
    (!phrase.trim().is_empty()).then(|| (phrase, &inside[at + quote.len()..]))
}

/// Finds a part of a search in a text in lower case. Any white space may be between the words of a phrase.
pub fn find_part(lower: &str, part: &str) -> Option<usize> {
    let Some((first, others)) = part.split_once(' ') else { return lower.find(part) };
    let mut from = 0;
    loop {
        let at = from + lower[from..].find(first)?;
        if begins_with_words(&lower[at + first.len()..], others) {
            return Some(at);
        }
        from = at + lower[at..].chars().next().map_or(1, char::len_utf8);
    }
}

/// Whether white space and the words of a phrase follow one another.
fn begins_with_words(mut text: &str, words: &str) -> bool {
    words.split(' ').all(|word| {
        let trimmed = text.trim_start();
        match trimmed.strip_prefix(word) {
            Some(rest) if trimmed.len() < text.len() => {
                text = rest;
                true
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_split_into_words_and_phrases() {
        for (search, wanted) in [
            ("", &[][..]),
            ("  Oat  MILK ", &["oat", "milk"]),
            ("\"Oat  Milk\"", &["oat milk"]),
            (
                "buy \"oat milk\" “Two Litres” „zwei Liter“ «deux» »drei\nvier«",
                &["buy", "oat milk", "two litres", "zwei liter", "deux", "drei vier"],
            ),
            ("\"oat-milk\"", &["oat-milk"]),
            // Not phrases: not closed, within a word, empty.
            ("\"oat milk", &["\"oat", "milk"]),
            ("pipe 5\" wide", &["pipe", "5\"", "wide"]),
            ("5\" 6\"", &["5\"", "6\""]),
            ("\"\" \" \"", &["\"\"", "\"", "\""]),
            ("\"5\" pipe\"", &["5", "pipe\""]),
            ("\"a\"b c\"", &["a\"b c"]),
        ] {
            assert_eq!(search_parts(search), wanted, "{search}");
        }
    }

    #[test]
    fn a_phrase_is_found_where_its_words_follow_one_another() {
        let text = "buy milk; oat milk and\n oat   milk, aaab c";
        for (part, at) in [
            ("milk", Some(4)),
            ("oat milk", Some(10)),
            ("oat milk and oat milk,", Some(10)),
            ("at mil", Some(11)),
            ("milk oat", None),
            ("oat milky", None),
            ("oat m ilk", None),
            ("aab c", Some(37)),
            ("ab cd", None),
            ("milk and oat mil", Some(14)),
        ] {
            assert_eq!(find_part(text, part), at, "{part}");
        }
        assert_eq!(find_part("éé é x", "é x"), Some(5));
        assert_eq!(find_part("", "a b"), None);
    }
}
