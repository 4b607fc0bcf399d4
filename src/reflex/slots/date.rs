//! Days: "tomorrow", "next tuesday", "on 3 October", "the 4th of July 2027", "in 3 weeks", "this weekend", "the last 30 days".
//!
//! - A weekday is the next one after today; `when` makes it today if a later time of today was given.
//! - "this friday" is the same, but today on a Friday; "next friday" is the Friday of next week, from Monday on.
//! - "friday the 13th" is a day only where both agree, so that no other date is made of it.
//! - A day and month without a year are the next such day, today included.
//! - `3/10/2026` is day first, unless only the other order is a date.

use super::{
    calendar::{calendar, coming_day, day_and_month, day_number, day_of_month, month_named, numeric_date, ordinal},
    clock, duration, number,
};
use crate::sentence::Sentence;
use jiff::{
    Span, ToSpan,
    civil::{Date, Weekday},
};

pub(crate) use super::calendar::names_day;

/// A day or a date range as spoken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Day {
    /// The day, or the first day of the range.
    pub date: Date,
    /// The last day of the range; the day itself for a single day.
    pub last: Date,
    /// Its length.
    pub reach: Reach,
    /// How it was expressed.
    pub said: DateKind,
    /// The part of the day implied by the word ("tonight").
    pub part: Option<Part>,
}

impl Day {
    pub(super) fn one(date: Date, said: DateKind) -> Self {
        Self { date, last: date, reach: Reach::Day, said, part: None }
    }
}

/// The length of a date range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    Day,
    Week,
    Month,
    Year,
}

/// How a date was expressed, which decides whether it changes its meaning when read later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DateKind {
    /// "tomorrow", "in 3 days".
    Relative,
    /// "tuesday".
    Weekday,
    /// "3 October".
    Calendar,
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    Morning,
    Afternoon,
    Evening,
    Night,
}

/// The part of the day named by a word.
pub(crate) fn part_named(word: &str) -> Option<Part> {
    Some(match word {
        "morning" => Part::Morning,
        "afternoon" => Part::Afternoon,
        "evening" => Part::Evening,
        "night" => Part::Night,
        _ => return None,
    })
}

/// A day phrase at `at` and its number of tokens.
pub(crate) fn day(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    relative(s, at, today)
        .or_else(|| nth_weekday(s, at, today))
        .or_else(|| stretch(s, at, today))
        .or_else(|| weekday(s, at, today))
        .or_else(|| counted(s, at, today))
        .or_else(|| calendar(s, at, today))
}

/// A day phrase in a date slot, where "the 24th" counts without "on".
pub(crate) fn day_in(s: &Sentence, at: usize, today: Date, slot: bool) -> Option<(usize, Day)> {
    day(s, at, today).or_else(|| {
        let (count, date) = slot.then(|| day_of_month(s, at, today)).flatten()?;
        // "the first of every month" and "the second one" are no days.
        let other = ["of", "one", "time", "half"].contains(&s.word(at + count));
        (!other).then(|| (count, Day::one(date, DateKind::Calendar)))
    })
}

/// "the first monday of the month", "the last friday in march": the next one.
fn nth_weekday(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let on = usize::from(s.word(at) == "on");
    let the = usize::from(s.word(at + on) == "the");
    let begin = at + on + the;
    let (count, nth) =
        if s.word(begin) == "last" { (1, -1) } else { ordinal(s, begin).filter(|(_, n)| (1..6).contains(n))? };
    let weekday = weekday_named(s.word(begin + count), true)?;
    let of = begin + count + 1;
    if !["of", "in"].contains(&s.word(of)) {
        return None;
    }
    let (taken, months) = match (s.word(of + 1), s.word(of + 2)) {
        ("the" | "this", "month") => (2, 0..3),
        ("next", "month") => (2, 1..2),
        (name, _) => {
            let month = month_named(name)?;
            let ahead = (i32::from(month) - i32::from(today.month())).rem_euclid(12);
            (1, ahead..ahead + 13)
        }
    };
    let named = taken == 1;
    let mut dates = months.step_by(if named { 12 } else { 1 }).filter_map(|ahead| {
        let first = today.first_of_month().checked_add(ahead.months()).ok()?;
        first.nth_weekday_of_month(nth, weekday).ok().filter(|date| *date >= today)
    });
    Some((on + the + count + 2 + taken, Day::one(dates.next()?, DateKind::Relative)))
}

