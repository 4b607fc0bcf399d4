//! Recurrences in words: formats them for people, and parses moments.

use super::{
    Recurrence,
    days::{Days, month_name, weekday_name},
    time_of_day::{no_time, time_of_day},
    zone_of,
};
use crate::cron::Pattern;
use croner::describe::English;
use jiff::{Timestamp, Zoned, civil};
use text_kit::{counted, join_and};
use tool::{Error, Result};

/// Units of an interval in milliseconds, largest first.
const UNITS: [(&str, i64); 5] =
    [("week", 604_800_000), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)];
const DAY: i64 = 86_400_000;
/// How many times of day are listed one by one.
const MAX_TIMES_LISTED: usize = 4;

/// Describes a recurrence in words; `now` is in the household's zone.
pub(crate) fn describe_recurrence(recurrence: &Recurrence, now: &Zoned) -> String {
    match recurrence {
        Recurrence::Every { ms, .. } => format!("every {}", interval(*ms)),
        Recurrence::Once { at, zone } => {
            let zone_ = zone_of(zone.as_deref(), now.time_zone());
            let Ok(at) = Timestamp::from_millisecond(*at) else { return "once".into() };
            let at = at.to_zoned(zone_);
            format!("once on {}{}", moment(&at, now), elsewhere(zone.as_deref(), now))
        }
        Recurrence::Cron { expression, zone } => match Pattern::read(expression) {
            Ok(read) => pattern_in_words(&read) + &elsewhere(zone.as_deref(), now),
            // A newer version stored it.
            Err(_) => format!("cron {expression}{}", elsewhere(zone.as_deref(), now)),
        },
    }
}

/// A cron pattern in words.
pub(crate) fn pattern_in_words(read: &Pattern) -> String {
    pattern(read).or_else(|| within_hours(read)).unwrap_or_else(|| at_length(read))
}

/// "Friday 20 November at 14:30", with the year if it is not the current one.
pub(crate) fn moment(at: &Zoned, now: &Zoned) -> String {
    let year = if at.year() == now.year() { String::new() } else { format!(" {}", at.year()) };
    let weekday = weekday_name(at.weekday().to_sunday_zero_offset() as u16);
    format!("{weekday} {} {}{year} at {}", at.day(), month_name(at.month() as u16), time(at.time()))
}

/// " (Europe/Vienna)" if the zone is not the household's.
fn elsewhere(zone: Option<&str>, now: &Zoned) -> String {
    zone.filter(|zone| now.time_zone().iana_name() != Some(zone)).map(|zone| format!(" ({zone})")).unwrap_or_default()
}

