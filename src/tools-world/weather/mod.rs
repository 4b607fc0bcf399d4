//! The weather: at a place by its name, at coordinates, or at home.

mod open_meteo;
mod open_weather_map;
mod place;
mod report;

use crate::{
    api::Api,
    cache::Cache,
    services::{OPEN_METEO, OPEN_WEATHER_MAP, Setup},
};
use http_client::Guarded;
use place::{Place, PlaceQuery, Places};
use report::{Current, Day, Report, Units};
use std::{sync::Arc, time::Duration};
use text_kit::{capitalized, day_name};
use tool::prelude::*;

/// How many days a forecast has by default.
const DAYS: u32 = 5;
/// How many reports are kept, and for how long.
const KEPT: usize = 64;
const KEPT_FOR: Duration = Duration::from_secs(600);
/// How many days are said: up to the same day of the next week.
const SAID: usize = 8;
/// Three requests in a row, and their fallback.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Names of the place in other APIs.
const SYNONYMS: &[(&str, &str)] = &[
    ("city", "location"),
    ("place", "location"),
    ("address", "location"),
    ("q", "location"),
    ("query", "location"),
    ("unit", "units"),
    ("num_days", "days"),
    ("forecast_days", "days"),
];

/// What is known of the home.
#[derive(Clone)]
pub struct Home {
    /// Its latitude and longitude in degrees.
    pub place: Arc<dyn Fn() -> Option<(f64, f64)> + Send + Sync>,
    /// Whether people there use imperial units.
    pub imperial: Arc<dyn Fn() -> bool + Send + Sync>,
}

#[derive(Clone)]
struct Weather(Arc<Inner>);

struct Inner {
    home: Home,
    web: Guarded,
    places: Places,
    reports: Cache<Sourced>,
}

/// A report, its source, and why that is not the first choice.
#[derive(Clone)]
struct Sourced {
    report: Report,
    source: &'static str,
    note: Option<String>,
}

/// Tools for the weather.
pub fn family(home: Home, web: Guarded) -> Family<impl Clone + Send + Sync + 'static> {
    let inner = Inner { home, web, places: Places::default(), reports: Cache::new(KEPT, KEPT_FOR) };
    Family::new("weather", "Current weather and forecasts.", Weather(Arc::new(inner)))
        .area(Area::NetworkRead)
        .tool("get_weather", Risk::Observe, get_weather)
        .synonyms(SYNONYMS)
        .shows(&["location"])
        .tags("temperature rain snow wind outside cold warm umbrella now")
        .example(json!({"location": "Graz, Austria"}))
        .timeout(TIMEOUT)
        .tool("get_weather_forecast", Risk::Observe, get_weather_forecast)
        .page_by("days", (DAYS, open_meteo::DAYS as u32))
        .synonyms(SYNONYMS)
        .shows(&["location", "days"])
        .tags("tomorrow week weekend rain snow sun sunrise sunset temperature umbrella")
        .example(json!({"location": "Paris, Texas", "days": 3}))
        .timeout(TIMEOUT)
}

/// Get the current weather at a place, and today's high, low and chance of rain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetWeather {
    /// A place such as "Graz" or "Paris, Texas", or coordinates such as "47.07, 15.44" (default: the home).
    #[serde(default)]
    location: String,
    /// Units (default: those of the household).
    units: Option<Units>,
}

/// Get the weather forecast for the coming days, today included.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetForecast {
    /// A place such as "Graz" or "Paris, Texas", or coordinates such as "47.07, 15.44" (default: the home).
    #[serde(default)]
    location: String,
    days: Option<u32>,
    /// Also return the next 24 hours.
    #[serde(default)]
    hourly: bool,
    /// Units (default: those of the household).
    units: Option<Units>,
}

async fn get_weather(weather: Weather, cx: Cx, args: GetWeather) -> Result<Output> {
    let units = weather.units(args.units);
    let place = weather.place(&cx, &args.location).await?;
    let Sourced { report, source, note } = weather.report(&cx, &place, units, 1, false).await?;
    let today = report.days.first();
    let said = current_words(&report.current, today, &place, units);
    let mut content = json!({"place": place, "current": report.current, "units": units.names(), "source": source});
    if let Some(today) = today {
        content["today"] = json!(today);
    }
    Ok(finished(content, note).say(said))
}

