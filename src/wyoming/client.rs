//! A client: asks a server what it offers, and has speech turned into text or text into speech.

use crate::{Error, Event, EventReader, Info, Limits, Result, write};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{ReadHalf, WriteHalf, split},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};

/// The most audio that a server may answer with, in bytes.
pub const MAX_AUDIO: usize = 16 << 20;
/// How long connecting, and the answer to `describe`, may take.
const CONNECT: Duration = Duration::from_secs(3);
const DESCRIBE: Duration = Duration::from_secs(5);
/// How long a small board may work on one request.
const WORK: Duration = Duration::from_secs(110);
/// How much audio is in one event.
const CHUNK: usize = 8 << 10;
/// How much text of a server is repeated.
const TEXT: usize = 200;
/// The longest transcript, in characters.
const TRANSCRIPT: usize = 20_000;

/// A form of raw audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Samples a second.
    pub rate: u32,
    /// Bytes of a sample.
    pub width: u16,
    /// Channels.
    pub channels: u16,
}

impl Format {
    /// The form that speech-to-text programs expect.
    pub const SPEECH: Self = Self { rate: 16_000, width: 2, channels: 1 };

    fn of(event: &Event) -> Result<Self> {
        let number = |key: &str, most: u64| {
            let number = event.data.get(key).and_then(Value::as_u64);
            number.filter(|n| (1..=most).contains(n)).ok_or(Error::Malformed("it has no usable form of audio"))
        };
        let (rate, width, channels) = (number("rate", 192_000)?, number("width", 4)?, number("channels", 8)?);
        Ok(Self { rate: rate as u32, width: width as u16, channels: channels as u16 })
    }

    fn data(self) -> Value {
        json!({"rate": self.rate, "width": self.width, "channels": self.channels})
    }
}

/// Raw audio: little-endian PCM.
#[derive(Debug, Clone, PartialEq)]
pub struct Audio {
    /// Its form.
    pub format: Format,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A connection to a server.
struct Connection {
    reader: EventReader<ReadHalf<TcpStream>>,
    writer: WriteHalf<TcpStream>,
    until: Instant,
    within: Duration,
}

impl Connection {
    async fn open(address: &str, within: Duration) -> Result<Self> {
        let until = Instant::now() + within;
        let stream = timeout(CONNECT, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| Error::TimedOut(CONNECT.as_secs()))??;
        let _ = stream.set_nodelay(true);
        let (reader, writer) = split(stream);
        Ok(Self { reader: EventReader::new(reader, Limits::CLIENT), writer, until, within })
    }

    async fn send(&mut self, event: &Event) -> Result<()> {
        let sent = timeout_at(self.until, write(&mut self.writer, event)).await;
        sent.map_err(|_| Error::TimedOut(self.within.as_secs()))?
    }

    /// The next event that is no error.
    async fn next(&mut self) -> Result<Event> {
        let read = timeout_at(self.until, self.reader.read()).await;
        let event = read.map_err(|_| Error::TimedOut(self.within.as_secs()))??.ok_or(Error::Closed)?;
        if event.kind == "error" {
            return Err(Error::Refused(plain(event.text("text").unwrap_or("an error without a text"), TEXT)));
        }
        Ok(event)
    }

