//! Timers: "fish fingers 14 min", "start a 12 minute timer called stockings and a 45 one for laundry".

use super::{Request, event_words::REPORTS, words};
use crate::{
    sentence::Sentence,
    slots::{duration, number},
};
use jiff::Span;
use serde_json::{Map, Value};

/// With these an existing timer is meant, or none.
const CHANGES: &[&str] = &[
    "remove",
    "decrease",
    "subtract",
    "minus",
    "status",
    "continue",
    "unpause",
    "check",
    "end",
    "finish",
    "done",
    "less",
    "shorter",
    "lengthen",
    "drop",
    "cut",
    "rename",
    "add",
    "more",
    "another",
    "extra",
    "extend",
    "knock",
    "off",
    "left",
    "long",
    "longer",
    "pause",
    "cancel",
    "stop",
    "snooze",
    "resume",
    "remaining",
    "shorten",
    "increase",
    "reduce",
    "delete",
    "reset",
    "restart",
    "instead",
    "again",
    "make",
    "change",
    "take",
    "ago",
    "every",
    "each",
    "give",
    "kill",
    "clear",
    "not",
    "was",
    "spent",
    "took",
    "worked",
    "extend",
    "how",
    "remind",
    "wake",
    "alarm",
    "turn",
    "switch",
    "pin",
    "interval",
    "intervals",
    "until",
    "per",
    "recovery",
    "actually",
    "sorry",
    "meant",
    "wait",
    "no",
];

/// The timers that a sentence sets.
pub(crate) fn read(s: &Sentence) -> Option<Request> {
    // "never set a timer", "Tom told me to set a timer"
    if s.mentions(&["never"]) || s.mentions(REPORTS) {
        return None;
    }
    let asked = cue(s);
    let begins = ["set", "start", "put", "give", "run", "do"].contains(&s.word(0)) && asked.is_some();
    let lengths: Vec<(usize, usize)> = lengths(s);
    let changes =
        s.tokens.iter().any(|token| CHANGES.contains(&token.word.as_str()) && !(begins && token.word == "give"));
    let called = s.mentions(&["called", "named"]) || s.has(0, &["time"]);
    if changes
        && !(asked.is_some()
            && called
            && !s.mentions(&[
                "cancel", "pause", "stop", "delete", "left", "more", "another", "add", "remove", "decrease",
                "increase", "extend", "take",
            ]))
        && !by_time_me(s)
    {
        return None;
    }
    let name_at = asked.is_some();
    match (&lengths[..], name_at) {
        ([], _) => None,
        ([one], true) => Some(request(s, (0, s.len()), *one, true)),
        ([one], false) => {
            // "fish fingers 14 min", "plank 2 mins go"
            let goes = s.word(s.len() - 1) == "go";
            let rest = s.len() - one.1 - usize::from(goes);
            let first = one.0 == 0 || one.0 + one.1 + usize::from(goes) == s.len();
            let about = name(s, (0, s.len()), *one)?;
            (first && rest <= 3 && rest > 0 && !s.asks && !says_something(s)).then(|| {
                let mut made = request(s, (0, s.len()), *one, goes);
                made.arguments.insert("name".to_owned(), about.into());
                made
            })
        }
        (several, true) => {
            // The length behind "time me", or one timer for each part of the sentence.
            if let Some(at) = (0..s.len()).find(|at| s.has(*at, &["time", "me"]) || s.has(*at, &["time", "it"])) {
                let one = several.iter().find(|length| length.0 > at)?;
                return Some(request(s, (at, s.len()), *one, true));
            }
            let cuts: Vec<usize> = several
                .windows(2)
                .map(|pair| {
                    (pair[0].0 + pair[0].1..=pair[1].0)
                        .rev()
                        .find(|at| ["and", "then", "plus"].contains(&s.word(*at)) || s.tokens[*at].after_break)
                })
                .collect::<Option<_>>()?;
            let ends = cuts.iter().copied().chain([s.len()]);
            let begins = [0].into_iter().chain(cuts.iter().copied());
            let mut all = begins.zip(ends).zip(several).map(|(part, length)| request(s, part, *length, true));
            let mut first = all.next()?;
            first.more = all.map(|other| (other.tool, other.arguments)).collect();
            Some(first)
        }
        (_, false) => None,
    }
}

fn by_time_me(s: &Sentence) -> bool {
    (0..s.len()).any(|at| s.has(at, &["time", "me"])) && !s.mentions(&["left", "cancel", "stop", "pause"])
}

fn cue(s: &Sentence) -> Option<usize> {
    (0..s.len()).find(|at| {
        ["timer", "timers", "countdown"].contains(&s.word(*at))
            || s.has(*at, &["time", "me"])
            || s.has(*at, &["count", "down"])
    })
}

/// A verb or pronoun makes it a statement, and no name with a length.
fn says_something(s: &Sentence) -> bool {
    s.mentions(&[
        "i", "you", "we", "he", "she", "they", "is", "are", "was", "to", "in", "for", "ran", "walked", "run", "slept",
        "what", "when", "after", "before", "than", "and", "with", "log", "note", "remember", "book", "goal", "buy",
        "at", "on", "left", "of", "per", "yes", "no", "ok", "sleep", "than", "plus", "minus", "times", "by", "wait",
        "date", "today", "tomorrow", "km", "miles",
    ])
}

