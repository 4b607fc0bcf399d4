//! Checks arguments against a schema, with messages a model or a person can act on.

use crate::{
    coerce,
    entry::Entry,
    schema::{Fault, FaultKind, Schema, excerpt_text, join_choices},
    schema_cost::{self, compile},
};
use serde_json::Value;
use text_kit::truncate;
use tool::{Error, Result};

/// The most faults in one message.
const FAULTS: usize = 5;
/// The longest quote of a wrong value, in characters.
const SHOWN: usize = 40;
/// How near a name must be to be suggested (Jaro–Winkler, 0 to 1).
const NEAR: f64 = 0.8;

/// The arguments of a call as an object. Null counts as no arguments, and JSON text of an object as that object.
///
/// # Errors
/// `BadArgs` when they are neither.
pub(crate) fn normalise(tool: &str, args: Value) -> Result<Value> {
    let args = match args {
        Value::Null => Value::Object(Default::default()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Default::default()),
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|e| Error::bad_args(format!("the arguments of `{tool}` are not JSON: {e}")))?,
        other => other,
    };
    if args.is_object() {
        return Ok(args);
    }
    Err(Error::bad_args(format!("the arguments of `{tool}` must be a JSON object, not {}", got(&args))))
}

/// Coerces the arguments to the tool's schema where their meaning is clear, and checks them. Returns the corrections as
/// sentences.
///
/// # Errors
/// `BadArgs` that names the faults and the parameters; `Failed` when the schema itself is broken.
pub(crate) fn arguments(entry: &Entry, args: &mut Value) -> Result<Vec<String>> {
    let tool = &entry.tool;
    let validator = entry
        .validator()
        .as_ref()
        .map_err(|e| Error::failed(format!("the schema of `{}` is broken: {e}", tool.name)))?;
    let costly = |e: String| Error::bad_args(format!("the arguments of `{}` cannot be checked: {e}", tool.name));
    schema_cost::check_value(tool.parameters(), args).map_err(costly)?;
    let fitting = validator.is_valid(args).then(|| args.clone());
    let corrections = coerce::coerce(tool.parameters(), args);
    match (faults(validator, tool.parameters(), args).map_err(costly)?, fitting) {
        (None, _) => Ok(corrections),
        // Arguments that match unchanged are never refused.
        (Some(_), Some(fitting)) => {
            *args = fitting;
            Ok(vec![])
        }
        (Some(faults), None) => {
            let takes = expects(tool.parameters());
            Err(Error::bad_args(format!("the arguments of `{}` do not fit: {faults}. {takes}", tool.name)))
        }
    }
}

/// Checks that a schema is valid and self-contained: references could reach files or hosts.
///
/// # Errors
/// `BadArgs` that names the fault.
pub fn check_schema(parameters: &Value) -> Result<()> {
    compile(parameters).map(drop).map_err(|e| Error::bad_args(format!("this is not a usable JSON schema: {e}")))
}

/// The faults of any value against a schema, in one line; `None` when it matches.
///
/// # Errors
/// `BadArgs` when the schema itself is not usable.
pub fn schema_faults(schema: &Value, value: &Value) -> Result<Option<String>> {
    let validator = compile(schema).map_err(|e| Error::bad_args(format!("this is not a usable JSON schema: {e}")))?;
    faults(&validator, schema, value).map_err(|e| Error::bad_args(format!("this JSON schema cannot be used here: {e}")))
}

/// The faults in one line; `None` when there are none.
///
/// # Errors
/// When the check would take too long.
fn faults(validator: &Schema, parameters: &Value, args: &Value) -> Result<Option<String>, String> {
    let steps = schema_cost::check_value(parameters, args)?;
    if validator.is_valid(args) {
        return Ok(None);
    }
    if steps > schema_cost::DETAILED {
        return Ok(Some("it is not what the schema says, and too much to say where".into()));
    }
    let faults: Vec<String> = validator.faults(args).iter().take(FAULTS).map(|e| describe(e, parameters)).collect();
    Ok(Some(faults.join("; ")))
}

