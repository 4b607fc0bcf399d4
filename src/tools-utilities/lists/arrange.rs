//! Operations from list to list: reorder or select items.

use super::{Relation, part, ranks};
use crate::{
    bounds::Deadline,
    chance::SecureRng,
    order::{Rank, Real, canonical},
};
use std::{cmp::Ordering, collections::HashSet};
use tool::prelude::*;

/// Sort stably; items without the field come last in both orders.
pub(super) fn sorted(array: Vec<Value>, key: Option<&str>, descending: bool, until: &Deadline) -> Result<Vec<Value>> {
    let mut ranked: Vec<(Rank, Value)> = ranks(&array, key, until)?.into_iter().zip(array).collect();
    ranked.sort_by(|(a, _), (b, _)| {
        let missing = [a, b].map(|rank| matches!(rank, Rank::Nothing));
        let order = a.compare(b);
        if descending && missing == [false, false] { order.reverse() } else { order }
    });
    Ok(ranked.into_iter().map(|(_, item)| item).collect())
}

/// Remove duplicates and keep the first of each.
pub(super) fn unique(array: Vec<Value>, key: Option<&str>, until: &Deadline) -> Result<Vec<Value>> {
    let mut seen = HashSet::new();
    filter_within(array, until, |item| seen.insert(part(item, key).map(canonical)))
}

/// Filter within the time limit.
fn filter_within(array: Vec<Value>, until: &Deadline, mut fits: impl FnMut(&Value) -> bool) -> Result<Vec<Value>> {
    let mut kept = Vec::new();
    for item in array {
        until.check()?;
        if fits(&item) {
            kept.push(item);
        }
    }
    Ok(kept)
}

/// The unique items that are in the other list, or that are not.
pub(super) fn intersect_or_difference(
    array: Vec<Value>,
    other: &[Value],
    key: Option<&str>,
    wanted: bool,
    until: &Deadline,
) -> Result<Vec<Value>> {
    let name = |item: &Value| part(item, key).map(canonical);
    let others = other.iter().map(|item| until.check().map(|()| name(item))).collect::<Result<HashSet<_>>>()?;
    unique(filter_within(array, until, |item| others.contains(&name(item)) == wanted)?, key, until)
}

pub(super) fn filtered(
    array: Vec<Value>,
    key: Option<&str>,
    relation: Option<Relation>,
    value: Option<&Value>,
    until: &Deadline,
) -> Result<Vec<Value>> {
    let relation = relation.unwrap_or(if value.is_some() { Relation::Eq } else { Relation::Exists });
    let wanted = match (relation, value) {
        (Relation::Exists, _) => &Value::Null,
        (_, None) => return Err(Error::bad_args(format!("`value` is missing: {} needs one", relation.word()))),
        (Relation::In, Some(Value::Array(_))) => value.unwrap_or(&Value::Null),
        (Relation::In, _) => return Err(Error::bad_args("`value` must be a list for in")),
        (_, Some(value)) => value,
    };
    let names: HashSet<String> = match (relation, wanted) {
        (Relation::In, Value::Array(values)) => values.iter().map(canonical).collect(),
        _ => HashSet::from([canonical(wanted)]),
    };
    let wanted = SortKeys::new(wanted, names);
    let fits = |item: &Value| {
        let part = part(item, key);
        let is = |orders: &[Ordering]| part.and_then(|part| wanted.compared(part)).is_some_and(|o| orders.contains(&o));
        match relation {
            Relation::Exists => part.is_some_and(|part| !part.is_null()),
            Relation::Eq | Relation::In => part.is_some_and(|part| wanted.is(part)),
            Relation::Ne => part.is_none_or(|part| !wanted.is(part)),
            Relation::Gt => is(&[Ordering::Greater]),
            Relation::Gte => is(&[Ordering::Greater, Ordering::Equal]),
            Relation::Lt => is(&[Ordering::Less]),
            Relation::Lte => is(&[Ordering::Less, Ordering::Equal]),
            Relation::Contains => part.is_some_and(|part| wanted.is_in(part)),
        }
    };
    filter_within(array, until, fits)
}

/// The comparison value of a filter, prepared once for all items.
struct SortKeys<'v> {
    value: &'v Value,
    /// Candidates in the form of [`canonical`].
    names: HashSet<String>,
    rank: Rank,
    number: Option<Real>,
    /// As lowercase text.
    text: String,
}

impl<'v> SortKeys<'v> {
    fn new(value: &'v Value, names: HashSet<String>) -> Self {
        let rank = Rank::of(Some(value));
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned).to_lowercase();
        Self { value, names, number: rank.numeric(), rank, text }
    }

    fn is(&self, part: &Value) -> bool {
        self.names.contains(&canonical(part))
    }

    /// Compare numbers with numbers, including numbers in text, and texts with texts; different kinds do not compare.
    fn compared(&self, part: &Value) -> Option<Ordering> {
        let rank = Rank::of(Some(part));
        match (&rank, &self.rank) {
            (Rank::Nothing, _) | (_, Rank::Nothing) => None,
            (Rank::Text(..), Rank::Text(..)) | (Rank::Bool(_), Rank::Bool(_)) => Some(rank.compare(&self.rank)),
            _ => Some(rank.numeric()?.compare(self.number?)),
        }
    }

    /// A list that contains it, an object with the key, or a text with it inside, ignoring case.
    fn is_in(&self, part: &Value) -> bool {
        match (part, self.value) {
            (Value::Array(items), _) => items.iter().any(|item| self.is(item)),
            (Value::Object(fields), Value::String(key)) => fields.contains_key(key),
            (Value::String(text), _) => text.to_lowercase().contains(&self.text),
            _ => false,
        }
    }
}

