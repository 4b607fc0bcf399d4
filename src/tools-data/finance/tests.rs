//! Tests of expenses: adding, finding, summing, exporting.

use crate::testing::{ask, cases, cx, fault, ok, other, said};
use proptest::prelude::*;
use store::Store;
use tool::{Label, prelude::*};

fn spent(amount: impl Into<Value>, category: &str, description: &str, date: &str) -> Value {
    json!({"amount": amount.into(), "category": category, "description": description, "date": date})
}

/// Some expenses of autumn 2026.
async fn autumn(store: &Store) {
    let all = json!([
        spent(80, "food", "Groceries", "2026-11-02"),
        spent(12.5, "food", "Lunch with Ben", "2026-11-20"),
        spent("20.00", "transport", "Taxi", "2026-11-16"),
        spent(900, "housing", "Rent", "2026-10-01"),
        {"amount": 500, "currency": "JPY", "category": "food", "description": "Ramen", "date": "2026-11-10",
         "tags": ["Trip", "noodles"], "paymentMethod": "cash", "notes": "near the station"},
        {"amount": 0.1, "currency": "EUR", "category": "other", "description": "Bag", "date": "2025-12-31", "tags": ["trip"]},
    ]);
    ok(store, "batch_add_expenses", json!({"expenses": all})).await;
}