fn relative(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let said = |count, days: i64, part| {
        let date = today.checked_add(days.days()).ok()?;
        Some((count, Day { part, ..Day::one(date, DateKind::Relative) }))
    };
    for (words, days) in [
        (&["the", "day", "after", "tomorrow"][..], 2),
        (&["day", "after", "tomorrow"], 2),
        (&["the", "day", "before", "yesterday"], -2),
        (&["day", "before", "yesterday"], -2),
    ] {
        if s.has(at, words) {
            return said(words.len(), days, None);
        }
    }
    match (s.word(at), s.word(at + 1)) {
        ("today", _) => said(1, 0, None),
        ("tonight", _) => said(1, 0, Some(Part::Night)),
        ("tomorrow" | "tomorow" | "tommorow" | "tommorrow", _) => said(1, 1, None),
        ("yesterday", _) => said(1, -1, None),
        ("last", "night") => said(2, -1, Some(Part::Night)),
        ("this", part) => said(2, 0, Some(part_named(part)?)),
        _ => None,
    }
}

/// "next week", "this weekend", "last month", "this year", "the end of the month".
fn stretch(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    if let Some(found) = end_of(s, at, today).or_else(|| days_from_today(s, at, today)) {
        return Some(found);
    }
    let step = match s.word(at) {
        "this" => 0,
        "the" if s.word(at + 1) == "weekend" => 0,
        "next" => 1,
        "last" => -1,
        _ => return None,
    };
    let monday = monday_of(today)?;
    let (date, last, reach) = match s.word(at + 1) {
        "week" => {
            let first = monday.checked_add(step.weeks()).ok()?;
            (first, first.checked_add(6.days()).ok()?, Reach::Week)
        }
        "weekend" => {
            let first = weekend(today, monday, step)?;
            let saturday = first.weekday() == Weekday::Saturday;
            (first, if saturday { first.tomorrow().ok()? } else { first }, Reach::Day)
        }
        "month" => {
            let first = today.first_of_month().checked_add(step.months()).ok()?;
            (first, first.last_of_month(), Reach::Month)
        }
        "year" => {
            let first = today.first_of_year().checked_add(step.years()).ok()?;
            (first, first.last_of_year(), Reach::Year)
        }
        _ => return None,
    };
    Some((2, Day { date, last, reach, said: DateKind::Relative, part: None }))
}

/// "the end of the month", "the end of next month", "the end of the year": a day.
fn end_of(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let on = usize::from(s.word(at) == "on");
    let the = on + usize::from(s.word(at + on) == "the");
    let (working, words) = match (s.word(at + the), s.word(at + the + 1)) {
        ("end", "of") => (false, 2),
        ("last", "day") if s.word(at + the + 2) == "of" => (false, 3),
        ("last", "working" | "work" | "business") if s.has(at + the + 2, &["day", "of"]) => (true, 4),
        _ => return None,
    };
    let begin = at + the + words;
    let step = match s.word(begin) {
        "the" | "this" => 0,
        "next" => 1,
        "last" => -1,
        _ => return None,
    };
    let last = match s.word(begin + 1) {
        "month" => today.first_of_month().checked_add(step.months()).ok()?.last_of_month(),
        "year" => today.first_of_year().checked_add(step.years()).ok()?.last_of_year(),
        _ => return None,
    };
    let weekend = i64::from(last.weekday().to_monday_zero_offset()) - 4;
    let last = if working && weekend > 0 { last.checked_sub(weekend.days()).ok()? } else { last };
    Some((the + words + 2, Day::one(last, DateKind::Relative)))
}

