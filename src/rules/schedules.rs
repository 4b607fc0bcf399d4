//! Schedules: what is to happen at a time, or again and again, as tools.

mod cron;
mod sentences;

#[cfg(test)]
mod tests;

use crate::action::{Action, ActionArgs, ActionObject};
use jiff::ToSpan;
use records::{contains_all_words, required_text};
use registry::Registry;
use scheduler::{Change, Missed, New, Recurrence, Schedule, Scheduler, parse};
use std::time::Duration;
use store::Entry;
use tool::{PreauthorizedCall, When, prelude::*};

/// The longest name and description, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_TEXT: usize = 2000;
/// How many are listed: at most, and without a word about it; and the same of runs.
const MOST: u32 = 50;
const LISTED: u32 = 20;
const RUNS: u32 = 10;
/// How often a run that went wrong is tried again, without a word about it, and how many seconds later.
const RETRIES: u32 = 2;
const RETRY_DELAY: u32 = 60;
/// How long a run begun by hand is waited for.
const PATIENCE: Duration = Duration::from_secs(45);

/// What the tools work with.
#[derive(Clone)]
pub struct ScheduleTools {
    pub(crate) scheduler: Scheduler,
    pub(crate) registry: Registry,
}

/// What is to happen at a time, or again and again.
pub fn family(scheduler: Scheduler, registry: Registry) -> Family<ScheduleTools> {
    Family::new("scheduler", "What is to happen at a time, or again and again.", ScheduleTools { scheduler, registry })
        .area(Area::Memory)
        .category("Scheduler")
        .phrases(include_str!("schedules.en"))
        .tool("create_scheduled_task", Risk::Write, create)
        .tags("schedule remind reminder timer alarm cron every daily weekly later at time repeat recurring automation")
        .example(json!({"name": "Take out the bins", "schedule": "every monday at 19:00", "message": "Take out the bins"}))
        .example(json!({"name": "Morning news", "schedule": "0 7 * * 1-5", "prompt": "Sum up today's news in five sentences."}))
        .persists_instructions()
        .tool("list_scheduled_tasks", Risk::Observe, list)
        .tags("schedules reminders timers alarms planned upcoming cron jobs")
        .tool("update_scheduled_task", Risk::Write, update)
        .tags("change move edit reschedule pause resume schedule reminder")
        .persists_instructions()
        .tool("delete_scheduled_task", Risk::Destroy, delete)
        .tags("remove cancel stop schedule reminder timer alarm")
        .tool("get_task_history", Risk::Observe, history)
        .tags("runs log ran failed when schedule")
        .tool("trigger_task", Risk::Write, trigger)
        .tags("run now start schedule by hand")
        .tool("cron", Risk::Write, cron::cron)
        .tags("schedule jobs crontab recurring")
        .persists_instructions()
}

/// Have something done at a time, or again and again: `tool` with `arguments` calls a tool, `prompt` asks the agent to do
/// something, `message` tells the person something (a reminder). Give one of them; with none the name is the message.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Create {
    /// What it is called.
    pub name: String,
    /// When: a cron pattern with 5 fields, or 6 with seconds first (`0 7 * * 1-5`, `@daily`), `every 15 minutes`,
    /// `every monday at 8:00`, `PT15M`, `in 10 minutes`, `tomorrow at 7:00`, or a moment (2026-11-20T14:30); or an object:
    /// {"type": "cron", "expression"}, {"type": "interval", "every"} or {"type": "once", "at"}.
    #[schemars(extend("type" = ["string", "object"]))]
    pub schedule: Value,
    /// The tool that is called.
    pub tool: Option<String>,
    /// What the tool is called with.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub arguments: Option<Value>,
    /// What the agent is asked to do.
    pub prompt: Option<String>,
    /// What the person is told.
    pub message: Option<String>,
    /// The same as an object: {"type": "tool", "tool", "arguments"}, {"type": "prompt", "prompt"} or {"type": "notify", "message"}.
    pub action: Option<ActionObject>,
    /// The time zone of its times, such as Europe/Vienna. Default: the household's.
    pub timezone: Option<String>,
    /// Whether it runs from now on. Default: true.
    pub enabled: Option<bool>,
    /// What becomes of times that passed while Hob was off: one run for all of them (once), none (skip), one each (all).
    pub missed: Option<Missed>,
    /// How often a run that went wrong is tried again. Default: 2.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// Seconds until the first of these; each takes twice as long as the one before. Default: 60.
    #[schemars(range(min = 1, max = 86_400))]
    pub retry_delay_seconds: Option<u32>,
    /// It has no more times after this day or moment.
    pub end_at: Option<String>,
    /// It has no more times after so many runs.
    #[schemars(range(min = 1))]
    pub max_runs: Option<u32>,
    /// A word about it.
    pub description: Option<String>,
}

