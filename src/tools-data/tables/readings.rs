//! Readings: values that a household writes down again and again; logs them, and reports the last, the highest, the average.

use super::{
    column::{self, Column, Kind},
    record::{LoadedTable, Row, Tables, values},
    rows::{self, insert},
};
use crate::json_text::run_blocking;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use records::{contains_all_words, day_of, quote, read_when, truncate};
use serde_json::Map;
use store::{Entry, Visit, Walk};
use text_kit::{counted_one, day_name, listing};
use tool::prelude::*;

/// Words that name no table: "the pool table", "my readings".
const SMALL: &[&str] =
    &["the", "my", "our", "a", "table", "tables", "reading", "readings", "log", "chart", "s", "of", "in", "for"];
/// How many readings a list shows at most.
const SHOWN: u32 = 20;

/// Add a reading to a table: numbers for its number columns in order, today's date and the time if it has such columns, and a
/// note for its first text column.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    /// The table, by its name or the words in it.
    table: String,
    /// The numbers.
    #[schemars(length(max = 10))]
    values: Vec<f64>,
    /// The subject of the reading, for the first text column.
    note: Option<String>,
    /// The day (ISO); default: today.
    date: Option<String>,
    /// Whether a table that does not exist is made, with the day, the reading and a note (default: false).
    #[serde(default)]
    create: bool,
}

/// A question about the readings in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Measure {
    Last,
    First,
    Highest,
    Lowest,
    Average,
    Total,
    Count,
    Change,
}

/// Summarize the readings in a table: the last or first ones, the highest, lowest, average, total, number, or the change from
/// the first to the last.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    /// The table, by its name or the words in it.
    table: String,
    /// The question (default: last).
    measure: Option<Measure>,
    /// The number column; by default the first one, or the one named in `table`.
    column: Option<String>,
    /// Only records with these words.
    search: Option<String>,
    /// Only records since this day (ISO).
    since: Option<String>,
    /// For last and first: how many.
    #[schemars(range(min = 1, max = 20))]
    count: Option<u32>,
}

/// The words of a name, without plurals.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let split = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty() && !SMALL.contains(w));
    split.map(|w| w.strip_suffix('s').filter(|w| w.len() > 2).unwrap_or(w).to_owned()).collect()
}

impl Tables {
    /// The table with this name, else the only one that shares most words with it.
    ///
    /// # Errors
    /// `NotFound` if there is none, or several are as likely.
    fn like(&self, cx: &Cx, which: &str) -> Result<LoadedTable> {
        match self.alike(cx, which)? {
            Some(table) => Ok(table),
            None => self.find(cx, which),
        }
    }

    /// The same; `None` if there is none.
    fn alike(&self, cx: &Cx, which: &str) -> Result<Option<LoadedTable>> {
        if let Ok(named) = self.find(cx, which) {
            return Ok(Some(named));
        }
        let wanted = words(which);
        let score = |table: &LoadedTable| {
            let name = words(table.name());
            let shared = wanted.iter().filter(|word| name.contains(word)).count();
            // A word of a column names the table as well.
            let columns: Vec<String> = table.columns.iter().flat_map(|column| words(&column.name)).collect();
            let beside = wanted.iter().filter(|word| columns.contains(word)).count();
            if shared == 0 && beside == 0 { 0 } else { 10 * shared + beside + usize::from(shared == name.len()) }
        };
        let mut scored: Vec<(usize, LoadedTable)> =
            self.all(cx)?.into_iter().map(|table| (score(&table), table)).filter(|(score, _)| *score > 0).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        match &scored[..] {
            [(first, _), (second, _), ..] if first == second => {
                let names: Vec<String> =
                    scored.iter().take(4).map(|(_, table)| table.name().replace('_', " ")).collect();
                let text = format!("several tables are called like `{}`: name one", truncate(which, 60));
                Err(Error::not_found(text).say(listing("Which table? There are", &names, false)))
            }
            [] => Ok(None),
            _ => Ok(Some(scored.swap_remove(0).1)),
        }
    }
}

fn numbers(table: &LoadedTable) -> impl Iterator<Item = &Column> {
    table.columns.iter().filter(|column| column.kind() == Kind::Number)
}

