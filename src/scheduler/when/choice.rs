//! A recurrence as the choices a person makes: on which days, and at what time.

use super::{Recurrence, days::Days, words::stepped, zone_of};
use crate::cron::Pattern;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

/// A choice that a form offers. Times of day are "07:00"; weekdays count from 0, Sunday.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Choice {
    /// At a time, once.
    Once {
        /// "2026-11-20".
        day: String,
        /// The time of day.
        time: String,
    },
    /// Every day.
    Daily {
        /// The time of day.
        time: String,
    },
    /// On some weekdays.
    Weekly {
        /// Which, sorted.
        weekdays: Vec<u16>,
        /// The time of day.
        time: String,
    },
    /// On a weekday of every month: the first Monday.
    Nth {
        /// From 1 to 5; -1 is the last.
        nth: i8,
        /// Which weekday.
        weekday: u16,
        /// The time of day.
        time: String,
    },
    /// On a day of every month.
    Monthly {
        /// From 1 to 31; -1 is the last.
        day: i8,
        /// The time of day.
        time: String,
    },
    /// On a day of every year.
    Yearly {
        /// From 1 to 12.
        month: u16,
        /// From 1 to 31.
        day: u16,
        /// The time of day.
        time: String,
    },
    /// At an interval.
    Interval {
        /// How many.
        every: i64,
        /// `weeks`, `days`, `hours`, `minutes` or `seconds`.
        unit: &'static str,
    },
}

/// Units of an interval in milliseconds, largest first.
const UNITS: [(&str, i64); 5] =
    [("weeks", 604_800_000), ("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000)];

impl Choice {
    pub(super) fn of(recurrence: &Recurrence, now: &Zoned) -> Option<Self> {
        match recurrence {
            Recurrence::Every { ms, .. } => Self::interval(*ms),
            Recurrence::Once { at, zone } => {
                let at = Timestamp::from_millisecond(*at).ok()?;
                let at = at.to_zoned(zone_of(zone.as_deref(), now.time_zone()));
                let whole = at.second() == 0 && at.subsec_nanosecond() == 0;
                whole.then(|| Self::Once { day: at.date().to_string(), time: at.strftime("%H:%M").to_string() })
            }
            Recurrence::Cron { expression, .. } => Self::of_pattern(&Pattern::read(expression).ok()?),
        }
    }

    /// In the largest unit that measures it. A day by the clock is a time of day, and so never an interval.
    fn interval(ms: i64) -> Option<Self> {
        let (unit, length) = UNITS.iter().find(|(_, length)| ms > 0 && ms % length == 0)?;
        match (*unit, ms / length) {
            ("days", 1) => Some(Self::Interval { every: 24, unit: "hours" }),
            (unit, every) => Some(Self::Interval { every, unit }),
        }
    }

    fn of_pattern(pattern: &Pattern) -> Option<Self> {
        let of = pattern.fields();
        let (seconds, minutes, hours) = (of.seconds.values(), of.minutes.values(), of.hours.values());
        let days = Days::of(pattern)?;
        if seconds != [0] {
            return None;
        }
        if let ([hour], [minute]) = (hours.as_slice(), minutes.as_slice()) {
            let time = format!("{hour:02}:{minute:02}");
            return Some(match days {
                Days::Every => Self::Daily { time },
                Days::Weekdays(weekdays) => Self::Weekly { weekdays, time },
                Days::Nth { nth, weekday } => Self::Nth { nth, weekday, time },
                Days::OfMonth(day) => Self::Monthly { day, time },
                Days::OfYear { day, month } => Self::Yearly { month, day, time },
            });
        }
        let every = |step: u16, unit| Some(Self::Interval { every: step.into(), unit });
        match (days, hours.len(), minutes.as_slice()) {
            (Days::Every, 24, [0]) => every(1, "hours"),
            (Days::Every, 24, minutes) => every(stepped(minutes, 60)?, "minutes"),
            (Days::Every, _, [0]) => every(stepped(&hours, 24)?, "hours"),
            _ => None,
        }
    }
}
