//! The columns of a table: their types, and checks and coercion of values.

use jiff::tz::TimeZone;
use records::{day_of, optional_text, required_text, truncate};
use serde_json::Map;
use tool::{When, prelude::*};

/// The most columns of a table.
pub(super) const COLUMNS: usize = 64;
/// The most characters of a name, of a description, of an option, of a value of a unique column.
const NAME: usize = 64;
pub(super) const DESCRIPTION: usize = 500;
const OPTION: usize = 100;
const UNIQUE: usize = 500;
/// The most options of a column.
const OPTIONS: usize = 100;
/// The most bytes of all columns, as JSON.
const BYTES: usize = 64 * 1024;
/// How many characters of a wrong value an error shows.
const SHOWN: usize = 60;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Text,
    Number,
    Boolean,
    Date,
    Datetime,
    Select,
    Json,
}

impl Kind {
    /// The expected value, for an error.
    fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Date => "a day, such as 2026-11-20",
            Self::Datetime => "a time, such as 2026-11-20T14:30",
            Self::Select => "one of its options",
            Self::Json => "any value",
        }
    }
}

/// A column.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Lower-case letters, digits and underscores.
    name: String,
    /// Type of the column's values.
    #[serde(rename = "type")]
    kind: Kind,
    /// Whether every record must have a value.
    #[serde(default)]
    required: bool,
    /// The value of records that give none.
    default: Option<Value>,
    /// Meaning of the column.
    description: Option<String>,
    /// The values to choose from, for type select.
    #[serde(default)]
    options: Vec<String>,
    /// Whether no two records may have the same value.
    #[serde(default)]
    unique: bool,
}

/// The stored form of a column: JSON, which can get more fields. Fields of a newer Hob are written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub name: String,
    /// The name of a [`Kind`].
    #[serde(rename = "type")]
    written: Value,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub default: Option<Value>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub unique: bool,
    #[serde(flatten)]
    newer: Map<String, Value>,
}

/// A name in lower case with underscores: `Release year` becomes `release_year`.
pub(super) fn plain(name: &str) -> String {
    let joined = |c: char| if c == ' ' || c == '-' { '_' } else { c };
    name.trim().to_lowercase().chars().take(10 * NAME).map(joined).collect()
}

/// A name of a table or a column.
///
/// # Errors
/// `BadArgs` with how to write it.
pub(super) fn name(what: &str, given: &str) -> Result<String> {
    let name = plain(given);
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if fits && name.len() <= NAME {
        return Ok(name);
    }
    let given = truncate(given.trim(), SHOWN);
    Err(Error::bad_args(format!(
        "`{given}` is no name for a {what}: use up to {NAME} lower-case letters, digits and underscores, a letter first, \
         such as `release_year`"
    )))
}

/// Checks new columns of a table with columns `beside`.
///
/// # Errors
/// `BadArgs` that names the column and what is wrong.
pub(super) fn check(new: Vec<New>, beside: &[Column], zone: &TimeZone) -> Result<Vec<Column>> {
    let mut columns = beside.to_vec();
    if new.is_empty() || new.len() + beside.len() > COLUMNS {
        return Err(Error::bad_args(format!("a table has 1 to {COLUMNS} columns: give at least one, and no more")));
    }
    for new in new {
        let column = new.check(zone)?;
        if columns.iter().any(|c| c.name == column.name) {
            return Err(Error::bad_args(format!("there are two columns called `{}`: rename one", column.name)));
        }
        columns.push(column);
    }
    crate::json_text::bounded_json("description of the columns", &json!(columns), BYTES)?;
    Ok(columns)
}

impl New {
    fn check(self, zone: &TimeZone) -> Result<Column> {
        let name = name("column", &self.name)?;
        let wrong = |text: &str| Err(Error::bad_args(format!("column `{name}` {text}")));
        let mut options: Vec<String> = vec![];
        for option in &self.options {
            let option = required_text("option", option, OPTION)?;
            if !options.iter().any(|o| o.to_lowercase() == option.to_lowercase()) {
                options.push(option);
            }
        }
        match self.kind {
            Kind::Select if options.is_empty() => return wrong("is of type select and needs `options` to choose from"),
            Kind::Select if options.len() > OPTIONS => return wrong("has more than 100 options: use type text"),
            Kind::Select => {}
            _ if !options.is_empty() => return wrong("has options and is not of type select: make it so"),
            Kind::Json | Kind::Boolean if self.unique => {
                return wrong("cannot be unique: it is no text, number or date");
            }
            _ => {}
        }
        let description = optional_text("description", self.description.as_deref(), DESCRIPTION)?;
        let (written, required, unique, newer) = (json!(self.kind), self.required, self.unique, Map::new());
        let mut column = Column { name, written, required, default: None, description, options, unique, newer };
        if let Some(default) = self.default.filter(|d| !d.is_null()) {
            if unique {
                let text = format!("column `{}` is unique: it cannot have a default", column.name);
                return Err(Error::bad_args(text));
            }
            column.default = Some(column.value(default, zone, &mut vec![])?);
        }
        Ok(column)
    }
}

