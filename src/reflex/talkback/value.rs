//! Which argument of a call a new value is for: "6" is a time, a length or an amount, "thursday" a day, "bagels" a name.

use super::exchange::Call;
use crate::{
    sentence::Sentence,
    slots::{self, Kind, Read, clock, duration, number, when},
};
use jiff::{
    Span, ToSpan, Zoned,
    civil::{Date, DateTime, Time},
};
use serde_json::Value;

/// An argument with its new value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    pub argument: String,
    pub value: Value,
    /// What it is called in a question.
    pub label: &'static str,
}

/// What an argument holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Holds {
    Moment,
    Length,
    Amount,
    List,
    Category,
    Unit,
    Zone,
    Pin,
    OnOff,
    Period,
    Priority,
    Phone,
    Email,
    Sum,
}

/// What an argument of a tool holds besides text, and what it is called.
fn holds(tool: &str, argument: &str) -> Option<(Holds, &'static str)> {
    Some(match (tool, argument) {
        (_, "startTime" | "dueDate" | "schedule" | "date" | "dueBefore" | "birthday") => (Holds::Moment, "the time"),
        (_, "duration") => (Holds::Length, "the length"),
        (_, "amount") => (Holds::Amount, "the amount"),
        ("convert_units", "value") => (Holds::Amount, "the number"),
        ("convert_units", "from" | "to") => (Holds::Unit, "the unit"),
        (_, "percent" | "total" | "newValue" | "value") => (Holds::Amount, "the number"),
        ("add_task" | "update_task" | "list_tasks" | "complete_task", "category") => (Holds::List, "the list"),
        (_, "category") if tool.contains("expense") => (Holds::Category, "the category"),
        (_, "timezone") => (Holds::Zone, "the place"),
        (_, "pin") => (Holds::Pin, "the pin"),
        (_, "high") => (Holds::OnOff, "the level"),
        (_, "period") => (Holds::Period, "the time"),
        (_, "priority") => (Holds::Priority, "the priority"),
        (_, "phone") => (Holds::Phone, "the number"),
        (_, "email") => (Holds::Email, "the address"),
        ("calculate", "expression") => (Holds::Sum, "the sum"),
        _ => return None,
    })
}

/// The argument that says what something is.
pub(crate) fn main_argument(call: &Call) -> Option<&'static str> {
    const MAIN: &[&str] = &[
        "title",
        "message",
        "name",
        "description",
        "content",
        "taskId",
        "eventId",
        "noteId",
        "contactId",
        "expenseId",
        "memoryId",
        "timer",
        "search",
        "query",
        "prompt",
        "list",
    ];
    MAIN.iter().copied().find(|name| call.text(name).is_some())
}

/// The typed arguments of a call that a value fits.
pub(crate) fn typed(call: &Call, value: &str, now: &Zoned) -> Vec<Fit> {
    let s = Sentence::whole(value);
    if s.len() == 0 {
        return vec![];
    }
    let mut all = vec![];
    for (argument, old) in &call.arguments {
        let Some((holds, label)) = holds(&call.tool, argument) else { continue };
        if let Some(value) = fitting(holds, old, &s, call, now) {
            all.push(Fit { argument: argument.clone(), value, label });
        }
    }
    // What was not said before can be added where it has one meaning.
    let adds = |argument: &str, kind: Kind| {
        let whole = whole(kind, &s, now).map(|read| read.value).filter(|value| !value.is_null());
        whole.filter(|_| !call.arguments.contains_key(argument)).map(|value| (argument.to_owned(), value))
    };
    let added = match call.tool.as_str() {
        "add_task" => adds("category", Kind::List).or_else(|| adds("dueDate", Kind::Date)),
        "list_tasks" => adds("category", Kind::List),
        _ => None,
    };
    if let Some((argument, value)) = added.filter(|_| all.is_empty()) {
        all.push(Fit { argument, value, label: "the list" });
    }
    // Several numbers of a sum are told apart by nothing.
    all
}

