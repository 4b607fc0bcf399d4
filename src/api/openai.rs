//! `/v1`: OpenAI's chat completions, for programs that speak nothing else. Hob's whole agent answers: its prompt, its memory
//! and its tools stand behind every request, and the program keeps the conversation.
//!
//! Understood are `model`, `messages`, `tools`, `tool_choice`, `parallel_tool_calls`, `stream` and `stream_options`. What would
//! change the shape of the answer and cannot be had is refused (`n` above 1, a `response_format` other than text, log
//! probabilities, sound, the old `functions`); everything else only tunes a model, and is passed over.
//!
//! Tools of the program are offered to the model beside Hob's own. A call of one ends the answer with `tool_calls`, after Hob
//! has made its own calls of that turn; those stay out of the program's sight, and Hob remembers them for the next request.

pub(crate) mod wire;

use crate::{
    Caller, House, KEEP_ALIVE,
    chat::unanswered,
    describe::{Given, Operation, Routes, Schemas, Taken, get, post},
    document::{Streamable, refused_in_shape},
    envelope::{self, Failure, PathText, WITH_PICTURES},
    wrong_method,
};
use agent::{Agent, Answer, Running, Step};
use axum::{
    Extension,
    body::to_bytes,
    extract::{FromRequest, Request, State},
    http::{Method, StatusCode, Uri, header},
    middleware::Next,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use tool::{
    Cx,
    prelude::{JsonSchema, schemars},
};
use wire::{Body, Choice, Completion, Cost, Kept, handed_over};

/// The model that is whatever answers now.
const HOB: &str = "hob";
/// How long a refusal of the house may be, in bytes.
const REFUSAL: usize = 64 * 1024;

pub(crate) fn routes() -> Routes<House> {
    Routes::new()
        .route("/chat/completions", post(complete, "Answer a conversation that the program keeps, in OpenAI's format."))
        .route("/models", get(models, "The models there are, in OpenAI's format."))
        .route("/models/{*id}", get(model, "One model, in OpenAI's format."))
        .all(Refusal::describe)
        .with(|router| router.method_not_allowed_fallback(wrong_method).fallback(no_such_path))
}

/// What goes wrong here is told in OpenAI's words, also by those who stand before the handlers.
impl Given for Refusal {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        refused_in_shape::<Refused>(schemas, operation);
    }
}

/// The body of a request, whose faults are told in OpenAI's words.
pub(crate) struct Asked<T>(T);

impl<T: serde::de::DeserializeOwned, S: Send + Sync> FromRequest<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        Ok(Self(envelope::json(request, WITH_PICTURES).await?))
    }
}

impl<T: JsonSchema> Taken for Asked<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let body = schemas.taken::<T>();
        operation.takes(body);
    }
}

/// A refusal in OpenAI's words.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: Why,
}

/// What such a refusal looks like.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Refused {
    error: Why,
}

/// Why a request was refused.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Why {
    /// A sentence for people: what to do.
    message: String,
    /// What sort of refusal it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The part of the request that is meant.
    param: Option<String>,
    /// A stable word for programs.
    code: Option<String>,
}

impl Refusal {
    /// The request is not what this address takes; `param` names the part.
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
            403 => "permission_error",
            429 => "rate_limit_error",
            // The model behind us failed.
            424 | 500.. => "server_error",
            _ => "invalid_request_error",
        };
        let code = match code {
            "unauthorized" => "invalid_api_key",
            "too_many_tries" => "rate_limit_exceeded",
            "bad_args" => "invalid_value",
            other => other,
        };
        Self { status, error: Why { message, kind, param: None, code: Some(code.to_owned()) } }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::new(failure.status, &failure.code, failure.message)
    }
}

impl From<tool::Error> for Refusal {
    fn from(error: tool::Error) -> Self {
        Failure::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, axum::Json(Refused { error: self.error })).into_response()
    }
}

/// Around the whole house: what it refuses under `/v1` (a missing key, a foreign host, a wrong method) is said in OpenAI's
/// words, because the programs that come here understand no others.
pub(crate) async fn refusals(request: Request, next: Next) -> Response {
    let ours = request.uri().path().strip_prefix("/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let response = next.run(request).await;
    let status = response.status();
    if !ours || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, REFUSAL).await.unwrap_or_default();
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |of: &Value| of.as_str().map(str::to_owned);
    match (said.get("success"), text(&said["error"]["message"]), text(&said["error"]["code"])) {
        (Some(_), Some(message), Some(code)) => {
            let refusal = Refused { error: Refusal::new(status, &code, message).error };
            parts.headers.remove(header::CONTENT_LENGTH);
            (parts, axum::Json(refusal)).into_response()
        }
        // Said in the right words already.
        _ => Response::from_parts(parts, bytes.into()),
    }
}

async fn no_such_path(method: Method, uri: Uri) -> Refusal {
    let path: String = uri.path().chars().take(80).collect();
    let text = format!(
        "there is nothing at {method} /v1{path}: Hob takes POST /v1/chat/completions, GET /v1/models and GET /v1/models/NAME"
    );
    Refusal::new(StatusCode::NOT_FOUND, "unknown_url", text)
}

/// A model that can be asked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    /// Seconds since 1970: when this Hob was started.
    created: u64,
    owned_by: &'static str,
}

/// Every model that can be asked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// `hob`, and what answers under that name now.
fn known(house: &House) -> Vec<Model> {
    let created = house.started.millis() / 1000;
    let mut names = vec![HOB.to_owned(), house.agent.model()];
    names.dedup();
    names.into_iter().map(|id| Model { id, object: "model", created, owned_by: HOB }).collect()
}

