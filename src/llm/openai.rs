//! OpenAI's chat completions, the format most servers share: requests. For responses see `wire.rs`.

pub(crate) use crate::wire::Pieces;

use crate::{
    Endpoint, Kind, Message, Part, Request, ToolChoice, ToolDefinition, Turn, calls,
    parts::{self, Piece, SupportedMedia},
    provider_state, sampling, schema,
    tools::WireForm,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Media a message can carry.
const SUPPORTED_MEDIA: SupportedMedia = SupportedMedia {
    images: &["image/png", "image/jpeg", "image/webp", "image/gif"],
    largest_image: usize::MAX,
    audio: &["audio/wav", "audio/mpeg"],
    files: &["application/pdf"],
};

/// The request body without its messages and tools.
pub(crate) fn body(endpoint: &Endpoint, request: &Request) -> Value {
    let quirks = &endpoint.quirks;
    let mut body = json!({
        "model": endpoint.model,
        "stream": true,
    });
    if !quirks.no_stream_options {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(max) = endpoint.limit(request.most_tokens()) {
        body[if quirks.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" }] = max.into();
    }
    if let Some(temperature) = sampling::temperature(endpoint, request) {
        body["temperature"] = temperature;
    }
    let asked = &request.sampling;
    sampling::write(
        &mut body,
        [
            ("top_p", asked.top_p.map(Value::from)),
            ("top_k", asked.top_k.map(Value::from)),
            ("seed", asked.seed.map(Value::from)),
            ("presence_penalty", asked.presence_penalty.map(Value::from)),
            ("frequency_penalty", asked.frequency_penalty.map(Value::from)),
        ],
    );
    if let Some(stop) = sampling::stops(endpoint, request) {
        body["stop"] = stop.into();
    }
    if sampling::enforces_format(endpoint, request) {
        body["response_format"] = sampling::openai_format(&request.format).into();
    }
    if let Some(key) = cache_key(endpoint, request) {
        body["prompt_cache_key"] = key;
    }
    if !request.tools.is_empty() {
        match &request.tool_choice {
            ToolChoice::None => body["tool_choice"] = "none".into(),
            ToolChoice::Required if !quirks.no_tool_choice_required => body["tool_choice"] = "required".into(),
            ToolChoice::Named { name } if !quirks.no_tool_choice_required => {
                body["tool_choice"] = json!({"type": "function", "function": {"name": name}});
            }
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named { .. } => {}
        }
    }
    body
}

/// The text of the body's `messages`. Most messages are plain text and are written as they are.
pub(crate) fn messages(endpoint: &Endpoint, request: &Request) -> String {
    let all: Vec<_> =
        request.messages.iter().map(|m| plain(endpoint, m).unwrap_or_else(|| message(endpoint, m))).collect();
    serde_json::to_string(&all).unwrap_or_default()
}

/// A message in the body.
#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Plain { role: &'static str, content: &'a str },
    Whole(Value),
}

/// The message, if it is text alone.
fn plain<'a>(endpoint: &Endpoint, message: &'a Message) -> Option<Written<'a>> {
    let (role, content) = match message {
        Message::System(text) => (system_role(endpoint), text),
        Message::User(said) => match &said.0[..] {
            [Part::Text(text)] if !text.is_empty() => ("user", text),
            _ => return None,
        },
        Message::Assistant(Turn { content, tool_calls, kept: None })
            if tool_calls.is_empty() && !endpoint.quirks.reasoning_back =>
        {
            ("assistant", content)
        }
        Message::Assistant(_) | Message::Tool(_) => return None,
    };
    Some(Written::Plain { role, content })
}

fn system_role(endpoint: &Endpoint) -> &'static str {
    if endpoint.quirks.system_as_developer { "developer" } else { "system" }
}

/// The `tools` of the body.
pub(crate) fn tools(endpoint: &Endpoint, request: &Request) -> Arc<str> {
    let tool = |tool: &ToolDefinition| {
        let parameters = parameters(endpoint, tool);
        json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": parameters}})
    };
    request.tools.written(WireForm::of(endpoint, false), |all| all.iter().map(tool).collect())
}

/// A tool's parameters in the form this server accepts.
pub(crate) fn parameters(endpoint: &Endpoint, tool: &ToolDefinition) -> Value {
    if endpoint.quirks.strip_schema { schema::plain(&tool.parameters) } else { schema::rooted(&tool.parameters) }
}

