//! Recurrences: "every day at 7", "on weekdays at 6:30", "every monday and thursday at 8 pm", "every 2 hours", "on
//! the first of every month". As cron (minute hour day month weekday, Sunday is 0) or as `every 2 hours`.
//!
//! An ambiguous hour means 6 to 11 in the morning and 1 to 5 in the afternoon, unless a part of the day is given; for
//! waking somebody, 4 and 5 are in the morning too. Without a time it is 9 o'clock.

use super::{
    calendar::{month_named, ordinal},
    clock::{Clock, clock, follows_day, of_night, part_of_day},
    date::{Part, part_named, weekday_named},
    duration, number, several,
    when::{Hours, default_time},
};
use crate::sentence::Sentence;
use jiff::{ToSpan, Zoned, civil::Time};
use std::collections::BTreeSet;

/// A partially parsed recurrence.
#[derive(Default)]
struct PartialRecurrence {
    days: Option<Days>,
    part: Option<Part>,
    clocks: Vec<Clock>,
}

/// Which days.
#[derive(Debug, Clone, PartialEq)]
enum Days {
    /// At an interval: "every 20 minutes".
    Apart(String),
    /// Every full hour.
    Hours,
    All,
    /// Every so many days of a month.
    Step(i8),
    Weekdays(BTreeSet<i8>),
    /// "the first monday of every month"; 0 is the last one.
    Nth(i8, i8),
    /// A day of each month, 0 for the last.
    OfMonth(i8),
    OfYear {
        month: i8,
        day: i8,
    },
    /// Today's weekday, day of the month or of the year.
    Week,
    Month,
    Year,
}

/// A recurrence at `at` and its number of tokens; a time may precede or follow the days.
pub(crate) fn every(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, String)> {
    let (mut count, mut found) = (0, PartialRecurrence::default());
    loop {
        let next = at + count;
        if found.days.is_none()
            && let Some((taken, days, part)) = days(s, next)
        {
            (count, found.days, found.part) = (count + taken, Some(days), found.part.or(part));
        } else if found.clocks.is_empty()
            && !["until", "before", "after"].contains(&s.word(next))
            && let Some((taken, clocks)) =
                clocks(s, next, Hours::before(s, next).bare || found.days.is_some() && follows_day(s, next))
        {
            (count, found.clocks) = (count + taken, clocks);
        } else if found.part.is_none()
            && let Some((taken, part)) = part_of_day(s, next, found.days.is_some())
        {
            (count, found.part) = (count + taken, Some(part));
        } else if !found.clocks.is_empty()
            && found.part.is_none()
            && let Some((taken, part)) = of_night(s, next)
        {
            (count, found.part) = (count + taken, Some(part));
        } else if let Some((taken, days)) = found.days.as_ref().and_then(|days| without(days, s, next, now)) {
            (count, found.days) = (count + taken, Some(days));
        } else {
            break;
        }
    }
    let early = s.mentions(&["wake", "alarm"]);
    to_cron(found, early, now).map(|text| (count, text))
}

/// Days of the week without those that are left out: "every day except Sunday", "weekdays but not Wednesdays".
fn without(days: &Days, s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, Days)> {
    let (count, _, left_out) = several::left_out(s, at, now)?;
    let left_out = left_out?;
    let all: BTreeSet<i8> = match days {
        Days::All => (0..7).collect(),
        Days::Weekdays(set) => set.clone(),
        _ => return None,
    };
    let rest: BTreeSet<i8> = all.difference(&left_out).copied().collect();
    (!rest.is_empty()).then_some((count, Days::Weekdays(rest)))
}

/// One time, or several in the same minute: "at 8 and 20:00".
fn clocks(s: &Sentence, at: usize, bare: bool) -> Option<(usize, Vec<Clock>)> {
    let (mut count, first) = clock(s, at, bare)?;
    let mut all = vec![first];
    while all.len() < 6 && (s.word(at + count) == "and" || s.tokens.get(at + count).is_some_and(|t| t.after_break)) {
        // "at 8 and at 20".
        let and = match (s.word(at + count), s.word(at + count + 1)) {
            ("and", "at") => 2,
            ("and", _) => 1,
            _ => 0,
        };
        let Some((taken, next)) = clock(s, at + count + and, true) else { break };
        count += and + taken;
        all.push(next);
    }
    Some((count, all))
}

