//! An upper bound of the work a check against a schema takes. A few kilobytes of schema can describe more steps than any
//! machine makes in its life; so the steps are counted, each shared part once, before anything is checked.

use serde_json::{Map, Value};
use std::collections::HashMap;
use text_kit::percent_decode;

/// How many schemas may apply to one place of a value.
const IN_PLACE: u64 = 10_000;
/// How many steps the check of one value may take: a few seconds on a small board.
const STEPS: u64 = 5_000_000;
/// Up to how many all faults are collected, each of which takes memory.
pub(crate) const DETAILED: u64 = 250_000;
/// How deep schemas may be nested in a check: each level takes room on the stack.
const NESTED: u32 = 320;
/// So many entries of a list of names or choices count as one step.
const LISTED: usize = 16;
/// What a schema that is not in the document counts for, for each part of the value: only the meta-schemas can be had.
const FOREIGN: u64 = 64;
/// Stands for the name of a field.
static NAME: Value = Value::String(String::new());

const TOO_LONG: &str = "checking a value against it could take too long, because its parts are combined too many times: \
                        simplify the schema";
const TOO_DEEP: &str = "its parts are nested too deep: simplify the schema";
const CIRCLE: &str = "a reference leads back to itself without going into a field or an item: remove the circle";

/// Whether every part of a schema applies a bounded number of schemas to one place of a value.
///
/// # Errors
/// What is wrong with the schema.
pub(crate) fn check_definition(schema: &Value) -> Result<(), String> {
    let mut counter = Counter::new(schema, IN_PLACE, 0);
    let mut parts = vec![];
    collect(schema, schema, &mut |part, base| parts.push((part, base)));
    parts.into_iter().try_for_each(|(part, base)| counter.count(part, base, None, 0).map(drop))
}

/// In how many steps at most a value can be checked.
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

/// Every object of a document with the resource it is in.
fn collect<'a>(part: &'a Value, base: &'a Value, found: &mut impl FnMut(&'a Value, &'a Value)) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| collect(item, base, found)),
        Value::Object(fields) => {
            let base = base_of(part, base);
            found(part, base);
            fields.values().for_each(|field| collect(field, base, found));
        }
        _ => {}
    }
}

fn ids(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$id", "id"].into_iter().filter_map(|key| fields.get(key)?.as_str())
}

/// A schema with an id of its own is what references in it count from.
fn base_of<'a>(part: &'a Value, base: &'a Value) -> &'a Value {
    let own = part.as_object().is_some_and(|fields| ids(fields).any(|id| !id.starts_with('#')));
    if own { part } else { base }
}

/// What lies at a pointer in a resource, and the resource it is in then.
fn at<'a>(resource: &'a Value, pointer: &str) -> Option<(&'a Value, &'a Value)> {
    let (mut part, mut base) = (resource, resource);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        part = match part {
            Value::Object(fields) => fields.get(&token)?,
            Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
            _ => return None,
        };
        base = base_of(part, base);
    }
    Some((part, base))
}

/// The last part of an address, by which a resource in the document is known however the address is written.
fn last_part(address: &str) -> &str {
    address.split('#').next().unwrap_or_default().rsplit(['/', ':']).next().unwrap_or_default()
}

/// The steps of one schema at one place of a value.
#[derive(Clone, Copy)]
struct Cost {
    /// To check the value.
    check: u64,
    /// To find which fields and items it speaks of, which `unevaluatedProperties` and `unevaluatedItems` around it want to know.
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
    /// One of several forms: whether it fits is found out again to mark what it speaks of.
    fn add_form(&mut self, other: Self) {
        self.add(Self { mark: other.mark.saturating_add(other.check), ..other });
    }
    /// What is inside the value.
    fn add_inside(&mut self, other: Self) {
        self.add(Self { mark: 0, ..other });
    }
    fn larger(self, other: Self) -> Self {
        let (check, mark) = (self.check.max(other.check), self.mark.max(other.mark));
        Self { check, mark, height: self.height.max(other.height) }
    }
}

