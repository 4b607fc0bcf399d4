//! What of a call's arguments may be shown and kept. A secret that nobody knew before is known by its place alone: the
//! parameter whose schema says `writeOnly`.

use crate::{Registry, coerce, validate};
use scrub::{How, MARK};
use serde_json::Value;

impl Registry {
    /// The arguments of a call as they may be shown and kept, and whether anything was taken out of them: all values inside
    /// parameters that are `writeOnly` (names and nulls stay), also in calls through `use_tool` and `batch_use_tool`, and
    /// what [`Registry::scrubber`] finds.
    ///
    /// `tool` may be an alias, and `args` anything a call takes: an object, or its JSON as text. Where a parameter was taken
    /// out, the arguments come as the tool would have understood them.
    pub fn masked(&self, tool: &str, args: &Value) -> (Value, bool) {
        let mut shown = args.clone();
        let hidden = self.hide(tool, &mut shown);
        let found = self.scrubber().value(&mut shown, How::All);
        (shown, hidden || found > 0)
    }

    /// Takes out what is only written. Where there is nothing, the arguments stay as they came.
    fn hide(&self, tool: &str, args: &mut Value) -> bool {
        let Some(found) = self.read(|c| c.find(tool)) else { return false };
        let (name, schema) = (&*found.entry.tool.name, &found.entry.tool.parameters);
        let facade = matches!(name, "use_tool" | "batch_use_tool");
        if !facade && !takes_secret(schema) {
            return false;
        }
        let Ok(mut taken) = validate::normalise(name, args.clone()) else {
            // Broken text has no places to go by.
            return !facade && blank(args);
        };
        if let Some(adapt) = found.adapt {
            taken = adapt(taken);
        }
        // What is understood although it is written otherwise is at its place from here on.
        coerce::coerce(schema, &mut taken);
        let hidden = match name {
            "use_tool" => self.hide_inner(&mut taken),
            "batch_use_tool" => match taken.get_mut("operations").and_then(Value::as_array_mut) {
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

    /// In a call that stands in the arguments of another.
    fn hide_inner(&self, call: &mut Value) -> bool {
        let Some(fields) = call.as_object_mut() else { return false };
        let names: Vec<String> =
            ["tool_name", "tool"].iter().filter_map(|n| fields.get(*n)?.as_str().map(str::to_owned)).collect();
        let mut hidden = false;
        for name in names {
            let written = self.get(&name).is_some_and(|tool| takes_secret(&tool.parameters));
            for (field, value) in fields.iter_mut() {
                hidden |= match field.as_str() {
                    "tool_name" | "tool" => false,
                    "arguments" | "args" => self.hide(&name, value),
                    // Such a call fails, and what was meant for the tool would be kept all the same.
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
            // What the tool does not know was perhaps meant for the place that is hidden.
            None => top && blank(value),
        })),
        Value::Array(items) => any(items.iter_mut().map(|item| hide_written(&schema["items"], item, false))),
        _ => false,
    }
}

/// Puts the mark in place of every value inside; null, which takes something out, is none.
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

/// Whether one of them is, after all of them were done.
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
        /// Where.
        place: String,
        /// What.
        #[schemars(extend("writeOnly" = true))]
        fields: BTreeMap<String, Value>,
    }

    /// Says something.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Say {
        /// What.
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
