//! Requests and answers in Ollama's format, and their translation to the agent's.

use super::Refused;
use crate::{
    chat::decode_base64,
    openai::{
        options::{format_of, in_range, stops_of},
        wire::{Tool, definitions},
    },
};
use agent::{Agent, Answer, Complete};
use llm::{Content, Kind, Media, Message, Part, ResponseFormat, Sampling, Source, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool::{
    Cx,
    prelude::{JsonSchema, schemars},
};

/// The most images of a message.
const IMAGES: usize = 20;

/// A conversation to be answered. Parameters that are not named here only tune an engine, and are ignored.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChatBody {
    /// `hob`.
    model: String,
    /// The whole conversation, the oldest message first. Without any the model counts as loaded.
    #[serde(default)]
    messages: Option<Vec<Sent>>,
    /// Tools of the caller.
    tools: Option<Vec<Value>>,
    /// Whether the answer comes line by line; true unless it is false.
    stream: Option<bool>,
    #[serde(flatten)]
    common: Common,
}

/// A prompt to be answered, without a conversation.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GenerateBody {
    /// `hob`.
    model: String,
    /// The prompt. Without it the model counts as loaded.
    #[serde(default)]
    prompt: Option<String>,
    /// Instructions of the caller.
    system: Option<String>,
    /// Images in base64.
    images: Option<Vec<String>>,
    /// Whether the answer comes line by line; true unless it is false.
    stream: Option<bool>,
    #[schemars(skip)]
    suffix: Option<String>,
    #[schemars(skip)]
    template: Option<String>,
    #[schemars(skip)]
    raw: Option<bool>,
    #[schemars(skip)]
    context: Option<Vec<i64>>,
    #[serde(flatten)]
    common: Common,
}

/// Options of both endpoints.
#[derive(Deserialize, JsonSchema)]
struct Common {
    /// Whether thoughts of the model are shown: true, false or how much.
    think: Option<Value>,
    /// `json`, or the JSON schema of the answer; an empty string counts as none.
    #[serde(default)]
    format: Value,
    /// How the answer is sampled; null counts as none.
    options: Option<Options>,
    /// Ignored, but for 0 without a message: the model counts as unloaded then.
    keep_alive: Option<Value>,
    #[schemars(skip)]
    logprobs: Option<bool>,
    #[schemars(skip)]
    top_logprobs: Option<u64>,
}

/// How an answer is sampled. Others tune an engine that Hob does not run, and are ignored.
#[derive(Deserialize, JsonSchema, Default)]
struct Options {
    /// 0 to 2.
    temperature: Option<f64>,
    /// 0 to 1.
    top_p: Option<f64>,
    /// Sample from the so many likeliest tokens, where the model's server can.
    top_k: Option<u32>,
    /// The most tokens of the answer; -1 is any number.
    num_predict: Option<i64>,
    /// A text, or a list of texts, before which the answer ends.
    stop: Option<Value>,
    /// Makes answers repeatable, as far as the model's server can.
    seed: Option<i64>,
    /// -2 to 2.
    presence_penalty: Option<f64>,
    /// -2 to 2.
    frequency_penalty: Option<f64>,
}

/// One message.
#[derive(Deserialize, JsonSchema)]
struct Sent {
    role: Role,
    content: Option<String>,
    /// Images in base64.
    images: Option<Vec<String>>,
    /// The calls an assistant asked for.
    tool_calls: Option<Vec<Call>>,
    /// The tool whose result this is.
    tool_name: Option<String>,
    /// The call whose result this is.
    tool_call_id: Option<String>,
}

/// The author of a message.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A call of a tool.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OllamaCall")]
pub(crate) struct Call {
    /// Its id, where the caller keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    function: Function,
}

/// A tool and its arguments.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OllamaFunction")]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// A request for the agent.
pub(crate) struct OllamaRequest {
    pub model: String,
    pub streamed: bool,
    /// Whether thoughts are shown.
    pub thinks: bool,
    pub what: RequestKind,
}

