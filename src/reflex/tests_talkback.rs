//! Talking back after an exchange: a table of what was said, what was called and shown, what is said then, and what is to come of it.

use crate::{Reflex, tests::reflex};
use futures::StreamExt;
use llm::{Delta, Message, Provider, Request, ToolCall, ToolDefinition, ToolResult, Turn};
use serde_json::{Value, json};

/// The exchanges and sentences; `wanted` are the calls as `tool {arguments}`, or a part of the reply after `"`.
const SENTENCES: &str = include_str!("../../tests/golden/talkback.tsv");

fn task(id: &str, title: &str, due: Value, made: &str) -> Value {
    json!({"id": id, "title": title, "category": "shopping", "dueDate": due, "status": "pending", "createdAt": format!("2026-11-{made}T09:00:00+01:00")})
}

fn timer(id: &str, name: &str, title: &str, seconds: u32) -> Value {
    json!({"id": id, "name": name, "title": title, "durationSeconds": seconds, "remainingSeconds": seconds, "state": "running"})
}

fn event(id: &str, title: &str, start: &str, made: &str) -> Value {
    json!({"id": id, "title": title, "startTime": format!("{start}:00+01:00"), "createdAt": format!("2026-11-{made}T09:00:00+01:00")})
}

fn reminder(id: &str, name: &str, schedule: &str) -> Value {
    json!({"id": id, "name": name, "schedule": schedule, "nextRun": format!("{schedule}:00+01:00"), "createdAt": "2026-11-20T14:29:00+01:00"})
}

