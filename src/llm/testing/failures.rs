//! Server failures of every kind, over real sockets, in every wire format.

use super::{Answer, Server, WIRES, events, hear, json_answer, name, one, streams::kind};
use crate::{Message, ProviderState, Request, ToolChoice, ToolDefinition, Turn, Wire, connect};
use serde_json::{Value, json};
use std::time::Duration;

/// An error body in the provider's format.
fn body(wire: Wire, status: u16, text: &str) -> String {
    match wire {
        Wire::OpenAi | Wire::Responses => {
            json!({"error": {"message": text, "type": "some_error", "param": null, "code": null}})
        }
        Wire::Anthropic => {
            json!({"type": "error", "error": {"type": "some_error", "message": text}, "request_id": "req_1"})
        }
        Wire::Gemini => json!({"error": {"code": status, "message": text, "status": "SOME_STATUS"}}),
    }
    .to_string()
}

#[tokio::test]
async fn statuses_come_to_the_right_errors() {
    for wire in WIRES {
        for (status, wanted) in [
            (400, "refused"),
            (401, "refused"),
            (403, "refused"),
            (404, "refused"),
            (408, "timeout"),
            (413, "too long"),
            (422, "refused"),
            (429, "busy"),
            (500, "server"),
            (502, "server"),
            (503, "server"),
            (504, "server"),
            (529, "server"),
        ] {
            let server = Server::start(vec![json_answer(status, "", &body(wire, status, "no luck, sk-geheim"))]).await;
            let heard = hear(connect(server.endpoint(wire)).stream(Request::default())).await;
            let error = heard.error.unwrap();
            let text = error.to_string();
            assert_eq!(kind(&error), wanted, "{} {status}: {text}", name(wire));
            assert!(text.contains("`prov`") && text.contains("it says: no luck"), "{text}");
            assert!(!text.contains("geheim"), "a key is told: {text}");
            assert_eq!(server.asked().len(), 1, "asking again is for `Retrying`");
        }
    }
}

#[tokio::test]
async fn no_half_of_a_key_is_told() {
    // Server messages are truncated after 300 characters.
    let text = format!("{}sk-geheim is wrong", "x".repeat(295));
    let server = Server::start(vec![json_answer(401, "", &body(Wire::OpenAi, 401, &text))]).await;
    let error =
        hear(connect(server.endpoint(Wire::OpenAi)).stream(Request::default())).await.error.unwrap().to_string();
    assert!(error.contains("[key") && !error.contains("sk-g"), "{error}");
    // Nor in a failure within an answer, streamed or not.
    for wire in WIRES {
        let error = json!({"type": "error", "error": {"type": "api_error", "message": text}});
        let answers = [events(&format!("data: {error}\n\n"), 99), json_answer(200, "", &error.to_string())];
        for answer in answers {
            let server = Server::start(vec![answer]).await;
            let error = hear(connect(server.endpoint(wire)).stream(Request::default())).await.error;
            let error = error.unwrap().to_string();
            assert!(error.contains("[key") && !error.contains("sk-g"), "{}: {error}", name(wire));
        }
    }
}