fn describe(fault: &Fault, parameters: &Value) -> String {
    let at = &fault.at;
    let inside = |text: String| if at.is_empty() { text } else { format!("`{at}`: {text}") };
    // Of several forms that a constant distinguishes, the intended one.
    let wanted = match &fault.kind {
        FaultKind::Forms(forms) if let Some((word, names)) = discriminator(fault.schema) => {
            let given = &fault.value[word];
            let meant = names.iter().position(|name| *name == given).and_then(|n| forms.get(n)?.first());
            return match meant {
                Some(meant) => describe(meant, parameters),
                None => {
                    let word = if at.is_empty() { word.to_owned() } else { format!("{at}.{word}") };
                    format!("`{word}`: expected one of {}, got {}", join_choices(&serde_json::json!(names)), got(given))
                }
            };
        }
        FaultKind::Missing(name) => return inside(format!("`{name}` is missing")),
        FaultKind::Unknown(names) => {
            let known = at.is_empty().then(|| parameters["properties"].as_object()).flatten();
            let near = match names.as_slice() {
                [one] => known
                    .into_iter()
                    .flatten()
                    .map(|(k, _)| k)
                    .find(|k| one.len() <= 4 * k.len() && strsim::jaro_winkler(k, one) >= NEAR),
                _ => None,
            };
            let hint = near.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default();
            return inside(format!("`{}` is not known{hint}", truncate(&names.join("`, `"), SHOWN * 4)));
        }
        FaultKind::Type | FaultKind::Forms(_) => format!("expected {}", kind(fault.schema)),
        FaultKind::Expected(text) => text.clone(),
        FaultKind::Other(text) => return inside(excerpt_text(text)),
    };
    // A `writeOnly` value may be a secret that the scrubber does not know yet.
    if parameters["properties"][fault.parameter]["writeOnly"] == true {
        return inside(wanted);
    }
    inside(format!("{wanted}, got {}", got(fault.value)))
}

/// The property whose constant distinguishes several forms, and its constants in order.
fn discriminator(schema: &Value) -> Option<(&str, Vec<&Value>)> {
    let forms = schema["oneOf"].as_array()?;
    let is_word = |form: &Value, name: &str| form["properties"][name]["const"].is_string();
    let words = forms.first()?["properties"].as_object()?.keys();
    let word = words.into_iter().find(|name| forms.iter().all(|form| is_word(form, name)))?;
    Some((word, forms.iter().map(|form| &form["properties"][word]["const"]).collect()))
}

/// A wrong value in a few words.
fn got(value: &Value) -> String {
    match value {
        Value::String(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        },
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".into(),
        other => other.to_string(),
    }
}

