//! Tests of custom tables and their records.

mod newer;
mod readings;
mod unique;

use super::record::{RECORDS, Row, Table, Tables};
use crate::testing::{ask, cases, cx, fault, ok, other, said};
use proptest::prelude::*;
use std::cmp::Ordering;
use store::{Audience, Store, Walk};
use tool::{BusEvent, Label, Scope, prelude::*};

async fn movies(store: &Store) {
    let columns = json!([
        {"name": "Title", "type": "text", "required": true, "unique": true},
        {"name": "year", "type": "number"},
        {"name": "seen", "type": "boolean", "default": false},
        {"name": "kind", "type": "select", "options": ["Film", "Series"], "default": "film", "required": true},
        {"name": "on", "type": "date"},
        {"name": "more", "type": "json"},
    ]);
    ok(store, "create_custom_table", json!({"table": "Movies", "columns": columns, "description": "What to see"}))
        .await;
}

/// The titles in an answer.
fn titles(answer: &Output) -> Vec<&str> {
    answer.content["records"].as_array().unwrap().iter().map(|r| r["data"]["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_table_is_made_described_changed_and_deleted() {
    let store = Store::in_memory().unwrap();
    assert_eq!(said(&store, "list_custom_tables", json!({})).await, "There are no tables yet.");
    movies(&store).await;
    let described = ok(&store, "describe_custom_table", json!({"table": "movies"})).await;
    let c = &described.content;
    assert_eq!(
        (&c["name"], &c["records"], &c["shared"], &c["description"]),
        (&json!("movies"), &json!(0), &json!(true), &json!("What to see"))
    );
    let expected = json!({"name": "kind", "type": "select", "required": true, "default": "Film", "description": null,
                          "options": ["Film", "Series"], "unique": false});
    assert_eq!(c["columns"][3], expected);
    assert_eq!(
        described.say.unwrap(),
        "The table movies has 0 records, and the columns title, year, seen, kind, on and 1 more."
    );
    let text = fault(
        ask(
            &store,
            &cx(),
            "create_custom_table",
            json!({"table": "movies", "columns": [{"name": "a", "type": "text"}]}),
        )
        .await,
    );
    assert!(text.contains("already a table called `movies`"), "{text}");

    ok(&store, "add_custom_record", json!({"table": "movies", "data": {"title": "Alien"}})).await;
    let listed = ok(&store, "list_custom_tables", json!({})).await;
    assert_eq!(listed.say.unwrap(), "There is one table: movies (1 record).");
    assert_eq!(listed.content["tables"][0]["columns"], json!(["title", "year", "seen", "kind", "on", "more"]));

    let add = |column: Value| match column {
        Value::Array(none) => json!({"table": "movies", "addColumns": none}),
        one => json!({"table": "movies", "addColumns": [one]}),
    };
    for (column, told) in [
        (json!({"name": "stars", "type": "number", "required": true}), "the 1 records there are do not have it"),
        (json!({"name": "stars", "type": "number", "unique": true}), "cannot be required or unique"),
        (json!({"name": "year", "type": "text"}), "two columns called `year`"),
        (json!([]), "say what to change"),
    ] {
        let text = fault(ask(&store, &cx(), "update_custom_table", add(column)).await);
        assert!(text.contains(told), "{text}");
    }
    ok(&store, "update_custom_table", add(json!({"name": "stars", "type": "number"}))).await;
    let renamed = json!({"table": "movies", "name": "Films", "description": ""});
    assert_eq!(said(&store, "update_custom_table", renamed).await, "The table films has 7 columns now.");
    assert!(
        fault(ask(&store, &cx(), "describe_custom_table", json!({"table": "movies"})).await).starts_with("not_found")
    );
    let found = ok(&store, "list_custom_records", json!({"table": "films"})).await;
    let data =
        json!({"title": "Alien", "year": null, "seen": false, "kind": "Film", "on": null, "more": null, "stars": null});
    assert_eq!(found.content["records"][0]["data"], data);

    let asked = ok(&store, "delete_custom_table", json!({"table": "films"})).await;
    assert_eq!((&asked.content["deleted"], &asked.content["requiresConfirmation"]), (&json!(false), &json!(true)));
    assert_eq!(asked.say.unwrap(), "Shall I really delete the table films with 1 record?");
    let gone = said(&store, "delete_custom_table", json!({"table": "films", "confirm": true})).await;
    assert_eq!(gone, "I deleted the table films with 1 record.");
    assert!(
        fault(ask(&store, &cx(), "delete_custom_table", json!({"table": "films", "confirm": true})).await)
            .starts_with("not_found")
    );
    let all = Walk::prefix(1, []);
    assert_eq!(
        (
            store.collection::<Row>().count(&cx(), &all).unwrap(),
            store.collection::<Table>().count(&cx(), &all).unwrap()
        ),
        (0, 0)
    );
    movies(&store).await;
    assert_eq!(ok(&store, "list_custom_records", json!({"table": "movies"})).await.content["count"], 0);
}

#[tokio::test]
async fn a_record_is_added_changed_and_deleted() {
    let store = Store::in_memory().unwrap();
    movies(&store).await;
    let data =
        json!({"Title": "Alien", "year": "1979", "seen": "yes", "on": "2026-11-20T20:15", "more": {"by": ["Scott"]}});
    let added = ok(&store, "add_custom_record", json!({"table": "MOVIES", "data": data})).await;
    assert_eq!(added.say.unwrap(), "I added “Alien” to the table movies.");
    let expected = json!({"title": "Alien", "year": 1979, "seen": true, "kind": "Film", "on": "2026-11-20", "more": {"by": ["Scott"]}});
    assert_eq!(
        (&added.content["data"], &added.content["table"], &added.content["shared"]),
        (&expected, &json!("movies"), &json!(true))
    );
    let corrected = added.meta["corrected"].to_string();
    assert!(
        ["`year` was text", "`seen` was text", "`on` had a time"].iter().all(|c| corrected.contains(c)),
        "{corrected}"
    );
    let id = added.content["id"].clone();
    let of = |data: Value| json!({"table": "movies", "recordId": id, "data": data});

    let changed =
        ok(&store, "update_custom_record", of(json!({"year": 1980, "more": null, "seen": null, "kind": null}))).await;
    let data = &changed.content["data"];
    assert_eq!((&data["year"], &data["more"], &data["title"]), (&json!(1980), &Value::Null, &json!("Alien")));
    assert_eq!(
        (&data["seen"], &data["kind"]),
        (&Value::Null, &json!("Film")),
        "what is required goes back to its default"
    );
    assert!(!changed.meta.contains_key("corrected"));
    for (data, told) in [
        (json!({"title": null}), "column `title` is required"),
        (json!({"year": "soon"}), "column `year` wants a number; it was given the text `soon`"),
        (json!({"colour": 1}), "there is no column `colour`: there are title, year"),
        (json!({"kind": "Play"}), "one of its options: Film, Series"),
        (json!({"more": "x".repeat(70_000)}), "64 KB is the most"),
        (json!({"more": (0..200).fold(json!(1), |inner, _| json!([inner]))}), "nested too deep"),
        (json!({}), "say what to change"),
    ] {
        let text = fault(ask(&store, &cx(), "update_custom_record", of(data)).await);
        assert!(text.starts_with("bad_args") && text.contains(told), "{text}");
    }
    let shown = ok(&store, "get_custom_record", json!({"table": "movies", "recordId": id})).await;
    assert_eq!((&shown.content["data"], shown.say.as_deref()), (data, Some("“Alien” is in the table movies.")));

    ok(&store, "create_custom_table", json!({"table": "wines", "columns": [{"name": "name", "type": "text"}]})).await;
    for tool in ["get_custom_record", "delete_custom_record"] {
        let text = fault(ask(&store, &cx(), tool, json!({"table": "wines", "recordId": id})).await);
        assert!(text.contains("the table `wines` has no record"), "{text}");
        assert!(
            fault(ask(&store, &cx(), tool, json!({"table": "wines", "recordId": "7"})).await).contains("is not an id")
        );
    }
    let delete = json!({"table": "movies", "recordId": id});
    assert_eq!(said(&store, "delete_custom_record", delete.clone()).await, "I deleted “Alien” from the table movies.");
    assert!(fault(ask(&store, &cx(), "delete_custom_record", delete).await).starts_with("not_found"));
    assert_eq!(ok(&store, "describe_custom_table", json!({"table": "movies"})).await.content["records"], 0);
}

#[tokio::test]
async fn what_has_tools_of_its_own_gets_no_table() {
    let store = Store::in_memory().unwrap();
    let columns = || json!([{"name": "a", "type": "text"}]);
    for (table, tool) in [
        ("tasks", "add_task"),
        ("Task", "add_task"),
        ("to-do", "add_task"),
        ("notes", "add_note"),
        ("bookmark", "add_bookmark"),
        ("calendar events", "add_calendar_event"),
        ("contacts", "add_contact"),
        ("EXPENSES", "add_expense"),
        ("goal", "create_goal"),
        ("memories", "remember"),
    ] {
        let text =
            fault(ask(&store, &cx(), "create_custom_table", json!({"table": table, "columns": columns()})).await);
        assert!(text.starts_with("bad_args") && text.contains(&format!("use `{tool}`")), "{table}: {text}");
    }
    for wrong in ["", "1st", "a b!", "ü", &"x".repeat(65)] {
        let text =
            fault(ask(&store, &cx(), "create_custom_table", json!({"table": wrong, "columns": columns()})).await);
        assert!(text.contains("is no name for a table"), "{text}");
    }
    for n in 0..100 {
        ok(&store, "create_custom_table", json!({"table": format!("t{n}"), "columns": columns()})).await;
    }
    let text = fault(ask(&store, &cx(), "create_custom_table", json!({"table": "more", "columns": columns()})).await);
    assert!(text.contains("100 tables already"), "{text}");
    ok(&store, "delete_custom_table", json!({"table": "t5", "confirm": true})).await;
    ok(&store, "create_custom_table", json!({"table": "more", "columns": columns()})).await;
    let text = fault(ask(&store, &cx(), "update_custom_table", json!({"table": "more", "name": "notes"})).await);
    assert!(text.contains("use `add_note`"), "{text}");
    assert!(
        fault(ask(&store, &cx(), "update_custom_table", json!({"table": "more", "name": "t1"})).await)
            .contains("already a table")
    );
}

#[tokio::test]
async fn a_batch_is_kept_whole_or_not_at_all() {
    let store = Store::in_memory().unwrap();
    movies(&store).await;
    let good = |title: &str| json!({"title": title});
    for (bad, told) in [
        (json!({"year": 1}), "record 2 of the batch: column `title` is required"),
        (json!({"title": "x", "year": "y"}), "record 2 of the batch: column `year` wants a number"),
        (json!({"title": "A"}), "record 2 of the batch: column `title` takes each value once"),
        (json!({"title": "x", "Title": "y"}), "record 2 of the batch: column `title` is given twice"),
    ] {
        let args = json!({"table": "movies", "records": [good("a"), bad, good("c")]});
        let text = fault(ask(&store, &cx(), "batch_add_custom_records", args).await);
        assert!(text.starts_with("bad_args") && text.contains(told) && text.ends_with("nothing was added"), "{text}");
    }
    for many in [0, 101] {
        let records: Vec<Value> = (0..many).map(|n| good(&n.to_string())).collect();
        let text =
            fault(ask(&store, &cx(), "batch_add_custom_records", json!({"table": "movies", "records": records})).await);
        assert!(text.contains("1 to 100"), "{text}");
    }
    assert_eq!(ok(&store, "list_custom_records", json!({"table": "movies"})).await.content["total"], 0);

    // Eight at once: of those that want the same title, one gets it.
    let batches: Vec<_> = (0..8)
        .map(|batch| {
            tokio::spawn({
                let store = store.clone();
                async move {
                    let records: Vec<Value> = (0..20).map(|n| json!({"title": format!("{batch} {n}")})).collect();
                    ok(&store, "batch_add_custom_records", json!({"table": "movies", "records": records})).await;
                    ask(&store, &cx(), "add_custom_record", json!({"table": "movies", "data": {"title": "The one"}}))
                        .await
                        .is_ok()
                }
            })
        })
        .collect();
    let mut won = 0;
    for batch in batches {
        won += usize::from(batch.await.unwrap());
    }
    let total = ok(&store, "list_custom_records", json!({"table": "movies"})).await.content["total"].clone();
    assert_eq!((won, total), (1, json!(161)));
    assert_eq!(store.collection::<Row>().count(&cx(), &Walk::prefix(1, [])).unwrap(), 161);
}

#[tokio::test]
async fn records_are_filtered_sorted_and_searched() {
    let store = Store::in_memory().unwrap();
    movies(&store).await;
    let all = json!([
        {"title": "Alien", "year": 1979, "on": "2026-11-20"},
        {"title": "heat", "year": 1995, "seen": true},
        {"title": "Dark", "kind": "series", "year": 2017},
        {"title": "Brazil", "year": 1985.5, "on": "2026-01-05"},
        {"title": "zorro", "on": "2026-11-21", "more": [1]},
    ]);
    ok(&store, "batch_add_custom_records", json!({"table": "movies", "records": all})).await;
    let rows = [
        (json!({}), vec!["zorro", "Brazil", "Dark", "heat", "Alien"]),
        (json!({"sortOrder": "asc"}), vec!["Alien", "heat", "Dark", "Brazil", "zorro"]),
        (json!({"sortBy": "createdAt"}), vec!["zorro", "Brazil", "Dark", "heat", "Alien"]),
        (json!({"sortBy": "title"}), vec!["Alien", "Brazil", "Dark", "heat", "zorro"]),
        (json!({"sortBy": "year"}), vec!["Alien", "Brazil", "heat", "Dark", "zorro"]),
        (json!({"sortBy": "Year", "sortOrder": "desc"}), vec!["Dark", "heat", "Brazil", "Alien", "zorro"]),
        (json!({"sortBy": "on", "sortOrder": "desc"}), vec!["zorro", "Alien", "Brazil", "heat", "Dark"]),
        (json!({"sortBy": "year", "offset": 1, "limit": 2}), vec!["Brazil", "heat"]),
        (json!({"offset": 3}), vec!["heat", "Alien"]),
        (json!({"offset": u32::MAX}), vec![]),
        (json!({"offset": 9_950, "sortBy": "year", "limit": u32::MAX}), vec![]),
        (json!({"filter": {"kind": "Film", "year": {"gte": 1980}}}), vec!["Brazil", "heat"]),
        (json!({"filter": {"year": null}}), vec!["zorro"]),
        (json!({"filter": {"title": "ALIEN"}}), vec!["Alien"]),
        (json!({"filter": {"title": "Alien"}, "offset": 1}), vec![]),
        (json!({"filter": {"on": {"op": "lte", "value": "2026-11-20"}}, "sortBy": "on"}), vec!["Brazil", "Alien"]),
    ];
    for (mut args, expected) in rows {
        args["table"] = "movies".into();
        assert_eq!(titles(&ok(&store, "list_custom_records", args.clone()).await), expected, "{args}");
    }
    let some = ok(&store, "list_custom_records", json!({"table": "movies", "limit": 2})).await;
    assert_eq!((&some.content["hasMore"], &some.content["total"]), (&json!(true), &json!(5)));
    assert_eq!(some.say.unwrap(), "There are 5 records in the table movies:\n- “zorro”\n- “Brazil”\n- … and 3 more");
    let some =
        ok(&store, "list_custom_records", json!({"table": "movies", "limit": 2, "filter": {"seen": false}})).await;
    assert_eq!((&some.content["hasMore"], &some.content["total"]), (&json!(true), &Value::Null));
    assert_eq!(some.say.unwrap(), "The first 2 records in the table movies:\n- “zorro”\n- “Brazil”\n- … and more");

    let found = ok(&store, "search_custom_records", json!({"table": "movies", "query": "SERIES da"})).await;
    assert_eq!(
        (titles(&found), found.say.as_deref()),
        (vec!["Dark"], Some("There is one record with “SERIES da” in the table movies: “Dark”."))
    );
    assert_eq!(
        titles(
            &ok(&store, "search_custom_records", json!({"table": "movies", "query": "film", "limit": 1, "offset": 1}))
                .await
        ),
        ["Brazil"]
    );
    assert_eq!(
        said(&store, "search_custom_records", json!({"table": "movies", "query": "1979"})).await,
        "I found nothing with “1979” in the table movies."
    );
    for (tool, args, told) in [
        ("list_custom_records", json!({"table": "movies", "sortBy": "colour"}), "there is no column `colour`"),
        ("list_custom_records", json!({"table": "movies", "filter": {"year": {"op": "like"}}}), "use eq, ne"),
        ("list_custom_records", json!({"table": "none"}), "there is no table `none`"),
        (
            "list_custom_records",
            json!({"table": "movies", "sortBy": "year", "offset": 9_951, "limit": 50}),
            "only its first 10000 records: use a `filter`",
        ),
        ("list_custom_records", json!({"table": "movies", "sortBy": "year", "offset": u32::MAX}), "first 10000"),
        ("search_custom_records", json!({"table": "movies", "query": " "}), "query is empty"),
    ] {
        let text = fault(ask(&store, &cx(), tool, args).await);
        assert!(text.contains(told), "{text}");
    }
}

#[tokio::test]
async fn long_records_come_in_parts() {
    let store = Store::in_memory().unwrap();
    ok(
        &store,
        "create_custom_table",
        json!({"table": "texts", "columns": [{"name": "title", "type": "text"}, {"name": "t", "type": "text"}]}),
    )
    .await;
    for n in 0..12 {
        let data = json!({"title": n.to_string(), "t": "x".repeat(60_000)});
        ok(&store, "add_custom_record", json!({"table": "texts", "data": data})).await;
    }
    let records = vec![json!({"t": "x".repeat(60_000)}); 5];
    let added = ok(&store, "batch_add_custom_records", json!({"table": "texts", "records": records})).await;
    assert!(
        added.content.to_string().len() < 1000 && added.content["records"][4]["id"].is_string(),
        "by their ids alone"
    );
    for record in added.content["records"].as_array().unwrap() {
        ok(&store, "delete_custom_record", json!({"table": "texts", "recordId": record["id"]})).await;
    }
    for sort in [json!(null), json!("title")] {
        let (mut seen, mut calls) = (0, 0);
        loop {
            let args = json!({"table": "texts", "offset": seen, "limit": 50, "sortBy": sort});
            let page = ok(&store, "list_custom_records", args).await;
            assert!(page.content.to_string().len() < 256 * 1024, "within what one answer may be");
            (seen, calls) = (seen + titles(&page).len(), calls + 1);
            if page.content["hasMore"] == false {
                break;
            }
        }
        assert_eq!((seen, calls), (12, 6), "{sort}");
    }
}

#[tokio::test]
async fn everybody_of_the_household_shares_tables_and_hears_of_changes() {
    let store = Store::in_memory().unwrap();
    let (anna, ben) = (cx(), other());
    movies(&store).await;
    let mut heard = ben.ports().bus.listen(None);
    let added =
        ask(&store, &ben, "add_custom_record", json!({"table": "movies", "data": {"title": "Alien"}})).await.unwrap();
    let Some(BusEvent::Event(event)) = heard.next().await else { panic!("nothing was heard") };
    assert_eq!((event.topic.as_str(), event.to), ("custom-records:changed", None));
    assert_eq!(event.data, json!({"id": added.content["id"], "change": "added", "table": "movies"}));
    let rows = store.collection::<Row>();
    let kept = rows.get(&anna, added.content["id"].as_str().unwrap().parse().unwrap()).unwrap().unwrap();
    assert_eq!((kept.owner, kept.audience), (ben.user(), Audience::Household));
    ask(&store, &anna, "update_custom_record", json!({"table": "movies", "recordId": kept.id, "data": {"seen": true}}))
        .await
        .unwrap();
    ask(&store, &anna, "delete_custom_record", json!({"table": "movies", "recordId": kept.id})).await.unwrap();

    // Records from outside taint only runs that read them.
    let tainted = cx();
    tainted.taint(Label::Outside);
    ask(&store, &tainted, "add_custom_record", json!({"table": "movies", "data": {"title": "Stranger"}}))
        .await
        .unwrap();
    ok(&store, "add_custom_record", json!({"table": "movies", "data": {"title": "Own", "year": 1}})).await;
    for (args, label) in [
        (json!({"table": "movies", "filter": {"year": 1}}), Label::Own),
        (json!({"table": "movies", "sortBy": "year", "limit": 1}), Label::Own),
        (json!({"table": "movies"}), Label::Outside),
    ] {
        let reader = cx();
        ask(&store, &reader, "list_custom_records", args.clone()).await.unwrap();
        assert_eq!(reader.label(), label, "{args}");
    }
}

#[tokio::test]
async fn changes_of_one_record_at_once_lose_nothing() {
    let store = Store::in_memory().unwrap();
    let columns: Vec<Value> = (0..8).map(|n| json!({"name": format!("c{n}"), "type": "number"})).collect();
    ok(&store, "create_custom_table", json!({"table": "wide", "columns": columns})).await;
    let id = ok(&store, "add_custom_record", json!({"table": "wide", "data": {}})).await.content["id"].clone();
    let all: Vec<_> = (0..8)
        .map(|n| {
            tokio::spawn({
                let (store, args) =
                    (store.clone(), json!({"table": "wide", "recordId": id, "data": {format!("c{n}"): n}}));
                async move { ok(&store, "update_custom_record", args).await }
            })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    let record = ok(&store, "get_custom_record", json!({"table": "wide", "recordId": id})).await.content;
    assert!((0..8).all(|n| record["data"][format!("c{n}")] == n), "{record}");

    // While a table is deleted nobody can add to it, and no record is left behind.
    let adds: Vec<_> = (0..20)
        .map(|n| {
            tokio::spawn({
                let store = store.clone();
                async move {
                    let (tool, args) = match n {
                        10 => ("delete_custom_table", json!({"table": "wide", "confirm": true})),
                        _ => ("add_custom_record", json!({"table": "wide", "data": {"c1": n}})),
                    };
                    drop(ask(&store, &cx(), tool, args).await);
                }
            })
        })
        .collect();
    for one in adds {
        one.await.unwrap();
    }
    assert_eq!(store.collection::<Row>().count(&cx(), &Walk::prefix(1, [])).unwrap(), 0);
}

#[tokio::test]
async fn a_table_is_full_one_day_and_an_interrupted_deletion_goes_on() {
    let store = Store::in_memory().unwrap();
    movies(&store).await;
    let tables = Tables::new(&store);
    let table = tables.find(&cx(), "movies").unwrap();
    let (here, of, stamp) =
        (tables.clone(), table.entry.id, tables.rows.stamp(&cx(), "test").audience(Audience::Household));
    let fill = store.write(move |tx| {
        for _ in 0..2500 {
            here.rows.put(tx, Id::new(), &stamp, &Row { table: of, data: "{}".into(), marks: vec![] })?;
        }
        here.counted(tx, of, |_| RECORDS)
    });
    fill.await.unwrap();
    let text = fault(ask(&store, &cx(), "add_custom_record", json!({"table": "movies", "data": {"title": "x"}})).await);
    assert!(text.contains("100000 records at most"), "{text}");

    let here = tables.clone();
    let mark = store.write(move |tx| {
        let gone = &mut |table: &mut Table| {
            table.gone = true;
            Ok(())
        };
        here.tables.change(tx, Scope::Household, Label::Own, of, gone).map(drop)
    });
    mark.await.unwrap();
    assert_eq!(ok(&store, "list_custom_tables", json!({})).await.content["count"], 0);
    assert!(fault(ask(&store, &cx(), "describe_custom_table", json!({"table": of})).await).starts_with("not_found"));
    movies(&store).await;
    assert_eq!(tables.rows.count(&cx(), &Walk::prefix(1, [])).unwrap(), 0);
    assert_eq!(tables.gone().unwrap().len(), 0);
}

/// The expected result of a filter and an order, written in the simplest way.
fn naive(
    all: &[(Option<i64>, Option<&str>)],
    least: Option<i64>,
    text: Option<&str>,
    by: &str,
    down: bool,
) -> Vec<usize> {
    let mut found: Vec<usize> = (0..all.len())
        .filter(|n| least.is_none_or(|least| all[*n].0.is_some_and(|v| v >= least)))
        .filter(|n| text.is_none_or(|text| all[*n].1.is_some_and(|v| v.to_lowercase() == text.to_lowercase())))
        .collect();
    fn order<T: Ord>(a: Option<T>, b: Option<T>, down: bool) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if down => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
    match by {
        "n" => found.sort_by(|a, b| order(all[*a].0, all[*b].0, down)),
        "t" => found.sort_by(|a, b| order(all[*a].1.map(str::to_lowercase), all[*b].1.map(str::to_lowercase), down)),
        _ if down => found.reverse(),
        _ => {}
    }
    found
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn finding_is_what_it_would_be_done_simply(
        all in prop::collection::vec((prop::option::of(-3_i64..4), prop::option::of(prop::sample::select(vec!["a", "A", "b", "ü", "\"", ""]))), 1..30),
        least in prop::option::of(-3_i64..4),
        text in prop::option::of(prop::sample::select(vec!["a", "B", "\"", "x"])),
        by in prop::sample::select(vec!["n", "t", "createdAt"]), down in any::<bool>(), size in 1_u32..7,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Store::in_memory().unwrap();
            let columns = json!([{"name": "title", "type": "text"}, {"name": "n", "type": "number"}, {"name": "t", "type": "text"}]);
            ok(&store, "create_custom_table", json!({"table": "x", "columns": columns})).await;
            let records: Vec<Value> = all.iter().enumerate().map(|(i, (n, t))| json!({"title": i.to_string(), "n": n, "t": t})).collect();
            ok(&store, "batch_add_custom_records", json!({"table": "x", "records": records})).await;
            let mut filter = json!({});
            if let Some(least) = least {
                filter["n"] = json!({"op": "gte", "value": least});
            }
            if let Some(text) = text {
                filter["t"] = text.into();
            }
            let mut found: Vec<usize> = vec![];
            loop {
                let args = json!({"table": "x", "filter": filter, "sortBy": by, "sortOrder": if down { "desc" } else { "asc" },
                                  "limit": size, "offset": found.len()});
                let page = ok(&store, "list_custom_records", args).await;
                found.extend(titles(&page).iter().map(|t| t.parse::<usize>().unwrap()));
                if page.content["hasMore"] == false {
                    break;
                }
            }
            assert_eq!(found, naive(&all, least, text, by, down));
        });
    }
}
