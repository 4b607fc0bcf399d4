//! Invalid arguments for every everyday tool: refused with a sentence, or harmless.

use crate::{
    everyday::{NOTHING, Person},
    harness::Hob,
    http::{Reply, Request},
    seed_names::CALLS,
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const GROUPS: &[&str] = &[
    "core",
    "tasks",
    "bookmarks",
    "notes",
    "calendar",
    "contacts",
    "notices",
    "customData",
    "finance",
    "goals",
    "state",
    "scheduler",
    "triggers",
    "textUtils",
    "dateTime",
    "conversion",
    "generation",
    "extraction",
    "validation",
    "listOps",
    "mathStats",
    "utilities",
];

/// Arguments of tools that the seeds do not name, where what is required does not do.
const OURS: &[(&str, &str)] = &[
    ("update_bookmark", r#"{"bookmarkId": "A", "title": "B"}"#),
    ("update_calendar_event", r#"{"eventId": "Regatta", "title": "Race"}"#),
    ("update_expense", r#"{"expenseId": "tram", "description": "bus"}"#),
    ("update_step", r#"{"stepId": "Learn to row", "title": "Learn to sail"}"#),
    ("update_trigger", r#"{"triggerId": "Bell", "enabled": true}"#),
    ("create_trigger", r#"{"name": "Bell", "type": "event", "config": {"topic": "pin:changed"}, "message": "Ding"}"#),
];

/// A tool, its schema, and valid arguments.
struct Target {
    name: String,
    risk: String,
    schema: Value,
    good: Map<String, Value>,
}

/// The everyday tools as they are listed.
fn targets(hob: &Hob) -> Vec<Target> {
    let seeds = CALLS.iter().map(|(head, arguments)| (head.split(" | ").next().unwrap(), *arguments));
    let calls: BTreeMap<&str, &str> = seeds.chain(OURS.iter().copied()).collect();
    let tools: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json"]).ok()).unwrap();
    let everyday = tools.into_iter().filter(|tool| GROUPS.contains(&tool["group"].as_str().unwrap()));
    let targets: Vec<Target> = everyday
        .map(|mut tool| {
            let name = tool["name"].as_str().unwrap().to_owned();
            // Records named by an earlier answer are any.
            let text = calls.get(&*name).unwrap_or(&"{}").replace('$', "");
            let (mut good, schema): (Map<String, Value>, _) =
                (serde_json::from_str(&text).unwrap(), tool["parameters"].take());
            for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                good.entry(field).or_insert_with(|| some(&schema["properties"][field]));
            }
            Target { name, risk: tool["risk"].as_str().unwrap().to_owned(), schema, good }
        })
        .collect();
    assert!(targets.len() >= 90, "{}", targets.len());
    targets
}

/// A value of a parameter's type.
fn some(schema: &Value) -> Value {
    match (&schema["enum"][0], schema["type"].as_str()) {
        (Value::Null, Some("integer" | "number")) => json!(1),
        (Value::Null, Some("boolean")) => json!(true),
        (Value::Null, Some("array")) => json!([]),
        (Value::Null, Some("object")) => json!({}),
        (Value::Null, _) => json!("x"),
        (first, _) => first.clone(),
    }
}

impl Target {
    fn properties(&self) -> impl Iterator<Item = &String> {
        self.schema["properties"].as_object().into_iter().flat_map(Map::keys)
    }

    fn with(&self, property: &str, value: Value) -> Value {
        let mut arguments = self.good.clone();
        arguments.insert(property.to_owned(), value);
        arguments.into()
    }
}

fn hostile() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let texts =
        ["", " \n\t", "NaN", "\u{0}", "💥é漢\u{202e}", "9999-12-31T23:59:59", "-9999-01-01", "%s {{x}} ${y} ' \" \\"];
    let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
    values.extend([
        "a ".repeat(60_000).into(),
        json!(null),
        json!(true),
        json!(-1),
        json!(0.5),
        json!(1e308),
        json!(-1e308),
        json!(i64::MIN),
        json!(u64::MAX),
        json!([]),
        json!({}),
        json!([null, {"a": []}, "b", 1e308]),
        json!({"op": "in", "value": {"type": "x"}}),
        deep,
    ]);
    values
}

/// How a reply is unacceptable, if it is.
fn fault(reply: &Reply, took: Duration) -> Option<String> {
    let text = reply.text();
    let short: String = text.chars().take(300).collect();
    if took > Duration::from_secs(20) {
        return Some(format!("took {took:?}: {short}"));
    }
    if reply.status == 200 {
        return reply.json()["data"]["say"]
            .as_str()
            .filter(|say| say.chars().count() > 2000)
            .map(|_| format!("says all: {short}"));
    }
    let json = reply.json();
    let message = json["error"]["message"].as_str().unwrap_or_default();
    let sentence = message.split(' ').count() >= 4 && message.len() <= 16 << 10;
    let expected = matches!(reply.status, 400 | 403 | 404 | 409 | 413 | 422);
    (!expected || !sentence || message.contains("panicked")).then(|| format!("{}: {short}", reply.status))
}

/// Makes these calls, some concurrently, and returns the failures.
fn faults(hob: &Hob, calls: &[(String, Value)], wrong: impl Fn(&Reply) -> bool + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = vec![];
        while let Some((tool, arguments)) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let reply = hob.call(tool, arguments.clone());
            let broken = fault(&reply, begun.elapsed());
            let broken = broken.or_else(|| wrong(&reply).then(|| format!("{}: {:.300}", reply.status, reply.text())));
            faults.extend(broken.map(|fault| format!("{tool} {:.200}\n    {fault}", arguments.to_string())));
        }
        faults
    };
    thread::scope(|scope| [(); 4].map(|()| scope.spawn(work)).into_iter().flat_map(|t| t.join().unwrap()).collect())
}

fn assert_none(faults: &[String], of: usize) {
    assert!(faults.is_empty(), "{} of {of} calls:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

#[test]
fn no_value_of_any_parameter_breaks_anything() {
    let mut hob = Hob::start();
    let values = hostile();
    let mut calls = vec![];
    for target in targets(&hob) {
        for property in target.properties() {
            calls.extend(values.iter().map(|value| (target.name.clone(), target.with(property, value.clone()))));
        }
    }
    assert!(calls.len() > 4000, "{}", calls.len());
    assert_none(&faults(&hob, &calls, |_| false), calls.len());
    hob.assert_alive();
}

#[test]
fn arguments_that_are_not_the_tool_s_are_refused() {
    let mut hob = Hob::start();
    let mut calls = vec![];
    for target in targets(&hob) {
        calls.push((target.name.clone(), target.with("qwertzuiop", json!(1))));
        calls.extend([json!("text"), json!([1]), json!(3)].map(|arguments| (target.name.clone(), arguments)));
        for required in target.schema["required"].as_array().into_iter().flatten() {
            let mut arguments = target.good.clone();
            arguments.remove(required.as_str().unwrap());
            calls.push((target.name.clone(), arguments.into()));
        }
    }
    assert_none(&faults(&hob, &calls, |reply| reply.status != 400), calls.len());
    for body in ["", "{", "[]", r#"{"arguments": {"title": "x"}"#, "\u{0}", r#"{"arguments": {"title": "\ud800"}}"#] {
        let reply = hob.admin("POST", "/api/v1/tools/add_task/execute").text(body).send();
        assert!((400..500).contains(&reply.status), "{body}: {}", reply.text());
    }
    let long = json!({"arguments": {"title": "x".repeat(20 << 20)}});
    let reply = hob.admin("POST", "/api/v1/tools/add_task/execute").json(&long).send();
    assert!([400, 413].contains(&reply.status), "{}: {:.300}", reply.status, reply.text());
    assert_eq!(hob.result("list_tasks", json!({}))["count"], 0);
    hob.assert_alive();
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut hob = Hob::start();
    let (mut unknown, mut nameless) = (vec![], vec![]);
    for target in targets(&hob) {
        // Arguments beyond the ones required may be refused first.
        for id in target.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if id.ends_with("Id") {
                // Rows are found in a table that is not there either.
                unknown.push((target.name.clone(), target.with(id, NOTHING.into())));
                nameless.push((target.name.clone(), target.with(id, "no-such-thing-anywhere".into())));
            }
        }
    }
    assert!(unknown.len() >= 20, "{}", unknown.len());
    assert_none(&faults(&hob, &unknown, |reply| reply.status != 404), unknown.len());
    assert_none(&faults(&hob, &nameless, |reply| reply.status != 404 && reply.status != 400), nameless.len());
    hob.assert_alive();
}

#[test]
fn viewers_look_and_strangers_do_not() {
    let hob = Hob::start();
    let vera = Person::new(&hob, "vera", "viewer");
    for target in targets(&hob) {
        let arguments = Value::from(target.good.clone());
        let reply = vera.call(&target.name, arguments.clone());
        match target.risk.as_str() {
            "observe" => assert_ne!(reply.status, 403, "{}: {}", target.name, reply.text()),
            _ => drop(reply.refusal(403, "denied")),
        }
        let path = format!("/api/v1/tools/{}/execute", target.name);
        let body = json!({"arguments": arguments});
        Request::new(hob.port, "POST", &path).json(&body).send().refusal(401, "unauthorized");
    }
}

/// A small schema whose validation would never end: each definition refers twice to the next.
pub fn endless_schema() -> serde_json::Value {
    let next = |n: usize| serde_json::json!({"$ref": format!("#/$defs/d{}", n + 1)});
    let mut all: serde_json::Map<String, serde_json::Value> =
        (0..40).map(|n| (format!("d{n}"), serde_json::json!({"allOf": [next(n), next(n)]}))).collect();
    all.insert("d40".into(), serde_json::json!({"type": "object"}));
    serde_json::json!({"type": "object", "$defs": all, "$ref": "#/$defs/d0"})
}
