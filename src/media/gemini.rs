//! Gemini's `generateContent`: questions about files, pictures, speech and transcriptions.

use crate::{
    api::{Api, FILES, WORDS},
    failure::{Failure, short},
    job::{Answer, Draw, Look, MadeFile, Speak, Transcribe},
    openai::{nearest, no_picture, with_wishes},
    wav,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The shapes of pictures, by width and height.
const SHAPES: &[(u32, u32)] = &[(1, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (9, 16), (16, 9), (21, 9)];
/// Reasons for which an answer ends that are refusals.
const REFUSALS: &[&str] =
    &["SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "RECITATION"];

async fn generate(api: &Api<'_>, body: &Value, most: usize) -> Result<(Vec<Value>, Option<(u64, u64)>), Failure> {
    let path = format!("/models/{}:generateContent", text_kit::percent_encode(&api.link.model));
    let answer = api.json(&path, body, most).await?;
    if let Some(reason) = answer["promptFeedback"]["blockReason"].as_str() {
        return Err(Failure::Refused(short(reason)));
    }
    let candidate =
        answer.pointer("/candidates/0").ok_or_else(|| Failure::Odd("answered without a candidate".into()))?;
    let parts = candidate["content"]["parts"].as_array().cloned().unwrap_or_default();
    if let Some(reason) = candidate["finishReason"].as_str().filter(|reason| REFUSALS.contains(reason)) {
        return Err(Failure::Refused(short(reason)));
    }
    let usage = &answer["usageMetadata"];
    let tokens = usage["promptTokenCount"].as_u64().zip(usage["candidatesTokenCount"].as_u64());
    Ok((parts, tokens))
}

/// The words of an answer without the model's thoughts.
fn words(parts: &[Value]) -> String {
    let said = parts.iter().filter(|part| part["thought"] != true);
    said.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("")
}

/// The file in a part.
fn data(part: &Value) -> Option<(Vec<u8>, &str)> {
    let inline = part.get("inlineData").or_else(|| part.get("inline_data"))?;
    let bytes = STANDARD.decode(inline["data"].as_str()?).ok()?;
    let kind = inline.get("mimeType").or_else(|| inline.get("mime_type"))?.as_str()?;
    Some((bytes, kind))
}

/// The name that Gemini knows a type by.
fn kind(media_type: &str) -> &str {
    match media_type {
        "audio/x-wav" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        "audio/mpeg" => "audio/mp3",
        "audio/m4a" => "audio/mp4",
        "video/quicktime" => "video/mov",
        other => other,
    }
}

pub(crate) async fn look(api: &Api<'_>, look: &Look) -> Result<Answer, Failure> {
    let files = look.files.iter();
    let mut parts: Vec<Value> = files
        .map(|file| json!({"inline_data": {"mime_type": kind(&file.media_type), "data": file.base64()}}))
        .collect();
    parts.push(json!({"text": look.question}));
    let mut body = json!({"contents": [{"role": "user", "parts": parts}]});
    if let Some(detail) = look.detail.as_deref().filter(|detail| *detail != "auto") {
        let resolution = if detail == "low" { "MEDIA_RESOLUTION_LOW" } else { "MEDIA_RESOLUTION_HIGH" };
        body["generationConfig"] = json!({"mediaResolution": resolution});
    }
    let (parts, tokens) = generate(api, &body, WORDS).await?;
    match words(&parts).trim() {
        "" => Err(Failure::Odd("answered without words".into())),
        text => Ok(Answer::text(text, tokens)),
    }
}

pub(crate) async fn transcribe(api: &Api<'_>, job: &Transcribe, translate: bool) -> Result<Answer, Failure> {
    let language = job.language.as_deref().map(|language| format!(" The language is {language}.")).unwrap_or_default();
    let words = job.prompt.as_deref().map(|words| format!(" These words may occur: {words}.")).unwrap_or_default();
    let question = match translate {
        true => "Translate the speech in this recording into English. Answer with the translation alone.".to_owned(),
        false => format!(
            "Write down the speech in this recording word by word. Answer with the transcript alone, and with nothing where \
             nobody speaks.{language}{words}"
        ),
    };
    let ask = Look { question, files: vec![job.audio.clone()], detail: None };
    match look(api, &ask).await {
        Err(Failure::Odd(why)) if why == "answered without words" => Ok(Answer::text("", None)),
        other => other,
    }
}

pub(crate) async fn draw(api: &Api<'_>, draw: &Draw) -> Result<Answer, Failure> {
    let images = draw.images.iter();
    let mut parts: Vec<Value> =
        images.map(|file| json!({"inline_data": {"mime_type": file.media_type, "data": file.base64()}})).collect();
    parts.push(json!({"text": with_wishes(draw)}));
    let mut config = json!({"responseModalities": ["TEXT", "IMAGE"]});
    if let Some(size) = draw.size {
        let (width, height) = nearest_shape(size);
        config["imageConfig"] = json!({"aspectRatio": format!("{width}:{height}")});
    }
    let body = json!({"contents": [{"role": "user", "parts": parts}], "generationConfig": config});
    let (parts, tokens) = generate(api, &body, FILES).await?;
    let shown = parts.iter().filter(|part| part["thought"] != true).filter_map(data);
    let files: Vec<MadeFile> = shown.map(|(bytes, _)| MadeFile::Bytes(bytes.into())).collect();
    if files.is_empty() { Err(no_picture(&words(&parts))) } else { Ok(Answer { tokens, ..Answer::files(files) }) }
}

/// The shape of a size in whole numbers.
fn nearest_shape(size: (u32, u32)) -> (u32, u32) {
    // Scaled to one area, so that only the shape counts.
    let scaled: Vec<(u32, u32)> = SHAPES
        .iter()
        .map(|(width, height)| {
            let scale = (1e6 / f64::from(width * height)).sqrt();
            ((f64::from(*width) * scale) as u32, (f64::from(*height) * scale) as u32)
        })
        .collect();
    let found = nearest(size, &scaled);
    scaled.iter().position(|shape| *shape == found).map_or((1, 1), |at| SHAPES[at])
}

/// The rate in `audio/L16;codec=pcm;rate=24000`.
fn rate(kind: &str) -> u32 {
    let rates = kind.split(';').filter_map(|part| part.trim().strip_prefix("rate=")?.parse().ok());
    rates.rev().find(|rate| (8_000..=96_000).contains(rate)).unwrap_or(24_000)
}

pub(crate) async fn speak(api: &Api<'_>, speak: &Speak) -> Result<Answer, Failure> {
    let voice = speak.voice.as_deref().unwrap_or("Kore");
    let body = json!({
        "contents": [{"role": "user", "parts": [{"text": speak.text}]}],
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}},
        },
    });
    let (parts, tokens) = generate(api, &body, FILES).await?;
    let (bytes, kind) = parts.iter().find_map(data).ok_or_else(|| Failure::Odd("answered without sound".into()))?;
    let bytes = match kind.to_ascii_lowercase().starts_with("audio/l16") {
        true => wav::of_pcm(&bytes, rate(kind)).map_err(|e| Failure::Odd(e.message().to_owned()))?,
        false => bytes,
    };
    Ok(Answer { tokens, ..Answer::bytes(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_rates_are_read() {
        for (size, expected) in
            [((1024, 1024), (1, 1)), ((1920, 1080), (16, 9)), ((900, 1600), (9, 16)), ((1500, 1000), (3, 2))]
        {
            assert_eq!(nearest_shape(size), expected, "{size:?}");
        }
        for (kind, expected) in
            [("audio/L16;codec=pcm;rate=16000", 16_000), ("audio/L16", 24_000), ("audio/L16;rate=999999999", 24_000)]
        {
            assert_eq!(rate(kind), expected, "{kind}");
        }
    }
}
