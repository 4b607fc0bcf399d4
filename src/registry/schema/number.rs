//! Numbers and equality as JSON Schema sees them: 1 and 1.0 are the same.

use serde_json::{Number, Value};
use std::{cmp::Ordering, fmt::Write};

/// The largest power of ten that decimals are scaled with.
const SCALE: i32 = 25;

pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

pub(super) fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// A length or a count in a schema: also `2.0`.
pub(super) fn count(value: &Value) -> Option<u64> {
    let float = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
    value.as_u64().or_else(|| float(value.as_f64()?))
}

/// Exact for decimals such as `0.3` and `0.1` where they have few enough digits.
pub(super) fn is_multiple(value: &Number, of: &Number) -> bool {
    let exact = || {
        let ((a, a_scale), (b, b_scale)) = (decimal(value)?, decimal(of)?);
        let scale = a_scale.max(b_scale);
        let up = |number: i128, from: i32| number.checked_mul(10_i128.checked_pow(u32::try_from(scale - from).ok()?)?);
        up(a, a_scale)?.checked_rem(up(b, b_scale)?).map(|rest| rest == 0)
    };
    exact().unwrap_or_else(|| {
        let (value, of) = (value.as_f64().unwrap_or(f64::NAN), of.as_f64().unwrap_or(f64::NAN));
        value % of == 0.0
    })
}

/// The digits of a number, and how many of them are behind the point.
fn decimal(number: &Number) -> Option<(i128, i32)> {
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = i32::try_from(part.len()).ok()? - exponent.parse::<i32>().ok()?;
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    match scale {
        0..=SCALE => Some((digits, scale)),
        _ if (-SCALE..0).contains(&scale) => Some((digits.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?, 0)),
        _ => None,
    }
}

pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Writes a value so that equal values give equal text.
pub(super) fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => {
            let whole = number.as_i128().or_else(|| {
                let float = number.as_f64()?;
                (float.fract() == 0.0 && float.abs() < 1e18).then_some(float as i128)
            });
            let _ = match whole {
                Some(whole) => write!(out, "{whole}"),
                None => write!(out, "{number}"),
            };
        }
        Value::Array(items) => {
            out.push('[');
            items.iter().for_each(|item| {
                canonical(item, out);
                out.push(',');
            });
            out.push(']');
        }
        // Fields are sorted: serde_json keeps them in a tree.
        Value::Object(fields) => {
            out.push('{');
            fields.iter().for_each(|(name, field)| {
                let _ = write!(out, "{}:", Value::from(name.as_str()));
                canonical(field, out);
                out.push(',');
            });
            out.push('}');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}
