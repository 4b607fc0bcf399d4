//! Corrected arguments, and those that are left unchanged.

use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "on": {"type": "boolean"},
            "kind": {"type": "string", "enum": ["fact", "event", "in_progress"]},
            "size": {"type": "integer", "enum": [1, 2]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "number"}},
            "things": {"type": "array", "items": {"type": "object", "properties": {"maxSize": {"type": "integer"}}}},
            "list": {"type": "array"},
            "options": {"type": "object", "properties": {"deep": {"$ref": "#/$defs/deep"}}},
            "mixed": {"type": ["string", "integer"]},
            "nothing": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
            "form": {"oneOf": [
                {"type": "object", "properties": {"is": {"const": "a"}, "n": {"type": "integer"}}},
                {"type": "object", "properties": {"is": {"const": "b"}, "n": {"type": "string"}}}
            ]},
            "anything": {},
            "maxResults": {"type": "integer"},
            "a_b": {"type": "string"},
            "aB": {"type": "string"}
        },
        "required": ["text"],
        "additionalProperties": false,
        "$defs": {"deep": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    })
}

#[test]
fn what_is_clear_is_put_right_and_told() {
    // (given, corrected, a part of the only correction's text)
    let rows = [
        (json!({"count": "5"}), json!({"count": 5}), "`count` was text and was read as a number"),
        (json!({"count": " +5 "}), json!({"count": 5}), "as a number"),
        (json!({"count": "5.0"}), json!({"count": 5}), "as a number"),
        (json!({"count": 3.0}), json!({"count": 3}), "decimal point"),
        (json!({"count": "18446744073709551615"}), json!({"count": u64::MAX}), "as a number"),
        (json!({"ratio": "-0.5"}), json!({"ratio": -0.5}), "as a number"),
        (json!({"ratio": "1e3"}), json!({"ratio": 1000.0}), "as a number"),
        (json!({"on": "true"}), json!({"on": true}), "`on` was text and was read as true"),
        (json!({"on": "Yes"}), json!({"on": true}), "as true"),
        (json!({"on": "no"}), json!({"on": false}), "as false"),
        (json!({"on": 1}), json!({"on": true}), "was 1"),
        (json!({"text": 5}), json!({"text": "5"}), "was a number and was taken as text"),
        (json!({"text": 0.5}), json!({"text": "0.5"}), "as text"),
        (json!({"text": true}), json!({"text": "true"}), "as text"),
        (json!({"kind": "Fact"}), json!({"kind": "fact"}), "`kind` was taken as \"fact\""),
        (json!({"kind": " in progress"}), json!({"kind": "in_progress"}), "as \"in_progress\""),
        (json!({"size": "2"}), json!({"size": 2}), "as a number"),
        (json!({"tags": "work"}), json!({"tags": ["work"]}), "was a single item and was put into a list"),
        (json!({"tags": "a,b-c,d.e"}), json!({"tags": ["a", "b-c", "d.e"]}), "was text with commas"),
        (json!({"tags": "a, b"}), json!({"tags": ["a, b"]}), "single item"),
        (json!({"tags": "http://x.org/1,2"}), json!({"tags": ["http://x.org/1,2"]}), "single item"),
        (json!({"tags": "[\"a\",\"b\"]"}), json!({"tags": ["a", "b"]}), "was JSON text"),
        (json!({"tags": ["a", 5]}), json!({"tags": ["a", "5"]}), "`tags[1]` was a number"),
        (json!({"numbers": 5}), json!({"numbers": [5]}), "single item"),
        (json!({"list": 5}), json!({"list": [5]}), "single item"),
        (
            json!({"things": [{"max_size": 1}]}),
            json!({"things": [{"maxSize": 1}]}),
            "`things[0].max_size` was taken for `maxSize`",
        ),
        (json!({"things": {"maxSize": 1}}), json!({"things": [{"maxSize": 1}]}), "single item"),
        (json!({"options": "{\"deep\":{}}"}), json!({"options": {"deep": {}}}), "`options` was JSON text"),
        (json!({"options": {"deep": {"n": "4"}}}), json!({"options": {"deep": {"n": 4}}}), "`options.deep.n` was text"),
        (json!({"either": "7"}), json!({"either": 7}), "as a number"),
        (json!({"either": ["7"]}), json!({"either": [7]}), "`either[0]`"),
        (json!({"form": {"is": "a", "n": "1"}}), json!({"form": {"is": "a", "n": 1}}), "`form.n`"),
        (json!({"form": {"is": "b", "n": 1}}), json!({"form": {"is": "b", "n": "1"}}), "`form.n`"),
        (json!({"max_results": 5}), json!({"maxResults": 5}), "`max_results` was taken for `maxResults`"),
        (json!({"Max-Results": 5}), json!({"maxResults": 5}), "was taken for"),
        (json!({"count": null, "on": null}), json!({}), "left out, because null: `count`, `on`"),
    ];
    for (given, expected, told) in rows {
        let mut args = given.clone();
        let said = coerce(&schema(), &mut args);
        assert_eq!(args, expected, "{given}");
        assert_eq!(said.len(), 1, "{given}: {said:?}");
        assert!(said[0].contains(told), "{given}: {said:?}");
    }
    let mut args = json!({"things": "{\"max_size\":\"1\"}"});
    assert_eq!((coerce(&schema(), &mut args).len(), args), (4, json!({"things": [{"maxSize": 1}]})));
}