async fn get_weather_forecast(weather: Weather, cx: Cx, args: GetForecast) -> Result<Output> {
    let units = weather.units(args.units);
    let days = args.days.unwrap_or(DAYS).clamp(1, open_meteo::DAYS as u32) as usize;
    let place = weather.place(&cx, &args.location).await?;
    let Sourced { report, source, note } = weather.report(&cx, &place, units, days, args.hourly).await?;
    let today = cx.ports().clock.local().date();
    let lines: Vec<String> = report
        .days
        .iter()
        .take(SAID)
        .map(|day| format!("{} {}", day_name(day.date, today), day_words(day, units)))
        .collect();
    let said = format!("{}: {}.", capitalized(&place.words()), lines.join("; "));
    let mut content = json!({"place": place, "days": report.days, "units": units.names(), "source": source});
    if args.hourly {
        content["hours"] = json!(report.hours);
    }
    Ok(finished(content, note).say(said))
}

/// The output, which is from outside.
fn finished(mut content: Value, note: Option<String>) -> Output {
    if let Some(note) = note {
        content["note"] = note.into();
    }
    Output { content, ..Output::default() }.from_outside()
}

impl Weather {
    fn units(&self, wanted: Option<Units>) -> Units {
        wanted.unwrap_or_else(|| if (self.0.home.imperial)() { Units::Imperial } else { Units::Metric })
    }

    /// The place that the arguments name.
    async fn place(&self, cx: &Cx, location: &str) -> Result<Place> {
        match PlaceQuery::read(location)? {
            PlaceQuery::Coordinates(latitude, longitude) => Ok(Place::at(latitude, longitude)),
            PlaceQuery::Named(name, within) => self.named(cx, &name, &within).await,
            PlaceQuery::Home => self.home(cx).await,
        }
    }

    async fn named(&self, cx: &Cx, name: &str, within: &[String]) -> Result<Place> {
        let setup = Setup::of(cx, OPEN_METEO);
        let address = setup.as_ref().and_then(|setup| setup.text("geocoding_url"));
        let api = Api::new(&self.0.web, "the search for places", address, open_meteo::GEOCODING)?;
        self.0.places.find(cx, &api, name, within).await
    }

    /// The home: what an admin entered, else the position in hob.toml or in Home Assistant.
    async fn home(&self, cx: &Cx) -> Result<Place> {
        let setup = Setup::of(cx, OPEN_METEO);
        let entered = setup.as_ref().and_then(|setup| setup.text("place"));
        let place = match entered.map(PlaceQuery::read).transpose()? {
            Some(PlaceQuery::Coordinates(latitude, longitude)) => Some(Place::at(latitude, longitude)),
            Some(PlaceQuery::Named(name, within)) => Some(self.named(cx, &name, &within).await?),
            Some(PlaceQuery::Home) | None => {
                (self.0.home.place)().map(|(latitude, longitude)| Place::at(latitude, longitude))
            }
        };
        let place = place.ok_or_else(|| {
            Error::unavailable(
                "it is not known where the home is: pass `location`; an admin can enter the place of the home in the service \
                 `open_meteo` of the Config Center, or its latitude and longitude in hob.toml",
            )
            .say("I do not know where this home is. Name a place, or let an admin enter it under Services, Weather.")
        })?;
        Ok(Place { is_home: true, ..place })
    }

