//! The current time in any time zone.

use board::Device;
use jiff::{Zoned, civil::Weekday, tz, tz::TimeZone};
use text_kit::clock_words;
use tool::prelude::*;

/// Get the current date and time, in the household's time zone or another.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Now {
    /// IANA time zone such as Europe/Vienna, or just its city. Default: the household's.
    timezone: Option<String>,
}

/// The answer, as the seed documents it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Moment {
    iso: String,
    formatted: String,
    unix: i64,
    unix_ms: i64,
    timezone: String,
    date: String,
    time: String,
    day_of_week: &'static str,
    week_number: i8,
    quarter: i8,
    is_weekend: bool,
}

pub(crate) async fn now(_: Device, cx: Cx, Now { timezone }: Now) -> Result<Output> {
    let clock = &cx.ports().clock;
    let asked = timezone.as_deref().map(str::trim).filter(|zone| !zone.is_empty()).map(zone).transpose()?;
    let now = match &asked {
        Some(zone) => clock.now().to_zoned(zone.clone()),
        None => clock.local(),
    };
    let place = asked.and_then(|zone| Some(city(zone.iana_name()?))).map(|city| format!(" in {city}"));
    let sentence = match place {
        Some(place) => format!("It is {}{place}, on {}.", clock_words(now.time()), now.strftime("%A %-d %B")),
        None => format!("It is {} on {}.", clock_words(now.time()), now.strftime("%A %-d %B %Y")),
    };
    Ok(Output::json(moment(&now))?.say(sentence))
}

fn moment(now: &Zoned) -> Moment {
    let day = day_name(now.weekday());
    Moment {
        iso: now.timestamp().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        formatted: format!("{day}, {}", now.strftime("%m/%d/%Y, %H:%M:%S")),
        unix: now.timestamp().as_second(),
        unix_ms: now.timestamp().as_millisecond(),
        // A zone without a name has a fixed offset.
        timezone: now.time_zone().iana_name().map_or_else(|| now.offset().to_string(), str::to_owned),
        date: now.strftime("%Y-%m-%d").to_string(),
        time: now.strftime("%H:%M:%S").to_string(),
        day_of_week: day,
        week_number: now.date().iso_week_date().week(),
        quarter: (now.month() - 1) / 3 + 1,
        is_weekend: matches!(now.weekday(), Weekday::Saturday | Weekday::Sunday),
    }
}

/// Find a zone by its IANA name, or by its city: "new york" is America/New_York.
pub(crate) fn zone(name: &str) -> Result<TimeZone> {
    if let Ok(zone) = TimeZone::get(name) {
        return Ok(zone);
    }
    let wanted = name.replace(' ', "_").to_lowercase();
    let names = || tz::db().available().map(|name| name.to_string());
    let of_city = names().find(|name| name.rsplit('/').next().is_some_and(|city| city.to_lowercase() == wanted));
    of_city.and_then(|name| TimeZone::get(&name).ok()).ok_or_else(|| {
        Error::bad_args(format!("`{name}` is not a time zone: use an IANA name such as Europe/Vienna or Asia/Tokyo"))
    })
}

/// "New York" of "America/New_York".
fn city(zone: &str) -> String {
    zone.rsplit('/').next().unwrap_or(zone).replace('_', " ")
}

pub(crate) fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    async fn ask(args: Value) -> Result<Output> {
        call(crate::utilities(Device::new("/")), &cx(), "datetime", args).await
    }

    #[tokio::test]
    async fn the_answer_has_the_documented_shape() {
        let answer = ask(json!({})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "iso": "2026-11-20T13:30:00.000Z",
                "formatted": "Friday, 11/20/2026, 14:30:00",
                "unix": 1_795_181_400,
                "unixMs": 1_795_181_400_000_i64,
                "timezone": "Europe/Vienna",
                "date": "2026-11-20",
                "time": "14:30:00",
                "dayOfWeek": "Friday",
                "weekNumber": 47,
                "quarter": 4,
                "isWeekend": false
            })
        );
        assert_eq!(answer.say.as_deref(), Some("It is 14:30 on Friday 20 November 2026."));
    }

    #[tokio::test]
    async fn elsewhere_it_is_another_time() {
        let table = [
            ("Asia/Tokyo", "It is 22:30 in Tokyo, on Friday 20 November."),
            ("tokyo", "It is 22:30 in Tokyo, on Friday 20 November."),
            ("New York", "It is 08:30 in New York, on Friday 20 November."),
            ("Pacific/Kiritimati", "It is 03:30 in Kiritimati, on Saturday 21 November."),
            ("", "It is 14:30 on Friday 20 November 2026."),
        ];
        for (zone, expected) in table {
            assert_eq!(ask(json!({"timezone": zone})).await.unwrap().say.as_deref(), Some(expected), "{zone}");
        }
        assert!(matches!(ask(json!({"timezone": "Mars/Olympus"})).await, Err(Error::BadArgs(_))));
        assert!(matches!(ask(json!({"zone": "UTC"})).await, Err(Error::BadArgs(_))));
    }

    #[test]
    fn days_are_named_as_they_are() {
        // The seed's own example calls this Friday a Thursday.
        let table = [
            ("2026-01-30T14:30:00+03:00[Europe/Istanbul]", "Friday", 5, 1, false),
            ("2024-12-30T00:00:00+00:00[UTC]", "Monday", 1, 4, false),
            ("2027-01-03T12:00:00+00:00[UTC]", "Sunday", 53, 1, true),
            ("2026-07-04T12:00:00+00:00[UTC]", "Saturday", 27, 3, true),
        ];
        for (when, day, week, quarter, weekend) in table {
            let m = moment(&when.parse().unwrap());
            assert_eq!(
                (m.day_of_week, m.week_number, m.quarter, m.is_weekend),
                (day, week, quarter, weekend),
                "{when}"
            );
        }
    }
}
