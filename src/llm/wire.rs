//! Responses of OpenAI's chat completions: joins fragments into deltas.

use crate::{
    Delta, Endpoint, ProviderState, ToolCall, Usage, calls,
    error_response::{ErrorKind, Failure},
    message::tokens,
    parts,
    reader::{self, Reader},
};
use serde_json::{Map, Value, json};

struct Open {
    index: Option<i64>,
    call: ToolCall,
    /// Provider state of the call (Gemini through its OpenAI-compatible API).
    extra: Option<Value>,
}

/// Accumulates a response.
#[derive(Default)]
pub(crate) struct Pieces {
    provider: String,
    model: String,
    /// Whether reasoning must be sent back.
    reasoning_back: bool,
    thoughts: String,
    /// Structured reasoning, which OpenRouter wants back if its providers do.
    details: Vec<Value>,
    open: Vec<Open>,
    finish: Option<String>,
    usage: Usage,
    said: bool,
    done: bool,
    bytes: usize,
}

impl Pieces {
    pub fn new(endpoint: &Endpoint) -> Self {
        Self {
            provider: endpoint.provider.clone(),
            model: endpoint.model.clone(),
            reasoning_back: endpoint.quirks.reasoning_back,
            ..Self::default()
        }
    }

    fn fragment(&mut self, fragment: &Value, said: &mut Vec<Delta>) {
        // There are two names for it, and some servers send both.
        let thinking = ["reasoning_content", "reasoning"].iter().find_map(|name| fragment[*name].as_str());
        if let Some(thinking) = thinking {
            self.think(thinking, said);
        }
        match &fragment["content"] {
            Value::String(text) => self.say(text, said),
            Value::Array(parts) => {
                for part in parts {
                    match &part["thinking"] {
                        Value::String(thinking) => self.think(thinking, said),
                        // Mistral nests reasoning within a part.
                        Value::Array(inner) => {
                            inner.iter().filter_map(|p| p["text"].as_str()).for_each(|t| self.think(t, said));
                        }
                        _ => self.say(part["text"].as_str().unwrap_or_default(), said),
                    }
                }
            }
            _ => {}
        }
        for detail in fragment["reasoning_details"].as_array().into_iter().flatten() {
            self.detail(detail);
        }
        if let Some(refusal) = fragment["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.bytes += refusal.len();
            self.said = true;
            said.push(Delta::Refusal(refusal.to_owned()));
        }
        for image in fragment["images"].as_array().into_iter().flatten() {
            let url = image["image_url"]["url"].as_str().and_then(parts::data_url);
            said.extend(url.and_then(|(media_type, data)| parts::decode_media(media_type, data)).map(Delta::Media));
        }
        for call in fragment["tool_calls"].as_array().into_iter().flatten() {
            self.join(call);
        }
    }

    fn say(&mut self, text: &str, said: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.bytes += text.len();
            self.said = true;
            said.push(Delta::Text(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, said: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.bytes += text.len();
            if self.reasoning_back {
                self.thoughts.push_str(text);
            }
            said.push(Delta::Thinking(text.to_owned()));
        }
    }

    /// Joins fragments of a reasoning part by index and type: texts are appended, other fields set.
    fn detail(&mut self, fragment: &Value) {
        let Some(fragment) = fragment.as_object() else { return };
        let size = |value: &Value| match value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            _ => 0,
        };
        self.bytes += fragment.values().map(size).sum::<usize>();
        let same = |have: &&mut Value| {
            fragment.contains_key("index") && ["index", "type"].iter().all(|w| fragment.get(*w) == have.get(*w))
        };
        let Some(Value::Object(have)) = self.details.last_mut().filter(same) else {
            self.bytes += calls::EACH + fragment.keys().map(String::len).sum::<usize>();
            return self.details.push(fragment.clone().into());
        };
        for (word, value) in fragment.iter().filter(|(_, value)| !value.is_null()) {
            match (have.get_mut(word), value) {
                (Some(Value::String(text)), Value::String(more)) if word == "text" || word == "summary" => {
                    text.push_str(more)
                }
                _ => {
                    if have.insert(word.clone(), value.clone()).is_none() {
                        self.bytes += calls::EACH + word.len();
                    }
                }
            }
        }
    }