/// The kind of a request.
pub(crate) enum RequestKind {
    /// An answer.
    Answer(Box<Complete>),
    /// A report that the model is loaded, or unloaded.
    Loaded(&'static str),
}

impl ChatBody {
    pub fn asked(self, agent: &Agent, cx: &Cx) -> Result<OllamaRequest, Refused> {
        let sent = self.messages.unwrap_or_default();
        self.common.check()?;
        let what = if sent.is_empty() {
            RequestKind::Loaded(self.common.loads())
        } else {
            let tools = tools(self.tools.unwrap_or_default())?;
            self.common.answer(Complete { messages: messages(sent, agent, cx)?, tools, ..Complete::default() })?
        };
        Ok(OllamaRequest {
            model: self.model,
            streamed: self.stream != Some(false),
            thinks: self.common.thinks(),
            what,
        })
    }
}

impl GenerateBody {
    pub fn asked(self) -> Result<OllamaRequest, Refused> {
        let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        for (name, given) in [
            ("suffix", filled(&self.suffix)),
            ("template", filled(&self.template)),
            ("raw", self.raw == Some(true)),
            ("context", self.context.is_some_and(|context| !context.is_empty())),
        ] {
            if given {
                return Err(Refused::bad(format!("`{name}` is not supported: leave it out, or use /api/chat")));
            }
        }
        self.common.check()?;
        let prompt = self.prompt.unwrap_or_default();
        let images = self.images.unwrap_or_default();
        let what = if prompt.is_empty() && images.is_empty() {
            RequestKind::Loaded(self.common.loads())
        } else {
            let system = self.system.filter(|text| !text.is_empty()).map(Message::System);
            let user = Message::User(content(prompt, &images, "images")?);
            let messages = system.into_iter().chain([user]).collect();
            self.common.answer(Complete { messages, ..Complete::default() })?
        };
        Ok(OllamaRequest {
            model: self.model,
            streamed: self.stream != Some(false),
            thinks: self.common.thinks(),
            what,
        })
    }
}

impl Common {
    /// Refuses options that would change the answer and are unsupported.
    fn check(&self) -> Result<(), Refused> {
        if self.logprobs == Some(true) || self.top_logprobs.is_some_and(|n| n > 0) {
            return Err(Refused::bad("`logprobs` are not supported: leave them out"));
        }
        if !matches!(self.think, None | Some(Value::Null | Value::Bool(_) | Value::String(_))) {
            return Err(Refused::bad("`think` is true, false, \"low\", \"medium\" or \"high\""));
        }
        let Some(options) = &self.options else { return Ok(()) };
        if options.num_predict.is_some_and(|n| n == 0 || n < -2 || n > i64::from(u32::MAX)) {
            return Err(Refused::bad("`options.num_predict` must be at least 1, or -1 for any number of tokens"));
        }
        Ok(())
    }

    /// The request with its sampling options and its format.
    fn answer(&self, complete: Complete) -> Result<RequestKind, Refused> {
        let format = match &self.format {
            Value::Null => ResponseFormat::Text,
            Value::String(word) if word.is_empty() => ResponseFormat::Text,
            Value::String(word) if word == "json" => ResponseFormat::JsonObject,
            schema if schema.is_object() => {
                format_of(&json!({"type": "json_schema"}), &json!({"name": "format", "schema": schema}), "format")?
            }
            _ => return Err(Refused::bad("`format` is \"json\" or a JSON schema")),
        };
        let sampling = match &self.options {
            Some(options) => Sampling {
                max_tokens: options.num_predict.and_then(|n| u32::try_from(n).ok()),
                temperature: in_range("options.temperature", options.temperature, 0.0, 2.0)?,
                top_p: in_range("options.top_p", options.top_p, 0.0, 1.0)?,
                top_k: options.top_k.filter(|n| *n > 0),
                stop: stops_of(options.stop.as_ref().unwrap_or(&Value::Null))?,
                seed: options.seed,
                presence_penalty: in_range("options.presence_penalty", options.presence_penalty, -2.0, 2.0)?,
                frequency_penalty: in_range("options.frequency_penalty", options.frequency_penalty, -2.0, 2.0)?,
            },
            None => Sampling::default(),
        };
        Ok(RequestKind::Answer(Box::new(Complete { sampling, format, ..complete })))
    }

    fn thinks(&self) -> bool {
        !matches!(self.think, None | Some(Value::Null | Value::Bool(false)))
    }

    /// The `done_reason` of a request without a message.
    fn loads(&self) -> &'static str {
        let unloads = match &self.keep_alive {
            Some(Value::Number(n)) => n.as_f64() == Some(0.0),
            Some(Value::String(text)) => text.trim_end_matches(|c: char| c.is_ascii_alphabetic()) == "0",
            _ => false,
        };
        if unloads { "unload" } else { "load" }
    }
}

/// The caller's tools. Their `type` may be left out here.
fn tools(sent: Vec<Value>) -> Result<Vec<llm::ToolDefinition>, Refused> {
    let read = |(n, mut tool): (usize, Value)| {
        if let Some(fields) = tool.as_object_mut()
            && fields.get("type").is_none_or(Value::is_null)
        {
            fields.insert("type".into(), "function".into());
        }
        serde_json::from_value::<Tool>(tool).map_err(|_| {
            let text = "a tool looks like {\"type\":\"function\",\"function\":{\"name\":\"…\",\"parameters\":{…}}}";
            Refused::bad(format!("tools[{n}]: {text}"))
        })
    };
    let all = sent.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let (tools, _strict) = definitions(all)?;
    Ok(tools)
}

/// Restores the ids of calls, which clients rarely send back. Goes from the newest to the oldest, in the order of the
/// lookup: the same call may have been made before.
fn name_calls(sent: &mut [Sent], agent: &Agent, cx: &Cx) {
    let mut used: Vec<String> = vec![];
    let messages = sent.iter_mut().rev().flat_map(|message| message.tool_calls.iter_mut().flatten().rev());
    for (n, call) in messages.enumerate() {
        let arguments = Value::Object(call.function.arguments.clone());
        let given = call.id.take().filter(|id| !id.is_empty());
        let id = given.or_else(|| agent.handed_over_id(cx, &call.function.name, &arguments, &used));
        let id = id.unwrap_or_else(|| format!("call_{n}"));
        used.push(id.clone());
        call.id = Some(id);
    }
}

