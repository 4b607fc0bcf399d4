//! What is done with what was just shown or made: "complete the second one", "the last one can wait till monday", "remind me an
//! hour before that", "how long on both", "which of those is the oldest".

use super::{
    exchange::{Exchange, Thing},
    outcome::{Outcome, Planned, RiskOf},
    pointer::{self, Pointer},
    value,
};
use crate::{
    format_value::format_value,
    sentence::Sentence,
    slots::{self, Kind, duration},
};
use jiff::{ToSpan, Unit, Zoned};
use serde_json::{Map, Value, json};
use text_kit::{capitalized, counted, end_sentence, join_and};
use tool::Risk;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Complete,
    Delete,
    Move,
    Remind,
    Left,
    Pause,
    Resume,
    Stop,
    Longer,
    Shorter,
    Read,
    When,
    Rename,
    Keep,
}

const DOES: &[(&str, Does)] = &[
    ("complete", Does::Complete),
    ("tick", Does::Complete),
    ("check", Does::Complete),
    ("cross", Does::Complete),
    ("finish", Does::Complete),
    ("finished", Does::Complete),
    ("mark", Does::Complete),
    ("done", Does::Complete),
    ("did", Does::Complete),
    ("got", Does::Complete),
    ("bought", Does::Complete),
    ("delete", Does::Delete),
    ("remove", Does::Delete),
    ("cancel", Does::Delete),
    ("scrap", Does::Delete),
    ("bin", Does::Delete),
    ("erase", Does::Delete),
    ("drop", Does::Delete),
    ("lose", Does::Delete),
    ("clear", Does::Delete),
    ("get rid of", Does::Delete),
    ("take off", Does::Delete),
    ("call off", Does::Delete),
    ("move", Does::Move),
    ("push", Does::Move),
    ("put", Does::Move),
    ("shift", Does::Move),
    ("bump", Does::Move),
    ("postpone", Does::Move),
    ("delay", Does::Move),
    ("reschedule", Does::Move),
    ("snooze", Does::Move),
    ("bring", Does::Move),
    ("pull", Does::Move),
    ("change", Does::Move),
    ("can wait", Does::Move),
    ("set", Does::Move),
    ("make", Does::Move),
    ("remind me", Does::Remind),
    ("remind us", Does::Remind),
    ("warn me", Does::Remind),
    ("tell me", Does::Remind),
    ("nudge me", Does::Remind),
    ("how long", Does::Left),
    ("how much time", Does::Left),
    ("how much longer", Does::Left),
    ("how are", Does::Left),
    ("pause", Does::Pause),
    ("hold", Does::Pause),
    ("resume", Does::Resume),
    ("restart", Does::Resume),
    ("carry on with", Does::Resume),
    ("unpause", Does::Resume),
    ("stop", Does::Stop),
    ("add", Does::Longer),
    ("give", Does::Longer),
    ("extend", Does::Longer),
    ("take", Does::Shorter),
    ("knock", Does::Shorter),
    ("shorten", Does::Shorter),
    ("read", Does::Read),
    ("open", Does::Read),
    ("show", Does::Read),
    ("what does", Does::Read),
    ("when is", Does::When),
    ("when are", Does::When),
    ("when was", Does::When),
    ("what time is", Does::When),
    ("what day is", Does::When),
    ("rename", Does::Rename),
    ("keep", Does::Keep),
];

/// Openings before the verb.
const BEFORE: &[&str] = &[
    "and", "then", "now", "ok", "okay", "oh", "so", "please", "can", "could", "you", "would", "will", "also",
    "actually", "i", "have", "we", "well", "right", "just", "hob", "go", "ahead", "am", "need", "to", "want", "let",
    "us", "hey", "already", "with", "but", "thanks",
];

