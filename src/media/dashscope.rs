//! Alibaba's DashScope: pictures by its multimodal generation, questions by its compatible mode.

use crate::{
    api::{Api, WORDS},
    failure::Failure,
    job::{Answer, Draw, Look, MadeFile},
    openai::{self, nearest, no_picture, with_wishes},
};
use serde_json::{Value, json};

/// The sizes that its image models make.
const SIZES: &[(u32, u32)] = &[(1328, 1328), (1664, 928), (1472, 1104), (1104, 1472), (928, 1664)];

pub(crate) async fn look(api: &Api<'_>, look: &Look) -> Result<Answer, Failure> {
    openai::look(api, "/compatible-mode/v1/chat/completions", look).await
}

pub(crate) async fn draw(api: &Api<'_>, draw: &Draw) -> Result<Answer, Failure> {
    let mut content: Vec<Value> = draw.images.iter().map(|file| json!({"image": file.data_url()})).collect();
    content.push(json!({"text": with_wishes(draw)}));
    let mut parameters = json!({"n": 1, "watermark": false});
    if let (Some(size), true) = (draw.size, draw.images.is_empty()) {
        let (width, height) = nearest(size, SIZES);
        parameters["size"] = format!("{width}*{height}").into();
    }
    let messages = json!([{"role": "user", "content": content}]);
    let body = json!({"model": api.link.model, "input": {"messages": messages}, "parameters": parameters});
    let answer = api.json("/api/v1/services/aigc/multimodal-generation/generation", &body, WORDS).await?;
    let content = answer.pointer("/output/choices/0/message/content").and_then(Value::as_array);
    let urls = content.into_iter().flatten().filter_map(|part| part["image"].as_str());
    let files: Vec<MadeFile> = urls.filter_map(openai::file_of).collect();
    if files.is_empty() { Err(no_picture("")) } else { Ok(Answer::files(files)) }
}