/// The days at `at`, and the part of the day their word implies ("every evening").
fn days(s: &Sentence, at: usize) -> Option<(usize, Days, Option<Part>)> {
    let plain = |found: Option<(usize, Days)>| found.map(|(count, days)| (count, days, None));
    plain(adverb(s, at))
        .or_else(|| plain(of_month(s, at)))
        .or_else(|| plain(nth(s, at)))
        .or_else(|| after_every(s, at))
        .or_else(|| plain(plural(s, at)))
}

/// "daily", "hourly", "once a week".
fn adverb(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let word = match s.word(at) {
        "once" if ["a", "an", "per", "each", "every"].contains(&s.word(at + 1)) => {
            let days = match s.word(at + 2) {
                "day" => Days::All,
                "hour" => Days::Hours,
                "week" => Days::Week,
                "month" => Days::Month,
                "year" => Days::Year,
                _ => return None,
            };
            return Some((3, days));
        }
        word => word,
    };
    let days = match word {
        "daily" => Days::All,
        "hourly" => Days::Hours,
        "weekly" => Days::Week,
        "monthly" => Days::Month,
        "yearly" | "annually" => Days::Year,
        _ => return None,
    };
    // "weekly on monday", "monthly on the 5th"
    let on = match days {
        Days::Week => on_weekdays(s, at + 1),
        Days::Month => day_of_month(s, at + 1),
        _ => None,
    };
    Some(on.map_or((1, days), |(count, days)| (1 + count, days)))
}

/// "every …", "each …".
fn after_every(s: &Sentence, at: usize) -> Option<(usize, Days, Option<Part>)> {
    let on = usize::from(["on", "for"].contains(&s.word(at)));
    if !["every", "each"].contains(&s.word(at + on)) {
        return None;
    }
    let lead = on + 1 + usize::from(s.word(at + on + 1) == "single");
    let begin = at + lead;
    let word = s.word(begin);
    if let Some(part) = part_named(word) {
        return Some((lead + 1, Days::All, Some(part)));
    }
    // "every monday to friday"
    if let Some((count, days)) = plural(s, begin).filter(|_| weekday_named(s.word(begin + 1), true).is_none()) {
        return Some((lead + count, days, None));
    }
    if let Some((count, set, part)) = weekdays(s, begin) {
        return Some((lead + count, Days::Weekdays(set), part));
    }
    if let Some((count, text)) = distance(s, begin) {
        return Some((lead + count, text, None));
    }
    let days = match word {
        "day" => Days::All,
        "hour" => Days::Hours,
        "week" => Days::Week,
        "month" => Days::Month,
        "year" => Days::Year,
        _ => {
            let (count, month, day) = day_and_month(s, begin)?;
            return Some((lead + count, Days::OfYear { month, day }, None));
        }
    };
    let on = match days {
        Days::Week => on_weekdays(s, begin + 1),
        Days::Month => day_of_month(s, begin + 1),
        Days::Year => on_date(s, begin + 1),
        _ => None,
    };
    let (count, days) = on.map_or((lead + 1, days), |(count, days)| (lead + 1 + count, days));
    Some((count, days, None))
}

