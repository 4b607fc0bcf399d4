//! Commands and questions about all things of the home, by name, alias, area and kind: "turn on the hall lamp", "everything
//! off downstairs", "is the garage open", "dim the kitchen to 30 %", "set the living room to 21", "close all blinds".
//!
//! As with pins a sentence counts only if all of its words are known: words of commands, names of this home, values, times.
//! It becomes a call of `control_thing`, `get_thing` or `list_things`. Whether opening something is asked about is not
//! decided here: `control_thing` says so of itself, whatever sentence led to it.

mod act;
mod ask;
mod emit;
mod empty;
mod grammar;
mod reader;
mod sense;
#[cfg(test)]
mod strangers;
mod sun;
#[cfg(test)]
mod tests;

use crate::{
    classification::{Classification, fixed_reply},
    sentence::Sentence,
    stance::opens_question,
    talkback::exchange::{Call, Exchange},
};
use jiff::Zoned;
use serde_json::{Map, Value};
use things::Home;

/// The most words of such a sentence.
const MOST: usize = 30;

/// What a sentence may go on about: the target of the call before.
pub(crate) struct Before {
    /// `thing`, `things`, `area` and `kind` of that call.
    pub target: Map<String, Value>,
    /// The things it was about.
    pub things: Vec<usize>,
}

/// The classification of a sentence about things.
pub(crate) fn classified(s: &Sentence, home: &Home, before: Option<&Before>, now: &Zoned) -> Option<Classification> {
    if s.len() == 0 || s.len() > MOST {
        return None;
    }
    if home.is_empty() {
        return empty::reply(s);
    }
    let some = ["any", "some"].contains(&s.word(0));
    // "All the curtains closed" tells nobody to do anything.
    let all = ["all", "every", "each"].contains(&s.word(0))
        && s.mentions(&["closed", "opened", "locked", "unlocked", "opening", "closing", "shutting"]);
    let asks = (opens_question(s) || s.asks) && !s.requests && !reader::is_passive(s)
        || some
        || all
        || s.mentions(&["status", "state"]);
    if asks || s.has(0, &["tell", "me"]) {
        let asked = ask::asked(s, home, before);
        asked.or_else(|| sense::detected(s, home)).or_else(|| sense::measured(s, home))
    } else {
        act::command(s, home, before, now)
    }
}

/// What a sentence means after the exchanges before: the answer to "Which one?", or more about the same things.
pub(crate) fn after(text: &str, exchanges: &[Exchange], home: &Home, now: &Zoned) -> Option<Classification> {
    let (s, last) = (Sentence::read(text), exchanges.first()?);
    if s.len() > 12 {
        return None;
    }
    if last.answered.starts_with("Which one: ") && last.calls.is_empty() {
        let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
        let target = home.resolve(&words.join(" "), &|_| true).ok()?;
        let [at] = target.things[..] else { return None };
        let chosen = Before { target: emit::one(home, at), things: vec![at] };
        let said = Sentence::read(&last.said);
        let asks = (opens_question(&said) || said.asks) && !said.requests;
        return if asks { ask::about(home, &chosen) } else { act::command_about(&said, home, &chosen, now) };
    }
    let before = before(home, last)?;
    classified(&s, home, Some(&before), now)
}

fn before(home: &Home, last: &Exchange) -> Option<Before> {
    const ABOUT: &[&str] = &["control_thing", "get_thing"];
    let call: &Call = last.calls.iter().rfind(|call| !call.failed && ABOUT.contains(&call.tool.as_str()))?;
    let parts = ["thing", "things", "area", "kind"];
    let target: Map<String, Value> = call
        .arguments
        .iter()
        .filter(|(name, _)| parts.contains(&name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let results = call.content["results"].as_array();
    let all = results.into_iter().flatten().chain(std::iter::once(&call.content));
    let address = |one: &Value| one["thing"].as_str()?.parse().ok();
    let things: Vec<usize> = all.filter_map(|one| home.at(&address(one)?)).collect();
    (!target.is_empty() && !things.is_empty()).then_some(Before { target, things })
}

/// The question which of several things is meant.
pub(super) fn which(home: &Home, things: &[usize]) -> Classification {
    let names = home.names(things);
    fixed_reply(&format!("Which one: {}?", names.join(" or ")), "several things fit")
}
