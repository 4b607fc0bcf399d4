//! Transform text: case, white space, lines, accents.

use crate::{
    bounds::{result_sentence, run_blocking, short},
    words::words,
};
use std::collections::HashSet;
use text_kit::one_line;
use tool::prelude::*;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

words! {
    /// A text operation.
    TextOperation {
        Uppercase = "uppercase" | "upper",
        Lowercase = "lowercase" | "lower",
        Titlecase = "titlecase" | "title" | "capitalize",
        Sentencecase = "sentencecase" | "sentence",
        Camelcase = "camelcase" | "camel",
        Pascalcase = "pascalcase" | "pascal",
        Snakecase = "snakecase" | "snake",
        Kebabcase = "kebabcase" | "kebab",
        Constantcase = "constantcase" | "constant",
        Slug = "slug" | "slugify",
        Trim = "trim",
        TrimLines = "trim_lines",
        CollapseWhitespace = "collapse_whitespace",
        RemoveWhitespace = "remove_whitespace",
        RemoveAccents = "remove_accents" | "remove_diacritics",
        RemovePunctuation = "remove_punctuation",
        RemoveEmptyLines = "remove_empty_lines",
        DedupeLines = "dedupe_lines" | "unique_lines",
        SortLines = "sort_lines",
        ReverseLines = "reverse_lines",
        NumberLines = "number_lines",
        Reverse = "reverse",
        Truncate = "truncate",
    }
}

/// Transform text: change its case (also camelCase, snake_case, kebab-case, slug), white space, accents, punctuation
/// or lines; reverse or truncate it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transform {
    /// Text to transform.
    text: String,
    /// Operation.
    operation: TextOperation,
    /// For truncate: maximum length in characters, including the … (default: 100).
    length: Option<usize>,
}

pub(crate) async fn transform(_: (), _: Cx, args: Transform) -> Result<Output> {
    short("text", &args.text)?;
    let (operation, length) = (args.operation, args.length.unwrap_or(100));
    let result = run_blocking(move |_| Ok(changed(&args.text, operation, length))).await?;
    let sentence = if result.is_empty() { "Nothing is left of it.".to_owned() } else { result_sentence(&result) };
    Ok(Output::json(json!({"result": result, "operation": operation.word()}))?.say(sentence))
}

fn changed(text: &str, change: TextOperation, length: usize) -> String {
    match change {
        TextOperation::Uppercase => text.to_uppercase(),
        TextOperation::Lowercase => text.to_lowercase(),
        TextOperation::Titlecase => titled(text),
        TextOperation::Sentencecase => sentenced(text),
        TextOperation::Camelcase => match words_of(text).split_first() {
            Some((first, rest)) => first.to_lowercase() + &cased(rest, "", capitalized),
            None => String::new(),
        },
        TextOperation::Pascalcase => cased(&words_of(text), "", capitalized),
        TextOperation::Snakecase => cased(&words_of(text), "_", str::to_lowercase),
        TextOperation::Kebabcase => cased(&words_of(text), "-", str::to_lowercase),
        TextOperation::Constantcase => cased(&words_of(text), "_", str::to_uppercase),
        TextOperation::Slug => slug(text),
        TextOperation::Trim => text.trim().to_owned(),
        TextOperation::TrimLines => by_line(text, |lines| lines.iter().map(|line| line.trim()).collect()),
        TextOperation::CollapseWhitespace => one_line(text),
        TextOperation::RemoveWhitespace => text.chars().filter(|c| !c.is_whitespace()).collect(),
        TextOperation::RemoveAccents => without_accents(text),
        TextOperation::RemovePunctuation => text.chars().filter(|c| !is_punctuation(*c)).collect(),
        TextOperation::RemoveEmptyLines => {
            by_line(text, |lines| lines.into_iter().filter(|line| !line.trim().is_empty()).collect())
        }
        TextOperation::DedupeLines => by_line(text, |lines| {
            let mut seen = HashSet::new();
            lines.into_iter().filter(|line| seen.insert(*line)).collect()
        }),
        TextOperation::SortLines => by_line(text, |mut lines| {
            lines.sort_by_cached_key(|line| (line.to_lowercase(), *line));
            lines
        }),
        TextOperation::ReverseLines => by_line(text, |lines| lines.into_iter().rev().collect()),
        TextOperation::NumberLines => {
            let numbered = text.lines().zip(1..).map(|(line, n)| format!("{n}. {line}"));
            numbered.collect::<Vec<_>>().join("\n")
        }
        TextOperation::Reverse => reversed(text),
        TextOperation::Truncate => truncated(text, length),
    }
}

/// Transform the lines of a text; a final line break stays.
fn by_line<'t>(text: &'t str, made: impl FnOnce(Vec<&'t str>) -> Vec<&'t str>) -> String {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let lines = made(body.split('\n').map(|line| line.trim_end_matches('\r')).collect());
    let end = if body.len() < text.len() && !lines.is_empty() { "\n" } else { "" };
    lines.join("\n") + end
}

