//! Google's generateContent API: request and response formats.

use crate::{
    Delta, Endpoint, Message, ProviderState, Request, ResponseFormat, ToolCall, ToolChoice, ToolDefinition, Turn,
    Usage, calls,
    error_response::{ErrorKind, Failure},
    message::tokens,
    parts::{self, Piece, SupportedMedia},
    provider_state,
    reader::{self, Reader},
    sampling, schema,
    tools::WireForm,
    turns::{self, Speaker},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc};

/// Media a message can carry.
const SUPPORTED_MEDIA: SupportedMedia = SupportedMedia {
    images: &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
    largest_image: usize::MAX,
    audio: &["audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"],
    files: &["application/pdf"],
};
/// Placeholder signature for calls of other models: since Gemini 3 the first call of a turn must have one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Provider state of a turn: the signatures of its calls in order, and the position of signed text.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Signed {
    model: String,
    calls: Vec<SignedCall>,
    text: Option<SignedText>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SignedCall {
    /// The model's call id; most send none.
    id: Option<String>,
    signature: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SignedText {
    /// Bytes of text before the signed part.
    at: usize,
    signature: String,
}

/// The request body.
pub(crate) fn body(endpoint: &Endpoint, request: &Request) -> Value {
    let (system, rest) = turns::instructions(&request.messages);
    // It only knows its own ids.
    let own = |m: &Message| match m {
        Message::Assistant(turn) => signed(turn, endpoint).map(|signed| signed.calls),
        _ => None,
    };
    let ids: HashSet<String> = rest.iter().filter_map(own).flatten().filter_map(|call| call.id).collect();
    let contents = turns::alternating(rest, |m| parts(endpoint, &ids, m), |text| json!({"text": text}));
    let content = |(who, parts): (Speaker, Vec<Value>)| json!({"role": if who == Speaker::User { "user" } else { "model" }, "parts": parts});
    let mut body = json!({"contents": contents.into_iter().map(content).collect::<Vec<_>>()});
    if !system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": system.join("\n\n")}]});
    }
    if let Some(max) = endpoint.limit(request.most_tokens()) {
        body["generationConfig"]["maxOutputTokens"] = max.into();
    }
    if let Some(temperature) = sampling::temperature(endpoint, request) {
        body["generationConfig"]["temperature"] = temperature;
    }
    let (asked, config) = (&request.sampling, &mut body["generationConfig"]);
    sampling::write(
        config,
        [
            ("topP", asked.top_p.map(Value::from)),
            ("topK", asked.top_k.map(Value::from)),
            ("seed", asked.seed.map(Value::from)),
            ("presencePenalty", asked.presence_penalty.map(Value::from)),
            ("frequencyPenalty", asked.frequency_penalty.map(Value::from)),
        ],
    );
    if let Some(stop) = sampling::stops(endpoint, request) {
        config["stopSequences"] = stop.into();
    }
    if sampling::enforces_format(endpoint, request) {
        config["responseMimeType"] = "application/json".into();
        if let ResponseFormat::JsonSchema { schema, .. } = &request.format {
            config["responseJsonSchema"] = schema.clone();
        }
    }
    if config.is_null() {
        body.as_object_mut().map(|body| body.remove("generationConfig"));
    }
    if endpoint.quirks.makes_images {
        body["generationConfig"]["responseModalities"] = json!(["TEXT", "IMAGE"]);
    }
    if !request.tools.is_empty() {
        let may_demand = !endpoint.quirks.no_tool_choice_required;
        let config = match &request.tool_choice {
            ToolChoice::None => Some(json!({"mode": "NONE"})),
            ToolChoice::Required if may_demand => Some(json!({"mode": "ANY"})),
            ToolChoice::Named { name } if may_demand => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named { .. } => None,
        };
        if let Some(config) = config {
            body["toolConfig"] = json!({"functionCallingConfig": config});
        }
    }
    body
}

/// The `tools` of the body.
pub(crate) fn tools(endpoint: &Endpoint, request: &Request) -> Arc<str> {
    let declarations = |all: &[ToolDefinition]| all.iter().map(declaration).collect::<Vec<_>>();
    request.tools.written(WireForm::of(endpoint, false), |all| json!([{"functionDeclarations": declarations(all)}]))
}

fn declaration(tool: &ToolDefinition) -> Value {
    let mut declared = json!({"name": tool.name, "description": tool.description});
    let parameters = schema::plain(&tool.parameters);
    // An object without properties is rejected; a function without parameters is not.
    if parameters.get("properties").is_some() {
        declared["parameters"] = parameters;
    }
    declared
}

/// The provider state of a turn, if this model produced it.
fn signed(turn: &Turn, endpoint: &Endpoint) -> Option<Signed> {
    provider_state::own(turn, endpoint).and_then(|value| Signed::deserialize(value).ok())
}