/// The key OpenAI routes cached prompts by: requests of one person usually share a prefix. Does not identify the
/// person.
pub(crate) fn cache_key(endpoint: &Endpoint, request: &Request) -> Option<Value> {
    let user = request.user.filter(|_| endpoint.quirks.prompt_cache_key)?;
    Some(format!("hob-{:016x}", calls::fnv(user.0.as_bytes())).into())
}

fn message<'a>(endpoint: &Endpoint, message: &Message) -> Written<'a> {
    Written::Whole(match message {
        Message::System(text) => json!({"role": system_role(endpoint), "content": text}),
        Message::User(said) => {
            let mut facts = endpoint.facts;
            facts.files &= endpoint.quirks.file_parts;
            let pieces = parts::pieces(said, &facts, &SUPPORTED_MEDIA);
            let content: Value = match parts::words(&pieces) {
                Some(words) => words.into(),
                None => pieces.iter().map(part).collect(),
            };
            json!({"role": "user", "content": content})
        }
        Message::Assistant(turn) => assistant(endpoint, turn),
        Message::Tool(result) => {
            let id = calls::fitting(&result.call_id, endpoint.quirks.short_ids);
            json!({"role": "tool", "tool_call_id": id, "content": result.content})
        }
    })
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Data { kind: Kind::Image, media_type, base64, .. } => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{base64}")}})
        }
        Piece::Data { kind: Kind::Audio, media_type, base64, .. } => {
            let format = if media_type == "audio/wav" { "wav" } else { "mp3" };
            json!({"type": "input_audio", "input_audio": {"data": base64, "format": format}})
        }
        Piece::Data { kind: Kind::File, media_type, name, base64 } => {
            let data = format!("data:{media_type};base64,{base64}");
            json!({"type": "file", "file": {"filename": name, "file_data": data}})
        }
    }
}

fn assistant(endpoint: &Endpoint, turn: &Turn) -> Value {
    let Turn { content, tool_calls, .. } = turn;
    let own = provider_state::own(turn, endpoint);
    let mut message = json!({"role": "assistant", "content": content});
    if !tool_calls.is_empty() {
        if content.is_empty() {
            message["content"] = Value::Null;
        }
        let call = |(n, call): (usize, &crate::ToolCall)| {
            let id = calls::fitting(&call.id, endpoint.quirks.short_ids);
            let function = json!({"name": calls::fitting_name(&call.name), "arguments": calls::arguments_text(call)});
            let mut out = json!({"id": id, "type": "function", "function": function});
            if let Some(extra) = own.and_then(|kept| kept["extra"].get(n.to_string())) {
                out["extra_content"] = extra.clone();
            }
            out
        };
        message["tool_calls"] = tool_calls.iter().enumerate().map(call).collect();
    }
    if let Some(details) = own.and_then(|kept| kept.get("reasoning_details")) {
        message["reasoning_details"] = details.clone();
    }
    if endpoint.quirks.reasoning_back {
        // With tools, every turn must have reasoning, even one of another model; some reject an empty text.
        let names: Vec<&str> = tool_calls.iter().map(|call| call.name.as_str()).collect();
        let stand_in = || if names.is_empty() { " ".into() } else { format!("Next: {}.", names.join(", ")).into() };
        let thoughts = own.map(|kept| &kept["reasoning_content"]).filter(|t| t.is_string());
        message["reasoning_content"] = thoughts.cloned().unwrap_or_else(stand_in);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quirks;

    #[test]
    fn plain_messages_are_written_as_all_others() {
        let mut plain_ones = 0;
        for quirks in [Quirks::NONE, Quirks { system_as_developer: true, reasoning_back: true, ..Quirks::NONE }] {
            let endpoint = Endpoint { quirks, ..Endpoint::default() };
            for text in ["a", "", " \u{1}\"\\/ü\n"] {
                for said in [Message::System(text.into()), Message::user(text), Message::text_only(text)] {
                    let Some(short) = plain(&endpoint, &said) else { continue };
                    plain_ones += 1;
                    let [short, whole] = [short, message(&endpoint, &said)].map(|m| serde_json::to_value(m).unwrap());
                    assert_eq!(short, whole, "{said:?}");
                }
            }
        }
        assert_eq!(plain_ones, 3 * 3 + 3 * 3 - 2 - 3);
    }
}
