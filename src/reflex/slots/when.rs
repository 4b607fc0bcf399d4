//! Dates with times: "next tuesday at 7", "tomorrow morning", "in 20 minutes", "half past six tonight".
//!
//! An ambiguous hour ("at 7", "half past six") means:
//! - without a day, or today: its next occurrence, so "at 7" at 14:30 is 19:00, but by day none from 1 to 5 in the night;
//! - with a part of the day: the hour in that part ("seven in the evening" is 19:00);
//! - on any other day: 7 to 11 in the morning, 12 at noon, 1 to 6 in the afternoon.
//!
//! For waking somebody, 4 to 11 are in the morning. A past time without a day means tomorrow. A part of the day alone
//! stands for 8, 14, 19 or 20 o'clock.

use super::{
    clock::{Clock, clock, follows_day, of_night, part_of_day},
    date::{DateKind, Day, Part, Reach, day_in, from_now},
    duration, number,
};
use crate::sentence::Sentence;
use jiff::{
    Span, ToSpan, Unit, Zoned,
    civil::{Date, DateTime, Time},
};

/// A moment or a date range, in the household's time zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum When {
    Day(Date),
    At(DateTime),
    Week(Date),
    Month(Date),
    Year(Date),
}

impl When {
    /// As an argument: `2026-11-21` or `2026-11-21T19:00`, with seconds if not zero.
    pub fn iso(self) -> String {
        match self {
            When::At(moment) if moment.second() == 0 => moment.strftime("%Y-%m-%dT%H:%M").to_string(),
            When::At(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
            When::Day(day) | When::Week(day) | When::Month(day) | When::Year(day) => day.to_string(),
        }
    }
    /// For display: `2026-11-21 19:00`, `week of 2026-11-23`, `2026-12`, `2027`.
    pub fn label(self) -> String {
        match self {
            When::Day(day) => day.to_string(),
            When::At(moment) => moment.strftime("%Y-%m-%d %H:%M").to_string(),
            When::Week(day) => format!("week of {day}"),
            When::Month(day) => day.strftime("%Y-%m").to_string(),
            When::Year(day) => day.strftime("%Y").to_string(),
        }
    }
}

/// A time phrase: its tokens, its meaning, and whether that depends on the current day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Phrase {
    pub count: usize,
    pub when: When,
    pub relative: bool,
    /// Whether it names a day, a time of day, and a part of the day.
    pub has_day: bool,
    pub has_time: bool,
    pub has_part: bool,
    /// Its last day.
    pub last: Date,
}

/// How bare numbers are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Hours {
    /// A number alone is an hour.
    pub bare: bool,
    /// 4 to 11 are in the morning, for waking somebody.
    pub early: bool,
    /// A day of the month needs no "on": "the 24th".
    pub slot: bool,
}

impl Hours {
    /// The interpretation in a slot at `at`.
    pub fn before(s: &Sentence, at: usize) -> Self {
        const BEFORE: &[&str] = &["at", "for", "by", "until", "till", "to", "from", "around", "about"];
        let before = at > 0 && BEFORE.contains(&s.word(at - 1)) || s.word(at) == "at";
        let followed = number::whole(s, at).is_some_and(|(count, _)| {
            let next = at + count;
            part_of_day(s, next, false).is_some() || ["today", "tonight", "tomorrow"].contains(&s.word(next))
        });
        Self { bare: before || followed, early: false, slot: true }
    }
}

/// The longest time phrase at `at`, in any text.
pub(crate) fn when(s: &Sentence, at: usize, now: &Zoned) -> Option<Phrase> {
    spoken(s, at, now, Hours::default())
}

/// The longest time phrase at `at`.
pub(crate) fn spoken(s: &Sentence, at: usize, now: &Zoned, hours: Hours) -> Option<Phrase> {
    if let Some(serialize) = iso_moment(s.word(at)) {
        let moment: DateTime = serialize.to_uppercase().parse().ok()?;
        let (has_day, has_time, has_part) = (true, true, false);
        return Some(Phrase {
            count: 1,
            when: When::At(moment),
            relative: false,
            has_day,
            has_time,
            has_part,
            last: moment.date(),
        });
    }
    if let Some(phrase) = soon(s, at, now) {
        return Some(phrase);
    }
    let (count, parts) = parts(s, at, now, hours);
    let when = resolve(parts.day, parts.clock, parts.part, now)?;
    let relative = parts.day.is_some_and(|d| d.said != DateKind::Calendar);
    let last = match (when, parts.day) {
        (When::At(moment), _) => moment.date(),
        (_, Some(day)) => day.last,
        (When::Day(day) | When::Week(day) | When::Month(day) | When::Year(day), None) => day,
    };
    let (has_day, has_time, has_part) = (parts.day.is_some(), parts.clock.is_some(), parts.part.is_some());
    Some(Phrase { count, when, relative, has_day, has_time, has_part, last })
}

