//! Format a date.

use super::{moment, weekday};
use crate::{time::zone, words::words};
use jiff::{Timestamp, Unit as Part, Zoned, fmt::rfc2822, fmt::strtime};
use text_kit::counted;
use tool::{When, prelude::*};

/// The maximum length of a pattern, in characters.
const PATTERN: usize = 200;

words! {
    /// The named formats.
    Named {
        Iso = "iso" | "iso8601",
        Date = "date",
        Time = "time",
        Short = "short" | "medium",
        Long = "long" | "full",
        Relative = "relative",
        Unix = "unix" | "timestamp",
        Rfc2822 = "rfc2822" | "email",
    }
}

words! {
    /// The locale, which decides the order of day and month.
    Locale { Gb = "en-GB" | "en", Us = "en-US" }
}

/// Format a date: for people, for programs, or relative to now ("in 3 days").
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    /// Date: 2026-11-20, 2026-11-20T14:30, a Unix time, now, today, tomorrow or yesterday.
    date: String,
    /// iso, date, time, short, long (default), relative, unix, rfc2822, or a pattern such as "%d.%m.%Y" or
    /// "DD.MM.YYYY".
    format: Option<String>,
    /// IANA time zone such as Europe/Vienna, or just its city. Default: the date's own.
    timezone: Option<String>,
    /// Locale for the order of day and month in the formats short and long (default: en-GB).
    locale: Option<Locale>,
}

pub(crate) async fn format(_: (), cx: Cx, args: Format) -> Result<Output> {
    let mut when = moment(&args.date, &cx)?;
    if let Some(name) = args.timezone.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        let zone = zone(name)?;
        // A date without time is the same everywhere.
        if let When::At(at) = when {
            when = When::At(at.with_time_zone(zone));
        }
    }
    let asked = args.format.as_deref().map(str::trim).filter(|f| !f.is_empty()).unwrap_or("long");
    let locale = args.locale.unwrap_or(Locale::Gb);
    let start = when.start(&cx.ports().clock.zone())?;
    let formatted = match named(asked) {
        Some(form) => written(form, &when, &start, locale, &cx)?,
        None => pattern(asked, &start)?,
    };
    let answer = json!({
        "formatted": formatted,
        "date": when.to_string(),
        "format": asked,
        "timezone": start.time_zone().iana_name().map_or_else(|| start.offset().to_string(), str::to_owned),
        "dayOfWeek": weekday(when.day()),
    });
    Ok(Output::json(answer)?.say(formatted))
}

fn named(asked: &str) -> Option<Named> {
    crate::words::choose(Named::WORDS, asked)
}

fn written(form: Named, when: &When, start: &Zoned, locale: Locale, cx: &Cx) -> Result<String> {
    let is_day = matches!(when, When::Day(_));
    let us = locale == Locale::Us;
    let clock = if us { start.strftime("%-I:%M %p") } else { start.strftime("%H:%M") };
    let with_time = |date: String, joint: &str| if is_day { date } else { format!("{date}{joint}{clock}") };
    Ok(match form {
        Named::Iso => when.to_string(),
        Named::Date => start.strftime("%Y-%m-%d").to_string(),
        Named::Time => clock.to_string(),
        Named::Short => with_time(start.strftime(if us { "%b %-d, %Y" } else { "%-d %b %Y" }).to_string(), ", "),
        Named::Long => {
            with_time(start.strftime(if us { "%A, %B %-d, %Y" } else { "%A, %-d %B %Y" }).to_string(), " at ")
        }
        Named::Relative => relative(when, cx)?,
        Named::Unix => start.timestamp().as_second().to_string(),
        Named::Rfc2822 => {
            rfc2822::to_string(start).map_err(|_| Error::bad_args("RFC 2822 has no dates before the year 0"))?
        }
    })
}

/// Format by a pattern of strftime or of letters.
fn pattern(asked: &str, start: &Zoned) -> Result<String> {
    let short = asked.chars().count() <= PATTERN;
    let of_letters = || letters(asked).filter(|pattern| pattern.contains('%'));
    let pattern = if asked.contains('%') { Some(asked.to_owned()) } else { of_letters() };
    let Some(pattern) = pattern.filter(|_| short) else {
        let forms = Named::WORDS.iter().map(|(_, words)| words[0]);
        let refusal = crate::words::unknown_word(asked, forms);
        return Err(Error::bad_args(format!("{refusal}, and it is not a pattern such as %d.%m.%Y")));
    };
    strtime::format(&pattern, start)
        .map_err(|why| Error::bad_args(format!("this is not a pattern ({why}): write one such as %d.%m.%Y or %H:%M")))
}

/// Convert a pattern such as `DD.MM.YYYY HH:mm` to strftime; `None` for an unknown letter.
fn letters(asked: &str) -> Option<String> {
    let mut pattern = String::new();
    let mut rest = asked;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| c != first).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        pattern += match run {
            "YYYY" | "yyyy" => "%Y",
            "YY" | "yy" => "%y",
            "MMMM" => "%B",
            "MMM" => "%b",
            "MM" => "%m",
            "M" => "%-m",
            "DD" | "dd" => "%d",
            "D" | "d" => "%-d",
            "dddd" | "EEEE" => "%A",
            "ddd" | "EEE" => "%a",
            "HH" => "%H",
            "H" => "%-H",
            "hh" => "%I",
            "h" => "%-I",
            "mm" => "%M",
            "ss" => "%S",
            "A" => "%p",
            "a" => "%P",
            "T" => "T",
            other if first.is_alphabetic() || other.contains('%') => return None,
            other => other,
        };
        rest = after;
    }
    Some(pattern)
}

