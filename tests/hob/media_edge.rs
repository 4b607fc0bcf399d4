//! Speech by Microsoft Edge's voices: a scripted server of their format, which checks each signature by its own clock, and every
//! way in which a service that nobody documents may change, refuse or misbehave.

use crate::{
    approvals::that_waits,
    harness::{Hob, Setup, until},
    media::error,
    media_server::{MediaServer, Reply},
    model_server::{calls, says},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    thread,
};
use tokio_tungstenite::tungstenite::{Message, WebSocket, handshake::derive_accept_key, protocol::Role};
use url::Url;

const TOKEN: &str = "6A5AA1D4EAFF4E9FB37E23D68491D6F4";
/// How many frames of sound it speaks for each piece, of 24 ms.
const FRAMES: usize = 50;

/// What the server does with a request that is signed right.
#[derive(Clone)]
enum Act {
    /// Speaks as the service does.
    Speaks,
    /// Ends without sound.
    Mute,
    /// Answers the handshake with this head and no WebSocket.
    Refuses(String),
    /// Sends sound, or words about it, without end.
    Endless(Message),
    /// Sends this where sound is due.
    Sends(Message),
    /// Sends bytes that are no frames.
    Raw(Vec<u8>),
    /// Takes leave, or breaks the connection, in the middle.
    Leaves,
    Breaks,
    /// Says nothing until the client leaves.
    Silent,
}

/// A request as it came.
struct Heard {
    head: String,
    url: Url,
    config: String,
    ssml: String,
}

impl Heard {
    fn query(&self, name: &str) -> String {
        self.url.query_pairs().find(|(n, _)| n == name).unwrap().1.into_owned()
    }

    /// The text as it is read by a parser.
    fn text(&self) -> String {
        let (_, text) = self.ssml.split_once("volume='+0%'>").unwrap();
        let text = text.strip_suffix("</prosody></voice></speak>").unwrap();
        assert!(!text.contains('<') && text.len() <= 4_096, "{text}");
        let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        plain.replace("&amp;", "&")
    }
}

struct Shared {
    act: Mutex<Act>,
    heard: Mutex<Vec<Heard>>,
    /// How many seconds its clock is ahead.
    ahead: AtomicI64,
    /// Handshakes that came, and clients that left a silent server.
    handshakes: AtomicUsize,
    left: AtomicUsize,
}

/// The server; it ends with the process.
struct EdgeServer {
    port: u16,
    shared: Arc<Shared>,
}

impl EdgeServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            act: Mutex::new(Act::Speaks),
            heard: Mutex::default(),
            ahead: AtomicI64::default(),
            handshakes: AtomicUsize::default(),
            left: AtomicUsize::default(),
        });
        let all = shared.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let shared = all.clone();
                thread::spawn(move || drop(talk(socket, &shared)));
            }
        });
        Self { port, shared }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/consumer/readaloud/", self.port)
    }

    /// From now on it does this.
    fn acts(&self, act: Act) {
        *self.shared.act.lock().unwrap() = act;
        self.take();
    }

    /// The requests, and the number of handshakes, since the last time.
    fn take(&self) -> (Vec<Heard>, usize) {
        let heard = std::mem::take(&mut *self.shared.heard.lock().unwrap());
        (heard, self.shared.handshakes.swap(0, Ordering::SeqCst))
    }

    /// The settings of a Hob that speaks by it.
    fn settings(&self) -> String {
        format!("[services.edge]\nenabled = true\nbase_url = \"{}\"\n", self.url())
    }

    fn hob(&self) -> Hob {
        Hob::with(Setup { config: self.settings(), ..Setup::default() })
    }
}

/// The signature of a time, as the service computes it.
fn signature(now: i64) -> String {
    let seconds = now + 11_644_473_600;
    let ticks = (seconds - seconds % 300) * 10_000_000;
    Sha256::digest(format!("{ticks}{TOKEN}")).iter().map(|byte| format!("{byte:02X}")).collect()
}

type Talk = Result<(), Box<dyn std::error::Error>>;

