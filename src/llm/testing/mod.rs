//! Test servers that replay recorded streams of the real formats over real sockets.

mod bodies;
mod failures;
mod streams;

use crate::{Delta, Endpoint, Error, ProviderState, Source, Usage, Wire, ask};
use futures::{Stream, StreamExt, stream};
use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

pub(crate) const WIRES: [Wire; 4] = [Wire::OpenAi, Wire::Responses, Wire::Anthropic, Wire::Gemini];

/// An endpoint that is never contacted.
pub(crate) fn endpoint(wire: Wire) -> Endpoint {
    Endpoint {
        provider: "prov".into(),
        model: "model-1".into(),
        wire,
        url: "http://x/v1".into(),
        ..Endpoint::default()
    }
}

/// The wire's name in file names.
pub(crate) fn name(wire: Wire) -> String {
    serde_json::to_value(wire).unwrap().as_str().unwrap().to_owned()
}

pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testing").join(name)
}

/// The recorded streams: name, wire, text.
pub(crate) fn recorded() -> Vec<(String, Wire, String)> {
    let mut all: Vec<_> = fs::read_dir(folder("streams"))
        .unwrap()
        .map(|entry| {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let wire = WIRES.into_iter().find(|w| file.starts_with(&format!("{}-", name(*w)))).unwrap();
            let text = fs::read_to_string(folder("streams").join(&file)).unwrap();
            (file, wire, text)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

pub(crate) fn one(file: &str) -> (Wire, String) {
    let (_, wire, text) = recorded().into_iter().find(|(name, ..)| name == file).unwrap();
    (wire, text)
}

/// A received answer. Text deltas are joined, since their boundaries are arbitrary.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Heard {
    pub text: String,
    pub refusal: String,
    pub thinking: String,
    /// Id, tool, arguments.
    pub calls: Vec<(String, String, String)>,
    pub kept: Option<ProviderState>,
    /// Media type and bytes.
    pub media: Vec<(String, Vec<u8>)>,
    /// Whether the provider's content filter stopped it.
    pub filtered: bool,
    /// Whether it was cut off, and its usage.
    pub done: Option<(bool, Usage)>,
    pub error: Option<Error>,
}

/// Receives an answer, which must end once, with an error or `Done`.
pub(crate) async fn hear(answer: impl Stream<Item = Result<Delta, Error>>) -> Heard {
    let mut heard = Heard::default();
    let mut answer = std::pin::pin!(answer);
    while let Some(delta) = answer.next().await {
        assert!(heard.done.is_none() && heard.error.is_none(), "something follows the end: {delta:?}");
        match delta {
            Ok(Delta::Text(text)) => heard.text += &text,
            Ok(Delta::Refusal(text)) => heard.refusal += &text,
            Ok(Delta::Thinking(text)) => heard.thinking += &text,
            Ok(Delta::ToolCall(call)) => heard.calls.push((call.id, call.name, call.arguments)),
            Ok(Delta::Keep(kept)) => assert!(heard.kept.replace(kept).is_none(), "kept twice"),
            Ok(Delta::Media(media)) => {
                let Source::Bytes(bytes) = media.source else { panic!("{media:?}") };
                heard.media.push((media.media_type, bytes.to_vec()));
            }
            Ok(Delta::Done { cut, usage }) => heard.done = Some((cut, usage)),
            Ok(Delta::Filtered(_)) => heard.filtered = true,
            Ok(Delta::By { .. } | Delta::Routing(_)) => panic!("a server does not know who else might answer"),
            Err(error) => heard.error = Some(error),
        }
    }
    assert!(heard.done.is_some() || heard.error.is_some(), "it just stops: {heard:?}");
    heard
}

/// Receives a stream that arrives in chunks of `size` bytes.
pub(crate) async fn parsed(endpoint: &Endpoint, text: &str, size: usize) -> Heard {
    let pieces: Vec<_> =
        text.as_bytes().chunks(size.max(1)).map(|c| Ok(http_client::Bytes::copy_from_slice(c))).collect();
    hear(ask::streamed(endpoint, stream::iter(pieces).boxed())).await
}

/// A server's behaviour for one request.
#[derive(Clone)]
pub(crate) struct Answer {
    pub status: u16,
    /// Each followed by a line break.
    pub headers: String,
    pub body: String,
    /// Bytes per chunk.
    pub size: usize,
    /// Whether the connection breaks before the end.
    pub breaks: bool,
}

/// An event stream in chunks of `size` bytes.
pub(crate) fn events(text: &str, size: usize) -> Answer {
    let headers = "content-type: text/event-stream; charset=utf-8\r\n".into();
    Answer { status: 200, headers, body: text.into(), size, breaks: false }
}

pub(crate) fn json_answer(status: u16, headers: &str, body: &str) -> Answer {
    let headers = format!("content-type: application/json\r\n{headers}");
    Answer { status, headers, body: body.into(), size: usize::MAX, breaks: false }
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers; headers in lower case.
    pub head: String,
    pub body: Value,
}

/// A loopback server with one scripted answer per request; the last one repeats.
pub(crate) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: AbortHandle,
}

impl Server {
    pub async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let noted = asked.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (answers, noted) = (answers.clone(), noted.clone());
                tokio::spawn(async move {
                    while let Some(request) = read_request(&mut socket).await {
                        let answer = {
                            let mut noted = noted.lock().unwrap();
                            noted.push(request);
                            answers[(noted.len() - 1).min(answers.len() - 1)].clone()
                        };
                        if send(&mut socket, &answer).await.is_err() || answer.breaks {
                            return;
                        }
                    }
                });
            }
        });
        Self { port, asked, task: task.abort_handle() }
    }

    /// An endpoint for this server.
    pub fn endpoint(&self, wire: Wire) -> Endpoint {
        Endpoint { url: format!("http://127.0.0.1:{}", self.port), key: Some("sk-geheim".into()), ..endpoint(wire) }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn send(socket: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let Answer { status, headers, body, size, breaks } = answer;
    socket.set_nodelay(true)?;
    socket.write_all(format!("HTTP/1.1 {status} X\r\n{headers}transfer-encoding: chunked\r\n\r\n").as_bytes()).await?;
    for piece in body.as_bytes().chunks(*size) {
        socket.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        socket.write_all(piece).await?;
        socket.write_all(b"\r\n").await?;
        tokio::task::yield_now().await;
    }
    if !breaks {
        socket.write_all(b"0\r\n\r\n").await?;
    }
    socket.flush().await
}

async fn read_request(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = vec![];
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let (line, rest) = head.split_once("\r\n").unwrap_or((head, ""));
            let rest = rest.to_lowercase();
            let length = rest.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                let body = serde_json::from_str(body).unwrap_or_default();
                return Some(Asked { head: format!("{line}\r\n{rest}\r\n"), body });
            }
        }
        match socket.read(&mut buffer).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}
