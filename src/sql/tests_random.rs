//! Random statements: hundreds against SQLite over a plain file, with the same results; and garbage, which neither hangs nor
//! breaks anything.

use crate::{
    Answer, Databases, Error, NoTables, ROWS, SqlValue,
    tests::{ask_as, cx},
};
use rusqlite::{Batch, Connection, fallible_iterator::FallibleIterator};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use store::Store;
use tool::Id;

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % sides as u64) as usize
    }
    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.roll(choices.len())]
    }
}

const VALUES: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-7",
    "42",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "-0.25",
    "1e300",
    "9e999",
    "''",
    "'a'",
    "'Ünder'",
    "'it''s'",
    "x'00ff'",
    "x''",
    "'10'",
    "date('2026-11-20')",
    "printf('%.*c', 5000, 'x')",
    "zeroblob(3)",
    "json('[1,2,{\"a\":3}]')",
];
const COLUMNS: &[&str] = &["a", "b", "c", "d"];

fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.roll(4) == 0 {
        return if dice.roll(2) == 0 { dice.of(VALUES) } else { dice.of(COLUMNS) }.to_owned();
    }
    let (one, two) = (expression(dice, depth - 1), expression(dice, depth - 1));
    match dice.roll(14) {
        0 => format!("({one} || {two})"),
        1 => format!("coalesce({one}, {two})"),
        2 => format!("({one} {} {two})", dice.of(&["=", "<", ">=", "IS", "IS NOT", "<>", "AND", "OR"])),
        3 => format!("({one} {} {two})", dice.of(&["+", "-", "*", "/", "%", "&", "<<"])),
        4 => format!("CASE WHEN {one} THEN {two} ELSE {one} END"),
        5 => format!("typeof({one})"),
        6 => format!("length({one})"),
        7 => format!("substr({one}, {}, 3)", dice.roll(5)),
        8 => format!("instr({one}, {two})"),
        9 => format!("replace({one}, {two}, 'é')"),
        10 => format!("trim({one}, {two})"),
        11 => format!("({one} LIKE {two})"),
        12 => format!("CAST({one} AS {})", dice.of(&["TEXT", "INTEGER", "REAL"])),
        _ => format!("{}({one})", dice.of(&["abs", "upper", "hex", "quote", "unicode", "sign", "ltrim", "round"])),
    }
}

/// A statement of one of many kinds; about a tenth fails.
fn statement(dice: &mut Dice) -> String {
    let table = ["t", "u", "v"][dice.roll(3)];
    let value = |dice: &mut Dice| expression(dice, 0).replace(['a', 'b', 'c', 'd'], "1");
    match dice.roll(20) {
        0 => format!(
            "CREATE TABLE IF NOT EXISTS {table} (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c REAL CHECK (c IS NULL OR c < 1e200), d)"
        ),
        1 => format!("CREATE INDEX IF NOT EXISTS i_{table}_{0} ON {table} ({0}, d)", dice.of(COLUMNS)),
        2 => format!("DROP INDEX IF EXISTS i_{table}_{}", dice.of(COLUMNS)),
        3 => format!("CREATE VIEW IF NOT EXISTS w_{table} AS SELECT a, b || '!' AS b, c, d FROM {table}"),
        4 => format!(
            "CREATE TRIGGER IF NOT EXISTS g_{table} AFTER DELETE ON {table} BEGIN INSERT INTO log VALUES (old.a, old.b); END"
        ),
        5..=8 => {
            let rows: Vec<String> = (0..1 + dice.roll(4))
                .map(|_| {
                    format!(
                        "(NULL, {}, {}, {})",
                        dice.of(VALUES),
                        dice.of(&["NULL", "1", "2.5", "1e250"]),
                        dice.of(VALUES)
                    )
                })
                .collect();
            let how = dice.of(&["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT"]);
            format!("{how} INTO {table} VALUES {}", rows.join(", "))
        }
        9 => format!(
            "INSERT INTO {table} (b, d) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT NULL, i FROM n",
            dice.roll(300)
        ),
        10 => format!("UPDATE {table} SET d = {} WHERE {}", expression(dice, 2), expression(dice, 1)),
        11 => format!("DELETE FROM {table} WHERE a % {} = 0", 2 + dice.roll(5)),
        12 => format!(
            "INSERT INTO f VALUES ({}), ({})",
            value(dice),
            dice.of(&["'a ferry at noon'", "'no boat'", "'ferries'"])
        ),
        13 => format!(
            "SELECT rowid, text FROM f WHERE f MATCH '{}' ORDER BY rowid",
            dice.of(&["ferry", "fer*", "boat OR noon", "no NOT boat", "\"at noon\""])
        ),
        14 => format!(
            "SELECT {0}, count(*), sum(c), max(d), group_concat(quote(b), ';') FROM (SELECT * FROM {table} ORDER BY a) GROUP BY {0} ORDER BY 1, 2, 4",
            dice.of(&["typeof(d)", "a % 3", "length(b)"])
        ),
        15 => {
            "SELECT t.a, u.b, row_number() OVER (ORDER BY t.a, u.a) FROM t LEFT JOIN u ON t.a = u.a ORDER BY t.a, u.a"
                .into()
        }
        16 => format!(
            "BEGIN; INSERT INTO {table} (d) VALUES ('kept'); SAVEPOINT s; DELETE FROM {table} WHERE a < 3; ROLLBACK TO s; {}",
            dice.of(&["COMMIT", "ROLLBACK"])
        ),
        17 => format!("SELECT * FROM w_{table} ORDER BY a LIMIT {} OFFSET {}", dice.roll(20), dice.roll(3)),
        18 => format!("DELETE FROM {table} WHERE a > {} RETURNING a, b", 100 + dice.roll(400)),
        _ => format!("SELECT a, {} FROM {table} WHERE {} ORDER BY a", expression(dice, 3), expression(dice, 2)),
    }
}

