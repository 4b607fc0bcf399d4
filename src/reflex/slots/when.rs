//! Days and times put together: "next tuesday at 7", "tomorrow morning", "in 20 minutes", "half past six tonight".
//!
//! An hour of a twelve-hour dial ("at 7", "half past six") means:
//! - without a day, or with today: the next moment at which a dial shows it, so "at 7" said at 14:30 is 19:00;
//! - with a part of the day: the hour in that part ("seven in the evening" is 19:00);
//! - with any other day: 7 to 11 in the morning, 12 at noon, 1 to 6 in the afternoon.
//!
//! A time without a day that is past today means tomorrow. A part of the day alone stands for 8, 14, 19 or 20 o'clock.

use super::{
    clock::{Clock, clock, part_of_day},
    date::{Day, Part, Reach, Said, day, from_now},
};
use crate::sentence::Sentence;
use jiff::{
    ToSpan, Unit, Zoned,
    civil::{Date, DateTime, Time},
};

/// A moment or a stretch of days, in the household's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum When {
    Day(Date),
    At(DateTime),
    Week(Date),
    Month(Date),
    Year(Date),
}

impl When {
    /// As an argument: `2026-11-21` or `2026-11-21T19:00:00`.
    pub fn iso(self) -> String {
        match self {
            When::At(moment) => moment.to_string(),
            When::Day(day) | When::Week(day) | When::Month(day) | When::Year(day) => day.to_string(),
        }
    }
    /// For a reader: `2026-11-21 19:00`, `week of 2026-11-23`, `2026-12`, `2027`.
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

/// A phrase of time: its tokens, what it means, and whether it would mean something else on another day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Phrase {
    pub count: usize,
    pub when: When,
    pub relative: bool,
}

/// The longest phrase of time at `at`.
pub(crate) fn when(s: &Sentence, at: usize, now: &Zoned) -> Option<Phrase> {
    if let Some(written) = iso_moment(s.word(at)) {
        let moment: DateTime = written.to_uppercase().parse().ok()?;
        return Some(Phrase { count: 1, when: When::At(moment), relative: false });
    }
    if let Some(phrase) = soon(s, at, now) {
        return Some(phrase);
    }
    let (mut count, mut found) = (0, (None::<Day>, None::<Clock>, None::<Part>));
    loop {
        let next = at + count;
        let after_day = found.0.is_some();
        if let Some((n, d)) = found.0.is_none().then(|| day(s, next, now.date())).flatten() {
            (count, found.0, found.2) = (count + n, Some(d), found.2.or(d.part));
        } else if let Some((n, c)) = found.1.is_none().then(|| clock(s, next)).flatten() {
            (count, found.1) = (count + n, Some(c));
        } else if let Some((n, p)) = found.2.is_none().then(|| part_of_day(s, next, after_day)).flatten() {
            (count, found.2) = (count + n, Some(p));
        } else {
            break;
        }
    }
    let when = resolve(found.0, found.1, found.2, now)?;
    let relative = found.0.is_some_and(|d| d.said != Said::Calendar);
    Some(Phrase { count, when, relative })
}

/// The token of `2026-11-21T19:00`, which is in lower case by now.
fn iso_moment(word: &str) -> Option<&str> {
    (word.len() == 16 && word.as_bytes().get(10) == Some(&b't')).then_some(word)
}

/// "in 20 minutes", "an hour ago": a moment counted from now.
fn soon(s: &Sentence, at: usize, now: &Zoned) -> Option<Phrase> {
    let (count, span) = from_now(s, at)?;
    if span.get_hours() == 0 && span.get_minutes() == 0 && span.get_seconds() == 0 {
        return None;
    }
    let moment = now.checked_add(span).ok()?.datetime().round(Unit::Second).ok()?;
    Some(Phrase { count, when: When::At(moment), relative: true })
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
    let moment = match day {
        Some(day) if day.said == Said::Weekday && day.date.weekday() == today.weekday() => {
            next_today(clock, now).unwrap_or_else(|| day.date.to_datetime(by_custom(clock)))
        }
        Some(day) if day.date == today => next_today(clock, now).unwrap_or_else(|| today.to_datetime(afternoon(clock))),
        Some(day) => day.date.to_datetime(by_custom(clock)),
        None => match next_today(clock, now) {
            Some(moment) => moment,
            None => today.tomorrow().ok()?.to_datetime(clock.time),
        },
    };
    // "tonight at 2" is after midnight.
    let late = part == Some(Part::Night) && moment.hour() < 6;
    Some(When::At(if late { moment.checked_add(1.day()).ok()? } else { moment }))
}

