//! Which values fit which schemas. The rows are those of the official test suite that are easily got wrong.

use super::*;
use serde_json::json;

fn check(schema: &Value, rows: &[(Value, bool)]) {
    let compiled = Schema::compile(schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
    for (value, fits) in rows {
        assert_eq!(compiled.is_valid(value), *fits, "{schema}: {value}");
        assert_eq!(compiled.faults(value).is_empty(), *fits, "{schema}: {value}");
    }
}

#[test]
fn numbers_compare_as_numbers() {
    check(&json!({"type": "integer"}), &[(json!(1.0), true), (json!(1.5), false), (json!("1"), false)]);
    check(&json!({"enum": [1, [2.0]]}), &[(json!(1.0), true), (json!([2]), true), (json!(true), false)]);
    check(&json!({"const": {"a": 0}}), &[(json!({"a": 0.0}), true), (json!({"a": false}), false)]);
    check(&json!({"multipleOf": 0.0001}), &[(json!(0.0075), true), (json!(0.00751), false)]);
    check(&json!({"multipleOf": 0.1}), &[(json!(0.3), true), (json!(1e20), true), (json!(0.35), false)]);
    check(&json!({"multipleOf": 1e-8}), &[(json!(12391239123_i64), true)]);
    check(
        &json!({"maximum": 18446744073709551615_u64}),
        &[(json!(18446744073709551615_u64), true), (json!(2e19), false)],
    );
    check(
        &json!({"uniqueItems": true}),
        &[(json!([1, 1.0]), false), (json!([1, true]), true), (json!([{"a": 1}, {"a": 2}]), true)],
    );
    let four = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true});
    check(&four, &[(json!(1), false), (json!(1.1), true)]);
}

#[test]
fn lists_and_objects_are_checked_part_by_part() {
    let tuple = json!({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "boolean"}});
    check(
        &tuple,
        &[(json!([1]), true), (json!([1, "a", true]), true), (json!([1, "a", 2]), false), (json!(["a"]), false)],
    );
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}], "additionalItems": false});
    check(&old, &[(json!([1]), true), (json!([1, 2]), false)]);
    check(
        &json!({"contains": {"minimum": 5}, "minContains": 2, "maxContains": 2}),
        &[(json!([5, 6, 1]), true), (json!([5]), false), (json!([5, 6, 7]), false)],
    );
    check(&json!({"contains": {}, "minContains": 0}), &[(json!([]), true)]);
    let named = json!({"properties": {"a": {}}, "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false});
    check(&named, &[(json!({"a": 1, "x1": 2}), true), (json!({"b": 1}), false), (json!({"x1": "b"}), false)]);
    check(&json!({"propertyNames": {"maxLength": 2}}), &[(json!({"ab": 1}), true), (json!({"abc": 1}), false)]);
    let dependent = json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 2}}});
    check(&dependent, &[(json!({"a": 1}), false), (json!({"a": 1, "b": 1}), true), (json!({"c": 1}), false)]);
    check(
        &json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
        &[(json!({"a": 1}), false), (json!({"c": 1}), false)],
    );
    // Lookahead, and digits in ASCII alone.
    check(
        &json!({"pattern": "^(?=.*\\d)[a-z\\d]+$"}),
        &[(json!("a1"), true), (json!("ab"), false), (json!("a\u{2003}"), false)],
    );
}

#[test]
fn combinations_and_what_is_left_over() {
    let choice = json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}});
    check(
        &choice,
        &[(json!({"a": 1, "b": 1}), true), (json!({"a": 1}), false), (json!({"c": 1}), true), (json!({}), false)],
    );
    check(
        &json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
        &[(json!(1), true), (json!(2.5), true), (json!(3), false)],
    );
    let closed = json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {"const": 1}}, "required": ["b"]},
        {"properties": {"c": {}}, "required": ["c"]}], "unevaluatedProperties": false});
    check(
        &closed,
        &[
            (json!({"a": 1, "b": 1}), true),
            (json!({"b": 1, "c": 1}), true),
            (json!({"b": 2, "c": 1}), false),
            (json!({"c": 1, "d": 1}), false),
        ],
    );
    let nested = json!({"not": {"not": {"properties": {"a": {}}, "required": ["a"]}}, "unevaluatedProperties": false});
    check(&nested, &[(json!({"a": 1}), false)]);
    let items = json!({"prefixItems": [{}], "contains": {"const": 7}, "unevaluatedItems": {"type": "string"}});
    check(&items, &[(json!([1, "a", 7]), true), (json!([1, 2, 7]), false)]);
}