/// "the last 30 days", "the past two weeks", "the next 3 days": ranges that end or start today.
fn days_from_today(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let the = usize::from(s.word(at) == "the");
    let back = match s.word(at + the) {
        "last" | "past" => true,
        "next" | "coming" => false,
        _ => return None,
    };
    number::number(s, at + the + 1)?;
    let (count, span) = duration::duration(s, at + the + 1)?;
    let whole = span.get_hours() == 0 && span.get_minutes() == 0 && span.get_seconds() == 0;
    let far = whole.then(|| today.checked_add(if back { -span } else { span }).ok())??;
    let (date, last) = if back { (far, today) } else { (today, far) };
    Some((the + 1 + count, Day { date, last, reach: Reach::Day, said: DateKind::Relative, part: None }))
}

/// A past day: a weekday or a date without a year is the latest one, today included for a date.
pub(crate) fn past(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let (count, found) = day_in(s, at, today, true)?;
    if found.date <= today {
        return Some((count, found));
    }
    let named_year = (at..at + count).any(|i| s.word(i).parse::<i16>().is_ok_and(|n| n > 1900));
    let next = (at..at + count).any(|i| ["next", "tomorrow", "in"].contains(&s.word(i)));
    let date = match found.said {
        _ if next => return None,
        DateKind::Weekday | DateKind::Relative
            if (at..at + count).any(|i| weekday_named(s.word(i), true).is_some()) =>
        {
            found.date.checked_sub(7.days()).ok()?
        }
        DateKind::Calendar if named_year => return None,
        // "the 4th" is of this month or the last one.
        DateKind::Calendar if !(at..at + count).any(|i| month_named(s.word(i)).is_some()) => {
            let months = (1..3).filter_map(|n| found.date.checked_sub(n.months()).ok());
            months.filter(|date| date.day() == found.date.day()).find(|date| *date <= today)?
        }
        DateKind::Calendar => Date::new(found.date.year() - 1, found.date.month(), found.date.day()).ok()?,
        _ => return None,
    };
    (date <= today).then_some((count, Day { date, last: date, ..found }))
}

/// The first day of a month: "october" is the latest one that has begun, "this month", "may 2026".
pub(crate) fn month(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    let lead = usize::from(["in", "of", "for", "during"].contains(&s.word(at)));
    let begin = at + lead;
    if let Some((count, found)) = stretch(s, begin, today).filter(|(_, day)| day.reach == Reach::Month) {
        return Some((lead + count, found.date));
    }
    let last = usize::from(["last", "this", "the"].contains(&s.word(begin)));
    if last > 0 && s.has(begin, &["the", "last", "month"]) {
        return Some((lead + 3, today.first_of_month().checked_sub(1.month()).ok()?));
    }
    let month = month_named(s.word(begin + last))?;
    let count = lead + last + 1;
    let year = s.word(at + count).parse::<i16>().ok().filter(|year| (1900..2200).contains(year));
    if let Some(year) = year {
        return Some((count + 1, Date::new(year, month, 1).ok()?));
    }
    let this = Date::new(today.year(), month, 1).ok()?;
    let first = if this > today { Date::new(today.year() - 1, month, 1).ok()? } else { this };
    Some((count, first))
}

/// The Saturday of a weekend; on a Sunday "this weekend" is today.
fn weekend(today: Date, monday: Date, step: i64) -> Option<Date> {
    if step == 0 && today.weekday() == Weekday::Sunday {
        return Some(today);
    }
    monday.checked_add((step * 7 + 5).days()).ok()
}

fn monday_of(today: Date) -> Option<Date> {
    today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()
}

