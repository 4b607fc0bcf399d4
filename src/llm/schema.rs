//! Converts tool parameters to the subset of JSON Schema each server accepts.

use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Maximum depth; anything deeper is unconstrained.
const MAX_DEPTH: usize = 16;
/// Maximum number of subschemas after expansion: one that refers to itself twice doubles with each level.
const MOST: usize = 1000;
/// Union keywords. Most servers reject them at the root.
const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// A schema whose root is a plain object with properties, as every server requires. A root union becomes one object
/// with all properties, requiring those that all branches require.
pub(crate) fn rooted(schema: &Value) -> Value {
    let mut root = schema.as_object().map(|map| referred(map, schema)).unwrap_or_default();
    let mut properties = root.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut required: Vec<Value> = root.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for union in UNIONS {
        let Some(Value::Array(branches)) = root.remove(union) else { continue };
        let asked = |branch: &Value| branch["required"].as_array().cloned().unwrap_or_default();
        let all = branches.iter().map(asked);
        let more: Vec<Value> = if union == "allOf" {
            all.flatten().collect()
        } else {
            all.reduce(|a, b| a.into_iter().filter(|name| b.contains(name)).collect()).unwrap_or_default()
        };
        required.extend(more.into_iter().filter(|name| !required.contains(name)).collect::<Vec<_>>());
        for (name, property) in branches.iter().filter_map(|b| b["properties"].as_object()).flatten() {
            properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
    }
    root.insert("type".into(), "object".into());
    root.insert("properties".into(), properties.into());
    if !required.is_empty() {
        root.insert("required".into(), required.into());
    }
    root.into()
}

/// Reduces a schema to Gemini's `Schema` (a subset of OpenAPI's): no `$ref`, `const`, `oneOf`, `allOf`,
/// `additionalProperties` or multiple types; `enum` has texts only; `anyOf` stands alone.
pub(crate) fn plain(schema: &Value) -> Value {
    let schema = rooted(schema);
    simple(&schema, &Root { schema: &schema, left: Cell::new(MOST) }, 0)
}

/// The document for references, and the remaining number of subschemas.
struct Root<'a> {
    schema: &'a Value,
    left: Cell<usize>,
}

fn simple(schema: &Value, root: &Root<'_>, depth: usize) -> Value {
    let anything = || json!({"type": "string", "description": "Any value, as JSON."});
    let left = root.left.get();
    let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH && left > 0) else { return anything() };
    root.left.set(left - 1);
    let map = &followed(map, root.schema);
    let mut out = Map::new();
    if let Some(text) = map.get("description").filter(|d| d.is_string()) {
        out.insert("description".into(), text.clone());
    }
    if let Some(branches) = ["anyOf", "oneOf"].iter().find_map(|word| map.get(*word)?.as_array()) {
        return union(branches, out, root, depth);
    }
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    if types.contains(&"null") {
        out.insert("nullable".into(), true.into());
    }
    let types: Vec<&str> = types.into_iter().filter(|t| *t != "null").collect();
    if types.len() > 1 {
        let one = |t: &&str| {
            let mut branch = map.clone();
            branch.insert("type".into(), (*t).into());
            branch.remove("description");
            Value::Object(branch)
        };
        return union(&types.iter().map(one).collect::<Vec<_>>(), out, root, depth);
    }
    let values = match (map.get("const"), map.get("enum")) {
        (Some(constant), _) => Some(vec![constant.clone()]),
        (_, Some(Value::Array(values))) => Some(values.iter().filter(|v| !v.is_null()).cloned().collect()),
        _ => None,
    };
    let kind = match types.first() {
        Some(kind) => *kind,
        None if map.contains_key("properties") => "object",
        None if map.contains_key("items") => "array",
        None => match values.as_ref().and_then(|v| v.first()) {
            Some(Value::Bool(_)) => "boolean",
            Some(Value::Number(n)) if n.is_f64() => "number",
            Some(Value::Number(_)) => "integer",
            Some(_) => "string",
            None => return anything_about(out, anything()),
        },
    };
    out.insert("type".into(), kind.into());
    match values {
        Some(values) if values.iter().all(Value::is_string) && kind == "string" => {
            out.insert("enum".into(), values.into());
        }
        Some(values) => describe(&mut out, &format!("One of {}.", Value::from(values))),
        None => {}
    }
    match kind {
        "object" => object(map, &mut out, root, depth),
        "array" => {
            let items = map.get("items").map_or_else(|| json!({"type": "string"}), |i| simple(i, root, depth + 1));
            out.insert("items".into(), items);
            copy(map, &mut out, &["minItems", "maxItems"]);
        }
        "integer" | "number" => {
            copy(map, &mut out, &["minimum", "maximum"]);
            let step = i64::from(kind == "integer");
            for (word, exclusive, step) in
                [("minimum", "exclusiveMinimum", step), ("maximum", "exclusiveMaximum", -step)]
            {
                if let Some(limit) = map.get(exclusive) {
                    let limit = limit.as_i64().map_or_else(|| limit.clone(), |n| n.saturating_add(step).into());
                    out.entry(word).or_insert(limit);
                }
            }
        }
        "string" => {
            copy(map, &mut out, &["minLength", "maxLength", "pattern"]);
            if map.get("format").is_some_and(|f| f == "date-time") {
                out.insert("format".into(), "date-time".into());
            }
        }
        _ => {}
    }
    out.into()
}

