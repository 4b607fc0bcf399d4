//! `/v1`: OpenAI's chat completions. The whole agent answers, with its prompt, memory and tools; the program keeps the
//! conversation.
//!
//! A parameter that changes the answer is honoured or refused by name, and never ignored: see [`options`]. `/v1/responses`
//! ([`responses`]) is the same in OpenAI's newer format, and `/v1/embeddings` ([`embeddings`]) turns texts into vectors.
//!
//! Tools of the program are offered to the model beside Hob's own. A call of one ends the answer with `tool_calls`, after Hob's
//! own calls of that turn; those are hidden from the program, and cached for its next request.

mod embeddings;
pub(crate) mod options;
mod pictures;
mod responses;
pub(crate) mod wire;

use crate::{
    AppState, Caller, KEEP_ALIVE,
    chat::run_failure,
    describe::{DescribeInput, DescribeOutput, Operation, Routes, Schemas, get, post},
    document::{Streamable, refused_in_shape},
    envelope::{self, Failure, PathText, reworded},
    wrong_method,
};
use agent::{Agent, Answer, Complete, RunEvent, RunHandle, RunStatus};
use axum::{
    Extension,
    extract::{FromRequest, Request, State},
    http::{Method, StatusCode, Uri, header},
    middleware::Next,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt, stream};
use identity::TokenScope;
use llm::ToolChoice;
use serde::Serialize;
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use tool::{
    Cx,
    prelude::{JsonSchema, schemars},
};
use wire::{Body, Choice, Completion, Cost, RequestOptions, handed_over};

/// The name for the current model.
const HOB: &str = "hob";
/// The embedding model.
const EMBEDDING: &str = "all-MiniLM-L6-v2";
/// The largest body in bytes: a whole conversation with its pictures, or many texts.
pub(crate) const MAX_BODY: usize = 8 << 20;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/chat/completions",
            post(complete, "Answer a conversation that the program keeps, in OpenAI's format.").max_body(MAX_BODY),
        )
        .route(
            "/responses",
            post(responses::respond, "Answer in OpenAI's newer format; the program keeps the conversation.")
                .max_body(MAX_BODY),
        )
        .route(
            "/embeddings",
            post(embeddings::embed, "Turn texts into vectors, in OpenAI's format.").max_body(MAX_BODY),
        )
        .route("/models", get(models, "The models there are, in OpenAI's format."))
        .route("/models/{*id}", get(model, "One model, in OpenAI's format."))
        .scope(TokenScope::Chat)
        .all(Refusal::describe)
        .otherwise(wrong_method, no_such_path)
}

/// Failures of handlers and middleware have OpenAI's error format.
impl DescribeOutput for Refusal {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        refused_in_shape::<Refused>(schemas, operation);
    }
}

/// A JSON body whose errors have OpenAI's format.
pub(crate) struct OpenAiJson<T>(T);

impl<T: serde::de::DeserializeOwned, S: Send + Sync> FromRequest<S> for OpenAiJson<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        Ok(Self(envelope::json(request).await?))
    }
}

impl<T: JsonSchema> DescribeInput for OpenAiJson<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let body = schemas.input_schema::<T>();
        operation.takes(body);
    }
}

/// A failure in OpenAI's format.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: OpenAiError,
    retry_after: Option<u64>,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Refused {
    error: OpenAiError,
}

/// Why a request was refused.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpenAiError {
    /// A sentence for people: what to do.
    message: String,
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The part of the request that is meant.
    param: Option<String>,
    /// A stable word for programs.
    code: Option<String>,
}

impl Refusal {
    /// An invalid value; `param` names it.
    pub fn of(param: &str, message: impl Into<String>) -> Self {
        let mut refusal = Self::new(StatusCode::BAD_REQUEST, "invalid_value", message.into());
        refusal.error.param = Some(param.to_owned());
        refusal
    }

    pub fn into_parts(self) -> (StatusCode, String) {
        (self.status, self.error.message)
    }

