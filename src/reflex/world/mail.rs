//! Reading mail: "any new mail?", "read my mail", "mails from Anna".

use super::{Ask, behind, only};
use crate::{sentence::Sentence, slots::names};
use serde_json::json;

/// How many mails are told.
const TOLD: u32 = 10;

const MAIL: &[&str] = &["mail", "mails", "email", "emails", "e-mail", "e-mails", "inbox", "mailbox", "mailboxes"];
const NEW: &[&str] = &["new", "unread", "any", "fresh"];
const FILLERS: &[&str] = &[
    "read", "check", "show", "list", "me", "us", "my", "our", "the", "is", "are", "there", "what", "in", "have", "i",
    "we", "got", "do", "did", "has", "get", "latest", "last", "newest", "recent", "out", "aloud", "today", "came",
    "come", "arrived", "which", "any", "some", "all", "of", "please", "you", "messages", "for", "tell", "give", "does",
    "look", "at", "open", "box",
];

pub(super) fn read(s: &Sentence) -> Option<Ask> {
    let at = (0..s.len()).find(|at| MAIL.contains(&s.word(*at)))?;
    let begins = behind(
        s,
        0,
        &[
            "read",
            "check",
            "show",
            "list",
            "any",
            "new",
            "unread",
            "is",
            "are",
            "have",
            "do",
            "did",
            "what",
            "which",
            "has",
            "my",
            "the latest",
            "look",
            "open",
            "give",
        ],
    );
    if begins.is_none() && at > 0 {
        return None;
    }
    let around = || (0..s.len()).filter(|i| *i != at && !NEW.contains(&s.word(*i)));
    if s.word(at + 1) == "from"
        && let Some((count, _, name)) = names::person(s, at + 2).into_iter().next()
        && at + 2 + count == s.len()
        && only(s, around().filter(|i| *i < at), FILLERS)
    {
        let mut arguments = json!({"query": "*", "from": name, "limit": TOLD});
        if s.mentions(&["new", "unread"]) {
            arguments["unreadOnly"] = true.into();
        }
        return Some(Ask::call("search_emails", arguments));
    }
    // "mail" alone may be the beginning of anything.
    if !only(s, around(), FILLERS) || s.len() == 1 || begins.is_none() {
        return None;
    }
    let mut arguments = json!({"limit": TOLD});
    if s.mentions(NEW) {
        arguments["unreadOnly"] = true.into();
    }
    Some(Ask::call("list_emails", arguments))
}
