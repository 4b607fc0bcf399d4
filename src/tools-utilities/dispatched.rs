//! Tests of every tool through the real dispatch: schema, example, aliases, group.

use crate::testing::cx;
use board::Device;
use registry::Registry;
use std::{collections::BTreeMap, sync::Arc};
use tool::{Dispatch, Error, Result, prelude::*};

fn registry() -> Registry {
    let registry = Registry::new().unwrap();
    registry.add(crate::utilities(Device::new("/"))).unwrap();
    for family in [crate::dates(), crate::mathematics(), crate::chance(), crate::text(), crate::data()] {
        registry.add(family).unwrap();
    }
    registry
}

/// A call by a caller without earlier calls in this minute.
async fn ask(name: &str, args: Value) -> Result<Output> {
    registry().call(cx(), name, args).await
}

fn ours() -> Vec<Arc<tool::Tool>> {
    registry().tools().into_iter().filter(|tool| &*tool.group != "system").collect()
}

#[tokio::test]
async fn every_example_is_taken_and_answered_in_a_sentence() {
    for tool in ours() {
        for example in &tool.examples {
            let answer = ask(&tool.name, example.clone()).await;
            let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", tool.name));
            assert!(answer.say.is_some_and(|say| !say.is_empty()), "{}", tool.name);
        }
        assert!(tool.risk == Risk::Observe && !tool.description().is_empty() && !tool.tags.is_empty(), "{}", tool.name);
        let fields = tool.parameters()["properties"].as_object().unwrap();
        assert!(fields.values().all(|field| field["description"].is_string()), "{}: {fields:?}", tool.name);
        assert_eq!(tool.parameters()["additionalProperties"], false, "{}", tool.name);
    }
}

#[tokio::test]
async fn every_other_name_leads_to_its_tool() {
    let rows = [
        ("datetime", json!({}), "dayOfWeek", json!("Friday")),
        ("get_current_time", json!({}), "time", json!("14:30:00")),
        ("add_to_date", json!({"date": "today", "amount": "1", "unit": "Day"}), "result", json!("2026-11-21")),
        ("calculate_statistics", json!({"values": [1, 2, 3]}), "mean", json!(2)),
        ("count_words", json!({"text": "a b"}), "words", json!(2)),
        ("extract_urls", json!({"text": "http://a.example"}), "matches", json!(["http://a.example"])),
        ("extract_emails", json!({"text": "a@b.example"}), "count", json!(1)),
        ("extract_numbers", json!({"text": "1 2"}), "matches", json!([1, 2])),
        ("test_regex", json!({"pattern": "a", "text": "b"}), "matches", json!(false)),
        ("validate_email", json!({"email": "a@b.example"}), "valid", json!(true)),
        ("validate_url", json!({"url": "x"}), "valid", json!(false)),
        ("sort_list", json!({"items": ["b", "a"]}), "result", json!(["a", "b"])),
        ("deduplicate", json!({"list": [1, 1]}), "result", json!([1])),
    ];
    let aliases: usize = ours().iter().map(|tool| tool.aliases.len()).sum();
    assert_eq!(rows.len(), aliases);
    for (name, args, field, wanted) in rows {
        assert_eq!(ask(name, args).await.unwrap().content[field], wanted, "{name}");
    }
}

#[test]
fn every_tool_is_listed_with_its_group() {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in ours() {
        assert_eq!(&*tool.category, "Utilities", "{}", tool.name);
        groups.entry(tool.group.to_string()).or_default().push(tool.name.to_string());
    }
    let text =
        ["compare_text", "count_text", "encode_decode", "extract_from_text", "format_json", "hash_text", "regex"];
    let text = [&text[..], &["transform_text", "validate"]].concat();
    let wanted = json!({
        "conversion": ["convert_units", "generate_csv", "parse_csv"],
        "core": ["calculate", "generate_uuid", "get_current_datetime"],
        "dateTime": ["date_add", "date_diff", "format_date"],
        "generation": ["generate_password", "random_number"],
        "listOps": ["array_operations", "create_table"],
        "mathStats": ["calculate_percentage", "statistics"],
        "textUtils": text,
        "utilities": ["list_people", "system_info"],
    });
    assert_eq!(json!(groups), wanted);
}

#[tokio::test]
async fn what_models_write_is_understood() {
    let rows = [
        ("transform_text", json!({"text": "a b", "operation": "UPPER-CASE"}), "result", json!("A B")),
        ("transform_text", json!({"text": 12, "operation": "reverse"}), "result", json!("21")),
        ("date_diff", json!({"date1": "2026-11-20", "date2": "2026-11-27", "unit": "Weeks"}), "value", json!(1)),
        ("generate_uuid", json!({"version": "7"}), "version", json!(7)),
        ("format_json", json!({"json": {"a": 1}, "operation": "minify"}), "result", json!("{\"a\":1}")),
        ("array_operations", json!({"array": "[3, 1]", "operation": "sort"}), "result", json!([1, 3])),
        ("array_operations", json!({"array": [1, null, 2], "operation": "sum", "key": null}), "result", json!(3)),
        ("statistics", json!({"numbers": "[1, 2, 3.5]"}), "max", json!(3.5)),
        ("validate", json!({"value": 42, "type": "integer"}), "normalized", json!(42)),
        ("parse_csv", json!({"csv": "a\n1", "has_header": "true"}), "rows", json!([{"a": "1"}])),
    ];
    for (name, args, field, wanted) in rows {
        let answer = ask(name, args.clone()).await.unwrap_or_else(|error| panic!("{name} {args}: {error}"));
        assert_eq!(answer.content[field], wanted, "{name} {args}");
    }
    let wrong = ask("transform_text", json!({"text": "a", "operation": "explode"})).await;
    assert!(matches!(&wrong, Err(Error::BadArgs(why)) if why.contains("uppercase")), "{wrong:?}");
}

#[tokio::test]
async fn digests_and_passwords_are_not_taken_for_secrets_that_leaked() {
    let hash = ask("hash_text", json!({"text": "abc", "algorithm": "sha512"})).await.unwrap();
    assert_eq!(hash.content["hash"].as_str().unwrap().len(), 128);
    assert!(!hash.say.unwrap().contains("REDACTED"));
    for length in [8, 40, 128] {
        let made = ask("generate_password", json!({"length": length})).await.unwrap();
        assert_eq!(made.content["password"].as_str().unwrap().len(), length);
    }
}
