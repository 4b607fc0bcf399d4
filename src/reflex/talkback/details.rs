//! A detail of what was just made, said afterwards: "make it due sunday", "low priority though", "it's at the Legion", "for the
//! scones", "not weekends".

use super::{
    amend,
    exchange::{Call, Exchange},
    outcome::{Outcome, RiskOf},
    value::{self, Fit},
};
use crate::{
    sentence::Sentence,
    slots::{self, Kind},
};
use jiff::Zoned;
use serde_json::{Map, Value, json};

const BEFORE: &[&str] = &[
    "oh", "and", "ok", "okay", "right", "sorry", "actually", "also", "but", "please", "well", "no", "yes", "er", "um",
    "so", "just", "can", "could", "you", "hob", "ah",
];
const BEHIND: &[&str] = &[
    "though", "tho", "please", "mind", "too", "then", "by", "the", "way", "btw", "actually", "thanks", "love", "dear",
    "as", "well", "if", "can", "you", "lol", "also",
];
/// Says what something is.
const IS: &[&[&str]] = &[
    &["make", "it"],
    &["make", "that"],
    &["make", "that", "one"],
    &["it", "is"],
    &["that", "is"],
    &["it's"],
    &["its"],
    &["that", "one", "is"],
    &["it", "should", "be"],
    &["it", "needs", "to", "be"],
    &["mark", "it"],
    &["mark", "that"],
    &["mark", "it", "as"],
    &["set", "it", "to"],
    &["put", "it"],
    &["put", "that"],
    &["call", "it"],
    &["name", "it"],
    &["label", "it"],
    &["it", "was"],
    &["that", "was"],
    &["this", "is"],
];

/// The call again with a detail, before it was made.
pub(crate) fn proposed(call: &Call, text: &str, now: &Zoned) -> Option<Map<String, Value>> {
    let fit = detail(call, text, now)?;
    let mut again = call.arguments.clone();
    again.insert(fit.argument, fit.value);
    Some(again)
}

/// The change that gives what was made last a detail.
pub(crate) fn added(text: &str, exchanges: &[Exchange], now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    if let Some(appended) = appended(text, exchanges) {
        return Some(appended);
    }
    let exchange = exchanges.first()?;
    let [call] = &exchange.done()[..] else { return None };
    let id = call.id()?;
    let fit = detail(call, text, now)?;
    if fit.argument == "name" && call.tool == "set_timer" {
        let left = call.content.get("remainingSeconds").and_then(Value::as_i64)?;
        return Some(Outcome::call(
            "set_timer",
            json!({"timer": id, "duration": format!("PT{left}S"), "name": fit.value}),
        ));
    }
    amend::applied(call, &fit, risk).map(Outcome::Do)
}

/// "add that it dies when the microwave is on" to the one note that was just shown or changed.
fn appended(text: &str, exchanges: &[Exchange]) -> Option<Outcome> {
    const LEADS: &[&[&str]] = &[
        &["add", "that"],
        &["add", "to", "it"],
        &["add", "to", "that"],
        &["add", "to", "the", "note"],
        &["put", "down", "that"],
        &["put", "in", "that"],
        &["stick", "on"],
        &["also", "add", "that"],
        &["also", "put", "that"],
        &["and", "add", "that"],
        &["and", "put", "that"],
        &["append"],
        &["add", "a", "line"],
        &["write", "in", "it"],
        &["write", "under", "it"],
    ];
    let s = Sentence::whole(text);
    let lead = LEADS.iter().filter(|words| s.has(0, words)).map(|words| words.len()).max()?;
    let things = exchanges.iter().take(2).map(Exchange::things).find(|things| !things.is_empty())?;
    let [thing] = things.as_slice() else { return None };
    let more = s.slice(lead, s.len()).trim_start_matches([':', ',', ' ']);
    (thing.noun == "note" && s.len() >= lead + 2)
        .then(|| Outcome::call("update_note", json!({"noteId": thing.key, "append": more})))
}

