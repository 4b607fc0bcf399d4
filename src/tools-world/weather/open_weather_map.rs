//! OpenWeatherMap, by the household's key.

use super::{
    place::Place,
    report::{Current, Day, Hour, Report, Units, direction, number, open_weather_map_words, temperature},
};
use crate::api::Api;
use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::{Offset, TimeZone},
};
use serde::Deserialize;
use tool::{Cx, Error, Result};

/// The name of the source.
pub(crate) const NAME: &str = "OpenWeatherMap";
pub(crate) const ADDRESS: &str = "https://api.openweathermap.org";
/// How many days it forecasts, in steps of three hours.
pub(crate) const DAYS: usize = 5;
const STEPS: usize = 40;
/// The steps of a day.
const HOURS: usize = 8;

#[derive(Deserialize)]
struct Now {
    #[serde(default)]
    weather: Vec<Condition>,
    main: Main,
    #[serde(default)]
    wind: Wind,
    #[serde(default)]
    clouds: Clouds,
    #[serde(default)]
    rain: Fallen,
    #[serde(default)]
    snow: Fallen,
    dt: i64,
    #[serde(default)]
    sys: Sun,
    #[serde(default)]
    timezone: i32,
}

#[derive(Deserialize)]
struct Condition {
    id: u32,
}

