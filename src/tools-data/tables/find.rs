//! Finds records of a table: filtered and sorted, or by words.

use super::{
    cell::{Cell, rank},
    column::Kind,
    filter::{Filter, Pick, position},
    record::{ANSWER, BY_TABLE, LoadedTable, Row, Tables, mark},
};
use crate::json_text::{non_empty, run_blocking};
use records::{contains_all_words, page_params, quote};
use serde_json::Map;
use std::{cmp::Ordering, collections::BinaryHeap};
use store::{Entry, Visit, Walk, Words};
use text_kit::{More, counted_one, listing};
use tool::prelude::*;

/// How many are answered without a word about it, and at most.
pub(crate) const LIMIT: (u32, u32) = (20, 50);

/// The longest prefix of a sorted list: the positions of all records before a page are held in memory.
const SORTED: usize = 10_000;

/// A sort order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

/// List records of a table, filtered and sorted; without sortBy the newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct List {
    /// The name of the table.
    table: String,
    /// Conditions by column, all of which must hold: a value, a list of values, or {op, value} with eq, ne, gt, gte, lt, lte,
    /// contains or in. Null matches empty columns; texts compare without regard to case.
    #[serde(default)]
    filter: Map<String, Value>,
    /// A column, or createdAt.
    sort_by: Option<String>,
    /// asc (default for a column) or desc.
    sort_order: Option<Order>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

/// Some records of a table.
struct Page {
    rows: Vec<Entry<Row>>,
    more: bool,
    /// The number of all matches, if known.
    all: Option<u64>,
}

/// A query.
struct RowQuery {
    filter: Filter,
    by: Option<usize>,
    down: bool,
    offset: usize,
    limit: usize,
}

pub(super) async fn list(tables: Tables, cx: Cx, args: List) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let by = match non_empty(args.sort_by).as_deref() {
        None | Some("createdAt" | "created_at") => None,
        Some(name) => Some(position(&table.columns, name)?),
    };
    let down = args.sort_order.map_or(by.is_none(), |order| order == Order::Desc);
    let filter = Filter::read(&table.columns, &args.filter, &cx.ports().clock.zone())?;
    let (offset, limit) = page_params(args.offset, args.limit, LIMIT);
    if by.is_some() && offset.saturating_add(limit) > SORTED {
        return Err(Error::bad_args(format!(
            "a list sorted by a column shows only its first {SORTED} records: use a `filter` to make it shorter, or \
             leave `sortBy` out"
        )));
    }
    let wanted = RowQuery { filter, by, down, offset, limit };
    let filtered = !args.filter.is_empty();
    run_blocking(move || {
        let mut page = match by {
            Some(_) => sorted(&tables, &cx, &table, &wanted)?,
            None => in_order(&tables, &cx, &table, &wanted)?,
        };
        if !filtered {
            page.all = Some(table.entry.value.records);
        }
        answer(&cx, &table, page, "")
    })
    .await
}

/// All records of a table.
fn all(table: &LoadedTable) -> Walk {
    Walk::prefix(BY_TABLE, table.entry.id.as_bytes())
}

/// The columns to parse.
fn needed(table: &LoadedTable, columns: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut needed = vec![false; table.columns.len()];
    columns.for_each(|at| needed[at] = true);
    needed
}

/// A page of matches in order of creation.
fn in_order(tables: &Tables, cx: &Cx, table: &LoadedTable, wanted: &RowQuery) -> Result<Page> {
    let needed = needed(table, wanted.filter.columns());
    let pick = Pick::new(&table.columns, &needed);
    let fits = |row: &Row| wanted.filter.columns().next().is_none() || wanted.filter.fits(&pick.read(&row.data));
    if let Some((at, value)) = &wanted.filter.unique {
        let found = mark(&table.columns[*at], value).map(|mark| tables.with_mark(cx, table, &mark)).transpose()?;
        let rows: Vec<_> = found.unwrap_or_default().into_iter().filter(|row| fits(&row.value)).collect();
        let all = Some(rows.len() as u64);
        return Ok(Page { rows: rows.into_iter().skip(wanted.offset).collect(), more: false, all });
    }
    let walk = if wanted.down { all(table).down() } else { all(table) };
    page_of(tables, cx, (&walk, None), (wanted.offset, wanted.limit), fits)
}