#[test]
fn what_fits_or_could_mean_two_things_is_left_alone() {
    for given in [
        json!({"text": "5", "mixed": "5", "anything": "5", "nothing": null}),
        json!({"text": "null", "count": "five", "ratio": "1,5", "on": "maybe", "kind": "facts"}),
        json!({"count": 3.5, "on": 2}),
        json!({"count": "3.5", "ratio": "inf", "numbers": "1,5"}),
        json!({"text": {"a": 1}, "count": {"n": 1}, "options": "[1]", "numbers": "a b"}),
        json!({"text": null, "options": "{broken"}),
        json!({"a-b": "both a_b and aB are meant"}),
        json!({"MaxResults": 1, "max_results": 2}),
        json!({"maxResults": 1, "max_results": 2}),
        json!({"unknown": 1}),
        json!([1]),
    ] {
        let mut args = given.clone();
        let said = coerce(&schema(), &mut args);
        assert_eq!((args, said), (given, vec![]));
    }
}

#[test]
fn an_object_that_welcomes_other_fields_keeps_them() {
    for more in [json!(true), json!({"type": "string"})] {
        let schema = json!({"type": "object", "properties": {"maxSize": {}}, "additionalProperties": more});
        let mut args = json!({"max_size": "1"});
        assert_eq!((coerce(&schema, &mut args), args), (vec![], json!({"max_size": "1"})));
    }
}

#[test]
fn schemas_without_end_and_odd_ones_do_no_harm() {
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
    let nested = json!({"type": "object", "properties": {"a": {"$ref": "#"}, "n": {"type": "integer"}}});
    let odd = json!({"type": 5, "properties": [], "items": 3, "enum": "x", "anyOf": {}, "required": "all"});
    for schema in [endless, nested, odd, json!(true), json!(null)] {
        let mut args = json!({"a": {"a": {"n": "1"}}, "b": [null, 1.0], "n": null});
        coerce(&schema, &mut args);
        assert!(args.is_object());
    }
    let mut deep = json!({"n": "1"});
    for _ in 0..100 {
        deep = json!({"a": deep});
    }
    coerce(&json!({"properties": {"a": {"$ref": "#"}, "n": {"type": "integer"}}}), &mut deep);
}

