//! Checks that a JSON Schema is well-formed, and compiles its patterns.

use super::{
    Draft, Patterns,
    references::{References, Target, base_of},
};
use serde_json::Value;
use std::{collections::HashSet, ptr};

/// In what the addresses of the meta-schemas differ.
const DRAFTS: [&str; 5] =
    ["draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"];
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

/// Checks the shape of a schema without following its references, as a meta-schema does.
///
/// # Errors
/// What is wrong.
pub(crate) fn check_shape(schema: &Value) -> Result<(), String> {
    let draft = Draft::of(schema);
    let mut queue = vec![schema];
    while let Some(part) = queue.pop() {
        check_keywords(part, draft, &mut queue)?;
    }
    Ok(())
}

/// Checks a schema and everything it refers to; returns its compiled patterns.
///
/// # Errors
/// What is wrong.
pub(crate) fn compile(schema: &Value) -> Result<Patterns, String> {
    if let Some(uri) = schema["$schema"].as_str().filter(|uri| !DRAFTS.iter().any(|draft| uri.contains(draft))) {
        return Err(format!("Unknown meta-schema: '{uri}'"));
    }
    let (draft, references) = (Draft::of(schema), References::new(schema));
    let (mut queue, mut seen, mut patterns) = (vec![(schema, schema)], HashSet::new(), Patterns::new());
    while let Some((part, base)) = queue.pop() {
        if !seen.insert(ptr::from_ref(part)) {
            continue;
        }
        let base = base_of(part, base);
        let mut parts = vec![];
        check_keywords(part, draft, &mut parts)?;
        queue.extend(parts.into_iter().map(|part| (part, base)));
        let Value::Object(map) = part else { continue };
        for (keyword, rule) in map {
            match (keyword.as_str(), rule) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    match references.resolve(reference, base) {
                        Some(Target::Part(target)) => queue.push(target),
                        Some(Target::MetaSchema) => {}
                        None => return Err(format!("the reference `{reference}` leads to nothing in the schema")),
                    }
                }
                ("pattern", Value::String(pattern)) => add(&mut patterns, pattern)?,
                ("patternProperties", Value::Object(rules)) => {
                    rules.keys().try_for_each(|pattern| add(&mut patterns, pattern))?;
                }
                _ => {}
            }
        }
    }
    Ok(patterns)
}

fn add(patterns: &mut Patterns, pattern: &str) -> Result<(), String> {
    if !patterns.contains_key(pattern) {
        let unusable = || format!("`{pattern}` is not a regular expression that can be used");
        let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| unusable())?;
        let compiled = fancy_regex::Regex::new(&translated).map_err(|_| unusable())?;
        patterns.insert(pattern.to_owned(), compiled);
    }
    Ok(())
}

/// Checks the keywords of one schema, and adds the schemas in it to `parts`.
fn check_keywords<'a>(part: &'a Value, draft: Draft, parts: &mut Vec<&'a Value>) -> Result<(), String> {
    let map = match part {
        Value::Object(map) => map,
        Value::Bool(_) if draft > Draft::Four => return Ok(()),
        other => return Err(format!("a schema is an object, not {}", super::excerpt(other))),
    };
    for (keyword, rule) in map {
        let wrong = |what: &str| Err(format!("`{keyword}` must be {what}, not {}", super::excerpt(rule)));
        let strings = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
        match keyword.as_str() {
            "items" if rule.is_array() => parts.extend(rule.as_array().into_iter().flatten()),
            "additionalItems" | "additionalProperties" if rule.is_boolean() => {}
            "additionalItems"
            | "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => parts.push(rule),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match rule.as_array() {
                Some(list) if !list.is_empty() => parts.extend(list),
                _ => return wrong("a list of schemas"),
            },
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => match rule {
                Value::Object(schemas) => parts.extend(schemas.values()),
                _ => return wrong("an object of schemas"),
            },
            "dependencies" => match rule {
                Value::Object(rules) => parts.extend(rules.values().filter(|rule| !strings(rule))),
                _ => return wrong("an object"),
            },
            "dependentRequired" if !rule.as_object().is_some_and(|lists| lists.values().all(strings)) => {
                return wrong("an object of lists of names");
            }
            "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems" | "minLength"
            | "minProperties"
                if super::number::count(rule).is_none() =>
            {
                return wrong("a whole number of at least 0");
            }
            "exclusiveMaximum" | "exclusiveMinimum" if draft == Draft::Four && rule.is_boolean() => {}
            "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" if !rule.is_number() => {
                return wrong("a number");
            }
            "multipleOf" if !rule.as_f64().is_some_and(|number| number > 0.0) => return wrong("a number above 0"),
            "$anchor" | "$comment" | "$dynamicAnchor" | "$dynamicRef" | "$id" | "$ref" | "$schema"
            | "contentEncoding" | "contentMediaType" | "description" | "format" | "pattern" | "title"
                if !rule.is_string() =>
            {
                return wrong("a string");
            }
            "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" if !rule.is_boolean() => {
                return wrong("true or false");
            }
            "required" if !strings(rule) => return wrong("a list of names"),
            "enum" | "examples" if !rule.is_array() => return wrong("a list"),
            "type" => {
                let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                if !known(rule) && !rule.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(known)) {
                    return wrong(&format!("one of {}, or a list of them", TYPES.join(", ")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