#[tokio::test]
async fn how_long_a_busy_server_asks_to_wait() {
    let google = json!({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13s"}]}});
    let until = "date: Fri, 30 Jan 2026 10:00:00 GMT\r\nretry-after: Fri, 30 Jan 2026 10:00:20 GMT\r\n";
    for (wire, headers, body, seconds) in [
        (Wire::Anthropic, "retry-after: 21\r\n", json!({}), Some(21.0)),
        (Wire::OpenAi, "retry-after-ms: 1500\r\nretry-after: 2\r\n", json!({}), Some(1.5)),
        (Wire::Responses, until, json!({}), Some(20.0)),
        (Wire::Gemini, "", google, Some(13.0)),
        (Wire::OpenAi, "", json!({}), None),
    ] {
        let server = Server::start(vec![json_answer(429, headers, &body.to_string())]).await;
        let error = hear(connect(server.endpoint(wire)).stream(Request::default())).await.error;
        let Some(crate::Error::Busy { after, .. }) = error else { panic!("{error:?}") };
        assert_eq!(after, seconds.map(Duration::from_secs_f64), "{}", name(wire));
    }
}

#[tokio::test]
async fn what_only_words_tell() {
    let quota = json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let key = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    for (wire, status, body, says) in [
        (Wire::OpenAi, 429, quota.clone(), "no credit left"),
        (Wire::Responses, 429, quota, "no credit left"),
        (Wire::Gemini, 400, key, "does not accept the key"),
    ] {
        let server = Server::start(vec![json_answer(status, "", &body.to_string())]).await;
        let error = hear(connect(server.endpoint(wire)).stream(Request::default())).await.error.unwrap();
        assert!(kind(&error) == "refused" && error.to_string().contains(says), "{error:?}");
    }
    let page = Answer { headers: "content-type: text/html\r\n".into(), ..events("<html>Welcome</html>", 99) };
    let server = Server::start(vec![page]).await;
    let error = hear(connect(server.endpoint(Wire::OpenAi)).stream(Request::default())).await.error.unwrap();
    assert!(kind(&error) == "refused" && error.to_string().contains("web page"), "{error:?}");
}

#[test]
fn a_connection_that_took_too_long_is_told_from_a_silent_server() {
    for (what, wanted) in [("could not be connected to", "unconnected"), ("did not begin to answer", "timeout")] {
        let late = http_client::Error::TimedOut { host: "h".into(), what, after: Duration::from_secs(1) };
        let error = crate::ask::connection_error("prov", late);
        assert_eq!((kind(&error), error.worth_retrying()), (wanted, false), "{error}");
    }
}

#[tokio::test]
async fn a_response_that_failed_says_why_wherever_it_stands() {
    let error = json!({"message": "no luck", "type": "internal_error", "code": 500});
    for event in [
        json!({"type": "response.failed", "error": error}),
        json!({"type": "response.failed", "response": {"status": "failed", "error": error}}),
    ] {
        let heard = super::parsed(&super::endpoint(Wire::Responses), &format!("data: {event}\n\n"), 99).await;
        let error = heard.error.unwrap();
        assert!(kind(&error) == "server" && error.to_string().contains("no luck"), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks() {
    for wire in WIRES {
        let (_, stream) = one(&format!("{}-text.sse", name(wire)));
        let after = stream.find("dich").unwrap();
        for (until, wanted) in [(0, "network"), (after, "broken")] {
            let breaks = Answer { breaks: true, ..events(&stream[..until], 64) };
            let server = Server::start(vec![breaks]).await;
            let heard = hear(connect(server.endpoint(wire)).stream(Request::default())).await;
            assert_eq!(heard.error.as_ref().map(kind), Some(wanted), "{} {until}: {heard:?}", name(wire));
        }
    }
}

#[tokio::test]
async fn who_asks_is_in_the_headers_and_never_in_the_address() {
    for (wire, line, header) in [
        (Wire::OpenAi, "POST /v1/chat/completions HTTP/1.1\r\n", "authorization: bearer sk-geheim\r\n"),
        (Wire::Responses, "POST /v1/responses HTTP/1.1\r\n", "authorization: bearer sk-geheim\r\n"),
        (Wire::Anthropic, "POST /v1/messages HTTP/1.1\r\n", "x-api-key: sk-geheim\r\n"),
        (
            Wire::Gemini,
            "POST /v1beta/models/model-1:streamGenerateContent?alt=sse HTTP/1.1\r\n",
            "x-goog-api-key: sk-geheim\r\n",
        ),
    ] {
        let (_, stream) = one(&format!("{}-text.sse", name(wire)));
        let server = Server::start(vec![events(&stream, 999)]).await;
        hear(connect(server.endpoint(wire)).stream(Request::default())).await;
        let head = server.asked().remove(0).head;
        assert!(head.starts_with(line) && head.contains(header), "{head}");
        assert_eq!(head.contains("anthropic-version: 2023-06-01\r\n"), wire == Wire::Anthropic);
    }
}

#[tokio::test]
async fn a_request_is_mended_and_the_lesson_remembered() {
    let refused = |text: &str| json_answer(400, "", &body(Wire::OpenAi, 400, text));
    let (_, stream) = one("openai-text.sse");
    let server = Server::start(vec![
        refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refused("Unsupported value: 'temperature' does not support 0.5 with this model."),
        events(&stream, 999),
    ])
    .await;
    let request = Request { max_tokens: Some(100), temperature: Some(0.5), ..Request::default() };
    let model = connect(server.endpoint(Wire::OpenAi));
    for _ in 0..2 {
        assert_eq!(hear(model.stream(request.clone())).await.error, None);
    }
    let limits =
        |body: &Value| ["max_tokens", "max_completion_tokens", "temperature"].map(|word| body.get(word).is_some());
    let asked: Vec<_> = server.asked().iter().map(|a| limits(&a.body)).collect();
    assert_eq!(
        asked,
        [[true, false, true], [false, true, true], [false, true, false], [false, true, false]],
        "old word, new word, no temperature, and at once the next time"
    );

    // A server that rejects every variant is given up soon.
    let server =
        Server::start(vec![refused("temperature max_completion_tokens stream_options tool_choice schema")]).await;
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), parameters: json!({}) };
    let request = Request { tools: vec![tool].into(), tool_choice: ToolChoice::Required, ..request };
    let heard = hear(connect(server.endpoint(Wire::OpenAi)).stream(request)).await;
    assert_eq!((kind(&heard.error.unwrap()), server.asked().len()), ("refused", 2));
}

#[tokio::test]
async fn a_model_that_calls_no_tools_is_asked_again_in_words() {
    let tool = |name: &str| ToolDefinition { name: name.into(), description: "d".into(), parameters: json!({}) };
    let system = Message::System("You are Hob.".into());
    let request = Request {
        messages: vec![system, Message::user("hi")].into(),
        tools: vec![tool("lamp")].into(),
        ..Request::default()
    };
    let (_, stream) = one("openai-text.sse");
    for (status, says) in [
        (400, "registry.ollama.ai/library/gemma3:12b does not support tools"),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        (404, "No endpoints found that support tool use. Try disabling \"lamp\"."),
        (400, "`tools` is not supported with this model"),
        (400, "Function calling is not enabled for models/gemma-3-12b-it"),
        (500, "tools param requires --jinja flag"),
        (500, "Unsupported param: tools"),
    ] {
        for reads_text in [false, true] {
            let refused = json_answer(status, "", &body(Wire::OpenAi, status, says));
            let server = Server::start(vec![refused, events(&stream, 99)]).await;
            let endpoint = crate::Endpoint { retries: 3, ..server.endpoint(Wire::OpenAi) };
            let model = crate::text::fitted(connect(endpoint), reads_text);
            for _ in 0..2 {
                let heard = hear(model.stream(request.clone())).await;
                assert_eq!((heard.error, heard.text.as_str()), (None, "Grüß dich 🙂"), "{says}");
            }
            let asked = server.asked();
            let form = |body: &Value| (body.get("tools").is_some(), body.to_string().contains("<tool_call>"));
            let forms: Vec<_> = asked.iter().map(|asked| form(&asked.body)).collect();
            assert_eq!(forms, [(true, false), (false, true), (false, true)], "{says}");
            assert!(!model.facts().tools, "{says}");
        }
    }
    // Messages about one tool, or one option, are unrelated.
    for (status, says) in [
        (400, "parallel_tool_calls is not supported with this model"),
        (404, "No endpoints found that support the provided 'tool_choice' value."),
        (503, "gemma3 does not support tools"),
    ] {
        let server = Server::start(vec![json_answer(status, "", &body(Wire::OpenAi, status, says))]).await;
        let model = crate::text::fitted(connect(server.endpoint(Wire::OpenAi)), true);
        assert!(hear(model.stream(request.clone())).await.error.is_some());
        assert_eq!((server.asked().len(), model.facts().tools), (1, true), "{says}");
    }
    let refused = body(Wire::OpenAi, 400, "gemma3 does not support tools");
    let server = Server::start(vec![json_answer(400, "", &refused)]).await;
    let model = crate::text::fitted(connect(server.endpoint(Wire::OpenAi)), false);
    let error = hear(model.stream(request)).await.error.unwrap();
    assert_eq!((kind(&error), server.asked().len()), ("refused", 2), "it is asked once more and no oftener");
}

#[tokio::test]
async fn a_call_that_was_badly_written_is_asked_for_again() {
    let error = json!({"error": {"message": "Failed to call a function. Please adjust your prompt.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=lamp"}});
    let (_, stream) = one("openai-text.sse");
    let in_stream = events(&format!("event: error\ndata: {error}\n\n"), 99);
    for failed in [json_answer(400, "", &error.to_string()), in_stream] {
        let server = Server::start(vec![failed, events(&stream, 99)]).await;
        let endpoint = crate::Endpoint { retries: 1, ..server.endpoint(Wire::OpenAi) };
        let heard = hear(connect(endpoint).stream(Request::default())).await;
        assert_eq!((heard.error, server.asked().len()), (None, 2));
    }
}

#[tokio::test]
async fn a_server_that_is_down_for_long_is_not_asked_again() {
    for status in [503, 529] {
        for (headers, asked) in [("retry-after: 3600\r\n", 1), ("retry-after: 0\r\n", 2)] {
            let server = Server::start(vec![json_answer(status, headers, "{}")]).await;
            let endpoint = crate::Endpoint { retries: 1, ..server.endpoint(Wire::Anthropic) };
            let error = hear(connect(endpoint).stream(Request::default())).await.error.unwrap();
            assert_eq!((kind(&error), server.asked().len()), ("server", asked), "{status} {headers}");
        }
    }
}

#[tokio::test]
async fn thoughts_a_server_does_not_accept_any_more_are_left_out() {
    let block = json!({"type": "thinking", "thinking": "old", "signature": "old"});
    let kept = ProviderState {
        provider: "prov".into(),
        value: json!({"model": "model-1", "blocks": [{"text": 0, "calls": 0, "block": block}]}),
    };
    let turn = Turn { content: "hm".into(), tool_calls: vec![], kept: Some(kept) };
    let request = Request {
        messages: vec![Message::user("a"), Message::Assistant(turn), Message::user("b")].into(),
        ..Request::default()
    };
    let (_, stream) = one("anthropic-text.sse");
    let refused = body(Wire::Anthropic, 400, "messages.1.content.0: Invalid `signature` in `thinking` block");
    let server = Server::start(vec![json_answer(400, "", &refused), events(&stream, 999)]).await;
    let heard = hear(connect(server.endpoint(Wire::Anthropic)).stream(request)).await;
    assert_eq!(heard.error, None);
    let told: Vec<bool> = server.asked().iter().map(|a| a.body.to_string().contains("\"thinking\":\"old\"")).collect();
    assert_eq!(told, [true, false]);
}

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    for (wire, event) in [
        (Wire::OpenAi, json!({"choices": [{"delta": {"content": "x".repeat(50_000)}}]})),
        (
            Wire::OpenAi,
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": "x".repeat(50_000)}}]}}]}),
        ),
        (
            Wire::Responses,
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x".repeat(50_000)}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x".repeat(50_000)}}),
        ),
        (Wire::Gemini, json!({"candidates": [{"content": {"parts": [{"text": "x".repeat(50_000)}]}}]})),
    ] {
        let stream = format!("data: {event}\n\n").repeat(40);
        let heard = super::parsed(&super::endpoint(wire), &stream, 70_000).await;
        let error = heard.error.unwrap().to_string();
        assert!(error.contains("longer than 1 MB"), "{}: {error}", name(wire));
        assert!(heard.text.len() < 1_200_000);
    }
}

