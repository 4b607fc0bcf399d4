//! Formats tool results as sentences.

use crate::refusal;
use llm::{Message, ToolResult};
use serde_json::Value;
use text_kit::{capitalized, truncate};

/// Maximum length of a formatted result; it may be read aloud.
const MOST_CHARS: usize = 1500;
/// Maximum number of list entries.
const MOST_ENTRIES: usize = 10;

/// The results since the person's last message, in order.
pub(crate) fn pending(messages: &[Message]) -> Vec<&ToolResult> {
    let after = messages.iter().rposition(|m| matches!(m, Message::User(_))).map_or(0, |i| i + 1);
    let results = messages[after..].iter().filter_map(|m| match m {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.collect()
}

/// The answer from results: each result's sentence, else its formatted content.
pub(crate) fn sentence(results: &[&ToolResult]) -> String {
    let all: Vec<String> = results.iter().map(|r| one(r)).filter(|text| !text.is_empty()).collect();
    if all.is_empty() { "Done.".to_owned() } else { all.join("\n") }
}

fn one(result: &ToolResult) -> String {
    match result.say.as_deref().map(str::trim) {
        Some(say) if !say.is_empty() => say.to_owned(),
        _ if result.is_error => truncate(&refusal::for_people(&error_text(&result.content)), MOST_CHARS),
        _ => truncate(&plain(&result.content), MOST_CHARS),
    }
}

/// The text of an error, which may be wrapped in JSON or prefixed by its kind.
fn error_text(content: &str) -> String {
    let text = match serde_json::from_str::<Value>(content) {
        Ok(Value::Object(map)) => ["message", "error", "text"]
            .iter()
            .find_map(|key| match map.get(*key)? {
                Value::String(text) => Some(text.clone()),
                Value::Object(inner) => inner.get("message")?.as_str().map(str::to_owned),
                _ => None,
            })
            .unwrap_or_else(|| plain(content)),
        Ok(Value::String(text)) => text,
        _ => content.to_owned(),
    };
    let text = text.trim();
    let kinds = ["bad_args", "not_found", "denied", "unavailable", "failed", "Error", "error"];
    let led = kinds.iter().find_map(|kind| text.strip_prefix(kind)?.strip_prefix(':'));
    led.unwrap_or(text).trim().to_owned()
}

/// Text unchanged; JSON as lines.
fn plain(content: &str) -> String {
    match serde_json::from_str::<Value>(content) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => lines(&value, 0).join("\n"),
        Ok(Value::String(text)) => text,
        Ok(Value::Null) => String::new(),
        Ok(Value::Bool(yes)) => if yes { "Yes." } else { "No." }.to_owned(),
        _ => content.trim().to_owned(),
    }
}

/// A value as lines: fields as "name: value", entries with a dash, two levels deep.
fn lines(value: &Value, depth: usize) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let fields = map.iter().filter(|(key, v)| !v.is_null() && !is_id(key));
            fields
                .flat_map(|(key, value)| match value {
                    Value::Object(_) | Value::Array(_) if depth == 0 => {
                        let inner = lines(value, depth + 1);
                        let inner = inner.into_iter().map(|line| format!("  {line}"));
                        std::iter::once(format!("{}:", capitalized(&spaced(key)))).chain(inner).collect()
                    }
                    _ => vec![format!("{}: {}", capitalized(&spaced(key)), brief(value))],
                })
                .collect()
        }
        Value::Array(all) if all.is_empty() => vec!["Nothing.".to_owned()],
        Value::Array(all) => {
            let more = all.len().saturating_sub(MOST_ENTRIES);
            let told = all.iter().take(MOST_ENTRIES).map(|entry| format!("- {}", capitalized(&brief(entry))));
            told.chain((more > 0).then(|| format!("- … and {more} more"))).collect()
        }
        other => vec![brief(other)],
    }
}

/// A value in one line.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => all.iter().map(brief).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let told = ["content", "text", "name", "title"].iter().find_map(|key| map.get(*key)?.as_str());
            let fields = || {
                map.iter()
                    .filter(|(key, _)| !is_id(key))
                    .map(|(k, v)| format!("{} {}", spaced(k), brief(v)))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            told.map_or_else(fields, str::to_owned)
        }
    }
}

/// Whether a field holds an id, which people cannot use.
fn is_id(key: &str) -> bool {
    key == "id" || key.ends_with("Id") || key.ends_with("_id")
}

/// `freeBytes` and `free_bytes` as "free bytes".
pub(crate) fn spaced(key: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in key.chars() {
        if c == '_' || (c.is_uppercase() && lower) {
            out.push(' ');
        }
        lower = c.is_lowercase();
        out.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(content: &str, say: Option<&str>, is_error: bool) -> ToolResult {
        ToolResult {
            call_id: "reflex-1".into(),
            name: "t".into(),
            content: content.into(),
            say: say.map(str::to_owned),
            is_error,
        }
    }

    #[test]
    fn results_become_sentences() {
        for (content, say, is_error, wanted) in [
            ("{}", Some("Pin 17 is high."), false, "Pin 17 is high."),
            ("144", None, false, "144"),
            ("a text\n", None, false, "a text"),
            ("", None, false, "Done."),
            ("null", None, false, "Done."),
            ("true", None, false, "Yes."),
            ("\"a text\"", None, false, "a text"),
            (
                r#"{"freeBytes":12,"host_name":"hob","x":null,"runId":"7"}"#,
                None,
                false,
                "Free bytes: 12\nHost name: hob",
            ),
            (r#"{"memories":[{"id":"1","content":"Anna likes tea"}]}"#, None, false, "Memories:\n  - Anna likes tea"),
            (r#"[{"id":"1","level":3}]"#, None, false, "- Level 3"),
            ("[]", None, false, "Nothing."),
            ("pin 40 does not exist", None, true, "Pin 40 does not exist."),
            ("Error: 2 timers fit; give an id", Some("Which timer: pizza or tea?"), true, "Which timer: pizza or tea?"),
            ("denied: a viewer may not.", None, true, "A viewer may not."),
            (r#"{"code":"denied","message":"a viewer may not"}"#, None, true, "A viewer may not."),
            (r#"{"error":{"message":"no"}}"#, None, true, "No."),
            ("", None, true, refusal::NO_REASON),
        ] {
            assert_eq!(sentence(&[&result(content, say, is_error)]), wanted, "{content}");
        }
    }

    #[test]
    fn several_results_are_joined() {
        let (one, two) = (result("", Some("One."), false), result("", Some("Two."), false));
        assert_eq!(sentence(&[&one, &two]), "One.\nTwo.");
        let long = result(&"é".repeat(5000), None, false);
        assert_eq!(sentence(&[&long]).chars().count(), MOST_CHARS + 1);
    }

    #[test]
    fn only_results_after_the_last_words_count() {
        let tool = |say| Message::Tool(result("", Some(say), false));
        let user = || Message::user("x");
        assert_eq!(pending(&[user(), tool("a"), user()]).len(), 0);
        assert_eq!(pending(&[user(), tool("a"), user(), tool("b"), tool("c")]).len(), 2);
        assert_eq!(pending(&[]).len(), 0);
    }
}
