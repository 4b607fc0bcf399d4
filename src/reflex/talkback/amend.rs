//! Corrections of what was just done: "no, I meant 6", "not bread sorry, bagels", "make that half past", "Tom not Tim".

use super::{
    ellipsis,
    exchange::{Call, Exchange},
    other,
    outcome::{Outcome, Planned, RiskOf},
    value::{self, Fit},
};
use crate::{goods, sentence::Sentence};
use jiff::Zoned;
use serde_json::{Map, Value, json};
use tool::Risk;

/// A correction as said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correction {
    /// What is meant; empty for the other of two.
    pub new: String,
    /// What was wrong.
    old: Option<String>,
    /// Said with "I meant" or the like, so that any text may be meant.
    strong: bool,
    /// Said with "make it", which often makes something else: "make it warmer".
    makes: bool,
    /// Set apart from what it begins with, so that it may be a name: "no, bagels", not "no bagels".
    apart: bool,
}

/// Said before anything; they correct nothing.
const SOFT: &[&str] = &[
    "oh", "ah", "er", "um", "well", "hob", "please", "damn", "dear", "love", "hey", "ugh", "argh", "lol", "haha", "hm",
    "hmm", "erm", "ooh", "yeah", "yes", "aye", "ok", "okay", "right", "eh", "blast", "bother", "mate",
];
const WEAK: &[&str] = &[
    "no",
    "nope",
    "sorry",
    "oops",
    "whoops",
    "wait",
    "hang on",
    "hold on",
    "actually",
    "my bad",
    "my mistake",
    "silly me",
    "oh dear",
    "correction",
    "rather",
    "pardon",
    "i beg your pardon",
    "that is wrong",
    "wrong",
    "that is not right",
    "not that",
    "yes but",
    "yeah no",
    "no no",
    "nah",
    "i tell a lie",
    "tell a lie",
    "hang about",
    "hold up",
    "hang on a minute",
    "hang on a sec",
    "wait a minute",
    "on second thoughts",
    "on second thought",
    "come to think of it",
    "thinking about it",
    "change of plan",
    "better",
    "even better",
    "not quite",
    "scratch that",
    "scrap that",
    "doh",
];
const STRONG: &[&str] = &[
    "i meant to say",
    "i meant",
    "i mean",
    "i did mean",
    "i said",
    "i did say",
    "i did say to you",
    "i wanted",
    "i asked for",
    "it should be",
    "it should have been",
    "it should say",
    "that should be",
    "that should have been",
    "should be",
    "should have been",
    "that is meant to be",
    "it is meant to be",
    "it is supposed to be",
    "it was meant to be",
    "change that to",
    "change it to",
    "make that",
    "make it",
    "better make it",
    "better make that",
    "let us make it",
    "let us say",
    "let us make that",
    "let us do",
    "can you make it",
    "can you make that",
    "could you make it",
    "could you make that",
    "can we make it",
    "can we make that",
    "can we do",
    "can you change it to",
    "can you change that to",
    "could you change it to",
    "set it to",
    "set it for",
    "set that to",
    "put it at",
    "i need",
    "it has to be",
    "meant",
    "meant to say",
    "i was meant to say",
    "we said",
    "it needs to be",
    "needs to be",
    "move it to",
    "move that to",
    "push it to",
    "go for",
    "let us go for",
    "let us go with",
    "try",
    "more like",
    "swap it for",
    "swap that for",
    "turn it into",
];
/// Before a value only where something else says that it corrects.
const SAYS: &[&str] = &["it is", "it was", "that is", "that was", "it has to be", "for", "it", "the"];
const BEHIND: &[&str] = &[
    "i meant",
    "i mean",
    "i said",
    "instead",
    "sorry",
    "please",
    "though",
    "actually",
    "rather",
    "not that",
    "if you can",
];

fn words(phrase: &str) -> Vec<&str> {
    phrase.split(' ').collect()
}

/// The longest of some phrases at `at`, in tokens.
fn phrase_at(s: &Sentence, at: usize, phrases: &[&str]) -> usize {
    let found = phrases.iter().map(|phrase| words(phrase)).filter(|phrase| s.has(at, phrase));
    found.map(|phrase| phrase.len()).max().unwrap_or_default()
}

