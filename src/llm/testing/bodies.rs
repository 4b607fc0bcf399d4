//! Golden request bodies of each wire format. To update them: `UPDATE_GOLDEN=1 cargo test -p llm`, and review the
//! diff.

use super::{WIRES, endpoint, folder, name};
use crate::{
    Content, Endpoint, Facts, Kind, Media, Message, Part, ProviderState, Quirks, Request, Source, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, Turn, Wire, ask,
};
use serde_json::{Value, json};
use std::fs;

fn media(kind: Kind, media_type: &str, name: &str, bytes: &[u8]) -> Part {
    let source = Source::Bytes(bytes.into());
    Part::Media(Media { kind, media_type: media_type.into(), name: name.into(), source })
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

fn result(call_id: &str, name: &str, content: &str, is_error: bool) -> Message {
    let say = Some("never sent".into());
    Message::Tool(ToolResult { call_id: call_id.into(), name: name.into(), content: content.into(), say, is_error })
}

/// The provider state of a turn with the text "Let me see." and two calls.
fn kept(wire: Wire, provider: &str) -> ProviderState {
    let value = match wire {
        Wire::OpenAi => json!({"model": "model-1", "reasoning_content": "I think."}),
        Wire::Responses => json!({"model": "model-1", "blocks": [{"text": 0, "calls": 0, "block":
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}}]}),
        Wire::Anthropic => json!({"model": "model-1", "blocks": [
            {"text": 0, "calls": 0, "block": {"type": "thinking", "thinking": "I think.", "signature": "sig-one"}},
            {"text": 11, "calls": 0, "block": {"type": "redacted_thinking", "data": "secret"}}]}),
        Wire::Gemini => json!({"model": "model-1", "text": null, "calls": [
            {"id": "fc1a", "signature": "sig-one"}, {"id": null, "signature": null}]}),
    };
    ProviderState { provider: provider.into(), value }
}

/// A conversation with every kind of content.
fn conversation(wire: Wire) -> Request {
    let schema = json!({"type": "object", "properties": {
        "expression": {"type": "string"},
        "unit": {"anyOf": [{"const": "m"}, {"const": "km"}], "description": "Which."}},
        "required": ["expression"], "additionalProperties": false});
    let tool = |name: &str, parameters: Value| ToolDefinition {
        name: name.into(),
        description: format!("What {name} does."),
        parameters,
    };
    let sent = Content(vec![
        Part::Text("What is all this?".into()),
        media(Kind::Image, "image/png", "cat.png", b"PNG"),
        media(Kind::File, "application/pdf", "bill.pdf", b"PDF"),
        media(Kind::File, "text/csv", "list.csv", b"a,b\n1,2\n"),
        media(Kind::Audio, "audio/wav", "hello.wav", b"WAV"),
    ]);
    let thinking = Turn {
        content: "Let me see.".into(),
        tool_calls: vec![
            call("fc1a", "calculate", "{\"expression\":\"6*7\"}"),
            call("functions.get_time:1", "get_time", "{\"zone\":"),
        ],
        kept: Some(kept(wire, "prov")),
    };
    let foreign = Turn {
        content: String::new(),
        tool_calls: vec![call("call_3", "get_time", "{}")],
        kept: Some(kept(wire, "another")),
    };
    Request {
        messages: vec![
            Message::System("You are Hob.".into()),
            Message::System("Be short.".into()),
            Message::User(sent),
            Message::Assistant(thinking),
            result("fc1a", "calculate", "42", false),
            result("functions.get_time:1", "get_time", "no such zone", true),
            Message::text_only("A bill, a cat and 42."),
            Message::user("And now?"),
            Message::System("It is late.".into()),
            Message::Assistant(foreign),
            result("call_3", "get_time", "23:59", false),
        ]
        .into(),
        tools: vec![tool("calculate", schema), tool("get_time", json!({"type": "object", "properties": {}}))].into(),
        tool_choice: ToolChoice::Named { name: "calculate".into() },
        max_tokens: Some(500),
        temperature: Some(0.7),
        user: Some(tool::UserId::OWNER),
        ..Request::default()
    }
}

fn knowing(wire: Wire) -> Endpoint {
    let facts = Facts { context: 100_000, output: 400, tools: true, images: true, audio: true, files: true };
    let quirks = match wire {
        Wire::OpenAi => Quirks { reasoning_back: true, file_parts: true, prompt_cache_key: true, ..Quirks::NONE },
        Wire::Responses => Quirks { prompt_cache_key: true, ..Quirks::NONE },
        Wire::Anthropic | Wire::Gemini => Quirks::NONE,
    };
    Endpoint { facts, quirks, ..endpoint(wire) }
}