/// Flatten nested lists by this many levels.
pub(super) fn flatten(array: Vec<Value>, depth: usize) -> Vec<Value> {
    let mut out = Vec::with_capacity(array.len());
    for item in array {
        match item {
            Value::Array(inner) if depth > 0 => out.extend(flatten(inner, depth - 1)),
            other => out.push(other),
        }
    }
    out
}

/// The items from one index to before another; negative indexes count from the end.
pub(super) fn slice(array: Vec<Value>, start: Option<i64>, end: Option<i64>) -> Vec<Value> {
    let length = i64::try_from(array.len()).unwrap_or(i64::MAX);
    let place = |index: i64| {
        let index = if index < 0 { length.saturating_add(index) } else { index };
        usize::try_from(index.clamp(0, length)).unwrap_or_default()
    };
    let (start, end) = (place(start.unwrap_or(0)), place(end.unwrap_or(length)));
    array.into_iter().take(end).skip(start).collect()
}

/// A random sample without repetition, in random order.
pub(super) fn sample(mut array: Vec<Value>, size: usize) -> Result<Vec<Value>> {
    let mut chance = SecureRng::default();
    let size = size.min(array.len());
    for at in 0..size {
        let other = at + chance.below((array.len() - at) as u64)? as usize;
        array.swap(at, other);
    }
    array.truncate(size);
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cases;
    use proptest::prelude::*;

    fn until(seconds: u64) -> Deadline {
        Deadline::after(std::time::Duration::from_secs(seconds))
    }

    fn values(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|n| json!(n)).collect()
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// On lists of numbers, operations agree with the standard library.
        #[test]
        fn lists_do_what_vectors_do(
            numbers in prop::collection::vec(-9_i64..9, 0..30),
            others in prop::collection::vec(-9_i64..9, 0..30),
            start in -40_i64..40,
            end in -40_i64..40,
        ) {
            let (list, soon) = (values(&numbers), until(60));
            let mut ordered = numbers.clone();
            ordered.sort_unstable();
            prop_assert_eq!(sorted(list.clone(), None, false, &soon).unwrap(), values(&ordered));
            ordered.reverse();
            prop_assert_eq!(sorted(list.clone(), None, true, &soon).unwrap(), values(&ordered));
            let mut seen = HashSet::new();
            let once: Vec<i64> = numbers.iter().copied().filter(|n| seen.insert(*n)).collect();
            prop_assert_eq!(unique(list.clone(), None, &soon).unwrap(), values(&once));
            let split = |inside: bool| once.iter().copied().filter(|n| others.contains(n) == inside).collect::<Vec<_>>();
            for inside in [true, false] {
                let among = intersect_or_difference(list.clone(), &values(&others), None, inside, &soon).unwrap();
                prop_assert_eq!(among, values(&split(inside)));
            }
            let length = numbers.len() as i64;
            let place = |n: i64| if n < 0 { (n + length).max(0) } else { n.min(length) } as usize;
            let wanted = numbers.get(place(start)..place(end)).unwrap_or_default();
            prop_assert_eq!(slice(list.clone(), Some(start), Some(end)), values(wanted));
            let above: Vec<i64> = numbers.iter().copied().filter(|n| *n > start).collect();
            let greater = filtered(list.clone(), None, Some(Relation::Gt), Some(&json!(start)), &soon).unwrap();
            prop_assert_eq!(greater, values(&above));
            let chunks: Vec<Value> = list.chunks(3).map(|part| Value::from(part.to_vec())).collect();
            prop_assert_eq!(flatten(chunks, 1), list.clone());
            let mut shuffled = sample(list.clone(), list.len()).unwrap();
            shuffled.sort_by_key(|n| n.as_i64());
            ordered.reverse();
            prop_assert_eq!(shuffled, values(&ordered));
        }
    }

    #[test]
    fn what_takes_too_long_ends() {
        let (list, over) = (values(&[1, 2, 3]), until(0));
        let late = [
            sorted(list.clone(), None, false, &over),
            unique(list.clone(), None, &over),
            intersect_or_difference(list.clone(), &list, None, true, &over),
            filtered(list.clone(), None, Some(Relation::Contains), Some(&json!("x")), &over),
        ];
        for result in late {
            assert!(matches!(&result, Err(Error::BadArgs(why)) if why.contains("takes too long")), "{result:?}");
        }
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6000 {
            let order = sample(values(&[1, 2, 3]), 3).unwrap();
            *counts.entry(json!(order).to_string()).or_insert(0_i64) += 1;
        }
        // Six standard deviations.
        assert!(counts.len() == 6 && counts.values().all(|n| (n - 1000).abs() < 180), "{counts:?}");
    }
}
