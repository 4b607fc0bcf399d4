//! The wire format most model servers share: OpenAI chat completions, streamed.

use crate::{
    Delta, Error, Message, Provider, Request, ToolCall, ToolChoice, Usage,
    retry::Retrying,
    sse::Events,
    wire::{Pieces, Reply},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http_client::{ModelHttp, Patience, Streaming};
use serde_json::{Value, json};
use std::{collections::VecDeque, time::Duration};

/// How much of an error body is read.
const ERROR_BODY: usize = 64 * 1024;
/// How large an answer may be that comes in one piece.
const WHOLE_ANSWER: usize = 2 << 20;
/// How long an answer may be, thoughts and arguments included, in bytes: a model that never stops must not fill the device.
const LONGEST_ANSWER: usize = 1 << 20;

/// Where the model is and how to ask it.
#[derive(Debug, Clone, Default)]
pub struct OpenAiConfig {
    /// The provider's name, as in `provider/model`.
    pub provider: String,
    /// The model's name at that server.
    pub model: String,
    /// The base address, such as `http://192.168.1.5:8080/v1`.
    pub url: String,
    /// The API key, where the server wants one.
    pub key: Option<String>,
    /// The most tokens one answer may have; the server's own limit when `None`.
    pub max_tokens: Option<u32>,
    /// How long to wait for what.
    pub patience: Patience,
    /// How often to ask again.
    pub retries: u32,
    /// The first pause before asking again.
    pub retry_delay: Duration,
}

/// A server that speaks OpenAI's chat completions.
pub struct OpenAi {
    config: OpenAiConfig,
    http: ModelHttp,
}

impl OpenAi {
    /// A provider that asks again after failures that pass.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(config: OpenAiConfig) -> Retrying<OpenAi> {
        let (retries, delay) = (config.retries, config.retry_delay);
        let http = ModelHttp::new(config.patience);
        Retrying::new(OpenAi { config, http }, retries, delay)
    }
}

/// `…/chat/completions` under the base address; a bare host gets the usual `/v1`.
fn endpoint(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with("/chat/completions") {
        return base.to_owned();
    }
    let bare = base.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'));
    format!("{base}{}/chat/completions", if bare { "/v1" } else { "" })
}

/// The request body.
fn body(config: &OpenAiConfig, request: &Request) -> Value {
    let mut body = json!({
        "model": config.model,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Some(max) = config.max_tokens {
        body["max_tokens"] = max.into();
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|t| json!({"type": "function", "function": t}));
        body["tools"] = tools.collect();
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => body["tool_choice"] = "none".into(),
            ToolChoice::Required => body["tool_choice"] = "required".into(),
            ToolChoice::Named { name } => {
                body["tool_choice"] = json!({"type": "function", "function": {"name": name}});
            }
        }
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({"role": "system", "content": text}),
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { content, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": content})
        }
        Message::Assistant { content, tool_calls } => {
            let content = if content.is_empty() { Value::Null } else { content.as_str().into() };
            json!({"role": "assistant", "content": content, "tool_calls": tool_calls.iter().map(call).collect::<Vec<_>>()})
        }
        Message::Tool(result) => json!({"role": "tool", "tool_call_id": result.call_id, "content": result.content}),
    }
}

/// Arguments the model broke go back as an empty object: many servers refuse a history that is not JSON.
fn call(call: &ToolCall) -> Value {
    let whole = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if whole { call.arguments.as_str() } else { "{}" };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

impl Provider for OpenAi {
    fn model(&self) -> String {
        format!("{}/{}", self.config.provider, self.config.model)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (config, http, key) = (self.config.clone(), self.http.clone(), self.config.key.clone());
        stream::once(async move { ask(config, http, request).await })
            .flat_map(|begun| match begun {
                Ok(answer) => answer,
                Err(error) => stream::once(async { Err(error) }).boxed(),
            })
            // Servers like to repeat the key they were shown.
            .map(move |said| said.map_err(|error| error.without(key.as_deref())))
            .boxed()
    }
}

async fn ask(
    config: OpenAiConfig,
    http: ModelHttp,
    request: Request,
) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    let mut headers = vec![];
    if let Some(key) = &config.key {
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
    }
    let text = body(&config, &request).to_string();
    let who = config.provider.clone();
    let answer = http.post_stream(&endpoint(&config.url), &headers, text).await.map_err(|e| told(&who, e))?;
    if !(200..300).contains(&answer.status) {
        return Err(refusal(&config, answer).await);
    }
    if answer.header("content-type").is_some_and(|t| t.starts_with("application/json")) {
        return whole(&who, answer).await;
    }
    Ok(streamed(who, answer))
}