#[derive(Deserialize)]
struct Main {
    temp: Option<f64>,
    feels_like: Option<f64>,
    temp_min: Option<f64>,
    temp_max: Option<f64>,
    humidity: Option<f64>,
    pressure: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Wind {
    speed: Option<f64>,
    deg: Option<f64>,
    gust: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Clouds {
    all: Option<f64>,
}

/// Millimetres of the last hour or three.
#[derive(Deserialize, Default)]
struct Fallen {
    #[serde(rename = "1h")]
    one: Option<f64>,
    #[serde(rename = "3h")]
    three: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Sun {
    sunrise: Option<i64>,
    sunset: Option<i64>,
}

#[derive(Deserialize)]
struct Forecast {
    #[serde(default)]
    list: Vec<Step>,
    #[serde(default)]
    city: City,
}

#[derive(Deserialize, Default)]
struct City {
    #[serde(default)]
    timezone: i32,
}

#[derive(Deserialize)]
struct Step {
    dt: i64,
    main: Main,
    #[serde(default)]
    weather: Vec<Condition>,
    #[serde(default)]
    wind: Wind,
    #[serde(default)]
    rain: Fallen,
    #[serde(default)]
    snow: Fallen,
    pop: Option<f64>,
}

/// The weather at a place, now and for at most [`DAYS`] days.
///
/// # Errors
/// `Unavailable` when it does not answer or refuses the key.
pub(crate) async fn report(cx: &Cx, api: &Api, key: &str, place: &Place, units: Units, days: usize) -> Result<Report> {
    let (latitude, longitude) = (place.latitude.to_string(), place.longitude.to_string());
    let system = if units == Units::Imperial { "imperial" } else { "metric" };
    let query = [("lat", latitude.as_str()), ("lon", &longitude), ("units", system), ("appid", key)];
    let answer = api.get(cx, "data/2.5/weather", &query, &[]).await?;
    if answer.status != 200 {
        return Err(answer.refusal(&["message"]));
    }
    let now: Now = answer.json()?;
    let answer = api.get(cx, "data/2.5/forecast", &query, &[]).await?;
    if answer.status != 200 {
        return Err(answer.refusal(&["message"]));
    }
    read(&now, answer.json()?, units, days)
}

/// The time at the place, which is so many seconds ahead of UTC.
fn local(seconds: i64, ahead: i32) -> Option<DateTime> {
    let zone = TimeZone::fixed(Offset::from_seconds(ahead).ok()?);
    Some(Timestamp::from_second(seconds).ok()?.to_zoned(zone).datetime())
}

/// Metric wind is in metres per second there, and a report has km/h.
fn wind(speed: Option<f64>, units: Units) -> Option<f64> {
    let factor = if units == Units::Metric { 3.6 } else { 1.0 };
    number(speed.map(|speed| speed * factor), 0.0, 600.0)
}

/// What has fallen is always in millimetres there.
fn fallen(mm: f64, units: Units) -> Option<f64> {
    let factor = if units == Units::Imperial { 1.0 / 25.4 } else { 1.0 };
    let amount = mm * factor;
    (0.0..5000.0).contains(&amount).then(|| (amount * 100.0).round() / 100.0)
}

fn mm(fallen: &[&Fallen]) -> f64 {
    fallen.iter().filter_map(|fallen| fallen.one.or(fallen.three)).sum()
}

fn words(conditions: &[Condition]) -> Option<&'static str> {
    conditions.first().and_then(|condition| open_weather_map_words(condition.id))
}

fn read(now: &Now, forecast: Forecast, units: Units, days: usize) -> Result<Report> {
    let ahead = now.timezone;
    let sun = (now.sys.sunrise, now.sys.sunset);
    let current = Current {
        time: local(now.dt, ahead),
        condition: words(&now.weather),
        temperature: temperature(now.main.temp),
        feels_like: temperature(now.main.feels_like),
        humidity: number(now.main.humidity, 0.0, 100.0),
        wind_speed: wind(now.wind.speed, units),
        wind_gusts: wind(now.wind.gust, units),
        wind_direction: direction(now.wind.deg),
        precipitation: fallen(mm(&[&now.rain, &now.snow]), units),
        cloud_cover: number(now.clouds.all, 0.0, 100.0),
        pressure: number(now.main.pressure, 500.0, 1200.0),
        is_day: sun.0.zip(sun.1).map(|(rise, set)| (rise..set).contains(&now.dt)),
    };
    let ahead = if forecast.city.timezone == 0 { ahead } else { forecast.city.timezone };
    let steps: Vec<(DateTime, Step)> =
        forecast.list.into_iter().take(STEPS).filter_map(|step| Some((local(step.dt, ahead)?, step))).collect();
    let mut dates: Vec<Date> = steps.iter().map(|(time, _)| time.date()).collect();
    dates.dedup();
    let mut all: Vec<Day> = dates.into_iter().take(days).map(|date| day(date, &steps, units)).collect();
    if let Some(today) = all.first_mut().filter(|day| current.time.is_some_and(|now| now.date() == day.date)) {
        // What is left of today need not contain its extremes.
        let extreme = |a: Option<f64>, b: Option<f64>, choose: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        };
        today.high = extreme(today.high, current.temperature, f64::max);
        today.low = extreme(today.low, current.temperature, f64::min);
        (today.sunrise, today.sunset) = (sun.0.and_then(|at| local(at, ahead)), sun.1.and_then(|at| local(at, ahead)));
    }
    let hours = steps.iter().take(HOURS).map(|(time, step)| Hour {
        time: *time,
        condition: words(&step.weather),
        temperature: temperature(step.main.temp),
        precipitation: fallen(mm(&[&step.rain, &step.snow]), units),
        chance_of_precipitation: number(step.pop.map(|chance| chance * 100.0), 0.0, 100.0),
        wind_speed: wind(step.wind.speed, units),
    });
    let hours = hours.collect();
    if current.temperature.is_none() || all.is_empty() {
        return Err(Error::unavailable(format!("{NAME} has no weather for this place: name a town nearby")));
    }
    Ok(Report { current, days: all, hours })
}

/// A day of its steps: the condition is that of the middle of the day.
fn day(date: Date, steps: &[(DateTime, Step)], units: Units) -> Day {
    let of_day: Vec<&(DateTime, Step)> = steps.iter().filter(|(time, _)| time.date() == date).collect();
    let middle = of_day.iter().min_by_key(|(time, _)| (i32::from(time.hour()) - 13).abs());
    let values =
        |value: fn(&Main) -> Option<f64>| of_day.iter().filter_map(move |(_, step)| temperature(value(&step.main)));
    let chance = of_day.iter().filter_map(|(_, step)| number(step.pop.map(|pop| pop * 100.0), 0.0, 100.0));
    let winds = of_day.iter().filter_map(|(_, step)| wind(step.wind.speed, units));
    let amount: f64 = of_day.iter().map(|(_, step)| mm(&[&step.rain, &step.snow])).sum();
    Day {
        date,
        condition: middle.and_then(|(_, step)| words(&step.weather)),
        high: values(|main| main.temp_max).reduce(f64::max),
        low: values(|main| main.temp_min).reduce(f64::min),
        precipitation: fallen(amount, units),
        chance_of_precipitation: chance.reduce(f64::max),
        wind_speed: winds.reduce(f64::max),
        sunrise: None,
        sunset: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_days() {
        let step = |dt: i64, low: f64, high: f64, id: u32, rain: f64| {
            serde_json::json!({"dt": dt, "main": {"temp": low, "temp_min": low, "temp_max": high}, "weather": [{"id": id}],
                "wind": {"speed": 10.0}, "pop": 0.4, "rain": {"3h": rain}})
        };
        // 2026-11-27 18:00 UTC is 19:00 in Vienna; the next two are on the day after.
        let list = vec![
            step(1_795_802_400, 3.0, 4.0, 800, 0.0),
            step(1_795_856_400, -2.0, 1.0, 600, 1.5),
            step(1_795_867_200, 0.0, 5.5, 500, 2.0),
        ];
        let forecast = serde_json::from_value(serde_json::json!({"list": list, "city": {"timezone": 3600}})).unwrap();
        let now = serde_json::json!({"dt": 1_795_795_200, "timezone": 3600, "main": {"temp": 6.0}, "weather": [{"id": 802}],
            "sys": {"sunrise": 1_795_759_000, "sunset": 1_795_790_000}});
        let report = read(&serde_json::from_value(now).unwrap(), forecast, Units::Metric, 5).unwrap();
        assert_eq!((report.current.condition, report.current.is_day), (Some("partly cloudy"), Some(false)));
        let days: Vec<_> = report.days.iter().map(|d| (d.date.to_string(), d.low, d.high, d.condition)).collect();
        assert_eq!(
            days,
            [
                ("2026-11-27".to_owned(), Some(3.0), Some(6.0), Some("clear")),
                ("2026-11-28".to_owned(), Some(-2.0), Some(5.5), Some("light rain")),
            ]
        );
        assert_eq!((report.days[1].precipitation, report.days[1].wind_speed), (Some(3.5), Some(36.0)));
    }
}