/// What a sentence about shown things comes to.
pub(crate) fn pointed(text: &str, exchanges: &[Exchange], now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    let s = Sentence::whole(text);
    if !(2..=16).contains(&s.len()) || s.tokens.iter().any(|token| token.opens) {
        return None;
    }
    let things = exchanges.iter().take(3).map(Exchange::things).find(|things| !things.is_empty())?;
    if let Some(answer) = compared(&s, &things, now) {
        return Some(answer);
    }
    let pointer = match pointer::find(&s, &things) {
        Some(pointer) => pointer,
        // "snooze until half eight".
        None if s.word(0) == "snooze" && s.word(1) != "it" => {
            return pointed(&format!("snooze it {}", s.slice(1, s.len())), exchanges, now, risk);
        }
        // "remind me the day before".
        None if s.word(s.len() - 1) == "before" && things.len() == 1 && !text.ends_with("that") => {
            return pointed(&format!("{} that", s.rest()), exchanges, now, risk);
        }
        None => return None,
    };
    let does = verb(&s, &pointer)?;
    // "delete it" names the one thing there is, as plainly as its name does.
    // "check that" looks after it, and "I got it" has understood.
    let (needs, ends) = (["check", "cross", "mark"], ["off", "out", "done", "complete", "completed", "finished"]);
    let understood =
        (s.mentions(&["got", "did"])) && pointer.count == 1 && ["it", "that"].contains(&s.word(pointer.at));
    if does == Does::Complete && (s.mentions(&needs) && !s.mentions(&ends) || understood) {
        return None;
    }
    if does == Does::Delete && things.len() == 1 && !["memory", "timer", "event"].contains(&things[0].noun) {
        return None;
    }
    plan(&s, &pointer, does, now, risk)
}

/// The outcome of doing something with what is pointed at.
fn plan(s: &Sentence, pointer: &Pointer, does: Does, now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    if pointer.open && does != Does::Left {
        let readings: Vec<(String, Outcome)> = pointer
            .things
            .iter()
            .filter_map(|thing| {
                let one = Pointer { things: vec![thing.clone()], open: false, ..pointer.clone() };
                Some((thing.name.clone(), plan(s, &one, does, now, risk)?))
            })
            .collect();
        let apart = readings.len() > 1 && readings.len() <= 6;
        return apart.then_some(Outcome::Which(readings));
    }
    if does == Does::Left {
        return pointer
            .things
            .iter()
            .all(|thing| thing.noun == "timer")
            .then(|| Outcome::call("list_timers", json!({})));
    }
    let calls: Option<Vec<Planned>> = pointer.things.iter().map(|thing| call(s, pointer, does, thing, now)).collect();
    let calls = calls.filter(|calls| !calls.is_empty())?;
    if calls.iter().any(|(tool, _)| !matches!(risk(tool), Some(Risk::Observe | Risk::Write | Risk::Destroy))) {
        return None;
    }
    let asks = calls
        .iter()
        .any(|(tool, _)| tool.starts_with("delete_") || tool == "forget" || risk(tool) == Some(Risk::Destroy));
    // "bin it": the one thing that was just shown or made, which undo brings back.
    let one = pointer.things.len() == 1 && pointer.count == 1 && s.word(pointer.at) == "it";
    let kept = pointer.things.iter().all(|thing| ["event", "reminder"].contains(&thing.noun));
    if asks && !(one && kept) {
        let names: Vec<String> =
            pointer.things.iter().map(|thing| format!("“{}”", text_kit::truncate(&thing.name, 60))).collect();
        let noun = pointer.things.first().map_or("", |thing| thing.noun);
        let what = if names.len() == 1 { format!("the {noun} {}", names.concat()) } else { join_and(&names) };
        return Some(Outcome::Propose(format!("{} {what}", if noun == "memory" { "forget" } else { "delete" }), calls));
    }
    Some(Outcome::Do(calls))
}

