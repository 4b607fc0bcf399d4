//! Talk: several commands and items in one sentence, what "it" means, corrections, and what only looks like a command.

use crate::{
    Device, Reflex,
    classification::Classification,
    tests::{exam::risk, reflex, rows},
};
use futures::StreamExt;
use llm::{Delta, Message, Provider, Request, ToolDefinition, ToolResult, Turn};
use serde_json::{Value, json};
use tool::Risk;

/// The calls of a classification.
fn calls(placed: &Classification) -> Vec<(String, Value)> {
    let first = placed.tool.clone().map(|tool| (tool, placed.arguments.clone()));
    first.into_iter().chain(placed.more.clone()).collect()
}

#[tokio::test]
async fn two_commands_are_two_calls() {
    let reflex = reflex();
    for (text, wanted) in [
        (
            "turn on pin 4 and turn off pin 5",
            vec![("gpio_write", json!({"high": true, "pin": 4})), ("gpio_write", json!({"high": false, "pin": 5}))],
        ),
        (
            "add milk to the shopping list and eggs to the hardware list",
            vec![
                ("add_task", json!({"category": "shopping", "title": "milk"})),
                ("add_task", json!({"category": "hardware", "title": "eggs"})),
            ],
        ),
        (
            "add milk to the shopping list. What time is it?",
            vec![("add_task", json!({"category": "shopping", "title": "milk"})), ("get_current_datetime", json!({}))],
        ),
        (
            "add milk, eggs and bread to the shopping list",
            vec![(
                "batch_add_tasks",
                json!({"tasks": [
                    {"category": "shopping", "title": "milk"},
                    {"category": "shopping", "title": "eggs"},
                    {"category": "shopping", "title": "bread"},
                ]}),
            )],
        ),
        // One wish, although a part of it would be a command.
        (
            "remind me at 7 to water the plants and turn on pin 4",
            vec![(
                "create_scheduled_task",
                json!({"message": "water the plants and turn on pin 4", "name": "water the plants and turn on pin 4", "schedule": "2026-11-20T19:00"}),
            )],
        ),
        (
            "remember that Tom came and turn on pin 4",
            vec![("remember", json!({"content": "Tom came and turn on pin 4", "type": "fact"}))],
        ),
    ] {
        let placed = reflex.place(text).await;
        let wanted: Vec<(String, Value)> = wanted.into_iter().map(|(tool, args)| (tool.to_owned(), args)).collect();
        let mut got = calls(&placed);
        if let [(tool, Value::Object(arguments))] = &mut got[..]
            && tool == "create_scheduled_task"
            && arguments["name"] == "Reminder"
        {
            arguments.insert("name".to_owned(), arguments["message"].clone());
        }
        assert_eq!(got, wanted, "{text}: {placed:?}");
    }
}

/// The calls that answer the last message.
async fn answer(reflex: &Reflex, messages: Vec<Message>) -> Vec<(String, Value)> {
    let tool = ToolDefinition { name: "recall".into(), description: String::new(), parameters: json!({}) };
    let request = Request { messages: messages.into(), tools: vec![tool].into(), ..Request::default() };
    let deltas: Vec<Delta> = reflex.stream(request).map(Result::unwrap).collect().await;
    let calls = deltas.into_iter().filter_map(|delta| match delta {
        Delta::ToolCall(call) => Some((call.name, serde_json::from_str(&call.arguments).unwrap())),
        _ => None,
    });
    calls.collect()
}

/// An exchange: what was said, what was called, and its result.
fn exchange(said: &str, tool: &str, content: Value) -> Vec<Message> {
    let (call_id, name, say) = ("reflex-1".to_owned(), tool.to_owned(), Some("Done.".to_owned()));
    let call = llm::ToolCall { id: call_id.clone(), name: name.clone(), arguments: "{}".to_owned() };
    vec![
        Message::user(said),
        Message::calls("", vec![call]),
        Message::Tool(ToolResult { call_id, name, content: content.to_string(), say, is_error: false }),
        Message::Assistant(Turn { content: "Done.".into(), ..Turn::default() }),
    ]
}

