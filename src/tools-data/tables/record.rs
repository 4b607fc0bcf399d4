//! The stored forms of tables and their records, and their results.

use super::{
    cell,
    column::{self, Column},
};
use records::{Undoer, quote, rejected, truncate, view};
use serde_json::Map;
use store::{Collection, Did, Entry, Key, Level, Listing, Part, Record, Stamp, Store, Tx};
use tool::{Cx, Scope, prelude::*};

/// The most tables, records of a table, and bytes of a record.
pub(super) const TABLES: usize = 100;
pub(super) const RECORDS: u64 = 100_000;
pub(super) const BYTES: usize = 64 * 1024;
/// The most bytes of records in one result.
pub(super) const ANSWER: usize = 128 * 1024;

/// A table of the household.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// A list of [`Column`]s, as JSON text.
    pub(super) columns: String,
    /// The number of its records.
    pub(super) records: u64,
    /// Whether it was deleted and its records are still to be removed.
    pub(super) gone: bool,
}

const BY_NAME: u8 = 1;
/// Existing tables, and deleted ones.
const THERE: u8 = 2;
const GONE: u8 = 3;

impl Record for Table {
    const NAME: &'static str = "custom-tables";
    const WORD: &'static str = "table";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;

    fn keys(&self) -> Vec<Key> {
        if self.gone {
            return vec![Key::many(GONE, [])];
        }
        vec![Key::unique(BY_NAME, &self.name), Key::many(THERE, [])]
    }
}

/// A record of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub(super) table: Id,
    /// An object of values by column, as JSON text.
    pub(super) data: String,
    /// Its values of unique columns, with the columns: see [`mark`].
    pub(super) marks: Vec<Vec<u8>>,
}

/// By table, the oldest first.
pub(super) const BY_TABLE: u8 = 1;
/// By table and the value of a unique column.
const BY_MARK: u8 = 2;

impl Record for Row {
    const NAME: &'static str = "custom-records";
    const WORD: &'static str = "record";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        super::rows::title(self)
    }
    const WORDS: u8 = 1;

    fn words(&self) -> String {
        // Of every kind of column: the table may change them.
        let data: Map<String, Value> = serde_json::from_str(&self.data).unwrap_or_default();
        data.values().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    }

    fn keys(&self) -> Vec<Key> {
        let table = self.table.as_bytes();
        let marks = self.marks.iter().map(|mark| Key::many(BY_MARK, by_mark(self.table, mark)));
        [Key::many(BY_TABLE, table)].into_iter().chain(marks).collect()
    }
}

/// A mark as an index key, with its length in front so that none is the prefix of another.
fn by_mark(table: Id, mark: &[u8]) -> Vec<u8> {
    let length = u32::try_from(mark.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&table.as_bytes()[..], &length, mark].concat()
}

/// The tables of the household and their records; cheap to clone.
#[derive(Clone)]
pub struct Tables {
    pub(super) tables: Collection<Table>,
    pub(super) rows: Collection<Row>,
}

/// The collection of records, and what undoes their changes.
pub fn undoer(store: &Store) -> (&'static str, std::sync::Arc<dyn Undoer>) {
    (Row::NAME, std::sync::Arc::new(Tables::new(store)))
}

/// A table with its parsed columns.
#[derive(Debug, Clone)]
pub(super) struct LoadedTable {
    pub entry: Entry<Table>,
    pub columns: Vec<Column>,
}

/// Undoes changes of records: their table must still be there, and its unique values free.
impl Undoer for Tables {
    fn belongs_to(&self, tx: &Tx, part: &Part) -> store::Result<Option<Id>> {
        let row = part.id().map(|id| self.rows.read(tx, Scope::Household, id)).transpose()?.flatten();
        Ok(row.map(|row| row.value.table))
    }
    fn within(&self, tx: &Tx, part: &Part, of: Option<Id>) -> store::Result<()> {
        let row = part.id().map(|id| self.rows.read(tx, Scope::Household, id)).transpose()?.flatten();
        let Some(table) = row.as_ref().map(|row| row.value.table).or(of) else { return Ok(()) };
        if self.tables.read(tx, Scope::Household, table)?.is_none_or(|table| table.value.gone) {
            return Err(rejected("nothing was undone: the table was deleted since"));
        }
        if let Some(row) = row {
            self.single(tx, row.id, &row.value)?;
        }
        match part.did() {
            Did::Added => self.counted(tx, table, |records| records.saturating_sub(1)),
            Did::Deleted => self.counted(tx, table, |records| records + 1),
            Did::Changed => Ok(()),
        }
    }
}

/// A unique column and its value, as bytes.
pub(super) fn mark(column: &Column, value: &Value) -> Option<Vec<u8>> {
    let value = cell::mark(column.kind(), value)?;
    Some([column.name.as_bytes(), &[0], &value].concat())
}

impl Tables {
    /// The tables in `store`.
    pub fn new(store: &Store) -> Self {
        Self { tables: store.collection(), rows: store.collection() }
    }

