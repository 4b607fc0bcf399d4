//! A scripted model server: OpenAI's streaming format over plain TCP, and every way it can fail.

use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// The server's response to one request.
#[derive(Clone)]
pub enum Answer {
    /// Text in these chunks.
    Says(Vec<String>),
    /// Text, then these calls at once: each a tool and the text of its arguments, in interleaved fragments.
    Calls(String, Vec<(String, String)>),
    /// As `Says`, after thoughts.
    Thinks(String, String),
    /// Nothing at all, until the client leaves.
    Hangs,
    /// The head and these words, then nothing.
    HangsAfter(String),
    /// These words, then the connection breaks.
    DropsAfter(String),
    /// A status with headers (a line break after each) and a body.
    Status(u16, String, String),
    /// Not streamed, whatever was asked for.
    Whole(String),
    /// These words, then an error inside the stream.
    Fails(String, String),
    /// A stream of these bytes.
    Raw(String),
}

/// Text in one chunk.
pub fn says(text: &str) -> Answer {
    Answer::Says(vec![text.to_owned()])
}

/// Calls of tools, all at once.
pub fn calls(calls: &[(&str, Value)]) -> Answer {
    let text = |(name, arguments): &(&str, Value)| {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        (name.to_string(), arguments)
    };
    Answer::Calls(String::new(), calls.iter().map(text).collect())
}

/// A request as it came.
#[derive(Clone)]
pub struct Asked {
    pub head: String,
    pub body: Value,
    pub head_bytes: usize,
    pub body_bytes: usize,
}

impl Asked {
    /// The messages of one role.
    pub fn messages(&self, role: &str) -> Vec<Value> {
        self.body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == role).cloned().collect()
    }

    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.map(|t| t["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Answers from what it is asked.
type Mind = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

#[derive(Default)]
struct Shared {
    mind: Mutex<Option<Mind>>,
    script: Mutex<VecDeque<Answer>>,
    always: Mutex<Option<Answer>>,
    asked: Mutex<Vec<Asked>>,
    /// The answer to requests for the list, instead of the list; and how many there were.
    list: Mutex<Option<Answer>>,
    listed: AtomicUsize,
    over: AtomicBool,
    ended: (Mutex<bool>, Condvar),
}

/// The server; it ends with its owner.
pub struct ModelServer {
    pub port: u16,
    shared: Arc<Shared>,
}

impl ModelServer {
    pub fn start() -> Self {
        Self::start_at(0)
    }

    /// A server at this port, such as that of one that was dropped.
    pub fn start_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let serving = shared.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = serving.clone();
                thread::spawn(move || drop(talk(socket, &shared)));
            }
        });
        Self { port, shared }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The answers to the next requests, one each, in the place of what was left.
    pub fn script(&self, answers: Vec<Answer>) {
        *self.shared.always.lock().unwrap() = None;
        *self.shared.script.lock().unwrap() = answers.into();
    }

    /// The answer to every request from now on.
    pub fn always(&self, answer: Answer) {
        self.script(vec![]);
        *self.shared.always.lock().unwrap() = Some(answer);
    }

    /// From now on an answer is made from each request, whatever the script says.
    pub fn thinks(&self, mind: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
        *self.shared.mind.lock().unwrap() = Some(Arc::new(mind));
    }

    /// The answer to requests for the list of models; `None` is the list.
    pub fn lists(&self, answer: Option<Answer>) {
        *self.shared.list.lock().unwrap() = answer;
    }

    /// How often the list of models was asked for.
    pub fn listed(&self) -> usize {
        self.shared.listed.load(Ordering::SeqCst)
    }

    /// Every request since the last look.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.shared.asked.lock().unwrap())
    }

    pub fn left(&self) -> usize {
        self.shared.script.lock().unwrap().len()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        *self.shared.ended.0.lock().unwrap() = true;
        self.shared.ended.1.notify_all();
        // Wakes the listener, so that nobody can connect any more.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn talk(socket: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut socket = socket;
    while let Some(asked) = read_request(&mut reader)? {
        // A connection that was kept ends with the server.
        if shared.over.load(Ordering::SeqCst) {
            return Ok(());
        }
        if asked.head.starts_with("GET /v1/models HTTP/1.1") {
            shared.listed.fetch_add(1, Ordering::SeqCst);
            let instead = shared.list.lock().unwrap().clone();
            if let Some(instead) = instead {
                answer(&mut socket, shared, instead)?;
                continue;
            }
            let models = json!({"object": "list", "data": [{"id": "test-model", "object": "model"}, {"id": "other"}]});
            whole(&mut socket, 200, "content-type: application/json\r\n", &models.to_string())?;
            continue;
        }
        assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", asked.head);
        let mind = shared.mind.lock().unwrap().clone();
        let thought = mind.map(|mind| mind(&asked));
        shared.asked.lock().unwrap().push(asked);
        if let Some(thought) = thought {
            answer(&mut socket, shared, thought)?;
            continue;
        }
        let scripted = shared.script.lock().unwrap().pop_front();
        let always = || shared.always.lock().unwrap().clone();
        let none = || Answer::Status(500, String::new(), "{\"error\":{\"message\":\"the script is over\"}}".into());
        answer(&mut socket, shared, scripted.or_else(always).unwrap_or_else(none))?;
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Asked>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let json = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&body).expect("the request is JSON"),
    };
    Ok(Some(Asked { head_bytes: head.len(), body_bytes: body.len(), head, body: json }))
}

