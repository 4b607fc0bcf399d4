//! Count words, characters, sentences and lines, and detect the language.

use crate::bounds::{run_blocking, short};
use std::collections::HashSet;
use text_kit::counted;
use tool::prelude::*;

/// Words read per minute, from studies of silent reading.
const WORDS_PER_MINUTE: f64 = 238.0;
/// The minimum number of words for language detection.
const MIN_WORDS: usize = 3;

/// Count the words, characters, sentences, lines and paragraphs of a text, estimate its reading time and detect its
/// language.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Count {
    /// Text to analyse.
    text: String,
}

/// The answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    words: usize,
    unique_words: usize,
    characters: usize,
    characters_no_spaces: usize,
    bytes: usize,
    sentences: usize,
    lines: usize,
    paragraphs: usize,
    /// Rounded to one decimal place.
    reading_time_minutes: f64,
    /// The likeliest language, for three words or more.
    language: Option<&'static str>,
    /// The ISO 639-3 code.
    language_code: Option<&'static str>,
    /// Whether the detection is reliable.
    language_reliable: bool,
}

pub(crate) async fn count(_: (), _: Cx, Count { text }: Count) -> Result<Output> {
    short("text", &text)?;
    let stats = run_blocking(move |_| Ok(counts(&text))).await?;
    let language = match (stats.language, stats.language_reliable) {
        (Some(language), true) => format!(", in {language}"),
        (Some(language), false) => format!(", perhaps in {language}"),
        (None, _) => String::new(),
    };
    let mut sentence = format!(
        "It has {}, {} and {}{language}.",
        counted(stats.words, "word"),
        counted(stats.characters, "character"),
        counted(stats.sentences, "sentence")
    );
    if stats.reading_time_minutes >= 1.0 {
        sentence +=
            &format!(" Reading it takes about {}.", counted(stats.reading_time_minutes.round() as usize, "minute"));
    }
    Ok(Output::json(stats)?.say(sentence))
}

fn counts(text: &str) -> Counted {
    let (mut words, mut unique) = (0, HashSet::new());
    each_word(text, |word| {
        words += 1;
        unique.insert(word.to_lowercase());
    });
    let found = language::detect(text).filter(|_| words >= MIN_WORDS);
    let language = found.map(|found| found.language);
    Counted {
        words,
        unique_words: unique.len(),
        characters: text.chars().count(),
        characters_no_spaces: text.chars().filter(|c| !c.is_whitespace()).count(),
        bytes: text.len(),
        sentences: sentences(text),
        lines: text.lines().count(),
        paragraphs: paragraphs(text),
        reading_time_minutes: (words as f64 / WORDS_PER_MINUTE * 10.0).ceil() / 10.0,
        language: language.map(|language| language.name),
        language_code: language.map(|language| language.code3),
        language_reliable: found.is_some_and(|found| found.is_reliable),
    }
}

/// Words: sequences between white space with a letter or digit; in scripts without spaces each character is a word.
fn each_word<'a>(text: &'a str, mut take: impl FnMut(&'a str)) {
    for part in text.split_whitespace() {
        let mut from = None;
        for (at, c) in part.char_indices() {
            if is_own_word(c) {
                if let Some(from) = from.take() {
                    take(&part[from..at]);
                }
                take(&part[at..at + c.len_utf8()]);
            } else if c.is_alphanumeric() && from.is_none() {
                from = Some(at);
            }
        }
        if let Some(from) = from {
            take(part[from..].trim_end_matches(|c: char| !c.is_alphanumeric()));
        }
    }
}

/// Han, Hiragana and Katakana.
fn is_own_word(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Sentences: a mark before white space or the end closes one, unless a lowercase letter follows; remaining text is
/// one too.
fn sentences(text: &str) -> usize {
    let (mut count, mut open) = (0, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        open |= c.is_alphanumeric();
        let wide = matches!(c, '。' | '！' | '？');
        if !open || !(wide || matches!(c, '.' | '!' | '?' | '…')) {
            continue;
        }
        // Closing quotes and brackets, and repeated marks, belong to the end.
        while chars.next_if(|c| ".!?…。！？\"'”’)]»".contains(*c)).is_some() {}
        let mut blank = false;
        while chars.next_if(|c| c.is_whitespace()).is_some() {
            blank = true;
        }
        let ends = match chars.peek() {
            None => true,
            Some(next) => wide || blank && !next.is_lowercase(),
        };
        if ends {
            count += 1;
            open = false;
        }
    }
    count + usize::from(open)
}

/// Blocks of lines separated by empty lines.
fn paragraphs(text: &str) -> usize {
    let (mut count, mut inside) = (0, false);
    for line in text.lines() {
        let full = !line.trim().is_empty();
        count += usize::from(full && !inside);
        inside = full;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx};
    use proptest::prelude::*;

    #[tokio::test]
    async fn a_text_is_counted() {
        let text = "The oven is hot. Don't touch it!\n\nAsk Anna first, at 3.30 p.m. or later; the oven is new…\nDone";
        let answer = call(crate::text(), &cx(), "count_words", json!({"text": text})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "words": 20, "uniqueWords": 17, "characters": 94, "charactersNoSpaces": 74, "bytes": 96, "sentences": 4,
                "lines": 4, "paragraphs": 2, "readingTimeMinutes": 0.1, "language": "English", "languageCode": "eng",
                "languageReliable": true
            })
        );
        assert_eq!(answer.say.unwrap(), "It has 20 words, 94 characters and 4 sentences, in English.");
    }

    #[test]
    fn words_and_sentences_of_all_sorts_are_counted() {
        let rows = [
            ("", 0, 0, 0, 0),
            ("   \n \n", 0, 0, 2, 0),
            ("one", 1, 1, 1, 1),
            ("- — ?!", 0, 0, 1, 1),
            ("well-known (e.g. here) 3.5", 4, 1, 1, 1),
            ("He said: \"Go!\" She went.", 5, 2, 1, 1),
            ("What?! Really… yes.", 3, 2, 1, 1),
            ("我爱你。你呢？", 5, 2, 1, 1),
            ("a\r\n\r\nb\r\n", 2, 1, 3, 2),
        ];
        for (text, words, sentences, lines, paragraphs) in rows {
            let stats = counts(text);
            assert_eq!(
                (stats.words, stats.sentences, stats.lines, stats.paragraphs),
                (words, sentences, lines, paragraphs),
                "{text}"
            );
        }
        let german = counts("Der Ofen ist heiß und die Suppe kocht schon seit einer halben Stunde auf dem Herd.");
        assert_eq!((german.language, german.language_code), (Some("German"), Some("deu")));
        assert_eq!(counts("to be").language, None);
        let guess = counts("ja nein doch");
        assert!(guess.language.is_some() && !guess.language_reliable);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn counts_hold_together(text in any::<String>()) {
            let stats = counts(&text);
            prop_assert!(stats.unique_words <= stats.words && stats.words <= stats.characters_no_spaces);
            prop_assert!(stats.sentences <= stats.characters && stats.paragraphs <= stats.lines);
            prop_assert!(stats.characters_no_spaces <= stats.characters && stats.characters <= stats.bytes);
        }
    }
}
