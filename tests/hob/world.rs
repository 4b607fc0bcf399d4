//! A server that speaks for the services of the world, and what holds for all tools that ask them.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Method and target: `GET /v1/search?name=Graz`.
    pub line: String,
    /// The headers, as they were sent.
    pub head: String,
    pub body: String,
}

impl Heard {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.body))
    }
}

type Mind = Arc<dyn Fn(&Heard) -> (u16, String) + Send + Sync>;

/// The server; it ends with its owner.
pub struct World {
    pub port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
    over: Arc<AtomicBool>,
}

impl World {
    /// A server whose answers are made from the requests: a status, and a body.
    pub fn start(mind: impl Fn(&Heard) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, over, mind): (Arc<Mutex<Vec<Heard>>>, Arc<AtomicBool>, Mind) =
            (Arc::default(), Arc::default(), Arc::new(mind));
        let (notes, ended) = (heard.clone(), over.clone());
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (notes, mind) = (notes.clone(), mind.clone());
                thread::spawn(move || drop(talk(socket, &notes, &mind)));
            }
        });
        Self { port, heard, over }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Every request since the last look.
    pub fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn talk(socket: TcpStream, notes: &Mutex<Vec<Heard>>, mind: &Mind) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut socket = socket;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
        let heard = Heard { line, head, body: String::from_utf8_lossy(&body).into_owned() };
        let (status, body) = mind(&heard);
        notes.lock().unwrap().push(heard);
        let more = if (300..400).contains(&status) { format!("location: {body}\r\n") } else { String::new() };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all(head.as_bytes())?;
        socket.write_all(body.as_bytes())?;
    }
}

/// The services as they answer when all is well, each in its own format.
pub fn kind() -> World {
    World::start(|heard| {
        let answer = crate::weather::answer(heard).or_else(|| crate::translation::answer(heard));
        let none = || (404, json!({"error": true}).to_string());
        answer.or_else(|| crate::openai_compat::answer(heard)).unwrap_or_else(none)
    })
}

/// The lines of hob.toml with which the tools ask this server.
pub fn config(world: &World) -> String {
    let parts = [crate::weather::config(world), crate::translation::config(world), crate::openai_compat::config(world)];
    parts.concat()
}
