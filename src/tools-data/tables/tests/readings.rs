//! Tests of readings: logging them, and what they come to.

use crate::testing::{ask, cx, fault, ok, said};
use store::Store;
use tool::prelude::*;

async fn table(store: &Store, name: &str, columns: Value) {
    ok(store, "create_custom_table", json!({"table": name, "columns": columns})).await;
}

#[tokio::test]
async fn readings_are_logged_and_summed_up() {
    let store = Store::in_memory().unwrap();
    let columns = json!([{"name": "day", "type": "date"}, {"name": "upper", "type": "number"}, {"name": "lower", "type": "number"},
                         {"name": "who", "type": "text"}]);
    table(&store, "blood_pressure", columns).await;
    for (values, date) in [([142.0, 80.0], "2026-11-18"), ([138.0, 78.5], "2026-11-19")] {
        ok(&store, "log_reading", json!({"table": "blood pressure", "values": values, "date": date})).await;
    }
    let log = json!({"table": "pressure", "values": [131], "note": "left arm"});
    let logged = ok(&store, "log_reading", log).await;
    assert_eq!(logged.say.unwrap(), "I logged 131 (left arm) in the table blood pressure.");
    assert_eq!(logged.content["data"], json!({"day": "2026-11-20", "upper": 131.0, "lower": null, "who": "left arm"}));
    let asked = |measure: &str| json!({"table": "my blood pressure readings", "measure": measure});
    for (measure, wanted) in [
        ("average", "The average is 137, of 3 readings in the table blood pressure."),
        ("highest", "The highest is 142 (on Wednesday) in the table blood pressure."),
        ("lowest", "The lowest is 131 (today, left arm) in the table blood pressure."),
        ("last", "The last reading is 131 (today, left arm) in the table blood pressure."),
        ("total", "The total is 411, of 3 readings in the table blood pressure."),
    ] {
        let told = said(&store, "summarize_readings", asked(measure)).await;
        assert_eq!(told.split(" (").next(), wanted.split(" (").next(), "{told}");
    }
    let change = said(&store, "summarize_readings", asked("change")).await;
    assert!(change.starts_with("The change is -11, from 142"), "{change}");
    let lower = json!({"table": "blood pressure", "column": "lower", "measure": "average"});
    assert_eq!(ok(&store, "summarize_readings", lower).await.content["average"], json!(79.25));
    let since = json!({"table": "blood pressure", "measure": "count", "since": "2026-11-19"});
    assert_eq!(ok(&store, "summarize_readings", since).await.content["count"], 2);
    let of = json!({"table": "blood pressure", "search": "left", "measure": "total"});
    assert_eq!(ok(&store, "summarize_readings", of).await.content["total"], json!(131.0));
}

#[tokio::test]
async fn a_table_is_found_by_its_words_or_not_at_all() {
    let store = Store::in_memory().unwrap();
    table(&store, "run_times", json!([{"name": "minutes", "type": "number"}])).await;
    table(&store, "gas_meter", json!([{"name": "units", "type": "number"}])).await;
    table(&store, "water_meter", json!([{"name": "units", "type": "number"}])).await;
    ok(&store, "log_reading", json!({"table": "meter gas", "values": [30541]})).await;
    let none = said(&store, "summarize_readings", json!({"table": "run", "measure": "lowest"})).await;
    assert_eq!(none, "There are no readings in the table run times yet.");
    for (table, wanted) in [("sleep", "no table `sleep`"), ("meter", "several tables")] {
        let text = fault(ask(&store, &cx(), "log_reading", json!({"table": table, "values": [1]})).await);
        assert!(text.contains(wanted), "{text}");
    }
    let new = json!({"table": "hot tub", "values": [7.4], "create": true});
    assert_eq!(said(&store, "log_reading", new).await, "I logged 7.4 in the new table hot tub.");
    let again = json!({"table": "hot tub", "values": [7.6], "create": true});
    assert_eq!(said(&store, "log_reading", again).await, "I logged 7.6 in the table hot tub.");
    let average = json!({"table": "hot tub", "measure": "average"});
    assert_eq!(ok(&store, "summarize_readings", average).await.content["average"], json!(7.5));
    let many = fault(ask(&store, &cx(), "log_reading", json!({"table": "run times", "values": [1, 2]})).await);
    assert!(many.contains("one column for numbers"), "{many}");
}
