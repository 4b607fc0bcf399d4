//! Custom tables of the household, with typed columns.

mod cell;
mod column;
mod filter;
mod find;
mod reader;
mod readings;
mod record;
mod rows;
#[cfg(test)]
mod tests;

pub use reader::{ReadableKind, ReadableTable, TableReader};
pub use record::undoer;

use column::DESCRIPTION;
use record::{BY_TABLE, LoadedTable, TABLES, Table, Tables};
use records::{counted, join_list, optional_text, publish_change, rejected, set_optional, truncate};
use store::{Audience, Store, Visit, Walk};
use text_kit::listing;
use tool::{Label, Scope, prelude::*};

/// How many records of a deleted table one write removes, so that other writes need not wait.
const AT_ONCE: usize = 1000;

/// Names of tables for which there are dedicated tools, what they hold, and the tool to use.
const DEDICATED_TOOLS: &[(&[&str], &str, &str)] = &[
    (&["task", "tasks", "todo", "todos", "to_do", "to_dos"], "tasks", "add_task"),
    (&["note", "notes"], "notes", "add_note"),
    (&["bookmark", "bookmarks"], "bookmarks", "add_bookmark"),
    (
        &["calendar", "calendars", "calendar_event", "calendar_events", "event", "events"],
        "the calendar",
        "add_calendar_event",
    ),
    (&["contact", "contacts"], "contacts", "add_contact"),
    (&["expense", "expenses"], "expenses", "add_expense"),
    (&["goal", "goals"], "goals", "create_goal"),
    (&["memory", "memories"], "memories", "remember"),
];

/// Custom tables of the household.
pub fn family(store: &Store) -> Family<Tables> {
    Family::new("customData", "Tables you define yourself.", Tables::new(store))
        .title("Your own tables")
        .category("Custom Data")
        .area(Area::Memory)
        .phrases(include_str!("../tables.en"))
        .tool("list_custom_tables", Risk::Observe, list)
        .tags("database tables show collections")
        .tool("describe_custom_table", Risk::Observe, describe)
        .tags("database schema columns fields structure")
        .tool("create_custom_table", Risk::Write, create)
        .additive()
        .tags("new database table collection track log inventory columns")
        .example(json!({"table": "movies", "columns": [
            {"name": "title", "type": "text", "required": true},
            {"name": "year", "type": "number"},
            {"name": "seen", "type": "boolean", "default": false}]}))
        .tool("update_custom_table", Risk::Write, update)
        .tags("alter rename add column database schema")
        .persists_instructions()
        .tool("delete_custom_table", Risk::Destroy, delete)
        .tags("drop remove erase database")
        .confirm()
        .tool("add_custom_record", Risk::Write, rows::add)
        .additive()
        .tags("insert row entry database")
        .example(json!({"table": "movies", "data": {"title": "Alien", "year": 1979}}))
        .tool("batch_add_custom_records", Risk::Write, rows::add_all)
        .additive()
        .tags("insert rows entries several import database")
        .tool("list_custom_records", Risk::Observe, find::list)
        .page(find::LIMIT)
        .tags("rows entries query filter sort select database")
        .example(
            json!({"table": "movies", "filter": {"seen": false, "year": {"gte": 1970, "lt": 1980}}, "sortBy": "year"}),
        )
        .tool("search_custom_records", Risk::Observe, find::search)
        .page(find::LIMIT)
        .tags("rows entries find text database")
        .tool("log_reading", Risk::Write, readings::log)
        .additive()
        .tags("log reading measurement value track meter weight insert row table")
        .example(json!({"table": "battery", "values": [3.91]}))
        .tool("summarize_readings", Risk::Observe, readings::summary)
        .tags(
            "average mean highest lowest maximum minimum total sum last latest reading table column statistics change",
        )
        .example(json!({"table": "battery", "measure": "average"}))
        .tool("get_custom_record", Risk::Observe, rows::get)
        .tags("row entry read show database")
        .tool("update_custom_record", Risk::Write, rows::update)
        .tags("change edit row entry database")
        .persists_instructions()
        .tool("delete_custom_record", Risk::Destroy, rows::delete)
        .tags("remove erase row entry database")
}

