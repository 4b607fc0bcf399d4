//! Format JSON. Numbers, escapes and the order of keys are preserved as written.

use crate::{
    bounds::{run_blocking, short},
    words::words,
};
use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::fmt;
use text_kit::counted;
use tool::prelude::*;

/// The maximum nesting depth, and the maximum length of a result in bytes.
const DEPTH: usize = 128;
const RESULT: usize = 4 << 20;

words! {
    /// A JSON operation.
    Layout {
        Pretty = "pretty" | "format",
        Minify = "minify" | "compact",
        Validate = "validate",
        SortKeys = "sort_keys",
    }
}

/// Format JSON for reading, minify it, sort its keys, or validate it and locate the error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormatJson {
    /// JSON text.
    json: Value,
    /// Operation (default: pretty).
    operation: Option<Layout>,
    /// Spaces per level, 0 to 8 (default: 2).
    #[schemars(range(max = 8))]
    indent: Option<usize>,
}

pub(crate) async fn format_json(_: (), _: Cx, args: FormatJson) -> Result<Output> {
    let (text, layout) = (text_of(args.json), args.operation.unwrap_or(Layout::Pretty));
    short("json", &text)?;
    let indent = args.indent.unwrap_or(2).min(8);
    run_blocking(move |_| {
        let json: &RawValue = match serde_json::from_str(&text) {
            Ok(json) => json,
            Err(why) => return wrong(&why, layout),
        };
        let indent = matches!(layout, Layout::Pretty | Layout::SortKeys).then_some(indent);
        let mut page = Page { text: String::with_capacity(text.len()), indent, sorted: layout == Layout::SortKeys };
        page.write(json.get(), 0)?;
        let kind = kind(json.get());
        let sentence = match layout {
            Layout::Validate => {
                let answer = json!({"valid": true, "operation": layout.word(), "type": kind, "bytes": text.len()});
                return Ok(Output::json(answer)?.say("This is valid JSON."));
            }
            Layout::Minify => format!("Minified, it has {}.", counted(page.text.len(), "byte")),
            Layout::Pretty | Layout::SortKeys => {
                format!("Laid out, it has {}.", counted(page.text.lines().count(), "line"))
            }
        };
        let answer = json!({"valid": true, "operation": layout.word(), "type": kind, "result": page.text});
        Ok(Output::json(answer)?.say(sentence))
    })
    .await
}

