//! Cron patterns across daylight saving changes.
//!
//! A time that the clocks skip runs at the first moment after the gap; a time that occurs twice runs the first time.
//! A pattern that covers every hour (`*/15 * * * *`) follows elapsed time: each real quarter of an hour has its run.

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};
use tool::{Error, Result};

/// Maximum pattern length, in bytes.
const LONGEST: usize = 128;
/// How many days are searched for a match: a 29 February on a Monday may be forty years away.
const DAYS: usize = 41 * 366;
/// Named patterns.
const NAMES: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    cron: Cron,
    /// Whether it covers every hour and so follows elapsed time.
    elapsed: bool,
}

/// Normalizes an expression: single spaces, names expanded.
pub(crate) fn normal(expression: &str) -> String {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let plain = fields.join(" ");
    NAMES.iter().find(|(name, _)| plain.eq_ignore_ascii_case(name)).map_or(plain, |(_, stands)| (*stands).to_owned())
}

impl Pattern {
    /// Parses a pattern of five fields, or six with seconds first, normalized by [`normal`].
    ///
    /// # Errors
    /// `BadArgs` if it is not a cron pattern.
    pub fn read(expression: &str) -> Result<Self> {
        let wrong = |why: &str| {
            let shown: String = expression.chars().take(64).collect();
            Error::bad_args(format!(
                "`{shown}` is not a cron pattern ({why}): write minute, hour, day of month, month and day of week, such as \
                 `0 7 * * 1-5` for 07:00 on weekdays"
            ))
        };
        if expression.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        let fields: Vec<&str> = expression.split(' ').collect();
        if !(5..=6).contains(&fields.len()) {
            return Err(wrong(&format!("it has {} fields", fields.len())));
        }
        // `0/15` is not standard cron, but unambiguous.
        let parser =
            CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).sloppy_ranges(true).build();
        let cron = parser.parse(expression).map_err(|e| wrong(&e.to_string()))?;
        let of = &cron.pattern;
        let (seconds, minutes, hours) = (of.seconds.values(), of.minutes.values(), of.hours.values());
        let weekday = fields[fields.len() - 1].to_uppercase();
        let empty = [&seconds, &minutes, &hours, &of.months.values()].iter().any(|values| values.is_empty())
            || (of.days.values().is_empty() && !of.days.has_modifiers())
            || (of.days_of_week.values().is_empty() && !of.days_of_week.has_modifiers())
            || weekday.split(',').any(|part| part == "L" || part == "+L");
        if empty {
            return Err(wrong("a field matches nothing"));
        }
        let elapsed = hours.len() == 24;
        Ok(Self { cron, elapsed })
    }

    /// Refuses dates that never occur, such as 30 February.
    ///
    /// # Errors
    /// `BadArgs`.
    pub fn check_occurs(&self, from: DateTime) -> Result<()> {
        let mut day = from.date();
        for _ in 0..DAYS {
            let (year, month, of) = (i32::from(day.year()), day.month() as u32, &self.cron.pattern);
            let fits = of.month_match(month).unwrap_or(false) && {
                let weekday = croner::Weekday::from_days_from_sunday(day.weekday().to_sunday_zero_offset() as u32);
                of.day_match(year, month, day.day() as u32, weekday).unwrap_or(false)
            };
            if fits {
                return Ok(());
            }
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        Err(Error::bad_args(format!("`{}` names a day that never occurs: check day and month", self.cron.pattern)))
    }

    /// The parsed fields, for a description in words.
    pub fn fields(&self) -> &croner::CronPattern {
        &self.cron.pattern
    }

    /// The first due time after `after`.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if self.elapsed { self.next_elapsed(after, zone) } else { self.next_on_wall(after, zone) }
    }

    /// The first wall-clock match after `from`, or at it if `inclusive`.
    fn wall(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        self.cron.find_next_occurrence(&from, inclusive).ok()
    }

    /// The first due time after `after`, where each wall-clock time counts once.
    fn next_on_wall(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let offset = zone.to_offset(after);
        let now = offset.to_datetime(after);
        let mut wall = match zone.to_ambiguous_timestamp(now).offset() {
            // Within the repeated hour: its wall-clock times already ran the first time.
            AmbiguousOffset::Fold { before, after: second } if second == offset => {
                let back = zone.preceding(after.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?).next()?;
                self.wall(before.to_datetime(back.timestamp()), true)?
            }
            _ => self.wall(now, false)?,
        };
        loop {
            let moment = match zone.to_ambiguous_timestamp(wall).offset() {
                AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(wall).ok()?,
                AmbiguousOffset::Fold { before, .. } => before.to_timestamp(wall).ok()?,
                AmbiguousOffset::Gap { after: later, .. } => gap_end(wall, later, zone)?,
            };
            if moment > after {
                return Some(moment);
            }
            wall = self.wall(wall, false)?;
        }
    }

    /// The first moment after `after` whose wall-clock time matches the pattern.
    fn next_elapsed(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let offset = zone.to_offset(after);
        let now = offset.to_datetime(after);
        let mut wall = self.wall(now, false)?;
        if let AmbiguousOffset::Fold { before, after: second } = zone.to_ambiguous_timestamp(now).offset()
            && before == offset
        {
            // Within the first pass of a repeated hour: its remainder, then all of the second pass.
            let back = zone.following(after).next()?.timestamp();
            let first = before.to_timestamp(wall).ok()?;
            if first < back {
                return Some(first);
            }
            wall = self.wall(second.to_datetime(back), true)?;
        }
        loop {
            match zone.to_ambiguous_timestamp(wall).offset() {
                AmbiguousOffset::Unambiguous { offset } => return offset.to_timestamp(wall).ok(),
                AmbiguousOffset::Fold { before, after: second } => {
                    let first = before.to_timestamp(wall).ok()?;
                    return if first > after { Some(first) } else { second.to_timestamp(wall).ok() };
                }
                AmbiguousOffset::Gap { after: later, .. } => {
                    let end = gap_end(wall, later, zone)?;
                    wall = self.wall(later.to_datetime(end), true)?;
                }
            }
        }
    }
}

