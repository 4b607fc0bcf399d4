//! Routes whose types name a secret declare that they carry one.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Words in the names of fields that hold a secret.
const WORDS: [&str; 10] =
    ["key", "keys", "token", "password", "passphrase", "secret", "secrets", "credential", "credentials", "auth"];

/// The words of a name: `apiKey`, `api_key` and `api-key` alike.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
    }
    words
}

/// Whether a value of this schema may hold text.
fn holds_text(schema: &Value) -> bool {
    let types = match &schema["type"] {
        Value::Array(all) => all.clone(),
        Value::Null => return true,
        one => vec![one.clone()],
    };
    types.iter().any(|t| ["string", "object", "array"].iter().any(|text| t == text))
}

/// The fields of a schema that sound like secrets and may hold text.
fn secrets(schema: &Value, all: &Value, seen: &mut BTreeSet<String>, found: &mut BTreeSet<String>) {
    if let Some(path) = schema["$ref"].as_str() {
        if seen.insert(path.to_owned()) {
            secrets(all.pointer(path.trim_start_matches('#')).unwrap_or(&Value::Null), all, seen, found);
        }
        return;
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if words(name).iter().any(|word| WORDS.contains(&word.as_str())) && holds_text(field) {
            found.insert(name.clone());
        }
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|inner| secrets(inner, all, seen, found)),
        Value::Array(items) => items.iter().for_each(|inner| secrets(inner, all, seen, found)),
        _ => {}
    }
}

/// The routes of a document that carry secrets without declaring it. `access` returns whether a route declares it,
/// and its fields that only sound like secrets.
fn silent(document: &Value, access: impl Fn(&str, &str) -> (bool, Vec<&'static str>)) -> Vec<String> {
    let mut wrong = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let mut found = BTreeSet::new();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let named = json!({"properties": {parameter["name"].as_str().unwrap(): parameter["schema"]}});
                secrets(&named, document, &mut BTreeSet::new(), &mut found);
            }
            for part in ["requestBody", "responses"] {
                secrets(&operation[part], document, &mut BTreeSet::new(), &mut found);
            }
            let (says, harmless) = access(path, method);
            found.retain(|field| !harmless.contains(&field.as_str()));
            if !found.is_empty() && !says {
                wrong.push(format!(
                    "{method} {path} carries {found:?}: add `.secret()` to its route, or `.harmless(…)`"
                ));
            }
        }
    }
    wrong
}

#[test]
fn a_route_that_takes_or_answers_a_secret_says_so() {
    let routes = crate::routes();
    let document = routes.document(json!({}));
    let access = |path: &str, method: &str| {
        let mut all = routes.routes.iter();
        let route = all.find(|r| r.path.replace("{*", "{") == path && r.method == method).unwrap();
        (route.facts.secret, route.harmless.clone())
    };
    assert_eq!(silent(&document, access), Vec::<String>::new());
}

#[test]
fn every_route_says_which_token_scope_it_needs() {
    let forgot = |route: &&super::Route| route.facts.scope.is_none() && !route.facts.open;
    let routes = crate::routes().routes;
    let silent: Vec<String> = routes.iter().filter(forgot).map(|r| format!("{} {}", r.method, r.path)).collect();
    assert!(silent.is_empty(), "add `.scope(…)` to {silent:?}");
}

#[test]
fn a_route_that_takes_a_file_says_how_large() {
    let document = crate::routes().document(json!({}));
    for route in crate::routes().routes {
        let body = &document["paths"][route.path.replace("{*", "{")][route.method]["requestBody"]["content"];
        if body.get("application/octet-stream").is_some() {
            let default = Some(super::DEFAULT_MAX_BODY);
            assert_ne!(route.facts.max_body, default, "add `.max_body(…)` to {} {}", route.method, route.path);
        }
    }
}

#[test]
fn a_route_that_forgot_is_found() {
    let field = |name: &str, schema: Value| json!({"schema": {"type": "object", "properties": {name: schema}}});
    let text = json!({"type": "string"});
    for (name, schema, secret) in [
        ("key", text.clone(), true),
        ("apiKey", text.clone(), true),
        ("current_password", json!({"type": ["string", "null"]}), true),
        ("inner", json!({"type": "object", "properties": {"token": text}}), true),
        ("list", json!({"type": "array", "items": {"$ref": "#/components/schemas/Deep"}}), true),
        ("hasKey", json!({"type": "boolean"}), false),
        ("maxTokens", json!({"type": "integer"}), false),
        ("keyboard", text.clone(), false),
        ("name", text.clone(), false),
    ] {
        for part in ["requestBody", "responses"] {
            let operation = json!({part: {"200": {"content": {"application/json": field(name, schema.clone())}}}});
            let deep = json!({"properties": {"passphrase": text}});
            let document = json!({"paths": {"/x": {"put": operation}}, "components": {"schemas": {"Deep": deep}}});
            assert_eq!(silent(&document, |_, _| (false, vec![])).is_empty(), !secret, "{part} {name}");
            assert!(silent(&document, |_, _| (true, vec![])).is_empty(), "{part} {name}");
        }
    }
}