/// JSON as text; a value is serialized.
pub(crate) fn text_of(json: Value) -> String {
    match json {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn wrong(why: &serde_json::Error, layout: Layout) -> Result<Output> {
    let (line, column) = (why.line(), why.column());
    let message = why.to_string();
    let reason = message.split(" at line ").next().unwrap_or(&message);
    let sentence = format!("This is not valid JSON: {reason}, in line {line}, column {column}");
    if layout != Layout::Validate {
        return Err(Error::bad_args(format!("{sentence}: correct it there")));
    }
    let answer = json!({"valid": false, "operation": layout.word(), "error": reason, "line": line, "column": column});
    Ok(Output::json(answer)?.say(format!("{sentence}.")))
}

fn kind(json: &str) -> &'static str {
    match json.bytes().next() {
        Some(b'[') => "array",
        Some(b'{') => "object",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// The fields of an object as written: keys keep their escapes, and a key may occur twice.
struct Fields<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = vec![];
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A JSON writer; without an indent it writes one line.
struct Page {
    text: String,
    indent: Option<usize>,
    sorted: bool,
}

impl Page {
    /// Append a valid JSON text, level by level.
    fn write(&mut self, json: &str, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(Error::bad_args(format!("this is nested more than {DEPTH} levels deep: give an inner part")));
        }
        if self.text.len() > RESULT {
            return Err(Error::bad_args(
                "laid out, this is too long: use a smaller indent, minify, or give it in parts",
            ));
        }
        let broken = |why: serde_json::Error| Error::bad_args(format!("this is not valid JSON: {why}"));
        match json.bytes().next() {
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(json).map_err(broken)?;
                self.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.next(at, depth);
                    self.write(item.get(), depth + 1)?;
                }
                self.close(items.is_empty(), depth, ']');
            }
            Some(b'{') => {
                let Fields(mut fields) = serde_json::from_str(json).map_err(broken)?;
                if self.sorted {
                    // Compare decoded keys, regardless of escapes.
                    let decoded = |key: &RawValue| serde_json::from_str(key.get()).unwrap_or(key.get().to_owned());
                    fields.sort_by_cached_key(|(key, _)| decoded(key));
                }
                self.text.push('{');
                for (at, (key, value)) in fields.iter().enumerate() {
                    self.next(at, depth);
                    self.text += key.get();
                    self.text += if self.indent.is_some() { ": " } else { ":" };
                    self.write(value.get(), depth + 1)?;
                }
                self.close(fields.is_empty(), depth, '}');
            }
            _ => self.text += json,
        }
        Ok(())
    }

    fn next(&mut self, at: usize, depth: usize) {
        if at > 0 {
            self.text.push(',');
        }
        self.line(depth + 1);
    }

    fn close(&mut self, empty: bool, depth: usize, bracket: char) {
        if !empty {
            self.line(depth);
        }
        self.text.push(bracket);
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;

    async fn ask(args: Value) -> Result<Output> {
        call(crate::text(), &cx(), "format_json", args).await
    }

    #[tokio::test]
    async fn json_is_laid_out_as_it_was_written() {
        let text = "{\"b\":[1.10,1e5, 12345678901234567890123],\t\"a\":{},\n\"c\":[ ],\"\\u0061\":\"x\\\"\\u00e9,}\"}";
        let rows = [
            (
                json!({"json": text}),
                "{\n  \"b\": [\n    1.10,\n    1e5,\n    12345678901234567890123\n  ],\n  \"a\": {},\n  \"c\": [],\n  \"\\u0061\": \"x\\\"\\u00e9,}\"\n}",
            ),
            (
                json!({"json": text, "operation": "minify"}),
                "{\"b\":[1.10,1e5,12345678901234567890123],\"a\":{},\"c\":[],\"\\u0061\":\"x\\\"\\u00e9,}\"}",
            ),
            (
                json!({"json": "{\"b\":1,\"a\":[{\"d\":2,\"c\":3}]}", "operation": "sort keys", "indent": 0}),
                "{\n\"a\": [\n{\n\"c\": 3,\n\"d\": 2\n}\n],\n\"b\": 1\n}",
            ),
            (json!({"json": " \"x\" "}), "\"x\""),
            (json!({"json": {"a": [true, null]}, "operation": "minify"}), "{\"a\":[true,null]}"),
        ];
        for (args, wanted) in rows {
            assert_eq!(ask(args.clone()).await.unwrap().content["result"], wanted, "{args}");
        }
    }

    #[tokio::test]
    async fn what_is_wrong_is_told_with_its_place() {
        let bad = ask(json!({"json": "{\n \"a\": 1,\n}", "operation": "validate"})).await.unwrap();
        assert_eq!(
            bad.content,
            json!({"valid": false, "operation": "validate", "error": "key must be a string", "line": 3, "column": 1})
        );
        assert_eq!(bad.say.unwrap(), "This is not valid JSON: key must be a string, in line 3, column 1.");
        let good = ask(json!({"json": "[1]", "operation": "validate"})).await.unwrap().content;
        assert_eq!(good, json!({"valid": true, "operation": "validate", "type": "array", "bytes": 3}));
        for text in ["{", "[1 2]", "", "{'a':1}", "[01]", "nul", "\"\u{1}\"", "{\"a\":1}}", "[\"\\x\"]"] {
            let error = ask(json!({"json": text})).await.unwrap_err();
            assert!(error.message().contains("not valid JSON"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn deep_and_long_json_is_refused() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(ask(json!({"json": deep(100)})).await.is_ok());
        for n in [130, 500_000] {
            let error = ask(json!({"json": deep(n), "operation": "sort_keys"})).await.unwrap_err();
            assert!(matches!(&error, Error::BadArgs(_)), "{error}");
        }
        let wide = format!("{}{}{}", "[".repeat(100), "0,".repeat(300_000) + "0", "]".repeat(100));
        assert!(ask(json!({"json": wide, "operation": "minify"})).await.is_ok());
        assert!(ask(json!({"json": wide, "indent": 8})).await.unwrap_err().message().contains("too long"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 30, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn every_layout_says_the_same(value in any_json()) {
            for operation in ["pretty", "minify", "sort_keys"] {
                let made = wait(ask(json!({"json": value.to_string(), "operation": operation}))).unwrap();
                let text = made.content["result"].as_str().unwrap().to_owned();
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value.clone(), "{}", operation);
                let again = wait(ask(json!({"json": text, "operation": operation}))).unwrap();
                prop_assert_eq!(again.content["result"].as_str().unwrap(), text);
            }
            let pretty = wait(ask(json!({"json": value.to_string()}))).unwrap().content;
            prop_assert_eq!(&pretty["result"], &json!(serde_json::to_string_pretty(&value).unwrap()));
        }

        #[test]
        fn no_text_does_harm(text in "[\\[\\]{}:,\"\\\\a0-9tnull -]{0,30}") {
            let answer = wait(ask(json!({"json": text})));
            prop_assert!(matches!(answer, Ok(_) | Err(Error::BadArgs(_))), "{:?}", answer);
        }
    }
}
