//! The weather as every source gives it: numbers within what is possible, and conditions in Hob's own words.

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// The units of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Units {
    /// °C, km/h, mm.
    Metric,
    /// °F, mph, inches.
    Imperial,
}

impl Units {
    /// The names of its units.
    pub fn names(self) -> UnitNames {
        match self {
            Self::Metric => UnitNames { temperature: "°C", wind: "km/h", precipitation: "mm" },
            Self::Imperial => UnitNames { temperature: "°F", wind: "mph", precipitation: "inch" },
        }
    }
}

/// The units of the numbers in a report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct UnitNames {
    pub temperature: &'static str,
    pub wind: &'static str,
    pub precipitation: &'static str,
}

/// The weather now.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Current {
    /// The local time at the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feels_like: Option<f64>,
    /// Percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub humidity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wind_speed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wind_gusts: Option<f64>,
    /// Where it blows from: `NW`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wind_direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precipitation: Option<f64>,
    /// Percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_cover: Option<f64>,
    /// Hectopascal at the level of the sea.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_day: Option<bool>,
}

/// The weather of a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Day {
    pub date: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precipitation: Option<f64>,
    /// Percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance_of_precipitation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wind_speed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sunrise: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sunset: Option<DateTime>,
}

/// The weather of an hour, or of the hours until the next line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hour {
    pub time: DateTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precipitation: Option<f64>,
    /// Percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance_of_precipitation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wind_speed: Option<f64>,
}

/// Everything that a source said about a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    pub current: Current,
    pub days: Vec<Day>,
    pub hours: Vec<Hour>,
}

/// A number that is possible, with one decimal.
pub(crate) fn number(value: Option<f64>, from: f64, to: f64) -> Option<f64> {
    value.filter(|n| (from..=to).contains(n)).map(|n| (n * 10.0).round() / 10.0)
}

/// A temperature in any scale.
pub(crate) fn temperature(value: Option<f64>) -> Option<f64> {
    number(value, -150.0, 200.0)
}

/// The direction of a wind.
pub(crate) fn direction(degrees: Option<f64>) -> Option<&'static str> {
    const POINTS: [&str; 8] = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
    let degrees = number(degrees, 0.0, 360.0)?;
    POINTS.get((degrees / 45.0).round() as usize % POINTS.len()).copied()
}

/// The words of a WMO weather code.
pub(crate) fn wmo_words(code: u32) -> Option<&'static str> {
    Some(match code {
        0 => "clear",
        1 => "mostly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 => "foggy",
        48 => "foggy with rime",
        51 => "light drizzle",
        53 => "drizzle",
        55 => "heavy drizzle",
        56 | 57 => "freezing drizzle",
        61 => "light rain",
        63 => "rain",
        65 => "heavy rain",
        66 | 67 => "freezing rain",
        71 => "light snow",
        73 => "snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 => "light showers",
        81 => "showers",
        82 => "heavy showers",
        85 => "light snow showers",
        86 => "heavy snow showers",
        95 => "thunderstorms",
        96 | 99 => "thunderstorms with hail",
        _ => return None,
    })
}

/// The words of a condition of OpenWeatherMap.
pub(crate) fn open_weather_map_words(id: u32) -> Option<&'static str> {
    Some(match id {
        200..=299 => "thunderstorms",
        300 | 310 => "light drizzle",
        302 | 312 | 314 => "heavy drizzle",
        301..=399 => "drizzle",
        500 => "light rain",
        501 => "rain",
        502..=504 => "heavy rain",
        511 => "freezing rain",
        520 => "light showers",
        522 | 531 => "heavy showers",
        505..=599 => "showers",
        600 => "light snow",
        601 => "snow",
        602 => "heavy snow",
        611..=616 => "sleet",
        620 => "light snow showers",
        622 => "heavy snow showers",
        603..=699 => "snow showers",
        701 | 741 => "foggy",
        711 => "smoke",
        721 => "hazy",
        731 | 751 | 761 => "dust",
        762 => "volcanic ash",
        771 => "squalls",
        781 => "tornado",
        800 => "clear",
        801 => "mostly clear",
        802 => "partly cloudy",
        803 => "mostly cloudy",
        804 => "overcast",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_possible() {
        assert_eq!([temperature(Some(12.34)), temperature(Some(-1e9)), temperature(None)], [Some(12.3), None, None]);
        for (degrees, point) in [(0.0, "N"), (22.0, "N"), (23.0, "NE"), (225.0, "SW"), (350.0, "N"), (360.0, "N")] {
            assert_eq!(direction(Some(degrees)), Some(point), "{degrees}");
        }
        assert_eq!(direction(Some(1e300)), None);
    }

    #[test]
    fn every_code_has_words() {
        let wmo = [
            0, 1, 2, 3, 45, 48, 51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 71, 73, 75, 77, 80, 81, 82, 85, 86, 95, 96, 99,
        ];
        assert!(wmo.iter().all(|code| wmo_words(*code).is_some()) && wmo_words(4).is_none());
        let ids = [200, 232, 300, 321, 500, 511, 531, 600, 611, 622, 701, 741, 781, 800, 801, 802, 803, 804];
        assert!(ids.iter().all(|id| open_weather_map_words(*id).is_some()) && open_weather_map_words(900).is_none());
    }
}