#[test]
fn references_stay_within_the_document() {
    let ids = json!({"$id": "http://x/a/top", "$ref": "part#name", "$defs": {
        "part": {"$id": "part", "$defs": {"n": {"$anchor": "name", "type": "object", "properties": {"more": {"$ref": "/b/other"}}}}},
        "other": {"$id": "http://x/b/other", "type": "integer"}}});
    check(&ids, &[(json!({"more": 1}), true), (json!({"more": "a"}), false), (json!(1), false)]);
    let escaped = json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}});
    check(&escaped, &[(json!(null), true), (json!(1), false)]);
    // A reference stands alone in old drafts.
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "properties":
        {"x": {"$ref": "#/definitions/a", "maxLength": 1}}});
    check(&old, &[(json!({"x": "ab"}), true)]);
    let recursive = json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x/strict",
        "$recursiveAnchor": true, "$ref": "tree", "unevaluatedProperties": false, "$defs": {"tree": {"$id": "tree",
        "$recursiveAnchor": true, "properties": {"child": {"$recursiveRef": "#"}}}}});
    check(&recursive, &[(json!({"child": {"child": {}}}), true), (json!({"child": {"childs": {}}}), false)]);
    let meta = json!({"items": {"$ref": "https://json-schema.org/draft/2020-12/schema"}});
    check(&meta, &[(json!([{"type": "string"}, true]), true), (json!([{"type": "text"}]), false), (json!([1]), false)]);
    for broken in [
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "http://x/other"}),
        json!({"$ref": "#none"}),
        json!({"$schema": "http://x/own-meta-schema"}),
        json!({"$defs": {"a": {"minLength": -1}}}),
        json!({"allOf": []}),
        json!({"properties": {"a": "string"}}),
        json!({"required": true}),
    ] {
        assert!(Schema::compile(&broken).is_err(), "{broken}");
    }
}

#[test]
fn old_drafts_check_formats() {
    let format = |name: &str| json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": name});
    for (name, good, bad) in [
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "23:59:60.25+01:00", "24:00:00Z"),
        ("date-time", "2026-11-20T14:30:00Z", "2026-11-20 14:30"),
        ("email", "a@example.org", "a.example.org"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", "12345::"),
        ("regex", "^a+$", "^(abc"),
        ("uri", "http://x/y?z", "/relative"),
    ] {
        check(&format(name), &[(json!(good), true), (json!(bad), false), (json!(7), true)]);
    }
    check(&json!({"format": "date"}), &[(json!("today"), true)]);
}

#[test]
fn the_deepest_schema_fits_the_stack_of_a_thread() {
    let deep = |wrap: fn(Value) -> Value| (0..300).fold(json!({"type": "null"}), |inner, _| wrap(inner));
    let value = (0..300).fold(json!(null), |inner, _| json!({"a": inner}));
    for (schema, value) in [
        (deep(|inner| json!({"allOf": [inner]})), json!(null)),
        (deep(|inner| json!({"oneOf": [inner]})), json!(null)),
        (deep(|inner| json!({"if": {}, "then": inner})), json!(null)),
        (deep(|inner| json!({"properties": {"a": inner}})), value.clone()),
        (deep(|inner| json!({"patternProperties": {"a": inner}})), value),
    ] {
        let checked = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let schema = Schema::compile(&schema).unwrap();
            schema.is_valid(&value) && schema.faults(&value).is_empty()
        });
        assert!(checked.unwrap().join().unwrap());
    }
}

#[test]
fn patterns_that_backtrack_share_a_time_limit() {
    let schema = json!({"items": {"pattern": r"^(a*)(a*)(a*)(a*)(a*)\1c$"}});
    let compiled = Schema::compile(&schema).unwrap();
    let value = Value::from(vec!["a".repeat(100); 2000]);
    let begun = std::time::Instant::now();
    assert!(!compiled.is_valid(&value) && !compiled.faults(&value).is_empty());
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}
