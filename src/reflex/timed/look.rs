//! Questions about times: what is on, which reminders there are, when the alarm goes, how long a timer has left.

use super::{Request, event::day_at};
use crate::sentence::Sentence;
use jiff::{ToSpan, Zoned, civil::Date};
use serde_json::{Map, Value};

/// The question about times that a sentence is.
pub(crate) fn read(s: &Sentence, now: &Zoned) -> Option<Request> {
    reminders(s).or_else(|| alarms(s)).or_else(|| timers(s)).or_else(|| agenda(s, now)).or_else(|| calendar(s, now))
}

fn any(s: &Sentence, all: &[&[&str]]) -> bool {
    (0..s.len()).any(|at| all.iter().any(|words| s.has(at, words)))
}

fn look(tool: &'static str, arguments: &[(&str, Value)], why: &'static str) -> Request {
    let arguments = arguments.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Request::new(tool, arguments, true, why)
}

/// "what have I asked you to nag me about", "what reminders are there".
fn reminders(s: &Sentence) -> Option<Request> {
    const ASKED: &[&[&str]] = &[
        &["nag", "me", "about"],
        &["nagging", "me", "about"],
        &["remind", "me", "about"],
        &["remind", "me", "of"],
        &["reminding", "me", "about"],
        &["reminding", "me", "of"],
        &["to", "remind", "me"],
        &["nudge", "me", "about"],
        &["bug", "me", "about"],
        &["pester", "me", "about"],
        &["chase", "me", "about"],
        &["bother", "me", "about"],
    ];
    let asks = s.word(0) == "what"
        && ["have", "am", "did", "are", "is", "else", "do", "has", "had"].contains(&s.word(1))
        || s.word(0) == "which";
    (asks && any(s, ASKED)).then(|| look("list_scheduled_tasks", &[], "which reminders there are"))
}

/// "am I being woken tomorrow", "is there an alarm on".
fn alarms(s: &Sentence) -> Option<Request> {
    const ASKED: &[&[&str]] = &[
        &["am", "i", "being", "woken"],
        &["am", "i", "getting", "woken"],
        &["is", "there", "an", "alarm"],
        &["is", "my", "alarm"],
        &["is", "the", "alarm"],
        &["have", "i", "got", "an", "alarm"],
        &["do", "i", "have", "an", "alarm"],
        &["have", "i", "set", "an", "alarm"],
        &["did", "i", "set", "an", "alarm"],
        &["are", "you", "waking", "me"],
        &["will", "you", "wake", "me"],
        &["when", "do", "i", "get", "woken"],
        &["what", "time", "am", "i", "being", "woken"],
        &["what", "time", "am", "i", "getting", "up"],
        &["when", "am", "i", "getting", "up"],
        &["did", "i", "set", "my", "alarm"],
        &["what", "time", "are", "you", "waking", "me"],
        &["when", "are", "you", "waking", "me"],
    ];
    ASKED
        .iter()
        .any(|words| s.has(0, words))
        .then(|| look("list_scheduled_tasks", &[("search", "Alarm".into())], "whether an alarm is set"))
}