/// "2 hours", "other day", "half an hour", "minute" after "every".
fn distance(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let apart = |count, n: u32, unit: &str| {
        let one = if n == 1 { unit.to_owned() } else { format!("{unit}s") };
        Some((count, Days::Apart(format!("every {n} {one}"))))
    };
    match (s.word(at), s.word(at + 1)) {
        ("minute", _) => return apart(1, 1, "minute"),
        ("second", "hour" | "day" | "week" | "month") | ("other", "hour" | "day" | "week" | "month") => {
            return if s.word(at + 1) == "day" { Some((2, Days::Step(2))) } else { apart(2, 2, s.word(at + 1)) };
        }
        ("half", "hour") => return apart(2, 30, "minute"),
        ("half", "an") if s.word(at + 2) == "hour" => return apart(3, 30, "minute"),
        ("quarter", "hour") => return apart(2, 15, "minute"),
        ("quarter", "of") if s.has(at + 2, &["an", "hour"]) => return apart(4, 15, "minute"),
        ("couple", "of") => return apart(3, 2, s.word(at + 2).strip_suffix('s')?),
        _ => {}
    }
    let (count, n) = number::whole(s, at).filter(|(_, n)| *n > 0)?;
    let unit = s.word(at + count);
    let (unit, count) = (unit.strip_suffix('s').unwrap_or(unit), count + 1);
    let unit = match unit {
        "min" => "minute",
        "hr" => "hour",
        "sec" => "second",
        "second" | "minute" | "hour" | "day" | "week" | "month" => unit,
        _ => return None,
    };
    // "every 1 hour and 30 minutes" is not supported by cron.
    if s.word(at + count) == "and" && duration::duration(s, at + count + 1).is_some() {
        return None;
    }
    match (unit, n) {
        ("hour", 1) => Some((count, Days::Hours)),
        ("day", 1) => Some((count, Days::All)),
        ("week", 1) => Some((count, Days::Week)),
        ("month", 1) => Some((count, Days::Month)),
        ("day", n) => i8::try_from(n).ok().filter(|n| *n < 29).map(|n| (count, Days::Step(n))),
        (unit, n) => apart(count, n, unit),
    }
}

/// "monday", "monday and thursday", "tuesdays, fridays", "weekday", "weekend"; the last may carry a part of the day.
fn weekdays(s: &Sentence, at: usize) -> Option<(usize, BTreeSet<i8>, Option<Part>)> {
    let (mut count, mut set) = (0, BTreeSet::new());
    loop {
        let joint = usize::from(count > 0 && ["and", "or", "every"].contains(&s.word(at + count)));
        let joint = joint + usize::from(joint > 0 && ["on", "every"].contains(&s.word(at + count + joint)));
        let Some((taken, days)) = weekday_set(s, at + count + joint) else { break };
        set.extend(days);
        count += joint + taken;
    }
    if count == 0 {
        return None;
    }
    let part = part_named(s.word(at + count));
    Some((count + usize::from(part.is_some()), set, part))
}

fn weekday_set(s: &Sentence, at: usize) -> Option<(usize, Vec<i8>)> {
    let word = s.word(at);
    let work = || (1..6).collect::<Vec<i8>>();
    match (word, s.word(at + 1)) {
        ("weekday" | "weekdays" | "workday" | "workdays", _) => return Some((1, work())),
        ("working" | "work" | "business" | "week" | "school", "day" | "days") => return Some((2, work())),
        ("weekend" | "weekends", _) => return Some((1, vec![0, 6])),
        _ => {}
    }
    let day = weekday_named(word, true).or_else(|| weekday_named(word.strip_suffix('s')?, false))?;
    Some((1, vec![day.to_sunday_zero_offset()]))
}

/// "on mondays and thursdays", "weekdays", "mornings": plurals that imply a recurrence.
fn plural(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let on = usize::from(["on", "at", "from"].contains(&s.word(at)));
    let word = s.word(at + on);
    // "monday to friday", "mon-fri"
    let first = weekday_named(word, true).map(|day| day.to_sunday_zero_offset());
    let joint = usize::from(["to", "-", "until", "till", "through"].contains(&s.word(at + on + 1)));
    let last = weekday_named(s.word(at + on + 1 + joint), true).map(|day| day.to_sunday_zero_offset());
    let dashed = || {
        s.tokens
            .get(at + on)
            .zip(s.tokens.get(at + on + 1))
            .is_some_and(|(a, b)| s.text.get(a.end..b.start).is_some_and(|between| between.contains(['-', '–'])))
    };
    if let (Some(first), Some(last)) = (first, last)
        && (joint > 0 || dashed())
        && first != last
    {
        let set = (0..7).map(|n| (first + n) % 7).scan(false, |over, day| {
            let take = !*over;
            *over |= day == last;
            take.then_some(day)
        });
        return Some((on + 2 + joint, Days::Weekdays(set.collect())));
    }
    // "an alarm sat sun 8:45"
    let several = first.is_some() && last.is_some() && joint == 0;
    let timed = |end: usize| clock(s, end, true).is_some() || s.mentions(&["alarm", "alarms", "wake"]);
    if several
        && let Some((count, set, None)) = weekdays(s, at + on)
        && timed(at + on + count)
    {
        return Some((on + count, Days::Weekdays(set)));
    }
    let many = ["weekdays", "weekends", "workdays"].contains(&word)
        || word.strip_suffix('s').is_some_and(|day| weekday_named(day, false).is_some())
        || ["working", "work", "business", "week", "school"].contains(&word) && s.word(at + on + 1) == "days";
    let (count, set, part) = weekdays(s, at + on).filter(|_| many)?;
    part.is_none().then_some((on + count, Days::Weekdays(set)))
}

