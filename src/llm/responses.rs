//! OpenAI's Responses API: request and response formats. Nothing is stored at the provider; encrypted reasoning
//! travels with the conversation.

use crate::{
    Delta, Endpoint, Kind, Message, Request, ToolCall, ToolChoice, ToolDefinition, Usage, calls,
    error_response::Failure,
    message::tokens,
    openai,
    parts::{self, Piece, SupportedMedia},
    provider_state::{self, PositionedBlock, TurnPiece},
    reader::{self, Reader},
    sampling,
    tools::WireForm,
    turns,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Media a message can carry.
const SUPPORTED_MEDIA: SupportedMedia = SupportedMedia {
    images: &["image/png", "image/jpeg", "image/webp", "image/gif"],
    largest_image: usize::MAX,
    audio: &[],
    files: &["application/pdf"],
};
/// The API's minimum for the output limit.
const LEAST_TOKENS: u32 = 16;

/// The request body without its tools.
pub(crate) fn body(endpoint: &Endpoint, request: &Request) -> Value {
    let quirks = &endpoint.quirks;
    let (system, rest) = turns::instructions(&request.messages);
    let mut body = json!({
        "model": endpoint.model,
        "input": rest.iter().flat_map(|m| items(endpoint, m)).collect::<Vec<_>>(),
        "stream": true,
        "store": false,
    });
    if !system.is_empty() {
        body["instructions"] = system.join("\n\n").into();
    }
    if reasons(&endpoint.model) && !quirks.no_encrypted_reasoning {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(max) = endpoint.limit(request.most_tokens()) {
        body["max_output_tokens"] = max.max(LEAST_TOKENS).into();
    }
    if let Some(temperature) = sampling::temperature(endpoint, request) {
        body["temperature"] = temperature;
    }
    if let Some(top_p) = request.sampling.top_p {
        body["top_p"] = top_p.into();
    }
    if let Some(format) =
        sampling::openai_format(&request.format).filter(|_| sampling::enforces_format(endpoint, request))
    {
        body["text"] = json!({"format": flat(format)});
    }
    if let Some(key) = openai::cache_key(endpoint, request) {
        body["prompt_cache_key"] = key;
    }
    if !request.tools.is_empty() {
        match &request.tool_choice {
            ToolChoice::None => body["tool_choice"] = "none".into(),
            ToolChoice::Required if !quirks.no_tool_choice_required => body["tool_choice"] = "required".into(),
            ToolChoice::Named { name } if !quirks.no_tool_choice_required => {
                body["tool_choice"] = json!({"type": "function", "name": name});
            }
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named { .. } => {}
        }
    }
    body
}

/// The `tools` of the body.
pub(crate) fn tools(endpoint: &Endpoint, request: &Request) -> Arc<str> {
    let tool = |tool: &ToolDefinition| {
        let parameters = openai::parameters(endpoint, tool);
        // Strict is the default here, and would require every optional parameter.
        json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": parameters, "strict": false})
    };
    request.tools.written(WireForm::of(endpoint, false), |all| all.iter().map(tool).collect())
}

/// The format without the nesting that chat completions use for a schema.
fn flat(mut format: Value) -> Value {
    if let Some(Value::Object(schema)) = format.as_object_mut().and_then(|f| f.remove("json_schema")) {
        for (name, value) in schema {
            format[name] = value;
        }
    }
    format
}

/// Whether a model may reason, so that reasoning can be requested: OpenAI's older models and ChatGPT's reject that.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|old| model.starts_with(old)) && !model.contains("-chat")
}

fn items(endpoint: &Endpoint, message: &Message) -> Vec<Value> {
    match message {
        Message::System(text) => vec![json!({"role": "developer", "content": text})],
        Message::User(said) => {
            let pieces = parts::pieces(said, &endpoint.facts, &SUPPORTED_MEDIA);
            let content: Value = match parts::words(&pieces) {
                Some(words) => words.into(),
                None => pieces.iter().map(part).collect(),
            };
            vec![json!({"role": "user", "content": content})]
        }
        Message::Assistant(turn) => {
            let item = |strand| match strand {
                TurnPiece::Text(text) => json!({"role": "assistant", "content": text}),
                TurnPiece::Call(call) => json!({
                    "type": "function_call",
                    "call_id": calls::fitting(&call.id, false),
                    "name": calls::fitting_name(&call.name),
                    "arguments": calls::arguments_text(call),
                }),
                TurnPiece::Kept(item) => item,
            };
            provider_state::in_original_order(turn, endpoint).into_iter().map(item).collect()
        }
        Message::Tool(result) => {
            let id = calls::fitting(&result.call_id, false);
            vec![json!({"type": "function_call_output", "call_id": id, "output": result.content})]
        }
    }
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "input_text", "text": text}),
        Piece::Data { kind, media_type, name, base64 } => {
            let data = format!("data:{media_type};base64,{base64}");
            match kind {
                Kind::File => json!({"type": "input_file", "filename": name, "file_data": data}),
                Kind::Image | Kind::Audio => json!({"type": "input_image", "image_url": data}),
            }
        }
    }
}