/// The first moment after the gap that contains `wall`; `later` is the offset after the gap.
fn gap_end(wall: DateTime, later: jiff::tz::Offset, zone: &TimeZone) -> Option<Timestamp> {
    // With the later offset the time is before the gap, so the gap is the next transition.
    let before = later.to_timestamp(wall).ok()?;
    Some(zone.following(before).next()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next due times after a local time, formatted in that zone.
    fn next(expression: &str, zone: &str, after: &str, n: usize) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        let pattern = Pattern::read(&normal(expression)).unwrap();
        let mut at: Timestamp = match after.parse::<Timestamp>() {
            Ok(at) => at,
            Err(_) => after.parse::<DateTime>().unwrap().to_zoned(zone.clone()).unwrap().timestamp(),
        };
        let mut all = vec![];
        for _ in 0..n {
            at = pattern.next_after(at, &zone).unwrap();
            all.push(at.to_zoned(zone.clone()).strftime("%m-%d %H:%M:%S%:::z").to_string());
        }
        all
    }

    #[test]
    fn a_time_that_is_skipped_runs_after_the_gap_and_one_that_comes_twice_runs_once() {
        let vienna = "Europe/Vienna";
        let rows: &[(&str, &str, &str, &[&str])] = &[
            ("30 2 * * *", vienna, "2026-03-28T12:00", &["03-29 03:00:00+02", "03-30 02:30:00+02"]),
            ("30 2,14 * * *", vienna, "2026-03-28T15:00", &["03-29 03:00:00+02", "03-29 14:30:00+02"]),
            // Several skipped times collapse into one run.
            ("*/15 2 * * *", vienna, "2026-03-28T02:45", &["03-29 03:00:00+02", "03-30 02:00:00+02"]),
            ("0 2,3 * * *", vienna, "2026-03-29T00:00", &["03-29 03:00:00+02", "03-30 02:00:00+02"]),
            ("30 2 * * *", vienna, "2026-10-24T12:00", &["10-25 02:30:00+02", "10-26 02:30:00+01"]),
            ("*/15 2 * * *", vienna, "2026-10-25T02:40", &["10-25 02:45:00+02", "10-26 02:00:00+01"]),
            // During the second pass of the repeated hour.
            ("*/15 2,3 * * *", vienna, "2026-10-25T01:10:00Z", &["10-25 03:00:00+01", "10-25 03:15:00+01"]),
            ("0 3 * * *", vienna, "2026-10-25T01:00:00Z", &["10-25 03:00:00+01", "10-26 03:00:00+01"]),
            ("* * 2 * * *", vienna, "2026-10-25T01:30:00.5Z", &["10-26 02:00:00+01"]),
            // Lord Howe shifts by half an hour: 02:00 to 02:30 is skipped on 4 October and 01:30 to 02:00 occurs
            // twice on 5 April.
            ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", &["10-04 02:30:00+11", "10-05 02:15:00+11"]),
            ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", &["04-05 01:45:00+11", "04-06 01:45:00+1030"]),
            // A skipped day: Samoa had no 30 December 2011.
            ("0 7 30 12 *", "Pacific/Apia", "2011-12-01T00:00", &["12-31 00:00:00+14", "12-30 07:00:00+14"]),
            (
                "0 7 * * *",
                "Pacific/Apia",
                "2011-12-29T00:00",
                &["12-29 07:00:00-10", "12-31 00:00:00+14", "12-31 07:00:00+14"],
            ),
            // Beirut skips midnight itself.
            ("0 0 * * *", "Asia/Beirut", "2026-03-28T12:00", &["03-29 01:00:00+03", "03-30 00:00:00+03"]),
        ];
        for (expression, zone, after, wanted) in rows {
            let shown: Vec<String> = next(expression, zone, after, wanted.len());
            let shown: Vec<String> = shown.iter().map(|t| t.replace("+10:30", "+1030")).collect();
            assert_eq!(shown, *wanted, "{expression} {zone} {after}");
        }
    }

    #[test]
    fn every_real_quarter_of_an_hour_has_its_run() {
        for (zone, from, until) in [
            ("Europe/Vienna", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
            ("Europe/Vienna", "2026-03-28T20:00:00Z", "2026-03-29T06:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T10:00:00Z", "2026-04-04T20:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T10:00:00Z", "2026-10-03T20:00:00Z"),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            let pattern = Pattern::read("*/15 * * * *").unwrap();
            let (mut at, until): (Timestamp, Timestamp) = (from.parse().unwrap(), until.parse().unwrap());
            while at < until {
                let next = pattern.next_after(at, &zone).unwrap();
                assert_eq!(next.as_second() - at.as_second(), 900, "after {at}");
                at = next;
            }
        }
        // On the half hour, hourly: both passes of 02:30.
        let twice = next("30 * * * *", "Europe/Vienna", "2026-10-25T01:00", 4);
        assert_eq!(twice, ["10-25 01:30:00+02", "10-25 02:30:00+02", "10-25 02:30:00+01", "10-25 03:30:00+01"]);
        let skipped = next("30 * * * *", "Europe/Vienna", "2026-03-29T01:00", 2);
        assert_eq!(skipped, ["03-29 01:30:00+01", "03-29 03:30:00+02"]);
    }

    #[test]
    fn days_are_found() {
        let rows: &[(&str, &str, &[&str])] = &[
            ("@daily", "2026-11-20T14:30", &["11-21 00:00:00+01"]),
            ("@Weekly", "2026-11-20T14:30", &["11-22 00:00:00+01"]),
            ("@yearly", "2026-11-20T14:30", &["01-01 00:00:00+01"]),
            ("  0  9 L * * ", "2026-11-20T14:30", &["11-30 09:00:00+01", "12-31 09:00:00+01"]),
            ("0 9 * * 5L", "2026-11-20T14:30", &["11-27 09:00:00+01", "12-25 09:00:00+01"]),
            ("0 9 * * 1#1", "2026-11-20T14:30", &["12-07 09:00:00+01", "01-04 09:00:00+01"]),
            ("0 9 15W * *", "2026-11-20T14:30", &["12-15 09:00:00+01", "01-15 09:00:00+01", "02-15 09:00:00+01"]),
            ("0 9 29 2 *", "2026-11-20T14:30", &["02-29 09:00:00+01", "02-29 09:00:00+01"]),
            ("0 7 * * MON-FRI", "2026-11-20T14:30", &["11-23 07:00:00+01"]),
            ("0 7 * * 7", "2026-11-20T14:30", &["11-22 07:00:00+01"]),
            ("0 7 1 * 1", "2026-11-20T14:30", &["11-23 07:00:00+01", "11-30 07:00:00+01", "12-01 07:00:00+01"]),
            ("0 7 1 * +1", "2026-11-20T14:30", &["02-01 07:00:00+01"]),
            ("0/20 8 * * *", "2026-11-20T14:30", &["11-21 08:00:00+01", "11-21 08:20:00+01", "11-21 08:40:00+01"]),
            ("*/10 * * * * *", "2026-11-20T14:30:05", &["11-20 14:30:10+01", "11-20 14:30:20+01"]),
        ];
        for (expression, after, wanted) in rows {
            assert_eq!(next(expression, "Europe/Vienna", after, wanted.len()), *wanted, "{expression}");
        }
    }

    #[test]
    fn what_is_no_pattern_or_never_comes_is_refused() {
        for wrong in [
            "",
            "*",
            "* * * *",
            "* * * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "a b c d e",
            ", * * * *",
            "* , * * *",
            "* * , * *",
            "* * * , *",
            "* * * * ,",
            "* * * * L",
            "*/0 * * * *",
            "5-1 * * * *",
            "@reboot",
            "L * * * *",
            "W * * * *",
            "* * * * 1#6",
            "* * * * MONDAY",
            "99999999999 * * * *",
            "-1 * * * *",
            "é * * * *",
        ] {
            let error = Pattern::read(&normal(wrong)).unwrap_err();
            assert!(matches!(&error, Error::BadArgs(text) if text.contains("cron pattern")), "{wrong}: {error}");
        }
        assert!(Pattern::read(&"1,".repeat(200)).unwrap_err().message().contains("too long"));
        let from: DateTime = "2026-11-20T14:30".parse().unwrap();
        for never in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 4 +1"] {
            let error = Pattern::read(never).unwrap().check_occurs(from).unwrap_err();
            assert!(error.message().contains("never occurs"), "{never}: {error}");
        }
        for rare in ["0 0 29 2 *", "0 0 29 2 +1", "0 0 * 2 1#5"] {
            Pattern::read(rare).unwrap().check_occurs(from).unwrap();
        }
    }
}
