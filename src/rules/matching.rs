//! Matching: compares fields of an event or of a tool's result with a trigger's conditions, and fills templates in
//! its arguments with the event's data.

use serde_json::{Map, Value};
use std::cmp::Ordering;
use text_kit::prefix;
use tool::prelude::*;

/// Maximum number of matched fields.
const FIELDS: usize = 20;
/// Maximum number of path segments.
const STEPS: usize = 16;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Op {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater than: numbers by value, texts alphabetically (so ISO dates by time).
    Gt,
    /// Greater than or equal.
    Gte,
    /// Less than.
    Lt,
    /// Less than or equal.
    Lte,
    /// A substring of a text, an element of a list, or a key of an object.
    Contains,
    /// Different from the previous check.
    Changed,
}

/// A condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldCondition {
    pub path: String,
    pub op: Op,
    pub value: Value,
}

/// Parses the conditions on an event's data: `{"pin": 17, "level": {"op": "gt", "value": 3}}`.
///
/// # Errors
/// `BadArgs` if there are too many fields, or an operator is unknown.
pub(crate) fn parse_conditions(fields: &Map<String, Value>) -> Result<Vec<FieldCondition>> {
    if fields.len() > FIELDS {
        return Err(Error::bad_args(format!("`match` names more than {FIELDS} fields: name fewer")));
    }
    fields.iter().map(|(path, value)| parse_condition(path, value)).collect()
}

fn parse_condition(path: &str, value: &Value) -> Result<FieldCondition> {
    check_path(path)?;
    let path = path.to_owned();
    let asked = value.as_object().filter(|o| o.contains_key("op"));
    let Some(asked) = asked else { return Ok(FieldCondition { path, op: Op::Eq, value: value.clone() }) };
    let op: Op = serde_json::from_value(asked["op"].clone()).map_err(|_| {
        Error::bad_args(format!("`{}` is not an operator: use eq, ne, gt, gte, lt, lte or contains", asked["op"]))
    })?;
    if op == Op::Changed {
        return Err(Error::bad_args("`changed` is for conditions: an event has no previous value"));
    }
    Ok(FieldCondition { path, op, value: asked.get("value").cloned().unwrap_or(Value::Null) })
}

/// Validates a path: not empty and not too long.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn check_path(path: &str) -> Result<()> {
    let steps = path.split('.').count();
    if path.len() > 256 || steps > STEPS || (!path.is_empty() && path.split('.').any(str::is_empty)) {
        return Err(Error::bad_args(format!(
            "`{}` is not a path: write it as `memory.usedPercent` or `tasks.0.title`",
            prefix(path, 64)
        )));
    }
    Ok(())
}

/// Whether data is as all wishes want it.
pub(crate) fn fits(conditions: &[FieldCondition], data: &Value) -> bool {
    conditions.iter().all(|w| at(data, &w.path).is_some_and(|value| compare(value, w.op, &w.value)))
}

/// The value at a path of keys and list positions separated by dots; the empty path is the whole value.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(all) => all.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Applies the operator; false for values that cannot be compared.
pub(crate) fn compare(value: &Value, op: Op, with: &Value) -> bool {
    match op {
        Op::Eq => same(value, with),
        Op::Ne => !same(value, with),
        Op::Gt => order(value, with) == Some(Ordering::Greater),
        Op::Gte => order(value, with).is_some_and(Ordering::is_ge),
        Op::Lt => order(value, with) == Some(Ordering::Less),
        Op::Lte => order(value, with).is_some_and(Ordering::is_le),
        Op::Contains => match (value, with) {
            (Value::String(text), Value::String(part)) => text.to_lowercase().contains(&part.to_lowercase()),
            (Value::Array(all), with) => all.iter().any(|one| same(one, with)),
            (Value::Object(fields), Value::String(key)) => fields.contains_key(key),
            _ => false,
        },
        // The caller passes the previous value.
        Op::Changed => !same(value, with),
    }
}

/// Equality in which 1 equals 1.0 and 17 equals "17": people write pins both ways.
fn same(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        _ => Some(a.as_str()?.cmp(b.as_str()?)),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    }
}

