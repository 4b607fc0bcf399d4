//! The services of the Config Center that these tools know.

use config_center::{ConfigCenter, Required};
use serde_json::{Map, Value, json};
use tool::{Cx, Label, Result};

/// Where forecasts without a key come from, and the place of the home.
pub(crate) const OPEN_METEO: &str = "open_meteo";
pub(crate) const OPEN_WEATHER_MAP: &str = "openweathermap";
/// Translators.
pub(crate) const DEEPL: &str = "deepl";
pub(crate) const LIBRE_TRANSLATE: &str = "libretranslate";
/// Servers that speak OpenAI's format.
pub(crate) const OPENAI_COMPATIBLE: &str = "openai_compatible";

/// Lists the services under which people enter keys and addresses.
///
/// # Errors
/// `BadArgs` when there are too many services.
pub fn register(services: &ConfigCenter) -> Result<()> {
    let field = |name: &str, label: &str, kind: &str, about: &str| json!({"name": name, "label": label, "type": kind, "description": about});
    let key = field("api_key", "Key", "secret", "It is encrypted and never shown again.");
    let weather = json!([
        {
            "name": OPEN_METEO,
            "displayName": "Weather (Open-Meteo)",
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
    let languages = json!([
        {
            "name": DEEPL,
            "displayName": "DeepL",
            "category": "Languages",
            "description": "Translates first where there is a key, also a free one.",
            "docsUrl": "https://developers.deepl.com",
            "configSchema": [key, field("base_url", "Address", "url", "Default: that of free keys (they end in :fx) or of others.")],
        },
        {
            "name": LIBRE_TRANSLATE,
            "displayName": "LibreTranslate",
            "category": "Languages",
            "description": "A translation server of your own, or libretranslate.com with a key.",
            "docsUrl": "https://docs.libretranslate.com",
            "configSchema": [field("base_url", "Address", "url", "Such as http://192.168.1.5:5000. Default: https://libretranslate.com"), key],
        },
    ]);
    let address = json!({"name": "base_url", "label": "Address", "type": "url", "required": true,
        "description": "Such as https://openrouter.ai/api/v1 or http://192.168.1.5:8080/v1."});
    let servers = json!([{
        "name": OPENAI_COMPATIBLE,
        "displayName": "OpenAI-compatible servers",
        "category": "AI",
        "description": "Servers that tools may send requests of their own form to. The models that answer are set up elsewhere.",
        "multiEntry": true,
        "configSchema": [address, key],
    }]);
    services.register("openai_compat_call", "openai_compat_call", Label::Own, Required::parse_list(&servers)?)?;
    services.register("get_weather", "get_weather", Label::Own, Required::parse_list(&weather)?)?;
    services.register("translate_text", "translate_text", Label::Own, Required::parse_list(&languages)?)?;
    Ok(())
}

/// What a person set up under a service.
pub(crate) struct Setup(Map<String, Value>);

impl Setup {
    /// The default entry of a service; `None` when it has none.
    pub fn of(cx: &Cx, service: &str) -> Option<Self> {
        Self::labelled(cx, service, None)
    }

    /// The entry with this label, else the default one.
    pub fn labelled(cx: &Cx, service: &str, label: Option<&str>) -> Option<Self> {
        cx.ports().settings.entry(service, label).map(Self)
    }

    /// A text that is not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }
}
