//! Model lists, over real sockets.

use super::*;
use crate::preset;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A server that answers every request with `status` and `body`; returns its address and the request heads.
async fn server(status: &str, body: &str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = heads.clone();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match socket.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            heard.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    (url, heads)
}

async fn listed(wire: Wire, path: &str, status: &str, body: &str) -> (Result<Vec<String>, Error>, String) {
    let (url, heads) = server(status, body).await;
    let (url, key) = (format!("{url}{path}"), Some("sk-secret".to_owned()));
    let endpoint = Endpoint { provider: "it".into(), wire, url, key, ..Endpoint::default() };
    let answer = models_of(&endpoint).await;
    let head = heads.lock().unwrap().first().cloned().unwrap_or_default();
    (answer, head)
}

#[tokio::test]
async fn each_wire_lists_its_models() {
    let openai = r#"{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"},{"id":""},{"x":1},7]}"#;
    let gemini = r#"{"models":[{"name":"models/g","supportedGenerationMethods":["generateContent","countTokens"]},
        {"name":"models/embed","supportedGenerationMethods":["embedContent"]},{"name":"models/h"}]}"#;
    for (wire, path, body, asked, header, names) in [
        (Wire::OpenAi, "/v1", openai, "GET /v1/models ", "authorization: Bearer sk-secret", vec!["b", "a"]),
        (Wire::OpenAi, "", openai, "GET /v1/models ", "authorization: Bearer sk-secret", vec!["b", "a"]),
        (Wire::OpenAi, "/api/chat/completions", openai, "GET /api/models ", "authorization: ", vec!["b", "a"]),
        (Wire::OpenAi, "/v1", r#"[{"id":"x/y"}]"#, "GET /v1/models ", "authorization: ", vec!["x/y"]),
        (
            Wire::OpenAi,
            "/compatibility/v1",
            r#"{"models":[{"name":"c"}]}"#,
            "GET /v1/models?page_size=500&endpoint=chat ",
            "authorization: ",
            vec!["c"],
        ),
        (Wire::OpenAi, "/v1/", r#"{"data":[]}"#, "GET /v1/models ", "authorization: ", vec![]),
        (Wire::Responses, "/v1", openai, "GET /v1/models ", "authorization: Bearer sk-secret", vec!["b", "a"]),
        (Wire::Anthropic, "/v1", openai, "GET /v1/models?limit=1000 ", "x-api-key: sk-secret", vec!["b", "a"]),
        (Wire::Anthropic, "", openai, "GET /v1/models?limit=1000 ", "anthropic-version: 2023-06-01", vec!["b", "a"]),
        (
            Wire::Gemini,
            "/v1beta",
            gemini,
            "GET /v1beta/models?pageSize=1000 ",
            "x-goog-api-key: sk-secret",
            vec!["g", "h"],
        ),
    ] {
        let (answer, head) = listed(wire, path, "200 OK", body).await;
        assert_eq!(
            answer.as_deref(),
            Ok(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>()[..]),
            "{wire:?} {path}"
        );
        assert!(head.starts_with(asked), "{wire:?} {path}: {head}");
        assert!(head.contains(header), "{wire:?} {path}: {head}");
        assert!(!head.lines().next().unwrap().contains("sk-secret"), "a key in an address ends in logs");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_key() {
    let said = r#"{"error":{"message":"bad key sk-secret\n given"}}"#;
    for (wire, status, body, kind, words) in [
        (
            Wire::OpenAi,
            "401 Unauthorized",
            said,
            "refused",
            "does not accept the key: set the right one (it says: bad key [key] given)",
        ),
        (Wire::Anthropic, "403 Forbidden", "{}", "refused", "does not accept the key"),
        (
            Wire::Gemini,
            "400 Bad Request",
            r#"[{"error":{"message":"API key not valid"}}]"#,
            "refused",
            "(it says: API key not valid)",
        ),
        (Wire::OpenAi, "404 Not Found", "<html>", "refused", "no list of models at this address"),
        (Wire::OpenAi, "429 Too Many Requests", "", "busy", "asked too often"),
        (Wire::OpenAi, "503 Service Unavailable", "{\"message\":\"down\"}", "server", "(it says: down)"),
        (Wire::OpenAi, "418 I'm a teapot", "", "refused", "status 418"),
        (Wire::OpenAi, "200 OK", "<html>hello</html>", "refused", "not JSON"),
        (Wire::OpenAi, "200 OK", "{\"hello\":1}", "refused", "no list of models"),
    ] {
        let (answer, _) = listed(wire, "/v1", status, body).await;
        let error = answer.unwrap_err();
        let found = match error {
            Error::Key(_) | Error::Refused(_) => "refused",
            Error::Busy { .. } => "busy",
            Error::Server { .. } => "server",
            _ => "another",
        };
        let text = error.to_string();
        assert_eq!(found, kind, "{status}: {text}");
        assert!(text.contains(words) && !text.contains("sk-secret"), "{status}: {text}");
    }
    let huge = format!("{{\"data\":[{{\"id\":\"{}\"}}]}}", "a".repeat(MAX_BYTES));
    let (answer, _) = listed(Wire::OpenAi, "/v1", "200 OK", &huge).await;
    assert!(
        matches!(&answer, Err(Error::Refused(text)) if text.contains("larger than")),
        "{:.100}",
        format!("{answer:?}")
    );

    let gone = Endpoint { provider: "it".into(), url: "http://127.0.0.1:1/v1".into(), ..Endpoint::default() };
    assert!(matches!(models_of(&gone).await, Err(Error::Network(_))));
    let (url, _) = server("401 Unauthorized", "{}").await;
    let error = models_of(&Endpoint { url, ..gone }).await.unwrap_err();
    assert!(error.to_string().contains("wants a key"), "{error}");
}

#[test]
fn the_lists_of_presets_are_where_they_are() {
    for (id, list, asked_first) in [
        ("openai", "https://api.openai.com/v1/models", None),
        ("perplexity", "https://api.perplexity.ai/v1/models", None),
        ("cohere", "https://api.cohere.ai/v1/models?page_size=500&endpoint=chat", None),
        ("google", "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000", None),
        ("openrouter", "https://openrouter.ai/api/v1/models", Some("https://openrouter.ai/api/v1/key")),
        ("fireworks", "https://api.fireworks.ai/inference/v1/models", None),
    ] {
        let endpoint = preset(id).unwrap().endpoint("x", "", Some("k".into()));
        assert_eq!((address(&endpoint).as_str(), gate(&endpoint).as_deref()), (list, asked_first), "{id}");
    }
}
