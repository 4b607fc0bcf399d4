//! Undo and the bin, over every family, through every door, and across a power cut.

use crate::harness::{Hob, TOKEN};
use serde_json::{Value, json};

/// Undoes the last change, and returns the sentence.
fn undo(hob: &Hob) -> String {
    let reply = hob.call("undo", json!({}));
    reply.data(200)["say"].as_str().unwrap().to_owned()
}

fn changes(hob: &Hob) -> Vec<Value> {
    hob.get("/api/v1/changes").data(200)["changes"].as_array().unwrap().clone()
}

/// How many records a list has.
fn count(hob: &Hob, list: &str, plural: &str) -> usize {
    let of = if list == "list_calendar_events" { json!({"endDate": "2031-12-31"}) } else { json!({}) };
    hob.result(list, of)[plural].as_array().unwrap().len()
}

#[test]
fn a_spoken_undo_says_what_is_so_now() {
    let hob = Hob::start();
    let first = hob.say("add milk to the shopping list");
    let here = first["conversationId"].as_str().unwrap();
    let say = |text: &str| {
        let body = json!({"message": text, "conversationId": here});
        hob.post("/api/v1/chat", body).data(200)["response"].as_str().unwrap().to_owned()
    };
    assert_eq!(say("undo that"), "Undone: milk is off the shopping list.");
    assert_eq!(count(&hob, "list_tasks", "tasks"), 0);
    say("add bread to the shopping list");
    // Another conversation's change is not meant while this one has its own.
    hob.result("add_note", json!({"title": "Paint", "content": "In the cellar"}));
    assert_eq!(say("undo"), "Undone: bread is off the shopping list.");
    // Without one, the last of the last minutes is.
    assert!(say("undo").starts_with("Undone: the note"), "the note is the last change");
    assert!(say("undo").contains("nothing to undo"));
}

#[test]
fn every_family_goes_back() {
    let hob = Hob::start();
    let added = [
        ("add_task", json!({"title": "milk", "category": "shopping"}), "list_tasks", "tasks"),
        ("add_note", json!({"title": "Paint", "content": "RAL 9010"}), "list_notes", "notes"),
        ("add_bookmark", json!({"url": "https://example.org/a", "title": "A"}), "list_bookmarks", "bookmarks"),
        ("add_contact", json!({"name": "Nora"}), "list_contacts", "contacts"),
        (
            "add_calendar_event",
            json!({"title": "Dentist", "startTime": "2031-03-05T16:00", "reminder": 30}),
            "list_calendar_events",
            "events",
        ),
        (
            "add_expense",
            json!({"amount": 12.5, "description": "Pizza", "category": "food"}),
            "query_expenses",
            "expenses",
        ),
        ("create_goal", json!({"title": "Garden"}), "list_goals", "goals"),
        ("remember", json!({"content": "The key is at Ana's"}), "list_memories", "memories"),
        (
            "create_scheduled_task",
            json!({"name": "Bins", "schedule": "0 7 * * 2", "message": "Put the bins out"}),
            "list_scheduled_tasks",
            "tasks",
        ),
        (
            "create_trigger",
            json!({"name": "Bell", "type": "event", "config": {"topic": "pin:changed"}, "message": "Ring"}),
            "list_triggers",
            "triggers",
        ),
    ];
    for (tool, arguments, list, plural) in &added {
        let before = count(&hob, list, plural);
        hob.call(tool, arguments.clone()).data(200);
        assert_eq!(count(&hob, list, plural), before + 1, "{tool}");
        let said = undo(&hob);
        assert!(said.starts_with("Undone: "), "{tool}: {said}");
        assert_eq!(count(&hob, list, plural), before, "{tool}: {said}");
    }
    // What was undone is in the bin, and comes back from it as it was.
    let bin = hob.result("list_deleted", json!({"limit": 50}));
    let titles: Vec<&str> = bin["deleted"].as_array().unwrap().iter().map(|d| d["title"].as_str().unwrap()).collect();
    for title in ["milk", "Paint", "Dentist", "Nora", "Garden", "Bins", "Bell"] {
        assert!(titles.contains(&title), "{title}: {titles:?}");
        hob.call("restore_deleted", json!({"id": title})).data(200);
    }
    assert_eq!(hob.result("list_scheduled_tasks", json!({}))["tasks"][0]["name"], "Bins");
    let events = hob.result("list_calendar_events", json!({"startDate": "2031-03-01", "endDate": "2031-03-31"}));
    assert_eq!(events["events"][0]["title"], "Dentist");
    hob.call("restore_deleted", json!({"id": "milk"})).refusal(404, "not_found");
}

