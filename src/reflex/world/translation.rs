//! "translate good morning into German", "how do you say thank you in Japanese".

use super::{Ask, behind};
use crate::sentence::Sentence;
use serde_json::json;

/// What is asked where the words are only pointed at.
const WHICH: &str = "Give me the words, and I translate them: “translate good morning into German”.";

const BEFORE_TEXT: &[&str] = &[
    "translate",
    "translate this",
    "translate that",
    "translate the text",
    "translate this text",
    "translate the following",
    "translate the following text",
    "translate the words",
    "translate the word",
    "translate the phrase",
    "translate the sentence",
    "translate this sentence",
    "translate for me",
    "give me a translation of",
    "what is the translation of",
];
const SAY: &[&str] = &[
    "how do you say",
    "how do i say",
    "how do we say",
    "how does one say",
    "how would you say",
    "how would i say",
    "how can i say",
    "how to say",
    "how do you write",
    "how do i write",
    "say",
];
/// What a text is that is not given.
const POINTED_AT: &[&str] =
    &["this", "that", "it", "these", "the", "my", "our", "her", "his", "their", "them", "everything", "all"];
const THINGS: &[&str] = &[
    "note",
    "notes",
    "letter",
    "page",
    "site",
    "file",
    "document",
    "article",
    "text",
    "mail",
    "email",
    "message",
    "list",
    "pdf",
    "webpage",
    "website",
    "it",
    "this",
    "that",
    "sentence",
    "word",
    "paragraph",
    "book",
    "menu",
    "recipe",
];

pub(super) fn read(s: &Sentence) -> Option<Ask> {
    let (from, to, language, starts) = spans(s)?;
    let text = s.slice(from, to);
    // "how do you say thank you" is no command to be translated alone.
    if text.is_empty() {
        return starts.then_some(Ask::Say(WHICH));
    }
    let quoted = s.tokens.get(from).is_some_and(|token| token.opens);
    let points = POINTED_AT.contains(&s.word(from));
    let pointed = points && (to - from == 1 || to - from <= 3 && THINGS.contains(&s.word(to - 1)));
    if pointed && !quoted {
        return starts.then_some(Ask::Say(WHICH));
    }
    Some(Ask::call("translate_text", json!({"text": text, "targetLanguage": language})))
}

/// The words, the language, and whether "translate" begins the sentence.
fn spans(s: &Sentence) -> Option<(usize, usize, &'static str, bool)> {
    let end = s.len();
    if let Some(begin) = behind(s, 0, BEFORE_TEXT) {
        // "translate into German: good morning", "translate this to French: …".
        for at in [1, begin] {
            if into(s, at)
                && let Some((count, language)) = named(s, at + 1)
            {
                return Some((at + 1 + count, end, language, true));
            }
        }
        let (at, language) = last(s, begin)?;
        return Some((begin, at, language, true));
    }
    if let Some(begin) = behind(s, 0, SAY) {
        let (at, language) = last(s, begin)?;
        return (at > begin).then_some((begin, at, language, false));
    }
    // "what's German for hedgehog", "what's the German word for hedgehog".
    let begin = behind(s, 0, &["what is", "what is the"])?;
    if let Some((count, language)) = named(s, begin) {
        let at = behind(s, begin + count, &["for", "word for", "name for", "translation of", "translation for"])?;
        return (at < end).then_some((at, end, language, false));
    }
    // "what is “hedgehog” in German".
    let (at, language) = last(s, 2)?;
    let quoted = s.tokens.get(2).is_some_and(|token| token.opens);
    (at > 2 && (quoted || at - 2 <= 3 && !["the", "my", "our", "this", "that"].contains(&s.word(2))))
        .then_some((2, at, language, false))
}

fn into(s: &Sentence, at: usize) -> bool {
    ["into", "to", "in"].contains(&s.word(at))
}

/// The language at the end, and where the words before it end.
fn last(s: &Sentence, from: usize) -> Option<(usize, &'static str)> {
    (from..s.len().saturating_sub(1)).rev().take(4).find_map(|at| {
        let (count, language) = named(s, at + 1).filter(|_| into(s, at))?;
        (at + 1 + count == s.len()).then_some((at, language))
    })
}

/// The language named at `at`, by its name and not by a code: "it" and "no" are words.
fn named(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    const MISSPELT: &[(&str, &str)] = &[("portugese", "portuguese"), ("chineese", "chinese"), ("itallian", "italian")];
    [2, 1].into_iter().find_map(|count| {
        let words: Vec<&str> = (at..at + count).map(|at| s.word(at)).collect();
        let name = words.join(" ");
        let name = MISSPELT.iter().find(|(wrong, _)| *wrong == name).map_or(name.as_str(), |(_, right)| right);
        // "brazilian portuguese" is passed on with its region.
        let region = match name {
            "brazilian portuguese" => Some("pt-BR"),
            "traditional chinese" => Some("zh-Hant"),
            "simplified chinese" => Some("zh-Hans"),
            _ => None,
        };
        let language = language::find(name).filter(|_| name.chars().count() > 3 && at + count <= s.len())?;
        Some((count, region.unwrap_or(language.name)))
    })
}