    fn new(status: StatusCode, code: &str, message: String) -> Self {
        let kind = match status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            // The model behind us failed.
            424 | 500.. => "server_error",
            _ => "invalid_request_error",
        };
        let code = match code {
            "unauthorized" => "invalid_api_key",
            "too_many_tries" | "rate_limited" => "rate_limit_exceeded",
            "bad_args" => "invalid_value",
            other => other,
        };
        Self {
            status,
            error: OpenAiError { message, kind, param: None, code: Some(code.to_owned()) },
            retry_after: None,
        }
    }

    /// Replaces the error code.
    pub fn code(mut self, code: &str) -> Self {
        self.error.code = Some(code.to_owned());
        self
    }

    /// The failure of a run: a refusal by the model's server is reported as OpenAI does.
    fn of_run(status: &RunStatus, code: &str, message: String) -> Self {
        match status.error() {
            Some(llm::Error::Unsupported { option: option @ "response_format", .. }) => Self::of(option, message),
            Some(llm::Error::Unsupported { option, .. }) => Self::of(option, message).code("unsupported_parameter"),
            Some(llm::Error::TooLong(_)) => {
                // Programs search for these words.
                let message = format!("{message} (the request is longer than the model's context length)");
                Self::of("messages", message).code("context_length_exceeded")
            }
            Some(llm::Error::Busy { after, .. }) => {
                let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", message);
                Self { retry_after: after.map(|after| after.as_secs().max(1)), ..refusal }
            }
            Some(llm::Error::Spent(_)) => {
                let mut refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "insufficient_quota", message);
                refusal.error.kind = "insufficient_quota";
                refusal
            }
            _ => run_failure(code, message).into(),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let retry_after = failure.retry_after;
        Self { retry_after, ..Self::new(failure.status, &failure.code, failure.message) }
    }
}

impl From<tool::Error> for Refusal {
    fn from(error: tool::Error) -> Self {
        Failure::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(Refused { error: self.error })).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Rewrites every failure under `/v1` (a missing key, a foreign host, a wrong method) into OpenAI's format.
pub(crate) async fn refusals(request: Request, next: Next) -> Response {
    let ours = request.uri().path().strip_prefix("/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let response = next.run(request).await;
    if !ours {
        return response;
    }
    let say = |status, code: &str, message: &str| {
        json!(Refused { error: Refusal::new(status, code, message.to_owned()).error })
    };
    reworded(response, say).await
}

async fn no_such_path(method: Method, uri: Uri) -> Refusal {
    let path: String = uri.path().chars().take(80).collect();
    let text = format!(
        "there is nothing at {method} /v1{path}: Hob takes POST /v1/chat/completions, /v1/responses and \
         /v1/embeddings, GET /v1/models and GET /v1/models/NAME"
    );
    Refusal::new(StatusCode::NOT_FOUND, "unknown_url", text)
}

/// A model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    /// Seconds since 1970: when this Hob was started.
    created: u64,
    owned_by: &'static str,
}

/// All models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// `hob`, the model behind it, and the embedding model.
fn model_list(house: &AppState) -> Vec<Model> {
    let created = house.started.millis() / 1000;
    let mut names = vec![HOB.to_owned(), house.agent.model()];
    names.dedup();
    names.push(EMBEDDING.to_owned());
    names.into_iter().map(|id| Model { id, object: "model", created, owned_by: HOB }).collect()
}

/// Lists the models.
pub(crate) async fn models(State(house): State<AppState>) -> axum::Json<Models> {
    axum::Json(Models { object: "list", data: model_list(&house) })
}

/// One model, by its id.
pub(crate) async fn model(State(house): State<AppState>, PathText(id): PathText) -> Result<axum::Json<Model>, Refusal> {
    one(&house, &id).map(axum::Json)
}

fn one(house: &AppState, id: &str) -> Result<Model, Refusal> {
    let all = model_list(house);
    let names: Vec<String> = all.iter().map(|m| m.id.clone()).collect();
    all.into_iter().find(|m| m.id == id).ok_or_else(|| no_model(id, &names))
}

/// Refuses a model that does not answer conversations.
fn check_chat_model(house: &AppState, id: &str) -> Result<(), Refusal> {
    let names = [HOB.to_owned(), house.agent.model()];
    if names.iter().any(|name| name == id) { Ok(()) } else { Err(no_model(id, &names)) }
}

fn no_model(id: &str, names: &[String]) -> Refusal {
    let id: String = id.chars().take(80).collect();
    let mut names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.dedup();
    let text = format!("there is no model `{id}` here: use {}", names.join(" or "));
    let mut refusal = Refusal::new(StatusCode::NOT_FOUND, "model_not_found", text);
    refusal.error.param = Some("model".into());
    refusal
}

/// A run that a request waits for; dropping it cancels the run.
pub(crate) struct AwaitedRun {
    pub agent: Agent,
    pub cx: Cx,
    pub running: RunHandle,
}

impl Drop for AwaitedRun {
    fn drop(&mut self) {
        self.agent.cancel(&self.cx, self.running.run);
    }
}

impl AwaitedRun {
    /// The next event; a run that ends without a final one has failed.
    pub async fn step(&mut self) -> RunEvent {
        let lost =
            || RunEvent::Error { code: "failed", message: "the run ended without an answer: the log has more".into() };
        self.running.steps.recv().await.unwrap_or_else(lost)
    }

