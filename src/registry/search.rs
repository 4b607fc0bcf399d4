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

/// How long a word is that is looked for within others, in bytes: `do` would be found in `random`.
const LONG: usize = 4;

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
        query.terms.iter().try_fold(0, |sum, term| Some(sum + self.worth_of(term)?))
    }

    fn worth_of(&self, term: &Term) -> Option<u32> {
        let whole = self.worth(&term.whole.0, &term.whole.1);
        let mut parts = term.parts.iter().map(|(word, stem)| self.worth(word, stem));
        let parts = if term.parts.is_empty() { None } else { parts.try_fold(0, |sum, worth| Some(sum + worth?)) };
        whole.max(parts)
    }

    /// The best place a word is found at. It must begin a word there (`pin` is not in `shopping`), but for one of some length
    /// in a name (`mail` in `send_email`).
    fn worth(&self, word: &str, stem: &str) -> Option<u32> {
        let (bytes, mut best, mut from) = (self.text.as_bytes(), 0, 0);
        let [name, aliases, tags, description] = self.ends;
        while let Some(at) = self.text.get(from..).and_then(|rest| rest.find(stem)) {
            let at = from + at;
            let begins = at == 0 || !is_part(bytes[at - 1]);
            let ends = |length: usize| bytes.get(at + length).is_none_or(|b| !is_part(*b));
            let whole = begins && (ends(stem.len()) || (self.text[at..].starts_with(word) && ends(word.len())));
            let within = begins || stem.len() >= LONG;
            let worth = match at {
                _ if at < name && whole => IN_NAME,
                _ if at < name && within => WITHIN_NAME,
                _ if (name..aliases).contains(&at) && whole => IN_ALIAS,
                _ if (name..aliases).contains(&at) && within => WITHIN_NAME,
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
    terms: Vec<Term>,
}

/// One word of a query, or a compound: `to-do` is looked for as `todo`, and `gpio-write` also part by part.
struct Term {
    whole: Form,
    parts: Vec<Form>,
}

/// A word in lower case, and the part of it that other forms share.
type Form = (String, String);

fn form(word: &str) -> Form {
    (word.to_owned(), stem(word).to_owned())
}

impl Query {
    pub fn new(query: &str) -> Self {
        // Nobody needs more words; and each is looked for in every tool.
        let query = query.chars().take(LONGEST).collect::<String>().to_lowercase();
        let words = query.split(|c: char| !c.is_alphanumeric() && c != '-');
        let mut words: Vec<Vec<&str>> = words.map(|w| w.split('-').filter(|part| !part.is_empty()).collect()).collect();
        words.retain(|parts| !parts.is_empty());
        while let Some(at) = words.windows(2).position(|pair| pair == [["to"], ["do"]]) {
            words.splice(at..at + 2, [vec!["to", "do"]]);
        }
        let is_empty = |parts: &[&str]| parts.len() == 1 && EMPTY.contains(&parts[0]);
        if !words.iter().all(|parts| is_empty(parts)) {
            words.retain(|parts| !is_empty(parts));
        }
        if words == [["all"]] {
            words.clear();
        }
        let term = |parts: Vec<&str>| {
            let telling = parts.len() > 1 && parts.iter().all(|part| part.chars().count() > 2);
            let apart = if telling { parts.iter().map(|part| form(part)).collect() } else { vec![] };
            Term { whole: form(&parts.concat()), parts: apart }
        };
        Self { terms: words.into_iter().map(term).collect() }
    }

    /// Whether everything is looked for: nothing, or `all`.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
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
        let random = words("random_number", &[], "dice", "Draw a number.", "Random");
        let task = words("add_task", &[], "todo to-do plan", "Add a task.", "Tasks");
        let rows = [
            (&email, "send", Some(8)),
            (&email, "email", Some(8)),
            (&email, "emails", Some(8)),
            (&email, "mail", Some(6)),
            (&email, "ema", Some(5)),
            (&email, "mai", Some(5)),
            (&email, "nd", None),
            (&email, "e-mail", Some(8)),
            (&email, "send-email", Some(16)),
            (&email, "send-pigeon", None),
            (&random, "do", None),
            (&random, "to-do", None),
            (&random, "to do", None),
            (&random, "todo", None),
            (&task, "to-do", Some(4)),
            (&task, "to do", Some(4)),
            (&task, "how to do plan", None),
            (&task, "plans", Some(4)),
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
