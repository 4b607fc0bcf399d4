//! Anthropic's Messages API: request and response formats.

use crate::{
    Delta, Endpoint, Kind, Message, Request, ToolCall, ToolChoice, ToolDefinition, Turn, Usage, calls,
    error_response::Failure,
    openai,
    parts::{self, Piece, SupportedMedia},
    provider_state::{self, PositionedBlock, TurnPiece},
    reader::{self, Reader},
    sampling,
    tools::WireForm,
    turns::{self, Speaker},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Media a message can carry.
const SUPPORTED_MEDIA: SupportedMedia = SupportedMedia {
    images: &["image/png", "image/jpeg", "image/webp", "image/gif"],
    largest_image: 10 << 20,
    audio: &[],
    files: &["application/pdf"],
};
/// Default `max_tokens`, which is required, for an unknown model.
const ANSWER: u32 = 8192;

/// The request body.
pub(crate) fn body(endpoint: &Endpoint, request: &Request) -> Value {
    let (system, rest) = turns::instructions(&request.messages);
    let blocks = |message: &Message| blocks(endpoint, message);
    let note = |text: &str| json!({"type": "text", "text": text});
    let mut messages = turns::alternating(rest, blocks, note);
    // Cache breakpoints: everything up to the current and the previous user message is cached.
    for (_, blocks) in messages.iter_mut().rev().filter(|(who, _)| *who == Speaker::User).take(2) {
        blocks.last_mut().into_iter().for_each(mark);
    }
    let message = |(who, blocks): (Speaker, Vec<Value>)| json!({"role": if who == Speaker::User { "user" } else { "assistant" }, "content": blocks});
    let known = Some(endpoint.facts.output).filter(|n| *n > 0).unwrap_or(ANSWER);
    let mut body = json!({
        "model": endpoint.model,
        "max_tokens": endpoint.limit(request.most_tokens()).unwrap_or(known),
        "messages": messages.into_iter().map(message).collect::<Vec<_>>(),
        "stream": true,
    });
    if !system.is_empty() {
        let mut blocks: Vec<Value> = system.iter().map(|text| json!({"type": "text", "text": text})).collect();
        blocks.first_mut().into_iter().for_each(mark);
        blocks.last_mut().into_iter().for_each(mark);
        body["system"] = blocks.into();
    }
    if let Some(temperature) = sampling::temperature(endpoint, request).and_then(|t| t.as_f64()) {
        // Anthropic's range ends at 1.
        body["temperature"] = temperature.clamp(0.0, 1.0).into();
    }
    if let Some(top_p) = request.sampling.top_p {
        body["top_p"] = top_p.into();
    }
    if let Some(top_k) = request.sampling.top_k {
        body["top_k"] = top_k.into();
    }
    if let Some(stop) = sampling::stops(endpoint, request) {
        body["stop_sequences"] = stop.into();
    }
    if !request.tools.is_empty() {
        let may_demand = !endpoint.quirks.no_tool_choice_required;
        match &request.tool_choice {
            ToolChoice::None => body["tool_choice"] = json!({"type": "none"}),
            ToolChoice::Required if may_demand => body["tool_choice"] = json!({"type": "any"}),
            ToolChoice::Named { name } if may_demand => body["tool_choice"] = json!({"type": "tool", "name": name}),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named { .. } => {}
        }
    }
    body
}

/// The `tools` of the body.
pub(crate) fn tools(endpoint: &Endpoint, request: &Request) -> Arc<str> {
    // Four breakpoints are allowed. If the instructions come in parts, the first part is stable and includes the
    // tools.
    let marked = turns::instructions(&request.messages).0.len() <= 1;
    let tool = |tool: &ToolDefinition| {
        let parameters = openai::parameters(endpoint, tool);
        json!({"name": tool.name, "description": tool.description, "input_schema": parameters})
    };
    request.tools.written(WireForm::of(endpoint, marked), |all| {
        let mut tools: Vec<Value> = all.iter().map(tool).collect();
        tools.last_mut().into_iter().filter(|_| marked).for_each(mark);
        tools.into()
    })
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn blocks(endpoint: &Endpoint, message: &Message) -> Vec<Value> {
    match message {
        Message::System(text) => vec![json!({"type": "text", "text": turns::instruction(text)})],
        Message::User(said) => {
            parts::pieces(said, &endpoint.facts, &SUPPORTED_MEDIA).iter().filter(|p| !is_blank(p)).map(part).collect()
        }
        Message::Assistant(turn) => spoken(endpoint, turn),
        Message::Tool(result) => {
            let id = calls::fitting(&result.call_id, false);
            // An error without text is rejected.
            let content = if result.content.trim().is_empty() { "(nothing)" } else { &result.content };
            let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            if result.is_error {
                block["is_error"] = true.into();
            }
            vec![block]
        }
    }
}

/// Whether a piece is blank text, which is rejected.
fn is_blank(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Text(text) if text.trim().is_empty())
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Data { kind, media_type, name, base64 } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": base64});
            match kind {
                Kind::File => json!({"type": "document", "source": source, "title": name}),
                Kind::Image | Kind::Audio => json!({"type": "image", "source": source}),
            }
        }
    }
}

