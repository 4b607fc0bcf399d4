//! A scripted provider of media over plain TCP: answers from what it is asked, and every way to fail.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Got {
    pub method: String,
    pub path: String,
    pub head: String,
    pub body: Vec<u8>,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A field of a form.
    pub fn field(&self, name: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(&format!("name=\"{name}\""))?;
        let (_, rest) = rest.split_once("\r\n\r\n")?;
        Some(rest.split("\r\n--hob-").next()?.to_owned())
    }
}

/// The answer to one request.
#[derive(Clone)]
pub enum Reply {
    Json(u16, Value),
    File(&'static str, Vec<u8>),
    /// A status with a location.
    Sends(String),
    /// Nothing at all, until the client leaves.
    Hangs,
    /// Bytes of this type without end.
    Endless(&'static str),
    /// A length of the body that never comes.
    Cut,
}

pub fn ok(value: Value) -> Reply {
    Reply::Json(200, value)
}

type Mind = dyn Fn(&Got) -> Reply + Send + Sync;

/// The server; it ends with the process.
pub struct MediaServer {
    pub port: u16,
    got: Arc<Mutex<Vec<Got>>>,
    mind: Arc<Mutex<Arc<Mind>>>,
}

impl MediaServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let nothing: Arc<Mind> = Arc::new(|_| Reply::Json(404, json!({"error": {"message": "no such address"}})));
        let (got, mind): (Arc<Mutex<Vec<Got>>>, _) = (Arc::default(), Arc::new(Mutex::new(nothing)));
        let (seen, thinks) = (got.clone(), mind.clone());
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (seen, thinks) = (seen.clone(), thinks.clone());
                thread::spawn(move || drop(talk(socket, &seen, &thinks)));
            }
        });
        Self { port, got, mind }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// From now on answers are made so; returns the requests until now.
    pub fn answers(&self, mind: impl Fn(&Got) -> Reply + Send + Sync + 'static) -> Vec<Got> {
        *self.mind.lock().unwrap() = Arc::new(mind);
        self.take()
    }

    /// The requests since the last time.
    pub fn take(&self) -> Vec<Got> {
        std::mem::take(&mut *self.got.lock().unwrap())
    }
}

fn talk(socket: TcpStream, seen: &Mutex<Vec<Got>>, mind: &Mutex<Arc<Mind>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    loop {
        let (mut head, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            head += &line;
        }
        let header = |name: &str| {
            head.lines().find_map(|l| l.to_lowercase().strip_prefix(&format!("{name}:")).map(|v| v.trim().to_owned()))
        };
        let length: usize = header("content-length").and_then(|l| l.parse().ok()).unwrap_or_default();
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut first = head.lines().next().unwrap_or_default().split(' ');
        let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
        let got = Got { method, path, head, body };
        seen.lock().unwrap().push(got.clone());
        let mind = mind.lock().unwrap().clone();
        let socket = reader.get_mut();
        match mind(&got) {
            Reply::Json(status, value) => answer(socket, status, "application/json", value.to_string().as_bytes())?,
            Reply::File(kind, bytes) => answer(socket, 200, kind, &bytes)?,
            Reply::Sends(to) => write!(socket, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")?,
            Reply::Hangs => {
                let _ = reader.read(&mut [0; 1]);
                return Ok(());
            }
            Reply::Endless(kind) => {
                write!(socket, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")?;
                loop {
                    socket.write_all(&[b'x'; 65_536])?;
                }
            }
            Reply::Cut => {
                write!(socket, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{")?;
                return Ok(());
            }
        }
    }
}

fn answer(socket: &mut TcpStream, status: u16, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(socket, "HTTP/1.1 {status} Any\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n")?;
    socket.write_all(body)
}

/// The beginning of a PNG picture: its content decides what a file is.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
/// A JPEG picture and an MP4 video, likewise.
pub const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
pub const MP4: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08free";

/// Silent MP3 frames.
pub fn mp3(frames: usize) -> Vec<u8> {
    [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 413]].concat().repeat(frames)
}

/// In base64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// An answer to each request of the tools, in the format of the provider whose address it is; videos are at `link`.
pub fn answer_to_all(got: &Got, link: &str) -> Reply {
    let status = json!({"status_code": 0});
    match got.path.as_str() {
        path if path.starts_with("/openai/images/") => ok(json!({"data": [{"b64_json": base64(PNG)}]})),
        path if path.starts_with("/openai/audio/") => ok(json!({"text": "the ferry leaves at noon"})),
        path if path.starts_with("/gemini/") => {
            ok(json!({"candidates": [{"content": {"parts": [{"text": "A ferry at noon."}]}}]}))
        }
        "/minimax/music_generation" => {
            ok(json!({"data": {"audio": "fffb9000".to_owned() + &"00".repeat(413)}, "base_resp": status}))
        }
        "/minimax/video_generation" => ok(json!({"task_id": "77", "base_resp": status})),
        path if path.starts_with("/minimax/query/") => {
            ok(json!({"status": "Success", "file_id": "1", "base_resp": status}))
        }
        path if path.starts_with("/minimax/files/") => ok(json!({"file": {"download_url": link}, "base_resp": status})),
        "/video.mp4" => Reply::File("video/mp4", [MP4, &[7; 1_000]].concat()),
        _ => Reply::Json(404, json!({})),
    }
}
