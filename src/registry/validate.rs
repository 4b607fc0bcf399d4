//! Arguments against a schema, with messages a model or a person can act on.

use serde_json::Value;
use tool::{Error, Result, Tool};

/// At most this many faults are told at once.
const FAULTS: usize = 5;

/// The arguments as an object, once they fit the tool's schema. Nothing at all counts as no arguments, and an
/// object written as a JSON string counts as that object: models slip there, and the meaning is clear.
pub(crate) fn arguments(tool: &Tool, args: Value) -> Result<Value> {
    let mut args = match args {
        Value::Null => Value::Object(Default::default()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Default::default()),
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|e| Error::bad_args(format!("the arguments of `{}` are not JSON: {e}", tool.name)))?,
        other => other,
    };
    if !args.is_object() {
        return Err(Error::bad_args(format!("the arguments of `{}` must be a JSON object", tool.name)));
    }
    if let Some(fields) = args.as_object_mut() {
        for (name, value) in fields {
            read_object(&tool.parameters["properties"][name], value);
        }
    }
    check_arguments(&tool.name, &tool.parameters, &args)?;
    Ok(args)
}

/// A field that must be an object and was written as JSON text is taken for that object: small models write it so.
fn read_object(schema: &Value, value: &mut Value) {
    if schema["type"] == "object"
        && let Some(object) =
            value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object)
    {
        *value = object;
    }
}

/// Checks arguments against a schema.
///
/// # Errors
/// `BadArgs` that names the faults and what the tool expects; `Failed` when the schema itself is broken.
pub fn check_arguments(name: &str, parameters: &Value, args: &Value) -> Result<()> {
    let validator = jsonschema::validator_for(parameters)
        .map_err(|e| Error::failed(format!("the schema of `{name}` is broken: {e}")))?;
    let faults: Vec<String> = validator
        .iter_errors(args)
        .take(FAULTS)
        .map(|e| {
            let at = e.instance_path().to_string();
            let text: String = e.to_string().chars().take(300).collect();
            if at.is_empty() { text } else { format!("{}: {text}", at.trim_start_matches('/')) }
        })
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    let faults = faults.join("; ");
    Err(Error::bad_args(format!("the arguments of `{name}` do not fit: {faults}. {}", expects(parameters))))
}

/// Checks that a schema is one, and stands alone: references would let it reach for files or hosts.
///
/// # Errors
/// `BadArgs` that says what is wrong.
pub fn check_schema(parameters: &Value) -> Result<()> {
    jsonschema::validator_for(parameters)
        .map(drop)
        .map_err(|e| Error::bad_args(format!("this is not a usable JSON schema: {e}")))
}

/// One line that says what a tool expects: `It takes content (string), type (fact|event)?.`
pub(crate) fn expects(parameters: &Value) -> String {
    let required: Vec<&str> =
        parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(fields) = parameters["properties"].as_object().filter(|f| !f.is_empty()) else {
        return "It takes no arguments.".into();
    };
    let shown: Vec<String> = fields
        .iter()
        .map(|(name, schema)| {
            let optional = if required.contains(&name.as_str()) { "" } else { "?" };
            format!("{name}{optional} ({})", kind(schema))
        })
        .collect();
    format!("It takes {}.", shown.join(", "))
}

fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return choices
            .iter()
            .map(|c| c.as_str().map_or_else(|| c.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("|");
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "anything".into(),
    }
}