    /// Adds a fragment to the call of its index. Servers deviate: some give every parallel call the same index, so
    /// another id starts another call; some give none, so the id decides; some repeat one id under several indexes.
    fn join(&mut self, fragment: &Value) {
        let index = fragment["index"].as_i64();
        let id = fragment["id"].as_str().filter(|id| !id.is_empty());
        let same = |o: &Open| {
            let by_index = index.is_none() || o.index.is_none() || index == o.index;
            let by_id = id.is_none_or(|id| o.call.id.is_empty() || o.call.id == id);
            by_index && by_id
        };
        let at = self.open.iter().rposition(same).unwrap_or_else(|| {
            let call = ToolCall { id: String::new(), name: String::new(), arguments: String::new() };
            self.bytes += calls::EACH;
            self.open.push(Open { index, call, extra: None });
            self.open.len() - 1
        });
        let open = &mut self.open[at];
        if let Some(id) = id {
            self.bytes += id.len().saturating_sub(open.call.id.len());
            open.call.id = id.to_owned();
        }
        // An empty signature is rejected when sent back.
        let worth = |extra: &&Value| !extra.is_null() && extra["google"]["thought_signature"] != "";
        if let Some(extra) = fragment.get("extra_content").filter(worth) {
            self.bytes += extra.to_string().len();
            open.extra = Some(extra.clone());
        }
        let call = &mut open.call;
        let before = call.name.len() + call.arguments.len();
        if let Some(name) = fragment["function"]["name"].as_str().filter(|n| *n != call.name) {
            call.name.push_str(name);
        }
        match &fragment["function"]["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            Value::Null => {}
            whole => call.arguments = whole.to_string(),
        }
        self.bytes += (call.name.len() + call.arguments.len()).saturating_sub(before);
    }

    fn kept(&mut self) -> Option<ProviderState> {
        let extra: Map<String, Value> = self
            .open
            .iter_mut()
            .enumerate()
            .filter_map(|(n, open)| Some((n.to_string(), open.extra.take()?)))
            .collect();
        if self.thoughts.is_empty() && self.details.is_empty() && extra.is_empty() {
            return None;
        }
        let mut value = json!({"model": self.model});
        if !self.thoughts.is_empty() {
            value["reasoning_content"] = std::mem::take(&mut self.thoughts).into();
        }
        if !self.details.is_empty() {
            value["reasoning_details"] = std::mem::take(&mut self.details).into();
        }
        if !extra.is_empty() {
            value["extra"] = extra.into();
        }
        Some(ProviderState { provider: self.provider.clone(), value })
    }
}

impl Reader for Pieces {
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure> {
        let failed = event.get("error").is_some_and(|e| !e.is_null());
        if failed || event["object"] == "error" {
            return Err(Failure::of(&event));
        }
        if event["usage"].is_object() {
            self.usage = usage(&event["usage"]);
        }
        let mut said = vec![];
        // Of several choices the first by index.
        let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
        if let Some(choice) = event["choices"].as_array().and_then(|all| all.iter().find(is_first)) {
            if let Some(reason) = choice["finish_reason"].as_str().filter(|r| !r.is_empty()) {
                self.finish = Some(reason.to_owned());
            }
            if let Some(error) = choice.get("error").filter(|e| !e.is_null()) {
                return Err(Failure::of(error));
            }
            // `message` instead of `delta` marks a complete response, even without a finish reason.
            self.done |= choice["message"].is_object();
            for word in ["delta", "message"] {
                self.fragment(&choice[word], &mut said);
            }
        }
        Ok(said)
    }

    fn on_done_marker(&mut self) {
        self.done = true;
    }

