//! Metadata and filters over it: `{"room": "hall", "year": {"gte": 2020}}`, `{"or": [{…}, {…}]}`.

use crate::records::{METADATA, NAME};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use tool::{Error, Result};

/// The most fields of a vector's metadata, values of a list, comparisons of a filter and levels of nesting.
const FIELDS: usize = 64;
const VALUES: usize = 64;
const COMPARISONS: usize = 64;
const LISTED: usize = 100;
const DEPTH: usize = 8;

/// A value that can be compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By kind, then by value, so that values of one kind are a range.
impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl Scalar {
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(yes) => Self::Bool(*yes),
            // Zero has one form.
            Value::Number(number) => Self::Number(number.as_f64()? + 0.0),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    pub fn kind(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::Text(_) => 3,
        }
    }
}

/// The values of a field: of a list, each of them.
pub(crate) fn scalars(value: &Value) -> Vec<Scalar> {
    match value {
        Value::Array(all) => all.iter().filter_map(Scalar::of).collect(),
        one => Scalar::of(one).into_iter().collect(),
    }
}

/// Checks metadata of a caller, and returns it as text.
///
/// # Errors
/// `BadArgs` with what is wrong.
pub(crate) fn metadata(given: &Map<String, Value>, what: &str) -> Result<String> {
    let refuse = |text: String| Err(Error::bad_args(format!("the metadata of {what} {text}")));
    if given.len() > FIELDS {
        return refuse(format!("has more than {FIELDS} fields: leave some out"));
    }
    for (name, value) in given {
        let operator = name.strip_prefix('$').unwrap_or(name);
        if name.is_empty() || name.chars().count() > NAME || matches!(operator, "and" | "or" | "not") {
            return refuse(format!(
                "has a field with a name that cannot be used: 1 to {NAME} characters, and not `and`, `or` or `not`"
            ));
        }
        let fits = match value {
            Value::Array(all) => all.len() <= VALUES && all.iter().all(|value| Scalar::of(value).is_some()),
            one => Scalar::of(one).is_some(),
        };
        if !fits {
            return refuse(format!(
                "has in `{name}` something that cannot be filtered: use texts, numbers, true, false, null, or a list of up to {VALUES} of them"
            ));
        }
    }
    let text = Value::Object(given.clone()).to_string();
    if text.len() > METADATA {
        return refuse(format!("has {} bytes, and {METADATA} are the most: store long texts in `text`", text.len()));
    }
    Ok(text)
}

/// One test of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// Whether it has one of these values.
    In(Vec<Scalar>),
    /// Whether it has a value in a range: whether it is of its end, too.
    Above(Scalar, bool),
    Below(Scalar, bool),
    /// Whether there is a value at all.
    Exists,
}

/// A condition on metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Field(String, Test),
}

impl Filter {
    /// Reads a filter. Operators may begin with `$`, as in other databases.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong and how to write it.
    pub fn read(given: &Map<String, Value>) -> Result<Self> {
        let mut comparisons = 0;
        read(given, 0, &mut comparisons)
    }

    /// Whether metadata meets it.
    #[cfg(test)]
    pub fn matches(&self, fields: &Map<String, Value>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|filter| filter.matches(fields)),
            Self::Any(any) => any.iter().any(|filter| filter.matches(fields)),
            Self::Not(filter) => !filter.matches(fields),
            Self::Field(name, test) => {
                let values = fields.get(name).map(scalars).unwrap_or_default();
                match test {
                    Test::In(wanted) => values.iter().any(|value| wanted.contains(value)),
                    Test::Above(from, too) => values
                        .iter()
                        .any(|value| value.kind() == from.kind() && (value > from || *too && value == from)),
                    Test::Below(to, too) => {
                        values.iter().any(|value| value.kind() == to.kind() && (value < to || *too && value == to))
                    }
                    Test::Exists => values.iter().any(|value| *value != Scalar::Null),
                }
            }
        }
    }
}

const FORM: &str = "write {\"field\": value}, {\"field\": {\"gte\": 1, \"lt\": 5}} with eq, ne, in, nin, gt, gte, lt, lte or \
                    exists, and combine with {\"and\": […]}, {\"or\": […]} or {\"not\": {…}}";

fn refuse<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(Error::bad_args(format!("the filter {text}: {FORM}")))
}

fn read(given: &Map<String, Value>, depth: usize, comparisons: &mut usize) -> Result<Filter> {
    if depth > DEPTH {
        return refuse(format_args!("is nested more than {DEPTH} levels deep"));
    }
    let mut all = vec![];
    for (name, value) in given {
        match name.strip_prefix('$').unwrap_or(name) {
            operator @ ("and" | "or") => {
                let Some(parts) = value.as_array().filter(|parts| !parts.is_empty()) else {
                    return refuse(format_args!("says `{operator}` and wants a list of conditions there"));
                };
                let parts = parts.iter().map(|part| match part.as_object() {
                    Some(part) => read(part, depth + 1, comparisons),
                    None => refuse(format_args!("has something else than a condition under `{operator}`")),
                });
                let parts = parts.collect::<Result<_>>()?;
                all.push(if operator == "and" { Filter::All(parts) } else { Filter::Any(parts) });
            }
            "not" => match value.as_object() {
                Some(part) => all.push(Filter::Not(Box::new(read(part, depth + 1, comparisons)?))),
                None => return refuse("says `not` and wants a condition there"),
            },
            _ => field(name, value, &mut all)?,
        }
        *comparisons += 1;
        if *comparisons > COMPARISONS || all.len() > COMPARISONS {
            return refuse(format_args!("makes more than {COMPARISONS} comparisons"));
        }
    }
    Ok(Filter::All(all))
}

