//! Requests and responses of chat completions, and their translation for the agent.

use super::{
    Refusal,
    options::{self, Options},
};
use crate::chat::decode_base64;
use agent::{Answer, Complete, FinishReason};
use llm::{Content, Kind, Media, Message, Source, ToolCall, ToolChoice, ToolDefinition, ToolResult, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool::prelude::{JsonSchema, schemars};

/// The most tools of a program.
const TOOLS: usize = 128;

/// A conversation to be answered. Parameters that change the answer and are not named here are refused.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Body {
    /// `hob`, or another model of `GET /v1/models`.
    pub model: String,
    /// The conversation, oldest message first.
    pub(super) messages: Vec<Said>,
    /// Tools of the program, to be called by it.
    tools: Option<Vec<Tool>>,
    /// `auto`, `none`, `required`, or the one tool to be called.
    #[serde(default)]
    tool_choice: Value,
    /// Whether several tools of the program may be called at once.
    parallel_tool_calls: Option<bool>,
    /// Whether the answer is wanted as it comes.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    options: Options,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

/// Options of a stream.
#[derive(Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether the last chunk contains the usage.
    include_usage: Option<bool>,
}

/// One message.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Said {
    pub role: Role,
    /// The text, or its parts.
    #[serde(default)]
    #[schemars(with = "Option<Words>")]
    pub content: Value,
    /// The calls an assistant asked for.
    pub tool_calls: Option<Vec<Call>>,
    /// The call a tool's result belongs to.
    pub tool_call_id: Option<String>,
    /// The assistant's refusal.
    pub refusal: Option<String>,
}

/// The role of the author.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// The schema of a message's content; read by [`content_of`] and [`text_of`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Words {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)]
enum Part {
    Text {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    /// A picture of the user.
    ImageUrl {
        image_url: Address,
    },
    /// Sound of the user.
    InputAudio {
        input_audio: Sound,
    },
    /// A file of the user.
    File {
        file: Attached,
    },
}

/// The address of an image.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Address {
    /// The picture itself, as `data:image/png;base64,…`, or where it is on the web.
    url: String,
}

/// A piece of sound.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Sound {
    /// In base64.
    data: String,
    /// `wav` or `mp3`.
    format: String,
}

/// A file in a message.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Attached {
    filename: Option<String>,
    /// The file itself, as `data:application/pdf;base64,…`.
    file_data: String,
}

/// A tool of the program.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Tool {
    /// `function`.
    #[serde(rename = "type")]
    pub kind: String,
    pub function: Option<Function>,
}

/// The definition of the function.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Function {
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema.
    pub parameters: Option<Map<String, Value>>,
    /// Whether its arguments have to fit the schema: calls that do not are never handed over.
    pub strict: Option<bool>,
}

/// A call that an assistant asked for.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Call {
    pub id: String,
    /// `function`.
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    pub function: Called,
}

/// The function to call.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Called {
    pub name: String,
    /// JSON as text, as the model wrote it.
    pub arguments: String,
}

pub(super) fn function() -> String {
    "function".to_owned()
}

impl Body {
    pub fn streamed(&self) -> bool {
        self.stream.unwrap_or_default()
    }

    pub fn includes_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|o| o.include_usage).unwrap_or_default()
    }
}

/// A request for the agent without its messages, whose pictures are fetched once everything else is valid.
pub(crate) struct RequestOptions(pub Complete);

impl TryFrom<Body> for RequestOptions {
    type Error = Refusal;

    fn try_from(body: Body) -> Result<Self, Refusal> {
        options::known(&body.rest, options::WITHOUT_EFFECT)?;
        let (sampling, format) = body.options.read()?;
        let (tools, strict) = definitions(body.tools.unwrap_or_default())?;
        let tool_choice = choice(&body.tool_choice)?;
        let one_at_a_time = body.parallel_tool_calls == Some(false);
        Ok(Self(Complete { messages: vec![], tools, strict, tool_choice, one_at_a_time, sampling, format }))
    }
}