fn weekday(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let on = usize::from(["on", "by"].contains(&s.word(at)));
    if let Some(found) = week_on(s, at, today) {
        return Some(found);
    }
    let which = s.word(at + on);
    let which = if ["this", "next", "last", "coming"].contains(&which) { which } else { "" };
    let before = on + usize::from(!which.is_empty());
    // "this coming friday", "to the monday"
    let before = before
        + usize::from(which == "this" && s.word(at + before) == "coming" || on > 0 && s.word(at + before) == "the");
    // "sat" and "sun" are ambiguous unless a day is expected.
    let named = s.word(at + before);
    let wanted = weekday_named(named.strip_suffix("'s").unwrap_or(named), before > 0 || is_short_day(s, at))?;
    // "friday next week", "friday of next week", "friday week".
    let of = usize::from(s.word(at + before + 1) == "of");
    let behind = match (s.word(at + before + 1 + of), s.word(at + before + 2 + of)) {
        ("next", "week") => of + 2,
        ("week", _) if of == 0 => 1,
        _ => 0,
    };
    if behind > 0 && which.is_empty() {
        let date = match behind {
            1 => today.nth_weekday(1, wanted).ok()?.checked_add(7.days()).ok()?,
            _ => monday_of(today)?.checked_add((7 + i64::from(wanted.to_monday_zero_offset())).days()).ok()?,
        };
        return Some((before + 1 + behind, Day::one(date, DateKind::Relative)));
    }
    let date = match which {
        "next" => monday_of(today)?.checked_add((7 + i64::from(wanted.to_monday_zero_offset())).days()).ok()?,
        "last" => today.nth_weekday(-1, wanted).ok()?,
        "this" if today.weekday() == wanted => today,
        _ => today.nth_weekday(1, wanted).ok()?,
    };
    let said = if which.is_empty() { DateKind::Weekday } else { DateKind::Relative };
    let count = before + 1;
    let Some((more, numbered)) = number_of_day(s, at + count, today) else {
        return Some((count, Day::one(date, said)));
    };
    // In "saturday 9" a time follows, if it is no such date.
    if numbered.is_none_or(|date| date.weekday() != wanted) && clock::follows_day(s, at + count) {
        return Some((count, Day::one(date, said)));
    }
    // "friday the 4th" may be any Friday, "next friday the 4th" only that one.
    let date = numbered.filter(|n| if which.is_empty() { n.weekday() == wanted } else { *n == date })?;
    Some((count + more, Day::one(date, DateKind::Relative)))
}

/// "a week on friday", "a week tomorrow", "two weeks on monday".
fn week_on(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let (lead, weeks) = match (s.word(at), s.word(at + 1)) {
        ("a", "week") => (2, 1),
        ("a", "fortnight") | ("two", "weeks") | ("2", "weeks") => (2, 2),
        ("week", "on") => (1, 1),
        _ => return None,
    };
    let on = usize::from(["on", "from", "next"].contains(&s.word(at + lead)));
    let named = s.word(at + lead + on);
    let day = match named {
        "today" => today,
        "tomorrow" => today.tomorrow().ok()?,
        _ => today.nth_weekday(1, weekday_named(named, on > 0)?).ok()?,
    };
    let date = day.checked_add((7 * weeks).days()).ok()?;
    Some((lead + on + 1, Day::one(date, DateKind::Relative)))
}

/// Whether an abbreviation is a day without "on" before it; "sat", "sun" and "wed" only before a time.
fn is_short_day(s: &Sentence, at: usize) -> bool {
    let timed = || {
        clock::clock(s, at + 1, false).is_some()
            || clock::follows_day(s, at + 1)
            || part_named(s.word(at + 1)).is_some()
    };
    !["sat", "sun", "wed"].contains(&s.word(at)) || timed()
}

/// The date after a weekday: "the 13th", "27 November", a bare "13"; inner `None` if it does not exist.
fn number_of_day(s: &Sentence, at: usize, today: Date) -> Option<(usize, Option<Date>)> {
    if let Some((count, date)) = numeric_date(s, at, today).or_else(|| day_and_month(s, at, today)) {
        return Some((count, Some(date)));
    }
    // In "friday 7 pm" and "friday 6 to 8" a time follows.
    let the = usize::from(s.word(at) == "the");
    let (count, day) = day_number(s, at + the)?;
    if the == 0 && clock::clock(s, at, false).is_some() {
        return None;
    }
    let month = month_named(s.word(at + the + count)).is_some() || s.word(at + the + count) == "of";
    Some((the + count, if month { None } else { coming_day(today, day) }))
}

/// The weekday of this name; abbreviations only where unambiguous.
pub(crate) fn weekday_named(word: &str, short_too: bool) -> Option<Weekday> {
    let full = match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => {
            return Some(match word {
                "mon" if short_too => Weekday::Monday,
                "tue" | "tues" if short_too => Weekday::Tuesday,
                "wed" if short_too => Weekday::Wednesday,
                "thu" | "thur" | "thurs" if short_too => Weekday::Thursday,
                "fri" if short_too => Weekday::Friday,
                "sat" if short_too => Weekday::Saturday,
                "sun" if short_too => Weekday::Sunday,
                _ => return None,
            });
        }
    };
    Some(full)
}

