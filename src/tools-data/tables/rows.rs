//! Tools for the records of a table: adding, reading, changing and deleting them.

use super::filter::position;
use super::record::{ANSWER, BYTES, LoadedTable, RECORDS, Row, Tables, values};
use crate::json_text::bounded_json;
use jiff::tz::TimeZone;
use records::{batch, counted, rejected};
use serde_json::Map;
use store::{Audience, Entry};
use tool::{Scope, prelude::*};

/// Add a record to a table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    /// The name of the table.
    table: String,
    /// Its values by column.
    data: Map<String, Value>,
}

/// Add several records to a table at once: all of them, or none when one does not fit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// The name of the table.
    table: String,
    /// The records, 100 at most, each with its values by column.
    #[schemars(length(min = 1, max = 100))]
    records: Vec<Map<String, Value>>,
}

/// The name of a record where its table is not at hand: its first text.
pub(super) fn title(row: &Row) -> String {
    let values = values(row);
    let text = values.values().filter_map(Value::as_str).find(|text| !text.is_empty());
    text.map_or_else(|| values.values().next().map(Value::to_string).unwrap_or_else(|| "empty".into()), str::to_owned)
}

/// Values by the index of their column; null clears.
type ColumnValues = Vec<(usize, Value)>;

/// Checks values against their columns.
fn check(
    table: &LoadedTable,
    data: Map<String, Value>,
    zone: &TimeZone,
    corrected: &mut Vec<String>,
) -> Result<ColumnValues> {
    let mut given: ColumnValues = vec![];
    for (name, value) in data {
        let at = position(&table.columns, &name)?;
        let column = &table.columns[at];
        if given.iter().any(|(other, _)| *other == at) {
            return Err(Error::bad_args(format!("column `{}` is given twice: give it once", column.name)));
        }
        let value = if value.is_null() { value } else { column.value(value, zone, corrected)? };
        given.push((at, value));
    }
    Ok(given)
}

/// A record with these values changed.
///
/// # Errors
/// `BadArgs` when a required column is empty, or the record is too large.
fn with(table: &LoadedTable, mut data: Map<String, Value>, given: &ColumnValues) -> Result<Row> {
    for (at, value) in given {
        let name = &table.columns[*at].name;
        match value {
            Value::Null => drop(data.remove(name)),
            value => drop(data.insert(name.clone(), value.clone())),
        }
    }
    for column in table.columns.iter().filter(|column| !data.contains_key(&column.name)).collect::<Vec<_>>() {
        // A default is for missing values; a cleared optional column stays empty.
        let cleared = given.iter().any(|(at, value)| value.is_null() && table.columns[*at].name == column.name);
        match &column.default {
            Some(default) if column.required || !cleared => drop(data.insert(column.name.clone(), default.clone())),
            None if column.required => {
                return Err(Error::bad_args(format!("column `{}` is required: give it a value", column.name)));
            }
            _ => {}
        }
    }
    let marks = table.marks(&data);
    Ok(Row { table: table.entry.id, data: bounded_json("record", &Value::Object(data), BYTES)?, marks })
}

/// A new record with these values, checked.
///
/// # Errors
/// `BadArgs` that names a column with a wrong value.
pub(super) fn checked(table: &LoadedTable, data: Map<String, Value>, cx: &Cx) -> Result<Row> {
    with(table, Map::new(), &check(table, data, &cx.ports().clock.zone(), &mut vec![])?)
}

pub(super) async fn add(tables: Tables, cx: Cx, args: Add) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let (zone, mut corrected) = (cx.ports().clock.zone(), vec![]);
    let row = with(&table, Map::new(), &check(&table, args.data, &zone, &mut corrected)?)?;
    let mut added = insert(&tables, &cx, &table, vec![row], false, "add_custom_record").await?;
    let added = added.pop().ok_or_else(|| Error::failed("the record was not saved: try again"))?;
    let sentence = format!("I added {} to the table {}.", table.called(&added.value), table.name());
    Ok(with_corrections(Output::json(table.record(&cx, &added))?.say(sentence), corrected))
}

pub(super) async fn add_all(tables: Tables, cx: Cx, args: Batch) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let (zone, mut corrected) = (cx.ports().clock.zone(), vec![]);
    let check = |data| with(&table, Map::new(), &check(&table, data, &zone, &mut corrected)?);
    let rows = batch("record", args.records, check)?;
    let added = insert(&tables, &cx, &table, rows, true, "batch_add_custom_records").await?;
    let sentence = format!("I added {} to the table {}.", counted(added.len(), "record"), table.name());
    // Records that are too long for one result are returned as ids.
    let brief = added.iter().map(|entry| entry.value.data.len()).sum::<usize>() > ANSWER;
    let view = |entry: &Entry<Row>| if brief { json!({"id": entry.id}) } else { table.record(&cx, entry) };
    let records: Vec<Value> = added.iter().map(view).collect();
    let answer = Output::json(json!({"added": added.len(), "records": records}))?.say(sentence);
    corrected.sort();
    corrected.dedup();
    Ok(with_corrections(answer, corrected))
}

/// A result with the values that were corrected.
fn with_corrections(answer: Output, corrected: Vec<String>) -> Output {
    if corrected.is_empty() { answer } else { answer.meta("corrected", corrected) }
}