/// Reads a correction; `None` for anything else.
pub(crate) fn read(text: &str) -> Option<Correction> {
    let s = Sentence::whole(text);
    let (mut at, mut end, mut strong, mut makes, mut leads) = (0, s.len(), false, false, 0);
    loop {
        let (weak, more) = (phrase_at(&s, at, WEAK), phrase_at(&s, at, STRONG));
        if weak + more == 0 {
            let soft = phrase_at(&s, at, SOFT);
            if soft == 0 {
                break;
            }
            at += soft;
            continue;
        }
        // "wait a minute" is no length.
        if weak > 0 && ["wait", "on"].contains(&s.word(at + weak - 1)) && ["a", "one"].contains(&s.word(at + weak)) {
            return None;
        }
        leads += 1;
        strong |= more > 0;
        makes |= (at..at + more).any(|at| s.has(at, &["make", "it"]));
        at += weak.max(more);
    }
    let weak = leads > 0;
    loop {
        let behind = BEHIND
            .iter()
            .map(|phrase| words(phrase))
            .find(|phrase| end > at + phrase.len() && s.has(end - phrase.len(), phrase));
        let Some(behind) = behind else { break };
        strong |= behind != ["please"] && behind != ["though"];
        end -= behind.len();
    }
    // "swap the biscuits for a malt loaf".
    let joint = (at + 2..end).find(|at| ["for", "with"].contains(&s.word(*at)));
    if let Some(joint) = joint.filter(|_| ["swap", "replace"].contains(&s.word(at)) && end <= at + 10) {
        let (new, old) = (s.slice(joint + 1, end).to_owned(), Some(s.slice(at + 1, joint).to_owned()));
        return (!new.is_empty()).then_some(Correction { new, old, strong: true, makes: false, apart: false });
    }
    let starts_with_not = s.word(at) == "not";
    let not =
        (at..end).find(|at| s.word(*at) == "not" || s.has(*at, &["instead", "of"]) || s.has(*at, &["rather", "than"]));
    let (new, old) = match not {
        // "not bread sorry, bagels", "not bread but bagels", "not bread, bagels".
        Some(_) if starts_with_not => {
            let joint = (at + 2..end).find(|i| {
                s.tokens[*i].after_break
                    || s.word(*i) == "but"
                    || phrase_at(&s, *i, WEAK) + phrase_at(&s, *i, STRONG) > 0
            });
            // "not Isla Ezra" says both in three words.
            let joint = joint.or((end == at + 3).then_some(at + 2))?;
            let mut begin = joint + usize::from(s.word(joint) == "but");
            loop {
                let skipped = phrase_at(&s, begin, WEAK).max(phrase_at(&s, begin, STRONG));
                if skipped == 0 {
                    break;
                }
                begin += skipped;
            }
            ((begin, end), Some((at + 1, joint)))
        }
        // "bagels not bread", "it's Tom, not Tim", "6 instead of 7".
        Some(not) => {
            let length = if s.word(not) == "not" { 1 } else { 2 };
            let begin = at + if not > at + 2 { phrase_at(&s, at, SAYS).min(2) } else { 0 };
            ((begin, not), Some((not + length, end)))
        }
        None => {
            let begin = if weak { at + phrase_at(&s, at, &["it is", "it was", "that is", "that was"]) } else { at };
            ((begin, end), None)
        }
    };
    let apart = leads > 1 || s.tokens.get(new.0).is_some_and(|token| token.after_break);
    let apart = apart && !text.trim_end().ends_with('?');
    let marked = weak || strong || old.is_some();
    let text = |(from, to): (usize, usize)| s.slice(from, to).trim_start_matches([',', ' ']).to_owned();
    let short = new.1.checked_sub(new.0).is_some_and(|length| (1..=7).contains(&length));
    // "put butter on the shopping list instead of eggs".
    let instead = old.is_some() && s.mentions(&["instead", "rather"]);
    let text = |part| if instead { goods::named_item(&text(part)) } else { text(part) };
    (marked && short).then(|| Correction {
        new: text(new),
        old: old.map(text).filter(|old| !old.is_empty()),
        strong,
        makes,
        apart,
    })
}