/// Runs it on a plain connection: the rows of the last statement, or the changes of all.
fn plain(connection: &Connection, sql: &str) -> rusqlite::Result<Answer> {
    let (mut batch, mut changes, mut last) = (Batch::new(connection, sql), 0, None);
    while let Some(mut statement) = batch.next()? {
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let (before, width) = (connection.total_changes(), columns.len());
        let (mut found, mut rows, mut truncated) = (statement.raw_query(), vec![], false);
        while let Some(row) = found.next()? {
            if rows.len() == ROWS {
                truncated = true;
                continue;
            }
            let values = (0..width).map(|at| row.get_ref(at).map(|value| SqlValue::of(value, usize::MAX)));
            rows.push(values.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        drop(found);
        truncated |= rows.iter().flatten().any(|value| matches!(value, SqlValue::CutText(..) | SqlValue::CutBlob(..)));
        if connection.total_changes() != before {
            changes += connection.changes();
        }
        last = (width > 0).then_some(Answer::Rows { columns, rows, truncated });
    }
    Ok(last.unwrap_or(Answer::Changed { changes, last_insert_rowid: connection.last_insert_rowid() }))
}

/// Whether two results are the same; the row id only where the call inserted something.
fn same(ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (
            Answer::Changed { changes: a, last_insert_rowid: x },
            Answer::Changed { changes: b, last_insert_rowid: y },
        ) => a == b && (*x == 0 || x == y),
        // What is beyond the size of a result may be missing in ours.
        (Answer::Rows { columns: a, rows: x, truncated: true }, Answer::Rows { columns: b, rows: y, .. }) => {
            a == b && x.len() <= y.len() && format!("{x:?}") == format!("{:?}", &y[..x.len()])
        }
        (ours, theirs) => format!("{ours:?}") == format!("{theirs:?}"),
    }
}

/// The first row that differs.
fn difference(ours: &Answer, theirs: &Answer) -> String {
    let (Answer::Rows { rows: x, .. }, Answer::Rows { rows: y, .. }) = (ours, theirs) else {
        return format!("{ours:?}\n{theirs:?}");
    };
    let differs = x.iter().zip(y).find(|(a, b)| format!("{a:?}") != format!("{b:?}"));
    format!("{} and {} rows, {differs:?}", x.len(), y.len()).chars().take(2000).collect()
}

#[tokio::test]
async fn hundreds_of_statements_answer_as_plain_sqlite_does() {
    let (store, file) = (Store::in_memory().unwrap(), std::env::temp_dir().join(format!("hob-plain-{}.db", Id::new())));
    let (all, caller, connection) =
        (Databases::new(&store, Arc::new(NoTables)), cx(), Connection::open(&file).unwrap());
    connection.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256).unwrap();
    let mut dice = Dice(11);
    let begin = "CREATE TABLE log (a, b); CREATE VIRTUAL TABLE f USING fts5(text); CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d)";
    let (mut failed, mut changed, mut read) = (0, 0, 0);
    for n in 0..800 {
        let sql = if n == 0 { begin.to_owned() } else { statement(&mut dice) };
        let (ours, theirs) = (ask_as(&all, &caller, &sql, &[]).await, plain(&connection, &sql));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert!(same(ours, theirs), "{n}: {sql}\n{}", difference(ours, theirs));
                match ours {
                    Answer::Rows { rows, .. } => read += rows.len(),
                    Answer::Changed { changes, .. } => changed += changes,
                }
            }
            (Err(Error::Sql(_)), Err(_)) => {
                // Ours are rolled back as a whole.
                if !connection.is_autocommit() {
                    connection.execute_batch("ROLLBACK").unwrap();
                }
                failed += 1;
            }
            other => panic!("{n}: {sql}\n{other:?}"),
        }
        if n % 100 == 99 {
            for table in ["t", "log", "f"] {
                let sql = format!("SELECT count(*), quote(group_concat(quote(rowid))) FROM {table}");
                let (ours, theirs) =
                    (ask_as(&all, &caller, &sql, &[]).await.unwrap(), plain(&connection, &sql).unwrap());
                assert!(same(&ours, &theirs), "{n}: {table}");
            }
        }
    }
    println!("{failed} failed in both, {changed} rows were changed and {read} read");
    assert!(failed > 20 && failed < 400 && changed > 1000 && read > 1000, "{failed} {changed} {read}");
    let check = ask_as(&all, &caller, "PRAGMA integrity_check", &[]).await.unwrap();
    assert!(same(&check, &plain(&connection, "PRAGMA integrity_check").unwrap()), "{check:?}");
    // And the file that comes out is the same again.
    let out = file.with_extension("out");
    all.export(&caller, out.clone()).await.unwrap();
    let exported = Connection::open(&out).unwrap();
    for sql in [
        "SELECT * FROM t ORDER BY a",
        "SELECT * FROM f ORDER BY rowid",
        "SELECT name, sql FROM sqlite_schema ORDER BY name",
    ] {
        assert!(same(&plain(&exported, sql).unwrap(), &plain(&connection, sql).unwrap()), "{sql}");
    }
    drop((exported, connection));
    [file, out].iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[tokio::test]
