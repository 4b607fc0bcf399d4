//! Hob's own calls in runs over conversations that a client stores, which the client never sees.

use llm::{Message, ToolCall, Turn};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use tool::{Cx, Label, UserId};

/// Maximum number of continuations, and of their bytes in all.
const MAX_CONTINUATIONS: usize = 200;
const MAX_BYTES: usize = 2 << 20;

/// Messages of runs that ended with calls for the client to make. The client's copy of the conversation lacks Hob's own calls,
/// and a model that does not see them makes them again; so they are inserted again when the client sends the results. The
/// cache is bounded and in memory: after a restart, or for a late client, the model reads what the client sent, which taints.
#[derive(Default)]
pub(crate) struct ContinuationCache(Mutex<VecDeque<Continuation>>);

/// The messages of one such run.
struct Continuation {
    user: UserId,
    /// `Outside` when the run was tainted; it taints the run that continues.
    label: Label,
    /// Ids of the calls handed over to the client.
    calls: Vec<String>,
    /// Everything the run added, with the turn of those calls last.
    messages: Vec<Message>,
    bytes: usize,
}

impl Continuation {
    fn is_of(&self, user: UserId, calls: &[ToolCall]) -> bool {
        self.user == user && calls.iter().any(|call| self.calls.contains(&call.id))
    }
}

impl ContinuationCache {
    /// Stores the messages of a run that hands calls over.
    pub fn add(&self, cx: &Cx, handed_over: &[ToolCall], messages: Vec<Message>) {
        let bytes = messages.iter().map(bytes_of).sum();
        let calls = handed_over.iter().map(|c| c.id.clone()).collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(Continuation { user: cx.user(), label: cx.label(), calls, messages, bytes });
        while all.len() > MAX_CONTINUATIONS || all.iter().map(|a| a.bytes).sum::<usize>() > MAX_BYTES {
            all.pop_front();
        }
    }

    /// Whether the messages around these calls are cached.
    pub fn has(&self, user: UserId, calls: &[ToolCall]) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|c| c.is_of(user, calls))
    }

    /// The id of the newest call handed over with this tool and these arguments that is not in `used`.
    pub fn id_of(&self, user: UserId, name: &str, arguments: &Value, used: &[String]) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = essential(arguments);
        let same = |call: &&ToolCall| {
            call.name == name
                && !used.contains(&call.id)
                && serde_json::from_str(&call.arguments).is_ok_and(|own| essential(&own) == expected)
        };
        let matching = |continuation: &Continuation| {
            let turn = continuation.messages.iter().rev().find_map(|message| match message {
                Message::Assistant(turn) => Some(turn),
                _ => None,
            })?;
            turn.tool_calls.iter().filter(|call| continuation.calls.contains(&call.id)).find(same).map(|c| c.id.clone())
        };
        all.iter().rev().filter(|c| c.user == user).find_map(matching)
    }

    /// Inserts the cached messages of Hob's own calls into the client's history. Cached messages and results of the client's
    /// tools taint as far as they are from outside.
    pub fn restore(&self, cx: &Cx, history: Vec<Message>) -> Vec<Message> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut whole = Vec::with_capacity(history.len());
        for message in history {
            let continuation = match &message {
                Message::Assistant(Turn { tool_calls, .. }) if !tool_calls.is_empty() => {
                    all.iter().find(|c| c.is_of(cx.user(), tool_calls))
                }
                // Results of the client's tools may come from anywhere.
                Message::Tool(_) => {
                    cx.taint(Label::Outside);
                    None
                }
                _ => None,
            };
            match continuation {
                Some(continuation) => {
                    cx.taint(continuation.label);
                    whole.extend(continuation.messages.iter().cloned());
                }
                None => whole.push(message),
            }
        }
        whole
    }
}

/// Arguments without the differences that clients introduce: Home Assistant omits empty values, and parses lists and objects
/// that a model wrote as text.
fn essential(arguments: &Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), essential(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(essential).collect(),
        Value::String(text) if text.starts_with(['[', '{']) => {
            serde_json::from_str(text).map_or_else(|_| arguments.clone(), |read| essential(&read))
        }
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

fn bytes_of(message: &Message) -> usize {
    match message {
        Message::System(text) => text.len(),
        Message::User(said) => said.text().len(),
        Message::Assistant(Turn { content, tool_calls, .. }) => {
            content.len() + tool_calls.iter().map(|c| c.name.len() + c.arguments.len()).sum::<usize>()
        }
        Message::Tool(result) => result.content.len() + result.say.as_ref().map_or(0, String::len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_known_by_what_callers_leave_of_them() {
        let own = json!({"name": "lamp", "area": "", "level": 0, "list": "[1, {\"a\": null}]", "deep": {"x": false}});
        assert_eq!(essential(&own), json!({"name": "lamp", "list": [1, {}]}));
        assert_eq!(essential(&json!({"name": "lamp", "list": [1, {}]})), essential(&own));
        assert_ne!(essential(&json!({"name": "lamp"})), essential(&own));
        assert_eq!(essential(&json!("[not a list")), json!("[not a list"));
    }
}
