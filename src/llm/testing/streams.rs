//! Every recorded answer of every wire format, received in arbitrary chunks.

use super::{Heard, Server, endpoint, events, hear, json_answer, name, one, parsed, recorded};
use crate::{Error, Usage, Wire, connect};
use serde_json::{Value, json};

const USAGE: Usage = Usage {
    prompt_tokens: 120,
    completion_tokens: 9,
    total_tokens: 129,
    cached_tokens: 64,
    micros: None,
    written_to_cache: 0,
};

/// The usage in recorded answers: only Anthropic reports cache writes.
fn usage(wire: Wire) -> Usage {
    Usage { written_to_cache: if wire == Wire::Anthropic { 16 } else { 0 }, ..USAGE }
}

type Call = (&'static str, &'static str, &'static str);

/// Calls without an id get one; `*` stands for it.
const TIME: &str = r#"{"zone":"Europe/Berlin"}"#;
const PRODUCT: &str = r#"{"expression":"6*7"}"#;

fn calls(heard: &Heard) -> Vec<(&str, &str, &str)> {
    let id = |id: &'_ str| id.starts_with("call_") && id.len() > 20;
    heard.calls.iter().map(|(i, n, a)| (if id(i) { "*" } else { i.as_str() }, n.as_str(), a.as_str())).collect()
}

fn blocks(blocks: Value) -> Value {
    json!({"model": "model-1", "blocks": blocks})
}

fn encrypted(text: usize, calls: usize, summary: &[&str], content: &str) -> Value {
    let summary: Vec<Value> = summary.iter().map(|t| json!({"type": "summary_text", "text": t})).collect();
    let block = json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": content});
    blocks(json!([{"text": text, "calls": calls, "block": block}]))
}

fn thought(text: usize, thinking: &str, signature: &str) -> Value {
    json!({"text": text, "calls": 0, "block": {"type": "thinking", "thinking": thinking, "signature": signature}})
}

/// File, text, reasoning, calls, provider state, whether it was cut off.
type Expected = (&'static str, &'static str, &'static str, Vec<Call>, Value, bool);

fn answers() -> Vec<Expected> {
    let none = || Value::Null;
    let three =
        |a, b, c| vec![(a, "calculate", PRODUCT), (b, "gpio_write", r#"{"pin":4,"high":true}"#), (c, "get_time", "{}")];
    let gemini = |calls: Value, text: Value| json!({"model": "model-1", "calls": calls, "text": text});
    let stopped = "First you";
    vec![
        ("openai-text.sse", "Grüß dich 🙂", "", vec![], none(), false),
        ("openai-halves.sse", "Grüß dich 🙂", "", vec![], none(), false),
        ("openai-thinking.sse", "42", "Let me look.", vec![], none(), false),
        ("openai-call.sse", "", "I need the time.", vec![("call_a1", "get_time", TIME)], none(), false),
        ("openai-parallel.sse", "Let me see.", "", three("call_a1", "call_b2", "call_c3"), none(), false),
        ("openai-cut.sse", "A long st", "", vec![], none(), true),
        ("openai-refusal.sse", "I cannot help with that.", "", vec![], none(), false),
        ("openai-filter-middle.sse", stopped, "", vec![], none(), false),
        ("responses-text.sse", "Grüß dich 🙂", "", vec![], none(), false),
        (
            "responses-thinking.sse",
            "42",
            "Let me look.\n\nAt it all.",
            vec![],
            encrypted(0, 0, &["Let me look.", "At it all."], "gAAAAenc1"),
            false,
        ),
        ("responses-call.sse", "", "", vec![("call_a1", "get_time", TIME)], encrypted(0, 0, &[], "gAAAAenc1"), false),
        ("responses-parallel.sse", "Let me see.", "", three("call_a1", "call_b2", "call_c3"), none(), false),
        ("responses-two-messages.sse", "First.\n\nSecond.", "", vec![], none(), false),
        ("responses-cut.sse", "A long st", "", vec![], none(), true),
        ("responses-refusal.sse", "I cannot help with that.", "", vec![], none(), false),
        ("responses-filter-middle.sse", stopped, "", vec![], none(), false),
        ("anthropic-text.sse", "Grüß dich 🙂", "", vec![], none(), false),
        (
            "anthropic-thinking.sse",
            "42",
            "Let me look.",
            vec![],
            blocks(json!([
                thought(0, "Let me look.", "EqQBsig"),
                {"text": 0, "calls": 0, "block": {"type": "redacted_thinking", "data": "EmwKredacted"}},
            ])),
            false,
        ),
        (
            "anthropic-call.sse",
            "",
            "I need the time.",
            vec![("toolu_a1", "get_time", TIME)],
            blocks(json!([thought(0, "I need the time.", "EqQBsig")])),
            false,
        ),
        ("anthropic-parallel.sse", "Let me see.", "", three("toolu_a1", "toolu_b2", "toolu_c3"), none(), false),
        (
            "anthropic-interleaved.sse",
            "Let me see.",
            "One.Two.",
            vec![("toolu_a1", "calculate", PRODUCT)],
            blocks(json!([thought(0, "One.", "sig-one"), thought(11, "Two.", "sig-two")])),
            false,
        ),
        ("anthropic-cut.sse", "A long st", "", vec![], none(), true),
        ("anthropic-filter-middle.sse", stopped, "", vec![], none(), false),
        ("gemini-text.sse", "Grüß dich 🙂", "", vec![], none(), false),
        (
            "gemini-thinking.sse",
            "42",
            "Let me look.",
            vec![],
            gemini(json!([]), json!({"at": 2, "signature": "c2lnLXRleHQ="})),
            false,
        ),
        (
            "gemini-call.sse",
            "",
            "I need the time.",
            vec![("*", "get_time", TIME)],
            gemini(json!([{"id": null, "signature": "c2lnLWE="}]), none()),
            false,
        ),
        (
            "gemini-parallel.sse",
            "Let me see.",
            "",
            vec![
                ("fc1a", "calculate", PRODUCT),
                ("fc2b", "gpio_write", r#"{"high":true,"pin":4}"#),
                ("*", "get_time", "{}"),
            ],
            gemini(
                json!([{"id": "fc1a", "signature": "c2lnLWE="}, {"id": "fc2b", "signature": null}, {"id": null, "signature": null}]),
                none(),
            ),
            false,
        ),
        ("gemini-cut.sse", "A long st", "", vec![], none(), true),
        ("gemini-filter-middle.sse", stopped, "", vec![], none(), false),
        (
            "gemini-picture.sse",
            "Here.",
            "",
            vec![],
            gemini(json!([]), json!({"at": 5, "signature": "c2lnLXA="})),
            false,
        ),
    ]
}

/// Failing answers: file, error kind, message, and the text before.
const FAILURES: [(&str, &str, &str, &str); 13] = [
    ("openai-filter.sse", "filtered", "content filter", ""),
    ("openai-error-first.sse", "server", "The server had an error", ""),
    ("openai-error-middle.sse", "broken", "The server had an error", "Half"),
    ("responses-filter.sse", "filtered", "content filter", ""),
    ("responses-error-first.sse", "server", "The server had an error", ""),
    ("responses-error-middle.sse", "broken", "The server had an error", "Half"),
    ("anthropic-filter.sse", "filtered", "refuses", ""),
    ("anthropic-error-first.sse", "server", "Overloaded", ""),
    ("anthropic-error-middle.sse", "broken", "Overloaded", "Half"),
    ("gemini-filter.sse", "filtered", "PROHIBITED_CONTENT", ""),
    ("gemini-malformed.sse", "server", "cannot be read", ""),
    ("gemini-error-first.sse", "server", "The model is overloaded", ""),
    ("gemini-error-middle.sse", "broken", "The model is overloaded", "Half"),
];

pub(super) fn kind(error: &Error) -> &'static str {
    match error {
        Error::Network(_) => "network",
        Error::Timeout(_) => "timeout",
        Error::Unconnected(_) => "unconnected",
        Error::Busy { .. } => "busy",
        Error::Server { .. } => "server",
        Error::Key(_) | Error::Credit(_) | Error::Refused(_) => "refused",
        Error::Filtered(_) => "filtered",
        Error::TooLong(_) => "too long",
        Error::Unsupported { .. } => "unsupported",
        Error::Broken(_) => "broken",
        Error::Spent(_) => "spent",
    }
}

#[tokio::test]
async fn what_is_heard_of_each_answer() {
    for (file, text, thinking, wanted, kept, cut) in answers() {
        let (wire, stream) = one(file);
        let heard = parsed(&endpoint(wire), &stream, usize::MAX).await;
        assert_eq!(heard.error, None, "{file}");
        assert_eq!(heard.filtered, text.starts_with("First you"), "{file}");
        let (said, other) = match file.contains("-refusal.") {
            true => (&heard.refusal, &heard.text),
            false => (&heard.text, &heard.refusal),
        };
        assert_eq!((said.as_str(), other.as_str()), (text, ""), "{file}");
        assert_eq!(heard.thinking, thinking, "{file}");
        let mut got = calls(&heard);
        // Object keys may be in any order if the arguments were not text.
        let same = |a: &str, b: &str| serde_json::from_str::<Value>(a).ok() == serde_json::from_str(b).ok();
        assert!(
            got.len() == wanted.len()
                && got.iter_mut().zip(&wanted).all(|(a, b)| (a.0, a.1) == (b.0, b.1) && same(a.2, b.2)),
            "{file}: {got:?}"
        );
        assert_eq!(heard.kept.as_ref().map_or(Value::Null, |k| k.value.clone()), kept, "{file}");
        assert!(heard.kept.as_ref().is_none_or(|k| k.provider == "prov"), "{file}");
        assert_eq!(heard.done, Some((cut, usage(wire))), "{file}");
    }
    for (file, wanted, says, before) in FAILURES {
        let (wire, stream) = one(file);
        let heard = parsed(&endpoint(wire), &stream, usize::MAX).await;
        let error = heard.error.as_ref().unwrap_or_else(|| panic!("{file}: {heard:?}"));
        assert!(kind(error) == wanted && error.to_string().contains(says), "{file}: {error:?}");
        assert_eq!(heard.text, before, "{file}");
    }
    let tested = answers().len() + FAILURES.len();
    let streams = recorded().iter().filter(|(file, ..)| file.ends_with(".sse")).count();
    assert_eq!(tested, streams, "every recorded stream is in one of the tables");
}

#[tokio::test]
async fn pictures_a_model_made_come_as_bytes() {
    let (wire, stream) = one("gemini-picture.sse");
    let heard = parsed(&endpoint(wire), &stream, 7).await;
    assert_eq!(heard.media, [("image/png".to_owned(), b"Picture".to_vec())]);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,UGljdHVyZQ=="}});
    let event = json!({"choices": [{"delta": {"content": "", "images": [image]}, "finish_reason": "stop"}]});
    let heard = parsed(&endpoint(Wire::OpenAi), &format!("data: {event}\n\n"), 9).await;
    assert_eq!(heard.media, [("image/png".to_owned(), b"Picture".to_vec())]);
}

/// Generated ids differ each time.
fn without_made_up_ids(mut heard: Heard) -> Heard {
    for call in &mut heard.calls {
        if call.0.len() > 20 {
            call.0 = "*".into();
        }
    }
    heard
}

#[tokio::test]
async fn cut_at_every_byte_it_is_the_same() {
    for (file, wire, stream) in recorded().into_iter().filter(|(file, ..)| file.ends_with(".sse")) {
        let endpoint = endpoint(wire);
        let whole = without_made_up_ids(parsed(&endpoint, &stream, usize::MAX).await);
        // Up to two hundred bytes every size, beyond that a sample.
        for size in (1..200).chain((200..stream.len()).step_by(53)) {
            assert_eq!(without_made_up_ids(parsed(&endpoint, &stream, size).await), whole, "{file} by {size}");
        }
        let lines = stream.replace("\r\n", "\n");
        for ends in ["\n", "\r\n", "\r"] {
            let other = lines.replace('\n', ends);
            for size in [1, 2, 3, 64, usize::MAX] {
                assert_eq!(without_made_up_ids(parsed(&endpoint, &other, size).await), whole, "{file} {ends:?} {size}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_broken() {
    let mut several = 0;
    for (file, wire, stream) in recorded().into_iter().filter(|(file, ..)| file.ends_with(".sse")) {
        let endpoint = endpoint(wire);
        let whole = without_made_up_ids(parsed(&endpoint, &stream, usize::MAX).await);
        let lines = stream.replace("\r\n", "\n");
        let ends: Vec<usize> = lines.match_indices("\n\n").map(|(at, _)| at + 2).collect();
        let (mut broken, mut early) = (0, 0);
        for end in std::iter::once(0).chain(ends.iter().copied()) {
            let heard = without_made_up_ids(parsed(&endpoint, &lines[..end], 64).await);
            match &heard.error {
                Some(Error::Broken(text)) if text.contains("in the middle") => broken += 1,
                Some(Error::Network(text)) if text.contains("before the first word") => {
                    assert_eq!((heard.text.as_str(), heard.thinking.as_str()), ("", ""), "{file} until {end}");
                    early += 1;
                }
                // The end came before the last bytes; usage may be missing.
                _ => assert_eq!(
                    (&heard.text, &heard.calls, &heard.kept, &heard.error),
                    (&whole.text, &whole.calls, &whole.kept, &whole.error),
                    "{file} until {end}"
                ),
            }
        }
        assert!(early >= 1, "{file}");
        several += broken;
    }
    assert!(several > 20, "{several}");
}

/// Deterministic pseudo-random numbers.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    }
}

#[tokio::test]
async fn whatever_comes_it_ends() {
    // Values of a wrong type, in every position in turn.
    const ODD: [&str; 8] = ["null", "5", "-1", "\"\"", "[]", "{}", "[null]", "{\"type\":\"x\"}"];
    let mut number = numbers(7);
    for (_, wire, stream) in recorded() {
        let endpoint = endpoint(wire);
        let values: Vec<usize> = stream.match_indices("\":").map(|(at, _)| at + 2).collect();
        for at in values {
            let rest = &stream[at..];
            let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if !matches!(read.next(), Some(Ok(_))) {
                continue;
            }
            let odd = format!("{}{}{}", &stream[..at], ODD[number(ODD.len())], &rest[read.byte_offset()..]);
            hear_whatever(&endpoint, &odd).await;
        }
        for _ in 0..100 {
            let mut lines: Vec<&str> = stream.lines().collect();
            let (from, to) = (number(lines.len()), number(lines.len()));
            match number(3) {
                0 => drop(lines.remove(from)),
                1 => lines.insert(to, lines[from]),
                _ => lines.swap(from, to),
            }
            hear_whatever(&endpoint, &lines.join("\n")).await;
        }
    }
}

/// Both streamed and as one document; `hear` checks that it ends once.
async fn hear_whatever(endpoint: &crate::Endpoint, text: &str) {
    parsed(endpoint, text, usize::MAX).await;
    for line in text.lines() {
        if let Ok(value) = serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)) {
            let mut reader = crate::ask::reader(endpoint);
            if reader.whole(value).is_ok() {
                let _ = reader.finish();
            }
        }
    }
}

#[tokio::test]
async fn over_http_it_is_the_same() {
    for (file, wire, stream) in recorded().into_iter().filter(|(file, ..)| file.ends_with(".sse")) {
        let whole = without_made_up_ids(parsed(&endpoint(wire), &stream, usize::MAX).await);
        let sizes = [1, 13, 100, usize::MAX];
        let server = Server::start(sizes.map(|size| events(&stream, size)).to_vec()).await;
        let model = connect(server.endpoint(wire));
        for size in sizes {
            let heard = without_made_up_ids(hear(model.stream(Default::default())).await);
            assert_eq!(heard, whole, "{file} by {size}");
        }
    }
}

#[tokio::test]
async fn answers_that_come_in_one_piece() {
    for (file, wire, body) in recorded().into_iter().filter(|(file, ..)| file.ends_with(".json")) {
        let server = Server::start(vec![json_answer(200, "", &body)]).await;
        let heard = hear(connect(server.endpoint(wire)).stream(Default::default())).await;
        // Even if it claims to be a stream.
        let claimed = parsed(&endpoint(wire), &format!("\n {body}"), 5).await;
        assert_eq!(without_made_up_ids(claimed), without_made_up_ids(heard.clone()), "{file}");
        if file.ends_with("-error.json") {
            let error = heard.error.unwrap();
            assert!(kind(&error) == "server" && error.to_string().contains("Upstream idle"), "{file}: {error:?}");
            continue;
        }
        assert_eq!((heard.text.as_str(), heard.error), ("Whole.", None), "{file}");
        assert_eq!((heard.calls.len(), heard.calls[0].1.as_str()), (1, "get_time"), "{file}");
        assert_eq!(heard.done, Some((false, usage(wire))), "{file}");
        assert_eq!(heard.kept.is_some(), wire != Wire::OpenAi, "{file}");
    }
    for wire in super::WIRES {
        for (body, says) in [("{}", "empty"), ("nonsense", "not JSON"), ("[]", "empty"), ("null", "empty")] {
            let server = Server::start(vec![json_answer(200, "", body)]).await;
            let heard = hear(connect(server.endpoint(wire)).stream(Default::default())).await;
            match (body, &heard.error) {
                // An empty response is an answer without text.
                (_, None) => assert_eq!(wire, Wire::Responses, "{body}"),
                (_, Some(error)) => assert!(error.to_string().contains(says), "{} {body}: {error}", name(wire)),
            }
        }
    }
}
