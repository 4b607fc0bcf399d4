//! The day at a glance: whose records are in it, how it is asked for, what it reads, and the names of pins.

use crate::{
    everyday::Person,
    harness::{Hob, Setup, until},
};
use jiff::{ToSpan, Zoned, civil::Date};
use serde_json::{Value, json};

fn vienna() -> Setup {
    Setup { config: "time_zone = \"Europe/Vienna\"\n[limits]\ncalls = 0\n".into(), ..Setup::default() }
}

/// The household's day, `n` days from now.
fn day(n: i64) -> Date {
    Zoned::now().in_tz("Europe/Vienna").unwrap().date().checked_add(n.days()).unwrap()
}

fn today(hob: &Hob, token: &str, query: &str) -> Value {
    hob.request("GET", &format!("/api/v1/today{query}")).bearer(token).send().data(200)
}

fn titles(of: &Value, list: &str) -> Vec<String> {
    of[list].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn everybody_sees_their_own_day_and_what_is_shared() {
    let hob = Hob::with(vienna());
    let (anna, ben) = (Person::new(&hob, "anna", "member"), Person::new(&hob, "ben", "member"));
    let kid = Person::new(&hob, "kid", "viewer");
    anna.result("add_task", json!({"title": "see the doctor", "dueDate": day(0).to_string()}));
    anna.result("add_task", json!({"title": "taxes", "dueDate": day(-1).to_string()}));
    anna.result("add_task", json!({"title": "bins", "dueDate": day(1).to_string(), "shared": true}));
    anna.result("add_task", json!({"title": "ring", "category": "presents", "shared": false}));
    anna.result("add_calendar_event", json!({"title": "interview", "startTime": format!("{}T10:00", day(2))}));
    let party = json!({"title": "party", "startTime": day(3).to_string(), "location": "garden", "shared": true});
    anna.result("add_calendar_event", party);
    ben.result(
        "batch_add_tasks",
        json!({"tasks": [{"title": "milk", "category": "shopping"}, {"title": "eggs", "category": "shopping"}]}),
    );

    let hers = today(&hob, &anna.token, "");
    assert_eq!(titles(&hers["tasks"], "tasks"), ["taxes", "see the doctor", "bins"]);
    assert_eq!(titles(&hers["events"], "events"), ["interview", "party"]);
    assert_eq!(hers["lists"]["lists"].as_array().unwrap().len(), 2);
    let theirs = today(&hob, &ben.token, "");
    assert_eq!(titles(&theirs["tasks"], "tasks"), ["bins"]);
    let bins = &theirs["tasks"]["tasks"][0];
    assert_eq!((&bins["sharedBy"], &bins["changeable"]), (&json!("anna"), &json!(false)));
    assert_eq!(titles(&theirs["events"], "events"), ["party"]);
    let kids = today(&hob, &kid.token, "");
    let shopping = &kids["lists"]["lists"][0];
    assert_eq!(
        (&shopping["list"], &shopping["open"], &shopping["shared"]),
        (&json!("shopping"), &json!(2), &json!(true))
    );
    assert_eq!(titles(shopping, "items"), ["milk", "eggs"]);
    for (who, of) in [("ben", &theirs), ("kid", &kids)] {
        let text = of.to_string();
        for private in ["doctor", "taxes", "ring", "presents", "interview"] {
            assert!(!text.contains(private), "{who} learns of {private}: {text}");
        }
        assert_eq!(of["lists"]["lists"].as_array().unwrap().len(), 1, "{who}");
    }
    // One clock: the household's.
    assert_eq!((&hers["zone"], &hers["now"].as_str().unwrap()[..10]), (&json!("Europe/Vienna"), &*day(0).to_string()));
    let at = hers["events"]["events"][0]["startTime"].as_str().unwrap();
    assert!(at.starts_with(&format!("{}T10:00:00+0", day(2))), "{at}");

    // What is ticked is gone, and comes back.
    ben.result("complete_task", json!({"taskId": "milk"}));
    assert_eq!(today(&hob, &anna.token, "")["lists"]["lists"][1]["open"], 1);
    ben.result("undo", json!({}));
    assert_eq!(today(&hob, &anna.token, "")["lists"]["lists"][1]["open"], 2);
}

#[test]
fn reminders_are_their_owners_and_calls_of_tools_are_none() {
    let mut hob = Hob::with(vienna());
    let tokens = [hob.token("anna", "member"), hob.token("ben", "member")];
    let id = {
        let anna = Person::with(&hob, &tokens[0]);
        let remind = |name: &str, schedule: String| {
            let arguments = json!({"name": name, "message": format!("Do {name}"), "schedule": schedule});
            anna.result("create_scheduled_task", arguments)["id"].clone()
        };
        remind("later", format!("{}T09:00", day(2)));
        let id = remind("tomorrow", format!("{}T09:00", day(1)));
        remind("far", format!("{}T09:00", day(20)));
        remind("daily", "every day at 23:59".to_owned());
        let look = json!({"name": "look", "tool": "system_info", "arguments": {}, "schedule": "every day at 08:00"});
        anna.result("create_scheduled_task", look);
        id
    };
    let shown = |hob: &Hob, token: &str| {
        let found = today(hob, token, "")["reminders"]["reminders"].take();
        let line = |one: &Value| format!("{} {}", one["text"].as_str().unwrap(), one["repeats"]);
        found.as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    let expected = ["Do daily true", "Do tomorrow false", "Do later false"];
    assert_eq!(shown(&hob, &tokens[0]), expected);
    assert!(shown(&hob, &tokens[1]).is_empty(), "Ben learns nothing of them");
    let first = today(&hob, &tokens[0], "")["reminders"]["reminders"][1].take();
    assert_eq!(first["id"], id);
    assert!(first["at"].as_str().unwrap().starts_with(&format!("{}T09:00:00+0", day(1))), "{first}");
    // Known again after a power cut.
    hob.kill();
    hob.start_again();
    until("the schedules are planned", || shown(&hob, &tokens[0]) == expected);
    let anna = Person::with(&hob, &tokens[0]);
    anna.result("update_scheduled_task", json!({"taskId": "daily", "enabled": false}));
    anna.result("delete_scheduled_task", json!({"taskId": id}));
    until("what is paused or deleted is gone", || shown(&hob, &tokens[0]) == ["Do later false"]);
}

#[test]
fn how_far_ahead_is_asked_for_in_days() {
    let mut hob = Hob::with(vienna());
    for n in [0, 1, 6, 7, 20, 31] {
        hob.result("add_task", json!({"title": format!("task {n}"), "dueDate": day(n).to_string()}));
        hob.result("add_calendar_event", json!({"title": format!("event {n}"), "startTime": day(n).to_string()}));
    }
    for (query, there) in [
        ("", 3),
        ("?days=", 3),
        ("?days=1", 1),
        ("?days=2", 2),
        ("?days=8", 4),
        ("?days=31", 5),
        ("?days=999999", 5),
        ("?nosuch=1", 3),
    ] {
        let found = hob.get(&format!("/api/v1/today{query}")).data(200);
        assert_eq!(titles(&found["tasks"], "tasks").len(), there, "{query}");
        assert_eq!(titles(&found["events"], "events").len(), there, "{query}");
    }
    for query in ["days=0", "days=-1", "days=soon", "days=1.5", "days=1&days=2", "days=99999999999999999999999"] {
        let why = hob.get(&format!("/api/v1/today?{query}")).refusal(400, "bad_args");
        assert!(why.contains("days"), "{query}: {why}");
    }
    assert_eq!(hob.request("GET", "/api/v1/today").send().status, 401);
    assert_eq!(hob.post("/api/v1/today", json!({})).status, 405);
    hob.assert_alive();
}

#[test]
fn what_a_person_may_not_list_is_not_in_their_day() {
    let hob = Hob::with(vienna());
    hob.result("add_task", json!({"title": "bins", "dueDate": day(0).to_string(), "shared": true}));
    let deny = |tools: Value| crate::policy::set(&hob, json!({"deny": tools}));
    let before = hob.get("/api/v1/today").data(200);
    assert_eq!(titles(&before["tasks"], "tasks"), ["bins"]);
    deny(json!(["list_tasks"]));
    let after = hob.get("/api/v1/today").data(200);
    assert_eq!((&after["tasks"], &after["lists"]), (&Value::Null, &Value::Null), "{after}");
    assert!(after["events"].is_object(), "{after}");
    // A token for one tool reaches nothing else.
    let only = json!({"name": "only", "role": "member", "scope": ["tool:remember"]});
    let only = hob.post("/api/v1/tokens", only).data(201)["token"].as_str().unwrap().to_owned();
    assert_eq!(hob.request("GET", "/api/v1/today").bearer(&only).send().status, 403);
}

#[test]
fn secrets_in_titles_stay_out_of_it() {
    let hob = Hob::with(vienna());
    let key = format!("sk-{}", "a1B2c3D4".repeat(6));
    let title = format!("rotate {key}");
    hob.result("add_task", json!({"title": title, "dueDate": day(0).to_string(), "category": "work"}));
    hob.result("add_calendar_event", json!({"title": title, "startTime": day(0).to_string(), "location": key}));
    let found = hob.get("/api/v1/today").data(200).to_string();
    assert!(found.contains("rotate") && !found.contains(&key), "{found}");
}

/// A list of ten years: what is ticked off is not read.
#[test]
fn old_tasks_do_not_hide_or_slow_the_day() {
    let hob = Hob::with(vienna());
    let titles_of = |n: usize| (0..100).map(move |i| json!({"title": format!("item {n} {i}"), "category": "shopping"}));
    for n in 0..6 {
        hob.result("batch_add_tasks", json!({"tasks": titles_of(n).collect::<Vec<_>>()}));
    }
    let overdue = |n: i64| json!({"title": format!("overdue {n}"), "dueDate": day(-n).to_string()});
    hob.result("batch_add_tasks", json!({"tasks": (1..=40).map(overdue).collect::<Vec<_>>()}));
    hob.result("add_task", json!({"title": "bins", "dueDate": day(0).to_string()}));
    let found = hob.get("/api/v1/today").data(200);
    let due = titles(&found["tasks"], "tasks");
    assert_eq!(
        (due.len(), due[0].as_str(), due[9].as_str(), due[10].as_str()),
        (11, "overdue 10", "overdue 1", "bins")
    );
    assert_eq!(found["tasks"]["more"], true);
    let shopping = &found["lists"]["lists"][0];
    assert_eq!((&shopping["open"], shopping["items"].as_array().unwrap().len()), (&json!(600), 8));
    assert!(found.to_string().len() < 20_000, "{}", found.to_string().len());
}

#[test]
fn a_pin_has_the_name_that_was_said_and_undo_takes_it_back() {
    let mut hob = Hob::start();
    let (ben, kid) = (Person::new(&hob, "ben", "member"), Person::new(&hob, "kid", "viewer"));
    assert_eq!(hob.say("call pin 17 the lamp")["response"], "Pin 17 is now lamp.");
    let mut changes = hob.admin("GET", "/api/v1/events").events().filter(|(name, _)| name == "pin-names:changed");
    assert_eq!(ben.result("gpio_write", json!({"pin": 17, "high": true}))["name"], "lamp");
    assert_eq!(hob.say("turn on pin 17")["response"], "Lamp is on.");
    ben.result("name_pin", json!({"pin": 4, "name": "Door", "sensor": true}));
    assert_eq!(changes.next().unwrap().1["data"]["change"], "changed");
    let named = |hob: &Hob| {
        let all = hob.result("gpio_list", json!({}))["pins"].take();
        let named = all.as_array().unwrap().iter().filter(|pin| pin["name"].is_string());
        named.map(|pin| format!("{} {}{}", pin["pin"], pin["name"], pin["sensor"])).collect::<Vec<_>>()
    };
    assert_eq!(named(&hob), ["4 \"Door\"true", "17 \"lamp\"null"]);
    assert_eq!(kid.call("name_pin", json!({"pin": 5, "name": "mine"})).status, 403);
    for (arguments, part) in [
        (json!({"pin": 5, "name": "LAMP"}), "pin 17 is called lamp already"),
        (json!({"pin": 28, "name": "x"}), "pin"),
        (json!({"pin": 5, "name": "x".repeat(41)}), "name"),
        (json!({"pin": 5}), "name"),
        (json!({"pin": 5, "name": "x", "sensor": "perhaps"}), "sensor"),
    ] {
        let why = ben.call("name_pin", arguments.clone()).refusal(400, "bad_args");
        assert!(why.contains(part), "{arguments}: {why}");
    }
    ben.result("name_pin", json!({"pin": 4, "name": ""}));
    assert_eq!(named(&hob), ["17 \"lamp\"null"]);
    ben.result("undo", json!({}));
    assert_eq!(named(&hob), ["4 \"Door\"true", "17 \"lamp\"null"]);
    // Names are on disk.
    hob.kill();
    hob.start_again();
    until("the names are back", || named(&hob).len() == 2);
}
