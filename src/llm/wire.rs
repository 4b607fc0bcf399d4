//! Pieces of an answer as they arrive, joined into deltas.

use crate::{Delta, ToolCall, Usage, openai::usage};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// A chunk of a stream, or a whole answer: they differ in one word.
#[derive(Deserialize)]
pub(crate) struct Reply {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Fragment>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Fragment {
    content: Option<Value>,
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallFragment>>,
}

#[derive(Deserialize)]
struct CallFragment {
    index: Option<i64>,
    id: Option<String>,
    function: Option<FunctionFragment>,
}

#[derive(Deserialize)]
struct FunctionFragment {
    name: Option<String>,
    arguments: Option<Value>,
}

impl Fragment {
    /// How much text it brings.
    fn bytes(&self) -> usize {
        let content = self.content.as_ref().map_or(0, |c| text_of(c).len());
        let thinking = self.reasoning_content.as_ref().map_or(0, String::len);
        let arguments = |c: &CallFragment| match c.function.as_ref().and_then(|f| f.arguments.as_ref()) {
            Some(Value::String(text)) => text.len(),
            Some(other) => other.to_string().len(),
            None => 0,
        };
        content + thinking + self.tool_calls.iter().flatten().map(arguments).sum::<usize>()
    }
}

struct Open {
    index: Option<i64>,
    call: ToolCall,
}

/// What has come so far.
#[derive(Default)]
pub(crate) struct Pieces {
    open: Vec<Open>,
    finish: Option<String>,
    usage: Usage,
    begun: bool,
    done: bool,
    bytes: usize,
}

impl Pieces {
    /// Takes one reply and answers what can be said of it at once; calls wait until they are whole. The error is
    /// what the server says went wrong.
    pub fn take(&mut self, reply: Reply) -> Result<Vec<Delta>, String> {
        if let Some(error) = reply.error.filter(|e| !e.is_null()) {
            let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
            return Err(text.chars().take(300).collect());
        }
        if let Some(told) = reply.usage.filter(Value::is_object) {
            self.usage = usage(&told);
        }
        let mut said = vec![];
        for choice in reply.choices.into_iter().flatten().take(1) {
            self.finish = choice.finish_reason.or(self.finish.take());
            let Some(fragment) = choice.delta else { continue };
            self.bytes += fragment.bytes();
            if let Some(thinking) = fragment.reasoning_content.filter(|t| !t.is_empty()) {
                said.push(Delta::Thinking(thinking));
            }
            let text = fragment.content.as_ref().map(text_of).unwrap_or_default();
            if !text.is_empty() {
                said.push(Delta::Text(text));
            }
            for call in fragment.tool_calls.into_iter().flatten() {
                self.join(call);
            }
        }
        self.begun |= !said.is_empty() || !self.open.is_empty();
        Ok(said)
    }