fn messages(mut sent: Vec<Sent>, agent: &Agent, cx: &Cx) -> Result<Vec<Message>, Refused> {
    name_calls(&mut sent, agent, cx);
    let mut all = Vec::with_capacity(sent.len());
    // Calls without a result yet. A result without an id belongs to the first open call of its tool, else to the first open
    // call.
    let mut open = Vec::<ToolCall>::new();
    for (n, message) in sent.into_iter().enumerate() {
        let content_text = message.content.unwrap_or_default();
        match message.role {
            Role::System => all.push(Message::System(content_text)),
            Role::User => {
                open.clear();
                let images = message.images.unwrap_or_default();
                all.push(Message::User(content(content_text, &images, &format!("messages[{n}].images"))?));
            }
            Role::Assistant => {
                let call = |call: Call| ToolCall {
                    id: call.id.unwrap_or_default(),
                    name: call.function.name,
                    arguments: Value::Object(call.function.arguments).to_string(),
                };
                open = message.tool_calls.unwrap_or_default().into_iter().map(call).collect();
                if !content_text.is_empty() || !open.is_empty() {
                    all.push(Message::calls(content_text, open.clone()));
                }
            }
            Role::Tool => {
                let id = message.tool_call_id.filter(|id| !id.is_empty());
                let name = message.tool_name.filter(|name| !name.is_empty());
                let at = match (id, name) {
                    (Some(id), _) => open.iter().position(|call| call.id == id),
                    (None, Some(name)) => open.iter().position(|call| call.name == name),
                    (None, None) => (!open.is_empty()).then_some(0),
                };
                let call = at.map(|at| open.remove(at)).ok_or_else(|| {
                    let text = "a message with the role `tool` follows the assistant's message with that call";
                    Refused::bad(format!("messages[{n}]: {text}"))
                })?;
                let (call_id, name) = (call.id, call.name);
                let result = ToolResult { call_id, name, content: content_text, say: None, is_error: false };
                all.push(Message::Tool(result));
            }
        }
    }
    Ok(all)
}

/// Text of a person, and the images with it.
fn content(text: String, images: &[String], at: &str) -> Result<Content, Refused> {
    if images.is_empty() {
        return Ok(text.as_str().into());
    }
    if images.len() > IMAGES {
        return Err(Refused::bad(format!("`{at}` has {} images, and {IMAGES} is the most", images.len())));
    }
    let mut parts = vec![];
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    for (n, image) in images.iter().enumerate() {
        let bytes = decode_base64(image).and_then(|source| match &source {
            Source::Bytes(bytes) => {
                let media_type = uploads::media_type(bytes, "", "");
                media_type.starts_with("image/").then_some((media_type, source))
            }
            Source::Stored(_) => None,
        });
        let (media_type, source) =
            bytes.ok_or_else(|| Refused::bad(format!("`{at}[{n}]` is not an image in base64: send a PNG or JPEG")))?;
        parts.push(Part::Media(Media { kind: Kind::Image, media_type, name: String::new(), source }));
    }
    Ok(Content(parts))
}

/// A message of an answer.
#[derive(Serialize, JsonSchema, Default)]
#[schemars(rename = "OllamaMessage")]
pub(crate) struct Reply {
    /// `assistant`.
    pub role: &'static str,
    pub content: String,
    /// The model's reasoning, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Calls of the caller's tools, for the caller to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call>,
}

impl Reply {
    pub fn new(content: String) -> Self {
        Self { role: "assistant", content, ..Self::default() }
    }
}

/// A line of an answer, or all of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OllamaLine")]
pub(crate) struct Line {
    /// The model that was asked for.
    pub model: String,
    /// When, in RFC 3339.
    pub created_at: String,
    /// The message of `/api/chat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Reply>,
    /// The text of `/api/generate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The reasoning of `/api/generate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Whether nothing follows.
    pub done: bool,
    #[serde(flatten)]
    pub end: Option<End>,
}

/// The end of an answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct End {
    /// `stop`, `length`, `load` or `unload`.
    pub done_reason: &'static str,
    /// Nanoseconds, as all durations here.
    pub total_duration: u64,
    pub load_duration: u64,
    /// Tokens read.
    pub prompt_eval_count: u64,
    pub prompt_eval_duration: u64,
    /// Tokens written.
    pub eval_count: u64,
    pub eval_duration: u64,
}

/// The calls for the caller to make.
pub(crate) fn handed_over(answer: &Answer) -> Vec<Call> {
    let call = |call: &ToolCall| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
        Call { id: Some(call.id.clone()), function: Function { name: call.name.clone(), arguments } }
    };
    answer.handed_over.iter().map(call).collect()
}