/// The number in a name: "6 eggs" with "8" is "8 eggs".
pub(crate) fn counted(old: &str, value: &str) -> Option<String> {
    let (old, new) = (Sentence::whole(old), Sentence::whole(value));
    let (count, _) = number::number(&new, 0).filter(|(count, _)| *count == new.len())?;
    let (at, length) = (0..old.len()).find_map(|at| {
        let article = ["a", "an"].contains(&old.word(at)) && !["dozen", "half", "couple"].contains(&old.word(at + 1));
        number::number(&old, at).filter(|_| !article).map(|(length, _)| (at, length))
    })?;
    let (from, to) = (old.tokens.get(at)?.start, old.tokens.get(at + length - 1)?.end);
    let text = new.slice(0, count);
    Some(format!("{}{text}{}", &old.text[..from], &old.text[to..]))
}

/// The name with another thing in place of what a value is about: "a dozen eggs" for "eggs", "Tom" in "call Ana".
pub(crate) fn renamed(old: &str, value: &str, all: bool) -> Option<String> {
    let (was, new) = (Sentence::whole(old), Sentence::whole(value));
    let last = new.word(new.len().checked_sub(1)?);
    let alike = |a: &str, b: &str| a.trim_end_matches('s') == b.trim_end_matches('s');
    if new.len() > 1 && (0..was.len()).any(|at| alike(was.word(at), last)) {
        let at = (0..was.len()).rfind(|at| alike(was.word(*at), last))?;
        // The words before it belong to it, but for a verb: "buy eggs".
        let counts = number::number(&was, 0).is_some_and(|(count, _)| count <= at);
        let from = if counts { 0 } else { was.tokens.get(at)?.start };
        return Some(format!("{}{value}{}", &old[..from], &old[was.tokens.get(at)?.end..]));
    }
    if was.len() == 1 || all && was.len() <= 3 && !is_name(value) {
        return Some(value.to_owned());
    }
    // A name stands in the place of a name.
    let names: Vec<usize> = (1..was.len()).filter(|at| is_name(was.slice(*at, at + 1))).collect();
    match names[..] {
        [at] if is_name(value) => {
            let token = was.tokens.get(at)?;
            let possessive = if token.word.ends_with("'s") && !value.ends_with("'s") { "'s" } else { "" };
            Some(format!("{}{value}{possessive}{}", &old[..token.start], &old[token.end..]))
        }
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.split(' ').all(|word| word.starts_with(char::is_uppercase) && word != "I")
}

/// A reading of the whole value, with or without a preposition before it.
pub(crate) fn whole(kind: Kind, s: &Sentence, now: &Zoned) -> Option<Read> {
    const LEADS: &[&str] = &["at", "on", "for", "to", "in", "by", "the", "from", "with"];
    let lead = usize::from(LEADS.contains(&s.word(0)) && s.len() > 1);
    let read = |at: usize| slots::read(kind, s, at, now).into_iter().find(|read| at + read.count == s.len());
    read(0).or_else(|| read(lead))
}

fn fitting(holds: Holds, old: &Value, s: &Sentence, call: &Call, now: &Zoned) -> Option<Value> {
    let read = |kind| whole(kind, s, now).map(|read| read.value).filter(|value| !value.is_null());
    match holds {
        Holds::Moment => {
            let past = call.tool.contains("expense");
            // An alarm stays in the half of the day that it was in.
            let wakes = call.text("name") == Some("Alarm");
            let changed = moved(old.as_str()?, s, now, past, !wakes)?;
            let rings = call.tool.contains("scheduled_task");
            Some(Value::from(if rings { still_to_come(&changed, old.as_str()?, now) } else { changed }))
        }
        Holds::Length => length(old.as_str()?, s).map(Value::from),
        Holds::Amount => read(Kind::Money).or_else(|| read(Kind::Number)).or_else(|| {
            let (count, n) = number::amount(s, 0)?;
            let unit = slots::read(Kind::Unit, s, count, now).into_iter().find(|unit| count + unit.count == s.len())?;
            (call.text("from")? == unit.value).then(|| number::json(n))
        }),
        Holds::List => {
            let named = s.mentions(&["list", "lists"])
                || call.text("category").is_some_and(|_| s.len() == 2 && s.word(0) == "the");
            read(Kind::List).filter(|_| named)
        }
        Holds::Category => read(Kind::Category),
        Holds::Unit => None,
        Holds::Zone => read(Kind::Zone),
        Holds::Pin => read(Kind::Pin).or_else(|| read(Kind::Int)),
        Holds::OnOff => read(Kind::OnOff),
        Holds::Period => read(Kind::Period),
        Holds::Priority => read(Kind::Priority),
        Holds::Phone => read(Kind::Phone).filter(|phone| phone.as_str().is_some_and(|phone| phone.len() > 4)),
        Holds::Email => read(Kind::Email),
        Holds::Sum => {
            let new = read(Kind::Number)?.to_string();
            let old = old.as_str()?;
            let numbers: Vec<&str> =
                old.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|part| !part.is_empty()).collect();
            // The last number is the one just said.
            let last = numbers.last()?;
            let at = old.rfind(last)?;
            Some(format!("{}{new}{}", &old[..at], &old[at + last.len()..]).into())
        }
    }
}