/// Whether an MQTT topic matches a pattern with `+` and `#`.
pub(crate) fn topic_fits(pattern: &str, topic: &str) -> bool {
    let (mut wanted, mut levels) = (pattern.split('/'), topic.split('/'));
    loop {
        match (wanted.next(), levels.next()) {
            (Some("#"), _) => return true,
            (Some("+"), Some(_)) => {}
            (Some(wanted), Some(level)) if wanted == level => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

/// Whether any text in a value contains a `{{…}}` placeholder.
pub(crate) fn has_placeholders(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(all) => all.iter().any(has_placeholders),
        Value::Object(fields) => fields.values().any(has_placeholders),
        _ => false,
    }
}

/// Replaces placeholders such as `{{topic}}` and `{{data.pin}}` with the event's values. A placeholder that is the
/// whole text keeps the value's type; a missing value becomes empty. The second part is whether a text was inserted:
/// it may come from a stranger.
pub(crate) fn fill_placeholders(args: &Value, about: &Value) -> (Value, bool) {
    let mut brought = false;
    let fill_placeholders = fill(args, about, &mut brought);
    (fill_placeholders, brought)
}

fn fill(args: &Value, about: &Value, brought: &mut bool) -> Value {
    match args {
        Value::String(text) => fill_text(text, about, brought),
        Value::Array(all) => all.iter().map(|one| fill(one, about, brought)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), fill(value, about, brought))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn fill_text(text: &str, about: &Value, brought: &mut bool) -> Value {
    let mut look = |path: &str| {
        let found = at(about, path.trim()).cloned().unwrap_or(Value::Null);
        *brought |= !matches!(found, Value::Null | Value::Bool(_) | Value::Number(_));
        found
    };
    let alone = text.trim().strip_prefix("{{").and_then(|t| t.strip_suffix("}}")).filter(|path| !path.contains("{{"));
    if let Some(path) = alone {
        return look(path);
    }
    let (mut fill_placeholders, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((path, after)) = after.split_once("}}") else { break };
        fill_placeholders.push_str(before);
        match look(path) {
            Value::Null => {}
            Value::String(text) => fill_placeholders.push_str(&text),
            other => fill_placeholders.push_str(&other.to_string()),
        }
        rest = after;
    }
    fill_placeholders.push_str(rest);
    Value::String(fill_placeholders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_people_mean_them() {
        use Op::*;
        for (value, op, with, wanted) in [
            (json!(17), Eq, json!("17"), true),
            (json!(1.0), Eq, json!(1), true),
            (json!(true), Eq, json!(true), true),
            (json!(true), Eq, json!("true"), false),
            (json!("a"), Ne, json!("b"), true),
            (json!(3), Gt, json!(2.5), true),
            (json!("80"), Gte, json!(80), true),
            (json!("2026-11-20"), Lt, json!("2026-11-21"), true),
            (json!(null), Lt, json!(1), false),
            (json!("Front Door"), Contains, json!("door"), true),
            (json!([1, 2]), Contains, json!("2"), true),
            (json!({"a": 1}), Contains, json!("a"), true),
            (json!(5), Contains, json!("5"), false),
            (json!("NaN"), Gt, json!(1), false),
        ] {
            assert_eq!(compare(&value, op, &with), wanted, "{value} {op:?} {with}");
        }
    }

    #[test]
    fn an_event_fits_when_every_field_does() {
        let wanted = json!({"pin": 17, "high": true, "deep.0.level": {"op": "gt", "value": 3}});
        let wanted = parse_conditions(wanted.as_object().unwrap()).unwrap();
        assert!(fits(&wanted, &json!({"pin": 17, "high": true, "deep": [{"level": 4}]})));
        for data in
            [json!({"pin": 17, "high": true}), json!({"pin": 17, "high": false, "deep": [{"level": 4}]}), json!(3)]
        {
            assert!(!fits(&wanted, &data), "{data}");
        }
        assert!(fits(&[], &json!(null)));
        for bad in [json!({"a": {"op": "like"}}), json!({"a": {"op": "changed"}}), json!({"a..b": 1})] {
            assert!(parse_conditions(bad.as_object().unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_happened_is_put_into_the_arguments() {
        let about = json!({"topic": "pin:changed", "data": {"pin": 17, "who": "Ana", "on": true}});
        for (args, wanted, brought) in [
            (json!({"pin": "{{data.pin}}", "high": "{{ data.on }}"}), json!({"pin": 17, "high": true}), false),
            (json!("pin {{data.pin}} is {{data.on}}"), json!("pin 17 is true"), false),
            (json!(["{{data.who}} at {{data.pin}}"]), json!(["Ana at 17"]), true),
            (json!("{{data.none}}"), json!(null), false),
            (json!("[{{data.none}}]"), json!("[]"), false),
            (json!("{{data"), json!("{{data"), false),
            (json!("}} {{topic}}"), json!("}} pin:changed"), true),
            (json!("{{data}}"), json!({"pin": 17, "who": "Ana", "on": true}), true),
        ] {
            assert_eq!(fill_placeholders(&args, &about), (wanted, brought), "{args}");
            assert!(has_placeholders(&args));
        }
        assert!(!has_placeholders(&json!({"a": ["b", 1]})));
        // Inserted values are not expanded again.
        let sly = json!({"data": {"a": "{{data.b}}", "b": "secret"}});
        assert_eq!(fill_placeholders(&json!("{{data.a}}!"), &sly).0, json!("{{data.b}}!"));
    }
}