fn cased(words: &[&str], joint: &str, each: impl Fn(&str) -> String) -> String {
    words.iter().map(|word| each(word)).collect::<Vec<_>>().join(joint)
}

/// The words of a name in any notation.
///
/// Runs of letters and digits, split before a capital after a lowercase letter, and before the last of several
/// capitals: `parseHTTPHeader_2` is parse, HTTP, Header, 2.
fn words_of(text: &str) -> Vec<&str> {
    let mut words = vec![];
    for part in text.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c)).filter(|part| !part.is_empty()) {
        let chars: Vec<(usize, char)> = part.char_indices().collect();
        let mut from = 0;
        for at in 1..chars.len() {
            let (before, here) = (chars[at - 1].1, chars[at].1);
            let next_small = chars.get(at + 1).is_some_and(|(_, c)| c.is_lowercase());
            let begins = here.is_uppercase() && (before.is_lowercase() || next_small);
            if begins && chars[at].0 > from {
                words.push(&part[from..chars[at].0]);
                from = chars[at].0;
            }
        }
        words.push(&part[from..]);
    }
    words
}

/// First letter upper case, the others lower case.
fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars.as_str().to_lowercase().chars()).collect(),
        None => String::new(),
    }
}

/// Capitalize each word; an apostrophe does not begin a word.
fn titled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let of_word = c.is_alphanumeric() || is_combining_mark(c) || inside && matches!(c, '\'' | '’');
        match (of_word, inside) {
            (true, false) => out.extend(c.to_uppercase()),
            (true, true) => out.extend(c.to_lowercase()),
            (false, _) => out.push(c),
        }
        inside = of_word;
    }
    out
}

/// Capitalize each sentence, everything else lower case.
fn sentenced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut begins, mut mark) = (true, false);
    for c in text.chars() {
        if c.is_alphanumeric() {
            if begins {
                out.extend(c.to_uppercase())
            } else {
                out.extend(c.to_lowercase())
            }
            (begins, mark) = (false, false);
            continue;
        }
        out.push(c);
        begins |= mark && c.is_whitespace();
        mark = matches!(c, '.' | '!' | '?' | '…') || mark && !c.is_whitespace();
    }
    out
}

/// A URL slug: lowercase ASCII letters and digits with hyphens between; letters of other scripts stay.
fn slug(text: &str) -> String {
    let plain = without_accents(text).to_lowercase();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars().filter(|c| !matches!(c, '\'' | '’') && !is_combining_mark(*c)) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

fn without_accents(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfd().filter(|c| !is_combining_mark(*c)) {
        // Letters with a stroke and ligatures, which do not decompose.
        match c {
            'ß' => out += "ss",
            'æ' => out += "ae",
            'Æ' => out += "AE",
            'œ' => out += "oe",
            'Œ' => out += "OE",
            'ø' => out.push('o'),
            'Ø' => out.push('O'),
            'ł' => out.push('l'),
            'Ł' => out.push('L'),
            'đ' | 'ð' => out.push('d'),
            'Đ' | 'Ð' => out.push('D'),
            'þ' => out += "th",
            'Þ' => out += "Th",
            'ı' => out.push('i'),
            other => out.push(other),
        }
    }
    out.nfc().collect()
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
        | '¡' | '¿' | '«' | '»' | '§' | '¶' | '·' | '！' | '？' | '，' | '：' | '；')
}

/// Reverse by grapheme: accents stay with their letters.
fn reversed(text: &str) -> String {
    const JOINER: char = '\u{200d}';
    let follows = |before: char, c: char| {
        is_combining_mark(c)
            || c == JOINER
            || before == JOINER
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
    };
    let mut starts: Vec<usize> = vec![];
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if at == 0 || !follows(before, c) {
            starts.push(at);
        }
        before = c;
    }
    let mut out = String::with_capacity(text.len());
    let mut end = text.len();
    for start in starts.into_iter().rev() {
        out += &text[start..end];
        end = start;
    }
    out
}