/// The tools of the program, and the names of the strict ones among them.
pub(crate) fn definitions(tools: Vec<Tool>) -> Result<(Vec<ToolDefinition>, Vec<String>), Refusal> {
    if tools.len() > TOOLS {
        let text = format!("there are {} tools, and {TOOLS} is the most: leave some out", tools.len());
        return Err(Refusal::of("tools", text));
    }
    let (mut all, mut strict): (Vec<ToolDefinition>, _) = (vec![], vec![]);
    for (n, tool) in tools.into_iter().enumerate() {
        let wrong = |text: &str| Refusal::of(&format!("tools[{n}]"), text);
        let function = tool.function.filter(|_| tool.kind == "function");
        let Function { name, description, parameters, strict: is_strict } =
            function.ok_or_else(|| wrong("a tool looks like {\"type\":\"function\",\"function\":{\"name\":\"…\"}}"))?;
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(letters) {
            return Err(wrong("a tool's name has letters, digits, underscores and dashes, 64 at most"));
        }
        if all.iter().any(|t| t.name == name) {
            return Err(wrong("there are two tools of this name: send each once"));
        }
        let parameters = parameters.map_or_else(|| json!({"type": "object", "properties": {}}), Value::Object);
        if is_strict == Some(true) {
            registry::check_schema(&parameters).map_err(|e| wrong(e.message()))?;
            strict.push(name.clone());
        }
        all.push(ToolDefinition { name, description: description.unwrap_or_default(), parameters });
    }
    Ok((all, strict))
}

pub(super) fn choice(choice: &Value) -> Result<ToolChoice, Refusal> {
    let named = choice["function"]["name"].as_str().filter(|_| choice["type"] == "function");
    match (choice, choice.as_str(), named) {
        (Value::Null, ..) | (_, Some("auto"), _) => Ok(ToolChoice::Auto),
        (_, Some("none"), _) => Ok(ToolChoice::None),
        (_, Some("required"), _) => Ok(ToolChoice::Required),
        (.., Some(name)) => Ok(ToolChoice::Named { name: name.to_owned() }),
        _ => {
            let text = "`tool_choice` is \"auto\", \"none\", \"required\" or {\"type\":\"function\",\"function\":{\"name\":\"…\"}}";
            Err(Refusal::of("tool_choice", text))
        }
    }
}

pub(super) fn messages(said: Vec<Said>) -> Result<Vec<Message>, Refusal> {
    let mut all = Vec::with_capacity(said.len());
    // Calls without a result yet: a model is never shown a result without its call.
    let mut open: Vec<ToolCall> = vec![];
    for (n, said) in said.into_iter().enumerate() {
        let at = |part: &str| format!("messages[{n}].{part}");
        if said.role == Role::User {
            open.clear();
            all.push(Message::User(content_of(&said.content, &at("content"))?));
            continue;
        }
        let content = text_of(&said.content, &at("content"))?;
        match said.role {
            Role::System | Role::Developer | Role::User => all.push(Message::System(content)),
            Role::Assistant => {
                let content = if content.is_empty() { said.refusal.unwrap_or_default() } else { content };
                let call = |c: Call| ToolCall { id: c.id, name: c.function.name, arguments: c.function.arguments };
                let tool_calls: Vec<ToolCall> = said.tool_calls.unwrap_or_default().into_iter().map(call).collect();
                open = tool_calls.clone();
                if !content.is_empty() || !tool_calls.is_empty() {
                    all.push(Message::calls(content, tool_calls));
                }
            }
            Role::Tool => {
                let id = said.tool_call_id.unwrap_or_default();
                let call =
                    open.iter().position(|call| call.id == id).map(|n| open.swap_remove(n)).ok_or_else(|| {
                        let text =
                            "a message with the role `tool` follows the assistant's message that asked for that call";
                        Refusal::of(&at("tool_call_id"), text)
                    })?;
                let result = ToolResult { call_id: id, name: call.name, content, say: None, is_error: false };
                all.push(Message::Tool(result));
            }
        }
    }
    Ok(all)
}

/// The content of a user message: text, pictures, sound and files.
fn content_of(content: &Value, at: &str) -> Result<Content, Refusal> {
    let carries = |part: &Value| matches!(part["type"].as_str(), Some("image_url" | "input_audio" | "file"));
    let Some(parts) = content.as_array().filter(|parts| parts.iter().any(carries)) else {
        return text_of(content, at).map(Content::from);
    };
    let part = |part: &Value| {
        match carries(part) {
        true => media_of(part).map(llm::Part::Media).ok_or_else(|| {
            let text = "a picture, sound or file stands in the message itself, and a picture is a PNG, JPEG, WebP or GIF: \
                {\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,…\"}}, \
                {\"type\":\"input_audio\",\"input_audio\":{\"data\":\"…\",\"format\":\"wav\"}} or \
                {\"type\":\"file\",\"file\":{\"file_data\":\"data:application/pdf;base64,…\"}}";
            Refusal::of(at, text)
        }),
        false => text_of(&Value::Array(vec![part.clone()]), at).map(llm::Part::Text),
    }
    };
    Ok(Content(parts.iter().map(part).collect::<Result<_, _>>()?))
}

