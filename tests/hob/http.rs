//! A minimal HTTP client over plain TCP: one request per connection, so that tests can send what no library would.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// Timeout of a response; long, since only a failing test waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A request builder.
#[derive(Clone, Debug)]
pub struct Request {
    port: u16,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl Request {
    pub fn new(port: u16, method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { port, method, path, headers: vec![], body: vec![], chunked: false }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        if token.is_empty() { self } else { self.header("Authorization", &format!("Bearer {token}")) }
    }

    /// A JSON body with its content type.
    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
    }

    /// A body that says it is JSON, whatever it is.
    pub fn text(self, body: &str) -> Self {
        self.header("Content-Type", "application/json").body(body.as_bytes().to_vec())
    }

    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sends the body chunked, without a length.
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Sends the request and returns the connection; dropping it hangs up.
    pub fn open(&self) -> BufReader<TcpStream> {
        self.try_open().expect("the daemon listens")
    }

    fn try_open(&self) -> std::io::Result<BufReader<TcpStream>> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &match self.chunked {
            true => "Transfer-Encoding: chunked\r\n\r\n".to_owned(),
            false => format!("Content-Length: {}\r\n\r\n", self.body.len()),
        };
        socket.write_all(head.as_bytes())?;
        // A server may answer before it has read everything; what it says is read all the same.
        let _ = match self.chunked {
            true => self.body.chunks(64 << 10).try_for_each(|piece| {
                write!(socket, "{:x}\r\n", piece.len())?;
                socket.write_all(piece)?;
                socket.write_all(b"\r\n")
            }),
            false => socket.write_all(&self.body),
        };
        if self.chunked {
            let _ = socket.write_all(b"0\r\n\r\n");
        }
        Ok(BufReader::new(socket))
    }

    /// Sends the request and reads the whole response; an error is a broken connection.
    pub fn try_send(&self) -> std::io::Result<Reply> {
        let mut socket = self.try_open()?;
        let (status, headers) = read_head(&mut socket)?;
        let mut reply = Reply { status, headers, body: vec![] };
        match (reply.header("transfer-encoding"), reply.header("content-length")) {
            _ if self.method == "HEAD" => {}
            (Some("chunked"), _) => {
                while let Some(piece) = read_chunk(&mut socket)? {
                    reply.body.extend(piece);
                }
            }
            (_, Some(length)) => {
                reply.body = vec![0; length.parse().unwrap()];
                socket.read_exact(&mut reply.body)?;
            }
            _ => drop(socket.read_to_end(&mut reply.body)?),
        }
        Ok(reply)
    }

    pub fn send(&self) -> Reply {
        self.try_send().unwrap_or_else(|e| panic!("{} {}: {e}", self.method, self.path))
    }

    /// Sends the request and reads server-sent events.
    pub fn events(&self) -> Events {
        let mut socket = self.open();
        let (status, headers) = read_head(&mut socket).unwrap();
        let kind = headers.iter().find(|(n, _)| n == "content-type").map(|(_, v)| v.as_str());
        assert_eq!((status, kind), (200, Some("text/event-stream")), "{} {}", self.method, self.path);
        Events { socket, text: String::new() }
    }
}

/// The status on a line that was just opened.
pub fn read_status(socket: &mut impl BufRead) -> u16 {
    read_head(socket).unwrap().0
}

fn read_head(socket: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    socket.read_line(&mut line)?;
    let broken = || std::io::Error::other(format!("the answer begins with {line:?}"));
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(broken)?;
    let mut headers = vec![];
    loop {
        let mut line = String::new();
        socket.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok((status, headers)) };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
}

fn read_chunk(socket: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    socket.read_line(&mut line)?;
    let size = usize::from_str_radix(line.trim(), 16).map_err(|_| std::io::Error::other("the answer broke off"))?;
    let mut piece = vec![0; size + 2];
    socket.read_exact(&mut piece)?;
    piece.truncate(size);
    Ok((size > 0).then_some(piece))
}

/// A response.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }

    /// Its data; status and envelope must match.
    pub fn data(&self, status: u16) -> Value {
        let json = self.json();
        assert_eq!((self.status, &json["success"]), (status, &json!(true)), "{json}");
        check_meta(&json);
        json["data"].clone()
    }

    /// Its error message; status, code and envelope must match.
    pub fn refusal(&self, status: u16, code: &str) -> String {
        let json = self.json();
        let (success, told) = (&json["success"], &json["error"]["code"]);
        assert_eq!((self.status, success, told), (status, &json!(false), &json!(code)), "{json}");
        check_meta(&json);
        let message = json["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.split(' ').count() >= 4, "`{message}` is no sentence");
        message
    }
}

fn check_meta(json: &Value) {
    assert!(json["meta"]["requestId"].as_str().is_some_and(|id| id.len() == 36), "{json}");
    let at: jiff::Timestamp = json["meta"]["timestamp"].as_str().unwrap().parse().unwrap();
    assert!(at.duration_until(jiff::Timestamp::now()).abs().as_secs() < 3600, "{json}");
}

/// Server-sent events as they come.
pub struct Events {
    socket: BufReader<TcpStream>,
    text: String,
}

impl Iterator for Events {
    type Item = (String, Value);

    /// The next event's name and data, as text where it is not JSON; `None` when the stream has ended.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                let field = |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
                // Comments keep the line alive.
                let Some(data) = field("data:") else { continue };
                let name = field("event:").unwrap_or("message");
                return Some((name.to_owned(), serde_json::from_str(data).unwrap_or_else(|_| data.into())));
            }
            let piece = read_chunk(&mut self.socket).unwrap()?;
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

/// Sends raw bytes and returns the response until the peer closes or falls silent.
pub fn raw(port: u16, bytes: &[u8], patience: Duration) -> Vec<u8> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the daemon listens");
    socket.set_read_timeout(Some(patience)).unwrap();
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut answer = vec![];
    let _ = socket.read_to_end(&mut answer);
    answer
}
