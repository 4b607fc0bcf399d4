//! Talking: a message in, an answer out, whole or as it comes.

use crate::{
    Caller, House,
    envelope::{Answer, Failure, Json, PathId, Query, ok},
};
use agent::{Running, Say, Step};
use axum::{
    Extension,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt, stream};
use llm::ToolChoice;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{convert::Infallible, time::Duration};
use tool::Id;

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatBody {
    message: Value,
    conversation_id: Option<Id>,
    agent_id: Option<String>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    tool_choice: Value,
}

pub(crate) async fn chat(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<ChatBody>,
) -> Result<Response, Failure> {
    if body.agent_id.as_deref().is_some_and(|a| a != "general") {
        return Err(Failure::new(404, "not_found", "there is only the agent `general` so far: leave agentId out"));
    }
    let tool_choice = choice_of(body.tool_choice)?;
    let say = Say { message: text_of(&body.message)?, conversation: body.conversation_id, tool_choice };
    let running = house.agent.chat(&house.cx(&caller), say).await?;
    if body.stream {
        return Ok(Sse::new(events(running)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    whole(running).await.map(|data| ok(data).into_response())
}

/// The text of a message: a string, or parts of which so far only text is understood.
fn text_of(message: &Value) -> Result<String, Failure> {
    let wrong = |text: String| Failure::new(400, "bad_args", text);
    match message {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| match (part["type"].as_str(), part["text"].as_str()) {
                (Some("text"), Some(text)) => Ok(text.to_owned()),
                (Some(other), _) if other != "text" => {
                    Err(wrong(format!("parts of the type `{other}` are not understood yet: send text")))
                }
                _ => Err(wrong("a part looks like {\"type\":\"text\",\"text\":\"…\"}".into())),
            };
            Ok(parts.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        _ => Err(wrong("`message` must be a string, or a list of parts".into())),
    }
}

fn choice_of(choice: Value) -> Result<ToolChoice, Failure> {
    if choice.is_null() {
        return Ok(ToolChoice::Auto);
    }
    serde_json::from_value(choice).map_err(|_| {
        Failure::new(400, "bad_args", "`toolChoice` is \"auto\", \"none\", \"required\" or {\"name\": \"a tool\"}")
    })
}

/// Waits for the end of the run.
async fn whole(mut running: Running) -> Result<Value, Failure> {
    while let Some(step) = running.steps.recv().await {
        match step {
            Step::Done(answer) => {
                return serde_json::to_value(answer).map_err(|e| Failure::new(422, "failed", e.to_string()));
            }
            Step::Error { code, message } => {
                let status = match code {
                    // What we depend on failed, not this request and not this server.
                    "model" => 424,
                    "cancelled" | "unavailable" => 409,
                    _ => 422,
                };
                return Err(Failure::new(status, code, message));
            }
            _ => {}
        }
    }
    Err(Failure::new(422, "failed", "the run ended without an answer: the log has more"))
}

/// `run`, then every step as an event of its name.
fn events(running: Running) -> impl Stream<Item = Result<Event, Infallible>> {
    let head = json!({"runId": running.run, "conversationId": running.conversation, "model": running.model});
    let steps = stream::unfold(running.steps, |mut steps| async { steps.recv().await.map(|step| (step, steps)) });
    stream::iter([("run".to_owned(), head)])
        .chain(steps.map(named))
        .map(|(name, data)| Ok(Event::default().event(name).data(data.to_string())))
}

fn named(step: Step) -> (String, Value) {
    let mut data = serde_json::to_value(step).unwrap_or_default();
    let name = data.as_object_mut().and_then(|o| o.remove("type")).and_then(|t| t.as_str().map(str::to_owned));
    (name.unwrap_or_else(|| "error".into()), data)
}

pub(crate) async fn cancel(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Value> {
    if !house.agent.cancel(&house.cx(&caller), id) {
        return Err(Failure::new(404, "not_found", format!("no run {id} of yours is under way: it may have ended")));
    }
    Ok(ok(json!({"cancelled": true})))
}

#[derive(Deserialize)]
pub(crate) struct Page {
    #[serde(default = "twenty")]
    limit: usize,
    #[serde(default)]
    offset: usize,
}

fn twenty() -> usize {
    20
}

pub(crate) async fn conversations(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Query(page): Query<Page>,
) -> Answer<Value> {
    let all = house.agent.conversations(&house.cx(&caller))?;
    let count = all.len();
    let shown: Vec<_> = all.into_iter().skip(page.offset).take(page.limit.clamp(1, 200)).collect();
    Ok(ok(json!({"count": count, "conversations": shown})))
}

pub(crate) async fn conversation(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<agent::Conversation> {
    Ok(ok(house.agent.conversation(&house.cx(&caller), id)?))
}

pub(crate) async fn delete_conversation(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Value> {
    house.agent.delete_conversation(&house.cx(&caller), id).await?;
    Ok(ok(json!({"deleted": true})))
}
