//! A small internet: a server on loopback whose answers are written byte by byte.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// What the server does with a request.
pub enum Reply {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes, and then the others again and again, as long as somebody reads.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends these bytes, and then one a tenth of a second for as long as this is so, and closes.
    Drip(Vec<u8>, Arc<AtomicBool>),
    /// Sends nothing until the client leaves.
    Silent,
}

/// An answer with headers (a line break after each) and a body.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Reply::Bytes([head.as_bytes(), body].concat())
}

/// A page in UTF-8.
pub fn page(html: impl AsRef<[u8]>) -> Reply {
    answer("200 OK", "content-type: text/html; charset=utf-8\r\n", html)
}

/// The server; it ends with the process.
pub struct Site {
    pub host: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// A server that answers by the path and the whole request.
    pub fn start(answers: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (heard, answers) = (Arc::new(Mutex::new(vec![])), Arc::new(answers));
        let note = heard.clone();
        thread::spawn(move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                let (note, answers) = (note.clone(), answers.clone());
                thread::spawn(move || {
                    let mut reader = BufReader::new(socket.try_clone().unwrap());
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
                    let length = head.lines().find_map(|line| {
                        line.to_lowercase().strip_prefix("content-length:").and_then(|n| n.trim().parse().ok())
                    });
                    let mut body = vec![0; length.unwrap_or(0)];
                    let _ = reader.read_exact(&mut body);
                    let request = format!("{head}{}", String::from_utf8_lossy(&body));
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    note.lock().unwrap().push(request.clone());
                    match answers(&path, &request) {
                        Reply::Bytes(bytes) => drop(socket.write_all(&bytes)),
                        Reply::Endless(head, piece) => {
                            let mut sent = socket.write_all(&head);
                            while sent.is_ok() {
                                sent = socket.write_all(&piece);
                            }
                        }
                        Reply::Drip(head, goes_on) => {
                            let mut sent = socket.write_all(&head);
                            while sent.is_ok() && goes_on.load(Ordering::Relaxed) {
                                sent = socket.write_all(b"x");
                                thread::sleep(Duration::from_millis(100));
                            }
                        }
                        Reply::Silent => drop(reader.read(&mut [0])),
                    }
                });
            }
        });
        Self { host, heard }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// The whole requests since the last look.
    pub fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    /// The request lines since the last look, without the version.
    pub fn lines(&self) -> Vec<String> {
        let line = |request: String| request.lines().next().unwrap_or_default().replace(" HTTP/1.1", "");
        self.heard().into_iter().map(line).collect()
    }
}

/// A gzip stream of `size` zeros and somewhat more, and nothing after it.
pub fn gzip_bomb(size: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut held, mut count) = (0_u32, 0);
    // Fixed codes of deflate, whose bits come first to last: one zero, then matches of 258 bytes at distance 1.
    let codes = std::iter::once("110").chain(["00110000"]).chain(std::iter::repeat_n("1100010100000", size / 258 + 1));
    for bit in codes.flat_map(str::bytes) {
        held |= u32::from(bit == b'1') << count;
        count += 1;
        if count == 8 {
            bytes.push(held as u8);
            (held, count) = (0, 0);
        }
    }
    bytes.push(held as u8);
    bytes
}