pub(crate) async fn create(desk: ScheduleTools, cx: Cx, args: Create) -> Result<Output> {
    let name = required_text("name", &args.name, LONGEST_NAME)?;
    let clock = cx.ports().clock.clone();
    let recurrence = parse(&args.schedule, args.timezone.as_deref(), &*clock)?;
    let about = recurrence.text(&clock.local());
    let description = described(args.description)?.unwrap_or_default();
    let ends_ms = args.end_at.as_deref().map(|end| end_of(&cx, end)).transpose()?.flatten();
    let (tool, arguments, prompt, message, action) =
        (args.tool, args.arguments, args.prompt, args.message, args.action);
    let chosen = ActionArgs { tool, arguments, prompt, message, action }.chosen()?;
    let chosen = chosen.unwrap_or_else(|| Action::Notify(name.clone()));
    let new = New {
        action: chosen.arm(&cx, &desk.registry, &name, &about).await?,
        name,
        description,
        written: written(&args.schedule),
        recurrence,
        enabled: args.enabled.unwrap_or(true),
        missed: args.missed.unwrap_or_default(),
        retries: args.retries.unwrap_or(RETRIES).min(10),
        retry_delay_ms: 1000 * i64::from(args.retry_delay_seconds.unwrap_or(RETRY_DELAY).clamp(1, 86_400)),
        ends_ms,
        max_runs: args.max_runs.unwrap_or(0),
    };
    let kept = desk.scheduler.create(&cx, new).await?;
    let sentence = sentences::created_sentence(&kept.value, &clock.local());
    Ok(Output::json(sentences::task(&kept, &*clock))?.say(sentence))
}

/// The schedule as it was written: a text as it is, an object as JSON.
fn written(schedule: &Value) -> String {
    match schedule {
        Value::String(text) => text.trim().chars().take(LONGEST_NAME).collect(),
        other => other.to_string().chars().take(LONGEST_TEXT).collect(),
    }
}

fn described(text: Option<String>) -> Result<Option<String>> {
    let text = text.map(|text| text.trim().to_owned());
    match text {
        Some(text) if text.chars().count() > LONGEST_TEXT => {
            Err(Error::bad_args(format!("the description is longer than {LONGEST_TEXT} characters: shorten it")))
        }
        text => Ok(text),
    }
}

/// The moment after which there are no more times: the end of a day, or the moment itself. Nothing is no end.
fn end_of(cx: &Cx, text: &str) -> Result<Option<i64>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let clock = &cx.ports().clock;
    let when = When::read(text, &clock.zone())?;
    let end = match &when {
        When::At(at) => at.timestamp(),
        When::Day(day) => {
            let beyond = |_| Error::bad_args(format!("the day {day} is beyond the calendar: give another"));
            let next = day.checked_add(1.day()).and_then(|next| next.to_zoned(clock.zone())).map_err(beyond)?;
            next.timestamp() - jiff::SignedDuration::from_millis(1)
        }
    };
    if end <= clock.now() {
        return Err(Error::bad_args(format!("`endAt` has passed already ({when}): give one that is to come")));
    }
    Ok(Some(end.as_millisecond()))
}

/// List what is scheduled: what comes next first, then what is paused or over.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct List {
    /// Only those that run, or only those that are paused or over.
    pub enabled: Option<bool>,
    /// Only those with these words in name or description.
    pub search: Option<String>,
    /// How many (default: 20, max: 50).
    pub limit: Option<u32>,
    /// How many to pass over.
    pub offset: Option<u32>,
}

