//! How values of any kind are ordered, told apart and reached by a path.

use std::cmp::Ordering;
use tool::prelude::Value;

/// A value as it is ordered: false and true, numbers, texts without regard to case, then all else; nothing comes last.
#[derive(Debug, Clone)]
pub(crate) enum Rank {
    Bool(bool),
    Number(f64),
    /// In small letters, and as it is.
    Text(String, String),
    /// A list or an object, as JSON.
    Other(String),
    Nothing,
}

impl Rank {
    pub(crate) fn of(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Nothing,
            Some(Value::Bool(is)) => Self::Bool(*is),
            Some(Value::Number(n)) => Self::Number(n.as_f64().unwrap_or_default()),
            Some(Value::String(text)) => Self::Text(text.to_lowercase(), text.clone()),
            Some(other) => Self::Other(canonical(other)),
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Number(_) => 1,
            Self::Text(..) => 2,
            Self::Other(_) => 3,
            Self::Nothing => 4,
        }
    }

    /// The number a text says.
    pub(crate) fn numeric(&self) -> Option<f64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Text(text, _) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
            _ => None,
        }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a, x), Self::Text(b, y)) => a.cmp(b).then_with(|| x.cmp(y)),
            (Self::Other(a), Self::Other(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

/// One text for equal values: 1 and 1.0 are equal, and the order of keys is none.
pub(crate) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(n) if n.is_f64() => {
            *out += &crate::statistics::number(n.as_f64().unwrap_or_default()).to_string()
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        // Keys come in order.
        Value::Object(fields) => {
            out.push('{');
            for (key, value) in fields {
                *out += &Value::from(key.as_str()).to_string();
                out.push(':');
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        plain => *out += &plain.to_string(),
    }
}

/// What a path leads to: `name`, `address.city`, `tags[0]` or `tags.0`. A key that has dots itself comes first.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    let path = path.replace('[', ".").replace(']', "");
    path.split('.').filter(|step| !step.is_empty()).try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::prelude::json;

    #[test]
    fn kinds_are_ordered_and_equals_are_equal() {
        let ordered = json!([false, true, -1, 1.5, 2, "a", "B", "b", [1], {"a": 1}, null]);
        let ranks: Vec<Rank> = ordered.as_array().unwrap().iter().map(|v| Rank::of(Some(v))).collect();
        for (i, a) in ranks.iter().enumerate() {
            for (j, b) in ranks.iter().enumerate() {
                assert_eq!(a.compare(b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        assert_eq!(canonical(&json!({"b": [1.0, "x"], "a": null})), canonical(&json!({"a": null, "b": [1, "x"]})));
        for (a, b) in [(json!(["a,b"]), json!(["a", "b"])), (json!("1"), json!(1)), (json!(1e300), json!(1e299))] {
            assert_ne!(canonical(&a), canonical(&b));
        }
    }

    #[test]
    fn paths_lead_inside() {
        let value = json!({"a": {"b": [{"c": 7}], "x.y": 1}, "a.b": 2, "": 3});
        for (path, wanted) in [
            ("a.b", Some(json!(2))),
            ("a.b[0].c", Some(json!(7))),
            ("a.b.0.c", Some(json!(7))),
            ("a.b[1]", None),
            ("a.b[-1]", None),
            ("a.b[99999999999999999999]", None),
            ("a.c", None),
            ("", Some(json!(3))),
        ] {
            assert_eq!(at(&value, path).cloned(), wanted, "{path}");
        }
    }
}
