//! Expenses and goals from outside: exact sums, and progress of goals.

use crate::{
    everyday::{NOTHING, Person},
    harness::{Hob, Setup},
};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde_json::{Value, json};

/// A daemon whose household lives in Vienna.
fn in_vienna() -> Hob {
    Hob::with(Setup { config: "time_zone = \"Europe/Vienna\"".into(), ..Setup::default() })
}

/// Each currency's total, as text, so that no digit is lost by reading it.
fn totals(answer: &Value) -> Vec<String> {
    let one = |total: &Value| format!("{} {}", total["currency"].as_str().unwrap(), total["total"]);
    let mut all: Vec<String> =
        answer["totals"].as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(one).collect();
    all.sort();
    all
}

#[test]
fn sums_are_exact() {
    let mut hob = Hob::start();
    let cents: Vec<Value> = (0..100)
        .map(|_| json!({"amount": 0.1, "category": "food", "description": "gum", "date": "2026-02-03", "currency": "EUR"}))
        .collect();
    hob.result("batch_add_expenses", json!({"expenses": cents}));
    let others = [
        (json!(0.2), "EUR", "2026-02-04"),
        (json!("19.99"), "EUR", "2026-02-04"),
        (json!(1234), "JPY", "2026-02-05"),
        (json!(0.001), "KWD", "2026-02-06"),
        (json!(999_999_999_999.99), "USD", "2026-02-07"),
        (json!(0.01), "USD", "2026-02-07"),
    ];
    for (amount, currency, date) in others {
        let expense = json!({"amount": amount, "category": "other", "description": "thing", "date": date,
                             "currency": currency});
        let kept = hob.result("add_expense", expense);
        let told = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        assert_eq!((kept["amount"].to_string(), &kept["currency"]), (told, &json!(currency)), "{kept}");
    }
    let wanted = ["EUR 30.19", "JPY 1234", "KWD 0.001", "USD 1000000000000"];
    let range = json!({"startDate": "2026-02-01", "endDate": "2026-02-28"});
    for tool in ["query_expenses", "expense_summary"] {
        let told = totals(&hob.result(tool, range.clone()));
        let told: Vec<&str> = told.iter().map(|t| t.trim_end_matches(".00").trim_end_matches(".0")).collect();
        assert_eq!(told, wanted, "{tool}");
    }
    let day = json!({"startDate": "2026-02-04", "endDate": "2026-02-04"});
    assert_eq!(totals(&hob.result("query_expenses", day)), ["EUR 20.19"]);
    hob.kill();
    hob.start_again();
    let after = totals(&hob.result("query_expenses", range));
    assert_eq!(after.first().map(String::as_str), Some("EUR 30.19"));
}

#[test]
fn what_is_no_amount_is_refused() {
    let hob = Hob::start();
    let whole = |field: &str, value: Value| {
        let mut expense = json!({"amount": 5, "category": "food", "description": "soup"});
        expense[field] = value;
        expense
    };
    let table = [
        ("amount", json!(0)),
        ("amount", json!(-3)),
        ("amount", json!(1e13)),
        ("amount", json!(1e300)),
        ("amount", json!("NaN")),
        ("amount", json!("1e400")),
        ("amount", json!("five")),
        ("amount", json!(0.001)),
        ("amount", json!(null)),
        ("category", json!("")),
        ("category", json!("yachts")),
        ("description", json!("")),
        ("description", json!("x".repeat(100_000))),
        ("date", json!("yesterday-ish")),
        ("date", json!("2026-02-30")),
        ("currency", json!("EURO")),
        ("currency", json!("ZZZ")),
        ("colour", json!("red")),
    ];
    for (field, value) in table {
        let reply = hob.call("add_expense", whole(field, value.clone()));
        // The euro, which is the currency of who has used none, has cents.
        let why = reply.refusal(400, "bad_args");
        assert!(why.chars().count() < 3000, "{field} {value:.40}: {why:.200}");
    }
    let none = hob.result("query_expenses", json!({}));
    assert_eq!((&none["count"], &none["totals"]), (&json!(0), &json!([])));
    for (tool, arguments) in [
        ("query_expenses", json!({"startDate": "2026-03-01", "endDate": "2026-02-01"})),
        ("query_expenses", json!({"minAmount": "x"})),
        ("export_expenses", json!({"format": "pdf"})),
        ("expense_summary", json!({"period": "last_century"})),
        ("expense_summary", json!({"groupBy": "moon"})),
    ] {
        hob.call(tool, arguments).refusal(400, "bad_args");
    }
}

