//! An upper bound for the cost of a check against a schema. A few kilobytes of schema can describe more steps than any
//! machine can make, so the steps are counted first, each shared part once.

use crate::schema::{
    Schema,
    references::{Part, References, Target, base_of},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The most schemas that may apply to one place of a value.
const IN_PLACE: u64 = 10_000;
/// The most steps for the check of one value: a few seconds on a small board.
const STEPS: u64 = 5_000_000;
/// Up to this cost all faults are collected, each of which takes memory.
pub(crate) const DETAILED: u64 = 250_000;
/// The deepest nesting of schemas in a check: each level takes stack.
const NESTED: u32 = 320;
/// How many entries of a list of names or choices count as one step.
const LISTED: usize = 16;
/// The cost of a schema outside the document, for each part of the value: only the meta-schemas are available.
const FOREIGN: u64 = 64;
/// The value checked in place of a field name.
static NAME: Value = Value::String(String::new());

const TOO_LONG: &str = "checking a value against it could take too long, because its parts are combined too many times: \
                        simplify the schema";
const TOO_DEEP: &str = "its parts are nested too deep: simplify the schema";
const CIRCLE: &str = "a reference leads back to itself without going into a field or an item: remove the circle";

/// Compiles a schema, unless a check against it could take too long.
///
/// # Errors
/// The first fault of the schema.
pub(crate) fn compile(parameters: &Value) -> Result<Schema, String> {
    check_definition(parameters)?;
    Schema::compile(parameters)
}

/// Whether every part of a schema applies a bounded number of schemas to one place of a value.
///
/// # Errors
/// What is wrong with the schema.
pub(crate) fn check_definition(schema: &Value) -> Result<(), String> {
    let mut counter = Counter::new(schema, IN_PLACE, 0);
    let parts = counter.references.parts().to_vec();
    parts.into_iter().try_for_each(|(part, base)| counter.count(part, base, None, 0).map(drop))
}

/// The most steps that the check of a value takes.
///
/// # Errors
/// What is wrong with the schema.
pub(crate) fn check_value(schema: &Value, value: &Value) -> Result<u64, String> {
    Counter::new(schema, STEPS, size(value)).count(schema, schema, Some(value), 0).map(|cost| cost.check)
}

fn size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<u64>(),
        _ => 1,
    }
}

/// The steps of one schema at one place of a value.
#[derive(Clone, Copy)]
struct Cost {
    /// To check the value.
    check: u64,
    /// To find the fields and items it evaluates, for `unevaluatedProperties` and `unevaluatedItems` around it.
    mark: u64,
    height: u32,
}

impl Cost {
    const ONE: Self = Self { check: 1, mark: 1, height: 1 };

    fn add(&mut self, other: Self) {
        self.check = self.check.saturating_add(other.check);
        self.mark = self.mark.saturating_add(other.mark);
        self.height = self.height.max(other.height + 1);
    }
    /// Adds one of several forms, whose match is checked again to find the parts it evaluates.
    fn add_form(&mut self, other: Self) {
        self.add(Self { mark: other.mark.saturating_add(other.check), ..other });
    }
    /// Adds the cost of a part inside the value.
    fn add_inside(&mut self, other: Self) {
        self.add(Self { mark: 0, ..other });
    }
    fn larger(self, other: Self) -> Self {
        let (check, mark) = (self.check.max(other.check), self.mark.max(other.mark));
        Self { check, mark, height: self.height.max(other.height) }
    }
}

/// How the cost of a schema counts in the one that applies it.
#[derive(Clone, Copy)]
enum How<'a> {
    /// At the same place.
    Same,
    /// At the same place, by a reference.
    Reference(&'a str),
    /// At the same place, where its match decides which parts are evaluated.
    Form,
    /// Further inside.
    Inside,
    /// Further inside, where no other schema has evaluated it.
    Rest,
}

/// A schema that another applies, and the value it applies to.
struct Applied<'a> {
    how: How<'a>,
    part: &'a Value,
    value: Option<&'a Value>,
}

/// The cost of going through the lists of a schema.
fn listed(map: &Map<String, Value>) -> u64 {
    let length = |key: &str| match map.get(key) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    };
    (["enum", "required", "properties"].into_iter().map(length).sum::<usize>() / LISTED) as u64
}

struct Counter<'a> {
    references: References<'a>,
    limit: u64,
    /// The number of parts of the value.
    size: u64,
    /// The steps so far.
    work: u64,
    /// The cost of each reference target at each place of the value; `None` while it is counted.
    known: HashMap<(*const Value, *const Value), Option<Cost>>,
}

impl<'a> Counter<'a> {
    fn new(root: &'a Value, limit: u64, size: u64) -> Self {
        Self { references: References::new(root), limit, size, work: 0, known: HashMap::new() }
    }

    fn works(&mut self, steps: usize) -> Result<(), String> {
        self.work += steps as u64;
        if self.work > STEPS { Err(TOO_LONG.into()) } else { Ok(()) }
    }

