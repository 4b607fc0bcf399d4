//! Ollama's API: `/api/tags`, `/api/chat` and others. As in [`crate::openai`] the whole agent answers, and the program keeps the
//! conversation and runs its own tools.
//!
//! `format` and the sampling options are honoured as there; log probabilities are refused. `keep_alive` and options of
//! an engine, such as `num_ctx`, are ignored.

mod wire;

use crate::{
    AppState, Caller, KEEP_ALIVE,
    chat::run_failure,
    describe::{DescribeInput, DescribeOutput, Operation, Routes, Schemas, get, post},
    document::refused_in_shape,
    envelope::{self, Failure, reworded},
    openai::{self, AwaitedRun},
};
use agent::{Answer, RunEvent};
use axum::{
    Extension,
    body::Body,
    extract::{FromRequest, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, stream};
use identity::TokenScope;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{convert::Infallible, time::Instant};
use tool::prelude::{JsonSchema, schemars};
use wire::{ChatBody, End, GenerateBody, Line, OllamaRequest, Reply, RequestKind};

/// The only model, and its name with the tag that programs add.
const HOB: &str = "hob";
const TAGGED: &str = "hob:latest";
/// The version of Ollama's API that is implemented.
const API_VERSION: &str = "0.12.0";
/// The content type of streamed answers.
const NDJSON: &str = "application/x-ndjson";

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/api/chat",
            post(chat, "Answer a conversation that the program keeps, in Ollama's format.").max_body(openai::MAX_BODY),
        )
        .route("/api/generate", post(generate, "Answer a prompt, in Ollama's format.").max_body(openai::MAX_BODY))
        .route("/api/tags", get(tags, "The models there are, in Ollama's format."))
        .route("/api/ps", get(running, "The models that are loaded, in Ollama's format."))
        .route("/api/show", post(show, "One model, in Ollama's format."))
        .route("/api/version", get(version, "The version of Ollama's API that is spoken here."))
        .scope(TokenScope::Chat)
        .all(Refused::describe)
}

/// A failure in Ollama's format.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    message: String,
    retry_after: Option<u64>,
}

/// Why a request was refused.
#[derive(Serialize, JsonSchema)]
struct OllamaError {
    /// A sentence for people: what to do.
    error: String,
}

impl Refused {
    pub fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), retry_after: None }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { status: failure.status, message: failure.message, retry_after: failure.retry_after }
    }
}

impl From<tool::Error> for Refused {
    fn from(error: tool::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<openai::Refusal> for Refused {
    fn from(refusal: openai::Refusal) -> Self {
        let (status, message) = refusal.into_parts();
        Self { status, message, retry_after: None }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(OllamaError { error: self.message })).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl DescribeOutput for Refused {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        refused_in_shape::<OllamaError>(schemas, operation);
    }
}

/// Rewrites every failure at these addresses into Ollama's format.
pub(crate) async fn refusals(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let ours = path.starts_with("/api/") && path != "/api/v1" && !path.starts_with("/api/v1/");
    let response = next.run(request).await;
    if !ours {
        return response;
    }
    reworded(response, |_, _, message| json!({"error": message})).await
}

/// A JSON body whose errors have Ollama's format.
pub(crate) struct OllamaJson<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OllamaJson<T> {
    type Rejection = Refused;

    async fn from_request(mut request: Request, _: &S) -> Result<Self, Refused> {
        // Ollama accepts any content type. Only sessions need the right one: a page of another site cannot send a token.
        if request.headers().contains_key(header::AUTHORIZATION) {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(Self(envelope::json(request).await?))
    }
}

impl<T: JsonSchema> DescribeInput for OllamaJson<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let body = schemas.input_schema::<T>();
        operation.takes(body);
    }
}

/// An answer, whole or line by line.
pub(crate) struct Lines(Response);

impl IntoResponse for Lines {
    fn into_response(self) -> Response {
        self.0
    }
}

impl DescribeOutput for Lines {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        for kind in ["application/json", NDJSON] {
            let (about, schema) = (schemas.about::<Line>(), schemas.output_schema::<Line>());
            operation.answer(200, &about, kind, schema);
        }
    }
}

/// The version of Ollama's API.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OllamaVersion")]
pub(crate) struct Version {
    version: &'static str,
}

pub(crate) async fn version() -> Result<axum::Json<Version>, Refused> {
    Ok(axum::Json(Version { version: API_VERSION }))
}

/// Details of the model; Hob has none of Ollama's.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OllamaDetails")]
struct Details {
    parent_model: &'static str,
    format: &'static str,
    family: &'static str,
    families: [&'static str; 1],
    parameter_size: &'static str,
    quantization_level: &'static str,
}

const DETAILS: Details =
    Details { parent_model: "", format: HOB, family: HOB, families: [HOB], parameter_size: "", quantization_level: "" };

/// A model in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OllamaModel")]
struct Model {
    name: &'static str,
    model: &'static str,
    /// When this Hob was started, in RFC 3339.
    modified_at: String,
    /// 0: what answers takes no room of its own.
    size: u64,
    /// SHA-256 of name and version, in hexadecimal digits.
    digest: String,
    details: Details,
    /// Of those that are loaded: when that ends, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Of those that are loaded: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_vram: Option<u64>,
}

/// All models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OllamaModels {
    models: Vec<Model>,
}

