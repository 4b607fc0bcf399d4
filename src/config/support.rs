//! The configuration for a support bundle: what differs from the defaults, without what is secret or personal.

use super::Config;
use toml::{Table, Value};

/// Keys whose text says nothing about anybody. Every other text is left out.
const SHOWN: [&str; 10] = [
    "board",
    "units",
    "listen",
    "model.strategy",
    "model.fallback",
    "agent.persistence",
    "agent.temperature",
    "storage.compact_hours",
    "doors.tls",
    "power.fail_level",
];

/// The keys that differ from the defaults, one a line.
pub fn shown(config: &Config) -> String {
    let (Ok(given), Ok(default)) = (Table::try_from(config), Table::try_from(Config::default())) else {
        return "not readable".into();
    };
    let mut lines = vec![];
    differing(&given, &default, "", &mut lines);
    if lines.is_empty() { "nothing".into() } else { lines.join("\n") }
}

fn differing(given: &Table, default: &Table, path: &str, lines: &mut Vec<String>) {
    // Names of services and pins are words of people: only their number is shown.
    let unknown = given.keys().filter(|key| !default.contains_key(*key)).count();
    if unknown > 0 {
        lines.push(format!("{path}* = ({unknown} entries)"));
    }
    for (key, value) in given {
        let (path, Some(default)) = (format!("{path}{key}"), default.get(key)) else { continue };
        match (value, default) {
            (Value::Table(given), Value::Table(default)) => differing(given, default, &format!("{path}."), lines),
            (value, default) if value == default => {}
            (Value::Integer(_) | Value::Float(_), _) if ["latitude", "longitude"].contains(&path.as_str()) => {
                lines.push(format!("{path} = (set)"));
            }
            (Value::Integer(_) | Value::Float(_) | Value::Boolean(_), _) => lines.push(format!("{path} = {value}")),
            (Value::String(_), _) if SHOWN.contains(&path.as_str()) => lines.push(format!("{path} = {value}")),
            (Value::Array(all), _) => lines.push(format!("{path} = ({} entries)", all.len())),
            _ => lines.push(format!("{path} = (set)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_numbers_and_choices_and_no_words() {
        let text = "name = \"annas-pi\"\nhome = \"The Old Mill\"\nlatitude = 48.2\nlongitude = 16.4\nboard = \"sim\"\n\
                    listen = \"0.0.0.0:4620\"\n[model]\nname = \"openai/x\"\nurl = \"http://anna:pw@nas\"\nretries = 5\n\
                    [pins]\n\"annas lamp\" = 17\n[doors]\nhosts = [\"anna.example.org\"]\n\
                    [services.weather]\napi_key = \"very-secret\"\n[power]\noff_command = \"ssh anna\"";
        let shown = shown(&Config::parse(text).unwrap());
        for absent in ["anna", "Mill", "48.2", "secret", "weather", "openai", "nas", "example"] {
            assert!(!shown.contains(absent), "{absent}: {shown}");
        }
        let expected = ["board = \"sim\"", "listen = \"0.0.0.0:4620\"", "model.retries = 5", "latitude = (set)"];
        let counted = ["pins.* = (1 entries)", "services.* = (1 entries)", "doors.hosts = (1 entries)"];
        for present in expected.iter().chain(&counted).chain(&["model.url = (set)", "name = (set)"]) {
            assert!(shown.lines().any(|line| line == *present), "{present}: {shown}");
        }
        assert_eq!(super::shown(&Config::default()), "nothing");
    }
}
