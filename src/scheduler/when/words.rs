//! Recurrences in words, for people: told, and read where they are plain.

use super::{Recurrence, zone_of};
use crate::cron::Pattern;
use jiff::{Timestamp, Zoned, civil};
use tool::{Error, Result};

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The units of an interval, in milliseconds, the greatest first.
const UNITS: [(&str, i64); 5] =
    [("week", 604_800_000), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)];
/// How many times of day are told one by one.
const TOLD: usize = 4;

/// A recurrence in words; `now` is in the household's zone.
pub(crate) fn describe_recurrence(recurrence: &Recurrence, now: &Zoned) -> String {
    match recurrence {
        Recurrence::Every { ms, .. } => format!("every {}", interval(*ms)),
        Recurrence::Once { at, zone } => {
            let zone_ = zone_of(zone.as_deref(), now.time_zone());
            let Ok(at) = Timestamp::from_millisecond(*at) else { return "once".into() };
            let at = at.to_zoned(zone_);
            format!("once on {}{}", moment(&at, now), elsewhere(zone.as_deref(), now))
        }
        Recurrence::Cron { expression, zone } => match Pattern::read(expression).ok().and_then(|p| pattern(&p)) {
            Some(text) => text + &elsewhere(zone.as_deref(), now),
            None => {
                let zone = zone.as_deref().or(now.time_zone().iana_name());
                format!("cron {expression}{}", zone.map(|zone| format!(" ({zone})")).unwrap_or_default())
            }
        },
    }
}

/// "Friday 20 November at 14:30", with the year where it is another.
pub(crate) fn moment(at: &Zoned, now: &Zoned) -> String {
    let year = if at.year() == now.year() { String::new() } else { format!(" {}", at.year()) };
    let month = MONTHS[(at.month() as usize - 1).min(11)];
    format!("{} {} {month}{year} at {}", day_name(at), at.day(), time(at.time()))
}

fn day_name(at: &Zoned) -> &'static str {
    DAYS[at.weekday().to_sunday_zero_offset() as usize % 7]
}

/// The zone, where it is not the household's.
fn elsewhere(zone: Option<&str>, now: &Zoned) -> String {
    zone.filter(|zone| now.time_zone().iana_name() != Some(zone)).map(|zone| format!(" ({zone})")).unwrap_or_default()
}

