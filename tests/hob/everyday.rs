//! Everyday records from outside: ownership, durability, concurrency, and their sentences.

use crate::{
    harness::{Dice, Hob},
    http::Reply,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// An id that nothing has.
pub const NOTHING: &str = "0192aaaa-0000-7000-8000-000000000000";

/// A person with a token.
pub struct Person<'a> {
    hob: &'a Hob,
    pub token: String,
}

impl<'a> Person<'a> {
    pub fn new(hob: &'a Hob, name: &str, role: &str) -> Self {
        Self { hob, token: hob.token(name, role) }
    }

    /// With a token that exists.
    pub fn with(hob: &'a Hob, token: &str) -> Self {
        Self { hob, token: token.to_owned() }
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        let path = format!("/api/v1/tools/{tool}/execute");
        self.hob.request("POST", &path).bearer(&self.token).json(&json!({"arguments": arguments})).send()
    }

    /// The result of a call that must succeed.
    pub fn result(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments.clone());
        assert_eq!(reply.status, 200, "{tool} {arguments}: {}", reply.text());
        reply.data(200)["result"].take()
    }

    pub fn say(&self, text: &str) -> Value {
        let body = json!({"message": text});
        self.hob.request("POST", "/api/v1/chat").bearer(&self.token).json(&body).send().data(200)
    }
}

/// A family of records that belong to one person, by the names of its tools.
pub struct Kind {
    pub plural: &'static str,
    pub add: &'static str,
    /// Its name, with the arguments of one record in the place of `%`.
    pub batch: &'static str,
    pub list: &'static str,
    pub update: &'static str,
    pub delete: &'static str,
    /// Others that take the id of one.
    pub also: &'static [&'static str],
    pub id: &'static str,
    /// The parameter with the record's name.
    pub name: &'static str,
    /// Further required parameters.
    pub rest: &'static str,
}

pub const KINDS: &[Kind] = &[
    Kind {
        plural: "tasks",
        add: "add_task",
        batch: "batch_add_tasks",
        list: "list_tasks",
        update: "update_task",
        delete: "delete_task",
        also: &["complete_task"],
        id: "taskId",
        name: "title",
        rest: r#"{"priority": "high", "dueDate": "2031-05-02"}"#,
    },
    Kind {
        plural: "bookmarks",
        add: "add_bookmark",
        batch: "batch_add_bookmarks",
        list: "list_bookmarks",
        update: "update_bookmark",
        delete: "delete_bookmark",
        also: &[],
        id: "bookmarkId",
        name: "title",
        rest: r#"{"url": "https://example.org/a?b=c", "tags": ["sea"]}"#,
    },
    Kind {
        plural: "notes",
        add: "add_note",
        batch: "batch_add_notes",
        list: "list_notes",
        update: "update_note",
        delete: "delete_note",
        also: &["get_note"],
        id: "noteId",
        name: "title",
        rest: r#"{"content": "First line.\nSecond line."}"#,
    },
    Kind {
        plural: "events",
        add: "add_calendar_event",
        batch: "batch_add_calendar_events",
        list: "list_calendar_events",
        update: "update_calendar_event",
        delete: "delete_calendar_event",
        also: &[],
        id: "eventId",
        name: "title",
        rest: r#"{"startTime": "2031-05-02T15:00", "reminder": 30}"#,
    },
    Kind {
        plural: "contacts",
        add: "add_contact",
        batch: "batch_add_contacts",
        list: "list_contacts",
        update: "update_contact",
        delete: "delete_contact",
        also: &[],
        id: "contactId",
        name: "name",
        rest: r#"{"email": "nora@example.org", "birthday": "1980-02-29"}"#,
    },
    Kind {
        plural: "expenses",
        add: "add_expense",
        batch: "batch_add_expenses",
        list: "query_expenses",
        update: "update_expense",
        delete: "delete_expense",
        also: &[],
        id: "expenseId",
        name: "description",
        rest: r#"{"amount": 12.34, "category": "food", "date": "2026-03-01"}"#,
    },
    Kind {
        plural: "goals",
        add: "create_goal",
        batch: "",
        list: "list_goals",
        update: "update_goal",
        delete: "delete_goal",
        also: &["get_goal_details", "decompose_goal"],
        id: "goalId",
        name: "title",
        rest: r#"{"priority": 7}"#,
    },
];

