//! `/api/v1/chat`: a message in, an answer out, whole or as events.

use crate::{
    AppState, Caller, KEEP_ALIVE,
    describe::{Routes, post},
    document::{Streamable, asks_a_model},
    envelope::{Data, Failure, Json, ok},
};
use agent::{ChatRequest, FinishReason, Preset, RunEvent, RunHandle, WhileBusy};
use axum::{
    Extension,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures::{Stream, StreamExt, stream};
use identity::TokenScope;
use llm::{Content, Kind, Media, Source, ToolChoice};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/chat", post(chat, "Send a message; the answer is JSON or a stream of events.").also(asks_a_model))
        .scope(TokenScope::Chat)
}

/// A message of a person.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatBody {
    /// The text, or parts of it.
    #[schemars(with = "Words")]
    message: Value,
    /// The conversation it continues; a new one where it is left out.
    conversation_id: Option<Id>,
    /// The agent that answers; so far only `general`.
    agent_id: Option<String>,
    /// Whether the answer is streamed as server-sent events.
    #[serde(default)]
    stream: bool,
    /// Whether tools may, must or must not be called.
    #[serde(default)]
    #[schemars(with = "Option<ToolChoice>")]
    tool_choice: Value,
    /// The only tools and groups (`group:memory`) that may be used for this message; any where it is left out.
    allow_tools: Option<Vec<String>>,
    /// Policy while the conversation is busy: `refuse` (the default) or `queue`.
    #[serde(default)]
    while_busy: WhileBusy,
    /// How the run goes: `agent` (the default: calls side by side, an error at the limit) or `orchestrator` (ten turns, one call
    /// after the other; at the limit it ends with the last text).
    #[serde(default)]
    preset: Preset,
}

/// The most parts of a message.
const MAX_PARTS: usize = 50;

/// The schema of a message. [`parse_content`] reads it, with better errors than a mismatch of types gives.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Words {
    /// The text.
    Text(String),
    /// The text in parts.
    Parts(Vec<Part>),
}

#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[allow(dead_code)]
enum Part {
    /// Text.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// The id of a file that was sent before.
        file: Option<Id>,
        /// The image itself, as `data:image/png;base64,…`; it is stored as a file.
        url: Option<String>,
    },
    /// Sound.
    Audio {
        /// The id of a file that was sent before.
        file: Id,
    },
    /// Any other file.
    File {
        /// The id of a file that was sent before.
        file: Id,
    },
}

pub(crate) async fn chat(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<ChatBody>,
) -> Result<Streamable<Data<agent::Answer>>, Failure> {
    if body.agent_id.as_deref().is_some_and(|a| a != "general") {
        return Err(Failure::new(404, "not_found", "there is only the agent `general` so far: leave agentId out"));
    }
    let tool_choice = parse_tool_choice(body.tool_choice)?;
    let cx = house.cx(&caller);
    if let Some(names) = &body.allow_tools {
        house.registry.check_names(&cx, names).map_err(|e| {
            let text = format!("`allowTools`: {}", e.message());
            e.with_message(text)
        })?;
    }
    let request = ChatRequest {
        message: parse_content(&body.message)?,
        conversation: body.conversation_id,
        tool_choice,
        only: body.allow_tools,
        while_busy: body.while_busy,
        preset: body.preset,
        ..ChatRequest::default()
    };
    let running = house.agent.chat(&cx, request).await?;
    if body.stream {
        // The first event contains the ids.
        running.stored().await?;
        let events = Sse::new(events(running)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
        return Ok(Streamable::new(events));
    }
    wait_for_answer(running).await.map(|data| Streamable::new(ok(data)))
}

/// Parses a message: a string, or parts.
fn parse_content(message: &Value) -> Result<Content, Failure> {
    let wrong = |text: &str| Failure::new(400, "bad_args", text);
    match message {
        Value::String(text) => Ok(text.as_str().into()),
        Value::Array(parts) if parts.len() > MAX_PARTS => Err(wrong("a message has 50 parts at most: send several")),
        Value::Array(parts) => Ok(Content(parts.iter().map(parse_part).collect::<Result<_, _>>()?)),
        _ => Err(wrong("`message` must be a string, or a list of parts")),
    }
}

fn parse_part(part: &Value) -> Result<llm::Part, Failure> {
    let wrong = |text: String| Failure::new(400, "bad_args", text);
    let kind = match part["type"].as_str() {
        Some("text") => {
            let text = part["text"].as_str().filter(|_| has_only(part, &["type", "text"]));
            let text = text.ok_or_else(|| wrong("a part looks like {\"type\":\"text\",\"text\":\"…\"}".into()))?;
            return Ok(llm::Part::Text(text.to_owned()));
        }
        Some("image") => Kind::Image,
        Some("audio") => Kind::Audio,
        Some("file") => Kind::File,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(wrong(format!("there are no parts of the type `{other}`: it is text, image, audio or file")));
        }
        None => return Err(wrong("a part looks like {\"type\":\"text\",\"text\":\"…\"}".into())),
    };
    let (media_type, source) = match (part["file"].as_str(), part["url"].as_str()) {
        (Some(id), None) if has_only(part, &["type", "file"]) => (String::new(), Source::Stored(id.parse::<Id>()?)),
        (None, Some(url)) if kind == Kind::Image && has_only(part, &["type", "url"]) => parse_data_url(url)
            .ok_or_else(|| {
                wrong(
                    "`url` looks like data:image/png;base64,…; for a longer picture send a file and name it by `file`"
                        .into(),
                )
            })?,
        _ => {
            let text =
                "a part with a file looks like {\"type\":\"image\",\"file\":\"ID\"}; POST /api/v1/files gives the ID";
            return Err(wrong(text.into()));
        }
    };
    Ok(llm::Part::Media(Media { kind, media_type, name: String::new(), source }))
}