#[tokio::test]
async fn it_and_corrections_mean_what_was_before() {
    let reflex = reflex();
    let task = || exchange("add a task to call Ana", "add_task", json!({"id": "1", "title": "call Ana"}));
    let pin = || exchange("turn on pin 17", "gpio_write", json!({"pin": 17, "high": true}));
    let alarm = || exchange("wake me at 7", "create_scheduled_task", json!({"id": "2", "name": "Alarm"}));
    let list = || {
        exchange(
            "what is on my list",
            "list_tasks",
            json!({"count": 2, "tasks": [{"title": "milk"}, {"title": "eggs"}]}),
        )
    };
    for (before, said, wanted) in [
        (task(), "delete it", vec![("delete_task", json!({"taskId": "call Ana"}))]),
        (pin(), "turn it off again", vec![("gpio_write", json!({"high": false, "pin": 17}))]),
        (list(), "tick off the second one", vec![("complete_task", json!({"taskId": "eggs"}))]),
        (
            alarm(),
            "no, I meant 6",
            vec![
                ("undo", json!({})),
                (
                    "create_scheduled_task",
                    json!({"message": "It is time to get up.", "name": "Alarm", "schedule": "2026-11-21T06:00"}),
                ),
            ],
        ),
        // What moves things is not taken back and done again by itself.
        (pin(), "no, I meant 18", vec![]),
        (vec![], "delete it", vec![]),
        (list(), "delete it", vec![]),
    ] {
        let messages = [before, vec![Message::user(said)]].concat();
        let wanted: Vec<(String, Value)> = wanted.into_iter().map(|(tool, args)| (tool.to_owned(), args)).collect();
        assert_eq!(answer(&reflex, messages).await, wanted, "{said}");
    }
}

/// What turns a command into something else: nothing is changed, whatever the head thinks.
#[tokio::test]
async fn what_only_looks_like_a_command_changes_nothing() {
    let reflex = reflex();
    let commands: Vec<&str> = rows()
        .iter()
        .filter(|row| row.tool != "-" && risk(row.tool) == Some(Risk::Write) && row.holds == "words")
        .map(|row| row.text)
        .filter(|text| !text.contains(['?', '“', ':']) && !text.contains("n't") && !text.contains("not"))
        .step_by(3)
        .collect();
    assert!(commands.len() > 20);
    for command in commands {
        for before in ["never", "what if I", "Tom told me to", "should I", "she said to", "why would I"] {
            let text = format!("{before} {command}");
            let placed = reflex.place(&text).await;
            let changed: Vec<_> = calls(&placed)
                .into_iter()
                .filter(|(tool, _)| risk(tool).is_some_and(Risk::changes_something))
                .collect();
            let literal = placed.stage == crate::Stage::Template;
            assert!(changed.is_empty() || literal, "{text}: {placed:?}");
        }
    }
}

/// The name of a file is no address on the web: nothing is saved for it.
#[tokio::test]
async fn a_file_is_no_bookmark() {
    let reflex = reflex();
    let files =
        ["hob.toml", "notes.txt", "main.rs", "setup.sh", "report.pdf", "data.json", "photo.jpg", "backup.tar.gz"];
    for file in files {
        for before in ["read", "open", "show me", "look at", "save", "keep", "add", "read this:", "get"] {
            let text = format!("{before} {file}");
            let placed = reflex.place(&text).await;
            assert!(!calls(&placed).iter().any(|(tool, _)| tool.contains("bookmark")), "{text}: {placed:?}");
        }
    }
    let placed = reflex.place("bookmark docs.rs").await;
    assert_eq!(calls(&placed), [("add_bookmark".to_owned(), json!({"url": "https://docs.rs"}))]);
}

/// What goes by the sun is not offered where nobody said where the home is: the answer says what to do.
#[tokio::test]
async fn nothing_is_offered_by_the_sun_nowhere() {
    let devices = || vec![Device { pin: 17, name: "porch light".into(), sensor: false }];
    for text in [
        "turn on the porch light at sunset",
        "every day at sunrise, turn off the porch light",
        "15 minutes before sunset, turn on the porch light",
        "turn on the porch light tonight at sunset",
        "when the porch light turns on, tell me unless it is dark",
    ] {
        let placed = reflex().knowing(devices).place(text).await;
        assert!(placed.proposes.as_ref().is_some_and(|(tool, _)| tool == "create_rule"), "{text}: {placed:?}");
        let placed = reflex().knowing(devices).nowhere().place(text).await;
        let said = placed.say.clone().unwrap_or_default();
        assert!(said.contains("`latitude` and `longitude` in hob.toml"), "{text}: {said}");
        assert!(placed.proposes.is_none() && placed.tool.is_none(), "{text}: {placed:?}");
    }
    // What needs no sun is offered as ever.
    let placed = reflex().knowing(devices).nowhere().place("when the porch light turns on, tell me").await;
    assert!(placed.proposes.is_some(), "{placed:?}");
}