/// "07:00", with seconds where there are any.
fn time(time: civil::Time) -> String {
    match time.second() {
        0 => format!("{:02}:{:02}", time.hour(), time.minute()),
        second => format!("{:02}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}

/// "15 minutes", "hour", "1 hour 30 minutes".
fn interval(ms: i64) -> String {
    if let Some((unit, _)) = UNITS.iter().find(|(_, length)| *length == ms) {
        return (*unit).to_owned();
    }
    let (mut rest, mut parts) = (ms, vec![]);
    for (unit, length) in UNITS {
        // Weeks only where they are whole: "10 days" and not "1 week 3 days".
        let n = if unit == "week" && rest % length != 0 { 0 } else { rest / length };
        rest -= n * length;
        if n > 0 {
            parts.push(format!("{n} {unit}{}", if n == 1 { "" } else { "s" }));
        }
    }
    if rest > 0 || parts.is_empty() {
        parts.push(format!("{rest} milliseconds"));
    }
    parts.join(" ")
}

/// A pattern in words, where it is one people have words for.
fn pattern(pattern: &Pattern) -> Option<String> {
    let of = pattern.fields();
    let (seconds, minutes, hours) = (of.seconds.values(), of.minutes.values(), of.hours.values());
    let day = days_told(pattern)?;
    if hours.len() == 24 && day == "every day" {
        return match (minutes.as_slice(), seconds.as_slice()) {
            (all, each) if all.len() == 60 => match stepped(each, 60) {
                Some(1) => Some("every second".into()),
                Some(60) => Some("every minute".into()),
                n => Some(format!("every {} seconds", n?)),
            },
            ([0], [0]) => Some("every hour".into()),
            ([one], [0]) => Some(format!("every hour at {one} minute{} past", if *one == 1 { "" } else { "s" })),
            (some, [0]) => Some(format!("every {} minutes", stepped(some, 60)?)),
            _ => None,
        };
    }
    if let (Some(step @ 2..24), [0], [0], "every day") =
        (stepped(&hours, 24), minutes.as_slice(), seconds.as_slice(), &*day)
    {
        return Some(format!("every {step} hours"));
    }
    let [second] = seconds.as_slice() else { return None };
    if hours.len() * minutes.len() > TOLD {
        return None;
    }
    let times: Vec<String> = hours
        .iter()
        .flat_map(|hour| minutes.iter().map(|minute| civil::Time::new(*hour as i8, *minute as i8, *second as i8, 0)))
        .map(|at| at.map(time))
        .collect::<Result<_, _>>()
        .ok()?;
    Some(format!("{day} at {}", listed(&times)))
}

/// The distance between values that begin at 0 and are equally far apart, all the way round; one value is the whole round.
fn stepped(values: &[u16], round: u16) -> Option<u16> {
    let step = match values {
        [0] => round,
        [0, step, ..] => *step,
        _ => return None,
    };
    let all = round.is_multiple_of(step) && values.iter().enumerate().all(|(n, value)| *value == n as u16 * step);
    Some(step).filter(|_| all && values.len() == usize::from(round / step))
}

/// "every day", "every Monday and Thursday", "on the 1st of every month", "every 24 December".
fn days_told(pattern: &Pattern) -> Option<String> {
    let of = pattern.fields();
    let fields: Vec<&str> = of.as_str().split(' ').collect();
    let (days, months, weekdays) = (of.days.values(), of.months.values(), of.days_of_week.values());
    let every_month = months.len() == 12;
    match (of.is_dom_wildcard(), of.is_dow_wildcard()) {
        (true, true) if every_month => Some("every day".into()),
        (true, false) if every_month && !of.days_of_week.has_modifiers() && !of.matches_dom_and_dow() => {
            Some(match weekdays.as_slice() {
                [1, 2, 3, 4, 5] => "every weekday".into(),
                [0, 1, 2, 3, 4, 5, 6] => "every day".into(),
                some => {
                    // The week begins on Monday, and so does the list.
                    let mut some = some.to_vec();
                    some.sort_by_key(|day| (day + 6) % 7);
                    let names: Vec<&str> = some.iter().filter_map(|day| DAYS.get(usize::from(*day)).copied()).collect();
                    format!("every {}", listed(&names))
                }
            })
        }
        (false, true) if every_month && fields.get(fields.len().checked_sub(3)?) == Some(&"L") => {
            Some("on the last day of every month".into())
        }
        (false, true) if !of.days.has_modifiers() && days.len() == 1 => {
            let day = *days.first()?;
            match months.as_slice() {
                _ if every_month => Some(format!("on the {} of every month", ordinal(day))),
                [month] => Some(format!("every {day} {}", MONTHS.get(usize::from(*month) - 1)?)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn ordinal(n: u16) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// "a, b and c".
fn listed<T: AsRef<str>>(all: &[T]) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match all.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => all.concat(),
    }
}

/// `monday and thursday at 8:00`, as it follows "every", as a cron pattern; `None` when it begins with no day.
///
/// # Errors
/// `BadArgs` when the time is missing or none.
pub(crate) fn days(text: &str) -> Result<Option<String>> {
    let (days, at) = match text.split_once(" at ") {
        Some((days, at)) => (days, Some(at)),
        None => (text, None),
    };
    let words: Vec<&str> = days.split([' ', ',']).filter(|word| !word.is_empty() && *word != "and").collect();
    let mut weekdays = vec![];
    for word in &words {
        match *word {
            "day" => weekdays.extend(0..7),
            "weekday" | "weekdays" | "workday" => weekdays.extend(1..6),
            "weekend" | "weekends" => weekdays.extend([0, 6]),
            "morning" | "evening" | "night" => {
                return Err(Error::bad_args(format!("say at what time: `every day at {}`", "19:00")));
            }
            other => {
                let name = other.strip_suffix('s').unwrap_or(other);
                let is = |day: &&str| name.len() >= 3 && day.to_lowercase().starts_with(name);
                match DAYS.iter().position(is) {
                    Some(day) => weekdays.push(day),
                    None => return Ok(None),
                }
            }
        }
    }
    if weekdays.is_empty() {
        return Ok(None);
    }
    let Some(at) = at else {
        let days = words.join(" ");
        return Err(Error::bad_args(format!("say at what time: `every {days} at 07:00`")));
    };
    let mut times: Vec<civil::Time> = at
        .replace(" and ", ",")
        .split(',')
        .map(|part| time_of_day(part).ok_or_else(|| no_time(part)))
        .collect::<Result<_>>()?;
    weekdays.sort_unstable();
    weekdays.dedup();
    let weekdays = match weekdays.len() {
        7 => "*".into(),
        _ => weekdays.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    };
    times.sort();
    times.dedup();
    let (minute, second) = (times[0].minute(), times[0].second());
    if times.iter().any(|t| t.minute() != minute || t.second() != second) {
        return Err(Error::bad_args("these times are at different minutes of the hour: make a schedule for each"));
    }
    let hours = times.iter().map(|t| t.hour().to_string()).collect::<Vec<_>>().join(",");
    let seconds = if second == 0 { String::new() } else { format!("{second} ") };
    Ok(Some(format!("{seconds}{minute} {hours} * * {weekdays}")))
}

fn no_time(text: &str) -> Error {
    let text: String = text.trim().chars().take(40).collect();
    Error::bad_args(format!("`{text}` is no time of day: write it as 07:00 or 7pm"))
}

/// `at 19:00`, `today at 7pm`, `tomorrow at 7`: the moment, after `local`; `None` when it is written otherwise.
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
    // A number alone might be anything.
    let bare = day.is_none() && at == rest && at.bytes().all(|b| b.is_ascii_digit());
    let Some(time) = time_of_day(at).filter(|_| !bare) else {
        return if day.is_some() { Err(no_time(if at.is_empty() { text } else { at })) } else { Ok(None) };
    };
    let on = |days: i64| {
        let date = local.date().checked_add(jiff::Span::new().days(days));
        date.and_then(|date| date.to_datetime(time).to_zoned(local.time_zone().clone()))
            .map_err(|_| Error::bad_args("that day is beyond the calendar: give another"))
    };
    match day {
        Some(days) => on(days).map(Some),
        // The next time the clock shows it.
        None => on(0).and_then(|at| if at > *local { Ok(at) } else { on(1) }).map(Some),
    }
}

/// `7:00`, `19:30:15`, `7pm`, `7.30 pm`, `noon`, `midnight`, and a bare hour.
fn time_of_day(text: &str) -> Option<civil::Time> {
    let text = text.trim();
    match text {
        "noon" => return civil::Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(civil::Time::midnight()),
        _ => {}
    }
    let (digits, half) = match text.strip_suffix('m').and_then(|t| t.chars().last().zip(Some(t))) {
        Some(('a', rest)) => (rest.strip_suffix('a')?.trim_end(), Some(0)),
        Some(('p', rest)) => (rest.strip_suffix('p')?.trim_end(), Some(12)),
        _ => (text, None),
    };
    let parts: Vec<i8> = digits
        .split([':', '.'])
        .map(|part| part.parse().ok().filter(|_| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit())))
        .collect::<Option<_>>()?;
    let (hour, minute, second) = match parts.as_slice() {
        [hour] => (*hour, 0, 0),
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) => hour % 12 + half,
        None => hour,
    };
    civil::Time::new(hour, minute, second, 0).ok()
}
