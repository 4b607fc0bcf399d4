//! Custom tables from outside: created, filled, searched, and validated.

use crate::{
    everyday::{NOTHING, Person},
    harness::Hob,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, thread};

/// A table with a column of each type.
fn plants(hob: &Hob) {
    let columns = json!([
        {"name": "name", "type": "text", "required": true},
        {"name": "height", "type": "number"},
        {"name": "alive", "type": "boolean", "default": true},
        {"name": "bought", "type": "date"},
        {"name": "watered", "type": "datetime"},
        {"name": "data", "type": "json"},
        {"name": "room", "type": "select", "options": ["hall", "kitchen"]},
    ]);
    hob.result("create_custom_table", json!({"table": "plants", "columns": columns, "description": "Ours"}));
}

fn add(hob: &Hob, name: &str, height: f64, room: &str, bought: &str) -> Value {
    let data = json!({"name": name, "height": height, "room": room, "bought": bought});
    hob.result("add_custom_record", json!({"table": "plants", "data": data}))
}

/// The names in a list's answer; a record's values are in `data`.
fn names(answer: &Value) -> Vec<&str> {
    answer["records"].as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(name).collect()
}

fn name(record: &Value) -> &str {
    record["data"]["name"].as_str().unwrap_or_else(|| panic!("{record}"))
}

#[test]
fn rows_are_found_and_ordered() {
    let hob = Hob::start();
    plants(&hob);
    for (name, height, room, bought) in [
        ("Ficus", 180.0, "hall", "2020-05-01"),
        ("Basil", 20.5, "kitchen", "2026-04-01"),
        ("Aloe", 20.5, "kitchen", "2019-01-31"),
        ("Ölbaum", 9.0, "hall", "2024-12-24"),
    ] {
        add(&hob, name, height, room, bought);
    }
    let list = |arguments: Value| {
        let mut arguments = arguments;
        arguments["table"] = "plants".into();
        hob.result("list_custom_records", arguments)
    };
    for (filter, wanted) in [
        (json!({"room": "hall"}), &["Ficus", "Ölbaum"][..]),
        (json!({"height": {"op": "gt", "value": 20.5}}), &["Ficus"]),
        (json!({"height": {"op": "gte", "value": 20.5}, "room": "kitchen"}), &["Basil", "Aloe"]),
        (json!({"height": {"op": "lt", "value": 100}, "room": {"op": "ne", "value": "kitchen"}}), &["Ölbaum"]),
        (json!({"bought": {"op": "lte", "value": "2020-05-01"}}), &["Ficus", "Aloe"]),
        (json!({"name": {"op": "contains", "value": "L"}}), &["Basil", "Aloe", "Ölbaum"]),
        (json!({"name": {"op": "in", "value": ["Aloe", "Ficus", "Rose"]}}), &["Ficus", "Aloe"]),
        (json!({"alive": true}), &["Ficus", "Basil", "Aloe", "Ölbaum"]),
        (json!({"room": "attic"}), &[]),
    ] {
        let told = match hob.call("list_custom_records", json!({"table": "plants", "filter": filter})) {
            reply if reply.status == 200 => reply.data(200)["result"].take(),
            // A choice that the column does not have may be refused, too.
            reply => {
                assert!(filter["room"] == "attic" && reply.status == 400, "{filter}: {}", reply.text());
                continue;
            }
        };
        let found: BTreeSet<&str> = names(&told).into_iter().collect();
        assert_eq!(found, wanted.iter().copied().collect(), "{filter}");
    }
    assert_eq!(names(&list(json!({"sortBy": "bought"}))), ["Aloe", "Ficus", "Ölbaum", "Basil"]);
    assert_eq!(names(&list(json!({"sortBy": "height", "sortOrder": "desc"})))[0], "Ficus");
    let mut paged = vec![];
    for offset in 0..4 {
        let page = list(json!({"sortBy": "height", "limit": 1, "offset": offset}));
        assert_eq!((&page["count"], &page["hasMore"]), (&json!(1), &json!(offset < 3)), "{page}");
        paged.push(names(&page)[0].to_owned());
    }
    assert_eq!(names(&list(json!({"sortBy": "height"}))), paged, "equal ones too have an order");
    let found = hob.result("search_custom_records", json!({"table": "plants", "query": "ÖLB"}));
    assert_eq!(names(&found), ["Ölbaum"]);
    for wrong in [
        json!({"filter": {"colour": "green"}}),
        json!({"filter": {"height": {"op": "near", "value": 3}}}),
        json!({"filter": {"height": "tall"}}),
        json!({"filter": "tall"}),
        json!({"sortBy": "colour"}),
        json!({"sortOrder": "sideways"}),
    ] {
        let mut arguments = wrong.clone();
        arguments["table"] = "plants".into();
        let why = hob.call("list_custom_records", arguments).refusal(400, "bad_args");
        assert!(!why.is_empty(), "{wrong}");
    }
}

