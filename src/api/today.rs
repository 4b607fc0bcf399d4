//! `/api/v1/today`: the day at a glance, in one read: tasks that are due, the next events and reminders, and lists with open
//! items.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, Failure, ok},
    query::{Limit, Query},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use policy::Verdict;
use records::iso;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool::{
    Cx, Id, When,
    prelude::{JsonSchema, schemars},
};
use tools_everyday::{DueTasks, NextEvents, OpenLists, OpenTask, due_tasks, next_events, open_lists};

/// The most tasks: overdue ones, and those that are due next.
const TASKS: (usize, usize) = (10, 20);
/// The most events, and the most reminders.
const EVENTS: usize = 8;
const REMINDERS: usize = 8;
/// The most lists, and the most items of each.
const LISTS: (usize, usize) = (12, 8);

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/today",
            get(today, "Get the day at a glance: tasks that are due, the next events and reminders, and open lists."),
        )
        .scope(TokenScope::Tools)
}

/// How far ahead.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Reach {
    /// Tasks and events of how many days, today included; 31 at most.
    #[serde(default)]
    days: Limit<7, 31>,
}

/// The day at a glance. Of what others did not share, nothing is counted or shown.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Today {
    /// Now, in the household's time zone.
    now: String,
    /// The household's time zone, such as `Europe/Vienna`, where it has a name.
    zone: Option<String>,
    /// Tasks that are due. Null where the caller may not list tasks.
    tasks: Option<DueTasks>,
    /// Events that are not over. Null where the caller may not list events.
    events: Option<NextEvents>,
    /// The caller's reminders. Null where they may not list schedules.
    reminders: Option<Reminders>,
    /// Lists with open items. Null where the caller may not list tasks.
    lists: Option<OpenLists>,
}

/// A message that Hob shows the caller at a time.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Reminder {
    /// The id of its schedule.
    id: Id,
    /// The message.
    text: String,
    /// When it comes next, in the household's time zone.
    at: String,
    /// Whether it comes again after that.
    repeats: bool,
}

/// Reminders, the soonest first.
#[derive(Serialize, JsonSchema)]
struct Reminders {
    reminders: Vec<Reminder>,
    /// Whether there are more.
    more: bool,
}

fn reminders(house: &AppState, cx: &Cx, days: i64) -> Result<Reminders, Failure> {
    let (now, zone) = (cx.ports().clock.local(), cx.ports().clock.zone());
    let last = now.date().saturating_add(jiff::Span::new().days(days));
    let until = records::millis(&When::Day(last), &zone)?;
    let found = house.scheduler.upcoming(cx, "notify", until, REMINDERS)?;
    let reminder = |(at, entry): (i64, store::Entry<scheduler::Schedule>)| Reminder {
        id: entry.id,
        text: entry.value.action().args["text"].as_str().unwrap_or(&entry.value.name).to_owned(),
        at: iso(at, &zone),
        repeats: !matches!(entry.value.recurrence(), Some(scheduler::Recurrence::Once { .. })),
    };
    Ok(Reminders { reminders: found.schedules.into_iter().map(reminder).collect(), more: found.more })
}

async fn today(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(reach): Query<Reach>,
) -> Answer<Today> {
    let cx = house.cx(&caller);
    let (now, days) = (cx.ports().clock.local(), i64::try_from(reach.days.get()).unwrap_or(1));
    let may = |tool: &str| may_call(&house, &cx, tool);
    let store = &house.store;
    let mut found = Today {
        zone: now.time_zone().iana_name().map(str::to_owned),
        now: When::At(now).to_string(),
        tasks: may("list_tasks").then(|| due_tasks(store, &cx, days, TASKS)).transpose()?,
        events: may("list_calendar_events").then(|| next_events(store, &cx, days, EVENTS)).transpose()?,
        reminders: may("list_scheduled_tasks").then(|| reminders(&house, &cx, days)).transpose()?,
        lists: may("list_tasks").then(|| open_lists(store, &cx, LISTS)).transpose()?,
    };
    without_secrets(&house, &mut found);
    Ok(ok(found))
}

/// Whether the caller may call a tool: its results are theirs to see.
fn may_call(house: &AppState, cx: &Cx, tool: &str) -> bool {
    let allowed = |tool: &tool::Tool| house.registry.explain(cx, tool, &json!({})).0.verdict == Verdict::Allow;
    house.registry.get(tool).is_some_and(|tool| tool.enabled && allowed(&tool))
}

/// Removes secrets, as from the result of any tool.
fn without_secrets(house: &AppState, found: &mut Today) {
    let scrub = |text: &mut String| *text = house.registry.scrubber().text(text, scrub::How::All).into_owned();
    let task = |task: &mut OpenTask| {
        scrub(&mut task.title);
        task.category.iter_mut().for_each(scrub);
    };
    found.tasks.iter_mut().flat_map(|due| &mut due.tasks).for_each(task);
    for list in found.lists.iter_mut().flat_map(|all| &mut all.lists) {
        scrub(&mut list.list);
        list.items.iter_mut().for_each(task);
    }
    found.reminders.iter_mut().flat_map(|all| &mut all.reminders).for_each(|one| scrub(&mut one.text));
    for event in found.events.iter_mut().flat_map(|next| &mut next.events) {
        scrub(&mut event.title);
        event.location.iter_mut().for_each(scrub);
    }
}