/// Adds the comparisons of one field.
fn field(name: &str, value: &Value, all: &mut Vec<Filter>) -> Result<()> {
    let mut add = |test| all.push(Filter::Field(name.to_owned(), test));
    let operators = match value {
        Value::Object(operators) if !operators.is_empty() => operators,
        Value::Object(_) => return refuse(format_args!("compares `{name}` with nothing")),
        Value::Array(_) => return Ok(add(Test::In(list(name, value)?))),
        one => return Ok(add(Test::In(Scalar::of(one).into_iter().collect()))),
    };
    for (operator, value) in operators {
        let range = |value: &Value| match Scalar::of(value) {
            Some(bound @ (Scalar::Number(_) | Scalar::Text(_))) => Ok(bound),
            _ => refuse(format_args!("compares `{name}` by size with what has none: use a number or a text")),
        };
        let one = |value: &Value| match Scalar::of(value) {
            Some(value) => Ok(vec![value]),
            None => refuse(format_args!("compares `{name}` with a list or an object: use `in` for a list")),
        };
        let (test, negated) = match operator.strip_prefix('$').unwrap_or(operator) {
            "eq" => (Test::In(one(value)?), false),
            "ne" => (Test::In(one(value)?), true),
            "in" => (Test::In(list(name, value)?), false),
            "nin" => (Test::In(list(name, value)?), true),
            "gt" => (Test::Above(range(value)?, false), false),
            "gte" => (Test::Above(range(value)?, true), false),
            "lt" => (Test::Below(range(value)?, false), false),
            "lte" => (Test::Below(range(value)?, true), false),
            "exists" => match value.as_bool() {
                Some(yes) => (Test::Exists, !yes),
                None => return refuse(format_args!("says `exists` of `{name}` without true or false")),
            },
            other => {
                let other: String = other.chars().take(40).collect();
                return refuse(format_args!("has the operator `{other}`, which there is not"));
            }
        };
        let test = Filter::Field(name.to_owned(), test);
        all.push(if negated { Filter::Not(Box::new(test)) } else { test });
    }
    Ok(())
}

fn list(name: &str, value: &Value) -> Result<Vec<Scalar>> {
    let values: Option<Vec<Scalar>> = value.as_array().and_then(|all| all.iter().map(Scalar::of).collect());
    match values {
        Some(values) if values.len() <= LISTED => Ok(values),
        Some(_) => refuse(format_args!("compares `{name}` with more than {LISTED} values")),
        None => refuse(format_args!("wants a list of texts and numbers for `{name}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(value: Value) -> Result<Filter> {
        Filter::read(value.as_object().unwrap())
    }

    #[test]
    fn conditions_hold_or_not() {
        let fields = json!({"room": "hall", "year": 2021, "tags": ["a", "b"], "off": null, "lit": true});
        let fields = fields.as_object().unwrap();
        for (given, holds) in [
            (json!({}), true),
            (json!({"room": "hall"}), true),
            (json!({"room": "Hall"}), false),
            (json!({"room": ["attic", "hall"]}), true),
            (json!({"room": {"$ne": "hall"}}), false),
            (json!({"colour": {"ne": "red"}}), true),
            (json!({"year": {"gte": 2021, "lt": 2022}}), true),
            (json!({"year": {"gt": 2021}}), false),
            (json!({"year": 2021.0}), true),
            (json!({"year": {"lt": "a"}}), false),
            (json!({"tags": "b"}), true),
            (json!({"tags": {"nin": ["c", "d"]}}), true),
            (json!({"off": null}), true),
            (json!({"off": {"exists": true}}), false),
            (json!({"lit": {"exists": true}, "room": {"gte": "h", "lt": "i"}}), true),
            (json!({"or": [{"room": "attic"}, {"$and": [{"lit": true}, {"not": {"year": 1}}]}]}), true),
        ] {
            assert_eq!(filter(given.clone()).unwrap().matches(fields), holds, "{given}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        let mut deep = json!({"a": 1});
        for _ in 0..20 {
            deep = json!({"not": deep});
        }
        let many: Vec<Value> = (0..90).map(|n| json!({"a": n})).collect();
        for given in [
            json!({"a": {}}),
            json!({"a": {"near": 3}}),
            json!({"a": {"gt": null}}),
            json!({"a": {"gt": [1]}}),
            json!({"a": {"in": 3}}),
            json!({"a": [[1]]}),
            json!({"a": {"eq": {"b": 1}}}),
            json!({"or": []}),
            json!({"or": {"a": 1}}),
            json!({"or": [1]}),
            json!({"not": 1}),
            json!({"a": {"exists": 1}}),
            json!({"or": many}),
            deep,
        ] {
            let error = filter(given.clone()).unwrap_err();
            assert!(error.code() == "bad_args" && error.message().starts_with("the filter "), "{given}: {error}");
        }
    }

    #[test]
    fn metadata_is_checked() {
        for given in [
            json!({"a": {"b": 1}}),
            json!({"a": [[1]]}),
            json!({"": 1}),
            json!({"$or": 1}),
            json!({"a": "x".repeat(METADATA)}),
            json!({"a": vec![1; 65]}),
        ] {
            assert!(metadata(given.as_object().unwrap(), "`x`").is_err(), "{given}");
        }
        let good = json!({"a": [1, "b", null], "c": true});
        assert_eq!(metadata(good.as_object().unwrap(), "`x`").unwrap(), good.to_string());
    }
}
