//! The model's view of a conversation, and the stored rest: copies, summaries, and the order of speakers.

use super::lives::*;
use crate::{ChatRequest, Exported, RunEvent, State};
use llm::{Delta, Message, ProviderState};
use tool::{Id, prelude::*};

fn document(messages: Vec<Value>) -> Exported {
    serde_json::from_value(json!({"format": crate::FORMAT, "version": 1, "messages": messages})).unwrap()
}

fn brought_in(life: &Life, messages: Vec<Value>) -> Id {
    life.runtime.block_on(life.agent.import(&life.cx, document(messages))).unwrap().id
}

/// This many exchanges of text.
fn words(exchanges: usize) -> Vec<Value> {
    let of = |n: usize| {
        [
            json!({"role": "user", "content": format!("question {n}.")}),
            json!({"role": "assistant", "content": format!("answer {n}.")}),
        ]
    };
    (0..exchanges).flat_map(of).collect()
}

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "arguments": "{}"})
}
fn gave(id: &str, name: &str, content: &str) -> Value {
    json!({"role": "tool", "toolResults": [
        {"toolCallId": id, "name": name, "content": content, "say": null, "isError": false, "durationMs": 1},
    ]})
}

fn more(life: &Life, text: &str, conversation: Id) -> RunEvent {
    life.end(
        life.say(ChatRequest { message: text.into(), conversation: Some(conversation), ..ChatRequest::default() })
            .unwrap(),
    )
}

/// The person's last message in each request.
fn last_words(world: &World) -> Vec<String> {
    let said = |m: &Message| if let Message::User(said) = m { Some(said.text().into_owned()) } else { None };
    let of = |request: &llm::Request| request.messages.iter().rev().find_map(said).unwrap();
    world.asked.lock().unwrap().iter().map(of).collect()
}

#[test]
fn words_beside_results_are_not_brought_in() {
    let life = World::new().lives(vec![]);
    let mut result = gave("a", "mark", "did it");
    result["content"] = "x".repeat(1000).into();
    let asks = json!({"role": "assistant", "toolCalls": [call("a", "mark")]});
    let messages = vec![json!({"role": "user", "content": "go"}), asks, result];
    let why = life.runtime.block_on(life.agent.import(&life.cx, document(messages))).unwrap_err();
    assert!(why.message().contains("messages[2]") && why.message().contains("content"), "{why}");
}

#[test]
fn what_lies_far_back_is_summarised_too() {
    let mut world = World::new();
    world.config.max_messages = 10;
    let life = world.lives(vec![Says("They spoke of all."), Says("ok")]);
    let conversation = brought_in(&life, words(100));
    more(&life, "go on", conversation);
    let asked = last_words(&world);
    assert_eq!(asked.len(), 2, "{asked:?}");
    for n in [0, 50, 94] {
        assert!(asked[0].contains(&format!("question {n}.")) && asked[0].contains(&format!("answer {n}.")), "{n}");
    }
    let shown = world.shown();
    assert_eq!(shown.last().unwrap(), "> go on");
    assert!(!asked[0].contains("go on"), "and what is shown is in no summary");
    let first = &shown[0];
    let left = first.strip_prefix("> question ").unwrap().trim_end_matches('.').parse::<usize>().unwrap();
    assert!(asked[0].contains(&format!("answer {}.", left - 1)) && !asked[0].contains(&format!("question {left}.")));

    // The same when a person requests it.
    let world = World::new();
    let life = world.lives(vec![Says("They spoke of all.")]);
    let conversation = brought_in(&life, words(1000));
    let compacted = life.runtime.block_on(life.agent.compact(&life.cx, conversation)).unwrap();
    assert_eq!((compacted.messages, compacted.summary.as_str()), (1998, "They spoke of all."));
    assert!(last_words(&world)[0].contains("question 0."));
}