/// A length with another number or unit: "7" for `PT5M` is seven minutes.
pub(crate) fn length(old: &str, s: &Sentence) -> Option<String> {
    let lead = usize::from(["for", "to", "at"].contains(&s.word(0)) && s.len() > 1);
    if let Some((count, span)) = duration::duration(s, lead)
        && lead + count == s.len()
    {
        return Some(span.to_string());
    }
    let (count, n) = number::number(s, lead).filter(|(_, n)| *n > 0.0)?;
    let unit = old.trim_start_matches('-').strip_prefix("PT")?.chars().last()?.to_ascii_uppercase();
    let single = old.chars().filter(char::is_ascii_alphabetic).count() == 3;
    let unit = if single { unit } else { 'M' };
    let sign = if old.starts_with('-') { "-" } else { "" };
    (lead + count == s.len() && n.fract() == 0.0 && n < 10_000.0).then(|| format!("{sign}PT{n}{unit}"))
}

/// Seconds of an ISO 8601 length.
pub(crate) fn seconds(length: &str) -> Option<i64> {
    let span: Span = length.parse().ok()?;
    span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).ok().map(|seconds| seconds as i64)
}

/// A moment with another day, time or both; `None` if the words are neither.
pub(crate) fn moment(old: &str, s: &Sentence, now: &Zoned, past: bool) -> Option<String> {
    moved(old, s, now, past, true)
}

/// The same; with `on`, an hour of today that has passed may be in the other half of the day.
fn moved(old: &str, s: &Sentence, now: &Zoned, past: bool, on: bool) -> Option<String> {
    let cron: Vec<&str> = old.split(' ').collect();
    if let [minute, hour, rest @ ..] = cron.as_slice()
        && rest.len() == 3
    {
        if let Some(every) = whole(Kind::Every, s, now).filter(|_| s.word(0) == "every") {
            return every.value.as_str().map(str::to_owned);
        }
        let was = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
        let time = match shifted(now.date().to_datetime(was), s) {
            // A shift over midnight would need other days.
            Some(changed) => Some(changed).filter(|changed| changed.date() == now.date()).map(DateTime::time)?,
            None => time_of(s, Some(was), now)?.0,
        };
        return Some(format!("{} {} {}", time.minute(), time.hour(), rest.join(" ")));
    }
    let (day, time) = parse(old)?;
    let told = |day: Date, time: Option<Time>| match time {
        Some(time) => day.to_datetime(time).strftime("%Y-%m-%dT%H:%M").to_string(),
        None => day.to_string(),
    };
    if let Some(changed) = time.and_then(|time| shifted(day.to_datetime(time), s)) {
        return Some(told(changed.date(), Some(changed.time())));
    }
    if let Some((new, open)) = time_of(s, time, now) {
        // "snooze it till half eight" at nine in the morning is half past eight in the evening.
        let later = new.wrapping_add(12.hours());
        let passed = day.to_datetime(new) <= now.datetime() && day.to_datetime(later) > now.datetime();
        let new = if on && open && day == now.date() && passed { later } else { new };
        // A day alone gets no time from a bare number.
        let plain = number::number(s, 0).is_some_and(|(count, _)| count == s.len());
        return (time.is_some() || !plain).then(|| told(day, Some(new)));
    }
    // "7 on saturday", "saturday at 7": the hour in the half of the day that it was in.
    if let Some(time) = time.filter(|_| !past) {
        let both = (1..s.len()).find_map(|at| {
            let (first, second) = (Sentence::whole(s.slice(0, at)), Sentence::whole(s.slice(at, s.len())));
            let read = |hour: &Sentence, date: &Sentence| {
                let (hour, _) = time_of(hour, Some(time), now)?;
                let day = whole(Kind::Date, date, now)?.value.as_str()?.parse::<Date>().ok()?;
                Some(told(day, Some(hour)))
            };
            read(&first, &second).or_else(|| read(&second, &first))
        });
        if both.is_some() {
            return both;
        }
    }
    let kind = if past { Kind::Past } else { Kind::Date };
    if let Some(read) = whole(kind, s, now) {
        let day = read.value.as_str().and_then(|day| day.parse().ok())?;
        return Some(told(day, time));
    }
    // Both, or a day with a part of it.
    let read = whole(Kind::When, s, now)?;
    let (day, new) = parse(read.value.as_str()?)?;
    Some(told(day, new.or(time)))
}

