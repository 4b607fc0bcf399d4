//! Speech to text and text to speech, by Wyoming servers on the local network or providers; and facts and parts of sound files.

use crate::{
    JOB_TIMEOUT, MediaTools,
    create::create_audio,
    look::{answered, question},
    prompt,
    sound::{audio_info, facts_of, split_audio},
    source::{Kind, Named},
    with_maker,
};
use media::{Job, Look, Made, MadeFile, Options, Speak, Task, Transcribe};
use std::time::Duration;
use tool::prelude::*;

/// The longest text that is read aloud, in characters.
const TEXT: usize = 4_000;
/// The longest name of a voice or language, in bytes.
const NAME: usize = 100;
/// The longest list of words that occur in a recording, in characters.
const WORDS: usize = 500;
/// How long a call may take: small boards transcribe about as fast as one speaks.
const TIMEOUT: Duration = Duration::from_secs(240);
/// The question about a recording where none is asked.
const SOUND: &str = "Describe this recording: what is said, by whom, and what else is heard.";

const HEAR: &[(&str, &str)] = &[
    ("path", "audio"),
    ("file", "audio"),
    ("audio_path", "audio"),
    ("audioPath", "audio"),
    ("media_id", "audio"),
    ("prompt", "words"),
];
const TRANSLATE: &[(&str, &str)] = &[
    ("path", "audio"),
    ("file", "audio"),
    ("audio_path", "audio"),
    ("targetLanguage", "to"),
    ("target_language", "to"),
    ("language", "to"),
];
const SPEAK: &[(&str, &str)] = &[
    ("input", "text"),
    ("voice_id", "voice"),
    ("voiceId", "voice"),
    ("output_path", "path"),
    ("response_format", "format"),
];
const COMPOSE: &[(&str, &str)] = &[
    ("description", "prompt"),
    ("type", "kind"),
    ("duration", "seconds"),
    ("duration_seconds", "seconds"),
    ("output_path", "path"),
];
const SPLIT: &[(&str, &str)] =
    &[("split_points", "splitPoints"), ("points", "splitPoints"), ("audio", "path"), ("file", "path")];

