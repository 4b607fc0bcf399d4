//! The stored form of a calendar event, its times and its indexes.

use jiff::{SignedDuration, ToSpan, civil::Date, tz::TimeZone};
use records::{NamedRecord, day_of, millis, truncate};
use serde::{Deserialize, Serialize};
use store::{Key, Level, Record, Walk, order};
use tool::{Error, Result, When};

/// The keys of these indexes end with the start.
pub(crate) const BY_NAME: u8 = 1;
pub(crate) const BY_START: u8 = 2;
pub(crate) const BY_CATEGORY: u8 = 3;
/// By class of length, to find events in progress by looking back no further than they can last.
pub(crate) const BY_SPAN: u8 = 4;

/// A day in milliseconds.
pub(crate) const DAY: i64 = 86_400_000;
/// The classes of length in days; the last is the longest event.
pub(crate) const SPANS: &[i64] = &[1, 8, 64, 512, 4096, 36_525];
/// The length of an event without an end.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// A calendar event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub(crate) title: String,
    /// As [`When`] writes it.
    pub(crate) start: String,
    /// The same; of whole days the last day.
    pub(crate) end: String,
    /// Its beginning and its end in the zone in which it was written, in milliseconds since 1970.
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
    pub(crate) all_day: bool,
    pub(crate) location: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) category: Option<String>,
    /// Minutes from the reminder to the start.
    pub(crate) reminder: Option<u32>,
}

impl Record for Event {
    const NAME: &'static str = "calendar";
    const WORD: &'static str = "calendar event";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        let more = [&self.location, &self.description, &self.category];
        more.into_iter().flatten().chain([&self.title]).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        let start = order::int(self.start_ms);
        let after = |value: &[u8]| [value, &start].concat();
        let mut keys = vec![
            Key::many(BY_NAME, after(&order::text(&self.title))),
            Key::many(BY_START, start),
            Key::many(BY_SPAN, after(&[self.class()])),
        ];
        keys.extend(self.category.iter().map(|category| Key::many(BY_CATEGORY, after(&order::text(category)))));
        keys
    }
}

impl NamedRecord for Event {
    const LISTED_BY: &'static str = "list_calendar_events";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.title
    }
    fn is_finished_at(&self, now_ms: i64) -> bool {
        self.end_ms <= now_ms
    }
    fn distinguishing_detail(&self) -> String {
        format!("`{}`, {}", truncate(&self.title, 80), self.start)
    }
    fn likely() -> Walk {
        Walk::prefix(BY_START, []).down()
    }
}

impl Event {
    /// The first class of length that it fits in.
    fn class(&self) -> u8 {
        let lasts = self.end_ms.saturating_sub(self.start_ms);
        SPANS.iter().position(|days| lasts <= days * DAY).unwrap_or(SPANS.len() - 1) as u8
    }

    /// Its times.
    pub(crate) fn times(&self, zone: &TimeZone) -> Result<Times> {
        Ok(Times { start: When::read(&self.start, zone)?, end: When::read(&self.end, zone)? })
    }

    /// Sets its times.
    pub(crate) fn set_times(&mut self, times: &Times, zone: &TimeZone) -> Result<()> {
        (self.start_ms, self.end_ms) = times.bounds(zone)?;
        (self.start, self.end) = (times.start.to_string(), times.end.to_string());
        self.all_day = matches!(times.start, When::Day(_));
        Ok(())
    }

    /// Its beginning and its end in `zone`. A new time zone of the household moves whole days; times that cannot be read stay.
    pub(crate) fn bounds(&self, zone: &TimeZone) -> (i64, i64) {
        let stored = (self.start_ms, self.end_ms);
        if self.all_day { self.times(zone).and_then(|times| times.bounds(zone)).unwrap_or(stored) } else { stored }
    }
}

/// The times of an event: from one moment to another, or from one whole day to another, inclusive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times {
    pub start: When,
    pub end: When,
}

