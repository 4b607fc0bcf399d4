//! Sunrise and sunset at the home's position.

use crate::definition::SunEvent;
use chrono::NaiveDate;
use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date, tz::TimeZone};
use sunrise::{Coordinates, SolarDay, SolarEvent};

/// How many days ahead the sun is looked for: near the poles it may not rise or set for months.
const DAYS: i16 = 200;

/// When the sun rises or sets on a day; `None` where it does not.
fn on_day((latitude, longitude): (f64, f64), event: SunEvent, day: Date) -> Option<Timestamp> {
    let place = Coordinates::new(latitude, longitude)?;
    let date =
        NaiveDate::from_ymd_opt(day.year().into(), u32::try_from(day.month()).ok()?, u32::try_from(day.day()).ok()?)?;
    let event = match event {
        SunEvent::Sunrise => SolarEvent::Sunrise,
        SunEvent::Sunset => SolarEvent::Sunset,
    };
    let at = SolarDay::new(place, date).event_time(event)?;
    Timestamp::from_second(at.timestamp()).ok()
}

/// The next time after `now` that is `offset` minutes from the event.
pub(crate) fn next(
    place: (f64, f64),
    event: SunEvent,
    offset: i32,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<Timestamp> {
    on_date(place, event, offset, next_day(place, event, offset, now, zone)?)
}

/// The time that is `offset` minutes from the event of one day; `None` where there is none on that day.
pub(crate) fn on_date(place: (f64, f64), event: SunEvent, offset: i32, day: Date) -> Option<Timestamp> {
    on_day(place, event, day)?.checked_add(SignedDuration::from_mins(offset.into())).ok()
}

/// The first day whose event, with the offset, comes after `now`.
pub(crate) fn next_day(
    place: (f64, f64),
    event: SunEvent,
    offset: i32,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<Date> {
    let today = now.to_zoned(zone.clone()).date();
    let mut days = (-1..DAYS).filter_map(|days| today.checked_add(days.days()).ok());
    days.find(|day| on_date(place, event, offset, *day).is_some_and(|at| at > now))
}

/// Whether the sun is above the horizon.
pub(crate) fn is_up(place: (f64, f64), now: Timestamp, zone: &TimeZone) -> bool {
    let first = |event| next(place, event, 0, now, zone);
    match (first(SunEvent::Sunrise), first(SunEvent::Sunset)) {
        (Some(rise), Some(set)) if rise.min(set).duration_since(now) < SignedDuration::from_hours(36) => set < rise,
        // It never rises again within months, or never sets: the season decides.
        _ => {
            let summer = (4..=9).contains(&now.to_zoned(zone.clone()).month());
            summer == (place.0 > 0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIENNA: (f64, f64) = (48.2, 16.37);

    fn at(text: &str) -> Timestamp {
        text.parse::<jiff::Zoned>().unwrap().timestamp()
    }

    #[test]
    fn the_sun_over_vienna() {
        let zone = TimeZone::get("Europe/Vienna").unwrap();
        let noon = at("2026-11-20T12:00:00+01:00[Europe/Vienna]");
        let local = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%m-%d %H:%M").to_string();
        // Almanac: sunset 16:10 on that day, sunrise 07:14 on the next.
        let set = next(VIENNA, SunEvent::Sunset, 0, noon, &zone).unwrap();
        assert!(("11-20 16:05".."11-20 16:15").contains(&&*local(set)), "{}", local(set));
        let rise = next(VIENNA, SunEvent::Sunrise, 0, noon, &zone).unwrap();
        assert!(("11-21 07:09".."11-21 07:19").contains(&&*local(rise)), "{}", local(rise));
        let before = next(VIENNA, SunEvent::Sunset, -15, noon, &zone).unwrap();
        assert_eq!(set.duration_since(before), SignedDuration::from_mins(15));
        // After it has passed, the one of the next day.
        assert!(local(next(VIENNA, SunEvent::Sunset, 0, set, &zone).unwrap()).starts_with("11-21"));
        assert!(is_up(VIENNA, noon, &zone) && !is_up(VIENNA, set, &zone));
    }

    #[test]
    fn near_the_pole_the_next_one_is_months_away() {
        let zone = TimeZone::UTC;
        let (tromso, winter) = ((69.65, 18.96), at("2026-12-20T12:00:00+00:00[UTC]"));
        let rise = next(tromso, SunEvent::Sunrise, 0, winter, &zone).unwrap();
        assert_eq!(rise.to_zoned(zone.clone()).month(), 1);
        assert!(!is_up(tromso, winter, &zone));
        assert!(is_up(tromso, at("2026-06-20T00:00:00+00:00[UTC]"), &zone));
        assert_eq!(next((100.0, 0.0), SunEvent::Sunset, 0, winter, &zone), None);
    }
}