/// What a correction comes to after these exchanges.
pub(crate) fn corrected(text: &str, exchanges: &[Exchange], now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    let correction = read(text)?;
    let latest = exchanges.iter().position(|exchange| !exchange.done().is_empty())?;
    // "make it two packs of sandpaper", some looks after the sandpaper was added.
    let changes = |call: &Call| matches!(risk(&call.tool), Some(Risk::Write)) && call.id().is_some();
    let looked = exchanges[latest].done().iter().all(|call| risk(&call.tool) == Some(Risk::Observe));
    let holds_old = |call: &Call| {
        let text = value::main_argument(call).and_then(|name| call.text(name));
        text.zip(correction.old.as_deref()).is_some_and(|(text, old)| in_place(text, old, "x").is_some())
    };
    let about = exchanges.iter().take(4).position(|exchange| {
        exchange.done().iter().any(|call| changes(call) && (shares(call, &correction.new) || holds_old(call)))
    });
    if let Some(at) = about.filter(|_| correction.strong && (looked || correction.old.is_some())) {
        return among(&exchanges[at].done(), &correction, now, risk);
    }
    let at = latest;
    // Only plainly a correction reaches over another exchange.
    if at > usize::from(correction.strong) {
        return None;
    }
    let calls = exchanges[at].done();
    if other::means_other(&correction.new) {
        return other::other(&calls, exchanges.get(at + 1..)?, risk);
    }
    if let Some(outcome) = other::pointed(&correction.new, &calls, exchanges.get(at + 1..)?, risk) {
        return Some(outcome);
    }
    if let Some(fit) = other::length(&exchanges[at].said, &calls, &correction.new) {
        return applied(&calls[0], &fit, risk).map(Outcome::Do);
    }
    among(&calls, &correction, now, risk)
}

/// What a correction makes of some calls.
fn among(calls: &[Call], correction: &Correction, now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    // "a dozen eggs" is about the eggs of several things.
    let sharing: Vec<&Call> = calls.iter().filter(|call| shares(call, &correction.new)).collect();
    let meant = if sharing.is_empty() { calls.iter().collect() } else { sharing };
    let mut found: Vec<(String, Outcome)> = vec![];
    for call in meant {
        for fit in fits(call, correction, now) {
            let Some(planned) = applied(call, &fit, risk) else { continue };
            let label = match calls.len() {
                1 => fit.label.to_owned(),
                _ => value::main_argument(call).and_then(|name| call.text(name)).unwrap_or(fit.label).to_owned(),
            };
            found.push((label, Outcome::Do(planned)));
        }
    }
    match found.len() {
        // A question with another day or subject.
        0 => calls
            .last()
            .filter(|call| risk(&call.tool) == Some(Risk::Observe))
            .and_then(|call| ellipsis::asked(call, &correction.new, now)),
        1 => found.pop().map(|(_, outcome)| outcome),
        _ => Some(Outcome::Which(found)),
    }
}

/// Whether what a call is about has the last word of a new value.
fn shares(call: &Call, new: &str) -> bool {
    let (new, text) =
        (Sentence::whole(new), value::main_argument(call).and_then(|name| call.text(name)).unwrap_or_default());
    let stem = |word: &str| word.trim_end_matches('s').to_owned();
    let last = new.tokens.last().map(|last| stem(&last.word)).filter(|last| last.parse::<f64>().is_err());
    last.is_some_and(|last| Sentence::whole(text).tokens.iter().any(|token| stem(&token.word) == last))
}

/// The arguments of a call that a correction fits.
fn fits(call: &Call, correction: &Correction, now: &Zoned) -> Vec<Fit> {
    let Correction { new, old, strong, makes, apart } = correction;
    let main = value::main_argument(call);
    let named =
        |argument: &str, value: String| Fit { argument: argument.to_owned(), value: value.into(), label: "the name" };
    if let Some(old) = old {
        let texts = call.arguments.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let holding: Vec<Fit> = texts.filter_map(|(name, text)| Some(named(name, in_place(text, old, new)?))).collect();
        // The name of a reminder is what it says.
        let main_only = holding.iter().find(|fit| Some(fit.argument.as_str()) == main);
        if let Some(fit) = main_only.or(holding.first()) {
            return vec![fit.clone()];
        }
        return value::typed(call, new, now);
    }
    let mut all = value::typed(call, new, now);
    let text = main.and_then(|name| Some((name, call.text(name)?)));
    if let Some((name, counted)) = text.and_then(|(name, text)| Some((name, value::counted(text, new)?))) {
        all.push(Fit { label: "the number", ..named(name, counted) });
    }
    // A time that nothing could be made of is no name.
    let timed = value::names_a_time(call, new, now);
    if all.is_empty()
        && !timed
        && let Some((name, text)) = text
    {
        let renames = *strong || *apart && Sentence::whole(new).len() <= 2;
        let other = value::renamed(text, new, *strong && name != "content" && name != "message");
        let plain = (!is_sentence(new) || *strong) && (!makes || shares(call, new));
        all.extend(other.filter(|_| renames && plain && !is_command(new)).map(|value| named(name, value)));
    }
    all
}

