//! Masks secrets in the arguments of a call before they are shown or stored. A new secret is recognized only by its
//! parameter, whose schema says `writeOnly`.

use crate::{
    CALLERS, Registry, coerce,
    meta::{BATCH_USE_TOOL, USE_TOOL},
    validate,
};
use scrub::{How, MARK};
use serde_json::Value;

impl Registry {
    /// The arguments of a call as they may be shown and stored, and whether anything was removed: all values inside
    /// `writeOnly` parameters (names and nulls stay), also in calls through `use_tool` and `batch_use_tool`, and the findings
    /// of [`Registry::scrubber`].
    ///
    /// `tool` may be an alias, and `args` anything a call accepts: an object, or its JSON as text. Where a value was removed,
    /// the arguments are in the form the tool would have received.
    pub fn masked(&self, tool: &str, args: &Value) -> (Value, bool) {
        let mut shown = args.clone();
        let hidden = self.hide(tool, &mut shown);
        let found = self.scrubber().value(&mut shown, How::All);
        (shown, hidden || found > 0)
    }

    /// Removes `writeOnly` values. Without any, the arguments stay unchanged.
    fn hide(&self, tool: &str, args: &mut Value) -> bool {
        let Some(found) = self.read(|c| c.find(tool)) else { return false };
        let (name, schema) = (&*found.entry.tool.name, found.entry.tool.parameters());
        let facade = CALLERS.contains(&name);
        if !facade && !takes_secret(schema) {
            return false;
        }
        let Ok(taken) = validate::normalise(name, args.clone()) else {
            // Broken JSON has no fields.
            return !facade && blank(args);
        };
        let mut taken = found.adapted(taken);
        // Coercion moves misspelled fields to their place.
        coerce::coerce(schema, &mut taken);
        let hidden = match name {
            USE_TOOL => self.hide_inner(&mut taken),
            BATCH_USE_TOOL => match taken.get_mut("operations").and_then(Value::as_array_mut) {
                Some(calls) => any(calls.iter_mut().map(|call| self.hide_inner(call))),
                None => false,
            },
            _ => hide_written(schema, &mut taken, true),
        };
        if hidden {
            *args = taken;
        }
        hidden
    }

    /// The same in a call within the arguments of another.
    fn hide_inner(&self, call: &mut Value) -> bool {
        let Some(fields) = call.as_object_mut() else { return false };
        let names: Vec<String> =
            ["tool_name", "tool"].iter().filter_map(|n| fields.get(*n)?.as_str().map(str::to_owned)).collect();
        let mut hidden = false;
        for name in names {
            let written = self.get(&name).is_some_and(|tool| takes_secret(tool.parameters()));
            for (field, value) in fields.iter_mut() {
                hidden |= match field.as_str() {
                    "tool_name" | "tool" => false,
                    "arguments" | "args" => self.hide(&name, value),
                    // Such a call fails, but a value meant for the tool would still be stored.
                    _ => written && blank(value),
                };
            }
        }
        hidden
    }
}

/// Whether a schema has a parameter that is `writeOnly`: the tool takes a secret.
pub(crate) fn takes_secret(schema: &Value) -> bool {
    let inside = |fields: &Value| fields.as_object().is_some_and(|fields| fields.values().any(takes_secret));
    schema["writeOnly"] == true || inside(&schema["properties"]) || schema.get("items").is_some_and(takes_secret)
}

fn hide_written(schema: &Value, value: &mut Value, top: bool) -> bool {
    if schema["writeOnly"] == true {
        return blank(value);
    }
    match value {
        Value::Object(fields) => any(fields.iter_mut().map(|(name, value)| match schema["properties"].get(name) {
            Some(field) => hide_written(field, value, false),
            // An unknown field was perhaps meant for the hidden one.
            None => top && blank(value),
        })),
        Value::Array(items) => any(items.iter_mut().map(|item| hide_written(&schema["items"], item, false))),
        _ => false,
    }
}

/// Replaces every value inside by the mark, except null, which clears a field.
fn blank(value: &mut Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => any(fields.values_mut().map(blank)),
        Value::Array(items) => any(items.iter_mut().map(blank)),
        Value::String(text) if text == MARK => false,
        scalar => {
            *scalar = MARK.into();
            true
        }
    }
}