/// At most `length` characters; a truncated text ends with a mark, if possible after a whole word.
fn truncated(text: &str, length: usize) -> String {
    if text.chars().nth(length).is_none() {
        return text.to_owned();
    }
    let Some(room) = length.checked_sub(1) else { return String::new() };
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    let inside = text[end..].starts_with(|c: char| c.is_alphanumeric());
    let word = kept.rfind(char::is_whitespace).filter(|at| inside && *at * 5 >= kept.len() * 4);
    format!("{}…", kept[..word.unwrap_or(kept.len())].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx};
    use proptest::prelude::*;

    #[tokio::test]
    async fn every_change_does_what_it_says() {
        let rows = [
            ("Grüß dich", "uppercase", "GRÜSS DICH"),
            ("ABC Ä", "lower", "abc ä"),
            ("the cat's o'clock-nap", "Title Case", "The Cat's O'clock-Nap"),
            ("HELLO there. how ARE you? (fine)", "sentencecase", "Hello there. How are you? (Fine)"),
            ("parse HTTPHeader_2-now", "camelcase", "parseHttpHeader2Now"),
            ("parse HTTPHeader", "pascal", "ParseHttpHeader"),
            ("parseHTTPHeader2 now", "snake_case", "parse_http_header2_now"),
            ("Hello, World!", "kebab-case", "hello-world"),
            ("maxRetryCount", "constantcase", "MAX_RETRY_COUNT"),
            ("  Crème brûlée & Straße's 2nd!  ", "slug", "creme-brulee-strasses-2nd"),
            ("日本 語", "slugify", "日本-語"),
            ("  a b \n", "trim", "a b"),
            (" a \n  b", "trim_lines", "a\nb"),
            (" a \n\t b  c ", "collapse_whitespace", "a b c"),
            (" a \n\t b ", "remove_whitespace", "ab"),
            ("Çà Łódź Øre æ", "remove_accents", "Ca Lodz Ore ae"),
            ("Don't — stop, «now»!", "remove_punctuation", "Dont  stop now"),
            ("a\n\n \nb", "remove_empty_lines", "a\nb"),
            ("b\na\nb\nB", "dedupe_lines", "b\na\nB"),
            ("b\nA\na\nC", "sort_lines", "A\na\nb\nC"),
            ("1\r\n2\r\n3\n", "reverse_lines", "3\n2\n1\n"),
            ("x\ny", "number_lines", "1. x\n2. y"),
            ("añe\u{301}o", "reverse", "oe\u{301}ña"),
            ("👨‍👩‍👧a👍🏽", "reverse", "👍🏽a👨‍👩‍👧"),
        ];
        for (text, operation, wanted) in rows {
            let args = json!({"text": text, "operation": operation});
            let answer = call(crate::text(), &cx(), "transform_text", args).await.unwrap();
            assert_eq!(answer.content["result"], wanted, "{operation}");
        }
        let bad = json!({"text": "x", "operation": "explode"});
        let error = call(crate::text(), &cx(), "transform_text", bad).await.unwrap_err();
        assert!(error.message().contains("`explode` is none of uppercase, lowercase"), "{error}");
    }

    #[test]
    fn truncating_ends_with_a_word() {
        let rows = [
            ("short", 5, "short"),
            ("shorter", 5, "shor…"),
            ("the quick brown fox jumps", 19, "the quick brown…"),
            ("the quick brown fox jumps", 20, "the quick brown fox…"),
            ("ééé", 2, "é…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (text, length, wanted) in rows {
            assert_eq!(truncated(text, length), wanted, "{text} {length}");
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// The transformations are idempotent.
        #[test]
        fn most_changes_are_done_once(text in "\\PC{0,30}|[a-zA-Z0-9 _.,'\n\r\t-]{0,30}") {
            use TextOperation::*;
            for change in [
                Uppercase, Lowercase, Slug, Trim, TrimLines, CollapseWhitespace, RemoveWhitespace, RemoveAccents,
                RemovePunctuation, RemoveEmptyLines, DedupeLines, SortLines, Truncate,
            ] {
                let once = changed(&text, change, 12);
                prop_assert_eq!(changed(&once, change, 12), once.clone(), "{} of {:?}", change.word(), text);
            }
        }

        /// Only letters with two cases; others cannot change.
        #[test]
        fn notations_are_reached_once(text in "[a-zA-ZäöüéßÄÖÜÉЖж0-9 _.,'\n-]{0,30}") {
            use TextOperation::*;
            for change in [Snakecase, Kebabcase, Constantcase] {
                let once = changed(&text, change, 0);
                prop_assert_eq!(changed(&once, change, 0), once.clone(), "{} of {:?}", change.word(), text);
            }
            let [snake, kebab] = [Snakecase, Kebabcase].map(|change| changed(&changed(&text, change, 0), Snakecase, 0));
            prop_assert_eq!(snake, kebab);
        }

        #[test]
        fn no_text_does_harm(text in any::<String>(), length in 0_usize..50) {
            for (change, _) in TextOperation::WORDS {
                let made = changed(&text, *change, length);
                if *change == TextOperation::Truncate {
                    prop_assert!(made.chars().count() <= length);
                }
                if *change == TextOperation::Reverse {
                    prop_assert_eq!(made.len(), text.len());
                }
            }
        }

        #[test]
        fn twice_backwards_is_forwards(text in "[a-zäöü0-9 ]{0,40}", lines in prop::collection::vec("[a-z ]{1,8}", 1..9)) {
            prop_assert_eq!(reversed(&reversed(&text)), text);
            let lines = lines.join("\n");
            prop_assert_eq!(changed(&changed(&lines, TextOperation::ReverseLines, 0), TextOperation::ReverseLines, 0), lines);
        }
    }
}