/// Some servers do not stream, whatever they are asked.
async fn whole(who: &str, answer: Streaming) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    let bytes = answer.bytes(WHOLE_ANSWER).await.map_err(|e| told(who, e))?;
    let broken =
        |e| Error::Server(format!("the model server `{who}` sent an answer that is not JSON ({e}): check its address"));
    let reply: Reply = serde_json::from_slice(&bytes).map_err(broken)?;
    let mut pieces = Pieces::default();
    let mut deltas = pieces.take(reply).map_err(|text| Error::Server(format!("`{who}` says: {text}")))?;
    deltas.extend(
        pieces.finish().ok_or_else(|| Error::Server(format!("the model server `{who}` sent an empty answer")))?,
    );
    Ok(stream::iter(deltas.into_iter().map(Ok)).boxed())
}

struct Reading {
    who: String,
    body: BoxStream<'static, http_client::Result<http_client::Bytes>>,
    events: Events,
    pieces: Pieces,
    ready: VecDeque<Delta>,
    ended: bool,
}

fn streamed(who: String, answer: Streaming) -> BoxStream<'static, Result<Delta, Error>> {
    let body = answer.into_stream().boxed();
    let reading = Reading {
        who,
        body,
        events: Events::default(),
        pieces: Pieces::default(),
        ready: VecDeque::new(),
        ended: false,
    };
    stream::unfold(Some(reading), |reading| async {
        let mut reading = reading?;
        loop {
            if let Some(delta) = reading.ready.pop_front() {
                return Some((Ok(delta), Some(reading)));
            }
            if reading.ended {
                return None;
            }
            if let Err(error) = reading.read_on().await {
                return Some((Err(error), None));
            }
        }
    })
    .boxed()
}

impl Reading {
    async fn read_on(&mut self) -> Result<(), Error> {
        let who = &self.who;
        let data = match self.body.next().await {
            Some(Ok(bytes)) => self.events.feed(&bytes).ok_or_else(|| {
                Error::Broken(format!("the model server `{who}` sent something that is no event stream"))
            })?,
            Some(Err(error)) => {
                // Whether anything was said decides if asking again is safe: half an answer is not asked for twice.
                return Err(match told(who, error) {
                    Error::Network(text) | Error::Timeout(text) if self.pieces.begun() => Error::Broken(text),
                    other => other,
                });
            }
            None => {
                self.ended = true;
                self.events.finish().into_iter().collect()
            }
        };
        for event in data {
            self.take(&event)?;
        }
        if self.ended {
            let rest = self.pieces.finish().ok_or_else(|| {
                Error::Broken(format!("the model server `{}` stopped in the middle of its answer: ask again", self.who))
            })?;
            self.ready.extend(rest);
        }
        Ok(())
    }

    fn take(&mut self, event: &str) -> Result<(), Error> {
        if event.trim() == "[DONE]" {
            self.ended = true;
            self.pieces.told_done();
            return Ok(());
        }
        let reply: Reply = serde_json::from_str(event).map_err(|e| {
            Error::Broken(format!("the model server `{}` sent an event that is not JSON ({e})", self.who))
        })?;
        let said = self.pieces.take(reply).map_err(|text| {
            let text = format!("the model server `{}` gave up: {text}", self.who);
            if self.pieces.begun() { Error::Broken(text) } else { Error::Server(text) }
        })?;
        self.ready.extend(said);
        if self.pieces.bytes() > LONGEST_ANSWER {
            return Err(Error::Broken(format!(
                "the answer of the model server `{}` is longer than {} MB and was stopped: ask for less at once",
                self.who,
                LONGEST_ANSWER >> 20
            )));
        }
        Ok(())
    }
}

