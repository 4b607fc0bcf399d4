//! Search for conversations by words in their titles and messages.
//!
//! A word that few messages contain leads to their conversations, so all of them are found and counted. With frequent words the
//! conversations are looked at one by one, the latest first, until a page is full.

use super::{ConversationSummary, Conversations, Head, MessageRecord, directory::Position, pages::Cursor, summary};
use std::collections::HashSet;
use store::{Entry, Searching, Visit, Walk, Words};
use text_kit::{find_part, one_line, search_parts};
use tool::{Cx, Error, Id, Label, Result, Scope};

/// Maximum number of words in a query: each is searched in every message.
const WORDS: usize = 8;
/// A word in at most this many messages is rare.
const RARE: usize = 256;
/// How many conversations are looked at before the page is checked, at first and at most.
const FIRST: usize = 32;
const MOST: usize = 512;
/// Length of an excerpt before the word, and from the word on, in characters.
const BEFORE: usize = 40;
const FROM: usize = 80;

/// Splits a query into lower-case words and quoted phrases.
pub(crate) fn words(query: &str) -> Vec<String> {
    let mut parts = search_parts(query);
    parts.truncate(WORDS);
    parts
}

/// Matches of a conversation: a bit for each word, and an excerpt of the message with the most words.
#[derive(Default)]
struct ConversationMatch {
    words: u8,
    best: Option<(u32, String)>,
}

impl Conversations {
    /// Finds the conversations that contain all words, the latest first: all of them, or at least `wanted` of those below `before`.
    pub async fn search(
        &self,
        cx: &Cx,
        words: Vec<String>,
        before: Option<Cursor>,
        wanted: usize,
    ) -> Result<Vec<ConversationSummary>> {
        let (this, cx) = (self.clone(), cx.clone());
        // A small board needs a while for thousands of messages; do not block other requests.
        let searched = tokio::task::spawn_blocking(move || this.search_now(&cx, &words, before, wanted)).await;
        searched.map_err(|e| Error::failed(format!("the search broke off: {e}")))?
    }

    fn search_now(
        &self,
        cx: &Cx,
        words: &[String],
        before: Option<Cursor>,
        wanted: usize,
    ) -> Result<Vec<ConversationSummary>> {
        let few = self.with_rare_word(cx, words)?;
        let (before, wanted) = match few {
            Some(_) => (None, usize::MAX),
            None => (before.map(|cursor| cursor.0), wanted),
        };
        let fits = |id| few.as_ref().is_none_or(|few| few.contains(&id));
        let (_, all) = self.heads.page(cx.user(), |id, _| fits(id), before, (0, usize::MAX))?;
        let (mut found, mut rest, mut next) = (vec![], &all[..], FIRST);
        while !rest.is_empty() && found.len() < wanted {
            let (some, others) = rest.split_at(next.min(rest.len()));
            self.matching(cx, some, words, &mut found)?;
            (rest, next) = (others, (next * 2).min(MOST));
        }
        Ok(found)
    }

    /// The conversations that may match, where few messages contain one of the words.
    fn with_rare_word(&self, cx: &Cx, words: &[String]) -> Result<Option<HashSet<Id>>> {
        let mut rarest: Option<(usize, &String)> = None;
        for word in words {
            let one = Words::one_of(std::slice::from_ref(word));
            let count = self.lines.searching(cx, &one, |lines| Ok(lines.candidates()))?;
            rarest = count.map(|count| (count, word)).into_iter().chain(rarest).min();
        }
        let Some((_, word)) = rarest.filter(|(count, _)| *count <= RARE) else { return Ok(None) };
        let (mut found, one) = (HashSet::new(), Words::one_of(std::slice::from_ref(word)));
        self.lines.search_newest(cx, &one, |line| {
            found.insert(line.value.conversation);
            Visit::No
        })?;
        self.heads.search_newest(cx, &one, |head| {
            found.insert(head.id);
            Visit::No
        })?;
        Ok(Some(found))
    }

    /// Appends those of some conversations that match.
    fn matching(
        &self,
        cx: &Cx,
        some: &[Position],
        words: &[String],
        found: &mut Vec<ConversationSummary>,
    ) -> Result<()> {
        let ids: Vec<Id> = some.iter().map(|(_, id)| *id).collect();
        // One that cannot be read hides no others.
        let heads = self.heads.get_all_in(Scope::User(cx.user()), &ids)?;
        let all = all_of(words);
        let matches = self.lines.searching(cx, &Words::one_of(words), |lines| {
            let titled = |head: &Entry<Head>| occurring(&head.value.title, words);
            let of = |head: &Entry<Head>| match titled(head) {
                titled if titled == all => Ok((ConversationMatch { words: titled, best: None }, Label::Own)),
                titled => match_of(lines, head.id, words)
                    .map(|(found, label)| (ConversationMatch { words: found.words | titled, ..found }, label)),
            };
            heads.iter().map(of).collect::<store::Result<Vec<_>>>()
        })?;
        for (head, (matched, label)) in heads.into_iter().zip(matches) {
            if matched.words == all {
                cx.taint(head.label.max(label));
                found.push(ConversationSummary { excerpt: matched.best.map(|(_, excerpt)| excerpt), ..summary(head) });
            }
        }
        Ok(())
    }
}

/// The words in the messages of a conversation, and the label of these messages.
fn match_of(
    lines: &Searching<MessageRecord>,
    conversation: Id,
    words: &[String],
) -> store::Result<(ConversationMatch, Label)> {
    let (mut found, mut label, mut is_done) = (ConversationMatch::default(), Label::Own, false);
    lines.walk(&Walk::prefix(1, conversation.as_bytes()).down(), |line| {
        if is_done {
            return Visit::Stop;
        }
        let hits = occurring(&line.value.content, words);
        if hits > 0 {
            label = label.max(line.label);
            found.words |= hits;
            if found.best.as_ref().is_none_or(|(most, _)| *most < hits.count_ones()) {
                found.best = Some((hits.count_ones(), excerpt(&line.value.content, words)));
            }
            // No other message has more of them.
            is_done = hits == all_of(words);
        }
        Visit::No
    })?;
    Ok((found, label))
}

fn all_of(words: &[String]) -> u8 {
    words.iter().enumerate().fold(0, |bits, (n, _)| bits | 1 << n)
}

/// A bit for each word that occurs in the text.
fn occurring(text: &str, words: &[String]) -> u8 {
    let text = text.to_lowercase();
    words.iter().enumerate().filter(|(_, word)| find_part(&text, word).is_some()).fold(0, |bits, (n, _)| bits | 1 << n)
}

/// The text around the first occurrence of one of the words, on one line.
fn excerpt(text: &str, words: &[String]) -> String {
    let line = one_line(text);
    let lower = line.to_lowercase();
    let at = words.iter().filter_map(|word| find_part(&lower, word)).min().unwrap_or_default();
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
        let shown = excerpt(&format!("{} the heat pump", "heat ".repeat(100)), &words("\"heat  pump\""));
        assert!(shown.ends_with("the heat pump"), "{shown}");
    }

    #[test]
    fn words_occur_in_any_case_and_within_others() {
        let words = words("Heat PUMP");
        assert_eq!(occurring("the heatpump", &words), all_of(&words));
        assert_eq!(occurring("a pump", &words), 0b10);
        let words = super::words("\"Heat PUMP\" \"a heat\"");
        assert_eq!(occurring("the heat\npump", &words), 0b01);
    }
}
