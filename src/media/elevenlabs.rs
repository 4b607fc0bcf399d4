//! ElevenLabs: speech, transcriptions, music and sound effects.

use crate::{
    api::{Api, Form, WORDS},
    failure::Failure,
    job::{Answer, Compose, Speak, Transcribe},
};
use serde_json::json;

/// The voice that is used where none is named: "George".
const VOICE: &str = "JBFqnCBsd6RMkjVDRZzb";

/// Its name of a format.
fn format(format: Option<&str>) -> Result<&'static str, Failure> {
    match format {
        None | Some("mp3") => Ok("mp3_44100_128"),
        Some("opus") => Ok("opus_48000_64"),
        Some("wav") => Ok("wav_44100"),
        Some(other) => Err(Failure::Unable(format!("does not make {other}"))),
    }
}

pub(crate) async fn speak(api: &Api<'_>, speak: &Speak) -> Result<Answer, Failure> {
    let voice = text_kit::percent_encode(speak.voice.as_deref().unwrap_or(VOICE));
    let path = format!("/text-to-speech/{voice}?output_format={}", format(speak.format.as_deref())?);
    let mut body = json!({"text": speak.text, "model_id": api.link.model});
    if let Some(speed) = speak.speed {
        body["voice_settings"] = json!({"speed": speed.clamp(0.7, 1.2)});
    }
    Ok(Answer::bytes(api.file(&path, &body, "audio/").await?))
}

pub(crate) async fn transcribe(api: &Api<'_>, job: &Transcribe) -> Result<Answer, Failure> {
    let form = Form::new()
        .text("model_id", &api.link.model)
        .text("timestamps_granularity", "none")
        .optional("language_code", job.language.as_deref())
        .file("file", &job.audio);
    let answer = api.form("/speech-to-text", form, WORDS).await?;
    let text = answer["text"].as_str().ok_or_else(|| Failure::Odd("answered without a `text`".into()))?;
    Ok(Answer::text(text, None))
}

/// Music of 3 seconds to 10 minutes.
pub(crate) async fn compose(api: &Api<'_>, job: &Compose) -> Result<Answer, Failure> {
    let prompt = match &job.lyrics {
        Some(lyrics) => format!("{}\nLyrics:\n{lyrics}", job.prompt),
        None => job.prompt.clone(),
    };
    let mut body = json!({"prompt": prompt, "model_id": api.link.model});
    if let Some(seconds) = job.seconds {
        body["music_length_ms"] = ((seconds.clamp(3.0, 600.0) * 1000.0) as u64).into();
    }
    if job.lyrics.is_none() && job.instrumental {
        body["force_instrumental"] = true.into();
    }
    Ok(Answer::bytes(api.file("/music?output_format=mp3_44100_128", &body, "audio/").await?))
}

/// A sound of half a second to 30 seconds.
pub(crate) async fn effect(api: &Api<'_>, job: &Compose) -> Result<Answer, Failure> {
    let mut body = json!({"text": job.prompt, "model_id": api.link.model});
    if let Some(seconds) = job.seconds {
        body["duration_seconds"] = seconds.clamp(0.5, 30.0).into();
    }
    Ok(Answer::bytes(api.file("/sound-generation?output_format=mp3_44100_128", &body, "audio/").await?))
}
