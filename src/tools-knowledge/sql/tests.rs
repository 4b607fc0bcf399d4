//! The tools by name: what a policy sees of a call, and sentences.

use super::family;
use sql::{Databases, NoTables};
use std::sync::Arc;
use store::Store;
use tool::{Channel, Cx, FixedClock, Ports, Principal, Tool, Via, prelude::*};

fn cx() -> Cx {
    let now: jiff::Zoned = "2026-11-20T14:30:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

fn tool(databases: &Databases, name: &str) -> Tool {
    family(databases).into_parts().tools.into_iter().find(|tool| &*tool.name == name).unwrap()
}

async fn said(databases: &Databases, name: &str, args: Value) -> String {
    (tool(databases, name).run)(cx(), args).await.unwrap().say.unwrap()
}

#[test]
fn a_policy_sees_what_a_call_does() {
    let tool = tool(&Databases::new(&Store::in_memory().unwrap(), Arc::new(NoTables)), "db_sql");
    for (sql, risk, additive) in [
        ("SELECT * FROM t", Risk::Write, true),
        ("INSERT INTO t VALUES (1)", Risk::Write, true),
        ("UPDATE t SET a = 1 WHERE b", Risk::Write, false),
        ("DELETE FROM t", Risk::Destroy, false),
        ("SELECT 1; DROP TABLE t", Risk::Destroy, false),
        // `run` refuses it unread.
        (&format!("DROP TABLE t{}", " ".repeat(sql::SQL_BYTES)), Risk::Write, true),
    ] {
        let args = json!({"sql": sql});
        assert_eq!(tool.risk_of(&cx(), &args), risk, "{sql}");
        assert_eq!(tool.additive.as_ref().unwrap()(&cx(), &args), additive, "{sql}");
    }
}

#[tokio::test]
async fn results_are_said_in_sentences() {
    let all = Databases::new(&Store::in_memory().unwrap(), Arc::new(NoTables));
    assert_eq!(said(&all, "db_schema", json!({})).await, "The database has no tables yet.");
    let insert = "CREATE TABLE boats (name, length); INSERT INTO boats VALUES ('Heron', 7.5), ('Teal', NULL)";
    for (sql, sentence) in [
        (insert, "I changed 2 rows."),
        ("CREATE INDEX i ON boats (name)", "That is done."),
        ("SELECT count(*) FROM boats", "One row: 2."),
        ("SELECT * FROM boats WHERE 0", "There are no rows."),
        ("SELECT * FROM boats", "2 rows:\n- Name Heron, length 7.5\n- Name Teal, length nothing"),
        ("SELECT value FROM json_each('[1,2,3,4,5,6,7]')", "7 rows, the first are:\n- 1\n- 2\n- 3\n- 4\n- 5"),
    ] {
        assert_eq!(said(&all, "db_sql", json!({"sql": sql})).await, sentence, "{sql}");
    }
    assert_eq!(said(&all, "db_schema", json!({})).await, "The database has one table: boats (2 rows).");
    let many: String = (0..300).map(|n| format!("CREATE TABLE t{n:03} (a);")).collect();
    said(&all, "db_sql", json!({"sql": many})).await;
    let sentence = said(&all, "db_schema", json!({})).await;
    assert!(
        sentence.starts_with("The database has 301 tables, the first are:\n- Boats (2 rows)\n- T000 (0 rows)"),
        "{sentence}"
    );
}
