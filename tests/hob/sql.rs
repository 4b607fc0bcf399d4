//! The agent's SQL database from outside: results, refusals, approvals, people, files in and out, and kills.

use crate::{
    approvals::{asked, decide, questions, that_waits},
    everyday::Person,
    harness::{Dice, Hob, TOKEN, until},
    http::{Request, read_status},
    killed::{dice, number},
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufReader, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

fn sql(hob: &Hob, sql: &str) -> Value {
    hob.result("db_sql", json!({"sql": sql}))
}

#[test]
fn results_are_as_documented() {
    let hob = Hob::start();
    assert_eq!(hob.result("db_schema", json!({})), json!({"tables": []}));
    let made = sql(&hob, "CREATE TABLE runs (id INTEGER PRIMARY KEY, day TEXT NOT NULL, km REAL)");
    assert_eq!(made, json!({"changes": 0, "last_insert_rowid": 0}));
    let insert = "INSERT INTO runs (day, km) VALUES (?, ?), (?, ?)";
    let params = json!(["2026-11-19", 7.5, "2026-11-20", null]);
    let inserted = hob.result("db_sql", json!({"sql": insert, "params": params}));
    assert_eq!(inserted, json!({"changes": 2, "last_insert_rowid": 2}));
    let rows = sql(&hob, "SELECT day, km FROM runs ORDER BY id");
    let expected = json!({"columns": ["day", "km"], "rows": [["2026-11-19", 7.5], ["2026-11-20", null]], "row_count": 2, "truncated": false});
    assert_eq!(rows, expected);
    let column =
        |name: &str, kind: &str, notnull, pk| json!({"name": name, "type": kind, "notnull": notnull, "pk": pk});
    let columns =
        [column("id", "INTEGER", false, true), column("day", "TEXT", true, false), column("km", "REAL", false, false)];
    assert_eq!(
        hob.result("db_schema", json!({})),
        json!({"tables": [{"name": "runs", "columns": columns, "row_count": 2}]})
    );
    for (given, expected) in [
        (json!(9007199254740992_i64), json!(9007199254740992_i64)),
        (json!(9007199254740993_i64), json!("9007199254740993")),
        (json!(i64::MIN), json!("-9223372036854775808")),
        (json!(true), json!(1)),
        (json!("ünd"), json!("ünd")),
        (json!({"base64": "AP8="}), json!({"base64": "AP8="})),
        (json!([1, {"a": 2}]), json!("[1,{\"a\":2}]")),
        (json!(1.5), json!(1.5)),
    ] {
        let told = hob.result("db_sql", json!({"sql": "SELECT ?", "params": [given]}));
        assert_eq!(told["rows"][0][0], expected, "{given}");
    }
    assert_eq!(
        sql(&hob, "SELECT 9e999, -9e999, NULL, CAST(x'ff41' AS TEXT)")["rows"],
        json!([["Infinity", "-Infinity", null, "\u{fffd}A"]])
    );
    let many =
        sql(&hob, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000) SELECT n FROM c");
    assert_eq!((&many["row_count"], &many["truncated"]), (&json!(1000), &json!(true)));
    let long = sql(&hob, "SELECT printf('%.*c', 100000, 'x'), zeroblob(100000)");
    assert_eq!(long["truncated"], true);
    assert!(long["rows"][0][0].as_str().unwrap().ends_with("… (cut: 100000 bytes in all)"));
    assert_eq!(long["rows"][0][1]["bytes"], 100_000);
    // What it said of custom tables: they are read by name, and joined.
    let columns = json!([{"name": "day", "type": "date"}, {"name": "rain", "type": "boolean"}]);
    hob.result("create_custom_table", json!({"table": "weather", "columns": columns}));
    hob.result("add_custom_record", json!({"table": "weather", "data": {"day": "2026-11-19", "rain": true}}));
    let joined = sql(&hob, "SELECT km, rain FROM runs JOIN weather USING (day)");
    assert_eq!(joined["rows"], json!([[7.5, 1]]));
    assert_eq!(hob.result("db_schema", json!({}))["custom_tables"][0]["name"], "weather");
}

#[test]
fn every_limit_and_refusal_says_what_to_do() {
    let hob = Hob::start();
    sql(&hob, "CREATE TABLE t (a INTEGER UNIQUE, b TEXT)");
    hob.result("create_custom_table", json!({"table": "books", "columns": [{"name": "title", "type": "text"}]}));
    for (statement, expected) in [
        ("ATTACH DATABASE '/etc/passwd' AS p", "ATTACH is not possible"),
        ("DETACH DATABASE main", "DETACH is not possible"),
        ("VACUUM INTO '/tmp/hob-sql-out.db'", "VACUUM is not possible"),
        ("SELECT load_extension('/tmp/x.so')", "load_extension is not possible"),
        ("PRAGMA writable_schema = 1", "writable_schema is not possible"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode is not possible"),
        ("PRAGMA max_page_count = 99999999", "PRAGMA max_page_count is not possible"),
        ("CREATE VIRTUAL TABLE r USING rtree(id, a, b)", "full-text search is fts5"),
        ("INSERT INTO books VALUES ('1', 'Dune')", "add_custom_record"),
        ("DELETE FROM books", "delete_custom_record"),
        ("CREATE TABLE books (a)", "custom table `books`"),
    ] {
        let why = hob.call("db_sql", json!({"sql": statement})).refusal(403, "denied");
        assert!(why.contains(expected), "{statement}: {why}");
    }
    for (arguments, expected) in [
        (json!({"sql": ""}), "no statement"),
        (json!({"sql": "SELEC 1"}), "syntax error"),
        (json!({"sql": "SELECT * FROM missing"}), "no such table: missing"),
        (json!({"sql": "INSERT INTO t VALUES (1, 2), (1, 3)"}), "nothing of this call was stored"),
        (json!({"sql": "BEGIN; INSERT INTO t VALUES (5, 5)"}), "COMMIT"),
        (json!({"sql": "SELECT ?"}), "one for each ?"),
        (json!({"sql": "SELECT 1", "params": [1]}), "one for each ?"),
        (json!({"sql": "SELECT ?", "params": [{"base64": "*"}]}), "parameter 1"),
        (json!({"sql": "SELECT ?", "params": [18446744073709551615_u64]}), "parameter 1"),
        (json!({"sql": "SELECT zeroblob(5000000)"}), "4 MB"),
        (json!({"sql": format!("SELECT '{}'", "x".repeat(300_000))}), "bind long values"),
        (json!({"sql": "SELECT 1\u{0}"}), "NUL"),
        (
            json!({"sql": "SELECT randomblob(1000000) || value FROM json_each('[' || trim(replace(hex(zeroblob(500)), '0', '1,'), ',') || ']') ORDER BY 1"}),
            "memory",
        ),
        (
            json!({"sql": "CREATE TABLE big (b); INSERT INTO big WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9000) SELECT randomblob(3900) FROM c"}),
            "32 MB",
        ),
    ] {
        let shown: String = arguments.to_string().chars().take(120).collect();
        let why = hob.call("db_sql", arguments).refusal(400, "bad_args");
        assert!(why.contains(expected), "{shown}: {why}");
    }
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";
    let slow = hob.call("db_sql", json!({"sql": endless}));
    let why = slow.refusal(slow.status, "unavailable");
    assert!(slow.status < 500 && why.contains("5 s") && why.contains("index"), "{why}");
    assert_eq!(sql(&hob, "SELECT count(*) FROM t")["rows"], json!([[0]]), "nothing of them was stored");
    assert!(!fs::exists("/tmp/hob-sql-out.db").unwrap());
}

#[test]
fn each_person_has_a_database_of_their_own() {
    let hob = Hob::start();
    let (mia, guest) = (Person::new(&hob, "mia", "member"), Person::new(&hob, "guest", "viewer"));
    sql(&hob, "CREATE TABLE secret (a)");
    assert_eq!(mia.result("db_schema", json!({})), json!({"tables": []}));
    let why = mia.call("db_sql", json!({"sql": "SELECT * FROM secret"})).refusal(400, "bad_args");
    assert!(why.contains("no such table"), "{why}");
    mia.result("db_sql", json!({"sql": "CREATE TABLE mine (a)"}));
    guest.call("db_sql", json!({"sql": "CREATE TABLE mine (a)"})).refusal(403, "denied");
    assert_eq!(hob.result("db_schema", json!({}))["tables"][0]["name"], "secret");
}

#[test]
fn a_model_asks_before_it_deletes_and_not_before_it_adds() {
    let (hob, server) = that_waits(20, "");
    sql(&hob, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
    for (statement, asks) in [
        ("SELECT * FROM t", false),
        ("INSERT INTO t VALUES (3)", false),
        ("UPDATE t SET a = 4 WHERE a = 3", false),
        ("DELETE FROM t WHERE a = 1", true),
        ("CREATE TABLE u AS SELECT * FROM t; DROP TABLE t", true),
        ("UPDATE u SET a = 0", true),
        ("SELECT $a('); INSERT OR REPLACE INTO u VALUES (0); DELETE FROM u WHERE rowid = 3; SELECT $b(')", true),
        ("UPDATE u SET a = (SELECT 0 WHERE 1)", true),
    ] {
        let params = vec![0; statement.matches('$').count()];
        server.script(vec![calls(&[("db_sql", json!({"sql": statement, "params": params}))]), says("done")]);
        let before = questions(&hob, "all").len();
        thread::scope(|scope| {
            let said = scope.spawn(|| hob.say("go on"));
            if asks {
                let open = asked(&hob, 1);
                assert_eq!(
                    (open[0]["tool"].as_str(), open[0]["risk"].as_str()),
                    (Some("db_sql"), Some("destroy")),
                    "{statement}"
                );
                decide(&hob, &open[0], "allow_once");
            }
            let told = said.join().unwrap();
            assert_eq!(told["toolCalls"][0]["isError"], false, "{statement}: {told}");
        });
        assert_eq!(questions(&hob, "all").len(), before + usize::from(asks), "{statement}");
    }
    assert_eq!(sql(&hob, "SELECT count(*), sum(a) FROM u")["rows"], json!([[2, 0]]));
}

#[test]
fn a_database_goes_out_and_comes_in_as_a_file() {
    let mut hob = Hob::start();
    let none = hob.admin("GET", "/api/v1/database/export").send();
    assert!(none.refusal(404, "not_found").contains("no database yet"));
    sql(&hob, "CREATE TABLE t (a); CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('a ferry')");
    sql(&hob, "INSERT INTO t SELECT value FROM json_each('[1, 2, 3]')");
    let file = hob.data().join("out.db");
    let shown = file.display().to_string();
    assert!(hob.cli(&["db", "export", &shown]).ok().contains("wrote"));
    let bytes = fs::read(&file).unwrap();
    assert_eq!((&bytes[..16], bytes.len() % 4096), (&b"SQLite format 3\0"[..], 0));
    assert!(hob.cli(&["db", "export", &shown]).why(1).contains("exists already"));
    sql(&hob, "DELETE FROM t; DROP TABLE f");
    let before = sql(&hob, "SELECT count(*) FROM t");
    for (body, status, code, expected) in [
        (vec![], 400, "bad_args", "empty"),
        (b"hello".to_vec(), 400, "bad_args", "no SQLite database"),
        (bytes[..5000].to_vec(), 400, "bad_args", "damaged"),
        (b"SQLite format 3\0".to_vec(), 400, "bad_args", "no SQLite database"),
    ] {
        let why = hob.admin("POST", "/api/v1/database/import").body(body).send().refusal(status, code);
        assert!(why.contains(expected), "{expected}: {why}");
    }
    assert_eq!(sql(&hob, "SELECT count(*) FROM t"), before, "nothing was changed");
    let imported = hob.admin("POST", "/api/v1/database/import?vouch=true").body(bytes.clone()).send().data(200);
    assert_eq!(imported["tables"], json!([{"name": "f", "rows": 1}, {"name": "t", "rows": 3}]));
    assert_eq!(
        sql(&hob, "SELECT (SELECT sum(a) FROM t), count(*) FROM f WHERE f MATCH 'ferry'")["rows"],
        json!([[6, 1]])
    );
    // Everybody replaces their own; who only looks has none.
    let (mia, guest) = (hob.token("mia", "member"), hob.token("guest", "viewer"));
    let send = |token: &str| hob.request("POST", "/api/v1/database/import").bearer(token).body(bytes.clone()).send();
    assert_eq!(send(&mia).status, 200);
    send(&guest).refusal(403, "denied");
    assert!(hob.cli(&["db", "import", &shown]).ok().contains("2 tables"));
    // After a restart, in a backup, and for the doctor.
    hob.kill();
    hob.start_again();
    assert_eq!(sql(&hob, "SELECT sum(a) FROM t")["rows"], json!([[6]]));
    let backup = hob.data().join("all.hob").display().to_string();
    hob.cli(&["backup", &backup]).ok();
    sql(&hob, "DELETE FROM t");
    assert_eq!(hob.stop(), Some(0));
    assert!(hob.cli(&["doctor"]).ok().contains("every page is sound"));
    hob.cli(&["restore", &backup]).ok();
    hob.start_again();
    assert_eq!(sql(&hob, "SELECT sum(a) FROM t")["rows"], json!([[6]]));
    hob.assert_alive();
}

#[test]
fn one_file_comes_in_at_a_time() {
    let hob = Hob::start();
    sql(&hob, "CREATE TABLE t (a)");
    let bytes = hob.admin("GET", "/api/v1/database/export").send().body;
    let send = || hob.admin("POST", "/api/v1/database/import").body(bytes.clone()).send();
    // The daemon asks for the body when nobody else imports.
    let mut slow = BufReader::new(TcpStream::connect(("127.0.0.1", hob.port)).unwrap());
    let head = format!(
        "POST /api/v1/database/import HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nExpect: 100-continue\r\n\
         Content-Length: 9999\r\n\r\n"
    );
    slow.get_mut().write_all(head.as_bytes()).unwrap();
    assert_eq!(read_status(&mut slow), 100);
    let second = send();
    let why = second.refusal(second.status, "unavailable");
    assert!(second.status < 500 && why.contains("another database is being imported"), "{why}");
    drop(slow);
    until("the next import is taken", || send().status == 200);
}

/// Transfers between accounts until the daemon is gone; the number of acknowledged ones.
fn transfer(port: u16, from: u64, dice: &mut Dice) -> u64 {
    let mut done = from;
    loop {
        let amount = dice.below(50);
        let padding = if dice.below(4) == 0 { 40_000 } else { 20 };
        let statement = format!(
            "UPDATE account SET amount = amount - {amount} WHERE id = 1; UPDATE account SET amount = amount + {amount} WHERE id = 2; \
             INSERT INTO entry (n, text) VALUES ({}, hex(randomblob({padding}))); DELETE FROM entry WHERE n < {}",
            done + 1,
            (done + 1).saturating_sub(30)
        );
        let request = Request::new(port, "POST", "/api/v1/tools/db_sql/execute").bearer(TOKEN);
        match request.json(&json!({"arguments": {"sql": statement}})).try_send() {
            Ok(reply) if reply.status == 200 => done += 1,
            Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
            Err(_) => return done,
        }
    }
}

/// `cargo test` kills the daemon 25 times; `SQL_KILLS=100` as often as given.
#[test]
fn no_kill_loses_or_halves_a_transaction() {
    let (kills, mut hob, mut dice) = (number("SQL_KILLS").unwrap_or(25), Hob::start(), dice("sql"));
    sql(
        &hob,
        "CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO account VALUES (1, 1000), (2, 1000)",
    );
    sql(&hob, "CREATE TABLE entry (n INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON entry (text)");
    let mut done = 0;
    for round in 0..kills {
        let (port, pause) = (hob.port, Duration::from_micros(dice.below(150_000)));
        let known = thread::scope(|scope| {
            let work = scope.spawn(|| transfer(port, done, &mut dice));
            thread::sleep(pause);
            hob.kill();
            work.join().unwrap()
        });
        hob.assert_sound();
        hob.start_again();
        hob.assert_agrees();
        let state = sql(&hob, "SELECT (SELECT sum(amount) FROM account), max(n), min(n), count(*) FROM entry");
        let row: Vec<u64> =
            state["rows"][0].as_array().unwrap().iter().map(|n| n.as_u64().unwrap_or_default()).collect();
        assert_eq!(row[0], 2000, "round {round}: half a transaction");
        assert!(
            row[1] == known || row[1] == known + 1,
            "round {round}: {known} were acknowledged, {} are there",
            row[1]
        );
        assert_eq!(row[3], if row[1] == 0 { 0 } else { row[1] - row[2] + 1 }, "round {round}: {row:?}");
        assert_eq!(sql(&hob, "PRAGMA integrity_check")["rows"], json!([["ok"]]), "round {round}");
        done = row[1];
    }
    println!("{kills} kills, {done} transactions");
    assert!(done > kills / 2, "too little to mean anything: {done}");
    assert_eq!(hob.stop(), Some(0));
    assert!(hob.cli(&["doctor"]).ok().contains("every page is sound"));
}
