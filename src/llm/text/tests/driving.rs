//! Models without native tool calls, and the wrappers around providers.

use super::everyday;
use crate::{
    Content, Delta, Error, Facts, Message, Provider, ProviderState, Request, ToolCall, ToolChoice, ToolResult, Turn,
    Usage,
    text::{driven, fitted},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::sync::{Arc, Mutex};

/// The prompt section for the everyday tools.
const SECTION: &str = include_str!("driven.txt");

/// Answers from a script, in pieces, and records its requests.
struct Script {
    facts: Facts,
    answers: Mutex<Vec<Vec<Result<Delta, Error>>>>,
    asked: Mutex<Vec<Request>>,
}

impl Provider for Script {
    fn model(&self) -> String {
        "local/small".into()
    }
    fn facts(&self) -> Facts {
        self.facts
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        self.asked.lock().unwrap().push(request);
        stream::iter(self.answers.lock().unwrap().remove(0)).boxed()
    }
}

fn script(facts: Facts, answers: Vec<Vec<Result<Delta, Error>>>) -> (Arc<Script>, Arc<dyn Provider>) {
    let script = Arc::new(Script { facts, answers: Mutex::new(answers), asked: Mutex::default() });
    (script.clone(), fitted(script, true))
}

const DONE: Delta = Delta::Done {
    cut: false,
    usage: Usage {
        prompt_tokens: 1,
        completion_tokens: 2,
        total_tokens: 3,
        cached_tokens: 0,
        micros: None,
        written_to_cache: 0,
    },
};

/// An answer in pieces of a few letters.
fn says(text: &str) -> Vec<Result<Delta, Error>> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(3).map(|piece| Ok(Delta::Text(piece.iter().collect())));
    pieces.chain([Ok(DONE)]).collect()
}

/// Text, calls and other deltas of an answer.
async fn ask(provider: &dyn Provider, request: Request) -> (String, Vec<ToolCall>, Vec<Result<Delta, Error>>) {
    let (mut words, mut calls, mut others) = (String::new(), vec![], vec![]);
    for delta in provider.stream(request).collect::<Vec<_>>().await {
        match delta {
            Ok(Delta::Text(text)) => words += &text,
            Ok(Delta::ToolCall(call)) => calls.push(call),
            other => others.push(other),
        }
    }
    (words, calls, others)
}

#[test]
fn the_everyday_tools_in_words() {
    let section = driven::section(&everyday(), &ToolChoice::Auto);
    assert_eq!(section, SECTION.trim_end());
    assert!(section.chars().count() <= 900, "{}", section.chars().count());
}

#[tokio::test]
async fn a_model_without_tools_uses_them_in_words() {
    let facts = Facts { tools: false, context: 4096, ..Facts::default() };
    let call =
        "I look.\n<tool_call>{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}</tool_call>\n<tool_result>x";
    let (script, provider) = script(facts, vec![says(call), says("They are at Ana's.")]);
    let system = Message::System("You are Hob.\n\n---\n\nIt is noon.".into());
    let mut messages = vec![system, Message::user("Where are the keys?")];
    let request =
        |messages: &[Message]| Request { messages: messages.to_vec().into(), tools: everyday(), ..Request::default() };

    let (words, calls, others) = ask(&*provider, request(&messages)).await;
    assert_eq!((words.as_str(), calls.len(), others), ("I look.", 1, vec![Ok(DONE)]));
    assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("recall", r#"{"query":"keys"}"#));

    messages.push(Message::calls(words, calls.clone()));
    let content = "At Ana's.".to_owned();
    let (call_id, name) = (calls[0].id.clone(), "recall".to_owned());
    messages.push(Message::Tool(ToolResult { call_id, name, content, say: None, is_error: false }));
    let (words, calls, _) = ask(&*provider, request(&messages)).await;
    assert_eq!((words.as_str(), calls.len()), ("They are at Ana's.", 0));

    let asked = script.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.tools.is_empty() && request.tool_choice == ToolChoice::Auto));
    let told = [
        Message::System(format!("You are Hob.\n\n---\n\n{}\n\n---\n\nIt is noon.", SECTION.trim_end())),
        Message::user("Where are the keys?"),
        Message::text_only(
            "I look.\n<tool_call>{\"name\": \"recall\", \"arguments\": {\"query\":\"keys\"}}</tool_call>",
        ),
        Message::user("<tool_result name=\"recall\">At Ana's.</tool_result>"),
    ];
    assert_eq!(asked[1].messages[..], told);
}

