//! Summaries without a model: the sentences that say most, in their order.

use std::collections::HashMap;

/// Sentences that are compared, at most, and words of one that count.
const SENTENCES: usize = 2_000;
const WORDS: usize = 60;

/// Sentences and items of a text, without the marks of Markdown.
fn sentences(text: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for paragraph in text.split("\n\n").flat_map(items) {
        let chars: Vec<char> = paragraph.chars().collect();
        let (mut from, mut at) = (0, 0);
        while at < chars.len() {
            let is_end = match chars[at] {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' | '…' => ends_sentence(&chars, from, at),
                _ => false,
            };
            if is_end {
                all.push(chars[from..=at].iter().collect());
                from = at + 1;
            }
            at += 1;
        }
        all.push(chars[from.min(chars.len())..].iter().collect());
        if all.len() > SENTENCES {
            break;
        }
    }
    let tidy = |sentence: String| text_kit::one_line(&sentence).trim().to_owned();
    all.into_iter().map(tidy).filter(|s| s.chars().any(char::is_alphabetic)).take(SENTENCES).collect()
}

/// How far around a mark is looked, in characters.
const AROUND: usize = 12;

/// Whether the mark at `at` ends the sentence that began at `from`.
fn ends_sentence(chars: &[char], from: usize, at: usize) -> bool {
    if !chars.get(at + 1).is_none_or(|c| c.is_whitespace() || "\"'”»)".contains(*c)) {
        return false;
    }
    // "e.g. this" and "Dr. Smith" go on.
    let word = chars[from..at].iter().rev().take(AROUND).take_while(|c| !c.is_whitespace()).count();
    let after = chars[at + 1..].iter().take(AROUND).find(|c| c.is_alphanumeric());
    (word > 3 || chars[at] != '.') && after.is_none_or(|c| !c.is_lowercase())
}

/// The lines of a paragraph that are items or headings, one each, and the others together.
fn items(paragraph: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    let mut goes_on = false;
    for line in paragraph.lines() {
        let bare = line.trim();
        let item = bare.trim_start_matches(['#', '-', '*', '+', '>', '•']).trim_start();
        if item.len() < bare.len() || !goes_on {
            all.push(item.to_owned());
        } else if let Some(last) = all.last_mut() {
            last.push(' ');
            last.push_str(bare);
        }
        // A heading is a line of its own.
        goes_on = !bare.starts_with('#');
    }
    all
}

/// The sentences of a text that say most, of together about so many words.
pub(super) fn summary(text: &str, words: usize) -> Vec<String> {
    let all = sentences(text);
    let of = |sentence: &str| -> Vec<String> {
        let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
        words.take(WORDS).map(str::to_lowercase).collect()
    };
    let terms: Vec<Vec<String>> = all.iter().map(|sentence| of(sentence)).collect();
    let mut counts: HashMap<&str, f64> = HashMap::new();
    terms.iter().flatten().for_each(|word| *counts.entry(word).or_default() += 1.0);
    let score = |n: usize| {
        let own: f64 = terms[n].iter().map(|word| counts.get(word.as_str()).copied().unwrap_or_default()).sum();
        // Long sentences have more words, and a text begins with what it is about.
        let first = if n == 0 { 1.5 } else { 1.0 };
        first * own / (terms[n].len() as f64 + 3.0)
    };
    let mut order: Vec<(usize, f64)> = (0..all.len()).map(|n| (n, score(n))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (mut chosen, mut length) = (vec![], 0);
    for (n, _) in order {
        let more = all[n].split_whitespace().count().max(all[n].chars().count() / 8);
        if chosen.is_empty() || length + more <= words {
            length += more;
            chosen.push(n);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|n| all[n].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_apart() {
        for (text, expected) in [
            ("One is here. Two is there! Three?", &["One is here.", "Two is there!", "Three?"][..]),
            ("See e.g. this page. Dr. Smith came.", &["See e.g. this page.", "Dr. Smith came."]),
            ("# Title\nA line\ngoes on.\n- first\n- second", &["Title", "A line goes on.", "first", "second"]),
            ("これは犬です。あれは猫です。", &["これは犬です。", "あれは猫です。"]),
            ("", &[]),
            ("...", &[]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn what_says_most_is_kept_in_order() {
        let text = "The boiler in the cellar needs service every year. I like tea. The service of the boiler costs 120 euros. \
                    It rained. Without service the boiler may fail in winter.";
        let kept = summary(text, 20);
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(kept[0].starts_with("The boiler in the cellar") && kept[1].contains("service"), "{kept:?}");
        assert_eq!(summary("Short.", 1), ["Short."]);
        assert!(summary("", 10).is_empty());
        summary(&"a. ".repeat(20_000), 50);
        summary(&". ".repeat(25_000), 50);
        summary(&"x".repeat(50_000), 50);
    }
}