/// "how long now", "how much longer on the pasta", "which one goes off next".
fn timers(s: &Sentence) -> Option<Request> {
    const ASKED: &[&[&str]] = &[
        &["how", "much", "longer"],
        &["how", "long", "now"],
        &["how", "long", "left"],
        &["how", "long", "to", "go"],
        &["how", "long", "on"],
        &["how", "long", "have", "i", "got"],
        &["how", "long", "has", "it", "got"],
        &["how", "long", "until", "it"],
        &["how", "many", "minutes", "left"],
        &["how", "many", "minutes", "has"],
        &["how", "much", "time", "left"],
        &["how", "much", "time", "is", "left"],
        &["how", "much", "time", "has"],
        &["how", "long", "is", "left"],
        &["how", "long", "has", "the"],
        &["how", "long", "have", "the"],
        &["how", "much", "time", "on"],
        &["how", "long", "for", "the"],
        &["how", "many", "minutes", "on"],
        &["when", "does", "the", "timer"],
        &["when", "does", "my", "timer"],
        &["when", "will", "the", "timer"],
        &["when", "do", "the", "timers"],
    ];
    const NEXT: &[&[&str]] = &[
        &["next", "to", "go", "off"],
        &["next", "one", "to", "go", "off"],
        &["goes", "off", "next"],
        &["goes", "off", "first"],
        &["going", "off", "next"],
        &["going", "off", "first"],
        &["rings", "next"],
        &["finishes", "first"],
        &["first", "to", "go", "off"],
    ];
    let whole = s.len() == 2 && s.has(0, &["how", "long"]);
    let asks = ASKED.iter().any(|words| s.has(0, words)) || any(s, NEXT) && ["which", "what"].contains(&s.word(0));
    let other = s.mentions(&[
        "christmas",
        "birthday",
        "holiday",
        "meeting",
        "concert",
        "drive",
        "walk",
        "battery",
        "wedding",
        "summer",
        "easter",
        "alarm",
        "reminder",
        "been",
        "task",
        "tasks",
        "goal",
        "event",
        "weeks",
        "days",
        "weekend",
    ]);
    (whole || asks && !other).then(|| look("list_timers", &[], "how long the timers have left"))
}

/// "what have I got to do today": events, reminders and tasks.
fn agenda(s: &Sentence, now: &Zoned) -> Option<Request> {
    const ASKED: &[&[&str]] = &[
        &["to", "do"],
        &["got", "to", "do"],
        &["left", "for", "me"],
        &["left", "to", "do"],
        &["need", "to", "do"],
        &["have", "to", "do"],
        &["should", "i", "do"],
        &["should", "i", "be", "doing"],
        &["on", "my", "plate"],
        &["left", "today"],
        &["on", "the", "agenda"],
        &["on", "my", "agenda"],
        &["my", "agenda"],
        &["my", "day", "look"],
        &["does", "today", "look"],
        &["have", "i", "got", "today"],
        &["have", "i", "got", "on", "today"],
        &["have", "we", "got", "on", "today"],
        &["have", "we", "got", "today"],
        &["is", "on", "for", "today"],
        &["happening", "today"],
        &["do", "i", "have", "today"],
        &["do", "we", "have", "today"],
        &["rest", "of", "the", "day"],
        &["rest", "of", "today"],
        &["my", "day"],
        &["am", "i", "doing", "today"],
        &["planned", "today"],
        &["do", "i", "have", "on", "today"],
        &["is", "on", "today"],
        &["is", "today", "looking"],
    ];
    let opens = ["what", "anything"].contains(&s.word(0))
        || ["have", "do", "did"].contains(&s.word(0)) && s.mentions(&["anything", "much", "lot"])
        || any(s, &[&["my", "day"], &["my", "agenda"]])
            && ["how", "run", "give", "show", "tell", "read", "talk"].contains(&s.word(0));
    if !opens
        || !any(s, ASKED)
        || s.mentions(&[
            "list",
            "lists",
            "shopping",
            "calendar",
            "diary",
            "if",
            "forget",
            "with",
            "about",
            "timer",
            "reminder",
            "reminders",
            "task",
            "tasks",
            "event",
            "events",
            "spend",
            "spent",
        ])
    {
        return None;
    }
    let found = (0..s.len()).find_map(|at| day_at(s, at, now));
    let plain = found.is_some() || any(s, &[&["rest", "of", "the", "day"], &["my", "day"], &["left", "for", "me"]]);
    let (first, last) = found.map_or((now.date(), now.date()), |(_, first, last)| (first, last));
    if !plain || last < now.date() {
        return None;
    }
    let mut made = days("list_calendar_events", ["startDate", "endDate"], first, last, "what there is to do");
    let tasks =
        Map::from_iter([("status".to_owned(), "pending".into()), ("dueBefore".to_owned(), last.to_string().into())]);
    let reminders = days("list_scheduled_tasks", ["from", "until"], first, last, "");
    made.more = vec![("list_scheduled_tasks", reminders.arguments), ("list_tasks", tasks)];
    Some(made)
}

