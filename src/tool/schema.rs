//! JSON Schema from an argument type: inlined, and without words a model has no use for.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

/// Writes the schema of one type.
pub(crate) type WriteSchema = fn(&mut SchemaGenerator) -> Schema;

/// The description and the parameter schema of an argument struct: `({doc of the struct}, {"type":"object",…})`.
pub fn schema_of<A: JsonSchema>() -> (String, Value) {
    described(A::json_schema)
}

/// Not generic, so that it is compiled once.
pub(crate) fn described(write: WriteSchema) -> (String, Value) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = write(&mut settings.into_generator()).to_value();
    simplify(&mut schema);
    let Some(object) = schema.as_object_mut() else { return (String::new(), schema) };
    let description = match object.remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    object.entry("properties").or_insert_with(|| Value::Object(Default::default()));
    (description, schema)
}

/// Removes `title`, `format`, `$schema` and null unions: an optional field is one that is not required.
fn simplify(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::String(text)) = map.get_mut("description") {
        // A line break in a comment means nothing; an empty line does.
        *text = text.split("\n\n").map(|p| p.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    for word in ["title", "format", "$schema", "$defs"] {
        map.remove(word);
    }
    if map.get("default") == Some(&Value::Null) {
        map.remove("default");
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    join_constants(map);
    without_null_branch(map);
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(fields)) => fields.values_mut().for_each(simplify),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => all.iter_mut().for_each(simplify),
            ("items" | "additionalProperties" | "not", inner) => simplify(inner),
            _ => {}
        }
    }
}

/// An enum whose variants have docs comes as `oneOf` of constants: one `enum` says the same in fewer words.
fn join_constants(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(branches)) = map.get("oneOf") else { return };
    let constants: Option<Vec<Value>> = branches
        .iter()
        .map(|b| b.as_object().filter(|o| o.keys().all(|k| ["const", "type", "description"].contains(&k.as_str()))))
        .map(|b| b.and_then(|o| o.get("const")).filter(|c| c.is_string()).cloned())
        .collect();
    if let Some(constants) = constants {
        map.remove("oneOf");
        map.insert("type".into(), "string".into());
        map.insert("enum".into(), constants.into());
    }
}

/// `anyOf: [T, null]` is what an optional struct or enum becomes: keep T alone, with the field's own words.
fn without_null_branch(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|b| b.get("type").is_none_or(|t| t != "null"));
    if let [one] = branches.as_slice() {
        let one = one.clone();
        map.remove("anyOf");
        if let Value::Object(inner) = one {
            for (key, value) in inner {
                map.entry(key).or_insert(value);
            }
        }
        join_constants(map);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Kind {
        /// One.
        Fact,
        /// Two.
        Event,
    }

    /// Does a thing.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Args {
        /// The text,
        /// whole.
        text: String,
        /// How many.
        count: Option<u8>,
        /// Of which kind.
        kind: Option<Kind>,
        /// More.
        #[serde(default)]
        tags: Vec<String>,
    }

    #[test]
    fn a_schema_is_flat_and_short() {
        let (description, schema) = schema_of::<Args>();
        assert_eq!(description, "Does a thing.");
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "The text, whole."},
                    "count": {"type": "integer", "description": "How many.", "minimum": 0, "maximum": 255},
                    "kind": {"type": "string", "enum": ["fact", "event"], "description": "Of which kind."},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": [], "description": "More."},
                },
                "required": ["text"],
                "additionalProperties": false,
            })
        );
    }
}