fn object(map: &Map<String, Value>, out: &mut Map<String, Value>, root: &Root<'_>, depth: usize) {
    let Some(Value::Object(properties)) = map.get("properties") else { return };
    let simpler: Map<String, Value> =
        properties.iter().map(|(name, property)| (name.clone(), simple(property, root, depth + 1))).collect();
    let required: Vec<Value> = match map.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter(|n| n.as_str().is_some_and(|n| simpler.contains_key(n))).cloned().collect()
        }
        _ => vec![],
    };
    if !simpler.is_empty() {
        out.insert("properties".into(), simpler.into());
    }
    if !required.is_empty() {
        out.insert("required".into(), required.into());
    }
}

/// Converts a union: constants become an `enum`, a `null` beside one other becomes `nullable`; else `anyOf` stands
/// alone with the description in its branches.
fn union(branches: &[Value], mut out: Map<String, Value>, root: &Root<'_>, depth: usize) -> Value {
    let is_null = |b: &&Value| b["type"] == "null" || b.get("const").is_some_and(Value::is_null);
    let nullable = branches.iter().any(|b| is_null(&b));
    let branches: Vec<&Value> = branches.iter().filter(|b| !is_null(b)).collect();
    if nullable {
        out.insert("nullable".into(), true.into());
    }
    let constants: Option<Vec<&Value>> = branches.iter().map(|b| b.get("const").filter(|c| c.is_string())).collect();
    if let Some(constants) = constants.filter(|c| !c.is_empty()) {
        for (branch, constant) in branches.iter().zip(&constants) {
            if let (Some(what), Some(word)) = (branch["description"].as_str(), constant.as_str()) {
                describe(&mut out, &format!("{word}: {what}"));
            }
        }
        out.insert("type".into(), "string".into());
        out.insert("enum".into(), constants.into_iter().cloned().collect());
        return out.into();
    }
    let simpler = |branch: &&Value| simple(branch, root, depth + 1);
    let fill = |mut branch: Value, out: &Map<String, Value>| {
        for (word, value) in out {
            if let Value::Object(branch) = &mut branch {
                branch.entry(word.clone()).or_insert_with(|| value.clone());
            }
        }
        branch
    };
    match branches.as_slice() {
        [] => anything_about(out, json!({"type": "string"})),
        [one] => {
            // The field's description takes precedence over its type's.
            let Value::Object(mut one) = simpler(one) else { return out.into() };
            one.extend(out);
            one.into()
        }
        several => json!({"anyOf": several.iter().map(|b| fill(simpler(b), &out)).collect::<Vec<_>>()}),
    }
}

/// Resolves references and merges `allOf`.
fn followed(map: &Map<String, Value>, root: &Value) -> Map<String, Value> {
    let mut map = referred(map, root);
    let Some(Value::Array(all)) = map.remove("allOf") else { return map };
    for branch in all.iter().filter_map(Value::as_object) {
        for (word, value) in referred(branch, root) {
            match (map.get_mut(&word), value) {
                (Some(Value::Object(have)), Value::Object(more)) if word == "properties" => have.extend(more),
                (Some(Value::Array(have)), Value::Array(more)) if word == "required" => have.extend(more),
                (Some(_), _) => {}
                (None, value) => drop(map.insert(word, value)),
            }
        }
    }
    map
}

/// Resolves references.
fn referred(map: &Map<String, Value>, root: &Value) -> Map<String, Value> {
    let mut map = map.clone();
    // Bounded, since a definition may refer to itself.
    for _ in 0..MAX_DEPTH {
        let Some(Value::String(to)) = map.remove("$ref") else { break };
        let target = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).and_then(Value::as_object);
        for (word, value) in target.into_iter().flatten() {
            map.entry(word.clone()).or_insert_with(|| value.clone());
        }
    }
    map.remove("$ref");
    map
}