/// "on monday" after "every week".
fn on_weekdays(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let (count, set, part) = weekdays(s, at + 1).filter(|_| s.word(at) == "on")?;
    part.is_none().then_some((1 + count, Days::Weekdays(set)))
}

/// "on the first of every month", "every 15th of the month", "the last day of each month".
fn of_month(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let on = usize::from(s.word(at) == "on");
    let lead = on + usize::from(["the", "every", "each"].contains(&s.word(at + on)));
    if lead == on {
        return None;
    }
    let (count, day) = day_number(s, at + lead)?;
    let end = at + lead + count;
    let every = s.word(at + on) != "the";
    let of = ["every", "each"].contains(&s.word(end + 1)) || every && ["the", "a"].contains(&s.word(end + 1));
    let month = s.word(end) == "of" && of && s.word(end + 2) == "month";
    month.then_some((lead + count + 3, Days::OfMonth(day)))
}

/// "on the 5th" after "every month".
fn day_of_month(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let the = usize::from(s.word(at + 1) == "the");
    let (count, day) = day_number(s, at + 1 + the).filter(|_| s.word(at) == "on")?;
    Some((1 + the + count, Days::OfMonth(day)))
}

/// "15th", "first", "first day", "last day" (0).
fn day_number(s: &Sentence, at: usize) -> Option<(usize, i8)> {
    if s.has(at, &["last", "day"]) {
        return Some((2, 0));
    }
    let (count, day) = ordinal(s, at)?;
    Some((count + usize::from(s.word(at + count) == "day"), day))
}

/// "the first monday of every month", "every last friday of the month".
fn nth(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let on = usize::from(s.word(at) == "on");
    let lead = on + usize::from(["the", "every", "each"].contains(&s.word(at + on)));
    let (count, which) =
        if s.word(at + lead) == "last" { (1, 0) } else { ordinal(s, at + lead).filter(|(_, n)| *n < 6)? };
    let weekday = weekday_named(s.word(at + lead + count), true)?;
    let end = at + lead + count + 1;
    let month = ["of", "in"].contains(&s.word(end))
        && ["every", "each", "the", "a"].contains(&s.word(end + 1))
        && s.word(end + 2) == "month";
    let again = ["every", "each"].contains(&s.word(end + 1)) || ["every", "each"].contains(&s.word(at + on));
    let of_the = lead > on && s.word(end + 1) == "the";
    let weekday = weekday.to_sunday_zero_offset();
    // "the first monday each month"
    if ["every", "each"].contains(&s.word(end)) && s.word(end + 1) == "month" {
        return Some((lead + count + 3, Days::Nth(which, weekday)));
    }
    (month && (again || of_the)).then_some((lead + count + 4, Days::Nth(which, weekday)))
}

/// "on 3 October" after "every year".
fn on_date(s: &Sentence, at: usize) -> Option<(usize, Days)> {
    let (count, month, day) = day_and_month(s, at + 1).filter(|_| s.word(at) == "on")?;
    Some((1 + count, Days::OfYear { month, day }))
}

/// "3 October", "the 3rd of October", "October 3rd", "christmas".
fn day_and_month(s: &Sentence, at: usize) -> Option<(usize, i8, i8)> {
    if s.word(at) == "christmas" {
        return Some((1, 12, 25));
    }
    let the = usize::from(s.word(at) == "the");
    let number = |at: usize| {
        ordinal(s, at).or_else(|| {
            let (count, n) = number::whole(s, at).filter(|(_, n)| (1..32).contains(n))?;
            Some((count, n as i8))
        })
    };
    if let Some((count, day)) = number(at + the) {
        let of = usize::from(s.word(at + the + count) == "of");
        return month_named(s.word(at + the + count + of)).map(|month| (the + count + of + 1, month, day));
    }
    let month = month_named(s.word(at))?;
    let the = usize::from(s.word(at + 1) == "the");
    number(at + 1 + the).map(|(count, day)| (1 + the + count, month, day))
}

