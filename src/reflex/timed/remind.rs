//! Reminders and alarms: "nit lotion again in 7 days, remind me when she's in the bath so 6pm".

use super::{
    Request,
    spans::{self, Is, Span},
    unclear, words,
};
use crate::{sentence::Sentence, slots::names};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::ops::Range;

/// What asks for a reminder. A longer one goes first.
const CUES: &[&str] = &[
    "do not let me forget about",
    "do not let me forget to",
    "do not let me forget",
    "do not let us forget",
    "give me a little nudge",
    "give me a nudge",
    "give me a little shout",
    "give me a shout",
    "give us a shout",
    "give me a little reminder",
    "give me a reminder",
    "give me a poke",
    "give me a prod",
    "give me a ping",
    "give me a buzz",
    "give me a bell",
    "give me a heads up",
    "give me a warning",
    "give us a nudge",
    "give me a quick reminder",
    "give me a quick nudge",
    "give me a gentle nudge",
    "give me a gentle reminder",
    "set me a reminder",
    "set a reminder",
    "set up a reminder",
    "set reminder",
    "make me a reminder",
    "make a reminder",
    "put a reminder on",
    "put a reminder in",
    "put in a reminder",
    "put a reminder",
    "stick a reminder in",
    "stick a reminder on",
    "add a reminder",
    "create a reminder",
    "need a reminder",
    "want a reminder",
    "have a reminder",
    "pop a reminder in",
    "pop a reminder on",
    "like a reminder",
    "schedule a reminder",
    "do me a reminder",
    "a reminder",
    "new reminder",
    "reminder please",
    "remind me again",
    "remind me",
    "remind us",
    "remind myself",
    "reminding me",
    "need reminding",
    "needs reminding",
    "want reminding",
    "be reminded",
    "get reminded",
    "nudge me",
    "ping me",
    "poke me",
    "prod me",
    "prompt me",
    "nag me",
    "buzz me",
    "shout me",
    "shout at me",
    "shout to me",
    "tell me to",
    "warn me",
    "alert me",
    "jog my memory",
    "whisper in my ear",
    "bug me",
    "pester me",
    "badger me",
    "notify me",
    "chase me",
    "a warning",
    "a nudge",
    "remember me",
    "keep reminding me",
    "reminder",
];
/// What asks to be woken.
const WAKES: &[&str] = &[
    "wake me up",
    "wake us up",
    "wake me",
    "wake us",
    "get me up",
    "get us up",
    "get me out of bed",
    "be got up",
    "be woken up",
    "be woken",
    "set me an alarm",
    "set an alarm",
    "set the alarm",
    "set my alarm",
    "set alarm",
    "have an alarm",
    "need an alarm",
    "want an alarm",
    "alarm clock",
    "alarm call",
    "an alarm",
    "alarm",
    "wake up call",
    "wake-up call",
    "rouse me",
    "need waking",
    "want waking",
    "need to be up",
    "have to be up",
    "got to be up",
    "need to get up",
    "have to get up",
    "got to get up",
    "must be up",
    "must get up",
];
/// Before the request these mean that something is changed or looked at, and nothing new is wanted.
const CHANGES: &[&str] = &[
    "cancel",
    "delete",
    "remove",
    "stop",
    "scrap",
    "unset",
    "disable",
    "skip",
    "undo",
    "move",
    "push",
    "postpone",
    "bin",
    "reschedule",
    "change",
    "snooze",
    "list",
    "show",
    "kill",
    "ditch",
    "drop",
    "clear",
    "turn",
    "switch",
    "pause",
    "shift",
    "bring",
    "rename",
    "edit",
    "update",
    "silence",
    "forget",
    "not",
    "never",
    "dont",
    "which",
    "what",
    "any",
    "knock",
    "dismiss",
    "off",
    "swap",
    "told",
    "said",
    "asked",
    "says",
    "resume",
    "was",
    "did",
    "does",
    "read",
    "check",
    "instead",
    "another",
];
/// Verbs that tell somebody else something at a time.
const TELLS: &[&str] = &["remind", "nudge", "ping", "prompt", "nag", "poke", "prod", "tell", "warn", "message"];

/// The reminder or alarm that a sentence asks for.
pub(crate) fn read(s: &Sentence, now: &Zoned) -> Option<Request> {
    before_event(s)
        .or_else(|| wake(s, now))
        .or_else(|| reminder(s, now))
        .or_else(|| of_other(s, now))
        .or_else(|| hinted(s, now))
}