fn talk(mut socket: TcpStream, shared: &Shared) -> Talk {
    let mut head = vec![];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head)?;
    shared.handshakes.fetch_add(1, Ordering::SeqCst);
    let path = head.split(' ').nth(1).ok_or("no path")?;
    let url = Url::parse(&format!("http://host{path}"))?;
    let act = shared.act.lock().unwrap().clone();
    let now = Timestamp::from_second(Timestamp::now().as_second() + shared.ahead.load(Ordering::SeqCst))?;
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT");
    let signed =
        |ago: i64| url.query_pairs().any(|p| p == ("Sec-MS-GEC".into(), signature(now.as_second() - ago).into()));
    let has_token = url.query_pairs().any(|pair| pair == ("TrustedClientToken".into(), TOKEN.into()));
    // A few seconds may have brought the next five minutes.
    if !has_token || !(signed(0) || signed(20)) {
        return Ok(write!(socket, "HTTP/1.1 403 Forbidden\r\nDate: {date}\r\ncontent-length: 0\r\n\r\n")?);
    }
    if let Act::Refuses(head) = &act {
        return Ok(write!(socket, "HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n")?);
    }
    let key = head.lines().find(|line| line.to_lowercase().starts_with("sec-websocket-key:")).ok_or("no key")?;
    let accept = derive_accept_key(key[18..].trim().as_bytes());
    let reply =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept:";
    write!(socket, "{reply} {accept}\r\n\r\n")?;
    let mut ws = WebSocket::from_raw_socket(socket, Role::Server, None);
    let config = ws.read()?.into_text()?.to_string();
    let request = ws.read()?.into_text()?.to_string();
    let (fields, ssml) = request.split_once("\r\n\r\n").ok_or("no head")?;
    assert!(
        fields.contains("\r\nPath:ssml") && fields.contains("\r\nContent-Type:application/ssml+xml\r\n"),
        "{fields}"
    );
    shared.heard.lock().unwrap().push(Heard { head: head.clone(), url, config, ssml: ssml.to_owned() });
    let told = |path: &str| {
        Message::text(format!("X-RequestId:1\r\nContent-Type:application/json\r\nPath:{path}\r\n\r\n{{}}"))
    };
    if !matches!(act, Act::Silent) {
        ws.send(told("turn.start"))?;
    }
    match act {
        Act::Mute => ws.send(told("turn.end"))?,
        Act::Speaks => {
            ws.send(told("response"))?;
            for part in mp3(FRAMES).chunks(1_000) {
                ws.send(sound(part))?;
            }
            ws.send(told("audio.metadata"))?;
            ws.send(framed("X-RequestId:1\r\nX-StreamId:2\r\nPath:audio\r\n", b""))?;
            ws.send(told("turn.end"))?;
        }
        Act::Endless(message) => loop {
            ws.send(message.clone())?;
        },
        Act::Sends(message) => ws.send(message)?,
        Act::Raw(bytes) => ws.get_mut().write_all(&bytes)?,
        Act::Leaves => {
            ws.send(sound(&mp3(9)))?;
            ws.close(None)?;
        }
        Act::Breaks => {
            ws.send(sound(&mp3(9)))?;
            return Ok(());
        }
        Act::Refuses(_) | Act::Silent => {}
    }
    while ws.read().is_ok() {}
    shared.left.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// A binary message: the length of its headers, these, and the sound.
fn framed(head: &str, sound: &[u8]) -> Message {
    Message::binary([&(head.len() as u16).to_be_bytes()[..], head.as_bytes(), sound].concat())
}

fn sound(bytes: &[u8]) -> Message {
    framed("X-RequestId:1\r\nContent-Type:audio/mpeg\r\nX-StreamId:2\r\nPath:audio\r\n", bytes)
}

/// Silence of 24 ms a frame: MPEG-2 layer III, 48 kbit/s, 24 kHz, mono.
fn mp3(frames: usize) -> Vec<u8> {
    [&[0xff, 0xf3, 0x64, 0xc4][..], &[0; 140]].concat().repeat(frames)
}

fn tts(hob: &Hob, mut args: Value) -> Value {
    args["provider"] = "edge".into();
    hob.result("tts", args)
}

