//! Value templates of announced devices: the part of Jinja that names one value of a JSON payload.

use serde_json::Value;

/// The longest template, the most steps of a path, and the longest value.
const TEXT: usize = 500;
const STEPS: usize = 12;
const LONGEST: usize = 2048;

/// How a value is taken from a payload.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Template {
    /// The payload as it is.
    #[default]
    Whole,
    /// A value of the JSON payload, by a path of keys and positions, changed by filters.
    Path(Vec<String>, Vec<Filter>),
    /// Something this code does not understand: it gives no value.
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    Lower,
    Upper,
    /// To a number with so many decimals; all of them without.
    Round(Option<usize>),
    Times(f64),
    /// In place of a value that is not there.
    Default(String),
}

impl Template {
    /// Reads a Jinja template such as `{{ value_json.state }}` or `{{ value_json['a'].b | round(1) }}`.
    pub fn jinja(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Whole;
        }
        // A stranger may announce thousands of things, and each keeps its templates.
        if text.len() > TEXT {
            return Self::Unknown;
        }
        if let Some(conditional) = conditional(text) {
            return conditional;
        }
        let inner = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let Some(inner) = inner.filter(|inner| !inner.contains("{{") && !inner.contains("{%")) else {
            return Self::Unknown;
        };
        let inner = inner.trim_matches('-').trim();
        let mut parts = inner.split('|').map(str::trim);
        let (first, mut filters) = (parts.next().unwrap_or_default(), vec![]);
        let (mut path, mut times) = (first, None);
        for (sign, inverse) in [(" * ", false), (" / ", true)] {
            if let Some((left, factor)) = path.split_once(sign)
                && let Ok(factor) = factor.trim().parse::<f64>()
                && factor != 0.0
            {
                (path, times) = (left.trim(), Some(Filter::Times(if inverse { 1.0 / factor } else { factor })));
            }
        }
        for part in parts {
            match filter(part) {
                Some(Some(filter)) => filters.push(filter),
                Some(None) => {}
                None => return Self::Unknown,
            }
        }
        filters.extend(times);
        match path.strip_prefix("value_json") {
            Some(rest) => path_of(rest).map_or(Self::Unknown, |path| Self::Path(path, filters)),
            None if path == "value" && filters.is_empty() => Self::Whole,
            None => Self::Unknown,
        }
    }

    /// Reads a plain path such as `state`, `temperature.value` or `ENERGY.Power[0]`; an empty text is the whole payload.
    pub fn path(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches("$.").trim_start_matches('$');
        if text.is_empty() {
            return Some(Self::Whole);
        }
        let text = if text.starts_with(['.', '[']) { text.to_owned() } else { format!(".{text}") };
        path_of(&text).map(|path| Self::Path(path, vec![]))
    }

    /// The value in a payload; `None` where it is not there, so that the old one stays.
    pub fn value(&self, payload: &str) -> Option<String> {
        match self {
            Self::Whole => Some(payload.chars().take(LONGEST).collect()),
            Self::Unknown => None,
            Self::Path(path, filters) => {
                let json: Value = serde_json::from_str(payload).ok()?;
                let found = path.iter().try_fold(&json, |at, step| match at {
                    Value::Array(all) => all.get(step.parse::<usize>().ok()?),
                    at => at.get(step),
                });
                let default = || {
                    filters.iter().find_map(|f| if let Filter::Default(text) = f { Some(text.clone()) } else { None })
                };
                let text = match found {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => default()?,
                    Some(other) => other.to_string(),
                };
                let text = filters.iter().fold(text, |text, filter| filter.apply(text));
                Some(text.chars().take(LONGEST).collect())
            }
        }
    }
}

/// Reads `{% if "a" in value_json and value_json.a %} {{ value_json.a }} {% else %} stopped {% endif %}`, as Zigbee2MQTT announces
/// covers that report whether they move.
fn conditional(text: &str) -> Option<Template> {
    let (name, rest) = text.strip_prefix("{% if \"")?.split_once('"')?;
    let rest = rest.trim_start().strip_prefix("in value_json and value_json.")?.strip_prefix(name)?;
    let rest = rest.trim_start().strip_prefix("%}")?.trim_start().strip_prefix("{{ value_json.")?.strip_prefix(name)?;
    let rest = rest.trim_start().strip_prefix("}}")?.trim_start().strip_prefix("{% else %}")?;
    let otherwise = rest.strip_suffix("{% endif %}")?.trim();
    let path = path_of(&format!(".{name}"))?;
    (!otherwise.contains(['{', '}'])).then(|| Template::Path(path, vec![Filter::Default(otherwise.to_owned())]))
}

/// The text that sends a number, such as `{ "position": {{ position }} }`: fixed text around it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberTemplate {
    before: String,
    after: String,
    /// Whether the number is a percentage, and not one of the range that was announced.
    is_percent: bool,
}

impl NumberTemplate {
    /// Reads a template; `None` for one that does more than name the number.
    pub fn jinja(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once("{{").filter(|_| text.len() <= TEXT)?;
        let (inner, after) = rest.split_once("}}")?;
        let is_percent = match inner.trim().split('|').map(str::trim).collect::<Vec<_>>()[..] {
            ["position"] | ["position", "int"] => true,
            ["value"] | ["value", "int"] => false,
            _ => return None,
        };
        let is_fixed = |text: &str| !["{{", "{%", "{#"].iter().any(|sign| text.contains(sign));
        (is_fixed(before) && is_fixed(after)).then(|| Self { before: before.into(), after: after.into(), is_percent })
    }

    /// The text for a level.
    pub fn text(&self, percent: i32, scaled: i64) -> String {
        let number = if self.is_percent { i64::from(percent) } else { scaled };
        format!("{}{number}{}", self.before, self.after)
    }
}