/// A short adjective or a courtesy is no name: "make it warmer", "no thanks".
fn is_command(text: &str) -> bool {
    const NONE: &[&str] = &[
        "really",
        "seriously",
        "honestly",
        "later",
        "maybe",
        "hello",
        "hi",
        "mum",
        "dad",
        "sorry",
        "wait",
        "exactly",
        "true",
        "my",
        "god",
        "goodness",
        "done",
        "thanks",
        "thank",
        "you",
        "worries",
        "problem",
        "idea",
        "way",
        "need",
        "stop",
        "yes",
        "no",
        "ok",
        "okay",
        "undo",
        "cancel",
        "warmer",
        "colder",
        "louder",
        "quieter",
        "brighter",
        "better",
        "worse",
        "please",
        "never",
        "nothing",
        "help",
        "it",
        "that",
        "this",
        "them",
        "more",
        "less",
        "again",
        "so",
        "wrong",
        "right",
        "good",
        "great",
        "fine",
        "forget",
        "mind",
        "what",
        "who",
        "why",
        "how",
        "when",
        "where",
        "which",
        "i",
        "we",
        "he",
        "she",
        "they",
        "snappy",
        "quick",
        "stupid",
        "idiot",
        "both",
        "all",
        "work",
        "stop",
        "happen",
    ];
    let s = Sentence::whole(text);
    NONE.contains(&s.word(0)) || s.tokens.last().is_some_and(|last| NONE.contains(&last.word.as_str()))
}

fn is_sentence(text: &str) -> bool {
    const VERBS: &[&str] = &[
        "add", "set", "put", "remind", "turn", "show", "tell", "delete", "remove", "cancel", "move", "take", "tick",
        "do", "is", "are", "can", "could", "would", "list", "read", "start", "stop", "wake", "give", "call", "find",
        "make", "have", "let", "note", "remember", "write", "play", "go",
    ];
    VERBS.contains(&Sentence::whole(text).word(0))
}

/// A text with `new` in place of the words `old`; `None` if they are not in it.
fn in_place(text: &str, old: &str, new: &str) -> Option<String> {
    let bare = |text: &str| {
        let text = text.trim();
        ["the ", "a ", "an ", "some "].iter().find_map(|article| text.strip_prefix(article)).unwrap_or(text).to_owned()
    };
    let (old, plain) = (bare(old), bare(new));
    let (has, wanted) = (Sentence::whole(text), Sentence::whole(&old));
    let same = |at: usize| {
        (0..wanted.len()).all(|i| {
            let (a, b) = (has.word(at + i), wanted.word(i));
            !a.is_empty()
                && a.trim_end_matches("'s").trim_end_matches('s') == b.trim_end_matches("'s").trim_end_matches('s')
        })
    };
    let at = (0..has.len()).find(|at| wanted.len() > 0 && same(*at))?;
    let (first, last) = (has.tokens.get(at)?, has.tokens.get(at + wanted.len() - 1)?);
    let possessive = if last.word.ends_with("'s") && !plain.ends_with("'s") { "'s" } else { "" };
    let whole = at == 0 && wanted.len() == has.len();
    // "at Bea's" in the place of "Ana's" in "at Ana's".
    let said_before =
        at.checked_sub(1).map(|at| has.word(at)).and_then(|word| plain.strip_prefix(word)?.strip_prefix(' '));
    let plain = said_before.unwrap_or(&plain);
    let new = if whole { new } else { plain };
    Some(format!("{}{new}{possessive}{}", &text[..first.start], &text[last.end..]))
}

