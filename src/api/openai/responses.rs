//! `/v1/responses`: OpenAI's newer format over the same agent. Nothing is stored: the program sends the whole conversation
//! each time, as with chat completions, and `previous_response_id` is refused.

mod events;
mod items;

use super::{
    OpenAiJson, Refusal, begin, check_chat_model,
    options::{self, at_least_one, format_of, in_range},
    pictures, wire,
};
use crate::{AppState, Caller, KEEP_ALIVE, document::Streamable};
use agent::{Answer, Complete, FinishReason, RunEvent};
use axum::{
    Extension,
    extract::State,
    response::sse::{KeepAlive, Sse},
};
use llm::{ResponseFormat, Sampling, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool::prelude::{JsonSchema, schemars};

/// Parameters that do not change the answer.
const WITHOUT_EFFECT: &[&str] =
    &["user", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "stream_options"];
/// The only `include` that is accepted; it is empty here.
const INCLUDABLE: &str = "reasoning.encrypted_content";

/// A conversation to be answered.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Body {
    /// `hob`, or the model that `GET /v1/models` lists beside it.
    model: String,
    /// A text, or the items of the conversation: messages, `function_call` and `function_call_output`.
    #[schemars(with = "Input")]
    input: Value,
    /// Instructions beside those of Hob.
    instructions: Option<String>,
    /// Functions of the program.
    tools: Option<Vec<Function>>,
    /// `auto`, `none`, `required`, or the function to be called.
    #[serde(default)]
    tool_choice: Value,
    /// Whether several functions may be called at once.
    parallel_tool_calls: Option<bool>,
    /// Whether the answer is wanted as events.
    stream: Option<bool>,
    /// 0 to 2.
    temperature: Option<f64>,
    /// 0 to 1.
    top_p: Option<f64>,
    /// The most tokens of each turn of the model.
    max_output_tokens: Option<u32>,
    /// `{"format": {"type": "text"}}`, or a format `json_object` or `json_schema` with `name` and `schema`.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    text: Value,
    /// Up to 16 words of the program, which come back with the answer.
    metadata: Option<Map<String, Value>>,
    /// Hob stores no responses: true is refused.
    store: Option<bool>,
    #[schemars(skip)]
    previous_response_id: Option<String>,
    #[schemars(skip)]
    include: Option<Vec<String>>,
    #[schemars(skip)]
    truncation: Option<String>,
    #[schemars(skip)]
    background: Option<bool>,
    #[schemars(skip)]
    top_logprobs: Option<u64>,
    #[serde(default)]
    #[schemars(skip)]
    reasoning: Value,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

/// The input.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Input {
    Text(String),
    Items(Vec<Map<String, Value>>),
}

/// A function of the program.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Function {
    /// `function`.
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    /// JSON Schema.
    parameters: Option<Map<String, Value>>,
    strict: Option<bool>,
}

/// An answer in OpenAI's newer format.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Response {
    id: String,
    /// `response`.
    object: &'static str,
    /// Seconds since 1970.
    created_at: i64,
    /// `completed`, or `incomplete` where a length limit or a content filter cut it; in a stream also `in_progress` and `failed`.
    status: &'static str,
    error: Option<Value>,
    incomplete_details: Option<Value>,
    instructions: Option<String>,
    max_output_tokens: Option<u32>,
    metadata: Map<String, Value>,
    /// The model that answered.
    model: String,
    /// The message, and calls of the program's functions.
    output: Vec<Value>,
    parallel_tool_calls: bool,
    previous_response_id: Option<String>,
    /// False: Hob stores no responses.
    store: bool,
    temperature: Option<f64>,
    text: Value,
    tool_choice: Value,
    tools: Vec<Function>,
    top_p: Option<f64>,
    truncation: &'static str,
    usage: Option<Cost>,
}

/// Tokens used over all turns.
#[derive(Clone, Serialize, JsonSchema)]
struct Cost {
    input_tokens: u64,
    input_tokens_details: Value,
    output_tokens: u64,
    output_tokens_details: Value,
    total_tokens: u64,
}

