//! Which schemas are refused for what checking them would cost, counted and not timed.

use super::*;
use crate::validate::{check_schema, schema_faults};
use serde_json::json;

/// `levels` definitions, each of which refers to the next as `refers` says.
fn doubling(levels: usize, refers: impl Fn(Value) -> Value, last: Value) -> Value {
    let mut all = Map::new();
    for n in 0..levels {
        all.insert(format!("d{n}"), refers(json!({"$ref": format!("#/$defs/d{}", n + 1)})));
    }
    all.insert(format!("d{levels}"), last);
    json!({"$defs": all, "$ref": "#/$defs/d0"})
}

fn object() -> Value {
    json!({"type": "object"})
}

#[test]
fn what_would_never_end_is_refused_when_it_is_defined() {
    let rows = [
        ("allOf", doubling(40, |next| json!({"allOf": [next, next]}), object())),
        ("anyOf", doubling(40, |next| json!({"anyOf": [next, next]}), object())),
        ("oneOf and not", doubling(40, |next| json!({"oneOf": [next], "not": {"not": next}}), object())),
        ("if", doubling(40, |next| json!({"if": next, "then": next, "else": next}), object())),
        ("dependentSchemas", doubling(40, |next| json!({"dependentSchemas": {"a": next, "b": next}}), object())),
        ("a reference with neighbours", doubling(40, |next| json!({"$ref": next["$ref"], "allOf": [next]}), object())),
        (
            "what is marked again at each level",
            doubling(40, |next| json!({"unevaluatedProperties": false, "anyOf": [next]}), object()),
        ),
        (
            "a part nobody refers to",
            json!({"x": doubling(40, |n| json!({"allOf": [n, n]}), object())["$defs"]["d0"],
            "$defs": doubling(40, |n| json!({"allOf": [n, n]}), object())["$defs"]}),
        ),
        (
            "a circle",
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        ),
        ("a circle of two", json!({"$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}})),
        ("a dynamic circle", json!({"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]})),
        ("a chain that fills the stack", doubling(3_000, |next| json!({"allOf": [next]}), object())),
        ("by anchors", {
            let level = |n: usize| json!({"$anchor": format!("a{n}"), "allOf": [{"$ref": format!("#a{}", n + 1)}, {"$ref": format!("#a{}", n + 1)}]});
            let mut all: Map<String, Value> = (0..40).map(|n| (format!("d{n}"), level(n))).collect();
            all.insert("end".into(), json!({"$anchor": "a40", "type": "object"}));
            json!({"$defs": all, "$ref": "#a0"})
        }),
        ("by addresses", {
            let next = |n: usize| json!({"$ref": format!("d{}", n + 1)});
            let level = |n: usize| json!({"$id": format!("http://x/d{n}"), "allOf": [next(n), next(n)]});
            let mut all: Map<String, Value> = (0..40).map(|n| (format!("d{n}"), level(n))).collect();
            all.insert("end".into(), json!({"$id": "http://x/d40", "type": "object"}));
            json!({"$id": "http://x/top", "$defs": all, "$ref": "d0"})
        }),
    ];
    for (what, schema) in rows {
        let told = check_schema(&schema).expect_err(what).to_string();
        assert!(told.contains("simplify") || told.contains("remove the circle"), "{what}: {told}");
        let mut counter = Counter::new(&schema, STEPS, 1);
        let _ = counter.count(&schema, &schema, Some(&schema), 0);
        assert!(counter.work < 20_000, "{what}: {}", counter.work);
    }
}

#[test]
fn what_grows_with_the_depth_of_a_value_is_refused_when_it_is_checked() {
    let twice = |next: Value| json!({"allOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]});
    let finite = doubling(60, twice, object());
    let endless = json!({"$defs": {"a": {"allOf": [
        {"additionalProperties": {"$ref": "#/$defs/a"}}, {"propertyNames": {"$ref": "#/$defs/a"}},
        {"patternProperties": {"a": {"$ref": "#/$defs/a"}}}]}}, "$ref": "#/$defs/a"});
    let lists = json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "contains": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"});
    let deep = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
    let nested = (0..60).fold(json!([]), |inner, _| json!([inner]));
    for (schema, value) in [(finite, &deep), (endless, &deep), (lists, &nested)] {
        check_schema(&schema).unwrap();
        let told = schema_faults(&schema, value).unwrap_err().to_string();
        assert!(told.contains("simplify the schema"), "{told}");
        let mut counter = Counter::new(&schema, STEPS, size(value));
        assert!(counter.count(&schema, &schema, Some(value), 0).is_err() && counter.work < 20_000, "{}", counter.work);
        // With little in it, it is a schema like any other.
        assert_eq!(schema_faults(&schema, &json!({"a": {"a": {}}})).unwrap(), None);
    }
}

#[test]
fn ordinary_schemas_that_refer_to_themselves_go_on_working() {
    let tree = json!({"$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["name"]}}, "$ref": "#/$defs/Node"});
    let mut grown = json!({"name": "leaf"});
    for _ in 0..8 {
        grown = json!({"name": "n", "children": [grown, grown, grown]});
    }
    let list = json!({"$defs": {"Cell": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"value": {"type": "integer"},
        "next": {"$ref": "#/$defs/Cell"}}, "required": ["value", "next"]}]}}, "$ref": "#/$defs/Cell"});
    let cells = (0..100).fold(json!(null), |next, n| json!({"value": n, "next": next}));
    let binary = |word: &str| {
        json!({"type": "object", "properties": {"type": {"const": word}, "left": {"$ref": "#/definitions/expr"},
        "right": {"$ref": "#/definitions/expr"}}, "required": ["type", "left", "right"], "additionalProperties": false})
    };
    let words = ["add", "sub", "mul", "div", "pow", "and", "or", "eq", "lt", "gt"];
    let mut forms: Vec<Value> = words.map(binary).to_vec();
    forms.push(json!({"type": "number"}));
    let grammar = json!({"definitions": {"expr": {"oneOf": forms}}, "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object", "properties": {"expr": {"$ref": "#/definitions/expr"}}});
    let mut sum = json!(1);
    for word in words.iter().take(4) {
        sum = json!({"type": word, "left": sum, "right": sum});
    }
    let pydantic = json!({"$defs": {
        "JsonValue": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"},
            {"items": {"$ref": "#/$defs/JsonValue"}, "type": "array"},
            {"additionalProperties": {"$ref": "#/$defs/JsonValue"}, "type": "object"}]},
        "Filter": {"properties": {"all": {"anyOf": [{"items": {"$ref": "#/$defs/Filter"}, "type": "array"}, {"type": "null"}],
            "default": null}, "field": {"$ref": "#/$defs/JsonValue"}}, "title": "Filter", "type": "object"}},
        "properties": {"where": {"$ref": "#/$defs/Filter"}}, "required": ["where"], "title": "Query", "type": "object"});
    let query = json!({"where": {"all": [{"field": {"a": ["x", 1, null]}}, {"all": [{"all": null, "field": "y"}]}]}});
    let strict = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://x/strict-tree",
        "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false,
        "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "type": "object",
            "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}}});
    let mut data = json!({"data": 1});
    for _ in 0..7 {
        data = json!({"data": 1, "children": [data, data]});
    }
    let document = json!({"properties": {"not": {"type": "string"}, "$ref": {"type": "string"}, "allOf": {"$ref": "#/properties/not"}},
        "examples": [{"$ref": "#"}]});
    let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    for (what, schema, value) in [
        ("a tree", &tree, grown),
        ("a linked list", &list, cells),
        ("a grammar", &grammar, json!({"expr": sum})),
        ("pydantic", &pydantic, query),
        ("a dynamic tree", &strict, data),
        ("fields named as keywords", &document, json!({"not": "a", "$ref": "b", "allOf": "c"})),
        ("a schema of schemas", &meta, pydantic.clone()),
        ("many numbers", &json!({"items": {"type": "integer"}}), (0..100_000).collect()),
    ] {
        check_schema(schema).expect(what);
        assert_eq!(schema_faults(schema, &value).expect(what), None, "{what}");
    }
    let told = schema_faults(&tree, &json!({"name": "a", "children": [{"children": []}]})).unwrap();
    assert_eq!(told.as_deref(), Some("`children[0]`: `name` is missing"));
    assert!(schema_faults(&strict, &json!({"children": [{"daat": 1}]})).unwrap().is_some());
}