/// The verb of a sentence and what it does: before what it points at, or behind it ("the first one is done").
fn verb(s: &Sentence, pointer: &Pointer) -> Option<Does> {
    let at = (0..s.len()).take_while(|at| BEFORE.contains(&s.word(*at)) && *at < pointer.at).count();
    let first = DOES
        .iter()
        .filter(|(verb, _)| s.has(at, &verb.split(' ').collect::<Vec<_>>()))
        .max_by_key(|(verb, _)| verb.len());
    let after = pointer.at + pointer.count;
    if let Some((_, does)) = first.filter(|_| at < pointer.at) {
        return Some(*does).filter(|does| *does != Does::Keep);
    }
    if pointer.at > at {
        return None;
    }
    // Behind it.
    let rest = |words: &[&str]| (after..s.len()).map(|i| s.word(i)).collect::<Vec<_>>() == words;
    let begins = |words: &[&str]| s.has(after, words);
    if [
        &["is", "done"][..],
        &["are", "done"],
        &["done"],
        &["is", "finished"],
        &["are", "finished"],
        &["is", "sorted"],
        &["has", "been", "done"],
        &["is", "done", "now"],
    ]
    .iter()
    .any(|words| rest(words))
    {
        return Some(Does::Complete);
    }
    if [
        &["can", "wait"][..],
        &["needs", "to", "be"],
        &["should", "be"],
        &["is", "on"],
        &["is", "now"],
        &["has", "moved"],
        &["has", "been", "moved"],
        &["is", "moved"],
    ]
    .iter()
    .any(|words| begins(words))
    {
        return Some(Does::Move);
    }
    if [&["can", "go"][..], &["is", "not", "needed"], &["can", "be", "deleted"], &["is", "off"], &["is", "cancelled"]]
        .iter()
        .any(|words| rest(words))
    {
        return Some(Does::Delete);
    }
    None
}

/// The call that does something with one thing.
fn call(s: &Sentence, pointer: &Pointer, does: Does, thing: &Thing, now: &Zoned) -> Option<Planned> {
    let (family, key) = thing.kind();
    let after = pointer.at + pointer.count;
    let rest = Sentence::whole(s.slice(after, s.len()));
    let named = |tool: String, more: &[(&str, Value)]| {
        let mut arguments = Map::from_iter([(key.to_owned(), Value::from(thing.key.as_str()))]);
        arguments.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Some((tool, Value::Object(arguments)))
    };
    let few = |words: &[&str]| rest.tokens.iter().all(|token| words.contains(&token.word.as_str()));
    match (does, thing.noun) {
        (Does::Complete, "task") => {
            const WORDS: &[&str] = &[
                "off",
                "as",
                "done",
                "complete",
                "completed",
                "finished",
                "please",
                "now",
                "then",
                "too",
                "already",
                "the",
                "my",
                "our",
                "list",
                "from",
                "up",
                "thanks",
                "of",
                "today",
                "is",
                "are",
                "has",
                "been",
                "sorted",
            ];
            (few(WORDS)).then(|| named("complete_task".into(), &[]))?
        }
        (Does::Delete, "timer") if few(DELETED) => named("cancel_timer".into(), &[]),
        (Does::Delete, "memory") if few(DELETED) => named("forget".into(), &[]),
        (Does::Delete, _) if few(DELETED) => named(format!("delete_{family}"), &[]),
        (Does::Pause, "timer") if few(DELETED) => named("pause_timer".into(), &[]),
        (Does::Resume, "timer") if few(DELETED) => named("resume_timer".into(), &[]),
        (Does::Stop, "timer") if few(DELETED) => named("cancel_timer".into(), &[]),
        (Does::Longer | Does::Shorter, "timer") => {
            let length = lengths(s, pointer)?;
            let sign = if does == Does::Shorter { "-" } else { "" };
            named("adjust_timer".into(), &[("duration", format!("{sign}{length}").into())])
        }
        (Does::Move, "task" | "event" | "reminder") => {
            moved(s, pointer, thing, now).and_then(|more| named(format!("update_{family}"), &[more]))
        }
        (Does::Rename, "task" | "event" | "note") => {
            let lead = usize::from(["to", "as"].contains(&rest.word(0)));
            let title = rest.slice(lead, rest.len());
            (!title.is_empty() && rest.len() <= 8)
                .then(|| named(format!("update_{family}"), &[("title", title.into())]))?
        }
        (Does::Remind, _) => reminder(s, pointer, thing, now),
        (Does::Read, "note") if few(&["out", "to", "me", "say", "please", "again", "in", "full"]) => {
            named("get_note".into(), &[])
        }
        (Does::When, "event") if few(&["on", "again", "at", "exactly", "then"]) => {
            let (day, _) = value::parse(thing.moment()?)?;
            Some((
                "list_calendar_events".into(),
                json!({"search": thing.name, "startDate": day.to_string(), "endDate": day.to_string()}),
            ))
        }
        (Does::When, "reminder") if few(&["on", "again", "at", "exactly", "then", "set", "for"]) => {
            Some(("list_scheduled_tasks".into(), json!({"search": thing.name})))
        }
        _ => None,
    }
}