fn spoken(endpoint: &Endpoint, turn: &Turn) -> Vec<Value> {
    let strand = |strand| match strand {
        TurnPiece::Text(text) if text.trim().is_empty() => None,
        TurnPiece::Text(text) => Some(json!({"type": "text", "text": text})),
        TurnPiece::Call(call) => {
            let id = calls::fitting(&call.id, false);
            Some(
                json!({"type": "tool_use", "id": id, "name": calls::fitting_name(&call.name), "input": calls::arguments(call)}),
            )
        }
        TurnPiece::Kept(block) => Some(block),
    };
    provider_state::in_original_order(turn, endpoint).into_iter().filter_map(strand).collect()
}

/// A content block in progress.
enum Block {
    Thinking { thinking: String, signature: String },
    Redacted(Value),
    Call(ToolCall),
}

/// Accumulates a response.
#[derive(Default)]
pub(crate) struct Blocks {
    provider: String,
    model: String,
    open: BTreeMap<u64, Block>,
    calls: Vec<ToolCall>,
    kept: Vec<PositionedBlock>,
    /// Bytes of text emitted.
    text: usize,
    bytes: usize,
    tokens: Tokens,
    stop: Option<String>,
    /// The reason for a refusal, if given.
    why: Option<String>,
    ended: bool,
}

#[derive(Default)]
struct Tokens {
    read: u64,
    from_cache: u64,
    to_cache: u64,
    written: u64,
}

impl Blocks {
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { provider: endpoint.provider.clone(), model: endpoint.model.clone(), ..Self::default() }
    }

    fn say(&mut self, text: &Value, said: &mut Vec<Delta>) {
        if let Some(text) = text.as_str().filter(|t| !t.is_empty()) {
            self.text += text.len();
            self.bytes += text.len();
            said.push(Delta::Text(text.to_owned()));
        }
    }

    fn begin(&mut self, index: u64, block: &Value, said: &mut Vec<Delta>) {
        let string = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let opened = match block["type"].as_str() {
            Some("text") => return self.say(&block["text"], said),
            Some("thinking") => {
                let thinking = string("thinking");
                if !thinking.is_empty() {
                    said.push(Delta::Thinking(thinking.clone()));
                }
                Block::Thinking { thinking, signature: string("signature") }
            }
            Some("redacted_thinking") => Block::Redacted(block.clone()),
            Some("tool_use") => {
                // In a stream the input starts empty and arrives in deltas.
                let whole = block["input"].as_object().filter(|input| !input.is_empty());
                let arguments = whole.map(|_| block["input"].to_string()).unwrap_or_default();
                Block::Call(ToolCall { id: string("id"), name: string("name"), arguments })
            }
            // Server-side tools and unknown blocks.
            _ => return,
        };
        self.bytes += calls::EACH + block.to_string().len();
        self.open.insert(index, opened);
    }

    fn go_on(&mut self, index: u64, delta: &Value, said: &mut Vec<Delta>) {
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match (delta["type"].as_str(), self.open.get_mut(&index)) {
            (Some("text_delta"), _) => self.say(&delta["text"], said),
            (Some("thinking_delta"), open) => {
                let more = piece("thinking");
                if let Some(Block::Thinking { thinking, .. }) = open {
                    thinking.push_str(more);
                }
                self.bytes += more.len();
                if !more.is_empty() {
                    said.push(Delta::Thinking(more.to_owned()));
                }
            }
            (Some("signature_delta"), Some(Block::Thinking { signature, .. })) => {
                signature.push_str(piece("signature"));
                self.bytes += piece("signature").len();
            }
            (Some("input_json_delta"), Some(Block::Call(call))) => {
                call.arguments.push_str(piece("partial_json"));
                self.bytes += piece("partial_json").len();
            }
            _ => {}
        }
    }

    fn end(&mut self, block: Block) {
        let block = match block {
            Block::Call(call) => return self.calls.push(call),
            Block::Thinking { thinking, signature } if thinking.is_empty() && signature.is_empty() => return,
            Block::Thinking { thinking, signature } => {
                json!({"type": "thinking", "thinking": thinking, "signature": signature})
            }
            Block::Redacted(block) => block,
        };
        self.kept.push(PositionedBlock { text: self.text, calls: self.calls.len(), block });
    }

    /// Updates token counts. They come at the start, the end or both; some servers start with zeros.
    fn count(&mut self, told: &Value) {
        let tokens = &mut self.tokens;
        for (count, name) in [
            (&mut tokens.read, "input_tokens"),
            (&mut tokens.from_cache, "cache_read_input_tokens"),
            (&mut tokens.to_cache, "cache_creation_input_tokens"),
            (&mut tokens.written, "output_tokens"),
        ] {
            *count = crate::message::tokens(&told[name]).filter(|n| *n > 0).unwrap_or(*count);
        }
    }

    fn stopped(&mut self, told: &Value) {
        self.stop = told["stop_reason"].as_str().map(str::to_owned).or(self.stop.take());
        let why = told["stop_details"]["explanation"].as_str().filter(|why| !why.is_empty());
        self.why = why.map(|why| why.chars().take(200).collect()).or(self.why.take());
    }

    /// Cached tokens count as input too.
    fn usage(&self) -> Usage {
        let Tokens { read, from_cache, to_cache, written } = self.tokens;
        let prompt_tokens = read + from_cache + to_cache;
        Usage {
            prompt_tokens,
            completion_tokens: written,
            total_tokens: prompt_tokens + written,
            cached_tokens: from_cache,
            micros: None,
            written_to_cache: to_cache,
        }
    }
}