/// What makes a call have another argument: its family's own change if there is one, else it is undone and made again.
pub(crate) fn applied(call: &Call, fit: &Fit, risk: RiskOf) -> Option<Vec<Planned>> {
    let Fit { argument, value, .. } = fit;
    let mut again = call.arguments.clone();
    again.insert(argument.clone(), value.clone());
    let one = |tool: &str, arguments: Map<String, Value>| Some(vec![(tool.to_owned(), Value::Object(arguments))]);
    if risk(&call.tool) == Some(Risk::Observe) {
        return one(&call.tool, again);
    }
    if !matches!(risk(&call.tool), Some(Risk::Write | Risk::Destroy)) {
        return None;
    }
    let changes = |tool: &str| risk(tool) == Some(Risk::Write);
    if call.tool.starts_with("update_") {
        return one(&call.tool, again);
    }
    if let (Some(id), "set_timer" | "adjust_timer", "duration") = (call.id(), call.tool.as_str(), argument.as_str())
        && changes("adjust_timer")
    {
        let before = call.text("duration")?;
        // A correction wrote seconds alone: the timer was corrected before, and the new length is what is left again.
        let corrected =
            call.tool == "adjust_timer" && before.trim_start_matches('-').strip_prefix("PT").is_some_and(is_seconds);
        let before = match call.content["remainingSeconds"].as_i64().filter(|_| corrected) {
            Some(left) => left,
            None => value::seconds(before)?,
        };
        let by = value::seconds(value.as_str()?)? - before;
        let length = if by < 0 { format!("-PT{}S", -by) } else { format!("PT{by}S") };
        return one("adjust_timer", Map::from_iter([("timer".into(), id.into()), ("duration".into(), length.into())]));
    }
    const UPDATES: &[(&str, &str, &str)] = &[
        ("add_task", "update_task", "taskId"),
        ("add_calendar_event", "update_calendar_event", "eventId"),
        ("create_scheduled_task", "update_scheduled_task", "taskId"),
        ("add_expense", "update_expense", "expenseId"),
        ("add_contact", "update_contact", "contactId"),
        ("add_note", "update_note", "noteId"),
        ("remember", "update_memory", "memoryId"),
        ("create_goal", "update_goal", "goalId"),
        ("add_bookmark", "update_bookmark", "bookmarkId"),
    ];
    let update = UPDATES.iter().find(|(made, update, _)| *made == call.tool && changes(update));
    if let (Some((_, update, key)), Some(id)) = (update, call.id()) {
        let mut arguments = Map::from_iter([((*key).to_owned(), id.into()), (argument.clone(), value.clone())]);
        let said = |name: &str| call.text(name);
        // A reminder, and a note that is one line, have their text as their name.
        for (text, name) in [("message", "name"), ("content", "title")] {
            if argument == text && said(text).is_some() && said(text) == said(name) {
                arguments.insert(name.to_owned(), value.clone());
            }
        }
        return one(update, arguments);
    }
    changes("undo").then(|| vec![("undo".to_owned(), json!({})), (call.tool.clone(), Value::Object(again))])
}

/// The arguments of a call that was only proposed, with what a correction puts in the place of one; a value alone will do.
pub(crate) fn proposed(call: &Call, text: &str, now: &Zoned) -> Option<Map<String, Value>> {
    let found = match read(text) {
        Some(correction) => fits(call, &correction, now),
        None => value::typed(call, text, now),
    };
    let [fit] = found.as_slice() else { return None };
    let mut again = call.arguments.clone();
    if fit.argument == "message" && call.text("name") == call.text("message") {
        again.insert("name".to_owned(), fit.value.clone());
    }
    again.insert(fit.argument.clone(), fit.value.clone());
    Some(again)
}

/// "600S".
fn is_seconds(text: &str) -> bool {
    text.strip_suffix('S').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_read() {
        for (text, wanted) in [
            ("no, I meant 6", Some(("6", None))),
            ("not bread sorry, bagels", Some(("bagels", Some("bread")))),
            ("not bread, bagels", Some(("bagels", Some("bread")))),
            ("sorry, it's the 13th", Some(("the 13th", None))),
            ("make it a dozen eggs", Some(("a dozen eggs", None))),
            ("make that half past", Some(("half past", None))),
            ("I said Thursday", Some(("Thursday", None))),
            ("Tom not Tim", Some(("Tom", Some("Tim")))),
            ("it's Tom, not Tim", Some(("Tom", Some("Tim")))),
            ("6 instead of 7", Some(("6", Some("7")))),
            ("swap the biscuits for a malt loaf", Some(("a malt loaf", Some("the biscuits")))),
            ("bagels I meant", Some(("bagels", None))),
            ("no the other one", Some(("the other one", None))),
            ("whoops, that should be 8", Some(("8", None))),
            ("add bread", None),
            ("no", None),
            ("what time is it", None),
        ] {
            let got = read(text);
            let got = got.as_ref().map(|c| (c.new.as_str(), c.old.as_deref()));
            assert_eq!(got, wanted, "{text}");
        }
    }
}