/// "07:00", with seconds if not zero.
fn time(time: civil::Time) -> String {
    match time.second() {
        0 => format!("{:02}:{:02}", time.hour(), time.minute()),
        second => format!("{:02}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}

/// "15 minutes", "hour", "1 hour 30 minutes", "24 hours": "every day" names no time.
fn interval(ms: i64) -> String {
    if ms == DAY {
        return "24 hours".into();
    }
    if let Some((unit, _)) = UNITS.iter().find(|(_, length)| *length == ms) {
        return (*unit).to_owned();
    }
    let (mut rest, mut parts) = (ms, vec![]);
    for (unit, length) in UNITS {
        // Weeks only if whole: "10 days" and not "1 week 3 days".
        let n = if unit == "week" && rest % length != 0 { 0 } else { rest / length };
        rest -= n * length;
        if n > 0 {
            parts.push(counted(n, unit));
        }
    }
    if rest > 0 || parts.is_empty() {
        parts.push(format!("{rest} milliseconds"));
    }
    parts.join(" ")
}

/// A cron pattern without a common name, field by field: "at 07:00, on day 1 and 15".
fn at_length(pattern: &Pattern) -> String {
    let text = croner::describe::describe(pattern.fields(), &English);
    let text = text.trim_end_matches('.').replace("At every ", "Every ").replace(", and ", " and ");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// "every 20 minutes from 06:00 to 09:40, from Monday to Friday".
fn within_hours(pattern: &Pattern) -> Option<String> {
    let of = pattern.fields();
    let (seconds, minutes, hours) = (of.seconds.values(), of.minutes.values(), of.hours.values());
    let (days, last) = (Days::of(pattern)?, minutes.last()?);
    let every = match minutes.as_slice() {
        [_] => "every hour".to_owned(),
        some => match stepped(some, 60)? {
            1 => "every minute".to_owned(),
            n => format!("every {n} minutes"),
        },
    };
    match hours.as_slice() {
        [from, .., to] if seconds == [0] && usize::from(to - from) + 1 == hours.len() => {
            Some(format!("{every} from {from:02}:{:02} to {to:02}:{last:02}, {}", minutes.first()?, days.text()))
        }
        _ => None,
    }
}

/// A cron pattern in words, if it has a common name.
fn pattern(pattern: &Pattern) -> Option<String> {
    let of = pattern.fields();
    let (seconds, minutes, hours) = (of.seconds.values(), of.minutes.values(), of.hours.values());
    let days = Days::of(pattern)?;
    if hours.len() == 24 && days == Days::Every {
        return match (minutes.as_slice(), seconds.as_slice()) {
            (all, each) if all.len() == 60 => match stepped(each, 60) {
                Some(1) => Some("every second".into()),
                Some(60) => Some("every minute".into()),
                n => Some(format!("every {} seconds", n?)),
            },
            ([0], [0]) => Some("every hour".into()),
            ([one], [0]) => Some(format!("every hour at {} past", counted(*one, "minute"))),
            (some, [0]) => Some(format!("every {} minutes", stepped(some, 60)?)),
            _ => None,
        };
    }
    if let (Some(step @ 2..24), [0], [0], Days::Every) =
        (stepped(&hours, 24), minutes.as_slice(), seconds.as_slice(), &days)
    {
        return Some(format!("every {step} hours"));
    }
    let [second] = seconds.as_slice() else { return None };
    if hours.len() * minutes.len() > MAX_TIMES_LISTED {
        return None;
    }
    let times: Vec<String> = hours
        .iter()
        .flat_map(|hour| minutes.iter().map(|minute| civil::Time::new(*hour as i8, *minute as i8, *second as i8, 0)))
        .map(|at| at.map(time))
        .collect::<Result<_, _>>()
        .ok()?;
    Some(format!("{} at {}", days.text(), join_and(&times)))
}

/// The step of values that start at 0 and are evenly spaced around `round`; a single value is the whole round.
pub(super) fn stepped(values: &[u16], round: u16) -> Option<u16> {
    let step = match values {
        [0] => round,
        [0, step, ..] => *step,
        _ => return None,
    };
    let all = round.is_multiple_of(step) && values.iter().enumerate().all(|(n, value)| *value == n as u16 * step);
    Some(step).filter(|_| all && values.len() == usize::from(round / step))
}

/// Parses `at 19:00`, `today at 7pm` or `tomorrow at 7` into the next such moment after `local`; `None` for other
/// forms.
///
/// # Errors
/// `BadArgs` for a day without a time.
pub(crate) fn clock_time(text: &str, local: &Zoned) -> Result<Option<Zoned>> {
    let (day, rest) = match text.split_once(' ').unwrap_or((text, "")) {
        ("today", rest) => (Some(0), rest),
        ("tomorrow", rest) => (Some(1), rest),
        _ => (None, text),
    };
    let at = rest.strip_prefix("at ").unwrap_or(rest);
    // A bare number is ambiguous.
    let bare = day.is_none() && at == rest && at.bytes().all(|b| b.is_ascii_digit());
    let Some(time) = time_of_day(at).filter(|_| !bare) else {
        return if day.is_some() { Err(no_time(if at.is_empty() { text } else { at })) } else { Ok(None) };
    };
    let on = |days: i64| {
        let date = local.date().checked_add(jiff::Span::new().days(days));
        date.and_then(|date| date.to_datetime(time).to_zoned(local.time_zone().clone()))
            .map_err(|_| Error::bad_args("that day is out of range: give another"))
    };
    match day {
        Some(days) => on(days).map(Some),
        // The next time the clock shows it.
        None => on(0).and_then(|at| if at > *local { Ok(at) } else { on(1) }).map(Some),
    }
}