#[tokio::test]
async fn what_a_search_has_found_is_called_in_words_too() {
    let call = r#"<tool_call>{"name": "add_task", "arguments": {"title": "Milk"}}</tool_call>"#;
    let found = |by: &str| {
        let (call_id, name) = ("c".to_owned(), by.to_owned());
        let content = r#"{"count":1,"tools":[{"name":"add_task","description":"Add a task."}]}"#.to_owned();
        vec![
            Message::user("Note milk"),
            Message::Tool(ToolResult { call_id, name, content, say: None, is_error: false }),
        ]
    };
    for (by, called) in [("search_tools", vec!["add_task"]), ("fetch_page", vec![])] {
        let (_, provider) = script(Facts::default(), vec![says(call)]);
        let request = Request { messages: found(by).into(), tools: everyday(), ..Request::default() };
        let (words, calls, _) = ask(&*provider, request).await;
        assert_eq!(calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), called);
        assert_eq!(words.is_empty(), !called.is_empty(), "what names no tool is a text");
    }
}

#[tokio::test]
async fn what_is_not_shown_is_read_all_the_same() {
    for (call, name, arguments) in [
        // A parameter that the request does not show, beside the name of the tool.
        (r#"{"tool": "recall", "query": "keys", "limit": 3}"#, "recall", r#"{"limit":3,"query":"keys"}"#),
        (r#"{"name": "remember", "content": "x", "importance": 1}"#, "remember", r#"{"content":"x","importance":1}"#),
        // A tool that the request does not show.
        (r#"{"name": "get_current_datetime", "arguments": {}}"#, "get_current_datetime", "{}"),
        (r#"{"name": "gpio_read", "pin": 4}"#, "gpio_read", r#"{"pin":4}"#),
        (r#"{"name": "get_tool_help", "tool_name": "x"}"#, "get_tool_help", r#"{"tool_name":"x"}"#),
    ] {
        let (_, provider) = script(Facts { tools: false, ..Facts::default() }, vec![says(call)]);
        let request = Request { messages: vec![Message::user("go")].into(), tools: everyday(), ..Request::default() };
        let (words, calls, _) = ask(&*provider, request).await;
        let made: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!((words.as_str(), made), ("", vec![(name, arguments)]), "{call}");
    }
    assert!(!driven::section(&everyday(), &ToolChoice::Auto).contains("gpio"));
}

#[test]
fn messages_of_one_side_are_one() {
    let result = |content: &str| {
        let (call_id, name) = ("c".to_owned(), "recall".to_owned());
        Message::Tool(ToolResult { call_id, name, content: content.into(), say: None, is_error: false })
    };
    let messages = vec![Message::user("a"), Message::text_only("b"), result("1"), result("2"), Message::user("c")];
    let told = driven::in_words(Request { messages: messages.into(), ..Request::default() }).messages;
    let results = "<tool_result name=\"recall\">1</tool_result>\n<tool_result name=\"recall\">2</tool_result>\nc";
    assert_eq!(told[..], [Message::user("a"), Message::text_only("b"), Message::User(Content::from(results))]);
}

#[tokio::test]
async fn a_model_with_tools_is_read_and_nothing_is_lost() {
    let native = |arguments: &str| ToolCall { id: "1".into(), name: "recall".into(), arguments: arguments.into() };
    let kept = ProviderState { provider: "local".into(), value: 1.into() };
    let call = "<tool_call>{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}</tool_call>";
    let answer = vec![
        Ok(Delta::By { model: "m".into(), by_word: false }),
        Ok(Delta::Thinking("Hm.".into())),
        Ok(Delta::Text(call.into())),
        // Some servers parse the call and leave the text.
        Ok(Delta::ToolCall(native(r#"{ "query": "keys" }"#))),
        Ok(Delta::ToolCall(native(r#"{"query": "lamp"}"#))),
        Ok(Delta::Keep(kept.clone())),
        Ok(DONE),
    ];
    let broken = vec![Ok(Delta::Text("I call <tool_call>{\"name\"".into())), Err(Error::Broken("cut".into()))];
    let ended = vec![Ok(Delta::Text("Hi <".into()))];
    let (script, provider) = script(Facts::default(), vec![answer, broken, ended, says(call)]);
    let messages = vec![Message::user("keys?"), Message::Assistant(Turn::default()), Message::user("and now?")];
    let request = || Request { messages: messages.clone().into(), tools: everyday(), ..Request::default() };

    let (words, calls, others) = ask(&*provider, request()).await;
    let arguments: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!((words.as_str(), arguments), ("", vec![r#"{"query":"keys"}"#, r#"{"query": "lamp"}"#]));
    assert_eq!(others.len(), 4, "{others:?}");
    assert!(others.contains(&Ok(Delta::Keep(kept))));

    let (words, calls, others) = ask(&*provider, request()).await;
    assert_eq!((words.as_str(), calls.len()), ("I call <tool_call>{\"name\"", 0), "what was held back is said");
    assert_eq!(others, [Err(Error::Broken("cut".into()))]);
    assert_eq!(ask(&*provider, request()).await.0, "Hi <", "a stream without its end");

    let none = Request { tool_choice: ToolChoice::None, ..request() };
    assert_eq!(ask(&*provider, none).await.0, call, "where none may be called, none is read");
    assert_eq!(script.asked.lock().unwrap()[0].messages, messages, "nothing is changed in what is asked");
    assert_eq!(script.asked.lock().unwrap()[0].tools, everyday());
}

#[tokio::test]
async fn a_model_that_calls_in_its_own_way_may_quote_a_call() {
    let call = "<tool_call>{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}</tool_call>";
    for (tools, reads_text, read) in [(true, false, false), (true, true, true), (false, false, true)] {
        let facts = Facts { tools, ..Facts::default() };
        let (script, _) = script(facts, vec![says(call)]);
        let provider = fitted(script, reads_text);
        let request =
            Request { messages: vec![Message::user("keys?")].into(), tools: everyday(), ..Request::default() };
        let (words, calls, _) = ask(&*provider, request).await;
        assert_eq!((words.as_str(), calls.len()), if read { ("", 1) } else { (call, 0) }, "{tools} {reads_text}");
    }
    // It is fitted nevertheless.
    let (script, _) = script(Facts { context: 4096, ..Facts::default() }, vec![]);
    let request = Request { messages: vec![Message::user("x".repeat(20_000))].into(), ..Request::default() };
    let (.., others) = ask(&*fitted(script, false), request).await;
    assert!(matches!(&others[..], [Err(Error::TooLong(_))]), "{others:?}");
}

#[tokio::test]
async fn what_cannot_fit_is_refused_before_it_is_sent() {
    let (script, provider) = script(Facts { context: 4096, ..Facts::default() }, vec![]);
    let request = Request { messages: vec![Message::user("x".repeat(20_000))].into(), ..Request::default() };
    let (.., others) = ask(&*provider, request).await;
    assert!(matches!(&others[..], [Err(Error::TooLong(text))] if text.contains("4096")), "{others:?}");
    assert!(script.asked.lock().unwrap().is_empty());
}