/// What was said, the tool, its arguments and its result.
fn called(name: &str) -> (&'static str, &'static str, Value, Value) {
    match name {
        "bread" => (
            "put bread on the shopping list",
            "add_task",
            json!({"title": "bread", "category": "shopping"}),
            task("t1", "bread", Value::Null, "20"),
        ),
        "six" => (
            "six eggs on the shopping list please",
            "add_task",
            json!({"title": "6 eggs", "category": "shopping"}),
            task("t1", "6 eggs", Value::Null, "20"),
        ),
        "several" => (
            "add milk and eggs to the shopping list",
            "batch_add_tasks",
            json!({"tasks": [{"title": "milk", "category": "shopping"}, {"title": "eggs", "category": "shopping"}]}),
            json!({"added": 2, "tasks": [task("t1", "milk", Value::Null, "20"), task("t2", "eggs", Value::Null, "20")]}),
        ),
        "call" => (
            "add a task to call Tim on monday",
            "add_task",
            json!({"title": "call Tim", "dueDate": "2026-11-23"}),
            json!({"id": "t1", "title": "call Tim", "dueDate": "2026-11-23", "status": "pending"}),
        ),
        "done" => {
            ("I bought the bread", "complete_task", json!({"taskId": "bread"}), task("t1", "bread", Value::Null, "20"))
        }
        "gone" => {
            ("delete the task bread", "delete_task", json!({"taskId": "bread"}), json!({"id": "t1", "deleted": true}))
        }
        "list" => (
            "what's on the shopping list",
            "list_tasks",
            json!({"category": "shopping", "status": "pending"}),
            json!({"count": 3, "tasks": [task("t1", "milk", Value::Null, "18"), task("t2", "eggs", Value::Null, "19"), task("t3", "bread", Value::Null, "20")]}),
        ),
        "jobs" => (
            "what do I have to do",
            "list_tasks",
            json!({"status": "pending"}),
            json!({"count": 2, "tasks": [task("t1", "call the plumber about the gutters", json!("2026-11-21"), "18"), task("t2", "pay the rent", json!("2026-12-01"), "17")]}),
        ),
        "timer" => (
            "set a timer for 5 minutes",
            "set_timer",
            json!({"duration": "PT5M"}),
            timer("m1", "", "5 minute timer", 300),
        ),
        "pizza" => (
            "pizza timer, twelve minutes",
            "set_timer",
            json!({"duration": "PT12M", "name": "pizza"}),
            timer("m1", "pizza", "Pizza timer", 720),
        ),
        "timers" => (
            "what timers are on",
            "list_timers",
            json!({}),
            json!({"count": 2, "timers": [timer("m1", "pizza", "Pizza timer", 720), timer("m2", "rice", "Rice timer", 600)]}),
        ),
        "alarm" => (
            "wake me at 7",
            "create_scheduled_task",
            json!({"message": "It is time to get up.", "name": "Alarm", "schedule": "2026-11-21T07:00"}),
            reminder("r1", "Alarm", "2026-11-21T07:00"),
        ),
        "pills" => (
            "remind me tomorrow at 8 to take the pills",
            "create_scheduled_task",
            json!({"message": "take the pills", "name": "take the pills", "schedule": "2026-11-21T08:00"}),
            reminder("r1", "take the pills", "2026-11-21T08:00"),
        ),
        "weekdays" => (
            "remind me every weekday at 6:30 to take the pills",
            "create_scheduled_task",
            json!({"message": "take the pills", "name": "take the pills", "schedule": "30 6 * * 1-5"}),
            json!({"id": "r1", "name": "take the pills", "schedule": "30 6 * * 1-5", "nextRun": "2026-11-23T06:30:00+01:00"}),
        ),
        "dentist" => (
            "dentist on friday at 3 pm",
            "add_calendar_event",
            json!({"title": "dentist", "startTime": "2026-11-27T15:00"}),
            event("e1", "dentist", "2026-11-27T15:00", "20"),
        ),
        "diary" => (
            "what's on this week",
            "list_calendar_events",
            json!({"startDate": "2026-11-16", "endDate": "2026-11-22"}),
            json!({"count": 2, "events": [event("e1", "dentist", "2026-11-21T15:00", "19"), event("e2", "choir practice", "2026-11-22T18:00", "10")]}),
        ),
        "lunch" => (
            "I spent €12.50 on lunch",
            "add_expense",
            json!({"amount": 12.5, "currency": "EUR", "category": "food", "description": "lunch"}),
            json!({"id": "x1", "amount": 12.5, "description": "lunch", "date": "2026-11-20"}),
        ),
        "spent" => (
            "how much did I spend this month",
            "expense_summary",
            json!({"period": "this_month"}),
            json!({"totals": [{"total": 120.0, "currency": "EUR"}], "largest": []}),
        ),
        "tim" => (
            "add a contact Tim Huber phone 0664 1234567",
            "add_contact",
            json!({"name": "Tim Huber", "phone": "0664 1234567"}),
            json!({"id": "c1", "name": "Tim Huber"}),
        ),
        "number" => (
            "what is Tim's phone number",
            "list_contacts",
            json!({"search": "Tim"}),
            json!({"count": 1, "contacts": [{"id": "c1", "name": "Tim Huber", "phone": "1"}]}),
        ),
        "note" => (
            "note: the meter reads 4711",
            "add_note",
            json!({"title": "the meter reads 4711", "content": "the meter reads 4711"}),
            json!({"id": "n1", "title": "the meter reads 4711", "content": "the meter reads 4711"}),
        ),
        "notes" => (
            "show my notes",
            "list_notes",
            json!({}),
            json!({"count": 2, "notes": [{"id": "n1", "title": "wifi", "content": "Sparrow"}, {"id": "n2", "title": "paint", "content": "RAL 9010"}]}),
        ),
        "key" => (
            "remember that the key is at Ana's",
            "remember",
            json!({"content": "the key is at Ana's", "type": "fact"}),
            json!({"id": "y1", "content": "the key is at Ana's"}),
        ),
        "sum" => ("what is 12 times 12", "calculate", json!({"expression": "12 * 12"}), json!({"result": 144})),
        "miles" => (
            "5 miles in km",
            "convert_units",
            json!({"value": 5, "from": "miles", "to": "km"}),
            json!({"result": 8.04672}),
        ),
        "tokyo" => (
            "what time is it in Tokyo",
            "get_current_datetime",
            json!({"timezone": "Asia/Tokyo"}),
            json!({"time": "22:30:00"}),
        ),
        "pin" => ("turn on pin 17", "gpio_write", json!({"high": true, "pin": 17}), json!({"pin": 17, "high": true})),
        _ => panic!("no exchange {name}"),
    }
}

