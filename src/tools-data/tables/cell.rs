//! Comparable values of columns: numbers by size, days and times by moment, texts without regard to case.

use super::column::{Column, Kind};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde_json::{Number, Value};
use std::cmp::Ordering;
use tool::When;

/// How many characters of a text count for sorting.
const SORTED: usize = 200;

/// A comparable value. All values of a column are of one variant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Bool(bool),
    Number(Real),
    Day(Date),
    At(Timestamp),
    Text(String),
}

/// A JSON number with an exact order.
#[derive(Debug, Clone)]
pub(super) struct Real(Number);

impl Real {
    /// Its normal form: 7 for 7.0 too.
    fn written(&self) -> String {
        let float = self.0.as_f64().unwrap_or(0.0);
        match self.whole() {
            Some(whole) => whole.to_string(),
            None if float.fract() == 0.0 => (float as i128).to_string(),
            None => float.to_string(),
        }
    }

    fn whole(&self) -> Option<i128> {
        self.0.as_i64().map(i128::from).or_else(|| self.0.as_u64().map(i128::from))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        let float = |real: &Self| real.0.as_f64().unwrap_or(0.0);
        match (self.whole(), other.whole()) {
            (Some(a), Some(b)) => a.cmp(&b),
            // A float has fewer whole numbers than an integer: compare the whole parts as integers.
            (Some(a), None) => against(a, float(other)),
            (None, Some(b)) => against(b, float(self)).reverse(),
            (None, None) => float(self).partial_cmp(&float(other)).unwrap_or(Ordering::Equal),
        }
    }
}

fn against(whole: i128, float: f64) -> Ordering {
    // A cast saturates at the ends of i128, beyond all whole numbers of JSON.
    whole.cmp(&(float.trunc() as i128)).then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Real {}

/// A stored value of a column; `None` for null, or a value of another type.
pub(super) fn cell(kind: Kind, value: &Value) -> Option<Cell> {
    match (kind, value) {
        (_, Value::Null) => None,
        (Kind::Number, Value::Number(n)) => Some(Cell::Number(Real(n.clone()))),
        (Kind::Boolean, Value::Bool(b)) => Some(Cell::Bool(*b)),
        (Kind::Date, Value::String(text)) => text.parse().ok().map(Cell::Day),
        (Kind::Datetime, Value::String(text)) => text.parse().ok().map(Cell::At),
        (Kind::Text | Kind::Select, Value::String(text)) => Some(Cell::Text(text.to_lowercase())),
        (Kind::Json, value) => Some(Cell::Text(value.to_string().to_lowercase())),
        _ => None,
    }
}

/// The bytes of a value, equal for equal values; `None` without a value.
pub(super) fn mark(kind: Kind, value: &Value) -> Option<Vec<u8>> {
    let text = match cell(kind, value)? {
        Cell::Bool(b) => b.to_string(),
        Cell::Number(real) => real.written(),
        Cell::Day(day) => day.to_string(),
        Cell::At(at) => at.to_string(),
        Cell::Text(text) => text,
    };
    Some(text.into_bytes())
}

/// The same as [`cell`], truncated for sorting.
pub(super) fn rank(kind: Kind, value: &Value) -> Option<Cell> {
    match cell(kind, value) {
        Some(Cell::Text(text)) => Some(Cell::Text(text.chars().take(SORTED).collect())),
        other => other,
    }
}

/// The range of a value in a filter: in a column of times, a day is the range of its times.
pub(super) fn span(column: &Column, given: &Value, stored: &Value, zone: &TimeZone) -> Option<(Cell, Cell)> {
    let one = cell(column.kind(), stored)?;
    let day = match (column.kind(), given.as_str()) {
        (Kind::Datetime, Some(text)) => match When::read(text, zone) {
            Ok(When::Day(day)) => Some(day),
            _ => None,
        },
        _ => None,
    };
    let last = day.and_then(|day| {
        let next = day.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp();
        next.checked_sub(SignedDuration::from_nanos(1)).ok()
    });
    Some((one.clone(), last.map_or(one, Cell::At)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cases;
    use proptest::prelude::*;
    use tool::prelude::json;

    fn real(value: Value) -> Cell {
        cell(Kind::Number, &value).unwrap()
    }

    #[test]
    fn numbers_compare_exactly() {
        let rows = [
            json!(-1e300),
            json!(i64::MIN),
            json!(-2),
            json!(-1.5),
            json!(-1),
            json!(-0.5),
            json!(0),
            json!(0.5),
            json!(1),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e19 * 2.0),
            json!(1e300),
        ];
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                assert_eq!(real(a.clone()).cmp(&real(b.clone())), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(real(json!(1)), real(json!(1.0)));
        for (a, b, same) in [(json!(1), json!(1.0), true), (json!(0), json!(-0.0), true), (json!(1), json!(1.5), false)]
        {
            assert_eq!(mark(Kind::Number, &a) == mark(Kind::Number, &b), same, "{a} {b}");
        }
        assert_eq!(real(json!(0)), real(json!(-0.0)));
        assert!(real(json!(9_007_199_254_740_993_i64)) > real(json!(9_007_199_254_740_992.0)));
    }

    #[test]
    fn a_day_is_all_of_its_times() {
        let zone = TimeZone::get("Europe/Vienna").unwrap();
        let column: Column = serde_json::from_value(json!({"name": "at", "type": "datetime"})).unwrap();
        let (first, last) = span(&column, &json!("2026-03-29"), &json!("2026-03-29T00:00:00+01:00"), &zone).unwrap();
        let at = |text: &str| cell(Kind::Datetime, &json!(text)).unwrap();
        assert_eq!(first, at("2026-03-28T23:00:00Z"));
        assert!(last > at("2026-03-29T23:59:59+02:00") && last < at("2026-03-30T00:00:00+02:00"));
        let (first, last) =
            span(&column, &json!("2026-03-29T12:00"), &json!("2026-03-29T12:00:00+02:00"), &zone).unwrap();
        assert_eq!(first, last);
    }

    proptest! {
        #![proptest_config(cases(512))]
        #[test]
        fn numbers_are_in_one_order(values in prop::collection::vec(prop_oneof![any::<i64>().prop_map(|n| json!(n)),
            any::<u64>().prop_map(|n| json!(n)), any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| json!(f)),
            (-3_i64..3).prop_map(|n| json!(n as f64 / 2.0))], 3)) {
            let [a, b, c] = [0, 1, 2].map(|n| real(values[n].clone()));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            if a <= b && b <= c {
                prop_assert!(a <= c, "{:?}", values);
            }
            if a == b {
                prop_assert_eq!(a.cmp(&c), b.cmp(&c), "{:?}", values);
            }
        }
    }
}