fn fails(hob: &Hob, args: Value) -> String {
    let mut args = args;
    args["provider"] = "edge".into();
    error(hob, "tts", args)
}

#[test]
fn it_is_off_until_an_admin_switches_it_on() {
    let server = EdgeServer::start();
    let hob = Hob::start();
    let why = fails(&hob, json!({"text": "Dinner is ready."}));
    assert!(why.contains("nothing is set up here to turn text into speech: an admin can switch on `edge`"), "{why}");
    let listed = hob.get("/api/v1/config-services/edge").data(200);
    let fields = listed["schema"].as_array().unwrap();
    assert!(fields.iter().all(|field| field["type"] != "secret"), "{listed}");
    assert!(listed["description"].as_str().unwrap().contains("undocumented"), "{listed}");
    let entries = "/api/v1/config-services/edge/entries";
    // An address alone does not switch it on.
    hob.post(entries, json!({"label": "main", "fields": {"enabled": false, "base_url": server.url()}})).data(201);
    assert!(fails(&hob, json!({"text": "x"})).contains("switch on `edge`"));
    assert!(error(&hob, "tts", json!({"text": "x"})).contains("Piper"));
    assert_eq!(hob.get("/api/v1/voice").data(200)["textToSpeech"], false);
    assert_eq!(server.take().1, 0, "nothing was asked");
    let switched = json!({"fields": {"enabled": true}});
    hob.admin("PATCH", &format!("{entries}/main")).json(&switched).send().data(200);
    assert_eq!(hob.get("/api/v1/voice").data(200)["textToSpeech"], true);
    assert_eq!(hob.result("tts", json!({"text": "Dinner is ready."}))["provider"], "Microsoft Edge");
    assert_eq!(server.take().1, 1);
}

