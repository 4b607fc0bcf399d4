//! Talking: a message in, an answer out, whole or as it comes.

use crate::{
    Caller, House, KEEP_ALIVE,
    document::Streamable,
    envelope::{Answer, Data, Failure, Json, PathId, Query, ok},
    people::Deleted,
};
use agent::{Conversation, ConversationSummary, Running, Say, Step, UnderWay};
use axum::{
    Extension,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use llm::ToolChoice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// A message of a person.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatBody {
    /// The text, or parts of it.
    #[schemars(with = "Words")]
    message: Value,
    /// The conversation it continues; a new one where it is left out.
    conversation_id: Option<Id>,
    /// Who is to answer; so far only `general`.
    agent_id: Option<String>,
    /// Whether the answer is wanted as server-sent events, as it comes.
    #[serde(default)]
    stream: bool,
    /// Whether tools may, must or must not be called.
    #[serde(default)]
    #[schemars(with = "Option<ToolChoice>")]
    tool_choice: Value,
    /// The only tools and groups (`group:memory`) that may be used for this message; any where it is left out.
    allow_tools: Option<Vec<String>>,
}

/// What a message looks like. It is read by [`text_of`], whose refusals say more than a mismatch of types would.
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
}

pub(crate) async fn chat(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<ChatBody>,
) -> Result<Streamable<Data<agent::Answer>>, Failure> {
    if body.agent_id.as_deref().is_some_and(|a| a != "general") {
        return Err(Failure::new(404, "not_found", "there is only the agent `general` so far: leave agentId out"));
    }
    let tool_choice = choice_of(body.tool_choice)?;
    let only = body.allow_tools;
    let say = Say { message: text_of(&body.message)?, conversation: body.conversation_id, tool_choice, only };
    let running = house.agent.chat(&house.cx(&caller), say).await?;
    if body.stream {
        let events = Sse::new(events(running)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
        return Ok(Streamable::new(events));
    }
    whole(running).await.map(|data| Streamable::new(ok(data)))
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
async fn whole(mut running: Running) -> Result<agent::Answer, Failure> {
    while let Some(step) = running.steps.recv().await {
        match step {
            Step::Done(answer) => return Ok(answer),
            Step::Error { code, message } => return Err(unanswered(code, message)),
            _ => {}
        }
    }
    Err(Failure::new(422, "failed", "the run ended without an answer: the log has more"))
}

/// A run that ended without an answer, as a refusal.
pub(crate) fn unanswered(code: &str, message: String) -> Failure {
    let status = match code {
        // What we depend on failed, not this request and not this server.
        "model" => 424,
        "cancelled" | "unavailable" => 409,
        _ => 422,
    };
    Failure::new(status, code, message)
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

/// Runs that are under way.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Runs {
    count: usize,
    runs: Vec<UnderWay>,
}

/// This person's runs under way.
pub(crate) async fn runs(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Runs> {
    let runs = house.agent.runs(&house.cx(&caller));
    Ok(ok(Runs { count: runs.len(), runs }))
}

/// A run was told to stop.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    cancelled: bool,
}

pub(crate) async fn cancel(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Cancelled> {
    if !house.agent.cancel(&house.cx(&caller), id) {
        return Err(Failure::new(404, "not_found", format!("no run {id} of yours is under way: it may have ended")));
    }
    Ok(ok(Cancelled { cancelled: true }))
}

/// Which conversations.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Page {
    /// Words that all have to occur in the title and messages.
    #[serde(default)]
    query: String,
    /// How many at most, up to 200.
    #[serde(default = "twenty")]
    limit: usize,
    /// How many of the latest to pass over.
    #[serde(default)]
    offset: usize,
}

/// Conversations, the latest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Conversations {
    /// How many there are in all.
    count: usize,
    conversations: Vec<ConversationSummary>,
}

fn twenty() -> usize {
    20
}

pub(crate) async fn conversations(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Query(page): Query<Page>,
) -> Answer<Conversations> {
    let cx = house.cx(&caller);
    let found = house.agent.conversations(&cx, &page.query, page.limit.clamp(1, 200), page.offset).await?;
    let (count, conversations) = found;
    Ok(ok(Conversations { count, conversations }))
}

pub(crate) async fn conversation(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Conversation> {
    Ok(ok(house.agent.conversation(&house.cx(&caller), id)?))
}

pub(crate) async fn delete_conversation(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    house.agent.delete_conversation(&house.cx(&caller), id).await?;
    Ok(ok(Deleted::yes()))
}