#[test]
fn what_does_not_fit_its_column_is_refused_by_name() {
    let hob = Hob::start();
    plants(&hob);
    let kept = add(&hob, "Ficus", 180.0, "hall", "2020-05-01");
    assert_eq!(kept["data"]["alive"], true, "the default: {kept}");
    let before = hob.result("list_custom_records", json!({"table": "plants"}));
    for (column, value) in [
        ("height", json!("tall")),
        ("height", json!("NaN")),
        ("height", json!([1])),
        ("alive", json!("perhaps")),
        ("bought", json!("2026-02-30")),
        ("watered", json!("noon")),
        ("room", json!("attic")),
        ("name", json!(null)),
        ("name", json!({"first": "x"})),
        ("colour", json!("green")),
    ] {
        let mut data = json!({"name": "Rose"});
        data[column] = value.clone();
        for (tool, arguments) in [
            ("add_custom_record", json!({"table": "plants", "data": data})),
            ("batch_add_custom_records", json!({"table": "plants", "records": [{"name": "Good"}, data]})),
            ("update_custom_record", json!({"table": "plants", "recordId": kept["id"], "data": data})),
        ] {
            let why = hob.call(tool, arguments).refusal(400, "bad_args");
            assert!(why.contains(column), "{tool} {column} {value}: {why}");
        }
    }
    hob.call("add_custom_record", json!({"table": "plants", "data": {"height": 3}})).refusal(400, "bad_args");
    let huge = json!({"name": "x", "data": "y".repeat(70_000)});
    hob.call("add_custom_record", json!({"table": "plants", "data": huge})).refusal(400, "bad_args");
    assert_eq!(hob.result("list_custom_records", json!({"table": "plants"})), before);
    // A change touches what it names, and null clears.
    let change = json!({"height": "181.5", "bought": null});
    let changed =
        hob.result("update_custom_record", json!({"table": "plants", "recordId": kept["id"], "data": change}));
    assert_eq!((changed["data"]["height"].as_f64(), &changed["data"]["bought"]), (Some(181.5), &Value::Null));
    assert_eq!(name(&changed), "Ficus");
    let got = hob.result("get_custom_record", json!({"table": "plants", "recordId": kept["id"]}));
    assert_eq!(got["data"], changed["data"]);
    for tool in ["get_custom_record", "update_custom_record", "delete_custom_record"] {
        for (table, id, status, code) in [
            ("plants", NOTHING, 404, "not_found"),
            ("plants", "no-id", 400, "bad_args"),
            ("animals", NOTHING, 404, "not_found"),
        ] {
            let mut arguments = json!({"table": table, "recordId": id});
            if tool == "update_custom_record" {
                arguments["data"] = json!({"name": "x"});
            }
            hob.call(tool, arguments).refusal(status, code);
        }
    }
}

#[test]
fn what_has_a_family_of_its_own_is_no_table() {
    let hob = Hob::start();
    let make = |table: &str| {
        hob.call("create_custom_table", json!({"table": table, "columns": [{"name": "a", "type": "text"}]}))
    };
    for (table, tool) in [
        ("tasks", "add_task"),
        ("task", "add_task"),
        ("notes", "add_note"),
        ("bookmark", "add_bookmark"),
        ("calendar", "add_calendar_event"),
        ("contacts", "add_contact"),
        ("expenses", "add_expense"),
        ("goal", "create_goal"),
        ("memories", "remember"),
    ] {
        let why = make(table).refusal(400, "bad_args");
        assert!(why.contains(tool), "{table}: {why}");
    }
    for wrong in ["", " ", "9lives", "a/b", "tables; drop", "ü", &"t".repeat(65)] {
        make(wrong).refusal(400, "bad_args");
    }
    for columns in [
        json!([]),
        json!([{"name": "a", "type": "colour"}]),
        json!([{"name": "a", "type": "text"}, {"name": "a", "type": "number"}]),
        json!([{"name": "", "type": "text"}]),
        json!([{"name": "a", "type": "select"}]),
        json!([{"name": "a", "type": "number", "default": "many"}]),
        json!((0..65).map(|n| json!({"name": format!("c{n}"), "type": "text"})).collect::<Vec<_>>()),
    ] {
        hob.call("create_custom_table", json!({"table": "odd", "columns": columns})).refusal(400, "bad_args");
    }
    assert_eq!(hob.result("list_custom_tables", json!({}))["tables"], json!([]));
    make("fine_name_2").data(200);
    let why = make("fine_name_2").refusal(400, "bad_args");
    assert!(why.contains("fine_name_2"), "{why}");
}

