//! The days of a recurrence: read from a cron pattern or from words, and written as either.

use super::time_of_day::{no_time, time_of_day};
use crate::cron::Pattern;
use jiff::civil::{Date, Time};
use text_kit::join_and;
use tool::{Error, Result};

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
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
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
/// So many days in a row are "from Monday to Friday"; fewer are listed.
const RANGE: usize = 4;

/// The days of a recurrence. Weekdays count from 0, Sunday.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Days {
    Every,
    /// Sorted; neither none nor all.
    Weekdays(Vec<u16>),
    /// A weekday of every month, from 1 to 5; -1 is the last.
    Nth {
        nth: i8,
        weekday: u16,
    },
    /// A day of every month; -1 is the last.
    OfMonth(i8),
    OfYear {
        day: u16,
        month: u16,
    },
}

impl Days {
    /// The days of a pattern; `None` if no words of a household name them.
    pub fn of(pattern: &Pattern) -> Option<Self> {
        let of = pattern.fields();
        let fields: Vec<&str> = of.as_str().split(' ').collect();
        let field = |from_end: usize| fields.get(fields.len().checked_sub(from_end)?).copied();
        let (days, months) = (of.days.values(), of.months.values());
        let every_month = months.len() == 12;
        match (of.is_dom_wildcard(), of.is_dow_wildcard()) {
            (true, true) if every_month => Some(Self::Every),
            (true, false) if every_month && !of.matches_dom_and_dow() => match of.days_of_week.has_modifiers() {
                true => nth_weekday(field(1)?),
                false => Some(Self::weekdays(of.days_of_week.values())),
            },
            (false, true) if every_month && field(3) == Some("L") => Some(Self::OfMonth(-1)),
            (false, true) if !of.days.has_modifiers() => match (days.as_slice(), months.as_slice()) {
                ([day], _) if every_month => Some(Self::OfMonth(i8::try_from(*day).ok()?)),
                ([day], [month]) => Some(Self::OfYear { day: *day, month: *month }),
                _ => None,
            },
            _ => None,
        }
    }

    fn weekdays(mut days: Vec<u16>) -> Self {
        days.sort_unstable();
        days.dedup();
        if days.len() == 7 { Self::Every } else { Self::Weekdays(days) }
    }

    /// "every day", "from Monday to Friday", "every first Monday", "on the 1st of every month", "every 24 December".
    pub fn text(&self) -> String {
        match self {
            Self::Every => "every day".into(),
            Self::Weekdays(days) => weekdays_in_words(days),
            Self::Nth { nth, weekday } => format!("every {} {}", nth_name(*nth), weekday_name(*weekday)),
            Self::OfMonth(-1) => "on the last day of every month".into(),
            Self::OfMonth(day) => format!("on the {} of every month", ordinal(u16::try_from(*day).unwrap_or(1))),
            Self::OfYear { day, month } => format!("every {day} {}", month_name(*month)),
        }
    }

    /// The fields day, month and weekday of a cron pattern.
    fn fields(&self) -> String {
        match self {
            Self::Every => "* * *".into(),
            Self::Weekdays(days) => format!("* * {}", days.iter().map(u16::to_string).collect::<Vec<_>>().join(",")),
            Self::Nth { nth: -1, weekday } => format!("* * {weekday}L"),
            Self::Nth { nth, weekday } => format!("* * {weekday}#{nth}"),
            Self::OfMonth(-1) => "L * *".into(),
            Self::OfMonth(day) => format!("{day} * *"),
            Self::OfYear { day, month } => format!("{day} {month} *"),
        }
    }

    /// Reads them from lower-case words: "every monday and thursday", "from monday to friday", "the first monday of
    /// the month", "on the 3rd of every month", "every 24 december".
    fn read(text: &str) -> Option<Self> {
        let text = text.replace(',', " ").replace('-', " to ");
        let mut words: Vec<&str> = text.split_whitespace().filter(|word| *word != "and").collect();
        if words.first() == Some(&"on") {
            words.remove(0);
        }
        let lead = *words.first()?;
        let (again, rest) = match lead {
            "every" | "each" => (true, &words[1..]),
            "the" => (false, &words[1..]),
            "from" => (true, words.as_slice()),
            "daily" if words.len() == 1 => return Some(Self::Every),
            _ => return None,
        };
        let (rest, monthly) = match rest {
            [rest @ .., "of" | "in", "every" | "each" | "the" | "a", "month"] => (rest, true),
            rest => (rest, false),
        };
        match rest {
            ["last", "day"] if monthly => Some(Self::OfMonth(-1)),
            [nth, weekday] if (again || monthly) && weekday_named(weekday).is_some() && nth_named(nth).is_some() => {
                Some(Self::Nth { nth: nth_named(nth)?, weekday: weekday_named(weekday)? })
            }
            [day] | [day, "day"] if monthly => {
                day_numbered(day).filter(|day| (1..=31).contains(day)).map(|day| Self::OfMonth(day as i8))
            }
            _ if monthly || !again => None,
            ["from", from, "to" | "until" | "till" | "through", to] | [from, "to" | "through", to] => {
                let (from, to) = (weekday_named(from)?, weekday_named(to)?);
                Some(Self::weekdays((0..=(to + 7 - from) % 7).map(|n| (from + n) % 7).collect()))
            }
            [day, month] | [day, "of", month] | ["the", day, "of", month]
                if day_numbered(day).is_some() && month_named(month).is_some() =>
            {
                Self::in_year(day_numbered(day)?, month_named(month)?)
            }
            [month, day] if month_named(month).is_some() => Self::in_year(day_numbered(day)?, month_named(month)?),
            [] => None,
            several => {
                let mut all = vec![];
                for word in several {
                    match *word {
                        "day" => all.extend(0..7),
                        "weekday" | "weekdays" | "workday" | "workdays" => all.extend(1..6),
                        "weekend" | "weekends" => all.extend([0, 6]),
                        other => all.push(weekday_named(other)?),
                    }
                }
                Some(Self::weekdays(all))
            }
        }
    }

