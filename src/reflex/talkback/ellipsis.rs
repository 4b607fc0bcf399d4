//! What leaves out all that was just said: "and eggs", "same for friday", "what about tomorrow?", "another one for 5 minutes",
//! "and divided by five?", "in inches?".

use super::{
    again,
    exchange::{Call, Exchange},
    outcome::{Outcome, Planned, RiskOf},
    value,
};
use crate::{
    items,
    sentence::Sentence,
    slots::{self, Kind, duration, number},
};
use jiff::{Zoned, civil::Date};
use serde_json::{Map, Value, json};
use tool::Risk;

/// How the sentence goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lead {
    /// "and …", "also …", "… too"
    And,
    /// "what about …"
    About,
    /// "same for …"
    Same,
    /// "another one …"
    Another,
    /// A value alone.
    Bare,
}

const LEADS: &[(&str, Lead)] = &[
    ("and what about", Lead::About),
    ("and how about", Lead::About),
    ("what about", Lead::About),
    ("how about", Lead::About),
    ("what of", Lead::About),
    ("and what is", Lead::About),
    ("and also", Lead::And),
    ("oh and also", Lead::And),
    ("oh and", Lead::And),
    ("oh also", Lead::And),
    ("oh yes and", Lead::And),
    ("and then", Lead::And),
    ("and what of", Lead::About),
    ("and for", Lead::And),
    ("now", Lead::And),
    ("oh what about", Lead::About),
    ("ok what about", Lead::About),
    ("ok and", Lead::And),
    ("okay and", Lead::And),
    ("right and", Lead::And),
    ("n", Lead::And),
    ("same but", Lead::Same),
    ("same again but", Lead::Same),
    ("the same but", Lead::Same),
    ("same as that for", Lead::Same),
    ("and same", Lead::Same),
    ("and the same again for", Lead::Same),
    ("and the same again", Lead::Same),
    ("and same again", Lead::Same),
    ("and", Lead::And),
    ("also", Lead::And),
    ("plus", Lead::And),
    ("and the same for", Lead::Same),
    ("and the same on", Lead::Same),
    ("and the same", Lead::Same),
    ("and same for", Lead::Same),
    ("the same for", Lead::Same),
    ("the same again for", Lead::Same),
    ("same again for", Lead::Same),
    ("same again on", Lead::Same),
    ("same again", Lead::Same),
    ("same for", Lead::Same),
    ("same on", Lead::Same),
    ("same thing for", Lead::Same),
    ("same thing on", Lead::Same),
    ("same thing", Lead::Same),
    ("the same thing", Lead::Same),
    ("the same", Lead::Same),
    ("same", Lead::Same),
    ("do the same for", Lead::Same),
    ("do the same on", Lead::Same),
    ("ditto for", Lead::Same),
    ("ditto", Lead::Same),
    ("and again", Lead::Same),
    ("again", Lead::Same),
    ("and another one", Lead::Another),
    ("and another", Lead::Another),
    ("and one more", Lead::Another),
    ("and one", Lead::Another),
    ("and a second one", Lead::Another),
    ("another one", Lead::Another),
    ("another", Lead::Another),
    ("one more", Lead::Another),
    ("a second one", Lead::Another),
    ("give me another", Lead::Another),
    ("set another one", Lead::Another),
    ("set another", Lead::Another),
    ("start another", Lead::Another),
    ("make another one", Lead::Another),
];

/// The lead of a sentence with the first and last token of what follows.
fn lead(s: &Sentence) -> (Lead, usize, usize) {
    let found = LEADS.iter().filter_map(|(phrase, lead)| {
        let words: Vec<&str> = phrase.split(' ').collect();
        s.has(0, &words).then_some((words.len(), *lead))
    });
    let best = found.max_by_key(|(count, _)| *count);
    let mut end = s.len();
    let mut behind = false;
    const BEHIND: [&[&str]; 10] = [
        &["as", "well"],
        &["too"],
        &["also"],
        &["please"],
        &["while", "you", "are", "at", "it"],
        &["then"],
        &["love"],
        &["dear"],
        &["thanks"],
        &["ta"],
    ];
    const SMALL: [&[&str]; 5] = [&["please"], &["then"], &["love"], &["dear"], &["thanks"]];
    while let Some(phrase) = BEHIND.iter().find(|phrase| end > phrase.len() && s.has(end - phrase.len(), phrase)) {
        end -= phrase.len();
        behind |= !SMALL.contains(phrase) && **phrase != ["ta"];
    }
    match best {
        Some((count, lead)) => (lead, count, end),
        None if behind => (Lead::And, 0, end),
        None => (Lead::Bare, 0, end),
    }
}

