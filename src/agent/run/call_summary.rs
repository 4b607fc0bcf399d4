//! Summary of a run's calls for the person, for runs that end at a limit.

use crate::events::CallRecord;
use serde_json::Value;

/// Maximum number of tools listed.
const NAMED: usize = 10;
/// Maximum length of an outcome, in characters.
const OUTCOME: usize = 120;

/// A call and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallSummary {
    tool: String,
    outcome: String,
    failed: bool,
}

impl CallSummary {
    /// Summarises a call. `text` is its sentence for people, or its result.
    pub fn new(name: &str, arguments: &Value, text: &str, failed: bool) -> Self {
        let used_tool = ["tool_name", "tool"].iter().find_map(|key| arguments[*key].as_str());
        let tool = used_tool.filter(|_| name == "use_tool").unwrap_or(name).to_owned();
        let text = text.strip_prefix("Error: ").unwrap_or(text);
        let line = text.lines().next().unwrap_or_default().trim();
        let mut outcome: String = line.chars().take(OUTCOME).collect();
        if outcome.len() < line.len() {
            outcome.push('…');
        }
        Self { tool, outcome, failed }
    }

    pub fn of(record: &CallRecord) -> Self {
        let text = match (&record.say, &record.result) {
            (Some(say), _) => say.clone(),
            (None, Value::String(text)) if record.is_error => text.clone(),
            (None, _) => String::new(),
        };
        Self::new(&record.name, &record.arguments, &text, record.is_error)
    }
}

/// Describes the calls in sentences.
pub(crate) fn done_so_far(calls: &[CallSummary]) -> String {
    let listed = |failed| {
        let mut groups: Vec<(&str, u32, &str)> = vec![];
        for call in calls.iter().filter(|call| call.failed == failed) {
            match groups.iter_mut().find(|(tool, ..)| *tool == call.tool) {
                Some((_, count, outcome)) => (*count, *outcome) = (*count + 1, &call.outcome),
                None => groups.push((&call.tool, 1, &call.outcome)),
            }
        }
        let more = groups.len().saturating_sub(NAMED);
        let mut named: Vec<String> = groups.into_iter().take(NAMED).map(shown).collect();
        if more > 0 {
            named.push(format!("{more} more tools"));
        }
        named.join("; ")
    };
    match (listed(false), listed(true)) {
        (done, failed) if done.is_empty() && failed.is_empty() => "Nothing was done before that.".to_owned(),
        (done, failed) if failed.is_empty() => format!("Done before that: {done}."),
        (done, failed) if done.is_empty() => format!("Nothing was done before that. Failed: {failed}."),
        (done, failed) => format!("Done before that: {done}. Failed: {failed}."),
    }
}

fn shown((tool, count, outcome): (&str, u32, &str)) -> String {
    let outcome = outcome.trim_end_matches('.');
    match (count, outcome) {
        (1, "") => format!("`{tool}`"),
        (1, outcome) => format!("`{tool}` ({outcome})"),
        (n, "") => format!("`{tool}` {n} times"),
        (n, outcome) => format!("`{tool}` {n} times (last: {outcome})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_summarised_in_sentences() {
        let call = |name: &str, text: &str, failed| CallSummary::new(name, &json!({}), text, failed);
        let used = CallSummary::new("use_tool", &json!({"tool_name": "add_note"}), "Error: no room\nat all", true);
        let rows = [
            (vec![], "Nothing was done before that."),
            (vec![call("add_task", "I added “Milk”.", false)], "Done before that: `add_task` (I added “Milk”)."),
            (
                vec![call("look", "", false), call("gpio_write", "Pin 4 is on.", false), call("look", "", false)],
                "Done before that: `look` 2 times; `gpio_write` (Pin 4 is on).",
            ),
            (vec![used.clone()], "Nothing was done before that. Failed: `add_note` (no room)."),
            (
                vec![call("ping", "Pong.", false), used.clone(), used],
                "Done before that: `ping` (Pong). Failed: `add_note` 2 times (last: no room).",
            ),
        ];
        for (calls, told) in rows {
            assert_eq!(done_so_far(&calls), told);
        }
        let many: Vec<CallSummary> = (0..13).map(|n| call(&format!("t{n}"), &"x".repeat(200), false)).collect();
        let told = done_so_far(&many);
        assert!(told.ends_with("…); 3 more tools.") && told.len() < 10 * 140, "{told}");
    }
}
