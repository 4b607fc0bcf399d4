//! Times of day: "at 7", "7 pm", "17:30", "half past six", "quarter to nine", "noon", "six thirty".

use super::{
    calendar::month_named,
    date::{Part, part_named},
    duration, number,
};
use crate::sentence::Sentence;
use jiff::civil::Time;

/// A time of day as spoken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    pub time: Time,
    /// Whether it is ambiguous between morning and afternoon: the hour is on a twelve-hour clock, 12 as 0.
    pub dial: bool,
    /// Whether it was called midnight: the one that ends the day it is said with.
    pub ends_day: bool,
}

impl Clock {
    pub(super) fn exact(time: Time) -> Self {
        Self { time, dial: false, ends_day: false }
    }

    fn midnight() -> Self {
        Self { ends_day: true, ..Self::exact(Time::MIN) }
    }
}

/// Prepositions before a time.
const LEADS: [&str; 6] = ["at", "by", "around", "before", "after", "until"];

/// A time at `at` and its number of tokens. A bare number counts only after "at", or with `bare`.
pub(crate) fn clock(s: &Sentence, at: usize, bare: bool) -> Option<(usize, Clock)> {
    let lead = usize::from(LEADS.contains(&s.word(at)));
    // "at about six"
    let lead =
        lead + usize::from(lead > 0 && ["about", "around", "roughly", "exactly", "say"].contains(&s.word(at + 1)));
    let begin = at + lead;
    let exact = |count, hour| Some((lead + count, Clock::exact(Time::new(hour, 0, 0, 0).ok()?)));
    match s.word(begin) {
        "noon" | "midday" | "lunchtime" => return exact(1, 12),
        "midnight" => return Some((lead + 1, Clock::midnight())),
        "teatime" => return exact(1, 17),
        "bedtime" if lead > 0 => return exact(1, 21),
        _ => {}
    }
    let (count, hour, minute, marked) =
        past_or_to(s, begin).or_else(|| half_hour(s, begin)).or_else(|| hour_and_minute(s, begin))?;
    let after = begin + count;
    let (suffix, half) = half_of_day(s, after);
    let oclock = usize::from(suffix == 0 && ["o'clock", "oclock"].contains(&s.word(after)));
    let alone = bare && minute < 60 && duration::duration(s, begin).is_none();
    if !(marked || suffix > 0 || oclock > 0 || s.word(at) == "at" || alone) {
        return None;
    }
    let end = begin + count + suffix + oclock;
    let loosely = match (s.word(end), s.word(end + 1), s.word(end + 2)) {
        ("ish" | "sharp" | "prompt" | "precisely" | "thereabouts", ..) => 1,
        ("or", "so" | "thereabouts", _) => 2,
        ("on", "the", "dot") => 3,
        _ => 0,
    };
    let count = lead + count + suffix + oclock + loosely;
    clock_at(hour, minute, half).map(|clock| (count, clock))
}

/// An hour as in "from 6 to 8 pm", where "6 to 8" is no time: number of tokens and time.
pub(crate) fn hour(s: &Sentence, at: usize) -> Option<(usize, Clock)> {
    match s.word(at) {
        "noon" | "midday" => return Some((1, Clock::exact(Time::constant(12, 0, 0, 0)))),
        "midnight" => return Some((1, Clock::midnight())),
        "half" | "quarter" => {
            let (count, hour, minute, _) = past_or_to(s, at).or_else(|| half_hour(s, at))?;
            return clock_at(hour, minute, None).map(|clock| (count, clock));
        }
        _ => {}
    }
    let (count, hour, minute, _) = hour_and_minute(s, at)?;
    // "7 pm until 15 december"
    if month_named(s.word(at + count)).is_some() {
        return None;
    }
    let (suffix, half) = half_of_day(s, at + count);
    clock_at(hour, minute, half).map(|clock| (count + suffix, clock))
}