/// Whether a text names a day or a time, for what has one.
pub(super) fn names_a_time(call: &Call, text: &str, now: &Zoned) -> bool {
    let s = Sentence::whole(text);
    let has = ["calendar_event", "scheduled_task"].iter().any(|family| call.tool.ends_with(family));
    has && (0..s.len()).any(|at| when::when(&s, at, now).is_some())
}

/// An alarm of later today put at a time that has passed rings tomorrow: nobody named the day.
fn still_to_come(changed: &str, old: &str, now: &Zoned) -> String {
    let (Some((day, Some(time))), Some((was, Some(_)))) = (parse(changed), parse(old)) else {
        return changed.to_owned();
    };
    match day.tomorrow() {
        Ok(tomorrow) if day == was && day.to_datetime(time) <= now.datetime() => {
            tomorrow.to_datetime(time).strftime("%Y-%m-%dT%H:%M").to_string()
        }
        _ => changed.to_owned(),
    }
}

/// The day and time of `2026-11-20`, `2026-11-20T19:00` or the same with an offset.
pub(crate) fn parse(text: &str) -> Option<(Date, Option<Time>)> {
    let day = text.get(..10)?.parse().ok()?;
    let moment: Option<DateTime> =
        text.get(..16).filter(|_| text.get(10..11) == Some("T")).and_then(|t| t.parse().ok());
    Some((day, moment.map(|moment| moment.time())))
}

/// "an hour later", "15 minutes earlier".
pub(super) fn shifted(old: DateTime, s: &Sentence) -> Option<DateTime> {
    let (count, span) = duration::duration(s, 0)?;
    match s.word(count) {
        "later" if count + 1 == s.len() => old.checked_add(span).ok(),
        "earlier" | "sooner" | "before" if count + 1 == s.len() => old.checked_sub(span).ok(),
        _ => None,
    }
}

