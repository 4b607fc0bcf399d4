//! The agent's SQL database as tools: run SQL, and see its tables.

mod json;
#[cfg(test)]
mod tests;

use sql::{Answer, ColumnInfo, Databases, Intent, Query, TableInfo};
use text_kit::{counted, listing};
use tool::prelude::*;

/// The most rows that a sentence names.
const SPOKEN: usize = 5;

/// The agent's SQL database.
pub fn family(databases: &Databases) -> Family<Databases> {
    Family::new("database", "An SQL database of the agent.", databases.clone())
        .title("Database")
        .category("Meta")
        .area(Area::Memory)
        .phrases(include_str!("../sql.en"))
        .tool("db_sql", Risk::Write, run)
        .destroys_where(|args| Intent::of(text(args)).destroys)
        .additive_where(|_, _, args| !Intent::of(text(args)).changes)
        .tags("sqlite query select insert update delete create table join aggregate group by statistics database")
        .example(json!({"sql": "CREATE TABLE runs (day TEXT, km REAL); INSERT INTO runs VALUES (?, ?)", "params": ["2026-11-20", 7.5]}))
        .example(json!({"sql": "SELECT strftime('%Y-%m', day) AS month, sum(km) FROM runs GROUP BY month"}))
        .tool("db_schema", Risk::Observe, schema)
        .tags("sqlite tables columns structure describe database")
}

fn text(args: &Value) -> &str {
    args["sql"].as_str().unwrap_or_default()
}

/// Run SQL (SQLite, with FTS5 and JSON functions) on the agent's own database. SELECT, WITH and EXPLAIN return rows, other
/// statements the number of changes. Several statements are one transaction; the last one's result is returned. Limits: 5 s,
/// 1000 rows, 100 MB. Custom tables can be read by their names, and joined. Long values come back cut.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// SQL to execute.
    sql: String,
    /// Values for the ? placeholders, in their order. A BLOB is {"base64": "…"}.
    #[serde(default)]
    params: Vec<Value>,
}

async fn run(databases: Databases, cx: Cx, args: Run) -> Result<Output> {
    let params = args.params.iter().enumerate().map(|(at, value)| json::param(at, value)).collect::<Result<_>>()?;
    match databases.run(&cx, "db_sql", Query { sql: args.sql, params }).await? {
        Answer::Changed { changes, last_insert_rowid } => {
            let sentence = match changes {
                0 => "That is done.".to_owned(),
                n => format!("I changed {}.", counted(usize::try_from(n).unwrap_or(usize::MAX), "row")),
            };
            let changed = json!({"changes": json::integer(i64::try_from(changes).unwrap_or(i64::MAX)),
                "last_insert_rowid": json::integer(last_insert_rowid)});
            Ok(Output::json(changed)?.say(sentence))
        }
        Answer::Rows { columns, rows, truncated } => {
            let spoken: Vec<String> = rows.iter().take(SPOKEN).map(|row| json::row_words(&columns, row)).collect();
            let found = match (rows.len(), truncated) {
                (0, _) => "There are no rows.".to_owned(),
                (1, false) => format!("One row: {}.", spoken.concat()),
                (n, false) if n <= SPOKEN => listing(&counted(n, "row"), &spoken, false),
                (n, more) => listing(
                    &format!("{}{}, the first are", if more { "More than " } else { "" }, counted(n, "row")),
                    &spoken,
                    false,
                ),
            };
            let count = rows.len();
            let rows: Vec<Vec<Value>> =
                rows.into_iter().map(|row| row.into_iter().map(json::value).collect()).collect();
            Ok(Output::json(json!({"columns": columns, "rows": rows, "row_count": count, "truncated": truncated}))?
                .say(found))
        }
    }
}

/// List all tables of the agent's SQL database with their columns and number of rows, and the custom tables that SQL can
/// read. Look here before you create a table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Schema {}

async fn schema(databases: Databases, cx: Cx, Schema {}: Schema) -> Result<Output> {
    let (own, custom) = databases.schema(&cx).await?;
    let names: Vec<String> = own
        .iter()
        .map(|table| format!("{} ({})", table.name, counted(usize::try_from(table.rows).unwrap_or(usize::MAX), "row")))
        .collect();
    let sentence = match own.len() {
        0 => "The database has no tables yet.".to_owned(),
        1 => listing("The database has one table", &names, false),
        n => listing(&format!("The database has {}", counted(n, "table")), &names, false),
    };
    let mut answer = json!({"tables": own.iter().map(table_json).collect::<Vec<_>>()});
    if !custom.is_empty() {
        answer["custom_tables"] = custom.iter().map(table_json).collect();
    }
    Ok(Output::json(answer)?.say(sentence))
}

fn table_json(table: &TableInfo) -> Value {
    let column = |column: &ColumnInfo| {
        let ColumnInfo { name, kind, not_null, primary_key } = column;
        json!({"name": name, "type": kind, "notnull": not_null, "pk": primary_key})
    };
    let columns: Vec<Value> = table.columns.iter().map(column).collect();
    json!({"name": table.name, "columns": columns, "row_count": table.rows})
}