    async fn send_audio(&mut self, audio: &Audio) -> Result<()> {
        self.send(&Event::new("audio-start", audio.format.data())).await?;
        for chunk in audio.bytes.chunks(CHUNK) {
            let event = Event { payload: chunk.to_vec(), ..Event::new("audio-chunk", audio.format.data()) };
            self.send(&event).await?;
        }
        self.send(&Event::new("audio-stop", json!({}))).await
    }
}

/// Asks the server at `address`, such as `192.168.1.7:10300`, what it offers.
///
/// # Errors
/// `Io` and `TimedOut` when nobody answers there, `Malformed` when it does not speak Wyoming.
pub async fn describe(address: &str) -> Result<Info> {
    let mut to = Connection::open(address, DESCRIBE).await?;
    to.send(&Event::new("describe", json!({}))).await?;
    loop {
        let event = to.next().await?;
        if event.kind == "info" {
            return serde_json::from_value(event.data.into())
                .map_err(|_| Error::Malformed("it describes nothing known"));
        }
    }
}

/// Has speech turned into text.
///
/// # Errors
/// As [`describe`]; `Refused` with the error of the server.
pub async fn transcribe(address: &str, audio: &Audio, language: Option<&str>) -> Result<String> {
    let mut to = Connection::open(address, WORK).await?;
    let request = language.map_or(json!({}), |language| json!({"language": language}));
    to.send(&Event::new("transcribe", request)).await?;
    to.send_audio(audio).await?;
    loop {
        let event = to.next().await?;
        if event.kind == "transcript" {
            let text = event.text("text").ok_or(Error::Malformed("the transcript has no text"))?;
            return Ok(plain(text, TRANSCRIPT));
        }
    }
}

/// Has text turned into speech, with a voice of this name or language.
///
/// # Errors
/// As [`transcribe`]; `TooLong` when the audio is longer than [`MAX_AUDIO`].
pub async fn synthesize(address: &str, text: &str, voice: Option<&str>, language: Option<&str>) -> Result<Audio> {
    let mut to = Connection::open(address, WORK).await?;
    let mut request = json!({"text": text});
    match (voice, language) {
        (Some(name), _) => request["voice"] = json!({"name": name}),
        (None, Some(language)) => request["voice"] = json!({"language": language}),
        (None, None) => {}
    }
    to.send(&Event::new("synthesize", request)).await?;
    let mut audio: Option<Audio> = None;
    loop {
        let event = to.next().await?;
        match event.kind.as_str() {
            "audio-start" if audio.is_none() => audio = Some(Audio { format: Format::of(&event)?, bytes: vec![] }),
            "audio-chunk" => {
                let audio = audio.as_mut().ok_or(Error::Malformed("audio came before its form"))?;
                if audio.bytes.len() + event.payload.len() > MAX_AUDIO {
                    return Err(Error::TooLong { part: "audio", limit: MAX_AUDIO });
                }
                audio.bytes.extend(event.payload);
            }
            "audio-stop" => break audio.ok_or(Error::Malformed("there was no audio")),
            _ => {}
        }
    }
}

/// Text of a server without control characters, truncated.
fn plain(text: &str, most: usize) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control() || *c == '\n').take(most).collect();
    shown.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A server that answers one connection: to each event of a type, the events of the script.
    async fn server(script: Vec<(&'static str, Vec<Event>)>) -> (String, tokio::task::JoinHandle<Vec<Event>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = tokio::spawn(async move {
            let (reader, mut writer) = split(listener.accept().await.unwrap().0);
            let (mut reader, mut heard) = (EventReader::new(reader, Limits::CLIENT), vec![]);
            while let Ok(Some(event)) = reader.read().await {
                for answer in script.iter().filter(|(kind, _)| *kind == event.kind).flat_map(|(_, answers)| answers) {
                    write(&mut writer, answer).await.unwrap();
                }
                heard.push(event);
            }
            heard
        });
        (address, heard)
    }

    fn chunk(bytes: &[u8]) -> Event {
        Event { payload: bytes.to_vec(), ..Event::new("audio-chunk", Format::SPEECH.data()) }
    }

    #[tokio::test]
    async fn a_server_is_described() {
        let info = json!({"asr": [{"name": "whisper", "installed": true, "attribution": {"name": "x", "url": ""},
            "models": [{"name": "tiny", "installed": true, "languages": ["en"], "description": null}]}],
            "tts": [{"name": "piper", "installed": false, "voices": [{"name": "amy"}]}], "wake": [], "satellite": null});
        let (address, _) =
            server(vec![("describe", vec![Event::new("pong", json!({})), Event::new("info", info)])]).await;
        let info = describe(&address).await.unwrap();
        assert!(info.hears() && !info.speaks());
        assert_eq!((info.asr[0].models[0].name.as_str(), info.tts[0].voices[0].name.as_str()), ("tiny", "amy"));
        assert_eq!(info.voices().count(), 0);
    }

    #[tokio::test]
    async fn speech_becomes_text() {
        let answer = Event::new("transcript", json!({"text": " turn on\u{1b} the lamp\n"}));
        let (address, heard) = server(vec![("audio-stop", vec![answer])]).await;
        let audio = Audio { format: Format::SPEECH, bytes: (0..20_000u32).map(|n| n as u8).collect() };
        assert_eq!(transcribe(&address, &audio, Some("en")).await.unwrap(), "turn on the lamp");
        let heard = heard.await.unwrap();
        let kinds: Vec<&str> = heard.iter().map(|event| &*event.kind).collect();
        assert_eq!(kinds, ["transcribe", "audio-start", "audio-chunk", "audio-chunk", "audio-chunk", "audio-stop"]);
        assert_eq!(heard[0].text("language"), Some("en"));
        assert_eq!(heard.iter().flat_map(|event| event.payload.clone()).collect::<Vec<_>>(), audio.bytes);
    }

    #[tokio::test]
    async fn text_becomes_speech() {
        let start = Event::new("audio-start", json!({"rate": 22050, "width": 2, "channels": 1}));
        let answers = vec![start, chunk(&[1, 2]), chunk(&[3, 4]), Event::new("audio-stop", json!({}))];
        let (address, heard) = server(vec![("synthesize", answers)]).await;
        let audio = synthesize(&address, "Hello.", Some("amy"), Some("en")).await.unwrap();
        assert_eq!((audio.format.rate, audio.bytes), (22050, vec![1, 2, 3, 4]));
        assert_eq!(heard.await.unwrap()[0].data["voice"], json!({"name": "amy"}));
    }

    #[tokio::test]
    async fn a_bad_server_is_an_error() {
        let start = |data| Event::new("audio-start", data);
        for (answers, part) in [
            (vec![Event::new("error", json!({"text": "no such voice\u{7}"}))], "reports: no such voice"),
            (vec![chunk(&[1])], "before its form"),
            (vec![Event::new("audio-stop", json!({}))], "no audio"),
            (vec![start(json!({"rate": 0, "width": 2, "channels": 1}))], "no usable form"),
            (vec![start(json!({"rate": 16000, "width": 9, "channels": 1}))], "no usable form"),
            (vec![start(json!({}))], "no usable form"),
        ] {
            let (address, _) = server(vec![("synthesize", answers)]).await;
            let error = synthesize(&address, "x", None, None).await.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let mut endless = vec![start(Format::SPEECH.data())];
        endless.extend((0..17).map(|_| chunk(&vec![0; 1 << 20])));
        let (address, _) = server(vec![("synthesize", endless)]).await;
        assert!(matches!(synthesize(&address, "x", None, None).await, Err(Error::TooLong { part: "audio", .. })));
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move { closed.accept().await.map(drop) });
        assert!(matches!(describe(&address).await, Err(Error::Closed | Error::Io(_))));
        task.await.unwrap().unwrap();
        assert!(matches!(describe(&address).await, Err(Error::Io(_))));
    }
}
