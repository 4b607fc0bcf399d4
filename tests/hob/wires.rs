//! Each provider's own wire format, through the real binary.

use crate::harness::{Hob, Setup};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A server that answers each request with the next stream, whatever is asked.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    fn start(streams: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, streams) = (Arc::new(Mutex::new(vec![])), Arc::new(Mutex::new(streams.into_iter())));
        let kept = asked.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (asked, streams) = (kept.clone(), streams.clone());
                thread::spawn(move || serve(socket, &asked, || streams.lock().unwrap().next()));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut socket: TcpStream, asked: &Mutex<Vec<(String, Value)>>, next: impl Fn() -> Option<String>) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        asked.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap()));
        let stream = next().unwrap_or_default();
        // In pieces of an odd size, so that no event comes whole.
        let _ = socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
        for piece in stream.as_bytes().chunks(37) {
            let _ = write!(socket, "{:x}\r\n", piece.len());
            let _ = socket.write_all(piece);
            let _ = socket.write_all(b"\r\n");
        }
        let _ = socket.write_all(b"0\r\n\r\n");
    }
}

fn events(all: &[Value]) -> String {
    all.iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message")))
        .collect()
}

/// A call of `gpio_write`, then words.
fn anthropic() -> Vec<String> {
    let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}}});
    let stop = |reason: &str| {
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ]
    };
    let tool = json!({"type": "tool_use", "id": "toolu_1", "name": "gpio_write", "input": {}});
    let mut call = vec![
        start.clone(),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "the lamp"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": tool}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"pin\": 17, "}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "\"high\": true}"}}),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    call.extend(stop("tool_use"));
    let mut words = vec![
        start,
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "The lamp is on."}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    words.extend(stop("end_turn"));
    vec![events(&call), events(&words)]
}

fn gemini() -> Vec<String> {
    let said = |parts: Value, more: Value| {
        let mut event = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("data: {event}\r\n\r\n")
    };
    let end = json!({"usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 9, "totalTokenCount": 29}});
    let call = json!([{"functionCall": {"name": "gpio_write", "args": {"pin": 17, "high": true}}, "thoughtSignature": "c2ln"}]);
    let finished = |stream: String| stream.replace("\"index\":0", "\"finishReason\":\"STOP\",\"index\":0");
    vec![
        finished(said(call, end.clone())),
        said(json!([{"text": "The lamp "}]), json!({})) + &finished(said(json!([{"text": "is on."}]), end)),
    ]
}

fn chat_completions() -> Vec<String> {
    let chunk = |delta: Value, reason: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}))
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "gpio_write", "arguments": "{\"pin\": 17, \"high\": true}"}}]});
    let done = "data: [DONE]\n\n";
    vec![
        format!(": keep-alive\n\n{}{}{done}", chunk(call, Value::Null), chunk(json!({}), "stop".into())),
        format!(
            "{}{}{done}",
            chunk(json!({"content": "The lamp is on."}), Value::Null),
            chunk(json!({}), "stop".into())
        ),
    ]
}

#[test]
fn each_provider_is_spoken_to_in_its_own_format() {
    type Row = (&'static str, [&'static str; 3], Vec<String>, &'static str, &'static str, fn(&Value) -> Value, Value);
    let rows: [Row; 3] = [
        (
            "anthropic/claude-test",
            ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ""],
            anthropic(),
            "POST /v1/messages HTTP/1.1",
            "x-api-key: sk-test\r\n",
            |body| body["messages"][2]["content"][0]["type"].clone(),
            json!("tool_result"),
        ),
        (
            "google/gemini-test",
            ["GEMINI_BASE_URL", "GEMINI_API_KEY", ""],
            gemini(),
            "POST /v1beta/models/gemini-test:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key: sk-test\r\n",
            |body| body["contents"][2]["parts"][0]["functionResponse"]["name"].clone(),
            json!("gpio_write"),
        ),
        (
            "openai/gpt-test",
            ["OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1"],
            chat_completions(),
            "POST /v1/chat/completions HTTP/1.1",
            "authorization: bearer sk-test\r\n",
            |body| body["messages"][3]["tool_call_id"].clone(),
            json!("call_1"),
        ),
    ];
    for (model, [url, key, version], streams, line, header, result, expected) in rows {
        let server = Server::start(streams);
        let at = format!("http://127.0.0.1:{}{version}", server.port);
        let environment = [("HOB_MODEL", model), (url, &at), (key, "sk-test")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let hob = Hob::with(Setup { environment, ..Setup::default() });
        let answer = hob.say("make it bright in here");
        assert_eq!((&answer["response"], &answer["model"]), (&json!("The lamp is on."), &json!(model)), "{answer}");
        assert_eq!(answer["toolCalls"][0]["name"], "gpio_write", "{model}");
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{model}");
        assert!(asked[0].0.starts_with(line), "{model}: {}", asked[0].0);
        assert!(asked[0].0.to_lowercase().contains(header), "{model}: {}", asked[0].0);
        assert_eq!(result(&asked[1].1), expected, "{model}: {}", asked[1].1);
        if model != "openai/gpt-test" {
            assert!(asked[1].1.to_string().contains("c2ln"), "{model} wants its signature back: {}", asked[1].1);
        }
    }
}
