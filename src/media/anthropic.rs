//! Anthropic's messages with pictures.

use crate::{
    api::{Api, WORDS},
    failure::Failure,
    job::{Answer, Look},
};
use serde_json::{Value, json};

/// The longest answer, in tokens.
const ANSWER: u32 = 4_096;

pub(crate) async fn look(api: &Api<'_>, look: &Look) -> Result<Answer, Failure> {
    let mut content: Vec<Value> = vec![];
    for file in &look.files {
        if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&file.media_type.as_str()) {
            return Err(Failure::Unable(format!("does not take pictures of the type {}", file.media_type)));
        }
        let source = json!({"type": "base64", "media_type": file.media_type, "data": file.base64()});
        content.push(json!({"type": "image", "source": source}));
    }
    content.push(json!({"type": "text", "text": look.question}));
    let messages = json!([{"role": "user", "content": content}]);
    let body = json!({"model": api.link.model, "max_tokens": ANSWER, "messages": messages});
    let answer = api.json("/messages", &body, WORDS).await?;
    if answer["stop_reason"] == "refusal" {
        return Err(Failure::Refused(String::new()));
    }
    let parts = answer["content"].as_array().into_iter().flatten();
    let text = parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("");
    let usage = &answer["usage"];
    let tokens = usage["input_tokens"].as_u64().zip(usage["output_tokens"].as_u64());
    if text.trim().is_empty() {
        return Err(Failure::Odd("answered without words".into()));
    }
    Ok(Answer::text(&text, tokens))
}