/// The recurrence in the scheduler's notation; `None` if it cannot be expressed.
fn to_cron(found: PartialRecurrence, early: bool, now: &Zoned) -> Option<String> {
    let days = found.days?;
    let times: Vec<Time> = found.clocks.iter().map(|clock| time_of(*clock, found.part, early)).collect();
    match &days {
        Days::Apart(text) => return (times.is_empty() && found.part.is_none()).then(|| text.clone()),
        Days::Hours => return (times.is_empty() && found.part.is_none()).then(|| "0 * * * *".to_owned()),
        Days::Step(n) if times.is_empty() && found.part.is_none() => return Some(format!("every {n} days")),
        _ => {}
    }
    let times = match (times.is_empty(), found.part) {
        (true, Some(part)) => vec![default_time(part).time],
        (true, None) => vec![Time::constant(9, 0, 0, 0)],
        (false, _) => times,
    };
    let minute = times[0].minute();
    if times.iter().any(|time| time.minute() != minute) {
        return None;
    }
    let hours: BTreeSet<i8> = times.iter().map(|time| time.hour()).collect();
    let hours = hours.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
    let today = now.date();
    // Midnight ends the day it is said with.
    let days = match days {
        Days::Weekdays(set) if found.clocks.iter().any(|clock| clock.ends_day) => {
            if found.clocks.len() > 1 {
                return None;
            }
            Days::Weekdays(set.into_iter().map(|day| (day + 1) % 7).collect())
        }
        days => days,
    };
    let (day, month, weekday) = match days {
        Days::Apart(_) | Days::Hours | Days::All => any(),
        Days::Step(n) => (format!("*/{n}"), star(), star()),
        Days::Weekdays(set) => (star(), star(), weekdays_written(&set)),
        Days::Nth(0, weekday) => (star(), star(), format!("{weekday}L")),
        Days::Nth(n, weekday) => (star(), star(), format!("{weekday}#{n}")),
        Days::OfMonth(0) => ("L".to_owned(), star(), star()),
        Days::OfMonth(day) => (day.to_string(), star(), star()),
        Days::OfYear { month, day } => {
            // A leap year has every date.
            jiff::civil::Date::new(2028, month, day).ok()?;
            (day.to_string(), month.to_string(), star())
        }
        Days::Week => (star(), star(), today.weekday().to_sunday_zero_offset().to_string()),
        Days::Month => (today.day().min(28).to_string(), star(), star()),
        Days::Year => (today.day().to_string(), today.month().to_string(), star()),
    };
    Some(format!("{minute} {hours} {day} {month} {weekday}"))
}

fn star() -> String {
    "*".to_owned()
}

fn any() -> (String, String, String) {
    (star(), star(), star())
}

fn weekdays_written(set: &BTreeSet<i8>) -> String {
    match set.iter().copied().collect::<Vec<_>>()[..] {
        [1, 2, 3, 4, 5] => "1-5".to_owned(),
        [0, 1, 2, 3, 4, 5, 6] => star(),
        ref some => some.iter().map(i8::to_string).collect::<Vec<_>>().join(","),
    }
}