/// A future moment: a day alone means 9 o'clock, today 18 o'clock or, if past, an hour from now; "10 minutes" alone
/// counts from now.
pub(crate) fn future(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, DateTime)> {
    coming(s, at, now, Hours::before(s, at))
}

/// A future moment for waking somebody: any number is an early hour.
pub(crate) fn wake(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, DateTime)> {
    coming(s, at, now, Hours { bare: true, early: true, slot: true })
}

pub(crate) fn coming(s: &Sentence, at: usize, now: &Zoned, hours: Hours) -> Option<(usize, DateTime)> {
    let here = now.datetime();
    let Some(found) = spoken(s, at, now, hours) else {
        let (count, span) =
            in_minutes(s, at).or_else(|| duration::duration(s, at)).filter(|(count, _)| s.word(at + count) != "ago")?;
        let moment = now.checked_add(span).ok()?.datetime().round(Unit::Second).ok()?;
        return (moment > here).then_some((count, moment));
    };
    let moment = match found.when {
        When::At(moment) => moment,
        When::Day(day) if day == now.date() => {
            let evening = day.at(18, 0, 0, 0);
            if evening > here { evening } else { here.checked_add(1.hour()).ok()?.round(Unit::Minute).ok()? }
        }
        // Of a range in progress, the rest.
        When::Week(day) | When::Month(day) | When::Year(day) | When::Day(day) => {
            let first = if day < now.date() && found.last > now.date() { now.date().tomorrow().ok()? } else { day };
            first.at(9, 0, 0, 0)
        }
    };
    (moment > here).then_some((found.count, moment))
}

/// "in 20": minutes, if nothing follows that it could count.
pub(crate) fn in_minutes(s: &Sentence, at: usize) -> Option<(usize, Span)> {
    let (count, n) = number::whole(s, at + 1).filter(|(_, n)| s.word(at) == "in" && (2..100).contains(n))?;
    let next = at + 1 + count;
    let ends =
        s.tokens.get(next).is_none_or(|t| t.after_break) || ["to", "and", "that", "about"].contains(&s.word(next));
    ends.then(|| (1 + count, Span::new().minutes(n)))
}

/// A time of day: its next occurrence.
pub(crate) fn time(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, Time)> {
    let (count, parts) = parts(s, at, now, Hours::before(s, at));
    if parts.day.is_some() {
        return None;
    }
    match resolve(None, parts.clock, parts.part, now)? {
        When::At(moment) => Some((count, moment.time())),
        _ => None,
    }
}

/// The parts of a time phrase.
#[derive(Default)]
struct Parts {
    day: Option<Day>,
    clock: Option<Clock>,
    part: Option<Part>,
}

fn parts(s: &Sentence, at: usize, now: &Zoned, hours: Hours) -> (usize, Parts) {
    let (mut count, mut found) = (0, Parts::default());
    loop {
        let next = at + count;
        let after_day = found.day.is_some();
        if let Some((n, d)) = found.day.is_none().then(|| day_in(s, next, now.date(), hours.slot)).flatten() {
            (count, found.day, found.part) = (count + n, Some(d), found.part.or(d.part));
        } else if let Some((n, c)) = found
            .clock
            .is_none()
            .then(|| clock(s, next, hours.bare && count == 0 || after_day && follows_day(s, next)))
            .flatten()
        {
            (count, found.clock) = (count + n, Some(c));
        } else if let Some((n, p)) = found.part.is_none().then(|| part_of_day(s, next, after_day)).flatten() {
            (count, found.part) = (count + n, Some(p));
        } else if let Some((n, p)) = found.clock.filter(|_| found.part.is_none()).and_then(|_| of_night(s, next)) {
            (count, found.part) = (count + n, Some(p));
        } else {
            break;
        }
    }
    let nap = found.day.is_none() && found.part.is_none() && found.clock.is_some_and(|clock| is_nap(clock, now));
    if let Some(clock) =
        found.clock.as_mut().filter(|c| hours.early && !nap && found.part.is_none() && c.dial && c.time.hour() > 3)
    {
        clock.dial = false;
    }
    (count, found)
}

/// Whether somebody who says "wake me at ten past four" at half past two lies down for a nap.
fn is_nap(clock: Clock, now: &Zoned) -> bool {
    let until = afternoon(clock).duration_since(now.time());
    (4..6).contains(&clock.time.hour()) && until.is_positive() && until.as_hours() < 3
}