#[test]
fn results_that_came_late_stay_with_their_call_in_a_copy() {
    let world = World::new();
    let life = world.lives(vec![Says("ok")]);
    // Both runs give their calls the same id, and the first call gets its result last.
    let conversation = brought_in(
        &life,
        vec![
            json!({"role": "user", "content": "wipe it"}),
            json!({"role": "assistant", "toolCalls": [call("call_0", "wipe"), call("call_1", "wipe")]}),
            json!({"role": "user", "content": "and mark it"}),
            json!({"role": "assistant", "toolCalls": [call("call_0", "mark")]}),
            gave("call_0", "mark", "marked"),
            json!({"role": "assistant", "content": "It is marked."}),
            gave("call_1", "wipe", "wiped two"),
            gave("call_0", "wipe", "wiped one"),
            json!({"role": "assistant", "content": "It is wiped."}),
        ],
    );
    more(&life, "well?", conversation);
    let shown = world.shown();
    assert_eq!(shown[..4], ["> wipe it", "wipe+wipe", "! wiped one", "! wiped two"], "{shown:?}");
    assert_eq!(shown[5..8], ["> and mark it", "mark", "! marked"], "{shown:?}");
}

#[test]
fn a_person_never_speaks_straight_after_a_result() {
    let world = World::new();
    let again = || Calls(vec![("a", "mark", "one")]);
    // The fourth equal call ends the run, after the results and before any text.
    let life = world.lives(vec![again(), again(), again(), again(), Says("one"), Says("two")]);
    let running = life.begin("go");
    let conversation = running.conversation.unwrap();
    assert_eq!(error(&life.end(running)).0, "limit");
    for (text, asked) in [("what now?", 5), ("and now?", 6)] {
        more(&life, text, conversation);
        assert_eq!(world.asked(), asked);
        let requests = world.asked.lock().unwrap();
        let messages = &requests.last().unwrap().messages;
        assert_eq!(messages.iter().filter(|m| matches!(m, Message::Tool(_))).count(), 4);
        for pair in messages.windows(2) {
            let follows = matches!(pair, [Message::User(_) | Message::Tool(_), Message::User(_)]);
            assert!(!follows, "{text}: {pair:?}");
        }
    }
}

#[test]
fn a_run_that_goes_on_late_loses_nothing_to_the_summary() {
    let mut world = World::new();
    (world.waits.in_call_seconds, world.config.max_messages) = (0, 8);
    let words =
        [Says("answer 0."), Says("answer 1."), Says("answer 2."), Says("They spoke of all."), Says("It is wiped.")];
    let acts = std::iter::once(Calls(vec![("a", "wipe", "one")])).chain(words);
    let life = world.lives(acts.collect());
    let running = life.begin("go");
    let (run, conversation) = (running.run, running.conversation.unwrap());
    life.end(running);
    life.comes_to(run, State::Waiting);
    for n in 0..3 {
        more(&life, &format!("question {n}."), conversation);
    }
    assert_eq!(world.asked(), 4, "all of it fits so far");
    let approvals = life.agent.parts.registry.approvals().unwrap();
    let id = approvals.list(None, |_| true, None, 9).unwrap()[0].id;
    let answer = serde_json::from_value(json!({"decision": "allow_once"})).unwrap();
    let (_, resume) = life.runtime.block_on(life.agent.parts.registry.settle(&life.cx, id, answer)).unwrap();
    let _in = life.runtime.enter();
    life.agent.wake(life.cx.ports(), resume.unwrap());
    life.comes_to(run, State::Done);
    assert_eq!(world.asked(), 6, "a summary was made");
    let summarised = last_words(&world)[4].clone();
    let shown = world.shown();
    assert!(["> go", "wipe", "! did one"].iter().all(|own| shown.iter().any(|m| m == own)), "{shown:?}");
    for n in 0..3 {
        let (told, seen) = (format!("Person: question {n}."), format!("> question {n}."));
        assert!(summarised.contains(&told) || shown.contains(&seen), "{n}: {summarised} {shown:?}");
    }
}

#[test]
fn thoughts_that_go_back_count_too() {
    let mut world = World::new();
    world.config.max_tokens = 20_000;
    let thinks = |n: u32| {
        let kept = ProviderState { provider: "test".into(), value: json!({"reasoning_content": "t".repeat(8_000)}) };
        Gives(vec![Ok(Delta::Keep(kept)), Ok(Delta::Text(format!("answer {n}"))), done()])
    };
    let life = world.lives((0..30).map(thinks).collect());
    let running = life.begin("question");
    let conversation = running.conversation.unwrap();
    life.end(running);
    for _ in 1..20 {
        more(&life, "question", conversation);
    }
    for request in world.asked.lock().unwrap().iter() {
        let thoughts = request.messages.iter().filter(|m| matches!(m, Message::Assistant(t) if t.kept.is_some()));
        assert!(thoughts.count() < 10, "of 20,000 tokens");
    }
}
