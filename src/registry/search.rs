//! Finds tools by words: each word of the query must occur in a tool's name, aliases, tags, description or category.

use tool::Tool;

/// Stop words.
const EMPTY: &[&str] = &["a", "an", "the", "to", "of", "for", "my", "me", "i", "with", "and", "please"];

/// The score of a word by where it is found.
const IN_NAME: u32 = 8;
const IN_ALIAS: u32 = 6;
const WITHIN_NAME: u32 = 5;
const IN_TAGS: u32 = 4;
const IN_DESCRIPTION: u32 = 2;
const IN_HEADING: u32 = 1;

/// The least length of a word that may match inside another, in bytes: `do` would match in `random`.
const LONG: usize = 4;

/// The searchable text of a tool, in lower case and one piece.
pub(crate) struct Words {
    text: Box<str>,
    /// The end of each part: name, aliases, tags, description; the category ends the text.
    ends: [usize; 4],
}

impl Words {
    pub fn of(tool: &Tool) -> Self {
        let (mut text, mut ends) = (String::new(), [0; 4]);
        let aliases = tool.aliases.iter().map(|a| &*a.name).collect::<Vec<_>>().join(" ");
        let parts = [&*tool.name, &aliases, tool.tags, tool.description()];
        for (part, end) in parts.into_iter().zip(&mut ends) {
            text += &part.to_lowercase();
            *end = text.len();
            text.push(' ');
        }
        text += &tool.category.to_lowercase();
        Self { text: text.into(), ends }
    }

    /// The score of a tool for all words; `None` when one does not occur.
    pub fn score(&self, query: &Query) -> Option<u32> {
        query.terms.iter().try_fold(0, |sum, term| Some(sum + self.worth_of(term)?))
    }

    fn worth_of(&self, term: &Term) -> Option<u32> {
        let whole = self.worth(&term.whole.0, &term.whole.1);
        let mut parts = term.parts.iter().map(|(word, stem)| self.worth(word, stem));
        let parts = if term.parts.is_empty() { None } else { parts.try_fold(0, |sum, worth| Some(sum + worth?)) };
        whole.max(parts)
    }

    /// The best score of a word. It must be at the start of a word (`pin` is not in `shopping`), except a long one in a name
    /// (`mail` in `send_email`).
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
            // Later parts score lower, except a word inside a name that is an alias too.
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

/// The longest query, in characters; the rest is ignored.
pub(crate) const LONGEST: usize = 400;

/// A search query.
pub(crate) struct Query {
    terms: Vec<Term>,
}

/// One word of a query, or a compound: `to-do` matches `todo`, and `gpio-write` also matches by its parts.
struct Term {
    whole: Form,
    parts: Vec<Form>,
}

/// A word in lower case, and its stem.
type Form = (String, String);

fn form(word: &str) -> Form {
    (word.to_owned(), stem(word).to_owned())
}

impl Query {
    pub fn new(query: &str) -> Self {
        // Each word is searched in every tool, so their number is limited.
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

    /// Whether the query is empty or `all`, which match everything.
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
    use std::sync::Arc;
    use tool::{Alias, Owner, Risk, Signature, Tool};

    fn words(name: &str, aliases: &[&str], tags: &'static str, description: &str, category: &str) -> Words {
        let run: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(tool::Output::default()) }));
        let mut tool = Tool::new(name, Risk::Observe, Owner::Core, "test", run);
        tool.aliases = aliases.iter().map(|a| Alias { name: (*a).into(), adapt: None }).collect();
        tool.tags = tags;
        tool.signature = Signature::given(description, serde_json::Value::Null);
        tool.category = category.into();
        Words::of(&tool)
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