fn detail(call: &Call, text: &str, now: &Zoned) -> Option<Fit> {
    let s = Sentence::whole(text);
    if s.len() == 0 || s.len() > 12 || text.trim_end().ends_with('?') || s.tokens.iter().any(|token| token.opens) {
        return None;
    }
    let mut from = (0..s.len() - 1).take_while(|at| BEFORE.contains(&s.word(*at))).count();
    let is = IS.iter().filter(|words| s.has(from, words)).map(|words| words.len()).max().unwrap_or_default();
    let names = ["call", "name", "label"].contains(&s.word(from)) && is > 0;
    from += is;
    let mut end = s.len();
    while end > from + 1 && BEHIND.contains(&s.word(end - 1)) {
        end -= 1;
    }
    if from >= end {
        return None;
    }
    let rest = Sentence::whole(s.slice(from, end));
    let fit = |argument: &str, value: Value, label: &'static str| {
        Some(Fit { argument: argument.to_owned(), value, label }).filter(|fit| !fit.value.is_null())
    };
    let read = |kind: Kind, at: usize| {
        slots::read(kind, &rest, at, now).into_iter().find(|read| at + read.count == rest.len()).map(|read| read.value)
    };
    let (first, made) = (rest.word(0), call.tool.as_str());
    // "half an hour earlier", "an hour later"
    let argument = match made {
        "add_calendar_event" | "update_calendar_event" => Some("startTime"),
        "create_scheduled_task" | "update_scheduled_task" => Some("schedule"),
        _ => None,
    };
    if let Some(argument) = argument
        && value::shifted(now.datetime(), &rest).is_some()
    {
        return fit(argument, value::moment(call.text(argument)?, &rest, now, false)?.into(), "the time");
    }
    let led = is > 0;
    let dated = usize::from(first == "due")
        + usize::from(["by", "on", "for"].contains(&rest.word(usize::from(first == "due"))));
    match made {
        "add_task" | "update_task" => {
            if let Some(priority) = read(Kind::Priority, 0) {
                return fit("priority", priority, "the priority");
            }
            if rest.mentions(&["list"])
                && let Some(list) = value::whole(Kind::List, &rest, now)
            {
                return fit("category", list.value, "the list");
            }
            let day = read(Kind::Date, dated).or_else(|| read(Kind::When, dated)).filter(|_| dated > 0 || led)?;
            fit("dueDate", day, "the day")
        }
        "add_calendar_event" | "update_calendar_event" => {
            if led || ["at", "on", "for"].contains(&first) {
                let old = call.text("startTime");
                if let Some(moment) = old.and_then(|old| value::moment(old, &rest, now, false)) {
                    return fit("startTime", moment.into(), "the time");
                }
            }
            let place = ["at", "in"].contains(&first) && rest.len() >= 2 && (led || rest.len() <= 5);
            let place = place.then(|| rest.slice(1, rest.len())).filter(|place| {
                !place.starts_with(|c: char| c.is_ascii_digit()) && !["a", "an"].contains(&rest.word(1))
            })?;
            fit("location", place.into(), "the place")
        }
        "set_timer" | "adjust_timer" => {
            let article = usize::from(["the", "my", "our"].contains(&rest.word(1)));
            let name = match (first, names) {
                (_, true) => rest.rest(),
                ("for", _) if rest.len() <= 5 => rest.slice(1 + article, rest.len()),
                _ => return None,
            };
            let timed = rest.tokens.iter().any(|token| token.word.starts_with(|c: char| c.is_ascii_digit()))
                || (0..rest.len()).any(|at| slots::duration::duration(&rest, at).is_some());
            let sets = call.tool == "set_timer" && !timed && !["me", "that", "it", "now"].contains(&name);
            sets.then(|| fit("name", name.into(), "the name"))?
        }
        "create_scheduled_task" | "update_scheduled_task" => {
            let old = call.text("schedule")?;
            if let Some(days) = days_of(&rest) {
                let [minute, hour, month_day, month, _] = old.split(' ').collect::<Vec<_>>()[..] else { return None };
                return fit("schedule", format!("{minute} {hour} {month_day} {month} {days}").into(), "the time");
            }
            if led || ["at", "on", "for"].contains(&first) {
                return fit("schedule", value::moment(old, &rest, now, false)?.into(), "the time");
            }
            None
        }
        "add_expense" | "update_expense" => {
            let lead = usize::from(["on", "for", "from"].contains(&first));
            if let Some(day) = read(Kind::Past, lead) {
                return fit("date", day, "the day");
            }
            fit("category", read(Kind::Category, lead).filter(|_| led || lead > 0)?, "the category")
        }
        _ => None,
    }
}