/// What an elliptical sentence comes to; `command` tells whether words are a command by themselves.
pub(crate) fn continued(
    text: &str,
    exchanges: &[Exchange],
    now: &Zoned,
    risk: RiskOf,
    command: &dyn Fn(&str) -> bool,
) -> Option<Outcome> {
    let s = Sentence::whole(text);
    let (lead, from, end) = lead(&s);
    if from >= end || end - from > 14 || s.tokens.iter().any(|token| token.opens) {
        return None;
    }
    let at = exchanges.iter().position(|exchange| !exchange.calls.is_empty())?;
    // A value alone follows directly.
    if at > 1 || lead == Lead::Bare && at > 0 {
        return None;
    }
    let spelled = again::days_spelled_out(s.slice(from, end));
    let rest = spelled.as_str();
    let calls = exchanges[at].done();
    let call = &as_made(calls.last()?);
    let pin = call.tool == "gpio_write";
    let said = Sentence::whole(rest);
    // "… too" alone is often said of something else.
    let behind = lead == Lead::And && from == 0;
    if behind && (said.len() > 3 || said.mentions(ABOUT)) {
        return None;
    }
    let outcome = match risk(&call.tool)? {
        Risk::Observe => asked_again(call, lead, &said, now),
        Risk::Write | Risk::Destroy | Risk::Actuate => done_again(call, lead, &said, now, risk),
        _ => None,
    };
    outcome.filter(|_| pin || lead == Lead::Same || !command(rest))
}

/// The call that would make what a call changed, so that "and eggs" also follows a correction.
fn as_made(call: &Call) -> Call {
    let text = |key: &str| call.content.get(key).and_then(Value::as_str);
    let (tool, kept): (_, &[&str]) = match call.tool.as_str() {
        "update_task" => ("add_task", &["category"]),
        "update_expense" => ("add_expense", &["currency", "date"]),
        "update_calendar_event" => ("add_calendar_event", &["title", "location", "startTime"]),
        "update_scheduled_task" => ("create_scheduled_task", &["name", "schedule"]),
        "adjust_timer" => ("set_timer", &[]),
        _ => return call.clone(),
    };
    let local = |key: &str, value: &str| {
        if key == "startTime" { value.get(..16).unwrap_or(value).to_owned() } else { value.to_owned() }
    };
    let mut arguments: Map<String, Value> =
        kept.iter().filter_map(|key| Some(((*key).to_owned(), local(key, text(key)?).into()))).collect();
    match tool {
        "set_timer" => drop(arguments.insert("duration".into(), "PT1M".into())),
        "create_scheduled_task" => {
            let message = call.content.pointer("/action/message").cloned();
            arguments.extend(message.map(|message| ("message".to_owned(), message)));
        }
        _ => {}
    }
    Call { tool: tool.to_owned(), arguments, ..call.clone() }
}

/// Words of a statement about somebody or something.
const ABOUT: &[&str] = &[
    "me", "you", "it", "him", "her", "us", "them", "i", "we", "he", "she", "they", "is", "are", "was", "were", "will",
    "said", "says", "likes", "like", "love", "wants", "because",
];

/// A question with another day or subject, however that is said.
pub(crate) fn asked(call: &Call, text: &str, now: &Zoned) -> Option<Outcome> {
    asked_again(call, Lead::Same, &Sentence::whole(text), now)
}