/// Tools for sound.
pub fn family(tools: MediaTools) -> Family<MediaTools> {
    Family::new("audio", "Speech to text, text to speech, sounds.", tools)
        .title("Audio")
        .needs(&["filesystem"])
        .tool("text_to_speech", Risk::Write, text_to_speech)
        .additive()
        .alias("tts")
        .also_in(&["media_gen"])
        .synonyms(SPEAK)
        .tags("speak say read aloud voice audio sound tts piper")
        .example(json!({"text": "The washing machine has finished."}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("speech_to_text", Risk::Observe, speech_to_text)
        .own_area(Area::FileRead)
        .alias_with("read_audio", by_path)
        .also_in(&["media_read"])
        .synonyms(HEAR)
        .not_idempotent()
        .tags("transcribe dictate recording audio voice whisper stt")
        .example(json!({"audio": "recordings/meeting.wav"}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("translate_audio", Risk::Observe, translate_audio)
        .own_area(Area::FileRead)
        .synonyms(TRANSLATE)
        .not_paths(&["to"])
        .not_idempotent()
        .tags("translation speech recording language voice whisper")
        .example(json!({"audio": "recordings/call.mp3"}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("audio_info", Risk::Observe, audio_info)
        .own_area(Area::FileRead)
        .synonyms(&[("audio", "path"), ("file", "path")])
        .tags("duration length metadata sample rate bitrate channels codec format mp3 wav flac ogg m4a")
        .example(json!({"path": "music/song.mp3"}))
        .tool("split_audio", Risk::Write, split_audio)
        .own_area(Area::FileWrite)
        .additive()
        .synonyms(SPLIT)
        .tags("cut part segment chapter recording trim")
        .example(json!({"path": "recordings/meeting.mp3", "splitPoints": [600, "20:00"]}))
        .timeout(Duration::from_secs(120))
        .tool("create_audio", Risk::Write, create_audio)
        .own_area(Area::FileWrite)
        .also_in(&["media_gen"])
        .synonyms(COMPOSE)
        .shows(&["kind", "seconds"])
        .tags("music song melody sound effect noise compose sing")
        .example(json!({"prompt": "Rain on a tin roof, distant thunder", "kind": "effect", "seconds": 10}))
        .timeout(JOB_TIMEOUT)
        .per_minute(20)
}

/// `read_audio` names the recording `path`, and its `prompt` is a question.
fn by_path(mut args: Value) -> Value {
    if let Some(path) = args.as_object_mut().and_then(|args| args.remove("path")) {
        args["audio"] = path;
    }
    if let Some(prompt) = args.as_object_mut().and_then(|args| args.remove("prompt")) {
        args["question"] = prompt;
    }
    args
}

/// Convert text to speech: a sound file, which is stored with the files of the person, or in the workspace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpeakArgs {
    /// The text, 4,000 characters at most.
    text: String,
    /// The name of a voice of the server or provider; its default if left out.
    voice: Option<String>,
    /// The language, such as `en`, where no voice is named.
    language: Option<String>,
    /// How fast it is spoken, 0.25 to 4; 1 is usual. Providers alone can do that.
    speed: Option<f64>,
    /// `mp3`, `wav`, `flac` or `opus`, where the provider makes it.
    format: Option<String>,
    /// Path of a new file in the workspace, or of a folder with / at its end.
    path: Option<String>,
    /// Only this one: wyoming (a server in the home), openai, elevenlabs, minimax, gemini or edge; with a model as openai/MODEL.
    provider: Option<String>,
}

pub(crate) async fn text_to_speech(tools: MediaTools, cx: Cx, args: SpeakArgs) -> Result<Output> {
    let text = args.text.trim();
    let length = text.chars().count();
    if length == 0 || length > TEXT {
        return Err(Error::bad_args(format!("`text` has {length} characters: give 1 to {TEXT}")));
    }
    if args.speed.is_some_and(|speed| !(0.25..=4.0).contains(&speed)) {
        return Err(Error::bad_args("`speed` is out of bounds: give 0.25 to 4"));
    }
    let speak = Speak {
        text: text.to_owned(),
        voice: short("voice", args.voice.as_deref())?,
        language: short("language", args.language.as_deref())?,
        speed: args.speed,
        format: crate::one_of("format", args.format.as_deref(), &["mp3", "wav", "flac", "opus"])?,
    };
    let target = match args.path.as_deref() {
        Some(path) => Some(tools.target(&cx, "text_to_speech", (Some(path), text), Kind::Audio).await?),
        None => None,
    };
    let how = Options { tool: "text_to_speech", only: args.provider, asks: true };
    let done = tools.media.run(&cx, Task::Speech, Job::Speak(speak), how).await?;
    let Made::Files(files) = &done.made else { return Err(Error::failed("no sound was made")) };
    let Some(MadeFile::Bytes(bytes)) = files.first() else { return Err(Error::failed("no sound was made")) };
    let facts = facts_of(bytes);
    let mut content = match target {
        Some(target) => {
            let saved = tools.save(&cx, &target, MadeFile::Bytes(bytes.clone())).await?;
            serde_json::to_value(saved).map_err(|e| Error::failed(format!("the result cannot be written: {e}")))?
        }
        None => {
            let (name, declared) = match facts.as_ref().map(|facts| facts.format) {
                Some("WAV") => ("speech.wav", "audio/wav"),
                Some("FLAC") => ("speech.flac", "audio/flac"),
                Some("OGG") => ("speech.ogg", "audio/ogg"),
                Some("MP3") => ("speech.mp3", "audio/mpeg"),
                _ => {
                    return Err(Error::failed(
                        "the provider gave something that is no sound: try again, or with another `provider`",
                    ));
                }
            };
            let file = tools.uploads.put(&cx, name, declared, bytes.to_vec()).await?;
            json!({"file": file.id, "name": file.name, "mediaType": file.media_type, "size": file.size,
                "url": format!("/api/v1/files/{}", file.id)})
        }
    };
    let seconds = facts.and_then(|facts| facts.seconds);
    let mut sentence = "I made a sound file of it.".to_owned();
    if let Some(seconds) = seconds {
        content["seconds"] = ((seconds * 1000.0).round() / 1000.0).into();
        sentence = format!("I made a sound file of it, {seconds:.1} seconds long.");
    }
    sentence += &crate::cost_words(&done);
    Ok(Output::json(with_maker(content, &done))?.say(sentence))
}

/// Transcribe speech in an audio file to text; or answer a question about what is heard in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hear {
    /// The recording: its path in the workspace, the id of a file that was sent, or a URL. At most 20 MB.
    audio: String,
    /// The language that is spoken, such as `en`; the server's default if left out.
    language: Option<String>,
    /// Names and words that occur in it.
    words: Option<String>,
    /// A question about it, which a model answers that hears: gemini or openrouter.
    question: Option<String>,
    /// Only this one: wyoming (a server in the home), resolve, openai, elevenlabs or gemini; with a model as openai/MODEL.
    provider: Option<String>,
}

pub(crate) async fn speech_to_text(tools: MediaTools, cx: Cx, args: Hear) -> Result<Output> {
    let language = short("language", args.language.as_deref())?;
    let words = args.words.as_deref().map(str::trim).filter(|words| !words.is_empty());
    if words.is_some_and(|words| words.chars().count() > WORDS) {
        return Err(Error::bad_args(format!("`words` is longer than {WORDS} characters: name the rare ones")));
    }
    let asked = args.question.as_deref().map(|asked| question(Some(asked), SOUND)).transpose()?;
    let audio = tools.recording(&cx, "speech_to_text", &args.audio).await?;
    let how = Options { tool: "speech_to_text", only: args.provider, asks: false };
    if let Some(question) = asked {
        let look = Look { question, files: vec![audio.audio], detail: None };
        return answered(tools.media.run(&cx, Task::Listening, Job::Look(look), how).await?);
    }
    let job = Transcribe { language, prompt: words.map(str::to_owned), ..audio };
    transcribed(&tools, &cx, Task::Transcription, job, how).await
}

/// Translate speech in an audio file into English text, or into another language.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TranslateArgs {
    /// The recording: its path in the workspace, the id of a file that was sent, or a URL. At most 20 MB.
    audio: String,
    /// The language of the text (default: English). Other ones need a model that hears: gemini or openrouter.
    to: Option<String>,
    /// Only this one: openai, gemini or resolve; with a model as openai/MODEL.
    provider: Option<String>,
}

pub(crate) async fn translate_audio(tools: MediaTools, cx: Cx, args: TranslateArgs) -> Result<Output> {
    let to = short("to", args.to.as_deref())?;
    let audio = tools.recording(&cx, "translate_audio", &args.audio).await?;
    let how = Options { tool: "translate_audio", only: args.provider, asks: false };
    match to.filter(|to| !["en", "english", "en-us", "en-gb"].contains(&to.to_lowercase().as_str())) {
        None => transcribed(&tools, &cx, Task::AudioTranslation, audio, how).await,
        Some(language) => {
            let wish =
                format!("Translate the speech in this recording into {language}. Answer with the translation alone.");
            let look = Look {
                question: question(Some(&prompt("to", &wish)?), SOUND)?,
                files: vec![audio.audio],
                detail: None,
            };
            answered(tools.media.run(&cx, Task::Listening, Job::Look(look), how).await?)
        }
    }
}

impl MediaTools {
    /// A recording that a call names, with its length.
    async fn recording(&self, cx: &Cx, tool: &'static str, text: &str) -> Result<Transcribe> {
        let audio = self.open(cx, &Named { tool, parameter: "audio", text, kind: Kind::Audio }).await?;
        let seconds = facts_of(&audio.bytes).and_then(|facts| facts.seconds);
        Ok(Transcribe { audio, language: None, prompt: None, seconds })
    }
}

async fn transcribed(tools: &MediaTools, cx: &Cx, task: Task, job: Transcribe, how: Options) -> Result<Output> {
    let done = tools.media.run(cx, task, Job::Transcribe(job), how).await?;
    let text = match &done.made {
        Made::Text(text) => text.clone(),
        Made::Files(_) => String::new(),
    };
    let said = if text.is_empty() { "I heard no words in it.".to_owned() } else { text.clone() };
    // The speaker in the file need not be the person who sent it.
    Ok(Output::json(with_maker(json!({"text": text}), &done))?.say(said).from_outside())
}

/// A name of a server's, in bounds.
fn short(field: &str, name: Option<&str>) -> Result<Option<String>> {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    match name {
        Some(name) if name.len() > NAME || name.contains(char::is_control) => {
            Err(Error::bad_args(format!("`{field}` is too long: give a short name")))
        }
        name => Ok(name.map(str::to_owned)),
    }
}