async fn garbage_neither_hangs_nor_breaks_anything() {
    const WORDS: &[&str] = &[
        "SELECT",
        "FROM",
        "WHERE",
        "t",
        "INSERT",
        "INTO",
        "VALUES",
        "(",
        ")",
        ",",
        ";",
        "*",
        "'",
        "\"",
        "--",
        "/*",
        "*/",
        "DELETE",
        "UPDATE",
        "SET",
        "CREATE",
        "TABLE",
        "VIRTUAL",
        "USING",
        "fts5",
        "WITH",
        "RECURSIVE",
        "AS",
        "UNION",
        "ALL",
        "1",
        "x'0",
        "NULL",
        "PRAGMA",
        "ATTACH",
        "=",
        "?",
        "?9",
        ":a",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "s",
        "TRIGGER",
        "AFTER",
        "ON",
        "END",
        "EXPLAIN",
        "VACUUM",
        "REINDEX",
        "ANALYZE",
        "MATCH",
        "JOIN",
        "GROUP",
        "BY",
        "ORDER",
        "LIMIT",
        "OVER",
        "\u{0}",
        "\u{feff}",
        "ü",
        "[",
        "]",
        "`",
        "randomblob(1e9)",
        "zeroblob(-1)",
        "count(*)",
        "main.",
        "temp.",
        "sqlite_schema",
        "DROP",
        "ALTER",
        "ADD",
        "COLUMN",
        "RENAME",
        "TO",
        "IF",
        "EXISTS",
        "NOT",
        "IN",
        "CASE",
        "WHEN",
        "\\",
        "\n",
        "$",
        "@",
        "#",
        "9e999",
    ];
    let all = Databases::new(&Store::in_memory().unwrap(), Arc::new(NoTables));
    let (caller, mut dice) = (cx(), Dice(5));
    ask_as(&all, &caller, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2)", &[]).await.unwrap();
    let began = Instant::now();
    for n in 0..3000 {
        let words: Vec<&str> = (0..1 + dice.roll(14)).map(|_| dice.of(WORDS)).collect();
        let sql = words.join(if n % 5 == 0 { "" } else { " " });
        let params = vec![SqlValue::Integer(1); dice.roll(3)];
        let answer = ask_as(&all, &caller, &sql, &params).await;
        let harmless = matches!(answer, Ok(_) | Err(Error::Sql(_) | Error::Refused(_) | Error::Busy(_)));
        assert!(harmless, "{sql}: {answer:?}");
        assert!(began.elapsed() < Duration::from_secs(300), "{sql}");
    }
    for deep in [
        format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(5000)),
    ] {
        assert!(matches!(ask_as(&all, &caller, &deep, &[]).await, Err(Error::Sql(_))));
    }
    let check = ask_as(&all, &caller, "PRAGMA integrity_check", &[]).await.unwrap();
    assert!(matches!(check, Answer::Rows { rows, .. } if rows == [[SqlValue::Text("ok".into())]]));
}