/// Whether any is true, after evaluating all of them.
fn any(all: impl Iterator<Item = bool>) -> bool {
    all.fold(false, |any, one| any | one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;
    use tool::{Family, Risk, prelude::*};

    /// Keeps something.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Keep {
        /// The place.
        place: String,
        /// The text.
        #[schemars(extend("writeOnly" = true))]
        fields: BTreeMap<String, Value>,
    }

    /// Says something.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Say {
        /// The text.
        fields: Value,
    }

    async fn keep(_: (), _: Cx, _: Keep) -> Result<Value> {
        Ok(Value::Null)
    }
    async fn say(_: (), _: Cx, _: Say) -> Result<Value> {
        Ok(Value::Null)
    }
    /// `what` is what others call the fields.
    fn from_what(mut args: Value) -> Value {
        if let Some(what) = args.as_object_mut().and_then(|a| a.remove("what")) {
            args["fields"] = what;
        }
        args
    }

    #[test]
    fn what_is_only_written_is_hidden_wherever_it_stands() {
        let registry = Registry::new().unwrap();
        let family = Family::new("test", "For tests.", ())
            .tool("keep", Risk::Admin, keep)
            .alias_with("keep_it", from_what)
            .tool("say", Risk::Observe, say);
        registry.add(family).unwrap();
        registry.scrubber().add("known-value");
        let given = json!({"place": "x", "fields": {"code": "green lantern", "n": 4711, "gone": null, "list": [true]}});
        let hidden = json!({"place": "x", "fields": {"code": MARK, "n": MARK, "gone": null, "list": [MARK]}});
        let text = given.to_string();
        let via = |args: Value| json!({"tool_name": "keep", "arguments": args});
        let batch = |call: Value| json!({"operations": [{"tool": "say", "args": {"fields": "hi"}}, call]});
        let rows = [
            ("keep", given.clone(), hidden.clone()),
            ("keep", json!(text), hidden.clone()),
            ("keep", json!({"place": "x", "fields": given["fields"].to_string()}), hidden.clone()),
            ("keep_it", json!({"place": "x", "what": given["fields"]}), hidden.clone()),
            // Beside the place, broken, or otherwise written: it fails or not, and is hidden.
            ("keep", json!({"place": "x", "code": "green"}), json!({"place": "x", "code": MARK})),
            ("keep", json!({"Place": "x", "Fields": {"a": "b"}}), json!({"place": "x", "fields": {"a": MARK}})),
            ("keep", json!("{\"fields\": {\"code\": \"green"), json!(MARK)),
            ("use_tool", via(given.clone()), via(hidden.clone())),
            ("use_tool", via(json!(text)), via(hidden.clone())),
            ("use_tool", json!({"toolName": "keep", "arguments": given}), via(hidden.clone())),
            ("use_tool", json!({"tool_name": "keep", "code": "a"}), json!({"tool_name": "keep", "code": MARK})),
            (
                "use_tool",
                json!({"tool_name": "use_tool", "arguments": via(given.clone())}),
                json!({"tool_name": "use_tool", "arguments": via(hidden.clone())}),
            ),
            (
                "batch_use_tool",
                batch(json!({"tool": "keep", "args": given})),
                batch(json!({"tool": "keep", "args": hidden})),
            ),
            ("batch_use_tool", batch(via(given.clone())), batch(via(hidden.clone()))),
            (
                "batch_use_tool",
                batch(json!({"tool": "use_tool", "args": via(given.clone())})),
                batch(json!({"tool": "use_tool", "args": via(hidden.clone())})),
            ),
            // Known by value.
            ("say", json!({"fields": "it is known-value"}), json!({"fields": format!("it is {MARK}")})),
            ("none", json!("known-value"), json!(MARK)),
        ];
        for (tool, args, expected) in rows {
            let (shown, changed) = registry.masked(tool, &args);
            assert_eq!(shown, expected, "{tool} {args}");
            assert!(changed, "{tool} {args}");
            assert_eq!(registry.masked(tool, &shown), (expected, false), "once is enough: {tool} {args}");
        }
        for (tool, args) in [
            ("keep", json!({"place": "x", "fields": {}})),
            ("keep", json!({"place": "x", "fields": {"gone": null}})),
            ("say", given.clone()),
            ("say", json!(text)),
            ("none", given.clone()),
            ("use_tool", json!({"tool_name": "say", "arguments": given})),
            ("use_tool", json!({"toolName": "say", "arguments": text})),
            ("use_tool", json!("{broken")),
            ("batch_use_tool", json!({"operations": [{"tool": "say", "args": given}]})),
        ] {
            assert_eq!(registry.masked(tool, &args), (args.clone(), false), "{tool}");
        }
    }
}