/// Resolves the time of a recurrence.
fn time_of(clock: Clock, part: Option<Part>, early: bool) -> Time {
    let hour = clock.time.hour();
    let later = match part {
        _ if !clock.dial => false,
        Some(Part::Morning) => false,
        Some(Part::Night) => hour > 5,
        Some(Part::Afternoon | Part::Evening) => true,
        None if early => hour < 4,
        None => hour < 6,
    };
    if later { clock.time.wrapping_add(12.hours()) } else { clock.time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recurrences_are_read() {
        // Friday 2026-11-20 14:30.
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (text, count, wanted) in [
            ("every day at 7", 4, "0 7 * * *"),
            ("every single day at 7 pm", 6, "0 19 * * *"),
            ("daily at noon", 3, "0 12 * * *"),
            ("at 7 every day", 4, "0 7 * * *"),
            ("every weekday at 6:30", 4, "30 6 * * 1-5"),
            ("on weekdays at 18:00", 4, "0 18 * * 1-5"),
            ("on school days at 7", 5, "0 7 * * 1-5"),
            ("weekdays at quarter to nine", 5, "45 8 * * 1-5"),
            ("every monday and thursday at 8pm", 7, "0 20 * * 1,4"),
            ("on mondays, wednesdays and fridays at 7 am", 8, "0 7 * * 1,3,5"),
            ("every sunday evening at 8", 5, "0 20 * * 0"),
            ("every evening", 2, "0 19 * * *"),
            ("every morning at 7:15", 4, "15 7 * * *"),
            ("every night at 10", 4, "0 22 * * *"),
            ("every evening at half past six", 6, "30 18 * * *"),
            ("every weekend at 10", 4, "0 10 * * 0,6"),
            ("every tuesday", 2, "0 9 * * 2"),
            ("every day at 3", 4, "0 15 * * *"),
            ("every day at 8am and 8pm", 8, "0 8,20 * * *"),
            ("every 2 hours", 3, "every 2 hours"),
            ("every fifteen minutes", 3, "every 15 minutes"),
            ("every half hour", 3, "every 30 minutes"),
            ("every other day", 3, "every 2 days"),
            ("every 2 days at 7", 5, "0 7 */2 * *"),
            ("every other week", 3, "every 2 weeks"),
            ("every minute", 2, "every 1 minute"),
            ("every hour", 2, "0 * * * *"),
            ("hourly", 1, "0 * * * *"),
            ("on the first of every month", 6, "0 9 1 * *"),
            ("every month on the 15th at 8", 7, "0 8 15 * *"),
            ("monthly on the 5th", 4, "0 9 5 * *"),
            ("on the last day of each month", 7, "0 9 L * *"),
            ("every first monday of the month", 6, "0 9 * * 1#1"),
            ("on the last friday of every month at 4", 9, "0 16 * * 5L"),
            ("every year on 3 October", 5, "0 9 3 10 *"),
            ("every 24th of december", 4, "0 9 24 12 *"),
            ("weekly", 1, "0 9 * * 5"),
            ("once a week on sunday", 3, "0 9 * * 5"),
            ("weekly on sunday", 3, "0 9 * * 0"),
            ("every month", 2, "0 9 20 * *"),
            ("every 1 hour", 3, "0 * * * *"),
            ("every day in the morning", 5, "0 8 * * *"),
            ("every day except sunday", 4, "0 9 * * 1,2,3,4,5,6"),
            ("every day except sundays at 8", 6, "0 8 * * 1,2,3,4,5,6"),
            ("every day at 7, not on weekends", 7, "0 7 * * 1-5"),
            ("every weekday except wednesday at 7", 6, "0 7 * * 1,2,4,5"),
            ("every monday to friday except wednesday at 7", 8, "0 7 * * 1,2,4,5"),
            ("every 2 hours until 9pm", 3, "every 2 hours"),
            ("every day but monday and tuesday", 6, "0 9 * * 0,3,4,5,6"),
            ("every day at 8 and at 20", 7, "0 8,20 * * *"),
            ("every day at 3 in the night", 7, "0 3 * * *"),
            ("every friday at midnight", 4, "0 0 * * 6"),
            ("every day at midnight", 4, "0 0 * * *"),
        ] {
            let got = every(&Sentence::whole(text), 0, &now);
            assert_eq!(got, Some((count, wanted.to_owned())), "{text}");
        }
        for text in [
            "every",
            "everyone",
            "every time",
            "each of us",
            "at 7",
            "tomorrow",
            "monday",
            "on monday at 7",
            "every 0 hours",
            "every 31 february",
            "every day at 8:15 and 9:20",
            "",
            "every 2 hours at 7",
            "the first of december",
        ] {
            assert_eq!(every(&Sentence::whole(text), 0, &now), None, "{text}");
        }
    }

    #[test]
    fn waking_is_early() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        let s = Sentence::whole("wake me every weekday at 5:30");
        assert_eq!(every(&s, 2, &now), Some((4, "30 5 * * 1-5".to_owned())));
    }
}
