//! Search for conversations by words in their titles and messages.

use super::{ConversationSummary, Conversations, Head, summary};
use std::collections::{HashMap, HashSet};
use store::{Entry, Visit, Words};
use text_kit::one_line;
use tool::{Cx, Error, Id, Label, Result};

/// Maximum number of words in a query: each is searched in every message.
const WORDS: usize = 8;
/// Number of messages with one of the words that are read, the newest first. Without the index of words: of all messages.
const SEARCHED: usize = 10_000;
/// Length of an excerpt before the word, and from the word on, in characters.
const BEFORE: usize = 40;
const FROM: usize = 80;

/// Splits a query into lower-case words.
pub(crate) fn words(query: &str) -> Vec<String> {
    query.split_whitespace().take(WORDS).map(str::to_lowercase).collect()
}

/// Matches of a conversation: a bit for each word, and an excerpt of the message with the most words.
#[derive(Default)]
struct ConversationMatch {
    words: u8,
    best: Option<(u32, String)>,
}

impl Conversations {
    /// Returns the conversations that contain all words, the latest first.
    pub async fn search(&self, cx: &Cx, words: Vec<String>) -> Result<Vec<ConversationSummary>> {
        let (this, cx) = (self.clone(), cx.clone());
        // A small board needs a while for thousands of messages; do not block other requests.
        let searched = tokio::task::spawn_blocking(move || this.search_now(&cx, &words)).await;
        searched.map_err(|e| Error::failed(format!("the search broke off: {e}")))?
    }

    fn search_now(&self, cx: &Cx, words: &[String]) -> Result<Vec<ConversationSummary>> {
        let mut found = HashMap::<Id, ConversationMatch>::new();
        let (mut searched, mut label, one_of) = (0, Label::Own, Words::one_of(words));
        self.lines.search_newest(cx, &one_of, |line| {
            searched += 1;
            if searched > SEARCHED {
                return Visit::Stop;
            }
            let hits = occurring(&line.value.content, words);
            if hits > 0 {
                label = label.max(line.label);
                let found = found.entry(line.value.conversation).or_default();
                found.words |= hits;
                if found.best.as_ref().is_none_or(|(most, _)| *most < hits.count_ones()) {
                    found.best = Some((hits.count_ones(), excerpt(&line.value.content, words)));
                }
            }
            Visit::No
        })?;
        cx.taint(label);
        let has_word =
            |head: &Entry<Head>| match found.contains_key(&head.id) || occurring(&head.value.title, words) > 0 {
                true => Visit::Yes,
                false => Visit::No,
            };
        let mut heads = self.heads.search_newest(cx, &one_of, has_word)?;
        let titled: HashSet<Id> = heads.iter().map(|head| head.id).collect();
        for id in found.keys().filter(|id| !titled.contains(id)) {
            // One that cannot be read hides no others.
            heads.extend(self.heads.get(cx, *id).ok().flatten());
        }
        let all = all_of(words);
        let matching = heads.into_iter().map(summary).filter_map(|mut conversation| {
            let titled = occurring(&conversation.title, words);
            let found = found.remove(&conversation.id).unwrap_or_default();
            if titled != all {
                conversation.excerpt = found.best.map(|(_, excerpt)| excerpt);
            }
            (titled | found.words == all).then_some(conversation)
        });
        let mut matching: Vec<_> = matching.collect();
        matching.sort_by_key(|conversation| std::cmp::Reverse((conversation.updated_at, conversation.id)));
        Ok(matching)
    }
}

fn all_of(words: &[String]) -> u8 {
    words.iter().enumerate().fold(0, |bits, (n, _)| bits | 1 << n)
}

/// A bit for each word that occurs in the text.
fn occurring(text: &str, words: &[String]) -> u8 {
    let text = text.to_lowercase();
    words.iter().enumerate().filter(|(_, word)| text.contains(*word)).fold(0, |bits, (n, _)| bits | 1 << n)
}

/// The text around the first occurrence of one of the words, on one line.
fn excerpt(text: &str, words: &[String]) -> String {
    let line = one_line(text);
    let lower = line.to_lowercase();
    let at = words.iter().filter_map(|word| lower.find(word)).min().unwrap_or_default();
    // Count characters: lower case may change a letter's length in bytes, but rarely the number of characters.
    let at = lower[..at].chars().count();
    let from = at.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(from).take(at - from + FROM).collect();
    let (shown, whole) = (shown.trim(), line.chars().count() <= at + FROM);
    format!("{}{shown}{}", if from > 0 { "…" } else { "" }, if whole { "" } else { "…" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_word_and_what_is_around_it() {
        let long = format!("{} the BOILER\nhums {}", "x ".repeat(100), "y ".repeat(100));
        let shown = excerpt(&long, &words("boiler hums"));
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains("x the BOILER hums y"), "{shown}");
        assert!(shown.chars().count() <= BEFORE + FROM + 2);
        assert_eq!(excerpt("short and boiler", &words("Boiler")), "short and boiler");
        assert_eq!(excerpt("İİİ boiler", &words("boiler")), "İİİ boiler");
        assert_eq!(excerpt("", &words("x")), "");
    }

    #[test]
    fn words_occur_in_any_case_and_within_others() {
        let words = words("Heat PUMP");
        assert_eq!(occurring("the heatpump", &words), all_of(&words));
        assert_eq!(occurring("a pump", &words), 0b10);
    }
}
