//! The tasks of a day: those that are due, and the open items of lists. Both read a bounded part of the open tasks.

use super::record::{Filter, Priority, Task, open};
use records::{RecordStore, can_change, local_text, names_owner, untainted};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{Audience, Entry, Store, Visit, order};
use tool::{When, prelude::*};

/// The most open tasks that are read for the lists.
const READ: usize = 2000;

/// An open task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenTask {
    /// Its id.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// The day, or the time in the household's zone, it is due.
    pub due_date: Option<String>,
    /// Whether its due date has passed.
    pub overdue: bool,
    /// How important it is.
    pub priority: Priority,
    /// The list or area it belongs to.
    pub category: Option<String>,
    /// The person it belongs to, where that is not the caller.
    pub shared_by: Option<String>,
    /// Whether it is the caller's to change: their own, or an item of a list they share.
    pub changeable: bool,
}

/// Tasks that are due.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DueTasks {
    /// The last ones that are overdue, and the next ones that are due, by due date.
    pub tasks: Vec<OpenTask>,
    /// Whether there are more of either.
    pub more: bool,
}

/// A list with open items.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenList {
    /// Its name.
    pub list: String,
    /// How many items are open.
    pub open: usize,
    /// Whether others see any of these items.
    pub shared: bool,
    /// The first open items.
    pub items: Vec<OpenTask>,
}

/// The lists with open items, by name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenLists {
    /// The lists.
    pub lists: Vec<OpenList>,
    /// Whether there are more lists, or more open tasks than were counted.
    pub more: bool,
}

fn view(cx: &Cx, entry: &Entry<Task>) -> OpenTask {
    let task = &entry.value;
    OpenTask {
        id: entry.id,
        title: task.title.clone(),
        due_date: task.due(cx).map(|due| local_text(cx, &due)),
        overdue: task.is_overdue(cx),
        priority: task.priority,
        category: task.category.clone(),
        shared_by: names_owner(cx, entry),
        changeable: can_change(cx, entry),
    }
}

/// The open tasks due within `days`, today included, `ahead` at most; before them the latest overdue ones, `past` at most.
///
/// # Errors
/// `Failed` when the data cannot be read.
pub fn due_tasks(store: &Store, cx: &Cx, days: i64, (past, ahead): (usize, usize)) -> Result<DueTasks> {
    let tasks: RecordStore<Task> = RecordStore::new(store);
    let today = cx.ports().clock.local().date();
    let day = |n: i64| today.saturating_add(jiff::Span::new().days(n));
    let find = |filter: Filter, down: bool, most: usize| {
        let walk = filter.walk(cx)?;
        let walk = if down { walk.down() } else { walk };
        tasks.page(cx, &walk, (0, most), |entry| filter.wants(cx, entry))
    };
    let before = Filter { due_before: Some(When::Day(day(-1))), overdue: true, ..Filter::default() };
    let within = Filter {
        due_after: Some(When::Day(today)),
        due_before: Some(When::Day(day(days.max(1) - 1))),
        ..Filter::default()
    };
    let (overdue, next) = (find(before, true, past)?, find(within, false, ahead)?);
    let all = overdue.entries.iter().rev().chain(&next.entries);
    Ok(DueTasks { tasks: all.map(|entry| view(cx, entry)).collect(), more: overdue.more || next.more })
}

/// The counts of a list.
#[derive(Default)]
struct Counted {
    name: String,
    shared: bool,
    /// The open items by due date, those without one last; then by age.
    items: Vec<(bool, i64, Id)>,
}

/// The lists with open items, `most` at most, each with its first `shown` items.
///
/// # Errors
/// `Failed` when the data cannot be read.
pub fn open_lists(store: &Store, cx: &Cx, (most, shown): (usize, usize)) -> Result<OpenLists> {
    let tasks: RecordStore<Task> = RecordStore::new(store);
    let (mut found, mut read) = (BTreeMap::<Vec<u8>, Counted>::new(), 0);
    // Counted and not collected. What has no due date comes first: most items of lists have none.
    tasks.records().walk(&untainted(cx), &open().down(), |entry| {
        read += 1;
        if read > READ {
            return Visit::Stop;
        }
        if let Some(name) = &entry.value.category {
            let list = found.entry(order::text(name)).or_default();
            list.name.clone_from(name);
            list.shared |= entry.audience == Audience::Household;
            list.items.push((entry.value.due.is_none(), entry.value.due_ms, entry.id));
        }
        Visit::No
    })?;
    let more = read > READ || found.len() > most;
    let lists = found.into_values().take(most).map(|mut list| {
        list.items.sort_unstable();
        let mut items = vec![];
        for (_, _, id) in list.items.iter().take(shown) {
            // It may have been ticked off a moment ago.
            items.extend(tasks.records().get(cx, *id)?.map(|entry| view(cx, &entry)));
        }
        Ok(OpenList { list: list.name, open: list.items.len(), shared: list.shared, items })
    });
    Ok(OpenLists { lists: lists.collect::<Result<_>>()?, more })
}
