//! Parses days and times of arguments: ISO 8601, in the household's time zone unless the text names another.

use crate::{Error, Result};
use jiff::{Timestamp, Zoned, civil, tz::TimeZone};
use std::fmt;

/// A whole day, or a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// A day, without a time.
    Day(civil::Date),
    /// A moment, in the time zone of its text.
    At(Zoned),
}

impl When {
    /// Parses `2026-11-20`, `2026-11-20T14:30`, `2026-11-20 14:30:00`, or a time with `Z`, an offset or a zone's name. A time
    /// that the clocks skip moves forward by the skipped span; of one that occurs twice the first counts.
    ///
    /// # Errors
    /// `BadArgs` that says how to write it.
    pub fn read(text: &str, zone: &TimeZone) -> Result<Self> {
        let text = text.trim();
        let wrong = || {
            let text: String = text.chars().take(64).collect();
            Error::bad_args(format!("`{text}` is no date: write it as 2026-11-20, or with a time as 2026-11-20T14:30"))
        };
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(Self::At(zoned));
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at.to_zoned(zone.clone())));
        }
        if text.len() <= 10 {
            return text.parse().map(Self::Day).map_err(|_| wrong());
        }
        let local: civil::DateTime = text.parse().map_err(|_| wrong())?;
        local.to_zoned(zone.clone()).map(Self::At).map_err(|_| wrong())
    }

    /// Its start: the first moment of a day in `zone`.
    ///
    /// # Errors
    /// `BadArgs` for a day at the very end of the calendar.
    pub fn start(&self, zone: &TimeZone) -> Result<Zoned> {
        match self {
            Self::At(at) => Ok(at.clone()),
            Self::Day(day) => day
                .to_zoned(zone.clone())
                .map_err(|_| Error::bad_args(format!("the day {day} is out of range: give another"))),
        }
    }

    /// The day it is on.
    pub fn day(&self) -> civil::Date {
        match self {
            Self::Day(day) => *day,
            Self::At(at) => at.date(),
        }
    }
}

impl fmt::Display for When {
    /// `2026-11-20`, or a time with its offset: `2026-11-20T14:30:00+01:00`; [`When::read`] parses both.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => day.fmt(f),
            Self::At(at) => at.strftime("%Y-%m-%dT%H:%M:%S%:z").fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written() {
        let vienna = TimeZone::get("Europe/Vienna").unwrap();
        for (text, wanted) in [
            ("2026-11-20", "2026-11-20"),
            (" 2026-11-20T14:30 ", "2026-11-20T14:30:00+01:00"),
            ("2026-11-20 14:30:05", "2026-11-20T14:30:05+01:00"),
            ("2026-07-01T00:00:00Z", "2026-07-01T02:00:00+02:00"),
            ("2026-07-01T12:00:00-04:00", "2026-07-01T18:00:00+02:00"),
            ("2026-07-01T12:00:00+09:00[Asia/Tokyo]", "2026-07-01T12:00:00+09:00"),
            ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00"),
            ("2026-10-25T02:30", "2026-10-25T02:30:00+02:00"),
        ] {
            let read = When::read(text, &vienna).unwrap();
            assert_eq!(read.to_string(), wanted, "{text}");
            let again = When::read(wanted, &vienna).unwrap();
            assert_eq!(again.start(&vienna).unwrap().timestamp(), read.start(&vienna).unwrap().timestamp(), "{text}");
        }
        for text in ["", "tomorrow", "2026-13-01", "2026-02-30", "14:30", "20.11.2026", "2026-11-20T25:00"] {
            assert!(When::read(text, &vienna).unwrap_err().message().contains("2026-11-20"), "{text}");
        }
        let start = When::read("2026-11-20", &vienna).unwrap().start(&vienna).unwrap();
        assert_eq!(start.to_string(), "2026-11-20T00:00:00+01:00[Europe/Vienna]");
    }
}
