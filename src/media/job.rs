//! What is asked of a provider, and what it gives back.

use bytes::Bytes;
use serde::Deserialize;

/// A task, which has a chain of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Pictures to text.
    Vision,
    /// Questions about sound.
    Listening,
    /// Questions about video.
    Watching,
    /// Text to pictures.
    Image,
    /// Pictures to pictures.
    Edit,
    /// Text to speech.
    Speech,
    /// Speech to text.
    Transcription,
    /// Speech to English text.
    AudioTranslation,
    /// Text to music.
    Music,
    /// Text to sound effects.
    Effect,
    /// Text to video.
    Video,
}

impl Task {
    /// Every task.
    pub const ALL: &'static [Task] = &[
        Task::Vision,
        Task::Listening,
        Task::Watching,
        Task::Image,
        Task::Edit,
        Task::Speech,
        Task::Transcription,
        Task::AudioTranslation,
        Task::Music,
        Task::Effect,
        Task::Video,
    ];

    /// The name of its order in the Config Center.
    pub fn id(self) -> &'static str {
        match self {
            Task::Vision => "vision",
            Task::Listening => "listening",
            Task::Watching => "watching",
            Task::Image => "image",
            Task::Edit => "edit",
            Task::Speech => "speech",
            Task::Transcription => "transcription",
            Task::AudioTranslation => "audio_translation",
            Task::Music => "music",
            Task::Effect => "effect",
            Task::Video => "video",
        }
    }

    /// The task in words, as in "does not …".
    pub fn words(self) -> &'static str {
        match self {
            Task::Vision => "read pictures",
            Task::Listening => "answer questions about sound",
            Task::Watching => "read video",
            Task::Image => "make pictures",
            Task::Edit => "edit pictures",
            Task::Speech => "turn text into speech",
            Task::Transcription => "turn speech into text",
            Task::AudioTranslation => "translate speech",
            Task::Music => "make music",
            Task::Effect => "make sound effects",
            Task::Video => "make video",
        }
    }
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its name, without folders.
    pub name: String,
    /// Its media type by content, such as `image/png`.
    pub media_type: String,
    pub bytes: Bytes,
}

impl Blob {
    /// As a `data:` URL.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }

    pub(crate) fn base64(&self) -> String {
        use base64::{Engine, engine::general_purpose::STANDARD};
        STANDARD.encode(&self.bytes)
    }
}

/// A question about files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    pub question: String,
    pub files: Vec<Blob>,
    /// How closely pictures are read: `low`, `high` or `auto`.
    pub detail: Option<String>,
}

/// Pictures to make.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draw {
    pub prompt: String,
    /// Pictures to start from; none makes new ones.
    pub images: Vec<Blob>,
    /// The part of the first picture that may change: where this one is transparent.
    pub mask: Option<Blob>,
    /// Width and height in pixels.
    pub size: Option<(u32, u32)>,
    /// `low`, `medium`, `high` or `auto`.
    pub quality: Option<String>,
    /// `vivid` or `natural`, or any words.
    pub style: Option<String>,
    /// `transparent` or `opaque`.
    pub background: Option<String>,
    pub count: u32,
}

/// Text to read aloud.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speak {
    pub text: String,
    pub voice: Option<String>,
    pub language: Option<String>,
    /// 1 is usual.
    pub speed: Option<f64>,
    /// `mp3`, `wav` …; what the provider gives by default if left out.
    pub format: Option<String>,
}

/// Speech to write down.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcribe {
    pub audio: Blob,
    pub language: Option<String>,
    /// Names and words that occur in it.
    pub prompt: Option<String>,
    /// How long it is, where that is known.
    pub seconds: Option<f64>,
}

/// Sound to make.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compose {
    pub prompt: String,
    pub lyrics: Option<String>,
    pub instrumental: bool,
    pub seconds: Option<f64>,
    /// A job that was begun before, by its provider's id: it is only waited for.
    pub begun: Option<String>,
}

/// Video to make.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Film {
    pub prompt: String,
    pub first_frame: Option<Blob>,
    pub seconds: u32,
    /// `768P` or `1080P`.
    pub resolution: String,
    /// A job that was begun before, by its provider's id: it is only waited for.
    pub begun: Option<String>,
}

/// A job for a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    Look(Look),
    Draw(Draw),
    Speak(Speak),
    Transcribe(Transcribe),
    Compose(Compose),
    Film(Film),
}

impl Job {
    /// Whether it was begun, and counted, before.
    pub(crate) fn is_begun(&self) -> bool {
        match self {
            Job::Film(film) => film.begun.is_some(),
            Job::Compose(job) => job.begun.is_some(),
            _ => false,
        }
    }

    /// The files that are sent.
    pub(crate) fn files(&self) -> Vec<&Blob> {
        match self {
            Job::Look(look) => look.files.iter().collect(),
            Job::Draw(draw) => draw.images.iter().chain(&draw.mask).collect(),
            Job::Transcribe(job) => vec![&job.audio],
            Job::Film(film) => film.first_frame.iter().collect(),
            Job::Speak(_) | Job::Compose(_) => vec![],
        }
    }
}

/// A file that a provider made.
#[derive(Debug, Clone, PartialEq)]
pub enum MadeFile {
    Bytes(Bytes),
    /// Where it can be fetched, for some hours.
    Link(String),
}

/// What a provider made.
#[derive(Debug, Clone, PartialEq)]
pub enum Made {
    Text(String),
    Files(Vec<MadeFile>),
}

/// The answer of a provider.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub made: Made,
    /// Input and output tokens.
    pub tokens: Option<(u64, u64)>,
}

impl Answer {
    pub fn text(text: &str, tokens: Option<(u64, u64)>) -> Self {
        Self { made: Made::Text(text.trim().to_owned()), tokens }
    }
    pub fn files(files: Vec<MadeFile>) -> Self {
        Self { made: Made::Files(files), tokens: None }
    }
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::files(vec![MadeFile::Bytes(bytes.into())])
    }
}
