//! Titles of new conversations: the beginning of the first message, made different from the titles of the newest others.

use super::{Conversations, MessageRecord, TITLE};
use std::collections::HashSet;
use text_kit::{one_line, truncate};
use tool::{Id, Result, Scope, UserId};

/// How many of the person's newest conversations a new title is compared with: those on the first pages of a list.
const COMPARED: usize = 100;

impl Conversations {
    /// The title of a conversation that begins with this message; `None` when the conversation exists.
    pub(super) fn title_for(&self, user: UserId, line: &MessageRecord) -> Result<Option<String>> {
        let scope = Scope::User(user);
        if !self.heads.get_all_in(scope, &[line.conversation])?.is_empty() {
            return Ok(None);
        }
        let (_, newest) = self.heads.page(user, |_, _| true, None, (0, COMPARED))?;
        let ids: Vec<Id> = newest.into_iter().map(|(_, id)| id).collect();
        let taken = self.heads.get_all_in(scope, &ids)?.into_iter().map(|head| head.value.title.to_lowercase());
        Ok(Some(distinct(&subject(line), &taken.collect())))
    }
}

/// The text of a first message, or the names of its files, at full length.
fn subject(line: &MessageRecord) -> String {
    let words = one_line(&line.content);
    if words.is_empty() { line.media().into_iter().map(|m| m.name).collect::<Vec<_>>().join(", ") } else { words }
}

/// The beginning of a text; where that is taken (in lower case), its beginning and end; where both are, with a number.
fn distinct(text: &str, taken: &HashSet<String>) -> String {
    let is_free = |title: &String| !title.is_empty() && !taken.contains(&title.to_lowercase());
    let beginning = truncate(text, TITLE);
    if text.is_empty() || is_free(&beginning) {
        return beginning;
    }
    let whole = if beginning == text { beginning } else { both_ends(text) };
    if is_free(&whole) {
        return whole;
    }
    let numbered = |n: usize| {
        let number = format!(" ({n})");
        truncate(&whole, TITLE.saturating_sub(number.len())) + &number
    };
    // One of so many is free.
    (2..=taken.len() + 2).map(numbered).find(is_free).unwrap_or(whole)
}

/// The two ends of a text, where two long messages that begin alike may differ.
fn both_ends(text: &str) -> String {
    let half = TITLE / 2 - 2;
    let length = text.chars().count();
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length.saturating_sub(half)).collect();
    format!("{} … {}", start.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(titles: &[&str]) -> HashSet<String> {
        titles.iter().map(|title| title.to_lowercase()).collect()
    }

    #[test]
    fn titles_differ() {
        assert_eq!(distinct("hello", &taken(&[])), "hello");
        assert_eq!(distinct("Hello", &taken(&["hello"])), "Hello (2)");
        assert_eq!(distinct("hello", &taken(&["hello", "Hello (2)", "hello (4)"])), "hello (3)");
        assert_eq!(distinct("", &taken(&[""])), "", "a message without words has no title");
    }

    #[test]
    fn long_messages_that_begin_alike_show_their_ends() {
        let about = |what: &str| format!("write a polite but firm letter to the landlord of the flat about {what}");
        let (heating, deposit) = (about("the heating"), about("the deposit"));
        let first = distinct(&heating, &taken(&[]));
        let second = distinct(&deposit, &taken(&[&first]));
        assert!(first.starts_with("write a polite") && first.chars().count() <= TITLE + 1, "{first}");
        assert!(second.starts_with("write a polite") && second.ends_with("about the deposit"), "{second}");
        let third = distinct(&deposit, &taken(&[&first, &second]));
        assert!(third.ends_with(" (2)"), "{third}");
        for title in [&first, &second, &third] {
            assert!(title.chars().count() <= TITLE + 1, "{title}");
        }
    }

    #[test]
    fn letters_of_several_bytes_are_not_cut() {
        let text = "ü".repeat(200);
        let first = distinct(&text, &taken(&[]));
        let second = distinct(&text, &taken(&[&first]));
        let third = distinct(&text, &taken(&[&first, &second]));
        assert_eq!(taken(&[&first, &second, &third]).len(), 3);
    }
}