#[test]
fn bodies_are_golden() {
    for wire in WIRES {
        let body = ask::body(&knowing(wire), &conversation(wire));
        let file = folder("golden").join(format!("{}.json", name(wire)));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, format!("{body:#}\n")).unwrap();
        }
        let golden: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(body, golden, "{}: if that is meant, UPDATE_GOLDEN=1", name(wire));
        assert!(!body.to_string().contains("never sent"));
    }
}

#[test]
fn anthropic_takes_four_marks_and_no_more() {
    let many = conversation(Wire::Anthropic);
    let mut one = many.clone();
    one.messages.remove(0);
    let without = Request { tools: vec![].into(), messages: one.messages[1..].to_vec().into(), ..one.clone() };
    let long = Request {
        messages: [&many.messages[..], &many.messages[2..], &many.messages[2..]].concat().into(),
        ..many.clone()
    };
    for (request, marks) in [(many, 4), (one, 4), (without, 2), (long, 4)] {
        let body = ask::body(&endpoint(Wire::Anthropic), &request).to_string();
        assert_eq!(body.matches("cache_control").count(), marks, "{body}");
    }
}

#[test]
fn the_shortest_request() {
    let request = Request { messages: vec![Message::user("hi")].into(), ..Request::default() };
    let mark = json!({"type": "ephemeral"});
    for (wire, expected) in [
        (
            Wire::OpenAi,
            json!({"model": "model-1", "messages": [{"role": "user", "content": "hi"}], "stream": true,
                "stream_options": {"include_usage": true}}),
        ),
        (
            Wire::Responses,
            json!({"model": "model-1", "input": [{"role": "user", "content": "hi"}], "stream": true, "store": false,
                "include": ["reasoning.encrypted_content"]}),
        ),
        (
            Wire::Anthropic,
            json!({"model": "model-1", "max_tokens": 8192, "stream": true, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": mark}]}]}),
        ),
        (Wire::Gemini, json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})),
    ] {
        assert_eq!(ask::body(&endpoint(wire), &request), expected);
    }
}

#[test]
fn quirks_change_just_what_they_say() {
    let quirks = Quirks::NONE;
    for (wire, quirks, path, expected) in [
        (Wire::OpenAi, Quirks { max_completion_tokens: true, ..quirks }, "/max_completion_tokens", json!(500)),
        (Wire::OpenAi, Quirks { max_completion_tokens: true, ..quirks }, "/max_tokens", Value::Null),
        (Wire::OpenAi, Quirks { no_stream_options: true, ..quirks }, "/stream_options", Value::Null),
        (Wire::OpenAi, Quirks { no_tool_choice_required: true, ..quirks }, "/tool_choice", Value::Null),
        (Wire::Responses, Quirks { no_tool_choice_required: true, ..quirks }, "/tool_choice", Value::Null),
        (Wire::Anthropic, Quirks { no_tool_choice_required: true, ..quirks }, "/tool_choice", Value::Null),
        (Wire::Gemini, Quirks { no_tool_choice_required: true, ..quirks }, "/toolConfig", Value::Null),
        (Wire::OpenAi, Quirks { system_as_developer: true, ..quirks }, "/messages/0/role", json!("developer")),
        (Wire::OpenAi, Quirks { short_ids: true, ..quirks }, "/messages/10/tool_call_id", json!("970622995")),
        (
            Wire::OpenAi,
            Quirks { strip_schema: true, ..quirks },
            "/tools/0/function/parameters/additionalProperties",
            Value::Null,
        ),
        (Wire::Anthropic, Quirks { no_temperature: true, ..quirks }, "/temperature", Value::Null),
        (
            Wire::Gemini,
            Quirks { makes_images: true, ..quirks },
            "/generationConfig/responseModalities",
            json!(["TEXT", "IMAGE"]),
        ),
        (Wire::Responses, Quirks { no_encrypted_reasoning: true, ..quirks }, "/include", Value::Null),
        (Wire::OpenAi, quirks, "/prompt_cache_key", Value::Null),
        (
            Wire::OpenAi,
            Quirks { reasoning_back: true, ..quirks },
            "/messages/9/reasoning_content",
            json!("Next: get_time."),
        ),
        (Wire::OpenAi, quirks, "/messages/9/reasoning_content", Value::Null),
    ] {
        let body = ask::body(&Endpoint { quirks, ..endpoint(wire) }, &conversation(wire));
        assert_eq!(body.pointer(path).cloned().unwrap_or_default(), expected, "{} {path}", name(wire));
    }
}