#[test]
fn updates_and_deletions_go_back_with_everything_that_belongs_to_them() {
    let hob = Hob::start();
    let task = hob.result("add_task", json!({"title": "milk", "category": "shopping"}));
    hob.call("complete_task", json!({"taskId": "milk"})).data(200);
    assert_eq!(undo(&hob), "Undone: milk is as it was before.");
    assert_eq!(hob.result("list_tasks", json!({}))["tasks"][0]["status"], "pending");
    hob.call("delete_task", json!({"taskId": task["id"]})).data(200);
    assert_eq!(undo(&hob), "Undone: milk is back on the shopping list.");

    hob.result("create_goal", json!({"title": "Garden"}));
    hob.call("decompose_goal", json!({"goalId": "Garden", "steps": [{"title": "Dig"}, {"title": "Plant"}]})).data(200);
    hob.call("delete_goal", json!({"goalId": "Garden"})).data(200);
    assert_eq!(undo(&hob), "Undone: the goal “Garden” is back.");
    let goal = hob.result("get_goal_details", json!({"goalId": "Garden"}));
    assert_eq!(goal["steps"].as_array().map(Vec::len), Some(2), "{goal}");

    let memory = hob.result("remember", json!({"content": "The stopcock is behind the boiler"}));
    hob.call("update_memory", json!({"memoryId": memory["id"], "content": "It is under the sink"})).data(200);
    hob.result("recall", json!({"query": "sink"}));
    assert!(undo(&hob).ends_with("is as it was before."));
    let found = hob.result("recall", json!({"query": "where is the stopcock?"}));
    assert_eq!(found["memories"][0]["content"], "The stopcock is behind the boiler");
    hob.call("forget", json!({"memoryId": memory["id"]})).data(200);
    undo(&hob);
    assert_eq!(hob.result("recall", json!({"query": "stopcock"}))["memories"][0]["id"], memory["id"]);

    hob.call("create_custom_table", json!({"table": "plants", "columns": [{"name": "name", "type": "text"}]}))
        .data(200);
    let row = hob.result("add_custom_record", json!({"table": "plants", "data": {"name": "Ficus"}}));
    hob.call("delete_custom_record", json!({"table": "plants", "recordId": row["id"]})).data(200);
    assert_eq!(undo(&hob), "Undone: the record “Ficus” is back.");
    let tables = hob.result("list_custom_tables", json!({}));
    assert_eq!(tables["tables"][0]["records"], 1, "{tables}");
}

#[test]
fn timers_go_back_and_keep_counting() {
    let hob = Hob::start();
    let timers = || hob.result("list_timers", json!({}))["timers"].as_array().unwrap().clone();
    hob.call("set_timer", json!({"duration": "PT10M", "name": "pizza"})).data(200);
    hob.call("cancel_timer", json!({"timer": "pizza"})).data(200);
    assert_eq!(timers().len(), 0);
    assert_eq!(undo(&hob), "Undone: the Pizza timer is back.");
    let (now, left) = (timers(), |timer: &Value| timer["remainingSeconds"].as_i64().unwrap());
    assert_eq!((now.len(), &now[0]["state"]), (1, &json!("running")));
    assert!((540..=600).contains(&left(&now[0])), "{now:?}");
    hob.call("adjust_timer", json!({"timer": "pizza", "duration": "PT20M"})).data(200);
    assert!(left(&timers()[0]) > 1200);
    assert_eq!(undo(&hob), "Undone: the Pizza timer is as it was before.");
    assert!(left(&timers()[0]) <= 600);
    // The engine knows the time again: a timer of a moment rings, and what rings is no longer as it was.
    hob.call("set_timer", json!({"duration": "PT1S", "name": "tea"})).data(200);
    hob.call("cancel_timer", json!({"timer": "tea"})).data(200);
    undo(&hob);
    let rings = || timers().iter().any(|timer| timer["title"] == "Tea timer" && timer["state"] == "ringing");
    crate::harness::until("the timer rings", rings);
    assert_eq!(hob.result("list_deleted", json!({}))["count"], 0);
}