impl Kind {
    /// The arguments of a record with this name.
    pub fn record(&self, name: &str) -> Value {
        let mut record: Value = serde_json::from_str(self.rest).unwrap();
        record[self.name] = name.into();
        record
    }

    /// All records visible to this person, page by page.
    pub fn all(&self, person: &Person) -> Vec<Value> {
        let mut all = vec![];
        loop {
            let page = person.result(self.list, json!({"offset": all.len(), "limit": 30}));
            let some = page[self.plural].as_array().unwrap_or_else(|| panic!("{}: {page}", self.list)).clone();
            assert_eq!(page["count"], some.len(), "{}: {page}", self.list);
            assert!(some.len() <= 30 && (page["hasMore"] == false || !some.is_empty()), "{}: {page}", self.list);
            all.extend(some);
            if page["hasMore"] == false {
                return all;
            }
        }
    }

    /// The arguments of a call about one record; of a change, with a change.
    fn about(&self, tool: &str, which: &Value) -> Value {
        let mut arguments = json!({self.id: which});
        if tool == self.update {
            arguments[self.name] = "Taken over".into();
        }
        arguments
    }

    pub fn names(&self, person: &Person) -> Vec<String> {
        self.all(person).iter().map(|record| record[self.name].as_str().unwrap().to_owned()).collect()
    }
}

/// The answer to a person without access to a record, with the record's own words removed.
fn told(reply: &Reply, which: &str) -> (u16, String) {
    let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(!message.is_empty(), "{}", reply.text());
    (reply.status, message.replace(which, "IT"))
}

#[test]
fn what_is_private_looks_like_what_is_not_there() {
    let mut hob = Hob::start();
    let [anna, ben, admin] =
        [("anna", "member"), ("ben", "member"), ("root", "admin")].map(|(name, role)| Person::new(&hob, name, role));
    for kind in KINDS {
        let added = anna.result(kind.add, kind.record("Zanzibar surprise"));
        let id = added["id"].as_str().unwrap_or_else(|| panic!("{}: {added}", kind.add));
        assert_eq!((added["shared"].as_bool(), added[kind.name].as_str()), (Some(false), Some("Zanzibar surprise")));
        let before = kind.all(&anna);
        assert_eq!(before.len(), 1, "{}", kind.add);
        for other in [&ben, &admin] {
            assert_eq!(kind.all(other), Vec::<Value>::new(), "{}", kind.list);
            let searched = other.call(kind.list, json!({"search": "Zanzibar"}));
            assert!(!searched.text().contains("surprise"), "{}", searched.text());
            for tool in [kind.update, kind.delete].iter().chain(kind.also) {
                let about = |which: &str| told(&other.call(tool, kind.about(tool, &json!(which))), which);
                assert_eq!(about(id), about(NOTHING), "{tool}");
                assert_eq!(about(id).0, 404, "{tool}: {}", about(id).1);
                assert_eq!(about("Zanzibar surprise"), about("Borneo surprise"), "{tool}");
            }
        }
        assert_eq!(kind.all(&anna), before, "{}", kind.plural);
        // Two people call theirs the same, and each means their own.
        ben.result(kind.add, kind.record("Zanzibar surprise"));
        ben.result(kind.delete, json!({kind.id: "Zanzibar surprise"}));
        assert_eq!((kind.all(&anna), kind.all(&ben)), (before, vec![]), "{}", kind.plural);
    }
    hob.assert_alive();
}

#[test]
fn what_is_shared_is_seen_and_left_alone() {
    let hob = Hob::start();
    let [anna, ben, vera] =
        [("anna", "member"), ("ben", "member"), ("vera", "viewer")].map(|(name, role)| Person::new(&hob, name, role));
    for kind in KINDS {
        let mut record = kind.record("Open house");
        record["shared"] = true.into();
        let id = anna.result(kind.add, record)["id"].take();
        let mine = kind.all(&anna);
        for other in [&ben, &vera] {
            let theirs = kind.all(other);
            assert_eq!((theirs.len(), &theirs[0]["id"], &theirs[0]["shared"]), (1, &id, &json!(true)), "{theirs:?}");
        }
        for which in [id.clone(), json!("Open house")] {
            for tool in [kind.update, kind.delete] {
                let why = ben.call(tool, kind.about(tool, &which)).refusal(403, "denied");
                assert!(why.contains("somebody else"), "{tool}: {why}");
                assert!(vera.call(tool, kind.about(tool, &which)).refusal(403, "denied").contains("role"));
            }
        }
        vera.call(kind.add, kind.record("Of a viewer")).refusal(403, "denied");
        assert_eq!(kind.all(&anna), mine);
        // Taken back, it is gone for the others.
        assert_eq!(anna.result(kind.update, json!({kind.id: id, "shared": false}))["shared"], false, "{}", kind.update);
        assert_eq!((kind.names(&ben), kind.names(&anna)), (vec![], vec!["Open house".to_owned()]));
        ben.call(kind.delete, json!({kind.id: id})).refusal(404, "not_found");
    }
}