/// Interprets the hour: twelve-hour clock unless it can only be one of 24, or half a day is given.
fn clock_at(hour: Hour, minute: i8, half: Option<bool>) -> Option<Clock> {
    let Hour { hour, exact } = hour;
    let (hour, dial) = match half {
        Some(_) if hour > 12 => (hour, false),
        Some(afternoon) => (hour % 12 + if afternoon { 12 } else { 0 }, false),
        None if exact || hour == 0 || hour > 12 => (hour, false),
        None => (hour % 12, true),
    };
    Some(Clock { dial, ..Clock::exact(Time::new(hour, minute, 0, 0).ok()?) })
}

/// An hour; exact if written as one of 24 ("07:00").
#[derive(Clone, Copy)]
struct Hour {
    hour: i8,
    exact: bool,
}

/// "am", "pm", "a.m.": number of tokens, and whether it is the afternoon.
fn half_of_day(s: &Sentence, at: usize) -> (usize, Option<bool>) {
    match (s.word(at), s.word(at + 1)) {
        ("am", _) => (1, Some(false)),
        ("pm", _) => (1, Some(true)),
        ("a", "m") => (2, Some(false)),
        ("p", "m") => (2, Some(true)),
        _ => (0, None),
    }
}

/// "half past six", "ten past 6", "quarter to nine".
fn past_or_to(s: &Sentence, at: usize) -> Option<(usize, Hour, i8, bool)> {
    let a = usize::from(s.word(at) == "a");
    let (count, minutes) = match s.word(at + a) {
        "half" => (1, 30),
        "quarter" => (1, 15),
        _ => number::whole(s, at + a).filter(|(_, n)| (1..60).contains(n)).map(|(c, n)| (c, n as i8))?,
    };
    let unit = usize::from(["minutes", "minute"].contains(&s.word(at + a + count)));
    // "3 to 4" lasts an hour; nobody says three minutes to four so.
    if unit == 0 && minutes < 13 && minutes % 5 != 0 && s.word(at + a + count) == "to" {
        return None;
    }
    let to = match s.word(at + a + count + unit) {
        "past" | "after" => false,
        "to" | "before" => true,
        // "a quarter of ten"
        "of" if minutes == 15 && number::whole(s, at + a + count + unit + 1).is_some_and(|(_, n)| n < 13) => true,
        _ => return None,
    };
    let begin = at + a + count + unit + 1;
    let (taken, hour) = match s.word(begin) {
        "noon" | "midday" => (1, 12),
        "midnight" => (1, 0),
        _ => number::whole(s, begin).filter(|(_, n)| *n < 24).map(|(c, n)| (c, n as i8))?,
    };
    let count = a + count + unit + 1 + taken;
    let (hour, minute) = if to { ((hour + 23) % 24, 60 - minutes) } else { (hour, minutes) };
    // A quarter to one is a quarter past twelve on a twelve-hour clock, not past midnight.
    let hour = if to && hour == 0 { 12 } else { hour };
    Some((count, Hour { hour, exact: false }, minute, true))
}

/// "half six" is half past six.
fn half_hour(s: &Sentence, at: usize) -> Option<(usize, Hour, i8, bool)> {
    let (count, hour) = number::whole(s, at + 1).filter(|(_, n)| s.word(at) == "half" && (1..13).contains(n))?;
    let marked = duration::duration(s, at + 1).is_none();
    Some((1 + count, Hour { hour: hour as i8, exact: false }, 30, marked))
}

/// Whether the bare number at `at`, behind a day, is an hour: "saturday 9", "12 dec 7.30", "weekdays 0845".
pub(crate) fn follows_day(s: &Sentence, at: usize) -> bool {
    let word = s.word(at);
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let dotted = word.split_once('.').is_some_and(|(h, m)| h.len() <= 2 && m.len() == 2 && digits(h) && digits(m));
    if dotted || four_digits(word).is_some() {
        return true;
    }
    // "the saturday one"
    if word == "one" {
        return false;
    }
    let Some((count, _)) = number::whole(s, at).filter(|(_, n)| (1..13).contains(n)) else { return false };
    let next = at + count;
    s.tokens.get(next).is_none_or(|token| token.after_break) || ["until", "till", "for", "at"].contains(&s.word(next))
}

