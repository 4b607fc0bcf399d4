//! Speech to text and text to speech, by Wyoming servers on the local network.

mod servers;
mod wav;

pub use servers::{Finder, SERVICE, VoiceServers};

use std::time::Duration;
use tool::prelude::*;
use uploads::Uploads;
use wyoming::Format;

/// The longest text that is read aloud, in characters.
const TEXT: usize = 4_000;
/// The longest name of a voice or language, in bytes.
const NAME: usize = 100;
/// How long a call may take: small boards transcribe about as fast as one speaks.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The state of the family.
#[derive(Clone)]
pub struct Voice {
    servers: VoiceServers,
    uploads: Uploads,
}

/// Speech to text and text to speech.
pub fn family(servers: VoiceServers, uploads: Uploads) -> Family<Voice> {
    Family::new("audio", "Speech to text, text to speech, sounds.", Voice { servers, uploads })
        .title("Audio")
        .needs(&["filesystem"])
        .tool("text_to_speech", Risk::Write, text_to_speech)
        .additive()
        .alias("tts")
        .also_in(&["media_gen"])
        .tags("speak say read aloud voice audio sound tts piper")
        .example(json!({"text": "The washing machine has finished."}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("speech_to_text", Risk::Observe, speech_to_text)
        .alias_with("read_audio", by_path)
        .also_in(&["media_read"])
        .tags("transcribe dictate recording audio voice whisper stt")
        .example(json!({"audio": "0198c5f1-7c1e-7d3a-9b60-2f4c8f0f1a2b"}))
        .timeout(TIMEOUT)
        .per_minute(20)
}

/// `read_audio` names the recording `path`.
fn by_path(mut args: Value) -> Value {
    if let Some(path) = args.as_object_mut().and_then(|args| args.remove("path")) {
        args["audio"] = path;
    }
    args
}

/// Convert text to speech: a WAV file, which is stored with the files of the person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Speak {
    /// The text, 4,000 characters at most.
    text: String,
    /// The name of a voice of the server; its default if left out.
    voice: Option<String>,
    /// The language, such as `en`, where no voice is named.
    language: Option<String>,
}

async fn text_to_speech(voice: Voice, cx: Cx, args: Speak) -> Result<Output> {
    let text = args.text.trim();
    let length = text.chars().count();
    if length == 0 || length > TEXT {
        return Err(Error::bad_args(format!("`text` has {length} characters: give 1 to {TEXT}")));
    }
    let (name, language) = (short("voice", args.voice.as_deref())?, short("language", args.language.as_deref())?);
    let server = voice.servers.speaking(&cx).await?;
    if let Some(name) = name
        && !server.voices.is_empty()
        && !server.voices.iter().any(|known| known == name)
    {
        let some = server.voices.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return Err(Error::bad_args(format!("there is no voice `{name}`: choose one of {some}")));
    }
    let audio = voice.servers.used(&server, wyoming::synthesize(&server.address, text, name, language).await)?;
    let (bytes, seconds) = wav::encode(&audio)?;
    let file = voice.uploads.put(&cx, "speech.wav", "audio/wav", bytes).await?;
    let content = json!({"file": file.id, "name": file.name, "mediaType": file.media_type, "size": file.size,
        "seconds": seconds, "url": format!("/api/v1/files/{}", file.id)});
    Ok(Output::json(content)?.say(format!("I made a sound file of it, {seconds:.1} seconds long.")))
}

/// Transcribe speech in an audio file to text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Hear {
    /// The id of a WAV file, which was sent before.
    audio: String,
    /// The language that is spoken, such as `en`; the server's default if left out.
    language: Option<String>,
}

async fn speech_to_text(voice: Voice, cx: Cx, args: Hear) -> Result<Output> {
    let language = short("language", args.language.as_deref())?;
    let id: Id = args.audio.trim().parse().map_err(|_| {
        Error::bad_args("`audio` is the id of a file: send a WAV file with POST /api/v1/files, which answers its id")
    })?;
    let (_, bytes) = voice.uploads.load(&cx, id).await?;
    // Resampling minutes of audio takes a while on a small board.
    let audio = tokio::task::spawn_blocking(move || wav::decode(&bytes, Format::SPEECH)).await;
    let audio = audio.map_err(|error| Error::failed(format!("the audio could not be read: {error}")))??;
    let server = voice.servers.hearing(&cx).await?;
    let text = voice.servers.used(&server, wyoming::transcribe(&server.address, &audio, language).await)?;
    let said = if text.is_empty() { "I heard no words in it.".to_owned() } else { text.clone() };
    // The speaker in the file need not be the person who sent it.
    Ok(Output::json(json!({"text": text}))?.say(said).from_outside())
}

/// A name of a server's, in bounds.
fn short<'a>(field: &str, name: Option<&'a str>) -> Result<Option<&'a str>> {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    match name {
        Some(name) if name.len() > NAME || name.contains(char::is_control) => {
            Err(Error::bad_args(format!("`{field}` is too long: give a short name")))
        }
        name => Ok(name),
    }
}