/// The parameters of a tool in one line: `It takes content (string), type? (fact|event).`
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
    if schema["enum"].is_array() {
        return join_choices(&schema["enum"]);
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
            Some(branches) => branches.iter().map(kind).collect::<Vec<_>>().join(" or "),
            None => "anything".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;
    use tool::{Output, Owner, Risk, Tool};

    fn entry(parameters: Value) -> Entry {
        let run: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(Output::default()) }));
        let tool = Tool {
            signature: tool::Signature::given("", parameters),
            ..Tool::new("t", Risk::Observe, Owner::Core, "test", run)
        };
        Entry::new(Arc::new(tool))
    }

    #[test]
    fn faults_are_named_with_path_wish_and_what_came() {
        let entry = entry(json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 2},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "kind": {"enum": ["fact", "event"]},
                "code": {"type": "string", "pattern": "^[a-z]+$"},
                "either": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
                "hidden": {"type": "object", "additionalProperties": {"type": "integer"}, "writeOnly": true},
                "steps": {"type": "array", "maxItems": 2, "items": {
                    "type": "object", "properties": {"tool": {"type": "string"}}, "required": ["tool"]
                }}
            },
            "required": ["text"],
            "additionalProperties": false
        }));
        let takes = "It takes code? (string), count? (integer), either? (integer or boolean), hidden? (object), \
                     kind? (fact|event), steps? (list of object), text (string).";
        let long = "x".repeat(60);
        let rows = [
            (json!({}), "`text` is missing".to_owned()),
            (json!({"text": ["ab"]}), "`text`: expected string, got a list of 1".into()),
            (json!({"text": "a"}), "`text`: expected at least 2 characters, got \"a\"".into()),
            (json!({"text": "ab", "count": "many"}), "`count`: expected integer, got \"many\"".into()),
            (json!({"text": "ab", "count": 0}), "`count`: expected at least 1, got 0".into()),
            (json!({"text": "ab", "count": "10"}), "`count`: expected at most 9, got 10".into()),
            (json!({"text": "ab", "count": long}), format!("`count`: expected integer, got \"{}\"…", "x".repeat(40))),
            (json!({"text": "ab", "kind": "idea"}), "`kind`: expected one of fact|event, got \"idea\"".into()),
            (json!({"text": "ab", "code": "A"}), "`code`: expected text that matches ^[a-z]+$, got \"A\"".into()),
            (json!({"text": "ab", "either": "x"}), "`either`: expected integer or boolean, got \"x\"".into()),
            (json!({"text": "ab", "hidden": "green"}), "`hidden`: expected object. It".into()),
            (json!({"text": "ab", "hidden": {"a": "green"}}), "`hidden.a`: expected integer. It".into()),
            (json!({"text": "ab", "steps": [{"tool": "a"}, {}]}), "`steps[1]`: `tool` is missing".into()),
            (json!({"text": "ab", "steps": [{}, {}, {}]}), "`steps`: expected at most 2 items, got a list of 3".into()),
            (json!({"text": "ab", "volume": 1}), "`volume` is not known".into()),
            (json!({"text": "ab", "counts": 1}), "`counts` is not known, did you mean `count`?".into()),
        ];
        for (mut args, fault) in rows {
            let shown = args.to_string();
            let error = arguments(&entry, &mut args).unwrap_err();
            let text = error.message();
            assert!(matches!(error, Error::BadArgs(_)) && text.contains(&fault), "{shown}: {text}\nwanted {fault}");
            assert!(text.starts_with("the arguments of `t` do not fit: ") && text.ends_with(takes), "{text}");
        }
        // In an open schema, a field with a similar name is renamed only if its value fits.
        let open = self::entry(json!({"type": "object", "properties": {"maxSize": {"type": "integer"}}}));
        for (given, expected) in [
            (json!({"max_size": "many"}), json!({"max_size": "many"})),
            (json!({"max_size": "5"}), json!({"maxSize": 5})),
        ] {
            let mut args = given;
            assert!(arguments(&open, &mut args).is_ok());
            assert_eq!(args, expected);
        }
        let mut args = json!({"text": 12, "count": "3"});
        assert_eq!(arguments(&entry, &mut args).unwrap().len(), 2);
        assert_eq!(args, json!({"text": "12", "count": 3}));
    }

    #[test]
    fn of_several_forms_the_one_that_was_meant_is_spoken_of() {
        let form = |name: &str, more: Value| {
            json!({"type": "object", "properties": {"type": {"type": "string", "const": name}, "x": more},
            "required": ["type", "x"], "additionalProperties": false})
        };
        let field = form("field", json!({"enum": ["a", "b"]}));
        let parameters = json!({"type": "object", "properties": {"all": {"type": "array", "items": {"oneOf": [
            form("one", json!({"type": "string"})), form("many", json!({"type": "array", "items": field}))]}}}});
        let entry = entry(parameters);
        for (all, why) in [
            (json!([{"type": "one", "x": "a"}, {"type": "one"}]), "`all[1]`: `x` is missing"),
            (json!([{"type": "one", "x": {}}]), "`all[0].x`: expected string, got an object"),
            (json!([{"type": "one", "x": "a", "y": 1}]), "`all[0]`: `y` is not known"),
            (
                json!([{"type": "many", "x": [{"type": "field", "x": "c"}]}]),
                "`all[0].x[0].x`: expected one of a|b, got \"c\"",
            ),
            (json!([{"type": "none", "x": "a"}]), "`all[0].type`: expected one of one|many, got \"none\""),
            (json!([{"x": "a"}]), "`all[0].type`: expected one of one|many, got null"),
            (json!([7]), "`all[0].type`: expected one of one|many, got null"),
        ] {
            let told = arguments(&entry, &mut json!({"all": all})).unwrap_err().to_string();
            assert!(told.contains(&format!("do not fit: {why}")), "{all}: {told}");
        }
    }

    #[test]
    fn arguments_come_in_many_wrappings() {
        for (given, expected) in [
            (json!(null), Ok(json!({}))),
            (json!(" "), Ok(json!({}))),
            (json!("{\"a\": 1}"), Ok(json!({"a": 1}))),
            (json!({"a": 1}), Ok(json!({"a": 1}))),
            (json!("a"), Err("the arguments of `t` are not JSON")),
            (json!("[1]"), Err("must be a JSON object, not a list of 1")),
            (json!([1, 2]), Err("must be a JSON object, not a list of 2")),
            (json!(true), Err("must be a JSON object, not true")),
        ] {
            match (normalise("t", given.clone()), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{given}"),
                (Err(e), Err(part)) => assert!(e.message().contains(part), "{given}: {e}"),
                (got, _) => panic!("{given}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_schema_that_reaches_out_or_is_broken_is_refused() {
        let next = |n: usize| json!({"$ref": format!("#/$defs/d{}", n + 1)});
        let level = |n: usize| (format!("d{n}"), json!({"allOf": [next(n), next(n)]}));
        let mut endless: serde_json::Map<String, Value> = (0..40).map(level).collect();
        endless.insert("d40".into(), json!({"type": "object"}));
        for (schema, fine) in [
            (json!({"type": "object"}), true),
            (json!({"type": "objekt"}), false),
            (json!({"$ref": "file:///etc/passwd"}), false),
            (json!({"$ref": "http://127.0.0.1/schema"}), false),
            (json!({"properties": {"a": {"pattern": "("}}}), false),
            // Such a tool may be there from before these were refused.
            (json!({"type": "object", "$defs": endless, "$ref": "#/$defs/d0"}), false),
        ] {
            assert_eq!(check_schema(&schema).is_ok(), fine, "{schema}");
            let mut args = json!({});
            assert_eq!(arguments(&entry(schema.clone()), &mut args).is_ok(), fine, "{schema}");
        }
    }
}