const DELETED: &[&str] = &[
    "please",
    "now",
    "then",
    "too",
    "as",
    "well",
    "again",
    "off",
    "from",
    "the",
    "my",
    "our",
    "list",
    "calendar",
    "diary",
    "altogether",
    "thanks",
    "for",
    "a",
    "moment",
    "up",
    "minute",
    "out",
    "both",
];

/// The length in "add two minutes to that", "give it another 5".
fn lengths(s: &Sentence, pointer: &Pointer) -> Option<String> {
    let spans = (0..s.len()).filter(|at| !(pointer.at..pointer.at + pointer.count).contains(at));
    let span = spans.clone().find_map(|at| duration::duration(s, at)).map(|(_, span)| span.to_string());
    let article = |at: usize| ["a", "an", "one"].contains(&s.word(at));
    span.or_else(|| {
        let (_, n) = spans.filter(|at| !article(*at)).find_map(|at| slots::number::number(s, at))?;
        (n.fract() == 0.0 && (1.0..600.0).contains(&n)).then(|| format!("PT{n}M"))
    })
}

/// The argument that moves something: to another day or time, to another list, or its priority.
fn moved(s: &Sentence, pointer: &Pointer, thing: &Thing, now: &Zoned) -> Option<(&'static str, Value)> {
    const LEADS: &[&str] = &[
        "can", "wait", "till", "until", "to", "for", "on", "be", "needs", "should", "is", "now", "back", "forward",
        "by", "off", "at", "it", "up", "has", "moved", "been", "due", "as", "a", "over",
    ];
    let after = pointer.at + pointer.count;
    let end =
        (after..s.len()).rev().find(|at| !["please", "instead", "then", "too", "thanks"].contains(&s.word(*at)))? + 1;
    let name = match thing.noun {
        "task" => "dueDate",
        "event" => "startTime",
        _ => "schedule",
    };
    let old = match thing.noun {
        "reminder" => thing.record.get("schedule").and_then(Value::as_str).or(thing.moment()),
        _ => thing.moment(),
    };
    let today = now.date().to_string();
    let old = old.unwrap_or(&today);
    for at in after..end {
        let rest = Sentence::whole(s.slice(at, end));
        if thing.noun == "task" {
            let list =
                value::whole(Kind::List, &rest, now).filter(|list| rest.mentions(&["list"]) && !list.value.is_null());
            if let Some(list) = list {
                return Some(("category", list.value));
            }
            if let Some(priority) = value::whole(Kind::Priority, &rest, now) {
                return Some(("priority", priority.value));
            }
        }
        // "back an hour", "by two days", "an hour later".
        let turns = |at: usize| ["later", "earlier", "sooner", "forward", "back"].contains(&rest.word(at));
        let by = duration::duration(&rest, 0)
            .filter(|(count, _)| *count == rest.len() || *count + 1 == rest.len() && turns(*count));
        if let (Some((_, span)), Some((day, time))) = (by, value::parse(old)) {
            let earlier = s.mentions(&["forward", "earlier", "sooner"]);
            // What has rung is snoozed from now on.
            let rang = s.mentions(&["snooze"]).then(|| now.datetime().round(Unit::Minute).unwrap_or(now.datetime()));
            let from = day.to_datetime(time.unwrap_or_default());
            let from = rang.map_or(from, |rang| from.max(rang));
            let to = if earlier { from.checked_sub(span).ok()? } else { from.checked_add(span).ok()? };
            let text = if time.is_some() { to.strftime("%Y-%m-%dT%H:%M").to_string() } else { to.date().to_string() };
            return Some((name, text.into()));
        }
        if let Some(moment) = value::moment(old, &rest, now, false) {
            return Some((name, moment.into()));
        }
        if !LEADS.contains(&s.word(at)) {
            return None;
        }
    }
    None
}

