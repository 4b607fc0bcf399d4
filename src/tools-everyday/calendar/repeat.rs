//! Events that repeat: each time is an event of its own, so that one of them can be moved or deleted.

use super::record::Event;
use jiff::{
    Span, ToSpan,
    civil::{Date, Weekday},
    tz::TimeZone,
};
use records::day_of;
use serde::Serialize;
use tool::{When, prelude::*};

/// The most events of one series.
const MOST: usize = 60;
/// Days are counted no further ahead than this.
const FARTHEST: i64 = 3653;

/// How an event repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Repeat {
    /// Every day.
    Daily,
    /// From Monday to Friday.
    Weekdays,
    /// Every week.
    Weekly,
    /// Every second week.
    Fortnightly,
    /// On the same day of each month.
    Monthly,
    /// On the same weekday of each month, such as the first Tuesday.
    MonthlyWeekday,
    /// Every year.
    Yearly,
}

impl Repeat {
    /// For sentences: "every week".
    pub fn words(self) -> &'static str {
        match self {
            Self::Daily => "every day",
            Self::Weekdays => "from Monday to Friday",
            Self::Weekly => "every week",
            Self::Fortnightly => "every two weeks",
            Self::Monthly => "every month",
            Self::MonthlyWeekday => "on that weekday of every month",
            Self::Yearly => "every year",
        }
    }

    /// The event and its repetitions up to `until`, a year long by default and 60 at most.
    ///
    /// # Errors
    /// `BadArgs` when the end is before the beginning.
    pub fn events(self, first: &Event, until: Option<Date>, zone: &TimeZone) -> Result<Vec<Event>> {
        let times = first.times(zone)?;
        let begins = day_of(&times.start, zone);
        let beyond = |_| Error::bad_args("the event repeats beyond the calendar: give an earlier repeatUntil");
        let year = if self == Self::Yearly { 10.years() } else { 1.year() };
        let until = match until {
            Some(until) if until < begins => {
                return Err(Error::bad_args("repeatUntil is before startTime: give a later day"));
            }
            Some(until) => until,
            None => begins.checked_add(year).map_err(beyond)?,
        };
        let mut all = vec![];
        for n in 0..FARTHEST {
            let Some(day) = self.day(begins, n).map_err(beyond)? else { continue };
            if day > until || all.len() == MOST {
                break;
            }
            let start = match &times.start {
                When::Day(_) => When::Day(day),
                When::At(at) => {
                    let local = at.with_time_zone(zone.clone()).time();
                    When::At(day.to_datetime(local).to_zoned(zone.clone()).map_err(beyond)?)
                }
            };
            let mut event = first.clone();
            event.set_times(&times.moved(Some(&start), None, None, zone)?, zone)?;
            all.push(event);
        }
        Ok(all)
    }

    /// The day of repetition `n`; `None` for one that does not exist.
    fn day(self, first: Date, n: i64) -> std::result::Result<Option<Date>, jiff::Error> {
        let later = |span: Span| first.checked_add(span).map(Some);
        match self {
            Self::Daily => later(n.days()),
            Self::Weekdays => {
                let day = later(n.days())?;
                Ok(day.filter(|day| ![Weekday::Saturday, Weekday::Sunday].contains(&day.weekday())))
            }
            Self::Weekly => later((7 * n).days()),
            Self::Fortnightly => later((14 * n).days()),
            // No month has another day in its place.
            Self::Monthly => Ok(later(n.months())?.filter(|day| day.day() == first.day())),
            Self::MonthlyWeekday => {
                let month = first.first_of_month().checked_add(n.months())?;
                let nth = (first.day() - 1) / 7 + 1;
                Ok(month.nth_weekday_of_month(nth, first.weekday()).ok())
            }
            Self::Yearly => Ok(later(n.years())?.filter(|day| day.day() == first.day())),
        }
    }
}