/// A question with another subject.
fn asked_again(call: &Call, lead: Lead, rest: &Sentence, now: &Zoned) -> Option<Outcome> {
    let with = |changes: Vec<(&str, Value)>| {
        let mut again = call.arguments.clone();
        again.extend(changes.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Some(Outcome::call(&call.tool, Value::Object(again)))
    };
    let read = |kind| value::whole(kind, rest, now).filter(|read| !read.value.is_null());
    let day = || {
        let read = read(Kind::Date)?;
        let last = read.last.map(|last| last.to_string())?;
        Some((read.value.as_str()?.to_owned(), last))
    };
    let named = || {
        let text = rest.rest().trim_end_matches('?').trim();
        let text = ["the ", "for ", "on ", "about ", "with ", "to "]
            .iter()
            .fold(text, |text, lead| text.strip_prefix(lead).unwrap_or(text));
        let text = text.strip_suffix("'s").or(text.strip_suffix("’s")).unwrap_or(text);
        let few = (1..=4).contains(&Sentence::whole(text).len());
        (few && lead != Lead::Bare && lead != Lead::Another && !starts_sentence(rest)).then(|| text.to_owned())
    };
    let search = |name: &'static str| {
        call.text(name).is_some().then(named).flatten().and_then(|text| with(vec![(name, text.into())]))
    };
    if let (Some(first), Some(last)) = (call.text("startDate"), call.text("endDate"))
        && let Some((first, last)) = again::beside(first, last, rest)
    {
        return with(vec![("startDate", first.into()), ("endDate", last.into())]);
    }
    match call.tool.as_str() {
        "list_calendar_events" if lead != Lead::Bare || rest.len() <= 3 => match day() {
            Some((first, last)) => with(vec![("startDate", first.into()), ("endDate", last.into())]),
            None => search("search"),
        },
        "list_tasks" => {
            let list = read(Kind::List).filter(|_| rest.mentions(&["list"]));
            if let Some(list) = list {
                return with(vec![("category", list.value)]);
            }
            if let Some((_, last)) = day() {
                return with(vec![("dueBefore", last.into())]);
            }
            // "what about mayo" of a list that was shown.
            let of_list = lead == Lead::About;
            search("search")
                .or_else(|| named().filter(|_| of_list).and_then(|text| with(vec![("search", text.into())])))
        }
        "list_contacts" | "list_notes" | "list_scheduled_tasks" => search("search"),
        "recall" | "search_everything" => search("query"),
        "answer_question" => {
            let old = call.text("question")?;
            let place = possessor(old)?;
            let name = named()?;
            let ending = if name.ends_with('s') { "'" } else { "'s" };
            Some(Outcome::call(
                &call.tool,
                json!({"question": format!("{}{name}{ending}{}", &old[..place.0], &old[place.1..])}),
            ))
        }
        "query_expenses" | "expense_summary" if lead != Lead::Bare => {
            if let Some(period) = read(Kind::Period) {
                let mut again = call.arguments.clone();
                again.remove("startDate");
                again.remove("endDate");
                again.insert("period".into(), period.value);
                return Some(Outcome::call(&call.tool, Value::Object(again)));
            }
            let past =
                read(Kind::Past).and_then(|read| Some((read.value.as_str()?.to_owned(), read.last?.to_string())));
            let month = || {
                let first: Date = format!("{}-01", read(Kind::Month)?.value.as_str()?).parse().ok()?;
                Some((first.to_string(), first.last_of_month().to_string()))
            };
            if let Some((first, last)) = month().or(past).or_else(day) {
                let mut again = call.arguments.clone();
                again.remove("period");
                again.extend([("startDate".to_owned(), first.into()), ("endDate".to_owned(), last.into())]);
                return Some(Outcome::call(&call.tool, Value::Object(again)));
            }
            read(Kind::Category).and_then(|category| with(vec![("category", category.value)]))
        }
        "date_diff" => {
            const UNITS: &[&str] = &["days", "weeks", "months", "years", "hours", "minutes"];
            let unit = rest.tokens.last().and_then(|last| UNITS.iter().find(|unit| **unit == last.word))?;
            let only = rest.len() == 1 || rest.len() == 2 && rest.word(0) == "in";
            only.then(|| with(vec![("unit", (*unit).into())]))?
        }
        "get_current_datetime" => read(Kind::Zone).and_then(|zone| with(vec![("timezone", zone.value)])),
        "convert_units" => {
            if let Some(unit) = read(Kind::Unit) {
                return with(vec![("to", unit.value)]);
            }
            let (count, n) = number::amount(rest, 0)?;
            if count == rest.len() {
                return with(vec![("value", number::json(n))]);
            }
            let unit =
                slots::read(Kind::Unit, rest, count, now).into_iter().find(|unit| count + unit.count == rest.len())?;
            let fitting = call.text("to").is_some_and(|to| unit.value != to);
            fitting.then(|| with(vec![("value", number::json(n)), ("from", unit.value)])).flatten()
        }
        "gpio_read" => read(Kind::Pin).and_then(|pin| with(vec![("pin", pin.value)])),
        _ => None,
    }
}