/// A number without a needless fraction.
fn shown(value: f64) -> String {
    let text = format!("{:.3}", (value * 1e6).round() / 1e6);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

pub(super) async fn log(tables: Tables, cx: Cx, args: Log) -> Result<Output> {
    let there = if args.create { tables.alike(&cx, &args.table)? } else { Some(tables.like(&cx, &args.table)?) };
    let made = there.is_none();
    let table = match there {
        Some(table) => table,
        None => new(&tables, &cx, &args).await?,
    };
    let name = table.name().replace('_', " ");
    let day = match &args.date {
        Some(text) => day_of(&read_when(&cx, "date", text)?, &cx.ports().clock.zone()),
        None => cx.ports().clock.local().date(),
    };
    let columns: Vec<&Column> = numbers(&table).collect();
    if args.values.len() > columns.len() {
        let text = format!("the table `{}` has {} for numbers", table.name(), counted_one(columns.len(), "column"));
        return Err(Error::bad_args(text.clone()).say(format!("I logged nothing: {}.", text.replace('`', ""))));
    }
    let mut data = Map::new();
    for (column, value) in columns.iter().zip(&args.values) {
        data.insert(column.name.clone(), json!(value));
    }
    let mut noted = false;
    for column in &table.columns {
        match column.kind() {
            Kind::Date => drop(data.insert(column.name.clone(), json!(day.to_string()))),
            Kind::Datetime => {
                let time = cx.ports().clock.local().strftime("%H:%M").to_string();
                data.insert(column.name.clone(), json!(format!("{day}T{time}")));
            }
            Kind::Text if !noted => {
                if let Some(note) = args.note.as_deref().map(str::trim).filter(|note| !note.is_empty()) {
                    data.insert(column.name.clone(), json!(note));
                    noted = true;
                }
            }
            _ => {}
        }
    }
    let row = rows::checked(&table, data, &cx)?;
    let added = insert(&tables, &cx, &table, vec![row], false, "log_reading").await?.pop();
    let added = added.ok_or_else(|| Error::failed("the reading was not saved: try again"))?;
    let values: Vec<String> = args.values.iter().map(|value| shown(*value)).collect();
    let of = args.note.filter(|_| noted).map(|note| format!(" ({note})")).unwrap_or_default();
    let today = cx.ports().clock.local().date();
    let when = if day == today { String::new() } else { format!(" for {}", day_name(day, today)) };
    let new = if made { "new " } else { "" };
    let sentence = format!("I logged {}{of} in the {new}table {name}{when}.", values.join(" and "));
    Ok(Output::json(table.record(&cx, &added))?.say(sentence))
}

/// A new table for readings.
async fn new(tables: &Tables, cx: &Cx, args: &Log) -> Result<LoadedTable> {
    const NUMBERS: [&str; 10] =
        ["reading", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    let numbers = NUMBERS.iter().take(args.values.len().max(1)).map(|name| json!({"name": name, "type": "number"}));
    let day = std::iter::once(json!({"name": "day", "type": "date"}));
    let note = std::iter::once(json!({"name": "note", "type": "text"}));
    let columns: Vec<Value> = day.chain(numbers).chain(note).collect();
    let create = json!({"table": args.table.trim(), "columns": columns});
    let create = serde_json::from_value(create).map_err(|why| Error::bad_args(why.to_string()))?;
    super::create(tables.clone(), cx.clone(), create).await?;
    tables.find(cx, &args.table)
}

/// A reading: its number, its day, and its texts.
struct Reading {
    entry: Entry<Row>,
    value: f64,
    day: Date,
    texts: Vec<String>,
}

pub(super) async fn summary(tables: Tables, cx: Cx, args: Summary) -> Result<Output> {
    let table = tables.like(&cx, &args.table)?;
    let name = table.name().replace('_', " ");
    let wanted = words(args.column.as_deref().unwrap_or(&args.table));
    let named = numbers(&table).find(|column| words(&column.name).iter().any(|word| wanted.contains(word)));
    let given = args.column.as_deref().map(column::plain);
    let exact = numbers(&table).find(|column| given.as_deref() == Some(&column.name));
    let Some(column) = exact.or(named).or_else(|| numbers(&table).next()).cloned() else {
        let text = format!("the table `{}` has no column with numbers", table.name());
        return Err(Error::bad_args(text).say(format!("The table {name} has no numbers.")));
    };
    let zone = cx.ports().clock.zone();
    let since =
        args.since.as_deref().map(|text| read_when(&cx, "since", text)).transpose()?.map(|when| day_of(&when, &zone));
    let (measure, count) = (args.measure.unwrap_or(Measure::Last), args.count.unwrap_or(1).clamp(1, SHOWN) as usize);
    // Words of the question that are no part of the table's name choose its records.
    let search = args.search.filter(|text| !text.trim().is_empty());
    run_blocking(move || {
        let readings = readings(&tables, &cx, &table, &column, since, search.as_deref())?;
        let about = search.as_deref().map(|text| format!(" for {}", quote(text))).unwrap_or_default();
        let sentence = match told(&readings, measure, count, cx.ports().clock.local().date()) {
            Some(told) => format!("{told} in the table {name}{about}."),
            None => format!("There are no readings{about} in the table {name} yet."),
        };
        let values: Vec<f64> = readings.iter().map(|reading| reading.value).collect();
        let total: f64 = values.iter().sum();
        let records: Vec<Value> =
            readings.iter().rev().take(count).map(|reading| table.record(&cx, &reading.entry)).collect();
        let content = json!({
            "table": table.name(),
            "column": column.name,
            "count": values.len(),
            "total": total,
            "average": if values.is_empty() { Value::Null } else { json!(total / values.len() as f64) },
            "highest": values.iter().copied().reduce(f64::max),
            "lowest": values.iter().copied().reduce(f64::min),
            "first": values.first(),
            "last": values.last(),
            "records": records,
        });
        Ok(Output::json(content)?.say(sentence))
    })
    .await
}

/// The readings of a table, the oldest first: by their date, else by when they were added.
fn readings(
    tables: &Tables,
    cx: &Cx,
    table: &LoadedTable,
    column: &Column,
    since: Option<Date>,
    search: Option<&str>,
) -> Result<Vec<Reading>> {
    let zone = cx.ports().clock.zone();
    let dated = table.columns.iter().find(|column| matches!(column.kind(), Kind::Date | Kind::Datetime));
    let mut all: Vec<Reading> = vec![];
    let walk = Walk::prefix(super::record::BY_TABLE, table.entry.id.as_bytes());
    for entry in tables.rows.walk(cx, &walk, |_| if cx.cancel().is_cancelled() { Visit::Stop } else { Visit::Yes })? {
        let values = values(&entry.value);
        let Some(value) = values.get(&column.name).and_then(Value::as_f64) else { continue };
        let texts: Vec<String> = values.values().filter_map(Value::as_str).map(str::to_owned).collect();
        if search
            .is_some_and(|search| !contains_all_words(search, &texts.iter().map(String::as_str).collect::<Vec<_>>()))
        {
            continue;
        }
        let said = dated.and_then(|column| values.get(&column.name)?.as_str()?.get(..10)?.parse::<Date>().ok());
        let day = said.unwrap_or_else(|| added_on(&entry, &zone));
        if since.is_none_or(|since| day >= since) {
            let label = dated.map(|column| column.name.clone());
            let texts = values.iter().filter(|(name, _)| Some(*name) != label.as_ref());
            let texts = texts.filter_map(|(_, value)| value.as_str()).map(str::to_owned).collect();
            all.push(Reading { entry, value, day, texts });
        }
    }
    all.sort_by_key(|reading| reading.day);
    Ok(all)
}

/// The day a record was added.
fn added_on(entry: &Entry<Row>, zone: &TimeZone) -> Date {
    let ms = i64::try_from(entry.id.millis()).unwrap_or_default();
    Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(zone.clone()).date()
}

/// The answer, without the table; `None` without readings.
fn told(readings: &[Reading], measure: Measure, count: usize, today: Date) -> Option<String> {
    let (first, last) = (readings.first()?, readings.last()?);
    let one = |reading: &Reading| {
        let texts = if reading.texts.is_empty() { String::new() } else { format!(", {}", reading.texts.join(", ")) };
        format!("{} ({}{texts})", shown(reading.value), day_name(reading.day, today))
    };
    let total: f64 = readings.iter().map(|reading| reading.value).sum();
    let by = |better: fn(&f64, &f64) -> bool| {
        readings.iter().reduce(|best, reading| if better(&reading.value, &best.value) { reading } else { best })
    };
    Some(match measure {
        Measure::Last if count > 1 => {
            let some: Vec<String> = readings.iter().rev().take(count).map(one).collect();
            format!("The last {} are {}", counted_one(some.len(), "reading").replace("one ", ""), some.join("; "))
        }
        Measure::Last => format!("The last reading is {}", one(last)),
        Measure::First => format!("The first reading is {}", one(first)),
        Measure::Highest => format!("The highest is {}", one(by(f64::gt)?)),
        Measure::Lowest => format!("The lowest is {}", one(by(f64::lt)?)),
        Measure::Average => {
            let n = readings.len();
            format!("The average is {}, of {}", shown(total / n as f64), counted_one(n, "reading"))
        }
        Measure::Total => format!("The total is {}, of {}", shown(total), counted_one(readings.len(), "reading")),
        Measure::Count => format!(
            "There {} {}",
            if readings.len() == 1 { "is" } else { "are" },
            counted_one(readings.len(), "reading")
        ),
        Measure::Change => {
            let change = last.value - first.value;
            let (from, to) = (shown(first.value), shown(last.value));
            format!(
                "The change is {}, from {from} ({}) to {to} ({})",
                shown(change),
                day_name(first.day, today),
                day_name(last.day, today)
            )
        }
    })
}