/// Adds all of them or none.
pub(super) async fn insert(
    tables: &Tables,
    cx: &Cx,
    table: &LoadedTable,
    rows: Vec<Row>,
    several: bool,
    source: &str,
) -> Result<Vec<Entry<Row>>> {
    let (here, table_then) = (tables.clone(), table.clone());
    let stamp = tables.rows.stamp(cx, source).audience(Audience::Household);
    let rows: Vec<(Id, Row)> = rows.into_iter().map(|row| (Id::new(), row)).collect();
    let written = tables.rows.store().write(move |tx| {
        let more = rows.len() as u64;
        let now = here.unchanged(tx, &table_then)?;
        if now.records + more > RECORDS {
            return Err(rejected(format!("a table has {RECORDS} records at most, and this one has {}", now.records)));
        }
        let mut added = Vec::with_capacity(rows.len());
        for (n, (id, row)) in rows.iter().enumerate() {
            let put = here.put(tx, *id, &stamp, row).map_err(|e| match e {
                store::Error::Conflict(text) if several => {
                    rejected(format!("record {} of the batch: {text}; nothing was added", n + 1))
                }
                e => e,
            });
            added.push(put?);
        }
        here.counted(tx, table_then.entry.id, |records| records + more)?;
        Ok(added)
    });
    let added = written.await?;
    added.iter().for_each(|entry| publish(cx, table, entry, "added"));
    Ok(added)
}

/// Publishes to the household that a record of a table was `added`, `changed` or `deleted`.
fn publish(cx: &Cx, table: &LoadedTable, entry: &Entry<Row>, change: &str) {
    let data = json!({"id": entry.id, "change": change, "table": table.name()});
    cx.ports().bus.publish("custom-records:changed", None, data);
}

/// Show one record of a table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Get {
    /// The name of the table.
    table: String,
    /// The id of the record, as `list_custom_records` shows it.
    record_id: String,
}

/// The table and the record of a call.
fn found(tables: &Tables, cx: &Cx, args: &Get) -> Result<(LoadedTable, Entry<Row>)> {
    let table = tables.find(cx, &args.table)?;
    let id: Id = args.record_id.trim().parse()?;
    match tables.rows.get(cx, id)?.filter(|row| row.value.table == table.entry.id) {
        Some(row) => Ok((table, row)),
        None => Err(missing(&table, id)),
    }
}

fn missing(table: &LoadedTable, id: Id) -> Error {
    let name = table.name();
    let text = format!("the table `{name}` has no record {id}: `list_custom_records` shows records with their ids");
    Error::not_found(text).say(format!("I found no such record in the table {name}."))
}

pub(super) async fn get(tables: Tables, cx: Cx, args: Get) -> Result<Output> {
    let (table, row) = found(&tables, &cx, &args)?;
    let sentence = format!("{} is in the table {}.", table.called(&row.value), table.name());
    Ok(Output::json(table.record(&cx, &row))?.say(sentence))
}

/// Change columns of a record; null clears one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Update {
    /// The name of the table.
    table: String,
    /// The id of the record, as `list_custom_records` shows it.
    record_id: String,
    /// Its new values by column.
    data: Map<String, Value>,
}

pub(super) async fn update(tables: Tables, cx: Cx, args: Update) -> Result<Output> {
    let (table, row) = found(&tables, &cx, &Get { table: args.table, record_id: args.record_id })?;
    let mut corrected = vec![];
    let given = check(&table, args.data, &cx.ports().clock.zone(), &mut corrected)?;
    if given.is_empty() {
        return Err(Error::bad_args("say what to change: give `data` with at least one column"));
    }
    let (here, was, id, label) = (tables.clone(), table.clone(), row.id, row.label_after(&cx));
    let written = tables.rows.store().write(move |tx| {
        here.unchanged(tx, &was)?;
        // Uses the current record: other columns may have changed.
        here.rows.change(tx, Scope::Household, label, id, &mut |row| {
            let changed = with(&was, values(row), &given).map_err(|e| rejected(e.message()))?;
            here.single(tx, id, &changed)?;
            *row = changed;
            Ok(())
        })
    });
    let changed = written.await?;
    publish(&cx, &table, &changed, "changed");
    let sentence = format!("I changed {} in the table {}.", table.called(&changed.value), table.name());
    Ok(with_corrections(Output::json(table.record(&cx, &changed))?.say(sentence), corrected))
}

/// Delete a record of a table. It can be restored for 30 days.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Delete {
    /// The name of the table.
    table: String,
    /// The id of the record, as `list_custom_records` shows it.
    record_id: String,
}

pub(super) async fn delete(tables: Tables, cx: Cx, args: Delete) -> Result<Output> {
    let (table, row) = found(&tables, &cx, &Get { table: args.table, record_id: args.record_id })?;
    let (here, of, id) = (tables.clone(), table.entry.id, row.id);
    let written = tables.rows.store().write(move |tx| {
        let there = here.rows.remove(tx, Scope::Household, id)?;
        if there {
            here.counted(tx, of, |records| records.saturating_sub(1))?;
        }
        Ok(there)
    });
    if !written.await? {
        return Err(missing(&table, id));
    }
    publish(&cx, &table, &row, "deleted");
    let sentence = format!("I deleted {} from the table {}.", table.called(&row.value), table.name());
    Ok(Output::json(json!({"deleted": true, "id": id, "table": table.name()}))?.say(sentence))
}