fn answer(socket: &mut TcpStream, shared: &Shared, answer: Answer) -> std::io::Result<()> {
    match answer {
        Answer::Says(chunks) => {
            let chunks: Vec<Value> = chunks.iter().map(|text| json!({"content": text})).collect();
            stream(socket, &chunks, Some("stop"))
        }
        Answer::Thinks(thoughts, text) => {
            stream(socket, &[json!({"reasoning_content": thoughts}), json!({"content": text})], Some("stop"))
        }
        Answer::Calls(text, calls) => stream(socket, &fragments(&text, &calls), Some("tool_calls")),
        Answer::Hangs => hang(shared),
        Answer::HangsAfter(text) => {
            stream(socket, &[json!({"content": text})], None)?;
            hang(shared)
        }
        Answer::DropsAfter(text) => {
            stream(socket, &[json!({"content": text})], None)?;
            Err(std::io::Error::other("as the script says"))
        }
        Answer::Status(status, headers, body) => whole(socket, status, &headers, &body),
        Answer::Whole(text) => {
            let message = json!({"role": "assistant", "content": text});
            let body = json!({"id": "chatcmpl-1", "object": "chat.completion", "usage": usage(),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            whole(socket, 200, "content-type: application/json\r\n", &body.to_string())
        }
        Answer::Fails(text, error) => {
            stream(socket, &[json!({"content": text})], None)?;
            event(socket, &json!({"error": {"message": error, "type": "server_error"}}).to_string())?;
            end(socket)
        }
        Answer::Raw(bytes) => {
            head(socket)?;
            chunk(socket, &bytes)?;
            end(socket)
        }
    }
}

/// Waits for the end of the server: the client sees a line that stays open and silent.
fn hang(shared: &Shared) -> std::io::Result<()> {
    let over = shared.ended.0.lock().unwrap();
    drop(shared.ended.1.wait_while(over, |over| !*over).unwrap());
    Err(std::io::Error::other("over"))
}

/// Calls as servers stream them: the heads first, then the arguments in turns of a few characters.
fn fragments(text: &str, calls: &[(String, String)]) -> Vec<Value> {
    let mut all =
        vec![json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }})];
    for (index, (name, _)) in calls.iter().enumerate() {
        all.push(json!({"tool_calls": [{"index": index, "id": format!("call_{index}_{name}"), "type": "function",
            "function": {"name": name, "arguments": ""}}]}));
    }
    let mut rest: Vec<Vec<char>> = calls.iter().map(|(_, arguments)| arguments.chars().collect()).collect();
    while rest.iter().any(|r| !r.is_empty()) {
        for (index, rest) in rest.iter_mut().enumerate().filter(|(_, r)| !r.is_empty()) {
            let piece: String = rest.drain(..rest.len().min(7)).collect();
            all.push(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
    all
}

fn usage() -> Value {
    json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
}

/// The deltas, and with a reason the end as well.
fn stream(socket: &mut TcpStream, deltas: &[Value], reason: Option<&str>) -> std::io::Result<()> {
    head(socket)?;
    let told = |choices: Value, more: Value| {
        let mut told = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test",
            "choices": choices});
        told["usage"] = more;
        told.to_string()
    };
    for delta in deltas {
        event(socket, &told(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null))?;
    }
    let Some(reason) = reason else { return Ok(()) };
    event(socket, &told(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null))?;
    event(socket, &told(json!([]), usage()))?;
    event(socket, "[DONE]")?;
    end(socket)
}

fn head(socket: &mut TcpStream) -> std::io::Result<()> {
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
}

fn event(socket: &mut TcpStream, data: &str) -> std::io::Result<()> {
    chunk(socket, &format!("data: {data}\n\n"))
}

fn chunk(socket: &mut TcpStream, text: &str) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

fn end(socket: &mut TcpStream) -> std::io::Result<()> {
    socket.write_all(b"0\r\n\r\n")
}

fn whole(socket: &mut TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<()> {
    socket.write_all(
        format!("HTTP/1.1 {status} Scripted\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
    )
}
