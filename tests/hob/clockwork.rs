//! Schedules and triggers: reminders at their time, also across power cuts.

use crate::{
    everyday::{KINDS, Person},
    harness::{Hob, until},
};
use serde_json::json;
use std::{thread, time::Duration};

#[test]
fn a_reminder_comes_and_stays_until_it_is_seen() {
    let hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let mut stream = hob.request("GET", "/api/v1/events?topics=notice:new").bearer(&anna.token).events();
    let soon = json!({"name": "Oven", "schedule": "in 1 second", "message": "look into the oven"});
    anna.result("create_scheduled_task", soon);
    let (topic, event) = stream.next().unwrap();
    assert_eq!(topic, "notice:new");
    assert!(event["data"]["text"].as_str().unwrap().contains("look into the oven"), "{event}");
    let unseen = |person: &Person| person.result("list_notices", json!({"unseen": true}));
    let told = unseen(&anna);
    assert_eq!(told["count"], 1, "{told}");
    assert_eq!(told["notices"][0]["id"], event["data"]["id"]);
    assert_eq!(unseen(&ben)["count"], 0);
    let id = &event["data"]["id"];
    ben.call("dismiss_notice", json!({"noticeId": id})).refusal(404, "not_found");
    anna.result("dismiss_notice", json!({"noticeId": id}));
    assert_eq!(unseen(&anna)["count"], 0);
    // It did what it was for, once.
    until("the run is in the history", || {
        anna.result("get_task_history", json!({"taskId": "Oven"}))["count"].as_u64() >= Some(1)
    });
    let history = anna.result("get_task_history", json!({"taskId": "Oven"}));
    assert_eq!((&history["count"], history.to_string().contains("\"ok\"")), (&json!(1), true), "{history}");
}

#[test]
fn what_was_due_while_the_power_was_off_is_told_afterwards() {
    let mut hob = Hob::start();
    let in_seconds = |seconds: i64| (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)).to_string();
    hob.result(
        "create_scheduled_task",
        json!({"name": "Oven", "schedule": "in 2 seconds", "message": "look into the oven"}),
    );
    let soon = json!({"title": "Regatta", "startTime": in_seconds(2), "reminder": 0});
    hob.result("add_calendar_event", soon);
    hob.result("create_scheduled_task", json!({"name": "Later", "schedule": "in 2 hours", "message": "much later"}));
    hob.kill();
    thread::sleep(Duration::from_millis(2500));
    hob.start_again();
    let told = |hob: &Hob| hob.result("list_notices", json!({"unseen": true}))["notices"].to_string();
    until("they are told", || told(&hob).contains("look into the oven") && told(&hob).contains("Regatta"));
    let told = told(&hob);
    assert!(!told.contains("much later"), "{told}");
    assert_eq!(told.matches("look into the oven").count(), 1, "{told}");
    hob.assert_alive();
}

#[test]
fn a_pin_that_changes_makes_something_happen() {
    let mut hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let bell = json!({"name": "Bell", "type": "event", "config": {"topic": "pin:changed", "match": {"pin": 4, "high": true}},
                      "tool": "add_task", "arguments": {"title": "Somebody rang"}, "cooldownSeconds": 0});
    anna.result("create_trigger", bell);
    hob.result("gpio_write", json!({"pin": 5, "high": true}));
    hob.result("gpio_write", json!({"pin": 4, "high": true}));
    until("the task is there", || KINDS[0].all(&anna).len() == 1);
    hob.result("gpio_write", json!({"pin": 4, "high": false}));
    anna.result("pause_trigger", json!({"triggerId": "Bell"}));
    hob.result("gpio_write", json!({"pin": 4, "high": true}));
    let history = anna.result("get_trigger_history", json!({"triggerId": "Bell"}));
    assert_eq!((&history["count"], history.to_string().contains("\"ok\"")), (&json!(1), true), "{history}");
    assert_eq!((KINDS[0].names(&anna), KINDS[0].names(&ben)), (vec!["Somebody rang".to_owned()], vec![]));
    hob.assert_alive();
}

#[test]
fn triggers_mind_their_own_person_and_come_to_an_end() {
    let mut hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let on = |name: &str, topic: &str, tool: &str, arguments: serde_json::Value| {
        let trigger = json!({"name": name, "type": "event", "config": {"topic": topic}, "tool": tool, "arguments": arguments,
                             "cooldownSeconds": 0, "maxPerHour": 5});
        anna.result("create_trigger", trigger)
    };
    // Each sets off the other.
    on("There", "tasks:changed", "add_note", json!({"title": "{{data.id}}", "content": "of a task"}));
    on("Back", "notes:changed", "add_task", json!({"title": "task"}));
    let [tasks, notes] = [&KINDS[0], &KINDS[2]];
    let his = ben.result("add_task", json!({"title": "of Ben"}))["id"].clone();
    ben.result("add_note", json!({"title": "of Ben", "content": "alone"}));
    let history =
        |name: &str| anna.result("get_trigger_history", json!({"triggerId": name}))["count"].as_u64().unwrap();
    // What she does after him is heard after it; each note is called by the task it is about.
    let hers = anna.result("add_task", json!({"title": "of Anna"}))["id"].clone();
    until("it goes to and fro", || notes.names(&anna).iter().any(|name| hers == name.as_str()));
    assert!(notes.names(&anna).iter().all(|name| his != name.as_str()), "of what is private to Ben");
    thread::sleep(Duration::from_millis(1500));
    assert!(notes.names(&anna).len() <= 5 && tasks.names(&anna).len() <= 6, "more than they may in an hour");
    assert!(history("There") >= 1 && history("Back") <= 5);
    assert_eq!((tasks.names(&ben), notes.names(&ben)), (vec!["of Ben".to_owned()], vec!["of Ben".to_owned()]));
    hob.assert_alive();
}
