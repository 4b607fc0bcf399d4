//! Reads whole tables for another program part, such as SQL.

use super::{
    column::{self, Kind},
    record::{BY_TABLE, LoadedTable, Tables, values},
};
use std::ops::ControlFlow;
use store::{Audience, Listing, Store, Visit, Walk};
use tool::{Cx, Label, Scope, prelude::*};

/// The value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadableKind {
    Text,
    Number,
    Boolean,
    Json,
}

/// A table that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableTable {
    pub name: String,
    /// Names and kinds of its columns.
    pub columns: Vec<(String, ReadableKind)>,
    pub records: u64,
}

/// The custom tables of the household, to be read as a whole.
#[derive(Clone)]
pub struct TableReader(Tables);

impl TableReader {
    pub fn new(store: &Store) -> Self {
        Self(Tables::new(store))
    }

    /// The tables that this caller may read, by name. Their labels taint only a read of the table itself.
    ///
    /// # Errors
    /// As every read of the store.
    pub fn list(&self, cx: &Cx) -> Result<Vec<ReadableTable>> {
        let mut all = self.0.tables.list_in(Scope::Household, &Listing::default())?;
        all.retain(|t| !t.value.gone && (t.audience == Audience::Household || t.owner == cx.user()));
        let readable = |table: LoadedTable| ReadableTable {
            name: table.name().to_owned(),
            columns: table.columns.iter().map(|c| (c.name.clone(), kind(c.kind()))).collect(),
            records: table.entry.value.records,
        };
        // A table whose columns cannot be read hides no others.
        let mut all: Vec<_> = all.into_iter().filter_map(|table| LoadedTable::new(table).ok()).map(readable).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Calls `each` with the id and the values of each record, in the order of the columns; taints the run with their labels.
    ///
    /// # Errors
    /// `NotFound` when there is no such table; as every read of the store.
    pub fn records(&self, cx: &Cx, table: &str, each: &mut dyn FnMut(Id, Vec<Value>) -> ControlFlow<()>) -> Result<()> {
        let table = self.0.find(cx, table)?;
        let mut label = Label::Own;
        let walk = Walk::prefix(BY_TABLE, table.entry.id.as_bytes());
        let read = self.0.rows.walk(cx, &walk, |entry| {
            label = label.max(entry.label);
            let mut stored = values(&entry.value);
            let row = table.columns.iter().map(|column| stored.remove(&column.name).unwrap_or_default()).collect();
            match each(entry.id, row) {
                ControlFlow::Continue(()) => Visit::No,
                ControlFlow::Break(()) => Visit::Stop,
            }
        });
        cx.taint(label);
        read?;
        Ok(())
    }
}

fn kind(kind: column::Kind) -> ReadableKind {
    match kind {
        Kind::Number => ReadableKind::Number,
        Kind::Boolean => ReadableKind::Boolean,
        Kind::Json => ReadableKind::Json,
        Kind::Text | Kind::Date | Kind::Datetime | Kind::Select => ReadableKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ask, cx, ok};

    #[tokio::test]
    async fn tables_are_read_as_a_whole_and_taint_only_then() {
        let store = Store::in_memory().unwrap();
        let columns = json!([{"name": "title", "type": "text"}, {"name": "year", "type": "number"}, {"name": "seen", "type": "boolean"}]);
        ok(&store, "create_custom_table", json!({"table": "films", "columns": columns})).await;
        ok(&store, "add_custom_record", json!({"table": "films", "data": {"title": "Alien", "year": 1979}})).await;
        let outside = cx();
        outside.taint(Label::Outside);
        ask(&store, &outside, "add_custom_record", json!({"table": "films", "data": {"seen": true}})).await.unwrap();
        let (reader, caller) = (TableReader::new(&store), cx());
        let tables = reader.list(&caller).unwrap();
        let kinds: Vec<_> = tables[0].columns.iter().map(|c| c.1).collect();
        assert_eq!((tables[0].name.as_str(), tables[0].records), ("films", 2));
        assert_eq!(kinds, [ReadableKind::Text, ReadableKind::Number, ReadableKind::Boolean]);
        assert_eq!(caller.label(), Label::Own);
        let mut rows = vec![];
        let mut each = |_, row| {
            rows.push(row);
            ControlFlow::Continue(())
        };
        reader.records(&caller, "films", &mut each).unwrap();
        assert_eq!(rows, [vec![json!("Alien"), json!(1979), Value::Null], vec![Value::Null, Value::Null, json!(true)]]);
        assert_eq!(caller.label(), Label::Outside);
        let mut first = 0;
        reader
            .records(&cx(), "films", &mut |_, _| {
                first += 1;
                ControlFlow::Break(())
            })
            .unwrap();
        assert_eq!(first, 1);
        assert!(matches!(
            reader.records(&cx(), "none", &mut |_, _| ControlFlow::Continue(())),
            Err(Error::NotFound(_))
        ));
    }
}
