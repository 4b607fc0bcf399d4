//! Compare values of any kind, and resolve paths.

use std::cmp::Ordering;
use tool::prelude::Value;

/// The sort order of a value: false and true, numbers, texts ignoring case, then everything else; null comes last.
#[derive(Debug, Clone)]
pub(crate) enum Rank {
    Bool(bool),
    Number(Real),
    /// In lower case, and as written.
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
            Some(Value::Number(n)) => Self::Number(Real::of(n)),
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

    /// The number, also if written as text.
    pub(crate) fn numeric(&self) -> Option<Real> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Text(text, _) => Real::read(text.trim()),
            _ => None,
        }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.compare(*b),
            (Self::Text(a, x), Self::Text(b, y)) => a.cmp(b).then_with(|| x.cmp(y)),
            (Self::Other(a), Self::Other(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

/// A number with exact comparison: floats alone would confuse whole numbers beyond 2^53.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Real {
    /// Within the integers of JSON: 64 bits, signed or unsigned.
    Whole(i128),
    /// Finite.
    Float(f64),
}

impl Real {
    fn of(number: &serde_json::Number) -> Self {
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        whole.map_or_else(|| Self::Float(number.as_f64().unwrap_or_default()), Self::Whole)
    }

    /// Parse a number.
    fn read(text: &str) -> Option<Self> {
        let whole = text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from));
        let float = || text.parse().ok().filter(|n: &f64| n.is_finite()).map(Self::Float);
        whole.ok().map(Self::Whole).or_else(float)
    }

    /// The nearest float.
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        // The part before the point is compared as an integer; the cast saturates far beyond 64 bits.
        let against = |whole: i128, float: f64| {
            let behind = || 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal);
            whole.cmp(&(float.trunc() as i128)).then_with(behind)
        };
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (Self::Whole(a), Self::Float(b)) => against(a, b),
            (Self::Float(a), Self::Whole(b)) => against(b, a).reverse(),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        }
    }
}

/// Equal values have equal text: 1 and 1.0 are equal, and the order of keys is ignored.
pub(crate) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(n) if n.is_f64() => {
            // Integers of 64 bits are written as such.
            const BITS: f64 = 18_446_744_073_709_551_616.0;
            let float = n.as_f64().unwrap_or_default();
            *out += &match float.fract() == 0.0 && float.abs() <= BITS {
                true => (float as i128).to_string(),
                false => crate::statistics::number(float).to_string(),
            }
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        // Keys are sorted.
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

/// Resolve a path: `name`, `address.city`, `tags[0]` or `tags.0`. A key that contains dots takes precedence.
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
        let numbers = [
            json!(-1e300),
            json!(i64::MIN),
            json!(-1.5),
            json!(-1),
            json!(0),
            json!(0.5),
            json!(9_007_199_254_740_992.0),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e20),
            json!(1e300),
        ];
        for (i, a) in numbers.iter().enumerate() {
            for (j, b) in numbers.iter().enumerate() {
                assert_eq!(Rank::of(Some(a)).compare(&Rank::of(Some(b))), i.cmp(&j), "{a} {b}");
                assert_eq!(canonical(a) == canonical(b), i == j, "{a} {b}");
            }
        }
        for (a, b) in
            [(json!(1), json!(1.0)), (json!(0), json!(-0.0)), (json!(1e16), json!(10_000_000_000_000_000_i64))]
        {
            assert!(
                Rank::of(Some(&a)).compare(&Rank::of(Some(&b))).is_eq() && canonical(&a) == canonical(&b),
                "{a} {b}"
            );
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