/// "0845": the hour and the minute.
fn four_digits(word: &str) -> Option<(i8, i8)> {
    let all = word.len() == 4 && word.chars().all(|c| c.is_ascii_digit());
    let (hour, minute) = all.then(|| (word[..2].parse().ok(), word[2..].parse().ok()))?;
    Some((hour.filter(|hour| *hour < 24)?, minute.filter(|minute| *minute < 60)?))
}

/// "730pm", "at 730"; other numbers of three digits are no times.
fn three_digits(s: &Sentence, at: usize) -> Option<(i8, i8)> {
    let word = s.word(at);
    let all = word.len() == 3 && word.chars().all(|c| c.is_ascii_digit());
    let (hour, minute): (i8, i8) =
        all.then(|| (word[..1].parse().ok(), word[1..].parse().ok())).and_then(|(h, m)| Some((h?, m?)))?;
    let halved = ["am", "pm"].contains(&s.word(at + 1));
    let led = s.word(at.wrapping_sub(1)) == "at" && [15, 30, 45].contains(&minute);
    (hour > 0 && minute < 60 && (halved || led)).then_some((hour, minute))
}

/// "7", "17:30", "six thirty", "7.30 pm"; the last value is whether its form alone marks a time.
fn hour_and_minute(s: &Sentence, at: usize) -> Option<(usize, Hour, i8, bool)> {
    let word = s.word(at);
    if let Some((hour, minute)) = word.split_once(':') {
        let exact = hour.len() == 2 && hour.starts_with('0');
        let minute = minute.get(..2)?.parse().ok()?;
        return Some((1, Hour { hour: hour.parse().ok()?, exact }, minute, true));
    }
    // "2026" is a year.
    if let Some((hour, minute)) =
        four_digits(word).filter(|(hour, _)| !(19..=20).contains(hour) || s.word(at.wrapping_sub(1)) == "at")
    {
        return Some((1, Hour { hour, exact: hour == 0 || word.starts_with('0') }, minute, false));
    }
    if let Some((hour, minute)) = three_digits(s, at) {
        return Some((1, Hour { hour, exact: false }, minute, false));
    }
    let dotted = word.split_once('.').filter(|(h, m)| h.len() <= 2 && m.len() == 2);
    if let Some((hour, minute)) = dotted {
        let minute = minute.parse().ok().filter(|m| *m < 60)?;
        return Some((1, Hour { hour: hour.parse().ok()?, exact: false }, minute, false));
    }
    let (count, hour) = number::whole(s, at).filter(|(_, n)| *n < 24)?;
    let hour = Hour { hour: hour as i8, exact: false };
    let spelled = !word.starts_with(|c: char| c.is_ascii_digit());
    // "7 30 pm"
    let halved = || ["am", "pm"].contains(&s.word(at + count + 1));
    match number::whole(s, at + count).filter(|(_, m)| (spelled || halved()) && (10..60).contains(m)) {
        Some((more, minute)) => Some((count + more, hour, minute as i8, false)),
        None => Some((count, hour, 0, false)),
    }
}

/// "in the morning", "at night"; directly after a day also "morning" alone.
pub(crate) fn part_of_day(s: &Sentence, at: usize, after_day: bool) -> Option<(usize, Part)> {
    if s.has(at, &["in", "the"]) {
        return part_named(s.word(at + 2)).filter(|p| *p != Part::Night).map(|p| (3, p));
    }
    if s.has(at, &["at", "night"]) {
        return Some((2, Part::Night));
    }
    part_named(s.word(at)).filter(|_| after_day).map(|p| (1, p))
}

/// "in the night", "in the small hours" after a time of day: number of tokens and the part.
pub(super) fn of_night(s: &Sentence, at: usize) -> Option<(usize, Part)> {
    const NIGHTS: &[&[&str]] = &[
        &["in", "the", "middle", "of", "the", "night"],
        &["in", "the", "early", "hours", "of", "the", "morning"],
        &["in", "the", "early", "hours"],
        &["in", "the", "small", "hours"],
        &["in", "the", "wee", "hours"],
        &["in", "the", "night"],
        &["during", "the", "night"],
        &["of", "the", "night"],
    ];
    NIGHTS.iter().find(|words| s.has(at, words)).map(|words| (words.len(), Part::Night))
}
