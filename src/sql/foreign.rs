//! Tables of other parts that SQL reads: for one call they are temporary tables, filled when a statement reads them.

use crate::{
    ColumnInfo, SqlValue, TableInfo,
    connection::Deadline,
    error::{Error, Result, of_sqlite},
    guard::Guard,
};
use rusqlite::{Connection, params_from_iter};
use std::{collections::BTreeSet, ops::ControlFlow};
use tool::Cx;

/// Called with each row of a table; a break ends the read.
pub type EachRow<'e> = &'e mut dyn FnMut(Vec<SqlValue>) -> ControlFlow<()>;

/// Tables that can be read beside those of the database.
pub trait ForeignTables: Send + Sync {
    /// The tables this caller may read. Does not taint the run. Each has a first column `id`, which is unique.
    ///
    /// # Errors
    /// As every read of the store.
    fn list(&self, cx: &Cx) -> tool::Result<Vec<TableInfo>>;

    /// Reads the rows of a table, in any order, with values in the order of its columns; taints the run with their labels.
    ///
    /// # Errors
    /// As every read of the store.
    fn rows(&self, cx: &Cx, table: &str, each: EachRow) -> tool::Result<()>;
}

/// No such tables.
pub struct NoTables;

impl ForeignTables for NoTables {
    fn list(&self, _: &Cx) -> tool::Result<Vec<TableInfo>> {
        Ok(vec![])
    }
    fn rows(&self, _: &Cx, _: &str, _: EachRow) -> tool::Result<()> {
        Ok(())
    }
}

/// The foreign tables that the text of a call names.
pub(crate) struct Named<'c> {
    pub from: &'c dyn ForeignTables,
    pub cx: &'c Cx,
    pub tables: Vec<TableInfo>,
    pub filled: BTreeSet<String>,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Named<'_> {
    /// Makes the empty temporary tables. A table of the database of the same name wins.
    pub fn make(&mut self, connection: &Connection, guard: &Guard) -> Result<()> {
        guard
            .trusting(|| {
                let mut there = connection.prepare("SELECT 1 FROM main.sqlite_schema WHERE lower(name) = lower(?1)")?;
                let mut taken = vec![];
                for table in &self.tables {
                    taken.push(there.exists([&table.name])?);
                }
                let mut taken = taken.into_iter();
                self.tables.retain(|_| !taken.next().unwrap_or_default());
                for table in &self.tables {
                    let columns: Vec<String> = table
                        .columns
                        .iter()
                        .map(|c| {
                            format!("{} {}{}", quoted(&c.name), c.kind, if c.primary_key { " PRIMARY KEY" } else { "" })
                        })
                        .collect();
                    // Without row ids, `last_insert_rowid` stays that of the caller.
                    let (name, columns) = (quoted(&table.name), columns.join(", "));
                    connection.execute_batch(&format!("CREATE TEMP TABLE {name} ({columns}) WITHOUT ROWID"))?;
                }
                Ok(())
            })
            .map_err(|e: rusqlite::Error| of_sqlite(&e))
    }

    /// Fills the tables that were read for the first time.
    pub fn fill(&mut self, connection: &Connection, guard: &Guard, deadline: &Deadline) -> Result<()> {
        for name in guard.take_read() {
            let Some(table) = self.tables.iter().find(|table| table.name.to_lowercase() == name) else { continue };
            if self.filled.insert(name) {
                guard.trusting(|| self.fill_one(connection, table, deadline))?;
            }
        }
        Ok(())
    }

    fn fill_one(&self, connection: &Connection, table: &TableInfo, deadline: &Deadline) -> Result<()> {
        let places = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("INSERT OR IGNORE INTO temp.{} VALUES ({places})", quoted(&table.name));
        let (mut failed, mut insert) = (None, connection.prepare(&insert).map_err(|e| of_sqlite(&e))?);
        let own = connection.is_autocommit();
        if own {
            connection.execute_batch("SAVEPOINT fill").map_err(|e| of_sqlite(&e))?;
        }
        let read = self.from.rows(self.cx, &table.name, &mut |row| {
            match insert.execute(params_from_iter(row)) {
                Err(e) => failed = Some(of_sqlite(&e)),
                Ok(_) if deadline.is_over() => failed = Some(Error::Busy("too late".into())),
                Ok(_) => return ControlFlow::Continue(()),
            }
            ControlFlow::Break(())
        });
        if own {
            connection.execute_batch("RELEASE fill").map_err(|e| of_sqlite(&e))?;
        }
        read?;
        failed.map_or(Ok(()), Err)
    }
}

/// What a table of the database looks like, from SQLite's own description.
pub(crate) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ColumnInfo>> {
    let mut ask = connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")?;
    let rows = ask.query_map([table], |row| {
        Ok(ColumnInfo {
            name: row.get(0)?,
            kind: row.get(1)?,
            not_null: row.get(2)?,
            primary_key: row.get::<_, i64>(3)? > 0,
        })
    })?;
    rows.collect()
}

/// All tables of the database, by name, without those that SQLite or a virtual table keeps for itself.
pub(crate) fn tables(connection: &Connection) -> rusqlite::Result<Vec<TableInfo>> {
    let mut ask = connection.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE \
         'sqlite!_%' ESCAPE '!' ORDER BY name",
    )?;
    let names: Vec<String> = ask.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let info = |name: String| {
        let count = format!("SELECT count(*) FROM main.{}", quoted(&name));
        let rows = connection.query_row(&count, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        Ok(TableInfo { columns: columns(connection, &name)?, rows, name })
    };
    names.into_iter().map(info).collect()
}