    fn holds(&self) -> bool {
        !self.open.is_empty()
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure> {
        if self.finish.is_none() && !self.done {
            return Ok(None);
        }
        let mut rest = vec![];
        match self.finish.as_deref() {
            Some("content_filter") if self.open.is_empty() => {
                rest.extend(reader::filtered(self.said, "its content filter")?)
            }
            Some("insufficient_system_resource" | "error") => {
                return Err(Failure::new(ErrorKind::Server, "it broke off the answer by itself"));
            }
            _ => {}
        }
        let kept = self.kept();
        rest.extend(calls::finished(self.open.drain(..).map(|open| open.call)).into_iter().map(Delta::ToolCall));
        rest.extend(kept.map(Delta::Keep));
        let cut = matches!(self.finish.as_deref(), Some("length" | "max_tokens" | "model_length"));
        rest.push(Delta::Done { cut, usage: self.usage });
        Ok(Some(rest))
    }
}

/// Token usage as reported by the server.
fn usage(told: &Value) -> Usage {
    let n = |v: &Value| tokens(v).unwrap_or(0);
    let (prompt_tokens, completion_tokens) = (n(&told["prompt_tokens"]), n(&told["completion_tokens"]));
    let total = tokens(&told["total_tokens"]);
    // xAI includes reasoning only in the total.
    let completion_tokens = completion_tokens.max(total.unwrap_or(0).saturating_sub(prompt_tokens));
    let cached = tokens(&told["prompt_tokens_details"]["cached_tokens"]);
    Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: total.unwrap_or(prompt_tokens + completion_tokens),
        // DeepSeek's name.
        cached_tokens: cached.unwrap_or_else(|| n(&told["prompt_cache_hit_tokens"])),
        micros: None,
        written_to_cache: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Request, Turn, ask};

