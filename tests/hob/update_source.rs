//! A server of an update channel on loopback, which counts what travels, cuts, waits and redirects; and a broker that notes what is
//! published.

use crate::supervised::Signer;
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};
use update::{
    bundle::{Head, head_length},
    channel::{Channel, ChannelRelease},
};

pub const CHANNEL: &str = "/hob/stable.json";

/// What a path answers.
#[derive(Clone)]
pub enum Answer {
    Bytes(Vec<u8>),
    /// The connection ends after so many bytes of a body.
    Cut(Vec<u8>, usize),
    /// Nothing comes after so many bytes of a body, until the path is given another answer.
    Stall(Vec<u8>, usize),
    Redirect(String),
}

struct Inner {
    port: u16,
    files: Mutex<HashMap<String, Answer>>,
    changed: Condvar,
    /// Bytes of bodies that were sent, by path.
    sent: Mutex<HashMap<String, u64>>,
}

/// The server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let inner = Inner { port, files: Mutex::default(), changed: Condvar::new(), sent: Mutex::default() };
        let server = Self(Arc::new(inner));
        let serving = server.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                thread::spawn(move || serving.answer(socket));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.0.port)
    }

    /// The line of hob.toml.
    pub fn setting(&self) -> String {
        format!("channel = {:?}\n", self.url(CHANNEL))
    }

    pub fn put(&self, path: &str, answer: Answer) {
        self.0.files.lock().unwrap().insert(path.to_owned(), answer);
        self.0.changed.notify_all();
    }

    pub fn remove(&self, path: &str) {
        self.0.files.lock().unwrap().remove(path);
        self.0.changed.notify_all();
    }

    pub fn sent(&self, path: &str) -> u64 {
        self.0.sent.lock().unwrap().get(path).copied().unwrap_or_default()
    }

    fn answer(&self, socket: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(socket.try_clone().ok()?);
        let mut socket = socket;
        let (mut path, mut range, mut line) = (String::new(), None, String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if path.is_empty() {
                path = line.split(' ').nth(1)?.to_owned();
            }
            if let Some(asked) = line.to_lowercase().strip_prefix("range: bytes=") {
                let (from, to) = asked.trim().split_once('-')?;
                range = Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?));
            }
            if line == "\r\n" {
                break;
            }
        }
        let found = self.0.files.lock().unwrap().get(&path).cloned();
        let (bytes, end, stalls) = match found {
            Some(Answer::Bytes(bytes)) => (bytes, usize::MAX, false),
            Some(Answer::Cut(bytes, end)) => (bytes, end, false),
            Some(Answer::Stall(bytes, end)) => (bytes, end, true),
            Some(Answer::Redirect(to)) => {
                let head =
                    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                return socket.write_all(head.as_bytes()).ok();
            }
            None => {
                let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                return socket.write_all(head.as_bytes()).ok();
            }
        };
        let (status, body) = match range {
            Some((from, to)) => ("206 Partial Content", bytes.get(from..=to.min(bytes.len() - 1))?),
            None => ("200 OK", &bytes[..]),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        socket.write_all(head.as_bytes()).ok()?;
        let part = &body[..body.len().min(end)];
        *self.0.sent.lock().unwrap().entry(path.clone()).or_default() += part.len() as u64;
        socket.write_all(part).ok()?;
        if stalls && part.len() < body.len() {
            let mut files = self.0.files.lock().unwrap();
            while matches!(files.get(&path), Some(Answer::Stall(..))) {
                files = self.0.changed.wait(files).unwrap();
            }
        }
        Some(())
    }

    /// A channel that offers bundles, which are put beside it.
    pub fn channel(&self, serial: u64, bundles: &[Vec<u8>]) -> Channel {
        let releases = bundles.iter().map(|bundle| {
            let head = &bundle[..head_length(bundle).unwrap()];
            let about = Head::read_unsigned(head).unwrap();
            let name = format!("hob-{}.hobupdate", about.manifest.version);
            self.put(&format!("/hob/{name}"), Answer::Bytes(bundle.clone()));
            ChannelRelease::of(&about, head, name)
        });
        Channel::new("stable".into(), serial, 30, releases.collect())
    }

    /// Signs a channel and serves it.
    pub fn serve(&self, channel: &Channel, signer: &Signer) {
        let (text, signature) = channel.sign(&signer.key).unwrap();
        self.put(CHANNEL, Answer::Bytes(text));
        self.put(&format!("{CHANNEL}.minisig"), Answer::Bytes(signature.into_bytes()));
    }

    /// Offers bundles.
    pub fn publish(&self, signer: &Signer, serial: u64, bundles: &[Vec<u8>]) {
        self.serve(&self.channel(serial, bundles), signer);
    }
}

/// A broker of MQTT 3.1.1 for one client, which acknowledges all and notes what is published.
pub struct Broker {
    pub port: u16,
    messages: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

impl Broker {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let messages = Arc::<Mutex<HashMap<String, Vec<String>>>>::default();
        let noted = messages.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let noted = noted.clone();
                thread::spawn(move || converse(socket, &noted));
            }
        });
        Self { port, messages }
    }

    /// All messages of the topics that end so, in their order.
    pub fn heard(&self, ending: &str) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().filter(|(topic, _)| topic.ends_with(ending)).flat_map(|(_, all)| all.clone()).collect()
    }
}

fn converse(mut socket: TcpStream, noted: &Mutex<HashMap<String, Vec<String>>>) -> Option<()> {
    let mut byte = [0];
    loop {
        socket.read_exact(&mut byte).ok()?;
        let kind = byte[0];
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            socket.read_exact(&mut byte).ok()?;
            length |= usize::from(byte[0] & 127) << shift;
            shift += 7;
            if byte[0] < 128 {
                break;
            }
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).ok()?;
        match kind >> 4 {
            1 => socket.write_all(&[0x20, 2, 0, 0]).ok()?,
            3 => {
                let name = usize::from(u16::from_be_bytes([body[0], body[1]]));
                let topic = String::from_utf8_lossy(&body[2..2 + name]).into_owned();
                let mut rest = &body[2 + name..];
                if kind & 6 != 0 {
                    socket.write_all(&[0x40, 2, rest[0], rest[1]]).ok()?;
                    rest = &rest[2..];
                }
                let text = String::from_utf8_lossy(rest).into_owned();
                noted.lock().unwrap().entry(topic).or_default().push(text);
            }
            8 => {
                // One granted level for each filter: a length, the filter, a byte.
                let (mut at, mut granted) = (2, vec![]);
                while at + 2 < body.len() {
                    at += 3 + usize::from(u16::from_be_bytes([body[at], body[at + 1]]));
                    granted.push(body[at - 1]);
                }
                let head = [0x90, 2 + granted.len() as u8, body[0], body[1]];
                socket.write_all(&[&head[..], &granted].concat()).ok()?;
            }
            10 => socket.write_all(&[0xb0, 2, body[0], body[1]]).ok()?,
            12 => socket.write_all(&[0xd0, 0]).ok()?,
            14 => return None,
            _ => {}
        }
    }
}