/// A change made once more with another thing or at another time.
fn done_again(call: &Call, lead: Lead, rest: &Sentence, now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    let text = rest.rest();
    match call.tool.as_str() {
        // "bagels" alone is no wish to have them.
        "add_task" | "update_task" if lead == Lead::Same => again_at(call, rest, now),
        "add_task" if matches!(lead, Lead::And | Lead::Another) => {
            let mut again: Map<String, Value> = call.arguments.clone();
            let mut text = text.to_owned();
            // "… to the hardware list", "the drill on the hardware list".
            let named = (1..rest.len()).find_map(|at| {
                let lead = ["to", "on", "onto", "for", "in"].contains(&rest.word(at));
                let list = slots::read(Kind::List, rest, at + 1, now)
                    .into_iter()
                    .find(|list| at + 1 + list.count == rest.len());
                list.filter(|_| lead && rest.mentions(&["list"])).map(|list| (at, list.value))
            });
            if let Some((at, list)) = named.filter(|(_, list)| !list.is_null()) {
                text = rest.slice(0, at).to_owned();
                again.insert("category".into(), list);
            }
            let on_list = again.contains_key("category");
            let text = ["some ", "a few more ", "more "]
                .iter()
                .fold(text.as_str(), |text, lead| text.strip_prefix(lead).unwrap_or(text));
            let most = if on_list { 9 } else { 6 };
            if starts_question(rest)
                || rest.len() > most
                || on_list && (starts_sentence(rest) || rest.mentions(ABOUT))
                || text.is_empty()
            {
                return None;
            }
            again.insert("title".into(), text.into());
            Some(Outcome::Do(items::calls("add_task", &again, &[], risk)))
        }
        "complete_task" if lead == Lead::And && !starts_sentence(rest) && rest.len() <= 8 => {
            Some(Outcome::Do(each(call, "taskId", text)))
        }
        "delete_task" if lead == Lead::And && !starts_sentence(rest) && rest.len() <= 8 => {
            Some(Outcome::Propose(format!("delete {text} as well"), each(call, "taskId", text)))
        }
        "set_timer" => timer(call, lead, rest),
        "add_expense" if matches!(lead, Lead::And | Lead::Another) => expense(call, rest, now),
        "add_calendar_event" if lead != Lead::Bare => again_at(call, rest, now),
        "create_scheduled_task" if lead != Lead::Bare => {
            if rest.word(0) == "to" && rest.len() > 1 {
                let message = rest.slice(1, rest.len());
                let mut again = call.arguments.clone();
                again.extend([("message".to_owned(), message.into()), ("name".to_owned(), message.into())]);
                return Some(Outcome::call(&call.tool, Value::Object(again)));
            }
            again_at(call, rest, now)
        }
        "gpio_write" if lead != Lead::Bare => {
            let pin = value::whole(Kind::Pin, rest, now).filter(|_| rest.word(0) == "pin" || rest.word(0) == "gpio")?;
            let mut again = call.arguments.clone();
            again.insert("pin".into(), pin.value);
            Some(Outcome::call(&call.tool, Value::Object(again)))
        }
        "cancel_timer" | "pause_timer" | "resume_timer"
            if lead == Lead::And && rest.len() <= 5 && !starts_sentence(rest) =>
        {
            let name = named_timer(rest)?;
            Some(Outcome::call(&call.tool, json!({"timer": name})))
        }
        _ => None,
    }
}

/// One call for each of the things named.
fn each(call: &Call, name: &str, text: &str) -> Vec<Planned> {
    let one = |item: String| {
        let item = ["the ", "my ", "our ", "some "]
            .iter()
            .find_map(|lead| item.strip_prefix(lead))
            .unwrap_or(&item)
            .to_owned();
        let mut again = call.arguments.clone();
        again.insert(name.to_owned(), item.into());
        (call.tool.clone(), Value::Object(again))
    };
    items::split(text, true).into_iter().map(one).collect()
}

/// The same at another time.
fn again_at(call: &Call, rest: &Sentence, now: &Zoned) -> Option<Outcome> {
    let mut again = call.arguments.clone();
    let mut changed = false;
    for name in ["startTime", "endTime", "schedule", "dueDate"] {
        if let Some(moment) = call.text(name).and_then(|old| value::moment(old, rest, now, false)) {
            changed |= name != "endTime";
            again.insert(name.to_owned(), moment.into());
        }
    }
    changed.then(|| Outcome::call(&call.tool, Value::Object(again)))
}

/// "the garlic bread, fourteen", "another one for 5 minutes", "twenty for the rice".
fn timer(call: &Call, lead: Lead, rest: &Sentence) -> Option<Outcome> {
    if lead == Lead::About || lead == Lead::Bare || starts_sentence(rest) {
        return None;
    }
    let (at, count, length) = (0..rest.len()).find_map(|at| {
        if let Some((count, span)) = duration::duration(rest, at) {
            return Some((at, count, span.to_string()));
        }
        let article = ["a", "an", "one"].contains(&rest.word(at));
        let (count, _) = number::number(rest, at).filter(|(_, n)| !article && *n > 0.0)?;
        let number = Sentence::whole(rest.slice(at, at + count));
        Some((at, count, value::length(call.text("duration")?, &number)?))
    })?;
    const SMALL: &[&str] = &[
        "for", "a", "an", "the", "one", "another", "timer", "timers", "of", "my", "please", "called", "named", "in",
        "at", "with", "minute", "needs", "gets", "is", "to", "it", "on", "labelled", "takes",
    ];
    let words = (0..rest.len()).filter(|i| !(at..at + count).contains(i) && !SMALL.contains(&rest.word(*i)));
    let name: Vec<&str> = words.map(|i| rest.slice(i, i + 1)).collect();
    if name.len() > 4 {
        return None;
    }
    let mut again = json!({"duration": length});
    if let (false, Some(map)) = (name.is_empty(), again.as_object_mut()) {
        map.insert("name".into(), name.join(" ").into());
    }
    Some(Outcome::call("set_timer", again))
}

