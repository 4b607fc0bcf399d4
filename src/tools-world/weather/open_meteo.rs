//! Open-Meteo, which needs no key.

use super::{
    place::Place,
    report::{Current, Day, Hour, Report, Units, direction, number, temperature, wmo_words},
};
use crate::api::Api;
use serde::Deserialize;
use tool::{Cx, Error, Result};

/// The name of the source.
pub(crate) const NAME: &str = "Open-Meteo";
pub(crate) const FORECAST: &str = "https://api.open-meteo.com/v1";
pub(crate) const GEOCODING: &str = "https://geocoding-api.open-meteo.com/v1";
/// How many days it forecasts, and how many hours are asked for.
pub(crate) const DAYS: usize = 16;
pub(crate) const HOURS: usize = 24;

const CURRENT: &str = "temperature_2m,relative_humidity_2m,apparent_temperature,is_day,precipitation,weather_code,cloud_cover,\
pressure_msl,wind_speed_10m,wind_direction_10m,wind_gusts_10m";
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max,\
wind_speed_10m_max,sunrise,sunset";
const HOURLY: &str = "temperature_2m,precipitation,precipitation_probability,weather_code,wind_speed_10m";

#[derive(Deserialize)]
struct Answered {
    current: Option<Now>,
    daily: Option<Daily>,
    hourly: Option<Hourly>,
}

#[derive(Deserialize)]
struct Now {
    time: Option<String>,
    temperature_2m: Option<f64>,
    relative_humidity_2m: Option<f64>,
    apparent_temperature: Option<f64>,
    is_day: Option<f64>,
    precipitation: Option<f64>,
    weather_code: Option<u32>,
    cloud_cover: Option<f64>,
    pressure_msl: Option<f64>,
    wind_speed_10m: Option<f64>,
    wind_direction_10m: Option<f64>,
    wind_gusts_10m: Option<f64>,
}

/// Columns of the same length; a shorter one misses values.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Daily {
    time: Vec<String>,
    weather_code: Vec<Option<u32>>,
    temperature_2m_max: Vec<Option<f64>>,
    temperature_2m_min: Vec<Option<f64>>,
    precipitation_sum: Vec<Option<f64>>,
    precipitation_probability_max: Vec<Option<f64>>,
    wind_speed_10m_max: Vec<Option<f64>>,
    sunrise: Vec<Option<String>>,
    sunset: Vec<Option<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Hourly {
    time: Vec<String>,
    temperature_2m: Vec<Option<f64>>,
    precipitation: Vec<Option<f64>>,
    precipitation_probability: Vec<Option<f64>>,
    weather_code: Vec<Option<u32>>,
    wind_speed_10m: Vec<Option<f64>>,
}

/// The value of a column.
fn at<T: Clone>(column: &[Option<T>], row: usize) -> Option<T> {
    column.get(row).cloned().flatten()
}

/// The weather at a place, now and for some days, with its hours where `hourly`.
///
/// # Errors
/// `Unavailable` when it does not answer.
pub(crate) async fn report(
    cx: &Cx,
    api: &Api,
    place: &Place,
    units: Units,
    days: usize,
    hourly: bool,
) -> Result<Report> {
    let (latitude, longitude, days) = (place.latitude.to_string(), place.longitude.to_string(), days.to_string());
    let mut query = vec![
        ("latitude", latitude.as_str()),
        ("longitude", &longitude),
        ("current", CURRENT),
        ("daily", DAILY),
        ("timezone", "auto"),
        ("forecast_days", &days),
    ];
    let hours = HOURS.to_string();
    if hourly {
        query.extend([("hourly", HOURLY), ("forecast_hours", &hours)]);
    }
    if units == Units::Imperial {
        query.extend([("temperature_unit", "fahrenheit"), ("wind_speed_unit", "mph"), ("precipitation_unit", "inch")]);
    }
    let answer = api.get(cx, "forecast", &query, &[]).await?;
    if answer.status != 200 {
        return Err(answer.refusal(&["reason"]));
    }
    read(answer.json()?)
}

fn read(answer: Answered) -> Result<Report> {
    let (now, daily) = (answer.current, answer.daily.unwrap_or_default());
    let time = |text: Option<String>| text.and_then(|text| text.parse().ok());
    let current = now.map(|now| Current {
        time: time(now.time),
        condition: now.weather_code.and_then(wmo_words),
        temperature: temperature(now.temperature_2m),
        feels_like: temperature(now.apparent_temperature),
        humidity: number(now.relative_humidity_2m, 0.0, 100.0),
        wind_speed: number(now.wind_speed_10m, 0.0, 600.0),
        wind_gusts: number(now.wind_gusts_10m, 0.0, 600.0),
        wind_direction: direction(now.wind_direction_10m),
        precipitation: number(now.precipitation, 0.0, 2000.0),
        cloud_cover: number(now.cloud_cover, 0.0, 100.0),
        pressure: number(now.pressure_msl, 500.0, 1200.0),
        is_day: now.is_day.map(|day| day != 0.0),
    });
    let days: Vec<Day> = daily
        .time
        .iter()
        .take(DAYS)
        .enumerate()
        .filter_map(|(row, date)| {
            Some(Day {
                date: date.parse().ok()?,
                condition: at(&daily.weather_code, row).and_then(wmo_words),
                high: temperature(at(&daily.temperature_2m_max, row)),
                low: temperature(at(&daily.temperature_2m_min, row)),
                precipitation: number(at(&daily.precipitation_sum, row), 0.0, 5000.0),
                chance_of_precipitation: number(at(&daily.precipitation_probability_max, row), 0.0, 100.0),
                wind_speed: number(at(&daily.wind_speed_10m_max, row), 0.0, 600.0),
                sunrise: time(at(&daily.sunrise, row)),
                sunset: time(at(&daily.sunset, row)),
            })
        })
        .collect();
    let hourly = answer.hourly.unwrap_or_default();
    let hours = hourly.time.iter().take(HOURS).enumerate().filter_map(|(row, time)| {
        Some(Hour {
            time: time.parse().ok()?,
            condition: at(&hourly.weather_code, row).and_then(wmo_words),
            temperature: temperature(at(&hourly.temperature_2m, row)),
            precipitation: number(at(&hourly.precipitation, row), 0.0, 2000.0),
            chance_of_precipitation: number(at(&hourly.precipitation_probability, row), 0.0, 100.0),
            wind_speed: number(at(&hourly.wind_speed_10m, row), 0.0, 600.0),
        })
    });
    let hours = hours.collect();
    let current = current.filter(|current| current.temperature.is_some());
    if current.is_none() || days.is_empty() {
        return Err(Error::unavailable(format!("{NAME} has no weather for this place: name a town nearby")));
    }
    Ok(Report { current: current.unwrap_or_default(), days, hours })
}
