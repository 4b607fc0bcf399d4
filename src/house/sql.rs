//! The SQL databases, with the household's custom tables to read beside them.

use care::Checks;
use serde_json::Value;
use sql::{ColumnInfo, Databases, EachRow, ForeignTables, SqlValue, TableInfo};
use std::{sync::Arc, time::Duration};
use store::Store;
use tool::Cx;
use tools_data::{ReadableKind, ReadableTable, TableReader};

/// How long the doctor may look at databases at once; it goes on the next time.
const CHECK: Duration = Duration::from_secs(2);

struct CustomTables(TableReader);

/// The databases in the store.
pub fn databases(store: &Store) -> Databases {
    Databases::new(store, Arc::new(CustomTables(TableReader::new(store))))
}

/// Adds a line to the doctor's about damaged databases.
pub fn add_check(checks: &Checks, databases: &Databases) {
    let databases = databases.clone();
    checks.add(move || {
        let todo = "import an export of it with `hob db import FILE`, or restore a backup with `hob restore FILE`";
        match databases.damaged(CHECK) {
            Ok(damaged) if damaged.is_empty() => None,
            Ok(damaged) => {
                let problem = &damaged.first()?.problem;
                let count = text_kit::counted(damaged.len(), "SQL database");
                let verb = if damaged.len() == 1 { "is" } else { "are" };
                Some(care::Check::wrong("sql", format!("{count} {verb} damaged: {problem}"), todo))
            }
            Err(error) => Some(care::Check::wrong("sql", format!("SQL databases cannot be read: {error}"), todo)),
        }
    });
}

/// Removes pages that belong to no database, soon after a start.
pub fn schedule_tidying(databases: Databases) {
    tokio::spawn(async move {
        if let Err(error) = databases.tidy().await {
            tracing::warn!(%error, "pages of SQL databases that nobody uses could not be removed; the next start tries again");
        }
    });
}

impl ForeignTables for CustomTables {
    fn list(&self, cx: &Cx) -> tool::Result<Vec<TableInfo>> {
        Ok(self.0.list(cx)?.into_iter().map(table).collect())
    }

    fn rows(&self, cx: &Cx, table: &str, each: EachRow) -> tool::Result<()> {
        self.0.records(cx, table, &mut |id, row| {
            let id = SqlValue::Text(id.to_string());
            each(std::iter::once(id).chain(row.into_iter().map(value)).collect())
        })
    }
}

fn table(table: ReadableTable) -> TableInfo {
    let ReadableTable { name, columns, records } = table;
    // A table may have a column of its own that is called `id`.
    let id = if columns.iter().any(|column| column.0 == "id") { "record_id" } else { "id" };
    let column =
        |name: String, kind: &str, primary_key| ColumnInfo { name, kind: kind.into(), not_null: false, primary_key };
    let id = column(id.into(), "TEXT", true);
    let columns = columns.into_iter().map(|(name, kind)| {
        let kind = match kind {
            ReadableKind::Text | ReadableKind::Json => "TEXT",
            ReadableKind::Number => "NUMERIC",
            ReadableKind::Boolean => "BOOLEAN",
        };
        column(name, kind, false)
    });
    TableInfo { name, columns: std::iter::once(id).chain(columns).collect(), rows: records }
}

fn value(value: Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Bool(on) => SqlValue::Integer(i64::from(on)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => SqlValue::Integer(whole),
            None => number.as_f64().map_or(SqlValue::Null, SqlValue::Real),
        },
        Value::String(text) => SqlValue::Text(text),
        other => SqlValue::Text(other.to_string()),
    }
}