#[test]
fn others_are_not_counted_either() {
    let hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let sums = |person: &Person| {
        [
            ("goal_stats", json!({})),
            ("get_next_actions", json!({})),
            ("expense_summary", json!({"period": "all"})),
            ("query_expenses", json!({})),
            ("export_expenses", json!({"format": "json"})),
            ("export_expenses", json!({"format": "csv"})),
            ("list_state_keys", json!({})),
            ("list_scheduled_tasks", json!({})),
            ("list_triggers", json!({})),
            ("list_notices", json!({})),
        ]
        .map(|(tool, arguments)| person.result(tool, arguments))
    };
    let before = sums(&ben);
    let heard = hob.request("GET", "/api/v1/events").bearer(&ben.token).events();
    for kind in KINDS {
        anna.result(kind.add, kind.record("Only for Anna"));
    }
    anna.result("decompose_goal", json!({"goalId": "Only for Anna", "steps": ["One", "Two"]}));
    anna.result("set_state", json!({"key": "diary", "value": "Only for Anna"}));
    anna.result("notify", json!({"text": "Only for Anna"}));
    let schedule = json!({"name": "Only for Anna", "schedule": "0 7 * * *", "message": "Only for Anna"});
    let schedule = anna.result("create_scheduled_task", schedule);
    let trigger = json!({"name": "Only for Anna", "type": "event", "config": {"topic": "pin:changed"}, "message": "x"});
    let trigger = anna.result("create_trigger", trigger);
    assert_eq!(sums(&ben), before);
    // Nor does he hear of them: what comes first is about what he adds himself.
    let own = ben.result("add_task", KINDS[0].record("Only for Ben"));
    let changes = heard.filter(|(topic, _)| topic.ends_with(":changed") || topic.starts_with("notice"));
    let (topic, event) = changes.take(1).next().unwrap();
    assert_eq!((topic.as_str(), &event["data"]["id"]), ("tasks:changed", &own["id"]), "{event}");
    for (tool, id, which) in [
        ("trigger_task", "taskId", &schedule),
        ("get_task_history", "taskId", &schedule),
        ("delete_scheduled_task", "taskId", &schedule),
        ("get_trigger", "triggerId", &trigger),
        ("update_trigger", "triggerId", &trigger),
        ("pause_trigger", "triggerId", &trigger),
        ("fire_trigger", "triggerId", &trigger),
        ("delete_trigger", "triggerId", &trigger),
    ] {
        let about = |which: &str| told(&ben.call(tool, json!({id: which})), which);
        assert_eq!(about(which["id"].as_str().unwrap()), about(NOTHING), "{tool}");
        assert_eq!(about("Only for Anna"), about("Only for Bert"), "{tool}");
        assert_eq!(about(NOTHING).0, 404, "{tool}: {}", about(NOTHING).1);
    }
    ben.call("complete_step", json!({"stepId": "Two"})).refusal(404, "not_found");
    assert_eq!(ben.result("get_state", json!({"key": "diary"}))["value"], Value::Null);
    assert_eq!(anna.result("get_state", json!({"key": "diary"}))["value"], "Only for Anna");
    assert_eq!(anna.result("list_scheduled_tasks", json!({}))["count"], 1);
}