    fn refusal(&self, code: &str, message: String) -> Refusal {
        Refusal::of_run(&self.running.status, code, message)
    }
}

/// Answers a conversation that the program keeps.
pub(crate) async fn complete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    OpenAiJson(mut body): OpenAiJson<Body>,
) -> Result<Streamable<axum::Json<Completion>>, Refusal> {
    check_chat_model(&house, &body.model)?;
    let (streamed, with_usage) = (body.streamed(), body.includes_usage());
    let cx = house.cx(&caller);
    let mut said = std::mem::take(&mut body.messages);
    let RequestOptions(complete) = body.try_into()?;
    pictures::fetch_all(&house, &cx, &mut said).await?;
    let complete = Complete { messages: wire::messages(said)?, ..complete };
    let mut waited = begin(house, cx, complete, "response_format")?;
    let head = Head::of(&waited.running);
    if !streamed {
        return whole(waited, head).await.map(|answer| Streamable::new(axum::Json(answer)));
    }
    // An error before the first text becomes a status code, which programs understand best.
    let first = waited.step().await;
    if let RunEvent::Error { code, message } = first {
        return Err(waited.refusal(code, message));
    }
    let events = chunks(waited, Chunks { head, with_usage, has_text: false, gap: false }, first);
    Ok(Streamable::new(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))))
}

/// Starts a run; `format` is the name of the format parameter.
fn begin(house: AppState, cx: Cx, complete: Complete, format: &str) -> Result<AwaitedRun, Refusal> {
    if complete.format.is_json() && !house.agent.writes_json() {
        let text = "without a model Hob answers in sentences and not in JSON: choose a model, or ask for text";
        return Err(Refusal::of(format, text).code("unsupported_value"));
    }
    let demanded = match &complete.tool_choice {
        ToolChoice::Named { name } => complete.tools.iter().any(|tool| tool.name == *name),
        choice => *choice == ToolChoice::Required,
    };
    if demanded && !house.agent.writes_json() {
        let text = "without a model Hob cannot be made to call a function: choose a model, or leave `tool_choice` out";
        return Err(Refusal::of("tool_choice", text).code("unsupported_value"));
    }
    let running = house.agent.complete(&cx, complete)?;
    Ok(AwaitedRun { agent: house.agent.clone(), cx, running })
}

/// The fields that every chunk carries.
struct Head {
    id: String,
    created: i64,
    status: Arc<RunStatus>,
}

impl Head {
    fn of(running: &RunHandle) -> Self {
        let created = jiff::Timestamp::now().as_second();
        Self { id: format!("chatcmpl-{}", running.run), created, status: running.status.clone() }
    }
}

/// The `system_fingerprint` of answers and chunks.
fn fingerprint() -> String {
    format!("hob-{}", env!("CARGO_PKG_VERSION"))
}