/// A token such as `2026-11-21t19:00`, in lower case.
fn iso_moment(word: &str) -> Option<&str> {
    (word.len() == 16 && word.as_bytes().get(10) == Some(&b't')).then_some(word)
}

/// "in 20 minutes", "an hour ago": relative to now.
fn soon(s: &Sentence, at: usize, now: &Zoned) -> Option<Phrase> {
    let (count, span) = from_now(s, at)?;
    if span.get_hours() == 0 && span.get_minutes() == 0 && span.get_seconds() == 0 {
        return None;
    }
    let moment = now.checked_add(span).ok()?.datetime().round(Unit::Second).ok()?;
    let when = When::At(moment);
    Some(Phrase { count, when, relative: true, has_day: true, has_time: true, has_part: false, last: moment.date() })
}

fn resolve(day: Option<Day>, clock: Option<Clock>, part: Option<Part>, now: &Zoned) -> Option<When> {
    let Some(clock) = clock.map(|c| in_part(c, part)).or_else(|| part.map(default_time)) else {
        let day = day?;
        return Some(match day.reach {
            Reach::Day => When::Day(day.date),
            Reach::Week => When::Week(day.date),
            Reach::Month => When::Month(day.date),
            Reach::Year => When::Year(day.date),
        });
    };
    let today = now.date();
    if let Some(day) = day.filter(|_| clock.ends_day) {
        let same = day.said == DateKind::Weekday && day.date.weekday() == today.weekday();
        let date = if same { today } else { day.date };
        return Some(When::At(date.tomorrow().ok()?.to_datetime(clock.time)));
    }
    let moment = match day {
        Some(day) if day.said == DateKind::Weekday && day.date.weekday() == today.weekday() => {
            next_today(clock, now).unwrap_or_else(|| day.date.to_datetime(default_reading(clock)))
        }
        Some(day) if day.date == today => next_today(clock, now).unwrap_or_else(|| today.to_datetime(afternoon(clock))),
        Some(day) => day.date.to_datetime(default_reading(clock)),
        None => match next_today(clock, now) {
            Some(moment) => moment,
            None => {
                today.tomorrow().ok()?.to_datetime(if is_asleep(clock, now) { afternoon(clock) } else { clock.time })
            }
        },
    };
    // "tonight at 2" is after midnight.
    let late = part == Some(Part::Night)
        && moment.hour() < 6
        && day.is_some_and(|day| day.date != today || moment <= now.datetime());
    Some(When::At(if late { moment.checked_add(1.day()).ok()? } else { moment }))
}

/// An ambiguous hour within a part of the day.
fn in_part(clock: Clock, part: Option<Part>) -> Clock {
    let hour = clock.time.hour();
    match part.filter(|_| clock.dial) {
        None => clock,
        Some(Part::Morning) => Clock { dial: false, ..clock },
        Some(Part::Night) if (1..6).contains(&hour) => Clock { dial: false, ..clock },
        Some(Part::Night) if hour == 0 => Clock { dial: false, ..clock },
        Some(_) => Clock { time: afternoon(clock), dial: false, ..clock },
    }
}

pub(crate) fn default_time(part: Part) -> Clock {
    let hour = match part {
        Part::Morning => 8,
        Part::Afternoon => 14,
        Part::Evening => 19,
        Part::Night => 20,
    };
    Clock::exact(Time::constant(hour, 0, 0, 0))
}

/// The afternoon reading.
fn afternoon(clock: Clock) -> Time {
    if !clock.dial {
        return clock.time;
    }
    clock.time.wrapping_add(12.hours())
}

/// An ambiguous hour on another day than today.
fn default_reading(clock: Clock) -> Time {
    if clock.dial && clock.time.hour() < 7 { afternoon(clock) } else { clock.time }
}

/// The next occurrence of the time today.
fn next_today(clock: Clock, now: &Zoned) -> Option<DateTime> {
    let today = now.date();
    let first = if is_asleep(clock, now) { afternoon(clock) } else { clock.time };
    [first, afternoon(clock)].into_iter().map(|t| today.to_datetime(t)).find(|moment| *moment > now.datetime())
}