/// An open hour within a part of the day.
fn in_part(clock: Clock, part: Option<Part>) -> Clock {
    let hour = clock.time.hour();
    match part.filter(|_| clock.dial) {
        None => clock,
        Some(Part::Morning) => Clock { dial: false, ..clock },
        Some(Part::Night) if (1..6).contains(&hour) => Clock { dial: false, ..clock },
        Some(Part::Night) if hour == 0 => Clock { dial: false, ..clock },
        Some(_) => Clock { time: afternoon(clock), dial: false },
    }
}

fn default_time(part: Part) -> Clock {
    let hour = match part {
        Part::Morning => 8,
        Part::Afternoon => 14,
        Part::Evening => 19,
        Part::Night => 20,
    };
    Clock { time: Time::constant(hour, 0, 0, 0), dial: false }
}

/// The time of the second half of the day.
fn afternoon(clock: Clock) -> Time {
    if !clock.dial {
        return clock.time;
    }
    clock.time.wrapping_add(12.hours())
}

/// What an open hour means on a day that is not today.
fn by_custom(clock: Clock) -> Time {
    if clock.dial && clock.time.hour() < 7 { afternoon(clock) } else { clock.time }
}

/// The next moment of today at which the time is shown.
fn next_today(clock: Clock, now: &Zoned) -> Option<DateTime> {
    let today = now.date();
    [clock.time, afternoon(clock)].into_iter().map(|t| today.to_datetime(t)).find(|moment| *moment > now.datetime())
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
            ("friday at 6 pm", "2026-11-20T18:00:00"),
            ("friday at 9 am", "2026-11-27T09:00:00"),
            ("next tuesday at 7", "2026-11-24T07:00:00"),
            ("tomorrow at 3", "2026-11-21T15:00:00"),
            ("tomorrow morning", "2026-11-21T08:00:00"),
            ("tomorrow morning at 7", "2026-11-21T07:00:00"),
            ("tomorrow evening at half past six", "2026-11-21T18:30:00"),
            ("tonight", "2026-11-20T20:00:00"),
            ("tonight at 2", "2026-11-21T02:00:00"),
            ("this evening", "2026-11-20T19:00:00"),
            ("at 7", "2026-11-20T19:00:00"),
            ("at 3", "2026-11-20T15:00:00"),
            ("at 2", "2026-11-21T02:00:00"),
            ("at 9 am", "2026-11-21T09:00:00"),
            ("at 07:00", "2026-11-21T07:00:00"),
            ("17:30", "2026-11-20T17:30:00"),
            ("at half past six", "2026-11-20T18:30:00"),
            ("quarter to nine", "2026-11-20T20:45:00"),
            ("ten past 3 pm", "2026-11-20T15:10:00"),
            ("seven in the evening", ""),
            ("at seven in the evening", "2026-11-20T19:00:00"),
            ("at six thirty", "2026-11-20T18:30:00"),
            ("noon", "2026-11-21T12:00:00"),
            ("at noon tomorrow", "2026-11-21T12:00:00"),
            ("at midnight", "2026-11-21T00:00:00"),
            ("in 20 minutes", "2026-11-20T14:50:00"),
            ("in an hour and a half", "2026-11-20T16:00:00"),
            ("an hour ago", "2026-11-20T13:30:00"),
            ("in 3 days", "2026-11-23"),
            ("in 3 days at 7 pm", "2026-11-23T19:00:00"),
            ("two weeks from now", "2026-12-04"),
            ("on 3 October", "2027-10-03"),
            ("3rd of October 2026", "2026-10-03"),
            ("the 4th of July", "2027-07-04"),
            ("December 24th at 6pm", "2026-12-24T18:00:00"),
            ("on the 4th", "2026-12-04"),
            ("on the twenty first", "2026-11-21"),
            ("21.12.2026", "2026-12-21"),
            ("3/10/2026", "2026-10-03"),
            ("12/24/2026", "2026-12-24"),
            ("2026-12-01", "2026-12-01"),
            ("2026-12-01T08:30", "2026-12-01T08:30:00"),
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
    fn the_whole_phrase_is_taken() {
        let count = |text| read(text, "2026-11-20T14:30[Europe/Vienna]").0;
        assert_eq!(count("tomorrow at 7 pm buy milk"), 4);
        assert_eq!(count("the 4th of july 2027 is a sunday"), 5);
        assert_eq!(count("tuesday it rains"), 1);
    }

    #[test]
    fn clocks_that_change_do_not_disturb() {
        // In the night to 2026-03-29 the hour from 2 to 3 is missing.
        assert_eq!(read("in 2 hours", "2026-03-29T01:30[Europe/Vienna]").1, "2026-03-29T04:30:00");
        assert_eq!(read("this weekend", "2026-11-22T09:00[Europe/Vienna]").1, "2026-11-22");
    }
}
