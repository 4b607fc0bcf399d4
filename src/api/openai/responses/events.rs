//! The events of a streamed response, in the order OpenAI documents.

use super::{Response, function_call, message, message_id, output_text, refusal_part};
use crate::openai::{AwaitedRun, Refusal};
use agent::{Answer, RunEvent};
use axum::response::sse::Event;
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use std::convert::Infallible;

/// Turns run events into response events.
struct Events {
    response: Response,
    /// The text so far.
    text: String,
    /// Whether the message has begun, and whether tools were called since its last words.
    begun: bool,
    gap: bool,
    sequence: u64,
}

/// `response.created`, every step as it happens, and the end.
pub(super) fn stream_of(
    waited: AwaitedRun,
    response: Response,
    first: RunEvent,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let mut events = Events { response, text: String::new(), begun: false, gap: false, sequence: 0 };
    events.response.model = waited.running.status.model();
    let head = vec![events.of_response("response.created"), events.of_response("response.in_progress")];
    let rest = stream::unfold(Some((waited, events, Some(first))), |state| async {
        let (mut waited, mut events, first) = state?;
        let step = match first {
            Some(step) => step,
            None => waited.step().await,
        };
        let over = matches!(step, RunEvent::Done(_) | RunEvent::Error { .. });
        let told = events.of(step, &waited);
        Some((stream::iter(told), (!over).then_some((waited, events, None))))
    });
    stream::iter(head).chain(rest.flatten()).map(|event| {
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        Ok(Event::default().event(name).data(event.to_string()))
    })
}

impl Events {
    fn of(&mut self, step: RunEvent, waited: &AwaitedRun) -> Vec<Value> {
        match step {
            RunEvent::Text { delta } => {
                let gap = std::mem::take(&mut self.gap) && self.begun;
                self.words(if gap { format!("\n\n{delta}") } else { delta })
            }
            RunEvent::ToolStart { .. } => {
                self.gap = true;
                vec![]
            }
            RunEvent::Done(answer) => self.end(answer),
            RunEvent::Error { code, message } => {
                let Refusal { error, .. } = waited.refusal(code, message);
                self.response.status = "failed";
                self.response.error = Some(json!({"code": error.code, "message": error.message}));
                vec![self.of_response("response.failed")]
            }
            // Questions are asked at the page.
            _ => vec![],
        }
    }

    fn words(&mut self, delta: String) -> Vec<Value> {
        let mut told = vec![];
        let id = message_id(&self.response.id);
        if !std::mem::replace(&mut self.begun, true) {
            told.push(self.begin());
            let part = json!({"item_id": id, "output_index": 0, "content_index": 0, "part": output_text("")});
            told.push(self.event("response.content_part.added", part));
        }
        self.text.push_str(&delta);
        let delta = json!({"item_id": id, "output_index": 0, "content_index": 0, "delta": delta, "logprobs": []});
        told.push(self.event("response.output_text.delta", delta));
        told
    }

    /// The message begins.
    fn begin(&mut self) -> Value {
        let item = message(&self.response.id, "in_progress", "", None);
        self.event("response.output_item.added", json!({"output_index": 0, "item": item}))
    }

    /// The part of the message with the model's refusal, in one piece.
    fn refusal(&mut self, refusal: &str, index: usize) -> Vec<Value> {
        let id = message_id(&self.response.id);
        let fields = [
            ("response.content_part.added", "part", refusal_part("")),
            ("response.refusal.delta", "delta", refusal.into()),
            ("response.refusal.done", "refusal", refusal.into()),
            ("response.content_part.done", "part", refusal_part(refusal)),
        ];
        let event = |(name, field, value): (&str, &str, Value)| {
            self.event(name, json!({"item_id": id, "output_index": 0, "content_index": index, field: value}))
        };
        fields.into_iter().map(event).collect()
    }

    fn end(&mut self, answer: Answer) -> Vec<Value> {
        let mut told = vec![];
        let refusal = answer.refusal.clone();
        if !self.begun && answer.handed_over.is_empty() && refusal.is_none() {
            told.extend(self.words(String::new()));
        }
        let spoke = self.begun;
        if refusal.is_some() && !std::mem::replace(&mut self.begun, true) {
            told.push(self.begin());
        }
        let calls = answer.handed_over.clone();
        let text = std::mem::take(&mut self.text);
        self.response = self.response.clone().ended(answer, text.clone());
        if self.begun {
            let id = message_id(&self.response.id);
            let at = |more: Value| {
                let mut at = json!({"item_id": id, "output_index": 0, "content_index": 0});
                for (name, value) in more.as_object().into_iter().flatten() {
                    at[name] = value.clone();
                }
                at
            };
            if spoke {
                told.push(self.event("response.output_text.done", at(json!({"text": text, "logprobs": []}))));
                told.push(self.event("response.content_part.done", at(json!({"part": output_text(&text)}))));
            }
            if let Some(refusal) = refusal {
                told.extend(self.refusal(&refusal, usize::from(spoke)));
            }
            let item = self.response.output[0].clone();
            told.push(self.event("response.output_item.done", json!({"output_index": 0, "item": item})));
        }
        for (n, call) in (usize::from(self.begun)..).zip(&calls) {
            let (begun, item) = (function_call(call, "in_progress"), function_call(call, "completed"));
            let id = item["id"].clone();
            told.push(self.event("response.output_item.added", json!({"output_index": n, "item": begun})));
            let delta = json!({"item_id": id, "output_index": n, "delta": call.arguments});
            told.push(self.event("response.function_call_arguments.delta", delta));
            let done = json!({"item_id": id, "output_index": n, "name": call.name, "arguments": call.arguments});
            told.push(self.event("response.function_call_arguments.done", done));
            told.push(self.event("response.output_item.done", json!({"output_index": n, "item": item})));
        }
        let name = if self.response.status == "incomplete" { "response.incomplete" } else { "response.completed" };
        told.push(self.of_response(name));
        told
    }

    fn of_response(&mut self, name: &str) -> Value {
        let response = json!(self.response);
        self.event(name, json!({"response": response}))
    }

    fn event(&mut self, name: &str, mut event: Value) -> Value {
        event["type"] = name.into();
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        event
    }
}