fn parts(endpoint: &Endpoint, ids: &HashSet<String>, message: &Message) -> Vec<Value> {
    match message {
        Message::System(text) => vec![json!({"text": turns::instruction(text)})],
        Message::User(said) => {
            let part = |piece: &Piece<'_>| match piece {
                Piece::Text(text) => json!({"text": text}),
                Piece::Data { media_type, base64, .. } => {
                    json!({"inlineData": {"mimeType": media_type, "data": base64}})
                }
            };
            parts::pieces(said, &endpoint.facts, &SUPPORTED_MEDIA).iter().map(part).collect()
        }
        Message::Assistant(turn) => spoken(endpoint, turn),
        Message::Tool(result) => {
            let key = if result.is_error { "error" } else { "output" };
            let mut response = json!({"name": calls::fitting_name(&result.name), "response": {key: result.content}});
            if ids.contains(&result.call_id) {
                response["id"] = result.call_id.as_str().into();
            }
            vec![json!({"functionResponse": response})]
        }
    }
}

fn spoken(endpoint: &Endpoint, turn: &Turn) -> Vec<Value> {
    let signed = signed(turn, endpoint);
    let mut parts = vec![];
    let text = signed.as_ref().and_then(|s| s.text.as_ref());
    // Signed parts are never merged with unsigned ones.
    let at = text.map_or(turn.content.len(), |t| t.at).min(turn.content.len());
    let (before, after) = turn.content.split_at_checked(at).unwrap_or((&turn.content, ""));
    if !before.is_empty() {
        parts.push(json!({"text": before}));
    }
    match text {
        Some(SignedText { signature, .. }) => parts.push(json!({"text": after, "thoughtSignature": signature})),
        None if !after.is_empty() => parts.push(json!({"text": after})),
        None => {}
    }
    for (n, call) in turn.tool_calls.iter().enumerate() {
        let own = signed.as_ref().and_then(|s| s.calls.get(n));
        let mut part =
            json!({"functionCall": {"name": calls::fitting_name(&call.name), "args": calls::arguments(call)}});
        if let Some(id) = own.and_then(|own| own.id.as_deref()) {
            part["functionCall"]["id"] = id.into();
        }
        match own {
            Some(own) => own.signature.iter().for_each(|s| part["thoughtSignature"] = s.as_str().into()),
            None if n == 0 && wants_signatures(&endpoint.model) => part["thoughtSignature"] = NO_SIGNATURE.into(),
            None => {}
        }
        parts.push(part);
    }
    parts
}

/// Whether the model rejects calls without a signature: since Gemini 3, which unversioned names refer to.
fn wants_signatures(model: &str) -> bool {
    let version = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-")).unwrap_or_default();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    if digits.is_empty() { version.ends_with("-latest") } else { digits.parse::<u32>().is_ok_and(|n| n >= 3) }
}

/// Accumulates a response.
#[derive(Default)]
pub(crate) struct Parts {
    provider: String,
    calls: Vec<ToolCall>,
    signed: Signed,
    /// Bytes of text emitted.
    text: usize,
    bytes: usize,
    media: bool,
    usage: Usage,
    finish: Option<String>,
    why: String,
    blocked: Option<String>,
}

impl Parts {
    pub fn new(endpoint: &Endpoint) -> Self {
        let signed = Signed { model: endpoint.model.clone(), ..Signed::default() };
        Self { provider: endpoint.provider.clone(), signed, ..Self::default() }
    }

    fn part(&mut self, part: &Value, said: &mut Vec<Delta>) {
        let signature = part["thoughtSignature"].as_str().filter(|s| !s.is_empty()).map(str::to_owned);
        self.bytes += signature.as_ref().map_or(0, String::len);
        if part["functionCall"].is_object() {
            return self.call(&part["functionCall"], signature);
        }
        let thought = part["thought"] == true;
        if let Some(signature) = signature.filter(|_| !thought) {
            self.signed.text = Some(SignedText { at: self.text, signature });
        }
        if let Some(text) = part["text"].as_str().filter(|t| !t.is_empty()) {
            self.bytes += text.len();
            self.text += if thought { 0 } else { text.len() };
            said.push(if thought { Delta::Thinking(text.to_owned()) } else { Delta::Text(text.to_owned()) });
        }
        let data = &part["inlineData"];
        // Images drawn while thinking are not part of the answer.
        if let (Some(media_type), Some(base64), false) = (data["mimeType"].as_str(), data["data"].as_str(), thought) {
            let made = parts::decode_media(media_type, base64);
            self.media |= made.is_some();
            said.extend(made.map(Delta::Media));
        }
    }

    fn call(&mut self, call: &Value, signature: Option<String>) {
        let id = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        let args = Some(&call["args"]).filter(|args| args.is_object());
        let arguments = args.map(Value::to_string).unwrap_or_else(|| "{}".into());
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        self.bytes += calls::EACH + arguments.len() + name.len() + id.as_ref().map_or(0, String::len);
        self.calls.push(ToolCall { id: id.clone().unwrap_or_default(), name, arguments });
        self.signed.calls.push(SignedCall { id, signature });
    }