    /// The table with a name or an id.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn find(&self, cx: &Cx, which: &str) -> Result<LoadedTable> {
        let by = Some((BY_NAME, column::plain(which).into_bytes()));
        let named = self.tables.list(cx, &Listing { by, ..Listing::default() })?.pop();
        let found = match which.trim().parse::<Id>() {
            Ok(id) if named.is_none() => self.tables.get(cx, id)?.filter(|table| !table.value.gone),
            _ => named,
        };
        let Some(entry) = found else {
            let which = truncate(which.trim(), 80);
            let text = format!("there is no table `{which}`: `list_custom_tables` shows tables");
            return Err(Error::not_found(text).say(format!("There is no table called {}.", records::quote(&which))));
        };
        LoadedTable::new(entry)
    }

    /// All tables, by name.
    pub(super) fn all(&self, cx: &Cx) -> Result<Vec<LoadedTable>> {
        let by = Some((THERE, vec![]));
        let mut all = self.tables.list(cx, &Listing { by, ..Listing::default() })?;
        all.sort_by(|a, b| a.value.name.cmp(&b.value.name));
        all.into_iter().map(LoadedTable::new).collect()
    }

    /// Deleted tables whose records are still to be removed.
    pub(super) fn gone(&self) -> Result<Vec<Entry<Table>>> {
        Ok(self.tables.list_in(Scope::Household, &Listing { by: Some((GONE, vec![])), ..Listing::default() })?)
    }

    /// Within a write: how many tables there are.
    pub(super) fn count(&self, tx: &Tx) -> store::Result<usize> {
        Ok(self.tables.find(tx, Scope::Household, THERE, &[])?.len())
    }

    /// Within a write: checks that the table has not changed since it was read.
    pub(super) fn unchanged(&self, tx: &Tx, table: &LoadedTable) -> store::Result<Table> {
        let now = self.tables.read(tx, Scope::Household, table.entry.id)?.map(|entry| entry.value);
        match now.filter(|now| !now.gone) {
            Some(now) if now.columns == table.entry.value.columns => Ok(now),
            Some(_) => Err(rejected("the columns of the table were changed meanwhile: read it again and retry")),
            None => Err(store::Error::Missing(format!("the table `{}` was deleted meanwhile", table.name()))),
        }
    }

    /// Within a write: updates the number of records. Their labels do not taint the table.
    pub(super) fn counted(&self, tx: &Tx, table: Id, change: impl Fn(u64) -> u64) -> store::Result<()> {
        let count = |table: &mut Table| {
            table.records = change(table.records);
            Ok(())
        };
        self.tables.change(tx, Scope::Household, tool::Label::Own, table, &mut { count }).map(drop)
    }

    /// Within a write: adds a record, unless another has its value in a unique column.
    pub(super) fn put(&self, tx: &Tx, id: Id, stamp: &Stamp, row: &Row) -> store::Result<Entry<Row>> {
        self.single(tx, id, row)?;
        self.rows.put(tx, id, stamp, row)
    }

    /// Within a write: refuses a value of a unique column that another record has.
    pub(super) fn single(&self, tx: &Tx, id: Id, row: &Row) -> store::Result<()> {
        for mark in &row.marks {
            let found = self.rows.find(tx, Scope::Household, BY_MARK, &by_mark(row.table, mark))?;
            if let Some(other) = found.iter().find(|other| other.id != id) {
                let text = String::from_utf8_lossy(mark);
                let (column, value) = text.split_once('\0').unwrap_or(("", &text));
                let value = truncate(value, 60);
                let text = format!(
                    "column `{column}` takes each value once, and the record {} has `{value}` already: change that one",
                    other.id
                );
                return Err(rejected(text));
            }
        }
        Ok(())
    }

    /// The record with this value in a unique column.
    pub(super) fn with_mark(&self, cx: &Cx, table: &LoadedTable, mark: &[u8]) -> Result<Vec<Entry<Row>>> {
        let by = Some((BY_MARK, by_mark(table.entry.id, mark)));
        Ok(self.rows.list(cx, &Listing { by, ..Listing::default() })?)
    }
}

impl LoadedTable {
    pub fn new(entry: Entry<Table>) -> Result<Self> {
        let columns = serde_json::from_str(&entry.value.columns).map_err(|_| {
            Error::failed(format!("the columns of the table `{}` cannot be read: delete it", entry.value.name))
        })?;
        Ok(Self { entry, columns })
    }

    pub fn name(&self) -> &str {
        &self.entry.value.name
    }

    /// The marks of a record's unique columns.
    pub fn marks(&self, data: &Map<String, Value>) -> Vec<Vec<u8>> {
        let unique = self.columns.iter().filter(|column| column.unique);
        unique.filter_map(|column| mark(column, data.get(&column.name)?)).collect()
    }

    /// The result for the table; `in_full` describes its columns.
    pub fn to_json(&self, cx: &Cx, in_full: bool) -> Value {
        let table = &self.entry.value;
        let columns: Value = match in_full {
            true => json!(self.columns),
            false => self.columns.iter().map(|column| column.name.as_str()).collect(),
        };
        let itself =
            json!({"name": table.name, "description": table.description, "columns": columns, "records": table.records});
        view(cx, &self.entry, itself)
    }

    /// The result for a record: all columns, null for missing values.
    pub fn record(&self, cx: &Cx, entry: &Entry<Row>) -> Value {
        let mut stored = values(&entry.value);
        let data = self.columns.iter().map(|c| (c.name.clone(), stored.remove(&c.name).unwrap_or_default()));
        let itself = json!({"table": self.name(), "data": data.collect::<Map<String, Value>>()});
        view(cx, entry, itself)
    }

    /// The name of a record in a sentence: its first text, else its first value.
    pub fn called(&self, row: &Row) -> String {
        let values = values(row);
        let has = |column: &&Column| values.contains_key(&column.name);
        let texts = |column: &&Column| {
            values.get(&column.name).is_some_and(|value| value.as_str().is_some_and(|t| !t.is_empty()))
        };
        match self.columns.iter().find(texts).or_else(|| self.columns.iter().find(has)).map(|c| &values[&c.name]) {
            Some(Value::String(text)) => quote(text),
            Some(other) => quote(&other.to_string()),
            None => "an empty record".to_owned(),
        }
    }
}

/// The values of a record by column.
pub(super) fn values(row: &Row) -> Map<String, Value> {
    serde_json::from_str(&row.data).unwrap_or_default()
}