pub(crate) async fn list(desk: ScheduleTools, cx: Cx, args: List) -> Result<Output> {
    let limit = args.limit.unwrap_or(LISTED).clamp(1, MOST) as usize;
    let offset = args.offset.unwrap_or(0) as usize;
    let search = args.search.unwrap_or_default();
    let all = desk.scheduler.list(&cx, |schedule| {
        args.enabled.is_none_or(|enabled| enabled == schedule.enabled)
            && contains_all_words(&search, &[&schedule.name, &schedule.description])
    })?;
    let clock = &cx.ports().clock;
    let some: Vec<&Entry<Schedule>> = all.iter().skip(offset).take(limit).collect();
    let tasks: Vec<Value> = some.iter().map(|entry| sentences::task(entry, &**clock)).collect();
    let sentence = sentences::listed(&some, all.len() - offset.min(all.len()), &clock.local());
    let has_more = all.len() > offset.saturating_add(limit);
    Ok(Output::json(json!({"count": tasks.len(), "hasMore": has_more, "tasks": tasks}))?.say(sentence))
}

/// How one task stands, or how many there are and what comes next.
pub(crate) fn status(desk: &ScheduleTools, cx: &Cx, which: Option<&str>) -> Result<Output> {
    let clock = &*cx.ports().clock;
    if let Some(which) = which {
        let found = desk.scheduler.find(cx, which)?;
        let last = desk.scheduler.history(cx, found.id, 1)?;
        let sentence = sentences::ran(&found.value, last.first().map(|run| &run.value), &clock.local());
        return Ok(Output::json(sentences::task(&found, clock))?.say(sentence));
    }
    let all = desk.scheduler.list(cx, |_| true)?;
    let enabled = all.iter().filter(|entry| entry.value.enabled).count();
    let running = all.iter().filter(|entry| entry.value.running.is_some()).count();
    let some: Vec<&Entry<Schedule>> = all.iter().take(1).collect();
    let next = some.first().map(|entry| sentences::task(entry, clock));
    let content = json!({"jobs": all.len(), "enabled": enabled, "running": running, "next": next});
    Ok(Output::json(content)?.say(sentences::listed(&some, all.len(), &clock.local())))
}

/// Change a scheduled task; what is not given stays as it is. `enabled: false` pauses it.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Update {
    /// The id of the task, or its name.
    pub task_id: String,
    /// What it is called.
    pub name: Option<String>,
    /// When, as for create_scheduled_task.
    #[schemars(extend("type" = ["string", "object"]))]
    pub schedule: Option<Value>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// What the tool is called with.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub arguments: Option<Value>,
    /// What the agent is asked to do.
    pub prompt: Option<String>,
    /// What the person is told.
    pub message: Option<String>,
    /// The same as an object.
    pub action: Option<ActionObject>,
    /// The time zone of its times.
    pub timezone: Option<String>,
    /// Whether it runs.
    pub enabled: Option<bool>,
    /// What becomes of missed times: once, skip or all.
    pub missed: Option<Missed>,
    /// How often a run that went wrong is tried again.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// Seconds until the first of these.
    #[schemars(range(min = 1, max = 86_400))]
    pub retry_delay_seconds: Option<u32>,
    /// It has no more times after this day or moment; an empty text takes that back.
    pub end_at: Option<String>,
    /// It has no more times after so many runs; 0 takes that back.
    pub max_runs: Option<u32>,
    /// A word about it.
    pub description: Option<String>,
}

pub(crate) async fn update(desk: ScheduleTools, cx: Cx, args: Update) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    let clock = cx.ports().clock.clone();
    let name = args.name.as_deref().map(|name| required_text("name", name, LONGEST_NAME)).transpose()?;
    let recurrence = moved(&cx, &found.value, args.schedule.as_ref(), args.timezone.as_deref())?;
    let (tool, arguments, prompt, message, action) =
        (args.tool, args.arguments, args.prompt, args.message, args.action);
    let chosen = ActionArgs { tool, arguments, prompt, message, action }.chosen()?;
    let title = name.as_deref().unwrap_or(&found.value.name);
    let action = rearmed(&desk, &cx, &found.value, chosen, recurrence.as_ref(), title).await?;
    let change = Change {
        description: described(args.description)?,
        recurrence,
        action,
        enabled: args.enabled,
        missed: args.missed,
        retries: args.retries.map(|n| n.min(10)),
        retry_delay_ms: args.retry_delay_seconds.map(|s| 1000 * i64::from(s.clamp(1, 86_400))),
        ends_ms: args.end_at.as_deref().map(|end| end_of(&cx, end)).transpose()?,
        max_runs: args.max_runs,
        name,
    };
    let kept = desk.scheduler.update(&cx, &found.id.to_string(), change).await?;
    let sentence = sentences::changed(&kept.value, &clock.local());
    Ok(Output::json(sentences::task(&kept, &*clock))?.say(sentence))
}