/// A time of day on the same half of the day as before, if nothing else is said; and whether nothing else is.
fn time_of(s: &Sentence, old: Option<Time>, now: &Zoned) -> Option<(Time, bool)> {
    let at = usize::from(["at", "for", "to", "by", "around"].contains(&s.word(0)) && s.len() > 1);
    let minutes = match (s.word(at), s.word(at + 1)) {
        ("half", "past") => Some(30),
        ("quarter", "past") => Some(15),
        ("quarter", "to") => Some(-15),
        _ => None,
    };
    if let Some(minutes) = minutes.filter(|_| at + 2 == s.len()) {
        let hour = Time::new(old?.hour(), 0, 0, 0).ok()?;
        return Some((hour.wrapping_add((minutes as i64).minutes()), false));
    }
    let ends = |count: usize| {
        let after = at + count;
        after == s.len() || after + 1 == s.len() && ["o'clock", "oclock", "instead"].contains(&s.word(after))
    };
    if let Some((_, found)) = clock::hour(s, at).filter(|(count, _)| ends(*count)) {
        if !found.dial {
            return Some((found.time, false));
        }
        let later = found.time.wrapping_add(12.hours());
        let afternoon = old.map_or(found.time.hour() < 7, |old| old.hour() >= 12);
        return Some((if afternoon { later } else { found.time }, true));
    }
    let read = slots::read(Kind::Time, s, at, now).into_iter().find(|read| at + read.count == s.len())?;
    Some((read.value.as_str()?.parse().ok()?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-20T14:30[Europe/Vienna]".parse().unwrap()
    }

    #[test]
    fn a_moment_takes_another_day_or_time() {
        for (old, said, wanted) in [
            ("2026-11-21T07:00", "6", Some("2026-11-21T06:00")),
            ("2026-11-21T19:00", "6", Some("2026-11-21T18:00")),
            ("2026-11-21T19:00", "6 am", Some("2026-11-21T06:00")),
            ("2026-11-21T07:00", "half past", Some("2026-11-21T07:30")),
            ("2026-11-21T07:00", "quarter to", Some("2026-11-21T06:45")),
            ("2026-11-21T07:00", "half past eight", Some("2026-11-21T08:30")),
            ("2026-11-21T07:00", "thursday", Some("2026-11-26T07:00")),
            ("2026-11-21T07:00", "the 13th", Some("2026-12-13T07:00")),
            ("2026-11-21T07:00", "an hour later", Some("2026-11-21T08:00")),
            ("2026-11-21T16:00", "5", Some("2026-11-21T17:00")),
            ("2026-11-21T20:00", "7 on saturday", Some("2026-11-21T19:00")),
            ("2026-11-21T20:00", "monday at half 8", Some("2026-11-23T20:30")),
            ("2026-11-21T20:00", "tomorrow morning", Some("2026-11-21T08:00")),
            ("2026-11-21T20:00", "monday at 8 am", Some("2026-11-23T08:00")),
            ("2026-11-21T16:00", "half an hour earlier", Some("2026-11-21T15:30")),
            ("2026-11-20T11:50", "half eight", Some("2026-11-20T20:30")),
            ("2026-11-20T15:00", "half eight", Some("2026-11-20T20:30")),
            ("2026-11-20T11:50", "8 am", Some("2026-11-20T08:00")),
            ("30 6 * * 1-5", "half an hour earlier", Some("0 6 * * 1-5")),
            ("30 23 * * 1-5", "an hour later", None),
            ("30 6 * * 1-5", "7", Some("0 7 * * 1-5")),
            ("2026-11-21", "monday", Some("2026-11-23")),
            ("2026-11-21", "6", None),
            ("2026-11-21T07:00", "bagels", None),
        ] {
            let got = moment(old, &Sentence::whole(said), &now(), false);
            assert_eq!(got.as_deref(), wanted, "{old}: {said}");
        }
    }

    #[test]
    fn an_alarm_never_goes_into_the_past() {
        for (old, changed, wanted) in [
            ("2026-11-20T15:00", "2026-11-20T14:00", "2026-11-21T14:00"),
            ("2026-11-20T16:00", "2026-11-20T15:00", "2026-11-20T15:00"),
            ("2026-11-20T15:00", "2026-11-19T15:00", "2026-11-19T15:00"),
            ("30 6 * * 1-5", "0 7 * * 1-5", "0 7 * * 1-5"),
        ] {
            assert_eq!(still_to_come(changed, old, &now()), wanted, "{old}: {changed}");
        }
    }

    #[test]
    fn a_length_keeps_its_unit() {
        for (old, said, wanted) in [
            ("PT5M", "7", Some("PT7M")),
            ("PT5M", "half an hour", Some("PT30M")),
            ("PT1H", "two", Some("PT2H")),
            ("PT5M", "red", None),
        ] {
            assert_eq!(length(old, &Sentence::whole(said)).as_deref(), wanted, "{old}: {said}");
        }
    }

    #[test]
    fn a_name_takes_another_part() {
        for (old, said, all, wanted) in [
            ("eggs", "a dozen eggs", false, Some("a dozen eggs")),
            ("6 eggs", "8 eggs", false, Some("8 eggs")),
            ("bread", "bagels", false, Some("bagels")),
            ("call Ana", "Tom", false, Some("call Tom")),
            ("brown bread", "bagels", true, Some("bagels")),
            ("take out the bins at last", "bagels", true, None),
        ] {
            assert_eq!(renamed(old, said, all).as_deref(), wanted, "{old}: {said}");
        }
        assert_eq!(counted("6 eggs", "8").as_deref(), Some("8 eggs"));
        assert_eq!(counted("bread", "8"), None);
    }
}