fn exchange(name: &str, call_id: &str) -> Vec<Message> {
    let said = |say: &str| Message::Assistant(Turn { content: say.into(), ..Turn::default() });
    let asked = match name {
        "hello" => return vec![Message::user("hello"), said("Hello.")],
        "which timer" => ("pause the timer", "pause_timer", json!({}), "Which timer: 10 minutes, pizza or rice?"),
        "which task" => (
            "tick off the milk",
            "complete_task",
            json!({"taskId": "milk"}),
            "Which one: milk on the shopping list or milk the cow?",
        ),
        _ => {
            let (text, tool, arguments, content) = called(name);
            return with(text, tool, &arguments, content.to_string(), call_id, "Done.", false);
        }
    };
    let (text, tool, arguments, say) = asked;
    with(text, tool, &arguments, "several fit".to_owned(), call_id, say, true)
}

fn with(
    text: &str,
    tool: &str,
    arguments: &Value,
    content: String,
    id: &str,
    say: &str,
    is_error: bool,
) -> Vec<Message> {
    let (call_id, name) = (id.to_owned(), tool.to_owned());
    let call = ToolCall { id: call_id.clone(), name: name.clone(), arguments: arguments.to_string() };
    vec![
        Message::user(text),
        Message::calls("", vec![call]),
        Message::Tool(ToolResult { call_id, name, content, say: Some(say.to_owned()), is_error }),
        Message::Assistant(Turn { content: say.into(), ..Turn::default() }),
    ]
}

/// The calls and the reply to the last message.
async fn answer(reflex: &Reflex, messages: &[Message]) -> (String, String) {
    let tool = ToolDefinition { name: "recall".into(), description: String::new(), parameters: json!({}) };
    let request = Request { messages: messages.to_vec().into(), tools: vec![tool].into(), ..Request::default() };
    let deltas: Vec<Delta> = reflex.stream(request).map(Result::unwrap).collect().await;
    let (mut calls, mut say) = (vec![], String::new());
    for delta in deltas {
        match delta {
            Delta::ToolCall(call) => calls.push(format!("{} {}", call.name, call.arguments)),
            Delta::Text(text) => say += &text,
            _ => {}
        }
    }
    (calls.join(" ; "), say)
}

#[tokio::test]
async fn what_is_said_after_an_exchange_is_understood() {
    let reflex = reflex();
    let (mut wrong, mut count) = (vec![], 0);
    for row in SENTENCES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [names, text, wanted] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("three columns: {row}") };
        count += 1;
        let mut messages: Vec<Message> =
            names.split(" > ").enumerate().flat_map(|(i, name)| exchange(name, &format!("reflex-{}", i + 1))).collect();
        // Several sentences are said one after the other; the last counts.
        let mut got = (String::new(), String::new());
        for text in text.split(" / ") {
            if !got.1.is_empty() {
                messages.push(Message::Assistant(Turn { content: got.1.clone(), ..Turn::default() }));
            }
            messages.push(Message::user(text));
            got = answer(&reflex, &messages).await;
        }
        let right = match wanted.strip_prefix('"') {
            Some(part) => got.0.is_empty() && got.1.contains(part),
            None => {
                let calls = |text: &str| -> Vec<(String, Value)> {
                    let call = |call: &str| {
                        let (tool, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
                        (tool.to_owned(), serde_json::from_str(arguments).unwrap_or_else(|e| panic!("{e}: {call}")))
                    };
                    text.split(" ; ").filter(|call| !call.is_empty()).map(call).collect()
                };
                calls(wanted) == calls(&got.0)
            }
        };
        if !right {
            wrong.push(format!(
                "[{names}] {text}\n    wanted {wanted}\n    got    {} {}",
                got.0,
                got.1.chars().take(90).collect::<String>()
            ));
        }
    }
    assert!(count >= 80);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