/// The days of a daily or weekly schedule that an addition leaves: "not weekends", "weekdays only".
fn days_of(s: &Sentence) -> Option<&'static str> {
    const SMALL: &[&str] = &[
        "not",
        "only",
        "just",
        "on",
        "at",
        "the",
        "weekends",
        "weekend",
        "weekdays",
        "weekday",
        "during",
        "week",
        "in",
        "except",
        "skip",
        "no",
        "but",
        "from",
        "do",
        "saturdays",
        "sundays",
        "and",
        "or",
    ];
    if !s.tokens.iter().all(|token| SMALL.contains(&token.word.as_str())) {
        return None;
    }
    let denies = s.mentions(&["not", "except", "skip", "no"]);
    let (ends, weekdays) = (s.mentions(&["weekends", "weekend"]), s.mentions(&["weekdays", "weekday"]));
    match (denies, ends, weekdays) {
        (true, true, false) => Some("1-5"),
        (false, false, true) => Some("1-5"),
        (true, false, true) | (false, true, false) => Some("0,6"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_finds_its_argument() {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        let task = ("add_task", json!({"title": "descale the kettle"}));
        let event = ("add_calendar_event", json!({"title": "do", "startTime": "2026-12-05T19:00"}));
        let timer = ("set_timer", json!({"duration": "PT20M"}));
        let daily = ("create_scheduled_task", json!({"name": "x", "message": "x", "schedule": "30 6 * * *"}));
        for ((tool, arguments), text, wanted) in [
            (&task, "make it due sunday", Some(("dueDate", "2026-11-29"))),
            (&task, "by friday please", Some(("dueDate", "2026-11-27"))),
            (&task, "low priority though", Some(("priority", "low"))),
            (&task, "it's urgent", Some(("priority", "urgent"))),
            (&task, "that's not urgent mind", Some(("priority", "low"))),
            (&task, "friday", None),
            (&event, "It's at the Legion, by the way.", Some(("location", "the Legion"))),
            (&event, "it's at 8", Some(("startTime", "2026-12-05T20:00"))),
            (&timer, "For the scones.", Some(("name", "scones"))),
            (&timer, "call it eggs", Some(("name", "eggs"))),
            (&timer, "for 5 minutes", None),
            (&daily, "not weekends", Some(("schedule", "30 6 * * 1-5"))),
            (&daily, "half an hour earlier", Some(("schedule", "0 6 * * *"))),
            (&event, "an hour later", Some(("startTime", "2026-12-05T20:00"))),
            (&event, "an hour later please", Some(("startTime", "2026-12-05T20:00"))),
            (&timer, "an hour later", None),
            (&daily, "weekdays only", Some(("schedule", "30 6 * * 1-5"))),
            (&daily, "thanks", None),
        ] {
            let call = Call {
                tool: (*tool).to_owned(),
                arguments: arguments.as_object().unwrap().clone(),
                content: Value::Null,
                failed: false,
            };
            let got = detail(&call, text, &now);
            let got = got.as_ref().map(|fit| (fit.argument.as_str(), fit.value.as_str().unwrap()));
            assert_eq!(got, wanted, "{text}");
        }
    }
}