fn names(answer: &Output) -> Vec<&str> {
    answer.content["expenses"].as_array().unwrap().iter().map(|e| e["description"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_expense_is_noted_changed_and_deleted() {
    let store = Store::in_memory().unwrap();
    let added = ok(&store, "add_expense", json!({"amount": 12.5, "category": "food", "description": " Lunch "})).await;
    assert_eq!(added.say.unwrap(), "I noted €12.50 for “Lunch”.");
    let mut told = added.content.clone();
    let id = told["id"].take();
    assert!(told["createdAt"].take().as_str().unwrap().ends_with(":00"));
    told["updatedAt"].take();
    let expected = json!({"id": null, "createdAt": null, "updatedAt": null, "amount": 12.5, "currency": "EUR",
        "category": "food", "description": "Lunch", "date": "2026-11-20", "paymentMethod": null, "tags": [],
        "notes": null, "income": false, "shared": false});
    assert_eq!(told, expected);

    let change = json!({"expenseId": "lunch", "amount": "13", "date": "2026-11-19T23:30:00-05:00", "notes": "with Ana",
                        "tags": ["work"], "currency": "$", "category": "travel", "shared": true});
    let changed = ok(&store, "update_expense", change).await;
    let c = &changed.content;
    assert_eq!((&c["amount"], &c["currency"], &c["date"]), (&json!(13), &json!("USD"), &json!("2026-11-20")));
    assert_eq!((&c["notes"], &c["tags"], &c["shared"]), (&json!("with Ana"), &json!(["work"]), &json!(true)));
    assert_eq!(changed.say.unwrap(), "Changed: $13 for “Lunch”.");
    let cleared = ok(&store, "update_expense", json!({"expenseId": id, "notes": "", "tags": []})).await;
    assert_eq!((&cleared.content["notes"], &cleared.content["category"]), (&Value::Null, &json!("travel")));

    assert_eq!(said(&store, "delete_expense", json!({"expenseId": id})).await, "I deleted the expense “Lunch” ($13).");
    assert!(fault(ask(&store, &cx(), "delete_expense", json!({"expenseId": id})).await).starts_with("not_found"));
    assert_eq!(said(&store, "query_expenses", json!({})).await, "You noted no expenses.");
}

#[tokio::test]
async fn the_currency_of_the_household_is_taken_where_none_is_named() {
    let store = Store::in_memory().unwrap();
    let add = async |cx: &Cx, currency: Option<&str>, shared: bool| {
        let mut args = json!({"amount": 5, "category": "other", "description": "x", "shared": shared});
        if let Some(currency) = currency {
            args["currency"] = currency.into();
        }
        ask(&store, cx, "add_expense", args).await.unwrap().content["currency"].clone()
    };
    assert_eq!(add(&cx(), None, false).await, "EUR");
    assert_eq!(add(&cx(), Some("chf"), false).await, "CHF");
    assert_eq!(add(&cx(), None, false).await, "EUR", "one expense abroad changes no later one");
    add(&cx(), Some("GBP"), true).await;
    assert_eq!(add(&other(), None, false).await, "EUR");
}

#[tokio::test]
async fn expenses_are_found_and_added_up() {
    let store = Store::in_memory().unwrap();
    autumn(&store).await;
    let rows = [
        (json!({}), vec!["Lunch with Ben", "Taxi", "Ramen", "Groceries", "Rent", "Bag"]),
        (json!({"startDate": "2026-11-10", "endDate": "2026-11-16"}), vec!["Taxi", "Ramen"]),
        (json!({"startDate": "2026-11-16T23:59:59"}), vec!["Lunch with Ben", "Taxi"]),
        (json!({"endDate": "2026-10-01", "category": "housing"}), vec!["Rent"]),
        (json!({"startDate": "2026-10", "endDate": "2026-10"}), vec!["Rent"]),
        (json!({"startDate": "2026-11", "category": "food"}), vec!["Lunch with Ben", "Ramen", "Groceries"]),
        (json!({"category": "food"}), vec!["Lunch with Ben", "Ramen", "Groceries"]),
        (json!({"category": "food", "period": "today"}), vec!["Lunch with Ben"]),
        (json!({"period": "this_week"}), vec!["Lunch with Ben", "Taxi"]),
        (json!({"period": "last_month"}), vec!["Rent"]),
        (json!({"period": "this_year", "minAmount": 20, "maxAmount": 100}), vec!["Taxi", "Groceries"]),
        (json!({"search": "BEN lunch"}), vec!["Lunch with Ben"]),
        (json!({"search": "station"}), vec!["Ramen"]),
        (json!({"search": "cash food"}), vec!["Ramen"]),
        (json!({"tags": ["trip"]}), vec!["Ramen", "Bag"]),
        (json!({"tags": ["TRIP", "noodles"]}), vec!["Ramen"]),
        (json!({"limit": 2, "offset": 1}), vec!["Taxi", "Ramen"]),
        (json!({"offset": 4_000_000_000_u32}), vec![]),
        (json!({"category": "education"}), vec![]),
    ];
    for (args, expected) in rows {
        let found = ok(&store, "query_expenses", args.clone()).await;
        assert_eq!(names(&found), expected, "{args}");
    }
    let some = ok(&store, "query_expenses", json!({"limit": 2})).await;
    assert_eq!((&some.content["hasMore"], &some.content["matching"]), (&json!(true), &json!(6)));
    let eur = json!({"currency": "EUR", "total": 1012.6, "count": 5, "average": 202.52});
    let jpy = json!({"currency": "JPY", "total": 500, "count": 1, "average": 500});
    assert_eq!(some.content["totals"], json!([eur, jpy]));
    let sentence = "I found 6 expenses, €1012.60 and 500 JPY in all:\n- Lunch with Ben: €12.50 (today)\n- Taxi: €20 (Monday 16 November)\n\
                    - … and 4 more";
    assert_eq!(some.say.unwrap(), sentence);
    let last = ok(&store, "query_expenses", json!({"limit": 5, "offset": 1})).await;
    assert_eq!(last.content["hasMore"], false);
}

#[tokio::test]
async fn a_summary_tells_totals_shares_months_and_the_largest() {
    let store = Store::in_memory().unwrap();
    autumn(&store).await;
    let month = ok(&store, "expense_summary", json!({})).await;
    let c = &month.content;
    assert_eq!(c["period"], json!({"from": "2026-11-01", "to": "2026-11-30"}));
    assert_eq!(c["totals"][0], json!({"currency": "EUR", "total": 112.5, "count": 3, "average": 37.5}));
    let by = json!([
        {"category": "food", "currency": "EUR", "total": 92.5, "count": 2, "share": 82.2},
        {"category": "transport", "currency": "EUR", "total": 20, "count": 1, "share": 17.8},
        {"category": "food", "currency": "JPY", "total": 500, "count": 1, "share": 100.0},
    ]);
    assert_eq!(c["byCategory"], by);
    assert_eq!(c["byMonth"][0], json!({"month": "2026-11", "currency": "EUR", "total": 112.5, "count": 3}));
    let largest: Vec<_> = c["largest"].as_array().unwrap().iter().map(|e| e["description"].clone()).collect();
    assert_eq!(largest, ["Ramen", "Groceries", "Taxi", "Lunch with Ben"]);
    assert!(c.get("byDay").is_none() && c.get("byTag").is_none());

    let all = ok(&store, "expense_summary", json!({"period": "all", "groupBy": "tag"})).await.content;
    assert_eq!(all["period"], json!({"from": "2025-12-31", "to": "2026-11-20"}));
    let months: Vec<_> = all["byMonth"].as_array().unwrap().iter().map(|m| m["month"].clone()).collect();
    assert_eq!(months, ["2025-12", "2026-10", "2026-11", "2026-11"]);
    let tags = json!([
        {"tag": "noodles", "currency": "JPY", "total": 500, "count": 1},
        {"tag": "trip", "currency": "JPY", "total": 500, "count": 1},
        {"tag": "trip", "currency": "EUR", "total": 0.1, "count": 1},
    ]);
    assert_eq!(all["byTag"], tags);
    let days = ok(&store, "expense_summary", json!({"groupBy": "day", "startDate": "2026-11-15"})).await.content;
    assert_eq!(days["byDay"][1], json!({"day": "2026-11-20", "currency": "EUR", "total": 12.5, "count": 1}));
    assert_eq!(days["period"], json!({"from": "2026-11-15", "to": "2026-11-20"}));

    let rows = [
        (json!({"period": "today"}), "You spent €12.50 today, in one expense, all on food."),
        (json!({"period": "this_week"}), "You spent €32.50 this week, in 2 expenses, most of it on transport: €20."),
        (json!({"category": "food"}), "You spent €92.50 and 500 JPY on food this month, in 3 expenses."),
        (json!({"period": "last_month", "category": "food"}), "I found no expenses on food last month."),
        (
            json!({"startDate": "2026-10-01", "endDate": "2026-10-01"}),
            "You spent €900 on Thursday 1 October, in one expense, all on housing.",
        ),
    ];
    for (args, expected) in rows {
        assert_eq!(said(&store, "expense_summary", args.clone()).await, expected, "{args}");
    }
    let empty = ok(&Store::in_memory().unwrap(), "expense_summary", json!({"period": "all"})).await.content;
    assert_eq!((&empty["period"], &empty["totals"]), (&json!({"from": null, "to": null}), &json!([])));
}

#[tokio::test]
async fn expenses_are_exported_in_parts() {
    let store = Store::in_memory().unwrap();
    autumn(&store).await;
    ok(
        &store,
        "add_expense",
        json!({"amount": 1, "category": "other", "description": "=HYPERLINK(\"x\"), \"y\"", "currency": "EUR"}),
    )
    .await;
    let csv = ok(&store, "export_expenses", json!({"format": "csv"})).await.content;
    let lines: Vec<&str> = csv["content"].as_str().unwrap().lines().collect();
    assert_eq!(lines[0], "date,amount,currency,category,description,paymentMethod,tags,notes");
    assert_eq!(lines[1], "2025-12-31,0.10,EUR,other,Bag,,trip,");
    assert_eq!(lines[4], "2026-11-10,500,JPY,food,Ramen,cash,\"Trip, noodles\",near the station");
    assert_eq!(lines[7], "2026-11-20,1.00,EUR,other,\"'=HYPERLINK(\"\"x\"\"), \"\"y\"\"\",,,");
    assert_eq!((&csv["count"], &csv["hasMore"], &csv["nextOffset"]), (&json!(7), &json!(false), &Value::Null));
    let json =
        ok(&store, "export_expenses", json!({"format": "json", "category": "food", "period": "this_month"})).await;
    let read: Vec<Value> = serde_json::from_str(json.content["content"].as_str().unwrap()).unwrap();
    assert_eq!(read.iter().map(|e| e["amount"].clone()).collect::<Vec<_>>(), [json!(80), json!(500), json!(12.5)]);
    let none = ok(&store, "export_expenses", json!({"format": "json", "startDate": "2027-01-01"})).await;
    assert_eq!(
        (&none.content["content"], none.say.as_deref()),
        (&json!("[]"), Some("There are no expenses to export."))
    );

    // Many long expenses are exported in parts, which together are complete.
    let long =
        |n: usize| json!({"amount": 1, "category": "food", "description": format!("n{n}"), "notes": "\"".repeat(1000)});
    for part in 0..3 {
        let many: Vec<Value> = (part * 100..part * 100 + 100).map(long).collect();
        ok(&store, "batch_add_expenses", json!({"expenses": many})).await;
    }
    let (mut offset, mut seen, mut parts) = (json!(0), 0, 0);
    while !offset.is_null() {
        let part = ok(&store, "export_expenses", json!({"format": "json", "offset": offset})).await;
        assert!(part.content.to_string().len() < 256 * 1024, "within what one answer may be");
        let read: Vec<Value> = serde_json::from_str(part.content["content"].as_str().unwrap()).unwrap();
        (seen, parts, offset) = (seen + read.len(), parts + 1, part.content["nextOffset"].clone());
    }
    assert!(seen == 307 && parts > 2, "{seen} in {parts}");
}

#[tokio::test]
async fn a_batch_is_kept_whole_or_not_at_all() {
    let store = Store::in_memory().unwrap();
    let good = || spent(1, "food", "ok", "2026-11-01");
    for (bad, expected) in [
        (spent(0, "food", "x", "2026-11-01"), "expense 2 of the batch: the amount is 0"),
        (spent(1, "food", "  ", "2026-11-01"), "expense 2 of the batch: the description is empty"),
        (spent(1, "food", "x", "2026-02-30"), "expense 2 of the batch: the date: `2026-02-30` is no date"),
    ] {
        let text = fault(ask(&store, &cx(), "batch_add_expenses", json!({"expenses": [good(), bad, good()]})).await);
        assert!(
            text.starts_with("bad_args") && text.contains(expected) && text.ends_with("nothing was added"),
            "{text}"
        );
    }
    for many in [vec![], vec![good(); 101]] {
        let text = fault(ask(&store, &cx(), "batch_add_expenses", json!({"expenses": many})).await);
        assert!(text.contains("1 to 100"), "{text}");
    }
    assert_eq!(ok(&store, "query_expenses", json!({})).await.content["matching"], 0);
    let added = ok(&store, "batch_add_expenses", json!({"expenses": [good(), good()]})).await;
    assert_eq!((&added.content["added"], added.say.as_deref()), (&json!(2), Some("I noted 2 expenses, €2 in all.")));

    // Eight at once: all of them are there.
    let batches = (0..8).map(|_| {
        tokio::spawn({
            let store = store.clone();
            async move {
                ok(&store, "batch_add_expenses", json!({"expenses": vec![spent(1, "food", "x", "2026-11-01"); 20]}))
                    .await
            }
        })
    });
    for batch in batches.collect::<Vec<_>>() {
        batch.await.unwrap();
    }
    assert_eq!(ok(&store, "query_expenses", json!({})).await.content["totals"][0]["total"], 162);
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_changes_nothing() {
    let store = Store::in_memory().unwrap();
    autumn(&store).await;
    let before = ok(&store, "export_expenses", json!({"format": "json"})).await.content;
    let rows = [
        ("add_expense", json!({"amount": -1, "category": "food", "description": "x"}), "less than nothing"),
        ("add_expense", json!({"amount": 1e13, "category": "food", "description": "x"}), "more than"),
        ("add_expense", json!({"amount": 1.005, "category": "food", "description": "x"}), "EUR has 2 decimals"),
        ("add_expense", json!({"amount": [], "category": "food", "description": "x"}), "expected an amount"),
        ("add_expense", json!({"amount": 1, "category": "fun", "description": "x"}), "unknown variant"),
        ("add_expense", json!({"amount": 1, "category": "food", "description": "x".repeat(301)}), "longer than 300"),
        (
            "add_expense",
            json!({"amount": 1, "category": "food", "description": "x", "notes": "ü".repeat(1001)}),
            "longer than 1000",
        ),
        (
            "add_expense",
            json!({"amount": 1, "category": "food", "description": "x", "currency": "BTC"}),
            "is no currency",
        ),
        (
            "add_expense",
            json!({"amount": 1, "category": "food", "description": "x", "date": "yesterday"}),
            "is no date",
        ),
        (
            "add_expense",
            json!({"amount": 1, "category": "food", "description": "x", "date": "9999-01-01"}),
            "give one from 1700 to 9998",
        ),
        (
            "add_expense",
            json!({"amount": 1, "category": "food", "description": "x", "tags": ["t".repeat(51)]}),
            "longer than 50",
        ),
        ("add_expense", json!({"category": "food", "description": "x"}), "missing field `amount`"),
        ("update_expense", json!({"expenseId": "Lunch with Ben", "currency": "JPY"}), "JPY has no decimals"),
        ("update_expense", json!({"expenseId": "Lunch with Ben", "amount": "12.345"}), "EUR has 2 decimals"),
        ("update_expense", json!({"expenseId": "Lunch with Ben", "description": ""}), "description is empty"),
        ("update_expense", json!({"expenseId": "", "amount": 1}), "say which expense"),
        ("update_expense", json!({"expenseId": "nothing such", "amount": 1}), "not_found"),
        ("delete_expense", json!({"expenseId": Id::new()}), "not_found"),
        ("update_expense", json!({"expenseId": "Taxi"}), "say what to change"),
        ("query_expenses", json!({"startDate": "2026-13"}), "is no date"),
        ("query_expenses", json!({"search": "x ".repeat(200)}), "longer than 200"),
        ("query_expenses", json!({"startDate": "2026-11-02", "endDate": "2026-11-01"}), "exchange them"),
        ("query_expenses", json!({"minAmount": 5, "maxAmount": 4}), "exchange them"),
        ("query_expenses", json!({"minAmount": "x"}), "no amount"),
        ("expense_summary", json!({"period": "forever"}), "unknown variant"),
        ("export_expenses", json!({"format": "xml"}), "unknown variant"),
    ];
    for (tool, args, expected) in rows {
        let text = fault(ask(&store, &cx(), tool, args.clone()).await);
        assert!(text.contains(expected), "{tool} {args}: {text}");
    }
    assert_eq!(ok(&store, "export_expenses", json!({"format": "json"})).await.content, before);
    // The ends of the calendar are days as any other.
    for date in ["9998-12-31", "1700-01-01"] {
        ok(&store, "add_expense", spent(1, "other", "far", date)).await;
    }
    assert_eq!(names(&ok(&store, "query_expenses", json!({"search": "far"})).await).len(), 2);
    ok(&store, "expense_summary", json!({"period": "all"})).await;
}

#[tokio::test]
async fn what_is_private_does_not_exist_for_others() {
    let store = Store::in_memory().unwrap();
    let (anna, ben) = (cx(), other());
    let add = async |description: &str, shared: bool| {
        let args = json!({"amount": 7, "category": "health", "description": description, "shared": shared});
        ask(&store, &anna, "add_expense", args).await.unwrap().content["id"].clone()
    };
    let (secret, shared) = (add("Pills", false).await, add("Soap", true).await);
    let all = ask(&store, &ben, "query_expenses", json!({})).await.unwrap();
    assert_eq!(
        (names(&all), &all.content["matching"], &all.content["totals"][0]["total"]),
        (vec!["Soap"], &json!(1), &json!(7))
    );
    let sum = ask(&store, &ben, "expense_summary", json!({"period": "all"})).await.unwrap().content;
    assert_eq!((&sum["totals"][0]["count"], sum["largest"].as_array().unwrap().len()), (&json!(1), 1));
    assert_eq!(ask(&store, &ben, "export_expenses", json!({"format": "csv"})).await.unwrap().content["count"], 1);
    for which in [secret.clone(), json!("Pills")] {
        let missing = if which == "Pills" { json!("Bills") } else { json!(Id::new()) };
        for tool in ["update_expense", "delete_expense"] {
            let text = fault(ask(&store, &ben, tool, json!({"expenseId": which})).await);
            let other = fault(ask(&store, &ben, tool, json!({"expenseId": missing})).await);
            let plain = |text: &str, which: &Value| text.replace(which.as_str().unwrap(), "X");
            assert_eq!(plain(&text, &which), plain(&other, &missing));
        }
    }
    for tool in ["update_expense", "delete_expense"] {
        let text = fault(ask(&store, &ben, tool, json!({"expenseId": shared})).await);
        assert!(text.starts_with("denied") && text.contains("only they can change it"), "{text}");
    }
    ask(&store, &anna, "update_expense", json!({"expenseId": shared, "shared": false})).await.unwrap();
    assert_eq!(ask(&store, &ben, "query_expenses", json!({})).await.unwrap().content["matching"], 0);
    assert_eq!(ask(&store, &anna, "query_expenses", json!({})).await.unwrap().content["matching"], 2);
}

#[tokio::test]
async fn two_deletions_of_one_expense_end_in_one() {
    let store = Store::in_memory().unwrap();
    let id = ok(&store, "add_expense", spent(1, "food", "x", "2026-11-01")).await.content["id"].clone();
    let both = [(); 2].map(|()| {
        tokio::spawn({
            let (store, args) = (store.clone(), json!({"expenseId": id}));
            async move { ask(&store, &cx(), "delete_expense", args).await.is_ok() }
        })
    });
    let mut done = 0;
    for one in both {
        done += usize::from(one.await.unwrap());
    }
    assert_eq!(done, 1);
}

#[tokio::test]
async fn what_came_from_outside_taints_who_is_told() {
    let store = Store::in_memory().unwrap();
    let tainted = cx();
    tainted.taint(Label::Outside);
    ask(&store, &tainted, "add_expense", spent(1, "food", "stranger", "2026-11-01")).await.unwrap();
    ok(&store, "add_expense", spent(1, "travel", "own", "2026-10-01")).await;
    for (args, label) in [
        (json!({"category": "travel"}), Label::Own),
        (json!({}), Label::Outside),
        (json!({"offset": 2}), Label::Outside),
    ] {
        let reader = cx();
        ask(&store, &reader, "query_expenses", args.clone()).await.unwrap();
        assert_eq!(reader.label(), label, "{args}");
    }
    for tool in ["expense_summary", "export_expenses"] {
        let reader = cx();
        let args = if tool == "export_expenses" { json!({"format": "csv"}) } else { json!({}) };
        ask(&store, &reader, tool, args).await.unwrap();
        assert_eq!(reader.label(), Label::Outside, "{tool}");
    }
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn pages_together_are_the_whole_and_sums_are_exact(
        all in prop::collection::vec((1_i64..10_000_000, 1_i8..=28, prop::bool::ANY, 0_u8..3), 1..40), size in 1_u32..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (store, anna, ben) = (Store::in_memory().unwrap(), cx(), other());
            let code = |n: &u8| ["EUR", "JPY", "KWD"][usize::from(*n)];
            for (n, (amount, day, mine, c)) in all.iter().enumerate() {
                let amount = super::money::text((*amount).into(), code(c));
                let args = json!({"amount": amount, "currency": code(c), "category": "food", "description": format!("{n}"),
                                  "date": format!("2026-11-{day:02}"), "shared": !mine});
                ask(&store, if *mine { &ben } else { &anna }, "add_expense", args).await.unwrap();
            }
            let mut expected: Vec<usize> = (0..all.len()).collect();
            expected.sort_by_key(|n| std::cmp::Reverse((all[*n].1, *n)));
            let mut found = vec![];
            loop {
                let args = json!({"limit": size, "offset": found.len()});
                let page = ask(&store, &ben, "query_expenses", args).await.unwrap();
                found.extend(names(&page).iter().map(|n| n.parse::<usize>().unwrap()));
                for total in page.content["totals"].as_array().unwrap() {
                    let of = total["currency"].as_str().unwrap();
                    let sum: i64 = all.iter().filter(|e| code(&e.3) == of).map(|e| e.0).sum();
                    assert_eq!(total["total"], super::money::number(sum.into(), of));
                }
                if page.content["hasMore"] == false {
                    break;
                }
            }
            assert_eq!(found, expected);
        });
    }
}

#[tokio::test]
async fn what_came_in_is_kept_apart_from_what_was_spent() {
    let store = Store::in_memory().unwrap();
    autumn(&store).await;
    let wage = json!({"amount": "1200", "category": "other", "description": "Wage", "income": true, "currency": "EUR"});
    assert_eq!(said(&store, "add_expense", wage).await, "I noted €1200 of income “Wage”.");
    let found = ok(&store, "query_expenses", json!({"period": "this_month", "income": true})).await;
    assert_eq!(names(&found), ["Wage"]);
    let spent = ok(&store, "query_expenses", json!({"period": "this_month"})).await;
    assert!(!names(&spent).contains(&"Wage"));
    let month = ok(&store, "expense_summary", json!({})).await;
    let euros = month.content["net"].as_array().unwrap()[0].clone();
    assert_eq!(euros, json!({"currency": "EUR", "net": 1087.5}));
    assert!(month.say.unwrap().ends_with("€1200 came in, so €1087.50 are left over."));
    let largest = said(&store, "expense_summary", json!({"groupBy": "largest"})).await;
    assert!(largest.contains("Groceries: €80 (2 November)"), "{largest}");
}