/// `in 3 days`, `2 hours ago`, `yesterday`: in the largest meaningful unit.
fn relative(when: &When, cx: &Cx) -> Result<String> {
    let now = cx.ports().clock.local();
    if let When::At(at) = when {
        let seconds = distance(now.timestamp(), at.timestamp());
        let (amount, unit) = match seconds.unsigned_abs() {
            0..=44 => return Ok("now".into()),
            s @ 45..=3569 => ((s + 30) / 60, "minute"),
            s @ 3570..=84_599 => ((s + 1800) / 3600, "hour"),
            _ => (0, ""),
        };
        if amount > 0 {
            return Ok(directed(amount, unit, seconds < 0));
        }
    }
    let (today, day) = (now.date(), when.day());
    let days = i64::from((day - today).get_days());
    Ok(match days {
        0 => "today".into(),
        1 => "tomorrow".into(),
        -1 => "yesterday".into(),
        _ => {
            let (from, to) = (today.min(day), today.max(day));
            let whole = |part| from.until((part, to)).map_err(|_| Error::bad_args("that is beyond the calendar"));
            let (amount, unit) = match days.unsigned_abs() {
                d @ 0..=13 => (d, "day"),
                d @ 14..=59 => (d / 7, "week"),
                d @ 60..=729 => (u64::try_from(whole(Part::Month)?.get_months()).unwrap_or(d / 30), "month"),
                d => (u64::try_from(whole(Part::Year)?.get_years()).unwrap_or(d / 365), "year"),
            };
            directed(amount, unit, days < 0)
        }
    })
}

fn distance(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second().saturating_sub(from.as_second())
}

fn directed(amount: u64, unit: &str, past: bool) -> String {
    let length = counted(usize::try_from(amount).unwrap_or(usize::MAX), unit);
    if past { format!("{length} ago") } else { format!("in {length}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    async fn ask(args: Value) -> Result<Output> {
        call(crate::dates(), &cx(), "format_date", args).await
    }

    #[tokio::test]
    async fn a_date_is_written_in_every_form() {
        let rows = [
            ("2026-11-20T14:30", "iso", "2026-11-20T14:30:00+01:00"),
            ("2026-11-20", "iso", "2026-11-20"),
            ("2026-11-20T14:30", "date", "2026-11-20"),
            ("2026-11-20T14:30", "time", "14:30"),
            ("2026-11-02T14:30", "short", "2 Nov 2026, 14:30"),
            ("2026-11-02", "medium", "2 Nov 2026"),
            ("2026-11-02", "", "Monday, 2 November 2026"),
            ("2026-11-02T14:30", "Long", "Monday, 2 November 2026 at 14:30"),
            ("2026-11-20T14:30", "unix", "1795181400"),
            ("2026-11-20T14:30", "rfc2822", "Fri, 20 Nov 2026 14:30:00 +0100"),
            ("2026-11-20T14:30", "%d.%m.%Y %H:%M", "20.11.2026 14:30"),
            ("2026-11-20", "%j, week %V", "324, week 47"),
            ("2026-11-02T14:05", "DD.MM.YYYY HH:mm", "02.11.2026 14:05"),
            ("2026-11-02T14:05", "dddd, MMMM D, YYYY, h:mm A", "Monday, November 2, 2026, 2:05 PM"),
            ("2026-11-02T14:05", "yyyy-MM-ddTHH:mm:ss", "2026-11-02T14:05:00"),
        ];
        for (date, form, wanted) in rows {
            let answer = ask(json!({"date": date, "format": form})).await.unwrap();
            assert_eq!((&answer.content["formatted"], answer.say.as_deref()), (&json!(wanted), Some(wanted)), "{form}");
        }
        let elsewhere = json!({"date": "2026-11-20T14:30", "timezone": "New York", "locale": "en-us"});
        assert_eq!(
            ask(elsewhere).await.unwrap().content,
            json!({
                "formatted": "Friday, November 20, 2026 at 8:30 AM", "date": "2026-11-20T08:30:00-05:00", "format": "long",
                "timezone": "America/New_York", "dayOfWeek": "Friday"
            })
        );
    }

    #[tokio::test]
    async fn a_date_is_told_relative_to_now() {
        let rows = [
            ("now", "now"),
            ("2026-11-20T14:31", "in 1 minute"),
            ("2026-11-20T13:45", "45 minutes ago"),
            ("2026-11-20T16:30", "in 2 hours"),
            ("2026-11-21T13:00", "in 23 hours"),
            ("2026-11-21T18:00", "tomorrow"),
            ("today", "today"),
            ("yesterday", "yesterday"),
            ("2026-11-23", "in 3 days"),
            ("2026-11-04", "2 weeks ago"),
            ("2027-01-20", "in 2 months"),
            ("2026-01-19", "10 months ago"),
            ("2036-11-20", "in 10 years"),
            ("9999-12-29", "in 7973 years"),
            ("0001-01-02", "2025 years ago"),
        ];
        for (date, wanted) in rows {
            let answer = ask(json!({"date": date, "format": "relative"})).await.unwrap();
            assert_eq!(answer.content["formatted"], wanted, "{date}");
        }
    }

    #[tokio::test]
    async fn bad_patterns_are_refused() {
        for form in ["%", "%Q%", "nice", "%!", "Do MMMM", "--", &"%Y".repeat(101), "%-99999999d"] {
            let answer = ask(json!({"date": "today", "format": form})).await;
            assert!(matches!(answer, Err(Error::BadArgs(_))), "{form}: {answer:?}");
        }
        for bad in [json!({"date": "today", "timezone": "Mars"}), json!({"date": "today", "locale": "tlh"})] {
            assert!(matches!(ask(bad).await, Err(Error::BadArgs(_))));
        }
    }
}