impl From<Usage> for Cost {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            input_tokens_details: json!({"cached_tokens": usage.cached_tokens}),
            output_tokens: usage.completion_tokens,
            output_tokens_details: json!({"reasoning_tokens": 0}),
            total_tokens: usage.total_tokens,
        }
    }
}

/// Answers a conversation that the program keeps.
pub(crate) async fn respond(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    OpenAiJson(body): OpenAiJson<Body>,
) -> Result<Streamable<axum::Json<Response>>, Refusal> {
    check_chat_model(&house, &body.model)?;
    body.refuse_the_impossible()?;
    let mut response = Response::to(&body);
    let streamed = body.stream.unwrap_or_default();
    let cx = house.cx(&caller);
    let mut said = items::said(body.instructions.as_deref(), &body.input)?;
    let complete = body.complete()?;
    pictures::fetch_all(&house, &cx, &mut said).await.map_err(in_input)?;
    let complete = Complete { messages: wire::messages(said).map_err(in_input)?, ..complete };
    let mut waited = begin(house, cx, complete, "text.format")?;
    response.id = format!("resp_{}", waited.running.run);
    let first = waited.step().await;
    if let RunEvent::Error { code, message } = first {
        return Err(in_input(waited.refusal(code, message)));
    }
    if streamed {
        let events = Sse::new(events::stream_of(waited, response, first));
        return Ok(Streamable::new(events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE))));
    }
    let mut step = first;
    loop {
        match step {
            RunEvent::Done(answer) => {
                let text = answer.response.clone();
                return Ok(Streamable::new(axum::Json(response.ended(answer, text))));
            }
            RunEvent::Error { code, message } => return Err(in_input(waited.refusal(code, message))),
            _ => step = waited.step().await,
        }
    }
}

/// Renames the parameter of an error from chat completions to this API.
fn in_input(mut refusal: Refusal) -> Refusal {
    let param = match refusal.error.param.as_deref() {
        Some(param) if param.starts_with("messages") => "input",
        Some("response_format") => "text.format",
        _ => return refusal,
    };
    refusal.error.param = Some(param.to_owned());
    refusal
}

impl Body {
    fn refuse_the_impossible(&self) -> Result<(), Refusal> {
        options::known(&self.rest, WITHOUT_EFFECT)?;
        let refuse = |param: &str, text: &str| Err(Refusal::of(param, text).code("unsupported_parameter"));
        if self.previous_response_id.is_some() {
            let text =
                "Hob stores no responses: leave `previous_response_id` out, and send the whole conversation as `input`";
            return refuse("previous_response_id", text);
        }
        if self.store == Some(true) {
            return refuse("store", "Hob stores no responses, the program keeps the conversation: leave `store` out");
        }
        if self.background == Some(true) {
            return refuse("background", "Hob answers while the program waits: leave `background` out");
        }
        if self.truncation.as_deref().is_some_and(|t| !["disabled", "auto"].contains(&t)) {
            return refuse("truncation", "`truncation` is `auto` or `disabled`");
        }
        if self.top_logprobs.is_some_and(|n| n > 0) {
            return refuse("top_logprobs", "Hob has no log probabilities: leave `top_logprobs` out");
        }
        if self.include.iter().flatten().any(|i| i != INCLUDABLE) {
            return refuse("include", "Hob has nothing of that to include: leave `include` out");
        }
        if self.reasoning.as_object().is_some_and(|r| r.values().any(|v| !v.is_null())) {
            return refuse("reasoning", "how much a model thinks is its own choice here: leave `reasoning` out");
        }
        if !self.text["verbosity"].is_null() {
            return refuse("text.verbosity", "Hob has no verbosity to set: leave `text.verbosity` out");
        }
        Ok(())
    }