fn modified(house: &AppState) -> String {
    let started = i64::try_from(house.started.millis()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    started.unwrap_or_default().to_string()
}

fn hob(house: &AppState) -> Model {
    use sha2::Digest;
    let hash = sha2::Sha256::digest(concat!("hob ", env!("CARGO_PKG_VERSION")));
    let digest = hash.iter().map(|b| format!("{b:02x}")).collect();
    let modified_at = modified(house);
    let details = DETAILS;
    Model { name: TAGGED, model: TAGGED, modified_at, size: 0, digest, details, expires_at: None, size_vram: None }
}

pub(crate) async fn tags(State(house): State<AppState>) -> Result<axum::Json<OllamaModels>, Refused> {
    Ok(axum::Json(OllamaModels { models: vec![hob(&house)] }))
}

/// Hob is always loaded.
pub(crate) async fn running(State(house): State<AppState>) -> Result<axum::Json<OllamaModels>, Refused> {
    let model = Model { expires_at: Some("2318-01-01T00:00:00Z".into()), size_vram: Some(0), ..hob(&house) };
    Ok(axum::Json(OllamaModels { models: vec![model] }))
}

/// Which model is to be shown.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Which {
    /// `hob`.
    #[serde(alias = "name")]
    model: String,
}

/// A model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OllamaModelShown")]
pub(crate) struct Shown {
    modelfile: &'static str,
    parameters: &'static str,
    template: &'static str,
    license: &'static str,
    modified_at: String,
    details: Details,
    model_info: Value,
    /// Its capabilities.
    capabilities: [&'static str; 3],
}

pub(crate) async fn show(
    State(house): State<AppState>,
    OllamaJson(which): OllamaJson<Which>,
) -> Result<axum::Json<Shown>, Refused> {
    is_known(&which.model)?;
    Ok(axum::Json(Shown {
        modelfile: "",
        parameters: "",
        template: "",
        license: "",
        modified_at: modified(&house),
        details: DETAILS,
        model_info: json!({"general.architecture": HOB, "general.basename": HOB}),
        capabilities: ["completion", "tools", "vision"],
    }))
}

fn is_known(model: &str) -> Result<(), Refused> {
    if model == HOB || model == TAGGED {
        return Ok(());
    }
    let model: String = model.chars().take(80).collect();
    let message = format!("model '{model}' not found: use `{HOB}`");
    Err(Refused { status: StatusCode::NOT_FOUND, message, retry_after: None })
}

/// The address that answers.
#[derive(Clone, Copy)]
enum Shape {
    Chat,
    Generate,
}

pub(crate) async fn chat(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    OllamaJson(body): OllamaJson<ChatBody>,
) -> Result<Lines, Refused> {
    let asked = body.asked(&house.agent, &house.cx(&caller))?;
    answer(house, &caller, asked, Shape::Chat).await
}

pub(crate) async fn generate(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    OllamaJson(body): OllamaJson<GenerateBody>,
) -> Result<Lines, Refused> {
    let asked = body.asked()?;
    answer(house, &caller, asked, Shape::Generate).await
}

async fn answer(house: AppState, caller: &Caller, asked: OllamaRequest, shape: Shape) -> Result<Lines, Refused> {
    is_known(&asked.model)?;
    let mut writer = Writer { model: asked.model, thinks: asked.thinks, shape, began: Instant::now(), first: None };
    let complete = match asked.what {
        RequestKind::Answer(complete) => *complete,
        RequestKind::Loaded(reason) => {
            let end = writer.line(Reply::new(String::new()), Some(writer.end(reason, 0, 0)));
            return Ok(writer.whole(&end, asked.streamed));
        }
    };
    let cx = house.cx(caller);
    let running = house.agent.complete(&cx, complete)?;
    let mut waited = AwaitedRun { agent: house.agent.clone(), cx, running };
    if !asked.streamed {
        let mut thoughts = String::new();
        loop {
            match waited.step().await {
                RunEvent::Thinking { text } => thoughts += &text,
                RunEvent::Done(answer) => {
                    let line = writer.all(answer, thoughts);
                    return Ok(writer.whole(&line, false));
                }
                RunEvent::Error { code, message } => return Err(run_failure(code, message).into()),
                _ => writer.begins(),
            }
        }
    }
    // An error before the first text becomes a status code.
    let first = waited.step().await;
    if let RunEvent::Error { code, message } = first {
        return Err(run_failure(code, message).into());
    }
    let headers = [(header::CONTENT_TYPE, NDJSON)];
    Ok(Lines((headers, Body::from_stream(lines(waited, writer, first))).into_response()))
}

/// Writes lines of an answer.
struct Writer {
    /// As the client requested it: programs compare it.
    model: String,
    thinks: bool,
    shape: Shape,
    began: Instant,
    /// The time of the first words.
    first: Option<Instant>,
}

impl Writer {
    fn begins(&mut self) {
        self.first.get_or_insert_with(Instant::now);
    }