/// "remind me the day before the dentist": a reminder of what is in the calendar.
fn before_event(s: &Sentence) -> Option<Request> {
    let (at, count) = cue(s, CUES)?;
    let day = at + count;
    let the = day + 3;
    let named = s.has(day, &["the", "day", "before"]) && ["the", "my", "our"].contains(&s.word(the));
    let title = s.slice(the + 1, s.len());
    let fits = at == 0 && named && (the + 2..the + 5).contains(&s.len()) && !s.mentions(&["to", "that", "at"]);
    let arguments = Map::from_iter([("eventId".to_owned(), title.into()), ("reminder".to_owned(), 1440.into())]);
    fits.then(|| Request::new("update_calendar_event", arguments, true, "a reminder of an event"))
}

fn cue(s: &Sentence, cues: &[&str]) -> Option<(usize, usize)> {
    let found = cues.iter().filter_map(|cue| {
        let words: Vec<&str> = cue.split([' ', '-']).collect();
        (0..s.len()).find(|at| s.has(*at, &words)).map(|at| (at, words.len()))
    });
    // The first; of those the longest.
    found.min_by_key(|(at, count)| (*at, usize::MAX - count))
}

/// Whether something else is meant than making one: words of change before the request.
fn is_change(s: &Sentence, covered: &[bool], cue: usize) -> bool {
    let begins = s.has(cue, &["do", "not"]);
    !begins && (0..cue).any(|at| !covered[at] && CHANGES.contains(&s.word(at)) && !is_statement(s, at, cue))
}

/// "turn" and "stop" in a clause of its own before the request: "the tap won't stop dripping, remind me …".
fn is_statement(s: &Sentence, at: usize, cue: usize) -> bool {
    at > 0 && !["what", "which", "any"].contains(&s.word(0)) && (at + 1..=cue).any(|next| s.tokens[next].after_break)
}

fn covered(s: &Sentence, spans: &[Span], cues: &[(usize, usize)]) -> Vec<bool> {
    let mut covered = vec![false; s.len()];
    let ranges = spans.iter().map(|span| span.words.clone()).chain(cues.iter().map(|(at, n)| *at..at + n));
    for at in ranges.flatten() {
        covered[at] = true;
    }
    covered
}

fn wake(s: &Sentence, now: &Zoned) -> Option<Request> {
    let (at, count) = cue(s, WAKES)?;
    let limit = unclear::limit(s, now);
    let spans = without(&spans::find(s, now, true), limit.as_ref().map(|(words, _)| words));
    let covered = covered(s, &spans, &[(at, count)]);
    if is_change(s, &covered, at)
        || at > 0 && s.word(at - 1) == "no"
        || s.mentions(&["timer", "alarms", "smoke", "burglar", "fire"])
        || s.word(at + count - 1) == "alarm"
            && ["went", "rang", "goes", "ringing", "rings", "is", "was", "did"].contains(&s.word(at + count))
    {
        return None;
    }
    let times = spans.iter().filter(|span| !matches!(span.is, Is::Length)).count();
    let meant = spans::meant(s, &spans, now, true, at)?;
    let pairs = pairs(s, &spans, now, &meant, true);
    let sure = meant.has_time && (times <= meant.of.len() || pairs.is_some() || clause_between(s, &spans, at, &meant));
    let arguments = |schedule: &Value| {
        Map::from_iter([
            ("name".to_owned(), "Alarm".into()),
            ("message".to_owned(), "It is time to get up.".into()),
            ("schedule".to_owned(), schedule.clone()),
        ])
    };
    if !meant.has_time {
        return None;
    }
    let mut made = Request::new("create_scheduled_task", arguments(&meant.schedule), sure, "an alarm");
    made.more = pairs.into_iter().map(|schedule| ("create_scheduled_task", arguments(&schedule))).collect();
    if let Some(end) = limit.and_then(|(_, end)| end) {
        unclear::ended(&mut made, end, now);
    }
    Some(made)
}

/// A second recurrence or moment with a day and a time of its own: "6:30 mon to fri, but 7:15 on sat".
fn pairs(s: &Sentence, spans: &[Span], now: &Zoned, first: &spans::Meant, early: bool) -> Option<Value> {
    let rest: Vec<Span> = (0..spans.len()).filter(|i| !first.of.contains(i)).map(|i| spans[i].clone()).collect();
    if rest.is_empty() || rest.len() > 2 || rest.iter().any(|span| matches!(span.is, Is::Length)) {
        return None;
    }
    let joined = rest.first().is_some_and(|span| {
        let at = span.words.start;
        let again = usize::from(["again", "another", "also"].contains(&s.word(at.saturating_sub(1))));
        at > again && ["and", "but", "then", "plus"].contains(&s.word(at - 1 - again))
    });
    let second = spans::meant(s, &rest, now, early, 0)
        .filter(|second| joined && second.has_time && second.of.len() == rest.len())?;
    Some(second.schedule)
}