/// The lengths of a sentence, and numbers without a unit where another has one: "a 45 one for laundry".
fn lengths(s: &Sentence) -> Vec<(usize, usize)> {
    let (mut all, mut at) = (vec![], 0);
    while at < s.len() {
        let bare = || {
            let (count, n) = number::whole(s, at).filter(|(_, n)| (1..600).contains(n))?;
            let one = s.word(at + count) == "one" || s.word(at + count) == "timer";
            (one || unit_of(s, at).is_some()).then_some((count, n))
        };
        let found = duration::duration(s, at).filter(|(_, span)| span.get_days() == 0 && span.get_months() == 0);
        match found.map(|(count, _)| count).or_else(|| bare().map(|(count, _)| count)) {
            Some(count) => {
                all.push((at, count));
                at += count;
            }
            None => at += 1,
        }
    }
    all
}

/// The length of a number whose unit comes with a later one: "two timers for 5 and 10 minutes".
fn unit_of(s: &Sentence, at: usize) -> Option<Span> {
    let (count, _) = number::whole(s, at)?;
    let mut next = at + count;
    let another = ["a", "an", "another"].contains(&s.word(next + 1));
    if !s.mentions(&["timers"]) && !another || s.word(at + 1) == "timers" || ["a", "an"].contains(&s.word(at)) {
        return None;
    }
    loop {
        let and = usize::from(["and", "plus", "&"].contains(&s.word(next)));
        if and == 0 && !s.tokens.get(next)?.after_break {
            return None;
        }
        next += and;
        next += usize::from(and > 0 && ["a", "an", "another"].contains(&s.word(next)));
        if let Some((length, _)) = duration::duration(s, next) {
            let text = format!("{} {}", s.slice(at, at + count), s.word(next + length - 1));
            return duration::duration(&Sentence::whole(&text), 0).map(|(_, span)| span);
        }
        next += number::whole(s, next)?.0;
    }
}

fn request(s: &Sentence, part: (usize, usize), length: (usize, usize), sure: bool) -> Request {
    let span = duration::duration(s, length.0).map(|(_, span)| span);
    let span = span.or_else(|| unit_of(s, length.0)).map(|span| span.to_string());
    let bare = || number::whole(s, length.0).map(|(_, n)| format!("PT{n}M"));
    let duration: Value = span.or_else(bare).unwrap_or_default().into();
    let mut arguments = Map::from_iter([("duration".to_owned(), duration)]);
    if let Some(name) = name(s, part, length) {
        arguments.insert("name".to_owned(), name.into());
    }
    Request::new("set_timer", arguments, sure, "a timer")
}

/// What a timer is for.
fn name(s: &Sentence, (from, to): (usize, usize), length: (usize, usize)) -> Option<String> {
    const NOT: &[&str] = &[
        "a",
        "an",
        "the",
        "my",
        "set",
        "start",
        "timer",
        "timers",
        "me",
        "minute",
        "another",
        "new",
        "please",
        "put",
        "on",
        "for",
        "of",
        "one",
        "can",
        "you",
        "could",
        "hob",
        "run",
        "do",
        "quick",
        "need",
        "i",
        "us",
        "countdown",
        "and",
        "kitchen",
        "go",
        "time",
        "it",
        "two",
        "three",
        "four",
        "both",
        "2",
        "3",
        "4",
        "minutes",
    ];
    let clean = |range: (usize, usize)| -> Option<String> {
        let covered: Vec<bool> = (0..s.len()).map(|at| (length.0..length.0 + length.1).contains(&at)).collect();
        let end = (range.0..range.1).find(|at| covered[*at]).unwrap_or(range.1);
        let (from, to) = words::trimmed(s, (range.0, end), false)?;
        let from = (from..to).find(|at| !["my", "our", "your", "some", "his", "her"].contains(&s.word(*at)))?;
        let plain = s.slice(from, to).to_owned();
        (to - from <= 4 && !(from..to).all(|at| NOT.contains(&s.word(at)))).then_some(plain)
    };
    let after = |words: &[&str]| (from..to).find(|at| s.has(*at, words)).map(|at| at + words.len());
    for named in [&["called"][..], &["named"], &["call", "it"], &["name", "it"], &["labelled"]] {
        if let Some(begin) = after(named) {
            return clean((begin, to));
        }
    }
    // "egg timer", "uv exposure timer"
    if let Some(at) = (from..to).find(|at| ["timer", "countdown"].contains(&s.word(*at)))
        && let Some(begin) = (from..at)
            .rev()
            .take_while(|i| !NOT.contains(&s.word(*i)) && !(length.0..length.0 + length.1).contains(i))
            .last()
        && at - begin <= 3
    {
        return clean((begin, at));
    }
    for lead in ["for", "to"] {
        let found =
            (from..to).filter(|at| s.word(*at) == lead && *at + 1 != length.0).find_map(|at| clean((at + 1, to)));
        if found.is_some() {
            return found;
        }
    }
    // What is left, if it is short: "casserole, 45 minutes".
    let covered: Vec<bool> = (0..s.len())
        .map(|at| {
            (length.0..length.0 + length.1).contains(&at)
                || at < from
                || at >= to
                || NOT.contains(&s.word(at))
                || ["timer", "countdown"].contains(&s.word(at))
        })
        .collect();
    words::runs(s, &covered).into_iter().find_map(clean)
}