fn days(tool: &'static str, [from, to]: [&str; 2], first: Date, last: Date, why: &'static str) -> Request {
    look(tool, &[(from, first.to_string().into()), (to, last.to_string().into())], why)
}

/// "are we free sat afternoon", "have I got anything on friday because …", "what are we up to this weekend".
fn calendar(s: &Sentence, now: &Zoned) -> Option<Request> {
    const OPENS: &[&[&str]] = &[
        &["are", "we", "free"],
        &["am", "i", "free"],
        &["are", "we", "busy"],
        &["am", "i", "busy"],
        &["have", "i", "got", "anything"],
        &["have", "we", "got", "anything"],
        &["have", "i", "got", "owt"],
        &["have", "i", "anything"],
        &["have", "we", "anything"],
        &["do", "we", "have", "anything"],
        &["do", "i", "have", "anything"],
        &["is", "there", "anything"],
        &["anything", "on"],
        &["anything", "happening"],
        &["what", "is", "happening"],
        &["what", "is", "going", "on"],
        &["what", "are", "we", "up", "to"],
        &["what", "are", "we", "doing"],
        &["what", "am", "i", "doing"],
        &["what", "am", "i", "up", "to"],
        &["what", "have", "we", "got"],
        &["what", "have", "i", "got"],
        &["what", "is", "planned"],
        &["are", "we", "doing", "anything"],
        &["am", "i", "doing", "anything"],
        &["have", "we", "got", "plans"],
        &["do", "we", "have", "plans"],
        &["have", "i", "got", "plans"],
        &["any", "plans"],
        &["any", "events"],
        &["any", "appointments"],
        &["what", "is", "on"],
        &["is", "anything", "on"],
        &["what", "does"],
        &["what", "is", "in", "the", "diary"],
        &["what", "do", "we", "have", "on"],
        &["what", "do", "i", "have", "on"],
        &["am", "i", "working"],
        &["have", "i", "got", "work"],
        &["is", "anything", "happening"],
        &["what", "are", "the", "plans"],
    ];
    let opened = OPENS.iter().any(|words| s.has(0, words)) || s.word(0) == "what" && any(s, &[&["up", "to"]]);
    let list = s.mentions(&[
        "list",
        "task",
        "tasks",
        "timer",
        "timers",
        "weather",
        "telly",
        "tv",
        "reminder",
        "reminders",
        "shopping",
        "news",
        "goal",
        "pin",
        "cinema",
        "radio",
    ]);
    if !opened || list {
        return None;
    }
    // "between now and next tuesday"
    if let Some(at) =
        (0..s.len()).find(|at| s.has(*at, &["between", "now", "and"]) || s.has(*at, &["from", "now", "until"]))
    {
        let (_, _, last) = day_at(s, at + 3, now)?;
        return Some(days(
            "list_calendar_events",
            ["startDate", "endDate"],
            now.date(),
            last,
            "what is on until a day",
        ));
    }
    let (at, count, first, last) =
        (0..s.len()).find_map(|at| day_at(s, at, now).map(|(count, first, last)| (at, count, first, last)))?;
    // "from monday to friday", "between 1 and 24 december"
    let joined = ["to", "until", "till", "and", "through"].contains(&s.word(at + count));
    let end = joined.then(|| day_at(s, at + count + 1, now)).flatten().map(|(.., end)| end);
    let last = match end {
        Some(end) if end < first => end.checked_add(7.days()).ok().filter(|end| *end >= first)?,
        Some(end) => end,
        None => last,
    };
    (last >= now.date()).then(|| days("list_calendar_events", ["startDate", "endDate"], first, last, "what is on"))
}