/// Whether times beside those taken are in a clause of their own, as a reason: "wake me at 6, my train goes at 8".
fn clause_between(s: &Sentence, spans: &[Span], cue: usize, meant: &spans::Meant) -> bool {
    let taken: Vec<usize> = meant.of.iter().map(|i| spans[*i].words.start).collect();
    let (Some(first), Some(last)) = (taken.iter().min(), taken.iter().max()) else { return false };
    let others = (0..spans.len()).filter(|i| !meant.of.contains(i)).map(|i| &spans[i]);
    let apart =
        |from: usize, to: usize| (from + 1..=to).any(|at| s.tokens[at].after_break || REASON.contains(&s.word(at)));
    others.filter(|span| !matches!(span.is, Is::Length)).all(|span| {
        let at = span.words.start;
        if at > *last { apart((*last).max(cue), at) } else { apart(at, (*first).min(cue).max(at)) }
    })
}

const REASON: &[&str] = &["because", "cos", "as", "for", "since", "so", "before", "the", "my"];

fn reminder(s: &Sentence, now: &Zoned) -> Option<Request> {
    let (at, count) = cue(s, CUES)?;
    let spans = spans::find(s, now, false);
    let covered = covered(s, &spans, &[(at, count)]);
    if is_change(s, &covered, at) || asks_back(s, at, count) {
        return None;
    }
    let for_name = person_after(s, at, count);
    made(s, now, &spans, (at, count), for_name)
}

/// "remind me what …": a question.
fn asks_back(s: &Sentence, at: usize, count: usize) -> bool {
    ["what", "who", "which", "how", "why", "where"].contains(&s.word(at + count))
        || s.word(at + count) == "when" && s.asks
}

/// "set a reminder for Tom to …".
fn person_after(s: &Sentence, at: usize, count: usize) -> Option<(usize, usize, String)> {
    let next = at + count;
    let to = usize::from(["for", "to"].contains(&s.word(next)));
    if !s.word(at + count - 1).starts_with("reminder") || to == 0 {
        return None;
    }
    let (n, who) = name_at(s, next + 1)?;
    // "for Tom to …", not "for Tom's party".
    ["to", "at", "about", "that", "in", "on"].contains(&s.word(next + 1 + n)).then_some((next, 1 + n, who))
}

/// A person at `at`: a capitalized name of several words, or one word.
fn name_at(s: &Sentence, at: usize) -> Option<(usize, String)> {
    const NO_NAME: &[&str] = &[
        "me",
        "us",
        "you",
        "him",
        "her",
        "them",
        "it",
        "myself",
        "myselves",
        "when",
        "what",
        "again",
        "later",
        "if",
        "the",
        "my",
        "our",
        "a",
        "an",
        "bins",
        "hob",
        "everything",
        "someone",
        "somebody",
        "anyone",
        "off",
        "on",
        "time",
        "is",
    ];
    if ["everyone", "everybody"].contains(&s.word(at)) {
        return Some((1, "everyone".to_owned()));
    }
    if NO_NAME.contains(&s.word(at)) || s.word(at).ends_with("'s") {
        return None;
    }
    let all = names::person(s, at);
    let capital = s.tokens.get(at).is_some_and(|token| s.text[token.start..].starts_with(char::is_uppercase));
    let found = if capital { all.into_iter().next() } else { all.into_iter().last() };
    found.map(|(count, _, who)| (count, who))
}

/// "remind Jon to …", "tell Edie … at 8".
fn of_other(s: &Sentence, now: &Zoned) -> Option<Request> {
    let at = (0..s.len()).find(|at| TELLS.contains(&s.word(*at)) && name_at(s, at + 1).is_some())?;
    let (n, who) = name_at(s, at + 1)?;
    let spans = spans::find(s, now, false);
    if spans.iter().any(|span| span.words.contains(&(at + 1))) {
        return None;
    }
    let covered = covered(s, &spans, &[(at, 1 + n)]);
    if is_change(s, &covered, at) || (s.word(at) == "tell" && asks_back(s, at, 1 + n)) {
        return None;
    }
    made(s, now, &spans, (at, 1 + n), Some((at, 1 + n, who)))
}