/// Accumulates a response.
#[derive(Default)]
pub(crate) struct Items {
    provider: String,
    model: String,
    /// Calls by output index.
    calls: BTreeMap<u64, ToolCall>,
    kept: Vec<PositionedBlock>,
    /// Messages streamed as text deltas, by output index.
    told: HashSet<u64>,
    /// Number of streamed items.
    done: u64,
    /// Whether a new message began after some text.
    gap: bool,
    /// Bytes of text emitted.
    text: usize,
    bytes: usize,
    usage: Usage,
    incomplete: Option<String>,
    ended: bool,
}

impl Items {
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { provider: endpoint.provider.clone(), model: endpoint.model.clone(), ..Self::default() }
    }

    fn say(&mut self, text: &Value, said: &mut Vec<Delta>) {
        let Some(text) = text.as_str().filter(|t| !t.is_empty()) else { return };
        let text = if std::mem::take(&mut self.gap) { format!("\n\n{text}") } else { text.to_owned() };
        self.text += text.len();
        self.bytes += text.len();
        said.push(Delta::Text(text));
    }

    fn refuse(&mut self, text: &Value, said: &mut Vec<Delta>) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.text += text.len();
            self.bytes += text.len();
            said.push(Delta::Refusal(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, said: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.bytes += text.len();
            said.push(Delta::Thinking(text.to_owned()));
        }
    }

    fn call(&mut self, at: u64, item: &Value) {
        let string = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let id = Some(string("call_id")).filter(|id| !id.is_empty()).unwrap_or_else(|| string("id"));
        let arguments = Some(string("arguments"))
            .filter(|a| !a.is_empty())
            .or_else(|| self.calls.remove(&at).map(|begun| begun.arguments))
            .unwrap_or_default();
        let name = string("name");
        let begun = self.calls.insert(at, ToolCall { id, name, arguments });
        if begun.is_none() {
            self.bytes += calls::EACH + string("name").len() + string("call_id").len();
        }
    }

    /// Handles a complete item.
    fn item(&mut self, at: u64, item: &Value, said: &mut Vec<Delta>) {
        self.done += 1;
        match item["type"].as_str() {
            Some("function_call") => {
                self.bytes += item["arguments"].as_str().map_or(0, str::len);
                self.call(at, item);
            }
            Some("message") if !self.told.contains(&at) => {
                self.gap |= self.text > 0;
                for part in item["content"].as_array().into_iter().flatten() {
                    self.say(&part["text"], said);
                    self.refuse(&part["refusal"], said);
                }
            }
            // Only encrypted reasoning can be sent back, since nothing is stored there.
            Some("reasoning") if item["encrypted_content"].is_string() => {
                let words = ["type", "id", "summary", "encrypted_content"];
                let block: Map<String, Value> =
                    words.iter().filter_map(|word| Some(((*word).to_owned(), item.get(*word)?.clone()))).collect();
                self.bytes += calls::EACH + block.values().map(|value| value.to_string().len()).sum::<usize>();
                self.kept.push(PositionedBlock { text: self.text, calls: self.calls.len(), block: block.into() });
            }
            _ => {}
        }
    }

    /// Handles the complete response, at the end of a stream or without one.
    fn response(&mut self, response: &Value, said: &mut Vec<Delta>) -> Result<(), Failure> {
        if response["status"] == "failed" || response["error"].is_object() {
            return Err(Failure::of(&response["error"]));
        }
        self.ended = true;
        let told = &response["usage"];
        let n = |v: &Value| tokens(v).unwrap_or(0);
        let (prompt_tokens, completion_tokens) = (n(&told["input_tokens"]), n(&told["output_tokens"]));
        self.usage = Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: tokens(&told["total_tokens"]).unwrap_or(prompt_tokens + completion_tokens),
            cached_tokens: n(&told["input_tokens_details"]["cached_tokens"]),
            micros: None,
            written_to_cache: 0,
        };
        if response["status"] == "incomplete" {
            self.incomplete = response["incomplete_details"]["reason"].as_str().map(str::to_owned);
        }
        // Items that were not streamed.
        if self.done == 0 {
            for (at, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
                self.item(at, item, said);
            }
        }
        Ok(())
    }
}