/// How a schema counts in the one that applies it.
#[derive(Clone, Copy)]
enum How<'a> {
    /// At the same place.
    Same,
    /// At the same place by a keyword that refers.
    Reference(&'a str),
    /// Whether it fits decides what is spoken of.
    Form,
    /// Further inside.
    Inside,
    /// Further inside, where nothing else has spoken of it.
    Rest,
}

/// A schema that another applies, and to what.
struct Applied<'a> {
    how: How<'a>,
    part: &'a Value,
    value: Option<&'a Value>,
}

/// What the lists of a schema cost that are gone through.
fn listed(map: &Map<String, Value>) -> u64 {
    let length = |key: &str| match map.get(key) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    };
    (["enum", "required", "properties"].into_iter().map(length).sum::<usize>() / LISTED) as u64
}

type Part<'a> = (&'a Value, &'a Value);

struct Counter<'a> {
    root: &'a Value,
    limit: u64,
    /// How many parts the value has.
    size: u64,
    /// What was looked at.
    work: u64,
    /// What references led to at which place of the value, and what it costs; `None` while that is counted.
    known: HashMap<(*const Value, *const Value), Option<Cost>>,
    /// All objects of the document, once a reference is no plain pointer.
    parts: Option<Vec<Part<'a>>>,
}

impl<'a> Counter<'a> {
    fn new(root: &'a Value, limit: u64, size: u64) -> Self {
        Self { root, limit, size, work: 0, known: HashMap::new(), parts: None }
    }

    fn works(&mut self, steps: usize) -> Result<(), String> {
        self.work += steps as u64;
        if self.work > STEPS { Err(TOO_LONG.into()) } else { Ok(()) }
    }

    /// The cost of a schema at one place of a value; without a value, that of what applies at the same place.
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

    /// The schemas that a schema applies, and to what. Apart from [`Self::count`], which calls itself and so needs a small frame.
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
                        // Which items it fits is what it speaks of.
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

    /// The cost of what a reference leads to: of several that it may mean, the dearest.
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
            // A meta-schema; everything else cannot be had.
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

    fn targets(&mut self, keyword: &str, reference: &str, base: &'a Value) -> Result<Vec<Part<'a>>, String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decode(fragment);
        let pointer = fragment.is_empty() || fragment.starts_with('/');
        let mut from = if address.is_empty() { vec![base, self.root] } else { vec![] };
        let mut found: Vec<Part<'a>> = vec![];
        if !(pointer && address.is_empty() && keyword == "$ref") {
            let root = self.root;
            let parts = self.parts.get_or_insert_with(|| {
                let mut parts = vec![];
                collect(root, root, &mut |part, base| parts.push((part, base)));
                parts
            });
            let looked_at = parts.len();
            for (part, base) in &*parts {
                let Some(fields) = part.as_object() else { continue };
                let recursive =
                    keyword == "$recursiveRef" && fields.get("$recursiveAnchor") == Some(&Value::Bool(true));
                let named = !address.is_empty() && ids(fields).any(|id| last_part(id) == last_part(address));
                if recursive || named {
                    from.push(part);
                }
                let anchor = |key: &str| fields.get(key).and_then(Value::as_str) == Some(&*fragment);
                let old = || ids(fields).any(|id| id.strip_prefix('#') == Some(&*fragment));
                if !pointer && (anchor("$anchor") || anchor("$dynamicAnchor") || old()) {
                    found.push((part, base));
                }
            }
            self.works(looked_at)?;
        }
        if pointer {
            found.extend(from.into_iter().filter_map(|resource| at(resource, &fragment)));
        }
        found.sort_by_key(|(part, _)| std::ptr::from_ref(*part));
        found.dedup_by_key(|(part, _)| std::ptr::from_ref(*part));
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