    /// The request to the agent, without messages.
    fn complete(self) -> Result<Complete, Refusal> {
        let format = match &self.text["format"] {
            Value::Null => ResponseFormat::Text,
            format => format_of(format, format, "text.format")?,
        };
        let sampling = Sampling {
            max_tokens: at_least_one("max_output_tokens", self.max_output_tokens)?,
            temperature: in_range("temperature", self.temperature, 0.0, 2.0)?,
            top_p: in_range("top_p", self.top_p, 0.0, 1.0)?,
            ..Sampling::default()
        };
        let tool = |f: Function| {
            let Function { kind, name, description, parameters, strict } = f;
            let function = name.map(|name| wire::Function { name, description, parameters, strict });
            wire::Tool { kind, function }
        };
        let (tools, strict) = wire::definitions(self.tools.unwrap_or_default().into_iter().map(tool).collect())?;
        let named = self.tool_choice["name"].as_str().filter(|_| self.tool_choice["type"] == "function");
        let tool_choice = match named {
            Some(name) => wire::choice(&json!({"type": "function", "function": {"name": name}}))?,
            None => wire::choice(&self.tool_choice)?,
        };
        let one_at_a_time = self.parallel_tool_calls == Some(false);
        Ok(Complete { messages: vec![], tools, strict, tool_choice, one_at_a_time, sampling, format })
    }
}

impl Response {
    /// A response in progress, which echoes the request.
    fn to(body: &Body) -> Self {
        let format = Some(&body.text["format"]).filter(|f| !f.is_null()).cloned();
        Self {
            id: String::new(),
            object: "response",
            created_at: jiff::Timestamp::now().as_second(),
            status: "in_progress",
            error: None,
            incomplete_details: None,
            instructions: body.instructions.clone(),
            max_output_tokens: body.max_output_tokens,
            metadata: body.metadata.clone().unwrap_or_default(),
            model: body.model.clone(),
            output: vec![],
            parallel_tool_calls: body.parallel_tool_calls.unwrap_or(true),
            previous_response_id: None,
            store: false,
            temperature: body.temperature,
            text: json!({"format": format.unwrap_or_else(|| json!({"type": "text"}))}),
            tool_choice: Some(&body.tool_choice).filter(|c| !c.is_null()).cloned().unwrap_or_else(|| "auto".into()),
            tools: body.tools.clone().unwrap_or_default(),
            top_p: body.top_p,
            truncation: "disabled",
            usage: None,
        }
    }

    /// The finished response with this text.
    fn ended(mut self, answer: Answer, text: String) -> Self {
        let reason = match answer.finish_reason {
            FinishReason::ContentFilter => Some("content_filter"),
            _ if answer.cut => Some("max_output_tokens"),
            _ => None,
        };
        let status = if reason.is_some() { "incomplete" } else { "completed" };
        self.status = status;
        self.incomplete_details = reason.map(|reason| json!({"reason": reason}));
        if !text.is_empty() || answer.refusal.is_some() || answer.handed_over.is_empty() {
            self.output.push(message(&self.id, status, &text, answer.refusal.as_deref()));
        }
        self.output.extend(answer.handed_over.iter().map(|call| function_call(call, "completed")));
        self.model = answer.model;
        self.usage = Some(answer.usage.into());
        self
    }
}

/// The message of a response.
fn message(response: &str, status: &str, text: &str, refusal: Option<&str>) -> Value {
    let text = Some(text).filter(|text| !text.is_empty() || refusal.is_none()).map(output_text);
    let content = match status {
        "in_progress" => vec![],
        _ => text.into_iter().chain(refusal.map(refusal_part)).collect(),
    };
    json!({"id": message_id(response), "type": "message", "status": status, "role": "assistant", "content": content})
}

fn message_id(response: &str) -> String {
    response.replacen("resp_", "msg_", 1)
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn refusal_part(refusal: &str) -> Value {
    json!({"type": "refusal", "refusal": refusal})
}

fn function_call(call: &ToolCall, status: &str) -> Value {
    let arguments = if status == "in_progress" { "" } else { &call.arguments };
    json!({
        "id": format!("fc_{}", call.id),
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
    })
}
