//! Sentences of a first evening: naming what is connected, asking what there is, where Home Assistant is connected, and why
//! something was switched.

use super::{Device, calls, mentions};
use crate::{
    classification::{Classification, fixed_reply},
    sentence::Sentence,
};
use serde_json::{Value, json};
use things::Home;

/// The most words of such a sentence, and of a name in it.
const MOST: usize = 16;
const NAME: usize = 5;

const ARTICLES: &[&str] = &["the", "my", "our", "a", "an"];

/// The classification of such a sentence. What needs a tool that is not here is left to others.
pub(crate) fn classified(
    s: &Sentence,
    devices: &[Device],
    home: Option<&Home>,
    has: &dyn Fn(&str) -> bool,
) -> Option<Classification> {
    if s.len() < 3 || s.len() > MOST {
        return None;
    }
    let named = || renamed(s, home?).or_else(|| placed(s, home?)).or_else(|| why(s, home?));
    let found = together(s, devices)
        .or_else(|| home_assistant(s, home))
        .or_else(|| rules(s))
        .or_else(|| pin_is(s))
        .or_else(|| what_is_here(s, home))
        .or_else(named)?;
    found.tool.as_ref().is_none_or(|tool| has(tool)).then_some(found)
}

fn one(tool: &'static str, arguments: Value, why: &str) -> Option<Classification> {
    calls(std::iter::once((tool, arguments)), why)
}

/// Whether all words of a sentence are among these.
fn only(s: &Sentence, words: &[&str]) -> bool {
    s.tokens.iter().all(|token| words.contains(&token.word.as_str()))
}

/// The first token at or after `at` that is no article.
fn past_article(s: &Sentence, at: usize) -> usize {
    if ARTICLES.contains(&s.word(at)) { at + 1 } else { at }
}

/// The address of the one thing that these tokens name.
fn thing(s: &Sentence, home: &Home, from: usize, to: usize) -> Option<String> {
    let from = past_article(s, from);
    let target = home.resolve(s.slice(from, to), &|_| true).ok().filter(|target| !target.group)?;
    let [at] = target.things[..] else { return None };
    Some(home.get(at).address.to_string())
}

/// "Never turn on pin 5 and pin 6 together".
fn together(s: &Sentence, devices: &[Device]) -> Option<Classification> {
    let at_once = s.mentions(&["together", "both", "simultaneously"])
        || (0..s.len()).any(|at| s.has(at, &["same", "time"]) || s.has(at, &["at", "once"]));
    let forbids = s.mentions(&["never", "not"]) && s.mentions(&["on", "run", "running", "open", "switch", "turn"]);
    let pins = mentions(s, devices).len() >= 2 || s.mentions(&["pins"]);
    (at_once && forbids && pins).then(|| {
        fixed_reply(
            "I can see to that, but not from a sentence. On the page, under Home, Pins, “Tap to set up”, give both pins the same \
             group at “Never on together with others of”: then the board itself keeps them apart.",
            "an interlock is a setting of pins",
        )
    })
}

/// "Connect Home Assistant", "where do I find home assistant".
fn home_assistant(s: &Sentence, home: Option<&Home>) -> Option<Classification> {
    const VERBS: &[&str] = &[
        "find",
        "connect",
        "add",
        "link",
        "set",
        "setup",
        "discover",
        "pair",
        "search",
        "look",
        "join",
        "use",
        "integrate",
        "connected",
        "where",
        "configure",
    ];
    const REST: &[&str] = &[
        "home",
        "assistant",
        "to",
        "with",
        "my",
        "the",
        "our",
        "a",
        "up",
        "for",
        "how",
        "do",
        "can",
        "i",
        "we",
        "you",
        "is",
        "hob",
        "from",
        "on",
        "network",
        "in",
        "ha",
        "s",
    ];
    let named = (0..s.len()).any(|at| s.has(at, &["home", "assistant"]));
    let known = s.tokens.iter().all(|token| VERBS.contains(&&*token.word) || REST.contains(&&*token.word));
    if !named || !known || !s.mentions(VERBS) {
        return None;
    }
    let connected = home.is_some_and(|home| (0..home.len()).any(|at| home.get(at).address.source == "ha"));
    let say = match connected {
        true => "Home Assistant is connected. Its address and token are on the page, under Device, Services.",
        false => {
            "That is done on the page: Home, Network shows the Home Assistant of your network, and its address and token are \
             entered under Device, Services. I take no token in a conversation."
        }
    };
    Some(fixed_reply(say, "Home Assistant is connected on the page"))
}

/// "What are my rules": rules and triggers are one list.
fn rules(s: &Sentence) -> Option<Classification> {
    const WORDS: &[&str] = &[
        "what",
        "which",
        "show",
        "list",
        "give",
        "tell",
        "are",
        "my",
        "our",
        "the",
        "all",
        "of",
        "me",
        "us",
        "do",
        "i",
        "we",
        "you",
        "have",
        "there",
        "rules",
        "automations",
        "active",
        "your",
        "every",
        "how",
        "many",
        "about",
    ];
    let asked = only(s, WORDS) && s.mentions(&["rules", "automations"]);
    asked.then(|| one("list_rules", json!({}), "asks which rules there are"))?
}