impl Reader for Blocks {
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure> {
        let mut said = vec![];
        let index = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str() {
            Some("message_start") => self.count(&event["message"]["usage"]),
            Some("content_block_start") => self.begin(index, &event["content_block"], &mut said),
            Some("content_block_delta") => self.go_on(index, &event["delta"], &mut said),
            Some("content_block_stop") => {
                if let Some(block) = self.open.remove(&index) {
                    self.end(block);
                }
            }
            Some("message_delta") => {
                self.stopped(&event["delta"]);
                self.count(&event["usage"]);
            }
            Some("message_stop") => self.ended = true,
            Some("error") => return Err(Failure::of(&event)),
            None if event["error"].is_object() => return Err(Failure::of(&event)),
            // Pings and unknown events.
            _ => {}
        }
        Ok(said)
    }

    fn whole(&mut self, answer: Value) -> Result<Vec<Delta>, Failure> {
        if answer["type"] == "error" || answer["error"].is_object() {
            return Err(Failure::of(&answer));
        }
        let mut said = vec![];
        for block in answer["content"].as_array().into_iter().flatten() {
            self.begin(0, block, &mut said);
            if let Some(block) = self.open.remove(&0) {
                self.end(block);
            }
        }
        self.count(&answer["usage"]);
        self.stopped(&answer);
        Ok(said)
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn holds(&self) -> bool {
        !self.open.is_empty() || !self.calls.is_empty() || !self.kept.is_empty()
    }

    fn held(&self) -> usize {
        self.bytes
    }

    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure> {
        if self.stop.is_none() && !self.ended {
            return Ok(None);
        }
        // Some servers omit the last block's end.
        for block in std::mem::take(&mut self.open).into_values() {
            self.end(block);
        }
        let mut rest = vec![];
        if self.stop.as_deref() == Some("refusal") {
            let why = self.why.as_deref().unwrap_or("it refuses for safety");
            rest.extend(reader::filtered(self.text > 0, why)?);
            // Calls started before a refusal are dropped.
            self.calls.clear();
        }
        rest.extend(calls::finished(self.calls.drain(..)).into_iter().map(Delta::ToolCall));
        rest.extend(provider_state::keep(&self.provider, &self.model, std::mem::take(&mut self.kept)).map(Delta::Keep));
        let cut = matches!(self.stop.as_deref(), Some("max_tokens" | "model_context_window_exceeded"));
        rest.push(Delta::Done { cut, usage: self.usage() });
        Ok(Some(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_at_the_provider_counts_as_read_and_as_kept() {
        let mut blocks = Blocks::default();
        let told = json!({"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 3000});
        blocks.count(&told);
        let usage = blocks.usage();
        assert_eq!((usage.prompt_tokens, usage.cached_tokens, usage.written_to_cache), (3210, 200, 3000));
    }
}
