//! Operations from list to value: groups, counts, sums, extremes, joined text.

use super::{part, ranks};
use crate::{
    bounds::Deadline,
    json::text_of,
    order::{Rank, Real, canonical},
    statistics::{number, sum as added, tally},
};
use std::{cmp::Ordering, collections::HashMap};
use tool::prelude::*;

/// The maximum number of distinct values in the counts.
const VALUES: usize = 1000;
/// The maximum length of the joined text, in bytes.
const JOINED: usize = 4 << 20;

/// Group items by a field; items without it are under the empty text.
pub(super) fn grouped(array: Vec<Value>, key: Option<&str>, until: &Deadline) -> Result<Value> {
    let mut groups = serde_json::Map::new();
    for item in array {
        until.check()?;
        let name = part(&item, key).map(|part| name(part.clone())).unwrap_or_default();
        if let Value::Array(group) = groups.entry(name).or_insert_with(|| json!([])) {
            group.push(item);
        }
    }
    Ok(Value::Object(groups))
}

/// A value as the name of a group.
fn name(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        other => text_of(other),
    }
}

/// The number of items, and the frequency of each value.
pub(super) fn counts(array: &[Value], key: Option<&str>, until: &Deadline) -> Result<Value> {
    let nothing = Value::Null;
    let parts: Vec<&Value> = array.iter().map(|item| part(item, key).unwrap_or(&nothing)).collect();
    let name = |part: &&Value| until.check().map(|()| canonical(part));
    let names = parts.iter().map(name).collect::<Result<Vec<String>>>()?;
    let mut first: HashMap<&str, &Value> = HashMap::new();
    for (name, part) in names.iter().zip(&parts) {
        first.entry(name).or_insert(part);
    }
    let counts = tally(names.iter().map(String::as_str)).into_iter().take(VALUES);
    let values: Vec<Value> =
        counts.map(|(name, count)| json!({"value": first.get(name).unwrap_or(&&nothing), "count": count})).collect();
    Ok(json!({"total": array.len(), "values": values}))
}

/// The numbers of a list; numbers in text count, and anything else is an error.
fn numbers(array: &[Value], key: Option<&str>, until: &Deadline) -> Result<Vec<f64>> {
    let mut numbers = Vec::with_capacity(array.len());
    for (at, item) in array.iter().enumerate() {
        until.check()?;
        match Rank::of(part(item, key)) {
            Rank::Nothing => {}
            rank => numbers.push(rank.numeric().map(Real::float).ok_or_else(|| {
                let field = key.map(|key| format!("`{key}` of ")).unwrap_or_default();
                Error::bad_args(format!("{field}item {} is not a number: filter the list first", at + 1))
            })?),
        }
    }
    Ok(numbers)
}

pub(super) fn sum(array: &[Value], key: Option<&str>, until: &Deadline) -> Result<Value> {
    let sum = added(&numbers(array, key, until)?);
    if sum.is_finite() { Ok(number(sum)) } else { Err(Error::bad_args("the sum is too large")) }
}

pub(super) fn average(array: &[Value], key: Option<&str>, until: &Deadline) -> Result<Value> {
    let numbers = numbers(array, key, until)?;
    if numbers.is_empty() {
        return Err(Error::bad_args("there are no numbers to take the average of"));
    }
    let average = added(&numbers) / numbers.len() as f64;
    if average.is_finite() { Ok(number(average)) } else { Err(Error::bad_args("the sum is too large")) }
}

/// The item with the smallest or largest key; null keys are ignored.
pub(super) fn extreme(array: &[Value], key: Option<&str>, wanted: Ordering, until: &Deadline) -> Result<Value> {
    let ranks = ranks(array, key, until)?;
    let mut best: Option<(&Rank, &Value)> = None;
    for (rank, item) in ranks.iter().zip(array) {
        if !matches!(rank, Rank::Nothing) && best.is_none_or(|(other, _)| rank.compare(other) == wanted) {
            best = Some((rank, item));
        }
    }
    Ok(best.map(|(_, item)| item.clone()).unwrap_or_default())
}

pub(super) fn join(array: &[Value], key: Option<&str>, separator: &str, until: &Deadline) -> Result<String> {
    let mut text = String::new();
    for (at, item) in array.iter().enumerate() {
        until.check()?;
        if at > 0 {
            text += separator;
        }
        text += &part(item, key).map(|part| name(part.clone())).unwrap_or_default();
        if text.len() > JOINED {
            return Err(Error::bad_args("joined, this is too long: give fewer items or a shorter separator"));
        }
    }
    Ok(text)
}