fn named_timer(rest: &Sentence) -> Option<String> {
    let words = (0..rest.len()).filter(|at| !["the", "timer", "one", "my"].contains(&rest.word(*at)));
    let name: Vec<&str> = words.map(|at| rest.word(at)).collect();
    (!name.is_empty()).then(|| name.join(" "))
}

/// "12 on parking", "a coffee for 3.50".
fn expense(call: &Call, rest: &Sentence, now: &Zoned) -> Option<Outcome> {
    let (at, read) = (0..rest.len()).find_map(|at| {
        let money = slots::read(Kind::Money, rest, at, now).into_iter().next();
        let number = || {
            slots::read(Kind::Number, rest, at, now)
                .into_iter()
                .next()
                .filter(|_| !["a", "an"].contains(&rest.word(at)))
        };
        Some((at, money.or_else(number)?))
    })?;
    const SMALL: &[&str] = &["for", "on", "at", "a", "an", "the", "some", "another", "in", "spent", "i", "paid"];
    let words: Vec<usize> = (0..rest.len()).filter(|i| !(at..at + read.count).contains(i)).collect();
    let (first, last) = (
        words.iter().find(|i| !SMALL.contains(&rest.word(**i)))?,
        words.iter().rfind(|i| !SMALL.contains(&rest.word(**i)))?,
    );
    let between = *first < at && *last >= at + read.count;
    if between || last - first > 4 {
        return None;
    }
    let description = rest.slice(*first, last + 1);
    let category = (0..rest.len()).find_map(|at| slots::read(Kind::Category, rest, at, now).into_iter().next());
    let mut again = Map::new();
    again.insert("amount".into(), read.value);
    again.insert("description".into(), description.into());
    again.insert("category".into(), category.map_or_else(|| "other".into(), |category| category.value));
    for name in ["currency", "date"] {
        if let Some(value) = call.arguments.get(name) {
            again.insert(name.into(), value.clone());
        }
    }
    if let Some((name, value)) = read.beside {
        again.insert(name.into(), value);
    }
    Some(Outcome::call("add_expense", Value::Object(again)))
}

/// Where the possessor stands in a question: "Tom's" in "what is Tom's number".
fn possessor(question: &str) -> Option<(usize, usize)> {
    let s = Sentence::whole(question);
    let at = (0..s.len()).find(|at| s.word(*at).ends_with("'s"))?;
    s.tokens.get(at).map(|token| (token.start, token.end))
}

fn starts_question(s: &Sentence) -> bool {
    const WORDS: &[&str] = &[
        "what", "who", "when", "where", "which", "why", "how", "is", "are", "am", "do", "does", "did", "can", "could",
        "would", "should", "will", "was", "were", "has", "have", "i", "we", "you", "he", "she", "they", "it", "that",
        "this", "there", "if", "so", "then", "yes", "no", "thanks", "thank", "than", "not",
    ];
    WORDS.contains(&s.word(0))
}

/// Whether words begin a sentence of their own rather than name a thing.
fn starts_sentence(s: &Sentence) -> bool {
    const VERBS: &[&str] = &[
        "add",
        "set",
        "put",
        "remind",
        "turn",
        "show",
        "tell",
        "delete",
        "remove",
        "cancel",
        "move",
        "take",
        "tick",
        "list",
        "read",
        "start",
        "stop",
        "wake",
        "give",
        "call",
        "find",
        "make",
        "let",
        "note",
        "remember",
        "write",
        "play",
        "switch",
        "open",
        "close",
        "forget",
        "mark",
        "check",
        "cross",
        "change",
        "send",
        "say",
        "ask",
        "them",
        "both",
        "all",
        "another",
        "go",
        "come",
        "please",
        "divided",
        "times",
        "plus",
        "minus",
        "multiplied",
        "of",
        "thing",
        "day",
        "time",
        "moment",
        "sec",
        "last",
        "question",
        "in",
        "at",
    ];
    starts_question(s) || VERBS.contains(&s.word(0))
}