/// The models that can be asked for.
pub(crate) async fn models(State(house): State<House>) -> axum::Json<Models> {
    axum::Json(Models { object: "list", data: known(&house) })
}

/// One model, by its id.
pub(crate) async fn model(State(house): State<House>, PathText(id): PathText) -> Result<axum::Json<Model>, Refusal> {
    one(&house, &id).map(axum::Json)
}

fn one(house: &House, id: &str) -> Result<Model, Refusal> {
    let all = known(house);
    let names: Vec<String> = all.iter().map(|m| format!("`{}`", m.id)).collect();
    all.into_iter().find(|m| m.id == id).ok_or_else(|| {
        let id: String = id.chars().take(80).collect();
        let text = format!("there is no model `{id}` here: use {}", names.join(" or "));
        let mut refusal = Refusal::new(StatusCode::NOT_FOUND, "model_not_found", text);
        refusal.error.param = Some("model".into());
        refusal
    })
}

/// A run somebody waits for. When they leave it is stopped: nobody else will ever hear of it.
pub(crate) struct Waited {
    pub agent: Agent,
    pub cx: Cx,
    pub running: Running,
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.agent.cancel(&self.cx, self.running.run);
    }
}

impl Waited {
    /// The next step; a run that ends without a last one has failed.
    pub async fn step(&mut self) -> Step {
        let lost =
            || Step::Error { code: "failed", message: "the run ended without an answer: the log has more".into() };
        self.running.steps.recv().await.unwrap_or_else(lost)
    }
}

/// Answers a conversation that the program keeps.
pub(crate) async fn complete(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Asked(body): Asked<Body>,
) -> Result<Streamable<axum::Json<Completion>>, Refusal> {
    one(&house, &body.model)?;
    let (streamed, told) = (body.streamed(), body.usage_told());
    let Kept(complete) = body.try_into()?;
    let cx = house.cx(&caller);
    let running = house.agent.complete(&cx, complete)?;
    let mut waited = Waited { agent: house.agent, cx, running };
    let head = Head::of(&waited.running);
    if !streamed {
        return whole(waited, head).await.map(|answer| Streamable::new(axum::Json(answer)));
    }
    // What goes wrong before anything was said is told by the status, which programs understand best.
    let first = waited.step().await;
    if let Step::Error { code, message } = first {
        return Err(unanswered(code, message).into());
    }
    let events = chunks(waited, Chunks { head, told, said: false, gap: false }, first);
    Ok(Streamable::new(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))))
}

/// What every piece of an answer carries.
struct Head {
    id: String,
    created: i64,
    model: String,
}

impl Head {
    fn of(running: &Running) -> Self {
        let created = jiff::Timestamp::now().as_second();
        Self { id: format!("chatcmpl-{}", running.run), created, model: running.model.clone() }
    }
}

/// The same, of an answer or of a piece of one.
fn fingerprint() -> String {
    format!("hob-{}", env!("CARGO_PKG_VERSION"))
}

async fn whole(mut waited: Waited, head: Head) -> Result<Completion, Refusal> {
    loop {
        match waited.step().await {
            Step::Done(answer) => {
                let Head { id, created, model } = head;
                let (usage, choices) = (Cost::from(answer.usage), vec![Choice::from(answer)]);
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
            Step::Error { code, message } => return Err(unanswered(code, message).into()),
            _ => {}
        }
    }
}

/// Makes chunks of steps.
struct Chunks {
    head: Head,
    /// Whether what it cost is told at the end.
    told: bool,
    /// Whether anything was said yet, and whether tools were called since.
    said: bool,
    gap: bool,
}

impl Chunks {
    fn of(&mut self, step: Step) -> Vec<Value> {
        match step {
            Step::Text { delta } => {
                // What is said after a tool was called is a new paragraph.
                let gap = std::mem::take(&mut self.gap) && self.said;
                self.said = true;
                vec![self.delta(json!({"content": if gap { format!("\n\n{delta}") } else { delta }}))]
            }
            Step::ToolStart { .. } => {
                self.gap = true;
                vec![]
            }
            // Who speaks through a program is asked at the page.
            Step::Thinking { .. }
            | Step::ToolEnd { .. }
            | Step::Approval { .. }
            | Step::Ask { .. }
            | Step::Ui { .. }
            | Step::Message { .. }
            | Step::Media { .. }
            | Step::Compacted { .. } => vec![],
            Step::Done(answer) => self.end(answer),
            Step::Error { code, message } => {
                let refused = Refused { error: Refusal::from(unanswered(code, message)).error };
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
        all.push(self.chunk(json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish}])));
        if self.told {
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
        let Head { id, created, model } = &self.head;
        let mut chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "system_fingerprint": fingerprint(),
            "choices": choices,
        });
        if self.told {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// The role, every step as it happens, and the mark of the end. After an error there is no such mark.
fn chunks(waited: Waited, chunks: Chunks, first: Step) -> impl Stream<Item = Result<Event, Infallible>> {
    let role = chunks.delta(json!({"role": "assistant", "content": "", "refusal": null})).to_string();
    let rest = stream::unfold(Some((waited, chunks, Some(first))), |state| async {
        let (mut waited, mut chunks, first) = state?;
        let step = match first {
            Some(step) => step,
            None => waited.step().await,
        };
        let (done, failed) = (matches!(step, Step::Done(_)), matches!(step, Step::Error { .. }));
        let mut texts: Vec<String> = chunks.of(step).iter().map(Value::to_string).collect();
        if done {
            texts.push("[DONE]".to_owned());
        }
        let next = (!done && !failed).then_some((waited, chunks, None));
        Some((stream::iter(texts), next))
    });
    stream::iter([role]).chain(rest.flatten()).map(|data| Ok(Event::default().data(data)))
}