#[test]
fn a_table_is_everybody_s_and_goes_only_on_purpose() {
    let mut hob = Hob::start();
    plants(&hob);
    let [ben, vera] = [("ben", "member"), ("vera", "viewer")].map(|(name, role)| Person::new(&hob, name, role));
    let id = ben.result("add_custom_record", json!({"table": "plants", "data": {"name": "Of Ben"}}))["id"].take();
    assert_eq!(names(&vera.result("list_custom_records", json!({"table": "plants"}))), ["Of Ben"]);
    let change = json!({"table": "plants", "recordId": id, "data": {"name": "Of all"}});
    vera.call("update_custom_record", change.clone()).refusal(403, "denied");
    assert_eq!(name(&hob.result("update_custom_record", change)), "Of all");
    vera.call("delete_custom_table", json!({"table": "plants", "confirm": true})).refusal(403, "denied");
    for arguments in [json!({"table": "plants"}), json!({"table": "plants", "confirm": false})] {
        let asked = ben.result("delete_custom_table", arguments);
        assert_eq!((&asked["deleted"], &asked["requiresConfirmation"]), (&json!(false), &json!(true)));
    }
    let described = hob.result("describe_custom_table", json!({"table": "plants"}));
    assert_eq!(described["columns"].as_array().map(Vec::len), Some(7), "{described}");
    hob.kill();
    hob.start_again();
    assert_eq!(hob.result("describe_custom_table", json!({"table": "plants"})), described);
    assert_eq!(names(&hob.result("list_custom_records", json!({"table": "plants"}))), ["Of all"]);
    hob.result("delete_custom_table", json!({"table": "plants", "confirm": true}));
    for (tool, arguments) in [
        ("describe_custom_table", json!({"table": "plants"})),
        ("list_custom_records", json!({"table": "plants"})),
        ("get_custom_record", json!({"table": "plants", "recordId": id})),
        ("add_custom_record", json!({"table": "plants", "data": {"name": "x"}})),
        ("delete_custom_table", json!({"table": "plants", "confirm": true})),
    ] {
        hob.call(tool, arguments).refusal(404, "not_found");
    }
    // A new one of that name begins empty.
    plants(&hob);
    assert_eq!(hob.result("list_custom_records", json!({"table": "plants"}))["count"], 0);
    hob.assert_alive();
}

#[test]
fn many_fill_a_table_at_once() {
    let hob = Hob::start();
    plants(&hob);
    thread::scope(|scope| {
        for who in 0..8 {
            let hob = &hob;
            scope.spawn(move || {
                let records: Vec<Value> = (0..50).map(|n| json!({"name": format!("{who}-{n}"), "height": n})).collect();
                hob.result("batch_add_custom_records", json!({"table": "plants", "records": records}))
            });
        }
    });
    let (mut all, mut ids) = (vec![], vec![]);
    loop {
        let page = hob.result("list_custom_records", json!({"table": "plants", "limit": 50, "offset": all.len()}));
        all.extend(names(&page).into_iter().map(str::to_owned));
        ids.extend(page["records"].as_array().unwrap().iter().map(|record| record["id"].clone()));
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (400, 400));
    for id in &ids[..12] {
        let delete = || hob.call("delete_custom_record", json!({"table": "plants", "recordId": id})).status;
        let mut statuses = thread::scope(|scope| {
            let both = [scope.spawn(delete), scope.spawn(delete)];
            both.map(|one| one.join().unwrap())
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 404]);
    }
    // One makes a table, and the other is told that it is there.
    let make = || {
        let arguments = json!({"table": "race", "columns": [{"name": "a", "type": "text"}]});
        hob.call("create_custom_table", arguments).status
    };
    let mut statuses = thread::scope(|scope| [scope.spawn(make), scope.spawn(make)].map(|one| one.join().unwrap()));
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    // The table goes while rows come: none of them is left over for one of the same name.
    thread::scope(|scope| {
        let adding = scope.spawn(|| {
            for n in 0..200 {
                let data = json!({"name": format!("late {n}")});
                let reply = hob.call("add_custom_record", json!({"table": "plants", "data": data}));
                assert!([200, 404].contains(&reply.status), "{}", reply.text());
                if reply.status == 404 {
                    return;
                }
            }
        });
        thread::sleep(std::time::Duration::from_millis(60));
        hob.result("delete_custom_table", json!({"table": "plants", "confirm": true}));
        adding.join().unwrap();
    });
    plants(&hob);
    assert_eq!(hob.result("list_custom_records", json!({"table": "plants"}))["count"], 0);
}
