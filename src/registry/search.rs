//! Finding tools by words: each word of the query has to be somewhere in a tool's name, aliases, tags, description or
//! heading.

use tool::Tool;

/// Words that say nothing about what is looked for.
const EMPTY: &[&str] = &["a", "an", "the", "to", "of", "for", "my", "me", "i", "with", "and", "please"];

/// What a word is worth where it is found.
const IN_NAME: u32 = 8;
const IN_ALIAS: u32 = 6;
const WITHIN_NAME: u32 = 5;
const IN_TAGS: u32 = 4;
const IN_DESCRIPTION: u32 = 2;
const IN_HEADING: u32 = 1;

/// What a tool is found by, in lower case and one piece, made once.
pub(crate) struct Words {
    text: Box<str>,
    /// Where each part ends: name, aliases, tags, description; the heading ends the text.
    ends: [usize; 4],
}

impl Words {
    pub fn of(tool: &Tool) -> Self {
        let (mut text, mut ends) = (String::new(), [0; 4]);
        let aliases = tool.aliases.iter().map(|a| &*a.name).collect::<Vec<_>>().join(" ");
        let parts = [&*tool.name, &aliases, &tool.tags.join(" "), &*tool.description];
        for (part, end) in parts.into_iter().zip(&mut ends) {
            text += &part.to_lowercase();
            *end = text.len();
            text.push(' ');
        }
        text += &tool.category.to_lowercase();
        Self { text: text.into(), ends }
    }

    /// How well a tool fits all the words; `None` when one is nowhere.
    pub fn score(&self, query: &Query) -> Option<u32> {
        query.stems.iter().try_fold(0, |sum, (word, stem)| Some(sum + self.worth(word, stem)?))
    }

    /// The best place a word is found at. In a name it may stand anywhere (`mail` in `send_email`), elsewhere it must begin
    /// a word: `pin` is not in `shopping`.
    fn worth(&self, word: &str, stem: &str) -> Option<u32> {
        let (bytes, mut best, mut from) = (self.text.as_bytes(), 0, 0);
        let [name, aliases, tags, description] = self.ends;
        while let Some(at) = self.text.get(from..).and_then(|rest| rest.find(stem)) {
            let at = from + at;
            let begins = at == 0 || !is_part(bytes[at - 1]);
            let ends = |length: usize| bytes.get(at + length).is_none_or(|b| !is_part(*b));
            let whole = begins && (ends(stem.len()) || (self.text[at..].starts_with(word) && ends(word.len())));
            let worth = match at {
                _ if at < name && whole => IN_NAME,
                _ if at < name => WITHIN_NAME,
                _ if at < aliases && whole => IN_ALIAS,
                _ if at < aliases => WITHIN_NAME,
                _ if !begins => 0,
                _ if at < tags => IN_TAGS,
                _ if at < description => IN_DESCRIPTION,
                _ => IN_HEADING,
            };
            best = best.max(worth);
            // Places get no better towards the end, but for a word within a name that is an alias too.
            if at >= aliases && best > 0 {
                break;
            }
            from = at + stem.len();
        }
        (best > 0).then_some(best)
    }
}

/// Whether a byte is part of a word; letters beyond ASCII are.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// How much of a query counts, in characters.
pub(crate) const LONGEST: usize = 400;

/// What somebody looks for.
pub(crate) struct Query {
    /// Each word in lower case, and the part of it that other forms share.
    stems: Vec<(String, String)>,
}

impl Query {
    pub fn new(query: &str) -> Self {
        // Nobody needs more words; and each is looked for in every tool.
        let query = query.chars().take(LONGEST).collect::<String>().to_lowercase();
        let words = || query.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        let mut telling: Vec<&str> = words().filter(|w| !EMPTY.contains(w)).collect();
        if telling.is_empty() {
            telling = words().collect();
        }
        if telling == ["all"] {
            telling.clear();
        }
        Self { stems: telling.into_iter().map(|w| (w.to_owned(), stem(w).to_owned())).collect() }
    }

    /// Whether everything is looked for: nothing, or `all`.
    pub fn is_everything(&self) -> bool {
        self.stems.is_empty()
    }
}

/// A word without the ending of its plural.
fn stem(word: &str) -> &str {
    let cut = |ending: &str, least: usize| word.strip_suffix(ending).filter(|s| s.chars().count() >= least);
    cut("ies", 3).or_else(|| cut("s", 3).filter(|s| !s.ends_with('s'))).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::Arc;
    use tool::{Alias, Risk};

    fn words(name: &str, aliases: &[&str], tags: &str, description: &str, category: &str) -> Words {
        let (_, _, _, mut tools) = tool::Family::new("test", "", ()).tool(name, Risk::Observe, nothing).into_parts();
        let mut tool = tools.remove(0);
        tool.aliases = aliases.iter().map(|a| Alias { name: (*a).into(), adapt: None }).collect();
        tool.tags = tags.split_whitespace().map(Arc::from).collect();
        tool.description = description.into();
        tool.category = category.into();
        Words::of(&tool)
    }

    #[derive(serde::Deserialize, tool::prelude::JsonSchema)]
    #[schemars(crate = "tool::prelude::schemars")]
    struct Nothing {}

    async fn nothing(_: (), _: tool::Cx, _: Nothing) -> tool::Result<Value> {
        Ok(Value::Null)
    }

    #[test]
    fn every_word_counts_where_it_stands() {
        let email =
            words("send_email", &["mail_out"], "smtp notify letters", "Send a message to somebody's mailbox.", "Email");
        let memory = words("list_memories", &[], "", "Shopping and highlights of Über-Leute.", "Memory");
        let rows = [
            (&email, "send", Some(8)),
            (&email, "email", Some(8)),
            (&email, "emails", Some(8)),
            (&email, "mail", Some(6)),
            (&email, "ema", Some(5)),
            (&email, "Notify", Some(4)),
            (&email, "letter", Some(4)),
            (&email, "messages", Some(2)),
            (&email, "send an email", Some(16)),
            (&email, "send pigeon", None),
            (&email, "box", None),
            (&memory, "memories", Some(8)),
            (&memory, "memory", Some(1)),
            (&memory, "pin", None),
            (&memory, "light", None),
            (&memory, "shop", Some(2)),
            (&memory, "über", Some(2)),
            (&memory, "leute", Some(2)),
        ];
        for (tool, query, expected) in rows {
            assert_eq!(tool.score(&Query::new(query)), expected, "{query}");
        }
    }

    #[test]
    fn nothing_and_all_mean_everything() {
        for (query, everything) in
            [("", true), (" - ", true), ("all", true), ("ALL", true), ("the", false), ("all pins", false)]
        {
            assert_eq!(Query::new(query).is_everything(), everything, "{query}");
        }
    }
}