#[test]
fn expenses_are_found_summed_and_taken_along() {
    let hob = in_vienna();
    for (amount, category, description, date) in [
        (60, "food", "Groceries, weekly", "2026-01-05"),
        (20, "food", "=SUM(A1:A9)", "2026-01-20"),
        (20, "transport", "Train \"first class\"", "2026-02-02"),
        (850, "housing", "Rent\nfebruary", "2026-02-01"),
    ] {
        let expense = json!({"amount": amount, "category": category, "description": description, "date": date,
                             "currency": "EUR"});
        hob.result("add_expense", expense);
    }
    let names = |arguments: Value| -> Vec<String> {
        let found = hob.result("query_expenses", arguments);
        found["expenses"].as_array().unwrap().iter().map(|e| e["date"].as_str().unwrap().to_owned()).collect()
    };
    for (arguments, dates) in [
        (json!({}), &["2026-02-02", "2026-02-01", "2026-01-20", "2026-01-05"][..]),
        (json!({"category": "food"}), &["2026-01-20", "2026-01-05"]),
        (json!({"minAmount": 20, "maxAmount": 60}), &["2026-02-02", "2026-01-20", "2026-01-05"]),
        (json!({"minAmount": 20.01}), &["2026-02-01", "2026-01-05"]),
        (json!({"search": "TRAIN"}), &["2026-02-02"]),
        (json!({"startDate": "2026-01-20", "endDate": "2026-02-01"}), &["2026-02-01", "2026-01-20"]),
        (json!({"limit": 1, "offset": 1}), &["2026-02-01"]),
        (json!({"offset": 4}), &[]),
    ] {
        assert_eq!(names(arguments.clone()), dates, "{arguments}");
    }
    let summary = hob.result("expense_summary", json!({"period": "all"}));
    let food = summary["byCategory"].as_array().unwrap().iter().find(|c| c["category"] == "food").unwrap();
    assert_eq!(food["total"].as_f64(), Some(80.0), "{summary}");
    let shares: f64 = summary["byCategory"].as_array().unwrap().iter().map(|c| c["share"].as_f64().unwrap()).sum();
    assert!((shares - 100.0).abs() < 0.5, "{summary}");
    let months: Vec<&str> =
        summary["byMonth"].as_array().unwrap().iter().map(|m| m["month"].as_str().unwrap()).collect();
    assert_eq!(months.len(), 2, "{summary}");
    assert!(["2026-01", "2026-02"].iter().all(|month| months.contains(month)), "{summary}");
    // A table calculation does not take what was typed for a formula, and reads the rest as it was.
    let csv = hob.result("export_expenses", json!({"format": "csv"}));
    let text = csv["content"].as_str().unwrap();
    assert!(csv["count"] == 4 && text.contains("'=SUM(A1:A9)"), "{text}");
    assert!(text.contains("\"Train \"\"first class\"\"\"") && text.contains("\"Rent\nfebruary\""), "{text}");
    assert!(!text.contains(",=") && !text.contains("\n="), "{text}");
    let export = hob.result("export_expenses", json!({"format": "json", "category": "housing"}));
    let rows: Value = serde_json::from_str(export["content"].as_str().unwrap()).unwrap();
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["description"]), (1, &json!("Rent\nfebruary")));
}

#[test]
fn periods_begin_and_end_where_the_household_lives() {
    let zone = "Pacific/Kiritimati";
    let hob = Hob::with(Setup { config: format!("time_zone = \"{zone}\""), ..Setup::default() });
    let today = || Timestamp::now().to_zoned(TimeZone::get(zone).unwrap()).date();
    let before = today();
    let kept = hob.result("add_expense", json!({"amount": 7, "category": "food", "description": "breadfruit"}));
    let day = kept["date"].as_str().unwrap().parse().unwrap();
    assert!((before..=today()).contains(&day), "{kept}");
    let tomorrow = day.checked_add(1.day()).unwrap();
    hob.result("add_expense", json!({"amount": 9, "category": "food", "description": "later", "date": tomorrow}));
    if today() == day {
        let told = hob.result("expense_summary", json!({"period": "today"}));
        assert_eq!(told["totals"][0]["total"].as_f64(), Some(7.0), "{told}");
        assert_eq!((&told["period"]["from"], &told["period"]["to"]), (&json!(day), &json!(day)));
    }
}