#[tokio::test]
async fn what_begins_without_end_is_stopped() {
    let signed = |n: usize| json!({"index": n, "type": "reasoning.encrypted", "more": {"data": "x".repeat(900)}});
    type Event = Box<dyn Fn(usize) -> Value>;
    let rows: Vec<(Wire, Event)> = vec![
        (Wire::OpenAi, Box::new(|n| json!({"choices": [{"delta": {"tool_calls": [{"index": n}]}}]}))),
        (
            Wire::OpenAi,
            Box::new(|n| {
                let id = format!("{n}{}", "x".repeat(900));
                json!({"choices": [{"delta": {"tool_calls": [{"id": id, "extra_content": {"a": id}}]}}]})
            }),
        ),
        (Wire::OpenAi, Box::new(move |n| json!({"choices": [{"delta": {"reasoning_details": [signed(n)]}}]}))),
        (
            Wire::Anthropic,
            Box::new(|n| json!({"type": "content_block_start", "index": n, "content_block": {"type": "thinking"}})),
        ),
        (
            Wire::Anthropic,
            Box::new(|n| {
                let block = json!({"type": "redacted_thinking", "data": "x".repeat(900)});
                json!({"type": "content_block_start", "index": n, "content_block": block})
            }),
        ),
        (
            Wire::Responses,
            Box::new(
                |n| json!({"type": "response.output_item.added", "output_index": n, "item": {"type": "function_call"}}),
            ),
        ),
        (Wire::Responses, Box::new(|n| json!({"type": "response.output_text.delta", "output_index": n}))),
        (Wire::Gemini, Box::new(|_| json!({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}))),
    ];
    for (row, (wire, event)) in rows.into_iter().enumerate() {
        let stream: String = (0..20_000).map(|n| format!("data: {}\n\n", event(n))).collect();
        let heard = super::parsed(&super::endpoint(wire), &stream, 70_000).await;
        let error = heard.error.unwrap().to_string();
        assert!(error.contains("longer than 1 MB"), "{row} {}: {error}", name(wire));
    }
}

#[tokio::test]
async fn what_stops_before_its_first_word_is_asked_for_again() {
    for wire in WIRES {
        let (_, stream) = one(&format!("{}-text.sse", name(wire)));
        let server = Server::start(vec![events("", 9), events(&stream, 99)]).await;
        let endpoint = crate::Endpoint { retries: 1, ..server.endpoint(wire) };
        let heard = hear(connect(endpoint).stream(Request::default())).await;
        assert_eq!((heard.error, server.asked().len()), (None, 2), "{}", name(wire));
        assert!(heard.text.starts_with("Gr"), "{}", heard.text);
    }
}

#[tokio::test]
async fn what_is_no_event_stream_says_so() {
    for wire in WIRES {
        let heard = super::parsed(&super::endpoint(wire), "data: {\"half\n\n", 99).await;
        assert_eq!(heard.error.as_ref().map(kind), Some("broken"), "{heard:?}");
        for stream in ["", "hello\n\n", "data: 5\n\ndata: null\n\ndata: []\n\ndata:\n\n"] {
            let heard = super::parsed(&super::endpoint(wire), stream, 3).await;
            assert_eq!(heard.error.as_ref().map(kind), Some("network"), "{} {stream:?}: {heard:?}", name(wire));
        }
    }
}