#[test]
fn a_batch_is_kept_whole_or_not_at_all() {
    let hob = Hob::start();
    let anna = Person::new(&hob, "anna", "member");
    for kind in KINDS.iter().filter(|kind| !kind.batch.is_empty()) {
        let items = |records: Vec<Value>| json!({kind.plural: records});
        let good = |n: usize| kind.record(&format!("Number {n}"));
        let mut unnamed = kind.record("");
        // A bookmark without a title is called by its address.
        if unnamed["url"].is_string() {
            unnamed["url"] = "".into();
        }
        let wrong = [unnamed, kind.record(&"x".repeat(900_000)), json!({}), json!("Number 2"), json!(null)];
        for bad in wrong {
            let reply = anna.call(kind.batch, items(vec![good(1), bad.clone(), good(3)]));
            let why = reply.refusal(400, "bad_args");
            assert!(why.contains('1') || why.contains('2'), "{}: which of them: {why}", kind.batch);
            assert_eq!(kind.names(&anna), Vec::<String>::new(), "{} {bad:.80}", kind.batch);
        }
        for count in [0, 101] {
            anna.call(kind.batch, items((0..count).map(good).collect())).refusal(400, "bad_args");
        }
        let done = anna.result(kind.batch, items((0..100).map(good).collect()));
        assert_eq!((&done["added"], done[kind.plural].as_array().map(Vec::len)), (&json!(100), Some(100)));
        let names: BTreeSet<String> = kind.names(&anna).into_iter().collect();
        assert_eq!(names.len(), 100, "{}", kind.batch);
    }
}

#[test]
fn a_crowd_loses_nothing_and_deletes_once() {
    let hob = Hob::start();
    let anna = Person::new(&hob, "anna", "member");
    for kind in KINDS.iter().filter(|kind| !kind.batch.is_empty()) {
        let name = |who: usize, n: usize| format!("Number {who}-{n}");
        thread::scope(|scope| {
            for who in 0..8 {
                let anna = &anna;
                scope.spawn(move || {
                    let records: Vec<Value> = (0..10).map(|n| kind.record(&name(who, n))).collect();
                    anna.result(kind.batch, json!({kind.plural: records}))
                });
            }
        });
        let wanted: BTreeSet<String> = (0..8).flat_map(|who| (0..10).map(move |n| name(who, n))).collect();
        let all = kind.all(&anna);
        assert_eq!(all.len(), 80, "{}", kind.plural);
        assert_eq!(kind.names(&anna).into_iter().collect::<BTreeSet<_>>(), wanted);
        // Each of these is deleted by two at once.
        for record in &all[..12] {
            let mut statuses: Vec<u16> = thread::scope(|scope| {
                let delete = || anna.call(kind.delete, json!({kind.id: record["id"]})).status;
                let both = [scope.spawn(delete), scope.spawn(delete)];
                both.map(|one| one.join().unwrap()).to_vec()
            });
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 404], "{}", kind.delete);
        }
        assert_eq!(kind.all(&anna).len(), 68, "{}", kind.plural);
    }
}

#[test]
fn everything_outlives_a_power_cut() {
    let mut hob = Hob::start();
    let owner = |hob: &Hob| -> Vec<Value> {
        KINDS.iter().map(|kind| hob.result(kind.list, json!({"limit": 30}))[kind.plural].take()).collect()
    };
    for kind in KINDS {
        for n in 0..3 {
            let id = hob.result(kind.add, kind.record(&format!("Number {n}")))["id"].take();
            match n {
                1 => drop(hob.result(kind.delete, json!({kind.id: id}))),
                2 => drop(hob.result(kind.update, json!({kind.id: id, kind.name: "Changed ✓ é 漢"}))),
                _ => {}
            }
        }
    }
    let before = owner(&hob);
    hob.kill();
    hob.start_again();
    assert_eq!(owner(&hob), before);
    for (kind, records) in KINDS.iter().zip(&before) {
        let names: BTreeSet<&str> =
            records.as_array().unwrap().iter().map(|r| r[kind.name].as_str().unwrap()).collect();
        assert_eq!(names, BTreeSet::from(["Number 0", "Changed ✓ é 漢"]), "{}", kind.plural);
    }
    hob.assert_alive();
}

