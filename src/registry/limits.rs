//! Limits of single tools: how many results one call may ask for, and how many calls a minute may make.

use serde_json::{Map, Value};

/// How many results a call may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The tool's canonical name.
    pub tool: &'static str,
    /// The parameter that says how many.
    pub parameter: &'static str,
    /// The most it may say.
    pub most: u64,
    /// What it is when it is not given.
    pub default: u64,
}

const fn limit(tool: &'static str, parameter: &'static str, most: u64, default: u64) -> Limit {
    Limit { tool, parameter, most, default }
}

/// Sorted by tool.
const LIMITS: &[Limit] = &[
    limit("get_next_actions", "limit", 20, 5),
    limit("get_task_history", "limit", 50, 10),
    limit("git_log", "limit", 50, 10),
    limit("list_bookmarks", "limit", 50, 20),
    limit("list_calendar_events", "limit", 50, 20),
    limit("list_contacts", "limit", 50, 20),
    limit("list_custom_records", "limit", 50, 20),
    limit("list_emails", "limit", 50, 20),
    limit("list_goals", "limit", 30, 10),
    limit("list_memories", "limit", 50, 20),
    limit("list_notes", "limit", 50, 20),
    limit("list_tasks", "limit", 50, 20),
    limit("query_expenses", "limit", 100, 50),
    limit("recall", "limit", 50, 10),
    limit("search_custom_records", "limit", 50, 20),
    limit("search_emails", "limit", 100, 50),
    limit("search_files", "maxResults", 100, 50),
    limit("search_web", "maxResults", 20, 10),
    limit("semantic_search", "topK", 50, 10),
];

/// Calls one person may make of a tool in a minute.
const PER_MINUTE: &[(&str, u32)] = &[
    ("compile_code", 5),
    ("execute_javascript", 10),
    ("execute_python", 10),
    ("execute_shell", 5),
    ("package_manager", 3),
    ("search_web", 20),
];

/// How many results a call of this tool may ask for, by its canonical name; `None` where nothing is said.
pub fn limit_of(tool: &str) -> Option<&'static Limit> {
    LIMITS.binary_search_by_key(&tool, |l| l.tool).ok().map(|at| &LIMITS[at])
}

/// How many calls of this tool one person may make in a minute, by its canonical name; `None` where only the limit on all
/// calls counts.
pub fn per_minute(tool: &str) -> Option<u32> {
    PER_MINUTE.binary_search_by_key(&tool, |l| l.0).ok().map(|at| PER_MINUTE[at].1)
}

/// Holds the arguments of a call to the limit of the tool (its canonical name): too many becomes the most, fewer than one
/// becomes one, nothing becomes the default. Answers what was changed of what the caller said, as sentences. What is no
/// number is left for the schema to judge.
pub(crate) fn apply(tool: &str, args: &mut Value) -> Vec<String> {
    let (Some(limit), Some(fields)) = (limit_of(tool), args.as_object_mut()) else { return vec![] };
    let Limit { parameter, most, default, .. } = *limit;
    let Some(written) = written_as(parameter, fields) else {
        fields.insert(parameter.into(), default.into());
        return vec![];
    };
    let Some(number) = fields.get(&written).and_then(number) else { return vec![] };
    let (held, why) = match number {
        n if n > most as f64 => (most, "is the most"),
        n if n < 1.0 => (1, "is the least"),
        _ => return vec![],
    };
    fields.insert(written, held.into());
    vec![format!("`{parameter}` was {number} and became {held}, which {why}")]
}

/// The key the parameter is given under: itself, else one that only case and underscores tell from it, which the check
/// against the schema will put right. A null counts as nothing.
fn written_as(parameter: &str, fields: &mut Map<String, Value>) -> Option<String> {
    if fields.get(parameter).is_some_and(Value::is_null) {
        fields.remove(parameter);
    }
    if fields.contains_key(parameter) {
        return Some(parameter.to_owned());
    }
    let mut alike = fields.iter().filter(|(key, value)| !value.is_null() && crate::validate::alike(key, parameter));
    alike.next().map(|(key, _)| key.clone()).filter(|_| alike.next().is_none())
}

/// A number, also when it is written as text.
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
    fn the_tables_are_sorted_so_that_they_can_be_searched() {
        assert!(LIMITS.is_sorted_by(|a, b| a.tool < b.tool) && PER_MINUTE.is_sorted_by(|a, b| a.0 < b.0));
        assert!(LIMITS.iter().all(|l| limit_of(l.tool) == Some(l) && l.default <= l.most && l.default > 0));
        assert_eq!(LIMITS.len(), 19);
        for (tool, most) in [("execute_javascript", Some(10)), ("package_manager", Some(3)), ("remember", None)] {
            assert_eq!(per_minute(tool), most, "{tool}");
        }
        assert_eq!(limit_of("remember"), None);
    }

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
        for (tool, given, expected, told) in rows {
            let mut args = given.clone();
            let said = apply(tool, &mut args);
            assert_eq!(args, expected, "{tool} {given}");
            assert_eq!(said.is_empty(), told.is_empty(), "{tool} {given}: {said:?}");
            assert!(said.iter().all(|s| s.contains(told)), "{tool} {given}: {said:?}");
        }
    }
}