/// "remind me an hour before that", "remind me about the second one tomorrow at 9".
fn reminder(s: &Sentence, pointer: &Pointer, thing: &Thing, now: &Zoned) -> Option<Planned> {
    let made = |at: String| {
        Some(("create_scheduled_task".to_owned(), json!({"name": thing.name, "message": thing.name, "schedule": at})))
    };
    let begins = thing.moment().and_then(value::parse);
    let before = (2..s.len()).find(|at| s.word(*at) == "before");
    if let Some(before) = before {
        let (day, time) = begins?;
        let start = day.to_datetime(time.unwrap_or_else(|| jiff::civil::time(9, 0, 0, 0)));
        let span = (0..before)
            .find_map(|at| duration::duration(s, at).filter(|(count, _)| at + count == before))
            .map(|(_, span)| span);
        let day_before = s.has(before.checked_sub(2)?, &["the", "day"])
            || s.has(before.checked_sub(2)?, &["the", "night"])
            || s.has(before.checked_sub(2)?, &["the", "evening"]);
        let at = match (span, day_before) {
            (Some(span), _) => start.checked_sub(span).ok()?,
            (None, true) => {
                let hour = if s.word(before - 1) == "day" { start.hour() } else { 19 };
                start.date().checked_sub(1.day()).ok()?.at(hour, if hour == 19 { 0 } else { start.minute() }, 0, 0)
            }
            _ => return None,
        };
        return (at > now.datetime()).then(|| made(at.strftime("%Y-%m-%dT%H:%M").to_string()))?;
    }
    // "about it tomorrow at 9", "of that in an hour".
    let lead = ["about", "of"].contains(&s.word(pointer.at.checked_sub(1)?));
    let after = Sentence::whole(s.slice(pointer.at + pointer.count, s.len()));
    let read = value::whole(Kind::Future, &after, now).filter(|_| lead)?;
    made(read.value.as_str()?.to_owned())
}

/// "which of those is the oldest", "how many is that": answered from what was shown.
fn compared(s: &Sentence, things: &[Thing], now: &Zoned) -> Option<Outcome> {
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let points = s.mentions(&["those", "these", "them", "that", "it", "there"]);
    if s.has(0, &["how", "many"])
        && points
        && words.len() <= 7
        && words[2..].iter().all(|word| {
            [
                "is",
                "that",
                "are",
                "those",
                "these",
                "them",
                "of",
                "there",
                "it",
                "in",
                "all",
                "total",
                "altogether",
                "now",
            ]
            .contains(word)
        })
    {
        let noun = things.first()?.noun;
        return Some(Outcome::Say(end_sentence(&counted(things.len(), noun))));
    }
    let which = s.word(0) == "which" || s.has(0, &["what", "is", "the"]) && s.mentions(&["one"]);
    if !which || things.len() < 2 || words.len() > 9 {
        return None;
    }
    const PLAIN: &[&str] = &[
        "which", "one", "of", "those", "these", "them", "is", "the", "was", "comes", "first", "and", "what", "due",
        "did", "i", "add", "made", "ones", "most", "it", "that", "then", "are", "two",
    ];
    let word = match words.as_slice() {
        [.., "comes" | "is" | "due", "first"] | [.., "due", "next"] => "earliest",
        [.., "comes" | "is" | "due", "last"] => "latest",
        [.., "most", "expensive"] => "dearest",
        [.., "most", "recent"] => "newest",
        [.., "next"] => "next",
        [.., last] => last,
        [] => return None,
    };
    let known = words.iter().filter(|word| !PLAIN.contains(word)).count() <= 2;
    let thing = pointer::extreme(word, things).filter(|_| known)?;
    let detail = match word {
        "oldest" | "newest" => None,
        "dearest" | "biggest" | "largest" | "cheapest" | "smallest" => {
            thing.record.get("amount").and_then(|amount| format_value(amount, now))
        }
        _ => thing.moment().and_then(|moment| {
            let (day, time) = value::parse(moment)?;
            let text =
                time.map_or(day.to_string(), |time| day.to_datetime(time).strftime("%Y-%m-%dT%H:%M").to_string());
            format_value(&text.into(), now)
        }),
    };
    let name = capitalized(&thing.name);
    Some(Outcome::Say(end_sentence(&detail.map_or(name.clone(), |detail| format!("{name}, {detail}")))))
}