    fn count(&mut self, told: &Value) {
        let n = |name: &str| tokens(&told[name]).unwrap_or(0);
        let prompt_tokens = n("promptTokenCount") + n("toolUsePromptTokenCount");
        let completion_tokens = n("candidatesTokenCount") + n("thoughtsTokenCount");
        self.usage = Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: tokens(&told["totalTokenCount"]).unwrap_or(prompt_tokens + completion_tokens),
            cached_tokens: n("cachedContentTokenCount"),
            micros: None,
            written_to_cache: 0,
        };
    }

    fn said_anything(&self) -> bool {
        self.text > 0 || self.media
    }

    fn kept(&mut self) -> Option<ProviderState> {
        let signed = std::mem::take(&mut self.signed);
        let worth = signed.text.is_some() || signed.calls.iter().any(|c| c.id.is_some() || c.signature.is_some());
        let value = serde_json::to_value(signed).ok().filter(|_| worth)?;
        Some(ProviderState { provider: self.provider.clone(), value })
    }
}

impl Reader for Parts {
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure> {
        if event["error"].is_object() {
            return Err(Failure::of(&event));
        }
        if event["usageMetadata"].is_object() {
            self.count(&event["usageMetadata"]);
        }
        if let Some(reason) = event["promptFeedback"]["blockReason"].as_str() {
            self.blocked = Some(reason.to_owned());
        }
        let candidate = &event["candidates"][0];
        let mut said = vec![];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, &mut said);
        }
        let reason = candidate["finishReason"].as_str().filter(|r| *r != "FINISH_REASON_UNSPECIFIED");
        if let Some(reason) = reason {
            self.finish = Some(reason.to_owned());
            self.why = candidate["finishMessage"].as_str().unwrap_or_default().chars().take(200).collect();
        }
        Ok(said)
    }

    /// Without `alt=sse` the response is a list of the events.
    fn whole(&mut self, answer: Value) -> Result<Vec<Delta>, Failure> {
        match answer {
            Value::Array(events) => {
                let mut said = vec![];
                for event in events {
                    said.extend(self.take(event)?);
                }
                Ok(said)
            }
            one => self.take(one),
        }
    }

    fn holds(&self) -> bool {
        !self.calls.is_empty()
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure> {
        let mut rest = vec![];
        match (self.finish.as_deref(), &self.blocked) {
            (None, Some(reason)) => rest.extend(reader::filtered(self.said_anything(), reason)?),
            (None, None) => return Ok(None),
            (Some("STOP" | "MAX_TOKENS"), _) => {}
            (
                Some(
                    reason @ ("MALFORMED_FUNCTION_CALL"
                    | "MALFORMED_RESPONSE"
                    | "UNEXPECTED_TOOL_CALL"
                    | "TOO_MANY_TOOL_CALLS"
                    | "MISSING_THOUGHT_SIGNATURE"),
                ),
                _,
            ) => {
                let why = if self.why.is_empty() { reason } else { &self.why };
                return Err(Failure::new(
                    ErrorKind::Server,
                    format!("it wrote a call of a tool that cannot be read: {why}"),
                ));
            }
            (Some("OTHER"), _) if self.said_anything() || !self.calls.is_empty() => {}
            (Some("OTHER"), _) => {
                return Err(Failure::new(ErrorKind::Server, "it ended without an answer and without a reason"));
            }
            (Some(reason), _) => {
                let why = if self.why.is_empty() { reason } else { &self.why };
                rest.extend(reader::filtered(self.said_anything() || !self.calls.is_empty(), why)?);
            }
        }
        let kept = self.kept();
        rest.extend(calls::finished(self.calls.drain(..)).into_iter().map(Delta::ToolCall));
        rest.extend(kept.map(Delta::Keep));
        rest.push(Delta::Done { cut: self.finish.as_deref() == Some("MAX_TOKENS"), usage: self.usage });
        Ok(Some(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_models_want_signatures() {
        for (model, wants) in [
            ("gemini-2.5-flash", false),
            ("gemini-3-pro-preview", true),
            ("models/gemini-3.1-pro", true),
            ("gemini-12", true),
            ("gemini-flash-latest", true),
            ("models/gemini-pro-latest", true),
            ("gemini-2.5-pro-latest", false),
            ("gemma-latest", false),
            ("gemma-3-27b", false),
        ] {
            assert_eq!(wants_signatures(model), wants, "{model}");
        }
    }

    #[test]
    fn a_tool_without_parameters_has_none() {
        let tool = |parameters| ToolDefinition { name: "t".into(), description: "d".into(), parameters };
        let empty = declaration(&tool(json!({"type": "object", "properties": {}})));
        assert_eq!(empty, json!({"name": "t", "description": "d"}));
        let one = declaration(&tool(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
        assert_eq!(one["parameters"]["properties"]["a"]["type"], "string");
    }
}
