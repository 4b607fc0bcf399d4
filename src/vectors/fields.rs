//! The metadata of a collection in memory: for each field the rows of each value. A filter is evaluated without reading a
//! record.

use crate::filter::{Filter, Scalar, Test, scalars};
use embed::scan::Bits;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

/// The rows of each value of each field.
#[derive(Default)]
pub(crate) struct Fields {
    fields: HashMap<String, BTreeMap<Scalar, Vec<u32>>>,
    /// Estimated bytes.
    bytes: usize,
}

impl Fields {
    /// Adds a row; rows are added in ascending order.
    pub fn push(&mut self, row: u32, metadata: &Map<String, Value>) {
        for (name, value) in metadata {
            if !self.fields.contains_key(name) {
                self.fields.insert(name.clone(), BTreeMap::new());
                self.bytes += name.len() + 100;
            }
            let Some(field) = self.fields.get_mut(name) else { continue };
            for value in scalars(value) {
                let new = if let Scalar::Text(text) = &value { text.len() + 72 } else { 72 };
                let rows = field.entry(value).or_insert_with(|| {
                    self.bytes += new;
                    vec![]
                });
                // A list may name a value twice.
                if rows.last() != Some(&row) {
                    rows.push(row);
                    self.bytes += 5;
                }
            }
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rows that meet a filter, among the first `rows`.
    pub fn matching(&self, filter: &Filter, rows: usize) -> Bits {
        match filter {
            Filter::All(all) => all.iter().fold(ones(rows), |mut found, filter| {
                let other = self.matching(filter, rows);
                found.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
                found
            }),
            Filter::Any(any) => any.iter().fold(zeros(rows), |mut found, filter| {
                let other = self.matching(filter, rows);
                found.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
                found
            }),
            Filter::Not(filter) => {
                let (mut found, all) = (self.matching(filter, rows), ones(rows));
                found.0.iter_mut().zip(&all.0).for_each(|(word, all)| *word = all & !*word);
                found
            }
            Filter::Field(name, test) => {
                let mut found = zeros(rows);
                if let Some(values) = self.fields.get(name) {
                    select(values, test, &mut |row| found.set(row as usize, true));
                }
                found
            }
        }
    }
}

fn select(values: &BTreeMap<Scalar, Vec<u32>>, test: &Test, found: &mut dyn FnMut(u32)) {
    let mut all = |rows: &Vec<u32>| rows.iter().for_each(|row| found(*row));
    match test {
        Test::In(wanted) => wanted.iter().filter_map(|value| values.get(value)).for_each(all),
        Test::Exists => values.iter().filter(|(value, _)| **value != Scalar::Null).for_each(|(_, rows)| all(rows)),
        Test::Above(from, too) => {
            let bound = if *too { Bound::Included(from) } else { Bound::Excluded(from) };
            let above = values.range((bound, Bound::Unbounded));
            above.take_while(|(value, _)| value.kind() == from.kind()).for_each(|(_, rows)| all(rows));
        }
        Test::Below(to, too) => {
            let bound = if *too { Bound::Included(to) } else { Bound::Excluded(to) };
            let below = values.range((Bound::Unbounded, bound)).rev();
            below.take_while(|(value, _)| value.kind() == to.kind()).for_each(|(_, rows)| all(rows));
        }
    }
}

pub(crate) fn zeros(rows: usize) -> Bits {
    Bits(vec![0; rows.div_ceil(64)])
}

pub(crate) fn ones(rows: usize) -> Bits {
    let mut bits = Bits(vec![u64::MAX; rows.div_ceil(64)]);
    if let (Some(last), rest @ 1..) = (bits.0.last_mut(), rows % 64) {
        *last = (1 << rest) - 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|b| json!(b)),
            (-3..4).prop_map(|n| json!(n)),
            (-3..4).prop_map(|n| json!(f64::from(n) / 2.0)),
            "[ab]{0,2}".prop_map(|t| json!(t)),
        ]
    }

    fn metadata() -> impl Strategy<Value = Map<String, Value>> {
        let field = prop_oneof![3 => value(), 1 => prop::collection::vec(value(), 0..4).prop_map(Value::Array)];
        prop::collection::vec(("[xyz]", field), 0..4).prop_map(|fields| fields.into_iter().collect())
    }

    fn filter() -> impl Strategy<Value = Value> {
        let sized = prop_oneof![(-3..4).prop_map(|n| json!(n)), "[ab]{0,2}".prop_map(|t| json!(t))];
        let test = prop_oneof![
            value(),
            ("eq|ne", value()).prop_map(|(op, value)| json!({op: value})),
            ("gt|gte|lt|lte", sized.clone()).prop_map(|(op, value)| json!({op: value})),
            (sized.clone(), sized).prop_map(|(a, b)| json!({"gte": a, "lt": b})),
            ("in|nin", prop::collection::vec(value(), 0..3)).prop_map(|(op, values)| json!({op: values})),
            any::<bool>().prop_map(|yes| json!({"exists": yes})),
        ];
        let leaf = ("[xyz]", test).prop_map(|(name, test)| json!({name: test}));
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|all| json!({"and": all})),
                prop::collection::vec(inner.clone(), 1..4).prop_map(|any| json!({"or": any})),
                inner.prop_map(|one| json!({"not": one})),
            ]
        })
    }

    proptest! {
        /// The rows found in memory are those that a plain comparison of each metadata finds.
        #[test]
        fn filters_are_exact(rows in prop::collection::vec(metadata(), 0..150), filter in filter()) {
            let filter = Filter::read(filter.as_object().unwrap()).unwrap();
            let mut fields = Fields::default();
            rows.iter().enumerate().for_each(|(row, metadata)| fields.push(row as u32, metadata));
            let found = fields.matching(&filter, rows.len());
            for (row, metadata) in rows.iter().enumerate() {
                prop_assert_eq!(found.has(row), filter.matches(metadata), "{:?} {:?}", filter, metadata);
            }
            prop_assert_eq!(found.count(), rows.iter().filter(|m| filter.matches(m)).count());
        }
    }
}