/// Whether an ambiguous hour has nobody up who says it by day: "lunch at 1" is 13:00, also at 14:30 of the day before.
fn is_asleep(clock: Clock, now: &Zoned) -> bool {
    clock.dial && (1..6).contains(&clock.time.hour()) && (5..21).contains(&now.hour())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, now: &str) -> (usize, String) {
        let now: Zoned = now.parse().unwrap();
        when(&Sentence::read(text), 0, &now).map_or((0, String::new()), |p| (p.count, p.when.iso()))
    }

    #[test]
    fn phrases_of_time_are_read() {
        // Friday 2026-11-20 14:30.
        for (text, wanted) in [
            ("tomorrow", "2026-11-21"),
            ("the day after tomorrow", "2026-11-22"),
            ("today", "2026-11-20"),
            ("tuesday", "2026-11-24"),
            ("next tuesday", "2026-11-24"),
            ("next saturday", "2026-11-28"),
            ("this saturday", "2026-11-21"),
            ("last monday", "2026-11-16"),
            ("friday", "2026-11-27"),
            ("friday at 6 pm", "2026-11-20T18:00"),
            ("friday at 9 am", "2026-11-27T09:00"),
            ("next tuesday at 7", "2026-11-24T07:00"),
            ("tomorrow at 3", "2026-11-21T15:00"),
            ("tomorrow morning", "2026-11-21T08:00"),
            ("tomorrow morning at 7", "2026-11-21T07:00"),
            ("tomorrow evening at half past six", "2026-11-21T18:30"),
            ("tonight", "2026-11-20T20:00"),
            ("tonight at 2", "2026-11-21T02:00"),
            ("this evening", "2026-11-20T19:00"),
            ("at 7", "2026-11-20T19:00"),
            ("at 3", "2026-11-20T15:00"),
            ("at 2", "2026-11-21T14:00"),
            ("at 1", "2026-11-21T13:00"),
            ("on the first monday of the month", "2026-12-07"),
            ("the last friday of this month at 3", "2026-11-27T15:00"),
            ("the second tuesday in january", "2027-01-12"),
            ("at 9 am", "2026-11-21T09:00"),
            ("at 07:00", "2026-11-21T07:00"),
            ("17:30", "2026-11-20T17:30"),
            ("at half past six", "2026-11-20T18:30"),
            ("quarter to nine", "2026-11-20T20:45"),
            ("ten past 3 pm", "2026-11-20T15:10"),
            ("seven in the evening", ""),
            ("at seven in the evening", "2026-11-20T19:00"),
            ("at six thirty", "2026-11-20T18:30"),
            ("noon", "2026-11-21T12:00"),
            ("at noon tomorrow", "2026-11-21T12:00"),
            ("at midnight", "2026-11-21T00:00"),
            ("at midnight tonight", "2026-11-21T00:00"),
            ("at midnight on friday", "2026-11-21T00:00"),
            ("on saturday at midnight", "2026-11-22T00:00"),
            ("new year's eve at midnight", "2027-01-01T00:00"),
            ("on saturday at 12 am", "2026-11-21T00:00"),
            ("at 3 in the night", "2026-11-21T03:00"),
            ("at 3 at night", "2026-11-21T03:00"),
            ("at 2 in the early hours", "2026-11-21T02:00"),
            ("on saturday at 2 at night", "2026-11-22T02:00"),
            ("at 20", "2026-11-20T20:00"),
            ("at 2030", "2026-11-20T20:30"),
            ("at 730", "2026-11-20T19:30"),
            ("at 7 30 pm", "2026-11-20T19:30"),
            ("730pm", "2026-11-20T19:30"),
            ("quarter to 7 tomorrow evening", "2026-11-21T18:45"),
            ("in 20 minutes", "2026-11-20T14:50"),
            ("in an hour and a half", "2026-11-20T16:00"),
            ("an hour ago", "2026-11-20T13:30"),
            ("in 3 days", "2026-11-23"),
            ("in 3 days at 7 pm", "2026-11-23T19:00"),
            ("two weeks from now", "2026-12-04"),
            ("on 3 October", "2027-10-03"),
            ("3rd of October 2026", "2026-10-03"),
            ("the 4th of July", "2027-07-04"),
            ("December 24th at 6pm", "2026-12-24T18:00"),
            ("on the 4th", "2026-12-04"),
            ("on the twenty first", "2026-11-21"),
            ("21.12.2026", "2026-12-21"),
            ("3/10/2026", "2026-10-03"),
            ("12/24/2026", "2026-12-24"),
            ("2026-12-01", "2026-12-01"),
            ("2026-12-01T08:30", "2026-12-01T08:30"),
            ("christmas eve", "2026-12-24"),
            ("this weekend", "2026-11-21"),
            ("next weekend", "2026-11-28"),
            ("next week", "2026-11-23"),
            ("next month", "2026-12-01"),
            ("next year", "2027-01-01"),
            ("7", ""),
            ("may", ""),
            ("sun", ""),
            ("at the gate", ""),
            ("31 february", ""),
            ("in the house", ""),
        ] {
            assert_eq!(read(text, "2026-11-20T14:30[Europe/Vienna]").1, wanted, "{text}");
        }
    }

    #[test]
    fn what_is_to_come_has_a_time() {
        // Friday 2026-11-20 14:30.
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (text, at, wanted) in [
            ("remind me tomorrow", 2, Some((1, "2026-11-21T09:00"))),
            ("remind me today", 2, Some((1, "2026-11-20T18:00"))),
            ("remind me tonight", 2, Some((1, "2026-11-20T20:00"))),
            ("remind me next week", 2, Some((2, "2026-11-23T09:00"))),
            ("remind me this week", 2, Some((2, "2026-11-21T09:00"))),
            ("remind me at 7 on friday", 2, Some((4, "2026-11-20T19:00"))),
            ("remind me on friday at 7 in the morning", 2, Some((7, "2026-11-27T07:00"))),
            ("remind me in the evening", 2, Some((3, "2026-11-20T19:00"))),
            ("remind me on monday morning", 2, Some((3, "2026-11-23T08:00"))),
            ("remind me seven in the evening", 2, Some((4, "2026-11-20T19:00"))),
            ("remind me at half six", 2, Some((3, "2026-11-20T18:30"))),
            ("timer for 10 minutes", 2, Some((2, "2026-11-20T14:40"))),
            ("a 90-second timer", 1, Some((2, "2026-11-20T14:31:30"))),
            ("10 minutes ago", 0, None),
            ("remind me in 90 seconds", 2, Some((3, "2026-11-20T14:31:30"))),
            ("remind me in 20 minutes", 2, Some((3, "2026-11-20T14:50"))),
            ("remind me yesterday", 2, None),
            ("remind me last monday at 7", 2, None),
            ("remind me on 3 October", 2, Some((3, "2027-10-03T09:00"))),
        ] {
            let got = future(&Sentence::whole(text), at, &now).map(|(count, moment)| (count, When::At(moment).iso()));
            assert_eq!(got, wanted.map(|(count, moment)| (count, moment.to_owned())), "{text}");
        }
        for (text, at, wanted) in [
            ("wake me at 6:30", 2, "2026-11-21T06:30"),
            ("wake me tomorrow at 5", 2, "2026-11-21T05:00"),
            ("wake me at 3", 2, "2026-11-20T15:00"),
            ("wake me at ten past four", 2, "2026-11-20T16:10"),
            ("wake me at 4 am", 2, "2026-11-21T04:00"),
            ("wake me at 6", 2, "2026-11-21T06:00"),
            ("wake me at ten past four tomorrow", 2, "2026-11-21T04:10"),
            ("wake me at 3 in the night", 2, "2026-11-21T03:00"),
            ("wake me at 5 this afternoon", 2, "2026-11-20T17:00"),
            ("set an alarm for 7", 4, "2026-11-21T07:00"),
            ("6 30 alarm", 0, "2026-11-21T06:00"),
            ("wake me in 20 minutes", 2, "2026-11-20T14:50"),
        ] {
            let got = wake(&Sentence::whole(text), at, &now).map(|(_, moment)| When::At(moment).iso());
            assert_eq!(got.as_deref(), Some(wanted), "{text}");
        }
        for (text, wanted) in [
            ("7pm", Some("19:00:00")),
            ("half past six", Some("18:30:00")),
            ("19:30", Some("19:30:00")),
            ("noon", Some("12:00:00")),
            ("in the evening", Some("19:00:00")),
            ("tomorrow", None),
            ("tomorrow at 7", None),
            ("the evening", None),
        ] {
            let got = time(&Sentence::whole(text), 0, &now).map(|(_, time)| time.to_string());
            assert_eq!(got.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn the_whole_phrase_is_taken() {
        let count = |text| read(text, "2026-11-20T14:30[Europe/Vienna]").0;
        assert_eq!(count("tomorrow at 7 pm buy milk"), 4);
        assert_eq!(count("the 4th of july 2027 is a sunday"), 5);
        assert_eq!(count("tuesday it rains"), 1);
    }

    #[test]
    fn clocks_that_change_do_not_disturb() {
        // In the night to 2026-03-29 the hour from 2 to 3 is skipped.
        assert_eq!(read("in 2 hours", "2026-03-29T01:30[Europe/Vienna]").1, "2026-03-29T04:30");
        assert_eq!(read("this weekend", "2026-11-22T09:00[Europe/Vienna]").1, "2026-11-22");
    }
}