impl Reader for Items {
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure> {
        let mut said = vec![];
        let at = event["output_index"].as_u64().unwrap_or(0);
        match event["type"].as_str() {
            Some("response.output_item.added") => match event["item"]["type"].as_str() {
                Some("function_call") => self.call(at, &event["item"]),
                Some("message") => self.gap |= self.text > 0,
                _ => {}
            },
            Some(kind @ ("response.output_text.delta" | "response.refusal.delta")) => {
                self.bytes += if self.told.insert(at) { calls::EACH } else { 0 };
                match kind {
                    "response.refusal.delta" => self.refuse(&event["delta"], &mut said),
                    _ => self.say(&event["delta"], &mut said),
                }
            }
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                self.think(event["delta"].as_str().unwrap_or_default(), &mut said);
            }
            Some("response.reasoning_summary_part.added") if event["summary_index"].as_u64().unwrap_or(0) > 0 => {
                self.think("\n\n", &mut said);
            }
            Some("response.function_call_arguments.delta") => {
                if let (Some(call), Some(more)) = (self.calls.get_mut(&at), event["delta"].as_str()) {
                    self.bytes += more.len();
                    call.arguments.push_str(more);
                }
            }
            Some("response.function_call_arguments.done") => {
                if let (Some(call), Some(all)) = (self.calls.get_mut(&at), event["arguments"].as_str()) {
                    self.bytes += all.len().saturating_sub(call.arguments.len());
                    call.arguments = all.to_owned();
                }
            }
            Some("response.output_item.done") => self.item(at, &event["item"], &mut said),
            Some("response.completed" | "response.incomplete" | "response.done") => {
                self.response(&event["response"], &mut said)?;
            }
            Some("response.failed") => {
                let error = Some(&event["response"]["error"]).filter(|error| error.is_object());
                // Perplexity reports it beside the response.
                return Err(Failure::of(error.unwrap_or(&event)));
            }
            Some("error") => return Err(Failure::of(&event)),
            None if event["error"].is_object() => return Err(Failure::of(&event)),
            _ => {}
        }
        Ok(said)
    }

    fn whole(&mut self, answer: Value) -> Result<Vec<Delta>, Failure> {
        let mut said = vec![];
        self.response(&answer, &mut said)?;
        Ok(said)
    }

    fn on_done_marker(&mut self) {
        self.ended = true;
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn holds(&self) -> bool {
        !self.calls.is_empty() || !self.kept.is_empty()
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure> {
        if !self.ended {
            return Ok(None);
        }
        let mut rest = vec![];
        if self.incomplete.as_deref() == Some("content_filter") {
            let said = self.text > 0 || !self.calls.is_empty();
            rest.extend(reader::filtered(said, "its content filter")?);
        }
        let calls = std::mem::take(&mut self.calls).into_values();
        rest.extend(calls::finished(calls).into_iter().map(Delta::ToolCall));
        rest.extend(provider_state::keep(&self.provider, &self.model, std::mem::take(&mut self.kept)).map(Delta::Keep));
        rest.push(Delta::Done { cut: self.incomplete.as_deref() == Some("max_output_tokens"), usage: self.usage });
        Ok(Some(rest))
    }
}