#[test]
fn lists_of_the_household_go_back_whole() {
    let hob = Hob::start();
    let items = |hob: &Hob| {
        let all = hob.result("list_tasks", json!({}))["tasks"].as_array().unwrap().clone();
        let name = |t: &Value| format!("{}/{}", t["category"].as_str().unwrap_or("-"), t["title"].as_str().unwrap());
        let mut all: Vec<String> = all.iter().map(name).collect();
        all.sort();
        all
    };
    let tasks = json!([{"title": "milk", "category": "shopping"}, {"title": "eggs", "category": "shopping"}]);
    hob.call("batch_add_tasks", json!({"tasks": tasks})).data(200);
    let before = items(&hob);
    for (tool, arguments) in
        [("clear_list", json!({"list": "shopping"})), ("rename_list", json!({"list": "shopping", "name": "market"}))]
    {
        hob.call(tool, arguments).data(200);
        assert_ne!(items(&hob), before, "{tool}");
        let said = undo(&hob);
        assert!(said.starts_with("Undone: ") && !said.contains("left alone"), "{tool}: {said}");
        assert_eq!(items(&hob), before, "{tool}");
    }
    // What another member changed on a shared list is theirs to undo, and nobody else's.
    let token = hob.token("mia", "member");
    let mia = crate::everyday::Person::with(&hob, &token);
    mia.result("complete_task", json!({"taskId": "milk"}));
    mia.result("clear_list", json!({"list": "shopping", "done": true}));
    assert_eq!(items(&hob), ["shopping/eggs"]);
    assert_eq!(mia.call("undo", json!({})).data(200)["say"], "Undone: milk is back on the shopping list.");
    assert_eq!(items(&hob), before);
    mia.result("undo", json!({}));
    let open = hob.result("list_tasks", json!({"status": "pending"}));
    assert_eq!(open["tasks"].as_array().map(Vec::len), Some(2), "{open}");
}

#[test]
fn a_batch_is_one_change_and_what_was_changed_since_is_left_alone() {
    let hob = Hob::start();
    let tasks = json!([{"title": "milk", "category": "shopping"}, {"title": "eggs", "category": "shopping"}]);
    hob.call("batch_add_tasks", json!({"tasks": tasks})).data(200);
    let last = changes(&hob)[0].clone();
    assert_eq!(last["text"], "Added milk and eggs to the shopping list.");
    hob.call("complete_task", json!({"taskId": "milk"})).data(200);
    let path = format!("/api/v1/changes/{}/undo", last["id"].as_str().unwrap());
    let said = hob.post(&path, json!({})).data(200)["say"].as_str().unwrap().to_owned();
    assert_eq!(said, "Undone: eggs is off the shopping list. “milk” was changed since, so that was left alone.");
    let why = hob.post(&path, json!({})).refusal(400, "bad_args");
    assert!(why.contains("undone already"), "{why}");

    let note = json!({"title": "A", "content": "one"});
    let operations = json!([
        {"tool_name": "add_note", "arguments": note},
        {"tool_name": "add_task", "arguments": {"title": "bread"}},
    ]);
    hob.call("batch_use_tool", json!({"operations": operations})).data(200);
    undo(&hob);
    assert_eq!((count(&hob, "list_notes", "notes"), count(&hob, "list_tasks", "tasks")), (0, 1));

    let only = hob.result("add_note", json!({"title": "B", "content": "one"}));
    let added = changes(&hob)[0]["id"].as_str().unwrap().to_owned();
    hob.call("update_note", json!({"noteId": only["id"], "content": "two"})).data(200);
    let why = hob.post(&format!("/api/v1/changes/{added}/undo"), json!({})).refusal(400, "bad_args");
    assert!(why.contains("“B” was changed since"), "{why}");
    hob.post("/api/v1/changes/nonsense/undo", json!({})).refusal(400, "bad_args");
    let nobody = "01890000-0000-7000-8000-000000000000";
    hob.post(&format!("/api/v1/changes/{nobody}/undo"), json!({})).refusal(404, "not_found");
}

