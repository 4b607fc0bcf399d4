//! Detects empty content: "remember that", "remember everything", "my name is what" are not stored.

use crate::sentence::{QUESTION_WORDS, Sentence};
use serde_json::{Map, Value};

/// The arguments that hold content.
const CONTENTS: &[&str] =
    &["content", "title", "message", "text", "taskId", "memoryId", "noteId", "eventId", "bookmarkId", "goalId"];

/// Words that refer to something without naming it.
const POINTING: &[&str] = &[
    "that",
    "this",
    "it",
    "these",
    "those",
    "me",
    "you",
    "him",
    "her",
    "us",
    "them",
    "he",
    "she",
    "i",
    "we",
    "they",
    "myself",
    "yourself",
    "everything",
    "anything",
    "something",
    "nothing",
    "all",
    "the",
    "following",
    "of",
    "is",
    "am",
    "are",
    "and",
    "or",
    "to",
    "about",
    "for",
    "please",
    "remember",
    "memorize",
    "memorise",
    "forget",
    "note",
    "again",
    "always",
    "forever",
    "now",
];

/// Words after which a question word stands for missing content.
const BEFORE_GAP: &[&str] = &["is", "are", "am", "was", "were", "in", "at", "on", "to", "like", "love", "prefer"];

/// The argument that makes a call store nothing meaningful, if any.
pub(crate) fn empty_argument(arguments: &Map<String, Value>) -> Option<&'static str> {
    let hollow = |name: &&&str| arguments.get(**name).and_then(Value::as_str).is_some_and(is_hollow);
    CONTENTS.iter().find(hollow).copied()
}

fn is_hollow(text: &str) -> bool {
    let s = Sentence::whole(text);
    let asks = |word: &str| QUESTION_WORDS.contains(&word);
    // "my name is what" is a question; "Tom knows who" is not.
    let gap = s.len() > 1 && asks(s.word(s.len() - 1)) && BEFORE_GAP.contains(&s.word(s.len() - 2));
    gap || s.tokens.iter().all(|t| POINTING.contains(&t.word.as_str()) || asks(&t.word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_without_content_are_found() {
        for text in ["that", "This!", "me", "everything", "remember", "???", "", "my name is what", "what", "all of it"]
        {
            assert!(is_hollow(text), "{text}");
        }
        for text in ["milk", "that Ana is here", "Tom knows who", "my name is Watt", "I love you all dearly", "47"] {
            assert!(!is_hollow(text), "{text}");
        }
    }
}
