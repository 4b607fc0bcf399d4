//! Days: "tomorrow", "next tuesday", "on 3 October", "the 4th of July 2027", "in 3 weeks", "this weekend".
//!
//! - A weekday is the next one after today; `when` makes it today where a later time of today was said.
//! - "this friday" is the same, but today on a Friday; "next friday" is the Friday of next week, from Monday on.
//! - "friday the 13th" is a day only where both agree, so that no other date is made of it.
//! - A day and month without a year are the next such day, today included.
//! - `3/10/2026` is day first, unless only the other order is a date.

use super::{clock, duration, number};
use crate::sentence::Sentence;
use jiff::{
    Span, ToSpan,
    civil::{Date, Weekday},
};

/// A day or a longer stretch, as said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Day {
    /// The day, or the first day of the stretch.
    pub date: Date,
    /// How long it is.
    pub reach: Reach,
    /// How it was said.
    pub said: Said,
    /// The part of the day that the word carries ("tonight").
    pub part: Option<Part>,
}

/// How much time a day phrase covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    Day,
    Week,
    Month,
    Year,
}

/// Whether a phrase means another day when it is read later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Said {
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

/// The part of the day a word names.
pub(crate) fn part_named(word: &str) -> Option<Part> {
    Some(match word {
        "morning" => Part::Morning,
        "afternoon" => Part::Afternoon,
        "evening" => Part::Evening,
        "night" => Part::Night,
        _ => return None,
    })
}

/// A day phrase at `at` and how many tokens it takes.
pub(crate) fn day(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    relative(s, at, today)
        .or_else(|| stretch(s, at, today))
        .or_else(|| weekday(s, at, today))
        .or_else(|| counted(s, at, today))
        .or_else(|| calendar(s, at, today))
}

