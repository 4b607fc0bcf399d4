//! Sentences about the world: the weather, translations, pages, documents and recordings, searches, mail. Each is read whole: where a word is
//! left over that means something, another stage decides.

mod errand;
mod mail;
mod pages;
mod translation;
mod weather;

use crate::{sentence::Sentence, talkback::exchange::Exchange};
use jiff::Zoned;
use llm::ToolResult;
use serde_json::Value;

/// What a sentence asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// Calls that look or make files, and the tool that is called with what they find.
    Calls { first: Vec<Call>, then: Option<&'static str> },
    /// A reply.
    Say(&'static str),
}

/// A tool, and its arguments.
pub(crate) type Call = (&'static str, Value);

/// What follows the results of an errand's calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Call(Call),
    Say(String),
}

impl Ask {
    fn call(tool: &'static str, arguments: Value) -> Self {
        Self::Calls { first: vec![(tool, arguments)], then: None }
    }
}

/// What the whole sentence asks for.
pub(crate) fn read(s: &Sentence, now: &Zoned) -> Option<Ask> {
    errand::read(s)
        .map(|errand| errand.begins())
        .or_else(|| translation::read(s))
        .or_else(|| pages::read(s))
        .or_else(|| mail::read(s))
        .or_else(|| weather::read(s, now))
}

/// Whether a sentence begins as one about the weather that asks for something.
pub(crate) fn asks_for_weather(s: &Sentence) -> bool {
    weather::begins(s)
}

/// The weather that is asked for among other words.
pub(crate) fn weather_among_others(s: &Sentence, now: &Zoned) -> Ask {
    weather::among_others(s, now)
}

/// The next call or the answer after the results of a sentence's calls; `None` where their own sentences are the answer.
pub(crate) fn next(said: &str, results: &[&ToolResult], has: &dyn Fn(&str) -> bool) -> Option<Next> {
    errand::read(&Sentence::read(said))?.next(results, has)
}

/// "and tomorrow?", "and in Graz?" after the weather.
pub(crate) fn after(text: &str, exchanges: &[Exchange], now: &Zoned) -> Option<Call> {
    weather::after(&Sentence::read(text), exchanges.first()?, now)
}

/// What is said where this tool is not there; nothing where the refusal by topic says it.
pub(crate) fn missing(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "translate_text" => {
            "I cannot translate yet: an admin can enter a key of DeepL or a LibreTranslate server under Services, or choose a model."
        }
        "send_email" => "I cannot send mail yet: an admin can add an account under Services, “Mail: sending”.",
        "list_emails" | "search_emails" => {
            "I cannot read mail yet: an admin can add an account under Services, “Mail: reading”."
        }
        "search_web" | "fetch_web_page" => {
            "I cannot look at the web: its tools are off. An admin can switch them on under Tools."
        }
        "browser_navigate" | "browser_screenshot" => {
            "I cannot open pages in a browser: its tools are off. An admin can switch them on under Tools."
        }
        "split_audio" => {
            "I cannot cut recordings: the tools for them are off. An admin can switch them on under Tools."
        }
        "read_document" => {
            "I cannot read documents: the tools for them are off. An admin can switch them on under Tools."
        }
        _ => return None,
    })
}

/// Whether every word of a part of the sentence is one of these.
fn only(s: &Sentence, mut of: impl Iterator<Item = usize>, words: &[&str]) -> bool {
    of.all(|at| words.contains(&s.word(at)))
}

/// The position behind the first of these beginnings that the sentence has; the longest of them counts.
fn behind(s: &Sentence, at: usize, beginnings: &[&str]) -> Option<usize> {
    let fits = |beginning: &&&str| beginning.split(' ').enumerate().all(|(i, word)| s.word(at + i) == word);
    beginnings.iter().filter(fits).map(|beginning| at + beginning.split(' ').count()).max()
}

#[cfg(test)]
mod tests;