    /// The cost of a schema at one place of a value; without a value, that of the schemas applied at the same place.
    fn count(
        &mut self,
        schema: &'a Value,
        base: &'a Value,
        value: Option<&'a Value>,
        depth: u32,
    ) -> Result<Cost, String> {
        self.works(1)?;
        if depth > NESTED {
            return Err(TOO_DEEP.into());
        }
        let Some(map) = schema.as_object() else { return Ok(Cost::ONE) };
        let base = base_of(schema, base);
        let (mut cost, mut rest) = (Cost::ONE, Cost::ONE);
        cost.check += listed(map);
        for Applied { how, part, value } in self.applied(map, value)? {
            let one = match how {
                How::Reference(keyword) => self.reference(keyword, part, base, value, depth + 1)?,
                _ => self.count(part, base, value, depth + 1)?,
            };
            match how {
                How::Same | How::Reference(_) => cost.add(one),
                How::Form => cost.add_form(one),
                How::Inside => cost.add_inside(one),
                How::Rest => rest.add_inside(one),
            }
        }
        if map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems") {
            cost.check = cost.check.saturating_add(cost.mark);
            cost.add(Cost { mark: rest.check, ..rest });
        }
        if cost.check > self.limit || cost.mark > self.limit {
            return Err(TOO_LONG.into());
        }
        if cost.height > NESTED { Err(TOO_DEEP.into()) } else { Ok(cost) }
    }

    /// The schemas that a schema applies, and the values they apply to. Separate from [`Self::count`], whose recursion needs a
    /// small stack frame.
    fn applied(&mut self, map: &'a Map<String, Value>, value: Option<&'a Value>) -> Result<Vec<Applied<'a>>, String> {
        let (fields, items) = (value.and_then(Value::as_object), value.and_then(Value::as_array));
        let fields_of = || fields.into_iter().flatten();
        let properties = map.get("properties").and_then(Value::as_object);
        let mut all = vec![];
        for (keyword, part) in map {
            let mut add = |how, part, value| all.push(Applied { how, part, value });
            let list = || part.as_array().into_iter().flatten();
            let schemas = || part.as_object().into_iter().flatten();
            match keyword.as_str() {
                "allOf" => list().for_each(|part| add(How::Same, part, value)),
                "anyOf" | "oneOf" => list().for_each(|part| add(How::Form, part, value)),
                "if" | "then" | "else" | "not" => add(How::Form, part, value),
                "$ref" | "$dynamicRef" | "$recursiveRef" if part.is_string() => {
                    add(How::Reference(keyword), part, value)
                }
                "dependentSchemas" | "dependencies" => schemas()
                    .filter(|(name, part)| !part.is_array() && fields.is_none_or(|f| f.contains_key(*name)))
                    .for_each(|(_, part)| add(How::Form, part, value)),
                "properties" => fields_of()
                    .filter_map(|(name, field)| Some((part.get(name)?, field)))
                    .for_each(|(part, field)| add(How::Inside, part, Some(field))),
                "patternProperties" => {
                    self.works(schemas().count().saturating_mul(fields_of().count()))?;
                    schemas()
                        .for_each(|(_, part)| fields_of().for_each(|(_, field)| add(How::Inside, part, Some(field))));
                }
                "additionalProperties" | "unevaluatedProperties" => {
                    let how = if keyword == "additionalProperties" { How::Inside } else { How::Rest };
                    fields_of()
                        .filter(|(name, _)| properties.is_none_or(|known| !known.contains_key(*name)))
                        .for_each(|(_, field)| add(how, part, Some(field)));
                }
                "propertyNames" => fields_of().for_each(|_| add(How::Inside, part, Some(&NAME))),
                "prefixItems" | "items" if part.is_array() => {
                    list().zip(items.into_iter().flatten()).for_each(|(part, item)| add(How::Inside, part, Some(item)))
                }
                "items" | "additionalItems" | "contains" | "unevaluatedItems" => {
                    let how = match keyword.as_str() {
                        "unevaluatedItems" => How::Rest,
                        // It evaluates the items that match.
                        "contains" => How::Form,
                        _ => How::Inside,
                    };
                    items.into_iter().flatten().for_each(|item| add(how, part, Some(item)));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// The cost of a reference: that of the most expensive of its possible targets.
    fn reference(
        &mut self,
        keyword: &str,
        reference: &Value,
        base: &'a Value,
        value: Option<&'a Value>,
        depth: u32,
    ) -> Result<Cost, String> {
        let reference = reference.as_str().unwrap_or_default();
        let targets = self.targets(keyword, reference, base)?;
        if targets.is_empty() {
            // A meta-schema; no other is available.
            return Ok(Cost { check: FOREIGN.saturating_mul(self.size + 1), mark: FOREIGN, height: 1 });
        }
        let mut dearest = Cost::ONE;
        for (target, base) in targets {
            let key = (std::ptr::from_ref(target), value.map_or(std::ptr::null(), std::ptr::from_ref));
            let cost = match self.known.get(&key) {
                Some(Some(cost)) => {
                    let cost = *cost;
                    self.works(1)?;
                    cost
                }
                Some(None) => return Err(CIRCLE.into()),
                None => {
                    self.known.insert(key, None);
                    let cost = self.count(target, base, value, depth)?;
                    self.known.insert(key, Some(cost));
                    cost
                }
            };
            dearest = dearest.larger(cost);
        }
        Ok(dearest)
    }

    /// The possible targets of a reference: which of the dynamic anchors counts is known only in a check.
    fn targets(&mut self, keyword: &str, reference: &str, base: &'a Value) -> Result<Vec<Part<'a>>, String> {
        let found = self.references.resolve(reference, base);
        let mut found: Vec<Part<'a>> = match found {
            Some(Target::Part(part)) => vec![part],
            _ => vec![],
        };
        let plain = keyword == "$ref" && matches!(reference.as_bytes(), [] | [b'#'] | [b'#', b'/', ..]);
        if !plain {
            self.works(self.references.parts().len())?;
        }
        match keyword {
            "$dynamicRef" => {
                found.extend(self.references.dynamic_anchors(reference.rsplit('#').next().unwrap_or_default()));
            }
            "$recursiveRef" => found.extend(self.references.recursive_anchors()),
            _ => {}
        }
        found.sort_by_key(|(part, _)| std::ptr::from_ref(*part));
        found.dedup_by_key(|(part, _)| std::ptr::from_ref(*part));
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