/// When it is to come from now on; a zone alone moves the times of a pattern.
fn moved(
    cx: &Cx,
    schedule: &Schedule,
    wanted: Option<&Value>,
    zone: Option<&str>,
) -> Result<Option<(String, Recurrence)>> {
    let clock = &*cx.ports().clock;
    let (before, own) = match schedule.recurrence() {
        Some(Recurrence::Cron { expression, zone }) => (Some(expression), zone),
        Some(Recurrence::Once { zone, .. }) => (None, zone),
        _ => (None, None),
    };
    match (wanted, zone, before) {
        (Some(wanted), zone, _) => Ok(Some((written(wanted), parse(wanted, zone.or(own.as_deref()), clock)?))),
        (None, None, _) => Ok(None),
        (None, zone, Some(expression)) => {
            Ok(Some((schedule.written.clone(), parse(&Value::String(expression), zone, clock)?)))
        }
        (None, Some(_), None) => {
            Err(Error::bad_args("only times on the wall have a time zone: give the `schedule` together with it"))
        }
    }
}

/// The call it makes from now on, where that is another. What a person said yes to, they said yes to at its times: at others
/// they are asked again.
async fn rearmed(
    desk: &ScheduleTools,
    cx: &Cx,
    schedule: &Schedule,
    chosen: Option<Action>,
    recurrence: Option<&(String, Recurrence)>,
    title: &str,
) -> Result<Option<PreauthorizedCall>> {
    let local = cx.ports().clock.local();
    let recurs = recurrence.map(|(_, recurrence)| recurrence.clone()).or_else(|| schedule.recurrence());
    let about = recurs.map(|recurrence| recurrence.text(&local)).unwrap_or_default();
    if let Some(action) = chosen {
        return action.arm(cx, &desk.registry, title, &about).await.map(Some);
    }
    let before = schedule.action();
    if recurrence.is_none() || !before.consented {
        return Ok(None);
    }
    desk.registry.arm(cx, &before.tool, before.args, &about).await.map(Some)
}

/// Delete a scheduled task with its history: it runs no more.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Delete {
    /// The id of the task, or its name.
    pub task_id: String,
}

pub(crate) async fn delete(desk: ScheduleTools, cx: Cx, args: Delete) -> Result<Output> {
    let meant = desk.scheduler.find(&cx, &args.task_id)?;
    records::require_exact_name(&args.task_id, meant.id, &meant.value.name)?;
    let gone = desk.scheduler.delete(&cx, &meant.id.to_string()).await?;
    let sentence = format!("I have deleted the schedule “{}”.", gone.value.name);
    Ok(Output::json(json!({"taskId": gone.id, "name": gone.value.name, "deleted": true}))?.say(sentence))
}

/// Show when a scheduled task ran and what came of it, the latest run first.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct History {
    /// The id of the task, or its name.
    pub task_id: String,
    /// How many runs (default: 10, max: 50).
    pub limit: Option<u32>,
}

pub(crate) async fn history(desk: ScheduleTools, cx: Cx, args: History) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    let limit = args.limit.unwrap_or(RUNS).clamp(1, MOST) as usize;
    let mut runs = desk.scheduler.history(&cx, found.id, limit + 1)?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let clock = &*cx.ports().clock;
    let told: Vec<Value> = runs.iter().map(|run| sentences::run(run, clock)).collect();
    let sentence = sentences::ran(&found.value, runs.first().map(|run| &run.value), &clock.local());
    let content = json!({"taskId": found.id, "name": found.value.name, "count": told.len(), "hasMore": has_more,
                         "runs": told});
    Ok(Output::json(content)?.say(sentence))
}

/// Run a scheduled task now, besides its times.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Trigger {
    /// The id of the task, or its name.
    pub task_id: String,
}

pub(crate) async fn trigger(desk: ScheduleTools, cx: Cx, args: Trigger) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    // What was agreed for its times is not agreed for any moment.
    desk.registry.judge(&cx, &found.value.action(), "now, because it is run by hand").await?;
    let run = desk.scheduler.fire_now(&cx, &found.id.to_string(), PATIENCE).await?;
    let clock = &*cx.ports().clock;
    let mut content = sentences::run(&run, clock);
    content["name"] = found.value.name.clone().into();
    let sentence = sentences::ran_by_hand(&found.value.name, &run.value);
    Ok(Output::json(content)?.say(sentence))
}
