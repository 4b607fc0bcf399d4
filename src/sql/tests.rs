//! Tests of whole calls: results, limits, refusals, commits, import and export.

use crate::{
    Answer, ColumnInfo, Databases, EachRow, Error, ForeignTables, Imported, NoTables, Query, SqlValue, TableInfo,
    deadline::Deadline, page_file::CHANGED_PAGES, run::ROWS, transfer, value::ANSWER_BYTES,
};
use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{Level, Record, Store};
use tool::{AgentId, Channel, Cx, FixedClock, Id, Label, Ports, Principal, Role, UserId, Via};

pub(crate) fn cx() -> Cx {
    let now: jiff::Zoned = "2026-11-20T14:30:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

fn other() -> Cx {
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    let now: jiff::Zoned = "2026-11-20T14:30:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), principal, Via::direct(Channel::Api))
}

fn databases() -> Databases {
    Databases::new(&Store::in_memory().unwrap(), Arc::new(NoTables))
}

pub(crate) async fn ask_as(databases: &Databases, cx: &Cx, sql: &str, params: &[SqlValue]) -> crate::Result<Answer> {
    databases.run(cx, "test", Query { sql: sql.into(), params: params.to_vec() }).await
}

async fn ask(databases: &Databases, sql: &str) -> crate::Result<Answer> {
    ask_as(databases, &cx(), sql, &[]).await
}

async fn ok(databases: &Databases, sql: &str) -> Answer {
    ask(databases, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

async fn rows(databases: &Databases, sql: &str) -> Vec<Vec<SqlValue>> {
    match ok(databases, sql).await {
        Answer::Rows { rows, .. } => rows,
        other => panic!("{sql}: {other:?}"),
    }
}

async fn number(databases: &Databases, sql: &str) -> i64 {
    match rows(databases, sql).await.as_slice() {
        [row] if matches!(row[..], [SqlValue::Integer(_)]) => match row[0] {
            SqlValue::Integer(number) => number,
            _ => unreachable!(),
        },
        other => panic!("{sql}: {other:?}"),
    }
}

async fn import(databases: &Databases, file: PathBuf, vouched: bool) -> crate::Result<Imported> {
    databases.import(&cx(), "test", file, (vouched, databases.import_permit()?)).await
}

async fn problems(databases: &Databases) -> Vec<String> {
    databases.check(Duration::from_secs(5)).unwrap().problems
}

fn changed(changes: u64, last_insert_rowid: i64) -> Answer {
    Answer::Changed { changes, last_insert_rowid }
}

fn text(text: &str) -> SqlValue {
    SqlValue::Text(text.into())
}

#[tokio::test]
async fn statements_read_and_write_and_several_are_one_transaction() {
    let all = databases();
    assert_eq!(number(&all, "SELECT 6 * 7").await, 42);
    assert_eq!(ok(&all, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)").await, changed(0, 0));
    let values = [text("x"), text("y")];
    let insert = "INSERT INTO t (a) VALUES (?); INSERT INTO t (a) VALUES (?);";
    assert_eq!(ask_as(&all, &cx(), insert, &values).await.unwrap(), changed(2, 2));
    assert_eq!(ok(&all, "UPDATE t SET a = 'z' WHERE id > 0").await, changed(2, 0), "rows that change");
    let answer = ok(&all, "INSERT INTO t (a) VALUES ('r') RETURNING id, a").await;
    let expected = Answer::Rows {
        columns: vec!["id".into(), "a".into()],
        rows: vec![vec![SqlValue::Integer(3), text("r")]],
        truncated: false,
    };
    assert_eq!(answer, expected);
    // A statement that fails takes back those before it.
    let failed = ask(&all, "DELETE FROM t; INSERT INTO t (id) VALUES (1), (1)").await.unwrap_err();
    assert!(matches!(&failed, Error::Sql(text) if text.contains("UNIQUE") && text.contains("nothing")), "{failed}");
    assert_eq!(number(&all, "SELECT count(*) FROM t").await, 3);
    // Also a transaction of the caller.
    ok(&all, "BEGIN; DELETE FROM t WHERE id = 1; ROLLBACK; BEGIN; DELETE FROM t WHERE id = 2; COMMIT").await;
    assert_eq!(number(&all, "SELECT group_concat(id) = '1,3' FROM t").await, 1);
    ok(
        &all,
        "BEGIN IMMEDIATE; INSERT INTO t VALUES (9, 'i'); COMMIT; SAVEPOINT s; DELETE FROM t WHERE id = 9; RELEASE s",
    )
    .await;
    for (sql, expected) in [
        ("BEGIN; DELETE FROM t", "end it with COMMIT"),
        ("DELETE FROM t; COMMIT", "BEGIN of your own"),
        ("DELETE FROM t; BEGIN", "within a transaction"),
        ("BEGIN; DELETE FROM t WHERE id = 3; COMMIT; nonsense", "up to the last COMMIT"),
        ("BEGIN; UPDATE t SET a = 'k' WHERE id = 1; COMMIT; INSERT INTO t VALUES (1, 1)", "up to the last COMMIT"),
        ("DELETE FROM t; nonsense", "nothing of this call was stored"),
    ] {
        let error = ask(&all, sql).await.unwrap_err().to_string();
        assert!(error.contains(expected) && error.matches("stored").count() == 1, "{sql}: {error}");
    }
    assert_eq!(number(&all, "SELECT count(*) FROM t WHERE a = 'k'").await, 1);
    let read = ask(&all, "SELECT nonsense").await.unwrap_err().to_string();
    assert!(!read.contains("stored"), "{read}");
    // Everybody has a database of their own.
    let theirs = ask_as(&all, &other(), "SELECT * FROM t", &[]).await.unwrap_err();
    assert!(theirs.to_string().contains("no such table"), "{theirs}");
}

#[tokio::test]
async fn full_text_search_json_and_indexes_work() {
    let all = databases();
    ok(&all, "CREATE VIRTUAL TABLE f USING fts5(title, body); INSERT INTO f VALUES ('Lake', 'a ferry at noon'), ('Hill', 'no boat')")
        .await;
    assert_eq!(rows(&all, "SELECT title FROM f WHERE f MATCH 'fer*'").await, [[text("Lake")]]);
    ok(&all, "UPDATE f SET body = 'a bus' WHERE title = 'Lake'; DELETE FROM f WHERE title = 'Hill'").await;
    assert_eq!(number(&all, "SELECT count(*) FROM f WHERE f MATCH 'ferry OR boat'").await, 0);
    assert_eq!(number(&all, "SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]')").await, 2);
    assert_eq!(number(&all, "SELECT sum(value) FROM json_each('[1, 2, 3]')").await, 6);
    let fill = "INSERT INTO f WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20) SELECT n, hex(randomblob(9)) FROM c";
    for _ in 0..60 {
        // Merges segments, which deletes rows of its own tables.
        ok(&all, fill).await;
    }
    ok(&all, "INSERT INTO f(f) VALUES ('optimize')").await;
    assert_eq!(number(&all, "SELECT count(*) FROM f WHERE f MATCH '7'").await, 60);
    ok(&all, "DELETE FROM f WHERE title <> 'Lake'").await;
    ok(&all, "CREATE TABLE n (v); CREATE INDEX i ON n (trim(v)); INSERT INTO n VALUES (' a ')").await;
    assert_eq!(number(&all, "SELECT count(*) FROM n WHERE trim(v) = 'a'").await, 1);
    let (tables, _) = all.schema(&cx()).await.unwrap();
    let names: Vec<_> = tables.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    assert_eq!(names, [("f", 1), ("n", 1)], "without the tables behind a virtual one");
}

#[tokio::test]
async fn values_come_back_as_they_are_and_results_are_bounded() {
    let all = databases();
    let values = [
        SqlValue::Null,
        SqlValue::Integer(i64::MIN),
        SqlValue::Real(-0.5),
        SqlValue::Real(f64::INFINITY),
        text("ü\u{1f6a2}"),
        SqlValue::Blob(vec![0, 255]),
    ];
    let answer = ask_as(&all, &cx(), "SELECT ?, ?, ?, ?, ?, ?", &values).await.unwrap();
    assert!(matches!(answer, Answer::Rows { rows, truncated: false, .. } if rows == [values]));
    let counting = |n: usize, of: &str| {
        format!("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {n}) SELECT {of} FROM c")
    };
    for (sql, length, cut) in [
        (counting(ROWS, "n"), ROWS, false),
        (counting(ROWS + 1, "n"), ROWS, true),
        (counting(1000, "printf('%.*c', 1000, 'x')"), ANSWER_BYTES / 1002 + 1, true),
        ("SELECT zeroblob(4000000)".into(), 1, true),
        ("SELECT printf('%.*c', 9000, 'x')".into(), 1, true),
        (format!("SELECT {}", vec!["zeroblob(4000)"; 900].join(", ")), 1, true),
    ] {
        let Answer::Rows { rows, truncated, .. } = ok(&all, &sql).await else { panic!("{sql}") };
        assert_eq!((rows.len(), truncated), (length, cut), "{}", &sql[..sql.len().min(80)]);
        let size: usize = rows.iter().flatten().map(SqlValue::size).sum();
        assert!(size < 3 * ANSWER_BYTES, "{size}");
    }
    let euro = rows(&all, "SELECT replace(hex(zeroblob(4000)), '00', '€')").await;
    assert!(matches!(&euro[0][0], SqlValue::CutText(text, 12000) if text.chars().all(|c| c == '€')));
    let count = ok(&all, &format!("CREATE TABLE t (n); INSERT INTO t {} RETURNING n", counting(1500, "n"))).await;
    assert!(matches!(count, Answer::Rows { rows, truncated: true, .. } if rows.len() == ROWS));
    assert_eq!(number(&all, "SELECT count(*) FROM t").await, 1500, "all are inserted");
}

#[tokio::test]
async fn what_is_dangerous_is_refused_with_a_reason() {
    let all = databases();
    ok(&all, "CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIRTUAL TABLE f USING fts5(x)").await;
    for (sql, expected) in [
        ("ATTACH DATABASE '/tmp/x.db' AS x", "ATTACH is not possible"),
        ("ATTACH ':memory:' AS x", "ATTACH is not possible"),
        ("DETACH main", "DETACH is not possible"),
        ("VACUUM", "VACUUM is not possible"),
        ("/* x */ vacuum into '/tmp/x.db'", "VACUUM is not possible"),
        ("SELECT load_extension('x')", "load_extension is not possible"),
        ("PRAGMA writable_schema = ON", "writable_schema is not possible"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode is not possible"),
        ("PRAGMA page_size = 512", "can be read, and not set"),
        ("PRAGMA max_page_count = 1000000", "is not possible"),
        ("PRAGMA hard_heap_limit = 0", "is not possible"),
        ("PRAGMA temp_store_directory = '/'", "is not possible"),
        ("SELECT * FROM pragma_journal_mode", "is not possible"),
        ("CREATE VIRTUAL TABLE v USING fts3(x)", "full-text search is fts5"),
        ("CREATE VIRTUAL TABLE v USING dbstat", "full-text search is fts5"),
        ("SELECT json_patch('{}', '{}')", "json_patch is not possible"),
        ("SELECT snippet(f, 0, '', '', '', 9) FROM f WHERE f MATCH 'a'", "Use highlight"),
    ] {
        let error = ask(&all, sql).await.unwrap_err();
        assert!(matches!(&error, Error::Refused(text) if text.contains(expected)), "{sql}: {error:?}");
    }
    for (sql, expected) in [
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM missing", "no such table: missing"),
        ("INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)", "may not be modified"),
        ("SELECT ?", "the call gives 0 parameters, and the statements up to here have 1 placeholder"),
        ("SELECT 1\0", "NUL"),
        ("SELECT unhex('41', ' ')", "one argument"),
        ("SELECT zeroblob(5000000)", "4 MB"),
    ] {
        let error = ask(&all, sql).await.unwrap_err();
        assert!(matches!(&error, Error::Sql(text) if text.contains(expected)), "{sql}: {error:?}");
    }
    let more = ask_as(&all, &cx(), "SELECT 1", &[SqlValue::Null]).await.unwrap_err();
    assert!(more.to_string().contains("the call gives 1 parameter, and the statement has 0"), "{more}");
    for sql in
        ["PRAGMA table_info(t)", "PRAGMA foreign_keys", "EXPLAIN QUERY PLAN SELECT * FROM t", "PRAGMA integrity_check"]
    {
        assert!(matches!(ok(&all, sql).await, Answer::Rows { .. }), "{sql}");
    }
    assert!(!PathBuf::from("/tmp/x.db").exists());
}

#[tokio::test]
async fn time_memory_and_size_are_limited_and_the_next_call_works() {
    let all = databases();
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)";
    let began = Instant::now();
    let error = ask(&all, &format!("{endless} SELECT count(*) FROM c")).await.unwrap_err();
    assert!(matches!(&error, Error::Busy(text) if text.contains("5 s") && text.contains("index")), "{error:?}");
    assert!(began.elapsed() >= Duration::from_secs(5), "not before");
    let error = ask(&all, &format!("{endless} SELECT randomblob(1000000) FROM c ORDER BY 1")).await.unwrap_err();
    assert!(matches!(&error, Error::Sql(text) if text.contains("memory")), "{error:?}");
    ok(&all, "CREATE TABLE big (b)").await;
    let fill = |pages: usize| {
        format!(
            "INSERT INTO big {} SELECT randomblob(3900) FROM c",
            endless.replace("FROM c)", &format!("FROM c WHERE n < {pages})"))
        )
    };
    let error = ask(&all, &fill(CHANGED_PAGES + 200)).await.unwrap_err();
    assert!(matches!(&error, Error::Sql(text) if text.contains("32 MB")), "{error:?}");
    assert_eq!(number(&all, "SELECT count(*) FROM big").await, 0);
    let mut stored = 0;
    let error = loop {
        match ask(&all, &fill(5000)).await {
            Ok(_) => stored += 5000,
            Err(error) => break error,
        }
        assert!(stored < 40_000, "100 MB is the most");
    };
    assert!(matches!(&error, Error::Sql(text) if text.contains("100 MB")), "{error:?}");
    assert!(stored >= 20_000, "{stored}");
    assert_eq!(number(&all, "SELECT count(*) FROM big").await, stored);
    ok(&all, "DELETE FROM big WHERE rowid % 5000 < 2000").await;
    ok(&all, &fill(1000)).await;
}

#[tokio::test]
async fn straight_statements_keep_to_the_time_too() {
    let began = Instant::now();
    let many = "SELECT length(hex(randomblob(2000000)));".repeat(5000);
    let column = format!("a LIKE '%{}b'", "a".repeat(250));
    let wide = format!("SELECT {} FROM (SELECT ? AS a)", vec![column; 100].join(", "));
    let globs =
        format!("SELECT {} FROM (SELECT ? AS a)", vec![format!("a GLOB '*{}b'", "a".repeat(250)); 100].join(", "));
    let long = [text(&"a".repeat(4_000_000))];
    let ask = async |sql: &str, params: &[SqlValue]| ask_as(&databases(), &cx(), sql, params).await;
    for error in <[_; 3]>::from(tokio::join!(ask(&many, &[]), ask(&wide, &long), ask(&globs, &long))) {
        assert!(matches!(&error, Err(Error::Busy(text)) if text.contains("5 s")), "{error:?}");
    }
    // Minutes without that.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[tokio::test]
async fn names_count_to_the_size_of_an_answer() {
    let all = databases();
    let named = |name: usize| format!("SELECT {}", vec![format!("1 AS \"{}\"", "n".repeat(name)); 200].join(", "));
    let error = ask(&all, &named(600)).await.unwrap_err();
    assert!(matches!(&error, Error::Sql(text) if text.contains("117 KB")), "{error:?}");
    assert_eq!(rows(&all, &named(400)).await.len(), 1);
    let tables: String = (0..203).map(|n| format!("CREATE TABLE t{n:03} (a);")).collect();
    ok(&all, &tables).await;
    let (own, _) = all.schema(&cx()).await.unwrap();
    assert_eq!((own.tables.len(), own.all, own.tables[199].name.as_str()), (200, 203, "t199"));
}

/// A table with the labels of its rows and its definition.
struct Books(Label, Label);

impl ForeignTables for Books {
    fn list(&self, _: &Cx) -> tool::Result<Vec<(TableInfo, Label)>> {
        let column = |name: &str, kind: &str| ColumnInfo {
            name: name.into(),
            kind: kind.into(),
            not_null: false,
            primary_key: name == "id",
        };
        let columns = vec![column("id", "TEXT"), column("title", "TEXT"), column("year", "NUMERIC")];
        Ok(vec![(TableInfo { name: "books".into(), columns, rows: 3 }, self.1)])
    }
    fn rows(&self, cx: &Cx, table: &str, each: EachRow) -> tool::Result<()> {
        assert_eq!(table, "books");
        cx.taint(self.0);
        for (id, title, year) in [("1", "Dune", 1965), ("2", "Emma", 1815), ("3", "Ubik", 1969)] {
            if each(vec![text(id), text(title), SqlValue::Integer(year)]) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn custom_tables_are_read_and_joined_and_never_written() {
    let all = Databases::new(&Store::in_memory().unwrap(), Arc::new(Books(Label::Outside, Label::Own)));
    let caller = cx();
    let ask = async |sql: &str| ask_as(&all, &caller, sql, &[]).await;
    ask("CREATE TABLE loans (who, title); INSERT INTO loans VALUES ('Nora', 'Dune')").await.unwrap();
    ask("SELECT 'books'").await.unwrap();
    assert_eq!(caller.label(), Label::Own, "named, and not read");
    let joined = "SELECT who, year FROM loans JOIN Books USING (title)";
    let answer = ask(joined).await.unwrap();
    assert!(matches!(answer, Answer::Rows { rows, .. } if rows == [[text("Nora"), SqlValue::Integer(1965)]]));
    assert_eq!(caller.label(), Label::Outside);
    let copied = ask("INSERT INTO loans SELECT 'Olu', title FROM books WHERE year > 1900").await.unwrap();
    assert_eq!(copied, changed(2, 3), "the row id is that of the caller's table");
    let fresh = cx();
    ask_as(&all, &fresh, "SELECT 1 FROM loans", &[]).await.unwrap();
    assert_eq!(fresh.label(), Label::Outside, "the label was stored with what was read");
    for sql in [
        "INSERT INTO books VALUES (4, 'X', 1)",
        "UPDATE books SET year = 1 WHERE id = 1",
        "DELETE FROM books",
        "DROP TABLE books",
        "ALTER TABLE books ADD COLUMN x",
        "CREATE INDEX i ON books (year)",
        "CREATE TRIGGER g AFTER INSERT ON books BEGIN SELECT 1; END",
    ] {
        let error = ask(sql).await.expect_err(sql);
        assert!(matches!(&error, Error::Refused(text) if text.contains("add_custom_record")), "{sql}: {error:?}");
    }
    for sql in ["CREATE TABLE books (a)", "CREATE VIEW books AS SELECT 1", "CREATE TEMP TABLE books (a)"] {
        let error = ask(sql).await.expect_err(sql);
        assert!(error.to_string().contains("books"), "{sql}: {error:?}");
    }
    let (own, foreign) = all.schema(&caller).await.unwrap();
    assert_eq!((own.all, foreign[0].name.as_str()), (1, "books"));
    // Who sees the definition is tainted by it.
    let all = Databases::new(&Store::in_memory().unwrap(), Arc::new(Books(Label::Own, Label::Outside)));
    let (one, other) = (cx(), cx());
    all.schema(&one).await.unwrap();
    ask_as(&all, &other, "PRAGMA table_info(books)", &[]).await.unwrap();
    assert_eq!((one.label(), other.label()), (Label::Outside, Label::Outside));
}

#[tokio::test]
async fn a_database_goes_out_as_a_file_and_comes_in_as_one() {
    let dir = std::env::temp_dir().join(format!("hob-sql-{}", Id::new()));
    std::fs::create_dir_all(&dir).unwrap();
    let all = databases();
    let missing = all.export(&cx(), dir.join("none.db")).await.unwrap_err();
    assert!(matches!(missing, Error::Missing(_)), "{missing}");
    ok(&all, "CREATE TABLE t (a, b BLOB); CREATE INDEX i ON t (a); CREATE VIRTUAL TABLE f USING fts5(x)").await;
    ok(&all, "INSERT INTO t SELECT value, randomblob(3000) FROM json_each('[1,2,3,4,5,6,7,8,9]'); INSERT INTO f VALUES ('ferry')").await;
    let sum = "SELECT group_concat(a || hex(b)) FROM t";
    let before = rows(&all, sum).await;
    let file = dir.join("out.db");
    let size = all.export(&cx(), file.clone()).await.unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().len(), size);
    // Any program with SQLite reads it.
    let plain = rusqlite::Connection::open(&file).unwrap();
    assert_eq!(plain.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    assert_eq!(
        plain.query_row("SELECT count(*) FROM f WHERE f MATCH 'ferry'", [], |row| row.get::<_, i64>(0)).unwrap(),
        1
    );
    drop(plain);

    let into = databases();
    ok(&into, "CREATE TABLE old (a); INSERT INTO old VALUES (1)").await;
    let imported = import(&into, file.clone(), true).await.unwrap();
    assert_eq!(
        imported.tables.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect::<Vec<_>>(),
        [("f", 1), ("t", 9)]
    );
    assert_eq!(rows(&into, sum).await, before);
    ok(&into, "INSERT INTO t VALUES (10, x'00'); INSERT INTO f VALUES ('boat')").await;
    assert_eq!(number(&into, "SELECT count(*) FROM t").await, 10);

    // A file of another form: small pages, a log, another encoding, automatic shrinking.
    let odd = dir.join("odd.db");
    let plain = rusqlite::Connection::open(&odd).unwrap();
    plain
        .execute_batch(
            "PRAGMA page_size = 512; PRAGMA encoding = 'UTF-16'; PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; CREATE TABLE o (a); \
             INSERT INTO o VALUES ('€');",
        )
        .unwrap();
    drop(plain);
    import(&into, odd, false).await.unwrap();
    let caller = cx();
    ask_as(&into, &caller, "SELECT a FROM o", &[]).await.unwrap();
    assert_eq!(caller.label(), Label::Outside, "nobody vouched for it");
    assert_eq!(rows(&into, "SELECT a FROM o").await, [[text("€")]]);
    ok(&into, "INSERT INTO o SELECT randomblob(2000) FROM json_each('[1,2,3,4,5,6,7,8,9]'); DELETE FROM o WHERE typeof(a) = 'blob'").await;
    into.tidy().await.unwrap();
    assert_eq!(problems(&into).await, [] as [&str; 0]);

    // What cannot be used changes nothing.
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let whole = std::fs::read(&file).unwrap();
    let mut torn = whole.clone();
    for at in (4096..torn.len()).step_by(4096) {
        torn[at..at + 64].fill(0xee);
    }
    let foreign = dir.join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE VIRTUAL TABLE r USING rtree(id, a, b)")
        .unwrap();
    for (path, expected) in [
        (write("text.db", b"hello"), "no SQLite database"),
        (write("empty.db", b""), "no SQLite database"),
        (write("torn.db", &torn), "damaged"),
        (write("short.db", &whole[..whole.len() / 2]), "damaged"),
        (write("head.db", &whole[..100]), "cannot be used"),
        (foreign, "module rtree"),
        (dir.join("missing.db"), "could not read"),
    ] {
        let error = import(&into, path, false).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(rows(&into, "SELECT a FROM o").await, [[text("€")]]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn damage_is_found_and_pages_without_a_database_are_removed() {
    let store = Store::in_memory().unwrap();
    let all = Databases::new(&store, Arc::new(NoTables));
    ok(&all, "CREATE TABLE t (a); INSERT INTO t SELECT randomblob(3000) FROM json_each('[1,2,3,4,5,6,7,8,9]')").await;
    let (stray, pages) = (Id::new(), store.databases_with_pages().unwrap()[0]);
    store.write(move |tx| tx.put_page(stray, 0, b"left by an import")).await.unwrap();
    let orphans = || all.check(Duration::from_secs(60)).unwrap().orphans;
    assert_eq!(orphans(), 1);
    // Its own pages are no orphans while an import writes them.
    let permit = all.import_permit().unwrap();
    assert_eq!(orphans(), 0);
    drop(permit);
    all.tidy().await.unwrap();
    assert_eq!(orphans(), 0);
    assert_eq!(store.databases_with_pages().unwrap(), [pages]);
    assert_eq!(problems(&all).await, [] as [&str; 0]);
    // Each page is intact, and they do not fit together. A version that was checked is not checked again.
    store.write(move |tx| tx.put_page(pages, 2, &[0x0d; 100])).await.unwrap();
    assert_eq!(problems(&all).await, [] as [&str; 0]);
    let again = Databases::new(&store, Arc::new(NoTables));
    assert_eq!(problems(&again).await.len(), 1);
    let error = ask(&again, "SELECT sum(length(a)) FROM t").await.unwrap_err();
    assert!(matches!(&error, Error::Failed(text) if text.contains("damaged")), "{error:?}");
}

/// A record under the name of a database that cannot be read as one.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Spoiled([u8; 32]);

impl Record for Spoiled {
    const NAME: &'static str = "sql-databases";
    const WORD: &'static str = "database";
    const LEVEL: Level = Level::AgentUser;
    fn keys(&self) -> Vec<store::Key> {
        vec![]
    }
}

#[tokio::test]
async fn a_damaged_record_does_not_become_an_empty_database() {
    let (store, whole) = (Store::in_memory().unwrap(), databases());
    let all = Databases::new(&store, Arc::new(NoTables));
    let dir = std::env::temp_dir().join(format!("hob-sql-{}", Id::new()));
    std::fs::create_dir_all(&dir).unwrap();
    let (file, pages) = (dir.join("out.db"), Id::new());
    ok(&whole, "CREATE TABLE t (a)").await;
    whole.export(&cx(), file.clone()).await.unwrap();
    store.write(move |tx| tx.put_page(pages, 0, b"SQLite")).await.unwrap();
    store.collection::<Spoiled>().insert(&cx(), "test", Spoiled([255; 32])).await.unwrap();
    for failed in [
        ask(&all, "CREATE TABLE u (a)").await.map(drop),
        import(&all, file, true).await.map(drop),
        all.export(&cx(), dir.join("again.db")).await.map(drop),
    ] {
        assert!(matches!(&failed, Err(Error::Failed(text)) if text.contains("hob restore")), "{failed:?}");
    }
    assert!(problems(&all).await[0].contains("record"));
    all.tidy().await.unwrap();
    assert_eq!(store.databases_with_pages().unwrap(), [pages]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_check_goes_on_where_the_time_ended() {
    let store = Store::in_memory().unwrap();
    let all = Databases::new(&store, Arc::new(NoTables));
    ok(&all, "CREATE TABLE t (a)").await;
    ask_as(&all, &other(), "CREATE TABLE t (a)", &[]).await.unwrap();
    for pages in store.databases_with_pages().unwrap() {
        store.write(move |tx| tx.put_page(pages, 1, &[0x55; 100])).await.unwrap();
    }
    // Too short for any; both are found later.
    let short = all.check(Duration::ZERO).unwrap();
    assert_eq!((short.problems.len(), short.unchecked), (0, 0));
    assert_eq!(problems(&all).await.len(), 2);
}

#[tokio::test]
async fn a_hostile_file_takes_no_long_time_and_brings_no_other_modules() {
    let dir = std::env::temp_dir().join(format!("hob-sql-{}", Id::new()));
    std::fs::create_dir_all(&dir).unwrap();
    let made = |name: &str, sql: &str| {
        let plain = rusqlite::Connection::open(dir.join(name)).unwrap();
        plain.execute_batch(sql).unwrap();
        dir.join(name)
    };
    let fill = "INSERT INTO t VALUES (replace(hex(zeroblob(1500000)), '00', 'a'), replace(hex(zeroblob(700000)), '00', 'a') || 'b')";
    let slow = format!(
        "PRAGMA ignore_check_constraints = ON; CREATE TABLE t (a, b, CHECK (instr(a, b) = 0), CHECK (length(replace(a, b, '')) > 0), \
         CHECK (NOT a LIKE '%{0}b')); {fill}",
        "a".repeat(200)
    );
    let patch = "PRAGMA ignore_check_constraints = ON; CREATE TABLE t (a CHECK (json_patch(a, a))); INSERT INTO t VALUES ('{}')";
    let spoofed = "CREATE VIRTUAL TABLE r USING rtree(id, a, b); PRAGMA writable_schema = ON; \
                   UPDATE sqlite_schema SET type = 'view' WHERE name = 'r'";
    // Each call of SQLite's own functions takes a quarter of a minute here, whatever the deadline.
    let (began, all) = (Instant::now(), databases());
    let deadline = Deadline { at: began + Duration::from_secs(1), gone: Arc::default() };
    let error = transfer::convert(&made("slow.db", &slow), &dir.join("converted.db"), deadline).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    for (name, sql, expected) in [
        ("patch.db", patch, "json_patch"),
        ("named.db", "CREATE VIRTUAL TABLE \"x using fts5 \" USING rtree(id, a, b)", "module rtree"),
        ("spoofed.db", spoofed, "damaged"),
    ] {
        let error = import(&all, made(name, sql), true).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    // A line break before USING, which `CREATE VIRTUAL TABLE` keeps.
    ok(&all, "CREATE VIRTUAL TABLE f\nUSING fts5(x); INSERT INTO f VALUES ('ferry')").await;
    all.export(&cx(), dir.join("own.db")).await.unwrap();
    import(&all, dir.join("own.db"), true).await.unwrap();
    assert_eq!(number(&all, "SELECT count(*) FROM f WHERE f MATCH 'ferry'").await, 1);
    // Pages that a transaction made and freed were never written.
    ok(&all, "CREATE TABLE h (a); INSERT INTO h VALUES (zeroblob(400000)); DELETE FROM h; INSERT INTO h VALUES (1)")
        .await;
    all.export(&cx(), dir.join("holes.db")).await.unwrap();
    import(&all, dir.join("holes.db"), true).await.unwrap();
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn calls_of_one_database_take_turns_and_a_dropped_call_stops() {
    let all = databases();
    ok(&all, "CREATE TABLE t (a)").await;
    let calls = (0..20).map(|n| {
        let all = all.clone();
        tokio::spawn(async move { ask(&all, &format!("INSERT INTO t VALUES ({n})")).await.map(drop) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(number(&all, "SELECT count(DISTINCT a) FROM t").await, 20);
    let endless = "INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c";
    let began = Instant::now();
    let dropped = tokio::time::timeout(Duration::from_millis(200), ask(&all, endless)).await;
    assert!(dropped.is_err());
    assert_eq!(number(&all, "SELECT count(*) FROM t").await, 20);
    assert!(began.elapsed() < Duration::from_secs(5), "the thread stopped before its time was over");
}
