//! The description and the parameters of a tool, made from its argument type when first needed: most tools are neither listed
//! nor called for days.

use crate::schema::{WriteSchema, described};
use schemars::JsonSchema;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// Words of a schema that a request leaves out: the full schema is checked by dispatch, and its errors say what it takes.
const NOT_SHOWN: [&str; 10] = [
    "additionalProperties",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// How many results a call may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// The parameter that says how many.
    pub parameter: &'static str,
    /// The value when the caller gives none.
    pub default: u32,
    /// The largest value; larger ones are reduced to it.
    pub max: u32,
}

/// A description and a parameter schema. Clones share what was made.
#[derive(Clone)]
pub struct Signature(Arc<Parts>);

struct Parts {
    /// Writes the schema; `None` where both parts were given.
    write: Option<WriteSchema>,
    description: OnceLock<Box<str>>,
    parameters: OnceLock<Value>,
}

impl Signature {
    /// The doc of an argument struct as the description, its fields as the parameters.
    pub fn of<A: JsonSchema>() -> Self {
        Self::written_by(A::json_schema)
    }

    pub(crate) fn written_by(write: WriteSchema) -> Self {
        Self(Arc::new(Parts { write: Some(write), description: OnceLock::new(), parameters: OnceLock::new() }))
    }

    /// A signature that is known already.
    pub fn given(description: &str, parameters: Value) -> Self {
        let (description, parameters) = (OnceLock::from(Box::from(description)), OnceLock::from(parameters));
        Self(Arc::new(Parts { write: None, description, parameters }))
    }

    pub(crate) fn description(&self) -> &str {
        // The schema is not stored: a search needs every description, and hardly any schema.
        self.0.description.get_or_init(|| self.write().0.into())
    }

    /// The parameters; the one that limits a page is described by its numbers unless the field has a description.
    pub(crate) fn parameters(&self, page: Option<PageSize>) -> &Value {
        self.0.parameters.get_or_init(|| {
            let (description, mut parameters) = self.write();
            let _ = self.0.description.set(description.into());
            if let Some(PageSize { parameter, default, max }) = page
                && let Some(field) = parameters["properties"].get_mut(parameter).and_then(Value::as_object_mut)
            {
                let text = || format!("Max results (default: {default}, max: {max}).").into();
                field.entry("description").or_insert_with(text);
            }
            parameters
        })
    }

    fn write(&self) -> (String, Value) {
        self.0.write.map(described).unwrap_or_default()
    }
}

/// The part of a parameter schema that a request shows: these parameters and the required ones, without bounds and defaults.
/// All parameters where `names` is empty.
pub(crate) fn shown(parameters: &Value, names: &[&str]) -> Value {
    let mut shown = parameters.clone();
    let required: Vec<String> = required(parameters).map(str::to_owned).collect();
    if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut)
        && !names.is_empty()
    {
        properties.retain(|name, _| names.contains(&name.as_str()) || required.contains(name));
    }
    forget(&mut shown);
    shown
}

fn required(parameters: &Value) -> impl Iterator<Item = &str> {
    parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn forget(schema: &mut Value) {
    let Value::Object(words) = schema else { return };
    words.retain(|word, _| !NOT_SHOWN.contains(&word.as_str()));
    for (word, value) in words {
        match (word.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(forget),
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => branches.iter_mut().for_each(forget),
            ("items", inner) => forget(inner),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static WRITTEN: AtomicUsize = AtomicUsize::new(0);

    fn write(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        schemars::json_schema!({"type": "object", "description": "List.", "properties": {"limit": {"type": "integer"}}})
    }

    #[test]
    fn a_schema_is_written_when_needed_and_shared_by_clones() {
        let signature = Signature::written_by(write);
        let clone = signature.clone();
        assert_eq!(WRITTEN.load(Ordering::Relaxed), 0);
        assert_eq!(clone.description(), "List.");
        let page = Some(PageSize { parameter: "limit", default: 20, max: 50 });
        let limit = json!({"type": "integer", "description": "Max results (default: 20, max: 50)."});
        assert_eq!(clone.parameters(page)["properties"]["limit"], limit);
        assert_eq!((signature.parameters(page), signature.description()), (clone.parameters(page), "List."));
        assert_eq!(WRITTEN.load(Ordering::Relaxed), 2, "once for the description, once for the parameters");
        let given = Signature::given("Given.", json!({"type": "object"}));
        assert_eq!((given.description(), given.parameters(None)), ("Given.", &json!({"type": "object"})));
    }

    #[test]
    fn a_request_shows_the_chosen_parameters_without_their_bounds() {
        let full = json!({"type": "object", "additionalProperties": false, "required": ["pin"], "properties": {
            "pin": {"type": "integer", "minimum": 0, "maximum": 27, "description": "Which."},
            // A parameter may be called like a word of the schema.
            "default": {"type": "array", "default": [], "items": {"type": "string", "maxLength": 9}, "minItems": 1},
            "note": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "additionalProperties": true}]},
        }});
        let pin = json!({"type": "integer", "description": "Which."});
        assert_eq!(
            shown(&full, &[]),
            json!({"type": "object", "required": ["pin"], "properties": {
                "pin": pin,
                "default": {"type": "array", "items": {"type": "string"}},
                "note": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            }})
        );
        let one = shown(&full, &["note"]);
        assert_eq!(one["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["note", "pin"]);
    }
}
