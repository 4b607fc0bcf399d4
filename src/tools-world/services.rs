//! The services of the Config Center that these tools know.

use config_center::{ConfigCenter, Required};
use serde_json::{Map, Value, json};
use tool::{Cx, Label, Result};

/// Where forecasts without a key come from, and the place of the home.
pub(crate) const WEATHER: &str = "weather";
pub(crate) const OPEN_WEATHER_MAP: &str = "openweathermap";

/// Lists the services under which people enter keys and addresses.
///
/// # Errors
/// `BadArgs` when there are too many services.
pub fn register(services: &ConfigCenter) -> Result<()> {
    let field = |name: &str, label: &str, kind: &str, about: &str| json!({"name": name, "label": label, "type": kind, "description": about});
    let key = field("api_key", "Key", "secret", "It is encrypted and never shown again.");
    let weather = json!([
        {
            "name": WEATHER,
            "displayName": "Weather",
            "category": "Weather",
            "description": "The place of the home. Forecasts come from Open-Meteo, which needs no key; another server that speaks \
                            its format can be named.",
            "docsUrl": "https://open-meteo.com/en/docs",
            "configSchema": [
                field("place", "Place of the home", "string", "A town, such as \"Graz, Austria\", or coordinates: 47.07, 15.44."),
                field("forecast_url", "Forecast server", "url", "Default: https://api.open-meteo.com/v1"),
                field("geocoding_url", "Server for places", "url", "Default: https://geocoding-api.open-meteo.com/v1"),
            ],
        },
        {
            "name": OPEN_WEATHER_MAP,
            "displayName": "OpenWeatherMap",
            "category": "Weather",
            "description": "Asked first for the weather where there is a key; otherwise Open-Meteo answers.",
            "docsUrl": "https://openweathermap.org/api",
            "configSchema": [key, field("base_url", "Address", "url", "Default: https://api.openweathermap.org")],
        },
    ]);
    services.register("get_weather", "get_weather", Label::Own, Required::parse_list(&weather)?)?;
    Ok(())
}

/// What a person set up under a service.
pub(crate) struct Setup(Map<String, Value>);

impl Setup {
    /// The default entry of a service; `None` when it has none.
    pub fn of(cx: &Cx, service: &str) -> Option<Self> {
        cx.ports().settings.entry(service, None).map(Self)
    }

    /// A text that is not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }
}