#[test]
fn what_was_answered_is_kept_whenever_the_power_goes() {
    let (mut hob, mut dice) = (Hob::start(), Dice::fresh());
    let mut kept: BTreeSet<String> = BTreeSet::new();
    for round in 0..4 {
        let (port, over) = (hob.port, AtomicBool::new(false));
        let pause = std::time::Duration::from_millis(50 + dice.below(300));
        let answered = thread::scope(|scope| {
            let adding = scope.spawn(|| {
                let mut answered = vec![];
                for n in 0.. {
                    let title = format!("Round {round}, number {n}");
                    let body = json!({"arguments": {"tasks": [{"title": title}, {"title": format!("{title} too")}]}});
                    let request = crate::http::Request::new(port, "POST", "/api/v1/tools/batch_add_tasks/execute");
                    match request.bearer(crate::harness::TOKEN).json(&body).try_send().ok() {
                        Some(reply) if reply.status == 200 => answered.push(title),
                        _ => break,
                    }
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                answered
            });
            thread::sleep(pause);
            hob.kill();
            over.store(true, Ordering::Relaxed);
            adding.join().unwrap()
        });
        kept.extend(answered.iter().flat_map(|title| [title.clone(), format!("{title} too")]));
        hob.start_again();
        let mut there = BTreeSet::new();
        loop {
            let page = hob.result("list_tasks", json!({"limit": 50, "offset": there.len()}));
            there.extend(page["tasks"].as_array().unwrap().iter().map(|t| t["title"].as_str().unwrap().to_owned()));
            if page["hasMore"] == false {
                break;
            }
        }
        assert!(kept.is_subset(&there), "lost: {:?}", kept.difference(&there).collect::<Vec<_>>());
        // What nobody was told of may be there as well, but only whole.
        for title in there.iter().filter(|title| !title.ends_with(" too")) {
            assert!(there.contains(&format!("{title} too")), "half of a batch: {title}");
        }
    }
    assert!(!kept.is_empty(), "nothing was added in four rounds");
}

#[test]
fn the_day_is_kept_by_talking() {
    let hob = Hob::start();
    hob.result("add_contact", json!({"name": "Nora Quist", "phone": "+44 20 7946 0018", "birthday": "1980-06-02"}));
    for (text, tool, parts) in [
        ("remind me in 20 minutes to check the oven", "create_scheduled_task", &["check the oven"][..]),
        ("what reminders do I have?", "list_scheduled_tasks", &["check the oven"]),
        ("I spent 12.50 on lunch", "add_expense", &["12.50", "lunch"]),
        ("how much did I spend this month?", "expense_summary", &["12.50"]),
        ("put the dentist in my calendar for 5 March 2031 at 3 pm", "add_calendar_event", &["dentist"]),
        ("when is the dentist?", "list_calendar_events", &["dentist", "5 March"]),
        ("note: the paint in the hall is RAL 9010", "add_note", &["RAL 9010"]),
        ("show my notes about the paint", "list_notes", &["RAL 9010"]),
        ("what's Nora's number?", "list_contacts", &["Nora Quist", "7946 0018"]),
        ("when is Nora's birthday?", "list_contacts", &["Nora Quist", "2 June"]),
        ("my goal is to row across the lake", "create_goal", &["row across the lake"]),
        ("what are my goals?", "list_goals", &["row across the lake"]),
        ("flip a coin", "random_number", &[]),
        ("how many days until 24 December 2040?", "date_diff", &["days"]),
        ("cancel the reminder check the oven", "delete_scheduled_task", &["check the oven"]),
    ] {
        let answer = hob.say(text);
        let response = answer["response"].as_str().unwrap();
        assert_eq!(answer["toolCalls"][0]["name"], tool, "{text}: {answer}");
        assert!(parts.iter().all(|part| response.contains(part)), "{text}: {response}");
    }
    assert_eq!(hob.result("list_scheduled_tasks", json!({"enabled": true}))["count"], 0);
}

#[test]
fn a_list_is_kept_by_talking() {
    let mut hob = Hob::start();
    let chat = |text: &str| hob.cli(&["chat", text]).ok();
    chat("add milk to the shopping list");
    chat("add rye bread to the shopping list");
    chat("add call the plumber to my to-do list");
    let told = chat("what is on my shopping list?");
    assert!(told.contains("Milk") && told.contains("Rye bread") && !told.contains("plumber"), "{told}");
    let listed = hob.result("list_tasks", json!({"category": "shopping"}));
    assert_eq!(listed["count"], 2, "{listed}");
    chat("tick off milk");
    let told = chat("what is on my shopping list?");
    assert!(told.contains("rye bread") && !told.to_lowercase().contains("milk"), "{told}");
    // The shopping list is everybody's, a to-do list without a name is not.
    let ben = Person::new(&hob, "ben", "member");
    let told = ben.say("what is on my shopping list?");
    assert!(told["response"].as_str().unwrap().contains("rye bread"), "{told}");
    let told = ben.say("what is on my to-do list?");
    assert!(!told["response"].as_str().unwrap().contains("plumber"), "{told}");
    hob.kill();
    hob.start_again();
    let told = hob.cli(&["chat", "what's on the shopping list"]).ok();
    assert!(told.contains("rye bread") && !told.to_lowercase().contains("milk"), "{told}");
    hob.assert_alive();
}