    /// A fragment belongs to the call of its index. Servers have habits: some give every parallel call the same index, so
    /// another id begins another call; some give none, so the id alone decides; some repeat one id under several indexes.
    fn join(&mut self, fragment: CallFragment) {
        let id = fragment.id.filter(|id| !id.is_empty());
        let same = |o: &Open| {
            let by_index = fragment.index.is_none() || o.index.is_none() || fragment.index == o.index;
            let by_id = id.as_ref().is_none_or(|id| o.call.id.is_empty() || o.call.id == *id);
            by_index && by_id
        };
        let at = self.open.iter().rposition(same).unwrap_or_else(|| {
            let call = ToolCall { id: String::new(), name: String::new(), arguments: String::new() };
            self.open.push(Open { index: fragment.index, call });
            self.open.len() - 1
        });
        let call = &mut self.open[at].call;
        if let Some(id) = id {
            call.id = id;
        }
        let Some(function) = fragment.function else { return };
        if let Some(name) = function.name.filter(|n| *n != call.name) {
            call.name.push_str(&name);
        }
        match function.arguments {
            Some(Value::String(more)) => call.arguments.push_str(&more),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
    }

    /// How much has come, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether anything of an answer has come.
    pub fn begun(&self) -> bool {
        self.begun
    }

    /// The server said that this was all.
    pub fn told_done(&mut self) {
        self.done = true;
    }

    /// The calls and the end; `None` when the answer was cut off: neither a finish reason nor the end was told.
    pub fn finish(&mut self) -> Option<Vec<Delta>> {
        if self.finish.is_none() && !self.done {
            return None;
        }
        let mut given = HashSet::new();
        let calls = std::mem::take(&mut self.open).into_iter().enumerate().map(|(n, open)| {
            let mut call = open.call;
            if call.id.is_empty() || !given.insert(call.id.clone()) {
                call.id = format!("call_{}_{n}", tool::Id::new());
            }
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".into();
            }
            Delta::ToolCall(call)
        });
        let cut = self.finish.as_deref() == Some("length");
        Some(calls.chain([Delta::Done { cut, usage: self.usage }]).collect())
    }
}

/// Content is a string, or a list of parts of which the text counts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(replies: &[Value]) -> (String, Vec<(String, String, String)>, Option<bool>) {
        let mut pieces = Pieces::default();
        let mut deltas = vec![];
        for reply in replies {
            deltas.extend(pieces.take(serde_json::from_value(reply.clone()).unwrap()).unwrap());
        }
        let end = pieces.finish();
        let cut = end.as_ref().map(|_| ());
        deltas.extend(end.into_iter().flatten());
        let (mut text, mut calls, mut whole) = (String::new(), vec![], cut.map(|()| false));
        for delta in deltas {
            match delta {
                Delta::Text(t) => text += &t,
                Delta::Thinking(_) => {}
                Delta::ToolCall(c) => calls.push((c.id, c.name, c.arguments)),
                Delta::Done { cut, .. } => whole = Some(cut),
            }
        }
        (text, calls, whole)
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"delta": delta}]})
    }
    fn call(index: Value, id: Value, name: Value, arguments: Value) -> Value {
        delta(json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}))
    }
    fn end(reason: &str) -> Value {
        json!({"choices": [{"delta": {}, "finish_reason": reason}]})
    }
    fn triple(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn habits_of_servers() {
        let n = Value::Null;
        // The usual: text, then two parallel calls in interleaved fragments.
        let usual = [
            delta(json!({"role": "assistant", "content": "Hel"})),
            delta(json!({"content": "lo"})),
            call(0.into(), "a".into(), "f".into(), "".into()),
            call(1.into(), "b".into(), "g".into(), "{".into()),
            call(0.into(), n.clone(), n.clone(), "{\"x\":1}".into()),
            call(1.into(), n.clone(), n.clone(), "}".into()),
            end("tool_calls"),
            json!({"choices": [], "usage": {"prompt_tokens": 3}}),
        ];
        let two = vec![triple("a", "f", "{\"x\":1}"), triple("b", "g", "{}")];
        assert_eq!(run(&usual), ("Hello".into(), two.clone(), Some(false)));

        // Every call under index 0, told apart by id; calls although the reason says stop.
        let same_index = [
            call(0.into(), "a".into(), "f".into(), json!({"x": 1})),
            call(0.into(), "b".into(), "g".into(), "{}".into()),
            end("stop"),
        ];
        assert_eq!(run(&same_index), ("".into(), two.clone(), Some(false)));

        // No index at all, id repeated on each fragment.
        let no_index = [
            call(n.clone(), "a".into(), "f".into(), "{\"x\":".into()),
            call(n.clone(), "a".into(), "f".into(), "1}".into()),
            call(n.clone(), "b".into(), "g".into(), n.clone()),
            end("tool_calls"),
        ];
        assert_eq!(run(&no_index), ("".into(), two, Some(false)));

        // One id under two indexes: two calls, the second with an id of its own.
        let same_id = [
            call(0.into(), "a".into(), "f".into(), "{}".into()),
            call(1.into(), "a".into(), "g".into(), "{}".into()),
            end("tool_calls"),
        ];
        let calls = run(&same_id).1;
        assert_eq!((calls.len(), calls[0].1.as_str(), calls[1].1.as_str()), (2, "f", "g"));
        assert_ne!(calls[0].0, calls[1].0);

        let odd = [json!({"choices": null}), call((-1).into(), "a".into(), "f".into(), "{}".into()), end("stop")];
        assert_eq!(run(&odd).1.len(), 1);
        assert_eq!(run(&[delta(json!({"content": "cut"}))]).2, None, "cut off");
        assert_eq!(run(&[delta(json!({"content": "long"})), end("length")]).2, Some(true));
        let whole =
            [json!({"choices": [{"message": {"content": [{"type": "text", "text": "hi"}]}, "finish_reason": "stop"}]})];
        assert_eq!(run(&whole).0, "hi");
    }

    #[test]
    fn an_error_in_the_stream_is_told() {
        let reply = serde_json::from_value(json!({"error": {"message": "overloaded", "code": 529}})).unwrap();
        assert_eq!(Pieces::default().take(reply), Err("overloaded".into()));
    }
}