fn told(who: &str, error: http_client::Error) -> Error {
    let text = format!("the model server `{who}` did not answer: {error}");
    match error {
        http_client::Error::TimedOut { .. } => Error::Timeout(text),
        http_client::Error::Unreachable { .. } | http_client::Error::Broken { .. } => Error::Network(text),
        _ => Error::Refused(text),
    }
}

/// An answer that is not 2xx, in words.
async fn refusal(config: &OpenAiConfig, answer: Streaming) -> Error {
    let status = answer.status;
    let after = answer.header("retry-after").and_then(|s| s.trim().parse().ok()).map(Duration::from_secs);
    let body = answer.bytes(ERROR_BODY).await.unwrap_or_default();
    let said = said(&body);
    let (who, model) = (&config.provider, &config.model);
    match status {
        401 | 403 => {
            Error::Refused(format!("the model server `{who}` does not accept the key: set the right one{said}"))
        }
        404 => {
            Error::Refused(format!("the model server `{who}` has no model `{model}` at this address: check both{said}"))
        }
        429 => Error::Busy {
            text: format!("the model server `{who}` is asked too often: wait a little and ask again{said}"),
            after,
        },
        408 => Error::Timeout(format!("the model server `{who}` gave up waiting{said}")),
        500.. => Error::Server(format!("the model server `{who}` failed (status {status}): try again later{said}")),
        _ => Error::Refused(format!("the model server `{who}` refused the request (status {status}){said}")),
    }
}

/// What the server says of itself, as ` (it says: …)`.
fn said(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(v) => [&v["error"]["message"], &v["error"], &v["message"], &v["detail"]]
            .into_iter()
            .find_map(|t| t.as_str().map(str::to_owned))
            .unwrap_or_default(),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    if text.is_empty() { text } else { format!(" (it says: {text})") }
}

/// What a request cost, in the server's words.
pub(crate) fn usage(value: &Value) -> Usage {
    let n = |v: &Value| v.as_u64().unwrap_or(0);
    Usage {
        prompt_tokens: n(&value["prompt_tokens"]),
        completion_tokens: n(&value["completion_tokens"]),
        total_tokens: n(&value["total_tokens"]),
        cached_tokens: n(&value["prompt_tokens_details"]["cached_tokens"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ToolDefinition, ToolResult};

    #[test]
    fn addresses_people_write() {
        for (base, expected) in [
            ("http://pi:8080", "http://pi:8080/v1/chat/completions"),
            ("http://pi:8080/v1/", "http://pi:8080/v1/chat/completions"),
            ("https://x.org/openai/v1", "https://x.org/openai/v1/chat/completions"),
            ("https://x.org/v1/chat/completions", "https://x.org/v1/chat/completions"),
        ] {
            assert_eq!(endpoint(base), expected);
        }
    }

    #[test]
    fn the_body_a_server_sees() {
        let broken = ToolCall { id: "1".into(), name: "t".into(), arguments: "{\"a\":".into() };
        let result = ToolResult {
            call_id: "1".into(),
            name: "t".into(),
            content: "no".into(),
            say: Some("never sent".into()),
            is_error: true,
        };
        let request = Request {
            messages: vec![
                Message::System("s".into()),
                Message::User("u".into()),
                Message::Assistant { content: "".into(), tool_calls: vec![broken] },
                Message::Tool(result),
            ],
            tools: vec![ToolDefinition { name: "t".into(), description: "d".into(), parameters: json!({}) }],
            tool_choice: ToolChoice::Named { name: "t".into() },
        };
        let config = OpenAiConfig { model: "m".into(), max_tokens: Some(9), ..OpenAiConfig::default() };
        assert_eq!(
            body(&config, &request),
            json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 9,
                "messages": [
                    {"role": "system", "content": "s"},
                    {"role": "user", "content": "u"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": "1", "content": "no"},
                ],
                "tools": [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {}}}],
                "tool_choice": {"type": "function", "function": {"name": "t"}},
            })
        );
    }

    #[test]
    fn what_servers_say_of_themselves() {
        for (body, expected) in [
            (&br#"{"error":{"message":"bad  key"}}"#[..], " (it says: bad key)"),
            (br#"{"error":"plain"}"#, " (it says: plain)"),
            (b"<html>nginx</html>", " (it says: <html>nginx</html>)"),
            (b"", ""),
        ] {
            assert_eq!(said(body), expected);
        }
    }
}