    fn run(replies: &[Value]) -> (String, Vec<(String, String, String)>, Option<bool>) {
        let mut pieces = Pieces::default();
        let mut deltas = vec![];
        for reply in replies {
            deltas.extend(pieces.take(reply.clone()).unwrap());
        }
        let end = pieces.finish().unwrap();
        let cut = end.as_ref().map(|_| ());
        deltas.extend(end.into_iter().flatten());
        let (mut text, mut calls, mut whole) = (String::new(), vec![], cut.map(|()| false));
        for delta in deltas {
            match delta {
                Delta::Text(t) => text += &t,
                Delta::ToolCall(c) => calls.push((c.id, c.name, c.arguments)),
                Delta::Done { cut, .. } => whole = Some(cut),
                _ => {}
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
        // Regular: text, then two parallel calls in interleaved fragments.
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

        // Every call under index 0, distinguished by id; calls although the finish reason is stop.
        let same_index = [
            call(0.into(), "a".into(), "f".into(), json!({"x": 1})),
            call(0.into(), "b".into(), "g".into(), "{}".into()),
            end("stop"),
        ];
        assert_eq!(run(&same_index), ("".into(), two.clone(), Some(false)));

        // No index, the id repeated on each fragment.
        let no_index = [
            call(n.clone(), "a".into(), "f".into(), "{\"x\":".into()),
            call(n.clone(), "a".into(), "f".into(), "1}".into()),
            call(n.clone(), "b".into(), "g".into(), n.clone()),
            end("tool_calls"),
        ];
        assert_eq!(run(&no_index), ("".into(), two, Some(false)));

        // One id under two indexes: two calls, the second with a new id.
        let same_id = [
            call(0.into(), "a".into(), "f".into(), "{}".into()),
            call(1.into(), "a".into(), "g".into(), "{}".into()),
            end("tool_calls"),
        ];
        let calls = run(&same_id).1;
        assert_eq!((calls.len(), calls[0].1.as_str(), calls[1].1.as_str()), (2, "f", "g"));
        assert_ne!(calls[0].0, calls[1].0);

        let two = [
            json!({"choices": [{"index": 1, "delta": {"content": "other"}}, {"index": 0, "delta": {"content": "this"}}]}),
            json!({"usage": {"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX}}),
            end("stop"),
        ];
        assert_eq!(run(&two).0, "this");
        assert_eq!(
            run(&[json!({"choices": [{"message": {"content": "all"}}]})]).2,
            Some(false),
            "whole, without a reason"
        );
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
        for (reply, text) in [
            (json!({"error": {"message": "overloaded", "code": 529}}), "overloaded"),
            (json!({"object": "error", "message": "no room", "code": 400}), "no room"),
            (json!({"choices": [{"error": {"message": "upstream"}, "finish_reason": "error"}]}), "upstream"),
        ] {
            assert_eq!(Pieces::default().take(reply).unwrap_err().text, text);
        }
    }

    #[test]
    fn what_goes_back_is_kept_whole() {
        let endpoint = Endpoint { provider: "p".into(), model: "m".into(), ..Endpoint::default() };
        let mut pieces = Pieces::new(&endpoint);
        let detail = |detail: Value| delta(json!({"reasoning_details": [detail]}));
        let signed = json!({"index": 0, "id": "a", "function": {"name": "f"}, "extra_content": {"google": {"thought_signature": "s"}}});
        for reply in [
            detail(json!({"type": "reasoning.text", "text": "Let ", "index": 0, "signature": null})),
            detail(json!({"type": "reasoning.text", "text": "me.", "index": 0, "signature": "sig"})),
            detail(json!({"type": "reasoning.encrypted", "data": "xyz", "index": 1})),
            delta(json!({"tool_calls": [signed]})),
            end("tool_calls"),
        ] {
            pieces.take(reply).unwrap();
        }
        let rest = pieces.finish().unwrap().unwrap();
        let Delta::Keep(kept) = &rest[1] else { panic!("{rest:?}") };
        let expected = json!({"model": "m", "extra": {"0": {"google": {"thought_signature": "s"}}}, "reasoning_details": [
            {"type": "reasoning.text", "text": "Let me.", "index": 0, "signature": "sig"},
            {"type": "reasoning.encrypted", "data": "xyz", "index": 1}]});
        assert_eq!((kept.provider.as_str(), &kept.value), ("p", &expected));

        let call = ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() };
        let turn = Turn { content: "".into(), tool_calls: vec![call], kept: Some(kept.clone()) };
        let request = Request { messages: vec![Message::Assistant(turn)].into(), ..Request::default() };
        let message = &ask::body(&endpoint, &request)["messages"][0];
        assert_eq!(message["reasoning_details"], expected["reasoning_details"]);
        assert_eq!(message["tool_calls"][0]["extra_content"], expected["extra"]["0"]);
        let other = ask::body(&Endpoint { provider: "q".into(), ..endpoint }, &request)["messages"][0].to_string();
        assert!(!other.contains("sig") && !other.contains("extra_content"), "{other}");
    }

    #[test]
    fn thoughts_told_only_in_the_sum_were_written_as_well() {
        for (told, written, total) in [
            // xAI counts it separately.
            (json!({"prompt_tokens": 10120, "completion_tokens": 1499, "total_tokens": 14428}), 4308, 14428),
            (json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}), 2, 5),
            (json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 1}), 2, 1),
            (json!({"prompt_tokens": 3, "completion_tokens": 2}), 2, 5),
        ] {
            let usage = usage(&told);
            assert_eq!((usage.completion_tokens, usage.total_tokens), (written, total), "{told}");
        }
    }

    #[test]
    fn odd_types_break_nothing() {
        for reply in [
            json!({"choices": [{"delta": {"content": 5, "reasoning": {"a": 1}, "tool_calls": "x"}, "finish_reason": 3}]}),
            json!({"choices": {}, "usage": [], "error": null}),
            json!([1]),
            json!(null),
        ] {
            assert_eq!(Pieces::default().take(reply.clone()).unwrap(), [], "{reply}");
        }
    }
}
