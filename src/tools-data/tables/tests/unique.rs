//! Tests of unique columns.

use crate::{
    tables::{
        column::Column,
        record::{Row, mark},
    },
    testing::{ask, cx, fault, ok, said},
};
use store::{Record, Store};
use tool::prelude::*;

#[tokio::test]
async fn what_is_unique_stays_so() {
    let store = Store::in_memory().unwrap();
    let columns =
        json!([{"name": "n", "type": "number", "unique": true}, {"name": "day", "type": "date", "unique": true}]);
    ok(&store, "create_custom_table", json!({"table": "days", "columns": columns})).await;
    let add = async |data: Value| ask(&store, &cx(), "add_custom_record", json!({"table": "days", "data": data})).await;
    let first = add(json!({"n": 1, "day": "2026-11-20"})).await.unwrap().content["id"].clone();
    let second = add(json!({"n": 2})).await.unwrap().content["id"].clone();
    add(json!({"n": 3})).await.unwrap();
    for data in [json!({"n": 1.0}), json!({"n": "1"}), json!({"day": "2026-11-20"})] {
        let text = fault(add(data).await);
        assert!(text.contains("takes each value once") && text.contains(first.as_str().unwrap()), "{text}");
    }
    let update = async |id: &Value, data: Value| {
        ask(&store, &cx(), "update_custom_record", json!({"table": "days", "recordId": id, "data": data})).await
    };
    assert!(fault(update(&second, json!({"n": 1})).await).contains("takes each value once"));
    update(&first, json!({"n": 1, "day": "2026-11-21"})).await.unwrap();
    update(&first, json!({"n": 7})).await.unwrap();
    update(&second, json!({"n": 1, "day": "2026-11-20"})).await.unwrap();
    let found = ok(&store, "list_custom_records", json!({"table": "days", "filter": {"n": 1}})).await.content;
    assert_eq!((&found["records"][0]["id"], &found["total"]), (&second, &json!(1)));
    let none = ok(&store, "list_custom_records", json!({"table": "days", "filter": {"n": 7, "day": "2026-11-20"}}))
        .await
        .content;
    assert_eq!(none["total"], 0);
}

#[tokio::test]
async fn a_day_finds_the_times_of_a_unique_column() {
    let store = Store::in_memory().unwrap();
    let columns = json!([{"name": "at", "type": "datetime", "unique": true}]);
    ok(&store, "create_custom_table", json!({"table": "trips", "columns": columns})).await;
    for at in ["2026-11-20T14:30", "2026-11-20", "2026-11-21"] {
        ok(&store, "add_custom_record", json!({"table": "trips", "data": {"at": at}})).await;
    }
    for (at, found) in [
        (json!("2026-11-20"), 2),
        (json!("2026-11-20T14:30"), 1),
        (json!("2026-11-20T13:30:00Z"), 1),
        (json!("2026-11-20T00:00"), 1),
        (json!("2026-11-20T15:00"), 0),
        (json!("2026-11-19"), 0),
        (json!({"op": "eq", "value": "2026-11-21"}), 1),
    ] {
        let args = json!({"table": "trips", "filter": {"at": at}});
        assert_eq!(ok(&store, "list_custom_records", args).await.content["count"], found, "{at}");
    }
}

/// The store reads what begins with what it looks for: where one value began with another, that would be many.
#[test]
fn no_mark_begins_with_another() {
    let texts: Column = serde_json::from_value(json!({"name": "t", "type": "text", "unique": true})).unwrap();
    let numbers: Column = serde_json::from_value(json!({"name": "n", "type": "number", "unique": true})).unwrap();
    let longer: Column = serde_json::from_value(json!({"name": "tt", "type": "text", "unique": true})).unwrap();
    let long = "x".repeat(300);
    let values = ["", "1", "10", "1\u{0}", "1\u{0}0", "\u{0}", "\u{0}\u{0}", &long, &format!("{long}{long}")];
    let mut marks: Vec<Vec<u8>> = values.iter().filter_map(|text| mark(&texts, &json!(text))).collect();
    marks.extend(values.iter().filter_map(|text| mark(&longer, &json!(text))));
    marks.extend([json!(1), json!(10), json!(1.5), json!(100), json!(-1)].iter().filter_map(|n| mark(&numbers, n)));
    let row = Row { table: Id::new(), data: "{}".into(), marks };
    let keys: Vec<Vec<u8>> = row.keys().into_iter().filter(|key| key.index == 2).map(|key| key.value).collect();
    assert_eq!(keys.len(), 2 * values.len() + 5);
    for (i, one) in keys.iter().enumerate() {
        for (j, other) in keys.iter().enumerate() {
            assert!(i == j || !one.starts_with(other), "{one:?} {other:?}");
        }
    }
}

#[tokio::test]
async fn one_value_does_not_stand_for_those_that_begin_with_it() {
    let store = Store::in_memory().unwrap();
    ok(
        &store,
        "create_custom_table",
        json!({"table": "x", "columns": [{"name": "t", "type": "text", "unique": true}]}),
    )
    .await;
    for t in ["10", "1", "", "1\u{0}", "ü"] {
        let _ = said(&store, "add_custom_record", json!({"table": "x", "data": {"t": t}})).await;
        let again = json!({"table": "x", "data": {"t": t.to_uppercase()}});
        let text = fault(ask(&store, &cx(), "add_custom_record", again).await);
        assert!(text.contains("column `t` takes each value once"), "{text}");
        let found = ok(&store, "list_custom_records", json!({"table": "x", "filter": {"t": t}})).await.content;
        assert_eq!((&found["total"], &found["records"][0]["data"]["t"]), (&json!(1), &json!(t)));
    }
}