impl Column {
    /// Its type; a type of a newer Hob counts as JSON.
    pub fn kind(&self) -> Kind {
        Kind::deserialize(&self.written).unwrap_or(Kind::Json)
    }

    /// Checks a value and brings it into its stored form; adds coercions to `corrected`.
    ///
    /// # Errors
    /// `BadArgs` that names the column, the given value and the expected type.
    pub fn value(&self, given: Value, zone: &TimeZone, corrected: &mut Vec<String>) -> Result<Value> {
        let mut coerced = |what: &str| corrected.push(format!("`{}` {what}", self.name));
        match (self.kind(), given) {
            (Kind::Json, any) => Ok(any),
            (Kind::Number, Value::Number(n)) => Ok(Value::Number(n)),
            (Kind::Boolean, Value::Bool(b)) => Ok(Value::Bool(b)),
            (Kind::Text, Value::String(text)) => {
                let long = self.unique && text.chars().nth(UNIQUE).is_some();
                if long {
                    let text = format!("column `{}` is unique and takes {UNIQUE} characters at most", self.name);
                    return Err(Error::bad_args(text));
                }
                Ok(Value::String(text))
            }
            (Kind::Text, given @ (Value::Number(_) | Value::Bool(_))) => {
                coerced("was no text and was read as text");
                Ok(Value::String(given.to_string()))
            }
            (Kind::Number, Value::String(text)) => match number(&text) {
                Some(number) => {
                    coerced("was text and was read as a number");
                    Ok(number)
                }
                None => Err(self.wrong(&Value::String(text))),
            },
            (Kind::Boolean, Value::String(text)) => match text.trim().to_lowercase().as_str() {
                yes_or_no @ ("true" | "yes" | "false" | "no") => {
                    coerced("was text and was read as true or false");
                    Ok(Value::Bool(matches!(yes_or_no, "true" | "yes")))
                }
                _ => Err(self.wrong(&Value::String(text))),
            },
            (Kind::Select, Value::String(text)) => {
                let same = |option: &&String| option.to_lowercase() == text.trim().to_lowercase();
                let found = self.options.iter().find(same).cloned();
                found.map(Value::String).ok_or_else(|| self.wrong(&Value::String(text)))
            }
            (Kind::Date | Kind::Datetime, Value::String(text)) => {
                self.date(&text, zone, &mut coerced).map(Value::String).ok_or_else(|| self.wrong(&Value::String(text)))
            }
            (_, other) => Err(self.wrong(&other)),
        }
    }

    fn date(&self, text: &str, zone: &TimeZone, coerced: &mut dyn FnMut(&str)) -> Option<String> {
        let when = When::read(text, zone).ok()?;
        match (self.kind(), &when) {
            (Kind::Date, When::At(_)) => {
                coerced("had a time, and its day was stored");
                Some(day_of(&when, zone).to_string())
            }
            (Kind::Datetime, When::Day(_)) => {
                coerced("was a day and was read as its beginning");
                Some(When::At(when.start(zone).ok()?).to_string())
            }
            _ => Some(when.to_string()),
        }
    }