#[test]
fn a_goal_is_reached_step_by_step() {
    let mut hob = Hob::start();
    let goal = hob.result("create_goal", json!({"title": "Build a boat", "priority": 9}))["id"].take();
    hob.result("create_goal", json!({"title": "Learn Danish", "priority": 2}));
    // Without steps it says what it wants.
    let asked = hob.call("decompose_goal", json!({"goalId": goal})).data(200);
    assert!(asked.to_string().contains("steps"), "{asked}");
    let steps = json!(["Buy planks", {"title": "Draw a plan", "description": "On paper"},
                       {"title": "Find a slip", "type": "goal"}]);
    hob.result("decompose_goal", json!({"goalId": "build a boat", "steps": steps}));
    let details = |hob: &Hob| hob.result("get_goal_details", json!({"goalId": "Build a boat"}));
    let whole = details(&hob);
    assert_eq!(whole["steps"].as_array().map(Vec::len), Some(2), "{whole}");
    assert!(whole.to_string().contains("Find a slip"), "{whole}");
    let next = hob.result("get_next_actions", json!({}));
    assert!(next.to_string().contains("Buy planks") && !next.to_string().contains("Draw a plan"), "{next}");
    let done = hob.call("complete_step", json!({"stepId": "buy planks", "result": "Larch"})).data(200);
    assert_eq!(done["result"]["goal"]["progress"], 33, "one of two steps and a goal: {done}");
    hob.kill();
    hob.start_again();
    assert!(hob.result("get_next_actions", json!({})).to_string().contains("Draw a plan"));
    let done = hob.call("complete_step", json!({"stepId": "Draw a plan"})).data(200);
    assert_eq!(done["result"]["goal"]["progress"], 66, "{done}");
    hob.result("update_goal", json!({"goalId": goal, "status": "completed"}));
    let stats = hob.result("goal_stats", json!({}));
    assert_eq!(
        (&stats["total"], &stats["stepsDone"], &stats["stepsOpen"]),
        (&json!(3), &json!(2), &json!(0)),
        "{stats}"
    );
    assert_eq!((&stats["byStatus"]["completed"], &stats["byStatus"]["active"]), (&json!(1), &json!(2)), "{stats}");
    // A goal does not end up above itself.
    let slip = hob.result("list_goals", json!({"parentId": goal}))["goals"][0]["id"].take();
    for parent in [&goal, &slip] {
        hob.call("update_goal", json!({"goalId": goal, "parentId": parent})).refusal(400, "bad_args");
    }
    // What was below it comes up, and its steps are gone.
    hob.result("delete_goal", json!({"goalId": goal}));
    let left = hob.result("get_goal_details", json!({"goalId": slip}));
    assert!(left["goal"]["parentId"].is_null() && !left.to_string().contains(goal.as_str().unwrap()), "{left}");
    hob.call("complete_step", json!({"stepId": "Draw a plan"})).refusal(404, "not_found");
    for (tool, arguments) in [
        ("create_goal", json!({"title": "x", "priority": 11})),
        ("create_goal", json!({"title": " "})),
        ("update_goal", json!({"goalId": slip, "progress": 101})),
        ("update_goal", json!({"goalId": slip, "status": "dreamt"})),
        ("decompose_goal", json!({"goalId": slip, "steps": [{"type": "step"}]})),
        ("decompose_goal", json!({"goalId": slip, "steps": [""]})),
        ("list_goals", json!({"status": "dreamt"})),
    ] {
        hob.call(tool, arguments).refusal(400, "bad_args");
    }
    hob.call("create_goal", json!({"title": "x", "parentId": NOTHING})).refusal(404, "not_found");
}

#[test]
fn a_state_is_somebody_s_and_stays() {
    let mut hob = Hob::start();
    let [anna, ben] = ["anna", "ben"].map(|name| Person::new(&hob, name, "member"));
    let deep = json!({"list": [1, 2.5, null, {"ü": "漢"}], "empty": {}, "big": 9_007_199_254_740_993_i64});
    assert_eq!(anna.result("set_state", json!({"key": "a.b", "value": deep}))["ok"], true);
    ben.result("set_state", json!({"key": "a.b", "value": "of Ben"}));
    ben.result("set_state", json!({"key": "a.c", "value": false}));
    ben.result("set_state", json!({"key": "b", "value": 0}));
    assert_eq!(anna.result("get_state", json!({"key": "a.b"}))["value"], deep);
    assert_eq!(ben.result("list_state_keys", json!({"prefix": "a."}))["keys"], json!(["a.b", "a.c"]));
    assert_eq!(anna.result("list_state_keys", json!({}))["keys"], json!(["a.b"]));
    assert_eq!(anna.result("delete_state", json!({"key": "a.c"}))["deleted"], false);
    assert_eq!(ben.result("delete_state", json!({"key": "a.c"}))["deleted"], true);
    for wrong in [
        json!({"key": "", "value": 1}),
        json!({"key": "k".repeat(257), "value": 1}),
        json!({"key": "k"}),
        json!({"key": "k", "value": "x".repeat(64 << 10)}),
    ] {
        anna.call("set_state", wrong).refusal(400, "bad_args");
    }
    let token = hob.token("anna", "member");
    hob.kill();
    hob.start_again();
    let body = json!({"arguments": {"key": "a.b"}});
    let kept = hob.request("POST", "/api/v1/tools/get_state/execute").bearer(&token).json(&body).send().data(200);
    assert_eq!(kept["result"]["value"], deep);
}