/// A picture with the type detected from its bytes; `None` if it is none.
fn picture((declared, source): (String, Source)) -> Option<(String, Source)> {
    let Source::Bytes(bytes) = &source else { return None };
    let media_type = uploads::media_type(bytes, "", "");
    (declared.starts_with("image/") && media_type.starts_with("image/")).then_some((media_type, source))
}

fn media_of(part: &Value) -> Option<Media> {
    let in_url = |url: &Value| {
        let (media_type, data) = url.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
        Some((media_type.to_owned(), decode_base64(data)?))
    };
    let (kind, name, (media_type, source)) = match part["type"].as_str()? {
        "image_url" => (Kind::Image, "", picture(in_url(&part["image_url"]["url"])?)?),
        "input_audio" => {
            let sound = &part["input_audio"];
            let media_type = match sound["format"].as_str()? {
                "wav" => "audio/wav",
                "mp3" => "audio/mpeg",
                _ => return None,
            };
            (Kind::Audio, "", (media_type.to_owned(), decode_base64(sound["data"].as_str()?)?))
        }
        _ => {
            let file = &part["file"];
            (Kind::File, file["filename"].as_str().unwrap_or_default(), in_url(&file["file_data"])?)
        }
    };
    Some(Media { kind, media_type, name: name.to_owned(), source })
}

/// The text of a message: a string, or text parts.
fn text_of(content: &Value, at: &str) -> Result<String, Refusal> {
    let text = |part: &Value| match (part["type"].as_str(), part["text"].as_str(), part["refusal"].as_str()) {
        (Some("text"), Some(text), _) | (Some("refusal"), _, Some(text)) => Ok(text.to_owned()),
        (Some(other), ..) if other != "text" && other != "refusal" => {
            let other: String = other.chars().take(40).collect();
            Err(Refusal::of(at, format!("parts of the type `{other}` are not understood here: send text")))
        }
        _ => Err(Refusal::of(at, "a part looks like {\"type\":\"text\",\"text\":\"…\"}")),
    };
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => Ok(parts.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n")),
        _ => Err(Refusal::of(at, "`content` must be a string, or a list of parts")),
    }
}

/// A whole answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Completion {
    pub id: String,
    /// `chat.completion`.
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The model that answered.
    pub model: String,
    /// One.
    pub choices: Vec<Choice>,
    pub usage: Cost,
    /// This Hob.
    pub system_fingerprint: String,
}

/// The answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Choice {
    index: u32,
    message: Reply,
    logprobs: Option<Value>,
    /// `stop`, `length`, `tool_calls` or `content_filter`.
    finish_reason: &'static str,
}

/// The assistant's text.
#[derive(Serialize, JsonSchema)]
struct Reply {
    role: &'static str,
    content: Option<String>,
    refusal: Option<String>,
    /// Calls of the program's tools, for it to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// Token usage over all turns.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Cost {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
}

/// Of those that were read.
#[derive(Serialize, JsonSchema)]
struct PromptDetails {
    /// How many came from a cache.
    cached_tokens: u64,
}

impl From<Usage> for Cost {
    fn from(usage: Usage) -> Self {
        let Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens, .. } = usage;
        Self { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: PromptDetails { cached_tokens } }
    }
}

impl From<Answer> for Choice {
    fn from(answer: Answer) -> Self {
        let finish_reason = finish_reason(&answer);
        let tool_calls = handed_over(answer.handed_over);
        let (text, refusal) = (answer.response, answer.refusal.map(String::from));
        let content = Some(text).filter(|text| !text.is_empty() || (tool_calls.is_empty() && refusal.is_none()));
        let message = Reply { role: "assistant", content, refusal, tool_calls };
        Self { index: 0, message, logprobs: None, finish_reason }
    }
}

/// The calls for the program to make.
pub(crate) fn handed_over(calls: Vec<ToolCall>) -> Vec<Call> {
    let call =
        |c: ToolCall| Call { id: c.id, kind: function(), function: Called { name: c.name, arguments: c.arguments } };
    calls.into_iter().map(call).collect()
}

/// Maps the reason why an answer ended.
pub(crate) fn finish_reason(answer: &Answer) -> &'static str {
    match answer {
        _ if !answer.handed_over.is_empty() => "tool_calls",
        _ if answer.finish_reason == FinishReason::ContentFilter => "content_filter",
        _ if answer.cut => "length",
        _ => "stop",
    }
}