fn has_only(part: &Value, fields: &[&str]) -> bool {
    part.as_object().is_some_and(|part| part.keys().all(|field| fields.contains(&field.as_str())))
}

/// Parses a `data:` URL of a picture.
fn parse_data_url(url: &str) -> Option<(String, Source)> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((kind.to_owned(), decode_base64(data)?)).filter(|_| kind.starts_with("image/"))
}

/// Decodes base64.
pub(crate) fn decode_base64(data: &str) -> Option<Source> {
    let bytes = STANDARD.decode(data.trim()).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Source::Bytes(bytes.into()))
}

fn parse_tool_choice(choice: Value) -> Result<ToolChoice, Failure> {
    if choice.is_null() {
        return Ok(ToolChoice::Auto);
    }
    serde_json::from_value(choice).map_err(|_| {
        Failure::new(400, "bad_args", "`toolChoice` is \"auto\", \"none\", \"required\" or {\"name\": \"a tool\"}")
    })
}

/// Waits for the end of the run. A failure names the run, because the run may have had effects.
async fn wait_for_answer(mut running: RunHandle) -> Result<agent::Answer, Failure> {
    let ids = json!({"runId": running.run, "conversationId": running.conversation});
    while let Some(step) = running.steps.recv().await {
        match step {
            RunEvent::Done(answer) => return Ok(answer),
            RunEvent::Error { code, message } => {
                let mut details = ids;
                let filtered = code == "content_filter";
                let reason = if filtered { FinishReason::ContentFilter } else { FinishReason::Error };
                details["finishReason"] = json!(reason);
                return Err(run_failure(code, message).details(details));
            }
            _ => {}
        }
    }
    Err(Failure::new(422, "failed", "the run ended without an answer: the log has more").details(ids))
}

/// The failure of a run without an answer.
pub(crate) fn run_failure(code: &str, message: String) -> Failure {
    let status = match code {
        // A dependency failed, not this request and not this server.
        "model" | "content_filter" => 424,
        "cancelled" | "closing" | "unavailable" => 409,
        _ => 422,
    };
    Failure::new(status, code, message)
}

/// The event `run`, then every step as an event of its name.
fn events(running: RunHandle) -> impl Stream<Item = Result<Event, Infallible>> {
    let mut head = json!({"runId": running.run, "conversationId": running.conversation, "model": running.model});
    if running.queued {
        head["queued"] = true.into();
    }
    let steps = stream::unfold(running.steps, |mut steps| async { steps.recv().await.map(|step| (step, steps)) });
    stream::iter([("run".to_owned(), head)])
        .chain(steps.map(event_of))
        .map(|(name, data)| Ok(Event::default().event(name).data(data.to_string())))
}

fn event_of(step: RunEvent) -> (String, Value) {
    let mut data = serde_json::to_value(step).unwrap_or_default();
    let name = data.as_object_mut().and_then(|o| o.remove("type")).and_then(|t| t.as_str().map(str::to_owned));
    (name.unwrap_or_else(|| "error".into()), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_text_or_parts() {
        let id = Id::new().to_string();
        let png = "data:image/png;base64,iVBORw0KGgo=";
        for (message, parts) in [
            (json!("hi"), 1),
            (json!([{"type": "text", "text": "a"}, {"type": "image", "file": id}, {"type": "file", "file": id}]), 3),
            (json!([{"type": "image", "url": png}]), 1),
            (json!([]), 0),
        ] {
            assert_eq!(parse_content(&message).map(|c| c.0.len()).ok(), Some(parts), "{message}");
        }
        let many = vec![json!({"type": "text", "text": "a"}); MAX_PARTS + 1];
        for message in [
            json!(7),
            json!(["a"]),
            json!([{"type": "text"}]),
            json!([{"type": "video", "file": id}]),
            json!([{"type": "image"}]),
            json!([{"type": "image", "file": "x"}]),
            json!([{"type": "image", "file": id, "url": png}]),
            json!([{"type": "image", "url": "https://example.org/a.png"}]),
            json!([{"type": "image", "url": "data:text/html;base64,PGI+"}]),
            json!([{"type": "image", "url": "data:image/png;base64,!!"}]),
            json!([{"type": "audio", "url": png}]),
            json!([{"type": "text", "text": "a", "more": 1}]),
            json!(many),
        ] {
            assert!(parse_content(&message).is_err(), "{message}");
        }
    }
}