#[test]
fn the_choice_of_tools() {
    for (choice, expected) in [
        (ToolChoice::Auto, [Value::Null, Value::Null, Value::Null, Value::Null]),
        (
            ToolChoice::None,
            [json!("none"), json!("none"), json!({"type": "none"}), json!({"functionCallingConfig": {"mode": "NONE"}})],
        ),
        (
            ToolChoice::Required,
            [
                json!("required"),
                json!("required"),
                json!({"type": "any"}),
                json!({"functionCallingConfig": {"mode": "ANY"}}),
            ],
        ),
    ] {
        for (wire, expected) in WIRES.into_iter().zip(expected) {
            let request = Request { tool_choice: choice.clone(), ..conversation(wire) };
            let body = ask::body(&endpoint(wire), &request);
            let word = if wire == Wire::Gemini { "toolConfig" } else { "tool_choice" };
            assert_eq!(body.get(word).cloned().unwrap_or_default(), expected, "{} {choice:?}", name(wire));
            let request = Request { tools: vec![].into(), ..request };
            assert!(ask::body(&endpoint(wire), &request).get(word).is_none(), "no tools, no choice");
        }
    }
}

#[test]
fn names_other_models_invented_fit_every_server() {
    let long = "x".repeat(70);
    for (name, fit) in [
        ("get_time", "get_time"),
        ("search<|channel|>commentary", "search__channel__commentary"),
        ("", "_"),
        ("2fa-code", "_2fa-code"),
        ("wetter.für", "wetter_f_r"),
        (&long, &long[..64]),
    ] {
        let messages =
            vec![Message::user("a"), Message::calls("", vec![call("c", name, "{}")]), result("c", name, "1", false)];
        let request = Request { messages: messages.into(), ..Request::default() };
        for (wire, paths) in [
            (Wire::OpenAi, &["/messages/1/tool_calls/0/function/name"][..]),
            (Wire::Responses, &["/input/1/name"]),
            (Wire::Anthropic, &["/messages/1/content/0/name"]),
            (Wire::Gemini, &["/contents/1/parts/0/functionCall/name", "/contents/2/parts/0/functionResponse/name"]),
        ] {
            let body = ask::body(&endpoint(wire), &request);
            for path in paths {
                assert_eq!(body.pointer(path), Some(&json!(fit)), "{} {name}: {body}", super::name(wire));
            }
        }
    }
}

#[test]
fn a_picture_too_large_for_its_provider_is_told_in_words() {
    // Anthropic accepts 10,485,760 characters of base64, four for three bytes.
    for (bytes, sent) in [(7_864_320, true), (7_864_321, false)] {
        let picture = media(Kind::Image, "image/png", "roof.png", &vec![0; bytes]);
        let request = Request { messages: vec![Message::User(Content(vec![picture]))].into(), ..Request::default() };
        let block = &ask::body(&knowing(Wire::Anthropic), &request)["messages"][0]["content"][0];
        assert_eq!(block["type"] == "image", sent, "{bytes}");
        let told = block["text"].as_str().unwrap_or_default();
        let note = "[picture roof.png: it is too large, for this model takes 7.5 MB at most]";
        assert_eq!(told, if sent { "" } else { note });
    }
}

#[test]
fn calls_of_another_model_have_a_signature_where_gemini_demands_one() {
    for (model, expected) in
        [("gemini-3-pro", json!("skip_thought_signature_validator")), ("gemini-2.5-flash", Value::Null)]
    {
        let endpoint = Endpoint { model: model.into(), ..endpoint(Wire::Gemini) };
        let body = ask::body(&endpoint, &conversation(Wire::Gemini));
        let calls = |n: usize| body["contents"][1]["parts"][n]["thoughtSignature"].clone();
        // Text first, then the two calls, whose state belongs to another model.
        assert_eq!((calls(1), calls(2)), (expected, Value::Null), "{model}");
    }
}

#[test]
fn a_model_that_sees_and_hears_nothing_is_told_in_words() {
    let facts = Facts { images: false, audio: false, files: false, ..Facts::default() };
    for wire in WIRES {
        let body = ask::body(&Endpoint { facts, ..endpoint(wire) }, &conversation(wire)).to_string();
        for part in [
            "[picture cat.png: this model does not see pictures]",
            "[file bill.pdf: this model does not read such files]",
            "[file list.csv]\\na,b\\n1,2\\n[end of file list.csv]",
        ] {
            assert!(body.contains(part), "{} {part}: {body}", name(wire));
        }
        assert!(body.contains("[sound hello.wav: this model does not hear sound"), "{body}");
        assert!(!body.contains("UE5H"), "{body}");
    }
}