    fn in_year(day: u16, month: u16) -> Option<Self> {
        // A leap year has every date.
        Date::new(2028, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
        Some(Self::OfYear { day, month })
    }
}

/// `1#1`, `MON#L` or `5L`.
fn nth_weekday(field: &str) -> Option<Days> {
    let field = field.to_lowercase();
    let (day, nth) = match field.split_once('#') {
        Some((day, "l")) => (day, -1),
        Some((day, nth)) => (day, nth.parse().ok().filter(|nth| (1..=5).contains(nth))?),
        None => (field.strip_suffix('l')?, -1),
    };
    let weekday = match day.parse::<u16>() {
        Ok(n) if n < 8 => n % 7,
        Ok(_) => return None,
        Err(_) => weekday_named(day)?,
    };
    Some(Days::Nth { nth, weekday })
}

fn weekdays_in_words(days: &[u16]) -> String {
    // Weeks start on Monday.
    let mut days: Vec<u16> = days.iter().map(|day| (day + 6) % 7).collect();
    days.sort_unstable();
    let name = |day: &u16| weekday_name((day + 1) % 7);
    match days.as_slice() {
        [first, .., last] if days.len() >= RANGE && usize::from(last - first) + 1 == days.len() => {
            format!("from {} to {}", name(first), name(last))
        }
        days => format!("every {}", join_and(&days.iter().map(name).collect::<Vec<_>>())),
    }
}

pub(crate) fn weekday_name(weekday: u16) -> &'static str {
    WEEKDAYS[usize::from(weekday) % 7]
}

/// The name of a month from 1 to 12.
pub(crate) fn month_name(month: u16) -> &'static str {
    MONTHS[usize::from(month).saturating_sub(1).min(11)]
}

fn nth_name(nth: i8) -> &'static str {
    usize::try_from(nth).ok().and_then(|nth| ORDINALS.get(nth.checked_sub(1)?)).copied().unwrap_or("last")
}

fn nth_named(word: &str) -> Option<i8> {
    if word == "last" {
        return Some(-1);
    }
    let found = ORDINALS.iter().position(|name| *name == word).map(|n| n as i8 + 1);
    found.or_else(|| (1..=5).find(|n| ordinal(*n as u16) == word))
}

/// "3rd", "third" or "24".
fn day_numbered(word: &str) -> Option<u16> {
    let spelled = ORDINALS.iter().position(|name| *name == word).map(|n| n as u16 + 1);
    let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    spelled.or_else(|| number.parse().ok().filter(|n| number == word || ordinal(*n) == word))
}

fn weekday_named(word: &str) -> Option<u16> {
    named(&WEEKDAYS, word).map(|n| n as u16)
}

fn month_named(word: &str) -> Option<u16> {
    named(&MONTHS, word).map(|n| n as u16 + 1)
}

/// The position of a name, by three letters or more, also in the plural.
fn named(names: &[&str], word: &str) -> Option<usize> {
    let fits = |name: &&str| {
        let name = name.to_lowercase();
        let singular = word.strip_suffix('s').unwrap_or(word);
        (word.len() >= 3 && name.starts_with(word)) || (singular.len() >= 3 && name.starts_with(singular))
    };
    names.iter().position(fits)
}

/// Reads `every monday and thursday at 8:00`, `from monday to friday at 7:30`, `the first monday of the month at 9:00`
/// or `on the 3rd of every month at noon` as a cron pattern; `None` when it names no days.
///
/// # Errors
/// `BadArgs` if the time is missing or invalid.
pub(crate) fn recurring(text: &str) -> Result<Option<String>> {
    let (named, at) = match text.split_once(" at ") {
        Some((days, at)) => (days, Some(at)),
        None => (text, None),
    };
    if let [.., "morning" | "evening" | "night"] = named.split_whitespace().collect::<Vec<_>>().as_slice() {
        return Err(Error::bad_args("say at what time: `every day at 19:00`"));
    }
    let Some(days) = Days::read(named) else { return Ok(None) };
    let Some(at) = at else {
        return Err(Error::bad_args(format!("say at what time: `{} at 07:00`", days.text())));
    };
    let mut times: Vec<Time> = at
        .replace(" and ", ",")
        .split(',')
        .map(|part| time_of_day(part).ok_or_else(|| no_time(part)))
        .collect::<Result<_>>()?;
    times.sort();
    times.dedup();
    let (minute, second) = (times[0].minute(), times[0].second());
    if times.iter().any(|t| t.minute() != minute || t.second() != second) {
        return Err(Error::bad_args("these times have different minutes: create a schedule for each"));
    }
    let hours = times.iter().map(|t| t.hour().to_string()).collect::<Vec<_>>().join(",");
    let seconds = if second == 0 { String::new() } else { format!("{second} ") };
    Ok(Some(format!("{seconds}{minute} {hours} {}", days.fields())))
}

/// "1st", "22nd".
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