    fn line(&self, reply: Reply, end: Option<End>) -> Line {
        let (model, created_at) = (self.model.clone(), jiff::Timestamp::now().to_string());
        let done = end.is_some();
        let (message, response, thinking) = match self.shape {
            Shape::Chat => (Some(reply), None, None),
            Shape::Generate => (None, Some(reply.content), reply.thinking),
        };
        Line { model, created_at, message, response, thinking, done, end }
    }

    fn end(&self, done_reason: &'static str, read: u64, written: u64) -> End {
        let nanos = |since: Instant, until: Instant| (until - since).as_nanos() as u64;
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        End {
            done_reason,
            total_duration: nanos(self.began, now),
            load_duration: 0,
            prompt_eval_count: read,
            prompt_eval_duration: nanos(self.began, first),
            eval_count: written,
            eval_duration: nanos(first, now),
        }
    }

    fn end_of(&self, answer: &Answer) -> End {
        let reason = if answer.cut && answer.handed_over.is_empty() { "length" } else { "stop" };
        self.end(reason, answer.usage.prompt_tokens, answer.usage.completion_tokens)
    }

    /// The whole answer in a line.
    fn all(&self, answer: Answer, thoughts: String) -> Line {
        let (end, tool_calls) = (self.end_of(&answer), wire::handed_over(&answer));
        let text = answer.response + answer.refusal.as_deref().unwrap_or_default();
        let thinking = Some(thoughts).filter(|text| self.thinks && !text.is_empty());
        self.line(Reply { thinking, tool_calls, ..Reply::new(text) }, Some(end))
    }

    fn whole(&self, line: &Line, streamed: bool) -> Lines {
        let kind = if streamed { NDJSON } else { "application/json" };
        let ending = if streamed { "\n" } else { "" };
        let text = serde_json::to_string(line).unwrap_or_default() + ending;
        Lines(([(header::CONTENT_TYPE, kind)], text).into_response())
    }

    /// The lines of a step.
    fn of(&mut self, step: RunEvent, gap: &mut Gap) -> Vec<Value> {
        match step {
            RunEvent::Text { delta } => {
                self.begins();
                let text = gap.before(delta);
                vec![json!(self.line(Reply::new(text), None))]
            }
            RunEvent::Thinking { text } if self.thinks => {
                self.begins();
                let reply = Reply { thinking: Some(text), ..Reply::new(String::new()) };
                vec![json!(self.line(reply, None))]
            }
            RunEvent::ToolStart { .. } => {
                gap.opens();
                vec![]
            }
            RunEvent::Done(answer) => {
                let (end, tool_calls) = (self.end_of(&answer), wire::handed_over(&answer));
                let calls = (!tool_calls.is_empty())
                    .then(|| json!(self.line(Reply { tool_calls, ..Reply::new(String::new()) }, None)));
                let refusal = answer.refusal.map(|text| json!(self.line(Reply::new(text.into()), None)));
                let last = json!(self.line(Reply::new(String::new()), Some(end)));
                refusal.into_iter().chain(calls).chain([last]).collect()
            }
            RunEvent::Error { message, .. } => vec![json!(OllamaError { error: message })],
            // The rest is for Hob's own page.
            _ => vec![],
        }
    }
}

/// Begins a paragraph when words follow a call of a tool.
#[derive(Default)]
struct Gap {
    said: bool,
    open: bool,
}

impl Gap {
    fn opens(&mut self) {
        self.open = true;
    }

    fn before(&mut self, delta: String) -> String {
        let gap = std::mem::take(&mut self.open) && self.said;
        self.said = true;
        if gap { format!("\n\n{delta}") } else { delta }
    }
}

/// Streams every step as lines. While a run is quiet, empty words show that it is alive, because the format has no
/// comments.
fn lines(waited: AwaitedRun, writer: Writer, first: RunEvent) -> impl Stream<Item = Result<String, Infallible>> {
    let begin = Some((waited, writer, Gap::default(), Some(first)));
    let rest = stream::unfold(begin, |state| async {
        let (mut waited, mut writer, mut gap, first) = state?;
        let step = match first {
            Some(step) => Some(step),
            None => tokio::time::timeout(KEEP_ALIVE, waited.step()).await.ok(),
        };
        let over = matches!(step, Some(RunEvent::Done(_) | RunEvent::Error { .. }));
        let lines = match step {
            Some(step) => writer.of(step, &mut gap),
            None => vec![json!(writer.line(Reply::new(String::new()), None))],
        };
        let texts: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Some((texts, (!over).then_some((waited, writer, gap, None))))
    });
    rest.filter(|text| std::future::ready(!text.is_empty())).map(Ok)
}