impl Filter {
    fn apply(&self, text: String) -> String {
        let number = |change: &dyn Fn(f64) -> f64| text.parse::<f64>().map_or(text.clone(), |n| change(n).to_string());
        match self {
            Self::Lower => text.to_lowercase(),
            Self::Upper => text.to_uppercase(),
            Self::Round(places) => {
                let scale = 10f64.powi(places.unwrap_or(0).min(9) as i32);
                number(&|n| (n * scale).round() / scale)
            }
            Self::Times(factor) => number(&|n| (n * factor * 1e9).round() / 1e9),
            Self::Default(_) => text,
        }
    }
}

/// A filter; `Some(None)` for one that changes nothing here, `None` for an unknown one.
fn filter(text: &str) -> Option<Option<Filter>> {
    let (name, argument) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')')?.trim()),
        None => (text, ""),
    };
    Some(match name {
        "lower" => Some(Filter::Lower),
        "upper" => Some(Filter::Upper),
        "round" => Some(Filter::Round(argument.split(',').next()?.trim().parse().ok())),
        "int" => Some(Filter::Round(None)),
        "default" => Some(Filter::Default(argument.split(',').next()?.trim().trim_matches(['"', '\'']).to_owned())),
        "float" | "string" | "is_defined" | "trim" => None,
        _ => return None,
    })
}

/// The steps of `.a.b`, `['a']["b"]`, `[0]`.
fn path_of(mut text: &str) -> Option<Vec<String>> {
    let mut steps = vec![];
    while !text.is_empty() {
        if steps.len() == STEPS {
            return None;
        }
        if let Some(rest) = text.strip_prefix('.') {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let name = &rest[..end];
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
                return None;
            }
            steps.push(name.to_owned());
            text = &rest[end..];
        } else {
            let rest = text.strip_prefix('[')?;
            let (inner, after) = rest.split_once(']')?;
            let inner = inner.trim();
            let quoted = ['"', '\''].iter().find_map(|q| inner.strip_prefix(*q)?.strip_suffix(*q));
            let step = match quoted {
                Some(name) if !name.is_empty() => name,
                None if inner.parse::<usize>().is_ok() => inner,
                _ => return None,
            };
            steps.push(step.to_owned());
            text = after;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_real_devices_are_understood() {
        let json = r#"{"state":"ON","contact":true,"a b":{"x":[1,2.345]},"power":215,"n":null}"#;
        for (template, value) in [
            ("", Some(json)),
            ("{{ value }}", Some(json)),
            ("{{ value_json.state }}", Some("ON")),
            ("{{value_json.state}}", Some("ON")),
            ("{{ value_json['a b']['x'][1] | float | round(1) }}", Some("2.3")),
            ("{{ value_json[\"contact\"] }}", Some("true")),
            ("{{ value_json.state | lower }}", Some("on")),
            ("{{ value_json.power / 10 }}", Some("21.5")),
            ("{{ value_json.missing }}", None),
            ("{{ value_json.n }}", None),
            ("{{ value_json.missing | default('none') }}", Some("none")),
            ("{{ value_json.power | int }}", Some("215")),
            ("{% if value_json.x %}1{% endif %}", None),
            ("{{ states('light.x') }}", None),
            ("{{ value_json.state | regex_replace('a','b') }}", None),
            ("{{ value_json.a[ }}", None),
            (
                r#"{% if "state" in value_json and value_json.state %} {{ value_json.state }} {% else %} stop {% endif %}"#,
                Some("ON"),
            ),
            (
                r#"{% if "x" in value_json and value_json.x %} {{ value_json.x }} {% else %} stop {% endif %}"#,
                Some("stop"),
            ),
            (r#"{% if "x" in value_json and value_json.y %} {{ value_json.x }} {% else %} stop {% endif %}"#, None),
            ("{{ 'ON' if value_json.x else 'OFF' }}", None),
        ] {
            assert_eq!(Template::jinja(template).value(json).as_deref(), value, "{template}");
        }
        assert_eq!(Template::jinja("{{ value_json.state }}").value("no json"), None);
        let long = format!("{{{{ value_json.x | default('{}') }}}}", "A".repeat(60_000));
        assert_eq!(Template::jinja(&long), Template::Unknown);
    }

    #[test]
    fn templates_of_numbers_are_fixed_text_around_them() {
        for (template, text) in [
            (r#"{ "position": {{ position }} }"#, Some(r#"{ "position": 40 }"#)),
            (r#"{"position_left":{{position|int}}}"#, Some(r#"{"position_left":40}"#)),
            ("{{ value }}", Some("102")),
            ("{{ 100 - position }}", None),
            ("{{ {0:'off', 1:'low'}[value] | default('') }}", None),
            ("{% if position > 50 %}{{ position }}{% endif %}", None),
            ("{{ position }}{{ entity_id }}", None),
            ("none", None),
        ] {
            let made = NumberTemplate::jinja(template).map(|template| template.text(40, 102));
            assert_eq!(made.as_deref(), text, "{template}");
        }
    }

    #[test]
    fn paths_are_understood() {
        let json = r#"{"ENERGY":{"Power":[5]},"t":21.5}"#;
        for (path, value) in [("t", "21.5"), ("ENERGY.Power[0]", "5"), ("$.t", "21.5"), ("$['t']", "21.5")] {
            assert_eq!(Template::path(path).unwrap().value(json).as_deref(), Some(value), "{path}");
        }
        for wrong in ["a..b", "a[", "a b", ".", &".x".repeat(40)] {
            assert!(Template::path(wrong).is_none(), "{wrong}");
        }
    }
}