/// The reminder, if its time and its text are found.
fn made(
    s: &Sentence,
    now: &Zoned,
    spans: &[Span],
    (at, count): (usize, usize),
    person: Option<(usize, usize, String)>,
) -> Option<Request> {
    let limit = unclear::limit(s, now);
    let kept = without(spans, limit.as_ref().map(|(words, _)| words));
    let spans = kept.as_slice();
    let meant = spans::meant(s, spans, now, false, at + count)?;
    // A length that counts nothing belongs to the text, and so does a time of a clause of its own.
    let taken: Vec<Span> = meant.of.iter().map(|i| spans[*i].clone()).collect();
    let mut cues = vec![(at, count)];
    cues.extend(person.as_ref().map(|(at, count, _)| (*at, *count)));
    cues.extend(limit.as_ref().map(|(words, _)| (words.start, words.len())));
    let covered = covered(s, &taken, &cues);
    let (from, to) = text(s, &covered, at + count)?;
    let message = s.slice(from, to);
    let others = (0..spans.len()).filter(|i| {
        let span = &spans[*i];
        !meant.of.contains(i) && !matches!(span.is, Is::Length) && !(from..to).contains(&span.words.start)
    });
    let second = pairs(s, spans, now, &meant, false);
    let sure = others.count() == 0 || second.is_some() || clause_between(s, spans, at, &meant);
    let mut arguments = Map::from_iter([
        ("message".to_owned(), message.into()),
        ("name".to_owned(), message.into()),
        ("schedule".to_owned(), meant.schedule),
    ]);
    if let Some((.., who)) = person {
        arguments.insert("person".to_owned(), who.into());
    }
    let mut again = arguments.clone();
    let mut made = Request::new("create_scheduled_task", arguments, sure, "a reminder");
    if let Some(schedule) = second {
        again.insert("schedule".to_owned(), schedule);
        made.more.push(("create_scheduled_task", again));
    }
    if let Some(end) = limit.and_then(|(_, end)| end) {
        unclear::ended(&mut made, end, now);
    }
    Some(made)
}

/// The times that are not part of these words.
fn without(spans: &[Span], words: Option<&Range<usize>>) -> Vec<Span> {
    let within =
        |span: &&Span| !words.is_some_and(|words| words.start < span.words.end && span.words.start < words.end);
    spans.iter().filter(within).cloned().collect()
}

/// The words of its text: those after the request, else the first others that say something.
fn text(s: &Sentence, covered: &[bool], after: usize) -> Option<(usize, usize)> {
    const SAYS_NOTHING: &[&str] = &[
        "can", "could", "would", "you", "i", "we", "need", "want", "just", "please", "hob", "when", "will", "shall",
        "should", "like", "me", "be", "so", "kind", "as", "a", "little", "might", "give", "have", "set", "to", "have",
        "got", "forget", "keep", "may", "might", "must", "and", "i", "shall", "know", "right", "before", "say", "it",
        "is", "do", "not", "am",
    ];
    let runs = words::runs(s, covered);
    let says = |run: &(usize, usize)| {
        (run.0..run.1).any(|at| !SAYS_NOTHING.contains(&s.word(at)) && s.word(at).chars().count() > 1)
    };
    const CLAUSES: &[&str] = &["when", "while", "once", "after", "before", "if", "starting", "until", "as"];
    let trimmed = |run: &(usize, usize)| {
        words::trimmed(s, *run, true).filter(says).filter(|(from, _)| !CLAUSES.contains(&s.word(*from)))
    };
    const LEADS: &[&str] = &["to", "about", "that", "re", "of"];
    let behind = || runs.iter().filter(|run| run.0 >= after);
    let led = behind().find(|run| LEADS.contains(&s.word(run.0))).and_then(trimmed);
    led.or_else(|| behind().find_map(trimmed)).or_else(|| runs.iter().filter(|run| run.1 <= after).find_map(trimmed))
}

/// Without a request: "in an hour and a half I need to switch the slow cooker to low".
fn hinted(s: &Sentence, now: &Zoned) -> Option<Request> {
    const MUST: &[&[&str]] = &[
        &["i", "need", "to"],
        &["i", "have", "to"],
        &["i", "must"],
        &["i", "ought", "to"],
        &["i", "should"],
        &["we", "need", "to"],
        &["we", "have", "to"],
        &["we", "must"],
        &["i", "have", "got", "to"],
        &["we", "should"],
    ];
    let spans = spans::find(s, now, false);
    let [Span { is: Is::Moment(phrase), words }] = &spans[..] else { return None };
    if !phrase.has_time || s.asks {
        return None;
    }
    let meant = spans::meant(s, &spans, now, false, words.start)?;
    let must = (0..s.len()).find_map(|at| MUST.iter().find(|must| s.has(at, must)).map(|must| (at, must.len())))?;
    let covered = covered(s, &spans, &[must]);
    let (from, to) = text(s, &covered, must.0 + must.1).filter(|(from, _)| *from >= must.0)?;
    let message = s.slice(from, to);
    let arguments = Map::from_iter([
        ("message".to_owned(), message.into()),
        ("name".to_owned(), message.into()),
        ("schedule".to_owned(), meant.schedule),
    ]);
    Some(Request::new("create_scheduled_task", arguments, false, "something to do at a time"))
}
