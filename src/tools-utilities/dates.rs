//! Date arithmetic: difference, addition and formatting.

mod add;
mod diff;
mod format;

pub(crate) use add::add;
pub(crate) use diff::diff;
pub(crate) use format::format;

use crate::words::words;
use jiff::{Timestamp, Zoned, civil::Date, civil::Weekday};
use tool::{Cx, Error, Result, When};

words! {
    /// A unit of time.
    Unit {
        Years = "years" | "year",
        Months = "months" | "month",
        Weeks = "weeks" | "week",
        Days = "days" | "day",
        Weekdays = "weekdays" | "business_days",
        Hours = "hours" | "hour",
        Minutes = "minutes" | "minute",
        Seconds = "seconds" | "second",
    }
}

/// Parse a date argument: ISO 8601, the words `now`, `today`, `tomorrow` and `yesterday`, or a Unix time.
///
/// # Errors
/// `BadArgs` with the accepted formats.
fn moment(text: &str, cx: &Cx) -> Result<When> {
    let clock = &cx.ports().clock;
    let day = |days: i64| {
        let day = clock.local().date().checked_add(jiff::Span::new().days(days));
        day.map(When::Day).map_err(|_| Error::bad_args("this day is beyond the calendar"))
    };
    match text.trim().to_lowercase().as_str() {
        "now" => Ok(When::At(clock.local())),
        "today" => day(0),
        "tomorrow" => day(1),
        "yesterday" => day(-1),
        digits if (9..=14).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let number: i64 = digits.parse().unwrap_or_default();
            // Eleven digits of seconds last until the year 5138; longer numbers are milliseconds.
            let at =
                if digits.len() < 12 { Timestamp::from_second(number) } else { Timestamp::from_millisecond(number) };
            at.map(|at| When::At(at.to_zoned(clock.zone())))
                .map_err(|_| Error::bad_args("this time is beyond the calendar"))
        }
        _ => When::read(text, &clock.zone()),
    }
}

/// `20 November 2026`, with a time if there is one: `20 November 2026 at 14:30`.
fn spoken(when: &When) -> String {
    let day = when.day();
    let date = format!("{} {}", day.day(), day.strftime("%B %Y"));
    match when {
        When::Day(_) => date,
        When::At(at) => format!("{date} at {}", at.strftime("%H:%M")),
    }
}

fn weekday(day: Date) -> &'static str {
    crate::time::day_name(day.weekday())
}

/// The number of weekdays from one day until before another; negative backwards.
fn weekdays(from: Date, to: Date) -> i64 {
    if to < from {
        return -weekdays(to, from);
    }
    // Five per week since a Monday, and the weekdays of the current week.
    let monday = Date::constant(1970, 1, 5);
    let gone = |day: Date| {
        let days = i64::from((day - monday).get_days());
        days.div_euclid(7) * 5 + days.rem_euclid(7).min(5)
    };
    gone(to) - gone(from)
}

fn is_weekend(day: Date) -> bool {
    matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// The start of two dates for a comparison; two days without a time are compared in UTC, where each has 24 hours.
fn both(a: &When, b: &When, cx: &Cx) -> Result<(Zoned, Zoned)> {
    let zone = cx.ports().clock.zone();
    let zone = if matches!((a, b), (When::Day(_), When::Day(_))) { jiff::tz::TimeZone::UTC } else { zone };
    let a = a.start(&zone)?;
    let b = b.start(&zone)?.with_time_zone(a.time_zone().clone());
    Ok((a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cx;
    use jiff::ToSpan;

    #[test]
    fn moments_are_read_in_words_too() {
        for (text, wanted) in [
            ("now", "2026-11-20T14:30:00+01:00"),
            (" Today", "2026-11-20"),
            ("tomorrow", "2026-11-21"),
            ("YESTERDAY", "2026-11-19"),
            ("2026-11-20", "2026-11-20"),
            ("20261120", "2026-11-20"),
            ("1795181400", "2026-11-20T14:30:00+01:00"),
            ("1795181400000", "2026-11-20T14:30:00+01:00"),
        ] {
            assert_eq!(moment(text, &cx()).unwrap().to_string(), wanted, "{text}");
        }
        for text in ["", "soon", "2026-02-30", "٢٠٢٦-١١-٢٠", "999999999999999"] {
            assert!(matches!(moment(text, &cx()), Err(Error::BadArgs(_))), "{text}");
        }
    }

    #[test]
    fn weekdays_are_counted_as_one_would_by_hand() {
        let start = Date::constant(1969, 12, 20);
        for from in 0..16_i64 {
            let from = start + from.days();
            for days in 0..40_i64 {
                let by_hand = (0..days).filter(|d| !is_weekend(from + d.days())).count() as i64;
                let to = from + days.days();
                assert_eq!((weekdays(from, to), weekdays(to, from)), (by_hand, -by_hand), "{from} {to}");
            }
        }
    }
}