fn anything_about(mut out: Map<String, Value>, anything: Value) -> Value {
    if let Value::Object(anything) = anything {
        for (word, value) in anything {
            out.entry(word).or_insert(value);
        }
    }
    out.into()
}

fn describe(out: &mut Map<String, Value>, more: &str) {
    let text = match out.get("description").and_then(Value::as_str) {
        Some(before) => format!("{before} {more}"),
        None => more.to_owned(),
    };
    out.insert("description".into(), text.into());
}

fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, words: &[&str]) {
    for word in words {
        if let Some(value) = from.get(*word) {
            to.insert((*word).to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_plain_object() {
        for (schema, expected) in [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!(true), json!({"type": "object", "properties": {}})),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "anyOf": [
                    {"properties": {"b": {"type": "string"}}, "required": ["b", "c"]},
                    {"properties": {"c": {"type": "string"}}, "required": ["c"]}]}),
                json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}, "c": {"type": "string"}},
                    "required": ["a", "c"]}),
            ),
        ] {
            assert_eq!(rooted(&schema), expected, "{schema}");
        }
    }

    /// A property in Gemini's form.
    fn gemini_property(property: Value) -> Value {
        let schema = json!({"$schema": "x", "type": "object", "additionalProperties": false, "title": "T",
            "$defs": {"City": {"type": "object", "properties": {"name": {"type": "string", "title": "N"}}},
                      "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
            "properties": {"p": property}, "required": ["p", "gone"]});
        let plain = plain(&schema);
        assert_eq!(plain["required"], json!(["p"]));
        assert_eq!(plain.as_object().unwrap().len(), 3, "{plain}");
        plain["properties"]["p"].clone()
    }

    #[test]
    fn only_words_gemini_knows() {
        for (property, expected) in [
            (json!({"type": "string", "format": "uuid", "title": "T", "default": "x"}), json!({"type": "string"})),
            (json!({"type": "string", "format": "date-time"}), json!({"type": "string", "format": "date-time"})),
            (
                json!({"type": ["integer", "null"], "minimum": 0, "format": "uint32"}),
                json!({"type": "integer", "nullable": true, "minimum": 0}),
            ),
            (
                json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
                json!({"type": "integer", "minimum": 1, "maximum": 8}),
            ),
            (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
            (
                json!({"enum": [1, 2], "description": "Which."}),
                json!({"type": "integer", "description": "Which. One of [1,2]."}),
            ),
            (json!({"type": "string", "enum": ["a", null]}), json!({"type": "string", "enum": ["a"]})),
            (
                json!({"oneOf": [{"const": "a", "description": "first"}, {"const": "b"}], "description": "D."}),
                json!({"type": "string", "enum": ["a", "b"], "description": "D. a: first"}),
            ),
            (
                json!({"anyOf": [{"$ref": "#/$defs/City"}, {"type": "null"}], "description": "Where."}),
                json!({"type": "object", "properties": {"name": {"type": "string"}}, "description": "Where.", "nullable": true}),
            ),
            (
                json!({"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "D."}),
                json!({"anyOf": [{"type": "string", "description": "D."}, {"type": "integer", "description": "D."}]}),
            ),
            (json!({"type": ["string", "number"]}), json!({"anyOf": [{"type": "string"}, {"type": "number"}]})),
            (json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}})),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({"type": "object"})),
            (
                json!({"allOf": [{"$ref": "#/$defs/City"}, {"properties": {"zip": {"type": "string"}}}]}),
                json!({"type": "object", "properties": {"name": {"type": "string"}, "zip": {"type": "string"}}}),
            ),
            (json!(true), json!({"type": "string", "description": "Any value, as JSON."})),
            (json!({"description": "X."}), json!({"type": "string", "description": "X."})),
            (
                json!({"type": "object", "properties": {"title": {"type": "string"}, "format": {"type": "string"}}}),
                json!({"type": "object", "properties": {"title": {"type": "string"}, "format": {"type": "string"}}}),
            ),
        ] {
            assert_eq!(gemini_property(property.clone()), expected, "{property}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let text = gemini_property(json!({"$ref": "#/$defs/Node"})).to_string();
        assert!(!text.contains("$ref") && text.len() < 20_000, "{}", text.len());
        let circle = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
        assert_eq!(plain(&circle)["properties"]["a"]["type"], "string");
        let node =
            json!({"properties": {"l": {"$ref": "#/$defs/N"}, "r": {"$ref": "#/$defs/N"}, "m": {"$ref": "#/$defs/N"}}});
        let tree = json!({"$ref": "#/$defs/N", "$defs": {"N": node}});
        assert!(plain(&tree).to_string().len() < 1_000_000);
        assert_eq!(rooted(&tree)["properties"].as_object().unwrap().len(), 3);
    }
}