    fn wrong(&self, given: &Value) -> Error {
        let given = match given {
            Value::Null => "nothing".to_owned(),
            Value::Bool(_) => "true or false".to_owned(),
            Value::Number(n) => format!("the number {}", truncate(&n.to_string(), SHOWN)),
            Value::String(text) => format!("the text `{}`", truncate(text, SHOWN)),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        let (name, wanted) = (&self.name, self.kind().wanted());
        let options = match self.kind() {
            Kind::Select => format!(": {}", truncate(&self.options.join(", "), 300)),
            _ => String::new(),
        };
        Error::bad_args(format!("column `{name}` wants {wanted}{options}; it was given {given}"))
    }
}

/// A number as people and models write it.
fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let plain = text.strip_prefix('+').unwrap_or(text);
    if !plain.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')) {
        return None;
    }
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(whole.into());
    }
    plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: Kind) -> Column {
        let options = if kind == Kind::Select { vec!["Red", "White"] } else { vec![] };
        serde_json::from_value(json!({"name": "c", "type": kind, "options": options})).unwrap()
    }

    #[test]
    fn values_are_held_to_their_column() {
        let zone = TimeZone::get("Europe/Vienna").unwrap();
        let good = [
            (Kind::Text, json!("x"), json!("x"), ""),
            (Kind::Text, json!(""), json!(""), ""),
            (Kind::Text, json!(12.5), json!("12.5"), "read as text"),
            (Kind::Number, json!(12.5), json!(12.5), ""),
            (Kind::Number, json!(u64::MAX), json!(u64::MAX), ""),
            (Kind::Number, json!(" +12.5 "), json!(12.5), "read as a number"),
            (Kind::Number, json!("-7"), json!(-7), "read as a number"),
            (Kind::Boolean, json!(false), json!(false), ""),
            (Kind::Boolean, json!("Yes"), json!(true), "read as true or false"),
            (Kind::Date, json!("2026-11-20"), json!("2026-11-20"), ""),
            (Kind::Date, json!("2026-11-20T23:30:00Z"), json!("2026-11-21"), "its day was stored"),
            (Kind::Date, json!("1685-03-31"), json!("1685-03-31"), ""),
            (Kind::Datetime, json!("2026-11-20 14:30"), json!("2026-11-20T14:30:00+01:00"), ""),
            (Kind::Datetime, json!("2026-07-01"), json!("2026-07-01T00:00:00+02:00"), "its beginning"),
            (Kind::Select, json!(" red "), json!("Red"), ""),
            (Kind::Json, json!({"a": [null]}), json!({"a": [null]}), ""),
        ];
        for (kind, given, kept, told) in good {
            let mut corrected = vec![];
            assert_eq!(column(kind).value(given.clone(), &zone, &mut corrected).unwrap(), kept, "{given}");
            assert!(
                corrected.len() == usize::from(!told.is_empty()) && corrected.concat().contains(told),
                "{corrected:?}"
            );
        }
        let long = "ü".repeat(10_000);
        let bad = [
            (Kind::Text, json!([1]), "column `c` wants a text; it was given a list"),
            (Kind::Number, json!("twelve"), "column `c` wants a number; it was given the text `twelve`"),
            (Kind::Number, json!("inf"), "wants a number"),
            (Kind::Number, json!("NaN"), "wants a number"),
            (Kind::Number, json!("1e999"), "wants a number"),
            (Kind::Number, json!(""), "wants a number"),
            (Kind::Number, json!("12,5"), "wants a number"),
            (Kind::Number, json!(true), "it was given true or false"),
            (Kind::Number, json!(long), "wants a number"),
            (Kind::Boolean, json!(1), "wants true or false; it was given the number 1"),
            (Kind::Date, json!("2026-02-30"), "wants a day, such as 2026-11-20; it was given the text `2026-02-30`"),
            (Kind::Date, json!(20261120), "wants a day"),
            (Kind::Datetime, json!("14:30"), "wants a time, such as 2026-11-20T14:30"),
            (Kind::Select, json!("blue"), "wants one of its options: Red, White; it was given the text `blue`"),
            (Kind::Select, json!({}), "it was given an object"),
        ];
        for (kind, given, told) in bad {
            let error = column(kind).value(given.clone(), &zone, &mut vec![]).unwrap_err();
            assert!(error.message().contains(told) && error.message().len() < 400, "{given}: {error}");
        }
    }

    #[test]
    fn names_are_made_plain_or_refused() {
        let long = "x".repeat(64);
        let good = [
            ("movies", "movies"),
            (" Release Year ", "release_year"),
            ("a-b", "a_b"),
            ("a1_", "a1_"),
            (long.as_str(), &long),
        ];
        for (given, kept) in good {
            assert_eq!(name("table", given).unwrap(), kept);
        }
        for wrong in ["", " ", "1a", "_a", "größe", "a.b", "a;drop", "a\u{0}b", &"x".repeat(65), &"x".repeat(100_000)]
        {
            let error = name("table", wrong).unwrap_err();
            assert!(error.message().contains("no name for a table") && error.message().len() < 400, "{error}");
        }
    }

    #[test]
    fn columns_are_checked_as_they_are_made() {
        let zone = TimeZone::UTC;
        let read = |columns: Value| check(serde_json::from_value(columns).unwrap(), &[], &zone);
        let bad = [
            (json!([]), "1 to 64 columns"),
            (json!([{"name": "a", "type": "text"}, {"name": "A", "type": "number"}]), "two columns called `a`"),
            (json!([{"name": "a", "type": "select"}]), "needs `options`"),
            (json!([{"name": "a", "type": "text", "options": ["x"]}]), "is not of type select"),
            (json!([{"name": "a", "type": "json", "unique": true}]), "cannot be unique"),
            (json!([{"name": "a", "type": "number", "default": "x"}]), "wants a number"),
            (json!([{"name": "a", "type": "text", "default": "x", "unique": true}]), "cannot have a default"),
            (json!([{"name": "a", "type": "text", "description": "x".repeat(501)}]), "longer than 500"),
        ];
        for (columns, told) in bad {
            let error = read(columns).unwrap_err();
            assert!(error.message().contains(told), "{error}");
        }
        let many: Vec<Value> = (0..65).map(|n| json!({"name": format!("c{n}"), "type": "text"})).collect();
        let wide: Vec<Value> =
            (0..40).map(|n| json!({"name": format!("c{n}"), "type": "json", "default": "x".repeat(2000)})).collect();
        assert!(read(json!(wide)).unwrap_err().message().contains("64 KB is the most"));
        assert!(read(json!(many)).is_err() && read(json!(many[..64])).is_ok());
        let made =
            read(json!([{"name": "Colour", "type": "select", "options": ["red", "Red", "blue"], "default": "BLUE"}]))
                .unwrap();
        assert_eq!(
            (made[0].name.as_str(), &made[0].options, &made[0].default),
            ("colour", &vec!["red".into(), "blue".into()], &Some(json!("blue")))
        );
        // Fields of a newer Hob are preserved.
        let newer = json!({"name": "a", "type": "picture", "frame": "gold"});
        assert_eq!(serde_json::from_value::<Column>(newer).unwrap().kind(), Kind::Json);
    }
}