#[test]
fn a_schema_that_refers_to_itself_is_given_up_in_time() {
    let both = json!([{"$ref": "#"}, {"$ref": "#"}]);
    for schema in [
        json!({"type": "integer", "anyOf": both}),
        json!({"type": "array", "items": {"$ref": "#"}, "oneOf": both}),
        json!({"allOf": both, "type": "integer"}),
        json!({"properties": {"a": {"type": "string", "anyOf": both}}, "anyOf": both, "type": "object"}),
    ] {
        let (mut args, began) = (json!({"a": null, "b": "x".repeat(100_000)}), std::time::Instant::now());
        coerce(&schema, &mut args);
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{schema}: {:?}", began.elapsed());
    }
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
    fn name(&mut self) -> &'static str {
        ["text", "maxSize", "max_size", "tags", "n"][self.below(5) as usize]
    }
    fn schema(&mut self, depth: u8) -> Value {
        let kinds = ["string", "integer", "number", "boolean", "array", "object", "null"];
        match self.below(if depth > 2 { 5 } else { 11 }) {
            0..=4 => json!({"type": kinds[self.below(7) as usize]}),
            5 => json!({"enum": ["fact", "in_progress", 3, null]}),
            6 => json!({"type": ["null", kinds[self.below(6) as usize]]}),
            7 => json!({"anyOf": [self.schema(depth + 1), self.schema(depth + 1)]}),
            8 => json!({"type": "array", "items": self.schema(depth + 1)}),
            _ => {
                let fields: Map<String, Value> = (0..3).map(|_| (self.name().into(), self.schema(depth + 1))).collect();
                json!({"type": "object", "properties": fields, "additionalProperties": false})
            }
        }
    }
    fn value(&mut self, depth: u8) -> Value {
        match self.below(if depth > 3 { 12 } else { 15 }) {
            0 => Value::Null,
            1 => json!(3.0),
            2 => json!(-7),
            3 => json!(0.5),
            4 => json!("12"),
            5 => json!("a,b"),
            6 => json!("TRUE"),
            7 => json!("In-Progress"),
            8 => json!("[1, {\"n\": \"2\"}]"),
            9 => json!("{\"maxSize\": [\"x\"]}"),
            10 => json!(true),
            11 => json!(1),
            12 => (0..self.below(3)).map(|_| self.value(depth + 1)).collect(),
            _ => Value::Object((0..self.below(4)).map(|_| (self.name().into(), self.value(depth + 1))).collect()),
        }
    }
}

#[test]
fn names_of_other_apis_are_renamed() {
    let synonyms = [("cwd", "workingDir"), ("old_string", "oldText"), ("working_directory", "workingDir")];
    let rows = [
        (json!({"cwd": "a"}), json!({"workingDir": "a"})),
        (json!({"oldString": "a", "x": 1}), json!({"oldText": "a", "x": 1})),
        (json!({"workingDirectory": "a"}), json!({"workingDir": "a"})),
        // Which of two is meant is not clear: the check refuses the unknown one.
        (json!({"cwd": "a", "working_dir": "b"}), json!({"cwd": "a", "working_dir": "b"})),
        (json!({"x": {"cwd": "a"}}), json!({"x": {"cwd": "a"}})),
    ];
    for (mut given, expected) in rows {
        rename_synonyms(&synonyms, given.as_object_mut().unwrap());
        assert_eq!(given, expected);
    }
}

/// For random input: a valid value stays valid, every change is reported, and a second pass changes nothing.
#[test]
fn mending_spoils_nothing_and_comes_to_an_end() {
    let (mut dice, mut fitted, mut helped) = (Dice(88_172_645_463_325_252), 0, 0);
    for round in 0..20_000 {
        let (schema, given) = (dice.schema(0), dice.value(0));
        let check = crate::schema::Schema::compile(&schema).unwrap();
        let mut args = given.clone();
        let told = coerce(&schema, &mut args);
        let (before, after) = (check.is_valid(&given), check.is_valid(&args));
        assert!(!before || after, "round {round}: {schema} took {given} but not {args}: {told:?}");
        assert_eq!(told.is_empty(), args == given, "round {round}: {schema} {given} {args} {told:?}");
        let mut again = args.clone();
        assert!(!after || coerce(&schema, &mut again).is_empty(), "round {round}: {schema} {given} {args} {again}");
        fitted += u32::from(before);
        helped += u32::from(!before && after);
    }
    assert!(fitted > 1000 && helped > 1000, "{fitted} fitted, {helped} were helped");
}