/// "in 3 days", "two weeks from now", "3 days ago": whole days and longer.
fn counted(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let (count, span) = from_now(s, at)?;
    let whole_days = span.get_hours() == 0 && span.get_minutes() == 0 && span.get_seconds() == 0;
    let date = whole_days.then(|| today.checked_add(span).ok())??;
    Some((count, Day::one(date, DateKind::Relative)))
}

/// An offset from now: "in X", "X from now", "X ago" (negative).
pub(crate) fn from_now(s: &Sentence, at: usize) -> Option<(usize, Span)> {
    if s.word(at) == "in" {
        // In "moved in 3 years ago" the "in" belongs to the verb.
        let found = duration::duration(s, at + 1).map(|(count, span)| (count + 1, span));
        return found.filter(|(count, _)| s.word(at + count) != "ago");
    }
    let (count, span) = duration::duration(s, at)?;
    if s.has(at + count, &["from", "now"]) {
        return Some((count + 2, span));
    }
    (s.word(at + count) == "ago").then(|| (count + 1, -span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today() -> Date {
        Date::constant(2026, 11, 20)
    }

    #[test]
    fn stretches_have_a_last_day() {
        for (text, count, date, last) in [
            ("this week", 2, "2026-11-16", "2026-11-22"),
            ("next week", 2, "2026-11-23", "2026-11-29"),
            ("this weekend", 2, "2026-11-21", "2026-11-22"),
            ("this month", 2, "2026-11-01", "2026-11-30"),
            ("last year", 2, "2025-01-01", "2025-12-31"),
            ("the last 30 days", 4, "2026-10-21", "2026-11-20"),
            ("past two weeks", 3, "2026-11-06", "2026-11-20"),
            ("the next 3 days", 4, "2026-11-20", "2026-11-23"),
            ("the end of the month", 5, "2026-11-30", "2026-11-30"),
            ("end of next month", 4, "2026-12-31", "2026-12-31"),
            ("tomorrow", 1, "2026-11-21", "2026-11-21"),
            ("friday next week", 3, "2026-11-27", "2026-11-27"),
            ("on tuesday of next week", 5, "2026-11-24", "2026-11-24"),
            ("monday week", 2, "2026-11-30", "2026-11-30"),
        ] {
            let (taken, found) = day(&Sentence::whole(text), 0, today()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (taken, found.date.to_string().as_str(), found.last.to_string().as_str()),
                (count, date, last),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_been_is_the_latest_of_its_name() {
        for (text, wanted) in [
            ("monday", Some("2026-11-16")),
            ("on friday", Some("2026-11-20")),
            ("last friday", Some("2026-11-13")),
            ("yesterday", Some("2026-11-19")),
            ("today", Some("2026-11-20")),
            ("on the 4th", Some("2026-11-04")),
            ("on the 21st", Some("2026-10-21")),
            ("3 october", Some("2026-10-03")),
            ("on 3 december", Some("2025-12-03")),
            ("3 december 2026", None),
            ("tomorrow", None),
            ("next monday", None),
            ("in 3 days", None),
            ("2 days ago", Some("2026-11-18")),
        ] {
            let got = past(&Sentence::whole(text), 0, today()).map(|(_, day)| day.date.to_string());
            assert_eq!(got.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn months_are_those_that_have_begun() {
        for (text, wanted) in [
            ("october", Some((1, "2026-10-01"))),
            ("in november", Some((2, "2026-11-01"))),
            ("december", Some((1, "2025-12-01"))),
            ("last december", Some((2, "2025-12-01"))),
            ("may 2024", Some((2, "2024-05-01"))),
            ("this month", Some((2, "2026-11-01"))),
            ("the last month", Some((3, "2026-10-01"))),
            ("week", None),
        ] {
            let got = month(&Sentence::whole(text), 0, today()).map(|(count, first)| (count, first.to_string()));
            assert_eq!(got, wanted.map(|(count, first)| (count, first.to_owned())), "{text}");
        }
    }
}