/// "Pin 22 is the garage door".
fn pin_is(s: &Sentence) -> Option<Classification> {
    const OTHER: &[&str] = &[
        "one", "same", "right", "wrong", "problem", "only", "best", "first", "last", "next", "other", "pin", "reason",
        "mess", "bit", "lot", "little", "few", "good", "bad",
    ];
    const SENSORS: &[&str] = &["sensor", "contact", "detector", "button"];
    if !["pin", "gpio"].contains(&s.word(0)) || s.word(2) != "is" || s.asks {
        return None;
    }
    let pin: u8 = s.word(1).parse().ok().filter(|pin| *pin <= 27)?;
    let called = ["called", "named"].contains(&s.word(3));
    let at = past_article(s, if called { 4 } else { 3 });
    let says = called || at > 3;
    let words = s.len().checked_sub(at)?;
    if !says || words == 0 || words > NAME || OTHER.contains(&s.word(at)) {
        return None;
    }
    let mut arguments = json!({"pin": pin, "name": s.slice(at, s.len())});
    if s.tokens[at..].iter().any(|token| SENSORS.contains(&&*token.word)) {
        arguments["sensor"] = true.into();
    }
    one("name_pin", arguments, "says what is at a pin")
}

/// "What devices are there", "what can you switch?"
fn what_is_here(s: &Sentence, home: Option<&Home>) -> Option<Classification> {
    const WORDS: &[&str] = &[
        "what",
        "which",
        "devices",
        "device",
        "things",
        "appliances",
        "gadgets",
        "are",
        "there",
        "here",
        "do",
        "does",
        "you",
        "have",
        "know",
        "can",
        "switch",
        "control",
        "turn",
        "on",
        "off",
        "and",
        "or",
        "show",
        "list",
        "me",
        "my",
        "our",
        "all",
        "the",
        "home",
        "house",
        "in",
        "connected",
        "of",
        "your",
        "see",
        "for",
        "we",
        "i",
        "hob",
        "smart",
    ];
    let nouns = s.mentions(&["devices", "device", "appliances", "gadgets"])
        || s.mentions(&["things"]) && s.mentions(&["home", "house"]);
    let can = s.has(1, &["can", "you"]) && s.mentions(&["switch", "control", "turn"]) && s.word(0) == "what"
        || s.has(1, &["can", "i"]) && s.mentions(&["switch", "control", "turn"]) && s.word(0) == "what";
    // "Which devices are on" asks for a state.
    let state = s.mentions(&["on", "off"]) && !s.mentions(&["turn", "switch"]);
    if !only(s, WORDS) || !(nouns || can) || state || !["what", "which", "show", "list"].contains(&s.word(0)) {
        return None;
    }
    match home.is_some_and(|home| !home.is_empty()) {
        true => one("list_things", json!({}), "asks what is in the home"),
        false => Some(fixed_reply(
            "I know of nothing yet. Say “pin 17 is the hall lamp”, or connect Home Assistant or MQTT on the page, under Device, \
             Services.",
            "there are no things",
        )),
    }
}

/// "Rename the hall lamp to big lamp".
fn renamed(s: &Sentence, home: &Home) -> Option<Classification> {
    if !["rename", "relabel"].contains(&s.word(0)) {
        return None;
    }
    let to = (2..s.len()).find(|at| ["to", "as", "into"].contains(&s.word(*at)))?;
    let at = past_article(s, to + 1);
    s.len().checked_sub(at).filter(|words| (1..=NAME).contains(words))?;
    let arguments = json!({"thing": thing(s, home, 1, to)?, "name": s.slice(at, s.len())});
    one("update_thing", arguments, "renames a thing")
}

/// "Put the hall lamp in the hall".
fn placed(s: &Sentence, home: &Home) -> Option<Classification> {
    const ELSEWHERE: &[&str] = &[
        "list", "lists", "calendar", "notes", "note", "basket", "cart", "diary", "bin", "box", "bag", "minutes",
        "hours",
    ];
    if !["put", "move", "place"].contains(&s.word(0)) || s.mentions(ELSEWHERE) {
        return None;
    }
    let into = (2..s.len()).rev().find(|at| ["in", "into", "to"].contains(&s.word(*at)))?;
    let at = past_article(s, into + 1);
    let area = s.slice(at, s.len());
    let fits = (1..=3).contains(&s.len().checked_sub(at)?) && !area.starts_with(|c: char| c.is_ascii_digit());
    // "Put the lamp to on" and "… to 30 %" switch it.
    let fits = fits && (home.area(area).is_some() || s.word(into) != "to" && !["on", "off"].contains(&s.word(at)));
    if !fits {
        return None;
    }
    one("update_thing", json!({"thing": thing(s, home, 1, into)?, "area": area}), "says where a thing is")
}

/// "Why did the lamp go on?"
fn why(s: &Sentence, home: &Home) -> Option<Classification> {
    const VERBS: &[&str] = &[
        "go", "turn", "turned", "come", "switch", "switched", "went", "open", "close", "start", "stop", "on", "off",
        "lit", "light",
    ];
    if s.word(0) != "why" || !["did", "is", "was", "has", "are"].contains(&s.word(1)) {
        return None;
    }
    let found = (3..s.len()).find_map(|to| {
        let ends = VERBS.contains(&s.word(to))
            && s.tokens[to..].iter().all(|t| VERBS.contains(&&*t.word) || OFTEN.contains(&&*t.word));
        ends.then(|| thing(s, home, 2, to))?
    });
    one("rule_log", json!({"thing": found?}), "asks why something was switched")
}

const OFTEN: &[&str] = &["itself", "by", "again", "just", "now", "then", "today", "all", "alone", "up", "been", "gone"];

#[cfg(test)]
mod tests;
