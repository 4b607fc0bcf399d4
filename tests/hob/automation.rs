//! Schedules and triggers made by choosing: what is offered, how a choice reads, for whom a message is, and the
//! sentences that chat, command line and page share.

use crate::{
    everyday::Person,
    harness::{Hob, until},
};
use serde_json::{Value, json};

#[test]
fn what_is_chosen_reads_the_same_wherever_it_is_shown() {
    let hob = Hob::start();
    let [anna, _ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let rows = [
        (
            json!({"name": "plants", "schedule": "every tuesday at 18:00", "message": "water the plants", "person": "Ben"}),
            "Every Tuesday at 18:00: water the plants, for ben.",
            json!({"kind": "weekly", "weekdays": [2], "time": "18:00"}),
        ),
        (
            json!({"name": "bins", "schedule": "0 9 * * 1#1", "message": "put out the bins", "person": "everyone"}),
            "Every first Monday at 09:00: put out the bins, for everyone.",
            json!({"kind": "nth", "nth": 1, "weekday": 1, "time": "09:00"}),
        ),
        (
            json!({"name": "news", "schedule": "30 7 * * 1-5", "prompt": "sum up the news"}),
            "From Monday to Friday at 07:30: ask Hob “sum up the news”.",
            json!({"kind": "weekly", "weekdays": [1, 2, 3, 4, 5], "time": "07:30"}),
        ),
        (
            json!({"name": "lamp", "schedule": "every last day of the month at 22:00", "tool": "add_task", "arguments": {"title": "rent"}}),
            "On the last day of every month at 22:00: add a task (title rent).",
            json!({"kind": "monthly", "day": -1, "time": "22:00"}),
        ),
    ];
    for (args, sentence, choice) in rows {
        let made = anna.result("create_scheduled_task", args.clone());
        assert_eq!((&made["sentence"], &made["choice"]), (&json!(sentence), &choice), "{args}");
    }
    // A preview says of a choice what the stored one says, and when.
    let preview = |schedule: &str| {
        let path = format!("/api/v1/automation/preview?schedule={}", schedule.replace(' ', "%20").replace('#', "%23"));
        hob.request("GET", &path).bearer(&anna.token).send()
    };
    let told = preview("0 9 * * 1#1").data(200);
    assert_eq!(told["text"], "every first Monday at 09:00");
    assert_eq!(told["next"].as_array().map(Vec::len), Some(3), "{told}");
    assert_eq!(preview("every first Monday at 09:00").data(200)["next"], told["next"], "its sentence is read again");
    preview("soon").refusal(400, "bad_args");
    hob.get("/api/v1/automation/preview").refusal(400, "bad_args");
    // Nobody learns anything without a credential.
    hob.request("GET", "/api/v1/automation/choices").send().refusal(401, "unauthorized");
}

#[test]
fn everything_that_is_offered_can_be_made() {
    let hob = Hob::start();
    let [anna, _ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let offered = hob.request("GET", "/api/v1/automation/choices").bearer(&anna.token).send().data(200);
    let names: Vec<&Value> = offered["people"].as_array().unwrap().iter().map(|person| &person["name"]).collect();
    assert!(names.contains(&&json!("ben")) && !names.contains(&&json!("anna")), "{names:?}");
    let tools = offered["tools"].as_array().unwrap();
    let add = tools.iter().find(|tool| tool["name"] == "add_task").unwrap();
    assert_eq!((&add["title"], &add["looks"]), (&json!("Add a task"), &json!(false)));
    let causes = offered["causes"].as_array().unwrap();
    assert!(causes.len() > 10);
    for cause in causes {
        let mut config = cause["config"].clone();
        for field in cause["fields"].as_array().unwrap().iter().filter(|field| field["required"] == true) {
            let (group, name) = field["path"].as_str().unwrap().split_once('.').unwrap();
            config[group][name] = json!(17);
        }
        let args = json!({"name": cause["id"], "type": cause["type"], "config": config, "message": "look"});
        let made = anna.result("create_trigger", args);
        let sentence = made["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("When ") && sentence.ends_with(": look."), "{sentence}");
        assert!(!sentence.contains('`') && !sentence.contains(":changed"), "{sentence}");
    }
}

#[test]
fn a_message_reaches_the_one_it_is_for() {
    let mut hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let told = |person: &Person| person.result("list_notices", json!({"unseen": true}))["notices"].clone();
    anna.result(
        "create_scheduled_task",
        json!({"name": "Oven", "schedule": "in 1 second", "message": "look into the oven", "person": "ben"}),
    );
    until("Ben is told", || told(&ben).to_string().contains("look into the oven"));
    assert_eq!(told(&ben)[0]["title"], "Oven · from anna");
    assert_eq!(told(&anna), json!([]));
    // A task that is done is an event of its own; the household hears of it.
    anna.result(
        "create_trigger",
        json!({"name": "Done", "type": "event", "config": {"topic": "tasks:changed", "match": {"finished": true}},
               "message": "a task is done", "person": "everyone", "cooldownSeconds": 0}),
    );
    anna.result("add_task", json!({"title": "Milk"}));
    anna.result("update_task", json!({"taskId": "Milk", "priority": "high"}));
    anna.result("complete_task", json!({"taskId": "Milk"}));
    until("both are told", || [&anna, &ben].iter().all(|person| told(person).to_string().contains("a task is done")));
    let history = anna.result("get_trigger_history", json!({"triggerId": "Done"}));
    assert_eq!((&history["count"], &history["firings"][0]["why"]), (&json!(1), &json!("a task was done")), "{history}");
    // Nobody of that name: nothing is kept.
    let nobody = json!({"name": "x", "schedule": "in 1 hour", "message": "x", "person": "Zoe"});
    let refused = anna.call("create_scheduled_task", nobody).refusal(400, "bad_args");
    assert!(refused.contains("nobody here is called “Zoe”"), "{refused}");
    assert_eq!(anna.result("list_scheduled_tasks", json!({"search": "x"}))["count"], 0);
    hob.assert_alive();
}

#[test]
fn talking_stores_what_was_said() {
    let hob = Hob::start();
    for (said, sentence) in [
        ("remind me every tuesday at 6 pm to water the plants", "Every Tuesday at 18:00: water the plants."),
        (
            "remind me on the first monday of every month at 9 to pay the rent",
            "Every first Monday at 09:00: pay the rent.",
        ),
        (
            "remind me every last friday of the month at 16:00 to send the bill",
            "Every last Friday at 16:00: send the bill.",
        ),
        ("remind me every weekday at 7:30 to take the pills", "From Monday to Friday at 07:30: take the pills."),
    ] {
        hob.post("/api/v1/chat", json!({"message": said})).data(200);
        let tasks = hob.result("list_scheduled_tasks", json!({"limit": 50}))["tasks"].clone();
        let all: Vec<&str> = tasks.as_array().unwrap().iter().filter_map(|task| task["sentence"].as_str()).collect();
        assert!(all.contains(&sentence), "{said}: {all:?}");
    }
}