#[test]
fn a_pin_goes_back_if_nobody_has_switched_it_since() {
    let hob = Hob::start();
    hob.result("gpio_write", json!({"pin": 17, "high": true}));
    assert_eq!(undo(&hob), "Undone: pin 17 is off again.");
    assert_eq!(hob.result("gpio_read", json!({"pin": 17}))["high"], false);
    hob.result("gpio_write", json!({"pin": 4, "high": true}));
    let on = changes(&hob)[0]["id"].as_str().unwrap().to_owned();
    hob.result("gpio_write", json!({"pin": 4, "high": false}));
    let why = hob.post(&format!("/api/v1/changes/{on}/undo"), json!({})).refusal(400, "bad_args");
    assert!(why.contains("pin 4") && why.contains("changed since"), "{why}");
    // No change, nothing to undo.
    let before = changes(&hob).len();
    hob.result("gpio_write", json!({"pin": 4, "high": false}));
    assert_eq!(changes(&hob).len(), before);
}

#[test]
fn nobody_undoes_what_another_person_changed() {
    let hob = Hob::start();
    let mia = hob.token("mia", "member");
    hob.result("add_note", json!({"title": "Mine", "content": "x"}));
    let change = changes(&hob)[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/changes/{change}/undo");
    hob.request("POST", &path).bearer(&mia).json(&json!({})).send().refusal(404, "not_found");
    let others = hob.request("GET", "/api/v1/changes").bearer(&mia).send().data(200);
    assert_eq!(others["changes"], json!([]));
    let viewer = hob.token("vera", "viewer");
    assert_eq!(hob.request("POST", &path).bearer(&viewer).json(&json!({})).send().status, 403);
    assert_eq!(count(&hob, "list_notes", "notes"), 1);
}

#[test]
fn what_is_forgotten_permanently_leaves_no_copy() {
    let hob = Hob::start();
    let secret = "The safe opens with 4711-zebra";
    let memory = hob.result("remember", json!({"content": "old"}));
    hob.call("update_memory", json!({"memoryId": memory["id"], "content": secret})).data(200);
    hob.call("update_memory", json!({"memoryId": memory["id"], "content": "new"})).data(200);
    let said = hob.call("forget", json!({"memoryId": memory["id"], "permanently": true})).data(200)["say"].clone();
    assert_eq!(said, "I have forgotten it for good.");
    assert_eq!(hob.result("list_deleted", json!({}))["count"], 0);
    assert!(!hob.get("/api/v1/changes").text().contains("zebra"));
    hob.call("undo", json!({})).refusal(404, "not_found");

    hob.result("add_note", json!({"title": "A", "content": "x"}));
    hob.call("delete_note", json!({"noteId": "A"})).data(200);
    assert_eq!(hob.result("list_deleted", json!({"kind": "notes"}))["count"], 1);
    hob.call("empty_bin", json!({})).data(200);
    assert_eq!(hob.result("list_deleted", json!({}))["count"], 0);
}

#[test]
fn a_power_cut_keeps_a_change_and_its_journal_or_neither() {
    let mut hob = Hob::start();
    for n in 0..8 {
        hob.result("add_note", json!({"title": format!("note {n}"), "content": "x"}));
        if n % 2 == 1 {
            hob.call("delete_note", json!({"noteId": format!("note {n}")})).data(200);
        }
        hob.kill();
        hob.start_again();
        let last = changes(&hob)[0].clone();
        let expected = if n % 2 == 1 { "Deleted" } else { "Added" };
        assert_eq!(last["text"], format!("{expected} the note “note {n}”."));
    }
    let (notes, deleted) = (count(&hob, "list_notes", "notes"), hob.result("list_deleted", json!({})));
    assert_eq!((notes, &deleted["count"]), (4, &json!(4)));
    undo(&hob);
    hob.kill();
    hob.start_again();
    assert_eq!(count(&hob, "list_notes", "notes"), 5);
}

#[test]
fn the_terminal_and_the_event_stream_know_changes() {
    let hob = Hob::start();
    let mut events = hob.admin("GET", "/api/v1/events").events();
    hob.cli(&["call", "add_task", r#"{"title": "milk", "category": "shopping"}"#]).ok();
    let (_, told) = events.find(|(name, _)| name == "change").unwrap();
    assert_eq!(
        (&told["data"]["text"], &told["data"]["reversible"]),
        (&json!("Added milk to the shopping list."), &json!(true))
    );
    assert!(hob.cli(&["undo", "--list"]).ok().contains("Added milk to the shopping list."));
    assert_eq!(hob.cli(&["undo"]).ok(), "Undone: milk is off the shopping list.");
    assert!(hob.cli(&["undo"]).why(1).contains("nothing to undo"));
    assert!(hob.request("GET", "/api/v1/changes").send().status == 401 && !TOKEN.is_empty());
}