#[test]
fn a_text_is_spoken_as_the_browser_has_it_spoken() {
    let server = EdgeServer::start();
    let hob = server.hob();
    let text = "Tom & \"Anna\" <3</prosody> \u{1b}it's ready";
    let made = tts(&hob, json!({"text": text, "voice": "zh-CN-liaoning-XiaobeiNeural", "speed": 1.5}));
    assert_eq!(
        (&made["mediaType"], &made["seconds"], &made["model"]),
        (&json!("audio/mpeg"), &json!(1.2), &json!("edge"))
    );
    assert!(made.get("cost").is_none(), "{made}");
    assert_eq!(hob.get(made["url"].as_str().unwrap()).body, mp3(FRAMES));
    let (heard, _) = server.take();
    let heard = &heard[0];
    assert_eq!(
        (heard.url.path(), heard.query("Sec-MS-GEC-Version").as_str()),
        ("/consumer/readaloud/edge/v1", "1-143.0.3650.75")
    );
    assert!(
        heard.query("ConnectionId").len() == 32 && heard.query("ConnectionId").chars().all(|c| c.is_ascii_hexdigit())
    );
    let head = heard.head.to_lowercase();
    for part in [
        "user-agent: mozilla/5.0 (windows nt 10.0; win64; x64)",
        " edg/143.0.0.0\r\n",
        "origin: chrome-extension://jdiccldimpdaibmpdkjnbmckianbfold\r\n",
        "cookie: muid=",
        "pragma: no-cache\r\n",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(!head.contains("hob"), "{head}");
    let (fields, body) = heard.config.split_once("\r\n\r\n").unwrap();
    assert!(fields.starts_with("X-Timestamp:") && fields.ends_with("Path:speech.config"), "{fields}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["context"]["synthesis"]["audio"]["outputFormat"], "audio-24khz-48kbitrate-mono-mp3");
    assert_eq!(heard.text(), "Tom & \"Anna\" <3</prosody>  it's ready");
    assert!(
        heard
            .ssml
            .contains("<voice name='Microsoft Server Speech Text to Speech Voice (zh-CN-liaoning, XiaobeiNeural)'>")
    );
    assert!(heard.ssml.contains("rate='+50%'"), "{}", heard.ssml);
    let kept = tts(&hob, json!({"text": "x", "path": "bells/edge"}));
    assert_eq!(kept["path"], "bells/edge.mp3");
    server.take();
    // The voice follows the language.
    for (args, voice) in [
        (json!({"text": "Die Heizung im Keller brummt und muss vor dem Winter gewartet werden."}), "(de-DE, Seraphina"),
        (json!({"text": "地下室のボイラーがうるさい。"}), "(ja-JP, Nanami"),
        (json!({"text": "Hello", "language": "en-GB"}), "(en-GB, Sonia"),
        (json!({"text": "Hello", "language": "Portuguese"}), "(pt-BR, Francisca"),
        (json!({"text": "42"}), "(en-US, EmmaMultilingual"),
    ] {
        tts(&hob, args);
        let (heard, _) = server.take();
        assert!(heard[0].ssml.contains(voice), "{voice}: {}", heard[0].ssml);
    }
    for (args, part) in [
        (json!({"text": "x", "format": "wav"}), "makes mp3 and not wav"),
        (json!({"text": "x", "voice": "en-US-'/><Neural"}), "no voice of Microsoft Edge"),
        (json!({"text": "x", "language": "Klingon"}), "no usual voice for `Klingon`"),
        (json!({"text": "\u{1}\u{2}"}), "nothing that can be spoken"),
    ] {
        let why = fails(&hob, args);
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(server.take().1, 0, "nothing was sent");
}

#[test]
fn a_long_text_is_spoken_in_pieces_by_the_clock_of_the_service() {
    let server = EdgeServer::start();
    let hob = server.hob();
    let words: Vec<String> = (100..766).map(|n| format!("&{n};")).collect();
    let text = words.join(" ");
    for ahead in [0, 3_600, -365 * 86_400] {
        server.shared.ahead.store(ahead, Ordering::SeqCst);
        let made = tts(&hob, json!({"text": text}));
        let (heard, handshakes) = server.take();
        // Once refused, it is asked by its own time, for all the pieces.
        assert_eq!((heard.len(), handshakes), (2, 2 + usize::from(ahead != 0)), "{ahead}");
        assert_eq!(heard.iter().map(Heard::text).collect::<Vec<_>>().join(" "), text);
        assert_ne!(heard[0].query("ConnectionId"), heard[1].query("ConnectionId"));
        assert_eq!((&made["seconds"], &made["size"]), (&json!(2.4), &json!(2 * FRAMES * 144)));
    }
}

#[test]
fn it_follows_providers_that_fail() {
    let (server, other) = (EdgeServer::start(), MediaServer::start());
    let eleven = format!("[services.elevenlabs]\napi_key = \"k\"\nbase_url = \"{}\"\n", other.url("/elevenlabs"));
    let hob = Hob::with(Setup { config: server.settings() + &eleven, ..Setup::default() });
    other.answers(|_| Reply::Json(500, json!({})));
    let made = hob.result("tts", json!({"text": "Dinner is ready."}));
    assert_eq!(made["provider"], "Microsoft Edge");
    assert!(made["failedBefore"][0].as_str().unwrap().starts_with("ElevenLabs is busy"), "{made}");
}

#[test]
fn a_service_that_refuses_says_so() {
    let (server, thief) = (EdgeServer::start(), MediaServer::start());
    let mut hob = server.hob();
    let forbidden = "403 Forbidden\r\nDate: Mon, 11 Nov 2024 01:40:00 GMT";
    for (head, tries, parts) in [
        // By its own time, the signature is one of another clock.
        (forbidden.to_owned(), 2, ["does not accept this request", "status 403"]),
        ("403 Forbidden".to_owned(), 1, ["does not accept this request", "it may have changed"]),
        ("403 Forbidden\r\nDate: soon".to_owned(), 1, ["does not accept this request", "another `provider`"]),
        ("429 Too Many Requests".to_owned(), 2, ["is busy or out of order", "status 429"]),
        ("404 Not Found".to_owned(), 1, ["format that Hob does not know", "the service has changed"]),
        ("200 OK".to_owned(), 1, ["format that Hob does not know", "the service has changed"]),
        (format!("302 Found\r\nlocation: {}", thief.url("/x")), 1, ["sends requests on to", "127.0.0.1"]),
    ] {
        server.acts(Act::Refuses(head.clone()));
        let why = fails(&hob, json!({"text": "x"}));
        assert!(parts.iter().all(|part| why.contains(part)), "{head}: {why}");
        assert!(!why.contains(TOKEN), "{why}");
        assert_eq!(server.take().1, tries, "{head}");
    }
    assert!(thief.take().is_empty(), "no redirect is followed");
    drop(server);
    hob.assert_alive();
    let gone = Hob::with(Setup {
        config: "[services.edge]\nenabled = true\nbase_url = \"http://127.0.0.1:9/x\"\n".into(),
        ..Setup::default()
    });
    let why = fails(&gone, json!({"text": "x"}));
    assert!(why.contains("`127.0.0.1` cannot be reached"), "{why}");
}

#[test]
fn a_service_that_misbehaves_is_left() {
    let server = EdgeServer::start();
    let mut hob = server.hob();
    let changed = "format that Hob does not know";
    let large = "x".repeat(2 << 20);
    for (name, act, part) in [
        ("mute", Act::Mute, "nothing that can be spoken"),
        ("leaves", Act::Leaves, "closed the connection before it was done"),
        ("breaks", Act::Breaks, "broke"),
        ("endless sound", Act::Endless(sound(&mp3(3_000))), "sent more than 40 MB"),
        (
            "endless words",
            Act::Endless(Message::text(format!("Path:audio.metadata\r\n\r\n{}", &large[..500_000]))),
            "40 MB",
        ),
        ("a text without a path", Act::Sends(Message::text("hello")), changed),
        ("a large text", Act::Sends(Message::text(large.clone())), changed),
        ("a large sound", Act::Sends(sound(large.as_bytes())), changed),
        ("no length", Act::Sends(Message::binary(vec![0])), changed),
        ("a length beyond the end", Act::Sends(Message::binary(vec![0xff; 99])), changed),
        ("another path", Act::Sends(framed("Content-Type:audio/mpeg\r\nPath:video\r\n", b"x")), changed),
        ("another type", Act::Sends(framed("Content-Type:text/html\r\nPath:audio\r\n", b"<html>")), changed),
        ("no frames", Act::Raw(b"GET / HTTP/1.1\r\n".to_vec()), "broke"),
    ] {
        server.acts(act);
        let why = fails(&hob, json!({"text": "Dinner is ready."}));
        assert!(why.contains(part), "{name}: {why}");
    }
    // Sound that is none is not stored.
    let page = framed("Content-Type:audio/mpeg\r\nPath:audio\r\n", b"<html>hello</html>");
    let frame = |message: &Message| [&[0x82, message.len() as u8][..], &message.clone().into_data()].concat();
    let end = [&[0x81, 17][..], b"Path:turn.end\r\n\r\n"].concat();
    server.acts(Act::Raw([frame(&page), end].concat()));
    let why = fails(&hob, json!({"text": "x"}));
    assert!(why.contains("no sound"), "{why}");
    server.acts(Act::Speaks);
    assert_eq!(tts(&hob, json!({"text": "x"}))["seconds"], 1.2);
    hob.assert_alive();
}

#[test]
fn silence_ends_by_itself_or_by_a_person() {
    let server = EdgeServer::start();
    server.acts(Act::Silent);
    let (hob, model) = that_waits(1, &server.settings());
    model.script(vec![calls(&[("text_to_speech", json!({"text": "Dinner is ready."}))]), says("done")]);
    thread::scope(|scope| {
        let talking = scope.spawn(|| hob.post("/api/v1/chat", json!({"message": "say it"})));
        until("the request", || !server.shared.heard.lock().unwrap().is_empty());
        let runs = hob.get("/api/v1/runs").data(200);
        let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
        hob.post(&format!("/api/v1/runs/{run}/cancel"), json!({})).data(200);
        assert!(talking.join().unwrap().status < 500);
    });
    until("the end of the connection", || server.shared.left.load(Ordering::SeqCst) == 1);
    let why = fails(&hob, json!({"text": "Dinner is ready."}));
    assert!(why.contains("sent nothing more within 15 s"), "{why}");
    until("the end of the connection", || server.shared.left.load(Ordering::SeqCst) == 2);
}