fn relative(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let said = |count, days: i64, part| {
        let date = today.checked_add(days.days()).ok()?;
        Some((count, Day { date, reach: Reach::Day, said: Said::Relative, part }))
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

/// "next week", "this weekend", "last month", "next year".
fn stretch(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let step = match s.word(at) {
        "this" | "the" if s.word(at + 1) == "weekend" => 0,
        "next" => 1,
        "last" => -1,
        _ => return None,
    };
    let monday = monday_of(today)?;
    let (date, reach) = match s.word(at + 1) {
        "week" => (monday.checked_add(step.weeks()).ok()?, Reach::Week),
        "weekend" => (weekend(today, monday, step)?, Reach::Day),
        "month" => (today.first_of_month().checked_add(step.months()).ok()?, Reach::Month),
        "year" => (today.first_of_year().checked_add(step.years()).ok()?, Reach::Year),
        _ => return None,
    };
    Some((2, Day { date, reach, said: Said::Relative, part: None }))
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
    let which = s.word(at + on);
    let which = if ["this", "next", "last", "coming"].contains(&which) { which } else { "" };
    let before = on + usize::from(!which.is_empty());
    // "sat" and "sun" are words of their own unless something says that a day is meant.
    let wanted = weekday_named(s.word(at + before), before > 0)?;
    let date = match which {
        "next" => monday_of(today)?.checked_add((7 + i64::from(wanted.to_monday_zero_offset())).days()).ok()?,
        "last" => today.nth_weekday(-1, wanted).ok()?,
        "this" if today.weekday() == wanted => today,
        _ => today.nth_weekday(1, wanted).ok()?,
    };
    let said = if which.is_empty() { Said::Weekday } else { Said::Relative };
    let count = before + 1;
    let Some((more, numbered)) = number_of_day(s, at + count, today) else {
        return Some((count, Day { date, reach: Reach::Day, said, part: None }));
    };
    // "friday the 4th" may be any Friday, "next friday the 4th" only that one.
    let date = numbered.filter(|n| if which.is_empty() { n.weekday() == wanted } else { *n == date })?;
    Some((count + more, Day { date, reach: Reach::Day, said: Said::Relative, part: None }))
}

/// The day that a weekday is followed by: "the 13th", "27 November", a bare "13"; `None` within for one that never comes.
fn number_of_day(s: &Sentence, at: usize, today: Date) -> Option<(usize, Option<Date>)> {
    if let Some((count, date)) = written(s, at, today).or_else(|| day_and_month(s, at, today)) {
        return Some((count, Some(date)));
    }
    // "friday 7 pm" and "friday 6 to 8" go on with a time.
    let the = usize::from(s.word(at) == "the");
    let (count, day) = day_number(s, at + the)?;
    if the == 0 && clock::clock(s, at).is_some() {
        return None;
    }
    let month = month_named(s.word(at + the + count)).is_some() || s.word(at + the + count) == "of";
    Some((the + count, if month { None } else { coming_day(today, day) }))
}

/// The weekday of this name; the short ones only where they cannot be other words.
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
    Some((count, Day { date, reach: Reach::Day, said: Said::Relative, part: None }))
}

/// A distance from now: "in X", "X from now", "X ago" (negative).
pub(crate) fn from_now(s: &Sentence, at: usize) -> Option<(usize, Span)> {
    if s.word(at) == "in" {
        // "moved in 3 years ago" goes on; its "in" belongs to what stands before.
        let found = duration::duration(s, at + 1).map(|(count, span)| (count + 1, span));
        return found.filter(|(count, _)| s.word(at + count) != "ago");
    }
    let (count, span) = duration::duration(s, at)?;
    if s.has(at + count, &["from", "now"]) {
        return Some((count + 2, span));
    }
    (s.word(at + count) == "ago").then(|| (count + 1, -span))
}

fn calendar(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let on = usize::from(["on", "by"].contains(&s.word(at)));
    let at = at + on;
    let (count, date) = written(s, at, today)
        .or_else(|| named(s, at, today))
        .or_else(|| day_and_month(s, at, today))
        .or_else(|| (on == 1).then(|| day_of_month(s, at, today))?)?;
    Some((on + count, Day { date, reach: Reach::Day, said: Said::Calendar, part: None }))
}

/// `2026-11-21`, `21.11.2026`, `21/11/2026`.
fn written(s: &Sentence, at: usize, _today: Date) -> Option<(usize, Date)> {
    let word = s.word(at);
    if word.len() == 10 && word.as_bytes().get(4) == Some(&b'-') {
        return Some((1, word.parse().ok()?));
    }
    let dotted: Vec<i16> = word.split('.').filter_map(|n| n.parse().ok()).collect();
    let (count, parts) = match dotted.as_slice() {
        [d, m, y] => (1, [*d, *m, *y]),
        _ if s.word(at + 1) == "/" && s.word(at + 3) == "/" => {
            (5, [word.parse().ok()?, s.word(at + 2).parse().ok()?, s.word(at + 4).parse().ok()?])
        }
        _ => return None,
    };
    let [d, m, y] = parts;
    let y = if y < 100 { y + 2000 } else { y };
    let date = |day: i16, month: i16| Date::new(y, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    Some((count, date(d, m).or_else(|| date(m, d))?))
}

/// Days with a name.
fn named(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    const NAMED: &[(&str, i8, i8)] = &[
        ("christmas eve", 12, 24),
        ("christmas day", 12, 25),
        ("christmas", 12, 25),
        ("new year's eve", 12, 31),
        ("new years eve", 12, 31),
        ("new year's day", 1, 1),
        ("halloween", 10, 31),
    ];
    let (name, month, day) =
        NAMED.iter().find(|(name, ..)| name.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))?;
    Some((name.split(' ').count(), coming(today, *month, *day)?))
}

/// The next such day, today included.
fn coming(today: Date, month: i8, day: i8) -> Option<Date> {
    (0..9).filter_map(|i| Date::new(today.year() + i, month, day).ok()).find(|date| *date >= today)
}

/// "3 October", "the 4th of July 2027", "October 3rd".
fn day_and_month(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    let the = usize::from(s.word(at) == "the");
    let day_first = || {
        let (count, day) = day_number(s, at + the)?;
        let of = usize::from(s.word(at + the + count) == "of");
        let month = month_named(s.word(at + the + count + of))?;
        Some((the + count + of + 1, month, day))
    };
    let month_first = || {
        let month = month_named(s.word(at))?;
        let the = usize::from(s.word(at + 1) == "the");
        let (count, day) = day_number(s, at + 1 + the)?;
        Some((1 + the + count, month, day))
    };
    let (count, month, day) = day_first().or_else(month_first)?;
    match s.word(at + count).parse::<i16>() {
        Ok(year) if (1900..2200).contains(&year) => Some((count + 1, Date::new(year, month, day).ok()?)),
        _ => Some((count, coming(today, month, day)?)),
    }
}

/// "the 4th": of this month, or of the next that has one.
fn day_of_month(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    let (count, day) = ordinal(s, at + 1).filter(|_| s.word(at) == "the")?;
    Some((count + 1, coming_day(today, day)?))
}

/// The next day with this number, today included.
fn coming_day(today: Date, day: i8) -> Option<Date> {
    let first = today.first_of_month();
    (0..12)
        .filter_map(|i| first.checked_add(i.months()).ok())
        .filter_map(|month| Date::new(month.year(), month.month(), day).ok())
        .find(|date| *date >= today)
}

/// Whether a weekday, a month or a day's number stands at `at`.
pub(crate) fn names_day(s: &Sentence, at: usize) -> bool {
    weekday_named(s.word(at), true).is_some() || month_named(s.word(at)).is_some() || ordinal(s, at).is_some()
}

fn day_number(s: &Sentence, at: usize) -> Option<(usize, i8)> {
    ordinal(s, at).or_else(|| {
        let (count, n) = number::whole(s, at)?;
        (1..=31).contains(&n).then_some((count, n as i8))
    })
}

/// "4th", "fourth", "twenty first".
fn ordinal(s: &Sentence, at: usize) -> Option<(usize, i8)> {
    const WORDS: &[&str] = &[
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        "eighteenth",
        "nineteenth",
        "twentieth",
    ];
    let word = s.word(at);
    let small = |word: &str| WORDS.iter().position(|w| *w == word).map(|i| i as i8 + 1);
    if let Some(n) = small(word) {
        return Some((1, n));
    }
    match word {
        "thirtieth" => return Some((1, 30)),
        "twenty" => return small(s.word(at + 1)).filter(|n| *n < 10).map(|n| (2, n + 20)),
        "thirty" if s.word(at + 1) == "first" => return Some((2, 31)),
        _ => {}
    }
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending))?;
    digits.parse().ok().filter(|n| (1..=31).contains(n)).map(|n| (1, n))
}

fn month_named(word: &str) -> Option<i8> {
    const MONTHS: &[(&str, &str)] = &[
        ("january", "jan"),
        ("february", "feb"),
        ("march", "mar"),
        ("april", "apr"),
        ("may", "may"),
        ("june", "jun"),
        ("july", "jul"),
        ("august", "aug"),
        ("september", "sep"),
        ("october", "oct"),
        ("november", "nov"),
        ("december", "dec"),
    ];
    MONTHS.iter().position(|(full, short)| *full == word || *short == word).map(|i| i as i8 + 1)
}
