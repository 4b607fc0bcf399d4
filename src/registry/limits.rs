//! Limits how many results one call may ask for.

use serde_json::{Map, Value};
use tool::PageSize;

/// Limits how many results a call asks for: a larger number becomes the maximum, a smaller one than 1 becomes 1, none
/// becomes the default. Returns the changes as sentences. Anything but a number is left for the schema to judge.
pub(crate) fn apply(page: Option<PageSize>, args: &mut Value) -> Vec<String> {
    let (Some(page), Some(fields)) = (page, args.as_object_mut()) else { return vec![] };
    let PageSize { parameter, default, max } = page;
    let Some(written) = written_as(parameter, fields) else {
        fields.insert(parameter.into(), default.into());
        return vec![];
    };
    let Some(number) = fields.get(&written).and_then(number) else { return vec![] };
    let (limited, why) = match number {
        n if n > f64::from(max) => (max, "is the most"),
        n if n < 1.0 => (1, "is the least"),
        _ => return vec![],
    };
    fields.insert(written, limited.into());
    vec![format!("`{parameter}` was {number} and became {limited}, which {why}")]
}

/// The key of the parameter in the arguments: itself, else the only one that differs in case and underscores, which the check
/// against the schema corrects. A null counts as absent.
fn written_as(parameter: &str, fields: &mut Map<String, Value>) -> Option<String> {
    if fields.get(parameter).is_some_and(Value::is_null) {
        fields.remove(parameter);
    }
    if fields.contains_key(parameter) {
        return Some(parameter.to_owned());
    }
    let mut alike = fields.iter().filter(|(key, value)| !value.is_null() && crate::coerce::alike(key, parameter));
    alike.next().map(|(key, _)| key.clone()).filter(|_| alike.next().is_none())
}

/// A number, also in a string.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        other => other.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_held_to_the_limit() {
        let rows = [
            ("list_tasks", json!({}), json!({"limit": 20}), ""),
            ("list_tasks", json!({"limit": null}), json!({"limit": 20}), ""),
            ("list_tasks", json!({"limit": 7, "status": "pending"}), json!({"limit": 7, "status": "pending"}), ""),
            ("list_tasks", json!({"limit": 50}), json!({"limit": 50}), ""),
            (
                "list_tasks",
                json!({"limit": 51}),
                json!({"limit": 50}),
                "`limit` was 51 and became 50, which is the most",
            ),
            ("list_tasks", json!({"limit": "500"}), json!({"limit": 50}), "was 500 and became 50"),
            ("list_tasks", json!({"limit": " 7 "}), json!({"limit": " 7 "}), ""),
            ("list_tasks", json!({"limit": 1e12}), json!({"limit": 50}), "became 50"),
            ("list_tasks", json!({"limit": 0}), json!({"limit": 1}), "`limit` was 0 and became 1, which is the least"),
            ("list_tasks", json!({"limit": "-3"}), json!({"limit": 1}), "became 1"),
            ("list_tasks", json!({"limit": "many"}), json!({"limit": "many"}), ""),
            ("list_tasks", json!({"limit": "inf"}), json!({"limit": "inf"}), ""),
            ("list_tasks", json!({"limit": [1]}), json!({"limit": [1]}), ""),
            (
                "search_web",
                json!({"query": "x", "max_results": 99}),
                json!({"query": "x", "max_results": 20}),
                "became 20",
            ),
            (
                "search_web",
                json!({"MaxResults": 2, "max_results": 3}),
                json!({"MaxResults": 2, "max_results": 3, "maxResults": 10}),
                "",
            ),
            ("semantic_search", json!({"query": "x"}), json!({"query": "x", "topK": 10}), ""),
            ("remember", json!({"content": "x"}), json!({"content": "x"}), ""),
            ("list_tasks", json!([1]), json!([1]), ""),
        ];
        let page = |tool| match tool {
            "list_tasks" => Some(PageSize { parameter: "limit", default: 20, max: 50 }),
            "search_web" => Some(PageSize { parameter: "maxResults", default: 10, max: 20 }),
            "semantic_search" => Some(PageSize { parameter: "topK", default: 10, max: 50 }),
            _ => None,
        };
        for (tool, given, expected, told) in rows {
            let mut args = given.clone();
            let said = apply(page(tool), &mut args);
            assert_eq!(args, expected, "{tool} {given}");
            assert_eq!(said.is_empty(), told.is_empty(), "{tool} {given}: {said:?}");
            assert!(said.iter().all(|s| s.contains(told)), "{tool} {given}: {said:?}");
        }
    }
}