/// A page of matches in the order of a walk; ends early before the result becomes too long.
fn page_of(
    tables: &Tables,
    cx: &Cx,
    (walk, words): (&Walk, Option<&Words>),
    (offset, limit): (usize, usize),
    fits: impl Fn(&Row) -> bool,
) -> Result<Page> {
    let (mut skipped, mut taken, mut size, mut more) = (0, 0, 0, false);
    let rows = tables.rows.search(cx, walk, words, |row| {
        if cx.cancel().is_cancelled() {
            return Visit::Stop;
        }
        if !fits(&row.value) {
            return Visit::No;
        }
        if skipped < offset {
            skipped += 1;
            return Visit::No;
        }
        size += row.value.data.len();
        if taken == limit || size > ANSWER && taken > 0 {
            more = true;
            return Visit::Stop;
        }
        taken += 1;
        Visit::Yes
    })?;
    let all = (!more).then_some((skipped + taken) as u64);
    Ok(Page { rows, more, all })
}

/// The position of a record in a sorted list.
#[derive(Debug, PartialEq, Eq)]
struct SortPosition {
    rank: Option<Cell>,
    down: bool,
    id: Id,
}

impl Ord for SortPosition {
    /// Empty values come last in either order; among equals, the older first.
    fn cmp(&self, other: &Self) -> Ordering {
        let ranks = match (&self.rank, &other.rank) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) if self.down => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
        };
        ranks.then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for SortPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A page of matches sorted by a column; holds only the first positions in memory.
fn sorted(tables: &Tables, cx: &Cx, table: &LoadedTable, wanted: &RowQuery) -> Result<Page> {
    let Some(by) = wanted.by else { return in_order(tables, cx, table, wanted) };
    let kind: Kind = table.columns[by].kind();
    let needed = needed(table, wanted.filter.columns().chain([by]));
    let pick = Pick::new(&table.columns, &needed);
    let most = wanted.offset.saturating_add(wanted.limit);
    let (mut first, mut all_fitting) = (BinaryHeap::new(), 0_u64);
    tables.rows.walk(cx, &all(table), |row| {
        if cx.cancel().is_cancelled() {
            return Visit::Stop;
        }
        let values = pick.read(&row.value.data);
        if wanted.filter.fits(&values) {
            all_fitting += 1;
            first.push(SortPosition { rank: rank(kind, &values[by]), down: wanted.down, id: row.id });
            if first.len() > most {
                first.pop();
            }
        }
        Visit::No
    })?;
    let (mut rows, mut size, mut more) = (vec![], 0, all_fitting > most as u64);
    for place in first.into_sorted_vec().into_iter().skip(wanted.offset) {
        // A record may have been deleted a moment ago.
        let Some(row) = tables.rows.get(cx, place.id)? else { continue };
        size += row.value.data.len();
        if size > ANSWER && !rows.is_empty() {
            more = true;
            break;
        }
        rows.push(row);
    }
    Ok(Page { rows, more, all: Some(all_fitting) })
}

fn answer(cx: &Cx, table: &LoadedTable, page: Page, about: &str) -> Result<Output> {
    let names: Vec<String> = page.rows.iter().map(|row| table.called(&row.value)).collect();
    let name = table.name();
    let sentence = match (page.rows.len(), page.all) {
        (0, _) if about.is_empty() => format!("I found no records in the table {name}."),
        (0, _) => format!("I found nothing{about} in the table {name}."),
        (_, Some(all)) => {
            let (all, more) = (all as usize, (all as usize).saturating_sub(names.len()));
            let are = if all == 1 { "is" } else { "are" };
            let head = format!("There {are} {}{about} in the table {name}", counted_one(all, "record"));
            listing(&head, &names, More::Count(more))
        }
        (n, None) => listing(&format!("The first {n} records{about} in the table {name}"), &names, true),
    };
    let records: Vec<Value> = page.rows.iter().map(|row| table.record(cx, row)).collect();
    let content = json!({"table": name, "count": records.len(), "records": records, "hasMore": page.more,
                         "total": page.all});
    Ok(Output::json(content)?.say(sentence))
}

/// Search the texts of a table's records for all of some words, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// The name of the table.
    table: String,
    /// Words.
    query: String,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

pub(super) async fn search(tables: Tables, cx: Cx, args: Search) -> Result<Output> {
    let table = tables.find(&cx, &args.table)?;
    let query = records::required_text("query", &args.query, 200)?;
    let texts = |column: &super::column::Column| matches!(column.kind(), Kind::Text | Kind::Select);
    let needed: Vec<bool> = table.columns.iter().map(texts).collect();
    let window = page_params(args.offset, args.limit, LIMIT);
    run_blocking(move || {
        let pick = Pick::new(&table.columns, &needed);
        let fits = |row: &Row| {
            let values = pick.read(&row.data);
            contains_all_words(&query, &values.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        };
        let page = page_of(&tables, &cx, (&all(&table).down(), Some(&Words::all(&query))), window, fits)?;
        answer(&cx, &table, page, &format!(" with {}", quote(&query)))
    })
    .await
}