/// List the household's custom tables, with their columns and number of records.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

async fn list(tables: Tables, cx: Cx, List {}: List) -> Result<Output> {
    let all = tables.all(&cx)?;
    let of = |t: &LoadedTable| format!("{} ({})", t.name(), counted(t.entry.value.records as usize, "record"));
    let names: Vec<String> = all.iter().map(of).collect();
    let sentence = match all.len() {
        0 => "There are no tables yet.".to_owned(),
        1 => listing("There is one table", &names, false),
        n => listing(&format!("There are {}", counted(n, "table")), &names, false),
    };
    let listed: Vec<Value> = all.iter().map(|table| table.to_json(&cx, false)).collect();
    Ok(Output::json(json!({"count": listed.len(), "tables": listed}))?.say(sentence))
}

/// Describe a table: its columns with their types, and its number of records.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Describe {
    /// The name of the table.
    table: String,
}

async fn describe(tables: Tables, cx: Cx, args: Describe) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
    let records = counted(table.entry.value.records as usize, "record");
    let columns = if names.len() == 1 { "column" } else { "columns" };
    let sentence = format!("The table {} has {records}, and the {columns} {}.", table.name(), join_list(&names, false));
    Ok(Output::json(table.to_json(&cx, true))?.say(sentence))
}

/// Create a table for data that has no tools of its own. Tasks, notes, bookmarks, calendar events, contacts, expenses, goals
/// and memories do have such tools. Everybody in the household sees the table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// Its name: lower-case letters, digits and underscores, 64 at most.
    table: String,
    /// Its columns, 64 at most.
    #[schemars(length(min = 1, max = 64))]
    columns: Vec<column::New>,
    /// Purpose of the table.
    description: Option<String>,
}

/// A name for a table, unless there are dedicated tools for it.
fn name(given: &str) -> Result<String> {
    let name = column::name("table", given)?;
    match DEDICATED_TOOLS.iter().find(|(names, ..)| names.contains(&name.as_str())) {
        None => Ok(name),
        Some((_, what, tool)) => Err(Error::bad_args(format!(
            "there are tools for {what}: use `{tool}` instead of a table, or choose another name if the table holds \
             something else"
        ))),
    }
}

async fn create(tables: Tables, cx: Cx, args: Create) -> Result<Output> {
    store::without_change(sweep(&tables)).await?;
    let columns = column::check(args.columns, &[], &cx.ports().clock.zone())?;
    let table = Table {
        name: name(&args.table)?,
        description: optional_text("description", args.description.as_deref(), DESCRIPTION)?,
        columns: json!(columns).to_string(),
        records: 0,
        gone: false,
    };
    let (here, id) = (tables.clone(), Id::new());
    let stamp = tables.tables.stamp(&cx, "create_custom_table").audience(Audience::Household);
    let made = tables.tables.store().write(move |tx| {
        if here.count(tx)? >= TABLES {
            return Err(rejected(format!("there are {TABLES} tables already: delete one that nobody needs")));
        }
        here.tables.put(tx, id, &stamp, &table)
    });
    let made = made.await?;
    publish_change(&cx, &made, "added");
    let sentence = format!("I made the table {} with {}.", made.value.name, counted(columns.len(), "column"));
    Ok(Output::json(LoadedTable::new(made)?.to_json(&cx, true))?.say(sentence))
}

/// Change a table: rename it, describe it, or add columns. Its records stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// The name of the table.
    table: String,
    /// Its new name.
    name: Option<String>,
    /// Purpose of the table; an empty text clears it.
    description: Option<String>,
    /// Columns to add after the existing ones.
    #[serde(default)]
    add_columns: Vec<column::New>,
}

