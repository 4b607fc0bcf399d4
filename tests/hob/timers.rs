//! Timers: they ring on time and across power cuts, for the whole household, and do what they are told.

use crate::{
    everyday::Person,
    harness::{Hob, binary, until},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

fn timers(hob: &Hob) -> Vec<Value> {
    hob.result("list_timers", json!({}))["timers"].as_array().unwrap().clone()
}

/// The state of each timer by name.
fn states(hob: &Hob) -> Vec<String> {
    let field = |timer: &Value, name: &str| timer[name].as_str().unwrap().to_owned();
    timers(hob).iter().map(|timer| format!("{} {}", field(timer, "name"), field(timer, "state"))).collect()
}

/// The sentence of a call that must succeed.
fn say(hob: &Hob, tool: &str, arguments: Value) -> String {
    hob.call(tool, arguments).data(200)["say"].as_str().unwrap().to_owned()
}

#[test]
fn a_timer_rings_for_everybody_until_it_is_stopped() {
    let mut hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let mut stream = hob.request("GET", "/api/v1/events?topics=timer").bearer(&ben.token).events();
    let set = anna.result("set_timer", json!({"duration": "PT1S", "name": "the tea timer"}));
    assert_eq!((&set["name"], &set["state"], &set["remainingSeconds"]), (&json!("tea"), &json!("running"), &json!(1)));
    let mut next = || {
        let (topic, event) = stream.next().unwrap();
        assert_eq!((topic.as_str(), &event["data"]["id"]), ("timer", &set["id"]));
        event["data"].clone()
    };
    assert_eq!(next()["state"], "running");
    let ringing = next();
    assert_eq!(
        (&ringing["state"], &ringing["late"], &ringing["endsAt"]),
        (&json!("ringing"), &json!(false), &set["endsAt"])
    );
    let seen = ben.result("list_timers", json!({}));
    assert_eq!((&seen["count"], &seen["timers"][0]["setBy"]), (&json!(1), &set["setBy"]));
    assert_eq!(ben.result("snooze_timer", json!({"duration": "PT1S"}))["state"], "running");
    assert_eq!((next()["state"].clone(), next()["state"].clone()), (json!("running"), json!("ringing")));
    ben.result("stop_timer", json!({}));
    assert_eq!(next()["state"], "stopped");
    assert!(timers(&hob).is_empty());
    // Timers are no scheduled tasks.
    anna.result("set_timer", json!({"duration": "PT1H"}));
    assert_eq!(anna.result("list_scheduled_tasks", json!({}))["count"], 0);
    hob.assert_alive();
}

#[test]
fn a_power_cut_loses_no_timer_and_no_second() {
    let mut hob = Hob::start();
    for (name, duration) in [("egg", "PT2S"), ("pizza", "PT1H"), ("dough", "PT30M")] {
        hob.result("set_timer", json!({"name": name, "duration": duration}));
    }
    hob.result("pause_timer", json!({"timer": "dough"}));
    let before = timers(&hob);
    hob.kill();
    // Longer than what still counts as on time.
    thread::sleep(Duration::from_millis(8000));
    hob.start_again();
    until("the egg rings", || states(&hob) == ["egg ringing", "pizza running", "dough paused"]);
    let after = timers(&hob);
    assert_eq!((&after[0]["late"], &after[0]["endsAt"]), (&json!(true), &before[0]["endsAt"]));
    assert_eq!(after[1]["endsAt"], before[1]["endsAt"]);
    assert_eq!(after[2]["remainingSeconds"], before[2]["remainingSeconds"]);
    let said = say(&hob, "list_timers", json!({}));
    assert!(said.contains("Egg: ringing; it was done at ") && said.contains(", while Hob was off"), "{said}");
    // A ringing one, a resumed one and a cancelled one come through another.
    say(&hob, "resume_timer", json!({}));
    say(&hob, "cancel_timer", json!({"timer": "pizza"}));
    hob.kill();
    hob.start_again();
    assert_eq!(states(&hob), ["egg ringing", "dough running"]);
    assert_eq!(say(&hob, "stop_timer", json!({})), "Egg timer stopped.");
    hob.assert_alive();
}

#[test]
fn timers_are_set_changed_and_found_in_words() {
    let mut hob = Hob::start();
    for (tool, arguments, says) in [
        ("set_timer", json!({"duration": "PT3M"}), "Timer set: 3 minutes."),
        ("set_timer", json!({"duration": "PT12M", "name": "pizza"}), "Pizza timer set: 12 minutes."),
        ("set_timer", json!({"duration": "PT20M", "name": "Pizza"}), "Pizza timer set again, now for 20 minutes."),
        ("adjust_timer", json!({"timer": "pizza", "duration": "PT1H"}), "Pizza timer: now 1 hour and 20 minutes left."),
        ("adjust_timer", json!({"timer": "pizza", "duration": "-PT1H"}), "Pizza timer: now 20 minutes left."),
        ("pause_timer", json!({"timer": "pizza"}), "Pizza timer paused with 20 minutes left."),
        ("resume_timer", json!({}), "Pizza timer is running: 20 minutes left."),
        ("cancel_timer", json!({"timer": "3 minute"}), "3 minute timer cancelled."),
        ("cancel_timer", json!({"all": true}), "Pizza timer cancelled."),
        ("list_timers", json!({}), "No timer is running."),
    ] {
        assert_eq!(say(&hob, tool, arguments.clone()), says, "{tool} {arguments}");
    }
    for (duration, name) in [("PT10M", ""), ("PT11M", "rice"), ("PT12M", "peas")] {
        hob.result("set_timer", json!({"duration": duration, "name": name}));
    }
    let why = hob.call("cancel_timer", json!({})).refusal(400, "bad_args");
    assert!(why.contains("3 timers fit") && why.contains("Rice (1") && why.contains("minutes left)"), "{why}");
    let why = hob.call("pause_timer", json!({"timer": "laundry"})).refusal(404, "not_found");
    assert!(why.contains("no timer “laundry”") && why.contains("Peas ("), "{why}");
    for (tool, arguments, says) in [
        ("set_timer", json!({"duration": "PT0S"}), "no duration"),
        ("set_timer", json!({"duration": "PT25H"}), "24 hours at most"),
        ("set_timer", json!({"duration": "P1Y"}), "no duration"),
        ("set_timer", json!({}), "duration"),
        ("adjust_timer", json!({"timer": "rice", "duration": "-PT11M"}), "left"),
        ("snooze_timer", json!({"timer": "rice"}), "not ringing"),
    ] {
        let why = hob.call(tool, arguments.clone()).refusal(400, "bad_args");
        assert!(why.contains(says), "{tool} {arguments}: {why}");
    }
    assert_eq!(states(&hob), [" running", "rice running", "peas running"]);
    hob.assert_alive();
}

#[test]
fn a_line_in_the_chat_says_that_a_timer_rings() {
    let mut hob = Hob::start();
    let mut chat = Command::new(binary())
        .args(["chat", "--data"])
        .arg(hob.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(chat.stderr.take().unwrap()).lines();
    // It listens once it is connected; a timer of before is not heard.
    thread::sleep(Duration::from_millis(1500));
    hob.result("set_timer", json!({"duration": "PT1S", "name": "pizza"}));
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("Pizza timer is done"), "{line}");
    drop(chat.stdin.take());
    assert!(chat.wait().unwrap().success());
    hob.assert_alive();
}