    /// The report of the first source that answers.
    async fn report(&self, cx: &Cx, place: &Place, units: Units, days: usize, hourly: bool) -> Result<Sourced> {
        let setup = Setup::of(cx, OPEN_WEATHER_MAP);
        let key = setup.as_ref().and_then(|setup| setup.text("api_key"));
        let asked = (place.latitude.to_bits(), place.longitude.to_bits(), units, days, hourly, key.is_some());
        let question = format!("{asked:?}");
        if let Some(kept) = self.0.reports.get(&question) {
            return Ok(kept);
        }
        let mut note = None;
        let mut found = None;
        if let Some((key, setup)) = key.zip(setup.as_ref()) {
            if days > open_weather_map::DAYS {
                let (name, most) = (open_weather_map::NAME, open_weather_map::DAYS);
                note = Some(format!("{name} forecasts {most} days, so {} was asked", open_meteo::NAME));
            } else {
                let api =
                    Api::new(&self.0.web, open_weather_map::NAME, setup.text("base_url"), open_weather_map::ADDRESS);
                let report = match api {
                    Ok(api) => open_weather_map::report(cx, &api, key, place, units, days).await,
                    Err(error) => Err(error),
                };
                match report {
                    Ok(report) => found = Some((report, open_weather_map::NAME)),
                    Err(error) => note = Some(format!("{error}; {} answered instead", open_meteo::NAME)),
                }
            }
        }
        let (report, source) = match found {
            Some(found) => found,
            None => {
                let setup = Setup::of(cx, OPEN_METEO);
                let address = setup.as_ref().and_then(|setup| setup.text("forecast_url"));
                let api = Api::new(&self.0.web, open_meteo::NAME, address, open_meteo::FORECAST)?;
                (open_meteo::report(cx, &api, place, units, days, hourly).await?, open_meteo::NAME)
            }
        };
        let sourced = Sourced { report, source, note };
        self.0.reports.put(question, sourced.clone());
        Ok(sourced)
    }
}

/// A number without decimals.
fn whole(number: f64) -> i64 {
    number.round() as i64
}

fn current_words(now: &Current, today: Option<&Day>, place: &Place, units: Units) -> String {
    let names = units.names();
    let degrees = now.temperature.map(|t| format!("{} {}", whole(t), names.temperature));
    let parts: Vec<String> = degrees.into_iter().chain(now.condition.map(str::to_owned)).collect();
    let mut said = format!("It is {} {}", parts.join(" and "), place.words());
    if let Some(feels) = now.feels_like.filter(|f| now.temperature.is_some_and(|t| (f - t).abs() >= 2.0)) {
        said += &format!(", and feels like {} {}", whole(feels), names.temperature);
    }
    if let Some(wind) = now.wind_speed.filter(|wind| *wind >= 1.0) {
        said += &format!(", with wind of {} {}", whole(wind), names.wind);
    }
    said += ".";
    if let Some(day) = today {
        said += &format!(" Today: {}.", day_words(day, units));
    }
    said
}

fn day_words(day: &Day, units: Units) -> String {
    let mut parts: Vec<String> = day.condition.map(str::to_owned).into_iter().collect();
    if let Some((low, high)) = day.low.zip(day.high) {
        parts.push(format!("{} to {} {}", whole(low), whole(high), units.names().temperature));
    }
    if let Some(chance) = day.chance_of_precipitation.filter(|chance| *chance >= 10.0) {
        parts.push(format!("{} % chance of rain or snow", whole(chance)));
    }
    if parts.is_empty() { "not known".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weather_in_words() {
        let now = Current {
            condition: Some("light rain"),
            temperature: Some(3.6),
            feels_like: Some(0.4),
            wind_speed: Some(14.2),
            ..Current::default()
        };
        let date = jiff::civil::date(2026, 11, 27);
        let day = Day {
            date,
            condition: Some("overcast"),
            high: Some(5.5),
            low: Some(-0.4),
            precipitation: None,
            chance_of_precipitation: Some(60.0),
            wind_speed: None,
            sunrise: None,
            sunset: None,
        };
        let place = Place { is_home: true, ..Place::at(47.0, 15.4) };
        assert_eq!(
            current_words(&now, Some(&day), &place, Units::Metric),
            "It is 4 °C and light rain at home, and feels like 0 °C, with wind of 14 km/h. Today: overcast, 0 to 6 °C, 60 % \
             chance of rain or snow."
        );
        let bare = Day { condition: None, high: None, chance_of_precipitation: None, ..day };
        assert_eq!(day_words(&bare, Units::Imperial), "not known");
    }
}