async fn update(tables: Tables, cx: Cx, args: Update) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let renamed = args.name.map(|given| name(&given)).transpose()?;
    let columns = match args.add_columns {
        none if none.is_empty() => None,
        new => Some(column::check(new, &table.columns, &cx.ports().clock.zone())?),
    };
    if columns.is_none() && renamed.is_none() && args.description.is_none() {
        return Err(Error::bad_args("say what to change: the name, the description, or addColumns"));
    }
    let added: Vec<_> = columns.iter().flatten().skip(table.columns.len()).cloned().collect();
    let (here, was, label) = (tables.clone(), table.clone(), table.entry.label_after(&cx));
    let written = tables.tables.store().write(move |tx| {
        let now = here.unchanged(tx, &was)?;
        let strict = added.iter().find(|column| column.required || column.unique);
        if let Some(column) = strict.filter(|_| now.records > 0) {
            let (name, n) = (&column.name, now.records);
            return Err(rejected(format!(
                "column `{name}` cannot be required or unique: the {n} records there are do not have it"
            )));
        }
        here.tables.change(tx, Scope::Household, label, was.entry.id, &mut |table| {
            table.name = renamed.clone().unwrap_or_else(|| table.name.clone());
            set_optional("description", &mut table.description, args.description.as_deref(), DESCRIPTION)
                .map_err(|e| rejected(e.message()))?;
            if let Some(columns) = &columns {
                table.columns = json!(columns).to_string();
            }
            Ok(())
        })
    });
    let changed = written.await?;
    publish_change(&cx, &changed, "changed");
    let table = LoadedTable::new(changed)?;
    let sentence = format!("The table {} has {} now.", table.name(), counted(table.columns.len(), "column"));
    Ok(Output::json(table.to_json(&cx, true))?.say(sentence))
}

/// Delete a table with all of its records, for good; needs confirm: true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// The name of the table.
    table: String,
    /// Must be true.
    #[serde(default)]
    confirm: bool,
}

async fn delete(tables: Tables, cx: Cx, args: Delete) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let (name, records) = (truncate(table.name(), 80), counted(table.entry.value.records as usize, "record"));
    if !args.confirm {
        let note = format!("Deleting `{name}` with {records} cannot be undone: call again with confirm: true.");
        let content = json!({"deleted": false, "requiresConfirmation": true, "note": note});
        return Ok(Output::json(content)?.say(format!("Shall I really delete the table {name} with {records}?")));
    }
    // The table is gone at once; several writes remove its records, which nobody can reach any more.
    let (here, id) = (tables.clone(), table.entry.id);
    let written = tables.tables.store().write(move |tx| match here.tables.read(tx, Scope::Household, id)? {
        Some(table) if !table.value.gone => here.tables.change(tx, Scope::Household, Label::Own, id, &mut |table| {
            table.gone = true;
            Ok(())
        }),
        _ => Err(store::Error::Missing("the table is gone already: `list_custom_tables` shows tables".into())),
    });
    // This cannot be undone, as the question before it says.
    let gone = store::without_change(written).await?;
    publish_change(&cx, &gone, "deleted");
    store::without_change(sweep(&tables)).await?;
    let content = json!({"deleted": true, "table": table.name(), "records": gone.value.records});
    Ok(Output::json(content)?.say(format!("I deleted the table {name} with {records}.")))
}

/// Removes the records of deleted tables, then the tables; resumes after an interruption.
async fn sweep(tables: &Tables) -> Result<()> {
    for table in tables.gone()? {
        loop {
            let mut ids = vec![];
            tables.rows.walk_in(Scope::Household, &Walk::prefix(BY_TABLE, table.id.as_bytes()), |row| {
                ids.push(row.id);
                if ids.len() < AT_ONCE { Visit::No } else { Visit::Stop }
            })?;
            let (here, id, last) = (tables.clone(), table.id, ids.len() < AT_ONCE);
            let written = tables.rows.store().write(move |tx| {
                for row in &ids {
                    here.rows.remove(tx, Scope::Household, *row)?;
                }
                if last { here.tables.remove(tx, Scope::Household, id).map(drop) } else { Ok(()) }
            });
            written.await?;
            if last {
                break;
            }
        }
    }
    Ok(())
}
