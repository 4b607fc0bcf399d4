//! Models in a loop are warned, then stopped, and the person is told what was done.

use crate::{
    model::with_model,
    model_server::{Answer, calls, says},
};
use serde_json::{Value, json};

fn switch(high: bool) -> Answer {
    calls(&[("gpio_write", json!({"pin": 4, "high": high}))])
}

/// The last result a model was shown.
fn last_result(asked: &crate::model_server::Asked) -> String {
    asked.messages("tool").last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn three_identical_failures_are_warned_of_and_the_run_goes_on() {
    let (hob, server) = with_model("");
    let fails = || calls(&[("gpio_read", json!({"pin": 99}))]);
    server.script(vec![fails(), fails(), fails(), says("Pin 99 does not exist.")]);
    assert_eq!(hob.say("read pin 99")["response"], "Pin 99 does not exist.");
    let asked = server.asked();
    assert!(!last_result(&asked[2]).contains("[Hob:"), "{}", last_result(&asked[2]));
    let warned = last_result(&asked[3]);
    assert!(warned.contains("[Hob: you have called `gpio_read` 3 times"), "{warned}");
    // Whoever does not listen is stopped, and the person is told what there is of it.
    let done = calls(&[("add_task", json!({"title": "Lamp oil"}))]);
    server.script(vec![done, fails(), fails(), fails(), fails(), says("never")]);
    let why = hob.post("/api/v1/chat", json!({"message": "go on"})).refusal(422, "limit");
    for part in ["`gpio_read` 4 times", "Done before that: `add_task`", "Failed: `gpio_read` 4 times", "at most 27"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(server.left(), 1);
}

#[test]
fn a_circle_of_several_calls_is_seen() {
    let (hob, server) = with_model("[pins]\nswitches_per_second = 0\n");
    let blink = |times: usize| (0..2 * times).map(|n| switch(n % 2 == 0)).collect::<Vec<_>>();
    let mut script = blink(20);
    script.push(says("never"));
    server.script(script);
    let why = hob.post("/api/v1/chat", json!({"message": "go wild"})).refusal(422, "limit");
    assert!(why.contains("the same 2 calls (`gpio_write`) 8 times in turn"), "{why}");
    assert!(why.contains("Done before that: `gpio_write` 16 times (last: Pin 4 is off)."), "{why}");
    let asked = server.asked();
    assert_eq!(asked.len(), 16);
    assert!(last_result(&asked[8]).contains("you go in a circle"), "{}", last_result(&asked[8]));
    // Looking here and there in turn is no better.
    let looks = |n: usize| calls(&[(["gpio_list", "list_tasks"][n % 2], json!({}))]);
    server.script((0..20).map(looks).collect());
    hob.post("/api/v1/chat", json!({"message": "look around"})).refusal(422, "limit");
    assert_eq!(server.asked().len(), 7);
}

#[test]
fn a_lamp_blinks_as_often_as_a_person_asks_within_reason() {
    let (hob, server) = with_model("");
    let mut script: Vec<Answer> = (0..10).map(|n| switch(n % 2 == 0)).collect();
    script.push(says("It blinked five times."));
    server.script(script);
    let answer = hob.say("blink the lamp at pin 4 five times");
    assert_eq!(answer["response"], "It blinked five times.");
    let failed = |call: &&Value| call["isError"] == true;
    assert_eq!(answer["toolCalls"].as_array().unwrap().iter().filter(failed).count(), 0, "{answer}");
    // All at once, in one turn.
    let all: Vec<(&str, Value)> = (0..6).map(|n| ("gpio_write", json!({"pin": 5, "high": n % 2 == 0}))).collect();
    server.script(vec![calls(&all), says("Done.")]);
    assert_eq!(hob.say("and pin 5 three times")["response"], "Done.");
}
