//! OpenAI's formats: chat completions with pictures and sound, images, speech and transcriptions. Others speak them too.

use crate::{
    api::{Api, FILES, Form, WORDS},
    failure::Failure,
    job::{Answer, Blob, Draw, Look, MadeFile, Speak, Transcribe},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The longest answer to a question, in tokens.
const ANSWER: u32 = 4_096;
/// The pictures that the images endpoint makes: width and height.
const SIZES: &[(u32, u32)] = &[(1024, 1024), (1536, 1024), (1024, 1536)];

/// Asks about files by chat completions.
pub(crate) async fn look(api: &Api<'_>, path: &str, look: &Look) -> Result<Answer, Failure> {
    let parts: Result<Vec<Value>, Failure> = look.files.iter().map(|file| part(file, look.detail.as_deref())).collect();
    let mut content = vec![json!({"type": "text", "text": look.question})];
    content.extend(parts?);
    let most = if api.link.provider == "openai" { "max_completion_tokens" } else { "max_tokens" };
    let body = json!({
        "model": api.link.model,
        "messages": [{"role": "user", "content": content}],
        most: ANSWER,
    });
    let answer = api.json(path, &body, WORDS).await?;
    let choice = first_choice(&answer)?;
    match words(&choice["message"]["content"]).trim() {
        "" => Err(Failure::Odd("answered without words".into())),
        text => Ok(Answer::text(text, tokens(&answer))),
    }
}

/// Makes pictures by chat completions, as OpenRouter does.
pub(crate) async fn draw_in_chat(api: &Api<'_>, draw: &Draw) -> Result<Answer, Failure> {
    let mut content = vec![json!({"type": "text", "text": with_wishes(draw)})];
    content.extend(draw.images.iter().map(|i| json!({"type": "image_url", "image_url": {"url": i.data_url()}})));
    let body = json!({
        "model": api.link.model,
        "messages": [{"role": "user", "content": content}],
        "modalities": ["image", "text"],
    });
    let answer = api.json("/chat/completions", &body, FILES).await?;
    let choice = first_choice(&answer)?;
    let images = choice["message"]["images"].as_array().into_iter().flatten();
    let files: Vec<MadeFile> = images.filter_map(|image| file_of(image["image_url"]["url"].as_str()?)).collect();
    if files.is_empty() {
        return Err(no_picture(&words(&choice["message"]["content"])));
    }
    Ok(Answer { tokens: tokens(&answer), ..Answer::files(files) })
}

/// Makes or edits pictures by the images endpoints.
pub(crate) async fn draw(api: &Api<'_>, draw: &Draw) -> Result<Answer, Failure> {
    let size = draw.size.map(|size| nearest(size, SIZES)).map(|(width, height)| format!("{width}x{height}"));
    let prompt = match draw.style.as_deref() {
        Some(style) => format!("{}\nStyle: {style}.", draw.prompt),
        None => draw.prompt.clone(),
    };
    let answer = if draw.images.is_empty() {
        let mut body = json!({"model": api.link.model, "prompt": prompt, "n": draw.count});
        for (key, value) in [("size", &size), ("quality", &draw.quality), ("background", &draw.background)] {
            if let Some(value) = value {
                body[key] = value.as_str().into();
            }
        }
        api.json("/images/generations", &body, FILES).await?
    } else {
        let mut form = Form::new()
            .text("model", &api.link.model)
            .text("prompt", &prompt)
            .text("n", &draw.count.to_string())
            .optional("size", size.as_deref())
            .optional("quality", draw.quality.as_deref())
            .optional("background", draw.background.as_deref());
        for image in &draw.images {
            form = form.file("image[]", image);
        }
        if let Some(mask) = &draw.mask {
            form = form.file("mask", mask);
        }
        api.form("/images/edits", form, FILES).await?
    };
    let data = answer["data"].as_array().into_iter().flatten();
    let made = data.filter_map(|one| match one["b64_json"].as_str() {
        Some(text) => STANDARD.decode(text).ok().map(|bytes| MadeFile::Bytes(bytes.into())),
        None => one["url"].as_str().map(|url| MadeFile::Link(url.to_owned())),
    });
    let files: Vec<MadeFile> = made.take(draw.count as usize).collect();
    let usage = &answer["usage"];
    let tokens = usage["input_tokens"].as_u64().zip(usage["output_tokens"].as_u64());
    if files.is_empty() { Err(no_picture("")) } else { Ok(Answer { tokens, ..Answer::files(files) }) }
}

pub(crate) async fn speak(api: &Api<'_>, speak: &Speak) -> Result<Answer, Failure> {
    let mut body = json!({
        "model": api.link.model,
        "input": speak.text,
        "voice": speak.voice.as_deref().unwrap_or("alloy"),
        "response_format": speak.format.as_deref().unwrap_or("mp3"),
    });
    if let Some(speed) = speak.speed {
        body["speed"] = speed.clamp(0.25, 4.0).into();
    }
    Ok(Answer::bytes(api.file("/audio/speech", &body, "audio/").await?))
}

/// Writes speech down, in its own language or in English.
pub(crate) async fn transcribe(api: &Api<'_>, job: &Transcribe, translate: bool) -> Result<Answer, Failure> {
    let form = Form::new()
        .text("model", &api.link.model)
        .text("response_format", "json")
        .optional("prompt", job.prompt.as_deref())
        .optional("language", job.language.as_deref().filter(|_| !translate))
        .file("file", &job.audio);
    let path = if translate { "/audio/translations" } else { "/audio/transcriptions" };
    let answer = api.form(path, form, WORDS).await?;
    let text = answer["text"].as_str().ok_or_else(|| Failure::Odd("answered without a `text`".into()))?;
    Ok(Answer::text(text, None))
}

/// A file as a part of a message.
fn part(file: &Blob, detail: Option<&str>) -> Result<Value, Failure> {
    match file.media_type.split('/').next() {
        Some("image") => {
            let mut url = json!({"url": file.data_url()});
            if let Some(detail) = detail {
                url["detail"] = detail.into();
            }
            Ok(json!({"type": "image_url", "image_url": url}))
        }
        Some("audio") => {
            let format = match file.media_type.as_str() {
                "audio/mpeg" => "mp3",
                "audio/wav" | "audio/x-wav" => "wav",
                "audio/x-flac" | "audio/flac" => "flac",
                "audio/ogg" => "ogg",
                "audio/m4a" | "audio/mp4" => "m4a",
                other => return Err(Failure::Unable(format!("does not take sound of the type {other}"))),
            };
            Ok(json!({"type": "input_audio", "input_audio": {"data": file.base64(), "format": format}}))
        }
        Some("video") => Ok(json!({"type": "video_url", "video_url": {"url": file.data_url()}})),
        _ => Err(Failure::Unable(format!("does not take files of the type {}", file.media_type))),
    }
}

/// The first choice of an answer, unless it is a refusal.
fn first_choice(answer: &Value) -> Result<&Value, Failure> {
    // OpenRouter reports errors with the status 200.
    if answer["error"].is_object() {
        let status = answer["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
        return Err(crate::failure::of_status(status, answer));
    }
    let choice = answer.pointer("/choices/0").ok_or_else(|| Failure::Odd("answered without a choice".into()))?;
    if let Some(refusal) = choice["message"]["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        return Err(Failure::Refused(crate::failure::short(refusal)));
    }
    if choice["finish_reason"] == "content_filter" {
        return Err(Failure::Refused("its content filter stopped the answer".into()));
    }
    Ok(choice)
}

/// The words of a content, which is a text or a list of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn tokens(answer: &Value) -> Option<(u64, u64)> {
    let usage = &answer["usage"];
    usage["prompt_tokens"].as_u64().zip(usage["completion_tokens"].as_u64())
}

/// A file in a `data:` URL, or where it can be fetched.
pub(crate) fn file_of(url: &str) -> Option<MadeFile> {
    match url.strip_prefix("data:") {
        Some(data) => {
            let (_, text) = data.split_once(";base64,")?;
            STANDARD.decode(text.trim()).ok().map(|bytes| MadeFile::Bytes(bytes.into()))
        }
        None => url.starts_with("http").then(|| MadeFile::Link(url.to_owned())),
    }
}

/// An answer without a picture; models say why in words.
pub(crate) fn no_picture(words: &str) -> Failure {
    match crate::failure::short(words).as_str() {
        "" => Failure::Odd("answered without a picture".into()),
        words => Failure::Odd(format!("answered without a picture ({words})")),
    }
}

/// The size among `known` whose shape is nearest, and of these the one with the nearest area.
pub(crate) fn nearest(size: (u32, u32), known: &[(u32, u32)]) -> (u32, u32) {
    let shape = |(width, height): (u32, u32)| (f64::from(width.max(1)) / f64::from(height.max(1))).ln();
    let area = |(width, height): (u32, u32)| f64::from(width.max(1)).ln() + f64::from(height.max(1)).ln();
    let distance = |other: &(u32, u32)| 4.0 * (shape(size) - shape(*other)).abs() + (area(size) - area(*other)).abs();
    known.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(size)
}

/// The prompt with the wishes for which a format has no field.
pub(crate) fn with_wishes(draw: &Draw) -> String {
    let mut prompt = draw.prompt.clone();
    if let Some(style) = &draw.style {
        prompt += &format!("\nStyle: {style}.");
    }
    if draw.background.as_deref() == Some("transparent") {
        prompt += "\nThe background is plain white.";
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_size_has_the_same_shape() {
        for (size, expected) in [
            ((512, 512), (1024, 1024)),
            ((1920, 1080), (1536, 1024)),
            ((1080, 1920), (1024, 1536)),
            ((4000, 3900), (1024, 1024)),
            ((1, 4096), (1024, 1536)),
        ] {
            assert_eq!(nearest(size, SIZES), expected, "{size:?}");
        }
    }

    #[test]
    fn files_in_urls_are_read() {
        assert_eq!(file_of("data:image/png;base64,aGk="), Some(MadeFile::Bytes("hi".into())));
        assert_eq!(file_of("https://x/y.png"), Some(MadeFile::Link("https://x/y.png".into())));
        for odd in ["data:image/png,aGk=", "data:image/png;base64,!", "file:///etc/passwd", ""] {
            assert_eq!(file_of(odd), None, "{odd}");
        }
    }
}