async fn whole(mut waited: AwaitedRun, head: Head) -> Result<Completion, Refusal> {
    loop {
        match waited.step().await {
            RunEvent::Done(answer) => {
                let Head { id, created, .. } = head;
                let (usage, model) = (Cost::from(answer.usage), answer.model.clone());
                let choices = vec![Choice::from(answer)];
                let system_fingerprint = fingerprint();
                return Ok(Completion {
                    id,
                    object: "chat.completion",
                    created,
                    model,
                    choices,
                    usage,
                    system_fingerprint,
                });
            }
            RunEvent::Error { code, message } => return Err(waited.refusal(code, message)),
            _ => {}
        }
    }
}

/// Turns run events into chunks.
struct Chunks {
    head: Head,
    /// Whether the last chunk has the usage.
    with_usage: bool,
    /// Whether there was text yet, and whether tools were called since.
    has_text: bool,
    gap: bool,
}

impl Chunks {
    fn of(&mut self, step: RunEvent) -> Vec<Value> {
        match step {
            RunEvent::Text { delta } => {
                // Text after a tool call is a new paragraph.
                let gap = std::mem::take(&mut self.gap) && self.has_text;
                self.has_text = true;
                vec![self.delta(json!({"content": if gap { format!("\n\n{delta}") } else { delta }}))]
            }
            RunEvent::ToolStart { .. } => {
                self.gap = true;
                vec![]
            }
            // Questions are asked at the page.
            RunEvent::Thinking { .. }
            | RunEvent::ToolEnd { .. }
            | RunEvent::Approval { .. }
            | RunEvent::Ask { .. }
            | RunEvent::Ui { .. }
            | RunEvent::Message { .. }
            | RunEvent::Media { .. }
            | RunEvent::Compacted { .. } => vec![],
            RunEvent::Done(answer) => self.end(answer),
            RunEvent::Error { code, message } => {
                let refused = Refused { error: Refusal::of_run(&self.head.status, code, message).error };
                vec![json!(refused)]
            }
        }
    }

    fn end(&self, answer: Answer) -> Vec<Value> {
        let (usage, finish) = (Cost::from(answer.usage), wire::finish_reason(&answer));
        let calls = handed_over(answer.handed_over).into_iter().enumerate().map(|(index, call)| {
            let mut call = json!(call);
            call["index"] = index.into();
            self.delta(json!({"tool_calls": [call]}))
        });
        let mut all: Vec<Value> = calls.collect();
        if let Some(refusal) = answer.refusal {
            all.insert(0, self.delta(json!({"refusal": refusal})));
        }
        all.push(self.chunk(json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish}])));
        if self.with_usage {
            let mut last = self.chunk(json!([]));
            last["usage"] = json!(usage);
            all.push(last);
        }
        all
    }

    fn delta(&self, delta: Value) -> Value {
        self.chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]))
    }

    fn chunk(&self, choices: Value) -> Value {
        let Head { id, created, status } = &self.head;
        let mut chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": status.model(),
            "system_fingerprint": fingerprint(),
            "choices": choices,
        });
        if self.with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// The role, a chunk per step, and `[DONE]`; after an error there is no `[DONE]`.
fn chunks(waited: AwaitedRun, chunks: Chunks, first: RunEvent) -> impl Stream<Item = Result<Event, Infallible>> {
    let role = chunks.delta(json!({"role": "assistant", "content": "", "refusal": null})).to_string();
    let rest = stream::unfold(Some((waited, chunks, Some(first))), |state| async {
        let (mut waited, mut chunks, first) = state?;
        let step = match first {
            Some(step) => step,
            None => waited.step().await,
        };
        let (done, failed) = (matches!(step, RunEvent::Done(_)), matches!(step, RunEvent::Error { .. }));
        let mut texts: Vec<String> = chunks.of(step).iter().map(Value::to_string).collect();
        if done {
            texts.push("[DONE]".to_owned());
        }
        let next = (!done && !failed).then_some((waited, chunks, None));
        Some((stream::iter(texts), next))
    });
    stream::iter([role]).chain(rest.flatten()).map(|data| Ok(Event::default().data(data)))
}