impl Times {
    /// From arguments: a start without a time is a whole day; without an end it lasts an hour, or the day.
    pub(crate) fn new(start: &When, end: Option<&When>, all_day: Option<bool>, zone: &TimeZone) -> Result<Self> {
        match (start, all_day) {
            (When::Day(day), Some(false)) => Err(Error::bad_args(format!(
                "an event that is not all day needs a startTime with a time: write it as {day}T14:30"
            ))),
            (_, Some(true)) | (When::Day(_), None) => {
                let (first, last) = (day_of(start, zone), end.map_or(day_of(start, zone), |end| day_of(end, zone)));
                Self { start: When::Day(first), end: When::Day(last) }.checked(zone)
            }
            (When::At(at), _) => {
                let end = match end {
                    None => When::At(at.checked_add(HOUR).map_err(|_| beyond())?),
                    Some(When::Day(day)) => {
                        let text = format!("startTime has a time, so endTime needs one too: write it as {day}T15:30");
                        return Err(Error::bad_args(text));
                    }
                    Some(end) => end.clone(),
                };
                Self { start: start.clone(), end }.checked(zone)
            }
        }
    }

    /// These times after a change. A start alone moves the end too; a day alone keeps the time of day.
    pub(crate) fn moved(
        &self,
        start: Option<&When>,
        end: Option<&When>,
        all_day: Option<bool>,
        zone: &TimeZone,
    ) -> Result<Self> {
        match (start, end, all_day) {
            (None, None, None) => Ok(self.clone()),
            (None, None, Some(true)) => Self::new(&self.start, Some(&self.last_moment()?), all_day, zone),
            (None, end, _) => Self::new(&self.start, end.or(Some(&self.end)), all_day, zone),
            (Some(When::Day(day)), _, None | Some(false)) if matches!(self.start, When::At(_)) => {
                let start = self.at_the_time_of_day(*day, zone)?;
                Self::new(&start, end.or(self.as_long_from(&start)?.as_ref()), Some(false), zone)
            }
            (Some(start), Some(_), _) => Self::new(start, end, all_day, zone),
            (Some(start), None, _) => {
                let moved = Self::new(start, None, all_day, zone)?;
                Self::new(&moved.start, self.as_long_from(&moved.start)?.as_ref().or(Some(&moved.end)), all_day, zone)
            }
        }
    }

    /// The last moment of it: midnight belongs to the day before.
    fn last_moment(&self) -> Result<When> {
        match (&self.start, &self.end) {
            (When::At(start), When::At(end)) if start < end => {
                Ok(When::At(end.checked_sub(SignedDuration::from_millis(1)).map_err(|_| beyond())?))
            }
            (_, end) => Ok(end.clone()),
        }
    }

    fn at_the_time_of_day(&self, day: Date, zone: &TimeZone) -> Result<When> {
        let time = match &self.start {
            When::At(at) => at.with_time_zone(zone.clone()).time(),
            When::Day(_) => return Ok(When::Day(day)),
        };
        day.to_datetime(time).to_zoned(zone.clone()).map(When::At).map_err(|_| beyond())
    }

    /// The end of an equally long event that begins at `start`; `None` if only one of them is whole days.
    fn as_long_from(&self, start: &When) -> Result<Option<When>> {
        let end = match (&self.start, &self.end, start) {
            (When::At(old), When::At(end), When::At(new)) => {
                Some(When::At(new.checked_add(end.duration_since(old)).map_err(|_| beyond())?))
            }
            (When::Day(old), When::Day(end), When::Day(new)) => {
                let days = end.since(*old).map_err(|_| beyond())?.get_days();
                Some(When::Day(new.checked_add(days.days()).map_err(|_| beyond())?))
            }
            _ => None,
        };
        Ok(end)
    }

    /// Its beginning and its end, in milliseconds since 1970.
    pub(crate) fn bounds(&self, zone: &TimeZone) -> Result<(i64, i64)> {
        let over = match &self.end {
            When::Day(last) => When::Day(last.tomorrow().map_err(|_| beyond())?),
            end => end.clone(),
        };
        Ok((millis(&self.start, zone)?, millis(&over, zone)?))
    }

    fn checked(self, zone: &TimeZone) -> Result<Self> {
        let (start, over) = self.bounds(zone)?;
        let empty = matches!((&self.start, &self.end), (When::Day(first), When::Day(last)) if last < first);
        if over < start || empty {
            let (start, end) = (&self.start, &self.end);
            return Err(Error::bad_args(format!("endTime ({end}) is before startTime ({start}): give a later one")));
        }
        if over - start > SPANS[SPANS.len() - 1] * DAY {
            return Err(Error::bad_args("the event lasts more than 100 years: give an earlier endTime"));
        }
        Ok(self)
    }
}

fn beyond() -> Error {
    Error::bad_args("the event ends beyond the calendar: give other times")
}
